"""Numbers of labels that follow from ids in files, and data without rows."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import (
    Evaluator,
    Running,
    compare,
    evaluate,
    inverse_propensity,
    label_statistics,
    scan,
)

METRICS = ["p@1", "f1.macro@1"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Y.txt").write_text("0\n1\n")


def lists(largest: int) -> str:
    """Write a top-k list with a large id in second place, and return its name."""
    name = f"to_{largest}_indices.npy"
    np.save(name, np.array([[0, largest], [1, 0]]))
    return name


@pytest.mark.parametrize("largest", [1, 2, 3, 5, 6, 20])
def test_ids_beyond_those_of_the_truth_are_labels_with_a_note(largest: int) -> None:
    name = lists(largest)
    report = evaluate(scan("Y.txt", format="lines"), name, metrics=METRICS)
    n_labels = largest + 1
    assert report.n_labels == n_labels
    assert report["f1.macro@1"] == 2 / n_labels
    assert report["p@1"] == 1.0
    beyond = f"{name}: evaluated with {n_labels} labels, as its ids go beyond the 2 labels of Y.txt"
    assert (beyond in report.notes) == (largest > 1)
    unused = (
        f"Y.txt: {n_labels - 3} of {n_labels} labels have no row and no score, as the largest id "
        f"is {largest}; averages over labels may count them; give n_labels=, or names if the ids "
        "are codes"
    )
    assert (unused in report.notes) == (n_labels > 6)  # more than half
    assert any("have no row" in note for note in report.notes) == (n_labels > 6)


def test_labels_without_a_row_and_a_prediction_are_noted_of_sets_alone() -> None:
    Path("P.txt").write_text("0\n7\n")
    Path("Y.txt").write_text("0\n7\n")
    sets = scan("P.txt", format="lines")
    report = evaluate(scan("Y.txt", format="lines"), y_pred=sets, metrics="f1.macro")
    note = "Y.txt: 6 of 8 labels have no row and no score, as the largest id is 7; "
    assert any(each.startswith(note) for each in report.notes)


@pytest.mark.parametrize("largest", [1, 7])
def test_a_given_number_of_labels_leaves_no_note(largest: int) -> None:
    name = lists(largest)
    options: dict[str, Any] = {"metrics": METRICS, "n_labels": 9}
    report = evaluate(scan("Y.txt", format="lines"), name, **options)
    assert report.n_labels == 9
    assert report["f1.macro@1"] == 2 / 9
    assert not report.notes
    arrays = evaluate([[0], [1]], (np.load(name), None), **options)
    assert dict(arrays) == dict(report)


def test_ids_of_one_model_leave_the_labels_of_another() -> None:
    models = {"a": lists(7), "b": lists(1)}
    truth = scan("Y.txt", format="lines")
    compared = compare(truth, models, metrics=METRICS)
    for model, name in models.items():
        report = evaluate(truth, name, metrics=METRICS)
        assert dict(compared[model]) == dict(report)
        assert compared[model].n_labels == report.n_labels
    same = compare(truth, models, metrics=METRICS, n_labels=8)
    assert dict(same["a"]) == dict(same["b"])


OPTIONS: list[dict[str, Any]] = [
    {},
    {"per_row": True},
    {"per_label": True},
    {"confidence": 0.9},
    {"row_groups": []},
    {"sample_weight": []},
    {"conventions": "unlisted=0.1"},
    {"metrics": ["psp@1", "f1.micro"], "y_train": np.eye(3), "decision": "top1"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_data_without_rows_have_undefined_values_in_arrays_and_files(
    options: dict[str, Any],
) -> None:
    options = {"metrics": ["p@1", "auc.micro", "lrap"], **options}
    truth = sp.csr_array((0, 3))
    scores = np.zeros((0, 3))
    sp.save_npz("E.npz", truth)
    np.save("E.npy", scores)
    for report in (
        evaluate(truth, scores, **options),
        evaluate("E.npz", "E.npy", **options),
        compare("E.npz", {"a": "E.npy", "b": "E.npy"}, **options)["b"],
    ):
        assert report.n_rows == 0
        assert report.n_labels == 3
        assert [*report] == options["metrics"]
        for name, value in report.items():  # micro averages of no cells are 0
            assert value == 0 if name == "f1.micro" else np.isnan(value)


@pytest.mark.parametrize("options", [each for each in OPTIONS if "row_groups" not in each])
def test_states_without_rows_add_nothing(options: dict[str, Any]) -> None:
    options = {"metrics": ["p@1", "auc.micro"], **options}
    weights = options.pop("sample_weight", None)
    of_rows: dict[str, Any] = {} if weights is None else {"sample_weight": [1, 2, 4]}
    of_none: dict[str, Any] = {} if weights is None else {"sample_weight": []}
    truth = np.eye(3)
    scores = np.array([[0.5, 0.25, 0], [0.75, 0.5, 0], [0, 0.25, 1]])
    expected = evaluate(truth, scores, **options, **of_rows)
    sp.save_npz("E.npz", sp.csr_array((0, 3)))
    np.save("E.npy", np.zeros((0, 3)))
    running = Running(save="none.state")
    evaluate("E.npz", "E.npy", running=running, **options, **of_none)
    none = Evaluator(n_labels=3, **options)
    none.update(truth[:0], scores[:0], **of_none)
    for empty_state in (none, Evaluator(n_labels=3, **options), Evaluator.load("none.state")):
        some = Evaluator(n_labels=3, **options)
        some.update(truth, scores, first_row=0, **of_rows)
        assert dict(some.merge(empty_state).compute()) == dict(expected)
        assert dict(empty_state.merge(some).compute()) == dict(expected)
        assert empty_state.n_rows == 3


TRAINING = {"npz": "train.npz", "npy": "train.npy", "header": "train.txt"}


def write_training(n_labels: int) -> None:
    """Write five training rows of labels 0 and 1, in files that state ``n_labels``."""
    train = np.zeros((5, n_labels))
    train[:, 0] = 1
    train[2:, 1] = 1
    sp.save_npz("train.npz", sp.csr_array(train))
    np.save("train.npy", train)
    lines = ["0:1", "0:1", "0:1 1:1", "0:1 1:1", "0:1 1:1"]
    Path("train.txt").write_text("\n".join([f"5 {n_labels}", *lines, ""]))


@pytest.mark.parametrize("n_trained", [2, 4])
@pytest.mark.parametrize("train", TRAINING.values(), ids=TRAINING)
def test_training_files_of_another_number_of_labels_are_refused(train: str, n_trained: int) -> None:
    write_training(n_trained)
    truth = np.eye(3)
    sp.save_npz("T.npz", sp.csr_array(truth))
    message = rf"^{train}: {n_trained} labels do not match the 3 of "
    options: dict[str, Any] = {"metrics": "psp@1", "y_train": train}
    for data in (truth, "T.npz"):
        with pytest.raises(ValueError, match=message):
            evaluate(data, truth, **options)
        with pytest.raises(ValueError, match=message):
            compare(data, {"a": truth, "b": truth}, **options)
        with pytest.raises(ValueError, match=message):
            label_statistics(data, y_train=train)
    with pytest.raises(ValueError, match=message):
        evaluate(scan("Y.txt", format="lines"), truth[:2], **options)


@pytest.mark.parametrize("train", TRAINING.values(), ids=TRAINING)
def test_training_files_that_state_more_labels_than_ids_do_are_refused(train: str) -> None:
    write_training(3)
    truth = scan("Y.txt", format="lines")
    options: dict[str, Any] = {"metrics": "psp@1", "y_train": train}
    message = f"{train}: 3 labels, but the largest id in Y.txt or in scores is 1; give n_labels="
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(truth, lists(1), **options)
    with pytest.raises(ValueError, match=rf"^{train}: 3 labels do not match the 5 of Y.txt"):
        evaluate(truth, lists(4), **options)
    with pytest.raises(ValueError, match=rf"^{train}: 3 labels do not match the 2 of Y.txt"):
        evaluate(truth, lists(1), n_labels=2, **options)
    q = inverse_propensity(label_counts=[5, 3, 0], n_instances=5)
    expected = evaluate(np.eye(2, 3), np.eye(2, 3), metrics="psp@1", inverse_propensity=q)
    for name in (lists(1), lists(2)):
        assert dict(evaluate(truth, name, n_labels=3, **options)) == dict(expected)
    assert evaluate(truth, lists(2), **options).n_labels == 3
