"""Reading truth and predictions from files, and writing them."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.budget import PIECE_BYTES
from xmleval.base.errors import InputError, renaming
from xmleval.base.numerals import whole_number
from xmleval.files.remote import as_path
from xmleval.input.csr import matrix_rows
from xmleval.input.formats.arrays import DENSE, NPY, NPZ, map_arrays
from xmleval.input.formats.arrow import named_rows, save_table
from xmleval.input.formats.format import Format
from xmleval.input.formats.label_lines import save_xmc
from xmleval.input.formats.registry import FORMATS, choose_format
from xmleval.input.formats.trec import batches, save
from xmleval.input.names import read_named
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Named
from xmleval.input.scores import refuse_padding
from xmleval.input.small_texts import load_names, load_numbers, read_edges
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows
from xmleval.input.tensors import is_sparse

__all__ = [
    "FORMATS",
    "Format",
    "Named",
    "Pieces",
    "find_format",
    "read_arrow_scores",
    "read_arrow_truth",
    "read_hierarchy",
    "read_names",
    "read_inverse_propensity",
    "read_qrels",
    "read_run",
    "read_scores",
    "read_truth",
    "write_parquet",
    "write_qrels",
    "write_run",
    "write_xmc",
]
PathLike = str | os.PathLike[str]


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
    OSError, ValueError
        If there is no such format, or nothing tells one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import find_format
    >>> find_format(Path("news.qrels"))[0].name
    'qrels'
    """
    return choose_format(path, name, kind)


def read_truth(path: PathLike, *, input_format: str | None = None) -> Any:
    """Read relevant labels, or predicted sets, from a file.

    Parameters
    ----------
    path : path
        File of one of `xmleval.io.FORMATS`, by number.
    input_format : str, optional
        Name of the format, such as ``"lines"``; default by the file's name.

    Returns
    -------
    sparse array of shape (m, l)
        What `xmleval.evaluate` takes as ``y_true`` or ``y_pred``; it checks the values.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, is of no format here, is damaged, or promises more than it holds.

    Examples
    --------
    >>> import scipy.sparse
    >>> from xmleval.io import read_truth
    >>> scipy.sparse.save_npz("Y_test.npz", scipy.sparse.csr_array([[1, 0, 1], [0, 1, 0]]))
    >>> read_truth("Y_test.npz").shape
    (2, 3)
    """
    return _read(path, "truth", input_format)


def read_scores(path: PathLike, *, input_format: str | None = None) -> Any:
    """Read scores or a top-k list from a file.

    Parameters
    ----------
    path : path
        As of `read_truth`. Either file of a top-k list, ``NAME_indices.npy`` or ``NAME_scores.npy``, or
        ``NAME`` stands for both.
    input_format : str, optional
        As of `read_truth`.

    Returns
    -------
    sparse or dense array of shape (m, l), or (labels, scores) arrays of shape (m, k)
        What `xmleval.evaluate` takes as ``y_score``; it checks the values. Arrays of .npy files are mapped
        into memory, not read: the files must not change while they are in use. The scores of a list without
        scores are None.

    Raises
    ------
    OSError, ValueError
        As `read_truth`.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval.io import read_scores
    >>> np.save("model_indices.npy", np.array([[4, 2], [0, -1]]))
    >>> labels, scores = read_scores("model")
    >>> labels.tolist(), scores
    ([[4, 2], [0, -1]], None)
    """
    return _read(path, "scores", input_format)


def _read(path: PathLike, kind: str, name: str | None) -> Any:
    form, file = choose_format(as_path(path), name, kind)
    if form is DENSE or (form is NPY and kind == "scores"):
        labels, *more = map_arrays(file, kind, form is NPY)
        if form is DENSE:
            return labels
        scores = more[0] if more else None
    else:
        pieces = form.read(file, kind)
        rows = stack_rows(pieces.read(sys.maxsize if form is NPZ else PIECE_BYTES))
        if isinstance(rows, np.ndarray):
            return rows
        if not rows.best_first:
            return rows_as_csr(rows, pieces.n_labels or pieces.least_labels)
        try:
            labels, scores = rows_as_lists(rows)
        except InputError as error:
            raise ValueError(f"{file}: {error.reason}") from None
    if scores is not None and scores.dtype.kind in "iu":
        scores = scores.astype(np.float64)  # integers may be taken for labels
    return labels, scores


