"""Damaged saved files are refused by a line that names them, or can be used."""

import contextlib
import copy
import json
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import seeds
from tests.limits import small_limits
from tests.problems import Problem, problems
from xmleval import Evaluator

M = 12
N = 7
rng = np.random.default_rng(3)
TRUTH = (rng.random((M, N)) < 0.3).astype(int)
TRUTH[4] = 0
DENSE = rng.choice([-1.0, 0.0, 0.5, 2.0, 3.5], (M, N))
ORDER = np.argsort(-DENSE, axis=1, kind="stable")[:, :4]
LISTS = ORDER, np.take_along_axis(DENSE, ORDER, axis=1)
WEIGHTS = {"sample_weight": rng.random(M)}
ALL: dict[str, Any] = {
    "metrics": ["all", "ace@2", "ece(bins=3)", "h_f1.micro@2", "aurc@1", "popularity@1"],
    "y_train": rng.random((9, N)) < 0.3,
    "hierarchy": [(1, 0), (2, 0), (3, 1)],
    "decision": "top2",
    "per_row": True,
    "per_label": True,
    "curve_points": 5,
    "conventions": "unlisted=0.25,link=sigmoid",
}
BOUNDS: dict[str, Any] = {"metrics": ["auc.micro", "lrap"], "bounds": True}
GROUPS: dict[str, Any] = {
    "metrics": ["p@2", "psp@2", "f1.macro@2", "lrap", "auc.macro"],
    "y_train": ALL["y_train"],
    "confidence": 0.9,
}
# options of evaluators that have all states together, and inputs
SAVED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all": (ALL, {}),
    "weighted": (ALL, WEIGHTS),
    "bounds": (BOUNDS, {}),
    "spilled": ({"metrics": "curves", "memory": 1}, {}),
    "intervals": (GROUPS, {}),
    "weighted intervals": (GROUPS, WEIGHTS),
    "packed": ({"metrics": ["auc.micro", "ap.micro"], "curve_points": 5}, {}),
    "groups": (GROUPS | {"label_groups": [*"abacbba"]}, {"row_groups": np.arange(M) % 2}),
}
Arrays = dict[str, Any]


def arrays_of(evaluator: Evaluator) -> Arrays:
    """Return what an evaluator saves."""
    with tempfile.TemporaryDirectory() as folder:
        evaluator.save(Path(folder, "saved.npz"))
        with np.load(Path(folder, "saved.npz")) as archive:
            return dict(archive)


@cache
def saved(name: str) -> Arrays:
    options, inputs = SAVED[name]
    evaluator = Evaluator(n_labels=N, **options)
    if name != "packed":
        evaluator.update(TRUTH, LISTS, **inputs)
        return arrays_of(evaluator)
    labels, scores = LISTS
    with small_limits():
        evaluator.update(TRUTH, (labels, scores.astype(np.float32)), **inputs)
        return arrays_of(evaluator)


def values_of(arrays: Arrays) -> Any:
    return json.loads(arrays["meta"].tobytes())


def write(path: Path, arrays: Arrays, values: Any) -> Path:
    """Write arrays and values with right checksums."""
    members = {**arrays, "meta": np.frombuffer(json.dumps(values).encode(), np.uint8)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in members.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array))
    return path


def refusal(call: Callable[[], Any], *starts: str) -> str:
    """Return the line of a refusal, or nothing; any other error is raised."""
    try:
        call()
    except (ValueError, FileNotFoundError) as error:
        if not str(error).startswith(starts):
            raise
        return str(error)
    return ""


def refused(path: Path, arrays: Arrays, **changed: Any) -> str:
    write(path, arrays, values_of(arrays) | changed)
    return refusal(partial(Evaluator.load, path), f"{path}: not a saved evaluator, or damaged (")


ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    40,
    2**53,
    10**30,
    1.5,
    float("nan"),
    "",
    "below",
    "p@99999999999",
    "top3",
    "\x1b[31m",
    "\ud800",
    [],
    {},
    [[0, 10**18]],
    [["p@1", True]],
    {"a": 1.0, "b": 2.0},
]
NUMBERS = [
    np.nan,
    np.inf,
    -1.0,
    -0.0,
    0.5,
    1.0,
    7.0,
    12.0,
    255.0,
    2.0**40,
    2.0**62,
    -(2.0**63),
    1e308,
]
TYPES = ["?", "i1", "u8", ">i8", "f4", ">f8", "c16", "S3"]


def spoil(array: Any, draw: np.random.Generator) -> Any:
    """Return an array with another number at one place, or everywhere."""
    value = np.array(complex(*draw.choice(NUMBERS, 2))).astype(array.dtype)
    places = draw.permutation(array.size).reshape(array.shape)
    return np.where(places < draw.choice([1, array.size]), value, array)


