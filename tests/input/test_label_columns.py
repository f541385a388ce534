"""Tables with a column for each label in files: they are read as frames are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tests.damage import answer
from tests.limits import NAME_LIMITS, small_limits
from xmleval import evaluate, inverse_propensity, label_statistics, scan
from xmleval.input.id_columns import begins_with_ids
from xmleval.input.opened import OpenedValue
from xmleval.io import read_arrow_truth

MEASURES = ["p@1", "ndcg@3", "auc.macro", "ranking_loss", "f1.macro@1"]
Writer = Callable[[pd.DataFrame, str], str]


def write_csv(frame: pd.DataFrame, name: str) -> str:
    frame.to_csv(f"{name}.csv", index=frame.index.name is not None)
    return f"{name}.csv"


def write_tsv(frame: pd.DataFrame, name: str) -> str:
    frame.to_csv(f"{name}.tsv.gz", sep="\t", index=frame.index.name is not None)
    return f"{name}.tsv.gz"


def write_json_lines(frame: pd.DataFrame, name: str) -> str:
    if frame.index.name is not None:
        frame = frame.reset_index()
    frame.to_json(f"{name}.jsonl", orient="records", lines=True)
    return f"{name}.jsonl"


def write_parquet(frame: pd.DataFrame, name: str) -> str:
    frame.to_parquet(f"{name}.parquet")
    return f"{name}.parquet"


def write_feather(frame: pd.DataFrame, name: str) -> str:
    if frame.index.name is not None:
        frame = frame.reset_index()
    frame.to_feather(f"{name}.feather")
    return f"{name}.feather"


WRITERS = [write_csv, write_tsv, write_json_lines, write_parquet, write_feather]
PIECES = {  # some rows at a time, which are spilled
    **NAME_LIMITS,
    "input.fields": {"BLOCK_BYTES": 4096},
    "input.formats.arrow": {"BATCH_BYTES": 2048},
    "input.formats.label_columns": {"BATCH_BYTES": 2048},
}
each_format = pytest.mark.parametrize("write", WRITERS)


def make_truth(n_rows: int = 9, n_labels: int = 5) -> pd.DataFrame:
    """Zeros and ones with ids of rows; the last label is relevant nowhere."""
    cells = (np.random.default_rng(0).random((n_rows, n_labels)) < 0.4).astype(int)
    cells[:, -1] = 0
    frame = pd.DataFrame(cells, columns=[f"label {place}" for place in range(n_labels)])
    frame.insert(0, "id", [f"d{row}" for row in range(n_rows)])
    return frame


def make_scores(n_rows: int = 9, n_labels: int = 5) -> pd.DataFrame:
    """Scores, some of them equal, with rows and columns in another order."""
    cells = np.random.default_rng(1).integers(0, 99, (n_rows, n_labels)) / 64
    frame = pd.DataFrame(cells, columns=[f"label {place}" for place in range(n_labels)][::-1])
    frame.insert(0, "id", [f"d{row}" for row in range(n_rows)][::-1])
    return frame


def results_of(*data: Any, **options: Any) -> tuple[Any, ...]:
    """Return the values, the values by row, and the names of a report."""
    report = evaluate(*data, per_row=True, **{"metrics": MEASURES, **options})
    by_row = {name: [*map(str, values)] for name, values in report.per_row().items()}
    return dict(report), by_row, report.label_names, report.unknown_labels


@each_format
def test_table_is_read_as_a_frame(write: Writer) -> None:
    truth = make_truth()
    scores = make_scores()
    expected = results_of(truth, scores)
    files = write(truth, "t"), write(scores, "s")
    assert results_of(*files) == expected
    assert results_of(truth, files[1]) == expected
    assert results_of(files[0], scores) == expected
    assert evaluate(*files, metrics="p@1").notes == [
        f"{name}: 5 columns read as labels, ids in 'id'" for name in files
    ]


@each_format
def test_large_table_is_read_in_pieces(write: Writer) -> None:
    truth = make_truth(60, 8)
    scores = make_scores(60, 8)
    files = write(truth, "t"), write(scores, "s")
    with small_limits(PIECES):
        assert results_of(*files) == results_of(truth, scores)
        scores.loc[50, "label 3"] = np.nan
        with pytest.raises(ValueError, match=r": (line|row) 5\d: column 'label 3': score nan"):
            evaluate(files[0], write(scores, "s"))


@each_format
def test_index_or_texts_in_the_first_column_name_the_rows(write: Writer) -> None:
    expected = results_of(make_truth(), make_scores())
    truth = make_truth().rename(columns={"id": "document"}).set_index("document")
    scores = make_scores().rename(columns={"id": "document"}).set_index("document")
    assert results_of(write(truth, "t"), write(scores, "s")) == expected


def test_index_without_a_name_names_the_rows() -> None:
    expected = results_of(make_truth(), make_scores())
    make_truth().set_index("id").rename_axis(None).to_csv("t.csv")
    make_scores().set_index("id").rename_axis(None).to_parquet("s.parquet")
    assert results_of("t.csv", "s.parquet") == expected


@each_format
def test_rows_without_ids_are_in_order(write: Writer) -> None:
    truth = make_truth().drop(columns="id")
    scores = make_scores().drop(columns="id")
    files = write(truth, "t"), write(scores, "s")
    assert results_of(*files)[0] == results_of(truth, scores)[0]


@each_format
def test_sets_grades_and_training_labels_are_read(write: Writer) -> None:
    truth = make_truth()
    scores = make_scores()
    grades = truth.set_index("id") * 3
    path = write(grades, "g")
    graded = {"metrics": ["ndcg@3", "judged@2"], "conventions": "gains=linear"}
    assert results_of(path, write(scores, "s"), **graded) == results_of(grades, scores, **graded)
    t = write(truth, "t")
    as_sets = {"metrics": ["f1.macro", "hamming_loss"]}
    assert results_of(t, y_pred=t, **as_sets) == results_of(truth, y_pred=truth, **as_sets)
    restricted = {"metrics": "p@1", "candidates": t}
    of_frame = {"metrics": "p@1", "candidates": truth}
    assert results_of(t, "s" + path[1:], **restricted) == results_of(truth, scores, **of_frame)
    training = truth.drop(columns="id")
    assert inverse_propensity(t).tolist() == inverse_propensity(training).tolist()
    with pytest.warns(UserWarning, match="5 columns read as labels"):
        assert label_statistics(t)["n_labels"] == 5


@each_format
def test_labels_pick_columns(write: Writer) -> None:
    truth = make_truth()
    scores = make_scores()
    truth["text"] = scores["text"] = "a text"
    files = write(truth, "t"), write(scores, "s")
    labels = ["label 3", "label 0"]
    assert results_of(*files, labels=labels) == results_of(truth, scores, labels=labels)
    with pytest.raises(
        ValueError, match=r"column 'text' has no numbers; if it has a label in each line, give "
    ):
        evaluate(*files)
    with pytest.raises(ValueError, match=r"no column for label 'puce'"):
        evaluate(*files, labels=["label 0", "puce"])


@each_format
def test_columns_that_differ_are_noted_or_refused(write: Writer) -> None:
    truth = make_truth()
    scores = make_scores()
    t = write(truth, "t")
    fewer = write(scores.drop(columns="label 2"), "fewer")
    with pytest.raises(ValueError, match=r"fewer.*: no column for label 'label 2'"):
        evaluate(t, fewer)
    with pytest.raises(ValueError, match=r"rows.*: row 'd8' of t.* is missing"):
        evaluate(t, write(scores[1:], "rows"))
    more = scores.assign(puce=0.5)
    assert results_of(t, write(more, "more")) == results_of(truth, more)
    notes = evaluate(t, write(more, "more"), metrics="p@1").notes
    assert sum("1 column is not among the labels of the truth" in note for note in notes) == 1


@each_format
@pytest.mark.parametrize(
    ("role", "value", "message"),
    [
        ("t", 2, "value 2 is neither 0 nor 1 in a label set; grades need"),
        ("t", np.nan, "the cell is empty; give 0 if the label is not relevant"),
        ("s", np.nan, "score nan is not a number; scores must be ordered"),
    ],
)
def test_wrong_cell_is_refused_with_its_place(
    write: Writer, role: str, value: float, message: str
) -> None:
    frames = {"t": make_truth(), "s": make_scores()}
    frames[role] = frames[role].astype({"label 1": float})
    frames[role].loc[4, "label 1"] = value
    files = {name: write(frame, name) for name, frame in frames.items()}
    place = {"csv": "line 6", "gz": "line 6", "jsonl": "line 5"}
    where = place.get(files[role].rpartition(".")[2], "row 4")
    with pytest.raises(ValueError) as caught:
        evaluate(files["t"], files["s"])
    assert str(caught.value).startswith(f"{files[role]}: {where}: column 'label 1': {message}")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "id,a,b\nx,1,0\ny,1,no idea\n", "line 3: column 'b' has 'no idea', not a number"),
        (
            "t.csv",
            "id,a,b\nx,1,0\nx,1,0\n",
            "line 3: two rows are called 'x'; give each instance one row",
        ),
        ("t.csv", "id,a,b\nx,1,0\n,1,0\n", "line 3: an id is empty"),
        ("t.csv", "id,a,a\nx,1,0\n", "several columns are called 'a'"),
        ("t.csv", "user_id,item_id,rating\n1,2,3\n", "--label-field item_id and --score-field"),
        ("t.jsonl", '{"a": 1, "b": 0}\n{"a": 1, "c": 0}\n', "line 2: no field 'b'"),
        ("t.jsonl", '{"a": 1}\n{"a": 1, "c": 0}\n', "line 2: field 'c' is not in the first"),
    ],
)
def test_text_that_is_no_table_is_refused(name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    code, _, error = answer(["evaluate", name, "--pred", name])
    assert code == 2
    assert message in error


def test_words_for_true_and_false_are_ones_and_zeros() -> None:
    truth = make_truth().astype({"label 0": bool, "label 1": bool})
    files = write_csv(truth, "t"), write_csv(make_scores(), "s")
    assert results_of(*files) == results_of(make_truth(), make_scores())


def test_folder_of_tables_is_one_table() -> None:
    truth = make_truth()
    scores = make_scores()
    for number, rows in enumerate((slice(0, 4), slice(4, 9))):
        Path("t").mkdir(exist_ok=True)
        write_csv(truth[rows].iloc[:, :: 1 - 2 * number], f"t/{number}")
        Path("s").mkdir(exist_ok=True)
        write_parquet(scores[rows], f"s/{number}")
    assert results_of("t", "s") == results_of(truth, scores)


def test_own_name_of_ids_is_given() -> None:
    truth = make_truth()
    scores = make_scores()
    truth["id"] = scores["id"].str[1:].astype(int)[::-1].to_numpy()
    scores["id"] = scores["id"].str[1:].astype(int)
    expected = results_of(truth, scores)[0]
    files = [
        scan(write_parquet(frame.rename(columns={"id": "number"}), name), instance="number")
        for name, frame in (("t", truth), ("s", scores))
    ]
    assert results_of(*files)[0] == expected


def test_table_of_arrow_has_all_columns_as_labels() -> None:
    truth = read_arrow_truth(write_parquet(make_truth(), "t"))
    assert truth.label_names == [f"label {place}" for place in range(5)]


def make_numbered(ids: list[int], name: str = "no") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a truth and scores whose first column has integers that name the rows."""
    truth = make_truth(len(ids)).rename(columns={"id": name})
    truth[name] = ids
    scores = make_scores(len(ids)).rename(columns={"id": name})
    scores[name] = ids[::-1]
    return truth, scores


