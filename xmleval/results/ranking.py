"""`rank`: average ranks of models over data sets, with the tests of Demsar 2006."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, compress
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Floats
from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    counted,
    printable,
    real_number,
    shown,
    shown_names,
)
from xmleval.files.remote import as_path
from xmleval.input.objects.frames import Frame, open_frame
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.metrics.spellings import not_there
from xmleval.results.checks import differing_settings
from xmleval.results.fairness import WHOLE, Fairness, describe_decided
from xmleval.results.figures import Kind, diagrams_of_ranks, dots_of_average_ranks
from xmleval.results.pages import page_of_ranks
from xmleval.results.record import AS_SHOWN, Footnote, Lines, Number
from xmleval.results.report import Report, load_results, settings_of
from xmleval.results.result import Result
from xmleval.results.saved_results import (
    known_spec,
    naming_file,
    read_contents,
    read_saved_number,
    refusing_damage,
)
from xmleval.show.tables import Cell, Table, short, short_names, turned
from xmleval.statistics import friedman
from xmleval.statistics.friedman import OmnibusTest
from xmleval.version import __version__

# up to these numbers, chi-square is no good approximation
FEW_DATA_SETS = 10
FEW_MODELS = 5
SEVERAL = "expected `xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
LEAVE_OUT = ("data_sets", "models")
MOST_NAMED = 3  # of many missing values
MOST_PAIRS = 8  # that a note names
ONE_LEVEL = "expected for each data set a mapping of models to reports, values or numbers"
Models = dict[str, Any]  # a report, values by measure, or a number of each
# what is compared; a measure of your own has a name alone, numbers have none
Measure = Spec | str | None


class Rank(NamedTuple):
    """The value of a model on a data set, and its rank there."""

    data_set: str
    model: str
    value: float
    rank: float


@dataclass(frozen=True, eq=False)
class Ranking(Result[Rank]):
    """Models in the order of their average ranks over data sets, and which of them differ.

    Attributes
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
        ``statistic``, ``degrees_of_freedom`` and ``p_value`` of Friedman's chi-square and of Iman
        and Davenport's F, as in Demsar 2006, that is without a correction for ties.
    corrected : dict of str to OmnibusTest
        Both with that correction, as in SciPy, where there are ties.
    critical_difference : float
        Average ranks that differ by this or more are significantly different: by Nemenyi's test for
        all pairs, or by that of Bonferroni and Dunn for all with ``control``.
    groups : list of list of str
        Longest runs of models, in the order of ranks, of which no two are significantly different:
        the bars of a critical difference diagram. With a control, the one run of those that do not
        differ from it.
    notes : list of str
        What was left out, and what the tests do not tell.
    decided_by_ties : dict of str to list of tuple of str
        Pairs of models, by data set, of which the order of equal scores can make either the better
        one. They count as tied there: each has half a rank of both.

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
    decided_by_ties: dict[str, list[tuple[str, str]]] = field(default_factory=dict, repr=False)

    _has_rows: ClassVar[Sequence[str]] = ("data_sets", "models")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Ranking:
        """Read a ranking from JSON written by `to_json` or ``xmleval rank --output RANKS.json``.

        Parameters
        ----------
        path : path
            The file, which holds a ranking by one measure; see `Rankings.load` for several.

        Raises
        ------
        ValueError
            If the file holds anything else.

        Examples
        --------
        >>> from pathlib import Path
        >>> values = {"bibtex": {"svm": 0.4, "tree": 0.5}, "enron": {"svm": 0.5, "tree": 0.7}}
        >>> Path("ranks.json").write_text(rank(values, "p@1").to_json()) > 0
        True
        >>> Ranking.load("ranks.json").average_ranks
        {'tree': 1.0, 'svm': 2.0}
        """
        file = as_path(path)
        with naming_file(file):
            contents = read_contents(file)
            if "average_ranks" not in contents:
                raise ValueError("JSON without 'average_ranks'; expected a ranking by one measure")
            return read_ranking(contents)

    def __repr__(self) -> str:
        """Return the sizes of the data and the average ranks, on one line."""
        ranks = [f"{self._names[model]} {rank:.3g}" for model, rank in self.average_ranks.items()]
        size = counted(self.n_data_sets, "data sets")
        text = f"average ranks by {self.symbol} on {size}: {shown_names(ranks)}"
        return printable(f"<Ranking: {text}>")

    @property
    def symbol(self) -> str:
        """The measure as tables and figures name it."""
        return next((spec.symbol for spec in self._specs()), self.metric or "value")

    def _title(self) -> str:
        n_models = counted(len(self.average_ranks), "models")
        return f"values (ranks) of {n_models} on {counted(self.n_data_sets, 'data sets')}"

    def _specs(self, in_tables: bool = True) -> list[Spec]:
        spec = known_spec(self.metric or "")
        return [] if spec is None else [spec]

    def records(self) -> list[Rank]:
        return [
            Rank(data_set, model, self.values[data_set][model], rank)
            for data_set, ranks in self.ranks.items()
            for model, rank in ranks.items()
        ]

    def _printed(self) -> Iterator[tuple[Spec, float]]:
        for spec in self._specs():
            for record in self.records():
                yield spec, record.value

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        spec = next(iter(self._specs()), None)
        head = Cell(self.symbol, "up" if self.higher_is_better else "down")
        values = {data_set: [Cell(data_set)] for data_set in self.ranks}
        for data_set, _, value, rank in self.records():
            text = short(value) if spec is None else number(spec, value)
            values[data_set].append(Cell(f"{text} ({rank:g})"))
        header = [head, *map(Cell, self._names.values())]
        last = [Cell("average rank"), *(Cell(short(rank)) for rank in self.average_ranks.values())]
        table = Table(self._title(), [header, *values.values(), last])
        return [turned(table, self.symbol) if rows == "models" else table]

    def _placed_footnotes(self) -> list[Footnote]:
        lines = [_test_text(self.friedman, self.iman_davenport)]
        if self.corrected:
            lines.append(f"corrected for ties: {_test_text(**self.corrected)}")
        test = "Nemenyi"
        reference = ""
        if self.control:
            test = "Bonferroni-Dunn"
            reference = f" from {self._names[self.control]}"
        difference = short(self.critical_difference)
        lines.append(f"critical difference {difference} ({test}, alpha {self.alpha:g})")
        names = self._names
        for group in self.groups:
            similar = ", ".join(names[model] for model in group if model != self.control)
            lines.append(f"not significantly different{reference}: {similar}")
        if not self.groups:
            lines.append(f"all significantly different{reference}")
        lines += [f"note: {note}" for note in self.notes]
        return [*map(Footnote, lines)]

    @property
    def _names(self) -> dict[str, str]:
        """Short names of the models, which tables, figures and pages have."""
        return dict(zip(self.average_ranks, short_names([*self.average_ranks]), strict=True))

    def _kinds(self) -> Mapping[str, Kind]:
        return {
            "critical_difference": Kind(lambda _: diagrams_of_ranks([self])),
            "average_ranks": Kind(lambda _: dots_of_average_ranks([self])),
        }

    def _page(self, title: str | None, about: Mapping[str, str] | None) -> str:
        return page_of_ranks([self], title, about)

    def _lines(self, bounded: bool) -> Lines:
        return rank_lines([self])

    def _members(self) -> dict[str, Any]:
        return {**vars(self), "version": __version__}


