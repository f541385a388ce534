"""Scorers for scikit-learn: `cross_validate`, `GridSearchCV` and whatever else takes ``scoring=``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar, Unpack

from numpy.typing import ArrayLike

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import TIES, InputError, shown
from xmleval.evaluation.request import Options
from xmleval.input.argument_types import RowsLike, SparseMatrix, ValuesLike
from xmleval.input.objects.named import class_one_scores
from xmleval.metrics.spec import DEFAULT_K, expand_metrics

T = TypeVar("T")
METHODS = ("decision_function", "predict_proba")  # scikit-learn's own order


def make_scorer(
    metrics: str | Iterable[str], *, response_method: str | None = None, **options: Unpack[Options]
) -> Scorer:
    """Return a scorer of multi-label classifiers.

    Measures of sets use ``predict``; others use scores, and so do measures of sets with ``decision``. Losses
    are negated, as scikit-learn does, so that greater is better.

    Parameters
    ----------
    metrics : str or iterable of str
        Names of measures, see `xmleval.evaluate`. One name gives a number; several, or a group, give a dict,
        which `cross_validate` takes, and `GridSearchCV` with ``refit=NAME``.
    response_method : str, optional
        Method of the estimator that gives scores, by default ``decision_function`` or else ``predict_proba``;
        needed with a threshold in ``decision``.
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
    return Scorer(metrics if isinstance(metrics, str) else list(metrics), response_method, dict(options))


class Classifier(Protocol):
    """A multi-label classifier, which has a method that gives scores, too."""

    @property
    def classes_(self) -> Sequence[Any]:
        """The classes of each label, where scores are a list of an array for each."""

    def predict(self, X: Any, /) -> ArrayLike | SparseMatrix:
        """Return sets of labels."""


class Scorer:
    """What `make_scorer` returns."""

    def __init__(
        self, metrics: str | list[str], response_method: str | None, options: dict[str, Any]
    ) -> None:
        self._metrics, self._options = metrics, options
        self._warned: set[str] = set()  # as scikit-learn makes Python forget what it has warned of
        self._methods = METHODS if response_method is None else (response_method,)
        specs = [spec for spec, _ in expand_metrics(metrics, options.get("k", DEFAULT_K))]
        aimless = [spec.name for spec in specs if spec.metric.direction == "none"]
        if aimless:
            raise InputError("metrics", f"no value of {aimless[0]} is better than another")
        decision = options.get("decision")
        if response_method is None and decision is not None and not str(decision).startswith("top"):
            choice = " or ".join(map(shown, METHODS))
            raise InputError("response_method", f"a threshold needs to know of which scores: {choice}")
        self._single = isinstance(metrics, str) and len(specs) == 1
        self._lower_is_better = {spec.name for spec in specs if spec.metric.direction == "down"}
        self._of_sets = decision is None and any("sets" in spec.needs for spec in specs)
        self._of_scores = decision is not None or any("sets" not in spec.needs for spec in specs)

    def __call__(
        self, estimator: Classifier, X: object, y: RowsLike, sample_weight: ValuesLike | None = None
    ) -> float | dict[str, float]:
        """Return the value, or the values by name, of an estimator's predictions for X."""
        y = _without_names(y)  # which are not those of predictions
        sample_weight = _without_names(sample_weight)
        report = evaluate(
            y,
            self._scores(estimator, X) if self._of_scores else None,
            y_pred=estimator.predict(X) if self._of_sets else None,
            metrics=self._metrics,
            sample_weight=sample_weight,
            **self._options,
        )
        notes = {note for note in report.notes if not note.startswith(TIES)}
        for note in notes - self._warned:
            warnings.warn(note, UserWarning, stacklevel=2)
        self._warned |= notes
        values = {
            f"neg_{name}" if name in self._lower_is_better else name: (
                -value if name in self._lower_is_better else value
            )
            for name, value in report.items()
        }
        return next(iter(values.values())) if self._single else values

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"make_scorer({shown(self._metrics)})"

    def _scores(self, estimator: Classifier, X: object) -> RowsLike:
        method = next((name for name in self._methods if hasattr(estimator, name)), None)
        if method is None:
            kind, methods = type(estimator).__name__, " nor ".join(self._methods)
            raise InputError(
                "estimator", f"{kind} has neither {methods}; {shown(self._metrics)} needs scores"
            )
        response: RowsLike = getattr(estimator, method)(X)
        if not isinstance(response, list):
            return response
        return class_one_scores("estimator", response, estimator.classes_)


def _without_names(value: T) -> T:
    return value.to_numpy() if hasattr(value, "to_numpy") else value
