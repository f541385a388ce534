"""Every value is that of its definition, whatever other options are given."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.definitions import case_of, value_of
from tests.problems import HIGHER, Problem, law, problems
from tests.relations import map_scores, within_candidates, without_pairs


def plain(problem: Problem, data: st.DataObject) -> Problem:
    """Return the problem without pairs, candidates and distances, which the definitions do not know."""
    if problem.has("exclude"):
        problem = without_pairs(problem, data.draw)
    if problem.has("candidates"):
        problem = within_candidates(problem, data.draw)
    return problem if not problem.has(HIGHER) else map_scores(problem.without(HIGHER), lambda s: 0.0 - s)


@law
@given(data=st.data())
def test_value_is_that_of_its_definition(data: st.DataObject) -> None:
    problem = data.draw(problems(without=("decision",), least_rows=1))
    report, case = problem.evaluate(), case_of(plain(problem, data))
    # the definitions do not clip probabilities at what float32 can tell from 0 and 1
    exact = problem.dtype == "float64" or problem.conventions.link == "sigmoid"
    specs = [spec for spec in problem.specs if spec.name in report]
    specs = [spec for spec in specs if exact or "probabilities" not in spec.needs]
    pairs = [(spec, float(value_of(spec, case)), report[spec.name]) for spec in specs]
    close = partial(np.isclose, rtol=1e-12, atol=1e-12, equal_nan=True)
    assert [f"{spec}: {value!r} {of!r}" for spec, value, of in pairs if not close(value, of)] == []
