"""NGAME's fusion, beside its rule written out on dense arrays."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'xmleval[sklearn]'")

from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from xmleval.integrations.tree_fusion import TreeFusion

RNG = np.random.default_rng(0)
M, N = 60, 12
Y = (RNG.random((M, N)) < 0.25).astype(np.float64)
Q = 1 + RNG.random(N) * 9


def scores(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((M, N)) < 0.4, np.round(0.4 * Y + 0.6 * rng.random((M, N)) + 0.01, 2), 0)


CLASSIFIER, SHORTLIST = scores(1), scores(2)


def written_out(beta: float) -> Any:
    """Return the fused scores of all cells, a cell at a time."""
    cells = [(row, label) for row in range(M) for label in range(N) if CLASSIFIER[row, label]]
    seen = [[CLASSIFIER[cell], SHORTLIST[cell], Q[cell[1]]] for cell in cells]
    grown = DecisionTreeClassifier(max_depth=7, random_state=0).fit(seen, [Y[cell] for cell in cells])
    fused = beta * SHORTLIST + CLASSIFIER
    for cell, (_, probability) in zip(cells, grown.predict_proba(seen), strict=True):
        fused[cell] += beta * probability
    return fused


def fitted(form: Any = sp.csr_array) -> TreeFusion:
    return TreeFusion(Q).fit(form(Y) if form is sp.csr_array else Y, form(CLASSIFIER), form(SHORTLIST))


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_fused_scores_are_those_of_the_rule(beta: float) -> None:
    fused = fitted().fuse(sp.csr_array(CLASSIFIER), sp.csr_array(SHORTLIST), beta=beta)
    np.testing.assert_allclose(fused.toarray(), written_out(beta), rtol=1e-13, atol=0)


def test_pairs_of_lists_have_the_same_fused_scores() -> None:
    def listed(dense: Any) -> tuple[Any, Any]:
        order = np.argsort(-dense, axis=1, kind="stable")
        best = np.take_along_axis(dense, order, 1)
        return np.where(best > 0, order, -1), np.where(best > 0, best, np.nan)

    pairs, matrices = (
        fitted(form).fuse(form(CLASSIFIER), form(SHORTLIST), k=3) for form in (listed, sp.csr_array)
    )
    np.testing.assert_array_equal(pairs.toarray(), matrices.toarray())
    assert np.diff(pairs.indptr).max() == 3


@pytest.mark.parametrize(("change", "message"), [
    ({"shortlist": SHORTLIST[:-1]}, "shortlist: 59 rows"),
    ({"y_true": np.zeros_like(Y)}, "no label"),
    ({"classifier": (np.zeros((M, 1), int), None)}, "without scores"),
    ({"classifier": np.full((M, N), np.nan)}, "row 0"),
])  # fmt: skip
def test_fit_refuses_by_argument(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TreeFusion(Q).fit(**{"y_true": Y, "classifier": CLASSIFIER, "shortlist": SHORTLIST} | change)


def test_fuse_refuses_beta_and_an_unfitted_tree() -> None:
    with pytest.raises(ValueError, match="beta"):
        fitted().fuse(CLASSIFIER, SHORTLIST, beta=0.0)
    with pytest.raises(NotFittedError, match="TreeFusion"):
        TreeFusion(Q).fuse(CLASSIFIER, SHORTLIST)
