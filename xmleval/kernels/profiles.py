"""Tables of hits by number of relevant labels and rank."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Floats, Ints, Labels
from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel


@kernel
def count_hits(true_ptr: Ints, ranks: Ints, slots: Ints, hits: Ints) -> None:
    """Count hits by the instance's slot and rank; hits : int64 (slots, depth), added to."""
    depth = hits.shape[1]
    for i in range(true_ptr.size - 1):
        slot = slots[true_ptr[i + 1] - true_ptr[i]]
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if 0 < ranks[t] <= depth:
                hits[slot, ranks[t] - 1] += 1


@kernel
def sum_hits(true_ptr: Ints, ranks: Ints, slots: Ints, weight: Floats, rows: Ints, hits: Ints) -> None:
    """Sum instance weights by slot, and by slot and rank of a hit.

    slots : int64 (largest R + 1,), slot of each number of relevant labels
    rows : int64 (slots, 3); hits : int64 (slots, depth, 3), fixed point, added to
    """
    depth = hits.shape[1]
    for i in range(true_ptr.size - 1):
        slot = slots[true_ptr[i + 1] - true_ptr[i]]
        add_term(rows[slot], weight[i])
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if 0 < ranks[t] <= depth:
                add_term(hits[slot, ranks[t] - 1], weight[i])


@kernel
def sum_gains(
    true_ptr: Ints,
    true_labels: Labels,
    ranks: Ints,
    slots: Ints,
    propensity: Floats,
    weight: Floats,
    gains: Ints,
) -> None:
    """Sum the propensity of each hit by slot and rank.

    propensity : float64 (n_labels,); weight : float64 (n,), or (0,) where all weigh one
    gains : int64 (slots, depth, 3), fixed point, added to
    """
    depth = gains.shape[1]
    for i in range(true_ptr.size - 1):
        slot = slots[true_ptr[i + 1] - true_ptr[i]]
        unit = weight[i] if weight.size else 1.0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if 0 < ranks[t] <= depth:
                add_term(gains[slot, ranks[t] - 1], propensity[true_labels[t]] * unit)


@kernel
def sum_ideals(
    true_ptr: Ints, true_labels: Labels, slots: Ints, propensity: Floats, weight: Floats, ideals: Ints
) -> None:
    """Sum each instance's largest propensities by slot and by their place in falling order.

    ideals : int64 (slots, depth, 3), fixed point, added to; the rest as in `sum_gains`
    """
    depth = ideals.shape[1]
    best = np.empty(depth, np.float64)
    for i in range(true_ptr.size - 1):
        slot = slots[true_ptr[i + 1] - true_ptr[i]]
        held = 0
        for t in range(true_ptr[i], true_ptr[i + 1]):
            q = propensity[true_labels[t]]
            if held == depth:
                if q <= best[depth - 1]:
                    continue
                held -= 1
            j = held
            while j > 0 and best[j - 1] < q:
                best[j] = best[j - 1]
                j -= 1
            best[j] = q
            held += 1
        unit = weight[i] if weight.size else 1.0
        for r in range(held):
            add_term(ideals[slot, r], best[r] * unit)


@kernel
def keep_hits(
    true_ptr: Ints, true_labels: Labels, ranks: Ints, propensity: Floats, hits: Floats, gains: Floats
) -> None:
    """Write each instance's own hits and gains by rank.

    propensity : float64 (n_labels,), or (0,) where no gains are wanted
    hits, gains : float64 (n, depth), zero at first; gains (0, 0) without propensities
    """
    depth = hits.shape[1]
    for i in range(true_ptr.size - 1):
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if 0 < ranks[t] <= depth:
                hits[i, ranks[t] - 1] = 1.0
                if propensity.size:
                    gains[i, ranks[t] - 1] = propensity[true_labels[t]]