def read_qrels(path: PathLike, labels: list[str] | None = None, *, grades: bool = False) -> Named:
    r"""Read relevant labels from TREC qrels: lines ``qid iteration docid rel``, in any order.

    Parameters
    ----------
    path : path
        Packed by gzip or not. A label is relevant where ``rel`` is positive; other judgements give it and its
        instance a place, nothing more.
    labels : list of str, optional
        Names of all labels by column; by default those of the file, as they appear first.
    grades : bool, default False
        Whether to keep ``rel`` of all judged labels, as `xmleval.evaluate` takes them with ``gains``.

    Returns
    -------
    Named
        Rows are in the order in which they appear first.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or a line is malformed, judges a label again or one not of ``labels``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import read_qrels
    >>> _ = Path("news.qrels").write_text("q7 0 sport 1\nq7 0 art 0\nq9 0 art 2\n")
    >>> truth = read_qrels("news.qrels")
    >>> truth.row_names, truth.label_names, truth.matrix.toarray().tolist()
    (['q7', 'q9'], ['sport', 'art'], [[1, 0], [0, 1]])
    """
    return _named(path, batches, "grades" if grades else "truth", labels)


def read_run(path: PathLike, like: Named | list[str]) -> Named:
    r"""Read scores from a TREC run: lines ``qid Q0 docid rank score tag``, or MS MARCO's ``qid docid rank``.

    Parameters
    ----------
    path : path
        Packed by gzip or not. As in trec_eval, the scores give the order, and of equal ones the later name is
        first; the ranks are read where there is nothing else.
    like : Named or list of str
        The truth, as `read_qrels` reads it, or names of labels: rows are then as they appear first.

    Returns
    -------
    Named
        Scores in float64, in rows as the truth has them. Labels that the truth does not name are in columns
        behind its own.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or a line is malformed, scores a label again, or a score is NaN.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval import evaluate
    >>> from xmleval.io import read_qrels, read_run
    >>> _ = Path("news.qrels").write_text("q7 0 sport 1\nq9 0 art 2\n")
    >>> _ = Path("model.run").write_text("q9 Q0 art 1 0.9 model\nq9 Q0 law 2 0.4 model\n")
    >>> truth = read_qrels("news.qrels")
    >>> scores = read_run("model.run", truth)
    >>> scores.matrix.toarray().tolist(), scores.n_empty, scores.n_ignored, scores.unknown_labels
    ([[0.0, 0.0, 0.0], [0.0, 0.9, 0.4]], 1, 0, ['law'])
    >>> evaluate(truth, scores, metrics=["p@1"])["p@1"]
    0.5
    """
    return _named(path, batches, "scores", like)


def read_arrow_truth(path: PathLike, labels: list[str] | None = None) -> Named:
    """Read relevant labels that have names from a Parquet or Arrow file.

    Parameters
    ----------
    path : path
        With columns ``instance`` (or ``row``) and ``label``, or ``labels``, a list for each instance, and
        ``instance`` or none: then instances are called by their numbers from 0. Integers are called by
        their digits.
    labels : list of str, optional
        As of `read_qrels`.

    Returns
    -------
    Named
        As `read_qrels`.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, is damaged, its columns are others, an instance has a label twice, or
        pyarrow is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from xmleval.io import read_arrow_truth
    >>> table = pa.table({"instance": ["q1", "q2"], "labels": [["cat"], ["dog", "cat"]]})
    >>> parquet.write_table(table, "truth.parquet")
    >>> truth = read_arrow_truth("truth.parquet")
    >>> truth.label_names, truth.matrix.toarray().tolist()
    (['cat', 'dog'], [[1, 0], [1, 1]])
    """
    return _named(path, named_rows, "truth", labels)


