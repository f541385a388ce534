"""Excluded pairs and candidates in all forms, by number and by name, and how many pairs match."""

import itertools
import re
from pathlib import Path
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
SCORES: dict[str, Any] = {
    "dense": D,
    "csr": sp.csr_array(D),
    "list": LISTED,
    "bare": (ORDER, None),
}
METRICS = ["p", "ndcg", "mrr@3", "f1.macro@2"]


def scores_where(keep: Any) -> Any:
    """Return the scores of some entries alone."""
    rows, labels = np.nonzero(keep)
    return sp.csr_array((D[rows, labels], (rows, labels)), shape=D.shape)


def values(*rows: Any, metrics: Any = METRICS, **options: Any) -> dict[str, float]:
    return dict(evaluate(*rows, metrics=metrics, **options))


@pytest.mark.parametrize("form", ["dense", "list"])
def test_pairs_are_excluded_in_every_form(form: str) -> None:
    scores = SCORES[form]
    expected = values(T * (1 - GONE), scores_where(1 - GONE))
    lists = [np.flatnonzero(row).tolist() for row in GONE]
    for exclude in (
        GONE,
        sp.csr_array(GONE),
        PAIRS,
        PAIRS[::-1],
        TUPLES,
        {*TUPLES},
        lists,
    ):
        running = Running(block_rows=7)
        actual = values(T, scores, exclude=exclude, running=running, threads=2)
        assert actual == expected
    assert values(T, scores, exclude=lists, n_labels=9) == expected
    assert values(T, scores, exclude=[]) == values(T, scores)


@pytest.mark.parametrize("form", ["csr", "bare"])
def test_candidates_are_given_in_every_form(form: str) -> None:
    scores = SCORES[form]
    expected = values(T, scores_where(AMONG))
    for candidates in (AMONG, sp.csr_array(AMONG)):
        assert values(T, scores, candidates=candidates) == expected

    ids = ORDER[:, :4].copy()
    keep = np.zeros_like(AMONG)
    np.put_along_axis(keep, ids, 1, axis=1)
    ids[3, 1:] = -1
    keep[3, ORDER[3, 1:]] = 0
    expected = values(T, scores_where(keep))
    for candidates in (
        ids,
        (ids, None),
        (np.zeros((40, 4)), ids),
        {"indices": ids},
    ):
        assert values(T, scores, candidates=candidates) == expected

    # as many ids as there are labels
    expected = values(T, scores_where(np.ones_like(T)))
    assert values(T, scores, candidates=(ORDER, None)) == expected

    sizes = (T * AMONG).sum(axis=1)
    best_at_1 = np.minimum(sizes, 1).mean()
    best_at_3 = np.minimum(sizes, 3).mean() / 3
    message = (
        f"candidates: contain {sizes.sum()} of {T.sum()} relevant labels, "
        f"so at most P@1 {best_at_1:.4f}, P@3 {best_at_3:.4f} is possible"
    )
    report = evaluate(T, scores, candidates=AMONG, metrics="p", k=[1, 3])
    assert report.notes == [message]


