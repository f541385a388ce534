"""A slow, obvious oracle of multi-label evaluation measures: sets, loops and the textbook formulas.

Notation: Y the relevant labels of a row, R = |Y|, h the predicted labels, l the number of labels,
q_j the inverse propensity of label j, rank 1 = best. nan stands for "undefined".
Uses the standard library alone and shares no code with the package it checks.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

NAN = math.nan
TIE_WEIGHT = {"full": 1.0, "half": 0.5, "none": 0.0}
CHOICES = {  # of each convention, the default first; `unlisted` may be a score, too
    "auc_ties": "half full none",  # credit of a tied pair
    "loss_ties": "full half none",  # blame of a tied pair
    "ndcg_ties": "order average",
    "empty": "zero skip one",  # rows with R = 0
    "ap_empty": "skip zero",  # labels without relevant rows, in average precision
    "no_pairs": "skip perfect perfect_except_auc perfect_if_relevant",  # rows with R = 0 or R = l
    "zero_division": "0.0 1.0 nan both_empty",  # 0/0 in a set measure
    "map_norm": "capped relevant",  # MAP@k is over min(k, R) or R
    "labels": "all present seen",  # labels of a macro average
    "unlisted": "below",  # labels without a stored score
    "link": "none sigmoid",  # what makes probabilities of scores
    "gains": "binary linear exp",  # see `gain_of`
}

OVERLAP = ("jaccard", "precision", "recall", "fbeta", "f1", "specificity", "hmean")
PER_LABEL = ("accuracy", "balanced_accuracy", "mcc", "gmean")
LABEL_AVERAGES = ("micro", "macro", "weighted")
RANKINGS = ("one_error", "coverage", "coverage_error", "ranking_loss", "lrap", "is_error", "error_set_size")
CUTS = ("p", "r", "rcap", "ndcg", "dcg", "hit", "mrr", "map", "map_r")
WHOLE = ("ndcg", "dcg", "mrr", "map")
PS = ("psp", "psr", "psdcg", "psndcg")
PS_RAW = ("psp_raw", "psr_raw", "psdcg_raw", "psndcg_raw")
STATISTICS = ("label_cardinality", "label_density", "label_diversity", "proportional_diversity")
Counts = tuple[float, float, float, float]  # (weighted) numbers tp, fp, fn, tn
Cutoff = int | str | None  # a number, "all" for the whole ranking, or none
MEASURES: frozenset[tuple[str, str | None, str]] = frozenset(  # name, average, what stands behind the @
    [(n, None, "") for n in ("subset_accuracy", "hamming_loss", *RANKINGS, "rprec", *STATISTICS)]
    + [(n, a, at) for n in OVERLAP for a in ("samples", *LABEL_AVERAGES) for at in ("", "k")]
    + [(n, a, at) for n in PER_LABEL for a in LABEL_AVERAGES for at in ("", "k")]
    + [("rprec", "micro", "")]
    + [("fbeta", "of_means", ""), ("f1", "of_means", ""), ("f1", "of_macros", "")]
    + [("auc", "samples", ""), ("peak_f1", "samples", "")]
    + [(n, None, "k") for n in (*CUTS, "label_coverage", *PS, *PS_RAW)]
    + [("label_coverage", "macro", "k")]
    + [(n, None, "all") for n in WHOLE]
)


@dataclass
class Case:
    """One evaluation problem; scores are taken as they are (no rounding to a narrower type)."""

    truth: list[set[int]]
    n_labels: int
    listed: list[list[tuple[int, float | None]]] | None = None
    kind: str = "matrix"  # "matrix": ties by smaller label id; "list": ties by given position
    pred: list[set[int]] | None = None
    weights: list[float] | None = None
    inverse_propensity: list[float] | None = None
    edges: list[tuple[int, int]] = field(default_factory=list)  # of a hierarchy: child and parent
    label_counts: list[int] | None = None
    conventions: dict[str, object] = field(default_factory=dict)
    grades: list[dict[int, float]] | None = None  # of all judged labels; the truth has those above 0


def ratio(above: float, below: float, otherwise: float) -> float:
    """above / below, or `otherwise` where below is 0 (above is 0 then, too)."""
    return otherwise if below == 0 else above / below


def count(cells: Iterable[tuple[bool, bool, float]]) -> Counts:
    """Sums of the weights of cells (relevant, predicted, weight): tp, fp, fn, tn."""
    listed = list(cells)
    tp = math.fsum(w for relevant, predicted, w in listed if relevant and predicted)
    fp = math.fsum(w for relevant, predicted, w in listed if predicted and not relevant)
    fn = math.fsum(w for relevant, predicted, w in listed if relevant and not predicted)
    tn = math.fsum(w for relevant, predicted, w in listed if not relevant and not predicted)
    return tp, fp, fn, tn


def set_formula(name: str, counts: Counts, zero: float | None, beta: float) -> float:
    """A set measure from tp, fp, fn, tn; `zero` stands for 0/0, None for `zero_division`'s both_empty."""
    tp, fp, fn, tn = counts
    if zero is None:
        empty, full = float(tp + fp + fn == 0), float(tn + fp + fn == 0)
        tpr, tnr = ratio(tp, tp + fn, empty), ratio(tn, tn + fp, full)
        zero = empty if name in ("precision", "jaccard", "f1", "fbeta") else max(empty, full)
    else:
        tpr, tnr = ratio(tp, tp + fn, zero), ratio(tn, tn + fp, zero)
    b2 = beta * beta
    if name == "label_coverage":  # [tp > 0]
        return float(tp > 0)
    if name == "accuracy":  # (tp + tn) / (tp + fp + fn + tn)
        return ratio(tp + tn, tp + fp + fn + tn, zero)
    if name == "precision":  # tp / (tp + fp)
        return ratio(tp, tp + fp, zero)
    if name == "recall":  # tp / (tp + fn)
        return tpr
    if name == "specificity":  # tn / (tn + fp)
        return tnr
    if name == "jaccard":  # tp / (tp + fp + fn)
        return ratio(tp, tp + fp + fn, zero)
    if name in ("f1", "fbeta"):  # (1 + b2) tp / ((1 + b2) tp + b2 fn + fp)
        return ratio((1 + b2) * tp, (1 + b2) * tp + b2 * fn + fp, zero)
    if name == "balanced_accuracy":  # (TPR + TNR) / 2
        return (tpr + tnr) / 2
    if name == "gmean":  # sqrt(TPR TNR)
        return math.sqrt(tpr * tnr)
    if name == "hmean":  # 2 / (1 / TPR + 1 / TNR), 0 if any is 0
        return tpr + tnr if math.isnan(tpr + tnr) else 2 / (1 / tpr + 1 / tnr) if tpr and tnr else 0.0
    assert name == "mcc"  # (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
    return ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)), zero)


