"""Frames of pandas, polars, Arrow and others that exchange columns with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.input.columns import (
    DOCUMENT,
    INSTANCE,
    LABEL_COLUMN,
    LABELS_COLUMN,
    OWN_INSTANCE,
    QUERY,
    SCORE_COLUMNS,
    AmbiguousError,
    find_entries,
    find_instance,
    find_value,
    is_written_index,
    may_hold_values,
    named_as,
)
from xmleval.input.csr import is_sparse
from xmleval.input.errors import InputError
from xmleval.input.objects.named import flat_rows, numbered_labels, paired
from xmleval.input.objects.wide import RowColumns, Wide, as_list
from xmleval.input.rows import BY_INDEX, BY_KEY, Rows, is_missing, without_empty_names


class Frame(NamedTuple):
    """Columns by name, and the index of the rows, if there is one."""

    columns: list[Any]
    column: Callable[[Any], Any]
    matrix: Callable[[list[Any]], Any]
    keys: list[Any] | None = None

    def values(self, name: Any) -> list[Any]:
        """Return the values of a column."""
        return as_list(self.column(name)) or []


@dataclass(frozen=True, eq=False)
class Columns:
    """A frame, and which of its columns are the instance, the labels and the scores; see `from_df`.

    Without a score, it is the one that has a usual name. ``is_usual`` tells that the instance is found by its
    name alone.
    """

    frame: Frame = field(repr=False)
    instance: Any
    label: Any
    score: Any
    is_usual: bool = False

    def rows(self, argument: str, lists: bool = False) -> Rows:
        """Return its rows, which must be ``lists`` if so told."""
        others = [name for name in self.frame.columns if name not in (self.instance, self.label)]
        documents = named_as([self.instance], QUERY) and named_as([self.label], DOCUMENT)
        score, labels = self.score, self.frame.values(self.label)
        if score is None:
            with _asking_for_names(argument):
                score = find_value(others, argument != "y_score", beside_documents=bool(documents))
        if lists or _holds_lists(labels):
            return self._lists(argument, labels, score)
        return self._long(argument, labels, score, [name for name in others if may_hold_values(name)])

    def _long(self, argument: str, labels: list[Any], score: Any, others: list[Any]) -> Rows:
        """Return rows of one label each; ``others`` are columns that may hold judgements."""
        if argument == "y_score" and score is None:
            message = f"no column {SCORE_COLUMNS[0]!r} beside {self.label!r}; name that of scores: "
            raise InputError(argument, message + "xmleval.from_df(df, score=...)")
        for name in others if score is None else ():
            if self.frame.matrix([name]).dtype.kind in "biuf":
                how = f"name it, from_df(df, score={name!r}), or leave it out"
                raise InputError(argument, f"column {name!r} may hold judgements of the labels; {how}")
        keys = self.frame.values(self.instance)
        if any(map(is_missing, {*keys})):
            row = next(row for row, key in enumerate(keys) if is_missing(key))
            raise InputError(argument, f"column {self.instance!r} has no value", row=row)
        ids, names = numbered_labels(argument, labels, np.arange(len(keys) + 1))
        values = None if score is None else self.frame.matrix([score])[:, 0]
        if values is not None and values.dtype.kind not in "biuf":
            raise InputError(argument, f"column {score!r} holds no numbers")
        rows = Rows(keys, BY_KEY, np.arange(len(keys) + 1), ids, names, values, is_long=True)
        return without_empty_names(rows)

    def _lists(self, argument: str, lists: list[Any], score: Any) -> Rows:
        frame = self.frame
        if score is not None:
            lists = paired(argument, lists, frame.values(score))
        keys, match = frame.keys, None if frame.keys is None else BY_INDEX
        if self.instance is not None and not self.is_usual:
            keys, match = frame.values(self.instance), BY_KEY
        names = [name for name in frame.columns if name not in (self.label, score)]
        beside = RowColumns(self.instance if self.is_usual else None, names, frame.values)
        rows = flat_rows(argument, lists, keys, match)._replace(beside=beside)
        return rows if argument == "y_score" else rows._replace(best_first=False)


def from_df(frame: Any, *, instance: Any = None, label: Any = None, score: Any = None) -> Columns:
    """Name the columns of a long frame, or of one with lists of labels, for all that takes rows.

    Parameters
    ----------
    frame : pandas, polars or Arrow frame, or another that exchanges its columns with them
        A row for each instance and label, or for each instance with a list of its labels.
    instance : str, optional
        Column of the names of instances, by which rows are matched; default "instance", "row", "query_id",
        "id" or another usual name. Lists of labels need none.
    label : str, optional
        Column of labels, or of lists of them; default "label" or "labels", or "doc_id" or "corpus_id" beside
        a query.
    score : str, optional
        Column of scores, or of lists of them, or of relevance in a truth; default "score" or "scores", in a
        truth "relevance", "rel", "grade" or another usual name, if there is one.

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
    table = open_frame("frame", frame)
    if table is None:
        raise InputError("frame", f"{type(frame).__name__} is no frame of pandas, polars or Arrow")
    with _asking_for_names("frame"):
        entries = find_entries(table.columns, True) if label is None and instance is None else None
        if entries is not None:
            instance, label = entries.instance, entries.label
        label = _column("label", label, table.columns, (LABEL_COLUMN, LABELS_COLUMN))
        lists = _holds_lists(table.values(label))
        usual = find_instance([name for name in table.columns if name != label]) if instance is None else None
        if usual is None and (instance is not None or not lists):
            instance = _column("instance", instance, table.columns, OWN_INSTANCE)
        score = None if score is None else _column("score", score, table.columns, ())
    return Columns(table, usual or instance, label, score, lists and usual not in (None, *OWN_INSTANCE))


