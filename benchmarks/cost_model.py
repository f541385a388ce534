"""Seconds that an evaluation takes on a cluster, from what `benchmarks.large` measured, as tables.

The rows are cut into tasks of equally many. Workers read shards from a store and count them, each in several
threads; counts of labels and scores, packed as counts by value, are merged by a tree, whose last node is the
client.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.interval_tables import table

GB = 1e9
FAN_IN = 8  # states merged at a time
SCORE_BYTES, TRUE_BYTES, ROW_BYTES = 8, 4, 16  # of a label and a score; of a relevant label; of two pointers
TASK_SECONDS = 0.002  # of a scheduler
PARTS = ("checks", "rank_profile", "label_totals", "score_runs")
LARGE = {"rows": 10**9, "depth": 100, "labels": 10**8, "relevant": 5 * 10**9}
WORKERS, TASKS = 64, 256
BANDWIDTHS = (1 * GB, 3 * GB, 12 * GB)  # bytes a second of the store, and between workers, for each worker
Run = Mapping[str, Any]


class Constants(NamedTuple):
    """What one thread takes.

    Parameters
    ----------
    score_seconds : float
        CPU seconds of an update for each score.
    update_seconds : float
        CPU seconds of an update for each label, to merge the tables of labels.
    table_rate, value_rate : float
        Bytes a second at which counts by label and scores counted by value are merged.
    table_bytes : float
        Bytes of the counts of a label.
    value_bytes, task_bytes : float
        Bytes of the scores of a run, counted by value, and of as many scores as a task has: what is
        sent, and how much it grows when it is merged.
    finish_label_seconds, finish_value_seconds : float
        CPU seconds to compute the values from the counts of a label, and from a byte of scores.
    """

    score_seconds: float
    update_seconds: float
    table_rate: float
    value_rate: float
    table_bytes: float
    value_bytes: float
    task_bytes: float
    finish_label_seconds: float
    finish_value_seconds: float


def n_scores(run: Run) -> int:
    """Return the number of scores."""
    return int(run["rows"] * run["depth"])


def n_updates(run: Run) -> int:
    """Return the number of updates, one for each shard."""
    return -(-int(run["rows"]) // int(run["shard_rows"]))


def counting_seconds(run: Run, kind: str = "cpu") -> float:
    """Return the seconds of all updates."""
    return float(sum(seconds for name, seconds in run[kind].items() if name.startswith("counting")))


def seconds_of_parts(run: Run) -> dict[str, float]:
    """Return the CPU seconds of the updates by state, and those that are of none: of checks and of blocks."""
    own = run["cpu_by_state"]
    of_states = {name: own[f"{name}.update"] + own[f"{name}.merge"] for name in PARTS[1:]}
    return {"checks": counting_seconds(run) - sum(of_states.values()), **of_states}


def constants_of(run: Run, like_a_task: Run | None = None) -> Constants:
    """Return the constants that a run shows; ``like_a_task``: another, with about the scores of a task."""
    own, merging = run["cpu_by_state"], run["cpu_by_state"]["label_totals.merge"]
    sizes = run["notes"][-1]["states"]
    merged = n_updates(run) - 1  # the first finds nothing to merge with
    return Constants(
        score_seconds=(counting_seconds(run) - merging) / n_scores(run),
        update_seconds=merging / merged / run["labels"],
        table_rate=sizes["label_totals"] * merged / merging,
        value_rate=run["value_rate"],
        table_bytes=sizes["label_totals"] / run["labels"],
        value_bytes=run["value_bytes"],
        task_bytes=(like_a_task or run)["value_bytes"],
        finish_label_seconds=own["label_totals.finish"] / run["labels"],
        finish_value_seconds=own["score_runs.finish"] / run["value_bytes"],
    )


def counting(found: Constants, run: Run) -> float:
    """Return the CPU seconds of the updates of a run."""
    merging = found.update_seconds * run["labels"] * (n_updates(run) - 1)
    return float(found.score_seconds * n_scores(run) + merging)


def stored_bytes(run: Run) -> float:
    """Return the bytes that shards take."""
    return float(SCORE_BYTES * n_scores(run) + TRUE_BYTES * run["relevant"] + ROW_BYTES * run["rows"])


def tree_seconds(tasks: int, workers: int, size: float, network: float, merging: float) -> float:
    """Return the seconds to merge states of ``size`` bytes in groups of `FAN_IN`, each on a worker."""
    seconds = 0.0
    while tasks > 1:
        groups = math.ceil(tasks / FAN_IN)
        waves = math.ceil(groups / workers)
        seconds += waves * min(tasks, FAN_IN) * size * (1 / network + 1 / merging)
        tasks = groups
    return seconds


def cluster_seconds(
    found: Constants, run: Run, workers: int, cores: int, tasks: int, bandwidth: float
) -> dict[str, float]:
    """Return the seconds of each step; ``bandwidth`` is that of a worker from the store and from others."""
    counts = found.table_bytes * run["labels"]
    # threads share tables of labels, and one of them merges those of an update: that has more rows
    merged = found.update_seconds * run["labels"] * n_updates(run) / cores
    own = (found.score_seconds * n_scores(run) / cores + merged) / workers
    if workers == 1:
        tasks = 0
    leaves = min(tasks, FAN_IN) * (
        found.task_bytes - found.value_bytes
    )  # which are smaller than sums of them
    rate = cores * found.value_rate
    scores = tree_seconds(tasks, workers, found.value_bytes, bandwidth, rate)
    return {
        "propensities": 8 * run["labels"] / bandwidth,
        "reading": stored_bytes(run) / (workers * bandwidth),
        "counting": own,
        "labels": tree_seconds(tasks, workers, counts, bandwidth, found.table_rate),
        "scores": scores + leaves * (1 / bandwidth + 1 / rate),
        "rest": tasks * TASK_SECONDS
        + found.finish_label_seconds * run["labels"]
        + found.finish_value_seconds * found.value_bytes / cores,
    }


def total_of(steps: Mapping[str, float]) -> float:
    """Return the seconds of all steps; shards are read ahead while others are counted."""
    both = steps["reading"], steps["counting"]
    return sum(steps.values()) - min(both)


def tables_of(runs: Sequence[Run]) -> str:
    """Return the tables of measured runs, of what the model says about them, and of a cluster."""
    runs = sorted(runs, key=n_scores)
    return "\n\n".join([measured_table(runs), states_table(runs), model_table(runs), cluster_table(runs)])


def measured_table(runs: Sequence[Run]) -> str:
    """Return what each run took, and the line that leads to 10^11 scores."""
    rows = [
        [
            power(n_scores(run)), f"{run['rows']:,.0f}", str(run["threads"]),
            f"{run['wall']['drawing']:,.0f}", f"{run['cpu']['drawing']:,.0f}",
            f"{counting_seconds(run, 'wall'):,.0f}", f"{counting_seconds(run):,.0f}",
            f"{run['cpu']['values']:.1f}", f"{run['rows'] / counting_seconds(run):,.0f}",
            f"{max(run['peaks'].values()) / GB:.2f}",
        ]
        for run in runs
    ]  # fmt: skip
    head = [
        "scores", "rows", "threads", "drawing, s", "CPU s", "counting, s", "CPU s", "values, CPU s",
        "rows a CPU second", "peak, GB",
    ]  # fmt: skip
    start, slope = line_of(runs[-1])
    reached = start + slope * n_scores(LARGE)
    processor = f"{runs[-1]['processor']}, {runs[-1]['cores']} cores, shared with other work"
    told = (
        f"A line through the tenths of the run of {power(n_scores(runs[-1]))} scores: {start:.1f} s and "
        f"{slope * 1e9:.1f} ns a score, {reached / 3600:.1f} hours of one CPU for 10^11 scores."
    )
    title = f"**{runs[-1]['labels']:,} labels, {runs[-1]['depth']} scores a row**"
    return f"{title} ({processor})\n\n{table(head, rows)}\n\n{told}"


def line_of(run: Run) -> tuple[float, float]:
    """Return the seconds at no scores, and those of a score, by least squares."""
    x = [note["rows"] * run["depth"] for note in run["notes"]]
    y = [note["cpu"] for note in run["notes"]]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope = over / sum((a - mean_x) ** 2 for a in x)
    return mean_y - slope * mean_x, slope


def states_table(runs: Sequence[Run]) -> str:
    """Return the time and the memory of each state."""
    rows = []
    for run in runs:
        parts, last = seconds_of_parts(run), run["notes"][-1]
        merging = run["cpu_by_state"]["label_totals.merge"]
        rows.append(
            [
                power(n_scores(run)),
                *(f"{parts[name] / n_scores(run) * 1e9:.1f}" for name in PARTS),
                f"{merging / max(1, n_updates(run) - 1):.2f}",
                *(f"{last['states'][name] / 1e6:,.3f}" for name in PARTS[1:]),
                f"{run['value_bytes'] / 1e6:,.0f}", f"{run['buffers'] / 1e6:,.0f}",
                f"{last['resident'] / GB:.2f}",
            ]
        )  # fmt: skip
    head = [
        "scores", "checks and blocks, ns a score", "RankProfile", "LabelTotals", "ScoreRuns",
        "merging tables, s an update", "RankProfile, MB", "LabelTotals", "ScoreRuns", "packed",
        "the shard", "resident, GB",
    ]  # fmt: skip
    return f"**CPU time and memory by state**\n\n{table(head, rows)}"


def model_table(runs: Sequence[Run]) -> str:
    """Return the seconds that the constants of each run predict for larger ones, and those measured."""
    rows = []
    for place, known in enumerate(runs):
        for run in runs[place + 1 :]:
            predicted, found = counting(constants_of(known), run), counting_seconds(run)
            ratio = f"{predicted / found:.2f}"
            rows.append(
                [power(n_scores(known)), power(n_scores(run)), f"{predicted:,.0f}", f"{found:,.0f}", ratio]
            )
    head = ["constants of", "run", "predicted, CPU s", "measured, CPU s", "ratio"]
    return f"**One process: the model and the measured time of updates**\n\n{table(head, rows)}"


def cluster_table(runs: Sequence[Run]) -> str:
    """Return the model's seconds for a cluster, and what it assumes."""
    of_task = math.log(n_scores(LARGE) / TASKS)
    known = constants_of(runs[-1], min(runs, key=lambda run: abs(math.log(n_scores(run)) - of_task)))
    # a task is a run of its own, whose updates have as many rows as those of the measured run
    run = {**LARGE, "shard_rows": runs[-1]["shard_rows"]}
    rows = []
    cases = [(WORKERS, cores, TASKS, rate) for cores in (1, 8) for rate in BANDWIDTHS]
    cases += [(1, WORKERS, 1, rate) for rate in BANDWIDTHS]
    for workers, cores, tasks, rate in cases:
        steps = cluster_seconds(known, run, workers, cores, tasks, rate)
        bound = "reading" if steps["reading"] > steps["counting"] else "counting"
        if sum(steps[name] for name in ("labels", "scores")) > steps[bound]:
            bound = "merging"
        rows.append(
            [
                f"{workers} x {cores}", f"{rate / GB:.0f}",
                *(f"{steps[name]:,.1f}" for name in steps), f"{total_of(steps):,.0f}", bound,
            ]
        )  # fmt: skip
    head = [
        "workers x cores", "GB/s", "propensities, s", "reading, s", "counting, s", "tree of label counts, s",
        "tree of scores, s", "rest, s", "total, s", "bound by",
    ]  # fmt: skip
    sizes = f"{power(LARGE['rows'])} rows x {LARGE['depth']} scores, {power(LARGE['labels'])} labels"
    told = f"{stored_bytes(run) / 1e12:.2f} TB, {TASKS} tasks; one machine reads all"
    title = f"**The model of a cluster: {sizes} ({told})**"
    return f"{title}\n\n{table(head, rows)}"


def power(number: float) -> str:
    """Return a number as a power of ten, where it is one."""
    exponent = round(math.log10(number))
    return f"10^{exponent}" if number == 10**exponent else f"{number:.3g}"
