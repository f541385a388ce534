"""Report: values with their conventions, in every printed form."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import ALL_LABELS, counted, shown, shown_names
from xmleval.files.remote import as_path
from xmleval.input.cell_marks import RESTRICTIONS
from xmleval.metrics.spec import Spec
from xmleval.metrics.spellings import not_there
from xmleval.results.places import KINDS, SIZES, Place
from xmleval.results.record import (
    AS_SHOWN,
    BOUNDS,
    SETTINGS,
    UNKNOWN,
    Footnote,
    Lines,
    Number,
    Record,
    listed,
    measure_lines,
    symbols_of,
)
from xmleval.results.result import Result
from xmleval.results.saved_results import SHARE_MEMBERS, known_spec, read_results
from xmleval.results.shown import FigureData
from xmleval.show.tables import Cell, Table, table_of
from xmleval.states.results import ListLength, Part, Results
from xmleval.statistics.jackknife import Estimate, estimate
from xmleval.version import SCHEMA, __version__

T = TypeVar("T")
# settings that affect only the measures that need any of these inputs
INPUTS_OF_SETTINGS = {
    "decision": {"sets"},
    "propensity": {"propensity", "training"},
    "hierarchy": {"hierarchy"},
}
# what settings besides the conventions do, by their names in `Report.signature`
SETTING_WORDS = {
    "decision": "how scores become predicted sets; pred: the sets are given",
    "propensity": "what inverse propensities of labels are computed from",
    "y_train": "training rows, in which labels are counted",
    "hierarchy": "what is known of the hierarchy of labels",
    "higher_is_better": "the lowest scores rank first",
    "sample_weight": "rows count by their weights",
}
# kinds of figures that notes of `Results` are about, where not all values are concerned
NOTED_FIGURES = {"groups": "groups", "shares": "groups", "points": "precision_recall"}
ROUNDING = 2.0**-40
MOST_VALUES = 3  # on one line
FEW_GROUPS = 10  # of rows, below which a standard error is rough


class ByGroup(dict[str, "Report"]):
    """Reports by the name of a group."""

    def __missing__(self, name: str) -> Report:
        """Raise an error that lists the names of the groups."""
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

    A report maps names such as ``"p@5"``, in any accepted spelling, to floats. Undefined values are
    NaN.

    Attributes
    ----------
    results : Results
        Values by canonical name, in printing order, with intervals, thresholds and kept rows and
        labels.
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
        What leaves labels out, by argument: ``exclude``, ``unjudged``, ``judged``,
        ``candidates``; of files, their name and
        SHA-256.
    propensity, hierarchy : str or None
        What is known of propensities without constants; number of edges of a hierarchy, and their
        digest.
    confidence_level : float or None
        Probability that the intervals of `confidence` cover.
    label_names, row_names : list or None
        Names of the labels and of the rows, if they were given with names.
    unknown_labels : sequence
        Names of unknown labels: those of predictions and candidates that are not among the labels
        of the truth; an `Evaluator` counts them and does not keep their names.
    group_ranges : list of str
        Numbers of training rows of groups of labels, such as "1-10", if known.
    notes : list of str
        What was seen in the data, and what it does to the values; see `footnotes` for all that is
        printed.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.5, 0.2]])
    >>> report = evaluate(np.array([[1, 0, 1]]), scores, metrics=["p@1", "lrap"])
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
    >>> options = {"metrics": ["p@1"], "confidence": 0.95, "row_groups": languages}
    >>> report = evaluate(np.eye(40), scores, **options)
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
        if name in values:
            return values[name]
        return BySpelling(values)[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over canonical names."""
        return iter(self.results.values)

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.results.values)

    def __repr__(self) -> str:
        """Return the size of the data and the first values, on one line."""
        values = [f"{spec.symbol} {self._record(spec)._text()}" for spec in self.specs]
        return f"<Report: {self._title()}, {shown_names(values, MOST_VALUES)}>"

    def per_row(self) -> dict[str, Any]:
        """Return the row values by measure.

        Returns
        -------
        dict of str to ndarray of shape (n_rows,)
            Values in row order; NaN for rows left out of the mean. Measures that are not means over
            rows are absent. ``name`` comes first where the rows have names.

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

    @property
    def tie_bounds(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest value over all orders of equal scores, by name of the measure.

        They are known by the convention ``ties=band``, and where `compare` found equal scores.

        Examples
        --------
        >>> scores = np.array([[0.5, 0.5], [0.1, 0.9]])
        >>> evaluate(np.eye(2), scores, metrics=["p@1"], conventions="ties=band").tie_bounds
        {'p@1': (0.5, 1.0)}
        """
        if self.conventions.ties == "band":
            return self.results.intervals
        return self.results.tie_bounds

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
        """Lower and upper ends of confidence intervals, by name of the measure.

        Intervals cover the sampling of test rows, not that of training data or seeds: the value
        expected of as many other rows of the same kind. They are those of Student's t with the
        jackknife's standard error over at most 32 groups of rows.

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
        """Standard errors, by name of the measure; see `confidence`."""
        return {name: interval.standard_error for name, interval in self.estimates.items()}

    @property
    def thresholds(self) -> dict[str, float]:
        """Best threshold by name of the measure: scores >= it, or <= it, are predicted."""
        return self.results.thresholds

    @property
    def undefined_rows(self) -> dict[str, int]:
        """Number of rows excluded from the mean, in which the measure is undefined, by name."""
        return self.results.undefined_rows

    @property
    def undefined_labels(self) -> dict[str, int]:
        """Number of labels excluded from the mean, as they lack one of the classes, by name."""
        return self.results.undefined_labels

    @property
    def tied_rows(self) -> dict[str, float]:
        """Share of rows whose value depends on the order of equal scores, by name of the measure.

        The share is that of the rows with relevant labels, or, for measures of grades, with labels
        of a positive grade. Measures without such rows are absent.

        Examples
        --------
        >>> scores = np.array([[0.5, 0.5], [0.1, 0.9]])
        >>> evaluate(np.eye(2), scores, metrics=["p@1", "p@2"]).tied_rows
        {'p@1': 0.5}
        """
        return self.results.tied

    @property
    def reliability(self) -> dict[str, dict[str, Floats]]:
        """Bins of measures of calibration, by any spelling of their names.

        Each is a dict of columns, ndarrays of shape (bins,): ``lower`` and ``upper`` end of the
        scores of a bin, its number ``n`` of pairs or their weight, ``mean_score`` and ``hit_rate``,
        NaN if it is empty.

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

        Measures of rows are those of the rows that have relevant labels of the group, with truth,
        ranking and predicted sets restricted to it. Averages over labels and measures of pooled
        scores are those of the group's labels in all rows. Predicted sets, also those of the first
        k labels, are decided over all labels before.

        Examples
        --------
        >>> of = ["head", "head", "tail", "tail"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], label_groups=of)
        >>> report.groups["tail"]["r@1"]
        0.5
        """
        return self._group_reports("groups")

    @property
    def shares(self) -> dict[str, Report]:
        """Reports of the shares of label groups in the values of all labels, by name of the group.

        Measures at k that are linear in the hits have one: hits of the group's labels, with the
        ranks and the denominators of all. Up to rounding, the parts add up to the value of all
        labels.

        Examples
        --------
        >>> of = ["head", "head", "tail", "tail"]
        >>> report = evaluate(np.eye(4), np.eye(4)[[0, 1, 3, 3]], metrics=["r@1"], label_groups=of)
        >>> report.shares["tail"]["r@1"]
        0.25
        """
        return self._group_reports("shares")

    @property
    def row_groups(self) -> dict[str, Report]:
        """Reports of groups of rows, by name: those of evaluating the rows of a group alone."""
        return self._group_reports("row_groups")

    def _group_reports(self, kind: str) -> dict[str, Report]:
        """Return the reports of groups of a kind, which keep neither rows nor labels."""
        whole = replace(
            self, label_names=None, row_names=None, keeps_rows=False, group_ranges=[], notes=[]
        )
        reports = ByGroup()
        for name, part in getattr(self.results, kind).items():
            results = part.results
            specs = tuple([spec for spec in self.specs if spec.name in results.values])
            reports[name] = replace(
                whole, specs=specs, not_computed=results.not_computed, **part._asdict()
            )
        return reports

    def per_label(self) -> dict[str, Any]:
        """Return the results of every label.

        Returns
        -------
        dict of str to ndarray of shape (n_labels,)
            ``support``, the number of relevant rows; ``tp``, ``fp``, ``fn``, ``precision``,
            ``recall``, ``f1`` and other requested measures of the predicted sets, and of the first
            k labels for each requested cutoff, as in ``tp@5``; ``auc`` and ``ap`` (NaN for labels
            that lack one of the classes); ``peak_f1`` and its ``threshold``, the lowest score
            predicted (NaN without relevant rows); ``margin`` and ``margin_share``, if requested as
            macro averages (NaN as for ``auc``). What the input does not determine is absent.
            ``name`` comes first where the labels have names.

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
            Shares of irrelevant and of relevant entries with a score >= each threshold, from (0, 0)
            at infinity to (1, 1); at most ``curve_points`` points besides the two ends.

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
            Precision and recall of entries with a score >= each threshold; precision is 1 without
            any.

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
        """Return the thresholds of the kept curve, and hits and misses at each; float64 (3, n)."""
        if "micro" not in self.results.points:
            raise ValueError("no curve was kept: evaluate with curve_points=, such as 200")
        return self.results.points["micro"].T.copy()

    def signature(self) -> str:
        """Return the conventions that affect these measures, on one line.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.signature()
        'ties=order empty=zero unlisted=below'
        """
        return " ".join(self._explained_settings())

    def _explained_settings(self) -> dict[str, str]:
        conventions = [name for spec in self.specs for name in spec.conventions(self.decision)]
        words = self.conventions.explained(conventions)
        for name, text in self._signed_settings().items():
            words[f"{name}={text}"] = SETTING_WORDS[name]
        return words

    def _signed_settings(self) -> dict[str, str]:
        """Return the settings in the signature besides the conventions, as text by name."""
        needs = {need for spec in self.specs for need in spec.needs}
        texts = dict[str, str]()
        if self.decision and "sets" in needs:
            texts["decision"] = self.decision
        if "propensity" in needs:
            texts["propensity"] = f"({self._propensity_text()})"
        elif "training" in needs and "n" in self.constants:
            texts["y_train"] = f"({self.constants['n']:.0f} rows)"
        if "hierarchy" in needs:
            texts["hierarchy"] = f"({self.hierarchy})"
        if not self.higher_is_better:
            texts["higher_is_better"] = "False"
        if self.weighted:
            texts["sample_weight"] = "given"
        return texts

    def _propensity_text(self) -> str | None:
        """Return the constants of the propensity model, or else a description of propensities."""
        texts = []
        for name, value in self.constants.items():
            number = f"{value:g}" if isinstance(value, float) else value
            texts.append(f"{name}={number}")
        return " ".join(texts) or self.propensity

    def _worded(self, say: Callable[[str], str]) -> Report:
        changed = super()._worded(say)
        missing = {name: say(needed) for name, needed in self.not_computed.items()}
        notes = {kind: say(note) for kind, note in self.results.notes.items()}
        vars(changed)["not_computed"] = missing
        vars(changed)["results"] = replace(self.results, notes=notes)
        return changed

    def _figure_data(self, specs: Sequence[Spec]) -> FigureData:
        return FigureData({"": self}, specs)

    def _placed_footnotes(self) -> list[Footnote]:
        about = {note: NOTED_FIGURES.get(kind, "") for kind, note in self.results.notes.items()}
        signatures = [*filter(None, [self.signature()])]
        notes = [Footnote(f"note: {note}", about.get(note, "")) for note in self.notes]
        return [
            *[Footnote(line, SETTINGS) for line in signatures],
            *map(Footnote, self._value_lines()),
            *notes,
        ]

    def _value_lines(self) -> list[str]:
        """Return lines on bounds, intervals, thresholds, and undefined or missing values."""
        results = self.results
        lines = list[str]()
        bounded = [spec.name for spec in self.specs if spec.name in results.intervals]
        meaning = "lower and upper bounds for any scores of unlisted labels"
        if self.conventions.ties == "band":
            meaning = "smallest and largest value over all orders of equal scores"
        lines += listed({meaning: bounded})
        if self.confidence_level is not None:
            lines += self._confidence_lines(self.confidence_level)
        texts = self._threshold_texts()
        texts["rows left out as undefined"] = [
            f"{name} {n}" for name, n in results.undefined_rows.items()
        ]
        texts["labels left out as undefined"] = [
            f"{name} {n}" for name, n in results.undefined_labels.items()
        ]
        for name, missing_input in self.not_computed.items():
            texts.setdefault(f"not computed without {missing_input}", []).append(name)
        return [*lines, *listed(texts)]

    def _threshold_texts(self) -> dict[str, list[str]]:
        """Return measures with their thresholds, of labels and of rows, by a description."""
        sign = ">="
        best = "largest"
        if not self.higher_is_better:
            sign = "<="
            best = "smallest"
        label_texts = list[str]()
        row_texts = list[str]()
        row_measures = {spec.name for spec in self.specs if not spec.average}
        for name, score in self.results.thresholds.items():
            if math.isnan(score):
                continue
            # in full: rounding could exclude the entry with this score
            text = f"{name} {score!r}"
            if name in row_measures:
                row_texts.append(text)
            else:
                label_texts.append(text)
        return {
            f"best threshold (predict scores {sign} it)": label_texts,
            f"threshold (accept rows whose {best} score is {sign} it)": row_texts,
        }

    def _confidence_lines(self, level: float) -> list[str]:
        """Return lines on what confidence intervals cover, and which measures have none."""
        lines = []
        first = next(iter(self.estimates.values()), None)
        if first is not None:
            groups = _jackknife_text(first.n_groups)
            chance = "reflects chance in test rows, not in training runs"
            lines.append(f"± {100 * level:.4g}% interval: {chance}{groups}")
        unsmooth = [spec.name for spec in self.specs if not spec.smooth]
        unknown = [
            spec.name for spec in self.specs if spec.smooth and spec.name not in self.estimates
        ]
        lines += listed(
            {
                "no standard error of maxima, extremes and counts": unsmooth,
                "standard error not known": unknown,
            }
        )
        return lines

    def _specs(self, in_tables: bool = True) -> Sequence[Spec]:
        return self.specs

    def _title(self) -> str:
        return f"{counted(self.n_rows, 'rows')} x {counted(self.n_labels, 'labels')}"

    def _record(self, spec: Spec, model: str = "", kind: str = "", group: str = "") -> Record:
        """Return the value of a measure with its bounds and its confidence interval."""
        bounds = self.results.intervals.get(spec.name)
        interval = self.estimates.get(spec.name)
        return Record(spec, self.results.values[spec.name], model, kind, group, bounds, interval)

    def records(self) -> list[Record]:
        return [
            report._record(spec, "", *place)
            for place, report in self._by_place(*KINDS).items()
            for spec in report.specs
        ]

    def _by_place(self, *kinds: str) -> dict[Place, Report]:
        """Return this report, and those of its groups by their kinds and names."""
        reports: dict[Place, Report] = {("", ""): self}
        for kind in kinds:
            for name, report in self._group_reports(kind).items():
                reports[kind, name] = report
        return reports

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        kinds = [kind for kind in KINDS if getattr(self.results, kind)]
        group_tables = [self._group_table(kind, number) for kind in kinds]
        return [self._value_table(number), *group_tables]

    def _value_table(self, number: Number) -> Table:
        """Return values by measure, with a column for each cutoff and one for measures without."""
        families = dict[Cell, Cell]()
        columns = dict[str, Cell]()
        cells = dict[tuple[Cell, str], Cell]()
        for spec in sorted(self.specs, key=lambda spec: (spec.cutoff == "all", spec.k or 0)):
            columns[spec.cutoff] = Cell(f"@{spec.cutoff}" if spec.cutoff else "value")
        # columns of bounds have room for those of one cutoff
        has_bounds_at_k = any(spec.cutoff for spec in self.specs if spec.name in self.intervals)
        for spec in self.specs:
            record = self._record(spec)
            family = Cell(spec.family, spec.metric.direction)
            families[family] = family
            cells[family, spec.cutoff] = Cell(record._text(number, bounded=has_bounds_at_k))
            if record.bounds and not has_bounds_at_k:
                for end, value in zip(BOUNDS, record.bounds, strict=True):
                    columns[end] = Cell(end)
                    cells[family, end] = Cell(number(spec, value))
        return table_of(self._title(), "measure", families, columns, cells)

    def _group_table(self, kind: str, number: Number) -> Table:
        """Return the sizes and values of all and of the groups of a kind.

        Measures without a value within any group are not shown.
        """
        reports = self._by_place(kind)
        measures = {name for place, report in reports.items() if place[0] for name in report}
        rows = {size: Cell(size.removeprefix("n_")) for size in SIZES[kind]}
        rows |= symbols_of(spec for spec in self.specs if spec.name in measures)
        columns = dict[Place, Cell]()
        cells = dict[Any, Cell]()
        for place, report in reports.items():
            columns[place] = Cell(place[1] if place[0] else "all")
            for size in SIZES[kind]:
                cells[size, place] = Cell(str(getattr(report, size)))
            for spec in report.specs:
                cells[spec.name, place] = Cell(report._record(spec)._text(number, bounded=True))
        caption = KINDS[kind]
        if kind == "groups":
            caption += self._range_caption()
        return table_of(caption, "measure", rows, columns, cells, "groups")

    def _range_caption(self) -> str:
        """Return the training rows of label groups as text, if groups were made by them."""
        if not self.group_ranges:
            return ""
        texts = []
        for name, text in zip(self.results.groups, self.group_ranges, strict=False):
            texts.append(name if name == text else f"{name} {text}")
        return f" by training rows: {', '.join(texts)}"

    def _members(self) -> dict[str, Any]:
        levels = [] if self.confidence_level is None else ["confidence_level"]
        row_groups = {
            name: {**report._attributes("n_rows"), **report._group_members()}
            for name, report in self.row_groups.items()
        }
        optional = {
            "groups": self._label_group_members(),
            "row_groups": row_groups,
            **self._details(),
            "notes_on": {
                kind: note for kind, note in self.results.notes.items() if kind in NOTED_FIGURES
            },
        }
        return {
            "schema": SCHEMA,
            **self._attributes("values", "intervals", *levels),
            **self._interval_members(),
            **self._attributes("thresholds", "n_rows", "n_labels"),
            "conventions": self.conventions.as_dict(),
            **self._settings(),
            **self._attributes("undefined_rows", "undefined_labels", "not_computed"),
            **{name: members for name, members in optional.items() if members},
            "notes": self.notes,
            "version": __version__,
        }

    def _interval_members(self) -> dict[str, Any]:
        """Return confidence intervals and standard errors as JSON values, if asked for."""
        if self.confidence_level is None:
            return {}
        return self._attributes("confidence", "standard_errors")

    def _details(self) -> dict[str, Any]:
        """Return further facts on values, as JSON values; JSON has no empty ones."""
        results = self.results
        return {
            "jackknife_groups": {name: each.n_groups for name, each in self.estimates.items()},
            "reliability": results.reliability,
            "tied_rows": results.tied,
            "tied_shares": results.tied_shares,
            "tie_bounds": results.tie_bounds,
            "short_lists": results.short,
            "cut_lists": [*results.cut],
        }

    def _group_members(self) -> dict[str, Any]:
        """Return the values of a group and further facts on them, as JSON values."""
        details = {
            **self._attributes("intervals", "thresholds", "undefined_rows", "undefined_labels"),
            **self._attributes("not_computed"),
            **self._details(),
        }
        return {
            **self._attributes("values"),
            **self._interval_members(),
            **{name: members for name, members in details.items() if members},
        }

    def _label_group_members(self) -> dict[str, Any]:
        """Return the values and shares of label groups, as JSON values."""
        shares = self.shares
        groups = dict[str, Any]()
        for (name, report), training_rows in zip_longest(self.groups.items(), self.group_ranges):
            share: Mapping[str, Any] = {"values": {}}
            if name in shares:
                share = shares[name]._group_members()
            groups[name] = {
                "training_rows": training_rows,
                **report._attributes("n_labels", "n_rows"),
                **report._group_members(),
                **{SHARE_MEMBERS[kind]: share[kind] for kind in SHARE_MEMBERS if kind in share},
            }
        return groups

    def _attributes(self, *names: str) -> dict[str, Any]:
        """Return attributes by name, and for ``values`` the values by measure."""
        return {name: dict(self) if name == "values" else getattr(self, name) for name in names}

    def _settings(self) -> dict[str, Any]:
        """Return what affects values besides the conventions, as JSON values."""
        return {
            **self._attributes("decision", "higher_is_better"),
            "propensity": self.constants or self.propensity,
            "hierarchy": self.hierarchy,
            "sample_weight": "given" if self.weighted else None,
            **{name: self.excluded.get(name) for name in RESTRICTIONS},
        }

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Report:
        """Read a report from JSON written by `to_json` or ``xmleval evaluate --output NAME.json``.

        Values by row and by label, values without each jackknife group, curves and names are not
        in it.

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
            raise ValueError(f"{path}: has the reports {', '.join(reports)}; give a file of one")
        return reports[""]

    def flat(self, at: str = "_at_") -> dict[str, float]:
        """Return the values by names of letters, digits and ``_``, which every tracker accepts.

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
        return {
            tracker_name(name, at): value for name, value in self.items() if not math.isnan(value)
        }

    def _lines(self, bounded: bool) -> Lines:
        return measure_lines(self.records(), bounded, self.confidence_level is not None)


