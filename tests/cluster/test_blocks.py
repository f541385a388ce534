"""Blocks of rows that an executor counts give the report of all rows, in any form and order."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

from tests.cluster.data import N_ROWS, make_arrays
from tests.cluster.executors import SerialExecutor, ShuffledExecutor
from xmleval import Running, evaluate
from xmleval.cluster.evaluation import evaluate_blocks, evaluate_on

ARRAYS = make_arrays()
CUTS = [0, 50, 50, 130, N_ROWS]  # one block is empty
METRICS = ["p@1", "ndcg@3", "f1.macro@2"]
CLUSTERS = np.arange(N_ROWS) % 40


def block_of(start: int, stop: int, as_dict: bool) -> Any:
    rows = slice(start, stop)
    labels, scores = ARRAYS["m"]
    truth = ARRAYS["Y"][rows]
    lists = (labels[rows], scores[rows])
    if as_dict:
        return {"y_true": truth, "y_score": lists, "clusters": CLUSTERS[rows]}
    return truth, lists


def report_of(
    blocks: Any, executor: Any = None, n_labels: int | None = None, **options: Any
) -> Any:
    metrics = options.pop("metrics", METRICS)
    further: Any = options
    return evaluate_blocks(
        executor or SerialExecutor(), blocks, metrics, n_labels, further, "1GB", None, False
    )


@pytest.mark.parametrize("make_executor", [SerialExecutor, ShuffledExecutor])
@pytest.mark.parametrize("as_dict", [False, True])
def test_blocks_have_the_report_of_all_rows(make_executor: Any, as_dict: bool) -> None:
    blocks = [block_of(start, stop, as_dict) for start, stop in itertools.pairwise(CUTS)]
    options: dict[str, Any] = {"confidence": 0.9, "per_row": True}
    whole: dict[str, Any] = {"clusters": CLUSTERS} if as_dict else {}
    expected = evaluate(ARRAYS["Y"], ARRAYS["m"], metrics=METRICS, **whole, **options)
    report = report_of(blocks, make_executor(), **options)
    assert report.to_json() == expected.to_json()
    for name, values in expected.per_row().items():
        np.testing.assert_array_equal(report.per_row()[name], values)


def test_blocks_of_lists_need_the_number_of_labels() -> None:
    lists = [([[0], [1, 2]], [[0], [2]]), ([[2]], [[1]])]
    message = "n_labels: not known from the first truth; give the number of labels"
    with pytest.raises(ValueError, match=f"^{message}$"):
        report_of(lists, metrics="p@1")
    report = report_of(lists, n_labels=3, metrics="p@1")
    assert (report["p@1"], report.n_rows, report.n_labels) == (2 / 3, 3, 3)


def test_blocks_of_an_array_of_lists_have_the_number_of_labels_that_is_given() -> None:
    truth = np.array([[0], [1, 2]], object)
    report = report_of([(truth, [[0], [0]])], n_labels=3, metrics="p@1")
    assert (report["p@1"], report.n_rows, report.n_labels) == (0.5, 2, 3)


def test_blocks_with_another_number_of_columns_than_n_labels_are_refused() -> None:
    message = "y_true: shape (3, 3) has 3 labels; 4 were expected"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        report_of([(np.eye(3), np.eye(3))], n_labels=4, metrics="p@1")


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "blocks: is empty; give one or more"),
        ([np.eye(3)], "blocks: ndarray is neither (y_true, y_score) nor a dict of them"),
        ([{"y_score": np.eye(3)}], "blocks: dict is neither (y_true, y_score) nor a dict of them"),
        ([(np.eye(3),)], "blocks: tuple is neither (y_true, y_score) nor a dict of them"),
        (
            [(np.eye(3), np.eye(3)), (np.eye(3), np.diag([1, np.nan, 1]))],
            "y_score: row 4: score nan is not a number; scores must be ordered",
        ),
        (
            [(np.eye(3), np.eye(3)), (np.eye(3), np.diag([np.nan, 1, 1]))],
            "y_score: row 3: score nan is not a number; scores must be ordered",
        ),
        (
            [(np.eye(3), np.eye(3)), (np.eye(3), np.eye(2, 3))],
            "y_score: 2 rows do not match the 3 of y_true",
        ),
    ],
)
def test_wrong_blocks_are_refused_by_their_row_among_all(blocks: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        report_of(blocks, metrics="p@1")


@pytest.mark.parametrize(("name", "value"), [("checkpoint", "kept"), ("executor", 2)])
def test_options_of_one_machine_are_refused_on_clusters(arrays: Any, name: str, value: Any) -> None:
    files: dict[str, Any] = {"y_true": "Y_*", "y_score": "m_*"}
    options = {"metrics": "p@1", "running": Running(**{name: value})}
    message = f"running: {name} is not for clusters; give exchange, the folder of the counts"
    with pytest.raises(ValueError, match=f"^{message}$"):
        evaluate_on(SerialExecutor(), files, None, False, options)
