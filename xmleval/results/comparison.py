"""Models side by side: their values, and the differences of pairs of them on the same rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, compress, product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.cached import cached
from xmleval.base.errors import Keyword, Message, counted, shown, shown_names
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.numerics.rounding import subtract
from xmleval.results.diff import OF_PAIR, Diff, Lists, find_changes, find_labels
from xmleval.results.differences import FIELDS, JACKKNIFE, PLACE, TESTS, Difference, correct, find_differences
from xmleval.results.fairness import WHOLE, Fairness, grouped_measures
from xmleval.results.places import GROUPS_OF, KINDS, Place
from xmleval.results.record import Lines, Number, Record, as_shown, measure_lines, members, symbols_of
from xmleval.results.report import Report, mean_of
from xmleval.results.result import Result
from xmleval.results.shown import Shown
from xmleval.show.tables import LATEX, Cell, Table, rows_of, short_names, table_of
from xmleval.version import SCHEMA
from xmleval.view.block import Groups

if TYPE_CHECKING:
    from xmleval.show.page import Section

MOST_CHANGED = 20  # rows, and labels, on a page, unless their number is given
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Comparison(Result[Record], Mapping[str, Report]):
    """Models side by side; with a test, their differences, too.

    A comparison maps the names of models to their reports.

    Parameters
    ----------
    reports : dict of str to Report, or to list of Report
        At least one model; tables show the measures that all of them have. Of several reports of a model, one
        for each training seed, the means are taken.
    only : collection of str, optional
        Names of the measures that tables show; figures show others, too. Default all.
    test : str, optional
        A key of `TESTS`, by which pairs of models are compared; the reports then have one confidence and keep
        rows. Default: nothing is compared, and the best value of each measure is marked.
    baseline : str, optional
        The model that each other one is compared with; default all pairs.
    weight, clusters : float64 and int64 (n_rows,), optional
        Weights of rows, and the number of the cluster of each row.
    row_groups : Groups, optional
        The groups of rows within which models are compared, too.
    worst : int
        Largest number of labels to name of each pair; the reports then keep labels.
    within : bool, default True
        Whether to compare within groups, and by shares of groups of labels; these tests are corrected
        together with those of the whole.
    complete_lists : bool, default False
        Whether no list was cut, so that lists of other lengths are compared as they are.
    lists_of : callable, optional
        Takes two reports by name, a measure and numbers of rows, and returns what to show of these rows.

    Attributes
    ----------
    level : float or None
        The confidence of the reports.
    differences : list of Difference
        Each measure of each pair, then those within groups of labels, by shares of these groups in the values
        of all labels, and within groups of rows. Empty without a test.
    labels : list of Diff
        The labels that differ most between each pair. Tables and JSON have their differences, a minus b;
        ``change`` is b minus a, as in `diff`.
    n_tests : int
        Number of p-values that are corrected together.
    notes : list of str
        What was seen in the data; with the name of its report, unless all have the note.

    Examples
    --------
    >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    >>> reports = {name: evaluate(np.eye(40), scores, metrics=["p@1"]) for name, scores in models.items()}
    >>> Comparison(reports)["b"]["p@1"]
    0.5
    >>> compare(np.eye(40), models, metrics=["p@1"]).pairs
    [('a', 'b')]
    """

    def __init__(
        self,
        reports: Mapping[str, Report | Sequence[Report]],
        *,
        only: Collection[str] | None = None,
        test: str | None = None,
        baseline: str | None = None,
        weight: Floats | None = None,
        clusters: Ints | None = None,
        row_groups: Groups | None = None,
        worst: int = 0,
        within: bool = True,
        complete_lists: bool = False,
        lists_of: Callable[[Mapping[str, Report], Spec, Ints], list[Lists]] | None = None,
    ) -> None:
        self.seeds = {name: [r] if isinstance(r, Report) else [*r] for name, r in reports.items()}
        self._say: Callable[[str], str] = str
        self.reports = {name: mean_of(of_seeds) for name, of_seeds in self.seeds.items()}
        self._has_seeds = max(map(len, self.seeds.values())) > 1
        names = [*self.reports]
        self.names = dict(zip(names, short_names(names), strict=True))
        self.letters = {name: LETTERS[n] if len(names) <= 26 else str(n + 1) for n, name in enumerate(names)}
        self.test, self.baseline, self.worst, self.lists_of = test, baseline, worst, lists_of
        self._first = first = self.reports[names[0]]
        self.level = first.confidence_level
        self._shared = [spec for spec in first.specs if all(spec.name in r for r in self.reports.values())]
        shown = [spec for spec in self._shared if only is None or spec.name in only]
        self.specs = [spec for spec in shown if spec.needs or not test]  # without needs, of the truth alone
        pairs = combinations(names, 2) if baseline is None else product(names, [baseline])
        self.pairs = [(a, b) for a, b in pairs if test and a != b]
        self._parts = {WHOLE: self.reports, **dict(self._groups())}
        self.complete_lists = complete_lists
        self._fairness = Fairness(self._parts, complete_lists)
        self._tested = [place for place in self._parts if within or place == WHOLE] if test else []
        self.differences = correct([*self._find_differences(weight, clusters, row_groups)], self.level or 0.0)
        self._row_counts = {sum(d.outcomes) for d in self.differences if d.outcomes and not d.kind}
        self.n_tests = sum(not (math.isnan(d.p_value) or d.same_as) for d in self.differences)
        self.notes = self._shared_first({name: report.notes for name, report in self.reports.items()}, names)
        self.notes += self._about_comparability({name: name for name in names})
        self.labels = [*self._find_labels()] if worst else []

    def __getitem__(self, name: str) -> Report:
        """Return the report of a model by its name."""
        if name not in self.reports:
            raise KeyError(f"no model {shown(name)}; there are {shown_names(map(shown, self.reports))}")
        return self.reports[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of models."""
        return iter(self.reports)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.reports)

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Comparison: {', '.join(self.reports)}, {self._title()}>"

    def _groups(self) -> Iterator[tuple[Place, dict[str, Report]]]:
        """Yield each group that all reports have, and the reports of it."""
        for kind in filter(None, GROUPS_OF):
            models = {name: [getattr(seed, kind) for seed in seeds] for name, seeds in self.seeds.items()}
            first, *following = (groups for of_seeds in models.values() for groups in of_seeds)
            for group in first:
                if all(group in groups for groups in following):
                    means = {name: mean_of([g[group] for g in of_seeds]) for name, of_seeds in models.items()}
                    yield (kind, group), means

    def _find_differences(
        self, weight: Floats | None, clusters: Ints | None, row_groups: Groups | None
    ) -> Iterator[Difference]:
        for place in self._tested:
            results = {name: report.results for name, report in self._parts[place].items()}
            rows: slice | Ints = slice(None)
            if place[0] == "row_groups" and row_groups is not None:
                rows = np.flatnonzero(row_groups.of == row_groups.names.index(place[1]))
                for name, report in self.reports.items():
                    columns = {measure: values[rows] for measure, values in report.results.rows.items()}
                    results[name] = replace(results[name], rows=columns)
            vectors = None if weight is None else weight[rows], None if clusters is None else clusters[rows]
            specs = self._specs_of(place)
            for a, b in self.pairs:
                tests = [
                    (spec, self.test if self._fairness.are_comparable(place, spec, (a, b)) else None)
                    for spec in specs
                ]
                for each in find_differences(tests, results[a], results[b], self.level or 0.0, vectors):
                    yield each._replace(a=a, b=b, kind=place[0], group=place[1])

    def _specs_of(self, place: Place) -> list[Spec]:
        return [spec for spec in self.specs if all(spec.name in r for r in self._parts[place].values())]

    def _find_labels(self) -> Iterator[Diff]:
        for a, b in self.pairs:
            of_a, of_b = self.reports[a], self.reports[b]
            column, labels = find_labels(self.specs, of_a, of_b, self.worst)
            if labels is not None:
                spec = self.specs[0]
                yield Diff(spec, a, b, (of_a[spec.name], of_b[spec.name]), [], labels, column)

    @property
    def changes(self) -> Diff | None:
        """Rows, with their lists, and labels that changed most between the first two models.

        None where ``worst`` is 0, or models have several seeds.

        Examples
        --------
        >>> models = {"a": np.eye(4) + 1, "b": np.eye(4)[::-1] + 1}
        >>> compare(np.eye(4), models, metrics="p@1", worst=1).changes.n_changed
        (0, 0, 4)
        """
        return self.diff_of_first(self.worst) if self.worst and not self._has_seeds else None

    def diff_of_first(self, worst: int) -> Diff:
        """Return the rows and labels that changed most between the first two models (@private)."""
        models = dict([*self.reports.items()][:2])
        a, b = map(self.names.__getitem__, models)
        return replace(find_changes(self.specs, models, worst, self.lists_of), a=a, b=b)

    def change_sections(self) -> list[Section]:
        """Return what a page shows of rows and labels that changed most (@private)."""
        if len(self.reports) == 1:
            return []
        diff = self.changes or self.diff_of_first(MOST_CHANGED)
        return [*diff.sections()]

    def difference(self, name: str, a: str, b: str, group: str = "", kind: str | None = None) -> Difference:
        """Return the difference of a measure of two models that were compared.

        Parameters
        ----------
        name : str
            The measure, by any spelling of its name.
        a, b : str
            The models, in the order of `pairs`.
        group : str, optional
            Name of the group within which they were compared; of labels, where a group of rows has it, too.
        kind : {"groups", "shares", "row_groups"}, optional
            What has this name: a group of labels, its share of the value of all labels, or a group of rows.

        Raises
        ------
        KeyError
            If these two were not compared by it.

        Examples
        --------
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(np.eye(40), models, metrics=["p@1"])
        >>> difference = compared.difference("p@1", "a", "b")
        >>> difference.value, difference.better
        (0.5, 'a')
        """
        key = str(parse_spec(name)), a, b, group
        for difference in self.differences:
            is_of_kind = kind is None or difference.kind == kind
            if is_of_kind and (difference.name, difference.a, difference.b, difference.group) == key:
                return difference
        pairs = shown_names(f"{first} - {second}" for first, second in self.pairs)
        groups = dict.fromkeys(name for of, name in self._tested[1:] if kind in (None, of))
        names = shown_names(map(shown, groups)) or "none"
        within = f" within group {shown(group)}; groups are {names}" if group else ""
        raise KeyError(
            f"no difference of {shown(name)} between {shown(a)} and {shown(b)}{within}; compared are {pairs}"
        )

    def worded(self, say: Callable[[str], str]) -> Self:
        changed = super().worded(say)
        changed._say = say
        changed.reports = {name: report.worded(say) for name, report in self.reports.items()}
        return changed

    def _specs(self, of_tables: bool = True) -> Sequence[Spec]:
        return self.specs if of_tables else self._shared

    def _shown(self, specs: Sequence[Spec]) -> Shown:
        unlike = [spec for spec in self._with_unlike_lists(WHOLE) if spec in specs]
        lengths = self._fairness.longest(WHOLE, unlike)
        too_short = {name: f" (lists of {length:.3g})" for name, length in lengths.items()}
        models = self.reports.items()
        named = {f"{self.names[name]}{too_short.get(name, '')}": report for name, report in models}
        return Shown(named, specs, self)

    def footnotes(self) -> list[str]:
        specs = tuple(self.specs)
        lines = {name: replace(each, specs=specs).footnotes() for name, each in self.reports.items()}
        shared = self._shared_first(lines, self.names.values())
        return [
            *self._about_test(),
            *shared,
            *(f"note: {self._say(note)}" for note in self._about_comparability(self.names)),
        ]

    def _shared_first(self, lines: Mapping[str, list[str]], names: Collection[str]) -> list[str]:
        """Return the lines that all reports have, and the others, behind the names of theirs if without."""
        shared = [line for line in next(iter(lines.values())) if all(line in each for each in lines.values())]
        named = list[str]()
        for called, (name, of_report) in zip(names, lines.items(), strict=True):
            unshared = (line for line in of_report if line not in shared)
            named += (line if f"{name}: " in line else f"{called}: {line}" for line in unshared)
        return [*shared, *named]

    def _about_test(self) -> list[str]:
        """Return what marks mean, and the measures that were not tested though they have a standard error."""
        if self.test is None:
            return []
        mark = "letters: better than that model" if len(self.reports) > 2 else "* better"
        within = ", those within groups included" if len(self._tested) > 1 else ""
        once = ", those with the same differences once" * any(each.same_as for each in self.differences)
        n_rows = max(self._row_counts, default=self._first.n_rows)
        tests, test, alpha = counted(self.n_tests, "tests"), TESTS[self.test], 1 - (self.level or 0.0)
        lines = [f"{mark}, p < {alpha:.4g}: {test}, Holm over {tests}{once}{within}, n = {n_rows} rows"]
        lines += ["lists are compared as complete, however long they are"] * self.complete_lists
        if self.test != JACKKNIFE:
            without = [str(spec) for spec in self.specs if spec.name not in self._first.results.rows]
            lines += [f"no {test}, as no mean over rows: {', '.join(without)}"] if without else []
            kept = "within groups of labels, whose values and shares by row are not kept"
            lines += [f"no {test} {kept}"] if any(kind == "groups" for kind, _ in self._parts) else []
        return lines

    def _about_comparability(self, names: Mapping[str, str]) -> list[str]:
        """Name the measures that are not tested, or whose best value is not marked, and say why."""
        return [*self._about_lists(names), *self._about_ties(names)]

    def _with_unlike_lists(self, place: Place) -> list[Spec]:
        """Return the measures by which not all models can be compared, as their lists differ."""
        specs, names = self._specs_of(place), [*self.reports]
        return [spec for spec in specs if not self._fairness.have_like_lists(place, spec, names)]

    def _about_lists(self, names: Mapping[str, str]) -> list[str]:
        """Name the measures for which lists differ in length, and how many labels a row each model lists."""
        measures_of = {place: self._with_unlike_lists(place) for place in self._compared_places()}
        if not any(measures_of.values()):
            return []
        lengths = self._fairness.longest(WHOLE, measures_of[WHOLE])
        shown = ", ".join(f"{names[name]} {length:.4g}" for name, length in lengths.items())
        of_test = "models whose lists differ are not tested for"
        unmarked = of_test if self.test else "no value is marked as best for"
        numbers = f"different numbers of labels a row{f' ({shown})' if shown else ''}"
        untested = f"lists hold {numbers}, so that {unmarked} {grouped_measures(measures_of)}"
        compared = ", ".join(map(str, self._with_tested_shares(measures_of)))
        if compared:
            untested += f"; shares of groups are tested for {compared}"
        how = "give " if self.test else "compare them with "
        return [Message(untested, f"; if none of them was cut, {how}", Keyword("complete_lists", "True"))]

    def _with_tested_shares(self, measures_of: Mapping[Place, Collection[Spec]]) -> list[Spec]:
        """Return the measures for which lists differ within groups of labels, and shares are tested."""
        place = self._place_of_shares()
        if self.test != JACKKNIFE or place is None:
            return []
        unlike = {spec for (kind, _), specs in measures_of.items() if kind == "groups" for spec in specs}
        specs = [spec for spec in self._specs_of(place) if spec in unlike]
        return [s for s in specs if self._fairness.are_comparable(place, s, [*self.reports])]

    def _place_of_shares(self) -> Place | None:
        """Return the first group of labels whose shares are compared: those of others are as comparable."""
        return next((place for place in self._tested if place[0] == "shares"), None)

    def _about_ties(self, names: Mapping[str, str]) -> list[str]:
        """Name the measures of each model that depend on the order of equal scores, and what to do."""
        models_of = defaultdict[str, list[str]](list)
        for name, called in names.items():
            measures_of = {
                place: [s for s in self._specs_of(place) if self._fairness.is_decided_by_ties(place, s, name)]
                for place in self._compared_places()
            }
            texts = [grouped_measures(measures_of), self._with_tied_shares(name, measures_of[WHOLE])]
            models_of["; ".join(filter(None, texts))].append(called)
        models_of.pop("", None)
        remedy = "give scores that differ, or measures that count ties, such as auc.samples"
        lines = list[str]()
        for measures, models in models_of.items():
            verb = "are" if models[1:] else "is"
            unmarked = f"{verb} not {'tested' if self.test else 'marked as best'} for {measures}"
            reason = f"in half or more of the rows of {' and of '.join(models)}"
            depends = f"{reason}, values depend on the order of equal scores"
            subject = "they" if models[1:] else "it"
            lines.append(f"{depends}, so that {subject} {unmarked}; {remedy}")
        return lines

    def _with_tied_shares(self, name: str, tied: Collection[Spec]) -> str:
        """Name the shares of groups that ties decide in a model, other than those of measures they decide."""
        place = self._place_of_shares()
        if place is None:
            return ""
        specs = [spec for spec in self._specs_of(place) if spec not in tied]
        decided = [str(s) for s in specs if self._fairness.is_decided_by_ties(place, s, name)]
        return f"shares of groups of {', '.join(decided)}" if decided else ""

    def _compared_places(self) -> list[Place]:
        """Return where models are compared: all, and groups where these are tested, too.

        Shares of groups are not among them; they are compared where the values of all labels are.
        """
        return [WHOLE, *(place for place in self._tested if place[0] in ("groups", "row_groups"))]

    def records(self) -> list[Record]:
        return [record for records in self._by_place.values() for record in records]

    @cached
    def _by_place(self) -> dict[Place, list[Record]]:
        """The records of all rows and labels, and of each group."""
        worse = defaultdict[tuple[str | None, ...], list[str]](list)
        for each in self.differences:
            worse[each.kind, each.group, each.name, each.better] += {each.a, each.b} - {each.better}
        records = defaultdict[Place, list[Record]](list)
        for place, reports in self._parts.items():
            for spec, (model, report) in product(self._specs_of(place), reports.items()):
                better_than = tuple(worse[*place, spec.name, model])
                records[place].append(report.record(spec, model, *place)._replace(better_than=better_than))
        return records

    def tables(self, number: Number = as_shown) -> list[Table]:
        tables = list[Table]()
        for kind in GROUPS_OF:
            places = [place for place in self._parts if place[0] == kind]
            if kind == "shares" and places:
                tables.append(self._share_table(places, number))
            else:
                tables += [self._value_table(place, number) for place in places]
            tables += [self._seed_table(number)] if self._has_seeds and not kind else []
            tables += self._pair_tables(kind, number)
        return tables

    def _value_table(self, place: Place, number: Number, models: str = "") -> Table:
        """Return the values of all models, of all or within a group; with ``models`` as papers print them."""
        rows = symbols_of(self.specs if models == "rows" else self._specs_of(place))
        columns, cells = self._heads(WHOLE if models else place), self._cells(place, number, bool(models))
        if models and len(self.pairs) == 1:
            columns[""] = Cell("p (Holm)")
            tested = (each for each in self.differences if (each.kind, each.group) == place)
            cells |= {(each.name, ""): Cell(_p_text(each.corrected_p)) for each in tested}
        corner = "model" if models == "rows" else "measure"
        return table_of(self._caption(place), corner, rows, columns, cells, "groups" if place[0] else "")

    def _share_table(self, places: Sequence[Place], number: Number) -> Table:
        """Return the shares of all groups of labels in the values of all models."""
        rows = dict[tuple[str, str], Cell]()
        cells = dict[tuple[tuple[str, str], str], Cell]()
        for place in places:
            group = place[1]
            for spec in self._specs_of(place):
                rows[group, spec.name] = Cell(f"{group}, {spec.symbol}", spec.metric.direction)
            for (name, model), cell in self._cells(place, number).items():
                cells[(group, name), model] = cell
        caption = f"{KINDS['shares']} in the values of all"
        return table_of(caption, "group, measure", rows, self._heads(places[0]), cells, "groups")

    def _heads(self, place: Place) -> dict[str, Cell]:
        """Return the head of each model: its name, behind its letter where letters say what it beats."""
        tail = "" if self._has_letters(place) else "other"
        names = self.names.items()
        return {name: Cell(text if tail else f"{self.letters[name]}: {text}", tail) for name, text in names}

    def _caption(self, place: Place) -> str:
        kind, group = place
        if not kind:
            return f"{self._title()}{'' if self.test else '; * best'}"
        if kind == "shares":
            return f"share of group of labels {group}"
        report = next(iter(self._parts[place].values()))
        sizes = f"{counted(report.n_labels, 'labels')}, {counted(report.n_rows, 'rows')}"
        return f"group of {GROUPS_OF[kind]} {group}: {sizes}"

    def _has_letters(self, place: Place) -> bool:
        return place in self._tested and len(self.reports) != 2

    def _cells(self, place: Place, number: Number, in_paper: bool = False) -> dict[tuple[str, str], Cell]:
        """Return values by measure and model, marked as best or better, or with letters of those worse."""
        cells, separator = {}, "" if len(self.reports) <= 26 else ","
        for record in self._by_place[place]:
            best, second = self._leading(place, record.spec)
            mark = "best" if subtract(record.value, best) == 0 else "other"
            above = separator.join(self.letters[name] for name in record.better_than)
            has_letters = self._has_letters(place)
            if in_paper and len(self.reports) > 2 and subtract(record.value, second) == 0:
                mark = "second"
            elif place in self._tested and not in_paper:
                mark = "" if has_letters else "best" if above else "other"
            above = above if has_letters else "*" * (in_paper and above != "")
            cells[record.spec.name, record.model] = Cell(record.text(number, bounded=True), mark, above)
        return cells

    def _leading(self, place: Place, spec: Spec) -> tuple[float, float]:
        """Return the best and the second best value of a measure, NaN where none is to be marked."""
        values = [report[spec.name] for report in self._parts[place].values()]
        values = sorted((v for v in values if not math.isnan(v)), reverse=spec.metric.direction == "up")
        second = next((value for value in values if subtract(value, values[0])), math.nan)
        has_best = not math.isnan(second) and spec.metric.direction != "none"
        is_marked = has_best and self._fairness.are_comparable(place, spec, [*self.reports])
        return (values[0], second) if is_marked else (math.nan, math.nan)

    def _pair_tables(self, kind: str, number: Number) -> list[Table]:
        """Return the differences of each pair, within all groups of a kind, or of all, then with labels."""
        has_rows = kind not in ("groups", "shares")
        is_shown = True, True, has_rows, not kind and len(self._row_counts) > 1, True
        columns = compress(["difference", "p (Holm)", "wins/ties/losses", "rows", "result"], is_shown)
        head = [Cell("group, measure" if kind else "measure"), *map(Cell, columns)]
        within = f" within groups of {GROUPS_OF[kind]}" if kind else ""
        within = f": {KINDS[kind]}" if kind == "shares" else within
        rows = dict[tuple[str, str], list[Sequence[Cell]]]()
        for each in self.differences:
            if each.kind == kind:
                symbol = f"{each.group}, {each.spec.symbol}" if kind else each.spec.symbol
                verdict = f"{self.names[each.better]} better" if each.better else "no difference seen"
                p, outcomes = _p_text(each.corrected_p), "/".join(map(str, each.outcomes or ()))
                n_rows = "" if each.n_rows is None else str(each.n_rows)
                texts = each.text(number), p, outcomes, n_rows, verdict if p else ""
                cells = [Cell(symbol, each.spec.metric.direction), *map(Cell, compress(texts, is_shown))]
                rows.setdefault((self.names[each.a], self.names[each.b]), [head]).append(cells)
        figure = "groups" if kind else "differences"
        tables = [Table(f"{a} - {b}{within}", of_pair, figure) for (a, b), of_pair in rows.items()]
        for pair in [] if kind else self.labels:
            a, b = self.names[pair.a], self.names[pair.b]
            caption = f"{a} - {b}: labels that differ most by {pair.label_column}"
            tables.append(Table(caption, rows_of(pair.label_lines(a, b, sign=-1)), "labels"))
        return tables

    def _seed_table(self, number: Number) -> Table:
        """Return the mean and the standard deviation over seeds."""
        cells = {}
        for spec, (name, reports) in product(self.specs, self.seeds.items()):
            values = [report[spec.name] for report in reports]
            mean = number(spec, math.fsum(values) / len(values))
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
            cells[spec.name, name] = Cell(f"{mean} sd {number(spec, deviation)}")
        columns = {name: Cell(f"{self.names[name]} ({len(reports)})") for name, reports in self.seeds.items()}
        caption = "mean and standard deviation over (n) seeds, which ± does not cover"
        return table_of(caption, "measure", symbols_of(self.specs), columns, cells, "values")

    def _title(self) -> str:
        """Return the size of the data in words, of each report if the labels differ."""
        widths = {self.names[name]: report.n_labels for name, report in self.reports.items()}
        if len({*widths.values()}) == 1:
            return self._first._title()
        labels = ", ".join(f"{n} ({name})" for name, n in widths.items())
        return f"{counted(self._first.n_rows, 'rows')} x {labels} labels"

    def _paper(self, number: Number, models: str, percent: bool) -> tuple[list[Table], str]:
        rows = list[Sequence[Cell]]()
        for place in self._parts:  # those within groups under their headings
            table = self._value_table(place, number, models)
            header, *body = zip(*table.rows, strict=True) if models == "rows" else table.rows
            rows += [header if place == WHOLE else [Cell(table.caption)], *body]
        tables = [Table("", rows), *([self._seed_table(number)] if self._has_seeds else [])]
        tables += [table for kind in filter(None, GROUPS_OF) for table in self._pair_tables(kind, number)]
        legend = ["bold: best", *["underlined: second best"] * (len(self.reports) > 2)]
        legend += [*self._about_test()[:1], *["values times 100"] * percent]
        text = LATEX.text("; ".join(legend)).replace("* better", "$^*$ better", 1)
        return tables, f"\n\\smallskip{{\\footnotesize {text}\\par}}\n"

    def _members(self) -> dict[str, Any]:
        reports = {name: report.to_dict() for name, report in self.reports.items()}
        contents: dict[str, Any] = {"schema": SCHEMA, "reports": reports, "notes": self.notes}
        if self.test is None:
            return contents
        differences: dict[Place, list[Difference]] = {place: [] for place in self._parts}
        for difference in self.differences:
            differences[difference.kind, difference.group].append(difference)
        comparison = contents["comparison"] = {
            "confidence_level": self.level, "test": self.test, "correction": "holm", "n_tests": self.n_tests,
            "baseline": self.baseline, "complete_lists": self.complete_lists,
            "differences": members(differences.pop(WHOLE), FIELDS),
        }  # fmt: skip
        for each in self.labels:
            pair = {"a": each.a, "b": each.b, "labels_by": each.label_column}
            comparison.setdefault("labels", []).append(pair | {"labels": members(each.labels or (), OF_PAIR)})
        shares = {group: of for (kind, group), of in differences.items() if kind == "shares"}
        for (kind, group), within in differences.items():
            if kind == "shares":
                continue
            first = next(iter(self._parts[kind, group].values()))
            sizes = {"n_labels": first.n_labels, "n_rows": first.n_rows}
            contents_of = {**sizes, "differences": members(within, FIELDS)}
            if kind == "groups" and group in shares:
                contents_of["shares"] = members(shares[group], FIELDS)
            comparison.setdefault(kind, {})[group] = contents_of
        if self._has_seeds:
            seeds = self.seeds.items()
            comparison["seeds"] = {name: [each.to_dict() for each in reports] for name, reports in seeds}
        return contents

    def _lines(self, bounded: bool) -> Lines:
        if self.test is not None:
            fields = {**FIELDS, **PLACE} if len(self._parts) > 1 else FIELDS
            return [*fields], [[field(each) for field in fields.values()] for each in self.differences]
        pairs = ((name, record) for name, report in self.reports.items() for record in report.records())
        records = (record._replace(model=name) for name, record in pairs if record.spec in self.specs)
        return measure_lines(records, bounded, by_model=True)


def _p_text(p: float) -> str:
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"
