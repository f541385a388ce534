"""`compare`: differences of models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, cycle
from typing import Any, NamedTuple

import numpy as np

from xmleval.api.evaluate import counting_of, reads_files
from xmleval.base.arrays import Ints
from xmleval.base.budget import MEMORY, check_resources, limited
from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    did_you_mean,
    positive_integer,
    renaming,
    shown,
    shown_names,
)
from xmleval.evaluation.batch import OF_ROWS, Batch
from xmleval.evaluation.blocks import Blocks
from xmleval.evaluation.files import Run, evaluate_files, open_run, state_files
from xmleval.evaluation.reading import count_rows
from xmleval.evaluation.request import OF_MODELS, Request, refuse_unknown, request_of
from xmleval.evaluation.values import evaluate_values
from xmleval.files.remote import is_file
from xmleval.input.argument_types import RowsLike, ValuesLike
from xmleval.input.scan import Scan
from xmleval.input.shards import find_scan
from xmleval.input.tensors import as_plain
from xmleval.input.vectors import of_rows
from xmleval.labels.groups import check_row_groups
from xmleval.metrics.spec import DEFAULT_K, Spec, expand_metrics, parse_spec
from xmleval.results.comparison import Comparison
from xmleval.results.diff import LISTED, Lists, refuse_no_labels
from xmleval.results.differences import JACKKNIFE, check_test
from xmleval.results.report import Report, with_same_measures
from xmleval.states.plan import Settings, make_plan

Models = Mapping[str, Any]  # scores or sets by name, or a list of those of seeds
AFTER = "; they come after the truth: compare(y_true, models)"


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
) -> Comparison:
    """Compare models on the same rows: differences, their intervals and p-values, and wins by rows.

    Parameters
    ----------
    y_true
        Relevant labels, as in `evaluate`.
    models : dict of str to y_score
        Scores of two or more models by name, each as in `evaluate`; None with ``y_pred`` alone. Files are
        read in one pass.
    y_pred : dict of str to y_pred, optional
        Predicted sets of each model.
    baseline : str, optional
        Compare each other model with this one; default all pairs.
    test : {"t", "randomisation", "paired_t", "wilcoxon"}, default "t"
        Student's t with the jackknife's standard error, which every measure with a confidence interval has;
        or, for means over rows alone, 10,000 random flips of the signs of row differences (all of them where
        these are few; whole ``clusters`` if given), the paired t-test of rows, or Wilcoxon's signed ranks.
        p-values are corrected by Holm's method for all measures, pairs and groups together.
    confidence : float, default 0.95
        Probability that an interval covers. A difference is significant where the corrected p-value is below
        1 minus it.
    clusters
        As in `evaluate`.
    seeds : bool, default False
        Whether each value of ``models`` is a list of scores, of one training seed each, or a folder or
        pattern of such files. Their means are compared, and the standard deviation over seeds is given beside
        the intervals: these cover the sampling of test rows alone.
    worst : int, default 0
        Also name so many labels that differ most between each pair: by the first measure that has values by
        label, or else by the hits at its cutoff. This counts every label, which takes longer. The page then
        shows rows of the first two models, too, with their lists.
    complete_lists : bool, default False
        Whether all lists are as long as the models make them, so that values are compared as they are, as
        trec_eval does. Default: lists may have been cut, and a measure that reads more labels than a list
        holds is tested for models with lists of one length alone; rows without any list count 0.
    options : dict
        ``metrics``, ``k``, ``y_train``, ``sample_weight``, ``conventions`` and others of `evaluate`. With
        ``label_groups`` or ``row_groups``, models are also compared within each group; and by the shares of
        groups of labels in the values of all labels, see ``report.shares``.

    Returns
    -------
    Comparison
        Prints as tables; ``differences`` has the numbers, those of groups with ``kind`` and ``group``.

    Raises
    ------
    ValueError
        If input is invalid (the message names the model), the models have other rows than ``y_true``, or a
        measure needs input that was not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((200, 5)) < 0.3
    >>> good, poor = y_true + rng.normal(size=(2, 200, 5)) * [[[0.5]], [[0.9]]]
    >>> compared = compare(y_true, {"good": good, "poor": poor}, metrics=["p@1", "ranking_loss"])
    >>> found = compared.difference("p@1", "good", "poor")
    >>> round(found.value, 4), found.outcomes, found.better
    (0.19, Outcomes(wins=45, ties=148, losses=7), 'good')
    """
    names = names_of(models, y_pred)
    check_test(test, options.get("sample_weight") is not None, clusters)
    _refuse_other_baseline(baseline, names)
    if test != JACKKNIFE and not options.get("per_row", True):
        raise InputError("per_row", Message("False; ", Keyword("test", shown(test)), " needs values by row"))
    if confidence is None:
        raise InputError("confidence", "None; a comparison needs a probability, such as 0.95")
    if positive_integer("worst", worst, at_least=0):
        asked = expand_metrics(options.get("metrics"), options.get("k", DEFAULT_K))
        refuse_no_labels("worst", [spec for spec, _ in asked])
        options["per_label"] = True
    refuse_unknown(options, OF_MODELS)
    request = request_of({**options, "y_true": y_true, "confidence": confidence, "clusters": clusters})
    question = replace(request.question, given=request.question.given_options(0))
    if "per_row" not in options:
        question = replace(question, per_row=True)
    evaluated = evaluate_models(names, models, y_pred, seeds, replace(request, question=question))
    first = next(iter(evaluated.reports.values()))[0]
    if not any(spec.needs for spec in first.specs):
        raise InputError("metrics", f"none of {', '.join(map(str, first.specs))} depends on the models")
    shows_lists = not seeds and models is not None and (worst or evaluated.of_files)
    return Comparison(
        evaluated.reports,
        baseline=baseline,
        test=test,
        worst=worst,
        complete_lists=complete_lists,
        lists_of=evaluated.lists_of if shows_lists else None,
        **_checked_vectors(evaluated.of_rows, first.n_rows),
    )


def _refuse_other_baseline(baseline: str | None, names: Sequence[str]) -> None:
    """Refuse a baseline that is none of the models."""
    if baseline is not None and baseline not in names:
        text = f"{shown(baseline)} is none of the models {shown_names(names)}"
        raise InputError("baseline", f"{text}; {did_you_mean(str(baseline), names)}".rstrip("; "))


def _checked_vectors(of_rows: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return weights, clusters by number and groups of rows, None where they are not given."""
    weight, clusters, row_groups = map(of_rows.get, OF_ROWS)
    return {
        "weight": None if weight is None else np.asarray(weight, np.float64).ravel(),
        "clusters": None if clusters is None else np.unique(clusters, return_inverse=True)[1].ravel(),
        "row_groups": None if row_groups is None else check_row_groups(row_groups, n_rows),
    }


