"""Streams of scores of a hundred million labels: python -m benchmarks.many_labels --help.

Draws rows for one evaluator with one thread, as matrices and as lists in turn. Labels are in as
many ranges as a row has scores: it lists a label of each range, drawn by a power law.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.cases import AT_K, compile_kernels
from benchmarks.machine import identity
from benchmarks.run import compact
from benchmarks.tables import machine_name, table
from benchmarks.worker import ROOT, start_peak, status_bytes
from xmleval import Evaluator, inverse_propensity

METRICS = [*AT_K, "f1.micro@5", "f1.macro@5", "auc.micro", "ap.micro", "peak_f1.micro"]
N_LABELS = 100_000_000
DEPTH = 100  # scores of a row
UPDATE_ROWS = 500_000
BLOCK_ROWS = 10_000
WARMING = (200_000, 20_000)  # labels and rows of the updates that compile kernels
ORDERS = 4096  # from which each row takes that of its ranges
MOST_RELEVANT = 9  # labels of a row
MEAN_RELEVANT = 5
LISTED = 0.75  # share of the relevant labels that have a score


class Stream:
    """Draws rows, into arrays that the next update writes again."""

    def __init__(self, n_labels: int, n_rows: int) -> None:
        self.rng = np.random.default_rng(7)
        self.n_labels = n_labels
        self.width = n_labels // DEPTH  # labels of a range
        self.label_of_rank = self.rng.permutation(self.width).astype(np.int32)
        places = np.tile(np.arange(DEPTH, dtype=np.int32), (ORDERS, 1))
        self.orders = self.rng.permuted(places, axis=1)  # ranges, best first
        self.ranks = np.argsort(self.orders, axis=1).astype(np.int32)  # of ranges
        self.labels = np.empty((n_rows, DEPTH), np.int32)
        self.scores = np.empty((n_rows, DEPTH), np.float32)

    def propensity(self, n_rows: int) -> NDArray[np.float64]:
        """Return inverse propensities from the expected counts of labels in so many rows."""
        edges = (np.arange(self.width + 1) / self.width) ** 0.25
        counts = np.empty(self.width, np.int64)
        counts[self.label_of_rank] = np.diff(edges) * (n_rows * MEAN_RELEVANT / DEPTH)
        return np.tile(inverse_propensity(label_counts=counts, n_instances=n_rows), DEPTH)

    def draw(self, as_lists: bool) -> tuple[Any, Any]:
        """Return the truth, and scores as lists or as a matrix."""
        n_rows = len(self.labels)
        blocks = [self._draw_block(first, as_lists) for first in range(0, n_rows, BLOCK_ROWS)]
        lengths, relevant = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        shape = (n_rows, self.n_labels)
        ptr = np.concatenate([[0], np.cumsum(lengths)])
        truth = sp.csr_array((np.ones(len(relevant), np.uint8), relevant, ptr), shape=shape)
        if as_lists:
            return truth, (self.labels, self.scores)
        ptr = np.arange(n_rows + 1, dtype=np.int32) * DEPTH
        return truth, sp.csr_array((self.scores.ravel(), self.labels.ravel(), ptr), shape=shape)

    def _draw_block(self, first: int, as_lists: bool) -> tuple[Any, Any]:
        """Draw some rows; return the numbers of their relevant labels, and these labels."""
        labels = self.labels[first : first + BLOCK_ROWS]
        scores = self.scores[first : first + BLOCK_ROWS]
        orders = self.rng.integers(ORDERS, size=len(labels))
        ranges = np.arange(DEPTH, dtype=np.int32)
        ranks = self.ranks[orders]
        if as_lists:
            ranks = ranges
            ranges = self.orders[orders]
        labels[:] = self._draw_labels(labels.shape) + ranges * np.int32(self.width)
        heights = self.rng.random(labels.shape, np.float32)
        heights *= np.float32(0.999)  # scores of two ranks differ
        heights += np.float32(DEPTH - 1) - ranks.astype(np.float32)
        scales = self.rng.uniform(0.5, 1, (len(labels), 1)) / DEPTH**2
        scores[:] = heights**2 * scales.astype(np.float32)

        # relevant labels are in distinct ranges, mostly those of high scores
        size = (len(labels), MOST_RELEVANT)
        places = self.orders[orders[:, None], (DEPTH * self.rng.random(size) ** 3).astype(np.int64)]
        n_drawn = self.rng.integers(2, MOST_RELEVANT + 1, (len(labels), 1))
        places[np.arange(MOST_RELEVANT) >= n_drawn] = DEPTH
        places.sort(axis=1)
        rows, columns = np.nonzero((np.diff(places, prepend=-1) > 0) & (places < DEPTH))
        places = places[rows, columns]
        relevant = self._draw_labels(places.shape) + places * np.int32(self.width)
        is_listed = self.rng.random(len(rows)) < LISTED
        columns = self.ranks[orders[rows], places] if as_lists else places
        relevant[is_listed] = labels[rows, columns][is_listed]
        return np.bincount(rows, minlength=len(labels)), relevant

    def _draw_labels(self, shape: tuple[int, ...]) -> NDArray[np.int32]:
        """Draw labels of a range: that of rank r with a frequency of r^-0.75."""
        ranks = self.rng.random(shape, np.float32) ** 4 * np.float32(self.width)
        return self.label_of_rank[ranks.astype(np.int32)]


class Clock:
    """Seconds, and seconds of the processor, by what is done."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the seconds of a block."""
        start = time.perf_counter()
        cpu_start = time.process_time()
        yield
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - start
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu_start