def convention(case: Case, name: str) -> object:
    """The value of one convention, the default where it is not overridden."""
    choices = CHOICES[name].split()
    value = case.conventions.get(name, choices[0])
    assert str(value) in choices or (name == "unlisted" and isinstance(value, float)), (name, value)
    assert case.conventions.keys() <= CHOICES.keys(), case.conventions
    return value


def zero_division(case: Case) -> float | None:
    """What stands for 0/0 in a set measure; None: 1 where both sets are empty, else 0."""
    chosen = convention(case, "zero_division")
    if chosen == "both_empty":
        return None
    return float(str(chosen))


def row_weights(case: Case) -> list[float]:
    """Sample weights, all one when none are given."""
    return [1.0] * len(case.truth) if case.weights is None else [float(w) for w in case.weights]


def mean(values: Iterable[float], weights: Iterable[float]) -> float:
    """sum(w v) / sum(w) over the values that are not nan; nan when nothing is left."""
    kept = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    return ratio(math.fsum(v * w for v, w in kept), math.fsum(w for _, w in kept), NAN)


def tie_groups(case: Case, i: int) -> tuple[list[list[int]], int]:
    """All l labels of row i as tie groups, best first, and how many labels from the top can be credited.

    Inside a group labels stand in their order of rank. Unlisted labels that are "below" form the last
    group, in order of their ids, and cannot be credited at k.
    """
    assert case.listed is not None
    stored = [(j, s) for j, s in case.listed[i] if j >= 0]  # an id of -1 marks an empty slot
    unlisted = sorted(set(range(case.n_labels)) - {j for j, _ in stored})
    fill = convention(case, "unlisted")
    if stored and all(s is None for _, s in stored):  # a list without scores: positions are distinct ranks
        assert fill == "below" or not unlisted
        groups = [[j] for j, _ in stored]
    else:
        scored = [(j, float(s)) for j, s in stored if s is not None]
        assert len(scored) == len(stored), "a row has scores for all of its labels or for none"
        if fill != "below":
            assert isinstance(fill, (int, float))
            scored += [(j, float(fill)) for j in unlisted]
            unlisted = []
        if case.kind == "matrix":
            scored.sort(key=lambda pair: (-pair[1], pair[0]))
        else:
            assert case.kind == "list"
            scored.sort(key=lambda pair: -pair[1])  # stable: given position, then unlisted labels by id
        groups = [[j for j, _ in group] for _, group in groupby(scored, key=lambda pair: pair[1])]
    creditable = sum(len(group) for group in groups)
    return ([*groups, unlisted] if unlisted else groups), creditable


