"""Label statistics of data sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from xmleval.base.arrays import Ints, row_sizes
from xmleval.base.budget import MEMORY
from xmleval.base.keywords import refusing_unknown
from xmleval.evaluation.batch import Batch
from xmleval.evaluation.evaluator import BatchCounter, Evaluator
from xmleval.evaluation.files import collect
from xmleval.evaluation.request import Data, Progress, Question, Request
from xmleval.input.argument_types import FilePath, RowsLike
from xmleval.kernels.labels import count_entries

TAIL_COUNT = 10  # maximum number of instances of a tail label


@refusing_unknown
def label_statistics(
    y_true: RowsLike,
    y_train: RowsLike | None = None,
    *,
    n_labels: int | None = None,
    labels: Iterable[str | int] | FilePath | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
) -> dict[str, float]:
    """Compute label statistics of a data set.

    Parameters
    ----------
    y_true, y_train, n_labels
        Relevant labels, and training labels over the same label set, as in `evaluate`.
    labels, memory, threads, progress
        As of `evaluate`.

    Returns
    -------
    dict of str to float
        ``n_rows``, ``n_labels``, ``n_stored`` (relevant entries); ``label_cardinality`` (mean
        labels per instance), ``label_density`` (cardinality / l), ``label_diversity`` (distinct
        label sets) and ``proportional_diversity`` (diversity / m) of Zhang & Zhou 2014;
        ``max_labels_per_row``, ``rows_without_labels``; ``points_per_label`` (mean instances per
        label), ``labels_without_rows``, ``tail_share`` (share of occurring labels with at most 10
        instances), ``imbalance`` (mean over occurring labels of the largest label count / the
        label's count; Charte et al. 2015); with ``y_train``, ``labels_unseen_in_training`` (labels
        that occur in ``y_true`` only) and ``stored_unseen_in_training`` (share of relevant entries
        with such a label). Undefined ratios are NaN.

    Examples
    --------
    >>> label_statistics(np.array([[1, 0, 1, 0, 0], [1, 0, 1, 0, 1]]))["label_cardinality"]
    2.5
    """
    request = Request(
        data=Data(y_true=y_true),
        question=Question(y_train=y_train, n_labels=n_labels, labels=labels),
        memory=memory,
        threads=threads,
        progress=progress,
    )
    rows, run = collect(request, lambda n, resources: LabelCounts(n))
    for note in run.rows.notes[0]:
        warnings.warn(note, stacklevel=3)
    n_labels = rows.label_counts.size
    seen = np.flatnonzero(rows.label_counts)
    counts = rows.label_counts[seen]
    n_stored = counts.sum()
    n_seen = counts.size or np.nan
    values = {
        "n_rows": rows.evaluator.n_rows,
        "n_labels": n_labels,
        "n_stored": n_stored,
        **rows.evaluator.compute(),
        "max_labels_per_row": rows.most_labels,
        "rows_without_labels": rows.n_empty,
        "points_per_label": n_stored / n_labels,
        "labels_without_rows": n_labels - counts.size,
        "tail_share": np.count_nonzero(counts <= TAIL_COUNT) / n_seen,
        "imbalance": (counts.max(initial=0) / counts).sum() / n_seen,
    }
    if run.trained:
        unseen = run.trained[0][0][seen] == 0
        values["labels_unseen_in_training"] = np.count_nonzero(unseen)
        values["stored_unseen_in_training"] = counts[unseen].sum() / (n_stored or np.nan)
    return {name: float(value) for name, value in values.items()}


class LabelCounts:
    """Counts of rows so far: the rows of every label, most labels in a row, rows without labels."""

    def __init__(self, n_labels: int) -> None:
        self.evaluator = Evaluator("statistics", n_labels=n_labels)
        self.label_counts: Ints = np.zeros(n_labels, np.int64)
        self.most_labels = 0
        self.n_empty = 0

    def add(self, batch: Batch) -> None:
        """Count the rows of a batch, or refuse them."""
        batch = batch.with_checked_truth(self.evaluator.n_labels)
        BatchCounter(self.evaluator).add(batch)
        for block in batch.truth.blocks():
            count_entries(block.labels, self.label_counts)  # which writes only where labels occur
            sizes = row_sizes(block.ptr)
            self.most_labels = max(self.most_labels, int(sizes.max(initial=0)))
            self.n_empty += int(np.count_nonzero(sizes == 0))
