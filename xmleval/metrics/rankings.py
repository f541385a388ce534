"""Measures of the whole ranking of a row; unlisted labels count in closed form."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from xmleval.base.arrays import Floats, Ints
from xmleval.base.conventions import TIE_CREDIT
from xmleval.metrics import all_orders
from xmleval.metrics.at_k import has_relevant
from xmleval.metrics.measure import Measure, best_one, best_zero, ratio
from xmleval.metrics.sets import WZ17, ZZ14
from xmleval.view.setting import Setting

if TYPE_CHECKING:
    from xmleval.view.view import View

SS00 = "Schapire & Singer 2000 (Machine Learning 39)"


def n_pairs(view: View, setting: Setting) -> Floats:
    """R (l - R), the number of (relevant, irrelevant) pairs of judged labels."""
    return view.n_relevant.astype(np.float64) * (view.n_cells - view.n_relevant)


def misordered_pairs(view: View, setting: Setting) -> Floats:
    """Misordered pairs; tied pairs count by the convention ``loss_ties``."""
    misordered: Floats = view.ties.n_tied * TIE_CREDIT[setting.conventions.loss_ties]
    misordered += view.ties.n_reversed
    return misordered


def without_pairs(
    values: Floats, n_defined: Floats | Ints, perfect: float, setting: Setting
) -> Floats:
    """Replace the values of rows without pairs, by the convention ``no_pairs``."""
    left_out = setting.conventions.no_pairs == "skip"
    return np.where(n_defined == 0, np.nan if left_out else perfect, values)


def one_error(view: View, setting: Setting) -> Floats:
    """Whether the first label is irrelevant; 1 without relevant labels."""
    return np.not_equal(view.best_ranks[0], 1).astype(np.float64)


def coverage(view: View, setting: Setting) -> Floats:
    """Largest rank of a relevant label, minus 1; tied labels take their last rank."""
    return without_pairs((view.ties.worst - 1).astype(np.float64), view.n_relevant, 0.0, setting)


def expected_coverage(view: View, setting: Setting) -> Floats:
    """Return the expected largest rank of a relevant label, minus 1."""
    return without_pairs(view.expected.last_rank() - 1.0, view.n_relevant, 0.0, setting)


def coverage_error(view: View, setting: Setting) -> Floats:
    """Largest rank of a relevant label, 0 without one; tied labels take their last rank."""
    return view.ties.worst.astype(np.float64)


def ranking_loss(view: View, setting: Setting) -> Floats:
    """Share of misordered pairs."""
    pairs = n_pairs(view, setting)
    return without_pairs(ratio(misordered_pairs(view, setting), pairs), pairs, 0.0, setting)


def lrap(view: View, setting: Setting) -> Floats:
    """Mean over relevant labels of the precision at their rank."""
    values = ratio(view.ties.precision, view.n_relevant.astype(np.float64))
    values = without_pairs(values, n_pairs(view, setting), 1.0, setting)
    if setting.conventions.no_pairs == "perfect_if_relevant":
        values = np.where(view.n_relevant == 0, np.nan, values)
    return values


def weighted_lrap(view: View, setting: Setting) -> tuple[Floats, Floats]:
    """Sum over relevant labels of the precision at their rank, and R."""
    return view.ties.precision, view.n_relevant.astype(np.float64)


def ordered_pairs(view: View, setting: Setting) -> Floats:
    """Correctly ordered pairs; tied pairs count by the convention ``auc_ties``."""
    lost = 1.0 - TIE_CREDIT[setting.conventions.auc_ties]
    return n_pairs(view, setting) - view.ties.n_reversed - lost * view.ties.n_tied


def instance_auc(view: View, setting: Setting) -> Floats:
    """Share of correctly ordered pairs."""
    pairs = n_pairs(view, setting)
    good = ordered_pairs(view, setting)
    undefined = 1.0 if setting.conventions.no_pairs == "perfect" else np.nan
    return np.where(pairs == 0, undefined, ratio(good, pairs))


def weighted_instance_auc(view: View, setting: Setting) -> tuple[Floats, Floats]:
    """AUC by row times the number of judged labels, and this number; 0 without pairs."""
    pairs = n_pairs(view, setting)
    n_cells = np.where(pairs == 0, 0.0, view.n_cells.astype(np.float64))
    return ratio(ordered_pairs(view, setting), pairs) * n_cells, n_cells


def is_error(view: View, setting: Setting) -> Floats:
    """Whether any pair is misordered."""
    return (misordered_pairs(view, setting) > 0).astype(np.float64)


def peak_f1(view: View, setting: Setting) -> Floats:
    """Maximum F1 over cutoffs between tie groups."""
    return view.ties.peak


def realistic_rank(view: View, setting: Setting) -> tuple[Floats, Floats]:
    """Sum of the ranks of relevant labels among irrelevant ones, ties half above; and R."""
    n_above = view.ties.n_reversed + 0.5 * view.ties.n_tied
    n_relevant = view.n_relevant.astype(np.float64)
    return n_relevant + n_above, n_relevant


def adjusted_rank_index(view: View, setting: Setting) -> tuple[Floats, Floats]:
    """Pairs of a relevant and an irrelevant label in the right order minus others, and all pairs.

    Tied pairs cancel: the rank is the mean of the optimistic and the pessimistic one.
    """
    pairs = n_pairs(view, setting)
    return pairs - 2.0 * view.ties.n_reversed - view.ties.n_tied, pairs


def ideal_coverage_error(n_relevant: Ints, setting: Setting) -> Floats:
    """R."""
    return n_relevant.astype(np.float64)


def ideal_coverage(n_relevant: Ints, setting: Setting) -> Floats:
    """R - 1; without relevant labels by the convention ``no_pairs``."""
    return without_pairs((n_relevant - 1).astype(np.float64), n_relevant, 0.0, setting)


def ideal_one_error(n_relevant: Ints, setting: Setting) -> Floats:
    """1 without relevant labels, otherwise 0."""
    return np.equal(n_relevant, 0).astype(np.float64)


RANKING = partial(
    Measure,
    family="ranking",
    state="row_sums",
    needs=("scores",),
    whole=True,
    every_label=True,
)
POOLED = partial(
    RANKING, state="row_ratios", reference="Berrendorf et al. 2020 (DL4G, arXiv:2002.06914)"
)
LOSS = partial(RANKING, direction="down", best=best_zero)
DEPTH = partial(RANKING, direction="down", bounded=("",), range=(0.0, np.inf))

TABLE = (
    RANKING(
        name="one_error",
        title="one-error",
        symbol="One-error",
        formula="[first label not in Y]",
        reference=SS00,
        value=one_error,
        expected=all_orders.one_error,
        ties="hits",
        whole=False,
        every_label=False,
        direction="down",
        best=ideal_one_error,
        conventions=("ties", "unlisted"),
    ),
    DEPTH(
        name="coverage",
        title="coverage",
        symbol="Coverage",
        formula="largest rank over Y - 1",
        reference=SS00,
        value=coverage,
        expected=expected_coverage,
        best=ideal_coverage,
        conventions=("ties", "no_pairs", "unlisted"),
    ),
    DEPTH(
        name="coverage_error",
        title="coverage error (scikit-learn)",
        symbol="Coverage error",
        formula="largest rank over Y",
        reference="Tsoumakas, Katakis & Vlahavas 2010",
        value=coverage_error,
        best=ideal_coverage_error,
        conventions=("unlisted",),
    ),
    LOSS(
        name="ranking_loss",
        title="ranking loss",
        symbol="Ranking loss",
        formula="misordered pairs / (R (l - R))",
        reference="Schapire & Singer 2000 (Machine Learning 39); Wu & Zhou 2017 (ICML)",
        value=ranking_loss,
        bounded=("",),
        conventions=("loss_ties", "no_pairs", "unlisted"),
    ),
    RANKING(
        name="lrap",
        title="label ranking average precision",
        symbol="LRAP",
        formula="mean over Y of (relevant labels at or above) / rank",
        reference=SS00,
        value=lrap,
        bounded=("",),
        best=best_one,
        conventions=("no_pairs", "unlisted"),
    ),
    RANKING(
        name="lwlrap",
        title="label-weighted label ranking average precision: LRAP of rows weighted by R",
        symbol="lwLRAP",
        formula="sum over rows and Y of (relevant labels at or above) / rank, divided by sum of R",
        reference="Fonseca et al. 2019 (DCASE)",
        state="row_ratios",
        value=weighted_lrap,
        best=best_one,
        conventions=("unlisted",),
    ),
    RANKING(
        name="auc",
        title="area under the ROC curve",
        symbol="AUC {average}",
        formula="correctly ordered pairs / (R (l - R))",
        reference=WZ17,
        value=instance_auc,
        averages=("samples",),
        bounded=("samples",),
        best=best_one,
        conventions=("auc_ties", "no_pairs", "unlisted"),
    ),
    RANKING(
        name="gauc",
        title="grouped AUC: AUC of rows with pairs, weighted by the number of judged labels",
        symbol="GAUC",
        formula="sum over rows of n AUC / sum of n, where n is the number of judged labels",
        reference="Zhu et al. 2017 (KDD); Zhou et al. 2018 (KDD)",
        state="row_ratios",
        value=weighted_instance_auc,
        best=best_one,
        conventions=("auc_ties", "unlisted"),
    ),
    POOLED(
        name="mean_rank",
        title="mean rank of relevant labels among irrelevant ones, ties half above",
        symbol="Mean rank",
        formula="sum over relevant labels of 1 + irrelevant labels above + half of those tied / "
        "sum of R",
        value=realistic_rank,
        direction="down",
        range=(1.0, np.inf),
        best=best_one,
        conventions=("unlisted",),
    ),
    POOLED(
        name="amri",
        title="adjusted mean rank index: 1 for first ranks, 0 for chance",
        symbol="AMRI",
        formula="1 - (mean rank - 1) / (mean rank of chance - 1)",
        value=adjusted_rank_index,
        range=(-1.0, 1.0),
        best=best_one,
        conventions=("unlisted",),
    ),
    RANKING(
        name="peak_f1",
        title="maximum F1 over cutoffs of the ranking",
        symbol="Peak F1 {average}",
        formula="max over cutoffs k between tie groups of 2 tp / (k + R)",
        reference=ZZ14,
        value=peak_f1,
        averages=("samples",),
        best=has_relevant,
        conventions=("unlisted",),
    ),
    LOSS(
        name="is_error",
        title="is-error",
        symbol="Is-error",
        formula="[any misordered pair]",
        reference="Crammer & Singer 2003 (JMLR 3)",
        value=is_error,
        conventions=("loss_ties", "unlisted"),
    ),
    LOSS(
        name="error_set_size",
        title="error-set size",
        symbol="Error-set size",
        formula="number of misordered pairs",
        reference="Crammer & Singer 2003 (JMLR 3)",
        value=misordered_pairs,
        range=(0.0, np.inf),
        conventions=("loss_ties", "unlisted"),
    ),
)
