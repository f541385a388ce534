"""Parquet and Arrow files beyond the table: rows that are long, other bytes, no library."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.fault import message_of
from tests.made_tables import ENDINGS, entries, lists, save, scores
from xmleval.input.formats.arrow_names import read_arrow_scores, read_arrow_truth
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.tabular import arrow_pieces
from xmleval.input.formats.write_parquet import write_parquet

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed; the extra 'arrow' has it")


def test_large_ids(tmp_path: Path) -> None:
    found = read_truth(save(tmp_path, {"labels": [[2**40 - 1]]}))
    assert found.shape == (1, 2**40)


def test_a_long_row_does_not_widen_all(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": [list(range(20000)), *([[1]] * 30000)]}, size=10**6)
    assert "a row of 20000 labels, where 30001 rows have 50000" in message_of(read_scores, path)
    pieces = list(arrow_pieces(path, "scores").read(1 << 20))
    assert sum(labels.shape[0] for labels, _ in pieces) == 30001
    assert max(labels.nbytes for labels, _ in pieces) <= 1 << 20


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = save(tmp_path, {"labels": lists()})
    path.chmod(0)
    with pytest.raises(PermissionError, match=r"f\.parquet"):
        read_truth(path)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, {"labels": lists()})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pyarrow is not installed: pip install 'xmleval[arrow]'" in message_of(read_truth, path)
    with pytest.raises(ValueError, match=r"pip install 'xmleval\[arrow\]'"):
        write_parquet(path, np.eye(2), "truth")


@given(data=st.data(), ending=st.sampled_from(ENDINGS), form=st.sampled_from(["lists", "entries", "names"]))
def test_mutated_bytes(tmp_path_factory: pytest.TempPathFactory, data: Any, ending: str, form: str) -> None:
    folder = tmp_path_factory.mktemp("arrow")
    columns: dict[str, Any] = {"labels": lists(), "scores": scores()} if form == "lists" else entries()
    if form == "names":
        columns["label"] = pa.array([f"l{label}" for label in columns["label"]]).dictionary_encode()
    path = save(folder, columns, ending, n_labels=5)
    held = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(held) - 1))
        new = data.draw(st.binary(max_size=4))
        held[place : place + data.draw(st.sampled_from([len(new), 0, 1, 8]))] = new
    path.write_bytes(held)
    try:
        if form == "names":
            read_arrow_scores(path, read_arrow_truth(save(folder, entries(scored=False), "arrow")))
        else:
            read_scores(path)
    except (ValueError, OSError) as error:
        assert str(folder) in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
