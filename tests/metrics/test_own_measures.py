"""Measures of users: equal to a loop, the same on every route, and refused where they are wrong."""

import math
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import xmleval
from tests import own_measures
from tests.own_measures import COST, DECAYED, FMAX, INVENTED, NOVELTY, SMIN, THRESHOLDS
from xmleval import BlockRows, Evaluator, Measure, Param, Running, compare, evaluate
from xmleval.base.arrays import Floats
from xmleval.base.work import WORK
from xmleval.kernels.own_rows import FormulaOfRow
from xmleval.metrics.declaration import declaration_of
from xmleval.metrics.measure import DEFINED
from xmleval.testing import PlainRow, check_measure, check_state, example_rows
from xmleval.view.formulas import values_of_each_row


def closed(labels: set[int], row: PlainRow) -> set[int]:
    return {above for label in labels for above in row.ancestors[label]}


def predicted_at(row: PlainRow, threshold: float) -> set[int]:
    above = {label for label, s in zip(row.listed, row.scores, strict=True) if s >= threshold}
    return closed(above, row)


def fmax_by_loop(rows: Sequence[PlainRow]) -> float:
    best = 0.0
    for threshold in THRESHOLDS:
        precisions = []
        recalls = []
        for row in rows:
            relevant = closed(row.relevant, row)
            predicted = predicted_at(row, threshold)
            if predicted:
                precisions.append(len(relevant & predicted) / len(predicted))
            recalls.append(len(relevant & predicted) / len(relevant) if relevant else 0.0)
        precision = sum(precisions) / len(precisions) if precisions else 0.0
        recall = sum(recalls) / len(recalls)
        if precision + recall > 0:
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def smin_by_loop(rows: Sequence[PlainRow]) -> float:
    least = math.inf
    for threshold in THRESHOLDS:
        remaining = misinformation = 0.0
        for row in rows:
            relevant = closed(row.relevant, row)
            predicted = predicted_at(row, threshold)
            remaining += sum(row.label_data["ic"][label] for label in relevant - predicted)
            misinformation += sum(row.label_data["ic"][label] for label in predicted - relevant)
        least = min(least, math.hypot(remaining / len(rows), misinformation / len(rows)))
    return least


def number_of(name: str, label: int, row: PlainRow, unknown: float = 0.0) -> float:
    return row.label_data[name][label] if label < row.n_labels else unknown


def novelty_by_loop(row: PlainRow) -> float:
    first = row.listed[: row.k]
    bits = [-math.log2(number_of("popularity", label, row, 1.0)) for label in first]
    return sum(bits) / len(bits) if bits else 0.0


def cost_by_loop(row: PlainRow) -> float:
    predicted = {*row.listed[:2]}
    cost = sum(number_of("alarm", label, row) for label in predicted - row.relevant)
    return cost + sum(row.label_data["miss"][label] for label in row.relevant - predicted)


def decayed_by_loop(rows: Sequence[PlainRow]) -> float:
    weights = [0.5 ** (row.row_data["age"] / row.params["half"]) for row in rows]
    recalls = []
    for row in rows:
        hits = row.relevant.intersection(row.listed[: row.k])
        recalls.append(len(hits) / len(row.relevant) if row.relevant else 0.0)
    total = sum(w * r for w, r in zip(weights, recalls, strict=True))
    return float(total / sum(weights))


def invented_by_loop(row: PlainRow) -> float:
    first = row.listed[: row.k]
    return sum(label >= row.n_labels for label in first) / max(1, len(first))


CASES: list[tuple[Measure, Callable[..., float], dict[str, Any]]] = [
    (FMAX, fmax_by_loop, {}),
    (SMIN, smin_by_loop, {}),
    (NOVELTY, novelty_by_loop, {}),
    (COST, cost_by_loop, {"decision": "top2"}),
    (DECAYED, decayed_by_loop, {}),
    (INVENTED, invented_by_loop, {}),
]
IDS = [measure.name for measure, *_ in CASES]


@pytest.mark.parametrize(("measure", "oracle", "options"), CASES, ids=IDS)
def test_measures_of_the_guide_equal_loops_on_every_route(
    measure: Measure, oracle: Callable[..., float], options: dict[str, Any]
) -> None:
    check_measure(measure, oracle, examples=3, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "oracle", "options"), CASES, ids=IDS)
def test_measures_of_the_guide_equal_loops_with_workers(
    measure: Measure, oracle: Callable[..., float], options: dict[str, Any]
) -> None:
    check_measure(measure, oracle, examples=12, workers=True, **options)


def test_invented_labels_are_counted() -> None:
    lists = [{"a": 3.0, "x": 2.0}, {"y": 1.0, "z": 0.5}, {}]
    report = evaluate([["a"], ["b"], ["a"]], lists, metrics=[INVENTED], k=2, labels=["a", "b"])
    assert report["llm-invented@2"] == (0.5 + 1 + 0) / 3


Y = sp.csr_array(np.random.default_rng(3).random((40, 9)) < 0.3)
S = np.random.default_rng(4).random((40, 9))
POPULARITY = np.linspace(0.1, 0.9, 9)


def test_intervals_groups_and_comparisons_have_measures_of_users() -> None:
    options: Any = {"metrics": ["p@2", NOVELTY], "k": 2, "label_data": {"popularity": POPULARITY}}
    groups = np.repeat(["head", "tail"], [4, 5])
    report = evaluate(Y, S, **options, confidence=0.9, label_groups=groups, per_row=True)
    low, high = report.confidence["rec-novelty@2"]
    assert low < report["rec-novelty@2"] < high
    assert {*report.groups} == {"head", "tail"}
    assert report.per_row()["rec-novelty@2"].mean() == pytest.approx(report["rec-novelty@2"])
    both = compare(Y, {"a": S, "b": -S}, **options)
    assert "rec-novelty@2" in both.to_text()
    assert "rec-novelty@2" in both.to_html()


def test_label_data_of_a_group_are_those_of_its_labels() -> None:
    groups = np.repeat(["head", "tail"], [4, 5])
    options: Any = {"metrics": [NOVELTY], "k": 1}
    report = evaluate(Y, S, **options, label_data={"popularity": POPULARITY}, label_groups=groups)
    rows = Y.toarray()[:, 4:].any(axis=1)
    alone = evaluate(
        Y[rows][:, 4:], S[rows, 4:], **options, label_data={"popularity": POPULARITY[4:]}
    )
    assert report.groups["tail"]["rec-novelty@1"] == alone["rec-novelty@1"]


