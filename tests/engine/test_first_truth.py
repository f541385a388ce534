"""An evaluator takes the number of labels from the columns of the first truth."""

from __future__ import annotations

import copy
import pickle
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, evaluate

Y = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
S = np.array([[0.9, 0.2, 0.4, 0.8], [0.3, 0.7, 0.6, 0.1], [0.5, 0.2, 0.1, 0.4]])
METRICS = ["p@1", "f1.macro@2", "lrap"]
NAMES = list("wxyz")


@cache
def expected() -> dict[str, float]:
    return {**evaluate(Y, S, metrics=METRICS)}


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.coo_matrix])
def test_a_matrix_tells_the_number_of_labels(form: Any) -> None:
    ev = Evaluator(METRICS)
    assert ev.n_labels == 0
    assert "0 rows, labels not known yet" in repr(ev)
    ev.update(form(Y[:2]), S[:2])
    assert ev.n_labels == 4
    ev.update([[2]], [[(0, 0.5), (1, 0.2), (2, 0.1), (3, 0.4)]])  # from now on, lists are of ids
    assert {**ev.compute()} == expected()
    with pytest.raises(ValueError, match=r"^y_true: shape"):
        ev.update(np.eye(3), np.eye(3))


def test_a_tensor_tells_the_number_of_labels() -> None:
    torch = pytest.importorskip("torch")
    ev = Evaluator(METRICS)
    ev.update(torch.tensor(Y), torch.tensor(S))
    assert {**ev.compute()} == expected()


def test_columns_of_a_frame_tell_labels_and_names() -> None:
    pd = pytest.importorskip("pandas")
    truth, scores = pd.DataFrame(Y, columns=NAMES), pd.DataFrame(S, columns=NAMES)
    ev, numbered = Evaluator(METRICS), Evaluator(METRICS)
    ev.update(truth[:1], scores[:1])
    ev.update(truth[1:][NAMES[::-1]], scores[1:])
    numbered.update(pd.DataFrame(Y), S)
    assert {**ev.compute()} == {**numbered.compute()} == expected()
    assert ev.compute().label_names == NAMES
    assert numbered.compute().label_names is None
    with pytest.raises(ValueError, match=r"^n_labels: give the number of labels, or labels="):
        Evaluator(METRICS).update(pd.DataFrame({"instance": [1], "label": [2]}), scores[:1])


@pytest.mark.parametrize("truth", [[[0, 3], [1], [2]], Y.tolist(), {"q": ["x"]}, np.array([1, 0])])
def test_a_truth_without_columns_does_not_tell_it(truth: Any) -> None:
    with pytest.raises(ValueError, match=r"^n_labels: give the number of labels, or labels=, their names$"):
        Evaluator(METRICS).update(truth, S)


def test_refused_rows_tell_nothing() -> None:
    ev = Evaluator(METRICS)
    with pytest.raises(ValueError, match="nan"):
        ev.update(np.eye(3), np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="inverse_propensity: shape"):
        Evaluator("psp@1", inverse_propensity=[2.0, 3.0]).update(Y, S)
    with pytest.raises(ValueError, match="nothing was counted yet"):
        ev.compute()
    ev.update(Y, S)
    assert {**ev.compute()} == expected()


def test_what_needs_no_labels_is_checked_at_once() -> None:
    for given in ({"metrics": "p@x"}, {"decision": "best"}, {"conventions": "none"}, {"higher_is_better": 3}):
        with pytest.raises(ValueError, match=r"p@x|best|none|3"):
            Evaluator(**given)


@pytest.mark.parametrize("n_labels", [(None, None), (4, None), (None, 4)])
def test_merging_tells_the_number_of_labels(n_labels: tuple[int | None, int | None]) -> None:
    ev, other = (Evaluator(METRICS, n_labels=n) for n in n_labels)
    other.update(Y, S)
    assert {**ev.merge(other).compute()} == expected()
    assert {**ev.merge(Evaluator(METRICS)).compute()} == expected()
    with pytest.raises(ValueError, match=r"^merge: metrics differs"):
        Evaluator("p@1").merge(Evaluator("p@3"))
    assert Evaluator("p@1").merge(Evaluator("p@1")).n_labels == 0


def test_copies_do_not_share_what_they_learn(tmp_path: Path) -> None:
    ev = Evaluator(iter(METRICS))
    with pytest.raises(ValueError, match=r"^n_labels: not known before the first update"):
        ev.save(tmp_path / "s.npz")
    copies = [copy.copy(ev), copy.deepcopy(ev), pickle.loads(pickle.dumps(ev))]
    ev.update(np.eye(2), np.eye(2))
    for one in copies:
        assert one.n_labels == 0
        one.update(Y, S)
        assert {**one.compute()} == expected()
    copies[0].reset()
    assert copies[0].n_labels == 4


def test_threads_agree_on_the_number_of_labels() -> None:
    for _ in range(5):
        ev = Evaluator("p@1")
        failed: list[int] = []

        def run(n: int, ev: Evaluator = ev, failed: list[int] = failed) -> None:
            try:
                ev.update(np.eye(n), np.eye(n))
            except ValueError:
                failed.append(n)

        threads = [threading.Thread(target=run, args=(n,)) for n in (3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [7 - ev.n_labels] == failed
        assert ev.n_rows == ev.n_labels
