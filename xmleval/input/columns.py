"""What columns of tables are called: one list of names for frames, Parquet, CSV and JSON Lines."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

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
JUDGEMENT = (
    "relevance", "relevances", "rel", "relevant", "is_relevant", "grade", "grades", "judgement", "judgements",
    "judgment", "judgments", "label_value",
)  # fmt: skip
NO_VALUE = ("iteration", "iter", "rank")  # of TREC's files, beside judgements and scores
WRITTEN_INDEX = re.compile(r"|index|level_0|unnamed: \d+")  # what pandas calls an index that it writes


class EntryColumns(NamedTuple):
    """Columns of a table with a row for each label: what names instances and labels, and their values."""

    instance: Any
    label: Any
    value: Any


class AmbiguousError(ValueError):
    """Several columns may have one role."""

    def __init__(self, columns: Sequence[Any]) -> None:
        super().__init__(f"{' and '.join(map(repr, columns))} may both be meant")


def named_as(columns: Iterable[Any], usual: Sequence[str]) -> list[Any]:
    """Return the columns that have one of the usual names, in any case."""
    return [name for name in columns if isinstance(name, str) and name.lower() in usual]


def find_instance(columns: Sequence[Any]) -> Any:
    """Return the column that names the rows, None if there is none."""
    for usual in (OWN_INSTANCE, INSTANCE):
        column = only_one(named_as(columns, usual))
        if column is not None:
            return column
    return None


def find_value(columns: Sequence[Any], is_truth: bool, *, beside_documents: bool = False) -> Any:
    """Return the column of scores, or of judgements where it is a truth; None if there is none.

    ``beside_documents`` tells that others name queries and documents: then `label` is a judgement, too.
    """
    judged = named_as(columns, JUDGEMENT) if is_truth else []
    if is_truth and not judged and beside_documents:
        judged = named_as(columns, (LABEL_COLUMN,))
    return only_one(judged or named_as(columns, SCORE_COLUMNS))


def find_entries(columns: Sequence[Any], is_truth: bool) -> EntryColumns | None:
    """Return the columns of a table with a row for each label, None where it is another.

    Those are an instance and a label, or a query and a document, which is the label. Where the instance has
    another name than our own, there must be a value: documents with one field of labels have none.
    """
    label, queries = only_one(named_as(columns, (LABEL_COLUMN,))), named_as(columns, QUERY)
    documents = named_as(columns, DOCUMENT)
    instance = only_one(named_as(columns, OWN_INSTANCE))
    if instance is not None and label is not None:
        return EntryColumns(instance, label, find_value(columns, is_truth))
    if named_as(columns, (*TRUE, *PRED)):
        return None  # lists
    if queries and documents:
        value = find_value(columns, is_truth, beside_documents=True)
        return EntryColumns(only_one(queries), only_one(documents), value)
    if label is None or (instance := find_instance(columns)) is None:
        return None
    value = find_value(columns, is_truth)
    return None if value is None else EntryColumns(instance, label, value)


def may_hold_values(column: Any) -> bool:
    """Tell whether numbers in a column beside instances and labels may be judgements, by its name."""
    names = (*INSTANCE, *DOCUMENT, *SCORE_COLUMNS, *NO_VALUE)
    return not (is_written_index(column) or named_as([column], names))


def is_written_index(column: Any) -> bool:
    """Tell whether a column is called like an index that pandas wrote."""
    return isinstance(column, str) and WRITTEN_INDEX.fullmatch(column.strip().lower()) is not None


def only_one(columns: Sequence[Any]) -> Any:
    """Return the only column, None of none, or refuse several."""
    if len({*columns}) > 1:
        raise AmbiguousError(columns)
    return columns[0] if columns else None


def is_other_order(values: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Tell whether values, texts or integers, are the expected ones in another order, each once."""
    if len(values) != len(expected) or values == expected:
        return False
    kinds = {*map(type, values), *map(type, expected)}
    return kinds in ({str}, {int}) and len({*values}) == len(values) and {*values} == {*expected}


class ColumnHashes(dict[str, "array[int]"]):
    """Hashes of the texts and integers in columns, to find the same values in another order."""

    def __init__(self, columns: Iterable[str] = ()) -> None:
        super().__init__((name, array("q")) for name in columns)
        self.names = [*self]

    @property
    def n_bytes(self) -> int:
        """Memory that they take."""
        return sum(8 * len(hashes) for hashes in self.values())

    def add(self, cells: Sequence[Any]) -> None:
        """Take the cells of a row; a column with any other value is passed over from then on."""
        for name, cell in zip(self.names, cells, strict=True):
            if type(cell) not in (str, int):
                self.pop(name, None)
            elif name in self:
                self[name].append(hash(cell))

    def in_other_order(self, expected: ColumnHashes) -> str | None:
        """Return the first column that has the values of others, each once, in another order."""
        names = (name for name in self if name in expected)
        return next((n for n in names if is_other_order([*self[n]], [*expected[n]])), None)
