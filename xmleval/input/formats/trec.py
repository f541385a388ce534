"""TREC's files: qrels with judgements, runs with scores; rows and labels have names in them."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.trec_texts import are_ranks, claims_qrels, claims_run, first_fields
from xmleval.input.lines import numbered_lines, shown
from xmleval.input.names import scores_named, truth_named
from xmleval.input.pieces import Pieces, whole
from xmleval.input.rows import BY_KEY, CHECKED_BYTES, ENTRY_BYTES, Facts, Named, Rows, numbered, rows_by_id
from xmleval.input.writing import canonical, replacing_text
from xmleval.numerals import decimal_number, whole_number

MOST_FIELDS, MOST_DIGITS = 6, 18
PLAIN = re.compile("[-+.0-9EINFATYeinfaty]*")  # of which `float` reads decimal numbers alone
TAG = "xmleval"


def read_qrels(
    path: str | os.PathLike[str], labels: list[str] | None = None, *, grades: bool = False
) -> Named:
    r"""Read relevant labels from TREC qrels.

    Parameters
    ----------
    path : path
        Lines ``qid iteration docid rel``, in any order, packed by gzip or not. A label is relevant where
        ``rel`` is positive; other judgements give it and its instance a place, nothing more.
    labels : list of str, optional
        Names of all labels by column, as `read_names` reads them; by default those of the file, in the
        order in which they appear first.
    grades : bool, default False
        Whether to keep ``rel`` of all judged labels, as `xmleval.evaluate` takes them with ``gains``.

    Returns
    -------
    Named
        Rows are in the order in which they appear first.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If a line is malformed or judges a label again, or names a label that is not one of ``labels``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from xmleval import evaluate
    >>> from xmleval.io import read_qrels, read_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qrels, run = Path(folder) / "news.qrels", Path(folder) / "model.run"
    ...     _ = qrels.write_text("q7 0 sport 1\nq7 0 art 0\nq9 0 art 2\n")
    ...     _ = run.write_text("q9 Q0 art 1 0.9 model\nq9 Q0 law 2 0.4 model\n")
    ...     truth = read_qrels(qrels)
    ...     scores = read_run(run, truth)
    >>> truth.row_names, truth.label_names, truth.matrix.toarray().tolist()
    (['q7', 'q9'], ['sport', 'art'], [[1, 0], [0, 1]])
    >>> scores.label_names, scores.matrix.toarray().tolist()
    (['sport', 'art'], [[0.0, 0.0, 0.0], [0.0, 0.9, 0.4]])
    >>> scores.n_empty, scores.n_ignored, scores.unknown_labels
    (1, 0, ['law'])
    >>> evaluate(truth, scores, metrics=["p@1"])["p@1"]
    0.5
    """
    batches = partial(qrels_batches, as_path(path), "grades" if grades else "truth", UNLIMITED)
    return truth_named(str(path), batches, labels, grades)


def read_run(path: str | os.PathLike[str], like: Named | list[str]) -> Named:
    r"""Read scores from a TREC run, brought in line with the truth.

    Parameters
    ----------
    path : path
        Lines ``qid Q0 docid rank score tag``, in any order, packed by gzip or not. Ranks are passed over:
        as in trec_eval, the scores give the order, and of equal ones the later name is first.
    like : Named or list of str
        The truth, as `read_qrels` reads it, or names of labels: rows are then in the order in which they
        appear first.

    Returns
    -------
    Named
        Scores in float64, in rows as the truth has them. Labels that the truth does not name are in columns
        behind its own.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If a line is malformed, scores a label of an instance again, or a score is NaN.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from xmleval.io import read_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.run").write_text("q1 Q0 dog 1 0.75 a\n")
    ...     scores = read_run(Path(folder) / "a.run", ["cat", "dog"])
    >>> scores.matrix.toarray().tolist()
    [[0.0, 0.75]]
    """
    return scores_named(str(path), partial(run_batches, as_path(path), "scores", UNLIMITED), like)


def qrels_batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield judgements, a row for each."""
    told = ["read as TREC qrels, by its first lines"] * claims_qrels(path, None)
    return _batches(path, JUDGEMENTS, Facts(told=told), allowance)


