"""Objects that are no data are refused by argument, row and value, without other errors."""

import collections
import contextlib
import decimal
import math
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.forms import ARRAYS, sparse
from tests.input.test_forms import IDS, H, M, N, S, T
from tests.input.test_named_objects import FULL, NAMES, QRELS, RUN, SCORED, TAGS
from xmleval import Evaluator, evaluate, from_df
from xmleval.evaluation.evaluator import BatchCounter

Case = tuple[str, dict[str, Any]]
EYE = np.eye(3, 4)
ONES = np.ones((4, 4))


def put(array: Any, row: int, label: int, value: Any) -> Any:
    array = np.array(array, np.result_type(array, np.array(value)))
    array[row, label] = value
    return array


def ragged(*rows: Any) -> dict[str, Any]:
    return {"y_score": [*rows], "y_true": IDS, "n_labels": N}


def ids(*rows: Any) -> dict[str, Any]:
    return {"y_true": [*rows], "n_labels": N}


def with_ids(*labels: int) -> Any:
    return sparse(T, indices=np.array(labels, None if max(labels) < 2**63 else "u8"))


def single(labels: Any, scores: Any = None) -> dict[str, Any]:
    return {"y_score": (labels, scores)}


# label 3 is stored twice in row 1
CSR = sp.csr_array((np.ones(4), [0, 3, 3, 1], [0, 0, 3, 4, 4]), shape=(M, N))
COO = sp.coo_array((np.ones(4), ([1, 3, 1, 1], [3, 1, 0, 3])), shape=(M, N))
CSC = sp.csc_array((np.ones(2), [1, 1], [0, 0, 0, 0, 2, 2, 2]), shape=(M, N))
DIA = sp.dia_array((np.ones((1, N)), [0]), shape=(M, N))
DIA.offsets = np.array([2**32])
FALLING = CSC.copy()
FALLING.indptr[-1] = -1
PTR = "indptr is {} there; it must start at 0, never fall and end at the number of stored entries"
TWICE = "row 1: label id 3 occurs twice; ids of a row must be distinct"
NO_LIST = "labels of a top-k list must be integers of shape (m, k), not {} of shape {}"
OUTSIDE = [COO.copy(), COO.copy()]
OUTSIDE[0].coords = (np.array([1, 3, 4, 1]), COO.coords[1])
OUTSIDE[1].coords = (np.array([1, -1, 2, 1]), COO.coords[1])
BOTH_INTEGERS = (
    "both {} of the pair are integers, so it is not clear which has the labels; "
    "convert the scores to floats"
)
CELLS = np.empty((4, 2), object)
for place in np.ndindex(CELLS.shape):
    CELLS[place] = ["a"]


class NotAnArray:
    """An object with a shape that cannot become an array."""

    shape = (M, N)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("no numbers here")

    def __len__(self) -> int:
        return 4


