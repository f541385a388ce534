"""Decision rules: predicted sets from the scores of a block."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats, Ints, Labels, as_score, as_scores, row_sizes
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import MOST, Field, InputError, Keyword, Message, counted, shown
from xmleval.base.numerals import decimal_number
from xmleval.input.canonical import Ranking, Truth
from xmleval.input.rows import pointer
from xmleval.kernels.calibrating import find_outside
from xmleval.kernels.choosing import mark_best
from xmleval.kernels.ranking import copy_heads, count_leading, fill_heads
from xmleval.kernels.thresholds import apply_weights, copy_leading, count_above, select_above

NONE: Floats = np.empty(0)
LISTED = ("listed", "weighted")  # kinds for which labels without a score do not compete


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule that turns scores into predicted sets.

    Parameters
    ----------
    kind : {"pred", "top", "threshold", "listed", "weighted", "labels", "rows", "features"}
        "pred": given sets; "top": the k best labels; "threshold": labels strictly above ``value``. Fitted
        rules: "listed": the k best listed labels; "weighted": those by weight x score + offset, two numbers
        per label; "labels": a threshold per label; "rows", "features": a threshold per row from a linear
        model of its scores or of its features.
    value : float
        k, or the threshold; for linear models the score of unlisted labels, NaN if they have none.
    numbers : float64 (n_labels,), (2 n_labels,) or (k + 1,)
        Thresholds of labels, weights and then offsets of labels, or weights of the model, intercept first;
        stored as a read-only copy.
    text : str
        Name of a rule with numbers.
    """

    kind: str
    value: float = 0.0
    numbers: Floats = field(default_factory=lambda: NONE, repr=False)
    text: str = ""

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
        return f"{self.kind}{int(self.value) if float(self.value).is_integer() else self.value!r}"

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


class Chosen(NamedTuple):
    """Predicted sets: the first ``cut`` entries of each row."""

    cut: Ints
    ptr: Ints
    labels: Labels

    def as_sets(self) -> Truth:
        """Return the sets without the entries behind them."""
        ptr = pointer(self.cut)
        labels = np.empty(ptr[-1], self.labels.dtype)
        copy_heads(self.ptr, self.labels, ptr, labels)
        return Truth(ptr, labels)


def choose(decision: Decision, ranking: Ranking, n_labels: int, unlisted: float | None) -> Chosen:
    """Return the sets predicted by a decision; entries must be sorted unless it is "labels"."""
    ptr, labels, scores = ranking.ptr, ranking.labels, ranking.scores
    n_listed = row_sizes(ptr)
    if decision.kind in ("top", "listed"):
        k = min(int(decision.value), n_labels)
        if unlisted is None or decision.kind == "listed":
            return Chosen(np.minimum(n_listed, k), ptr, labels)
        head_ptr = np.arange(n_listed.size + 1, dtype=np.int64) * k
        heads = np.empty(head_ptr[-1], labels.dtype)
        order = ranking.tie_order
        listed = labels if order is None else order.take(labels)
        fill_heads(ptr, listed, ranking.n_above, n_labels, head_ptr, heads)
        if order is not None:
            heads = np.argsort(order).astype(order.dtype).take(heads)
        return Chosen(row_sizes(head_ptr), head_ptr, heads)
    if scores is None:
        raise InputError("y_score", f"decision {decision} needs scores; this list has none")
    if decision.kind == "weighted":
        inside, best = np.empty(labels.size, np.bool_), np.empty(min(int(decision.value), n_labels), np.int64)
        mark_best(ptr, labels, scores, decision.numbers.reshape(2, -1), best, inside)
        cut = np.minimum(n_listed, best.size)
        return Chosen(cut, np.concatenate(([0], np.cumsum(cut))), labels[inside])
    if decision.kind == "labels":
        thresholds, chosen_ptr = as_scores(decision.numbers, scores), np.empty_like(ptr)
        select_above(ptr, labels, scores, thresholds, chosen_ptr, np.empty(0, labels.dtype))
        chosen = np.empty(chosen_ptr[-1], labels.dtype)
        select_above(ptr, labels, scores, thresholds, chosen_ptr, chosen)
        return Chosen(row_sizes(chosen_ptr), chosen_ptr, chosen)
    cut = np.empty_like(n_listed)
    if decision.kind == "rows":
        values = leading_scores(ranking, n_labels, unlisted, decision.numbers.size - 1)
        thresholds_of_rows = np.empty(n_listed.size)
        apply_weights(values, decision.numbers, thresholds_of_rows)
        return Chosen(cut_rows(ranking, thresholds_of_rows, unlisted), ptr, labels)
    assert decision.kind == "threshold"
    count_leading(ptr, scores, as_score(decision.value, scores), False, cut)
    return Chosen(cut, ptr, labels)


