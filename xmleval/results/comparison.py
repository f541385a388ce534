"""Models side by side: their values, and the differences of pairs of them on the same rows."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.cached import cached
from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    counted,
    printable,
    shown,
    shown_names,
)
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.numerics.rounding import subtract
from xmleval.results.diff import (
    OF_PAIR,
    Diff,
    Lists,
    find_changes,
    find_labels,
    read_change,
    read_changes,
)
from xmleval.results.differences import (
    FIELDS,
    JACKKNIFE,
    MEMBERS,
    PLACE,
    TESTS,
    Difference,
    correct,
    find_differences,
    p_text,
)
from xmleval.results.fairness import WHOLE, Fairness, describe_decided, grouped_measures
from xmleval.results.places import GROUPS_OF, KINDS, Place
from xmleval.results.record import (
    AS_SHOWN,
    Footnote,
    Lines,
    Number,
    Record,
    measure_lines,
    members,
    symbols_of,
)
from xmleval.results.report import Report, load_results, mean_of
from xmleval.results.result import Result, Style, select_specs
from xmleval.results.saved_comparisons import CorrectedDifferences, read_comparison
from xmleval.results.saved_results import naming_file, read_contents, refusing_damage
from xmleval.results.shown import FigureData
from xmleval.show.tables import LATEX, Cell, Table, rows_of, short_names, table_of, turned
from xmleval.states.results import Results
from xmleval.version import SCHEMA
from xmleval.view.block import Groups

if TYPE_CHECKING:
    from xmleval.show.page import Section

MOST_CHANGED = 20  # rows, and labels, on a page, unless their number is given
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Comparison(Result[Record], Mapping[str, Report]):
    """Models side by side; with a test, their differences, too.

    A comparison maps the names of models to their reports.

    Attributes
    ----------
    reports : dict of str to Report, or to list of Report
        At least one model; tables show the measures that all of them have. Of several reports of a
        model, one for each training seed, the means are taken.
    only : collection of str, optional
        Names of the measures that tables show; figures show others, too. Default all.
    test : str, optional
        A key of `TESTS`, by which pairs of models are compared; the reports then have one
        confidence and keep rows. Default: nothing is compared, and the best value of each measure
        is marked.
    baseline : str, optional
        The model that each other one is compared with; default all pairs.
    weight, clusters : float64 and int64 (n_rows,), optional
        Weights of rows, and the number of the cluster of each row.
    row_groups : Groups, optional
        The groups of rows within which models are compared, too.
    worst : int
        Largest number of labels to name of each pair; the reports then keep labels.
    within : bool, default True
        Whether to compare within groups, and by shares of groups of labels; these tests are
        corrected together with those of the whole.
    complete_lists : bool, default False
        Whether no list was cut, so that lists of other lengths are compared as they are.
    lists_of : callable, optional
        Takes two reports by name, a measure and numbers of rows, and returns what to show of these
        rows.
    tests : CorrectedDifferences, optional
        Differences that were tested before, and the number of tests; default: they are found.
    level : float or None
        The confidence of the reports.
    seeds : dict of str to list of Report
        The reports of each training seed, by model; of one report, a list of it.
    specs : list of Spec
        The measures that tables show.
    pairs : list of tuple of str
        The models that are compared, by name; empty without a test.
    differences : list of Difference
        Each measure of each pair, then those within groups of labels, by shares of these groups in
        the values of all labels, and within groups of rows. Empty without a test.
    labels : list of Diff
        The labels that differ most between each pair. Tables and JSON have their differences, a
        minus b; ``change`` is b minus a, as in `diff`.
    n_tests : int
        Number of p-values that are corrected together.
    notes : list of str
        What was seen in the data; with the name of its report, unless all have the note.

    Examples
    --------
    >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    >>> reports = {
    ...     name: evaluate(np.eye(40), scores, metrics=["p@1"]) for name, scores in models.items()
    ... }
    >>> Comparison(reports)["b"]["p@1"]
    0.5
    >>> compare(np.eye(40), models, metrics=["p@1"]).pairs
    [('a', 'b')]
    """

    def __init__(  # noqa: PLR0913 - all that a saved comparison restores
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
        tests: CorrectedDifferences | None = None,
    ) -> None:
        if not reports:
            raise InputError("reports", "no model given; expected the reports of one or more")
        self.seeds = {name: _seed_reports(report) for name, report in reports.items()}
        self.reports = {name: mean_of(seeds) for name, seeds in self.seeds.items()}
        self._has_seeds = max(map(len, self.seeds.values())) > 1
        names = [*self.reports]
        self._names = dict(zip(names, short_names(names), strict=True))
        self._letters = letters_of(names)
        self.test = test
        self.baseline = baseline
        self._worst = worst
        self._lists_of = lists_of
        self.complete_lists = complete_lists
        self._first = self.reports[names[0]]
        self.level = self._first.confidence_level
        self._shared = self._shared_specs()
        self.specs = self._table_specs(only)
        self.pairs = self._model_pairs()
        self._place_reports = {WHOLE: self.reports, **dict(self._group_reports())}
        self._fairness = Fairness(self._place_reports, complete_lists)
        self._tested = self._tested_places(within)
        if tests is None:
            tests = self._run_tests([*self._find_differences(weight, clusters, row_groups)])
        self.differences = [*tests.differences]
        self.n_tests = tests.n_tests
        self._row_counts = {
            sum(difference.outcomes)
            for difference in self.differences
            if difference.outcomes and not difference.kind
        }
        notes = {name: [*map(Footnote, report.notes)] for name, report in self.reports.items()}
        all_notes = shared_first(notes, names)
        all_notes += self._comparability_notes({name: name for name in names})
        self.notes = [note.text for note in all_notes]
        self.labels = [*self._find_labels()] if worst else []
        self._saved_changes: Diff | None = None

    def _run_tests(self, differences: Sequence[Difference]) -> CorrectedDifferences:
        """Return differences with corrected p-values, and the number of tests."""
        n_tests = 0
        for difference in differences:
            if not (math.isnan(difference.p_value) or difference.same_as):
                n_tests += 1
        return CorrectedDifferences(correct(differences, self.level or 0.0), n_tests)

    def _shared_specs(self) -> list[Spec]:
        """Return the measures that all reports have."""
        return [
            spec
            for spec in self._first.specs
            if all(spec.name in report for report in self.reports.values())
        ]

    def _table_specs(self, only: Collection[str] | None) -> list[Spec]:
        """Return the measures that tables show; with a test, without those of the truth alone."""
        specs = self._shared
        if only is not None:
            specs = [spec for spec in specs if spec.name in only]
        # measures of the truth alone have no needs
        return [spec for spec in specs if spec.needs or not self.test]

    def _model_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of models that are compared."""
        if not self.test:
            return []
        if self.baseline is None:
            return [*combinations(self.reports, 2)]
        return [(name, self.baseline) for name in self.reports if name != self.baseline]

    def _tested_places(self, within: bool) -> list[Place]:
        """Return where models are tested: on all rows and labels and, if asked, within groups."""
        if not self.test:
            return []
        return [place for place in self._place_reports if within or place == WHOLE]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Comparison:
        """Read a comparison from JSON written by `to_json` or ``xmleval compare --output C.json``.

        Values by row and by label, values without each jackknife group, curves and names are not
        in it. Rows and labels that changed most are, where ``worst`` asked for them.

        Parameters
        ----------
        path : path
            The file, which holds several reports, and the differences if they were compared.

        Raises
        ------
        ValueError
            If the file holds anything else, or results of another version of the schema.

        Examples
        --------
        >>> from pathlib import Path
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> compared = compare(np.eye(40), models, metrics=["p@1"])
        >>> Path("compared.json").write_text(compared.to_json()) > 0
        True
        >>> Comparison.load("compared.json").difference("p@1", "a", "b").better
        'a'
        """
        file = as_path(path)
        with naming_file(file):
            return Comparison._of_contents(read_contents(file))

    @staticmethod
    def _of_contents(contents: dict[str, Any]) -> Comparison:
        """Return the comparison in the contents of a file."""
        reports = load_results(contents)
        if [*reports] == [""]:
            raise ValueError("has one report, without a name; give several models")
        saved = read_comparison(contents)
        only = contents.get("measures")
        if saved is None:
            complete = bool(contents.get("complete_lists"))
            comparison = Comparison(reports, only=only, complete_lists=complete)
        else:
            comparison = Comparison(
                reports,
                only=only,
                test=saved.test,
                baseline=saved.baseline,
                within=any(difference.kind for difference in saved.tests.differences),
                complete_lists=saved.complete_lists,
                tests=saved.tests,
            )
        with refusing_damage("comparison", "`xmleval compare`"):
            comparison._restore(contents)
        return comparison

    def _restore(self, contents: Mapping[str, Any]) -> None:
        """Restore the notes, seeds, labels and changes in the contents of a file."""
        self.notes = [*contents.get("notes", self.notes)]
        members = contents.get("comparison", contents)
        for name, seeds in members.get("seeds", {}).items():
            self.seeds[name] = [load_results(seed)[""] for seed in seeds]
            self._has_seeds = True
        self.labels = [self._read_labels(pair) for pair in members.get("labels", ())]
        if "changes" in members:
            self._saved_changes = read_changes(members["changes"])

    def _read_labels(self, pair: Mapping[str, Any]) -> Diff:
        """Return the saved labels that differ most between two models."""
        a = pair["a"]
        b = pair["b"]
        spec = self.specs[0]
        values = (self.reports[a][spec.name], self.reports[b][spec.name])
        labels = [*map(read_change, pair["labels"])]
        return Diff(spec, a, b, values, [], labels, pair["labels_by"])

    def __getitem__(self, name: str) -> Report:
        """Return the report of a model by its name."""
        if name not in self.reports:
            raise KeyError(
                f"no model {shown(name)}; there are {shown_names(map(shown, self.reports))}"
            )
        return self.reports[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of models."""
        return iter(self.reports)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.reports)

    def __repr__(self) -> str:
        """Return the size of the data and the values of the first measure, on one line."""
        names = [*self._names.values()]
        measure = ""
        if self.specs:
            spec = self.specs[0]
            measure = f"{spec.symbol} of "
            reports = zip(names, self.reports.values(), strict=True)
            names = [f"{name} {report._record(spec)._text()}" for name, report in reports]
        return f"<Comparison: {self._title()}, {measure}{printable(shown_names(names))}>"

    def _group_reports(self) -> Iterator[tuple[Place, dict[str, Report]]]:
        """Yield each group that all reports have, with the reports of models within it."""
        for kind in filter(None, GROUPS_OF):
            models = {name: getattr(report, kind) for name, report in self.reports.items()}
            first, *following = models.values()
            for group in first:
                if all(group in groups for groups in following):
                    yield (kind, group), {name: groups[group] for name, groups in models.items()}

    def _find_differences(
        self, weight: Floats | None, clusters: Ints | None, row_groups: Groups | None
    ) -> Iterator[Difference]:
        """Yield the differences of all pairs, on all rows and labels, then within groups."""
        for place in self._tested:
            rows = _rows_of(place, row_groups)
            results = self._results_on(place, rows)
            row_weight = None if weight is None else weight[rows]
            row_clusters = None if clusters is None else clusters[rows]
            specs = self._specs_of(place)
            for a, b in self.pairs:
                tests = [(spec, self._test_of(place, spec, (a, b))) for spec in specs]
                differences = find_differences(
                    tests, results[a], results[b], self.level or 0.0, (row_weight, row_clusters)
                )
                for difference in differences:
                    yield difference._replace(a=a, b=b, kind=place[0], group=place[1])

    def _results_on(self, place: Place, rows: slice | Ints) -> dict[str, Results]:
        """Return the results of models at a place; of a row group, with its row values."""
        results = {name: report.results for name, report in self._place_reports[place].items()}
        if isinstance(rows, slice):
            return results
        for name, report in self.reports.items():
            columns = {measure: values[rows] for measure, values in report.results.rows.items()}
            results[name] = replace(results[name], rows=columns)
        return results

    def _test_of(self, place: Place, spec: Spec, pair: tuple[str, str]) -> str | None:
        """Return the test of a measure of two models; None if it cannot compare them."""
        if self._fairness.are_comparable(place, spec, pair):
            return self.test
        return None

    def _specs_of(self, place: Place) -> list[Spec]:
        """Return the measures that all models have at a place."""
        reports = self._place_reports[place].values()
        return [spec for spec in self.specs if all(spec.name in report for report in reports)]

    def _find_labels(self) -> Iterator[Diff]:
        """Yield the labels that differ most between each pair, if there are values by label."""
        for a, b in self.pairs:
            report_a = self.reports[a]
            report_b = self.reports[b]
            column, labels = find_labels(self.specs, report_a, report_b, self._worst)
            if labels is not None:
                spec = self.specs[0]
                values = (report_a[spec.name], report_b[spec.name])
                yield Diff(spec, a, b, values, [], labels, column)

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
        if not self._worst or self._has_seeds:
            return self._saved_changes
        return self._diff_of_first(self._worst)

    def _diff_of_first(self, worst: int) -> Diff:
        """Return the rows and labels that changed most between the first two models."""
        models = dict([*self.reports.items()][:2])
        a, b = map(self._names.__getitem__, models)
        return replace(find_changes(self.specs, models, worst, self._lists_of), a=a, b=b)

    def _change_sections(self) -> list[Section]:
        """Return what a page shows of rows and labels that changed most."""
        if len(self.reports) == 1:
            return []
        diff = self.changes or self._diff_of_first(MOST_CHANGED)
        return [*diff._sections()]

    def difference(
        self, name: str, a: str, b: str, group: str = "", kind: str | None = None
    ) -> Difference:
        """Return the difference of a measure of two models that were compared.

        Parameters
        ----------
        name : str
            The measure, by any spelling of its name.
        a, b : str
            The models, in the order of `pairs`.
        group : str, optional
            Name of the group within which they were compared; of labels, where a group of rows has
            it, too.
        kind : {"groups", "shares", "row_groups"}, optional
            What has this name: a group of labels, its share of the value of all labels, or a group
            of rows.

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
        expected = (str(parse_spec(name)), a, b, group)
        for difference in self.differences:
            key = (difference.name, difference.a, difference.b, difference.group)
            if key == expected and kind in (None, difference.kind):
                return difference
        within = ""
        if group:
            groups = dict.fromkeys(
                group_name
                for group_kind, group_name in self._tested[1:]
                if kind in (None, group_kind)
            )
            group_names = shown_names(map(shown, groups)) or "none"
            within = f" within group {shown(group)}; groups are {group_names}"
        models = f"between {shown(a)} and {shown(b)}"
        pairs = shown_names(f"{first} - {second}" for first, second in self.pairs)
        raise KeyError(f"no difference of {shown(name)} {models}{within}; compared are {pairs}")

    def _worded(self, say: Callable[[str], str]) -> Self:
        changed = super()._worded(say)
        changed.reports = {name: report._worded(say) for name, report in self.reports.items()}
        return changed

    _has_rows: ClassVar[Sequence[str]] = ("measures", "models")

    def _specs(self, in_tables: bool = True) -> Sequence[Spec]:
        return self.specs if in_tables else self._shared

    def _figure_data(self, specs: Sequence[Spec]) -> FigureData:
        unlike = [spec for spec in self._specs_with_unlike_lists(WHOLE) if spec in specs]
        lengths = self._fairness.list_lengths(WHOLE, unlike)
        models = dict[str, Report]()
        for name, report in self.reports.items():
            shown_name = self._names[name]
            if name in lengths:
                shown_name += f" (lists of {lengths[name]:.3g})"
            models[shown_name] = report
        return FigureData(models, specs, self)

    def _placed_footnotes(self) -> list[Footnote]:
        lines = {name: report._placed_footnotes() for name, report in self._table_reports().items()}
        shared = shared_first(lines, self._names.values())
        notes = self._comparability_notes(self._names)
        said = [Footnote(f"note: {self._say(note.text)}", note.about) for note in notes]
        return [*self._test_lines(), *shared, *said]

    def _lines_below(self) -> list[Footnote]:
        """Return the footnotes without the one on what marks mean."""
        return self._placed_footnotes()[1 if self.test else 0 :]

    def _with_names(self, names: Mapping[str, str], letters: Mapping[str, str]) -> Self:
        """Return a copy that shows models by other names and letters."""
        changed = copy(self)
        changed._names = {name: names[name] for name in self.reports}
        changed._letters = {name: letters[name] for name in self.reports}
        return changed

    def _explained_settings(self) -> dict[str, str]:
        reports = self._table_reports()
        return merge_explanations(
            {self._names[name]: report._explained_settings() for name, report in reports.items()}
        )

    def _table_reports(self) -> dict[str, Report]:
        """Return the reports with the measures that tables show, by model."""
        specs = tuple(self.specs)
        return {name: replace(report, specs=specs) for name, report in self.reports.items()}

    def _test_lines(self) -> list[Footnote]:
        """Return lines on the marks, the test and the measures that it cannot test."""
        if self.test is None:
            return []
        test = TESTS[self.test]
        lines = [Footnote(self._mark_line(test))]
        if self.complete_lists:
            text = "lists are compared as complete, whatever their length"
            lines.append(Footnote(text, "differences"))
        if self.test == JACKKNIFE:
            return lines
        tested = {each.spec for each in self.differences if each.outcomes and not each.kind}
        without = [str(spec) for spec in self.specs if spec not in tested]
        if without:
            text = f"no {test} for measures that are not means over rows: {', '.join(without)}"
            lines.append(Footnote(text, "differences"))
        if any(kind == "groups" for kind, _ in self._place_reports):
            kept = "within groups of labels, as values and shares by row are not kept"
            lines.append(Footnote(f"no {test} {kept}", "groups"))
        return lines

    def _mark_line(self, test: str) -> str:
        """Return a line on what marks mean, by which test, and over how many tests and rows."""
        mark = "* better"
        if len(self.reports) > 2:
            mark = "letters: better than that model"
        tests = counted(self.n_tests, "tests")
        if any(difference.same_as for difference in self.differences):
            tests += ", counting tests of the same differences once"
        if len(self._tested) > 1:
            tests += ", including tests by group"
        n_rows = max(self._row_counts, default=self._first.n_rows)
        alpha = 1 - (self.level or 0.0)
        return f"{mark}, p < {alpha:.4g}: {test}, Holm over {tests}, n = {n_rows} rows"

    def _comparability_notes(self, names: Mapping[str, str]) -> list[Footnote]:
        """Return notes on measures that are not tested, or whose best value is not marked."""
        return [*self._list_notes(names), *self._tie_notes(names)]

    def _specs_with_unlike_lists(self, place: Place) -> list[Spec]:
        """Return the measures that cannot compare all models, as their lists differ in length."""
        specs = self._specs_of(place)
        names = [*self.reports]
        return [spec for spec in specs if not self._fairness.have_like_lists(place, spec, names)]

    def _list_notes(self, names: Mapping[str, str]) -> list[Footnote]:
        """Return a note on measures whose lists differ in length, with the lengths by model."""
        specs_at = {
            place: self._specs_with_unlike_lists(place) for place in self._compared_places()
        }
        if not any(specs_at.values()):
            return []
        lengths = self._fairness.list_lengths(WHOLE, specs_at[WHOLE])
        length_texts = [f"{names[name]} {length:.4g}" for name, length in lengths.items()]
        numbers = "different numbers of labels per row"
        if length_texts:
            numbers += f" ({', '.join(length_texts)})"
        consequence = "no value is marked as best for"
        advice = "compare them with "
        if self.test:
            consequence = "models whose lists differ are not tested for"
            advice = "give "
        note = f"lists have {numbers}, so {consequence} {grouped_measures(specs_at)}"
        tested = ", ".join(map(str, self._specs_with_tested_shares(specs_at)))
        if tested:
            note += f"; shares of groups are tested for {tested}"
        keyword = Keyword("complete_lists", "True")
        message = Message(note, f"; if no list was cut, {advice}", keyword)
        return [Footnote(message, "" if specs_at[WHOLE] else "groups")]

    def _specs_with_tested_shares(self, specs_at: Mapping[Place, Collection[Spec]]) -> list[Spec]:
        """Return the measures whose shares are tested although lists differ within label groups."""
        place = self._place_of_shares()
        if self.test != JACKKNIFE or place is None:
            return []
        unlike = set[Spec]()
        for (kind, _), specs in specs_at.items():
            if kind == "groups":
                unlike.update(specs)
        names = [*self.reports]
        return [
            spec
            for spec in self._specs_of(place)
            if spec in unlike and self._fairness.are_comparable(place, spec, names)
        ]

    def _place_of_shares(self) -> Place | None:
        """Return the first label group whose shares are compared; all groups are as comparable."""
        return next((place for place in self._tested if place[0] == "shares"), None)

    def _tie_notes(self, names: Mapping[str, str]) -> list[Footnote]:
        """Return notes on the measures for which ties decide which of two models is better."""
        pairs_of = defaultdict[tuple[str, bool, bool], list[str]](list)
        for pair in self.pairs or combinations(self.reports, 2):
            a, b = pair
            decided = self._specs_decided_by_ties(pair)
            for are_bounds_known in (True, False):
                specs_at = self._specs_with_bounds(decided, pair, are_bounds_known)
                have_orders = [
                    spec.metric.has_orders and place[0] != "shares"
                    for place, specs in specs_at.items()
                    for spec in specs
                ]
                has_orders = any(have_orders) if are_bounds_known else all(have_orders)
                measures = self._describe_decided(specs_at)
                pairs_of[measures, has_orders, are_bounds_known].append(
                    f"{names[a]} and {names[b]}"
                )
        notes = list[Footnote]()
        for (measures, has_orders, are_bounds_known), pairs in pairs_of.items():
            if not measures:
                continue
            consequence = "tested" if self.test else "marked as better"
            note = describe_decided(
                shown_names(pairs),
                has_orders,
                f", so it is not {consequence} for {measures}",
                are_bounds_known=are_bounds_known,
            )
            notes.append(Footnote(note))
        return notes

    def _specs_decided_by_ties(self, pair: tuple[str, str]) -> dict[Place, list[Spec]]:
        """Return the measures for which ties decide which of two models is better, by place.

        Shares of groups are left out where ties decide the measure itself.
        """
        decided = {
            place: [
                spec
                for spec in self._specs_of(place)
                if self._fairness.are_decided_by_ties(place, spec, pair)
            ]
            for place in (*self._compared_places(), self._place_of_shares())
            if place is not None
        }
        for place, specs in decided.items():
            if place[0] == "shares":
                decided[place] = [spec for spec in specs if spec not in decided[WHOLE]]
        return decided

    def _specs_with_bounds(
        self,
        specs_at: Mapping[Place, Sequence[Spec]],
        pair: tuple[str, str],
        are_bounds_known: bool,
    ) -> dict[Place, list[Spec]]:
        """Return the measures of which bounds over orders of ties are known, or the others."""
        return {
            place: [
                spec
                for spec in specs
                if self._fairness.are_bounds_known(place, spec, pair) == are_bounds_known
            ]
            for place, specs in specs_at.items()
        }

    def _describe_decided(self, specs_at: Mapping[Place, Sequence[Spec]]) -> str:
        """Return the measures and shares that ties decide as text."""
        shares = list[str]()
        measures_at = dict[Place, Sequence[Spec]]()
        for place, specs in specs_at.items():
            if place[0] == "shares":
                shares += map(str, specs)
            else:
                measures_at[place] = specs
        texts = [grouped_measures(measures_at)]
        if shares:
            texts.append(f"shares of groups of {', '.join(shares)}")
        return "; ".join(filter(None, texts))

    def _compared_places(self) -> list[Place]:
        """Return where models are compared: on all rows and labels, and within tested groups.

        Shares of groups are not among them; they are compared where the values of all labels are.
        """
        return [WHOLE, *(place for place in self._tested if place[0] in ("groups", "row_groups"))]

    def records(self) -> list[Record]:
        return [record for records in self._by_place.values() for record in records]

    @cached
    def _by_place(self) -> dict[Place, list[Record]]:
        """Records of all rows and labels, and of all groups, by place."""
        beaten = defaultdict[tuple[str | None, ...], list[str]](list)
        for each in self.differences:
            models = {each.a, each.b}
            beaten[each.kind, each.group, each.name, each.better] += models - {each.better}
        records = defaultdict[Place, list[Record]](list)
        for place, reports in self._place_reports.items():
            for spec, (model, report) in product(self._specs_of(place), reports.items()):
                better_than = tuple(beaten[*place, spec.name, model])
                record = report._record(spec, model, *place)
                records[place].append(record._replace(better_than=better_than))
        return records

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        tables = list[Table]()
        for kind in GROUPS_OF:
            places = [place for place in self._place_reports if place[0] == kind]
            if kind == "shares" and places:
                tables.append(self._share_table(places, number))
            else:
                for place in places:
                    table = self._value_table(place, number)
                    tables.append(turned(table, "model") if rows == "models" else table)
            if self._has_seeds and not kind:
                tables.append(self._seed_table(number))
            tables += self._pair_tables(kind, number)
        return tables

    def _value_table(self, place: Place, number: Number, paper_rows: str = "") -> Table:
        """Return the values of all models at a place, a row for each measure.

        With ``paper_rows``, in the form for papers, where these become the rows.
        """
        specs = self._specs_of(place)
        if paper_rows == "models":
            specs = self.specs
        columns = self._model_heads(WHOLE if paper_rows else place)
        cells = self._cells(place, number, bool(paper_rows))
        if paper_rows and len(self.pairs) == 1:
            columns[""] = Cell("p (Holm)")
            for difference in self.differences:
                if (difference.kind, difference.group) == place:
                    cells[difference.name, ""] = Cell(p_text(difference.corrected_p))
        figure = "groups" if place[0] else ""
        return table_of(self._caption(place), "measure", symbols_of(specs), columns, cells, figure)

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
        caption = f"{KINDS['shares']} in the values of all labels"
        columns = self._model_heads(places[0])
        return table_of(caption, "group, measure", rows, columns, cells, "groups")

    def _model_heads(self, place: Place) -> dict[str, Cell]:
        """Return the column heads of models: names, with letters if these mark results."""
        if not self._has_letters(place):
            return {name: Cell(text, "other") for name, text in self._names.items()}
        return {name: Cell(f"{self._letters[name]}: {text}") for name, text in self._names.items()}

    def _caption(self, place: Place) -> str:
        """Return the caption of the values at a place."""
        kind, group = place
        if not kind and self.test:
            return self._title()
        if not kind:
            return f"{self._title()}; * best"
        if kind == "shares":
            return f"share of group of labels {group}"
        report = next(iter(self._place_reports[place].values()))
        sizes = f"{counted(report.n_labels, 'labels')}, {counted(report.n_rows, 'rows')}"
        return f"group of {GROUPS_OF[kind]} {group}: {sizes}"

    def _has_letters(self, place: Place) -> bool:
        """Return whether letters mark which models a value beats."""
        return place in self._tested and len(self.reports) != 2

    def _cells(
        self, place: Place, number: Number, in_paper: bool = False
    ) -> dict[tuple[str, str], Cell]:
        """Return the values at a place by measure and model, with their marks."""
        cells = {}
        for record in self._by_place[place]:
            text = record._text(number, bounded=True)
            mark = self._mark(place, record, in_paper)
            above = self._superscript(place, record, in_paper)
            cells[record.spec.name, record.model] = Cell(text, mark, above)
        return cells

    def _mark(self, place: Place, record: Record, in_paper: bool) -> str:
        """Return the mark of a value: best, second best or other; "" if letters mark it."""
        if in_paper or place not in self._tested:
            mark = self._paper_mark(place, record)
            return mark if in_paper or mark == "best" else "other"
        if self._has_letters(place):
            return ""
        return "best" if record.better_than else "other"

    def _paper_mark(self, place: Place, record: Record) -> str:
        """Return the mark of a value in papers: best, second best of three or more, or other."""
        best, second = self._best_two(place, record.spec)
        if subtract(record.value, best) == 0:
            return "best"
        if len(self.reports) > 2 and subtract(record.value, second) == 0:
            return "second"
        return "other"

    def _superscript(self, place: Place, record: Record, in_paper: bool) -> str:
        """Return the letters of the models that a value beats; of two models in papers, a star."""
        if self._has_letters(place):
            return self._letters_below(record)
        return "*" if in_paper and record.better_than else ""

    def _letters_below(self, record: Record) -> str:
        """Return the letters of the models that a value beats."""
        letters = [self._letters[name] for name in record.better_than]
        separator = "" if all(len(letter) == 1 and letter.isalpha() for letter in letters) else ","
        return separator.join(letters)

    def _best_two(self, place: Place, spec: Spec) -> tuple[float, float]:
        """Return the best and the second best value of a measure, NaN if these are not marked."""
        direction = spec.metric.direction
        values = [report[spec.name] for report in self._place_reports[place].values()]
        defined = [value for value in values if not math.isnan(value)]
        defined.sort(reverse=direction == "up")
        second = next((value for value in defined if subtract(value, defined[0])), math.nan)
        if math.isnan(second) or direction == "none":
            return math.nan, math.nan
        if not self._fairness.is_best_known(place, spec, defined[0]):
            return math.nan, math.nan
        return defined[0], second

    def _pair_tables(self, kind: str, number: Number) -> list[Table]:
        """Return tables of differences by pair, within groups of a kind, or of all and by label."""
        heading = ""
        if kind == "shares":
            heading = f": {KINDS[kind]}"
        elif kind:
            heading = f" within groups of {GROUPS_OF[kind]}"
        figure = "groups" if kind else "differences"
        tables = [
            Table(f"{a} - {b}{heading}", rows, figure)
            for (a, b), rows in self._difference_rows(kind, number).items()
        ]
        if not kind:
            tables += self._label_tables()
        return tables

    def _difference_rows(
        self, kind: str, number: Number
    ) -> dict[tuple[str, str], list[Sequence[Cell]]]:
        """Return a header and rows of the differences of a kind, by the names of both models."""
        columns = ["difference", "p (Holm)"]
        if kind not in ("groups", "shares"):
            columns.append("wins/ties/losses")
        if not kind and len(self._row_counts) > 1:
            columns.append("rows")
        columns.append("result")
        head = [Cell("group, measure" if kind else "measure"), *map(Cell, columns)]
        rows = dict[tuple[str, str], list[Sequence[Cell]]]()
        for difference in self.differences:
            if difference.kind == kind:
                symbol = difference.spec.symbol
                if kind:
                    symbol = f"{difference.group}, {symbol}"
                texts = self._difference_texts(difference, number)
                cells = [Cell(symbol, difference.spec.metric.direction)]
                cells += [Cell(texts[column]) for column in columns]
                pair = (self._names[difference.a], self._names[difference.b])
                rows.setdefault(pair, [head]).append(cells)
        return rows

    def _difference_texts(self, difference: Difference, number: Number) -> dict[str, str]:
        """Return the texts of a difference by the heads of their columns."""
        p = p_text(difference.corrected_p)
        verdict = ""
        if p and difference.better:
            verdict = f"{self._names[difference.better]} better"
        elif p:
            verdict = "no difference seen"
        return {
            "difference": difference._text(number),
            "p (Holm)": p,
            "wins/ties/losses": "/".join(map(str, difference.outcomes or ())),
            "rows": "" if difference.n_rows is None else str(difference.n_rows),
            "result": verdict,
        }

    def _further_tables(self, number: Number) -> list[Table]:
        """Return the tables of seeds and of labels that differ most, where there are any."""
        seeds = [self._seed_table(number)] if self._has_seeds else []
        return [*seeds, *self._label_tables()]

    def _label_tables(self) -> list[Table]:
        """Return the labels that differ most between each pair."""
        tables = []
        for pair in self.labels:
            a = self._names[pair.a]
            b = self._names[pair.b]
            caption = f"{a} - {b}: labels that differ most by {pair.label_column}"
            tables.append(Table(caption, rows_of(pair._label_lines(a, b, sign=-1)), "labels"))
        return tables

    def _seed_table(self, number: Number) -> Table:
        """Return the mean and the standard deviation over seeds."""
        cells = {}
        for spec, (name, reports) in product(self.specs, self.seeds.items()):
            values = [report[spec.name] for report in reports]
            mean = number(spec, math.fsum(values) / len(values))
            deviation = math.nan
            if len(values) > 1:
                deviation = float(np.std(values, ddof=1))
            cells[spec.name, name] = Cell(f"{mean} sd {number(spec, deviation)}")
        columns = {
            name: Cell(f"{self._names[name]} ({len(reports)})")
            for name, reports in self.seeds.items()
        }
        caption = "mean and standard deviation over (n) seeds, which ± does not cover"
        return table_of(caption, "measure", symbols_of(self.specs), columns, cells, "values")

    def _title(self) -> str:
        """Return the size of the data in words, by report if the numbers of labels differ."""
        widths = {self._names[name]: report.n_labels for name, report in self.reports.items()}
        if len({*widths.values()}) == 1:
            return self._first._title()
        labels = ", ".join(f"{n} ({name})" for name, n in widths.items())
        return f"{counted(self._first.n_rows, 'rows')} x {labels} labels"

    def _paper(self, style: Style) -> tuple[list[Table], str]:
        number = style.number
        rows = list[Sequence[Cell]]()
        for place in self._place_reports:
            table = self._value_table(place, number, style.rows)
            if style.rows == "models":
                table = turned(table, "model")
            lines = [*table.rows]
            if place != WHOLE:  # values within groups follow under their headings
                lines[0] = [Cell(table.caption)]
            rows += lines
        tables = [Table("", rows)]
        if self._has_seeds:
            tables.append(self._seed_table(number))
        for kind in filter(None, GROUPS_OF):
            tables += self._pair_tables(kind, number)
        legend = ["bold: best"]
        if len(self.reports) > 2:
            legend.append("underlined: second best")
        legend += [line.text for line in self._test_lines()[:1]]
        if style.times_100:
            legend.append("values times 100")
        text = LATEX.text("; ".join(legend)).replace("* better", "$^*$ better", 1)
        return tables, f"\n\\smallskip{{\\footnotesize {text}\\par}}\n"

    def _members(self) -> dict[str, Any]:
        reports = {name: report.to_dict() for name, report in self.reports.items()}
        contents: dict[str, Any] = {"schema": SCHEMA, "reports": reports, "notes": self.notes}
        if self.specs != self._table_specs(None):
            contents["measures"] = [spec.name for spec in self.specs]
        if self.test is not None:
            contents["comparison"] = self._comparison_members()
            return contents
        if self.complete_lists:
            contents["complete_lists"] = True
        return {**contents, **self._seed_members()}

    def _seed_members(self) -> dict[str, Any]:
        """Return the reports of seeds, if there are several, as JSON values."""
        if not self._has_seeds:
            return {}
        seeds = dict[str, Any]()
        for name, reports in self.seeds.items():
            seeds[name] = [report.to_dict() for report in reports]
        return {"seeds": seeds}

    def _comparison_members(self) -> dict[str, Any]:
        """Return the settings of the test and all differences, as JSON values."""
        differences: dict[Place, list[Difference]] = {place: [] for place in self._place_reports}
        for difference in self.differences:
            differences[difference.kind, difference.group].append(difference)
        comparison: dict[str, Any] = {
            "confidence_level": self.level,
            "test": self.test,
            "correction": "holm",
            "n_tests": self.n_tests,
            "baseline": self.baseline,
            "complete_lists": self.complete_lists,
            "differences": members(differences.pop(WHOLE), MEMBERS),
        }
        if self.labels:
            comparison["labels"] = [_label_members(pair) for pair in self.labels]
        changes = self.changes
        if changes is not None:
            comparison["changes"] = changes.to_dict()
        for (kind, group), group_differences in differences.items():
            if kind != "shares":
                first = next(iter(self._place_reports[kind, group].values()))
                group_members: dict[str, Any] = {
                    "n_labels": first.n_labels,
                    "n_rows": first.n_rows,
                    "differences": members(group_differences, MEMBERS),
                }
                if kind == "groups" and ("shares", group) in differences:
                    group_members["shares"] = members(differences["shares", group], MEMBERS)
                comparison.setdefault(kind, {})[group] = group_members
        return {**comparison, **self._seed_members()}

    def _lines(self, bounded: bool) -> Lines:
        if self.test is not None:
            fields = FIELDS
            if len(self._place_reports) > 1:
                fields = {**FIELDS, **PLACE}
            lines = [[field(each) for field in fields.values()] for each in self.differences]
            return [*fields], lines
        records = [
            record._replace(model=name)
            for name, report in self.reports.items()
            for record in report.records()
            if record.spec in self.specs
        ]
        return measure_lines(records, bounded, by_model=True)


def select_measures(
    comparison: Comparison, metrics: str | Iterable[str], k: int | Iterable[int] | None = None
) -> Comparison:
    """Return a comparison whose tables show some measures, selected as by `select_specs`."""
    try:
        selected = {*select_specs(comparison.specs, metrics, k)}
    except KeyError as error:
        raise InputError("metrics", error.args[0]) from None
    changed = copy(comparison)
    changed.specs = [spec for spec in comparison.specs if spec in selected]
    changed.differences = [each for each in comparison.differences if each.spec in selected]
    vars(changed).pop("_by_place", None)
    return changed


def _seed_reports(reports: Report | Sequence[Report]) -> list[Report]:
    """Return the reports of a model, one for each training seed."""
    if isinstance(reports, Report):
        return [reports]
    return [*reports]


def merge_explanations(settings: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return settings in words by model or data set, under its name where not all have them."""
    shared = set.intersection(*map(set, settings.values()))
    words = dict[str, str]()
    for name, own_settings in settings.items():
        for setting, text in own_settings.items():
            words[setting if setting in shared else f"{name}: {setting}"] = text
    return words


def shared_first(lines: Mapping[str, Sequence[Footnote]], names: Collection[str]) -> list[Footnote]:
    """Return the lines that all have, then the others, with the names of whose they are.

    ``lines`` are by model or data set; ``names`` are the names to show. A line that has the name
    already is not changed.
    """
    first_lines = next(iter(lines.values()))
    shared = [
        line for line in first_lines if all(line in other_lines for other_lines in lines.values())
    ]
    named = list[Footnote]()
    for shown_name, (name, own_lines) in zip(names, lines.items(), strict=True):
        for line in own_lines:
            if line not in shared:
                has_name = line.text.startswith((f"{name}: ", f"note: {name}: "))
                text = line.text if has_name else f"{shown_name}: {line.text}"
                named.append(line._replace(text=text))
    return [*shared, *named]


def letters_of(names: Sequence[str]) -> dict[str, str]:
    """Return a letter for each model; a number if there are more models than letters."""
    if len(names) <= len(LETTERS):
        return dict(zip(names, LETTERS, strict=False))
    return {name: str(n) for n, name in enumerate(names, 1)}


def _rows_of(place: Place, row_groups: Groups | None) -> slice | Ints:
    """Return the rows of a row group, or a slice of all rows."""
    kind, group = place
    if kind != "row_groups" or row_groups is None:
        return slice(None)
    return np.flatnonzero(row_groups.of == row_groups.names.index(group))


def _label_members(pair: Diff) -> dict[str, Any]:
    """Return the labels that differ most between two models, as JSON values."""
    return {
        "a": pair.a,
        "b": pair.b,
        "labels_by": pair.label_column,
        "labels": members(pair.labels or (), OF_PAIR),
    }
