"""Faults of array files: wrong archives, parts of matrices that do not fit, invalid lists."""

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.damage import archive_of
from tests.faults.fault import Fault

DENSE = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]], np.float32)
LABELS = np.array([[0, 2], [1, -1], [3, 0], [3, 1]], np.int32)
SCORES = np.array([[0.9, 0.5], [0.8, np.nan], [0.7, 0.1], [0.6, 0.2]], np.float32)
LIST = {"indices": LABELS, "scores": SCORES}
ANY_CSR: dict[str, Any] = {
    "format": b"csr",
    "shape": (2, 4),
    "data": np.ones(2),
    "indices": np.array([0, 3]),
    "indptr": np.array([0, 1, 2]),
}
SCHEMES = "is not one of csr, csc, bsr, coo, dia"
POINTER = (
    "indptr is {} there; it must start at 0, never fall and end at the number of stored entries"
)
PARTS: list[tuple[dict[str, Any], str]] = [  # of a CSR matrix, and what is said by both readers
    ({"format": b"lil"}, f"format 'lil' {SCHEMES}"),
    ({"format": [1, 2]}, "format is int64 of shape (2,)"),
    ({"indptr": None}, "indptr is not a file in the archive | no array 'indptr' in it"),
    ({"shape": (2.0, 4.0)}, "shape is float64 of shape (2,)"),
    ({"shape": (-2, 4)}, "shape (-2, 4) for 2 stored values"),
    ({"shape": (10**15, 4)}, "shape (1000000000000000, 4) for 2 stored values"),
    ({"data": [1j, 1]}, "data is complex128 of shape (2,)"),
    (
        {"data": np.ones(3)},
        "indices and data should... | data of shape (3,), but indices of shape (2,)",
    ),
    ({"indices": [0.0, 3.0]}, "indices is float64 of shape (2,)..."),
    (
        {"indptr": [0, 1, 7]},
        f"Last value of index pointer should be less... | row 1: {POINTER.format(7)}",
    ),
    ({"indptr": [1, 1, 2]}, f"index pointer should start with 0 | row 0: {POINTER.format(1)}"),
    ({"indptr": [0, 2]}, "index pointer size 2 should be 3 | indptr is of shape (2,), for 2 rows"),
    ({"format": b"bsr"}, "BSR data must be 3-dimensional..."),
    (
        {"format": b"bsr", "data": np.ones((2, 1, 3))},
        "not a valid sparse matrix: column index values must be < 1...",
    ),
    ({"format": b"coo", "row": [0, 2], "col": [0, 1]}, "axis 0 index 2 exceeds..."),
    ({"format": b"coo", "row": [0, -1], "col": [0, 1]}, "negative axis 0 index: -1"),
    ({"format": b"coo", "row": [0], "col": [0]}, "all index and data arrays must..."),
    ({"format": b"coo", "coords": [[0], [0], [0]]}, "mismatching number of index arrays..."),
    ({"format": b"dia", "data": np.ones((2, 2)), "offsets": [0]}, "number of diagonals (2)..."),
]
# what is said of a pair of files, and of an archive
LISTS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"indices": LABELS.astype(float)},
        "float64 of shape (4, 2)",
        "indices is float64 of shape (4, 2)",
    ),
    ({"indices": LABELS[0]}, "int32 of shape (2,)", "indices is int32 of shape (2,)"),
    (
        {"scores": SCORES[:3]},
        "...for labels of shape (4, 2)",
        "scores is ... for indices of shape (4, 2)",
    ),
    ({"scores": SCORES + 1j}, "complex64 of shape (4, 2)", "scores is complex64 of shape (4, 2)"),
    ({"scores": SCORES.astype(object)}, "...Python objects...", "scores is object of shape..."),
]
DAMAGES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: data[:-5], "27 bytes of data where the header promises 32"),
    (lambda data: data + b"more", "36 bytes of data where the header promises 32"),
    (lambda data: pickle.dumps([1]) * 3, "not a NumPy array (the magic string is not correct..."),
]


def header(shape: str, descr: str = "<f8") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"


HEADERS = [
    (header("(-1,)"), "impossible array, float64 of shape (-1,)"),
    (
        header("(0, 99999999999999999999)"),
        "impossible array, float64 of shape (0, 99999999999999999999)",
    ),
    (header("(3,)", "nonsense"), "not a NumPy array (..."),
    ("(" * 5000, "not a NumPy array (..."),
    ("-" * 9000 + "1", "not a NumPy array (..."),
]


def npy(header: str, data: bytes = b"12345678") -> bytes:
    """Return an array file below any header."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def archive(parts: dict[str, Any]) -> Callable[[Path], Any]:
    arrays: dict[str, Any] = {name: value for name, value in parts.items() if value is not None}
    return lambda path: np.savez(path, **arrays)


def promising_more() -> bytes:
    """Return an archive whose entry declares more bytes than its compression can yield."""
    data = archive_of({"data.npy": b"x" * 100})
    at = data.index(b"PK\x01\x02") + 24
    return data[:at] + (2**31).to_bytes(4, "little") + data[at + 4 :]


def pair(change: Callable[[bytes], bytes] | None = None, **arrays: Any) -> Callable[[Path], Any]:
    """Write a list as two files; change an array, or the bytes of a file."""

    def write(path: Path) -> None:
        for name, array in (LIST | arrays).items():
            np.save(path.with_name(f"m_{name}.npy"), array)
        if change:
            path.write_bytes(change(path.read_bytes()))

    return write


sp.save_npz(saved := io.BytesIO(), sp.csr_array(DENSE))
WHOLE = saved.getvalue()
FAULTS = [
    *(Fault("Y.npz", archive(ANY_CSR | change), message) for change, message in PARTS),
    Fault("Y.npz", WHOLE[: len(WHOLE) // 2], "not a zip archive, or cut short"),
    Fault("Y.npz", b"not an archive at all" * 20, "not a zip archive, or cut short"),
    Fault("Y.npz", promising_more(), "data.npy: 2147483648 bytes..."),
    Fault(
        "Y.npz",
        archive_of({"data.npy": npy(header("(1000000000000,)"))}),
        "data.npy: 8 bytes of data where the header promises 8000000000000",
    ),
    Fault("Y.npz", archive_of({"data.npy": bytes(9999)}, zipfile.ZIP_LZMA), "data.npy: 9999 by..."),
    *(
        Fault("Y.npz", archive_of({"data.npy": npy(head)}), f"data.npy: ...{text}")
        for head, text in HEADERS
    ),
    *(Fault("m_indices.npy", npy(head), f"...{text}", ("scores",)) for head, text in HEADERS),
    *(Fault("m_indices.npy", pair(change), message, ("scores",)) for change, message in DAMAGES),
    Fault("m_scores.npy", pair(DAMAGES[0][0]), DAMAGES[0][1], ("scores",)),
    *(
        Fault(f"m_{next(iter(change))}.npy", pair(**change), text, ("scores",))
        for change, text, _ in LISTS
    ),
    *(Fault("m.npz", archive(LIST | change), message, ("scores",)) for change, _, message in LISTS),
    Fault("m.npz", archive(LIST), "no array 'format' in it", ("truth",)),
    *(
        Fault(
            "m.npz",
            archive_of({"indices.npy": npy(header(shape, "<i4"), LABELS.tobytes())}, method),
            "indices.npy: 32 bytes of data where the header promises ...",
            ("scores",),
        )
        for shape in ("(1000000000000, 5)", "(3, 2)")
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    ),
]
