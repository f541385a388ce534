"""The registry of file formats, and the readers that choose among them by a file's name."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.budget import PIECE_BYTES, UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path, is_there
from xmleval.input.errors import InputError
from xmleval.input.formats.arff import ARFF
from xmleval.input.formats.arrow_rows import ARROW
from xmleval.input.formats.documents import CSV, JSONL
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.json_runs import JSON
from xmleval.input.formats.label_lines import LINES
from xmleval.input.formats.npy import DENSE, NPY
from xmleval.input.formats.npz import NPZ
from xmleval.input.formats.svmlight import SVMLIGHT
from xmleval.input.formats.trec import QRELS, RUN
from xmleval.input.formats.xmc import XMC
from xmleval.input.pieces import Pieces
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
        File to read: a sparse matrix as `scipy.sparse.save_npz` writes it; a text file of the Extreme
        Classification Repository, of labels with features or of labels with scores; a multi-label svmlight
        file. Text may be compressed by gzip.
    format : str, optional
        Name of the format, ``"npz"``, ``"xmc"`` or ``"svmlight"``; default by the file's name.

    Returns
    -------
    sparse array of shape (m, l)
        What `xmleval.evaluate` takes as ``y_true`` or ``y_pred``; it checks the values.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not of a known format, is damaged, or promises more than it holds.

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
        A sparse matrix as `scipy.sparse.save_npz` writes it, or a top-k list: ``NAME_indices.npy`` with
        ``NAME_scores.npy`` beside it or not, of which either or ``NAME`` stands for both, or an .npz archive
        of arrays ``indices`` and ``scores``; a dense array ``NAME.npy``, or ``scores`` of an .npz archive; or
        a text file of the Extreme Classification Repository, of labels with scores.
    format : str, optional
        Name of the format, ``"npz"``, ``"npy"`` or ``"xmc"``; default by the file's name.

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
        If it is not of a known format, is damaged, or promises more than it holds.

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
    known, completed = find_format(path, name, kind)
    read = reader_of(known, completed, kind)
    if known.whole is not None:
        found = known.whole(completed, kind)
    else:
        pieces = read(completed, kind, UNLIMITED)
        rows = stack_rows(pieces.read(sys.maxsize if known is NPZ else PIECE_BYTES))
        try:
            found = arrays_of(rows, pieces.n_labels or pieces.least_labels)
        except InputError as error:
            raise ValueError(f"{completed}: {error.reason}") from None
    if isinstance(found, tuple) and found[1] is not None and found[1].dtype.kind in "iu":
        return found[0], found[1].astype(np.float64)  # integers may be taken for labels
    return found


def reader_of(known: Format, path: Path, kind: str) -> Callable[[Path, str, Allowance], Pieces]:
    """Return the reader of rows by number, or refuse a file of a format that does not hold a kind."""
    kind = "scores" if kind == "scores" else "truth"
    if known.pieces is None or kind not in known.kinds:
        raise ValueError(f"{path}: a {known.title} holds no {kind}; expected a {titles_of(kind)}")
    return known.pieces


def find_input_format(path: Path, kind: str | None, name: str | None) -> tuple[Format, Path]:
    """Return the format of one of several inputs, and the file's whole name, as `find_format` does.

    The given format applies to files of the same container and to files whose ending is unknown. If it
    cannot hold this kind, its sibling is tried, then the ending.

    Parameters
    ----------
    path, kind, name : Path, str or None, str or None
        Those of `find_format`.

    Returns
    -------
    format : Format
    path : Path

    Raises
    ------
    ValueError, FileNotFoundError
        Where `find_format` raises them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import find_input_format
    >>> find_input_format(Path("model.run"), "scores", None)[0].name
    'run'
    """
    ending = _by_ending(path, kind)
    given = next((known for known in FORMATS if known.name == name), None)
    if given is not None and kind is not None and not given.holds(kind):
        given = next((known for known in FORMATS if known.name == given.sibling), None)
        if given is None and ending is None and is_there(path):
            return find_format(path, name, kind)  # which is refused by what it cannot hold
    if given is None or (ending is not None and ending.container != given.container):
        return find_format(path, kind=kind)
    if not is_there(path) and _completed(path, given) is None:
        return find_format(path, kind=kind)  # by another ending, if there is one
    return find_format(path, given.name)


def find_format(path: Path, name: str | None = None, kind: str | None = None) -> tuple[Format, Path]:
    """Return the format of a file, by the given name or by the file's, and the file's whole name.

    Parameters
    ----------
    path : Path
        The file; its ending may be left out.
    name : str, optional
        Name of the format; default by the ending.
    kind : str, optional
        What is read, such as "truth" or "scores", where formats share an ending.

    Returns
    -------
    format : Format
    path : Path
        With its ending.

    Raises
    ------
    ValueError
        If there is no such format, or the name tells none, or stands for several files.
    FileNotFoundError
        If its ending tells no format, and there is no such file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import find_format
    >>> find_format(Path("news.qrels"))[0].name
    'qrels'
    """
    if name is not None:
        by_name = {known.name: known for known in FORMATS}
        if name not in by_name:
            raise ValueError(Message(Keyword("format", repr(name)), f" is not one of {', '.join(by_name)}"))
        return by_name[name], _completed(path, by_name[name]) or path
    ending = _by_ending(path, kind)
    if ending is not None:
        return ending, path
    wholes = [(known, whole) for known in FORMATS if (whole := _completed(path, known))]
    found = [(known, whole) for known, whole in wholes if _by_ending(whole, kind or "scores") is known]
    if len(found) > 1:
        shown = ", ".join(str(whole) for _, whole in found)
        raise ValueError(f"{path}: several files are called so: {shown}; expected the whole name of one")
    if found:
        return found[0]
    if not is_there(path):
        completing = (known.completions or known.extensions for known in FORMATS if not known.by_whole_name)
        endings = ", ".join(dict.fromkeys(ending for several in completing for ending in several))
        nothing = f"{os.strerror(errno.ENOENT)}, nor with one of the endings {endings}{_hint(path)}"
        raise FileNotFoundError(errno.ENOENT, nothing, str(path))
    endings = ", ".join(ending for known in FORMATS for ending in known.extensions)
    with naming(path, f"a file whose name ends in {endings}"), InputFile(path).open():
        pass
    expected = f"expected one that ends in {endings}, or "
    raise ValueError(Message(f"{path}: its name does not tell its format; {expected}", Keyword("format")))


def _hint(path: Path) -> str:
    """Name a file that only its whole name stands for."""
    endings = (end for known in FORMATS if known.by_whole_name for end in known.extensions)
    wholes = (path.with_name(path.name + end) for end in endings if path.name)
    found = next((whole for whole in wholes if is_there(whole)), None)
    return "" if found is None else f"; did you mean {found}?"


def stands_for_file(path: Path) -> bool:
    """Tell whether there is a file of that name, with an ending of a format or without."""
    return is_there(path) or any(_completed(path, known) for known in FORMATS)


def _by_ending(path: Path, kind: str | None) -> Format | None:
    """Return the first format that a name has an ending of, or one that claims it all the same."""
    claiming = next((known for known in FORMATS if known.claims(path, kind)), None)
    return claiming or next(
        (known for known in FORMATS if path.name.lower().endswith(known.extensions)), None
    )


def _completed(path: Path, known: Format) -> Path | None:
    """Return the file that a name without its ending stands for."""
    if known.by_whole_name or not path.name or (is_there(path) and not path.is_dir()):
        return None
    names = (path.with_name(path.name + ending) for ending in known.completions or known.extensions)
    return next((whole for whole in names if is_there(whole)), None)


def titles_of(kind: str) -> str:
    """Name the formats that hold truth, or scores."""
    holding = (known for known in FORMATS if kind in known.kinds)
    return " or ".join(
        f"{known.title} ({', '.join(known.extensions or known.completions)})" for known in holding
    )
