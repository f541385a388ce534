"""Files of one input, found by name, folder or pattern, and the formats of their names."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from xmleval.base.budget import PIECE_BYTES, memory_limit
from xmleval.base.errors import InputError, Keyword, Message, ScanField, shown
from xmleval.base.numerals import whole_number
from xmleval.files.input import InputFile, version_of
from xmleval.files.remote import RemotePath, as_path, is_there
from xmleval.input.argument_types import FilePath
from xmleval.input.beir import find_judgements
from xmleval.input.cell_marks import keeps_values
from xmleval.input.columns import is_other_order
from xmleval.input.formats.arrays import NPY, NPZ, PAIRS, holds_list, is_named_list_file
from xmleval.input.formats.arrow import ARROW, further_columns_of, hash_columns
from xmleval.input.formats.format import Fields, FileAt, Format, naming
from xmleval.input.formats.known import format_named, format_of_ending, known_formats
from xmleval.input.formats.trec import QRELS, RUN
from xmleval.input.match import PREDICTIONS, Batches
from xmleval.input.opened import Opened, kind_of
from xmleval.input.pieces import Pieces
from xmleval.input.pieces import joined as joined_pieces
from xmleval.input.row_columns import ColumnValueError, RowColumn
from xmleval.input.scan import Scan, fields_of_scan
from xmleval.input.stack import read_named, rows_as_csr, stack_rows

T = TypeVar("T", bound=Opened | None)


class Shard(NamedTuple):
    """One file, whole in memory or not."""

    path: Path
    format: Format


@dataclass(frozen=True)
class OpenedFiles(Opened):
    """One file of an argument, or several that follow one another.

    shards : the files, in order, without companion files
    row_values : names of columns with values of rows, and neither labels nor scores
    scan : the options of `scan`, if it was called
    fields, file_at : names of their fields, and the function that opens a file, once they are known
    """

    shards: Sequence[Shard] = ()
    row_values: tuple[str, ...] = ()
    scan: Scan | None = None
    fields: Fields | None = None
    file_at: FileAt | None = None

    @cached_property
    def each(self) -> list[tuple[Shard, Pieces]]:
        """The files and their rows; to find out whether they have names, all may be read."""
        first = self.shards[0]
        if first.format.together:
            pieces = first.format.read_together(self.paths, self.kind)
            if pieces:
                return [(first, pieces)]
        return [(shard, shard.format.read(shard.path, self.kind)) for shard in self.shards]

    @property
    def format(self) -> Format:
        """The format of the first file."""
        return self.shards[0].format

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns of the first file; empty unless it is a table."""
        path, form = self.shards[0]
        if form.columns is None:
            return []
        return form.columns(path)

    def row_column(self, name: str) -> RowColumn:
        """Return the values of a column of tables, for each row."""
        column = RowColumn(name)
        for path, form in self.shards:
            if form.row_cells is None:
                raise ValueError(f"{path}: a {form.title} has no columns")
            table = form.row_cells(path, self.kind, [name])
            for key, (cell,), place in table.entries:
                try:
                    column.add(key, cell, table.unit, place)
                except ColumnValueError as error:
                    raise ValueError(f"{path}: {error}") from None
        memory_limit().take(column.n_bytes)
        return column

    @property
    def paths(self) -> list[Path]:
        """The files without companion files; they must have the same format."""
        first_path, first_format = self.shards[0]
        for path, form in self.shards:
            if form.name != first_format.name:
                reason = f"{path}: is a {form.title}, but {first_path} is a {first_format.title}"
                expected = "files whose rows or labels have names must have one format"
                raise ValueError(f"{reason}; {expected}")
        return [shard.path for shard in self.shards]

    @property
    def named(self) -> bool:
        """Whether rows or labels have names."""
        return any(pieces.named for _, pieces in self.each)

    @cached_property
    def label_columns(self) -> Sequence[str] | None:
        """The labels of tables with a column for each label, None of other files."""
        if self.fields is not None and self.fields.name_labels:
            return None
        path, form = self.shards[0]
        is_truth = self.argument not in (*PREDICTIONS, "candidates")
        return form.label_columns(path, self.kind if is_truth else "scores")

    @property
    def is_list(self) -> bool:
        """Whether the files can only be a list of predictions, not a truth."""
        path, form = self.shards[0]
        if "truth" not in form.holds or is_named_list_file(path):
            return True
        return form is NPZ and holds_list(path)

    @property
    def holds_both(self) -> bool:
        """Whether a file of relevant labels also has predictions."""
        path, form = self.shards[0]
        return form.holds_both(path)

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        paths = list[Path]()
        for shard in self.shards:
            paths.append(shard.path)
            paths += shard.format.companions(shard.path)
        return paths

    @property
    def keep(self) -> str | None:
        """What is kept of a label that a row lists several times, by `scan`."""
        return None if self.scan is None else self.scan.keep

    def pieces(self) -> Pieces:
        """Return the rows by number."""
        if self.keep is not None:
            option = ScanField("keep", self.keep)
            raise ValueError(
                Message(f"{self.name}: ", option, " is for rows and labels with names")
            )
        if len(self.each) < len(self.shards):
            return self.each[0][1]
        return joined_pieces([(str(shard.path), pieces) for shard, pieces in self.each])

    def batches(self, kind: str) -> Batches | None:
        """Return a reader of rows with names, of a truth or scores; None if the files have none."""
        form = self.format
        if form.rows is None or kind not in form.holds:
            return None
        if form.are_ids and not self.named:
            return None
        kind_of_rows = self.kind if kind == "truth" else kind
        read_rows = partial(form.rows, self.paths, kind_of_rows)
        if self.keep is None:
            return read_rows
        return lambda: (rows._replace(keep=self.keep) for rows in read_rows())

    def numbers_labels(self, names: Sequence[str]) -> bool:
        """Return whether its labels are positions in ``names`` and not names themselves."""
        if self.named:
            return False
        form = self.format
        if form.rows is None or form.are_ids:
            return True
        return all(whole_number(name) is None for name in names)

    def beside_judgements(self) -> OpenedFiles:
        """Return predictions that may lack the field of scores, used by the truth for grades."""
        if self.fields is None or self.file_at is None:
            return self
        fields = self.fields._replace(score_of_truth=True)
        return _with_fields(self, fields, self.file_at)

    def refuse_other_order(self, truth: Opened) -> None:
        """Refuse tables by number if a column has the values of the truth in another order."""
        if not isinstance(truth, OpenedFiles):
            return
        if any(shard.format.name != ARROW.name for shard in (*truth.shards, *self.shards)):
            return
        shared = _shared_columns(truth, self)
        if not shared:
            return
        expected = hash_columns([shard.path for shard in truth.shards], shared)
        hashes = hash_columns([shard.path for shard in self.shards], shared)
        for column in shared:
            if is_other_order(hashes[column], expected[column]):
                reason = f"{self.name}: column {shown(column)} has the values of "
                hint = "'s in another order; call it 'instance' in both to match rows by it"
                raise ValueError(Message(reason, Keyword("y_true"), hint))


