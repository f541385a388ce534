"""Every measure has the value of its definition, within its range, and its best value."""

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
from tests.problems import (
    SPECS,
    Draw,
    Problem,
    Spec,
    conventions,
    free_problems,
    is_allowed,
    label_sets,
    mend,
)
from tests.small_problems import WEIGHTS, drawn_problem, with_all_measures
from xmleval import Evaluator, evaluate
from xmleval.metrics import TABLE
from xmleval.thresholds import fit
from xmleval.view.setting import Setting

CUTOFFS = {"none": [""], "required": ["k"], "optional": ["", "k"], "all": ["all"]}
UNUSED = (
    "decision",
    "exclude_from",
    "candidates",
    "higher_is_better",
    "confidence",
    "clusters",
    "bounds",
    "label_groups",
    "row_groups",
    "curve_points",
    "per_label",
)
LEVELS = [-2.5, -0.0, 0.0, 0.25, 1.0]
ORDERS = st.sampled_from(["order", "expected_dcg"])  # of equal scores; others: `test_tie_orders`
sizes = st.sampled_from(SIZES)
LONG = Evaluator(["all", "fbeta.macro(beta=0.5)@30"], k=(1, 5, 24, 150, 500)).requested
SLOW = "score_runs"  # the definitions of its measures take too long for long rows
EYE = np.eye(3, dtype=int)
every_form = pytest.mark.parametrize("form", ["csr", "dense", "list", "ragged"])


def complete(problem: Problem, draw: Draw) -> Problem:
    """Return the problem with all inputs of measures, and with all measures."""
    labels = st.integers(0, problem.n_labels - 1)
    pairs = draw(st.sets(st.tuples(labels, labels), max_size=8))
    edges = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    sets = draw(label_sets(problem.n_rows, problem.n_labels))
    problem = problem.without(*UNUSED)
    problem = problem.with_conventions(unlisted="below", link="sigmoid", ties=draw(ORDERS))
    problem = problem.with_arguments(y_pred=sets, hierarchy=edges, per_row=True, k=1)
    if not problem.has("inverse_propensity"):
        y_train = draw(st.lists(st.sets(labels), min_size=3, max_size=5))
        problem = problem.with_arguments(y_train=y_train)
    return with_all_measures(mend(problem))


def check_values(problem: Problem, tolerance: float = 1e-12) -> None:
    """Compare the values of the report and of its rows with the definitions, and their means."""
    report = problem.evaluate()
    case = case_of(problem)
    rows = report.per_row()
    weights = np.array(case.weights or [1.0] * problem.n_rows)
    close: dict[str, Any] = {"rtol": tolerance, "atol": tolerance}
    for spec in problem.specs:
        value = report[spec.name]
        low, high = spec.metric.range
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
def test_evaluate_gives_the_values_of_the_definitions(form: str, data: st.DataObject) -> None:
    problem = data.draw(free_problems(forms=(form,), least_rows=1, most_rows=6))
    check_values(complete(problem, data.draw))


# in turn for sparse scores and lists, and for dense scores and nested lists
OPTIONS: dict[str, dict[str, Any]] = {
    "weights": {"sample_weight": True},
    "exclude": {"exclude": 0.3},
    "unjudged": {"unjudged": 0.3, "sample_weight": True},
    "judged": {"judged": 0.7},
    "binary": {"conventions": {"gains": "binary", "zero_division": 1.0, "empty": "one"}},
    "exp": {"conventions": {"gains": "exp", "auc_ties": "full", "loss_ties": "none"}},
    "skip": {"conventions": {"empty": "skip", "labels": "present", "ap_empty": "zero"}},
    "perfect": {"conventions": {"no_pairs": "perfect", "labels": "seen", "ties": "order"}},
    "level": {"conventions": {"relevant_from": 2, "zero_division": float("nan")}},
    "unlisted": {"conventions": {"unlisted": 0.25, "zero_division": "both_empty"}},
    "none": {},
    "low": {"conventions": {"unlisted": -3.0, "auc_ties": "none"}, "sample_weight": True},
}


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", OPTIONS)
def test_evaluate_gives_the_values_of_the_definitions_in_few_rows(name: str, number: int) -> None:
    forms = (("csr", "list"), ("dense", "ragged"))[[*OPTIONS].index(name) % 2]
    check_values(drawn_problem(forms[number], OPTIONS[name], number))


LONG_NAMES = [
    *(f"{name}@{k}" for name in ("p", "ndcg", "map", "psp", "psndcg_raw", "r") for k in (5, 40)),
    *("lrap", "ranking_loss", "coverage", "auc.samples", "peak_f1.samples", "mrr@all", "map@all"),
    *("ndcg@all", "rprec", "error_set_size", "iprec(recall=0.5)", "f1.samples@40", "psp@500"),
    *("f1.micro@40", "f1.samples", "jaccard.samples", "precision.micro", "subset_accuracy"),
]


