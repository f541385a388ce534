"""Fitting of rules, by one sweep over sorted scores."""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from xmleval.base.arrays import Floats, Ints, Scores
from xmleval.base.budget import MEMORY, Resources, limited, memory_bytes
from xmleval.base.conventions import Conventions, changed_fields, resolve_conventions
from xmleval.base.errors import InputError, naming_files, positive_integer, real_number, shown
from xmleval.base.keywords import refusing_unknown
from xmleval.evaluation.files import collect
from xmleval.evaluation.request import Data, Progress, Question, Request, given_cells
from xmleval.files.remote import is_file
from xmleval.input.argument_types import FilePath, RowsLike, SparseMatrix
from xmleval.input.cell_marks import JUDGED, UNJUDGED
from xmleval.input.label_filter import fewer_labels
from xmleval.input.opened import check_labels
from xmleval.kernels.thresholds import ERRORS, F1, SIZE, sweep_f1, sweep_groups
from xmleval.metrics.spec import MOST_K, parse_spec
from xmleval.thresholds.entries import Entries, Pool
from xmleval.thresholds.weighted import best_weights
from xmleval.view.decision import Decision, leading_scores, refuse_infinite_leading
from xmleval.view.linear import check_features, least_squares
from xmleval.view.rule import RULES, Rule, without_cutoff

if TYPE_CHECKING:
    from xmleval.thresholds.scored import ScoredEntries

FeaturesLike: TypeAlias = ArrayLike | SparseMatrix
FALLBACKS = ("never", "highest")
LEADING = 10  # default number of scores that a linear model reads
# aims of sweeps over scores, by rule and measure; other rules need whole rows
AIMS: dict[str, dict[str | None, int]] = {
    "constant": {"f1.micro": F1, "hamming_loss": ERRORS},
    "cardinality": {None: SIZE},
    "label": {"f1.macro": F1, "hamming_loss": ERRORS},
}