def _shared_columns(truth: OpenedFiles, predictions: OpenedFiles) -> list[str]:
    """Return the further columns of tables that every shard has."""
    columns_of_shards = [
        further_columns_of(shard.path, side.kind, side.fields or Fields())
        for side in (truth, predictions)
        for shard in side.shards
    ]
    first_columns, *more_columns = columns_of_shards
    return [name for name in first_columns if all(name in names for names in more_columns)]


def with_fields(joined: bool, *inputs: T, labels: Sequence[str] | None = None) -> list[T]:
    """Return inputs with the names of their fields; values and None are returned unchanged.

    All inputs read one version of a file. ``joined`` is whether there are several files, whose rows
    may be joined by ids. ``labels`` are the names of all labels, if they are given.
    """
    file_at = cache(InputFile)
    truth_files = _files_of_named_labels(inputs)
    inputs_with_fields = list[Any]()
    for opened in inputs:
        if not isinstance(opened, OpenedFiles):
            inputs_with_fields.append(opened)
            continue
        fields = _fields_of(opened, joined)
        if labels is not None:
            fields = fields._replace(labels=(*map(str, labels),))
        if opened.argument in PREDICTIONS and opened.files == truth_files:
            fields = fields._replace(beside_truth=True)
        inputs_with_fields.append(_with_fields(opened, fields, file_at))
    return inputs_with_fields


def _files_of_named_labels(inputs: Iterable[Opened | None]) -> list[Path] | None:
    """Return the files of the truth if an option names its field of labels."""
    for opened in inputs:
        if isinstance(opened, OpenedFiles) and opened.argument == "y_true":
            has_label_field = opened.scan is not None and bool(opened.scan.label)
            return opened.files if has_label_field else None
    return None


