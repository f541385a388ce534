"""Dicts, lists and series: rows of named labels, lists of ids, and lists that are arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError, counted, shown
from xmleval.input.columns import HIT_LABELS
from xmleval.input.csr import NO_PAIR, as_array, can_be_numbers
from xmleval.input.rows import BY_INDEX, BY_KEY, Rows, is_missing, no_labels, numbered
from xmleval.input.tensors import as_list, as_plain, is_sparse, refuse_other, shape_of

Pair = tuple[Any, ...] | Mapping[str, Any]  # labels and scores, in order or by name
NUMBERS = (int, float, np.integer, np.floating)
LABEL_TYPES = (str, int, np.integer)
PAIRED = ("y_score", "candidates")  # which may be pairs of labels and scores
PLAIN_TYPES = frozenset({int, str})  # of labels without scores
ROW_TYPES = frozenset({list, tuple, dict, set, frozenset})  # of rows that need no conversion
CLASS_ONE_NOTE = (
    "y_score: read as a list from predict_proba; the scores of class 1, its second column, are used"
)


def read_rows(argument: str, value: object) -> Rows | None:
    """Return the rows of dicts, series and lists; None without names and keys."""
    if is_pair_dict(value):
        return None
    rows, keys, match = _find_rows(argument, value)
    if rows is None:
        return None
    _refuse_iterators(argument, rows)
    _refuse_matrices(argument, value, rows)
    is_plain = isinstance(value, list | tuple)  # may be lists of ids or a dense array
    first = _first_filled(argument, rows)
    if first is None:
        if is_plain:
            return None
        return no_labels(len(rows))._replace(keys=keys, match=match)
    row = rows[first]
    if isinstance(row, str):
        raise _not_a_list(argument, first, row)
    if match == BY_INDEX and isinstance(row, NUMBERS):
        _refuse_levels(argument, value)
    # the entries of a vector are numbers
    is_row = has_names(row) if is_plain else hasattr(row, "__iter__")
    if not is_row:
        return None
    return flat_rows(argument, rows)._replace(keys=keys, match=match)


def _refuse_iterators(argument: str, rows: Iterable[object]) -> None:
    for number, row in enumerate(rows):
        if hasattr(row, "__next__"):
            refuse_other(argument, row, number)


def _refuse_matrices(argument: str, value: object, rows: Iterable[object]) -> None:
    """Refuse a dict of matrices, such as models by name, and lists of sparse matrices."""
    first = next((row for row in rows if row is not None), None)
    is_model = isinstance(value, Mapping) and isinstance(first, np.ndarray) and first.ndim == 2
    if is_model or is_sparse(first):
        message = (
            f"a {type(first).__name__} is not a list of labels; "
            "`xmleval.compare` takes models by name"
        )
        raise InputError(argument, message, row=0)


def _refuse_levels(argument: str, series: Any) -> None:
    """Refuse a series of values by row and label; name the long frame to make from it."""
    if getattr(series.index, "nlevels", 1) == 2:
        levels = [*series.index.names]
        for n, name in enumerate(levels):
            if name is None:
                levels[n] = f"level_{n}"
        names = f"instance={levels[0]!r}, label={levels[1]!r}, score='value'"
        frame = f"xmleval.from_df({argument}.reset_index(name='value'), {names})"
        raise InputError(argument, f"is a series with an index of rows and labels; give {frame}")


def _find_rows(
    argument: str, value: object
) -> tuple[list[Any] | None, list[Any] | None, str | None]:
    """Return the rows of a dict, a list or a column, else None; their keys, and the match."""
    if isinstance(value, Mapping):
        if isinstance(value, NpzFile):
            message = f"is an archive of arrays ({', '.join(value)}); give its path, or one array"
            raise InputError(argument, message)
        return _as_python_values([*value.values()]), [*value], BY_KEY
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.dtype.kind in "OTU":
            return _as_python_values(value.tolist()), None, None
        return None, None, None
    if isinstance(value, list | tuple):
        return _as_python_values([*value]), None, None
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return as_list(value), None, None
    return as_list(value), as_list(index), BY_INDEX


def _as_python_values(rows: list[Any]) -> list[Any]:
    """Return rows in which the scalars of an Arrow column are replaced by lists."""
    if not any(hasattr(kind, "as_py") for kind in {*map(type, rows)}):
        return rows
    return [row.as_py() if hasattr(row, "as_py") else row for row in rows]


def _first_filled(argument: str, rows: list[Any]) -> int | None:
    """Return the first row that is not an empty list, if any; refuse a missing row among lists."""
    filled = None
    missing = None
    for number, row in enumerate(rows):
        if _is_missing_row(row):
            if missing is None:
                missing = number
        elif getattr(row, "__len__", lambda: 1)():
            filled = number
            break
    are_lists = filled is None or isinstance(rows[filled], str) or hasattr(rows[filled], "__iter__")
    if missing is not None and are_lists:
        raise _not_a_list(argument, missing, rows[missing])
    return filled


def _is_missing_row(row: object) -> bool:
    """Return whether a row is a missing value, such as None or NaN in a frame."""
    return row is None or (not hasattr(row, "__len__") and is_missing(row))


def read_array(argument: str, array: NDArray[Any]) -> Rows | None:
    """Return rows of names without empty and missing cells; None for numbers, even as text."""
    if array.dtype.kind not in "OTU" or can_be_numbers(array):
        return None
    rows = array.tolist()
    if not rows:
        return None
    has_lists = any(isinstance(cell, list | np.ndarray) for cell in rows[0])
    if has_lists and array.dtype.kind == "O":
        if array.shape[1] == 1:
            return read_rows(argument, array[:, 0])
        raise InputError(
            argument, f"its cells are lists; give the column of lists, as {argument}[:, 0]"
        )
    cells = chain.from_iterable(rows)
    if not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return None
    names = [[cell for cell in row if isinstance(cell, str)] for row in rows]
    return flat_rows(argument, names)


def read_pair(argument: str, pair: Pair) -> Rows | None:
    """Return lists of labels with scores from a pair of columns, arrays or lists.

    Return None for arrays of ids. The labels are the member with names or integers, in either
    place; columns of pandas have an index.
    """
    members = _pair_members(argument, pair)
    firsts = [_first_entry(member.rows) for member in members]
    are_names = isinstance(firsts[0], str) or isinstance(firsts[1], str)
    if not are_names and not any(member.is_column for member in members):
        return None
    if _are_labels(firsts[1]) and not _are_labels(firsts[0]):
        members.reverse()
    labels, scores = members
    if labels.rows is None:
        return None
    keys = _pair_keys(argument, labels, scores)
    if scores.rows is None:
        rows = flat_rows(argument, labels.rows, scores.value)
    else:
        rows = flat_rows(argument, labels.rows, scores.rows)
    if not are_names and rows.values is not None and rows.values.dtype.kind in "iu":
        message = (
            "both lists of the pair are integers, so it is not clear which has the labels; "
            "convert the scores to floats"
        )
        raise InputError(argument, message)
    return rows._replace(keys=keys, match=None if keys is None else BY_INDEX)


class _PairMember(NamedTuple):
    """The labels or the scores of a pair, with rows and index if it is a column or lists.

    is_column : whether no array is made of it, as of a column of lists, or lists of several lengths
    """

    value: object
    rows: list[Any] | None = None
    keys: list[Any] | None = None
    is_column: bool = False


def _pair_members(argument: str, pair: Pair) -> list[_PairMember]:
    """Return the two members of a pair, or refuse a pair that is one row."""
    if isinstance(pair, Mapping):
        pair = pair["indices"], pair.get("scores")
    if len(pair) != 2:
        raise InputError(argument, NO_PAIR.format(len(pair)))
    members = [_pair_member(argument, member) for member in pair]
    if all(member.rows and isinstance(member.rows[0], str) for member in members):
        hint = "a tuple is (labels, scores), with a list of each for every row; give rows in a list"
        raise _not_a_list(argument, 0, pair[0][0], hint)
    return members


def _pair_member(argument: str, value: object) -> _PairMember:
    """Return one of a pair of labels and scores."""
    # a frame of the best labels, or scores
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        index = getattr(value, "index", None)
        return _PairMember(value, value.to_numpy().tolist(), as_list(index), is_column=True)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        if value.dtype.kind in "OTU" and not can_be_numbers(value):
            return _PairMember(value, value.tolist())
        return _PairMember(value)
    if value is None or isinstance(value, Mapping):
        return _PairMember(value)
    if _is_other_list(value):
        rows, keys, _ = _find_rows(argument, [*value])
    else:
        rows, keys, _ = _find_rows(argument, value)
    if rows is None:
        return _PairMember(as_plain(argument, value))
    return _PairMember(value, rows, keys, _is_column(value, rows))


def _is_column(value: object, rows: list[Any]) -> bool:
    """Return whether rows are a column of lists, or lists of several lengths."""
    lists = [row for row in rows if hasattr(row, "__len__") and not isinstance(row, str)]
    if not lists:
        return False
    if not isinstance(value, list | tuple) or hasattr(value[0], "as_py"):
        return True
    return len({len(row) for row in lists}) > 1


def _pair_keys(argument: str, labels: _PairMember, scores: _PairMember) -> list[Any] | None:
    """Return the index of labels or of scores, or refuse two different ones."""
    if labels.keys is None:
        return scores.keys
    if scores.keys is not None and labels.keys != scores.keys:
        raise InputError(
            argument, "its labels and its scores have different indexes; give both the same"
        )
    return labels.keys


def _first_entry(rows: list[Any] | None) -> object:
    """Return the first entry of the first list that has any, else None."""
    lists = (row for row in rows or () if hasattr(row, "__iter__") and not isinstance(row, str))
    entries: Iterator[Any] = chain.from_iterable(lists)
    return next(entries, None)


def _are_labels(first: object) -> bool:
    """Return whether the first entry of lists is a label, not a score."""
    return isinstance(first, LABEL_TYPES)


def without_labels(value: object) -> Rows | None:
    """Return lists that are all empty; None for anything else."""
    if not isinstance(value, list):
        return None
    are_empty = all(isinstance(row, list | tuple | Mapping) and not row for row in value)
    return no_labels(len(value)) if are_empty else None


def is_pair_dict(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a dict has arrays of ``indices`` and ``scores``, not rows."""
    return isinstance(value, Mapping) and "indices" in value and {*value} <= {"indices", "scores"}


