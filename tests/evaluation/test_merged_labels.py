"""Merging by name: orders of labels, groups, propensities, unknown labels, files and messages."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import json_of
from tests.damage import answer
from tests.own_measures import NOVELTY
from xmleval import BlockRows, Evaluator, Measure

DAY1 = ["a", "b", "c"]
DAY2 = ["d", "b", "a"]
UNION = ["a", "b", "c", "d"]
TRUTHS = {"first": [["a"], ["b", "c"], []], "second": [["d", "a"], ["b"]]}
SCORES: dict[str, list[dict[str, float]]] = {
    "first": [{"a": 0.5, "b": 0.5}, {"c": 0.9, "a": 0.1}, {"b": 0.2}],
    "second": [{"d": 0.5, "a": 0.5, "b": 0.5}, {"a": 0.4, "d": 0.3}],
}
METRICS = ["p@1", "psp@2", "ndcg@2", "f1.macro@1", "f1.micro@1", "auc.micro", "auc.macro"]
PROPENSITY = {"a": 1.5, "b": 2.0, "c": 3.0, "d": 4.0}
GROUPS = {"a": "head", "b": "tail", "c": "tail", "d": "head"}


def evaluator_of(labels: list[str], *days: str, **options: Any) -> Evaluator:
    options = {
        "metrics": METRICS,
        "inverse_propensity": [PROPENSITY[label] for label in labels],
        "label_groups": GROUPS,
        "per_label": True,
        "confidence": 0.9,
        **options,
    }
    evaluator = Evaluator(labels=labels, **options)
    for day in days:
        first_row = 0 if day == "first" else 3
        evaluator.update(TRUTHS[day], SCORES[day], first_row=first_row)
    return evaluator


@pytest.mark.parametrize("labels", [DAY1, ["c", "b", "a"]])
def test_equal_scores_of_names_rank_alike_in_any_order_of_labels(labels: list[str]) -> None:
    merged = evaluator_of(labels, "first").merge(evaluator_of(DAY2, "second")).compute()
    whole = evaluator_of([*labels, "d"], "first", "second").compute()
    assert merged.to_json() == whole.to_json()
    columns = whole.per_label()
    for name, values in merged.per_label().items():
        assert [*values] == [*columns[name]]
    assert [*columns["name"]] == [*labels, "d"]


def test_order_of_states_changes_the_order_of_labels_alone() -> None:
    one = evaluator_of(DAY1, "first").merge(evaluator_of(DAY2, "second"))
    other = evaluator_of(DAY2, "second").merge(evaluator_of(DAY1, "first"))
    assert one.settings["labels"] == UNION
    assert other.settings["labels"] == ["d", "b", "a", "c"]
    assert dict(one.compute()) == dict(other.compute())


NAMES_OF_HALVES = (["c", "a", "b", "d"], ["b", "d", "e", "c"])
ROWS_OF_HALVES: tuple[list[list[str]], list[list[str]]] = (
    [["a"], ["c", "b"], [], ["d"]],
    [["e", "b"], ["d"], ["c"], []],
)
MERGED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "curves": (["auc.macro", "ap.macro", "peak_f1.macro", "auc.micro", "ap.micro"], {}),
    "weighted curves": (["auc.macro", "ap.weighted", "auc.micro"], {"sample_weight": True}),
    "true negatives": (["specificity.micro@2", "accuracy.micro@1", "accuracy.macro@1"], {}),
    "weighted true negatives": (["specificity.micro@2", "mcc.micro@1"], {"sample_weight": True}),
    "judged true negatives": (["specificity.micro@1"], {"judged": True, "sample_weight": True}),
    "excluded": (["accuracy.micro@2", "auc.macro"], {"exclude": True}),
    "bounds": (["auc.macro", "ap.macro", "p@1"], {"bounds": True}),
    "bounds of judged": (["auc.macro", "ap.macro"], {"bounds": True, "judged": True}),
    "intervals": (["accuracy.micro@1", "f1.macro@2", "auc.macro"], {"confidence": 0.8}),
    "coverage of labels": (["label_coverage@2", "pred_coverage@2"], {}),
}


def half_of(number: int, labels: list[str], metrics: list[str], options: dict[str, Any]) -> Any:
    """Return the arguments of an evaluator, and those of the rows of one half."""
    known = NAMES_OF_HALVES[number]
    truth = ROWS_OF_HALVES[number]
    rng = np.random.default_rng(number)
    values = rng.integers(0, 4, (4, 4)) / 4
    scores: list[dict[str, float]] = [dict(zip(known, row.tolist(), strict=True)) for row in values]
    judged = [sorted({*row, known[i]} - {known[i - 1]}) for i, row in enumerate(truth)]
    rows: dict[str, Any] = {"y_true": truth, "y_score": scores}
    if "judged" in options:
        rows["judged"] = judged
    if "exclude" in options:
        rows["exclude"] = [[known[-1 - i]] for i in range(4)]
    if "sample_weight" in options:
        rows["sample_weight"] = [0.5, 3.0, 2.0, 0.25 + number]
    arguments: dict[str, Any] = {"labels": labels, "metrics": metrics, "per_label": True}
    for name in ("bounds", "confidence"):
        if name in options:
            arguments[name] = options[name]
    return arguments, rows


@pytest.mark.parametrize("name", MERGED)
def test_merged_labels_give_the_report_of_one_run_for_every_kind_of_state(name: str) -> None:
    first, second = NAMES_OF_HALVES
    union = [*first, "e"]
    evaluators = []
    whole = None
    for number, labels in enumerate((first, second)):
        options, rows = half_of(number, labels, *MERGED[name])
        evaluator = Evaluator(**options)
        evaluator.update(**rows, first_row=4 * number)
        evaluators.append(evaluator)
        whole = whole or Evaluator(**{**options, "labels": union})
        whole.update(**rows, first_row=4 * number)
    assert whole is not None
    merged = evaluators[0].merge(evaluators[1]).compute()
    expected = whole.compute()
    assert merged.to_json() == expected.to_json()
    columns = expected.per_label()
    for column, values in merged.per_label().items():
        np.testing.assert_array_equal(values, columns[column])


@pytest.mark.parametrize("cells", ["none", "exclude", "judged"])
def test_margins_merge_by_name_with_labels_in_another_order(cells: str, tmp_path: Path) -> None:
    metrics = ["margin.macro", "margin_share.macro", "margin.samples"]
    rng = np.random.default_rng(8)
    scores = rng.integers(-4, 5, (6, 3)) / 4
    truth = (rng.random((6, 3)) < 0.5).astype(int)
    given = (rng.random((6, 3)) < 0.7).astype(int)
    sets: dict[str, Any] = {} if cells == "none" else {cells: given}
    order = [2, 0, 1]
    whole = Evaluator(metrics, labels=DAY1, per_label=True)
    whole.update(truth, scores, **sets)
    first = Evaluator(metrics, labels=DAY1, per_label=True)
    first.update(truth[:3], scores[:3], **{name: matrix[:3] for name, matrix in sets.items()})
    second = Evaluator(metrics, labels=[DAY1[j] for j in order], per_label=True)
    second.update(
        truth[3:, order],
        scores[3:, order],
        **{name: matrix[3:, order] for name, matrix in sets.items()},
    )
    second.save(tmp_path / "second")
    expected = whole.compute()
    for other in (second, Evaluator.load(tmp_path / "second")):
        merged = copy.copy(first).merge(other).compute()
        assert merged.to_json() == expected.to_json()
        margins = expected.per_label()["margin"]
        np.testing.assert_array_equal(merged.per_label()["margin"], margins)


def test_merged_state_goes_on_and_is_saved(tmp_path: Path) -> None:
    merged = evaluator_of(DAY1, "first").merge(evaluator_of(DAY2))
    merged.update(TRUTHS["second"], SCORES["second"], first_row=3)
    merged.save(tmp_path / "state")
    whole = evaluator_of(UNION, "first", "second")
    assert Evaluator.load(tmp_path / "state").compute().to_json() == whole.compute().to_json()


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "propensity differs": (
        {"inverse_propensity": [1.5, 2.0, 3.0]},
        {"inverse_propensity": [4.0, 2.5, 1.5]},
    ),
    "label_groups differs: head, tail here, head, torso there": (
        {"label_groups": ["head", "tail", "tail"]},
        {"label_groups": ["head", "torso", "head"]},
    ),
    "label_groups differs": (
        {"label_groups": ["head", "tail", "tail"]},
        {"label_groups": ["head", "head", "tail"]},
    ),
    "confidence differs: 0.9 here, None there": ({}, {"confidence": None}),
    "hamming_loss cannot be merged by name of labels: its value of a row depends": (
        {"metrics": ["p@1", "hamming_loss"], "decision": "top1"},
        {"metrics": ["p@1", "hamming_loss"], "decision": "top1"},
    ),
    "p@1 cannot be merged by name of labels: unlisted labels have a score": (
        {"metrics": ["p@1"], "conventions": "unlisted=0"},
        {"metrics": ["p@1"], "conventions": "unlisted=0"},
    ),
    "hierarchy= is for the labels of one state": (
        {"metrics": ["p@1"], "hierarchy": [("a", "x")]},
        {"metrics": ["p@1"], "hierarchy": [("a", "x")]},
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_merged_exactly_is_refused_and_nothing_counted(message: str) -> None:
    options, others = REFUSED[message]
    evaluator = evaluator_of(DAY1, "first", **options)
    before = evaluator.compute().to_json()
    with pytest.raises(ValueError, match=re.escape(f"merge: {message}")):
        evaluator.merge(evaluator_of(DAY2, "second", **others))
    assert evaluator.settings["labels"] == DAY1
    assert evaluator.compute().to_json() == before


def test_equal_scores_of_columns_in_another_order_are_refused(tmp_path: Path) -> None:
    def evaluator(labels: list[str], scores: list[float]) -> Evaluator:
        evaluator = Evaluator(["p@1"], labels=labels)
        evaluator.update(np.array([[1, 0]]), np.array([scores]))
        return evaluator

    tied = [0.5, 0.5]
    message = "merge: p@1 cannot be merged by name of labels: equal scores rank by the number"
    other = evaluator(["b", "a"], tied)
    other.save(tmp_path / "other")
    for same in (other, Evaluator.load(tmp_path / "other")):
        with pytest.raises(ValueError, match=message):
            evaluator(["a", "b"], tied).merge(same)
    merged = evaluator(["a", "b"], tied).merge(evaluator(["a", "c"], tied))
    assert merged.compute()["p@1"] == 1.0
    assert evaluator(["a", "b"], tied).merge(evaluator(["b", "a"], [0.1, 0.2])).n_rows == 2


@pytest.mark.parametrize("whole", [[], ["auc.macro"]], ids=["leading", "whole rows"])
@pytest.mark.parametrize("decision", ["top1", "top1&threshold0.2"])
def test_equal_scores_of_irrelevant_labels_matter_by_label(whole: list[str], decision: str) -> None:
    def evaluator(labels: list[str], scores: list[float]) -> Evaluator:
        evaluator = Evaluator(["f1.macro", *whole], labels=labels, decision=decision)
        evaluator.update(np.zeros((2, 3)), np.array([scores, scores]))
        return evaluator

    message = "equal scores rank by the number"
    with pytest.raises(ValueError, match=message):
        evaluator(["a", "b", "c"], [0.5, 0.5, 0.1]).merge(evaluator(["b", "a", "c"], [0.5, 0.5, 0]))
    if whole:  # equal scores behind the first label change no set
        scores = [0.5, 0.4, 0.4]
        merged = evaluator(["a", "b", "c"], scores).merge(evaluator(["b", "a", "c"], scores))
        assert merged.n_rows == 4


@pytest.mark.parametrize("score", [0.0, 0.3])
def test_ranks_do_not_merge_with_further_labels_where_unlisted_ones_have_a_score(
    score: float,
) -> None:
    def evaluator(labels: list[str]) -> Evaluator:
        evaluator = Evaluator("p@1", labels=labels, conventions={"unlisted": score})
        evaluator.update([["a"]], [{"a": 0.5, "b": 0.4}])
        return evaluator

    short = ["a", "b"]
    longer = ["a", "b", "c"]
    for first, second in [(short, longer), (longer, short)]:
        with pytest.raises(ValueError, match="unlisted labels have a score, and take ranks"):
            evaluator(first).merge(evaluator(second))
    assert evaluator(short).merge(evaluator(short)).compute()["p@1"] == 1.0


def test_predictions_of_unknown_labels_count_as_wrong_where_that_is_exact() -> None:
    def day(labels: list[str], metrics: list[str]) -> Evaluator:
        evaluator = Evaluator(metrics, labels=labels)
        evaluator.update([["a"], ["a"]], [{"x": 0.9, "a": 0.5}, {"a": 0.9}])
        return evaluator

    metrics = ["p@1", "ndcg@2", "f1.micro@1"]
    merged = day(["a", "b"], metrics).merge(day(["x", "a"], metrics)).compute()
    whole = Evaluator(metrics, labels=["a", "b", "x"])
    for _ in range(2):
        whole.update([["a"], ["a"]], [{"x": 0.9, "a": 0.5}, {"a": 0.9}])
    assert dict(merged) == dict(whole.compute())
    note = "labels that a merged state predicted but did not know count as wrong"
    assert any(note in each for each in merged.notes)
    for metric in ("f1.macro@1", "auc.micro"):
        message = f"{metric} cannot be merged by name of labels: a state predicted labels that"
        with pytest.raises(ValueError, match=message):
            day(["a", "b"], [metric]).merge(day(["x", "a"], [metric]))


def test_numbers_of_labels_without_names_must_agree(
    folder: Path, refused: Callable[..., str]
) -> None:
    evaluators = []
    for n_labels in (3, 4):
        evaluator = Evaluator(["p@1"])
        evaluator.update(np.eye(n_labels), np.eye(n_labels))
        evaluator.save(f"{n_labels}.state")
        evaluators.append(evaluator)
    message = "3 labels here, 4 there; give labels=, their names, to merge labels by name"
    with pytest.raises(ValueError, match=message):
        evaluators[0].merge(evaluators[1])
    expected = "4.state: 3 labels here, 4 there; give --labels, their names"
    assert refused("merge 3.state 4.state").startswith(expected)


def test_states_of_files_with_names_merge_by_name(folder: Path) -> None:
    Path("y1.csv").write_text("id,labels\n1,a;b\n2,c\n")
    Path("y2.csv").write_text("id,labels\n3,d\n4,b;a\n")
    Path("m1.csv").write_text("id,label,score\n1,a,0.9\n1,c,0.3\n2,b,0.8\n2,c,0.8\n")
    Path("m2.csv").write_text("id,label,score\n3,d,0.9\n3,a,0.3\n4,d,0.8\n4,b,0.8\n")
    Path("y.csv").write_text("id,labels\n1,a;b\n2,c\n3,d\n4,b;a\n")
    both = Path("m1.csv").read_text() + Path("m2.csv").read_text().partition("\n")[2]
    Path("m.csv").write_text(both)
    options = "--metrics p@1,ndcg@2,f1.macro@1,f1.micro@1 --confidence 0.9 --separator ;"
    for day in (1, 2):
        line = f"evaluate y{day}.csv m{day}.csv {options} --save {day}.state"
        assert answer(line.split())[0] == 0
    merged = json_of("merge 1.state 2.state")
    assert answer(f"evaluate y.csv m.csv {options} --output whole.json".split())[0] == 0
    whole = json.loads(Path("whole.json").read_text())
    for name in ("values", "confidence", "n_rows", "n_labels"):
        assert merged[name] == whole[name]


BY_LABEL = ("precision", "recall", "f1", "jaccard", "accuracy", "specificity", "mcc", "gmean")
BY_LABEL_AND_POOLED = [
    *(f"{name}.{average}" for name in BY_LABEL for average in ("micro", "macro", "weighted")),
    *(f"{name}.{average}" for name in ("auc", "ap") for average in ("micro", "macro", "weighted")),
    *(
        "peak_f1.macro",
        "ap.geometric",
        "label_coverage.macro@2",
        "pred_coverage",
        "gini",
        "entropy",
    ),
    *("recall_at_precision.macro(p=0.5)", "f1.of_macros@2", "accuracy.micro@2", "entropy"),
    *("p@2", "ndcg@2", "map@2", "rprec", "one_error", "subset_accuracy", "label_cardinality"),
    *("aurc@2", "ece(bins=3)", "ece(bins=3)@1", "ace(bins=3)", "brier", "log_loss@2"),
]
DISTINCT: dict[str, list[dict[str, float]]] = {
    "first": [{"a": 0.5, "b": 0.4, "c": 0.2}, {"c": 0.9, "a": 0.1, "b": 0.95}, {"b": 0.2}],
    "second": [{"d": 0.55, "a": 0.5, "b": 0.45}, {"a": 0.4, "d": 0.3, "b": 0.7}],
}
WEIGHTS = {"first": [1.0, 2.0, 0.5], "second": [3.0, 1.5]}


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_measures_of_states_with_other_labels_are_those_of_all_rows(
    is_weighted: bool, is_saved: bool, tmp_path: Path
) -> None:
    def count(labels: list[str], *days: str) -> Evaluator:
        evaluator = Evaluator(
            BY_LABEL_AND_POOLED,
            labels=labels,
            decision="threshold0.45",
            per_label=True,
            confidence=0.9,
        )
        for day in days:
            options: dict[str, Any] = {"first_row": 0 if day == "first" else 3}
            if is_weighted:
                options["sample_weight"] = WEIGHTS[day]
            evaluator.update(TRUTHS[day], DISTINCT[day], **options)
        return evaluator

    states = [count(DAY1, "first"), count(DAY2, "second")]
    if is_saved:
        for number, state in enumerate(states):
            state.save(tmp_path / f"{number}.state")
        states = [Evaluator.load(tmp_path / f"{number}.state") for number in (0, 1)]
    merged = states[0].merge(states[1]).compute()
    whole = count(UNION, "first", "second").compute()
    assert merged.to_json() == whole.to_json()
    columns = whole.per_label()
    for name, values in merged.per_label().items():
        np.testing.assert_array_equal(values, columns[name])


@pytest.mark.parametrize("is_weighted", [False, True])
def test_margins_of_labels_in_another_order_are_those_of_all_rows(is_weighted: bool) -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random((8, 3)) < 0.5).astype(int)
    scores = rng.normal(size=truth.shape)
    names = ["margin.macro", "margin_share.macro", "auc.macro"]

    def count(order: list[int], rows: slice) -> Evaluator:
        evaluator = Evaluator(names, labels=[DAY1[place] for place in order], per_label=True)
        weights: dict[str, Any] = {}
        if is_weighted:
            weights["sample_weight"] = np.arange(8)[rows] % 3
        start = rows.start or 0
        evaluator.update(truth[rows][:, order], scores[rows][:, order], first_row=start, **weights)
        return evaluator

    whole = count([0, 1, 2], slice(0, 8)).compute()
    merged = count([0, 1, 2], slice(0, 5)).merge(count([2, 0, 1], slice(5, 8))).compute()
    assert dict(merged) == dict(whole)
    columns = whole.per_label()
    for name, values in merged.per_label().items():
        np.testing.assert_array_equal(values, columns[name])


NOT_BY_NAME = {
    "its value of a row depends on the number of labels": (
        *("lrap", "auc.samples", "coverage", "ranking_loss", "label_density", "mean_rank"),
        *("specificity.samples", "hmean.samples", "log_loss.samples", "is_error"),
        *("lrap(rel=1)", "log_loss.samples(rel=1)"),
    ),
    "sets of labels are kept by the numbers of labels": (
        "label_diversity",
        "proportional_diversity",
    ),
    "it needs a score of every label": ("margin.macro", "margin_share.macro"),
}


@pytest.mark.parametrize(
    ("reason", "name"),
    [(reason, name) for reason, names in NOT_BY_NAME.items() for name in names],
)
def test_measures_that_need_all_labels_are_not_merged_by_name(reason: str, name: str) -> None:
    def count(labels: list[str], day: str) -> Evaluator:
        evaluator = Evaluator([name], labels=labels, decision="top1")
        scores = [dict.fromkeys(labels, 0.1) | row for row in DISTINCT[day]]
        evaluator.update(TRUTHS[day], scores)
        return evaluator

    message = f"merge: {name} cannot be merged by name of labels: {reason}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        count(DAY1, "first").merge(count(DAY2, "second"))
    same = count(DAY1, "first")
    assert same.merge(count(DAY1, "first")).n_rows == 6


DIVERSE = "sets of labels are kept by the numbers of labels"
BY_NUMBER = "its value of a row depends on the number of labels"
GAPLESS = "it needs a score of every label"
# reasons to refuse: labels in another order, further labels
MERGED_MEASURES: dict[str, tuple[str, str]] = {
    "p@1": ("", ""),
    "ndcg@2": ("", ""),
    "rprec": ("", ""),
    "one_error": ("", ""),
    "label_coverage@1": ("", ""),
    "label_cardinality": ("", ""),
    "f1.samples": ("", ""),
    "subset_accuracy": ("", ""),
    "jaccard.macro": ("", ""),
    "accuracy.micro": ("", ""),
    "auc.micro": ("", ""),
    "auc.macro": ("", ""),
    "ap.macro": ("", ""),
    "peak_f1.micro": ("", ""),
    "brier": ("", ""),
    "margin.samples": ("", BY_NUMBER),
    "lrap": ("", BY_NUMBER),
    "ranking_loss": ("", BY_NUMBER),
    "coverage": ("", BY_NUMBER),
    "auc.samples": ("", BY_NUMBER),
    "is_error": ("", BY_NUMBER),
    "error_set_size": ("", BY_NUMBER),
    "hamming_loss": ("", BY_NUMBER),
    "label_density": ("", BY_NUMBER),
    "margin.macro": ("", GAPLESS),
    "label_diversity": (DIVERSE, DIVERSE),
    "proportional_diversity": (DIVERSE, DIVERSE),
}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("metric", MERGED_MEASURES)
def test_each_measure_merges_by_name_exactly_or_is_refused_with_the_reason(
    metric: str, saved: bool, tmp_path: Path
) -> None:
    decided = ("f1.samples", "subset_accuracy", "jaccard.macro", "accuracy.micro", "hamming_loss")
    options: dict[str, Any] = {"metrics": [metric]}
    if metric in decided:
        options["decision"] = "top1"
    cells = np.array([[1, 0], [1, 0], [0, 1]])
    scores = np.array([[0.9, 0.1], [0.25, 0.5], [0.2, 0.7]])

    def counted(labels: list[str], first_row: int) -> Evaluator:
        evaluator = Evaluator(labels=labels, **options)
        evaluator.update(cells, scores, first_row=first_row)
        if not saved:
            return evaluator
        path = tmp_path / "".join(labels)
        evaluator.save(path)
        return Evaluator.load(path)

    for labels, reason in zip((["b", "a"], ["b", "c"]), MERGED_MEASURES[metric], strict=True):
        first = counted(["a", "b"], 0)
        second = counted(labels, 3)
        if reason:
            message = f"merge: {metric} cannot be merged by name of labels: {reason}; evaluate each"
            with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
                first.merge(second)
            assert first.settings["labels"] == ["a", "b"]
            assert first.n_rows == 3
            continue
        names = sorted({"a", "b", *labels})
        whole = Evaluator(labels=names, **options)
        for columns in (["a", "b"], labels):
            truth = [[columns[label] for label in np.flatnonzero(row)] for row in cells]
            run = [dict(zip(columns, row, strict=True)) for row in scores.tolist()]
            whole.update(truth, run)
        merged = first.merge(second)
        assert merged.n_labels == len(names)
        assert dict(merged.compute()) == dict(whole.compute())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"label_groups": {"a": "head", "b": "tail", "x": "tail"}}, "a group of labels"),
        ({"per_label": True}, "values by label"),
    ],
)
def test_predictions_of_labels_that_only_the_other_state_knows_are_refused(
    options: dict[str, Any], what: str
) -> None:
    """Groups of labels and values by label would lack them."""
    known = [{"a": 0.9, "b": 0.25}, {"a": 0.5}]
    unknown = [{"x": 0.9, "a": 0.5}, {"a": 0.9}]
    options = {"metrics": ["p@1", "f1.micro@1"], **options}

    def counted(labels: list[str], run: list[dict[str, float]]) -> Evaluator:
        evaluator = Evaluator(labels=labels, **options)
        evaluator.update([["a"], ["b"] if "b" in labels else ["a"]], run)
        return evaluator

    message = (
        f"merge: {what} cannot be merged by name of labels: a state predicted labels that it does "
        "not know, but the other has 1 label more; evaluate each state with labels=, the names of "
        "all"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        counted(["a", "b"], unknown).merge(counted(["x", "a"], unknown))
    assert counted(["a", "b"], unknown).merge(counted(["a", "b"], known)).n_rows == 4
    assert counted(["a", "b"], known).merge(counted(["x", "a"], unknown)).n_labels == 3


@pytest.mark.parametrize("form", ["names", "scores"])
@pytest.mark.parametrize("empty_first", [False, True])
def test_rows_that_list_nothing_merge_by_name_with_lists_of_either_form(
    empty_first: bool, form: str
) -> None:
    lists: list[Any] = [["b", "c"], ["c", "a"]]
    metrics = ["p@1", "ndcg@2"]
    if form == "scores":
        lists = [{"b": 0.5, "c": 0.25}, {"c": 1.0, "a": 0.75}]
        metrics = ["p@1", "brier@2"]

    def counted(labels: list[str], truth: Any, rows: list[Any]) -> Evaluator:
        evaluator = Evaluator(metrics, labels=labels)
        evaluator.update(truth, rows)
        return evaluator

    empty = counted(["a", "b"], [["a"], ["b"]], [[], []])
    more = counted(["d", "b"], [["d"]], [[]])
    listed = counted(["c", "a", "b"], [["b"], ["a"]], lists)
    whole = Evaluator(metrics, labels=["a", "b", "c", "d"])
    whole.update([["a"], ["b"], ["d"], ["b"], ["a"]], [[], [], [], *lists])
    first, *others = (empty, more, listed) if empty_first else (listed, empty, more)
    for other in others:
        first.merge(other)
    merged = first
    assert merged.n_labels == 4
    assert dict(merged.compute()) == dict(whole.compute())


def row_size(rows: BlockRows) -> Any:
    return rows.n_relevant.astype(float)


ROW_SIZE = Measure("row-size", rows=row_size, range=(0, np.inf))
FORMULA = "row-size cannot be merged by name of labels: a formula of its own may depend on the"


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (ROW_SIZE, f"{FORMULA} numbers of labels; evaluate each state"),
        (NOVELTY, "label_data= is for the labels of one state"),
    ],
)
def test_own_measures_merge_by_name_only_if_labels_keep_their_numbers(
    metric: Measure, message: str
) -> None:
    def counted(labels: list[str]) -> Evaluator:
        options: dict[str, Any] = {"metrics": [metric], "k": 1}
        if metric is NOVELTY:
            options["label_data"] = {"popularity": np.linspace(0.2, 0.9, len(labels))}
        evaluator = Evaluator(labels=labels, **options)
        evaluator.update([[labels[0]]], [{labels[1]: 0.5}])
        return evaluator

    for others in (["b", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match=f"^merge: {re.escape(message)}"):
            counted(["a", "b"]).merge(counted(others))
    merged = counted(["a", "b"]).merge(counted(["a", "b"]))
    assert dict(merged.compute()) == dict(counted(["a", "b"]).compute())
