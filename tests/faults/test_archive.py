"""Archives and headers that lie: each is refused by name, none takes memory on its word."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.test_io import ANY_CSR, DENSE, refused
from xmleval.input.formats.registry import read_scores, read_truth


def damaged(tmp_path: Path, kind: str) -> Path:
    """Write an archive with one fault."""
    path = tmp_path / "Y.npz"
    sp.save_npz(path, sp.csr_array(DENSE))
    held = path.read_bytes()
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut short":
        path.write_bytes(held[: len(held) // 2])
    elif kind == "garbage":
        path.write_bytes(b"not an archive at all" * 20)
    elif kind == "pickle":
        path.write_bytes(pickle.dumps([1, 2, 3]))
    elif kind == "objects":
        np.savez(path, **{**ANY_CSR, "data": np.array([{}, None], dtype=object)})
    elif kind == "dense":
        np.savez(path, scores=DENSE)
    elif kind == "nothing":
        zipfile.ZipFile(path, "w").close()
    return path


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("empty", "the file is empty"),
        ("cut short", "the zip archive is cut short"),
        ("garbage", "not a zip archive"),
        ("pickle", "not a zip archive"),
        ("objects", "data.npy holds Python objects, which are never read"),
        ("dense", "no array 'format'"),
        ("nothing", "no array 'format'"),
    ],
)
def test_damaged_archives(tmp_path: Path, kind: str, said: str) -> None:
    message = refused(damaged(tmp_path, kind))
    assert (
        message
        == f"{message.partition(';')[0]}; expected a SciPy sparse matrix as scipy.sparse.save_npz writes it"
    )
    assert said in message


def archive(path: Path, member: bytes, method: int = zipfile.ZIP_DEFLATED, name: str = "data.npy") -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr(name, member)
    return path


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_a_header_that_promises_more_than_the_file_holds(tmp_path: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"
    path = archive(tmp_path / "Y.npz", npy(header, b"12345678"))
    assert "data.npy holds 8000000000000 bytes of data by its header" in refused(path)


def test_an_entry_that_promises_more_than_it_can_hold(tmp_path: Path) -> None:
    path = archive(tmp_path / "Y.npz", b"x" * 100)
    held = path.read_bytes()
    central = held.index(b"PK\x01\x02")
    lie = (2**31).to_bytes(4, "little")
    path.write_bytes(held[: central + 24] + lie + held[central + 28 :])
    assert "that it cannot hold" in refused(path)


def test_entries_that_share_their_bytes(tmp_path: Path) -> None:
    path = archive(tmp_path / "Y.npz", os.urandom(1000), zipfile.ZIP_STORED)
    held = path.read_bytes()
    central, end = held.index(b"PK\x01\x02"), held.index(b"PK\x05\x06")
    entry = held[central:end] * 3
    tail = bytearray(held[end:])
    tail[8:12] = (3).to_bytes(2, "little") * 2
    tail[12:16] = len(entry).to_bytes(4, "little")
    path.write_bytes(held[:central] + entry + bytes(tail))
    assert "promise more bytes than the file holds" in refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_without_a_bound_is_refused(tmp_path: Path, method: int) -> None:
    assert "compressed by a method" in refused(archive(tmp_path / "Y.npz", b"\0" * 10_000, method))


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999999)}",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': 'nonsense', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8', 'shape': (3,)}",
        "[1, 2]",
        "(((",
        "{'descr': '<f8', \n 'shape': '''",
        "(" * 5000,
        "-" * 9000 + "1",
        "\0\0\0",
    ],
)
def test_headers_that_are_none(tmp_path: Path, header: str) -> None:
    refused(archive(tmp_path / "Y.npz", npy(header, b"12345678")))
    (tmp_path / "m_indices.npy").write_bytes(npy(header, b"12345678"))
    refused(tmp_path / "m_indices.npy", read_scores)


def test_every_flipped_byte_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "Y.npz"
    sp.save_npz(path, sp.csr_array(DENSE))
    held = path.read_bytes()
    for position in range(0, len(held), 3):
        changed = bytearray(held)
        changed[position] ^= 0x55
        path.write_bytes(changed)
        message = str(path)
        try:
            read_truth(path)
        except (ValueError, OSError) as error:
            message = str(error)
        assert str(path) in message
