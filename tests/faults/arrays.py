"""Faults of array files: archives that lie, parts of matrices that do not fit, lists that are none."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.faults.fault import BOTH, Fault

DENSE = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]], np.float32)
LABELS = np.array([[0, 2], [1, -1], [3, 0], [3, 1]], np.int32)
SCORES = np.array([[0.9, 0.5], [0.8, np.nan], [0.7, 0.1], [0.6, 0.2]], np.float32)
ANY_CSR: dict[str, Any] = {
    "format": b"csr", "shape": (2, 4), "data": np.ones(2), "indices": np.array([0, 3]),
    "indptr": np.array([0, 1, 2]),
}  # fmt: skip
Write = Callable[[Path], Any]

# what the whole reader says of parts, and what the one in pieces says where that is another thing
POINTER = "indptr is {} there; it must start at 0, never fall and end at the number of stored entries"
PARTS: list[tuple[Any, ...]] = [
    ({"format": b"lil"}, "format 'lil' is not one of csr, csc, bsr, coo, dia"),
    ({"format": b"x\xff"}, "format 'x\ufffd' is not one of csr, csc, bsr, coo, dia"),
    ({"format": np.array([1, 2])}, "'format' is not a word"),
    ({"format": None}, "no array 'format' in it"),
    ({"data": None}, "no array 'data' in it"),
    ({"indptr": None}, "no array 'indptr' in it"),
    ({"shape": (2, 4, 1)}, "shape [2, 4, 1] is not (instances, labels)"),
    ({"shape": (2.0, 4.0)}, "shape [2.0, 4.0] is not (instances, labels)"),
    ({"shape": (-2, 4)}, "shape [-2, 4] is not (instances, labels)"),
    (
        {"shape": (10**15, 4)},
        "indptr has 3 entries, not 1000000000000001",
        "1000000000000000 rows for 2 stored values",
    ),
    (
        {"data": np.ones(2, complex)},
        "data of csr is complex128 of shape (2,)",
        "data is complex128 of shape (2,)",
    ),
    (
        {"data": np.ones((2, 1))},
        "data of csr is float64 of shape (2, 1)",
        "data is float64 of shape (2, 1)",
    ),
    ({"data": np.ones(3)}, "3 stored values, but 2 in the index"),
    (
        {"indices": np.array([0.0, 3.0])},
        "indices is float64 of shape (2,), not a vector of integers",
        "indices is float64 of shape (2,)",
    ),
    (
        {"indices": np.array([[0, 3]])},
        "indices is int64 of shape (1, 2), not a vector of integers",
        "indices is int64 of shape (1, 2)",
    ),
    (
        {"indptr": np.array([0, 1, 7])},
        "indptr runs from 0 to 7 over 2 stored entries",
        f"row 1: {POINTER.format(7)}",
    ),
    (
        {"indptr": np.array([1, 1, 2])},
        "indptr runs from 1 to 2 over 2 stored entries",
        f"row 0: {POINTER.format(1)}",
    ),
    (
        {"indptr": np.array([0, 1, -1])},
        "indptr runs from 0 to -1 over 2 stored entries",
        f"row 1: {POINTER.format(-1)}",
    ),
    ({"indptr": np.array([0, 2])}, "indptr has 2 entries, not 3", "indptr is of shape (2,), for 2 rows"),
    ({"format": b"bsr"}, "data of bsr is float64 of shape (2,)"),
    ({"format": b"bsr", "data": np.ones((2, 0, 1))}, "blocks of 0 x 1 do not tile a matrix of shape (2, 4)"),
    ({"format": b"bsr", "data": np.ones((2, 1, 3))}, "blocks of 1 x 3 do not tile a matrix of shape (2, 4)"),
    ({"format": b"coo"}, "no array 'row' in it"),
    ({"format": b"coo", "row": np.array([0, 2]), "col": np.array([0, 1])}, "axis 0 index 2 exceeds..."),
    ({"format": b"coo", "row": np.array([0, -1]), "col": np.array([0, 1])}, "negative axis 0 index: -1"),
    ({"format": b"coo", "row": np.array([0]), "col": np.array([0])}, "2 stored values, but 1 in the index"),
    ({"format": b"coo", "coords": np.array([[0], [0], [0]])}, "coords has shape (3, 1)"),
    (
        {"format": b"dia", "data": np.ones((1, 2)), "offsets": np.array([2**32])},
        "an offset lies outside a matrix of shape (2, 4)",
    ),
    (
        {"format": b"dia", "data": np.ones((2, 2)), "offsets": np.array([0])},
        "2 stored values, but 1 in the index",
    ),
]
LISTS = [
    (LABELS.astype(float), None, "indices", "float64 of shape (4, 2)"),
    (LABELS[0], None, "indices", "int32 of shape (2,)"),
    (np.array([["a"]]), None, "indices", "...does not hold real numbers..."),
    (np.array([[None]]), None, "indices", "...Python objects are not supported..."),
    (LABELS, SCORES[:3], "scores", "...shape (3, 2)"),
    (LABELS, SCORES.astype(complex), "scores", "...does not hold real numbers..."),
]
LISTS_IN_ARCHIVES: list[tuple[dict[str, Any], str]] = [
    ({"indices": LABELS.astype(float)}, "indices is float64 of shape (4, 2)"),
    ({"indices": LABELS[0]}, "indices is int32 of shape (2,)"),
    ({"scores": SCORES[:3]}, "scores is float32 of shape (3, 2), for indices of shape (4, 2)"),
    ({"scores": SCORES > 0}, "scores is bool of shape (4, 2), for indices of shape (4, 2)"),
    ({"scores": SCORES.astype(complex)}, "scores is complex128 of shape (4, 2), for indices of shape (4, 2)"),
    ({"scores": SCORES.astype(object)}, "scores.npy: Python objects are not supported"),
    ({"indices": LABELS.astype(object)}, "indices.npy: Python objects are not supported"),
    ({"indices": None, "scores": None, "labels": LABELS}, "no array 'format' in it"),
]
DAMAGES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda held: held[:-5], "27 bytes of data where the header promises 32"),
    (lambda held: held + b"more", "36 bytes of data where the header promises 32"),
    (lambda held: held[:40], "not a NumPy array (..."),
    (lambda held: b"garbage" * 9, "not a NumPy array (the magic string is not correct..."),
    (lambda held: pickle.dumps([1]) * 3, "not a NumPy array (the magic string is not correct..."),
    (lambda held: b"", "the file is empty"),
]
NO_HEADERS = [
    ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", "impossible array, float64 of shape (-1,)"),
    (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999999)}",
        "impossible array, float64 of shape (0, 99999999999999999999)",
    ),
    ("{'descr': '|V0', 'fortran_order': False, 'shape': (3,)}", "impossible array, |V0 of shape (3,)"),
    ("{'descr': 'nonsense', 'fortran_order': False, 'shape': (3,)}", "not a NumPy array (..."),
    ("{'descr': '<f8', 'shape': (3,)}", "not a NumPy array (..."),
    ("[1, 2]", "not a NumPy array (..."),
    ("(((", "not a NumPy array (..."),
    ("{'descr': '<f8', \n 'shape': '''", "not a NumPy array (..."),
    ("(" * 5000, "not a NumPy array (..."),
    ("-" * 9000 + "1", "not a NumPy array (its header cannot be parsed)"),
    ("\0\0\0", "not a NumPy array (..."),
]


def parts(**change: Any) -> Write:
    """Write a sparse matrix of which some arrays are others, or missing."""
    held = {name: value for name, value in {**ANY_CSR, **change}.items() if value is not None}
    return lambda path: np.savez(path, **held)


def archive(member: bytes, method: int = zipfile.ZIP_DEFLATED, name: str = "data.npy") -> bytes:
    """Return an archive of one member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        file.writestr(name, member)
    return out.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    """Return an array file below any header."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def promising_more() -> bytes:
    """Return an archive whose entry promises more bytes than its compression can hold."""
    held = archive(b"x" * 100)
    at = held.index(b"PK\x01\x02") + 24
    return held[:at] + (2**31).to_bytes(4, "little") + held[at + 4 :]


def sharing() -> bytes:
    """Return an archive whose entries share their bytes."""
    held = archive(os.urandom(1000), zipfile.ZIP_STORED)
    central, end = held.index(b"PK\x01\x02"), held.index(b"PK\x05\x06")
    entry, tail = held[central:end] * 3, bytearray(held[end:])
    tail[8:12] = (3).to_bytes(2, "little") * 2
    tail[12:16] = len(entry).to_bytes(4, "little")
    return held[:central] + entry + bytes(tail)


def saved(matrix: Any = DENSE) -> bytes:
    """Return a sparse matrix as SciPy saves it."""
    out = io.BytesIO()
    sp.save_npz(out, sp.csr_array(matrix))
    return out.getvalue()


def listed(which: str, change: Callable[[bytes], bytes]) -> Write:
    """Write a list, one file of which is changed."""

    def write(path: Path) -> None:
        np.save("m_indices.npy", LABELS)
        np.save("m_scores.npy", SCORES)
        path.write_bytes(change(path.read_bytes()))

    return write


def pair(labels: Any, scores: Any) -> Write:
    """Write a list of two arrays, or of one."""

    def write(path: Path) -> None:
        np.save("m_indices.npy", labels)
        if scores is not None:
            np.save("m_scores.npy", scores)

    return write


def members(**change: Any) -> Write:
    """Write a list in an archive, of which some arrays are others, or missing."""
    held = {"indices": LABELS, "scores": SCORES, **change}
    return lambda path: np.savez(path, **{name: value for name, value in held.items() if value is not None})


def header(shape: str, descr: str = "<f8") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"


OBJECTS, NO_ARCHIVE = "Python objects are not supported", "not a zip archive"
ONLY_TRUTH, ONLY_SCORES = ("truth",), ("scores",)
FAULTS = [
    *(Fault("Y.npz", parts(**change), said, BOTH, *others) for change, said, *others in PARTS),
    Fault("Y.npz", saved()[: len(saved()) // 2], "the zip archive is cut short"),
    Fault("Y.npz", b"", "the file is empty"),
    Fault("Y.npz", b"not an archive at all" * 20, NO_ARCHIVE),
    Fault("Y.npz", pickle.dumps([1, 2, 3]), NO_ARCHIVE),
    Fault("Y.npz", parts(data=np.array([{}, None], dtype=object)), f"data.npy: {OBJECTS}"),
    Fault("Y.npz", lambda path: np.savez(path, scores=DENSE), "no array 'format' in it", ONLY_TRUTH),
    Fault("Y.npz", lambda path: zipfile.ZipFile(path, "w").close(), "no array 'format' in it"),
    Fault(
        "Y.npz",
        archive(npy(header("(1000000000000,)"), b"12345678")),
        "data.npy: the header declares 8000000000000 bytes of data, the archive 8",
    ),
    Fault("Y.npz", promising_more(), "data.npy: impossible uncompressed size of 2147483648 bytes"),
    Fault("Y.npz", sharing(), "the archive members exceed the size of the file"),
    *(
        Fault("Y.npz", archive(b"\0" * 10_000, method), "data.npy: unsupported compression method")
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    ),
    *(
        Fault(name, npy(header, b"12345678"), f"{start}...{said}", kinds)
        if name == "m_indices.npy"
        else Fault(name, archive(npy(header, b"12345678")), f"{start}...{said}", kinds)
        for header, said in NO_HEADERS
        for name, start, kinds in (("Y.npz", "data.npy: ", BOTH), ("m_indices.npy", "", ONLY_SCORES))
    ),
    *(
        Fault(f"m_{which}.npy", listed(which, change), said, ONLY_SCORES)
        for change, said in DAMAGES
        for which in ("indices", "scores")
    ),
    *(
        Fault(f"m_{blamed}.npy", pair(labels, scores), said, ONLY_SCORES)
        for labels, scores, blamed, said in LISTS
    ),
    *(Fault("m.npz", members(**change), said, ONLY_SCORES) for change, said in LISTS_IN_ARCHIVES),
    Fault("m.npz", members(), "no array 'format' in it", ONLY_TRUTH),
    *(
        Fault(
            "m.npz",
            archive(npy(header(shape, "<i4"), LABELS.tobytes()), method, "indices.npy"),
            "indices.npy: the header declares ... bytes of data, the archive 32",
            ONLY_SCORES,
        )
        for shape in ("(1000000000000, 5)", "(4, 3)", "(3, 2)")
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    ),
]
