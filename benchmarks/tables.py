"""Benchmark results as Markdown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.comparisons import FAMILIES, is_own
from benchmarks.growth import plot
from benchmarks.workloads import SIZES

MIB = 1 << 20
KEY_BYTES = {"micro_auc": 4, "macro_auc": 8}  # of a score, and of a score with its label
HEAD = ("data", "xmleval, s", "1 thread, s", "of the limit", "MiB of allowed", "others, s")
# Seconds of pyxclib 5d13086 (not on PyPI) in an earlier run on 2 cores with AVX-512, on which 2 threads read
# 50 GB/s and one sorts 300 million float32 keys per second.
QUOTED: dict[tuple[str, str], dict[str, float]] = {
    ("at_k_lists", "W2"): {"pyxclib": 0.248},
    ("at_k_lists", "W3"): {"pyxclib": 0.173},
    ("at_k_lists", "W4"): {"pyxclib": 2.16},
    ("at_k_matrix", "W2"): {"pyxclib": 1.20},
    ("at_k_matrix", "W3"): {"pyxclib": 1.14},
    ("at_k_matrix", "W4"): {"pyxclib": 5.5},
}
# Cases of the short table: title, family, workload
SHORT = (
    ("P, nDCG, R, PSP, PSnDCG at 1, 3, 5 from top-5 lists", "at_k_lists", "W2"),
    ("the same", "at_k_lists", "W3"),
    ("the same", "at_k_lists", "W4"),
    ("the same from sparse scores, 100 per row", "at_k_matrix", "W4"),
    ("F1 micro, macro, samples from sparse sets", "sets", "W4"),
    ("one-error, coverage, ranking loss, LRAP, row AUC from dense scores", "ranking", "W1d"),
    ("micro-AUC from sparse scores, 100 per row", "micro_auc", "W4"),
    ("macro-AUC from dense scores", "macro_auc", "W1d"),
)


def write_report(folder: Path) -> str:
    """Write tables.md and growth.svg from the existing results, and return the tables."""
    found = read_results(folder)
    if "growth" in found:
        records = found.get("comparison", {}).get("records", [])
        if not plot(found["growth"], records, folder / "growth.svg"):
            print("no plot: matplotlib is not installed", file=sys.stderr)
    text = report(found)
    (folder / "tables.md").write_text(text)
    return text


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the existing results."""
    return {
        name: json.loads((folder / f"{name}.json").read_text())
        for name in ("comparison", "threads", "growth", "startup")
        if (folder / f"{name}.json").is_file()
    }


def report(found: dict[str, dict[str, Any]]) -> str:
    """Return all tables."""
    parts = []
    if "comparison" in found:
        parts += [machine_line(found["comparison"]), *comparison_tables(found["comparison"])]
    if "threads" in found:
        parts.append(threads_table(found["threads"]))
    if "startup" in found:
        parts.append(startup_table(found["startup"]))
    if "growth" in found:
        parts.append(growth_table(found["growth"]))
    return "\n\n".join(parts) + "\n"


