"""Benchmark results as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, is_ours
from benchmarks.peers import PEERS
from benchmarks.workloads import SIZES

PARTS = ("comparison", "files", "threads", "startup", "growth", "intervals")
MIB = 1 << 20
LEAST_READ = 1 << 16  # bytes of inputs from which reading them takes long enough to compare with
HEAD = ("data", "xmleval, s", "1 thread, s", "of the limit", "MiB", "others, s")
# Cases of the short table: title, case, workload
SHORT = (
    ("P, nDCG, R, PSP, PSnDCG at 1, 3, 5 from top-5 lists", "at_k_lists", "W2"),
    ("the same", "at_k_lists", "W4"),
    ("the same from sparse scores, 100 per row", "at_k_matrix", "W4"),
    ("F1 micro, macro, samples from sparse sets", "sets", "W4"),
    ("one-error, coverage, ranking loss, LRAP, row AUC from dense scores", "ranking", "W1d"),
    ("micro-AUC from sparse scores, 100 per row", "micro_auc", "W4"),
)


def table(header: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; ``align`` has an l or r for each column."""
    marks = {"l": "---", "r": "---:"}
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    rule = "|".join(marks[side] for side in align)
    lines.insert(1, f"|{rule}|")
    return "\n".join(lines)


def machine_name(machine: dict[str, Any]) -> str:
    """Return the processor and its number of cores."""
    return f"{machine['processor']}, {machine['cores']} cores"


