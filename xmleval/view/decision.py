"""Decision rules: predicted sets from the scores of a block."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels, Scores, as_score, as_scores, row_sizes
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import MOST, Field, InputError, Keyword, Message, counted, shown
from xmleval.base.numerals import decimal_number, whole_number
from xmleval.input.canonical import RankedRows, Truth
from xmleval.input.rows import pointer
from xmleval.input.scores import SELECTED, select_leading
from xmleval.kernels.calibrating import find_outside
from xmleval.kernels.choosing import mark_best
from xmleval.kernels.ranking import copy_heads, count_leading, fill_heads, rank_rows
from xmleval.kernels.thresholds import apply_weights, copy_leading, count_above, select_above

NONE: Floats = np.empty(0)
GIVEN = "label(given)"  # name of thresholds of labels that were not fitted
NO_RULE = (
    "neither topK (top3) nor thresholdT (threshold0.5, threshold>=0.5) nor both (top3&threshold0.5)"
)
BLANKS = re.compile(r"\s*(&|>=)\s*")  # around operators
# topK, thresholdT, or both joined by &
RULE = re.compile(r"(top(?P<k>[0-9]+)(&(?=t)|$))?(threshold(?P<sign>>=)?(?P<threshold>.+))?")
LISTED = ("listed", "weighted")  # kinds for which labels without a score do not compete


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule that turns scores into predicted sets.

    Parameters
    ----------
    kind : {"pred", "top", "threshold", "listed", "weighted", "labels", "rows", "features"}
        "pred": given sets; "top": the k best labels; "threshold": labels strictly above ``value``,
        or at least it (``inclusive``), and of these the ``limit`` best, if there is a limit.
        Fitted rules: "listed": the k best listed labels; "weighted": those by weight x score +
        offset, two numbers per label; "labels": a threshold per label; "rows", "features": a
        threshold per row from a linear model of its scores or of its features.
    value : float
        k, or the threshold; for linear models the score of unlisted labels, NaN if they have none.
    numbers : float64 (n_labels,), (2 n_labels,) or (k + 1,)
        Thresholds of labels, weights and then offsets of labels, or weights of the model, intercept
        first; stored as a read-only copy.
    text : str
        Name of a rule with numbers.
    limit : int
        Largest number of labels above the threshold that are predicted; 0 for any number.
    inclusive : bool
        Whether labels at the threshold are predicted, too.
    """

    kind: str
    value: float = 0.0
    numbers: Floats = field(default_factory=lambda: NONE, repr=False)
    text: str = ""
    limit: int = 0
    inclusive: bool = False

    def __post_init__(self) -> None:
        """Copy the numbers, so that they keep matching the digest in the name."""
        numbers = np.array(self.numbers, np.float64)
        numbers.flags.writeable = False
        object.__setattr__(self, "numbers", numbers)

    @property
    def fitted(self) -> bool:
        """Whether the rule was fitted to data, so that its name does not define it."""
        return self.kind not in ("pred", "top", "threshold")

    @property
    def of_each(self) -> bool:
        """Whether it has numbers for each label."""
        return self.kind in ("labels", "weighted")

    @cached
    def name(self) -> str:
        """A name that `parse_decision` reads, or one that identifies a fitted rule."""
        if self.kind == "pred":
            return self.kind
        if self.text:
            digest = hashlib.sha256(np.ascontiguousarray(self.numbers, "<f8").tobytes())
            return f"{self.text}#{digest.hexdigest()[:16]}"
        number = repr(self.value)
        if float(self.value).is_integer():
            number = str(int(self.value))
        sign = ">=" if self.inclusive else ""
        limit = f"top{self.limit}&" if self.limit else ""
        return f"{limit}{self.kind}{sign}{number}"

    @property
    def n_leading(self) -> int | None:
        """Number of leading labels that the sets are taken from, None for any number."""
        if self.kind == "pred":
            return 0
        if self.kind in ("top", "listed"):
            return int(self.value)
        return self.limit or None

    def needs_order(self, unlisted: float | None) -> bool:
        """Return whether the sets can be made from sorted rows only; see `leading_entries`.

        unlisted : score of unlisted labels, None where they rank below everything
        """
        if self.kind == "pred":
            return False
        if self.kind == "top" and unlisted is not None:
            return True
        if self.kind in ("top", "listed", "threshold"):
            return self.n_leading is not None and self.n_leading > SELECTED
        return True

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def __eq__(self, operand: object) -> bool:
        """Compare by name."""
        return isinstance(operand, Decision) and str(self) == str(operand)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)


