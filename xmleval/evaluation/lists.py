"""Rows of two models, to show: their relevant labels, and the first labels of both lists."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from xmleval.base.arrays import Ints
from xmleval.base.budget import limited
from xmleval.base.conventions import Conventions
from xmleval.evaluation.files import Run
from xmleval.input.door import Door, make_door
from xmleval.input.objects.take import take
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.sets import relevant_of, set_rows
from xmleval.metrics.spec import Spec
from xmleval.results.changes import Lists, shown_depth
from xmleval.results.report import Report


def lists_of(
    truth: Any,
    models: Mapping[str, Any],
    options: Mapping[str, Any],
    reports: Mapping[str, Report],
    spec: Spec,
    rows: Ints,
) -> list[Lists]:
    """Return what to show of some rows, given as arrays or with names.

    ``models`` are the scores of the ``reports``, two by name, and ``options`` those of `evaluate`.
    """
    first = next(iter(reports.values()))
    door = make_door(options.get("exclude"), options.get("exclude_from", "both"), options.get("candidates"))
    n_labels, labels, graded = options.get("n_labels"), options.get("labels"), first.conventions.graded
    of_models = []
    for name, report in reports.items():
        matched = take(truth, models[name], None, n_labels, labels, graded, **door.sets)
        y_true, y_score, _, *sets = matched.inputs
        asked = rows, report.n_labels, shown_depth(spec), first.conventions, first.higher_is_better
        of_models.append(chosen_rows(y_true, y_score, *asked, door.with_sets(sets, 0)))
    return [Lists(*row) for row in zip(of_models[0][0], *(lists for _, lists in of_models), strict=True)]


def lists_of_files(run: Run, reports: Mapping[str, Report], spec: Spec, rows: Ints) -> list[Lists]:
    """Return likewise what to show of the first two models of a run, whose files are read again."""
    first = next(iter(reports.values()))
    sets = {argument: pieces for argument, pieces in run.rows.sets.items() if argument != "y_pred"}
    inputs = run.rows._replace(scores=run.rows.scores[:2], sets=sets)
    of_rows: list[Lists] = []
    with limited(run.limit), ExitStack() as opened:
        truth, scores, of_sets = inputs.readers(run.resources)
        readers = [truth, *scores, *of_sets.values()]
        for reader in readers:
            opened.callback(reader.close)
        while (start := truth.n_taken) <= rows[-1] and (n := min(reader.ready() for reader in readers)):
            chosen, lists = rows[(rows >= start) & (rows < start + n)] - start, []
            y_true = truth.take(n)
            out: dict[str, Any] = {"exclude": None, "exclude_from": "both", "candidates": None}
            out |= {argument: reader.take(n) for argument, reader in of_sets.items()}
            door = make_door(**out | inputs.excluded(start, start + n))
            for reader, report in zip(scores, reports.values(), strict=True):
                asked = chosen, report.n_labels, shown_depth(spec), first.conventions, first.higher_is_better
                lists.append(chosen_rows(y_true, reader.take(n), *asked, door))
            of_rows += [Lists(*row) for row in zip(lists[0][0], *(best for _, best in lists), strict=True)]
    return of_rows


def chosen_rows(
    y_true: Any,
    y_score: Any,
    rows: Ints,
    n_labels: int,
    depth: int,
    conventions: Conventions,
    higher_is_better: bool,
    door: Door,
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the relevant labels of some rows, and the best ``depth`` ones listed above unlisted ones."""
    truth = set_rows("y_true", y_true, n_labels, conventions.gains)
    door = door.opened(truth)
    level, left = conventions.unlisted_score, door.of_ranking
    level = level if higher_is_better or level is None else 0 - level
    how = Reading("y_score", n_labels, level, depth, higher_is_better=higher_is_better, left=left)
    lists = ranking_rows(y_score, how)
    truth = door.passed(truth, None)[0]
    relevant, listed = [], []
    for row in rows.tolist():
        ranking = lists.block(row, row + 1)
        relevant.append(relevant_of(truth.block(row, row + 1)).labels.tolist())
        listed.append(ranking.labels[: min(depth, int(ranking.n_above[0]))].tolist())
    return relevant, listed
