"""Shards of rows: in row order, each row once, and errors with the file and the row in it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import Run
from tests.damage import answer
from tests.made_files import SCORES, TRUTHS, as_list, make_scores, make_truth, npz
from xmleval import evaluate

SIZES = [3, 1, 4, 2, 5, 1, 9, 2, 8, 3, 22]  # part_10 sorts before part_2 by its letters
METRICS = "xmc,lrap,auc.micro,f1.macro@3"


def write_shards(name: str, formats: list[str], matrix: Any) -> None:
    """Write the rows of a matrix to files that are numbered from 0, in formats by turns."""
    Path(name).mkdir()
    writers = TRUTHS if name == "truth" else SCORES
    start = 0
    for number, size in enumerate(SIZES):
        write = writers[formats[number % len(formats)]]
        write(Path(name, f"part_{number}"), matrix[start : start + size])
        start += size


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize(
    ("truth_format", "formats", "dtype"),
    [
        ("xmc", ["npy"], np.float32),
        ("xmc", ["feather"], np.float32),
        ("svmlight", ["npz", "npz-packed", "xmc", "xmc-gz", "npz-coo"], np.float64),
    ],
)
def test_shards_are_read_in_row_order(
    folder: Path, run: Run, truth_format: str, formats: list[str], dtype: Any, memory: str
) -> None:
    scores = make_scores().astype(dtype)
    write_shards("truth", [truth_format], make_truth())
    write_shards("scores", formats, scores)
    Path("scores", "README.md").write_text("about these files")
    Path("scores", "older").mkdir()
    Path("numbered").mkdir()
    numbered = {9: slice(20), 10: slice(20, 21), 101: slice(21, 60)}
    for number, rows in numbered.items():
        npz(Path(f"numbered/run2-{number}of200"), scores[rows])
    words = f"--metrics {METRICS} --format json --memory {memory}"
    expected = evaluate(make_truth(), scores, metrics=METRICS.split(",")).to_json() + "\n"
    for files in ("truth scores", "'truth/part_*' 'scores/part_[0-9]*'", "truth numbered"):
        assert run(f"evaluate {files} {words}") == expected
    npz(folder / "whole", make_truth())
    assert run("stats truth --format json") == run("stats whole.npz --format json")


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
def test_errors_of_shards_name_the_file_and_the_row_in_it(
    folder: Path, run: Run, refused: Run, memory: str
) -> None:
    write_shards("truth", ["npz"], make_truth())
    write_shards("scores", ["npy"], make_scores())
    line = f"evaluate truth scores --metrics {METRICS} --memory {memory}"
    run("threshold fit truth scores --measure f1.micro --output rule.npz")
    labels, values = as_list(make_scores()[27:35])  # of part_8
    unknown = labels.copy()
    unknown[1, 2] = 30
    np.save("scores/part_8_indices.npy", unknown)
    message = "scores/part_8_indices.npy: row 1: label id 30 is not in 0..29 (or -1, an empty slot)"
    assert refused(line) == f"{message}; if ids count from 1, subtract 1; truth has 30 labels"
    np.save("scores/part_8_indices.npy", labels)
    values[3, 0] = np.nan
    np.save("scores/part_8_scores.npy", values)
    commands = [
        line,
        "threshold fit truth scores --measure f1.micro --output two.npz",
        "threshold apply scores --rule rule.npz --output sets.npz",
    ]
    for command in commands:
        assert refused(command).startswith("scores/part_8_indices.npy: row 3: score nan")
    npz(Path("truth/part_3"), make_truth()[8:10] * 2)
    message = "truth/part_3.npz: row 0: value 2.0 is neither 0 nor 1 in a label set"
    assert refused(line) == f"{message}; grades need --gains linear or exp"
    assert refused("stats truth") == message


def test_evaluate_refuses_shards_of_different_data(folder: Path, refused: Run) -> None:
    npz(folder / "truth", make_truth())
    write_shards("scores", ["npz"], make_scores())
    npz(Path("scores/part_10"), make_scores(22, 31))
    message = refused("evaluate truth.npz scores")
    assert message == "scores/part_10.npz: 31 labels; scores/part_0.npz has 30"
    Path("scores/part_10.npz").unlink()
    TRUTHS["svmlight"](folder / "text", make_truth())
    for truth in ("truth.npz", "text.svm"):
        message = refused(f"evaluate {truth} scores")
        assert message == f"scores: 38 rows do not match the 60 of {truth}"


def test_merge_counts_each_row_once(folder: Path, run: Run, refused: Run) -> None:
    for shard, seed in ("1", 0), ("2", 5):
        npz(folder / f"truth_{shard}", make_truth(seed=seed))
        npz(folder / f"scores_{shard}", make_scores(seed=seed))
        run(f"evaluate truth_{shard}.npz scores_{shard}.npz --metrics p@1 --save state_{shard}")
    run("evaluate truth_1.npz scores_1.npz --metrics p@1 --save again")
    run("evaluate 'truth_*.npz' 'scores_*.npz' --metrics p@1 --save both")
    assert Path("again").read_bytes() == Path("state_1").read_bytes()  # reproducible
    run("merge state_1 state_2 --save merged")
    for states, number in ("state_1 again", 1), ("merged state_2", 2), ("state_1 both", 1):
        message = refused(f"merge {states}")
        truth = (folder / f"truth_{number}.npz").resolve()
        assert message.startswith(f"{states.split()[1]}: rows 0..59 of {truth} (")
        assert message.endswith(") are counted already; count each row once")
    npz(folder / "truth_1", make_truth(seed=7))  # another version of the file holds other rows
    run("evaluate truth_1.npz scores_1.npz --metrics p@1 --save other")
    assert "120 rows" in run("merge state_1 other")
    run("evaluate truth_1.npz scores_1.npz --metrics p@2 --save other")
    assert refused("merge state_1 other") == "other: metrics differs: p@1 here, p@2 there"


def test_states_of_several_scores_are_named_after_them(
    folder: Path, run: Run, refused: Run
) -> None:
    Path("other").mkdir()
    for name in ("a_0", "b_0", "other/a_0"):
        npz(Path(name), make_scores(4, 5, 2))
    before = {*Path().iterdir()}
    run("evaluate Y_test.npz a_0.npz other/a_0.npz --metrics p@1 --save s_{}.npz")
    run("evaluate Y_test.npz a_0.npz m_indices.npy --metrics p@1 --save {}.state")
    names = {"s_a_0.npz.npz", "s_other_a_0.npz.npz", "a_0.state", "m_indices.state"}
    assert {str(path) for path in {*Path().iterdir()} - before} == names
    line = "evaluate Y_test.npz a_0.npz b_0.npz --metrics p@1 --save"
    assert refused(f"{line} {{}}_0 --output a_0_0").startswith("two outputs have the same name")
    message = refused(f"{line} {{}}.npz")
    assert message == "a_0.npz: is an input; expected another file for the output"


TRUTH_FILES = "T_9.npz T_10.npz T_11.npz"
SCORE_FILES = "S_9.npz S_10.npz S_11.npz"
ALONE = "TRUTH would only be T_9.npz, and T_10.npz one of SCORES; quote the patterns: 'T_*.npz'"
NOTE = (
    "S_10.npz: evaluated on T_9.npz, although T_10.npz exists; "
    "give files that follow one another as 'T_*.npz' 'S_*.npz'\n"
)


@pytest.mark.parametrize(
    ("words", "refusal", "note"),
    [
        (f"{TRUTH_FILES} {SCORE_FILES}", f"{ALONE} 'S_*.npz'", ""),
        ("T_9.npz S_9.npz S_10.npz", "", NOTE),
        ("T_9.npz S_9.npz S_13.npz", "", ""),  # there is no T_13
    ],
)
def test_evaluate_refuses_or_notes_patterns_that_a_shell_expands(
    folder: Path, words: str, refusal: str, note: str
) -> None:
    rng = np.random.default_rng(1)

    def save(name: str, n_rows: int) -> None:
        matrix = rng.random((n_rows, 4))
        if name.startswith("T"):
            matrix = (matrix < 0.4).astype(int)
        sp.save_npz(f"{name}.npz", sp.csr_array(matrix))

    n_rows_by_shard = {9: 3, 10: 3, 11: 2}
    for name in "TS":
        for shard, n_rows in n_rows_by_shard.items():
            save(f"{name}_{shard}", n_rows)
    save("8", 8)
    if "S_13" in words:
        matrix = sp.load_npz("8.npz")
        sp.save_npz("S_13.npz", sp.csr_array(matrix[:3]))
    code, out, err = answer(f"evaluate {words} --metrics p@1".split())
    if refusal:
        assert (code, out) == (2, "")
        assert err.startswith(f"xmleval: {refusal}")
    else:
        assert code == 0
        assert out
    if note:
        assert note in out
    else:
        assert "although" not in out
