"""`compare`: differences of models on the same rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple, overload

import numpy as np

from xmleval.api.evaluate import evaluate_models_in_files, reads_files
from xmleval.base.arrays import Ints
from xmleval.base.budget import MEMORY, check_resources, limited
from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    did_you_mean,
    positive_integer,
    shown,
    shown_names,
)
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.evaluation.batch import Batch
from xmleval.evaluation.blocks import Blocks
from xmleval.evaluation.files import FileEvaluation, open_run
from xmleval.evaluation.reading import count_rows
from xmleval.evaluation.request import ROW_ARGUMENTS, SHARED_ARGUMENTS, Request, request_of
from xmleval.evaluation.values import evaluate_values
from xmleval.files.remote import is_file
from xmleval.input.argument_types import FilePath, RowsLike, ValuesLike
from xmleval.input.objects.records import list_records
from xmleval.input.scan import Scan
from xmleval.input.sets import relevant_of
from xmleval.input.shards import find_scan
from xmleval.input.tensors import as_plain
from xmleval.input.vectors import match_row_values
from xmleval.labels.groups import check_row_groups
from xmleval.metrics.spec import DEFAULT_K, Spec, expand_metrics, parse_spec
from xmleval.results.comparison import Comparison, select_measures
from xmleval.results.data_sets import Comparisons
from xmleval.results.diff import LISTED, Lists, refuse_no_labels
from xmleval.results.differences import JACKKNIFE, check_test
from xmleval.results.report import Report, with_same_measures
from xmleval.states.plan import Settings, make_plan
from xmleval.states.results import Results

Models = Mapping[str, Any]  # scores or sets by name, or a list of those of seeds
INPUTS = ("y_true", "y_score", "models")  # of a data set, before its options
COMPUTED = "is for truths and models, but these results are computed already; leave it out"
CHOOSING = ("metrics", "k")  # options that choose among computed results
# a truth, models and, perhaps, options; or results
DataSet = (
    tuple[RowsLike, Mapping[str, Any]]
    | tuple[RowsLike, Mapping[str, Any], Mapping[str, Any]]
    | Comparison
    | FilePath
)
DATA_SET = "expected (y_true, models), (y_true, models, options) or a result of compare"
AFTER = "; they come after the truth: compare(y_true, models)"


@overload
def compare(
    y_true: Mapping[str, DataSet] | FilePath,
    *,
    baseline: str | None = None,
    test: str = JACKKNIFE,
    confidence: float = 0.95,
    clusters: ValuesLike | None = None,
    seeds: bool = False,
    worst: int = 0,
    complete_lists: bool = False,
    **options: Any,
) -> Comparisons: ...


@overload
def compare(
    y_true: RowsLike,
    models: Mapping[str, Any] | None = None,
    *,
    y_pred: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    test: str = JACKKNIFE,
    confidence: float = 0.95,
    clusters: ValuesLike | None = None,
    seeds: bool = False,
    worst: int = 0,
    complete_lists: bool = False,
    **options: Any,
) -> Comparison: ...


def compare(
    y_true: RowsLike | Mapping[str, DataSet],
    models: Mapping[str, Any] | None = None,
    *,
    y_pred: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    test: str = JACKKNIFE,
    confidence: float = 0.95,
    clusters: ValuesLike | None = None,
    seeds: bool = False,
    worst: int = 0,
    complete_lists: bool = False,
    **options: Any,
) -> Comparison | Comparisons:
    """Compare models on the same rows: differences, their intervals and p-values, and wins by rows.

    Parameters
    ----------
    y_true
        Relevant labels, as in `evaluate`. Or several data sets by name, without ``models``: each a
        pair ``(y_true, models)``; with options of its own, such as ``y_train``, in a dict as third
        item; or what ``compare`` or ``evaluate`` of several models returned of it, or wrote as
        JSON, which takes ``metrics`` and ``k`` alone. Or a file of such results.
    models : dict of str to y_score
        Scores of two or more models by name, each as in `evaluate`; None with ``y_pred`` alone.
        Files are read in one pass.
    y_pred : dict of str to y_pred, optional
        Predicted sets of each model.
    baseline : str, optional
        Compare each other model with this one; default all pairs.
    test : {"t", "randomisation", "paired_t", "wilcoxon"}, default "t"
        Student's t with the jackknife's standard error, which every measure with a confidence
        interval has; or, for means over rows alone, 10,000 random flips of the signs of row
        differences (all of them where these are few; whole ``clusters`` if given), the paired
        t-test of rows, or Wilcoxon's signed ranks. p-values are corrected by Holm's method for all
        measures, pairs and groups together.
    confidence : float, default 0.95
        Confidence level of intervals. A difference is significant if its corrected p-value is below
        1 minus this level.
    clusters
        As in `evaluate`.
    seeds : bool, default False
        Whether each value of ``models`` is a list of scores, of one training seed each, or a folder
        or pattern of such files. Their means are compared, and the standard deviation over seeds is
        given next to the intervals, which only account for the sampling of test rows.
    worst : int, default 0
        Number of labels to show that differ most between each pair: by the first measure that has
        values by label, or else by the hits at its cutoff. This counts every label, which takes
        longer. The page then also shows rows of the first two models, with their lists.
    complete_lists : bool, default False
        Whether all lists are complete, so that values are compared whatever their length, as
        trec_eval does. Default: lists may have been cut, and a measure that reads more labels than
        a list has is only tested between models with lists of one length; rows without a list
        count 0.
    options : dict
        ``metrics``, ``k``, ``y_train``, ``sample_weight``, ``conventions`` and others of
        `evaluate`. With ``label_groups`` or ``row_groups``, models are also compared within each
        group; and by the shares of groups of labels in the values of all labels, see
        ``report.shares``.

    Returns
    -------
    Comparison
        Prints as tables; ``differences`` has the numbers, those of groups with ``kind`` and
        ``group``. Of several data sets, `Comparisons`: one table over all, and a `Comparison` of
        each. p-values are then corrected within each data set.

    Raises
    ------
    ValueError
        If input is invalid (the message names the model), the models have other rows than
        ``y_true``, or a measure needs input that was not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((200, 5)) < 0.3
    >>> good, poor = y_true + rng.normal(size=(2, 200, 5)) * [[[0.5]], [[0.9]]]
    >>> compared = compare(y_true, {"good": good, "poor": poor}, metrics=["p@1", "ranking_loss"])
    >>> found = compared.difference("p@1", "good", "poor")
    >>> round(found.value, 4), found.outcomes, found.better
    (0.19, Outcomes(wins=45, ties=148, losses=7), 'good')
    >>> halves = {"first": (y_true[:100], {"good": good[:100], "poor": poor[:100]})}
    >>> halves["second"] = (y_true[100:], {"good": good[100:], "poor": poor[100:]})
    >>> print(compare(halves, metrics=["p@1"]).to_text(80, intervals=False))
    2 models on 2 data sets; * best
    data set  model       P@1 ↑
    -----------------------------
    first     a: good  0.6700 * b
              b: poor  0.5000
    second    a: good  0.7600 * b
              b: poor  0.5500
    letters: better than that model, p < 0.05: jackknife t-test over groups of rows,
      Holm within each data set
    ties=order empty=zero unlisted=below
    ± 95% interval: reflects chance in test rows, not in training runs (jackknife of
      28 groups of rows)
    """
    refuse_unknown(options, keywords_of(compare), SHARED_ARGUMENTS)
    if models is None and y_pred is None and isinstance(y_true, Mapping | str | os.PathLike):
        settings: dict[str, Any] = {
            "baseline": baseline,
            "test": test,
            "confidence": confidence,
            "clusters": clusters,
            "seeds": seeds,
            "worst": worst,
            "complete_lists": complete_lists,
        }
        data_sets: Mapping[Any, Any]
        data_sets = y_true if isinstance(y_true, Mapping) else Comparisons.load(y_true)
        return Comparisons(_compare_data_sets(data_sets, settings, options))
    names = names_of(models, y_pred)
    check_test(test, options.get("sample_weight") is not None, clusters)
    _refuse_other_baseline(baseline, names)
    _refuse_test_without_input(test, confidence, options)
    if positive_integer("worst", worst, at_least=0):
        requested = expand_metrics(options.get("metrics"), options.get("k", DEFAULT_K))
        refuse_no_labels("worst", [spec for spec, _ in requested])
        options["per_label"] = True
    request = request_of(
        {**options, "y_true": y_true, "confidence": confidence, "clusters": clusters}
    )
    question = replace(request.question, given=request.question.given_options(0))
    if "per_row" not in options:
        question = replace(question, per_row=True)
    request = replace(request, question=question)
    evaluated = evaluate_models(names, models, y_pred, seeds, request)
    first = next(iter(evaluated.reports.values()))[0]
    _refuse_measures_of_truth(first.specs)
    add_tie_bounds(evaluated, request, seeds)
    shows_lists = not seeds and models is not None and (worst or evaluated.from_files)
    return Comparison(
        evaluated.reports,
        baseline=baseline,
        test=test,
        worst=worst,
        complete_lists=complete_lists,
        lists_of=evaluated.lists_of if shows_lists else None,
        **_checked_row_values(evaluated.row_values, first.n_rows),
    )


def _refuse_test_without_input(
    test: str, confidence: float | None, options: Mapping[str, Any]
) -> None:
    """Refuse tests without the values by row, or without the confidence, that they need."""
    if test != JACKKNIFE and not options.get("per_row", True):
        raise InputError(
            "per_row", Message("False; ", Keyword("test", shown(test)), " needs values by row")
        )
    if confidence is None:
        raise InputError("confidence", "is None; give a confidence level, such as 0.95")


def _refuse_measures_of_truth(specs: Sequence[Spec]) -> None:
    """Refuse measures if all of them ignore the models."""
    if not any(spec.needs for spec in specs):
        raise InputError(
            "metrics", f"no measure depends on the models: {', '.join(map(str, specs))}"
        )


def add_tie_bounds(evaluated: Evaluated, request: Request, seeds: bool = False) -> None:
    """Add the bounds of values over all orders of equal scores, where models have such scores.

    The scores of these models are read a second time. Rows get bounds by the first measure that
    has values by row, if these are kept.
    """
    reports = evaluated.reports
    models = evaluated.models
    conventions = next(iter(reports.values()))[0].conventions
    tied = {name: _names_of_tied(seed_reports) for name, seed_reports in reports.items()}
    measures = [*dict.fromkeys(chain(*tied.values()))]
    if models is None or not measures or conventions.all_orders:
        return
    question = replace(
        request.question,
        metrics=measures,
        conventions=replace(conventions, ties="band"),
        confidence=None,
        per_row=[name for name in _first_by_row(evaluated) if name in measures],
        per_label=False,
        bounds=False,
    )
    data = replace(request.data, clusters=None)  # which are for intervals
    request = replace(request, question=question, data=data)
    tied_models = {name: models[name] for name, names in tied.items() if names}
    bounded = evaluate_models([*tied_models], tied_models, None, seeds, request).reports
    for name, seed_reports in bounded.items():
        for report, bounded_report in zip(reports[name], seed_reports, strict=True):
            _copy_bounds(bounded_report.results, report.results)


def _first_by_row(evaluated: Evaluated) -> list[str]:
    """Return the first measure whose row values all models keep, in a list; [] without any."""
    reports = [*chain(*evaluated.reports.values())]
    for spec in reports[0].specs:
        if all(spec.name in report.results.rows for report in reports):
            return [spec.name]
    return []


def _names_of_tied(reports: Sequence[Report]) -> list[str]:
    """Return the measures whose values, in all rows or in a group, depend on equal scores."""
    names = list[str]()
    for report in reports:
        results = report.results
        groups = (*results.groups.values(), *results.row_groups.values())
        tied = {*chain(results.tied, *(part.results.tied for part in groups))}
        names += [
            spec.name for spec in report.specs if spec.name in tied and spec.metric.has_orders
        ]
    return [*dict.fromkeys(names)]


def _copy_bounds(bounded: Results, results: Results) -> None:
    """Add intervals over all orders of equal scores to results, within groups, too."""
    results.tie_bounds = bounded.intervals
    results.row_intervals = bounded.row_intervals
    for kind in ("groups", "row_groups"):
        for name, part in getattr(bounded, kind).items():
            getattr(results, kind)[name].results.tie_bounds = part.results.intervals


def _compare_data_sets(
    data_sets: Mapping[Any, Any], settings: dict[str, Any], options: dict[str, Any]
) -> dict[str, Comparison]:
    """Return the comparison on each data set, by its name."""
    comparisons = dict[str, Comparison]()
    for name, data_set in data_sets.items():
        if not isinstance(name, str):
            raise InputError("y_true", f"{shown(name)} is not the name of a data set")
        if not isinstance(data_set, tuple):
            _refuse_settings_of_results({**settings, **options})
        with naming_data_set(name):
            if isinstance(data_set, tuple):
                truth, models, own = inputs_of(data_set)
                comparisons[name] = compare(truth, models, **{**settings, **options, **own})
            else:
                comparisons[name] = _finished_comparison(data_set, options)
    return comparisons


def inputs_of(data_set: tuple[Any, ...]) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return the truth, the models and the options of a data set, or refuse anything else."""
    if len(data_set) == 2:
        return *data_set, {}
    if len(data_set) == 3 and isinstance(data_set[2], Mapping):
        for name in data_set[2]:
            if not isinstance(name, str) or name in INPUTS:
                text = f"{shown(name)} is not an option of `evaluate`; {DATA_SET}"
                raise InputError("y_true", text)
        return data_set
    raise InputError("y_true", f"a tuple of {len(data_set)}; {DATA_SET}")


