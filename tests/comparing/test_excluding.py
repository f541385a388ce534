"""Models compared without some labels of rows are those of data without them, in Python and on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Comparison, Evaluator, compare, evaluate

N, L = 60, 8
RNG = np.random.default_rng(0)
TRUTH = (RNG.random((N, L)) < 0.3).astype(np.uint8)
GONE = np.zeros((N, L), np.uint8)
GONE[:, 3] = 1
MEASURES = ["p@1", "p@2", "p@4"]


def scores(*labels: int) -> Any:
    matrix = np.zeros((N, L))
    matrix[:, labels] = RNG.random((N, len(labels))) + 0.1
    return matrix


PAIRS = {
    "equal after": {"a": scores(0, 1, 2, 3), "b": scores(0, 1, 2)},
    "equal before": {"a": scores(0, 1, 2, 3), "b": scores(0, 1, 2, 4)},
    "one label after": {"a": scores(0, 3), "b": scores(0)},
    "more than the cutoff": {"a": scores(0, 1, 2, 3, 4, 5, 6), "b": scores(0, 1, 3)},
}
every_pair = pytest.mark.parametrize("models", PAIRS.values(), ids=PAIRS)


def as_lists(matrix: Any) -> Any:
    k = int((matrix > 0).sum(axis=1).max())
    labels = np.argsort(-matrix, axis=1)[:, :k]
    listed = np.take_along_axis(matrix, labels, axis=1)
    return np.where(listed > 0, labels, -1), listed


def as_dicts(matrix: Any) -> Any:
    return {f"r{i}": {f"l{j}": float(row[j]) for j in np.flatnonzero(row)} for i, row in enumerate(matrix)}


FORMS = {"matrix": sp.csr_array, "lists": as_lists, "dicts": as_dicts}


def differences_and_notes(json_text: str) -> Any:
    """Return the differences, and the notes on the lengths of lists."""
    contents = json.loads(json_text)
    return contents["comparison"]["differences"], length_notes(contents["notes"])


def length_notes(notes: Any) -> list[str]:
    return [note for note in notes if "lists hold" in note]


@pytest.mark.parametrize("form", FORMS)
@every_pair
@pytest.mark.parametrize("argument", ["exclude", "candidates"])
def test_compare_counts_lists_without_excluded_labels(argument: str, models: Any, form: str) -> None:
    whole, without = (
        {name: FORMS[form](matrix * kept) for name, matrix in models.items()} for kept in (1, 1 - GONE)
    )
    pairs = GONE if argument == "exclude" else 1 - GONE
    as_truth = as_dicts if form == "dicts" else sp.csr_array
    options = {argument: as_truth(pairs)} | ({"exclude_from": "predictions"} if argument == "exclude" else {})
    actual = compare(whole, as_truth(TRUTH), metrics=MEASURES, **options)
    expected = compare(without, as_truth(TRUTH), metrics=MEASURES)
    assert differences_and_notes(actual.to_json()) == differences_and_notes(expected.to_json())


@every_pair
def test_files_and_batches_give_the_differences_and_notes_of_arrays(
    models: Any, tmp_path: Path, monkeypatch: Any, run: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    matrices = {f"{name}.npz": sp.csr_array(matrix) for name, matrix in models.items()}
    for name, matrix in {"Y.npz": sp.csr_array(TRUTH), **matrices}.items():
        sp.save_npz(name, matrix)
    np.savetxt("gone.txt", np.argwhere(GONE), fmt="%d")
    line = f"compare Y.npz a.npz b.npz --metrics {','.join(MEASURES)} --exclude gone.txt --format json"
    excluded = sp.csr_array(GONE)
    expected = compare(matrices, sp.csr_array(TRUTH), metrics=MEASURES, exclude=excluded)
    assert differences_and_notes(run(line)) == differences_and_notes(expected.to_json())
    whole, streamed = {}, {}
    for name, matrix in matrices.items():
        whole[name] = evaluate(TRUTH, matrix, metrics=MEASURES, exclude=excluded)
        evaluator = Evaluator(MEASURES, n_labels=L)
        for rows in np.array_split(np.arange(N), 3):
            evaluator.update(TRUTH[rows], matrix[rows], exclude=excluded[rows])
        streamed[name] = evaluator.compute()
    assert length_notes(Comparison(streamed).notes) == length_notes(Comparison(whole).notes)
    assert length_notes(Comparison(whole).notes) == [
        note.replace("models whose lists differ are not tested", "no value is marked as best")
        for note in length_notes(expected.notes)
    ]
