"""Notes on inputs that seem to be others: ids from 1, the truth as training, probabilities."""

import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.made_files import npz
from xmleval import compare, evaluate
from xmleval.evaluation import same_files
from xmleval.files.input import digest

N_LABELS = 12
M = 60
rng = np.random.default_rng(4)
FROM_0 = sp.csr_array((rng.random((M, N_LABELS)) < 0.3).astype(np.float32))
FROM_1 = sp.csr_array(sp.hstack([np.zeros((M, 1)), FROM_0[:, 1:]]).astype(np.float32))
TOP = np.array([1 + rng.choice(N_LABELS - 1, 4, replace=False) for _ in range(M)])
SCORES = -np.sort(-rng.random((M, 4)), axis=1)
LOGITS = SCORES * 6 - 3
LISTED = sp.csr_array((SCORES.ravel(), TOP.ravel(), range(0, 4 * M + 1, 4)), FROM_1.shape)
TRAIN = sp.csr_array((rng.random((90, N_LABELS)) < 0.4).astype(np.float32))
IDS = "id 0 occurs nowhere, and ids 1 to 11 do: if ids count from 1, subtract 1"
SAME = "y_train= has the labels of the truth itself; give the labels of the training rows"
LINK = 'conventions="link=sigmoid" is for logits, but all scores are within 0 and 1'


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = FROM_1.tolil().rows.tolist()
    for name, matrix in {"Y": FROM_1, "Y0": FROM_0, "S": LISTED}.items():
        npz(Path(name), matrix)
    np.savez("top.npz", indices=TOP, scores=SCORES)
    np.save("top_indices.npy", TOP)
    lines = [",".join(map(str, row)) + " 0:1\n" for row in rows]
    Path("Y.txt").write_text(f"{M} 1 {N_LABELS}\n{''.join(lines)}")
    pairs = [
        " ".join(f"{label}:{score:.6f}" for label, score in zip(*row, strict=True))
        for row in zip(TOP.tolist(), SCORES.tolist(), strict=True)
    ]
    Path("S.txt").write_text("\n".join([f"{M} {N_LABELS}", *pairs, ""]))


def notes_starting(start: str, report: Any) -> list[str]:
    return [note for note in report.notes if note.startswith(start)]


@pytest.mark.parametrize("truth", [FROM_1, FROM_1.tolil().rows.tolist(), "Y.npz", "Y.txt"])
@pytest.mark.parametrize(
    "scores", [LISTED, (TOP, SCORES), (TOP, None), "S.npz", "top.npz", "top_indices.npy", "S.txt"]
)
def test_ids_from_1_are_noted_in_all_forms(truth: Any, scores: Any) -> None:
    options: dict[str, Any] = {"n_labels": N_LABELS} if isinstance(truth, list) else {}
    report = evaluate(truth, scores, metrics="p@1", **options)
    assert len(notes_starting(IDS, report)) == 1
    assert IDS in str(report)
    assert IDS in report.to_json()


@pytest.mark.parametrize("train", [FROM_1, FROM_1.tolil().rows.tolist(), "Y.npz", "Y.txt"])
@pytest.mark.parametrize("truth", [FROM_0, "Y0.npz"])
def test_ids_from_1_of_training_are_noted_with_their_argument(truth: Any, train: Any) -> None:
    name = train if isinstance(train, str) else "y_train"
    report = evaluate(truth, LISTED, metrics="psp@1", y_train=train)
    assert len(notes_starting(f"{name}: {IDS}", report)) == 1
    assert not notes_starting(IDS, report)
    report = evaluate(truth, LISTED, metrics="psp@1", y_train=TRAIN)
    assert not any("id 0" in note for note in report.notes)