def test_exclude_tells_pairs_of_two_labels_from_a_matrix() -> None:
    truth = np.array([[1, 0], [1, 1], [0, 1]])
    scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    pairs = np.array([[0, 1], [1, 1], [2, 0]])
    matrix = np.array([[0, 1], [0, 1], [1, 0]], bool)
    expected = values(truth, scores, exclude=matrix)
    for exclude in (
        pairs,
        pairs[::-1],
        pairs.astype(float),
        [(0, 1), (1, 1), (2, 0)],
        sp.csr_array(matrix),
    ):
        assert values(truth, scores, exclude=exclude) == expected

    tuples = [(0, 1), (1, 1), (1, 0)]  # of rows 0 and 1 alone
    matrix = np.array([[0, 1], [1, 1], [0, 0]])
    expected = values(truth, scores, exclude=matrix.astype(bool))
    assert values(truth, scores, exclude=tuples) == expected

    message = (
        r"^exclude: 0 and 1 of shape \(3, 2\) can be pairs or a matrix; "
        r"give pairs as a list of tuples"
    )
    for ambiguous in (np.array(tuples), matrix, matrix.astype(float)):
        with pytest.raises(ValueError, match=message):
            values(truth, scores, exclude=ambiguous)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("2 0\n3 0\n", "line 2: row 3 is not in 0..2; if rows count from 1, subtract 1"),
        ("2 0\n4 0\n3 0\n", "line 2: row 4 is not in 0..2"),
        ("2 3\n0 4\n", "line 1: label id 3 is not in 0..2; if ids count from 1, subtract 1"),
        ("2 4\n0 3\n", "line 1: label id 4 is not in 0..2"),
    ],
)
def test_first_line_of_excluded_pairs_with_a_wrong_number_is_refused(text: str, fault: str) -> None:
    Path("pairs.txt").write_text(text)
    with pytest.raises(ValueError, match=f"^pairs.txt: {re.escape(fault)}$"):
        evaluate(np.eye(3), np.eye(3), metrics="p@1", exclude="pairs.txt")


def test_exclude_and_candidates_take_names() -> None:
    matrix = np.zeros((4, 4), int)
    matrix[0, number("green")] = 1
    matrix[3, number("grey")] = 1
    expected = values(Y, S, exclude=matrix)
    pairs = [
        ("q1", "green"),
        ("q4", "grey"),
        ("q4", "pink"),
        ("other", "red"),
    ]
    report: Any = evaluate(QRELS, RUN, metrics=METRICS, exclude=pairs)
    assert dict(report) == expected
    assert report.label_names == NAMES
    message = "exclude: 2 of 4 pairs have a relevant or predicted label; the other pairs affect "
    message += "only measures of all labels"
    notes = [note for note in report.notes if note.startswith("exclude")]
    assert notes == [message]

    by_row = {"q1": ["green"], "q4": ["grey", "pink"]}
    assert values(QRELS, RUN, exclude=by_row) == expected

    matrix = np.tile([1, 0, 1, 0], (4, 1))
    names = ["red", "blue"]
    expected = values(Y, S, candidates=matrix)
    assert values(QRELS, RUN, candidates=dict.fromkeys(ROWS, names)) == expected
    assert values(TAGS, SCORED, candidates=[names] * 4) == expected


