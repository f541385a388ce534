"""The registry of file formats, and the readers that choose among them by a file's name."""

from __future__ import annotations

from pathlib import Path

from xmleval.base.errors import Keyword, Message
from xmleval.files.input import version_of
from xmleval.files.remote import is_there
from xmleval.input.formats.arff import ARFF
from xmleval.input.formats.arrays import DENSE, NPY, NPZ, PAIRS, is_other_list
from xmleval.input.formats.arrow import ARROW
from xmleval.input.formats.documents import CSV, JSON, JSONL
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.label_lines import LINES, SVMLIGHT, XMC
from xmleval.input.formats.trec import QRELS, RUN

FORMATS = NPZ, NPY, DENSE, XMC, SVMLIGHT, ARFF, QRELS, RUN, ARROW, CSV, JSONL, JSON, LINES


def choose_format(path: Path, name: str | None, kind: str | None) -> tuple[Format, Path]:
    """Return a format and a file, as `xmleval.io.find_format` does."""
    by_name = {form.name: form for form in FORMATS}
    if name is not None and name not in by_name:
        raise ValueError(Message(Keyword("input_format", repr(name)), f" is not one of {', '.join(by_name)}"))
    asked = by_name.get(name or "")
    fits = asked is None or kind in (None, "grades", *asked.holds)
    if asked in (QRELS, RUN) and not fits:
        asked, fits = RUN if asked is QRELS else QRELS, True
    endings = ((form, end) for form in FORMATS for end in form.extensions)
    by_ending = next((form for form, end in endings if path.name.lower().endswith(end)), None)
    if kind == "scores" and is_other_list(path):
        by_ending = NPY
    whole = completed(path) if by_ending is None else path
    by_ending = NPY if whole != path else by_ending
    ends = {form.extensions[-1].rpartition(".")[2] for form in (asked, by_ending) if form}  # gz of all texts
    if asked is not None and (by_ending is None or (fits and len(ends) == 1)):
        return asked, whole
    if by_ending is None:
        with naming(path, "a file with its ending, such as NAME.npz"):
            version_of(path)  # which tells if there is no such file
        shown = ", ".join(end for form in FORMATS for end in form.extensions if not end.endswith(".gz"))
        expected = f"expected one that ends in {shown}, or "
        raise ValueError(
            Message(f"{path}: its name does not tell its format; {expected}", Keyword("input_format"))
        )
    return by_ending, whole


def completed(path: Path) -> Path:
    """Return the labels of a top-k list where their NAME alone stands for them."""
    names = (path.with_name(path.name + end) for end in PAIRS if path.name)
    return path if is_there(path) and not path.is_dir() else next(filter(is_there, names), path)