def test_data_of_ancestors_are_refused_within_groups_of_labels() -> None:
    options: Any = {"metrics": SMIN, "hierarchy": [(1, 0)], "label_data": {"ic": POPULARITY}}
    with pytest.raises(ValueError, match="label_groups: measure cafa-smin reads data of ancestors"):
        evaluate(Y, S, label_groups=np.repeat(["head", "tail"], [4, 5]), **options)


def test_counts_of_other_labels_are_not_merged_for_formulas_of_users() -> None:
    Measure("lab-merged", rows=constant)
    days = [Evaluator("lab-merged", labels=labels) for labels in (["a", "b"], ["c", "a"])]
    for day in days:
        day.update([["a"]], [{"a": 0.9}])
    message = "lab-merged cannot be merged by name of labels: a formula of its own may depend"
    with pytest.raises(ValueError, match=message):
        days[0].merge(days[1])


def test_a_measure_alone_and_by_name() -> None:
    options: Any = {"label_data": {"popularity": POPULARITY}}
    alone = evaluate(Y, S, metrics=NOVELTY, k=3, **options)
    assert dict(alone) == dict(evaluate(Y, S, metrics="rec-novelty@3", **options))
    assert alone["REC-Novelty@3"] == alone["rec-novelty@3"]


def constant(rows: BlockRows) -> Floats:
    return np.ones(rows.n_rows)


def f1_of_labels(counts: Any, setting: Any) -> Any:
    return 2 * counts.tp / np.maximum(2 * counts.tp + counts.fp + counts.fn, 1.0)


def counted_hits(table: Any, profile: Any, setting: Any) -> Any:
    return table[:, 0] / np.maximum(profile.n_rows, 1)


BROKEN_FIELDS = [
    ({"name": "novelty", "rows": constant}, "joined by hyphens"),
    ({"name": "Lab-x", "rows": constant}, "joined by hyphens"),
    ({}, "expected one formula: rows=, row= or value=; it has none"),
    ({"rows": constant, "row": constant}, "it has rows and row"),
    ({"rows": 3}, "rows=3 is not a function"),
    ({"row": constant, "total": constant}, "total= is a function of the means"),
    ({"value": constant}, "value= needs state=, one of label_totals, rank_profile, score_runs"),
    (
        {"rows": constant, "direction": "high"},
        "direction='high' is not one of 'up', 'down', 'none'",
    ),
    ({"rows": constant, "cutoff": "all"}, "cutoff='all' is not one of"),
    ({"rows": constant, "needs": ("score",)}, "needs=('score',) is not a tuple of scores"),
    ({"rows": constant, "averages": ("macro",)}, "a measure of rows takes no averages="),
    ({"rows": constant, "label_data": ("A b",)}, "is not a tuple of lower-case names"),
    ({"rows": constant, "params": {"a": 1.0}}, "is not a dict of xmleval.Param"),
    ({"rows": constant, "version": 0}, "version=0 is not a whole number from 1"),
    ({"rows": constant, "range": (1.0, 0.0)}, "is not a pair of a lower and a higher number"),
    ({"rows": lambda rows: 1.0}, "the formula returned 1.0; expected float64 (4,)"),
    ({"rows": lambda rows: np.ones(3)}, "an array of shape (3,)"),
    ({"rows": lambda rows: np.full(4, "a")}, "expected float64 (4,)"),
    ({"rows": lambda rows: np.full(4, np.nan)}, "the value is nan; expected a number in 0..1"),
    (
        {"rows": lambda rows: np.full(4, 2.0)},
        "the value is 2.0; expected a number in 0..1",
    ),
    ({"rows": lambda rows: 1 / 0}, "the formula raised ZeroDivisionError: division by zero"),
    ({"rows": constant, "total": lambda means, setting: 2.0}, "the formula returned an array"),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": lambda means, setting: 2.0},
        "total= returned 2.0; expected a number in 0..1",
    ),
    ({"rows": lambda rows: rows.label_data["cost"]}, "the formula raised KeyError"),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": lambda means, setting: math.nan},
        "total= returned nan",
    ),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": lambda means, setting: means},
        "expected one number",
    ),
    ({"rows": lambda rows: np.ones((4, 2))}, "several values of a row need total="),
    (
        {"value": constant, "state": "rank_profile"},
        'a measure of state="rank_profile" needs cutoff="required"',
    ),
    ({"value": constant, "state": "label_totals"}, "a measure of label_totals needs averages="),
    (
        {
            "value": lambda counts, setting: counts.tp * 0.0,
            "state": "label_totals",
            "averages": ("macro", "micro"),
        },
        'a measure of label_totals has "macro" and "weighted" averages; for a ratio of sums',
    ),
    (
        {
            "value": lambda counts, setting: counts.tp * 0.0,
            "state": "label_totals",
            "averages": ("macro",),
            "row_data": ("age",),
        },
        "row_data= is for formulas of rows",
    ),
    ({"row": constant, "needs": ("sets", "propensity")}, "row= does not read propensity, sets;"),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": constant, "empty": "zero"},
        "empty= is for formulas of one value for each row, not for total=",
    ),
    (
        {"rows": lambda rows: np.ones((4, 0)), "total": constant},
        "the formula returned 0 values for each row; expected 1..65536",
    ),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": lambda means, setting: 1 / 0},
        "total= raised ZeroDivisionError: division by zero",
    ),
    (
        {"rows": lambda rows: np.full((4, 2), [1, math.inf]), "total": constant},
        "value 1 of the row is inf; expected a finite number in row 0",
    ),
    ({"rows": constant, "params": {"A b": Param(1.0)}}, "params: 'A b' is not a lower-case name"),
    ({"rows": constant, "params": {"rel": Param(1.0)}}, "lower-case name other than 'rel'"),
    (
        {"rows": lambda rows: rows.with_ancestors.n_relevant / 9},
        'a formula reads ancestors; declare needs=("hierarchy",)',
    ),
    ({"rows": lambda rows: np.ones(4) / rows.k}, "rows.k is None without cutoff="),
    ({"rows": lambda rows: rows.predicted.sizes / 9}, 'declare needs=("sets",)'),
    (
        {"rows": lambda rows: rows.with_ancestors.n_relevant / 9},
        'declare needs=("hierarchy",)',
    ),
    (
        {"value": counted_hits, "state": "rank_profile"},
        'a measure of state="rank_profile" needs cutoff="required"',
    ),
    (
        {"value": counted_hits, "state": "label_totals"},
        "a measure of label_totals needs averages=",
    ),
    (
        {"value": counted_hits, "state": "score_runs", "averages": ("macro",), "row_data": ("a",)},
        "row_data= is for formulas of rows",
    ),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": f1_of_labels, "empty": "zero"},
        "empty= is for formulas of one value for each row, not for total=",
    ),
    ({"row": lambda row: 1.0, "needs": ("sets",)}, "row= does not read sets; give rows="),
    (
        {"row": lambda row: 1.0, "needs": ("scores", "propensity", "hierarchy")},
        "row= does not read hierarchy, propensity; give rows=",
    ),
    ({"rows": constant, "params": {"rel": Param(1.0)}}, "'rel' is not a lower-case name"),
    ({"rows": constant, "params": {"Beta": Param(1.0)}}, "'Beta' is not a lower-case name"),
    (
        {"rows": lambda rows: np.ones((4, 2)), "total": lambda means, setting: 1 / 0},
        "total= raised ZeroDivisionError: division by zero",
    ),
    (
        {"rows": lambda rows: np.ones((4, 0)), "total": lambda means, setting: 1.0},
        "the formula returned 0 values for each row; expected 1..65536",
    ),
    (
        {"rows": lambda rows: np.ones((1, 65537)).repeat(4, 0), "total": lambda *both: 1.0},
        "the formula returned 65537 values for each row; expected 1..65536",
    ),
    (
        {"rows": lambda rows: np.where(np.eye(4), np.inf, 0), "total": lambda means, setting: 1.0},
        "value 0 of the row is inf; expected a finite number",
    ),
]


