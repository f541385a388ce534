"""LIMO: linear scores that make label-wise and instance-wise margins large (Wu & Zhou 2017, algorithm 1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from scripts.limo.stepping import Iterate, Matrix, Members, take_steps
from xmleval.records import Floats, Ints

SAMPLINGS = ("weighted", "uniform")


class Weights(NamedTuple):
    """Weights of labels in columns, float64 (d, l); scores are ``x @ weights.average``."""

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
    """Learn linear scores by stochastic descent on both margins.

    A step draws an instance and two of its labels, u relevant and v not; where f_u - f_v < 1, w_u becomes
    (1 - eta) w_u + eta lam1 x and w_v becomes (1 - eta) w_v - eta lam1 x. It then draws a label and two
    instances, a with the label and b without; where f(a) - f(b) < 1, w becomes
    (1 - eta) w + eta lam2 (a - b).

    Parameters
    ----------
    x : sparse matrix or array of shape (m, d)
        Features. Scores have no constant: add a column of ones where one is wanted.
    y : sparse 0/1 matrix or array of shape (m, l)
        Relevant labels.
    lam1, lam2 : float
        Weights of label-wise margins (pairs of labels) and of instance-wise margins (pairs of instances). The
        half of a step whose weight is 0 is left out, unless ``idle``: ``lam2=0`` is LIMO-label, ``lam1=0`` is
        LIMO-inst.
    eta : float
        Step size, within 0..1 and neither.
    epochs : int
        Steps over instances times rounded label cardinality, which the paper leaves open; the program
        of its authors takes 10.
    sampling : {"weighted", "uniform"}
        Draw instances by R (l - R) and labels by C (m - C), as the paper has it, C being a label's instances;
        or instances alike and the label among those of instance a, as the program of its authors does.
    idle : bool
        Take a half whose weight is 0 all the same, as algorithm 1 reads to the letter: it adds nothing, but
        where its margin is below 1 it shrinks the weights of the labels it draws.
    seed : int
        Seed of weights and of draws.

    Returns
    -------
    Weights
        The average of all iterates, which the algorithm returns, and the last of them.

    Raises
    ------
    ValueError
        If a number is out of range or no instance or label has both kinds of cells.

    Notes
    -----
    A step costs as much as the drawn instances have features: weights are kept as a scale times a vector, and
    the sum of iterates as multiples of that vector (`scripts.limo.stepping`). Only when its scale has become
    small, at eta = 0.01 every 917 changes, are the weights of a label multiplied out. Initial weights come
    from N(0, 1/sqrt(d)), read as a standard deviation, which is what the program of the authors does too.
    """
    if not 0 < eta < 1 or epochs < 1 or min(lam1, lam2) < 0 or lam1 == lam2 == 0:
        raise ValueError(f"eta={eta}, epochs={epochs}, lam1={lam1}, lam2={lam2}: not a step size and weights")
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling={sampling!r} is not one of {', '.join(SAMPLINGS)}")
    features = scipy.sparse.csr_array(x)
    truth = scipy.sparse.csr_array(y, dtype=np.int64)
    truth.eliminate_zeros()
    weighted = sampling == "weighted"
    relevant, holders = members(truth, weighted), members(scipy.sparse.csr_array(truth.T), weighted)
    if relevant.drawn[-1] == 0 or holders.drawn[-1] == 0:
        raise ValueError("no instance, or no label, has both relevant and irrelevant cells")
    (n_rows, dim), n_labels = features.shape, truth.shape[1]
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
        features.indptr.astype(np.int64), features.indices.astype(np.int64), features.data.astype(np.float64)
    )
    stream = rng.integers(2**64, size=1, dtype=np.uint64)
    rates = (eta * lam1, eta * lam2)
    take_steps(matrix, relevant, holders, not weighted, rates, idle, eta, n_steps, stream, iterate)
    return Weights(np.ascontiguousarray(iterate.total.T) / n_steps, np.ascontiguousarray(iterate.w.T))


def members(groups: Any, weighted: bool) -> Members:
    """Return the ids of each row of a CSR pattern, drawn by its number of pairs with other ids, or alike."""
    groups.sort_indices()
    sizes: Ints = np.diff(groups.indptr).astype(np.int64)
    weights = sizes * (groups.shape[1] - sizes) if weighted else np.ones_like(sizes)
    return Members(groups.indptr.astype(np.int64), groups.indices.astype(np.int64), np.cumsum(weights))
