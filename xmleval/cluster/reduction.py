"""Merge parts in a tree, and finish the last one."""

from __future__ import annotations

from collections.abc import Sequence

from xmleval.cluster.counting import Part, compiling, put, restored_part
from xmleval.cluster.job import Job, opened
from xmleval.evaluator import Evaluator
from xmleval.message import counted

FAN_IN = 8  # parts that are merged at a time


def merge(job: Job, parts: Sequence[Part], path: str | None = None) -> Part:
    """Return the sum of parts, or the first error among them; rows that two of them hold are refused.

    Parameters
    ----------
    job : Job
        What is counted.
    parts : sequence of Part
        Parts of other rows each; they are unchanged.
    path : str, optional
        File to put the sum into; then it is returned in place of it.
    """
    failed = next((part for part in parts if part.get("error") is not None), None)
    if failed is not None:
        return failed

    def merged() -> Evaluator:
        whole = opened(job)
        with compiling("merge"):
            for part in parts:
                whole.merge(restored_part(job, part))
        return whole

    return put(merged, path)


def groups(n: int) -> list[range]:
    """Return which of n parts in the order of their rows are merged at a time."""
    return [range(start, min(start + FAN_IN, n)) for start in range(0, n, FAN_IN)]


def finish(job: Job, part: Part, n_rows: int) -> Evaluator:
    """Return the evaluator that has counted all rows.

    Raises
    ------
    ValueError
        The error of the part, if it has one, or if rows are missing.
    """
    if part.get("error") is not None:
        raise part["error"]
    found = restored_part(job, part)
    spans = found.counts().meta["spans"]
    rows = spans.get("", ())
    if rows != ((0, n_rows),) and n_rows:
        start = next((stop for first, stop in rows if first == 0), 0)
        raise ValueError(
            f"rows from {start} on were not counted: {found.n_rows} of {counted(n_rows, 'rows')}"
        )
    return found