@pytest.mark.parametrize(("fields", "message"), BROKEN_FIELDS)
def test_a_wrong_definition_is_refused_in_one_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as refusal:
        Measure(**{"name": "lab-broken", **fields})
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith("measure ")


def outside(rows: BlockRows) -> Floats:
    """Return values that are in range for the example, which has less than 5 rows."""
    return np.where(rows.n_relevant > 3, 2.0, 0.5)


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("block_rows", [None, 2])
def test_a_value_out_of_range_names_measure_and_row(row: int, block_rows: int | None) -> None:
    measure = Measure("lab-outside", rows=outside)
    truth = np.eye(4)
    truth[row] = 1
    message = f"lab-outside: row {row}: the value is 2.0; expected a number in 0..1"
    with pytest.raises(ValueError, match=re.escape(message)):
        evaluate(truth, truth, metrics=measure, running=Running(block_rows=block_rows))


def test_data_must_be_declared_and_given() -> None:
    with pytest.raises(ValueError, match="label_data: measure rec-novelty@1 reads 'popularity'"):
        evaluate(Y, S, metrics=[NOVELTY], k=1)
    given = {"popularity": POPULARITY, "age": POPULARITY}
    with pytest.raises(ValueError, match="label_data: no measure reads 'age'"):
        evaluate(Y, S, metrics=[NOVELTY], k=1, label_data=given)
    with pytest.raises(ValueError, match=re.escape("label_data['popularity']: shape (3,)")):
        evaluate(Y, S, metrics=[NOVELTY], k=1, label_data={"popularity": np.ones(3)})
    with pytest.raises(ValueError, match="row_data: measure session-recall"):
        evaluate(Y, S, metrics=[DECAYED], k=1)
    for value in (math.nan, math.inf, -math.inf):
        message = re.escape(f"row_data['age']: row 1: {value} is not a finite")
        with pytest.raises(ValueError, match=message):
            evaluate(Y[:2], S[:2], metrics=[DECAYED], k=1, row_data={"age": [1.0, value]})


def test_formulas_cannot_change_what_other_measures_read() -> None:
    def sorting(rows: BlockRows) -> Floats:
        rows.relevant.labels[:] = 0
        return np.ones(rows.n_rows)

    with pytest.raises(ValueError, match="read-only"):
        Measure("lab-sorting", rows=sorting)


@pytest.mark.parametrize(
    "read",
    [
        lambda rows: rows.relevant.ptr,
        lambda rows: rows.ranks,
        lambda rows: rows.propensity,
        lambda rows: rows.label_data["price"],
        lambda rows: rows.row_data["age"],
    ],
)
def test_formulas_cannot_change_what_they_are_given(read: Callable[[BlockRows], Any]) -> None:
    def changing(rows: BlockRows) -> Floats:
        read(rows)[:] = 0
        return np.ones(rows.n_rows)

    needs = ("scores", "propensity")
    with pytest.raises(ValueError, match="read-only"):
        Measure(
            "lab-changing", rows=changing, needs=needs, label_data=("price",), row_data=("age",)
        )


def test_formulas_cannot_change_the_grades_of_a_truth() -> None:
    def raising(rows: BlockRows) -> Floats:
        rows.grades[:] += 1
        return rows.relevant.sum_by_row(rows.grades)

    measure = Measure("lab-raising", rows=raising, needs=("grades",), range=(0.0, 99.0))
    with pytest.raises(ValueError, match="read-only"):
        evaluate(SMALL_TRUTH, SMALL_SCORES, metrics=measure, conventions="gains=linear")


def test_a_name_is_defined_again_by_its_own_module_alone(folder: Path) -> None:
    first = Measure("lab-again", rows=constant)
    again = Measure("lab-again", rows=constant, version=2)
    assert dict(evaluate(Y, S, metrics=[again])) == {"lab-again": 1.0}
    with pytest.raises(ValueError, match="'lab-again' was defined again since"):
        evaluate(Y, S, metrics=[first])
    with pytest.raises(ValueError, match=r"'rec-novelty': tests\.own_measures has defined"):
        Measure("rec-novelty", rows=constant)


def test_saved_counts_are_of_one_declaration(folder: Path) -> None:
    Measure("lab-saved", rows=constant)
    evaluator = Evaluator("lab-saved", n_labels=9)
    evaluator.update(Y, S)
    evaluator.save("state.npz")
    assert Evaluator.load("state.npz").compute()["lab-saved"] == 1.0
    Measure("lab-saved", rows=constant, version=2)
    other = Evaluator("lab-saved", n_labels=9)
    other.update(Y, S)
    with pytest.raises(ValueError, match="merge: lab-saved differs: version 2"):
        other.merge(evaluator)
    with pytest.raises(ValueError, match=r"version 2.*as read.*version 1.*as saved"):
        Evaluator.load("state.npz")


