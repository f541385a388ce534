"""Report: values with their conventions, in every printed form."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, starmap, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import ALL_LABELS, counted, shown
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec
from xmleval.metrics.spellings import not_there
from xmleval.results.places import KINDS, SIZES, Place
from xmleval.results.record import (
    BOUNDS,
    UNKNOWN,
    Lines,
    Number,
    Record,
    as_shown,
    listed,
    measure_lines,
    symbols_of,
)
from xmleval.results.result import Result
from xmleval.results.saved_results import known_spec, read_results
from xmleval.results.shown import Shown
from xmleval.show.tables import Cell, Table, table_of
from xmleval.states.results import ListLength, Results
from xmleval.statistics.jackknife import Estimate, estimate
from xmleval.version import SCHEMA, __version__

T = TypeVar("T")
# settings that affect only the measures that need any of these inputs
NEEDED = {"decision": {"sets"}, "propensity": {"propensity", "training"}, "hierarchy": {"hierarchy"}}
ROUNDING = 2.0**-40
FEW_GROUPS = 10  # of rows, below which a standard error is rough


class ByGroup(dict[str, "Report"]):
    """Reports by the name of a group."""

    def __missing__(self, name: str) -> Report:
        """Name the groups that there are."""
        names = ", ".join(map(shown, self)) or "none: give label_groups= or row_groups="
        raise KeyError(f"no group {shown(name)}; there are {names}")


class BySpelling(dict[str, T]):
    """Values by the canonical names of measures, looked up by any spelling."""

    def __missing__(self, name: object) -> T:
        """Look up the canonical name."""
        if not isinstance(name, str):
            raise KeyError(name)
        if (spec := known_spec(name)) and spec.name in self:
            return self[spec.name]
        raise KeyError(not_there(name, [*self]))


@dataclass(frozen=True, eq=False)
class Report(Result[Record], Mapping[str, float]):
    """Values of measures by name, with the settings that affect them.

    A report maps names such as ``"p@5"``, in any accepted spelling, to floats. Undefined values are NaN.

    Parameters
    ----------
    results : Results
        Values by canonical name, in printing order, with intervals, thresholds and kept rows and labels.
    specs : tuple of Spec
        The measures.
    conventions : Conventions
        Their conventions.
    n_rows, n_labels : int
        Size of the truth.
    decision : str or None
        How scores were turned into sets ("pred" if sets were given).
    constants : dict
        Constants of the propensity model, if known.
    not_computed : dict of str to str
        Measures of a requested group that were not computed, and the input they need.
    weighted, keeps_rows, higher_is_better : bool
        Whether sample weights were given, row values were kept, and higher scores are better.
    excluded : dict
        What leaves labels out, by argument: ``exclude``, ``candidates``; of files, their name and SHA-256.
    propensity, hierarchy : str or None
        What is known of propensities without constants; number of edges of a hierarchy, and their digest.
    confidence_level : float or None
        Probability that the intervals of `confidence` cover.
    label_names, row_names : list or None
        Names of the labels and of the rows, if they were given with names.
    unknown_labels : sequence
        Names of unknown labels: those of predictions and candidates that are not among the labels of the
        truth; an `Evaluator` counts them and does not keep their names.
    group_ranges : list of str
        Numbers of training rows of groups of labels, such as "1-10", if known.
    notes : list of str
        What was seen in the data, and what it does to the values; see `footnotes` for all that is printed.

    Examples
    --------
    >>> report = evaluate(np.array([[1, 0, 1]]), np.array([[0.9, 0.5, 0.2]]), metrics=["p@1", "lrap"])
    >>> dict(report)
    {'p@1': 1.0, 'lrap': 0.8333333333333333}
    >>> evaluate(np.array([[1, 0], [0, 0]]), np.eye(2), metrics=["lrap"]).undefined_rows
    {'lrap': 1}
    >>> evaluate(np.array([[1, 0]]), np.array([[0.9, 0.2]]), metrics=["peak_f1.micro"]).thresholds
    {'peak_f1.micro': 0.9}
    >>> lists = np.array([[0]]), np.array([[0.9]])
    >>> evaluate(np.array([[1, 0, 1, 0]]), lists, metrics=["ranking_loss"], bounds=True).intervals
    {'ranking_loss': (0.0, 1.0)}
    >>> scores, languages = np.eye(40)[np.arange(40) // 2 * 2], ["en", "de"] * 20
    >>> report = evaluate(np.eye(40), scores, metrics=["p@1"], confidence=0.95, row_groups=languages)
    >>> round(report.standard_errors["p@1"], 3), report.row_groups["en"]["p@1"]
    (0.075, 1.0)
    """

    results: Results = field(repr=False)
    specs: tuple[Spec, ...]
    conventions: Conventions
    n_rows: int
    n_labels: int
    decision: str | None = None
    constants: dict[str, float | str] = field(default_factory=dict)
    not_computed: dict[str, str] = field(default_factory=dict)
    weighted: bool = False
    keeps_rows: bool = False
    higher_is_better: bool = True
    excluded: dict[str, Any] = field(default_factory=dict)
    propensity: str | None = None
    hierarchy: str | None = None
    confidence_level: float | None = None
    label_names: list[Any] | None = field(default=None, repr=False)
    row_names: list[Any] | None = field(default=None, repr=False)
    unknown_labels: Sequence[Any] = field(default=(), repr=False)
    group_ranges: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> float:
        """Return the value of a measure by any spelling of its name."""
        values = self.results.values
        return values[name] if name in values else BySpelling(values)[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over canonical names."""
        return iter(self.results.values)

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.results.values)

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Report: {counted(len(self), 'values')}, {self._title()}>"

    def per_row(self) -> dict[str, Any]:
        """Return the row values of each measure.

        Returns
        -------
        dict of str to ndarray of shape (n_rows,)
            Values in row order; NaN for rows left out of the mean. Measures that are not means over rows are
            absent. ``name`` comes first where the rows have names.

        Raises
        ------
        ValueError
            If the rows were not kept.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"], per_row=True)
        >>> report.per_row()["p@1"].tolist()
        [1.0, 0.0, 0.0]
        """
        if not self.keeps_rows:
            raise ValueError("rows were not kept: evaluate with per_row=True")
        return _columns(self.results.rows, self.row_names)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Lower and upper bound of measures that the scores do not determine, by name."""
        return self.results.intervals

    @cached
    def estimates(self) -> dict[str, Estimate]:
        """Confidence intervals with their standard errors, by name, of measures that have any.

        Examples
        --------
        >>> scores = np.eye(40)[np.arange(40) // 2 * 2]
        >>> report = evaluate(np.eye(40), scores, metrics=["p@1"], confidence=0.95)
        >>> round(report.estimates["p@1"].half_width, 2)
        0.16
        """
        if self.confidence_level is None or self.results.estimates:
            return self.results.estimates
        estimates: dict[str, Estimate] = {}
        for spec in self.specs:
            value = self.results.values[spec.name]
            replicates = self.results.replicates.get(spec.name, UNKNOWN)
            interval = estimate(value, replicates, self.confidence_level, *spec.metric.range)
            # where all groups agree but for rounding, nothing was seen of how they differ
            if interval and interval.standard_error > ROUNDING * abs(value):
                estimates[spec.name] = interval
        return estimates

    @property
    def confidence(self) -> dict[str, tuple[float, float]]:
        """Lower and upper end of the confidence interval of each measure that has one, by name.

        Intervals cover the sampling of test rows, not that of training data or seeds: the value expected of
        as many other rows of the same kind. They are those of Student's t with the jackknife's standard error
        over at most 32 groups of rows.

        Examples
        --------
        >>> scores = np.eye(40)[np.arange(40) // 2 * 2]
        >>> report = evaluate(np.eye(40), scores, metrics=["p@1"], confidence=0.95)
        >>> [round(end, 2) for end in report.confidence["p@1"]]
        [0.34, 0.66]
        """
        return {name: (interval.lower, interval.upper) for name, interval in self.estimates.items()}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each measure that has one, by name; see `confidence`."""
        return {name: interval.standard_error for name, interval in self.estimates.items()}

    @property
    def thresholds(self) -> dict[str, float]:
        """Best threshold of measures that maximise over thresholds, by name: predict scores >= it, or <=."""
        return self.results.thresholds

    @property
    def undefined_rows(self) -> dict[str, int]:
        """Number of rows left out of the mean because the measure is undefined there, by name."""
        return self.results.undefined_rows

    @property
    def undefined_labels(self) -> dict[str, int]:
        """Number of labels left out of the mean because they lack one of the classes, by name."""
        return self.results.undefined_labels

    @property
    def tied_rows(self) -> dict[str, float]:
        """Share of the rows with relevant labels whose value depends on the order of equal scores, by name.

        Measures that no row of has such a value are absent.

        Examples
        --------
        >>> evaluate(np.eye(2), np.array([[0.5, 0.5], [0.1, 0.9]]), metrics=["p@1", "p@2"]).tied_rows
        {'p@1': 0.5}
        """
        return self.results.tied

    @property
    def reliability(self) -> dict[str, dict[str, Floats]]:
        """Bins of each measure of calibration that has bins, by any spelling of its name.

        Each is a dict of columns, ndarrays of shape (bins,): ``lower`` and ``upper`` end of the scores of a
        bin, its number ``n`` of pairs or their weight, ``mean_score`` and ``hit_rate``, NaN if it is empty.

        Examples
        --------
        >>> report = evaluate(np.array([[1, 0]]), np.array([[0.9, 0.2]]), metrics=["ece(bins=2)"])
        >>> report.reliability["ece(bins=2)"]["mean_score"]
        array([0.2, 0.9])
        """
        return BySpelling({name: bins._asdict() for name, bins in self.results.reliability.items()})

    @property
    def groups(self) -> dict[str, Report]:
        """Report within each group of labels, by its name.

        Measures of rows are those of the rows that have relevant labels of the group, with truth, ranking and
        predicted sets restricted to it. Averages over labels and measures of pooled scores are those of the
        group's labels in all rows. Predicted sets, also those of the first k labels, are decided over all
        labels before.

        Examples
        --------
        >>> of = ["head", "head", "tail", "tail"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], label_groups=of)
        >>> report.groups["tail"]["r@1"]
        0.5
        """
        return self._parts("groups")

    @property
    def shares(self) -> dict[str, Report]:
        """Report of the part of each group of labels in the values of all, by its name.

        Measures at k that are linear in the hits have one: hits of the group's labels, with the ranks and the
        denominators of all. Up to rounding, the parts add up to the value of all labels.

        Examples
        --------
        >>> of = ["head", "head", "tail", "tail"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], label_groups=of)
        >>> report.shares["tail"]["r@1"]
        0.25
        """
        return self._parts("shares")

    @property
    def row_groups(self) -> dict[str, Report]:
        """Report of each group of rows, by its name: that of evaluating these rows alone."""
        return self._parts("row_groups")

    def _parts(self, kind: str) -> dict[str, Report]:
        """Return the reports of groups of a kind, which keep neither rows nor labels."""
        whole = replace(self, label_names=None, row_names=None, keeps_rows=False, group_ranges=[], notes=[])
        reports = ByGroup()
        for name, part in getattr(self.results, kind).items():
            results = part.results
            specs = tuple([spec for spec in self.specs if spec.name in results.values])
            reports[name] = replace(whole, specs=specs, not_computed=results.not_computed, **part._asdict())
        return reports

    def per_label(self) -> dict[str, Any]:
        """Return the results of every label.

        Returns
        -------
        dict of str to ndarray of shape (n_labels,)
            ``support``, the number of relevant rows; ``tp``, ``fp``, ``fn``, ``precision``, ``recall``,
            ``f1`` and other requested measures of the predicted sets, and of the first k labels for each
            requested cutoff, as in ``tp@5``; ``auc`` and ``ap`` (NaN for labels that lack one of the
            classes); ``peak_f1`` and its ``threshold``, the lowest score predicted (NaN without relevant
            rows); ``margin`` and ``margin_share``, if requested as macro averages (NaN as for ``auc``). What
            the input does not determine is absent. ``name`` comes first where the labels have names.

        Raises
        ------
        ValueError
            If the labels were not kept.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"], per_label=True)
        >>> report.per_label()["tp@1"].tolist()
        [1.0, 0.0, 0.0]
        """
        if not self.results.labels:
            raise ValueError("labels were not kept: evaluate with per_label=True")
        return _columns(self.results.labels, self.label_names)

    def roc_curve(self) -> tuple[Floats, Floats, Floats]:
        """Return points of the ROC curve of all entries.

        Returns
        -------
        fpr, tpr, thresholds : ndarrays of shape (n,)
            Shares of irrelevant and of relevant entries with a score >= each threshold, from (0, 0) at
            infinity to (1, 1); at most ``curve_points`` points besides the two ends.

        Raises
        ------
        ValueError
            If no points were kept.

        Examples
        --------
        >>> scores = np.array([[0.9, 0.4], [0.3, 0.8]])
        >>> report = evaluate(np.eye(2), scores, metrics=["auc.micro"], curve_points=9)
        >>> fpr, tpr, thresholds = report.roc_curve()
        >>> fpr.tolist(), tpr.tolist()
        ([0.0, 0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0, 1.0])
        """
        thresholds, hits, misses = self._points()
        return misses / (misses[-1] or 1), hits / (hits[-1] or 1), thresholds

    def pr_curve(self) -> tuple[Floats, Floats, Floats]:
        """Return points of the precision-recall curve of all entries; see `roc_curve`.

        Returns
        -------
        precision, recall, thresholds : ndarrays of shape (n,)
            Precision and recall of entries with a score >= each threshold; precision is 1 without any.

        Examples
        --------
        >>> scores = np.array([[0.9, 0.4], [0.3, 0.8]])
        >>> report = evaluate(np.eye(2), scores, metrics=["ap.micro"], curve_points=9)
        >>> precision, recall, thresholds = report.pr_curve()
        >>> precision.tolist(), recall.tolist()
        ([1.0, 1.0, 1.0, 0.6666666666666666, 0.5], [0.0, 0.5, 1.0, 1.0, 1.0])
        """
        thresholds, hits, misses = self._points()
        precision = np.divide(hits, hits + misses, out=np.ones_like(hits), where=hits + misses > 0)
        return precision, hits / (hits[-1] or 1), thresholds

    def _points(self) -> Floats:
        if "micro" not in self.results.points:
            raise ValueError("no curve was kept: evaluate with curve_points=, such as 200")
        return self.results.points["micro"].T.copy()

    def signature(self) -> str:
        """Return the conventions that affect these measures, on one line.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.signature()
        'empty=zero unlisted=below'
        """
        conventions = [name for spec in self.specs for name in spec.conventions(self.decision)]
        needs = {need for spec in self.specs for need in spec.needs}
        numbers = {name: f"{v:g}" if isinstance(v, float) else v for name, v in self.constants.items()}
        constants = " ".join(f"{name}={number}" for name, number in numbers.items())
        trained = "training" in needs and "propensity" not in needs and "n" in self.constants
        parts = {
            self.conventions.signature(conventions): True,
            f"decision={self.decision}": self.decision and "sets" in needs,
            f"propensity=({constants or self.propensity})": "propensity" in needs,
            f"y_train=({self.constants['n'] if trained else 0:.0f} rows)": trained,
            f"hierarchy=({self.hierarchy})": "hierarchy" in needs,
            "higher_is_better=False": not self.higher_is_better,
            "sample_weight=given": self.weighted,
        }
        return " ".join(text for text, is_shown in parts.items() if text and is_shown)

    def worded(self, say: Callable[[str], str]) -> Report:
        missing = {name: say(needed) for name, needed in self.not_computed.items()}
        return replace(super().worded(say), not_computed=missing)

    def _shown(self, specs: Sequence[Spec]) -> Shown:
        return Shown({"": self}, specs)

    def footnotes(self) -> list[str]:
        results, lines = self.results, [*filter(None, [self.signature()])]
        bounded = [spec.name for spec in self.specs if spec.name in results.intervals]
        lines += listed({"lower and upper bounds for any scores of unlisted labels": bounded})
        if self.confidence_level is not None:
            lines += self._about_confidence(self.confidence_level)
        of_rows = {spec.name for spec in self.specs if not spec.average}
        sign, best = (">=", "largest") if self.higher_is_better else ("<=", "smallest")
        predicting = f"best threshold (predict scores {sign} it)"
        accepting = f"threshold (accept rows whose {best} score is {sign} it)"
        named: dict[str, list[str]] = {predicting: [], accepting: []}
        for name, score in results.thresholds.items():
            if not math.isnan(score):  # in full: rounding could exclude the entry with this score
                named[accepting if name in of_rows else predicting].append(f"{name} {score!r}")
        named["rows left out as undefined"] = [*starmap("{} {}".format, results.undefined_rows.items())]
        named["labels left out as undefined"] = [*starmap("{} {}".format, results.undefined_labels.items())]
        for name, needed in self.not_computed.items():
            named.setdefault(f"not computed without {needed}", []).append(name)
        return [*lines, *listed(named), *map("note: {}".format, self.notes)]

    def _about_confidence(self, level: float) -> list[str]:
        lines = []
        for n in [interval.n_groups for interval in self.estimates.values()][:1]:
            few = ", too few for a good one" if n < FEW_GROUPS else ""
            groups = f" (jackknife of {counted(n, 'groups of rows', 'group of rows')}{few})" if n else ""
            lines.append(f"± {100 * level:.4g}% confidence over test rows, not over training{groups}")
        unknown = [spec.name for spec in self.specs if spec.smooth and spec.name not in self.estimates]
        return lines + listed({
            "no standard error of maxima, extremes and counts": [s.name for s in self.specs if not s.smooth],
            "standard error not known": unknown,
        })  # fmt: skip

    def _specs(self, of_tables: bool = True) -> Sequence[Spec]:
        return self.specs

    def _title(self) -> str:
        return f"{counted(self.n_rows, 'rows')} x {counted(self.n_labels, 'labels')}"

    def record(self, spec: Spec, model: str = "", kind: str = "", group: str = "") -> Record:
        """Return the value of a measure with its bounds and its confidence interval (@private)."""
        bounds, interval = self.results.intervals.get(spec.name), self.estimates.get(spec.name)
        return Record(spec, self.results.values[spec.name], model, kind, group, bounds, interval)

    def records(self) -> list[Record]:
        reports = self._by_place(*KINDS).items()
        return [report.record(spec, "", *place) for place, report in reports for spec in report.specs]

    def _by_place(self, *kinds: str) -> dict[Place, Report]:
        """Return this report, and those of its groups by their kinds and names."""
        parts = {(kind, name): part for kind in kinds for name, part in self._parts(kind).items()}
        return {("", ""): self, **parts}

    def tables(self, number: Number = as_shown) -> list[Table]:
        parts = [self._part_table(kind, number) for kind in KINDS if getattr(self.results, kind)]
        return [self._value_table(number), *parts]

    def _value_table(self, number: Number) -> Table:
        """Return values by measure, with a column per cutoff and one for measures without a cutoff."""
        families, columns, cells = dict[Cell, Cell](), dict[str, Cell](), dict[tuple[Cell, str], Cell]()
        for spec in sorted(self.specs, key=lambda spec: (spec.cutoff == "all", spec.k or 0)):
            columns[spec.cutoff] = Cell(f"@{spec.cutoff}" if spec.cutoff else "value")
        for record in map(self.record, self.specs):
            family = Cell(record.spec.family, record.spec.metric.direction)
            families[family], cells[family, record.spec.cutoff] = family, Cell(record.text(number))
            for end, value in zip(BOUNDS, record.bounds or (), strict=False):
                columns[end], cells[family, end] = Cell(end), Cell(number(record.spec, value))
        return table_of(self._title(), "measure", families, columns, cells)

    def _part_table(self, kind: str, number: Number) -> Table:
        """Return the sizes of groups and their values of the measures that any of them has, beside all."""
        parts = self._by_place(kind)
        within = {name for place, part in parts.items() if place[0] for name in part}
        rows = {size: Cell(size.removeprefix("n_")) for size in SIZES[kind]}
        rows |= symbols_of(spec for spec in self.specs if spec.name in within)
        cells = dict[Any, Cell]()
        for place, part in parts.items():
            cells |= {(size, place): Cell(str(getattr(part, size))) for size in SIZES[kind]}
            cells |= {(s.name, place): Cell(part.record(s).text(number)) for s in part.specs}
        columns = {place: Cell(place[1] if place[0] else "all") for place in parts}
        caption = KINDS[kind]
        if kind == "groups" and self.group_ranges:  # where groups were made by training rows
            pairs = zip(self.results.groups, self.group_ranges, strict=False)
            ranges = ", ".join(name if name == text else f"{name} {text}" for name, text in pairs)
            caption += f" by training rows: {ranges}"
        return table_of(caption, "measure", rows, columns, cells, "groups")

    def _members(self) -> dict[str, Any]:
        ends = [] if self.confidence_level is None else ["confidence_level", "confidence", "standard_errors"]
        valued = ["values", *ends[1:]]
        groups, shares = dict[str, Any](), self.shares
        for (name, part), training_rows in zip_longest(self.groups.items(), self.group_ranges):
            members = part._attributes("n_labels", "n_rows", *valued)
            groups[name] = {"training_rows": training_rows, **members, "shares": {**shares.get(name, {})}}
        row_groups = {name: part._attributes("n_rows", *valued) for name, part in self.row_groups.items()}
        within = {"groups": groups, "row_groups": row_groups, "reliability": self.results.reliability}
        within["tied_rows"] = self.tied_rows
        return {
            "schema": SCHEMA,
            **self._attributes("values", "intervals", *ends, "thresholds", "n_rows", "n_labels"),
            "conventions": self.conventions.as_dict(),
            **self.settings(),
            **self._attributes("undefined_rows", "undefined_labels", "not_computed"),
            **{kind: members for kind, members in within.items() if members},
            "notes": self.notes,
            "version": __version__,
        }

    def _attributes(self, *names: str) -> dict[str, Any]:
        """Return attributes by name, and for ``values`` the values by measure."""
        return {name: {**self} if name == "values" else getattr(self, name) for name in names}

    def settings(self) -> dict[str, Any]:
        """Return what affects values besides the conventions, as JSON values (@private)."""
        return {
            **self._attributes("decision", "higher_is_better"),
            "propensity": self.constants or self.propensity,
            "hierarchy": self.hierarchy,
            "sample_weight": "given" if self.weighted else None,
            **{name: self.excluded.get(name) for name in ("exclude", "candidates")},
        }

    def settings_of(self, specs: Sequence[Spec]) -> dict[str, Any]:
        """Return the conventions and settings that affect some measures, as JSON values (@private)."""
        conventions, settings = self.conventions.as_dict(), self.settings()
        needs = {need for spec in specs for need in spec.needs}
        for name, inputs in NEEDED.items():
            if needs.isdisjoint(inputs):
                del settings[name]
        names = (name for spec in specs for name in spec.conventions(self.decision))
        return {name: conventions[name] for name in names} | settings

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Report:
        """Read a report from JSON, as `to_json` or ``xmleval evaluate --output NAME.json`` wrote it.

        Values by row and by label, curves and names are not in it.

        Parameters
        ----------
        path : path
            The file, which holds one report.

        Raises
        ------
        ValueError
            If the file holds anything else, or results of another version of the schema.

        Examples
        --------
        >>> from pathlib import Path
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> Path("results.json").write_text(report.to_json()) > 0
        True
        >>> dict(Report.load("results.json"))
        {'p@1': 0.3333333333333333}
        """
        reports = load_results(as_path(path))
        if [*reports] != [""]:
            raise ValueError(f"{path}: holds the reports {', '.join(reports)}; expected that of one")
        return reports[""]

    def flat(self, at: str = "_at_") -> dict[str, float]:
        """Return the values by names of letters, digits and ``_``, which every tracker of experiments takes.

        Parameters
        ----------
        at : str, default "_at_"
            What stands for ``@``, which MLflow refuses.

        Returns
        -------
        dict of str to float
            Undefined values are left out.

        Examples
        --------
        >>> evaluate(np.eye(3), np.eye(3), metrics=["p@1", "f1.macro@1"]).flat()
        {'p_at_1': 1.0, 'f1_macro_at_1': 1.0}
        """
        return {flat_name(name, at): value for name, value in self.items() if not math.isnan(value)}

    def _lines(self, bounded: bool) -> Lines:
        return measure_lines(self.records(), bounded, self.confidence_level is not None)


def load_results(source: Path | dict[str, Any]) -> dict[str, Report]:
    """Return one report, which has the name ``""``, or several, from a file of JSON, or from its contents."""
    return {name: Report(**arguments) for name, arguments in read_results(source).items()}


def with_same_measures(reports: Sequence[Report]) -> list[Report]:
    """Return the reports of several models without the measures that unknown labels leave out of any."""
    without = {name: ALL_LABELS for r in reports for name, n in r.not_computed.items() if n == ALL_LABELS}
    reduced = []
    for report in reports:
        report.results.leave_out(without)
        specs = tuple([spec for spec in report.specs if spec.name not in without])
        reduced.append(replace(report, specs=specs, not_computed={**report.not_computed, **without}))
    return reduced


def mean_of(reports: Sequence[Report]) -> Report:
    """Return a report of the means of several of the same rows."""
    first, *following = reports
    if not following:
        return first

    def mean(kind: str) -> dict[str, Any]:
        columns = [getattr(report.results, kind) for report in reports]
        by_name = {name: [column[name] for column in columns if name in column] for name in chain(*columns)}
        by_name.pop("threshold", None)  # of labels: each seed's own
        whole = {n: each for n, each in by_name.items() if len(each) == len(reports)}
        return {n: sum(each) / len(each) for n, each in whole.items() if len({*map(np.size, each)}) == 1}

    means = {kind: mean(kind) for kind in ("values", "rows", "labels", "replicates")}
    means |= {kind: getattr(first.results, kind) for kind in ("undefined_rows", "undefined_labels")}
    notes = list(dict.fromkeys(note for report in reports for note in report.notes))
    return replace(first, results=Results(**means, **_lists_of(reports)), notes=notes)


def _lists_of(reports: Sequence[Report]) -> dict[str, Any]:
    """Return which measures read lists that are cut, too short, or tied, in any of several reports."""
    cut = {name: True for report in reports for name in report.results.cut}
    short = dict[str, ListLength]()
    for name in chain(*(report.results.short for report in reports)):
        lengths = [report.results.short[name] for report in reports if name in report.results.short]
        mean = sum(length.mean for length in lengths) / len(lengths)
        short[name] = ListLength(mean, max(length.deepest for length in lengths))
    most = dict[str, dict[str, float]]()
    for kind in ("tied", "tied_shares"):
        columns = [getattr(report.results, kind) for report in reports]
        most[kind] = {name: max(of.get(name, 0.0) for of in columns) for name in chain(*columns)}
    return {"cut": cut, "short": short, **most}


def flat_name(name: str, at: str) -> str:
    """Return the name of a measure in letters, digits and ``_``, and ``at`` for ``@``."""
    return at.join(re.sub(r"\W", "_", part) for part in name.replace(")", "").split("@"))


def _columns(kept: Mapping[str, Any], names: list[Any] | None) -> dict[str, Any]:
    """Return copies of columns, behind one of names if there are any."""
    first = {} if names is None else {"name": np.fromiter(names, object, len(names))}
    return first | {name: np.array(column) for name, column in kept.items()}