@contextmanager
def naming_data_set(name: str) -> Iterator[None]:
    """Put the name of a data set in front of errors on its input."""
    try:
        yield
    except InputError as error:
        reason = Message(f"of data set {shown(name)}: ", error.message)
        raise InputError(error.argument, reason) from None
    except ValueError as error:
        raise ValueError(Message(f"data set {shown(name)}: ", *error.args)) from None
    except TypeError as error:
        raise TypeError(Message(f"data set {shown(name)}: ", *error.args)) from error


def _refuse_settings_of_results(settings: Mapping[str, Any]) -> None:
    """Refuse what changes results that were computed before."""
    assert compare.__kwdefaults__ is not None
    if settings.get("metrics") is None and settings.get("k") is not None:
        raise InputError("k", "has no effect without metrics; give metrics, too")
    for name, value in settings.items():
        if name not in CHOOSING and value != compare.__kwdefaults__.get(name):
            raise InputError(name, COMPUTED)


def _finished_comparison(result: object, options: Mapping[str, Any]) -> Comparison:
    """Return the requested measures of a comparison that was made before, or is in a file."""
    if is_file(result):
        result = Comparison.load(result)
    if not isinstance(result, Comparison):
        raise InputError("y_true", f"{type(result).__name__} is not a data set; {DATA_SET}")
    if options.get("metrics") is None:
        return result
    return select_measures(result, options["metrics"], options.get("k"))


