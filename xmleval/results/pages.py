"""Contents of the pages of results: the decision in a sentence, then tables and figures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.results.figures import Kind, diagrams_of_ranks, dots_of_average_ranks
from xmleval.results.record import SETTINGS, Footnote
from xmleval.results.shown import Compared, FigureData, Ranked
from xmleval.show.page import Section, as_page
from xmleval.show.panels import Panel
from xmleval.show.tables import Table, rows_of, short

MOST_ROWS = 1000  # of the tables below a figure
EXTREMES: dict[str, tuple[str, Any]] = {"up": ("highest", max), "down": ("lowest", min)}


class PageContents(NamedTuple):
    """The contents of a page."""

    data: str  # its size in words
    figure_data: FigureData
    specs: Sequence[Spec]  # of the tables
    tables: Sequence[Table]
    footnotes: Sequence[Footnote]
    settings: Mapping[str, str]  # that affect values, with what they do
    figures: Mapping[str, tuple[Kind, Sequence[Panel]]]
    summary: Sequence[str] = ()  # default: made of the figure data


def page_of(contents: PageContents, title: str | None, about: Mapping[str, str] | None) -> str:
    """Return the page of a result."""
    models = contents.figure_data.models
    if not title:
        title = "Evaluation"
        if any(models):
            title += f" of {', '.join(models)}"
    facts = {"Data": contents.data, **contents.settings, **(about or {})}
    summary = contents.summary or summary_of(contents)
    return as_page(title, summary, _sections(contents), facts)


def _sections(contents: PageContents) -> Iterator[Section]:
    """Yield the results, the figures that they suffice for, and further tables.

    Each has the footnotes that are about it.
    """
    comparison = contents.figure_data.comparison
    tables = contents.tables
    if comparison is not None:
        tables = [table for table in tables if table.kind != "labels"]
    figures = {name: (kind, panels) for name, (kind, panels) in contents.figures.items() if panels}
    first = [table for table in tables if table.kind not in figures]
    lines = _lines_by_figure(contents.footnotes, figures)
    yield Section("Results", first, lines[""])
    for name, (kind, panels) in figures.items():
        figure_tables = [table for table in tables if table.kind == name]
        yield _figure_section(kind, panels, figure_tables, lines[name])
    if comparison is not None:
        yield from comparison._change_sections()
    yield from _truth_sections(contents)


def _lines_by_figure(
    footnotes: Iterable[Footnote], figures: Collection[str]
) -> defaultdict[str, list[str]]:
    """Return the footnotes by the figure that they are about; by "" those on all values.

    Settings are explained at the end of the page.
    """
    lines = defaultdict[str, list[str]](list)
    for footnote in footnotes:
        if footnote.about != SETTINGS:
            figure = footnote.about if footnote.about in figures else ""
            lines[figure].append(footnote.text)
    return lines


def _figure_section(
    kind: Kind, panels: Sequence[Panel], tables: Sequence[Table], notes: Sequence[str]
) -> Section:
    """Return a figure with the first of its tables, and the notes on it."""
    n_rows = accumulate(len(table.rows) for table in tables)
    n_listed = sum(n <= MOST_ROWS for n in n_rows)
    lines = [*notes]
    if n_listed < len(tables):
        more = counted(len(tables) - n_listed, "more tables", "more table")
        lines.append(f"{more}; CSV and JSON have all.")
    return Section(kind.heading, tables[:n_listed], lines, panels, kind.caption)


def _truth_sections(contents: PageContents) -> Iterator[Section]:
    """Yield the measures of the truth alone that the tables do not show, of the first model."""
    report = next(iter(contents.figure_data.models.values()), None)
    if report is None:
        return
    rows = [["measure", "value"]]
    for spec in report.specs:
        if not spec.needs and spec not in contents.specs:
            rows.append([spec.symbol, short(report[spec.name])])
    if len(rows) > 1:
        yield Section("Data set", [Table("measures of the truth", rows_of(rows))])


def summary_of(contents: PageContents) -> list[str]:
    """Return a sentence on the best model by the first measure, and one on all tests."""
    models, _, comparison = contents.figure_data
    spec = next((spec for spec in contents.specs if spec.metric.direction in EXTREMES), None)
    if spec is None or not models:
        return []
    first = next(iter(models.values()))
    rows = f"{counted(first.n_rows, 'rows')} and {counted(first.n_labels, 'labels')}"
    if len(models) == 1:
        return [f"{spec.symbol} is {first._record(spec)._text()} on {rows}."]
    values = {name: report[spec.name] for name, report in models.items()}
    values = {name: value for name, value in values.items() if not math.isnan(value)}
    if not values:
        return [f"{spec.symbol} is undefined on {rows}."]
    superlative, extreme = EXTREMES[spec.metric.direction]
    best = extreme(values, key=values.__getitem__)
    best_models = [name for name, value in values.items() if subtract(value, values[best]) == 0]
    verb = "have" if len(best_models) > 1 else "has"
    value = models[best]._record(spec)._text()
    start = f"{_listed(best_models)} {verb} the {superlative} {spec.symbol}, {value}, on {rows}"
    if comparison is None or not comparison.pairs:
        untested = "the models were not compared: whether the difference is real is not known"
        return [f"{start}; {untested}."]
    decision = "; ".join([start, *_decision(comparison, spec, best)])
    return [f"{decision}.", *_test_summary(comparison)]


def _decision(comparison: Compared, spec: Spec, best: str) -> list[str]:
    """Return phrases on how the best model differs from the others."""
    worse = list[str]()
    similar = list[str]()
    untested = list[str]()
    for difference in comparison.differences:
        a = comparison._names[difference.a]
        b = comparison._names[difference.b]
        if difference.name != spec.name or difference.kind or best not in (a, b):
            continue
        other = b if a == best else a
        if difference.better is not None:
            worse.append(other)
        elif math.isnan(difference.p_value):
            untested.append(other)
        else:
            similar.append(other)
    phrases = list[str]()
    if worse:
        phrases.append(f"significantly better than {_listed(worse)}")
    if similar:
        phrases.append(f"no significant difference is seen between {best} and {_listed(similar)}")
    if untested:
        phrases.append(f"differences to {_listed(untested)} could not be tested")
    return phrases


def _test_summary(comparison: Compared) -> list[str]:
    """Return a sentence on how many tests each model won, if there are tests."""
    if not comparison.n_tests or comparison.level is None:
        return []
    tests = counted(comparison.n_tests, "tests")
    chance = f"p < {1 - comparison.level:.4g} after Holm's correction"
    winners = [
        difference.better
        for difference in comparison.differences
        if not difference.same_as and difference.better is not None
    ]
    if not winners:
        return [f"None of {tests} is significant ({chance})."]
    counts = [f"{name} {winners.count(model)}" for model, name in comparison._names.items()]
    return [f"Of {tests}, each model won ({chance}): {', '.join(counts)}."]


def _listed(names: Sequence[str]) -> str:
    """Return names with commas and an "and" before the last one."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def page_of_ranks(
    rankings: Sequence[Ranked], title: str | None = None, about: Mapping[str, str] | None = None
) -> str:
    """Return a page of rankings by one or more measures."""
    summary = [*map(_rank_summary, rankings)]
    return as_page(title or "Ranking of models", summary, _rank_sections(rankings), about or {})


