"""Dicts, lists and series: rows whose labels have names, lists of ids, and lists that are arrays."""

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
from xmleval.input.csr import NO_PAIR, as_array, can_be_numbers
from xmleval.input.rows import BY_INDEX, BY_KEY, Rows, is_missing, no_labels, numbered
from xmleval.input.tensors import as_list, as_plain, is_sparse, refuse_other, shape_of

Pair = tuple[Any, ...] | Mapping[str, Any]  # labels and scores, in order or by name
NUMBERS = (int, float, np.integer, np.floating)
LABEL_TYPES = (str, int, np.integer)
PAIRED = ("y_score", "candidates")  # which may be pairs of labels and scores
PLAIN = frozenset({int, str})  # types of labels alone
OWN_ROWS = frozenset({list, tuple, dict, set, frozenset})  # types of rows that are read as they are
CLASS_ONE = "y_score: a list as predict_proba returns it; the scores of class 1, its second column, are taken"


def read_rows(argument: str, value: object) -> Rows | None:
    """Return what dicts, series and lists of rows hold, None if it has neither names nor keys."""
    if is_pair_dict(value):
        return None
    rows, keys, match = _held_rows(argument, value)
    if rows is None:
        return None
    _refuse_iterators(argument, rows)
    _refuse_matrices(argument, value, rows)
    is_plain = isinstance(value, list | tuple)  # of numbers: lists of ids or a dense array
    filled_row = _first_filled(argument, rows)
    if filled_row is None:
        return None if is_plain else no_labels(len(rows))._replace(keys=keys, match=match)
    first = rows[filled_row]
    if isinstance(first, str):
        raise _no_list(argument, filled_row, first)
    if match == BY_INDEX and isinstance(first, NUMBERS):
        _refuse_levels(argument, value)
    is_row = has_names(first) if is_plain else hasattr(first, "__iter__")  # of a vector, entries are numbers
    return flat_rows(argument, rows)._replace(keys=keys, match=match) if is_row else None


def _refuse_iterators(argument: str, rows: Iterable[object]) -> None:
    for number, row in enumerate(rows):
        if hasattr(row, "__next__"):
            refuse_other(argument, row, number)


def _refuse_matrices(argument: str, value: object, rows: Iterable[object]) -> None:
    """Refuse a dict of matrices, as of models by name, and lists of sparse ones."""
    first = next((row for row in rows if row is not None), None)
    is_model = isinstance(value, Mapping) and isinstance(first, np.ndarray) and first.ndim == 2
    if is_model or is_sparse(first):
        message = f"a {type(first).__name__} is no list of labels; `xmleval.compare` takes models by name"
        raise InputError(argument, message, row=0)


def _refuse_levels(argument: str, series: Any) -> None:
    """Refuse a series of values by row and label, of which pandas makes a long frame."""
    if getattr(series.index, "nlevels", 1) == 2:
        levels = [f"level_{n}" if name is None else name for n, name in enumerate(series.index.names)]
        names = f"instance={levels[0]!r}, label={levels[1]!r}, score='value'"
        frame = f"xmleval.from_df({argument}.reset_index(name='value'), {names})"
        raise InputError(argument, f"a series with an index of rows and labels; give {frame}")


def _held_rows(argument: str, value: object) -> tuple[list[Any] | None, list[Any] | None, str | None]:
    """Return the rows of a dict, a list or a column, None of others, their keys, and how these match."""
    if isinstance(value, Mapping):
        if isinstance(value, NpzFile):
            message = f"an archive of arrays ({', '.join(value)}); give its name, or one of them"
            raise InputError(argument, message)
        return _without_cells([*value.values()]), [*value], BY_KEY
    if isinstance(value, np.ndarray):
        is_column = value.ndim == 1 and value.dtype.kind in "OTU"
        return _without_cells(value.tolist()) if is_column else None, None, None
    if isinstance(value, list | tuple):
        return _without_cells([*value]), None, None
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return as_list(value), None, None
    return as_list(value), as_list(index), BY_INDEX


def _without_cells(rows: list[Any]) -> list[Any]:
    """Return rows with lists in place of the cells of an Arrow column, of which such a list may be made."""
    if not any(hasattr(kind, "as_py") for kind in {*map(type, rows)}):
        return rows
    return [row.as_py() if hasattr(row, "as_py") else row for row in rows]


