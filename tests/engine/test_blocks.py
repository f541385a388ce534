"""Blocks of rows: whichever fault a block is checked for first, the first offending row is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import evaluate

N_ROWS, N_LABELS = 12, 6
FAULTS: dict[str, tuple[str, Any, Any]] = {  # what is changed in a row, to what; what is said
    "label id 1 occurs twice": ("truth", 0, 1),
    "label id 9 is not in 0..5": ("truth", 1, 9),
    "label id 4 occurs twice": ("labels", 2, 4),
    "label id -5 is not in 0..5": ("labels", 1, -5),
    "score nan is not a number": ("scores", 0, np.nan),
}


@pytest.mark.parametrize(("first", "second"), [*itertools.permutations(FAULTS, 2)])
def test_the_first_offending_row_is_refused(first: str, second: str) -> None:
    given = {
        "truth": np.tile([0, 1], (N_ROWS, 1)),
        "labels": np.tile([4, 1, 0], (N_ROWS, 1)),
        "scores": np.tile([0.5, 0.25, 0.0], (N_ROWS, 1)),
    }
    for row, fault in ((4, first), (9, second)):
        name, at, value = FAULTS[fault]
        given[name][row, at] = value
    entries = np.ones(2 * N_ROWS), given["truth"].ravel(), np.arange(N_ROWS + 1) * 2
    truth = sp.csr_array(entries, shape=(N_ROWS, N_LABELS))
    for block_rows, threads in ((1, 1), (5, 2), (100, 1)):
        with pytest.raises(ValueError, match=f"row 4: {first}"):
            evaluate(
                truth,
                (given["labels"], given["scores"]),
                metrics="p@1",
                block_rows=block_rows,
                threads=threads,
            )
