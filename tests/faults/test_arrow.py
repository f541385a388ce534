"""Parquet and Arrow files beyond the table: large ids, long rows, no library."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.faults.fault import refused
from tests.made_tables import lists, save
from xmleval.budget import UNLIMITED
from xmleval.io import find_format, read_scores, read_truth, write_parquet


def test_large_ids_are_read(tmp_path: Path) -> None:
    assert read_truth(save(tmp_path, {"labels": [[2**40 - 1]]})).shape == (1, 2**40)


def test_a_long_row_does_not_widen_all(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": [list(range(20000)), *([[1]] * 30000)]}, size=10**6)
    assert "a row of 20000 labels, where 30001 rows have 50000" in refused(path, read_scores)
    open_pieces = find_format(path)[0].pieces
    assert open_pieces
    pieces = list(open_pieces(path, "scores", UNLIMITED).read(1 << 20))
    assert sum(labels.shape[0] for labels, _ in pieces) == 30001
    assert max(labels.nbytes for labels, _ in pieces) <= 1 << 20


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, {"labels": lists()})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'xmleval\[arrow\]'"):
        read_truth(path)
    with pytest.raises(ValueError, match=r"pip install 'xmleval\[arrow\]'"):
        write_parquet(path, np.eye(2), "truth")
