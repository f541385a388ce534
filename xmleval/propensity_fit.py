"""Constants of the propensity model, fitted to labels that were annotated again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmleval.input.csr import Source
from xmleval.input.errors import InputError
from xmleval.input.sets import set_rows
from xmleval.message import counted
from xmleval.propensity import count_labels_of
from xmleval.records import Floats, Ints, Truth

LEAST_B, MOST_B = 1e-3, 1e6  # within which B is sought


@dataclass(frozen=True)
class PropensityFit:
    """Constants of the propensity model with their standard errors, and the counts that they were fitted to.

    Parameters
    ----------
    a, b : float
        The constants, see `inverse_propensity`.
    a_error, b_error : float
        Standard errors of binomial counts; infinite where the counts do not tell.
    dispersion : float
        Pearson's chi-square over its degrees of freedom, NaN without any. Far above 1, labels of one
        frequency differ, and errors are larger by its square root.
    frequency, n_full, n_observed : ndarray, int64 (f,)
        Training frequencies that occur, relevant entries of labels of each, and those that were observed.
    n_instances : int
        Number of training instances, N.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import fit_propensity
    >>> y_train = np.repeat(np.eye(3, dtype=int), [60, 20, 2], axis=0)
    >>> y_observed = (np.arange(20)[:, None] < [17, 13, 6]).astype(int)
    >>> print(fit_propensity(y_observed, np.ones((20, 3), int), y_train))
    A 0.9618 ±0.7882, B 2.0299 ±6.5929 (standard errors)
    36 of 60 relevant entries observed, at 3 training frequencies
    """

    a: float
    b: float
    a_error: float
    b_error: float
    dispersion: float
    frequency: Ints
    n_full: Ints
    n_observed: Ints
    n_instances: int

    @property
    def propensity(self) -> Floats:
        """Fitted propensity at each frequency, float64 (f,).

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval import fit_propensity
        >>> y_train = np.repeat(np.eye(3, dtype=int), [60, 20, 2], axis=0)
        >>> y_observed = (np.arange(20)[:, None] < [17, 13, 6]).astype(int)
        >>> fit_propensity(y_observed, np.ones((20, 3), int), y_train).propensity.round(2).tolist()
        [0.28, 0.66, 0.84]
        """
        return _propensity(self.frequency, self.n_instances, self.a, self.b)

    def __str__(self) -> str:
        """Return the constants with standard errors."""
        seen, full = int(self.n_observed.sum()), int(self.n_full.sum())
        lines = [
            f"A {self.a:.4f} ±{self.a_error:.4f}, B {self.b:.4f} ±{self.b_error:.4f} (standard errors)",
            f"{seen} of {counted(full, 'relevant entries')} observed,"
            f" at {counted(self.frequency.size, 'training frequencies')}",
        ]
        if self.dispersion > 2:
            lines.append(f"dispersion {self.dispersion:.1f}: labels of one frequency differ")
        return "\n".join(lines)


def fit_propensity(y_observed: Any, y_full: Any, y_train: Any, n_labels: int | None = None) -> PropensityFit:
    """Fit the constants A and B of the propensity model to a sample that was annotated again.

    A relevant label is observed with probability ``1 / (1 + C (N_j + B)^-A)``, ``C = (ln N - 1) (B + 1)^A``
    (Jain, Prabhu & Varma 2016), in which N_j of N training instances have label j. Maximum likelihood of the
    numbers of observed among relevant entries, binomial for each training frequency.

    Parameters
    ----------
    y_observed : sparse matrix or array, dense 0/1 array, or lists of labels; shape (m, l)
        Labels of the sample as they were observed.
    y_full : the same; shape (m, l)
        All relevant labels of the same rows. Observed labels that are not among them were wrong, and do not
        count.
    y_train : the same; shape (N, l)
        Training labels.
    n_labels : int, optional
        Number of labels; required for lists of labels.

    Returns
    -------
    PropensityFit
        ``inverse_propensity(y_train, fit.a, fit.b)`` uses it.

    Raises
    ------
    ValueError
        If shapes differ, there are fewer than two training frequencies with relevant entries, or none or all
        of the relevant entries were observed.

    Examples
    --------
    >>> import numpy as np
    >>> from xmleval import fit_propensity
    >>> y_train = np.repeat(np.eye(3, dtype=int), [60, 20, 2], axis=0)
    >>> y_full = np.ones((20, 3), int)
    >>> y_observed = (np.arange(20)[:, None] < [17, 13, 6]).astype(int)
    >>> fit = fit_propensity(y_observed, y_full, y_train)
    >>> bool(fit.a > 0), fit.n_observed.tolist()
    (True, [6, 13, 17])
    """
    observed, full, train = (
        set_rows(name, value, n_labels)
        for name, value in (("y_observed", y_observed), ("y_full", y_full), ("y_train", y_train))
    )
    if observed.n_rows != full.n_rows:
        raise InputError("y_observed", f"{counted(observed.n_rows, 'rows')}, but y_full has {full.n_rows}")
    for name, source in (("y_observed", observed), ("y_train", train)):
        if source.n_labels != full.n_labels:
            raise InputError(name, f"{counted(source.n_labels, 'labels')}, but y_full has {full.n_labels}")
    if train.n_rows <= 2:
        raise InputError("y_train", f"{counted(train.n_rows, 'rows')}; the model needs 3 or more")
    of_label = [_entries_of(source) for source in (observed, full)]
    seen_cells, all_cells = (rows * full.n_labels + labels for rows, labels in of_label)
    both: Ints = np.intersect1d(seen_cells, all_cells, assume_unique=True)
    frequency, place = np.unique(count_labels_of(train), return_inverse=True)
    n_full = np.bincount(place[of_label[1][1]], minlength=frequency.size)
    n_observed = np.bincount(place[both % full.n_labels], minlength=frequency.size)
    frequency, n_full, n_observed = (own[n_full > 0] for own in (frequency, n_full, n_observed))
    seen, whole = int(n_observed.sum()), int(n_full.sum())
    if frequency.size < 2:
        said = "relevant entries of labels with two training frequencies or more are needed"
        raise InputError("y_full", f"{said}, not {frequency.size}")
    if seen in (0, whole):
        told = f"{seen} of {counted(whole, 'relevant entries')} were observed; a fit needs some that were"
        raise InputError("y_observed", f"{told} and some that were not")
    a, b = _fitted(frequency, n_full, n_observed, train.n_rows)
    p = _propensity(frequency, train.n_rows, a, b)
    slopes = np.stack([np.log((frequency + b) / (b + 1)), a * (1 / (frequency + b) - 1 / (b + 1))])
    information = (slopes * (n_full * p * (1 - p))) @ slopes.T
    errors = (math.inf, math.inf)
    if np.linalg.cond(information) < 1 / np.finfo(float).eps:
        errors = tuple(np.sqrt(np.diag(np.linalg.inv(information))).tolist())
    free = frequency.size - 2
    chi_square = float((((n_observed - n_full * p) ** 2) / (n_full * p * (1 - p))).sum())
    dispersion = chi_square / free if free else math.nan
    return PropensityFit(a, b, *errors, dispersion, frequency, n_full, n_observed, train.n_rows)


def _entries_of(source: Source[Truth]) -> tuple[Ints, Ints]:
    """Return rows and labels of all entries."""
    blocks = [*source.blocks()]
    sizes = [np.zeros(0, np.int64), *(np.diff(block.ptr) for block in blocks)]
    labels = [np.zeros(0, np.int64), *(block.labels.astype(np.int64) for block in blocks)]
    each = np.concatenate(sizes)
    return np.repeat(np.arange(each.size), each), np.concatenate(labels)


def _log_odds(frequency: Ints, n: int, a: float, b: float) -> Floats:
    found: Floats = a * (np.log(frequency + b) - math.log(b + 1)) - math.log(math.log(n) - 1)
    return found


def _propensity(frequency: Ints, n: int, a: float, b: float) -> Floats:
    found: Floats = 1 / (1 + np.exp(-_log_odds(frequency, n, a, b)))
    return found


def _fitted(frequency: Ints, n_full: Ints, n_observed: Ints, n: int) -> tuple[float, float]:
    """Return A >= 0 and B > 0 of the largest likelihood."""
    from scipy.optimize import minimize  # only here: it is slow to import

    def loss(point: Floats) -> float:
        odds = _log_odds(frequency, n, float(point[0]), math.exp(point[1]))
        told = n_observed * np.logaddexp(0, -odds) + (n_full - n_observed) * np.logaddexp(0, odds)
        return float(told.sum()) / float(n_full.sum())

    bounds = [(0.0, 20.0), (math.log(LEAST_B), math.log(MOST_B))]
    starts = [(a, math.log(b)) for a in (0.2, 0.55, 1.5) for b in (0.1, 1.5, 30.0)]
    tight = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    found = [minimize(loss, start, method="L-BFGS-B", bounds=bounds, options=tight) for start in starts]
    best = min(found, key=lambda one: float(one.fun)).x
    return float(best[0]), math.exp(best[1])
