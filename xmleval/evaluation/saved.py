"""The settings and counts of an evaluator, to its saved file and from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xmleval.base.budget import Resources, limited, machine_limit
from xmleval.base.errors import positive_integer
from xmleval.base.notes import notes_as_json, notes_from_json
from xmleval.evaluation.counts import Counted
from xmleval.evaluation.request import Question
from xmleval.evaluation.row_keys import restored_keys, saved_keys
from xmleval.evaluation.settings import check_settings, plan_of
from xmleval.files.saved import Saved, first_difference
from xmleval.input.vectors import check_propensity
from xmleval.labels.datasets import published
from xmleval.labels.groups import LabelGroups
from xmleval.labels.hierarchy import from_edges
from xmleval.states.contents import Contents
from xmleval.states.plan import SCORED, Settings
from xmleval.states.state import new_states, refuse_many_cells
from xmleval.view.rule import as_parts, from_parts

UNSCORED = "unscored."  # before the names of arrays of rows that list nothing, counted as without scores


def saved_settings(settings: Settings) -> Saved:
    """Return what `restored_settings` takes."""
    arrays = {name: array for name, array in settings.of_labels.items() if array.size}
    rule = None
    if settings.decision is not None and settings.decision.fitted:
        rule, arrays["decision"] = as_parts(settings.decision)
    meta = {"settings": settings.as_dict(), "constants": settings.constants, "rule": rule}
    return Saved({**meta, "options": sorted(settings.given)}, arrays)


def restored_settings(meta: dict[str, Any], arrays: dict[str, Any]) -> Settings:
    """Return the settings of a saved file, and take out their arrays; ValueError if these are none."""
    saved, rule, constants = meta["settings"], meta["rule"], meta["constants"]
    n_labels, explicit = saved["n_labels"], {name: bool(by_name) for name, by_name in saved["metrics"]}
    question = Question(
        metrics=[*explicit],
        labels=saved["labels"],
        conventions=saved["conventions"],
        decision=saved["decision"],
        per_row=saved["per_row"],
        per_label=saved["per_label"],
        bounds=saved["bounds"],
        higher_is_better=saved["higher_is_better"],
        curve_points=saved["curve_points"],
        confidence=saved["confidence"],
        given=frozenset(map(str, meta["options"])),
    )
    of_labels = dict[str, Any]()  # what there is for each label
    if rule is not None:
        of_labels["decision"] = from_parts(rule, arrays.pop("decision"))
    if "propensity" in arrays:
        q, counts = check_propensity(arrays.pop("propensity"), n_labels), arrays.pop("label_counts", None)
        if counts is not None and (counts.dtype not in (np.int32, np.int64) or counts.shape != (n_labels,)):
            raise ValueError("label_counts are no numbers of training rows")
        model: dict[str, Any] = {name: float(constants[name]) for name in ("a", "b", "n") if constants}
        model |= published(constants["dataset"]).where() if "dataset" in constants else {}
        of_labels["inverse_propensity"] = q._replace(counts=counts, constants=model)
    if saved["label_groups"] is not None:
        names, ranges = ([*map(str, texts)] for texts in saved["label_groups"])
        of_labels["label_groups"] = LabelGroups(names, arrays.pop("label_groups").reshape(-1), ranges)
    if saved["hierarchy"] is not None:
        edges = arrays.pop("hierarchy", np.empty((0, 2), np.int64))
        other_nodes = [*saved["hierarchy"][1]]
        highest = n_labels + len(other_nodes) - 1
        edges = Contents({"hierarchy": edges}, 0).take("hierarchy", None, 2, high=highest)
        with limited(machine_limit()):
            of_labels["hierarchy"] = from_edges(edges, n_labels, other_nodes, saved["labels"])
    settings = check_settings(replace(question, **of_labels), n_labels)
    asked, is_counted = [(s, explicit[s.name]) for s, _ in settings.asked], saved.get("counts_cells", True)
    settings = replace(settings, asked=asked, unknown="unknown" in saved, counts_cells=is_counted is True)
    if differs := first_difference(settings.as_dict(), saved, "settings", ("as read", "as saved")):
        raise ValueError(differs)
    return settings


def saved_counts(counted: Counted) -> Saved:
    """Return what `restored` takes, after all rows were counted."""
    arrays = {} if counted.states is None else counted.states.arrays()
    if counted.row_keys:
        arrays |= {"row_keys": saved_keys(counted.row_keys)}
    meta = {
        "n_rows": counted.n_rows, "given": sorted(counted.inputs), "updated": counted.plan is not None,
        "score_dtype": counted.score_dtype, "spans": counted.spans, "place": counted.place,
        "notes": notes_as_json(counted.notes),
    }  # fmt: skip
    if counted.unscored is not None:
        other = saved_counts(counted.unscored)
        meta["unscored"] = other.meta
        arrays |= {UNSCORED + name: array for name, array in other.arrays.items()}
    return Saved(meta, arrays)


def restored(settings: Settings, resources: Resources, counts: Saved) -> Counted:
    """Return the counts of a saved file; raise ValueError where they are not what an evaluator saves."""
    meta, arrays = counts
    if "unscored" in meta:
        return _restored_both_ways(settings, resources, counts)
    row_keys = arrays.pop("row_keys", None)
    (source, row), notes = meta["place"], notes_from_json(meta["notes"])
    place = str(source), positive_integer("place", row, at_least=0)
    if meta["updated"] is not True:
        return Counted(place=place, notes=notes)
    n_rows, inputs = positive_integer("n_rows", meta["n_rows"], at_least=0), frozenset(meta["given"])
    if (score_dtype := meta["score_dtype"]) not in (None, "float32", "float64"):
        raise ValueError(f"scores of {score_dtype}")
    spans = {
        name: tuple([(int(start), positive_integer("spans", stop, start)) for start, stop in pairs])
        for name, pairs in meta["spans"].items()
    }
    plan = plan_of(settings, inputs)
    refuse_many_cells("n_rows", plan, n_rows)
    states = new_states(plan, resources)
    states.from_contents(Contents(arrays, n_rows))
    kept = () if row_keys is None else restored_keys(row_keys, n_rows)
    return Counted(
        n_rows=n_rows,
        plan=plan,
        inputs=inputs,
        states=states,
        score_dtype=score_dtype,
        spans=spans,
        place=place,
        row_groups=states.row_groups,
        notes=notes,
        row_keys=kept,
    )


def _restored_both_ways(settings: Settings, resources: Resources, counts: Saved) -> Counted:
    """Return the counts of rows that list nothing, as lists with scores and as lists without."""
    meta, arrays = dict(counts.meta), counts.arrays
    other = dict(meta.pop("unscored"))
    other.pop("unscored", None)
    of_other = {name: arrays.pop(name) for name in [*arrays] if name.startswith(UNSCORED)}
    scored = restored(settings, resources, Saved(meta, arrays))
    unscored = restored(
        settings, resources, Saved(other, {name.removeprefix(UNSCORED): of_other[name] for name in of_other})
    )
    if scored.inputs - {SCORED} != unscored.inputs or scored.n_rows != unscored.n_rows or not scored.inputs:
        raise ValueError("rows that list nothing are not the same in both ways")
    return replace(scored, unscored=unscored)
