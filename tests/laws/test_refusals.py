"""Options that do not go together are refused, and all others are taken."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import IDLE, REFUSALS, SPECS, free_problems, is_allowed, law, mend


@law
@given(data=st.data())
def test_combination_is_refused_by_its_message(data: st.DataObject) -> None:
    kept = data.draw(st.sampled_from([None, *REFUSALS, *IDLE]))
    problem = mend(data.draw(free_problems()), [refusal for refusal in REFUSALS if refusal is not kept])
    allowed = [name for name, spec in SPECS.items() if is_allowed(spec, problem)]
    problem = replace(problem, metrics=(data.draw(st.sampled_from(allowed)),))
    problem = mend(problem, [refusal for refusal in IDLE if refusal is not kept])
    messages = [refusal.message for refusal in (*REFUSALS, *IDLE) if refusal.applies(problem)]
    if messages:
        with pytest.raises(ValueError, match="|".join(messages)):
            problem.evaluate()
    else:
        problem.evaluate()
