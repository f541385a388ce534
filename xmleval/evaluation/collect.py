"""What is fitted to files, or counted of a truth alone: rows collected as they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from xmleval.base.budget import Resources, limited, memory_limit
from xmleval.base.errors import counted
from xmleval.evaluation.files import Run, open_run, resources_of
from xmleval.evaluation.inputs import refuse_many_labels
from xmleval.evaluation.reading import count_rows, naming_files, progress
from xmleval.evaluation.settings import FileOptions, refuse_unknown
from xmleval.files.archive import read_arrays
from xmleval.files.remote import as_path, is_file
from xmleval.input.formats.arrays import open_array, open_npz, read_matrix
from xmleval.input.formats.format import naming
from xmleval.view.linear import check_features

T = TypeVar("T")
FITTED = ("n_labels", "labels", "sample_weight", "y_train", "memory", "threads")  # as of `evaluate`
FEATURE_BYTES = 100  # of a feature, while its weight is found
FEATURES = "features, an .npy array of shape (instances, features) or a SciPy sparse matrix (.npz)"


def collect(
    y_true: Any, y_score: Any, make: Callable[[int, Resources], T], options: Mapping[str, Any]
) -> tuple[T, Run]:
    """Return what takes rows, made for a number of labels, with the rows of files; and what was opened.

    Scores may be None, where the truth alone is counted.
    """
    refuse_unknown(options, (*FileOptions.__annotations__, *FITTED))
    arguments: Any = {**options, "y_true": y_true}
    models = {} if y_score is None else {"y_score": y_score}
    resources = resources_of(arguments)
    limit = resources.limit()
    with limited(limit):
        run = open_run(arguments, models, resources, limit, fits=True)
        refuse_many_labels(run.rows.truth[0], run.widths[0])
        collected = make(run.widths[0], resources.evaluator(1))
        with progress(run.rows.truth[1].n_rows, 0, options.get("progress", False)) as show:
            for n_rows in count_rows([collected], run.rows, resources):
                show(n_rows)
    return collected, run


def read_features(features: Any) -> Any:
    """Return features of rows from a file, checked if they are sparse; others as they are."""
    if not is_file(features):
        return features
    path = as_path(features)
    if path.name.endswith(".npy"):
        array = open_array(path, FEATURES)
        with naming(path, FEATURES):
            memory_limit().take(array.n_bytes)
            return read_arrays([array])[0]
    matrix = read_matrix(open_npz(path))
    n_features = matrix.shape[1]
    memory_limit().check(FEATURE_BYTES * n_features, f"{path}: fitting {counted(n_features, 'features')} ")
    with naming_files({"features": path}):
        return check_features(matrix, matrix.shape[0])
