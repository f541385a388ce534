"""Which columns of a table are instances, labels and values: of frames, Parquet, CSV and JSON Lines alike."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from xmleval.base.errors import shown

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

    def __init__(self, column: Any) -> None:
        super().__init__(f"column {shown(column)} holds no lists")
        self.column = column


class DecidingColumnError(ColumnsError):
    """A column decides on values, and nothing tells how; ``column`` is one that a caller may name."""

    def __init__(self, text: str, column: Any = None) -> None:
        super().__init__(text)
        self.column = column


class Chosen(NamedTuple):
    """Columns that a caller names, None of those that are to be found."""

    instance: Any = None
    label: Any = None
    value: Any = None


class TableColumns(NamedTuple):
    """What the columns of a table are, None where there is none."""

    lists: bool  # whether there is a row for each instance, and not for each label
    instance: Any
    label: Any
    value: Any  # scores or judgements of labels
    unused: list[Any]
    is_usual: bool  # whether the instance of lists was found by a name that both sides must have

    @property
    def read(self) -> list[Any]:
        """Names of the columns to read, but for those beside."""
        return [name for name in (self.instance, self.label, self.value) if name is not None]


def choose_columns(
    names: Sequence[Any],
    kind: str,
    is_list: Callable[[Any], bool] | None = None,
    chosen: Chosen | None = None,
    *,
    joined: bool = True,
    lists_scores: Callable[[Any], bool] | None = None,
) -> TableColumns:
    """Return the columns of a table of lists, or with a row for each label, or refuse another.

    ``is_list`` is None where any text may be a list; ``lists_scores`` then tells whether a column `score`
    next to lists of labels has lists, too. Lists that are not ``joined`` need no instance.
    """
    instance, label, value = chosen = chosen or Chosen()
    columns = ", ".join(shown(name) for name in names[:9]) or "none"
    for name in chosen:
        if name is not None and name not in names:
            raise ColumnsError(f"no column {shown(name)}; the columns are {columns}")
    usual = _Usual([name for name in names if name not in chosen], kind != "scores", is_list, lists_scores)
    entry = usual.entry(instance) if label is None else None
    instance, label = entry or (instance, label)
    if label is None and (label := usual.lists()) is None:
        raise NoLabelsError(f"no column holds labels; the columns are {columns}")
    lists = entry is None if is_list is None else is_list(label)
    if not lists and entry is None and chosen.label is None:
        raise NoListsError(label)
    if instance is None and (joined or not lists):
        instance = find_instance([name for name in names if name != label])
    if instance is None and not lists:
        raise ColumnsError(f"no column names the instances; the columns are {columns}")
    remaining = [name for name in names if name not in (instance, label)]
    if value is None:
        value = usual.value(remaining, instance, label, lists)
        if kind == "truth" and named_as([value], SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
            raise ColumnsError(
                f"a column {shown(value)} in what should be relevant labels; grades need gains"
            )
        if kind == "scores" and value is None and not lists:
            raise ColumnsError(f"no column {shown(SCORE_COLUMNS[0])} beside {shown(label)}")
    is_usual = lists and chosen.instance is None and instance not in (None, *OWN_INSTANCE)
    unused = [name for name in remaining if name != value and names.count(name) == 1]
    table = TableColumns(lists, instance, label, value, unused, is_usual)
    if (twice := next((name for name in table.read if names.count(name) > 1), None)) is not None:
        raise ColumnsError(f"{names.count(twice)} columns {shown(twice)}")
    return table


class _Usual(NamedTuple):
    """Columns by their usual names, among those that the caller does not name."""

    names: list[Any]
    is_truth: bool
    is_list: Callable[[Any], bool] | None
    lists_scores: Callable[[Any], bool] | None

    def listed(self, usual: Sequence[str]) -> list[Any]:
        """Return the columns of usual names that may hold lists."""
        named = named_as(self.names, usual)
        return named if self.is_list is None else [name for name in named if self.is_list(name)]

    def entry(self, instance: Any) -> tuple[Any, Any] | None:
        """Return instance and label, or query and document, of a row for each label; None of lists."""
        label = only_one(named_as(self.names, (LABEL_COLUMN,)))
        instance_column = only_one(named_as(self.names, OWN_INSTANCE)) if instance is None else None
        if instance_column is not None and label is not None:
            return instance_column, label
        if self.listed((*TRUE, *PRED)):
            return None
        documents, queries = named_as(self.names, DOCUMENT), named_as(self.names, QUERY)
        if instance is not None:
            label = only_one(documents) if label is None else label
            return None if label is None else (instance, label)
        if queries and documents:
            return only_one(queries), only_one(documents)
        if label is None or (instance := find_instance(self.names)) is None:
            return None
        has_value = self.value(self.names, instance, label) is not None  # documents with labels have none
        return (instance, label) if has_value else None

    def lists(self) -> Any:
        """Return the column of lists: one of a usual name, or the only one beside the names of rows."""
        true = TRUE if self.is_list is None else (*TRUE, LABEL_COLUMN)
        for usual in (true,) if self.is_truth else (PRED, true):
            if (label := only_one(self.listed(usual))) is not None:
                return label
        if self.is_list is None or LABELS_COLUMN in self.names:
            return None if self.is_list is None else LABELS_COLUMN
        ids = named_as(self.names, INSTANCE)
        candidates = [name for name in self.names if name not in ids and not is_written_index(name)]
        return candidates[0] if len(candidates) == 1 and self.is_list(candidates[0]) else None

    def value(self, columns: list[Any], instance: Any, label: Any, lists: bool = False) -> Any:
        """Return the column of scores, or of judgements, as `label` next to a document; None without one."""
        judged = named_as(columns, JUDGEMENT) if self.is_truth else []
        if self.is_truth and not judged and named_as([instance], QUERY) and named_as([label], DOCUMENT):
            judged = named_as(columns, (LABEL_COLUMN,))
        scores = [] if lists and self.is_truth and self.listed(PRED) else named_as(columns, SCORE_COLUMNS)
        if not (scores or lists or self.is_truth):
            scores = named_as(columns, SECOND_SCORE_COLUMNS)
        if lists and (self.is_truth or self.is_list is None):
            is_list = self.is_list or self.lists_scores or (lambda name: False)
            scores = [name for name in scores if name.lower() != "score" or is_list(name)]
        return only_one(judged or scores)


def find_users_and_items(columns: Iterable[Any]) -> tuple[str, str] | None:
    """Return the columns of users and of items where a table has both, None where it has not."""
    plain = {re.sub(r"[_\- ]", "", name.lower()): name for name in columns if isinstance(name, str)}
    users = [name for key, name in plain.items() if key in USERS]
    items = [name for key, name in plain.items() if key in ITEMS]
    return (users[0], items[0]) if users and items else None


def named_as(columns: Iterable[Any], usual: Sequence[str]) -> list[Any]:
    """Return the columns that have one of the usual names, in any case."""
    return [name for name in columns if isinstance(name, str) and name.lower() in usual]


def find_instance(columns: Sequence[Any]) -> Any:
    """Return the column that names the rows, None if there is none."""
    instance = only_one(named_as(columns, OWN_INSTANCE))
    return only_one(named_as(columns, INSTANCE)) if instance is None else instance


def only_one(columns: Sequence[Any]) -> Any:
    """Return the only column, None of none, or refuse several."""
    if len({*columns}) > 1:
        raise ColumnsError(f"columns {' and '.join(map(shown, columns))} may both be meant")
    return columns[0] if columns else None


def is_written_index(column: Any) -> bool:
    """Tell whether a column is called like an index that pandas wrote."""
    return isinstance(column, str) and WRITTEN_INDEX.fullmatch(column.strip().lower()) is not None


def hashed(cells: Iterable[Any]) -> array[int]:
    """Return the hashes of the texts of cells, to find the same ones in another order."""
    return array("q", [hash(str(cell)) for cell in cells])


def is_other_order(hashes: array[int], expected: array[int]) -> bool:
    """Tell whether hashes are the expected ones in another order, each once."""
    return hashes != expected and len({*hashes}) == len(hashes) and sorted(hashes) == sorted(expected)
