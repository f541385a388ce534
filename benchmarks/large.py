"""Evaluate more scores than fit in memory, drawn shard by shard: python -m benchmarks.large --help.

Shards go through `xmleval.Evaluator.update`, as matrices and as lists in turn. Prints and stores the values, the
wall and CPU seconds of drawing and of counting, by state, and the memory of the process and of each state.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.checkout import ROOT
from benchmarks.machine import processor
from benchmarks.shards import Shards
from xmleval import Evaluator, inverse_propensity
from xmleval.pooled.values import Values
from xmleval.states.state import State, state_class
from xmleval.threads import available_processors

METRICS = [
    *(f"{name}@{k}" for name in ("p", "ndcg", "r", "psp", "psndcg") for k in (1, 3, 5)),
    "f1.micro@5", "f1.macro@5", "auc.micro", "ap.micro", "peak_f1.micro",
]  # fmt: skip
STATES = ("rank_profile", "label_totals", "score_runs")
NOTES = 10  # of a run
FEW = 40_000, 200_000, 100, 10_000  # rows, labels, depth and rows of a shard that use all kernels
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Clock:
    """Wall and CPU seconds by what is done."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the seconds of a block."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
            self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu


@contextmanager
def timing_states(seconds: dict[str, float]) -> Iterator[None]:
    """Add up the CPU seconds of the states' updates on any thread, of their merges and of their values."""
    before: list[tuple[type[State], str, Callable[..., Any]]] = []

    def timed(function: Callable[..., Any], name: str, clock: Callable[[], float]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            start = clock()
            try:
                return function(*args)
            finally:
                seconds[name] = seconds.get(name, 0.0) + clock() - start

        return call

    try:
        for state in STATES:
            kind = state_class(state)
            clocks = {"update": time.thread_time, "merge": time.process_time, "finish": time.process_time}
            for method, clock in clocks.items():
                own = getattr(kind, method)
                before.append((kind, method, own))
                setattr(kind, method, timed(own, f"{state}.{method}", clock))
        yield
    finally:
        for kind, method, own in before:
            setattr(kind, method, own)


def memory_of(field: str) -> int:
    """Return the resident bytes of this process, VmRSS now or VmHWM at most."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def take_peak() -> int:
    """Return the most resident bytes since the last call."""
    peak = memory_of("VmHWM")
    CLEAR.write_text("5")
    return peak


def bytes_of(value: Any, known: set[int] | None = None) -> int:
    """Return the size of all arrays that an object holds, each once."""
    known = set() if known is None else known
    if id(value) in known:
        return 0
    known.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes if value.base is None else bytes_of(value.base, known)
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.values()]
    elif isinstance(value, list | tuple):
        parts = [*value]
    elif type(value).__module__.startswith(("xmleval.states", "xmleval.pooled")):
        parts = [
            part for name, part in vars(value).items() if name not in ("plan", "specs", "work", "propensity")
        ]
    return sum(bytes_of(part, known) for part in parts)


def state_bytes(evaluator: Evaluator) -> dict[str, int]:
    """Return the size of each state."""
    states = evaluator._counted.states
    return {} if states is None else {name: bytes_of(states._states[name]) for name in STATES}


def pack_values(evaluator: Evaluator) -> tuple[int, float]:
    """Return the bytes of the scores counted by value, and the bytes a CPU second at which two such merge."""
    states = evaluator._counted.states
    assert states is not None
    state: Any = states._states["score_runs"]
    state.spill()
    several = [values.packed for values in state.store.values.values()]
    n_bytes = sum(part.nbytes for parts in several for part in parts)
    start = time.process_time()
    for parts in several:
        Values([*parts, *parts]).pack(state.work)
    return n_bytes, 2 * n_bytes / (time.process_time() - start)


def run(
    n_rows: int, n_labels: int, depth: int, shard_rows: int, memory: str, threads: int, form: str = "both"
) -> dict[str, Any]:
    """Evaluate rows, and return what it takes."""
    clock, by_state, peaks, notes = Clock(), {}, {"start": take_peak()}, []  # type: ignore[var-annotated]
    shards = Shards.of(n_labels, depth, min(shard_rows, n_rows))
    with clock.timing("propensities"):
        counts = shards.label_counts(n_rows)
        q = inverse_propensity(label_counts=counts, n_instances=max(n_rows, 3), n_labels=n_labels)
        del counts
    peaks["propensities"] = take_peak()
    with clock.timing("evaluator"):
        evaluator = Evaluator(
            METRICS, n_labels=n_labels, inverse_propensity=q, memory=memory, threads=threads
        )
        del q  # it has a copy
    peaks["evaluator"] = take_peak()
    base = memory_of("VmRSS")
    firsts, n_relevant = range(0, n_rows, shard_rows), 0
    noted = {len(firsts) * (i + 1) // NOTES - 1 for i in range(NOTES)}
    with timing_states(by_state):
        for number, first in enumerate(firsts):
            as_lists = form == "lists" or (form == "both" and number % 2 == 1)
            with clock.timing("drawing"):
                shard = shards.draw(first, min(shard_rows, n_rows - first), as_lists)
            n_relevant += shard[0].nnz
            with clock.timing("counting lists" if as_lists else "counting matrices"):
                evaluator.update(*shard)
            if number in noted:
                note = {
                    "rows": evaluator.n_rows,
                    **{kind: sum(s for n, s in getattr(clock, kind).items() if n.startswith("counting")) for kind in ("wall", "cpu")},
                    "resident": memory_of("VmRSS"), "peak": take_peak(), "states": state_bytes(evaluator),
                }  # fmt: skip
                notes.append(note)
                gigabytes = {
                    name: f"{n / 1e9:.2f}"
                    for name, n in {**note, **note["states"]}.items()
                    if n and name in ("resident", "peak", *STATES)
                }
                print(
                    f"{note['rows']:,} rows, {note['wall']:.0f} s, CPU {note['cpu']:.0f} s; GB: {gigabytes}",
                    flush=True,
                )
        with clock.timing("values"):
            report = evaluator.compute()
    peaks |= {"updates": max(note["peak"] for note in notes), "values": take_peak()}
    value_bytes, value_rate = pack_values(evaluator)
    return {
        "rows": n_rows, "relevant": n_relevant, "value_bytes": value_bytes, "value_rate": value_rate,
        "labels": n_labels, "depth": depth, "shard_rows": shard_rows, "memory": memory,
        "threads": threads, "form": form, "wall": clock.wall, "cpu": clock.cpu,
        "cpu_by_state": by_state, "before_rows": base, "buffers": shards.n_bytes, "peaks": peaks,
        "notes": notes, "processor": processor(), "cores": available_processors(), "values": dict(report),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Evaluate rows, and add the record to a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=1e7, help="default 1e7")
    parser.add_argument("--labels", type=float, default=1e8, help="default 1e8")
    parser.add_argument("--depth", type=int, default=100, help="scores a row, default 100")
    parser.add_argument("--shard-rows", type=float, default=5e5, help="rows of an update, default 5e5")
    parser.add_argument("--memory", default="2GiB", help="of the evaluator, default 2GiB")
    parser.add_argument("--threads", type=int, default=1, help="default 1, for which CPU seconds are exact")
    parser.add_argument("--form", choices=["both", "matrices", "lists"], default="both")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "large.json")
    args = parser.parse_args(arguments)
    sizes = [int(getattr(args, name)) for name in ("rows", "labels", "depth", "shard_rows")]
    few = [min(own, size) for own, size in zip(FEW, sizes, strict=True)]
    for _ in range(2):  # compiles the kernels, and then none
        before = dict(run(*few, args.memory, args.threads, args.form)["cpu"])
    print(f"warm: {before}\n")
    found = run(*sizes, args.memory, args.threads, args.form)
    records = json.loads(args.output.read_text()) if args.output.exists() else []
    same = ("rows", "labels", "depth", "form", "threads")
    records = [record for record in records if any(record[name] != found[name] for name in same)]
    args.output.write_text(json.dumps([*records, found], indent=1) + "\n")
    print(
        json.dumps(
            {name: found[name] for name in ("wall", "cpu", "cpu_by_state", "peaks", "values")}, indent=1
        )
    )


if __name__ == "__main__":
    main()
