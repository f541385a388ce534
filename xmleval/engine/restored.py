"""The counts of an evaluator from its saved file, checked."""

from __future__ import annotations

import math
from typing import Any

from xmleval.datasets import published
from xmleval.engine.blocks import check_rows
from xmleval.engine.counted import Counted
from xmleval.engine.settings import GIVEN, Settings
from xmleval.engine.spans import Spans, with_rows
from xmleval.files.saved import Saved, whole
from xmleval.states.contents import Contents
from xmleval.states.folds import new_states
from xmleval.threads import Work


def saved_counts(counted: Counted, spill: bool, loose: bool) -> Saved:
    """Return what `restored` takes, after all rows were counted; ``spill`` pooled scores first.

    ``loose`` arrays are for a process that merges them: larger, and made at once.
    """
    arrays: dict[str, Any] = {}
    if counted.states is not None:
        if spill:
            counted.states.spill()
        arrays = counted.states.arrays(loose)
    meta = {
        "n_rows": counted.n_rows, "given": sorted(counted.given), "updated": counted.plan is not None,
        "score_dtype": counted.score_dtype, "spans": counted.spans, "place": counted.place,
    }  # fmt: skip
    return Saved(meta, arrays)


def restored(settings: Settings, work: Work, meta: dict[str, Any], arrays: dict[str, Any]) -> Counted:
    """Return the counts of a saved file; raise ValueError where they are not what an evaluator saves."""
    n_rows, given = whole(meta["n_rows"], "n_rows"), frozenset(meta["given"])
    score_dtype = meta["score_dtype"]
    if not given <= GIVEN or score_dtype not in (None, "float32", "float64"):
        raise ValueError(f"given {sorted(given)} and scores of {score_dtype}")
    spans: Spans = {}
    for source, several in meta["spans"].items():
        for start, stop in several:
            first = whole(start, "spans")
            spans = with_rows(spans, source, first, whole(stop, "spans", first))
    if sum(stop - start for own in spans.values() for start, stop in own) != n_rows:
        raise ValueError(f"n_rows is {n_rows}, and not the number of rows of its spans")
    source, row = meta["place"]
    if not isinstance(source, str):
        raise ValueError(f"place is {source}")
    contents, plan, states = Contents(arrays, n_rows), None, None
    if meta["updated"] is True:
        plan = settings.plan(given)
        check_rows("n_rows", plan, n_rows)
        try:
            states = new_states(plan, work)
        except MemoryError:
            raise ValueError(f"tables of {plan.n_labels} labels do not fit in memory") from None
        states.from_contents(contents)
    elif meta["updated"] is not False or n_rows or given:
        raise ValueError("rows of no input")
    contents.done()
    groups = states.row_groups if states else frozenset()
    place = source, whole(row, "place")
    return Counted(n_rows, plan, given, states, (), score_dtype, spans, place, groups)


def known_constants(constants: dict[str, float | str]) -> dict[str, float | str]:
    """Return the constants of the propensity model, or refuse others."""
    names, numbers = list(constants), list(constants.values())[:3]
    fits = all(type(value) is float and math.isfinite(value) for value in numbers)
    if names[3:]:
        fits = fits and list(published(str(constants["dataset"])).where().items()) == [*constants.items()][3:]
    if names[:3] not in ([], ["a", "b", "n"]) or not fits:
        raise ValueError(f"constants are {constants}")
    return constants
