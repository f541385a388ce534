"""Saved counts of labels: what no rows have is refused, and what another writer saved goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.states.data import N_LABELS, TOP, counted, doubled, random_data
from xmleval.kernels.labels import FULL
from xmleval.states.contents import Contents
from xmleval.states.label_table import LabelTable


@pytest.mark.parametrize(("unit", "value"), [(0, FULL), (0, -1), (1, 2**52), (1, -1)])
def test_sums_that_no_state_has_are_refused(unit: int, value: int) -> None:
    arrays = LabelTable(TOP, 2, True).arrays()
    arrays["held"][2, 1, unit] = value
    with pytest.raises(ValueError, match=r"^held is out of range"):
        LabelTable(TOP, 2, True).from_contents(Contents(arrays, 0))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("change", ["hits", "of bytes", "relevant", "often", "place", "order", "rows"])
def test_counts_that_no_rows_have_are_refused(change: str, weighted: bool) -> None:
    few = counted(LabelTable(TOP, N_LABELS, weighted), random_data(2, 12), 12)
    often = {"of bytes": 6, "often": 12, "place": 12, "order": 12}.get(change, 0)
    table, n_rows = doubled(few, often) if often else few, 12 << often
    arrays = {name: array.copy() for name, array in table.arrays().items()}
    if change == "hits":
        arrays["held"][0, 1] = arrays["held"][1, 1] + 1
    elif change == "of bytes":  # of a label that no count of which overflowed
        label = few.totals.reshape(3, N_LABELS, -1)[..., 0].max(axis=0).argmin()
        arrays["held"][0, label] = arrays["held"][1, label] + 1
    elif change == "relevant":
        arrays["held"][2] += 12 if not weighted else 12 << 52
    elif change == "often":
        arrays["times"][-1] = n_rows
    elif change == "place":
        arrays["places"][-1] = 3 * N_LABELS
    elif change == "order":
        arrays["places"][:2] = arrays["places"][1::-1]
    else:
        arrays["rows"][0, 0] -= 12

    def restore() -> None:
        again = LabelTable(TOP, N_LABELS, weighted)
        again.from_contents(Contents(arrays, n_rows))
        again.expect_tables(n_rows)

    with pytest.raises(ValueError, match=r"^(held|places|rows) (has|is) "):
        restore()


@pytest.mark.parametrize("weighted", [False, True])
def test_totals_that_another_writer_saved_go_on(weighted: bool) -> None:
    rows = random_data(2, 20)
    want, found = (LabelTable(TOP, N_LABELS, weighted) for _ in range(2))
    counted(want, rows, 10)
    arrays: dict[str, Any] = {name: np.asfortranarray(array) for name, array in want.arrays().items()}
    found.from_contents(Contents(arrays, 10))
    assert counted(found, rows, 20).totals.tolist() == counted(want, rows, 20).totals.tolist()