@each_format
@pytest.mark.parametrize(
    "ids", [[*range(1, 11)], [*range(11, 21)], [3, 1, 8, 0, 2, 7, 9, 5, 40, 6]]
)
def test_integers_that_differ_in_the_first_column_name_the_rows(
    write: Writer, ids: list[int]
) -> None:
    truth, scores = make_numbered(ids)
    files = write(truth, "t"), write(scores, "s")
    expected = results_of(*(scan(file, instance="no") for file in files))
    assert results_of(*files) == expected
    assert results_of(truth, scores) == expected
    assert results_of(truth, files[1]) == expected
    graded = {"metrics": ["ndcg@3", "p@1"], "conventions": "gains=linear"}
    assert results_of(*files, **graded) == results_of(
        *(scan(file, instance="no") for file in files), **graded
    )
    hint = "as its integers all differ (choose the columns of labels with labels=)"
    notes = evaluate(*files, metrics="p@1").notes
    assert notes == [f"{file}: 5 columns read as labels, ids in 'no', {hint}" for file in files]
    assert f"y_true: ids in 'no', {hint}" in evaluate(truth, scores, metrics="p@1").notes


@each_format
def test_labels_with_the_column_of_integers_make_it_a_label(write: Writer) -> None:
    truth, scores = make_numbered([*range(11, 21)])
    names = [*truth.columns]
    files = write(truth, "t"), write(scores, "s")
    graded = {"metrics": "ndcg@3", "conventions": "gains=linear", "labels": names}
    assert results_of(*files, **graded)[2] == names
    assert results_of(truth, scores, **graded)[2] == names


