"""`propensity_sensitivity`: propensity-scored measures under many propensity models, from one pass."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xmleval.budget import MEMORY, size_text
from xmleval.discounts import discounts
from xmleval.engine.blocks import join_arguments
from xmleval.engine.run import count, make_work
from xmleval.engine.settings import Settings, given_inputs
from xmleval.input.door import make_door
from xmleval.input.errors import InputError
from xmleval.input.objects.take import take
from xmleval.input.sets import set_rows
from xmleval.propensity import Constants, InversePropensity, given_or_estimated, inverse_propensity
from xmleval.records import Floats, Ints
from xmleval.spec import DEFAULT_K, Spec, expand_metrics
from xmleval.states.frequency_counts import FrequencyCounts
from xmleval.states.state import States
from xmleval.threads import Work

MEASURES = ("psp", "psdcg", "psndcg")
MOST = 10_000  # points of a grid
STATE = "frequency_counts"


@dataclass(frozen=True)
class Sensitivity:
    """Propensity-scored measures of models on a grid of the constants A and B.

    Parameters
    ----------
    a, b : ndarray, float64 (n,), (m,)
        The constants, rising.
    values : dict of str to dict of str to ndarray
        ``values["psp@5"]["model"]``, float64 (n, m): one row for each A.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import propensity_sensitivity
    >>> y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
    >>> y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
    >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
    >>> models = {"head": head, "tail": head[:, ::-1]}
    >>> found = propensity_sensitivity(models, y_true, y_train, a=[0.1, 0.9], b=[1], metrics="psp@1")
    >>> print(found)
    A 0.1 to 0.9, B 1 to 1: 2 x 1 propensity models
    psp@1       head  0.2627 to 0.4918
    psp@1       tail  0.3926 to 0.6504
                2 orders of models; head best at 50%, tail best at 50%
    """

    a: Floats
    b: Floats
    values: dict[str, dict[str, Floats]]

    def best(self, metric: str | None = None) -> Any:
        """Return the name of the model with the largest value at each point, array of str (n, m).

        Parameters
        ----------
        metric : str, optional
            The measure; default the first.

        Returns
        -------
        ndarray

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import propensity_sensitivity
        >>> y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
        >>> y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
        >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
        >>> models = {"head": head, "tail": head[:, ::-1]}
        >>> found = propensity_sensitivity(models, y_true, y_train, a=[0.1, 0.9], b=[1], metrics="psp@1")
        >>> found.best("psp@1").tolist()
        [['head'], ['tail']]
        """
        own = self._of(metric)[1]
        return np.array([*own])[np.argmax(np.stack([*own.values()]), axis=0)]

    def n_orders(self, metric: str | None = None) -> int:
        """Return how many rankings of the models there are on the grid; 1 if A and B do not matter.

        Parameters
        ----------
        metric : str, optional
            The measure; default the first.

        Returns
        -------
        int

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import propensity_sensitivity
        >>> y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
        >>> y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
        >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
        >>> models = {"head": head, "tail": head[:, ::-1]}
        >>> found = propensity_sensitivity(models, y_true, y_train, a=[0.1, 0.9], b=[1], metrics="psp@1")
        >>> found.n_orders("psp@1")
        2
        """
        own = self._of(metric)[1]
        ranks = np.argsort(-np.stack([*own.values()]), axis=0, kind="stable")
        return len(np.unique(ranks.reshape(len(own), -1), axis=1).T)

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draw the values of each model as a map over A and B, with lines where the best model changes.

        Parameters
        ----------
        metric : str, optional
            The measure; default the first.
        ax : matplotlib Axes, or array of them, optional
            Axes to draw into, one for each model; default a new figure.

        Returns
        -------
        Axes, or ndarray of Axes if there are several models

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> import numpy as np
        >>> from xmleval import propensity_sensitivity
        >>> y_train = np.repeat(np.eye(3, dtype=int), [90, 9, 1], axis=0)
        >>> y_true = np.repeat(np.eye(3, dtype=int), [5, 1, 3], axis=0)
        >>> head = np.tile([0.9, 0.5, 0.1], (9, 1))
        >>> models = {"head": head, "tail": head[:, ::-1]}
        >>> found = propensity_sensitivity(models, y_true, y_train, a=[0.1, 0.9], b=[1], metrics="psp@1")
        >>> [axes.get_title(loc="left") for axes in found.plot()]
        ['psp@1 of head', 'psp@1 of tail']
        """
        from xmleval.figures.maps import draw_maps  # only here: few look at pictures

        name, own = self._of(metric)
        best = np.argmax(np.stack([*own.values()]), axis=0)
        return draw_maps(self.a, self.b, own, best, name, ax)

    def __str__(self) -> str:
        """Return a table: the range of each value on the grid, and what it does to the order of models."""
        grid = f"A {self.a[0]:g} to {self.a[-1]:g}, B {self.b[0]:g} to {self.b[-1]:g}"
        lines = [f"{grid}: {self.a.size} x {self.b.size} propensity models"]
        for metric, own in self.values.items():
            if np.isnan([*own.values()]).any():
                lines.append(f"{metric:<12}undefined: no row has a relevant label")
                continue
            width = max(map(len, own))
            lines += [
                f"{metric:<12}{name:<{width}}  {v.min():.4f} to {v.max():.4f}" for name, v in own.items()
            ]
            if len(own) > 1:
                n = self.n_orders(metric)
                said = "the same order of models everywhere" if n == 1 else f"{n} orders of models"
                shares = {name: float(np.mean(self.best(metric) == name)) for name in own}
                wins = ", ".join(f"{name} best at {share:.0%}" for name, share in shares.items() if share)
                lines.append(f"{'':<12}{said}; {wins}")
        return "\n".join(lines)

    def _of(self, metric: str | None) -> tuple[str, dict[str, Floats]]:
        name = next(iter(self.values)) if metric is None else str(expand_metrics(metric)[0][0])
        if name not in self.values:
            raise KeyError(f"{name} was not computed; there are {', '.join(self.values)}")
        return name, self.values[name]


