"""Files that stand for one input, by name, of a folder or by a pattern, and the formats of their names."""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from xmleval.base.errors import InputError, Keyword, Message, ScanField, shown
from xmleval.base.numerals import whole_number
from xmleval.files.input import InputFile, version_of
from xmleval.files.remote import RemotePath, as_path, is_there
from xmleval.input.argument_types import FilePath
from xmleval.input.columns import is_other_order
from xmleval.input.formats.arff import ARFF
from xmleval.input.formats.arrays import DENSE, NPY, NPZ, PAIRS, holds_list, is_other_list
from xmleval.input.formats.arrow import ARROW, columns_beside, hash_columns
from xmleval.input.formats.documents import CSV, JSON, JSONL
from xmleval.input.formats.format import Fields, FileAt, Format, naming
from xmleval.input.formats.label_lines import LINES, SVMLIGHT, XMC
from xmleval.input.formats.trec import QRELS, RUN
from xmleval.input.match import PREDICTIONS, Batches
from xmleval.input.opened import Opened, kind_of
from xmleval.input.pieces import Pieces
from xmleval.input.pieces import joined as joined_pieces
from xmleval.input.scan import Scan
from xmleval.input.stack import read_named, rows_as_csr, stack_rows

FORMATS = NPZ, NPY, DENSE, XMC, SVMLIGHT, ARFF, QRELS, RUN, ARROW, CSV, JSONL, JSON, LINES
T = TypeVar("T", bound=Opened | None)
BY_NAME = {form.name: form for form in FORMATS}
ENDINGS = [(form, end) for form in FORMATS for end in form.extensions]


class Shard(NamedTuple):
    """One file, whole in memory or not."""

    path: Path
    format: Format


@dataclass(frozen=True)
class OpenedFiles(Opened):
    """Files that an argument stands for: one, or several that follow one another.

    shards : the files, in order, without those that are read with them
    scan : how they are read, where `scan` says so
    fields, file_at : what their fields are called, and what opens them, once it is known
    """

    shards: Sequence[Shard] = ()
    scan: Scan | None = None
    fields: Fields | None = None
    file_at: FileAt | None = None

    @cached_property
    def each(self) -> list[tuple[Shard, Pieces]]:
        """Its files with the rows of each; to tell whether they have names may take reading all."""
        first = self.shards[0]
        if first.format.together and (pieces := first.format.read_together(self.paths, self.kind)):
            return [(first, pieces)]
        return [(s, s.format.read(s.path, self.kind)) for s in self.shards]

    @property
    def format(self) -> Format:
        """The format of the first file."""
        return self.shards[0].format

    @property
    def paths(self) -> list[Path]:
        """Its files, which must be of one format, without those that are read with them."""
        path, form = self.shards[0]
        for other_path, other in self.shards:
            if other.name != form.name:
                text = f"{other_path}: a {other.title}, and {path} is a {form.title}"
                raise ValueError(f"{text}; expected files of one format where rows or labels have names")
        return [shard.path for shard in self.shards]

    @property
    def named(self) -> bool:
        """Whether names of rows or labels stand in it."""
        return any(pieces.named for _, pieces in self.each)

    @property
    def is_list(self) -> bool:
        """Whether it is a list of predictions, which is no truth."""
        path, form = self.shards[0]
        return "truth" not in form.holds or is_other_list(path) or (form is NPZ and holds_list(path))

    @property
    def holds_both(self) -> bool:
        """Whether a file of relevant labels also has predictions."""
        path, form = self.shards[0]
        return form.holds_both(path)

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        return [path for shard in self.shards for path in (shard.path, *shard.format.companions(shard.path))]

    def pieces(self) -> Pieces:
        """Return the rows by number."""
        if len(self.each) < len(self.shards):
            return self.each[0][1]
        return joined_pieces([(str(shard.path), pieces) for shard, pieces in self.each])

    def batches(self, kind: str) -> Batches | None:
        """Return what reads rows with names, of a truth or of scores; None where it cannot hold any."""
        form = self.format
        if form.rows is None or kind not in form.holds or (form.are_ids and not self.named):
            return None
        return partial(form.rows, self.paths, self.kind if kind == "truth" else kind)

    def numbers_labels(self, names: Sequence[str]) -> bool:
        """Tell whether its labels are numbers of listed names, and not names themselves."""
        if self.named:
            return False
        form = self.format
        return form.rows is None or form.are_ids or all(whole_number(name) is None for name in names)

    def beside_judgements(self) -> OpenedFiles:
        """Return predictions whose field of scores may be missing, as the truth has it for judgements."""
        if self.fields is None or self.file_at is None:
            return self
        return _renamed(self, self.fields._replace(score_of_truth=True), self.file_at)

    def refuse_other_order(self, truth: Opened) -> None:
        """Refuse tables by number of which a column has the values of the truth's in another order."""
        if not isinstance(truth, OpenedFiles):
            return
        if any(shard.format.name != ARROW.name for shard in (*truth.shards, *self.shards)):
            return
        true_columns, *others = [
            columns_beside(shard.path, side.kind) for side in (truth, self) for shard in side.shards
        ]
        shared = [name for name in true_columns if all(name in names for names in others)]
        if not shared:
            return
        expected = hash_columns([shard.path for shard in truth.shards], shared)
        hashes = hash_columns([shard.path for shard in self.shards], shared)
        for column in shared:
            if is_other_order(hashes[column], expected[column]):
                values = f"{self.name}: {shown(column)} has the values of "
                hint = "'s in another order; call it 'instance' in both to join the rows by it"
                raise ValueError(Message(values, Keyword("y_true"), hint))


