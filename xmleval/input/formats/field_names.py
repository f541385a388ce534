"""Roles of the fields of documents and tables, by the options that name them or by usual names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xmleval.base.errors import Message, ScanField, shown
from xmleval.input.columns import (
    NUMBERED,
    PRED,
    ChosenColumns,
    ColumnsError,
    DecidingColumnError,
    NoJudgementsError,
    NoLabelsError,
    TableColumns,
    choose_columns,
    named_as,
    refuse_labels_as_row_values,
    without_row_values,
)
from xmleval.input.formats.format import Fields
from xmleval.input.numbered_labels import LabelCounter, notes_on_numbered
from xmleval.input.rows import Origin


def choose_fields(
    names: Sequence[str],
    kind: str,
    fields: Fields,
    facts: Origin,
    *,
    is_list: Callable[[str], bool] | None = None,
    lists_scores: Callable[[str], bool] | None = None,
    are_entries: bool = False,
    repeats: Callable[[str], bool] | None = None,
) -> TableColumns[str]:
    """Return the roles of fields, by options, names and contents.

    ``is_list``, ``lists_scores`` and ``repeats`` are those of `choose_columns`. ``are_entries`` is
    whether there is a row for each label in the field that an option names.
    """
    is_scores = kind == "scores"
    chosen = _fields_of_options(names, fields, is_scores, are_entries)
    if not is_scores and fields.row_values:
        refuse_labels_as_row_values(names, fields.row_values, is_list, chosen)
    if not is_scores:  # those of predictions may have scores by another column's name
        names = without_values_of_rows(names, fields)
    choose = partial(
        choose_columns,
        names,
        kind,
        is_list,
        joined=fields.joined,
        lists_scores=lists_scores,
        repeats=repeats,
    )
    try:
        columns = _choose_judged(choose, chosen, None if is_scores else fields.score, names)
    except (NoLabelsError, NoJudgementsError) as error:
        raise type(error)(Message(f"{error}; ", *_naming_fields(kind))) from None
    except ColumnsError as error:
        raise ColumnsError(Message(f"{error}; ", *_naming_fields(kind))) from None
    if columns.are_numbered:
        facts.counter = facts.counter or LabelCounter()
        facts.notes += [
            note for note in notes_on_numbered(columns, kind) if note not in facts.notes
        ]
    elif fields.beside_truth and chosen.label is None and not named_as([columns.label], PRED):
        message = f"{shown(columns.label)} has the labels of the truth; give "
        option = ScanField("scores_label_field")
        raise ColumnsError(Message(message, option, ", the field of predicted labels"))
    if is_scores:
        return columns
    return _with_judgements(columns, names, fields, facts)


def _fields_of_options(
    names: Sequence[str], fields: Fields, is_scores: bool, are_entries: bool
) -> ChosenColumns[str]:
    """Return the roles that options give to fields."""
    if not is_scores:
        return ChosenColumns(fields.id, fields.true, None, are_entries)
    has_scores = fields.score in names or not fields.score_of_truth
    score = fields.score if has_scores else None
    return ChosenColumns(fields.id, fields.pred, score, are_entries)


def _choose_judged(
    choose: Callable[[ChosenColumns[str]], TableColumns[str]],
    chosen: ChosenColumns[str],
    judgement: str | None,
    names: Sequence[str],
) -> TableColumns[str]:
    """Return the roles of fields; where labels are numbered, an option may name the judgements."""
    judged = chosen
    if judgement in names:
        judged = chosen._replace(value=judgement)
    if chosen.label == NUMBERED:
        return choose(judged)
    try:
        return choose(chosen)
    except (NoLabelsError, NoJudgementsError):
        if judged == chosen:
            raise
        return choose(judged)


def _with_judgements(
    columns: TableColumns[str], names: Sequence[str], fields: Fields, facts: Origin
) -> TableColumns[str]:
    """Return the roles of a truth's fields; that of scores judges labels unless it is another's."""
    if columns.value is not None or fields.score not in columns.unused:
        return columns
    if columns.lists and (fields.pred in names or named_as(names, PRED)):
        return columns  # the field has the scores of predictions
    facts.judged_by = fields.score
    return columns._replace(
        value=fields.score, unused=[name for name in columns.unused if name != fields.score]
    )


def without_values_of_rows(names: Sequence[str], fields: Fields) -> list[str]:
    """Return the fields that may have a role other than that of values of rows.

    A field that an option names as labels, scores or ids has that role, too.
    """
    named = (fields.true, fields.pred, fields.score, fields.id)
    return without_row_values(names, [name for name in fields.row_values if name not in named])


def label_field(kind: str, name: str = "") -> ScanField:
    """Return the option that names the field of labels of a truth, or of scores."""
    return ScanField("scores_label_field" if kind == "scores" else "label_field", name)


def naming_labels(error: DecidingColumnError, kind: str) -> Message:
    """Return an error about a column that may have the labels, with the option that names it."""
    option = label_field(kind, str(error.labels))
    return Message(f"{error}, or give ", option, "; if not, leave it out")


def _naming_fields(kind: str) -> list[object]:
    """Return the parts of a message on the options that name fields."""
    label = label_field(kind)
    score = ScanField("score_field")
    instance = ScanField("instance_field")
    return ["name the column with ", label, ", ", score, " or ", instance]
