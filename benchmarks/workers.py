"""Two processes beside two threads, and the bytes that parts take: python -m benchmarks.workers --help.

Runs of the package's own workloads are interleaved; CPU seconds are those of all processes together.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.checkout import ROOT
from benchmarks.cost_model import power
from benchmarks.interval_tables import table
from benchmarks.machine import processor
from benchmarks.part_bytes import (
    DEPTH,
    LABELS,
    MEMORY,
    TASKS,
    Record,
    all_bytes,
    bytes_table,
    of_labels_bytes,
)
from benchmarks.workloads import generate
from xmleval import Evaluator
from xmleval.budget import Budget
from xmleval.cluster import counting, cutting
from xmleval.cluster.cutting import cut
from xmleval.cluster.job import make_job
from xmleval.cluster.run import Leaf, leaves_of, run
from xmleval.input.shards import find_inputs
from xmleval.threads import available_processors

MEASURES = ("p@5", "f1.macro@5", "auc.micro", "auc.macro")
made = 0  # runs, whose keys differ: Dask keeps results


@contextmanager
def files_of(name: str) -> Iterator[Mapping[str, Any]]:
    """Write a workload's truth and its 100 best scores a row."""
    workload = generate(name, 100)
    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(Path(folder) / "Y.npz", sp.csr_array(workload.truth.astype(np.uint8)), compressed=False)
        np.save(Path(folder) / "m_indices.npy", workload.labels)
        np.save(Path(folder) / "m_scores.npy", workload.scores)
        del workload
        found = (("y_true", "Y.npz"), ("y_score", "m_indices.npy"))
        yield {argument: find_inputs(argument, [Path(folder) / name]) for argument, name in found}


def by_threads(inputs: Mapping[str, Any], measure: str, threads: int) -> str:
    """Return the report of one process, that reads the files as a task does."""
    n_labels = inputs["y_true"].pieces().n_labels
    evaluator = Evaluator(measure, n_labels=n_labels, memory=MEMORY, threads=threads)
    task, *others = cut(make_job(evaluator, MEMORY, threads), inputs)
    whole = cutting.Task(**{**vars(task), "stop": others[-1].stop if others else task.stop})
    counting._count_files(evaluator, whole, Budget(MEMORY))
    return str(evaluator.compute().to_json())


def by_processes(engine: Any, inputs: Mapping[str, Any], measure: str) -> str:
    """Return the report of processes."""
    global made
    made += 1
    n_labels = inputs["y_true"].pieces().n_labels
    job = make_job(Evaluator(measure, n_labels=n_labels), MEMORY, 1)
    leaves = [leaf._replace(key=f"{leaf.key}-{made}") for leaf in leaves_of(cut(job, inputs))]
    return str(run(engine, job, leaves).compute().to_json())


def timed(call: Callable[[], Any], engine: Any) -> tuple[float, float, Any]:
    """Return wall and CPU seconds of a call, and what it returns."""

    def cpu() -> float:
        return float(time.process_time() + sum(engine.client.run(time.process_time).values()))

    start, before = time.perf_counter(), cpu()
    found = call()
    return time.perf_counter() - start, cpu() - before, found


def side_by_side(names: Sequence[str], rounds: int, workers: int) -> list[Record]:
    """Return the medians of interleaved runs of ``workers`` processes and as many threads."""
    from xmleval.integrations.dask import connected  # the tables need no Dask

    records = []
    with connected(None, workers) as engine:
        for name in names:
            with files_of(name) as inputs:
                tasks = cut(make_job(Evaluator("p@1", n_labels=9), 1, 1), inputs)
                sizes = {"scores": tasks[-1].stop * DEPTH, "labels": inputs["y_true"].pieces().n_labels}
                for measure in MEASURES:
                    calls = {
                        "threads": lambda inputs=inputs, m=measure: by_threads(inputs, m, workers),
                        "processes": lambda inputs=inputs, m=measure: by_processes(engine, inputs, m),
                    }
                    assert calls["threads"]() == calls["processes"]() == calls["processes"]()
                    runs = [
                        {kind: timed(call, engine) for kind, call in calls.items()} for _ in range(rounds)
                    ]
                    found = {
                        f"{kind} {what}": statistics.median(own[kind][place] for own in runs)
                        for kind in calls
                        for place, what in enumerate(("wall", "cpu"))
                    }
                    ratios = {
                        f"ratio {what}": statistics.median(
                            own["processes"][place] / own["threads"][place] for own in runs
                        )
                        for place, what in enumerate(("wall", "cpu"))
                    }
                    where = {"workload": name, "measure": measure, "workers": workers, "tasks": len(tasks)}
                    records.append({**where, **sizes, **found, **ratios})
                    print(records[-1], flush=True)
    return records


