"""Tensors and pairs give what NumPy arrays give, wherever arrays are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from xmleval import Evaluator, evaluate, inverse_propensity, label_statistics
from xmleval.input.pairs import TopK
from xmleval.thresholds import fit

DENSE = np.array(
    [[0.5, 0.25, 2, 1, 0], [3, 1, 0.5, 0, -1], [0, 1, 2, 3, 4], [1, 0.5, 0.25, 2, 3]], np.float32
)
RANKED = ["p", "ndcg", "lrap", "ranking_loss", "f1.macro@2"]
SETS = ["f1.macro", "hamming_loss"]


def json_of(*rows: Any, **more: Any) -> str:
    return evaluate(*rows, **{"metrics": RANKED, **more}).to_json()


class OnDevice:
    """An array that must be copied from a device by its own method."""

    __cuda_array_interface__ = None

    def __init__(self, array: Any) -> None:
        self.held = array

    def get(self) -> Any:
        return self.held

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")


class Exchanged:
    """An array that is given by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.held = np.array(array)

    def __dlpack__(self, **more: Any) -> Any:
        return self.held.__dlpack__(**more)

    def __dlpack_device__(self) -> Any:
        return self.held.__dlpack_device__()


class Untyped:
    """A tensor by its methods, without a type."""

    def __init__(self, array: Any) -> None:
        self.held, self.shape = array, array.shape

    def detach(self) -> Untyped:
        return self

    def cpu(self) -> Untyped:
        return self

    def numpy(self) -> Any:
        return self.held


class Elsewhere(Exchanged):
    """An array on another device."""

    def __dlpack__(self, **more: Any) -> Any:
        raise BufferError("device is not supported")


@pytest.mark.parametrize("make", [OnDevice, Exchanged])
def test_arrays_of_other_libraries_are_read(make: Callable[[Any], Any]) -> None:
    assert json_of(make(Y_TEST), make(DENSE)) == json_of(Y_TEST, DENSE)
    assert json_of(make(Y_TEST), (make(LABELS), make(SCORES))) == json_of(Y_TEST, (LABELS, SCORES))


def test_a_tensor_without_a_type_is_read() -> None:
    assert json_of(Y_TEST, Untyped(DENSE)) == json_of(Y_TEST, DENSE)


def test_an_array_on_another_device_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^y_score: cannot be read by DLPack .*; copy it to a NumPy array$"):
        evaluate(Y_TEST, Elsewhere(DENSE), metrics=["p@1"])


def tensors() -> dict[str, Callable[[Any], Any]]:
    torch: Any = pytest.importorskip("torch")
    return {
        "plain": torch.tensor,
        "with gradients": lambda a: torch.tensor(a, requires_grad=True) * 1,
        "bfloat16": lambda a: torch.tensor(a).bfloat16(),
        "half": lambda a: torch.tensor(a).half(),
        "double": lambda a: torch.tensor(a).double(),
        "transposed": lambda a: torch.tensor(np.array(a.T)).T,
        "CSR": lambda a: torch.tensor(a).to_sparse_csr(),
        "CSC": lambda a: torch.tensor(a).to_sparse_csc(),
        "COO": lambda a: torch.tensor(a, requires_grad=True).to_sparse(),
        "CSR in bfloat16": lambda a: torch.tensor(a).bfloat16().to_sparse_csr(),
        "COO not coalesced": lambda a: torch.sparse_coo_tensor(
            np.array(a.nonzero())[:, ::-1].copy(), a[a.nonzero()][::-1].copy(), a.shape
        ),
    }


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("kind", [
    "plain", "with gradients", "bfloat16", "half", "double", "transposed", "CSR", "CSC", "COO",
    "CSR in bfloat16", "COO not coalesced",
])  # fmt: skip
def test_tensors_give_what_arrays_give(kind: str) -> None:
    make = tensors()[kind]
    sparse = kind.startswith(("C", "COO"))
    scores = DENSE + 2  # no zeros, which sparse tensors leave out
    expected = json_of(Y_TEST, sp.csr_array(scores) if sparse else scores)
    assert json_of(make(Y_TEST), make(scores)) == expected
    sets = json_of(Y_TEST, y_pred=Y_TEST[::-1].copy(), metrics=SETS)
    assert json_of(make(Y_TEST), y_pred=make(Y_TEST[::-1].copy()), metrics=SETS) == sets


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_sparse_tensors_are_refused_where_matrices_are() -> None:
    torch: Any = pytest.importorskip("torch")
    twice = torch.sparse_coo_tensor([[1, 1], [3, 3]], [1.0, 1.0], (4, 5))
    with pytest.raises(ValueError, match=r"^y_score: row 1: label id 3 occurs twice"):
        evaluate(Y_TEST, twice, metrics=["p@1"])
    with pytest.raises(
        ValueError, match=r"^y_true: a sparse_bsr tensor of shape \(4, 4\) is no CSR, CSC or COO"
    ):
        evaluate(torch.ones(4, 4).to_sparse_bsr((2, 2)), DENSE[:, :4], metrics=["p@1"])


