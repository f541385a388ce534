"""`xmleval evaluate`: options are arguments, in every format, and several SCORES are as each alone."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from tests.commands import Run, json_of
from tests.damage import answer
from tests.examples import LABELS, SCORES, Y_TEST, Y_TRAIN
from tests.file_routes import NAMED, Record
from tests.made_files import SCORES as SCORE_WRITERS
from tests.made_files import TRUTHS, make_scores, make_truth, npy, npz
from xmleval import evaluate, inverse_propensity


def table(path: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file; `None` is the column of cells beyond the header."""
    with open(path, newline="") as file:
        return [*csv.DictReader(file)]


@pytest.mark.parametrize(("options", "arguments"), [
    ("--metrics p@1 --metrics 'fbeta.macro(beta=2)@2, f1.samples ,lrap' --decision ' top1'",
     {"metrics": ["p@1", "fbeta.macro(beta=2)@2", "f1.samples", "lrap"], "decision": "top1"}),
    ("--k 4 --k 1-2,3", {"k": [4, 1, 2, 3]}),
    ("--metrics f1.micro --decision Threshold1e-3", {"metrics": "f1.micro", "decision": "threshold0.001"}),
    ("--metrics sets --pred sets.npz --threads 2", {"metrics": "sets", "y_pred": Y_TEST[::-1]}),
    ("--metrics all --conventions 'sklearn, labels=seen,ap_empty=skip'",
     {"metrics": "all", "conventions": "sklearn,labels=seen,ap_empty=skip"}),
    ("--metrics all --conventions unlisted=0.5 --unlisted below", {"metrics": "all"}),
    ("--train Y_train.npz --a 0.6 --b 2.6",
     {"inverse_propensity": inverse_propensity(sp.csr_array(Y_TRAIN), 0.6, 2.6)}),
])  # fmt: skip
def test_options_are_arguments(folder: Path, run: Run, options: str, arguments: dict[str, Any]) -> None:
    report = evaluate(Y_TEST, (LABELS, SCORES), **arguments)
    assert run(f"evaluate Y_test.npz m {options} --format json") == report.to_json() + "\n"


@pytest.mark.parametrize("name", ["table", "json", "csv", "markdown", "latex"])
def test_form_of_output_is_that_of_its_option_or_suffix(folder: Path, run: Run, name: str) -> None:
    line = "evaluate Y_test.npz m --metrics p,r@3 --k 1-3"
    report = evaluate(Y_TEST, (LABELS, SCORES), metrics=["p", "r@3"], k=[1, 2, 3])
    printed = run(f"{line} --format {name}")
    if name != "table":
        assert printed == getattr(report, f"to_{name}")().rstrip("\n") + "\n"
    suffixes = {"table": ["", ".txt"], "markdown": [".md", ".markdown"], "latex": [".tex"], "csv": [".CSV"]}
    outputs = [f"out{suffix}" for suffix in suffixes.get(name, [f".{name}"])]
    for output in (*outputs, f"x.json --format {name}"):
        assert run(f"{line} --output {output}") == ""
        assert Path(output.split()[0]).read_text(encoding="utf-8") == printed


AMONG = sp.csr_array((np.random.default_rng(9).random((60, 30)) < 0.4).astype(np.float32))
LISTS = ("npz-list", "npz-list-packed", "npz-calibration", "npy", "npy-labels")


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("form", [*TRUTHS, *LISTS])
def test_candidates_of_files_are_those_of_arrays(folder: Path, form: str, memory: str) -> None:
    truth, scores, short = make_truth(), make_scores(), make_scores(depth=12, seed=4)
    npz(folder / "Y", truth)
    npz(folder / "m", scores)
    among = short != 0 if form in LISTS else AMONG
    path = SCORE_WRITERS[form](Path("c"), short) if form in LISTS else TRUTHS[form](Path("c"), AMONG)
    report = evaluate(truth, scores, metrics=["p", "mrr@3", "f1.macro@3", "rprec"], candidates=among)
    words = f"--metrics p,mrr@3,f1.macro@3,rprec --candidates {path} --memory {memory}"
    contents = json_of(f"evaluate Y.npz m.npz {words}")
    assert (contents["values"], contents["notes"]) == (dict(report), [*report.notes])


@pytest.mark.parametrize("memory", ["1GB", "1B"])
def test_excluded_label_beyond_those_of_some_rows_changes_nothing(folder: Path, memory: str) -> None:
    npz(folder / "truth", sp.csr_array(np.eye(9, dtype=np.float32)[[1, 2, 8]]))
    columns = {"instance": [0, 1, 1, 2], "label": [1, 2, 0, 3], "score": [0.5, 0.9, 0.4, 0.3]}
    pq.write_table(pa.table(columns), folder / "scores.parquet")
    line = f"evaluate truth.npz scores.parquet --metrics p@1,p@2 --memory {memory}"
    for label in (0, 4, 5, 6, 8):  # none of them is listed in row 0
        (folder / "pairs.txt").write_text(f"0 {label}\n")
        contents = json_of(f"{line} --exclude pairs.txt")
        assert contents["values"] == json_of(line)["values"]
        note = "exclude: 0 of 1 pair is excluded; the others match no relevant and no predicted label"
        assert contents["notes"][0] == note


