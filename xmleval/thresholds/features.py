"""Files of features of rows, which a rule may read instead of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from xmleval.base.budget import memory_limit
from xmleval.base.errors import counted, naming_files
from xmleval.files.archive import read_arrays
from xmleval.files.remote import as_path
from xmleval.input.argument_types import FilePath
from xmleval.input.formats.arrays import open_array, open_npz, read_matrix
from xmleval.input.formats.format import naming
from xmleval.view.linear import check_features

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEATURE_BYTES = 100  # memory per feature while weights are fitted
FEATURES = "features, an .npy array of shape (instances, features) or a SciPy sparse matrix (.npz)"


def read_features(features: FilePath) -> csr_array | NDArray[Any]:
    """Return features of rows from a file, checked if they are sparse."""
    path = as_path(features)
    if path.name.endswith(".npy"):
        array = open_array(path, FEATURES)
        with naming(path, FEATURES):
            memory_limit().take(array.n_bytes)
            return read_arrays([array])[0]
    matrix = read_matrix(open_npz(path))
    n_rows, n_features = matrix.shape
    purpose = f"{path}: fitting {counted(n_features, 'features')} "
    memory_limit().check(FEATURE_BYTES * n_features, purpose)
    with naming_files({"features": path}):
        return check_features(matrix, n_rows)