@each_format
@pytest.mark.parametrize("ids", [[0, 1, 1], [1, 0], [0, 2], [0, 3, 1]])
def test_few_integers_that_may_be_labels_are_labels(write: Writer, ids: list[int]) -> None:
    truth = make_truth(len(ids)).rename(columns={"id": "no"})
    truth["no"] = ids
    truth["label 1"] = [2, 0, 1][: len(ids)]
    graded = {"metrics": "ndcg@3", "conventions": "gains=linear"}
    scores = make_scores(len(ids)).drop(columns="id").assign(no=0.5)
    assert results_of(write(truth, "t"), write(scores, "s"), **graded)[2][0] == "no"
    assert results_of(truth, scores, **graded)[2][0] == "no"


@each_format
def test_integers_that_may_be_grades_are_a_label(write: Writer) -> None:
    truth, scores = make_numbered([*range(10)])
    truth["label 1"] = 9
    graded = {"metrics": "ndcg@3", "conventions": "gains=linear"}
    scores["no"] = scores["no"] / 4
    assert results_of(write(truth, "t"), write(scores, "s"), **graded)[2][0] == "no"
    assert results_of(truth, scores, **graded)[2][0] == "no"


@pytest.mark.parametrize("cell", ["-1", "1e3", ""])
def test_numbers_without_a_decimal_point_are_no_fractions(cell: str) -> None:
    number = int(float(cell)) if cell else np.nan
    rows = [[str(row), cell, "1200"] for row in range(12)]
    assert not begins_with_ids(rows)
    assert begins_with_ids([[first, cell, "0.5"] for first, *_ in rows])
    frame = pd.DataFrame({"no": range(12), "a": number, "b": 1200})
    read = OpenedValue("y_score", "scores", "y_score", value=frame).rows
    assert read is not None
    assert read.origin is not None
    assert read.origin.found_ids is None


