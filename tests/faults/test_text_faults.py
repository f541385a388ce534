"""Text files that are damaged, cut, mistaken or hostile: one line that says where, or the right result."""

from __future__ import annotations

import gzip
import itertools
import os
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.text import plain_svmlight, plain_xmc
from xmleval.input import lines
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.xmc import xmc_pieces

TRUTH, SCORES = "'rows features labels' above", "expected 'rows labels' above lines of 'label:score ...'"
PIECES = [1, 7, 40, 1 << 20]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a module."""
    return tmp_path_factory.mktemp("faults")


def refused(path: Path, reader: Callable[[Path], Any]) -> str:
    """The message of a refusal, one printable line that begins with the file's name."""
    with pytest.raises(ValueError) as caught:
        reader(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "; expected " in message
    assert message.isprintable()
    return message.removeprefix(f"{path}: ").split("; expected ")[0]


def read_in_pieces(path: Path, n_bytes: int) -> list[Any]:
    return list(xmc_pieces(path, "scores").read(n_bytes))


# Each: the file, what is said of it as scores. Rows that are fine lie around the fault.
BAD_SCORES = [
    ("", "the file is empty"),
    ("\n", "line 1: '' is not a header of two or three integers"),
    ("3\n", "line 1: '3' is not a header of two or three integers"),
    ("3 4 5 6\n", "line 1: '3 4 5 6' is not a header of two or three integers"),
    ("1:0.5 2:0.1\n", "line 1: '1:0.5 2:0.1' is not a header of two or three integers"),
    ("-3 5\n", "line 1: '-3 5' is not a header of two or three integers"),
    ("3 5.0\n", "line 1: '3 5.0' is not a header of two or three integers"),
    ("1" * 2000, f"line 1: '{'1' * 40}...' is not a header of two or three integers"),
    ("9999999999999999 5\n", "line 1: '9999999999999999 5' is not a header of two or three integers"),
    ("\0\0\0\0", r"line 1: '\x00\x00\x00\x00' is not a header of two or three integers"),
    ("1 2 3\n0 1:1\n", "line 1: header '1 2 3' of three integers, as above labels with features"),
    ("3 5\n0:1\n1:1\n", "2 rows where the header promises 3"),
    ("456 5\n" + "0:1\n" * 123, "123 rows where the header promises 456"),
    ("1000000000000 5\n0:1\n", "1 rows where the header promises 1000000000000"),
    ("2 5\n0:1\n1:1\n2:1\n", "line 4: more than the 2 rows that the header promises"),
    ("2 5\n0:1\n1:1\n\n", "line 4: more than the 2 rows that the header promises"),
    ("0 5\n\n", "line 2: more than the 0 rows that the header promises"),
    ("3 5\n0:1\n1:1 5:0.5\n2:1\n", "line 3: label id 5 is not in 0..4; ids look one-based"),
    ("3 5\n0:1\n1:1 006:0.5\n2:1\n", "line 3: label id 6 is not in 0..4"),
    (f"1 5\n{'9' * 60}:1\n", f"line 2: label id {'9' * 40} is not in 0..4"),
    ("1 99999999999\n9999999999999999:1\n", "line 2: label id 9999999999999999 is not in 0..99999999998"),
    ("1 5\n9223372036854775808:1\n", "line 2: label id 9223372036854775808 is not in 0..4"),
    ("1 5\n18446744073709551617:1\n", "line 2: label id 18446744073709551617 is not in 0..4"),
    ("3 5\n0:1\n1:1 2:3 1:2\n2:1\n", "line 3: label id 1 occurs twice; ids of a row must be distinct"),
    ("3 5\n0:1\n1:1 1:1\n2:1\n", "line 3: label id 1 occurs twice; ids of a row must be distinct"),
    ("2 5\n0:1\n-1:1\n", "line 3: '-1:1' is not label:score"),
    ("2 5\n0:1 3\n1:1\n", "line 2: '3' is not label:score"),
    ("2 5\n0:1 3: 4\n1:1\n", "line 2: '3:' is not label:score"),
    ("2 5\n0:1 3:\n1:1\n", "line 2: '3:' is not label:score"),
    ("2 5\n0:1\n:1\n", "line 3: ':1' is not label:score"),
    ("2 5\n0:1\n1:2:3\n", "line 3: '1:2:3' is not label:score"),
    ("2 5\n0:1\n1:x\n", "line 3: '1:x' is not label:score"),
    ("2 5\n0:1\n1:1_0\n", "line 3: '1:1_0' is not label:score"),
    ("2 5\n0:1\n1:0x1\n", "line 3: '1:0x1' is not label:score"),
    ("2 5\n0:1\n1:.\n", "line 3: '1:.' is not label:score"),
    ("2 5\n0:1\n1:1e\n", "line 3: '1:1e' is not label:score"),
    ("2 5\n0:1\n1:+-1\n", "line 3: '1:+-1' is not label:score"),
    ("2 5\n0:1\n1:infinit\n", "line 3: '1:infinit' is not label:score"),
    ("2 5\n0:1\n1:1,2:1\n", "line 3: '1:1,2:1' is not label:score"),
    ("2 5\n0:1\r1:1\n2:1\n", r"line 2: '0:1\r1:1' is not label:score"),
    ("2 5\n0:1\r\r\n2:1\n", r"line 2: '0:1\r' is not label:score"),
    ("2 5\n0:nan\r \n2:1\n", r"line 2: '0:nan\r' is not label:score"),
    ("2 5\n0:1\n1:1\0\n", r"line 3: '1:1\x00' is not label:score"),
    ("2 5\n0:1\n1:\u0661\n", "line 3: '1:\u0661' is not label:score"),
    ("2 5\n0:1\n" + "y" * 99 + "\n", f"line 3: '{'y' * 40}...' is not label:score"),
    ("3 5\n0:x\n1:1 5:0.5\n9\n", "line 2: '0:x' is not label:score"),
    ("3 5\n0:1 0:2\n1:x\n9\n", "line 2: label id 0 occurs twice; ids of a row must be distinct"),
    ("3 5\n0:nan\n1:inf 2:x\n9\n", "line 3: '2:x' is not label:score"),
    ("9 5\n0:1\n1:x\n", "line 3: '1:x' is not label:score"),
]
BAD_LISTS = [
    ("1 5:1 x 1:1\n", "'x' is not feature:value"),
    ("1;2 1:1\n", "'1;2' is not a label id, a whole number from 0 up"),
    ("1,,2 1:1\n", "'' is not a label id, a whole number from 0 up"),
    ("1, 1:1\n", "'' is not a label id, a whole number from 0 up"),
    (",1 1:1\n", "'' is not a label id, a whole number from 0 up"),
    ("3.5 1:1\n", "'3.5' is not a label id, a whole number from 0 up"),
    ("1e1 1:1\n", "'1e1' is not a label id, a whole number from 0 up"),
    ("-1 1:1\n", "'-1' is not a label id, a whole number from 0 up"),
    ("+1 1:1\n", "'+1' is not a label id, a whole number from 0 up"),
    ("q 1:1\n", "'q' is not a label id, a whole number from 0 up"),
    ("1 2\n", "'2' is not feature:value"),
    ("1 2: 3\n", "'2:' is not feature:value"),
    ("1 2:\n", "'2:' is not feature:value"),
    ("1 :2\n", "':2' is not feature:value"),
    ("1,2:3\n", "'1,2:3' is not feature:value"),
    ("1 2:3,4\n", "'2:3,4' is not feature:value"),
    ("1 2:3 x:4\n", "'x:4' is not feature:value"),
    ("1 2:3\0\n", r"'2:3\x00' is not feature:value"),
    ("1 2:3\r4:5\n", r"'2:3\r4:5' is not feature:value"),
    ("3,4,3 2:3\n", "label id 3 occurs twice; ids of a row must be distinct"),
    ("4,4 2:3\n", "label id 4 occurs twice; ids of a row must be distinct"),
    ("1234567890123456 2:3\n", "label id 1234567890123456 is not in 0..{most}"),
]


@pytest.mark.parametrize(("held", "said"), BAD_SCORES)
@pytest.mark.parametrize("packed", [False, True])
def test_bad_scores(folder: Path, held: str, said: str, packed: bool) -> None:
    path = folder / "bad.txt"
    path.write_bytes(gzip.compress(held.encode()) if packed else held.encode())
    assert refused(path, read_scores) == said
    if held[1:4] != " 2 ":
        assert refused(path, read_truth) == said
    for n_bytes in PIECES:
        assert refused(path, partial(read_in_pieces, n_bytes=n_bytes)) == said


@pytest.mark.parametrize(("bad", "said"), BAD_LISTS)
def test_bad_lists(folder: Path, bad: str, said: str) -> None:
    held, path = f"1 1:1\n\n# 1\n{bad}9\n8 x\n", folder / "bad.svm"
    path.write_text(held, newline="")
    assert refused(path, read_truth) == "line 4: " + said.format(most=10**15 - 1)
    path = folder / "bad.txt"
    path.write_text(f"9 9 5\n1 1:1\n1,2\n{bad}1\n", newline="")
    assert refused(path, read_truth) == "line 4: " + said.format(most=4)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("1 9 5\n5 1:1\n", "line 2: label id 5 is not in 0..4; ids look one-based"),
        ("2 9 5\n4 1:1\n 4 1:1\n", "line 3: '4' is not feature:value"),
        ("1 9 5\n4 qid:1 1:1\n", "line 2: 'qid:1' is not feature:value"),
        ("1 9 5\n4 1:1 # said\n", "line 2: '#' is not feature:value"),
        ("3 9 5\n4 1:1\n", "1 rows where the header promises 3"),
        ("1 9 5\n4 1:1\n1\n", "line 3: more than the 1 rows that the header promises"),
        ("1 9 5\n1 1:2:3 4\n2\n", "line 3: more than the 1 rows that the header promises"),
    ],
)
def test_bad_lists_below_a_header(folder: Path, held: str, said: str) -> None:
    (folder / "bad.txt").write_text(held)
    assert refused(folder / "bad.txt", read_truth) == said


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("", "the file is empty"),
        ("# only\n\n", "no row in it"),
        ("1 1:1 qid:3\n", "line 1: 'qid:3' is not feature:value"),
        ("qid:3 qid:4 1:1\n", "line 1: 'qid:3 qid:4 1:1' cannot be read"),
        ("1 2:3 # x\n 1 4 # y\n", "line 2: '4' is not feature:value"),
    ],
)
def test_bad_svmlight(folder: Path, held: str, said: str) -> None:
    (folder / "bad.svm").write_text(held)
    assert refused(folder / "bad.svm", read_truth) == said


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


