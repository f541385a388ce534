"""What is seen of scores before they are ranked and cut, and of label sets before they are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.records import Ints, row_sizes

VECTORS = "rows of zeros and ones, one for each label, look like label ids"
LOOKS = 32  # how many times more scores are looked at next, where all so far are 0 or 1


def is_binary(scores: NDArray[Any]) -> bool:
    """Tell whether every score is 0 or 1, looking at few of them where the first ones tell."""
    if scores.size and scores[0] != 0 and scores[0] != 1:
        return False
    start, stop = 0, LOOKS
    while start < scores.size:
        part = scores[start:stop]
        if not ((part == 0) | (part == 1)).all():
            return False
        start, stop = stop, LOOKS * stop
    return True


def lists_several(ptr: Ints) -> bool:
    """Tell whether some row lists two labels or more; mostly the first one does."""
    return ptr.size > 1 and bool(ptr[1] > 1 or (row_sizes(ptr) > 1).any())


def are_vectors(ptr: Ints, labels: NDArray[Any]) -> bool:
    """Tell whether ids in the order given look like zeros and ones of each label.

    Rows of one length of more than two of them hold an id twice. Those of two do not, and are taken for
    vectors where each has both ids, and some have them falling, some rising.
    """
    sizes = row_sizes(ptr)
    width = int(sizes[0]) if sizes.size > 1 else 0
    if width < 2 or not (sizes == width).all() or labels.min() != 0 or labels.max() != 1:
        return False
    rows = labels.reshape(-1, width)
    return width > 2 or bool((rows[:, 0] == rows[:, 1]).any()) or np.unique(rows[:, 0]).size == 2
