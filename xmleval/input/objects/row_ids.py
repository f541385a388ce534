"""Match rows of frames by columns of ids, and refuse rows whose other columns show another order."""

from __future__ import annotations

from xmleval.input.columns import is_other_order, is_written_index
from xmleval.input.errors import InputError
from xmleval.input.objects.named import BY_INDEX, BY_KEY, NamedInput, Wide, as_list, matched_by_ids


def joined_by_ids(held: dict[str, NamedInput], notes: list[str]) -> dict[str, NamedInput]:
    """Return rows matched by their columns of ids if both the truth and a prediction have row keys.

    An index counts as row keys unless it only numbers the rows. What is matched or ignored is added to
    ``notes``.
    """
    ids = {argument: rows.others.keyed for argument, rows in held.items() if rows.others is not None}
    ids = {argument: name for argument, name in ids.items() if name is not None}
    found = dict(held)
    if "y_true" not in held:
        with_names: list[str] = []
    else:
        truth = matched_by_ids(held["y_true"])
        others = {argument: matched_by_ids(rows) for argument, rows in held.items() if argument != "y_true"}
        with_names = [argument for argument, rows in others.items() if _have_names(rows, truth)]
        if with_names:
            found |= {"y_true": truth} | {argument: others[argument] for argument in with_names}
    for argument in with_names:
        if (name := ids.get(argument, ids.get("y_true"))) is not None:
            notes.append(f"{argument}: rows are matched by column {name!r}")
    for argument, name in ids.items():
        if argument not in with_names and (argument != "y_true" or not with_names):
            other = "y_true has" if argument != "y_true" else "predictions have"
            notes.append(
                f"{argument}: column {name!r} is left out; {other} no ids of rows, so they are in order"
            )
    return found


def _have_names(rows: NamedInput, truth: NamedInput) -> bool:
    """Tell whether rows and those of the truth can be matched by key; one side may have an index instead."""
    keys, true_keys = rows.keys, truth.keys
    if keys is None or true_keys is None or BY_KEY not in (rows.match, truth.match):
        return False
    if rows.match == truth.match:
        return True
    index, ids = (keys, true_keys) if rows.match == BY_INDEX else (true_keys, keys)
    if index == [*range(len(index))]:
        return {*index} == {*ids}
    return {*index} <= {*ids} or {*index} >= {*ids}


def notes_on_indexes(held: dict[str, NamedInput]) -> list[str]:
    """Return a note on each column of a wide frame that is ignored as an index."""
    return [
        f"{argument}: column {name!r} is left out, as an index that pandas wrote"
        for argument, rows in held.items()
        if isinstance(rows, Wide)
        for name in rows.others.names
        if is_written_index(name)
    ]


def refuse_other_order_of(argument: str, rows: NamedInput | None, truth: NamedInput | None) -> None:
    """Refuse rows in order where a column has the truth's values, each once, in another order."""
    if rows is None or truth is None or rows.others is None or truth.others is None:
        return
    for name in rows.others.names:
        if name not in truth.others.names:
            continue
        values, true_values = as_list(rows.others.column(name)), as_list(truth.others.column(name))
        if is_other_order(values or [], true_values or []):
            raise InputError(
                argument,
                f"column {name!r} has the values of y_true's in another order; rename it to 'instance' where "
                "it names the rows, or bring them in the same order",
            )
