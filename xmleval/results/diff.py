"""Changes between two models: the rows and the labels whose values differ most."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import Field, InputError, Message, counted, printable
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec
from xmleval.numerics.rounding import subtract
from xmleval.results.fairness import (
    WHOLE,
    Fairness,
    describe_decided,
    include_no_difference,
)
from xmleval.results.record import AS_SHOWN, Footnote, Lines, Number, fields_of, signed
from xmleval.results.report import Report
from xmleval.results.result import Result
from xmleval.results.saved_results import (
    describe_unknown,
    known_spec,
    naming_file,
    read_contents,
    read_saved_number,
    refuse_other_schema,
    refusing_damage,
)
from xmleval.show.tables import ARROWS, MARKDOWN, Table, TableStyle, folded, rows_of, short
from xmleval.version import SCHEMA

if TYPE_CHECKING:
    from xmleval.results.figures import Kind
    from xmleval.show.page import Section

LISTED = 5  # labels of a row that are shown where the measure has no cutoff
LISTS = "truth", "list_a", "list_b"
RowEnds = tuple[Floats, Floats]  # smallest and largest value of each row


class Lists(NamedTuple):
    """Relevant labels of a row, and the first labels of its two lists, by number.

    Those of saved changes are by name, if labels have names.
    """

    truth: Sequence[Any]
    a: Sequence[Any]
    b: Sequence[Any]


class Change(NamedTuple):
    """A row, or a label, with its number, its name if it has one, and its value by both models."""

    number: int
    name: str | None
    a: float
    b: float
    lists: Lists | None = None  # of a row
    support: float | None = None  # of a label: the number of rows that have it, or their weight
    # of a row: smallest and largest value by each model over all orders of equal scores, if known
    tie_bounds_a: tuple[float, float] | None = None
    tie_bounds_b: tuple[float, float] | None = None

    @property
    def change(self) -> float:
        """Value of b minus that of a."""
        return self.b - self.a

    @property
    def title(self) -> str:
        """The name, or the number if it has no name."""
        return str(self.number) if self.name is None else self.name

    @property
    def decided_by_ties(self) -> bool | None:
        """Whether some order of equal scores gives no change, or one in the other direction.

        None where the bounds over all orders are not known.
        """
        if self.tie_bounds_a is None or self.tie_bounds_b is None:
            return None
        return bool(include_no_difference(self.tie_bounds_a, self.tie_bounds_b))

    def _texts(self, number: Callable[[float], str], column: str = "", sign: int = 1) -> list[str]:
        """Return both values and the change times ``sign``, as tables show them.

        Hits of labels are counts.
        """
        change = sign * self.change
        is_hits = column.partition("@")[0] == "tp"
        if is_hits and self.a.is_integer() and self.b.is_integer():
            return [f"{self.a:.0f}", f"{self.b:.0f}", f"{change:+.0f}"]
        return [number(self.a), number(self.b), signed(change, number)]


CHANGE = fields_of(number="number", name="name", value_a="a", value_b="b")  # of a JSON object
FIELDS = {**CHANGE, **fields_of(change="change")}
TIES = fields_of(
    tie_bounds_a="tie_bounds_a", tie_bounds_b="tie_bounds_b", decided_by_ties="decided_by_ties"
)
BY_TIES = "decided by ties"
OF_PAIR = {**CHANGE, "difference": lambda label: -label.change, **fields_of(support="support")}


@dataclass(frozen=True)
class Diff(Result[Change]):
    """Rows and labels that changed most from one model to another.

    Attributes
    ----------
    spec : Spec
        The measure.
    a, b : str
        Names of the models.
    values : tuple of float
        Their values.
    rows : list of Change
        Rows that changed most, with their ``lists`` where these could be read; None where the
        measure is no mean over rows.
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
    n_decided_by_ties : int
        Number of rows that changed, but do not or change in the other direction in some order of
        equal scores; None where the bounds over all orders are not known.

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
    n_decided_by_ties: int | None = None

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Diff:
        """Read changes from JSON written by `to_json` or ``xmleval diff --output D.json``.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ValueError
            If the file holds anything else, or results of another version of the schema.

        Examples
        --------
        >>> from pathlib import Path
        >>> changes = diff(np.eye(3), np.eye(3) + 1, np.eye(3)[[0, 2, 2]] + 1, metric="p@1")
        >>> Path("changes.json").write_text(changes.to_json()) > 0
        True
        >>> Diff.load("changes.json").n_changed
        (0, 2, 1)
        """
        file = as_path(path)
        with naming_file(file):
            contents = read_contents(file)
            if "changes" not in contents:
                raise ValueError("JSON without 'changes'; give JSON of `xmleval diff`")
            refuse_other_schema(contents)
            return read_changes(contents)

    def __repr__(self) -> str:
        """Return the values of both models and the numbers of rows that changed, on one line."""
        return printable(f"<Diff of {self._title()}>")

    def _title(self) -> str:
        a, b = self.values
        name = f"{self.spec.symbol} {ARROWS[self.spec.metric.direction]}".strip()
        change = signed(float(subtract(b, a)))
        text = f"{name}: {short(a)} ({self.a}) -> {short(b)} ({self.b}), {change}"
        if self.n_changed is None:
            return text
        better, same, worse = self.n_changed
        return f"{text}; {counted(better, 'rows')} better, {worse} worse, {same} equal"

    def _placed_footnotes(self) -> list[Footnote]:
        lines = list[str]()
        if self._has_lists:
            lines.append("* relevant")
        if self.rows is None:
            lines.append(f"no rows: {self.spec} is not a mean over rows")
        if self.labels is None:
            missing = "no values by label, and no cutoff to count hits at"
            if self.spec.level:
                missing = "no values by label, as hits of labels are not counted by level"
            lines.append(f"no labels: {self.spec} has {missing}")
        lines += [f"note: {note}" for note in self.notes]
        return [*map(Footnote, lines)]

    def _specs(self, in_tables: bool = True) -> list[Spec]:
        return [self.spec]

    def records(self) -> list[Change]:
        return [*(self.rows or []), *(self.labels or [])]

    def _printed(self) -> Iterator[tuple[Spec, float]]:
        changes = self.rows or []
        if self._is_by_label:
            changes = self.records()
        for change in changes:
            yield self.spec, change.a
            yield self.spec, change.b

    @property
    def _has_lists(self) -> bool:
        """Whether the lists of any row are known."""
        return any(row.lists for row in self.rows or [])

    @property
    def _is_by_label(self) -> bool:
        """Whether values by label are of the measure, neither hits nor of another measure."""
        return self.label_column == self.spec.label_column

    def _labels_of(self, change: Change) -> dict[str, list[Any]]:
        """Return the labels of a row and of its lists, by name if known; nothing for a label."""
        if change.lists is None:
            return {}
        if self.label_names is None:
            return {title: [*labels] for title, labels in zip(LISTS, change.lists, strict=True)}
        names_a, names_b = self.label_names
        label_names = (names_a, names_a, names_b)  # of the truth, too, those of the first model
        return {
            title: [str(names[label]) for label in labels]
            for title, labels, names in zip(LISTS, change.lists, label_names, strict=True)
        }

    def _list_texts(self, change: Change) -> list[str]:
        """Return the labels of a row, and its lists in which relevant labels have a star."""
        lists = self._labels_of(change)
        relevant = {*lists.get("truth", ())}
        texts = []
        for title, names in lists.items():
            if title != "truth":
                names = [f"{name}*" if name in relevant else f"{name}" for name in names]
            texts.append("; ".join(map(str, names)) or "(nothing)")
        return texts

    def _kinds(self) -> Mapping[str, Kind]:
        return {}

    def to_text(
        self, width: int | None = None, colour: bool = False, **style: Unpack[TableStyle]
    ) -> str:
        checked = self._style(**style)
        write = partial(checked.number, self.spec)
        blocks = [[self._title()]]
        blocks += [self._row_block(row, write) for row in self.rows or []]
        if self.labels:
            write_label = write if self._is_by_label else short
            lines = [self._label_line(label, write_label) for label in self.labels]
            blocks.append([f"labels by {self.label_column}:", *lines])
        blocks.append([*checked.lines, *self.footnotes()])
        texts = []
        for block in blocks:
            if block:
                texts.append("\n".join(folded(printable(line), width) for line in block))
        return "\n\n".join(texts)

    def _row_block(self, row: Change, write: Callable[[float], str]) -> list[str]:
        """Return the lines of a row: its change, and its lists if known."""
        before, after, change = row._texts(write)
        name = "" if row.name is None else f" {row.name}"
        result = f"; {BY_TIES}" if row.decided_by_ties else ""
        lines = [f"row {row.number}{name}: {before} -> {after}, {change}{result}"]
        widest = max(len("truth"), len(self.a), len(self.b))
        titles = ("truth", self.a, self.b)
        for title, text in zip(titles, self._list_texts(row), strict=False):
            lines.append(f"  {title.ljust(widest)}  {text}")
        return lines

    def _label_line(self, label: Change, write: Callable[[float], str]) -> str:
        """Return a line on the change of a label."""
        before, after, change = label._texts(write, self.label_column)
        n = label.support or 0
        rows = f"rows of weight {short(n)}"
        if isinstance(n, int):
            rows = counted(n, "rows")
        return f"  {label.title}: {before} -> {after}, {change} ({rows} with it)"

    def to_markdown(self, **style: Unpack[TableStyle]) -> str:
        return f"{MARKDOWN.text(self._title())}\n\n{super().to_markdown(**style)}"

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        first, *following = self._change_tables(number)
        return [first._replace(caption=self._title()), *following]

    def _change_tables(self, number: Number = AS_SHOWN) -> list[Table]:
        """Return the tables of rows and of labels that the measure has values for."""
        changed = f"that changed most from {self.a} to {self.b} by"
        tables = list[Table]()
        if self.rows is not None or self.labels is None:
            caption = f"rows {changed} {self.spec.symbol}; of equal changes, losses first"
            tables.append(Table(caption, rows_of(self._row_lines(number)), "rows"))
        if self.labels is not None:
            lines = self._label_lines(self.a, self.b, number)
            tables.append(Table(f"labels {changed} {self.label_column}", rows_of(lines), "labels"))
        return tables

    def _row_lines(self, number: Number) -> list[list[str]]:
        """Return the header and the lines of the table of rows."""
        header = ["row", self.a, self.b, "change"]
        if self.n_decided_by_ties:
            header.append("result")
        if self._has_lists:
            header += ["truth", f"list of {self.a}", f"list of {self.b}"]
        write = partial(number, self.spec)
        lines = [header]
        for row in self.rows or []:
            line = [row.title, *row._texts(write)]
            if self.n_decided_by_ties:
                line.append(BY_TIES if row.decided_by_ties else "")
            lines.append([*line, *self._list_texts(row)])
        return lines

    def _sections(self) -> Iterator[Section]:
        """Yield the sections of a page of both models."""
        from xmleval.show.page import Section

        tables = self._change_tables()
        if self.labels:
            yield Section("Labels that changed most", tables[-1:])
        if self.rows:
            lines = [self._title()]
            if self.rows[0].lists:
                lines.append("* relevant")
            yield Section("Rows that changed most", tables[:1], lines)

    def _label_lines(
        self, a: str, b: str, number: Number = AS_SHOWN, sign: int = 1
    ) -> list[list[str]]:
        """Return the header and the lines of the table of labels.

        ``sign`` is -1 for differences of a and b, 1 for changes from a to b.
        """
        column = self.label_column
        write = partial(number, self.spec) if self._is_by_label else short
        change = "change" if sign > 0 else "difference"
        lines = [["label", f"{column} {a}", f"{column} {b}", change, "support"]]
        for label in self.labels or []:
            support = str(label.support)
            if isinstance(label.support, float):
                support = short(label.support)
            lines.append([label.title, *label._texts(write, column, sign), support])
        return lines

    def _member(self, change: Change) -> dict[str, Any]:
        """Return the JSON object of a row with its lists, or of a label with its support."""
        member = {name: field(change) for name, field in FIELDS.items()}
        if change.support is not None:
            member["support"] = change.support
        if change.decided_by_ties is not None:
            member |= {name: field(change) for name, field in TIES.items()}
        return {**member, **self._labels_of(change)}

    def _members(self) -> dict[str, Any]:
        changes = {
            "name": self.spec.name,
            "a": self.a,
            "b": self.b,
            "value_a": self.values[0],
            "value_b": self.values[1],
            "rows": self._member_list(self.rows),
            "labels_by": self.label_column or None,
            "labels": self._member_list(self.labels),
            "n_changed": self.n_changed,
        }
        if self.n_decided_by_ties is not None:
            changes["n_decided_by_ties"] = self.n_decided_by_ties
        return {"schema": SCHEMA, "changes": changes, "notes": self.notes}

    def _member_list(self, changes: list[Change] | None) -> list[dict[str, Any]] | None:
        """Return the JSON objects of rows or labels; None if the file has no such values."""
        if changes is None:
            return None
        return [self._member(change) for change in changes]

    def _lines(self, bounded: bool) -> Lines:
        header = ["kind", *FIELDS, "support", *LISTS]
        if self.n_decided_by_ties is not None:
            header.append("decided_by_ties")
        lines = []
        for change in self.records():
            fields = self._member(change)
            fields["kind"] = "row" if change.support is None else "label"
            for title in LISTS:
                if title in fields:
                    fields[title] = "; ".join(map(str, fields[title]))
            lines.append([fields.get(name) for name in header])
        return header, lines


