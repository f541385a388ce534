"""Frames of pandas, polars, Arrow and others that exchange columns with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools
from xmleval.base.errors import InputError, first_repeated, shown
from xmleval.base.keywords import refusing_unknown
from xmleval.input.columns import (
    INSTANCE,
    LABEL_COLUMN,
    LABELS_COLUMN,
    ChosenColumns,
    ColumnsError,
    DecidingColumnError,
    NoJudgementsError,
    NoLabelsError,
    NoListsError,
    TableColumns,
    choose_columns,
    find_instance,
    is_written_index,
    named_as,
    refuse_labels_as_row_values,
    refuse_users_and_items,
    without_row_values,
)
from xmleval.input.csr import matrix_rows
from xmleval.input.further_columns import EntryColumns, ListColumns, notes_on_ranks
from xmleval.input.id_columns import are_ids, may_name_rows, note_on_ids
from xmleval.input.numbered_labels import LabelCounter, notes_on_numbered
from xmleval.input.objects.named import flat_rows, numbered_labels
from xmleval.input.row_columns import (
    ColumnValueError,
    RowColumn,
    is_column,
    refuse_other_texts,
)
from xmleval.input.rows import BY_INDEX, BY_KEY, Origin, Rows, array_rows, is_missing
from xmleval.input.scan import check_keep
from xmleval.input.tensors import as_list, is_sparse


def _is_missing_cell(cell: object) -> bool:
    return not hasattr(cell, "__iter__") and is_missing(cell)


class ListColumn(list[Any]):
    """The values of a column, with the method of columns of other libraries."""

    def to_list(self) -> list[Any]:
        """Return the values."""
        return [*self]


class Frame(NamedTuple):
    """Columns by name, the index of the rows, if any, and the library's own frame."""

    columns: list[Hashable]
    column: Callable[[Any], object]
    matrix: Callable[[list[Any]], Any]
    source: Any
    keys: list[Any] | None = None

    def values(self, name: Hashable) -> list[Any]:
        """Return the values of a column."""
        return as_list(self.column(name)) or []

    def holds_lists(self, name: Hashable) -> bool:
        """Return whether the first cell of a column that is not missing is a list."""
        first = next((cell for cell in self.values(name) if not _is_missing_cell(cell)), None)
        return hasattr(first, "__iter__") and not isinstance(first, str)

    def repeats(self, name: Hashable) -> bool:
        """Return whether a column has one value in several rows."""
        values = self.values(name)
        return len({*map(str, values)}) < len(values)


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A frame, and the columns that the caller named; see `from_df`.

    numbers_rows : whether the column of rows has their numbers, which are no names
    """

    frame: Frame = field(repr=False)
    chosen: ChosenColumns[Hashable]
    keep: str | None = None
    numbers_rows: bool = False

    def rows(self, argument: str) -> Rows:
        """Return the rows of the frame."""
        with _naming_options(argument):
            rows = _read_rows(self.frame, argument, self.chosen)
        if rows.origin is not None and rows.origin.counter is not None:
            rows.origin.counter.numbers_rows = self.numbers_rows
        return rows._replace(keep=self.keep)


@dataclass(frozen=True, eq=False)
class FramePart:
    """A frame without some of its columns."""

    frame: Frame = field(repr=False)


def _origin(frame: Frame, id_column: Hashable, columns: list[Hashable]) -> Origin:
    how_to_join = "rename it to 'instance' to match rows by it, or sort the rows"
    return Origin(
        "row",
        columns=dict.fromkeys(columns),
        how_to_join=how_to_join,
        id_column=id_column,
        values=frame.values,
    )


def _choose_columns(
    frame: Frame, argument: str, chosen: ChosenColumns[Hashable] | None = None
) -> TableColumns[Hashable]:
    """Return the roles of the columns of a long frame or a frame of lists."""
    return choose_columns(
        frame.columns, _kind_of(argument), frame.holds_lists, chosen, repeats=frame.repeats
    )


def _kind_of(argument: str) -> str:
    return "scores" if argument == "y_score" else "grades"


def _read_rows(frame: Frame, argument: str, chosen: ChosenColumns[Hashable] | None = None) -> Rows:
    try:
        columns = _choose_columns(frame, argument, chosen)
    except NoListsError as error:
        raise _not_lists_error(frame, argument, error.column) from None
    if columns.lists:
        return _read_list_rows(frame, argument, columns)
    return _read_long_rows(frame, argument, columns)


def _read_list_rows(frame: Frame, argument: str, columns: TableColumns[Hashable]) -> Rows:
    """Return the rows of a frame with a list of labels in each."""
    labels = frame.values(columns.label)
    keys = frame.keys
    match = None if keys is None else BY_INDEX
    id_column = None
    unused = columns.unused
    if columns.is_usual:
        id_column = columns.instance
        unused = [*unused, id_column]
    elif columns.instance is not None:
        keys = frame.values(columns.instance)
        match = BY_KEY
    origin = _origin(frame, id_column, unused)
    scores = None
    if columns.value is not None:
        scores = frame.values(columns.value)
    rows = flat_rows(argument, labels, scores)
    best_first = rows.best_first and argument == "y_score"
    origin.notes += _notes_on_lists(frame, argument, columns, labels)
    return rows._replace(keys=keys, match=match, best_first=best_first, origin=origin)


def _notes_on_lists(
    frame: Frame, argument: str, columns: TableColumns[Hashable], labels: list[Any]
) -> list[str]:
    """Return notes on the further columns of a frame of lists."""
    kind = _kind_of(argument)
    further = ListColumns(columns, kind, filter(frame.holds_lists, columns.unused))
    cells = {name: frame.values(name) for name in further.undecided}
    for row, row_labels in enumerate(labels):
        n_labels = 0
        if hasattr(row_labels, "__len__"):
            n_labels = len(row_labels)
        row_cells = {name: _as_optional_list(column[row]) for name, column in cells.items()}
        further.add(n_labels, row_cells)
    return [*notes_on_ranks(columns, kind), *further.notes()]


def _as_optional_list(cell: object) -> list[Any] | None:
    """Return the items of a cell, None if it is not a list."""
    if isinstance(cell, str) or not hasattr(cell, "__iter__"):
        return None
    return [*cell]


def _read_long_rows(frame: Frame, argument: str, columns: TableColumns[Hashable]) -> Rows:
    """Return the rows of a frame with a row for each label."""
    keys = frame.values(columns.instance)
    if any(map(is_missing, {*keys})):
        row = next(row for row, key in enumerate(keys) if is_missing(key))
        raise InputError(argument, f"column {columns.instance!r} has no value", row=row)
    kind = _kind_of(argument)
    further = EntryColumns(columns, kind)
    further.add(keys, {name: frame.values(name) for name in further.undecided})
    notes = [*notes_on_ranks(columns, kind), *further.notes()]
    ptr = np.arange(len(keys) + 1)
    counter = None
    if columns.are_numbered:
        counter = LabelCounter()
        labels: list[Any] = counter.names(keys)
        counter.add_digests(further.digests)
        notes += notes_on_numbered(columns, kind)
    else:
        labels = frame.values(columns.label)
    ids, names = numbered_labels(argument, labels, ptr)
    values = None
    if columns.value is not None:
        values = frame.matrix([columns.value])[:, 0]
        if values.dtype.kind not in "biuf":
            raise InputError(argument, f"column {columns.value!r} has no numbers")
    origin = Origin("row", notes, counter=counter)
    rows = Rows(keys, BY_KEY, ptr, ids, names, values, is_long=True, origin=origin)
    return rows.without_empty_names()


@refusing_unknown
def from_df(
    frame: object,
    *,
    instance: Hashable = None,
    label: Hashable = None,
    score: Hashable = None,
    keep: str | None = None,
) -> FrameColumns:
    """Name the columns of a long frame, or of a frame of lists; give the result in its place.

    Parameters
    ----------
    frame : pandas, polars or Arrow frame, or another that exchanges its columns with them
        A row for each instance and label, or for each instance with a list of its labels.
    instance : str, optional
        Column of the names of instances, by which rows are matched; default "instance", "row",
        "query_id", "id" or another usual name. Lists of labels need none.
    label : str, optional
        Column of labels, or of lists of them; default "label" or "labels", or "doc_id" or
        "corpus_id" beside a query. The empty text ``""`` says that no column has them: the labels
        of a query are numbered in the order of its rows.
    score : str, optional
        Column of scores, or of lists of them, or of relevance in a truth; default "score" or
        "scores", in a truth "relevance", "rel", "grade" or another usual name, if there is one.
    keep : {"best"}, optional
        Of a label that a row lists several times, as documents of which several passages are found,
        the best score is kept; without it, such a label is refused.

    Returns
    -------
    Columns
        Taken as ``y_true``, ``y_score`` and ``y_pred``, by `Evaluator.update` and
        `inverse_propensity`, too. The frame is not copied.

    Raises
    ------
    ValueError
        If it is no frame, has no such column, or ``keep`` is another word; the message names those
        that there are.

    Examples
    --------
    >>> import pyarrow
    >>> df = pyarrow.table(
    ...     {"q": [1, 1, 2], "doc": ["a", "b", "c"], "rel": [1, 0, 1], "bm25": [8.5, 9, 4]}
    ... )
    >>> truth = from_df(df, instance="q", label="doc", score="rel")
    >>> run = from_df(df, instance="q", label="doc", score="bm25")
    >>> evaluate(truth, run, metrics="p@1")["p@1"]
    0.5
    """
    table = open_frame("frame", frame)
    if table is None:
        raise InputError(
            "frame", f"{type(frame).__name__} is not a frame of pandas, polars or Arrow"
        )
    chosen = ChosenColumns(instance, label, score)
    with _naming_options("frame"):
        try:
            columns = _choose_columns(table, "frame", chosen)
        except NoJudgementsError:  # the frame may have scores
            columns = _choose_columns(table, "y_score", chosen)
    key = None if columns.is_usual else columns.instance
    check_keep(keep)
    label_column = label if columns.are_numbered else columns.label
    return FrameColumns(table, ChosenColumns(key, label_column, score), keep)


def take_row_values(
    argument: str, value: object, names: Mapping[str, str]
) -> tuple[object, dict[str, RowColumn]]:
    """Return a frame without columns that are values of rows, and these by argument.

    ``names`` are the texts that are given for arguments; those that are files are left out.
    """
    frame = value.frame if isinstance(value, FrameColumns) else open_frame(argument, value)
    if frame is None:
        refuse_other_texts(names)
        return value, {}
    chosen = value.chosen if isinstance(value, FrameColumns) else ChosenColumns[Hashable]()
    found = {each: name for each, name in names.items() if is_column(each, name, frame.columns)}
    for each, name in found.items():
        try:
            refuse_labels_as_row_values(frame.columns, [name], frame.holds_lists, chosen)
        except ColumnsError as error:
            raise InputError(each, str(error)) from None
    row_values = [name for name in found.values() if name not in chosen]
    part = frame._replace(columns=without_row_values(frame.columns, row_values))
    instance = None
    with contextlib.suppress(ColumnsError):
        columns = _choose_columns(part, argument, chosen)
        if not columns.lists:
            instance = columns.instance
    keys: list[Any] | None = None
    if instance is not None:
        keys = frame.values(instance)
    values = {each: _read_row_values(each, frame, name, keys) for each, name in found.items()}
    if isinstance(value, FrameColumns):
        return replace(value, frame=part), values
    return FramePart(part), values


def _read_row_values(
    argument: str, frame: Frame, name: str, keys: Sequence[Any] | None
) -> RowColumn:
    """Return the values of a column by ``keys``, the rows of labels, or in order without keys."""
    column = RowColumn(name)
    cells = frame.values(name)
    try:
        for row, (key, cell) in enumerate(zip(keys or repeat(None), cells, strict=False)):
            column.add(key, cell, "row", row)
    except ColumnValueError as error:
        raise InputError(argument, str(error)) from None
    return column


def _not_lists_error(frame: Frame, argument: str, column: Hashable) -> InputError:
    """Return the error about a column of labels that are texts or other values, not lists."""
    value = next((value for value in frame.values(column) if not is_missing(value)), None)
    if not isinstance(value, str):
        return InputError(argument, f"column {column!r} has {type(value).__name__}, not lists")
    text = f"column {shown(column)} has text such as {shown(value)}, not lists; "
    if value.strip().startswith(("[", "{", "(")):
        return InputError(argument, f"{text}convert it with json.loads or ast.literal_eval")
    return InputError(
        argument, f"{text}split it into lists, or make a list of each label: [{shown(value)}]"
    )


@contextlib.contextmanager
def _naming_options(argument: str) -> Iterator[None]:
    """Name the function that names columns, in errors about columns that are not decided."""
    how = "name the column with xmleval.from_df(df, instance=..., label=..., score=...)"
    try:
        yield
    except DecidingColumnError as error:
        hint = ""
        if error.labels is not None:
            hint = f", or give xmleval.from_df(df, label={error.labels!r}); if not, leave it out"
        elif error.column is not None:
            hint = f"; {how}, or leave it out"
        raise InputError(argument, f"{error}{hint}") from None
    except ColumnsError as error:
        raise InputError(argument, f"{error}; {how}") from None


def open_frame(argument: str, value: Any) -> Frame | None:
    """Return the columns of a frame, None if a value is not a frame."""
    if isinstance(value, FramePart):
        return value.frame
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        return _open_pandas(value)
    if hasattr(value, "get_column") and hasattr(value, "columns"):
        return _open_polars(value)
    if hasattr(value, "column_names") and hasattr(value, "column"):
        return _open_arrow(value)
    is_column = hasattr(value, "to_list") or hasattr(value, "to_pylist")
    is_mapping = isinstance(value, Mapping)  # results, which may be read as Arrow data, too
    if is_column or is_mapping or not hasattr(value, "__arrow_c_stream__"):
        return None
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            argument, "reading this frame needs pyarrow: pip install 'xmleval[arrow]'"
        ) from None
    try:
        return open_frame(argument, pyarrow.table(value))
    except (pyarrow.ArrowException, ValueError, TypeError, NotImplementedError) as error:
        raise InputError(argument, f"cannot be read as a frame: {error}") from None


def _open_pandas(frame: Any) -> Frame:
    def to_matrix(names: list[Hashable]) -> Any:
        return _pandas_matrix(frame, names)

    keys = frame.index.tolist()
    return Frame(frame.columns.tolist(), frame.__getitem__, to_matrix, frame, keys)


def _open_polars(frame: Any) -> Frame:
    def to_matrix(names: list[Any]) -> Any:
        return frame.select(names).to_numpy()

    return Frame([*frame.columns], frame.get_column, to_matrix, frame)


def _open_arrow(table: Any) -> Frame:
    def to_matrix(names: list[Any]) -> Any:
        return np.column_stack([table.column(name).to_numpy() for name in names])

    return Frame([*table.column_names], table.column, to_matrix, table)


def _pandas_matrix(frame: Any, names: list[Hashable]) -> Any:
    if len(names) < len(frame.columns):
        frame = frame[names]
    kinds = [*frame.dtypes]
    if kinds and all(str(kind).startswith("Sparse[") and kind.fill_value == 0 for kind in kinds):
        return frame.sparse.to_coo()
    cells = frame.to_numpy()
    if cells.dtype.kind == "O" and all(kind.kind in "biuf" for kind in kinds):
        # pandas' types with missing values
        cells = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return cells


def frame_rows(
    argument: str, frame: Frame, value: object
) -> tuple[Rows, TableColumns[Hashable] | None]:
    """Return the rows of a frame and the roles of its columns, None for a wide frame.

    ``value`` is the frame, or names its columns.
    """
    chosen = None
    if isinstance(value, FrameColumns):
        chosen = value.chosen
    with _naming_options(argument):
        try:
            columns = _choose_columns(frame, argument, chosen)
        except NoLabelsError:
            return read_frame(argument, frame, None), None
        return _read_rows(frame, argument, chosen), columns


def replace_columns(frame: Frame, columns: Mapping[Any, Sequence[Any] | NDArray[Any]]) -> object:
    """Return a copy of a frame with other values in some of its columns."""
    source = frame.source
    if hasattr(source, "iloc"):
        copied = source.copy()
        for name, values in columns.items():
            if not isinstance(values, np.ndarray):
                values = _as_object_array(values)
            copied[name] = values
        return copied
    if hasattr(source, "with_columns"):
        return source.with_columns(
            [type(source.get_column(name))(name, values) for name, values in columns.items()]
        )
    import pyarrow  # the frame is one of its tables

    for name, values in columns.items():
        source = source.set_column(source.column_names.index(name), name, pyarrow.array(values))
    return source


def _as_object_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return lists as an array of objects, which pandas takes as a column of lists."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def keep_rows(frame: Frame, kept: Bools | None, names: list[Hashable]) -> object:
    """Return some columns of a frame with some of its rows, all if ``kept`` is None."""
    source = frame.source
    if hasattr(source, "iloc"):
        return source[names] if kept is None else source.loc[kept, names]
    source = source.select(names)
    if kept is None:
        return source
    if hasattr(source, "get_column"):
        return source.filter([*map(bool, kept)])
    import pyarrow  # the frame is one of its tables

    return source.filter(pyarrow.array(kept))


def read_frame(argument: str, frame: Frame, labels: Sequence[Any] | None) -> Rows:
    """Return the rows of a wide, long or list frame; ``labels`` may name columns of a wide one."""
    _refuse_same_names(argument, frame.columns)
    with _naming_options(argument):
        if {LABEL_COLUMN, LABELS_COLUMN}.isdisjoint(labels or ()):
            with contextlib.suppress(NoLabelsError):
                return _read_rows(frame, argument)
        id_column = _find_keys(frame, argument, labels or ())
    if labels is None:
        try:
            refuse_users_and_items(frame.columns, _how_to_read)
        except ColumnsError as error:
            raise InputError(argument, str(error)) from None
    notes = list[str]()
    found_ids: Hashable = None
    if id_column is None and not _has_other_ids(frame, labels or ()):
        found_ids = _find_integer_ids(frame, labels)
    if found_ids is not None:
        id_column = found_ids
        notes.append(note_on_ids(found_ids))
    rows = _read_wide_rows(frame, argument, labels, id_column, notes)
    if rows.origin is not None:
        rows.origin.found_ids = found_ids
    return rows


def _has_other_ids(frame: Frame, labels: Sequence[Any]) -> bool:
    """Return whether a frame has a set index, or a column named like ids or an index."""
    if frame.keys is not None and frame.keys != [*range(len(frame.keys))]:
        return True
    names = [name for name in frame.columns if name not in labels]
    return bool(named_as(names, INSTANCE)) or any(map(is_written_index, names))


def _refuse_same_names(argument: str, names: list[Hashable]) -> None:
    if len({*names}) < len(names):
        twice = first_repeated(names)
        raise InputError(argument, f"several columns are called {shown(twice)}")


def _find_keys(frame: Frame, argument: str, labels: Sequence[Any]) -> Hashable:
    """Return the column that names the rows of a wide frame, or None."""
    usual_names = [name for name in named_as(frame.columns, INSTANCE) if name not in labels]
    columns = {name: frame.values(name) for name in usual_names}
    distinct_names = list[Hashable]()
    for name, values in columns.items():
        if {*map(type, values)} in ({str}, {int}):
            _refuse_key_twice(argument, name, values)
            if len({*values}) == len(values):
                distinct_names.append(name)
    return find_instance(distinct_names)


def _find_integer_ids(frame: Frame, labels: Sequence[Any] | None) -> Hashable:
    """Return the first column if its integers can only be ids of rows, None if they are labels."""
    if not frame.columns:
        return None
    first, *others = frame.columns
    if labels is not None:
        others = [name for name in others if name in labels]
    if first in (labels or ()) or not others or not may_name_rows(first):
        return None
    values = frame.values(first)
    if {*map(type, values)} != {int} or min(values) < 0 or len({*values}) < len(values):
        return None
    matrix = frame.matrix(others)
    if matrix.dtype.kind not in "biuf" or 0 in matrix.shape:
        return None
    numbers = matrix.data if is_sparse(matrix) else matrix
    known = numbers[~np.isnan(numbers)]
    # integers with missing values are floating-point numbers, too
    has_points = numbers.dtype.kind == "f" and known.size == numbers.size
    has_fractions = has_points or bool((known % 1 != 0).any())
    largest = float(known.max(initial=0))
    return first if are_ids(values, largest, has_fractions=has_fractions) else None


def _refuse_key_twice(argument: str, name: Hashable, values: list[Any]) -> None:
    distinct = {*values}
    if len(distinct) < len(values) and not distinct <= {0, 1}:
        twice = first_repeated(values)
        hint = (
            "expected one row for each; give labels=, the columns that are labels, "
            f"or xmleval.from_df(df, instance={name!r}, label=...) if each row has one label"
        )
        raise InputError(argument, f"column {shown(name)} has {shown(twice)} in two rows; {hint}")


def _how_to_read(user: str, item: str) -> str:
    """Return the code that reads columns of users and items."""
    return f"read them with xmleval.from_df(df, instance={user!r}, label={item!r}, score=...)"


def _read_wide_rows(
    frame: Frame,
    argument: str,
    labels: Sequence[Any] | None,
    id_column: Hashable,
    notes: list[str],
) -> Rows:
    """Return the rows of a frame with a column per label; ``id_column`` may name the rows.

    ``notes`` are on what its contents decided.
    """
    names = frame.columns
    if labels is None:
        ids = [name for name in names if name == id_column or is_written_index(name)]
        label_columns = {*names}.difference(ids)
    else:
        label_columns = {*labels}
    picked = [name for name in names if name in label_columns]
    if not picked:
        raise InputError(
            argument,
            f"no column is one of the labels (columns: {', '.join(map(shown, names[:5]))})",
        )
    matrix = frame.matrix(picked)
    if matrix.dtype.kind not in "biuf":
        bad = next(name for name in picked if frame.matrix([name]).dtype.kind not in "biuf")
        hint = (
            "choose the columns of labels with labels=, "
            "or name those of a long frame with xmleval.from_df"
        )
        raise InputError(argument, f"column {shown(bad)} has no numbers; {hint}")
    origin = _origin(frame, id_column, [name for name in names if name not in label_columns])
    origin.notes += notes
    rows = _as_rows(argument, matrix)
    match = None if frame.keys is None else BY_INDEX
    return rows._replace(
        keys=frame.keys, match=match, names=picked, origin=origin, are_columns=True
    )


def _as_rows(argument: str, matrix: Any) -> Rows:
    """Return the rows of a dense or sparse matrix of all label columns."""
    if is_sparse(matrix):
        return matrix_rows(argument, matrix.tocsr(), None)
    return array_rows(matrix)
