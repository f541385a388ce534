"""Models compared without some labels of rows are those of data without them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import compare

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


PAIRS = {  # of models, by the lengths of their lists
    "equal after": (scores(0, 1, 2, 3), scores(0, 1, 2)),
    "equal before": (scores(0, 1, 2, 3), scores(0, 1, 2, 4)),
    "one label after": (scores(0, 3), scores(0)),
    "more than the cutoff": (scores(0, 1, 2, 3, 4, 5, 6), scores(0, 1, 3)),
}


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
    return contents["comparison"]["differences"], [note for note in contents["notes"] if "lists hold" in note]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("models", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("argument", ["exclude", "candidates"])
def test_compare_counts_lists_without_excluded_labels(argument: str, models: Any, form: str) -> None:
    whole, without = (
        {name: FORMS[form](matrix * part) for name, matrix in zip("ab", models, strict=True)}
        for part in (1, 1 - GONE)
    )
    as_truth = as_dicts if form == "dicts" else sp.csr_array
    options = {"exclude": as_truth(GONE), "exclude_from": "predictions"}
    if argument == "candidates":
        options = {"candidates": as_truth(1 - GONE)}
    actual = compare(whole, as_truth(TRUTH), metrics=MEASURES, **options)
    expected = compare(without, as_truth(TRUTH), metrics=MEASURES)
    assert differences_and_notes(actual.to_json()) == differences_and_notes(expected.to_json())
