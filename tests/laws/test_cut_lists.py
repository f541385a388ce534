"""Comparisons of a model with its lists cut at any depth show no difference."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, load_npz

from tests.conftest import DATA, NO_DATA
from xmleval import compare

N = 150
L = 24
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
    *("label_coverage@5", "one_error", "rprec", "lrap", "map@all", "ndcg@all", "mrr@all"),
    *("ranking_loss", "coverage", "auc.samples", "auc.micro", "auc.macro", "ap.macro"),
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
    """Return the first labels by row, as lists or as a matrix."""
    listed = np.arange(L) < np.reshape(lengths, (-1, 1))
    scores = np.take_along_axis(SCORES, ORDER, axis=1)
    if form == "lists":
        return np.where(listed, ORDER, -1), np.where(listed, scores, np.nan)
    rows, ranks = np.nonzero(listed)
    return csr_array((scores[listed], (rows, ORDER[rows, ranks])), shape=(N, L))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("form", ["lists", "matrix"])
def test_compare_finds_no_difference_to_cut_lists(form: str, lengths: str, options: str) -> None:
    list_lengths = LENGTHS[lengths]
    models = {"whole": model(form, list_lengths)}
    for k in (1, 2, 4, 7, 12, 20):
        models[f"cut at {k}"] = model(form, np.minimum(list_lengths, k))
    tests = ["t"]
    if lengths == "ragged":
        tests.append("randomisation")
    for test in tests:
        arguments: dict[str, Any] = {"y_train": TRUTH, "test": test, **GROUPS, **OPTIONS[options]}
        comparison = compare(TRUTH, models, baseline="whole", metrics=METRICS, **arguments)
        for each in comparison.differences:
            message = f"{each.a}: {each.name} {each.group}: {each.value}, p {each.p_value}"
            assert not each.p_value < 0.05, message
            assert each.better is None, message


@pytest.mark.parametrize("options", [{}, {"conventions": "sklearn"}], ids=str)
def test_compare_finds_differences_of_real_models(options: dict[str, Any]) -> None:
    folder = DATA / "bibtex"
    if not folder.exists():
        pytest.skip(NO_DATA)
    models = {}
    for name in ("lr", "knn10"):
        labels = np.load(folder / f"topk_{name}_indices.npy")
        scores = np.load(folder / f"topk_{name}_scores.npy")
        models[name] = (labels, scores)
    truth = load_npz(folder / "Y_test.npz")
    comparison = compare(truth, models, metrics=["p@1", "p@5", "r@5", "ndcg@5", "mrr@5"], **options)
    assert [each.better for each in comparison.differences] == ["lr"] * 5
