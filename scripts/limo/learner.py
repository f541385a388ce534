"""LIMO: linear scores with large label-wise and instance-wise margins.

Wu & Zhou 2017, algorithm 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from scripts.limo.stepping import Iterate, Matrix, Members, take_steps
from xmleval.base.arrays import Floats, Ints

SAMPLINGS = ("weighted", "uniform")


class Weights(NamedTuple):
    """Weights, float64 (d, l); scores are ``x @ weights.average``."""

    average: Floats
    last: Floats


def fit_limo(
    x: Any,
    y: Any,
    *,
    lam1: float = 1.0,
    lam2: float = 1.0,
    eta: float = 0.01,
    epochs: int = 10,
    sampling: str = "weighted",
    idle: bool = False,
    seed: int = 0,
) -> Weights:
    """Learn linear scores by stochastic gradient descent on both margins.

    A step draws an instance, a relevant label u and an irrelevant label v; if f_u - f_v < 1, w_u
    becomes (1 - eta) w_u + eta lam1 x and w_v becomes (1 - eta) w_v - eta lam1 x. It then draws a
    label and two instances, a with the label and b without; where f(a) - f(b) < 1, w becomes (1 -
    eta) w + eta lam2 (a - b).

    Parameters
    ----------
    x : sparse matrix or array of shape (m, d)
        Features. Add a column of ones for an intercept.
    y : sparse 0/1 matrix or array of shape (m, l)
        Relevant labels.
    lam1, lam2 : float
        Weights of label-wise margins (pairs of labels) and of instance-wise margins (pairs of
        instances). Half steps of weight 0 are omitted, unless ``idle``: ``lam2=0`` is LIMO-label,
        ``lam1=0`` LIMO-inst.
    eta : float
        Step size, strictly between 0 and 1.
    epochs : int
        Number of steps divided by instances times rounded label cardinality. The paper does not
        give it; the authors' program uses 10.
    sampling : {"weighted", "uniform"}
        Draw instances with weight R (l - R) and labels with weight C (m - C), where C counts a
        label's instances, as in the paper; or instances uniformly, and the label among those of
        instance a, as in the authors' program.
    idle : bool
        Also take half steps of weight 0, as algorithm 1 literally says: they only shrink weights,
        where the margin is below 1.
    seed : int
        Seed of initial weights and draws.

    Returns
    -------
    Weights
        Average of all iterates, which the algorithm returns, and last iterate.

    Raises
    ------
    ValueError
        If a number is out of range, or no instance or label has both relevant and irrelevant
        entries.

    Notes
    -----
    A step takes time linear in the stored features of its instances: weights are kept as a scale
    times a vector, and the sum of iterates as multiples of that vector (`scripts.limo.stepping`).
    They are multiplied out only when the scale becomes small, for eta = 0.01 every 917 updates.
    Initial weights are drawn from N(0, 1/sqrt(d)), with 1/sqrt(d) as the standard deviation, as in
    the authors' program.
    """
    if not 0 < eta < 1 or epochs < 1 or min(lam1, lam2) < 0 or lam1 == lam2 == 0:
        raise ValueError(
            f"eta={eta}, epochs={epochs}, lam1={lam1}, lam2={lam2}: not a step size and weights"
        )
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling={sampling!r} is not one of {', '.join(SAMPLINGS)}")
    features = scipy.sparse.csr_array(x)
    truth = scipy.sparse.csr_array(y, dtype=np.int64)
    truth.eliminate_zeros()
    weighted = sampling == "weighted"
    relevant = members(truth, weighted)
    holders = members(scipy.sparse.csr_array(truth.T), weighted)
    if relevant.drawn[-1] == 0 or holders.drawn[-1] == 0:
        raise ValueError("no instance, or no label, has both relevant and irrelevant entries")
    n_rows, dim = features.shape
    n_labels = truth.shape[1]
    n_steps = epochs * n_rows * max(round(truth.nnz / n_rows), 1)
    rng = np.random.default_rng(seed)
    shape = n_labels, dim
    iterate = Iterate(
        w=rng.normal(0.0, dim**-0.5, shape),
        scale=np.ones(n_labels),
        total=np.zeros(shape),
        late=np.zeros(shape),
        share=np.zeros(n_labels),
        counted=np.zeros(n_labels, np.int64),
    )
    matrix = Matrix(
        features.indptr.astype(np.int64),
        features.indices.astype(np.int64),
        features.data.astype(np.float64),
    )
    stream = rng.integers(2**64, size=1, dtype=np.uint64)
    rates = (eta * lam1, eta * lam2)
    take_steps(matrix, relevant, holders, not weighted, rates, idle, eta, n_steps, stream, iterate)
    return Weights(
        np.ascontiguousarray(iterate.total.T) / n_steps, np.ascontiguousarray(iterate.w.T)
    )


def members(groups: Any, weighted: bool) -> Members:
    """Return the rows of a CSR pattern as groups of column ids.

    Groups are weighted by the number of pairs with other ids, or uniformly.
    """
    groups.sort_indices()
    sizes: Ints = np.diff(groups.indptr).astype(np.int64)
    weights = np.ones_like(sizes)
    if weighted:
        weights = sizes * (groups.shape[1] - sizes)
    return Members(
        groups.indptr.astype(np.int64), groups.indices.astype(np.int64), np.cumsum(weights)
    )
