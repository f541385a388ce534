"""The first k labels of every row, selected on the device of the scores to copy fewer of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from xmleval.evaluation.request import Question
from xmleval.evaluation.settings import check_settings, plan_of
from xmleval.states.plan import SCORED

if TYPE_CHECKING:
    from torch import Tensor


class TopKSelector:
    """Select as many labels of every row as the measures read.

    All labels are kept if unlisted ones have a score, or for means over all orders of equal scores.

    Parameters
    ----------
    metrics : str, iterable of str, or None
        The measures.
    n_labels : int
        Number of labels.
    options : dict
        Options of `Evaluator`.
    """

    def __init__(
        self, metrics: str | Iterable[str] | None, n_labels: int, options: Mapping[str, Any]
    ) -> None:
        question = Question(metrics=metrics, n_labels=n_labels, **options)
        plan = plan_of(check_settings(question, n_labels), frozenset({"y_score", SCORED}))
        self._depth = plan.depth
        if plan.unlisted is not None or plan.keeps_ties:
            self._depth = None
        self._higher_is_better = plan.higher_is_better

    def __call__(self, scores: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return labels and scores of the first labels of a tensor (m, l), or the whole tensor."""
        if self._depth is None:
            return scores
        values, labels = scores.topk(self._depth, dim=1, largest=self._higher_is_better)
        return labels, values
