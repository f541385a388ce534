"""Propensity-scored measures at k: the formulas at k with weighted gains."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from xmleval.metrics.at_k import dcg, ndcg, precision, recall
from xmleval.metrics.metric import Metric, best_one

RATIO = partial(
    Metric,
    family="propensity",
    reference="Jain, Prabhu & Varma 2016 (KDD)",
    state="rank_profile",
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=best_one,
    cutoff="required",
    conventions=("unlisted",),
)
RATIOS = (
    RATIO(
        name="psp",
        title="propensity-scored precision at k",
        symbol="PSP@{k}",
        formula="sum over rows and hits of q / sum over rows of the k largest q of relevant labels",
        value=precision,
        ties="hits",
    ),
    RATIO(
        name="psndcg",
        title="propensity-scored nDCG at k",
        symbol="PSnDCG@{k}",
        formula="psdcg with both terms of each row divided by its ideal DCG@k",
        value=ndcg,
        ties="order",
    ),
    RATIO(
        name="psr",
        title="propensity-scored recall at k",
        symbol="PSR@{k}",
        formula="sum over rows and hits of q / R, divided by the ideal sum",
        value=recall,
        ties="hits",
    ),
    RATIO(
        name="psdcg",
        title="propensity-scored DCG at k (PSnDCG of the repository's tools)",
        symbol="PSDCG@{k}",
        formula="sum over rows and hits of q / log2(1 + rank), divided by the ideal sum",
        value=dcg,
        ties="order",
    ),
)


def raw(ratio: Metric, formula: str) -> Metric:
    """Return the variant of a measure that is a mean over rows, not a ratio of sums."""
    return replace(
        ratio,
        name=f"{ratio.name}_raw",
        title=f"{ratio.title.partition(' (')[0]}, not normalised",
        symbol=ratio.symbol.replace("@", "_raw@"),
        formula=formula,
        table="gains",
        best=None,
        empty="zero",
        range=(0.0, np.inf),
        conventions=("empty", "unlisted"),
    )


PSP, PSNDCG, PSR, PSDCG = RATIOS
TABLE = (
    *RATIOS,
    raw(PSP, "sum over hits of q / k"),
    raw(PSR, "sum over hits of q / R"),
    raw(PSDCG, "sum over hits of q / log2(1 + rank)"),
    raw(PSNDCG, "sum over hits of q / log2(1 + rank), divided by the row's ideal DCG@k"),
)
