"""Excluded pairs and candidates in all forms, by number and by name, and how many pairs match."""

import itertools
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.test_named_objects import NAMES, QRELS, ROWS, RUN, SCORED, TAGS, S, Y, number
from xmleval import Evaluator, Running, evaluate

RNG = np.random.default_rng(5)
T = (RNG.random((40, 9)) < 0.3).astype(int)
D = RNG.random((40, 9))
GONE = (RNG.random((40, 9)) < 0.25).astype(int)
AMONG = (RNG.random((40, 9)) < 0.5).astype(int)
PAIRS = np.argwhere(GONE)
TUPLES = [*map(tuple, PAIRS.tolist())]
ORDER = np.argsort(-D, axis=1)
LISTED = (ORDER, np.take_along_axis(D, ORDER, axis=1))
SCORES: dict[str, Any] = {"dense": D, "csr": sp.csr_array(D), "list": LISTED, "bare": (ORDER, None)}


def kept(keep: Any) -> Any:
    """The scores of some entries alone."""
    rows, labels = np.nonzero(keep)
    return sp.csr_array((D[rows, labels], (rows, labels)), shape=D.shape)


def values(*rows: Any, **options: Any) -> dict[str, float]:
    return dict(evaluate(*rows, **{"metrics": ["p", "ndcg", "mrr@3", "f1.macro@2"], **options}))


@pytest.mark.parametrize("form", ["dense", "list"])
def test_pairs_are_excluded_in_every_form(form: str) -> None:
    expected = values(T * (1 - GONE), kept(1 - GONE))
    lists = [np.flatnonzero(row).tolist() for row in GONE]
    for pairs in (GONE, sp.csr_array(GONE), PAIRS, PAIRS[::-1], TUPLES, {*TUPLES}, lists):
        assert values(T, SCORES[form], exclude=pairs, running=Running(block_rows=7), threads=2) == expected
    assert values(T, SCORES[form], exclude=lists, n_labels=9) == expected
    assert values(T, SCORES[form], exclude=[]) == values(T, SCORES[form])


@pytest.mark.parametrize("form", ["csr", "bare"])
def test_candidates_are_given_in_every_form(form: str) -> None:
    for candidates in (AMONG, sp.csr_array(AMONG)):
        assert values(T, SCORES[form], candidates=candidates) == values(T, kept(AMONG))
    ids, keep = ORDER[:, :4].copy(), np.zeros_like(AMONG)
    np.put_along_axis(keep, ids, 1, axis=1)
    ids[3, 1:], keep[3, ORDER[3, 1:]] = -1, 0
    for candidates in (ids, (ids, None), (np.zeros((40, 4)), ids), {"indices": ids}):
        assert values(T, SCORES[form], candidates=candidates) == values(T, kept(keep))
    # as many ids as there are labels
    assert values(T, SCORES[form], candidates=(ORDER, None)) == values(T, kept(np.ones_like(T)))
    sizes = (T * AMONG).sum(axis=1)
    most = [np.minimum(sizes, k).mean() / k for k in (1, 3)]
    message = f"candidates: hold {sizes.sum()} of {T.sum()} relevant labels, which allows at most "
    notes = evaluate(T, SCORES[form], candidates=AMONG, metrics="p", k=[1, 3]).notes
    assert notes == [f"{message}P@1 {most[0]:.4f}, P@3 {most[1]:.4f}"]


def test_pairs_of_two_labels_are_no_matrix() -> None:
    truth, scores = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    pairs, matrix = np.array([[0, 1], [1, 1], [2, 0]]), np.array([[0, 1], [0, 1], [1, 0]], bool)
    expected = values(truth, scores, exclude=matrix)
    for form in (pairs, pairs[::-1], pairs.astype(float), [(0, 1), (1, 1), (2, 0)], sp.csr_array(matrix)):
        assert values(truth, scores, exclude=form) == expected
    few, gone = [(0, 1), (1, 1), (1, 0)], np.array([[0, 1], [1, 1], [0, 0]])  # of rows 0 and 1 alone
    assert values(truth, scores, exclude=few) == values(truth, scores, exclude=gone.astype(bool))
    message = r"^exclude: 0 and 1 of shape \(3, 2\) can be pairs or a matrix; give pairs as a list of tuples"
    for unclear in (np.array(few), gone, gone.astype(float)):
        with pytest.raises(ValueError, match=message):
            values(truth, scores, exclude=unclear)


