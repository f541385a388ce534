"""Fitting of maps from scores to probabilities, by exact sums of weights by score."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from functools import partial

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.budget import MEMORY, Resources
from xmleval.base.conventions import Conventions
from xmleval.base.errors import InputError, did_you_mean, naming_files, positive_integer, shown
from xmleval.base.keywords import refusing_unknown
from xmleval.calibrate.calibrator import METHODS, Calibrator
from xmleval.evaluation.files import collect
from xmleval.evaluation.request import Data, Progress, Question, Request, given_cells
from xmleval.evaluation.scored_rows import ScoredRows
from xmleval.files.remote import is_file
from xmleval.input.argument_types import FilePath, RowsLike, ValuesLike
from xmleval.input.vectors import HEAVIEST
from xmleval.kernels.recalibrating import (
    BOTH,
    HIGHEST,
    HITS,
    INTERCEPT,
    INTERCEPTS,
    LOSS,
    LOWEST,
    SLOPE,
    SLOPES,
    N,
    add_platt,
    log_ratio,
    pool_violators,
)
from xmleval.metrics.spec import MOST_K, parse_spec
from xmleval.states.pair_scores import PairScores
from xmleval.states.plan import Settings, make_plan

STATE = "pair_scores"
MOST_STEPS = 100
LEAST_SIZE = 2.0**-30  # smallest fraction of a Newton step that is tried
LEAST_GAIN = 1e-4  # fraction of its predicted gain that a step must reach
SETTLED_GAIN = 1e-12  # predicted gain, as a fraction of the loss, of the last step
RIDGE = 1e-12  # added to the second derivatives, as a fraction, as they may be singular


@refusing_unknown
def fit(  # noqa: PLR0913 - each is a keyword of its own in the documentation
    y_true: RowsLike,
    y_score: RowsLike,
    method: str = "isotonic",
    *,
    k: int | None = None,
    n_labels: int | None = None,
    labels: Iterable[str | int] | FilePath | None = None,
    sample_weight: ValuesLike | None = None,
    unjudged: RowsLike | float | None = None,
    judged: RowsLike | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    progress: Progress = False,
) -> Calibrator:
    """Fit a map from scores to probabilities, to pairs of a score and a hit of validation data.

    Parameters
    ----------
    y_true : sparse matrix or array, dense 0/1 array, lists of labels, dict or frame; shape (m, l)
        Relevant labels, as `xmleval.evaluate` takes them.
    y_score : as y_true with scores, or (labels, scores) arrays of shape (m, k)
        Scores of any range, such as logits; higher ones are better. Labels without one are no
        pairs.
    method : {"isotonic", "platt"}
        The best rising step curve (pool adjacent violators), or the sigmoid of slope * score +
        intercept.
    k : int, optional
        Fit to the first k labels of each row, for `ece@k` and its kind; default all listed labels.
    n_labels, labels, sample_weight, memory, threads
        As of `xmleval.evaluate`. The map does not depend on the last two.
    unjudged, judged
        As of `xmleval.evaluate`: labels of rows that nobody judged, or those that alone are judged.
        Pairs of other labels are left out, before the first ``k`` labels are taken.
    progress : bool or callable, default False
        As of `xmleval.evaluate`. ``y_true``, ``y_score`` and ``labels`` may be files.

    Returns
    -------
    Calibrator

    Raises
    ------
    ValueError
        If input is invalid, or no label has a score.

    Notes
    -----
    Pairs of one score are one point with their share of hits, so that no order of rows changes the
    map. The isotonic map is that of scikit-learn's `IsotonicRegression(out_of_bounds="clip")` on
    the pairs, in float64. Platt's minimises the log loss with targets (n + 1) / (n + 2) of n hits
    and 1 / (m + 2) of m others, as `CalibratedClassifierCV(method="sigmoid")` does, by Newton's
    method.

    References
    ----------
    Zadrozny & Elkan 2002 (KDD); Platt 1999; Lin, Lin & Weng 2007 (Machine Learning 68).

    Examples
    --------
    >>> from xmleval.calibrate import fit
    >>> y_valid = np.array([[1, 0], [0, 1], [0, 0]])
    >>> valid_scores = np.array([[2.0, -1.0], [0.5, 1.0], [-0.5, -1.0]])
    >>> calibrator = fit(y_valid, valid_scores, "platt")
    >>> evaluate(y_valid, calibrator.apply(valid_scores), metrics=["brier"])["brier"] < 0.25
    True
    """
    if not isinstance(method, str) or method not in METHODS:
        near = did_you_mean(str(method), METHODS)
        reason = f"{shown(method)} is not one of {', '.join(METHODS)}; {near}"
        raise InputError("method", reason.rstrip("; "))
    if k is not None:
        k = positive_integer("k", k, at_most=MOST_K)
    data = Data(
        y_true=y_true,
        y_score=y_score,
        sample_weight=sample_weight,
        unjudged=unjudged,
        judged=judged,
    )
    request = Request(
        data=data,
        question=Question(n_labels=n_labels, labels=labels),
        memory=memory,
        threads=threads,
        progress=progress,
    )
    inputs = given_cells(data)
    if sample_weight is not None:
        inputs |= {"sample_weight"}
    make_pairs = partial(ScoredPairs, k, inputs)
    pairs, run = collect(request, make_pairs)
    for note in run.rows.notes[0]:
        warnings.warn(note, stacklevel=3)
    paths = {"y_score": y_score} if is_file(y_score) else {}
    with naming_files(paths):
        return make_calibrator(method, k, pairs)


class ScoredPairs(ScoredRows):
    """Pairs collected so far, within memory; more of them are in temporary files."""

    state = "pair_scores"
    missing = "missing; probabilities are fitted to scores"
    bare = "this list has no scores to make probabilities of"

    def __init__(
        self, k: int | None, inputs: frozenset[str], n_labels: int, resources: Resources
    ) -> None:
        settings = Settings(n_labels=n_labels, conventions=Conventions())
        plan = make_plan(settings, (parse_spec(f"ace@{k}" if k else "ace"),), inputs)
        super().__init__(plan, resources)
        self.weighted = plan.weighted
        self.unit = HEAVIEST if plan.weighted else 1.0


def make_calibrator(method: str, k: int | None, pairs: ScoredPairs) -> Calibrator:
    """Return the best map on the data."""
    state = pairs.counted
    unit = pairs.unit
    n_pairs = float(unit * state.totals(k)[:, 0].sum())
    if not n_pairs:
        where = " in a row of weight above 0" if pairs.weighted else ""
        raise InputError("y_score", f"no label has a score{where}; there is nothing to fit to")
    blocks = pool_blocks(state, k)
    if not np.isfinite([blocks[0, LOWEST], blocks[-1, HIGHEST]]).all():
        raise InputError("y_score", "some scores are infinite; give finite scores")
    if method == "platt":
        slope, intercept = fit_sigmoid(state, k, unit)
        return Calibrator(method, k, n_pairs, slope=slope, intercept=intercept)
    shares = np.repeat(blocks[:, HITS] / blocks[:, N], 2)
    scores = blocks[:, [LOWEST, HIGHEST]].reshape(-1)
    is_point = np.append(True, scores[1:] > scores[:-1])  # blocks of one score have one point
    return Calibrator(method, k, n_pairs, scores[is_point], shares[is_point])


def pool_blocks(state: PairScores, k: int | None) -> Floats:
    """Return the blocks of the isotonic map; see `kernels.recalibrating.pool_violators`."""
    blocks = np.empty((0, 4))
    for hits, misses in state.tables(k):
        n_blocks = len(blocks)
        blocks = np.concatenate([blocks, np.empty((len(hits) + len(misses), 4))])
        n_blocks = pool_violators(hits, misses, blocks, n_blocks)
        blocks = blocks[:n_blocks].copy()
    return blocks


def fit_sigmoid(state: PairScores, k: int | None, unit: float) -> tuple[float, float]:
    """Return slope and intercept of the sigmoid with the least loss.

    Newton's method, with steps halved until they gain enough.
    """
    n_hits, n_misses = (unit * state.totals(k)[:, 0]).tolist()
    targets = (n_hits + 1) / (n_hits + 2), 1 / (n_misses + 2)

    def compute_sums(slope: float, intercept: float) -> list[float]:
        # hits and misses apart, so that ranges of scores add up in one order
        sums = np.zeros((2, 6))
        for tables in state.tables(k):
            for table, target, class_sums in zip(tables, targets, sums, strict=True):
                add_platt(table, slope, intercept, target, class_sums)
        return [float(total) for total in sums.sum(axis=0)]

    slope = 0.0
    intercept = float(log_ratio(n_hits + 1, n_misses + 1))
    sums = compute_sums(slope, intercept)
    for _ in range(MOST_STEPS):
        slope_step, intercept_step = _newton_step(sums)
        # twice the gain that the quadratic model predicts
        gain = -(sums[SLOPE] * slope_step + sums[INTERCEPT] * intercept_step)
        if not gain > SETTLED_GAIN * sums[LOSS]:  # from here on, steps square their error
            return slope + slope_step, intercept + intercept_step
        size = 1.0
        new_sums = compute_sums(slope + slope_step, intercept + intercept_step)
        while new_sums[LOSS] > sums[LOSS] - LEAST_GAIN * size * gain and size > LEAST_SIZE:
            size /= 2
            new_sums = compute_sums(slope + size * slope_step, intercept + size * intercept_step)
        if not new_sums[LOSS] < sums[LOSS]:
            break
        slope += size * slope_step
        intercept += size * intercept_step
        sums = new_sums
    return slope, intercept


def _newton_step(sums: list[float]) -> tuple[float, float]:
    """Return the step of slope and intercept; if all scores are equal, that of the least slope."""
    mixed = sums[BOTH]
    slopes = sums[SLOPES] * (1 + RIDGE)
    intercepts = sums[INTERCEPTS] * (1 + RIDGE)
    determinant = slopes * intercepts - mixed * mixed
    if not determinant > 0 or not math.isfinite(determinant):
        if not intercepts:
            return 0.0, 0.0
        return 0.0, -sums[INTERCEPT] / intercepts
    slope_step = (mixed * sums[INTERCEPT] - intercepts * sums[SLOPE]) / determinant
    intercept_step = (mixed * sums[SLOPE] - slopes * sums[INTERCEPT]) / determinant
    return slope_step, intercept_step
