"""The bar on a terminal: rows, rate and time left on stderr alone, and nothing where there is no terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made_files import make_scores, make_truth, npy, npz
from tests.terminal import on_terminal, plain

SCRIPT = """
import sys, time
import rich.live
from xmleval.cli import main
rich.live._RefreshThread = None  # a bar needs no thread, of which there may be none left
from xmleval.cli import evaluation
from xmleval.evaluator import Evaluator
evaluation.LEAST_MEMORY = 1
update = Evaluator.update
def slowly(*arguments, **more):
    time.sleep(0.05)
    return update(*arguments, **more)
Evaluator.update = slowly
sys.exit(main(sys.argv[1:]))
"""
WORDS = ["evaluate", "Y.npz", "m", "--metrics", "p@1", "--format", "json", "--memory", "8KB"]


@pytest.mark.slow
def test_rows_rate_and_time_left_on_a_terminal(tmp_path: Path) -> None:
    npz(tmp_path / "Y", make_truth(600))
    npy(tmp_path / "m", make_scores(600))
    out, shown = on_terminal(tmp_path, "-c", SCRIPT, *WORDS)
    shown = plain(shown)
    assert out.startswith("{")
    rows = [int(done) for done in re.findall(r"(\d+)/600 *rows", shown)]
    assert rows == sorted(rows)
    assert len(set(rows)) > 3
    assert re.search(r"[\d,]+ rows/s", shown)
    assert re.search(r"\d:\d\d:\d\d", shown)


@pytest.mark.slow
def test_rows_where_nothing_tells_how_many_there_are(tmp_path: Path) -> None:
    (tmp_path / "Y.svm").write_text("1,2 0:1\n29 0:1\n" * 300)
    npy(tmp_path / "m", make_scores(600))
    _, shown = on_terminal(tmp_path, "-c", SCRIPT, "evaluate", "Y.svm", *WORDS[2:])
    assert re.search(r"\d+/\? *rows", plain(shown))
    assert "rows/s" in shown


@pytest.mark.slow
def test_nothing_where_there_is_no_terminal(tmp_path: Path) -> None:
    npz(tmp_path / "Y", make_truth(600))
    npy(tmp_path / "m", make_scores(600))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *WORDS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("{")
