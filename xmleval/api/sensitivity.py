"""`propensity_sensitivity`: propensity-scored measures under many propensity models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from xmleval.api.compare import evaluate_models
from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, real_number
from xmleval.base.keywords import keywords_of, refuse_unknown
from xmleval.evaluation.request import SHARED_ARGUMENTS, request_of
from xmleval.evaluation.same_labels import notes_on_training
from xmleval.input.argument_types import ModelsLike, RowsLike
from xmleval.labels.propensity import compute_propensities, inverse_propensity
from xmleval.metrics.spec import DEFAULT_K, Spec, expand_metrics

MEASURES = ("psp", "psdcg", "psndcg")


@dataclass(frozen=True)
class Sensitivity:
    """Propensity-scored measures of models on a grid of the constants A and B; prints as a table.

    Attributes
    ----------
    a, b : ndarray, float64 (n,), (m,)
        The constants, rising.
    values : dict of str to dict of str to ndarray
        ``values["psp@5"]["model"]``, float64 (n, m): one row for each A.
    notes : list of str
        What was seen in the data.

    Examples
    --------
    >>> y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
    >>> y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
    >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
    >>> models = {"head": head, "tail": head[:, ::-1]}
    >>> grid = {"a": [0.1, 0.9], "b": [1]}
    >>> table = propensity_sensitivity(y_true, models, y_train, **grid, metrics="psp@1")
    >>> print(table)
    A 0.1 to 0.9, B 1 to 1: 2 x 1 propensity models
    psp@1       head  0.2627 to 0.4918
    psp@1       tail  0.3926 to 0.6504
                2 orders of models; head best at 50%, tail best at 50%
    """

    a: Floats
    b: Floats
    values: dict[str, dict[str, Floats]]
    notes: list[str]

    def __str__(self) -> str:
        """Return a table of the range of every value on the grid, and the orders of the models."""
        grid = f"A {self.a[0]:g} to {self.a[-1]:g}, B {self.b[0]:g} to {self.b[-1]:g}"
        lines = [f"{grid}: {self.a.size} x {self.b.size} propensity models"]
        for metric, grids in self.values.items():
            lines += _lines_of_metric(metric, grids)
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def propensity_sensitivity(
    y_true: RowsLike,
    models: ModelsLike,
    y_train: RowsLike,
    *,
    a: ArrayLike = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7),
    b: ArrayLike = (0.4, 0.8, 1.5, 2.6, 5.0),
    metrics: str | Iterable[str] = ("psp@5", "psndcg@5"),
    k: int | str | Iterable[int] = DEFAULT_K,
    **options: Any,
) -> Sensitivity:
    """Compute propensity-scored measures under all pairs of constants A and B.

    Under each pair, measures are those of `evaluate`.

    Parameters
    ----------
    y_true, models
        As in `compare`, of one or more models.
    y_train : as ``y_true``; shape (N, l)
        Training labels, see `inverse_propensity`.
    a, b : array-like of float
        Constants of the model; by default around the published ones.
    metrics : str or iterable of str, default ("psp@5", "psndcg@5")
        ``psp``, ``psndcg`` or ``psdcg`` at cutoffs.
    k : int, str or iterable of int
        Cutoffs of measures that are named without one.
    options
        Of `evaluate`, such as ``exclude=``.

    Returns
    -------
    Sensitivity
        ``values[metric][model]``, an array with a row for each A and a column for each B; prints as
        a table.

    Raises
    ------
    ValueError
        If input is invalid, a measure is not propensity-scored, or the model has no values for an A
        and B.

    Examples
    --------
    >>> y_train = np.repeat(np.eye(3, dtype=int), [9, 3, 1], axis=0)
    >>> head = np.tile([0.9, 0.5, 0.1], (3, 1))
    >>> models = {"head": head, "tail": head[:, ::-1]}
    >>> grid = {"a": [0.4, 0.6], "b": [0.5, 1.5]}
    >>> table = propensity_sensitivity(np.eye(3), models, y_train, **grid, metrics="psp@1")
    >>> table.values["psp@1"]["tail"].round(3).tolist()
    [[0.399, 0.384], [0.426, 0.405]]
    """
    refuse_unknown(options, keywords_of(propensity_sensitivity), SHARED_ARGUMENTS)
    _refuse_nameless(models)
    a = _check_constants("a", a)
    b = _check_constants("b", b)
    for argument, constants in (("a", a), ("b", b)):
        if not constants.size:
            raise InputError(argument, "is empty; give one or more numbers")
    specs = [spec for spec, _ in expand_metrics(metrics, k)]
    _refuse_other_measures(specs)
    trained = inverse_propensity(
        y_train, n_labels=options.get("n_labels"), labels=options.get("labels")
    )
    values = {str(spec): {name: np.empty((a.size, b.size)) for name in models} for spec in specs}
    notes = dict.fromkeys(notes_on_training(y_true, y_train))
    for i, j in np.ndindex(a.size, b.size):
        model_constants = trained.constants | {"a": float(a[i]), "b": float(b[j])}
        q = compute_propensities(
            trained.label_counts, model_constants, trained.label_names, trained.numbered
        )
        request = request_of({**options, "y_true": y_true, "metrics": [*values], "y_train": q})
        evaluated = evaluate_models([*models], models, None, False, request)
        for name, (report,) in evaluated.reports.items():
            for note in report.notes:
                notes[f"{name}: {note}"] = None
            for metric, grids in values.items():
                grids[name][i, j] = report[metric]
    return Sensitivity(a, b, values, [*notes])


def _refuse_nameless(models: object) -> None:
    """Refuse anything but a dict of one or more models by name."""
    by_name = isinstance(models, Mapping) and all(isinstance(name, str) for name in models)
    if not by_name or not models:
        raise InputError(
            "models", "give scores of one or more models by name, as in {'model': scores}"
        )


def _check_constants(argument: str, values: ArrayLike) -> Floats:
    """Return the constants of an axis of the grid, rising."""
    return np.unique([real_number(argument, value) for value in np.ravel(values).tolist()])


def _refuse_other_measures(specs: Iterable[Spec]) -> None:
    """Refuse measures that are not propensity-scored."""
    for spec in specs:
        if spec.metric.name not in MEASURES:
            names = ", ".join(f"{name}@k" for name in MEASURES)
            raise InputError("metrics", f"{spec} is not one of {names}")


def _lines_of_metric(metric: str, grids: Mapping[str, Floats]) -> list[str]:
    """Return the range of a measure for every model, and the orders in which it puts them."""
    values = np.stack([*grids.values()]).reshape(len(grids), -1)
    width = max(map(len, grids))
    if np.isnan(values).all():
        return [f"{metric:<12}undefined: no row has a relevant label"]
    lines = list[str]()
    for name, row in zip(grids, values, strict=True):
        lines.append(f"{metric:<12}{name:<{width}}  {row.min():.4f} to {row.max():.4f}")
    if len(grids) > 1:
        lines.append(f"{'':<12}{_describe_orders([*grids], values)}")
    return lines


def _describe_orders(names: Sequence[str], values: Floats) -> str:
    """Return the number of orders of the models, and on what share of the grid each is best."""
    orders = np.argsort(-values, axis=0, kind="stable")
    n_orders = np.unique(orders, axis=1).shape[1]
    described = f"{n_orders} orders of models"
    if n_orders == 1:
        described = "the same order of models everywhere"
    shares = list[str]()
    for i, name in enumerate(names):
        share = np.mean(orders[0] == i)
        if share:
            shares.append(f"{name} best at {share:.0%}")
    return f"{described}; {', '.join(shares)}"
