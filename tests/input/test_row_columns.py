"""Groups, clusters and weights of rows: columns of the truth's table, and CSV as pandas writes."""

import csv
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.limits import SMALL, small_limits
from xmleval import Evaluator, Report, Running, compare, evaluate, from_df, scan

KEYS = [f"d{row}" for row in range(12)]
LABELS = [["x"], ["y", "z"], ["x", "z"], ["z"]] * 3
GROUPS = [*"abca" * 3]
USERS = [7, 7, 8, 9] * 3
WEIGHTS = [1.0, 0.5, 2.0, 3.0] * 3
RUN = {key: {"x": 0.5, "y": 0.1 * row, "z": 0.9 - 0.1 * row} for row, key in enumerate(KEYS)}
COLUMNS: dict[str, Any] = {"row_groups": "lang", "clusters": "user", "sample_weight": "share"}
VALUES: dict[str, Any] = {"row_groups": GROUPS, "clusters": USERS, "sample_weight": WEIGHTS}
MEASURES: dict[str, Any] = {"metrics": ["p@1", "f1.macro@2", "lrap"], "confidence": 0.9}

CELLS: dict[str, list[Any]] = {
    "instance": KEYS,
    "labels": LABELS,
    "lang": GROUPS,
    "user": USERS,
    "share": WEIGHTS,
}
LISTS = pa.table(CELLS)
ENTRIES = [(row, label) for row, labels in enumerate(LABELS) for label in labels]
ENTRIES.sort(key=lambda entry: entry[1] != "z")  # the labels of a row are apart


def entries_of(cells: list[Any]) -> list[Any]:
    return [cells[row] for row, _ in ENTRIES]


LONG = pa.table(
    {
        "label": [label for _, label in ENTRIES],
        **{name: entries_of(cells) for name, cells in CELLS.items() if name != "labels"},
    }
)
WIDE_CELLS = {label: [int(label in labels) for labels in LABELS] for label in "xyz"}
WIDE = pa.table({**{name: CELLS[name] for name in ("user", "lang", "share")}, **WIDE_CELLS})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def without_notes(report: Any) -> str:
    return str(replace(report, notes=()).to_json())


def expected(**changes: Any) -> str:
    truth = dict(zip(KEYS, LABELS, strict=True))
    return without_notes(evaluate(truth, RUN, **MEASURES, **{**VALUES, **changes}))


def test_frames_give_columns() -> None:
    for truth in (LISTS, from_df(LISTS, label="labels"), from_df(LISTS, instance="instance")):
        assert without_notes(evaluate(truth, RUN, **MEASURES, **COLUMNS)) == expected()
    with_index = LISTS.rename_columns(["name", *LISTS.column_names[1:]])
    named = from_df(with_index, instance="name")
    assert without_notes(evaluate(named, RUN, **MEASURES, **COLUMNS)) == expected()


def test_long_frames_give_the_value_of_each_instance() -> None:
    run = {key: RUN[key] for key in reversed(KEYS)}
    order = [*dict.fromkeys(entries_of(KEYS))]
    values: dict[str, Any] = {
        name: dict(zip(KEYS, values, strict=True)) for name, values in VALUES.items()
    }
    truth = {key: LABELS[KEYS.index(key)] for key in order}
    report = evaluate(truth, RUN, labels=[*"xyz"], **MEASURES, **values)
    for frame in (LONG, from_df(LONG, instance="instance", label="label")):
        columns = evaluate(frame, run, labels=[*"xyz"], **MEASURES, **COLUMNS)
        assert without_notes(columns) == without_notes(report)