def has_names(row: object) -> bool:
    """Return whether a row of a list is more than numbers."""
    if isinstance(row, np.ndarray):
        return row.dtype.kind in "OTU"
    if isinstance(row, Mapping | Set):
        return True
    if not hasattr(row, "__iter__") or hasattr(row, "detach"):  # a number or a tensor
        return False
    first = next(iter(row), None)
    if isinstance(first, tuple | list):
        first = next(iter(first), None)
    return isinstance(first, str | Mapping)


def flat_rows(argument: str, rows: Sequence[Any], scores: object = None) -> Rows:
    """Return rows of one kind end to end, with ``scores`` that are lists; refuse other kinds."""
    lists = None
    if scores is not None:
        lists = _lists_of_scores(argument, scores, len(rows))
    rows = _plain_rows(rows)
    if lists is not None:
        _refuse_other_pairs(argument, rows, lists)
    mappings = _mappings_among(rows)
    ends = np.zeros(len(rows) + 1, np.int64)
    labels = list[Any]()
    values = list[Any]()
    best_first = True
    are_lists = True
    for number, row in enumerate(rows):
        if lists is not None:
            values.extend(lists[number])
        if isinstance(row, mappings):
            labels.extend(row)
            values.extend(row.values())
            best_first = are_lists = False
        elif isinstance(row, str) or not hasattr(row, "__iter__"):
            raise _not_a_list(argument, number, row)
        else:
            if isinstance(row, set | frozenset):
                are_lists = False
                if argument == "y_score":
                    message = "a set has no order; give y_pred, or scores"
                    raise InputError(argument, message, row=number)
            if PLAIN_TYPES.issuperset(map(type, row)):
                labels.extend(row)
            else:
                _add_items(argument, number, row, labels, values)
        ends[number + 1] = len(labels)
        if (values or lists is not None) and len(values) != len(labels):
            raise InputError(argument, "expected one score for each label, or for none", row=number)
    flat = Rows(None, None, ends, *numbered_labels(argument, labels, ends), None, best_first)
    array = None
    if values:
        array = _as_values(argument, flat, values)
    return flat._replace(values=array, are_lists=are_lists).without_empty_names()


