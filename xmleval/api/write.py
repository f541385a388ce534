"""`write`: truth, predictions and sets in memory become a file that `evaluate` reads."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from xmleval.base.errors import InputError, did_you_mean
from xmleval.base.keywords import refusing_unknown
from xmleval.evaluation.convert import CONTENTS, write_object
from xmleval.files.remote import is_file
from xmleval.input.argument_types import RowsLike


@refusing_unknown
def write(path: str | os.PathLike[str], data: RowsLike, kind: str = "scores") -> None:
    """Write data to a file in the format of its extension, with the names of rows and labels.

    Parameters
    ----------
    path : path
        File to write, such as ``scores.parquet``; the guide lists the formats, and what each holds.
    data : what `evaluate` takes
        Also what `fuse`, `Rule.apply` and `Calibrator.apply` return.
    kind : {"scores", "truth", "sets"}
        What the data are: predictions with or without scores, relevant labels, or predicted sets.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file is then kept.
    ValueError
        If data are invalid, or the format does not hold them; the message names formats that do.

    Examples
    --------
    >>> fused = xmleval.fuse([{"q1": {"red": 0.9}}, {"q1": {"blue": 0.8, "red": 0.5}}], "mean")
    >>> xmleval.write("fused.jsonl", fused)
    >>> evaluate({"q1": ["red"]}, "fused.jsonl", metrics="p@1")["p@1"]
    1.0
    """
    if kind not in CONTENTS:
        near = did_you_mean(str(kind), CONTENTS)
        raise InputError(
            "kind", f"{kind!r} is not one of {', '.join(CONTENTS)}; {near}".rstrip("; ")
        )
    if is_file(data):
        raise InputError("data", "is a file; give data in memory, or use `xmleval convert`")
    for note in write_object(data, kind, Path(path)):
        warnings.warn(note, UserWarning, stacklevel=3)
