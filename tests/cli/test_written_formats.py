"""Data that commands write: in the format of the file's name with the same values, or refused."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import json_of
from tests.damage import answer
from tests.made_files import as_list, make_scores

pytest.importorskip("pyarrow")
NAMES = [f"é,;'{place}" for place in (3, 1, 4, 0, 5, 9, 2, 6)]
N_ROWS = 12
N_LABELS = len(NAMES)
KEYS = [f"q{row}" for row in np.random.default_rng(5).permutation(N_ROWS)]
MEASURES = "p@1,p@3,ndcg@5,map@all"
OF_SETS = "f1.micro,f1.samples,f1.macro,precision.micro"
ENDINGS = (
    ".npz",
    "_indices.npy",
    ".npy",
    ".txt",
    ".txt.gz",
    ".svm",
    ".arff",
    ".qrels",
    ".qrels.gz",
    ".run",
    ".run.gz",
    ".parquet",
    ".arrow",
    ".feather",
    ".csv",
    ".csv.gz",
    ".tsv",
    ".jsonl",
    ".jsonl.gz",
    ".ndjson",
    ".json",
    ".lines",
    ".xyz",
    "",
)
TABLES = {
    ".parquet",
    ".arrow",
    ".feather",
    ".csv",
    ".csv.gz",
    ".tsv",
    ".jsonl",
    ".jsonl.gz",
    ".ndjson",
}
TEXTS = {".txt", ".txt.gz"}
RUNS = {".run", ".run.gz"}
QRELS = {".qrels", ".qrels.gz"}
NUMBERED = {
    "truth": {".npz", *TEXTS, *QRELS, *TABLES},
    "matrix": {".npz", "_indices.npy", *TEXTS, *RUNS, *TABLES},
    "list": {".npz", "_indices.npy", *TEXTS, *RUNS, *TABLES},
    "bare list": {".npz", "_indices.npy", *RUNS, *TABLES},
    "sets": {".npz", *TEXTS, *QRELS, *TABLES},
}
NAMED = {
    "truth": {".npz", *TEXTS, *QRELS, *TABLES},  # a matrix of which gets numbers
    "list": {*RUNS, *TABLES},
    "bare list": {*RUNS, *TABLES},
    "applied": {".npz", *RUNS, *TABLES},
    "sets": {".npz", *TABLES},
}
BY_NAME = {*RUNS, *QRELS, *TABLES} - {".parquet", ".arrow", ".feather"}  # in which digits are names
DOCUMENTS = "CSV and JSON Lines do not keep; rename it"
MATRICES = {".npz", "_indices.npy", *TEXTS}


def truth() -> Any:
    dense = np.random.default_rng(2).random((N_ROWS, N_LABELS)) < 0.3
    dense[np.arange(N_ROWS), np.arange(N_ROWS) % N_LABELS] = True
    return sp.csr_array(dense.astype(np.float32))


def scores() -> Any:
    return make_scores(N_ROWS, N_LABELS, 5)


@pytest.fixture
def inputs(folder: Path) -> None:
    """The same truth and scores by number and by name, with rules and maps fitted to them."""
    labels, values = as_list(scores())
    sp.save_npz("Y.npz", truth())
    sp.save_npz("matrix.npz", scores())
    for stem in "list", "bare":
        np.save(f"{stem}_indices.npy", labels)
    np.save("list_scores.npy", values)
    relevant = [[NAMES[label] for label in np.flatnonzero(row)] for row in truth().toarray()]
    ranked = [[NAMES[label] for label in row] for row in labels.tolist()]
    write_named("Y", relevant)
    write_named("bare", ranked)
    write_named("list", ranked, values.tolist())
    for form, y_true, y_score in (
        ("numbers", "Y.npz", "matrix.npz"),
        ("names", "Y.jsonl", "list.jsonl"),
    ):
        done(f"threshold fit {y_true} {y_score} --measure f1.micro --output {form}.rule")
        done(f"calibrate fit {y_true} {y_score} --method platt --output {form}.map")
    done("convert Y.npz digits.qrels --kind truth")


def write_named(
    stem: str, labels: list[list[str]], values: list[list[float]] | None = None
) -> None:
    rows: list[dict[str, Any]] = [
        {"instance": key, "labels": row} for key, row in zip(KEYS, labels, strict=True)
    ]
    for row, numbers in zip(rows, values or (), strict=False):
        row["scores"] = numbers
    # matched by key
    lines = [f"{json.dumps(row)}\n" for row in (rows if stem == "Y" else rows[::-1])]
    Path(f"{stem}.jsonl").write_text("".join(lines))


def done(line: str) -> str:
    code, out, err = answer(shlex.split(line))
    assert code == 0, err
    return out


def values(line: str) -> dict[str, Any]:
    return dict(json_of(f"evaluate {line}")["values"])


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("content", "write", "by_number", "by_name", "reference"),
    [
        (
            "truth",
            "convert Y.npz {} --kind truth",
            "{} bare_indices.npy",
            "{} bare.run",
            "Y.npz bare_indices.npy",
        ),
        (
            "matrix",
            "convert matrix.npz {} --kind scores",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "list",
            "convert list_indices.npy {} --kind scores",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "bare list",
            "convert bare_indices.npy {} --kind scores",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "matrix",
            "calibrate apply matrix.npz --map numbers.map --output {}",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "list",
            "calibrate apply list_indices.npy --map numbers.map --output {}",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "matrix",
            "fuse matrix.npz matrix.npz --rule mean --output {}",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "list",
            "fuse list list --rule rank --output {}",
            "Y.npz {}",
            "digits.qrels {}",
            "Y.npz matrix.npz",
        ),
        (
            "sets",
            "threshold apply matrix.npz --rule numbers.rule --output {}",
            "Y.npz --pred {}",
            "digits.qrels --pred {}",
            "Y.npz matrix.npz --decision numbers.rule",
        ),
    ],
)
def test_data_by_number_are_written_in_every_format_or_refused(
    content: str, write: str, by_number: str, by_name: str, reference: str
) -> None:
    done("convert bare_indices.npy bare.run --kind scores")
    lines = {ending: by_name if ending in BY_NAME else by_number for ending in ENDINGS}
    if content == "sets":  # which a truth by number reads from qrels
        lines |= dict.fromkeys(QRELS, by_number)
    check(write, NUMBERED[content], lines, reference, OF_SETS if content == "sets" else MEASURES)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("content", "write", "line", "reference"),
    [
        ("truth", "convert Y.jsonl {} --kind truth", "{} list.jsonl", "Y.jsonl list.jsonl"),
        ("list", "convert list.jsonl {} --kind scores", "Y.jsonl {}", "Y.jsonl list.jsonl"),
        ("bare list", "convert bare.jsonl {} --kind scores", "Y.jsonl {}", "Y.jsonl list.jsonl"),
        ("list", "convert list.run {} --kind scores", "Y.jsonl {}", "Y.jsonl list.jsonl"),
        (
            "applied",
            "calibrate apply list.jsonl --map names.map --output {}",
            "Y.jsonl {}",
            "Y.jsonl list.jsonl",
        ),
        (
            "applied",
            "fuse list.jsonl list.run --rule mean --output {}",
            "Y.jsonl {}",
            "Y.jsonl list.jsonl",
        ),
        (
            "sets",
            "threshold apply list.jsonl --rule names.rule --output {}",
            "Y.jsonl --pred {}",
            "Y.jsonl list.jsonl --decision names.rule",
        ),
    ],
)
def test_names_are_written_in_every_format_that_keeps_them_or_refused(
    content: str, write: str, line: str, reference: str
) -> None:
    done("convert list.jsonl list.run --kind scores")
    done("convert list.jsonl of_numbers.npz --kind scores --like Y.jsonl")
    lines = dict.fromkeys(ENDINGS, line)
    if content == "truth":  # whose names are numbers in a matrix
        lines |= dict.fromkeys(MATRICES, "{} of_numbers.npz")
    check(write, NAMED[content], lines, reference, OF_SETS if content == "sets" else MEASURES)


def check(
    write: str, accepted: set[str], lines: dict[str, str], reference: str, measures: str
) -> None:
    """Write files of every ending; those accepted must have the values of the reference."""
    expected = values(f"{reference} --metrics {measures}")
    for ending in ENDINGS:
        code, _, err = answer(shlex.split(write.format(f"out{ending}")))
        if ending in accepted:
            assert code == 0, (ending, err)
            file = f"out{ending}"
            if ending == "_indices.npy":
                file = "out"
            line = lines[ending].format(file)
            assert values(f"{line} --metrics {measures}") == expected, ending
        else:
            assert code == 2, ending
            assert err.startswith("xmleval: "), err
            assert err.count("\n") == 1, err
            for accepted_ending in accepted:
                if accepted_ending.count(".") == 1:
                    assert f" {accepted_ending}" in err, err
            assert not [*Path.cwd().glob("out*")], ending
        for path in Path.cwd().glob("out*"):
            path.unlink()


def test_written_lists_keep_every_score_and_the_order_of_equal_ones(folder: Path) -> None:
    numbers = [float("inf"), 1 / 3, 1 / 3, 1e-300, -0.5, float("-inf")]
    rows: list[dict[str, Any]] = [
        {"instance": "q,\n1", "labels": list("cbadef"), "scores": numbers},
        {"instance": "q 2", "labels": ["a"]},
    ]
    rows[1]["scores"] = [2.0]
    pa = pytest.importorskip("pyarrow")
    pa.parquet.write_table(pa.Table.from_pylist(rows), "in.parquet")
    for ending in (".jsonl", ".parquet", ".arrow", ".ndjson.gz"):
        done(f"convert in.parquet out{ending} --kind scores")
        done(f"convert out{ending} back.parquet --kind scores")
        assert pa.parquet.read_table("back.parquet").to_pylist() == rows
    rows[0]["instance"] = 'q,"1'
    pa.parquet.write_table(pa.Table.from_pylist(rows), "in.parquet")
    for ending in (".csv", ".tsv.gz"):
        done(f"convert in.parquet out{ending} --kind scores")
        done(f"convert out{ending} back.parquet --kind scores")
        assert pa.parquet.read_table("back.parquet").to_pylist() == rows


@pytest.mark.parametrize(
    ("key", "label", "ending", "message"),
    [
        ("q1", "a ", ".jsonl", f"label 'a ' begins or ends with a blank, which {DOCUMENTS}"),
        (" q1", "a", ".csv", f"row ' q1' begins or ends with a blank, which {DOCUMENTS}"),
        ("q\n1", "a", ".csv", "row 'q\\n1' has a line break, which CSV does not keep; rename it"),
        ("q 1", "a", ".run", "'q 1' is not one word, which TREC files need"),
        ("q1", "a b", ".run", "'a b' is not one word, which TREC files need"),
    ],
)
def test_convert_refuses_names_that_a_format_does_not_keep(
    folder: Path, refused: Any, key: str, label: str, ending: str, message: str
) -> None:
    pa = pytest.importorskip("pyarrow")
    row = {"instance": key, "labels": [label], "scores": [0.5]}
    pa.parquet.write_table(pa.Table.from_pylist([row]), "in.parquet")
    assert refused(f"convert in.parquet out{ending} --kind scores") == f"in.parquet: {message}"
    assert not Path(f"out{ending}").exists()


def test_convert_notes_what_a_format_does_not_keep_of_a_truth(folder: Path) -> None:
    Path("Y.qrels").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq2 0 d -1\n")
    lost = "but averages over labels count them; give --labels, the names of all"
    for ending in (".csv", ".jsonl", ".parquet"):
        notes = answer(f"convert Y.qrels out{ending} --kind truth".split())[2].splitlines()
        assert notes == [
            "xmleval: Y.qrels: grades are written as relevant or not",
            f"xmleval: out{ending}: 2 labels without rows are not in it, {lost}",
        ]
    done("convert Y.qrels out.qrels --kind truth")
    assert "q1 0 b 0\n" in Path("out.qrels").read_text()
    sp.save_npz("Y.npz", sp.csr_array(np.eye(2, 3)))
    _, _, err = answer(["convert", "Y.npz", "out.csv", "--kind", "truth"])
    assert err == f"xmleval: out.csv: 1 label without rows is not in it, {lost}\n"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"row_names": ["q1", "q1"]}, "row_names has 'q1' twice"),
        ({"row_names": ["q1"]}, "2 rows, but 1 names"),
        ({"label_names": ["a"]}, "2 labels, but 1 names"),
        ({"label_names": [1, 2]}, "int64 of shape (2,)"),
    ],
)
def test_evaluate_refuses_names_that_do_not_fit_their_matrix(
    folder: Path, refused: Any, arrays: dict[str, Any], message: str
) -> None:
    sp.save_npz("m.npz", sp.csr_array(np.eye(2)))
    names = {name: np.array(value) for name, value in arrays.items()}
    with np.load("m.npz") as matrix:
        members: dict[str, Any] = {**matrix, **names}
        np.savez("m.npz", **members)
    Path("Y.qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    expected = "expected a sparse matrix with arrays 'row_names' or 'label_names' of distinct texts"
    text = refused("evaluate Y.qrels m.npz --metrics p@1")
    assert text.startswith("m.npz: ")
    assert text.endswith(f"{message}; {expected}")


@pytest.mark.usefixtures("inputs")
def test_convert_numbers_sets_and_scores_as_a_truth_does() -> None:
    done("threshold apply list.jsonl --rule names.rule --output sets.jsonl")
    done("convert Y.jsonl numbered.npz --kind truth")
    done("convert sets.jsonl sets.npz --kind truth --like Y.jsonl")
    done("convert list.jsonl list.npz --kind scores --like Y.jsonl")
    sets = values(f"numbered.npz --pred sets.npz --metrics {OF_SETS}")
    assert sets == values(f"Y.jsonl list.jsonl --decision names.rule --metrics {OF_SETS}")
    listed = values(f"numbered.npz list.npz --metrics {MEASURES}")
    assert listed == values(f"Y.jsonl list.jsonl --metrics {MEASURES}")


NAMED_ROWS = {"d2": {"b": 2.0, "a": 1.0}, "d1": {"c": 3.0}, "d3": {"a": 2.0, "c": 1.0}}


def to_lines(kind: str) -> str:
    lines = []
    for row in NAMED_ROWS.values():
        words = [*row]
        if kind == "scores":
            words = [f"{name}:{value}" for name, value in row.items()]
        lines.append(" ".join(words) + "\n")
    return "".join(lines)


def to_csv(kind: str) -> str:
    if kind == "scores":
        lines = [f"{key},{name},{value}\n" for key, name, value in named_entries()]
        return "instance,label,score\n" + "".join(lines)
    lines = [f"{key},{name}\n" for key, name, _ in named_entries()]
    return "instance,label\n" + "".join(lines)


def to_json_lines(kind: str) -> str:
    lines = []
    for key, row in NAMED_ROWS.items():
        document: dict[str, Any] = {"instance": key, "labels": [*row]}
        if kind == "scores":
            document["scores"] = [*row.values()]
        lines.append(f"{json.dumps(document)}\n")
    return "".join(lines)


def to_json(kind: str) -> str:
    rows: dict[str, dict[str, int]] = {key: {} for key in NAMED_ROWS}
    for key, name, value in named_entries():
        rows[key][name] = int(value)
    return json.dumps(rows)


def to_trec(kind: str) -> str:
    line = "{} 0 {} {:.0f}\n"
    if kind == "scores":
        line = "{} Q0 {} 1 {:.0f} me\n"
    return "".join(line.format(*entry) for entry in named_entries())


def named_entries() -> list[tuple[str, str, float]]:
    entries = []
    for key, row in NAMED_ROWS.items():
        entries += [(key, name, value) for name, value in row.items()]
    return entries


SOURCES: dict[str, Callable[[str], str]] = {
    "in.lines": to_lines,
    "in.csv": to_csv,
    "in.jsonl": to_json_lines,
    "in.json": to_json,
    "in.run": to_trec,
}


@pytest.mark.parametrize("kind", ["truth", "scores"])
@pytest.mark.parametrize("source", SOURCES)
def test_convert_keeps_names_in_every_format(folder: Path, source: str, kind: str) -> None:
    text = SOURCES[source](kind)
    keys = [*NAMED_ROWS]
    if source == "in.lines":
        keys = ["0", "1", "2"]
    if source == "in.run" and kind == "truth":
        source = "in.qrels"
    Path(source).write_text(text)
    endings = {*TABLES, *(RUNS if kind == "scores" else QRELS)}
    for ending in sorted(endings):
        done(f"convert {source} out{ending} --kind {kind}")
        done(f"convert out{ending} back.jsonl --kind {kind}")
        lines = Path("back.jsonl").read_text().splitlines()
        documents = [json.loads(line) for line in lines]
        instances = [row.get("instance", str(number)) for number, row in enumerate(documents)]
        assert instances == keys, ending
        for document, expected in zip(documents, NAMED_ROWS.values(), strict=True):
            labels = document["labels"]
            assert {*labels} == {*expected}, ending
            if kind == "scores":
                assert dict(zip(labels, document["scores"], strict=True)) == expected, ending
