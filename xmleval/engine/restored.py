"""The counts of an evaluator from its saved file, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xmleval.datasets import published
from xmleval.engine.blocks import check_rows
from xmleval.engine.counted import Counted
from xmleval.engine.settings import GIVEN, KEPT, Settings
from xmleval.engine.spans import Spans, with_rows
from xmleval.files.saved import Saved, whole
from xmleval.groups import checked_groups
from xmleval.hierarchy import from_edges
from xmleval.notes import notes_as_json, notes_from_json
from xmleval.propensity import described
from xmleval.states.contents import Contents
from xmleval.states.folds import new_states
from xmleval.threads import Work


def setting_options(settings: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of `Evaluator` from saved settings, and from their arrays, which are taken out."""
    groups, hierarchy = None, None
    q = known_propensity(arrays.pop("propensity", None), arrays.pop("label_counts", None))
    if settings["label_groups"] is not None:
        groups = checked_groups(settings["label_groups"], arrays.pop("label_groups"))
    if settings["hierarchy"] is not None:
        edges = arrays.pop("hierarchy", np.empty((0, 2), np.int64))
        n_labels = whole(settings["n_labels"], "n_labels", 1)
        n_nodes = whole(settings["hierarchy"][0], "hierarchy", n_labels)
        fits = edges.dtype == np.int64 and edges.ndim == 2 and edges.shape[1] == 2
        within = 0 <= edges.min(initial=0) <= edges.max(initial=0) < n_nodes <= n_labels + edges.size
        if not (fits and within):
            raise ValueError("hierarchy has invalid edges")
        hierarchy = from_edges(edges, n_labels, n_nodes, settings["labels"])
    kept = {name: settings[name] for name in KEPT}
    return {**kept, "inverse_propensity": q, "label_groups": groups, "hierarchy": hierarchy}


def saved_counts(counted: Counted, loose: bool) -> Saved:
    """Return what `restored` takes, after all rows were counted.

    ``loose`` arrays are for a process that merges them: larger, and made at once.
    """
    arrays = {} if counted.states is None else counted.states.arrays(loose)
    meta = {
        "n_rows": counted.n_rows, "given": sorted(counted.given), "updated": counted.plan is not None,
        "score_dtype": counted.score_dtype, "spans": counted.spans, "place": counted.place,
        "notes": notes_as_json(counted.notes),
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
    notes = notes_from_json(meta["notes"])
    return Counted(n_rows, plan, given, states, (), score_dtype, spans, place, groups, notes)


def known_propensity(q: Any, counts: Any) -> Any:
    """Return inverse propensities of a saved file, with numbers of training rows if it has any, or None."""
    if q is not None and q.dtype != np.float64:
        raise ValueError(f"propensity is {q.dtype}")
    if counts is None:
        return q
    if q is None or counts.dtype not in (np.int32, np.int64) or counts.shape != q.shape or (counts < 0).any():
        raise ValueError("label_counts are no numbers of training rows")
    return described(q, {}, None, True, counts)


def known_constants(constants: dict[str, float | str]) -> dict[str, float | str]:
    """Return the constants of the propensity model, or refuse others."""
    names, numbers = list(constants), list(constants.values())[:3]
    fits = all(type(value) is float and math.isfinite(value) for value in numbers)
    if names[3:]:
        fits = fits and list(published(str(constants["dataset"])).where().items()) == [*constants.items()][3:]
    if names[:3] not in ([], ["a", "b", "n"]) or not fits:
        raise ValueError(f"constants are {constants}")
    return constants
