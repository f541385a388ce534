"""Propensity-scored measures at k: the formulas at k over weighted gains."""

from __future__ import annotations

import numpy as np

from xmleval.metrics.at_k import dcg, ndcg, precision, recall
from xmleval.metrics.metric import Metric, one

JAIN = "Jain, Prabhu & Varma 2016 (KDD)"

PSP = Metric(
    name="psp",
    title="propensity-scored precision at k",
    symbol="PSP@{k}",
    family="propensity",
    formula="sum of hit q / sum of the k largest q of relevant labels, both over all rows",
    reference=JAIN,
    state="rank_profile",
    value=precision,
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=one,
    cutoff="required",
    conventions=("unlisted",),
)
PSR = Metric(
    name="psr",
    title="propensity-scored recall at k",
    symbol="PSR@{k}",
    family="propensity",
    formula="sum of (hit q) / R over the best possible sum",
    reference=JAIN,
    state="rank_profile",
    value=recall,
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=one,
    cutoff="required",
    conventions=("unlisted",),
)
PSDCG = Metric(
    name="psdcg",
    title="propensity-scored DCG at k (PSnDCG of the repository's tools)",
    symbol="PSDCG@{k}",
    family="propensity",
    formula="sum of hit q / log2(1 + rank) over the best possible sum",
    reference=JAIN,
    state="rank_profile",
    value=dcg,
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=one,
    cutoff="required",
    conventions=("unlisted",),
)
PSNDCG = Metric(
    name="psndcg",
    title="propensity-scored nDCG at k, rows divided by their unit ideal",
    symbol="PSnDCG@{k}",
    family="propensity",
    formula="psdcg with both terms of a row over its ideal DCG for min(k, R)",
    reference=JAIN,
    state="rank_profile",
    value=ndcg,
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=one,
    cutoff="required",
    conventions=("unlisted",),
)
PSP_RAW = Metric(
    name="psp_raw",
    title="propensity-scored precision at k, not normalised",
    symbol="PSP_raw@{k}",
    family="propensity",
    formula="sum of hit q / k",
    reference=JAIN,
    state="rank_profile",
    value=precision,
    needs=("scores", "propensity"),
    table="gains",
    cutoff="required",
    empty="zero",
    range=(0.0, np.inf),
    conventions=("empty", "unlisted"),
)
PSR_RAW = Metric(
    name="psr_raw",
    title="propensity-scored recall at k, not normalised",
    symbol="PSR_raw@{k}",
    family="propensity",
    formula="sum of hit q / R",
    reference=JAIN,
    state="rank_profile",
    value=recall,
    needs=("scores", "propensity"),
    table="gains",
    cutoff="required",
    empty="zero",
    range=(0.0, np.inf),
    conventions=("empty", "unlisted"),
)
PSDCG_RAW = Metric(
    name="psdcg_raw",
    title="propensity-scored DCG at k, not normalised",
    symbol="PSDCG_raw@{k}",
    family="propensity",
    formula="sum of hit q / log2(1 + rank)",
    reference=JAIN,
    state="rank_profile",
    value=dcg,
    needs=("scores", "propensity"),
    table="gains",
    cutoff="required",
    empty="zero",
    range=(0.0, np.inf),
    conventions=("empty", "unlisted"),
)
PSNDCG_RAW = Metric(
    name="psndcg_raw",
    title="propensity-scored nDCG at k, not normalised",
    symbol="PSnDCG_raw@{k}",
    family="propensity",
    formula="sum of hit q / log2(1 + rank), over the row's ideal DCG",
    reference=JAIN,
    state="rank_profile",
    value=ndcg,
    needs=("scores", "propensity"),
    table="gains",
    cutoff="required",
    empty="zero",
    range=(0.0, np.inf),
    conventions=("empty", "unlisted"),
)
