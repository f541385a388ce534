"""Measures of selective classification: the risk of the rows that are accepted by their largest score."""

from __future__ import annotations

from functools import partial

from xmleval.metrics.metric import Metric, Param, Setting
from xmleval.records import Accepted

GEIFMAN = "Geifman & El-Yaniv 2017 (NeurIPS)"


def area_under_risk(found: Accepted, setting: Setting) -> float:
    """Mean over rows of the risk of those with at least their largest score; NaN without rows."""
    return found.area


def risk_at_coverage(found: Accepted, setting: Setting) -> float:
    """Risk of the fewest rows, those of equal scores together, that reach the coverage; NaN without rows."""
    return found.risk


ABSTAINING = partial(
    Metric,
    family="abstaining",
    state="top_scores",
    needs=("scores", "entry scores"),
    cutoff="required",
    empty="zero",
    direction="down",
    conventions=("empty", "unlisted"),
)

TABLE = (
    ABSTAINING(
        name="aurc",
        title="area under the risk-coverage curve: rows accepted by their largest score, risk 1 - P@k",
        symbol="AURC",
        formula="mean over rows i of the mean of 1 - P@k over rows whose largest score is at least that of i",
        reference="Geifman, Uziel & El-Yaniv 2019 (ICLR)",
        value=area_under_risk,
    ),
    ABSTAINING(
        name="risk",
        title="risk at coverage: mean of 1 - P@k over the share of rows with the largest scores",
        symbol="Risk (coverage {coverage})",
        formula="mean of 1 - P@k over rows whose largest score is >= t, "
        "the highest t that the coverage reaches",
        reference=GEIFMAN,
        value=risk_at_coverage,
        params={"coverage": Param(0.8, share=True)},
        threshold=True,
    ),
)
