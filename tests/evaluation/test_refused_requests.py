"""Requests whose parts do not fit are refused by argument, in arrays and in files."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, Running, evaluate, scan

EYE = np.eye(3)
NO_SCORES = (np.array([[0], [1], [2]]), None)
NOTHING = "metrics: nothing can be computed without "
REFUSED: list[tuple[dict[str, Any], str]] = [  # arguments beside those of one evaluation, message
    ({"per_row": ["p@2"]}, "per_row: 'p@2' is not one of the measures p@1"),
    ({"per_label": ["p@2"]}, "per_label: 'p@2' is not one of the measures p@1"),
    (
        {"metrics": ["p@1", "r@2"], "per_row": ["p@1", "lrap"]},
        "per_row: 'lrap' is not one of the measures p@1, r@2",
    ),
    (
        {"metrics": "statistics", "y_score": None, "per_label": True},
        "per_label= needs y_pred= or decision=, or scores in y_score=",
    ),
    (
        {"metrics": "lrap", "bounds": True, "conventions": "unlisted=0.25"},
        'bounds: conventions="unlisted=0.25" gives every label a score; bounds need '
        'conventions="unlisted=below"',
    ),
    (
        {"metrics": "f1.micro", "y_pred": EYE, "decision": "top1"},
        "y_pred: given together with decision=top1; choose one",
    ),
    ({"metrics": "xmc", "y_score": None}, f"{NOTHING}y_score="),
    (
        {"metrics": "xmc", "y_score": None, "y_pred": EYE},
        f"{NOTHING}y_score=; the group sets needs only y_pred=",
    ),
    ({"metrics": "sets"}, f"{NOTHING}y_pred= or decision="),
    (
        {"metrics": ["sets", "curves"], "y_score": None},
        f"{NOTHING}y_pred= or decision= or y_score=",
    ),
    ({"y_true": None}, "y_true: missing; expected the relevant labels of each row"),
    ({"label_data": {"price": [1, 2, 3]}}, "label_data: no measure reads 'price'; no measure"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_evaluate_refuses_requests_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"y_true": EYE, "y_score": EYE, "metrics": "p@1"}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        evaluate(**usual | arguments)


def test_evaluator_refuses_sets_beside_a_decision() -> None:
    evaluator = Evaluator("f1.micro", n_labels=3, decision="top1")
    message = "^y_pred: given together with decision=top1; choose one$"
    with pytest.raises(ValueError, match=message):
        evaluator.update(EYE, EYE, y_pred=EYE)
    assert evaluator.n_rows == 0
    evaluator.update(EYE, EYE)
    assert evaluator.compute()["f1.micro"] == 1.0


def test_values_are_kept_of_lists_without_scores() -> None:
    report = evaluate(EYE, NO_SCORES, metrics=["p@1", "r@1"], per_row=["r@1"])
    assert [*report.per_row()] == ["r@1"]
    report = evaluate(EYE, NO_SCORES, metrics="curves")  # pooled ones need scores
    assert "auc.samples" in report
    assert "auc.micro" not in report
    with pytest.raises(ValueError, match=r"^auc\.micro needs .*scores"):
        evaluate(EYE, NO_SCORES, metrics="auc.micro")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a truth and scores."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(EYE))
    sp.save_npz("S.npz", sp.csr_array(EYE))


def saving(name: str, *models: str) -> Callable[[], Any]:
    running = Running(save=name)
    return partial(
        evaluate, "Y.npz", dict.fromkeys(models, "S.npz"), metrics="p@1", running=running
    )


@pytest.mark.usefixtures("files")
def test_states_of_several_models_need_a_place_for_their_names() -> None:
    message = "save: is for 2 models; put {} in place of their names, as in state_{}.npz"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        saving("state.npz", "a", "b")()
    assert not [*Path().glob("state*")]
    saving("state_{}.npz", "a", "b")()
    expected = evaluate("Y.npz", "S.npz", metrics="p@1")
    for name in ("state_a.npz", "state_b.npz"):
        assert dict(Evaluator.load(name).compute()) == dict(expected)


@pytest.mark.usefixtures("files")
def test_checkpoints_of_one_process_are_on_this_machine() -> None:
    message = "checkpoint: memory://bucket/kept is not on this machine; give a folder, or executor="
    running = Running(checkpoint="memory://bucket/kept")
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate("Y.npz", "S.npz", metrics="p@1", running=running)


@pytest.mark.usefixtures("files")
def test_matrices_of_other_shapes_are_refused_with_what_they_look_like() -> None:
    sp.save_npz("T.npz", sp.csr_array(np.ones((4, 3))))
    sp.save_npz("transposed.npz", sp.csr_array(np.ones((3, 4))))
    np.save("ids.npy", np.ones((4, 2)))
    Path("blank.txt").write_text("\n\n")
    np.save("none_indices.npy", np.full((2, 2), -1))
    for truth, scores, message in (
        (
            "T.npz",
            "transposed.npz",
            "transposed.npz: 4 labels do not match the 3 of T.npz; one is the transpose of the "
            "other: rows are instances, columns labels",
        ),
        (
            "T.npz",
            "ids.npy",
            "ids.npy: 2 labels do not match the 3 of T.npz; call a file of label ids "
            "NAME_indices.npy",
        ),
        (
            scan("blank.txt", format="lines"),
            "none_indices.npy",
            "blank.txt: no row has a label, so the number of labels is not known",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            evaluate(truth, scores, metrics="p@1")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (4, 3, "shards/b.npz: 3 labels; shards/a.npz has 4"),
        (None, 3, "shards/b.npz: 3 labels; shards/a_indices.npy has an unknown number of"),
    ],
)
def test_shards_with_other_numbers_of_labels_are_refused(
    first: int | None, second: int, message: str
) -> None:
    Path("shards").mkdir()
    if first is None:
        np.save("shards/a_indices.npy", np.array([[0]]))
    else:
        sp.save_npz("shards/a.npz", sp.csr_array(np.ones((1, first))))
    sp.save_npz("shards/b.npz", sp.csr_array(np.ones((2, second))))
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate("Y.npz", "shards", metrics="p@1")