@refusing_unknown
def fit(  # noqa: PLR0913 - each is a keyword of its own in the documentation
    y_true: RowsLike,
    y_score: RowsLike,
    measure: str | None = None,
    *,
    rule: str | None = None,
    k: int | None = None,
    fbr: float | None = None,
    fallback: str | None = None,
    features: FeaturesLike | FilePath | None = None,
    n_labels: int | None = None,
    labels: Iterable[str | int] | FilePath | None = None,
    conventions: str | Conventions | Mapping[str, Any] | None = None,
    unjudged: RowsLike | float | None = None,
    judged: RowsLike | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
) -> Rule:
    """Tune a decision rule.

    The fitted threshold or rank is optimal on the data; of equally good thresholds the highest
    wins. Thresholds are strict: each is the next lower score that occurs, or minus infinity if
    everything listed is predicted. 0/0 counts as 0, and macro averages include all labels.

    Parameters
    ----------
    y_true : sparse matrix or array, dense 0/1 array, lists of labels, dict or frame; shape (m, l)
        Relevant labels, as `xmleval.evaluate` takes them.
    y_score : as y_true with scores, or (labels, scores) arrays of shape (m, k)
        Scores. Labels without one are never predicted.
    measure : str, optional
        Measure to optimise: ``hamming_loss``, ``f1.micro``, ``f1.macro`` or ``f1.samples``; for
        rule "label" ``f1.macro`` or ``hamming_loss``, for "row" ``f1.samples`` or ``hamming_loss``,
        for "cardinality" and "top" none; for "weighted" ``f1.macro@5``, precision or recall, at any
        cutoff.
    rule : {"constant", "cardinality", "label", "rank", "row", "top", "weighted"}, optional
        Default "weighted" for measures at a cutoff, else "constant". One threshold; one that
        predicts as many labels as are relevant; one threshold per label; the best r labels of each
        row, r tuned (RCut); a threshold per row, from a linear model fitted by least squares to the
        best thresholds of the rows; the best k labels of each row; the k labels of each row with
        the highest weight x score + offset, two numbers of each label. Only labels with a score
        count.
    k : int, optional
        For "top", the number of labels; for "row", how many of the highest scores the model reads
        (10).
    fbr : float, optional
        For "label" with ``f1.macro``: labels whose best F1 is below it, typically rare ones, take
        the fallback threshold (SCutFBR).
    fallback : {"never", "highest"}, optional
        The fallback: infinity (SCutFBR.0, default) or the highest score of the label (SCutFBR.1).
    features : array or sparse matrix of shape (m, d), optional
        For "row": features that the model reads instead of scores; a file is an .npy array or a
        sparse .npz matrix.
    n_labels, labels
        As of `xmleval.evaluate`. Where labels have names, the rule keeps them.
    conventions : str, Conventions or dict, optional
        As of `xmleval.evaluate`; for rules with thresholds, ``unlisted`` is read. Thresholds below
        the score of labels without a stored one are not considered: they would predict all of these
        labels.
    unjudged, judged
        As of `xmleval.evaluate`: labels of rows that nobody judged, or those that alone are judged.
        Other labels of a row count on neither side. Rule "top" depends on no judgement, and refuses
        them, as does "row" without ``features``, whose model reads the scores of all labels.
    memory, threads
        As of `xmleval.evaluate`, for rules "label", "cardinality" and, for ``f1.micro`` and
        ``hamming_loss``, "constant"; the rule does not depend on them.
    progress : bool or callable, default False
        As of `xmleval.evaluate`. ``y_true``, ``y_score``, ``features`` and ``labels`` may be files.

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        If input is invalid, or the rule does not accept the measure or another argument.

    Notes
    -----
    Other rules sort the stored scores in memory, at about 60 bytes each.

    "weighted" takes scores as probabilities, and refuses others. Rows in turn take the k labels
    that raise the expected macro average most, all other rows unchanged, until none changes (block
    coordinate ascent); the truth gives the number of relevant rows of each label, one more than
    counted. What one more row would raise the average by is linear in its score: weights and
    offsets. A warning tells if the k highest scores give more on the data, as scores that are no
    calibrated probabilities may. The result is ``f1.macro`` of `evaluate(..., decision=rule)`,
    whereas ``f1.macro@5`` reads the ranking.

    References
    ----------
    Yang 2001 (SIGIR), "A study of thresholding strategies for text categorization": RCut, SCut,
    SCutFBR; Fan & Lin 2007, "A study on threshold selection for multi-label classification";
    Elisseeff & Weston 2001 (NIPS), "A kernel method for multi-labelled classification": the linear
    model; Schultheis et al. 2023 (NeurIPS), "Generalized test utilities for long-tail performance
    in extreme multi-label classification": block coordinate ascent for macro averages of k labels
    per row.

    Examples
    --------
    >>> from xmleval.thresholds import fit
    >>> y_true = np.array([[1, 0, 1], [0, 1, 0]])
    >>> y_score = np.array([[0.6, 0.1, 0.4], [0.3, 0.8, 0.2]])
    >>> rule = fit(y_true, y_score, "f1.macro", rule="label")
    >>> rule.decision.numbers
    array([0.3, 0.1, 0.2])
    >>> xmleval.evaluate(y_true, y_score, decision=rule, metrics=["f1.macro"])["f1.macro"]
    1.0
    """
    data = Data(y_true=y_true, y_score=y_score, unjudged=unjudged, judged=judged)
    has_features = features is not None
    cells = given_cells(data)
    fitting = Fitting(rule, measure, k, fbr, fallback, has_features, conventions, cells)
    request = Request(
        data=data,
        question=Question(n_labels=n_labels, labels=labels),
        memory=memory,
        threads=threads,
        progress=progress,
    )
    feature_rows = _load_features(features, memory)
    entries, run = collect(request, fitting.entries)
    names = run.rows.label_names
    if features is not None and run.rows.by_name and run.files["y_true"]:
        raise InputError("features", f"have rows by number, but {run.rows.truth[0]} has names")
    inputs = {"y_score": y_score, "features": features}
    paths = {name: value for name, value in inputs.items() if is_file(value)}
    with naming_files(paths):
        fitted_rule = fitting.rule_of(entries, feature_rows)
    for note in run.rows.notes[0]:
        warnings.warn(note, stacklevel=3)
    if names is None or names == [*range(len(names))]:  # label ids, which are no names
        return fitted_rule
    return replace(fitted_rule, label_names=tuple(check_labels(names, None)))


def _load_features(
    features: FeaturesLike | FilePath | None, memory: int | str
) -> FeaturesLike | None:
    """Return features, read from a file if they are the path of one."""
    if not isinstance(features, str | os.PathLike):
        return features
    from xmleval.thresholds.features import read_features  # imports all formats

    with limited(Resources(memory_bytes("memory", memory)).limit()):
        return read_features(features)


