"""Convert the settings and counts of an evaluator to a saved file and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xmleval.base.budget import Resources, limited, machine_limit
from xmleval.base.data_names import LABEL_DATA
from xmleval.base.errors import (
    Message,
    UnknownMeasureError,
    own_measure,
    positive_integer,
    shown,
)
from xmleval.base.notes import notes_as_json, notes_from_json
from xmleval.evaluation.counts import Counted
from xmleval.evaluation.request import Question
from xmleval.evaluation.row_keys import Kept, restored_keys, saved_keys
from xmleval.evaluation.settings import check_settings, plan_of
from xmleval.evaluation.spans import Spans
from xmleval.files.saved import Saved, first_difference
from xmleval.input.vectors import Propensity, check_propensity
from xmleval.labels.datasets import published
from xmleval.labels.groups import LabelGroups
from xmleval.labels.hierarchy import from_edges
from xmleval.metrics.entry_points import defined_measure
from xmleval.states.contents import Contents
from xmleval.states.plan import SCORED, Settings
from xmleval.states.state import new_states, refuse_many_cells
from xmleval.view.rule import as_parts, from_parts

UNSCORED = "unscored."  # prefix of arrays of rows that list nothing, counted as without scores


def saved_settings(settings: Settings) -> Saved:
    """Return the settings as saved, for `restored_settings`."""
    arrays = {name: array for name, array in settings.label_arrays.items() if array.size}
    rule = None
    if settings.decision is not None and settings.decision.fitted:
        rule, arrays["decision"] = as_parts(settings.decision)
    meta = {"settings": settings.as_dict(), "constants": settings.constants, "rule": rule}
    modules = {measure.name: measure.module for measure in settings.own_measures}
    return Saved({**meta, "options": sorted(settings.given), "modules": modules}, arrays)


def restored_settings(meta: dict[str, Any], arrays: dict[str, Any]) -> Settings:
    """Return the settings of a saved file, and remove their arrays; refuse invalid ones."""
    saved = meta["settings"]
    rule = meta["rule"]
    _refuse_unknown_measures(meta["modules"])
    constants = meta["constants"]
    n_labels = saved["n_labels"]
    explicit = {name: bool(by_name) for name, by_name in saved["metrics"]}
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
    label_values = dict[str, Any]()
    if rule is not None:
        label_values["decision"] = from_parts(rule, arrays.pop("decision"))
    if "propensity" in arrays:
        label_values["inverse_propensity"] = _restored_propensity(constants, arrays, n_labels)
    if saved["label_groups"] is not None:
        names, ranges = ([*map(str, texts)] for texts in saved["label_groups"])
        groups = arrays.pop("label_groups").reshape(-1)
        label_values["label_groups"] = LabelGroups(names, groups, ranges)
    own_names = saved.get("label_data", [])
    if own_names:
        label_values[LABEL_DATA] = {
            name: arrays.pop(f"{LABEL_DATA}.{name}") for name in map(str, own_names)
        }
    if saved["hierarchy"] is not None:
        edges = arrays.pop("hierarchy", np.empty((0, 2), np.int64))
        other_nodes = [*saved["hierarchy"][1]]
        highest = n_labels + len(other_nodes) - 1
        edges = Contents({"hierarchy": edges}, 0).take("hierarchy", None, 2, high=highest)
        with limited(machine_limit()):
            label_values["hierarchy"] = from_edges(edges, n_labels, other_nodes, saved["labels"])
    settings = check_settings(replace(question, **label_values), n_labels)
    settings = replace(
        settings,
        requested=[(spec, explicit[spec.name]) for spec, _ in settings.requested],
        unknown="unknown" in saved,
        counts_cells=saved.get("counts_cells", True) is True,
    )
    difference = first_difference(settings.as_dict(), saved, "settings", ("as read", "as saved"))
    if difference:
        raise ValueError(difference)
    return settings


def _refuse_unknown_measures(modules: Mapping[str, str]) -> None:
    """Refuse measures of users that this process does not know."""
    for name, module in modules.items():
        if defined_measure(name) is None:
            text = f"measure {shown(name)} is unknown here; its module defines it: "
            raise UnknownMeasureError(Message(text, own_measure(module)))


def _restored_propensity(
    constants: dict[str, Any], arrays: dict[str, Any], n_labels: int
) -> Propensity:
    """Return the inverse propensities of a saved file, and remove their arrays."""
    propensity = check_propensity(arrays.pop("propensity"), n_labels)
    counts = arrays.pop("label_counts", None)
    if counts is not None:
        is_integer = counts.dtype in (np.int32, np.int64)
        if not is_integer or counts.shape != (n_labels,):
            raise ValueError("label_counts are no numbers of training rows")
    model = dict[str, Any]()
    if constants:
        model = {name: float(constants[name]) for name in ("a", "b", "n")}
    if "dataset" in constants:
        model |= published(constants["dataset"]).where()
    return propensity._replace(counts=counts, constants=model)


def saved_counts(counted: Counted) -> Saved:
    """Return the counts as saved, for `restored`; no rows may be waiting."""
    arrays = dict[str, Any]()
    if counted.states is not None:
        arrays = counted.states.arrays()
    if counted.row_keys:
        arrays["row_keys"] = saved_keys(counted.row_keys)
    meta = {
        "n_rows": counted.n_rows,
        "given": sorted(counted.inputs),
        "updated": counted.plan is not None,
        "score_dtype": counted.score_dtype,
        "spans": counted.spans,
        "place": counted.place,
        "notes": notes_as_json(counted.notes),
        "ranks_by_id": counted.ranks_by_id,
    }
    if counted.unscored is not None:
        unscored = saved_counts(counted.unscored)
        meta["unscored"] = unscored.meta
        for name, array in unscored.arrays.items():
            arrays[UNSCORED + name] = array
    return Saved(meta, arrays)


def restored(settings: Settings, resources: Resources, counts: Saved) -> Counted:
    """Return the counts of a saved file, or refuse invalid ones."""
    meta, arrays = counts
    if "unscored" in meta:
        return _restored_both_ways(settings, resources, counts)
    row_keys = arrays.pop("row_keys", None)
    source, row = meta["place"]
    notes = notes_from_json(meta["notes"])
    place = str(source), positive_integer("place", row, at_least=0)
    if meta["updated"] is not True:
        return Counted(place=place, notes=notes)
    n_rows = positive_integer("n_rows", meta["n_rows"], at_least=0)
    inputs = frozenset(meta["given"])
    if not all(isinstance(name, str) for name in inputs):
        raise ValueError("names of inputs are no texts")
    score_dtype = meta["score_dtype"]
    if score_dtype not in (None, "float32", "float64"):
        raise ValueError(f"scores of {score_dtype}")
    spans: Spans = {}
    for name, pairs in meta["spans"].items():
        checked = [(int(start), positive_integer("spans", stop, start)) for start, stop in pairs]
        spans[name] = tuple(checked)
    plan = plan_of(settings, inputs)
    refuse_many_cells("n_rows", plan, n_rows)
    states = new_states(plan, resources)
    states.from_contents(Contents(arrays, n_rows))
    kept: Kept = ()
    if row_keys is not None:
        kept = restored_keys(row_keys, n_rows)
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
        ranks_by_id=meta["ranks_by_id"] is True,
    )


def _restored_both_ways(settings: Settings, resources: Resources, counts: Saved) -> Counted:
    """Return the counts of rows that list nothing, as lists with scores and as lists without."""
    meta = dict(counts.meta)
    arrays = counts.arrays
    unscored_meta = dict(meta.pop("unscored"))
    unscored_meta.pop("unscored", None)
    unscored_arrays = dict[str, Any]()
    for name in [name for name in arrays if name.startswith(UNSCORED)]:
        unscored_arrays[name.removeprefix(UNSCORED)] = arrays.pop(name)
    scored = restored(settings, resources, Saved(meta, arrays))
    unscored = restored(settings, resources, Saved(unscored_meta, unscored_arrays))
    have_same_inputs = scored.inputs - {SCORED} == unscored.inputs
    if not scored.inputs or not have_same_inputs or scored.n_rows != unscored.n_rows:
        raise ValueError("rows that list nothing are not the same in both ways")
    return replace(scored, unscored=unscored)
