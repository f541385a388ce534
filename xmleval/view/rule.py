"""Fitted rules: applied to scores, saved, loaded and printed."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xmleval.base.arrays import MOST_LABELS, Floats
from xmleval.base.errors import MOST, InputError, Keyword, Message, positive_integer, shown
from xmleval.base.notes import Note
from xmleval.base.numerals import decimal_number
from xmleval.files.remote import as_path, is_file
from xmleval.files.saved import RULE, Saved, load_state, naming_damage, save_state
from xmleval.input.argument_types import RowsLike, SparseMatrix, ValuesLike
from xmleval.input.csr import as_array
from xmleval.input.match import as_scores, numbers_of_columns
from xmleval.input.match_values import MatchOptions, match_values
from xmleval.input.objects.entries import NamedEntries, is_dense, open_entries, read_predictions
from xmleval.input.objects.named import as_plain_rows
from xmleval.input.opened import OpenedValue
from xmleval.input.rows import pointer, rows_by_id
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.vectors import for_names, read_label_values, sort_by_names
from xmleval.view.decision import (
    Decision,
    PredictedSets,
    choose,
    cut_rows,
    label_thresholds,
    parse_decision,
    refuse_unfit,
)
from xmleval.view.linear import SparseArray, check_features, linear_values

TUNABLE = ("hamming_loss", "f1.micro", "f1.macro", "f1.samples")


class RuleKind(NamedTuple):
    """A kind of rule: measures it can be tuned to, kinds of its decisions, and its description."""

    measures: tuple[str, ...]
    decisions: tuple[str, ...]
    about: str


AT_K = ("f1.macro@k", "precision.macro@k", "recall.macro@k")
RULES = {
    "constant": RuleKind(TUNABLE, ("threshold",), "one threshold, {value:.6g}"),
    "cardinality": RuleKind((), ("threshold",), "one threshold, {value:.6g}"),
    "label": RuleKind(("f1.macro", "hamming_loss"), ("labels",), "a threshold for each label"),
    "rank": RuleKind(TUNABLE, ("listed",), "the best {value:.0f} of each row"),
    "given": RuleKind((), ("threshold", "listed", "labels"), "{decision}"),
    "row": RuleKind(
        ("f1.samples", "hamming_loss"),
        ("rows", "features"),
        "a threshold for each row, linear in {inputs}",
    ),
    "top": RuleKind((), ("listed",), "the best {value:.0f} of each row"),
    "weighted": RuleKind(
        AT_K, ("weighted",), "the best {value:.0f} of each row, by weighted scores"
    ),
}
LAST = -1e300  # offset of labels that come after all others
PER_LABEL = {"labels": 1, "weighted": 2}  # numbers of each label, by kind of decision


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule that turns scores into sets, as `fit` returns it.

    A label is predicted if its score is above the threshold (rounded to the type of the scores), or
    if it is among the best of its row. Labels without a stored score are never predicted.

    Parameters
    ----------
    rule : {"constant", "cardinality", "given", "label", "rank", "row", "top", "weighted"}
        Kind of rule, see `fit`; "given" for one that `Rule.given` made.
    measure : str or None
        Measure it was tuned to.
    n_labels : int
        Number of labels.
    decision : Decision
        ``decision.value`` is the threshold or the number of labels per row; ``decision.numbers``
        holds the thresholds of labels, their weights and then their offsets, or the weights of a
        linear model, the intercept first.
    label_names : tuple of str or int, optional
        Names of the labels, if it was fitted to labels with names; see `for_labels`.

    Examples
    --------
    >>> from xmleval.thresholds import fit
    >>> y_true = np.array([[1, 0, 1], [0, 1, 0]])
    >>> y_score = np.array([[0.6, 0.1, 0.4], [0.3, 0.8, 0.2]])
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
    label_names: tuple[str | int, ...] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """Describe the rule."""
        n = self.decision.numbers.size - 1
        inputs = f"{n} features" if self.decision.kind == "features" else f"its first {n} scores"
        decision = self.decision.name.partition("#")[0]
        if self.decision.kind == "listed":
            decision = f"top{self.decision.value:.0f}"
        if self.decision.kind == "labels":
            decision = f"thresholds of {self.n_labels} labels"
        value = self.decision.value
        about = RULES[self.rule].about.format(value=value, inputs=inputs, decision=decision)
        if self.measure:
            return f"{about} ({self.rule}, tuned to {self.measure})"
        if self.rule == "cardinality":
            return f"{about} ({self.rule}, matched to label cardinality)"
        return f"{about} ({self.rule})"

    @classmethod
    def given(
        cls,
        decision: str | ValuesLike,
        n_labels: int | None = None,
        *,
        labels: Sequence[str | int] | None = None,
    ) -> Rule:
        """Return the rule of a threshold, or of thresholds of labels, that were not fitted.

        Parameters
        ----------
        decision : str, array (n_labels,) or dict
            ``"threshold0.3"``, ``"top5&threshold0.3"``, or a threshold for each label.
        n_labels : int, optional
            Number of labels; needed for a text.
        labels : sequence, optional
            Names of labels, for a vector; those of a dict are its keys.

        Raises
        ------
        ValueError
            If the rule is unknown, or thresholds are not one number for each label.

        Examples
        --------
        >>> from xmleval.thresholds import Rule
        >>> rule = Rule.given({"cat": 0.3, "dog": 0.6})
        >>> rule.apply({"a": {"cat": 0.4, "dog": 0.5}})
        {'a': ['cat']}
        >>> print(Rule.given("top5&threshold0.3", 10))
        top5&threshold0.3 (given)
        """
        if isinstance(decision, str):
            parsed = parse_decision(decision)
            names = None if labels is None else tuple(labels)
            if n_labels is None and names is None:
                raise InputError("n_labels", f"missing; {shown(decision)} has no number of labels")
            size = positive_integer("n_labels", len(names or ()) if n_labels is None else n_labels)
            if names is not None and len(names) != size:
                raise InputError("labels", f"{len(names)} names; expected {size}")
            if parsed.kind == "top":  # unlisted labels do not compete
                parsed = Decision("listed", parsed.value)
            return cls("given", None, size, parsed, names)
        if is_file(decision):
            reason = "is a file; give its thresholds as an array or a dict"
            raise InputError("decision", f"{shown(str(decision))} {reason}")
        label_names = None if labels is None else [*labels]
        if isinstance(decision, Mapping) and label_names is None:
            label_names = [*decision]
        values, _ = read_label_values("decision", decision, label_names)
        vector: Any = sort_by_names("decision", values, label_names)
        size = positive_integer("n_labels", len(vector) if n_labels is None else n_labels)
        thresholds = label_thresholds(vector, size)
        return cls(
            "given", None, size, thresholds, None if label_names is None else tuple(label_names)
        )

    @property
    def by_name(self) -> bool:
        """Whether the rule has numbers for every label, and names that are not column numbers.

        Examples
        --------
        >>> from xmleval.thresholds import fit
        >>> rule = fit(np.eye(2), np.array([[0.6, 0.1], [0.3, 0.8]]), "f1.micro")
        >>> rule.by_name
        False
        """
        if self.label_names is None or self.label_names == (*range(self.n_labels),):
            return False
        return self.decision.kind in PER_LABEL

    @property
    def unlisted(self) -> float | None:
        """Score of unlisted labels that a linear model was fitted with; None: below all.

        Examples
        --------
        >>> from xmleval.thresholds import fit
        >>> rule = fit(np.eye(2), np.array([[0.6, 0.1], [0.3, 0.8]]), "f1.micro")
        >>> rule.unlisted is None
        True
        """
        value = self.decision.value
        if self.decision.kind not in ("rows", "features") or math.isnan(value):
            return None
        return value

    def for_labels(self, names: Sequence[str | int]) -> Rule:
        """Return the rule for labels of other ``names``, or in another order.

        Labels that the rule was not fitted to are never predicted, or last where labels have
        weights. ValueError is raised where labels have their own thresholds or weights and the rule
        does not know their names, or any of these.

        Examples
        --------
        >>> from xmleval.thresholds import fit
        >>> rule = fit(np.eye(2), np.array([[0.6, 0.1], [0.3, 0.8]]), "f1.micro")
        >>> rule.for_labels(["cat", "dog"]).n_labels
        2
        """
        decision = self.decision
        if decision.kind in PER_LABEL:
            if self.label_names is None:
                problem = "was fitted without label names, so it cannot match names"
                raise ValueError(f"rule {decision} {problem}; expected inputs without names")
            if {*self.label_names}.isdisjoint(names):
                fitted_name = shown(self.label_names[0])
                input_name = shown(next(iter(names), None))
                raise ValueError(
                    f"rule {decision} has none of these labels: it has {fitted_name}, "
                    f"the input {input_name}"
                )
            by_label = decision.numbers.reshape(PER_LABEL[decision.kind], -1).T
            missing = [0.0, LAST]
            if decision.kind == "labels":
                missing = [math.inf]
            numbers = for_names(by_label, self.label_names, names, missing).T.reshape(-1)
            decision = replace(decision, numbers=numbers)
        return replace(self, n_labels=len(names), decision=decision, label_names=tuple(names))

    def apply(
        self, y_score: RowsLike | None, *, features: ArrayLike | SparseMatrix | None = None
    ) -> Any:
        """Predict sets from scores.

        Parameters
        ----------
        y_score : sparse or dense scores (m, n_labels), (labels, scores) (m, k), lists, dicts, frame
            Scores, or the path of a file of them, as `fit` takes them. Labels with names are
            matched by name. If the rule knows labels by name and these have none, columns are taken
            in the order of ``label_names``, with a warning.
        features : array or sparse matrix of shape (m, n_features), optional
            Features, if the rule was fitted to features. The threshold of a row does not depend on
            other rows.

        Returns
        -------
        scipy.sparse.csr_array of bool, shape (m, n_labels), lists, dict or frame
            True for predicted labels. Of scores with names, the same form with the predicted labels
            alone: lists of names, by key if rows have keys; a wide frame of bool.

        Raises
        ------
        ValueError
            If scores are invalid, have another number of labels, are infinite where a linear model
            reads them, or are no probabilities where labels have weights; if features are missing
            or unexpected.

        Examples
        --------
        >>> from xmleval.thresholds import fit
        >>> rule = fit(np.eye(2), np.array([[0.6, 0.1], [0.3, 0.8]]), "f1.micro")
        >>> rule.apply(np.array([[0.7, 0.2]])).toarray().astype(int).tolist()
        [[1, 0]]
        """
        if y_score is None:
            raise InputError("y_score", "missing; a rule is applied to scores")
        scores: object
        if is_file(y_score):
            scores = read_predictions(y_score)
        else:
            scores = as_plain_rows("y_score", y_score)
        entries = open_entries("y_score", scores)
        if entries is not None and entries.rows.origin is not None:
            for note in entries.rows.origin.noted("y_score"):
                warnings.warn(note, stacklevel=2)
        if entries is not None and not (entries.rows.keys is None and entries.rows.names is None):
            return self._apply_by_name(entries, features)
        if self.by_name:
            warning = (
                "y_score has no names: its columns are taken in the order of the rule's label_names"
            )
            warnings.warn(warning, stacklevel=2)
        if is_dense(scores):
            scores = as_array("y_score", scores)
        names = None if self.label_names is None else [*self.label_names]
        opened = {"y_score": OpenedValue("y_score", "scores", "y_score", value=scores)}
        matched = match_values(opened, MatchOptions(self.n_labels, names, fits=True))
        return self._predict_sets(matched.values["y_score"], features)

    def _apply_by_name(self, entries: NamedEntries, features: object) -> Any:
        """Return entries in their form, only with the predicted labels."""
        rows = entries.rows
        row_of = entries.row_of
        rule = replace(self, label_names=None)
        names = rows.names
        labels = np.asarray(rows.labels, np.int64)
        # columns called by numbers
        if names is not None and self.label_names is None and not rows.named:
            numbers = numbers_of_columns(names)
            if numbers is not None:
                labels = numbers[labels]
        elif names is not None:
            rule = replace(self.for_labels(names), label_names=None)
            n_unknown = len({*names}.difference(self.label_names or names))
            if n_unknown and self.decision.kind in PER_LABEL:
                warnings.warn(Note("y_score", "labels unknown in fitting", n_unknown), stacklevel=3)
        order = np.argsort(row_of, kind="stable")
        ptr = pointer(np.bincount(row_of, minlength=entries.n_rows))
        values = rows.values
        if values is not None:
            values = np.asarray(values)[order]
        rows_by_number = rows_by_id(ptr, labels[order], values, rows.best_first)
        scores = as_scores(rows_by_number, names if rows.named else None)
        sets = rule._predict_sets(scores, features)
        set_rows = np.repeat(np.arange(entries.n_rows), np.diff(sets.indptr))
        predicted_cells = set_rows * rule.n_labels + sets.indices
        return entries.as_sets(np.isin(row_of * rule.n_labels + labels, predicted_cells))

    def _predict_sets(self, y_score: object, features: object) -> SparseArray:
        """Return sets by number, as a sparse array."""
        unlisted = self.unlisted
        kind = self.decision.kind
        limit = None
        if kind == "listed":
            limit = int(min(self.decision.value, self.n_labels))
        n_labels = self.n_labels
        ordered = kind != "labels"
        rows = ranking_rows(y_score, Reading("y_score", n_labels, unlisted, limit, ordered))
        thresholds = self._row_thresholds(features, rows.n_rows)
        ptr = [np.zeros(1, np.int64)]
        labels = [np.empty(0, np.int32)]
        start = 0
        for ranking in rows.blocks():
            stop = start + ranking.ptr.size - 1
            if kind == "features":
                if ranking.scores is None:
                    raise InputError("y_score", "thresholds need scores; this list has none")
                cut = cut_rows(ranking, thresholds[start:stop], unlisted)
                chosen = PredictedSets(cut, ranking.ptr, ranking.labels)
            else:
                refuse_unfit(self.decision, ranking, self.n_labels, unlisted, start)
                chosen = choose(self.decision, ranking, self.n_labels, unlisted)
            sets = chosen.as_sets()
            ptr.append(ptr[-1][-1] + sets.ptr[1:])
            labels.append(sets.labels)
            start = stop
        from scipy.sparse import csr_array  # imported here to keep start-up fast

        all_labels = np.concatenate(labels)
        entries = np.ones(all_labels.size, np.bool_), all_labels, np.concatenate(ptr)
        array: SparseArray = csr_array(entries, shape=(rows.n_rows, self.n_labels))
        array.sort_indices()
        return array

    def _row_thresholds(self, features: object, n_rows: int) -> Floats:
        """Return the thresholds of rows from features; empty if the rule does not use features."""
        if self.decision.kind != "features":
            if features is not None:
                raise InputError("features", f"the rule does not use features: {self}")
            return np.empty(0)
        if features is None:
            raise InputError("features", f"required by the rule: {self}")
        matrix = check_features(features, n_rows)
        weights = self.decision.numbers
        if matrix.shape[1] != weights.size - 1:
            raise InputError(
                "features", f"{matrix.shape[1]} columns; the rule has {weights.size - 1}"
            )
        return linear_values(weights, matrix)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the rule to an .npz archive (no pickle), which replaces the file once complete.

        Examples
        --------
        >>> from xmleval.thresholds import Rule, fit
        >>> rule = fit(np.eye(2), np.array([[0.6, 0.1], [0.3, 0.8]]), "f1.micro")
        >>> rule.save("rule.npz")
        >>> Rule.load("rule.npz").measure
        'f1.micro'
        """
        parts, numbers = as_parts(self.decision)
        meta = {
            "rule": self.rule,
            "measure": self.measure,
            "n_labels": self.n_labels,
            "decision": parts,
            "label_names": self.label_names,
        }
        save_state(Path(path), Saved(meta, {"numbers": numbers}), RULE)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rule:
        """Load a saved rule.

        ValueError is raised where the file is not a rule, is damaged, or of another version.

        Examples
        --------
        >>> from xmleval.thresholds import Rule, fit
        >>> rule = fit(np.eye(2), np.array([[0.6, 0.1], [0.3, 0.8]]), "f1.micro")
        >>> rule.save("rule.npz")
        >>> Rule.load("rule.npz").measure
        'f1.micro'
        """
        path = as_path(path)
        meta, arrays = load_state(path, RULE)
        with naming_damage(path, RULE):
            if [*arrays] != ["numbers"]:
                raise ValueError(f"arrays {[*arrays]}")
            names = meta["label_names"]
            decision = from_parts(meta["decision"], arrays["numbers"])
            names = names and tuple(names)
            rule = cls(meta["rule"], meta["measure"], meta["n_labels"], decision, names)
            if not rule._is_whole():
                raise ValueError("its parts do not match one another")
            return rule

    def _is_whole(self) -> bool:
        """Return whether the fields form a rule."""
        n_labels = self.n_labels
        kind = self.decision.kind
        names = self.label_names
        if type(n_labels) is not int or not 1 <= n_labels <= MOST_LABELS:
            return False
        size = self.decision.numbers.size - (kind not in PER_LABEL)  # less the intercept
        fits = kind != "rows" or size <= n_labels
        if kind in PER_LABEL:
            fits = size == PER_LABEL[kind] * n_labels
        are_names = names is None or all(type(name) in (str, int) for name in names)
        distinct = names is None or len({*names}) == len(names) == n_labels
        tuned = kind in RULES[self.rule].decisions and is_tuned_to(self.rule, self.measure)
        return fits and are_names and distinct and tuned


