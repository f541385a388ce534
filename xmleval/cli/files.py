"""Files on the command line: inputs, and outputs that are checked before anything is computed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import escape
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import click

from xmleval.base.errors import KEYWORDS_OF_SCAN, InputError, import_optional, shown
from xmleval.files.output import (
    ARCHIVE,
    HTML_ENDINGS,
    refuse_ending,
    refuse_input,
    refuse_unwritable,
)
from xmleval.files.remote import RemotePath, as_path, is_there
from xmleval.input.cell_marks import is_mark, is_truth
from xmleval.input.scan import Scan, scan

FIELD_OPTIONS = tuple(name for name in KEYWORDS_OF_SCAN if name not in ("input_format", "keep"))
COMPRESSED = {".bz2", ".gz", ".xz", ".zip", ".zst"}


class FileName(click.Path):
    """The path of a file, or the address of a remote one."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path of a name."""
        return as_path(os.fsdecode(super().convert(value, param, ctx)))


class NamedFile(NamedTuple):
    """A file and the name that stands before it, as in ``bert=runs/7.npz``; "" for none."""

    name: str
    path: Path


class NamedFileName(click.ParamType[NamedFile]):
    """The path of a file, or the address of a remote one, with a name before it.

    Parameters
    ----------
    needs_name : bool
        Whether a file without a name is refused.
    """

    name = "file"

    def __init__(self, needs_name: bool = False) -> None:
        self.needs_name = needs_name

    def convert(
        self,
        value: str | NamedFile,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> NamedFile:
        """Return the name and the path; a file whose own name has the ``=`` needs no other."""
        if isinstance(value, NamedFile):
            return value
        name, sign, path = value.partition("=")
        is_named = bool(sign and name and path) and not {*name} & {*"/\\:"}
        if is_named and not self.needs_name and is_there(as_path(value)):
            if is_there(as_path(path)):
                text = f"{value}: both {value} and {path} exist"
                raise ValueError(f"{text}; write ./{value} for the first, or rename it")
            is_named = False
        if is_named:
            return NamedFile(name, as_path(path))
        if self.needs_name:
            expected = param.metavar if param is not None else "NAME=FILE"
            self.fail(f"{shown(value)} has no name; expected {expected}.", param, ctx)
        return NamedFile("", as_path(value))


class ColumnOrFile(FileName):
    """The name of a column of the truth, or the path of a file; which, the evaluation finds out."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the name as it is given: "./lang" is a file, and "lang" may be a column."""
        super().convert(value, param, ctx)
        return os.fsdecode(value)


class NamedColumnOrFile(NamedFileName):
    """A name, and the name of a column of the truth or the path of a file."""

    def __init__(self) -> None:
        super().__init__(needs_name=True)

    def convert(  # type: ignore[override]
        self,
        value: str | tuple[str, str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, str]:
        """Return the name, and the column or the path as it is given."""
        if isinstance(value, tuple):
            return value
        name, _ = super().convert(value, param, ctx)
        return name, value.partition("=")[2]


class WordOrFile(FileName):
    """A word for cells of the truth, or the path of a file.

    is_word : whether a text is such a word
    """

    def __init__(self, is_word: Callable[[object], bool]) -> None:
        super().__init__()
        self.is_word = is_word

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the word as it is, or the path."""
        if self.is_word(value):
            return value
        return super().convert(value, param, ctx)


class Output(FileName):
    """The path of a file to be written.

    Parameters
    ----------
    noun : str
        What is written, in messages.
    endings : sequence of str or None
        Endings of its names, "" for none; None if they are decided elsewhere.
    others : bool
        Whether endings without a meaning are accepted, too.
    """

    def __init__(self, noun: str, endings: Sequence[str] | None, others: bool = False) -> None:
        super().__init__()
        self.noun = noun
        self.endings = endings
        self.others = others

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path of a name, or refuse it."""
        path = super().convert(value, param, ctx)
        for file in self.files(path):
            if isinstance(file, RemotePath):
                raise ValueError(
                    f"{file}: is not on this machine; expected a local file for the output"
                )
            self.refuse(file)
        return path

    def files(self, path: Path) -> Sequence[Path]:
        """Return the files that are written."""
        return [path]

    def refuse(self, path: Path) -> None:
        """Refuse a file that cannot be written, or that programs could not read by its name."""
        if self.endings is not None:
            refuse_ending(path, self.noun, self.endings, self.others)
        refuse_unwritable(path)


class Text(Output):
    """The path of a text to be written; it may be a pipe or a device."""

    def refuse(self, path: Path) -> None:
        """Refuse a file that cannot be written."""
        suffix = path.suffix.lower()
        if suffix in COMPRESSED:
            example = path.stem if Path(path.stem).suffix else "result.json"
            raise ValueError(
                f"{path}: results are not written compressed; "
                f"expected a name without {suffix}, such as {example}"
            )
        if not path.exists() or path.is_file() or path.is_dir():
            super().refuse(path)
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


class Drawing(Text):
    """The path of a page or a figure, drawn by libraries of an extra of this package."""

    def __init__(
        self, noun: str, extra: str, endings: Sequence[str], libraries: Sequence[str]
    ) -> None:
        super().__init__(noun, endings)
        self.extra = extra
        self.libraries = libraries

    def refuse(self, path: Path) -> None:
        """Refuse a file that cannot be written, or drawn without a library."""
        super().refuse(path)
        for name in self.libraries:
            import_optional(name, self.noun, self.extra)
        os.environ.setdefault("MPLBACKEND", "agg")  # no window is opened


@dataclass(frozen=True)
class Scanning:
    """How the files of a command are read, by the options of `scan`."""

    input_format: str | None = None
    label_field: str | None = None
    scores_label_field: str | None = None
    score_field: str | None = None
    instance_field: str | None = None
    separator: str | None = None
    keep: str | None = None
    predictions: tuple[Path, ...] = ()  # files of predictions

    def truth(self, path: Path) -> Path | Scan:
        """Return a file of relevant labels, as functions take it."""
        score_field = self.score_field
        is_of_predictions = self.scores_label_field not in (None, self.label_field)
        if is_of_predictions or _share_files(path, self.predictions):
            score_field = None
        return self._scan(path, self.label_field, score_field)

    def training(self, path: Path) -> Path | Scan:
        """Return a file of training labels, which are not judged."""
        return self._scan(path, self.label_field, None)

    def scores(self, path: Path) -> Path | Scan:
        """Return a file of predictions, or of candidates, which have the same fields."""
        return self._scan(path, self.scores_label_field, self.score_field, self.keep)

    def models(self, models: Mapping[str, Path]) -> dict[str, Path | Scan]:
        """Return files of predictions by name."""
        return {name: self.scores(path) for name, path in models.items()}

    def refuse_unused(self, paths: Iterable[Path]) -> None:
        """Refuse names of fields if no file has fields."""
        from xmleval.input.shards import takes_fields  # imports all formats

        if self._fields and not any(takes_fields(path, self.input_format) for path in paths):
            raise InputError(self._fields[0], "is for CSV, JSON Lines and Parquet")

    @property
    def _fields(self) -> list[str]:
        """Options of fields with a value."""
        return [name for name in FIELD_OPTIONS if getattr(self, name) is not None]

    def _scan(
        self, path: Path, label: str | None, score: str | None, keep: str | None = None
    ) -> Path | Scan:
        """Return a file with the options that apply to it."""
        if self.input_format is None and keep is None and not self._fields:
            return path
        from xmleval.input.shards import takes_fields  # imports all formats

        if not takes_fields(path, self.input_format):
            return scan(path, format=self.input_format, keep=keep)
        return scan(
            path,
            format=self.input_format,
            instance=self.instance_field,
            label=label,
            score=score,
            separator=self.separator,
            keep=keep,
        )


def _share_files(path: Path, others: Iterable[Path]) -> bool:
    """Whether a path and another one have files in common."""
    files = {*map(os.path.realpath, list_files(path))}
    return any(not files.isdisjoint(map(os.path.realpath, list_files(other))) for other in others)


FILE = FileName()
MODEL_FILE = NamedFileName()
NAMED_FILE = NamedFileName(needs_name=True)
COLUMN_OR_FILE = ColumnOrFile()
NAMED_COLUMN_OR_FILE = NamedColumnOrFile()
UNJUDGED_CELLS = WordOrFile(is_mark)
JUDGED_CELLS = WordOrFile(is_truth)
RESULT = Text("the result", None)  # --format decides on endings, too
TABLE = Text("a table of labels or rows", ("", ".csv", ".jsonl"))
STATE = Output("a state", ARCHIVE, others=True)
RULE = Output("a rule", ARCHIVE, others=True)
MODEL = Text("a calibrator", ("", ".json"), others=True)
PAGE = Drawing("a page", "html", HTML_ENDINGS, ["jinja2", "matplotlib"])
FIGURE = Drawing("a figure", "plot", (".png", ".svg", ".pdf"), ["matplotlib"])


def refuse_outputs(params: Sequence[click.Parameter], values: Mapping[str, Any]) -> None:
    """Refuse outputs of a command that have one name, or would replace an input."""
    outputs, inputs = _split_paths(params, values)
    for first, second in permutations(outputs, 2):  # with {} for the names of models
        pattern = escape(str(first.resolve())).replace("{}", "*")
        if fnmatch(str(second.resolve()), pattern):
            raise click.UsageError("two outputs have the same name", click.get_current_context())
    replaced = [*filter(Path.exists, outputs)]
    if not replaced:
        return
    for path in inputs:
        for file in (path, *list_files(path, values.get("input_format"))):
            refuse_input(file, replaced)


def _split_paths(
    params: Sequence[click.Parameter], values: Mapping[str, Any]
) -> tuple[list[Path], list[Path]]:
    """Return the files that a command writes, and the paths that it reads."""
    outputs = list[Path]()
    inputs = list[Path]()
    for param in params:
        value = values.get(param.name or "")
        paths = value if type(value) is tuple else [value]
        for path in paths:
            if isinstance(param.type, Output) and path is not None:
                outputs += param.type.files(path)
            elif isinstance(path, Path):
                inputs.append(path)
            elif isinstance(path, NamedFile):
                inputs.append(path.path)
            elif isinstance(param.type, ColumnOrFile) and path is not None:
                inputs.append(as_path(path))
            elif isinstance(param.type, NamedColumnOrFile) and path is not None:
                _, column_or_file = path
                inputs.append(as_path(column_or_file))
    return outputs, inputs


def list_files(path: Path, input_format: str | None = None) -> list[Path]:
    """Return the files of rows of a folder or a pattern, or else the path itself."""
    from xmleval.input.shards import find_input  # imports all formats

    try:
        return find_input(path, "scores", input_format).files
    except (ValueError, OSError):
        return [path]
