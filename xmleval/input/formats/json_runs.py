"""Judgements and runs in one JSON object, {instance: {label: value}}, as BEIR, MTEB and ranx write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmleval.budget import memory_limit
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.label_cells import VALUE_BYTES, json_value, number_of
from xmleval.input.lines import read_at_once, shown
from xmleval.input.rows import Batch, FileNotes, Rows

EXPECTED = "one JSON object of objects, {instance: {label: relevance or score}}"


def batches(path: Path, kind: str) -> Iterator[Rows]:
    """Yield the rows of judgements, which are integers unless grades are asked for, or of scores."""
    with naming(path, EXPECTED):
        batch = Batch(FileNotes("row"))
        for place, (row, labels) in enumerate(_objects(path).items()):
            if not isinstance(labels, dict):
                raise ValueError(f"instance {shown(row)}: {shown(str(labels))} is no object")
            try:
                values = [number_of(value, kind) for value in labels.values()]
            except ValueError as error:
                raise ValueError(f"instance {shown(row)}: {error}") from None
            batch.add(row, [*labels], values, place)
            if batch.is_full:
                yield batch.rows()
        yield batch.rows()


def _objects(path: Path) -> dict[str, Any]:
    held = read_at_once(path)
    memory_limit().check(3 * len(held) + VALUE_BYTES * sum(map(held.count, (b",", b":", b"[", b"{"))))
    try:
        objects = json_value(held.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(objects, dict):
        several = "; of a list of documents, write one a line (.jsonl)" * isinstance(objects, list)
        raise ValueError(f"a JSON {type(objects).__name__}{several}")
    return objects


JSON = Format(
    name="json",
    title="JSON object of judgements or of scores",
    files="NAME.json or NAME.json.gz",
    extensions=(".json", ".json.gz"),
    rows=batches,
)