def read_changes(contents: Mapping[str, Any]) -> Diff:
    """Return the changes in the contents of a file, or refuse damaged contents."""
    with refusing_damage("changes", "`xmleval diff`"):
        changes = contents["changes"]
        spec = known_spec(changes["name"])
        if spec is None:
            raise ValueError(describe_unknown(changes["name"]))
        n_changed = changes.get("n_changed")
        values = [read_saved_number(changes[name], name) for name in ("value_a", "value_b")]
        return Diff(
            spec,
            changes["a"],
            changes["b"],
            (values[0], values[1]),
            _read_list(changes["rows"]),
            _read_list(changes["labels"]),
            changes["labels_by"] or "",
            None if n_changed is None else (n_changed[0], n_changed[1], n_changed[2]),
            notes=[*contents["notes"]],
            n_decided_by_ties=changes.get("n_decided_by_ties"),
        )


def _read_list(members: Sequence[Mapping[str, Any]] | None) -> list[Change] | None:
    """Return saved values by row or by label; None if there are none."""
    return None if members is None else [*map(read_change, members)]


def read_change(member: Mapping[str, Any]) -> Change:
    """Return a saved row or label."""
    lists = None
    if LISTS[0] in member:
        lists = Lists(*(member[name] for name in LISTS))
    return Change(
        member["number"],
        member["name"],
        read_saved_number(member["value_a"], "value_a"),
        read_saved_number(member["value_b"], "value_b"),
        lists,
        member.get("support"),
        _read_ends(member, "tie_bounds_a"),
        _read_ends(member, "tie_bounds_b"),
    )