def read_arrow_scores(path: PathLike, like: Named | list[str]) -> Named:
    """Read scores of labels that have names from a Parquet or Arrow file.

    Parameters
    ----------
    path : path
        As of `read_arrow_truth`, with a column ``score``, or ``scores`` of lists.
    like : Named or list of str
        As of `read_run`.

    Returns
    -------
    Named
        As `read_run`.

    Raises
    ------
    OSError, ValueError
        As `read_arrow_truth`, or if a score is NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from xmleval.io import read_arrow_scores
    >>> table = pa.table({"instance": ["q1"], "labels": [["dog", "cat"]], "scores": [[0.75, 0.5]]})
    >>> parquet.write_table(table, "model.parquet")
    >>> read_arrow_scores("model.parquet", ["cat", "dog"]).matrix.toarray().tolist()
    [[0.5, 0.75]]
    """
    return _named(path, named_rows, "scores", like)


def _named(path: PathLike, batches: Any, kind: str, like: Named | list[str] | None) -> Named:
    return read_named(str(path), partial(batches, as_path(path), kind), kind, like)


def read_names(path: PathLike) -> list[str]:
    r"""Read the names of labels from a file.

    Parameters
    ----------
    path : path
        A text with one name on each line, or a JSON list of strings in a file ``NAME.json``; either may be
        packed by gzip.

    Returns
    -------
    list of str
        The name of each column.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or holds anything else, or a name twice.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import read_names
    >>> _ = Path("labels.txt").write_text("cat\ndog\n")
    >>> read_names("labels.txt")
    ['cat', 'dog']
    """
    return load_names(as_path(path))


