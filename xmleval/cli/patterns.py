"""Files in another order or number than meant, as a shell names them where a pattern is not quoted."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
from collections.abc import Iterator, Sequence

from xmleval.budget import OverLimitError
from xmleval.input.shards import Input, holds_predictions
from xmleval.report.tables import common_start

EXPECTED = "; expected "  # and what follows, in messages
SWAPPED = "; it holds predictions: TRUTH comes first, then SCORES"


def refuse_expanded(names: Sequence[str]) -> None:
    """Refuse a truth and SCORES that are shards of both: a shell has expanded the patterns."""
    truth, scores = _split(names)
    n = len(truth)
    if n < 2 or not scores or len({*map(_without_numbers, scores)}) > 1 or len(scores) not in (1, n):
        return
    patterns = [_pattern(truth), scores[0] if len(scores) == 1 else _pattern(scores)]
    if None not in patterns and (len(scores) > 1 or glob.has_magic(scores[0]) or os.path.isdir(scores[0])):
        quoted = " ".join(shlex.quote(str(pattern)) for pattern in patterns)
        told = f"TRUTH would be {truth[0]} alone, and {truth[1]} one of SCORES"
        raise ValueError(f"{told}; quote the patterns: {quoted}")


def shards_hint(truth: str, n_rows: int, scores: Sequence[tuple[str, int | None]]) -> str:
    """Return what to do where SCORES of other numbers of rows seem to be shards, of them or of TRUTH."""
    names, sizes = [name for name, _ in scores], [size for _, size in scores]
    if len(scores) > 1 and all((size or 0) < n_rows for size in sizes):
        return f"; do the files follow one another? {_quoted(names)}"
    shards, others = _split([truth, *names])
    beside, whole = sizes[: len(shards) - 1], sizes[len(shards) - 1 :]
    known = None not in sizes
    if known and {*whole} != {n_rows + sum(size or 0 for size in beside)}:
        return ""
    return _truth_hint(shards, others)


@contextlib.contextmanager
def hinting(names: Sequence[str]) -> Iterator[None]:
    """Tell what to give where SCORES are refused that seem a shard of TRUTH, or predictions as TRUTH."""
    try:
        yield
    except ValueError as error:
        if isinstance(error.__context__, OverLimitError):
            raise  # of any file, whatever it holds
        shards, others = _split(names)
        hint = _truth_hint(shards, others)
        told = str(error)
        if told.startswith(f"{names[0]}: ") and holds_predictions(names[0]):
            raise ValueError(f"{told.split(EXPECTED, 1)[0]}{SWAPPED}") from None
        if not hint or told.endswith(hint) or not told.startswith(tuple(f"{name}: " for name in shards[1:])):
            raise
        raise ValueError(f"{told.split(EXPECTED, 1)[0]}{hint}") from None


def _truth_hint(shards: Sequence[str], others: Sequence[str]) -> str:
    if len(shards) < 2 or not others:
        return ""
    return f"; do {' and '.join(shards)} follow one another as TRUTH? {_quoted(shards)}"


def note_other_shards(names: Sequence[str], notes: Sequence[list[str]]) -> None:
    """Note which SCORES bear the number of another TRUTH, which is there: of other shards or folds."""
    truth, *scores = names
    start, number, end = _last_number(truth)
    parts = [_last_number(name) for name in scores]
    numbers = [own for _, own, _ in parts]
    if not number or number not in numbers or len({(first, last) for first, _, last in parts}) > 1:
        return
    others = {own: f"{start}{own}{end}" for own in numbers if own != number}
    if not others or not all(map(os.path.exists, others.values())):
        return
    quoted = " ".join(shlex.quote(f"{first}*{last}") for first, _, last in ((start, "", end), parts[0]))
    own, other = next(iter(others.items()))
    place = numbers.index(own)
    told = f"evaluated on {truth}, though {other} is there; files that follow one another are given as"
    notes[place].append(f"{scores[place]}: {told} {quoted}")


def _last_number(name: str) -> tuple[str, str, str]:
    """Return the last number in a name, with what is before and behind it."""
    found = re.search("([0-9]+)[^0-9]*$", name)
    return (name[: found.start(1)], found[1], name[found.end(1) :]) if found else (name, "", "")


def _without_numbers(name: str) -> str:
    return re.sub("[0-9]+", "*", name)


def _split(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the first names that differ from the very first in numbers alone, and the others."""
    n = next(
        (n for n, name in enumerate(names) if _without_numbers(name) != _without_numbers(names[0])), None
    )
    return [*names[:n]], [] if n is None else [*names[n:]]


def _quoted(names: Sequence[str]) -> str:
    """Return how to give files as one input, where a shell has expanded a pattern."""
    pattern = _pattern(names)
    if pattern is None:
        return "give their folder, or a pattern in quotes"
    return f"quote the pattern: {shlex.quote(pattern)}"


def _pattern(names: Sequence[str]) -> str | None:
    """Return a pattern that stands for these files and no others."""
    start, end = common_start(names), common_start([name[::-1] for name in names])[::-1]
    for pattern in (f"{start.rstrip('0123456789')}*{end.lstrip('0123456789')}", f"{start}*{end}"):
        if sorted(glob.glob(pattern)) == sorted(names):
            return pattern
    return None


def refuse_pairs(inputs: Sequence[Input]) -> None:
    """Refuse both files of a pair of arrays, as a shell gives them for topk_*; one stands for both."""
    for place, one in enumerate(inputs):
        other = next((other for other in inputs[:place] if {*other.files} == {*one.files}), None)
        if other is not None and other.name != one.name:
            raise ValueError(
                f"{one.name}: given with {other.name}, which stands for both; expected one of them"
            )