def _refuse_other_baseline(baseline: str | None, names: Sequence[str]) -> None:
    """Refuse a baseline that is not one of the models."""
    if baseline is not None and baseline not in names:
        text = f"{shown(baseline)} is not one of the models {shown_names(names)}"
        raise InputError("baseline", f"{text}; {did_you_mean(str(baseline), names)}".rstrip("; "))


def _checked_row_values(row_values: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return weights, clusters by number and groups of rows; None if they are not given."""
    weight = row_values.get("sample_weight")
    clusters = row_values.get("clusters")
    row_groups = row_values.get("row_groups")
    if weight is not None:
        weight = np.asarray(weight, np.float64).ravel()
    if clusters is not None:
        clusters = np.unique(clusters, return_inverse=True)[1].ravel()
    if row_groups is not None:
        row_groups = check_row_groups(row_groups, n_rows)
    return {"weight": weight, "clusters": clusters, "row_groups": row_groups}


class Evaluated(NamedTuple):
    """Evaluated models.

    reports : of the seeds of each model, by name
    row_values : weights, clusters and groups of rows, by argument
    lists_of : function that returns the lists of some rows
    from_files : whether one run read the scores of all models from files
    models : scores of the models by name, which can be read again; None where sets are given alone
    """

    reports: dict[str, list[Report]]
    row_values: dict[str, Any]
    lists_of: Any
    from_files: bool
    models: Models | None


def evaluate_models(
    names: Sequence[str],
    models: Models | None,
    y_pred: Models | None,
    seeds: bool,
    request: Request,
) -> Evaluated:
    """Evaluate models one after another; those of files in one pass."""
    if models is not None:
        models = {name: list_records(name, scores) for name, scores in models.items()}
    seeds_of = {name: _scores_and_sets(name, models, y_pred, seeds) for name in names}
    inputs = _named_inputs(seeds_of, seeds)
    if seeds and len(inputs) == len(names) and any(map(is_file, (models or {}).values())):
        first = next(iter(inputs.values()))[0]
        text = f"{first} is one input; "
        hint = "give a pattern for the files of several seeds, such as 'a_*'"
        raise InputError("seeds", text + hint)
    run: FileEvaluation | None = None
    if reads_files(request) or any(map(is_file, chain(*inputs.values()))):
        reports, run = evaluate_models_in_files(
            inputs, models is not None, y_pred is not None, request
        )
        row_values: dict[str, Any] = {
            name: values for name, (_, values) in run.rows.row_values.items()
        }
    else:
        reports = evaluate_values(request, inputs)
        row_values = _row_values(request, reports[0].row_names)
    next_report = iter(with_same_measures(reports))
    by_name = {name: [*islice(next_report, len(seeds_of[name]))] for name in names}
    row_values = {name: as_plain(name, values) for name, values in row_values.items()}
    if y_pred is not None:
        run = None  # there was a run for each model
    read_lists = partial(lists_of, run, request, models)
    return Evaluated(by_name, row_values, read_lists, run is not None, models)


def _named_inputs(
    seeds_of: Mapping[str, list[tuple[Any, Any]]], seeds: bool
) -> dict[str, tuple[Any, Any]]:
    """Return the scores and the sets of all seeds by the name of the model and the seed."""
    inputs = dict[str, tuple[Any, Any]]()
    for name, pairs in seeds_of.items():
        for seed, pair in enumerate(pairs):
            inputs[f"{name} {seed}" if seeds else name] = pair
    return inputs


def _row_values(request: Request, row_names: list[Any] | None) -> dict[str, Any]:
    """Return weights, clusters and groups in the order of the rows, by argument."""
    row_values = dict[str, Any]()
    for argument in ROW_ARGUMENTS:
        values = getattr(request.data, argument)
        if values is not None:
            row_values[argument] = match_row_values(argument, values, row_names)
    return row_values


def names_of(models: object, y_pred: object) -> list[str]:
    """Return the names of the models, or refuse anything but dicts of two or more."""
    if models is None and y_pred is not None:
        return [*_check_by_name("y_pred", y_pred)]
    names = [*_check_by_name("models", models)]
    if y_pred is not None:
        names_of_sets = _check_by_name("y_pred", y_pred)
        if {*names} != {*names_of_sets}:
            text = f"has other models ({shown_names(names_of_sets)}) than {shown_names(names)}"
            raise InputError("y_pred", text)
    return names


def _check_by_name(argument: str, value: object) -> Mapping[str, object]:
    """Return the scores or sets of models by name, or refuse anything but a dict of two or more."""
    after = AFTER if argument == "models" else ""
    if not isinstance(value, Mapping) or (argument == "models" and _has_rows(value)):
        text = f"{type(value).__name__} is not a dict of models"
        raise InputError(argument, f"{text}; give them by name, as in {{'a': .., 'b': ..}}{after}")
    if len(value) < 2:
        raise InputError(argument, f"{len(value)} given; expected two or more to compare")
    for name, predictions in value.items():
        if not isinstance(name, str):
            raise InputError(argument, f"{shown(name)} is not a name")
        if predictions is None:
            raise InputError(argument, f"{shown(name)} is None; expected its scores or sets")
    return value


def _has_rows(value: Mapping[Any, Any]) -> bool:
    """Return whether a dict is a truth or a run, whose rows have a number for each label."""
    row = next(iter(value.values()), None)
    if not isinstance(row, Mapping):
        return False
    return isinstance(next(iter(row.values()), None), int | float | np.number)


def _scores_and_sets(
    name: str, models: Mapping[str, Any] | None, y_pred: Mapping[str, Any] | None, seeds: bool
) -> list[tuple[Any, Any]]:
    """Return the scores and the sets of a model, for each seed."""
    scores = None if models is None else models[name]
    sets = None if y_pred is None else y_pred[name]
    if not seeds:
        return [(scores, sets)]
    if is_file(scores):
        scores = _files_of_seeds(scores)
    for value in (scores, sets):
        if value is not None and not (isinstance(value, list | tuple) and value):
            raise InputError("models", f"{shown(name)} is not a list with the scores of each seed")
    if scores is None or sets is None:
        return [*zip_longest(scores or (), sets or ())]
    if len(sets) != len(scores):
        text = f"{shown(name)} has sets of {len(sets)} seeds, but scores of {len(scores)}"
        raise InputError("y_pred", text)
    return [*zip(scores, sets, strict=True)]


def _files_of_seeds(scores: Any) -> list[Any]:
    """Return the files of a folder or pattern, with the options of a `scan` of it."""
    paths = [shard.path for shard in find_scan("y_score", scores).shards]
    if not isinstance(scores, Scan):
        return paths
    return [replace(scores, path=path) for path in paths]


def lists_of(
    run: FileEvaluation | None,
    request: Request,
    models: Models | None,
    reports: Mapping[str, Report],
    spec: Spec,
    rows: Ints,
) -> list[Lists]:
    """Return the truth and the lists of two models for some rows, which are read again."""
    if run is None:
        assert models is not None  # without scores there are no lists
        scores = {name: models[name] for name in reports}
        with open_run(replace(request, memory=MEMORY), scores) as new_run:
            return lists_of(new_run, request, models, reports, spec, rows)
    readers = [ShownRows(report, spec, rows) for report in reports.values()]
    matched = run.rows
    sets = {argument: pieces for argument, pieces in matched.sets.items() if argument != "y_pred"}
    matched = matched._replace(scores=matched.scores[:2], sets=sets, row_values={}, first_row=None)
    with limited(run.limit):
        for n_rows in count_rows(readers, matched, run.resources):
            if n_rows > rows[-1]:
                break
    lists = list[Lists]()
    for row in rows.tolist():
        listed = [reader.lists[row] for reader in readers]
        lists.append(Lists(readers[0].truth[row], *listed))
    return lists


class ShownRows:
    """Reader of the relevant labels of some rows, and of the first labels that a model lists.

    truth, lists : label ids by row number
    """

    def __init__(self, report: Report, spec: Spec, rows: Ints) -> None:
        self.depth = spec.k or LISTED
        self.level = spec.level
        self.rows = rows
        self.n_rows = 0
        self.n_labels = report.n_labels
        self.truth = dict[int, list[int]]()
        self.lists = dict[int, list[int]]()
        specs = (parse_spec(f"f1.samples@{self.depth}"),)  # needs the order of labels
        settings = Settings(
            n_labels=report.n_labels,
            requested=[(each, False) for each in report.specs],
            conventions=report.conventions,
            higher_is_better=report.higher_is_better,
            unknown=True,
        )
        self.plan = make_plan(settings, specs)

    def add(self, batch: Batch) -> None:
        """Read the rows of a batch."""
        batch = batch.with_checked_truth(self.n_labels, self.plan.read_gains)
        by_row = check_resources(MEMORY, 1, 1)  # blocks of one row
        blocks = Blocks(self.plan, batch, by_row, self.n_rows, set())
        is_read = (self.rows >= self.n_rows) & (self.rows < self.n_rows + batch.truth.n_rows)
        for row in self.rows[is_read].tolist():
            block = blocks.block(row - self.n_rows)
            ranking = block.ranking
            assert ranking is not None
            relevant = block.truth
            if self.level and block.judged is not None:
                relevant = relevant_of(block.judged, self.plan.least_gain(self.level))
            self.truth[row] = relevant.labels.tolist()
            n_listed = min(self.depth, int(ranking.n_above[0]))
            self.lists[row] = ranking.labels[:n_listed].tolist()
        self.n_rows += batch.truth.n_rows
