"""TREC's files: qrels with judgements, runs with scores; rows and labels have names in them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path
from xmleval.input.formats.format import Format, NamedReaders, naming
from xmleval.input.formats.trec_texts import are_ranks, claims_qrels, claims_run, first_fields
from xmleval.input.lines import numbered_lines, shown
from xmleval.input.names import CHECKED_BYTES, ENTRY_BYTES, Gathering, Named
from xmleval.input.pieces import Pieces
from xmleval.input.reader import whole
from xmleval.input.writing import canonical, replacing_text
from xmleval.numerals import decimal_number, whole_number

JUDGEMENTS = "TREC qrels, lines of: instance, 0, label, relevance"
SCORES = "a TREC run, lines of: instance, Q0, label, rank, score, tag"
RANKS = "a run of MS MARCO, lines of: instance, label, rank"
MOST_FIELDS, MOST_DIGITS = 6, 18
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
    (['sport', 'art', 'law'], [[0.0, 0.0, 0.0], [0.0, 0.9, 0.4]])
    >>> scores.n_empty, scores.n_ignored, scores.n_new_labels
    (1, 0, 1)
    >>> truth.widened(scores.label_names).matrix.shape
    (2, 3)
    """
    return _qrels_within(as_path(path), labels, UNLIMITED, grades)


def _qrels_within(path: Path, labels: list[str] | None, allowance: Allowance, grades: bool = False) -> Named:
    found = _gather(path, JUDGEMENTS, Gathering(None, labels, grades), _judgement, allowance)
    if claims_qrels(path, None):
        found = replace(found, told=(*found.told, "read as TREC qrels, by its first lines"))
    return found


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
        Scores in float64, in rows as the truth has them. Labels that the truth does not name stand behind
        its own; `Named.widened` gives the truth their columns. If the truth was read with a list of labels,
        other labels are refused.

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
    return _run_within(as_path(path), like, UNLIMITED)


def _run_within(path: Path, like: Named | list[str], allowance: Allowance) -> Named:
    if are_ranks(path, first_fields(path)):
        found = _gather(path, RANKS, Gathering(like), _ranking, allowance)
        return replace(found, told=(*found.told, "read as a run of MS MARCO, by rank"))
    found = _gather(path, SCORES, Gathering(like), _scoring, allowance)
    if claims_run(path, None):
        found = replace(found, told=(*found.told, "read as a TREC run, by its first lines"))
    return found


def _gather(
    path: Path,
    expected: str,
    entries: Gathering,
    parse: Callable[[list[str]], tuple[str, str, float]],
    allowance: Allowance,
) -> Named:
    n_bytes = 0
    with naming(path, expected):
        for number, line in numbered_lines(InputFile(path), "strict", allowance):
            try:
                entries.add(*parse(line.split(maxsplit=MOST_FIELDS)), number)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            n_bytes += len(line) + ENTRY_BYTES
            if n_bytes > CHECKED_BYTES:
                allowance.check(entries.n_bytes)
                n_bytes = 0
        return entries.finish(allowance)


def _refuse_other_than(wanted: int, fields: list[str]) -> None:
    if len(fields) != wanted:
        more = " or more" if len(fields) > MOST_FIELDS else ""
        raise ValueError(f"{len(fields)}{more} fields, not {wanted}")


def _judgement(fields: list[str]) -> tuple[str, str, float]:
    _refuse_other_than(4, fields)
    row, _, label, relevance = fields
    number = whole_number(relevance)
    if number is None or abs(number) >= 10**MOST_DIGITS:
        raise ValueError(f"relevance {shown(relevance)} is not an integer")
    return row, label, number


def _scoring(fields: list[str]) -> tuple[str, str, float]:
    _refuse_other_than(6, fields)
    row, _, label, _, text, _ = fields
    score = decimal_number(text)
    if score is None or math.isnan(score):
        raise ValueError(f"score {shown(text)} is not a number")
    return row, label, score


def _ranking(fields: list[str]) -> tuple[str, str, float]:
    _refuse_other_than(3, fields)
    row, label, text = fields
    rank = whole_number(text)
    if rank is None or not 0 < rank < 10**MOST_DIGITS:
        raise ValueError(f"rank {shown(text)} is not a number from 1 up")
    return row, label, -float(rank)


class _FoundNameError(Exception):
    """What stops reading qrels by number."""


class _GapError(ValueError):
    """Numbers of instances that leave some out."""


def qrels_by_number(path: Path, kind: str, allowance: Allowance = UNLIMITED) -> Pieces | None:
    """Read qrels whose names are the numbers of their rows and labels; None where any is not."""
    taken = allowance.taken
    try:
        entries = Gathering(None, None, kind == "grades")
        return whole(_by_number(_gather(path, JUDGEMENTS, entries, _numbered_judgement, allowance)))
    except _FoundNameError:
        return None
    except _GapError:
        allowance.taken = taken  # it is read again
        return None


def read_numbered_qrels(path: Path) -> Any:
    """Read qrels whose names are the numbers of their rows and labels, as `write_qrels` writes them."""
    named = read_qrels(path)
    with naming(path, "instances and labels that are called by their numbers, from 0"):
        return _by_number(named)


def _is_number(name: str) -> bool:
    plain = name.isascii() and name.isdecimal() and len(name) <= MOST_DIGITS
    return plain and str(int(name)) == name


def _numbered_judgement(fields: list[str]) -> tuple[str, str, float]:
    if len(fields) == 4 and not (_is_number(fields[0]) and _is_number(fields[2])):
        raise _FoundNameError
    return _judgement(fields)


def _by_number(named: Named) -> Any:
    rows, labels = _numbers("instance", named.row_names), _numbers("label", named.label_names)
    if rows.size and rows.max() != rows.size - 1:
        raise _GapError(f"instance {rows.max()}, of {rows.size}")
    matrix = named.matrix.tocoo()
    shape = rows.size, int(labels.max(initial=-1)) + 1
    return scipy.sparse.coo_array((matrix.data, (rows[matrix.row], labels[matrix.col])), shape=shape).tocsr()


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
    truth=read_numbered_qrels,
    named=NamedReaders(qrels_by_number, _qrels_within, None, grades=partial(_qrels_within, grades=True)),
    graded=True,
    write=lambda path, data, kind, n_labels: write_qrels(path, data),
)
RUN = Format(
    name="run",
    title="TREC run",
    files="NAME.run or NAME.run.gz, with TREC qrels or a named truth; .txt, .tsv or .trec of such lines",
    extensions=(".run", ".run.gz"),
    claims=claims_run,
    sibling="qrels",
    named=NamedReaders(lambda path, kind, allowance: None, None, _run_within),
    write=lambda path, data, kind, n_labels: write_run(path, data),
    by_pieces=True,
)
