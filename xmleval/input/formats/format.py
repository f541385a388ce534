"""The record that declares a file format, and the errors that all readers share."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xmleval.budget import Allowance, OverLimitError
from xmleval.files.remote import RemotePath
from xmleval.input.pieces import Pieces
from xmleval.message import Message

if TYPE_CHECKING:
    from xmleval.input.formats.documents import Fields
    from xmleval.input.rows import Rows


class NamedReaders(NamedTuple):
    """Readers of a format whose rows and labels may have names.

    by_number : gives the rows of a file, by its kind, or None where names stand in it; rows : gives them
    with names, in batches, likewise; kinds : what files hold, of "truth", "scores" and "grades";
    holds_both : tells whether a file of relevant labels also has predictions; each within an allowance of
    memory
    """

    by_number: Callable[[Path, str, Allowance], Pieces | None]
    rows: Callable[[Path, str, Allowance], Iterator[Rows]]
    kinds: tuple[str, ...] = ("truth", "scores", "grades")
    holds_both: Callable[[Path, Allowance], bool] = lambda path, allowance: False


@dataclass(frozen=True, kw_only=True)
class Format:
    """One file format: what its files are called, and how they are read.

    Parameters
    ----------
    name : str
        Name that people give to choose it.
    title : str
        What its files hold, for messages and help.
    files : str
        What they are called, likewise.
    extensions : tuple of str
        Endings of its files' names; a name without them is completed in this order.
    kinds : tuple of str
        What its files may hold by number, of "truth" (or predicted sets) and "scores"; nothing where rows and
        labels always have names.
    pieces : callable, optional
        ``pieces(path, kind, allowance)`` reads some rows at a time; what cannot be is taken from the
        allowance. Of the kind "grades", those that a truth leaves out or refuses are kept.
    whole : callable, optional
        ``whole(path, kind)`` reads all rows in a better way than in pieces, such as a map of the file.
    named : NamedReaders, optional
        Readers of files with names, where the format has them.
    for_fields : callable, optional
        ``for_fields(fields)`` returns such readers where people tell what fields are called.
    claims : callable, optional
        ``claims(path, kind)`` tells whether it reads a file that has an ending of another format.
    completions : tuple of str
        Endings that complete a name, where these are not its extensions.
    by_whole_name : bool
        Whether its files are given by their whole names alone: they are no shards of a folder, and nothing
        is completed to them.
    beside : callable, optional
        ``beside(path)`` tells which other files are read with a file; none by default.
    container : str
        What its files are; endings tell one container from another, but not what is in it.
    sibling : str
        Name of the format that holds the other kind of what belongs together.
    written : tuple of str
        Endings of the names that it writes to, where these are not all its extensions.
    write : callable, optional
        ``write(path, data, kind, n_labels)`` writes `Rows` by id, whole or not at all.
    by_pieces : bool
        Whether it also writes `Pieces` of sparse rows, of known size, as they are read.
    keeps_order : bool
        Whether equal scores of a list that it writes are read in the order of the list.

    Examples
    --------
    >>> from xmleval.io import FORMATS
    >>> next(known.extensions for known in FORMATS if known.name == "qrels")
    ('.qrels', '.qrels.gz')
    """

    name: str
    title: str
    files: str
    extensions: tuple[str, ...]
    kinds: tuple[str, ...] = ("truth", "scores")
    pieces: Callable[[Path, str, Allowance], Pieces] | None = None
    whole: Callable[[Path, str], Any] | None = None
    named: NamedReaders | None = None
    for_fields: Callable[[Fields], NamedReaders] | None = None
    claims: Callable[[Path, str | None], bool] = lambda path, kind: False
    completions: tuple[str, ...] = ()
    by_whole_name: bool = False
    beside: Callable[[Path], list[Path]] = lambda path: []
    container: str = "text"
    sibling: str = ""
    written: tuple[str, ...] = ()
    write: Callable[[Path, Any, str, int | None], None] | None = None
    by_pieces: bool = False
    keeps_order: bool = False

    @property
    def endings_written(self) -> tuple[str, ...]:
        """Endings of the names that it writes to.

        Examples
        --------
        >>> from xmleval.io import FORMATS
        >>> next(known.endings_written for known in FORMATS if known.name == "arrow")
        ('.parquet',)
        """
        return self.written or self.extensions

    def holds(self, kind: str) -> bool:
        """Tell whether its files may hold a kind, by number or by name.

        Examples
        --------
        >>> from xmleval.io import FORMATS
        >>> [known.name for known in FORMATS if not known.holds("truth")]
        ['npy', 'run']
        """
        by_name = self.named is not None and kind in self.named.kinds
        return by_name or kind in self.kinds


@contextlib.contextmanager
def naming(path: Path, expected: str) -> Iterator[None]:
    """Name the file, and what was expected of it, in whatever goes wrong inside."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise ValueError(f"{path}: {error}; expected {expected}") from None
        if isinstance(path, RemotePath):
            raise  # its server may say anything
        raise type(error)(error.errno, f"{error.strerror}; expected {expected}", str(path)) from None
    except OverLimitError as error:
        raise ValueError(Message(f"{path}: ", error.args[0])) from None
    except (ValueError, OverflowError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: {error}; expected {expected}") from None
