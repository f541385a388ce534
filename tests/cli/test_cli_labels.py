"""Results of every label on the command line: of one run, and of shards that are merged."""

from __future__ import annotations

import csv
import json
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import evaluate
from xmleval.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line in a folder with truth and a top-k list; return code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(Y_TEST))
    np.save("m_indices.npy", LABELS)
    np.save("m_scores.npy", SCORES)

    def runs(line: str) -> tuple[int, str, str]:
        code = main(shlex.split(line if line.startswith("merge") else f"evaluate Y.npz m {line}"))
        return (code, *capsys.readouterr())

    return runs


@pytest.mark.parametrize("more", [{}, {"decision": "top2"}, {"decision": "threshold0.45"}])
def test_the_command_line_writes_a_row_for_each_label(run: Any, more: dict[str, Any]) -> None:
    options = " ".join(f"--{name} {value}" for name, value in more.items())
    line = "--metrics curves,f1.macro@3 --per-label out.csv --bounds --memory 1MB --format json"
    code, out, err = run(f"{line} {options}")
    assert (code, err) == (0, "")
    report = evaluate(
        Y_TEST, (LABELS, SCORES), metrics=["curves", "f1.macro@3"], bounds=True, keep_labels=True, **more
    )
    assert out == report.to_json() + "\n"
    assert json.loads(out)["intervals"]["auc.micro"] == [*report.intervals["auc.micro"]]
    with open("out.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    found = report.per_label()
    assert header == ["label", *found]
    assert {"auc", "peak_f1", "tp@3", "f1@3"} <= {*header}
    assert ("tp" in header) == bool(more)
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4"]
    for place, name in enumerate(found, 1):
        column = [float(row[place]) if row[place] else math.nan for row in rows]
        np.testing.assert_array_equal(column, found[name])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--per-label Y.npz", "Y.npz: is an input; expected another file for the output"),
        ("--per-label none/out.csv", "none/out.csv: its folder does not exist"),
        ("--memory many", "--memory: 'many' is not an amount of memory, such as 512MB or 2GiB"),
        ("--memory 0", "--memory: '0' is not an amount of memory, such as 512MB or 2GiB"),
        ("--metrics curves --bounds --unlisted 0.0", "--bounds: --unlisted 0 gives every label a score"),
        ("--metrics 'auc.micro(bits=30)'", "'auc.micro(bits=30)': bits=30 is not an integer in 1..24"),
    ],
)
def test_refused_in_one_line(run: Any, line: str, said: str) -> None:
    code, out, err = run(line)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_two_results_are_not_written_to_one_file(run: Any) -> None:
    assert run("--metrics curves --per-label same.csv --output same.csv")[0] == 2
    assert not Path("same.csv").exists()


def test_a_list_without_scores_has_no_results_of_labels(run: Any) -> None:
    Path("m_scores.npy").unlink()
    code, out, err = run("--per-label out.csv")
    assert (code, out) == (2, "")
    assert "--per-label needs" in err
    assert not Path("out.csv").exists()


def test_spilled_labels_are_exact_on_the_command_line(run: Any) -> None:
    assert run("--metrics curves --per-label large.csv")[0] == 0
    assert run("--metrics curves --per-label small.csv --memory 1")[0] == 0
    assert Path("large.csv").read_bytes() == Path("small.csv").read_bytes()


def test_merged_shards_have_results_of_labels(run: Any) -> None:
    assert run("--metrics curves --per-label whole.csv --save state.npz")[0] == 0
    parts = []
    for part, rows in enumerate([slice(0, 1), slice(1, None)]):
        sp.save_npz("Y.npz", sp.csr_array(Y_TEST[rows]))
        np.save("m_indices.npy", LABELS[rows])
        np.save("m_scores.npy", SCORES[rows])
        assert run(f"--metrics curves --per-label one.csv --save part{part}.npz")[0] == 0
        parts.append(f"part{part}.npz")
    assert run(f"merge {' '.join(parts)} --per-label merged.csv")[0] == 0
    assert Path("merged.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert run("--metrics curves --save bare.npz")[0] == 0
    code, out, err = run("merge bare.npz --per-label merged.csv")
    assert (code, out) == (2, "")
    assert "bare.npz: labels were not kept; --save it together with --per-label" in err