CHANGES: list[Callable[[Any, np.random.Generator], Any]] = [
    spoil,
    spoil,
    spoil,
    lambda array, draw: np.concatenate([array, array]),
    lambda array, draw: array.astype(TYPES[draw.integers(len(TYPES))]),
    lambda array, draw: array[:-1],
    lambda array, draw: array[::-1],
    lambda array, draw: array.reshape(1, *array.shape),
    lambda array, draw: np.zeros((2**40, 0)),
]


def mutate_values(values: Any, draw: np.random.Generator) -> Any:
    """Return JSON values with one changed or removed somewhere."""
    place = values = copy.deepcopy(values)
    while True:
        keys: list[Any] = [*range(len(place))]
        if isinstance(place, dict):
            keys = [*place]
        key = keys[draw.integers(len(keys))]
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.3:
            break
        place = place[key]
    if draw.integers(8):
        place[key] = ODD[draw.integers(len(ODD))]
    else:
        del place[key]
    return values


def mutate(arrays: Arrays, draw: np.random.Generator) -> tuple[Arrays, Any]:
    """Return arrays and values of a saved file with a change that is wrong as a rule."""
    arrays = dict(arrays)
    names = sorted({*arrays} - {"meta"})
    if draw.random() < 0.25 or not names:
        return arrays, mutate_values(values_of(arrays), draw)
    name = names[draw.integers(len(names))]
    change = CHANGES[draw.integers(len(CHANGES))]
    with warnings.catch_warnings(action="ignore"):
        arrays[name] = change(np.atleast_1d(arrays[name]), draw)
    return arrays, values_of(arrays)


def use(path: Path, other: Path) -> None:
    """Load, compute, merge and save again."""
    for first, second in ((path, path), (path, other), (other, path)):
        whole = Evaluator.load(first)
        added = Evaluator.load(second)
        added.save(path.with_suffix(".again"))
        # numbers that no rows have may overflow
        with contextlib.suppress(ArithmeticError), warnings.catch_warnings(action="ignore"):
            assert added.n_rows == 0 or str(added.compute())
            refused = refusal(partial(whole.merge, added), "merge: ", "first_row: ")
            assert refused or whole.n_rows == 0 or str(whole.compute())


@pytest.mark.slow
@settings(max_examples=30)
@given(problem=problems(least_rows=1), seed=seeds, small=st.booleans())
def test_changed_contents_are_refused_or_can_be_used(
    problem: Problem, seed: int, small: bool
) -> None:
    draw = np.random.default_rng(seed)
    memory = 1 << 23
    if small and not problem.has("confidence"):
        memory = 1
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if small:
            stack.enter_context(small_limits())
        path = Path(folder, "changed.npz")
        other = Path(folder, "other.npz")
        evaluator = problem.evaluator(memory=memory)
        evaluator.update(**problem.rows())
        evaluator.save(other)
        arrays = arrays_of(evaluator)
        for _ in range(5):
            write(path, *mutate(arrays, draw))
            if not refusal(partial(Evaluator.load, path, memory=memory), f"{path}: "):
                use(path, other)


# numbers by which kernels would read or write elsewhere, or never end
BROKEN: dict[str, dict[str, list[Any]]] = {
    "all": {
        "rank_profile/keys": [-1, 99],
        "label_extremes/sizes": [2],
        "score_runs/width": [2, 3, 16, -4],
        "score_runs/cells.relevant.held0": [np.nan],
        "score_runs/columns.relevant.held0": [7 + 1j, -1, complex(np.nan, 0), 1e300],
        "propensity": [2.0**31, np.nan],
        "hierarchy": [99],
        "pair_scores/2.hits.held": [2.0**63],
        "top_scores/rows.held": [np.nan],
    },
    "weighted": {
        "weighted_scores/totals": [np.nan],
        "weighted_scores/width": [3],
        "weighted_scores/cells.relevant.held": [-1, 0, np.nan],
        "weighted_scores/columns.irrelevant.held": [7],
    },
    "bounds": {"score_runs/last": [np.nan]},
    "packed": {
        "score_runs/first.cells.relevant": [0, 1, 0xFF80, 1 << 16],
        "score_runs/n_true": [0, N * M + 1],
        "score_runs/first.cells.irrelevant": [0, 1, 0xFF80, -1],
        "score_runs/starts.cells.relevant": [0, 8],
    },
    "spilled": {
        "score_runs/columns.irrelevant.run0": [-1],
        "score_runs/cells.relevant.run0": [np.nan],
    },
}


@pytest.mark.parametrize("case", BROKEN)
def test_numbers_that_kernels_cannot_take_are_refused(case: str, tmp_path: Path) -> None:
    arrays = saved(case)
    path = tmp_path / "changed.npz"
    for name, values in BROKEN[case].items():
        assert "unexpected array" in refused(path, {**arrays, f"{name}x": arrays[name]})
        if not re.search("score_runs/c", name):  # cells without a score are unlisted
            without = {each: array for each, array in arrays.items() if each != name}
            assert refused(path, without), name
        for value in values:
            assert refused(path, {**arrays, name: np.full_like(arrays[name], value)}), (name, value)