def top(case: Case, i: int, k: int) -> list[int]:
    """The first k labels that can be credited, best first (fewer where slots are missing)."""
    return in_rank_order(case, i)[: tie_groups(case, i)[1]][:k]


def in_rank_order(case: Case, i: int) -> list[int]:
    """All l labels, best first: unlisted labels that are "below" stand last, by id."""
    return [j for group in tie_groups(case, i)[0] for j in group]


def worst_ranks(case: Case, i: int) -> dict[int, int]:
    """Rank of every label, the last rank of its tie group: #{v: f_v >= f_u}."""
    ranks: dict[int, int] = {}
    for group in tie_groups(case, i)[0]:
        ranks.update(dict.fromkeys(group, len(ranks) + len(group)))
    return ranks


def ranking_row(name: str, case: Case, i: int) -> float:
    """Measures of the whole ranking of row i."""
    relevant, size, rank = case.truth[i], len(case.truth[i]), worst_ranks(case, i)
    no_pairs = convention(case, "no_pairs")
    if name == "one_error":  # [top label not in Y]
        return float(not set(top(case, i, 1)) & relevant)
    if name == "coverage" and size == 0:
        return NAN if no_pairs == "skip" else 0.0
    if name in ("coverage", "coverage_error"):  # max rank over Y (- 1)
        return float(max((rank[j] for j in relevant), default=0) - (name == "coverage"))
    if name == "peak_f1":  # max over prefixes of whole tie groups of 2 tp / (|prefix| + R)
        prefixes = [{j for j in rank if rank[j] <= end} for end in set(rank.values())]
        return max((2 * len(prefix & relevant) / (len(prefix) + size) for prefix in prefixes), default=0.0)

    pairs = [(u, v) for u in relevant for v in range(case.n_labels) if v not in relevant]
    tied = sum(rank[u] == rank[v] for u, v in pairs)
    bad = sum(rank[u] > rank[v] for u, v in pairs) + TIE_WEIGHT[str(convention(case, "loss_ties"))] * tied
    good = sum(rank[u] < rank[v] for u, v in pairs) + TIE_WEIGHT[str(convention(case, "auc_ties"))] * tied
    if name == "is_error":  # [bad pairs > 0]
        return float(bad > 0)
    if name == "error_set_size":  # bad pairs
        return float(bad)
    if not pairs and (no_pairs == "skip" or (no_pairs != "perfect" and name == "auc")):
        return NAN
    if not relevant and no_pairs == "perfect_if_relevant" and name == "lrap":
        return NAN
    if name == "ranking_loss":  # bad pairs / (R (l - R))
        return ratio(bad, len(pairs), 0.0)
    if name == "auc":  # good pairs / (R (l - R))
        return ratio(good, len(pairs), 1.0)
    assert name == "lrap"  # mean over u in Y of #{v in Y: rank_v <= rank_u} / rank_u
    precisions = [sum(rank[v] <= rank[u] for v in relevant) / rank[u] for u in relevant]
    return math.fsum(precisions) / size if pairs else 1.0


