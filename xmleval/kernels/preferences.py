"""Values of rows from the ranks of judged labels: preferences, cascades, interpolated precision."""

from __future__ import annotations

from xmleval.base.arrays import Floats, Ints
from xmleval.kernels.jit import kernel


@kernel
def count_preferences(
    true_ptr: Ints,
    sorted_ranks: Ints,
    other_ptr: Ints,
    other_ranks: Ints,
    n_ranked: Ints,
    n_above: Ints,
) -> None:
    """Count the judged irrelevant labels above each relevant label, at most R for each.

    true_ptr, other_ptr : int64 (n + 1,), of relevant and of judged irrelevant labels
    sorted_ranks, other_ranks : int64 (t,), increasing in each row, 0 for labels without a rank
    n_ranked : int64 (n,), written: number of relevant labels that have a rank
    n_above : int64 (n,), written: sum over these of min(irrelevant labels above, R)
    """
    for i in range(true_ptr.size - 1):
        n_relevant = true_ptr[i + 1] - true_ptr[i]
        n_ranked[i] = 0
        n_above[i] = 0
        above = 0
        u = other_ptr[i]
        while u < other_ptr[i + 1] and other_ranks[u] == 0:
            u += 1
        for t in range(true_ptr[i], true_ptr[i + 1]):
            rank = sorted_ranks[t]
            if rank == 0:
                continue
            while u < other_ptr[i + 1] and other_ranks[u] < rank:
                above += 1
                u += 1
            n_ranked[i] += 1
            n_above[i] += min(above, n_relevant)


@kernel
def sum_cascades(ptr: Ints, sorted_ranks: Ints, shares: Floats, k: int, sums: Floats) -> None:
    """Sum the chances that a reader stops at each rank, divided by the rank.

    ptr : int64 (n + 1,); sorted_ranks : int64 (t,), increasing, 0 for labels without a rank
    shares : float64 (t,), chance that the label satisfies a reader; others never do
    k : largest rank that counts; sums : float64 (n,), written
    """
    for i in range(ptr.size - 1):
        left = 1.0
        sums[i] = 0.0
        for t in range(ptr[i], ptr[i + 1]):
            rank = sorted_ranks[t]
            if 0 < rank <= k:
                sums[i] += left * shares[t] / rank
                left *= 1.0 - shares[t]


@kernel
def find_interpolated(
    true_ptr: Ints, sorted_ranks: Ints, n_needed: Ints, precision: Floats
) -> None:
    """Find the largest precision at any rank with at least a number of hits, 0 without one.

    true_ptr : int64 (n + 1,); sorted_ranks : int64 (t,), increasing, 0 for labels without a rank
    n_needed : int64 (n,), number of hits; precision : float64 (n,), written
    """
    for i in range(true_ptr.size - 1):
        n_hits = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            n_hits += sorted_ranks[t] > 0
        precision[i] = 0.0
        t = true_ptr[i + 1] - 1
        while n_hits >= max(n_needed[i], 1):
            precision[i] = max(precision[i], n_hits / sorted_ranks[t])
            n_hits -= 1
            t -= 1