@pytest.mark.parametrize(("ties", "weighted"), [("order", True), ("expected_dcg", False)])
@pytest.mark.parametrize("form", ["csr", "list", "dense"])
def test_evaluate_gives_the_values_of_the_definitions_of_rows_with_many_labels(
    form: str, ties: str, weighted: bool
) -> None:
    """Rows have up to 290 relevant labels, all or few of which are listed."""
    rng = np.random.default_rng([3, weighted])
    n_labels = 310
    truth = []
    listed: list[list[tuple[int, float | None]]] = []
    for n_relevant, n_listed in ((257, 300), (290, 40), (20, 257), (15, 130)):
        relevant = sorted(rng.permutation(n_labels)[:n_relevant].tolist())
        truth.append(dict.fromkeys(relevant, 1.0))
        ids = rng.permutation(n_labels)[: n_labels if form == "dense" else n_listed].tolist()
        if form != "list":
            ids.sort()
        listed.append([(j, float(rng.integers(0, 40)) / 32) for j in ids])
    arguments: dict[str, Any] = {
        "conventions": {"ties": ties},
        "per_row": True,
        "y_pred": [{*rng.permutation(n_labels)[: 60 * i].tolist()} for i in range(4)],
        "inverse_propensity": rng.choice([0.3, 1.0, 9.649, 2.0**20 + 0.3], n_labels),
    }
    if weighted:
        arguments["sample_weight"] = [0.1, 3.0, 2.0**20, 1e-6]
    problem = Problem(n_labels, truth, listed, form, "float64", False, arguments)
    check_values(replace(problem, metrics=(*LONG_NAMES,)), 1e-11)


@pytest.mark.slow
@example(
    shapes=[(255, 130), (256, 17), (257, 16)],
    seed=1,
    form="list",
    weighted=True,
    options={},
    ties="order",
)
@settings(max_examples=12)
@given(
    shapes=st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3),
    seed=seeds,
    form=st.sampled_from(["csr", "dense", "list", "bare"]),
    weighted=st.booleans(),
    options=conventions("csr"),
    ties=ORDERS,
)
def test_evaluate_gives_the_values_of_the_definitions_in_long_rows(
    shapes: list[tuple[int, int]],
    seed: int,
    form: str,
    weighted: bool,
    options: dict[str, Any],
    ties: str,
) -> None:
    """Numbers of relevant and of listed labels are near those at which kernels change."""
    rng = np.random.default_rng(seed)
    bare = form == "bare"
    n_labels = max(1, *map(max, shapes)) + int(rng.choice([0, 1, 9]))

    def random_labels(size: int) -> list[int]:
        return rng.permutation(n_labels)[:size].tolist()  # type: ignore[no-any-return]

    def random_scores(size: int) -> list[float | None]:
        if rng.random() < 0.7:
            scores = rng.choice(LEVELS, size)
        else:
            scores = rng.normal(size=size).astype(np.float32)
        return [None] * size if bare else scores.tolist()

    truth = [dict.fromkeys(sorted(random_labels(n)), 1.0) for n, _ in shapes]
    listed: list[list[tuple[int, float | None]]] = []
    for _, n in shapes:
        if form == "dense":
            n = n_labels
        scores = random_scores(n)
        row = [*zip(random_labels(n), scores, strict=True)]
        if form in ("csr", "dense"):
            row.sort()
        listed.append(row)
    options |= {"gains": "binary", "ties": ties}
    if form in ("dense", "bare"):
        options |= {"unlisted": "below"}
    q = [0.3, 1.0, 1.0 + 2.0**-52, 9.649, 2.0**20 + 0.3]
    sizes_of_sets = rng.choice([*SIZES, n_labels], len(shapes))
    arguments: dict[str, Any] = {
        "conventions": options,
        "per_row": True,
        "k": [1, 5, 24, 150, 500],
        "y_pred": [{*random_labels(size)} for size in sizes_of_sets],
        "inverse_propensity": rng.choice(q, n_labels),
    }
    if weighted:
        arguments["sample_weight"] = rng.choice(WEIGHTS, len(shapes)).tolist()
    dtype = str(rng.choice(["float32", "float64"]))
    kind = "list" if bare else form
    problem = Problem(n_labels, truth, listed, kind, dtype, bare and any(listed), arguments)
    names = [spec.name for spec in LONG if spec.state != SLOW and is_allowed(spec, problem)]
    problem = replace(problem, metrics=tuple(names))
    check_values(problem, 1e-11)
    in_threads = problem.evaluate(threads=2, block_rows=1)
    assert in_threads.to_json() == problem.evaluate(threads=1).to_json()


