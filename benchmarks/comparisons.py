"""One table of cases by libraries; tests, benchmarks and the peer comparison all read it.

`COMPARISONS[case][library]` prepares a library for a workload and returns the call to be timed. Turning
arrays into what a library likes best (lists, dictionaries) happens while preparing and costs nobody time. Run
as a script, this file serves one library in a process of its own, in an interpreter that has it installed.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

from workloads import Workload

CUTOFFS = (1, 3, 5)
COMBINED = [f"{name}@{k}" for name in ("p", "ndcg", "r", "psp", "psndcg") for k in CUTOFFS]
INPUTS = {"top5": 5, "csr100": 100}  # form of the predictions: depth of the rankings it needs

Call = Callable[[], dict[str, float]]
Prepare = Callable[[Workload, str], Call]


def combined_xmleval(workload: Workload, form: str, threads: int | None = None) -> Call:
    """Evaluate arrays or CSR in one call."""
    import xmleval  # here, because another library's interpreter does not have it

    truth, propensity = workload.truth, workload.propensity
    predictions = workload.top(5) if form == "top5" else workload.score_matrix()

    def call() -> dict[str, float]:
        report = xmleval.evaluate(
            truth, predictions, metrics=COMBINED, propensity=propensity, threads=threads
        )
        return {name: float(report[name]) for name in COMBINED}

    return call


def combined_napkinxc(workload: Workload, form: str) -> Call:
    """Call five functions at k = 5, each of which returns the values at every cutoff up to 5.

    Of the inputs it documents, lists with a dictionary of propensities are the fastest; predictions that
    are CSR stay CSR, because ranking their rows is then part of the work.
    """
    from napkinxc import metrics  # type: ignore[import-not-found,import-untyped,unused-ignore]

    indptr, indices = workload.truth.indptr.tolist(), workload.truth.indices.tolist()
    truth = [indices[start:stop] for start, stop in pairwise(indptr)]
    predictions = workload.top(5)[0].tolist() if form == "top5" else workload.score_matrix()
    propensity = dict(enumerate(workload.propensity.tolist()))
    functions = {
        "p": metrics.precision_at_k,
        "ndcg": metrics.ndcg_at_k,
        "r": metrics.recall_at_k,
        "psp": partial(metrics.psprecision_at_k, inv_ps=propensity),
        "psndcg": partial(metrics.psndcg_at_k, inv_ps=propensity),
    }

    def call() -> dict[str, float]:
        values = {name: function(truth, predictions, k=5) for name, function in functions.items()}
        return {f"{name}@{k}": float(values[name][k - 1]) for name in functions for k in CUTOFFS}

    return call


COMPARISONS: dict[str, dict[str, Prepare]] = {
    "combined": {
        "xmleval": combined_xmleval,
        "xmleval threads=1": partial(combined_xmleval, threads=1),
        "napkinxc": combined_napkinxc,
    },
}


def module_of(library: str) -> str:
    """Return the module a column of the table needs: its first word."""
    return library.split(maxsplit=1)[0]


def serve(library: str, case: str, form: str, name: str, folder: Path) -> None:
    """Answer every line of standard input with the timings of some calls, as a line of JSON."""
    try:
        # The workload is not kept, so that only what the library was given counts as memory.
        call = COMPARISONS[case][library](Workload.load(name, folder), form)
    except ModuleNotFoundError as error:
        if error.name != module_of(library):
            raise
        print(json.dumps({"absent": str(error)}), flush=True)
        return
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # restarts the peak: preparing does not count
    ready = {"version": _version(module_of(library)), "inputs_mib": _status_mib("VmRSS")}
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        seconds, values = _time(call, budget=float(line))
        peak = _status_mib("VmHWM")
        print(json.dumps({"seconds": seconds, "values": values, "peak_mib": peak}), flush=True)


def _time(call: Call, budget: float) -> tuple[list[float], dict[str, float]]:
    """Call at least once, and again until the budget of seconds or 25 calls are spent."""
    seconds: list[float] = []
    while True:
        start = time.perf_counter()
        values = call()
        seconds.append(time.perf_counter() - start)
        if sum(seconds) >= budget or len(seconds) == 25:
            return seconds, values


def _version(module: str) -> str:
    try:
        return importlib.metadata.version(module)
    except importlib.metadata.PackageNotFoundError:  # a source tree on the path
        return "source"


def _status_mib(field: str) -> float:
    """Read a memory field of this process, NaN where there is no /proc.

    Not getrusage: its peak starts at the size of the process that launched this one.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], Path(sys.argv[5]))
