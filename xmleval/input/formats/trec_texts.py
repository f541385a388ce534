"""Texts whose first lines are those of TREC's or MS MARCO's qrels and runs, whatever their names."""

from __future__ import annotations

from pathlib import Path

from xmleval.input.formats.label_lines import first_lines
from xmleval.numerals import decimal_number, whole_number

TEXTS = tuple(ending + packed for ending in (".txt", ".tsv", ".trec") for packed in ("", ".gz"))
N_FIRST_LINES = 100  # lines that tell what a text is


def claims_qrels(path: Path, kind: str | None) -> bool:
    """Tell by its first lines whether a text holds qrels, MS MARCO's among them.

    All have four fields, the last of which is an integer and the second 0; or an integer, by the file's name.
    """
    lines = first_fields(path)
    is_named = "qrel" in path.name.lower()
    return len(lines) > (not is_named) and all(
        len(fields) == 4
        and (fields[1] in ("0", "Q0") or (is_named and whole_number(fields[1]) is not None))
        and whole_number(fields[3]) is not None
        for fields in lines
    )


def claims_run(path: Path, kind: str | None) -> bool:
    """Tell by its first lines whether a text holds a run: of TREC, or of MS MARCO, without scores."""
    lines = first_fields(path)
    if are_ranks(path, lines):
        return True
    is_named = "run" in path.name.lower()
    return bool(lines) and all(
        len(fields) == 6
        and (is_named or fields[1].lower() == "q0")
        and whole_number(fields[3]) is not None
        and decimal_number(fields[4]) is not None
        for fields in lines
    )


def first_fields(path: Path) -> list[list[str]]:
    """Return the fields of the first lines of a text whose name does not tell its format."""
    if not path.name.lower().endswith(TEXTS):
        return []
    try:
        filled = [line for line in first_lines(path) if line.strip()][:N_FIRST_LINES]
    except (OSError, ValueError):
        return []  # which another reader says
    return [line.decode("utf-8", "replace").split() for line in filled]


def are_ranks(path: Path, lines: list[list[str]]) -> bool:
    """Tell whether lines of a .tsv have an instance, a label and its rank, from 1 up in each instance."""
    if not path.name.lower().endswith((".tsv", ".tsv.gz")):
        return False
    last: dict[str, int] = {}
    for fields in lines:
        rank = whole_number(fields[2]) if len(fields) == 3 else None
        if rank is None or rank != last.get(fields[0], 0) + 1:
            return False
        last[fields[0]] = rank
    return bool(last)
