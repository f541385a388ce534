"""Values that are not there, and the words that print them."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

MISSING_WORDS = ("None", "nan", "NaN", "NaT", "<NA>")  # as pandas and NumPy print what is not there


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for none."""
    return not isinstance(value, str) and str(value) in MISSING_WORDS


def missing_names_note(*label_names: Container[Any]) -> list[str]:
    """Return a note where labels are called as missing values are printed."""
    words = [repr(word) for word in MISSING_WORDS if any(word in names for names in label_names)]
    if not words:
        return []
    return [f"{', '.join(words)} counts as a label; leave it out where it stands for a missing value"]