def with_fields(joined: bool, *inputs: T) -> list[T]:
    """Return inputs, values or None, with the names of their fields; all read one version of a file.

    ``joined`` tells whether there are several files, whose rows ids may join.
    """
    file_at = cache(InputFile)
    files = [each for each in inputs if isinstance(each, OpenedFiles)]
    truth = next((each for each in files if each.argument == "y_true"), None)
    truth_files = truth.files if truth and truth.scan and truth.scan.label else None
    renamed = list[Any]()
    for each in inputs:
        if isinstance(each, OpenedFiles):
            fields = _fields_of(each, joined)
            if each.argument in PREDICTIONS and each.files == truth_files:
                fields = fields._replace(beside_truth=True)
            renamed.append(_renamed(each, fields, file_at))
        else:
            renamed.append(each)
    return renamed


def _fields_of(opened: OpenedFiles, joined: bool) -> Fields:
    """Return what the fields of an input are called; its labels are relevant, predicted or candidates."""
    scan = opened.scan
    if scan is None:
        return Fields(joined=joined)
    if scan.fields and not any(shard.format.for_fields for shard in opened.shards):
        label = "scores_label_field" if opened.argument in PREDICTIONS else "label_field"
        raise refused_fields(scan, label)
    true = None if opened.argument in PREDICTIONS else scan.label
    pred = scan.label if opened.argument in (*PREDICTIONS, "candidates") else None
    return Fields(
        true=true,
        pred=pred,
        score=scan.score,
        id=scan.instance,
        separator=scan.separator,
        joined=joined,
    )


def refused_fields(scan: Scan, label: str = "label_field") -> ValueError:
    """Return what to raise for names of fields where a file has none; ``label`` is the option for labels."""
    options = {"label": label, "score": "score_field", "instance": "instance_field"}
    name = next(iter(scan.fields))
    return ValueError(Message(f"{scan}: ", ScanField(options.get(name, name)), " is for CSV and JSON Lines"))


def _renamed(opened: OpenedFiles, fields: Fields, file_at: FileAt) -> OpenedFiles:
    """Return an input in formats that know what fields are called."""
    shards = [
        shard._replace(format=shard.format.for_fields(fields, file_at)) if shard.format.for_fields else shard
        for shard in opened.shards
    ]
    return replace(opened, shards=shards, fields=fields, file_at=file_at)


def takes_fields(path: Path, input_format: str | None) -> bool:
    """Tell whether the names of fields may be told of a file; not if it cannot be found."""
    try:
        shards = find_input(path, "scores", input_format).shards
    except (ValueError, OSError):
        return False
    return any(shard.format.for_fields for shard in shards)


def find_scan(argument: str, value: FilePath) -> OpenedFiles:
    """Find the files that an argument of `evaluate` stands for, by a path or by `scan`."""
    return replace(find_scan_of(kind_of(argument), value), argument=argument)


def find_scan_of(kind: str | None, value: FilePath) -> OpenedFiles:
    """Find the files that a path, or `scan` of one, stands for; see `find_input`."""
    scan = value if isinstance(value, Scan) else None
    found = find_input(as_path(value), kind, None if scan is None else scan.format)
    return replace(found, argument="y_score" if found.kind == "scores" else "y_true", scan=scan)


def find_input(path: Path, kind: str | None, input_format: str | None) -> OpenedFiles:
    """Find the files that a name stands for; without a ``kind``, their format tells it.

    "candidates" are label sets, or a list of predictions whose scores do not count.
    """
    if kind == "candidates":
        sets = find_input(path, "truth", input_format)
        return find_input(path, "scores", input_format) if sets.is_list else sets
    files = _files(path)
    chosen = [choose_format(file, input_format, kind) for file in files]
    form, file = chosen[0]
    if kind is None and len(form.holds) > 1:
        with naming(file, f"a {form.title}"):
            version_of(file)  # which tells if there is no such file
        raise ValueError(f"{file}: a {form.title} may hold truth or scores; expected --kind truth or scores")
    shards = [Shard(file, form) for form, file in chosen]
    return OpenedFiles(str(path if len(files) > 1 else files[0]), kind or form.holds[0], shards=shards)


