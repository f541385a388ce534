"""Judgements and runs in one JSON object, {instance: {label: value}}, as BEIR, MTEB and ranx write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xmleval.budget import OverLimitError
from xmleval.files.saved import parse_json
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.label_cells import number_of
from xmleval.input.lines import read_at_once, shown
from xmleval.input.rows import FileNotes, Rows, rows_in_batches

EXPECTED = "one JSON object of objects, {instance: {label: relevance or score}}"


def batches(path: Path, kind: str) -> Iterator[Rows]:
    """Yield the rows of judgements, which are integers unless grades are asked for, or of scores."""
    with naming(path, EXPECTED):
        yield from rows_in_batches(_entries(path, kind), FileNotes("row"))


def _entries(path: Path, kind: str) -> Iterator[tuple[str, list[str], list[float], int]]:
    try:
        objects = parse_json(read_at_once(path).decode())
    except OverLimitError:
        raise
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(objects, dict):
        several = "; of a list of documents, write one a line (.jsonl)" * isinstance(objects, list)
        raise ValueError(f"a JSON {type(objects).__name__}{several}")
    for place, (row, labels) in enumerate(objects.items()):
        if not isinstance(labels, dict):
            raise ValueError(f"instance {shown(row)}: {shown(str(labels))} is no object")
        try:
            yield row, [*labels], [number_of(value, kind) for value in labels.values()], place
        except ValueError as error:
            raise ValueError(f"instance {shown(row)}: {error}") from None


JSON = Format(
    name="json",
    title="JSON object of judgements or of scores",
    files="NAME.json or NAME.json.gz",
    extensions=(".json", ".json.gz"),
    rows=batches,
)