def settings_of(report: Report, specs: Sequence[Spec]) -> dict[str, Any]:
    """Return conventions and settings of a report that affect the measures, as JSON values."""
    conventions = report.conventions.as_dict()
    settings = report._settings()
    needs = {need for spec in specs for need in spec.needs}
    for name, inputs in INPUTS_OF_SETTINGS.items():
        if needs.isdisjoint(inputs):
            del settings[name]
    names = (name for spec in specs for name in spec.conventions(report.decision))
    return {name: conventions[name] for name in names} | settings


def load_results(source: Path | dict[str, Any]) -> dict[str, Report]:
    """Return the reports in a JSON file, or in its contents, by name; a single one is ``""``."""
    return {name: Report(**arguments) for name, arguments in read_results(source).items()}


def with_same_measures(reports: Sequence[Report]) -> list[Report]:
    """Return the reports without the measures that unknown labels exclude from any of them."""
    excluded = {
        name: ALL_LABELS
        for report in reports
        for name, missing_input in report.not_computed.items()
        if missing_input == ALL_LABELS
    }
    reduced = []
    for report in reports:
        report.results.leave_out(excluded)
        specs = tuple([spec for spec in report.specs if spec.name not in excluded])
        not_computed = {**report.not_computed, **excluded}
        reduced.append(replace(report, specs=specs, not_computed=not_computed))
    return reduced


