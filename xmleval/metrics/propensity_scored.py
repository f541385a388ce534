"""Propensity-scored measures at k: the formulas at k with weighted gains."""

from __future__ import annotations

from functools import partial

import numpy as np

from xmleval.metrics.at_k import dcg, ndcg, precision, recall
from xmleval.metrics.metric import Metric, best_one

NORMALISED = partial(
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
RAW = partial(
    NORMALISED,
    table="gains",
    best=None,
    empty="zero",
    range=(0.0, np.inf),
    conventions=("empty", "unlisted"),
)

TABLE = (
    NORMALISED(
        name="psp",
        title="propensity-scored precision at k",
        symbol="PSP@{k}",
        formula="sum over rows and hits of q / sum over rows of the k largest q of relevant labels",
        value=precision,
    ),
    NORMALISED(
        name="psndcg",
        title="propensity-scored nDCG at k",
        symbol="PSnDCG@{k}",
        formula="psdcg with both terms of each row divided by its ideal DCG@k",
        value=ndcg,
    ),
    NORMALISED(
        name="psr",
        title="propensity-scored recall at k",
        symbol="PSR@{k}",
        formula="sum over rows and hits of q / R, divided by the ideal sum",
        value=recall,
    ),
    NORMALISED(
        name="psdcg",
        title="propensity-scored DCG at k (PSnDCG of the repository's tools)",
        symbol="PSDCG@{k}",
        formula="sum over rows and hits of q / log2(1 + rank), divided by the ideal sum",
        value=dcg,
    ),
    RAW(
        name="psp_raw",
        title="propensity-scored precision at k, not normalised",
        symbol="PSP_raw@{k}",
        formula="sum over hits of q / k",
        value=precision,
    ),
    RAW(
        name="psr_raw",
        title="propensity-scored recall at k, not normalised",
        symbol="PSR_raw@{k}",
        formula="sum over hits of q / R",
        value=recall,
    ),
    RAW(
        name="psdcg_raw",
        title="propensity-scored DCG at k, not normalised",
        symbol="PSDCG_raw@{k}",
        formula="sum over hits of q / log2(1 + rank)",
        value=dcg,
    ),
    RAW(
        name="psndcg_raw",
        title="propensity-scored nDCG at k, not normalised",
        symbol="PSnDCG_raw@{k}",
        formula="sum over hits of q / log2(1 + rank), divided by the row's ideal DCG@k",
        value=ndcg,
    ),
)