@lru_cache
def top(k: int) -> Decision:
    """Return the rule that predicts the k best labels."""
    return Decision("top", float(k))


class PredictedSets(NamedTuple):
    """Predicted sets: the first ``cut`` entries of every row."""

    cut: Ints
    ptr: Ints
    labels: Labels

    def as_sets(self) -> Truth:
        """Return the sets without the entries behind them."""
        ptr = pointer(self.cut)
        labels = np.empty(ptr[-1], self.labels.dtype)
        copy_heads(self.ptr, self.labels, ptr, labels)
        return Truth(ptr, labels)


def choose(
    decision: Decision, ranking: RankedRows, n_labels: int, unlisted: float | None
) -> PredictedSets:
    """Return the sets predicted by a decision; entries must be sorted unless it is "labels"."""
    if decision.kind in ("top", "listed"):
        k = min(int(decision.value), n_labels)
        if unlisted is None or decision.kind == "listed":
            n_listed = row_sizes(ranking.ptr)
            return PredictedSets(np.minimum(n_listed, k), ranking.ptr, ranking.labels)
        return _choose_with_unlisted(ranking, n_labels, k)
    scores = ranking.scores
    if scores is None:
        raise InputError("y_score", f"decision {decision} needs scores; this list has none")
    if decision.kind == "weighted":
        return _choose_weighted(decision, ranking, scores, n_labels)
    if decision.kind == "labels":
        return _choose_above(decision, ranking, scores)
    n_rows = ranking.ptr.size - 1
    if decision.kind == "rows":
        leading = leading_scores(ranking, n_labels, unlisted, decision.numbers.size - 1)
        thresholds = np.empty(n_rows)
        apply_weights(leading, decision.numbers, thresholds)
        cut = cut_rows(ranking, thresholds, unlisted)
    else:
        assert decision.kind == "threshold"
        cut = np.empty(n_rows, np.int64)
        threshold = as_score(decision.value, scores)
        count_leading(ranking.ptr, scores, threshold, decision.inclusive, cut)
        if decision.limit:
            cut = np.minimum(cut, decision.limit)
    return PredictedSets(cut, ranking.ptr, ranking.labels)


def leading_entries(decision: Decision, ranking: RankedRows) -> RankedRows:
    """Return the entries of unsorted rows that may be in the predicted sets, best first.

    That is faster than sorting whole rows if few entries remain.
    """
    assert not decision.needs_order(None)
    scores = ranking.scores
    assert scores is not None
    if decision.n_leading is not None:
        return select_leading(ranking, decision.n_leading)
    threshold = as_score(decision.value, scores)
    is_predicted = scores >= threshold if decision.inclusive else scores > threshold
    labels = ranking.labels[is_predicted]
    scores = scores[is_predicted]
    ptr = pointer(is_predicted)[ranking.ptr]
    rank_rows(ptr, labels, scores)
    return ranking._replace(
        ptr=ptr, labels=labels, scores=scores, n_above=row_sizes(ptr), ordered=True
    )


def _choose_with_unlisted(ranking: RankedRows, n_labels: int, k: int) -> PredictedSets:
    """Return the k best labels of every row, listed or not."""
    n_rows = ranking.ptr.size - 1
    ptr = np.arange(n_rows + 1, dtype=np.int64) * k
    labels = np.empty(ptr[-1], ranking.labels.dtype)
    order = ranking.tie_order
    if order is None:
        fill_heads(ranking.ptr, ranking.labels, ranking.n_above, n_labels, ptr, labels)
    else:
        # the kernel takes unlisted labels by number, so labels are replaced by their places
        places = order.take(ranking.labels)
        fill_heads(ranking.ptr, places, ranking.n_above, n_labels, ptr, labels)
        labels = np.argsort(order).astype(order.dtype).take(labels)
    return PredictedSets(row_sizes(ptr), ptr, labels)


