"""Whatever form the truth and predictions have, the report is that of arrays."""

import copy
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.forms import ARRAYS, LISTED, STORED, Result, with_index_type
from xmleval import Evaluator, Running, evaluate, inverse_propensity, label_statistics
from xmleval.thresholds import fit

T = np.array([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0]])
H = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 1, 0, 1, 1, 1]])
# zero is "no score" here; halves are exact in every float type, and no two of a row are equal
S = np.array([[4, 3, 0.5, 0, 0, 2], [0, -1, 0, 2.5, 0, 3], [1, 0, 0, 2, 0, 0], [-2, 0, 1.5, 0, 5, 0]])
M, N = T.shape
IDS = [np.flatnonzero(row).tolist() for row in T]
RANKED = ["p@1", "p@3", "ndcg@3", "map@5", "one_error", "coverage", "ranking_loss", "lrap", "f1.macro@2"]
SETS = ["subset_accuracy", "hamming_loss", "f1.macro", "f1.samples", "f1.micro"]
TYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", ">i4", ">f8")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # of torch


def json_of(*rows: Any, **options: Any) -> str:
    report = evaluate(*rows, **options).to_dict()
    del report["notes"]  # which say in what order lists were
    return json.dumps(report)


def contents(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes("A"), value.dtype.str, value.shape, value.strides, value.flags.writeable
    if isinstance(value, tuple):
        return [*map(contents, value)]
    return copy.deepcopy(vars(value)) if sp.issparse(value) else repr(value)


@pytest.mark.parametrize("form", ARRAYS)
def test_report_does_not_depend_on_the_form_of_arrays(form: str) -> None:
    arrays = y_true, y_score, y_pred = tuple(map(ARRAYS[form], (T, S, H)))
    before = contents(arrays)
    for unlisted in (0.0, "below"):
        if unlisted == "below" and (form in STORED or "bsr" in form):
            continue
        options: dict[str, Any] = {"metrics": RANKED + SETS, "conventions": {"unlisted": unlisted}}
        expected = json_of(T, S, y_pred=H, **options)
        assert json_of(y_true, y_score, y_pred=y_pred, **options) == expected
        assert (
            json_of(y_true, y_score, y_pred=y_pred, running=Running(block_rows=1), threads=2, **options)
            == expected
        )
    np.testing.assert_equal(contents(arrays), before)


@pytest.mark.parametrize("form", LISTED)
def test_report_does_not_depend_on_the_form_of_lists(form: str) -> None:
    y_score = LISTED[form](S)
    before = contents(y_score)
    expected = json_of(T, sp.csr_array(S), metrics=RANKED)
    y_true: Any = IDS if isinstance(y_score, list) else T
    for block_rows in (3, None):
        assert (
            json_of(y_true, y_score, n_labels=N, metrics=RANKED, running=Running(block_rows=block_rows))
            == expected
        )
    np.testing.assert_equal(contents(y_score), before)
    if "without scores" in form or form == "ids":
        with pytest.raises(ValueError, match=r"auc\.micro needs scores in y_score="):
            evaluate(IDS, y_score, n_labels=N, metrics=["auc.micro"])


@pytest.mark.parametrize("dtype", TYPES)
def test_report_does_not_depend_on_the_type_of_values(dtype: str) -> None:
    expected = json_of(T, S, y_pred=H, metrics=RANKED + SETS)
    assert json_of(T.astype(dtype), S, y_pred=H.astype(dtype), metrics=RANKED + SETS) == expected
    cells = [sp.csr_array(a) for a in (T, H)]
    for matrix in cells:
        matrix.data = matrix.data.astype(dtype)
    assert json_of(cells[0], S, y_pred=cells[1], metrics=RANKED + SETS) == expected
    if dtype not in ("?", "u1", "u8"):
        assert json_of(T, (2 * S).astype(dtype), metrics=RANKED) == json_of(T, S, metrics=RANKED)


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", "i1", "i4", ">u4", ">i8"])
def test_report_does_not_depend_on_the_type_of_ids(dtype: str) -> None:
    """Ids of lists, indices of matrices of all roles, and counts of training labels."""
    ids = np.argsort(-S, axis=1)[:, :3]

    def report(dtype: str, number: Any) -> str:
        lists = [[number(label) for label in row] for row in ids]
        options: dict[str, Any] = {
            "y_pred": with_index_type(H, dtype, "csc"), "n_labels": N, "metrics": [*RANKED, *SETS, "psp@1"],
        }  # fmt: skip
        scores: list[Any] = [
            (ids.astype(dtype), None), (ids.astype(dtype), -ids / 4), lists, with_index_type(S, dtype),
            [[(label, -rank) for rank, label in enumerate(row)] for row in lists],
        ]  # fmt: skip
        truth, train = with_index_type(T, dtype), with_index_type(H, dtype)
        reports = [json_of(truth, y_score, y_train=train, **options) for y_score in scores]
        truth = [[number(label) for label in row] for row in IDS]
        reports.append(json_of(truth, S, y_train=train, **options))
        counts = {"label_counts": H.sum(axis=0).astype(dtype), "n_instances": number(9)}
        return str([*reports, inverse_propensity(**counts).tolist()])

    assert report(dtype, np.dtype(dtype).newbyteorder("=").type) == report("i8", int)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array"])
def test_stored_zero_is_a_score_but_no_label(form: str) -> None:
    cells = [0.0, -1.0], ([0, 0], [0, 1])
    stored = getattr(sp, form)(cells, shape=(1, 3))
    assert evaluate([[1, 0, 0]], stored, metrics=["p@1"])["p@1"] == 1.0
    assert evaluate([[0, 0, 1]], stored, metrics=["coverage"])["coverage"] == 2.0
    pred = getattr(sp, form)((np.array([0, 1]), cells[1]), shape=(1, 3))
    assert evaluate([[0, 1, 0]], y_pred=pred, metrics=["subset_accuracy"])["subset_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (np.float64(1), np.float64(1 + 1e-12)), (2**53 - 1, 2**53), (np.int32(2**24), np.int32(2**24 + 1)),
        (np.float16(1), np.float16(1.001)), (False, True), (np.uint64(2**63), np.uint64(2**63 + 2048)),
        (-np.inf, -1e308), (1e308, np.inf)
    ],
)  # fmt: skip
def test_scores_keep_their_precision(low: Any, high: Any) -> None:
    scores = np.array([[low, high]])
    assert evaluate([[0, 1]], scores, metrics=["p@1"])["p@1"] == 1.0
    assert evaluate([[0, 1]], ([[0, 1]], scores), metrics=["p@1"])["p@1"] == 1.0


