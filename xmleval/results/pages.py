"""What the page of a report, or of several, shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.results.changes import MOST_CHANGED, find_changes
from xmleval.show.kinds import KINDS
from xmleval.show.page import Figure, Page, Section, rows_of
from xmleval.show.tables import Table, short
from xmleval.version import __version__

HEADINGS = {
    "values": ("Values", "Values of each measure; lines are confidence intervals where there are any."),
    "differences": (
        "Differences",
        "Differences of pairs with their intervals; full marks are significant after Holm's correction.",
    ),
    "cutoffs": ("Measures against k", "Bands are confidence intervals of each value alone."),
    "ranks": ("Precision at each rank", "The share of rows whose label at this rank alone is relevant."),
    "groups": (
        "Groups of labels",
        "Measures within groups of labels: truth and ranking are restricted to the group, and rows without "
        "its labels are left out.",
    ),
    "precision_recall": (
        "Precision-recall curve",
        "Precision and recall of all entries, by threshold of scores.",
    ),
    "roc": ("ROC curve", "Shares of relevant and of irrelevant entries, by threshold of scores."),
    "scores": (
        "Scores",
        "Shares of listed entries with this score or a better one, relevant and irrelevant.",
    ),
    "calibration": (
        "Calibration",
        "The share of relevant entries in bins of scores; the bins of calibrated scores cross the diagonal.",
    ),
    "labels": ("Labels", "Each relevant label by both models; those that differ most have their names."),
}
MOST_ROWS = 1000  # of the tables below a figure
SUPERLATIVES = {"up": "highest", "down": "lowest"}


def page_of(told: Any, title: str | None, about: Mapping[str, str] | None) -> Page:
    """Return the page of a `Report`, a `Comparison` or what was compared."""
    models = told._models()
    names = None if len(models) == 1 else [*models]
    tables = told.tables_by_kind(names)
    figures = []
    for kind in KINDS:
        panels = _panels(told, kind)
        if panels:
            figures.append(Figure(*HEADINGS[kind], panels, *_most(tables.pop(kind, []))))
    size = told.size()
    grid = told.grid() if names is None else told.grid_of(names)
    rest = [one for several in tables.values() for one in several]
    return Page(
        title=title or (f"Evaluation of {', '.join(models)}" if any(models) else "Evaluation"),
        summary=summary_of(told, models),
        results=Section("Results", [Table(size, grid), *rest], _notes(told, names)),
        figures=figures,
        sections=[
            *_changed(told, models),
            *_of_truth(models, told.specs),
        ],
        about={"xmleval": __version__, "Data": size} | dict(about or {}),
    )


def _notes(told: Any, names: Sequence[str] | None) -> list[str]:
    """Return the lines below the table under names of the models, as the table has them."""
    lines: list[str] = told.footnotes()
    for name, shown in zip(told.reports, names, strict=True) if names else ():
        start = f"{name}: "
        lines = [f"{shown}: {line[len(start) :]}" if line.startswith(start) else line for line in lines]
    return lines


def _most(tables: Sequence[Table]) -> tuple[Sequence[Table], str]:
    """Return the first tables, as many as a page has room for, and a line on the others."""
    n_rows, shown = 0, 0
    while shown < len(tables) and n_rows + len(tables[shown].rows) <= MOST_ROWS:
        n_rows, shown = n_rows + len(tables[shown].rows), shown + 1
    more = len(tables) - shown
    return tables[
        :shown
    ], f"{counted(more, 'more tables', 'more table')}; CSV and JSON have all." if more else ""


def _panels(told: Any, kind: str) -> Any:
    try:
        return told.panels(kind)
    except ValueError:  # it needs what was not computed
        return []


def summary_of(told: Any, models: Mapping[str, Any]) -> list[str]:
    """Return the result in a sentence or two: the first measure, and whether its differences are real."""
    spec = next((spec for spec in told.specs if spec.metric.direction in SUPERLATIVES), None)
    if spec is None:
        return []
    first = next(iter(models.values()))
    rows = f"{counted(first.n_rows, 'rows')} and {counted(first.n_labels, 'labels')}"
    if len(models) == 1:
        return [f"{spec.symbol} is {first.shown(spec)} on {rows}."]
    known = {name: one for name, one in models.items() if not math.isnan(one[spec.name])}
    if not known:
        return [f"{spec.symbol} is undefined on {rows}."]
    sign = 1 if spec.metric.direction == "up" else -1
    best = max(known, key=lambda name: sign * known[name][spec.name])
    superlative = f"the {SUPERLATIVES[spec.metric.direction]} {spec.symbol}"
    equal = [name for name in known if subtract(known[name][spec.name], known[best][spec.name]) == 0]
    has = "have" if equal[1:] else "has"
    told_best = f"{_listed(equal)} {has} {superlative}, {known[best].shown(spec)}, on {rows}."
    compared = told._compared()
    if compared is None:
        return [told_best, "The models were not compared: whether the difference is real is not known."]
    return [told_best, *_decision(compared, spec, dict(zip(compared.reports, models, strict=True)), best)]


def _decision(compared: Any, spec: Spec, names: Mapping[str, str], best: str) -> list[str]:
    """Return which differences to the best model are significant, and how all tests ended."""
    ahead, level, untested, lines = list[str](), list[str](), list[str](), list[str]()
    for one in compared.differences:
        pair = [names[one.a], names[one.b]]
        if one.name == spec.name and best in pair:
            other = pair[pair[0] == best]
            seen = ahead if one.better is not None else untested if math.isnan(one.p_value) else level
            seen.append(other)
    if ahead:
        lines.append(f"It is significantly better than {_listed(ahead)}.")
    if level:
        lines.append(f"No significant difference is seen between {best} and {_listed(level)}.")
    if untested:
        lines.append(f"Its differences to {_listed(untested)} could not be tested.")
    wins = [names[one.better] for own in compared.parts for one in own.differences if one.better is not None]
    counts = ", ".join(f"{name} {wins.count(name)}" for name in names.values())
    chance = f"p < {1 - compared.level:.4g} after Holm's correction"
    if compared.n_tests and not wins:
        lines.append(f"None of {counted(compared.n_tests, 'tests')} is significant ({chance}).")
    elif compared.n_tests:
        lines.append(f"Of {counted(compared.n_tests, 'tests')}, each model won ({chance}): {counts}.")
    return [" ".join(lines)]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _changed(told: Any, models: Mapping[str, Any]) -> list[Section]:
    """Return the labels and the rows that changed most from the first model to the second."""
    if len(models) < 2:
        return []
    pair = dict([*models.items()][:2])
    first, second = pair.values()
    names = None if first.label_names is None else (first.names_in_lists, second.names_in_lists)
    read = told.lists_of and partial(told.lists_of, dict([*told.reports.items()][:2]))
    found = told.changes or find_changes(told.specs, pair, MOST_CHANGED, read, first.row_names, names)
    a, b = pair
    sections = []
    if found.labels:
        table = Table(f"from {a} to {b} by {found.label_column}", found.label_grid())
        sections.append(Section("Labels that changed most", [table]))
    if found.rows:
        table = Table(f"from {a} to {b} by {found.spec.symbol}; of equal changes, losses first", found.grid())
        marks = ["* relevant"] if found.rows[0].lists else []
        sections.append(Section("Rows that changed most", [table], [found._title(), *marks]))
    return sections


def _of_truth(models: Mapping[str, Any], shown: Sequence[Spec]) -> list[Section]:
    """Return a table of what was measured of the truth alone, where the results leave it out."""
    first = next(iter(models.values()))
    told = {spec.name for spec in shown}
    rows = [
        [spec.symbol, short(first[spec.name])]
        for spec in first.specs
        if not spec.needs and spec.name not in told
    ]
    if not rows:
        return []
    return [Section("Data set", [Table("measures of the truth", rows_of(["measure", "value"], rows))])]
