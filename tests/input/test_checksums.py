"""Archives with a bit flipped in an array that is not compressed: refused, however they are read."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval.input.formats.npz import npz_pieces
from xmleval.input.formats.registry import read_scores, read_truth

M, K, L = 3000, 4, 40
LABELS = ((np.arange(M)[:, None] + 2 * np.arange(K)) % (L // 2)).astype(np.int32)
SCORES = np.linspace(0.25, 0.5, M * K, dtype=np.float32).reshape(M, K)
ARCHIVES: dict[str, tuple[str, dict[str, Any]]] = {
    "list": ("scores", {"indices": LABELS, "scores": SCORES}),
    "list by column": ("scores", {"indices": np.asfortranarray(LABELS), "scores": SCORES}),
    "dense": ("scores", {"scores": SCORES}),
    "truth": ("truth", {"data": np.ones(M * K, np.int8)}),
    "matrix": ("scores", {"data": SCORES.ravel()}),
}
FLIPS = [(name, member) for name, (_, arrays) in ARCHIVES.items() for member in arrays]
FLIPS += [("truth", "indices"), ("truth", "indptr"), ("matrix", "indices")]


def write(path: Path, arrays: dict[str, Any]) -> Path:
    if "data" in arrays:
        parts = arrays["data"], LABELS.ravel(), np.arange(M + 1, dtype=np.int32) * K
        sp.save_npz(path, sp.csr_array(parts, shape=(M, L)), compressed=False)
    else:
        np.savez(path, **arrays)
    return path


def flip(path: Path, member: str, at: float) -> None:
    """Flip a bit in the data of a member that is not compressed."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{member}.npy")
    held = bytearray(path.read_bytes())
    end = held.index(b"\x93NUMPY", info.header_offset) + info.file_size
    held[end - int(at * info.file_size) // 8 * 8 - 8] ^= 1
    path.write_bytes(held)


@pytest.mark.parametrize("at", [0.0, 0.5])
@pytest.mark.parametrize("n_bytes", [100, 9000, 1 << 40])
@pytest.mark.parametrize(("name", "member"), FLIPS)
def test_a_flipped_bit(tmp_path: Path, name: str, member: str, n_bytes: int, at: float) -> None:
    kind, arrays = ARCHIVES[name]
    path = write(tmp_path / "z.npz", arrays)
    list(npz_pieces(path, kind).read(n_bytes))
    flip(path, member, at)
    said = rf"{path}: .*Bad CRC-32 for file '{member}\.npy'; expected "
    with pytest.raises(ValueError, match=said):
        list(npz_pieces(path, kind).read(n_bytes))
    with pytest.raises(ValueError, match=said):
        (read_truth if kind == "truth" else read_scores)(path)
