"""Values with names are read in the same way, whether or not another argument is a file."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.made_files import npz
from xmleval import Running, compare, diff, evaluate, fuse, label_statistics

pandas = pytest.importorskip("pandas")
FRAME = pandas.DataFrame
TRUTH = FRAME({"a": [1, 0], "b": [0, 1]})
SCORES = FRAME({"a": [0.9, 0.1], "b": [0.3, 0.8]})
IDS = {"id": ["x", "y"]}
DICT = {"x": {"a": 1}, "y": {"b": 1}}
LISTS = {"x": {"a": 0.9, "b": 0.1}, "y": {"b": 0.8}}
JUDGED = {"x": {"a": 0.5}, "y": {"b": 1}}
NUMBERED_TRUTH = {"x": [0], "y": [1], "z": [1]}
NUMBERED_SCORES = {"x": {0: 0.9}, "y": {0: 0.9}, "z": {1: 0.9}}
SPARSE = FRAME.sparse.from_spmatrix(
    pytest.importorskip("scipy.sparse").csr_matrix([[1, 0, 0], [1, 1, 0]])
)
PLACES = FRAME(np.eye(3)[:, ::-1] * 0.9, columns=[2, 1, 0])  # each column by its number
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "frames": (TRUTH, SCORES, {}),
    "other order": (TRUTH, SCORES[["b", "a"]], {}),
    "missing value": (TRUTH.assign(a=[1, np.nan]), SCORES, {}),
    "swapped": (SCORES, TRUTH, {}),
    "no column": (TRUTH, SCORES[["a"]], {}),
    "column more": (TRUTH, SCORES.assign(c=[0.95, 0.0]), {}),
    "ids": (TRUTH.assign(**IDS), SCORES.assign(**IDS)[::-1], {}),
    "ids, row missing": (TRUTH.assign(**IDS), SCORES.assign(**IDS)[:1], {}),
    "ids twice": (TRUTH.assign(**IDS), SCORES.assign(id=["x", "x"]), {}),
    "an id that may be a label": (TRUTH.assign(id=[0, 0]), SCORES.assign(id=[0.5, 0.1]), {}),
    "index": (TRUTH, SCORES[::-1], {}),
    "dicts": (DICT, LISTS, {}),
    "dicts, judged": (JUDGED, LISTS, {}),
    "dict beside a frame": (TRUTH.assign(**IDS), LISTS, {}),
    "label numbers": (
        NUMBERED_TRUTH,
        NUMBERED_SCORES,
        {"labels": [1, 0], "inverse_propensity": [10, 1.5], "metrics": "psp@1"},
    ),
    "columns of zeros": (SPARSE.set_axis([*"abc"], axis=1), np.eye(2, 3), {"decision": "top1"}),
    "numbered columns": (np.eye(3), PLACES, {}),
    "pairs": (DICT, LISTS, {"exclude": [("x", "a"), ("z", "a")]}),
    "pair below 0": (np.eye(2), np.eye(2), {"exclude": [(-1, 0)]}),
    "candidates": (
        DICT,
        LISTS,
        {"candidates": {"x": ["b"], "y": ["b"]}},
    ),
    "excluded, known to predictions alone": (
        DICT,
        {**LISTS, "x": {"q": 1.0, "a": 0.5}},
        {"exclude": [("x", "q")]},
    ),
    "no candidates": (TRUTH, SCORES, {"candidates": SCORES}),
    "candidates by id": (np.eye(2), np.eye(2), {"candidates": np.array([[0], [0]])}),
    "keys": (DICT, LISTS, {"confidence": 0.9, "metrics": "p@1"}),
    "nothing of a row": (DICT, {"x": {"b": 1.0}}, {"row_groups": {"x": "u", "y": "v"}}),
    "a row group missing": (np.eye(2), np.eye(2), {"row_groups": ["u", np.nan]}),
}


def answer(*arguments: Any, **options: Any) -> str:
    """Return the report in JSON, or the error."""
    try:
        report = evaluate(*arguments, **options)
    except ValueError as error:
        return str(error)
    return str(report.to_json())


@pytest.mark.parametrize("name", CASES)
def test_evaluate_reads_the_same_if_counts_are_saved(name: str, tmp_path: Path) -> None:
    truth, scores, options = CASES[name]
    options = {"metrics": ["p@1", "f1.macro@1"], **options}
    running = Running(save=tmp_path / "counts.npz")
    expected = answer(truth, scores, **options)
    assert answer(truth, scores, running=running, **options) == expected


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (SCORES.assign(**IDS), None),
        (LISTS, None),
        (SCORES.assign(**IDS)[["id", "b", "a"]], None),
        (SCORES.assign(**IDS)[:1], r"row 'y' of .*T\.qrels is missing"),
    ],
)
def test_evaluate_takes_predictions_in_memory_with_a_file_of_the_truth(
    scores: Any, message: Any, tmp_path: Path
) -> None:
    path = tmp_path / "T.qrels"
    path.write_text("x 0 a 1\ny 0 b 1\n")
    if message is None:
        assert evaluate(path, scores, metrics=["p@1"])["p@1"] == 1
    else:
        with pytest.raises(ValueError, match=message):
            evaluate(path, scores, metrics=["p@1"])
    sets = TRUTH.assign(**IDS, b=[0, 0.5])
    with pytest.raises(ValueError, match=r"y_pred: row 1: value 0\.5 is neither 0 nor 1"):
        evaluate(path, metrics=["f1.micro"], y_pred=sets)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (TRUTH.assign(**IDS), None),
        (DICT, None),
        (TRUTH.assign(**IDS, a=[0.5, 0]), "y_true: row 0: value 0.5 is neither 0 nor 1"),
        (JUDGED, "y_true: row 0: value 0.5 is not an integer judgement"),
    ],
)
def test_evaluate_takes_truths_in_memory_with_a_file_of_predictions(
    truth: Any, message: Any, tmp_path: Path
) -> None:
    path = tmp_path / "m.run"
    path.write_text("x Q0 a 1 .9 t\nx Q0 b 2 .1 t\ny Q0 b 1 .8 t\n")
    if message is None:
        report = evaluate(truth, path, metrics=["p@1", "r@1"])
        assert dict(report) == {"p@1": 1, "r@1": 1}
    else:
        with pytest.raises(ValueError, match=message):
            evaluate(truth, path, metrics=["p@1", "r@1"])


def test_numbered_columns_are_read_by_number_with_files_and_in_fusion(tmp_path: Path) -> None:
    np.save(tmp_path / "T.npy", np.eye(3))
    report = evaluate(tmp_path / "T.npy", PLACES, metrics="p@1")
    assert report["p@1"] == 1
    assert report.notes == ["y_score: columns were sorted by their numbers"]
    models = [FRAME([[0.9, 0.1]], columns=[1, 0]), FRAME([[0.1, 0.9]], columns=[0, 1])]
    assert fuse(models, "mean").toarray().tolist() == [[0.1, 0.9]]
    with pytest.warns(UserWarning, match="sorted by their numbers"):
        rule = xmleval.thresholds.fit(tmp_path / "T.npy", PLACES, measure="f1.micro")
    assert rule.apply(np.eye(3)).toarray().tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(
    ("truth", "a", "b"),
    [
        (TRUTH, SCORES, SCORES[["b", "a"]].set_axis(["a", "b"], axis=1)),
        (TRUTH, SCORES.assign(**IDS), SCORES.iloc[::-1].set_axis([0, 1]).assign(**IDS)),
        (np.eye(2), SCORES, SCORES.to_numpy()[::-1]),
        (TRUTH, SCORES[::-1], SCORES.iloc[::-1].set_axis([0, 1])),
    ],
)
def test_diff_lists_the_labels_of_its_values(truth: Any, a: Any, b: Any) -> None:
    changes = diff(truth, a, b, metric="p@1", worst=2)
    assert changes.rows
    for row in changes.rows:
        assert row.lists is not None
        _, labels_of_a, labels_of_b = row.lists
        assert row.a == float(labels_of_a[0] in row.lists.truth)
        assert row.b == float(labels_of_b[0] in row.lists.truth)


def test_label_statistics_count_every_column_and_refuse_other_values() -> None:
    assert label_statistics(SPARSE)["n_labels"] == 3
    assert label_statistics(FRAME(columns=[*"abc"], dtype=int))["n_labels"] == 3
    memory: dict[str, Any] = {"memory": "1MB"}
    assert label_statistics(np.eye(3), **memory)["n_rows"] == 3
    with pytest.raises(ValueError, match=r"y_true: row 0: value 0\.3 is neither 0 nor 1"):
        label_statistics(FRAME({"a": [1, np.nan], "b": [0.3, 2]}))
    with pytest.raises(TypeError, match="there is no option 'sample_weight'"):
        label_statistics(np.eye(3), sample_weight=[1, 2, 3])  # type: ignore[call-arg]


def test_compare_keeps_seeds_and_files_of_models_apart(tmp_path: Path) -> None:
    seeds = {"a": [np.eye(9)] * 2, "a 1": [np.eye(9)[::-1]] * 2}
    compared = compare(np.eye(9), seeds, metrics="p@1", seeds=True)
    assert [report["p@1"] for report in compared.reports.values()] == [1, 1 / 9]
    np.save(tmp_path / "T.npy", np.eye(3))
    models = {"a b": np.eye(3), "a_b": np.eye(3)}
    with pytest.raises(
        ValueError, match="save: models a b, a_b would be saved in files of the same name"
    ):
        compare(tmp_path / "T.npy", models, running=Running(save=tmp_path / "{}.npz"))
    with pytest.raises(ValueError, match="models: 'b' is None"):
        compare(np.eye(3), {"a": np.eye(3), "b": None}, metrics="p@1")


def test_compare_refuses_tests_by_row_without_values_by_row() -> None:
    models = {"a": np.eye(3), "b": np.eye(3)}
    with pytest.raises(ValueError, match="per_row: False; test='wilcoxon' needs values by row"):
        compare(np.eye(3), models, metrics="p@1", test="wilcoxon", per_row=False)


def test_candidates_are_a_matrix_or_padded_ids_if_the_width_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_text("0 1:1\n1 1:1\n")
    scores = np.array([[0.1, 0.9], [0.2, 0.8]])
    for candidates, expected in (
        (np.array([[1, 0], [0, 1]]), 1),
        (np.array([[1, -1], [0, 1]]), 0.5),
    ):
        report = evaluate(tmp_path / "t.svm", scores, candidates=candidates, metrics="p@1")
        assert report["p@1"] == expected


def test_numbered_columns_are_names_beside_digits_and_refused_beside_words(
    tmp_path: Path,
) -> None:
    (tmp_path / "T.qrels").write_text("0 0 a 1\n1 0 b 1\n")
    assert evaluate(tmp_path / "T.qrels", SCORES, metrics=["p@1"])["p@1"] == 1
    numbered = SCORES.set_axis([7, 8], axis=1).assign(**IDS)
    (tmp_path / "T.qrels").write_text("x 0 7 1\ny 0 8 1\n")
    assert evaluate(tmp_path / "T.qrels", numbered, metrics=["p@1"])["p@1"] == 1
    (tmp_path / "T.qrels").write_text("x 0 a 1\ny 0 b 1\n")
    with pytest.raises(
        ValueError, match=r"labels of .* have names, but those of y_score have none"
    ):
        evaluate(tmp_path / "T.qrels", numbered, metrics=["p@1"])


def test_compare_takes_seeds_with_different_numbers_of_labels(tmp_path: Path) -> None:
    (tmp_path / "T.lines").write_text("0 1\n2\n3\n1\n")
    for name, last in (
        ("A0", 1),
        ("A1", 7),
        ("B0", 1),
        ("B1", 3),
    ):
        np.save(tmp_path / f"{name}_indices.npy", np.array([[0, last]] * 4))
    models = {name: str(tmp_path / f"{name}*_indices.npy") for name in "AB"}
    options: dict[str, Any] = {"metrics": ["p@1", "f1.macro@1"], "seeds": True, "worst": 2}
    assert compare(tmp_path / "T.lines", models, **options).reports["A"]["p@1"] == 0.25


def test_progress_needs_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.svm").write_text("0 1:1\n1 1:1\n")
    for stream in (io.StringIO(), Plain()):
        monkeypatch.setattr("sys.stderr", stream)
        evaluate(tmp_path / "t.svm", np.eye(2), metrics="p@1", progress=True)
        if isinstance(stream, io.StringIO):
            assert not stream.getvalue()


class Plain:
    """A stream with as few methods as possible."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def test_p_at_k_refuses_a_cutoff_of_none() -> None:
    with pytest.raises(ValueError, match="k: None is not a positive integer"):
        xmleval.p_at_k(np.eye(3), np.eye(3), k=None)  # type: ignore[arg-type]


def test_evaluate_refuses_zeros_in_blocks(tmp_path: Path) -> None:
    npz(tmp_path / "T", sp.csr_array(np.eye(4)))
    scores = np.array(
        [
            [0, -1.0, 0, 0],
            [0, 0, 2, 0],
            [0, 0, -3, 0],
            [1, 0, 0, 0],
        ]
    )
    blocks = sp.csr_array(scores).tobsr(blocksize=(2, 2))
    message = "zeros in the blocks of a bsr matrix may be scores or padding"
    for y_true in (np.eye(4), tmp_path / "T.npz"):
        with pytest.raises(ValueError, match=message):
            evaluate(y_true, blocks, metrics="p@1")
