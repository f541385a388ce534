"""Rows of predictions that cannot be those of a truth, by their ids, number or order."""

from __future__ import annotations

from xmleval.input.names import Named
from xmleval.message import NO_MATCH, counted


def refuse_other_rows(like: Named, named: Named, n_listed: int | None, joining: str) -> None:
    """Refuse rows that cannot be those of a truth: one has ids alone, or their number or order differs.

    ``n_listed`` is the number of rows that list their labels, None where there is a row for each label;
    ``joining`` says how to join rows by a column.
    """
    missing = named.n_empty if n_listed is None else len(like.row_names) - n_listed
    if like.by_order and not named.by_order and (named.n_ignored or missing):
        raise ValueError(
            f"ids in it that are not the numbers 0 to {len(like.row_names) - 1} of all rows, and none in "
            "TRUTH; give TRUTH ids, or leave them out where rows are in the same order"
        )
    if not named.by_order:
        return
    refuse_other_order(like, n_listed or 0)
    if named.columns is not None and like.columns is not None:
        column = named.columns.in_other_order(like.columns)
        if column is not None:
            raise ValueError(
                f"{column!r} has the values of TRUTH's in another order; {joining.format(column)}"
            )


def refuse_other_order(like: Named, n_rows: int) -> None:
    """Refuse rows in an order of their own where those of a truth have names, or are not as many."""
    if not like.by_order and like.row_names != [*map(str, range(len(like.row_names)))]:
        raise ValueError("no ids, which TRUTH has; a field 'id', or --id-field, tells them")
    if n_rows != len(like.row_names):
        raise ValueError(f"{counted(n_rows, *NO_MATCH)} the {len(like.row_names)} of TRUTH")
