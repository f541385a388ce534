"""The oracle of calibration: the list of all (score, hit) pairs of the first k labels, and loops over it."""

import math
from fractions import Fraction
from itertools import groupby

from tests.oracles.metrics import NAN, Case, convention, in_rank_order, ratio, row_weights, top

MEASURES = frozenset(
    (name, None, at)
    for name in ("ece", "ece_over", "ece_under", "ace", "brier", "log_loss")
    for at in ("", "k")
)
Pair = tuple[float, bool, float]  # score, hit, weight


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def probability(case: Case, score: float) -> float:
    """The probability that a score stands for."""
    return sigmoid(score) if convention(case, "link") == "sigmoid" else score


def pairs(case: Case, k: int | None) -> list[Pair]:
    """Scores of the first k labels of every row that have one, whether they are relevant, and weights."""
    assert case.listed is not None
    fill, found = convention(case, "unlisted"), []
    for i, (y, row, weight) in enumerate(zip(case.truth, case.listed, row_weights(case), strict=True)):
        scores = {j: float(s) for j, s in row if s is not None}
        if fill != "below":
            scores = {j: scores.get(j, float(str(fill))) for j in range(case.n_labels)}
        for j in in_rank_order(case, i) if k is None else top(case, i, k):
            if j in scores:
                found.append((probability(case, scores[j]), j in y, weight))
    return found


def bin_of(score: float, bins: int) -> int:
    """The bin [b / bins, (b + 1) / bins) of a score; 1 is in the last one."""
    return max(b for b in range(bins) if score >= b / bins)


def masses(found: list[Pair], bins: int) -> list[list[Pair]]:
    """Bins of equal mass: pairs of one score are in the bin that the last one of them is in."""
    total, reached = sum(Fraction(w) for _, _, w in found), Fraction(0)
    parts: list[list[Pair]] = [[] for _ in range(bins)]
    for _, group in groupby(sorted(pair for pair in found if pair[2]), key=lambda pair: pair[0]):
        own = list(group)
        reached += sum(Fraction(w) for _, _, w in own)
        parts[max(math.ceil(reached * bins / total), 1) - 1] += own
    return parts


def value(name: str, case: Case, cutoff: str = "", bins: float = 1) -> float:
    """The measure of the whole case; nan without any pair."""
    return of_pairs(name, pairs(case, int(cutoff) if cutoff else None), int(bins))


def of_pairs(name: str, found: list[Pair], bins: int = 1, eps: float = 2.0**-52) -> float:
    """The measure of pairs, from its definition."""
    total = math.fsum(w for _, _, w in found)
    if name == "brier":
        return ratio(math.fsum(w * (s - y) ** 2 for s, y, w in found), total, NAN)
    if name == "log_loss":
        clipped = [(min(max(s, eps), 1 - eps), y, w) for s, y, w in found]
        return ratio(-math.fsum(w * math.log(s if y else 1 - s) for s, y, w in clipped), total, NAN)
    if name == "ace":
        several = masses(found, bins)
    else:
        several = [[pair for pair in found if bin_of(pair[0], bins) == b] for b in range(bins)]
    parts = []
    for own in several:
        n = math.fsum(w for _, _, w in own)
        if n:
            gap = math.fsum(w * y for _, y, w in own) / n - math.fsum(w * s for s, _, w in own) / n
            parts.append(n * {"ece_over": max(-gap, 0.0), "ece_under": max(gap, 0.0)}.get(name, abs(gap)))
    return ratio(math.fsum(parts), total, NAN)
