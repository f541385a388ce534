"""Every measure has the value of its definition, in its range and with its best value."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import SIZES, seeds
from tests.definitions import MEASURES, case_of, rows_of, value_of
from tests.problems import SPECS, Draw, Problem, conventions, free_problems, is_allowed, label_sets, mend
from xmleval import Evaluator
from xmleval.metrics import TABLE, Setting
from xmleval.thresholds import fit

CUTOFFS = {"none": [""], "required": ["k"], "optional": ["", "k"], "all": ["all"]}
UNUSED = ("decision", "exclude", "exclude_from", "candidates", "higher_is_better", "confidence", "clusters",
          "bounds", "label_groups", "row_groups", "curve_points", "per_label")  # fmt: skip
WEIGHTS = [0.0, 0.1, 1.0, 3.0, 1e-6, 2.0**-30, 2.0**20]
LEVELS = [-2.5, -0.0, 0.0, 0.25, 1.0]
sizes = st.sampled_from(SIZES)
LONG = Evaluator(["all", "fbeta.macro(beta=0.5)@30"], k=(1, 5, 24, 150, 500)).asked
SLOW = "score_runs"  # whose definitions take too long for long rows
EYE = np.eye(3, dtype=int)
every_form = pytest.mark.parametrize("form", ["csr", "dense", "list", "ragged"])


def complete(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with everything that measures need, and with all of them."""
    labels = st.integers(0, problem.n_labels - 1)
    pairs = draw(st.sets(st.tuples(labels, labels), max_size=8))
    problem = problem.without(*UNUSED).with_conventions(unlisted="below", link="sigmoid").with_arguments(
        y_pred=draw(label_sets(problem.n_rows, problem.n_labels)),
        hierarchy=[(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]],
        per_row=True, k=1,
    )  # fmt: skip
    if not problem.has("inverse_propensity"):
        problem = problem.with_arguments(y_train=draw(st.lists(st.sets(labels), min_size=3, max_size=5)))
    return with_all_measures(mend(problem))


def with_all_measures(problem: Problem) -> Problem:
    return replace(problem, metrics=tuple(name for name, spec in SPECS.items() if is_allowed(spec, problem)))


def check_values(problem: Problem, tolerance: float = 1e-12) -> None:
    """Compare values of the report and of its rows with their definitions, and with one another."""
    report, case = problem.evaluate(), case_of(problem)
    rows, weights = report.per_row(), np.array(case.weights or [1.0] * problem.n_rows)
    close: dict[str, Any] = {"rtol": tolerance, "atol": tolerance}
    for spec in problem.specs:
        value, (low, high) = report[spec.name], spec.metric.range
        np.testing.assert_allclose(value, value_of(spec, case), **close, err_msg=spec.name)
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, spec.name
        expected = rows_of(spec, case)
        assert (expected is None) == (spec.name not in rows), spec.name
        if expected is not None:
            np.testing.assert_allclose(rows[spec.name], expected, **close, err_msg=spec.name)
            counted = ~np.isnan(rows[spec.name]) & (weights > 0)
            if counted.any():
                mean = np.average(rows[spec.name][counted], weights=weights[counted])
                np.testing.assert_allclose(value, mean, **close, err_msg=spec.name)


@pytest.mark.slow
@every_form
@given(data=st.data())
def test_values_and_rows_are_those_of_the_definitions(form: str, data: st.DataObject) -> None:
    problem = data.draw(free_problems(forms=(form,), least_rows=1, most_rows=6))
    check_values(complete(problem, data.draw))


