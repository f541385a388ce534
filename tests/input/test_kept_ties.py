"""Rows that are cut keep the labels that tie with their last one, for means over all orders."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xmleval import evaluate

METRICS = ["p@2", "r@2", "mrr@2", "map@2", "ndcg@2", "psp@2", "psndcg@2"]


@pytest.mark.parametrize("ties", ["expected", "band"])
@pytest.mark.parametrize("form", ["sparse", "lists", "dicts"])
def test_values_do_not_depend_on_how_much_of_a_row_is_read(form: str, ties: str) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((50, 20)) < 0.2
    scores = rng.integers(1, 5, truth.shape) / 4
    y_true: Any = truth
    y_score: Any = csr_array(scores)
    if form == "lists":
        order = np.argsort(-scores, axis=1, kind="stable")
        y_score = (order, np.take_along_axis(scores, order, 1))
    elif form == "dicts":
        y_true = {str(i): {str(j): 1 for j in np.flatnonzero(row)} for i, row in enumerate(truth)}
        y_score = {str(i): {str(j): s for j, s in enumerate(row)} for i, row in enumerate(scores)}
    options: dict[str, Any] = {"conventions": f"ties={ties}", "per_row": True}
    if form != "dicts":
        options["inverse_propensity"] = 1 + 3 * rng.random(20)
    metrics = METRICS if form != "dicts" else METRICS[:5]
    cut = evaluate(y_true, y_score, metrics=metrics, **options)
    whole = evaluate(y_true, y_score, metrics=[*metrics, "lrap"], **options)
    for name in metrics:
        assert cut[name] == whole[name]
        assert cut.intervals.get(name) == whole.intervals.get(name)
    for name, values in cut.per_row().items():
        np.testing.assert_array_equal(values, whole.per_row()[name])


def test_top_k_of_torch_keeps_all_labels_for_means_over_orders() -> None:
    torch = pytest.importorskip("torch")
    from xmleval.integrations.topk import TopKSelector

    scores = torch.ones(2, 9)
    for ties, n_kept in (("order", 2), ("expected", 9)):
        select = TopKSelector("p@2", 9, {"conventions": f"ties={ties}"})
        kept: Any = select(scores)
        labels = kept if ties == "expected" else kept[0]
        assert labels.shape == (2, n_kept)