def mean_of(reports: Sequence[Report]) -> Report:
    """Return a report of the means of several reports on the same rows."""
    first, *following = reports
    if not following:
        return first
    results = _mean_results([report.results for report in reports])
    notes = list(dict.fromkeys(note for report in reports for note in report.notes))
    return replace(first, results=results, notes=notes)


def _mean_results(results: Sequence[Results]) -> Results:
    """Return the means of several results, and of those of their groups."""
    first = results[0]
    return Results(
        values=_mean_columns(results, "values"),
        rows=_mean_columns(results, "rows"),
        labels=_mean_columns(results, "labels"),
        replicates=_mean_columns(results, "replicates"),
        intervals=_mean_ends([each.intervals for each in results]),
        undefined_rows=first.undefined_rows,
        undefined_labels=first.undefined_labels,
        not_computed=first.not_computed,
        cut={name: True for each in results for name in each.cut},
        short=_mean_lengths(results),
        tied=_largest_shares([each.tied for each in results]),
        tied_shares=_largest_shares([each.tied_shares for each in results]),
        tie_bounds=_mean_ends([each.tie_bounds for each in results]),
        notes=first.notes,
        groups=_mean_parts([each.groups for each in results]),
        shares=_mean_parts([each.shares for each in results]),
        row_groups=_mean_parts([each.row_groups for each in results]),
    )


