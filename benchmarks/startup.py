"""Start-up times: import, first call and whole commands, with and without compiled kernels."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.worker import ROOT

TIMED = """
import time
start = time.perf_counter()
{}
print(time.perf_counter() - start)
"""
FIRST_CALL = """
import numpy as np
from xmleval import evaluate
truth, scores = np.eye(9, dtype=np.float32), np.random.default_rng(0).random((9, 9), np.float32)
""" + TIMED.format("evaluate(truth, scores, inverse_propensity=np.ones(9))")
SMALL_CALL = """
import numpy as np
from xmleval import evaluate
rng = np.random.default_rng(0)
truth, scores = (rng.random((600, 30)) < 0.1).astype(np.float32), rng.random((600, 30), np.float32)
""" + TIMED.format("evaluate(truth, scores, metrics='p@5')")
COLD_RUNS = 3  # with all kernels compiled anew


class Case(NamedTuple):
    """Arguments of Python, and whether it starts without compiled kernels."""

    words: list[str]  # a script that prints its seconds, or a command
    cold: bool = False


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    named = {
        "import xmleval": Case(["-c", TIMED.format("import xmleval")]),
        "from xmleval import evaluate": Case(["-c", TIMED.format("from xmleval import evaluate")]),
        "first evaluate, kernels compiled before": Case(["-c", FIRST_CALL]),
        "first evaluate of the group xmc, nothing compiled": Case(["-c", FIRST_CALL], cold=True),
        "first evaluate of P@5, 600 x 30, kernels compiled before": Case(["-c", SMALL_CALL]),
        "first evaluate of P@5, 600 x 30, nothing compiled": Case(["-c", SMALL_CALL], cold=True),
        "xmleval demo, kernels compiled before": Case(["-m", "xmleval", "demo"]),
        "xmleval demo, nothing compiled": Case(["-m", "xmleval", "demo"], cold=True),
        "xmleval --help": Case(["-m", "xmleval", "--help"]),
        "xmleval metrics": Case(["-m", "xmleval", "metrics"]),
    }
    if "XMLEVAL_DATA" in os.environ:
        folder = Path(os.environ["XMLEVAL_DATA"]) / "bibtex"
        lists = {"lists of 10": "topk_pecos_indices.npy", "scores": "scores_pecos.npz"}
        for title, scores in lists.items():
            files = [str(folder / name) for name in ("Y_test.npz", scores, "Y_train.npz")]
            words = ["-m", "xmleval", "evaluate", *files[:2], "--train", files[2]]
            named[f"xmleval evaluate on bibtex, {title}, kernels compiled before"] = Case(words)
            named[f"xmleval evaluate on bibtex, {title}, nothing compiled"] = Case(words, cold=True)
    return named


def measure_startup(rounds: int) -> dict[str, Any]:
    """Return the median seconds by name of the case."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as warm:
        for name, case in cases().items():
            if not case.cold:
                measure(case, warm)  # compiles
            runs = COLD_RUNS if case.cold else rounds
            seconds[name] = statistics.median(measure(case, warm) for _ in range(runs))
    return {"seconds": seconds}


def measure(case: Case, warm: str, checkout: Path = ROOT) -> float:
    """Return the seconds of a case with the package of a checkout.

    Compiled kernels are in the folder ``warm``, unless the case is cold.
    """
    if case.cold:
        with tempfile.TemporaryDirectory() as empty:
            return measure(case._replace(cold=False), empty, checkout)
    environment = os.environ | {"NUMBA_CACHE_DIR": warm, "PYTHONPATH": str(checkout)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
    command = [sys.executable, *case.words]
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    if case.words[0] == "-c":
        return float(done.stdout)
    return seconds
