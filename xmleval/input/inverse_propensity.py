"""One number per label: inverse propensities from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.files.input import InputFile
from xmleval.input.formats.format import naming
from xmleval.input.formats.npy import open_array
from xmleval.input.lines import numbered_lines, shown

EXPECTED = "one inverse propensity per label, as an .npy vector or as text, one number a line"


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
    path = Path(path)
    if path.name.lower().endswith(".npy"):
        vector = open_array(path, EXPECTED)
        with naming(path, EXPECTED):
            if len(vector.shape) != 1:
                raise ValueError(f"an array of shape {vector.shape}")
            return vector.read()
    numbers = []
    blank = 0  # first of the blank lines that nothing may follow
    with naming(path, EXPECTED):
        for number, line in numbered_lines(InputFile(path), "replace"):
            if not line:
                blank = blank or number
                continue
            try:
                if blank:
                    number, line = blank, ""
                numbers.append(float(line))
            except ValueError:
                raise ValueError(f"line {number}: {shown(line)} is not a number") from None
    return np.array(numbers)
