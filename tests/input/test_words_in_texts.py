"""Texts are split at ASCII blanks only, and a code with a leading zero is a name."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Run, json_of
from tests.damage import answer
from tests.input.forms import write_table
from xmleval import evaluate
from xmleval.input.text_columns import read_group_lines, read_pairs
from xmleval.io import read_qrels, read_truth

Rows = list[list[str]]
CODES = [["4019", "2"], ["117", "0117"], ["0117"]]
PREDICTED = [["4019"], ["0117"], ["117"]]


def write_lines(name: str, rows: Rows, separator: str = " ") -> str:
    path = Path(f"{name}.lines")
    lines = [f"{separator.join(row)}\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")
    return path.name


def write_comma_lines(name: str, rows: Rows) -> str:
    return write_lines(name, rows, ",")


def write_scored_lines(name: str, rows: Rows) -> str:
    if name == "t":
        return write_lines(name, rows)
    scored_rows = []
    for row in rows:
        scored_rows.append([f"{label}:{-place / 4}" for place, label in enumerate(row)])
    return write_lines(name, scored_rows)


def write_jsonl(name: str, rows: Rows) -> str:
    write_table(Path(f"{name}.jsonl"), {"labels": rows})
    return f"{name}.jsonl"


def write_csv(name: str, rows: Rows) -> str:
    lines = ["labels;x\n"]
    for row in rows:
        fields = json.dumps(row)[1:-1].replace('"', "")
        lines.append(f"{fields};\n")
    Path(f"{name}.csv").write_text("".join(lines), encoding="utf-8")
    return f"{name}.csv --separator ,"


def write_trec(name: str, rows: Rows) -> str:
    """Write judgements as t.qrels, or a run."""
    lines = []
    for row, labels in enumerate(rows):
        for place, label in enumerate(labels):
            if name == "t":
                lines.append(f"{row} 0 {label} 1\n")
            else:
                lines.append(f"{row} Q0 {label} {place + 1} {-place} run\n")
    ending = "qrels" if name == "t" else "run"
    path = Path(f"{name}.{ending}")
    path.write_text("".join(lines), encoding="utf-8")
    return path.name


WRITERS: list[Callable[[str, Rows], str]] = [
    write_lines,
    write_comma_lines,
    write_scored_lines,
    write_jsonl,
    write_csv,
    write_trec,
]


def precision(truth: str, scores: str) -> float:
    """Return P@1 of files; both names may have options, which are the same."""
    true_path, _, options = truth.partition(" ")
    path, *_ = scores.split()
    report = json_of(f"evaluate {true_path} {path} {options} --metrics p@1")
    return float(report["values"]["p@1"])


@pytest.mark.parametrize("write", WRITERS)
def test_codes_with_leading_zeros_are_names_in_every_text(
    folder: Path, write: Callable[..., str]
) -> None:
    """A row without such a code may be first, in the truth or in the predictions."""
    plain = [["4019"], ["117"], ["117"]]
    for true_rows, rows, expected in (
        (CODES, PREDICTED, 2 / 3),
        (PREDICTED, CODES, 1 / 3),
        (CODES, plain, 2 / 3),
        (plain, CODES, 2 / 3),
    ):
        truth = write("t", true_rows)
        scores = write("s", rows)
        assert precision(truth, scores) == pytest.approx(expected)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("blank", ["\u00a0", "\u2009", "\u3000"])
def test_blanks_of_unicode_are_parts_of_names(
    folder: Path, write: Callable[..., str], blank: str
) -> None:
    truth = [[f"New{blank}York", "Paris"], ["New"], ["Rome"]]
    scores = [["New"], ["New"], [f"New{blank}York"]]
    assert precision(write("t", truth), write("s", scores)) == pytest.approx(1 / 3)


def test_a_code_far_behind_the_first_line_makes_all_words_names(folder: Path) -> None:
    """The code may be split by two reads of the file."""
    for n_rows in (1, 349_524, 349_525, 349_526):
        Path("t.lines").write_text("12\n" * n_rows + "0117\n")
        report = evaluate("t.lines", "t.lines", metrics="p@1")
        assert report["p@1"] == 1.0
        assert report.label_names == ["12", "0117"]
    assert report.notes[0] == "t.lines: read as names, as '0117' has a leading zero"


def test_ids_without_leading_zeros_stay_ids(folder: Path) -> None:
    Path("t.lines").write_text("10,0\n2 100\n\n")
    assert evaluate("t.lines", "t.lines", metrics="p@1").label_names is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.svm", "3,0117 1:0.5\n"),
        ("t.svm", "3 1:0.5\n00 1:0.5\n"),
        ("t.txt", "1 9 200\n0117 1:0.5\n"),
        ("t.txt", "1 200\n0117:1\n"),
    ],
)
def test_codes_are_refused_where_labels_are_numbers(folder: Path, name: str, text: str) -> None:
    Path(name).write_text(text)
    message = r"^t.*: line \d: '0[01]1?7?' has a leading zero, as codes have"
    with pytest.raises(ValueError, match=message):
        read_truth(name)


def test_codes_are_refused_in_pairs_and_groups_of_ids(folder: Path) -> None:
    Path("pairs.txt").write_text("0 07\n")
    with pytest.raises(ValueError, match="line 1: '0 07' is not a row and a label"):
        read_pairs(Path("pairs.txt"))
    Path("groups.txt").write_text("7\thead\n07\ttail\n")
    with pytest.raises(ValueError, match="line 2: label '07' is not a whole number"):
        read_group_lines("label_groups", Path("groups.txt")).by_number("label", None, 10)


def test_convert_keeps_names_in_the_files_of_trec(folder: Path) -> None:
    write_lines("t", CODES)
    write_scored_lines("s", CODES)
    note = "read as names, as '0117' has a leading zero"
    code, _, err = answer(["convert", "t.lines", "t.qrels", "--kind", "truth"])
    assert (code, err) == (0, f"xmleval: t.lines: {note}\n")
    code, _, err = answer(["convert", "s.lines", "s.run", "--kind", "scores"])
    assert (code, err) == (0, "")
    assert read_qrels("t.qrels").label_names == ["4019", "2", "117", "0117"]
    assert precision("t.qrels", "s.run") == 1.0


def test_byte_order_mark_within_a_text_is_refused(folder: Path, refused: Run) -> None:
    marked = "\ufeffq1 0 a 1\n".encode()
    Path("t.qrels").write_bytes(marked + marked)
    message = "t.qrels: line 2: begins with a byte order mark, as of another file; remove it"
    assert refused("stats t.qrels").startswith(message)


def test_most_labels_without_rows_and_scores_are_noted(folder: Path) -> None:
    """There is no note if the number of labels is given, or if most labels occur."""
    Path("t.lines").write_text("4019 2\n7\n")
    Path("s.lines").write_text("4019\n3\n")
    Path("t.qrels").write_text("0 0 4019 1\n0 0 2 1\n1 0 7 1\n")

    def notes_of(truth: str, n_labels: int | None = None) -> list[str]:
        report = evaluate(truth, "s.lines", metrics="p@1", n_labels=n_labels)
        return list(report.notes)

    for truth in ("t.lines", "t.qrels"):
        expected = (
            f"{truth}: 4016 of 4020 labels have no row and no score, "
            "as the largest id is 4019; averages over labels"
        )
        (note,) = notes_of(truth)
        assert note.startswith(expected)
        assert not notes_of(truth, n_labels=4020)

    Path("x.txt").write_text("2 4020\n4019:1 2:1\n7:1\n")
    assert not notes_of("x.txt")

    Path("t.lines").write_text("7 2\n7\n")
    Path("s.lines").write_text("0\n3\n")
    assert not notes_of("t.lines")


def test_first_line_with_a_wrong_pair_is_named(folder: Path) -> None:
    Path("pairs.txt").write_text("0 1\n2 99\n1 98\n")
    with pytest.raises(ValueError, match=r"pairs\.txt: line 2: label id 99 is not in"):
        evaluate("Y_test.npz", "scores.npz", metrics="p@1", exclude="pairs.txt")
