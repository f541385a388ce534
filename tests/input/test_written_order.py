"""Scores that rise in the order in which a file or an object lists them are noted as distances."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer
from tests.input.forms import write_rows
from tests.made_files import npz, write_lines
from xmleval import evaluate

M, N, K = 12, 30, 4
rng = np.random.default_rng(5)
IDS = np.array([rng.choice(N, K, replace=False) for _ in range(M)])
DISTANCES = np.sort(rng.random((M, K)), axis=1)
TRUE = [[int(label) for label in rng.choice(N, 3, replace=False)] for _ in range(M)]
KEYED = {f"q{i}": {f"d{label}": 1 for label in row} for i, row in enumerate(TRUE)}
NOTE = "scores rise along every row"


def run_of(scores: Any) -> dict[str, dict[str, float]]:
    rows = (zip(*row, strict=True) for row in zip(IDS.tolist(), scores.tolist(), strict=True))
    return {f"q{i}": {f"d{label}": score for label, score in row} for i, row in enumerate(rows)}


def words(form: str, run: dict[str, dict[str, float]]) -> list[str]:
    return [" ".join(form.format(name[1:], x) for name, x in row.items()) for row in run.values()]


TEXTS: dict[str, Callable[[Any], list[str]]] = {
    "xmc": lambda run: [f"{M} {N}", *words("{}:{}", run)],
    "label:score": lambda run: words("d{}:{}", run),
    "labels": lambda run: [
        json.dumps({"id": key, "predicted": [{"label": name, "score": x} for name, x in row.items()]})
        for key, row in run.items()
    ],
}


def write(form: str, run: Any) -> str:
    """Write a truth and predictions, and return their names."""
    if form not in TEXTS:
        return f"{write_rows('Y', 'json', KEYED)} {write_rows('m', form, run)}"
    path = write_lines(Path("m"), ".jsonl" if form == "labels" else ".txt", TEXTS[form](run))
    if form == "xmc":
        cells = (np.ones(3 * M), np.array(TRUE).ravel(), np.arange(0, 3 * M + 1, 3))
        return f"{npz(Path('Y'), sp.csr_array(cells, shape=(M, N)))} {path}"
    if form == "label:score":
        return f"{write_lines(Path('Y'), '.txt', map(' '.join, KEYED.values()))} {path} --input-format lines"
    return f"{write_rows('Y', 'lists of jsonl', KEYED, False)} {path}"


@pytest.mark.parametrize("form", [*TEXTS, "run", "json", "csv"])
def test_distances_in_files_are_noted(form: str) -> None:
    one_falls = DISTANCES.copy()
    one_falls[-1] = one_falls[-1, ::-1]
    for scores, option, noted in (
        (DISTANCES, "", True), (DISTANCES, "--lower-is-better", False), (one_falls, "", False),
    ):  # fmt: skip
        line = f"evaluate {write(form, run_of(scores))} --metrics p@1 {option}"
        code, out, err = answer(line.split())
        assert (code, NOTE in out + err) == (0, noted), out + err


@pytest.mark.parametrize("form", ["dicts", "dict of dicts", "long frame"])
def test_distances_in_objects_are_noted(form: str) -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"d{label}" for label in range(N)]
    for scores, noted in ((DISTANCES, True), (-DISTANCES, False)):
        run = run_of(scores)
        rows = [(instance, *entry) for instance, row in run.items() for entry in row.items()]
        forms: dict[str, tuple[Any, Any]] = {
            "dicts": ([[*row] for row in KEYED.values()], [*run.values()]),
            "dict of dicts": (KEYED, run),
            "long frame": (KEYED, pandas.DataFrame(rows, columns=["instance", "label", "score"])),
        }
        truth, predictions = forms[form]
        for metric in ("p@1", "auc.macro"):
            assert (
                any(NOTE in note for note in evaluate(truth, predictions, metrics=metric, labels=names).notes)
                == noted
            )


def test_few_scores_may_rise_by_chance() -> None:
    truth = {"a": ["x"], "b": ["y"], "c": ["z"]}
    for n, noted in ((2, False), (3, True)):
        run = {key: {name: score for score, name in enumerate("zyx"[:n])} for key in truth}
        assert any(NOTE in note for note in evaluate(truth, run, metrics="p@1").notes) == noted


def test_labels_in_the_order_of_their_numbers_have_no_order_of_scores() -> None:
    labels = np.sort(IDS, axis=1).ravel()
    matrix = sp.csr_array((DISTANCES.ravel(), labels, np.arange(0, M * K + 1, K)), shape=(M, N))
    assert NOTE not in "".join(evaluate(TRUE, matrix, metrics="p@1").notes)
