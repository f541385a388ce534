"""Files that were hardly meant: a pattern without quotes that a shell expanded, and predictions first."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from xmleval.base.budget import OverLimitError
from xmleval.input.formats.arrays import files_of_list
from xmleval.input.shards import holds_predictions
from xmleval.show.tables import names_of_files

NUMBER = re.compile("[0-9]+(?=[^0-9]*$)")  # the last in a name


def models_of(truth: Path, scores: Sequence[Path]) -> dict[str, Path]:
    """Return SCORES by the names that tables have, or refuse what was hardly meant.

    Those are a file that is given twice, both files of a list of arrays, as a shell gives them for topk_*, of
    which one stands for both, and shards of TRUTH where a shell has expanded the patterns.
    """
    if len(scores) == 1:
        return {scores[0].name: scores[0]}
    _refuse_expanded([str(truth), *map(str, scores)])
    lists = dict[str, Path]()  # by the first of their files
    for place, path in enumerate(scores):
        if path in scores[:place]:
            raise ValueError(f"{path}: given twice; expected different SCORES")
        if (first := lists.setdefault(str(files_of_list(path)[0]), path)) != path:
            raise ValueError(f"{path}: given with {first}, which stands for both; expected one of them")
    return dict(zip(names_of_files(scores), scores, strict=True))


def _refuse_expanded(names: Sequence[str]) -> None:
    """Refuse a truth and SCORES that are shards of both: a shell has expanded the patterns."""
    patterns = [NUMBER.sub("*", name) for name in names]
    n = patterns.count(patterns[0])
    truths, scores = names[:n], names[n:]
    if n < 2 or len({*patterns[n:]}) != 1 or sorted(glob.glob(patterns[0])) != sorted(truths):
        return
    is_pattern = len(scores) == 1 and (glob.has_magic(scores[0]) or os.path.isdir(scores[0]))
    if len(scores) != n and not is_pattern:
        return
    pattern = scores[0] if is_pattern else patterns[n]
    text = f"TRUTH would be {names[0]} alone, and {names[1]} one of SCORES"
    raise ValueError(f"{text}; quote the patterns: {shlex.join([patterns[0], pattern])}")


def other_shards(truth: Path, models: Mapping[str, Path]) -> dict[str, str]:
    """Return a note on the first of SCORES that bears the number of another TRUTH, which is there."""
    shard = NUMBER.findall(str(truth))
    numbers = {name: NUMBER.findall(str(path)) for name, path in models.items()}
    patterns = {NUMBER.sub("*", str(path)) for path in models.values()}
    if not shard or len(patterns) > 1 or shard not in numbers.values():
        return {}
    for name, number in numbers.items():
        counterpart = NUMBER.sub("".join(number), str(truth))
        if number != shard and os.path.exists(counterpart):
            quoted = shlex.join([NUMBER.sub("*", str(truth)), *patterns])
            text = f"evaluated on {truth}, though {counterpart} is there"
            hint = f"files that follow one another are given as {quoted}"
            return {name: f"{models[name]}: {text}; {hint}"}
    return {}


def refuse_predictions(truth: Path | None, error: ValueError) -> None:
    """Tell what to give where a file of predictions was refused as TRUTH."""
    text = str(error)
    limit = isinstance(error, OverLimitError)  # of any file, whatever it holds
    if text.startswith(f"{truth}: ") and not limit and holds_predictions(str(truth)):
        text = text.split("; expected ", 1)[0]
        raise ValueError(f"{text}; it holds predictions: TRUTH comes first, then SCORES") from None