# the start of a message, without the name of its argument, and arguments, the refused one first
NUMBERED: list[Case] = [
    *(
        ("row 2: score nan is not a number", {"y_score": ARRAYS[form](put(S, 2, 1, np.nan))})
        for form in ("dense", "csr_array", "coo_array")
    ),
    (
        "row 1: score nan is",
        single([[1]] * M, [[1], [np.nan], [np.nan], [1]]),
    ),
    (
        "row 2: score nan is not a number",
        ragged([], [(0, 1.0)], [(1, np.nan)], []),
    ),
    *(
        (f"row 1: value {value} is neither 0 nor 1", {"y_true": ARRAYS[form](put(T, 1, 2, value))})
        for form in ("dense", "csr_array", "bsr_matrix")
        for value in (np.inf, np.nan, 2, -1, 0.5)
    ),
    (
        "row 3: value 2 is neither 0 nor 1 in a label set",
        {"y_pred": put(H, 3, 2, 2)},
    ),
    *(
        (
            f"row 1: label id {label} is not in 0..5",
            {"y_true": with_ids(0, 2, 1, label, 0, 1, 3, 4)},
        )
        for label in (-5, 6, 2**64 - 1)
    ),
    (
        "row 2: label id 6 is not in 0..5",
        single([[1], [0], [6], [7]]),
    ),
    (
        f"row 1: label id {2**64 - 1} is",
        single(np.array([[1], [-1]] * 2).view("u8")),
    ),
    (
        "row 3: label id -2 is not in 0..5",
        single([[1], [-1], [-1], [-2]]),
    ),
    (
        "row 2: label id 6 is not in 0..5",
        ids([0], [], [6], []),
    ),
    (
        "row 1: label -1 is not an integer id from 0 up",
        ragged([0], [-1], [], []),
    ),
    *((TWICE, {name: matrix}) for name in ("y_true", "y_score") for matrix in (CSR, CSC, COO)),
    *(
        (TWICE, single([[3, 2], [3, 3], [1, 1], [0, 1]], scores))
        for scores in (None, np.ones((M, 2)))
    ),
    (TWICE, ids([], [3, 1, 3], [], [])),
    (TWICE, ragged([], [(3, 2.0), (3, 1.0)], [], [])),
    (
        "-3 is not a positive integer",
        {"k": [1, -3]},
    ),
    (
        "3 rows do not match the 4 of y_true",
        {"y_pred": H[:3]},
    ),
    (
        "shape (4, 5) has 5 labels; 6 were expected",
        {"y_score": S[:, :5]},
    ),
    (
        "shape (4, 5) has 5 labels; 6 were expected",
        {"y_pred": sp.csr_array(H[:, :5])},
    ),
    (
        "2 rows do not match the 4 of y_true; it looks transposed: rows are instances, columns "
        "ranks; give the .T of its arrays",
        single(np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), np.ones((2, 4))),
    ),
    (
        "2 rows do not match the 4 of y_true",
        {"y_pred": sp.csr_array((2, N))},
    ),
    (
        "shape (4, 0) does not have 1..2^40 labels",
        {"y_true": np.empty((4, 0))},
    ),
    (
        "shape (3, 2) is the transpose of (2, 3); rows are instances: give y_true.T",
        {"y_true": np.eye(3, 2), "y_score": np.ones((2, 3)), "n_labels": 3},
    ),
    (
        "labels of shape (4, 1) have scores of shape (4, 2)",
        single([[1]] * M, np.ones((M, 2))),
    ),
    (
        "a tuple must be (labels, scores) or (labels, None), not 3 items",
        {"y_score": (S, S, S)},
    ),
    (
        "row 1: expected one score for each label, or for none",
        single([["a"], ["a", "b"]], [[0.5], [0.5]]),
    ),
    (
        "row 0: expected one score for each label, or for none",
        single([["a"], []], [[], [0.5]]),
    ),
    *(
        (
            f"row {row}: {PTR.format(ptr[row + (row > 0)])}",
            {"y_true": sparse(T, indptr=np.array(ptr))},
        )
        for row, ptr in ((1, (0, 4, 2, 4, 8)), (3, (0, 2, 4, 4, 9)), (0, (1, 2, 4, 4, 8)))
    ),
    (
        "indptr is int64 of shape (3,), and indices are int32",
        {"y_true": sparse(T, indptr=np.arange(3))},
    ),
    *(
        (f"not a valid sparse matrix: {name} must", {"y_true": matrix})
        for name, matrix in (("offsets", DIA), ("indptr", FALLING))
    ),
    (NO_LIST.format("float64", "(4, 1)"), single(np.ones((M, 1)))),
    (NO_LIST.format("int64", "(4,)"), single([1, 2, 3, 4])),
    (
        "row 1: label 1.0 is not a name or an integer id",
        ids([0], [1.0], [], []),
    ),
    (
        "row 1: 7 is not a list of labels",
        ids([0], 7, [], []),
    ),
    (
        "row 1: expected one score for each label, or for none",
        ragged([(0, 1.0)], [3], [], []),
    ),
    (
        "row 1: label 1.5 is not a name or an integer id",
        ragged([(0, 1)], [(1.5, 1)], [], []),
    ),
    *(
        (f"dtype {np.dtype(dtype)} is not a type of real numbers{hint}", {name: np.array(T, dtype)})
        for name, dtype, hint in [
            ("y_true", "complex", ""),
            ("y_score", "O", "; convert it with .astype(float)"),
            ("y_pred", "U1", "; convert it with .astype(float)"),
            ("y_score", "M8[D]", ""),
        ]
    ),
    (
        "masked arrays are not supported",
        {"y_score": np.ma.masked_equal(S, 0)},
    ),
    (
        "shape (6,) is not two-dimensional",
        {"y_score": S[0]},
    ),
    (
        "shape (6,) is not two-dimensional",
        {"y_true": sp.coo_array(T[0])},
    ),
    (
        "not a rectangular",
        {"y_true": [[0], [1, 2], [], [3]], "y_score": ([[1]] * M, None)},
    ),
    (
        "zeros in the blocks of a bsr matrix may be scores",
        {"y_score": sp.csr_array(S).tobsr((2, 2))},
    ),
    (
        f"row 2: score {2**53 + 1} is not exact",
        {"y_score": put(8 * T, 2, 1, 2**53 + 1)},
    ),
    (
        f"row 2: score {2**53 + 1} is not exact",
        ragged([], [], [(1, 2**53 + 1)], []),
    ),
    (
        "shape (4, 1) does not match 4 rows",
        {"sample_weight": np.ones((M, 1))},
    ),
    *(
        (f"row 2: weight {w} is neither 0 nor within", {"sample_weight": [1, 1, w, w]})
        for w in (-1.0, np.nan, 1e-16, 1048577.0)
    ),
    (
        "shape (5,) is not (6,): one per label",
        {"inverse_propensity": np.ones(5)},
    ),
    *(
        (f"label 1: inverse propensity {q} is not", {"inverse_propensity": [1, q, 1, 1, 1, q]})
        for q in (0.0, np.nan, np.inf)
    ),
    (
        "dtype object is not a type of real numbers; copy it to a NumPy array",
        {"y_score": object()},
    ),
    (
        "labels of y_score have names, but those of y_true have none; give labels=",
        {"y_score": [*RUN.values()]},
    ),
    *(
        (f"row {row} is not in 0..3", {"y_score": matrix})
        for row, matrix in zip((4, -1), OUTSIDE, strict=True)
    ),
    ("cannot be read as an array: no numbers here", {"y_true": NotAnArray()}),
    ("cannot be read as an array: no numbers here", {"y_score": NotAnArray()}),
    ("dtype complex128 is not a type of real numbers", {"y_score": sp.csr_array(S * 1j)}),
    (
        "dtype |S1 is not a type of real numbers; decode bytes to text",
        {"y_score": np.full(S.shape, b"x")},
    ),
    (
        "a list of 4 sparse matrices; scipy.sparse.vstack joins batches of rows",
        {"y_score": [sp.csr_array(S)] * M},
    ),
    (
        "shape (4, 2) has 2 labels; 1 was expected; from predict_proba, give y_score[:, 1:], the "
        "scores of class 1",
        {"y_score": S[:, :2], "y_true": T[:, :1]},
    ),
    (
        "shape (4, 3) has 3 labels; 1 was expected; if y_true lists label ids, give n_labels=",
        {"y_score": S[:, :3], "y_true": T[:, :1]},
    ),
    (
        "shape (4,) has one number in each row; for one label, give y_true[:, None]",
        {"y_true": T[:, 0]},
    ),
    *(
        (
            f"shape {array.shape} has {what} in each row, such as {value}, not zeros and ones of "
            f"all labels; for label ids, give {code} with n_labels=, the number of labels",
            {"y_pred": array},
        )
        for array, what, value, code in (
            (np.array([0, 1, 2, 3]), "one number", 2, "y_pred[:, None].tolist()"),
            (np.array([[0, 1], [1, 2], [2, 0], [0, 1]]), "numbers", 2, "y_pred.tolist()"),
            (
                np.array([[0, -1], [1, 2], [2, 0], [0, 1]]),
                "numbers",
                -1,
                "[[i for i in row if i >= 0] for row in y_pred.tolist()]",
            ),
        )
    ),
    (
        BOTH_INTEGERS.format("arrays"),
        {"y_score": ([[1, 2]] * M, [[2, 1]] * M)},
    ),
    (
        'conventions="unlisted=0.5" is compared with scores, but this list has none',
        {"y_score": ([[1]] * M, None), "conventions": "unlisted=0.5"},
    ),
    (
        'conventions="unlisted=0.5" is compared with scores, but this list has none',
        {
            "y_score": ([[1]] * M, None),
            "conventions": "unlisted=0.5",
            "higher_is_better": False,
        },
    ),
    *(
        (
            f"row 0: label {shown_label} is not a name or an integer id",
            {**ids([label], [], [], []), "y_score": S},
        )
        for label, shown_label in ((2**63, 2**63), (np.uint64(2**63), 2**63), (True, True))
    ),
]
NO_JUDGEMENT = "is not an integer judgement; give scores as y_score"
NAMED_ROWS: list[Case] = [
    (
        "row 1: {'red'} is not a list",
        {"y_score": ([[], {"red"}, [], []], [[], [1.0], [], []])},
    ),
    (
        "row 1: label 3 is not text, as 'red' is",
        {"y_true": [["red"], [3], [], []]},
    ),
    *(
        (
            f"row 1: label {shown_label} is not text, as 'red' is; give a row without labels as "
            "an empty list, and leave out missing labels",
            {"y_true": [["red"], [label], [], []]},
        )
        for label, shown_label in ((None, "None"), (math.nan, "nan"))
    ),
    (
        "4 rows of labels, but 1 of scores",
        {"y_score": ([["red"]] * 4, [[0.5]])},
    ),
    *(
        (
            f"{type(scores).__name__} is not a list of scores for each row",
            {"y_score": ([["red"]] * 4, scores)},
        )
        for scores in (3, np.array(3.0), sp.csr_array(np.ones((4, 1))))
    ),
    (
        "its cells are lists; give the column of lists, as y_score[:, 0]",
        {"y_score": CELLS},
    ),
    (
        "its cells are lists; give the column of lists, as y_true[:, 0]",
        {"y_true": CELLS},
    ),
    *(
        ("row 1: label 'red' occurs twice", {name: [["blue"], ["red", "red"], [], []]})
        for name in ("y_true", "y_score")
    ),
    (
        "labels of y_true have names, but those of y_score have none; give labels=",
        {"y_score": [{0: 0.5}] * 4},
    ),
    (
        "row 0: label -1 is not an integer id from 0 up",
        {"y_true": {"q1": [0, -1]}, "y_score": {"q1": {0: 0.5}}},
    ),
    (
        "rows of y_score have keys, but those of y_true have none",
        {"y_score": RUN},
    ),
    (
        "no row key is in y_true, such as 'd1'; expected keys like 'q1'",
        {"y_score": {"d1": {"red": 1.0}}, "y_true": QRELS},
    ),
    (
        "row 1: label 'pink' is not one of the 4 listed labels; labels= must list 2 more labels",
        {"y_true": [[], ["pink"], ["black"], ["pink"]], "labels": NAMES},
    ),
    (
        f"row 0: value 0.75 {NO_JUDGEMENT}; are the truth and the scores",
        {"y_true": SCORED},
    ),
    (
        f"row 0: value 0.75 {NO_JUDGEMENT}",
        {"y_pred": [[*row.items()] for row in SCORED], "y_score": None},
    ),
    (
        "row 1: {'query_id': 'q2'} has other fields than row 0",
        {"y_score": [{"query_id": "q1", "results": []}, {"query_id": "q2"}]},
    ),
    (
        "row 1: no 'results', as row 0 has",
        {"y_score": [{"query_id": "q1", "results": []}, {"query_id": "q2", "hits": []}]},
    ),
    (
        "row 0: {'corpus_id': 1} is not a label with its score",
        {"y_score": [[{"corpus_id": 1}]] * 4},
    ),
    (
        "row 1: score 'high' is not a number",
        {"y_score": [{}, {"red": "high"}, {}, {}]},
    ),
    (
        "row 1: expected one score for each label",
        {"y_score": [[("red", 1.0)], ["blue"], [], []]},
    ),
    (
        "row 1: score nan is not a number",
        {"y_score": [{"red": 1}, {"red": np.nan}, {}, {}]},
    ),
    (
        f"row 1: score {2**53 + 1} is not a number",
        {"y_score": [{"a": 0.5}, {"a": 2**53 + 1}, {}, {}]},
    ),
    (
        "row 0: a set has no order",
        {"y_score": [{"red"}, {"red"}, {"red"}, {"red"}]},
    ),
    (
        "'red' occurs twice, the second time in place 2",
        {"labels": ["red", "blue", "red"]},
    ),
    (
        "name 1, '', is empty, or neither a text nor an integer",
        {"labels": ["red", ""]},
    ),
    (
        "3 does not match the 4 names of labels",
        {"n_labels": 3, "labels": NAMES},
    ),
    (
        "3 does not match the 4 names of labels",
        {"n_labels": 3},
    ),
    (
        "row 0: label id 9 is not in 0..3",
        {"y_score": [{9: 0.5}] * 4, "labels": NAMES},
    ),
    (
        "row 0: label id 9 is not in 0..3",
        {"y_score": [{9: 0.5, 1: 0.5}, {}, {}, {}], "labels": NAMES},
    ),
    (
        "the labels are not known; give n_labels=",
        {"y_true": {}, "y_score": {"q1": {"red": 1.0}}},
    ),
    *(
        (f"a {kind} is not a list; convert it with list(...)", {name: value})
        for name in ("y_true", "y_score", "candidates", "labels", "sample_weight")
        for kind, value in [("generator", (row for row in TAGS)), ("set", {"red", "blue"})]
    ),
    (
        "row 1: a generator is not a list; convert it with list(...)",
        {"y_true": [["a"], (name for name in "ab"), [], []]},
    ),
]


