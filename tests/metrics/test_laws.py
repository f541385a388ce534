"""Every measure of the table has the value of its definition, in its range and with its best value."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.definitions import MEASURES, case_of, rows_of, value_of
from tests.problems import SPECS, Draw, Problem, free_problems, is_allowed, label_sets, mend
from xmleval import Evaluator
from xmleval.conventions import CHOICES
from xmleval.metrics import TABLE, Setting
from xmleval.spec import expand_metrics
from xmleval.thresholds import fit

CUTOFFS = {"none": [""], "required": ["k"], "optional": ["", "k"], "all": ["all"]}
UNUSED = ("decision", "exclude", "exclude_from", "candidates", "higher_is_better", "confidence", "clusters",
          "bounds", "label_groups", "row_groups", "curve_points", "per_label", "unlisted")  # fmt: skip
WEIGHTS = [0, 0.1, 1, 3, 1e-6, 2.0**-30, 2.0**20]
LONG = {
    spec.name: spec for spec, _ in expand_metrics(["all", "fbeta.macro(beta=0.5)@30"], (1, 5, 30, 150, 500))
}
EYE = np.eye(3, dtype=int)
every_form = pytest.mark.parametrize("form", ["csr", "dense", "list", "ragged"])


def complete(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with everything that measures need, and with all of them."""
    labels = st.integers(0, problem.n_labels - 1)
    pairs = draw(st.sets(st.tuples(labels, labels), max_size=8))
    problem = problem.without(*UNUSED).with_conventions(link="sigmoid").with_arguments(
        y_pred=draw(label_sets(problem.n_rows, problem.n_labels)),
        hierarchy=[(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]],
        per_row=True, k=1,
    )  # fmt: skip
    if not problem.has("inverse_propensity"):
        problem = problem.with_arguments(y_train=draw(st.lists(st.sets(labels), min_size=3, max_size=5)))
    problem = mend(problem)
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


@every_form
@given(data=st.data())
def test_values_and_rows_are_those_of_the_definitions(form: str, data: st.DataObject) -> None:
    problem = data.draw(free_problems(forms=(form,), least_rows=1, most_rows=6))
    check_values(complete(problem, data.draw))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_values_of_long_rows_are_those_of_the_definitions(seed: int) -> None:
    """Rows are long enough that kernels change their ways: hundreds of labels, deep cutoffs."""
    rng = np.random.default_rng(seed)
    n_labels, n_rows = int(rng.choice([30, 90, 200])), int(rng.integers(1, 4))
    form = str(rng.choice(["csr", "dense", "list"]))
    conventions: dict[str, Any] = {
        name: values[rng.integers(len(values))] for name, values in CHOICES.items()
    }
    levels = ["below", 0.0, 0.5, -3.0] if form != "dense" else ["below"]
    conventions |= {"unlisted": levels[rng.integers(len(levels))], "gains": "binary", "link": "none"}

    def sets() -> list[set[int]]:
        sizes = rng.choice([0, 1, 3, 9, 20, 25, 66, n_labels - 1, n_labels], n_rows)
        return [{*rng.permutation(n_labels)[:size].tolist()} for size in sizes]

    steps, listed = int(rng.choice([3, 9, 40, 10**6])), []
    for _ in range(n_rows):
        size = n_labels if form == "dense" else int(rng.choice([0, 1, 5, 17, 30, n_labels // 2, n_labels]))
        scores = (rng.integers(-steps, steps, size) / steps * 2).astype(np.float32).tolist()
        row = [*zip(rng.permutation(n_labels)[:size].tolist(), scores, strict=True)]
        listed.append(row if form == "list" else sorted(row))
    q = 1 + 10 * rng.random(n_labels) ** 3 if rng.random() < 0.7 else rng.random(n_labels) + 0.01
    arguments = {"y_pred": sets(), "inverse_propensity": q, "conventions": conventions, "per_row": True}
    if rng.random() < 0.5:
        arguments["sample_weight"] = rng.choice(WEIGHTS, n_rows).tolist()
    truth = [dict.fromkeys(row, 1.0) for row in sets()]
    problem = Problem(
        n_labels, truth, listed, form, str(rng.choice(["float32", "float64"])), False, arguments
    )
    slow = ("score_runs",)  # whose definition takes too long here
    names = [name for name, spec in LONG.items() if spec.state not in slow and is_allowed(spec, problem)]
    problem = replace(problem, metrics=tuple(names))
    check_values(problem, 1e-11)
    assert problem.evaluate(threads=2, block_rows=1).to_json() == problem.evaluate(threads=1).to_json()


@every_form
@settings(max_examples=16)
@given(data=st.data())
def test_perfect_predictions_reach_the_best_value(form: str, data: st.DataObject) -> None:
    problem = data.draw(free_problems(forms=(form,), least_rows=1, most_rows=6)).without(
        "sample_weight", "gains"
    )
    n, sets = problem.n_labels, problem.relevant()
    problem = replace(
        problem.without("conventions"), truth=[dict.fromkeys(row, 1.0) for row in sets], bare=False
    )
    problem = complete(problem.with_arguments(conventions={"zero_division": 1.0}), data.draw)
    q = case_of(problem).inverse_propensity
    assert q is not None
    orders = [sorted(range(n), key=lambda label: (label not in row, -q[label])) for row in sets]
    listed: list[Any] = [  # relevant cells above all others, in their row and over all rows
        [(label, float(n - place if label in row else -place - 1)) for place, label in enumerate(order)]
        for order, row in zip(orders, sets, strict=True)
    ]
    listed = listed if form in ("list", "ragged") else [sorted(row) for row in listed]
    problem = replace(problem.with_arguments(y_pred=sets), listed=listed)
    problem = replace(
        problem, metrics=tuple(name for name, spec in SPECS.items() if is_allowed(spec, problem))
    )
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


def test_every_measure_has_a_definition_and_is_documented() -> None:
    declared = {
        (metric.name, average, cutoff)
        for metric in TABLE
        for average in metric.averages or (None,)
        for cutoff in CUTOFFS[metric.cutoff]
    }
    drawn = {(spec.metric.name, spec.average, "k" if spec.k else spec.cutoff) for spec in SPECS.values()}
    assert declared == drawn == MEASURES
    for metric in TABLE:
        documented = metric.title, metric.symbol, metric.formula, metric.reference, metric.family
        assert all(documented), metric.name
        assert metric.direction in ("up", "down", "none")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"gains": "exp"}, {"gains": "linear"}, "gains differs: exp here, linear there"),
        ({"link": "sigmoid"}, {}, "link differs"),
        ({"hierarchy": [(1, 0), (2, 0)]}, {"hierarchy": [(1, 0)]}, "hierarchy differs"),
        ({"higher_is_better": False}, {}, "higher_is_better differs"),
        ({"decision": fit(EYE, 2 * EYE, "f1.macro", rule="label")},
         {"decision": fit(EYE, 3 * EYE + 1, "f1.macro", rule="label")}, "decision differs: label(f1.macro)#"),
    ],
)  # fmt: skip
def test_parts_with_other_options_are_not_merged(
    first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    metrics = ["p@1"] + ["h_f1.micro@1"] * ("hierarchy" in first) + ["f1.micro"] * ("decision" in first)
    parts = [Evaluator(metrics, n_labels=3, **options) for options in (first, second)]
    with pytest.raises(ValueError, match=f"^merge: {re.escape(message)}"):
        parts[0].merge(parts[1])
