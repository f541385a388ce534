"""Judgements and runs in one JSON object, {instance: {label: value}}, as BEIR, MTEB and ranx write them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmleval.budget import Allowance
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.label_cells import VALUE_BYTES, json_value
from xmleval.input.lines import read_json, shown
from xmleval.input.names import LIKE_A_SCORE
from xmleval.input.rows import Batch, Facts, Rows

EXPECTED = "one JSON object of objects, {instance: {label: relevance or score}}"
RELEVANCE = "relevance, an integer"
MOST_RELEVANCE = 1 << 62


def batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield the rows of judgements, which are integers unless grades are asked for, or of scores."""
    what = {"truth": RELEVANCE, "grades": "grade"}.get(kind, "score")
    with naming(path, EXPECTED):
        batch = Batch(Facts("row"))
        for place, (row, labels) in enumerate(_objects(path, allowance).items()):
            if not isinstance(labels, dict):
                raise ValueError(f"instance {shown(row)}: {shown(json.dumps(labels)[:80])} is no object")
            for value in labels.values():
                if not _is_value(value, kind != "truth"):
                    told = shown(value) if isinstance(value, str) else json.dumps(value)[:40]
                    hint = f"; {LIKE_A_SCORE}" if kind == "truth" and type(value) is float else ""
                    raise ValueError(f"instance {shown(row)}: {told} is no {what}{hint}")
            batch.add(row, [*labels], [*labels.values()], place)
            if batch.is_full:
                yield batch.rows()
        yield batch.rows()


def _is_value(value: Any, is_real: bool) -> bool:
    if type(value) is int:
        return abs(value) < MOST_RELEVANCE
    return is_real and type(value) is float and not math.isnan(value)


def _objects(path: Path, allowance: Allowance) -> dict[str, Any]:
    held = read_json(path, allowance)
    allowance.check(3 * len(held) + VALUE_BYTES * sum(map(held.count, (b",", b":", b"[", b"{"))))
    try:
        found = json_value(held.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not in UTF-8 ({error.reason})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: no JSON ({error.msg})") from None
    except RecursionError:
        raise ValueError("its objects are nested without end") from None
    if not isinstance(found, dict):
        several = "; of a list of documents, write one a line (.jsonl)" * isinstance(found, list)
        raise ValueError(f"a JSON {type(found).__name__}{several}")
    return found


JSON = Format(
    name="json",
    title="JSON object of judgements or of scores",
    files="NAME.json or NAME.json.gz",
    extensions=(".json", ".json.gz"),
    rows=batches,
)