def refuse(message: str, arguments: dict[str, Any], **rows: Any) -> None:
    """Evaluate, and expect a message on the first argument."""
    argument, *_ = arguments
    metric = "p@1"
    if "y_pred" in arguments and "y_score" in arguments:
        metric = "f1.micro"
    with pytest.raises(ValueError, match=f"^{argument}: {re.escape(message)}") as caught:
        evaluate(**{"metrics": [metric], **rows, **arguments})
    assert getattr(caught.value, "argument", None) == argument


@pytest.mark.parametrize("case", NUMBERED, ids=lambda case: case[0][:50])
def test_numbers_are_refused_by_argument_row_and_value(case: Case) -> None:
    refuse(*case, y_true=T, y_score=S)


@pytest.mark.parametrize("case", NAMED_ROWS, ids=lambda case: case[0][:50])
def test_names_are_refused_by_argument_row_and_value(case: Case) -> None:
    refuse(*case, y_true=TAGS, y_score=SCORED)


def test_lazy_frames_are_refused_with_the_call_that_reads_them() -> None:
    pl: Any = pytest.importorskip("polars")
    frame = pl.DataFrame({"instance": ["q1", "q2"], "label": ["red", "blue"]})
    refuse("a LazyFrame has no rows yet; call .collect()", {"y_true": frame.lazy()}, y_score=RUN)
    truth = {"q1": ["red"], "q2": ["red"]}
    collected = frame.lazy().collect()
    assert evaluate(truth, y_pred=collected, metrics="f1.micro")["f1.micro"] == 0.5