@pytest.mark.slow
@every_form
@settings(max_examples=16)
@given(data=st.data())
def test_evaluate_gives_the_best_value_to_perfect_predictions(
    form: str, data: st.DataObject
) -> None:
    problem = data.draw(free_problems(forms=(form,), least_rows=1, most_rows=6))
    n = problem.n_labels
    sets = problem.relevant()
    problem = problem.without("sample_weight", "conventions", "exclude", "unjudged", "judged")
    problem = replace(problem, truth=[dict.fromkeys(row, 1.0) for row in sets], bare=False)
    problem = complete(problem.with_arguments(conventions={"zero_division": 1.0}), data.draw)
    q = case_of(problem).inverse_propensity
    assert q is not None
    listed = [perfect_row(row, q) for row in sets]
    if form not in ("list", "ragged"):
        listed = [sorted(row) for row in listed]
    problem = with_all_measures(replace(problem.with_arguments(y_pred=sets), listed=listed))
    report = problem.evaluate()
    n_relevant = np.array([len(row) for row in sets])
    for spec in problem.specs:
        if not spec.metric.best or is_bounded_by_k(spec, n_relevant.max()):
            continue
        if spec.level:  # of which this truth has no labels
            continue
        if not math.isnan(report[spec.name]):
            rows = spec.metric.best(
                n_relevant, Setting(spec.k, dict(spec.params), problem.conventions, n)
            )
            best = float(np.mean(rows[~np.isnan(rows)]))
            assert math.isclose(report[spec.name], best, abs_tol=1e-12), spec.name


@pytest.mark.parametrize("k", [1, 2, 3])
def test_rows_of_perfect_predictions_have_the_best_values_and_others_worse_ones(k: int) -> None:
    truth = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 0]])
    scores = 10.0 * truth - np.arange(5, 11)
    metrics = ["all", f"rbp(p=0.8)@{k}", "rbp(p=0.8)@all"]
    options: dict[str, Any] = {"metrics": metrics, "k": k, "per_row": True}
    options |= {"inverse_propensity": np.arange(1, 7), "conventions": "link=sigmoid"}
    report = evaluate(truth, scores, y_pred=truth, **options)
    reverse = evaluate(truth, -scores, y_pred=1 - truth, **options)
    for spec in report.specs:
        if not spec.metric.best or spec.name not in report.per_row() or is_bounded_by_k(spec, 3):
            continue
        best = spec.metric.best(
            truth.sum(axis=1), Setting(spec.k, dict(spec.params), report.conventions, 6)
        )
        assert report.per_row()[spec.name] == pytest.approx(best, abs=1e-12), spec.name
        sign = {"up": 1, "down": -1}[spec.metric.direction]
        assert sign * report[spec.name] > sign * reverse[spec.name], spec.name


def perfect_row(relevant: set[int], q: list[float]) -> list[tuple[int, float | None]]:
    """Return all labels, relevant ones first, by propensity; their scores are above 0."""
    n = len(q)
    order = sorted(range(n), key=lambda label: (label not in relevant, -q[label]))
    row: list[tuple[int, float | None]] = []
    for place, label in enumerate(order):
        row.append((label, float(n - place if label in relevant else -place - 1)))
    return row


def is_bounded_by_k(spec: Spec, most_relevant: int) -> bool:
    """Whether k labels may be too few for the best value."""
    if not spec.k:
        return False
    if spec.metric.family in ("sets", "hierarchy"):
        return True
    return spec.metric.name == "label_coverage" and most_relevant > spec.k


def test_every_measure_has_a_definition_and_is_drawn() -> None:
    declared = {
        (metric.name, average, cutoff)
        for metric in TABLE
        for average in metric.averages or (None,)
        for cutoff in CUTOFFS[metric.cutoff]
    }
    drawn = set()
    for spec in SPECS.values():
        cutoff = "k" if spec.k else spec.cutoff
        drawn.add((spec.metric.name, spec.average, cutoff))
    assert declared == drawn == MEASURES


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            {"conventions": "gains=exp"},
            {"conventions": "gains=linear"},
            "gains differs: exp here, linear there",
        ),
        ({"conventions": "link=sigmoid"}, {}, "link differs"),
        ({"hierarchy": [(1, 0), (2, 0)]}, {"hierarchy": [(1, 0)]}, "hierarchy differs"),
        ({"higher_is_better": False}, {}, "higher_is_better differs"),
        (
            {"decision": fit(EYE, 2 * EYE, "f1.macro", rule="label")},
            {"decision": fit(EYE, 3 * EYE + 1, "f1.macro", rule="label")},
            "decision differs: label(f1.macro)#",
        ),
    ],
)
def test_merge_refuses_states_with_other_options(
    first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    metrics = ["p@1"]
    if "hierarchy" in first:
        metrics.append("h_f1.micro@1")
    if "decision" in first:
        metrics.append("f1.micro")
    evaluator = Evaluator(metrics, n_labels=3, **first)
    other = Evaluator(metrics, n_labels=3, **second)
    with pytest.raises(ValueError, match=f"^merge: {re.escape(message)}"):
        evaluator.merge(other)