def test_update_and_merge_refuse_other_restrictions() -> None:
    restrictions: list[dict[str, Any]] = [
        {},
        {"candidates": AMONG},
        {"exclude": GONE},
        {"exclude": GONE, "exclude_from": "predictions"},
    ]
    for first, second in itertools.product(restrictions, repeat=2):
        evaluator = Evaluator("p@1", n_labels=9)
        shard = Evaluator("p@1", n_labels=9)
        evaluator.update(T, D, **first)
        shard.update(T, D, **second)
        if first is second:
            evaluator.update(T, D, **second)
            assert evaluator.merge(shard).n_rows == 120
            continue
        message = r"^[a-z_]+(='predictions')?: given (earlier|now), but not"
        with pytest.raises(ValueError, match=message):
            evaluator.update(T, D, **second)
        with pytest.raises(ValueError, match=r"^merge: input differs: "):
            evaluator.merge(shard)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (
            "exclude: pair 1: row 40 is not in 0..39",
            {"exclude": [(0, 1), (40, 1)]},
        ),
        (
            "exclude: pair 0: label id 9 is not in 0..8",
            {"exclude": np.array([[0, 9]])},
        ),
        (
            "exclude_from: 'truth' is neither 'both' nor",
            {"exclude": PAIRS, "exclude_from": "truth"},
        ),
        (
            "candidates: row 1: label id 9 is not in 0..8",
            {"candidates": np.arange(8, 48)[:, None]},
        ),
        (
            "candidates: shape (40, 8) has 8 labels; 9 were expected",
            {"candidates": AMONG[:, :8].astype(bool)},
        ),
        ("candidates: 39 rows do not match the 40 of y_true", {"candidates": AMONG[1:]}),
        ("exclude: 39 rows do not match the 40 of y_true", {"exclude": GONE[1:].astype(bool)}),
        (
            'exclude: conventions="unlisted=0" gives all labels a score; give '
            'conventions="unlisted=below"',
            {"exclude": GONE, "conventions": "unlisted=0"},
        ),
        (
            'candidates: conventions="unlisted=-0.5" gives all labels a score; give '
            'conventions="unlisted=below"',
            {"candidates": AMONG, "conventions": "unlisted=-0.5"},
        ),
        (
            'unjudged: conventions="unlisted=0" gives all labels a score, including labels that '
            'are not judged; give conventions="unlisted=below"',
            {"unjudged": GONE, "conventions": "unlisted=0"},
        ),
    ],
)
def test_restrictions_that_are_wrong_are_refused(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        values(T, D, metrics="p@1", **options)


def test_candidates_need_scores_to_be_ranked() -> None:
    message = r"^candidates: needs y_score=, by which labels are ranked$"
    with pytest.raises(ValueError, match=message):
        evaluate(T, y_pred=T, metrics="f1.micro", candidates=AMONG)
    report = evaluate(T, D, y_pred=T, metrics=["f1.micro", "p@1"], candidates=AMONG)
    assert report["f1.micro"] == 1.0


def expected_note(predicted: Any, exclude_from: str) -> str:
    """Return the note on excluded pairs, counted among predicted and perhaps relevant labels."""
    excluded = "have a relevant or predicted label"
    unmatched = "the other pairs affect only measures of all labels"
    entries = predicted | T
    if exclude_from == "predictions":
        excluded = "are excluded from the predictions"
        unmatched = "the other pairs match no predicted label"
        entries = predicted
    n_matches = int((GONE * entries).sum())
    note = f"exclude: {n_matches} of {len(PAIRS)} pairs {excluded}"
    if n_matches < len(PAIRS):
        note += f"; {unmatched}"
    return note


@pytest.mark.parametrize("exclude_from", ["both", "predictions"])
@pytest.mark.parametrize("form", ["list", "dense", "sets"])
def test_exclude_notes_how_many_pairs_match(form: str, exclude_from: str) -> None:
    arguments: dict[str, Any] = {
        "exclude": TUPLES,
        "exclude_from": exclude_from,
        "metrics": "f1.micro@9",
    }
    predicted = AMONG
    if form == "list":
        is_listed = np.take_along_axis(AMONG, ORDER, axis=1) > 0
        arguments["y_score"] = (np.where(is_listed, ORDER, -1), LISTED[1])
    elif form == "dense":
        arguments["y_score"] = D
        predicted = np.ones_like(AMONG)
    else:
        arguments |= {"y_pred": AMONG, "metrics": "f1.micro"}
    report = evaluate(T, **arguments)
    assert report.notes[0] == expected_note(predicted, exclude_from)


@pytest.mark.parametrize("side", ["predictions", "both"])
def test_sets_lose_excluded_labels_from_either_side(side: str) -> None:
    truth = np.array([[1, 0, 1], [0, 1, 0]])
    sets = np.array([[1, 1, 0], [0, 1, 1]])
    options: dict[str, Any] = {"exclude": [(0, 1)], "exclude_from": side}
    report = evaluate(truth, y_pred=sets, metrics="precision.micro", **options)
    assert report["precision.micro"] == pytest.approx(2 / 3)


def test_candidates_of_merged_evaluators_are_counted_together() -> None:
    """Without a cutoff, the best lists are judged by their first label."""
    parts = [Evaluator("one_error", n_labels=3) for _ in range(2)]
    parts[0].update([[0, 1]], np.array([[3.0, 2, 1]]), candidates=[[0, 2]])
    parts[1].update([[2], [0, 2]], np.array([[3.0, 2, 1]] * 2), candidates=[[1], [0, 2]])
    expected = "candidates: contain 3 of 5 relevant labels, so at most P@1 0.6667 is possible"
    assert parts[0].merge(parts[1]).compute().notes == [expected]
