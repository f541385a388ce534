"""Counts beyond 2^63: every value is exact, or the rows are refused by name before they are counted."""

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
TRUTH = np.array([[1, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
# scores are probabilities, as calibration needs them
SCORES = np.array([[3, 2, 2, 1, 5, 4], [1, 1, 4, 3, 2, 5], [2, 6, 1, 3, 5, 4]], np.float32) / 8
NOTHING = sp.csr_array((3, 6), dtype=np.float32)
PROPENSITY = inverse_propensity(label_counts=[3, 0, 12, 1, 2, 900], n_instances=1000)


def doubled(names: list[str], times: int, truth: Any, scores: Any, **more: Any) -> Evaluator:
    """Return the counts of rows that occur 2^times each."""
    weight = more.pop("sample_weight", None)
    evaluator = Evaluator(names, n_labels=truth.shape[1], **more)
    evaluator.update(truth, scores, sample_weight=weight)
    return repeated(evaluator, times)


def repeated(evaluator: Evaluator, times: int) -> Evaluator:
    for _ in range(times):
        evaluator.merge(as_other_rows(evaluator))
    return evaluator


def options(spec: Any, weighted: bool = False) -> dict[str, Any]:
    more: dict[str, Any] = {"inverse_propensity": PROPENSITY, "conventions": "link=sigmoid"}
    if "sets" in spec.needs and spec.k is None:
        more["decision"] = "top2"
    if weighted:
        more["sample_weight"] = np.array([0.25, 3.0, 2.0])
    if "hierarchy" in spec.needs:
        more["hierarchy"] = [(1, 0), (2, 0)]
    if "grades" in spec.needs:
        more["conventions"] = "gains=linear,link=sigmoid"
    return more


TOGETHER: dict[str, list[str]] = {}  # measures that one evaluator can count alike
for name, spec in SPECS.items():
    if spec.k in (None, 3):
        graded = "graded" * ("grades" in spec.needs)
        TOGETHER.setdefault(" ".join([f"{spec.state}{graded}", *sorted(options(spec))]), []).append(name)
every_state = pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@every_state
def test_rows_that_repeat_change_no_value(names: list[str], weighted: bool) -> None:
    more = options(SPECS[names[0]], weighted)
    pooled, fields = SPECS[names[0]].state == "score_runs", more["conventions"]
    for scores, level, times in ((SCORES, "below", 9 if pooled else 40), (NOTHING, 0.0, 40)):
        more["conventions"] = f"{fields},unlisted={level}"
        once = evaluate(TRUTH, scores, metrics=names, n_labels=6, **more)
        many = doubled(names, times, TRUTH, scores, **more)
        assert many.n_rows == 3 << times
        expected = {n: 3 / many.n_rows if n == "proportional_diversity" else once[n] for n in names}
        report = many.compute()
        assert {n: report[n] for n in names} == pytest.approx(expected, rel=1e-13, nan_ok=True)


def wide(n_rows: int) -> tuple[Any, Any]:
    """Return rows of as many labels as can be, the sixth relevant and none listed."""
    shape, ptr = (n_rows, MOST_LABELS), np.arange(n_rows + 1)
    truth = sp.csr_array((np.ones(n_rows, np.uint8), np.full(n_rows, 5), ptr), shape=shape)
    nothing = np.empty(0, np.float32), np.empty(0, np.int64), np.zeros(n_rows + 1, np.int64)
    return truth, sp.csr_array(nothing, shape=shape)


LAST = MOST_LABELS - 1
WIDE: dict[str, Fraction | int] = {
    "coverage": LAST, "coverage_error": MOST_LABELS, "error_set_size": LAST, "ranking_loss": 1,
    "auc.samples": Fraction(1, 2), "lrap": Fraction(1, MOST_LABELS), "mrr@all": 0,
    "peak_f1.samples": Fraction(2, MOST_LABELS + 1), "auc.micro": Fraction(1, 2),
    "ap.micro": Fraction(1, MOST_LABELS), "peak_f1.micro": Fraction(2, MOST_LABELS + 1),
    "label_density": Fraction(1, MOST_LABELS),
}  # fmt: skip


@pytest.mark.parametrize(("name", "times"), [(n, t) for n in WIDE for t in (0, 18 if ".micro" in n else 40)])
def test_rows_of_a_trillion_labels(name: str, times: int) -> None:
    truth, nothing = wide(3)
    value = doubled([name], times, truth, nothing).compute()[name]
    assert value == pytest.approx(float(WIDE[name]), rel=1e-15)


def test_pairs_of_one_row() -> None:
    n_relevant = (1 << 23) + (1 << 10)
    labels, ptr = np.arange(n_relevant), np.array([0, n_relevant])
    truth = sp.csr_array((np.ones(n_relevant, np.uint8), labels, ptr), shape=(1, MOST_LABELS))
    names = ["error_set_size", "ranking_loss", "auc.samples"]
    report = evaluate(truth, wide(1)[1], metrics=names)
    assert report["error_set_size"] == float(n_relevant * (MOST_LABELS - n_relevant)) > 2**63
    assert (report["ranking_loss"], report["auc.samples"]) == (1.0, 0.5)


@pytest.mark.parametrize("n_extra", [0, 256])
def test_label_ids_may_need_64_bits(n_extra: int) -> None:
    big = 2**31 + 7
    relevant = np.array([3, big, *range(big + 2, big + 2 + n_extra), MOST_LABELS - 2])
    n, listed = relevant.size, np.array([[big + 1, big, 0, MOST_LABELS - 1]])
    truth = sp.csr_array((np.ones(n), relevant, np.array([0, n])), shape=(1, MOST_LABELS))
    report = evaluate(
        truth, (listed, np.array([[3.0, 2.0, 0.0, -1.0]])), metrics=["p@2", "mrr@5", "coverage", "r@5"],
        conventions="unlisted=1",
    )  # fmt: skip
    # behind two listed labels come all others by id, but the two that are listed below them
    others = [label for label in relevant.tolist() if label != big]
    ranks = np.sort([2, *(3 + label - sum(each < label for each in listed[0]) for label in others)])
    assert report["p@2"] == 0.5
    assert report["mrr@5"] == 0.5
    assert report["coverage"] == ranks[-1] - 1
    assert report["r@5"] == (ranks <= 5).sum() / n


def test_counts_that_would_wrap_are_refused() -> None:
    huge = np.array([2**63], np.uint64)
    for bound in (lambda: hamming_bound(huge, 2**70), lambda: threshold_error(huge, [1])):
        with pytest.raises(ValueError, match=r"count 9223372036854775808 is more than 2\^52$"):
            bound()
    assert hamming_bound(np.full(4096, 2**52), n_cells=2**65) == 0.5
