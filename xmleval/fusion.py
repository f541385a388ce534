"""Fusion: the lists of several models joined into one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmleval.input.csr import Source
from xmleval.input.errors import InputError, positive_integer, real_number
from xmleval.input.scores import Reading, ranking_rows
from xmleval.kernels.checking import sort_labels
from xmleval.kernels.joining import add_up_rows, append_rows, combine_equal, count_distinct
from xmleval.kernels.ranking import head_pointer, rank_rows, select_heads
from xmleval.message import Message, did_you_mean
from xmleval.records import LEAST_STEPS, Floats, Ints, Labels, Ranking, row_sizes

Part = tuple[Ints, Labels, Floats]  # some rows: where they begin, labels and scores
RANK_CONSTANT = 60.0
RULES = {  # what each adds up for a label, over the models that list it
    "rrf": "1 / (60 + rank)",
    "mean": "score, over the number of models",
    "sum": "score",
    "sigmoid": "1 / (1 + exp(-score)), over the number of models",
    "softmax": "softmax of the scores listed in the row, over the number of models",
    "rank": "L + 1 - rank, over the number of models, where L is the length of the longest list",
    "borda": "c + 1 - rank of the c labels that any model lists in the row; a model shares what it has left",
    "round_robin": "no sum: all first labels in the order of the models, then all second ones",
}
OTHER_NAMES = {
    "average": "mean",
    "rank_average": "rank",
    "sigmoid_average": "sigmoid",
    "softmax_average": "softmax",
    "bordafuse": "borda",
    "comb_sum": "sum",
}  # of PECOS and ranx
OF_SCORES = ("mean", "sum", "sigmoid", "softmax")  # rules that need scores, not ranks alone
IN_ANY_ORDER = ("mean", "sum", "sigmoid")  # those that need no order of the labels of a row
OF_ALL_ROWS = ("rank", "round_robin")  # those that depend on the length of the longest list
MEANS = ("mean", "sigmoid", "softmax", "rank", "round_robin")  # those that are over the weights


@dataclass(frozen=True)
class Fusion:
    """How the lists of some models are joined: checked arguments of `xmleval.fuse`.

    Parameters
    ----------
    rule : str
        A name of `RULES`.
    weights : tuple of float
        Of each model.
    rank_constant : float
        What "rrf" adds to ranks.
    k : int or None
        How many labels of a row to keep, None for all.
    higher_is_better : bool
        Whether higher scores are better.
    """

    rule: str
    weights: tuple[float, ...]
    rank_constant: float = RANK_CONSTANT
    k: int | None = None
    higher_is_better: bool = True

    @property
    def of_all_rows(self) -> bool:
        """Whether the rule depends on the length of the longest list."""
        return self.rule in OF_ALL_ROWS

    @classmethod
    def checked(
        cls, rule: Any, n_models: int, weights: Any, rank_constant: Any, k: Any, higher_is_better: bool
    ) -> Fusion:
        """Check the arguments of `xmleval.fuse`."""
        known = OTHER_NAMES.get(rule, rule) if isinstance(rule, str) else rule
        if known not in RULES:
            near = did_you_mean(str(rule), [*RULES, *OTHER_NAMES])
            said = f"{rule!r} is not one of {', '.join(RULES)}"
            raise InputError("rule", f"{said}; {near}".rstrip("; "))
        if n_models < 2:
            raise InputError("predictions", f"{n_models} given; expected those of two models or more")
        constant = RANK_CONSTANT
        if rank_constant is not None:
            constant = real_number("rank_constant", rank_constant)
            if known != "rrf":
                raise InputError("rank_constant", f"is for the rule rrf, not {known}")
            if not 0 <= constant < math.inf:
                raise InputError("rank_constant", f"{rank_constant!r} is not 0 or more")
        if known in OF_SCORES and not higher_is_better:
            said = (
                f"the rule {known} adds scores, and takes 0 for those that a model does not list; expected "
            )
            by_rank = ", ".join(name for name in RULES if name not in OF_SCORES)
            raise InputError("higher_is_better", Message(said, f"{by_rank} for distances"))
        depth = None if k is None else positive_integer("k", k)
        return cls(known, _checked_weights(weights, n_models, known), constant, depth, higher_is_better)

    def rows_of(self, argument: str, value: Any, n_labels: int | None, known: int) -> Source[Ranking]:
        """Return the rows of one model, best first where the rule needs ranks."""
        in_order = self.rule not in IN_ANY_ORDER
        how = Reading(argument, known, ordered=in_order, higher_is_better=self.higher_is_better)
        return ranking_rows(value, n_labels, how)

    def join(self, rankings: Sequence[Ranking], longest: int, first_row: int = 0) -> Part:
        """Return the labels that any model lists in each row, rising, with their fused scores, float64.

        ``longest`` is the length of the longest list of all rows and models, which the rules of `OF_ALL_ROWS`
        need. The first row is called ``first_row`` in messages.
        """
        ptr = np.sum([ranking.ptr for ranking in rankings], axis=0)
        labels, places = np.empty(ptr[-1], rankings[0].labels.dtype), np.empty(ptr[-1], np.int64)
        ends, first = ptr[:-1].copy(), 0
        for ranking in rankings:
            append_rows(ranking.ptr, ranking.labels, first, ends, labels, places)
            first += ranking.labels.size
        sort_labels(ptr, labels, places)
        joint_ptr = np.empty_like(ptr)
        count_distinct(ptr, labels, joint_ptr)
        values, base = self._values(rankings, longest, row_sizes(joint_ptr), first_row)
        joint, scores = np.empty(joint_ptr[-1], labels.dtype), np.empty(joint_ptr[-1])
        combine_equal(ptr, labels, values[places], base, self.rule == "round_robin", joint, scores)
        if self.rule in MEANS:
            scores /= math.fsum(self.weights)
        if not np.isfinite(scores).all():
            row = int(np.searchsorted(joint_ptr, np.flatnonzero(~np.isfinite(scores))[0], side="right")) - 1
            raise InputError("predictions", "sums of scores exceed float64", row=first_row + row)
        return joint_ptr, joint, scores

    def best(self, joined: Part) -> Part:
        """Return the best labels of each row, best first; of equal scores, the smaller labels."""
        ptr, labels, scores = joined
        if self.k is None:
            labels, scores = labels.copy(), scores.copy()
            rank_rows(ptr, labels, scores)
            return ptr, labels, scores
        head_ptr = head_pointer(ptr, self.k)
        heads, head_scores = np.empty(head_ptr[-1], labels.dtype), np.empty(head_ptr[-1])
        select_heads(ptr, labels, scores, head_ptr, heads, head_scores, np.empty(ptr.size - 1, np.bool_))
        return head_ptr, heads, head_scores

    def rising(self, joined: Part) -> Part:
        """Return the best labels of each row in the order of their numbers."""
        if self.k is None:
            return joined
        ptr, labels, scores = self.best(joined)
        order = np.arange(labels.size)
        sort_labels(ptr, labels, order)
        return ptr, labels, scores[order]

    def _values(
        self, rankings: Sequence[Ranking], longest: int, n_listed: Ints, first_row: int
    ) -> tuple[Floats, Floats]:
        """Return what each listed label of each model adds, and what all labels of a row start with."""
        several = [
            self._of_model(number, ranking, longest, n_listed, first_row)
            for number, ranking in enumerate(rankings)
        ]
        base = np.empty(0)
        if self.rule == "borda":  # first, all get what labels that a model does not list share
            shares = [w * _share(n_listed, one) for w, one in zip(self.weights, rankings, strict=True)]
            base = np.sort(shares, axis=0).sum(axis=0)
        return np.concatenate(several), base

    def _of_model(
        self, number: int, ranking: Ranking, longest: int, n_listed: Ints, first_row: int
    ) -> Floats:
        weight, sizes = self.weights[number], row_sizes(ranking.ptr)
        if self.rule in OF_SCORES:
            return weight * self._transformed(f"predictions[{number}]", ranking, first_row)
        ranks = np.arange(1, ranking.labels.size + 1) - np.repeat(ranking.ptr[:-1], sizes)
        if self.rule == "rrf":
            return weight / (self.rank_constant + ranks).astype(np.float64, copy=False)
        if self.rule == "borda":
            own = n_listed + 1 - _share(n_listed, ranking)
            return weight * (np.repeat(own, sizes) - ranks)
        values = (longest + 1 - ranks).astype(np.float64)
        if self.rule == "round_robin":
            n = len(self.weights)
            return values + (n - number) * (1 / (n + 1))
        return weight * values

    def _transformed(self, argument: str, ranking: Ranking, first_row: int) -> Floats:
        if ranking.scores is None:
            if not ranking.labels.size:
                return np.empty(0)
            by_rank = ", ".join(name for name in RULES if name not in OF_SCORES)
            need = f"lists without scores; the rule {self.rule} adds scores, and {by_rank} need none"
            raise InputError(argument, need)
        scores = ranking.scores.astype(np.float64)
        infinite = np.flatnonzero(np.isinf(scores))
        if infinite.size:
            row = int(np.searchsorted(ranking.ptr, infinite[0], side="right")) - 1
            value = float(scores[infinite[0]])
            raise InputError(
                argument,
                f"score {value} cannot be added; leave out labels that are not predicted",
                row=first_row + row,
                value=value,
            )
        with np.errstate(over="ignore"):
            if self.rule == "sigmoid":
                return 1 / (1 + np.exp(-scores))
        if self.rule == "softmax":
            sizes = row_sizes(ranking.ptr)
            best = scores[ranking.ptr[:-1][sizes > 0]]
            powers = np.exp(scores - np.repeat(best, sizes[sizes > 0]))
            sums = np.empty(sizes.size)
            add_up_rows(ranking.ptr, powers, sums)
            return powers / np.repeat(sums, sizes)
        return scores


class Rising:
    """Whether the scores of lists rise in some rows and fall in none, as distances do."""

    def __init__(self) -> None:
        self.rises = self.falls = False

    def __bool__(self) -> bool:
        """Tell whether they look like distances."""
        return self.rises and not self.falls

    def look_at(self, ranking: Ranking) -> None:
        """Look at some rows."""
        if ranking.given is not None:
            # of several threads, none may set back what another has seen
            steps = ranking.given.n_listed - (ranking.ptr.size - 1)
            if ranking.given.rises and steps >= LEAST_STEPS:
                self.rises = True
            if ranking.given.falls:
                self.falls = True


def longest_of(rankings: Iterable[Ranking]) -> int:
    """Return the length of the longest list of some rows of models."""
    return max(int(row_sizes(ranking.ptr).max(initial=0)) for ranking in rankings)


def _share(n_listed: Ints, ranking: Ranking) -> Floats:
    """Return the points of each label of a row that a model does not list: the mean of those left."""
    shares: Floats = (n_listed + 1 - row_sizes(ranking.ptr)) / 2
    return shares


def _checked_weights(weights: Any, n_models: int, rule: str) -> tuple[float, ...]:
    if weights is None:
        return (1.0,) * n_models
    if isinstance(weights, str) or not hasattr(weights, "__iter__"):
        raise InputError("weights", f"{weights!r} is not a list of numbers")
    found = tuple(real_number("weights", weight) for weight in weights)
    if len(found) != n_models:
        raise InputError("weights", f"{len(found)} given, for {n_models} models")
    bad = next((weight for weight in found if not 0 < weight < math.inf), None)
    if bad is not None:
        raise InputError("weights", f"{bad} is not above 0")
    if rule == "round_robin" and {*found} != {1.0}:
        raise InputError("weights", "the rule round_robin takes models in order, and has none")
    return found
