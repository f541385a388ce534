"""Models compared without some labels of rows are those of data without them, in Python and on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, compare, evaluate

N, L = 60, 8
RNG = np.random.default_rng(0)
TRUTH = (RNG.random((N, L)) < 0.3).astype(np.uint8)
GONE = np.zeros((N, L), np.uint8)
GONE[:, 3] = 1
MEASURES = ["p@1", "p@2", "p@4"]


def scores(*labels: int) -> Any:
    found = np.zeros((N, L))
    found[:, labels] = RNG.random((N, len(labels))) + 0.1
    return found


PAIRS = {
    "equal after": (scores(0, 1, 2, 3), scores(0, 1, 2)),
    "equal before": (scores(0, 1, 2, 3), scores(0, 1, 2, 4)),
    "one label after": (scores(0, 3), scores(0)),
    "more than the cutoff": (scores(0, 1, 2, 3, 4, 5, 6), scores(0, 1, 3)),
}


def as_lists(found: Any) -> Any:
    k = int((found > 0).sum(axis=1).max())
    labels = np.argsort(-found, axis=1)[:, :k]
    listed = np.take_along_axis(found, labels, axis=1)
    return np.where(listed > 0, labels, -1), listed


def as_dicts(found: Any) -> Any:
    return {f"r{i}": {f"l{j}": float(row[j]) for j in np.flatnonzero(row)} for i, row in enumerate(found)}


FORMS = {"matrix": sp.csr_array, "lists": as_lists, "dicts": as_dicts}


def differences_and_notes(compared: Any) -> Any:
    """The differences, and what is noted of the lengths of lists."""
    told = json.loads(compared if isinstance(compared, str) else compared.to_json())
    return told["comparison"]["differences"], [note for note in told["notes"] if "lists hold" in note]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("models", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("argument", ["exclude", "candidates"])
def test_compare_counts_lists_without_other_labels(argument: str, models: Any, form: str) -> None:
    given, without = (
        {name: FORMS[form](own * kept) for name, own in zip("ab", models, strict=True)}
        for kept in (1, 1 - GONE)
    )
    truth: Any = TRUTH
    pairs: Any = sp.csr_array(GONE if argument == "exclude" else 1 - GONE)
    if form == "dicts":
        truth, pairs = as_dicts(TRUTH), as_dicts(pairs.toarray())
    more = {"exclude": pairs, "exclude_from": "predictions"} if argument == "exclude" else {argument: pairs}
    found = compare(given, truth, metrics=MEASURES, **more)
    expected = compare(without, truth, metrics=MEASURES)
    assert differences_and_notes(found) == differences_and_notes(expected)


@pytest.mark.parametrize("models", PAIRS.values(), ids=PAIRS)
def test_compare_gives_the_same_for_files(models: Any, tmp_path: Path, monkeypatch: Any, run: Any) -> None:
    monkeypatch.chdir(tmp_path)
    matrices = {f"{name}.npz": sp.csr_array(own) for name, own in zip("ab", models, strict=True)}
    for name, matrix in {"Y.npz": sp.csr_array(TRUTH), **matrices}.items():
        sp.save_npz(name, matrix)
    np.savetxt("gone.txt", np.argwhere(GONE), fmt="%d")
    line = f"compare Y.npz a.npz b.npz --metrics {','.join(MEASURES)} --exclude gone.txt"
    found = compare(matrices, sp.csr_array(TRUTH), metrics=MEASURES, exclude=sp.csr_array(GONE))
    assert differences_and_notes(run(f"{line} --format json")) == differences_and_notes(found)


@pytest.mark.parametrize("models", PAIRS.values(), ids=PAIRS)
def test_streams_count_lists_without_excluded_labels(models: Any) -> None:
    for own in models:
        evaluator = Evaluator(MEASURES, n_labels=L)
        for rows in np.array_split(np.arange(N), 3):
            evaluator.update(TRUTH[rows], sp.csr_array(own[rows]), exclude=sp.csr_array(GONE[rows]))
        streamed = evaluator.compute()
        whole = evaluate(TRUTH, sp.csr_array(own), metrics=MEASURES, exclude=sp.csr_array(GONE))
        assert streamed.results.short == whole.results.short
        alone = evaluate(TRUTH * (1 - GONE), sp.csr_array(own * (1 - GONE)), metrics=MEASURES)
        assert whole.results.short == alone.results.short