class Fitting:
    """Checked arguments of `fit`; ``cells`` say which labels are judged."""

    def __init__(
        self,
        rule: str | None = None,
        measure: str | None = None,
        k: int | None = None,
        fbr: float | None = None,
        fallback: str | None = None,
        with_features: bool = False,
        conventions: str | Conventions | Mapping[str, Any] | None = None,
        cells: frozenset[str] = frozenset(),
    ) -> None:
        self.measure = None if measure is None else _canonical_name(measure)
        at_k = without_cutoff(self.measure)
        if rule is None:
            has_cutoff = at_k != self.measure
            rule = "weighted" if has_cutoff else "constant"
        if not isinstance(rule, str) or rule not in RULES:
            raise InputError("rule", f"{shown(rule)} is not one of {', '.join(RULES)}")
        if at_k not in (RULES[rule].measures or (None,)):
            raise _untuned_error(rule, at_k, measure)
        self.rule = rule
        self.unlisted = _read_unlisted(conventions)
        arguments = {
            "k": k,
            "fbr": fbr,
            "fallback": fallback,
            "features": with_features or None,
            "unlisted": self.unlisted,
            **dict.fromkeys(sorted(cells), True),
        }
        used = _used_arguments(rule, self.measure, with_features, fbr is not None)
        for argument, value in arguments.items():
            if value is not None and argument not in used:
                raise _unused_error(argument, rule, measure)
        fewer_labels(cells, self.unlisted)  # which do not go together
        self.cells = cells
        if rule == "top" and k is None:
            raise InputError("k", "rule='top' needs it: the number of labels to predict")
        self.k = LEADING
        if k is not None:
            self.k = positive_integer("k", k, at_most=MOST_K)
        self.fbr, self.fallback = _check_fallback(fbr, fallback)
        self.scored = rule not in ("rank", "top")
        self.aim = AIMS.get(rule, {}).get(self.measure)

    def entries(self, n_labels: int, resources: Resources) -> Entries | ScoredEntries:
        """Return the empty collection to add data to."""
        if self.aim is not None:
            # imported here to keep start-up fast
            from xmleval.thresholds.scored import ScoredEntries

            is_label = self.rule == "label"
            return ScoredEntries(n_labels, self.unlisted, is_label, resources, self.cells)
        ordered = self.rule in ("rank", "row", "weighted")
        return Entries(n_labels, self.unlisted, ordered=ordered, scored=self.scored)

    def rule_of(
        self, entries: Entries | ScoredEntries, features: FeaturesLike | None = None
    ) -> Rule:
        """Return the best rule on the data."""
        if isinstance(entries, Entries):
            decision = self._decide_by_rows(entries.pool(), features)
        else:
            decision = self._decide_by_scores(entries)
        return Rule(self.rule, self.measure, entries.n_labels, decision)

    def _decide_by_scores(self, entries: ScoredEntries) -> Decision:
        """Return the best threshold for all labels or per label."""
        assert self.aim is not None
        if self.rule != "label":
            return Decision("threshold", entries.threshold(self.aim))
        settings = f"{self.measure}"
        if self.fbr:
            settings += f",fbr={self.fbr:g},{self.fallback}"
        numbers = entries.label_thresholds(self.aim, self.fbr, self.fallback)
        return Decision("labels", 0.0, numbers, f"label({settings})")

    def _decide_by_rows(self, pool: Pool, features: FeaturesLike | None) -> Decision:
        """Return the best decision of a rule that reads whole rows."""
        if self.rule == "top":
            return Decision("listed", float(self.k))
        if self.rule == "rank":
            return Decision("listed", float(best_rank(pool, self.measure)))
        if self.rule == "row":
            return self._fit_linear_model(pool, features)
        if self.rule == "weighted":
            assert self.measure is not None
            name, _, cutoff = self.measure.partition("@")
            numbers = best_weights(pool, name, int(cutoff))
            return Decision("weighted", float(cutoff), numbers, f"weighted({self.measure})")
        return Decision("threshold", one_threshold(pool, self.measure))

    def _fit_linear_model(self, pool: Pool, features: FeaturesLike | None) -> Decision:
        """Fit a linear model to the best thresholds of rows."""
        best = row_thresholds(pool, self.measure == "f1.samples")
        has_best = ~np.isnan(best)
        if not has_best.any():
            raise InputError("y_score", "no row has a score that can be a threshold")
        finite_best = np.where(has_best, best, 0.0)
        unlisted = math.nan
        unlisted_text = "below"
        if self.unlisted is not None:
            unlisted = self.unlisted
            unlisted_text = f"{self.unlisted:g}"
        if features is not None:
            checked = check_features(features, best.size)
            refuse_infinite_leading(finite_best[:, None], 0)
            weights = least_squares("features", checked[has_best], best[has_best])
            name = f"row({self.measure},features={checked.shape[1]})"
            return Decision("features", unlisted, weights, name)
        k = min(self.k, pool.n_true.size)
        leading = leading_scores(pool.ranking, pool.n_true.size, self.unlisted, k)
        refuse_infinite_leading(np.column_stack([leading, finite_best]), 0)
        weights = least_squares("y_score", leading[has_best], best[has_best])
        name = f"row({self.measure},k={k},unlisted={unlisted_text})"
        return Decision("rows", unlisted, weights, name)


