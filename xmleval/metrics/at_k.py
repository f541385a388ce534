"""Measures at k: hits and discounted gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.discounts import discount_sums, discounts
from xmleval.metrics.metric import Best, Metric, Setting, one
from xmleval.records import Counts, Floats, Ints, Profile

if TYPE_CHECKING:
    from xmleval.view.view import View

JARVELIN = "Jarvelin & Kekalainen 2002 (TOIS 20(4))"
RowValue = Callable[["View", Setting], Floats]
MANNING = "Manning, Raghavan & Schutze 2008, ch. 8"


def within(table: Floats, k: int) -> Floats:
    """Sum a table over its first k ranks."""
    return np.cumsum(table, axis=1)[:, min(k, table.shape[1]) - 1] if table.size else np.zeros(len(table))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)


def precision(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains among the first k over k; slots that stay empty are misses."""
    assert setting.k
    return within(table, setting.k) / setting.k


def recall(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains among the first k over the number of relevant labels."""
    assert setting.k
    return ratio(within(table, setting.k), profile.n_relevant.astype(np.float64))


def capped_recall(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains among the first k over the largest number possible."""
    assert setting.k
    possible = np.minimum(profile.n_relevant, setting.k).astype(np.float64)
    return ratio(within(table, setting.k), possible)


def dcg(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Gains among the first k, each over log2(1 + rank)."""
    assert setting.k
    depth = min(setting.k, table.shape[1])
    return within(table[:, :depth] * discounts(depth), depth)


def ndcg(table: Floats, profile: Profile, setting: Setting) -> Floats:
    """Discounted gains over those of the best ranking with unit gains."""
    return ratio(dcg(table, profile, setting), ideal_dcg(profile.n_relevant, setting))


def tied_dcg(view: View, setting: Setting) -> Floats:
    """Discounted gains where tied labels share the mean discount of their ranks."""
    return view.tied_gain(setting.k)


def tied_ndcg(view: View, setting: Setting) -> Floats:
    """Shared discounted gains over those of the best ranking."""
    return ratio(view.tied_gain(setting.k), view.ideal_gain(setting.k))


def full_ndcg(view: View, setting: Setting) -> Floats:
    """Discounted gains of the whole ranking over those of the best."""
    return ratio(view.gain(), view.ideal_gain())


def full_dcg(view: View, setting: Setting) -> Floats:
    """Discounted gains of the whole ranking."""
    return view.gain()


def hit(view: View, setting: Setting) -> Floats:
    """Whether any of the first k labels is relevant."""
    first, _ = view.best_ranks
    return ((first > 0) & (first <= (setting.k or 0))).astype(np.float64)


def reciprocal_rank(view: View, setting: Setting) -> Floats:
    """One over the rank of the first relevant label, if that is within k."""
    first, _ = view.best_ranks
    return ratio(hit(view, setting), first.astype(np.float64))


def full_reciprocal_rank(view: View, setting: Setting) -> Floats:
    """One over the rank of the first relevant label."""
    first = view.first_rank.astype(np.float64)
    return ratio(np.ones_like(first), first)


def average_precision(view: View, setting: Setting) -> Floats:
    """Precision at each hit among the first k, over the most hits possible."""
    assert setting.k
    possible = np.minimum(view.n_relevant, setting.k).astype(np.float64)
    return ratio(view.precision_sum(setting.k), possible)


def average_precision_of_all(view: View, setting: Setting) -> Floats:
    """Precision at each hit among the first k, or in the whole ranking, over the relevant labels."""
    return ratio(view.precision_sum(setting.k), view.n_relevant.astype(np.float64))


def r_precision(view: View, setting: Setting) -> Floats:
    """Relevant labels among the first R, over R."""
    _, n_within = view.best_ranks
    return ratio(n_within.astype(np.float64), view.n_relevant.astype(np.float64))


def label_coverage(counts: Counts, setting: Setting) -> Floats:
    """Whether a label is hit somewhere, NaN where it does not occur."""
    return np.where(counts.tp + counts.fn > 0, counts.tp > 0, np.nan)


def has_relevant(n_relevant: Ints, setting: Setting) -> Floats:
    """One for every instance with relevant labels."""
    return (n_relevant > 0).astype(np.float64)


def most_hits(n_relevant: Ints, setting: Setting) -> Floats:
    """Relevant labels that k slots can hold, over k."""
    assert setting.k
    return np.minimum(n_relevant, setting.k) / setting.k


def ideal_dcg(n_relevant: Ints, setting: Setting) -> Floats:
    """Discounted gain of the best ranking."""
    assert setting.k
    return discount_sums(np.minimum(n_relevant, setting.k))


def full_ideal_dcg(n_relevant: Ints, setting: Setting) -> Floats:
    """Discounted gain of the best whole ranking."""
    return discount_sums(n_relevant)


def reachable_share(n_relevant: Ints, setting: Setting) -> Floats:
    """Share of the relevant labels that k slots can hold."""
    assert setting.k
    reachable = np.minimum(n_relevant, setting.k).astype(np.float64)
    return ratio(reachable, n_relevant.astype(np.float64))


def with_ties(metric: Metric, value: RowValue) -> Metric:
    """Return a measure with the formula that it has where tied labels share their discounts."""
    return replace(metric, tied=replace(metric, state="row_sums", value=value, whole=True))


def of_all_labels(
    metric: Metric, value: Callable[[View, Setting], Floats], best: Best, formula: str
) -> Metric:
    """Return a measure at k for the whole ranking, ``@all``."""
    whole = replace(
        metric,
        title=metric.title.partition(",")[0].replace(" at k", " of the whole ranking"),
        symbol=metric.symbol.replace("{k}", "all"),
        formula=formula,
        state="row_sums",
        value=value,
        cutoff="all",
        best=best,
        whole=True,
        every_label=True,
    )
    return with_ties(whole, metric.tied.value) if metric.tied else whole


AT_K = partial(
    Metric,
    family="at k",
    needs=("scores",),
    cutoff="required",
    conventions=("empty", "unlisted"),
)
P = AT_K(
    name="p",
    title="precision at k",
    symbol="P@{k}",
    formula="hits in first k / k",
    reference=MANNING,
    state="rank_profile",
    value=precision,
    empty="zero",
    best=most_hits,
)
R = AT_K(
    name="r",
    title="recall at k",
    symbol="R@{k}",
    formula="hits in first k / R",
    reference=MANNING,
    state="rank_profile",
    value=recall,
    empty="undefined",
    best=reachable_share,
)
RCAP = AT_K(
    name="rcap",
    title="recall at k capped at what k slots can hold",
    symbol="Rcap@{k}",
    formula="hits in first k / min(k, R)",
    reference="Thakur et al. 2021 (BEIR, NeurIPS)",
    state="rank_profile",
    value=capped_recall,
    empty="undefined",
    best=has_relevant,
)
NDCG_AT_K = with_ties(
    AT_K(
        name="ndcg",
        title="normalised discounted cumulative gain at k",
        symbol="nDCG@{k}",
        formula="sum of hits / log2(1 + rank) over the same of the best ranking",
        reference=JARVELIN,
        state="rank_profile",
        value=ndcg,
        empty="undefined",
        best=has_relevant,
        conventions=("ndcg_ties", "empty", "unlisted"),
    ),
    tied_ndcg,
)
DCG = with_ties(
    AT_K(
        name="dcg",
        title="discounted cumulative gain at k",
        symbol="DCG@{k}",
        formula="sum of hits / log2(1 + rank)",
        reference=JARVELIN,
        state="rank_profile",
        value=dcg,
        empty="zero",
        range=(0.0, np.inf),
        best=ideal_dcg,
        conventions=("ndcg_ties", "empty", "unlisted"),
    ),
    tied_dcg,
)
HIT = AT_K(
    name="hit",
    title="hit rate at k",
    symbol="Hit@{k}",
    formula="[any hit in first k]",
    reference=MANNING,
    state="row_sums",
    value=hit,
    empty="zero",
    best=has_relevant,
)
MRR = AT_K(
    name="mrr",
    title="mean reciprocal rank at k",
    symbol="MRR@{k}",
    formula="1 / rank of the first hit within k",
    reference="Voorhees 1999 (TREC-8)",
    state="row_sums",
    value=reciprocal_rank,
    empty="zero",
    best=has_relevant,
)
MAP = AT_K(
    name="map",
    title="mean average precision at k, over min(k, R)",
    symbol="MAP@{k}",
    formula="sum of P@rank at hits in first k / min(k, R)",
    reference=MANNING,
    state="row_sums",
    value=average_precision,
    empty="undefined",
    best=has_relevant,
)
MAP_R = AT_K(
    name="map_r",
    title="mean average precision at k, over R",
    symbol="MAP_R@{k}",
    formula="sum of P@rank at hits in first k / R",
    reference="Buckley & Voorhees 2005 (TREC, ch. 3)",
    state="row_sums",
    value=average_precision_of_all,
    empty="undefined",
    best=reachable_share,
)
RPREC = AT_K(
    name="rprec",
    title="R-precision",
    symbol="R-Prec",
    formula="hits in first R / R",
    reference=MANNING,
    state="row_sums",
    value=r_precision,
    cutoff="none",
    empty="undefined",
    whole=True,
    best=has_relevant,
)
NDCG_ALL = of_all_labels(NDCG_AT_K, full_ndcg, has_relevant, "DCG over that of the best ranking")
DCG_ALL = of_all_labels(DCG, full_dcg, full_ideal_dcg, "sum over relevant labels of 1 / log2(1 + rank)")
MRR_ALL = of_all_labels(MRR, full_reciprocal_rank, has_relevant, "1 / rank of the first relevant label")
MAP_ALL = of_all_labels(MAP, average_precision_of_all, has_relevant, "sum of P@rank at relevant labels / R")
LABEL_COVERAGE = AT_K(
    name="label_coverage",
    title="labels hit by some first k over labels that occur",
    symbol="Label coverage@{k}",
    formula="#{j: tp_j > 0} / #{j: R_j > 0}",
    reference="Schultheis et al. 2023 (NeurIPS)",
    state="label_totals",
    value=label_coverage,
    best=one,
    conventions=("unlisted",),
)