class Evaluated(NamedTuple):
    """Reports of each model; what has a value for each row, by argument; and what gives lists to show."""

    reports: dict[str, list[Report]]
    of_rows: dict[str, Any]
    lists_of: Any
    of_files: bool


def evaluate_models(
    names: Sequence[str], models: Models | None, y_pred: Models | None, seeds: bool, request: Request
) -> Evaluated:
    """Evaluate models one after another; those of files in one pass."""
    seeds_of = {name: _scores_and_sets(name, models, y_pred, seeds) for name in names}
    inputs = _named_inputs(seeds_of, seeds)
    if seeds and len(inputs) == len(names) and any(map(is_file, (models or {}).values())):
        first = next(iter(inputs.values()))[0]
        message = f"{first} stands for one input; give patterns, such as 'a_*', for those of several seeds"
        raise InputError("seeds", message)
    run: Run | None = None
    if reads_files(request) or any(map(is_file, chain(*inputs.values()))):
        reports, run = _evaluate_files(inputs, models is not None, y_pred is not None, request)
        vectors: dict[str, Any] = {name: values for name, (_, values) in run.rows.of_rows.items()}
    else:
        reports = evaluate_values(request, inputs)
        vectors = _vectors_of(request, reports[0].row_names)
    in_order = iter(with_same_measures(reports))
    by_name = {name: [next(in_order) for _ in seeds_of[name]] for name in names}
    vectors = {name: as_plain(name, values) for name, values in vectors.items()}
    if y_pred is not None:
        run = None  # else it is that of the last model
    return Evaluated(by_name, vectors, partial(lists_of, run, request, models), run is not None)


