"""Simulated test sets: power-law labels, and scores of a model whose quality varies by row.

Labels appeal to a row by a linear function of its features, on top of their Zipf frequency. Those
drawn in proportion to the exponential of their appeal are relevant, and their number is log-normal.
The model knows the weights of a label the worse, the rarer it is, and sees the features the worse,
the harder the row. Rows of a cluster, such as the sentences of a document, share half of the
variance of their features, their mean number of labels and how hard they are.

A large pool of clusters is drawn once. It is the population: data sets are clusters drawn from it
with replacement, so that values of the population are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xmleval import inverse_propensity

N_FEATURES = 8
STRENGTH = 6.0
# labels per row after the first, log-normal
ROW_MEAN = 4.0
SPREAD = 0.6
# training rows, and training positives at which a weight is half noise
TRAIN_ROWS = 20_000
SHRINK = 20.0
NOISE = 0.15  # mean noise of the features that the model sees
CHUNK = 4096
Scores = tuple[NDArray[np.int32], NDArray[np.float32]]


@dataclass(frozen=True)
class Rows:
    """Rows with their relevant labels, best scores and cluster ids."""

    truth: sparse.csr_matrix[np.float32]
    scores: Scores
    cluster: NDArray[np.int64]


@dataclass(frozen=True)
class Population:
    """A pool of rows, in order of their clusters, and the inverse propensities of the labels."""

    rows: Rows
    starts: NDArray[np.int64]  # where the rows of each cluster start
    inverse_propensity: NDArray[np.float64]

    @property
    def clustered(self) -> bool:
        """Whether clusters have several rows."""
        return self.starts.size <= int(self.starts[-1])

    def draw(self, n_rows: int, random: np.random.Generator) -> Rows:
        """Draw clusters with replacement, of about ``n_rows`` rows.

        The number of rows is exact if each cluster has one row.
        """
        sizes = np.diff(self.starts)
        chosen = random.integers(sizes.size, size=round(n_rows * sizes.size / self.starts[-1]))
        counts = sizes[chosen]
        before = np.cumsum(counts) - counts
        rows = np.arange(counts.sum()) + np.repeat(self.starts[chosen] - before, counts)
        labels, scores = self.rows.scores
        cluster = np.repeat(np.arange(chosen.size), counts)
        return Rows(self.rows.truth[rows], (labels[rows], scores[rows]), cluster)


def make_population(
    n_rows: int, n_labels: int = 1000, cluster_mean: int = 1, depth: int = 10, seed: int = 0
) -> Population:
    """Draw a pool of rows in clusters of 1 to 2 * ``cluster_mean`` - 1 rows."""
    random = np.random.default_rng(seed)
    frequency = 1 / (np.arange(n_labels) + 5.0)
    frequency *= (1 + ROW_MEAN) / frequency.sum()
    scale = STRENGTH / np.sqrt(N_FEATURES)
    weights = scale * random.standard_normal((n_labels, N_FEATURES))
    share = 1 / (1 + TRAIN_ROWS * frequency / SHRINK)  # of noise in the weights of a fitted model
    error = scale * random.standard_normal(weights.shape)
    fitted = np.sqrt(1 - share)[:, None] * weights + np.sqrt(share)[:, None] * error

    sizes = random.integers(1, 2 * cluster_mean, size=max(1, n_rows // cluster_mean))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    cluster = np.repeat(np.arange(sizes.size), sizes)
    cluster_features = random.standard_normal((sizes.size, N_FEATURES))
    row_features = random.standard_normal((starts[-1], N_FEATURES))
    features = np.sqrt(0.5) * (cluster_features[cluster] + row_features)
    level = np.exp(SPREAD * random.standard_normal(sizes.size) - SPREAD**2 / 2)
    n_relevant = np.minimum(1 + random.poisson(ROW_MEAN * level[cluster]), n_labels)
    hardness = random.gamma(2.0, 0.5, sizes.size)[cluster]

    truths: list[sparse.csr_matrix[np.float32]] = []
    lists: list[Scores] = []
    for first in range(0, starts[-1], CHUNK):
        part = slice(first, first + CHUNK)
        appeal = (features[part] @ weights.T + np.log(frequency)).astype(np.float32)
        waits = random.standard_exponential(appeal.shape, np.float32)
        appeal -= np.log(np.maximum(waits, np.finfo(np.float32).tiny))  # Gumbel's distribution
        truths.append(leading(appeal, n_relevant[part]))
        noise = NOISE * hardness[part, None] * random.standard_normal(features[part].shape)
        scores = (features[part] + noise) @ fitted.T + np.log(frequency)
        lists.append(top(scores.astype(np.float32), depth))
    truth = sparse.csr_matrix(sparse.vstack(truths))
    counts = random.binomial(TRAIN_ROWS, np.asarray(truth.mean(axis=0)).ravel())
    q = np.asarray(inverse_propensity(label_counts=counts, n_instances=TRAIN_ROWS))
    return Population(Rows(truth, join_lists(lists), cluster), starts, q)


def leading(
    appeal: NDArray[np.float32], counts: NDArray[np.int64]
) -> sparse.csr_matrix[np.float32]:
    """Return a matrix of ones: row i has its ``counts[i]`` most appealing labels."""
    labels, _ = top(appeal, int(counts.max()))
    kept = np.arange(labels.shape[1]) < counts[:, None]
    ptr = np.concatenate(([0], np.cumsum(counts)))
    truth = sparse.csr_matrix((np.ones(ptr[-1], np.float32), labels[kept], ptr), appeal.shape)
    truth.sort_indices()
    return truth


def join_lists(lists: list[Scores]) -> Scores:
    """Join lists, and turn scores into probabilities.

    On average, the number of probabilities above 0.5 is that of relevant labels.
    """
    labels, scores = (np.concatenate(arrays) for arrays in zip(*lists, strict=True))
    middle = np.quantile(scores, 1 - (1 + ROW_MEAN) / scores.shape[1])
    return labels, 1 / (1 + np.exp(middle - scores))


def top(scores: NDArray[np.float32], depth: int) -> Scores:
    """Return labels and scores of the first ``depth`` ranks by row, best first."""
    labels = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
    order = np.argsort(-np.take_along_axis(scores, labels, axis=1), axis=1)
    labels = np.take_along_axis(labels, order, axis=1)
    return labels.astype(np.int32), np.take_along_axis(scores, labels, axis=1)