def _mean_ends(
    bounds: Sequence[Mapping[str, tuple[float, float]]],
) -> dict[str, tuple[float, float]]:
    """Return the means of the smallest and of the largest values that all results have."""
    means = dict[str, tuple[float, float]]()
    for name in bounds[0]:
        ends = [each[name] for each in bounds if name in each]
        if len(ends) == len(bounds):
            low, high = np.mean(ends, axis=0).tolist()
            means[name] = low, high
    return means


def _mean_parts(parts: Sequence[Mapping[str, Part]]) -> dict[str, Part]:
    """Return the means within the groups that all results have, by name."""
    first, *following = parts
    means = dict[str, Part]()
    for name, part in first.items():
        if all(name in other_parts for other_parts in following):
            results = [results_of_seed[name].results for results_of_seed in parts]
            means[name] = part._replace(results=_mean_results(results))
    return means


def _mean_columns(results: Sequence[Results], kind: str) -> dict[str, Any]:
    """Return the means of values or columns of a kind that all results have in one size."""
    columns = [getattr(each, kind) for each in results]
    means = dict[str, Any]()
    for name in dict.fromkeys(chain(*columns)):
        values = [column[name] for column in columns if name in column]
        has_one_size = len({*map(np.size, values)}) == 1
        # no mean of the thresholds of labels, which each seed has for itself
        if name != "threshold" and len(values) == len(results) and has_one_size:
            means[name] = sum(values) / len(values)
    return means


