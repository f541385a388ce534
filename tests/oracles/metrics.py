"""A slow, obvious oracle of multi-label evaluation measures: sets, loops and the textbook formulas.

Notation: Y the relevant labels of a row, R = |Y|, h the predicted labels, l the number of labels,
q_j the inverse propensity of label j, rank 1 = best; nan is an undefined value.
Uses the standard library alone and shares no code with the package it checks.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

NAN = math.nan
TIE_WEIGHT = {"full": 1.0, "half": 0.5, "none": 0.0}
CHOICES = {  # values of each convention, the default first; `unlisted` may also be a score
    "auc_ties": "half full none",  # credit of a tied pair
    "loss_ties": "full half none",  # blame of a tied pair
    "ties": "order expected_dcg",  # the latter in DCG and nDCG; for all orders, `over_orders`
    "empty": "zero skip one",  # rows with R = 0
    "ap_empty": "skip zero",  # labels without relevant rows, in average precision
    "no_pairs": "skip perfect perfect_except_auc perfect_if_relevant",  # rows with R = 0 or R = l
    "zero_division": "0.0 1.0 nan both_empty",  # 0/0 in a set measure
    "map_norm": "capped relevant",  # MAP@k is over min(k, R) or R
    "labels": "all present seen",  # labels of a macro average
    "unlisted": "below",  # labels without a stored score
    "link": "none sigmoid",  # turns scores into probabilities
    "gains": "binary linear exp",  # see `gain_of`
    "relevant_from": "1 2 3",  # least grade of relevant labels, any positive one for 1
}

OVERLAP = ("jaccard", "precision", "recall", "fbeta", "f1", "specificity", "hmean")
PER_LABEL = ("accuracy", "balanced_accuracy", "mcc", "gmean")
LABEL_AVERAGES = ("micro", "macro", "weighted")
RANKINGS = (
    "one_error",
    "coverage",
    "coverage_error",
    "ranking_loss",
    "lrap",
    "is_error",
    "error_set_size",
)
CUTS = ("p", "r", "rcap", "ndcg", "dcg", "hit", "mrr", "map", "map_r")
WHOLE = ("ndcg", "dcg", "mrr", "map")
PS = ("psp", "psr", "psdcg", "psndcg")
POOLED = ("lwlrap", "gauc", "mean_rank", "amri")  # over the relevant labels of all rows
PS_RAW = ("psp_raw", "psr_raw", "psdcg_raw", "psndcg_raw")
STATISTICS = ("label_cardinality", "label_density", "label_diversity", "proportional_diversity")
Counts = tuple[float, float, float, float]  # (weighted) numbers tp, fp, fn, tn
Cutoff = int | str | None  # a number, "all" for the whole ranking, or none
Measure = tuple[str, str | None, str]  # name, average, text after the @


def measures(
    names: Iterable[str],
    averages: Iterable[str | None] = (None,),
    cutoffs: Iterable[str] = ("",),
) -> frozenset[Measure]:
    """Every name with every average and every cutoff."""
    return frozenset(itertools.product(names, averages, cutoffs))


MEASURES = (
    measures(("subset_accuracy", "hamming_loss", *RANKINGS, "rprec", *STATISTICS))
    | measures(OVERLAP, ("samples", *LABEL_AVERAGES), ("", "k"))
    | measures(PER_LABEL, LABEL_AVERAGES, ("", "k"))
    | measures(["rprec"], ["micro"])
    | measures(["lwlrap", "gauc", "mean_rank", "amri"])
    | measures(["fbeta", "f1"], ["of_means"], ("", "k"))
    | measures(["f1"], ["of_macros"], ("", "k"))
    | measures(["auc", "peak_f1"], ["samples"])
    | measures((*CUTS, "label_coverage", *PS, *PS_RAW), cutoffs=["k"])
    | measures(["label_coverage"], ["macro"], ["k"])
    | measures(WHOLE, cutoffs=["all"])
)


@dataclass
class Case:
    """One evaluation problem; scores are not rounded to a narrower type."""

    truth: list[set[int]]
    n_labels: int
    listed: list[list[tuple[int, float | None]]] | None = None  # labels and scores of each row
    kind: str = "matrix"  # "matrix": ties by smaller label id; "list": ties by position in the list
    pred: list[set[int]] | None = None
    weights: list[float] | None = None
    inverse_propensity: list[float] | None = None
    edges: list[tuple[int, int]] = field(default_factory=list)  # of a hierarchy: child and parent
    label_counts: list[int] | None = None
    conventions: dict[str, object] = field(default_factory=dict)
    grades: list[dict[int, float]] | None = None  # of all judged labels, where conventions read any
    all_grades: list[dict[int, float]] | None = None  # the same, whatever the conventions read
    left_out: list[set[int]] | None = None  # labels of rows that count on neither side

    def counted(self, i: int) -> list[int]:
        """The labels of row i that count; all l of them unless some are left out."""
        if self.left_out is None:
            return [*range(self.n_labels)]
        return [j for j in range(self.n_labels) if j not in self.left_out[i]]


def ratio(above: float, below: float, otherwise: float) -> float:
    """above / below, or `otherwise` where below is 0 (above is 0 then, too)."""
    return otherwise if below == 0 else above / below


def count(cells: Iterable[tuple[bool, bool, float]]) -> Counts:
    """Sums of the weights of cells (relevant, predicted, weight): tp, fp, fn, tn."""
    cells = list(cells)

    def weight_of(relevant: bool, predicted: bool) -> float:
        return math.fsum(weight for y, h, weight in cells if y == relevant and h == predicted)

    tp = weight_of(relevant=True, predicted=True)
    fp = weight_of(relevant=False, predicted=True)
    fn = weight_of(relevant=True, predicted=False)
    tn = weight_of(relevant=False, predicted=False)
    return tp, fp, fn, tn


def set_formula(name: str, counts: Counts, zero: float | None, beta: float) -> float:
    """A set measure from tp, fp, fn, tn; `zero` is the value of 0/0, None that of `both_empty`."""
    tp, fp, fn, tn = counts
    if name in ("recall", "specificity", "balanced_accuracy", "gmean", "hmean"):
        return rate_formula(name, counts, zero)
    if name == "label_coverage":  # [tp > 0]
        return float(tp > 0)
    if zero is None:
        zero = float(tp + fp + fn == 0)
        if name in ("accuracy", "mcc"):  # also where both sets have all labels
            zero = max(zero, float(tn + fp + fn == 0))
    if name == "accuracy":  # (tp + tn) / (tp + fp + fn + tn)
        return ratio(tp + tn, tp + fp + fn + tn, zero)
    if name == "precision":  # tp / (tp + fp)
        return ratio(tp, tp + fp, zero)
    if name == "jaccard":  # tp / (tp + fp + fn)
        return ratio(tp, tp + fp + fn, zero)
    if name in ("f1", "fbeta"):  # (1 + b2) tp / ((1 + b2) tp + b2 fn + fp)
        b2 = beta * beta
        return ratio((1 + b2) * tp, (1 + b2) * tp + b2 * fn + fp, zero)
    assert name == "mcc"  # (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))
    return ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)), zero)


def rate_formula(name: str, counts: Counts, zero: float | None) -> float:
    """A set measure from TPR = tp / (tp + fn) and TNR = tn / (tn + fp)."""
    tp, fp, fn, tn = counts
    if zero is None:
        tpr = ratio(tp, tp + fn, float(tp + fp + fn == 0))
        tnr = ratio(tn, tn + fp, float(tn + fp + fn == 0))
    else:
        tpr = ratio(tp, tp + fn, zero)
        tnr = ratio(tn, tn + fp, zero)
    if name == "recall":
        return tpr
    if name == "specificity":
        return tnr
    if name == "balanced_accuracy":  # (TPR + TNR) / 2
        return (tpr + tnr) / 2
    if name == "gmean":  # sqrt(TPR TNR)
        return math.sqrt(tpr * tnr)
    assert name == "hmean"  # 2 / (1 / TPR + 1 / TNR), 0 if any is 0
    if math.isnan(tpr + tnr):
        return NAN
    if tpr == 0 or tnr == 0:
        return 0.0
    return 2 / (1 / tpr + 1 / tnr)


def convention(case: Case, name: str) -> object:
    """The value of one convention, the default where it is not overridden."""
    choices = CHOICES[name].split()
    value = case.conventions.get(name, choices[0])
    assert str(value) in choices or (name == "unlisted" and isinstance(value, float)), (name, value)
    assert case.conventions.keys() <= CHOICES.keys(), case.conventions
    return value


def unlisted_score(case: Case) -> float | None:
    """Score of labels without a stored one; None where they rank below all others."""
    score = convention(case, "unlisted")
    if score == "below":
        return None
    return float(str(score))


def zero_division(case: Case) -> float | None:
    """Value of 0/0 in a set measure; None: 1 where both sets are empty, else 0."""
    zero = convention(case, "zero_division")
    if zero == "both_empty":
        return None
    return float(str(zero))


def row_weights(case: Case) -> list[float]:
    """Sample weights, by default 1."""
    if case.weights is None:
        return [1.0] * len(case.truth)
    return [float(weight) for weight in case.weights]


def mean(values: Iterable[float], weights: Iterable[float]) -> float:
    """sum(w v) / sum(w) over the values that are not nan; nan without any."""
    defined = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    return ratio(math.fsum(v * w for v, w in defined), math.fsum(w for _, w in defined), NAN)


def tie_groups(case: Case, i: int) -> tuple[list[list[int]], int]:
    """Tie groups of the labels of row i that count, best first, and how many can be credited.

    Inside a group labels are in rank order. Unlisted labels that are "below" form the last group,
    in order of their ids, and cannot be credited at k.
    """
    assert case.listed is not None
    stored = [(j, s) for j, s in case.listed[i] if j >= 0]  # an id of -1 marks an empty slot
    unlisted = sorted(set(case.counted(i)) - {j for j, _ in stored})
    default = unlisted_score(case)
    scored = [(j, float(s)) for j, s in stored if s is not None]
    if stored and not scored:  # a list without scores: positions are distinct ranks
        assert default is None or not unlisted
        groups = [[j] for j, _ in stored]
    else:
        assert len(scored) == len(stored), "a row has scores for all of its labels or for none"
        if default is not None:
            scored += [(j, default) for j in unlisted]
            unlisted = []
        groups = groups_of_equal_scores(scored, case.kind)
    creditable = sum(len(group) for group in groups)
    if unlisted:
        groups.append(unlisted)
    return groups, creditable


def groups_of_equal_scores(scored: list[tuple[int, float]], kind: str) -> list[list[int]]:
    """Labels by falling score, equal ones together: by id in a matrix, by position in a list."""
    assert kind in ("matrix", "list")
    if kind == "matrix":
        scored = sorted(scored)
    ordered = sorted(scored, key=lambda entry: -entry[1])  # stable
    groups = itertools.groupby(ordered, key=lambda entry: entry[1])
    return [[j for j, _ in group] for _, group in groups]


def top(case: Case, i: int, k: int) -> list[int]:
    """The first k labels that can be credited, best first (fewer where slots are missing)."""
    _, creditable = tie_groups(case, i)
    return in_rank_order(case, i)[:creditable][:k]


def in_rank_order(case: Case, i: int) -> list[int]:
    """All l labels, best first; unlisted labels that are "below" come last, by id."""
    groups, _ = tie_groups(case, i)
    return [j for group in groups for j in group]


def worst_ranks(case: Case, i: int) -> dict[int, int]:
    """Rank of every label, the last rank of its tie group: #{v: f_v >= f_u}."""
    groups, _ = tie_groups(case, i)
    ranks: dict[int, int] = {}
    for group in groups:
        ranks.update(dict.fromkeys(group, len(ranks) + len(group)))
    return ranks


