"""Every value is that of its definition, whatever other options are given."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.test_laws import expected
from tests.oracles.metrics import DEFAULTS, Case
from tests.problems import HIGHER, Problem, law, problems
from tests.relations import map_scores, within_candidates, without_pairs
from xmleval import inverse_propensity


def plain(problem: Problem, data: st.DataObject) -> Problem:
    """Return the problem without pairs, candidates and distances, which the definitions do not know."""
    if problem.has("exclude"):
        problem = without_pairs(problem, data.draw)
    if problem.has("candidates"):
        problem = within_candidates(problem, data.draw)
    return problem if not problem.has(HIGHER) else map_scores(problem.without(HIGHER), lambda s: 0.0 - s)


def case_of(problem: Problem) -> Case:
    """Return what the definitions take."""
    arguments, q, counts = problem.arguments, problem.arguments.get("inverse_propensity"), None
    if "y_train" in arguments:
        y_train = problem.options()["y_train"]
        q, counts = [*inverse_propensity(y_train)], y_train.sum(axis=0).astype(int).tolist()
    sets = arguments.get("y_pred")
    conventions = vars(problem.conventions)
    return Case(
        truth=problem.relevant(),
        n_labels=problem.n_labels,
        listed=None if problem.form == "none" else problem.listed,
        kind="list" if problem.form in ("list", "ragged") else "matrix",
        pred=sets,
        weights=arguments.get("sample_weight"),
        inverse_propensity=q,
        edges=arguments.get("hierarchy", []),
        label_counts=counts,
        conventions={name: value for name, value in conventions.items() if name in DEFAULTS},
        grades=problem.truth if problem.conventions.graded else None,
    )


@law
@given(data=st.data())
def test_value_is_that_of_its_definition(data: st.DataObject) -> None:
    problem = data.draw(problems(without=("decision",), least_rows=1))
    report, case = problem.evaluate(), case_of(plain(problem, data))
    logits = problem.conventions.link == "sigmoid"  # the definitions make probabilities of logits
    names = [spec for spec in problem.specs if logits or "probabilities" not in spec.needs]
    pairs = [(spec, float(expected(spec, case)), report[spec.name]) for spec in names if spec.name in report]
    close = partial(np.isclose, rtol=1e-12, atol=1e-12, equal_nan=True)
    assert [f"{spec}: {value!r} {of!r}" for spec, value, of in pairs if not close(value, of)] == []
