"""Evaluation as a torchmetrics `Metric`, as Lightning logs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from xmleval.base.errors import InputError, import_optional
from xmleval.evaluation.evaluator import Evaluator, restore_evaluator, saved_of
from xmleval.evaluation.request import Options
from xmleval.files.saved import from_bytes, to_bytes
from xmleval.input.argument_types import RowsLike
from xmleval.integrations.topk import TopKSelector
from xmleval.results.report import tracker_name

if TYPE_CHECKING:
    import torch
    from torchmetrics import Metric
else:
    torch = import_optional("torch", "xmleval.integrations.torchmetrics", "torchmetrics")
    Metric = import_optional(
        "torchmetrics", "xmleval.integrations.torchmetrics", "torchmetrics"
    ).Metric

FIRST_ROWS = 1 << 40  # most rows of a process


class EvaluatorMetric(Metric):  # type: ignore[misc]
    """A torchmetrics `Metric` with the measures of an evaluator.

    Across processes, the states of all evaluators are merged, so that values are those of all rows
    on one process, to the last bit. Dense scores are cut to the first k labels on their device.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        See `xmleval.evaluate`.
    n_labels : int
        Number of labels.
    options : dict
        Options of `xmleval.Evaluator`, such as ``k``, ``inverse_propensity`` and ``decision``, and
        those of `torchmetrics.Metric`, except ``dist_sync_on_step``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Notes
    -----
    In a LightningModule, ``self.log("p@5", self.p5)`` logs a metric of one measure. Of several
    measures, log ``self.log_dict(self.metric.compute())`` in ``on_validation_epoch_end``, and then
    reset the metric.

    Examples
    --------
    >>> import torch
    >>> p1 = EvaluatorMetric("p@1", n_labels=3)
    >>> scores = torch.tensor([[0.9, 0.5, 0.2], [0.1, 0.8, 0.3]])
    >>> p1.update(scores, torch.tensor([[1, 0, 1], [1, 0, 0]]))
    >>> p1.compute()
    tensor(0.5000, dtype=torch.float64)
    """

    full_state_update = False

    def __init__(
        self, metrics: str | Iterable[str] | None = None, *, n_labels: int, **options: Any
    ) -> None:
        evaluator_options = {
            name: options.pop(name) for name in Options.__annotations__ if name in options
        }
        if options.get("dist_sync_on_step"):
            raise InputError("dist_sync_on_step", "values of a step are those of its own process")
        super().__init__(**options)
        if metrics is not None and not isinstance(metrics, str):
            metrics = list(metrics)
        self._make_evaluator: Callable[[], Evaluator] = partial(
            Evaluator, metrics, n_labels=n_labels, **evaluator_options
        )
        self._select = TopKSelector(metrics, n_labels, evaluator_options)
        self._evaluator = self._make_evaluator()
        self._merged: Evaluator | None = None

    def update(self, preds: torch.Tensor | RowsLike, target: torch.Tensor | RowsLike) -> None:
        """Count a batch.

        Parameters
        ----------
        preds : tensor of scores (m, l), or what else `xmleval.evaluate` takes as ``y_score``
            Such as the result of ``torch.topk``.
        target : tensor of 0/1 (m, l), or what else `xmleval.evaluate` takes as ``y_true``
            Relevant labels.

        Raises
        ------
        ValueError
            If input is invalid; the batch is then not counted.
        """
        rank = 0
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rank = torch.distributed.get_rank()
        first_row = rank * FIRST_ROWS + self._evaluator.n_rows
        self._evaluator.update(target, self._leading(preds), first_row=first_row)

    def compute(self) -> Any:
        """Return the value of one measure, or a dict of several with plain names.

        Names have no special characters.

        Returns
        -------
        tensor, or dict of str to tensor
            On the device of the metric; NaN where undefined.

        Raises
        ------
        ValueError
            If nothing was counted yet.
        """
        return self._values(self._merged or self._evaluator)

    def forward(self, preds: torch.Tensor | RowsLike, target: torch.Tensor | RowsLike) -> Any:
        """Count a batch, and return the values of this batch."""
        self.update(preds, target)
        batch = self._make_evaluator()
        batch.update(target, self._leading(preds))
        self._forward_cache = self._values(batch)
        return self._forward_cache

    def reset(self) -> None:
        """Forget all rows."""
        super().reset()
        self._evaluator.reset()
        self._merged = None

    def unsync(self, should_unsync: bool = True) -> None:
        """Go back to the rows of this process."""
        super().unsync(should_unsync)
        if should_unsync:
            self._merged = None

    def _sync_dist(
        self,
        dist_sync_fn: Callable[..., Any],
        process_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        """Merge the evaluators of all processes."""
        state = torch.frombuffer(bytearray(to_bytes(saved_of(self._evaluator))), dtype=torch.uint8)
        states = dist_sync_fn(state.to(self.device), group=process_group or self.process_group)
        first, *further = [
            restore_evaluator(from_bytes(state.cpu().numpy().tobytes())) for state in states
        ]
        for evaluator in further:
            first.merge(evaluator)
        self._merged = first

    def _leading(self, preds: Any) -> Any:
        """Return the first labels of dense scores; other predictions unchanged."""
        if not isinstance(preds, torch.Tensor) or preds.layout != torch.strided:
            return preds
        has_all_labels = preds.shape == (len(preds), self._evaluator.n_labels)
        if has_all_labels and preds.is_floating_point():
            return self._select(preds)
        return preds

    def _values(self, evaluator: Evaluator) -> Any:
        """Return the value of one measure, or a dict of several, as tensors on the device."""
        report = evaluator.compute()
        # mps devices have no float64
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        values = {
            tracker_name(name, "_at_"): torch.tensor(value, dtype=dtype, device=self.device)
            for name, value in report.items()
        }
        if len(values) > 1:
            return values
        return next(iter(values.values()))
