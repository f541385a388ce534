"""Commands that tests run on a folder of small inputs, and their output."""

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval.cli import main as main

Run = Callable[..., str]
# the package, and what decides in which way kernels run
PATHS = os.pathsep.join(
    map(str, (Path(xmleval.__file__).resolve().parents[1], Path(__file__).parent / "ways"))
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with truth, training labels, a matrix of scores, a list and sets."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y_test.npz", sp.csr_array(Y_TEST))
    sp.save_npz("Y_train.npz", sp.csr_array(Y_TRAIN))
    rows, slots = np.nonzero(LABELS >= 0)
    entries = (SCORES[rows, slots], (rows, LABELS[rows, slots]))
    sp.save_npz("scores.npz", sp.csr_array(entries, shape=Y_TEST.shape))
    sp.save_npz("sets.npz", sp.csr_array(Y_TEST[::-1]))
    np.save("m_indices.npy", LABELS)
    np.save("m_scores.npy", SCORES)
    np.save("q.npy", np.arange(1.0, 6.0))
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line that succeeds, and return its output."""

    def runs(line: str) -> str:
        code = main(shlex.split(line))
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return runs


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line that is refused, and return the line that says so."""

    def refuses(line: str) -> str:
        code = main(shlex.split(line))
        out, err = capsys.readouterr()
        assert (code, out, err[:9], err.find("\n")) == (2, "", "xmleval: ", len(err) - 1)
        return err[9:-1]

    return refuses


def json_of(line: str) -> Any:
    """Run a command line that succeeds, and return its results."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*shlex.split(line), "--format", "json"]) == 0
    return json.loads(out.getvalue())


def process(*words: str, python: str = "-m", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python on a module or, with ``-c``, on a script."""
    env = {**os.environ, "PYTHONPATH": PATHS, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, python, *words],
        text=True,
        encoding="utf-8",
        env=env,
        timeout=300,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