def test_tensors_are_taken_wherever_arrays_are() -> None:
    torch: Any = pytest.importorskip("torch")
    q = inverse_propensity(torch.tensor(Y_TRAIN))
    assert q.tolist() == inverse_propensity(Y_TRAIN).tolist()
    weights = np.array([1.0, 2, 0, 3])
    more = {"inverse_propensity": torch.tensor(np.array(q)), "sample_weight": torch.tensor(weights)}
    found = json_of(torch.tensor(Y_TEST), torch.tensor(DENSE), metrics=["psp@3"], **more)
    assert found == json_of(
        Y_TEST, DENSE, metrics=["psp@3"], inverse_propensity=np.array(q), sample_weight=weights
    )
    rules = [fit(y, s, "f1.micro") for y, s in ((Y_TEST, DENSE), (torch.tensor(Y_TEST), torch.tensor(DENSE)))]
    assert str(rules[0]) == str(rules[1])
    assert (rules[0].apply(DENSE) != rules[1].apply(torch.tensor(DENSE))).nnz == 0
    assert label_statistics(torch.tensor(Y_TEST)) == label_statistics(Y_TEST)
    ev = Evaluator(RANKED, n_labels=5)
    ev.update(torch.tensor(Y_TEST[:2]), torch.topk(torch.tensor(DENSE[:2]), 3))
    ev.update(torch.tensor(Y_TEST[2:]), torch.topk(torch.tensor(DENSE[2:]), 3))
    best = np.argsort(-DENSE, axis=1)[:, :3]
    assert ev.compute().to_json() == json_of(Y_TEST, (best, np.take_along_axis(DENSE, best, 1)))


class Result(NamedTuple):
    """A named pair, as `torch.topk` gives it."""

    values: Any
    indices: Any


PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "labels first": lambda labels, scores: (labels, scores),
    "scores first": lambda labels, scores: (scores, labels),
    "named": lambda labels, scores: Result(scores, labels),
    "dict": lambda labels, scores: {"scores": scores, "indices": labels},
}


@pytest.mark.parametrize("kind", PAIRS)
def test_the_integers_of_a_pair_are_the_labels(kind: str) -> None:
    make = PAIRS[kind]
    assert json_of(Y_TEST, make(LABELS, SCORES)) == json_of(Y_TEST, (LABELS, SCORES))
    assert json_of(Y_TEST, make(LABELS.tolist(), SCORES.tolist())) == json_of(
        Y_TEST, (LABELS, SCORES.astype(float))
    )
    assert json_of(Y_TEST, make(LABELS, SCORES), metrics=["auc.micro"], unlisted=0.0) == json_of(
        Y_TEST, (LABELS, SCORES), metrics=["auc.micro"], unlisted=0.0
    )


def test_two_arrays_of_integers_are_refused_unless_only_one_can_be_labels() -> None:
    ranks = np.array([[3, 2, 1]] * 4)
    with pytest.raises(
        ValueError, match=r"^y_score: two arrays of integers that can both be labels; give the sc"
    ):
        evaluate(Y_TEST, (LABELS, ranks), metrics=["p@1"])
    expected = json_of(Y_TEST, (LABELS, ranks.astype(float)))
    assert json_of(Y_TEST, (LABELS, ranks * 10)) == json_of(Y_TEST, (LABELS, ranks * 10.0)) == expected
    for known in (TopK(LABELS, ranks), Result(ranks, LABELS), {"indices": LABELS, "scores": ranks}):
        assert json_of(Y_TEST, known) == expected


def test_a_dict_of_labels_alone_is_a_ranking() -> None:
    assert json_of(Y_TEST, {"indices": LABELS}, metrics=["p"]) == json_of(
        Y_TEST, (LABELS, None), metrics=["p"]
    )
    with pytest.raises(ValueError, match=r"auc.micro needs scores in y_score="):
        evaluate(Y_TEST, {"indices": LABELS}, metrics=["auc.micro"])


def test_files_tell_which_integers_are_labels(folder: Any, run: Callable[..., str]) -> None:
    ranks = np.array([[3, 2, 1]] * 4)
    np.savez("list.npz", indices=LABELS, scores=ranks)
    assert '"p@1": 0.5' in run("evaluate Y_test.npz list.npz --metrics p@1 --format json")


def test_tensors_without_numbers_are_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^y_score: a tensor that cannot become an array: .*meta"):
        evaluate(Y_TEST, torch.zeros(4, 5, device="meta"), metrics=["p@1"])


def test_lists_of_tensors_are_lists_of_ids() -> None:
    torch = pytest.importorskip("torch")
    rows = [[0, 2], [1], []]
    tensors = [torch.tensor(row, dtype=torch.int64) for row in rows]
    measures = ["f1.macro", "f1.samples"]
    assert evaluate(tensors, y_pred=rows[::-1], n_labels=3, metrics=measures) == evaluate(
        rows, y_pred=rows[::-1], n_labels=3, metrics=measures
    )
