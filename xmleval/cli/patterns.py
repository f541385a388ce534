"""Files in another order or number than meant, as a shell names them where a pattern is not quoted."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xmleval.budget import OverLimitError
from xmleval.files.remote import as_path
from xmleval.input.formats.npy import PAIRS
from xmleval.input.shards import holds_predictions
from xmleval.report.tables import common_start

EXPECTED = "; expected "  # and what follows, in messages
SWAPPED = "; it holds predictions: TRUTH comes first, then SCORES"


def models_of(truth: Path, scores: Sequence[Path]) -> dict[str, Path]:
    """Return SCORES by the names that tables have, or refuse what was hardly meant.

    Those are a file that is given twice, both files of a list of arrays, as a shell gives them for topk_*, of
    which one stands for both, and shards of TRUTH where a shell has expanded the patterns.
    """
    paths = [str(path) for path in scores]
    refuse_expanded([str(truth), *paths])
    for place, path in enumerate(paths):
        if path in paths[:place]:
            raise ValueError(f"{path}: given twice; expected different SCORES")
        other = next((other for other in paths[:place] if _stem(other) == _stem(path)), None)
        if other is not None:
            raise ValueError(f"{path}: given with {other}, which stands for both; expected one of them")
    short = [as_path(path).name for path in paths]  # folders say nothing new where these differ
    return dict(zip(short if len({*short}) == len(short) else paths, scores, strict=True))


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


@contextlib.contextmanager
def hinting(truth: Path, scores: Sequence[Path]) -> Iterator[None]:
    """Tell what to give where SCORES are refused that seem a shard of TRUTH, or predictions as TRUTH."""
    names = [*map(str, (truth, *scores))]
    try:
        yield
    except ValueError as error:
        if isinstance(error.__context__, OverLimitError):
            raise  # of any file, whatever it holds
        shards, others = _split(names)
        hint, told = _truth_hint(shards, others), str(error)
        if not hint and len(names) > 2 and "not match the" in told:
            hint, shards = f"; do the files follow one another? {_quoted(names[1:])}", [*names]
        if told.startswith(f"{names[0]}: ") and holds_predictions(names[0]):
            raise ValueError(f"{told.split(EXPECTED, 1)[0]}{SWAPPED}") from None
        of_shard = told.startswith(tuple(f"{name}: " for name in shards[1:])) or "not match the" in told
        if not hint or told.endswith(hint) or not of_shard:
            raise
        raise ValueError(f"{told.split(EXPECTED, 1)[0]}{hint}") from None


def _truth_hint(shards: Sequence[str], others: Sequence[str]) -> str:
    if len(shards) < 2 or not others:
        return ""
    return f"; do {' and '.join(shards)} follow one another as TRUTH? {_quoted(shards)}"


def other_shards(truth: Path, models: Mapping[str, Path]) -> dict[str, str]:
    """Return a note on the first of SCORES that bears the number of another TRUTH, which is there."""
    start, number, end = _last_number(str(truth))
    parts = {name: _last_number(str(path)) for name, path in models.items()}
    numbers = [own for _, own, _ in parts.values()]
    if not number or number not in numbers or len({(first, last) for first, _, last in parts.values()}) > 1:
        return {}
    others = {own: f"{start}{own}{end}" for own in numbers if own != number}
    if not others or not all(map(os.path.exists, others.values())):
        return {}
    first, _, last = next(iter(parts.values()))
    quoted = " ".join(shlex.quote(pattern) for pattern in (f"{start}*{end}", f"{first}*{last}"))
    own, other = next(iter(others.items()))
    name = [*models][numbers.index(own)]
    told = f"evaluated on {truth}, though {other} is there; files that follow one another are given as"
    return {name: f"{models[name]}: {told} {quoted}"}


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


def _stem(name: str) -> str:
    """Return what both files of a list of arrays are called, or the whole name."""
    ends = next((pair for pair in PAIRS.items() if name.endswith(pair)), ())
    return next((name.removesuffix(end) for end in ends if name.endswith(end)), name)