def test_float32_stays_float32() -> None:
    scores = np.array([[1, 1 + 1e-12]])
    assert evaluate([[0, 1]], scores.astype("f4"), metrics=["p@1"])["p@1"] == 0.0
    third = sp.csr_array(np.array([[0, 1 / 3]], "f4"))
    report = evaluate([[0, 1]], third, metrics=["p@1"], conventions={"unlisted": 1 / 3})
    assert report["p@1"] == 0.0  # level with label 0, which is not listed and comes first


def test_labels_beyond_int32() -> None:
    n, big = 2**33, 2**32
    truth: list[Any] = [[5, big], [n - 1]]
    csr = sp.csr_array((np.ones(3), np.array([5, big, n - 1]), [0, 2, 3]), shape=(2, n))
    pair = np.array([[big, 7, 5], [3, -1, -1]]), np.array([[3.0, 2, 1], [1, np.nan, np.nan]])
    stored = sp.csr_array((np.array([1.0, 2, 3, 1]), np.array([5, 7, big, 3]), [0, 3, 4]), shape=(2, n))
    expected = {
        "p@1": 0.5, "ndcg@3": 1.5 / (1 + 1 / math.log2(3)) / 2, "coverage": (2 + n - 1) / 2,
        "ranking_loss": (1 / (2 * (n - 2)) + 1) / 2,
    }  # fmt: skip
    ragged: list[Any] = [[big, 7, 5], [3]]
    for y_true, y_score in itertools.product((truth, csr), (pair, stored, ragged)):
        report = evaluate(y_true, y_score, n_labels=n, metrics=[*expected])
        assert dict(report) == pytest.approx(expected, rel=1e-15)


def test_lists_of_ids_take_the_number_of_labels_from_a_matrix() -> None:
    for sets in (IDS, [set(row) for row in IDS], [frozenset(row) for row in IDS]):
        options: dict[str, Any] = {"y_pred": H, "metrics": RANKED + SETS}
        assert json_of(sets, S, **options) == json_of(T, S, **options)
    pred = [np.flatnonzero(row).tolist() for row in H]
    assert json_of(T, y_pred=pred, metrics=SETS) == json_of(T, y_pred=H, metrics=SETS)
    square = S[:, :4]
    one_each = json_of(np.eye(4)[[2, 0, 1, 3]], square, metrics=RANKED)
    assert json_of([[2], [0], [1], [3]], square, metrics=RANKED) == one_each


def test_integers_of_a_pair_are_labels_only_where_one_can_be() -> None:
    labels, ranks = np.array([[0, 3, 2], [2, 1, -1], [4, 3, 0], [0, 1, 2]]), np.array([[3, 2, 1]] * 4)
    expected = json_of(T, (labels, ranks * 1.0), metrics=RANKED)
    for pair in ((labels, ranks * 10), {"indices": labels, "scores": ranks}, Result(ranks, labels)):
        assert json_of(T, pair, metrics=RANKED) == expected


@pytest.mark.parametrize("form", ["tensor", "device", "torch plain"])
def test_arrays_of_other_libraries_are_taken_wherever_arrays_are(form: str) -> None:
    make, weights, q = ARRAYS[form], np.array([1.0, 2, 0, 3]), inverse_propensity(H)
    y_true, y_score = make(T), make(S)
    assert inverse_propensity(make(H)).tolist() == q.tolist()
    vectors = {"sample_weight": weights, "inverse_propensity": np.array(q)}
    made = {name: make(vector) for name, vector in vectors.items()}
    assert json_of(y_true, y_score, metrics="psp@3", **made) == json_of(T, S, metrics="psp@3", **vectors)
    rules = fit(T, S, "f1.micro"), fit(y_true, y_score, "f1.micro")
    assert (rules[0].apply(S) != rules[1].apply(y_score)).nnz == 0
    assert label_statistics(y_true) == label_statistics(T)


def test_propensities_of_the_caller_may_change_later() -> None:
    q = [3.0, 1.0, 2.0, 5.0, 1.5, 9.0]
    changed = np.array(q)
    evaluator = Evaluator(["psp@3"], n_labels=N, inverse_propensity=changed)
    evaluator.update(T, S)
    changed[:] = 1.0
    assert evaluator.compute() == evaluate(T, S, metrics=["psp@3"], inverse_propensity=q)