def propensity_sensitivity(
    models: Mapping[str, Any],
    y_true: Any,
    y_train: Any,
    *,
    a: Any = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7),
    b: Any = (0.4, 0.8, 1.5, 2.6, 5.0),
    metrics: str | Iterable[str] = ("psp@5", "psndcg@5"),
    k: int | Iterable[int] = DEFAULT_K,
    n_labels: int | None = None,
    labels: Any = None,
    exclude: Any = None,
    exclude_from: str = "both",
    unlisted: float | str | None = None,
    memory: int | str = MEMORY,
    threads: int | None = None,
    block_rows: int | None = None,
) -> Sensitivity:
    """Compute propensity-scored measures under all pairs of constants A and B, in one pass over each model.

    Hits and ideal rankings are counted by the training frequency of their labels. Values are those of
    `evaluate` with ``inverse_propensity(y_train, a, b)``, but for rounding.

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
    n_labels, labels, exclude, exclude_from, unlisted, memory, threads, block_rows : optional
        See `evaluate`.

    Returns
    -------
    Sensitivity
        ``values[metric][model]``, prints as a table; ``best(metric)`` names the best model at each point,
        ``n_orders(metric)`` counts the rankings of the models, and ``plot(metric)`` draws maps.

    Raises
    ------
    ValueError
        If input is invalid, a measure is not propensity-scored, or the model has no values for an A and B.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import propensity_sensitivity
    >>> y_train = np.repeat(np.eye(3, dtype=int), [9, 3, 1], axis=0)
    >>> y_true = np.eye(3, dtype=int)
    >>> models = {"head": np.tile([0.9, 0.5, 0.1], (3, 1)), "tail": np.tile([0.1, 0.5, 0.9], (3, 1))}
    >>> found = propensity_sensitivity(models, y_true, y_train, a=[0.4, 0.6], b=[0.5, 1.5], metrics="psp@1")
    >>> found.values["psp@1"]["tail"].round(3).tolist()
    [[0.399, 0.384], [0.426, 0.405]]
    >>> found.n_orders("psp@1")
    1
    """
    if not isinstance(models, Mapping) or not all(isinstance(name, str) for name in models):
        said = "give scores by name, as in {'model': scores}"
        raise InputError("models", f"{type(models).__name__} is no dict of models by name; {said}")
    if not models:
        raise InputError("models", "none given")
    grid = [_constants(name, given) for name, given in (("a", a), ("b", b))]
    if grid[0].size * grid[1].size > MOST:
        raise InputError("a", f"{grid[0].size} x {grid[1].size} pairs of a and b are more than {MOST}")
    specs = [spec for spec, _ in expand_metrics(metrics, k)]
    other = next((str(spec) for spec in specs if spec.metric.name not in MEASURES), None)
    if other is not None:
        raise InputError("metrics", f"{other} is none of {', '.join(f'{name}@k' for name in MEASURES)}")
    more = {"n_labels": n_labels, "labels": labels, "exclude": exclude}
    more |= {"exclude_from": exclude_from, "unlisted": unlisted}
    work = make_work(memory, threads)
    values: dict[str, dict[str, Floats]] = {str(spec): {} for spec in specs}
    models_of: dict[tuple[float, float], dict[int, float]] = {}
    for name, scores in models.items():
        try:
            counts, frequencies, n = _counted(scores, y_true, y_train, specs, work, block_rows, **more)
        except InputError as error:
            raise InputError("models", f"{name!r}: {error}") from None
        for spec in specs:
            terms = [_weighed(table, spec) for table in (counts.hits, counts.ideals)]
            found = np.empty((grid[0].size, grid[1].size))
            for place in np.ndindex(found.shape):
                pair = float(grid[0][place[0]]), float(grid[1][place[1]])
                known = models_of.setdefault(pair, {})
                missing = [f for f in frequencies.tolist() if f not in known]
                if missing:
                    own = inverse_propensity(None, *pair, label_counts=missing, n_instances=n)
                    known |= dict(zip(missing, own.tolist(), strict=True))
                q = np.array([known[f] for f in frequencies.tolist()])
                gain, ideal = (math.fsum((own * q).tolist()) for own in terms)
                found[place] = gain / ideal if ideal else math.nan
            values[str(spec)][name] = found
    return Sensitivity(grid[0], grid[1], values)


