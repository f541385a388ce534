"""Measures at k: functions of hits and discounted gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.metrics import all_orders
from xmleval.metrics.measure import Best, Measure, best_one, ratio
from xmleval.view.facts import Counts, Profile
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View

JARVELIN = "Jarvelin & Kekalainen 2002 (TOIS 20(4))"
RowValue = Callable[["View", Setting], Floats]
MANNING = "Manning, Raghavan & Schutze 2008, ch. 8"


def within(table: Floats, k: int) -> Floats:
    """Sum a table over its first k ranks."""
    # single rows: whole columns are added faster, in the same order
    if len(table) > 64 * table.shape[1]:
        total = np.zeros(len(table))
        for column in table[:, :k].T:
            total += column
        return total
    if not table.size:
        return np.zeros(len(table))
    return table.cumsum(axis=1)[:, min(k, table.shape[1]) - 1]


def precision(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains in the first k, divided by k; empty slots are misses."""
    assert setting.k
    return within(table, setting.k) / setting.k


def recall(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains in the first k, divided by the number of relevant labels."""
    assert setting.k
    return ratio(within(table, setting.k), profile.n_relevant.astype(np.float64))


def capped_recall(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains in the first k, divided by min(k, R)."""
    assert setting.k
    possible = np.minimum(profile.n_relevant, setting.k).astype(np.float64)
    return ratio(within(table, setting.k), possible)


def dcg(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains in the first k, each divided by log2(1 + rank)."""
    assert setting.k
    # loads kernels, which no list of measures needs
    from xmleval.numerics.discounts import discounts

    depth = min(setting.k, table.shape[1])
    return within(table[:, :depth] * discounts(depth), depth)


def ndcg(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Discounted gains, divided by those of the ideal ranking with unit gains."""
    return ratio(dcg(table, profile, setting), ideal_dcg(profile.n_relevant, setting))


def dcg_of_rows(view: View, setting: Setting) -> Floats:
    """Discounted gains of the first k or the whole ranking; ties and grades count by convention."""
    return view.gain(setting.k, setting.conventions)


def ndcg_of_rows(view: View, setting: Setting) -> Floats:
    """Discounted gains of the first k, or of all labels, divided by those of the ideal ranking."""
    gains = ratio(dcg_of_rows(view, setting), view.ideal_gain(setting.k, setting.conventions))
    # the sum of rounded products of grades can exceed that of the ideal order
    return np.minimum(gains, 1.0) if setting.conventions.has_gains else gains


def hit(view: View, setting: Setting) -> Floats:
    """Whether any of the first k labels, or of the whole ranking, is relevant."""
    first, _ = view.best_ranks
    return ((first > 0) & (first <= (setting.k or view.n_ranked))).astype(np.float64)


def reciprocal_rank(view: View, setting: Setting) -> Floats:
    """1 / rank of the first relevant label; 0 beyond rank k."""
    first, _ = view.best_ranks
    return ratio(hit(view, setting), first.astype(np.float64))


def average_precision(view: View, setting: Setting) -> Floats:
    """Sum of the precision at each hit in the first k, divided by min(k, R) or R (``map_norm``)."""
    assert setting.k
    capped = setting.conventions.map_norm == "capped"
    n_most = np.minimum(view.n_relevant, setting.k) if capped else view.n_relevant
    return ratio(view.precision_sum(setting.k), n_most.astype(np.float64))


def average_precision_of_all(view: View, setting: Setting) -> Floats:
    """Sum of the precision at each hit in the first k or the whole ranking, divided by R."""
    return ratio(view.precision_sum(setting.k), view.n_relevant.astype(np.float64))


def r_precision(view: View, setting: Setting) -> Floats:
    """Hits in the first R, divided by R."""
    _, n_within = view.best_ranks
    return ratio(n_within.astype(np.float64), view.n_relevant.astype(np.float64))


def pooled_r_precision(view: View, setting: Setting) -> tuple[Floats, Floats]:
    """Hits in the first R, and R."""
    _, n_within = view.best_ranks
    return n_within.astype(np.float64), view.n_relevant.astype(np.float64)


def label_coverage(counts: Counts, setting: Setting) -> Floats:
    """Whether a label has a hit in any row; NaN without relevant rows."""
    return np.where(counts.tp + counts.fn > 0, counts.tp > 0, np.nan)


def hit_in_any_row(counts: Counts, setting: Setting) -> Floats:
    """Whether a label has a hit in any row."""
    return (counts.tp > 0).astype(np.float64)


def judged(view: View, setting: Setting) -> Floats:
    """Judged labels in the first k, divided by k or the length of a shorter list; 0 if empty."""
    assert setting.k
    return ratio(
        view.n_judged(setting.k).astype(np.float64), view.n_first(setting.k).astype(np.float64)
    )


def has_relevant(n_relevant: Ints, setting: Setting) -> Floats:
    """1 for instances with relevant labels, otherwise 0."""
    return (n_relevant > 0).astype(np.float64)


def ideal_precision(n_relevant: Ints, setting: Setting) -> Floats:
    """min(k, R) / k."""
    assert setting.k
    return np.minimum(n_relevant, setting.k) / setting.k


def ideal_dcg(n_relevant: Ints, setting: Setting) -> Floats:
    """DCG of the ideal first k, or of the whole ideal ranking."""
    from xmleval.numerics.discounts import discount_sums  # loads kernels, too

    return discount_sums(np.minimum(n_relevant, setting.k) if setting.k else n_relevant, setting.k)


def ideal_average_precision(n_relevant: Ints, setting: Setting) -> Floats:
    """1 where the precisions are divided by min(k, R), otherwise min(k, R) / R."""
    capped = setting.conventions.map_norm == "capped"
    return (has_relevant if capped else ideal_recall)(n_relevant, setting)


def ideal_recall(n_relevant: Ints, setting: Setting) -> Floats:
    """min(k, R) / R."""
    assert setting.k
    possible = np.minimum(n_relevant, setting.k).astype(np.float64)
    return ratio(possible, n_relevant.astype(np.float64))


def of_whole_ranking(
    metric: Measure,
    value: RowValue,
    formula: str,
    best: Best = has_relevant,
    expected: RowValue | None = None,
) -> Measure:
    """Return the ``@all`` variant of a measure at k; ``expected`` is ``value`` by default."""
    return replace(
        metric,
        title=metric.title.partition(",")[0].replace(" at k", " of the whole ranking"),
        symbol=metric.symbol.replace("{k}", "all"),
        formula=formula,
        state="row_sums",
        value=value,
        expected=expected or value,
        cutoff="all",
        best=best,
        whole=True,
        conventions=tuple(name for name in metric.conventions if name != "map_norm"),
    )


AT_K = partial(
    Measure,
    family="at k",
    needs=("scores",),
    cutoff="required",
    conventions=("ties", "empty", "unlisted"),
)
HITS = partial(AT_K, reference=MANNING, state="rank_profile", ties="hits")
GAINS = partial(
    HITS,
    reference=JARVELIN,
    ties="order",
    discounted=True,
    conventions=("ties", "gains", "empty", "unlisted"),
)
RANKS = partial(AT_K, reference=MANNING, state="row_sums")
COVERED = partial(AT_K, reference="Schultheis et al. 2023 (NeurIPS)", state="label_totals")
NDCG = GAINS(
    name="ndcg",
    title="normalised discounted cumulative gain at k",
    symbol="nDCG@{k}",
    formula="sum over hits of 1 / log2(1 + rank), divided by that of the ideal ranking",
    value=ndcg,
    by_row=ndcg_of_rows,
    expected=ndcg_of_rows,
    empty="undefined",
    best=has_relevant,
)
DCG = GAINS(
    name="dcg",
    title="discounted cumulative gain at k",
    symbol="DCG@{k}",
    formula="sum over hits of 1 / log2(1 + rank)",
    value=dcg,
    by_row=dcg_of_rows,
    expected=dcg_of_rows,
    empty="zero",
    range=(0.0, np.inf),
    best=ideal_dcg,
)
MRR = RANKS(
    name="mrr",
    title="mean reciprocal rank at k",
    symbol="MRR@{k}",
    formula="1 / rank of the first hit within k",
    reference="Voorhees 1999 (TREC-8)",
    value=reciprocal_rank,
    expected=all_orders.reciprocal_rank,
    ties="first",
    empty="zero",
    best=has_relevant,
)
MAP = RANKS(
    name="map",
    title="mean average precision at k, normalised by min(k, R)",
    symbol="MAP@{k}",
    formula="sum over hits in first k of P@rank / min(k, R)",
    value=average_precision,
    expected=all_orders.average_precision,
    ties="order",
    empty="undefined",
    best=ideal_average_precision,
    conventions=("ties", "map_norm", "empty", "unlisted"),
)

TABLE = (
    HITS(
        name="p",
        title="precision at k",
        symbol="P@{k}",
        formula="hits in first k / k",
        value=precision,
        expected=all_orders.precision,
        empty="zero",
        best=ideal_precision,
    ),
    NDCG,
    HITS(
        name="r",
        title="recall at k",
        symbol="R@{k}",
        formula="hits in first k / R",
        value=recall,
        expected=all_orders.recall,
        empty="undefined",
        best=ideal_recall,
    ),
    HITS(
        name="rcap",
        title="capped recall at k",
        symbol="Rcap@{k}",
        formula="hits in first k / min(k, R)",
        reference="Thakur et al. 2021 (BEIR, NeurIPS)",
        value=capped_recall,
        expected=all_orders.capped_recall,
        empty="undefined",
        best=has_relevant,
    ),
    DCG,
    RANKS(
        name="hit",
        title="hit rate at k",
        symbol="Hit@{k}",
        formula="[any hit in first k]",
        value=hit,
        expected=all_orders.hit,
        ties="any",
        empty="zero",
        best=has_relevant,
    ),
    MRR,
    MAP,
    RANKS(
        name="map_r",
        title="mean average precision at k, normalised by R",
        symbol="MAP_R@{k}",
        formula="sum over hits in first k of P@rank / R",
        reference="Buckley & Voorhees 2005 (TREC, ch. 3)",
        value=average_precision_of_all,
        expected=all_orders.average_precision_of_all,
        ties="order",
        empty="undefined",
        best=ideal_recall,
    ),
    RANKS(
        name="rprec",
        title="R-precision",
        symbol="R-Prec",
        formula="hits in first R / R",
        value=r_precision,
        expected=all_orders.r_precision,
        ties="hits",
        cutoff="none",
        empty="undefined",
        whole=True,
        best=has_relevant,
    ),
    AT_K(
        name="rprec",
        title="R-precision of all rows: recall at R, which is precision and F1 at R",
        symbol="R-Prec {average}",
        formula="sum over rows of hits in first R / sum of R",
        reference=MANNING,
        state="row_ratios",
        value=pooled_r_precision,
        expected=all_orders.pooled_r_precision,
        expected_state="row_ratios",
        ties="hits",
        averages=("micro",),
        cutoff="none",
        whole=True,
        best=best_one,
        conventions=("ties", "unlisted"),
    ),
    of_whole_ranking(NDCG, ndcg_of_rows, "DCG / ideal DCG"),
    of_whole_ranking(DCG, dcg_of_rows, "sum over relevant labels of 1 / log2(1 + rank)", ideal_dcg),
    of_whole_ranking(
        MRR,
        reciprocal_rank,
        "1 / rank of the first relevant label",
        expected=all_orders.reciprocal_rank,
    ),
    of_whole_ranking(
        MAP,
        average_precision_of_all,
        "sum over relevant labels of P@rank / R",
        expected=all_orders.average_precision_of_all,
    ),
    COVERED(
        name="label_coverage",
        title="share of relevant labels that are hit in at least one row",
        symbol="Label coverage@{k}",
        formula="#{j: tp_j > 0} / #{j: R_j > 0}",
        value=label_coverage,
        unsmooth=("",),
        best=best_one,
        conventions=("unlisted",),
    ),
    COVERED(
        name="label_coverage",
        title="share of all labels, or of those of the convention `labels`, "
        "that are hit in at least one row",
        symbol="Label coverage {average}@{k}",
        formula="#{j: tp_j > 0} / l",
        value=hit_in_any_row,
        averages=("macro",),
        unsmooth=("macro",),
        conventions=("labels", "unlisted"),
    ),
    RANKS(
        name="judged",
        title="share of the first k that are judged",
        symbol="Judged@{k}",
        formula="judged labels in first k / min(k, labels listed)",
        reference="MacAvaney, Macdonald & Ounis 2022 (ECIR)",
        value=judged,
        expected=all_orders.judged,
        needs=("scores", "grades"),
        of_relevance=False,
        direction="none",
        conventions=("ties", "unlisted"),
    ),
)
