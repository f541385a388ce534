"""The report does not depend on the form of the truth and predictions."""

import copy
import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.forms import ARRAYS, LISTED, STORED, Result, with_index_type
from xmleval import Evaluator, Running, evaluate, inverse_propensity, label_statistics
from xmleval.thresholds import fit

T = np.array(
    [
        [1, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],
        [1, 1, 0, 1, 1, 0],
    ]
)
H = np.array(
    [
        [1, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 1, 0, 1, 1, 1],
    ]
)
# zero is "no score" here; halves are exact in every float type, and no two of a row are equal
S = np.array(
    [
        [4, 3, 0.5, 0, 0, 2],
        [0, -1, 0, 2.5, 0, 3],
        [1, 0, 0, 2, 0, 0],
        [-2, 0, 1.5, 0, 5, 0],
    ]
)
M, N = T.shape
IDS = [np.flatnonzero(row).tolist() for row in T]
RANKED = [
    "p@1",
    "p@3",
    "ndcg@3",
    "map@5",
    "one_error",
    "coverage",
    "ranking_loss",
    "lrap",
    "f1.macro@2",
]
SETS = ["subset_accuracy", "hamming_loss", "f1.macro", "f1.samples", "f1.micro"]
BOTH = RANKED + SETS
TYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", ">i4", ">f8")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # of torch


def json_of(*rows: Any, **options: Any) -> str:
    """Return the report as JSON, without notes about the order of lists."""
    report = evaluate(*rows, **options).to_dict()
    del report["notes"]
    return json.dumps(report)


def contents(value: Any) -> Any:
    """Return what a call must not change in an argument."""
    if isinstance(value, np.ndarray):
        return (
            value.tobytes("A"),
            value.dtype.str,
            value.shape,
            value.strides,
            value.flags.writeable,
        )
    if isinstance(value, tuple):
        return [*map(contents, value)]
    if sp.issparse(value):
        return copy.deepcopy(vars(value))
    return repr(value)


@pytest.mark.parametrize("form", ARRAYS)
def test_report_does_not_depend_on_the_form_of_arrays(form: str) -> None:
    arrays = tuple(map(ARRAYS[form], (T, S, H)))
    y_true, y_score, y_pred = arrays
    before = contents(arrays)
    is_sparse = form in STORED or "bsr" in form
    for unlisted in (0.0, "below"):
        if unlisted == "below" and is_sparse:
            continue
        options: dict[str, Any] = {
            "metrics": BOTH,
            "conventions": {"unlisted": unlisted},
        }
        expected = json_of(T, S, y_pred=H, **options)
        options["y_pred"] = y_pred
        assert json_of(y_true, y_score, **options) == expected
        options |= {"running": Running(block_rows=1), "threads": 2}
        assert json_of(y_true, y_score, **options) == expected
    np.testing.assert_equal(contents(arrays), before)


@pytest.mark.parametrize("form", LISTED)
def test_report_does_not_depend_on_the_form_of_lists(form: str) -> None:
    y_score = LISTED[form](S)
    before = contents(y_score)
    expected = json_of(T, sp.csr_array(S), metrics=RANKED)
    y_true: Any = IDS if isinstance(y_score, list) else T
    for block_rows in (3, None):
        running = Running(block_rows=block_rows)
        actual = json_of(y_true, y_score, n_labels=N, metrics=RANKED, running=running)
        assert actual == expected
    np.testing.assert_equal(contents(y_score), before)
    if "without scores" in form or form == "ids":
        with pytest.raises(ValueError, match=r"auc\.micro needs scores in y_score="):
            evaluate(IDS, y_score, n_labels=N, metrics=["auc.micro"])


@pytest.mark.parametrize("dtype", TYPES)
def test_report_does_not_depend_on_the_type_of_values(dtype: str) -> None:
    expected = json_of(T, S, y_pred=H, metrics=BOTH)
    y_true = T.astype(dtype)
    y_pred = H.astype(dtype)
    assert json_of(y_true, S, y_pred=y_pred, metrics=BOTH) == expected

    y_true = sp.csr_array(T)
    y_pred = sp.csr_array(H)
    for matrix in (y_true, y_pred):
        matrix.data = matrix.data.astype(dtype)
    assert json_of(y_true, S, y_pred=y_pred, metrics=BOTH) == expected

    has_no_sign = dtype in ("?", "u1", "u8")
    if not has_no_sign:
        y_score = (2 * S).astype(dtype)
        assert json_of(T, y_score, metrics=RANKED) == json_of(T, S, metrics=RANKED)


