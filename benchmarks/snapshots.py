"""Results of evaluators, to the last bit, and where exceptions came from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import traceback
from pathlib import Path
from typing import Any

import xmleval
from xmleval import Evaluator

PACKAGE = str(Path(xmleval.__file__).parent)
Snapshot = tuple[str, ...]


def snapshot(evaluator: Evaluator) -> Snapshot:
    """Return all results of an evaluator, to the last bit."""
    return printed(evaluator.compute()) if evaluator.n_rows else ()


def printed(report: Any) -> Snapshot:
    """Return the contents of a report."""
    found: list[str] = [report.to_json()]
    for values in (report.per_row, report.per_label):
        with contextlib.suppress(ValueError):  # not kept
            found += [hashlib.sha256(column.tobytes()).hexdigest() for column in values().values()]
    return tuple(found)


def difference(found: Snapshot, expected: Snapshot) -> str:
    """Return the names of differing values."""
    if not found or not expected:
        return "rows" if found else "no rows"
    both = json.loads(found[0]), json.loads(expected[0])
    names = ", ".join(key for key in both[0] if both[0][key] != both[1].get(key))
    return f"differs: {names or 'values of rows or labels'}"


def described(error: BaseException) -> str:
    """Return an exception and the last places it came from."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = "; ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return f"{type(error).__name__}: {str(error)[:200]} ({places})"


def comes_from_package(error: BaseException) -> bool:
    """Return whether an exception was raised inside the package."""
    return any(
        frame.f_code.co_filename.startswith(PACKAGE) for frame, _ in traceback.walk_tb(error.__traceback__)
    )
