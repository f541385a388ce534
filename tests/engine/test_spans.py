"""No row counts twice: states carry which rows they have seen, and of what."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator
from xmleval.engine.spans import CountedTwiceError, united, with_rows

TRUTH, SCORES = np.eye(6, dtype=int), np.arange(36.0).reshape(6, 6)


def evaluator(*rows: slice, **more: Any) -> Evaluator:
    found = Evaluator("p@1", n_labels=6, **more)
    for some in rows:
        found.update(TRUTH[some], SCORES[some])
    return found


def saved(one: Evaluator, tmp_path: Path) -> Evaluator:
    one.save(tmp_path / "state.npz")
    return Evaluator.load(tmp_path / "state.npz")


def updated(one: Evaluator) -> Evaluator:
    found = copy.deepcopy(one)
    found.update(TRUTH[:2], SCORES[:2])
    return found


SAME: dict[str, Callable[[Evaluator, Path], Evaluator]] = {
    "itself": lambda one, path: one,
    "a copy": lambda one, path: copy.deepcopy(one),
    "a pickled copy": lambda one, path: pickle.loads(pickle.dumps(one)),
    "a saved copy": saved,
    "a copy with more rows": lambda one, path: updated(one),
    "a state that contains it": lambda one, path: evaluator(slice(0, 3)).merge(one),
}


@pytest.mark.parametrize("name", SAME)
def test_rows_are_not_merged_twice(name: str, tmp_path: Path) -> None:
    one = evaluator(slice(0, 4), slice(4, 6))
    other = SAME[name](one, tmp_path)
    before = one.compute().to_json()
    said = "^merge: 6 rows that both hold are counted already; count each row once$"
    for _ in range(2):
        with pytest.raises(ValueError, match=said):
            one.merge(other)
        with pytest.raises(ValueError, match=said):
            other.merge(one)
    assert one.compute().to_json() == before


def test_other_rows_are_merged_whatever_they_hold() -> None:
    one, other = evaluator(slice(0, 6)), evaluator(slice(0, 6))
    empty = evaluator()
    assert one.merge(other).merge(empty).merge(evaluator(slice(0, 1))).n_rows == 13
    one.update(TRUTH, SCORES)
    assert one.n_rows == 19
    assert empty.merge(empty).n_rows == 0
    template = evaluator()
    parts = [copy.deepcopy(template) for _ in range(2)]
    for part in parts:
        part.update(TRUTH, SCORES)
    assert parts[0].merge(parts[1]).n_rows == 12
    one.reset()
    one.update(TRUTH, SCORES)
    assert one.merge(other).n_rows == 12


COPIES: dict[str, Callable[[Evaluator, Path], Evaluator]] = {
    name: SAME[name] for name in ("a copy", "a pickled copy", "a saved copy")
}


@pytest.mark.parametrize("n_batches", [1, 2])
@pytest.mark.parametrize("name", [*COPIES, "a shallow copy"])
def test_copies_of_an_evaluator_without_rows_are_merged(name: str, n_batches: int, tmp_path: Path) -> None:
    template = evaluator(*[slice(0, 0)] * n_batches)  # settles the types
    made: Callable[[Evaluator, Path], Evaluator] = COPIES.get(name, lambda one, path: copy.copy(one))
    one, other = (made(template, tmp_path) for _ in range(2))
    one.update(TRUTH[:4], SCORES[:4])
    other.update(TRUTH[:0], SCORES[:0])
    other.update(TRUTH[4:], SCORES[4:])
    assert one.merge(other).compute() == evaluator(slice(0, 6)).compute()
    said = "^merge: 2 rows that both hold are counted already"
    with pytest.raises(ValueError, match=said):
        one.merge(other)
    with pytest.raises(ValueError, match=r"^merge: 4 rows that both hold are counted already"):
        one.merge(COPIES["a copy"](one, tmp_path))
    assert template.n_rows == 0


@pytest.mark.parametrize("per_row", [False, True])
def test_rows_with_an_index_are_counted_once(per_row: bool, tmp_path: Path) -> None:
    one, other = evaluator(per_row=per_row), evaluator(per_row=per_row)
    one.update(TRUTH[:4], SCORES[:4], first_row=0)
    other.update(TRUTH[2:], SCORES[2:], first_row=2)
    counted = "kept" if per_row else "counted"
    said = rf"^first_row: rows 2\.\.3 are {counted} already; give each shard the index of its first row$"
    with pytest.raises(ValueError, match=said):
        one.merge(saved(other, tmp_path))
    with pytest.raises(ValueError, match=said):
        one.update(TRUTH[2:], SCORES[2:], first_row=2)
    assert one.n_rows == 4
    one.update(TRUTH[4:], SCORES[4:], first_row=4)
    assert one.compute() == evaluator(slice(0, 6)).compute()


def test_a_long_stream_has_one_span(tmp_path: Path) -> None:
    one = evaluator(*[slice(0, 2)] * 50)
    assert [*one._counted.spans.values()] == [((0, 100),)]
    one = saved(one, tmp_path)
    one.update(TRUTH, SCORES)
    one.read_from("a file", 7)
    one.update(TRUTH, SCORES)
    one.update(TRUTH, SCORES)
    assert [*one._counted.spans.values()] == [((0, 106),), ((7, 19),)]
    assert one._counted.place == ("a file", 19)
    other = evaluator()
    other.read_from("a file", 18)
    other.update(TRUTH, SCORES)
    with pytest.raises(ValueError, match=r"^merge: rows 18\.\.18 of a file are counted already"):
        one.merge(other)


def test_adjacent_spans_join() -> None:
    found = with_rows({}, "a", 4, 6)
    for start, stop in ((0, 2), (8, 9), (2, 4), (5, 5)):
        found = with_rows(found, "a", start, stop)
    assert found == {"a": ((0, 6), (8, 9))}
    assert united(found, {"a": ((6, 8),), "b": ((0, 3),)}) == {"a": ((0, 9),), "b": ((0, 3),)}
    with pytest.raises(CountedTwiceError, match=r"^rows 8\.\.8 of a are counted already"):
        united(found, {"a": ((7, 20),)})
