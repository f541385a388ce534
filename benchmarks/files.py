"""Evaluation of files whose rows and labels have names, beside other libraries that only read them."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cases import compile_kernels
from benchmarks.worker import interleaved
from benchmarks.workloads import Size, Workload, generate_size

SIZE, DEPTH = Size(100_000, 600_000, 5.0, 0.01, 400_000), 100  # 10 million scores
TITLES = {"run": "TREC run", "csv": "CSV, a line for each label", "jsonl": "JSON Lines, a line for each row"}
READING = "evaluated by xmleval"
Reader = Callable[[Path], Any]


class Named(NamedTuple):
    """A file of judgements, and files of the same scores by their form."""

    truth: Path
    scores: dict[str, Path]


def write_named(workload: Workload, folder: Path) -> Named:
    """Write a workload with names for rows and labels."""
    truth = folder / "truth.qrels"
    rows = np.repeat(np.arange(workload.truth.shape[0]), np.diff(workload.truth.indptr)).tolist()
    judged = zip(rows, workload.truth.indices.tolist(), strict=True)
    truth.write_text("".join(f"query{row} 0 document{label} 1\n" for row, label in judged))
    files = {form: folder / f"scores.{form}" for form in TITLES}
    with files["run"].open("w") as run, files["csv"].open("w") as csv, files["jsonl"].open("w") as jsonl:
        csv.write("query_id,doc_id,score\n")
        for row, (labels, scores) in enumerate(zip(workload.labels, workload.scores, strict=True)):
            names, values = [f"document{label}" for label in labels], scores.astype(float).tolist()
            pairs = [*zip(names, values, strict=True)]
            lines = [
                f"query{row} Q0 {label} {rank} {value!r} t\n" for rank, (label, value) in enumerate(pairs, 1)
            ]
            run.writelines(lines)
            csv.writelines(f"query{row},{label},{value!r}\n" for label, value in pairs)
            jsonl.write(json.dumps({"query_id": f"query{row}", "labels": names, "scores": values}) + "\n")
    return Named(truth, files)


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Read a run as dicts, line by line."""
    scores: dict[str, dict[str, float]] = {}
    with path.open() as lines:
        for line in lines:
            row, _, label, _, score, _ = line.split()
            scores.setdefault(row, {})[label] = float(score)
    return scores


def read_csv(path: Path) -> dict[str, dict[str, float]]:
    """Read CSV as dicts, line by line."""
    scores: dict[str, dict[str, float]] = {}
    with path.open() as lines:
        next(lines)
        for line in lines:
            row, label, score = line.split(",")
            scores.setdefault(row, {})[label] = float(score)
    return scores


def read_json_lines(path: Path) -> list[Any]:
    """Read JSON line by line."""
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def readers() -> dict[str, dict[str, Reader]]:
    """Return what else reads each form: a plain loop, and libraries that are installed."""
    found: dict[str, dict[str, Reader]] = {
        "run": {"a plain loop": read_run},
        "csv": {"a plain loop": read_csv},
        "jsonl": {"a plain loop": read_json_lines},
    }
    columns = list("abcdef")
    with suppress(ModuleNotFoundError):
        import pandas as pd

        found["run"]["pandas"] = partial(pd.read_csv, sep=" ", header=None, names=columns)
        found["csv"]["pandas"] = pd.read_csv
    with suppress(ModuleNotFoundError):
        from pyarrow import csv

        with_names, blanks = csv.ReadOptions(column_names=columns), csv.ParseOptions(delimiter=" ")
        found["run"]["pyarrow"] = partial(csv.read_csv, read_options=with_names, parse_options=blanks)
        found["csv"]["pyarrow"] = csv.read_csv
    return found


def measure_files(rounds: int, scale: float) -> dict[str, Any]:
    """Return the median seconds of an evaluation of each file, and of others that read it."""
    import xmleval

    compile_kernels()
    workload = generate_size("named", SIZE.scaled(scale), DEPTH)
    expected = xmleval.evaluate(workload.truth, (workload.labels, workload.scores), metrics="p@5")["p@5"]
    records = []
    with tempfile.TemporaryDirectory() as folder:
        named = write_named(workload, Path(folder))
        for form, path in named.scores.items():

            def evaluate(path: Path) -> None:
                report = xmleval.evaluate(named.truth, path, metrics="p@5")
                assert report["p@5"] == expected

            calls = {READING: evaluate} | readers()[form]
            timed = {name: partial(seconds_of, call, path) for name, call in calls.items()}
            interleaved(timed, (1, 1))  # compiles, or loads compiled kernels
            spent = interleaved(timed, (rounds, rounds))
            seconds = {name: statistics.median(each) for name, each in spent.items()}
            records.append({"title": TITLES[form], "n_bytes": path.stat().st_size, "seconds": seconds})
    return {"n_scores": workload.scores.size, "files": records}


def seconds_of(call: Reader, path: Path) -> float:
    """Return the seconds that a call takes for a file."""
    start = time.perf_counter()
    call(path)
    return time.perf_counter() - start
