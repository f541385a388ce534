"""Files that the command line names: inputs, and outputs that are refused before anything is computed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import escape
from itertools import permutations
from pathlib import Path
from typing import Any

import click

from xmleval.base.errors import KEYWORDS_OF_SCAN, InputError, import_optional
from xmleval.files.output import ARCHIVE, refuse_ending, refuse_input, refuse_unwritable
from xmleval.files.remote import RemotePath, as_path
from xmleval.input.scan import Scan, scan

OF_FIELDS = tuple(name for name in KEYWORDS_OF_SCAN if name != "input_format")  # options
COMPRESSED = {".bz2", ".gz", ".xz", ".zip", ".zst"}


class FileName(click.Path):
    """The path of a file, or the address of a remote one."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path of a name."""
        return as_path(os.fsdecode(super().convert(value, param, ctx)))


class Output(FileName):
    """The path of a file to be written.

    Parameters
    ----------
    noun : str
        What is written, in messages.
    endings : sequence of str or None
        Endings of its names, "" of none; None where something else decides them.
    others : bool
        Whether endings that tell nothing are taken, too.
    """

    def __init__(self, noun: str, endings: Sequence[str] | None, others: bool = False) -> None:
        super().__init__()
        self.noun, self.endings, self.others = noun, endings, others

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path of a name, or refuse it."""
        path = super().convert(value, param, ctx)
        for file in self.files(path):
            if isinstance(file, RemotePath):
                raise ValueError(f"{file}: is not on this machine; expected a local file for the output")
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
            text = f"results are not written compressed; expected a name without {suffix}, such as {example}"
            raise ValueError(f"{path}: {text}")
        if not path.exists() or path.is_file() or path.is_dir():
            super().refuse(path)
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


class Drawing(Text):
    """The path of a page or of a figure, by what it is, the endings of its names and what draws it."""

    def __init__(self, noun: str, extra: str, endings: Sequence[str], libraries: Sequence[str]) -> None:
        super().__init__(noun, endings)
        self.extra, self.libraries = extra, libraries

    def refuse(self, path: Path) -> None:
        """Refuse what cannot be drawn."""
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
    predictions: tuple[Path, ...] = ()  # files of them

    def truth(self, path: Path) -> Path | Scan:
        """Return a file of relevant labels, as functions take it."""
        are_of_predictions = self.scores_label_field is not None or _stand_for_one(path, self.predictions)
        return self._scan(path, self.label_field, None if are_of_predictions else self.score_field)

    def training(self, path: Path) -> Path | Scan:
        """Return a file of training labels, which are not judged."""
        return self._scan(path, self.label_field, None)

    def scores(self, path: Path) -> Path | Scan:
        """Return a file of predictions."""
        return self._scan(path, self.scores_label_field, self.score_field)

    def candidates(self, path: Path) -> Path | Scan:
        """Return a file of candidates, which are named as predicted labels are."""
        return self._scan(path, self.scores_label_field, self.score_field)

    def models(self, models: Mapping[str, Path]) -> dict[str, Path | Scan]:
        """Return files of predictions by name."""
        return {name: self.scores(path) for name, path in models.items()}

    def refuse_unused(self, paths: Iterable[Path]) -> None:
        """Refuse names of fields where none of the files has fields."""
        from xmleval.input.shards import takes_fields  # imports all formats

        if self._fields and not any(takes_fields(path, self.input_format) for path in paths):
            raise InputError(self._fields[0], "is for CSV and JSON Lines")

    @property
    def _fields(self) -> list[str]:
        """The options of fields that are given."""
        return [name for name in OF_FIELDS if getattr(self, name) is not None]

    def _scan(self, path: Path, label: str | None, score: str | None) -> Path | Scan:
        if self.input_format is None and not self._fields:
            return path
        from xmleval.input.shards import takes_fields  # imports all formats

        if not takes_fields(path, self.input_format):
            return scan(path, format=self.input_format)
        return scan(
            path,
            format=self.input_format,
            instance=self.instance_field,
            label=label,
            score=score,
            separator=self.separator,
        )


def _stand_for_one(path: Path, others: Iterable[Path]) -> bool:
    """Tell whether a path stands for the files of another one, too."""
    files = {*map(os.path.realpath, files_of(path))}
    return any(not files.isdisjoint(map(os.path.realpath, files_of(other))) for other in others)


FILE, RESULT = FileName(), Text("the result", None)  # of which --format has a say
TABLE = Text("a table of labels or rows", ("", ".csv", ".jsonl"))
STATE, RULE = Output("a state", ARCHIVE, others=True), Output("a rule", ARCHIVE, others=True)
MODEL = Text("a calibrator", ("", ".json"), others=True)
PAGE = Drawing("a page", "html", ("", ".html", ".htm"), ["jinja2", "matplotlib"])
FIGURE = Drawing("a figure", "plot", (".png", ".svg", ".pdf"), ["matplotlib"])


def refuse_outputs(params: Sequence[click.Parameter], values: Mapping[str, Any]) -> None:
    """Refuse outputs of one name, and those that would replace an input, of the parameters of a command."""
    outputs, inputs = list[Path](), list[Path]()
    for param in params:
        value = values.get(param.name or "")
        for path in value if isinstance(value, tuple) else [value]:
            if isinstance(param.type, Output) and path is not None:
                outputs += param.type.files(path)
            elif isinstance(path, Path):
                inputs.append(path)
    for first, second in permutations(outputs, 2):  # with {} for the names of models
        pattern = escape(str(first.resolve())).replace("{}", "*")
        if fnmatch(str(second.resolve()), pattern):
            raise click.UsageError("two outputs have one name", click.get_current_context())
    replaced = [*filter(Path.exists, outputs)]
    for path in inputs if replaced else ():
        for file in (path, *files_of(path, values.get("input_format"))):
            refuse_input(file, replaced)


def files_of(path: Path, input_format: str | None = None) -> list[Path]:
    """Return the files of rows that a path stands for, or itself."""
    from xmleval.input.shards import find_input  # imports all formats

    try:
        return find_input(path, "scores", input_format).files
    except (ValueError, OSError):
        return [path]
