"""Report: values with their conventions, in every printed form."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import ALL_LABELS, counted
from xmleval.files.remote import as_path
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.results.confidence import about_confidence, confidence_as_json, estimates_of
from xmleval.results.frames import as_frame, flat_name, name_column
from xmleval.results.parts import WithParts
from xmleval.results.plotted import Plotted
from xmleval.results.reliability import WithReliability
from xmleval.results.saved_results import arguments_of, read_results
from xmleval.show.printed import Printed
from xmleval.show.tables import Cell, as_csv, as_json_value, short
from xmleval.states.results import Results
from xmleval.statistics.jackknife import Estimate
from xmleval.version import SCHEMA, __version__

ESTIMATED = ["standard_error", "confidence_lower", "confidence_upper"]
RECORD = ["name", "symbol", "direction", "value", "lower", "upper"]


@dataclass(frozen=True, eq=False)
class Report(WithParts, WithReliability, Printed, Plotted, Mapping[str, float]):
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
    weighted : bool
        Whether sample weights were given.
    excluded : dict
        What leaves labels out, by argument: ``exclude``, ``candidates``; of files, their name and SHA-256.
    propensity : str or None
        Description of propensities without known constants.
    hierarchy : str or None
        Number of edges of a hierarchy of labels, and the beginning of their digest.
    confidence_level : float or None
        Probability that the intervals of `confidence` cover.
    keeps_rows : bool
        Whether row values were kept.
    higher_is_better : bool
        Whether higher scores are better.
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
    excluded: dict[str, Any] = field(default_factory=dict)
    propensity: str | None = None
    hierarchy: str | None = None
    confidence_level: float | None = None
    keeps_rows: bool = False
    higher_is_better: bool = True
    label_names: list[Any] | None = field(default=None, repr=False)
    row_names: list[Any] | None = field(default=None, repr=False)
    unknown_labels: Sequence[Any] = field(default=(), repr=False)
    group_ranges: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def names_in_lists(self) -> list[Any]:
        """Names of labels, and behind them of unknown labels (@private)."""
        return [*(self.label_names or ()), *self.unknown_labels]

    def __getitem__(self, name: str) -> float:
        """Return the value of a measure by any spelling of its name."""
        if name in self.results.values:
            return self.results.values[name]
        if not isinstance(name, str):
            raise KeyError(name)
        try:
            return self.results.values[str(parse_spec(name))]
        except (KeyError, ValueError):
            raise KeyError(not_there(name, [*self])) from None

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
        return name_column(self.row_names) | {
            name: np.array(values) for name, values in self.results.rows.items()
        }

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Lower and upper bound of measures that the scores do not determine, by name.

        Examples
        --------
        >>> lists = np.array([[0]]), np.array([[0.9]])
        >>> report = evaluate(np.array([[1, 0, 1, 0]]), lists, metrics=["ranking_loss"], bounds=True)
        >>> report.intervals
        {'ranking_loss': (0.0, 1.0)}
        """
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
        if self.confidence_level is None:
            return {}
        results = self.results
        if results.estimates:
            return results.estimates
        return estimates_of(self.specs, results.values, results.replicates, self.confidence_level)

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
        >>> lower, upper = report.confidence["p@1"]
        >>> round(lower, 2), round(upper, 2)
        (0.34, 0.66)
        """
        return {name: (found.lower, found.upper) for name, found in self.estimates.items()}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each measure that has one, by name; see `confidence`.

        Examples
        --------
        >>> scores = np.eye(40)[np.arange(40) // 2 * 2]
        >>> report = evaluate(np.eye(40), scores, metrics=["p@1"], confidence=0.95)
        >>> round(report.standard_errors["p@1"], 3)
        0.075
        """
        return {name: found.standard_error for name, found in self.estimates.items()}

    @property
    def thresholds(self) -> dict[str, float]:
        """Best threshold of measures that maximise over thresholds, by name: predict scores >= it, or <=.

        Examples
        --------
        >>> evaluate(np.eye(2), np.array([[0.9, 0.4], [0.3, 0.8]]), metrics=["peak_f1.micro"]).thresholds
        {'peak_f1.micro': 0.8}
        """
        return self.results.thresholds

    @property
    def undefined_rows(self) -> dict[str, int]:
        """Number of rows left out of the mean because the measure is undefined there, by name.

        Examples
        --------
        >>> evaluate(np.array([[1, 0], [0, 0]]), np.eye(2), metrics=["lrap"]).undefined_rows
        {'lrap': 1}
        """
        return self.results.undefined_rows

    @property
    def undefined_labels(self) -> dict[str, int]:
        """Number of labels left out of the mean because they lack one of the classes, by name.

        Examples
        --------
        >>> evaluate(np.array([[1, 0], [0, 0]]), np.eye(2), metrics=["auc.macro"]).undefined_labels
        {'auc.macro': 1}
        """
        return self.results.undefined_labels

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
        columns = {name: column.copy() for name, column in self.results.labels.items()}
        return name_column(self.label_names) | columns

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
        """Return points of the precision-recall curve of all entries.

        Returns
        -------
        precision, recall, thresholds : ndarrays of shape (n,)
            Precision and recall of entries with a score >= each threshold; precision is 1 without any.

        Raises
        ------
        ValueError
            If no points were kept.

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

        Returns
        -------
        str

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.signature()
        'empty=zero unlisted=below'
        """
        fields = {name for spec in self.specs for name in spec.conventions(self.decision)}
        needs = {need for spec in self.specs for need in spec.needs}
        parts = [self.conventions.signature(sorted(fields))]
        if "sets" in needs and self.decision:
            parts.append(f"decision={self.decision}")
        if "propensity" in needs:
            numbers = {name: f"{v:g}" if isinstance(v, float) else v for name, v in self.constants.items()}
            constants = " ".join(f"{name}={number}" for name, number in numbers.items())
            parts.append(f"propensity=({constants or self.propensity})")
        elif "n" in self.constants and "training" in needs:
            parts.append(f"y_train=({self.constants['n']:.0f} rows)")
        if "hierarchy" in needs:
            parts.append(f"hierarchy=({self.hierarchy})")
        if not self.higher_is_better:
            parts.append("higher_is_better=False")
        if self.weighted:
            parts.append("sample_weight=given")
        return " ".join(filter(None, parts))

    def _models(self, specs: Sequence[Spec] = ()) -> Mapping[str, Report]:
        return {"": self}

    def _footnotes(self) -> list[str]:
        results, signature = self.results, self.signature()
        lines = [signature] if signature else []
        if results.intervals:
            bounded = [str(spec) for spec in self.specs if spec.name in results.intervals]
            lines.append(f"lower and upper bounds for any scores of unlisted labels: {', '.join(bounded)}")
        if self.confidence_level is not None:
            lines += about_confidence(self.confidence_level, self.specs, self.estimates)
        if results.thresholds:  # in full: rounding could exclude the entry with this score
            known = {name: score for name, score in results.thresholds.items() if not math.isnan(score)}
            of_rows = {str(spec) for spec in self.specs if not spec.average}
            sign, best = (">=", "largest") if self.higher_is_better else ("<=", "smallest")
            for told, own in (
                (f"best threshold (predict scores {sign} it)", known.keys() - of_rows),
                (f"threshold (accept rows whose {best} score is {sign} it)", known.keys() & of_rows),
            ):
                shown = ", ".join(f"{name} {score!r}" for name, score in known.items() if name in own)
                lines += [f"{told}: {shown}"] if shown else []
        for unit, counts in (("rows", results.undefined_rows), ("labels", results.undefined_labels)):
            if counts:
                shown = ", ".join(f"{name} {n}" for name, n in counts.items())
                lines.append(f"{unit} left out as undefined: {shown}")
        if self.not_computed:
            inputs = dict.fromkeys(self.not_computed.values())
            for needed in inputs:
                names = [name for name, other in self.not_computed.items() if other == needed]
                lines.append(f"not computed without {needed}: {', '.join(names)}")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    def grid(self) -> list[list[Cell]]:
        """Return header and rows: a column per cutoff, and one for measures without a cutoff (@private)."""
        found = {spec.cutoff for spec in self.specs}
        columns = [*({""} & found), *sorted(found - {"", "all"}, key=int), *({"all"} & found)]
        header = ["measure", *(f"@{cutoff}" if cutoff else "value" for cutoff in columns)]
        header += ["lower", "upper"] if self.intervals else []
        rows: dict[Cell, list[str]] = {}
        for spec in self.specs:
            name = Cell(spec.family, spec.metric.direction)
            row = rows.setdefault(name, [""] * (len(header) - 1))
            row[columns.index(spec.cutoff)] = self.shown(spec)
            if spec.name in self.intervals:
                row[-2:] = map(short, self.intervals[spec.name])
        return [[*map(Cell, header)], *([name, *map(Cell, texts)] for name, texts in rows.items())]

    def shown(self, spec: Spec) -> str:
        """Return a value as tables show it, with half the width of its confidence interval (@private)."""
        found, text = self.estimates.get(spec.name), short(self.results.values[spec.name])
        return text if found is None else f"{text} ±{short(found.half_width)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but row values and curves as JSON values; undefined values are None.

        Returns
        -------
        dict

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.to_dict()["values"]
        {'p@1': 0.3333333333333333}
        """
        return {
            "schema": SCHEMA,
            "values": {name: as_json_value(value) for name, value in self.items()},
            "intervals": {name: [*map(as_json_value, ends)] for name, ends in self.intervals.items()},
            **confidence_as_json(self.confidence_level, self.estimates),
            "thresholds": {name: as_json_value(value) for name, value in self.thresholds.items()},
            "n_rows": self.n_rows,
            "n_labels": self.n_labels,
            "conventions": self.conventions.as_dict(),
            **self.settings(),
            "undefined_rows": self.undefined_rows,
            "undefined_labels": self.undefined_labels,
            "not_computed": self.not_computed,
            **self.parts_as_dict(),
            **self.reliability_as_dict(),
            "notes": [*self.notes],
            "version": __version__,
        }

    def settings(self) -> dict[str, Any]:
        """Return what affects values besides the conventions, as JSON values (@private)."""
        return {
            "decision": self.decision,
            "higher_is_better": self.higher_is_better,
            "propensity": self.constants or self.propensity,
            "hierarchy": self.hierarchy,
            "sample_weight": "given" if self.weighted else None,
            **{name: self.excluded.get(name) for name in ("exclude", "candidates")},
        }

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Report:
        """Read a report from JSON, as `to_json` or ``xmleval evaluate --output NAME.json`` wrote it.

        Values by row and by label, curves and names are not in it.

        Parameters
        ----------
        path : path
            The file, which holds one report.

        Returns
        -------
        Report

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

    def to_frame(self) -> Any:
        """Return a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            A row for each measure, by canonical name: ``symbol``, ``direction`` ("up" if higher is better),
            ``value`` and, if there are any, the bounds ``lower`` and ``upper``, and the standard error and
            the ends of the confidence interval; NaN if undefined.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.to_frame()["value"].tolist()  # doctest: +SKIP
        [0.3333333333333333]
        """
        header, rows = self._records()
        shown = [n for n, name in enumerate(header) if n and (self.intervals or name not in RECORD[-2:])]
        return as_frame(header, rows, shown)

    def to_csv(self) -> str:
        """Return CSV: name, symbol, direction, value and bounds of each measure, in full precision.

        With confidence intervals, their ends and standard errors follow, then the values of groups.

        Returns
        -------
        str

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_csv())
        name,symbol,direction,value,lower,upper
        p@1,P@1,up,0.3333333333333333,,
        <BLANKLINE>
        """
        return as_csv(*self._records())

    def _records(self) -> tuple[list[str], list[list[str | float]]]:
        estimated = [] if self.confidence_level is None else ESTIMATED
        rows = [[*self._record(spec), *self.part_values(spec)] for spec in self.specs]
        return [*RECORD, *estimated, *self.part_columns()], rows

    def _record(self, spec: Spec) -> list[str | float]:
        ends = self.intervals.get(spec.name, (math.nan, math.nan))
        record: list[str | float] = [spec.name, spec.symbol, spec.metric.direction, self[spec.name], *ends]
        if self.confidence_level is not None:
            found = self.estimates.get(spec.name)
            own = (found.standard_error, found.lower, found.upper) if found else [math.nan] * 3
            record += own
        return record


def load_results(path: Path) -> dict[str, Report]:
    """Read the JSON of one report, which has the name ``""``, or of several."""
    return {name: Report(**arguments) for name, arguments in read_results(path).items()}


def reports_of(found: dict[str, Any]) -> dict[str, Report]:
    """Return the reports that JSON values hold, see `load_results`."""
    return {name: Report(**arguments) for name, arguments in arguments_of(found).items()}


def with_same_measures(reports: Sequence[Report]) -> list[Report]:
    """Return the reports of several models without the measures that unknown labels leave out of any."""
    every = [pair for report in reports for pair in report.not_computed.items()]
    without = {name: needed for name, needed in every if needed == ALL_LABELS}
    found = []
    for report in reports:
        report.results.leave_out(without)
        specs = tuple([spec for spec in report.specs if spec.name not in without])
        found.append(replace(report, specs=specs, not_computed={**report.not_computed, **without}))
    return found