def ranking_row(name: str, case: Case, i: int) -> float:
    """Measures of the whole ranking of row i."""
    relevant = case.truth[i]
    rank = worst_ranks(case, i)
    if name == "one_error":  # [top label not in Y]
        return float(not set(top(case, i, 1)) & relevant)
    if name == "coverage" and not relevant:
        return NAN if convention(case, "no_pairs") == "skip" else 0.0
    if name == "coverage":  # max rank over Y - 1
        return float(max(rank[j] for j in relevant) - 1)
    if name == "coverage_error":  # max rank over Y
        return float(max((rank[j] for j in relevant), default=0))
    if name == "peak_f1":  # max over prefixes of whole tie groups of 2 tp / (|prefix| + R)
        prefixes = [{j for j in rank if rank[j] <= end} for end in set(rank.values())]
        f1 = [2 * len(prefix & relevant) / (len(prefix) + len(relevant)) for prefix in prefixes]
        return max(f1, default=0.0)
    return pair_row(name, case, i)


def pair_row(name: str, case: Case, i: int) -> float:
    """Measures of the pairs of a relevant and an irrelevant label of row i."""
    relevant = case.truth[i]
    irrelevant = set(case.counted(i)) - relevant
    rank = worst_ranks(case, i)
    pairs = [(u, v) for u in relevant for v in irrelevant]
    n_right = sum(rank[u] < rank[v] for u, v in pairs)
    n_tied = sum(rank[u] == rank[v] for u, v in pairs)
    n_wrong = sum(rank[u] > rank[v] for u, v in pairs)
    blame = n_wrong + TIE_WEIGHT[str(convention(case, "loss_ties"))] * n_tied
    credit = n_right + TIE_WEIGHT[str(convention(case, "auc_ties"))] * n_tied
    if name == "is_error":  # [wrong pairs > 0]
        return float(blame > 0)
    if name == "error_set_size":  # wrong pairs
        return float(blame)
    if not pairs and skips_rows_without_pairs(name, case, i):
        return NAN
    if name == "ranking_loss":  # wrong pairs / (R (l - R))
        return ratio(blame, len(pairs), 0.0)
    if name == "auc":  # right pairs / (R (l - R))
        return ratio(credit, len(pairs), 1.0)
    assert name == "lrap"  # mean over u in Y of #{v in Y: rank_v <= rank_u} / rank_u
    if not pairs:
        return 1.0
    return math.fsum(precisions_of_labels(case, i)) / len(relevant)