# -------------------------------------------------------------------------------------- files and gzip


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


@pytest.mark.parametrize("name", ["x.txt", "x.svm"])
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda held: held[:-9], "the gzip stream is cut short"),
        (lambda held: held[:40], "the gzip stream is cut short"),
        (lambda held: held[:5], "the gzip stream is cut short"),
        (lambda held: held + b"more", "the gzip stream is damaged (Not a gzipped file (b'mo'))"),
        (lambda held: held[:10] + b"\xff" * 30, "the gzip stream is damaged (Error -3"),
        (lambda held: held[:-8] + b"\1" * 8, "the gzip stream is damaged (CRC check failed"),
        (lambda held: b"\x1f\x8b" + b"\7" * 30, "the gzip stream is damaged (Unknown compression method)"),
        (lambda held: gzip.compress(b""), "the file is empty"),
        (lambda held: gzip.compress(held), ""),
    ],
)
def test_damaged_gzip(folder: Path, name: str, damage: Any, said: str) -> None:
    header = "9000 9 5\n" if name == "x.txt" else ""
    held = gzip.compress((header + "".join(f"{i % 5} {i}:1\n" for i in range(9000))).encode())
    (folder / name).write_bytes(held)
    assert read_truth(folder / name).shape == (9000, 5)
    (folder / name).write_bytes(damage(held))
    assert refused(folder / name, read_truth).startswith(said)


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
    with pytest.raises(ValueError, match="the header has changed"):
        list(pieces.read(99))


