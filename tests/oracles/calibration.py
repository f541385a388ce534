"""The oracle of calibration: loops over all (score, hit) pairs of the first k labels."""

import math
from fractions import Fraction
from itertools import groupby

from tests.oracles.metrics import (
    NAN,
    Case,
    convention,
    in_rank_order,
    measures,
    ratio,
    row_weights,
    top,
    unlisted_score,
)

NAMES = ("ece", "ece_over", "ece_under", "ace", "brier", "log_loss")
MEASURES = measures(NAMES, cutoffs=["", "k"])
Pair = tuple[float, bool, float]  # score, hit, weight


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x))."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def probability(case: Case, score: float) -> float:
    """The probability that a score means by the convention `link`."""
    if convention(case, "link") == "sigmoid":
        return sigmoid(score)
    return score


def pairs_of(case: Case, k: int | None) -> list[Pair]:
    """The first k labels of every row that have a score: (score, whether relevant, weight)."""
    assert case.listed is not None
    unlisted = unlisted_score(case)
    weights = row_weights(case)
    pairs = []
    for i, (relevant, listed) in enumerate(zip(case.truth, case.listed, strict=True)):
        scores = {j: float(s) for j, s in listed if s is not None}
        if unlisted is not None:
            scores = {j: scores.get(j, unlisted) for j in range(case.n_labels)}
        ranked = in_rank_order(case, i)
        if k is not None:
            ranked = top(case, i, k)
        for j in ranked:
            if j in scores:
                pairs.append((probability(case, scores[j]), j in relevant, weights[i]))
    return pairs


def bin_of(score: float, n_bins: int) -> int:
    """The bin [b / n, (b + 1) / n) of a score; 1 is in the last one."""
    return max(b for b in range(n_bins) if score >= b / n_bins)


def bins_of_equal_width(pairs: list[Pair], n_bins: int) -> list[list[Pair]]:
    bins: list[list[Pair]] = [[] for _ in range(n_bins)]
    for pair in pairs:
        bins[bin_of(pair[0], n_bins)].append(pair)
    return bins


def bins_of_equal_mass(pairs: list[Pair], n_bins: int) -> list[list[Pair]]:
    """Bins of equal weight; pairs of one score are in the bin of the last of them."""
    total = sum(Fraction(w) for _, _, w in pairs)
    weighted = sorted(pair for pair in pairs if pair[2])
    reached = Fraction(0)
    bins: list[list[Pair]] = [[] for _ in range(n_bins)]
    for _, group in groupby(weighted, key=lambda pair: pair[0]):
        tied = list(group)
        reached += sum(Fraction(w) for _, _, w in tied)
        last = max(math.ceil(reached * n_bins / total), 1)
        bins[last - 1] += tied
    return bins


def value(name: str, case: Case, cutoff: str = "", bins: float = 1) -> float:
    """The measure of the whole case; nan without any pair."""
    k = int(cutoff) if cutoff else None
    return value_of_pairs(name, pairs_of(case, k), int(bins))


def value_of_pairs(name: str, pairs: list[Pair], n_bins: int = 1, eps: float = 2.0**-52) -> float:
    """The measure of pairs, from its definition."""
    total = math.fsum(w for _, _, w in pairs)
    if name == "brier":  # mean of (s - y)^2
        return ratio(math.fsum(w * (s - y) ** 2 for s, y, w in pairs), total, NAN)
    if name == "log_loss":  # mean of -log of the probability of the outcome
        logs = []
        for score, hit, weight in pairs:
            p = min(max(score, eps), 1 - eps)
            logs.append(weight * math.log(p if hit else 1 - p))
        return ratio(-math.fsum(logs), total, NAN)
    if name == "ace":
        bins = bins_of_equal_mass(pairs, n_bins)
    else:
        bins = bins_of_equal_width(pairs, n_bins)
    return ratio(math.fsum(bin_error(name, content) for content in bins), total, NAN)


def bin_error(name: str, pairs: list[Pair]) -> float:
    """Weight of a bin times the gap of its mean hit and mean score, or the gap of one sign."""
    weight = math.fsum(w for _, _, w in pairs)
    if not weight:
        return 0.0
    hits = math.fsum(w * y for _, y, w in pairs) / weight
    scores = math.fsum(w * s for s, _, w in pairs) / weight
    gap = hits - scores
    if name == "ece_over":
        return weight * max(-gap, 0.0)
    if name == "ece_under":
        return weight * max(gap, 0.0)
    return weight * abs(gap)
