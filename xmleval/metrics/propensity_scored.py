"""Propensity-scored measures at k: the formulas at k with weighted gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.metrics import all_orders
from xmleval.metrics.at_k import dcg, ndcg, precision, recall
from xmleval.metrics.measure import Measure, best_one
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View

RATIO = partial(
    Measure,
    family="propensity",
    reference="Jain, Prabhu & Varma 2016 (KDD)",
    state="rank_profile",
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=best_one,
    cutoff="required",
    conventions=("ties", "unlisted"),
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
        discounted=True,
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
        discounted=True,
        ties="order",
    ),
)


def raw(ratio: Measure, formula: str, expected: Callable[[View, Setting], Floats]) -> Measure:
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
        conventions=("ties", "empty", "unlisted"),
        expected=expected,
    )


PSP, PSNDCG, PSR, PSDCG = RATIOS
TABLE = (
    *RATIOS,
    raw(PSP, "sum over hits of q / k", all_orders.propensity_scored_precision),
    raw(PSR, "sum over hits of q / R", all_orders.propensity_scored_recall),
    raw(PSDCG, "sum over hits of q / log2(1 + rank)", all_orders.propensity_scored_dcg),
    raw(
        PSNDCG,
        "sum over hits of q / log2(1 + rank), divided by the row's ideal DCG@k",
        all_orders.propensity_scored_ndcg,
    ),
)
