"""Label groups: their values and shares, groups by training rows, and values that are kept."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.evaluation.data import COPIES
from xmleval import Evaluator, evaluate, label_groups
from xmleval.metrics.spec import parse_spec
from xmleval.states.state import state_class

N_ROWS = 90
N_LABELS = 24
RNG = np.random.default_rng(8)
Q = 1 + 9 * RNG.random(N_LABELS)
TRUTH = (RNG.random((N_ROWS, N_LABELS)) < np.linspace(0.4, 0.02, N_LABELS)).astype(int)
SCORES = np.round(RNG.random((N_ROWS, N_LABELS)) + 0.4 * TRUTH, 1)  # ties
WEIGHT = RNG.random(N_ROWS) + 0.1
NAMES = np.array(["head", "tail", "mid"])[RNG.integers(0, 3, N_LABELS)]  # groups of the labels
IDS = np.argsort(-SCORES, axis=1, kind="stable")[:, :7].astype(np.int32)
LISTED = np.take_along_axis(SCORES, IDS, axis=1)
POSITIONS = (np.arange(N_ROWS).repeat(7), IDS.ravel())
MATRIX = sp.csr_array((LISTED.ravel(), POSITIONS), shape=TRUTH.shape)
TOP = np.array([np.isin(range(N_LABELS), ids[:3]) for ids in IDS])
LISTS = (IDS, LISTED)
FORMS: dict[str, Any] = {
    "dense": (SCORES, SCORES),
    "sparse": (MATRIX, MATRIX),
    "list": (LISTS, MATRIX),
}
EVERY: dict[str, Any] = {"metrics": "all", "inverse_propensity": Q, "decision": "top3"}


class Reading(NamedTuple):
    """Input of a measure: whether it counts labels, and at which k sets, 0 for the decision's."""

    counts_labels: bool
    sets_at: int | None


def reading_of(name: str) -> Reading:
    spec = parse_spec(name)
    parts = [parse_spec(part) for part in spec.parts] or [spec]
    counts_labels = all(state_class(part.state).counts_labels for part in parts)
    if any("sets" in part.metric.needs or part.state == "label_totals" for part in parts):
        return Reading(counts_labels, spec.k or 0)
    return Reading(counts_labels, None)


def is_compared(name: str, sets_at: int | None, unlisted: Any) -> bool:
    """Return whether TOP, the first three stored scores, has the sets of the measure."""
    if "label_cov" in name:
        return False
    if sets_at is None:
        return True
    return sets_at in (0, 3) and unlisted == "below"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unlisted", ["below", 0.35])
def test_values_of_a_label_group_are_those_of_its_labels_alone(form: str, unlisted: Any) -> None:
    """Sets of the first k are among all labels, rankings and scores among those of the group."""
    scores, matrix = FORMS[form]
    conventions = {"unlisted": unlisted}
    report = evaluate(TRUTH, scores, label_groups=NAMES, conventions=conventions, **EVERY)
    assert {*report.groups} == {*NAMES}
    n_compared = 0
    for group, values in report.groups.items():
        labels = np.flatnonzero(group == NAMES)
        with_relevant = np.flatnonzero(TRUTH[:, labels].any(axis=1))
        assert (values.n_rows, values.n_labels) == (with_relevant.size, labels.size)
        for name in report:
            reading = reading_of(name)
            if not is_compared(name, reading.sets_at, unlisted):
                continue
            rows = with_relevant
            if reading.counts_labels:
                rows = np.arange(N_ROWS)
            inputs: dict[str, Any] = {"y_true": TRUTH[rows][:, labels]}
            metric = name
            if reading.sets_at is None:
                inputs["y_score"] = matrix[rows][:, labels]
            else:
                metric = name.split("@")[0]
                inputs["y_score"] = None
                inputs["y_pred"] = TOP[rows][:, labels].astype(int)
            expected = evaluate(
                **inputs,
                metrics=metric,
                conventions=conventions,
                inverse_propensity=Q[labels],
            )
            assert repr(values[name]) == repr(expected[metric]), name
            n_compared += 1
    assert n_compared > 150


