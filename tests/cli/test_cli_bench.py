"""`xmleval bench`: what it counts, on files and without, and what it refuses."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval.cli.bench import generate, read_bandwidth


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("xmleval.cli.bench")  # the name in its package is the command
    monkeypatch.setattr(module, "RUNS", (1, 1))
    monkeypatch.setattr(module, "READ_BYTES", (1 << 20, 1 << 19))


@pytest.mark.parametrize(("scores", "stored"), [("scores.npz", 11), ("m", 12)])
def test_files_are_counted(folder: Path, run: Any, scores: str, stored: int) -> None:
    found = json.loads(run(f"bench Y_test.npz {scores} --format json --metrics xmc,f1.macro,lrap"))
    assert (found["rows"], found["labels"], found["scores"]) == (4, 5, stored)
    assert found["metrics"] == ["xmc", "f1.macro", "lrap"]
    assert found["rows_per_second"] == pytest.approx(4 / found["seconds"])
    assert found["gb_per_second"] == pytest.approx(found["bytes"] / found["seconds"] / 1e9)
    share = found["gb_per_second"] / found["read_bandwidth_gb_per_second"]
    assert found["share_of_read_bandwidth"] == pytest.approx(share)
    assert found["read_files_seconds"] > 0
    assert found["read_array_bytes"] in (1 << 20, 1 << 19)


def test_generated_data_print_as_a_table(run: Any) -> None:
    printed = run("bench --rows 50 --labels 40 --k 30 --metrics all --threads 1")
    assert printed.startswith("50 rows x 40 labels, 1500 scores, ")
    assert "share of it" in printed
    assert printed.endswith("\nall; 1 threads, median of 1 runs\n")


def test_a_file_takes_the_result(folder: Path, run: Any) -> None:
    assert run("bench --rows 20 --labels 10 --k 5 --output bench.json") == ""
    assert json.loads(Path("bench.json").read_text())["read_files_seconds"] is None


@pytest.mark.parametrize(("rows", "labels", "k"), [(1, 10, 5), (300, 10, 5), (300, 1000, 1), (200, 230, 100)])
def test_generated_rows_have_distinct_labels_and_falling_scores(rows: int, labels: int, k: int) -> None:
    ((y_true, (listed, scores)),) = generate(rows, labels, k).pieces
    assert listed.shape == scores.shape == (rows, k)
    assert all(len(set(row)) == k for row in listed.tolist())
    assert 0 <= listed.min() <= listed.max() < labels
    assert (np.diff(scores, axis=1) <= 0).all()
    assert y_true.shape == (rows, labels)
    assert (np.diff(y_true.indptr) == 5).all()
    assert y_true.has_canonical_format


def test_bandwidth_is_a_rate() -> None:
    assert read_bandwidth(1, 1 << 16) > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bench Y_test.npz", "SCORES are missing; see `xmleval bench --help`"),
        ("bench Y_test.npz m --rows 5", "--rows, --labels and --k are for generated data"),
        ("bench --labels 12 --k 8", "--labels must exceed --k by 5"),
        ("bench --metrics nonsense", "nonsense"),
        ("bench Y_test.npz missing.npz", "missing.npz: No such file or directory"),
        ("bench Y_test.npz m --metrics margin.macro", "--unlisted"),
    ],
)
def test_refusals_are_one_line(folder: Path, refused: Any, line: str, message: str) -> None:
    assert message in refused(line)