def test_merged_states_count_the_pairs_that_match(folder: Path) -> None:
    pairs = np.argwhere(np.random.default_rng(3).random((60, 30)) < 0.2)
    Path("few.txt").write_text("".join(f"{row} {label}\n" for row, label in pairs if row < 25))
    for name, rows in ("0", slice(25)), ("1", slice(25, 60)):
        npz(Path(f"Y{name}"), make_truth()[rows])
        npy(Path(f"s{name}"), make_scores()[rows])
    parts = [f"evaluate Y{n}.npz s{n} --metrics p@1 --exclude few.txt --save state{n}" for n in "01"]
    contents = [json_of(words) for words in (*parts, "merge state0 state1")]
    assert contents[0]["exclude"] | {"sha256": ""} == {"file": "few.txt", "sha256": "", "from": "both"}
    notes = [each["notes"][0] for each in contents]
    *counts, merged = ([int(word) for word in note.split() if word.isdecimal()] for note in notes)
    assert merged == [*map(sum, zip(*counts, strict=True))]
    json_of("evaluate Y1.npz s1 --metrics p@1 --save state1")
    assert answer(["merge", "state0", "state1"])[0] == 2  # of all pairs, and of less


TRUTH = {"0": "cat dog", "1": "dog", "2": "bee cat owl", "3": "cow"}
TRAIN = {"0": "cat eel", "1": "dog gnu eel", "2": "ant", "3": "cat dog bee"}
MODELS = {  # labels with scores, of rows 0 to 3
    "a": ["cat 0.9 eel 0.5", "ant 0.8 dog 0.3", "owl 0.7 cat 0.7", "dog 0.4 cow 0.2"],
    "b": ["gnu 0.9 dog 0.6", "hen 0.8 yak 0.3", "eel 0.7 bee 0.6", "cow 0.9 fox 0.4"],
    "c": ["cat 0.9 dog 0.8", "dog 0.8 bee 0.1", "cat 0.7 bee 0.2", "cow 0.6 cat 0.5"],
}


def cell(labels: list[str]) -> str:
    """Return a field of CSV that holds labels."""
    return f'"{json.dumps(labels).replace(chr(34), chr(34) * 2)}"'


def write_model(form: str, name: str) -> str:
    """Write the rows of a model, in formats of names and in those of lines in order."""
    rows = [row.split() for row in MODELS[name]]
    if form == "npy":
        np.save(f"{name}-labels.npy", np.array([row[::2] for row in rows]))
        np.save(f"{name}-scores.npy", np.array([row[1::2] for row in rows], float))
        return f"{name}-labels.npy"
    if form == "tags":
        lines = [f"{i},{cell(row[::2])}\n" for i, row in enumerate(rows)]
        Path(f"{name}.csv").write_text("".join(["id,predicted\n", *lines]))
        return f"{name}.csv"
    records = [Record(str(i), row[::2], [*map(float, row[1::2])]) for i, row in enumerate(rows)]
    return NAMED[form](Path(name), "scores", records).name


@pytest.fixture
def models(folder: Path) -> None:
    for name, rows in (("truth", TRUTH), ("train", TRAIN)):
        judged = [f"{row} 0 {label} 1\n" for row, labels in rows.items() for label in labels.split()]
        Path(f"{name}.qrels").write_text("".join(judged))
        lines = "".join(f"{cell(labels.split())}\n" for labels in rows.values())
        Path(f"{name}.csv").write_text(f"tags\n{lines}")
    for name, sets in (
        ("pred", "0 cat kid,1 dog,2 owl eel,3 ram"),
        ("pool", "3 cow,0 eel dog,2 yak bee,9 cat"),
    ):
        rows_of_sets = [line.split() for line in sets.split(",")]
        lines = "".join(f"{row},{cell(labels)}\n" for row, *labels in rows_of_sets)
        Path(f"{name}.csv").write_text(f"id,predicted\n{lines}")
    Path("pairs.txt").write_text("0 0\n1 3\n2 1\n")
    Path("names.txt").write_text("ant bee cat cow dog eel fox gnu hen owl yak pig ".replace(" ", "\n"))


def results(line: str) -> dict[str, Any]:
    """Return the report, and lines of labels, of each of SCORES."""
    contents = json_of(f"{line} --per-label labels.out")
    names = [word for word in line.split() if word[0] in MODELS and word[1:2] in (".", "-", "_")]
    reports = contents.get("reports") or {names[0]: contents}
    by_name: dict[str, Any] = {name: [] for name in reports}
    for row in table("labels.out"):
        by_name[row.pop("scores", names[0])].append(row)
    return {name: (report, by_name[name]) for name, report in reports.items()}


