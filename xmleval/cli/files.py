"""What commands read of files: the format option, limits on labels and features, and features of rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from xmleval.budget import Allowance, OverLimitError
from xmleval.cli.help import Choice
from xmleval.files.archive import read_arrays
from xmleval.input.formats.format import naming
from xmleval.input.formats.npy import dense_pieces, open_array
from xmleval.input.formats.npz import open_npz, read_matrix
from xmleval.input.formats.registry import FORMATS
from xmleval.input.pieces import Pieces
from xmleval.input.shards import Input
from xmleval.message import Message, counted

FORMAT_HELP = "Format of text input files, and of files whose names do not show it."
INPUT_FORMAT = click.option(
    "--input-format", type=Choice([known.name for known in FORMATS]), help=FORMAT_HELP
)
COUNT_BYTES = 16  # of a label, once its counts are added up
FEATURE_BYTES = 100  # of a feature, while its weight is found
FEATURES = "features, an .npy array of shape (instances, features) or a SciPy sparse matrix (.npz)"


def refuse_many_labels(
    name: str, n_labels: int, allowance: Allowance, label_bytes: int = COUNT_BYTES
) -> None:
    """Refuse labels whose counts alone would take more memory than there is."""
    with _refusing(f"{name}: counting {counted(n_labels, 'labels')} "):
        allowance.check(label_bytes * n_labels)


def refuse_many_features(path: Path, n_features: int, allowance: Allowance) -> None:
    """Refuse features whose weights alone would take more memory than may be used."""
    with _refusing(f"{path}: fitting {counted(n_features, 'features')} "):
        allowance.check(FEATURE_BYTES * n_features)


@contextlib.contextmanager
def _refusing(what: str) -> Iterator[None]:
    try:
        yield
    except OverLimitError as error:
        raise ValueError(Message(what, error.args[0])) from None


def read_features(path: Path, allowance: Allowance) -> Any:
    """Return features of rows: a sparse matrix, or an array."""
    if not path.name.endswith(".npy"):
        return read_matrix(open_npz(path), allowance)
    features = open_array(path, FEATURES)
    with naming(path, FEATURES):
        return read_arrays([features], allowance)[0]


def feature_pieces(path: Path, allowance: Allowance) -> Pieces:
    """Return the rows of an array of features."""
    return dense_pieces(open_array(path, FEATURES), FEATURES, allowance)


def refuse_reordered_files(truth: Input, given: Input) -> None:
    """Refuse tables of lists by number of which a column has the values of TRUTH's in another order."""
    if any(shard.format.name != "arrow" for one in (truth, given) for shard in one.shards):
        return
    from xmleval.input.formats.arrow_rows import columns_beside, hash_columns  # only once it is needed

    own, other = ([shard.path for shard in one.shards] for one in (truth, given))
    known = [columns_beside(path, one.kind) for one in (truth, given) for path, _ in one.shards]
    if shared := [name for name in known[0] if all(name in names for names in known)]:
        expected, values = (hash_columns(paths, shared, truth.allowance) for paths in (own, other))
        column = values.in_other_order(expected)
        if column is not None:
            told = f"{given.name}: {column!r} has the values of TRUTH's in another order"
            raise ValueError(f"{told}; call it 'instance' in both to join the rows by it")
