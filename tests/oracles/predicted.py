"""An oracle of measures of what is predicted, from the number of predicted slots of each label."""

import math

from tests.oracles.metrics import NAN, Case, mean, predictions, row_weights

MEASURES: frozenset[tuple[str, str | None, str]] = frozenset(
    (name, None, at)
    for name in ("pred_coverage", "gini", "entropy", "popularity", "tail_share")
    for at in ("", "k")
)


def slots(case: Case, k: int | None) -> list[float]:
    """n_j: total weight of the rows in which label j is predicted."""
    data = list(zip(predictions(case, k), row_weights(case), strict=True))
    return [math.fsum(w for h, w in data if j in h) for j in range(case.n_labels)]


def value(name: str, case: Case, k: int | None, count: float = 0) -> float:
    """The measure of the whole case; nan where nothing is predicted, but for pred_coverage."""
    n, total = slots(case, k), math.fsum(slots(case, k))
    if name == "pred_coverage":  # labels with a slot / l
        return sum(own > 0 for own in n) / case.n_labels
    if total == 0:
        return NAN
    if name == "gini":  # mean absolute difference of two labels / (2 mean)
        differences = math.fsum(abs(a - b) for a in n for b in n) / case.n_labels**2
        return differences / (2 * total / case.n_labels)
    if name == "entropy":  # - sum p ln p / ln l
        shares = [own / total for own in n if own > 0]
        bits = -math.fsum(p * math.log(p) for p in shares)
        return bits / math.log(case.n_labels) if case.n_labels > 1 else NAN
    assert case.label_counts is not None
    if name == "popularity":  # mean over slots of N_j
        return mean([float(own) for own in case.label_counts], n)
    assert name == "tail_share"  # mean over slots of [1 <= N_j <= count]
    return mean([float(1 <= own <= count) for own in case.label_counts], n)