def test_pairs_of_frames_and_series_have_the_values_of_lists() -> None:
    pd: Any = pytest.importorskip("pandas")
    order = np.argsort(-S, axis=1)[:, :3]
    sorted_scores = np.take_along_axis(S, order, 1)
    expected = dict(evaluate(T, (order, sorted_scores), metrics=["p@2", "ndcg@3"]))
    pair = (pd.DataFrame(order), pd.DataFrame(sorted_scores))
    assert dict(evaluate(T, pair, metrics=["p@2", "ndcg@3"])) == expected
    other_index = pd.DataFrame(order, index=range(1, M + 1))
    message = "its labels and its scores have different indexes; give both the same"
    turned = pd.DataFrame(order, index=range(M)[::-1])
    for labels in (other_index, turned):
        refuse(message, {"y_score": (labels, pair[1])}, y_true=T)
    names = [["red"], ["blue"], ["green"], ["red"]]
    scores = [[0.5], [0.25], [1.0], [0.125]]
    series = pd.Series(names)
    expected = dict(evaluate(TAGS, (names, scores), metrics=["p@1"]))
    for second in (pd.Series(scores), pd.DataFrame(scores), np.array(scores)):
        assert dict(evaluate(TAGS, (series, second), metrics=["p@1"])) == expected
    column_of_lists = np.empty((4, 1), object)
    for row, name in enumerate(names):
        column_of_lists[row, 0] = name
    assert dict(evaluate(TAGS, column_of_lists, metrics=["p@1"])) == expected