def _untuned_error(rule: str, at_k: object, measure: str | None) -> InputError:
    """Return the error about a measure, without its cutoff, to which a rule is not tuned."""
    tuned = dict.fromkeys(itertools.chain(*(kind.measures for kind in RULES.values())))
    if at_k and at_k not in tuned:
        only = f"rules can only be tuned to {', '.join(tuned)}"
        return InputError("measure", f"{shown(measure)}: {only}")
    requirement = "takes no measure"
    if RULES[rule].measures:
        requirement = f"is tuned to {', '.join(RULES[rule].measures)}"
    value = "not given" if measure is None else repr(measure)
    return InputError("measure", f"{value}: rule={shown(rule)} {requirement}")


def _used_arguments(
    rule: str, measure: str | None, with_features: bool, with_fbr: bool
) -> set[str]:
    """Return the arguments that have an effect on a rule for a measure."""
    is_used = {
        "k": rule == "top" or (rule == "row" and not with_features),
        "fbr": measure == "f1.macro" and rule == "label",
        "fallback": with_fbr,
        "features": rule == "row",
        "unlisted": rule not in ("rank", "top", "weighted"),
        **dict.fromkeys((UNJUDGED, JUDGED), rule != "top" and (rule != "row" or with_features)),
    }
    return {argument for argument, has_effect in is_used.items() if has_effect}


def _unused_error(argument: str, rule: str, measure: str | None) -> InputError:
    """Return the error about an argument without effect on a rule and its measure."""
    use = f"rule={shown(rule)}"
    if measure is not None:
        use += f" and {measure}"
    return InputError(argument, f"not for {use}")


def _read_unlisted(conventions: str | Conventions | Mapping[str, Any] | None) -> float | None:
    """Return the score of unlisted labels; refuse changes of other conventions."""
    unlisted_score = resolve_conventions(conventions).unlisted_score
    for field in changed_fields(conventions):
        if field != "unlisted":
            raise InputError(
                "conventions", f"{field} has no effect on rules, which only read unlisted"
            )
    return unlisted_score


def _check_fallback(fbr: float | None, fallback: str | None) -> tuple[float, str]:
    """Return the F1 below which labels take the fallback, and the fallback."""
    least_f1 = 0.0
    if fbr is not None:
        least_f1 = real_number("fbr", fbr)
    if not 0 <= least_f1 <= 1:
        raise InputError("fbr", f"{shown(fbr)} is not within 0..1")
    if fallback is None:
        return least_f1, FALLBACKS[0]
    if fallback not in FALLBACKS:
        raise InputError("fallback", f"{shown(fallback)} is not one of {', '.join(FALLBACKS)}")
    return least_f1, fallback


def _canonical_name(name: object) -> str:
    """Return the canonical name of a measure."""
    if not isinstance(name, str):
        raise InputError("measure", f"{shown(name)} is not a name")
    try:
        return str(parse_spec(name))
    except ValueError as error:
        raise InputError("measure", str(error)) from None


