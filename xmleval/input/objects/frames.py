"""Frames of pandas, polars, Arrow and others that exchange columns with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.input.csr import is_sparse
from xmleval.input.errors import InputError
from xmleval.input.objects.named import (
    BY_INDEX,
    BY_KEY,
    NamedRows,
    as_list,
    flat_rows,
    is_missing,
    refuse_other_labels,
)
from xmleval.message import counted

INSTANCE, LABEL, SCORE = ("instance", "row"), "label", "score"  # columns of a long frame
LABELS, SCORES = "labels", "scores"  # columns of lists


class Wide(NamedTuple):
    """A matrix whose columns are labels by name; ``keys`` names its rows, None where they are in order."""

    keys: list[Any] | None
    matrix: Any
    columns: list[Any]


class Frame(NamedTuple):
    """Columns by name, and the index of the rows, if there is one."""

    columns: list[Any]
    column: Callable[[Any], Any]
    matrix: Callable[[list[Any]], Any]
    keys: list[Any] | None


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """A frame, and which of its columns are the instance, the labels and the scores; see `from_df`."""

    frame: Frame
    instance: Any
    label: Any
    score: Any

    def __repr__(self) -> str:
        """Return the names of the columns."""
        return f"<columns of a frame: instance={self.instance!r}, label={self.label!r}, score={self.score!r}>"

    def rows(self, argument: str) -> NamedRows:
        """Return its rows."""
        if _holds_lists(self.frame.column(self.label)):
            return _lists(argument, self)
        return _long(argument, self)


def from_df(frame: Any, *, instance: Any = None, label: Any = None, score: Any = None) -> Columns:
    """Name the columns of a long frame, or of one with lists of labels, for all that takes rows.

    Parameters
    ----------
    frame : pandas, polars or Arrow frame, or another that exchanges its columns with them
        A row for each instance and label, or for each instance with a list of its labels.
    instance : str, optional
        Column of the names of instances, by which rows are matched; default "instance" or "row". Lists of
        labels need none.
    label : str, optional
        Column of labels, or of lists of them; default "label" or "labels".
    score : str, optional
        Column of scores, or of lists of them, or of relevance in a truth; default "score" or "scores", if
        there is one.

    Returns
    -------
    Columns
        Taken as ``y_true``, ``y_score`` and ``y_pred``, by `Evaluator.update` and `inverse_propensity`, too.
        The frame is not copied.

    Raises
    ------
    ValueError
        If it is no frame, or has no such column; the message names those that there are.

    Examples
    --------
    >>> import pyarrow
    >>> from xmleval import evaluate, from_df
    >>> df = pyarrow.table({"q": [1, 1, 2], "doc": ["a", "b", "c"], "rel": [1, 0, 1], "bm25": [8.5, 9, 4]})
    >>> truth, run = (from_df(df, instance="q", label="doc", score=name) for name in ("rel", "bm25"))
    >>> evaluate(truth, run, metrics="p@1")["p@1"]
    0.5
    """
    found = open_frame("frame", frame)
    if found is None:
        raise InputError("frame", f"{type(frame).__name__} is no frame of pandas, polars or Arrow")
    label = _column("label", label, found.columns, (LABEL, LABELS))
    lists = _holds_lists(found.column(label))
    instance = _column("instance", instance, found.columns, INSTANCE, needed=not lists)
    score = _column("score", score, found.columns, (SCORES if lists else SCORE,), needed=False)
    return Columns(found, instance, label, score)


def _column(role: str, name: Any, columns: list[Any], usual: Sequence[str], needed: bool = True) -> Any:
    """Return the column of a role by its name, or else by its usual ones."""
    if name is not None and name in columns:
        return name
    if name is None:
        found = next((one for one in usual if one in columns), None)
        if found is not None or not needed:
            return found
    missing = " or ".join(map(repr, usual)) if name is None else repr(name)
    raise InputError(role, f"no column {missing}; the columns are {', '.join(map(repr, columns))}")


def open_frame(argument: str, value: Any) -> Frame | None:
    """Return the columns of a frame, None if a value is no frame."""
    if hasattr(value, "iloc") and hasattr(value, "columns"):  # pandas
        return Frame(
            value.columns.tolist(),
            value.__getitem__,
            lambda names: _pandas(value, names),
            value.index.tolist(),
        )
    if hasattr(value, "get_column") and hasattr(value, "columns"):  # polars
        return Frame([*value.columns], value.get_column, lambda names: value.select(names).to_numpy(), None)
    if hasattr(value, "column_names") and hasattr(value, "column"):  # Arrow
        return Frame([*value.column_names], value.column, lambda names: _stacked(value, names), None)
    is_column = hasattr(value, "to_list") or hasattr(value, "to_pylist")
    if is_column or not (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__")):
        return None
    try:
        import pyarrow
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise InputError(argument, "reading this frame needs pyarrow: pip install 'xmleval[arrow]'") from None
    by_stream = hasattr(value, "__arrow_c_stream__")
    try:
        return open_frame(argument, pyarrow.table(value) if by_stream else from_dataframe(value))
    except (pyarrow.ArrowException, ValueError, TypeError, NotImplementedError, RuntimeError) as error:
        raise InputError(argument, f"cannot be read as a frame: {error}") from None


def _pandas(frame: Any, names: list[Any]) -> Any:
    if len(names) < len(frame.columns):
        frame = frame[names]
    kinds = [*frame.dtypes]
    if kinds and all(str(kind).startswith("Sparse[") and kind.fill_value == 0 for kind in kinds):
        return frame.sparse.to_coo()
    found = frame.to_numpy()
    if found.dtype.kind == "O" and all(kind.kind in "biuf" for kind in kinds):
        found = frame.to_numpy(dtype=np.float64, na_value=np.nan)  # types that allow for missing values
    return found


def _stacked(table: Any, names: list[Any]) -> NDArray[Any]:
    return np.column_stack([table.column(name).to_numpy() for name in names])


def read_frame(argument: str, frame: Frame, labels: Sequence[Any] | None) -> Wide | NamedRows:
    """Return a wide, a long or a list frame; ``labels`` are the columns of a wide one, if given."""
    names = frame.columns
    if len({*names}) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(argument, f"several columns are called {twice!r}")
    instance = next((name for name in INSTANCE if name in names), None)
    if LABEL in names and instance is not None:
        return _long(argument, Columns(frame, instance, LABEL, SCORE if SCORE in names else None))
    lists = LABELS if LABELS in names else names[0] if len(names) == 1 else None
    if lists is not None and (lists == LABELS or _holds_lists(frame.column(lists))):
        return _lists(argument, Columns(frame, instance, lists, SCORES if SCORES in names else None))
    known = {*names} if labels is None else {*labels}
    wanted = [name for name in names if name in known]
    if not wanted:
        raise InputError(argument, f"no label is one of its columns ({', '.join(map(repr, names[:5]))})")
    matrix = frame.matrix(wanted)
    if not is_sparse(matrix) and matrix.dtype.kind not in "biuf":
        bad = next(name for name in wanted if frame.matrix([name]).dtype.kind not in "biuf")
        raise InputError(
            argument,
            f"column {bad!r} holds no numbers; labels= picks the columns that are labels, and "
            "xmleval.from_df names those of a long frame",
        )
    return Wide(frame.keys, matrix, wanted)


def _holds_lists(column: Any) -> bool:
    values = as_list(column) or []
    first = next((value for value in values if value is not None), None)
    return hasattr(first, "__iter__") and not isinstance(first, str)


def _long(argument: str, held: Columns) -> NamedRows:
    frame, instance, score = held.frame, held.instance, held.score
    if argument == "y_score" and score is None:
        raise InputError(
            argument,
            f"no column {SCORE!r} beside {held.label!r}; name that of scores: from_df(df, score=...)",
        )
    numbers: dict[Any, int] = {}
    rows = np.array(
        [numbers.setdefault(key, len(numbers)) for key in as_list(frame.column(instance)) or []], np.int64
    )
    nameless = [number for key, number in numbers.items() if is_missing(key)]
    if nameless:
        row = int((rows == nameless[0]).argmax())
        raise InputError(argument, f"column {instance!r} has no value", row=row)
    order = np.argsort(rows, kind="stable")
    given = as_list(frame.column(held.label)) or []
    labels = [given[place] for place in order.tolist()]
    sizes = np.bincount(rows, minlength=len(numbers)).astype(np.int64)
    values = None if score is None else frame.matrix([score])[:, 0][order]
    if values is not None and values.dtype.kind not in "biuf":
        raise InputError(argument, f"column {score!r} holds no numbers")
    found = NamedRows([*numbers], BY_KEY, sizes, labels, values, False)
    refuse_other_labels(argument, found)
    return found


def _lists(argument: str, held: Columns) -> NamedRows:
    frame = held.frame
    rows = as_list(frame.column(held.label)) or []
    if held.score is not None and argument == "y_score":
        scores = as_list(frame.column(held.score)) or []
        rows = [
            _paired(argument, number, *pair) for number, pair in enumerate(zip(rows, scores, strict=True))
        ]
    keys, match = (frame.keys, None if frame.keys is None else BY_INDEX)
    if held.instance is not None:
        keys, match = as_list(frame.column(held.instance)), BY_KEY
    return flat_rows(argument, rows, keys, match)


def _paired(argument: str, row: int, labels: Any, scores: Any) -> list[Any]:
    for values in (labels, scores):
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise InputError(argument, f"{values!r} is not a list", row=row, value=values)
    if len(labels) != len(scores):
        raise InputError(
            argument, f"{counted(len(labels), 'labels')} with {counted(len(scores), 'scores')}", row=row
        )
    return [*zip(labels, scores, strict=True)]
