"""Every measure as one record, in printing order."""

from __future__ import annotations

from xmleval.metrics import at_k, curves, margins, propensity_scored, rankings, sets, statistics
from xmleval.metrics.metric import Metric, Setting

TABLE: tuple[Metric, ...] = (
    at_k.P,
    at_k.NDCG_AT_K,
    propensity_scored.PSP,
    propensity_scored.PSNDCG,
    at_k.R,
    at_k.RCAP,
    at_k.DCG,
    at_k.HIT,
    at_k.MRR,
    at_k.MAP,
    at_k.MAP_R,
    at_k.RPREC,
    at_k.NDCG_ALL,
    at_k.DCG_ALL,
    at_k.MRR_ALL,
    at_k.MAP_ALL,
    at_k.LABEL_COVERAGE,
    propensity_scored.PSR,
    propensity_scored.PSDCG,
    propensity_scored.PSP_RAW,
    propensity_scored.PSR_RAW,
    propensity_scored.PSDCG_RAW,
    propensity_scored.PSNDCG_RAW,
    rankings.ONE_ERROR,
    rankings.COVERAGE,
    rankings.COVERAGE_ERROR,
    rankings.RANKING_LOSS,
    rankings.LRAP,
    rankings.AUC,
    rankings.PEAK_F1,
    rankings.IS_ERROR,
    rankings.ERROR_SET_SIZE,
    curves.AUC,
    curves.AUC_BRACKET,
    curves.AP,
    curves.PEAK_F1,
    margins.MARGIN,
    margins.MARGIN_SHARE,
    sets.SUBSET_ACCURACY,
    sets.HAMMING_LOSS,
    sets.PRECISION,
    sets.RECALL,
    sets.F1,
    sets.FBETA,
    sets.JACCARD,
    sets.F1_OF_MEANS,
    sets.FBETA_OF_MEANS,
    sets.F1_OF_MACROS,
    sets.ACCURACY,
    sets.SPECIFICITY,
    sets.BALANCED_ACCURACY,
    sets.MCC,
    sets.GMEAN,
    statistics.LABEL_CARDINALITY,
    statistics.LABEL_DENSITY,
    statistics.LABEL_DIVERSITY,
    statistics.PROPORTIONAL_DIVERSITY,
)

# Other spellings of a lower-case name with its average
ALIASES: dict[str, str] = {
    "ap.samples": "lrap",
    "psndcg_repo": "psdcg",
    "precision@": "p@",
    "prec@": "p@",
    "recall@": "r@",
    "hits@": "hit@",
    "success@": "hit@",
    "rr@": "mrr@",
    "psprecision@": "psp@",
    "psrecall@": "psr@",
    "r_precision": "rprec",
    "r-prec": "rprec",
}

GROUPS: dict[str, tuple[str, ...]] = {
    "xmc": ("p@", "ndcg@", "psp@", "psndcg@", "r@"),
    "wu2017": (
        "hamming_loss", "ranking_loss", "one_error", "coverage", "lrap", "f1.macro", "f1.micro",
        "f1.samples", "auc.macro", "auc.micro", "auc.samples",
    ),
    "sets": tuple(
        f"{metric.name}.{average}" if average else metric.name
        for metric in TABLE
        if metric.family == "sets" and not metric.params
        for average in metric.averages or ("",)
    ),
    "ranking": (
        "one_error", "coverage", "coverage_error", "ranking_loss", "lrap", "auc.samples", "ndcg@all",
        "peak_f1.samples", "is_error", "error_set_size", "rprec",
    ),
    "curves": (
        *(f"{m.name}.{average}" for m in TABLE if m.state == "score_runs" for average in m.averages),
        "auc.samples", "lrap", "peak_f1.samples",
    ),
    "ps": tuple(f"{metric.name}@" for metric in TABLE if metric.family == "propensity"),
    "statistics": tuple(metric.name for metric in TABLE if metric.family == "statistics"),
}  # fmt: skip

__all__ = ["ALIASES", "GROUPS", "TABLE", "Metric", "Setting"]
