"""Time and memory of pages beside the plain evaluation: python -m benchmarks.pages FOLDER [W2 W4].

Writes two models with top-100 lists of each workload to the folder, if they are not there, and runs each
command of `COMMANDS` on them, in turn and several times. Writes ``benchmarks/results/pages.json``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads import SIZES, generate

MEASURES = "p,ndcg,r"
COMMANDS = {
    "evaluate": f"evaluate Y.npz a b --metrics {MEASURES}",
    "evaluate, with intervals": f"evaluate Y.npz a b --metrics {MEASURES} --confidence 0.95",
    "compare": f"compare Y.npz a b --metrics {MEASURES}",
    "report": f"report Y.npz a b --metrics {MEASURES} --output page.html",
}
DEPTH, ROUNDS = 100, 3
RESULTS = Path(__file__).parent / "results" / "pages.json"


def write_models(name: str, folder: Path) -> None:
    """Write the truth and two models: the second has the labels of the first under noisy scores."""
    made = generate(name, DEPTH)
    sp.save_npz(folder / "Y.npz", made.truth, compressed=False)
    noise = np.random.default_rng(1).uniform(0.7, 1.3, made.scores.shape).astype(np.float32)
    for model, scores in (("a", made.scores), ("b", np.minimum(made.scores * noise, np.float32(1)))):
        np.save(folder / f"{model}_indices.npy", made.labels)
        np.save(folder / f"{model}_scores.npy", scores)


def measured(words: Sequence[str], folder: Path) -> dict[str, float]:
    """Run a command, and return its seconds, those of the processor, and its peak of memory in MiB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "xmleval", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # prevents a second wait
    assert process.returncode == 0
    used = usage.ru_utime + usage.ru_stime
    return {"seconds": time.perf_counter() - start, "cpu": used, "mib": usage.ru_maxrss / 1024}


def table_of(found: dict[str, Any]) -> str:
    """Return the results as a table."""
    lines = [
        "| two models of | command | seconds | CPU seconds | peak, MiB | page, MB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, rows in found.items():
        for title, one in rows.items():
            numbers = f"{one['seconds']:.1f} | {one['cpu']:.1f} | {one['mib']:.0f}"
            size = f"{one['page'] / 1e6:.2f}" if "page" in one else ""
            lines.append(f"| {name} | `{title}` | {numbers} | {size} |")
    return "\n".join(lines)


def main() -> None:
    """Write models that are missing, then measure."""
    root, names = Path(sys.argv[1]), sys.argv[2:] or ["W2", "W4"]
    missing = [name for name in names if not (root / name / "b_scores.npy").exists()]
    for name in missing:
        assert name in SIZES
        (root / name).mkdir(parents=True, exist_ok=True)
        write_models(name, root / name)
    if missing:  # start anew, as the memory of a process counts as that of its children until they run
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.pages", *sys.argv[1:]])
    found: dict[str, Any] = {}
    for name in names:
        folder = root / name
        runs: dict[str, list[dict[str, float]]] = {title: [] for title in COMMANDS}
        for _ in range(ROUNDS):
            for title, line in COMMANDS.items():
                runs[title].append(measured(line.split(), folder))
        found[name] = {
            title: {kind: median(one[kind] for one in own) for kind in own[0]} for title, own in runs.items()
        }
        found[name]["report"]["page"] = (folder / "page.html").stat().st_size
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(table_of(found))


if __name__ == "__main__":
    main()
