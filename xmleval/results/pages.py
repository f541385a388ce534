"""What the pages of results show: the decision in a sentence, then tables and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.results.figures import Kind, diagrams_of_ranks, dots_of_average_ranks
from xmleval.results.shown import Compared, Ranked, Shown
from xmleval.show.page import Section, as_page
from xmleval.show.panels import Panel
from xmleval.show.tables import Table, rows_of, short

MOST_ROWS = 1000  # of the tables below a figure
EXTREMES: dict[str, tuple[str, Any]] = {"up": ("highest", max), "down": ("lowest", min)}


class PageContents(NamedTuple):
    """What a page is made of."""

    data: str  # its size in words
    shown: Shown
    specs: Sequence[Spec]  # of the tables
    tables: Sequence[Table]
    footnotes: Sequence[str]
    figures: Mapping[str, tuple[Kind, Sequence[Panel]]]


def page_of(contents: PageContents, title: str | None, about: Mapping[str, str] | None) -> str:
    """Return the page of a result."""
    models = contents.shown.models
    default = f"Evaluation of {', '.join(models)}" if any(models) else "Evaluation"
    facts = {"Data": contents.data} | dict(about or {})
    return as_page(title or default, summary_of(contents), _sections(contents), facts)


def _sections(contents: PageContents) -> Iterator[Section]:
    """Yield the results, the figures that they suffice for, and further tables."""
    compared = contents.shown.compared
    tables = contents.tables
    if compared is not None:
        tables = [table for table in tables if table.kind != "labels"]
    figures = {name: figure for name, figure in contents.figures.items() if figure[1]}
    first = [table for table in tables if table.kind not in figures]
    yield Section("Results", first, contents.footnotes)
    for name, (kind, panels) in figures.items():
        yield _figure_section(kind, panels, [table for table in tables if table.kind == name])
    if compared is not None:
        yield from compared.change_sections()
    yield from _truth_sections(contents)


def _figure_section(kind: Kind, panels: Sequence[Panel], tables: Sequence[Table]) -> Section:
    """Return a figure with the first of its tables."""
    n_shown = sum(n <= MOST_ROWS for n in accumulate(len(table.rows) for table in tables))
    lines = []
    if n_shown < len(tables):
        n_left = counted(len(tables) - n_shown, "more tables", "more table")
        lines = [f"{n_left}; CSV and JSON have all."]
    return Section(kind.heading, tables[:n_shown], lines, panels, kind.caption)


def _truth_sections(contents: PageContents) -> Iterator[Section]:
    """Yield the measures of the truth alone, of the first model, that the tables leave out."""
    for report in [*contents.shown.models.values()][:1]:
        of_truth = [spec for spec in report.specs if not spec.needs and spec not in contents.specs]
        rows = [[spec.symbol, short(report[spec.name])] for spec in of_truth]
        if rows:
            yield Section(
                "Data set", [Table("measures of the truth", rows_of([["measure", "value"], *rows]))]
            )


def summary_of(contents: PageContents) -> list[str]:
    """Return the decision in a sentence, by the first measure, and in another how all tests ended."""
    models, _, comparison = contents.shown
    spec = next((spec for spec in contents.specs if spec.metric.direction in EXTREMES), None)
    if spec is None or not models:
        return []
    first = next(iter(models.values()))
    rows = f"{counted(first.n_rows, 'rows')} and {counted(first.n_labels, 'labels')}"
    if len(models) == 1:
        return [f"{spec.symbol} is {first.record(spec).text()} on {rows}."]
    values = {name: report[spec.name] for name, report in models.items() if not math.isnan(report[spec.name])}
    if not values:
        return [f"{spec.symbol} is undefined on {rows}."]
    superlative, extreme = EXTREMES[spec.metric.direction]
    best = extreme(values, key=values.__getitem__)
    equal = [name for name, value in values.items() if subtract(value, values[best]) == 0]
    verb = "have" if equal[1:] else "has"
    value = models[best].record(spec).text()
    start = f"{_listed(equal)} {verb} the {superlative} {spec.symbol}, {value}, on {rows}"
    if comparison is None or not comparison.pairs:
        return [f"{start}; the models were not compared: whether the difference is real is not known."]
    return ["; ".join([start, *_decision(comparison, spec, best)]) + ".", *_tests(comparison)]


def _decision(comparison: Compared, spec: Spec, best: str) -> list[str]:
    """Say how the best model differs from the others."""
    worse = list[str]()
    similar = list[str]()
    untested = list[str]()
    for each in comparison.differences:
        pair = [comparison.names[each.a], comparison.names[each.b]]
        if each.name != spec.name or each.kind or best not in pair:
            continue
        other = pair[1] if pair[0] == best else pair[0]
        if each.better is not None:
            worse.append(other)
        elif math.isnan(each.p_value):
            untested.append(other)
        else:
            similar.append(other)
    parts = list[str]()
    if worse:
        parts.append(f"significantly better than {_listed(worse)}")
    if similar:
        parts.append(f"no significant difference is seen between {best} and {_listed(similar)}")
    if untested:
        parts.append(f"differences to {_listed(untested)} could not be tested")
    return parts


def _tests(comparison: Compared) -> list[str]:
    if not comparison.n_tests or comparison.level is None:
        return []
    tests = [each for each in comparison.differences if not each.same_as]
    wins = [each.better for each in tests if each.better is not None]
    chance = f"p < {1 - comparison.level:.4g} after Holm's correction"
    if not wins:
        return [f"None of {counted(comparison.n_tests, 'tests')} is significant ({chance})."]
    counts = ", ".join(f"{shown} {wins.count(name)}" for name, shown in comparison.names.items())
    return [f"Of {counted(comparison.n_tests, 'tests')}, each model won ({chance}): {counts}."]


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def page_of_ranks(
    rankings: Sequence[Ranked], title: str | None = None, about: Mapping[str, str] | None = None
) -> str:
    """Return a page of rankings by one or more measures."""
    summary = [*map(_best, rankings)]
    return as_page(title or "Ranking of models", summary, _rank_sections(rankings), about or {})


def _rank_sections(rankings: Sequence[Ranked]) -> Iterator[Section]:
    are_many = len(rankings) > 1
    named = [(ranking.symbol, table) for ranking in rankings for table in ranking.tables()]
    tables = [table._replace(caption=f"{symbol}: {table.caption}") for symbol, table in named]
    lines = list[str]()
    for ranking in rankings:
        start = f"{ranking.symbol}: " if are_many else ""
        lines += [f"{start}{line}" for line in ranking.footnotes()]
    yield Section("Results", tables, lines)
    if are_many:
        dots = dots_of_average_ranks(rankings)
        yield Section("Average ranks", panels=dots, caption="Average rank of each model by each measure.")
    for ranking in rankings:
        heading = f"Critical differences by {ranking.symbol}" if are_many else "Critical differences"
        caption = "Models that a bar joins are not significantly different."
        if ranking.control is not None:
            control = ranking.names[ranking.control]
            caption = f"Models within the bar are not significantly different from {control}, the control."
        yield Section(heading, panels=diagrams_of_ranks([ranking]), caption=caption)


def _best(ranking: Ranked) -> str:
    """Return the best model and the models that do not differ from it, in a sentence."""
    names = ranking.names
    control = ranking.control
    best, rank = next(iter(ranking.average_ranks.items()))
    near = next((group for group in ranking.groups if best in group), [])
    similar = ", ".join(names[model] for model in near if model != best)
    if control is not None and control != best:
        seen = "no significant" if near else "a significant"
        decision = f"{seen} difference is seen to {names[control]}, the control"
    elif similar:
        decision = f"no significant difference is seen to {similar}"
    else:
        decision = "all others differ significantly"
    return f"{names[best]} has the best average rank by {ranking.symbol}, {rank:.3g}; {decision}."
