"""Text files beyond the table: what is read of damaged ones, odd numbers, files that change."""

from __future__ import annotations

import gzip
import itertools
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.fault import refused
from tests.oracles.text import plain_svmlight, plain_xmc
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.xmc import xmc_pieces

TRUTH, SCORES = "'rows features labels' above", "expected 'rows labels' above lines of 'label:score ...'"
PIECES = [1, 7, 40, 1 << 20]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a module."""
    return tmp_path_factory.mktemp("faults")


def read_in_pieces(path: Path, n_bytes: int) -> list[Any]:
    return list(xmc_pieces(path, "scores").read(n_bytes))


def test_what_is_expected_is_said(folder: Path) -> None:
    (folder / "bad.txt").write_text("x")
    with pytest.raises(ValueError, match=TRUTH):
        read_truth(folder / "bad.txt")
    with pytest.raises(ValueError, match=SCORES):
        read_scores(folder / "bad.txt")
    (folder / "bad.svm").write_text("x")
    with pytest.raises(ValueError, match="expected lines of 'label,label feature:value"):
        read_truth(folder / "bad.svm")
    with pytest.raises(ValueError, match="a multi-label svmlight file holds no scores"):
        read_scores(folder / "bad.svm")


def test_numbers_that_are_no_numbers_are_read(folder: Path) -> None:
    words = ["nan", "inf", "-inf", "+Infinity", "-NaN", "1e400", "-1e-400", "4e-324", "1e-310", "+.5", "5.",
             "1E+2", "0" * 50 + "1", "1" + "0" * 50, "0." + "3" * 60, "00.10", "-0"]  # fmt: skip
    (folder / "odd.txt").write_text(f"1 99\n{' '.join(f'{j}:{x}' for j, x in enumerate(words))}\n")
    found = read_scores(folder / "odd.txt").data
    np.testing.assert_array_equal(found, [float(word) for word in words])
    assert np.signbit(found).tolist() == np.signbit([float(word) for word in words]).tolist()


@pytest.mark.parametrize("name", ["x.txt", "x.svm", "x.txt.gz"])
def test_files_that_cannot_be_opened(folder: Path, name: str) -> None:
    path = folder / "unopened" / name
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(FileNotFoundError, match=r"expected .*lines of"):
        read_truth(path)
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        read_truth(path)
    path.rmdir()
    os.mkfifo(path)
    assert refused(path, read_truth) == "not a regular file"
    path.unlink()
    path.write_text("0 1\n")
    path.chmod(0)
    if os.geteuid():
        with pytest.raises(PermissionError):
            read_truth(path)


def test_rows_before_the_damage_come_first(folder: Path) -> None:
    scores = np.random.default_rng(0).random(9000).tolist()
    held = gzip.compress("".join(["9000 9\n", *(f"1:{x}\n" for x in scores)]).encode())
    (folder / "cut.txt").write_bytes(held[:-4])
    pieces = xmc_pieces(folder / "cut.txt", "scores").read(4096)
    found: list[float] = []
    with pytest.raises(ValueError, match="cut short"):
        found.extend(score for piece in pieces for score in piece.data.tolist())
    assert len(found) > 5000
    assert found == scores[: len(found)]


def test_a_file_that_changes_between_header_and_rows(folder: Path) -> None:
    (folder / "new.txt").write_text("2 9\n1:1\n2:1\n")
    pieces = xmc_pieces(folder / "new.txt", "truth")
    assert [piece.shape for piece in pieces.read(99)] == [(2, 9)]
    (folder / "new.txt").write_text("1 9\n1:1\n")
    with pytest.raises(ValueError, match="changed while it was read, from 12 bytes of"):
        list(pieces.read(99))


@pytest.mark.parametrize("n_bytes", [1, 100, 1000, 10**6])
@pytest.mark.parametrize("fault", [2, 3, 77, 100])
def test_lines_are_counted_across_pieces(folder: Path, n_bytes: int, fault: int) -> None:
    rows = ["1:1\n"] * 99
    rows[fault - 2] = "1:1 8:x\n"
    (folder / "late.txt").write_text(f"99 9\n{''.join(rows)}")
    said = refused(folder / "late.txt", partial(read_in_pieces, n_bytes=n_bytes))
    assert said == f"line {fault}: '8:x' is not label:score"


# ------------------------------------------------------------------------------------------------ fuzz

SEEDS = {
    "scores.txt": b"4 12\n0:0.5 11:1e-3 3:nan\n\n1:0 2:1 10:-12345.678901234567\n 7:.5 8:1\t\n",
    "lists.txt": b"4 99 12\n0,11,3 1:0.5 98:1e-3\n 4:1 5:2\n\n1.0,2\t7:0\n",
    "lists.svm": b"0,11 1:0.5 # x\n\n 3 qid:4 1:1\n5:1 6:2\n2.0\n# y\n1,4 1:1\r\n",
}
ALPHABET = b"0123456789:,. \t\r\n-+eEnaif#q\0\xff\x1f\xef"
changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "add", "cut", "double", "swap"]),
        st.integers(0, 10**6),
        st.integers(1, 12),
        st.sampled_from(ALPHABET),
    ),
    min_size=1,
    max_size=4,
)


def changed(held: bytes, edits: list[tuple[str, int, int, int]]) -> bytes:
    for edit, place, size, byte in edits:
        at = place % (len(held) + 1)
        before, there, after = held[:at], held[at : at + size], held[at + size :]
        held = {
            "put": before + bytes([byte]) + held[at + 1 :],
            "add": before + bytes([byte]) + held[at:],
            "cut": before + after,
            "double": before + there + there + after,
            "swap": after[: len(after) // 2] + before + there + after[len(after) // 2 :],
        }[edit]
    return held


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (ValueError, OSError) as error:
        return str(error)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("packed", [False, True])
@given(edits=changes, n_bytes=st.sampled_from(PIECES))
def test_changed_bytes(
    folder: Path, name: str, packed: bool, edits: list[tuple[str, int, int, int]], n_bytes: int
) -> None:
    held = changed(gzip.compress(SEEDS[name], mtime=0) if packed else SEEDS[name], edits)
    path = folder / f"fuzz_{name}"
    path.write_bytes(held)
    readers = [(read_truth, "truth"), (read_scores, "scores")][: 1 if name.endswith(".svm") else 2]
    for reader, kind in readers:
        found = outcome(partial(reader, path))
        if isinstance(found, str):
            assert found.isprintable()
            assert "cannot be read" not in found or "qid" in found
            continue
        want = plain_svmlight(held) if name.endswith(".svm") else plain_xmc(held, kind)
        assert found.shape == want.shape
        assert found.indptr.tolist() == want.indptr.tolist()
        found = found.sorted_indices()  # scores are in the order of the file
        assert found.indices.tolist() == want.indices.tolist()
        np.testing.assert_array_equal(found.data.astype(float), want.data)
        assert np.signbit(found.data).tolist() == np.signbit(want.data).tolist()
        if not name.endswith(".svm"):
            cut = list(xmc_pieces(path, kind).read(n_bytes))
            ptr = itertools.accumulate([size for piece in cut for size in np.diff(piece.indptr)], initial=0)
            assert list(ptr) == want.indptr.tolist()
