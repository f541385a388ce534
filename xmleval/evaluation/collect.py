"""What is fitted to files, or counted of a truth alone: rows collected as they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from xmleval.budget import Resources, limited, memory_limit
from xmleval.errors import counted
from xmleval.evaluation.beside import with_values_of_rows
from xmleval.evaluation.files import Opening, open_inputs, resources_of
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
) -> tuple[T, Opening]:
    """Return what takes rows, made for a number of labels, with the rows of files; and what was opened.

    Scores may be None, where the truth alone is counted.
    """
    refuse_unknown(options, (*FileOptions.__annotations__, *FITTED))
    arguments: Any = {**options, "y_true": y_true}
    models = {} if y_score is None else {"y_score": y_score}
    resources = resources_of(arguments)
    with limited(resources.limit()):
        opening = open_inputs(arguments, models, resources, fits=True)
        rows = with_values_of_rows(opening.rows, arguments)
        refuse_many_labels(rows.truth[0], opening.widths[0])
        collected = make(opening.widths[0], resources.evaluator(1))
        with progress(rows.truth[1].n_rows, 0, options.get("progress", False)) as show:
            count_rows([collected], rows, resources, 0, show)
    return collected, opening


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
