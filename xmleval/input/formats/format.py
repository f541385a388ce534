"""The record that declares a file format, and the errors that all readers share."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from xmleval.base.budget import OverLimitError
from xmleval.base.errors import InputError, Message
from xmleval.files.input import InputFile
from xmleval.files.remote import RemotePath
from xmleval.input.pieces import Pieces, with_names

if TYPE_CHECKING:
    from xmleval.input.rows import Rows

FileAt = Callable[[Path], InputFile]
T = TypeVar("T")


class Fields(NamedTuple):
    """Names of the fields of documents, None for the usual ones, and the separator of labels.

    joined : whether there are several files whose rows may be joined by ids
    score_of_truth : whether the truth has the field of scores, which predictions may lack
    beside_truth : whether predictions are in the same file as a truth whose field is named
    labels : names of all labels, which pick the columns of a table with a column for each label
    row_values : fields with values of rows, such as their groups, and neither labels nor scores
    """

    true: str | None = None
    pred: str | None = None
    score: str | None = None
    id: str | None = None
    separator: str | None = None
    joined: bool = True
    score_of_truth: bool = False
    beside_truth: bool = False
    labels: tuple[str, ...] | None = None
    row_values: tuple[str, ...] = ()

    @property
    def name_labels(self) -> bool:
        """Whether the field of labels or of their scores is named, so that no label is a column."""
        return (self.true, self.pred, self.score) != (None, None, None)


class RowCells(NamedTuple):
    """Cells of some columns of a table, in its order.

    unit : "line" or "row", what the places of cells are
    entries : key, cells and place; the key is None where a row of the table is an instance, and
        where it is one of its labels, entries like the one before may be left out
    """

    unit: str
    entries: Iterator[tuple[Any, Sequence[Any], int]]


@dataclass(frozen=True, kw_only=True)
class Format:
    """One file format: the names and contents of its files, and how to read and write them.

    Readers take a path and a kind ("truth", "scores", or "grades" for a truth with grades of
    relevance). What they cannot read in pieces they take from the memory limit
    (`xmleval.base.budget.memory_limit`).

    Parameters
    ----------
    name : str
        Name that people give to choose it.
    title : str
        What its files hold, for messages and help.
    extensions : tuple of str
        Endings of its files' names.
    holds : tuple of str
        What its files may hold, of "truth" (or predicted sets) and "scores".
    pieces : callable, optional
        Reads rows by number, some at a time, or tells that they have names, as they always do
        without it.
    rows : callable, optional
        Reads the rows of files that follow one another, in batches, with names.
    together : callable, optional
        Reads several files as ``pieces`` reads one, where rows are told by number in all of them.
    are_ids : bool
        Whether labels are ids where no names are in the file, and their digits are no names.
    holds_both : callable
        ``holds_both(path)`` tells whether a file of relevant labels also has predictions.
    columns : callable, optional
        ``columns(path)`` returns the names of the columns of a table.
    label_columns : callable
        ``label_columns(path, kind)`` tells the labels of a table with a column for each label, None
        of other files.
    row_cells : callable, optional
        ``row_cells(path, kind, columns)`` returns the `RowCells` of some columns of a table.
    for_fields : callable, optional
        ``for_fields(fields, file_at)`` returns the format where people tell what fields are called,
        of files that ``file_at`` finds, in one version each.
    companions : callable
        ``companions(path)`` tells which other files are read with a file.
    write : callable, optional
        ``write(path, data, kind, n_labels)`` writes `Rows` by id or, where it ``keeps_names``, with
        names, or `Pieces` of sparse rows, whole or not at all.
    keeps_names : bool
        Whether it writes the names of rows and labels.
    keeps_order : bool
        Whether equal scores of a list that it writes are read in the order of the list.

    Examples
    --------
    >>> from xmleval.io import known_formats
    >>> next(known.extensions for known in known_formats() if known.name == "qrels")
    ('.qrels', '.qrels.gz')
    """

    name: str
    title: str
    extensions: tuple[str, ...] = ()
    holds: tuple[str, ...] = ("truth", "scores")
    pieces: Callable[[Path, str], Pieces] | None = None
    rows: Callable[[Sequence[Path], str], Iterator[Rows]] | None = None
    together: Callable[[Sequence[Path], str], Pieces] | None = None
    are_ids: bool = False
    holds_both: Callable[[Path], bool] = lambda path: False
    columns: Callable[[Path], list[str]] | None = None
    label_columns: Callable[[Path, str], Sequence[str] | None] = lambda path, kind: None
    row_cells: Callable[[Path, str, Sequence[str]], RowCells] | None = None
    for_fields: Callable[[Fields, FileAt], Format] | None = None
    companions: Callable[[Path], list[Path]] = lambda path: []
    write: Callable[[Path, Any, str, int | None], None] | None = None
    keeps_names: bool = False
    keeps_order: bool = False

    def writes(self, kind: str, named: bool) -> bool:
        """Return whether `evaluate` reads a written truth, scores, or sets (@private)."""
        content = "scores" if kind == "scores" else "truth"
        if self.write is None or content not in self.holds or (named and not self.keeps_names):
            return False
        # named sets are read as scores
        return not (kind == "sets" and named) or "scores" in self.holds

    @property
    def endings(self) -> str:
        """Return the endings of names of files that are not compressed (@private)."""
        return ", ".join(ending for ending in self.extensions if not ending.endswith(".gz"))

    def read(self, path: Path, kind: str) -> Pieces:
        """Return rows by number, or refer to named rows; refuse another kind (@private)."""
        self._refuse_other_kind(path, kind)
        if self.pieces is None:
            return with_names(path)
        return self.pieces(path, kind)

    def read_together(self, paths: Sequence[Path], kind: str) -> Pieces | None:
        """Return the rows of files as `read` does, None if files are read separately (@private)."""
        if self.together is None or len(paths) < 2:
            return None
        self._refuse_other_kind(paths[0], kind)
        return self.together(paths, kind)

    def _refuse_other_kind(self, path: Path, kind: str) -> None:
        content = "truth"
        expected = "relevant labels"
        if kind == "scores":
            content = expected = "scores"
        if content not in self.holds:
            raise ValueError(
                f"{path}: a {self.title} cannot contain {content}; expected a file of {expected}"
            )


@contextlib.contextmanager
def naming(path: Path, expected: str) -> Iterator[None]:
    """Name the file and its expected content in errors that are raised inside."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise ValueError(f"{path}: {error}; expected {expected}") from None
        if isinstance(path, RemotePath):
            raise  # the message comes from a server
        raise type(error)(
            error.errno, f"{error.strerror}; expected {expected}", str(path)
        ) from None
    except OverLimitError as error:
        raise OverLimitError(Message(f"{path}: ", error.args[0])) from None
    except (ValueError, OverflowError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            reason: object = error.message
        else:
            reason = error.args[0] if error.args else error
        raise ValueError(Message(f"{path}: ", reason, f"; expected {expected}")) from None


def naming_each(path: Path, expected: str, items: Iterator[T]) -> Iterator[T]:
    """Yield items; errors of making them, but not of their use, name the file."""
    with naming(path, expected):
        yield from items
