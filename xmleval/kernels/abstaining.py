"""Risk and coverage of rows that are accepted from the highest score down, rows of equal scores together."""

from __future__ import annotations

from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel
from xmleval.kernels.weight_sums import add_sum, round_sum
from xmleval.kernels.weighted_sweeps import score_of
from xmleval.records import Floats, Ints

ROUNDED = 1.0 + 2.0**-50  # the most by which two rounded sums of one value differ


@kernel
def accept(
    rows: Ints, hits: Ints, total: Ints, k: int, coverages: Floats, seen: Ints, area: Ints, found: Floats
) -> bool:
    """Accept the rows of a range of scores, from above; return whether the hits are possible.

    rows, hits : int64 (n, 4), (h, 4), tables by score: weights of rows, and of their hits in the first k
    total : int64 (3,), weight of all rows
    coverages : float64 (c,), the shares of the rows to accept at least
    seen : int64 (2, 3), weights of the rows and hits above, to which these are added
    area : int64 (4,), fixed point, added to: for every row, the risk of those with at least its score
    found : float64 (c, 2), written at the first score that reaches each coverage: risk and score, NaN before
    """
    j, whole = hits.shape[0] - 1, round_sum(total)
    for i in range(rows.shape[0] - 1, -1, -1):
        add_sum(seen[0], rows[i, 1], rows[i, 2], rows[i, 3], 1)
        if j >= 0 and hits[j, 0] == rows[i, 0]:
            if round_sum(hits[j, 1:]) > k * round_sum(rows[i, 1:]) * ROUNDED:
                return False
            add_sum(seen[1], hits[j, 1], hits[j, 2], hits[j, 3], 1)
            j -= 1
        accepted = round_sum(seen[0])
        risk = max(0.0, 1.0 - round_sum(seen[1]) / (k * accepted))
        add_term(area, round_sum(rows[i, 1:]) / whole * risk)
        for c in range(coverages.size):
            if found[c, 0] != found[c, 0] and accepted / whole >= coverages[c]:
                found[c, 0], found[c, 1] = risk, score_of(rows[i, 0])
    return bool(j < 0)
