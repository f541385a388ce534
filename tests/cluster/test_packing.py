"""Counts travel as bytes, scores as they are held, and both come back as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xmleval import Evaluator
from xmleval.cluster import packing
from xmleval.cluster.counting import count_block
from xmleval.cluster.job import make_job
from xmleval.cluster.packing import packed, unpacked
from xmleval.cluster.run import Leaf, SerialEngine, run
from xmleval.pooled import values
from xmleval.states import score_runs

SIZE = packing.LEAST_SIZE


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(-1, 1 << 60)), max_size=8), st.booleans())
def test_what_is_packed_comes_back(values: list[tuple[int, int]], rows: bool) -> None:
    counts = np.arange(SIZE) % 254
    for at, value in values:
        counts[at] = value
    given = {"a/counts": counts.reshape(-1, 2) if rows else counts, "b": np.ones(3), "c": counts[:9]}
    found = unpacked(packed(given))
    assert found.keys() == given.keys()
    assert all(np.array_equal(found[name], given[name]) for name in given)
    assert all(found[name].dtype == given[name].dtype for name in given)
    assert "a/counts.bytes" in packed(given)


def test_a_label_takes_a_byte_for_each_count() -> None:
    n = 50_000
    job = make_job(Evaluator("f1.macro@5", n_labels=n), 1 << 26, 1)
    labels = np.arange(300 * 5, dtype=np.int32).reshape(300, 5) * 7
    labels[:, 0] = 1  # in each row, which a byte does not hold
    truth = sp.csr_array((np.ones(1500), labels.ravel(), np.arange(0, 1501, 5)), shape=(300, n))
    part = count_block(job, 0, (truth, (labels, None)))
    assert 3 * n <= part["n_bytes"]["label_totals"] < 3 * n + 200


Change = Callable[[Any], Any]
CHANGES: dict[str, tuple[str, Change]] = {
    "a bucket that begins before the one before": (
        "starts.cells.relevant.ordered0",
        lambda a: a[[0, *range(2, a.size), 1]],
    ),
    "buckets behind the last one": (
        "starts.cells.relevant.ordered0",
        lambda a: np.append(np.uint32(65_000), a[1:]),
    ),
    "infinity and more": ("starts.cells.relevant.ordered0", lambda a: np.append(np.uint32(0xFF80), a[1:])),
    "fewer scores than their buckets hold": ("cells.relevant.ordered0", lambda a: a[1:]),
    "scores of another type": ("cells.relevant.ordered0", lambda a: a.astype(np.int64)),
    "a label with less than no scores": (
        "sizes.columns.irrelevant.grouped0",
        lambda a: a - 3 * (a == a.max()),
    ),
    "fewer scores than labels have": ("columns.irrelevant.grouped0", lambda a: a[1:]),
    "scores that are no numbers": ("columns.irrelevant.grouped0", lambda a: a * np.float32(np.nan)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_damaged_scores_are_refused(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MANY", 2)
    monkeypatch.setattr(score_runs, "SMALL", 0)
    monkeypatch.setattr(score_runs, "GROUPED", 0)
    job = make_job(Evaluator(["auc.micro", "auc.macro"], n_labels=4), 1 << 26, 1)
    truth, scores = np.eye(4, dtype=int)[[0, 1, 2, 3, 0]], np.arange(20, dtype=np.float32).reshape(5, 4)

    def damaged(*arguments: Any) -> Any:
        part = count_block(job, 0, (truth, scores))
        name, changed = CHANGES[change]
        array = part["arrays"][f"score_runs/{name}"]
        part["arrays"][f"score_runs/{name}"] = changed(array)
        return part

    with pytest.raises(ValueError, match=r"^score_runs/.*(cut|out of range)"):
        run(SerialEngine(), job, [Leaf(damaged, (), "0", 5)])


def test_many_scores_of_a_label_travel_without_its_number() -> None:
    n, rows = 1000, 400
    labels = np.argsort(np.random.default_rng(1).random((rows, n)), axis=1)[:, :20].astype(np.int32)
    scores = -np.sort(-np.random.default_rng(2).random((rows, 20), dtype=np.float32), axis=1)
    truth = sp.csr_array((np.ones(rows), labels[:, 3], np.arange(rows + 1)), shape=(rows, n))
    job = make_job(Evaluator("auc.macro", n_labels=n), 1 << 26, 1)
    few = {"y_true": truth[:100], "y_score": (labels[:100], scores[:100])}
    many = {"y_true": truth, "y_score": (labels, scores)}
    counted = [sum(count_block(job, 0, block)["n_bytes"].values()) for block in (few, many)]
    assert counted[0] > 8 * 100 * 20
    assert 4 * rows * 20 < counted[1] < 4 * rows * 20 + 8 * 3 * n + 500