def _choose_weighted(
    decision: Decision, ranking: RankedRows, scores: Scores, n_labels: int
) -> PredictedSets:
    """Return the k best listed labels of every row by weight x score + offset."""
    weights_and_offsets = decision.numbers.reshape(2, -1)
    is_chosen = np.empty(ranking.labels.size, np.bool_)
    best = np.empty(min(int(decision.value), n_labels), np.int64)
    mark_best(ranking.ptr, ranking.labels, scores, weights_and_offsets, best, is_chosen)
    cut = np.minimum(row_sizes(ranking.ptr), best.size)
    ptr = np.concatenate(([0], np.cumsum(cut)))
    return PredictedSets(cut, ptr, ranking.labels[is_chosen])


def _choose_above(decision: Decision, ranking: RankedRows, scores: Scores) -> PredictedSets:
    """Return the labels of every row above their thresholds."""
    thresholds = as_scores(decision.numbers, scores)
    labels = ranking.labels
    ptr = np.empty_like(ranking.ptr)
    select_above(ranking.ptr, labels, scores, thresholds, ptr, np.empty(0, labels.dtype))
    chosen = np.empty(ptr[-1], labels.dtype)
    select_above(ranking.ptr, labels, scores, thresholds, ptr, chosen)
    return PredictedSets(row_sizes(ptr), ptr, chosen)


def leading_scores(ranking: RankedRows, n_labels: int, unlisted: float | None, k: int) -> Floats:
    """Return the k highest scores of every row, float64 (n, k); see `copy_leading`."""
    assert ranking.scores is not None
    unlisted_score = np.nan
    if unlisted is not None:
        unlisted_score = as_score(unlisted, ranking.scores)
    leading = np.empty((ranking.ptr.size - 1, k))
    copy_leading(ranking.ptr, ranking.scores, ranking.n_above, n_labels, unlisted_score, leading)
    return leading


def refuse_unfit(
    decision: Decision, ranking: RankedRows, n_labels: int, unlisted: float | None, start: int
) -> None:
    """Refuse rows, numbered from ``start``, with scores that a rule does not take.

    A linear model takes no infinite scores, and a rule with weights takes only scores within 0..1.
    """
    scores = ranking.scores
    if scores is None:
        return
    if decision.kind == "weighted":
        refuse_improbable(ranking, start)
    elif decision.kind == "rows":
        is_unlisted_finite = unlisted is None or math.isfinite(as_score(unlisted, scores))
        if is_unlisted_finite and np.isfinite(scores).all():
            return
        leading = leading_scores(ranking, n_labels, unlisted, decision.numbers.size - 1)
        refuse_infinite_leading(leading, start)


def refuse_improbable(ranking: RankedRows, start: int, depth: int = MOST, *why: object) -> None:
    """Refuse rows, numbered from ``start``, with leading scores outside 0..1; explain ``why``."""
    assert ranking.scores is not None
    place = find_outside(ranking.ptr, ranking.scores, depth)
    if place < 0:
        return
    row = int(np.searchsorted(ranking.ptr, place, "right")) - 1
    score = float(ranking.scores[place])
    problem = f"score {score:g} of label {ranking.labels[place]} is outside 0..1; "
    if not why:
        why = ("a weighted rule needs probabilities (`xmleval calibrate`)",)
    raise InputError("y_score", Message(problem, *why), row=start + row, value=score)


def refuse_infinite_leading(leading: Floats, start: int) -> None:
    """Refuse rows, numbered from ``start``, with infinite leading scores."""
    rows, places = np.nonzero(~np.isfinite(leading))
    if rows.size:
        value = leading[rows[0], places[0]]
        problem = f"score {value} is infinite; a linear rule needs finite ones"
        raise InputError("y_score", problem, row=start + int(rows[0]), value=value)


def cut_rows(ranking: RankedRows, thresholds: Floats, unlisted: float | None) -> Ints:
    """Count the entries of every row above its threshold, or above unlisted labels if higher."""
    scores = ranking.scores
    assert scores is not None
    rounded = as_scores(thresholds, scores)
    if unlisted is not None:
        rounded = np.maximum(rounded, scores.dtype.type(as_score(unlisted, scores)))
    cut = np.empty(rounded.size, np.int64)
    count_above(ranking.ptr, scores, rounded, cut)
    return cut