def read_ranking(contents: Mapping[str, Any]) -> Ranking:
    """Return the ranking in the contents of a file, or refuse damaged contents."""
    with refusing_damage("average_ranks", "`xmleval rank`"):
        return Ranking(
            metric=contents["metric"],
            higher_is_better=contents["higher_is_better"],
            alpha=contents["alpha"],
            control=contents["control"],
            n_data_sets=contents["n_data_sets"],
            average_ranks=_read_numbers(contents["average_ranks"]),
            ranks={name: _read_numbers(each) for name, each in contents["ranks"].items()},
            values={name: _read_numbers(each) for name, each in contents["values"].items()},
            friedman=_read_test(contents["friedman"]),
            iman_davenport=_read_test(contents["iman_davenport"]),
            corrected={name: _read_test(test) for name, test in contents["corrected"].items()},
            critical_difference=read_saved_number(
                contents["critical_difference"], "critical_difference"
            ),
            groups=[[*group] for group in contents["groups"]],
            notes=[*contents["notes"]],
            decided_by_ties=_read_pairs(contents.get("decided_by_ties", {})),
        )


def _read_numbers(members: Mapping[str, Any]) -> dict[str, float]:
    """Return saved numbers by name."""
    return {name: read_saved_number(number, name) for name, number in members.items()}


