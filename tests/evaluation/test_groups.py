"""Values within groups of labels, their shares, groups by training rows, and values that are kept."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.evaluation.data import COPIES
from xmleval import Evaluator, evaluate, label_groups
from xmleval.metrics.spec import parse_spec
from xmleval.states.state import state_class

N_ROWS, N_LABELS = 90, 24
RNG = np.random.default_rng(8)
Q = 1 + 9 * RNG.random(N_LABELS)
TRUTH = (RNG.random((N_ROWS, N_LABELS)) < np.linspace(0.4, 0.02, N_LABELS)).astype(int)
SCORES = np.round(RNG.random((N_ROWS, N_LABELS)) + 0.4 * TRUTH, 1)  # ties
WEIGHT = RNG.random(N_ROWS) + 0.1
NAMES = np.array(["head", "tail", "mid"])[RNG.integers(0, 3, N_LABELS)]
IDS = np.argsort(-SCORES, axis=1, kind="stable")[:, :7].astype(np.int32)
LISTED = np.take_along_axis(SCORES, IDS, axis=1)
MATRIX = sp.csr_array((LISTED.ravel(), (np.arange(N_ROWS).repeat(7), IDS.ravel())), shape=TRUTH.shape)
TOP = np.array([np.isin(range(N_LABELS), ids[:3]) for ids in IDS])
LISTS = (IDS, LISTED)
FORMS: dict[str, Any] = {"dense": (SCORES, SCORES), "sparse": (MATRIX, MATRIX), "list": (LISTS, MATRIX)}
EVERY: dict[str, Any] = {"metrics": "all", "inverse_propensity": Q, "decision": "top3"}


def reads(name: str) -> tuple[bool, int | None]:
    """Return whether a measure is of labels, and at which k it reads sets, 0 for those of the decision."""
    spec = parse_spec(name)
    parts = [parse_spec(part) for part in spec.metric.parts] or [spec]
    of_sets = any("sets" in part.metric.needs or part.state == "label_totals" for part in parts)
    return all(state_class(part.state).of_labels for part in parts), (spec.k or 0) if of_sets else None


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unlisted", ["below", 0.35])
def test_values_of_a_label_group_are_those_of_its_labels_alone(form: str, unlisted: Any) -> None:
    """Sets of the first k are taken among all labels, rankings and scores among those of the group."""
    scores, matrix = FORMS[form]
    report = evaluate(TRUTH, scores, label_groups=NAMES, conventions={"unlisted": unlisted}, **EVERY)
    assert {*report.groups} == {*NAMES}
    n_compared = 0
    for group, values in report.groups.items():
        labels = np.flatnonzero(group == NAMES)
        with_relevant = np.flatnonzero(TRUTH[:, labels].any(axis=1))
        assert (values.n_rows, values.n_labels) == (with_relevant.size, labels.size)
        for name in report:
            of_labels, k = reads(name)
            if k not in (None, 0, 3) or (k is not None and unlisted != "below") or "label_cov" in name:
                continue  # TOP has the first three of stored scores
            rows = np.arange(N_ROWS) if of_labels else with_relevant
            predicted = matrix[rows][:, labels] if k is None else None
            sets = None if k is None else TOP[rows][:, labels].astype(int)
            alone = name if k is None else name.split("@")[0]
            options: Any = {
                "metrics": alone,
                "conventions": {"unlisted": unlisted},
                "inverse_propensity": Q[labels],
            }
            expected = evaluate(TRUTH[rows][:, labels], predicted, y_pred=sets, **options)
            assert repr(values[name]) == repr(expected[alone]), name
            n_compared += 1
    assert n_compared > 150


@pytest.mark.parametrize("empty", ["zero", "skip", "one"])
@pytest.mark.parametrize("n_empty", [0, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_shares_of_label_groups_add_up_or_are_undefined(weight: Any, n_empty: int, empty: str) -> None:
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
    undefined = [name for name in report if name.startswith(("r@", "ndcg@", "rcap@"))]
    undefined = undefined if empty == "one" and n_empty else []
    for name in report:
        total = math.fsum(shares[name] for shares in report.shares.values())
        assert math.isnan(total) if name in undefined else total == pytest.approx(report[name], rel=1e-15)
    message = ": rows without relevant labels count 1 and belong to no group"
    assert any(note.endswith(message) for note in report.notes) == bool(undefined)
    if empty != "skip":
        hits = np.average((truth & TOP)[:, NAMES == "tail"].sum(axis=1), weights=weight)
        assert report.shares["tail"]["p@3"] == pytest.approx(hits / 3, rel=1e-12)


def test_notes_and_refusals_of_groups() -> None:
    for metrics, noted in (("p@3", True), (["gini@3", "f1.samples@3", "ece@3"], False)):
        options: Any = {"metrics": metrics, "conventions": "link=sigmoid", "label_groups": NAMES}
        for scores in (LISTS, SCORES):
            notes = evaluate(TRUTH, scores, **options).notes
            is_short = noted and scores is not SCORES
            assert any("lists hold few labels of a group (" in note for note in notes) == is_short
    options = {"metrics": "p@1", "n_labels": N_LABELS}
    evaluator, shard = (Evaluator(**options, label_groups=names) for names in (NAMES, NAMES[::-1]))
    for each in (evaluator, shard):
        each.update(TRUTH, SCORES)
    with pytest.raises(ValueError, match="merge: label_groups differ"):
        evaluator.merge(shard)
    with pytest.raises(ValueError, match="row_groups: given now, but not earlier"):
        evaluator.update(TRUTH, SCORES, row_groups=["de"] * N_ROWS)
    many, one = np.eye(1001, dtype=int), Evaluator("p@1", n_labels=1001)
    one.update(many[:1000], many[:1000], row_groups=np.arange(1000))
    with pytest.raises(ValueError, match="row_groups: 1001 groups; expected at most 1000"):
        one.update(many[1000:], many[1000:], row_groups=[1000])
    assert one.compute().n_rows == 1000


def test_label_groups_are_made_of_numbers_of_training_rows() -> None:
    counts = [0, 1, 10, 11, 100, 101, 0]
    train = (np.arange(101)[:, None] < counts).astype(int)
    expected = {
        None: {"zero-shot": [0, 6], "tail": [1, 2], "torso": [3, 4], "head": [5]},
        (50,): {"zero-shot": [0, 6], "few": [1, 2, 3], "frequent": [4, 5]},
        (1, 5, 10, 50): {"zero-shot": [0, 6], "1": [1], "6-10": [2], "11-50": [3], ">50": [4, 5]},
    }
    for edges, groups in expected.items():
        options: Any = {} if edges is None else {"edges": list(edges)}
        for actual in (label_groups(label_counts=counts, **options), label_groups(train, **options)):
            assert {name: labels.tolist() for name, labels in actual.items()} == groups


@pytest.mark.parametrize("edges", [np.array([0, 2, 5]), range(3), "deciles"])
@pytest.mark.parametrize("named", [False, True])
def test_edges_are_groups_where_training_labels_are_given(edges: Any, named: bool) -> None:
    train: Any = (np.random.default_rng(1).random((20, N_LABELS)) < np.linspace(0, 0.6, N_LABELS)).astype(int)
    options: dict[str, Any] = {"metrics": ["p@1", "f1.macro@3"]}
    groups = label_groups(train, edges)
    if named:
        options["labels"] = [f"label {number}" for number in range(N_LABELS)]
        train = [[options["labels"][label] for label in row.nonzero()[0]] for row in train]
    expected = evaluate(TRUTH, SCORES, **options, label_groups=groups)
    report = evaluate(TRUTH, SCORES, **options, y_train=train, label_groups=edges)
    assert repr(report.groups) == repr(expected.groups)
    with pytest.raises(ValueError, match=r"^label_groups: .* are numbers of training rows; give y_train="):
        evaluate(TRUTH, SCORES, **options, label_groups=edges)
    with pytest.raises(ValueError, match=r"^label_groups: "):
        evaluate(TRUTH, SCORES, **options, y_train=train, label_groups=[0, 10, 10])


def test_deciles_have_equal_shares_of_positives() -> None:
    counts = np.floor(1000 / np.arange(1, 400) ** 0.5).astype(int) * (RNG.random(399) < 0.9)
    groups = label_groups(label_counts=counts, edges="deciles")
    assert [*groups] == ["zero-shot", *(f"decile {n}" for n in range(1, 11))]
    deciles = [groups[name] for name in groups if name != "zero-shot"]
    assert not counts[groups["zero-shot"]].any()
    order = np.concatenate(deciles)
    assert (np.diff([counts[labels].max() for labels in deciles]) <= 0).all()
    by_count = np.lexsort((np.arange(counts.size), -counts))[: order.size]
    positives = 0
    for number, labels in enumerate(deciles, 1):
        before, by_count = by_count[: labels.size], by_count[labels.size :]
        assert sorted(labels) == sorted(before)  # of equal counts, the lower label comes first
        positives += counts[labels].sum()
        assert abs(positives - number * counts.sum() / 10) <= counts[labels].max()  # within a label


MEASURES = ["p@1", "p@3", "f1.macro@5", "mrr@1", "mrr@3", "lrap", "auc.macro", "hamming_loss"]


@pytest.mark.parametrize(("named", "rows", "labels"), [
    ("p@3", ["p@3"], {"tp@3", "f1@3"}), ("f1.macro@5", [], {"tp@5", "f1@5"}),
    ("auc.macro", [], {"auc", "ap"}), ("lrap p@1", ["lrap", "p@1"], {"tp@1", "f1@1"}),
    ("p", ["p@1", "p@3"], {"tp@1", "tp@3"}),
])  # fmt: skip
def test_values_are_kept_of_the_measures_named(named: str, rows: list[str], labels: set[str]) -> None:
    options: Any = {"metrics": MEASURES, "k": [1, 3], "decision": "top2", "conventions": "unlisted=0"}
    whole = evaluate(TRUTH, SCORES, per_row=True, per_label=True, **options)
    kept: Any = {"per_row": named.split() if rows else False, "per_label": named.split()}
    report = evaluate(TRUTH, SCORES, **kept, **options)
    columns = report.per_label()
    assert labels < {*columns}
    assert {name.partition("@")[2] for name in columns} <= {"", *(name.partition("@")[2] for name in labels)}
    np.testing.assert_equal(columns, {name: whole.per_label()[name] for name in columns})
    if rows:
        np.testing.assert_equal(report.per_row(), {name: whole.per_row()[name] for name in rows})
    with pytest.raises(ValueError, match="per_label: none of lrap has values by label"):
        evaluate(TRUTH, SCORES, metrics=["p@1", "lrap"], per_label=["lrap"])


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_have_the_groups_of_labels_and_rows(copied: Any) -> None:
    evaluator = Evaluator(["p@1", "f1.macro@3"], label_groups=NAMES)
    evaluator.update(TRUTH, SCORES, row_groups=np.arange(N_ROWS) % 3)
    assert copied(evaluator).compute().to_json() == evaluator.compute().to_json()
