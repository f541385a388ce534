"""Scores that rise in the order in which a file or an object lists them are noted as distances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer
from xmleval import evaluate

M, N, K = 12, 30, 4
rng = np.random.default_rng(5)
IDS = np.array([rng.choice(N, K, replace=False) for _ in range(M)])
DISTANCES = np.sort(rng.random((M, K)), axis=1)
TRUE = [[int(label) for label in rng.choice(N, 3, replace=False)] for _ in range(M)]
NAMED = [[f"d{label}" for label in row] for row in TRUE]
TOLD = "scores rise along every row"
LOWER_IS_BETTER = "--lower-is-better"


def rows_of(scores: Any) -> list[list[tuple[str, float]]]:
    return [
        [(f"d{label}", score) for label, score in zip(*row, strict=True)]
        for row in zip(IDS.tolist(), scores.tolist(), strict=True)
    ]


def lines(rows: Any) -> str:
    return "".join(f"{row}\n" for row in rows)


def entries(scores: Any, form: str) -> str:
    """Return a line for each label, in which {i}, {name}, {k} and {x} stand for what they are."""
    return lines(
        form.format(i=i, name=name, k=k, x=x)
        for i, row in enumerate(rows_of(scores))
        for k, (name, x) in enumerate(row, 1)
    )


def words(scores: Any, first: int = 0) -> str:
    """Return a line of label:score for each row; ``first``: where the names of labels begin."""
    return lines(" ".join(f"{name[first:]}:{x}" for name, x in row) for row in rows_of(scores))


def two_fields(row: Any) -> dict[str, Any]:
    return {"predicted": [name for name, _ in row], "scores": [x for _, x in row]}


def one_field(row: Any) -> dict[str, Any]:
    return {"predicted": [{"label": name, "score": x} for name, x in row]}


def run_of(scores: Any) -> dict[str, dict[str, float]]:
    return {f"q{i}": dict(row) for i, row in enumerate(rows_of(scores))}


def documents(scores: Any, fields_of: Any) -> str:
    return lines(json.dumps({"id": f"q{i}", **fields_of(row)}) for i, row in enumerate(rows_of(scores)))


# truth, predictions, and what writes these
FILES: dict[str, tuple[str, str, Any]] = {
    "xmc": ("Y.npz", "m.txt", lambda scores: f"{M} {N}\n{words(scores, 1)}"),
    "label:score": ("names.txt --input-format lines", "m.txt", words),
    "run": ("Y.json", "m.run", lambda scores: entries(scores, "q{i} Q0 {name} {k} {x} t")),
    "json": ("Y.json", "m.json", lambda scores: json.dumps(run_of(scores))),
    "fields of jsonl": ("Y.jsonl", "m.jsonl", lambda scores: documents(scores, two_fields)),
    "labels of jsonl": ("Y.jsonl", "m.jsonl", lambda scores: documents(scores, one_field)),
    "csv": ("Y.json", "m.csv", lambda scores: f"instance,label,score\n{entries(scores, 'q{i},{name},{x}')}"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ptr = np.arange(0, 3 * M + 1, 3)
    sp.save_npz("Y.npz", sp.csr_array((np.ones(3 * M), np.array(TRUE).ravel(), ptr), shape=(M, N)))
    Path("names.txt").write_text(lines(" ".join(row) for row in NAMED))
    Path("Y.json").write_text(json.dumps({f"q{i}": dict.fromkeys(row, 1) for i, row in enumerate(NAMED)}))
    Path("Y.jsonl").write_text(
        lines(json.dumps({"id": f"q{i}", "labels": row}) for i, row in enumerate(NAMED))
    )
    return tmp_path


@pytest.mark.parametrize("form", FILES)
def test_distances_in_files_are_noted(folder: Path, form: str) -> None:
    truth, name, write = FILES[form]
    one_falls = DISTANCES.copy()
    one_falls[-1] = one_falls[-1, ::-1]
    truth, _, options = truth.partition(" ")
    cases = [
        (DISTANCES, "", True),
        (DISTANCES, LOWER_IS_BETTER, False),
        (-DISTANCES, "", False),
        (one_falls, "", False),
    ]
    for scores, option, noted in cases:
        Path(name).write_text(write(scores))
        code, out, err = answer(f"evaluate {truth} {name} --metrics p@1 {options} {option}".split())
        assert (code, TOLD in out + err) == (0, noted), out + err


@pytest.mark.parametrize("form", ["dicts", "dict of dicts", "long frame"])
def test_distances_in_objects_are_noted(form: str) -> None:
    pandas = pytest.importorskip("pandas")
    keyed = {f"q{i}": dict.fromkeys(row, 1) for i, row in enumerate(NAMED)}
    for scores, noted in ((DISTANCES, True), (-DISTANCES, False)):
        run = run_of(scores)
        long = [(instance, *entry) for instance, row in run.items() for entry in row.items()]
        truth, given = {
            "dicts": (NAMED, [*run.values()]),
            "dict of dicts": (keyed, run),
            "long frame": (keyed, pandas.DataFrame(long, columns=["instance", "label", "score"])),
        }[form]
        for metric in ("p@1", "auc.macro"):
            assert any(TOLD in note for note in evaluate(truth, given, metrics=metric).notes) == noted


def test_few_scores_may_rise_by_chance() -> None:
    truth = {"a": ["x"], "b": ["y"], "c": ["z"]}
    for n, noted in ((2, False), (3, True)):
        run = {key: {name: score for score, name in enumerate("zyx"[:n])} for key in truth}
        assert any(TOLD in note for note in evaluate(truth, run, metrics="p@1").notes) == noted


def test_rows_of_a_matrix_have_no_written_order(folder: Path) -> None:
    scores = np.random.default_rng(3).random((M, N))
    best_last = np.argsort(scores)[:, -K:]  # as many cut a matrix to the best
    parts = (
        np.take_along_axis(scores, best_last, axis=1).ravel(),
        best_last.ravel(),
        np.arange(0, M * K + 1, K),
    )
    matrix = sp.csr_array(parts, shape=(M, N))
    sp.save_npz("m.npz", matrix)
    assert TOLD not in "".join(evaluate(sp.load_npz("Y.npz"), matrix, metrics="p@1").notes)
    assert TOLD not in "".join(map(str, answer(["evaluate", "Y.npz", "m.npz", "--metrics", "p@1"])))


def test_numbers_of_a_file_in_order_have_no_order_of_their_own(folder: Path) -> None:
    order = np.argsort(IDS, axis=1)
    in_order = np.take_along_axis(IDS, order, axis=1)
    rows = [" ".join(map("{}:{}".format, *row)) for row in zip(in_order, DISTANCES, strict=True)]
    Path("m.txt").write_text(lines([f"{M} {N}", *rows]))
    assert TOLD not in "".join(map(str, answer(["evaluate", "Y.npz", "m.txt", "--metrics", "p@1"])))
