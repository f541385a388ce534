"""Evaluation of files with row and label names, compared with libraries that only read them."""

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

# 10 million scores
SIZE = Size(100_000, 600_000, 5.0, 0.01, 400_000)
DEPTH = 100
TITLES = {
    "run": "TREC run",
    "csv": "CSV, a line for each label",
    "jsonl": "JSON Lines, a line for each row",
}
READING = "evaluated by xmleval"
Reader = Callable[[Path], Any]


class Named(NamedTuple):
    """A file of judgements, and files of the same scores by their format."""

    truth: Path
    scores: dict[str, Path]


def write_named(workload: Workload, folder: Path) -> Named:
    """Write a workload with names for rows and labels."""
    truth = folder / "truth.qrels"
    rows = np.repeat(np.arange(workload.truth.shape[0]), np.diff(workload.truth.indptr)).tolist()
    judged = zip(rows, workload.truth.indices.tolist(), strict=True)
    truth.write_text("".join(f"query{row} 0 document{label} 1\n" for row, label in judged))
    files = {form: folder / f"scores.{form}" for form in TITLES}
    with (
        files["run"].open("w") as run,
        files["csv"].open("w") as csv,
        files["jsonl"].open("w") as jsonl,
    ):
        csv.write("query_id,doc_id,score\n")
        for row, (labels, scores) in enumerate(zip(workload.labels, workload.scores, strict=True)):
            names = [f"document{label}" for label in labels]
            values = scores.astype(float).tolist()
            for rank, (label, value) in enumerate(zip(names, values, strict=True), 1):
                run.write(f"query{row} Q0 {label} {rank} {value!r} t\n")
                csv.write(f"query{row},{label},{value!r}\n")
            record = {"query_id": f"query{row}", "labels": names, "scores": values}
            jsonl.write(json.dumps(record) + "\n")
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
    """Return the readers to compare with by format: a plain loop, and installed libraries."""
    by_format: dict[str, dict[str, Reader]] = {
        "run": {"a plain loop": read_run},
        "csv": {"a plain loop": read_csv},
        "jsonl": {"a plain loop": read_json_lines},
    }
    columns = list("abcdef")
    with suppress(ModuleNotFoundError):
        import pandas as pd

        by_format["run"]["pandas"] = partial(pd.read_csv, sep=" ", header=None, names=columns)
        by_format["csv"]["pandas"] = pd.read_csv
    with suppress(ModuleNotFoundError):
        from pyarrow import csv

        with_names = csv.ReadOptions(column_names=columns)
        blanks = csv.ParseOptions(delimiter=" ")
        by_format["run"]["pyarrow"] = partial(
            csv.read_csv, read_options=with_names, parse_options=blanks
        )
        by_format["csv"]["pyarrow"] = csv.read_csv
    return by_format


def measure_files(rounds: int, scale: float) -> dict[str, Any]:
    """Return the median seconds of evaluating each file, and of only reading it."""
    import xmleval

    compile_kernels()
    workload = generate_size("named", SIZE.scaled(scale), DEPTH)
    lists = (workload.labels, workload.scores)
    expected = xmleval.evaluate(workload.truth, lists, metrics="p@5")["p@5"]
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
            runs = interleaved(timed, (rounds, rounds))
            medians = {name: statistics.median(seconds) for name, seconds in runs.items()}
            n_bytes = path.stat().st_size
            records.append({"title": TITLES[form], "n_bytes": n_bytes, "seconds": medians})
    return {"n_scores": workload.scores.size, "files": records}


def seconds_of(call: Reader, path: Path) -> float:
    """Return the seconds of a call for a file."""
    start = time.perf_counter()
    call(path)
    return time.perf_counter() - start
