"""One number per label: inverse propensities from a file."""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.remote import as_path
from xmleval.input.formats.format import naming
from xmleval.input.formats.npy import open_array
from xmleval.input.lines import shown
from xmleval.input.text_columns import text_columns
from xmleval.numerals import decimal_number

EXPECTED = "one inverse propensity per label, as an .npy vector or as text, one number a line"

NUMBER_BYTES = 24  # of memory for a number, with the copies that are made of it


def read_inverse_propensity(path: str | os.PathLike[str]) -> NDArray[Any]:
    r"""Read inverse propensities from a file.

    Parameters
    ----------
    path : path
        A vector in an .npy file, or a text with one number on each line, packed by gzip or not.

    Returns
    -------
    array of shape (l,)
        What `xmleval.evaluate` takes as ``inverse_propensity``; it checks the values.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it holds anything else, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from xmleval.io import read_inverse_propensity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "inv_prop.txt"
    ...     _ = path.write_text("12.46\n9.65\n")
    ...     read_inverse_propensity(path).tolist()
    [12.46, 9.65]
    """
    return load_inverse_propensity(as_path(path), UNLIMITED)


def load_inverse_propensity(path: Path, allowance: Allowance) -> NDArray[Any]:
    """Read inverse propensities within an allowance of memory."""
    if path.name.lower().endswith(".npy"):
        vector = open_array(path, EXPECTED)
        with naming(path, EXPECTED):
            (shape,) = (array.shape for array in vector.arrays)
            if len(shape) != 1:
                raise ValueError(f"an array of shape {shape}")
            allowance.take(NUMBER_BYTES * shape[0])
            return vector.file.read("")[0]
    numbers = array("d")
    with naming(path, EXPECTED):
        for number, (text,) in text_columns(path, allowance, NUMBER_BYTES):
            value = decimal_number(text)
            if value is None:
                raise ValueError(f"line {number}: {shown(text)} is not a number")
            numbers.append(value)
        allowance.take(NUMBER_BYTES * len(numbers))
    return np.asarray(numbers)
