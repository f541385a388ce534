"""Values that have names are read by one law, whether or not something beside them is a file."""

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
TRUTH, SCORES = FRAME({"a": [1, 0], "b": [0, 1]}), FRAME({"a": [0.9, 0.1], "b": [0.3, 0.8]})
IDS = {"id": ["x", "y"]}
DICT, LISTS = {"x": {"a": 1}, "y": {"b": 1}}, {"x": {"a": 0.9, "b": 0.1}, "y": {"b": 0.8}}
NUMBERED = {"x": [0], "y": [1], "z": [1]}, {"x": {0: 0.9}, "y": {0: 0.9}, "z": {1: 0.9}}
SPARSE = FRAME.sparse.from_spmatrix(pytest.importorskip("scipy.sparse").csr_matrix([[1, 0, 0], [1, 1, 0]]))
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
    "dicts, judged": ({"x": {"a": 0.5}, "y": {"b": 1}}, LISTS, {}),
    "dict beside a frame": (TRUTH.assign(**IDS), LISTS, {}),
    "label numbers": (*NUMBERED, {"labels": [1, 0], "inverse_propensity": [10, 1.5], "metrics": "psp@1"}),
    "columns of zeros": (SPARSE.set_axis([*"abc"], axis=1), np.eye(2, 3), {"decision": "top1"}),
    "numbered columns": (np.eye(3), PLACES, {}),
    "pairs": (DICT, LISTS, {"exclude": [("x", "a"), ("z", "a")]}),
    "pair below 0": (np.eye(2), np.eye(2), {"exclude": [(-1, 0)]}),
    "candidates": (DICT, LISTS, {"candidates": {"x": ["b"], "y": ["b"]}}),
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


def answer(*arguments: Any, **options: Any) -> Any:
    """Return values and notes, or what was refused."""
    try:
        report = evaluate(*arguments, **{"metrics": ["p@1", "f1.macro@1", "hamming_loss"], **options})
    except ValueError as error:
        return str(error)
    return report.to_json()


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_is_the_same_where_counts_are_saved(name: str, tmp_path: Path) -> None:
    truth, scores, options = CASES[name]
    options = {"metrics": ["p@1", "f1.macro@1"], **options}
    in_memory = answer(truth, scores, **options)
    assert answer(truth, scores, **options, running=Running(save=tmp_path / "counts.npz")) == in_memory


@pytest.mark.parametrize(("scores", "message"), [
    (SCORES.assign(**IDS), None), (LISTS, None), (SCORES.assign(**IDS)[["id", "b", "a"]], None),
    (SCORES.assign(**IDS)[:1], r"no row 'y', which .*T\.qrels has"),
])  # fmt: skip
def test_predictions_in_memory_beside_a_file_of_the_truth(scores: Any, message: Any, tmp_path: Path) -> None:
    (tmp_path / "T.qrels").write_text("x 0 a 1\ny 0 b 1\n")
    if message is None:
        assert evaluate(tmp_path / "T.qrels", scores, metrics=["p@1"])["p@1"] == 1
    else:
        with pytest.raises(ValueError, match=message):
            evaluate(tmp_path / "T.qrels", scores, metrics=["p@1"])
    sets = {"y_pred": TRUTH.assign(**IDS, b=[0, 0.5])}
    with pytest.raises(ValueError, match=r"y_pred: row 1: value 0\.5 is neither 0 nor 1"):
        evaluate(tmp_path / "T.qrels", metrics=["f1.micro"], **sets)


@pytest.mark.parametrize(("truth", "message"), [
    (TRUTH.assign(**IDS), None), (DICT, None),
    (TRUTH.assign(**IDS, a=[0.5, 0]), "y_true: row 0: value 0.5 is neither 0 nor 1"),
    ({"x": {"a": 0.5}, "y": {"b": 1}}, "y_true: row 0: value 0.5 is no judgement"),
])  # fmt: skip
def test_truths_in_memory_beside_a_file_of_predictions(truth: Any, message: Any, tmp_path: Path) -> None:
    (tmp_path / "m.run").write_text("x Q0 a 1 .9 t\nx Q0 b 2 .1 t\ny Q0 b 1 .8 t\n")
    if message is None:
        assert dict(evaluate(truth, tmp_path / "m.run", metrics=["p@1", "r@1"])) == {"p@1": 1, "r@1": 1}
    else:
        with pytest.raises(ValueError, match=message):
            evaluate(truth, tmp_path / "m.run", metrics=["p@1", "r@1"])


def test_numbered_columns_are_read_by_number_beside_files_and_in_fusion(tmp_path: Path) -> None:
    np.save(tmp_path / "T.npy", np.eye(3))
    report = evaluate(tmp_path / "T.npy", PLACES, metrics="p@1")
    assert (report["p@1"], report.notes) == (
        1, ["y_score: columns were brought in the order of their numbers"]
    )  # fmt: skip
    models = [FRAME([[0.9, 0.1]], columns=[1, 0]), FRAME([[0.1, 0.9]], columns=[0, 1])]
    assert fuse(models, "mean").toarray().tolist() == [[0.1, 0.9]]
    with pytest.warns(UserWarning, match="in the order of their numbers"):
        rule = xmleval.thresholds.fit(tmp_path / "T.npy", PLACES, measure="f1.micro")
    assert rule.apply(np.eye(3)).toarray().tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(("truth", "a", "b"), [
    (TRUTH, SCORES, SCORES[["b", "a"]].set_axis(["a", "b"], axis=1)),
    (TRUTH, SCORES.assign(**IDS), SCORES.iloc[::-1].set_axis([0, 1]).assign(**IDS)),
    (np.eye(2), SCORES, SCORES.to_numpy()[::-1]), (TRUTH, SCORES[::-1], SCORES.iloc[::-1].set_axis([0, 1])),
])  # fmt: skip
def test_lists_of_a_diff_are_those_of_its_values(truth: Any, a: Any, b: Any) -> None:
    found = diff(truth, a, b, metric="p@1", worst=2)
    assert found.rows
    for row in found.rows:
        assert row.lists is not None
        assert (row.a, row.b) == tuple(float(names[0] in row.lists.truth) for names in row.lists[1:])


