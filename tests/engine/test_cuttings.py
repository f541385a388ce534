"""One call, many cuttings: identical bits of every value."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, evaluate

N_ROWS, N_LABELS = 240, 90


def make_data() -> dict[str, Any]:
    rng = np.random.default_rng(20)
    truth = sp.random_array((N_ROWS, N_LABELS), density=0.04, rng=rng, format="csr")
    truth.data[:] = 1
    labels = np.argsort(rng.random((N_ROWS, N_LABELS)), axis=1)[:, :12].astype(np.int32)
    scores = rng.integers(0, 9, labels.shape).astype(np.float32) / 7
    labels[rng.random(labels.shape) < 0.1] = -1
    pred = sp.random_array((N_ROWS, N_LABELS), density=0.05, rng=rng, format="csr")
    pred.data[:] = 1
    return {
        "truth": truth,
        "labels": labels,
        "scores": scores,
        "pred": pred,
        "weight": rng.random(N_ROWS) + 0.01,
    }


@pytest.mark.slow
@pytest.mark.parametrize(("weighted", "form", "n_cuttings"), [(False, "list", 60), (True, "csr", 40)])
def test_values_do_not_depend_on_cutting(weighted: bool, form: str, n_cuttings: int) -> None:
    data = make_data()
    rng = np.random.default_rng(21)
    csr = sp.random_array((N_ROWS, N_LABELS), density=0.2, rng=rng, format="csr", dtype=np.float64)

    def part(lo: int, hi: int) -> dict[str, Any]:
        ranked = (data["labels"][lo:hi], data["scores"][lo:hi])
        return {
            "y_true": data["truth"][lo:hi],
            "y_score": ranked if form == "list" else csr[lo:hi],
            "y_pred": data["pred"][lo:hi],
            "sample_weight": data["weight"][lo:hi] if weighted else None,
        }

    q = 1 + 10 * rng.random(N_LABELS)
    settings: dict[str, Any] = {"metrics": ["all"], "inverse_propensity": q}
    if not weighted:
        settings |= {"metrics": ["all", "auc.micro(bits=16)"], "bounds": True, "memory": 20_000}
    whole = evaluate(**part(0, N_ROWS), **settings, threads=1).to_json()
    assert evaluate(**part(0, N_ROWS), **settings, threads=2, block_rows=7).to_json() == whole
    for _ in range(n_cuttings):
        cuts = [0, *sorted(rng.integers(0, N_ROWS + 1, rng.integers(1, 6))), N_ROWS]
        parts = []
        for lo, hi in itertools.pairwise(cuts):
            one = Evaluator(
                **settings,
                n_labels=N_LABELS,
                threads=int(rng.integers(1, 3)),
                block_rows=int(rng.integers(20, 300)),
            )
            one.update(**part(lo, hi))
            parts.append(one)
        while len(parts) > 1:
            first, second = rng.choice(len(parts), 2, replace=False)
            parts[first].merge(parts[second])
            del parts[second]
        assert parts[0].compute().to_json() == whole
