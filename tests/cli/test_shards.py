"""Files that follow one another: in row order, refused by the file that is at fault and the row in it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import SCORES, TRUTHS, as_list, make_scores, make_truth, npz
from xmleval import evaluate

SIZES = [3, 1, 0, 4, 2, 5, 1, 9, 2, 8, 3, 22]  # part_10 and part_11 sort before part_2 by their letters
METRICS = "xmc,lrap,auc.micro,f1.macro@3"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_shards(folder: Path, name: str, writer: Any, matrix: Any) -> None:
    """Write the rows of a matrix to files that are numbered from 0."""
    (folder / name).mkdir()
    ends = np.cumsum([0, *SIZES])
    assert ends[-1] == matrix.shape[0]
    for number, size in enumerate(SIZES):
        part = matrix[ends[number] : ends[number] + size]
        if size:
            writer(folder / name / f"part_{number}", part)


def wanted(**more: Any) -> str:
    metrics = METRICS.split(",")
    report = evaluate(make_truth(), make_scores(), metrics=metrics, inverse_propensity=None, **more)
    return report.to_json() + "\n"


@pytest.mark.parametrize("name", ["npz", "npy", "npz-list-packed", "xmc-gz", "feather"])
@pytest.mark.parametrize("memory", ["2KB", "1GB"])
def test_folders_and_patterns_are_in_row_order(folder: Path, run: Any, name: str, memory: str) -> None:
    write_shards(folder, "truth", TRUTHS["xmc"], make_truth())
    write_shards(folder, "scores", SCORES[name], make_scores())
    words = f"--metrics {METRICS} --format json --memory {memory}"
    assert run(f"evaluate truth scores {words}") == wanted()
    assert run(f"evaluate 'truth/part_*' 'scores/part_[0-9]*' {words}") == wanted()
    npz(folder / "whole", make_truth())
    assert run(f"evaluate whole.npz scores {words}") == wanted()


def test_formats_may_differ_and_other_files_do_not_count(folder: Path, run: Any) -> None:
    writers = iter([SCORES[name] for name in ("npz", "npz-packed", "xmc", "xmc-gz", "npz-coo", "npz") * 2])
    npz(folder / "truth", make_truth())
    scores = make_scores().astype(np.float64)  # as text is read
    write_shards(folder, "scores", lambda path, matrix: next(writers)(path, matrix), scores)
    (folder / "scores" / "README.md").write_text("about these files")
    (folder / "scores" / "older").mkdir()
    assert run(f"evaluate truth.npz scores --metrics {METRICS} --format json") == wanted()


def test_numbers_anywhere_in_a_name(folder: Path, run: Any) -> None:
    (folder / "scores").mkdir()
    for number, (start, stop) in enumerate([(0, 20), (20, 21), (21, 60)]):
        npz(folder / "scores" / f"run2-{[9, 10, 101][number]}of200", make_scores()[start:stop])
    npz(folder / "truth", make_truth())
    assert run(f"evaluate truth.npz scores --metrics {METRICS} --format json") == wanted()


def test_a_fault_names_the_file_and_the_row_in_it(folder: Path, run: Any, refused: Any) -> None:
    write_shards(folder, "truth", TRUTHS["npz"], make_truth())
    write_shards(folder, "scores", SCORES["npy"], make_scores())
    labels, values = as_list(make_scores()[28:30])  # of part_8
    for memory in ("2KB", "1GB"):
        words = f"--metrics {METRICS} --memory {memory}"
        bad = labels.copy()
        bad[1, 2] = 30
        np.save(folder / "scores" / "part_8_indices.npy", bad)
        assert refused(f"evaluate truth scores {words}") == (
            "scores/part_8_indices.npy: row 1: label id 30 is not in 0..29 (or -1, an empty slot); "
            "truth has 30 labels"
        )
        np.save(folder / "scores" / "part_8_indices.npy", labels)
        nan = values.copy()
        nan[0, 0] = np.nan
        np.save(folder / "scores" / "part_8_scores.npy", nan)
        assert refused(f"evaluate truth scores {words}").startswith(
            "scores/part_8_indices.npy: row 0: score nan"
        )
        np.save(folder / "scores" / "part_8_scores.npy", values)
        npz(folder / "truth" / "part_3", make_truth()[4:8] * 2)
        said = "truth/part_3.npz: row 0: value 2.0 is neither 0 nor 1 in a label set"
        assert refused(f"evaluate truth scores {words}") == f"{said}; grades need --gains 'linear' or 'exp'"
        assert refused("stats truth") == said
        assert refused("convert truth truth.txt --kind truth") == said
        assert refused(f"evaluate truth scores {words} --train truth") == said
        npz(folder / "truth" / "part_3", make_truth()[4:8])
        run(f"evaluate truth scores {words}")


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
def test_scores_that_a_rule_is_applied_to(folder: Path, run: Any, refused: Any, memory: str) -> None:
    npz(folder / "truth", make_truth())
    write_shards(folder, "scores", SCORES["npy"], make_scores())
    run("threshold fit truth.npz scores --measure f1.micro --output rule.npz")
    values = np.load(folder / "scores" / "part_5_scores.npy")
    values[3, 1] = np.nan
    np.save(folder / "scores" / "part_5_scores.npy", values)
    said = "scores/part_5_indices.npy: row 3: score nan"
    assert refused("threshold apply scores --rule rule.npz --output sets.npz").startswith(said)
    assert refused("threshold fit truth.npz scores --measure f1.micro --output two.npz").startswith(said)


def test_shards_that_do_not_belong_together(folder: Path, refused: Any) -> None:
    npz(folder / "truth", make_truth())
    write_shards(folder, "scores", SCORES["npz"], make_scores())
    npz(folder / "scores" / "part_11", make_scores(22, 31))
    said = "scores/part_11.npz: 31 labels; scores/part_0.npz has 30"
    assert refused("evaluate truth.npz scores") == said
    (folder / "scores" / "part_11.npz").unlink()
    assert refused("evaluate truth.npz scores") == "scores: 38 rows do not match the 60 of truth.npz"
    TRUTHS["svmlight"](folder / "text", make_truth())
    assert refused("evaluate text.svm scores") == "scores: 38 rows do not match the 60 of text.svm"
    assert refused("evaluate truth.npz 'nothing*'") == "nothing*: no file matches"
    (folder / "empty").mkdir()
    assert refused("evaluate truth.npz empty").startswith("empty: is a directory; expected")
    (folder / "scores" / "part_4.npz").write_bytes(b"PK but cut")
    assert refused("evaluate truth.npz scores").startswith("scores/part_4.npz: the zip archive is cut short")


def test_a_folder_of_one_file_is_that_file(folder: Path, refused: Any) -> None:
    npz(folder / "truth", make_truth() * 3)
    (folder / "one").mkdir()
    shutil.move(folder / "truth.npz", folder / "one")
    assert refused("evaluate one one").startswith("one/truth.npz: row 1: value 3.0 is neither")


def test_text_without_sizes_is_as_wide_as_the_widest(folder: Path, run: Any) -> None:
    write_shards(folder, "truth", TRUTHS["svmlight"], make_truth())
    SCORES["npy"](folder / "m", make_scores())
    assert run(f"evaluate truth m --metrics {METRICS} --format json --memory 2KB") == wanted()
    stats = run("stats truth --format json")
    npz(folder / "whole", sp.csr_array(make_truth()))
    assert run("stats whole.npz --format json") == stats


def test_a_shard_counts_once(folder: Path, run: Any, refused: Any) -> None:
    npz(folder / "truth_1", make_truth())
    npz(folder / "scores_1", make_scores())
    npz(folder / "truth_2", make_truth(seed=5))
    npz(folder / "scores_2", make_scores(seed=5))
    for shard in "12":
        run(f"evaluate truth_{shard}.npz scores_{shard}.npz --metrics p@1 --save state_{shard}")
    run("evaluate truth_1.npz scores_1.npz --metrics p@1 --save again")
    run("evaluate 'truth_*.npz' 'scores_*.npz' --metrics p@1 --save both")
    assert (folder / "again").read_bytes() == (folder / "state_1").read_bytes()  # reproducible
    run("merge state_1 state_2 --save merged")
    for states, name, number in (
        ("state_1 state_1", "state_1", 1),
        ("state_1 again", "again", 1),
        ("merged state_2", "state_2", 2),
        ("both state_2", "state_2", 2),
        ("state_1 both", "both", 1),
    ):
        said = refused(f"merge {states}")
        assert said.startswith(f"{name}: rows 0..59 of {(folder / f'truth_{number}.npz').resolve()} (")
        assert said.endswith(") are counted already; count each row once")
    npz(folder / "truth_1", make_truth(seed=7))  # another version of the file holds other rows
    run("evaluate truth_1.npz scores_1.npz --metrics p@1 --save other")
    assert "120 rows" in run("merge state_1 other")


@pytest.mark.parametrize(("truth", "pattern"), [("truth.npz", "part_*.npz"), ("text.svm", "part_*.npz")])
def test_a_pattern_that_the_shell_has_expanded(folder: Path, refused: Any, truth: str, pattern: str) -> None:
    npz(folder / "truth", make_truth())
    TRUTHS["svmlight"](folder / "text", make_truth())
    for number in range(9, 12):
        npz(folder / f"part_{number}", make_scores(20))
    several = " ".join(f"part_{number}.npz" for number in range(9, 12))
    told = "20 rows do not match the 60 of"
    ask = "; do the files follow one another?"
    assert refused(f"evaluate {truth} {several}") == (
        f"part_9.npz: {told} {truth}{ask} quote the pattern: '{pattern}'"
    )
    assert refused(f"evaluate {truth} part_10.npz part_11.npz") == (
        f"part_10.npz: {told} {truth}{ask} quote the pattern: 'part_1*.npz'"
    )
    assert refused(f"evaluate {truth} part_9.npz part_11.npz").endswith(
        f"{ask} give their folder, or a pattern in quotes"
    )
    npz(folder / "m", make_scores())
    assert refused(f"evaluate {truth} m.npz part_9.npz") == f"part_9.npz: {told} {truth}"


def test_a_wrong_measure_is_told_before_files_are_opened(refused: Any) -> None:
    assert refused("evaluate none.npz none.npz --metrics pp@1").startswith("'pp@1': unknown measure 'pp'")
