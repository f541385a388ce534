"""Evaluate more scores than fit in memory, drawn shard by shard: python -m benchmarks.large --help.

Shards go through `xmleval.Evaluator.update`, as matrices and as lists in turn. Prints and stores the values,
the wall and CPU seconds of drawing and of counting, by state, and the memory of the process and of states.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Size(NamedTuple):
    """Numbers of rows, of labels, of scores a row and of rows of a shard."""

    rows: int
    labels: int
    depth: int = 100
    shard_rows: int = 500_000


FEW = Size(40_000, 200_000, 100, 10_000)  # which use all kernels


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
        not_own = ("plan", "specs", "work", "propensity")
        parts = [part for name, part in vars(value).items() if name not in not_own]
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


def run(size: Size, memory: str, threads: int, form: str = "both") -> dict[str, Any]:
    """Evaluate rows, and return what it takes."""
    n_rows, n_labels, depth, shard_rows = size
    clock, peaks = Clock(), {"start": take_peak()}
    by_state: dict[str, float] = {}
    notes: list[dict[str, Any]] = []
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
                notes.append(note_of(evaluator, clock))
        with clock.timing("values"):
            report = evaluator.compute()
    peaks |= {"updates": max(note["peak"] for note in notes), "values": take_peak()}
    value_bytes, value_rate = pack_values(evaluator)
    return size._asdict() | {
        "relevant": n_relevant, "memory": memory, "threads": threads, "form": form,
        "wall": clock.wall, "cpu": clock.cpu, "cpu_by_state": by_state,
        "buffers": shards.n_bytes, "peaks": peaks, "notes": notes,
        "value_bytes": value_bytes, "value_rate": value_rate,
        "processor": processor(), "cores": available_processors(), "values": dict(report),
    }  # fmt: skip


def note_of(evaluator: Evaluator, clock: Clock) -> dict[str, Any]:
    """Return, and print, the seconds and the memory that updates took so far."""
    wall, cpu = (
        sum(seconds for name, seconds in own.items() if name.startswith("counting"))
        for own in (clock.wall, clock.cpu)
    )
    resident, sizes = memory_of("VmRSS"), state_bytes(evaluator)
    note = {
        "rows": evaluator.n_rows, "wall": wall, "cpu": cpu, "resident": resident, "peak": take_peak(),
        "states": sizes,
    }  # fmt: skip
    told = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in [("resident", resident), *sizes.items()])
    print(f"{evaluator.n_rows:,} rows: {wall:.0f} s, CPU {cpu:.0f} s; GB: {told}", flush=True)
    return note


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
    size = Size(*(int(getattr(args, name)) for name in Size._fields))
    print("compiling", flush=True)
    run(Size(*map(min, FEW, size)), args.memory, args.threads, args.form)
    found = run(size, args.memory, args.threads, args.form)
    records = json.loads(args.output.read_text()) if args.output.exists() else []
    same = (*Size._fields, "form", "threads")
    records = [record for record in records if any(record[name] != found[name] for name in same)]
    args.output.write_text(json.dumps([*records, found], indent=1) + "\n")
    print(
        json.dumps(
            {name: found[name] for name in ("wall", "cpu", "cpu_by_state", "peaks", "values")}, indent=1
        )
    )


if __name__ == "__main__":
    main()