@pytest.mark.parametrize(
    ("levels", "columns"),
    [
        ([None, None], {"instance": "level_0", "label": "level_1"}),
        (["query", "doc"], {"instance": "query", "label": "doc"}),
        (["query", None], {"instance": "query", "label": "level_1"}),
    ],
)
def test_series_by_row_and_label_are_refused_with_the_call_that_reads_them(
    levels: list[str | None], columns: dict[str, str]
) -> None:
    pd: Any = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_tuples([("q1", "red"), ("q2", "blue")], names=levels)
    options = ", ".join(f"{name}={column!r}" for name, column in columns.items())
    call = f"xmleval.from_df(y_score.reset_index(name='value'), {options}, score='value')"
    message = f"is a series with an index of rows and labels; give {call}"
    series = pd.Series([0.5, 0.25], index=index)
    refuse(message, {"y_score": series}, y_true=QRELS)
    frame = series.reset_index(name="value")
    scores = from_df(frame, score="value", **columns)
    report = evaluate({"q1": ["red"], "q2": ["red"]}, scores, metrics="p@1")
    assert report["p@1"] == 0.5


def test_archives_of_arrays_are_refused_by_argument(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, first=S[0], second=S[1])
    with np.load(path) as archive:
        message = "is an archive of arrays (first, second); give its path, or one array"
        refuse(message, {"y_score": archive}, y_true=T)
        refuse(message, {"y_true": archive}, y_score=S)


