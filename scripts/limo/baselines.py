"""Baselines of LIMO: binary relevance, ML-kNN and GFM."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

from xmleval.base.arrays import Floats, Ints

NEIGHBOURS = 10


def svm_scores(x_train: Any, y_train: Any, *features: Any) -> list[Floats]:
    """Score with a linear SVM per label: squared hinge loss, L2 penalty, C = 1, with an intercept.

    Labels of all training instances score 1, and labels of none score -1. Features and labels are
    sparse, (m, d) and (m, l); the scores of each (n, d) of ``features`` are (n, l).
    """
    truth = scipy.sparse.csc_array(y_train).toarray().astype(np.int8)
    scores = [np.empty((x.shape[0], truth.shape[1])) for x in features]
    for label, relevant in enumerate(truth.T):
        if relevant.min() == relevant.max():
            for column in scores:
                column[:, label] = 2.0 * relevant[0] - 1.0
            continue
        # the primal is deterministic and converges for any feature scale
        machine = LinearSVC(C=1.0, dual=False).fit(x_train, relevant)
        for column, x in zip(scores, features, strict=True):
            column[:, label] = machine.decision_function(x)
    return scores


class Neighbourhood(NamedTuple):
    """Nearest training instances of all instances."""

    train: Ints  # (m, k), of training instances, without themselves
    test: Ints  # (n, k), of other instances


def find_neighbours(x_train: Any, x_test: Any, k: int = NEIGHBOURS) -> Neighbourhood:
    """Find the nearest training instances by Euclidean distance of sparse features."""
    finder = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(x_train)
    return Neighbourhood(
        finder.kneighbors(return_distance=False), finder.kneighbors(x_test, return_distance=False)
    )


def mlknn_scores(y_train: Any, near: Neighbourhood, s: float = 1.0) -> tuple[Floats, Floats]:
    """Score with ML-kNN: posteriors of labels given the number of neighbours that have them.

    Returns those of training instances (from other instances), (m, l), and of the others, (n, l),
    with smoothing ``s``. Zhang & Zhou 2007 (Pattern Recognition 40), "ML-KNN: A lazy learning
    approach to multi-label learning".
    """
    truth = scipy.sparse.csr_array(y_train).toarray().astype(np.int64)
    m, n_labels = truth.shape
    k = near.train.shape[1]
    prior = (s + truth.sum(axis=0)) / (2 * s + m)
    votes_train, votes_test = (count_votes(truth, places) for places in near)
    labels = np.arange(n_labels)
    # counts of instances without and with a label, by number of neighbours with it
    having = np.zeros((2, k + 1, n_labels))
    np.add.at(having, (truth, votes_train, labels), 1.0)
    likelihood = (s + having) / (s * (k + 1) + having.sum(axis=1, keepdims=True))

    def posterior(votes: Ints) -> Floats:
        without, with_it = (likelihood[side][votes, labels] for side in (0, 1))
        joint = prior * with_it
        scores: Floats = joint / (joint + (1 - prior) * without)
        return scores

    return posterior(votes_train), posterior(votes_test)


def count_votes(truth: Ints, places: Ints) -> Ints:
    """Count the instances in each row of ``places`` that have each label."""
    votes = np.zeros((places.shape[0], truth.shape[1]), np.int64)
    for column in places.T:
        votes += truth[column]
    return votes


def gfm_sets(y_train: Any, near: Neighbourhood) -> Any:
    """Predict sparse sets (n, l) with GFM.

    They have the largest expected F1 if the true set is that of a random neighbour.
    """
    truth = scipy.sparse.csr_array(y_train).astype(bool)
    truth.sort_indices()
    n_rows = near.test.shape[0]
    n_labels = truth.shape[1]
    chosen = [
        best_set([truth.indices[truth.indptr[i] : truth.indptr[i + 1]] for i in row])
        for row in near.test
    ]
    ptr = np.concatenate(([0], np.cumsum([labels.size for labels in chosen])))
    ids = np.concatenate([np.empty(0, np.int64), *chosen])
    return scipy.sparse.csr_array((np.ones(ids.size, bool), ids, ptr), shape=(n_rows, n_labels))


def best_set(sets: list[Ints]) -> Ints:
    """Return the set of largest mean F1 with the given sets; F1 of two empty sets is 1.

    A set h of size k has expected F1 sum over labels i in h of sum over sizes s of 2 P(i relevant,
    s relevant) / (s + k), so for each k the best h are the k labels of largest inner sum. Ties go
    to the smaller set and the smaller labels. Waegeman, Dembczynski, Jachnik, Cheng & Hullermeier
    2014 (JMLR 15), "On the Bayes-optimality of F-measure maximizers": GFM.
    """
    labels, place = np.unique(np.concatenate(sets), return_inverse=True)
    sizes = np.array([label_ids.size for label_ids in sets])
    share = np.zeros((labels.size, sizes.max() + 1))  # P(label relevant, s relevant)
    np.add.at(share, (place, np.repeat(sizes, sizes)), 1.0 / sizes.size)
    ks = np.arange(1, labels.size + 1)
    inner = share @ (2.0 / (np.arange(share.shape[1])[:, None] + ks))
    best = -np.sort(-inner, axis=0)
    expected = np.concatenate(([np.mean(sizes == 0)], [best[:k, k - 1].sum() for k in ks]))
    # equal sums may differ by rounding
    k = int(np.flatnonzero(expected >= expected.max() - 1e-12)[0])
    if k == 0:
        return np.empty(0, np.int64)
    order = np.argsort(-inner[:, k - 1], kind="stable")
    return np.sort(labels[order[:k]]).astype(np.int64)