def _read_ends(member: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """Return the saved smallest and largest value of a row; None if they are not there."""
    if name not in member:
        return None
    low, high = (read_saved_number(end, name) for end in member[name])
    return low, high


def find_changes(
    specs: Sequence[Spec],
    reports: Mapping[str, Report],
    worst: int,
    lists_of: Callable[[Mapping[str, Report], Spec, Ints], list[Lists]] | None = None,
) -> Diff:
    """Find the rows and labels whose values changed most between two reports.

    The reports keep rows and labels. The first measures that have values by row, and by label or as
    hits, are taken. ``lists_of`` returns the lists to show of rows in rising order.
    """
    (a, first), (b, second) = reports.items()
    rows = None
    n_changed = None
    n_decided = None
    spec = next((spec for spec in specs if _has_row_values(spec, first, second)), None)
    if spec is None:
        spec = specs[0]
    else:
        before = np.asarray(first.results.rows[spec.name])
        after = np.asarray(second.results.rows[spec.name])
        gains = _row_gains(spec, before, after)
        n_changed = (int((gains > 0).sum()), int((gains == 0).sum()), int((gains < 0).sum()))
        rows = largest_changes(before, after, gains, worst, first.row_names)
        bounds = _row_bounds(spec, first, second)
        if bounds is not None:
            is_decided = include_no_difference(*bounds) & (np.nan_to_num(gains) != 0)
            n_decided = int(np.count_nonzero(is_decided))
            rows = [_with_bounds(row, bounds) for row in rows]
        if lists_of is not None and rows:
            numbers = sorted(row.number for row in rows)
            lists = dict(zip(numbers, lists_of(reports, spec, np.array(numbers)), strict=True))
            rows = [row._replace(lists=lists[row.number]) for row in rows]
    label_names = None
    if first.label_names is not None:
        label_names = [
            [*(report.label_names or ()), *report.unknown_labels] for report in (first, second)
        ]
    column, labels = find_labels(specs, first, second, worst)
    return Diff(
        spec,
        a,
        b,
        (first[spec.name], second[spec.name]),
        rows,
        labels,
        column,
        n_changed,
        label_names,
        notes=[
            *dict.fromkeys([*first.notes, *second.notes]),
            *_notes_on_ties(spec, reports, n_changed, n_decided),
        ],
        n_decided_by_ties=n_decided,
    )


def _row_bounds(spec: Spec, first: Report, second: Report) -> tuple[RowEnds, RowEnds] | None:
    """Return the smallest and the largest values of rows over all orders of equal scores.

    None unless they are known of one model. The other one then has no equal scores that matter.
    """
    intervals = [report.results.row_intervals for report in (first, second)]
    if not any(spec.name in each for each in intervals):
        return None
    ends = list[RowEnds]()
    for report, known in zip((first, second), intervals, strict=True):
        values = np.asarray(report.results.rows[spec.name])
        ends.append(known.get(spec.name, (values, values)))
    return ends[0], ends[1]


def _with_bounds(row: Change, bounds: tuple[RowEnds, RowEnds]) -> Change:
    """Return a row with its smallest and largest value by each model."""
    ends = [(float(low[row.number]), float(high[row.number])) for low, high in bounds]
    return row._replace(tie_bounds_a=ends[0], tie_bounds_b=ends[1])


def _notes_on_ties(
    spec: Spec,
    reports: Mapping[str, Report],
    n_changed: tuple[int, int, int] | None,
    n_decided: int | None,
) -> Iterator[str]:
    """Yield notes on the difference of two models, and on the changes of rows, that ties decide."""
    a, b = reports
    fairness = Fairness({WHOLE: reports}, True)
    if fairness.are_decided_by_ties(WHOLE, spec, (a, b)):
        are_known = fairness.are_bounds_known(WHOLE, spec, (a, b))
        yield describe_decided(
            f"{a} and {b}", spec.metric.has_orders, f" for {spec}", are_bounds_known=are_known
        )
    if n_decided and n_changed is not None:
        better, _, worse = n_changed
        changed = counted(better + worse, "rows")
        yield Message(
            f"{n_decided} of {changed} that changed by {spec} are decided by ties: some order of "
            "equal scores gives no change, or one in the other direction; ",
            Field("ties", "expected"),
            " compares means over all orders",
        )


def _has_row_values(spec: Spec, first: Report, second: Report) -> bool:
    """Return whether both reports have row values of a measure."""
    return spec.name in first.results.rows and spec.name in second.results.rows


def _row_gains(spec: Spec, before: Floats, after: Floats) -> Floats:
    """Return how much better rows became, negative if they became worse."""
    if spec.metric.direction == "down":
        return subtract(before, after)
    return subtract(after, before)


def find_labels(
    specs: Iterable[Spec], first: Report, second: Report, worst: int
) -> tuple[str, list[Change] | None]:
    """Return the column of values by label that both reports have, and the largest changes.

    It is that of the first measure by label, or its hits; "" and None if there is none.
    """
    first_columns = first.results.labels
    second_columns = second.results.labels
    column = _shared_column(specs, first_columns, second_columns)
    if not column:
        return "", None
    before = first_columns[column].astype(np.float64)
    after = second_columns[column].astype(np.float64)
    n = min(before.size, after.size)  # labels that only one model knows are relevant nowhere
    gains = subtract(after[:n], before[:n])
    support = first_columns["support"]
    if not first.weighted:
        support = support.astype(np.int64)
    return column, largest_changes(before, after, gains, worst, first.label_names, support)


def _shared_column(
    specs: Iterable[Spec], first: Mapping[str, Any], second: Mapping[str, Any]
) -> str:
    """Return the first column of a measure, or of its hits, that both models have."""
    for spec in specs:
        hits = f"tp@{spec.k}" if spec.k else "tp"
        for column in (spec.label_column, hits):
            if column in first and column in second:
                return column
    return ""


def largest_changes(
    before: Floats,
    after: Floats,
    gains: Floats,
    worst: int,
    names: Sequence[Any] | None,
    support: Floats | Ints | None = None,
) -> list[Change]:
    """Return the largest changes that are neither 0 nor undefined.

    Equal changes are ordered by support, then losses come first.
    """
    changed = np.flatnonzero(np.nan_to_num(gains))
    sizes = gains[changed]
    keys = [changed, sizes, -np.abs(sizes)]
    if support is not None:
        keys.insert(2, -support[changed])
    order = np.lexsort(keys)
    changes = list[Change]()
    for n in changed[order][:worst].tolist():
        changes.append(
            Change(
                number=n,
                name=None if names is None else str(names[n]),
                a=float(before[n]),
                b=float(after[n]),
                support=None if support is None else support[n].item(),
            )
        )
    return changes


def refuse_no_labels(argument: str, specs: Sequence[Spec]) -> None:
    """Refuse measures if no measure has values by label, or hits."""
    if not any(spec.by_label for spec in specs):
        names = ", ".join(map(str, specs))
        reason = f"no measure has values by label, or a cutoff to count hits at: {names}"
        if any(spec.level for spec in specs):
            reason += "; hits of labels are not counted by level"
        raise InputError(argument, reason)
