"""What changed between two models: the rows and the labels whose values differ most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError, counted, printable
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.results.record import Lines, Number, as_shown, fields_of, signed
from xmleval.results.report import Report
from xmleval.results.result import Result
from xmleval.show.tables import ARROWS, MARKDOWN, Table, folded, rows_of, short
from xmleval.version import SCHEMA

if TYPE_CHECKING:
    from xmleval.results.figures import Kind
    from xmleval.show.page import Section

LISTED = 5  # labels of a row that are shown where the measure has no cutoff
LISTS = "truth", "list_a", "list_b"


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
    support: float | None = None  # of a label: the number of rows that have it, or their weight

    @property
    def change(self) -> float:
        """Value of b minus that of a."""
        return self.b - self.a

    @property
    def title(self) -> str:
        """The name, or the number where there is none."""
        return str(self.number) if self.name is None else self.name

    def texts(self, number: Callable[[float], str], column: str = "", sign: int = 1) -> list[str]:
        """Return both values and the change, or minus it, as tables show them; hits of labels are counts."""
        change = sign * self.change
        if column.partition("@")[0] == "tp" and self.a.is_integer() and self.b.is_integer():
            return [f"{self.a:.0f}", f"{self.b:.0f}", f"{change:+.0f}"]
        return [number(self.a), number(self.b), signed(change, number)]


CHANGE = fields_of(number="number", name="name", value_a="a", value_b="b")  # of a JSON object
FIELDS = {**CHANGE, **fields_of(change="change")}
OF_PAIR = {**CHANGE, "difference": lambda label: -label.change, **fields_of(support="support")}


@dataclass(frozen=True)
class Diff(Result[Change]):
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
    label_names : sequence of list of str, or None
        Names of labels, by model.
    notes : list of str
        What was seen in the data.

    Examples
    --------
    >>> changes = diff(np.eye(3), np.eye(3) + 1, np.eye(3)[[0, 2, 2]] + 1, metric="p@1")
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
    label_names: Sequence[Sequence[Any]] | None = None
    notes: list[str] = field(default_factory=list)

    def _title(self) -> str:
        a, b = self.values
        name = f"{self.spec.symbol} {ARROWS[self.spec.metric.direction]}".strip()
        text = f"{name}: {short(a)} ({self.a}) -> {short(b)} ({self.b}), {signed(float(subtract(b, a)))}"
        if self.n_changed is None:
            return text
        better, same, worse = self.n_changed
        return f"{text}; {counted(better, 'rows')} better, {worse} worse, {same} as good"

    def footnotes(self) -> list[str]:
        lines = ["* relevant"] if any(row.lists for row in self.rows or []) else []
        if self.rows is None:
            lines.append(f"no rows: {self.spec} is no mean over rows")
        if self.labels is None:
            lines.append(f"no labels: {self.spec} has no values by label, and no cutoff to count hits at")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    def _specs(self, of_tables: bool = True) -> list[Spec]:
        return [self.spec]

    def records(self) -> list[Change]:
        return [*(self.rows or []), *(self.labels or [])]

    def _printed(self) -> Iterator[tuple[Spec, float]]:
        changes = self.records() if self._is_by_label else self.rows or []
        return ((self.spec, value) for change in changes for value in (change.a, change.b))

    @property
    def _is_by_label(self) -> bool:
        """Whether values of labels are of the measure, and neither hits nor of another measure."""
        return self.label_column == self.spec.label_column

    def _labels_of(self, change: Change) -> dict[str, list[Any]]:
        """Return the labels of a row and of its lists, by name where they have names; nothing of a label."""
        names, lists = self.label_names, zip(LISTS, change.lists or (), (0, 0, 1), strict=False)
        return {
            title: [*labels] if names is None else [str(names[model][label]) for label in labels]
            for title, labels, model in lists
        }

    def _marked(self, change: Change) -> list[str]:
        """Return the labels of a row and those of its lists, relevant ones with a star."""
        lists = self._labels_of(change)
        relevant, texts = {*lists.get("truth", ())}, []
        for title, names in lists.items():
            mark = "" if title == "truth" else "*"
            texts.append("; ".join(f"{name}{mark * (name in relevant)}" for name in names) or "(nothing)")
        return texts

    def _kinds(self) -> Mapping[str, Kind]:
        return {}

    def to_text(self, width: int | None = None, colour: bool = False) -> str:
        blocks = [[self._title()]]
        widest = max(len("truth"), len(self.a), len(self.b))
        for row in self.rows or []:
            before, after, change = row.texts(short)
            name = "" if row.name is None else f" {row.name}"
            lists = zip(("truth", self.a, self.b), self._marked(row), strict=False)
            lines = [f"  {title.ljust(widest)}  {text}" for title, text in lists]
            blocks.append([f"row {row.number}{name}: {before} -> {after}, {change}", *lines])
        if self.labels:
            blocks.append([f"labels by {self.label_column}:"])
            for label in self.labels:
                before, after, change = label.texts(short, self.label_column)
                n = label.support or 0
                rows = counted(n, "rows") if isinstance(n, int) else f"rows of weight {short(n)}"
                blocks[-1].append(f"  {label.title}: {before} -> {after}, {change} ({rows} with it)")
        blocks.append(self.footnotes())
        fold = partial(folded, width=width)
        return "\n\n".join("\n".join(map(fold, map(printable, lines))) for lines in blocks if lines)

    def to_markdown(self) -> str:
        return f"{MARKDOWN.text(self._title())}\n\n{super().to_markdown()}"

    def tables(self, number: Number = as_shown) -> list[Table]:
        first, *following = self.change_tables(number)
        return [first._replace(caption=self._title()), *following]

    def change_tables(self, number: Number = as_shown) -> list[Table]:
        """Return the tables of rows and of labels, as far as the measure has values of these (@private)."""
        changed, tables = f"that changed most from {self.a} to {self.b} by", list[Table]()
        if self.rows is not None or self.labels is None:
            header, write = ["row", self.a, self.b, "change"], partial(number, self.spec)
            if any(row.lists for row in self.rows or []):
                header += ["truth", f"list of {self.a}", f"list of {self.b}"]
            lines = [[row.title, *row.texts(write), *self._marked(row)] for row in self.rows or []]
            caption = f"rows {changed} {self.spec.symbol}; of equal changes, losses first"
            tables.append(Table(caption, rows_of([header, *lines]), "rows"))
        if self.labels is not None:
            lines = self.label_lines(self.a, self.b, number)
            tables.append(Table(f"labels {changed} {self.label_column}", rows_of(lines), "labels"))
        return tables

    def sections(self) -> Iterator[Section]:
        """Yield what a page of both models shows (@private)."""
        from xmleval.show.page import Section

        tables = self.change_tables()
        if self.labels:
            yield Section("Labels that changed most", tables[-1:])
        if self.rows:
            marks = ["* relevant"] if self.rows[0].lists else []
            yield Section("Rows that changed most", tables[:1], [self._title(), *marks])

    def label_lines(self, a: str, b: str, number: Number = as_shown, sign: int = 1) -> list[list[str]]:
        """Return the header and the lines of a table of labels, with changes or minus these (@private)."""
        by, write = self.label_column, partial(number, self.spec) if self._is_by_label else short
        lines = [["label", f"{by} {a}", f"{by} {b}", "change" if sign > 0 else "difference", "support"]]
        for each in self.labels or []:
            support = short(each.support) if isinstance(each.support, float) else str(each.support)
            lines.append([each.title, *each.texts(write, by, sign), support])
        return lines

    def _member(self, change: Change) -> dict[str, Any]:
        """Return the JSON object of a row with its lists, or of a label with its support."""
        support = {} if change.support is None else {"support": change.support}
        return {name: field(change) for name, field in FIELDS.items()} | support | self._labels_of(change)

    def _members(self) -> dict[str, Any]:
        changes = {
            "name": self.spec.name, "a": self.a, "b": self.b,
            "value_a": self.values[0], "value_b": self.values[1],
            "rows": None if self.rows is None else [*map(self._member, self.rows)],
            "labels_by": self.label_column or None,
            "labels": None if self.labels is None else [*map(self._member, self.labels)],
        }  # fmt: skip
        return {"schema": SCHEMA, "changes": changes, "notes": self.notes}

    def _lines(self, bounded: bool) -> Lines:
        header, lines = ["kind", *FIELDS, "support", *LISTS], []
        for change in self.records():
            member = self._member(change) | {"kind": "row" if change.support is None else "label"}
            lists = {name: "; ".join(map(str, member[name])) for name in LISTS if name in member}
            lines.append([(member | lists).get(name) for name in header])
        return header, lines


def find_changes(
    specs: Sequence[Spec],
    reports: Mapping[str, Report],
    worst: int,
    lists_of: Callable[[Mapping[str, Report], Spec, Ints], list[Lists]] | None = None,
) -> Diff:
    """Find the rows and labels whose values changed most between two reports, which keep rows and labels.

    The first measures that have values by row, and by label or as hits, are taken. ``lists_of`` returns what
    to show of rows in rising order.
    """
    (a, first), (b, second) = reports.items()
    rows, counts, names = None, None, None
    by_row = [spec for spec in specs if spec.name in first.results.rows and spec.name in second.results.rows]
    spec = by_row[0] if by_row else specs[0]
    if by_row:
        before, after = (np.asarray(report.results.rows[spec.name]) for report in (first, second))
        gains = subtract(before, after) if spec.metric.direction == "down" else subtract(after, before)
        counts = (int((gains > 0).sum()), int((gains == 0).sum()), int((gains < 0).sum()))
        rows = largest_changes(before, after, gains, worst, first.row_names)
        if lists_of is not None and rows:
            numbers = sorted(row.number for row in rows)
            lists = dict(zip(numbers, lists_of(reports, spec, np.array(numbers)), strict=True))
            rows = [row._replace(lists=lists[row.number]) for row in rows]
    if first.label_names is not None:
        names = [[*(each.label_names or ()), *each.unknown_labels] for each in (first, second)]
    column, labels = find_labels(specs, first, second, worst)
    notes = [*dict.fromkeys([*first.notes, *second.notes])]
    return Diff(spec, a, b, (first[spec.name], second[spec.name]), rows, labels, column, counts, names, notes)


def find_labels(
    specs: Iterable[Spec], first: Report, second: Report, worst: int
) -> tuple[str, list[Change] | None]:
    """Return the labels that changed most, and in what: the first measure by label, or hits; None without."""
    of_first, of_second = columns = first.results.labels, second.results.labels
    names_of = ([spec.label_column, f"tp@{spec.k}" if spec.k else "tp"] for spec in specs)
    column = next((name for pair in names_of for name in pair if name in of_first and name in of_second), "")
    if not column:
        return "", None
    before, after = (by_name[column].astype(np.float64) for by_name in columns)
    n = min(before.size, after.size)  # labels that only one model knows are relevant nowhere
    gains = subtract(after[:n], before[:n])
    support = of_first["support"] if first.weighted else of_first["support"].astype(np.int64)
    return column, largest_changes(before, after, gains, worst, first.label_names, support)


def largest_changes(
    before: Floats,
    after: Floats,
    gains: Floats,
    worst: int,
    names: Sequence[Any] | None,
    support: Floats | Ints | None = None,
) -> list[Change]:
    """Return the largest changes but those that are 0 or undefined; equal ones by support, losses first."""
    changed = np.flatnonzero(np.nan_to_num(gains))
    sizes, tied = gains[changed], np.zeros(changed.size) if support is None else -support[changed]
    numbers = changed[np.lexsort((changed, sizes, tied, -np.abs(sizes)))][:worst].tolist()
    names_of = {n: None if names is None else str(names[n]) for n in numbers}
    supports = {n: None if support is None else support[n].item() for n in numbers}
    return [Change(n, names_of[n], float(before[n]), float(after[n]), None, supports[n]) for n in numbers]


def refuse_no_labels(argument: str, specs: Sequence[Spec]) -> None:
    """Refuse measures none of which has values by label, or hits."""
    if not any(spec.by_label for spec in specs):
        names = ", ".join(map(str, specs))
        raise InputError(argument, f"none of {names} has values by label, or a cutoff to count hits at")
