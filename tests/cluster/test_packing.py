"""Counts travel as bytes, and come back as they were."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from xmleval import Evaluator
from xmleval.cluster import packing
from xmleval.cluster.counting import count_block
from xmleval.cluster.job import make_job
from xmleval.cluster.packing import packed, unpacked

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
    assert ("a/counts.bytes" in packed(given)) == (counts.min() >= 0)


def test_a_label_takes_a_byte_for_each_count() -> None:
    n = 50_000
    job = make_job(Evaluator("f1.macro@5", n_labels=n), 1 << 26, 1)
    labels = np.arange(300 * 5, dtype=np.int32).reshape(300, 5) * 7
    labels[:, 0] = 1  # in each row, which a byte does not hold
    truth = sp.csr_array((np.ones(1500), labels.ravel(), np.arange(0, 1501, 5)), shape=(300, n))
    part = count_block(job, 0, (truth, (labels, None)))
    assert 3 * n <= part["n_bytes"]["label_totals"] < 3 * n + 200
