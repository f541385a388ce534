"""Evaluation in a Hugging Face `Trainer`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from xmleval.base.conventions import with_field
from xmleval.base.errors import InputError
from xmleval.evaluation.evaluator import Evaluator
from xmleval.evaluation.request import Options
from xmleval.input.rows import Rows, rows_by_id
from xmleval.integrations.topk import TopKSelector
from xmleval.results.report import Report

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import EvalPrediction

PADDING = -100  # the label with which the Trainer pads


class TrainerMetrics:
    """The two functions that a `Trainer` takes to evaluate.

    ``preprocess_logits_for_metrics`` keeps the first k labels of every row, on the device, so that
    (m, k) scores are gathered and kept instead of (m, l); where a measure reads the whole ranking,
    it keeps all. Of equal logits, the device decides which come first. ``compute_metrics`` works
    with and without ``batch_eval_metrics=True``, which keeps no labels either.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        See `xmleval.evaluate`.
    n_labels : int
        Number of labels, the width of the logits.
    options : dict
        Options of `xmleval.Evaluator`, such as ``k``, ``inverse_propensity`` and ``decision``.

    Attributes
    ----------
    report : Report or None
        Of the last evaluation.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> metrics = TrainerMetrics(["p@1", "p@5", "ndcg@5"], n_labels=4000)
    >>> functions = {
    ...     "preprocess_logits_for_metrics": metrics.preprocess_logits_for_metrics,
    ...     "compute_metrics": metrics.compute_metrics,
    ... }  # Trainer(model, args, eval_dataset=..., **functions); metric_for_best_model="p_at_5"
    """

    def __init__(
        self,
        metrics: str | Iterable[str] | None = None,
        *,
        n_labels: int,
        **options: Unpack[Options],
    ) -> None:
        if metrics is not None and not isinstance(metrics, str):
            metrics = list(metrics)
        conventions = options.get("conventions")
        # every label has a logit
        options["conventions"] = with_field(conventions, "unlisted", "below")
        self._evaluator = Evaluator(metrics, n_labels=n_labels, **options)
        self._select = TopKSelector(metrics, n_labels, dict(options))
        self.report: Report | None = None

    def preprocess_logits_for_metrics(
        self, logits: Tensor | tuple[Tensor, ...] | list[Tensor], labels: object = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return the labels and logits of the first k labels, or all logits.

        Parameters
        ----------
        logits : tensor of shape (m, l), or a tuple that begins with it
            What the model returns beside the loss.
        labels : tensor, optional
            Not used.

        Returns
        -------
        (labels, logits), tensors of shape (m, k), or a tensor of shape (m, l)

        Raises
        ------
        ValueError
            If the logits are not of shape (m, n_labels).
        """
        first = logits[0] if isinstance(logits, tuple | list) else logits
        shape = tuple(first.shape)
        n_labels = self._evaluator.n_labels
        if len(shape) != 2 or shape[1] != n_labels:
            raise InputError(
                "logits", f"shape {shape} is not (m, {n_labels}) for n_labels={n_labels}"
            )
        return self._select(first)

    def compute_metrics(
        self, prediction: EvalPrediction, compute_result: bool | None = None
    ) -> dict[str, float]:
        """Return the values by names without special characters, as `Report.flat` gives them.

        Parameters
        ----------
        prediction : transformers.EvalPrediction
            ``predictions`` is what ``preprocess_logits_for_metrics`` returned, or logits, also in
            front of other outputs of the model; ``label_ids`` is 0/1 of shape (m, n_labels), or ids
            of shape (m, width), filled up with -100.
        compute_result : bool, optional
            Whether this was the last batch, with ``batch_eval_metrics=True``.

        Returns
        -------
        dict of str to float
            Empty before the last batch. Undefined values are left out.

        Raises
        ------
        ValueError
            If predictions or labels are invalid.
        """
        if compute_result is None:
            self.reset()
        predictions = prediction.predictions
        label_ids = prediction.label_ids
        if not isinstance(label_ids, list):
            self._evaluator.update(self._truth(label_ids), _logits(predictions))
        else:  # eval_do_concat_batches=False
            for batch_predictions, batch_ids in zip(predictions, label_ids, strict=True):
                self._evaluator.update(self._truth(batch_ids), _logits(batch_predictions))
        if compute_result is False:
            return {}
        self.report = self._evaluator.compute()
        self.reset()
        return self.report.flat()

    def reset(self) -> None:
        """Forget the batches of an evaluation that was interrupted."""
        self._evaluator.reset()

    def _truth(
        self, labels: NDArray[Any] | Tensor | tuple[object, ...]
    ) -> NDArray[Any] | Tensor | Rows:
        """Return 0/1 labels unchanged, and ids without padding."""
        if isinstance(labels, tuple):
            raise InputError(
                "label_ids",
                f"{len(labels)} arrays, one for each of label_names; pass only that of the labels",
            )
        is_wide = len(labels.shape) == 2 and labels.shape[1] == self._evaluator.n_labels
        if is_wide and not bool((labels == PADDING).any()):
            return labels
        if hasattr(labels, "cpu"):
            labels = labels.cpu()
        ids = np.asarray(labels)
        if ids.ndim != 2 or ids.dtype.kind not in "iu":
            n_labels = self._evaluator.n_labels
            raise InputError(
                "label_ids",
                f"{ids.dtype} of shape {ids.shape}; expected 0/1 of shape (m, {n_labels}), or ids",
            )
        is_id = ids != PADDING
        ptr = np.concatenate(([0], is_id.sum(axis=1).cumsum()))
        return rows_by_id(ptr, ids[is_id])


def _logits(
    predictions: NDArray[Any] | Tensor | tuple[Any, ...],
) -> NDArray[Any] | Tensor | tuple[Any, ...]:
    """Return the logits of a model with further outputs; labels and their logits unchanged."""
    if not isinstance(predictions, tuple):
        return predictions
    first = predictions[0]
    if "float" in str(getattr(first, "dtype", "")):
        return first
    return predictions
