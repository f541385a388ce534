"""How often confidence intervals cover, and how p-values are distributed, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xmleval.spec import parse_spec

Record = Mapping[str, Any]


def tables_of(found: Mapping[str, Sequence[Record]]) -> str:
    """Return all tables that there are results for."""
    makers = {
        "coverage": coverage_table,
        "groups": groups_table,
        "shares": shares_table,
        "p_values": p_values_table,
        "bootstrap": bootstrap_table,
    }
    return "\n\n".join(make(found[part]) for part, make in makers.items() if part in found)


def coverage_table(records: Sequence[Record]) -> str:
    """Return the shares of intervals that cover the expected value, and that of the population."""
    kinds = {
        (False, False): "{} rows",
        (True, True): "{} clustered rows",
        (True, False): "clusters ignored, {} rows",
    }
    cases = [(kind, n) for kind in kinds for n in sizes_of(records)]
    by_case = {(r["measure"], (r["clusters"], r["groups"]), r["rows"]): r for r in records}
    cases = [case for case in cases if any(key[1:] == case for key in by_case)]
    head = ["covered, %", *(kinds[kind].format(f"{n:,}") for kind, n in cases)]
    most = max(record["sets"] for record in records)
    rows = [
        [symbol(name), *(covered(by_case.get((name, *case)), most) for case in cases)]
        for name in names_of(records)
    ]
    fewer = sorted({record["sets"] for record in records} - {most})
    note = f"\n\n*: {' or '.join(f'{n_sets:,}' for n_sets in fewer)} data sets" if fewer else ""
    title = f"{most:,} data sets: intervals that cover the expected value (that of the population)"
    return f"**{title}**\n\n{table(head, rows)}{note}"


def covered(record: Record | None, most: int) -> str:
    """Return both shares in percent, marked if they are of fewer data sets."""
    if record is None:
        return ""
    mark = "*" if record["sets"] < most else ""
    return f"{100 * record['covered']:.1f} ({100 * record['covered_population']:.0f}){mark}"


def groups_table(records: Sequence[Record]) -> str:
    """Return coverage, and width relative to that of 32 groups, by number of groups."""
    by_case = {(r["measure"], r["rows"], r["n_groups"]): r for r in records}
    counts = sorted({record["n_groups"] for record in records})
    rows = []
    for name in names_of(records):
        for n_rows in sizes_of(records):
            found = [by_case.get((name, n_rows, n_groups)) for n_groups in counts]
            base = by_case.get((name, n_rows, 32))
            if base:
                cells = [
                    f"{100 * r['covered']:.1f}, {r['width'] / base['width']:.2f}, {100 * r['spread']:.0f}"
                    for r in found
                    if r
                ]
                rows.append([symbol(name), f"{n_rows:,}", *cells])
    head = ["measure", "rows", *(f"{n_groups} groups" for n_groups in counts)]
    title = "covered in %, mean width relative to 32 groups, and how much the width varies in %"
    return f"**{records[0]['sets']:,} data sets: {title}**\n\n{table(head, rows)}"


def shares_table(records: Sequence[Record]) -> str:
    """Return coverage of shares near 1."""
    head = ["share of rows", "rows", "expected misses", "covered, %", "by logits, %", "no width, %"]
    rows = [
        [f"{r['share']:g}", f"{r['rows']:,}", f"{r['rows'] * (1 - r['share']):,.0f}"]
        + [f"{100 * r[key]:.1f}" for key in ("covered", "covered_logit", "empty")]
        for r in records
    ]
    return f"**{records[0]['sets']:,} data sets: shares of rows near 1**\n\n{table(head, rows)}"


def p_values_table(records: Sequence[Record]) -> str:
    """Return whether p-values are uniform, and what share of real differences is seen."""
    head = ["measure", "test", "rows", "KS, p", "too small, p", "false, %", "seen, %", "SciPy's, %"]
    rows = []
    for record in records:
        kind = f"{record['rows']:,}{' clustered' * record['clusters']}"
        tests = [f"{record[key]:.2g}" for key in ("ks_p", "ks_small")]
        shares = [f"{100 * record[key]:.1f}" for key in ("false", "power")]
        scipys = f"{100 * record['scipy']:.1f}" if "scipy" in record else ""
        rows.append([symbol(record["measure"]), record["test"], kind, *tests, *shares, scipys])
    title = "p-values under no difference, and differences seen at 0.05 where there is one"
    return f"**{records[0]['draws']:,} draws: {title}**\n\n{table(head, rows)}"


def bootstrap_table(records: Sequence[Record]) -> str:
    """Return both intervals of each measure."""
    rows = []
    for record in records:
        bounds = ["{:.4f} to {:.4f}".format(*record[key]) for key in ("jackknife", "bootstrap")]
        errors = [f"{record[key]:.4f}" for key in ("error", "deviation")]
        rows.append([symbol(record["measure"]), f"{record['value']:.4f}", *bounds, *errors])
    head = ["measure", "value", "jackknife", "bootstrap", "standard error", "that of the bootstrap"]
    title = (
        f"bibtex, logistic regression: intervals beside those of {records[0]['samples']:,} bootstrap samples"
    )
    return f"**{title}**\n\n{table(head, rows)}"


def names_of(records: Iterable[Record]) -> list[str]:
    """Return the measures."""
    return list(dict.fromkeys(record["measure"] for record in records))


def sizes_of(records: Iterable[Record]) -> list[int]:
    """Return the numbers of rows."""
    return sorted({record["rows"] for record in records})


def symbol(name: str) -> str:
    """Return how a measure is printed."""
    return parse_spec(name).symbol


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose numbers are aligned right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
