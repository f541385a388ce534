"""Counting by several processes, of this machine or of a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from xmleval.cluster.dask import connected
from xmleval.cluster.evaluation import count_on
from xmleval.evaluation.files import Run
from xmleval.evaluation.reading import Progress
from xmleval.results.report import Report


def count_on_workers(
    workers: int | None, scheduler: str | None, opened: Run, shown: Progress
) -> list[Report]:
    """Count all rows, and return a report for each evaluator; the evaluators take over the counts."""
    asking = "scheduler" if workers is None else "workers"
    with TemporaryDirectory(prefix="xmleval-") as folder:
        shared = None if workers is None else Path(folder)
        return count_on(connected(scheduler, workers), asking, opened, shown, shared)
