"""Excluded labels and candidates give what data without the other labels give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.test_named_objects import NAMES, QRELS, ROWS, RUN, SCORED, TAGS, S, Y, number
from xmleval import Evaluator, evaluate

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


@pytest.mark.parametrize("weight", [None, np.arange(40.0)], ids=["plain", "weighted"])
@pytest.mark.parametrize("order", [1, -1])
def test_batches_and_shards_are_restricted_alike(order: int, weight: Any, tmp_path: Path) -> None:
    gone, among = sp.csr_array(GONE), sp.csr_array(AMONG)
    more: Any = {"metrics": METRICS, "inverse_propensity": Q}
    expected = evaluate(T, LISTED, exclude=PAIRS, candidates=AMONG, sample_weight=weight, **more)
    shards = [Evaluator(n_labels=9, **more) for _ in range(3)]
    for first, shard in zip((0, 14, 28), shards, strict=True):
        for start in range(first, min(first + 14, 40), 5):
            own = slice(start, min(start + 5, first + 14, 40))
            shard.update(
                T[own], (LISTED[0][own], LISTED[1][own]), exclude=gone[own], candidates=among[own],
                sample_weight=None if weight is None else weight[own], first_row=start,
            )  # fmt: skip
    whole, *others = shards[::order]
    whole.save(tmp_path / "s.npz")
    whole = Evaluator.load(tmp_path / "s.npz")
    for other in others:
        whole.merge(other)
    found = whole.compute()
    assert dict(found) == dict(expected)
    assert found.notes == expected.notes
    assert found.notes[-1].startswith("candidates: hold ")


def test_batches_are_of_one_kind() -> None:
    evaluator = Evaluator(["p@1"], n_labels=9)
    evaluator.update(T, D, candidates=AMONG)
    with pytest.raises(ValueError, match=r"^candidates: given earlier, but not now$"):
        evaluator.update(T, D)
    other = Evaluator(["p@1"], n_labels=9)
    other.update(T, D)
    with pytest.raises(ValueError, match=r"^merge: input differs: "):
        evaluator.merge(other)


def test_lists_are_candidates() -> None:
    ids = ORDER[:, :4]
    keep = np.zeros_like(AMONG)
    np.put_along_axis(keep, ids, 1, axis=1)
    expected = values(T, kept(keep))
    for given in (ids, (ids, None), (np.zeros((40, 4)), ids), {"indices": ids}):
        assert values(T, D, candidates=given) == expected
    square = ORDER.copy()  # as many as there are labels
    assert values(T, D, candidates=(square, None)) == values(T, D, candidates=np.ones_like(T))


def test_excluded_labels_are_gone_from_sets() -> None:
    metrics = ["f1.micro", "f1.samples"]
    expected = values(T * (1 - GONE), y_pred=H * (1 - GONE), metrics=metrics)
    assert values(T, y_pred=H, exclude=PAIRS, metrics=metrics) == expected
    tops = values(T * (1 - GONE), kept(1 - GONE), decision="top2", metrics=metrics)
    assert values(T, D, exclude=GONE, decision="top2", metrics=metrics) == tops


def test_the_truth_may_keep_what_is_excluded() -> None:
    more: dict[str, Any] = {"exclude": PAIRS, "exclude_from": "predictions"}
    metrics = ["p@1", "r@3", "ndcg@3", "f1.macro@3"]
    expected = values(T, kept(1 - GONE), metrics=metrics)
    assert expected != values(T, D, exclude=PAIRS, metrics=metrics)
    assert values(T, D, metrics=metrics, **more) == values(T, LISTED, metrics=metrics, **more) == expected
    sets = ["f1.micro", "f1.samples"]
    assert values(T, y_pred=H, metrics=sets, **more) == values(T, y_pred=H * (1 - GONE), metrics=sets)
    ev, other = Evaluator(metrics, n_labels=9), Evaluator(metrics, n_labels=9)
    for own in (slice(0, 7), slice(7, 40)):
        ev.update(T[own], D[own], exclude=GONE[own], exclude_from="predictions")
    assert dict(ev.compute()) == expected
    with pytest.raises(ValueError, match=r"^exclude_from='predictions': given earlier, but not now$"):
        ev.update(T, D, exclude=GONE)
    other.update(T, D, exclude=GONE)
    with pytest.raises(ValueError, match=r"^merge: input differs"):
        ev.merge(other)


def test_distances_may_have_candidates() -> None:
    assert values(T, 1 - D, higher_is_better=False, candidates=AMONG, exclude=PAIRS) == values(
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
    told = "2 of 4 pairs are excluded; the others match no relevant and no predicted label"
    assert [note for note in report.notes if note.startswith("exclude")] == [f"exclude: {told}"]
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
    assert report.not_computed["lrap"] == "all labels of a row (no exclude=)"
    assert "not computed without all labels of a row (no exclude=): " in str(report)


def test_pairs_of_the_shape_of_a_truth_of_two_labels() -> None:
    truth, scores = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    pairs = np.array([[0, 1], [1, 1], [2, 0]])
    matrix = np.zeros((3, 2), bool)
    matrix[tuple(pairs.T)] = True
    expected = dict(evaluate(truth, scores, metrics=["p@1", "r@1"], exclude=matrix))
    for form in (
        pairs,
        pairs[::-1],
        pairs.astype(float),
        [*map(tuple, pairs.tolist())],
        sp.csr_array(matrix),
    ):
        assert dict(evaluate(truth, scores, metrics=["p@1", "r@1"], exclude=form)) == expected
        ev = Evaluator(["p@1", "r@1"], n_labels=2)
        ev.update(truth, scores, exclude=form)
        assert dict(ev.compute()) == expected
    few = [(0, 1), (1, 1), (1, 0)]  # of rows 0 and 1 alone
    gone = np.array([[0, 1], [1, 1], [0, 0]])
    known = dict(evaluate(truth, scores, metrics=["p@1", "r@1"], exclude=gone.astype(bool)))
    assert dict(evaluate(truth, scores, metrics=["p@1", "r@1"], exclude=few)) == known
    said = r"^exclude: 0 and 1 of shape \(3, 2\) can be pairs or a matrix; give pairs as a list of tuples"
    for unclear in (np.array(few), gone, gone.astype(float)):
        with pytest.raises(ValueError, match=said):
            evaluate(truth, scores, metrics=["p@1"], exclude=unclear)


REFUSED: dict[str, dict[str, Any]] = {
    "exclude: pair 1: row 40 is not in 0..39": {"exclude": [(0, 1), (40, 1)]},
    "exclude: pair 0: label id 9 is not in 0..8": {"exclude": np.array([[0, 9]])},
    "exclude_from: 'truth' is neither 'both' nor 'predictions'": {"exclude": PAIRS, "exclude_from": "truth"},
    "exclude_from: needs the pairs to exclude, exclude=": {"exclude_from": "predictions"},
    "exclude: 39 rows do not match the 40 of y_true": {"exclude": GONE[:39]},
    "candidates: row 1: label id 9 is not in 0..8": {"candidates": np.repeat([[0], [9]], [1, 39], axis=0)},
    "candidates: row 0: value 2 is neither 0 nor 1 in a label set": {"candidates": AMONG + 2},
    "lrap needs all labels of a row (no exclude=)": {
        "exclude": PAIRS,
        "metrics": ["lrap"],
    },
    "candidates: unlisted=0 gives all labels a score; expected unlisted='below'": {
        "candidates": AMONG,
        "unlisted": 0.0,
    },
}


def test_candidates_need_scores() -> None:
    with pytest.raises(ValueError, match=r"^candidates: ranked by y_score=, which is not given$"):
        evaluate(T, y_pred=H, candidates=AMONG, metrics=["f1.micro"])


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        values(T, D, **{"metrics": ["p@1"], **REFUSED[message]})


def test_pairs_can_be_a_set_or_none_at_all() -> None:
    pairs = {(int(row), int(label)) for row, label in PAIRS}
    assert values(T, D, exclude=pairs) == values(T, D, exclude=PAIRS)
    assert values(T, D, exclude=[]) == values(T, D)


def pairs_told(n: int, total: int, *, predictions: bool = False) -> str:
    of, other = (" from the predictions", "") if predictions else ("", "no relevant and ")
    ends = f"; the others match {other}no predicted label" if n < total else ""
    return f"exclude: {n} of {total} pairs are excluded{of}{ends}"


def some_rows(scores: Any, rows: slice) -> Any:
    """Rows of scores in any form."""
    if isinstance(scores, tuple):
        return tuple(None if part is None else part[rows] for part in scores)
    return (
        scores.tocsr()[rows].asformat(scores.format)
        if sp.issparse(scores)
        else None
        if scores is None
        else scores[rows]
    )


@pytest.mark.parametrize("exclude_from", ["both", "predictions"])
@pytest.mark.parametrize("form", ["csr", "coo", "list", "bare", "ragged", "dense", "sets"])
def test_pairs_that_match_are_counted(form: str, exclude_from: str) -> None:
    listed = kept(AMONG)
    lists = np.where(AMONG[np.arange(40)[:, None], ORDER] > 0, ORDER, -1)
    scores: Any = {
        "csr": listed, "coo": listed.tocoo(), "list": (lists, LISTED[1]), "bare": (lists, None), "dense": D,
        "ragged": [[(int(j), float(D[i, j])) for j in ORDER[i] if AMONG[i, j]] for i in range(40)],
        "sets": None,
    }[form]  # fmt: skip
    given: Any = {"y_pred": AMONG, "metrics": "f1.micro"} if form == "sets" else {"metrics": "p@1"}
    given["n_labels"] = 9 if form == "ragged" else None
    truth: Any = [np.flatnonzero(row).tolist() for row in T] if form == "ragged" else T
    predicted = np.ones_like(AMONG) if form == "dense" else AMONG
    match = predicted | T if exclude_from == "both" else predicted
    expected = pairs_told(int((GONE * match).sum()), len(PAIRS), predictions=exclude_from != "both")
    more: Any = {"exclude": [*map(tuple, PAIRS.tolist())], "exclude_from": exclude_from}
    report = evaluate(truth, scores, **given, **more)
    assert report.notes[0] == expected
    for shown in (str(report), report.to_markdown(), report.to_latex(), report.to_json()):
        assert expected in shown
    evaluator = Evaluator(given["metrics"], n_labels=9)
    for rows in (slice(0, 11), slice(11, 12), slice(12, 40)):
        pred = AMONG[rows] if form == "sets" else None
        own = {"exclude": sp.csr_array(GONE[rows]), "exclude_from": exclude_from}
        evaluator.update(truth[rows], some_rows(scores, rows), y_pred=pred, **own)
    assert evaluator.compute().notes[0] == expected


def test_pairs_of_one_row_too_many_are_seen() -> None:
    shifted = [(i, j + 1) for i, j in np.argwhere(T[:, :8]).tolist()]
    n_matches = sum(int(T[i, j] or AMONG[i, j]) for i, j in shifted)
    notes = evaluate(T, kept(AMONG), metrics="p@1", exclude=shifted).notes
    assert notes[0] == pairs_told(n_matches, len(shifted))
