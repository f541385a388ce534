"""An oracle of logarithmic losses over all labels of a row, label by label."""

import math

from tests.oracles.calibration import probability
from tests.oracles.metrics import Case, measures, unlisted_score

MEASURES = measures(["log_loss"], ["samples"]) | measures(["limited_log_loss"])
EPS = 1e-8  # log_loss keeps probabilities this far from 0 and 1


def rows(name: str, case: Case, limit: float = 0) -> list[float]:
    """Losses of the rows; labels without a score have probability 0."""
    default = unlisted_score(case)
    unlisted = 0.0
    if default is not None:
        unlisted = probability(case, default)
    losses = []
    assert case.listed is not None
    for i, (relevant, listed) in enumerate(zip(case.truth, case.listed, strict=True)):
        scores = {j: probability(case, float(s)) for j, s in listed if s is not None}
        total = 0.0
        labels = case.counted(i)
        for j in labels:
            p = scores.get(j, unlisted)
            if name == "log_loss":
                total += label_loss(p, j in relevant)
            else:
                total += limited_label_loss(p, j in relevant, limit) / len(labels)
        losses.append(total if labels or name == "log_loss" else math.nan)
    return losses


def label_loss(p: float, is_relevant: bool) -> float:
    """-log of the probability of the outcome."""
    p = min(max(p, EPS), 1 - EPS)
    return -math.log(p if is_relevant else 1 - p)


def limited_label_loss(p: float, is_relevant: bool, limit: float) -> float:
    """-log of the probability of the outcome, at most log(limit), as in MEKA."""
    outcome = p if is_relevant else 1 - p
    if outcome <= 0:
        return math.log(limit)
    return min(-math.log(outcome), math.log(limit))
