"""Scorers for scikit-learn: `cross_validate`, `GridSearchCV` and others with ``scoring=``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar, Unpack

from numpy.typing import ArrayLike

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import TIES, InputError, shown
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.evaluation.request import SHARED_ARGUMENTS, Options
from xmleval.input.argument_types import RowsLike, SparseMatrix, ValuesLike
from xmleval.input.objects.named import class_one_scores
from xmleval.metrics.spec import DEFAULT_K, expand_metrics

T = TypeVar("T")
METHODS = ("decision_function", "predict_proba")  # scikit-learn's own order


def make_scorer(
    metrics: str | Iterable[str], *, response_method: str | None = None, **options: Unpack[Options]
) -> Scorer:
    """Return a scorer of multi-label classifiers.

    Measures of sets use ``predict``; others use scores, and so do measures of sets with
    ``decision``. Losses are negated, as scikit-learn does, so that greater is better.

    Parameters
    ----------
    metrics : str or iterable of str
        Names of measures, see `xmleval.evaluate`. One name gives a number; several, or a group,
        give a dict, which `cross_validate` takes, and `GridSearchCV` with ``refit=NAME``.
    response_method : str, optional
        Method of the estimator that gives scores, by default ``decision_function`` or else
        ``predict_proba``; needed with a threshold in ``decision``.
    options : dict
        Options of `xmleval.evaluate`, such as ``inverse_propensity`` and ``decision``.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``. It can be pickled. It warns once of what
        ``report.notes`` of `xmleval.evaluate` says.

    Raises
    ------
    ValueError
        If a name is unknown, or no value of a measure is better than another.

    Examples
    --------
    >>> make_scorer("p@5")  # cross_validate(estimator, X, Y, scoring=make_scorer("p@5"))
    make_scorer('p@5')
    """
    refuse_unknown(options, keywords_of(make_scorer), SHARED_ARGUMENTS)
    if not isinstance(metrics, str):
        metrics = list(metrics)
    return Scorer(metrics, response_method, dict(options))


class Classifier(Protocol):
    """A multi-label classifier, with a method that returns scores, too."""

    @property
    def classes_(self) -> Sequence[Any]:
        """The classes by label, if scores are a list of arrays, one per label."""

    def predict(self, X: Any, /) -> ArrayLike | SparseMatrix:
        """Return sets of labels."""


class Scorer:
    """A scorer of scikit-learn, see `make_scorer`."""

    def __init__(
        self, metrics: str | list[str], response_method: str | None, options: dict[str, Any]
    ) -> None:
        self._metrics = metrics
        self._options = options
        # not left to Python, which scikit-learn makes forget earlier warnings
        self._warned: set[str] = set()
        self._methods: tuple[str, ...] = METHODS
        if response_method is not None:
            self._methods = (response_method,)
        specs = [spec for spec, _ in expand_metrics(metrics, options.get("k", DEFAULT_K))]
        self._lower_is_better = set[str]()
        for spec in specs:
            if spec.metric.direction == "none":
                raise InputError("metrics", f"no value of {spec.name} is better than another")
            if spec.metric.direction == "down":
                self._lower_is_better.add(spec.name)
        decision = options.get("decision")
        has_threshold = decision is not None and not str(decision).startswith("top")
        if has_threshold and response_method is None:
            choice = " or ".join(map(shown, METHODS))
            raise InputError(
                "response_method", f"a threshold needs the method that gives the scores: {choice}"
            )
        self._is_single = isinstance(metrics, str) and len(specs) == 1
        self._needs_sets = decision is None and any("sets" in spec.needs for spec in specs)
        self._needs_scores = decision is not None or any("sets" not in spec.needs for spec in specs)

    def __call__(
        self, estimator: Classifier, X: object, y: RowsLike, sample_weight: ValuesLike | None = None
    ) -> float | dict[str, float]:
        """Return the value, or the values by name, of an estimator's predictions for X."""
        y = _without_names(y)  # predictions do not have them
        sample_weight = _without_names(sample_weight)
        scores = self._scores(estimator, X) if self._needs_scores else None
        sets = estimator.predict(X) if self._needs_sets else None
        report = evaluate(
            y,
            scores,
            y_pred=sets,
            metrics=self._metrics,
            sample_weight=sample_weight,
            **self._options,
        )
        notes = {note for note in report.notes if not note.startswith(TIES)}
        for note in notes - self._warned:
            warnings.warn(note, UserWarning, stacklevel=2)
        self._warned |= notes
        values = dict[str, float]()
        for name, value in report.items():
            if name in self._lower_is_better:
                values[f"neg_{name}"] = -value
            else:
                values[name] = value
        if self._is_single:
            return next(iter(values.values()))
        return values

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"make_scorer({shown(self._metrics)})"

    def _scores(self, estimator: Classifier, X: object) -> RowsLike:
        """Return the scores of the first method that the estimator has."""
        method = next((name for name in self._methods if hasattr(estimator, name)), None)
        if method is None:
            kind = type(estimator).__name__
            methods = " nor ".join(self._methods)
            raise InputError(
                "estimator", f"{kind} has neither {methods}; {shown(self._metrics)} needs scores"
            )
        response: RowsLike = getattr(estimator, method)(X)
        if not isinstance(response, list):
            return response
        return class_one_scores("estimator", response, estimator.classes_)


def _without_names(value: T) -> T:
    """Return the values of a frame or series; any other input unchanged."""
    if not hasattr(value, "to_numpy"):
        return value
    values: T = value.to_numpy()
    return values