def _named_inputs(seeds_of: Mapping[str, list[tuple[Any, Any]]], seeds: bool) -> dict[str, tuple[Any, Any]]:
    """Return the scores and the sets of all seeds by the names of models, and numbers of seeds."""
    return {
        f"{name} {seed}" if seeds else name: pair
        for name, pairs in seeds_of.items()
        for seed, pair in enumerate(pairs)
    }


def _vectors_of(request: Request, row_names: list[Any] | None) -> dict[str, Any]:
    """Return what has a value for each row, in the order of the rows."""
    given = {name: getattr(request.data, name) for name in OF_ROWS}
    return {name: of_rows(name, value, row_names) for name, value in given.items() if value is not None}


def _evaluate_files(
    inputs: Mapping[str, tuple[Any, Any]], have_scores: bool, have_sets: bool, request: Request
) -> tuple[list[Report], Run]:
    """Return the reports of models in files, in one pass unless each has its own sets, and the last run."""
    parts = [{name: pair} for name, pair in inputs.items()] if have_sets else [inputs]
    save = request.running.save
    files = state_files(save, [*inputs]) if have_sets and is_file(save) else [save]
    reports = list[Report]()
    for part, file in zip(parts, cycle(files), strict=False):
        scores = {name: of_model for name, (of_model, _) in part.items()} if have_scores else {}
        sets = next(iter(part.values()))[1]
        of_part = replace(
            request,
            data=replace(request.data, y_pred=sets),
            running=replace(request.running, save=file),
        )
        with renaming("y_pred", f"y_pred of {shown(next(iter(part)))}"):  # one model
            run, by_input = evaluate_files(of_part, scores, counting_of(of_part))
        reports += by_input.values()
    return reports, run


def names_of(models: object, y_pred: object) -> list[str]:
    """Return the names of the models, or refuse what is no dict of two or more."""
    given = {name: value for name, value in (("models", models), ("y_pred", y_pred)) if value is not None}
    by_name = {argument: _by_name(argument, value) for argument, value in given.items()}
    if not by_name:
        by_name = {"models": _by_name("models", models)}
    names = [*next(iter(by_name.values()))]
    if any({*names} != {*value} for value in by_name.values()):
        others = shown_names(by_name["y_pred"])
        raise InputError("y_pred", f"has other models ({others}) than {shown_names(names)}")
    return names


def _by_name(argument: str, value: object) -> Mapping[str, object]:
    """Return the scores or the sets of models by name, or refuse what is no dict of two or more."""
    after = AFTER if argument == "models" else ""
    if not isinstance(value, Mapping) or (argument == "models" and _holds_rows(value)):
        text = f"{type(value).__name__} is not a dict of models"
        raise InputError(argument, f"{text}; give them by name, as in {{'a': .., 'b': ..}}{after}")
    if len(value) < 2:
        raise InputError(argument, f"{len(value)} given; expected two or more to compare")
    for name, of_model in value.items():
        if not isinstance(name, str):
            raise InputError(argument, f"{shown(name)} is not a name")
        if of_model is None:
            raise InputError(argument, f"{shown(name)} is None; expected its scores or sets")
    return value


