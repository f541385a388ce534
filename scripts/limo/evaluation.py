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
RULES = {BY_ROW: ("row", "hamming_loss", "f1.samples"), BY_LABEL: ("label", "hamming_loss", "f1.macro")}
RARE = 10  # labels with fewer training instances are rare
PLAIN = [name for name in MEASURES if name not in SETS]
AUCS = [name for name in PLAIN if name.startswith("auc")]


class Scores(NamedTuple):
    """Training and test scores, float64 (m, l) and (n, l), and the method's own threshold, if any."""

    train: Floats
    test: Floats
    own: float | None = None


Values = dict[tuple[str, str], float]  # by measure and reading
Sets = dict[tuple[str, str], Any]  # predicted sets, likewise


def evaluate_scores(y_train: Any, y_test: Any, scores: Scores) -> tuple[Values, Sets]:
    """Evaluate scores, and the sets that both rules predict from them.

    Parameters
    ----------
    y_train, y_test : sparse 0/1 matrix of shape (m, l), (n, l)
        Relevant labels.
    scores : Scores
        Scores of the same instances.

    Returns
    -------
    tuple of dict, dict
        Values, and sets, by measure and reading: the rule for measures of sets, otherwise a convention or "".
    """
    report = xmleval.evaluate(y_test, scores.test, metrics=PLAIN, threads=1)
    values: Values = {(name, ""): report[name] for name in PLAIN}
    full = xmleval.evaluate(y_test, scores.test, metrics=AUCS, conventions="wu2017", threads=1)
    values |= {(name, FULL_TIES): full[name] for name in AUCS}
    common = np.flatnonzero(~has_rare_label(y_train, y_test))
    if common.size:
        report = xmleval.evaluate(y_test[common], scores.test[common], metrics=["ranking_loss"], threads=1)
        values["ranking_loss", COMMON] = report["ranking_loss"]
    peak = xmleval.evaluate(y_test, scores.test, metrics=["peak_f1.macro"], threads=1)
    values["f1.macro", BEST] = peak["peak_f1.macro"]
    sets: Sets = {}
    for reading, (kind, for_errors, for_f1) in RULES.items():
        tuned = {measure: fit(y_train, scores.train, measure, rule=kind) for measure in (for_errors, for_f1)}
        for name in SETS:
            rule = tuned[for_errors if name == "hamming_loss" else for_f1]
            sets[name, reading] = rule.apply(scores.test)
            report = xmleval.evaluate(y_test, scores.test, metrics=[name], decision=rule, threads=1)
            values[name, reading] = report[name]
    if scores.own is not None:
        decision = f"threshold{scores.own:g}"
        report = xmleval.evaluate(y_test, scores.test, metrics=list(SETS), decision=decision, threads=1)
        chosen = scipy.sparse.csr_array(scores.test > scores.own)
        values |= {(name, OWN): report[name] for name in SETS}
        sets |= {(name, OWN): chosen for name in SETS}
    return values, sets


def has_rare_label(y_train: Any, y_test: Any) -> Bools:
    """Return whether each test instance has a rare label."""
    counts = np.asarray((scipy.sparse.csr_array(y_train) != 0).sum(axis=0)).ravel()
    found: Bools = scipy.sparse.csr_array(y_test) @ (counts < RARE) > 0
    return found


def evaluate_sets(y_test: Any, y_pred: Any) -> tuple[Values, Sets]:
    """Evaluate sets that do not come from a rule, under all rules alike.

    Parameters
    ----------
    y_test, y_pred : sparse 0/1 matrix of shape (n, l)
        Relevant and predicted labels.

    Returns
    -------
    tuple of dict, dict
        As for `evaluate_scores`.
    """
    report = xmleval.evaluate(y_test, y_pred=y_pred, metrics=list(SETS), threads=1)
    keys = [(name, reading) for reading in (*RULES, OWN) for name in SETS]
    return {key: report[key[0]] for key in keys}, dict.fromkeys(keys, y_pred)
