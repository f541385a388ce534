"""Merge parts: in a tree on workers, and the last few where the values are computed."""

from __future__ import annotations

from collections.abc import Sequence

from xmleval.base.errors import counted
from xmleval.cluster import cutting
from xmleval.cluster.counting import Part, put, restored_part
from xmleval.cluster.job import Job, opened
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.spans import COMMON


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
        for part in parts:
            add(job, whole, part)
        return whole

    return put(merged, path)


def groups(n: int) -> list[range]:
    """Return which of n parts in the order of their rows are merged at a time."""
    return [range(start, min(start + cutting.FAN_IN, n)) for start in range(0, n, cutting.FAN_IN)]


def add(job: Job, whole: Evaluator, part: Part) -> None:
    """Add a part to the evaluator of others."""
    whole.merge(restored_part(job, part))


def expect_rows(whole: Evaluator, first_row: int, n_rows: int) -> None:
    """Raise ValueError if rows are missing."""
    rows = whole.counted.spans.get(COMMON, ())
    if rows != ((first_row, first_row + n_rows),) and n_rows:
        start = next((stop for first, stop in rows if first == first_row), first_row)
        raise ValueError(
            f"rows from {start} on were not counted: {whole.n_rows} of {counted(n_rows, 'rows')}"
        )