def _plain_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows with lists in place of arrays, tensors and columns."""
    if ROW_TYPES.issuperset(map(type, rows)):
        return rows
    return [_plain_row(row) for row in rows]


def _plain_row(row: Any) -> object:
    """Return a list in place of an array, a tensor or a column."""
    if isinstance(row, np.ndarray) or hasattr(row, "detach"):
        return row.tolist()
    if type(row) in ROW_TYPES:
        return row
    column = as_list(row)
    return row if column is None else column


def _mappings_among(items: Iterable[Any]) -> tuple[type[Mapping[Any, Any]], ...]:
    """Return the mapping types among items; testing each item would take longer."""
    return tuple(kind for kind in {*map(type, items)} if issubclass(kind, Mapping))


def _add_items(
    argument: str, row: int, items: Iterable[Any], labels: list[Any], values: list[Any]
) -> None:
    """Add the labels of a row, and their scores from pairs or from dicts of search engines."""
    for item in items:
        if isinstance(item, tuple | list):
            if len(item) != 2:
                raise InputError(argument, f"{shown(item)} is not a label with its score", row=row)
            labels.append(item[0])
            values.append(item[1])
        elif isinstance(item, LABEL_TYPES) or not isinstance(item, Mapping):
            labels.append(item)
        else:
            label, score = _read_hit(argument, row, item)
            labels.append(label)
            values.append(score)


def _read_hit(argument: str, row: int, item: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Return the label and the score of a dict as search engines return it; refuse other dicts."""
    name = next((name for name in HIT_LABELS if name in item), None)
    if name is None or "score" not in item:
        hint = "expected 'label', 'corpus_id', 'doc_id' or 'id', and 'score'"
        raise InputError(argument, f"{shown(item)} is not a label with its score; {hint}", row=row)
    return item[name], item["score"]


