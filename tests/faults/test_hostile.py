"""Files that take no memory on their word: archives and texts that unpack to very much, endless lines."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.fault import refused
from xmleval.input import lines
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.input.formats.xmc import xmc_pieces


def bomb(name: str, n_bytes: int, header: bytes) -> bytes:
    """A member of an archive that is full of zeros."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for known, array in (("format", np.array(b"csr")), ("shape", np.array([n_bytes // 8 - 1, 30]))):
            with archive.open(f"{known}.npy", "w") as file:
                np.lib.format.write_array(file, array)
        for known in {"indptr", "indices", "data"} - {name}:
            with archive.open(f"{known}.npy", "w") as file:
                np.lib.format.write_array(file, np.zeros(0, np.int64))
        with archive.open(f"{name}.npy", "w") as file:
            file.write(header)
            for _ in range(n_bytes >> 20):
                file.write(bytes(1 << 20))
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_archives_that_unpack_to_very_much(says: Any, role: str, name: str) -> None:
    n_bytes = 1 << (28 if name == "indptr" else 26)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<i8", "fortran_order": False, "shape": (n_bytes // 8,)}
    )
    Path("Z.npz").write_bytes(bomb(name, n_bytes, header.getvalue()))
    assert Path("Z.npz").stat().st_size < 1 << 19
    tracemalloc.start()
    try:
        assert says("evaluate Z.npz m" if role == "truth" else "evaluate Y.npz Z.npz").startswith("Z.npz: ")
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["Z.txt", "Z.svm", "Z.arff"])
@pytest.mark.parametrize("filling", [b"0", b" "])
def test_texts_that_unpack_to_very_much(
    folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch, name: str, filling: bytes
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 19)  # for the time that it takes
    heads = {"Z.txt": b"60 30\n", "Z.svm": b"", "Z.arff": b"@relation 'x: -C 1'\n@attribute a {0,1}\n@data\n"}
    with gzip.open(name, "wb", compresslevel=1) as file:
        file.write(heads[name])
        for _ in range(32):
            file.write(filling * (1 << 20))
    refused(f"evaluate {name} m --memory 1MB")  # loads kernels
    tracemalloc.start()
    try:
        assert refused(f"evaluate {name} m --memory 1MB").startswith((f"{name}: ", "m: "))
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


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


def read_in_pieces(path: Path) -> list[Any]:
    return list(xmc_pieces(path, "scores").read(16))


def test_long_lines_are_read_up_to_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 10)
    for length, fine in [(1000, True), (1023, True), (2000, False)]:
        (folder / "long.txt").write_bytes(b"2 9\n1:1\n2:1" + b" " * (length - 3) + b"\n")
        if fine:
            assert sum(piece.nnz for piece in read_in_pieces(folder / "long.txt")) == 2
        else:
            said = refused(folder / "long.txt", read_in_pieces)
            assert said == "line 3 is longer than 1024 bytes"
