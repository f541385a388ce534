"""What is seen of scores before they are ranked and cut."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from xmleval.records import Ints, row_sizes

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