def _lists_of_scores(argument: str, scores: Any, n_rows: int) -> Sequence[Any]:
    """Return the scores of rows, as lists where possible; refuse other values."""
    column = as_list(scores)
    if column is not None:
        scores = column
    elif hasattr(scores, "iloc"):
        scores = scores.to_numpy()
    if is_sparse(scores) or getattr(scores, "shape", None) == () or not hasattr(scores, "__len__"):
        raise InputError(argument, f"{type(scores).__name__} is not a list of scores for each row")
    if n_rows != len(scores):
        raise InputError(
            argument, f"{counted(n_rows, 'rows')} of labels, but {len(scores)} of scores"
        )
    return _plain_rows([*scores])


def _refuse_other_pairs(argument: str, rows: Sequence[Any], scores: Sequence[Any]) -> None:
    """Refuse labels or scores of a row that are not a list."""
    if {list, tuple}.issuperset(map(type, chain(rows, scores))):
        return
    for number, members in enumerate(zip(rows, scores, strict=True)):
        for member in members:
            if isinstance(member, str | Mapping | Set) or not hasattr(member, "__len__"):
                raise _not_a_list(argument, number, member)


def read_id_rows(argument: str, lists: Sequence[Any]) -> Rows:
    """Return lists of label ids, or of (id, score) pairs, as rows; refuse other labels."""
    rows = flat_rows(argument, lists)
    for entry in np.flatnonzero((rows.labels < 0) | rows.named)[:1].tolist():
        label = rows.label(entry)
        row = rows.row_of(entry)
        raise InputError(
            argument, f"label {shown(label)} is not an integer id from 0 up", row=row, value=label
        )
    return rows


