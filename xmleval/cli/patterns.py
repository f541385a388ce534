"""Files in another order or number than meant, as a shell names them where a pattern is not quoted."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from xmleval.budget import OverLimitError
from xmleval.files.remote import as_path
from xmleval.input.formats.npy import PAIRS
from xmleval.input.shards import holds_predictions
from xmleval.report.tables import common_start


def models_of(truth: Path, scores: Sequence[Path]) -> dict[str, Path]:
    """Return SCORES by the names that tables have, or refuse what was hardly meant.

    Those are a file that is given twice, both files of a list of arrays, as a shell gives them for topk_*, of
    which one stands for both, and shards of TRUTH where a shell has expanded the patterns.
    """
    paths = [str(path) for path in scores]
    _refuse_expanded([str(truth), *paths])
    for place, path in enumerate(paths):
        if path in paths[:place]:
            raise ValueError(f"{path}: given twice; expected different SCORES")
        other = next((other for other in paths[:place] if _stem(other) == _stem(path)), None)
        if other is not None:
            raise ValueError(f"{path}: given with {other}, which stands for both; expected one of them")
    short = [as_path(path).name for path in paths]  # folders say nothing new where these differ
    return dict(zip(short if len({*short}) == len(short) else paths, scores, strict=True))


def _refuse_expanded(names: Sequence[str]) -> None:
    """Refuse a truth and SCORES that are shards of both: a shell has expanded the patterns."""
    plain = [re.sub("[0-9]+", "*", name) for name in names]
    n = len([*takewhile(lambda name: name == plain[0], plain)])
    scores = names[n:]
    if n < 2 or len({*plain[n:]}) != 1 or len(scores) not in (1, n):
        return
    patterns = [_pattern(names[:n]), _pattern(scores)]
    if None not in patterns and (len(scores) > 1 or glob.has_magic(scores[0]) or os.path.isdir(scores[0])):
        told = f"TRUTH would be {names[0]} alone, and {names[1]} one of SCORES"
        raise ValueError(f"{told}; quote the patterns: {shlex.join(map(str, patterns))}")


def _pattern(names: Sequence[str]) -> str | None:
    """Return a pattern that stands for these files and no others, or the name of a single one."""
    if len(names) == 1:
        return names[0]
    start, end = common_start(names), common_start([name[::-1] for name in names])[::-1]
    patterns = f"{start.rstrip('0123456789')}*{end.lstrip('0123456789')}", f"{start}*{end}"
    return next((one for one in patterns if sorted(glob.glob(one)) == sorted(names)), None)


@contextlib.contextmanager
def hinting(truth: Path) -> Iterator[None]:
    """Tell what to give where a file of predictions is refused as TRUTH."""
    try:
        yield
    except ValueError as error:
        told = str(error)
        limit = isinstance(error, OverLimitError)  # of any file, whatever it holds
        if limit or not told.startswith(f"{truth}: ") or not holds_predictions(str(truth)):
            raise
        told = told.split("; expected ", 1)[0]
        raise ValueError(f"{told}; it holds predictions: TRUTH comes first, then SCORES") from None


def other_shards(truth: Path, models: Mapping[str, Path]) -> dict[str, str]:
    """Return a note on the first of SCORES that bears the number of another TRUTH, which is there."""
    start, number, end = _last_number(str(truth))
    parts = {name: _last_number(str(path)) for name, path in models.items()}
    others = len({(first, last) for first, _, last in parts.values()}) > 1
    if not number or others or number not in [own for _, own, _ in parts.values()]:
        return {}
    for name, (first, own, last) in parts.items():
        other = f"{start}{own}{end}"
        if own != number and os.path.exists(other):
            quoted = shlex.join([f"{start}*{end}", f"{first}*{last}"])
            told = (
                f"evaluated on {truth}, though {other} is there; files that follow one another are given as"
            )
            return {name: f"{models[name]}: {told} {quoted}"}
    return {}


def _last_number(name: str) -> tuple[str, str, str]:
    """Return the last number in a name, with what is before and behind it."""
    found = re.search("([0-9]+)[^0-9]*$", name)
    return (name[: found.start(1)], found[1], name[found.end(1) :]) if found else (name, "", "")


def _stem(name: str) -> str:
    """Return what both files of a list of arrays are called, or the whole name."""
    ends = next((pair for pair in PAIRS.items() if name.endswith(pair)), ())
    return next((name.removesuffix(end) for end in ends if name.endswith(end)), name)