def _first_filled(argument: str, rows: list[Any]) -> int | None:
    """Return the first row that is no empty list, None if there is none; refuse missing ones beside lists."""
    filled, missing = None, None
    for number, row in enumerate(rows):
        if _is_missing_row(row):
            missing = number if missing is None else missing
        elif getattr(row, "__len__", lambda: 1)():
            filled = number
            break
    holds_lists = filled is None or isinstance(rows[filled], str) or hasattr(rows[filled], "__iter__")
    if missing is not None and holds_lists:
        raise _no_list(argument, missing, rows[missing])
    return filled


def _is_missing_row(row: object) -> bool:
    """Tell whether a row stands for none, as frames hold them."""
    return row is None or (not hasattr(row, "__len__") and is_missing(row))


def read_array(argument: str, array: NDArray[Any]) -> Rows | None:
    """Return rows of names, of which empty and missing ones do not count; None of numbers, as text, too."""
    rows = [] if array.dtype.kind not in "OTU" or can_be_numbers(array) else array.tolist()
    if rows and array.dtype.kind == "O" and any(isinstance(cell, list | np.ndarray) for cell in rows[0]):
        if array.shape[1] == 1:
            return read_rows(argument, array[:, 0])
        raise InputError(argument, f"its cells hold lists; give the column of them, as {argument}[:, 0]")
    if not rows or not all(isinstance(item, str) or is_missing(item) for row in rows for item in row):
        return None
    return flat_rows(argument, [[item for item in row if isinstance(item, str)] for row in rows])


def read_pair(argument: str, pair: Pair) -> Rows | None:
    """Return lists of labels with scores, from a pair of columns, arrays or lists; None of arrays of ids.

    Names are the labels in either place, as are integers; the columns of pandas have an index.
    """
    members = _pair_members(argument, pair)
    firsts = [_first_label(member.rows) for member in members]
    are_names = isinstance(firsts[0], str) or isinstance(firsts[1], str)
    if not are_names and not any(member.is_column for member in members):
        return None
    if _are_labels(firsts[1]) and not _are_labels(firsts[0]):
        members.reverse()
    labels, scores = members
    if labels.rows is None:
        return None
    keys = _keys_of_pair(argument, labels, scores)
    rows = flat_rows(argument, labels.rows, scores.value if scores.rows is None else scores.rows)
    if not are_names and rows.values is not None and rows.values.dtype.kind in "iu":
        message = "two lists of integers that can both be labels; give the scores as floating-point numbers"
        raise InputError(argument, message)
    return rows._replace(keys=keys, match=None if keys is None else BY_INDEX)


class _PairMember(NamedTuple):
    """One of a pair of labels and scores; its rows where it is a column or a list of lists, and their index.

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
        hint = "a tuple holds labels and scores, a list of each for every row; give rows in a list"
        raise _no_list(argument, 0, pair[0][0], hint)
    return members


def _pair_member(argument: str, value: object) -> _PairMember:
    """Return one of a pair of labels and scores."""
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a frame of the best labels, or scores
        index = getattr(value, "index", None)
        return _PairMember(value, value.to_numpy().tolist(), as_list(index), is_column=True)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        has_texts = value.dtype.kind in "OTU" and not can_be_numbers(value)
        return _PairMember(value, value.tolist() if has_texts else None)
    if value is None or isinstance(value, Mapping):
        return _PairMember(value)
    rows, keys, _ = _held_rows(argument, [*value] if _is_other_list(value) else value)
    if rows is None:
        return _PairMember(as_plain(argument, value))
    return _PairMember(value, rows, keys, _is_column(value, rows))


def _is_column(value: object, rows: list[Any]) -> bool:
    """Tell whether rows are a column of lists, or lists of several lengths."""
    lists = [row for row in rows if hasattr(row, "__len__") and not isinstance(row, str)]
    if not lists:
        return False
    if not isinstance(value, list | tuple) or hasattr(value[0], "as_py"):
        return True
    return len({len(row) for row in lists}) > 1


def _keys_of_pair(argument: str, labels: _PairMember, scores: _PairMember) -> list[Any] | None:
    """Return the index of labels or of scores, or refuse two different ones."""
    if labels.keys is None:
        return scores.keys
    if scores.keys is not None and labels.keys != scores.keys:
        raise InputError(argument, "the index of its labels is not that of its scores; give both the same")
    return labels.keys


def _first_label(rows: list[Any] | None) -> object:
    """Return the first entry of the first list that has any, None of anything else."""
    lists = (row for row in rows or () if hasattr(row, "__iter__") and not isinstance(row, str))
    entries: Iterator[Any] = chain.from_iterable(lists)
    return next(entries, None)


def _are_labels(first: object) -> bool:
    """Tell whether the first entry of lists is a label, not a score."""
    return isinstance(first, LABEL_TYPES)


def without_labels(value: object) -> Rows | None:
    """Return lists that are all empty, None if there is anything in them."""
    if not isinstance(value, list):
        return None
    are_empty = all(isinstance(row, list | tuple | Mapping) and not row for row in value)
    return no_labels(len(value)) if are_empty else None


def is_pair_dict(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a dict holds arrays of ``indices`` and ``scores``, not rows."""
    return isinstance(value, Mapping) and "indices" in value and {*value} <= {"indices", "scores"}