def write_report(folder: Path) -> str:
    """Write tables.md from the existing results, and return the tables."""
    text = report(read_results(folder))
    (folder / "tables.md").write_text(text)
    return text


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the existing results."""
    files = {part: folder / f"{part}.json" for part in PARTS}
    return {part: json.loads(file.read_text()) for part, file in files.items() if file.is_file()}


def report(results: dict[str, dict[str, Any]]) -> str:
    """Return all tables."""
    writers = (
        comparison_tables,
        files_table,
        threads_table,
        startup_table,
        growth_table,
        intervals_table,
    )
    parts = zip(PARTS, writers, strict=True)
    tables = [write(results[part]) for part, write in parts if part in results]
    return "\n\n".join(tables) + "\n"


def short_table(results: dict[str, Any]) -> str:
    """Return a table of a few cases, with the fastest other library."""
    rows = []
    for title, name, workload in SHORT:
        size = SIZES[workload]
        records = records_of(results, name, workload)
        ours = records["xmleval"]
        rivals = [
            (record["seconds"], f"{library} {record['seconds']:.3g}", share_of(record, ours))
            for library, record in records.items()
            if "seconds" in record and not is_ours(library)
        ]
        fewest_seconds, rival, note = min(rivals)
        ratio = times(fewest_seconds / ours["seconds"])
        if note:
            ratio += f", {note}"
        shape = f"{size.rows:,} x {size.labels:,}"
        rows.append([title, shape, seconds(ours), f"{rival} ({ratio})"])
    return table(["measures", "rows x labels", "xmleval, s", "fastest other, s"], "llrl", rows)


def records_of(results: dict[str, Any], name: str, workload: str) -> dict[str, dict[str, Any]]:
    """Return the records of a case on a workload, by library."""
    return {
        record["library"]: record
        for record in results["records"]
        if (record["family"], record["workload"]) == (name, workload)
    }


def share_of(record: dict[str, Any], ours: dict[str, Any]) -> str:
    """Return how many of our values another library computes, if not all."""
    n_values = len(record["values"])
    n_ours = len(ours["values"])
    if n_values < n_ours:
        return f"{n_values} of {n_ours} values"
    return ""


def threads_table(results: dict[str, Any]) -> str:
    """Return a table of seconds by case and number of threads."""
    counts = list(results["cases"][0]["seconds"])
    columns = []
    for threads in counts:
        noun = "thread" if threads == "1" else "threads"
        columns.append(f"{threads} {noun}, s")
    rows = []
    for case in results["cases"]:
        values = [case["seconds"][threads] for threads in counts]
        cells = [f"{value:.3g}" for value in values]
        ratio = times(values[0] / values[-1])
        rows.append([CASES[case["case"]].title, case["workload"], *cells, ratio])
    return table(["by threads", "data", *columns, "ratio"], "ll" + "r" * (len(counts) + 1), rows)


def growth_table(results: dict[str, Any]) -> str:
    """Return tables of seconds by case and number of rows, and by case and number of labels."""
    tables = []
    for along, fixed in (("rows", "labels"), ("labels", "rows")):
        points = results[f"by_{along}"]
        sizes = list(dict.fromkeys(point[along] for point in points))
        cells: dict[str, list[str]] = {}
        for point in points:
            cells.setdefault(CASES[point["case"]].title, []).append(f"{point['seconds']:.2g}")
        caption = f"{points[0][fixed]:,} {fixed}, seconds by {along}"
        header = [caption, *(f"{size:,}" for size in sizes)]
        rows = [[name, *row] for name, row in cells.items()]
        tables.append(table(header, "l" + "r" * len(sizes), rows))
    return "\n\n".join(tables)


def intervals_table(results: dict[str, Any]) -> str:
    """Return a table of seconds by case, with two ratios for each workload.

    They are the ratio to P@5 of the same lists, and the cost of intervals.
    """
    cases = {(case["case"], case["workload"]): case for case in results["cases"]}
    names = list(dict.fromkeys(name for name, _ in cases))
    workloads = list(dict.fromkeys(workload for _, workload in cases))
    rows = []
    for name in names:
        depth = CASES[name].depth
        precision = "P" if depth == 5 else "P from 100"
        cells = [CASES[name].title]
        for workload in workloads:
            case = cases[name, workload]
            base = cases[precision, workload]
            ratio = case["alone"] / base["alone"]
            cost = case["intervals"] / case["alone"]
            cells += [f"{case['alone']:.3g}", f"{ratio:.1f}", f"{cost:.2f}"]
        rows.append(cells)
    header = [title for name in workloads for title in (f"{name}, s", "x p@5", "intervals")]
    return table(["measures", *header], "l" + "r" * len(header), rows)


def startup_table(results: dict[str, Any]) -> str:
    """Return a table of start-up times."""
    rows = [[name, f"{value:.2f}"] for name, value in results["seconds"].items()]
    return table(["start-up", "seconds"], "lr", rows)


def files_table(results: dict[str, Any]) -> str:
    """Return a table of the seconds of evaluating each file, and of only reading it."""
    columns: dict[str, None] = {}
    for file in results["files"]:
        columns |= dict.fromkeys(file["seconds"])
    libraries = list(columns)
    rows = []
    for file in results["files"]:
        row = [file["title"], f"{file['n_bytes'] / MIB:.0f}"]
        for library in libraries:
            value = file["seconds"].get(library)
            row.append("" if value is None else f"{value:.3g}")
        rows.append(row)
    header = [f"P@5 of {results['n_scores']:,} scores, seconds", "MiB", *libraries]
    return table(header, "lr" + "r" * len(libraries), rows)


def comparison_tables(results: dict[str, Any]) -> str:
    """Return the speed of the machine, and a table for each case with a row for each workload."""
    machine = results["machine"]
    scale = results["scale"]
    read = " and ".join(f"{rate / 1e9:.0f}" for rate in machine["read_bytes_per_second"].values())
    sort = " and ".join(f"{rate / 1e6:.0f}" for rate in machine["sort_keys_per_second"].values())
    threads = " and ".join(machine["read_bytes_per_second"])
    speed = (
        f"{machine_name(machine)}: {threads} threads read {read} GB/s and "
        f"sort {sort} million float32 keys a second."
    )
    if scale != 1:
        speed += f" Sizes times {scale:g}."
    tables = [speed]
    for name in PEERS:
        workloads = [workload for workload in SIZES if records_of(results, name, workload)]
        rows = [case_row(name, workload, results) for workload in workloads]
        if rows:
            tables.append(f"**{CASES[name].title}**\n\n{table(HEAD, 'lrrrrl', rows)}")
    return "\n\n".join(tables)


def case_row(name: str, workload: str, results: dict[str, Any]) -> list[str]:
    """Return the row of one case."""
    records = records_of(results, name, workload)
    ours = records.pop("xmleval")
    single = records.pop("xmleval threads=1")
    rivals = [f"{library} {outcome(record, ours)}" for library, record in records.items()]
    memory = f"{ours['above_bytes'] / MIB:.0f}"
    bound = limit(ours, records, results["machine"])
    return [workload, seconds(ours), outcome(single), bound, memory, ", ".join(rivals)]


def outcome(record: dict[str, Any], ours: dict[str, Any] | None = None) -> str:
    """Return the time of a library and its ratio to ours, or why the library has no time."""
    if "absent" in record:
        return "absent"
    if "failed" in record:
        return f"failed ({record['failed']})"
    if ours is None:
        return seconds(record)
    parts = [times(record["seconds"] / ours["seconds"]), f"{record['above_bytes'] / MIB:.0f} MiB"]
    if len(record["steps"]) > 1:
        fastest = min(record["steps"], key=lambda step: float(record["steps"][step]))
        parts.append(f"{fastest} alone {record['steps'][fastest]:.3g}")
    return f"{seconds(record)} ({'; '.join(parts)})"


def seconds(record: dict[str, Any]) -> str:
    """Format seconds; mark a single run."""
    return f"{record['seconds']:.3g}" + (" (once)" if record["runs"] == 1 else "")


def times(ratio: float) -> str:
    """Format a ratio."""
    if ratio >= 10:
        return f"{ratio:.0f}x"
    return f"{ratio:.2g}x"


def limit(
    record: dict[str, Any], other_records: dict[str, dict[str, Any]], machine: dict[str, Any]
) -> str:
    """Compare with reading the inputs once or, if scores must be sorted, with `np.sort`."""
    if record["family"] == "micro_auc":
        bound = other_records["np.sort"].get("seconds")
        if not bound:
            return ""
        return f"{times(record['seconds'] / bound)} sorting"
    if record["inputs_bytes"] < LEAST_READ:
        return ""
    bound = record["inputs_bytes"] / max(machine["read_bytes_per_second"].values())
    return f"{times(record['seconds'] / bound)} reading"