def gain_of(case: Case, i: int, j: int) -> float:
    """Gain of label j in row i: 1 if relevant ("binary"), its grade ("linear") or 2^grade - 1 ("exp")."""
    grade = case.grades[i].get(j, 0.0) if case.grades else float(j in case.truth[i])
    rules = {"binary": 1.0, "linear": grade, "exp": math.pow(2.0, grade) - 1.0}
    return rules[str(convention(case, "gains"))] if grade > 0 else 0.0


def discount(rank: int) -> float:
    """1 / log2(1 + rank)."""
    return 1.0 / math.log2(1 + rank)


def unit_ideal(n: int) -> float:
    """Sum of the discounts of ranks 1..n."""
    return math.fsum(discount(r) for r in range(1, n + 1))


def ideal_dcg(gains: Iterable[float], k: int | None) -> float:
    """Sum of gain / log2(1 + rank) in the best order of the gains."""
    best = sorted(gains, reverse=True)[:k]
    return math.fsum(one * discount(rank) for rank, one in enumerate(best, 1))


def dcg(case: Case, i: int, k: int | None) -> float:
    """Sum of 1/log2(1 + rank) over relevant labels in the first k; k = None takes all that can be credited.

    ndcg_ties "average": each tie group's gains are averaged over its ranks, those beyond k count 0.
    """
    groups, creditable = tie_groups(case, i)
    depth = creditable if k is None else min(k, creditable)
    terms, rank = list[float](), 0
    for group in groups:
        discounts = [discount(r) if r <= depth else 0.0 for r in range(rank + 1, rank + 1 + len(group))]
        gains = [gain_of(case, i, j) for j in group]
        if convention(case, "ndcg_ties") == "average":
            gains = [sum(gains) / len(group)] * len(group)
        terms += [gain * d for gain, d in zip(gains, discounts, strict=True)]
        rank += len(group)
    return math.fsum(terms)


def cut_row(name: str, case: Case, i: int, k: int | None) -> float:
    """Measures of the first k labels of row i, of all that can be credited (k = None), and R-precision.

    Rows with R = 0 count by `empty`.
    """
    relevant, size = case.truth[i], len(case.truth[i])
    empty = convention(case, "empty")
    if size == 0 and empty == "skip":
        return NAN
    if size == 0:
        return float(empty == "one" and name in ("r", "rcap", "ndcg", "map", "map_r", "rprec"))
    if name == "ndcg":  # DCG / ideal DCG over min(k, R) ranks
        return dcg(case, i, k) / ideal_dcg((gain_of(case, i, j) for j in relevant), k)
    if name == "rprec":  # relevant labels among the first R / R
        return len(set(top(case, i, size)) & relevant) / size
    if name == "dcg":
        return dcg(case, i, k)
    ranked = top(case, i, case.n_labels if k is None else k)
    hit_ranks = [r for r, j in enumerate(ranked, 1) if j in relevant]
    hits = len(hit_ranks)
    if name in ("map", "map_r"):  # sum over hits of precision at their rank / min(k, R), or / R
        precisions = [n / r for n, r in enumerate(hit_ranks, 1)]
        by_all = k is None or name == "map_r" or convention(case, "map_norm") == "relevant"
        return math.fsum(precisions) / (size if k is None or by_all else min(k, size))
    if name == "mrr":  # 1 / rank of the first hit
        return 1.0 / hit_ranks[0] if hits else 0.0
    assert k is not None
    return {"p": hits / k, "r": hits / size, "rcap": hits / min(k, size), "hit": float(hits > 0)}[name]