def as_numbers(rows: Any, make: Callable[[Any], Any]) -> list[list[Any]]:
    return [[make(label) for label in row] for row in rows]


def with_ranks(row: list[Any]) -> list[tuple[Any, int]]:
    """Return pairs of labels and falling scores."""
    return [(label, -rank) for rank, label in enumerate(row)]


def reports_with_ids(dtype: str, make: Callable[[Any], Any]) -> str:
    """Return reports of all forms with ids: arrays of a type, and lists of made numbers."""
    ids = np.argsort(-S, axis=1)[:, :3]
    lists = as_numbers(ids, make)
    scores: list[Any] = [
        (ids.astype(dtype), None),
        (ids.astype(dtype), -ids / 4),
        lists,
        with_index_type(S, dtype),
        [*map(with_ranks, lists)],
    ]
    options: dict[str, Any] = {
        "y_pred": with_index_type(H, dtype, "csc"),
        "n_labels": N,
        "metrics": [*BOTH, "psp@1"],
        "y_train": with_index_type(H, dtype),
    }
    truth = with_index_type(T, dtype)
    reports = [json_of(truth, y_score, **options) for y_score in scores]
    reports.append(json_of(as_numbers(IDS, make), S, **options))
    label_counts = H.sum(axis=0).astype(dtype)
    propensities = inverse_propensity(label_counts=label_counts, n_instances=make(9))
    return str([*reports, propensities.tolist()])


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", "i1", "i4", ">u4", ">i8"])
def test_report_does_not_depend_on_the_type_of_ids(dtype: str) -> None:
    """Ids of lists, indices of matrices of all roles, and counts of training labels."""
    native_type = np.dtype(dtype).newbyteorder("=").type
    assert reports_with_ids(dtype, native_type) == reports_with_ids("i8", int)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array"])
def test_stored_zero_is_a_score_but_no_label(form: str) -> None:
    make = getattr(sp, form)
    places = ([0, 0], [0, 1])
    y_score = make(([0.0, -1.0], places), shape=(1, 3))
    report = evaluate([[1, 0, 0]], y_score, metrics=["p@1"])
    assert report["p@1"] == 1.0
    report = evaluate([[0, 0, 1]], y_score, metrics=["coverage"])
    assert report["coverage"] == 2.0

    y_pred = make((np.array([0, 1]), places), shape=(1, 3))
    report = evaluate([[0, 1, 0]], y_pred=y_pred, metrics=["subset_accuracy"])
    assert report["subset_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (np.float64(1), np.float64(1 + 1e-12)),
        (2**53 - 1, 2**53),
        (np.int32(2**24), np.int32(2**24 + 1)),
        (np.float16(1), np.float16(1.001)),
        (False, True),
        (np.uint64(2**63), np.uint64(2**63 + 2048)),
        (-np.inf, -1e308),
        (1e308, np.inf),
    ],
)
def test_scores_keep_their_precision(low: Any, high: Any) -> None:
    scores = np.array([[low, high]])
    labels = [[0, 1]]
    for y_score in (scores, (labels, scores)):
        report = evaluate([[0, 1]], y_score, metrics=["p@1"])
        assert report["p@1"] == 1.0


def test_float32_scores_stay_float32() -> None:
    scores = np.array([[1, 1 + 1e-12]])
    report = evaluate([[0, 1]], scores.astype("f4"), metrics=["p@1"])
    assert report["p@1"] == 0.0

    third = sp.csr_array(np.array([[0, 1 / 3]], "f4"))
    report = evaluate([[0, 1]], third, metrics=["p@1"], conventions={"unlisted": 1 / 3})
    assert report["p@1"] == 0.0  # tied with label 0, which is unlisted and comes first


