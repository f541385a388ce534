"""`evaluate`: compute measures of predictions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, Unpack, overload

from xmleval.base.budget import MEMORY
from xmleval.base.conventions import Conventions
from xmleval.base.errors import InputError, positive_integer, renaming, shown, shown_names
from xmleval.base.keywords import refusing_unknown
from xmleval.evaluation.request import (
    Data,
    HierarchyLike,
    NamesLike,
    Progress,
    Question,
    Request,
    Running,
    SharedOptions,
    needs_files,
)
from xmleval.evaluation.settings import FILES, argument_of, file_of, files_of_data
from xmleval.evaluation.values import evaluate_values
from xmleval.files.remote import is_file
from xmleval.input.argument_types import FilePath, ModelsLike, NamedModels, RowsLike, ValuesLike
from xmleval.input.objects.models import models_of
from xmleval.metrics.measure import Measure, Metrics, listed
from xmleval.metrics.spec import DEFAULT_K
from xmleval.results.comparison import Comparison
from xmleval.results.report import Report, with_same_measures
from xmleval.view.block import Groups
from xmleval.view.decision import Decision
from xmleval.view.rule import Rule

if TYPE_CHECKING:
    from xmleval.evaluation.files import CountRun, FileEvaluation

PATHS = (str, os.PathLike, Mapping)  # a dict may contain the paths of models


@overload
def evaluate(
    y_true: RowsLike,
    y_score: NamedModels,
    *,
    y_pred: RowsLike | None = None,
    **options: Unpack[SharedOptions],
) -> Report | Comparison: ...


@overload
def evaluate(
    y_true: RowsLike,
    y_score: None = None,
    *,
    y_pred: NamedModels,
    **options: Unpack[SharedOptions],
) -> Report | Comparison: ...


@overload
def evaluate(
    y_true: RowsLike,
    y_score: RowsLike | None = None,
    *,
    y_pred: RowsLike | None = None,
    **options: Unpack[SharedOptions],
) -> Report: ...


@refusing_unknown
def evaluate(  # noqa: PLR0913 - each is a keyword of its own in the documentation
    y_true: RowsLike,
    y_score: RowsLike | ModelsLike | None = None,
    *,
    y_pred: RowsLike | ModelsLike | None = None,
    metrics: Measure | Metrics | None = None,
    k: int | str | Iterable[int] = DEFAULT_K,
    y_train: RowsLike | None = None,
    decision: ValuesLike | Rule | Decision | None = None,
    conventions: str | Conventions | Mapping[str, Any] | None = None,
    confidence: float | None = None,
    labels: NamesLike | None = None,
    n_labels: int | None = None,
    sample_weight: ValuesLike | None = None,
    higher_is_better: bool = True,
    exclude: RowsLike | None = None,
    exclude_from: str = "both",
    unjudged: RowsLike | float | None = None,
    judged: RowsLike | None = None,
    candidates: RowsLike | None = None,
    inverse_propensity: ValuesLike | None = None,
    label_groups: ValuesLike | Groups | None = None,
    row_groups: ValuesLike | None = None,
    hierarchy: HierarchyLike | None = None,
    label_data: Mapping[str, ValuesLike] | None = None,
    row_data: Mapping[str, ValuesLike] | None = None,
    clusters: ValuesLike | None = None,
    bounds: bool = False,
    per_row: bool | Iterable[str] = False,
    per_label: bool | Iterable[str] = False,
    curve_points: int | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
    running: Running | None = None,
) -> Report | Comparison:
    """Compute measures of predictions against the relevant labels.

    Every argument that takes an array or names also takes a file, a folder, a pattern or an address
    of one; where it has a row for each instance, also `scan` of one, which says how it is read.
    Files are read row by row, in bounded memory.

    Parameters
    ----------
    y_true : sparse matrix or array, dense 0/1 array, lists of labels, dict or frame; shape (m, l)
        Relevant labels of each instance, by column, by id (nested lists are lists of ids if
        ``n_labels`` is given) or by name, as ``xmleval/docs/names.md`` shows. Any array can
        be a tensor.
    y_score : as y_true with scores, or (labels, scores) arrays of shape (m, k), optional
        Scores. In a pair, the integer array has the labels, whichever comes first, as in results of
        ``torch.topk`` and FAISS; a dict has ``indices`` and ``scores``. In such a top-k list, -1
        marks an empty slot and the scores can be None. A stored zero of a sparse matrix is a score
        (except in DIA format, where zeros are padding); labels without a score are below all
        others, unless ``conventions`` has a score for them. Several models are given by name,
        ``{"a": "a.npz", "b": "b.npz"}``, or matrices, frames, pairs or dicts by row in place of the
        files, which are read in one pass.
    y_pred : as y_true, optional
        Predicted sets; those of several models by name, as in ``y_score``.
    metrics : str, Measure or iterable of these, optional
        Measures of your own (`Measure`), and names such as ``"p@5"``, ``"f1.macro@5"``,
        ``"fbeta.samples(beta=2)"``, several in one text as in ``"p@1,ndcg@5"``, and the groups
        ``xmc`` (the default), ``wu2017``, ``sets``, ``ranking``, ``curves``, ``ps``, ``predicted``,
        ``calibration``, ``hierarchy``, ``statistics`` and ``all``.
    k : int, str or iterable of int, default (1, 3, 5)
        Cutoffs of measures at k whose names have none, several in one text as in ``"1-5,10"``.
    y_train : as y_true with N rows, optional
        Training labels, to estimate inverse propensities from (with a = 0.55 and b = 1.5); the
        truth is never taken for them. ``popularity`` and ``tail_share`` count them.
    decision : str, Rule, array (l,), dict or path, optional
        How scores become sets without ``y_pred``: ``top3``, ``threshold0.5`` (strictly better),
        ``threshold>=0.5``, ``top3&threshold0.5`` (the best 3 of those above), a threshold for each
        label (a vector, a dict by label, or a file of either), or a rule that `xmleval threshold
        fit` wrote. See `xmleval.thresholds.fit`.
    conventions : str, Conventions or dict, optional
        ``"sklearn"``, ``"wu2017"``, ``"mulan"``, ``"meka"``, ``"beir"``, ``"pyxclib"``,
        ``"napkinxc"``; fields that differ from the default, as in ``"unlisted=0"`` (the score of
        labels without a stored one), ``"gains=linear"`` (the truth has grades of relevance) and
        ``"link=sigmoid"`` (scores are logits); both, as in ``"sklearn,labels=present"``; a dict of
        fields, or `Conventions`.
    confidence : float, optional
        Confidence level of intervals, such as 0.95. They account for the sampling of test rows, not
        for training. Values do not depend on it. See ``report.confidence``.
    labels : list of str, optional
        Names of all labels, by column; default: the names in the truth, in the order in which they
        occur there. Other names are an error in the truth, and count as wrong in predictions, with
        ``labels`` or without. A file has one per line, or is a JSON list.
    n_labels : int, optional
        Number of labels; then nested lists are lists of label ids or of (id, score) pairs.
    sample_weight : array of shape (m,), values by name, or name of a column, optional
        Weight of each instance: 0 or within 2^-30..2^20; a column or a file, as for ``row_groups``,
        or an .npy vector.
    higher_is_better : bool, default True
        Whether higher scores are better. False is for distances: lower ones are better.
    exclude : pairs of a row and a label, or as y_true, optional
        Pairs to leave out of the truth and of all predictions, such as pairs seen in training.
        A file has the numbers of a row and a label on each line.
    exclude_from : {"both", "predictions"}, default "both"
        With "predictions", the truth keeps the pairs of ``exclude``, as NGAME and DEXML do.
    unjudged : pairs of a row and a label, as y_true, or a mark, optional
        Labels of rows that nobody judged: they count neither as relevant nor as irrelevant, in any
        measure. ``"nan"`` and -1 are marks in cells of a truth that has a cell for each label: a
        dense array, a frame, or a sparse matrix that stores them. Conventions cannot give unlisted
        labels a score then. A .txt file has the numbers of a row and a label on each line.
    judged : pairs of a row and a label, as y_true, or "truth", optional
        The only labels of rows that are judged, such as the items that a user was shown, including
        labels that judgements list with 0. ``"truth"``: all labels that the truth lists, relevant
        or not, as judgements of TREC do.
    candidates : as y_true, or label ids of shape (m, c), or a (labels, scores) pair, optional
        Labels of each instance among which scores are ranked; all other labels are not ranked. -1
        marks an empty slot. A note has the best values that they allow.
    inverse_propensity : array of shape (l,), or values by name, optional
        Inverse propensities, such as `inverse_propensity` estimates from training labels with the
        published constants of a data set, which the report names; a file is an .npy vector, or has
        one number per line.
    label_groups : LabelGroups, or array of shape (l,), or dict from labels to group names, optional
        Groups of labels, such as `label_groups` makes from training labels; those that a dict lacks
        are in the group "other". With ``y_train``, also edges as `label_groups` takes them, such as
        ``[0, 10, 100]`` or ``"deciles"``. See ``report.groups`` and ``report.shares``.
    row_groups : array of shape (m,), values by name, or name of a column, optional
        The group of each instance, at most 1000 different ones: a name such as its language, or an
        integer. A text is a column of ``y_true``, a frame or a table in a file, or else a file,
        which has one group per line, or row and group; ``"./lang"`` is always a file. With
        ``confidence``, the tables of all groups must fit in ``memory``. See ``report.row_groups``.
    hierarchy : sparse matrix of shape (l, l), (child, parent) pairs, or dict of parents, optional
        Edges between labels, by number or name: ``h_precision``, ``h_recall`` and ``h_f1`` add all
        ancestors to both sets. Labels may have several parents. By name, nodes need not be labels:
        predicted ones have their ancestors, too. A file has a child and its parent on each line; a
        matrix has children as rows and parents as columns.
    label_data, row_data : dict from names to values, optional
        Numbers by label, as for ``inverse_propensity``, and by row, as for ``sample_weight``, that
        measures of your own declare; see `Measure`.
    clusters : array of shape (m,), values by name, or name of a column, optional
        Cluster of each instance, integers or strings: instances that depend on one another, such as
        the sentences of a document; a column or a file, as for ``row_groups``. Intervals then
        account for the sampling of clusters.
    bounds : bool, default False
        Also give lower and upper bounds on measures of the whole ranking by row, and on auc.micro
        without weights, over all scores of unlisted labels up to the last score of their row. See
        ``report.intervals``.
    per_row, per_label : bool or list of str, default False
        Keep row values for ``report.per_row()``, label values for ``report.per_label()``. A list
        names the measures to keep them for, which saves memory.
    curve_points : int, optional
        Number of points to keep for ``report.roc_curve()`` and ``report.pr_curve()``.
    memory : int or str, default "1GiB"
        Bytes, or an amount such as "512MB", above which pooled scores (family ``curves``) go to
        temporary files; of files, at least 16MB, and also for rows that are read. Values do not
        depend on it.
    threads : int, optional
        Maximum number of threads, by default one per processor. Values do not depend on it.
    progress : bool or callable, default False
        Whether to show a bar in a terminal or a notebook, or what is called with the number of rows
        that are counted, and that of all rows or None. Arrays in memory show none.
    running : Running, optional
        Checkpoints, saved counts, further processes and blocks of rows; see `Running`.

    Returns
    -------
    Report or Comparison
        A report is a mapping from names to floats that prints as a table; a comparison, of several
        models, one from the names of models to their reports.

    Raises
    ------
    ValueError
        If input is invalid (the message names argument, row and value), or a measure needs input
        that was not given.

    Examples
    --------
    >>> y_true = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])
    >>> labels = np.array([[0, 3], [2, 1]])
    >>> scores = np.array([[0.9, 0.4], [0.8, 0.3]])
    >>> report = evaluate(y_true, (labels, scores), metrics=["p@1", "ndcg@2"])
    >>> round(report["nDCG@2"], 4)
    0.622
    """
    request = Request(
        data=Data(
            y_true=y_true,
            y_score=y_score,
            y_pred=y_pred,
            exclude=exclude,
            exclude_from=exclude_from,
            unjudged=unjudged,
            judged=judged,
            candidates=candidates,
            sample_weight=sample_weight,
            clusters=clusters,
            row_groups=row_groups,
            row_data=row_data,
        ),
        question=Question(
            metrics=listed(metrics),
            k=k,
            n_labels=n_labels,
            labels=labels,
            inverse_propensity=inverse_propensity,
            y_train=y_train,
            decision=decision,
            conventions=conventions,
            label_groups=label_groups,
            hierarchy=hierarchy,
            label_data=label_data,
            higher_is_better=higher_is_better,
            bounds=bounds,
            per_row=per_row,
            per_label=per_label,
            curve_points=curve_points,
            confidence=confidence,
        ),
        running=running or Running(),
        memory=memory,
        threads=threads,
        progress=progress,
    )
    return answer(request)


def answer(request: Request) -> Report | Comparison:
    """Return the report on a request, or the reports on several models."""
    y_score = request.data.y_score
    y_pred = request.data.y_pred
    scores = models_of("y_score", y_score)
    sets = models_of("y_pred", y_pred)
    if sets is not None:
        return _as_answer(_evaluate_with_sets(request, scores, sets))
    if scores is not None:
        return _as_answer(_evaluate_models(request, scores))
    if not reads_files(request):
        return evaluate_values(request, {"": (y_score, y_pred)})[0]
    if y_score is None:
        return _as_answer(_evaluate_models(request, {}))
    if isinstance(y_score, Mapping) and not hasattr(y_score, "shape") and not y_score:
        raise InputError("y_score", "is empty; expected scores, or models by name")
    name = "y_score" if file_of("y_score", y_score) is None else str(y_score)
    return _as_answer(_evaluate_models(request, {name: y_score}))


def _as_answer(reports: dict[str, Report]) -> Report | Comparison:
    """Return the reports of several models, or the report on one."""
    if len(reports) > 1:
        return Comparison(reports)
    return reports.popitem()[1]


def _evaluate_models(request: Request, scores: Mapping[str, Any]) -> dict[str, Report]:
    """Return the reports of models by name, with any predicted sets in common."""
    if reads_files(request):
        from xmleval.evaluation.files import evaluate_files  # imports all formats

        return evaluate_files(request, scores, counting_of(request))[1]
    inputs = {name: (y_score, request.data.y_pred) for name, y_score in scores.items()}
    reports = evaluate_values(request, inputs)
    return dict(zip(scores, with_same_measures(reports), strict=True))


def _evaluate_with_sets(
    request: Request, scores: Mapping[str, Any] | None, sets: Mapping[str, Any]
) -> dict[str, Report]:
    """Return the reports of models that have predicted sets, with their own scores or the same."""
    if scores is None and request.data.y_score is not None:
        scores = dict.fromkeys(sets, request.data.y_score)
    if scores is not None and scores.keys() != sets.keys():
        text = f"has other models ({shown_names(sets)}) than y_score ({shown_names(scores)})"
        raise InputError("y_pred", text)
    inputs = {name: (scores and scores[name], y_pred) for name, y_pred in sets.items()}
    if reads_files(request):
        reports, _ = evaluate_models_in_files(inputs, scores is not None, True, request)
    else:
        reports = evaluate_values(request, inputs)
    return dict(zip(sets, with_same_measures(reports), strict=True))


def evaluate_models_in_files(
    inputs: Mapping[str, tuple[Any, Any]], have_scores: bool, have_sets: bool, request: Request
) -> tuple[list[Report], FileEvaluation]:
    """Return the reports of models in files, and the last run.

    All models are evaluated in one run, or each in a run if it has predicted sets.
    """
    from xmleval.evaluation.files import evaluate_files, state_files  # imports all formats

    passes: list[Mapping[str, tuple[Any, Any]]] = [inputs]
    files: Sequence[FilePath | None] = [request.running.save]
    if have_sets:
        passes = [{name: pair} for name, pair in inputs.items()]
        if is_file(request.running.save):
            files = state_files(request.running.save, [*inputs])
    reports = list[Report]()
    for pairs, file in zip(passes, cycle(files), strict=False):
        scores = dict[str, Any]()
        if have_scores:
            scores = {name: y_score for name, (y_score, _) in pairs.items()}
        first_name, (_, y_pred) = next(iter(pairs.items()))
        run_request = replace(
            request,
            data=replace(request.data, y_pred=y_pred),
            running=replace(request.running, save=file),
        )
        with renaming("y_pred", f"y_pred of {shown(first_name)}"):
            run, by_input = evaluate_files(run_request, scores, counting_of(run_request))
        reports += by_input.values()
    return reports, run


def reads_files(request: Request) -> bool:
    """Return whether any of the arguments of `evaluate` is a file, or for files alone."""
    for name in FILES:
        value = argument_of(request, name)
        if value is not None and isinstance(value, PATHS) and file_of(name, value):
            return True
    return bool(files_of_data(request)) or needs_files(request.running)


def counting_of(request: Request) -> CountRun | None:
    """Return the function that counts files on the requested executor; None without one."""
    executor = request.running.executor
    if executor is None:
        return None
    from xmleval.cluster import evaluation, processes

    if isinstance(executor, str):
        if ":" not in executor:
            expected = "expected a number of processes, or an address such as tcp://host:8786"
            raise InputError(
                "executor", f"{shown(executor)} is not the address of a scheduler; {expected}"
            )
        from xmleval.cluster.dask import connected  # an extra

        return partial(evaluation.count_on, connected(executor), False)
    if isinstance(executor, Executor):
        return partial(evaluation.count_on, nullcontext(executor), False)
    workers = processes.Processes(positive_integer("executor", executor))
    return partial(evaluation.count_on, workers, True)