def precisions_of_labels(case: Case, i: int) -> list[float]:
    """#{v in Y: rank_v <= rank_u} / rank_u of each relevant label u of row i."""
    relevant = case.truth[i]
    rank = worst_ranks(case, i)
    return [sum(rank[v] <= rank[u] for v in relevant) / rank[u] for u in relevant]


def skips_rows_without_pairs(name: str, case: Case, i: int) -> bool:
    """Whether a measure of pairs is undefined for row i, which has none."""
    no_pairs = convention(case, "no_pairs")
    if no_pairs == "skip":
        return True
    if name == "auc":
        return no_pairs != "perfect"
    return name == "lrap" and no_pairs == "perfect_if_relevant" and not case.truth[i]


def gain_of(case: Case, i: int, j: int) -> float:
    """Gain of label j in row i: 1 if relevant ("binary"), its grade ("linear") or 2^grade - 1."""
    gains = convention(case, "gains")
    if gains == "binary":
        return float(j in case.truth[i])
    assert case.grades is not None
    grade = case.grades[i].get(j, 0.0)
    if grade <= 0:
        return 0.0
    return grade if gains == "linear" else math.pow(2.0, grade) - 1.0


def discount(rank: int) -> float:
    """1 / log2(1 + rank)."""
    return 1.0 / math.log2(1 + rank)