def same_alone(line: str, files: list[str]) -> dict[str, Any]:
    """Return the results of files together, once they are those of each alone."""
    joint = results(line.format(" ".join(files)))
    assert joint == {name: result for file in files for name, result in results(line.format(file)).items()}
    return joint


@pytest.mark.slow
@pytest.mark.parametrize("form", [*NAMED, "tags", "npy"])
@pytest.mark.parametrize(("options", "n_labels"), [
    ("--metrics all --decision top2 --train {train} --labels names.txt", 12),
    ("--metrics sets,auc.macro --decision threshold0.5 --conventions sklearn --labels names.txt", 12),
    ("--metrics f1.micro,f1.macro,p@1 --decision rule.npz", 5),
    ("--metrics xmc,f1.macro@2 --train {train} --exclude pairs.txt", 5),
    ("--metrics sets,f1.macro@1 --decision top2 --labels names.txt", 12),
    ("--metrics f1.macro,f1.samples,rprec --pred pred.csv", 5),
    ("--metrics p@1,p@2,f1.macro@1 --candidates pool.csv", 5),
], ids=range(7))  # fmt: skip
def test_several_scores_are_as_each_alone(models: None, form: str, options: str, n_labels: int) -> None:
    in_order = form == "npy"
    by_id = "pred.csv" in options or "pool.csv" in options
    if (form == "tags" and ("threshold" in options or "rule" in options)) or (in_order and by_id):
        pytest.skip("the format has no scores, or no ids")
    if "rule" in options:
        scores = write_model("trec", "a")
        words = f"threshold fit truth.qrels {scores} --rule label --measure f1.macro --output rule.npz"
        assert answer(words.split())[0] == 0
    ending = "csv" if in_order else "qrels"
    files = [write_model(form, name) for name in MODELS]
    joint = same_alone(f"evaluate truth.{ending} {{}} {options.format(train=f'train.{ending}')}", files)
    assert {report["n_labels"] for report, _ in joint.values()} == {n_labels}


@pytest.mark.parametrize("option", ["--per-row", "--per-label"])
@pytest.mark.parametrize("metrics", ["all", "f1.macro@1,auc.samples,recall.macro@1"])
def test_values_of_several_scores_have_the_columns_of_all(folder: Path, metrics: str, option: str) -> None:
    scores = ["m", "full.npy", "bare"]
    np.save("bare_indices.npy", LABELS)  # without scores
    np.save("full.npy", np.random.default_rng(0).random(Y_TEST.shape))

    def rows_of(*names: str) -> list[dict[str, str]]:
        line = f"evaluate Y_test.npz {' '.join(names)} --metrics {metrics} {option} out.csv"
        assert answer(line.split())[0] == 0
        return table("out.csv")

    joint = rows_of(*scores)
    assert not any(None in row for row in joint)
    for name in scores:
        rows, alone = [row for row in joint if row["scores"] == name], rows_of(name)
        shared = [column for column in alone[0] if column in rows[0]]  # each group is cut to what all have
        assert len(shared) > 1
        joint_cells, cells = ([[row[column] for column in shared] for row in part] for part in (rows, alone))
        assert joint_cells == cells
        assert not any(row[column] for row in rows for column in row.keys() - {*alone[0], "scores"})


@pytest.mark.parametrize(("option", "metrics", "worst", "reverse"), [
    ("--per-label", "p@1", "fn@1", True),
    ("--per-label", "curves", "auc", False),
    ("--per-row", "p@1,p@3,lrap", "p@1", False),
    ("--per-row", "one_error,p@3", "one_error", True),
])  # fmt: skip
def test_worst_is_first(folder: Path, option: str, metrics: str, worst: str, reverse: bool) -> None:
    json_of(f"evaluate Y_test.npz m --metrics {metrics} {option} out.csv")
    rows = table("out.csv")
    values = [float(row[worst]) for row in rows if row[worst]]
    assert values == sorted(values, reverse=reverse)
    assert len(values) > 2
    if option == "--per-row":
        report = evaluate(Y_TEST, (LABELS, SCORES), metrics=metrics.split(","), per_row=True)
        number = int(rows[0].pop("row"))
        expected = {name: column[number] for name, column in report.per_row().items()}
        assert {name: float(text) for name, text in rows[0].items()} == expected


def test_names_of_rows_and_labels_are_written(folder: Path) -> None:
    Path("q.qrels").write_text('d1 0 apple 1\nd2 0 p,"ear 1\n')
    Path("m.run").write_text("d1 Q0 apple 1 0.9 t\nd2 Q0 apple 1 0.8 t\n")
    json_of("evaluate q.qrels m.run --metrics p@1,f1.macro@1 --per-label labels.csv --per-row rows.csv")
    assert [(row["label"], row["name"]) for row in table("labels.csv")] == [("1", 'p,"ear'), ("0", "apple")]
    assert [(row["row"], row["name"]) for row in table("rows.csv")] == [("1", "d2"), ("0", "d1")]