def leading_scores(ranking: Ranking, n_labels: int, unlisted: float | None, k: int) -> Floats:
    """Return the k highest scores of each row, float64 (n, k); see `copy_leading`."""
    assert ranking.scores is not None
    missing = np.nan if unlisted is None else as_score(unlisted, ranking.scores)
    leading = np.empty((ranking.ptr.size - 1, k))
    copy_leading(ranking.ptr, ranking.scores, ranking.n_above, n_labels, missing, leading)
    return leading


def refuse_unfit(
    decision: Decision, ranking: Ranking, n_labels: int, unlisted: float | None, start: int
) -> None:
    """Refuse rows, numbered from ``start``, with scores that a rule does not take.

    These are infinite ones that a linear model reads, and those outside 0..1 where labels have weights.
    """
    scores = ranking.scores
    if decision.kind == "weighted" and scores is not None:
        refuse_improbable(ranking, start)
    if decision.kind != "rows" or scores is None:
        return
    if np.isfinite(scores).all() and (unlisted is None or math.isfinite(as_score(unlisted, scores))):
        return
    refuse_infinite_leading(leading_scores(ranking, n_labels, unlisted, decision.numbers.size - 1), start)


def refuse_improbable(ranking: Ranking, start: int, depth: int = MOST, *why: object) -> None:
    """Refuse rows, numbered from ``start``, with leading scores outside 0..1, and say ``why``."""
    assert ranking.scores is not None
    place = find_outside(ranking.ptr, ranking.scores, depth)
    if place >= 0:
        row, score = int(np.searchsorted(ranking.ptr, place, "right")) - 1, float(ranking.scores[place])
        text = f"score {score:g} of label {ranking.labels[place]} is outside 0..1; "
        reason = Message(text, *(why or ["a weighted rule needs probabilities (`xmleval calibrate`)"]))
        raise InputError("y_score", reason, row=start + row, value=score)


def refuse_infinite_leading(leading: Floats, start: int) -> None:
    """Refuse rows, numbered from ``start``, with infinite leading scores."""
    rows, places = np.nonzero(~np.isfinite(leading))
    if rows.size:
        value = leading[rows[0], places[0]]
        raise InputError(
            "y_score",
            f"score {value} is infinite; a linear rule needs finite ones",
            row=start + int(rows[0]),
            value=value,
        )


def cut_rows(ranking: Ranking, thresholds: Floats, unlisted: float | None) -> Ints:
    """Count the entries of each row above its threshold, raised so that no unlisted label passes."""
    scores = ranking.scores
    assert scores is not None
    rounded = as_scores(thresholds, scores)
    if unlisted is not None:
        rounded = np.maximum(rounded, scores.dtype.type(as_score(unlisted, scores)))
    cut = np.empty(rounded.size, np.int64)
    count_above(ranking.ptr, scores, rounded, cut)
    return cut


def parse_decision(rule: str | Decision) -> Decision:
    """Parse ``top3``, the k best labels, or ``threshold0.5``, all with a score strictly above a number.

    ValueError is raised where a text is neither, k is not positive or the threshold is NaN.
    """
    if isinstance(rule, Decision):
        return rule
    text = rule.strip().lower() if isinstance(rule, str) else ""
    match = re.fullmatch(r"(top(?=[0-9]+$)|threshold)(.+)", text)
    value = None if match is None else decimal_number(match[2])
    if match is None or value is None or value != value or (match[1] == "top" and not 0 < value <= MOST):
        neither = " is neither topK (top3) nor thresholdT (threshold0.5)"
        raise ValueError(Message(Keyword("decision", shown(rule)), neither))
    return Decision(match[1], value)


def check_width(decision: Decision, n_fitted: int, n_labels: int) -> None:
    """Refuse a rule fitted to another number of labels."""
    if n_fitted != n_labels:
        keyword = Keyword("decision", str(decision))
        raise ValueError(Message(keyword, f" has {counted(n_fitted, 'labels')}; {n_labels} were expected"))


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
        raise ValueError(Message(keyword, " reads features; apply the rule and pass ", Keyword("y_pred")))
    if not higher_is_better and (fitted or decision.fitted) and decision.kind != "listed":
        raise ValueError(Message(keyword, " was fitted to scores of which higher ones are better"))
    if decision.of_each:
        check_width(decision, decision.numbers.size // (2 if decision.kind == "weighted" else 1), n_labels)
    if decision.kind == "rows" and (None if math.isnan(decision.value) else decision.value) != score:
        unlisted = Field("unlisted", str(conventions.unlisted))
        raise ValueError(Message(keyword, " was not fitted with ", unlisted))
    lowest = decision.value if decision.kind == "threshold" else decision.numbers.min(initial=math.inf)
    passed = score is not None and (lowest < score if higher_is_better else lowest > score)
    if decision.kind in ("threshold", "labels") and passed:
        unlisted = Field("unlisted", f"{conventions.unlisted_score:g}")
        raise ValueError(Message(keyword, " with ", unlisted, " would predict every unlisted label"))
