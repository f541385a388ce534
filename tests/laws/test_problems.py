"""Laws of all problems: what is refused, values of definitions, routes to one report, and relations."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import relations, routes
from tests.definitions import case_of, value_of
from tests.problems import IDLE, REFUSALS, SPECS, free_problems, is_allowed, law, mend, problems


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


@law
@given(data=st.data())
def test_value_is_that_of_its_definition(data: st.DataObject) -> None:
    problem = data.draw(problems(without=("decision",), least_rows=1, extremes=True))
    report, case = problem.evaluate(), case_of(relations.plain(problem, data.draw))
    # the definitions do not clip probabilities at what float32 can tell from 0 and 1
    exact = problem.dtype == "float64" or problem.conventions.link == "sigmoid"
    specs = [spec for spec in problem.specs if spec.name in report]
    specs = [spec for spec in specs if exact or "probabilities" not in spec.needs]
    pairs = [(spec, float(value_of(spec, case)), report[spec.name]) for spec in specs]
    close = partial(np.isclose, rtol=1e-12, atol=1e-12, equal_nan=True)
    assert [f"{spec}: {value!r} {of!r}" for spec, value, of in pairs if not close(value, of)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", routes.ROUTES)
@law
@given(data=st.data())
def test_route_gives_the_report_of_one_call(name: str, data: st.DataObject) -> None:
    route = routes.ROUTES[name]
    problem = data.draw(problems(without=route.without, change=route.change, **route.limits))
    assert routes.compare(name, problem, data.draw) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", relations.RELATIONS)
@law
@given(data=st.data())
def test_relation_holds_for_every_measure(name: str, data: st.DataObject) -> None:
    relation = relations.RELATIONS[name]
    problem = data.draw(problems(without=relation.without, change=relation.base, **relation.limits))
    assert relations.compare(name, problem, data.draw) == []