def _fields_of(opened: OpenedFiles, joined: bool) -> Fields:
    """Return the names of the fields of an input; for labels by kind of input."""
    scan = opened.scan
    if scan is None:
        return Fields(joined=joined, row_values=opened.row_values)
    are_predictions = opened.argument in PREDICTIONS
    if fields_of_scan(scan) and not any(shard.format.for_fields for shard in opened.shards):
        raise refused_fields(scan, "scores_label_field" if are_predictions else "label_field")
    may_be_predictions = are_predictions or opened.argument == "candidates"
    return Fields(
        true=None if are_predictions else scan.label,
        pred=scan.label if may_be_predictions else None,
        score=scan.score,
        id=scan.instance,
        separator=scan.separator,
        joined=joined,
        row_values=opened.row_values,
    )


def refused_fields(scan: Scan, label: str = "label_field") -> ValueError:
    """Return the error about names of fields for a file without fields.

    ``label`` is the option that names the field of labels.
    """
    options = {"label": label, "score": "score_field", "instance": "instance_field"}
    name = next(iter(fields_of_scan(scan)))
    option = ScanField(options.get(name, name))
    return ValueError(Message(f"{scan}: ", option, " is for CSV, JSON Lines and Parquet"))


def _with_fields(opened: OpenedFiles, fields: Fields, file_at: FileAt) -> OpenedFiles:
    """Return an input whose formats use the names of fields."""
    shards = list[Shard]()
    for shard in opened.shards:
        if shard.format.for_fields:
            shard = shard._replace(format=shard.format.for_fields(fields, file_at))
        shards.append(shard)
    return replace(opened, shards=shards, fields=fields, file_at=file_at)


def takes_fields(path: Path, input_format: str | None) -> bool:
    """Return whether names of fields can be given for a file; False if it cannot be found."""
    try:
        shards = find_input(path, "scores", input_format).shards
    except (ValueError, OSError):
        return False
    return any(shard.format.for_fields for shard in shards)


def find_scan(argument: str, value: FilePath) -> OpenedFiles:
    """Find the files of an argument of `evaluate`, given as a path or `scan`.

    As a truth, a folder of BEIR stands for its judgements.
    """
    judgements = None
    if argument == "y_true" and format_of_ending(as_path(value).name) is None:
        judgements = find_judgements(as_path(value))
    if judgements is None:
        return replace(find_scan_of(kind_of(argument), value), argument=argument)
    file, remarks = judgements
    path: FilePath = file
    if isinstance(value, Scan):
        path = replace(value, path=file)
    return replace(find_scan_of("truth", path), remarks=remarks)


def find_scan_of(kind: str | None, value: FilePath) -> OpenedFiles:
    """Find the files of a path or `scan`; see `find_input`."""
    scan = value if isinstance(value, Scan) else None
    input_format = None if scan is None else scan.format
    opened = find_input(as_path(value), kind, input_format)
    argument = "y_score" if opened.kind == "scores" else "y_true"
    return replace(opened, argument=argument, scan=scan)


def find_input(path: Path, kind: str | None, input_format: str | None) -> OpenedFiles:
    """Find the files of a name; without a ``kind``, it follows from their format.

    "candidates" are label sets, or a list of predictions whose scores are not used.
    """
    if kind == "candidates":
        label_sets = find_input(path, "truth", input_format)
        if label_sets.is_list:
            return find_input(path, "scores", input_format)
        return label_sets
    files = _files(path)
    shards = list[Shard]()
    for file in files:
        form, whole_path = choose_format(file, input_format, kind)
        shards.append(Shard(whole_path, form))
    first_path, first_format = shards[0]
    if kind is None and len(first_format.holds) > 1:
        title = f"a {first_format.title}"
        with naming(first_path, title):
            version_of(first_path)  # raises if there is no such file
        expected = "expected --kind truth or scores"
        raise ValueError(f"{first_path}: {title} may contain truth or scores; {expected}")
    name = path if len(files) > 1 else files[0]
    return OpenedFiles(str(name), kind or first_format.holds[0], shards=shards)


def read_sets(path: FilePath) -> Any:
    """Read label sets as a sparse or dense array, or as `Named` if they have names."""
    (label_sets,) = with_fields(True, find_scan_of("truth", path))
    read_rows = label_sets.format.rows
    if label_sets.named and read_rows:
        batches = partial(read_rows, label_sets.paths, "truth")
        return read_named(label_sets.name, batches, "truth", label_sets.label_columns)
    pieces = label_sets.pieces()
    rows = stack_rows(pieces.read(PIECE_BYTES))
    if isinstance(rows, np.ndarray):
        return rows
    return rows_as_csr(rows, pieces.n_labels or pieces.least_labels)


