"""`propensity_sensitivity`: propensity-scored measures under many propensity models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from xmleval.api.compare import checked_once, evaluated
from xmleval.base.arrays import Floats
from xmleval.base.errors import InputError, real_number
from xmleval.input.csr import Source
from xmleval.input.sets import remembered
from xmleval.labels.propensity import InversePropensity, modelled
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
    >>> y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
    >>> y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
    >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
    >>> models = {"head": head, "tail": head[:, ::-1]}
    >>> table = propensity_sensitivity(models, y_true, y_train, a=[0.1, 0.9], b=[1], metrics="psp@1")
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
            if np.isnan(values).any():
                lines.append(f"{metric:<12}undefined: no row has a relevant label")
                continue
            for name, row in zip(models, values, strict=True):
                lines.append(f"{metric:<12}{name:<{width}}  {row.min():.4f} to {row.max():.4f}")
            if len(models) > 1:
                orders = np.argsort(-values, axis=0, kind="stable")
                n = np.unique(orders, axis=1).shape[1]
                order = "the same order of models everywhere" if n == 1 else f"{n} orders of models"
                shares = {name: float(np.mean(orders[0] == i)) for i, name in enumerate(models)}
                best = ", ".join(f"{name} best at {share:.0%}" for name, share in shares.items() if share)
                lines.append(f"{'':<12}{order}; {best}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def propensity_sensitivity(
    models: Mapping[str, Any],
    y_true: Any,
    y_train: Any,
    *,
    a: Any = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7),
    b: Any = (0.4, 0.8, 1.5, 2.6, 5.0),
    metrics: str | Iterable[str] = ("psp@5", "psndcg@5"),
    k: int | Iterable[int] = DEFAULT_K,
    **options: Any,
) -> Sensitivity:
    """Compute propensity-scored measures under all pairs of constants A and B.

    Values are those of `evaluate` with ``y_train``, ``a`` and ``b``, a pair after another.

    Parameters
    ----------
    models : dict of str to y_score
        Scores of one or more models by name, each as `evaluate` takes them.
    y_true : sparse matrix or array, dense 0/1 array, lists of labels, dict or frame; shape (m, l)
        Relevant labels, see `evaluate`.
    y_train : as ``y_true``; shape (N, l)
        Training labels, see `inverse_propensity`.
    a, b : array-like of float
        Constants of the model, see `inverse_propensity`; by default around the published ones.
    metrics : str or iterable of str, default ("psp@5", "psndcg@5")
        ``psp``, ``psndcg`` or ``psdcg`` at cutoffs.
    k : int or iterable of int
        Cutoffs of measures that are named without one.
    **options
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
    >>> y_true = np.eye(3, dtype=int)
    >>> models = {"head": np.tile([0.9, 0.5, 0.1], (3, 1)), "tail": np.tile([0.1, 0.5, 0.9], (3, 1))}
    >>> table = propensity_sensitivity(models, y_true, y_train, a=[0.4, 0.6], b=[0.5, 1.5], metrics="psp@1")
    >>> table.values["psp@1"]["tail"].round(3).tolist()
    [[0.399, 0.384], [0.426, 0.405]]
    """
    if not isinstance(models, Mapping) or not models or not all(isinstance(name, str) for name in models):
        raise InputError("models", "give scores of one or more models by name, as in {'model': scores}")
    grid = [
        np.unique([real_number(name, each) for each in np.ravel(constants).tolist()])
        for name, constants in (("a", a), ("b", b))
    ]
    for name, constants in zip("ab", grid, strict=True):
        if not constants.size:
            raise InputError(name, "is empty; give one or more numbers")
    specs = [spec for spec, _ in expand_metrics(metrics, k)]
    for spec in specs:
        if spec.metric.name not in MEASURES:
            raise InputError("metrics", f"{spec} is none of {', '.join(f'{name}@k' for name in MEASURES)}")
    options |= {"metrics": [*map(str, specs)], "y_train": y_train}
    truth = checked_once(y_true, options)  # training labels are counted once where that needs no names
    values = {str(spec): {name: np.empty([*map(len, grid)]) for name in models} for spec in specs}
    notes: dict[str, None] = {}
    for (i, a_value), (j, b_value) in product(enumerate(grid[0].tolist()), enumerate(grid[1].tolist())):
        pair: dict[str, Any] = {"a": a_value, "b": b_value}
        for argument in ("y_train", "inverse_propensity"):
            if isinstance(options.get(argument), InversePropensity):
                q: InversePropensity = options[argument]
                model = pair | {"n": q.constants["n"]}
                pair = {argument: modelled(q.label_counts, model, q.label_names, q.numbered)}
        truth_of_pair = remembered(truth) if isinstance(truth, Source) else truth  # with its own ideal gains
        for name, scores in models.items():
            report = evaluated(name, truth_of_pair, scores, None, options | pair)
            notes |= dict.fromkeys(f"{name}: {note}" for note in report.notes)
            for metric, of_models in values.items():
                of_models[name][i, j] = report[metric]
    return Sensitivity(grid[0], grid[1], values, [*notes])