@pytest.mark.parametrize("estimate", [xmleval.inverse_propensity, xmleval.label_groups])
def test_functions_of_training_labels_warn_of_ids_from_1(estimate: Any) -> None:
    for train in (FROM_1, "Y.npz"):
        with pytest.warns(UserWarning, match=f"y_train: {IDS}"):
            estimate(train)
    few = FROM_1[:, :5]
    named = {"q": {"1": 1, "2": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate(TRAIN)
        estimate(few)
        for unseen in (5, N_LABELS - 1):  # as well as label 0
            gaps = FROM_1.toarray()
            gaps[:, unseen] = 0
            estimate(gaps)
        estimate({f"q{row}": values for row, values in enumerate([named["q"]] * 4)})


def test_ids_that_are_one_too_high_may_count_from_1() -> None:
    for truth, scores in ((FROM_0, (TOP + 1, SCORES)), ("Y0.npz", (TOP + 1, SCORES))):
        message = r"label id 12 is not in 0\.\.11 \(or -1, an empty slot\); if ids count from 1, "
        with pytest.raises(ValueError, match=message):
            evaluate(truth, scores, metrics="p@1")
    with pytest.raises(ValueError, match=r"label id 13 is not in 0\.\.11 .*slot\)(?!; if ids)"):
        evaluate(FROM_0, (TOP + 2 - (TOP == 10), SCORES), metrics="p@1")
    with pytest.raises(
        ValueError, match=r"label id 12 is not in 0\.\.11; if ids count from 1, subtract 1"
    ):
        evaluate(FROM_0, LISTED, metrics="p@1", exclude=[(0, 12)])


def test_training_labels_that_are_the_truth_are_noted() -> None:
    shutil.copy("Y0.npz", "copy.npz")
    dense = FROM_0.toarray()
    lists = FROM_0.tolil().rows.tolist()
    alike = [
        (FROM_0, FROM_0),
        (FROM_0, FROM_0.copy()),
        (dense, dense.copy()),
        ("Y0.npz", "Y0.npz"),
        ("Y0.npz", Path("Y0.npz").resolve()),
        ("Y0.npz", "copy.npz"),
    ]
    for truth, train in alike:
        report = evaluate(truth, LISTED, metrics="psp@1", y_train=train)
        assert notes_starting(SAME, report) == [SAME]
    report = evaluate(lists, LISTED, metrics="psp@1", y_train=lists, n_labels=N_LABELS)
    assert notes_starting(SAME, report) == [SAME]
    models = {"a": LISTED, "b": LISTED * 2}
    compared = compare(FROM_0, models, metrics="psp@1", y_train=FROM_0)
    assert all(notes_starting(SAME, report) == [SAME] for report in compared.values())
    grid: dict[str, Any] = {"a": [0.5], "b": [1.0]}
    table = xmleval.propensity_sensitivity(FROM_0, models, FROM_0, **grid, metrics="psp@1")
    assert SAME in table.notes


def test_other_training_labels_are_not_noted() -> None:
    npz(Path("T"), TRAIN)
    dense = FROM_0.toarray()
    other = FROM_0.copy()
    other.indices[:2] = 0, 1  # of a row
    assert (other != FROM_0).nnz > 0
    reordered = FROM_0[::-1].tocsr()
    np.save("Y0.npy", dense)
    np.save("reversed.npy", dense[::-1])  # of the same size
    for truth, train in (
        (FROM_0, TRAIN),
        (FROM_0, FROM_1),
        (FROM_0, other),
        (FROM_0, reordered),
        (FROM_0, dense),
        (dense, 1 - dense),
        (dense, dense.astype(bool)),
        (dense, dense[::-1].copy()),
        (dense, dense.astype(np.int8)),
        ("Y0.npz", "T.npz"),
        ("Y0.npy", "reversed.npy"),
        (FROM_0, "Y0.npz"),
    ):
        report = evaluate(truth, LISTED, metrics="psp@1", y_train=train)
        assert not notes_starting("y_train= has", report)


@pytest.mark.parametrize("truth", [FROM_0, "Y0.npz"])
@pytest.mark.parametrize("scores", [LISTED, (TOP, SCORES), "S.npz", "top.npz"])
def test_sigmoid_of_probabilities_is_noted(truth: Any, scores: Any) -> None:
    options: dict[str, Any] = {"metrics": ["brier@1"]}
    report = evaluate(truth, scores, conventions="link=sigmoid", **options)
    assert len(notes_starting(LINK, report)) == 1
    assert LINK in str(report)
    assert not notes_starting(LINK, evaluate(truth, scores, **options))
    certain = (TOP, np.ones_like(LOGITS))
    report = evaluate(truth, certain, conventions="link=sigmoid", **options)
    assert len(notes_starting(LINK, report)) == 1
    report = evaluate(truth, (TOP, LOGITS), conventions="link=sigmoid", **options)
    assert not notes_starting(LINK, report)
    report = evaluate(truth, scores, metrics="p@1", conventions="link=sigmoid")
    assert not notes_starting(LINK, report)


@pytest.mark.parametrize(("n_rows", "n_read"), [(M, 4), (M - 1, 0)])
def test_files_of_training_are_read_for_the_note_only_where_all_sizes_are_those_of_the_truth(
    n_rows: int, n_read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, last in (("truth", M), ("train", n_rows)):
        (tmp_path / folder).mkdir()
        npz(tmp_path / folder / "part_0", FROM_0)
        npz(tmp_path / folder / "part_1", FROM_0[:last])
    npz(tmp_path / "scores", sp.vstack([LISTED, LISTED], format="csr"))
    paths = list[Path]()

    def read(path: Path) -> str:
        paths.append(path)
        return digest(path)

    monkeypatch.setattr(same_files, "digest", read)
    report = evaluate(
        str(tmp_path / "truth"),
        str(tmp_path / "scores.npz"),
        y_train=str(tmp_path / "train"),
        metrics=["psp@1"],
    )
    assert len(paths) == n_read
    assert (SAME in report.notes) == bool(n_read)


LIST = np.array([[0, 1], [1, 2], [2, 0]])
LIST_TURNED = "it looks transposed: rows are instances, columns ranks; give the .T of its arrays"
TRUTH_TURNED = "y_true looks transposed: rows are instances, columns labels; give its .T"


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [
        ((3, 5), {"y_score": (LIST[:2], None)}, "y_score: 2 rows do not match the 3 of y_true"),
        ((3, 5), {"y_score": (LIST[:1], None)}, "y_score: 1 row does not match the 3 of y_true"),
        (
            (3, 5),
            {"y_score": (LIST.T, None)},
            f"y_score: 2 rows do not match the 3 of y_true; {LIST_TURNED}",
        ),
        (
            (3, 5),
            {"y_score": (LIST.T, 1 - 0.25 * LIST.T)},
            f"y_score: 2 rows do not match the 3 of y_true; {LIST_TURNED}",
        ),
        (
            (2, 3),
            {"y_score": LIST.tolist()},
            f"y_score: 3 rows do not match the 2 of y_true; {LIST_TURNED}",
        ),
        (
            (5, 3),
            {"y_score": (LIST, None)},
            f"y_score: 3 rows do not match the 5 of y_true; {TRUTH_TURNED}",
        ),
        (
            (3, 4),
            {"y_score": np.ones((4, 4))},
            f"y_score: 4 rows do not match the 3 of y_true; {TRUTH_TURNED}",
        ),
        (
            (3, 4),
            {"y_score": np.ones((4, 3))},
            "y_score: shape (4, 3) is the transpose of (3, 4); rows are instances: give y_score.T",
        ),
        (
            (3, 4),
            {"y_pred": np.ones((4, 4)), "metrics": "sets"},
            f"y_pred: 4 rows do not match the 3 of y_true; {TRUTH_TURNED}",
        ),
    ],
)
def test_transposed_inputs_are_refused_with_the_one_to_turn(
    shape: tuple[int, int], arguments: dict[str, Any], message: str
) -> None:
    options = {"metrics": "p@1", **arguments}
    truth = np.eye(*shape)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(truth, **options)
    evaluator = xmleval.Evaluator(options.pop("metrics"), n_labels=shape[1])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluator.update(truth, **options)
    assert evaluator.n_rows == 0