def is_tuned_to(rule: str, measure: object) -> bool:
    """Whether a rule can be tuned to a measure, by canonical name; None if it is not tuned."""
    return without_cutoff(measure) in (RULES[rule].measures or (None,))


def without_cutoff(measure: object) -> object:
    """Return the name of a measure with ``@k`` for any cutoff."""
    if isinstance(measure, str):
        return re.sub(r"@[1-9][0-9]*$", "@k", measure)
    return measure


def rule_for(decision: object, names: list[Any] | None, in_order: bool) -> Any:
    """Return a rule for labels by number if it knows names or needs them; or the decision."""
    if not isinstance(decision, Rule):
        return decision
    if names is None:
        if decision.by_name:
            problem = "has names of labels, but y_true has none; give ", Keyword("labels")
            raise InputError("decision", Message(*problem))
        return decision
    if decision.label_names is None and in_order:
        return decision
    try:
        return replace(decision.for_labels(names), label_names=None)
    except ValueError as error:
        raise InputError("decision", str(error)) from None


def as_parts(decision: Decision) -> tuple[list[Any], Floats]:
    """Return a decision as JSON values and an array, to be saved."""
    value = None
    if not math.isnan(decision.value):
        value = str(decision.value)
    parts = [decision.kind, value, decision.text, decision.limit, decision.inclusive]
    return parts, decision.numbers