def label_coverage(case: Case, k: int) -> float:
    """Distinct labels hit within k / labels present in the truth, over rows of positive weight."""
    counted = [i for i, w in enumerate(row_weights(case)) if w > 0]
    hit = {j for i in counted for j in top(case, i, k) if j in case.truth[i]}
    return ratio(len(hit), len({j for i in counted for j in case.truth[i]}), NAN)


def ps_terms(name: str, case: Case, i: int, k: int) -> tuple[float, float]:
    """Row i's share of the numerator and of the denominator of a ratio of sums; (0, 0) where R = 0.

    psp: sum of hit q | the k largest q in Y. psr: both / R. psdcg: both sums discounted by rank.
    psndcg: the same, both divided by the unit ideal over min(k, R).
    """
    assert case.inverse_propensity is not None
    relevant, size, q = case.truth[i], len(case.truth[i]), case.inverse_propensity
    if size == 0:
        return 0.0, 0.0
    hits = [(r, q[j]) for r, j in enumerate(top(case, i, k), 1) if j in relevant]
    ideal = list(enumerate(sorted((q[j] for j in relevant), reverse=True)[:k], 1))
    divisor = {"psp": 1.0, "psr": float(size), "psdcg": 1.0, "psndcg": unit_ideal(min(k, size))}[name]
    discounted = name in ("psdcg", "psndcg")
    above, below = (math.fsum(x * discount(r) if discounted else x for r, x in s) for s in (hits, ideal))
    return above / divisor, below / divisor


def ps_ratio(name: str, case: Case, k: int) -> float:
    """Weighted sum of the rows' numerators / weighted sum of their denominators."""
    terms = [(w, *ps_terms(name, case, i, k)) for i, w in enumerate(row_weights(case))]
    return ratio(math.fsum(w * a for w, a, _ in terms), math.fsum(w * b for w, _, b in terms), NAN)


def ps_raw_row(name: str, case: Case, i: int, k: int) -> float:
    """The numerator alone, psp's divided by k; rows with R = 0 count 0 or are left out."""
    if not case.truth[i] and convention(case, "empty") == "skip":
        return NAN
    return ps_terms(name.removesuffix("_raw"), case, i, k)[0] / (k if name == "psp_raw" else 1)


def predictions(case: Case, k: int | None) -> list[set[int]]:
    """The predicted sets: those given, or with k the filled slots of each row's first k."""
    if k is not None:
        return [set(top(case, i, k)) for i in range(len(case.truth))]
    assert case.pred is not None
    return case.pred


def set_row(name: str, case: Case, y: set[int], h: set[int], beta: float) -> float:
    """[h = Y], |h xor Y| / l, |h & Y| / |h|, |h & Y| / |Y|, |h & Y| / |h | Y|, F-beta of a row."""
    if name == "subset_accuracy":
        return float(h == y)
    if name == "hamming_loss":
        return len(h ^ y) / case.n_labels
    counts = count((j in y, j in h, 1.0) for j in range(case.n_labels))
    return set_formula(name, counts, zero_division(case), beta)