@contextlib.contextmanager
def _asking_for_names(argument: str) -> Iterator[None]:
    """Ask for the names of columns where several may be meant."""
    try:
        yield
    except AmbiguousError as error:
        raise InputError(argument, f"columns {error}; xmleval.from_df names those that are") from None


def _column(role: str, name: Any, columns: list[Any], usual: Sequence[str]) -> Any:
    """Return the column of a role by its name, or else by its usual ones."""
    names = usual if name is None else [name]
    column = next((name for name in names if name in columns), None)
    if column is None:
        expected, columns_text = " or ".join(map(repr, names)), ", ".join(map(repr, columns))
        raise InputError(role, f"no column {expected}; the columns are {columns_text}")
    return column


def open_frame(argument: str, value: Any) -> Frame | None:
    """Return the columns of a frame, None if a value is no frame."""
    if hasattr(value, "iloc") and hasattr(value, "columns"):  # pandas
        index = value.index.tolist()
        return Frame(value.columns.tolist(), value.__getitem__, lambda names: _pandas(value, names), index)
    if hasattr(value, "get_column") and hasattr(value, "columns"):  # polars
        return Frame([*value.columns], value.get_column, lambda names: value.select(names).to_numpy())
    if hasattr(value, "column_names") and hasattr(value, "column"):  # Arrow
        return Frame([*value.column_names], value.column, lambda names: _stacked(value, names))
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


def read_frame(argument: str, frame: Frame, labels: Sequence[Any] | None) -> Wide | Rows:
    """Return a wide, a long or a list frame; ``labels`` are the columns of a wide one, if given."""
    names = frame.columns
    if len({*names}) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(argument, f"several columns are called {twice!r}")
    with _asking_for_names(argument):
        entries = find_entries(names, argument != "y_score")
        is_long = entries is not None and entries.label not in (labels or ())
        if entries is not None and is_long and not _holds_lists(frame.values(entries.label)):
            return Columns(frame, *entries).rows(argument)
        lists = _lists_among(frame)
        if lists is not None:
            instance = find_instance([name for name in names if name != lists])
            return Columns(frame, instance, lists, None, instance not in OWN_INSTANCE).rows(argument, True)
        usual = [name for name in named_as(names, INSTANCE) if name not in (labels or ())]
        keyed = find_instance([name for name in usual if _are_ids(frame.values(name))])
    ids = [name for name in names if name == keyed or is_written_index(name)]
    known = {*names}.difference(ids) if labels is None else {*labels}
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
    beside = RowColumns(keyed, [name for name in names if name not in known], frame.values)
    return Wide(frame.keys, matrix, wanted, beside, None if frame.keys is None else BY_INDEX)


def _are_ids(values: list[Any]) -> bool:
    """Tell whether values name rows, each by another text or integer."""
    return {*map(type, values)} in ({str}, {int}) and len({*values}) == len(values)


def _lists_among(frame: Frame) -> Any:
    """Return the column of lists of labels: `labels`, or the only one beside the names of rows."""
    if LABELS_COLUMN in frame.columns:
        return LABELS_COLUMN
    if LABEL_COLUMN in frame.columns and _holds_lists(frame.values(LABEL_COLUMN)):
        return LABEL_COLUMN
    ids = named_as(frame.columns, INSTANCE)
    others = [name for name in frame.columns if name not in ids and not is_written_index(name)]
    return others[0] if len(others) == 1 and _holds_lists(frame.values(others[0])) else None


def _holds_lists(values: list[Any]) -> bool:
    first = next((value for value in values if value is not None), None)
    return hasattr(first, "__iter__") and not isinstance(first, str)
