"""What changed between two models: the rows and the labels whose values differ most."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError, counted, printable
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.show.printed import Printed
from xmleval.show.tables import (
    ARROWS,
    Cell,
    Table,
    as_csv,
    as_html,
    as_json_value,
    as_markdown,
    folded,
    short,
)
from xmleval.version import SCHEMA

if TYPE_CHECKING:
    from xmleval.results.report import Report

MOST_CHANGED = 20  # rows, and labels, unless their number is given
LISTED = 5  # labels of a row that are shown where the measure has no cutoff
RECORD = [
    "kind", "number", "name", "value_a", "value_b", "change", "support", "truth", "list_a", "list_b",
]  # fmt: skip


class Lists(NamedTuple):
    """Relevant labels of a row, and the first labels of each list, by number."""

    truth: Sequence[int]
    a: Sequence[int]
    b: Sequence[int]


class Change(NamedTuple):
    """A row, or a label, with its number, its name if it has one, and its value by both models."""

    number: int
    name: str | None
    a: float
    b: float
    lists: Lists | None = None  # of a row
    support: int | None = None  # of a label: the number of rows that have it

    @property
    def change(self) -> float:
        """Value of b minus that of a."""
        return self.b - self.a


@dataclass(frozen=True)
class Diff(Printed):
    """Rows and labels that changed most from one model to another.

    Parameters
    ----------
    spec : Spec
        The measure.
    a, b : str
        Names of the models.
    values : tuple of float
        Their values.
    rows : list of Change
        Rows that changed most, with their ``lists`` where these could be read; None where the measure is no
        mean over rows.
    labels : list of Change
        Labels that changed most, with their ``support``; None where there are no values by label.
    label_column : str
        What is compared by label, such as ``f1@5``, or ``tp@5``, the hits at 5.
    n_changed : tuple of int
        Numbers of rows that became better, stayed, and became worse.
    label_names : tuple of list of str, or None
        Names of labels, by model.
    notes : list of str
        What was seen in the data.

    Examples
    --------
    >>> models = {"old": np.eye(3) + 1, "new": np.eye(3)[[0, 2, 2]] + 1}
    >>> changes = diff(models, np.eye(3), metric="p@1")
    >>> changes.n_changed
    (0, 2, 1)
    """

    spec: Spec
    a: str
    b: str
    values: tuple[float, float]
    rows: list[Change] | None
    labels: list[Change] | None
    label_column: str = ""
    n_changed: tuple[int, int, int] | None = None
    label_names: tuple[Sequence[Any], Sequence[Any]] | None = None
    notes: list[str] = field(default_factory=list)

    def _title(self) -> str:
        a, b = self.values
        told = f"{self.spec.symbol} {ARROWS[self.spec.metric.direction]}".strip()
        text = f"{told}: {short(a)} ({self.a}) -> {short(b)} ({self.b}), {signed(float(subtract(b, a)))}"
        if self.n_changed is None:
            return text
        better, same, worse = self.n_changed
        return f"{text}; {counted(better, 'rows')} better, {worse} worse, {same} as good"

    def _footnotes(self) -> list[str]:
        lines = ["* relevant"] if any(one.lists for one in self.rows or []) else []
        if self.rows is None:
            lines.append(f"no rows: {self.spec} is no mean over rows")
        if self.labels is None:
            lines.append(f"no labels: {self.spec} has no values by label, and no cutoff to count hits at")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    def _name(self, label: int, model: int = 0) -> str:
        return str(label) if self.label_names is None else str(self.label_names[model][label])

    def _marked(self, lists: Lists | None) -> tuple[str, ...]:
        """Return the labels of a row and those of its lists, relevant ones with a star."""
        if lists is None:
            return ()
        relevant = {*lists.truth}
        shown = [
            [f"{self._name(n, i)}{'*' * (n in relevant)}" for n in own] for i, own in enumerate(lists[1:])
        ]
        truth = [self._name(label) for label in lists.truth]
        first, second = ("; ".join(own) if own else "(nothing)" for own in shown)
        return "; ".join(truth) if truth else "(nothing)", first, second

    def _text(self, width: int | None, colour: bool) -> str:
        blocks = [folded(printable(self._title()), width)]
        widest = max(len("truth"), len(self.a), len(self.b))
        for one in self.rows or []:
            name = "" if one.name is None else f" {one.name}"
            lines = [f"row {one.number}{name}: {short(one.a)} -> {short(one.b)}, {signed(one.change)}"]
            for title, text in zip(("truth", self.a, self.b), self._marked(one.lists), strict=False):
                lines.append(f"  {title.ljust(widest)}  {text}")
            blocks.append("\n".join(folded(printable(line), width) for line in lines))
        if self.labels:
            lines = [f"labels by {self.label_column}:"]
            for one in self.labels:
                told = "{} -> {}, {}".format(*values_of_label(self.label_column, one))
                lines.append(f"  {self._called(one)}: {told} ({counted(one.support or 0, 'rows')} with it)")
            blocks.append("\n".join(folded(printable(line), width) for line in lines))
        notes = [folded(printable(note), width) for note in self.footnotes()]
        return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])])

    @staticmethod
    def _called(one: Change) -> str:
        return str(one.number) if one.name is None else one.name

    def grid(self) -> list[list[Cell]]:
        """Return the table of rows (@private)."""
        found = [["row", self.a, self.b, "change"]]
        if any(one.lists for one in self.rows or []):
            found[0] += ["truth", f"list of {self.a}", f"list of {self.b}"]
        for one in self.rows or []:
            numbers = [short(one.a), short(one.b), signed(one.change)]
            found.append([self._called(one), *numbers, *self._marked(one.lists)])
        return [[*map(Cell, row)] for row in found]

    def label_grid(self) -> list[list[Cell]]:
        """Return the table of labels (@private)."""
        by = self.label_column
        found = [["label", f"{by} {self.a}", f"{by} {self.b}", "change", "support"]]
        for one in self.labels or []:
            found.append([self._called(one), *values_of_label(by, one), str(one.support)])
        return [[*map(Cell, row)] for row in found]

    def to_markdown(self) -> str:
        r"""Return the tables as Markdown.

        Returns
        -------
        str

        Examples
        --------
        >>> models = {"old": np.eye(3) + 1, "new": np.eye(3)[[0, 2, 2]] + 1}
        >>> changes = diff(models, np.eye(3), metric="p@1")
        >>> print(changes.to_markdown())
        P@1 ↑: 1.0000 (old) -> 0.6667 (new), -0.3333; 0 rows better, 1 worse, 2 as good
        <BLANKLINE>
        | row | old | new | change | truth | list of old | list of new |
        |---|---:|---:|---:|---:|---:|---:|
        | 1 | 1.0000 | 0.0000 | -1.0000 | 1 | 1\* | 2 |
        <BLANKLINE>
        | label | tp@1 old | tp@1 new | change | support |
        |---|---:|---:|---:|---:|
        | 1 | 1 | 0 | -1 | 1 |
        <BLANKLINE>
        * relevant
        <BLANKLINE>
        """
        tables = [as_markdown([Table("", self.grid())], [])] if self.rows is not None else []
        tables += [as_markdown([Table("", self.label_grid())], [])] if self.labels is not None else []
        return "\n".join([f"{self._title()}\n", *tables, *self.footnotes()]) + "\n"

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        labels = [] if self.labels is None else [as_html([Table("", self.label_grid())], [])]
        return "\n".join([as_html([Table(self._title(), self.grid())], self.footnotes()), *labels])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; labels by name where they have names.

        Returns
        -------
        dict

        Examples
        --------
        >>> models = {"old": np.eye(3) + 1, "new": np.eye(3)[[0, 2, 2]] + 1}
        >>> changes = diff(models, np.eye(3), metric="p@1")
        >>> changes.to_dict()["changes"]["rows"][0]["list_b"]
        [2]
        """

        def record(one: Change) -> dict[str, Any]:
            told: dict[str, Any] = {"number": one.number, "name": one.name}
            told |= {"value_a": as_json_value(one.a), "value_b": as_json_value(one.b)}
            told["change"] = as_json_value(one.change)
            if one.lists is not None:
                told |= {"truth": self._plain(one.lists.truth, 0)}
                told |= {"list_a": self._plain(one.lists.a, 0), "list_b": self._plain(one.lists.b, 1)}
            return told if one.support is None else told | {"support": one.support}

        return {
            "schema": SCHEMA,
            "changes": {
                "name": self.spec.name,
                "a": self.a,
                "b": self.b,
                "value_a": as_json_value(self.values[0]),
                "value_b": as_json_value(self.values[1]),
                "rows": None if self.rows is None else [record(one) for one in self.rows],
                "labels_by": self.label_column or None,
                "labels": None if self.labels is None else [record(one) for one in self.labels],
            },
            "notes": [*self.notes],
        }

    def _plain(self, labels: Sequence[int], model: int) -> list[Any]:
        return [label if self.label_names is None else self._name(label, model) for label in labels]

    def to_csv(self) -> str:
        """Return CSV with a line for each row and each label; the labels of a field have a ; between them.

        Returns
        -------
        str

        Examples
        --------
        >>> models = {"old": np.eye(3) + 1, "new": np.eye(3)[[0, 2, 2]] + 1}
        >>> changes = diff(models, np.eye(3), metric="p@1")
        >>> print(changes.to_csv())
        kind,number,name,value_a,value_b,change,support,truth,list_a,list_b
        row,1,,1.0,0.0,-1.0,,1,1,2
        label,1,,1.0,0.0,-1.0,1,,,
        <BLANKLINE>
        """
        records: list[list[str | float]] = []
        for kind, several in (("row", self.rows), ("label", self.labels)):
            for one in several or []:
                support = "" if one.support is None else str(one.support)
                lists = ["", "", ""]
                if one.lists is not None:
                    own = zip(one.lists, (0, 0, 1), strict=True)
                    lists = ["; ".join(map(str, self._plain(labels, model))) for labels, model in own]
                values = [one.a, one.b, one.change]
                records.append([kind, str(one.number), one.name or "", *values, support, *lists])
        return as_csv(RECORD, records)