def _holds_rows(value: Mapping[Any, Any]) -> bool:
    """Tell whether a dict is a truth or a run, whose rows hold values of labels."""
    row = next(iter(value.values()), None)
    return isinstance(row, Mapping) and isinstance(next(iter(row.values()), None), int | float | np.number)


def _scores_and_sets(
    name: str, models: Mapping[str, Any] | None, y_pred: Mapping[str, Any] | None, seeds: bool
) -> list[tuple[Any, Any]]:
    """Return the scores and the sets of each seed of a model."""
    scores = None if models is None else models[name]
    sets = None if y_pred is None else y_pred[name]
    if not seeds:
        return [(scores, sets)]
    if is_file(scores):
        scores = _files_of_seeds(scores)
    given = [value for value in (scores, sets) if value is not None]
    for value in given:
        if not (isinstance(value, list | tuple) and value):
            raise InputError("models", f"{shown(name)} is not a list with the scores of each seed")
    n = len(given[0])
    if len(given[-1]) != n:
        raise InputError("y_pred", f"{shown(name)} has {len(given[-1])} seeds, and {n} with scores")
    none = [None] * n
    return [*zip(scores or none, sets or none, strict=True)]


def _files_of_seeds(scores: Any) -> list[Any]:
    """Return the files that a folder or pattern stands for, each scanned as it says."""
    found = find_scan("y_score", scores)
    paths = [shard.path for shard in found.shards]
    return [replace(scores, path=path) for path in paths] if isinstance(scores, Scan) else paths


def lists_of(
    run: Run | None,
    request: Request,
    models: Models | None,
    reports: Mapping[str, Report],
    spec: Spec,
    rows: Ints,
) -> list[Lists]:
    """Return what to show of some rows of two models, which are read again."""
    if run is None:
        assert models is not None  # as only these have lists
        of_models = {name: models[name] for name in reports}
        with open_run(replace(request, memory=MEMORY), of_models) as new_run:
            return lists_of(new_run, request, models, reports, spec, rows)
    shown = [ShownRows(report, spec.k or LISTED, rows) for report in reports.values()]
    sets = {argument: pieces for argument, pieces in run.rows.sets.items() if argument != "y_pred"}
    inputs = run.rows._replace(scores=run.rows.scores[:2], sets=sets, of_rows={}, first_row=None)
    with limited(run.limit):
        next((n_rows for n_rows in count_rows(shown, inputs, run.resources) if n_rows > rows[-1]), None)
    return [Lists(shown[0].truth[row], *(model.lists[row] for model in shown)) for row in rows.tolist()]


class ShownRows:
    """The relevant labels of some rows, and the leading ones that a model lists, of rows as they are read."""

    def __init__(self, report: Report, depth: int, rows: Ints) -> None:
        self.depth, self.rows, self.n_rows, self.n_labels = depth, rows, 0, report.n_labels
        self.truth, self.lists = dict[int, list[int]](), dict[int, list[int]]()
        ordered = (parse_spec(f"f1.samples@{depth}"),)  # which reads the order of labels
        settings = Settings(
            n_labels=report.n_labels,
            conventions=report.conventions,
            higher_is_better=report.higher_is_better,
            unknown=True,
        )
        self.plan = make_plan(settings, ordered)

    def add(self, batch: Batch) -> None:
        """Read the rows of a batch."""
        batch = batch.with_checked_truth(self.n_labels, self.plan.conventions.gains)
        blocks = Blocks(self.plan, batch, check_resources(MEMORY, 1, 1), self.n_rows, set())  # of one row
        is_read = (self.rows >= self.n_rows) & (self.rows < self.n_rows + batch.truth.n_rows)
        for row in self.rows[is_read].tolist():
            block = blocks.block(row - self.n_rows)
            ranking = block.ranking
            assert ranking is not None
            self.truth[row] = block.truth.labels.tolist()
            self.lists[row] = ranking.labels[: min(self.depth, int(ranking.n_above[0]))].tolist()
        self.n_rows += batch.truth.n_rows