def has_names(row: object) -> bool:
    """Tell whether a row of a list is more than numbers."""
    if isinstance(row, np.ndarray):
        return row.dtype.kind in "OTU"
    if isinstance(row, Mapping | Set):
        return True
    first = next(iter(row), None) if hasattr(row, "__iter__") and not hasattr(row, "detach") else None
    first = next(iter(first), None) if isinstance(first, tuple | list) else first
    return isinstance(first, str | Mapping)


def flat_rows(argument: str, rows: Sequence[Any], scores: object = None) -> Rows:
    """Return rows of one kind, and ``scores`` in lists of their own, end to end; refuse another kind."""
    lists = None if scores is None else _lists_of_scores(argument, scores, len(rows))
    rows = _plain_rows(rows)
    if lists is not None:
        _refuse_other_pairs(argument, rows, lists)
    mappings = _mappings_among(rows)
    ends = np.zeros(len(rows) + 1, np.int64)
    labels, values = list[Any](), list[Any]()
    best_first = are_lists = True
    for number, row in enumerate(rows):
        if lists is not None:
            values.extend(lists[number])
        if isinstance(row, mappings):
            labels.extend(row)
            values.extend(row.values())
            best_first = are_lists = False
        elif isinstance(row, str) or not hasattr(row, "__iter__"):
            raise _no_list(argument, number, row)
        else:
            if isinstance(row, set | frozenset):
                are_lists = False
                if argument == "y_score":
                    raise InputError(argument, "a set has no order; give y_pred, or scores", row=number)
            if PLAIN.issuperset(map(type, row)):
                labels.extend(row)
            else:
                _add_items(argument, number, row, labels, values)
        ends[number + 1] = len(labels)
        if (values or lists is not None) and len(values) != len(labels):
            raise InputError(argument, "expected one score for each label, or for none", row=number)
    flat = Rows(None, None, ends, *numbered_labels(argument, labels, ends), None, best_first)
    array = _as_values(argument, flat, values) if values else None
    return flat._replace(values=array, are_lists=are_lists).without_empty_names()


def _plain_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows with lists in place of arrays, tensors and columns."""
    if OWN_ROWS.issuperset(map(type, rows)):
        return rows
    return [_plain_row(row) for row in rows]


def _plain_row(row: Any) -> object:
    """Return a list in place of an array, a tensor or a column."""
    if isinstance(row, np.ndarray) or hasattr(row, "detach"):
        return row.tolist()
    column = None if type(row) in OWN_ROWS else as_list(row)
    return row if column is None else column


def _mappings_among(items: Iterable[Any]) -> tuple[type[Mapping[Any, Any]], ...]:
    """Return the types of items that are dicts or other mappings; a look at each item would take longer."""
    return tuple(kind for kind in {*map(type, items)} if issubclass(kind, Mapping))


def _add_items(argument: str, row: int, items: Iterable[Any], labels: list[Any], values: list[Any]) -> None:
    """Add the labels of a row, and their scores: pairs, or dicts such as search engines return."""
    for item in items:
        if isinstance(item, tuple | list):
            if len(item) != 2:
                raise InputError(argument, f"{shown(item)} is not a label with its score", row=row)
            labels.append(item[0])
            values.append(item[1])
        elif isinstance(item, LABEL_TYPES) or not isinstance(item, Mapping):
            labels.append(item)
        else:
            label, score = _hit(argument, row, item)
            labels.append(label)
            values.append(score)


def _hit(argument: str, row: int, item: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Return the label and the score of a dict such as search engines return, or refuse another one."""
    name = "corpus_id" if "corpus_id" in item else "label"
    if name not in item or "score" not in item:
        hint = "expected 'label' or 'corpus_id', and 'score'"
        raise InputError(argument, f"{shown(item)} is not a label with its score; {hint}", row=row)
    return item[name], item["score"]


