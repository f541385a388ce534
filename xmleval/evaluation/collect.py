"""What is fitted to rows, or counted of a truth alone: rows of arrays, or of files as they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from xmleval.base.budget import MEMORY, Resources, check_resources
from xmleval.evaluation.settings import FileOptions, refuse_unknown
from xmleval.files.remote import is_file
from xmleval.input.objects.take import take
from xmleval.input.sets import set_rows
from xmleval.input.vectors import of_rows

if TYPE_CHECKING:
    from xmleval.evaluation.files import Run

FITTED = ("n_labels", "labels", "sample_weight", "y_train", "memory", "threads")  # as of `evaluate`


class Collected(NamedTuple):
    """What took rows: the names of their labels, notes, and what was opened where there are files."""

    rows: Any
    label_names: list[Any] | None
    notes: Sequence[str]
    opened: Run | None = None


def collect(
    y_true: Any, y_score: Any, make: Callable[[int, Resources], Any], options: Mapping[str, Any]
) -> Collected:
    """Give rows, of arrays or files, to what ``make`` returns for a number of labels.

    Scores may be None, where the truth alone is counted. ``options`` are those of `evaluate` in `FITTED`, and
    how files are read.
    """
    refuse_unknown(options, (*FileOptions.__annotations__, *FITTED))
    labels, weight = options.get("labels"), options.get("sample_weight")
    reads_files = not options.keys().isdisjoint(FileOptions.__annotations__)
    if reads_files or any(map(is_file, (y_true, y_score, labels, weight, options.get("y_train")))):
        from xmleval.evaluation.files import collect_files  # imports all formats

        rows, run = collect_files(y_true, y_score, make, options)
        return Collected(rows, run.rows.label_names, run.rows.matches[0].notes, run)
    resources = check_resources(options.get("memory", MEMORY), options.get("threads"))
    matched = take(y_true, y_score, None, options.get("n_labels"), labels, fits=True)
    y_true, y_score, _ = matched.inputs
    truth = set_rows("y_true", y_true, matched.n_labels)
    rows = make(truth.n_labels, resources)
    weights = {} if weight is None else {"sample_weight": of_rows("sample_weight", weight, matched.row_names)}
    rows.update(truth, y_score, **weights)
    return Collected(rows, matched.label_names, matched.notes)
