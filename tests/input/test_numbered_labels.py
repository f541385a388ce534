"""Tables without a column of labels, as learning to rank has them: labels are numbered by rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.damage import answer
from tests.limits import NAME_LIMITS, small_limits
from xmleval import Evaluator, compare, evaluate, from_df, from_groups, scan

MEASURES: dict[str, Any] = {"metrics": ["ndcg@3", "p@1", "mrr@5", "map@all", "auc.samples"]}
GRADED: dict[str, Any] = {"metrics": ["ndcg@3", "ndcg@all"], "conventions": "gains=linear"}
SIZES = [3, 12, 1, 4, 7]
QUERIES = [30, 1, 12, 4, 7]
PIECES = {**NAME_LIMITS, "input.rows": {"CHECKED_BYTES": 500}}
PIECES["input.formats.arrow"] = {"BATCH_BYTES": 200}


def make_table() -> pd.DataFrame:
    """Grades and scores, many of them equal, without names of labels."""
    rng = np.random.default_rng(3)
    n = sum(SIZES)
    return pd.DataFrame(
        {
            "qid": np.repeat(QUERIES, SIZES),
            "y": rng.integers(0, 4, n),
            "score": rng.integers(0, 4, n) / 4,
        }
    )


def write_csv(frame: pd.DataFrame, name: str) -> str:
    frame.to_csv(f"{name}.csv", index=False)
    return f"{name}.csv"


def write_json_lines(frame: pd.DataFrame, name: str) -> str:
    frame.to_json(f"{name}.jsonl", orient="records", lines=True)
    return f"{name}.jsonl"


def write_parquet(frame: pd.DataFrame, name: str) -> str:
    frame.to_parquet(f"{name}.parquet")
    return f"{name}.parquet"


def as_frame(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    return frame


def as_polars(frame: pd.DataFrame, name: str) -> pl.DataFrame:
    return pl.DataFrame(frame.to_dict("list"))


FORMS: list[Callable[[pd.DataFrame, str], Any]] = [
    write_csv,
    write_json_lines,
    write_parquet,
    as_frame,
    as_polars,
]
each_form = pytest.mark.parametrize("form", FORMS)


def results_of(*data: Any, **options: Any) -> tuple[Any, ...]:
    """Return the values, the values by row, and the names of labels of a report."""
    report = evaluate(*data, per_row=True, **options)
    by_row = {name: [*map(str, values)] for name, values in report.per_row().items()}
    return dict(report), by_row, report.label_names


def expected(options: dict[str, Any]) -> tuple[Any, ...]:
    """Return the results of the same table with a name for each label."""
    table = make_table()
    numbers = table.groupby("qid").cumcount().astype(str)
    names = numbers.rename("doc_id")
    truth = pd.concat([table[["qid"]], names, table["y"].rename("relevance")], axis=1)
    scores = pd.concat([table[["qid"]], names, table["score"]], axis=1)
    return results_of(truth, scores, **options)


def named_by(form: Callable[..., Any], data: Any, **columns: str) -> Any:
    """Name the columns of a frame or a file."""
    return scan(data, **columns) if isinstance(data, str) else from_df(data, **columns)


@each_form
@pytest.mark.parametrize("options", [MEASURES, GRADED])
def test_rows_of_a_query_are_its_labels(form: Callable[..., Any], options: dict[str, Any]) -> None:
    table = form(make_table(), "table")
    assert results_of(table, table, **options) == expected(options)
    truth = form(make_table()[["qid", "y"]], "truth")
    scores = form(make_table()[["qid", "score"]], "scores")
    assert results_of(truth, scores, **options) == expected(options)


@each_form
def test_labels_that_are_numbered_are_noted(form: Callable[..., Any]) -> None:
    table = form(make_table(), "table")
    notes = " ".join(evaluate(table, table, metrics="p@1").notes)
    text = "no column has labels, so the lines of each 'qid' are numbered;"
    assert f"{text} judgements are in 'y'" in notes
    assert f"{text} scores are in 'score'" in notes


@each_form
def test_empty_name_of_the_label_column_numbers_labels(form: Callable[..., Any]) -> None:
    frame = make_table().rename(columns={"y": "label"})
    table = form(frame, "table")
    with pytest.raises(
        ValueError, match=r"occurs twice.*if it is a grade, number the labels with .*label=''\)"
    ):
        evaluate(table, table, **GRADED)
    numbered = named_by(form, table, label="")
    assert results_of(numbered, numbered, **GRADED) == expected(GRADED)
    named = [
        named_by(form, table, instance="qid", label="", score=name) for name in ("label", "score")
    ]
    assert results_of(*named, **GRADED) == expected(GRADED)


@each_form
def test_own_names_of_columns_are_given(form: Callable[..., Any]) -> None:
    frame = make_table().rename(columns={"qid": "query", "y": "gain", "score": "model"})
    table = form(frame, "table")
    named = [named_by(form, table, instance="query", score=name) for name in ("gain", "model")]
    assert results_of(*named, **GRADED) == expected(GRADED)


@each_form
def test_other_number_of_labels_of_a_query_is_refused(form: Callable[..., Any]) -> None:
    truth = form(make_table(), "truth")
    for rows in (slice(0, -1), slice(1, None)):
        scores = form(make_table()[rows], "scores")
        with pytest.raises(ValueError, match=r"row '\d+' has \d labels?, but \d in .*their order"):
            evaluate(truth, scores)


@each_form
@pytest.mark.parametrize(("name", "start"), [("document", "d"), ("candidate_id", ""), ("Item", "")])
def test_column_of_texts_or_ids_that_may_name_labels_is_refused(
    form: Callable[..., Any], name: str, start: str
) -> None:
    frame = make_table()
    frame[name] = [f"{start}{row}" for row in range(len(frame))]
    if not start:
        frame[name] = frame[name].astype(int)
    table = form(frame, "table")
    with pytest.raises(ValueError, match=rf"'{name}' may have the labels: if so, call it 'label'"):
        evaluate(table, table)


@each_form
def test_columns_of_features_are_left_out(form: Callable[..., Any]) -> None:
    frame = make_table()
    frame["length"] = np.random.default_rng(0).random(len(frame))
    table = form(frame, "table")
    assert results_of(table, table, **GRADED) == expected(GRADED)


@each_form
def test_ids_that_differ_are_no_queries(form: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"qid": ["a", "b"], "y": [1, 0], "z": [0, 1]})
    scores = pd.DataFrame({"qid": ["a", "b"], "y": [0.5, 0.1], "z": [0.2, 0.9]})
    report = evaluate(form(frame, "truth"), form(scores, "scores"), metrics="p@1")
    assert report.label_names == ["y", "z"]


@pytest.mark.parametrize("form", FORMS[:3])
def test_numbers_go_on_from_batch_to_batch_and_file_to_file(form: Callable[..., Any]) -> None:
    table = form(make_table(), "table")
    with small_limits(PIECES):
        assert results_of(table, table, **GRADED) == expected(GRADED)
    Path("parts").mkdir()
    form(make_table()[:15], "parts/1")
    form(make_table()[15:], "parts/2")
    assert results_of("parts", "parts", **GRADED) == expected(GRADED)


@each_form
def test_groups_of_numbered_rows_are_those_of_queries(form: Callable[..., Any]) -> None:
    frame = make_table()
    frame["lang"] = frame["qid"].map(lambda query: "de" if query > 5 else "en")
    table = form(frame, "table")
    report = evaluate(table, table, metrics="ndcg@3", row_groups="lang")
    assert {lang: group.n_rows for lang, group in report.row_groups.items()} == {"de": 3, "en": 2}


def test_sizes_of_groups_are_those_of_lightgbm() -> None:
    table = make_table()
    truth = from_groups(table["y"], SIZES)
    scores = from_groups(table["score"].to_numpy(), np.array(SIZES))
    assert results_of(truth, scores, **GRADED)[0] == expected(GRADED)[0]
    by_query = [from_groups(table[name], qid=table["qid"]) for name in ("y", "score")]
    assert results_of(*by_query, **GRADED) == expected(GRADED)
    compared = compare(truth, {"a": scores, "b": truth}, **GRADED)
    assert dict(compared["a"]) == expected(GRADED)[0]
    evaluator = Evaluator(labels=[*map(str, range(max(SIZES)))], **GRADED)
    evaluator.update(truth, scores)
    assert dict(evaluator.compute()) == expected(GRADED)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0, 1], [2]), "sizes: add up to 2, but there are 3 values; give the number of labels"),
        (([1, 0, 1], [3, 0]), "sizes: 0 at place 1 is not a number of labels; leave out"),
        (([1, 0, 1], [1.5, 1.5]), "sizes: expected integers, the number of labels of each query"),
        (([1, 0, 1],), "sizes: expected one of sizes and qid"),
        (([1, 2], 5), "sizes: 5 is not a list or an array"),
        (([1, 2], None, 5), "qid: 5 is not a list or an array"),
        (([1, 0, 1], None, [7, 7]), "qid: expected 3 values, one for each label"),
        (([1, 0, 1], [3], [7, 7, 7]), "sizes: expected one of sizes and qid"),
        (([[1, 0]], [2]), r"values: shape \(1, 2\) is not \(n,\)"),
    ],
)
def test_wrong_sizes_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_groups(*arguments[:2], **dict(zip(["qid"], arguments[2:], strict=False)))


def test_shell_reads_one_file_as_truth_and_scores() -> None:
    table = make_table()
    write_csv(table, "table")
    write_csv(table.rename(columns={"y": "label"}), "other")
    options = ["--metrics", "ndcg@3", "--conventions", "gains=linear", "--format", "json"]
    code, output, error = answer(["evaluate", "table.csv", "table.csv", *options])
    assert code == 0, error
    assert f'"ndcg@3": {expected(GRADED)[0]["ndcg@3"]}' in output
    fields = ["--label-field", "", "--scores-label-field", ""]
    code, numbered, error = answer(["evaluate", "other.csv", "other.csv", *fields, *options])
    assert code == 0, error
    assert f'"ndcg@3": {expected(GRADED)[0]["ndcg@3"]}' in numbered


@each_form
def test_scores_are_not_judged_by_themselves(form: Callable[..., Any]) -> None:
    table = form(make_table().rename(columns={"y": "gain"}), "table")
    text = r"no column has judgements, and 'score' may have scores; .*score=\.\.\."
    with pytest.raises(ValueError, match=text):
        evaluate(table, table, **GRADED)
    numbered = named_by(form, table, label="")
    with pytest.raises(ValueError, match="no column has judgements"):
        evaluate(numbered, numbered, **GRADED)
    named = named_by(form, table, score="gain")
    assert results_of(named, table, **GRADED) == expected(GRADED)
    alone = form(make_table()[["qid", "y"]].rename(columns={"y": "score"}), "alone")
    alone = named_by(form, alone, label="")
    assert results_of(alone, table, **GRADED) == expected(GRADED)


def test_numbered_labels_need_ids_judgements_and_scores() -> None:
    table = make_table()[["qid", "y", "score"]]
    truth = from_df(table[["qid", "y"]], label="", score="y")
    texts = table[["qid"]].assign(text="a")
    advice = "the columns are 'qid', 'text'; name the column with"
    with pytest.raises(ValueError, match=f"^frame: no column has scores; {advice}"):
        from_df(texts, label="")
    write_csv(texts, "texts")
    numbered = scan("texts.csv", label="")
    with pytest.raises(ValueError, match=f"^texts.csv: no column has scores; {advice}"):
        evaluate(truth, numbered, metrics="p@1")
    with pytest.raises(ValueError, match=f"^texts.csv: no column has judgements; {advice}"):
        evaluate(numbered, from_df(table, label="", score="score"), metrics="p@1")
    nameless = table.rename(columns={"qid": "text"})[["text", "y"]]
    message = "^frame: no column has the ids of instances; the columns are 'text', 'y'; name the"
    with pytest.raises(ValueError, match=message):
        evaluate(from_df(nameless, label="", score="y"), truth, metrics="p@1")


def test_groups_by_sizes_have_no_names_of_rows() -> None:
    table = make_table()
    truth = from_groups(table["y"], SIZES)
    named = from_groups(table["score"], qid=np.repeat([1, 2, 3, 4, 5], SIZES))
    text = "rows of y_score have names, but groups by sizes in y_true have none; give qid= to both"
    with pytest.raises(ValueError, match=text):
        evaluate(truth, named)
    write_csv(table, "table")
    text = "rows of {} have names, but groups by sizes in {} have none; give qid= to both$"
    for other in (named, table, "table.csv", from_df(table[["qid", "score"]])):
        name = "table.csv" if isinstance(other, str) else "y_score"
        with pytest.raises(ValueError, match=f"^{name}: {text.format(name, 'y_true')}"):
            evaluate(truth, other)
    for other in (from_groups(table["y"], qid=table["qid"]), table, "table.csv"):
        name = "table.csv" if isinstance(other, str) else "y_true"
        with pytest.raises(ValueError, match=f"^y_score: {text.format(name, 'y_score')}"):
            evaluate(other, truth)
    scores = table["score"]
    with pytest.raises(ValueError, match=r"row '0' has 4 labels, but 3 in y_true"):
        evaluate(truth, from_groups(scores, [4, 11, *SIZES[2:]]))
    with pytest.raises(ValueError, match=r"y_score: .*4 rows.* 5"):
        evaluate(truth, from_groups(scores[:-7], SIZES[:-1]))


@each_form
def test_numbered_labels_beside_named_ones_are_refused(form: Callable[..., Any]) -> None:
    table = make_table()
    numbered = form(table[["qid", "y"]], "truth")
    scores = form(table[["qid", "score"]], "scores")
    named = table.assign(doc_id=table.groupby("qid").cumcount())
    text = r"labels of .* have names, but those of .* are numbered, .* or neither"
    with pytest.raises(ValueError, match=text):
        evaluate(numbered, form(named[["qid", "doc_id", "score"]], "named_scores"))
    renamed = named.rename(columns={"y": "relevance"})[["qid", "doc_id", "relevance"]]
    with pytest.raises(ValueError, match=text):
        evaluate(form(renamed, "named_truth"), scores)


@each_form
def test_integers_that_may_name_labels_are_refused(form: Callable[..., Any]) -> None:
    table = make_table()
    table["product"] = np.random.default_rng(2).permutation(len(table)) + 70
    truth = form(table[["qid", "product", "y"]], "truth")
    ordered = table.sort_values("score", kind="stable")
    scores = form(ordered[["qid", "product", "score"]], "scores")
    with pytest.raises(ValueError, match="'product' may have the labels: if so, call it 'label'"):
        evaluate(truth, scores)
    with pytest.raises(ValueError, match="'product' may have the labels: if so, call it 'label'"):
        evaluate(form(table[["qid", "y"]], "short"), scores)


@each_form
def test_columns_in_another_order_are_refused(form: Callable[..., Any]) -> None:
    table = make_table()
    table["length"] = np.random.default_rng(0).integers(0, 9, len(table)) / 2
    ordered = table.sort_values("score", kind="stable", ignore_index=True)
    truth = form(table[["qid", "length", "y"]], "truth")
    scores = form(ordered[["qid", "length", "score"]], "scores")
    with pytest.raises(ValueError, match=r"column 'length' differs from .* by their order; give"):
        evaluate(truth, scores)


@each_form
@pytest.mark.parametrize("name", ["rank", "Position", "line", "idx"])
def test_places_of_labels_are_refused(form: Callable[..., Any], name: str) -> None:
    table = make_table()
    table[name] = 1
    with pytest.raises(ValueError, match=f"'{name}' may be the order of the labels"):
        evaluate(form(table, "table"), form(table, "table"))


@each_form
def test_numbers_of_lines_are_left_out(form: Callable[..., Any]) -> None:
    table = make_table()
    table["number"] = np.arange(len(table)) + 1
    data = form(table, "table")
    assert results_of(data, data, **GRADED) == expected(GRADED)


@each_form
def test_one_label_in_each_row_is_numbered_where_the_caller_says_so(
    form: Callable[..., Any],
) -> None:
    truth = form(pd.DataFrame({"qid": [3, 5, 7], "y": [1, 0, 1]}), "truth")
    scores = form(pd.DataFrame({"qid": [3, 7, 5], "score": [0.5, 0.25, 0.75]}), "scores")
    text = r"no column for label 'y'; if each row has one label .*label=''\) for both"
    with pytest.raises(ValueError, match=text):
        evaluate(truth, scores)
    report = evaluate(
        named_by(form, truth, label=""), named_by(form, scores, label=""), metrics="p@1"
    )
    assert report["p@1"] == 2 / 3
    assert report.label_names == ["0"]
