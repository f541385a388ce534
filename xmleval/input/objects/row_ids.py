"""Match rows of frames by columns of ids."""

from __future__ import annotations

from xmleval.input.columns import is_written_index
from xmleval.input.objects.named import NamedInput, matched_by_ids
from xmleval.input.objects.wide import Wide
from xmleval.input.rows import BY_INDEX, BY_KEY


def joined_by_ids(held: dict[str, NamedInput], notes: list[str]) -> dict[str, NamedInput]:
    """Return rows matched by their columns of ids if both the truth and a prediction have row keys.

    An index counts as row keys unless it only numbers the rows. What is matched or ignored is added to
    ``notes``.
    """
    ids = {argument: rows.beside.keyed for argument, rows in held.items() if rows.beside is not None}
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
        for name in rows.beside.names
        if is_written_index(name)
    ]