def run_batches(path: Path, kind: str, allowance: Allowance) -> Iterator[Rows]:
    """Yield scores, a row for each."""
    if are_ranks(path, first_fields(path)):
        return _batches(path, RANKS, Facts(told=["read as a run of MS MARCO, by rank"]), allowance)
    told = ["read as a TREC run, by its first lines"] * claims_run(path, None)
    return _batches(path, SCORES, Facts(told=told), allowance)


def _batches(path: Path, layout: Layout, facts: Facts, allowance: Allowance) -> Iterator[Rows]:
    with naming(path, layout.expected):
        lines, n_bytes = Lines(), 0
        for number, line in numbered_lines(InputFile(path), "strict", allowance):
            fields = line.split(maxsplit=MOST_FIELDS)
            if len(fields) != layout.n_fields:
                layout.rows(lines, facts)  # what is wrong before
                more = " or more" if len(fields) > MOST_FIELDS else ""
                raise ValueError(f"line {number}: {len(fields)}{more} fields, not {layout.n_fields}")
            lines.keys.append(fields[0])
            lines.labels.append(fields[layout.label])
            lines.values.append(fields[layout.value])
            lines.numbers.append(number)
            n_bytes += len(line) + ENTRY_BYTES
            if n_bytes > CHECKED_BYTES:
                yield layout.rows(lines, facts)
                lines, n_bytes = Lines(), 0
        yield layout.rows(lines, facts)


def _whole_numbers(texts: Sequence[str], least: float, told: str) -> NDArray[np.float64]:
    numbers = [whole_number(text) for text in texts]
    for text, number in zip(texts, numbers, strict=True):
        if number is None or not least <= number < 10**MOST_DIGITS:
            raise ValueError(told.format(shown(text)))
    return np.array(numbers, np.float64)


def _judgements(texts: Sequence[str]) -> NDArray[np.float64]:
    return _whole_numbers(texts, 1 - 10**MOST_DIGITS, "relevance {} is not an integer")


def _negative_ranks(texts: Sequence[str]) -> NDArray[np.float64]:
    return -_whole_numbers(texts, 1, "rank {} is not a number from 1 up")


def _scores(texts: Sequence[str]) -> NDArray[np.float64]:
    if PLAIN.fullmatch("".join(texts)):
        with contextlib.suppress(ValueError):  # which the first of them tells below
            scores = np.fromiter(map(float, texts), np.float64, len(texts))
            if not np.isnan(scores).any():
                return scores
    for text in texts:
        score = decimal_number(text)
        if score is None or math.isnan(score):
            raise ValueError(f"score {shown(text)} is not a number")
    raise AssertionError("a score that is no number")


class Lines:
    """Fields of lines, and the numbers of these, in lists of texts, which garbage collection passes over."""

    def __init__(self) -> None:
        self.keys, self.labels, self.values = list[str](), list[str](), list[str]()
        self.numbers: list[int] = []


class Layout(NamedTuple):
    """What the fields of lines are: an instance is the first; ``label`` and ``value`` are places of others.

    ``numbers`` makes numbers of texts, or refuses the first that is none.
    """

    expected: str
    n_fields: int
    label: int
    value: int
    numbers: Callable[[Sequence[str]], NDArray[np.float64]]

    def rows(self, lines: Lines, facts: Facts) -> Rows:
        """Return lines as rows of one label each."""
        try:
            values = self.numbers(lines.values)
        except ValueError:
            for number, text in zip(lines.numbers, lines.values, strict=True):
                try:
                    self.numbers([text])
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
            raise
        places, ptr = np.array(lines.numbers, np.int64), np.arange(len(lines.keys) + 1)
        of_names = *numbered(lines.labels), values, False, places
        return Rows(lines.keys, BY_KEY, ptr, *of_names, is_long=True, beside=facts)


