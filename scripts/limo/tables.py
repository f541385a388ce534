"""Tables as Markdown and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.tables import table
from scripts.limo.claims import Ranks, Verdict, rank_methods
from scripts.limo.records import MEASURES, READING, SETS, Results, better, title, upwards


def to_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with right-aligned numbers."""
    return table(header, "l" + "r" * (len(header) - 1), rows) + "\n"


def values_table(results: Results, data: str, reading: Mapping[str, str] = READING) -> str:
    """Return means and standard deviations on one data set, the best in bold.

    Rows are measures, and columns are methods.
    """
    methods = list(dict.fromkeys(method for name, method, _ in results if name == data))
    rows = []
    for measure in (name for name in MEASURES if name in reading):
        ranks = rank_methods(results, data, measure)
        arrow = "↑" if upwards(measure) else "↓"
        row = [f"{title(measure, reading[measure])} {arrow}"]
        for method in methods:
            if method not in ranks:
                row.append("")
                continue
            values = results[data, method, measure]
            cell = f"{values.mean():.4f}"
            if ranks[method] == min(ranks.values()):
                cell = f"**{cell}**"
            if values.size > 1:
                cell += f" ± {values.std(ddof=1):.4f}"
            row.append(cell)
        rows.append(row)
    return to_markdown(["measure", *methods], rows)


def ranks_table(ranks: Ranks) -> str:
    """Return average ranks by measure, and their mean over measures."""
    methods = list(dict.fromkeys(method for _, method in ranks))
    rows = []
    for measure in MEASURES:
        row = [title(measure, READING[measure])]
        for method in methods:
            rank = ranks.get((measure, method))
            row.append("" if rank is None else f"{rank:.1f}")
        rows.append(row)
    averages = ["average"]
    for method in methods:
        method_ranks = [rank for (_, name), rank in ranks.items() if name == method]
        averages.append(f"{sum(method_ranks) / len(method_ranks):.2f}")
    rows.append(averages)
    return to_markdown(["measure", *methods], rows)


def sets_table(by_setting: Mapping[str, Ranks]) -> str:
    """Return average ranks on measures of sets, and their mean, for several kinds of thresholds."""
    methods = list(dict.fromkeys(method for ranks in by_setting.values() for _, method in ranks))
    rows = []
    for measure in SETS:
        for setting, ranks in by_setting.items():
            cells = [f"{ranks[measure, method]:.1f}" for method in methods]
            rows.append([f"{title(measure, '')}, {setting}", *cells])
    for setting, ranks in by_setting.items():
        means = [sum(ranks[measure, method] for measure in SETS) / len(SETS) for method in methods]
        rows.append([f"average, {setting}", *(f"{mean:.2f}" for mean in means)])
    return to_markdown(["measure", *methods], rows)


def verdicts_table(verdicts: Sequence[Verdict]) -> str:
    """Return claims, verdicts and the numbers that decide them."""
    rows = [[v.claim, v.measure, format_verdict(v), v.numbers] for v in verdicts]
    return to_markdown(["claim", "measure", "verdict", "numbers"], rows)


def variants_table(by_variant: Mapping[str, Sequence[Verdict]]) -> str:
    """Return a table of verdicts by claim and variant of LIMO."""
    first = next(iter(by_variant.values()))
    rows = []
    for i, verdict in enumerate(first):
        cells = [format_verdict(verdicts[i]) for verdicts in by_variant.values()]
        rows.append([f"{verdict.claim}: {verdict.measure}", *cells])
    return to_markdown(["claim", *by_variant], rows)


def format_verdict(verdict: Verdict) -> str:
    """Return whether a claim is true, as text."""
    return "held" if verdict.is_true else "**not held**"


def relative_values(results: Results, data: str) -> dict[tuple[str, str], float]:
    """Return means by measure and method, scaled so that the best is 1 and the worst 0."""
    relative: dict[tuple[str, str], float] = {}
    for measure in MEASURES:
        means = {
            m: float(values.mean())
            for (d, m, name), values in results.items()
            if (d, name) == (data, measure)
        }
        worst = min(means.values())
        best = max(means.values())
        if not upwards(measure):
            worst, best = best, worst
        for method, mean in means.items():
            relative[measure, method] = 1.0
            if better(measure, best, worst):
                relative[measure, method] = (mean - worst) / (best - worst)
    return relative
