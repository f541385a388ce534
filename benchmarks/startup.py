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
ROOT = Path(__file__).resolve().parents[1]
COLD_RUNS = 3  # with all kernels compiled anew


class Case(NamedTuple):
    """Arguments of Python: a script that prints its time, or a command; cold without compiled kernels."""

    words: list[str]
    cold: bool = False


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    found = {
        "import xmleval": Case(["-c", IMPORT]),
        "from xmleval import evaluate": Case(["-c", IMPORT_EVALUATE]),
        "first evaluate, kernels compiled before": Case(["-c", FIRST_CALL]),
        "first evaluate of the group xmc, nothing compiled": Case(["-c", FIRST_CALL], cold=True),
        "xmleval --help": Case(["-m", "xmleval", "--help"]),
        "xmleval metrics": Case(["-m", "xmleval", "metrics"]),
    }
    if "XMLEVAL_DATA" in os.environ:
        folder = Path(os.environ["XMLEVAL_DATA"]) / "bibtex"
        files = [str(folder / name) for name in ("Y_test.npz", "scores_pecos.npz", "Y_train.npz")]
        words = ["-m", "xmleval", "evaluate", *files[:2], "--train", files[2]]
        found["xmleval evaluate on bibtex, kernels compiled before"] = Case(words)
        found["xmleval evaluate on bibtex, nothing compiled"] = Case(words, cold=True)
    return found


def measure_startup(runs: int) -> dict[str, Any]:
    """Return the median seconds of each case by its name."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as warm:
        for name, case in cases().items():
            if not case.cold:
                measure(case, warm)  # which compiles
            n_runs = COLD_RUNS if case.cold else runs
            found[name] = statistics.median(measure(case, warm) for _ in range(n_runs))
    return {"seconds": found}


def measure(case: Case, warm: str, root: Path = ROOT) -> float:
    """Return the seconds of a case, with the package of a folder and compiled kernels in another."""
    if case.cold:
        with tempfile.TemporaryDirectory() as empty:
            return measure(case._replace(cold=False), empty, root)
    environment = os.environ | {"NUMBA_CACHE_DIR": warm, "PYTHONPATH": str(root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *case.words], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout) if case.words[0] == "-c" else time.perf_counter() - start