def values_of_label(column: str, one: Change) -> tuple[str, str, str]:
    """Return both values of a label and their difference; hits are counts."""
    if column.partition("@")[0] == "tp":
        return f"{one.a:.0f}", f"{one.b:.0f}", f"{one.change:+.0f}"
    return short(one.a), short(one.b), signed(one.change)


def signed(value: float) -> str:
    """Return a change as tables show it."""
    return f"{'+' if value > 0 else ''}{short(value)}"


def find_changes(
    specs: Sequence[Spec],
    reports: Mapping[str, Report],
    worst: int,
    lists_of: Callable[[Spec, Ints], list[Lists]] | None = None,
    row_names: Sequence[Any] | None = None,
    label_names: tuple[Sequence[Any], Sequence[Any]] | None = None,
) -> Diff:
    """Find the rows and labels whose values changed most between two reports.

    Equal changes come in the order of losses before gains, and then of their numbers.

    Parameters
    ----------
    specs : sequence of Spec
        Measures; the first that has values by row, and the first that has values by label or hits, are taken.
    reports : dict of str to Report
        Two reports of the same rows, with kept rows, and labels if there are any.
    worst : int
        Largest number of rows and of labels.
    lists_of : callable, optional
        Takes the measure and numbers of rows in rising order, and returns what to show of each.
    row_names, label_names : sequence, optional
        Names of rows, and of the labels of each model; those of the first begin as those of the second.
    """
    (a, first), (b, second) = reports.items()
    rows, labels, counts = None, None, None
    by_row = [spec for spec in specs if spec.name in first.results.rows and spec.name in second.results.rows]
    spec = by_row[0] if by_row else specs[0]
    if by_row:
        own, other = (np.asarray(report.results.rows[spec.name]) for report in (first, second))
        gains = subtract(own, other) if spec.metric.direction == "down" else subtract(other, own)
        counts = (int((gains > 0).sum()), int((gains == 0).sum()), int((gains < 0).sum()))
        numbers = most_changed(gains, worst)
        lists = dict[int, Lists]()
        if lists_of is not None and numbers.size:
            lists = dict(zip(np.sort(numbers).tolist(), lists_of(spec, np.sort(numbers)), strict=True))
        rows = [
            Change(n, _named(row_names, n), float(own[n]), float(other[n]), lists.get(n))
            for n in numbers.tolist()
        ]
    held = first.results.labels.keys() & second.results.labels.keys()
    column = next(filter(None, (label_column(spec, held) for spec in specs)), "")
    if column:
        known = None if label_names is None else label_names[0]
        labels = changed_labels(column, first.results.labels, second.results.labels, worst, known)
    notes = list(dict.fromkeys([*first.notes, *second.notes]))
    values = first[spec.name], second[spec.name]
    return Diff(spec, a, b, values, rows, labels, column, counts, label_names, notes)


