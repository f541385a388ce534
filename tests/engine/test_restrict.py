"""Excluded labels and candidates give what data without the other labels give."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.test_named_objects import NAMES, QRELS, ROWS, RUN, SCORED, TAGS, S, Y, number
from xmleval import evaluate

RNG = np.random.default_rng(5)
T = (RNG.random((40, 9)) < 0.3).astype(int)
D = RNG.random((40, 9))
H = (RNG.random((40, 9)) < 0.3).astype(int)
GONE = (RNG.random((40, 9)) < 0.25).astype(int)
AMONG = (RNG.random((40, 9)) < 0.5).astype(int)
PAIRS = np.argwhere(GONE)
ORDER = np.argsort(-D, axis=1)
METRICS = ["p", "ndcg", "psp", "mrr@3", "f1.macro@2"]
Q = RNG.random(9) + 1
LISTED = (ORDER, np.take_along_axis(D, ORDER, axis=1))


def kept(keep: Any) -> Any:
    """The scores of some entries alone."""
    rows, labels = np.nonzero(keep)
    return sp.csr_array((D[rows, labels], (rows, labels)), shape=D.shape)


def values(*rows: Any, **more: Any) -> dict[str, float]:
    return dict(evaluate(*rows, **{"metrics": METRICS, "inverse_propensity": Q, **more}))


@pytest.mark.parametrize(
    "scores", [D, sp.csr_array(D), LISTED, (ORDER, None)], ids=["dense", "csr", "list", "bare"]
)
@pytest.mark.parametrize("block_rows", [None, 7])
def test_excluded_labels_are_gone_from_truth_and_scores(scores: Any, block_rows: Any) -> None:
    expected = values(T * (1 - GONE), kept(1 - GONE))
    more = {"block_rows": block_rows, "threads": 2}
    for pairs in (GONE, sp.csr_array(GONE), PAIRS, PAIRS[::-1], [(i, j) for i, j in PAIRS.tolist()]):
        assert values(T, scores, exclude=pairs, **more) == expected
    lists = [np.flatnonzero(row).tolist() for row in GONE]
    assert (
        values(T, scores, exclude=lists, n_labels=9, **more)
        == values(T, scores, exclude=lists, **more)
        == expected
    )


@pytest.mark.parametrize(
    "scores", [D, sp.csr_array(D), LISTED, (ORDER, None)], ids=["dense", "csr", "list", "bare"]
)
def test_candidates_alone_are_ranked(scores: Any) -> None:
    expected = values(T, kept(AMONG))
    assert (
        values(T, scores, candidates=AMONG) == values(T, scores, candidates=sp.csr_array(AMONG)) == expected
    )
    ids = np.full(AMONG.shape, -1)[:, :8]
    fewer = AMONG.copy()
    for row, among in enumerate(fewer):
        among[np.flatnonzero(among)[8:]] = 0
        ids[row, : among.sum()] = np.flatnonzero(among)[::-1]
    assert values(T, scores, candidates=ids) == values(T, scores, candidates=fewer)
    both = values(T * (1 - GONE), kept(AMONG * (1 - GONE)))
    assert values(T, scores, candidates=AMONG, exclude=PAIRS) == both
    notes = evaluate(T, scores, candidates=AMONG, metrics=["p"], k=[1, 3]).notes
    sizes = (T * AMONG).sum(axis=1)
    most = [np.minimum(sizes, k).mean() / k for k in (1, 3)]
    told = f"candidates: hold {sizes.sum()} of {T.sum()} relevant labels, which allows at most "
    assert notes == [f"{told}P@1 {most[0]:.4f}, P@3 {most[1]:.4f}"]


def test_excluded_labels_are_gone_from_sets() -> None:
    metrics = ["f1.micro", "f1.samples"]
    expected = values(T * (1 - GONE), y_pred=H * (1 - GONE), metrics=metrics)
    assert values(T, y_pred=H, exclude=PAIRS, metrics=metrics) == expected
    tops = values(T * (1 - GONE), kept(1 - GONE), decision="top2", metrics=metrics)
    assert values(T, D, exclude=GONE, decision="top2", metrics=metrics) == tops


def test_distances_may_have_candidates() -> None:
    assert values(T, 1 - D, larger=False, candidates=AMONG, exclude=PAIRS) == values(
        T, D, candidates=AMONG, exclude=PAIRS
    )


def test_pairs_and_candidates_have_names() -> None:
    pairs = [("q1", "green"), ("q4", "grey"), ("q4", "pink"), ("other", "red")]
    gone = np.zeros((4, 4), int)
    gone[[0, 3], [number("green"), number("grey")]] = 1
    expected = dict(evaluate(Y, S, metrics=["p", "ndcg"], exclude=gone))
    report = evaluate(QRELS, RUN, metrics=["p", "ndcg"], exclude=pairs)
    assert dict(report) == expected
    assert report.label_names == NAMES
    assert [note for note in report.notes if note.startswith("exclude")] == []
    assert (
        dict(evaluate(QRELS, RUN, metrics=["p", "ndcg"], exclude={"q1": ["green"], "q4": ["grey", "pink"]}))
        == expected
    )
    among = {row: ["red", "blue"] for row in ROWS}
    plain = np.tile([1, 0, 1, 0], (4, 1))
    assert dict(evaluate(QRELS, RUN, metrics=["p"], candidates=among)) == dict(
        evaluate(Y, S, metrics=["p"], candidates=plain)
    )
    rows = [["red", "blue"]] * 4
    assert dict(evaluate(TAGS, SCORED, metrics=["p"], candidates=rows)) == dict(
        evaluate(Y, S, metrics=["p"], candidates=plain)
    )
    pd: Any = pytest.importorskip("pandas")
    scores = pd.DataFrame(
        {"pink": [9.0, 9, 9, 9], **{name: S.toarray()[:, i] for i, name in enumerate(NAMES)}}
    )
    found = evaluate(TAGS, scores, metrics=["p@1"], exclude=[["pink"]] * 4)
    assert dict(found) == dict(evaluate(Y, S.toarray(), metrics=["p@1"]))


def test_measures_of_all_labels_are_left_out() -> None:
    report = evaluate(T, D, metrics=["ranking", "p@1"], exclude=PAIRS)
    assert "lrap" not in report
    told = "exclude: not computed, as they count all labels: "
    assert [note for note in report.notes if note.startswith(told) and "lrap" in note] == report.notes


REFUSED: dict[str, dict[str, Any]] = {
    "exclude: pair 1: row 40 is not in 0..39": {"exclude": [(0, 1), (40, 1)]},
    "exclude: pair 0: label id 9 is not in 0..8": {"exclude": np.array([[0, 9]])},
    "exclude: 39 rows do not match the 40 of y_true": {"exclude": GONE[:39]},
    "candidates: row 1: label id 9 is not in 0..8": {"candidates": np.repeat([[0], [9]], [1, 39], axis=0)},
    "candidates: row 0: value 2 is neither 0 nor 1 in a label set": {"candidates": AMONG + 2},
    "exclude: lrap counts all labels of a row; give measures at k or of sets": {
        "exclude": PAIRS,
        "metrics": ["lrap"],
    },
    "candidates: unlisted=0 gives all labels a score; expected unlisted='below'": {
        "candidates": AMONG,
        "unlisted": 0.0,
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        values(T, D, **{"metrics": ["p@1"], **REFUSED[message]})


def test_pairs_can_be_a_set_or_none_at_all() -> None:
    pairs = {(int(row), int(label)) for row, label in PAIRS}
    assert values(T, D, exclude=pairs) == values(T, D, exclude=PAIRS)
    assert values(T, D, exclude=[]) == values(T, D)
