"""Types of what people may give as an argument; what is in it is checked as it is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike

from xmleval.input.objects.frames import Columns
from xmleval.input.rows import Named
from xmleval.input.scan import Scan


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy, or of a library with its interface."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""

    def tocsr(self) -> object:
        """Return it by rows."""


class RowsByKey(Protocol):
    """Qrels and Run of ranx, which are dicts of dicts."""

    def to_dict(self) -> Mapping[str, Mapping[str, float]]:
        """Return the dict."""


FilePath: TypeAlias = str | os.PathLike[str]
Keyed: TypeAlias = Mapping[Any, object]  # by the names of rows, or of labels
# labels, or labels with scores, of each row; frames of pandas, polars and Arrow, and tensors, are like arrays
RowsLike: TypeAlias = (
    ArrayLike | SparseMatrix | Sequence[object] | Keyed | RowsByKey | FilePath | Named | Columns | Scan
)
ModelsLike: TypeAlias = Mapping[str, RowsLike]  # predictions of models by name
ValuesLike: TypeAlias = ArrayLike | Keyed | FilePath  # a value for each row, or for each label
