"""`rank`: average ranks of models over data sets, with the tests and the printed forms of Demsar 2006."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, compress, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, Keyword, Message, counted, real_number, shown, shown_names
from xmleval.files.remote import as_path
from xmleval.input.objects.frames import Frame, open_frame
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.results.checks import differing_settings
from xmleval.results.fairness import MOST_TIED
from xmleval.results.figures import Kind, diagrams_of_ranks, dots_of_average_ranks
from xmleval.results.pages import page_of_ranks
from xmleval.results.record import Lines, Number, as_shown
from xmleval.results.report import Report, load_results
from xmleval.results.result import Result
from xmleval.results.saved_results import known_spec
from xmleval.show.tables import Cell, Table, short, short_names
from xmleval.statistics import friedman
from xmleval.statistics.friedman import OmnibusTest
from xmleval.version import __version__

FEW_DATA_SETS, FEW_MODELS = 10, 5  # up to which chi-square is no good approximation
SEVERAL = "expected `xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
LEAVE_OUT = ("data_sets", "models")
MOST_NAMED = 3  # of many missing values
ONE_LEVEL = "expected for each data set a mapping of models to reports, values or numbers"
Models = dict[str, Any]  # a report, values by measure, or a number of each
Measure = Spec | str | None  # what is compared; a measure of your own has a name alone, numbers have none


class Rank(NamedTuple):
    """The value of a model on a data set, and its rank there."""

    data_set: str
    model: str
    value: float
    rank: float


@dataclass(frozen=True, eq=False)
class Ranking(Result[Rank]):
    """Models in the order of their average ranks over data sets, and which of them differ.

    Parameters
    ----------
    metric : str or None
        Name of the measure, if it has one.
    higher_is_better : bool
        Whether higher values are better.
    alpha : float
        Level of significance.
    control : str or None
        Model with which all others are compared, if not all pairs are.
    n_data_sets : int
        Number of data sets.
    average_ranks : dict of str to float
        Average rank of each model, the best (lowest) first; ties share the average of their ranks.
    ranks, values : dict of str to dict of str to float
        Rank and value of each model on each data set.
    friedman, iman_davenport : OmnibusTest
        ``statistic``, ``degrees_of_freedom`` and ``p_value`` of Friedman's chi-square and of Iman and
        Davenport's F, as in Demsar 2006, that is without a correction for ties.
    corrected : dict of str to OmnibusTest
        Both with that correction, as in SciPy, where there are ties.
    critical_difference : float
        Average ranks that differ by this or more are significantly different: by Nemenyi's test for all
        pairs, or by that of Bonferroni and Dunn for all with ``control``.
    groups : list of list of str
        Longest runs of models, in the order of ranks, of which no two are significantly different: the bars
        of a critical difference diagram. With a control, the one run of those that do not differ from it.
    notes : list of str
        What was left out, and what the tests do not tell.

    Examples
    --------
    >>> values = {"bibtex": {"svm": 0.4, "tree": 0.5}, "enron": {"svm": 0.5, "tree": 0.7}}
    >>> ranking = rank(values, "p@1")
    >>> ranking.average_ranks
    {'tree': 1.0, 'svm': 2.0}
    """

    metric: str | None
    higher_is_better: bool
    alpha: float
    control: str | None
    n_data_sets: int
    average_ranks: dict[str, float]
    ranks: dict[str, dict[str, float]] = field(repr=False)
    values: dict[str, dict[str, float]] = field(repr=False)
    friedman: OmnibusTest
    iman_davenport: OmnibusTest
    corrected: dict[str, OmnibusTest]
    critical_difference: float
    groups: list[list[str]]
    notes: list[str]

    @property
    def symbol(self) -> str:
        """The measure as tables and figures name it."""
        return next((spec.symbol for spec in self._specs()), self.metric or "value")

    def _title(self) -> str:
        n_models = counted(len(self.average_ranks), "models")
        return f"values (ranks) of {n_models} on {counted(self.n_data_sets, 'data sets')}"

    def _specs(self, of_tables: bool = True) -> list[Spec]:
        spec = known_spec(self.metric or "")
        return [] if spec is None else [spec]

    def records(self) -> list[Rank]:
        return [
            Rank(data_set, model, self.values[data_set][model], rank)
            for data_set, ranks in self.ranks.items()
            for model, rank in ranks.items()
        ]

    def _printed(self) -> Iterator[tuple[Spec, float]]:
        return ((spec, each.value) for spec in self._specs() for each in self.records())

    def tables(self, number: Number = as_shown) -> list[Table]:
        specs = self._specs()
        head = Cell(self.symbol, "up" if self.higher_is_better else "down")
        rows = {data_set: [Cell(data_set)] for data_set in self.ranks}
        for data_set, _, value, rank in self.records():
            shown = number(specs[0], value) if specs else short(value)
            rows[data_set].append(Cell(f"{shown} ({rank:g})"))
        last = [Cell("average rank"), *(Cell(short(rank)) for rank in self.average_ranks.values())]
        return [Table(self._title(), [[head, *map(Cell, self.names.values())], *rows.values(), last])]

    def _paper(self, number: Number, models: str, percent: bool) -> tuple[list[Table], str]:
        (table,) = self.tables(number)
        return [table._replace(rows=[*zip(*table.rows, strict=True)]) if models == "rows" else table], ""

    def footnotes(self) -> list[str]:
        lines = [_test_text(self.friedman, self.iman_davenport)]
        if self.corrected:
            lines.append(f"corrected for ties: {_test_text(**self.corrected)}")
        test = "Bonferroni-Dunn" if self.control else "Nemenyi"
        lines.append(f"critical difference {short(self.critical_difference)} ({test}, alpha {self.alpha:g})")
        names, to = self.names, f" from {self.names[self.control]}" if self.control else ""
        for group in self.groups:
            similar = ", ".join(names[model] for model in group if model != self.control)
            lines.append(f"not significantly different{to}: {similar}")
        if not self.groups:
            lines.append(f"all significantly different{to}")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    @property
    def names(self) -> dict[str, str]:
        """Short names of the models, which tables, figures and pages have (@private)."""
        return dict(zip(self.average_ranks, short_names([*self.average_ranks]), strict=True))

    def _kinds(self) -> Mapping[str, Kind]:
        return {
            "critical_difference": Kind(lambda _: diagrams_of_ranks([self])),
            "average_ranks": Kind(lambda _: dots_of_average_ranks([self])),
        }

    def to_html(self, title: str | None = None, *, about: Mapping[str, str] | None = None) -> str:
        return page_of_ranks([self], title, about)

    def _lines(self, bounded: bool) -> Lines:
        return rank_lines([self])

    def _members(self) -> dict[str, Any]:
        return {**vars(self), "version": __version__}


def _test_text(friedman: OmnibusTest, iman_davenport: OmnibusTest) -> str:
    tests = {"Friedman chi-square": friedman, "Iman-Davenport F": iman_davenport}
    return "; ".join(
        f"{name} {test.statistic:.4g} ({', '.join(map(str, test.degrees_of_freedom))}), p {test.p_value:.3g}"
        for name, test in tests.items()
    )


def rank_lines(rankings: Sequence[Ranking]) -> Lines:
    """Return a line of CSV for each model of each ranking."""
    data_sets = [*dict.fromkeys(name for ranking in rankings for name in ranking.ranks)]
    header = ["metric", "model", "average_rank", *(f"rank on {name}" for name in data_sets)]
    lines = []
    for ranking in rankings:
        for model, average in ranking.average_ranks.items():
            ranks = (ranking.ranks.get(name, {}).get(model) for name in data_sets)
            lines.append([ranking.metric or "", model, average, *ranks])
    return header, lines


def rank(
    results: object,
    metric: str | None = None,
    *,
    higher_is_better: bool | None = None,
    control: str | None = None,
    alpha: float = 0.05,
    leave_out: str | None = None,
) -> Ranking:
    """Compare models over several data sets by their average ranks (Demsar 2006).

    Parameters
    ----------
    results : mapping of data sets to mappings of models, or frame of shape (data sets, models)
        For each model a `Report`, values by measure, or a number; in place of models, a file of results as
        JSON. Each model needs a value on each data set.
    metric : str, optional
        Measure, in any accepted spelling; default the only one that all models have. Of numbers alone, it
        tells the direction.
    higher_is_better : bool, optional
        Whether higher values are better, for a measure of your own.
    control : str, optional
        Model with which the others are compared, by the test of Bonferroni and Dunn, which sees smaller
        differences. Default: all pairs are compared, by that of Nemenyi.
    alpha : float, default 0.05
        Level of significance, within (0, 1).
    leave_out : {"data_sets", "models"}, optional
        Leave out the data sets on which some model has no value, or the models without a value on some data
        set. Default: missing and undefined values are refused.

    Returns
    -------
    Ranking
        Average ranks, tests, critical difference, and the groups of models that do not differ significantly.

    Raises
    ------
    ValueError
        If there are fewer than two data sets or models; if a value is missing, or was computed on other rows
        or under other conventions than those beside it; if the measure or its direction is not known.

    Examples
    --------
    >>> values = {"bibtex": {"lr": 0.64, "knn": 0.58}, "delicious": {"lr": 0.69, "knn": 0.66}}
    >>> found = rank(values, "p@1")
    >>> found.average_ranks
    {'lr': 1.0, 'knn': 2.0}
    >>> found.groups
    [['lr', 'knn']]
    """
    level = real_number("alpha", alpha)
    if not 0 < level < 1:
        raise InputError("alpha", f"{shown(alpha)} is not between 0 and 1")
    by_name = by_data_set(results)
    measure, is_up = _measure_of(by_name, metric, higher_is_better)
    (data_sets, names), values, notes = _whole_values(by_name, measure, leave_out)
    ranks = friedman.ranks_within_rows(values, is_up)
    means = ranks.mean(0)
    order = np.argsort(means, kind="stable")
    models, means, ranks, values = [names[j] for j in order], means[order], ranks[:, order], values[:, order]
    difference = friedman.critical_difference(len(ranks), len(models), level, control is not None)
    groups = [models[run] for run in friedman.find_groups(means.tolist(), difference)]
    if control is not None:
        full = dict(zip(short_names(models), models, strict=True)) | {model: model for model in models}
        if control not in full:
            raise InputError("control", f"{shown(control)} is none of the models {shown_names(models)}")
        control = full[control]
        similar = [*compress(models, np.abs(means - means[models.index(control)]) < difference)]
        groups = [similar] if len(similar) > 1 else []
    tests = friedman.omnibus_tests(ranks)
    if not tests["iman_davenport"].p_value < level:
        notes += [f"no difference seen: p of F is not below {level:g}, and Demsar 2006 then tests no pairs"]
    if len(models) == 2:
        notes += ["for two models, Demsar 2006 recommends Wilcoxon's signed-rank test of the values"]
    if len(ranks) <= FEW_DATA_SETS or len(models) <= FEW_MODELS:
        large = f"more than {FEW_DATA_SETS} data sets and {FEW_MODELS} models"
        notes += [f"chi-square and F are approximations for {large}; exact values are not offered"]
    notes += _about_ties(by_name, data_sets, names, measure)
    return Ranking(
        metric=None if measure is None else str(measure),
        higher_is_better=is_up,
        n_data_sets=len(ranks),
        alpha=level,
        control=control,
        average_ranks=dict(zip(models, means.tolist(), strict=True)),
        ranks=_by_name(data_sets, models, ranks),
        values=_by_name(data_sets, models, values),
        corrected=friedman.omnibus_tests(ranks, corrected=True) if friedman.count_ties(ranks) else {},
        critical_difference=difference,
        groups=groups,
        notes=notes,
        **tests,
    )


def _about_ties(
    results: Mapping[str, Models], data_sets: Iterable[str], models: Iterable[str], measure: Measure
) -> list[str]:
    """Return a note on values that the order of equal scores decides."""
    cells = [
        f"{model} on {data_set}"
        for model, data_set in product(models, data_sets)
        if isinstance(report := results[data_set][model], Report)
        and report.tied_rows.get(str(measure), 0.0) >= MOST_TIED
    ]
    if not cells:
        return []
    return [f"in half or more of the rows, values depend on the order of equal scores: {shown_names(cells)}"]


def _by_name(data_sets: Iterable[Any], models: Sequence[Any], matrix: NDArray[Any]) -> dict[str, Models]:
    rows = zip(data_sets, matrix.tolist(), strict=True)
    return {name: dict(zip(models, row, strict=True)) for name, row in rows}


def by_data_set(results: object) -> dict[str, Models]:
    """Return what is known of each model on each data set: a report, values by measure, or a number."""
    frame = open_frame("results", results)
    by_name = results if frame is None else _rows_of(frame)
    if not isinstance(by_name, Mapping):
        raise InputError("results", f"{type(results).__name__} is neither a mapping nor a frame; {ONE_LEVEL}")
    models_of = {str(name): _models_of(str(name), models) for name, models in by_name.items()}
    _refuse_few(models_of, "data sets")
    return models_of


def _refuse_few(names: Collection[Any], units: str, left: str = "") -> None:
    if len(names) < 2:
        raise InputError("results", f"{counted(len(names), units)}{left}; average ranks need 2 or more")


def _rows_of(frame: Frame) -> dict[str, Models]:
    """Return the rows of a frame; they are called as its index or its first column has it, or numbered."""
    first, models = frame.matrix(frame.columns[:1]).ravel().tolist(), frame.columns
    data_sets = frame.keys or range(len(first))
    if not all(isinstance(value, float | int | None) for value in first):
        data_sets, models = first, models[1:]
    for name, n in (Counter(map(str, data_sets)) | Counter(map(str, models))).items():
        if n > 1:
            raise InputError("results", f"{shown(name)} is there twice")
    return _by_name(data_sets, models, frame.matrix(models))


def _models_of(data_set: str, results: object) -> Models:
    if isinstance(results, str | os.PathLike):
        path = as_path(results)
        results = load_results(path)
        if len(results) < 2:
            raise ValueError(f"{path}: has one model; {SEVERAL}")
    results = getattr(results, "reports", results)  # of a `Comparison`
    if not isinstance(results, Mapping):
        raise InputError("results", f"{shown(data_set)} is one {type(results).__name__}; {ONE_LEVEL}")
    models = {str(name): model for name, model in results.items()}
    if models and all(map(known_spec, models)):
        first = next(iter(models))
        raise InputError(
            "results", f"{shown(data_set)} holds {shown(first)}, a measure and no model; {ONE_LEVEL}"
        )
    return models


def by_short_names(full: Mapping[str, Models]) -> tuple[Mapping[str, Models], list[str]]:
    """Return models by the short names that tables have where only these are the same for all; and notes."""
    short = {
        data_set: dict(zip(short_names([*models]), models.values(), strict=True))
        for data_set, models in full.items()
    }
    n_full, n_short = (len({*map(frozenset, named.values())}) for named in (full, short))
    if n_full == 1 or n_short > 1:
        return full, []
    return short, ["models are matched by the part of their names that differs within a data set"]


def shared_measures(results: Mapping[str, Models]) -> list[str] | None:
    """Return the measures of models that all have on all data sets; None if no model has any by name."""
    columns = [cell for models in results.values() for cell in models.values() if isinstance(cell, Mapping)]
    if not columns:
        return None
    specs = {name: known_spec(str(name)) for name in columns[0] if all(name in values for values in columns)}
    return [name for name, spec in specs.items() if spec is None or spec.metric.direction != "none"]


def _measure_of(
    by_name: dict[str, Models], metric: object, higher_is_better: bool | None
) -> tuple[Measure, bool]:
    """Return the measure that is asked for, or the only one there is, and whether higher is better."""
    names = shared_measures(by_name) if metric is None else [metric]
    if names is None:
        if higher_is_better is None:
            ways = Keyword("metric"), " or ", Keyword("higher_is_better")
            raise InputError("metric", Message("numbers do not tell which are better; give ", *ways))
        return None, bool(higher_is_better)
    if len(names) != 1:
        raise InputError("metric", f"not given; the models have {shown_names(names) or 'none in common'}")
    (name,) = names
    if not isinstance(name, str):
        raise InputError("metric", f"{shown(name)} is not the name of a measure")
    try:
        spec = parse_spec(name)
    except ValueError as error:
        if higher_is_better is None:
            hint = Message("; a measure of your own needs ", Keyword("higher_is_better"))
            raise InputError("metric", Message(str(error), hint)) from None
        return name, bool(higher_is_better)
    direction = spec.metric.direction
    if direction == "none":
        raise InputError("metric", f"{spec} describes the labels, and not a model")
    if higher_is_better not in (None, direction == "up"):
        better = "higher" if direction == "up" else "lower"
        raise InputError("higher_is_better", f"{shown(higher_is_better)}, and {better} is better for {spec}")
    return spec, direction == "up"


def _whole_values(
    results: Mapping[str, Models], measure: Measure, leave_out: str | None
) -> tuple[list[list[str]], Floats, list[str]]:
    """Return data sets and models, their values, (data sets, models), without gaps, and what was left out."""
    if leave_out not in (None, *LEAVE_OUT):
        raise InputError(
            "leave_out", f"{shown(leave_out)} is neither {shown(LEAVE_OUT[0])} nor {shown(LEAVE_OUT[1])}"
        )
    names = [[*results], [*dict.fromkeys(chain(*results.values()))]]
    cells, notes = dict[tuple[str, str], Any](), list[str]()
    for data_set, models in results.items():
        _refuse_unlike(data_set, models, measure)
        for model in names[1]:
            cells[data_set, model] = _value(models.get(model), measure, f"{model} on {data_set}")
    missing = {cell: reason for cell, reason in cells.items() if isinstance(reason, str)}
    if missing and leave_out is None:
        if len(missing) == len(cells):
            raise InputError("metric", missing[names[0][0], names[1][0]])
        few = "; ".join([*missing.values()][:MOST_NAMED]) + ("; ..." if len(missing) > MOST_NAMED else "")
        ways = Keyword("leave_out", shown(LEAVE_OUT[0])), " or ", Keyword("leave_out", shown(LEAVE_OUT[1]))
        needed = "; average ranks need a value of every model on every data set; give "
        raise InputError("results", Message(few, needed, *ways))
    if missing and leave_out is not None:
        axis = LEAVE_OUT.index(leave_out)
        have_gaps = {cell[axis] for cell in missing}
        left_out = ", ".join(filter(have_gaps.__contains__, names[axis]))
        names[axis] = [name for name in names[axis] if name not in have_gaps]
        notes = [f"left out, as a model has no value on a data set: {left_out}"]
    for heads, units in zip(names, ("data sets", "models"), strict=True):
        _refuse_few(heads, units, " left" if missing else "")
    return names, np.array([[cells[data_set, model] for model in names[1]] for data_set in names[0]]), notes


def _value(model: object, measure: Measure, where: str) -> float | str:
    """Return the value of a model, or why there is none."""
    if isinstance(model, Mapping):
        values = {str(known_spec(str(name)) or name): value for name, value in model.items()} | {**model}
        if str(measure) not in values:
            return f"{where}: {not_there(str(measure), [*model])}"
        model = values[str(measure)]
    value = math.nan if model is None else real_number(f"results of {where}", model)
    return f"{'no' if model is None else 'undefined'} value of {where}" if math.isnan(value) else value


def _refuse_unlike(data_set: str, models: Models, measure: Measure) -> None:
    """Refuse models that were not evaluated on the same rows, or under the same conventions."""
    specs = [measure] if isinstance(measure, Spec) else []
    may_differ = {"decision": None, "higher_is_better": None}
    settings = {
        name: {"n_rows": report.n_rows, **report.settings_of(specs), **may_differ}
        for name, report in models.items()
        if isinstance(report, Report)
    }
    for (name, of_one), (other, of_other) in combinations(settings.items(), 2):
        for setting, (value, other_value) in differing_settings(of_one, of_other).items():
            reason = f"{setting} is {value} for {name} and {other_value} for {other}"
            raise InputError("results", f"{data_set}: {reason}, whose values cannot be compared")
