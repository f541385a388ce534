"""Counts beyond 2^63: values are exact, or the rows are refused before they are counted."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import as_other_rows
from tests.problems import SPECS
from xmleval import Evaluator, evaluate, inverse_propensity
from xmleval.effectiveness import hamming_bound, threshold_error

MOST_LABELS = 1 << 40
TRUTH = np.array(
    [
        [1, 0, 1, 0, 0, 1],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
)
# probabilities, as calibration needs them
SCORES = (
    np.array(
        [
            [3, 2, 2, 1, 5, 4],
            [1, 1, 4, 3, 2, 5],
            [2, 6, 1, 3, 5, 4],
        ],
        np.float32,
    )
    / 8
)
NO_QUERIES = sp.csr_array((3, 6), dtype=np.float32)
PROPENSITY = inverse_propensity(label_counts=[3, 0, 12, 1, 2, 900], n_instances=1000)


def doubled(names: list[str], times: int, truth: Any, scores: Any, **arguments: Any) -> Evaluator:
    """Return the counts of rows that occur 2^times each."""
    weight = arguments.pop("sample_weight", None)
    evaluator = Evaluator(names, n_labels=truth.shape[1], **arguments)
    evaluator.update(truth, scores, sample_weight=weight)
    return repeated(evaluator, times)


def repeated(evaluator: Evaluator, times: int) -> Evaluator:
    for _ in range(times):
        evaluator.merge(as_other_rows(evaluator))
    return evaluator


def arguments_of(spec: Any, weighted: bool = False) -> dict[str, Any]:
    arguments: dict[str, Any] = {"inverse_propensity": PROPENSITY, "conventions": "link=sigmoid"}
    if "sets" in spec.needs and spec.k is None:
        arguments["decision"] = "top2"
    if weighted:
        arguments["sample_weight"] = np.array([0.25, 3.0, 2.0])
    if "hierarchy" in spec.needs:
        arguments["hierarchy"] = [(1, 0), (2, 0)]
    if "grades" in spec.needs:
        arguments["conventions"] = "gains=linear,link=sigmoid"
    return arguments


TOGETHER: dict[str, list[str]] = {}  # measures that one evaluator can count alike
for name, spec in SPECS.items():
    if spec.k in (None, 3):
        graded = "graded" if "grades" in spec.needs else ""
        key = " ".join([f"{spec.state}{graded}", *sorted(arguments_of(spec))])
        TOGETHER.setdefault(key, []).append(name)
every_state = pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@every_state
def test_evaluator_values_do_not_change_as_rows_repeat(names: list[str], weighted: bool) -> None:
    arguments = arguments_of(SPECS[names[0]], weighted)
    is_pooled = SPECS[names[0]].state == "score_runs"
    fields = arguments["conventions"]
    for scores, unlisted in ((SCORES, "below"), (NO_QUERIES, 0.0)):
        times = 9 if is_pooled and scores is SCORES else 40
        arguments["conventions"] = f"{fields},unlisted={unlisted}"
        expected = dict(evaluate(TRUTH, scores, metrics=names, n_labels=6, **arguments))
        evaluator = doubled(names, times, TRUTH, scores, **arguments)
        assert evaluator.n_rows == 3 << times
        if "proportional_diversity" in names:
            expected["proportional_diversity"] = 3 / evaluator.n_rows
        report = evaluator.compute()
        assert dict(report) == pytest.approx(expected, rel=1e-13, nan_ok=True)


def wide(n_rows: int) -> tuple[Any, Any]:
    """Return rows of the largest number of labels, the sixth relevant and none listed."""
    shape = (n_rows, MOST_LABELS)
    ptr = np.arange(n_rows + 1)
    truth = sp.csr_array((np.ones(n_rows, np.uint8), np.full(n_rows, 5), ptr), shape=shape)
    nothing = (np.empty(0, np.float32), np.empty(0, np.int64), np.zeros(n_rows + 1, np.int64))
    return truth, sp.csr_array(nothing, shape=shape)


LAST = MOST_LABELS - 1
WIDE: dict[str, Fraction | int] = {
    "coverage": LAST,
    "coverage_error": MOST_LABELS,
    "error_set_size": LAST,
    "ranking_loss": 1,
    "auc.samples": Fraction(1, 2),
    "lrap": Fraction(1, MOST_LABELS),
    "mrr@all": 0,
    "peak_f1.samples": Fraction(2, MOST_LABELS + 1),
    "auc.micro": Fraction(1, 2),
    "ap.micro": Fraction(1, MOST_LABELS),
    "peak_f1.micro": Fraction(2, MOST_LABELS + 1),
    "label_density": Fraction(1, MOST_LABELS),
}


@pytest.mark.parametrize(
    ("name", "times"),
    [(name, times) for name in WIDE for times in (0, 18 if ".micro" in name else 40)],
)
def test_evaluator_values_are_exact_with_a_trillion_labels(name: str, times: int) -> None:
    truth, nothing = wide(3)
    value = doubled([name], times, truth, nothing).compute()[name]
    assert value == pytest.approx(float(WIDE[name]), rel=1e-15)


def test_pairs_of_one_row_may_exceed_64_bits() -> None:
    n_relevant = (1 << 23) + (1 << 10)
    labels = np.arange(n_relevant)
    ptr = np.array([0, n_relevant])
    truth = sp.csr_array((np.ones(n_relevant, np.uint8), labels, ptr), shape=(1, MOST_LABELS))
    names = ["error_set_size", "ranking_loss", "auc.samples"]
    report = evaluate(truth, wide(1)[1], metrics=names)
    assert report["error_set_size"] == float(n_relevant * (MOST_LABELS - n_relevant)) > 2**63
    assert (report["ranking_loss"], report["auc.samples"]) == (1.0, 0.5)


@pytest.mark.parametrize("n_extra", [0, 256])
def test_label_ids_may_need_64_bits(n_extra: int) -> None:
    big = 2**31 + 7
    relevant = np.array([3, big, *range(big + 2, big + 2 + n_extra), MOST_LABELS - 2])
    n = relevant.size
    listed = np.array([[big + 1, big, 0, MOST_LABELS - 1]])
    scores = np.array([[3.0, 2.0, 0.0, -1.0]])
    truth = sp.csr_array((np.ones(n), relevant, np.array([0, n])), shape=(1, MOST_LABELS))
    metrics = ["p@2", "mrr@5", "coverage", "r@5"]
    report = evaluate(truth, (listed, scores), metrics=metrics, conventions="unlisted=1")
    # after two listed labels come the unlisted ones by id, and then the other two listed ones
    ranks = [2]
    for label in relevant.tolist():
        if label != big:
            n_listed_before = int((listed[0] < label).sum())
            ranks.append(3 + label - n_listed_before)
    n_first = sum(rank <= 5 for rank in ranks)
    assert report["p@2"] == 0.5
    assert report["mrr@5"] == 0.5
    assert report["coverage"] == max(ranks) - 1
    assert report["r@5"] == n_first / n


def test_effectiveness_refuses_counts_that_would_overflow() -> None:
    huge = np.array([2**63], np.uint64)
    message = r"count 9223372036854775808 is more than 2\^52$"
    with pytest.raises(ValueError, match=message):
        hamming_bound(huge, 2**70)
    with pytest.raises(ValueError, match=message):
        threshold_error(huge, [1])
    assert hamming_bound(np.full(4096, 2**52), n_cells=2**65) == 0.5


def test_large_values_of_rows_without_weight_do_not_count() -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0]])
    scores = np.array([[0.9, 0.1, 0.2], [0.1, 1e30, 0.2]])
    report = evaluate(truth, scores, metrics="margin.samples", sample_weight=[1, 0])
    assert report["margin.samples"] == pytest.approx(0.7)
    assert report.notes == []