def test_columns_of_wide_frames_are_no_labels() -> None:
    scores = np.array([[RUN[key][label] for label in "xyz"] for key in KEYS])
    report = evaluate(pa.table(WIDE_CELLS), scores, **MEASURES, **VALUES)
    with_columns = evaluate(WIDE, scores, **MEASURES, **COLUMNS)
    assert with_columns.n_labels == 3
    assert with_columns.to_json() == report.to_json()
    assert WIDE.column_names == ["user", "lang", "share", *"xyz"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("keyed", [False, True])
def test_columns_of_wide_files_are_no_labels_in_any_file(ending: str, keyed: bool) -> None:
    rows = {"user": USERS, "lang": GROUPS, "share": WEIGHTS}
    keys = {"instance": KEYS} if keyed else {}
    scores = {label: [RUN[key][label] for key in KEYS] for label in "xyz"}
    names = []
    for name, cells in (("truth", WIDE_CELLS), ("scores", scores), ("train", WIDE_CELLS)):
        table = pa.table({**rows, **keys, **cells})
        names.append(WRITER_OF[ending](name, table))
    truth, run, train = names
    metrics: dict[str, Any] = {**MEASURES, "metrics": ["p@1", "psp@2", "lrap"]}
    clusters = [*map(str, USERS)] if ending == "csv" else USERS
    expected = evaluate(
        {key: LABELS[row] for row, key in enumerate(KEYS)},
        RUN,
        y_train=LABELS,
        labels=[*"xyz"],
        **metrics,
        **{**VALUES, "clusters": clusters},
    )
    report = evaluate(truth, run, y_train=train, **metrics, **COLUMNS)
    assert report.n_labels == 3
    assert without_notes(report) == without_notes(expected)


def test_records_give_columns() -> None:
    records = [{**row, "share": float(row["share"])} for row in LISTS.to_pylist()]
    for truth in (records, iter(records)):
        report = evaluate(truth, RUN, **MEASURES, **COLUMNS)
        assert without_notes(report) == expected()


def test_predictions_may_have_scores_in_a_column_of_that_name() -> None:
    truth = pa.table({"instance": KEYS, "labels": LABELS, "score": WEIGHTS})
    pairs = [(key, label, score) for key, row in RUN.items() for label, score in row.items()]
    names = ("instance", "label", "score")
    run = pa.table(dict(zip(names, zip(*pairs, strict=True), strict=True)))
    report = evaluate(
        write_parquet("truth", truth), write_parquet("run", run), **MEASURES, sample_weight="score"
    )
    plain = {"row_groups": None, "clusters": None}
    assert without_notes(report) == expected(**plain)


def test_compare_takes_columns() -> None:
    models = {"a": RUN, "b": {key: {"x": 1.0, "y": 0.5} for key in KEYS}}
    truth = LISTS.drop_columns(["lang", "user"])
    results = [
        compare(truth, models, metrics="p@1", row_groups=GROUPS, clusters=USERS),
        compare(LISTS, models, metrics="p@1", row_groups="lang", clusters="user"),
    ]
    first, second = (result.to_json() for result in results)
    assert first == second


def test_updates_take_columns_of_batches() -> None:
    evaluator = Evaluator(**MEASURES, labels=[*"xyz"])
    for part in (LISTS.slice(0, 5), LISTS.slice(5)):
        run = {key: RUN[key] for key in part.column("instance").to_pylist()}
        evaluator.update(part, run, **COLUMNS)
    report = evaluate(
        dict(zip(KEYS, LABELS, strict=True)), RUN, labels=[*"xyz"], **MEASURES, **VALUES
    )
    assert evaluator.compute().row_groups["a"].to_dict() == report.row_groups["a"].to_dict()
    assert dict(evaluator.compute()) == dict(report)
    assert evaluator.compute().confidence == report.confidence


def write_parquet(name: str, table: pa.Table) -> str:
    pyarrow.parquet.write_table(table, f"{name}.parquet")
    return f"{name}.parquet"


def write_csv(name: str, table: pa.Table) -> str:
    with Path(f"{name}.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(table.column_names)
        for row in table.to_pylist():
            lines.writerow(
                ";".join(cell) if isinstance(cell, list) else cell for cell in row.values()
            )
    return f"{name}.csv"


def write_json_lines(name: str, table: pa.Table) -> str:
    Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    return f"{name}.jsonl"


WRITER_OF = {"csv": write_csv, "jsonl": write_json_lines, "parquet": write_parquet}
WRITERS: list[Callable[[str, pa.Table], str]] = [write_parquet, write_csv]


@pytest.mark.parametrize("write", WRITERS)
def test_files_give_columns(write: Callable[[str, pa.Table], str]) -> None:
    clusters = [*map(str, USERS)] if write is write_csv else USERS
    lists = scan(write("lists", LISTS), separator=";" if write is write_csv else None)
    first, second = (write(f"part_{n}", LISTS.slice(7 * n, 7)) for n in range(2))
    parts = scan(first.replace("0", "*"), separator=";" if write is write_csv else None)
    assert second != first
    for truth in (lists, parts):
        report = evaluate(truth, RUN, **MEASURES, **COLUMNS)
        assert without_notes(report) == expected(clusters=clusters)


@pytest.mark.parametrize("write", WRITERS)
def test_long_files_give_columns_in_pieces(write: Callable[[str, pa.Table], str]) -> None:
    clusters: dict[str, Any] = {"clusters": "user"} if write is write_parquet else {}
    options: dict[str, Any] = {**COLUMNS, **MEASURES}
    options.pop("clusters")
    options |= clusters
    in_memory = evaluate(LONG, RUN, labels=[*"xyz"], **options)
    with small_limits(SMALL | {"input.fields": {"BLOCK_BYTES": 100}}):
        report = evaluate(write("long", LONG), RUN, labels=[*"xyz"], **options)
    assert without_notes(report) == without_notes(in_memory)


def test_numbered_tables_give_columns() -> None:
    ids = {"x": 0, "y": 1, "z": 2}
    table = LONG.set_column(0, "label", [[ids[label] for _, label in ENTRIES]])
    place = table.column_names.index("instance")
    table = table.set_column(place, "instance", [[row for row, _ in ENTRIES]])
    scores = np.array([[RUN[key][label] for label in "xyz"] for key in KEYS])
    report = evaluate(write_parquet("ids", table), scores, n_labels=3, **MEASURES, **COLUMNS)
    truth = np.array([WIDE_CELLS[label] for label in "xyz"]).T
    assert without_notes(report) == without_notes(evaluate(truth, scores, **MEASURES, **VALUES))


def test_columns_decide_nothing_about_labels() -> None:
    entries = {"instance": ["a", "b", "c"], "label": ["x", "y", "x"], "share": [1.0, 2.0, 3.0]}
    run = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}
    for truth in (pa.table(entries), write_csv("entries", pa.table(entries))):
        with pytest.raises(ValueError, match="column 'share' may contain judgements"):
            evaluate(truth, run, metrics="p@1")
        report = evaluate(truth, run, metrics="p@1", sample_weight="share")
        assert report["p@1"] == pytest.approx(4 / 6)


def test_the_column_of_instances_may_be_that_of_clusters() -> None:
    keyed: dict[str, Any] = {**VALUES, "clusters": KEYS}
    report = evaluate(LISTS, RUN, **MEASURES, **{**COLUMNS, "clusters": "instance"})
    assert without_notes(report) == expected(**keyed)


def test_a_checkpoint_of_another_column_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = write_parquet("lists", LISTS.append_column("other", LISTS.column("lang")))
    write_parquet("run", pa.table({"instance": KEYS, "label": ["x"] * 12, "score": [1.0] * 12}))
    running = Running(checkpoint="kept", resume=True)

    def interrupt(report: Evaluator) -> Report:
        raise KeyboardInterrupt

    options: dict[str, Any] = {"metrics": "p@1", "running": running}
    with monkeypatch.context() as patch:
        patch.setattr("xmleval.evaluation.checkpoint.LEAST_SECONDS", 0)
        patch.setattr("xmleval.evaluation.checkpoint.SHARE", 0)
        patch.setattr(Evaluator, "compute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            evaluate(truth, "run.parquet", row_groups="lang", **options)
    with pytest.raises(
        ValueError, match=r"another run; row_groups= differs: lang in the checkpoint, other now"
    ):
        evaluate(truth, "run.parquet", row_groups="other", **options)
    report = evaluate(truth, "run.parquet", row_groups="lang", **options)
    assert [*report.row_groups] == [*"abc"]


def test_names_of_columns_and_of_files_are_told_apart() -> None:
    Path("lang").write_text("".join(f"{key},r\n" for key in KEYS))
    Path("user").mkdir()
    for truth in (LISTS, write_parquet("lists", LISTS)):
        with pytest.raises(
            ValueError, match=r"'lang' is a column of y_true and a file; give './lang'"
        ):
            evaluate(truth, RUN, metrics="p@1", row_groups="lang")
        for file in ("./lang", Path("lang")):
            assert [*evaluate(truth, RUN, metrics="p@1", row_groups=file).row_groups] == ["r"]
        assert [*evaluate(truth, RUN, metrics="p@1", row_groups="user").row_groups] == [*"789"]
        with pytest.raises(
            ValueError, match=r"'who' is neither a file nor a column .* which has 'ins"
        ):
            evaluate(truth, RUN, metrics="p@1", clusters="who")


@pytest.mark.parametrize("write", WRITERS)
def test_several_or_missing_values_of_an_instance_are_refused(
    write: Callable[[str, pa.Table], str],
) -> None:
    languages = entries_of(GROUPS)
    place = LONG.column_names.index("lang")
    last = entries_of(KEYS).index("d1", entries_of(KEYS).index("d1") + 1)
    for cell, reason in (
        ("other", "column 'lang' has 'other' for 'd1', but 'b' before; expected one value for it"),
        (None, "column 'lang' has .* for 'd1', but 'b' before"),
    ):
        cells = [*languages]
        cells[last] = cell
        table = LONG.set_column(place, "lang", [cells])
        for truth in (table, write("long", table)):
            where = f"{truth}: (line|row) " if isinstance(truth, str) else f"row_groups: row {last}"
            with pytest.raises(ValueError, match=f"^{where}.*{reason}"):
                evaluate(truth, RUN, metrics="p@1", row_groups="lang")
    table = LISTS.set_column(2, "lang", [["a", None, *GROUPS[2:]]])
    for truth in (table, write("lists", table)):
        with pytest.raises(ValueError, match=r"column 'lang' has no value; give each row one"):
            evaluate(
                scan(truth, separator=";") if str(truth).endswith(".csv") else truth,
                RUN,
                metrics="p@1",
                row_groups="lang",
            )


def test_another_value_is_refused_in_each_block_of_lines() -> None:
    keys = [f"d{line // 4}" for line in range(80)]
    for line in (2, 41, 79):
        languages = ["a"] * 80
        languages[line] = "b"
        cells = {"instance": keys, "label": [*"wxyz"] * 20, "relevance": [1] * 80}
        truth = write_csv("runs", pa.table({**cells, "lang": languages}))
        reason = f"runs.csv: line {line + 2}: column 'lang' has 'b' for 'd{line // 4}', but 'a'"
        limits = small_limits({"input.fields": {"BLOCK_BYTES": 400}})
        with limits, pytest.raises(ValueError, match=reason):
            evaluate(truth, RUN, metrics="p@1", row_groups="lang")


def test_objects_give_fields_and_one_without_it_is_refused() -> None:
    rows = LISTS.to_pylist()
    Path("lists.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    report = evaluate("lists.jsonl", RUN, **MEASURES, **COLUMNS)
    assert without_notes(report) == expected()
    del rows[4]["lang"]
    Path("lists.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(ValueError, match=r"lists.jsonl: line 5: no field 'lang'"):
        evaluate("lists.jsonl", RUN, metrics="p@1", row_groups="lang")


def test_updates_refuse_files() -> None:
    evaluator = Evaluator("p@1", n_labels=3)
    Path("groups.txt").write_text("a\n" * 12)
    for name in ("groups.txt", "lang"):
        with pytest.raises(ValueError, match=f"row_groups: '{name}' is not a (file|column)"):
            evaluator.update(np.eye(3), np.eye(3), row_groups=name)


INDEX = [*range(12)]


def lines_of(*columns: list[Any]) -> str:
    return "".join(",".join(map(str, cells)) + "\n" for cells in zip(*columns, strict=True))


@pytest.mark.parametrize("header", ["id,lang", "instance,group", ",lang", "doc,0"])
def test_csv_by_key_may_have_a_header(header: str) -> None:
    Path("groups.csv").write_text(f"{header}\n{lines_of(KEYS, GROUPS)}")
    Path("weights.csv").write_text(f"{header}\n{lines_of(KEYS, WEIGHTS)}")
    options: dict[str, Any] = {
        "row_groups": "groups.csv",
        "sample_weight": "weights.csv",
        "clusters": "groups.csv",
    }
    report = evaluate(LISTS, RUN, **MEASURES, **options)
    assert without_notes(report) == expected(clusters=GROUPS)


def test_csv_may_have_the_index_of_pandas() -> None:
    Path("index.csv").write_text(f",lang\n{lines_of(INDEX, GROUPS)}")
    Path("both.csv").write_text(f",id,lang\n{lines_of(INDEX, KEYS, GROUPS)}")
    Path("named.csv").write_text(f"index,lang\n{lines_of(INDEX, GROUPS)}")
    Path("tabs.tsv").write_text(f",lang\n{lines_of(INDEX, GROUPS)}".replace(",", "\t"))
    for name in ("index.csv", "both.csv", "named.csv", "tabs.tsv"):
        report = evaluate(LISTS, RUN, **MEASURES, **{**VALUES, "row_groups": name})
        assert without_notes(report) == expected()
    Path("three.csv").write_text(f"id,lang,user\n{lines_of(KEYS, GROUPS, USERS)}")
    with pytest.raises(
        ValueError, match=r"three.csv: line 1: .* leave out all columns but these two"
    ):
        evaluate(LISTS, RUN, metrics="p@1", row_groups="three.csv")


def test_csv_of_values_alone_may_have_a_header() -> None:
    truth = np.array([WIDE_CELLS[label] for label in "xyz"]).T
    scores = np.array([[RUN[key][label] for label in "xyz"] for key in KEYS])
    languages = [f'"{group}, {group}"' for group in GROUPS]
    Path("lang.csv").write_text("lang\n" + lines_of(languages))
    Path("plain.csv").write_text(lines_of(languages))
    Path("share.csv").write_text("share\n" + lines_of(WEIGHTS))
    Path("zero.csv").write_text("0\n" + lines_of(WEIGHTS))
    Path("lines.svm").write_text("".join("0\n" for _ in KEYS))
    names = [text.strip('"') for text in languages]
    values: dict[str, Any] = {"row_groups": names, "sample_weight": WEIGHTS}
    report = evaluate(truth, scores, **MEASURES, **values)
    for groups in ("lang.csv", "plain.csv"):
        for weights in ("share.csv", "zero.csv"):
            options: dict[str, Any] = {"row_groups": groups, "sample_weight": weights}
            assert without_notes(evaluate(truth, scores, **MEASURES, **options)) == without_notes(
                report
            )
    Path("lang.txt").write_text("lang\n" + lines_of(languages))
    with pytest.raises(ValueError, match=r"lang.txt: "):
        evaluate(truth, scores, metrics="p@1", row_groups="lang.txt")
    with pytest.raises(ValueError, match=r"lang.csv: rows have names; expected row, tab or comma"):
        evaluate(LISTS, RUN, metrics="p@1", row_groups="lang.csv")


def test_first_line_that_is_taken_for_a_name_is_noted(tmp_path: Path) -> None:
    Path("groups.csv").write_text("en\nde\nfr\n")
    report = evaluate(np.eye(2), np.eye(2) + 1, metrics="p@1", row_groups="groups.csv")
    assert [*report.row_groups] == ["de", "fr"]
    assert "groups.csv: the first line, 'en', is read as the name of the column" in report.notes
    for text in ("en\nde\nen\n", "1\n2\n3\n"):
        Path("groups.csv").write_text(text)
        with pytest.raises(ValueError, match="groups"):
            evaluate(np.eye(2), np.eye(2) + 1, metrics="p@1", row_groups="groups.csv")


def test_a_column_of_results_is_read_only_if_no_other_has_predictions() -> None:
    Path("truth.csv").write_text("id,labels\na,x\nb,y\n")
    Path("run.csv").write_text("id,label,score,results\na,x,.2,ok\nb,y,.3,bad\n")
    assert evaluate("truth.csv", "run.csv", metrics="p@1")["p@1"] == 1.0


@pytest.mark.parametrize("argument", ["row_groups", "clusters", "sample_weight"])
@pytest.mark.parametrize("form", ["frame", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize(("name", "content"), [("label", "labels"), ("score", "judgements")])
def test_column_of_labels_or_judgements_is_no_value_of_rows(
    argument: str, form: str, name: str, content: str
) -> None:
    cells = {name: LONG[name].to_pylist() for name in ("instance", "label")}
    table = pa.table({**cells, "score": [1] * LONG.num_rows})
    truth: Any = table
    if form != "frame":
        truth = WRITER_OF[form]("truth", table)
    options = {**MEASURES, "conventions": "gains=linear", "metrics": "ndcg@2", argument: name}
    message = f"column '{name}' has the {content}, not a value for each row; name another column"
    with pytest.raises(ValueError, match=message):
        evaluate(truth, RUN, **options)


@pytest.mark.parametrize("form", ["frame", "csv", "jsonl", "parquet"])
def test_label_column_that_is_named_may_also_group_rows(form: str) -> None:
    table = pa.table({"instance": ["a", "b"], "topic": ["x", "y"], "relevance": [1, 1]})
    truth: Any = from_df(table, instance="instance", label="topic")
    if form != "frame":
        truth = scan(WRITER_OF[form]("truth", table), instance="instance", label="topic")
    run = {"a": {"x": 0.5, "y": 0.1}, "b": {"x": 0.5, "y": 0.1}}
    report = evaluate(truth, run, metrics="p@1", row_groups="topic")
    assert {topic: group["p@1"] for topic, group in report.row_groups.items()} == {"x": 1, "y": 0}


@pytest.mark.parametrize("argument", ["row_groups", "clusters", "sample_weight"])
def test_text_beside_a_truth_without_columns_is_refused(argument: str) -> None:
    array = np.eye(3, dtype=int)
    np.save("truth.npy", array)
    message = (
        f"{argument}: 'lang' is not a file, and y_true has no columns; give a list or an array"
    )
    for truth in (array, "truth.npy", array.tolist()):
        with pytest.raises(ValueError, match=message):
            evaluate(truth, np.eye(3), **{**MEASURES, argument: "lang"})
    with pytest.raises(FileNotFoundError, match="No such file"):
        evaluate(array, np.eye(3), **{**MEASURES, argument: "lang.csv"})


def test_clusters_are_the_same_in_every_form() -> None:
    rng = np.random.default_rng(0)
    users = [*(7 * rng.integers(-5, 25, 60)).tolist()]
    cells = rng.integers(0, 2, (3, 60))
    scores = rng.random((60, 3))
    columns = {label: cells[place].tolist() for place, label in enumerate("xyz")}
    table = pa.table({"user": users, **columns})
    texts = pa.table({"user": [*map(str, users)], **columns})
    options: dict[str, Any] = {"metrics": ["p@1", "ndcg@3"], "confidence": 0.9}
    expected = evaluate(cells.T, scores, clusters=users, **options)
    assert expected.confidence
    for clusters in (
        np.array(users),
        np.array(users, np.int32),
        [*map(str, users)],
        np.array(users, str),
    ):
        report = evaluate(cells.T, scores, clusters=clusters, **options)
        assert report.to_json() == expected.to_json()
    for frame in (table, texts):
        forms = [
            frame,
            *(write(f"form{number}", frame) for number, write in enumerate(WRITER_OF.values())),
        ]
        for form in forms:
            report = evaluate(form, scores, clusters="user", **options)
            assert report.confidence == expected.confidence


@pytest.mark.parametrize("argument", ["clusters", "row_groups"])
def test_missing_file_beside_arrays_is_refused_by_argument(argument: str) -> None:
    options: dict[str, Any] = {argument: "absent.csv"}
    if argument == "clusters":
        options["confidence"] = 0.9
    with pytest.raises(FileNotFoundError, match=f"No such file .*; {argument} takes a list"):
        evaluate(np.eye(3, dtype=int), np.eye(3), **options)


@pytest.mark.parametrize("name", ["w.csv", "w.tsv", "W.CSV", "w.Tsv", "w.csv.gz", "W.CSV.GZ"])
def test_header_of_values_is_skipped_in_tables_of_any_case(name: str) -> None:
    content = b"weight\n1\n0\n"
    if name.lower().endswith(".gz"):
        content = gzip.compress(content)
    Path(name).write_bytes(content)
    report = evaluate(np.eye(2), [[1, 0], [1, 0]], metrics="p@1", sample_weight=name)
    assert report["p@1"] == 1.0
