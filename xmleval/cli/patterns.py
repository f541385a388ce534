"""Likely mistakes in naming files: patterns expanded by a shell, and predictions as TRUTH."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from xmleval.base.budget import OverLimitError
from xmleval.cli.files import NamedFile
from xmleval.input.formats.arrays import files_of_list
from xmleval.input.shards import holds_predictions
from xmleval.show.tables import names_of_files

NUMBER = re.compile("[0-9]+(?=[^0-9]*$)")  # the last number in a name


def name_models(truth: Path, scores: Sequence[NamedFile]) -> dict[str, Path]:
    """Return SCORES by the names that they were given, else of files, or refuse likely mistakes.

    These are a file that is given twice; both files of a list of arrays, as a shell gives them for
    topk_*, although either names the list; and shards of TRUTH, if a shell expanded the patterns.
    """
    paths = [path for _, path in scores]
    if len(scores) == 1:
        return {scores[0].name or paths[0].name: paths[0]}
    _refuse_expanded([str(truth), *map(str, paths)])
    earlier_paths = dict[str, Path]()  # by the first file of a list
    for place, path in enumerate(paths):
        if path in paths[:place]:
            raise ValueError(f"{path}: given twice; expected different SCORES")
        first_file = files_of_list(path)[0]
        earlier = earlier_paths.setdefault(str(first_file), path)
        if earlier != path:
            raise ValueError(f"{path}: {earlier} stands for the same list; give one of them")
    names_by_path = dict(zip(paths, names_of_files(paths), strict=True))
    models = dict[str, Path]()
    for given_name, path in scores:
        name = given_name or names_by_path[path]
        if name in models:
            raise ValueError(f"{path}: has the same name as {models[name]}, {name}; give another")
        models[name] = path
    return models


def _refuse_expanded(names: Sequence[str]) -> None:
    """Refuse names that are shards of a truth and of SCORES: a shell has expanded the patterns."""
    patterns = [NUMBER.sub("*", name) for name in names]
    truth_pattern = patterns[0]
    n_truths = patterns.count(truth_pattern)
    truths = names[:n_truths]
    scores = names[n_truths:]
    score_patterns = patterns[n_truths:]
    if n_truths < 2 or len({*score_patterns}) != 1:
        return
    if sorted(glob.glob(truth_pattern)) != sorted(truths):
        return
    score_pattern = score_patterns[0]
    if len(scores) == 1 and (glob.has_magic(scores[0]) or os.path.isdir(scores[0])):
        score_pattern = scores[0]
    elif len(scores) != n_truths:
        return
    raise ValueError(
        f"TRUTH would only be {names[0]}, and {names[1]} one of SCORES; "
        f"quote the patterns: {shlex.join([truth_pattern, score_pattern])}"
    )


def note_other_shards(truth: Path, models: Mapping[str, Path]) -> dict[str, str]:
    """Return a note on the first of SCORES with the shard number of another TRUTH that exists."""
    truth_number = NUMBER.findall(str(truth))
    numbers = {name: NUMBER.findall(str(path)) for name, path in models.items()}
    patterns = {NUMBER.sub("*", str(path)) for path in models.values()}
    if not truth_number or len(patterns) > 1 or truth_number not in numbers.values():
        return {}
    for name, number in numbers.items():
        other_truth = NUMBER.sub("".join(number), str(truth))
        if number != truth_number and os.path.exists(other_truth):
            quoted = shlex.join([NUMBER.sub("*", str(truth)), *patterns])
            note = (
                f"{models[name]}: evaluated on {truth}, although {other_truth} exists; "
                f"give files that follow one another as {quoted}"
            )
            return {name: note}
    return {}


def refuse_predictions(truth: Path | None, error: ValueError) -> None:
    """Raise a clearer error if a file of predictions was refused as TRUTH."""
    if isinstance(error, OverLimitError):  # a limit for all kinds of files
        return
    text = str(error)
    if text.startswith(f"{truth}: ") and holds_predictions(str(truth)):
        text, *_ = text.split("; expected ", 1)
        raise ValueError(f"{text}; it has predictions: give TRUTH first, then SCORES") from None
