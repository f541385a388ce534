"""`scan`: a file as an argument, with its format and the names of its fields."""

from __future__ import annotations

import os
from dataclasses import dataclass

from xmleval.base.errors import InputError, shown
from xmleval.base.keywords import refusing_unknown
from xmleval.files.remote import is_file

KEPT = ("best",)  # scores of a label that a row lists several times


@dataclass(frozen=True)
class Scan(os.PathLike[str]):
    """A file, a folder, a pattern or an address, and how it is read; see `scan`."""

    path: str | os.PathLike[str]
    format: str | None = None
    instance: str | None = None
    label: str | None = None
    score: str | None = None
    separator: str | None = None
    keep: str | None = None

    def __fspath__(self) -> str:
        """Return the path, so that a scan can replace a path."""
        return os.fspath(self.path)

    def __str__(self) -> str:
        """Return the path."""
        return str(self.path)


def has_options(scan: Scan) -> bool:
    """Return whether a scan says more than the path alone."""
    return scan.format is not None or bool(fields_of_scan(scan)) or scan.keep is not None


def fields_of_scan(scan: Scan) -> dict[str, str]:
    """Return the options of fields that are given, by keyword."""
    options = {
        "label": scan.label,
        "score": scan.score,
        "instance": scan.instance,
        "separator": scan.separator,
    }
    return {name: value for name, value in options.items() if value is not None}


@refusing_unknown
def scan(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    instance: str | None = None,
    label: str | None = None,
    score: str | None = None,
    separator: str | None = None,
    keep: str | None = None,
) -> Scan:
    r"""Describe how to read a file; give the result in place of its path. Nothing is read yet.

    What it returns stands wherever a path or an array does. A plain path is the same as
    ``scan(path)``.

    Parameters
    ----------
    path : path
        A file, a folder, a pattern or an address.
    format : str, optional
        A name of `xmleval.io.known_formats`, for texts and for files whose names do not show it.
    instance : str, optional
        Of CSV, JSON Lines and Parquet: the field whose values name the instances, and join the
        rows of several files.
    label : str, optional
        The field of the labels: relevant ones of a truth, predicted ones of scores or sets. The
        empty text ``""`` says that no field has them: the labels of a row are numbered by its
        lines.
    score : str, optional
        The field of the labels' scores; of a truth, that of judgements.
    separator : str, optional
        What stands between the labels of a field, such as ``";"``.
    keep : {"best"}, optional
        Of a label that a row lists several times, as documents of which several passages are found,
        the best score is kept; without it, such a label is refused. Rows must have names.

    Returns
    -------
    Scan
        A path-like object.

    Raises
    ------
    ValueError
        If ``path`` is none, or scanned already, ``separator`` is empty, or ``keep`` another word.

    Examples
    --------
    >>> with open("docs.csv", "w") as file:
    ...     _ = file.write("tags,guesses\nred,red;blue\nblue,red\n")
    >>> truth = scan("docs.csv", label="tags")
    >>> guesses = scan("docs.csv", label="guesses", separator=";")  # of the same file
    >>> evaluate(truth, guesses, metrics="p@1")["p@1"]
    0.5
    """
    if not is_file(path):
        raise InputError("path", f"{shown(path)} is not a path")
    if isinstance(path, Scan):
        raise InputError("path", f"{path} is a scan already; give all options in one call")
    if separator == "":
        raise InputError("separator", "is empty")
    check_keep(keep)
    return Scan(path, format, instance, label, score, separator, keep)


def check_keep(keep: object) -> None:
    """Refuse unknown words for the entry to keep of a label that is listed several times."""
    if keep not in (None, *KEPT):
        raise InputError("keep", f"{shown(keep)} is not one of {', '.join(KEPT)}")