@pytest.mark.parametrize("order", ["abcdefgh", "hgfedcba", "dbeacfhg", "bcdefgha", "cadbgehf"])
def test_unlisted_labels_of_a_group_are_ranked_by_name_in_any_order_of_labels(order: str) -> None:
    rng = np.random.default_rng(0)
    labels = [*order]
    truth = [[label for label in labels if rng.random() < 0.4] for _ in range(30)]
    scores: list[dict[str, float]] = []
    for _ in truth:
        scores.append({label: 0.1 + rng.random() for label in labels if rng.random() < 0.2})
    groups = dict(zip("abcdefgh", "xyxxyxxx", strict=True))
    options: dict[str, Any] = {"labels": labels, "conventions": "unlisted=0"}
    report = evaluate(truth, scores, metrics=["p@1", "p@2"], label_groups=groups, **options)
    for group, values in report.groups.items():
        names = [label for label in groups if groups[label] == group]
        precisions: dict[int, list[float]] = {1: [], 2: []}
        for relevant, listed in zip(truth, scores, strict=True):
            if not {*relevant} & {*names}:
                continue
            # best first; the later name is first among equal scores
            ranked = sorted(names, key=lambda label: (listed.get(label, 0.0), label))[::-1]
            for k, values_at_k in precisions.items():
                values_at_k.append(sum(label in relevant for label in ranked[:k]) / k)
        expected = [np.mean(values_at_k) for values_at_k in precisions.values()]
        assert [*values.values()] == pytest.approx(expected, rel=1e-12)


def test_popularity_within_label_groups_is_that_of_their_labels() -> None:
    train = (np.random.default_rng(1).random((70, N_LABELS)) < np.linspace(0.9, 0.01, N_LABELS)) + 0
    counts = train.sum(axis=0)
    metrics = ["popularity@3", "tail_share(count=40)@3"]
    report = evaluate(TRUTH, LISTS, metrics=metrics, y_train=train, label_groups=NAMES)
    for group, values in report.groups.items():
        slots = TOP.sum(axis=0) * (group == NAMES)
        is_tail = (counts > 0) & (counts <= 40)
        assert 0 < slots[is_tail].sum() < slots.sum()
        expected = [np.average(each, weights=slots) for each in (counts, is_tail)]
        assert [*values.values()] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("empty", ["zero", "skip", "one"])
@pytest.mark.parametrize("n_empty", [0, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_shares_of_label_groups_add_up_or_are_undefined(
    weight: Any, n_empty: int, empty: str
) -> None:
    truth = TRUTH.copy()
    truth[truth.sum(axis=1) == 0, 0] = 1
    truth[:n_empty] = 0
    options: dict[str, Any] = {
        "conventions": {"empty": empty},
        "sample_weight": weight,
        "label_groups": NAMES,
    }
    metrics = ["xmc", "ps", "rcap@3", "dcg@3"]
    report = evaluate(truth, SCORES, metrics=metrics, inverse_propensity=Q, **options)
    undefined = []
    if empty == "one" and n_empty:
        undefined = [name for name in report if name.startswith(("r@", "ndcg@", "rcap@"))]
    for name in report:
        total = math.fsum(shares[name] for shares in report.shares.values())
        if name in undefined:
            assert math.isnan(total)
        else:
            assert total == pytest.approx(report[name], rel=1e-15)
    message = ": rows without relevant labels count 1 and belong to no group"
    assert any(note.endswith(message) for note in report.notes) == bool(undefined)
    if empty != "skip":
        is_hit = (truth & TOP)[:, NAMES == "tail"]
        mean_hits = np.average(is_hit.sum(axis=1), weights=weight)
        assert report.shares["tail"]["p@3"] == pytest.approx(mean_hits / 3, rel=1e-12)


def test_groups_note_short_lists_and_refuse_changes() -> None:
    note = "lists have few labels of a group ("
    for metrics, is_noted in (("p@3", True), (["gini@3", "f1.samples@3", "ece@3"], False)):
        options: Any = {"metrics": metrics, "conventions": "link=sigmoid", "label_groups": NAMES}
        notes = evaluate(TRUTH, LISTS, **options).notes
        assert any(note in text for text in notes) == is_noted
        notes = evaluate(TRUTH, SCORES, **options).notes
        assert not any(note in text for text in notes)

    evaluator = Evaluator("p@1", n_labels=N_LABELS, label_groups=NAMES)
    shard = Evaluator("p@1", n_labels=N_LABELS, label_groups=NAMES[::-1])
    evaluator.update(TRUTH, SCORES)
    shard.update(TRUTH, SCORES)
    with pytest.raises(ValueError, match="merge: label_groups differ"):
        evaluator.merge(shard)
    with pytest.raises(ValueError, match="row_groups: given now, but not earlier"):
        evaluator.update(TRUTH, SCORES, row_groups=["de"] * N_ROWS)

    rows = np.eye(1001, dtype=int)
    evaluator = Evaluator("p@1", n_labels=1001)
    evaluator.update(rows[:1000], rows[:1000], row_groups=np.arange(1000))
    with pytest.raises(ValueError, match="row_groups: 1001 groups; expected at most 1000"):
        evaluator.update(rows[1000:], rows[1000:], row_groups=[1000])
    assert evaluator.compute().n_rows == 1000


@pytest.mark.parametrize(("n_listed", "is_noted"), [(1, True), (2, False)])
def test_lists_are_short_for_a_group_if_they_lack_some_of_its_labels(
    n_listed: int, is_noted: bool
) -> None:
    """Lists hold the relevant label, and the other one of its group; k is larger than groups."""
    ids = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])[:, :n_listed]
    lists = (ids, np.tile([2.0, 1.0], (4, 1))[:, :n_listed])
    notes = evaluate(np.eye(4), lists, metrics="p@3", label_groups=[*"xxyy"]).notes
    assert ("of a group" in str(notes)) == is_noted
    assert ("few labels of a group (x 1 of 2, y 1 of 2 on average in" in str(notes)) == is_noted


