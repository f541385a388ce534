"""An oracle of measures of predictions alone, from the number of slots that a label fills."""

import math

from tests.oracles.metrics import NAN, Case, mean, measures, predictions, row_weights

NAMES = ("pred_coverage", "gini", "entropy", "popularity", "tail_share")
MEASURES = measures(NAMES, cutoffs=["", "k"])


def slots(case: Case, k: int | None) -> list[float]:
    """n_j: total weight of the rows in which label j is predicted."""
    rows = list(zip(predictions(case, k), row_weights(case), strict=True))
    return [math.fsum(w for h, w in rows if j in h) for j in range(case.n_labels)]


def value(name: str, case: Case, k: int | None, count: float = 0) -> float:
    """The measure of the whole case; without predictions nan, but for pred_coverage."""
    n = slots(case, k)
    if name == "pred_coverage":  # labels with a slot / l
        return sum(n_j > 0 for n_j in n) / case.n_labels
    if sum(n) == 0:
        return NAN
    if name == "gini":
        return gini(n)
    if name == "entropy":
        return entropy(n)
    assert case.label_counts is not None
    if name == "popularity":  # mean over slots of N_j
        return mean([float(N_j) for N_j in case.label_counts], n)
    assert name == "tail_share"  # mean over slots of [1 <= N_j <= count]
    return mean([float(1 <= N_j <= count) for N_j in case.label_counts], n)


def gini(n: list[float]) -> float:
    """Mean absolute difference of two labels / (2 mean)."""
    n_labels = len(n)
    difference = math.fsum(abs(a - b) for a in n for b in n) / n_labels**2
    return difference / (2 * math.fsum(n) / n_labels)


def entropy(n: list[float]) -> float:
    """- sum p ln p / ln l; nan for a single label."""
    if len(n) == 1:
        return NAN
    total = math.fsum(n)
    shares = [n_j / total for n_j in n if n_j > 0]
    return -math.fsum(p * math.log(p) for p in shares) / math.log(len(n))