def unit_ideal(n: int) -> float:
    """Sum of the discounts of ranks 1..n."""
    return math.fsum(discount(r) for r in range(1, n + 1))


def ideal_dcg(gains: Iterable[float], k: int | None) -> float:
    """Sum of gain / log2(1 + rank) in the best order of the gains."""
    best = sorted(gains, reverse=True)[:k]
    return math.fsum(gain * discount(rank) for rank, gain in enumerate(best, 1))


def dcg(case: Case, i: int, k: int | None) -> float:
    """Sum of gain / log2(1 + rank) over the first k labels, or all that can be credited (None).

    ties "expected_dcg": each tie group's gains are averaged over its ranks, those beyond k count 0.
    """
    groups, creditable = tie_groups(case, i)
    depth = creditable
    if k is not None:
        depth = min(k, creditable)
    gains: list[float] = []
    for group in groups:
        group_gains = [gain_of(case, i, j) for j in group]
        if convention(case, "ties") == "expected_dcg":
            group_gains = [sum(group_gains) / len(group)] * len(group)
        gains += group_gains
    return math.fsum(gain * discount(rank) for rank, gain in enumerate(gains[:depth], 1))


def cut_row(name: str, case: Case, i: int, k: int | None) -> float:
    """Measures of the first k labels of row i, or all that can be credited (None); R-precision.

    Rows with R = 0 count by `empty`.
    """
    relevant = case.truth[i]
    if name in ("ndcg", "dcg") and case.grades is not None:
        relevant = {j for j in range(case.n_labels) if gain_of(case, i, j) > 0}
    size = len(relevant)
    if size == 0:
        return empty_row(name, case)
    if name == "ndcg":  # DCG / ideal DCG over min(k, R) ranks
        return dcg(case, i, k) / ideal_dcg((gain_of(case, i, j) for j in relevant), k)
    if name == "rprec":  # relevant labels among the first R / R
        return len(set(top(case, i, size)) & relevant) / size
    if name == "dcg":
        return dcg(case, i, k)
    ranked = top(case, i, case.n_labels if k is None else k)
    hit_ranks = [rank for rank, j in enumerate(ranked, 1) if j in relevant]
    hits = len(hit_ranks)
    if name == "mrr":  # 1 / rank of the first hit
        return 1.0 / hit_ranks[0] if hits else 0.0
    if name in ("map", "map_r"):  # sum over hits of precision at their rank / min(k, R), or / R
        precisions = math.fsum(n / rank for n, rank in enumerate(hit_ranks, 1))
        if k is None or name == "map_r" or convention(case, "map_norm") == "relevant":
            return precisions / size
        return precisions / min(k, size)
    assert k is not None
    values = {"p": hits / k, "r": hits / size, "rcap": hits / min(k, size), "hit": float(hits > 0)}
    return values[name]