def _lists_of_scores(argument: str, scores: Any, n_rows: int) -> Sequence[Any]:
    """Return the scores of each row as a list, where they are one, or refuse other scores."""
    if (column := as_list(scores)) is not None:
        scores = column
    elif hasattr(scores, "iloc"):
        scores = scores.to_numpy()
    if is_sparse(scores) or getattr(scores, "shape", None) == () or not hasattr(scores, "__len__"):
        raise InputError(argument, f"{type(scores).__name__} is no list of scores for each row")
    if n_rows != len(scores):
        raise InputError(argument, f"{counted(n_rows, 'rows')} of labels with {len(scores)} of scores")
    return _plain_rows([*scores])


def _refuse_other_pairs(argument: str, rows: Sequence[Any], scores: Sequence[Any]) -> None:
    """Refuse labels or scores of a row that are no list."""
    if {list, tuple}.issuperset(map(type, chain(rows, scores))):
        return
    for number, part in chain.from_iterable(zip(enumerate(rows), enumerate(scores), strict=True)):
        if isinstance(part, str | Mapping | Set) or not hasattr(part, "__len__"):
            raise _no_list(argument, number, part)


def rows_of_ids(argument: str, lists: Sequence[Any]) -> Rows:
    """Return lists of label ids, or of (id, score) pairs, as rows, or refuse the first other label."""
    rows = flat_rows(argument, lists)
    for entry in np.flatnonzero((rows.labels < 0) | rows.named)[:1].tolist():
        label = rows.label(entry)
        row = rows.row_of(entry)
        raise InputError(
            argument, f"label {shown(label)} is not an integer id from 0 up", row=row, value=label
        )
    return rows


def _is_label(label: object, text: bool) -> bool:
    """Tell whether a label is one of texts, or else of integers."""
    if text:
        return isinstance(label, str)
    if isinstance(label, np.integer):
        return int(label) < 2**63
    return isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63


def numbered_labels(argument: str, labels: Sequence[Any], ptr: Ints) -> tuple[Ints, list[Any] | None]:
    """Return labels as places among their names, and these, or as ids and None; refuse any others."""
    text = not labels or isinstance(labels[0], str)
    kind: type | tuple[type, ...] = str if text else (int, np.integer)
    kinds = {*map(type, labels)}
    if bool not in kinds and all(issubclass(type_, kind) for type_ in kinds):
        if text:
            return numbered(labels)
        with contextlib.suppress(OverflowError):
            return np.array(labels, np.int64), None
    entry = next(entry for entry, label in enumerate(labels) if not _is_label(label, text))
    row = int(np.searchsorted(ptr, entry, side="right")) - 1
    expected = f"text, as {shown(labels[0])} is" if text else "a name or an integer id"
    expected += "; leave it out where it is missing" if _is_missing_row(labels[entry]) else ""
    message = f"label {shown(labels[entry])} is not {expected}"
    raise InputError(argument, message, row=row, value=labels[entry])


def _as_values(argument: str, rows: Rows, values: list[Any]) -> NDArray[Any]:
    """Return scores as an array of their common type, or refuse what is no number."""
    try:
        array = np.array(values)
    except (ValueError, TypeError, RuntimeError):
        array = np.empty(0, object)
    is_fine = array.shape == (len(values),) and array.dtype.kind in "biuf"
    if is_fine and (array.dtype.kind != "f" or {*map(type, values)} == {float}):
        return array
    wrong = (
        isinstance(value, int) and int(array[entry]) != value if is_fine else not isinstance(value, NUMBERS)
        for entry, value in enumerate(values)
    )
    bad = next((entry for entry, is_wrong in enumerate(wrong) if is_wrong), None if is_fine else 0)
    if bad is None:
        return array
    message = f"score {shown(values[bad])} is not a number of float64"
    hint = _hint_of_fields(argument, rows.label(bad), values[bad])
    raise InputError(argument, f"{message}{hint}", row=rows.row_of(bad), value=values[bad])


