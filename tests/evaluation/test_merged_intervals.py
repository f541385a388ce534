"""Intervals of merged shards are those of one pass, where rows have numbers, keys or clusters."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, Report, evaluate

M, L = 240, 9
rng = np.random.default_rng(1)
TRUTH = (rng.random((M, L)) < 0.3).astype(np.uint8)
SCORES = 0.6 * TRUTH + rng.random((M, L))
METRICS = ["p@3", "auc.micro", "ap.macro", "f1.macro@2", "lrap"]
NAMES = [f"label {j}" for j in range(L)]
OPTIONS: dict[str, Any] = {"metrics": METRICS, "confidence": 0.9}
REFUSED = r"^merge: intervals need the number of each row in all shards; give each shard its first_row= "
KEYS: dict[str, Any] = {
    "texts": lambda i: f"row {i}",
    "floats": lambda i: i + 0.5,
    "whole numbers beyond 64 bits": lambda i: i << 70,
}


def named(rows: slice, key: Any = KEYS["texts"]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    keys = [*map(key, range(M))][rows]
    truth = [{NAMES[j]: 1 for j in np.flatnonzero(row)} for row in TRUTH[rows]]
    scores = [dict(zip(NAMES, row.tolist(), strict=True)) for row in SCORES[rows]]
    return dict(zip(keys, truth, strict=True)), dict(zip(keys, scores, strict=True))


def shard(form: str, start: int, stop: int) -> Evaluator:
    columns: Any = {"labels": NAMES} if form == "keys" else {"n_labels": L}
    evaluator = Evaluator(**OPTIONS, **columns)
    for first in range(start, stop, 40):  # in batches
        rows = slice(first, min(first + 40, stop))
        arrays = named(rows) if form == "keys" else (TRUTH[rows], SCORES[rows])
        evaluator.update(*arrays, first_row=first if form == "numbers" else None)
    return evaluator


def assert_same(actual: Report, expected: Report) -> None:
    assert dict(actual) == dict(expected)
    assert actual.standard_errors == pytest.approx(expected.standard_errors, rel=1e-9)


@pytest.mark.slow
def test_merged_shards_have_the_intervals_of_one_pass(tmp_path: Path) -> None:
    expected = evaluate(*named(slice(M)), labels=NAMES, **OPTIONS)
    assert_same(shard("keys", 0, M).compute(), expected)
    for order in itertools.permutations([(0, 50), (50, 110), (110, M)]):
        shards = [shard("keys", *rows) for rows in order]
        shards[2].save(tmp_path / "state.npz")
        shards[2] = Evaluator.load(tmp_path / "state.npz")
        assert_same(shards[0].merge(shards[1].merge(shards[2])).compute(), expected)


@pytest.mark.parametrize("kind", [*KEYS][1:])
def test_rows_with_keys_of_other_types_go_by_number(kind: str) -> None:
    rows = named(slice(M), KEYS[kind])
    assert (
        evaluate(*rows, labels=NAMES, **OPTIONS).standard_errors
        == evaluate(TRUTH, SCORES, **OPTIONS).standard_errors
    )
    shards = [Evaluator(METRICS, labels=NAMES, confidence=0.9) for _ in range(4)]
    for number, each in enumerate(shards):
        first = 100 * (number % 2)
        part = named(slice(first, first + 100), KEYS[kind])
        each.update(*part, first_row=first if number < 2 else None)
    with pytest.raises(ValueError, match=REFUSED):
        shards[2].merge(shards[3])
    assert_same(shards[0].merge(shards[1]).compute(), evaluate(TRUTH[:200], SCORES[:200], **OPTIONS))


@pytest.mark.parametrize("keyed_first", [False, True])
def test_batches_with_and_without_keys_are_counted_but_not_merged(keyed_first: bool) -> None:
    mixed = Evaluator(METRICS, labels=NAMES, confidence=0.9)
    for start in (0, 50):
        rows = slice(start, start + 50)
        mixed.update(*(named(rows) if (start == 0) == keyed_first else (TRUTH[rows], SCORES[rows])))
    assert mixed.compute().standard_errors["p@3"] > 0
    other = shard("keys", 100, M)
    for pair in ((mixed, other), (other, mixed)):
        with pytest.raises(ValueError, match=REFUSED):
            pair[0].merge(pair[1])
    other.update(TRUTH[:0], SCORES[:0])  # no rows, and no keys that they lack
    assert other.merge(shard("keys", 0, 50)).n_rows == M - 50


def test_shards_without_numbers_are_refused_and_nothing_is_counted() -> None:
    first, second = shard("", 0, 50), shard("", 50, M)
    before = first.compute().to_json()
    for evaluator in (first, shard("numbers", 0, 50)):
        with pytest.raises(ValueError, match=REFUSED):
            evaluator.merge(second)
    assert first.compute().to_json() == before
    assert Evaluator(**OPTIONS, n_labels=L).merge(second).n_rows == M - 50  # which has no rows itself


def test_update_without_rows_takes_clusters_without_names() -> None:
    evaluator = Evaluator("p@1", labels=["a", "b"], confidence=0.9)
    evaluator.update({}, {}, clusters={})
    evaluator.update({"q": ["a"], "r": ["b"]}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, clusters={"q": 1, "r": 2})
    assert evaluator.compute()["p@1"] == 0.5


@pytest.mark.usefixtures("folder")
def test_commands_count_rows_with_numbers_once(run: Callable[..., str], refused: Callable[..., str]) -> None:
    line = "evaluate Y_test.npz scores.npz --metrics p@1 --confidence 0.9 --first-row"
    for number in (10, 12):
        run(f"{line} {number} --save {number}.state")
    assert refused("merge 10.state 12.state").startswith("12.state: --first-row: rows 12..13 are")