JUDGEMENTS = Layout("TREC qrels, lines of: instance, 0, label, relevance", 4, 2, 3, _judgements)
SCORES = Layout("a TREC run, lines of: instance, Q0, label, rank, score, tag", 6, 2, 4, _scores)
RANKS = Layout("a run of MS MARCO, lines of: instance, label, rank", 3, 1, 2, _negative_ranks)


class _FoundNameError(Exception):
    """What stops reading qrels by number."""


class _GapError(ValueError):
    """Numbers of instances that leave some out."""


def qrels_by_number(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces | None:
    """Read qrels whose names are the numbers of their rows and labels; None where any is not."""
    taken = allowance.taken

    def batches() -> Iterator[Rows]:
        return map(_refuse_names, _batches(path, JUDGEMENTS, Facts(), allowance))

    try:
        return _by_number(truth_named(str(path), batches, None, kind == "grades", allowance))
    except _FoundNameError:
        return None
    except _GapError:
        allowance.taken = taken  # it is read again
        return None


def qrels_pieces(path: Path, kind: str, allowance: Allowance) -> Pieces:
    """Read qrels whose names are the numbers of their rows and labels, as `write_qrels` writes them."""
    batches = partial(qrels_batches, path, kind, allowance)
    named = truth_named(str(path), batches, None, kind == "grades", allowance)
    with naming(path, "instances and labels that are called by their numbers, from 0"):
        return _by_number(named)


def _is_number(name: str) -> bool:
    plain = name.isascii() and name.isdecimal() and len(name) <= MOST_DIGITS
    return plain and str(int(name)) == name


def _refuse_names(rows: Rows) -> Rows:
    if not all(map(_is_number, chain(dict.fromkeys(rows.keys or ()), rows.names or ()))):
        raise _FoundNameError
    return rows


def _by_number(named: Named) -> Pieces:
    rows, labels = _numbers("instance", named.row_names), _numbers("label", named.label_names)
    if rows.size and rows.max() != rows.size - 1:
        raise _GapError(f"instance {rows.max()}, of {rows.size}")
    matrix = named.matrix[np.argsort(rows)]
    found = rows_by_id(matrix.indptr.astype(np.int64), labels[matrix.indices], matrix.data)
    return whole(found, int(labels.max(initial=-1)) + 1)


def _numbers(kind: str, names: list[str]) -> Any:
    for name in names:
        if not _is_number(name):
            raise ValueError(f"{kind} {shown(name)} is not called by a number")
    return np.array([int(name) for name in names], np.int64)


def write_qrels(
    path: str | os.PathLike[str],
    truth: Any,
    row_names: list[str] | None = None,
    label_names: list[str] | None = None,
) -> None:
    """Write relevant labels as TREC qrels.

    Parameters
    ----------
    path : path
        File to write; it appears when it is whole. Compressed by gzip where its name ends in .gz.
    truth : sparse or dense array of shape (m, l), or Pieces
        Relevant labels.
    row_names, label_names : list of str, optional
        Names without blanks; by default the numbers of rows and labels, from 0.

    Notes
    -----
    A row without labels, and the last label where none has it, would be lost. They are written as judged
    and not relevant.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from xmleval.io import write_qrels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_qrels(Path(folder) / "news.qrels", np.eye(2))
    ...     text = (Path(folder) / "news.qrels").read_text()
    >>> print(text)
    0 0 0 1
    1 0 1 1
    <BLANKLINE>
    """
    with replacing_text(Path(path)) as file:
        first, last, last_is_there = 0, -1, False
        for n_labels, block in canonical(truth, "truth"):
            last = n_labels - 1
            for row, labels, _ in _rows(block, first):
                name = _name(row_names, row, "row")
                last_is_there |= last in labels[-1:]
                lines = [f"{name} 0 {_name(label_names, label, 'label')} 1\n" for label in labels]
                if not labels:
                    last_is_there = True
                    lines = [f"{name} 0 {_name(label_names, last, 'label')} 0\n"]
                file.write("".join(lines).encode())
            first += block.ptr.size - 1
        if first and not last_is_there:
            line = f"{_name(row_names, 0, 'row')} 0 {_name(label_names, last, 'label')} 0\n"
            file.write(line.encode())


def write_run(
    path: str | os.PathLike[str],
    scores: Any,
    row_names: list[str] | None = None,
    label_names: list[str] | None = None,
) -> None:
    """Write scores as a TREC run, the labels of each row best first.

    Parameters
    ----------
    path : path
        File to write; it appears when it is whole. Compressed by gzip where its name ends in .gz.
    scores : sparse or dense array of shape (m, l), (labels, scores) arrays of shape (m, k), or Pieces
        As `xmleval.evaluate` takes them. Lists without scores get the negative rank for one.
    row_names, label_names : list of str, optional
        Names without blanks; by default the numbers of rows and labels, from 0.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from xmleval.io import write_run
    >>> lists = np.array([[1, 0]]), np.array([[0.75, 0.5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_run(Path(folder) / "a.run", lists)
    ...     text = (Path(folder) / "a.run").read_text()
    >>> print(text)
    0 Q0 1 1 0.75 xmleval
    0 Q0 0 2 0.5 xmleval
    <BLANKLINE>
    """
    with replacing_text(Path(path)) as file:
        first = 0
        for _, block in canonical(scores, "scores"):
            for row, labels, values in _rows(block, first):
                name = _name(row_names, row, "row")
                lines = [
                    f"{name} Q0 {_name(label_names, label, 'label')} {rank} {value!r} {TAG}\n"
                    for rank, (label, value) in enumerate(zip(labels, values, strict=True), start=1)
                ]
                file.write("".join(lines).encode())
            first += block.ptr.size - 1


def _rows(block: Any, first: int) -> Iterator[tuple[int, list[int], list[float]]]:
    """Yield the number, labels and scores of each row of a canonical block."""
    scores = getattr(block, "scores", None)
    for i in range(block.ptr.size - 1):
        cut = slice(block.ptr[i], block.ptr[i + 1])
        labels = block.labels[cut].tolist()
        values = [-float(rank + 1) for rank in range(len(labels))] if scores is None else scores[cut].tolist()
        yield first + i, labels, values


def _name(names: list[str] | None, number: int, kind: str) -> str:
    if names is None:
        return str(number)
    if number >= len(names):
        raise ValueError(f"{kind}_names has {len(names)} names; {kind} {number} has none")
    if names[number].split() != [names[number]]:
        raise ValueError(f"{kind}_names: {shown(names[number])} is not one word, as TREC's files need")
    return names[number]


QRELS = Format(
    name="qrels",
    title="TREC qrels with numbers for names",
    files="NAME.qrels or NAME.qrels.gz; .txt, .tsv or .trec of such lines",
    extensions=(".qrels", ".qrels.gz"),
    claims=claims_qrels,
    sibling="run",
    holds=("truth",),
    pieces=qrels_pieces,
    rows=qrels_batches,
    by_number=qrels_by_number,
    write=lambda path, data, kind, n_labels: write_qrels(path, data),
)
RUN = Format(
    name="run",
    title="TREC run",
    files="NAME.run or NAME.run.gz, with TREC qrels or a named truth; .txt, .tsv or .trec of such lines",
    extensions=(".run", ".run.gz"),
    claims=claims_run,
    sibling="qrels",
    holds=("scores",),
    rows=run_batches,
    write=lambda path, data, kind, n_labels: write_run(path, data),
    by_pieces=True,
)
