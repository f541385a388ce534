"""An evaluator takes the number of labels from the columns of the first truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.engine.data import COPIES
from xmleval import Evaluator, evaluate

Y = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
S = np.array([[0.9, 0.2, 0.4, 0.8], [0.3, 0.7, 0.6, 0.1], [0.5, 0.2, 0.1, 0.4]])
METRICS = ["p@1", "f1.macro@2", "lrap"]
NAMES = list("wxyz")
EXPECTED = dict(evaluate(Y, S, metrics=METRICS))


@pytest.mark.parametrize("kind", ["array", "csr", "coo", "frame", "tensor"])
def test_columns_give_the_number_of_labels(kind: str) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "array": lambda: np.array, "csr": lambda: sp.csr_array, "coo": lambda: sp.coo_matrix,
        "frame": lambda: pytest.importorskip("pandas").DataFrame,
        "tensor": lambda: pytest.importorskip("torch").tensor,
    }  # fmt: skip
    form, evaluator = makers[kind](), Evaluator(METRICS)
    assert evaluator.n_labels == 0
    assert "0 rows, labels not known yet" in repr(evaluator)
    evaluator.update(form(Y[:2]), S[:2])
    assert evaluator.n_labels == 4
    evaluator.update([[2]], [[(0, 0.5), (1, 0.2), (2, 0.1), (3, 0.4)]])  # from now on, lists are of ids
    assert dict(evaluator.compute()) == EXPECTED
    assert evaluator.compute().label_names is None
    with pytest.raises(ValueError, match=r"^y_true: shape"):
        evaluator.update(np.eye(3), np.eye(3))


def test_columns_of_a_frame_give_names() -> None:
    pd = pytest.importorskip("pandas")
    truth, scores = pd.DataFrame(Y, columns=NAMES), pd.DataFrame(S, columns=NAMES)
    evaluator = Evaluator(METRICS)
    evaluator.update(truth[:1], scores[:1])
    evaluator.update(truth[1:][NAMES[::-1]], scores[1:])
    assert dict(evaluator.compute()) == EXPECTED
    assert evaluator.compute().label_names == NAMES


@pytest.mark.parametrize("truth", [[[0, 3], [1], [2]], Y.tolist(), {"q": ["x"]}, np.array([1, 0]), "frame"])
def test_truth_without_columns_does_not(truth: Any) -> None:
    if isinstance(truth, str):
        truth = pytest.importorskip("pandas").DataFrame({"instance": [1], "label": [2]})
    with pytest.raises(ValueError, match=r"^n_labels: give the number of labels, or labels=, their names$"):
        Evaluator(METRICS).update(truth, S)


def test_refused_rows_leave_it_open_and_options_are_checked_at_once(tmp_path: Path) -> None:
    evaluator = Evaluator(iter(METRICS))
    with pytest.raises(ValueError, match="nan"):
        evaluator.update(np.eye(3), np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"^n_labels: not known before the first update"):
        evaluator.save(tmp_path / "state")
    copies = [copied(evaluator) for copied in COPIES.values()]
    evaluator.update(np.eye(2), np.eye(2))
    for copied in copies:
        assert copied.n_labels == 0
        copied.update(Y, S)
        assert dict(copied.compute()) == EXPECTED
        copied.reset()
        assert copied.n_labels == 4
    with pytest.raises(ValueError, match="inverse_propensity: shape"):
        Evaluator("psp@1", inverse_propensity=[2.0, 3.0]).update(Y, S)
    with pytest.raises(ValueError, match="p@x"):
        Evaluator("p@x")


@pytest.mark.parametrize("n_labels", [(None, None), (4, None), (None, 4)])
def test_merge_gives_the_number_of_labels(n_labels: tuple[int | None, int | None]) -> None:
    evaluator, shard = (Evaluator(METRICS, n_labels=n) for n in n_labels)
    shard.update(Y, S)
    assert dict(evaluator.merge(shard).compute()) == EXPECTED
    assert evaluator.n_labels == 4
    assert dict(evaluator.merge(Evaluator(METRICS)).compute()) == EXPECTED
    with pytest.raises(ValueError, match=r"^merge: metrics differs"):
        Evaluator("p@1").merge(Evaluator("p@3"))
    assert Evaluator("p@1").merge(Evaluator("p@1")).n_labels == 0
