"""Fitted rules: applied to scores, saved, loaded and printed."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from xmleval.arrays import Floats
from xmleval.coerce import InputError, ranking_rows
from xmleval.kernels.ranking import copy_heads
from xmleval.states import Decision, choose, cut_rows
from xmleval.states.decisions import Chosen
from xmleval.store import RULE, Saved, load_state, naming_damage, save_state

ABOUT = {
    "constant": "one threshold, {value:.6g}",
    "cardinality": "one threshold, {value:.6g}",
    "label": "a threshold for each label",
    "rank": "the best {value:.0f} of each row",
    "top": "the best {value:.0f} of each row",
    "row": "a threshold for each row, linear in {inputs}",
}


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule that turns scores into sets, as `fit` gives it.

    A label is predicted if its score is strictly above the threshold (rounded to the type of the scores), or
    if it is among the best of its row; labels without a stored score never are.

    Parameters
    ----------
    rule : {"constant", "cardinality", "label", "rank", "row", "top"}
        What kind of rule it is.
    measure : str or None
        The measure it was tuned to.
    n_labels : int
        Number of labels.
    decision : Decision
        What it does: ``decision.value`` is the threshold or how many are the best, ``decision.numbers`` the
        thresholds of labels, or the weights of a linear model, the constant first.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval.thresholds import fit
    >>> y_true, y_score = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.6, 0.1, 0.4], [0.3, 0.8, 0.2]])
    >>> rule = fit(y_true, y_score, "f1.micro")
    >>> print(rule)
    one threshold, 0.3 (constant, tuned to f1.micro)
    >>> rule.apply(y_score).toarray().astype(int)
    array([[1, 0, 1],
           [0, 1, 0]])
    """

    rule: str
    measure: str | None
    n_labels: int
    decision: Decision

    def __str__(self) -> str:
        """Say what the rule does and where it comes from."""
        n = self.decision.numbers.size - 1
        inputs = f"{n} features" if self.decision.kind == "features" else f"its first {n} scores"
        about = ABOUT[self.rule].format(value=self.decision.value, inputs=inputs)
        matched = "matched to label cardinality" if self.rule == "cardinality" else ""
        origin = f"tuned to {self.measure}" if self.measure else matched
        return f"{about} ({', '.join(filter(None, [self.rule, origin]))})"

    @property
    def unlisted(self) -> float | None:
        """Score of unlisted labels that a linear model of scores was fitted with; None below all."""
        value = self.decision.value
        return None if self.decision.kind != "rows" or math.isnan(value) else value

    def apply(self, y_score: Any, *, features: Any = None) -> Any:
        """Return the sets that the rule makes of scores.

        Parameters
        ----------
        y_score : sparse or dense scores (m, n_labels), (labels, scores) arrays (m, k), or lists
            Scores as `xmleval.evaluate` takes them.
        features : array or sparse matrix of shape (m, n_features), optional
            Features of the rows, where the rule was fitted to features.

        Returns
        -------
        scipy.sparse.csr_array of bool, shape (m, n_labels)
            True for predicted labels.

        Raises
        ------
        ValueError
            If scores are not valid, of another number of labels, or features are missing or not wanted.
        """
        unlisted, kind = self.unlisted, self.decision.kind
        most = int(min(self.decision.value, self.n_labels)) if kind == "top" else None
        n_labels, ordered = self.n_labels, kind != "labels"
        rows = ranking_rows("y_score", y_score, n_labels, n_labels, unlisted, most, ordered)
        own = self._of_features(features, rows.n_rows)
        ptr, labels = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        start = 0
        for ranking in rows.blocks():
            stop = start + ranking.ptr.size - 1
            if kind == "features":
                if ranking.scores is None:
                    raise InputError("y_score", "thresholds need scores; this list has none")
                cut = cut_rows(ranking, own[start:stop], None)
                chosen = Chosen(cut, ranking.ptr, ranking.labels, True)
            else:
                chosen = choose(self.decision, ranking, self.n_labels, unlisted)
            ends = np.cumsum(chosen.cut)
            heads = np.empty(int(ends[-1]), chosen.labels.dtype)
            copy_heads(chosen.ptr, chosen.labels, np.concatenate(([0], ends)), heads)
            ptr.append(ptr[-1][-1] + ends)
            labels.append(heads)
            start = stop
        joined = np.concatenate(labels)
        entries = np.ones(joined.size, np.bool_), joined, np.concatenate(ptr)
        found = scipy.sparse.csr_array(entries, shape=(rows.n_rows, self.n_labels))
        found.sort_indices()
        return found

    def _of_features(self, features: Any, n_rows: int) -> Floats:
        """Return the thresholds of rows from features; none where the rule does not ask for any."""
        if self.decision.kind != "features":
            if features is not None:
                raise InputError("features", f"the rule does not depend on features: {self}")
            return np.empty(0)
        if features is None:
            raise InputError("features", f"the rule depends on features: {self}")
        given = check_features(features, n_rows)
        weights = self.decision.numbers
        if given.shape[1] != weights.size - 1:
            raise InputError("features", f"{given.shape[1]} columns; the rule has {weights.size - 1}")
        thresholds: Floats = weights[0] + given @ weights[1:]
        return thresholds

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the rule: to a temporary name first, then renamed; no pickle.

        Parameters
        ----------
        path : path
            File to write or replace, an .npz archive.

        Raises
        ------
        OSError
            If it cannot be written; an old file is then untouched.
        """
        meta = {"rule": self.rule, "measure": self.measure, "n_labels": self.n_labels}
        parts, numbers = as_parts(self.decision)
        save_state(Path(path), Saved({**meta, "decision": parts}, {"numbers": numbers}), RULE)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rule:
        """Load a saved rule.

        Parameters
        ----------
        path : path
            File written by `save`.

        Returns
        -------
        Rule

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it is not such a file, is damaged, or is of another version.
        """
        meta, arrays = load_state(Path(path), RULE)
        with naming_damage(Path(path), RULE):
            decision = from_parts(meta["decision"], arrays["numbers"])
            n_labels, measure = int(meta["n_labels"]), meta["measure"]
            if meta["rule"] not in ABOUT or not (measure is None or isinstance(measure, str)):
                raise ValueError("no rule")
            if decision.kind == "labels" and decision.numbers.size != n_labels:
                raise ValueError("labels")
            return cls(meta["rule"], measure, n_labels, decision)


def check_features(features: Any, n_rows: int) -> Any:
    """Return features as a float64 array or CSR array, or refuse them."""
    if scipy.sparse.issparse(features):
        given: Any = scipy.sparse.csr_array(features).astype(np.float64)
        numbers = given.data
    else:
        given = numbers = np.asarray(features, np.float64)
    if given.ndim != 2 or given.shape[0] != n_rows:
        raise InputError("features", f"shape {given.shape} does not match {n_rows} rows")
    if not np.isfinite(numbers).all():
        raise InputError("features", "not all are finite numbers")
    return given


def as_parts(decision: Decision) -> tuple[list[Any], Floats]:
    """Return what a file holds of a decision: plain JSON values and an array."""
    value = None if math.isnan(decision.value) else str(decision.value)
    return [decision.kind, value, decision.text], decision.numbers


def from_parts(parts: list[Any], numbers: Any) -> Decision:
    """Return a decision from what a file holds of it, or refuse what cannot be one."""
    kind, value, text = parts
    number = math.nan if value is None else float(value)
    fits = numbers.dtype == np.float64 and numbers.ndim == 1 and not np.isnan(numbers).any()
    simple = kind in ("top", "threshold") and not numbers.size and not text
    fitted = kind in ("labels", "rows", "features") and numbers.size and isinstance(text, str) and text
    in_range = {"top": 1 <= number < math.inf, "threshold": not math.isnan(number)}.get(kind, True)
    if not fits or not (simple or fitted) or not in_range:
        raise ValueError("no decision")
    return Decision(kind, number, numbers.astype(np.float64), text)


def as_decision(given: Any) -> Any:
    """Return the decision of a fitted rule, or what else was given, to be parsed."""
    return given.decision if isinstance(given, Rule) else given