def short_table(found: dict[str, Any]) -> str:
    """Return a table of a few cases, with the fastest other library."""
    lines = ["| measures | rows x labels | xmleval, s | fastest other, s |", "|---|---|---:|---|"]
    for title, family, name in SHORT:
        size = SIZES[name]
        records = {
            r["library"]: r for r in found["records"] if (r["family"], r["workload"]) == (family, name)
        }
        first = records["xmleval"]
        others = [
            (record["seconds"], f"{library} {record['seconds']:.3g}", share_of(record, first))
            for library, record in records.items()
            if "seconds" in record and not is_own(library)
        ]
        quoted = QUOTED.get((family, name), {}).items()
        others += [(value, f"{library} {value:.3g}", "quoted") for library, value in quoted]
        spent, shown, note = min(others)
        ratio = ", ".join(filter(None, [times(spent / first["seconds"]), note]))
        cells = [title, f"{size.rows:,} x {size.labels:,}", seconds(first), f"{shown} ({ratio})"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def share_of(record: dict[str, Any], first: dict[str, Any]) -> str:
    """Return how many of our values another library computes, if not all."""
    own, all_of_them = len(record["values"]), len(first["values"])
    return f"{own} of {all_of_them} values" if own < all_of_them else ""


def threads_table(found: dict[str, Any]) -> str:
    """Return the times of each state by number of threads."""
    first = found["cases"][0]["seconds"]
    columns = [f"{threads} thread{'s' if threads != '1' else ''}, s" for threads in first]
    rows = [f"| statistic | data | {' | '.join(columns)} | ratio |", f"|---|---|{'---:|' * (len(first) + 1)}"]
    for case in found["cases"]:
        spent = list(case["seconds"].values())
        cells = [
            case["case"],
            case["workload"],
            *(f"{one:.3g}" for one in spent),
            times(spent[0] / spent[-1]),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def growth_table(found: dict[str, Any]) -> str:
    """Say for each case which stored entries it spans, and how much the time grows."""
    rows = ["| growth | stored entries | seconds |", "|---|---|---|"]
    for title in dict.fromkeys(point["case"] for point in found["by_entries"]):
        own = [point for point in found["by_entries"] if point["case"] == title]
        ends = own[0], own[-1]
        entries, spent = (" to ".join(f"{end[key]:.2g}" for end in ends) for key in ("entries", "seconds"))
        rows.append(f"| {title} | {entries} | {spent} |")
    return "\n".join(rows)


def machine_line(found: dict[str, Any]) -> str:
    """Say what the machine can do."""
    machine, scale = found["machine"], found["scale"]
    read = " and ".join(f"{rate / 1e9:.0f}" for rate in machine["read_bytes_per_second"].values())
    sort = " and ".join(f"{rate / 1e6:.0f}" for rate in machine["sort_keys_per_second"].values())
    threads = " and ".join(machine["read_bytes_per_second"])
    return (
        f"{machine['processor']}, {machine['cores']} cores: {threads} threads read {read} GB/s and "
        f"sort {sort} million float32 keys a second." + (f" Sizes times {scale:g}." if scale != 1 else "")
    )


def comparison_tables(found: dict[str, Any]) -> list[str]:
    """Lay out a table for each family, with a row for each workload and the libraries beside."""
    tables = []
    for family, case in FAMILIES.items():
        own = [record for record in found["records"] if record["family"] == family]
        lines = [f"**{case.title}**", "", f"| {' | '.join(HEAD)} |", "|---|---:|---:|---:|---:|---|"]
        for name in dict.fromkeys(record["workload"] for record in own):
            records = [record for record in own if record["workload"] == name]
            lines.append(case_row(family, name, records, found["machine"], found["scale"] == 1))
        if own:
            tables.append("\n".join(lines))
    return tables


def case_row(
    family: str, name: str, records: list[dict[str, Any]], machine: dict[str, Any], with_quoted: bool
) -> str:
    """Return the row of one case, with quoted times if the workload has its original size."""
    by_library = {record["library"]: record for record in records}
    first, single = by_library.pop("xmleval"), by_library.pop("xmleval threads=1")
    others = [f"{library} {outcome(record, first)}" for library, record in by_library.items()]
    quoted = QUOTED.get((family, name), {}).items() if with_quoted else []
    others += [
        f"{library} {value:g} ({times(value / first['seconds'])}, quoted)" for library, value in quoted
    ]
    above, allowed = first["above_bytes"], allowed_bytes(first)
    memory = f"{above / MIB:.0f} of {allowed / MIB:.0f}" + (", **over**" if above > allowed else "")
    bound = limit(first, by_library, machine)
    cells = [name, seconds(first), outcome(single), bound, memory, ", ".join(others)]
    return f"| {' | '.join(cells)} |"


def outcome(record: dict[str, Any], first: dict[str, Any] | None = None) -> str:
    """Return the time of a library and its ratio to ours, or why there is none."""
    if "absent" in record:
        return "absent"
    if "failed" in record:
        return f"failed ({record['failed']})"
    return seconds(record) + (f" ({beside(record, first)})" if first else "")


def seconds(record: dict[str, Any]) -> str:
    """Format seconds; mark a single run."""
    return f"{record['seconds']:.3g}" + (" (once)" if record["runs"] == 1 else "")


def beside(record: dict[str, Any], first: dict[str, Any]) -> str:
    """Return a library's time divided by ours, its memory and, of several calls, the fastest."""
    parts = [times(record["seconds"] / first["seconds"]), f"{record['above_bytes'] / MIB:.0f} MiB"]
    if len(record["steps"]) > 1:
        name = min(record["steps"], key=lambda step: float(record["steps"][step]))
        parts.append(f"{name} alone {record['steps'][name]:.3g}")
    return "; ".join(parts)


def times(ratio: float) -> str:
    """Format a ratio."""
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def limit(record: dict[str, Any], others: dict[str, dict[str, Any]], machine: dict[str, Any]) -> str:
    """Compare with reading the inputs once or, if scores must be sorted, with `np.sort`."""
    if record["family"] == "micro_auc":
        bound = others["np.sort"].get("seconds")
        return f"{times(record['seconds'] / bound)} sorting" if bound else ""
    bound = record["inputs_bytes"] / max(machine["read_bytes_per_second"].values())
    return f"{times(record['seconds'] / bound)} reading"


def over_memory(records: list[dict[str, Any]]) -> list[str]:
    """Return a line for each of our cases that takes more memory than allowed."""
    return [
        f"{r['library']} takes {r['above_bytes'] / MIB:.0f} MiB above the inputs, more than "
        f"{allowed_bytes(r) / MIB:.0f}, in {r['family']} of {r['workload']}"
        for r in records
        if r["library"].startswith("xmleval") and "seconds" in r and r["above_bytes"] > allowed_bytes(r)
    ]


def allowed_bytes(record: dict[str, Any]) -> float:
    """Return the memory above the inputs that a case may take.

    15 % of the inputs and 64 MiB; for sets, three counts per label; for AUC, 1.2 times the sort keys.
    """
    allowed = 0.15 * record["inputs_bytes"] + 64 * MIB
    if record["family"] == "sets":
        allowed += 3 * record["labels"]
    return float(allowed + 1.2 * KEY_BYTES.get(record["family"], 0) * record["entries"])


def startup_table(found: dict[str, Any]) -> str:
    """Return start-up times."""
    rows = ["| start-up | seconds |", "|---|---:|"]
    rows += [f"| {name} | {value:.2f} |" for name, value in found["seconds"].items()]
    return "\n".join(rows)
