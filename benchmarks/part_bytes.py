"""The bytes that the parts of tasks take, by state, and those of the formulas of the cluster's README."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cost_model import power
from benchmarks.interval_tables import table
from benchmarks.shards import Shards
from xmleval import Evaluator, evaluate
from xmleval.cluster import counting
from xmleval.cluster.job import Job, make_job, opened
from xmleval.cluster.packing import LEAST_SIZE
from xmleval.cluster.run import Leaf, SerialEngine, run
from xmleval.pooled.columns import GROUPED_FROM
from xmleval.pooled.values import CHUNK, MANY

MEMORY = 1 << 30
SIZES = (10**5, 10**6, 10**7, 10**8)  # scores of all tasks
TASKS, DEPTH, LABELS = 8, 100, 10**6
STEP = 20_000  # rows of a batch
BLOCK = 640_000  # scores of a block of such a batch, or more
K, FOLDS = 5, 32
Record = dict[str, Any]


class Drawn(NamedTuple):
    """What rows are like.

    ``sizes`` are the shares of rows by their number of ``relevant`` labels, which is the mean; ``share`` is
    that of scores that are relevant, ``hits`` are the hits of a row at 5, and ``hit`` is the share of rows
    that have any.
    """

    sizes: Any
    relevant: float
    share: float
    hits: float
    hit: float


@cache
def drawn() -> Drawn:
    """Return what the rows of a batch are like."""
    rows = Shards.of(LABELS, DEPTH, STEP).draw(0, STEP, True)
    found = evaluate(*rows, metrics=[f"p@{DEPTH}", f"p@{K}", f"hit@{K}"])
    sizes = np.bincount(np.diff(rows[0].indptr)) / STEP
    relevant = float(np.arange(sizes.size) @ sizes)
    return Drawn(sizes, relevant, found[f"p@{DEPTH}"], K * found[f"p@{K}"], found[f"hit@{K}"])


def slots(n_rows: int, folds: int) -> float:
    """Return the expected number of pairs of a number of relevant labels and a fold that rows have."""
    return float(sum(folds * (1 - (1 - share / folds) ** n_rows) for share in drawn().sizes))


def pairs_bytes(n_rows: int) -> float:
    """Return four bytes for each relevant label, predicted label and hit, or 96 a label."""
    return min(96.0 * LABELS, 4 * n_rows * (drawn().relevant + K + drawn().hits))


def weighted_bytes(n_rows: int) -> float:
    """Return six bytes a label, and 32 for each that is relevant, predicted or hit."""
    width = LABELS // DEPTH  # labels are drawn by a power law, as `Shards.label_counts` tells
    share = np.diff((np.arange(width + 1) / width) ** 0.25) / DEPTH
    each = (n_rows * own for own in (drawn().relevant, K, drawn().hits))
    n_labels = sum(DEPTH * float((1 - np.exp(-n * share)).sum()) for n in each)
    return min(48.0 * LABELS, 6 * LABELS + 32 * n_labels)


def of_labels_bytes(n_scores: float, n_labels: int) -> float:
    """Return the bytes of scores of every label in a part: with its number, or grouped by it."""
    if n_scores < GROUPED_FROM * n_labels:
        return 8.0 * n_scores + n_labels
    return 4.0 * n_scores + 3 * n_labels


def of_all_bytes(n_rows: int) -> float:
    """Return the bytes of scores of all entries in a part, relevant ones and others."""
    share, n_scores = drawn().share, n_rows * DEPTH
    return sum(value_bytes(own * n_scores, own * min(n_scores, BLOCK)) for own in (share, 1 - share))


def value_bytes(n_scores: float, of_block: float) -> float:
    """Return the bytes of scores of one kind: ordered ones take two, the last ones four."""
    few = 0.0 if of_block >= MANY else n_scores % CHUNK
    return 2 * (n_scores - few) + 4 * few


def profile_bytes(n_rows: int, folds: int) -> float:
    """Return eight bytes for each slot, of its rows and of its hits at 1 to 5."""
    return 8 * (slots(n_rows, folds) * (2 + K) + 1)


def kept_bytes(n_rows: int) -> int:
    """Return the bytes of the hits of each row: few numbers of relevant labels are not packed."""
    return (2 if n_rows >= LEAST_SIZE else 9) * n_rows


def top_bytes(n_scores: float) -> float:
    """Return the bytes of scores that are counted one by one, with four numbers each: few are not packed."""
    return (20 if 4 * n_scores >= LEAST_SIZE else 32) * n_scores


def pair_bytes(n_rows: int) -> float:
    """Return the bytes of the first scores of rows, of hits and of others."""
    return top_bytes(drawn().hits * n_rows) + top_bytes((K - drawn().hits) * n_rows)


# measures that are counted together: the state of each, and the bytes of a part by its number of rows
Formulas = Mapping[str, tuple[str, Callable[[int], float]]]
PLAIN: Formulas = {
    "f1.macro@5": ("label_totals", lambda n_rows: 3 * LABELS),
    "p@5": ("rank_profile", lambda n_rows: profile_bytes(n_rows, 1)),
    "ndcg@all": ("row_sums", lambda n_rows: 80),
    "ece@5": ("calibration", lambda n_rows: 1504),
    "label_diversity": ("label_sets", lambda n_rows: 16 * n_rows),
    "aurc@5": ("top_scores", lambda n_rows: top_bytes(n_rows) + top_bytes(drawn().hit * n_rows)),
    "ace@5": ("pair_scores", pair_bytes),
}
WITH_INTERVALS: Formulas = {
    "f1.macro@5": ("label_totals", lambda n_rows: 3 * LABELS + pairs_bytes(n_rows)),
    "p@5": ("rank_profile", lambda n_rows: profile_bytes(n_rows, FOLDS)),
    "ndcg@all": ("row_sums", lambda n_rows: 88 * FOLDS),
}
WEIGHTED: Formulas = {
    "f1.macro@5": ("label_totals", weighted_bytes),
    "auc.micro": ("weighted_scores", lambda n_rows: 32 * n_rows * DEPTH),
}
KEPT: Formulas = {
    "p@5": ("rank_profile", lambda n_rows: profile_bytes(n_rows, 1) + kept_bytes(n_rows)),
    "ndcg@all": ("row_sums", lambda n_rows: 80 + 8 * n_rows),
}
CASES: Sequence[tuple[str, Formulas, Mapping[str, Any]]] = (
    ("", PLAIN, {}),
    ("intervals", WITH_INTERVALS, {"confidence": 0.95}),
    ("kept rows", KEPT, {"per_row": True}),
    ("weights", WEIGHTED, {}),
    ("weights", {"auc.macro": ("weighted_scores", lambda n_rows: 40 * n_rows * DEPTH)}, {}),
    (
        "",
        {"margin.macro": ("label_extremes", lambda n_rows: 19 * LABELS)},
        {"conventions": {"unlisted": 0.0}},
    ),
    ("", {"auc.micro": ("score_runs", of_all_bytes)}, {}),
    (
        "",
        {"auc.macro": ("score_runs", lambda n_rows: of_labels_bytes(n_rows * DEPTH, LABELS))},
        {},
    ),
)


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


def count_drawn(
    job: Job, first_row: int, n_rows: int, weighted: bool, path: str | None = None, n_ranges: int = 0
) -> counting.Part:
    """Return the counts of rows that are drawn."""

    def counted() -> Evaluator:
        evaluator = opened(job)
        shards = Shards.of(LABELS, DEPTH, STEP)
        for start in range(first_row, first_row + n_rows, STEP):
            n = min(STEP, first_row + n_rows - start)
            weight = np.sqrt(np.arange(start, start + n) % 7 + 2) if weighted else None
            evaluator.update(*shards.draw(start, n, True), sample_weight=weight, first_row=start)
        return evaluator

    return counting.put(counted, path, n_ranges)


def all_bytes(sizes: Sequence[int] = SIZES) -> list[Record]:
    """Return the bytes that the parts of some scores take by state, and those of the formulas."""
    records = []
    for with_what, formulas, options in CASES:
        for size in sizes[:3] if with_what == "weights" else sizes:  # sums of 10^8 scores take gigabytes
            rows = size // DEPTH // TASKS
            several = [(rows * place, rows, with_what == "weights") for place in range(TASKS)]
            leaves = [Leaf(count_drawn, own, f"{own[0]}", rows) for own in several]
            engine = Recording()
            run(engine, make_job(Evaluator([*formulas], n_labels=LABELS, **options), MEMORY, 1), leaves)
            for measure, (state, formula) in formulas.items():
                found = {"measure": measure, "with": with_what, "state": state, "scores": size}
                records.append({**found, "moved": engine.moved[state], "formula": formula(rows) * TASKS})
                print(records[-1], flush=True)
    order = [(measure, with_what) for with_what, formulas, _ in CASES for measure in formulas]
    return sorted(records, key=lambda one: order.index((one["measure"], one["with"])))


def bytes_table(records: Sequence[Record]) -> str:
    """Return the table of the bytes of parts; of the ratios of a measure, that which is furthest from 1."""
    known = {(r["measure"], r["with"], r["scores"]): r for r in records}
    rows = []
    for measure, with_what in dict.fromkeys((r["measure"], r["with"]) for r in records):
        several = [known.get((measure, with_what, size)) for size in SIZES]
        own = [one for one in several if one]
        ratio = max((one["formula"] / one["moved"] for one in own), key=lambda ratio: abs(np.log(ratio)))
        rows.append(
            [
                f"{measure}, {with_what}" if with_what else measure, own[0]["state"],
                *(f"{one['moved'] / 1e6:,.3g}" if one else "" for one in several), f"{ratio:.3f}",
            ]
        )  # fmt: skip
    head = ["measure", "state", *(f"MB at {power(size)} scores" for size in SIZES), "formula / measured"]
    return table(head, rows)