def parse_decision(rule: str | Decision) -> Decision:
    """Parse ``top3``, the k best labels, or ``threshold0.5``, scores strictly above 0.5.

    ``threshold>=0.5`` takes those of 0.5, too, and ``top3&threshold0.5`` the 3 best of those above.
    ValueError is raised where a text is none of these, k is not positive or the threshold is NaN.
    """
    if isinstance(rule, Decision):
        return rule
    decision = _parse_text(rule) if isinstance(rule, str) else None
    if decision is None:
        raise ValueError(Message(Keyword("decision", shown(rule)), f" is {NO_RULE}"))
    return decision


def _parse_text(text: str) -> Decision | None:
    """Return the decision of a text, None if it is invalid."""
    match = RULE.fullmatch(BLANKS.sub(r"\1", text.strip().lower()))
    if match is None:
        return None
    k = None if match["k"] is None else whole_number(match["k"])
    if match["k"] is not None and not (k and k <= MOST):
        return None
    if match["threshold"] is None:
        return None if k is None else Decision("top", float(k))
    value = decimal_number(match["threshold"])
    if value is None or math.isnan(value):
        return None
    return Decision("threshold", value, limit=k or 0, inclusive=match["sign"] is not None)


def label_thresholds(thresholds: object, n_labels: int) -> Decision:
    """Return the rule of a threshold for each label, which were given in the order of the labels.

    ValueError is raised where these are not ``n_labels`` numbers.
    """
    try:
        numbers = np.asarray(thresholds, np.float64)
    except (TypeError, ValueError):
        raise InputError("decision", "thresholds of labels must be numbers") from None
    if numbers.shape != (n_labels,):
        reason = f"thresholds of shape {numbers.shape}; expected one for each of {n_labels} labels"
        raise InputError("decision", reason)
    if np.isnan(numbers).any():
        label = int(np.flatnonzero(np.isnan(numbers))[0])
        reason = f"threshold of label {label} is nan; give a number, or inf for never"
        raise InputError("decision", reason)
    return Decision("labels", 0.0, numbers, GIVEN)


def check_width(decision: Decision, n_fitted: int, n_labels: int) -> None:
    """Refuse a rule fitted to another number of labels."""
    if n_fitted != n_labels:
        keyword = Keyword("decision", str(decision))
        reason = f" has {counted(n_fitted, 'labels')}; {n_labels} were expected"
        raise ValueError(Message(keyword, reason))


def check_decision(
    decision: Decision,
    conventions: Conventions,
    n_labels: int,
    higher_is_better: bool = True,
    fitted: bool = False,
) -> None:
    """Refuse a threshold that every unlisted label passes, and rules fitted to other data."""
    score = conventions.unlisted_score
    keyword = Keyword("decision", str(decision))
    if decision.kind == "features":
        remedy = " reads features; apply the rule and pass ", Keyword("y_pred")
        raise ValueError(Message(keyword, *remedy))
    is_fitted = fitted or (decision.fitted and decision.text != GIVEN)
    if not higher_is_better and is_fitted and decision.kind != "listed":
        given = decision.text == GIVEN
        verb = "is for" if given else "was fitted to"
        raise ValueError(Message(keyword, f" {verb} scores whose higher values are better"))
    if decision.of_each:
        numbers_per_label = 2 if decision.kind == "weighted" else 1
        check_width(decision, decision.numbers.size // numbers_per_label, n_labels)
    if decision.kind == "rows":
        fitted_score = None if math.isnan(decision.value) else decision.value
        if fitted_score != score:
            unlisted = Field("unlisted", str(conventions.unlisted))
            raise ValueError(Message(keyword, " was not fitted with ", unlisted))
    if score is not None and _passes_unlisted(decision, score, higher_is_better):
        unlisted = Field("unlisted", f"{score:g}")
        problem = " would predict every unlisted label"
        raise ValueError(Message(keyword, " with ", unlisted, problem))


def _passes_unlisted(decision: Decision, score: float, higher_is_better: bool) -> bool:
    """Whether the score of unlisted labels is better than the least strict threshold."""
    if decision.kind == "threshold":
        widest = decision.value
    elif decision.kind != "labels":
        return False
    elif higher_is_better:
        widest = float(decision.numbers.min(initial=math.inf))
    else:
        widest = float(decision.numbers.max(initial=-math.inf))
    if widest == score:
        return decision.inclusive
    return (widest < score) == higher_is_better