def test_a_saved_measure_that_is_not_known_names_its_module(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Measure("lab-unknown", rows=constant)
    Evaluator("lab-unknown", n_labels=9).save("state.npz")
    monkeypatch.delitem(DEFINED, "lab-unknown")
    message = r"state\.npz: measure 'lab-unknown' is unknown here; .* import .*test_own_measures"
    with pytest.raises(ValueError, match=message):
        Evaluator.load("state.npz")


def of_row(row: xmleval.OneRow) -> float:
    """Return hits in the first k, with weights by label, the row's and a parameter."""
    total = 0.0
    for label in row.listed:
        for relevant in row.relevant:
            if label == relevant:
                total += row.label_data[0, label] * row.row_data[0]
    return float(total * row.params[0] / row.k)


def test_a_formula_of_one_row_is_that_of_a_loop() -> None:
    measure = Measure(
        "lab-of_row",
        row=of_row,
        cutoff="required",
        params={"a": Param(0.5)},
        label_data=("worth",),
        row_data=("age",),
    )

    def by_loop(row: PlainRow) -> float:
        hits = [label for label in row.listed[: row.k] if label in row.relevant]
        worth = sum(row.label_data["worth"][label] for label in hits)
        assert row.k
        return worth * row.row_data["age"] * row.params["a"] / row.k

    check_measure(measure, by_loop, examples=3)


def test_a_compiled_formula_of_one_row_has_the_bits_of_plain_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = example_rows(2, {"a": 0.5}, ["worth"], ["age"])
    monkeypatch.setattr(WORK, "is_small", True)
    monkeypatch.setattr(WORK, "compiler_seconds", math.inf)
    plain = values_of_each_row(FormulaOfRow(of_row), rows)
    monkeypatch.setattr(WORK, "is_small", False)
    compiled = values_of_each_row(FormulaOfRow(of_row), rows)
    assert plain.tolist() == compiled.tolist()
    assert plain.any()


def test_data_and_params_come_in_the_order_in_which_they_are_declared() -> None:
    fields: Any = {"row": lambda row: row.row_data[0], "range": (0.0, 900.0)}
    age = Measure("lab-age", row_data=("age", "income"), **fields)
    income = Measure("lab-income", row_data=("income",), **fields)
    data = {"income": np.full(40, 300.0), "age": np.full(40, 30.0)}
    report = evaluate(Y, S, metrics=[age, income], row_data=data)
    assert dict(report) == {"lab-age": 30.0, "lab-income": 300.0}
    params = {"b": Param(2.0, default=True), "a": Param(1.0, default=True)}
    first = Measure("lab-first_param", row=lambda row: row.params[0], params=params, range=(0, 9))
    assert evaluate(Y, S, metrics="lab-first_param(a=5)")["lab-first_param(a=5)"] == 2.0
    assert first.name == "lab-first_param"
    assert [*evaluate(Y, S, metrics="lab-first_param(a=5,b=7)")] == ["lab-first_param(b=7,a=5)"]


def test_scores_of_formulas_are_distances_where_lower_is_better() -> None:
    def nearest(rows: BlockRows) -> Any:
        assert rows.listed.scores is not None
        return rows.listed.sum_by_row(rows.listed.scores * (rows.listed.ranks == 1))

    measure = Measure("lab-nearest", rows=nearest, needs=("entry scores",))
    report = evaluate(Y, S, metrics=measure, higher_is_better=False)
    assert report["lab-nearest"] == pytest.approx(S.min(axis=1).mean())


def test_values_of_formulas_of_counts_are_checked() -> None:
    fields: Any = {"state": "label_totals", "averages": ("macro", "weighted")}
    large = Measure("lab-large", value=lambda counts, setting: counts.tp * 0 + 0.5, **fields)
    report = evaluate(Y, S, metrics=["lab-large.macro", "lab-large.weighted"], decision="top3")
    assert "lab-large.weighted" in report.to_text()
    assert large.needs == ("sets",)
    for formula, message in (
        (lambda counts, setting: counts.tp * 0 + 7, "the value is 7.0; expected a number in 0..1"),
        (lambda counts, setting: 0.5, "the formula returned shape"),
        (lambda counts, setting: 1 / 0, "the formula raised ZeroDivisionError"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            Measure("lab-wrong", value=formula, **fields)


def test_an_undefined_total_of_counted_rows_names_its_measure() -> None:
    def hits(rows: BlockRows) -> Any:
        return np.column_stack([rows.n_relevant > 3, np.ones(rows.n_rows)])

    share_of_many = Measure(
        "lab-many", rows=hits, total=lambda means, setting: 0.5 if means[0] == 0 else math.nan
    )
    with pytest.raises(ValueError, match="lab-many: total= returned nan; expected a number"):
        evaluate(np.ones((2, 5)), np.ones((2, 5)), metrics=share_of_many)


def test_vectors_of_rows_have_the_length_of_the_example_and_finite_numbers() -> None:
    def sizes(rows: BlockRows) -> Any:
        return np.ones((rows.n_rows, 4 if rows.n_rows == 2 else 3))

    def quotients(rows: BlockRows) -> Any:
        return np.column_stack([rows.n_relevant, 1.0 / (5.0 - rows.n_relevant)])

    def first(means: Floats, setting: Any) -> float:
        return float(means[0] > 0)

    longer = Measure("lab-longer", rows=sizes, total=first)
    message = "lab-longer: the formula returned 4 values for each row, but 3 when defined"
    with pytest.raises(ValueError, match=message):
        evaluate(np.ones((2, 5)), np.ones((2, 5)), metrics=longer)
    infinite = Measure("lab-infinite", rows=quotients, total=first)
    truth = np.tril(np.ones((5, 5)))
    message = "lab-infinite: row 4: value 1 of the row is inf; expected a finite number"
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=message):
        evaluate(truth, truth, metrics=infinite)
    assert evaluate(truth[:4], truth[:4], metrics=infinite)["lab-infinite"] == 1.0


def test_formulas_read_propensities_grades_ranks_and_given_sets() -> None:
    def products(rows: BlockRows) -> Any:
        relevant = rows.relevant
        gains = rows.grades * rows.propensity[relevant.labels] * (rows.ranks > 0)
        return relevant.sum_by_row(gains / np.maximum(rows.ranks, 1)) + 100 * rows.predicted.sizes

    measure = Measure(
        "lab-products",
        rows=products,
        needs=("scores", "propensity", "grades", "sets"),
        range=(0.0, 1e6),
    )
    truth = np.array([[3, 0, 1, 0], [0, 2, 0, 4], [0, 0, 0, 0]])
    scores = np.array([[0.1, 0.4, 0.3, 0.2], [0.9, 0.3, 0.4, 0.7], [0.1, 0.2, 0.3, 0.4]])
    sets = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
    q = np.array([1.5, 2.0, 4.0, 3.0])
    report = evaluate(
        truth,
        scores,
        y_pred=sets,
        metrics=measure,
        inverse_propensity=q,
        conventions="gains=linear",
        per_row=True,
    )
    ranks = (-scores).argsort(axis=1).argsort(axis=1) + 1
    expected = (truth * q / ranks).sum(axis=1) + 100 * sets.sum(axis=1)
    assert report.per_row()["lab-products"] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["zero", "undefined", ""])
@pytest.mark.parametrize("formula", ["rows", "row"])
def test_rows_without_relevant_labels_follow_the_convention_where_declared(
    kind: str, formula: str
) -> None:
    def by_rows(rows: BlockRows) -> Any:
        return np.where(rows.n_relevant > 0, 1.0 / np.maximum(rows.n_relevant, 1), 0.25)

    def by_row(row: Any) -> float:
        return 1.0 / row.relevant.size if row.relevant.size else 0.25

    formulas: dict[str, Any] = {"rows": by_rows, "row": by_row}
    measure = Measure("lab-inverse", **{formula: formulas[formula]}, empty=kind)
    truth = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]])
    values = {
        "zero": {"zero": 0.0, "skip": math.nan, "one": 0.0},
        "undefined": {"zero": 0.0, "skip": math.nan, "one": 1.0},
        "": {"zero": 0.25, "skip": 0.25, "one": 0.25},
    }
    for convention, value in values[kind].items():
        options: dict[str, Any] = {"conventions": {"empty": convention}, "per_row": True}
        report = evaluate(truth, truth + 0.5, metrics=measure, **options)
        column = report.per_row()["lab-inverse"]
        np.testing.assert_array_equal(column, [0.5, value, 1.0])
        assert report["lab-inverse"] == pytest.approx(np.nanmean(column))
        assert (f"empty={convention}" in report.signature()) == bool(kind)


