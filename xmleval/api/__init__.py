"""One function for each measure of daily use: `evaluate` with one name and default conventions."""

from __future__ import annotations

from xmleval.api.at_k import (
    hit_rate_at_k,
    mean_reciprocal_rank_at_k,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)
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

__all__ = [
    "coverage",
    "hamming_loss",
    "hit_rate_at_k",
    "instance_auc",
    "macro_auc",
    "micro_auc",
    "instance_f1",
    "label_ranking_average_precision",
    "macro_f1",
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
]
