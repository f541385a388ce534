"""Files in shards: truth and predictions that do not end together, some of them compressed."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

N_ROWS, N_LABELS, DEPTH = 200, 30, 8
ENDS = {"Y": [0, 90, 200], "m": [0, 40, 120, 150, 200], "pred": [0, 200], "c": [0, 70, 200]}


def make_arrays() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    truth, pred, among = (
        sp.csr_array((rng.random((N_ROWS, N_LABELS)) < density).astype(np.uint8))
        for density in (0.1, 0.1, 0.6)
    )
    order = np.argsort(rng.random((N_ROWS, N_LABELS)), axis=1)[:, :DEPTH].astype(np.int32)
    scores = np.sort(rng.integers(0, 40, order.shape).astype(np.float32) / 8, axis=1)[:, ::-1]
    return {"Y": truth, "m": (order, np.ascontiguousarray(scores)), "pred": pred, "c": among}


def make_files(folder: Path) -> dict[str, Any]:
    """Write shards Y_0.npz, m_0_indices.npy and so on; return the arrays."""
    arrays = make_arrays()
    for name, ends in ENDS.items():
        for number, (lo, hi) in enumerate(itertools.pairwise(ends)):
            if name == "m":
                np.save(folder / f"m_{number}_indices.npy", arrays["m"][0][lo:hi])
                np.save(folder / f"m_{number}_scores.npy", arrays["m"][1][lo:hi])
            else:
                sp.save_npz(folder / f"{name}_{number}.npz", arrays[name][lo:hi], compressed=number == 1)
    np.savetxt(folder / "groups.txt", np.arange(N_ROWS) % 3, "g%d")
    np.savetxt(folder / "pairs.txt", np.argwhere(arrays["Y"].toarray())[::5], "%d")
    return arrays
