"""Claims of the paper, and verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from scripts.limo.records import READING, Results, better, title, upwards

LABEL_WISE = ("ranking_loss", "lrap", "coverage", "auc.samples")
INSTANCE_WISE = ("auc.macro", "f1.macro")
FIRST_ON = ("cal500", "enron", "bibtex")
FEW = 3  # number of methods among which "near the top" is not judged
CRITERIA = (
    "A margin favours a measure if the learner with that margin only has a better average rank "
    "over\ndata sets than the learner with the other margin only. "
    "Near the top means a place in the upper half of the\naverage ranks, the middle included: "
    "third of five or of six. It is not judged among three methods.\n"
)


class Verdict(NamedTuple):
    """The verdict on a claim about one measure."""

    claim: str
    measure: str
    is_true: bool
    numbers: str  # that decide


Ranks = dict[tuple[str, str], float]  # by measure and method


def rank_methods(results: Results, data: str, measure: str) -> dict[str, float]:
    """Return ranks of methods by mean value, 1 is best; ties share their average rank."""
    methods = [method for d, method, name in results if (d, name) == (data, measure)]
    means = np.array([results[data, method, measure].mean() for method in methods])
    if upwards(measure):
        means = -means
    return dict(zip(methods, map(float, rankdata(means)), strict=True))


def average_ranks(results: Results) -> Ranks:
    """Return ranks averaged over data sets."""
    data_sets = list(dict.fromkeys(data for data, _, _ in results))
    averages: Ranks = {}
    for measure in READING:
        ranks_by_data = [rank_methods(results, data, measure) for data in data_sets]
        for method in ranks_by_data[0]:
            mean = np.mean([ranks[method] for ranks in ranks_by_data])
            averages[measure, method] = float(mean)
    return averages


def judge(results: Results) -> list[Verdict]:
    """Return a verdict on every claim, by `CRITERIA`."""
    data_sets = list(dict.fromkeys(data for data, _, _ in results))
    ranks = average_ranks(results)
    verdicts = [favours(results, data_sets, m, "LIMO-label", "LIMO-inst") for m in LABEL_WISE]
    verdicts += [favours(results, data_sets, m, "LIMO-inst", "LIMO-label") for m in INSTANCE_WISE]
    verdicts.append(first("both margins best", results, ranks, "auc.micro", data_sets))
    if len({method for _, method, _ in results}) > FEW:
        verdicts += [near_the_top(ranks, measure) for measure in READING]
    verdicts += [
        first(f"LIMO first on {data}", results, ranks, "ranking_loss", [data])
        for data in FIRST_ON
        if data in data_sets
    ]
    return verdicts


def favours(
    results: Results, data_sets: Sequence[str], measure: str, learner: str, other: str
) -> Verdict:
    """Return whether one learner ranks better than the other."""
    sets = 0
    splits = 0
    n_splits = 0
    losses = []
    rank_difference = 0.0
    for data in data_sets:
        a = results[data, learner, measure]
        b = results[data, other, measure]
        if better(measure, float(a.mean()), float(b.mean())):
            sets += 1
        else:
            losses.append(f"{data} {a.mean():.4f} v {b.mean():.4f}")
        splits += sum(better(measure, x, y) for x, y in zip(a, b, strict=True))
        n_splits += a.size
        ranks = rank_methods(results, data, measure)
        rank_difference += ranks[learner] - ranks[other]
    numbers = (
        f"{learner} beats {other} on {sets} of {len(data_sets)} data sets, "
        f"{splits} of {n_splits} splits"
    )
    if losses:
        numbers += f"; not {', '.join(losses)}"
    claim = "instance-wise margins favour"
    if learner == "LIMO-label":
        claim = "label-wise margins favour"
    return Verdict(claim, title(measure, READING[measure]), rank_difference < 0, numbers)


def first(
    claim: str, results: Results, ranks: Ranks, measure: str, data_sets: Sequence[str]
) -> Verdict:
    """Return whether LIMO ranks first on average over data sets."""
    if len(data_sets) == 1:
        (data,) = data_sets
        method_ranks = rank_methods(results, data, measure)
        numbers = means_of(results, data, measure, best_first(method_ranks))
    else:
        method_ranks = ranks_on(ranks, measure)
        numbers = ", ".join(f"{m} {method_ranks[m]:.1f}" for m in best_first(method_ranks))
        for data in data_sets:
            data_ranks = rank_methods(results, data, measure)
            best = min(data_ranks, key=data_ranks.__getitem__)
            if data_ranks["LIMO"] > data_ranks[best]:
                numbers += f"; on {data} {means_of(results, data, measure, (best, 'LIMO'))}"
    is_first = method_ranks["LIMO"] == min(method_ranks.values())
    return Verdict(claim, title(measure, READING[measure]), is_first, numbers)


def best_first(ranks: dict[str, float]) -> list[str]:
    """Return the methods in the order of their ranks."""
    return sorted(ranks, key=ranks.__getitem__)


def means_of(results: Results, data: str, measure: str, methods: Sequence[str]) -> str:
    """Return the mean values of methods on one data set, as text."""
    return ", ".join(f"{m} {results[data, m, measure].mean():.4f}" for m in methods)


def ranks_on(ranks: Ranks, measure: str) -> dict[str, float]:
    """Return the average ranks of methods on one measure."""
    return {method: rank for (name, method), rank in ranks.items() if name == measure}


def near_the_top(ranks: Ranks, measure: str) -> Verdict:
    """Return whether LIMO is in the upper half of the average ranks, the middle included."""
    method_ranks = ranks_on(ranks, measure)
    limo_rank = method_ranks["LIMO"]
    n_methods = len(method_ranks)
    place = sum(rank < limo_rank for rank in method_ranks.values()) + 1
    middle = (n_methods + 1) // 2
    numbers = (
        f"average rank {limo_rank:.1f}, place {place} of {n_methods} ({middle} or better holds)"
    )
    return Verdict(
        "both margins near the top", title(measure, READING[measure]), place <= middle, numbers
    )
