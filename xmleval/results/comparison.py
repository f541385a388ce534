"""Models side by side: their values, and the differences of pairs of them on the same rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.cached import cached
from xmleval.base.errors import counted
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.numerics.rounding import subtract
from xmleval.results.changes import Diff, find_changes
from xmleval.results.differences import JACKKNIFE, TESTS, Difference, corrected, find_differences
from xmleval.results.frames import as_frame
from xmleval.results.moved_labels import find_moved
from xmleval.results.parts import ByGroup
from xmleval.results.plotted import Plotted
from xmleval.results.report import Report
from xmleval.results.seeds import labels_of, mean_and_sd, mean_of
from xmleval.show.printed import Printed
from xmleval.show.tables import (
    Cell,
    Table,
    as_csv,
    as_json_value,
    as_latex,
    as_text,
    latex_text,
    short,
    short_names,
)
from xmleval.version import SCHEMA
from xmleval.view.block import Groups

SAME_DEPTH = 1.01  # ratio of numbers of labels up to which lists hold as much
EQUAL_DEPTH = 1.0  # within groups of labels, of which lists lose some where they are cut
LETTERS = "abcdefghijklmnopqrstuvwxyz"
RECORD = [
    "name", "symbol", "direction", "a", "b", "value_a", "value_b", "difference", "standard_error",
    "confidence_lower", "confidence_upper", "p_value", "corrected_p_value", "wins", "ties", "losses",
    "n_rows", "better",
]  # fmt: skip
HEADS = "difference", "p (Holm)", "wins/ties/losses", "rows", "result"  # of a table of differences


class Comparison(Printed, Plotted):
    """Models side by side; with a test, their differences, too.

    Parameters
    ----------
    reports : dict of str to Report, or to list of Report
        At least one model; tables show the measures that all of them have. Of several reports of a model, one
        for each training seed, the means are taken.
    only : collection of str, optional
        Names of the measures that tables show; figures show others, too. Default all.
    same_depth : float, default 1.01
        Ratio of the numbers of labels a row lists up to which these are taken for equal.
    test : str, optional
        A key of `TESTS`, by which pairs of models are compared; the reports then have one confidence and keep
        rows. Default: nothing is compared, and the best value of each measure is marked.
    baseline : str, optional
        The model that each other one is compared with; default all pairs.
    weight : float64 (n_rows,), optional
        Weights of rows.
    clusters : int64 (n_rows,), optional
        Number of the cluster of each row.
    row_groups : Groups, optional
        The groups of rows within which models are compared, too.
    worst : int
        Largest number of labels to name of each pair; the reports then keep labels.
    within : bool, default True
        Whether to compare within groups; these tests are corrected together with those of the whole.

    Attributes
    ----------
    level : float or None
        The confidence of the reports.
    differences : list of Difference
        Each measure of each pair: ``value``, ``estimate`` with ``lower``, ``upper`` and ``standard_error``,
        ``p_value``, ``corrected_p``, ``outcomes`` with ``wins``, ``ties`` and ``losses``, ``n_rows``,
        ``better``. Empty without a test.
    groups, row_groups : dict of str to Comparison
        The models within each group of labels and of rows. p-values of all groups and of the whole are
        corrected together.
    labels : list of MovedLabels
        The labels that differ most between each pair: ``a``, ``b``, ``column``, ``labels``.
    n_tests : int
        Number of p-values that are corrected together.
    notes : list of str
        What was seen in the data; with the name of its report, unless all have the note.

    Examples
    --------
    >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    >>> reports = {name: evaluate(np.eye(40), scores, metrics=["p@1"]) for name, scores in models.items()}
    >>> Comparison(reports).reports["b"]["p@1"]
    0.5
    >>> compare(models, np.eye(40), metrics=["p@1"]).pairs
    [('a', 'b')]
    """

    def __init__(
        self,
        reports: Mapping[str, Report | Sequence[Report]],
        *,
        only: Collection[str] | None = None,
        same_depth: float = SAME_DEPTH,
        test: str | None = None,
        baseline: str | None = None,
        weight: Floats | None = None,
        clusters: Ints | None = None,
        row_groups: Groups | None = None,
        worst: int = 0,
        within: bool = True,
    ) -> None:
        self.seeds = {n: [own] if isinstance(own, Report) else [*own] for n, own in reports.items()}
        self.reports = {name: mean_of(own) for name, own in self.seeds.items()}
        self.same_depth, self.test, self.baseline, self.worst = same_depth, test, baseline, worst
        names = [*self.reports]
        first = self.reports[names[0]]
        self.level = first.confidence_level
        self._shared = [spec for spec in first.specs if all(spec.name in r for r in self.reports.values())]
        self.specs = [spec for spec in self._shared if only is None or spec.name in only]
        self.pairs = list[tuple[str, Any]]()
        self.differences = list[Difference]()
        if test is not None:
            self.specs = [spec for spec in self.specs if spec.needs]  # others are of the truth alone
            self.pairs += combinations(names, 2) if baseline is None else []
            self.pairs += [(name, baseline) for name in names if baseline not in (None, name)]
            assert self.level is not None
            results = {name: report.results for name, report in self.reports.items()}
            is_fair = lambda spec, a, b: self._is_fair(spec, (a, b))  # noqa: E731
            self.differences = find_differences(
                results, self.pairs, self.specs, self.level, test, is_fair, weight, clusters
            )
        self.letters = {name: LETTERS[n] if len(names) <= 26 else str(n + 1) for n, name in enumerate(names)}
        self.groups, self.row_groups = ByGroup(), ByGroup()
        same: Any = {"only": [spec.name for spec in self.specs], "baseline": baseline}
        same["test"] = test if within else None
        for name, own in self._reports_of("groups"):
            self.groups[name] = Comparison(own, same_depth=EQUAL_DEPTH, **same)
        for name, own in self._reports_of("row_groups"):
            of = np.flatnonzero([] if row_groups is None else row_groups.of == row_groups.names.index(name))
            self.row_groups[name] = Comparison(
                {model: self._with_rows(model, parts, of) for model, parts in own.items()},
                weight=None if weight is None else weight[of],
                clusters=None if clusters is None else clusters[of],
                **same,
            )
        self._own_notes = self._unequal_depths()
        for name, part in self.groups.items() if same["test"] else ():
            self._own_notes += [f"group {name}: {note}" for note in part._own_notes]
        self.notes = _shared_first({name: report.notes for name, report in self.reports.items()})
        self.notes += self._own_notes
        self.n_tests = self._correct() if test is not None else 0
        columns = {name: labels_of(own) for name, own in self.seeds.items()} if worst else {}
        self.labels = find_moved(self.specs, columns, self.pairs, worst, first.label_names) if worst else []

    def _reports_of(self, kind: str) -> Iterator[tuple[str, dict[str, list[Report]]]]:
        """Yield the name of each group that all reports have, and the reports of it."""
        several = {name: [getattr(report, kind) for report in own] for name, own in self.seeds.items()}
        first, *others = (parts for own in several.values() for parts in own)
        for group in first:
            if all(group in parts for parts in others):
                yield group, {name: [parts[group] for parts in own] for name, own in several.items()}

    def _with_rows(self, model: str, reports: Sequence[Report], rows: Ints) -> list[Report]:
        """Return the reports of some rows with the values of these rows."""
        pairs = zip(reports, self.seeds[model], strict=True)
        values = [(part, whole.results.rows if rows.size else {}) for part, whole in pairs]
        return [
            replace(part, results=replace(part.results, rows={name: of[rows] for name, of in own.items()}))
            for part, own in values
        ]

    @property
    def parts(self) -> list[Comparison]:
        """The whole, and the groups within which models were compared (@private)."""
        parts = self, *self.groups.values(), *self.row_groups.values()
        return [part for part in parts if part.test is not None]

    def _correct(self) -> int:
        """Correct the p-values of the whole and of all groups for the number of all, and return it."""
        assert self.level is not None
        every = [one for part in self.parts for one in part.differences]
        in_order = iter(corrected(every, self.specs, self.level))
        n_tests = sum(not math.isnan(one.p_value) and one.same_as is None for one in every)
        for part in self.parts:
            part.differences = [next(in_order) for _ in part.differences]
            part.n_tests = n_tests
        return n_tests

    @property
    def changes(self) -> Diff | None:
        """Rows, with their lists, and labels that changed most between the first two models.

        None where ``worst`` is 0, or models have several seeds.

        Examples
        --------
        >>> models = {"a": np.eye(4) + 1, "b": np.eye(4)[::-1] + 1}
        >>> compare(models, np.eye(4), metrics="p@1", worst=1).changes.n_changed
        (0, 0, 4)
        """
        if not self.worst or max(map(len, self.seeds.values())) > 1:
            return None
        pair = dict([*self.reports.items()][:2])
        first, second = pair.values()
        names = None if first.label_names is None else (first.names_in_lists, second.names_in_lists)
        read = self.lists_of and partial(self.lists_of, pair)
        return find_changes(self.specs, pair, self.worst, read, first.row_names, names)

    def difference(self, name: str, a: str, b: str) -> Difference:
        """Return the difference of a measure of two models that were compared.

        Parameters
        ----------
        name : str
            The measure, by any spelling of its name.
        a, b : str
            The models, in the order of `pairs`.

        Returns
        -------
        Difference

        Raises
        ------
        KeyError
            If these two were not compared by it.

        Examples
        --------
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(models, np.eye(40), metrics=["p@1"])
        >>> found = compared.difference("p@1", "a", "b")
        >>> found.value, found.better
        (0.5, 'a')
        """
        wanted = str(parse_spec(name)), a, b
        for found in self.differences:
            if (found.name, found.a, found.b) == wanted:
                return found
        compared = ", ".join(f"{one} - {other}" for one, other in self.pairs)
        raise KeyError(f"no difference of {name!r} between {a!r} and {b!r}; compared are {compared}")

    def _plotted(self) -> Sequence[Spec]:
        return self._shared

    def _models(self, specs: Sequence[Spec] = ()) -> Mapping[str, Report]:
        lengths = self._list_lengths([spec for spec in specs if not self._is_fair(spec)])
        names = zip(self.reports, short_names([*self.reports]), strict=True)
        shown = [f"{short} (lists of {lengths[n]:.3g})" if n in lengths else short for n, short in names]
        return dict(zip(shown, self.reports.values(), strict=True))

    def _compared(self) -> Comparison | None:
        return None if self.test is None else self

    def _footnotes(self) -> list[str]:
        """Return the lines of all reports, those that not all have with the name of theirs."""
        names = {spec.name for spec in self.specs}
        lines = _shared_first(
            {
                name: replace(report, specs=tuple([s for s in report.specs if s.name in names])).footnotes()
                for name, report in self.reports.items()
            }
        )
        return [*self._about_test(), *lines, *(f"note: {note}" for note in self._own_notes)]

    def _about_test(self) -> list[str]:
        """Return what marks mean, and the measures that were not tested though they have a standard error."""
        if self.test is None:
            return []
        mark = "letters: better than that model" if len(self.reports) > 2 else "* better"
        within = ", those within groups included" if len(self.parts) > 1 else ""
        is_repeated = any(one.same_as for part in self.parts for one in part.differences)
        once = ", those with the same differences once" if is_repeated else ""
        first = next(iter(self.reports.values()))
        n_rows = [*self._numbers_of_rows, first.n_rows][0]
        tests, test = counted(self.n_tests, "tests"), TESTS[self.test]
        assert self.level is not None
        lines = [
            f"{mark}, p < {1 - self.level:.4g}: {test}, Holm over {tests}{once}{within}, n = {n_rows} rows"
        ]
        if self.test != JACKKNIFE:
            without = [str(spec) for spec in self.specs if spec.name not in first.results.rows]
            lines += [f"no {test}, as no mean over rows: {', '.join(without)}"] if without else []
            kept = "within groups of labels, whose values by row are not kept"
            lines += [f"no {test} {kept}"] if self.groups else []
        return lines

    @property
    def _numbers_of_rows(self) -> list[int]:
        """The different numbers of rows on which measures are defined, the largest first."""
        return sorted({one.n_rows for one in self.differences if one.n_rows is not None}, reverse=True)

    def _is_fair(self, spec: Spec, names: Collection[str] = ()) -> bool:
        """Tell whether lists, by default all, hold about as many of the labels that a measure reads."""
        reports = [self.reports[name] for name in names or self.reports]
        depths = [report.results.short.get(spec.name, float(report.n_labels)) for report in reports]
        short = any(spec.name in report.results.short for report in reports)
        return not short or max(depths) <= self.same_depth * min(depths)

    def _list_lengths(self, specs: Sequence[Spec]) -> dict[str, float]:
        """Return how many labels a row lists, by model, where that is less than a measure reads."""
        lengths = {
            name: [report.results.short[spec.name] for spec in specs if spec.name in report.results.short]
            for name, report in self.reports.items()
        }
        return {name: max(of_model) for name, of_model in lengths.items() if of_model}

    def _unequal_depths(self) -> list[str]:
        """Name the measures whose best value is not marked, and how many labels a row lists."""
        unfair = [spec for spec in self.specs if not self._is_fair(spec)]
        if not unfair:
            return []
        shown = [f"{name} {length:.4g}" for name, length in self._list_lengths(unfair).items()]
        told = f"lists hold different numbers of labels a row ({', '.join(shown)})"
        unmarked = "no value is marked as best for"
        if self.test is not None:
            unmarked = "models whose lists differ are not tested for"
        return [f"{told}, so that {unmarked} {', '.join(map(str, unfair))}"]

    @cached
    def _best(self) -> dict[str, float]:
        """The best value of each measure that has one to mark, by name."""
        best: dict[str, float] = {}
        for spec in self.specs:
            values = [report[spec.name] for report in self.reports.values()]
            known = [value for value in values if not math.isnan(value)]
            if len(known) > 1 and spec.metric.direction != "none" and self._is_fair(spec):
                low, high = min(known), max(known)
                if subtract(high, low):
                    best[spec.name] = high if spec.metric.direction == "up" else low
        return best

    def _cell(self, spec: Spec, name: str) -> Cell:
        """Return a value: with a star for the best or for the better of two, or with letters for more."""
        report = self.reports[name]
        ends = report.intervals.get(spec.name)
        bounds = "" if ends is None else f" [{', '.join(map(short, ends))}]"
        text = f"{report.shown(spec)}{bounds}"
        if self.test is None:
            best = subtract(report[spec.name], self._best.get(spec.name, math.nan)) == 0
            return Cell(text, "best" if best else "other")
        worse = [
            self.letters[one.b if one.a == name else one.a]
            for one in self.differences
            if one.name == spec.name and one.better == name
        ]
        if len(self.reports) == 2:
            return Cell(text, "best" if worse else "other")
        return Cell(text, "other", ("" if len(self.reports) <= 26 else ",").join(worse))

    def grid(self) -> list[list[Cell]]:
        """Return a header and one row per measure (@private)."""
        return self.grid_of([*self.reports])

    def grid_of(self, names: Iterable[str]) -> list[list[Cell]]:
        """Return the grid under other names, with letters of more than two compared models (@private)."""
        lettered = self.test is not None and len(self.reports) != 2
        if lettered:
            names = [f"{letter}: {name}" for letter, name in zip(self.letters.values(), names, strict=True)]
        rows = [[Cell("measure"), *(Cell(name, "other") for name in names)]]
        for spec in self.specs:
            cells = (self._cell(spec, name) for name in self.reports)
            rows.append([Cell(spec.symbol, spec.metric.direction), *cells])
        if not lettered:
            return rows
        return [[*row] for row in zip(*map(_padded, zip(*rows, strict=True)), strict=True)]

    def part_tables(self, names: Iterable[str] | None = None) -> list[Table]:
        """Return the tables of seeds, of pairs and of groups, under names of the models (@private)."""
        known = dict(zip(self.reports, names or self.reports, strict=True))
        moved = [one.table(known) for one in self.labels]
        pairs = [self._pair_table("", pair, known) for pair in self.pairs]
        return [*self._seed_tables(known), *pairs, *moved, *self._group_tables(known)]

    def tables_by_kind(self, names: Sequence[str] | None) -> dict[str, list[Table]]:
        """Return further tables by the kind of their figure, under names of the models (@private)."""
        known = dict(zip(self.reports, names or self.reports, strict=True))
        pairs = [self._pair_table("", pair, known) for pair in self.pairs]
        return {
            "values": self._seed_tables(known), "differences": pairs, "groups": self._group_tables(known)
        }  # fmt: skip

    def _group_tables(self, names: Mapping[str, str]) -> list[Table]:
        """Return the values within each group, and the differences of each pair within all groups."""
        tables = []
        for of, parts in (("labels", self.groups), ("rows", self.row_groups)):
            for group, part in parts.items():
                tables.append(Table(part._caption(of, group), part.grid_of(names.values())))
            if any(part.pairs for part in parts.values()):
                tables += [self._pair_table(of, pair, names) for pair in self.pairs]
        return tables

    def _pair_table(self, of: str, pair: tuple[str, str], names: Mapping[str, str]) -> Table:
        """Return the differences of a pair, of the whole or within all groups of labels or of rows."""
        hidden = {"labels": ["wins/ties/losses", "rows"], "rows": ["rows"]}.get(of, [])
        hidden += ["rows"] if len(self._numbers_of_rows) < 2 else []
        parts = {"": {"": self}, "labels": self.groups, "rows": self.row_groups}[of]
        symbols = {spec.name: spec for spec in self.specs}
        lines = [
            (f"{group}, " if of else "", symbols[one.name], _told(one, names))
            for group, part in parts.items()
            for one in part.differences
            if (one.a, one.b) == pair
        ]
        heads = [head for head in HEADS if head not in hidden]
        rows = [[Cell("group, measure" if of else "measure"), *map(Cell, heads)]]
        for group, spec, told in lines:
            name = Cell(f"{group}{spec.symbol}", spec.metric.direction)
            rows.append([name, *(Cell(told[head]) for head in heads)])
        within = f" within groups of {of}" if of else ""
        return Table(f"{names[pair[0]]} - {names[pair[1]]}{within}", rows)

    def _seed_tables(self, names: Mapping[str, str]) -> list[Table]:
        """Return the mean and the standard deviation over seeds, if there are several of any model."""
        if max(map(len, self.seeds.values())) == 1:
            return []
        rows = [[Cell("measure"), *(Cell(f"{names[name]} ({len(own)})") for name, own in self.seeds.items())]]
        for spec in self.specs:
            values = [[report[spec.name] for report in own] for own in self.seeds.values()]
            shown = [Cell(f"{short(mean)} sd {short(sd)}") for mean, sd in map(mean_and_sd, values)]
            rows.append([Cell(spec.symbol, spec.metric.direction), *shown])
        return [Table("mean and standard deviation over (n) seeds, which ± does not cover", rows)]

    def _caption(self, of: str, group: str) -> str:
        """Return the name of the group that these reports are of, and its size."""
        one = next(iter(self.reports.values()))
        return f"group of {of} {group}: {counted(one.n_labels, 'labels')}, {counted(one.n_rows, 'rows')}"

    def _title(self, names: Iterable[str] | None = None) -> str:
        return f"{self.size(names)}{'' if self.test else '; * best'}"

    def size(self, names: Iterable[str] | None = None) -> str:
        """Tell the size of the data, and of which report where the labels are not the same (@private)."""
        widths = [report.n_labels for report in self.reports.values()]
        several = (f"{n} ({name})" for n, name in zip(widths, names or self.reports, strict=True))
        labels = f"{', '.join(several)} labels" if len(set(widths)) > 1 else counted(widths[0], "labels")
        n_rows = next(iter(self.reports.values())).n_rows
        return f"{counted(n_rows, 'rows')} x {labels}"

    def _text(self, width: int | None, colour: bool) -> str:
        names = short_names([*self.reports])
        tables = [Table(self._title(names), self.grid_of(names)), *self.part_tables(names)]
        return as_text(tables, self.footnotes(), width, colour)

    def to_latex(self) -> str:
        """Return the tables as LaTeX tabulars (package booktabs), with a line below that tells the test.

        Values have a star; where more than two models were compared, letters of those that they beat.

        Returns
        -------
        str

        Examples
        --------
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(models, np.eye(40), metrics=["p@1"])
        >>> print(compared.to_latex().splitlines()[0])
        % * better, p < 0.05: paired t-test by the jackknife, Holm over 1 test, n = 40 rows
        """
        if self.test is None:
            return super().to_latex()
        told = latex_text(self._about_test()[0]).replace("* better", "$^*$ better", 1)
        within = self._group_tables({name: name for name in self.reports})
        tables = as_latex([Table("", self.grid()), *within], self.footnotes())
        return f"{tables}\n\\smallskip{{\\footnotesize {told}\\par}}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return reports, differences and notes as JSON values.

        Returns
        -------
        dict
            ``reports`` by model (those of seeds as ``seeds``), all ``notes``, and of compared models
            ``comparison`` with ``differences``, those of groups as ``groups`` and ``row_groups``.

        Examples
        --------
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(models, np.eye(40), metrics=["p@1"])
        >>> compared.to_dict()["comparison"]["differences"][0]["difference"]
        0.5
        """
        reports = {name: report.to_dict() for name, report in self.reports.items()}
        found: dict[str, Any] = {"schema": SCHEMA, "reports": reports, "notes": self.notes}
        if self.test is None:
            return found
        found["comparison"] = {
            "confidence_level": self.level,
            "test": self.test,
            "correction": "holm",
            "n_tests": self.n_tests,
            "baseline": self.baseline,
            "differences": self._differences_as_json(),
        }
        if self.labels:
            found["comparison"]["labels"] = [one.as_json() for one in self.labels]
        for kind, parts in (("groups", self.groups), ("row_groups", self.row_groups)):
            if parts:
                found["comparison"][kind] = {name: own._as_group() for name, own in parts.items()}
        if max(map(len, self.seeds.values())) > 1:
            found["comparison"]["seeds"] = {
                name: [report.to_dict() for report in own] for name, own in self.seeds.items()
            }
        return found

    def _record(self, one: Difference) -> list[Any]:
        spec = next(spec for spec in self.specs if spec.name == one.name)
        values = [self.reports[name][one.name] for name in (one.a, one.b)]
        ends = [math.nan] * 3
        if one.estimate is not None:
            ends = [one.estimate.standard_error, one.estimate.lower, one.estimate.upper]
        counts = [None] * 3 if one.outcomes is None else [*one.outcomes]
        return [
            one.name, spec.symbol, spec.metric.direction, one.a, one.b, *values, one.value, *ends,
            one.p_value, one.corrected_p, *counts, one.n_rows, one.better,
        ]  # fmt: skip

    def _as_group(self) -> dict[str, Any]:
        """Return the differences within a group, and its size, as JSON values."""
        one = next(iter(self.reports.values()))
        sizes = {"n_labels": one.n_labels, "n_rows": one.n_rows}
        return {**sizes, "differences": self._differences_as_json()}

    def _differences_as_json(self) -> list[dict[str, Any]]:
        rows = (zip(RECORD, self._record(one), strict=True) for one in self.differences)
        return [{n: as_json_value(own) if isinstance(own, float) else own for n, own in row} for row in rows]

    def to_csv(self) -> str:
        """Return CSV in full precision.

        Returns
        -------
        str
            A line for each measure: name, symbol and direction, and value and bounds by report. Of models
            compared by `compare`, a line for each measure of each pair, also within groups.

        Examples
        --------
        >>> print(Comparison({"a": evaluate(np.eye(3), np.eye(3), metrics=["p@1"])}).to_csv())
        name,symbol,direction,a,a lower,a upper
        p@1,P@1,up,1.0,,
        <BLANKLINE>
        """
        return as_csv(*self._records())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            The lines of `to_csv`, by name of the measure; bounds only if there are any.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> compared = Comparison({"a": evaluate(np.eye(3), np.eye(3), metrics=["p@1"])})
        >>> compared.to_frame()["a"].tolist()  # doctest: +SKIP
        [1.0]
        """
        header, rows = self._records()
        bounded = any(report.intervals for report in self.reports.values())
        ends = tuple(f"{name} {end}" for name in self.reports for end in ("lower", "upper"))
        shown = [n for n, head in enumerate(header) if bounded or head not in ends]
        return as_frame(header, rows, shown[1:])

    def _records(self) -> tuple[list[str], list[list[str | float]]]:
        if self.test is not None:
            return self._records_of_pairs()
        columns = {name: report.part_columns() for name, report in self.reports.items()}
        heads = [
            head
            for name, own in columns.items()
            for head in (name, f"{name} lower", f"{name} upper", *(f"{name} {part}" for part in own))
        ]
        rows: list[list[str | float]] = []
        for spec in self.specs:
            row: list[str | float] = [spec.name, spec.symbol, spec.metric.direction]
            for report in self.reports.values():
                row += [report[spec.name], *report.intervals.get(spec.name, (math.nan, math.nan))]
                row += report.part_values(spec)
            rows.append(row)
        return ["name", "symbol", "direction", *heads], rows

    def _records_of_pairs(self) -> tuple[list[str], list[list[str | float]]]:
        parts = [("", "", self)]
        for of, found in (("labels", self.groups), ("rows", self.row_groups)):
            parts += [(of, name, own) for name, own in found.items()]
        several = len(parts) > 1
        rows = [
            [math.nan if field is None else field for field in own._record(one)] + [of, name] * several
            for of, name, own in parts
            for one in own.differences
        ]
        return RECORD + ["group_of", "group"] * several, rows


def _padded(column: Sequence[Cell]) -> list[Cell]:
    """Return a column with superscripts of one width, if it has any, and without room for stars."""
    widest = max(len(cell.above) for cell in column)
    tails = {"other": ""}
    return [Cell(text, tails.get(tail, tail), above.ljust(widest)) for text, tail, above in column]


def _told(one: Difference, names: Mapping[str, str]) -> dict[str, str]:
    """Return what a table tells of a difference, by the head of its column."""
    signed = f"{'+' if one.value > 0 else ''}{short(one.value)}"
    if one.estimate is not None:
        signed += f" ±{short(one.estimate.half_width)}"
    p = one.corrected_p
    verdict = "no difference seen" if one.better is None else f"{names[one.better]} better"
    texts = [
        signed,
        "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}",
        "" if one.outcomes is None else "/".join(map(str, one.outcomes)),
        "" if one.n_rows is None else str(one.n_rows),
        "" if math.isnan(p) else verdict,
    ]
    return dict(zip(HEADS, texts, strict=True))


def _shared_first(lines: Mapping[str, list[str]]) -> list[str]:
    """Return the lines that all reports have, and the others, behind the names of theirs if without them."""
    first = next(iter(lines.values()))
    shared = [line for line in first if all(line in own for own in lines.values())]
    own_lines = [(name, line) for name, own in lines.items() for line in own if line not in shared]
    return [*shared, *(line if f"{name}: " in line else f"{name}: {line}" for name, line in own_lines)]