def find_inputs(argument: str, paths: Sequence[Any]) -> OpenedFiles:
    """Find the files of an argument of `evaluate`, given as consecutive paths or scans."""
    inputs = [find_scan(argument, path) for path in paths]
    if not inputs:
        raise InputError(argument, "no file is given")
    scans_without_paths = {opened.scan and replace(opened.scan, path="") for opened in inputs}
    if len(scans_without_paths) > 1:
        message = "its files have different options of scan; give all the same"
        raise InputError(argument, message)
    shards = [shard for opened in inputs for shard in opened.shards]
    return replace(inputs[0], shards=shards)


def holds_predictions(name: str) -> bool:
    """Return whether files are a list of predictions, which cannot be read as a truth."""
    try:
        return find_input(as_path(name), "scores", None).is_list
    except (ValueError, OSError):
        return False


def choose_format(path: Path, name: str | None, kind: str | None) -> tuple[Format, Path]:
    """Return a format and a file, as `xmleval.io.find_format` does."""
    named_format = _named_format(name, kind)
    form = format_of_ending(path.name)
    whole_path = path
    if form is None:
        whole_path = completed(path)
    if whole_path != path or (kind == "scores" and is_named_list_file(path)):
        form = NPY
    if form is None:
        if named_format is None:
            raise _unknown_format(path)
        return named_format, whole_path
    if named_format is not None and _can_replace(named_format, form, kind):
        return named_format, whole_path
    return form, whole_path


def _named_format(name: str | None, kind: str | None) -> Format | None:
    """Return the format of a name; of the two TREC formats, the one that suits the kind of rows."""
    if name is None:
        return None
    form = format_named(name)
    if form is None:
        names = ", ".join(each.name for each in known_formats())
        raise ValueError(Message(ScanField("input_format", name), f" is not one of {names}"))
    if _can_hold(form, kind):
        return form
    return {QRELS.name: RUN, RUN.name: QRELS}.get(name, form)


def _can_hold(form: Format, kind: str | None) -> bool:
    """Return whether files of a format may contain a kind of rows."""
    return kind is None or keeps_values(kind) or kind in form.holds


def _can_replace(named_format: Format, format_of_ending: Format, kind: str | None) -> bool:
    """Return whether a file can be read in another format than its ending shows, as texts can."""
    formats = (named_format, format_of_ending)
    last_endings = {form.extensions[-1].rpartition(".")[2] for form in formats}  # gz for texts
    return _can_hold(named_format, kind) and len(last_endings) == 1


def _unknown_format(path: Path) -> ValueError:
    """Return the error about a file whose name does not show its format."""
    with naming(path, "a file with its ending, such as NAME.npz"):
        version_of(path)  # raises if there is no such file
    endings = (
        f"expected one that ends in {', '.join(form.endings for form in known_formats())}, or "
    )
    reason = f"{path}: its format is not known from its name; {endings}"
    return ValueError(Message(reason, ScanField("input_format")))


def completed(path: Path) -> Path:
    """Return the labels of a top-k list if NAME is given, otherwise the path itself."""
    if is_there(path) and not path.is_dir():
        return path
    candidates = (path.with_name(path.name + ending) for ending in PAIRS if path.name)
    return next(filter(is_there, candidates), path)


def _files(path: Path) -> list[Path]:
    """Return the files of a folder or pattern in order, without the second files of top-k lists."""
    if path.is_dir():
        files = _data_files([*path.iterdir()])
        missing = f"{path}: is a directory; expected a file, or a folder of files in known formats"
    elif glob.has_magic(str(path)) and not is_there(completed(path)):
        if isinstance(path, RemotePath):
            files = path.matches()
        else:
            files = [*map(Path, glob.glob(str(path)))]
        missing = f"{path}: no file matches"
    else:
        return [path]
    if not files:
        raise ValueError(missing)
    second_files = set[Path]()
    for file in files:
        for ending, second_ending in PAIRS.items():
            stem = file.name.removesuffix(ending)
            if stem != file.name:
                second_files.add(file.with_name(stem + second_ending))
    return sorted({*files} - second_files, key=in_order)


def _data_files(files: list[Path]) -> list[Path]:
    """Return the files of a folder with data; CSV and JSON next to arrays may be anything else."""
    for has_pieces in (True, False):
        endings = tuple(
            end
            for form in known_formats()
            for end in form.extensions
            if bool(form.pieces) == has_pieces
        )
        visible_files = [file for file in files if file.name[0] != "."]
        data_files = [file for file in visible_files if file.name.lower().endswith(endings)]
        if data_files:
            return data_files
    return []


def in_order(path: Path) -> list[tuple[bool, int, str]]:
    """Return the key that sorts paths by the numbers in them: part_10 comes after part_9."""
    parts = [(whole_number(part), part) for part in re.split("([0-9]+)", str(path))]
    return [(number is not None, number or 0, part) for number, part in parts]