def measure(n_scores: int) -> dict[str, Any]:
    """Evaluate a stream; return its record of seconds, bytes and values."""
    compile_kernels()
    n_labels, n_rows = WARMING
    count(n_labels, n_rows, 2 * n_rows)
    start_bytes = start_peak()
    n_updates = max(1, n_scores // (UPDATE_ROWS * DEPTH))
    record = count(N_LABELS, UPDATE_ROWS, n_updates * UPDATE_ROWS)
    return {**record, "start_bytes": start_bytes, "peak_bytes": status_bytes("VmHWM")}


def count(n_labels: int, update_rows: int, n_rows: int) -> dict[str, Any]:
    """Draw and count so many rows, and compute the values."""
    clock = Clock()
    stream = Stream(n_labels, update_rows)
    with clock.timing("propensity"):
        propensity = stream.propensity(n_rows)
    evaluator = Evaluator(
        METRICS, n_labels=n_labels, inverse_propensity=propensity, memory="2GiB", threads=1
    )
    del propensity  # the evaluator has a copy
    for number in range(n_rows // update_rows):
        with clock.timing("drawing"):
            rows = stream.draw(as_lists=number % 2 == 1)
        with clock.timing("counting"):
            evaluator.update(*rows)
    with clock.timing("values"):
        values = dict(evaluator.compute())
    return {
        "scores": n_rows * DEPTH,
        "rows": n_rows,
        "labels": n_labels,
        "wall": clock.wall,
        "cpu": clock.cpu,
        "values": values,
    }


def table_of(results: dict[str, Any]) -> str:
    """Return the machine, a table of records, and the time of a score in the largest one."""
    rows = []
    for record in results["records"]:
        wall = record["wall"]["counting"]
        cpu = record["cpu"]["counting"]
        size = f"{record['scores']:.3g}", f"{record['rows']:,}"
        seconds = f"{wall:,.1f}", f"{cpu:,.1f}", f"{record['cpu']['values']:.1f}"
        peak = f"{record['peak_bytes'] / 1e9:.2f}"
        rows.append([*size, *seconds, f"{record['rows'] / cpu:,.0f}", peak])
    header = ["scores", "rows", "counting, s", "CPU s", "values, CPU s", "rows a CPU second"]
    text = table([*header, "peak, GB"], "rrrrrrr", rows)
    largest = max(results["records"], key=lambda record: int(record["scores"]))
    nanoseconds = largest["cpu"]["counting"] / largest["scores"] * 1e9
    rate = f"Counting {largest['scores']:.3g} scores takes {nanoseconds:.1f} ns of CPU a score."
    return f"{machine_name(results['machine'])}.\n\n{text}\n\n{rate}"


def main(arguments: list[str] | None = None) -> None:
    """Run streams of the sizes that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--scores", nargs="+", type=float, default=[1e8, 1e9])
    add("--output", type=Path, default=ROOT / "benchmarks" / "results" / "many_labels.json")
    args = parser.parse_args(arguments)
    results: dict[str, Any] = {"records": [], "machine": identity()}
    for n_scores in map(int, args.scores):
        # in a new process, whose peak of memory is that of one stream
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            results["records"].append(pool.submit(measure, n_scores).result())
        args.output.write_text(compact(results))
        print(table_of(results), results["records"][-1]["values"], sep="\n", flush=True)


if __name__ == "__main__":
    main()
