"""Judgements and runs in one JSON object, {instance: {label: value}}, as BEIR, MTEB and ranx write them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from xmleval.budget import Allowance
from xmleval.input.formats.format import Format, NamedReaders, naming
from xmleval.input.formats.label_cells import VALUE_BYTES, json_value
from xmleval.input.lines import read_json, shown
from xmleval.input.names import CHECKED_BYTES, ENTRY_BYTES, LIKE_A_SCORE, Gathering, Named

EXPECTED = "one JSON object of objects, {instance: {label: relevance or score}}"
RELEVANCE = "relevance, an integer"
MOST_RELEVANCE = 1 << 62


def truth_within(path: Path, labels: list[str] | None, allowance: Allowance) -> Named:
    """Read relevant labels: those with a positive relevance."""
    return _gather(path, RELEVANCE, Gathering(None, labels), allowance)


def grades_within(path: Path, labels: list[str] | None, allowance: Allowance) -> Named:
    """Read judged labels with their grades."""
    return _gather(path, "grade", Gathering(None, labels, True), allowance)


def scores_within(path: Path, like: Named | list[str], allowance: Allowance) -> Named:
    """Read scores, brought in line with a truth or with labels alone."""
    return _gather(path, "score", Gathering(like), allowance)


def _gather(path: Path, what: str, entries: Gathering, allowance: Allowance) -> Named:
    n_bytes = place = 0
    with naming(path, EXPECTED):
        for row, labels in _objects(path, allowance).items():
            if not isinstance(labels, dict):
                raise ValueError(f"instance {shown(row)}: {shown(json.dumps(labels)[:80])} is no object")
            entries.add_row(row)
            for label, value in labels.items():
                if not _is_value(value, what != RELEVANCE):
                    told = shown(value) if isinstance(value, str) else json.dumps(value)[:40]
                    hint = f"; {LIKE_A_SCORE}" if what == RELEVANCE and type(value) is float else ""
                    raise ValueError(f"instance {shown(row)}: {told} is no {what}{hint}")
                entries.add(row, label, float(value), place)
            place += 1
            n_bytes += ENTRY_BYTES * (1 + len(labels))
            if n_bytes > CHECKED_BYTES:
                allowance.check(entries.n_bytes)
                n_bytes = 0
        return entries.finish(allowance)


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
    named=NamedReaders(lambda path, kind, allowance: None, truth_within, scores_within, grades=grades_within),
    graded=True,
    by_whole_name=True,
)
