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
    ("P@5 from top-5 lists", "P", "W4"),
    ("P, nDCG, R, PSP, PSnDCG at 1, 3, 5 from top-5 lists", "at_k_lists", "W2"),
    ("the same", "at_k_lists", "W3"),
    ("the same", "at_k_lists", "W4"),
    ("the same from sparse scores, 100 per row", "at_k_matrix", "W4"),
    ("F1 micro, macro, samples from sparse sets", "sets", "W4"),
    ("one-error, coverage, ranking loss, LRAP, row AUC from dense scores", "ranking", "W1d"),
    ("micro-AUC from sparse scores, 100 per row", "micro_auc", "W4"),
    ("macro-AUC from dense scores", "macro_auc", "W1d"),
)


def table(header: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; ``align`` has an l or r for each column."""
    marks = {"l": "---", "r": "---:"}
    lines = [" | ".join(header), *(" | ".join(row) for row in rows)]
    lines.insert(1, "|".join(marks[side] for side in align))
    return "\n".join(f"|{line}|" if line is lines[1] else f"| {line} |" for line in lines)


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
    writers = comparison_tables, files_table, threads_table, startup_table, growth_table, intervals_table
    parts = zip(PARTS, writers, strict=True)
    return "\n\n".join(write(results[part]) for part, write in parts if part in results) + "\n"


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
        spent, shown, note = min(rivals)
        ratio = ", ".join(filter(None, [times(spent / ours["seconds"]), note]))
        rows.append([title, f"{size.rows:,} x {size.labels:,}", seconds(ours), f"{shown} ({ratio})"])
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
    n_values, n_ours = len(record["values"]), len(ours["values"])
    return f"{n_values} of {n_ours} values" if n_values < n_ours else ""


def threads_table(results: dict[str, Any]) -> str:
    """Return the times of each case by number of threads."""
    counts = list(results["cases"][0]["seconds"])
    columns = [f"{threads} thread{'s' if threads != '1' else ''}, s" for threads in counts]
    rows = []
    for case in results["cases"]:
        spent = [case["seconds"][threads] for threads in counts]
        cells = [*(f"{one:.3g}" for one in spent), times(spent[0] / spent[-1])]
        rows.append([CASES[case["case"]].title, case["workload"], *cells])
    return table(["by threads", "data", *columns, "ratio"], "ll" + "r" * (len(counts) + 1), rows)


def growth_table(results: dict[str, Any]) -> str:
    """Return the seconds of each case by rows, and by labels."""
    tables = []
    for along, fixed in (("rows", "labels"), ("labels", "rows")):
        points = results[f"by_{along}"]
        sizes = list(dict.fromkeys(point[along] for point in points))
        cases: dict[str, list[str]] = {}
        for point in points:
            cases.setdefault(CASES[point["case"]].title, []).append(f"{point['seconds']:.2g}")
        header = [f"{points[0][fixed]:,} {fixed}, seconds by {along}", *(f"{size:,}" for size in sizes)]
        tables.append(table(header, "l" + "r" * len(sizes), [[name, *cases[name]] for name in cases]))
    return "\n\n".join(tables)


def intervals_table(results: dict[str, Any]) -> str:
    """Return the seconds of each case, their ratio to P@5 of the same lists, and the cost of intervals."""
    spent = {(case["case"], case["workload"]): case for case in results["cases"]}
    names, workloads = (list(dict.fromkeys(parts)) for parts in zip(*spent, strict=True))
    rows = []
    for name in names:
        cells = [CASES[name].title]
        for workload in workloads:
            case, base = (
                spent[name, workload],
                spent["P" if CASES[name].depth == 5 else "P from 100", workload],
            )
            ratio, cost = case["alone"] / base["alone"], case["intervals"] / case["alone"]
            cells += [f"{case['alone']:.3g}", f"{ratio:.1f}", f"{cost:.2f}"]
        rows.append(cells)
    header = [title for name in workloads for title in (f"{name}, s", "x p@5", "intervals")]
    return table(["measures", *header], "l" + "r" * len(header), rows)


def startup_table(results: dict[str, Any]) -> str:
    """Return start-up times."""
    rows = [[name, f"{value:.2f}"] for name, value in results["seconds"].items()]
    return table(["start-up", "seconds"], "lr", rows)


def files_table(results: dict[str, Any]) -> str:
    """Return the seconds of an evaluation of each file, and of other libraries that only read it."""
    libraries = list(dict.fromkeys(library for file in results["files"] for library in file["seconds"]))
    rows = []
    for file in results["files"]:
        cells = [f"{file['seconds'][name]:.3g}" if name in file["seconds"] else "" for name in libraries]
        rows.append([file["title"], f"{file['n_bytes'] / MIB:.0f}", *cells])
    header = [f"P@5 of {results['n_scores']:,} scores, seconds", "MiB", *libraries]
    return table(header, "lr" + "r" * len(libraries), rows)


def comparison_tables(results: dict[str, Any]) -> str:
    """Say what the machine can do, and lay out a table for each case, with a row for each workload."""
    machine, scale = results["machine"], results["scale"]
    read = " and ".join(f"{rate / 1e9:.0f}" for rate in machine["read_bytes_per_second"].values())
    sort = " and ".join(f"{rate / 1e6:.0f}" for rate in machine["sort_keys_per_second"].values())
    threads = " and ".join(machine["read_bytes_per_second"])
    tables = [
        f"{machine['processor']}, {machine['cores']} cores: {threads} threads read {read} GB/s and "
        f"sort {sort} million float32 keys a second." + (f" Sizes times {scale:g}." if scale != 1 else "")
    ]
    for name in PEERS:
        workloads = [workload for workload in SIZES if records_of(results, name, workload)]
        rows = [case_row(name, workload, results) for workload in workloads]
        if rows:
            tables.append(f"**{CASES[name].title}**\n\n{table(HEAD, 'lrrrrl', rows)}")
    return "\n\n".join(tables)


def case_row(name: str, workload: str, results: dict[str, Any]) -> list[str]:
    """Return the row of one case."""
    records = records_of(results, name, workload)
    ours, single = records.pop("xmleval"), records.pop("xmleval threads=1")
    others = [f"{library} {outcome(record, ours)}" for library, record in records.items()]
    memory, bound = f"{ours['above_bytes'] / MIB:.0f}", limit(ours, records, results["machine"])
    return [workload, seconds(ours), outcome(single), bound, memory, ", ".join(others)]


def outcome(record: dict[str, Any], ours: dict[str, Any] | None = None) -> str:
    """Return the time of a library and its ratio to ours, or why there is none."""
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
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def limit(record: dict[str, Any], others: dict[str, dict[str, Any]], machine: dict[str, Any]) -> str:
    """Compare with reading the inputs once or, if scores must be sorted, with `np.sort`."""
    if record["family"] == "micro_auc":
        bound = others["np.sort"].get("seconds")
        return f"{times(record['seconds'] / bound)} sorting" if bound else ""
    if record["inputs_bytes"] < LEAST_READ:
        return ""
    bound = record["inputs_bytes"] / max(machine["read_bytes_per_second"].values())
    return f"{times(record['seconds'] / bound)} reading"