def test_label_groups_are_made_of_numbers_of_training_rows() -> None:
    counts = [0, 1, 10, 11, 100, 101, 0]
    train = (np.arange(101)[:, None] < counts).astype(int)
    expected = {
        None: {"zero-shot": [0, 6], "tail": [1, 2], "torso": [3, 4], "head": [5]},
        (50,): {"zero-shot": [0, 6], "few": [1, 2, 3], "frequent": [4, 5]},
        (1, 5, 10, 50): {"zero-shot": [0, 6], "1": [1], "6-10": [2], "11-50": [3], ">50": [4, 5]},
    }
    for edges, labels_by_group in expected.items():
        options: dict[str, Any] = {}
        if edges is not None:
            options["edges"] = list(edges)
        by_counts = label_groups(label_counts=counts, **options)
        by_rows = label_groups(train, **options)
        for groups in (by_counts, by_rows):
            labels = {name: group.tolist() for name, group in groups.items()}
            assert labels == labels_by_group


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"label_counts": [3, -1]},
            "label_counts: label 1: -1 is not a number of rows",
        ),
        ({"label_counts": [0.5, 1]}, "label_counts: label 0: 0.5 is not a number of rows"),
        ({"label_counts": [1, math.inf]}, "label_counts: label 1: inf is not a number of rows"),
        (
            {"label_counts": [1, 2], "n_labels": 3},
            "n_labels: 3 does not match the 2 label counts",
        ),
        (
            {"label_counts": [1, 2], "labels": ["a"]},
            "labels: 1 does not match the 2 label counts",
        ),
    ],
)
def test_label_groups_refuse_wrong_numbers_of_training_rows(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        label_groups(**arguments)


@pytest.mark.parametrize("edges", [range(999), range(1, 999)])
def test_edges_give_up_to_a_thousand_groups(edges: range) -> None:
    groups = label_groups(label_counts=range(1000), edges=edges)
    assert len(groups) == 1000
    with pytest.raises(ValueError, match=r"^edges: 1001 groups; expected at most 1000$"):
        label_groups(label_counts=range(1000), edges=[*edges, 999])


def test_label_groups_are_found_by_name_and_matched_by_names_of_labels() -> None:
    groups = label_groups(label_counts=[0, 5, 200, 7], labels=[*"abcd"])
    assert [*groups] == ["zero-shot", "tail", "head"]
    assert len(groups) == 3
    assert groups["tail"].tolist() == [1, 3]
    with pytest.raises(KeyError, match="no group 'torso'; there are zero-shot, tail, head"):
        groups["torso"]
    others = groups.for_labels([*"dxc"])  # "x" has no training rows
    assert {name: labels.tolist() for name, labels in others.items()} == {
        "zero-shot": [1],
        "tail": [0],
        "head": [2],
    }
    all_seen = label_groups(label_counts=[5, 200], labels=[*"ab"]).for_labels([*"bxa"])
    assert {name: labels.tolist() for name, labels in all_seen.items()} == {
        "zero-shot": [1],
        "tail": [2],
        "head": [0],
    }
    message = "groups of labels without names cannot be matched by name"
    with pytest.raises(ValueError, match=message):
        label_groups(label_counts=[5, 200]).for_labels([*"ab"])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "", "b"], "label 1: the name of its group is empty"),
        ([["a"], "b", "c"], "label 0: ['a'] is neither a text nor an integer"),
        ([1.5, 2, 3], "label 0: 1.5 is neither a text nor an integer"),
        ([None, "a", "b"], "label 0: None is neither a text nor an integer"),
        (["a", "b"], "has groups of 2 labels; expected one for each of 3"),
        (
            {7: "a"},
            "7 is not a label id in 0..2; label ids are counted from 0, and names need names of "
            "labels in y_true",
        ),
        ({-1: "a"}, "-1 is not a label id in 0..2"),
        ({1: "a", 3: "b"}, "3 is not a label id in 0..2"),
    ],
)
def test_groups_of_labels_and_rows_are_refused_with_their_place(groups: Any, message: str) -> None:
    truth = np.eye(3)
    with pytest.raises(ValueError, match=f"^label_groups: {re.escape(message)}"):
        evaluate(truth, truth, metrics="p@1", label_groups=groups)
    if isinstance(groups, list):
        of_rows = message.replace("label", "row")
        if len(groups) != len(truth):
            of_rows = "2 rows do not match the 3 of y_true"
        with pytest.raises(ValueError, match=f"^row_groups: {re.escape(of_rows)}"):
            evaluate(truth, truth, metrics="p@1", row_groups=groups)