@pytest.mark.parametrize("name", ["bomb.txt", "bomb.svm"])
@pytest.mark.parametrize("filling", [b"\0", b"7", b":", b" ", b"1:"])
def test_a_line_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, filling: bytes) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 18)
    (folder / name).write_bytes(gzip.compress(b"5 9 9\n 1:1\n" * (name == "bomb.txt") + filling * (1 << 24)))
    refused(folder / name, read_truth)  # loads kernels
    tracemalloc.start()
    said = refused(folder / name, read_truth)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said.startswith(f"line {3 if name == 'bomb.txt' else 1}: ") or said.endswith("262144 bytes")
    assert peak < 1 << 24


def test_colons_alone_take_no_memory(folder: Path) -> None:
    (folder / "colons.txt").write_bytes(b"1 9\n" + b":" * (1 << 20) + b"\n")
    refused(folder / "colons.txt", read_scores)
    tracemalloc.start()
    refused(folder / "colons.txt", read_scores)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 << 20


@pytest.mark.parametrize("n_bytes", [1, 100, 1000, 10**6])
@pytest.mark.parametrize("fault", [2, 3, 77, 100])
def test_lines_are_counted_across_pieces(folder: Path, n_bytes: int, fault: int) -> None:
    rows = ["1:1\n"] * 99
    rows[fault - 2] = "1:1 8:x\n"
    (folder / "late.txt").write_text(f"99 9\n{''.join(rows)}")
    said = refused(folder / "late.txt", partial(read_in_pieces, n_bytes=n_bytes))
    assert said == f"line {fault}: '8:x' is not label:score"


def test_long_lines_are_read_up_to_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 10)
    for length, fine in [(1000, True), (1023, True), (2000, False)]:
        (folder / "long.txt").write_bytes(b"2 9\n1:1\n2:1" + b" " * (length - 3) + b"\n")
        if fine:
            assert sum(piece.nnz for piece in read_in_pieces(folder / "long.txt", 16)) == 2
        else:
            said = refused(folder / "long.txt", partial(read_in_pieces, n_bytes=16))
            assert said == "line 3 is longer than 1024 bytes"


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
        assert found.indices.tolist() == want.indices.tolist()
        np.testing.assert_array_equal(found.data.astype(float), want.data)
        assert np.signbit(found.data).tolist() == np.signbit(want.data).tolist()
        if not name.endswith(".svm"):
            cut = list(xmc_pieces(path, kind).read(n_bytes))
            ptr = itertools.accumulate([size for piece in cut for size in np.diff(piece.indptr)], initial=0)
            assert list(ptr) == want.indptr.tolist()
