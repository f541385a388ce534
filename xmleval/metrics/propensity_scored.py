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
from xmleval.metrics.metric import Metric, Setting, best_one

if TYPE_CHECKING:
    from xmleval.view.view import View

RATIO = partial(
    Metric,
    family="propensity",
    reference="Jain, Prabhu & Varma 2016 (KDD)",
    state="rank_profile",
    needs=("scores", "propensity"),
    table="gains/ideals",
    best=best_one,
    cutoff="required",
    conventions=("ties", "unlisted"),
    expected_state="row_ratios",
)
RATIOS = (
    RATIO(
        name="psp",
        title="propensity-scored precision at k",
        symbol="PSP@{k}",
        formula="sum over rows and hits of q / sum over rows of the k largest q of relevant labels",
        value=precision,
        expected=all_orders.propensity_scored_precision,
        ties="hits",
    ),
    RATIO(
        name="psndcg",
        title="propensity-scored nDCG at k",
        symbol="PSnDCG@{k}",
        formula="psdcg with both terms of each row divided by its ideal DCG@k",
        value=ndcg,
        expected=all_orders.propensity_scored_ndcg,
        ties="order",
    ),
    RATIO(
        name="psr",
        title="propensity-scored recall at k",
        symbol="PSR@{k}",
        formula="sum over rows and hits of q / R, divided by the ideal sum",
        value=recall,
        expected=all_orders.propensity_scored_recall,
        ties="hits",
    ),
    RATIO(
        name="psdcg",
        title="propensity-scored DCG at k (PSnDCG of the repository's tools)",
        symbol="PSDCG@{k}",
        formula="sum over rows and hits of q / log2(1 + rank), divided by the ideal sum",
        value=dcg,
        expected=all_orders.propensity_scored_dcg,
        ties="order",
    ),
)


def raw(ratio: Metric, formula: str) -> Metric:
    """Return the variant of a measure that is a mean over rows, not a ratio of sums."""
    assert ratio.expected is not None
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
        expected=_first_of(ratio.expected),
        expected_state="row_sums",
    )


def _first_of(pair: Callable[[View, Setting], tuple[Floats, Floats]]) -> Callable[..., Floats]:
    """Return the function that returns the first of a pair."""

    def numerator(view: View, setting: Setting) -> Floats:
        return pair(view, setting)[0]

    return numerator


PSP, PSNDCG, PSR, PSDCG = RATIOS
TABLE = (
    *RATIOS,
    raw(PSP, "sum over hits of q / k"),
    raw(PSR, "sum over hits of q / R"),
    raw(PSDCG, "sum over hits of q / log2(1 + rank)"),
    raw(PSNDCG, "sum over hits of q / log2(1 + rank), divided by the row's ideal DCG@k"),
)