def of_tasks(rounds: int) -> Record:
    """Return the seconds of a small task and its share of merges, and of a byte sent to the client."""
    from xmleval.integrations.dask import connected

    with connected(None, 1) as engine:
        job = make_job(Evaluator("p@1", n_labels=5), MEMORY, 1)
        truth, scores = np.eye(5, dtype=int), np.eye(5)

        def tasks(n: int) -> None:
            global made
            made += 1
            block = {"y_true": truth, "y_score": scores}
            run(engine, job, [
                Leaf(counting.count_block, (5 * place, block), f"t{made}-{place}", 5) for place in range(n)
            ])  # fmt: skip

        def sent(n_bytes: int) -> None:
            global made
            made += 1
            future = engine.submit(np.ones, n_bytes, np.uint8, key=f"sent-{made}")
            next(engine.completed([future]))

        found: dict[str, list[float]] = {"wall": [], "cpu": [], "byte": []}
        tasks(80)
        for _ in range(rounds):
            few, many = timed(lambda: tasks(8), engine), timed(lambda: tasks(80), engine)
            found["wall"].append((many[0] - few[0]) / 72)
            found["cpu"].append((many[1] - few[1]) / 72)
            little, much = timed(lambda: sent(8), engine), timed(lambda: sent(1 << 28), engine)
            found["byte"].append((much[1] - little[1]) / (1 << 28))
        return {name: statistics.median(values) for name, values in found.items()}


def tables_of(found: Mapping[str, Any]) -> str:
    """Return all tables."""
    runs, small = found["runs"], found["tasks"]
    rows = [
        [
            r["workload"], r["measure"], power(r["scores"]), f"{r['tasks']}", f"{r['workers']}",
            *(f"{r[f'{kind} {what}']:.2f}" for what in ("wall", "cpu") for kind in ("threads", "processes")),
            f"{r['ratio wall']:.2f}", f"{r['ratio cpu']:.2f}",
            *(f"{r[f'{which}model {what}']:.2f}" for what in ("wall", "cpu") for which in ("", "ratio ")),
        ]
        for r in with_predictions(runs, small)
    ]  # fmt: skip
    head = [
        "workload", "measure", "scores", "tasks", "workers", "threads, s", "processes, s", "threads, CPU s",
        "processes, CPU s", "ratio, wall", "ratio, CPU", "model, s", "model / measured", "model, CPU s",
        "model / measured",
    ]  # fmt: skip
    told = (
        f"A small task takes {small['wall'] * 1e3:.1f} ms ({small['cpu'] * 1e3:.1f} ms of CPU), with its "
        f"share of merges; a byte on its way to the client {small['byte'] * 1e9:.2f} ns of CPU."
    )
    title = f"**Processes beside as many threads** ({found['processor']}, {found['cores']} cores, shared)"
    moved = f"**Bytes of the parts of {TASKS} tasks, {LABELS:,} labels**"
    return f"{title}\n\n{table(head, rows)}\n\n{told}\n\n{moved}\n\n{bytes_table(found['bytes'])}"


def with_predictions(runs: Sequence[Record], small: Mapping[str, float]) -> Iterator[Record]:
    """Yield runs with the seconds that those of threads, the bytes and the tasks let expect.

    Each process does its share of the tasks, one after another; the client reads all that is sent.
    """
    for record in runs:
        n_bytes = bytes_of_run(record["measure"], record["scores"], record["labels"], record["tasks"])
        found = {
            f"model {what}": record[f"threads {what}"] + n * small[what] + n_bytes * small["byte"]
            for what, n in (("wall", record["tasks"] / record["workers"]), ("cpu", record["tasks"]))
        }
        measured = {name: record[name.replace("model", "processes")] for name in found}
        ratios = {f"ratio {name}": seconds / measured[name] for name, seconds in found.items()}
        yield {**record, **found, **ratios}


def bytes_of_run(measure: str, n_scores: int, n_labels: int, tasks: int) -> float:
    """Return the bytes of the parts of a run, by the formulas of the README."""
    if measure == "auc.macro":
        return tasks * of_labels_bytes(n_scores / tasks, n_labels)
    of_scores = {"auc.micro": 2.0}.get(measure, 0.0) * n_scores
    return of_scores + tasks * n_labels * {"f1.macro@5": 3}.get(measure, 0)


def main() -> None:
    """Measure, and store the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["runs", "tasks", "bytes"], help="default all")
    parser.add_argument("--workloads", default="W3,W2,W4", help="default W3,W2,W4")
    parser.add_argument("--workers", default="2,1", help="numbers of processes, default 2,1")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved runs, default 5")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "workers.json")
    args = parser.parse_args()
    found = json.loads(args.output.read_text()) if args.output.exists() else {}
    if {"runs", "tasks"} & {*args.parts}:
        found |= {"processor": processor(), "cores": available_processors()}
    if "bytes" in args.parts:
        found["bytes"] = all_bytes()
    if "tasks" in args.parts:
        found["tasks"] = of_tasks(args.rounds)
    if "runs" in args.parts:
        names = args.workloads.split(",")
        several = map(int, args.workers.split(","))
        found["runs"] = [one for n in several for one in side_by_side(names, args.rounds, n)]
    args.output.write_text(json.dumps(found, indent=1) + "\n")
    if {"runs", "tasks", "bytes"} <= {*found}:
        print(tables_of(found))


if __name__ == "__main__":
    main()
