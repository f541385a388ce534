"""No row counts twice: evaluators know which rows they have counted, and from where."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.engine.data import COPIES
from xmleval import Evaluator

TRUTH, SCORES = np.eye(6, dtype=int), np.arange(36.0).reshape(6, 6)
Change = Callable[[Evaluator], Evaluator]


def counting(*parts: slice) -> Evaluator:
    evaluator = Evaluator("p@1", n_labels=6)
    for rows in parts:
        evaluator.update(TRUTH[rows], SCORES[rows])
    return evaluator


@pytest.fixture
def reloaded(tmp_path: Path) -> Change:
    def save_and_load(evaluator: Evaluator) -> Evaluator:
        evaluator.save(tmp_path / "state")
        return Evaluator.load(tmp_path / "state")

    return save_and_load


def with_more_rows(evaluator: Evaluator) -> Evaluator:
    copied = COPIES["deepcopy"](evaluator)
    copied.update(TRUTH[:2], SCORES[:2])
    return copied


def test_rows_are_not_merged_twice(reloaded: Change) -> None:
    evaluator = counting(slice(0, 4), slice(4, 6))
    before = evaluator.compute().to_json()
    message = "^merge: 6 rows that both hold are counted already; count each row once$"
    changes: list[Change] = [
        lambda same: same, *COPIES.values(), reloaded, with_more_rows,
        lambda part: counting(slice(0, 3)).merge(part),
    ]  # fmt: skip
    for change in changes:
        changed = change(evaluator)
        for pair in ((evaluator, changed), (changed, evaluator)):
            with pytest.raises(ValueError, match=message):
                pair[0].merge(pair[1])
    assert evaluator.compute().to_json() == before


def test_different_rows_are_merged_whatever_they_contain() -> None:
    evaluator, other, empty = counting(slice(0, 6)), counting(slice(0, 6)), counting()
    assert evaluator.merge(other).merge(empty).merge(counting(slice(0, 1))).n_rows == 13
    evaluator.update(TRUTH, SCORES)
    assert evaluator.n_rows == 19
    assert empty.merge(empty).n_rows == 0
    evaluator.reset()
    evaluator.update(TRUTH, SCORES)
    assert evaluator.merge(other).n_rows == 12


def test_copies_of_an_evaluator_without_rows_are_merged(reloaded: Change) -> None:
    for copied, batches in itertools.product((*COPIES.values(), reloaded), ([], [slice(0, 0)])):
        template = counting(*batches)
        evaluator, other = copied(template), copied(template)
        evaluator.update(TRUTH[:4], SCORES[:4])
        other.update(TRUTH[:0], SCORES[:0])
        other.update(TRUTH[4:], SCORES[4:])
        assert evaluator.merge(other).compute() == counting(slice(0, 6)).compute()
        with pytest.raises(ValueError, match=r"^merge: 2 rows that both hold are counted already"):
            evaluator.merge(other)
        assert template.n_rows == 0


def test_numbered_rows_are_counted_once(reloaded: Change) -> None:
    evaluator, other = counting(), counting()
    evaluator.update(TRUTH[:4], SCORES[:4], first_row=0)
    other.update(TRUTH[2:], SCORES[2:], first_row=2)
    message = r"^first_row: rows 2\.\.3 are counted already; give each shard the index of its first row$"
    with pytest.raises(ValueError, match=message):
        evaluator.merge(reloaded(other))
    with pytest.raises(ValueError, match=message):
        evaluator.update(TRUTH[2:], SCORES[2:], first_row=2)
    evaluator.update(TRUTH[4:], SCORES[4:], first_row=4)
    assert evaluator.compute() == counting(slice(0, 6)).compute()


def test_spans_are_joined() -> None:
    numbered = counting()
    for start, size in ((12, 6), (0, 6), (24, 3), (6, 6), (15, 0)):
        numbered.update(TRUTH[:size], SCORES[:size], first_row=start)
    for start, rows in ((21, r"24\.\.26"), (17, r"17\.\.17"), (7, r"7\.\.12")):
        with pytest.raises(ValueError, match=rf"^first_row: rows {rows} are counted already"):
            numbered.update(TRUTH, SCORES, first_row=start)
    numbered.update(TRUTH, SCORES, first_row=18)
    assert [*numbered.counted.spans.values()] == [((0, 27),)]
