"""The comparison of models on real data says what its differences allow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.real_models import sections


def test_a_model_that_is_better_and_one_that_is_as_good(tmp_path: Path) -> None:
    folder, rng = tmp_path / "made", np.random.default_rng(1)
    folder.mkdir()
    truth = (rng.random((400, 20)) < 0.2).astype(np.int8)
    for part in ("test", "train"):
        sp.save_npz(folder / f"Y_{part}.npz", sp.csr_matrix(truth))
    noise = rng.random(truth.shape)
    for name, knows in (("good", 0.5), ("poor", 0.0), ("twin", 0.5)):
        scores = truth * knows + noise
        indices = np.argsort(-scores, axis=1)[:, :5]
        np.save(folder / f"topk_{name}_indices.npy", indices)
        np.save(folder / f"topk_{name}_scores.npy", np.take_along_axis(scores, indices, axis=1))
    (text,) = sections(tmp_path)
    first = text.splitlines()[2]
    assert first.startswith("good has the highest P@5")
    assert "It is above poor by" in first
    assert "No difference is seen from twin (0.0000, p = 1)" in first
    assert "400 test rows" in first
