"""The registry of file formats, and the readers that choose among them by a file's name."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import PIECE_BYTES, UNLIMITED
from xmleval.files.input import version_of
from xmleval.files.remote import as_path, is_there
from xmleval.input.errors import InputError
from xmleval.input.formats.arff import ARFF
from xmleval.input.formats.arrow_rows import ARROW
from xmleval.input.formats.documents import CSV, JSONL
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.json_runs import JSON
from xmleval.input.formats.label_lines import LINES
from xmleval.input.formats.npy import DENSE, NPY, PAIRS, is_other_list
from xmleval.input.formats.npz import NPZ
from xmleval.input.formats.svmlight import SVMLIGHT
from xmleval.input.formats.trec import QRELS, RUN
from xmleval.input.formats.xmc import XMC
from xmleval.input.stack import arrays_of, stack_rows
from xmleval.message import Keyword, Message

FORMATS: tuple[Format, ...] = (
    NPZ,
    NPY,
    DENSE,
    XMC,
    SVMLIGHT,
    ARFF,
    QRELS,
    RUN,
    ARROW,
    CSV,
    JSONL,
    JSON,
    LINES,
)


def read_truth(path: str | os.PathLike[str], *, format: str | None = None) -> Any:
    """Read relevant labels, or predicted sets, from a file.

    Parameters
    ----------
    path : path
        File of one of `xmleval.io.FORMATS`, by number.
    format : str, optional
        Name of the format, such as ``"lines"``; default by the file's name.

    Returns
    -------
    sparse array of shape (m, l)
        What `xmleval.evaluate` takes as ``y_true`` or ``y_pred``; it checks the values.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is of no format here, is damaged, or promises more than it holds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import scipy.sparse
    >>> from xmleval.io import read_truth
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "Y_test.npz"
    ...     scipy.sparse.save_npz(path, scipy.sparse.csr_array([[1, 0, 1], [0, 1, 0]]))
    ...     read_truth(path).shape
    (2, 3)
    """
    return _read(as_path(path), "truth", format)


def read_scores(path: str | os.PathLike[str], *, format: str | None = None) -> Any:
    """Read scores or a top-k list from a file.

    Parameters
    ----------
    path : path
        File of one of `xmleval.io.FORMATS`, by number. Either file of a top-k list, ``NAME_indices.npy`` or
        ``NAME_scores.npy``, or ``NAME`` stands for both.
    format : str, optional
        Name of the format, such as ``"lines"``; default by the file's name.

    Returns
    -------
    sparse or dense array of shape (m, l), or (labels, scores) arrays of shape (m, k)
        What `xmleval.evaluate` takes as ``y_score``; it checks the values. Arrays of .npy files are mapped
        into memory, not read: the files must not change while they are in use. The scores of a list without
        scores are None.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If it is of no format here, is damaged, or promises more than it holds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from xmleval.io import read_scores
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "model_indices.npy", np.array([[4, 2], [0, -1]]))
    ...     labels, scores = read_scores(Path(folder) / "model")
    ...     labels.tolist(), scores
    ([[4, 2], [0, -1]], None)
    """
    return _read(as_path(path), "scores", format)


def _read(path: Path, kind: str, name: str | None) -> Any:
    form, path = find_format(path, name, kind)
    if form.whole is not None and kind in form.holds:
        arrays = form.whole(path, kind)
    else:
        pieces = form.read(path, kind, UNLIMITED)
        rows = stack_rows(pieces.read(sys.maxsize if form is NPZ else PIECE_BYTES))
        try:
            arrays = arrays_of(rows, pieces.n_labels or pieces.least_labels)
        except InputError as error:
            raise ValueError(f"{path}: {error.reason}") from None
    if isinstance(arrays, tuple) and arrays[1] is not None and arrays[1].dtype.kind in "iu":
        return arrays[0], arrays[1].astype(np.float64)  # integers may be taken for labels
    return arrays


def find_format(path: Path, name: str | None = None, kind: str | None = None) -> tuple[Format, Path]:
    """Return the format of a file, and the file that a name without ending stands for.

    Parameters
    ----------
    path : Path
        The file; NAME stands for ``NAME_indices.npy``.
    name : str, optional
        Name of the format, for files whose names tell none, or another one of the same container, as all
        texts are. If it cannot hold this kind, its sibling is taken, or what the name tells.
    kind : str, optional
        What is read, such as "truth" or "scores", where formats share an ending.

    Returns
    -------
    format : Format
    path : Path

    Raises
    ------
    ValueError
        If there is no such format, or nothing tells one.
    OSError
        If nothing tells a format, and there is no such file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import find_format
    >>> find_format(Path("news.qrels"))[0].name
    'qrels'
    """
    by_name = {form.name: form for form in FORMATS}
    if name is not None and name not in by_name:
        raise ValueError(Message(Keyword("format", repr(name)), f" is not one of {', '.join(by_name)}"))
    asked = by_name.get(name or "")
    fits = asked is None or kind in (None, "grades", *asked.holds)
    if asked is not None and not fits:
        asked, fits = by_name.get(asked.sibling, asked), bool(asked.sibling)
    endings = ((form, end) for form in FORMATS for end in form.extensions)
    by_ending = next((form for form, end in endings if path.name.lower().endswith(end)), None)
    if kind == "scores" and is_other_list(path):
        by_ending = NPY
    whole = completed(path) if by_ending is None else path
    by_ending = NPY if whole != path else by_ending
    if asked is not None and (by_ending is None or (fits and by_ending.container == asked.container)):
        return asked, whole
    if by_ending is None:
        with naming(path, "a file with its ending, such as NAME.npz"):
            version_of(path)  # which tells if there is no such file
        shown = ", ".join(end for form in FORMATS for end in form.extensions if not end.endswith(".gz"))
        expected = f"expected one that ends in {shown}, or "
        raise ValueError(Message(f"{path}: its name does not tell its format; {expected}", Keyword("format")))
    return by_ending, whole


def completed(path: Path) -> Path:
    """Return the labels of a top-k list where their NAME alone stands for them."""
    names = (path.with_name(path.name + end) for end in PAIRS if path.name)
    return path if is_there(path) and not path.is_dir() else next(filter(is_there, names), path)