def _mean_lengths(results: Sequence[Results]) -> dict[str, ListLength]:
    """Return the mean length of lists that are too short for a measure, by measure."""
    short = dict[str, ListLength]()
    for name in chain(*(each.short for each in results)):
        lengths = [each.short[name] for each in results if name in each.short]
        mean = sum(length.mean for length in lengths) / len(lengths)
        short[name] = ListLength(mean, max(length.deepest for length in lengths))
    return short


def _largest_shares(columns: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the largest share of rows with ties in any of several reports, by measure."""
    return {name: max(column.get(name, 0.0) for column in columns) for name in chain(*columns)}


def _jackknife_text(n_groups: int) -> str:
    """Return the number of jackknife groups in brackets, if there are any."""
    if not n_groups:
        return ""
    groups = counted(n_groups, "groups of rows", "group of rows")
    if n_groups < FEW_GROUPS:
        groups += ", too few for a good interval"
    return f" (jackknife of {groups})"


def tracker_name(name: str, at: str) -> str:
    """Return the name of a measure in letters, digits and ``_``, and ``at`` for ``@``."""
    return at.join(re.sub(r"\W", "_", part) for part in name.replace(")", "").split("@"))


def _columns(kept: Mapping[str, Any], names: list[Any] | None) -> dict[str, Any]:
    """Return copies of columns, after a column of names if there are any."""
    columns = dict[str, Any]()
    if names is not None:
        columns["name"] = np.fromiter(names, object, len(names))
    for name, column in kept.items():
        columns[name] = np.array(column)
    return columns