def empty_row(name: str, case: Case) -> float:
    """Measures at k of a row without relevant labels."""
    empty = convention(case, "empty")
    if empty == "skip":
        return NAN
    can_be_one = name in ("r", "rcap", "ndcg", "map", "map_r", "rprec")
    return float(empty == "one" and can_be_one)


def label_coverage(case: Case, k: int) -> float:
    """Distinct labels hit within k / labels present in the truth, over rows of positive weight."""
    hit: set[int] = set()
    present: set[int] = set()
    for i, weight in enumerate(row_weights(case)):
        if weight > 0:
            hit |= set(top(case, i, k)) & case.truth[i]
            present |= case.truth[i]
    return ratio(len(hit), len(present), NAN)


def ps_terms(name: str, case: Case, i: int, k: int) -> tuple[float, float]:
    """Row i's share of the numerator and of the denominator of a ratio of sums; (0, 0) where R = 0.

    psp: sum of hit q | the k largest q in Y. psr: both / R. psdcg: both sums discounted by rank.
    psndcg: the same, both divided by the unit ideal over min(k, R).
    """
    assert case.inverse_propensity is not None
    relevant = case.truth[i]
    size = len(relevant)
    q = case.inverse_propensity
    if size == 0:
        return 0.0, 0.0
    hits = [(rank, q[j]) for rank, j in enumerate(top(case, i, k), 1) if j in relevant]
    largest = sorted((q[j] for j in relevant), reverse=True)[:k]
    ideal = list(enumerate(largest, 1))
    if name in ("psdcg", "psndcg"):
        hits = [(rank, gain * discount(rank)) for rank, gain in hits]
        ideal = [(rank, gain * discount(rank)) for rank, gain in ideal]
    above = math.fsum(gain for _, gain in hits)
    below = math.fsum(gain for _, gain in ideal)
    divisor = 1.0
    if name == "psr":
        divisor = float(size)
    elif name == "psndcg":
        divisor = unit_ideal(min(k, size))
    return above / divisor, below / divisor


def ps_ratio(name: str, case: Case, k: int) -> float:
    """Weighted sum of the rows' numerators / weighted sum of their denominators."""
    weights = row_weights(case)
    terms = [ps_terms(name, case, i, k) for i in range(len(case.truth))]
    above = math.fsum(w * numerator for w, (numerator, _) in zip(weights, terms, strict=True))
    below = math.fsum(w * denominator for w, (_, denominator) in zip(weights, terms, strict=True))
    return ratio(above, below, NAN)