def test_numbers_of_training_rows_are_refused_unless_there_is_one_for_each_label(
    tmp_path: Path,
) -> None:
    arrays = saved("all")
    counts = arrays["label_counts"]
    assert counts.tolist() == ALL["y_train"].sum(axis=0).tolist()
    path = tmp_path / "changed.npz"
    for changed in (counts[:-1], np.append(counts, 1), counts.astype(float), counts[:, None]):
        message = refused(path, {**arrays, "label_counts": changed})
        assert "label_counts are no numbers of training rows" in message


@pytest.mark.parametrize("side", ["relevant", "irrelevant"])
def test_packed_scores_that_are_not_numbers_are_refused(side: str, tmp_path: Path) -> None:
    """Buckets at the ends of the numbers: the outermost ones are the infinities."""
    arrays = saved("packed")
    path = tmp_path / "changed.npz"
    first = f"score_runs/first.cells.{side}"
    starts = f"score_runs/starts.cells.{side}"
    occurring = np.flatnonzero(np.diff(arrays[starts]))
    lowest, highest = (int(arrays[first][0] + end) for end in occurring[[0, -1]])
    cases = [
        (0x7E, False),
        (0x7F, False),
        (0x80, True),
        (0xFF80, True),
        (0xFF81, False),
    ]
    for bucket, is_number in cases:
        moved = bucket - (lowest if bucket < 1 << 15 else highest)
        if arrays[first][0] + moved < 0 or highest + moved >= 1 << 16:
            continue
        message = refused(path, {**arrays, first: arrays[first] + moved})
        assert bool(message) is not is_number, (hex(bucket), message)
        if is_number:
            assert str(Evaluator.load(path).compute())


def test_weights_of_a_score_that_is_no_number_are_refused(tmp_path: Path) -> None:
    arrays = saved("weighted")
    path = tmp_path / "changed.npz"
    for name in arrays:
        if not re.search(r"(scores|top_scores)/.*\.held$", name):
            continue
        is_by_label = "columns.relevant" in name or "columns.irrelevant" in name
        width = 4 if is_by_label else 3
        for word in range(width - 2):
            first_key = arrays[name][:width].copy()
            first_key[word] = np.nan
            if first_key.size:
                assert refused(path, {**arrays, name: first_key}), (name, word)


@pytest.mark.parametrize(
    ("memory", "dtype"), [(1, np.float32), (1, np.float64), (1 << 23, np.float32)]
)
def test_scores_in_another_order_are_refused(memory: int, dtype: Any, tmp_path: Path) -> None:
    """Spilled scores ascend; scores counted by value have the starts of their buckets."""
    evaluator = Evaluator("curves", n_labels=N, memory=memory)
    with contextlib.ExitStack() as stack:
        if memory > 1:
            stack.enter_context(small_limits())
        evaluator.update(TRUTH, DENSE.astype(dtype))
        arrays = arrays_of(evaluator)
    names = [name for name in arrays if re.search(r"/c.*\.run|/starts|\.places$", name)]
    assert names
    for name in names:
        changed = np.concatenate([arrays[name][1:], arrays[name][:1]])
        assert refused(tmp_path / "changed.npz", {**arrays, name: changed}), name


def test_arrays_of_another_type_are_refused(tmp_path: Path) -> None:
    groups = saved("groups")
    bounds = saved("bounds")
    numbers = np.frombuffer(json.dumps([1, 2]).encode(), np.uint8)
    assert refused(tmp_path / "changed.npz", groups | {"row_groups/names": numbers})
    last = bounds["score_runs/last"].astype(np.int64)
    assert refused(tmp_path / "changed.npz", bounds | {"score_runs/last": last})


VALUES: list[tuple[str, Any]] = [
    ("n_rows", -1),
    ("n_rows", 12.0),
    ("given", ["x"]),
    ("score_dtype", "float16"),
    ("place", ["a", -1]),
    ("rule", 0),
    ("settings", []),
    ("spans", {"": [[8, 7]]}),
    ("constants", {"a": 1.0}),
    ("constants", {"\\input{x}": 1.0}),
    ("settings.n_labels", 8),
    ("settings.per_row", 1.5),
    ("settings.decision", "top1_0"),
    ("settings.metrics", [["xmc", True]]),
    ("settings.bounds", None),
    ("settings.curve_points", -1),
    ("settings.more", 1),
]


def test_values_that_no_evaluator_has_are_refused(tmp_path: Path) -> None:
    arrays = saved("all")
    path = tmp_path / "changed.npz"
    settings = json.loads(arrays["meta"].tobytes())["settings"]
    for name, value in VALUES:
        outer, _, inner = name.rpartition(".")
        changed = {name: value}
        if outer:
            changed = {outer: settings | {inner: value}}
        assert refused(path, arrays, **changed), (name, value)
