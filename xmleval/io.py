"""Read truth and predictions from files, and write them.

What readers return and writers take is what `xmleval.evaluate` takes, which checks the values.
``path`` is a file; readers take an address on object storage, too, and texts packed by gzip;
``scan(path, format="lines")`` names the format where the file's name does not tell. Readers of
names return `Named` rows: of a truth, rows and labels are as they appear first, or labels as
``labels`` names the columns; of scores, rows are those of ``like``, a truth or a list of names, and
columns behind its own hold labels that it does not name. Files that are written appear when they
are whole; ``kind`` is "truth" or "scores".

All raise OSError where a file cannot be read or written, and ValueError where it is damaged, holds
something else, or has values that `xmleval.evaluate` would refuse.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.budget import PIECE_BYTES
from xmleval.base.errors import InputError, renaming, shown
from xmleval.base.numerals import whole_number
from xmleval.files.output import refuse_ending
from xmleval.files.remote import as_path
from xmleval.input.argument_types import RowsLike, SparseMatrix
from xmleval.input.csr import matrix_rows
from xmleval.input.formats.arrays import DENSE, NPY, NPZ
from xmleval.input.formats.arrow import ARROW, TableReading, named_rows, save_table
from xmleval.input.formats.format import Format
from xmleval.input.formats.known import known_formats
from xmleval.input.formats.label_lines import save_xmc
from xmleval.input.formats.trec import batches, save
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Named, Rows
from xmleval.input.scan import Scan, fields_of_scan
from xmleval.input.scores import refuse_padding
from xmleval.input.shards import choose_format, refused_fields
from xmleval.input.stack import read_named, rows_as_csr, rows_as_lists, stack_rows
from xmleval.input.tensors import is_sparse
from xmleval.input.text_columns import load_names, load_numbers, read_edges

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Format",
    "Named",
    "Pieces",
    "find_format",
    "known_formats",
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
ReadRows = Callable[[Sequence[Path], str], Iterable[Rows]]  # from files of a kind
Lists = tuple[NDArray[Any], NDArray[Any] | None]  # labels and scores of shape (m, k)


def find_format(
    path: Path, name: str | None = None, kind: str | None = None
) -> tuple[Format, Path]:
    """Return the format of a file, and the file itself if its name has no ending.

    ``name`` is another format of the same container, as all texts are; if it cannot hold this
    ``kind``, its sibling is taken, or what the file's name tells.

    Examples
    --------
    >>> from pathlib import Path
    >>> find_format(Path("news.qrels"))[0].name
    'qrels'
    """
    return choose_format(path, name, kind)


def read_truth(path: PathLike) -> Any:
    """Read relevant labels, or predicted sets, as a sparse array of shape (m, l).

    Examples
    --------
    >>> import scipy.sparse
    >>> scipy.sparse.save_npz("Y_test.npz", scipy.sparse.csr_array([[1, 0, 1], [0, 1, 0]]))
    >>> read_truth("Y_test.npz").shape
    (2, 3)
    """
    return _read(path, "truth")


def read_scores(path: PathLike) -> Any:
    """Read scores as an array of shape (m, l), or a top-k list as (labels, scores) of shape (m, k).

    ``NAME`` stands for ``NAME_indices.npy`` and ``NAME_scores.npy``, as each of these does; scores
    may be None.

    Examples
    --------
    >>> np.save("model_indices.npy", np.array([[4, 2], [0, -1]]))
    >>> labels, scores = read_scores("model")
    >>> labels.tolist(), scores
    ([[4, 2], [0, -1]], None)
    """
    return _read(path, "scores")


def _read(path: PathLike, kind: str) -> csr_array | NDArray[Any] | Lists:
    name = None
    if isinstance(path, Scan):
        name = path.format
        if fields_of_scan(path):
            raise refused_fields(path)
    form, file = choose_format(as_path(path), name, kind)
    pieces = form.read(file, kind)
    # arrays are read at once
    piece_bytes = sys.maxsize if form in (NPZ, NPY, DENSE) else PIECE_BYTES
    rows = stack_rows(pieces.read(piece_bytes))
    if isinstance(rows, np.ndarray):
        return rows
    try:
        if not rows.best_first:
            return rows_as_csr(rows, pieces.n_labels or pieces.least_labels)
        labels, scores = rows_as_lists(rows)
    except InputError as error:
        raise ValueError(f"{file}: {error.reason}") from None
    if scores is not None and scores.dtype.kind in "iu":
        scores = scores.astype(np.float64)  # integers may be taken for labels
    return labels, scores


def read_qrels(path: PathLike, labels: list[str] | None = None, *, grades: bool = False) -> Named:
    r"""Read relevant labels from TREC qrels: lines ``qid iteration docid rel``, in any order.

    A label is relevant where ``rel`` is positive; other judgements give it and its instance a
    place, nothing more. With ``grades``, ``rel`` of all judged labels is kept, for ``gains`` of
    `xmleval.evaluate`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("news.qrels").write_text("q7 0 sport 1\nq7 0 art 0\nq9 0 art 2\n")
    >>> truth = read_qrels("news.qrels")
    >>> truth.row_names, truth.label_names, truth.matrix.toarray().tolist()
    (['q7', 'q9'], ['sport', 'art'], [[1, 0], [0, 1]])
    """
    return _named(path, batches, "grades" if grades else "truth", labels)


def read_run(path: PathLike, like: Named | list[str]) -> Named:
    r"""Read scores from a TREC run, or from ranks in the format of MS MARCO.

    Lines are ``qid Q0 docid rank score tag``, or MS MARCO's ``qid docid rank``. As in trec_eval,
    the scores give the order, and of equal ones the later name is first; ranks are read where there
    is nothing else.

    Examples
    --------
    >>> from pathlib import Path
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

    It has columns ``instance`` (or ``row``) and ``label``, or ``labels``, a list for each instance;
    without ``instance``, these are called by their numbers from 0. Integers are called by their
    digits. Or it has a column of zeros and ones for each label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> table = pa.table({"instance": ["q1", "q2"], "labels": [["cat"], ["dog", "cat"]]})
    >>> parquet.write_table(table, "truth.parquet")
    >>> truth = read_arrow_truth("truth.parquet")
    >>> truth.label_names, truth.matrix.toarray().tolist()
    (['cat', 'dog'], [[1, 0], [1, 1]])
    """
    columns = ARROW.label_columns(as_path(path), "truth")  # of a table with a column for each label
    if labels is None and columns is not None:
        labels = [*columns]
    return _named(path, _arrow_rows, "truth", labels)


def read_arrow_scores(path: PathLike, like: Named | list[str]) -> Named:
    """Read scores as `read_arrow_truth` reads labels.

    They are in a column ``score``, or ``scores`` of lists.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> table = pa.table({"instance": ["q1"], "labels": [["dog", "cat"]], "scores": [[0.75, 0.5]]})
    >>> parquet.write_table(table, "model.parquet")
    >>> read_arrow_scores("model.parquet", ["cat", "dog"]).matrix.toarray().tolist()
    [[0.5, 0.75]]
    """
    return _named(path, _arrow_rows, "scores", like)


def _arrow_rows(paths: Sequence[Path], kind: str) -> Iterator[Rows]:
    """Return the rows of Parquet or Arrow files with names."""
    return named_rows(paths, TableReading(kind))


def _named(path: PathLike, batches: ReadRows, kind: str, like: Named | list[str] | None) -> Named:
    return read_named(str(path), partial(batches, [as_path(path)], kind), kind, like)


def read_names(path: PathLike) -> list[str]:
    r"""Read the names of all labels.

    The file is a text with one name a line, or a JSON list of strings, ``NAME.json``.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("labels.txt").write_text("cat\ndog\n")
    >>> read_names("labels.txt")
    ['cat', 'dog']
    """
    return load_names(as_path(path))


def read_inverse_propensity(path: PathLike) -> NDArray[Any]:
    r"""Read inverse propensities from a vector in an .npy file, or a text with a number a line.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("inv_prop.txt").write_text("12.46\n9.65\n")
    >>> read_inverse_propensity("inv_prop.txt").tolist()
    [12.46, 9.65]
    """
    return load_numbers(as_path(path))


def read_hierarchy(path: PathLike) -> list[tuple[str, str]] | list[tuple[int, int]]:
    r"""Read (child, parent) edges, numbers if all are.

    Lines have two names with a tab, comma or blank between.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("edges.tsv").write_text("cat\tanimal\ndog\tanimal\n")
    >>> read_hierarchy("edges.tsv")
    [('cat', 'animal'), ('dog', 'animal')]
    """
    edges = [*read_edges(as_path(path)).values()]
    numbers = list[tuple[int, int]]()
    for names in edges:
        child, parent = map(whole_number, names)
        if child is None or parent is None:
            return edges
        numbers.append((child, parent))
    return numbers


def write_parquet(
    path: PathLike, data: RowsLike | Pieces, kind: str, *, n_labels: int | None = None
) -> None:
    """Write relevant labels or scores, a row for each instance, to Parquet or Arrow IPC (.arrow).

    ``data`` may be `Pieces`, too. Columns are ``labels``, lists of ids, best first where they have
    scores, and ``scores``. ``n_labels`` is kept in the schema's metadata, where the data do not
    tell it.

    Examples
    --------
    >>> write_parquet("truth.parquet", np.eye(2), "truth")
    >>> read_truth("truth.parquet").toarray().tolist()
    [[1, 0], [0, 1]]
    """
    refuse_ending(Path(path), "a table", (".parquet", ".arrow", ".feather"))
    save_table(Path(path), data, kind, n_labels)


def write_xmc(path: PathLike, matrix: SparseMatrix, kind: str) -> None:
    r"""Write a sparse matrix as lines of ``label:score`` below a header.

    The header has the numbers of rows and labels. Every stored score is written, zeros included, in
    the shortest text that float64, or float32 for narrower types, reads back as itself. A truth may
    hold 0 and 1 only; its zeros are left out. A name in .gz packs the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> import scipy.sparse
    >>> write_xmc("scores.txt", scipy.sparse.csr_array([[0.5, 0, 0.25], [0, 1e-7, 0]]), "scores")
    >>> Path("scores.txt").read_text()
    '2 3\n0:0.5 2:0.25\n1:1e-07\n'
    """
    if kind not in ("truth", "scores"):
        raise ValueError(f"kind={shown(kind)} is not one of truth, scores")
    _refuse_other_text(path, ".txt")
    if not is_sparse(matrix):
        raise InputError("matrix", "not a SciPy sparse matrix or array")
    if kind == "scores":
        refuse_padding("matrix", matrix)
    rows = matrix_rows("matrix", matrix, None)
    with renaming(kind, "matrix"):
        save_xmc(Path(path), rows, kind, matrix.shape[1])


def write_qrels(
    path: PathLike,
    truth: RowsLike | Pieces,
    row_names: list[str] | None = None,
    label_names: list[str] | None = None,
) -> None:
    r"""Write relevant labels as TREC qrels.

    Names have no blanks, and are by default numbers from 0. A row without labels, and a label that
    no row has, by name or the last one, are written as judged and not relevant.

    Examples
    --------
    >>> from pathlib import Path
    >>> write_qrels("news.qrels", np.eye(2))
    >>> Path("news.qrels").read_text()
    '0 0 0 1\n1 0 1 1\n'
    """
    _refuse_other_text(path, ".qrels", ".txt", ".tsv")
    save(Path(path), truth, "truth", row_names, label_names)


def write_run(
    path: PathLike,
    scores: RowsLike | Pieces,
    row_names: list[str] | None = None,
    label_names: list[str] | None = None,
) -> None:
    r"""Write scores as a TREC run, the labels of every row best first; names as in `write_qrels`.

    Lists without scores get the negative rank for one.

    Examples
    --------
    >>> from pathlib import Path
    >>> write_run("a.run", (np.array([[1, 0]]), np.array([[0.75, 0.5]])))
    >>> Path("a.run").read_text()
    '0 Q0 1 1 0.75 xmleval\n0 Q0 0 2 0.5 xmleval\n'
    """
    _refuse_other_text(path, ".run", ".txt", ".tsv")
    save(Path(path), scores, "scores", row_names, label_names)


def _refuse_other_text(path: PathLike, *endings: str) -> None:
    """Refuse a name with another ending than these, which .gz may follow."""
    file = Path(path)
    if file.suffix.lower() == ".gz":
        file = file.with_suffix("")
    refuse_ending(file, "this text", ("", *endings))