def from_parts(parts: list[Any], numbers: NDArray[Any]) -> Decision:
    """Return a decision from saved values; refuse invalid ones."""
    kind, value, text, limit, inclusive = parts
    number = math.nan if value is None else decimal_number(value)
    if number is None:
        raise ValueError("invalid decision")
    is_vector = numbers.dtype == np.float64 and numbers.ndim == 1 and not np.isnan(numbers).any()
    if kind in ("listed", "threshold"):
        fits = not numbers.size and text == "" and _is_simple(kind, number)
    else:
        fits = _is_fitted(kind, number, numbers, text)
    is_plain = limit == 0 and inclusive is False
    is_limit = type(limit) is int and 0 <= limit <= MOST and type(inclusive) is bool
    if not (is_vector and fits and is_limit and (is_plain or kind == "threshold")):
        raise ValueError("invalid decision")
    return Decision(kind, number, numbers, text, limit, inclusive)


def _is_simple(kind: str, number: float) -> bool:
    """Whether a number is a valid k, or a valid threshold."""
    if kind == "listed":
        return number >= 1 and number.is_integer()
    return not math.isnan(number)


def _is_fitted(kind: str, number: float, numbers: NDArray[Any], text: object) -> bool:
    """Whether the parts of a decision with numbers are valid."""
    is_kind = kind in ("rows", "features", *PER_LABEL)
    is_name = isinstance(text, str) and text.isprintable() and text != ""
    n_least = 1 if kind in PER_LABEL else 2
    is_finite = kind == "labels" or bool(np.isfinite(numbers).all())
    is_count = kind != "weighted" or (number >= 1 and number.is_integer())
    return is_kind and is_name and numbers.size >= n_least and is_finite and is_count
