"""Scores that rise along the lists of a file or an object are noted as distances."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.damage import answer
from tests.input.forms import write_rows
from tests.made_files import npz, write_lines
from xmleval import evaluate

M = 12
N = 30
K = 4
rng = np.random.default_rng(5)
IDS = np.array([rng.choice(N, K, replace=False) for _ in range(M)])
DISTANCES = np.sort(rng.random((M, K)), axis=1)
TRUE = [[int(label) for label in rng.choice(N, 3, replace=False)] for _ in range(M)]
KEYED = {f"q{i}": {f"d{label}": 1 for label in row} for i, row in enumerate(TRUE)}
NOTE = "scores rise along every row"
Run = dict[str, dict[str, float]]


def run_of(scores: Any) -> Run:
    run: Run = {}
    for row, labels in enumerate(IDS.tolist()):
        names = [f"d{label}" for label in labels]
        run[f"q{row}"] = dict(zip(names, scores[row].tolist(), strict=True))
    return run


def lines_of_pairs(form: str, run: Run) -> list[str]:
    """Return a line of numbers of labels and scores for each row."""
    lines = []
    for row in run.values():
        pairs = [form.format(name.removeprefix("d"), score) for name, score in row.items()]
        lines.append(" ".join(pairs))
    return lines


def lines_of_json(run: Run) -> list[str]:
    lines = []
    for key, row in run.items():
        predicted = [{"label": name, "score": score} for name, score in row.items()]
        lines.append(json.dumps({"id": key, "predicted": predicted}))
    return lines


def write_xmc_texts(run: Run) -> str:
    starts = np.arange(0, 3 * M + 1, 3)
    matrix = sp.csr_array((np.ones(3 * M), np.ravel(TRUE), starts), shape=(M, N))
    truth = npz(Path("Y"), matrix)
    lines = [f"{M} {N}", *lines_of_pairs("{}:{}", run)]
    return f"{truth} {write_lines(Path('m'), '.txt', lines)}"


def write_lines_of_names(run: Run) -> str:
    truth = write_lines(Path("Y"), ".txt", map(" ".join, KEYED.values()))
    scores = write_lines(Path("m"), ".txt", lines_of_pairs("d{}:{}", run))
    return f"{truth} {scores} --input-format lines"


def write_objects(run: Run) -> str:
    truth = write_rows("Y", "lists of jsonl", KEYED, False)
    return f"{truth} {write_lines(Path('m'), '.jsonl', lines_of_json(run))}"


WRITERS: dict[str, Callable[[Run], str]] = {
    "xmc": write_xmc_texts,
    "label:score": write_lines_of_names,
    "labels": write_objects,
}


def write(form: str, run: Run) -> str:
    """Write a truth and predictions, and return their names."""
    if form in WRITERS:
        return WRITERS[form](run)
    return f"{write_rows('Y', 'json', KEYED)} {write_rows('m', form, run)}"


@pytest.mark.parametrize("form", [*WRITERS, "run", "json", "csv"])
def test_distances_in_files_are_noted(form: str) -> None:
    one_falls = DISTANCES.copy()
    one_falls[-1] = one_falls[-1, ::-1]
    for scores, option, is_noted in (
        (DISTANCES, "", True),
        (DISTANCES, "--lower-is-better", False),
        (one_falls, "", False),
    ):
        files = write(form, run_of(scores))
        line = f"evaluate {files} --metrics p@1 {option}"
        code, out, err = answer(line.split())
        assert code == 0, err
        assert (NOTE in out + err) == is_noted, out + err


def has_note(truth: Any, scores: Any, **options: Any) -> bool:
    report = evaluate(truth, scores, **options)
    return any(NOTE in note for note in report.notes)


@pytest.mark.parametrize("form", ["dicts", "dict of dicts", "long frame"])
def test_distances_in_objects_are_noted(form: str) -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"d{label}" for label in range(N)]
    for scores, is_noted in ((DISTANCES, True), (-DISTANCES, False)):
        run = run_of(scores)
        truth: Any = KEYED
        predictions: Any = run
        if form == "dicts":
            truth = [[*row] for row in KEYED.values()]
            predictions = [*run.values()]
        elif form == "long frame":
            rows = [(key, *entry) for key, row in run.items() for entry in row.items()]
            predictions = pandas.DataFrame(rows, columns=["instance", "label", "score"])
        for metric in ("p@1", "auc.macro"):
            assert has_note(truth, predictions, metrics=metric, labels=names) == is_noted


def test_few_rising_scores_are_not_noted() -> None:
    truth = {"a": ["x"], "b": ["y"], "c": ["z"]}
    for n, is_noted in ((2, False), (3, True)):
        scores = {name: score for score, name in enumerate("zyx"[:n])}
        assert has_note(truth, dict.fromkeys(truth, scores), metrics="p@1") == is_noted


def test_sorted_label_ids_are_not_noted_as_distances() -> None:
    labels = np.sort(IDS, axis=1).ravel()
    starts = np.arange(0, M * K + 1, K)
    matrix = sp.csr_array((DISTANCES.ravel(), labels, starts), shape=(M, N))
    assert not has_note(TRUE, matrix, metrics="p@1")


def test_equal_scores_of_neighbouring_rows_are_no_ties(tmp_path: Path) -> None:
    lists = np.array([[5, 3], [1, 0]]), np.array([[0.9, 0.5], [0.5, 0.4]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ending in (".txt", ".npz", ".csv", ".jsonl", ".run"):
            xmleval.write(tmp_path / f"scores{ending}", lists)
