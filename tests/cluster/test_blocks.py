"""Blocks of rows in memory have the report of all rows at once; others are refused by block."""

import re
from typing import Any

import numpy as np
import pytest

from tests.cluster.executors import SerialExecutor, ShuffledExecutor
from xmleval import Report, evaluate
from xmleval.cluster.evaluation import evaluate_blocks

RNG = np.random.default_rng(2)
M = 9
N = 5
TRUTH = (RNG.random((M, N)) < 0.4).astype(np.int8)
SCORES = RNG.random((M, N))
WEIGHTS = RNG.integers(1, 4, M).astype(float)
BOUNDS = [slice(0, 2), slice(2, 3), slice(3, M)]
PAIR = (TRUTH, SCORES)
NEITHER = "blocks: {} is neither (y_true, y_score) nor a dict of them"


def count(blocks: Any, executor: Any = None, threads: int | None = None, **options: Any) -> Report:
    """Return the report of blocks on an executor."""
    options = {"metrics": ["p@1", "auc.micro", "lrap"]} | options
    metrics = options.pop("metrics")
    n_labels = options.pop("n_labels", None)
    others: Any = options
    executor = executor or SerialExecutor()
    return evaluate_blocks(executor, blocks, metrics, n_labels, others, "1GB", threads, False)


@pytest.mark.parametrize("form", ["pairs", "lists", "dicts", "mixed"])
@pytest.mark.parametrize("order", ["serial", "shuffled"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence": 0.9},
        {"per_row": True, "k": 2},
        {"metrics": ["psp@2", "f1.macro"], "y_train": TRUTH, "decision": "top2"},
    ],
)
def test_blocks_have_the_report_of_all_rows(options: dict[str, Any], order: str, form: str) -> None:
    pairs: list[Any] = [(TRUTH[rows], SCORES[rows]) for rows in BOUNDS]
    dicts: list[Any] = [{"y_true": TRUTH[rows], "y_score": SCORES[rows]} for rows in BOUNDS]
    blocks = {
        "pairs": pairs,
        "lists": [[*pair] for pair in pairs],
        "dicts": dicts,
        "mixed": [pairs[0], dicts[1], [*pairs[2]]],
    }[form]
    executor = ShuffledExecutor(1) if order == "shuffled" else SerialExecutor()
    options = {"metrics": ["p@1", "auc.micro", "lrap"]} | options
    report = count(blocks, executor, **options)
    if "y_train" in options:  # the blocks do not know that it is the truth
        options = options | {"y_train": TRUTH.astype(np.int16)}
    expected = evaluate(TRUTH, SCORES, **options)
    assert report.to_json() == expected.to_json()
    for name, values in (expected.per_row() if options.get("per_row") else {}).items():
        np.testing.assert_array_equal(report.per_row()[name], values)


def test_blocks_may_have_weights_and_sets() -> None:
    blocks = [
        {
            "y_true": TRUTH[rows],
            "y_pred": SCORES[rows] > 0.5,
            "sample_weight": WEIGHTS[rows],
        }
        for rows in BOUNDS
    ]
    expected = evaluate(TRUTH, y_pred=SCORES > 0.5, sample_weight=WEIGHTS, metrics="sets")
    assert dict(count(blocks, metrics="sets")) == dict(expected)
    unweighted = evaluate(TRUTH, y_pred=SCORES > 0.5, metrics="sets")
    assert dict(expected) != dict(unweighted)


def test_blocks_of_lists_need_the_number_of_labels() -> None:
    truth = [[0], [1, 2], [4]]
    lists = [[0, 1], [2, 1], [3, 4]]
    blocks = [(truth[:2], lists[:2]), (truth[2:], lists[2:])]
    message = "^n_labels: not known from the first truth; give the number of labels$"
    with pytest.raises(ValueError, match=message):
        count(blocks, metrics="p@2")
    expected = evaluate(truth, lists, metrics="p@2", n_labels=N)
    assert count(blocks, metrics="p@2", n_labels=N).to_json() == expected.to_json()
    mixed = [(np.eye(N)[:1], np.eye(N)[:1]), *blocks]  # the first has columns
    assert count(mixed, metrics="p@1").n_labels == N


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "blocks: is empty; give one or more"),
        ([PAIR, 3], NEITHER.format("int")),
        ([(TRUTH,)], NEITHER.format("tuple")),
        ([(*PAIR, WEIGHTS)], NEITHER.format("tuple")),
        ([TRUTH], NEITHER.format("ndarray")),
        ([{"y_score": SCORES}], NEITHER.format("dict")),
        ([PAIR, (TRUTH, SCORES[2:])], "y_score: 7 rows do not match the 9 of y_true"),
        (
            [PAIR, PAIR, (TRUTH, np.where(np.arange(M)[:, None] == 4, np.nan, SCORES))],
            "y_score: row 22: score nan is not a number; scores must be ordered",
        ),
    ],
)
def test_blocks_are_refused_with_the_row_among_all(blocks: Any, message: str) -> None:
    for executor in (SerialExecutor(), ShuffledExecutor(3)):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            count(blocks, executor)


@pytest.mark.parametrize("threads", [0, -1, 1.5])
def test_blocks_refuse_a_wrong_number_of_threads(threads: Any) -> None:
    with pytest.raises(ValueError, match=f"^threads: {threads} is not a positive integer$"):
        count([PAIR], threads=threads)
    assert count([PAIR], threads=2).to_json() == count([PAIR]).to_json()
