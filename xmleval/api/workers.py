"""Counting by several processes, of this machine or of a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from xmleval.cluster.evaluation import count_on
from xmleval.cluster.run import processes
from xmleval.evaluation.files import Run
from xmleval.evaluation.reading import Progress
from xmleval.results.report import Report


def count_on_workers(
    workers: int | None, scheduler: str | None, opened: Run, shown: Progress
) -> list[Report]:
    """Count all rows, and return a report for each evaluator; the evaluators take over the counts."""
    if workers is None:
        from xmleval.cluster.dask import connected  # an extra

        assert scheduler is not None
        return count_on(connected(scheduler), "scheduler", opened, shown)
    with TemporaryDirectory(prefix="xmleval-") as folder:
        return count_on(processes(workers), "workers", opened, shown, Path(folder))
