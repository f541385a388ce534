"""Ids of every integer type give what int64 gives, wherever ids are given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import Y_TEST, Y_TRAIN
from xmleval import evaluate, inverse_propensity, label_statistics
from xmleval.thresholds import fit

TYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", ">u4", ">i8"]
IDS = np.argsort(-np.random.default_rng(0).random(Y_TEST.shape), axis=1)[:, :3]
N = Y_TEST.shape[1]
Make = Callable[[str], Any]


def matrix(dense: Any, dtype: str, form: str = "csr") -> Any:
    found = sp.csr_array(dense).asformat(form)
    for name in ("indices", "indptr") if form in ("csr", "csc") else ():
        setattr(found, name, getattr(found, name).astype(dtype))
    return found


def rows_of(ids: Any, dtype: str) -> list[list[Any]]:
    kind = np.dtype(dtype).newbyteorder("=").type
    return [[kind(label) for label in row] for row in ids]


def values(y_true: Any, y_score: Any, **more: Any) -> dict[str, float]:
    report = evaluate(y_true, y_score, metrics=["p", "ndcg", "psp", "f1.macro@2", "lrap"], n_labels=N, **more)
    return dict(report)


TRUE_IDS = [np.flatnonzero(row) for row in Y_TEST]
Q = inverse_propensity(Y_TRAIN)
PLACES: dict[str, Make] = {
    "top-k list": lambda t: values(Y_TEST, (IDS.astype(t), None), inverse_propensity=Q),
    "top-k list with scores": lambda t: values(Y_TEST, (IDS.astype(t), -IDS / 4), inverse_propensity=Q),
    "ragged lists": lambda t: values(Y_TEST, rows_of(IDS, t), inverse_propensity=Q),
    "ragged pairs": lambda t: values(
        Y_TEST, [[(label, -rank) for rank, label in enumerate(row)] for row in rows_of(IDS, t)],
        inverse_propensity=Q,
    ),
    "matrix of scores": lambda t: values(Y_TEST, matrix(Y_TEST[::-1] * 0.5, t), inverse_propensity=Q),
    "dense scores": lambda t: values(Y_TEST, (Y_TEST[::-1] * 3).astype(t), inverse_propensity=Q),
    "truth": lambda t: values(matrix(Y_TEST, t), (IDS, None), inverse_propensity=Q),
    "truth by columns": lambda t: values(matrix(Y_TEST, t, "csc"), (IDS, None), inverse_propensity=Q),
    "dense truth": lambda t: values(Y_TEST.astype(t), (IDS, None), inverse_propensity=Q),
    "lists of truth": lambda t: values(rows_of(TRUE_IDS, t), (IDS, None), inverse_propensity=Q),
    "sets": lambda t: dict(evaluate(Y_TEST, y_pred=matrix(Y_TEST[::-1], t), metrics="sets")),
    "training labels": lambda t: inverse_propensity(matrix(Y_TRAIN, t)).tolist(),
    "training counts": lambda t: inverse_propensity(
        label_counts=Y_TRAIN.sum(axis=0).astype(t), n_instances=np.dtype(t).newbyteorder("=").type(9)
    ).tolist(),
    "statistics": lambda t: label_statistics(matrix(Y_TEST, t), rows_of(TRUE_IDS, t), n_labels=N),
    "rules": lambda t: fit(Y_TEST, (IDS.astype(t), -IDS / 4), "f1.micro").decision.value,
}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("place", PLACES)
def test_ids_of_every_type(place: str, dtype: str) -> None:
    assert PLACES[place](dtype) == pytest.approx(PLACES[place]("i8"), rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_pairs_are_taken_out_of_ids_of_every_type(folder: Path, run: Callable[..., str], dtype: str) -> None:
    (folder / "pairs.txt").write_text(f"0 {IDS[0, 0]}\n2 {IDS[2, 1]}\n2 {IDS[2, 0]}\n")
    found = []
    for given in (dtype, "i8"):
        np.save("m_indices.npy", IDS.astype(given))
        np.save("m_scores.npy", -IDS / 4)
        np.savez("list.npz", indices=IDS.astype(given), scores=-IDS / 4)
        parts = sp.csr_array(Y_TEST)
        arrays = {"indices": parts.indices.astype(given), "indptr": parts.indptr.astype(given)}
        np.savez("truth.npz", format=b"csr", shape=np.array(parts.shape), data=parts.data, **arrays)
        words = "--exclude pairs.txt --metrics p,ndcg,psp --k 1,2 --train Y_train.npz --format json"
        found.append([run(f"evaluate truth.npz {scores} {words}") for scores in ("m", "list.npz")])
    assert found[0] == found[1]


def test_pairs_leave_ids_that_are_none_to_be_refused(folder: Path, refused: Callable[..., str]) -> None:
    (folder / "pairs.txt").write_text("0 1\n")
    for value, dtype in ((2**64 - 1, "u8"), (2**63 - 1, "i8"), (N, "u1")):
        ids = IDS.astype(dtype)
        ids[1, 0] = value
        np.save("m_indices.npy", ids)
        (folder / "m_scores.npy").unlink(missing_ok=True)
        said = refused("evaluate Y_test.npz m --exclude pairs.txt --metrics p@1")
        assert "row 1: label id " in said


def test_labels_of_pairs_may_be_far_apart(folder: Path, run: Callable[..., str]) -> None:
    labels = np.array([0, 2**39, 2**40 - 1])
    for name, per_row in (("t.npz", 1), ("s.npz", 3)):
        ids = np.concatenate([labels[:per_row]] * 9)
        ptr = np.arange(10) * per_row
        held = sp.csr_array((np.ones(ids.size), ids, ptr), shape=(9, 2**40))
        sp.save_npz(name, held)
    (folder / "pairs.txt").write_text("8 0\n")
    found = json.loads(run("evaluate t.npz s.npz --exclude pairs.txt --metrics p@1 --format json"))
    assert found["values"]["p@1"] == 8 / 9
