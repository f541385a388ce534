"""Sweeps over sorted scores of relevant and irrelevant cells, tie groups whole."""

from __future__ import annotations

import numpy as np

from xmleval.arrays import Bools, Floats, Ints, Labels, Scores
from xmleval.kernels.fixed import add_term
from xmleval.kernels.jit import kernel

HALF = 32
LOW = (1 << HALF) - 1


@kernel
def flag_relevant(list_ptr: Ints, true_ptr: Ints, positions: Ints, relevant: Bools) -> None:
    """Flag the listed entries that are relevant.

    positions : int64 (t,), 1-based place of each relevant label in its row's list, 0 where it is not listed
    relevant : bool (s,), False at first
    """
    for i in range(true_ptr.size - 1):
        for t in range(true_ptr[i], true_ptr[i + 1]):
            if positions[t]:
                relevant[list_ptr[i] + positions[t] - 1] = True


@kernel
def add_product(limbs: Ints, a: int, b: int) -> None:
    """Add a * b, with a below 2^31 and b below 2^63, to a sum in two limbs of 2^32, int64 (2,)."""
    low = limbs[1] + a * (b & LOW)
    limbs[1] = low & LOW
    limbs[0] += a * (b >> HALF) + (low >> HALF)


@kernel
def sweep(
    relevant: Scores,
    irrelevant: Scores,
    n_unlisted: Ints,
    level: float,
    pairs: Ints,
    precision: Ints,
    peak: Floats,
) -> None:
    """Walk down the scores of cells that are ranked together.

    relevant, irrelevant : scores, rising
    n_unlisted : int64 (2,), relevant and irrelevant cells that share one place
    level : their score, or NaN where they stand below everything
    pairs : int64 (2, 2), written: (relevant, irrelevant) pairs in the right order, and level, as limbs
    precision : int64 (4,), added to: precision at the end of its tie group of every relevant cell
    peak : float64 (1,), written: largest F1 of a cut between tie groups
    """
    i, j = relevant.size - 1, irrelevant.size - 1
    n_relevant = relevant.size + n_unlisted[0]
    n_irrelevant = irrelevant.size + n_unlisted[1]
    waiting = n_unlisted[0] + n_unlisted[1] > 0
    seen, wrong = 0, 0
    pairs[:] = 0
    peak[0] = 0.0
    while i >= 0 or j >= 0 or waiting:
        listed = i >= 0 or j >= 0
        score = level
        if listed:
            score = relevant[i] if j < 0 or (i >= 0 and relevant[i] >= irrelevant[j]) else irrelevant[j]
        group, others = 0, 0
        if waiting and (not listed or level >= score):
            waiting = False
            group, others = n_unlisted[0], n_unlisted[1]
            score = level
        while i >= 0 and relevant[i] == score:
            group += 1
            i -= 1
        while j >= 0 and irrelevant[j] == score:
            others += 1
            j -= 1
        seen += group
        wrong += others
        if group:
            add_product(pairs[0], group, n_irrelevant - wrong)
            add_product(pairs[1], group, others)
            add_term(precision, group * (seen / (seen + wrong)))
            peak[0] = max(peak[0], 2.0 * seen / (seen + wrong + n_relevant))


@kernel
def sweep_labels(
    relevant_ptr: Ints,
    relevant: Scores,
    irrelevant_ptr: Ints,
    irrelevant: Scores,
    n_unlisted: Ints,
    level: float,
    pairs: Floats,
    precision: Floats,
    peak: Floats,
) -> None:
    """Walk down the scores of every label.

    *_ptr, relevant, irrelevant : int64 (n_labels + 1,), scores rising within each label
    n_unlisted : int64 (n_labels, 2)
    pairs : float64 (n_labels, 2); precision, peak : float64 (n_labels,); written, see `sweep`
    """
    limbs, total = np.zeros((2, 2), np.int64), np.zeros(4, np.int64)
    for label in range(n_unlisted.shape[0]):
        total[:] = 0
        above = relevant[relevant_ptr[label] : relevant_ptr[label + 1]]
        below = irrelevant[irrelevant_ptr[label] : irrelevant_ptr[label + 1]]
        sweep(above, below, n_unlisted[label], level, limbs, total, peak[label : label + 1])
        for kind in range(2):
            pairs[label, kind] = limbs[kind, 0] * 4294967296.0 + limbs[kind, 1]
        fraction = total[1] / 4503599627370496.0 + total[2] / 4503599627370496.0**2
        precision[label] = total[0] + fraction


@kernel
def merge_keys(labels: Labels, scores: Scores, keys: Ints) -> None:
    """Write one sortable integer for each (label, float32 score), given as its bits.

    labels : int32 (n,); scores : int32 (n,), bits of float32 without -0.0 and NaN; keys : int64 (n,)
    """
    for p in range(labels.size):
        bits = np.int64(scores[p])
        if bits < 0:
            bits = -(bits & 0x7FFFFFFF)
        keys[p] = (np.int64(labels[p]) << HALF) + bits
