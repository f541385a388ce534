"""Evaluators count rows once, and take their labels from the columns of the first truth."""

import gc
import itertools
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.evaluation.data import COPIES
from xmleval import Evaluator, Running, evaluate
from xmleval.evaluation.evaluator import counts_of

TRUTH = np.eye(6, dtype=int)
SCORES = np.arange(36.0).reshape(6, 6)
Change = Callable[[Evaluator], Evaluator]


def counting(*batches: slice) -> Evaluator:
    evaluator = Evaluator("p@1", n_labels=6)
    for rows in batches:
        evaluator.update(TRUTH[rows], SCORES[rows])
    return evaluator


@pytest.fixture
def reloaded(tmp_path: Path) -> Change:
    def save_and_load(evaluator: Evaluator) -> Evaluator:
        evaluator.save(tmp_path / "state")
        return Evaluator.load(tmp_path / "state")

    return save_and_load


def with_more_rows(evaluator: Evaluator) -> Evaluator:
    copied = COPIES["deepcopy"](evaluator)
    copied.update(TRUTH[:2], SCORES[:2])
    return copied


def test_rows_are_not_merged_twice(reloaded: Change) -> None:
    evaluator = counting(slice(0, 4), slice(4, 6))
    before = evaluator.compute().to_json()
    message = "^merge: 6 rows of both are counted already; count each row once$"
    changes: list[Change] = [
        lambda unchanged: unchanged,
        *COPIES.values(),
        reloaded,
        with_more_rows,
        lambda shard: counting(slice(0, 3)).merge(shard),
    ]
    for change in changes:
        changed = change(evaluator)
        for target, source in ((evaluator, changed), (changed, evaluator)):
            with pytest.raises(ValueError, match=message):
                target.merge(source)
    assert evaluator.compute().to_json() == before


def test_different_rows_are_merged_whatever_they_contain() -> None:
    evaluator = counting(slice(0, 6))
    equal = counting(slice(0, 6))
    empty = counting()
    evaluator.merge(equal).merge(empty).merge(counting(slice(0, 1)))
    assert evaluator.n_rows == 13
    evaluator.update(TRUTH, SCORES)
    assert evaluator.n_rows == 19
    assert empty.merge(empty).n_rows == 0
    evaluator.reset()
    evaluator.update(TRUTH, SCORES)
    assert evaluator.merge(equal).n_rows == 12


def test_copies_of_an_evaluator_without_rows_are_merged(reloaded: Change) -> None:
    expected = counting(slice(0, 6)).compute()
    copies = [*COPIES.values(), reloaded]
    for make_copy, batches in itertools.product(copies, ([], [slice(0, 0)])):
        template = counting(*batches)
        first = make_copy(template)
        second = make_copy(template)
        first.update(TRUTH[:4], SCORES[:4])
        second.update(TRUTH[:0], SCORES[:0])
        second.update(TRUTH[4:], SCORES[4:])
        assert first.merge(second).compute() == expected
        with pytest.raises(ValueError, match=r"^merge: 2 rows of both are counted already"):
            first.merge(second)
        assert template.n_rows == 0


def test_numbered_rows_are_counted_once(reloaded: Change) -> None:
    evaluator = counting()
    overlapping = counting()
    evaluator.update(TRUTH[:4], SCORES[:4], first_row=0)
    overlapping.update(TRUTH[2:], SCORES[2:], first_row=2)
    message = (
        r"^first_row: rows 2\.\.3 are counted already; give each shard the index of its first row$"
    )
    with pytest.raises(ValueError, match=message):
        evaluator.merge(reloaded(overlapping))
    with pytest.raises(ValueError, match=message):
        evaluator.update(TRUTH[2:], SCORES[2:], first_row=2)
    evaluator.update(TRUTH[4:], SCORES[4:], first_row=4)
    assert evaluator.compute() == counting(slice(0, 6)).compute()


def test_spans_of_adjacent_rows_are_joined() -> None:
    numbered = counting()
    for start, size in ((12, 6), (0, 6), (24, 3), (6, 6), (15, 0)):
        numbered.update(TRUTH[:size], SCORES[:size], first_row=start)
    for start, rows in ((21, r"24\.\.26"), (17, r"17\.\.17"), (7, r"7\.\.12")):
        with pytest.raises(ValueError, match=rf"^first_row: rows {rows} are counted already"):
            numbered.update(TRUTH, SCORES, first_row=start)
    numbered.update(TRUTH, SCORES, first_row=18)
    assert [*counts_of(numbered).spans.values()] == [((0, 27),)]


