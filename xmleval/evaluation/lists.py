"""Rows of two models, to show: their relevant labels, and the first labels of both lists."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from xmleval.base.arrays import Ints
from xmleval.base.budget import MEMORY, check_resources, limited
from xmleval.evaluation.files import Run, open_run
from xmleval.input.door import Door, make_door
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.sets import relevant_of, set_rows
from xmleval.metrics.spec import Spec
from xmleval.results.diff import LISTED, Lists
from xmleval.results.report import Report


def lists_of(run: Run, reports: Mapping[str, Report], spec: Spec, rows: Ints) -> list[Lists]:
    """Return what to show of some rows of the first two models of a run, which are read again."""
    first, n_labels = next(iter(reports.values())), max(report.n_labels for report in reports.values())
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
            y_true = set_rows("y_true", truth.take(n), n_labels, first.conventions.gains)
            excluded: dict[str, Any] = {"exclude": None, "exclude_from": "both", "candidates": None}
            excluded |= {argument: reader.take(n) for argument, reader in of_sets.items()}
            door = make_door(**excluded | inputs.excluded(start, start + n)).opened(y_true)
            for reader, report in zip(scores, reports.values(), strict=True):
                lists.append(first_labels(reader.take(n), chosen, report, spec.k or LISTED, door))
            y_true = door.passed(y_true, None)[0]
            relevant = [relevant_of(y_true.block(row, row + 1)).labels.tolist() for row in chosen.tolist()]
            of_rows += [Lists(*row) for row in zip(relevant, *lists, strict=True)]
    return of_rows


def lists_of_values(
    arguments: Any, models: Mapping[str, Any], reports: Mapping[str, Report], spec: Spec, rows: Ints
) -> list[Lists]:
    """Return likewise what to show of two of some models, evaluated with these arguments of `evaluate`."""
    resources = check_resources(MEMORY, None)
    limit = resources.limit()
    with limited(limit):
        run = open_run(arguments, {name: models[name] for name in reports}, resources, limit)
    return lists_of(run, reports, spec, rows)


def first_labels(y_score: Any, rows: Ints, report: Report, depth: int, door: Door) -> list[list[int]]:
    """Return the best ``depth`` labels of some rows that a model lists above unlisted ones."""
    level, left = report.conventions.unlisted_score, door.of_ranking
    level = level if report.higher_is_better or level is None else 0 - level
    how = Reading(
        "y_score", report.n_labels, level, depth, higher_is_better=report.higher_is_better, left=left
    )
    lists, listed = ranking_rows(y_score, how), []
    for row in rows.tolist():
        ranking = lists.block(row, row + 1)
        listed.append(ranking.labels[: min(depth, int(ranking.n_above[0]))].tolist())
    return listed
