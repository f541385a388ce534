"""Which columns of a table are instances, labels and values: of frames, Parquet, CSV and JSON Lines alike."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from xmleval.base.errors import shown

Column = TypeVar("Column", bound=Hashable)  # the name of one, a text but in some frames
OWN_INSTANCE = ("instance", "row")  # always names the rows
QUERY = ("query-id", "query_id", "queryid", "qid", "q_id")
DOCUMENT = ("corpus-id", "corpus_id", "doc_id", "doc-id", "docid", "docno", "document_id", "pid")
INSTANCE = (
    *OWN_INSTANCE, *QUERY, "id", "doc_id", "doc-id", "docid", "docno", "document_id", "row_id", "instance_id",
    "sample_id", "example_id",
)  # fmt: skip
LABEL_COLUMN, LABELS_COLUMN = "label", "labels"
TRUE = ("tags", LABELS_COLUMN, "true", "y_true", "true_tags", "true_labels", "gold")
PRED = ("predicted", "predictions", "prediction", "pred", "y_pred", "predicted_tags", "predicted_labels")
SCORE_COLUMNS = ("score", "scores", "predicted_scores", "pred_scores", "probabilities")
SECOND_SCORE_COLUMNS = (  # of a table with a row for each label, where no other is called like scores
    "prob", "probs", "probability", "confidence", "confidences", "logit", "logits", "similarity",
    "similarities",
)  # fmt: skip
JUDGEMENT = (
    "relevance", "relevances", "rel", "relevant", "is_relevant", "grade", "grades", "judgement", "judgements",
    "judgment", "judgments", "label_value",
)  # fmt: skip
USERS = ("user", "userid", "uid", "customer", "customerid", "session", "sessionid", "visitorid")
ITEMS = (
    "item", "itemid", "iid", "movieid", "productid", "asin", "parentasin", "trackid", "songid", "bookid",
    "newsid", "articleid", "businessid",
)  # fmt: skip
NO_VALUE = ("iteration", "iter", "rank")  # of TREC's files, beside judgements and scores
WRITTEN_INDEX = re.compile(r"|index|level_0|unnamed: \d+")  # what pandas calls an index that it writes


class ColumnsError(ValueError):
    """What the names of columns do not settle; readers add how to."""


class NoLabelsError(ColumnsError):
    """No column is one of labels."""


class NoListsError(ColumnsError):
    """The column of labels holds no lists."""

    def __init__(self, column: Hashable) -> None:
        super().__init__(f"column {shown(column)} holds no lists")
        self.column = column


class DecidingColumnError(ColumnsError):
    """A column decides on values, and nothing tells how; ``column`` is one that a caller may name."""

    def __init__(self, text: str, column: Hashable = None) -> None:
        super().__init__(text)
        self.column = column


class Chosen(NamedTuple, Generic[Column]):
    """Columns that a caller names, None of those that are to be found."""

    instance: Column | None = None
    label: Column | None = None
    value: Column | None = None


class TableColumns(NamedTuple, Generic[Column]):
    """What the columns of a table are, None where there is none."""

    lists: bool  # whether there is a row for each instance, and not for each label
    instance: Column | None
    label: Column
    value: Column | None  # scores or judgements of labels
    unused: list[Column]
    is_usual: bool  # whether the instance of lists was found by a name that both sides must have

    @property
    def read(self) -> list[Column]:
        """Names of the columns to read, but for those beside."""
        return [name for name in (self.instance, self.label, self.value) if name is not None]


def choose_columns(
    names: Sequence[Column],
    kind: str,
    is_list: Callable[[Column], bool] | None = None,
    chosen: Chosen[Column] | None = None,
    *,
    joined: bool = True,
    lists_scores: Callable[[Column], bool] | None = None,
) -> TableColumns[Column]:
    """Return the columns of a table of lists, or with a row for each label, or refuse another.

    ``is_list`` is None where any text may be a list; ``lists_scores`` then tells whether a column `score`
    next to lists of labels has lists, too. Lists that are not ``joined`` need no instance.
    """
    chosen = chosen or Chosen()
    _refuse_absent(chosen, names)
    others = [name for name in names if name not in chosen]
    usual = _Usual(others, kind != "scores", is_list, lists_scores)
    lists, instance, label = _find_labels(usual, chosen, names)
    if instance is None and (joined or not lists):
        instance = find_instance([name for name in names if name != label])
    if instance is None and not lists:
        raise ColumnsError(f"no column names the instances; {_listed(names)}")
    remaining = [name for name in names if name not in (instance, label)]
    value = chosen.value
    if value is None:
        value = usual.value(remaining, instance, label, lists)
        _refuse_value(value, kind, lists, label)
    is_usual = lists and chosen.instance is None and instance not in (None, *OWN_INSTANCE)
    unused = [name for name in remaining if name != value and names.count(name) == 1]
    table = TableColumns(lists, instance, label, value, unused, is_usual)
    _refuse_twice(table.read, names)
    return table


def _listed(names: Sequence[object]) -> str:
    """Return how a message lists the columns that there are."""
    columns = ", ".join(shown(name) for name in names[:9]) or "none"
    return f"the columns are {columns}"


def _refuse_absent(chosen: Iterable[object], names: Sequence[object]) -> None:
    for name in chosen:
        if name is not None and name not in names:
            raise ColumnsError(f"no column {shown(name)}; {_listed(names)}")


def _refuse_twice(read: Iterable[object], names: Sequence[object]) -> None:
    for name in read:
        if names.count(name) > 1:
            raise ColumnsError(f"{names.count(name)} columns {shown(name)}")


def _refuse_value(value: Hashable, kind: str, lists: bool, label: Hashable) -> None:
    """Refuse scores where relevant labels should be, and no scores where they should be."""
    if kind == "truth" and named_as([value], SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
        raise ColumnsError(f"a column {shown(value)} in what should be relevant labels; grades need gains")
    if kind == "scores" and value is None and not lists:
        raise ColumnsError(f"no column {shown(SCORE_COLUMNS[0])} beside {shown(label)}")


def _find_labels(
    usual: _Usual[Column], chosen: Chosen[Column], names: Sequence[Column]
) -> tuple[bool, Column | None, Column]:
    """Return whether there are lists, the instance as far as it is known, and the column of labels."""
    if chosen.label is not None:
        return usual.is_list is None or usual.is_list(chosen.label), chosen.instance, chosen.label
    entry = usual.entry(chosen.instance)
    if entry is not None:
        instance, label = entry
        return usual.is_list is not None and usual.is_list(label), instance, label
    listed = usual.lists()
    if listed is None:
        raise NoLabelsError(f"no column holds labels; {_listed(names)}")
    if usual.is_list is not None and not usual.is_list(listed):
        raise NoListsError(listed)
    return True, chosen.instance, listed


class _Usual(NamedTuple, Generic[Column]):
    """Columns by their usual names, among those that the caller does not name."""

    names: list[Column]
    is_truth: bool
    is_list: Callable[[Column], bool] | None
    lists_scores: Callable[[Column], bool] | None

    def listed(self, usual: Sequence[str]) -> list[Column]:
        """Return the columns of usual names that may hold lists."""
        named = named_as(self.names, usual)
        return named if self.is_list is None else [name for name in named if self.is_list(name)]

    def entry(self, instance: Column | None) -> tuple[Column, Column] | None:
        """Return instance and label, or query and document, of a row for each label; None of lists."""
        label = only_one(named_as(self.names, (LABEL_COLUMN,)))
        instance_column = only_one(named_as(self.names, OWN_INSTANCE)) if instance is None else None
        if instance_column is not None and label is not None:
            return instance_column, label
        if self.listed((*TRUE, *PRED)):
            return None
        documents = named_as(self.names, DOCUMENT)
        queries = named_as(self.names, QUERY)
        if instance is not None:
            label = only_one(documents) if label is None else label
            return None if label is None else (instance, label)
        if queries and documents:
            return _one_of(queries), _one_of(documents)
        if label is None or (instance := find_instance(self.names)) is None:
            return None
        has_value = self.value(self.names, instance, label) is not None  # documents with labels have none
        return (instance, label) if has_value else None

    def lists(self) -> Column | None:
        """Return the column of lists: one of a usual name, or the only one beside the names of rows."""
        true = TRUE if self.is_list is None else (*TRUE, LABEL_COLUMN)
        for usual in (true,) if self.is_truth else (PRED, true):
            if (label := only_one(self.listed(usual))) is not None:
                return label
        if self.is_list is None:
            return None
        for name in self.names:
            if name == LABELS_COLUMN:
                return name
        ids = named_as(self.names, INSTANCE)
        candidates = [name for name in self.names if name not in ids and not is_written_index(name)]
        return candidates[0] if len(candidates) == 1 and self.is_list(candidates[0]) else None

    def value(
        self, columns: list[Column], instance: Column | None, label: Column, lists: bool = False
    ) -> Column | None:
        """Return the column of scores, or of judgements, as `label` next to a document; None without one."""
        judged = self._judgements(columns, instance, label) if self.is_truth else []
        scores = self._scores(columns, lists)
        if lists and (self.is_truth or self.is_list is None):
            is_list = self.is_list or self.lists_scores or (lambda name: False)
            scores = [name for name in scores if not named_as([name], ("score",)) or is_list(name)]
        return only_one(judged or scores)

    def _judgements(self, columns: list[Column], instance: Column | None, label: Column) -> list[Column]:
        judged = named_as(columns, JUDGEMENT)
        if not judged and named_as([instance], QUERY) and named_as([label], DOCUMENT):
            return named_as(columns, (LABEL_COLUMN,))
        return judged

    def _scores(self, columns: list[Column], lists: bool) -> list[Column]:
        """Return the columns called like scores, but not the scores of predictions in a truth."""
        if lists and self.is_truth and self.listed(PRED):
            return []
        scores = named_as(columns, SCORE_COLUMNS)
        if not (scores or lists or self.is_truth):
            return named_as(columns, SECOND_SCORE_COLUMNS)
        return scores


def find_users_and_items(columns: Iterable[object]) -> tuple[str, str] | None:
    """Return the columns of users and of items where a table has both, None where it has not."""
    plain = {re.sub(r"[_\- ]", "", name.lower()): name for name in columns if isinstance(name, str)}
    users = [name for key, name in plain.items() if key in USERS]
    items = [name for key, name in plain.items() if key in ITEMS]
    return (users[0], items[0]) if users and items else None


def named_as(columns: Iterable[Column], usual: Sequence[str]) -> list[Column]:
    """Return the columns that have one of the usual names, in any case."""
    return [name for name in columns if isinstance(name, str) and name.lower() in usual]


def find_instance(columns: Sequence[Column]) -> Column | None:
    """Return the column that names the rows, None if there is none."""
    instance = only_one(named_as(columns, OWN_INSTANCE))
    return only_one(named_as(columns, INSTANCE)) if instance is None else instance


def only_one(columns: Sequence[Column]) -> Column | None:
    """Return the only column, None of none, or refuse several."""
    return _one_of(columns) if columns else None


def _one_of(columns: Sequence[Column]) -> Column:
    if len({*columns}) > 1:
        raise ColumnsError(f"columns {' and '.join(map(shown, columns))} may both be meant")
    return columns[0]


def is_written_index(column: object) -> bool:
    """Tell whether a column is called like an index that pandas wrote."""
    return isinstance(column, str) and WRITTEN_INDEX.fullmatch(column.strip().lower()) is not None


def hashed(cells: Iterable[object]) -> array[int]:
    """Return the hashes of the texts of cells, to find the same ones in another order."""
    return array("q", [hash(str(cell)) for cell in cells])


def is_other_order(hashes: array[int], expected: array[int]) -> bool:
    """Tell whether hashes are the expected ones in another order, each once."""
    return hashes != expected and len({*hashes}) == len(hashes) and sorted(hashes) == sorted(expected)