def _is_label(label: object, text: bool) -> bool:
    """Return whether a label is a text, if labels are texts, else an integer of an int64."""
    if text:
        return isinstance(label, str)
    if isinstance(label, np.integer):
        return int(label) < 2**63
    return isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63


def numbered_labels(
    argument: str, labels: Sequence[Any], ptr: Ints
) -> tuple[Ints, list[Any] | None]:
    """Return labels as places among names, and the names; or ids and None; refuse other labels."""
    text = not labels or isinstance(labels[0], str)
    label_types: tuple[type, ...] = (str,) if text else (int, np.integer)
    types = {*map(type, labels)}
    if bool not in types and all(issubclass(type_, label_types) for type_ in types):
        if text:
            return numbered(labels)
        with contextlib.suppress(OverflowError):
            return np.array(labels, np.int64), None
    entry = next(entry for entry, label in enumerate(labels) if not _is_label(label, text))
    row = int(np.searchsorted(ptr, entry, side="right")) - 1
    expected = "a name or an integer id"
    if text:
        expected = f"text, as {shown(labels[0])} is"
    if _is_missing_row(labels[entry]):
        expected += "; give a row without labels as an empty list, and leave out missing labels"
    message = f"label {shown(labels[entry])} is not {expected}"
    raise InputError(argument, message, row=row, value=labels[entry])


def _as_values(argument: str, rows: Rows, values: list[Any]) -> NDArray[Any]:
    """Return scores as an array of their common type; refuse a value that is not a number."""
    try:
        array = np.array(values)
    except (ValueError, TypeError, RuntimeError):
        array = np.empty(0, object)
    if array.shape == (len(values),) and array.dtype.kind in "biuf":
        if array.dtype.kind != "f" or {*map(type, values)} == {float}:
            return array
        entry = _first_inexact(array, values)
        if entry is None:
            return array
    else:
        wrong = (place for place, value in enumerate(values) if not isinstance(value, NUMBERS))
        entry = next(wrong, 0)
    message = f"score {shown(values[entry])} is not a number of float64"
    hint = _field_hint(argument, rows.label(entry), values[entry])
    raise InputError(argument, f"{message}{hint}", row=rows.row_of(entry), value=values[entry])


def _first_inexact(array: NDArray[Any], values: list[Any]) -> int | None:
    """Return the place of the first integer that a floating-point array does not represent."""
    for entry, value in enumerate(values):
        if isinstance(value, int) and int(array[entry]) != value:
            return entry
    return None


def _field_hint(argument: str, label: object, value: object) -> str:
    """Return a hint on records with fields, whose field names look like labels."""
    if label in HIT_LABELS and isinstance(value, str):
        return f"; for a single label with its score, give [[hit] for hit in {argument}]"
    if isinstance(label, str) and isinstance(value, list | tuple | np.ndarray):
        return f"; for records with lists, give [record[{shown(label)}] for record in {argument}]"
    return ""


def _not_a_list(argument: str, row: int, value: object, hint: str = "") -> InputError:
    """Return the error about a row that is not a list."""
    reason = "not a list of labels"
    if hint:
        reason = f"{reason}; {hint}"
    elif isinstance(value, str):
        how = f"split it, or give [{shown(value)}]"
        if value.strip().startswith(("[", "(", "{")):  # a printed list
            how = "convert it with ast.literal_eval"
        reason = f"text, {reason}; {how}"
    elif _is_missing_row(value):
        reason = f"{reason}; give [] if there are none, or leave the row out"
    elif isinstance(value, int | np.integer):
        reason = f"{reason}; if it is the only label, give [{value}]"
    return InputError(argument, f"{shown(value)} is {reason}", row=row, value=value)


