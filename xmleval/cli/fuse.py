"""`xmleval fuse`: the lists of several models, joined into one as they are read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from xmleval.budget import MEMORY, Budget, memory_bytes
from xmleval.cli.convert import find_files, refuse_other_kind, writer_of
from xmleval.cli.help import Choice
from xmleval.cli.messages import on_terminal, spelled, tell, tell_notes
from xmleval.cli.options import (
    COUNT,
    FILE,
    FORMAT,
    LABEL_COUNT,
    MEASURES,
    NUMBER,
    Opt,
    Parsed,
    command,
    named,
)
from xmleval.cli.output import check_outputs, write_result
from xmleval.evaluation.counting import naming_files, naming_rows, progress
from xmleval.evaluation.inputs import notes_of, read_like, read_predictions, told_by
from xmleval.fusion import OTHER_NAMES, RANK_CONSTANT, RULES, Fusion, Part, Rising, longest_of
from xmleval.input.csr import rows_at_a_time
from xmleval.input.formats.format import Format
from xmleval.input.formats.trec import RUN, save
from xmleval.input.match import as_scores, join_models
from xmleval.input.pieces import Pieces, RowReader, count_columns, whole
from xmleval.input.rows import rows_by_id
from xmleval.input.shards import Input
from xmleval.input.stack import stack_rows
from xmleval.message import NO_MATCH, RISING, counted
from xmleval.numerals import decimal_number
from xmleval.records import Ranking

T = TypeVar("T")


class Lists(NamedTuple):
    """The rows of each model, and their names and those of their labels, None where there are numbers."""

    each: list[tuple[str, Pieces]]
    label_names: list[str] | None = None
    row_names: list[str] | None = None


def read_weights(text: str) -> list[float]:
    """Cut a list of numbers at its commas."""
    found = [decimal_number(item.strip(" ")) for item in text.split(",")]
    if None in found:
        raise ValueError(f"{text!r} is not a list of numbers, as in 1,0.5.")
    return [float(number or 0) for number in found]


OPTIONS = {
    "rule": Opt(
        "--rule",
        Choice([*RULES, *OTHER_NAMES]),
        "What a label adds up, over the SCORES that list it. "
        + " ".join(f"{name}: {told}." for name, told in RULES.items())
        + f" Also known as: {', '.join(f'{other} ({name})' for other, name in OTHER_NAMES.items())}.",
        named("RULE", default="rrf", show_default=True),
    ),
    "k": Opt("--k", COUNT, "How many labels of each row to keep; default all."),
    "weights": Opt("--weights", Parsed(read_weights), "Weights of the SCORES, such as 1,0.5.", named("LIST")),
    "rank_constant": Opt(
        "--rank-constant",
        NUMBER,
        f"Of rrf: what ranks are added to; else {RANK_CONSTANT:g}.",
        named("NUMBER"),
    ),
    "n_labels": Opt("--n-labels", LABEL_COUNT, "Number of labels, where no file tells it."),
    "higher_is_better": MEASURES["higher_is_better"],
    "like": Opt("--like", FILE, "Relevant labels with names, which number rows and labels.", named("TRUTH")),
    **FORMAT,
    "output": Opt(
        "--output", FILE, "File to write, in the format that its name tells.", named("OUT", required=True)
    ),
}


@command({"Options": OPTIONS})
@click.argument("scores", type=FILE, nargs=-1, required=True)
def fuse(
    scores: tuple[Path, ...],
    output: Path,
    rule: str,
    k: int | None,
    weights: list[float] | None,
    rank_constant: float | None,
    n_labels: int | None,
    higher_is_better: bool,
    like: Path | None,
    **options: Any,
) -> None:
    """Join the lists of several models into one, row by row.

    Each of SCORES is a file, a folder or a pattern, as `xmleval evaluate` takes them. Ties are broken by
    the smaller label. Files with names are matched by them; OUT is then a TREC run (.run), or --like
    numbers rows and labels.
    """
    writer = writer_of(output)
    refuse_other_kind(output, writer, "scores")
    with naming_files({"predictions": "SCORES"}):
        fusion = Fusion.checked(rule, len(scores), weights, rank_constant, k, higher_is_better)
    truth, *given = find_files([(like, "truth"), *((path, "scores") for path in scores)], options)
    for path in (output, *writer.beside(output)):
        check_outputs([], [like, *scores], [path], options["input_format"])
    lists = _open(given, truth, writer)
    told = told_by(lists.each)
    width = n_labels or (told[1].n_labels if told else None)
    budget = Budget(memory_bytes("memory", MEMORY))
    known = width or max(count_columns(pieces, budget.lone_piece) for _, pieces in lists.each)

    def joined(take: Callable[[list[Ranking], int], T]) -> Iterator[T]:
        return _joined(lists.each, fusion, known, budget.piece(len(lists.each)), take)

    longest = (
        max(joined(lambda rankings, start: longest_of(rankings)), default=0) if fusion.of_all_rows else 0
    )
    rising = [Rising() for _ in lists.each]
    n_rows, n_entries = 0, 0

    def fused(rankings: list[Ranking], start: int) -> Part:
        nonlocal n_rows, n_entries
        for seen, ranking in zip(rising, rankings, strict=True):
            seen.look_at(ranking)
        part = fusion.join(rankings, longest, start)
        part = fusion.best(part) if width is None else fusion.rising(part)
        n_rows, n_entries = n_rows + part[0].size - 1, n_entries + part[1].size
        return part

    _write(output, writer, lists, width, joined(fused))
    for (name, _), seen in zip(lists.each, rising, strict=True):
        if seen:
            tell(name, spelled(RISING))
    lists_of = f"{counted(n_rows, 'rows')} x {counted(known, 'labels')}"
    write_result(f"{lists_of}, {n_entries} listed ({fusion.rule} of {len(given)})", None)


def _open(given: list[Input], truth: Input | None, writer: Format) -> Lists:
    """Return the rows of all inputs, by names of rows and labels where they have any."""
    names = [one.name for one in given]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"{twice}: given twice; expected different SCORES")
    if not any(one.named for one in given) and truth is None:
        return Lists([(one.name, one.pieces()) for one in given])
    row_names, first = None, list[str]()
    if truth is None:
        other = next((one.name for one in given if not one.named), None)
        if other is not None:
            raise ValueError(f"{other}: has no names, which others of SCORES have; expected all by name")
        if writer is not RUN:
            raise ValueError(
                f"{given[0].name}: has names; expected a TREC run (.run) as --output, or --like with the "
                "truth that they belong to"
            )
        models = [(one.name, read_predictions(one)) for one in given]
        for name, rows in models:
            tell_notes(notes_of(name, rows.origin))
    else:
        like, matched, notes = read_like(truth, given)
        tell_notes(notes)
        row_names, first = [*like.row_names], like.label_names
        models = [
            (one.name, rows._replace(names=names)) for one, (rows, names) in zip(given, matched, strict=True)
        ]
    joined = join_models(models, first)
    names = joined.row_names or row_names or [*map(str, range(models[0][1].n_rows))]
    each = [
        (name, whole(as_scores(rows, joined.label_names), len(joined.label_names)))
        for (name, _), rows in zip(models, joined.scores, strict=True)
    ]
    return Lists(each, joined.label_names, names)


def _joined(
    each: Sequence[tuple[str, Pieces]],
    fusion: Fusion,
    n_labels: int,
    n_bytes: int,
    take: Callable[[list[Ranking], int], T],
) -> Iterator[T]:
    """Read all models side by side, and yield what is taken of the same rows of each."""
    with contextlib.ExitStack() as opened:
        readers = []
        for name, pieces in each:
            readers.append(RowReader(name, pieces, n_bytes))
            opened.callback(readers[-1].close)
        names = {f"predictions[{number}]": reader for number, reader in enumerate(readers)}
        for reader in readers:
            _refuse_other_count(reader, reader.n_rows, readers[0], readers[0].n_rows)
        show = opened.enter_context(progress(readers[0].n_rows, 0, on_terminal()))
        while n := min(reader.ready() for reader in readers):
            with naming_rows(names, readers[0].n_taken):
                rows = [fusion.rows_of(name, one.take(n), None, n_labels) for name, one in names.items()]
                size = rows_at_a_time(sum(one.bytes_per_row for one in rows))
                for start in range(0, n, size):
                    yield take([one.block(start, min(start + size, n)) for one in rows], start)
            show(readers[0].n_taken)
        for reader in readers:
            _refuse_other_count(reader, reader.count(), readers[0], readers[0].count())


def _refuse_other_count(
    reader: RowReader, n_rows: int | None, first: RowReader, expected: int | None
) -> None:
    if n_rows is not None and expected is not None and n_rows != expected:
        raise ValueError(f"{reader.name}: {counted(n_rows, *NO_MATCH)} the {expected} of {first.name}")


def _write(output: Path, writer: Format, lists: Lists, width: int | None, parts: Iterator[Part]) -> None:
    """Write fused rows as they come where the format allows, else once they are whole."""
    assert writer.write
    if width is None:
        lists = stack_rows(rows_by_id(*part, best_first=True) for part in parts)
        writer.write(output, lists, "scores", None)
        return
    rows = (rows_by_id(ptr, labels, scores) for ptr, labels, scores in parts)
    n_rows = next((pieces.n_rows for _, pieces in lists.each if pieces.n_rows is not None), None)
    data: Any = Pieces(n_rows, width, lambda n_bytes: rows)
    if n_rows is None:
        data = stack_rows(rows)
    if writer is RUN:
        save(output, data, "scores", lists.row_names, lists.label_names)
    else:
        writer.write(output, data, "scores", width)
