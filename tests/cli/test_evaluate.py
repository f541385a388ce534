"""`xmleval evaluate`: options as arguments, every output format, and several SCORES at once."""

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
from tests.made_files import SCORES as SCORE_WRITERS
from tests.made_files import TRUTHS, make_scores, make_truth, npy, npz
from xmleval import evaluate, inverse_propensity


def table(path: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file; `None` is the column of cells beyond the header."""
    with open(path, newline="") as file:
        return [*csv.DictReader(file)]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (
            "--metrics p@1 --metrics 'fbeta.macro(beta=2)@2, f1.samples ,lrap' --decision ' top1'",
            {"metrics": ["p@1", "fbeta.macro(beta=2)@2", "f1.samples", "lrap"], "decision": "top1"},
        ),
        (
            "--k 4 --k 1-2,3",
            {"k": [4, 1, 2, 3]},
        ),
        (
            "--metrics f1.micro --decision Threshold1e-3",
            {"metrics": "f1.micro", "decision": "threshold0.001"},
        ),
        (
            "--metrics sets --pred sets.npz --threads 2",
            {"metrics": "sets", "y_pred": Y_TEST[::-1]},
        ),
        (
            "--metrics all --conventions 'sklearn, labels=seen,ap_empty=skip'",
            {"metrics": "all", "conventions": "sklearn,labels=seen,ap_empty=skip"},
        ),
        (
            "--metrics all --conventions empty=skip --unlisted 0.5",
            {"metrics": "all", "conventions": "empty=skip,unlisted=0.5"},
        ),
        (
            "--train Y_train.npz --a 0.6 --b 2.6",
            {"inverse_propensity": inverse_propensity(sp.csr_array(Y_TRAIN), 0.6, 2.6)},
        ),
    ],
)
def test_evaluate_takes_options_as_arguments(
    folder: Path, run: Run, options: str, arguments: dict[str, Any]
) -> None:
    report = evaluate(Y_TEST, (LABELS, SCORES), **arguments)
    assert run(f"evaluate Y_test.npz m {options} --format json") == report.to_json() + "\n"


@pytest.mark.parametrize("name", ["table", "json", "csv", "markdown", "latex"])
def test_output_has_the_format_of_its_option_or_suffix(folder: Path, run: Run, name: str) -> None:
    line = "evaluate Y_test.npz m --metrics p,r@3 --k 1-3"
    report = evaluate(Y_TEST, (LABELS, SCORES), metrics=["p", "r@3"], k=[1, 2, 3])
    printed = run(f"{line} --format {name}")
    if name != "table":
        assert printed == getattr(report, f"to_{name}")().rstrip("\n") + "\n"
    suffixes = {
        "table": ["", ".txt"],
        "markdown": [".md", ".markdown"],
        "latex": [".tex"],
        "csv": [".CSV"],
    }
    outputs = [f"out{suffix}" for suffix in suffixes.get(name, [f".{name}"])]
    for output in (*outputs, f"x.txt --format {name}"):
        assert run(f"{line} --output {output}") == ""
        assert Path(output.split()[0]).read_text(encoding="utf-8") == printed


AMONG = sp.csr_array((np.random.default_rng(9).random((60, 30)) < 0.4).astype(np.float32))
LISTS = ("npz-list", "npz-list-packed", "npz-calibration", "npy", "npy-labels")


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("form", [*TRUTHS, *LISTS])
def test_candidates_of_files_are_those_of_arrays(folder: Path, form: str, memory: str) -> None:
    truth = make_truth()
    scores = make_scores()
    short = make_scores(depth=12, seed=4)
    npz(folder / "Y", truth)
    npz(folder / "m", scores)
    if form in LISTS:
        candidates = short != 0
        path = SCORE_WRITERS[form](Path("c"), short)
    else:
        candidates = AMONG
        path = TRUTHS[form](Path("c"), AMONG)
    metrics = ["p", "mrr@3", "f1.macro@3", "rprec"]
    report = evaluate(truth, scores, metrics=metrics, candidates=candidates)
    words = f"--metrics {','.join(metrics)} --candidates {path} --memory {memory}"
    contents = json_of(f"evaluate Y.npz m.npz {words}")
    assert contents["values"] == dict(report)
    assert contents["notes"] == [*report.notes]


@pytest.mark.parametrize("memory", ["1GB", "1B"])
def test_excluded_label_beyond_those_of_some_rows_changes_nothing(
    folder: Path, memory: str
) -> None:
    npz(folder / "truth", sp.csr_array(np.eye(9, dtype=np.float32)[[1, 2, 8]]))
    columns = {"instance": [0, 1, 1, 2], "label": [1, 2, 0, 3], "score": [0.5, 0.9, 0.4, 0.3]}
    pq.write_table(pa.table(columns), folder / "scores.parquet")
    line = f"evaluate truth.npz scores.parquet --metrics p@1,p@2 --memory {memory}"
    expected = json_of(line)["values"]
    note = "exclude: 0 of 1 pair has a relevant or predicted label; the other pairs affect only "
    note += "measures of all labels"
    for label in (0, 4, 5, 6, 8):  # none of them is listed in row 0
        (folder / "pairs.txt").write_text(f"0 {label}\n")
        contents = json_of(f"{line} --exclude pairs.txt")
        assert contents["values"] == expected
        assert contents["notes"][0] == note


def test_merged_states_count_the_pairs_that_match(folder: Path) -> None:
    pairs = np.argwhere(np.random.default_rng(3).random((60, 30)) < 0.2)
    lines = [f"{row} {label}\n" for row, label in pairs if row < 25]
    Path("few.txt").write_text("".join(lines))
    for name, rows in (("0", slice(25)), ("1", slice(25, 60))):
        npz(Path(f"Y{name}"), make_truth()[rows])
        npy(Path(f"s{name}"), make_scores()[rows])
    first = json_of("evaluate Y0.npz s0 --metrics p@1 --exclude few.txt --save state0")
    second = json_of("evaluate Y1.npz s1 --metrics p@1 --exclude few.txt --save state1")
    merged = json_of("merge state0 state1")
    excluded = {**first["exclude"], "sha256": ""}
    assert excluded == {"file": "few.txt", "sha256": "", "from": "both"}
    sums = [*map(sum, zip(numbers_in_note(first), numbers_in_note(second), strict=True))]
    assert numbers_in_note(merged) == sums

    json_of("evaluate Y1.npz s1 --metrics p@1 --save state1")
    code, _, _ = answer(["merge", "state0", "state1"])
    assert code == 2  # the second state excludes nothing


def numbers_in_note(contents: dict[str, Any]) -> list[int]:
    words = contents["notes"][0].split()
    return [int(word) for word in words if word.isdecimal()]


@pytest.mark.parametrize("option", ["--per-row", "--per-label"])
@pytest.mark.parametrize("metrics", ["all", "f1.macro@1,auc.samples,recall.macro@1"])
def test_values_of_several_scores_have_the_columns_of_all(
    folder: Path, metrics: str, option: str
) -> None:
    scores = ["m", "full.npy", "bare"]
    np.save("bare_indices.npy", LABELS)  # without scores
    np.save("full.npy", np.random.default_rng(0).random(Y_TEST.shape))

    def rows_of(*names: str) -> list[dict[str, str]]:
        line = f"evaluate Y_test.npz {' '.join(names)} --metrics {metrics} {option} out.csv"
        code, _, _ = answer(line.split())
        assert code == 0
        return table("out.csv")

    joint = rows_of(*scores)
    assert not any(None in row for row in joint)
    for name in scores:
        rows = [row for row in joint if row["scores"] == name]
        alone = rows_of(name)
        columns = alone[0].keys()
        # each group is cut to the columns of all scores
        shared = columns & rows[0].keys()
        assert len(shared) > 1
        for row, expected in zip(rows, alone, strict=True):
            for column in shared:
                assert row[column] == expected[column]
            assert not any(row[column] for column in row.keys() - columns - {"scores"})


@pytest.mark.parametrize("ending", ["jsonl", "JSONL"])
def test_values_by_row_are_json_lines_by_an_ending_in_any_case(folder: Path, ending: str) -> None:
    line = f"evaluate Y_test.npz m --metrics p@1 --per-row rows.{ending}"
    assert answer(line.split())[0] == 0
    first = Path(f"rows.{ending}").read_text().splitlines()[0]
    assert "p@1" in json.loads(first)


@pytest.mark.parametrize(
    ("option", "metrics", "worst", "reverse"),
    [
        ("--per-label", "p@1", "fn@1", True),
        ("--per-label", "curves", "auc", False),
        ("--per-row", "p@1,p@3,lrap", "p@1", False),
        ("--per-row", "one_error,p@3", "one_error", True),
    ],
)
def test_values_by_row_and_label_are_sorted_worst_first(
    folder: Path, option: str, metrics: str, worst: str, reverse: bool
) -> None:
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


def test_of_labels_with_equal_values_the_most_frequent_is_written_first(folder: Path) -> None:
    truth = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]])
    scores = np.array([[0, 0, 0, 1.0]] * 3)
    sp.save_npz("Y.npz", sp.csr_array(truth))
    sp.save_npz("S.npz", sp.csr_array(scores))
    json_of("evaluate Y.npz S.npz --metrics recall.macro@1 --per-label out.csv")
    assert [(row["label"], row["support"]) for row in table("out.csv")] == [
        ("0", "3"),
        ("1", "2"),
        ("2", "1"),
        ("3", "3"),  # found in every row
    ]


def test_names_of_rows_and_labels_are_written(folder: Path) -> None:
    Path("q.qrels").write_text('d1 0 apple 1\nd2 0 p,"ear 1\n')
    Path("m.run").write_text("d1 Q0 apple 1 0.9 t\nd2 Q0 apple 1 0.8 t\n")
    line = "evaluate q.qrels m.run --metrics p@1,f1.macro@1"
    json_of(f"{line} --per-label labels.csv --per-row rows.csv")
    label_names = [(row["label"], row["name"]) for row in table("labels.csv")]
    row_names = [(row["row"], row["name"]) for row in table("rows.csv")]
    assert label_names == [("1", 'p,"ear'), ("0", "apple")]
    assert row_names == [("1", "d2"), ("0", "d1")]


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_measures_that_were_not_computed_are_listed_beside_every_form(
    folder: Path, form: str
) -> None:
    sp.save_npz("Y.npz", sp.csr_array(np.eye(3)))
    sp.save_npz("S.npz", sp.csr_array(np.eye(3) / 2))
    code, out, err = answer(f"evaluate Y.npz S.npz --metrics xmc,ps --format {form}".split())
    assert code == 0
    listed = err if form == "csv" else out
    assert "not computed without --train" in listed
    assert "not computed" not in (out if form == "csv" else err)


def test_endings_of_outputs_may_be_in_upper_case(folder: Path, run: Run) -> None:
    line = "evaluate Y_test.npz m --metrics p@1 --per-row"
    for name in ("rows.jsonl", "rows.JSONL", "rows.csv", "rows.CSV"):
        run(f"{line} {name}")
    assert Path("rows.JSONL").read_bytes() == Path("rows.jsonl").read_bytes()
    assert Path("rows.CSV").read_bytes() == Path("rows.csv").read_bytes()
    code, out, err = answer(f"{line} rows.csv --output result.json.GZ".split())
    assert (code, out) == (2, "")
    assert "expected a name without .gz, such as result.json" in err


def test_edges_of_groups_may_have_spaces_between_them(folder: Path, run: Run) -> None:
    line = "evaluate Y_test.npz m --metrics p@1 --train Y_train.npz --label-groups"
    assert run(f"{line} '1, 3'") == run(f"{line} 1,3")
