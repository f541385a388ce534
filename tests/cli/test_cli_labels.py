"""Results of every label on the command line: of one run, and of shards that are merged."""

from __future__ import annotations

import csv
import json
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import evaluate
from xmleval.cli import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line in a folder with truth and a top-k list; return code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(Y_TEST))
    np.save("m_indices.npy", LABELS)
    np.save("m_scores.npy", SCORES)

    def runs(line: str) -> tuple[int, str, str]:
        code = main(shlex.split(line if line.startswith("merge") else f"evaluate Y.npz m {line}"))
        return (code, *capsys.readouterr())

    return runs


@pytest.mark.parametrize("more", [{}, {"decision": "top2"}, {"decision": "threshold0.45"}])
def test_the_command_line_writes_a_row_for_each_label(run: Any, more: dict[str, Any]) -> None:
    options = " ".join(f"--{name} {value}" for name, value in more.items())
    line = "--metrics curves,f1.macro@3 --per-label out.csv --bounds --memory 1MB --format json"
    code, out, err = run(f"{line} {options}")
    assert (code, err) == (0, "")
    report = evaluate(
        Y_TEST, (LABELS, SCORES), metrics=["curves", "f1.macro@3"], bounds=True, per_label=True, **more
    )
    assert out == report.to_json() + "\n"
    assert json.loads(out)["intervals"]["auc.micro"] == [*report.intervals["auc.micro"]]
    with open("out.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    found = report.per_label()
    counts = ["tp", "fp", "fn", "tp@3", "fp@3", "fn@3"] if more else ["tp@3", "fp@3", "fn@3"]
    assert sorted(header) == sorted(
        ["label", "support", *counts, "auc", "ap", "peak_f1", "f1@3", "threshold"]
    )
    order = [int(row[0]) for row in rows]
    for place, name in enumerate(header[1:], 1):
        column = [float(row[place]) if row[place] else math.nan for row in rows]
        np.testing.assert_array_equal(column, found[name][order])
    worst = found["auc"][order]
    np.testing.assert_array_equal(worst, np.sort(found["auc"]))  # NaN at the end


def test_two_results_are_not_written_to_one_file(run: Any) -> None:
    assert run("--metrics curves --per-label same.csv --output same.csv")[0] == 2
    assert not Path("same.csv").exists()


def table(path: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV file."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def test_columns_are_those_asked_for(run: Any) -> None:
    sets = "support tp fp fn"
    for words, wanted in (
        ("--metrics p@1,p@3", "support tp@1 fp@1 fn@1 tp@3 fp@3 fn@3"),
        ("--metrics 'jaccard.macro,fbeta.weighted(beta=2)' --decision top2", f"{sets} jaccard fbeta(beta=2)"),
        ("--metrics auc.macro", "support auc"),
        ("--metrics f1.micro@2,peak_f1.macro", "support tp@2 fp@2 fn@2 f1@2 peak_f1 threshold"),
    ):  # fmt: skip
        assert run(f"{words} --per-label out.csv")[0] == 0
        assert table("out.csv")[0] == ["label", *wanted.split(" ")]


def test_without_averages_over_labels_the_most_misses_are_first(run: Any) -> None:
    assert run("--metrics p@1 --per-label out.csv")[0] == 0
    header, rows = table("out.csv")
    misses = [int(row[header.index("fn@1")]) for row in rows]
    assert misses == sorted(misses, reverse=True)


def test_measures_that_no_counts_of_labels_tell_are_named(run: Any) -> None:
    said = "out.csv: ece(bins=15)@2, gini@2: no values by label"
    words = "--metrics ece@2,gini@2,{}label_coverage.macro@2,p@2 --link sigmoid --per-label out.csv"
    for more, columns in (("", "label_coverage@2"), ("f1.macro@2,", "f1@2 label_coverage@2")):
        code, _, err = run(words.format(more))
        assert (code, err) == (0, f"xmleval: {said}\n")
        assert table("out.csv")[0] == f"label support tp@2 fp@2 fn@2 {columns}".split()


def test_several_scores_follow_one_another(run: Any) -> None:
    for part in ("indices", "scores"):
        np.save(f"n_{part}.npy", np.load(f"m_{part}.npy")[::-1])
    words = "--metrics p@1,f1.macro@2,one_error"
    assert run(f"n {words} --per-label labels.csv --per-row rows.csv")[0] == 0
    for path, what, n in (("labels.csv", "label", 5), ("rows.csv", "row", 4)):
        header, rows = table(path)
        assert header[:2] == ["scores", what]
        assert [row[0] for row in rows] == ["m"] * n + ["n"] * n
        assert run(f"{words} --per-{what} one.csv")[0] == 0
        assert table("one.csv") == (header[1:], [row[1:] for row in rows[:n]])


@pytest.mark.parametrize("first", ["p@1", "one_error"])
def test_rows_are_written_worst_first(run: Any, first: str) -> None:
    names = [first, "p@3", "lrap"]
    assert run(f"--metrics {','.join(names)} --per-row out.csv")[0] == 0
    kept = evaluate(Y_TEST, (LABELS, SCORES), metrics=names, per_row=True).per_row()
    header, rows = table("out.csv")
    assert header == ["row", *names]
    for row in rows:
        assert [float(text) if text else math.nan for text in row[1:]] == pytest.approx(
            [kept[name][int(row[0])] for name in names], abs=0, nan_ok=True
        )
    values = [float(row[1]) for row in rows]
    assert values == sorted(values, reverse=first == "one_error")


def test_names_of_rows_and_labels_are_written(run: Any) -> None:
    Path("q.qrels").write_text("d1 0 apple 1\nd2 0 pear 1\n")
    Path("m.run").write_text("d1 Q0 apple 1 0.9 t\nd2 Q0 apple 1 0.8 t\n")
    words = "evaluate q.qrels m.run --metrics p@1,f1.macro@1 --per-label labels.csv --per-row rows.csv"
    assert main(shlex.split(words)) == 0
    assert [row[:2] for row in table("labels.csv")[1]] == [["1", "pear"], ["0", "apple"]]
    assert [row[:2] for row in table("rows.csv")[1]] == [["1", "d2"], ["0", "d1"]]


def test_a_list_without_scores_has_no_curves_of_labels(run: Any) -> None:
    Path("m_scores.npy").unlink()
    code, out, err = run("--metrics one_error --per-label out.csv")
    assert (code, out) == (2, "")
    assert "--per-label needs" in err
    assert not Path("out.csv").exists()


def test_spilled_labels_are_exact_on_the_command_line(run: Any) -> None:
    assert run("--metrics curves --per-label large.csv")[0] == 0
    assert run("--metrics curves --per-label small.csv --memory 1")[0] == 0
    assert Path("large.csv").read_bytes() == Path("small.csv").read_bytes()


def test_merged_shards_have_results_of_labels(run: Any) -> None:
    assert run("--metrics curves --per-label whole.csv --save state.npz")[0] == 0
    parts = []
    for part, rows in enumerate([slice(0, 1), slice(1, None)]):
        sp.save_npz("Y.npz", sp.csr_array(Y_TEST[rows]))
        np.save("m_indices.npy", LABELS[rows])
        np.save("m_scores.npy", SCORES[rows])
        assert run(f"--metrics curves --per-label one.csv --save part{part}.npz")[0] == 0
        parts.append(f"part{part}.npz")
    assert run(f"merge {' '.join(parts)} --per-label merged.csv")[0] == 0
    assert Path("merged.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert run("--metrics curves --save bare.npz")[0] == 0
    code, out, err = run("merge bare.npz --per-label merged.csv")
    assert (code, out) == (2, "")
    assert "bare.npz: labels were not kept; --save it together with --per-label" in err


@pytest.mark.parametrize("option", ["--per-row", "--per-label"])
@pytest.mark.parametrize("metrics", ["all", "curves,p@1,f1.macro@1", "f1.macro@1,auc.samples,recall.macro@1"])
@pytest.mark.parametrize("scores", [["bare", "m"], ["full.npy", "bare"], ["m", "full.npy", "bare"]])
def test_values_of_each_of_several_stand_under_their_names(
    run: Any, capsys: pytest.CaptureFixture[str], scores: list[str], metrics: str, option: str
) -> None:
    np.save("bare_indices.npy", LABELS)  # without scores
    np.save("full.npy", np.random.default_rng(0).random(Y_TEST.shape))

    def lines(*names: str) -> list[dict[str, str]]:
        command = f"evaluate Y.npz {' '.join(names)} --metrics {metrics} {option} out.csv"
        assert main(shlex.split(command)) == 0, capsys.readouterr().err
        with open("out.csv", newline="") as file:
            return [*csv.DictReader(file, restkey="more")]

    joint = lines(*scores)
    assert not any("more" in line for line in joint)
    for name in scores:
        own = [line for line in joint if line["scores"] == name]
        alone = lines(name)
        shared = [
            column for column in alone[0] if column in own[0]
        ]  # of a group, what no input allows is gone
        assert len(shared) > 1
        assert [[line[column] for column in shared] for line in own] == [
            [line[column] for column in shared] for line in alone
        ]
        assert not any(line[column] for line in own for column in line.keys() - {*alone[0], "scores"})