def _rank_sections(rankings: Sequence[Ranked]) -> Iterator[Section]:
    """Yield the tables of rankings, and their figures."""
    are_many = len(rankings) > 1
    tables = list[Table]()
    lines = list[str]()
    for ranking in rankings:
        symbol = ranking.symbol
        tables += [
            table._replace(caption=f"{symbol}: {table.caption}") for table in ranking.tables()
        ]
        start = f"{symbol}: " if are_many else ""
        lines += [f"{start}{line}" for line in ranking.footnotes()]
    yield Section("Results", tables, lines)
    if are_many:
        dots = dots_of_average_ranks(rankings)
        caption = "Average rank of each model by each measure."
        yield Section("Average ranks", panels=dots, caption=caption)
    for ranking in rankings:
        heading = "Critical differences"
        if are_many:
            heading += f" by {ranking.symbol}"
        caption = "Models that a bar joins are not significantly different."
        if ranking.control is not None:
            control = ranking._names[ranking.control]
            similar = "Models within the bar are not significantly different"
            caption = f"{similar} from {control}, the control."
        yield Section(heading, panels=diagrams_of_ranks([ranking]), caption=caption)


def _rank_summary(ranking: Ranked) -> str:
    """Return a sentence on the best model and the models that do not differ from it."""
    names = ranking._names
    control = ranking.control
    best, rank = next(iter(ranking.average_ranks.items()))
    group = next((group for group in ranking.groups if best in group), [])
    similar = ", ".join(names[model] for model in group if model != best)
    if control is not None and control != best:
        amount = "no significant" if group else "a significant"
        decision = f"{amount} difference is seen to {names[control]}, the control"
    elif similar:
        decision = f"no significant difference is seen to {similar}"
    else:
        decision = "all others differ significantly"
    return f"{names[best]} has the best average rank by {ranking.symbol}, {rank:.3g}; {decision}."