def refuse_frame(message: str, frame: Any, **columns: str) -> None:
    with pytest.raises(ValueError, match=f"^frame: {message}"):
        from_df(frame, **columns)


def test_frames_are_refused_by_column_and_row() -> None:
    pd: Any = pytest.importorskip("pandas")
    scores = pd.DataFrame(FULL).T[NAMES]
    with_nan = scores.astype(float)
    with_nan.iloc[1, 2] = np.nan
    keyless = pd.DataFrame({"instance": ["a", None], "label": ["x", "y"]})
    uneven = pd.DataFrame({"labels": [["a", "b"]], "scores": [[1.0]]})
    few = scores[NAMES[:3]]
    long = pd.DataFrame({"q": ["q1"], "doc": ["red"], "bm25": [1.5]})
    more_rows = pd.concat([scores, scores[:1].rename({"q1": "q9"})])
    for message, frame in (
        (
            "column 'a' has no numbers; choose the columns of labels with labels=",
            scores.assign(a="a"),
        ),
        ("several columns are called 'red'", scores[["red", *NAMES]]),
        (
            "no column for label 'red'; if both have the same order, give",
            scores.set_axis(range(4), axis=1),
        ),
        ("row 'q4' of y_true is missing; add it, or remove it there", scores[:3]),
        ("row 'q9' is not in y_true; remove it", more_rows),
        ("row 'q9' is not in y_true; if both have the same order", scores.rename({"q1": "q9"})),
        ("row 1: two rows are called 'q1'", scores.rename({"q2": "q1"})),
        ("row 1: score nan is not a number", with_nan.astype("Float64")),
        ("row 1: score nan is not a number", with_nan.astype(pd.SparseDtype(float, np.nan))),
        (
            "no column 'score' next to 'doc'; name the column with xmleval.from_df(df,",
            from_df(long, instance="q", label="doc"),
        ),
    ):
        refuse(message, {"y_score": frame}, y_true=pd.DataFrame(QRELS).T)
    message = "shape (4, 3) has 3 labels; 4 were expected"
    refuse(message, {"y_score": few}, y_true=ONES)
    refuse(message, {"candidates": few}, y_true=ONES, y_score=ONES)
    refuse("row 1: column 'instance' has no value", {"y_true": keyless}, y_score=scores)
    numbers = pd.DataFrame({"instance": ["q1", "q2"], "labels": [1.5, 2.5]})
    refuse("column 'labels' has float, not lists", {"y_true": numbers}, y_score=RUN)
    rated = pd.DataFrame({"user_id": [1, 2], "item_id": [3, 4], "rating": [1, 1]})
    call = "xmleval.from_df(df, instance='user_id', label='item_id', score=...)"
    message = "columns 'user_id' and 'item_id' look like a row for each label; read them with "
    refuse(message + call, {"y_true": rated}, y_score=RUN)
    for text, advice in (
        ("a", "split it into lists, or make a list of each label: ['a']"),
        ("['a']", "convert it with json.loads or ast.literal_eval"),
        ('{"a": 1}', "convert it with json.loads or ast.literal_eval"),
    ):
        texts = pd.DataFrame({"instance": ["q1", "q2"], "labels": [text, "b"]})
        message = f"column 'labels' has text such as {text!r}, not lists; {advice}"
        refuse(message, {"y_true": texts}, y_score=RUN)
    refuse("row 'q4' of y_true is missing", {"y_score": scores[:3]}, y_true=QRELS)
    refuse(
        "row 0: expected one score for each label, or for none",
        {"y_score": uneven},
        y_true=TAGS[:1],
    )
    refuse(
        "no column is one of the labels (columns: 'red', ",
        {"y_score": scores},
        y_true=ONES,
        labels=[*"abcd"],
    )
    foreign = SimpleNamespace(__arrow_c_stream__=None)
    refuse("cannot be read as a frame: ", {"y_true": foreign}, y_score=SCORED)
    advice = "the columns are 'q', 'doc', 'bm25'; name the column with xmleval.from_df"
    refuse_frame(f"no column 's'; {advice}", long, score="s", instance="q", label="doc")
    refuse_frame(f"no column has labels; {advice}", long, instance="q")
    two = pd.DataFrame({"x": [1], "y": [2]})
    advice = "the columns are 'x', 'y'; name the column with xmleval.from_df"
    refuse_frame(f"no column has the ids of instances; {advice}", two, label="y")
    refuse_frame(f"no column 'z'; {advice}", two, instance="x", label="z")
    refuse_frame("list is not a frame of pandas, polars or Arrow", [{"q": 1}])


