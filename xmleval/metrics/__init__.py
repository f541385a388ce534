"""Every measure as one record, in printing order."""

from __future__ import annotations

from xmleval.metrics import (
    at_k,
    calibration,
    curves,
    judgements,
    margins,
    persistence,
    predicted,
    propensity_scored,
    rankings,
    sets,
    statistics,
)
from xmleval.metrics.aliases import ALIASES
from xmleval.metrics.measure import Measure

TABLE: tuple[Measure, ...] = (
    *at_k.TABLE,
    *persistence.TABLE,
    *judgements.TABLE,
    *propensity_scored.TABLE,
    *rankings.TABLE,
    *curves.TABLE,
    *margins.TABLE,
    *calibration.TABLE,
    *sets.TABLE,
    *predicted.TABLE,
    *statistics.TABLE,
)

GROUPS: dict[str, tuple[str, ...]] = {
    "xmc": ("p@", "ndcg@", "psp@", "psndcg@", "r@"),
    "wu2017": (
        "hamming_loss",
        "ranking_loss",
        "one_error",
        "coverage",
        "lrap",
        "f1.macro",
        "f1.micro",
        "f1.samples",
        "auc.macro",
        "auc.micro",
        "auc.samples",
    ),
    "sets": tuple(
        f"{metric.name}.{average}" if average else metric.name
        for metric in TABLE
        if metric.family == "sets" and not metric.params
        for average in metric.averages or ("",)
    ),
    "ranking": (
        "one_error",
        "coverage",
        "coverage_error",
        "ranking_loss",
        "lrap",
        "lwlrap",
        "gauc",
        "auc.samples",
        "ndcg@all",
        "peak_f1.samples",
        "is_error",
        "error_set_size",
        "rprec",
    ),
    "curves": (
        *(
            f"{m.name}.{average}"
            for m in TABLE
            if m.state == "score_runs" and not m.params
            for average in m.averages
        ),
        "auc.samples",
        "lrap",
        "peak_f1.samples",
    ),
    "ps": tuple(f"{metric.name}@" for metric in TABLE if metric.family == "propensity"),
    "predicted": ("pred_coverage@", "gini@", "entropy@", "popularity@", "tail_share@"),
    "calibration": tuple(f"{m.name}@" for m in TABLE if m.family == "calibration"),
    "hierarchy": tuple(
        f"{m.name}.{a}" for m in TABLE if m.family == "hierarchy" for a in m.averages
    ),
    "statistics": tuple(metric.name for metric in TABLE if metric.family == "statistics"),
}

__all__ = ["ALIASES", "GROUPS", "TABLE", "Measure"]
