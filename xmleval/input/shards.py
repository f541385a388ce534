"""Files that stand for one input: by name, of a folder, or by a pattern; shards follow one another."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import version_of
from xmleval.files.ranges import RangeReader
from xmleval.files.remote import RemotePath, as_path, is_there
from xmleval.input.errors import InputError
from xmleval.input.formats.documents import Fields
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.npy import PAIRS, is_other_list
from xmleval.input.formats.npz import NPZ, holds_list
from xmleval.input.formats.registry import FORMATS, choose_format, completed
from xmleval.input.pieces import Pieces, joined
from xmleval.numerals import whole_number


class Shard(NamedTuple):
    """One file, whole in memory or not."""

    path: Path
    format: Format


@dataclass(frozen=True)
class Input:
    """What a name on the command line stands for: one file, or several that follow one another.

    ``kind`` is "truth", "scores", or "grades" for a truth with grades of relevance.
    """

    name: str
    kind: str
    shards: list[Shard]
    allowance: Allowance

    @property
    def named(self) -> bool:
        """Whether names of rows or labels stand in it."""
        return None in self._by_number.values()

    @cached_property
    def _by_number(self) -> dict[Path, Pieces | None]:
        """Rows of the files of formats with names, None where there are any: telling may take reading all."""
        shards = [shard for shard in self.shards if shard.format.rows]
        return {path: form.by_number(path, self.kind, self.allowance) for path, form in shards}

    def with_grades(self, graded: bool) -> Input:
        """Return a truth that is read with its grades, if so asked."""
        return replace(self, kind="grades") if graded else self

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        return [path for shard in self.shards for path in (shard.path, *shard.format.beside(shard.path))]

    def with_fields(self, fields: Fields) -> Input:
        """Return it with the names of its fields, where its format has fields."""
        makers = [(shard, shard.format.for_fields) for shard in self.shards]
        shards = [shard._replace(format=make(fields)) if make else shard for shard, make in makers]
        return replace(self, shards=shards)

    def pieces(self) -> Pieces:
        """Return its rows."""
        return joined([(str(shard.path), pieces) for shard, pieces in self.each()])

    def each(self) -> list[tuple[Shard, Pieces]]:
        """Return its files with the rows of each."""
        more = self.kind, self.allowance
        return [(s, s.format.read(s.path, *more, self._by_number.get(s.path))) for s in self.shards]


def with_fields(fields: Fields, *several: Input | None) -> list[Any]:
    """Return inputs, or None, with the names of their fields; refuse names where none of them has fields."""
    options = {f"--{name}-field": getattr(fields, name) for name in ("true", "pred", "score", "id")}
    options["--separator"] = fields.separator
    asked = next((option for option, value in options.items() if value is not None), None)
    inputs = [each for each in several if each is not None]
    if asked and not any(shard.format.for_fields for each in inputs for shard in each.shards):
        raise ValueError(f"{inputs[0].name}: {asked} is for CSV and JSON Lines")
    return [each and each.with_fields(fields) for each in several]


def find_input(path: Path, kind: str | None, input_format: str | None, allowance: Allowance) -> Input:
    """Find the files that a name stands for: itself, those of a folder, or those that match a pattern.

    Without a kind, it is what their format holds. What is read whole of them is taken from the allowance.
    """
    name = str(path)
    if isinstance(path, RemotePath):
        RangeReader.share(allowance)
    if path.is_dir():
        files = [file for file in path.iterdir() if _is_shard(file)]
        missing = f"{path}: is a directory; expected a file, or a folder of files in known formats"
    elif _is_pattern(path):
        files = path.matches() if isinstance(path, RemotePath) else [Path(file) for file in glob.glob(name)]
        missing = f"{path}: no file matches"
    else:
        return _as_input(name, kind, [path], input_format, allowance)
    # the two files of a top-k list are one shard
    files = [file for file in files if not _has_labels_beside(file, files)]
    if not files:
        raise ValueError(missing)
    if len(files) == 1:
        name = str(files[0])
    return _as_input(name, kind, sorted(files, key=in_order), input_format, allowance)


def find_inputs(argument: str, paths: Sequence[Path]) -> Input:
    """Find the files of an argument of `evaluate` that names stand for, one after another."""
    kind = "scores" if argument == "y_score" else "truth"
    if argument == "candidates":
        inputs = [find_candidates(path, None, UNLIMITED) for path in paths]
    else:
        inputs = [find_input(path, kind, None, UNLIMITED) for path in paths]
    if not inputs:
        raise InputError(argument, "no file is given")
    return replace(inputs[0], shards=[shard for each in inputs for shard in each.shards])


def _is_pattern(path: Path) -> bool:
    """Tell whether a name stands for those that match it."""
    if isinstance(path, RemotePath):
        return path.is_pattern and not path.exists()
    return glob.has_magic(str(path)) and not is_there(completed(path))


def find_candidates(path: Path, input_format: str | None, allowance: Allowance) -> Input:
    """Find label sets, or a list of predictions, whose scores do not count."""
    sets = find_input(path, "truth", input_format, allowance)
    return find_input(path, "scores", input_format, allowance) if _is_list(sets.shards[0]) else sets


def holds_predictions(name: str) -> bool:
    """Tell whether a name stands for a list of predictions, which no truth is read from."""
    try:
        return _is_list(find_input(as_path(name), "scores", None, UNLIMITED).shards[0])
    except (ValueError, OSError):
        return False


def _is_list(shard: Shard) -> bool:
    path, form = shard
    return "truth" not in form.holds or is_other_list(path) or (form is NPZ and holds_list(path))


def _as_input(
    name: str, kind: str | None, files: list[Path], input_format: str | None, allowance: Allowance
) -> Input:
    shards = [Shard(path, form) for form, path in (choose_format(path, input_format, kind) for path in files)]
    path, form = shards[0]
    if kind is None and len(form.holds) > 1:
        with naming(path, f"a {form.title}"):
            version_of(path)  # which tells if there is no such file
        raise ValueError(f"{path}: a {form.title} may hold truth or scores; expected --kind truth or scores")
    return Input(name, kind or form.holds[0], shards, allowance)


def in_order(path: Path) -> list[tuple[bool, int, str]]:
    """Sort by the numbers in a name: part_10 comes after part_9."""
    parts = [(whole_number(part), part) for part in re.split("([0-9]+)", str(path))]
    return [(number is not None, number or 0, part) for number, part in parts]


def _has_labels_beside(file: Path, files: Sequence[Path]) -> bool:
    return any(
        file.name.endswith(scores) and file.with_name(file.name.removesuffix(scores) + labels) in files
        for labels, scores in PAIRS.items()
    )


def _is_shard(path: Path) -> bool:
    """Tell whether a file of a folder is a shard: of rows by number, as others may be anything."""
    by_number = (form.extensions for form in FORMATS if form.pieces is not None)
    return path.name.lower().endswith(tuple(end for endings in by_number for end in endings))
