"""The k best labels of rows by weighted scores, and the ascent to weights of a macro average."""

from __future__ import annotations

from xmleval.base.arrays import Bools, Floats, Ints, Labels, Scores
from xmleval.kernels.jit import kernel

F1, PRECISION, RECALL = range(3)  # what the macro average is of


@kernel
def find_best(
    start: int, stop: int, labels: Labels, scores: Scores, gains: Floats, best: Ints
) -> int:
    """Find the entries of highest weight x score + offset, ties in order; return their number.

    start, stop : range of entries; labels, scores : (s,); gains : float64 (2, n_labels), weights
        and offsets
    best : int64 (k,), written, best first
    """
    n = 0
    for p in range(start, stop):
        key = gains[0, labels[p]] * scores[p] + gains[1, labels[p]]
        place = n
        while place:
            earlier = best[place - 1]
            if not key > gains[0, labels[earlier]] * scores[earlier] + gains[1, labels[earlier]]:
                break
            place -= 1
        if place == best.size:
            continue
        n = min(n + 1, best.size)
        for later in range(n - 1, place, -1):
            best[later] = best[later - 1]
        best[place] = p
    return n


@kernel
def mark_best(
    ptr: Ints, labels: Labels, scores: Scores, gains: Floats, best: Ints, inside: Bools
) -> None:
    """Mark the best entries of all rows, see `find_best`.

    ptr : int64 (n + 1,); best : int64 (k,), work space; inside : bool (s,), written
    """
    inside[:] = False
    for i in range(ptr.size - 1):
        for place in range(find_best(ptr[i], ptr[i + 1], labels, scores, gains, best)):
            inside[best[place]] = True


@kernel
def set_gain(aim: int, label: int, sizes: Ints, hits: Floats, n_true: Ints, gains: Floats) -> None:
    """Set the gain of a label's value, linear in the probability that one more row is relevant.

    sizes, hits, n_true : (n_labels,), predicted rows, expected relevant ones among them, and
        relevant rows; of the latter one more is counted, so that unseen labels have a value
    gains : float64 (2, n_labels), written
    """
    scale = 1.0
    rows = sizes[label] + 1.0
    if aim == F1:
        scale = 2.0
        rows = sizes[label] + n_true[label] + 2.0
    if aim == RECALL:
        gains[0, label] = 1.0 / (n_true[label] + 1.0)
    else:
        gains[0, label] = scale / rows
        gains[1, label] = -scale * hits[label] / ((rows - 1.0) * rows) if sizes[label] else 0.0


@kernel
def set_gains(aim: int, sizes: Ints, hits: Floats, n_true: Ints, gains: Floats) -> None:
    """Set the gains of all labels; arguments are those of `set_gain`."""
    for label in range(sizes.size):
        set_gain(aim, label, sizes, hits, n_true, gains)


@kernel
def choose_rows(
    ptr: Ints,
    labels: Labels,
    scores: Scores,
    aim: int,
    best: Ints,
    inside: Bools,
    sizes: Ints,
    hits: Floats,
    n_true: Ints,
    gains: Floats,
) -> int:
    """Choose the best labels of one row after another; return the number of rows that change.

    ptr, labels, scores : int64 (n + 1,), (s,), (s,), probabilities
    aim : F1, PRECISION or RECALL; best : int64 (k,), work space; inside : bool (s,), the choice,
        changed
    sizes, hits, n_true, gains : changed, see `set_gain`
    """
    n_changed = 0
    for i in range(ptr.size - 1):
        n_kept = 0
        for p in range(ptr[i], ptr[i + 1]):
            if inside[p]:
                sizes[labels[p]] -= 1
                hits[labels[p]] -= scores[p]
                set_gain(aim, labels[p], sizes, hits, n_true, gains)
        n = find_best(ptr[i], ptr[i + 1], labels, scores, gains, best)
        for place in range(n):
            n_kept += inside[best[place]]
        for p in range(ptr[i], ptr[i + 1]):
            inside[p] = False
        for p in best[:n]:
            inside[p] = True
            sizes[labels[p]] += 1
            hits[labels[p]] += scores[p]
            set_gain(aim, labels[p], sizes, hits, n_true, gains)
        n_changed += n_kept < n
    return n_changed
