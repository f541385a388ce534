"""Intervals of merged shards are those of one pass, where rows have numbers, keys or clusters."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, Report, evaluate

N_ROWS = 240
N_LABELS = 9
rng = np.random.default_rng(1)
TRUTH = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(np.uint8)
SCORES = 0.6 * TRUTH + rng.random((N_ROWS, N_LABELS))
METRICS = ["p@3", "auc.micro", "ap.macro", "f1.macro@2", "lrap"]
NAMES = [f"label {j}" for j in range(N_LABELS)]
OPTIONS: dict[str, Any] = {"metrics": METRICS, "confidence": 0.9}
REFUSED = (
    r"^merge: intervals need the number of each row in all shards; give each shard its first_row= "
)
KEYS: dict[str, Any] = {
    "texts": lambda i: f"row {i}",
    "floats": lambda i: i + 0.5,
    "whole numbers beyond 64 bits": lambda i: i << 70,
}


def as_mappings(rows: slice, key: Any = KEYS["texts"]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return truth and scores by key and label name."""
    truth = {}
    scores = {}
    for i in range(N_ROWS)[rows]:
        relevant = np.flatnonzero(TRUTH[i])
        truth[key(i)] = {NAMES[j]: 1 for j in relevant}
        scores[key(i)] = dict(zip(NAMES, SCORES[i].tolist(), strict=True))
    return truth, scores


def as_arrays(rows: slice) -> tuple[Any, Any]:
    return TRUTH[rows], SCORES[rows]


def make_evaluator() -> Evaluator:
    return Evaluator(**OPTIONS, labels=NAMES)


def keyed_shard(start: int, stop: int) -> Evaluator:
    evaluator = make_evaluator()
    for rows in batches(start, stop):
        evaluator.update(*as_mappings(rows))
    return evaluator


def shard_without_keys(start: int, stop: int, is_numbered: bool = False) -> Evaluator:
    evaluator = Evaluator(**OPTIONS, n_labels=N_LABELS)
    for rows in batches(start, stop):
        first_row = rows.start if is_numbered else None
        evaluator.update(*as_arrays(rows), first_row=first_row)
    return evaluator


def batches(start: int, stop: int) -> list[slice]:
    return [slice(first, min(first + 40, stop)) for first in range(start, stop, 40)]


def assert_same(actual: Report, expected: Report) -> None:
    assert dict(actual) == dict(expected)
    assert actual.standard_errors == pytest.approx(expected.standard_errors, rel=1e-9)


@pytest.mark.slow
def test_merged_shards_have_the_intervals_of_one_pass(tmp_path: Path) -> None:
    expected = evaluate(*as_mappings(slice(N_ROWS)), labels=NAMES, **OPTIONS)
    assert_same(keyed_shard(0, N_ROWS).compute(), expected)
    for order in itertools.permutations([(0, 50), (50, 110), (110, N_ROWS)]):
        first, second, third = (keyed_shard(*ends) for ends in order)
        third.save(tmp_path / "state.npz")
        loaded = Evaluator.load(tmp_path / "state.npz")
        merged = first.merge(second.merge(loaded))
        assert_same(merged.compute(), expected)


@pytest.mark.parametrize("kind", [*KEYS][1:])
def test_rows_with_keys_of_other_types_go_by_number(kind: str) -> None:
    rows = as_mappings(slice(N_ROWS), KEYS[kind])
    report = evaluate(*rows, labels=NAMES, **OPTIONS)
    expected = evaluate(TRUTH, SCORES, **OPTIONS)
    assert report.standard_errors == expected.standard_errors

    def shard(start: int, first_row: int | None) -> Evaluator:
        evaluator = make_evaluator()
        rows = as_mappings(slice(start, start + 100), KEYS[kind])
        evaluator.update(*rows, first_row=first_row)
        return evaluator

    numbered = [shard(0, 0), shard(100, 100)]
    unnumbered = [shard(0, None), shard(100, None)]
    with pytest.raises(ValueError, match=REFUSED):
        unnumbered[0].merge(unnumbered[1])
    merged = numbered[0].merge(numbered[1])
    assert_same(merged.compute(), evaluate(TRUTH[:200], SCORES[:200], **OPTIONS))


@pytest.mark.parametrize("keyed_first", [False, True])
def test_batches_with_and_without_keys_are_counted_but_not_merged(keyed_first: bool) -> None:
    mixed = make_evaluator()
    for start in (0, 50):
        rows = slice(start, start + 50)
        is_first = start == 0
        if is_first == keyed_first:
            mixed.update(*as_mappings(rows))
        else:
            mixed.update(*as_arrays(rows))
    assert mixed.compute().standard_errors["p@3"] > 0

    keyed = keyed_shard(100, N_ROWS)
    for target, source in ((mixed, keyed), (keyed, mixed)):
        with pytest.raises(ValueError, match=REFUSED):
            target.merge(source)
    keyed.update(TRUTH[:0], SCORES[:0])  # without rows, keys are not missing
    assert keyed.merge(keyed_shard(0, 50)).n_rows == N_ROWS - 50


def test_shards_without_numbers_are_refused_and_nothing_is_counted() -> None:
    first = shard_without_keys(0, 50)
    second = shard_without_keys(50, N_ROWS)
    before = first.compute().to_json()
    for evaluator in (first, shard_without_keys(0, 50, is_numbered=True)):
        with pytest.raises(ValueError, match=REFUSED):
            evaluator.merge(second)
    assert first.compute().to_json() == before
    empty = Evaluator(**OPTIONS, n_labels=N_LABELS)
    assert empty.merge(second).n_rows == N_ROWS - 50


def test_update_without_rows_takes_clusters_without_names() -> None:
    evaluator = Evaluator("p@1", labels=["a", "b"], confidence=0.9)
    evaluator.update({}, {}, clusters={})
    truth = {"q": ["a"], "r": ["b"]}
    scores = {"q": {"a": 1.0}, "r": {"a": 1.0}}
    evaluator.update(truth, scores, clusters={"q": 1, "r": 2})
    assert evaluator.compute()["p@1"] == 0.5


@pytest.mark.usefixtures("folder")
def test_commands_count_rows_with_numbers_once(
    run: Callable[..., str], refused: Callable[..., str]
) -> None:
    line = "evaluate Y_test.npz scores.npz --metrics p@1 --confidence 0.9 --first-row"
    for number in (10, 12):
        run(f"{line} {number} --save {number}.state")
    message = refused("merge 10.state 12.state")
    assert message.startswith("12.state: --first-row: rows 12..13 are")
