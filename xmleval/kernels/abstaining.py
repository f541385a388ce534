"""Risk and coverage of rows accepted from the highest score down, tied rows together."""

from __future__ import annotations

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel
from xmleval.kernels.weight_sums import add_to


@kernel
def accept(
    rows: Floats,
    hits: Floats,
    total: float,
    k: int,
    coverages: Floats,
    seen: Floats,
    area: Ints,
    reached: Floats,
) -> None:
    """Accept the rows of a range of scores, from above.

    rows, hits : float64 (n, 3), (h, 3), tables by score: weights of rows, and of their hits in the
        first k
    total : weight of all rows
    coverages : float64 (c,), the shares of the rows to accept at least
    seen : float64 (2, 2), weights of the rows and hits above, to which these are added
    area : int64 (4,), fixed point, added to: for every row, the risk of those with at least its
        score
    reached : float64 (c, 2), written at the first score with each coverage: risk and score, NaN
        before
    """
    j = hits.shape[0] - 1
    for i in range(rows.shape[0] - 1, -1, -1):
        add_to(seen[0], rows[i, 1], rows[i, 2])
        if j >= 0 and hits[j, 0] == rows[i, 0]:
            add_to(seen[1], hits[j, 1], hits[j, 2])
            j -= 1
        accepted = seen[0, 0]
        risk = max(0.0, 1.0 - seen[1, 0] / (k * accepted))
        add_term(area, rows[i, 1] / total * risk)
        for c in range(coverages.size):
            if reached[c, 0] != reached[c, 0] and accepted / total >= coverages[c]:
                reached[c, 0] = risk
                reached[c, 1] = rows[i, 0]
