"""Measures of trec_eval and gdeval: bpref, interpolated precision and ERR."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.errors import InputError
from xmleval.metrics.at_k import AT_K, has_relevant
from xmleval.metrics.measure import Param, ratio
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View

RECALLS = tuple(level / 10 for level in range(11))
ROUNDED_UP = 0.9  # added to a number of hits before it is cut to an integer, as trec_eval does
MOST_GRADE = 32


def bpref(view: View, setting: Setting) -> Floats:
    """Share of judged irrelevant labels that relevant ones are above, for the first R of them."""
    n_relevant = view.n_relevant
    n_ranked, n_above = view.preferences
    n_irrelevant = view.judged_irrelevant_view.n_relevant
    n_most = np.minimum(n_relevant, n_irrelevant).astype(np.float64)
    preferred = n_ranked - ratio(n_above.astype(np.float64), n_most)
    return ratio(preferred, n_relevant.astype(np.float64))


def expected_reciprocal_rank(view: View, setting: Setting) -> Floats:
    """Sum over ranks of the chance that a reader stops there, divided by the rank."""
    assert setting.k
    graded = view.of_gains
    most_grade = int(setting.params["max_grade"])
    gains = graded.gains
    if setting.conventions.read_gains == "linear":
        gains = _exponential(gains)
    _refuse_above(gains, most_grade)
    values = graded.cascade_sum(gains / 2.0**most_grade, setting.k)
    if setting.conventions.empty == "skip":
        values = np.where(graded.n_relevant == 0, np.nan, values)
    return values


def _exponential(grades: Floats) -> Floats:
    """Return 2^grade - 1; refuse grades that are not whole numbers or are too large."""
    is_bad = (grades != np.floor(grades)) | (grades > MOST_GRADE)
    if is_bad.any():
        grade = float(grades[is_bad.argmax()])
        reason = f"grade {grade:g} is not a whole number up to {MOST_GRADE}, as err needs"
        raise InputError("y_true", reason)
    return np.ldexp(1.0, grades.astype(np.int32)) - 1.0


def _refuse_above(gains: Floats, most_grade: int) -> None:
    """Refuse gains of grades above the largest one."""
    highest = float(gains.max(initial=0.0))
    if highest >= 2.0**most_grade:
        grade = round(np.log2(highest + 1.0))
        reason = f"grade {grade} is above {most_grade}; give err(max_grade={grade})"
        raise InputError("y_true", reason)


def interpolated_precision(view: View, setting: Setting) -> Floats:
    """Largest precision at any rank from which a share of the relevant labels is found."""
    return _interpolated(view, setting.params["recall"])


def eleven_points(view: View, setting: Setting) -> Floats:
    """Mean of the interpolated precision at the recalls 0, 0.1, .., 1."""
    total = np.zeros(view.n_rows)
    for recall in RECALLS:
        total += _interpolated(view, recall)
    return total / len(RECALLS)


def _interpolated(view: View, recall: float) -> Floats:
    """Return the interpolated precision at a recall."""
    n_needed: Ints = (recall * view.n_relevant + ROUNDED_UP).astype(np.int64)
    return view.interpolated_precision(n_needed)


JUDGED = partial(
    AT_K,
    state="row_sums",
    needs=("scores", "grades"),
    ties="order",
    conventions=("empty", "unlisted"),
)
INTERPOLATED = partial(
    AT_K,
    reference="Manning, Raghavan & Schutze 2008, ch. 8; trec_eval",
    state="row_sums",
    ties="order",
    conventions=("empty", "unlisted"),
    cutoff="none",
    whole=True,
    empty="undefined",
    best=has_relevant,
)

TABLE = (
    JUDGED(
        name="bpref",
        title="binary preference: relevant labels above judged irrelevant ones",
        symbol="Bpref",
        formula="sum over relevant labels in the ranking of "
        "1 - min(judged irrelevant labels above, R) / min(R, N), divided by R",
        reference="Buckley & Voorhees 2004 (SIGIR); trec_eval",
        value=bpref,
        cutoff="none",
        whole=True,
        empty="undefined",
        best=has_relevant,
    ),
    JUDGED(
        name="err",
        title="expected reciprocal rank at k, for grades up to max_grade",
        symbol="ERR (max {max_grade})",
        formula="sum over ranks i up to k of R_i / i times the product of 1 - R_j over ranks j "
        "above, R = (2^grade - 1) / 2^max_grade",
        reference="Chapelle et al. 2009 (CIKM); gdeval",
        value=expected_reciprocal_rank,
        params={"max_grade": Param(4.0, allowed=range(1, MOST_GRADE + 1), default=True)},
        of_relevance=False,
    ),
    INTERPOLATED(
        name="iprec",
        title="interpolated precision at a recall",
        symbol="iPrec (recall {recall})",
        formula="largest P@rank over ranks with at least floor(recall R + 0.9) hits",
        value=interpolated_precision,
        params={"recall": Param(0.1, unit=True)},
    ),
    INTERPOLATED(
        name="map_11pt",
        title="mean of the interpolated precision at 11 recalls",
        symbol="MAP (11 points)",
        formula="mean of iprec over the recalls 0, 0.1, .., 1",
        value=eleven_points,
    ),
)