def ps_raw_row(name: str, case: Case, i: int, k: int) -> float:
    """The numerator alone, psp's divided by k; rows with R = 0 count 0 or are skipped."""
    if not case.truth[i] and convention(case, "empty") == "skip":
        return NAN
    numerator, _ = ps_terms(name.removesuffix("_raw"), case, i, k)
    if name == "psp_raw":
        return numerator / k
    return numerator


def predictions(case: Case, k: int | None) -> list[set[int]]:
    """The predicted sets of the case, or with k the first k labels of every row."""
    if k is not None:
        return [set(top(case, i, k)) for i in range(len(case.truth))]
    assert case.pred is not None
    return case.pred


def set_row(name: str, case: Case, i: int, h: set[int], beta: float) -> float:
    """[h = Y], |h xor Y| / l, |h & Y| / |h|, |h & Y| / |Y|, |h & Y| / |h | Y|, F-beta of a row."""
    y = case.truth[i]
    labels = case.counted(i)
    if not labels:
        return NAN
    if name == "subset_accuracy":
        return float(h == y)
    if name == "hamming_loss":
        return ratio(len(h ^ y), len(labels), NAN)
    counts = count((j in y, j in h, 1.0) for j in labels)
    return set_formula(name, counts, zero_division(case), beta)


def label_average(name: str, case: Case, average: str, k: int | None, beta: float) -> float:
    """micro: the formula on summed counts; macro: mean over labels; weighted: by relevant rows."""
    zero = zero_division(case)
    cells: list[list[tuple[bool, bool, float]]] = [[] for _ in range(case.n_labels)]
    rows = zip(case.truth, predictions(case, k), row_weights(case), strict=True)
    for i, (y, h, w) in enumerate(rows):
        for j in case.counted(i):
            cells[j].append((j in y, j in h, w))
    if average == "micro":
        return set_formula(name, count(itertools.chain(*cells)), zero, beta)
    if case.left_out is not None and name != "label_coverage":  # undefined where no row judges
        cells = [column for column in cells if sum(weight for *_, weight in column) > 0]
    per_label = [count(column) for column in cells]
    if average == "macro":
        per_label = labels_of_macro_average(case, per_label)
    values = [set_formula(name, counts, zero, beta) for counts in per_label]
    equal = [1.0] * len(values)
    if average == "macro":
        return mean(values, equal)
    support = [tp + fn for tp, _, fn, _ in per_label]
    has_support = any(n > 0 and not math.isnan(v) for n, v in zip(support, values, strict=True))
    return mean(values, support if has_support else equal)  # as in scikit-learn


def labels_of_macro_average(case: Case, per_label: list[Counts]) -> list[Counts]:
    """The counts of all labels, of those present in the truth, or of those present or predicted."""
    labels = convention(case, "labels")
    if labels == "present":
        return [(tp, fp, fn, tn) for tp, fp, fn, tn in per_label if tp + fn > 0]
    if labels == "seen":
        return [(tp, fp, fn, tn) for tp, fp, fn, tn in per_label if tp + fp + fn > 0]
    return per_label


def pooled_r_precision(case: Case) -> float:
    """Sum over rows of the hits among the first R / sum of R."""
    hits = []
    sizes = []
    for i, (y, w) in enumerate(zip(case.truth, row_weights(case), strict=True)):
        hits.append(w * len(set(top(case, i, len(y))) & y))
        sizes.append(w * len(y))
    return ratio(math.fsum(hits), math.fsum(sizes), NAN)


def label_weighted_lrap(case: Case) -> float:
    """Sum over rows of the precisions at the ranks of relevant labels / sum of R."""
    precisions = []
    sizes = []
    for i, (y, w) in enumerate(zip(case.truth, row_weights(case), strict=True)):
        precisions.append(w * math.fsum(precisions_of_labels(case, i)))
        sizes.append(w * len(y))
    return ratio(math.fsum(precisions), math.fsum(sizes), NAN)


def grouped_auc(case: Case) -> float:
    """Mean of the AUC of rows with pairs, weighted by their numbers of labels that count."""
    values = []
    sizes = []
    for i, (y, w) in enumerate(zip(case.truth, row_weights(case), strict=True)):
        labels = case.counted(i)
        if 0 < len(y) < len(labels):
            values.append(pair_row("auc", case, i))
            sizes.append(w * len(labels))
    return mean(values, sizes)