def read_sets(path: FilePath) -> Any:
    """Read label sets whole: a sparse array, or `Named` where they have names."""
    (label_sets,) = with_fields(True, find_scan("y_true", path))
    form = label_sets.shards[0].format
    if label_sets.named and form.rows:
        return read_named(label_sets.name, partial(form.rows, label_sets.paths, "truth"), "truth", None)
    pieces = label_sets.pieces()
    rows = stack_rows(pieces.read(sys.maxsize))
    return rows if isinstance(rows, np.ndarray) else rows_as_csr(rows, pieces.n_labels or pieces.least_labels)


def find_inputs(argument: str, paths: Sequence[Any]) -> OpenedFiles:
    """Find the files of an argument of `evaluate`, given as paths or scans that follow one another."""
    inputs = [find_scan(argument, path) for path in paths]
    if not inputs:
        raise InputError(argument, "no file is given")
    if len({each.scan and replace(each.scan, path="") for each in inputs}) > 1:
        raise InputError(argument, "its files are scanned in different ways; expected one way for all")
    return replace(inputs[0], shards=[shard for each in inputs for shard in each.shards])


def holds_predictions(name: str) -> bool:
    """Tell whether a name stands for a list of predictions, which no truth is read from."""
    try:
        return find_input(as_path(name), "scores", None).is_list
    except (ValueError, OSError):
        return False


def choose_format(path: Path, name: str | None, kind: str | None) -> tuple[Format, Path]:
    """Return a format and a file, as `xmleval.io.find_format` does."""
    asked = _asked_format(name, kind)
    by_ending = next((form for form, end in ENDINGS if path.name.lower().endswith(end)), None)
    whole = completed(path) if by_ending is None else path
    if whole != path or (kind == "scores" and is_other_list(path)):
        by_ending = NPY
    if asked is not None and (by_ending is None or _replaces(asked, by_ending, kind)):
        return asked, whole
    if by_ending is None:
        raise _unknown_format(path)
    return by_ending, whole


def _asked_format(name: str | None, kind: str | None) -> Format | None:
    """Return the format of a name; those of TREC stand for each other, by what a file holds."""
    if name is None:
        return None
    if name not in BY_NAME:
        raise ValueError(Message(ScanField("input_format", name), f" is not one of {', '.join(BY_NAME)}"))
    asked = BY_NAME[name]
    if _holds(asked, kind):
        return asked
    return {QRELS.name: RUN, RUN.name: QRELS}.get(name, asked)


def _holds(form: Format, kind: str | None) -> bool:
    """Tell whether files of a format may hold a kind of rows."""
    return kind in (None, "grades", *form.holds)


def _replaces(asked: Format, by_ending: Format, kind: str | None) -> bool:
    """Tell whether a format may be read from files whose names end as those of another, as texts may."""
    ends = {form.extensions[-1].rpartition(".")[2] for form in (asked, by_ending)}  # gz of texts
    return _holds(asked, kind) and len(ends) == 1


def _unknown_format(path: Path) -> ValueError:
    """Return what to raise where the name of a file does not tell its format."""
    with naming(path, "a file with its ending, such as NAME.npz"):
        version_of(path)  # which tells if there is no such file
    endings = f"expected one that ends in {', '.join(form.endings for form in FORMATS)}, or "
    reason = f"{path}: its name does not tell its format; {endings}"
    return ValueError(Message(reason, ScanField("input_format")))


def completed(path: Path) -> Path:
    """Return the labels of a top-k list where their NAME alone stands for them."""
    names = (path.with_name(path.name + end) for end in PAIRS if path.name)
    return path if is_there(path) and not path.is_dir() else next(filter(is_there, names), path)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = _of_known_formats([*path.iterdir()])
        missing = f"{path}: is a directory; expected a file, or a folder of files in known formats"
    elif glob.has_magic(str(path)) and not is_there(completed(path)):
        files = path.matches() if isinstance(path, RemotePath) else [*map(Path, glob.glob(str(path)))]
        missing = f"{path}: no file matches"
    else:
        return [path]
    # the two files of a top-k list are one shard
    stems = ((file, file.name.removesuffix(end), PAIRS[end]) for file in files for end in PAIRS)
    second_files = {file.with_name(stem + end) for file, stem, end in stems if stem != file.name}
    if not files:
        raise ValueError(missing)
    return sorted({*files} - second_files, key=in_order)


def _of_known_formats(files: list[Path]) -> list[Path]:
    """Return the files of a folder that hold data; next to arrays, CSV and JSON may hold anything."""
    for has_pieces in (True, False):
        endings = tuple(end for form in FORMATS for end in form.extensions if bool(form.pieces) == has_pieces)
        known = [file for file in files if file.name.lower().endswith(endings) and file.name[0] != "."]
        if known:
            return known
    return []


def in_order(path: Path) -> list[tuple[bool, int, str]]:
    """Sort by the numbers in a name: part_10 comes after part_9."""
    parts = [(whole_number(part), part) for part in re.split("([0-9]+)", str(path))]
    return [(number is not None, number or 0, part) for number, part in parts]
