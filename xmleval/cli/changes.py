"""Rows and labels that changed most between two inputs of scores, and names of labels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from xmleval.cli.evaluation import Run
from xmleval.engine.chosen import chosen_rows
from xmleval.input.door import make_door
from xmleval.input.small_texts import load_names
from xmleval.records import Ints
from xmleval.report.changes import MOST_CHANGED, Diff, Lists, find_changes, shown_depth
from xmleval.report.comparison import Comparison
from xmleval.report.report import Report
from xmleval.spec import Spec

Pair = tuple[list[str], list[str]]


def changes_of(run: Run, told: Comparison, labels: Path | None) -> Diff | None:
    """Return the rows, and the labels, that changed most from the first model to the second."""
    pair = dict([*told._models().items()][:2])
    if len(pair) < 2:
        return None
    names, read = names_in_lists(run, labels, pair), partial(lists_of, run, pair)
    return find_changes(told.specs, pair, MOST_CHANGED, read, run.rows.row_names, names)


def label_names(run: Run, path: Path | None, reports: Mapping[str, Report]) -> list[str] | None:
    """Return the names of the labels, if they are known; --labels names columns, too."""
    if run.rows.label_names is not None or path is None:
        return run.rows.label_names
    names, widest = load_names(path, run.budget.allowance()), max(one.n_labels for one in reports.values())
    sizes_known = run.rows.truth[1].n_labels is not None
    if len(names) < widest or (sizes_known and len(names) > widest):
        raise ValueError(f"{path}: {len(names)} names; expected those of all {widest} labels")
    return names


def names_in_lists(run: Run, path: Path | None, reports: Mapping[str, Report]) -> Pair | None:
    """Return the names of labels, and behind them of unknown labels, for two reports."""
    names, unknown = label_names(run, path, reports), run.rows.unknown_labels or ([], [])
    return None if names is None else ([*names, *unknown[0]], [*names, *unknown[1]])


def lists_of(run: Run, reports: Mapping[str, Report], spec: Spec, rows: Ints) -> list[Lists]:
    """Read the first two inputs of scores again, for the labels of some rows."""
    first = next(iter(reports.values()))
    widths = [one.n_labels for one in reports.values()]
    inputs = run.rows._replace(scores=run.rows.scores[:2], pred=None)
    truth, scores, sets = inputs.readers(run.budget, widths)
    candidates = sets.get("candidates", [])
    readers, found = [truth, *scores, *candidates], list[Lists]()
    try:
        while (start := truth.n_taken) <= rows[-1] and (n := min(reader.ready() for reader in readers)):
            chosen, lists = rows[(rows >= start) & (rows < start + n)] - start, []
            y_true, among = truth.take(n), [reader.take(n) for reader in candidates]
            for number, (reader, width) in enumerate(zip(scores, widths, strict=True)):
                out = {"exclude": None, "exclude_from": "both", **inputs.excluded(start, start + n)}
                own = among[number % len(among)] if among else None
                asked = chosen, width, shown_depth(spec), first.conventions, first.higher_is_better
                door = make_door(candidates=own, **out)
                lists.append(chosen_rows(y_true, reader.take(n), *asked, door))
            found += [Lists(*one) for one in zip(lists[0][0], *(own for _, own in lists), strict=True)]
    finally:
        for reader in readers:
            reader.close()
    return found
