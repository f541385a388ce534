"""`propensity_sensitivity`: propensity-scored measures under many propensity models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from xmleval.api.compare import evaluate_models
from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, real_number
from xmleval.evaluation.request import OF_MODELS, refuse_unknown, request_of
from xmleval.input.argument_types import ModelsLike, RowsLike
from xmleval.labels.propensity import inverse_propensity, modelled
from xmleval.metrics.spec import DEFAULT_K, expand_metrics

MEASURES = ("psp", "psdcg", "psndcg")


@dataclass(frozen=True)
class Sensitivity:
    """Propensity-scored measures of models on a grid of the constants A and B; prints as a table.

    Parameters
    ----------
    a, b : ndarray, float64 (n,), (m,)
        The constants, rising.
    values : dict of str to dict of str to ndarray
        ``values["psp@5"]["model"]``, float64 (n, m): one row for each A.
    notes : list of str
        What was seen in the data.

    Examples
    --------
    >>> y_true, y_train = (np.repeat(np.eye(3, dtype=int), n, axis=0) for n in ([5, 1, 3], [90, 9, 1]))
    >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
    >>> models = {"head": head, "tail": head[:, ::-1]}
    >>> table = propensity_sensitivity(y_true, models, y_train, a=[0.1, 0.9], b=[1], metrics="psp@1")
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
        """Return a table: the range of each value on the grid, and what it does to the order of models."""
        grid = f"A {self.a[0]:g} to {self.a[-1]:g}, B {self.b[0]:g} to {self.b[-1]:g}"
        lines = [f"{grid}: {self.a.size} x {self.b.size} propensity models"]
        for metric, models in self.values.items():
            values, width = np.stack([*models.values()]).reshape(len(models), -1), max(map(len, models))
            if np.isnan(values).all():
                lines.append(f"{metric:<12}undefined: no row has a relevant label")
                continue
            for name, row in zip(models, values, strict=True):
                lines.append(f"{metric:<12}{name:<{width}}  {row.min():.4f} to {row.max():.4f}")
            if len(models) > 1:
                orders = np.argsort(-values, axis=0, kind="stable")
                n = np.unique(orders, axis=1).shape[1]
                order = "the same order of models everywhere" if n == 1 else f"{n} orders of models"
                shares = {name: np.mean(orders[0] == i) for i, name in enumerate(models)}
                best = ", ".join(f"{name} best at {share:.0%}" for name, share in shares.items() if share)
                lines.append(f"{'':<12}{order}; {best}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def propensity_sensitivity(
    y_true: RowsLike,
    models: ModelsLike,
    y_train: RowsLike,
    *,
    a: ArrayLike = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7),
    b: ArrayLike = (0.4, 0.8, 1.5, 2.6, 5.0),
    metrics: str | Iterable[str] = ("psp@5", "psndcg@5"),
    k: int | Iterable[int] = DEFAULT_K,
    **options: Any,
) -> Sensitivity:
    """Compute propensity-scored measures under all pairs of constants A and B, as `evaluate` does under one.

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
    k : int or iterable of int
        Cutoffs of measures that are named without one.
    options
        Of `evaluate`, such as ``exclude=``.

    Returns
    -------
    Sensitivity
        ``values[metric][model]``, an array with a row for each A and a column for each B; prints as a table.

    Raises
    ------
    ValueError
        If input is invalid, a measure is not propensity-scored, or the model has no values for an A and B.

    Examples
    --------
    >>> y_train = np.repeat(np.eye(3, dtype=int), [9, 3, 1], axis=0)
    >>> models = {"head": np.tile([0.9, 0.5, 0.1], (3, 1)), "tail": np.tile([0.1, 0.5, 0.9], (3, 1))}
    >>> grid = {"a": [0.4, 0.6], "b": [0.5, 1.5]}
    >>> table = propensity_sensitivity(np.eye(3), models, y_train, **grid, metrics="psp@1")
    >>> table.values["psp@1"]["tail"].round(3).tolist()
    [[0.399, 0.384], [0.426, 0.405]]
    """
    if not isinstance(models, Mapping) or not models or not all(isinstance(name, str) for name in models):
        raise InputError("models", "give scores of one or more models by name, as in {'model': scores}")
    a, b = (np.unique([real_number(n, x) for x in np.ravel(v).tolist()]) for n, v in (("a", a), ("b", b)))
    for name, constants in (("a", a), ("b", b)):
        if not constants.size:
            raise InputError(name, "is empty; give one or more numbers")
    specs = [spec for spec, _ in expand_metrics(metrics, k)]
    for spec in specs:
        if spec.metric.name not in MEASURES:
            raise InputError("metrics", f"{spec} is none of {', '.join(f'{name}@k' for name in MEASURES)}")
    trained = inverse_propensity(y_train, n_labels=options.get("n_labels"), labels=options.get("labels"))
    values = {str(spec): {name: np.empty((a.size, b.size)) for name in models} for spec in specs}
    notes: dict[str, None] = {}
    for i, j in np.ndindex(a.size, b.size):
        model = trained.constants | {"a": float(a[i]), "b": float(b[j])}
        q = modelled(trained.label_counts, model, trained.label_names, trained.numbered)
        refuse_unknown(options, OF_MODELS)
        request = request_of({**options, "y_true": y_true, "metrics": [*values], "y_train": q})
        evaluated = evaluate_models([*models], models, None, False, request)
        for name, (report,) in evaluated.reports.items():
            notes |= dict.fromkeys(f"{name}: {note}" for note in report.notes)
            for metric, of_models in values.items():
                of_models[name][i, j] = report[metric]
    return Sensitivity(a, b, values, [*notes])
