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
    """Return means and standard deviations by measure and method on one data set, the best in bold."""
    methods = list(dict.fromkeys(method for name, method, _ in results if name == data))
    rows = []
    for measure in (name for name in MEASURES if name in reading):
        ranks = rank_methods(results, data, measure)
        row = [f"{title(measure, reading[measure])} {'↑' if upwards(measure) else '↓'}"]
        for method in methods:
            if method not in ranks:
                row.append("")
                continue
            values = results[data, method, measure]
            shown = f"{values.mean():.4f}"
            shown = f"**{shown}**" if ranks[method] == min(ranks.values()) else shown
            row.append(shown + (f" ± {values.std(ddof=1):.4f}" if values.size > 1 else ""))
        rows.append(row)
    return to_markdown(["measure", *methods], rows)


def ranks_table(ranks: Ranks) -> str:
    """Return average ranks by measure, and their mean over measures."""
    methods = list(dict.fromkeys(method for _, method in ranks))
    rows = []
    for measure in MEASURES:
        found = [ranks.get((measure, method)) for method in methods]
        shown = ["" if rank is None else f"{rank:.1f}" for rank in found]
        rows.append([title(measure, READING[measure]), *shown])
    total = [[rank for (_, name), rank in ranks.items() if name == method] for method in methods]
    rows.append(["average", *(f"{sum(own) / len(own):.2f}" for own in total)])
    return to_markdown(["measure", *methods], rows)


def sets_table(by_setting: Mapping[str, Ranks]) -> str:
    """Return average ranks on measures of sets, and their mean, for several kinds of thresholds."""
    methods = list(dict.fromkeys(method for ranks in by_setting.values() for _, method in ranks))
    rows = []
    for measure in SETS:
        for setting, ranks in by_setting.items():
            found = [f"{ranks[measure, method]:.1f}" for method in methods]
            rows.append([f"{title(measure, '')}, {setting}", *found])
    for setting, ranks in by_setting.items():
        means = [sum(ranks[measure, method] for measure in SETS) / len(SETS) for method in methods]
        rows.append([f"average, {setting}", *(f"{mean:.2f}" for mean in means)])
    return to_markdown(["measure", *methods], rows)


def verdicts_table(verdicts: Sequence[Verdict]) -> str:
    """Return claims, verdicts and the numbers that decide them."""
    rows = [[v.claim, v.measure, "held" if v.held else "**not held**", v.numbers] for v in verdicts]
    return to_markdown(["claim", "measure", "verdict", "numbers"], rows)


def variants_table(by_variant: Mapping[str, Sequence[Verdict]]) -> str:
    """Return whether each claim holds under each variant of LIMO."""
    first = next(iter(by_variant.values()))
    rows = [
        [
            f"{v.claim}: {v.measure}",
            *("held" if own[i].held else "**not held**" for own in by_variant.values()),
        ]
        for i, v in enumerate(first)
    ]
    return to_markdown(["claim", *by_variant], rows)


def relative_values(results: Results, data: str) -> dict[tuple[str, str], float]:
    """Return means by measure and method, scaled so that the best is 1 and the worst 0."""
    relative: dict[tuple[str, str], float] = {}
    for measure in MEASURES:
        means = {
            m: float(values.mean())
            for (d, m, name), values in results.items()
            if (d, name) == (data, measure)
        }
        best = max(means.values()) if upwards(measure) else min(means.values())
        worst = min(means.values()) if upwards(measure) else max(means.values())
        for method, mean in means.items():
            shown = (mean - worst) / (best - worst) if better(measure, best, worst) else 1.0
            relative[measure, method] = shown
    return relative