@each_format
def test_ids_of_the_truth_are_no_label_of_predictions(write: Writer) -> None:
    truth, scores = make_numbered([*range(11, 21)])
    labels = [name for name in scores if name != "no"]
    scores[labels] = (scores[labels] * 400).astype(int)
    files = write(truth, "t"), write(scores, "s")
    for data in (files, (truth, scores), (truth, files[1]), (files[0], scores)):
        with pytest.raises(ValueError, match=r"'no' is read as a label, but has the ids of .*; "):
            evaluate(*data, metrics="p@1")


@each_format
def test_label_of_the_truth_names_no_rows_of_predictions(write: Writer) -> None:
    truth, scores = make_numbered([*range(11, 21)])
    truth["no"] = [0, 1] * 5
    files = write(truth, "t"), write(scores, "s")
    for data in (files, (truth, scores), (truth, files[1]), (files[0], scores)):
        with pytest.raises(ValueError, match=r"'no' is read as ids, but is a label of .*labels="):
            evaluate(*data, metrics="p@1")


def test_frame_with_an_index_of_its_own_has_no_other_ids() -> None:
    truth, scores = make_numbered([*range(11, 21)])
    truth["no"] = [0, 1] * 5
    index = [f"d{row}" for row in range(10)]
    truth.index = pd.Index(index)
    scores.index = pd.Index(index)
    assert results_of(truth, scores)[2][0] == "no"


@each_format
def test_integers_of_a_truth_that_may_be_ids_are_refused_with_advice(write: Writer) -> None:
    truth, scores = make_numbered([7, 8])
    files = write(truth, "t"), write(scores, "s")
    advice = r"'no': value 7 .*if it has ids, give scan\(path, instance='no'\)"
    with pytest.raises(ValueError, match=advice):
        evaluate(*files)


