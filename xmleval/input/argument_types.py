"""Types of values that callers may pass; their contents are checked when they are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike

from xmleval.input.objects.frames import FrameColumns
from xmleval.input.rows import Named
from xmleval.input.scan import Scan


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy, or of a library with its interface."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""

    def tocsr(self) -> object:
        """Return the matrix in CSR format."""


class Matrix(Protocol):
    """An array, a sparse matrix, a tensor or a frame."""

    @property
    def shape(self) -> Any:
        """Numbers of rows and columns."""


class RowsByKey(Protocol):
    """Qrels and Run of ranx, which are dicts of dicts."""

    def to_dict(self) -> Mapping[str, Mapping[str, float]]:
        """Return the dict."""


FilePath: TypeAlias = str | os.PathLike[str]
Keyed: TypeAlias = Mapping[Any, object]  # by the names of rows, or of labels
# labels, or labels with scores, of each row; ArrayLike includes frames of pandas, polars and Arrow,
# and tensors; iterators yield records, such as named tuples of ir_measures
RowsLike: TypeAlias = (
    ArrayLike
    | SparseMatrix
    | Sequence[object]
    | Iterator[object]
    | Keyed
    | RowsByKey
    | FilePath
    | Named
    | FrameColumns
    | Scan
)
ModelsLike: TypeAlias = Mapping[str, RowsLike]  # predictions of models by name
NamedRows: TypeAlias = Mapping[Any, Keyed] | Mapping[Any, list[Any]] | Mapping[Any, set[Any]]
# those that no dict of rows can be
NamedModels: TypeAlias = (
    Mapping[str, FilePath]
    | Mapping[str, Matrix]
    | Mapping[str, tuple[Matrix, Matrix | None]]
    | Mapping[str, NamedRows]
    | Mapping[str, FilePath | Matrix | tuple[Matrix, Matrix | None] | NamedRows]
)
ValuesLike: TypeAlias = ArrayLike | Keyed | FilePath  # a value for each row, or for each label
