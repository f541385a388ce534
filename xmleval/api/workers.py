"""Counting by several processes, of this machine or of a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from xmleval.cluster.cutting import cut
from xmleval.cluster.dask import connected
from xmleval.cluster.exchange import Exchange
from xmleval.cluster.job import make_job
from xmleval.cluster.run import leaves_of, run
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.files import Run, reports_of
from xmleval.evaluation.inputs import LOG
from xmleval.evaluation.reading import Progress, naming_files, progress
from xmleval.files.remote import as_path
from xmleval.files.saved import Saved
from xmleval.results.report import Report


def count_on_workers(
    workers: int | None, scheduler: str | None, counting: Run, shown: Progress
) -> list[Report]:
    """Count all rows, and return a report for each evaluator; the evaluators take over the counts."""
    counting.refuse_values("scheduler" if workers is None else "workers")
    arguments, rows, n_rows = counting.arguments, counting.rows, counting.rows.truth[1].n_rows
    pairs = None if rows.pairs is None else (rows.pairs.rows, rows.pairs.labels)
    vectors = {argument: values for argument, (_, values) in rows.of_rows.items()}
    names = {argument: name for argument, (name, _) in rows.of_rows.items()}
    checkpoint, saved = arguments.get("checkpoint"), arguments.get("save") is not None
    sources = counting.sources if saved and rows.first_row is None else {}
    names |= {} if rows.pairs is None else {"exclude": str(rows.pairs.path)}
    exchanges: list[Exchange] = []
    with ExitStack() as opened, naming_files(names):
        plans = []
        for place, evaluator in enumerate(counting.evaluators):
            inputs = {argument: each[place % len(each)] for argument, each in counting.inputs.items() if each}
            job = make_job(evaluator, counting.resources.memory, arguments.get("threads"))
            first_row = rows.first_row or 0
            leaves = leaves_of(cut(job, inputs, vectors, pairs, rows.exclude_from, first_row))
            plans.append((job, leaves))
            if checkpoint is not None:
                exchanges.append(Exchange.of(as_path(checkpoint), [leaf.key for leaf in leaves]))
                n_there = opened.enter_context(exchanges[-1].taken(arguments.get("resume", False)))
                if n_there:
                    LOG.info("%s: resumed with %s parts of %s", checkpoint, n_there, counting.names[place])
        engine = opened.enter_context(connected(scheduler, workers))
        if scheduler is None:  # processes of this machine
            path = Path(opened.enter_context(TemporaryDirectory(prefix="xmleval-")))
            plans = [(job.with_file(path / f"{job.propensity_digest}.npy"), leaves) for job, leaves in plans]
        for place, (job, leaves) in enumerate(plans):
            with progress(n_rows, 0, shown) as show:
                whole = run(engine, job, leaves, exchanges[place] if exchanges else None, show)
            counting.evaluators[place] = _of_files(whole, counting, sources) if sources else whole
        return reports_of(counting)


def _of_files(evaluator: Evaluator, counting: Run, sources: Mapping[str, str]) -> Evaluator:
    """Return an evaluator whose rows are those of the files of the truth, as on one machine."""
    meta, arrays = evaluator.counts(loose=True)
    truth = counting.inputs["y_true"][0]
    sizes = [(sources[str(shard.path)], pieces.n_rows or 0) for shard, pieces in truth.each]
    spans = {source: ((0, n_rows),) for source, n_rows in sizes if n_rows}
    return evaluator.with_counts(Saved({**meta, "spans": spans, "place": sizes[-1]}, arrays))
