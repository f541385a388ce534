"""The eleven measures, by `xmleval`, with decision rules fitted to training data only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import xmleval
from scripts.limo.records import BEST, BY_LABEL, BY_ROW, COMMON, FULL_TIES, MEASURES, OWN, SETS
from xmleval.base.arrays import Bools, Floats
from xmleval.thresholds import fit

# rule, and the measure it is tuned to for Hamming loss and for the F1 measures
RULES = {
    BY_ROW: ("row", "hamming_loss", "f1.samples"),
    BY_LABEL: ("label", "hamming_loss", "f1.macro"),
}
RARE = 10  # labels with fewer training instances are rare
PLAIN = [name for name in MEASURES if name not in SETS]
AUCS = [name for name in PLAIN if name.startswith("auc")]


class Scores(NamedTuple):
    """Training and test scores of a method, and its own threshold, if any."""

    train: Floats  # float64 (m, l)
    test: Floats  # float64 (n, l)
    threshold: float | None = None


# by measure and reading: the rule for measures of sets, otherwise a convention or ""
Values = dict[tuple[str, str], float]


def evaluate_scores(y_train: Any, y_test: Any, scores: Scores) -> Values:
    """Evaluate scores, and the sets that both rules predict from them.

    The truths are sparse, (m, l) and (n, l).
    """
    report = xmleval.evaluate(y_test, scores.test, metrics=PLAIN, threads=1)
    values: Values = {(name, ""): report[name] for name in PLAIN}
    full = xmleval.evaluate(y_test, scores.test, metrics=AUCS, conventions="wu2017", threads=1)
    values |= {(name, FULL_TIES): full[name] for name in AUCS}
    common = np.flatnonzero(~has_rare_label(y_train, y_test))
    if common.size:
        report = xmleval.evaluate(
            y_test[common], scores.test[common], metrics=["ranking_loss"], threads=1
        )
        values["ranking_loss", COMMON] = report["ranking_loss"]
    peak = xmleval.evaluate(y_test, scores.test, metrics=["peak_f1.macro"], threads=1)
    values["f1.macro", BEST] = peak["peak_f1.macro"]
    for reading, (kind, for_errors, for_f1) in RULES.items():
        tuned = {
            measure: fit(y_train, scores.train, measure, rule=kind)
            for measure in (for_errors, for_f1)
        }
        for name in SETS:
            rule = tuned[for_f1]
            if name == "hamming_loss":
                rule = tuned[for_errors]
            report = xmleval.evaluate(y_test, scores.test, metrics=[name], decision=rule, threads=1)
            values[name, reading] = report[name]
    if scores.threshold is not None:
        decision = f"threshold{scores.threshold:g}"
        report = xmleval.evaluate(
            y_test, scores.test, metrics=list(SETS), decision=decision, threads=1
        )
        values |= {(name, OWN): report[name] for name in SETS}
    return values


def has_rare_label(y_train: Any, y_test: Any) -> Bools:
    """Return whether each test instance has a rare label."""
    counts = np.asarray((scipy.sparse.csr_array(y_train) != 0).sum(axis=0)).ravel()
    rare: Bools = scipy.sparse.csr_array(y_test) @ (counts < RARE) > 0
    return rare


def evaluate_sets(y_test: Any, y_pred: Any) -> Values:
    """Evaluate sparse sets (n, l) that do not come from a rule, under all rules alike."""
    report = xmleval.evaluate(y_test, y_pred=y_pred, metrics=list(SETS), threads=1)
    return {(name, reading): report[name] for reading in (*RULES, OWN) for name in SETS}