def _hint_of_fields(argument: str, label: object, value: object) -> str:
    """Return what to do about records with fields, whose names look like labels."""
    if label in ("label", "corpus_id") and isinstance(value, str):
        return f"; a single label with its score is given as [[hit] for hit in {argument}]"
    if isinstance(label, str) and isinstance(value, list | tuple | np.ndarray):
        return f"; of records with lists, give [record[{shown(label)}] for record in {argument}]"
    return ""


def _no_list(argument: str, row: int, value: object, hint: str = "") -> InputError:
    """Return what to raise of a row that is no list."""
    reason = "not a list of labels"
    if hint:
        reason = f"{reason}; {hint}"
    elif isinstance(value, str):
        is_printed = value.strip().startswith(("[", "(", "{"))
        how = "ast.literal_eval makes a list of it" if is_printed else f"split it, or give [{shown(value)}]"
        reason = f"text, {reason}; {how}"
    elif _is_missing_row(value):
        reason = f"{reason}; give [] where there are none, or leave the row out"
    elif isinstance(value, int | np.integer):
        reason = f"{reason}; where it is the only one, give [{value}]"
    return InputError(argument, f"{shown(value)} is {reason}", row=row, value=value)


def dense_list(argument: str, value: object, width: int | None) -> object:
    """Return a list of the rows of a dense array of that width as an array, any other value as it is."""
    if not isinstance(value, list) or not width:
        return value
    if not all(hasattr(row, "__len__") and not isinstance(row, str) for row in value):
        return value
    sizes = {len(row) for row in value}
    are_ids = len(sizes) > 1 or sizes == {0} or any(isinstance(row, set | frozenset) for row in value)
    if not are_ids and sizes not in (set(), {width}):
        are_ids = any(isinstance(item, tuple) or item not in (0, 1) for row in value for item in row)
    return value if are_ids else as_array(argument, value)


def _is_other_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a sequence as other libraries and `collections` have them."""
    is_own = isinstance(value, list | tuple | str | bytes | range)
    return not is_own and isinstance(value, Sequence) and as_list(value) is None


def as_plain_rows(argument: str, value: object) -> Any:
    """Return ranx objects as dicts, lists of arrays as one array or pair and other sequences as lists."""
    if isinstance(value, list) and value and all(map(shape_of, value)):
        return _as_pair_or_array(argument, value)
    is_run = hasattr(value, "keys") and not hasattr(value, "iloc") and not isinstance(value, Mapping)
    if is_run and hasattr(value, "to_dict"):
        return value.to_dict()
    return [*value] if _is_other_list(value) else value


def _as_pair_or_array(argument: str, arrays: list[Any]) -> tuple[Any, ...] | Floats:
    """Return arrays as a pair of labels and scores, or those of predict_proba as one, or refuse others."""
    if any(map(is_sparse, arrays)):
        message = f"a list of {len(arrays)} sparse matrices; scipy.sparse.vstack joins batches of rows"
        raise InputError(argument, message)
    are_floats = all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in arrays)
    are_scores = argument == "y_score" and are_floats
    if len(arrays) == 2 and argument in PAIRED and not are_scores:
        return tuple(arrays)  # a pair of labels and scores, and no list of rows
    n_rows = {array.shape[0] for array in arrays}
    n_classes = {array.shape[1] for array in arrays}
    if are_scores and len(n_rows) == 1 and n_classes <= {1, 2}:
        return class_one_scores(argument, arrays)
    hint = "concatenate batches of rows (np.concatenate), and of predict_proba's classes give the scores of "
    message = f"a list of {len(arrays)} arrays, the first of shape {arrays[0].shape}; {hint}class 1"
    raise InputError(argument, message)


def class_one_scores(argument: str, arrays: list[Any], classes: Sequence[Any] | None = None) -> Floats:
    """Return the scores (m, l) of class 1, 0 where ``classes`` lack it, from an array for each label."""
    scores = np.zeros((len(arrays[0]), len(arrays)))
    for label, columns in enumerate(arrays):
        class_values = [0, 1] if classes is None else [*classes[label]]
        if not np.isin(class_values, (0, 1)).all():
            raise InputError(argument, f"label {label} has classes {class_values}; expected 0 and 1")
        if columns.shape[1] != len(class_values):
            hint = "(m, n_labels) of the scores of class 1, or xmleval.integrations.sklearn.make_scorer"
            message = f"predict_proba's array of label {label} has one class, which may be 0 or 1"
            raise InputError(argument, f"{message}; give an array {hint}")
        scores[:, label] = columns[:, class_values.index(1)] if 1 in class_values else 0
    return scores