def label_average(name: str, case: Case, average: str, k: int | None, beta: float) -> float:
    """micro: the formula on the summed counts; macro: mean over labels; weighted: by relevant instances."""
    zero, which, ids = zero_division(case), convention(case, "labels"), range(case.n_labels)
    data = list(zip(case.truth, predictions(case, k), row_weights(case), strict=True))
    if average == "micro":
        return set_formula(name, count((j in y, j in h, w) for j in ids for y, h, w in data), zero, beta)
    per_label = [count((j in y, j in h, w) for y, h, w in data) for j in ids]
    support = [tp + fn for tp, _, fn, _ in per_label]
    if average == "weighted":
        values = [set_formula(name, counts, zero, beta) for counts in per_label]
        supported = any(n > 0 and v == v for n, v in zip(support, values, strict=True))
        return mean(values, support if supported else [1.0] * len(values))  # as in scikit-learn
    if which == "present":
        per_label = [counts for counts, n_true in zip(per_label, support, strict=True) if n_true > 0]
    elif which == "seen":
        per_label = [(tp, fp, fn, tn) for tp, fp, fn, tn in per_label if tp + fp + fn > 0]
    return mean([set_formula(name, counts, zero, beta) for counts in per_label], [1.0] * len(per_label))


def pooled_r_precision(case: Case) -> float:
    """Sum over rows of the hits among the first R / sum of R."""
    rows = list(zip(range(len(case.truth)), case.truth, row_weights(case), strict=True))
    hits = math.fsum(w * len(set(top(case, i, len(y))) & y) for i, y, w in rows)
    return ratio(hits, math.fsum(w * len(y) for _, y, w in rows), NAN)


def f_of_averages(case: Case, average: str, beta: float) -> float:
    """(1 + b2) P R / (b2 P + R) of the mean row (of_means) or macro (of_macros) precision P and recall R."""
    inner = {"of_means": "samples", "of_macros": "macro"}[average]
    p, r, b2 = value("precision", case, inner), value("recall", case, inner), beta * beta
    return ratio((1 + b2) * p * r, b2 * p + r, zero_division(case) or 0.0)


def cut_and_beta(cutoff: Cutoff, params: dict[str, float]) -> tuple[int | None, float]:
    """k and beta, 1 but for fbeta."""
    return int(cutoff) if cutoff and cutoff != "all" else None, params.get("beta", 1.0)


def rows(
    name: str, case: Case, average: str | None = None, cutoff: Cutoff = None, **params: float
) -> list[float] | None:
    """Values row by row (nan = left out of the mean); None where the measure is no mean over rows."""
    k, beta = cut_and_beta(cutoff, params)
    if average not in (None, "samples") or name in ("label_coverage", *STATISTICS[2:], *PS):
        return None
    if name in ("subset_accuracy", "hamming_loss", *OVERLAP):
        pairs = zip(case.truth, predictions(case, k), strict=True)
        return [set_row(name, case, y, h, beta) for y, h in pairs]
    if name in ("label_cardinality", "label_density"):  # |Y|, |Y| / l
        return [ratio(len(y), case.n_labels if name == "label_density" else 1, NAN) for y in case.truth]
    ids = range(len(case.truth))
    if k is not None and name in PS_RAW:
        return [ps_raw_row(name, case, i, k) for i in ids]
    if name in (*CUTS, "rprec"):
        return [cut_row(name, case, i, k) for i in ids]
    return [ranking_row(name, case, i) for i in ids]


def value(name: str, case: Case, average: str | None = None, cutoff: Cutoff = None, **params: float) -> float:
    """The measure of the whole case; nan where it is undefined."""
    k, beta = cut_and_beta(cutoff, params)
    if average in ("of_means", "of_macros"):
        return f_of_averages(case, str(average), beta)
    if name == "rprec" and average:
        return pooled_r_precision(case)
    if average in LABEL_AVERAGES:
        return label_average(name, case, str(average), k, beta)
    if k is not None and name in ("label_coverage", *PS):
        return label_coverage(case, k) if name == "label_coverage" else ps_ratio(name, case, k)
    if name in ("label_diversity", "proportional_diversity"):  # distinct label sets (/ number of rows)
        distinct = len({frozenset(y) for y in case.truth})
        return ratio(distinct, len(case.truth) if name == "proportional_diversity" else 1, NAN)
    return mean(rows(name, case, average, cutoff, **params) or [], row_weights(case))
