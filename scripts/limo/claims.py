"""What the paper claims, and whether it holds here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from scripts.limo.records import READING, Cells, better, title, upwards

LABEL_WISE = ("ranking_loss", "lrap", "coverage", "auc.samples")
INSTANCE_WISE = ("auc.macro", "f1.macro")
FIRST_ON = ("cal500", "enron", "bibtex")
FEW = 3  # methods among which a place near the top says nothing
CRITERIA = """One margin favours a measure if the learner of that margin alone has the better rank,
averaged over data sets, than that of the other margin alone. Near the top is a place in the upper half of the
average ranks, the middle included: the third of five or of six will do. It is not judged among three methods.
"""


class Verdict(NamedTuple):
    """A claim about one measure, whether it holds, and the numbers that decide."""

    claim: str
    measure: str
    held: bool
    numbers: str


Ranks = dict[tuple[str, str], float]  # by measure and method


def rank_methods(cells: Cells, data: str, measure: str) -> dict[str, float]:
    """Return the rank of each method that has the measure, 1 the best mean, equal ones their average."""
    methods = [method for d, method, name in cells if (d, name) == (data, measure)]
    means = np.array([cells[data, method, measure].mean() for method in methods])
    return dict(zip(methods, map(float, rankdata(-means if upwards(measure) else means)), strict=True))


def average_ranks(cells: Cells) -> Ranks:
    """Return ranks averaged over data sets."""
    data_sets = list(dict.fromkeys(data for data, _, _ in cells))
    found: Ranks = {}
    for measure in READING:
        ranks = [rank_methods(cells, data, measure) for data in data_sets]
        found |= {(measure, m): float(np.mean([rank[m] for rank in ranks])) for m in ranks[0]}
    return found


def judge(cells: Cells) -> list[Verdict]:
    """Return a verdict on every claim.

    What holds is told by `CRITERIA`.
    """
    data_sets = list(dict.fromkeys(data for data, _, _ in cells))
    ranks = average_ranks(cells)
    verdicts = [favours(cells, data_sets, m, "LIMO-label", "LIMO-inst") for m in LABEL_WISE]
    verdicts += [favours(cells, data_sets, m, "LIMO-inst", "LIMO-label") for m in INSTANCE_WISE]
    verdicts.append(first("both margins best", cells, ranks, "auc.micro", data_sets))
    if len({method for _, method, _ in cells}) > FEW:
        verdicts += [near_the_top(ranks, measure) for measure in READING]
    verdicts += [
        first(f"LIMO first on {data}", cells, ranks, "ranking_loss", [data])
        for data in FIRST_ON
        if data in data_sets
    ]
    return verdicts


def favours(cells: Cells, data_sets: Sequence[str], measure: str, one: str, other: str) -> Verdict:
    """Compare two learners."""
    sets, splits, n_splits, against = 0, 0, 0, []
    rank = 0.0
    for data in data_sets:
        a, b = cells[data, one, measure], cells[data, other, measure]
        if better(measure, float(a.mean()), float(b.mean())):
            sets += 1
        else:
            against.append(f"{data} {a.mean():.4f} v {b.mean():.4f}")
        splits += sum(better(measure, x, y) for x, y in zip(a, b, strict=True))
        n_splits += a.size
        found = rank_methods(cells, data, measure)
        rank += found[one] - found[other]
    numbers = f"{one} beats {other} on {sets} of {len(data_sets)} data sets, {splits} of {n_splits} splits"
    margin = "label-wise" if one == "LIMO-label" else "instance-wise"
    numbers += f"; not {', '.join(against)}" if against else ""
    return Verdict(f"{margin} margins favour", title(measure, READING[measure]), rank < 0, numbers)


def first(claim: str, cells: Cells, ranks: Ranks, measure: str, data_sets: Sequence[str]) -> Verdict:
    """Tell whether LIMO ranks first, on average over some data sets."""
    if len(data_sets) == 1:
        found = rank_methods(cells, data_sets[0], measure)
        shown = {m: f"{cells[data_sets[0], m, measure].mean():.4f}" for m in found}
    else:
        found = {method: rank for (name, method), rank in ranks.items() if name == measure}
        shown = {m: f"{rank:.1f}" for m, rank in found.items()}
    numbers = ", ".join(f"{m} {shown[m]}" for m in sorted(found, key=found.__getitem__))
    for data in data_sets if len(data_sets) > 1 else ():
        own = rank_methods(cells, data, measure)
        best = min(own, key=own.__getitem__)
        if own["LIMO"] > own[best]:
            means = [f"{m} {cells[data, m, measure].mean():.4f}" for m in (best, "LIMO")]
            numbers += f"; on {data} {', '.join(means)}"
    held = found["LIMO"] == min(found.values())
    return Verdict(claim, title(measure, READING[measure]), held, numbers)


def near_the_top(ranks: Ranks, measure: str) -> Verdict:
    """Tell whether LIMO is in the upper half of the average ranks, or in their middle."""
    found = {method: rank for (name, method), rank in ranks.items() if name == measure}
    place = sum(rank < found["LIMO"] for rank in found.values()) + 1
    middle = (len(found) + 1) // 2
    numbers = f"average rank {found['LIMO']:.1f}, place {place} of {len(found)} ({middle} or better holds)"
    return Verdict("both margins near the top", title(measure, READING[measure]), place <= middle, numbers)