def test_sparse_tensors_are_refused_where_matrices_are() -> None:
    torch: Any = pytest.importorskip("torch")
    twice = torch.sparse_coo_tensor([[1, 1], [3, 3]], [1.0, 1.0], (4, 6))
    refuse(TWICE, {"y_score": twice}, y_true=T)
    blocks = torch.ones(4, 4).to_sparse_bsr((2, 2))
    refuse(
        "a sparse_bsr tensor of shape (4, 4) is not a CSR, CSC or COO matrix",
        {"y_true": blocks},
        y_score=ONES,
    )
    refuse(
        "a tensor that cannot become an array: ",
        {"y_score": torch.zeros(4, 6, device="meta")},
        y_true=T,
    )


def test_refusal_travels_between_processes(
    folder: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pickled error has its fields, and keywords that commands print as options."""
    message = "y_score: row 1: score nan is not a number"
    with pytest.raises(ValueError, match=message) as caught:
        evaluate(T, put(S, 1, 2, np.nan), metrics="p@1")
    errors: list[Any] = [caught.value, pickle.loads(pickle.dumps(caught.value))]
    for error in errors:
        assert error.argument == "y_score"
        assert error.row == 1
        assert math.isnan(error.value)
        assert str(error) == f"{message}; scores must be ordered"

    message = r"needs conventions=\"unlisted=...\" or a score for every label"
    with pytest.raises(ValueError, match=message) as caught:
        evaluate(T, sp.csr_array(S), metrics="margin.samples")
    error = pickle.loads(pickle.dumps(caught.value))
    monkeypatch.setattr(BatchCounter, "add", mock.Mock(side_effect=error))
    message = refused("evaluate Y_test.npz m --metrics p@1")
    assert message.endswith("margin.samples needs --unlisted or a score for every label")


class Unreadable:
    """An object that has a length and cannot be read."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        raise RuntimeError("cannot be read")


USUAL: list[Any] = [
    EYE,
    [["a"], ["b"], ["c"]],
    [{"a": 1.0}, {}, {"b": 2}],
    {"q": {"a": 1}},
    [[1], [2], [3]],
]
HOSTILE: list[Any] = [
    *USUAL,
    None,
    3,
    "abc",
    b"abc",
    [1, 2, 3],
    ["a", "b", "c"],
    [],
    [[], [], []],
    [None] * 3,
    (),
    ([], []),
    [[b"a"], [b"b"], []],
    [[0.5], [0.2], [0.1]],
    [[[1]], [[2]], [[3]]],
    [["a"], [1], [None]],
    {},
    {1: 2},
    {"q": "a"},
    {"q": None},
    {"q": {"a": None}},
    {0: [1, 2], 1: [0], 2: [3]},
    {np.nan: {"a": 1}},
    {1, 2},
    [{1: 1.0}, {}, {2: 2}],
    [{1}, {2}, {3}],
    range(3),
    (1, 2, 3),
    int,
    [[{"id": 1}], [], []],
    [[("a", 0.5, 1)], [], []],
    [[("a", None)], [], []],
    (np.zeros((3, 1), int), None),
    np.array(None),
    (np.array([[None]] * 3), np.ones((3, 1))),
    np.array([["a"], ["b", "c"], []], object),
    np.zeros((3, 4, 1)),
    np.zeros(3, [("a", int)]),
    np.zeros((3, 4), "M8[s]"),
    sp.coo_array(np.ones(3)),
    collections.Counter("abc"),
    collections.deque([["a"], ["b"], []]),
    [[decimal.Decimal(1)] * 4] * 3,
    Unreadable(),
]
HOSTILE_COLUMNS: list[dict[str, Any]] = [
    {"instance": ["q", None], "label": ["a", None], "score": [1.0, None]},
    {"labels": ["a", "b", "c"]},
    {"instance": ["q"], "label": ["a"], "score": ["x"]},
    {"labels": [["a"], ["b"], None]},
    {},
    {"a": []},
    {"labels": [["a"], ["b"], ["c"]], "scores": [[1.0], None, [2.0]]},
]


def attempt(truth: Any, predictions: Any) -> None:
    """Evaluate in several ways, with no error other than a refusal."""
    all_labels: list[dict[str, Any]] = [{}, {"n_labels": 4}, {"labels": [*"abcd"]}]
    for labels in all_labels:
        for arguments in (
            {"y_score": predictions, "metrics": ["p@1"]},
            {"y_pred": predictions, "metrics": ["f1.micro"]},
        ):
            with contextlib.suppress(ValueError, OSError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evaluate(truth, **arguments, **labels)


def test_objects_are_evaluated_or_refused() -> None:
    pd: Any = pytest.importorskip("pandas")
    levels = pd.MultiIndex.from_product([[*"ab"], [0, 1]])
    frames = [
        *map(pd.DataFrame, HOSTILE_COLUMNS),
        pd.DataFrame(index=[1, 2, 3]),
        pd.Series([1, 2, 3]),
        pd.DataFrame(EYE, [0, 0, 1], [*"abcd"]),
        pd.DataFrame(EYE, columns=levels),
        pd.Series([["a"], np.nan, []]),
    ]
    for value in [*HOSTILE, *frames]:
        attempt(value, value)
        for usual in USUAL:
            attempt(usual, value)
            attempt(value, usual)


@pytest.mark.parametrize("gains", ["binary", "linear", "exp"])
def test_empty_tuple_is_refused_as_scores(gains: str) -> None:
    options: dict[str, Any] = {
        "metrics": "p@1",
        "n_labels": 3,
        "conventions": {"gains": gains},
    }
    evaluator = Evaluator(**options)
    with pytest.raises(ValueError, match="0 items"):
        evaluate([], (), **options)
    with pytest.raises(ValueError, match="0 items"):
        evaluator.update(np.zeros((0, 3)), ())