def test_ancestors_of_formulas_have_no_grades_and_need_scores() -> None:
    def shares(rows: BlockRows) -> Any:
        rows = rows.with_ancestors
        return rows.n_relevant / rows.n_labels

    measure = Measure("lab-ancestors", rows=shares, needs=("scores", "hierarchy"))
    truth = np.array([[1, 0, 0], [0, 1, 1]])
    edges = [(0, 2), (1, 2)]
    options: dict[str, Any] = {"metrics": measure, "hierarchy": edges}
    assert evaluate(truth, truth, **options)["lab-ancestors"] == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="ancestors have no grades; leave out gains="):
        evaluate(truth, truth, conventions="gains=linear", **options)
    with pytest.raises(ValueError, match="ancestors are listed by scores, but y_score has none"):
        evaluate(truth, ([[0], [1]], None), **options)


def test_formulas_of_given_sets_have_ancestors_of_these() -> None:
    def shares(rows: BlockRows) -> Any:
        rows = rows.with_ancestors
        return rows.predicted.sizes / rows.n_labels

    measure = Measure("lab-closed", rows=shares, needs=("sets", "hierarchy"))
    sets = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    report = evaluate(
        np.eye(4)[:3],
        y_pred=sets,
        metrics=measure,
        hierarchy=[(0, 2), (1, 2), (2, 3)],
        per_row=True,
    )
    assert report.per_row()["lab-closed"].tolist() == [0.75, 0.75, 0.0]


def test_formulas_with_bound_arguments_are_functions_of_their_own() -> None:
    def share_of(labels: Any, rows: BlockRows, scale: float) -> Any:
        return scale * rows.relevant.sum_by_row(np.isin(rows.relevant.labels, labels)) / 9

    texts = []
    for labels, scale in (([0, 1], 1.0), ([0, 2], 1.0), ([0, 1], 0.5), ([0, 1], 1.0)):
        formula = partial(share_of, np.array(labels), scale=scale)
        measure = Measure("lab-bound", rows=formula)
        texts.append(declaration_of(measure))
        expected = scale * Y[:, labels].sum(axis=1).mean() / 9
        assert evaluate(Y, S, metrics=measure)["lab-bound"] == pytest.approx(expected)
    assert texts[0] == texts[3]
    assert len({*texts}) == 3
    with pytest.raises(ValueError, match="is not a function"):
        Measure("lab-bound", rows=partial(int, base=2))


def test_declarations_of_other_constants_differ() -> None:
    def makes(value: float) -> Measure:
        return Measure("lab-made", rows=lambda rows: np.full(rows.n_rows, value))

    texts = [declaration_of(makes(value)) for value in (0.1, 0.9, 0.1)]
    assert texts[0] == texts[2] != texts[1]


def test_formulas_of_states_have_the_values_of_the_same_measures() -> None:
    f1 = Measure(
        "lab-f1", state="label_totals", value=f1_of_labels, averages=("macro",), needs=("sets",)
    )
    report = evaluate(Y, S, metrics=["f1.macro@3", "lab-f1.macro"], decision="top3")
    assert report["lab-f1.macro"] == report["f1.macro@3"]
    hits = Measure(
        "lab-p",
        state="rank_profile",
        value=lambda table, profile, setting: table[:, : setting.k].sum(axis=1) / setting.k,
        cutoff="required",
        needs=("scores",),
    )
    report = evaluate(Y, S, metrics=["p@3", hits], k=3)
    assert report["lab-p@3"] == report["p@3"]
    auc = Measure(
        "lab-auc",
        state="score_runs",
        value=lambda curve, setting: (
            (curve.right + curve.level / 2) / np.maximum(curve.n_relevant * curve.n_irrelevant, 1)
        ),
        averages=("macro",),
        needs=("entry scores",),
    )
    report = evaluate(Y, S, metrics=["auc.macro", "lab-auc.macro"])
    assert report["lab-auc.macro"] == pytest.approx(report["auc.macro"])
    assert f1.family == hits.family == auc.family == "own"