def test_spans_are_one_for_batches_of_a_file_with_a_truth_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n_rows = 20_000
    relevant = rng.integers(0, 90, n_rows)
    truth = sp.csr_array((np.ones(n_rows, np.uint8), relevant, np.arange(n_rows + 1)))
    rankings = rng.permuted(np.tile(np.arange(90), (n_rows, 1)), axis=1)
    scores = tmp_path / "m_indices.npy"
    state = tmp_path / "state.npz"
    np.save(scores, rankings)
    evaluate(truth, scores, metrics="p@1", memory="16MB", running=Running(save=state))
    spans = counts_of(Evaluator.load(state)).spans
    assert [*spans.values()] == [((0, n_rows),)]


# ---------------------------------------------------------------- labels of the first truth

Y = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
S = np.array([[0.9, 0.2, 0.4, 0.8], [0.3, 0.7, 0.6, 0.1], [0.5, 0.2, 0.1, 0.4]])
METRICS = ["p@1", "f1.macro@2", "lrap"]
NAMES = list("wxyz")
EXPECTED = dict(evaluate(Y, S, metrics=METRICS))


@pytest.mark.parametrize("kind", ["array", "csr", "coo", "frame", "tensor"])
def test_columns_give_the_number_of_labels(kind: str) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "array": lambda: np.array,
        "csr": lambda: sp.csr_array,
        "coo": lambda: sp.coo_matrix,
        "frame": lambda: pytest.importorskip("pandas").DataFrame,
        "tensor": lambda: pytest.importorskip("torch").tensor,
    }
    form = makers[kind]()
    evaluator = Evaluator(METRICS)
    assert evaluator.n_labels == 0
    assert "0 rows, labels not known yet" in repr(evaluator)
    evaluator.update(form(Y[:2]), S[:2])
    assert evaluator.n_labels == 4
    # from now on, lists are of ids
    scored_list = [(0, 0.5), (1, 0.2), (2, 0.1), (3, 0.4)]
    evaluator.update([[2]], [scored_list])
    assert dict(evaluator.compute()) == EXPECTED
    assert evaluator.compute().label_names is None
    with pytest.raises(ValueError, match=r"^y_true: shape"):
        evaluator.update(np.eye(3), np.eye(3))


def test_columns_of_a_frame_give_names() -> None:
    pd = pytest.importorskip("pandas")
    truth = pd.DataFrame(Y, columns=NAMES)
    scores = pd.DataFrame(S, columns=NAMES)
    evaluator = Evaluator(METRICS)
    evaluator.update(truth[:1], scores[:1])
    evaluator.update(truth[1:][NAMES[::-1]], scores[1:])
    assert dict(evaluator.compute()) == EXPECTED
    assert evaluator.compute().label_names == NAMES


@pytest.mark.parametrize(
    "truth",
    [
        [[0, 3], [1], [2]],
        Y.tolist(),
        {"q": ["x"]},
        np.array([1, 0]),
        "frame",
    ],
)
def test_truth_without_columns_gives_no_number_of_labels(truth: Any) -> None:
    if isinstance(truth, str):
        truth = pytest.importorskip("pandas").DataFrame({"instance": [1], "label": [2]})
    message = r"^n_labels: give the number of labels, or labels=, their names$"
    with pytest.raises(ValueError, match=message):
        Evaluator(METRICS).update(truth, S)


def test_number_of_labels_stays_open_after_refused_rows(tmp_path: Path) -> None:
    """Options that depend on it are checked in the first update, others at once."""
    evaluator = Evaluator(iter(METRICS))
    with pytest.raises(ValueError, match="nan"):
        evaluator.update(np.eye(3), np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"^n_labels: not known before the first update"):
        evaluator.save(tmp_path / "state")
    copies = [make_copy(evaluator) for make_copy in COPIES.values()]
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


@pytest.mark.parametrize("n_labels", [4, None])
def test_training_labels_are_not_kept(n_labels: int | None) -> None:
    """Only propensities are computed from them once the number of labels is known."""
    y_train = sp.csr_array(np.tile(Y, (500, 1)))
    size = len(pickle.dumps(y_train))
    reference = weakref.ref(y_train)
    evaluator = Evaluator(["psp@1"], n_labels=n_labels, y_train=y_train)
    evaluator.update(Y, S)
    assert len(pickle.dumps(evaluator)) < size
    del y_train
    gc.collect()
    assert reference() is None
