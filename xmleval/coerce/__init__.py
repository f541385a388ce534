"""The border: whatever the caller has becomes canonical blocks, or one clear error.

Only here is input looked at by type, and only here is it refused. Arrays of the caller are read, never
written; what must be reordered is copied first.
"""

from __future__ import annotations

from xmleval.coerce.errors import InputError, positive_integer
from xmleval.coerce.memory import memory_bytes
from xmleval.coerce.scores import has_scores, ranking_rows
from xmleval.coerce.sets import set_rows
from xmleval.coerce.source import MOST_LABELS, Rows, as_array, is_sparse, rows_at_a_time
from xmleval.coerce.weights import check_propensity, check_weight

__all__ = [
    "MOST_LABELS",
    "InputError",
    "Rows",
    "as_array",
    "check_propensity",
    "check_weight",
    "has_scores",
    "is_sparse",
    "memory_bytes",
    "positive_integer",
    "ranking_rows",
    "rows_at_a_time",
    "set_rows",
]
