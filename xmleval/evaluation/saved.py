"""The counts of an evaluator from its saved file."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmleval.budget import limited, machine_limit
from xmleval.datasets import published
from xmleval.errors import positive_integer
from xmleval.evaluation.counts import Counted
from xmleval.evaluation.settings import GIVEN, plan_of
from xmleval.files.saved import Saved
from xmleval.groups import LabelGroups
from xmleval.hierarchy import from_edges
from xmleval.notes import notes_as_json, notes_from_json
from xmleval.plan import KEPT, Settings
from xmleval.propensity import described
from xmleval.states.contents import Contents
from xmleval.states.folds import new_states
from xmleval.threads import Work


def setting_options(settings: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of `Evaluator` from saved settings, and from their arrays, which are taken out."""
    groups, hierarchy = None, None
    q, counts = arrays.pop("propensity", None), arrays.pop("label_counts", None)
    if counts is not None:
        if counts.dtype not in (np.int32, np.int64) or counts.shape != q.shape:
            raise ValueError("label_counts are no numbers of training rows")
        q = described(q.astype(np.float64, copy=False), {}, None, True, counts)
    if settings["label_groups"] is not None:
        names, ranges = ([*map(str, texts)] for texts in settings["label_groups"])
        groups = LabelGroups(names, arrays.pop("label_groups").reshape(-1), ranges)
    if settings["hierarchy"] is not None:
        edges, n_labels = arrays.pop("hierarchy", np.empty((0, 2), np.int64)), settings["n_labels"]
        most = positive_integer("n_labels", n_labels) + edges.size - 1
        edges = Contents({"hierarchy": edges}, 0).take("hierarchy", None, 2, most=most)
        n_nodes = max(n_labels, int(edges.max(initial=0)) + 1)
        with limited(machine_limit()):
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
    source, row = meta["place"]
    place, notes = (str(source), positive_integer("place", row, 0)), notes_from_json(meta["notes"])
    if meta["updated"] is not True:
        return Counted(place=place, notes=notes)
    n_rows, given = positive_integer("n_rows", meta["n_rows"], 0), frozenset(meta["given"])
    score_dtype = meta["score_dtype"]
    if not given <= GIVEN or score_dtype not in (None, "float32", "float64"):
        raise ValueError(f"given {sorted(given)} and scores of {score_dtype}")
    spans = {
        source: tuple([(int(start), positive_integer("spans", stop, start)) for start, stop in several])
        for source, several in meta["spans"].items()
    }
    plan = plan_of(settings, given)
    states = new_states(plan, work)
    states.from_contents(Contents(arrays, n_rows))
    return Counted(n_rows, plan, given, states, (), score_dtype, spans, place, states.row_groups, notes)


def known_constants(constants: dict[str, Any]) -> dict[str, float | str]:
    """Return saved constants of the propensity model, of a data set by its name."""
    numbers = {name: float(constants[name]) for name in ("a", "b", "n") if constants}
    return numbers | (published(constants["dataset"]).where() if "dataset" in constants else {})