def _constants(name: str, given: Any) -> Floats:
    try:
        found = np.unique(np.asarray(given, np.float64))
    except (TypeError, ValueError):
        found = np.empty(0)
    if not found.size or not np.isfinite(found).all():
        raise InputError(name, f"{given!r} is no list of numbers")
    return found


def _counted(
    scores: Any,
    y_true: Any,
    y_train: Any,
    specs: Sequence[Spec],
    work: Work,
    block_rows: int | None,
    *,
    n_labels: int | None,
    labels: Any,
    exclude: Any,
    exclude_from: str,
    unlisted: Any,
) -> tuple[FrequencyCounts, Ints, int]:
    """Return the counts of a model, the training frequencies that they are by, and N."""
    door = make_door(exclude, exclude_from, None)
    taken = take(y_true, scores, None, n_labels, labels, False, **door.sets)
    (y_true, scores, _, *sets), n_labels = taken.inputs, taken.n_labels
    truth = set_rows("y_true", y_true, n_labels)
    q, notes = given_or_estimated(None, y_train, Constants(), truth.n_labels, taken.label_names, taken.closed)
    for note in notes:
        warnings.warn(note, stacklevel=3)  # of the call of propensity_sensitivity
    settings = Settings.checked([*map(str, specs)], truth.n_labels, inverse_propensity=q, unlisted=unlisted)
    settings = replace(settings, unknown=bool(taken.unknown))
    plan = settings.plan(given_inputs(scores, None, None, n_labels, door))
    rows = join_arguments(
        plan, truth, scores, None, None, None, n_labels=n_labels, n_before=0, first_row=0, score_dtypes=set(),
        threads=work.threads, block_rows=block_rows, door=door.with_sets(sets, taken.n_unmatched_pairs),
    )  # fmt: skip
    frequencies, of_label = np.unique(counts_of(q), return_inverse=True)
    depth = min(max(spec.k or 1 for spec in specs), truth.n_labels)
    n_bytes = 16 * frequencies.size * depth**2
    if n_bytes > work.memory:
        raise InputError("k", f"counts at k={depth} take {size_text(n_bytes)}, beyond memory")
    empty = States(plan, work, {STATE: FrequencyCounts(plan, work, of_label.astype(np.int64), depth)})
    found = count(plan, work, empty, rows)[STATE]
    assert isinstance(found, FrequencyCounts)
    return found, frequencies, int(q.constants["n"])


def counts_of(q: InversePropensity) -> Ints:
    """Return the training frequencies that inverse propensities were estimated from, int64 (n_labels,)."""
    a, b, n = (float(q.constants[name]) for name in ("a", "b", "n"))
    scale = (math.log(n) - 1) * (b + 1) ** a
    counts: Ints = np.rint(((np.asarray(q) - 1) / scale) ** (-1 / a) - b).astype(np.int64)
    assert np.array_equal(inverse_propensity(None, a, b, label_counts=counts, n_instances=int(n)), q)
    return counts


def _weighed(table: Ints, spec: Spec) -> Floats:
    """Return the sum of what a measure gives each count, by frequency; float64 (frequencies,)."""
    depth = min(spec.k or 1, table.shape[1])
    counts = table[:, :depth].astype(np.float64)
    if spec.metric.name == "psp":
        found: Floats = counts.sum(axis=(1, 2))
        return found
    counts = counts * discounts(depth)[:, None]
    if spec.metric.name == "psndcg":
        unit = np.cumsum(discounts(table.shape[2]))
        counts = counts / unit[np.minimum(np.arange(table.shape[2]), depth - 1)]
    return np.array([math.fsum(own) for own in counts.reshape(len(counts), -1).tolist()])