def read_inverse_propensity(path: PathLike) -> NDArray[Any]:
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
    OSError, ValueError
        If the file cannot be read, holds anything else, or is damaged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import read_inverse_propensity
    >>> _ = Path("inv_prop.txt").write_text("12.46\n9.65\n")
    >>> read_inverse_propensity("inv_prop.txt").tolist()
    [12.46, 9.65]
    """
    return load_numbers(as_path(path))


def read_hierarchy(path: PathLike) -> list[tuple[str, str]] | list[tuple[int, int]]:
    r"""Read the edges of a hierarchy of labels from a text file.

    Parameters
    ----------
    path : path
        A text with a child and its parent on each line, by number or name, and a tab, a comma or a blank
        between them, packed by gzip or not.

    Returns
    -------
    list of (str, str) or of (int, int)
        Children and parents, for ``hierarchy=`` of `xmleval.evaluate`; numbers if all are numbers.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or a line is anything else.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import read_hierarchy
    >>> _ = Path("edges.tsv").write_text("cat\tanimal\ndog\tanimal\n")
    >>> read_hierarchy("edges.tsv")
    [('cat', 'animal'), ('dog', 'animal')]
    """
    edges = [*read_edges(as_path(path)).values()]
    numbers: Any = [(whole_number(child), whole_number(parent)) for child, parent in edges]
    return edges if any(None in edge for edge in numbers) else numbers


def write_parquet(path: PathLike, data: Any, kind: str, *, n_labels: int | None = None) -> None:
    """Write relevant labels or scores to a Parquet or Arrow file, a row for each instance.

    Parameters
    ----------
    path : path
        File to write; it appears when it is whole. It is Arrow IPC if its name ends in .arrow or .feather.
    data : sparse or dense array of shape (m, l), (labels, scores) arrays of shape (m, k), or Pieces
        As `xmleval.evaluate` takes them, or as a reader gives them.
    kind : {"truth", "scores"}
        "truth" writes a column ``labels``, lists of ids; "scores" writes them best first and, where there
        are scores, a column ``scores``.
    n_labels : int, optional
        Number of labels, where the data do not tell it; kept in the schema's metadata.

    Raises
    ------
    OSError, ValueError
        If the file cannot be written, data are refused as `xmleval.evaluate` would, or pyarrow is not
        installed.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval.io import read_truth, write_parquet
    >>> write_parquet("truth.parquet", np.eye(2), "truth")
    >>> read_truth("truth.parquet").toarray().tolist()
    [[1, 0], [0, 1]]
    """
    save_table(Path(path), data, kind, n_labels)


def write_xmc(path: PathLike, matrix: Any, kind: str) -> None:
    r"""Write a matrix as lines of ``label:score`` below a header of its numbers of rows and labels.

    Parameters
    ----------
    path : path
        File to write; it appears when it is whole. Packed by gzip where its name ends in .gz.
    matrix : sparse matrix or array of shape (m, l)
        Every stored entry of scores is written, zeros included, in the shortest text that float64, or
        float32 for narrower types, reads back as itself. A truth may hold 0 and 1 only; its zeros are
        left out.
    kind : {"truth", "scores"}
        What the matrix holds.

    Raises
    ------
    OSError, ValueError
        If the file cannot be written, or the matrix is not sparse or valid, or no truth.

    Examples
    --------
    >>> from pathlib import Path
    >>> import scipy.sparse
    >>> from xmleval.io import write_xmc
    >>> write_xmc("scores.txt", scipy.sparse.csr_array([[0.5, 0, 0.25], [0, 1e-7, 0]]), "scores")
    >>> Path("scores.txt").read_text()
    '2 3\n0:0.5 2:0.25\n1:1e-07\n'
    """
    if kind not in ("truth", "scores"):
        raise ValueError(f"kind={kind!r} is not one of truth, scores")
    if not is_sparse(matrix):
        raise InputError("matrix", "not a SciPy sparse matrix or array")
    if kind == "scores":
        refuse_padding("matrix", matrix)
    rows = matrix_rows("matrix", matrix, None)
    with renaming(kind, "matrix"):
        save_xmc(Path(path), rows, kind, matrix.shape[1])


def write_qrels(
    path: PathLike, truth: Any, row_names: list[str] | None = None, label_names: list[str] | None = None
) -> None:
    r"""Write relevant labels as TREC qrels.

    A row without labels, and the last label where no row has it, are written as judged and not relevant.

    Parameters
    ----------
    path : path
        As of `write_xmc`.
    truth : sparse or dense array of shape (m, l), or Pieces
        Relevant labels.
    row_names, label_names : list of str, optional
        Names without blanks; by default the numbers of rows and labels, from 0.

    Raises
    ------
    OSError, ValueError
        If the file cannot be written, or data are refused as `xmleval.evaluate` would, or a name.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from xmleval.io import write_qrels
    >>> write_qrels("news.qrels", np.eye(2))
    >>> Path("news.qrels").read_text()
    '0 0 0 1\n1 0 1 1\n'
    """
    save(Path(path), truth, "truth", row_names, label_names)


def write_run(
    path: PathLike, scores: Any, row_names: list[str] | None = None, label_names: list[str] | None = None
) -> None:
    r"""Write scores as a TREC run, the labels of each row best first.

    Parameters
    ----------
    path : path
        As of `write_xmc`.
    scores : sparse or dense array of shape (m, l), (labels, scores) arrays of shape (m, k), or Pieces
        As `xmleval.evaluate` takes them. Lists without scores get the negative rank for one.
    row_names, label_names : list of str, optional
        As of `write_qrels`.

    Raises
    ------
    OSError, ValueError
        As `write_qrels`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from xmleval.io import write_run
    >>> write_run("a.run", (np.array([[1, 0]]), np.array([[0.75, 0.5]])))
    >>> Path("a.run").read_text()
    '0 Q0 1 1 0.75 xmleval\n0 Q0 0 2 0.5 xmleval\n'
    """
    save(Path(path), scores, "scores", row_names, label_names)