@pytest.mark.slow
@example(shapes=[(255, 130), (256, 17), (257, 16)], seed=1, form="list", weighted=True, options={})
@settings(max_examples=12)
@given(
    shapes=st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3), seed=seeds,
    form=st.sampled_from(["csr", "dense", "list", "bare"]), weighted=st.booleans(),
    options=conventions("csr"),
)  # fmt: skip
def test_values_of_long_rows_are_those_of_the_definitions(
    shapes: list[tuple[int, int]], seed: int, form: str, weighted: bool, options: dict[str, Any]
) -> None:
    """Relevant and listed labels are as many as those at which kernels change their ways."""
    rng, bare = np.random.default_rng(seed), form == "bare"
    n_labels = max(1, *map(max, shapes)) + int(rng.choice([0, 1, 9]))

    def labels(size: int) -> list[int]:
        return rng.permutation(n_labels)[:size].tolist()  # type: ignore[no-any-return]

    truth = [dict.fromkeys(sorted(labels(n)), 1.0) for n, _ in shapes]
    listed: list[list[tuple[int, float | None]]] = []
    for _, n in shapes:
        n = n_labels if form == "dense" else n
        scores = rng.choice(LEVELS, n) if rng.random() < 0.7 else rng.normal(size=n).astype(np.float32)
        row = [
            (label, None if bare else score) for label, score in zip(labels(n), scores.tolist(), strict=True)
        ]
        listed.append(sorted(row) if form in ("csr", "dense") else row)
    options |= {"gains": "binary"} | ({"unlisted": "below"} if form in ("dense", "bare") else {})
    arguments: dict[str, Any] = {"conventions": options, "per_row": True, "k": [1, 5, 24, 150, 500]}
    arguments["y_pred"] = [{*labels(size)} for size in rng.choice([*SIZES, n_labels], len(shapes))]
    arguments["inverse_propensity"] = rng.choice([0.3, 1.0, 1.0 + 2.0**-52, 9.649, 2.0**20 + 0.3], n_labels)
    if weighted:
        arguments["sample_weight"] = rng.choice(WEIGHTS, len(shapes)).tolist()
    dtype, kind = str(rng.choice(["float32", "float64"])), "list" if bare else form
    problem = Problem(n_labels, truth, listed, kind, dtype, bare and any(listed), arguments)
    names = [spec.name for spec in LONG if spec.state != SLOW and is_allowed(spec, problem)]
    problem = replace(problem, metrics=tuple(names))
    check_values(problem, 1e-11)
    assert problem.evaluate(threads=2, block_rows=1).to_json() == problem.evaluate(threads=1).to_json()


@pytest.mark.slow
@every_form
@settings(max_examples=16)
@given(data=st.data())
def test_perfect_predictions_reach_the_best_value(form: str, data: st.DataObject) -> None:
    problem = data.draw(free_problems(forms=(form,), least_rows=1, most_rows=6))
    n, sets = problem.n_labels, problem.relevant()
    problem = problem.without("sample_weight", "conventions")
    problem = replace(problem, truth=[dict.fromkeys(row, 1.0) for row in sets], bare=False)
    problem = complete(problem.with_arguments(conventions={"zero_division": 1.0}), data.draw)
    q = case_of(problem).inverse_propensity
    assert q is not None
    orders = [sorted(range(n), key=lambda label: (label not in row, -q[label])) for row in sets]
    listed: list[Any] = [  # relevant cells above all others, in their row and over all rows
        [(label, float(n - place if label in row else -place - 1)) for place, label in enumerate(order)]
        for order, row in zip(orders, sets, strict=True)
    ]
    listed = listed if form in ("list", "ragged") else [sorted(row) for row in listed]
    problem = with_all_measures(replace(problem.with_arguments(y_pred=sets), listed=listed))
    report, n_relevant = problem.evaluate(), np.array([len(row) for row in sets])
    for spec in problem.specs:
        of_k = spec.k and (
            spec.metric.family in ("sets", "hierarchy")
            or (spec.metric.name == "label_coverage" and n_relevant.max() > spec.k)
        )
        if spec.metric.best and not of_k and not math.isnan(report[spec.name]):
            rows = spec.metric.best(n_relevant, Setting(spec.k, {}, problem.conventions, n))
            best = float(np.mean(rows[~np.isnan(rows)]))
            assert math.isclose(report[spec.name], best, abs_tol=1e-12), spec.name


def test_every_measure_has_a_definition_and_is_drawn() -> None:
    declared = {
        (metric.name, average, cutoff)
        for metric in TABLE
        for average in metric.averages or (None,)
        for cutoff in CUTOFFS[metric.cutoff]
    }
    drawn = {(spec.metric.name, spec.average, "k" if spec.k else spec.cutoff) for spec in SPECS.values()}
    assert declared == drawn == MEASURES


@pytest.mark.parametrize(("first", "second", "message"), [
    ({"conventions": "gains=exp"}, {"conventions": "gains=linear"}, "gains differs: exp here, linear there"),
    ({"conventions": "link=sigmoid"}, {}, "link differs"),
    ({"hierarchy": [(1, 0), (2, 0)]}, {"hierarchy": [(1, 0)]}, "hierarchy differs"),
    ({"higher_is_better": False}, {}, "higher_is_better differs"),
    ({"decision": fit(EYE, 2 * EYE, "f1.macro", rule="label")},
     {"decision": fit(EYE, 3 * EYE + 1, "f1.macro", rule="label")}, "decision differs: label(f1.macro)#"),
])  # fmt: skip
def test_parts_with_other_options_are_not_merged(
    first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    metrics = ["p@1"] + ["h_f1.micro@1"] * ("hierarchy" in first) + ["f1.micro"] * ("decision" in first)
    parts = [Evaluator(metrics, n_labels=3, **options) for options in (first, second)]
    with pytest.raises(ValueError, match=f"^merge: {re.escape(message)}"):
        parts[0].merge(parts[1])
