"""`fuse`: join the lists of several models."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xmleval.base.arrays import MOST_LABELS, Floats, Ints, row_sizes
from xmleval.base.budget import MEMORY, PIECE_BYTES, check_resources
from xmleval.base.errors import (
    RISING,
    InputError,
    Keyword,
    Message,
    did_you_mean,
    positive_integer,
    real_number,
    shown,
)
from xmleval.base.keywords import refusing_unknown
from xmleval.evaluation.batch import BatchLocation
from xmleval.evaluation.inputs import open_input
from xmleval.evaluation.label_counts import common_label_count
from xmleval.evaluation.match_files import notes_of, prediction_batches
from xmleval.input.canonical import LEAST_STEPS, RankedRows, RawScores
from xmleval.input.csr import rows_at_a_time, sorted_part
from xmleval.input.match import Match, join_models
from xmleval.input.objects.named import without_labels
from xmleval.input.objects.records import list_records
from xmleval.input.opened import Opened, OpenedValue
from xmleval.input.pieces import RowReader
from xmleval.input.rows import Rows, no_labels, pointer, rows_by_id
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.shards import with_fields
from xmleval.input.stack import rows_as_csr, rows_as_lists, stack_rows

RANK_RULES = ("rrf", "rank")
RULES = ("mean", "sum", "mnz", *RANK_RULES)
NORMS = ("min-max", "zmuv", "rank")
# names of ranx and of papers
RULE_SPELLINGS = {
    **dict.fromkeys(["wsum", "combsum", "comb_sum"], "sum"),
    **dict.fromkeys(["wmnz", "combmnz", "comb_mnz"], "mnz"),
}
NORM_SPELLINGS = {"min_max": "min-max", "minmax": "min-max", "z-score": "zmuv", "zscore": "zmuv"}
LEAST_SPREAD = 1e-9  # of the scores of a row, by which they are divided, as in ranx


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """How lists of several models are joined; see `fuse`."""

    rule: str = "rrf"
    norm: str | None = None
    k: int | None = None
    weights: Iterable[float] | None = None
    rank_constant: float | None = None
    n_labels: int | None = None
    higher_is_better: bool = True
    threads: int | None = None


@refusing_unknown
def fuse(
    predictions: Sequence[Any] | Mapping[str, Any],
    rule: str = "rrf",
    *,
    norm: str | None = None,
    k: int | None = None,
    weights: Iterable[float] | None = None,
    rank_constant: float | None = None,
    n_labels: int | None = None,
    higher_is_better: bool = True,
    threads: int | None = None,
) -> Any:
    """Join the scores or lists of several models into one list for each instance.

    Parameters
    ----------
    predictions : list of y_score, or dict of them by the names of models
        Those of two or more models, as in `evaluate`. Rows with names are matched by them; a model
        without a row lists nothing in it. Other rows are in the same order in all.
    rule : str, default "rrf"
        What a label scores, over the models that list it. Others add nothing.

        - ``"rrf"``: reciprocal rank fusion, the sum of 1 / (60 + rank), ranks from 1.
        - ``"mean"``: of the scores, over all models: a missing score counts as 0.
        - ``"sum"``: of the scores (CombSUM), by weights if there are any; also ``"wsum"``.
        - ``"mnz"``: the sum of the scores times the number of models that list it (CombMNZ), or the
          sum of their weights; also ``"wmnz"``.
        - ``"rank"``: the mean of L + 1 - rank, where L is the length of the longest list of any
          row.
    norm : str, optional
        How the scores of each row of a model are brought to one scale before they are added.

        - ``"min-max"``: (score - lowest) / (highest - lowest).
        - ``"zmuv"``: (score - mean) / standard deviation, also ``"z-score"``.
        - ``"rank"``: 1 - (rank - 1) / the length of the list.
    k : int, optional
        How many labels of each row to keep, by default all.
    weights : iterable of float, optional
        Of each model; means are over their sum in place of the number of models.
    rank_constant : float, optional
        Of ``"rrf"``, in place of 60.
    n_labels, higher_is_better, threads
        As of `evaluate`. Distances are for rules of ranks, or with ``norm``.

    Returns
    -------
    csr_array, tuple of arrays, dict or list
        What `evaluate` takes, scores in float64: a matrix of shape (m, l); of lists alone, without
        ``n_labels``, a pair ``(labels, scores)`` of shape (m, depth), best first and -1 in empty
        slots; of what has names, ``{row: {label: score}}``, best first, or a list of ``{label:
        score}``.

    Raises
    ------
    ValueError
        If input is invalid, or a rule of scores is given lists without any; the message names the
        model.

    Notes
    -----
    Ties are broken by the smaller label id; among names, by the later name. Parts of a sum are
    added from the smallest to the largest: the order of the models changes no bit. "rrf" is that of
    Cormack et al. (SIGIR 2009) and ranx; "sum" and "mnz" are those of Fox & Shaw (TREC-2) and ranx,
    with its norms of these names, which divide by 1e-9 at least; "mean" orders labels as "sum"
    does, and is PECOS's ``average``, "rank" its ``rank_average``.

    Examples
    --------
    >>> fuse([{"q1": {"red": 0.9}}, {"q1": {"blue": 0.8, "red": 0.5}}], "mean")
    {'q1': {'red': 0.7, 'blue': 0.4}}
    >>> bm25 = {"q1": {"red": 12.0, "blue": 8.0, "green": 4.0}}
    >>> dense = {"q1": {"blue": 0.9, "red": 0.4}}
    >>> fuse({"bm25": bm25, "dense": dense}, "sum", norm="min-max")
    {'q1': {'blue': 1.5, 'red': 1.0, 'green': 0.0}}
    """
    fusion = Fusion(
        rule=rule,
        norm=norm,
        k=k,
        weights=weights,
        rank_constant=rank_constant,
        n_labels=n_labels,
        higher_is_better=higher_is_better,
        threads=threads,
    )
    rows, width = fuse_rows(predictions, fusion)
    if rows.names is None and rows.best_first:
        return rows_as_lists(rows)
    if rows.names is None:
        return rows_as_csr(rows, width)
    labels = [rows.names[label] for label in rows.labels.tolist()]
    pairs = [*zip(labels, rows.values.tolist(), strict=True)]
    lists = [dict(pairs[start:stop]) for start, stop in itertools.pairwise(rows.ptr.tolist())]
    if rows.keys is None:
        return lists
    return dict(zip(rows.keys, lists, strict=True))


def fuse_rows(predictions: Any, fusion: Fusion) -> tuple[Any, int]:
    """Return fused rows, with any names of rows and labels, and the number of labels; see `fuse`.

    Rows are ordered by label id for a matrix, else best first.
    """
    if not isinstance(predictions, list | Mapping) or len(predictions) < 2:
        raise InputError(
            "predictions", "expected predictions of two or more models, in a list or a dict"
        )
    fusion = _with_own_names(fusion)
    constant, weights = _check_rule(fusion, len(predictions))
    k = fusion.k
    if k is not None:
        k = positive_integer("k", k)
    n_labels = fusion.n_labels
    if n_labels is not None:
        n_labels = positive_integer("n_labels", n_labels, at_most=MOST_LABELS)
    models = _read_models(predictions, n_labels, fusion.higher_is_better)
    with models.location.locating_errors():
        fuser = _Fuser(fusion, models, constant, weights, k)
        starts = range(0, max(fuser.n_rows, 1), fuser.size)
        resources = check_resources(MEMORY, fusion.threads)
        blocks, raw_scores = zip(*resources.map(fuser.block, starts), strict=True)
    for name, raw_blocks in zip(models.names, zip(*raw_scores, strict=True), strict=True):
        if _look_like_distances(raw_blocks, fuser.n_rows):
            warnings.warn(Message(f"{name}: ", RISING), UserWarning, stacklevel=4)
    rows = stack_rows(blocks)._replace(keys=models.row_names, names=models.label_names)
    return rows, fuser.width


@dataclass(frozen=True)
class _Models:
    """Predictions of several models, whose rows and labels have the same numbers.

    arguments, names : names of the models in errors in Python, and in messages
    n_labels : number of labels of a matrix, None for lists
    row_names, label_names : names of rows, and of labels by number, if they have any
    """

    arguments: list[str]
    names: list[str]
    rows: Sequence[Any]
    n_labels: int | None
    location: BatchLocation
    row_names: list[Any] | None = None
    label_names: list[Any] | None = None


def _read_models(
    predictions: Sequence[Any] | Mapping[str, Any], n_labels: int | None, higher_is_better: bool
) -> _Models:
    """Return predictions of models, matched by the names of rows and labels if there are any."""
    by_key: Mapping[Any, Any] = dict(enumerate(predictions))
    if isinstance(predictions, Mapping):
        by_key = predictions
    arguments = [f"predictions[{key!r}]" for key in by_key]
    opened = [
        open_input("y_score", list_records(argument, value), n_labels, argument)
        for argument, value in zip(arguments, by_key.values(), strict=True)
    ]
    models = with_fields(True, *opened)
    names = [model.name for model in models]
    files = dict(zip(arguments, names, strict=True))
    if any(model.named for model in models):
        read_names = partial(_read_names, higher_is_better=higher_is_better)
        named_rows = zip(names, map(read_names, models), strict=True)
        rows, label_names, row_names = join_models([*named_rows])
        location = BatchLocation({}, files)
        return _Models(arguments, names, rows, None, location, row_names, label_names)
    numbered_rows, readers = zip(*map(_read_numbers, models), strict=True)
    n_labels = n_labels or common_label_count([*zip(names, readers, strict=True)])
    location = BatchLocation(dict(zip(arguments, readers, strict=True)), files)
    return _Models(arguments, names, numbered_rows, n_labels, location)


class _Fuser:
    """Rankings of several models, joined block by block.

    n_rows, width : numbers of rows and of labels
    size : number of rows of a block
    """

    def __init__(
        self, fusion: Fusion, models: _Models, constant: float, weights: list[float], k: int | None
    ) -> None:
        self.rule = _Rule(fusion.rule, fusion.norm, constant, weights)
        self.arguments = models.arguments
        self.k = k
        self.n_labels = models.n_labels
        if models.n_labels:
            self.width = models.n_labels
        else:
            self.width = 1 + max(int(rows.labels.max(initial=0)) for rows in models.rows)
        self.sources = [
            ranking_rows(rows, self._reading(argument, fusion))
            for argument, rows in zip(models.arguments, models.rows, strict=True)
        ]
        self.n_rows = self.sources[0].n_rows
        match = Match(models.names[0], None, n_rows=self.n_rows)
        for argument, source in zip(models.arguments, self.sources, strict=True):
            # refuses another number of rows
            match.row_numbers("y_score", argument, no_labels(source.n_rows))
        if fusion.rule == "rank":  # ranks count from the end of the longest list
            longest = max(self._longest_list(rows) for rows in models.rows)
            self.rule = self.rule._replace(constant=1.0 + longest)
        row_bytes = sum(source.bytes_per_row for source in self.sources)
        self.size = min(rows_at_a_time(row_bytes), (1 << 62) // self.width)

    def _reading(self, argument: str, fusion: Fusion) -> Reading:
        """Return how the scores of a model are read."""
        ordered = self.rule.is_ordered
        higher = fusion.higher_is_better
        return Reading(argument, self.width, ordered=ordered, higher_is_better=higher)

    def _longest_list(self, rows: Any) -> int:
        """Return the length of the longest list; in a dense matrix, each row lists all labels."""
        if not isinstance(rows, Rows):
            return self.width
        return int(row_sizes(rows.ptr).max(initial=0))

    def block(self, start: int) -> tuple[Rows, list[RawScores | None]]:
        """Return a block of fused rows from ``start``, and facts on the scores of every model."""
        stop = min(start + self.size, self.n_rows)
        rankings = [source.block(start, stop) for source in self.sources]
        credits_of = [
            self.rule.credits(ranking, argument, start, weight)
            for ranking, argument, weight in zip(
                rankings, self.arguments, self.rule.weights, strict=True
            )
        ]
        rows = _add(self.rule, credits_of, rankings, self.width, start)
        if self.k is not None or self.n_labels is None:
            reading = Reading("predictions", self.width, depth=self.k)
            best = ranking_rows(rows, reading).block(0, rows.n_rows)
            rows = rows_by_id(best.ptr, best.labels.astype(np.int64), best.scores, best_first=True)
        if self.n_labels is not None:
            rows = sorted_part("predictions", rows._replace(best_first=False), self.width)[0]
        return rows, [ranking.raw for ranking in rankings]


def _look_like_distances(raw_blocks: Sequence[Any], n_rows: int) -> bool:
    """Return whether the scores of a model rise along every row, from the facts on its blocks."""
    n_steps = sum(raw.n_listed for raw in raw_blocks) - n_rows
    if n_steps < LEAST_STEPS:
        return False
    return any(raw.rises for raw in raw_blocks) and not any(raw.falls for raw in raw_blocks)


def _check_rule(fusion: Fusion, n_models: int) -> tuple[float, list[float]]:
    """Return the constant of a rule and the weights of models."""
    rule = fusion.rule
    if rule not in RULES:
        near = did_you_mean(str(rule), RULES)
        text = f"{shown(rule)} is not one of {', '.join(RULES)}; {near}"
        raise InputError("rule", text.rstrip("; "))
    constant = _check_rank_constant(rule, fusion.rank_constant)
    _check_norm(rule, fusion.norm)
    if not (rule in RANK_RULES or fusion.norm or fusion.higher_is_better):
        text = (
            f"rule {rule} takes 0 as the score of unlisted labels, which is wrong for distances; "
        )
        expected = f"give rule {' or '.join(RANK_RULES)}, or "
        raise InputError("higher_is_better", Message(text, expected, Keyword("norm")))
    return constant, _check_weights(fusion.weights, n_models)


def _with_own_names(fusion: Fusion) -> Fusion:
    """Return how lists are joined, with names of other programs replaced by those of this one."""
    rule = str(fusion.rule).lower()
    norm = fusion.norm
    if norm is not None:
        norm = NORM_SPELLINGS.get(str(norm).lower(), norm)
    return replace(fusion, rule=RULE_SPELLINGS.get(rule, fusion.rule), norm=norm)


def _check_norm(rule: str, norm: str | None) -> None:
    """Refuse an unknown norm, and a norm of scores that the rule does not read."""
    if norm is None:
        return
    if norm not in NORMS:
        near = did_you_mean(str(norm), NORMS)
        text = f"{shown(norm)} is not one of {', '.join(NORMS)}; {near}"
        raise InputError("norm", text.rstrip("; "))
    if rule in RANK_RULES:
        expected = ", ".join(name for name in RULES if name not in RANK_RULES)
        raise InputError("norm", f"is for rules that add scores ({expected}), not {rule}")


def _check_rank_constant(rule: str, rank_constant: float | None) -> float:
    """Return the constant of reciprocal rank fusion, by default 60, or refuse it."""
    if rank_constant is None:
        return 60.0
    constant = real_number("rank_constant", rank_constant)
    if rule != "rrf":
        raise InputError("rank_constant", f"is for the rule rrf, not {rule}")
    if not 0 <= constant < math.inf:
        raise InputError("rank_constant", f"{shown(rank_constant)} is not 0 or more")
    return constant


def _check_weights(weights: Any, n_models: int) -> list[float]:
    """Return the weight of every model, by default 1, or refuse the weights."""
    if weights is None:
        return [1.0] * n_models
    if not hasattr(weights, "__iter__"):
        weights = [weights]
    numbers = [real_number("weights", weight) for weight in weights]
    if len(numbers) != n_models or not all(0 < weight < math.inf for weight in numbers):
        raise InputError(
            "weights",
            f"expected {n_models} numbers above 0, one for each model, not {shown(numbers)}",
        )
    return numbers


def _read_names(model: Opened, higher_is_better: bool) -> Rows:
    """Return predictions with the names of their rows and labels."""
    rows: Rows | None = None
    if isinstance(model, OpenedValue):
        rows = without_labels(model.value)  # may have names, too
    if model.named:
        match = Match(model.name, ())
        match.higher_is_better = higher_is_better
        rows = match.place("y_true", model.name, prediction_batches(model)).rows()
        rows = rows._replace(
            keys=match.keys, match=match.by, names=match.names, origin=match.origin
        )
    if rows is None:
        raise InputError(model.name, "has no names, but other models have; give names to all")
    for note in notes_of(model.name, rows.origin):
        warnings.warn(note, UserWarning, stacklevel=5)
    return rows


def _read_numbers(model: Opened) -> tuple[Any, RowReader]:
    """Return predictions by number, without empty slots of lists, and their reader."""
    with closing(RowReader(model.name, model.pieces(), PIECE_BYTES)) as reader:
        rows = stack_rows(reader.take(n) for n in iter(reader.ready, 0))
    if isinstance(rows, Rows) and rows.best_first:
        rows = rows.only(rows.labels != -1)
    return rows, reader


class _Rule(NamedTuple):
    """A rule with its norm, the constant that ranks are added to or subtracted from, and weights.

    name, norm : of `RULES` and of `NORMS`
    weights : of the models
    """

    name: str
    norm: str | None
    constant: float
    weights: list[float]

    @property
    def is_ordered(self) -> bool:
        """Whether labels are needed best first: for ranks, and to add all forms in one order."""
        return self.name in RANK_RULES or self.norm in ("rank", "zmuv")

    def credits(self, ranking: RankedRows, argument: str, first_row: int, weight: float) -> Floats:
        """Return what a model adds to the sums of its labels."""
        if self.name in RANK_RULES:
            ranks = _ranks_of(ranking)
            if self.name == "rrf":
                return weight / (self.constant + ranks)
            return weight * (self.constant - ranks)
        scores = self._normalized(ranking, argument, first_row)
        if self.name == "mnz":  # weights are factors of the sum
            return scores
        return weight * scores

    def _normalized(self, ranking: RankedRows, argument: str, first_row: int) -> Floats:
        """Return the scores of a ranking, on the scale of the norm."""
        if self.norm == "rank":
            sizes = row_sizes(ranking.ptr)
            return 1.0 - (_ranks_of(ranking) - 1) / np.repeat(sizes, sizes)
        scores = _finite_scores(ranking, argument, first_row, self.name)
        if self.norm == "min-max":
            return _min_max(scores, ranking.ptr)
        if self.norm == "zmuv":
            return _zero_mean_unit_variance(scores, ranking.ptr)
        return scores


def _ranks_of(ranking: RankedRows) -> Floats:
    """Return the ranks of entries in their rows, from 1, as float64."""
    starts = np.repeat(ranking.ptr[:-1], row_sizes(ranking.ptr))
    ranks: Ints = np.arange(1, starts.size + 1) - starts
    return ranks.astype(np.float64)


def _min_max(scores: Floats, ptr: Ints) -> Floats:
    """Return scores, moved and scaled to 0..1 row by row."""
    sizes = row_sizes(ptr)
    starts = ptr[:-1][sizes > 0]
    if not starts.size:
        return scores
    filled = sizes[sizes > 0]
    lowest = np.minimum.reduceat(scores, starts)
    spread = np.maximum.reduceat(scores, starts) - lowest
    spread = np.maximum(spread, LEAST_SPREAD)
    scaled: Floats = (scores - np.repeat(lowest, filled)) / np.repeat(spread, filled)
    return scaled


def _zero_mean_unit_variance(scores: Floats, ptr: Ints) -> Floats:
    """Return scores less the mean of their row, divided by its standard deviation."""
    sizes = row_sizes(ptr)
    rows = np.repeat(np.arange(sizes.size), sizes)
    divisors = np.maximum(sizes, 1)
    means = np.bincount(rows, scores, minlength=sizes.size) / divisors
    centred = scores - means[rows]
    variances = np.bincount(rows, centred * centred, minlength=sizes.size) / divisors
    deviations = np.maximum(np.sqrt(variances), LEAST_SPREAD)
    return centred / deviations[rows]


def _add(
    rule: _Rule,
    credits_of: list[Floats],
    rankings: list[RankedRows],
    n_labels: int,
    first_row: int,
) -> Rows:
    """Return the labels that any model lists in each row with their sums, by label id."""
    n_rows = rankings[0].ptr.size - 1
    cells = list[Ints]()
    for ranking in rankings:
        rows = np.repeat(np.arange(n_rows), row_sizes(ranking.ptr))
        cells.append(rows * n_labels + ranking.labels)
    distinct, _, place = np.unique(np.concatenate(cells), True, True)  # merges sorted cells
    sums = _sums(np.concatenate(credits_of), place, distinct.size)
    if rule.name in ("mean", "rank"):
        sums /= math.fsum(rule.weights)
    if rule.name == "mnz":
        sizes = [credits.size for credits in credits_of]
        sums *= _sums(np.repeat(rule.weights, sizes), place, distinct.size)
    row_numbers, labels = np.divmod(distinct, n_labels)
    overflowing = row_numbers[~np.isfinite(sums)]
    if overflowing.size:
        row = first_row + int(overflowing[0])
        raise InputError(
            "predictions",
            "the sum of scores exceeds the range of float64; scale the scores",
            row=row,
        )
    return rows_by_id(pointer(np.bincount(row_numbers, minlength=n_rows)), labels, sums)


def _sums(values: Floats, place: Ints, size: int) -> Floats:
    """Return the sums of values by place, added in an order that does not depend on the models'."""
    # a sum of more than two values may depend on their order: add the smallest first
    places = place.copy()
    many = np.flatnonzero(np.bincount(place, minlength=size)[place] > 2)
    order = many[np.argsort(values[many])]
    places[many] = place[order]
    ordered = values.copy()
    ordered[many] = values[order]
    return np.bincount(places, ordered, minlength=size).astype(np.float64)


def _finite_scores(ranking: RankedRows, argument: str, first_row: int, rule: str) -> Floats:
    """Return the scores of a ranking, or refuse one without scores or with an infinite score."""
    if ranking.scores is None:
        rules = " or ".join(RANK_RULES)
        text = f"has no scores, which rule {rule} adds; give scores, or rule {rules}"
        raise InputError(argument, text)
    scores: Floats = ranking.scores.astype(np.float64)
    reason = "cannot be added; leave out labels that are not predicted"
    listed = rows_by_id(ranking.ptr, ranking.labels, scores)
    listed.refuse_first(argument, "score", np.isinf(scores), first_row, reason)
    return scores