def test_label_groups_by_name_need_a_label_of_the_truth() -> None:
    rows = ([["a"], ["b"]], [{"a": 1.0}, {"a": 1.0}])
    message = "^label_groups: none of its labels is in y_true, which has 'a'$"
    with pytest.raises(ValueError, match=message):
        evaluate(*rows, metrics="p@1", label_groups={"x": "rare"})
    report = evaluate(*rows, metrics="p@1", label_groups={"x": "rare", "b": "rare"})
    assert [*report.groups] == ["rare", "other"]


@pytest.mark.parametrize("edges", [np.array([0, 2, 5]), range(3), "deciles"])
@pytest.mark.parametrize("named", [False, True])
def test_edges_are_groups_where_training_labels_are_given(edges: Any, named: bool) -> None:
    uniform = np.random.default_rng(1).random((20, N_LABELS))
    is_relevant = uniform < np.linspace(0, 0.6, N_LABELS)
    train: Any = is_relevant.astype(int)
    options: dict[str, Any] = {"metrics": ["p@1", "f1.macro@3"]}
    groups = label_groups(train, edges)
    if named:
        label_names = np.array([f"label {number}" for number in range(N_LABELS)])
        options["labels"] = label_names.tolist()
        train = [label_names[row].tolist() for row in is_relevant]
    expected = evaluate(TRUTH, SCORES, **options, label_groups=groups)
    report = evaluate(TRUTH, SCORES, **options, y_train=train, label_groups=edges)
    assert repr(report.groups) == repr(expected.groups)
    message = r"^label_groups: .* are numbers of training rows; give y_train="
    with pytest.raises(ValueError, match=message):
        evaluate(TRUTH, SCORES, **options, label_groups=edges)
    with pytest.raises(ValueError, match=r"^label_groups: "):
        evaluate(TRUTH, SCORES, **options, y_train=train, label_groups=[0, 10, 10])


def test_labels_beyond_a_tenth_of_the_positives_skip_deciles() -> None:
    groups = label_groups(label_counts=[5, 10, 0, 5], edges="deciles")
    labels_of = {name: labels.tolist() for name, labels in groups.items()}
    # each is in the decile of its first positive: the 1st, 11th and 16th of 20
    expected = {"zero-shot": [2], "decile 1": [1], "decile 6": [0], "decile 8": [3]}
    assert {name: labels for name, labels in labels_of.items() if labels} == expected


