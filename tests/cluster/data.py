"""Files in shards: truth and predictions are cut at different rows, some are compressed."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

N_ROWS = 200
N_LABELS = 30
DEPTH = 8
ENDS = {
    "Y": [0, 90, 200],
    "m": [0, 40, 120, 150, 200],
    "pred": [0, 200],
    "c": [0, 70, 200],
}


def random_matrix(rng: np.random.Generator, density: float) -> sp.csr_array:
    is_stored = rng.random((N_ROWS, N_LABELS)) < density
    return sp.csr_array(is_stored.astype(np.uint8))


def make_arrays() -> dict[str, Any]:
    """Return a truth, top-k lists, predicted sets and candidates."""
    rng = np.random.default_rng(3)
    truth = random_matrix(rng, 0.1)
    pred = random_matrix(rng, 0.1)
    candidates = random_matrix(rng, 0.6)
    order = np.argsort(rng.random((N_ROWS, N_LABELS)), axis=1)[:, :DEPTH].astype(np.int32)
    scores = rng.integers(0, 40, order.shape).astype(np.float32) / 8
    falling = np.sort(scores, axis=1)[:, ::-1]
    return {
        "Y": truth,
        "m": (order, np.ascontiguousarray(falling)),
        "pred": pred,
        "c": candidates,
    }


def make_files(folder: Path) -> dict[str, Any]:
    """Write shards Y_0.npz, m_0_indices.npy and so on; return the arrays."""
    arrays = make_arrays()
    for name, ends in ENDS.items():
        for number, (start, stop) in enumerate(itertools.pairwise(ends)):
            stem = f"{name}_{number}"
            if name == "m":
                labels, scores = arrays["m"]
                np.save(folder / f"{stem}_indices.npy", labels[start:stop])
                np.save(folder / f"{stem}_scores.npy", scores[start:stop])
            else:
                shard = arrays[name][start:stop]
                sp.save_npz(folder / f"{stem}.npz", shard, compressed=number == 1)
    np.savetxt(folder / "groups.txt", np.arange(N_ROWS) % 3, "g%d")
    np.savetxt(folder / "pairs.txt", np.argwhere(arrays["Y"].toarray())[::5], "%d")
    return arrays
