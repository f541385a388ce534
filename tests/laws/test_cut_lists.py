"""A model and its own lists, cut at any depth, are never told apart."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, load_npz

from tests.conftest import DATA, NO_DATA
from xmleval import compare

N, L = 150, 24
RNG = np.random.default_rng(0)
TRUTH = np.asarray(RNG.random((N, L)) < 0.1, np.int8)
SCORES = 0.1 + np.abs(0.7 * TRUTH + RNG.random((N, L)))
ORDER = np.argsort(-SCORES, axis=1)
LENGTHS = {  # of the lists of the model
    "full": np.full(N, L),
    "equal": np.full(N, 16),
    "ragged": RNG.integers(0, L, N),
    "falling": np.minimum(RNG.geometric(0.2, N), L),
    "few long": np.where(np.arange(N) % 30, 8, 16),
}
METRICS = [
    *("p@1", "p@5", "r@5", "ndcg@5", "mrr@5", "map@5", "psp@3", "f1.macro@5", "f1.samples@3"),
    *("label_coverage@5", "one_error", "rprec", "lrap", "map@all", "ndcg@all", "mrr@all", "ranking_loss"),
    *("coverage", "auc.samples", "auc.micro", "auc.macro", "ap.macro"),
]
OPTIONS: dict[str, dict[str, Any]] = {
    "below": {},
    "score above some": {"conventions": "unlisted=0.5"},
    "sklearn": {"conventions": "sklearn"},
}
GROUPS = {
    "label_groups": np.array(["frequent", "torso", "rare"])[np.arange(L) % 3],
    "row_groups": np.array(["even", "odd"])[np.arange(N) % 2],
}


def model(form: str, lengths: Any) -> Any:
    """The leading labels of each row in some form."""
    listed = np.arange(L) < np.reshape(lengths, (-1, 1))
    scores = np.take_along_axis(SCORES, ORDER, axis=1)
    if form == "lists":
        return np.where(listed, ORDER, -1), np.where(listed, scores, np.nan)
    rows, ranks = np.nonzero(listed)
    return csr_array((scores[listed], (rows, ORDER[rows, ranks])), shape=(N, L))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("form", ["lists", "matrix"])
def test_models_are_not_told_from_their_own_lists_cut_anywhere(form: str, lengths: str, options: str) -> None:
    of_model = LENGTHS[lengths]
    models = {"whole": model(form, of_model)}
    models |= {f"cut at {k}": model(form, np.minimum(of_model, k)) for k in (1, 2, 4, 7, 12, 20)}
    for test in ("t", "randomisation") if lengths == "ragged" else ("t",):
        arguments: dict[str, Any] = {"y_train": TRUTH, "test": test, **GROUPS, **OPTIONS[options]}
        compared = compare(TRUTH, models, baseline="whole", metrics=METRICS, **arguments)
        for each in compared.differences:
            told = f"{each.a}: {each.name} {each.group}: {each.value}, p {each.p_value}"
            assert not each.p_value < 0.05, told
            assert each.better is None, told


@pytest.mark.parametrize("options", [{}, {"conventions": "sklearn"}], ids=str)
def test_models_that_differ_are_told_apart(options: dict[str, Any]) -> None:
    folder = DATA / "bibtex"
    if not folder.exists():
        pytest.skip(NO_DATA)
    models = {
        name: tuple(np.load(folder / f"topk_{name}_{part}.npy") for part in ("indices", "scores"))
        for name in ("lr", "knn10")
    }
    truth = load_npz(folder / "Y_test.npz")
    compared = compare(truth, models, metrics=["p@1", "p@5", "r@5", "ndcg@5", "mrr@5"], **options)
    assert [each.better for each in compared.differences] == ["lr"] * 5