def test_evaluate_takes_labels_beyond_int32() -> None:
    n = 2**33
    big = 2**32
    true_lists: list[Any] = [[5, big], [n - 1]]
    true_ids = np.array([5, big, n - 1])
    true_matrix = sp.csr_array((np.ones(3), true_ids, [0, 2, 3]), shape=(2, n))

    labels = np.array([[big, 7, 5], [3, -1, -1]])
    values = np.array([[3.0, 2, 1], [1, np.nan, np.nan]])
    ids = np.array([5, 7, big, 3])
    matrix = sp.csr_array((np.array([1.0, 2, 3, 1]), ids, [0, 3, 4]), shape=(2, n))
    ragged: list[Any] = [[big, 7, 5], [3]]

    expected = {
        "p@1": 0.5,
        "ndcg@3": 1.5 / (1 + 1 / math.log2(3)) / 2,
        "coverage": (2 + n - 1) / 2,
        "ranking_loss": (1 / (2 * (n - 2)) + 1) / 2,
    }
    truths = (true_lists, true_matrix)
    scores = ((labels, values), matrix, ragged)
    for y_true, y_score in itertools.product(truths, scores):
        report = evaluate(y_true, y_score, n_labels=n, metrics=[*expected])
        assert dict(report) == pytest.approx(expected, rel=1e-15)


def test_lists_of_ids_take_the_number_of_labels_from_a_matrix() -> None:
    expected = json_of(T, S, y_pred=H, metrics=BOTH)
    sets = [set(row) for row in IDS]
    frozen_sets = [frozenset(row) for row in IDS]
    for y_true in (IDS, sets, frozen_sets):
        assert json_of(y_true, S, y_pred=H, metrics=BOTH) == expected

    y_pred = [np.flatnonzero(row).tolist() for row in H]
    expected = json_of(T, y_pred=H, metrics=SETS)
    assert json_of(T, y_pred=y_pred, metrics=SETS) == expected

    square = S[:, :4]
    order = [2, 0, 1, 3]
    expected = json_of(np.eye(4)[order], square, metrics=RANKED)
    assert json_of([[label] for label in order], square, metrics=RANKED) == expected


def test_integers_of_a_pair_are_labels_only_where_one_can_be() -> None:
    labels = np.array(
        [
            [0, 3, 2],
            [2, 1, -1],
            [4, 3, 0],
            [0, 1, 2],
        ]
    )
    ranks = np.array([[3, 2, 1]] * 4)
    expected = json_of(T, (labels, ranks * 1.0), metrics=RANKED)
    for pair in (
        (labels, ranks * 10),
        {"indices": labels, "scores": ranks},
        Result(ranks, labels),
    ):
        assert json_of(T, pair, metrics=RANKED) == expected


@pytest.mark.parametrize("form", ["tensor", "device", "torch plain"])
def test_arrays_of_other_libraries_are_taken_wherever_arrays_are(form: str) -> None:
    make = ARRAYS[form]
    y_true = make(T)
    y_score = make(S)
    propensities = inverse_propensity(H)
    assert inverse_propensity(make(H)).tolist() == propensities.tolist()

    vectors = {
        "sample_weight": np.array([1.0, 2, 0, 3]),
        "inverse_propensity": np.array(propensities),
    }
    made = {name: make(vector) for name, vector in vectors.items()}
    expected = json_of(T, S, metrics="psp@3", **vectors)
    assert json_of(y_true, y_score, metrics="psp@3", **made) == expected

    expected = fit(T, S, "f1.micro").apply(S)
    predicted = fit(y_true, y_score, "f1.micro").apply(y_score)
    assert (expected != predicted).nnz == 0
    assert label_statistics(y_true) == label_statistics(T)


def test_evaluator_copies_propensities() -> None:
    values = [3.0, 1.0, 2.0, 5.0, 1.5, 9.0]
    changed = np.array(values)
    evaluator = Evaluator(["psp@3"], n_labels=N, inverse_propensity=changed)
    evaluator.update(T, S)
    changed[:] = 1.0
    expected = evaluate(T, S, metrics=["psp@3"], inverse_propensity=values)
    assert evaluator.compute() == expected