def one_threshold(pool: Pool, measure: str | None) -> float:
    """Return the best threshold for all entries."""
    scores = pool.ranking.scores
    assert scores is not None
    kept = np.flatnonzero(scores > pool.floor)
    if not kept.size:
        return math.inf
    order = kept[np.argsort(scores[kept])[::-1]]
    cut = best_cut(scores[order], order, pool, measure)
    if cut == order.size:
        return pool.exact_floor
    return float(scores[order[cut]])


def best_rank(pool: Pool, measure: str | None) -> int:
    """Return how many labels of every row to predict, at least one."""
    ptr = pool.ranking.ptr
    ranks = np.arange(ptr[-1]) - np.repeat(ptr[:-1], np.diff(ptr))
    order = np.argsort(ranks, kind="stable")
    cut = best_cut(ranks[order], order, pool, measure, nonempty=True)
    if cut == 0:
        return 1
    return int(ranks[order[cut - 1]]) + 1


def best_cut(
    keys: Scores, order: Ints, pool: Pool, measure: str | None, nonempty: bool = False
) -> int:
    """Return how many leading entries to predict, tie groups whole; the fewest if several are best.

    keys : sort key of each entry in ``order``
    nonempty : whether at least one entry must be predicted; the best F1 always has one
    """
    relevant = pool.relevant[order]
    n_true = int(pool.n_true.sum())
    if measure == "f1.micro":
        return sweep_f1(keys, np.zeros(order.size, np.int32), relevant, np.array([n_true]))
    if measure == "f1.macro":
        return sweep_f1(keys, pool.ranking.labels[order], relevant, pool.n_true)
    if measure == "f1.samples":
        return sweep_f1(keys, pool.rows[order], relevant, pool.n_relevant)
    cuts = tie_group_ends(keys)
    if not (nonempty and keys.size):
        cuts = np.concatenate(([0], cuts))
    errors = np.concatenate(([0], np.cumsum(np.where(relevant, -1, 1))))[cuts]
    return int(cuts[errors.argmin()])


def tie_group_ends(keys: Scores) -> Ints:
    """Return how many leading entries there are up to the end of every tie group."""
    last_is_end = np.full(min(keys.size, 1), True)
    is_end = np.append(keys[1:] != keys[:-1], last_is_end)
    return np.flatnonzero(is_end) + 1


def row_thresholds(pool: Pool, by_f1: bool) -> Floats:
    """Return the best threshold per row: the midpoint of the scores around the cut.

    NaN for rows without a score above the floor.
    """
    ranking = pool.ranking
    scores = ranking.scores
    assert scores is not None
    n_rows = ranking.ptr.size - 1
    cut = np.empty(n_rows, np.int64)
    thresholds = np.empty(n_rows)
    sweep_groups(
        ranking.ptr, scores, pool.relevant, pool.n_relevant, pool.floor, by_f1, cut, thresholds
    )
    lower = next_lower(ranking.ptr, scores, cut, pool.floor)
    is_cut = cut > 0
    last_predicted = (ranking.ptr[:-1] + cut - 1)[is_cut]
    lower[is_cut] = midpoints(lower[is_cut], scores[last_predicted])
    lower[np.isposinf(lower)] = np.nan
    return lower


def next_lower(ptr: Ints, scores: Scores, cut: Ints, floor: float) -> Floats:
    """Return the score after the first ``cut`` entries of every group, at least the floor.

    Infinity for groups without a score above the floor.

    ptr, scores : best first within a group; cut : int64 (g,)
    """
    thresholds = np.full(cut.size, floor)
    sizes = np.diff(ptr)
    has_lower = cut < sizes
    thresholds[has_lower] = scores[(ptr[:-1] + cut)[has_lower]]
    thresholds = np.maximum(thresholds, floor)
    has_score = sizes > 0
    has_score[has_score] = scores[ptr[:-1][has_score]] > floor
    return np.where(has_score, thresholds, math.inf)


def midpoints(lower: Floats, upper: Scores) -> Floats:
    """Return the midpoints of scores, or the lower ones where rounding gives no number between.

    Minus infinity counts as the number just below the upper score, in the type of the scores.
    """
    below = np.nextafter(upper, upper.dtype.type(-np.inf)).astype(np.float64)
    lowest = np.where(np.isneginf(lower), below, lower)
    highest = upper.astype(np.float64)
    middle = lowest / 2 + highest / 2
    is_between = (middle < highest) & (middle >= lowest)
    return np.where(is_between, middle, lowest)