@each_format
def test_columns_with_numbers_for_names_are_labels(write: Writer) -> None:
    scores = pd.DataFrame({"0": [5, 4, 3], "1": [0.5, 0.25, 0.75]})
    truth = pd.DataFrame({"0": [1, 0, 1], "1": [0, 1, 1]})
    assert results_of(write(truth, "t"), write(scores, "s"))[2] == ["0", "1"]


def scores_without_names() -> dict[str, Any]:
    """Return scores of three labels in arrays, lists and files, many of them equal."""
    cells = np.random.default_rng(2).integers(0, 4, (9, 3)) / 4
    np.save("scores.npy", cells)
    sp.save_npz("scores.npz", sp.csr_array(cells))
    order = np.argsort(-cells, axis=1, kind="stable")[:, :2]
    np.save("top_indices.npy", order)
    return {
        "array": (cells, cells),
        "matrix": (sp.csr_array(cells), sp.csr_array(cells)),
        "list": (cells.tolist(), cells.tolist()),
        "lists of ids": (order.tolist(), order.tolist()),
        "pair": ((order, None), (order, None)),
        "npy": (cells, "scores.npy"),
        "npz": (sp.csr_array(cells), "scores.npz"),
        "indices": ((order, None), "top_indices.npy"),
    }


@each_format
@pytest.mark.parametrize(
    "form", ["array", "matrix", "list", "lists of ids", "pair", "npy", "npz", "indices"]
)
def test_predictions_without_names_are_read_by_position(write: Writer, form: str) -> None:
    value, beside = scores_without_names()[form]
    truth = make_truth(9, 3)
    plain = truth.drop(columns="id")
    ties = {"metrics": ["p@1", "ndcg@3"]}
    expected = results_of(plain, value, **ties)
    for table in (plain, truth, truth.rename(columns={"id": "document"})):
        file = write(table, "t")
        assert results_of(file, beside, **ties) == expected
        assert results_of(file, beside, labels=[*plain.columns], **ties) == expected
        notes = evaluate(file, beside, metrics="p@1").notes
        assert any("labels were read by position" in note for note in notes)
        are_left_out = [f"column '{table.columns[0]}' is ignored" in note for note in notes]
        assert any(are_left_out) == (table is not plain)


@each_format
def test_ids_in_another_order_beside_an_array_are_refused(write: Writer) -> None:
    truth = make_truth(9, 3)
    scores = np.random.default_rng(2).random((9, 3))
    truth["id"] = range(9)
    assert evaluate(write(truth, "in_order"), scores, metrics="p@1")["p@1"] >= 0
    file = write(truth[::-1], "t")
    text = "its ids number the rows in another order, but y_score has no ids; sort its"
    with pytest.raises(ValueError, match=text):
        evaluate(file, scores)


@each_format
def test_columns_in_the_order_of_their_numbers_are_noted(write: Writer) -> None:
    truth = make_truth(9, 3)
    truth.columns = pd.Index(["id", "2", "0", "1"])
    file = write(truth, "t")
    scores = np.random.default_rng(2).random((9, 3))
    report = evaluate(file, scores, metrics="p@1")
    assert f"{file}: columns were sorted by their numbers" in report.notes
    plain = truth[["0", "1", "2"]].to_numpy()
    assert report["p@1"] == evaluate(plain, scores, metrics="p@1")["p@1"]


@each_format
def test_sets_without_names_are_read_by_position(write: Writer) -> None:
    truth = make_truth(9, 3)
    file = write(truth, "t")
    plain = truth.drop(columns="id")
    cells = (np.random.default_rng(1).random((9, 3)) < 0.5).astype(int)
    measures = {"metrics": ["f1.macro", "f1.micro"]}
    expected = results_of(plain, y_pred=cells, **measures)
    assert results_of(file, y_pred=cells, **measures) == expected
    assert results_of(file, y_pred=sp.csr_array(cells), **measures) == expected
    ids = [np.flatnonzero(row).tolist() for row in cells]
    assert results_of(file, y_pred=ids, **measures) == expected


@each_format
def test_other_number_of_columns_without_names_is_refused(write: Writer) -> None:
    file = write(make_truth(9, 3), "t")
    with pytest.raises(
        ValueError, match=r"2 labels, but t.* has 3; give the same labels, in the order"
    ):
        evaluate(file, np.zeros((9, 2)))
    with pytest.raises(ValueError, match="8 rows do not match the 9 of t"):
        evaluate(file, np.zeros((8, 3)))