def dense_list(argument: str, value: object, width: int | None) -> object:
    """Return a list of dense rows of that width as an array, any other value unchanged."""
    if not isinstance(value, list) or not width:
        return value
    if not all(hasattr(row, "__len__") and not isinstance(row, str) for row in value):
        return value
    sizes = {len(row) for row in value}
    if len(sizes) > 1 or sizes == {0}:
        return value
    if any(isinstance(row, set | frozenset) for row in value):
        return value
    if sizes not in (set(), {width}) and not _are_zeros_and_ones(value):
        return value
    return as_array(argument, value)


def _are_zeros_and_ones(rows: list[Any]) -> bool:
    return not any(isinstance(item, tuple) or item not in (0, 1) for row in rows for item in row)


def _is_other_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a sequence of another library or of `collections`."""
    is_builtin = isinstance(value, list | tuple | str | bytes | range)
    return not is_builtin and isinstance(value, Sequence) and as_list(value) is None


def as_plain_rows(argument: str, value: object) -> Any:
    """Return ranx objects as dicts, lists of arrays as an array or a pair, sequences as lists."""
    if isinstance(value, list) and value and all(map(shape_of, value)):
        return _as_pair_or_array(argument, value)
    is_run = (
        hasattr(value, "keys") and not hasattr(value, "iloc") and not isinstance(value, Mapping)
    )
    if is_run and hasattr(value, "to_dict"):
        return value.to_dict()
    if _is_other_list(value):
        return [*value]
    return value


def _as_pair_or_array(argument: str, arrays: list[Any]) -> tuple[Any, ...] | Floats:
    """Return arrays as a pair of labels and scores or, from predict_proba, as scores."""
    if any(map(is_sparse, arrays)):
        message = (
            f"a list of {len(arrays)} sparse matrices; scipy.sparse.vstack joins batches of rows"
        )
        raise InputError(argument, message)
    are_floats = all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in arrays)
    are_scores = argument == "y_score" and are_floats
    if len(arrays) == 2 and argument in PAIRED and not are_scores:
        return tuple(arrays)  # a pair of labels and scores, and no list of rows
    n_rows = {array.shape[0] for array in arrays}
    n_classes = {array.shape[1] for array in arrays}
    if are_scores and len(n_rows) == 1 and n_classes <= {1, 2}:
        return class_one_scores(argument, arrays)
    hint = (
        "join batches of rows with np.concatenate, "
        "and from predict_proba give the scores of class 1"
    )
    message = f"a list of {len(arrays)} arrays, the first of shape {arrays[0].shape}; {hint}"
    raise InputError(argument, message)


def class_one_scores(
    argument: str, arrays: list[Any], classes: Sequence[Any] | None = None
) -> Floats:
    """Return the scores (m, l) of class 1 from an array per label, 0 where ``classes`` lack it."""
    scores = np.zeros((len(arrays[0]), len(arrays)))
    for label, columns in enumerate(arrays):
        class_values = [0, 1]
        if classes is not None:
            class_values = [*classes[label]]
        if not np.isin(class_values, (0, 1)).all():
            raise InputError(
                argument, f"label {label} has classes {class_values}; expected 0 and 1"
            )
        if columns.shape[1] != len(class_values):
            message = (
                f"predict_proba's array of label {label} has one class, which may be 0 or 1; "
                "give an array (m, n_labels) of the scores of class 1, "
                "or xmleval.integrations.sklearn.make_scorer"
            )
            raise InputError(argument, message)
        if 1 in class_values:
            scores[:, label] = columns[:, class_values.index(1)]
    return scores
