"""Find the columns of instances, labels and values of a frame, Parquet, CSV or JSON Lines."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from xmleval.base.errors import Message, shown

Column = TypeVar("Column", bound=Hashable)  # name of a column, a text except in some frames
OWN_INSTANCE = ("instance", "row")  # always names the rows
QUERY = ("query-id", "query_id", "queryid", "qid", "q_id")
DOCUMENT = ("corpus-id", "corpus_id", "doc_id", "doc-id", "docid", "docno", "document_id", "pid")
INSTANCE = (
    *OWN_INSTANCE,
    *QUERY,
    "id",
    "doc_id",
    "doc-id",
    "docid",
    "docno",
    "document_id",
    "row_id",
    "instance_id",
    "sample_id",
    "example_id",
)
LABEL_COLUMN = "label"
LABELS_COLUMN = "labels"
TRUE = ("tags", LABELS_COLUMN, "true", "y_true", "true_tags", "true_labels", "gold")
PRED = (
    "predicted",
    "predictions",
    "prediction",
    "pred",
    "y_pred",
    "predicted_tags",
    "predicted_labels",
)
RESULTS = ("results",)  # of predictions, where no other column is theirs
# of one predicted label with its score, as search engines return it
HIT_LABELS = ("corpus_id", "label", "doc_id", "id")
SCORE_COLUMNS = ("score", "scores", "predicted_scores", "pred_scores", "probabilities")
# of a table with a row for each label, if it has none of `SCORE_COLUMNS`
SECOND_SCORE_COLUMNS = (
    "prob",
    "probs",
    "probability",
    "confidence",
    "confidences",
    "logit",
    "logits",
    "similarity",
    "similarities",
)
JUDGEMENT = (
    "relevance",
    "relevances",
    "rel",
    "relevant",
    "is_relevant",
    "grade",
    "grades",
    "judgement",
    "judgements",
    "judgment",
    "judgments",
    "label_value",
)
USERS = ("user", "userid", "uid", "customer", "customerid", "session", "sessionid", "visitorid")
ITEMS = (
    "item",
    "itemid",
    "iid",
    "movieid",
    "productid",
    "asin",
    "parentasin",
    "trackid",
    "songid",
    "bookid",
    "newsid",
    "articleid",
    "businessid",
)
# of tables without a column of labels: a row of the table is a candidate of its query
NUMBERED = ""  # given as the column of labels
NUMBERED_JUDGEMENT = ("y",)
# only where the caller says that no column has labels
JUDGEMENT_WITHOUT_LABELS = ("y_true", LABEL_COLUMN, "target")
NUMBERED_SCORES = ("y_score", "y_pred", "pred", "preds", "prediction", "predictions", "predicted")
NO_VALUE = ("iteration", "iter", "rank")  # of TREC's files, in addition to judgements and scores
ID_NAME = re.compile(r"(^|[_\- ])id$")
# names that pandas gives to an index that it writes
WRITTEN_INDEX = re.compile(r"|index|level_0|unnamed: \d+")


class ColumnsError(ValueError):
    """The names of columns are not sufficient; readers add what to do."""


class NoLabelsError(ColumnsError):
    """No column contains labels."""


class NoJudgementsError(ColumnsError):
    """A truth without a column of labels has no column of judgements; scores may have one."""


class NoListsError(ColumnsError):
    """The column of labels contains no lists."""

    def __init__(self, column: Hashable) -> None:
        super().__init__(f"column {shown(column)} has no lists")
        self.column = column


class DecidingColumnError(ColumnsError):
    """A column distinguishes labels in an unknown way.

    column : a column that the caller may name as the scores or judgements, or None
    labels : a column that the caller may name as the labels, or None
    """

    def __init__(self, text: str, column: Hashable = None, labels: Hashable = None) -> None:
        super().__init__(text)
        self.column = column
        self.labels = labels


class ChosenColumns(NamedTuple, Generic[Column]):
    """Columns that a caller names; None for columns to find.

    are_entries : whether ``label`` has one label in each row, where only contents can show it
    """

    instance: Column | None = None
    label: Column | None = None
    value: Column | None = None
    are_entries: bool = False


class TableColumns(NamedTuple, Generic[Column]):
    """Columns of a table by role; None for roles without a column."""

    lists: bool  # whether there is a row for each instance, and not for each label
    instance: Column | None
    label: Column
    value: Column | None  # scores or judgements of labels
    unused: list[Column]
    is_usual: bool  # whether lists have an instance, by a usual name that both sides must have
    are_numbered: bool = False  # whether labels are numbered: `label` is then unread, as `instance`
    is_guess: bool = False  # whether they are, as no column of labels is found

    @property
    def read(self) -> list[Column]:
        """Columns to read, without further ones."""
        columns = dict.fromkeys((self.instance, self.label, self.value))
        return [name for name in columns if name is not None]


def choose_columns(
    names: Sequence[Column],
    kind: str,
    is_list: Callable[[Column], bool] | None = None,
    chosen: ChosenColumns[Column] | None = None,
    *,
    joined: bool = True,
    lists_scores: Callable[[Column], bool] | None = None,
    repeats: Callable[[Column], bool] | None = None,
) -> TableColumns[Column]:
    """Return the columns of a table of lists, or of a table with a row for each label.

    ``is_list`` is None if any text may be a list; ``lists_scores`` then returns whether a column
    `score` next to lists of labels has lists, too. Lists that are not ``joined`` need no instance.
    ``repeats`` returns whether a column has a value in several rows: without a column of labels,
    those of a query are then numbered.
    """
    chosen = chosen or ChosenColumns()
    is_numbered = chosen.label == NUMBERED
    if is_numbered:
        chosen = chosen._replace(label=None)
    _refuse_absent(chosen[:3], names)
    unnamed = [name for name in names if name not in chosen[:3]]
    usual = _UsualColumns(unnamed, kind != "scores", is_list, lists_scores)
    if is_numbered:
        return _number_labels(usual, chosen, names)
    try:
        lists, instance, label = _find_labels(usual, chosen, names)
    except NoLabelsError:
        table = None
        if repeats is not None:
            table = _find_numbered_labels(usual, chosen, names, repeats)
        if table is None:
            raise
        return table
    if instance is None and (joined or not lists):
        instance = _find_instance_next_to(label, names, is_required=not lists)
    remaining = [name for name in names if name not in (instance, label)]
    value = chosen.value
    if value is None:
        value = usual.find_value(remaining, instance, label, lists)
        _refuse_value(value, kind, lists, label)
    is_usual = lists and chosen.instance is None and instance not in (None, *OWN_INSTANCE)
    unused = [name for name in remaining if name != value and names.count(name) == 1]
    table = TableColumns(lists, instance, label, value, unused, is_usual)
    _refuse_repeated(table.read, names)
    return table


def _number_labels(
    usual: _UsualColumns[Column], chosen: ChosenColumns[Column], names: Sequence[Column]
) -> TableColumns[Column]:
    """Return the columns of a table whose labels are numbered, as the caller says."""
    instance = chosen.instance
    if instance is None:
        instance = find_instance(usual.names)
    if instance is None:
        raise ColumnsError(f"no column has the ids of instances; {_list_columns(names)}")
    value = chosen.value
    if value is None:
        value = usual.find_numbered_value(is_certain=True)
    if value is None:
        if usual.is_truth:
            raise NoJudgementsError(f"no column has judgements; {_list_columns(names)}")
        raise ColumnsError(f"no column has scores; {_list_columns(names)}")
    return _numbered_table(instance, value, names)


def _find_numbered_labels(
    usual: _UsualColumns[Column],
    chosen: ChosenColumns[Column],
    names: Sequence[Column],
    repeats: Callable[[Column], bool],
) -> TableColumns[Column] | None:
    """Return the columns of a table with several rows for a query, which have values, if any."""
    instance = chosen.instance
    if instance is None:
        instance = only_one(named_as(usual.names, QUERY))
    value = chosen.value
    if value is None:
        value = usual.find_numbered_value(is_certain=False)
    if instance is None or not repeats(instance):
        return None
    if value is None:
        _refuse_scores_alone(usual)
        return None
    return _numbered_table(instance, value, names)._replace(is_guess=True)


def _refuse_scores_alone(usual: _UsualColumns[Column]) -> None:
    """Refuse a truth of queries that only has a column named like scores, not judgements."""
    scores = named_as(usual.names, SCORE_COLUMNS)
    if usual.is_truth and scores:
        raise NoJudgementsError(f"no column has judgements, and {shown(scores[0])} may have scores")


def _numbered_table(
    instance: Column, value: Column, names: Sequence[Column]
) -> TableColumns[Column]:
    """Return the roles of the columns of a table whose labels are numbered."""
    unused = [name for name in names if name not in (instance, value) and names.count(name) == 1]
    table = TableColumns(False, instance, instance, value, unused, False, are_numbered=True)
    _refuse_repeated(table.read, names)
    return table


def without_row_values(names: Sequence[Column], row_values: Collection[Column]) -> list[Column]:
    """Return the columns that may have a role other than that of ``row_values``, values of rows.

    A column that names the rows by a usual name may also be one of these.
    """
    remaining = [name for name in names if name not in row_values]
    usual: Sequence[str] = OWN_INSTANCE
    if named_as(names, DOCUMENT):
        usual = (*OWN_INSTANCE, *QUERY)
    if not named_as(remaining, INSTANCE):
        usual = INSTANCE
    instances = named_as(names, usual)
    return [name for name in names if name in remaining or name in instances]


def refuse_labels_as_row_values(
    names: Sequence[Column],
    row_values: Collection[Column],
    is_list: Callable[[Column], bool] | None,
    chosen: ChosenColumns[Column],
) -> None:
    """Refuse values of rows in the column of labels or of judgements of a long table.

    A column that the caller names as one of these may also have values of rows.
    """
    try:
        table = choose_columns(names, "grades", is_list, chosen)
    except ColumnsError:
        return
    if table.lists:
        return
    roles = {table.value: "judgements"}
    if not table.are_numbered:
        roles[table.label] = "labels"
    for name, content in roles.items():
        if name in row_values and name not in chosen:
            text = f"column {shown(name)} has the {content}, not a value for each row; "
            raise ColumnsError(f"{text}name another column for values of rows")


def _find_instance_next_to(
    label: Column, names: Sequence[Column], *, is_required: bool
) -> Column | None:
    """Return the column that names the rows, other than that of labels."""
    instance = find_instance([name for name in names if name != label])
    if instance is None and is_required:
        raise ColumnsError(f"no column has the ids of instances; {_list_columns(names)}")
    return instance


def _list_columns(names: Sequence[object]) -> str:
    """Return the part of a message that lists the columns of a table."""
    columns = ", ".join(shown(name) for name in names[:9]) or "none"
    return f"the columns are {columns}"


def _refuse_absent(chosen: Iterable[object], names: Sequence[object]) -> None:
    """Refuse chosen columns that the table does not have."""
    for name in chosen:
        if name is not None and name not in names:
            raise ColumnsError(f"no column {shown(name)}; {_list_columns(names)}")


def _refuse_repeated(columns: Iterable[object], names: Sequence[object]) -> None:
    """Refuse columns whose name occurs more than once."""
    for name in columns:
        if names.count(name) > 1:
            raise ColumnsError(f"{names.count(name)} columns are called {shown(name)}")


def _refuse_value(value: Hashable, kind: str, lists: bool, label: Hashable) -> None:
    """Refuse scores in a truth, and entries of predictions without scores."""
    if kind == "truth" and named_as([value], SCORE_COLUMNS) and (lists or label == LABEL_COLUMN):
        raise ColumnsError(
            f"column {shown(value)} has scores, but relevant labels are expected; grades need gains"
        )
    if kind == "scores" and value is None and not lists:
        raise ColumnsError(f"no column {shown(SCORE_COLUMNS[0])} next to {shown(label)}")


def _find_labels(
    usual: _UsualColumns[Column], chosen: ChosenColumns[Column], names: Sequence[Column]
) -> tuple[bool, Column | None, Column]:
    """Return whether labels are lists, the column of instances if known, and that of labels."""
    is_list = usual.is_list
    if chosen.label is not None:
        are_lists = not chosen.are_entries if is_list is None else is_list(chosen.label)
        return are_lists, chosen.instance, chosen.label
    entry = usual.find_entry(chosen.instance)
    if entry is not None:
        instance, label = entry
        are_lists = is_list is not None and is_list(label)
        return are_lists, instance, label
    lists = usual.find_lists()
    if lists is None:
        raise NoLabelsError(f"no column has labels; {_list_columns(names)}")
    if is_list is not None and not is_list(lists):
        raise NoListsError(lists)
    return True, chosen.instance, lists


class _UsualColumns(NamedTuple, Generic[Column]):
    """Finds columns by usual names among the columns that the caller does not name."""

    names: list[Column]
    is_truth: bool
    is_list: Callable[[Column], bool] | None
    lists_scores: Callable[[Column], bool] | None

    def lists_named(self, usual: Sequence[str]) -> list[Column]:
        """Return the columns with usual names that may contain lists."""
        columns = named_as(self.names, usual)
        if self.is_list is None:
            return columns
        return [name for name in columns if self.is_list(name)]

    def find_entry(self, instance: Column | None) -> tuple[Column, Column] | None:
        """Return the columns of instance and label, or query and document; None for lists."""
        label = only_one(named_as(self.names, (LABEL_COLUMN,)))
        if instance is None:
            certain_instance = only_one(named_as(self.names, OWN_INSTANCE))
            if certain_instance is not None and label is not None:
                return certain_instance, label
        if self.lists_named((*TRUE, *PRED)):
            return None
        documents = named_as(self.names, DOCUMENT)
        if instance is not None:
            if label is None:
                label = only_one(documents)
            return None if label is None else (instance, label)
        queries = named_as(self.names, QUERY)
        if queries and documents:
            return _one_of(queries), _one_of(documents)
        if label is None:
            return None
        return self._find_entry_with_value(label)

    def _find_entry_with_value(self, label: Column) -> tuple[Column, Column] | None:
        """Return the columns of instance and label; None if no column has values, as with lists."""
        instance = find_instance(self.names)
        if instance is None or self.find_value(self.names, instance, label) is None:
            return None
        return instance, label

    def find_lists(self) -> Column | None:
        """Return the column of lists: by a usual name, or the only one except for names of rows."""
        if not self.is_truth:
            label = only_one(self.lists_named(PRED))
            if label is not None:
                return label
        true_names = [*TRUE]
        if self.is_list is not None:
            true_names.append(LABEL_COLUMN)
        label = only_one(self.lists_named(true_names))
        if label is None and not self.is_truth:
            label = only_one(self.lists_named(RESULTS))
        if label is not None or self.is_list is None:
            return label
        for name in self.names:
            if name == LABELS_COLUMN:  # not of lists; the caller refuses it by name
                return name
        ids = named_as(self.names, INSTANCE)
        candidates = [name for name in self.names if name not in ids and not is_written_index(name)]
        if len(candidates) == 1 and self.is_list(candidates[0]):
            return candidates[0]
        return None

    def find_value(
        self, columns: list[Column], instance: Column | None, label: Column, lists: bool = False
    ) -> Column | None:
        """Return the column of judgements or scores, if any."""
        judgements = list[Column]()
        if self.is_truth:
            judgements = self._judgements(columns, instance, label)
        scores = self._scores(columns, lists)
        if lists and (self.is_truth or self.is_list is None):
            is_list = self.is_list or self.lists_scores or (lambda name: False)
            scores = [name for name in scores if not named_as([name], ("score",)) or is_list(name)]
        return only_one(judgements or scores)

    def find_numbered_value(self, *, is_certain: bool) -> Column | None:
        """Return the column of judgements or scores next to a query, if any.

        ``is_certain`` is whether the caller says that no column has labels.
        """
        if self.is_truth:
            return self._numbered_judgement(is_certain)
        for usual in (SCORE_COLUMNS, SECOND_SCORE_COLUMNS, NUMBERED_SCORES):
            columns = named_as(self.names, usual)
            if columns:
                return only_one(columns)
        return None

    def _numbered_judgement(self, is_certain: bool) -> Column | None:
        """Return the column of judgements next to a query, if any.

        A column named like scores has them only if the caller says that no column has labels, and
        nothing else is next to the query.
        """
        columns = named_as(self.names, (*JUDGEMENT, *NUMBERED_JUDGEMENT))
        if not columns and is_certain:
            columns = named_as(self.names, JUDGEMENT_WITHOUT_LABELS)
        if not columns and is_certain:
            others = [name for name in self.names if not named_as([name], INSTANCE)]
            scores = named_as(others, SCORE_COLUMNS)
            columns = scores if len(scores) == len(others) else []
        return only_one(columns)

    def _judgements(
        self, columns: list[Column], instance: Column | None, label: Column
    ) -> list[Column]:
        """Return the columns named like judgements, or `label` next to a query and a document."""
        judgements = named_as(columns, JUDGEMENT)
        if not judgements and named_as([instance], QUERY) and named_as([label], DOCUMENT):
            return named_as(columns, (LABEL_COLUMN,))
        return judgements

    def _scores(self, columns: list[Column], lists: bool) -> list[Column]:
        """Return the columns named like scores, but not the scores of predictions in a truth."""
        if lists and self.is_truth and self.lists_named(PRED):
            return []
        scores = named_as(columns, SCORE_COLUMNS)
        if not (scores or lists or self.is_truth):
            return named_as(columns, SECOND_SCORE_COLUMNS)
        return scores


def _find_users_and_items(columns: Iterable[object]) -> tuple[str, str] | None:
    """Return the columns of users and of items if a table has both, None otherwise."""
    plain = {re.sub(r"[_\- ]", "", name.lower()): name for name in columns if isinstance(name, str)}
    users = [name for key, name in plain.items() if key in USERS]
    items = [name for key, name in plain.items() if key in ITEMS]
    if users and items:
        return users[0], items[0]
    return None


def named_as(columns: Iterable[Column], usual: Sequence[str]) -> list[Column]:
    """Return the columns that have one of the usual names, in any case."""
    return [name for name in columns if isinstance(name, str) and name.lower() in usual]


def find_instance(columns: Sequence[Column]) -> Column | None:
    """Return the column that names the rows, if any."""
    instance = only_one(named_as(columns, OWN_INSTANCE))
    if instance is None:
        return only_one(named_as(columns, INSTANCE))
    return instance


def only_one(columns: Sequence[Column]) -> Column | None:
    """Return the only column, None without any, or refuse several."""
    return _one_of(columns) if columns else None


def _one_of(columns: Sequence[Column]) -> Column:
    """Return the only column, or refuse several."""
    if len({*columns}) > 1:
        raise ColumnsError(f"columns {' and '.join(map(shown, columns))} may both be meant")
    return columns[0]


def is_named_as_ids(column: object) -> bool:
    """Return whether a column is named like ids, such as `product_id`, or like items."""
    if not isinstance(column, str):
        return False
    name = column.lower()
    return ID_NAME.search(name) is not None or re.sub(r"[_\- ]", "", name) in ITEMS


def refuse_users_and_items(columns: Iterable[object], how: Callable[[str, str], object]) -> None:
    """Refuse a table with columns of users and of items; ``how`` returns how to read them."""
    pair = _find_users_and_items(columns)
    if pair is not None:
        user, item = pair
        text = f"columns {user!r} and {item!r} look like a row for each label; "
        raise ColumnsError(Message(text, how(user, item)))


def is_written_index(column: object) -> bool:
    """Tell whether a column is named like an index that pandas wrote."""
    return isinstance(column, str) and WRITTEN_INDEX.fullmatch(column.strip().lower()) is not None


def hashed(cells: Iterable[object]) -> array[int]:
    """Return the hashes of the texts of cells, to recognize the same cells in another order."""
    return array("q", [hash(str(cell)) for cell in cells])


def is_other_order(hashes: array[int], expected: array[int]) -> bool:
    """Tell whether hashes are distinct, and the expected ones in another order."""
    if hashes == expected or len({*hashes}) < len(hashes):
        return False
    return sorted(hashes) == sorted(expected)
