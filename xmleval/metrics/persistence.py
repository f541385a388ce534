"""Rank-biased precision, and how much of it is not known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.metrics.at_k import AT_K, within
from xmleval.metrics.measure import Measure, Param
from xmleval.view.facts import Profile
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View

MOFFAT = "Moffat & Zobel 2008 (TOIS 27(1))"


def rank_biased_precision(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains in the first k, each times (1 - p) p^(rank - 1)."""
    # loads kernels, which no list of measures needs
    from xmleval.numerics.powers import powers_of

    assert setting.k
    depth = min(setting.k, table.shape[1])
    p = setting.params["p"]
    return (1.0 - p) * within(table[:, :depth] * powers_of(p, np.arange(depth)), depth)


def rank_biased_precision_of_all(view: View, setting: Setting) -> Floats:
    """Sum over relevant labels in the ranking of (1 - p) p^(rank - 1)."""
    p = setting.params["p"]
    return (1.0 - p) * view.power_sum(p, setting.k)


def expected_rank_biased_precision(view: View, setting: Setting) -> Floats:
    """Return the expected rank-biased precision over all orders of equal scores."""
    p = setting.params["p"]
    return (1.0 - p) * view.expected.power_sum(p, setting.k)


def residual(view: View, setting: Setting) -> Floats:
    """1 - RBP of judged labels, or, without grades, p to the power of the number of ranks."""
    p = setting.params["p"]
    if setting.conventions.graded:
        judged = view.judged_view
        ranked = judged.expected if setting.conventions.all_orders else judged
        values = np.maximum(1.0 - (1.0 - p) * ranked.power_sum(p, setting.k), 0.0)
    else:
        from xmleval.numerics.powers import powers_of  # loads kernels, too

        values = powers_of(p, view.n_first(setting.k or view.n_ranked))
    if setting.conventions.empty == "skip":
        values = np.where(view.n_relevant == 0, np.nan, values)
    return values


def ideal_rbp(n_relevant: Ints, setting: Setting) -> Floats:
    """1 - p^min(k, R)."""
    from xmleval.numerics.powers import powers_of  # loads kernels, too

    n_hits = n_relevant if setting.k is None else np.minimum(n_relevant, setting.k)
    return 1.0 - powers_of(setting.params["p"], n_hits.astype(np.int64))


BIASED = partial(
    AT_K, reference=MOFFAT, params={"p": Param(0.8, default=True, below_one=True)}, empty="zero"
)
RBP = BIASED(
    name="rbp",
    title="rank-biased precision at k, with persistence p",
    symbol="RBP (p={p})",
    formula="(1 - p) times sum over hits of p^(rank - 1)",
    state="rank_profile",
    value=rank_biased_precision,
    expected=expected_rank_biased_precision,
    discounted=True,
    ties="order",
    best=ideal_rbp,
)
RESIDUAL = BIASED(
    name="rbp_residual",
    title="residual of rank-biased precision: what ranks that are unjudged or beyond k could add",
    symbol="RBP residual (p={p})",
    formula="1 - (1 - p) times sum over judged ranks in first k of p^(rank - 1)",
    state="row_sums",
    value=residual,
    expected=residual,
    ties="order",
    empty="",
    of_relevance=False,
    direction="none",
)


def _of_whole_ranking(metric: Measure, title: str, formula: str) -> Measure:
    """Return the ``@all`` variant of a measure at k."""
    value = residual
    if metric is RBP:
        value = rank_biased_precision_of_all
    return replace(
        metric,
        title=title,
        formula=formula,
        state="row_sums",
        value=value,
        cutoff="all",
        whole=True,
    )


TABLE = (
    RBP,
    RESIDUAL,
    _of_whole_ranking(
        RBP,
        "rank-biased precision of the whole ranking",
        "(1 - p) times sum over relevant labels of p^(rank - 1)",
    ),
    _of_whole_ranking(
        RESIDUAL,
        "residual of rank-biased precision of the whole ranking",
        "1 - (1 - p) times sum over judged ranks of p^(rank - 1)",
    ),
)