def test_deciles_have_equal_shares_of_positives() -> None:
    power_law = np.floor(1000 / np.arange(1, 400) ** 0.5).astype(int)
    counts = power_law * (RNG.random(399) < 0.9)
    groups = label_groups(label_counts=counts, edges="deciles")
    assert [*groups] == ["zero-shot", *(f"decile {number}" for number in range(1, 11))]
    assert not counts[groups["zero-shot"]].any()

    deciles = [groups[name] for name in groups if name != "zero-shot"]
    largest_counts = [counts[labels].max() for labels in deciles]
    assert (np.diff(largest_counts) <= 0).all()

    # of equal counts, the lower label comes first
    n_labels = np.concatenate(deciles).size
    by_count = np.lexsort((np.arange(counts.size), -counts))[:n_labels]
    n_positives = 0
    for number, labels in enumerate(deciles, 1):
        expected = by_count[: labels.size]
        by_count = by_count[labels.size :]
        assert sorted(labels) == sorted(expected)
        n_positives += counts[labels].sum()
        share = number * counts.sum() / 10
        assert abs(n_positives - share) <= counts[labels].max()  # within a label


MEASURES = ["p@1", "p@3", "f1.macro@5", "mrr@1", "mrr@3", "lrap", "auc.macro", "hamming_loss"]


def cutoffs(names: Iterable[str]) -> set[str]:
    return {name.partition("@")[2] for name in names}


@pytest.mark.parametrize(
    ("named", "rows", "labels"),
    [
        ("p@3", ["p@3"], {"tp@3", "f1@3"}),
        ("f1.macro@5", [], {"tp@5", "f1@5"}),
        ("auc.macro", [], {"auc", "ap"}),
        ("lrap p@1", ["lrap", "p@1"], {"tp@1", "f1@1"}),
        ("p", ["p@1", "p@3"], {"tp@1", "tp@3"}),
    ],
)
def test_values_are_kept_of_the_named_measures(
    named: str, rows: list[str], labels: set[str]
) -> None:
    options: Any = {
        "metrics": MEASURES,
        "k": [1, 3],
        "decision": "top2",
        "conventions": "unlisted=0",
    }
    whole = evaluate(TRUTH, SCORES, per_row=True, per_label=True, **options)
    names = named.split()
    kept: Any = {"per_row": names if rows else False, "per_label": names}
    report = evaluate(TRUTH, SCORES, **kept, **options)
    columns = report.per_label()
    assert labels < {*columns}
    assert cutoffs(columns) <= {"", *cutoffs(labels)}
    np.testing.assert_equal(columns, {name: whole.per_label()[name] for name in columns})
    if rows:
        expected = {name: whole.per_row()[name] for name in rows}
        np.testing.assert_equal(report.per_row(), expected)
    with pytest.raises(ValueError, match="per_label: no measure has values by label: lrap"):
        evaluate(TRUTH, SCORES, metrics=["p@1", "lrap"], per_label=["lrap"])


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_have_the_groups_of_labels_and_rows(copied: Any) -> None:
    evaluator = Evaluator(["p@1", "f1.macro@3"], label_groups=NAMES)
    evaluator.update(TRUTH, SCORES, row_groups=np.arange(N_ROWS) % 3)
    assert copied(evaluator).compute().to_json() == evaluator.compute().to_json()


def test_groups_with_numbers_are_in_numeric_order() -> None:
    numbers = np.array([10, -1, 3, 2])[np.arange(N_LABELS) % 4]
    report = evaluate(TRUTH, SCORES, metrics=["p@1"], label_groups=numbers)
    assert [*report.groups] == ["-1", "2", "3", "10"]


def test_ties_at_a_cutoff_are_counted_in_groups_of_rows_as_in_all() -> None:
    truth = [["a"], ["b"], ["a"], ["b"]]
    scores = [dict.fromkeys("abcde", 0.5) for _ in truth]
    labels = [*"abcde"]
    report = evaluate(truth, scores, labels=labels, metrics=["p@1"], row_groups=[*"xxyy"])
    assert report.tied_rows == {"p@1": 1.0}
    assert {name: group.tied_rows for name, group in report.row_groups.items()} == {
        "x": {"p@1": 1.0},
        "y": {"p@1": 1.0},
    }


