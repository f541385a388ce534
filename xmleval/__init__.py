"""Evaluate extreme multi-label classifiers from sparse labels and top-k lists."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from xmleval.api.at_k import (
    hit_rate_at_k,
    mean_reciprocal_rank_at_k,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from xmleval.api.evaluate import evaluate
from xmleval.api.rankings import (
    coverage,
    instance_auc,
    label_ranking_average_precision,
    macro_auc,
    micro_auc,
    one_error,
    ranking_loss,
)
from xmleval.api.sets import hamming_loss, instance_f1, macro_f1, micro_f1, subset_accuracy
from xmleval.conventions import Conventions
from xmleval.evaluator import Evaluator
from xmleval.propensity import inverse_propensity
from xmleval.report.report import Report
from xmleval.statistics import label_statistics
from xmleval.version import __version__

if TYPE_CHECKING:
    from xmleval import effectiveness, io, thresholds

__all__ = [
    "Conventions",
    "Evaluator",
    "Report",
    "__version__",
    "coverage",
    "evaluate",
    "hamming_loss",
    "hit_rate_at_k",
    "instance_auc",
    "macro_auc",
    "micro_auc",
    "instance_f1",
    "inverse_propensity",
    "io",
    "label_ranking_average_precision",
    "label_statistics",
    "macro_f1",
    "effectiveness",
    "mean_reciprocal_rank_at_k",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "psndcg_at_k",
    "psp_at_k",
    "ranking_loss",
    "recall_at_k",
    "subset_accuracy",
    "thresholds",
]


def __getattr__(name: str) -> Any:
    """Import what not every program needs when it is first asked for."""
    if name in ("effectiveness", "io", "thresholds"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is there, imported or not."""
    return sorted({*globals(), *__all__})
