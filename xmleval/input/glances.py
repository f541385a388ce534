"""What is seen of scores before they are ranked and cut."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from xmleval.kernels.ranking import falls
from xmleval.records import Ints, Scores, row_sizes

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


def falls_somewhere(ptr: Ints, scores: Scores, in_order: bool) -> bool:
    """Tell whether any score is below one in front of it; ``in_order``: scores never rise within a row."""
    if not in_order:
        return not falls(ptr, -scores)
    if ptr.size > 1 and ptr[1] > 0 and scores[0] > scores[ptr[1] - 1]:
        return True
    first, last = ptr[:-1][row_sizes(ptr) > 0], ptr[1:][row_sizes(ptr) > 0] - 1
    return bool((scores[first] > scores[last]).any())
