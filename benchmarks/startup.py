"""Start-up times: import, first call and whole commands, with and without compiled kernels."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

TIMED = """
import time
start = time.perf_counter()
{}
print(time.perf_counter() - start)
"""
IMPORT, IMPORT_EVALUATE = TIMED.format("import xmleval"), TIMED.format("from xmleval import evaluate")
FIRST_CALL = """
import numpy as np
from xmleval import evaluate
truth, scores = np.eye(9, dtype=np.float32), np.random.default_rng(0).random((9, 9), np.float32)
""" + TIMED.format("evaluate(truth, scores, inverse_propensity=np.ones(9))")
COLD_RUNS = 3  # with all kernels compiled anew


def measure_startup(runs: int) -> dict[str, Any]:
    """Return median seconds by name."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as warm:
        for name, script in (
            ("import xmleval", IMPORT),
            ("from xmleval import evaluate", IMPORT_EVALUATE),
            ("first evaluate, kernels compiled before", FIRST_CALL),
        ):
            found[name] = median(partial(printed, script, warm), runs)
        found["first evaluate of the group xmc, nothing compiled"] = statistics.median(
            cold(FIRST_CALL) for _ in range(COLD_RUNS)
        )
        for words in (["--help"], ["metrics"]):
            found[" ".join(["xmleval", *words])] = median(partial(command, words, warm), runs)
        if "XMLEVAL_DATA" in os.environ:
            words = on_bibtex(Path(os.environ["XMLEVAL_DATA"]))
            found["xmleval evaluate on bibtex, kernels compiled before"] = median(
                partial(command, words, warm), runs
            )
            found["xmleval evaluate on bibtex, nothing compiled"] = statistics.median(
                cold_command(words) for _ in range(COLD_RUNS)
            )
    return {"seconds": found}


def median(measure: Callable[[], float], runs: int) -> float:
    """Return the median of several runs after a warm-up."""
    measure()
    return statistics.median(measure() for _ in range(runs))


def on_bibtex(data: Path) -> list[str]:
    """Return the command that computes the default measures of CSR scores."""
    folder = data / "bibtex"
    files = [str(folder / name) for name in ("Y_test.npz", "scores_pecos.npz", "Y_train.npz")]
    return ["evaluate", *files[:2], "--train", files[2]]


def printed(script: str, cache: str) -> float:
    """Return the seconds that a script prints in a new process."""
    return float(process(["-c", script], cache))


def command(words: list[str], cache: str) -> float:
    """Return the seconds that a command takes."""
    start = time.perf_counter()
    process(["-m", "xmleval", *words], cache)
    return time.perf_counter() - start


def cold(script: str) -> float:
    """Return the seconds that a script prints without compiled kernels."""
    with tempfile.TemporaryDirectory() as empty:
        return printed(script, empty)


def cold_command(words: list[str]) -> float:
    """Return the seconds that a command takes without compiled kernels."""
    with tempfile.TemporaryDirectory() as empty:
        return command(words, empty)


def process(words: list[str], cache: str) -> str:
    """Run Python with a cache folder for compiled kernels, and return its output."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