def _read_pairs(members: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Return saved pairs of models by data set."""
    return {name: [(a, b) for a, b in pairs] for name, pairs in members.items()}


def _read_test(members: Mapping[str, Any]) -> OmnibusTest:
    """Return a saved test."""
    return OmnibusTest(
        read_saved_number(members["statistic"], "statistic"),
        tuple(members["degrees_of_freedom"]),
        read_saved_number(members["p_value"], "p_value"),
    )


def _test_text(friedman: OmnibusTest, iman_davenport: OmnibusTest) -> str:
    """Return the statistics, degrees of freedom and p-values of both tests."""
    texts = []
    for name, test in {
        "Friedman chi-square": friedman,
        "Iman-Davenport F": iman_davenport,
    }.items():
        degrees = ", ".join(map(str, test.degrees_of_freedom))
        texts.append(f"{name} {test.statistic:.4g} ({degrees}), p {test.p_value:.3g}")
    return "; ".join(texts)


def rank_lines(rankings: Sequence[Ranking]) -> Lines:
    """Return a line of CSV for each model and ranking."""
    data_sets = [*dict.fromkeys(name for ranking in rankings for name in ranking.ranks)]
    header = ["metric", "model", "average_rank", *(f"rank on {name}" for name in data_sets)]
    lines = []
    for ranking in rankings:
        for model, average in ranking.average_ranks.items():
            ranks = (ranking.ranks.get(name, {}).get(model) for name in data_sets)
            lines.append([ranking.metric or "", model, average, *ranks])
    return header, lines


def rank_by(
    by_name: Mapping[str, Models],
    metric: str | None,
    *,
    higher_is_better: bool | None,
    control: str | None,
    alpha: float,
    leave_out: str | None,
) -> Ranking:
    """Return the ranking of models by one measure; see `rank`."""
    level = real_number("alpha", alpha)
    if not 0 < level < 1:
        raise InputError("alpha", f"{shown(alpha)} is not between 0 and 1")
    measure, is_up = _measure_of(by_name, metric, higher_is_better)
    (data_sets, names), values, notes = _whole_values(by_name, measure, leave_out)
    ranks = friedman.ranks_within_rows(values, is_up)
    decided = {name: _pairs_decided_by_ties(by_name, name, names, measure) for name in data_sets}
    decided = {name: pairs for name, pairs in decided.items() if pairs}
    ranks = _share_decided_ranks(ranks, data_sets, names, decided)
    means = ranks.mean(0)
    order = np.argsort(means, kind="stable")
    models = [names[j] for j in order]
    means = means[order]
    ranks = ranks[:, order]
    values = values[:, order]
    difference = friedman.critical_difference(len(ranks), len(models), level, control is not None)
    if control is None:
        groups = [models[run] for run in friedman.find_groups(means.tolist(), difference)]
    else:
        control = _full_name(control, models)
        is_similar = np.abs(means - means[models.index(control)]) < difference
        similar = [*compress(models, is_similar)]
        groups = [similar] if len(similar) > 1 else []
    tests = friedman.omnibus_tests(ranks)
    corrected = {}
    if friedman.count_ties(ranks):
        corrected = friedman.omnibus_tests(ranks, corrected=True)
    notes += _test_notes(tests["iman_davenport"].p_value, level, len(ranks), len(models))
    notes += _tie_notes(by_name, measure, decided)
    return Ranking(
        metric=None if measure is None else str(measure),
        higher_is_better=is_up,
        n_data_sets=len(ranks),
        alpha=level,
        control=control,
        average_ranks=dict(zip(models, means.tolist(), strict=True)),
        ranks=_by_name(data_sets, models, ranks),
        values=_by_name(data_sets, models, values),
        corrected=corrected,
        critical_difference=difference,
        groups=groups,
        notes=notes,
        decided_by_ties=decided,
        **tests,
    )


def _full_name(control: str, models: Sequence[str]) -> str:
    """Return the full name of the control, which may be given by its short name."""
    full_names = dict(zip(short_names(models), models, strict=True))
    full_names |= {model: model for model in models}
    if control not in full_names:
        reason = f"{shown(control)} is not one of the models {shown_names(models)}"
        raise InputError("control", reason)
    return full_names[control]


def _test_notes(p_value: float, level: float, n_data_sets: int, n_models: int) -> list[str]:
    """Return notes on the limits of the tests."""
    notes = []
    if not p_value < level:
        consequence = "so Demsar 2006 tests no pairs"
        notes.append(f"no difference seen: p of F is not below {level:g}, {consequence}")
    if n_models == 2:
        notes.append(
            "for two models, Demsar 2006 recommends Wilcoxon's signed-rank test of the values"
        )
    if n_data_sets <= FEW_DATA_SETS or n_models <= FEW_MODELS:
        large = f"more than {FEW_DATA_SETS} data sets and {FEW_MODELS} models"
        notes.append(
            f"chi-square and F are approximations for {large}; exact values are not computed"
        )
    return notes


def _pairs_decided_by_ties(
    results: Mapping[str, Models], data_set: str, models: Sequence[str], measure: Measure
) -> list[tuple[str, str]]:
    """Return the pairs of models on a data set where ties decide which is better.

    Numbers, and values by name, tell nothing of ties.
    """
    if not isinstance(measure, Spec):
        return []
    reports = {
        name: results[data_set][name]
        for name in models
        if isinstance(results[data_set][name], Report)
    }
    fairness = _fairness_of(reports)
    return [
        pair
        for pair in combinations(reports, 2)
        if fairness.are_decided_by_ties(WHOLE, measure, pair)
    ]


def _fairness_of(reports: Models) -> Fairness:
    """Return whether ties decide between reports of one data set, by model."""
    return Fairness({WHOLE: reports}, complete_lists=True)


def _share_decided_ranks(
    ranks: Floats,
    data_sets: Sequence[str],
    names: Sequence[str],
    pairs_of: Mapping[str, Sequence[tuple[str, str]]],
) -> Floats:
    """Return ranks, (data sets, models), in which pairs that ties decide are tied."""
    shared = ranks.copy()
    for number, data_set in enumerate(data_sets):
        pairs = [(names.index(a), names.index(b)) for a, b in pairs_of.get(data_set, ())]
        shared[number] = friedman.share_ranks(ranks[number], pairs)
    return shared


def _tie_notes(
    results: Mapping[str, Models],
    measure: Measure,
    pairs_of: Mapping[str, Sequence[tuple[str, str]]],
) -> Iterator[str]:
    """Yield notes on the pairs of models, by data set, that ties decide or may decide."""
    if not pairs_of:
        return
    assert isinstance(measure, Spec)
    for are_bounds_known in (True, False):
        data_sets = defaultdict[tuple[str, str], list[str]](list)
        for name, pairs in pairs_of.items():
            fairness = _fairness_of(results[name])
            for pair in pairs:
                if fairness.are_bounds_known(WHOLE, measure, pair) == are_bounds_known:
                    data_sets[pair].append(name)
        if not data_sets:
            continue
        texts = [f"{a} and {b} (on {shown_names(names)})" for (a, b), names in data_sets.items()]
        if len(texts) > MOST_PAIRS:
            texts[MOST_PAIRS:] = ["..."]
        yield describe_decided(
            ", ".join(texts),
            measure.metric.has_orders,
            ", so they count as tied there",
            are_bounds_known=are_bounds_known,
        )


def _by_name(
    data_sets: Iterable[Any], models: Sequence[Any], matrix: NDArray[Any]
) -> dict[str, Models]:
    """Return the values of a matrix by the names of its rows and columns."""
    rows = zip(data_sets, matrix.tolist(), strict=True)
    return {name: dict(zip(models, row, strict=True)) for name, row in rows}


def by_data_set(results: object) -> dict[str, Models]:
    """Return reports, values by measure, or numbers, by data set and model."""
    frame = open_frame("results", results)
    by_name = results if frame is None else _rows_of(frame)
    if not isinstance(by_name, Mapping):
        reason = f"{type(results).__name__} is neither a mapping nor a frame; {ONE_LEVEL}"
        raise InputError("results", reason)
    models_of = {str(name): _models_of(str(name), models) for name, models in by_name.items()}
    _refuse_few(models_of, "data sets")
    return models_of


def _refuse_few(names: Collection[Any], units: str, left: str = "") -> None:
    """Refuse fewer than two data sets or models."""
    if len(names) < 2:
        raise InputError(
            "results", f"{counted(len(names), units)}{left}; average ranks need 2 or more"
        )


def _rows_of(frame: Frame) -> dict[str, Models]:
    """Return the rows of a frame, named by its first column of texts or its index, or numbered."""
    first = frame.matrix(frame.columns[:1]).ravel().tolist()
    models = frame.columns
    data_sets = frame.keys or range(len(first))
    if not all(isinstance(value, float | int | None) for value in first):
        data_sets = first
        models = models[1:]
    for name, n in (Counter(map(str, data_sets)) | Counter(map(str, models))).items():
        if n > 1:
            raise InputError("results", f"{shown(name)} occurs twice")
    return _by_name(data_sets, models, frame.matrix(models))


def _models_of(data_set: str, results: object) -> Models:
    """Return the models of a data set by name, from a mapping, a comparison or a file."""
    if isinstance(results, str | os.PathLike):
        path = as_path(results)
        results = load_results(path)
        if len(results) < 2:
            raise ValueError(f"{path}: has one model; {SEVERAL}")
    results = getattr(results, "reports", results)  # of a `Comparison`
    if not isinstance(results, Mapping):
        reason = f"{shown(data_set)} is one {type(results).__name__}; {ONE_LEVEL}"
        raise InputError("results", reason)
    models = {str(name): model for name, model in results.items()}
    if models and all(map(known_spec, models)):
        first = next(iter(models))
        reason = f"{shown(data_set)} has {shown(first)}, a measure, not a model; {ONE_LEVEL}"
        raise InputError("results", reason)
    return models


def by_short_names(full: Mapping[str, Models]) -> tuple[Mapping[str, Models], list[str]]:
    """Return models by short names if only these are the same for all data sets; and notes."""
    short_named = {
        data_set: dict(zip(short_names([*models]), models.values(), strict=True))
        for data_set, models in full.items()
    }
    if _have_same_models(full) or not _have_same_models(short_named):
        return full, []
    note = "models are matched by the part of their names that differs within a data set"
    return short_named, [note]


def _have_same_models(results: Mapping[str, Models]) -> bool:
    """Return whether all data sets have models of the same names."""
    return len({frozenset(models) for models in results.values()}) <= 1


def shared_measures(results: Mapping[str, Models]) -> list[str] | None:
    """Return the measures with a better direction that all models have on all data sets.

    None if no model has values by name.
    """
    mappings = [
        values
        for models in results.values()
        for values in models.values()
        if isinstance(values, Mapping)
    ]
    if not mappings:
        return None
    shared = []
    for name in mappings[0]:
        if all(name in values for values in mappings):
            spec = known_spec(str(name))
            if spec is None or spec.metric.direction != "none":
                shared.append(name)
    return shared


def _measure_of(
    by_name: Mapping[str, Models], metric: object, higher_is_better: bool | None
) -> tuple[Measure, bool]:
    """Return the requested or the only measure, and whether higher values are better."""
    names: Sequence[object] | None = [metric]
    if metric is None:
        names = shared_measures(by_name)
    if names is None:
        if higher_is_better is None:
            keywords = (Keyword("metrics"), " or ", Keyword("higher_is_better"))
            reason = Message("it is not known whether higher numbers are better; give ", *keywords)
            raise InputError("metrics", reason)
        return None, bool(higher_is_better)
    if len(names) != 1:
        listed_names = shown_names(names) or "none in common"
        raise InputError("metrics", f"not given; the models have {listed_names}")
    (name,) = names
    if not isinstance(name, str):
        raise InputError("metrics", f"{shown(name)} is not the name of a measure")
    try:
        spec = parse_spec(name)
    except ValueError as error:
        if higher_is_better is None:
            hint = Message("; a measure of your own needs ", Keyword("higher_is_better"))
            raise InputError("metrics", Message(error.args[0], hint)) from None
        return name, bool(higher_is_better)
    return spec, _is_up(spec, higher_is_better)


def _is_up(spec: Spec, higher_is_better: bool | None) -> bool:
    """Return whether higher values of a measure are better; ``higher_is_better`` must agree."""
    direction = spec.metric.direction
    if direction == "none":
        raise InputError("metrics", f"{spec} describes the labels, not a model")
    if higher_is_better not in (None, direction == "up"):
        better = "higher" if direction == "up" else "lower"
        reason = f"{shown(higher_is_better)}, but {better} is better for {spec}"
        raise InputError("higher_is_better", reason)
    return direction == "up"


def _whole_values(
    results: Mapping[str, Models], measure: Measure, leave_out: str | None
) -> tuple[tuple[list[str], list[str]], Floats, list[str]]:
    """Return names of data sets and models, their values without gaps, and notes.

    The values have the shape (data sets, models).
    """
    if leave_out not in (None, *LEAVE_OUT):
        options = f"{shown(LEAVE_OUT[0])} nor {shown(LEAVE_OUT[1])}"
        raise InputError("leave_out", f"{shown(leave_out)} is neither {options}")
    data_sets = [*results]
    models = [*dict.fromkeys(chain(*results.values()))]
    cells = _all_values(results, models, measure)
    missing = {cell: reason for cell, reason in cells.items() if isinstance(reason, str)}
    if missing and leave_out is None:
        raise _missing_values(missing, len(cells))
    excluded = list[str]()
    if leave_out == "data_sets":
        data_sets, excluded = _split(data_sets, {data_set for data_set, _ in missing})
    elif leave_out == "models":
        models, excluded = _split(models, {model for _, model in missing})
    notes = list[str]()
    if missing:
        notes.append(f"left out, as values are missing: {', '.join(excluded)}")
    left = " left" if missing else ""
    _refuse_few(data_sets, "data sets", left)
    _refuse_few(models, "models", left)
    values = np.array([[cells[data_set, model] for model in models] for data_set in data_sets])
    return (data_sets, models), values, notes


def _all_values(
    results: Mapping[str, Models], models: Sequence[str], measure: Measure
) -> dict[tuple[str, str], Any]:
    """Return the values of models on data sets, or the reasons why they have none."""
    cells = dict[tuple[str, str], Any]()
    for data_set, reports in results.items():
        _refuse_unlike(data_set, reports, measure)
        for model in models:
            cells[data_set, model] = _value(reports.get(model), measure, f"{model} on {data_set}")
    return cells


def _split(names: Iterable[str], incomplete: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the complete and the incomplete names in their order."""
    complete = list[str]()
    excluded = list[str]()
    for name in names:
        (excluded if name in incomplete else complete).append(name)
    return complete, excluded


def _missing_values(missing: Mapping[tuple[str, str], str], n_cells: int) -> InputError:
    """Return the error of missing values, by data set and model."""
    reasons = [*missing.values()]
    if len(reasons) == n_cells:
        return InputError("metrics", reasons[0])
    few = "; ".join(reasons[:MOST_NAMED])
    if len(reasons) > MOST_NAMED:
        few += "; ..."
    advice = "; average ranks need a value of every model on every data set; give "
    data_sets, models = (Keyword("leave_out", shown(axis)) for axis in LEAVE_OUT)
    return InputError("results", Message(few, advice, data_sets, " or ", models))


def _value(model: object, measure: Measure, where: str) -> float | str:
    """Return the value of a model, or the reason why it has none."""
    if isinstance(model, Mapping):
        values = {str(known_spec(str(name)) or name): value for name, value in model.items()}
        values |= model
        if str(measure) not in values:
            return f"{where}: {not_there(str(measure), [*model])}"
        model = values[str(measure)]
    if model is None:
        return f"no value of {where}"
    value = real_number(f"results of {where}", model)
    if math.isnan(value):
        return f"undefined value of {where}"
    return value


def _refuse_unlike(data_set: str, models: Models, measure: Measure) -> None:
    """Refuse models that were not evaluated on the same rows, or under the same conventions."""
    specs = [measure] if isinstance(measure, Spec) else []
    may_differ = {"decision": None, "higher_is_better": None}
    settings = {
        name: {"n_rows": report.n_rows, **settings_of(report, specs), **may_differ}
        for name, report in models.items()
        if isinstance(report, Report)
    }
    for a, b in combinations(settings, 2):
        for setting, (value_a, value_b) in differing_settings(settings[a], settings[b]).items():
            reason = f"{setting} is {value_a} for {a} and {value_b} for {b}"
            raise InputError("results", f"{data_set}: {reason}; such values cannot be compared")
