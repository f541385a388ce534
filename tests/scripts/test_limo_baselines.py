"""Baselines of LIMO against plain versions of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from scripts.limo.baselines import best_set, find_neighbours, gfm_sets, mlknn_scores, svm_scores
from tests.conftest import seeds
from tests.scripts import limo_literal as literal


def test_mlknn_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    x, x_test = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
    y = (rng.random((40, 5)) < [0.1, 0.5, 0.9, 0.0, 1.0]).astype(int)
    near = find_neighbours(x, x_test, k=4)
    for s in (1.0, 0.5):
        own, others = mlknn_scores(sp.csr_array(y), near, s)
        np.testing.assert_allclose(others, literal.mlknn(x, y, x_test, 4, s), rtol=1e-12)
        # the nearest of a training instance, itself left out: moving it away changes nothing else
        np.testing.assert_allclose(own, literal.mlknn(x, y, x, 4, s, own=True), rtol=1e-12)
    assert not (near.train == np.arange(40)[:, None]).any()


@given(seeds, st.integers(1, 7), st.integers(1, 10))
def test_gfm_sets_are_best_of_all(seed: int, n_labels: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.random((k, n_labels)) < rng.choice([0.0, 0.2, 0.5, 0.9], (k, 1))
    sets = [set(np.flatnonzero(row).tolist()) for row in y]
    found = set(best_set([np.flatnonzero(row) for row in y]).tolist())
    best = max(literal.expected_f1(h, sets) for h in literal.subsets(n_labels))
    assert abs(literal.expected_f1(found, sets) - best) < 1e-12


def test_gfm_predicts_for_each_row_from_its_neighbours() -> None:
    rng = np.random.default_rng(4)
    x, x_test = rng.normal(size=(30, 2)), rng.normal(size=(8, 2))
    y = rng.random((30, 6)) < 0.3
    near = find_neighbours(x, x_test, k=5)
    found = gfm_sets(sp.csr_array(y), near).toarray()
    for row, places in zip(found, near.test, strict=True):
        assert np.flatnonzero(row).tolist() == best_set([np.flatnonzero(y[i]) for i in places]).tolist()


def test_svm_scores_tell_classes_apart_and_skip_labels_of_one_class() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 3))
    y = np.column_stack([x[:, 0] > 0.3, np.ones(80), np.zeros(80)]).astype(int)
    scores, again = svm_scores(sp.csr_array(x), sp.csr_array(y), x, sp.csr_array(x))
    np.testing.assert_allclose(scores, again, rtol=1e-12)
    assert ((scores[:, 0] > 0) == (y[:, 0] == 1)).mean() > 0.9
    assert (scores[:, 1] == 1).all()
    assert (scores[:, 2] == -1).all()