def test_statistics_of_frames_count_every_column_and_refuse_what_is_no_truth() -> None:
    assert label_statistics(SPARSE)["n_labels"] == 3
    assert label_statistics(FRAME(columns=[*"abc"], dtype=int))["n_labels"] == 3
    memory: dict[str, Any] = {"memory": "1MB"}
    assert label_statistics(np.eye(3), **memory)["n_rows"] == 3
    with pytest.raises(ValueError, match=r"y_true: row 0: value 0\.3 is neither 0 nor 1"):
        label_statistics(FRAME({"a": [1, np.nan], "b": [0.3, 2]}))
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        label_statistics(np.eye(3), sample_weight=[1, 2, 3])  # type: ignore[call-arg]


def test_names_of_models_do_not_meet(tmp_path: Path) -> None:
    seeds = {"a": [np.eye(9)] * 2, "a 1": [np.eye(9)[::-1]] * 2}
    compared = compare(np.eye(9), seeds, metrics="p@1", seeds=True)
    assert [report["p@1"] for report in compared.reports.values()] == [1, 1 / 9]
    np.save(tmp_path / "T.npy", np.eye(3))
    models = {"a b": np.eye(3), "a_b": np.eye(3)}
    with pytest.raises(ValueError, match="save: models a b, a_b would have files of one name"):
        compare(tmp_path / "T.npy", models, running=Running(save=tmp_path / "{}.npz"))
    with pytest.raises(ValueError, match="models: 'b' is None"):
        compare(np.eye(3), {"a": np.eye(3), "b": None}, metrics="p@1")


def test_a_test_by_rows_needs_values_by_row() -> None:
    with pytest.raises(ValueError, match="per_row: False; test='wilcoxon' needs values by row"):
        compare(np.eye(3), {"a": np.eye(3), "b": np.eye(3)}, metrics="p@1", test="wilcoxon", per_row=False)


def test_candidates_beside_a_truth_of_unknown_width_are_a_matrix_or_padded_ids(tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_text("0 1:1\n1 1:1\n")
    scores = np.array([[0.1, 0.9], [0.2, 0.8]])
    for candidates, expected in ((np.array([[1, 0], [0, 1]]), 1), (np.array([[1, -1], [0, 1]]), 0.5)):
        report = evaluate(tmp_path / "t.svm", scores, candidates=candidates, metrics="p@1")
        assert report["p@1"] == expected


def test_columns_of_numbers_name_no_labels_and_rows_in_order_may_be_numbers(tmp_path: Path) -> None:
    (tmp_path / "T.qrels").write_text("0 0 a 1\n1 0 b 1\n")
    assert evaluate(tmp_path / "T.qrels", SCORES, metrics=["p@1"])["p@1"] == 1
    (tmp_path / "T.qrels").write_text("x 0 7 1\ny 0 8 1\n")
    numbered = SCORES.set_axis([7, 8], axis=1).assign(**IDS)
    with pytest.raises(ValueError, match=r"labels of .* have names and those of y_score have none"):
        evaluate(tmp_path / "T.qrels", numbered, metrics=["p@1"])


def test_seeds_with_other_numbers_of_labels_have_no_means_by_label(tmp_path: Path) -> None:
    (tmp_path / "T.lines").write_text("0 1\n2\n3\n1\n")
    for name, last in (("A0", 1), ("A1", 7), ("B0", 1), ("B1", 3)):
        np.save(tmp_path / f"{name}_indices.npy", np.array([[0, last]] * 4))
    models = {name: str(tmp_path / f"{name}*_indices.npy") for name in "AB"}
    options: dict[str, Any] = {"metrics": ["p@1", "f1.macro@1"], "seeds": True, "worst": 2}
    assert compare(tmp_path / "T.lines", models, **options).reports["A"]["p@1"] == 0.25


def test_progress_needs_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.svm").write_text("0 1:1\n1 1:1\n")
    for stream in (io.StringIO(), type("Plain", (), {"write": len, "flush": lambda self: None})()):
        monkeypatch.setattr("sys.stderr", stream)
        evaluate(tmp_path / "t.svm", np.eye(2), metrics="p@1", progress=True)
        assert not getattr(stream, "getvalue", str)()


def test_a_cutoff_of_none_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="k: None is not a positive integer"):
        xmleval.p_at_k(np.eye(3), np.eye(3), k=None)  # type: ignore[arg-type]


def test_padding_in_blocks_beside_a_file_is_no_score(tmp_path: Path) -> None:
    npz(tmp_path / "T", sp.csr_array(np.eye(4)))
    scores = sp.csr_array(np.array([[0, -1.0, 0, 0], [0, 0, 2, 0], [0, 0, -3, 0], [1, 0, 0, 0]]))
    for y_true in (np.eye(4), tmp_path / "T.npz"):
        with pytest.raises(ValueError, match="zeros in the blocks of a bsr matrix may be scores or padding"):
            evaluate(y_true, scores.tobsr(blocksize=(2, 2)), metrics="p@1")
