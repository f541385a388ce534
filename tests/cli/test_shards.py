"""Files that follow one another: in row order, each row once, and faults named by file and row."""

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
    ends = np.cumsum([0, *SIZES])
    for number, size in enumerate(SIZES):
        writers = TRUTHS if name == "truth" else SCORES
        write = writers[formats[number % len(formats)]]
        write(Path(name, f"part_{number}"), matrix[ends[number] : ends[number] + size])


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
@pytest.mark.parametrize("formats", [["npy"], ["feather"], ["npz", "npz-packed", "xmc", "xmc-gz", "npz-coo"]])
def test_shards_are_in_row_order(folder: Path, run: Run, formats: list[str], memory: str) -> None:
    scores = make_scores().astype(np.float64 if "xmc" in formats else np.float32)
    write_shards("truth", ["xmc" if len(formats) == 1 else "svmlight"], make_truth())
    write_shards("scores", formats, scores)
    Path("scores", "README.md").write_text("about these files")
    Path("scores", "older").mkdir()
    Path("numbered").mkdir()
    for number, rows in (9, slice(20)), (10, slice(20, 21)), (101, slice(21, 60)):
        npz(Path(f"numbered/run2-{number}of200"), scores[rows])
    words = f"--metrics {METRICS} --format json --memory {memory}"
    expected = evaluate(make_truth(), scores, metrics=METRICS.split(",")).to_json() + "\n"
    for files in ("truth scores", "'truth/part_*' 'scores/part_[0-9]*'", "truth numbered"):
        assert run(f"evaluate {files} {words}") == expected
    npz(folder / "whole", make_truth())
    assert run("stats truth --format json") == run("stats whole.npz --format json")


@pytest.mark.parametrize("memory", ["2KB", "1GB"])
def test_fault_names_the_file_and_the_row_in_it(folder: Path, run: Run, refused: Run, memory: str) -> None:
    write_shards("truth", ["npz"], make_truth())
    write_shards("scores", ["npy"], make_scores())
    line = f"evaluate truth scores --metrics {METRICS} --memory {memory}"
    run("threshold fit truth scores --measure f1.micro --output rule.npz")
    labels, values = as_list(make_scores()[27:35])  # of part_8
    bad = labels.copy()
    bad[1, 2] = 30
    np.save("scores/part_8_indices.npy", bad)
    message = "scores/part_8_indices.npy: row 1: label id 30 is not in 0..29 (or -1, an empty slot)"
    assert refused(line) == f"{message}; truth has 30 labels"
    np.save("scores/part_8_indices.npy", labels)
    values[3, 0] = np.nan
    np.save("scores/part_8_scores.npy", values)
    fit = "threshold fit truth scores --measure f1.micro --output two.npz"
    for command in (line, fit, "threshold apply scores --rule rule.npz --output sets.npz"):
        assert refused(command).startswith("scores/part_8_indices.npy: row 3: score nan")
    npz(Path("truth/part_3"), make_truth()[8:10] * 2)
    message = "truth/part_3.npz: row 0: value 2.0 is neither 0 nor 1 in a label set"
    assert refused(line) == f"{message}; grades need --gains linear or exp"
    assert refused("stats truth") == message


def test_shards_that_do_not_belong_together_are_refused(folder: Path, refused: Run) -> None:
    npz(folder / "truth", make_truth())
    write_shards("scores", ["npz"], make_scores())
    npz(Path("scores/part_10"), make_scores(22, 31))
    assert refused("evaluate truth.npz scores") == "scores/part_10.npz: 31 labels; scores/part_0.npz has 30"
    Path("scores/part_10.npz").unlink()
    TRUTHS["svmlight"](folder / "text", make_truth())
    for truth in ("truth.npz", "text.svm"):
        assert refused(f"evaluate {truth} scores") == f"scores: 38 rows do not match the 60 of {truth}"


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


def test_states_of_several_scores_are_called_by_their_names(folder: Path, run: Run, refused: Run) -> None:
    Path("other").mkdir()
    for name in ("a_0", "b_0", "other/a_0"):
        npz(Path(name), make_scores(4, 5, 2))
    before = {*Path().iterdir()}
    run("evaluate Y_test.npz a_0.npz other/a_0.npz --metrics p@1 --save s_{}.npz")
    run("evaluate Y_test.npz a_0.npz m_indices.npy --metrics p@1 --save {}.state")
    names = {"s_a_0.npz.npz", "s_other_a_0.npz.npz", "a_0.state", "m_indices.state"}
    assert {str(path) for path in {*Path().iterdir()} - before} == names
    line = "evaluate Y_test.npz a_0.npz b_0.npz --metrics p@1 --save"
    assert refused(f"{line} {{}}_0 --output a_0_0").startswith("two outputs have one name")
    assert refused(f"{line} {{}}.npz") == "a_0.npz: is an input; expected another file for the output"


T, S = "T_9.npz T_10.npz T_11.npz", "S_9.npz S_10.npz S_11.npz"
ALONE = "TRUTH would be T_9.npz alone, and T_10.npz one of SCORES; quote the patterns: 'T_*.npz'"
NOTE = "S_{1}.npz: evaluated on T_{0}.npz, though T_{1}.npz is there; "


@pytest.mark.parametrize(("words", "refusal", "note"), [
    (f"{T} {S}", f"{ALONE} 'S_*.npz'", ""),
    ("T_9.npz S_9.npz S_10.npz", "", NOTE.format(9, 10)),
    ("T_9.npz S_9.npz S_13.npz", "", ""),  # there is no T_13
])  # fmt: skip
def test_patterns_that_a_shell_expands(folder: Path, words: str, refusal: str, note: str) -> None:
    rng = np.random.default_rng(1)
    shards = [(f"{name}_{shard}", n) for name in "TS" for shard, n in ((9, 3), (10, 3), (11, 2))]
    for name, n_rows in (*shards, ("8", 8)):
        matrix = rng.random((n_rows, 4))
        sp.save_npz(f"{name}.npz", sp.csr_array((matrix < 0.4).astype(int) if "T" in name else matrix))
    if "S_13" in words:
        sp.save_npz("S_13.npz", sp.csr_array(matrix[:3]))
    code, out, err = answer(f"evaluate {words} --metrics p@1".split())
    assert (code, out == "") == ((2, True) if refusal else (0, False))
    assert err.startswith(f"xmleval: {refusal}" if refusal else "")
    quoted = f"{note}files that follow one another are given as 'T_*.npz' 'S_*.npz'\n"
    assert (quoted in out) if note else ("though" not in out)
