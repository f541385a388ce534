"""Models compared on the same rows: their values, and the differences of pairs of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from xmleval.errors import counted
from xmleval.records import Floats, Ints, RowGroups
from xmleval.results import rows_at
from xmleval.results.changes import Diff, find_changes
from xmleval.results.comparison import EQUAL_DEPTH, SAME_DEPTH, Comparison
from xmleval.results.differences import JACKKNIFE, TESTS, Difference, corrected, find_differences
from xmleval.results.moved_labels import find_moved
from xmleval.results.parts import ByGroup
from xmleval.results.report import Report
from xmleval.results.seeds import labels_of, mean_and_sd, mean_of
from xmleval.show.tables import (
    Cell,
    Table,
    as_json_value,
    as_latex,
    latex_text,
    short,
)
from xmleval.spec import Spec, parse_spec

LETTERS = "abcdefghijklmnopqrstuvwxyz"
RECORD = [
    "name", "symbol", "direction", "a", "b", "value_a", "value_b", "difference", "standard_error",
    "confidence_lower", "confidence_upper", "p_value", "corrected_p_value", "wins", "ties", "losses",
    "n_rows", "better",
]  # fmt: skip
UNSEEN = "no difference seen"


class Compared(Comparison):
    """Models compared on the same rows.

    Parameters
    ----------
    reports : dict of str to list of Report
        Reports of each model, with kept rows and of one confidence: one, or one for each seed. What is
        compared are means over seeds.
    baseline : str, optional
        The model that each other one is compared with; default all pairs.
    test : str
        A key of `TESTS`.
    weight : float64 (n_rows,), optional
        Weights of rows.
    clusters : int64 (n_rows,), optional
        Number of the cluster of each row.
    row_groups : RowGroups, optional
        The groups of rows within which models are compared, too.
    worst : int
        Largest number of labels to name of each pair; the reports then keep labels.
    label_names : sequence, optional
        Their names.
    only : collection of str, optional
        Names of the measures to compare; figures show others, too. Default all.
    within : bool, default True
        Whether to compare within groups; these tests are corrected together with those of the whole.
    same_depth : float, default 1.01
        As for `Comparison`.

    Attributes
    ----------
    differences : list of Difference
        Each measure of each pair: ``value``, ``estimate`` with ``lower``, ``upper`` and ``standard_error``,
        ``p_value``, ``corrected_p``, ``outcomes`` with ``wins``, ``ties`` and ``losses``, ``n_rows``,
        ``better``.
    groups, row_groups : dict of str to Compared
        The models within each group of labels and of rows. p-values of all groups and of the whole are
        corrected together.
    labels : list of MovedLabels
        The labels that differ most between each pair: ``a``, ``b``, ``column``, ``labels``.
    n_tests : int
        Number of p-values that are corrected together.
    reports : dict of str to Report
        Values of each model.
    notes : list of str
        What was seen in the data.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import compare
    >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    >>> compared = compare(models, np.eye(40), metrics=["p@1"])
    >>> compared.pairs
    [('a', 'b')]
    """

    unfair = "models whose lists differ are not tested for"
    _legend = ""

    def __init__(
        self,
        reports: Mapping[str, Sequence[Report]],
        *,
        baseline: str | None = None,
        test: str = JACKKNIFE,
        weight: Floats | None = None,
        clusters: Ints | None = None,
        row_groups: RowGroups | None = None,
        worst: int = 0,
        label_names: Sequence[Any] | None = None,
        only: Collection[str] | None = None,
        within: bool = True,
        same_depth: float = SAME_DEPTH,
    ) -> None:
        self.seeds = {name: list(own) for name, own in reports.items()}
        means = {name: mean_of(own) for name, own in self.seeds.items()}
        super().__init__(means, only=only, same_depth=same_depth)
        self.baseline, self.test, self.worst = baseline, test, worst
        names = [*self.reports]
        self.letters = {name: LETTERS[n] if len(names) <= 26 else str(n + 1) for n, name in enumerate(names)}
        others = ((name, baseline) for name in names if name != baseline)
        self.pairs: list[tuple[str, str]] = [*(combinations(names, 2) if baseline is None else others)]
        self.specs = [spec for spec in self.specs if spec.needs]  # others are of the truth alone
        assert self.level is not None
        self.differences = find_differences(
            {name: report.results for name, report in self.reports.items()},
            self.pairs,
            self.specs,
            self.level,
            test,
            lambda spec, a, b: self._is_fair(spec, (a, b)),
            weight,
            clusters,
        )
        self.groups, self.row_groups = ByGroup(), ByGroup()
        for name, own in self._reports_of("groups") if within else ():
            self.groups[name] = Compared(own, baseline=baseline, test=test, same_depth=EQUAL_DEPTH)
        for name, own in self._reports_of("row_groups") if within else ():
            of = np.flatnonzero([] if row_groups is None else row_groups.of == row_groups.names.index(name))
            self.row_groups[name] = Compared(
                {model: self._with_rows(model, several, of) for model, several in own.items()},
                baseline=baseline,
                test=test,
                weight=None if weight is None else weight[of],
                clusters=None if clusters is None else clusters[of],
            )
        for name, part in self.groups.items():
            self._own_notes += [f"group {name}: {note}" for note in part._own_notes]
            self.notes += [f"group {name}: {note}" for note in part._own_notes]
        self.n_tests = self._correct()
        columns = {name: labels_of(own) for name, own in self.seeds.items()} if worst else {}
        self.labels = find_moved(self.specs, columns, self.pairs, worst, label_names) if worst else []

    def _reports_of(self, kind: str) -> Iterator[tuple[str, dict[str, list[Report]]]]:
        """Yield the name of each group that all reports have, and the reports of it."""
        several = {name: [getattr(report, kind) for report in own] for name, own in self.seeds.items()}
        first, *others = (parts for own in several.values() for parts in own)
        for group in first:
            if all(group in parts for parts in others):
                yield group, {name: [parts[group] for parts in own] for name, own in several.items()}

    def _with_rows(self, model: str, reports: Sequence[Report], rows: Ints) -> list[Report]:
        """Return the reports of some rows with the values of these rows."""
        return [
            replace(part, results=replace(part.results, rows=rows_at(whole.results.rows, rows)))
            for part, whole in zip(reports, self.seeds[model], strict=True)
        ]

    def _correct(self) -> int:
        """Correct the p-values of the whole and of all groups for the number of all, and return it."""
        several = [self, *self.groups.values(), *self.row_groups.values()]
        assert self.level is not None
        found = iter(corrected([d for own in several for d in own.differences], self.specs, self.level))
        for own in several:
            own.differences = [next(found) for _ in own.differences]
        every = [one for own in several for one in own.differences]
        n_tests = sum(not math.isnan(one.p_value) and one.same_as is None for one in every)
        for own in several[1:]:
            own.n_tests = n_tests
        return n_tests

    @property
    def changes(self) -> Diff | None:
        """Rows, with their lists, and labels that changed most between the first two models.

        None where ``worst`` is 0, or models have several seeds.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import compare
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
        >>> import numpy as np
        >>> from xmleval import compare
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

    def _compared(self) -> Compared:
        return self

    def _cell(self, spec: Spec, name: str) -> Cell:
        """Return a value with what it is better than: a star for two models, letters for more."""
        text = self.reports[name].shown(spec)
        worse = [
            self.letters[one.b if one.a == name else one.a]
            for one in self.differences
            if one.name == spec.name and one.better == name
        ]
        if len(self.reports) == 2:
            return Cell(text, "best" if worse else "other")
        above = ("" if len(self.reports) <= 26 else ",").join(worse)
        return Cell(text, "other", above)

    def grid_of(self, names: Iterable[str]) -> list[list[Cell]]:
        """Return the grid under other names, with letters of more than two models (@private)."""
        if len(self.reports) == 2:
            return super().grid_of(names)
        lettered = (f"{letter}: {name}" for letter, name in zip(self.letters.values(), names, strict=True))
        columns = zip(*super().grid_of(lettered), strict=True)
        return [[*row] for row in zip(*map(_padded, columns), strict=True)]

    def part_tables(self, names: Iterable[str] | None = None) -> list[Table]:
        """Return the tables of seeds, of pairs and of groups, under names of the models (@private)."""
        shown = [*(names or self.reports)]
        known = dict(zip(self.reports, shown, strict=True))
        moved = [one.table(known) for one in self.labels]
        return [*self._seed_tables(known), *self._pair_tables(known), *moved, *self._group_tables(known)]

    def _group_tables(self, names: Mapping[str, str]) -> list[Table]:
        """Return the values within each group, and the differences of each pair within all groups."""
        tables = []
        for of, parts in (("labels", self.groups), ("rows", self.row_groups)):
            for group, own in parts.items():
                tables.append(Table(own._caption(of, group), own.grid_of(names.values())))
            for pair in self.pairs if parts else []:
                tables.append(self._pair_within(of, pair, names))
        return tables

    def _pair_within(self, of: str, pair: tuple[str, str], names: Mapping[str, str]) -> Table:
        """Return the differences of a pair within all groups of labels or of rows."""
        header = ["difference", "p (Holm)", "wins/ties/losses", "result"]
        columns = [0, 1, 2, 4] if of == "rows" else [0, 1, 4]
        rows = [[Cell("group, measure"), *(Cell(header[min(column, 3)]) for column in columns)]]
        for group, own in (self.groups if of == "labels" else self.row_groups).items():
            symbols = {spec.name: spec for spec in own.specs}
            for one in own.differences:
                if (one.a, one.b) == pair:
                    spec, told = symbols[one.name], _told(one, names)
                    name = Cell(f"{group}, {spec.symbol}", spec.metric.direction)
                    rows.append([name, *(Cell(told[column]) for column in columns)])
        return Table(f"{names[pair[0]]} - {names[pair[1]]} within groups of {of}", rows)

    def tables_by_kind(self, names: Sequence[str] | None) -> dict[str, list[Table]]:
        """Return further tables by the kind of their figure, under names of the models (@private)."""
        shown = [*(names or self.reports)]
        known = dict(zip(self.reports, shown, strict=True))
        own = {"values": self._seed_tables(known), "differences": self._pair_tables(known)}
        within = self._group_tables(known) if self.groups or self.row_groups else super().part_tables(shown)
        return own | {"groups": within}

    def _pair_tables(self, names: Mapping[str, str]) -> list[Table]:
        """Return the title and the table of each pair."""
        found = {spec.name: spec for spec in self.specs}
        columns = [0, 1, 2, 3, 4] if len(self._numbers_of_rows) > 1 else [0, 1, 2, 4]
        header = ["difference", "p (Holm)", "wins/ties/losses", "rows", "result"]
        tables = []
        for pair in self.pairs:
            rows = [[Cell("measure"), *(Cell(header[column]) for column in columns)]]
            for one in self.differences:
                if (one.a, one.b) == pair:
                    spec, told = found[one.name], _told(one, names)
                    name = Cell(spec.symbol, spec.metric.direction)
                    rows.append([name, *(Cell(told[column]) for column in columns)])
            tables.append(Table(f"{names[pair[0]]} - {names[pair[1]]}", rows))
        return tables

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

    def _about_marks(self) -> list[str]:
        return [self._about_test(), *self._about_gaps()]

    def _about_test(self) -> str:
        assert self.level is not None
        several = len(self.reports) > 2
        mark = "letters: better than that model" if several else "* better"
        within = ", those within groups included" if self.groups or self.row_groups else ""
        parts = [self, *self.groups.values(), *self.row_groups.values()]
        is_repeated = any(one.same_as for own in parts for one in own.differences)
        once = ", those with the same differences once" if is_repeated else ""
        n = [*self._numbers_of_rows, next(iter(self.reports.values())).n_rows]
        return (
            f"{mark}, p < {1 - self.level:.4g}: {TESTS[self.test]}, "
            f"Holm over {counted(self.n_tests, 'tests')}{once}{within}, n = {n[0]} rows"
        )

    @property
    def _numbers_of_rows(self) -> list[int]:
        """The different numbers of rows on which measures are defined, the largest first."""
        return sorted({one.n_rows for one in self.differences if one.n_rows is not None}, reverse=True)

    def _about_gaps(self) -> list[str]:
        """Return the lines on measures that were not tested, but for those without a standard error."""
        if self.test == JACKKNIFE:
            return []
        rows = next(iter(self.reports.values())).results.rows
        without = [str(spec) for spec in self.specs if spec.name not in rows]
        told = [f"no {TESTS[self.test]}, as no mean over rows: {', '.join(without)}"] if without else []
        if self.groups:
            told.append(f"no {TESTS[self.test]} within groups of labels, whose values by row are not kept")
        return told

    def to_latex(self) -> str:
        """Return the values as a LaTeX tabular (package booktabs), with a line below that tells the test.

        Values have a star, or for more than two models the letters of those that they are better than.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import compare
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(models, np.eye(40), metrics=["p@1"])
        >>> print(compared.to_latex().splitlines()[0])
        % * better, p < 0.05: paired t-test by the jackknife, Holm over 1 test, n = 40 rows
        """
        told = latex_text(self._about_test()).replace("* better", "$^*$ better", 1)
        within = self._group_tables({name: name for name in self.reports})
        tables = as_latex(self.grid(), self.footnotes(), within)
        return f"{tables}\n\\smallskip{{\\footnotesize {told}\\par}}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return reports, differences and notes as JSON values.

        Returns
        -------
        dict
            ``reports`` by model (those of seeds as ``seeds``), and ``comparison`` with ``differences``, those
            of groups as ``groups`` and ``row_groups``.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import compare
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(models, np.eye(40), metrics=["p@1"])
        >>> compared.to_dict()["comparison"]["differences"][0]["difference"]
        0.5
        """
        found: dict[str, Any] = super().to_dict()
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

    def _records(self) -> tuple[list[str], list[list[str | float]]]:
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


def _told(one: Difference, names: Mapping[str, str]) -> list[str]:
    """Return what a table tells of a difference."""
    signed = f"{'+' if one.value > 0 else ''}{short(one.value)}"
    if one.estimate is not None:
        signed += f" ±{short(one.estimate.half_width)}"
    p = one.corrected_p
    verdict = UNSEEN if one.better is None else f"{names[one.better]} better"
    return [
        signed,
        "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}",
        "" if one.outcomes is None else "/".join(map(str, one.outcomes)),
        "" if one.n_rows is None else str(one.n_rows),
        "" if math.isnan(p) else verdict,
    ]
