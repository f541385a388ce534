"""Saved files with right checksums and wrong contents: valid ones of every state, and mutations of them."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from xmleval import Evaluator, inverse_propensity
from xmleval.files.saved import STATE, Form, Saved, save_state
from xmleval.pooled import values
from xmleval.records import Chunks
from xmleval.thresholds import fit

M, N = 12, 7
RNG = np.random.default_rng(3)
TRUTH = (RNG.random((M, N)) < 0.3).astype(np.int8)
TRUTH[4] = 0
DENSE = RNG.choice([-1.0, 0.0, 0.5, 2.0, 3.5], (M, N))
ORDER = np.argsort(-DENSE, axis=1, kind="stable")[:, :4]
LISTS = ORDER, np.take_along_axis(DENSE, ORDER, axis=1)
PRED = TRUTH[::-1].copy()
Q = 1.0 + RNG.random(N) * 9
COUNTED = inverse_propensity(label_counts=RNG.integers(0, 9, N), n_instances=10)
WEIGHT = RNG.random(M)
GROUPS = [*"abacbba"]
RANKS = ["p@3", "ndcg@3", "psp@3", "psndcg@2", "psr_raw@2", "lrap", "hit@2", "ndcg@all", "rprec.micro"]
CURVES = ["auc.micro", "ap.micro", "peak_f1.micro", "auc.macro", "ap.weighted", "peak_f1.macro"]
MARGINS = ["margin.samples", "margin.macro", "margin_share.macro", "coverage"]
LABEL_RULE = partial(fit, TRUTH, DENSE, "f1.macro", rule="label")  # called by who needs it: it compiles
# options of an evaluator, and the inputs that it is given beside the truth
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ranks": ({"metrics": RANKS, "inverse_propensity": Q}, {"y_score": LISTS}),
    "kept ranks": ({"metrics": RANKS, "inverse_propensity": Q, "per_row": True}, {"y_score": LISTS}),
    "weighted ranks": (
        {"metrics": RANKS, "inverse_propensity": Q, "per_row": True},
        {"y_score": LISTS, "sample_weight": WEIGHT},
    ),
    "predicted": ({"metrics": ["gini@2", "popularity@2"], "inverse_propensity": COUNTED}, {"y_score": LISTS}),
    "sets": ({"metrics": "sets", "per_label": True}, {"y_pred": PRED}),
    "weighted sets": ({"metrics": "sets", "per_label": True}, {"y_pred": PRED, "sample_weight": WEIGHT}),
    "sets at k": ({"metrics": ["f1.macro@2", "f1.micro"], "decision": "threshold0.5"}, {"y_score": DENSE}),
    "fitted rule": (
        {"metrics": ["f1.macro", "mcc.micro"], "decision": LABEL_RULE},
        {"y_score": DENSE},
    ),
    "curves": ({"metrics": CURVES, "curve_points": 5, "per_label": True}, {"y_score": LISTS}),
    "spilled curves": ({"metrics": CURVES, "memory": 1, "unlisted": 0.25}, {"y_score": LISTS}),
    "narrow curves": ({"metrics": CURVES, "memory": 1}, {"y_score": DENSE.astype(np.float32)}),
    "packed curves": ({"metrics": CURVES, "curve_points": 5, "unlisted": 0.25},
                      {"y_score": DENSE.astype(np.float32)}),
    "pairs": ({"metrics": ["auc.micro"]}, {"y_score": DENSE.astype(np.float32)}),
    "bounds": ({"metrics": ["auc.micro", "auc.macro", "lrap"], "bounds": True}, {"y_score": LISTS}),
    "spilled bounds": ({"metrics": ["auc.weighted", "coverage"], "bounds": True, "memory": 1},
                       {"y_score": LISTS}),
    "weighted bounds": ({"metrics": ["lrap"], "bounds": True}, {"y_score": LISTS, "sample_weight": WEIGHT}),
    "weighted curves": (
        {"metrics": [*CURVES, "auc.micro(bits=4)"], "curve_points": 5, "per_label": True},
        {"y_score": LISTS, "sample_weight": WEIGHT},
    ),
    "spilled weighted curves": ({"metrics": CURVES, "memory": 1, "unlisted": 0.25},
                                {"y_score": LISTS, "sample_weight": WEIGHT}),
    "weighted curve bounds": ({"metrics": ["auc.micro", "auc.macro"], "bounds": True},
                              {"y_score": LISTS, "sample_weight": WEIGHT}),
    "leading bits": ({"metrics": ["auc.micro(bits=3)", "auc.micro(bits=5)"]}, {"y_score": LISTS}),
    "leading bits of all": ({"metrics": ["auc.micro(bits=3)"], "unlisted": 0.25}, {"y_score": LISTS}),
    "margins": ({"metrics": MARGINS, "unlisted": -2.0, "per_label": True, "per_row": True},
                {"y_score": LISTS}),
    "weighted margins": ({"metrics": MARGINS}, {"y_score": DENSE, "sample_weight": WEIGHT}),
    "gaps": ({"metrics": "all"}, {"y_score": LISTS}),
    "label sets": ({"metrics": ["label_diversity", "proportional_diversity", "label_cardinality"]}, {}),
    "candidates": ({"metrics": ["p@1", "p@2"]}, {"y_score": LISTS, "candidates": PRED}),
    "groups": (
        {"metrics": [*RANKS, "f1.macro@2", "auc.macro"], "inverse_propensity": Q, "label_groups": GROUPS},
        {"y_score": LISTS, "row_groups": np.array(["de", "en", "fr"] * 4)},
    ),
    "weighted groups": (
        {"metrics": ["p@1", "f1.macro@2", "auc.micro"], "label_groups": GROUPS, "memory": 1},
        {"y_score": LISTS, "row_groups": np.arange(M) % 2, "sample_weight": WEIGHT},
    ),
    "calibration": (
        {"metrics": ["ece(bins=3)", "ece@2", "brier@2", "log_loss", "ace", "ace(bins=3)@2"],
         "link": "sigmoid"},
        {"y_score": LISTS},
    ),
    "weighted calibration": (
        {"metrics": ["ece@2", "brier", "ace@2"], "memory": 1, "link": "sigmoid", "unlisted": 0.25},
        {"y_score": LISTS, "sample_weight": WEIGHT},
    ),
    "hierarchy": (
        {"metrics": ["h_f1.micro@2", "h_recall.micro"], "hierarchy": [(1, 0), (2, 0), (3, 1)]},
        {"y_score": LISTS, "y_pred": PRED},
    ),
    "nothing": ({"metrics": ["p@1"]}, {"y_score": LISTS}),
}  # fmt: skip


def evaluator_of(case: str, first_row: int = 0) -> Evaluator:
    """Return an evaluator that has counted rows in two batches, or none for the case without."""
    options, given = CASES[case]
    options = {name: value() if callable(value) else value for name, value in options.items()}
    found = Evaluator(n_labels=N, **options)
    with contextlib.ExitStack() as stack:
        if case.startswith("packed"):
            stack.enter_context(mock.patch.object(values, "MANY", 1))
        return _updated(found, case, given, first_row)


def _updated(found: Evaluator, case: str, given: dict[str, Any], first_row: int) -> Evaluator:
    for rows in [] if case == "nothing" else [slice(0, 8), slice(8, M)]:
        own: dict[str, Any] = {
            name: tuple(part[rows] for part in value) if isinstance(value, tuple) else value[rows]
            for name, value in given.items()
        }
        found.update(TRUTH[rows], **own, first_row=first_row + rows.start)
    return found


def contents(saved: Saved) -> Saved:
    """Return what is saved, with arrays in place of what is read in pieces."""
    arrays = {
        name: np.concatenate([np.empty(0, array.dtype), *array.read()])
        if isinstance(array, Chunks)
        else array
        for name, array in saved.arrays.items()
    }
    return Saved(saved.meta, arrays)


ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 40, 2**53, 10**12, 2**62, 10**18, 2**63 - 1, 10**30, 1.0, 1.5, 1e300,
    float("nan"), float("inf"), -float("inf"), "", "0", "1_0", "nan", "below", "p@1", "p@99999999999",
    "auc.micro", "top3", "y_score", "y_pred", "sample_weight", "float32", "float64", "\x1b[31m",
    "\ud800", "x" * 3000, [], [[]], {}, [0], [1, 2], [[0, 5]], [[0, 10**18]], [["p@1", True]], {"": 1},
    {"a": "b"}, {"a": 1.0, "b": 2.0},
]  # fmt: skip
TYPES = [
    "?",
    "i1",
    "u1",
    "i4",
    "u8",
    "i8",
    ">i8",
    "f4",
    "f8",
    ">f8",
    "c16",
    "S3",
    "U2",
    "M8[s]",
    "f2",
    "V3",
    "i8,f8",
]


def _retyped(array: Any, rng: np.random.Generator) -> Any:
    dtype = np.dtype(str(rng.choice(TYPES)))
    try:
        return array.astype(dtype)
    except (TypeError, ValueError):
        return np.zeros(array.shape, dtype)


def _value(array: Any, rng: np.random.Generator) -> Any:
    kinds = {
        "i": [
            -1,
            -(2**63),
            2**63 - 1,
            2**62,
            2**53,
            2**53 - 1,
            2**40,
            1 << 52,
            1 << 32,
            0,
            1,
            2,
            7,
            12,
            255,
            256,
        ],
        "f": [np.nan, np.inf, -np.inf, -0.0, 0.0, -1.0, 1e308, -1e308, 0.5, 1.5, 2.0, 5e-324],
        "c": [complex(np.nan, 0), complex(0, np.nan), 1e30, -1, 0.5, complex(1, -0.0), complex(6, np.inf), 0],
    }
    return rng.choice(np.array(kinds.get(array.dtype.kind, [0])).astype(array.dtype))


def _spoiled(array: Any, rng: np.random.Generator) -> Any:
    found = array.copy()
    if found.size:
        flat = found.reshape(-1)
        flat[rng.integers(0, flat.size, rng.choice([1, 1, 2, flat.size]))] = _value(array, rng)
    return found


def _moved(array: Any, rng: np.random.Generator) -> Any:
    if array.dtype.kind not in "if" or not array.size:
        return array[::-1]
    found = array.copy()
    found.reshape(-1)[rng.integers(array.size)] += rng.choice(np.array([-1, 1, 3, 1000]).astype(array.dtype))
    return found


def _longer(array: Any, rng: np.random.Generator) -> Any:
    axis = rng.integers(array.ndim)
    return np.concatenate([array, array], axis) if array.shape[axis] else np.ones_like(array, shape=(3,))


CHANGES: list[Callable[[Any, np.random.Generator], Any]] = [
    _spoiled, _spoiled, _moved, _moved, _longer, _retyped,
    lambda array, rng: array[:0],
    lambda array, rng: array[:-1],
    lambda array, rng: array[..., :-1],
    lambda array, rng: array[::-1],
    lambda array, rng: array.reshape(-1),
    lambda array, rng: array.reshape(1, *array.shape),
    lambda array, rng: array.reshape(-1)[:1].reshape(()) if array.size else np.zeros(()),
    lambda array, rng: np.asfortranarray(array.T),
    lambda array, rng: array if len(array) > M * N else rng.permutation(array),
    lambda array, rng: -array if array.dtype.kind in "ifc" else array,
    lambda array, rng: np.zeros_like(array),
    lambda array, rng: np.full(array.shape, _value(array, rng), array.dtype),
    lambda array, rng: np.zeros((2**40, 0)),
    lambda array, rng: np.broadcast_to(array, (3, *array.shape)).copy(),
]  # fmt: skip
NAMES = [
    "x",
    "",
    "kept0.0",
    "kept9.0",
    "kept0.-1.n_relevant",
    "kept1_0.5",
    "score_runs/cells.relevant.held7",
    "score_runs/cells.relevant.run\u0663",
    "row_sums/kept0.x",
    "rank_profile/kept5.0.n_relevant",
    "../x",
]


def mutate_arrays(arrays: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return arrays with something wrong, as a rule."""
    arrays, names = dict(arrays), sorted(arrays)
    if not names:
        return {str(rng.choice(NAMES)): np.zeros(3)}
    name, other = (str(one) for one in rng.choice(names, 2))
    how = rng.integers(20)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif how == 2:
        arrays[str(rng.choice(NAMES))] = arrays[name]
    elif how == 3:
        arrays[name + str(rng.choice(["x", "1", ".0", " "]))] = arrays.pop(name)
    else:
        for one in (name, other)[: rng.integers(1, 3)]:
            arrays[one] = CHANGES[rng.integers(len(CHANGES))](np.atleast_1d(arrays[one]), rng)
    return arrays


def mutate_meta(meta: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return JSON values with something wrong, as a rule."""
    meta = copy.deepcopy(meta)
    at: Any = meta
    while True:
        keys = [*at] if isinstance(at, dict) else [*range(len(at))]
        if not keys:
            break
        key = keys[rng.integers(len(keys))]
        if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.7:
            at = at[key]
            continue
        how = rng.integers(8)
        if how == 0:
            del at[key]
        elif how == 1 and isinstance(at, list):
            at.append(at[key])
        elif how == 1:
            at["more"] = at[key]
        else:
            at[key] = ODD[rng.integers(len(ODD))]
        break
    return meta


def mutate(saved: Saved, rng: np.random.Generator) -> Saved:
    """Return wrong contents, as a rule."""
    meta, arrays = saved
    if rng.random() < 0.3:
        meta = mutate_meta(meta, rng)
        if rng.random() < 0.7:
            return Saved(meta, arrays)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        return Saved(meta, mutate_arrays(arrays, rng))


def write(path: Path, saved: Saved, form: Form = STATE) -> None:
    """Write contents with the checksums that belong to them."""
    save_state(path, saved, form)
