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
from benchmarks.shards import Shards
from benchmarks.workloads import generate
from xmleval import Evaluator, evaluate
from xmleval.budget import Budget
from xmleval.cluster import counting, cutting
from xmleval.cluster.cutting import cut
from xmleval.cluster.job import Job, make_job, opened
from xmleval.cluster.run import Leaf, SerialEngine, leaves_of, run
from xmleval.input.shards import find_inputs
from xmleval.pooled.columns import GROUPED_FROM
from xmleval.pooled.values import CHUNK, MANY
from xmleval.threads import available_processors

MEMORY = 1 << 30
MEASURES = ("p@5", "f1.macro@5", "auc.micro", "auc.macro")
SIZES = (10**5, 10**6, 10**7, 10**8)  # scores of all tasks
TASKS, DEPTH, LABELS = 8, 100, 10**6
STEP = 20_000  # rows of a batch
BLOCK = 640_000  # scores of a block of such a batch, or more
Record = dict[str, Any]
made = 0  # runs, whose keys differ: Dask keeps results


class Recording(SerialEngine):
    """Runs every function at once, and adds up the bytes of the parts, by state."""

    def __init__(self) -> None:
        self.moved: dict[str, int] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str) -> Any:
        """Return what the function returns."""
        found = super().submit(function, *arguments, key=key)
        if isinstance(found, dict) and "arrays" in found:
            for state, n_bytes in found["n_bytes"].items():
                self.moved[state] = self.moved.get(state, 0) + n_bytes
        return found


def count_drawn(job: Job, first_row: int, n_rows: int, path: str | None = None) -> counting.Part:
    """Return the counts of rows that are drawn."""

    def counted() -> Evaluator:
        evaluator = opened(job)
        shards = Shards.of(LABELS, DEPTH, STEP)
        for start in range(first_row, first_row + n_rows, STEP):
            n = min(STEP, first_row + n_rows - start)
            evaluator.update(*shards.draw(start, n, True), first_row=start)
        return evaluator

    return counting.put(counted, path)


def bytes_moved(n_scores: int, measure: str, tasks: int = TASKS) -> Record:
    """Return the bytes that the parts of some scores take, and those of the formulas."""
    rows = n_scores // DEPTH // tasks
    leaves = [Leaf(count_drawn, (rows * place, rows), f"{place}", rows) for place in range(tasks)]
    job = make_job(Evaluator(measure, n_labels=LABELS), MEMORY, 1)
    engine = Recording()
    run(engine, job, leaves)
    state = {"f1.macro@5": "label_totals"}.get(measure, "score_runs")
    drawn = Shards.of(LABELS, DEPTH, STEP).draw(0, STEP, True)
    share = float(evaluate(*drawn, metrics=f"p@{DEPTH}")[f"p@{DEPTH}"])
    formula = expected_bytes(measure, rows * DEPTH, share) * tasks
    return {"scores": n_scores, "measure": measure, "moved": engine.moved[state], "formula": formula}


def expected_bytes(measure: str, n_scores: int, share: float) -> float:
    """Return the bytes of a part by the formulas of the README; ``share``: of scores that are relevant."""
    if measure == "f1.macro@5":
        return 3.0 * LABELS
    if measure == "auc.macro":
        return of_labels_bytes(n_scores, LABELS)
    parts = share, 1 - share
    return sum((value_bytes(own * n_scores, own * min(n_scores, BLOCK)) for own in parts), 0.0)


def of_labels_bytes(n_scores: float, n_labels: int) -> float:
    """Return the bytes of scores of every label in a part: with its number, or grouped by it."""
    if n_scores < GROUPED_FROM * n_labels:
        return 8.0 * n_scores + n_labels
    return 4.0 * n_scores + 3 * n_labels


def value_bytes(n_scores: float, of_block: float) -> float:
    """Return the bytes of scores of one kind: ordered ones take two, the last ones four."""
    few = 0.0 if of_block >= MANY else n_scores % CHUNK
    return 2 * (n_scores - few) + 4 * few


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
            f"{r['predicted']:.2f}", f"{r['predicted'] / r['processes cpu']:.2f}",
        ]
        for r in with_predictions(runs, small)
    ]  # fmt: skip
    head = [
        "workload", "measure", "scores", "tasks", "workers", "threads, s", "processes, s", "threads, CPU s",
        "processes, CPU s", "ratio, wall", "ratio, CPU", "model, CPU s", "model / measured",
    ]  # fmt: skip
    sizes = [
        [
            power(r["scores"]), r["measure"], f"{r['moved'] / 1e6:,.1f}", f"{r['formula'] / 1e6:,.1f}",
            f"{r['formula'] / r['moved']:.3f}", f"{r['moved'] / r['scores']:.2f}",
        ]
        for r in found["bytes"]
    ]  # fmt: skip
    told = (
        f"A small task takes {small['wall'] * 1e3:.1f} ms ({small['cpu'] * 1e3:.1f} ms of CPU), with its "
        f"share of merges; a byte on its way to the client {small['byte'] * 1e9:.2f} ns of CPU."
    )
    title = f"**Processes beside as many threads** ({found['processor']}, {found['cores']} cores, shared)"
    moved = f"**Bytes of the parts of {TASKS} tasks, {LABELS:,} labels**"
    of_bytes = table(["scores", "measure", "MB", "formula, MB", "ratio", "bytes a score"], sizes)
    return f"{title}\n\n{table(head, rows)}\n\n{told}\n\n{moved}\n\n{of_bytes}"


def with_predictions(runs: Sequence[Record], small: Mapping[str, float]) -> Iterator[Record]:
    """Yield runs with the CPU seconds that one thread's, the bytes and the tasks let expect."""
    for record in runs:
        n_bytes = bytes_of_run(record["measure"], record["scores"], record["labels"], record["tasks"])
        own = record["tasks"] * small["cpu"] + n_bytes * small["byte"]
        yield {**record, "predicted": record["threads cpu"] + own}


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
    found |= {"processor": processor(), "cores": available_processors()}
    if "bytes" in args.parts:
        measures = ("f1.macro@5", "auc.micro", "auc.macro")
        found["bytes"] = [bytes_moved(size, measure) for measure in measures for size in SIZES]
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