# ------------------------------------------------- what `check_measure` finds


class Counter:
    """A number that changes with each use."""

    def __init__(self) -> None:
        self.n = 0

    def next(self) -> int:
        self.n += 1
        return self.n


CALLS = Counter()
BROKEN: list[tuple[str, Callable[[BlockRows], Any], str]] = [
    (
        "value",
        lambda rows: rows.listed.sum_by_row(rows.hits) / 3,
        "the value is that of the oracle",
    ),
    (
        "changing",
        lambda rows: rows.listed.sum_by_row(rows.hits) / 2 - 1e-12 * (CALLS.next() % 7) + 1e-11,
        "the same call gives the same bits",
    ),
    (
        "depth",
        lambda rows: np.where(
            rows.relevant.sum_by_row(rows.view.ranks > 2) > 0,  # there if others read more
            0.25,
            rows.listed.sum_by_row(rows.hits) / 2,
        ),
        "beside other measures",
    ),
    (
        "block",
        lambda rows: rows.listed.sum_by_row(rows.hits) / 2 + 1e-11 * rows.n_rows,
        "the value of a row depends on this row alone",
    ),
    (
        "place",
        lambda rows: rows.listed.sum_by_row(rows.hits) / 2 + 1e-11 * np.arange(rows.n_rows),
        "the value of a row depends on this row alone",
    ),
    (
        "unknown",
        lambda rows: rows.listed.sum_by_row(rows.hits | ~rows.is_known) / 2,
        "a label that the truth does not know counts as the oracle says",
    ),
    (
        "range",
        lambda rows: np.where(rows.n_relevant > 3, 7.0, rows.listed.sum_by_row(rows.hits) / 2),
        "expected a number in 0..1",
    ),
]


@pytest.mark.parametrize(("name", "rows", "law"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_check_measure_finds_what_is_broken(
    name: str, rows: Callable[[BlockRows], Any], law: str
) -> None:
    measure = Measure(f"broken-{name}", rows=rows, cutoff="required", range=(0.0, 1.0 + 1e-9))

    def precision(row: PlainRow) -> float:
        return len(row.relevant.intersection(row.listed[:2])) / 2

    with pytest.raises(AssertionError, match=re.escape(law)) as found:
        check_measure(measure, precision, examples=15)
    assert f"broken-{name}@2" in str(found.value).splitlines()[0]


def test_check_state_passes_states_and_refuses_other_measures() -> None:
    check_state("label_totals", ["f1.macro@2"], examples=4)
    check_state("row_vectors", ["cafa-fmax"], examples=4, hierarchy=[(1, 0)])
    with pytest.raises(ValueError, match="p@2 reads the state rank_profile, not row_sums"):
        check_state("row_sums", ["p@2"])


def test_the_example_has_rows_of_all_kinds() -> None:
    rows = example_rows(k=2)
    assert 0 in rows.n_relevant.tolist()
    assert 0 in rows.listed.sizes.tolist()


GUIDE = Path(xmleval.__file__).parent / "docs" / "own-measure.md"


def code_without_types(text: str) -> str:
    text = re.sub(r": (BlockRows|Floats|Setting|Any|xmleval\.OneRow)\b", "", text)
    text = re.sub(r" -> (Floats|Any|float):", ":", text)
    return "\n".join(line for line in text.splitlines() if line.strip())


def test_the_guide_shows_these_measures() -> None:
    source = Path(own_measures.__file__).read_text()
    parts = dict(re.findall(r"# guide: (\w+)\n(.*?)# end\n", source, re.DOTALL))
    assert len(parts) == len(CASES)
    lines = GUIDE.read_text().splitlines()
    guide = "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")))
    for name, part in parts.items():
        code = code_without_types(part)
        assert code in guide, name
        assert len(code.splitlines()) <= 25, name


def test_the_shell_imports_a_measure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xmleval.cli import main

    Path("shop.py").write_text(
        "from xmleval import Measure\n"
        "HALF = Measure('shop-half', rows=lambda rows: rows.n_relevant * 0 + 0.5)\n"
        "WORTH = Measure('shop-worth', rows=lambda rows: rows.row_data['age'],"
        " row_data=('age',), range=(0, 9))\n"
    )
    sp.save_npz("Y.npz", Y)
    np.save("S.npy", S)
    np.savetxt("age.txt", np.full(40, 2.5))
    line = "evaluate Y.npz S.npy --measure shop:HALF --measure shop:WORTH --row-data age=age.txt"
    assert main([*line.split(), "--metrics", "p@1", "--format", "csv"]) == 0
    table = capsys.readouterr().out
    assert "shop-half,up,0.5" in table
    assert "shop-worth,up,2.5" in table
    for place, message in (
        ("shop", "is not MODULE:NAME"),
        ("shopp:HALF", "no module shopp"),
        ("shop:half", "shop has no half"),
        ("shop:Measure", "not an xmleval.Measure"),
    ):
        assert main(["evaluate", "Y.npz", "S.npy", "--measure", place]) != 0
        assert message in capsys.readouterr().err


