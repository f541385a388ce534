"""Evaluate extreme multi-label classifiers from sparse labels and top-k lists."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from xmleval.api import evaluate
from xmleval.conventions import Conventions
from xmleval.evaluator import Evaluator
from xmleval.oneliners import (
    coverage,
    hamming_loss,
    hit_rate_at_k,
    instance_auc,
    instance_f1,
    label_ranking_average_precision,
    macro_auc,
    macro_f1,
    mean_reciprocal_rank_at_k,
    micro_auc,
    micro_f1,
    ndcg_at_k,
    one_error,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    ranking_loss,
    recall_at_k,
    subset_accuracy,
)
from xmleval.propensity import inverse_propensity
from xmleval.report import Report
from xmleval.truth_statistics import label_statistics
from xmleval.version import __version__

if TYPE_CHECKING:
    from xmleval import io, margins, thresholds

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
    "margins",
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
    if name in ("io", "margins", "thresholds"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is there, imported or not."""
    return sorted({*globals(), *__all__})