def test_pairs_and_candidates_have_names() -> None:
    gone = np.zeros((4, 4), int)
    gone[[0, 3], [number("green"), number("grey")]] = 1
    expected = values(Y, S, exclude=gone)
    pairs = [("q1", "green"), ("q4", "grey"), ("q4", "pink"), ("other", "red")]
    report = evaluate(QRELS, RUN, metrics=["p", "ndcg", "mrr@3", "f1.macro@2"], exclude=pairs)
    assert dict(report) == expected
    assert report.label_names == NAMES
    message = "2 of 4 pairs are excluded; the others match no relevant and no predicted label"
    assert [note for note in report.notes if note.startswith("exclude")] == [f"exclude: {message}"]
    assert values(QRELS, RUN, exclude={"q1": ["green"], "q4": ["grey", "pink"]}) == expected
    expected = values(Y, S, candidates=np.tile([1, 0, 1, 0], (4, 1)))
    assert values(QRELS, RUN, candidates={row: ["red", "blue"] for row in ROWS}) == expected
    assert values(TAGS, SCORED, candidates=[["red", "blue"]] * 4) == expected


def test_all_batches_and_shards_restrict_alike() -> None:
    restrictions: list[dict[str, Any]] = [
        {}, {"candidates": AMONG}, {"exclude": GONE}, {"exclude": GONE, "exclude_from": "predictions"},
    ]  # fmt: skip
    for first, second in itertools.product(restrictions, repeat=2):
        evaluator, shard = (Evaluator("p@1", n_labels=9) for _ in range(2))
        evaluator.update(T, D, **first)
        shard.update(T, D, **second)
        if first is second:
            evaluator.update(T, D, **second)
            assert evaluator.merge(shard).n_rows == 120
            continue
        with pytest.raises(ValueError, match=r"^[a-z_]+(='predictions')?: given (earlier|now), but not"):
            evaluator.update(T, D, **second)
        with pytest.raises(ValueError, match=r"^merge: input differs: "):
            evaluator.merge(shard)


@pytest.mark.parametrize(("message", "options"), [
    ("exclude: pair 1: row 40 is not in 0..39", {"exclude": [(0, 1), (40, 1)]}),
    ("exclude: pair 0: label id 9 is not in 0..8", {"exclude": np.array([[0, 9]])}),
    ("exclude_from: 'truth' is neither 'both' nor", {"exclude": PAIRS, "exclude_from": "truth"}),
    ("candidates: row 1: label id 9 is not in 0..8", {"candidates": np.arange(8, 48)[:, None]}),
])  # fmt: skip
def test_wrong_restrictions_are_refused(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        values(T, D, **{"metrics": "p@1", **options})


@pytest.mark.parametrize("exclude_from", ["both", "predictions"])
@pytest.mark.parametrize("form", ["list", "dense", "sets"])
def test_pairs_that_match_are_counted(form: str, exclude_from: str) -> None:
    lists = np.where(AMONG[np.arange(40)[:, None], ORDER] > 0, ORDER, -1)
    scores: Any = {"list": (lists, LISTED[1]), "dense": D}.get(form)
    predicted = np.ones_like(AMONG) if form == "dense" else AMONG
    match = predicted | T if exclude_from == "both" else predicted
    source = " from the predictions" if exclude_from == "predictions" else ""
    relevant = "no relevant and " if exclude_from == "both" else ""
    n_matches = int((GONE * match).sum())
    message = f"exclude: {n_matches} of {len(PAIRS)} pairs are excluded{source}"
    if n_matches < len(PAIRS):
        message += f"; the others match {relevant}no predicted label"
    options: Any = {"y_pred": AMONG, "metrics": "f1.micro"} if form == "sets" else {"metrics": "f1.micro@9"}
    report = evaluate(T, scores, exclude=TUPLES, exclude_from=exclude_from, **options)
    assert report.notes[0] == message