def test_the_shell_reads_saved_results_with_a_measure(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from xmleval.cli import main

    def run(line: str) -> tuple[int, str]:
        monkeypatch.delitem(DEFINED, "kept-third", raising=False)
        monkeypatch.delitem(sys.modules, "kept", raising=False)
        code = main(line.split())
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    Path("kept.py").write_text(
        "from xmleval import Measure\n"
        "THIRD = Measure('kept-third', rows=lambda rows: rows.n_relevant * 0 + 0.25)\n"
    )
    sp.save_npz("Y.npz", Y)
    np.save("S.npy", S)
    own = "--measure kept:THIRD"
    code, _ = run(f"evaluate Y.npz S.npy --metrics p@1 {own} --output a.json --save a.npz")
    assert code == 0
    assert run(f"check a.json --min kept-third=0.5 {own}")[1].startswith("kept-third 0.25 is below")
    assert "for one of your own: --measure MODULE:NAME" in run("check a.json --min kept-third=1")[1]
    assert "0.2500" in run(f"merge a.npz {own}")[1]
    assert "its module defines it: --measure kept:NAME" in run("merge a.npz")[1]
    assert "0.2500" in run(f"trend a.json {own}")[1]
    assert "not shown, as unknown here: kept-third" in run("trend a.json")[1]
    assert "range" in run(f"metrics {own}")[1]
    assert "for one of your own: --measure" in run("check a.json --no-worse-than a.json")[1]
    assert run(f"check a.json --no-worse-than a.json {own}")[0] == 0
    np.save("T.npy", S)
    assert run(f"diff Y.npz S.npy T.npy {own}")[0] == 0
    assert "not both" in run(f"metrics p@1 {own}")[1]


def test_data_by_row_of_the_shell_are_no_outputs_and_given_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from xmleval.cli import main

    Path("aged.py").write_text(
        "from xmleval import Measure\n"
        "AGED = Measure('kept-aged', rows=lambda rows: rows.row_data['age'],"
        " row_data=('age',), range=(0, 9))\n"
    )
    sp.save_npz("Y.npz", Y)
    np.save("S.npy", S)
    np.savetxt("age.csv", np.full(40, 2.5))
    line = "evaluate Y.npz S.npy --measure aged:AGED --row-data age=age.csv"
    for further, message in (
        ("--per-row age.csv", "age.csv: is an input"),
        ("--row-data age=age.csv", "--row-data age: is given twice"),
    ):
        assert main([*line.split(), *further.split()]) != 0
        assert message in capsys.readouterr().err
    assert np.loadtxt("age.csv").shape == (40,)


def test_data_by_row_may_have_any_name() -> None:
    with pytest.raises(ValueError, match='no measure reads "it\'s"'):
        evaluate(Y, S, metrics="p@1", row_data={"it's": np.ones(40)})


def install(folder: Path, package: str, entry_points: str) -> None:
    """Write what the installation of a package leaves for entry points."""
    installed = folder / f"{package}-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(entry_points)


def test_packages_offer_measures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    Path("offered.py").write_text(
        "from xmleval import Measure\n"
        "ONE = Measure('offer-one', rows=lambda rows: rows.n_relevant * 0 + 1.0)\n"
    )
    install(
        folder, "first", "[xmleval.measures]\noffer-one = offered:ONE\noffer-two = offered:ONE\n"
    )
    assert evaluate(Y, S, metrics="offer-one")["offer-one"] == 1.0
    with pytest.raises(ValueError, match=r"entry point offer-two .* is not the measure offer-two"):
        evaluate(Y, S, metrics="offer-two")
    install(folder, "second", "[xmleval.measures]\noffer-one = elsewhere:ONE\n")
    monkeypatch.delitem(DEFINED, "offer-one")
    message = (
        "offered:ONE.*elsewhere:ONE are both called|elsewhere:ONE.*offered:ONE are both called"
    )
    with pytest.raises(ValueError, match=message):
        evaluate(Y, S, metrics="offer-one")


def test_columns_of_tables_are_data_by_row(folder: Path) -> None:
    measure = Measure(
        "lab-column", rows=lambda rows: rows.row_data["age"], row_data=("age",), range=(0, 9)
    )
    truth = pd.DataFrame({"instance": ["a", "a", "b"], "label": ["x", "y", "x"], "age": [1, 1, 4]})
    scores = pd.DataFrame({"instance": ["b", "a"], "label": ["x", "y"], "score": [0.5, 0.25]})
    truth.to_csv("truth.csv", index=False)
    scores.to_csv("scores.csv", index=False)
    for y_true, y_score in ((truth, scores), ("truth.csv", "scores.csv")):
        report = evaluate(y_true, y_score, metrics=measure, row_data={"age": "age"})
        assert report["lab-column"] == 2.5
        with pytest.raises(ValueError, match="'years' is neither a file nor a column"):
            evaluate(y_true, y_score, metrics=measure, row_data={"age": "years"})


def test_a_value_out_of_range_within_groups_names_group_and_row() -> None:
    def of_two(row: xmleval.OneRow) -> float:
        return 7.0 if row.n_labels == 2 and len(row.relevant) == 1 else 0.5

    measure = Measure("lab-of-two", row=of_two)
    y_true = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1]])
    for block_rows in (1, 3):
        with pytest.raises(ValueError, match="lab-of-two: row 2: in the label group 'rest': the v"):
            evaluate(
                y_true,
                y_true + 0.5,
                metrics=[measure],
                label_groups=["head", "next", "rest", "rest"],
                running=xmleval.Running(block_rows=block_rows),
            )


SMALL_TRUTH = np.array([[3, 0, 1], [0, 2, 0], [0, 0, 0]])
SMALL_SCORES = np.array([[0.9, 0.2, 0.3], [0.4, 0.5, 0.6], [0.1, 0.2, 0.3]])


def sums_of_relevant(values: Any, rows: BlockRows) -> Any:
    """Return the sum over relevant labels of each row."""
    numbers = np.repeat(np.arange(rows.n_rows), rows.relevant.sizes)
    return np.bincount(numbers, values, rows.n_rows)


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ("linear", [4, 2, 0]),
        ("exp", [8, 3, 0]),
        (None, [2, 1, 0]),
    ],
)
def test_formulas_read_the_gains_of_relevant_labels(gains: str | None, expected: Any) -> None:
    measure = Measure(
        f"lab-gains-{gains}".lower(),
        rows=lambda rows: sums_of_relevant(rows.grades, rows),
        range=(0, 99),
    )
    truth = SMALL_TRUTH
    options: dict[str, Any] = {"metrics": measure, "per_row": True}
    if gains is None:
        truth = (SMALL_TRUTH > 0).astype(int)
    else:
        options["conventions"] = {"gains": gains}
    report = evaluate(truth, SMALL_SCORES, **options)
    assert report.per_row()[measure.name].tolist() == expected
    assert report[measure.name] == pytest.approx(np.mean(expected))


def test_measure_of_grades_needs_a_truth_with_grades() -> None:
    measure = Measure(
        "lab-graded",
        rows=lambda rows: sums_of_relevant(rows.grades, rows),
        range=(0, 99),
        needs=("grades",),
    )
    report = evaluate(SMALL_TRUTH, SMALL_SCORES, metrics=measure, conventions="gains=linear")
    assert report["lab-graded"] == 2.0
    message = 'lab-graded needs conventions="gains=...", for a truth with grades'
    with pytest.raises(ValueError, match=re.escape(message)):
        evaluate(SMALL_TRUTH > 0, SMALL_SCORES, metrics=measure)


