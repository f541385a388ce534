"""The first k labels of every row, found where the scores are, so that no more of them travels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from xmleval.evaluation.request import Question
from xmleval.evaluation.settings import check_settings, plan_of
from xmleval.states.plan import SCORED

if TYPE_CHECKING:
    from torch import Tensor


class Cut:
    """Keeps of every row as many labels as the measures read; all, if those left out have a score.

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
        self._depth = None if plan.unlisted is not None else plan.depth
        self._higher_is_better = plan.higher_is_better

    def __call__(self, scores: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return labels and scores of the first labels of a tensor (m, l), or the whole tensor."""
        if self._depth is None:
            return scores
        values, labels = scores.topk(self._depth, dim=1, largest=self._higher_is_better)
        return labels, values