def test_groups_by_name_are_the_same_with_labels_without_training_rows() -> None:
    train = [["cat"]] * 12 + [["dog"]] * 3
    groups = label_groups(train, edges=[0, 5], labels=["cat", "dog"])
    truth = [["dog"], ["cat"], ["eel"]]
    report = evaluate(truth, [["dog"], ["cat"], ["cat"]], metrics="p@1", label_groups=groups)
    values = {name: (part.n_labels, part["p@1"]) for name, part in report.groups.items()}
    assert values == {"zero-shot": (1, 0.0), "few": (1, 1.0), "frequent": (1, 1.0)}


def test_intervals_of_many_groups_of_rows_need_memory() -> None:
    options: dict[str, Any] = {"metrics": ["f1.macro@1"], "row_groups": np.arange(N_ROWS) % 30}
    clusters = np.arange(N_ROWS) % 9
    intervals: dict[str, Any] = {"confidence": 0.9, "clusters": clusters}
    message = (
        "row_groups: tables of 30 groups, each with 32 for confidence intervals, take 67.5 KiB, "
        "more than the 9.766 KiB that memory= leaves them; give more"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(TRUTH, SCORES, memory=10_000, **options, **intervals)
    fewer = {**options, "row_groups": np.arange(N_ROWS) % 4}
    assert len(evaluate(TRUTH, SCORES, memory=10_000, **fewer, **intervals).row_groups) == 4
    assert len(evaluate(TRUTH, SCORES, memory=10_000, **options).row_groups) == 30
    report = evaluate(TRUTH, SCORES, memory=100_000, **options, **intervals)
    assert len(report.row_groups) == 30
    assert (
        report.row_groups["7"]["f1.macro@1"]
        == evaluate(TRUTH[7::30], SCORES[7::30], metrics="f1.macro@1")["f1.macro@1"]
    )


@pytest.mark.parametrize("ties", ["order", "expected_dcg", "expected"])
@pytest.mark.parametrize("unlisted", ["below", 0.5])
def test_levels_within_groups_of_labels_are_those_of_a_truth_without_lower_grades(
    ties: str, unlisted: Any
) -> None:
    grades = TRUTH * np.random.default_rng(2).integers(1, 4, TRUTH.shape)
    names = ["p@1", "r@3", "map@3", "mrr@3", "hit@1", "rprec", "map@all"]
    if ties != "expected":
        names += ["lrap", "ranking_loss", "psp@3"]
    levelled = [f"{name}(rel=2)" for name in names]
    for i, name in enumerate(names):
        base, at, k = name.partition("@")
        levelled[i] = f"{base}(rel=2){at}{k}"
    options: dict[str, Any] = {
        "label_groups": NAMES,
        "row_groups": np.arange(N_ROWS) % 4,
        "inverse_propensity": Q,
        "conventions": {"ties": ties, "unlisted": unlisted},
        "sample_weight": WEIGHT,
    }
    report = evaluate(grades, MATRIX, metrics=levelled, **options)
    expected = evaluate((grades >= 2).astype(int), MATRIX, metrics=names, **options)
    assert [*report.values()] == [*expected.values()]
    for groups, expected_groups in (
        (report.groups, expected.groups),
        (report.row_groups, expected.row_groups),
    ):
        assert [*groups] == [*expected_groups]
        for name, group in groups.items():
            assert [*group.values()] == [*expected_groups[name].values()]
    assert [*report.values()] != [*evaluate(TRUTH, MATRIX, metrics=names, **options).values()]


def test_rows_without_judged_labels_are_undefined_for_measures_of_sets() -> None:
    truth = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0]])
    judged = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 1]])
    truth = truth * judged
    sets = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 1, 0]])
    names = ["f1.samples", "subset_accuracy", "hamming_loss", "precision.samples"]
    options: dict[str, Any] = {"metrics": names, "per_row": True}
    report = evaluate(truth, y_pred=sets, judged=judged, **options)
    counted = [0, 2, 3]
    expected = evaluate(truth[counted], y_pred=sets[counted], judged=judged[counted], **options)
    assert dict(report) == dict(expected)
    for name in names:
        values = report.per_row()[name]
        assert math.isnan(values[1])
        assert values[counted].tolist() == expected.per_row()[name].tolist()
        assert report.undefined_rows[name] == 1
    unjudged = evaluate(truth, y_pred=sets, unjudged=1 - judged, **options)
    assert dict(unjudged) == dict(report)