def changed_labels(
    column: str, a: Mapping[str, Any], b: Mapping[str, Any], worst: int, names: Sequence[Any] | None
) -> list[Change]:
    """Find the labels whose values in a column changed most, from values by label of two models."""
    own, other = (columns[column].astype(np.float64) for columns in (a, b))
    n = min(own.size, other.size)  # labels that one alone knows are relevant nowhere
    support = a["support"]
    return [
        Change(n, _named(names, n), float(own[n]), float(other[n]), None, int(support[n]))
        for n in most_changed(subtract(other[:n], own[:n]), worst, support[:n]).tolist()
    ]


def label_column(spec: Spec, columns: Container[str]) -> str:
    """Return the values by label to compare: those of the measure, or the hits; empty if there are none."""
    own = [spec.label_column, *([f"tp@{spec.k}"] if spec.k else ["tp"])]
    return next((column for column in own if column in columns), "")


def most_changed(gains: Floats, most: int, weight: Floats | Ints | None = None) -> Ints:
    """Return the numbers of the largest changes, without those that are 0 or undefined."""
    changed: Ints = np.flatnonzero(np.nan_to_num(gains))
    found = gains[changed]
    tied = np.zeros(found.size) if weight is None else -weight[changed]
    return changed[np.lexsort((changed, found, tied, -np.abs(found)))][:most]


def _named(names: Sequence[Any] | None, number: int) -> str | None:
    return None if names is None else str(names[number])


def refuse_no_labels(argument: str, specs: Sequence[Spec]) -> None:
    """Refuse measures none of which has values by label, or hits."""
    if not any(spec.by_label for spec in specs):
        names = ", ".join(map(str, specs))
        raise InputError(argument, f"none of {names} has values by label, or a cutoff to count hits at")


def shown_depth(spec: Spec) -> int:
    """Return how many labels of a list are shown."""
    return spec.k or LISTED
