"""Claims of the paper, and whether they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from scripts.limo.records import READING, Results, better, title, upwards

LABEL_WISE = ("ranking_loss", "lrap", "coverage", "auc.samples")
INSTANCE_WISE = ("auc.macro", "f1.macro")
FIRST_ON = ("cal500", "enron", "bibtex")
FEW = 3  # number of methods for which "near the top" says nothing
CRITERIA = """A margin favours a measure if the learner with that margin only has a better average rank over
data sets than the learner with the other margin only. Near the top means a place in the upper half of the
average ranks, the middle included: third of five or of six. It is not judged among three methods.
"""


class Verdict(NamedTuple):
    """A claim about one measure, whether it holds, and the numbers that decide."""

    claim: str
    measure: str
    held: bool
    numbers: str


Ranks = dict[tuple[str, str], float]  # by measure and method


def rank_methods(results: Results, data: str, measure: str) -> dict[str, float]:
    """Return the rank of each method by mean value, 1 is best; ties share their average rank."""
    methods = [method for d, method, name in results if (d, name) == (data, measure)]
    means = np.array([results[data, method, measure].mean() for method in methods])
    return dict(zip(methods, map(float, rankdata(-means if upwards(measure) else means)), strict=True))


def average_ranks(results: Results) -> Ranks:
    """Return ranks averaged over data sets."""
    data_sets = list(dict.fromkeys(data for data, _, _ in results))
    found: Ranks = {}
    for measure in READING:
        ranks = [rank_methods(results, data, measure) for data in data_sets]
        found |= {(measure, m): float(np.mean([rank[m] for rank in ranks])) for m in ranks[0]}
    return found


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


def favours(results: Results, data_sets: Sequence[str], measure: str, one: str, other: str) -> Verdict:
    """Return whether one learner ranks better than the other."""
    sets, splits, n_splits, against = 0, 0, 0, []
    rank = 0.0
    for data in data_sets:
        a, b = results[data, one, measure], results[data, other, measure]
        if better(measure, float(a.mean()), float(b.mean())):
            sets += 1
        else:
            against.append(f"{data} {a.mean():.4f} v {b.mean():.4f}")
        splits += sum(better(measure, x, y) for x, y in zip(a, b, strict=True))
        n_splits += a.size
        found = rank_methods(results, data, measure)
        rank += found[one] - found[other]
    numbers = f"{one} beats {other} on {sets} of {len(data_sets)} data sets, {splits} of {n_splits} splits"
    margin = "label-wise" if one == "LIMO-label" else "instance-wise"
    numbers += f"; not {', '.join(against)}" if against else ""
    return Verdict(f"{margin} margins favour", title(measure, READING[measure]), rank < 0, numbers)


def first(claim: str, results: Results, ranks: Ranks, measure: str, data_sets: Sequence[str]) -> Verdict:
    """Return whether LIMO ranks first on average over data sets."""
    if len(data_sets) == 1:
        found = rank_methods(results, data_sets[0], measure)
        shown = {m: f"{results[data_sets[0], m, measure].mean():.4f}" for m in found}
    else:
        found = {method: rank for (name, method), rank in ranks.items() if name == measure}
        shown = {m: f"{rank:.1f}" for m, rank in found.items()}
    numbers = ", ".join(f"{m} {shown[m]}" for m in sorted(found, key=found.__getitem__))
    for data in data_sets if len(data_sets) > 1 else ():
        own = rank_methods(results, data, measure)
        best = min(own, key=own.__getitem__)
        if own["LIMO"] > own[best]:
            means = [f"{m} {results[data, m, measure].mean():.4f}" for m in (best, "LIMO")]
            numbers += f"; on {data} {', '.join(means)}"
    held = found["LIMO"] == min(found.values())
    return Verdict(claim, title(measure, READING[measure]), held, numbers)


def near_the_top(ranks: Ranks, measure: str) -> Verdict:
    """Return whether LIMO is in the upper half of the average ranks, the middle included."""
    found = {method: rank for (name, method), rank in ranks.items() if name == measure}
    place = sum(rank < found["LIMO"] for rank in found.values()) + 1
    middle = (len(found) + 1) // 2
    numbers = f"average rank {found['LIMO']:.1f}, place {place} of {len(found)} ({middle} or better holds)"
    return Verdict("both margins near the top", title(measure, READING[measure]), place <= middle, numbers)