def test_formulas_read_ranks_and_propensities() -> None:
    truth = (SMALL_TRUTH > 0).astype(int)
    ranks = Measure(
        "lab-ranks",
        rows=lambda rows: sums_of_relevant(rows.ranks, rows),
        range=(0, 99),
        needs=("scores",),
    )
    report = evaluate(truth, SMALL_SCORES, metrics=ranks, per_row=True)
    assert report.per_row()["lab-ranks"].tolist() == [1 + 2, 2, 0]
    weights = Measure(
        "lab-weights",
        rows=lambda rows: sums_of_relevant(rows.propensity[rows.relevant.labels], rows),
        range=(0, 99),
        needs=("propensity",),
    )
    options: dict[str, Any] = {"inverse_propensity": [1.0, 2.0, 4.0], "per_row": True}
    report = evaluate(truth, SMALL_SCORES, metrics=weights, **options)
    assert report.per_row()["lab-weights"].tolist() == [5, 2, 0]
    with pytest.raises(ValueError, match="lab-weights needs y_train= or inverse_propensity="):
        evaluate(truth, SMALL_SCORES, metrics=weights)


@pytest.mark.parametrize("others", [[], ["p@5"], ["lrap"]], ids=repr)
def test_ranks_of_formulas_end_at_the_cutoff(others: list[str]) -> None:
    measure = Measure(
        "lab-ranks_at",
        rows=lambda rows: sums_of_relevant(rows.ranks, rows),
        range=(0, 99),
        cutoff="required",
        needs=("scores",),
    )
    rng = np.random.default_rng(3)
    truth = (rng.random((9, 8)) < 0.4).astype(int)
    scores = rng.random(truth.shape)
    ids = np.argsort(-scores, axis=1)
    places = np.argsort(ids, axis=1) + 1
    expected = (truth * places * (places <= 2)).sum(axis=1)
    lists = (ids[:, :6], np.take_along_axis(scores, ids[:, :6], axis=1))
    for form in (scores, sp.csr_array(scores), lists):
        report = evaluate(truth, form, metrics=["lab-ranks_at@2", *others], per_row=True)
        assert report.per_row()["lab-ranks_at@2"].tolist() == expected.tolist()
    assert measure.name == "lab-ranks_at"


TREE = [("a", "x"), ("b", "x"), ("c", "y"), ("x", "root"), ("y", "root")]


def test_formulas_read_ancestors_of_relevant_listed_and_predicted_labels() -> None:
    above = {"a": {"a", "x", "root"}, "b": {"b", "x", "root"}, "c": {"c", "y", "root"}}
    truth = [["a", "c"], ["b"], []]
    scores = [{"a": 0.9, "b": 0.4}, {"c": 0.5, "b": 0.25}, {"b": 0.5}]
    formulas: dict[str, Callable[[BlockRows], Any]] = {
        "lab-relevant": lambda rows: rows.with_ancestors.relevant.sizes * 1.0,
        "lab-listed": lambda rows: rows.with_ancestors.listed.sizes * 1.0,
        "lab-predicted": lambda rows: rows.with_ancestors.predicted.sizes * 1.0,
    }
    measures = [
        Measure(name, rows=formula, range=(0, 9), needs=("scores", "sets", "hierarchy"))
        for name, formula in formulas.items()
    ]
    options: dict[str, Any] = {"hierarchy": TREE, "decision": "threshold0.3", "per_row": True}
    columns = evaluate(truth, scores, metrics=measures, labels=[*"abc"], **options).per_row()

    def sizes(rows: Any) -> list[int]:
        return [len(set().union(*(above[label] for label in row))) for row in rows]

    assert columns["lab-relevant"].tolist() == sizes(truth)
    assert columns["lab-listed"].tolist() == sizes(scores)
    predicted = [[label for label, score in row.items() if score > 0.3] for row in scores]
    assert columns["lab-predicted"].tolist() == sizes(predicted)


def test_formulas_may_be_partial_functions_that_differ_by_their_arguments() -> None:
    def powered(rows: BlockRows, power: int) -> Any:
        return np.full(rows.n_rows, 0.5**power)

    measures = [Measure(f"lab-power-{n}", rows=partial(powered, power=n)) for n in (1, 2)]
    report = evaluate(Y, S, metrics=measures)
    assert dict(report) == {"lab-power-1": 0.5, "lab-power-2": 0.25}
    one, two = (
        declaration_of(Measure("lab-power-3", rows=partial(powered, power=n))) for n in (1, 2)
    )
    assert one != two


def test_vectors_of_another_length_than_that_of_the_example_are_refused() -> None:
    measure = Measure(
        "lab-lengths",
        rows=lambda rows: np.ones((rows.n_rows, 3 if rows.n_rows > 4 else 2)),
        total=lambda means, setting: 0.5,
    )
    assert evaluate(Y[:3], S[:3], metrics=measure)["lab-lengths"] == 0.5
    message = "lab-lengths: the formula returned 3 values for each row, but 2 when defined"
    with pytest.raises(ValueError, match=message):
        evaluate(Y[:6], S[:6], metrics=measure)


def test_ancestors_are_listed_by_score_and_node() -> None:
    listed = example_rows().with_ancestors.listed
    assert listed.scores is not None
    assert listed.labels.tolist() == [2, 0, 1, 4, 1, 2, 5, 3, 5]
    assert listed.scores.tolist() == [0.9, 0.5, 0.5, 0.25, 0.75, 0.75, 0.125, 0.5, 0.5]


def test_distance_of_zero_is_not_negative_for_formulas() -> None:
    def signs(rows: BlockRows) -> Any:
        assert rows.listed.scores is not None
        return rows.listed.sum_by_row(np.signbit(rows.listed.scores))

    measure = Measure("lab-signs", rows=signs, needs=("entry scores",), range=(0, 99))
    distances = np.array([[0.0, 0.5], [0.25, -0.0]])
    report = evaluate(np.eye(2), distances, metrics=measure, higher_is_better=False)
    assert report["lab-signs"] == 0.0


@pytest.mark.parametrize("value", [1 + 2.0**-52, -(2.0**-52)])
def test_value_outside_of_the_range_by_rounding_is_taken(value: float) -> None:
    measure = Measure("lab-rounded", rows=lambda rows: np.full(rows.n_rows, value))
    assert evaluate(np.eye(2), np.eye(2), metrics=measure)["lab-rounded"] == value
