"""Models side by side over several data sets: the table of a paper."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

from xmleval.base.errors import InputError, counted, shown, shown_names
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec
from xmleval.results.comparison import Comparison, letters_of, merge_explanations, shared_first
from xmleval.results.differences import TESTS
from xmleval.results.fairness import WHOLE
from xmleval.results.places import GROUPS_OF, KINDS, Place
from xmleval.results.record import (
    AS_SHOWN,
    BOUNDS,
    ESTIMATED,
    VALUE,
    Fields,
    Footnote,
    Lines,
    Number,
    Record,
    column_head,
    symbols_of,
)
from xmleval.results.result import Facts, Result, Style
from xmleval.results.saved_results import naming_file, read_contents
from xmleval.results.shown import FigureData
from xmleval.show.panels import Panel
from xmleval.show.tables import EMPTY, LATEX, Cell, Table, short_names
from xmleval.version import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from xmleval.results.figures import Kind
    from xmleval.results.pages import PageContents

# marks of cells, by those of a comparison in a paper
PAPER_MARKS = {"best": "first", "second": "second", "other": "other"}


class Comparisons(Result[Record], Mapping[str, Comparison]):
    """Models side by side on several data sets, each with its `Comparison`.

    Comparisons map the names of data sets to what `compare` returns of each.

    Attributes
    ----------
    comparisons : dict of str to Comparison
        By the names of data sets. Models are matched by their names; tables leave the place of a
        model empty that a data set does not have.
    models : list of str
        Names of all models, in the order of the first data set that has them.
    notes : list of str
        What was seen in the data; with the name of the data set, unless all have the note.

    Examples
    --------
    >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    >>> compared = compare({"even": (np.eye(40), models), "odd": (np.eye(40)[::-1], models)})
    >>> compared["even"].difference("p@1", "a", "b").better
    'a'
    >>> compared.models
    ['a', 'b']
    """

    _has_rows: ClassVar[Sequence[str]] = ("data_sets", "models")

    def __init__(self, comparisons: Mapping[str, Comparison]) -> None:
        if not comparisons:
            raise InputError("comparisons", "no data set given; expected one or more")
        self.models = [*dict.fromkeys(chain.from_iterable(comparisons.values()))]
        self._names = dict(zip(self.models, short_names(self.models), strict=True))
        self._letters = letters_of(self.models)
        self.comparisons = {
            name: comparison._with_names(self._names, self._letters)
            for name, comparison in comparisons.items()
        }
        notes = {name: [*map(Footnote, each.notes)] for name, each in self.comparisons.items()}
        self.notes = [note.text for note in shared_first(notes, [*notes])]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Comparisons:
        """Read comparisons from JSON written by `to_json` or ``xmleval compare --output C.json``.

        Values by row and by label, values without each jackknife group, curves and names are not
        in it.

        Parameters
        ----------
        path : path
            The file, which holds several data sets, or the comparison of one, which gets the name
            of the file.

        Raises
        ------
        ValueError
            If the file holds anything else, or results of another version of the schema.

        Examples
        --------
        >>> from pathlib import Path
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare({"even": (np.eye(40), models)}, metrics=["p@1"])
        >>> Path("compared.json").write_text(compared.to_json()) > 0
        True
        >>> Comparisons.load("compared.json")["even"]["b"]["p@1"]
        0.5
        """
        file = as_path(path)
        with naming_file(file):
            contents = read_contents(file)
            if "data_sets" not in contents:
                return Comparisons({file.stem: Comparison._of_contents(contents)})
            if contents.get("schema") != SCHEMA:
                raise ValueError(f"results of schema {contents.get('schema')}, not {SCHEMA}")
            comparisons = dict[str, Comparison]()
            for name, data_set in contents["data_sets"].items():
                comparisons[name] = Comparison._of_contents(data_set)
            return Comparisons(comparisons)

    def __getitem__(self, name: str) -> Comparison:
        """Return the comparison on a data set by its name."""
        if name not in self.comparisons:
            known = shown_names(map(shown, self.comparisons))
            raise KeyError(f"no data set {shown(name)}; there are {known}")
        return self.comparisons[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of data sets."""
        return iter(self.comparisons)

    def __len__(self) -> int:
        """Return the number of data sets."""
        return len(self.comparisons)

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Comparisons: {', '.join(self.models)} on {', '.join(self.comparisons)}>"

    def records(self) -> list[Record]:
        return [
            record._replace(data_set=data_set)
            for data_set, comparison in self.comparisons.items()
            for record in comparison.records()
        ]

    def _worded(self, say: Callable[[str], str]) -> Self:
        changed = super()._worded(say)
        changed.comparisons = {
            name: comparison._worded(say) for name, comparison in self.comparisons.items()
        }
        return changed

    def _title(self) -> str:
        models = counted(len(self.models), "models", "model")
        return f"{models} on {counted(len(self.comparisons), 'data sets', 'data set')}"

    def _specs(self, in_tables: bool = True) -> list[Spec]:
        return self._specs_of(WHOLE)

    def _specs_of(self, place: Place) -> list[Spec]:
        """Return the measures that any data set has at a place."""
        specs = dict[Spec, None]()
        for comparison in self._comparisons_at(place).values():
            specs |= dict.fromkeys(comparison._specs_of(place))
        return [*specs]

    def _comparisons_at(self, place: Place) -> dict[str, Comparison]:
        """Return the comparisons that have values at a place."""
        return {
            name: comparison
            for name, comparison in self.comparisons.items()
            if place in comparison._place_reports
        }

    def _places(self) -> list[Place]:
        """Return all rows and labels, then the groups of any data set."""
        places = dict.fromkeys(
            place for comparison in self.comparisons.values() for place in comparison._place_reports
        )
        return sorted(places, key=lambda place: [*GROUPS_OF].index(place[0]))

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        make = self._table_of_models if rows == "models" else self._table_of_data_sets
        tables = [make(place, number) for place in self._places()]
        for data_set, comparison in self.comparisons.items():
            for table in comparison._further_tables(number):
                tables.append(table._replace(caption=f"{data_set}: {table.caption}"))
        return tables

    def _caption(self, place: Place) -> str:
        """Return the caption of the values at a place."""
        kind, group = place
        if not kind:
            return f"{self._title()}; * best"
        return f"{KINDS[kind]}: {group}"

    def _table_of_data_sets(self, place: Place, number: Number) -> Table:
        """Return values with a row for each model on each data set."""
        specs = self._specs_of(place)
        rows: list[Sequence[Cell]] = [
            [Cell("data set"), Cell("model"), *symbols_of(specs).values()]
        ]
        for data_set, comparison in self._comparisons_at(place).items():
            if len(rows) > 1:
                rows.append(())
            cells = self._cells(comparison, place, number)
            head = Cell(data_set)
            for model in self._models_of(comparison):
                values = [cells.get((spec.name, model), EMPTY) for spec in specs]
                rows.append([head, self._model_head(model), *values])
                head = EMPTY
        return Table(self._caption(place), rows, n_heads=2)

    def _table_of_models(self, place: Place, number: Number) -> Table:
        """Return values with a row for each model and a column for each measure of a data set."""
        header = [Cell("model")]
        rows = {model: [self._model_head(model)] for model in self.models}
        spans = list[tuple[str, int]]()
        for data_set, comparison in self._comparisons_at(place).items():
            specs = comparison._specs_of(place)
            cells = self._cells(comparison, place, number)
            header += symbols_of(specs).values()
            spans.append((data_set, len(specs)))
            for model, row in rows.items():
                row += [cells.get((spec.name, model), EMPTY) for spec in specs]
        return Table(self._caption(place), [header, *rows.values()], spans=spans)

    def _models_of(self, comparison: Comparison) -> list[str]:
        """Return the models of a data set in the order of all."""
        return [model for model in self.models if model in comparison]

    def _model_head(self, model: str) -> Cell:
        """Return the name of a model, with its letter if letters mark what values beat."""
        name = self._names[model]
        return Cell(f"{self._letters[model]}: {name}" if self._has_letters else name)

    @property
    def _has_letters(self) -> bool:
        """Whether letters mark which models a value beats."""
        return any(comparison.test for comparison in self.comparisons.values())

    def _cells(
        self, comparison: Comparison, place: Place, number: Number
    ) -> dict[tuple[str, str], Cell]:
        """Return the values of a data set by measure and model, with their marks."""
        cells = dict[tuple[str, str], Cell]()
        for record in comparison._by_place[place]:
            mark = comparison._paper_mark(place, record)
            above = comparison._letters_below(record)
            text = record._text(number, bounded=True)
            cells[record.spec.name, record.model] = Cell(text, PAPER_MARKS[mark], above)
        return cells

    def _placed_footnotes(self) -> list[Footnote]:
        lines = {name: each._lines_below() for name, each in self.comparisons.items()}
        return [*map(Footnote, self._mark_lines()), *shared_first(lines, [*lines])]

    def _explained_settings(self) -> dict[str, str]:
        return merge_explanations(
            {name: each._explained_settings() for name, each in self.comparisons.items()}
        )

    def _page(self, title: str | None, about: Facts | None) -> str:
        title = title or f"Evaluation of {', '.join(self._names.values())}"
        return super()._page(title, about)

    def _page_contents(self) -> PageContents:
        return super()._page_contents()._replace(summary=self._summary())

    def _summary(self) -> list[str]:
        """Return a sentence on how often each model is the best by the first measure."""
        spec = next((spec for spec in self._specs() if spec.metric.direction != "none"), None)
        if spec is None:
            return []
        n_best = dict.fromkeys(self.models, 0)
        for comparison in self.comparisons.values():
            for record in comparison._by_place[WHOLE]:
                if record.spec == spec and comparison._paper_mark(WHOLE, record) == "best":
                    n_best[record.model] += 1
        counts = [f"{self._names[model]} {n}" for model, n in n_best.items()]
        n_data_sets = counted(len(self.comparisons), "data sets", "data set")
        return [f"Of {n_data_sets}, each model is best by {spec.symbol} on: {', '.join(counts)}."]

    def _mark_lines(self) -> list[str]:
        """Return a line on what letters mean, for each test that was made."""
        mark = "letters: better than that model"
        data_sets = dict[str, list[str]]()
        for name, comparison in self.comparisons.items():
            if comparison.test is not None:
                alpha = 1 - (comparison.level or 0.0)
                line = f"p < {alpha:.4g}: {TESTS[comparison.test]}, Holm within each data set"
                data_sets.setdefault(line, []).append(name)
        if len(data_sets) == 1:
            return [f"{mark}, {line}" for line in data_sets]
        return [f"{', '.join(names)}: {mark}, {line}" for line, names in data_sets.items()]

    def _paper(self, style: Style) -> tuple[list[Table], str]:
        legend = ["bold: best"]
        if len(self.models) > 2:
            legend.append("underlined: second best")
        legend += self._mark_lines()
        if style.times_100:
            legend.append("values times 100")
        text = LATEX.text("; ".join(legend))
        tables = self._tables(style.number, style.rows)
        return tables, f"\n\\smallskip{{\\footnotesize {text}\\par}}\n"

    def _members(self) -> dict[str, Any]:
        data_sets = {name: each.to_dict() for name, each in self.comparisons.items()}
        return {"schema": SCHEMA, "data_sets": data_sets, "notes": self.notes}

    def _lines(self, bounded: bool) -> Lines:
        fields = self._fields()
        places = self._places()
        group_heads = ["group_of", "group"] if len(places) > 1 else []
        header = ["data_set", *group_heads, "model"]
        for spec in self._specs():
            header += [column_head(spec.name, field) for field in fields]
        lines = list[list[Any]]()
        for kind, group in places:
            named_group = [GROUPS_OF[kind], group][: len(group_heads)]
            for data_set, comparison in self._comparisons_at((kind, group)).items():
                records = {
                    (record.model, record.spec.name): record
                    for record in comparison._by_place[kind, group]
                }
                for model in self._models_of(comparison):
                    line = [data_set, *named_group, model]
                    for spec in self._specs():
                        line += _values_of(records.get((model, spec.name)), fields)
                    lines.append(line)
        return header, lines

    def _fields(self) -> Fields:
        """Return functions that read the columns of a measure, by name."""
        fields: dict[str, Callable[[Record], Any]] = {**VALUE}
        records = self.records()
        if any(record.bounds for record in records):
            fields |= BOUNDS
        if any(record.estimate for record in records):
            fields |= ESTIMATED
        if any(comparison.test for comparison in self.comparisons.values()):
            fields["better_than"] = lambda record: "; ".join(record.better_than)
        return fields

    def _kinds(self) -> Mapping[str, Kind]:
        from xmleval.results.figures import KINDS as FIGURES

        return {"values": FIGURES["values"]._replace(make=self._value_panels)}

    def _value_panels(self, data: FigureData) -> list[Panel]:
        """Return a panel of values for each data set."""
        panels = list[Panel]()
        for name, comparison in self.comparisons.items():
            specs = [spec for spec in data.specs if spec in comparison.specs]
            values = comparison._kinds()["values"]
            for panel in values.make(comparison._figure_data(specs)):
                panels.append(replace(panel, title=name))
        return panels


def _values_of(record: Record | None, fields: Fields) -> list[Any]:
    """Return the fields of a record, None for those of a measure without one."""
    return [None if record is None else read(record) for read in fields.values()]