def pooled_ranks(name: str, case: Case) -> float:
    """Mean over relevant labels of the mean of their best and worst rank among irrelevant ones.

    amri: 1 - (that - 1) / (the same of a ranking by chance, (number of candidates + 1) / 2, - 1).
    The ones are left out of both sums, or small weights would be lost beside them.
    """
    total = above = above_by_chance = 0.0
    for i, (y, w) in enumerate(zip(case.truth, row_weights(case), strict=True)):
        last = worst_ranks(case, i)
        irrelevant = set(case.counted(i)) - y
        for u in y:
            n_above = sum(last[v] < last[u] for v in irrelevant)
            n_tied = sum(last[v] == last[u] for v in irrelevant)
            total += w
            above += w * (n_above + n_tied / 2)
            above_by_chance += w * len(irrelevant) / 2
    if name == "mean_rank":
        return 1 + ratio(above, total, NAN)
    return 1 - above / above_by_chance if above_by_chance else NAN


def f_of_averages(case: Case, average: str, k: int | None, beta: float) -> float:
    """(1 + b2) P R / (b2 P + R) of precision P and recall R, averaged over rows or labels."""
    inner = {"of_means": "samples", "of_macros": "macro"}[average]
    cutoff = "" if k is None else str(k)
    p = value("precision", case, inner, cutoff)
    r = value("recall", case, inner, cutoff)
    b2 = beta * beta
    return ratio((1 + b2) * p * r, b2 * p + r, zero_division(case) or 0.0)


def cut_and_beta(cutoff: Cutoff, params: dict[str, float]) -> tuple[int | None, float]:
    """k, None for a whole ranking, and beta, by default 1."""
    beta = params.get("beta", 1.0)
    if not cutoff or cutoff == "all":
        return None, beta
    return int(cutoff), beta


def rows(
    name: str, case: Case, average: str | None = None, cutoff: Cutoff = None, **params: float
) -> list[float] | None:
    """Values row by row, nan where a row is skipped; None where the measure is no mean of rows."""
    k, beta = cut_and_beta(cutoff, params)
    if average not in (None, "samples"):
        return None
    if name in ("label_coverage", "label_diversity", "proportional_diversity", *POOLED, *PS):
        return None
    if name in ("subset_accuracy", "hamming_loss", *OVERLAP):
        sets = enumerate(predictions(case, k))
        return [set_row(name, case, i, h, beta) for i, h in sets]
    if name == "label_cardinality":  # |Y|
        return [float(len(y)) for y in case.truth]
    if name == "label_density":  # |Y| / l
        return [ratio(len(y), len(case.counted(i)), NAN) for i, y in enumerate(case.truth)]
    ids = range(len(case.truth))
    if k is not None and name in PS_RAW:
        return [ps_raw_row(name, case, i, k) for i in ids]
    if name in (*CUTS, "rprec"):
        return [cut_row(name, case, i, k) for i in ids]
    return [ranking_row(name, case, i) for i in ids]


def value(
    name: str, case: Case, average: str | None = None, cutoff: Cutoff = None, **params: float
) -> float:
    """The measure of the whole case; nan where it is undefined."""
    k, beta = cut_and_beta(cutoff, params)
    if average in ("of_means", "of_macros"):
        return f_of_averages(case, str(average), k, beta)
    if name == "rprec" and average:
        return pooled_r_precision(case)
    if name in ("mean_rank", "amri"):
        return pooled_ranks(name, case)
    if name == "lwlrap":
        return label_weighted_lrap(case)
    if name == "gauc":
        return grouped_auc(case)
    if average in LABEL_AVERAGES:
        return label_average(name, case, str(average), k, beta)
    if name == "label_coverage" and k is not None:
        return label_coverage(case, k)
    if name in PS and k is not None:
        return ps_ratio(name, case, k)
    n_distinct = len({frozenset(y) for y in case.truth})
    if name == "label_diversity":  # distinct label sets
        return float(n_distinct)
    if name == "proportional_diversity":  # distinct label sets / rows
        return ratio(n_distinct, len(case.truth), NAN)
    return mean(rows(name, case, average, cutoff, **params) or [], row_weights(case))
