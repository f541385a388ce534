"""Checkpoints: killed runs go on to the same bits, and other files in the folder stay as they are."""

import os
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import Run, process
from tests.damage import answer
from tests.file_routes import interrupted, saving_each_time
from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npy, npz
from xmleval.evaluation.checkpoint import Checkpoint
from xmleval.files.output import locked

METRICS = "--metrics xmc,ps,curves,lrap,f1.macro@3,label_diversity --train truth.npz"
SMALL = "--memory 8KB --format json"
EVALUATE = f"evaluate truth.npz m {METRICS} --bounds {SMALL}"
KEPT, RESUME = f"{EVALUATE} --checkpoint kept", f"{EVALUATE} --checkpoint kept --resume"


@pytest.fixture
def inputs(folder: Path) -> Path:
    npz(folder / "truth", make_truth(300))
    npy(folder / "m", make_scores(300))
    npz(folder / "other", make_scores(300, seed=5))
    return folder


def resume() -> str:
    """Resume the run that was killed, and return what it printed."""
    code, out, err = answer(shlex.split(RESUME))
    row = re.fullmatch(r"xmleval: kept: resumed at row (\d+) of 300\n", err)
    assert code == 0
    assert row
    assert 0 < int(row[1]) < 300
    return out


@pytest.fixture
def half_way(inputs: Path) -> Path:
    """Return the checkpoint of an interrupted run."""
    with saving_each_time(), interrupted(16):
        assert answer(shlex.split(f"{KEPT} --output gone.json"))[0] == 130
    return inputs / "kept"


def test_results_that_cannot_be_written_leave_the_checkpoint(inputs: Path, run: Run) -> None:
    with saving_each_time():
        assert answer(shlex.split(f"{KEPT} --output /dev/full"))[0] == 2
    assert answer(shlex.split(RESUME))[:2] == (0, run(EVALUATE))
    assert not Path("kept").exists()


@pytest.mark.slow
def test_runs_killed_at_random_moments_end_with_the_same_bytes(inputs: Path) -> None:
    shards = ("shards", TRUTHS["xmc"], make_truth(300)), ("parts", SCORES["npz"], make_scores(300))
    for name, write, matrix in shards:
        Path(name).mkdir()
        for number in range(12):
            write(Path(name, f"part{number}"), matrix[number * 25 : (number + 1) * 25])
    words = f"evaluate shards 'parts/*' other.npz {METRICS} {SMALL} --per-label {{0}}.csv --output {{0}}.json"
    assert answer(shlex.split(words.format("whole")))[0] == 0
    counts = map(str, np.random.default_rng(0).integers(1, 200, 4))
    resumed = shlex.split(f"{words.format('resumed')} --checkpoint kept --resume")
    done = process("tests.cli.killed_runs", *counts, "--", *resumed)
    *_, ends = (line.split() for line in done.stderr.splitlines() if not line.startswith("xmleval: "))
    assert ends[-1] == "0", done.stderr
    assert ends.count("-9") >= 2
    for suffix in ("json", "csv"):
        assert Path(f"resumed.{suffix}").read_bytes() == Path(f"whole.{suffix}").read_bytes()
    assert not Path("kept").exists()
    assert not list(inputs.glob(".*"))


def test_leftovers_of_a_killed_run_are_removed_and_other_files_are_not(half_way: Path, run: Run) -> None:
    draft = half_way / ".checkpoint.npz.0123456789abcdef"
    (half_way / "checkpoint.npz").rename(draft)
    foreign = {half_way / name for name in ("checkpoint.txt", ".checkpoint.npz.x7_q", "checkpoint.npz.old")}
    for path in foreign:
        path.write_text("weights of a model")
    (half_way / "checkpoint.lock").touch()
    assert run(KEPT) == run(EVALUATE)
    assert {*half_way.iterdir()} == foreign
    assert {path.read_text() for path in foreign} == {"weights of a model"}


@pytest.mark.parametrize("text", ["notes", "{}", None, "folder"])
@pytest.mark.parametrize("name", ["checkpoint.npz", "checkpoint.lock"])
def test_foreign_file_is_refused_and_stays(inputs: Path, refused: Run, name: str, text: Any) -> None:
    path = Path("kept", name)
    path.parent.mkdir()
    if text is None:
        path.symlink_to("nowhere")
    elif text == "folder":
        path.mkdir()
    else:
        path.write_text(text)
    assert refused(RESUME).startswith(f"kept/{name}: ")
    assert refused(KEPT).startswith("kept")
    assert os.listdir("kept") == [name]
    assert text in (None, "folder") or path.read_text() == text


def test_link_that_appears_during_a_run_is_refused(
    inputs: Path, refused: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("target").write_text("of its owner")
    save = Checkpoint.save_sometimes

    def save_after_the_other(checkpoint: Checkpoint, evaluators: Any) -> None:
        if not os.path.lexists("kept/checkpoint.npz"):  # another user of the folder
            Path("kept/checkpoint.npz").symlink_to("../target")
        save(checkpoint, evaluators)

    monkeypatch.setattr(Checkpoint, "save_sometimes", save_after_the_other)
    link = "kept/checkpoint.npz: is a symbolic link, which is not followed here; remove it"
    with saving_each_time():
        assert refused(KEPT) == link
    assert Path("target").read_text() == "of its owner"
    assert os.listdir("kept") == ["checkpoint.npz"]
    assert refused(RESUME) == link


def test_folder_is_for_one_process_at_a_time(inputs: Path, run: Run, refused: Run) -> None:
    with locked(Path("kept")):
        for words in (KEPT, RESUME):
            assert refused(words) == "kept: in use by another process; expected another folder"
            assert os.listdir("kept") == ["checkpoint.lock"]
    assert not Path("kept").exists()


def test_other_options_and_inputs_are_refused(half_way: Path, refused: Run) -> None:
    Path("pairs").write_text("0 1\n")
    folder = half_way.parent
    before = {path: path.read_bytes() for path in half_way.iterdir()}
    assert refused(KEPT) == "kept: holds a checkpoint; go on with --resume, or remove it"
    at_k = EVALUATE.replace("curves,lrap,", "")
    for words, message in (
        (f"{EVALUATE} --k 1,2", "--metrics differs: p@3 in the checkpoint, p@2 now"),
        (f"{EVALUATE} --a 0.6", "--a differs: 0.55 in the checkpoint, 0.6 now"),
        (f"{EVALUATE} --per-label x.csv", "--per-label differs: False in the checkpoint, True now"),
        (f"{at_k} --exclude pairs", f"--exclude differs: None in the checkpoint, {folder}/pairs (4 bytes of"),
        (EVALUATE.replace(" m ", " other.npz "), f"SCORES differs: {folder}/m_indices"),
    ):
        expected = f"kept: holds a checkpoint of another run; {message}"
        assert refused(f"{words} --checkpoint kept --resume").startswith(expected)
    assert {path: path.read_bytes() for path in half_way.iterdir()} == before


def test_changed_inputs_are_refused(half_way: Path, refused: Run, run: Run) -> None:
    whole = run(EVALUATE)
    for name, role in (("truth.npz", "TRUTH"), ("m_indices.npy", "SCORES"), ("m_scores.npy", "SCORES")):
        stat = Path(name).stat()
        os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
        assert re.fullmatch(
            rf"kept: holds a checkpoint of another run; {role} differs: (\S*/{name}) \((\d+) bytes of \S+ "
            rf"\S+ UTC\) in the checkpoint, \1 \(\2 bytes of \S+ \S+ UTC\) now",
            refused(RESUME),
        )
        os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert resume() == whole


def test_damage_is_refused_by_the_file(half_way: Path, refused: Run, run: Run) -> None:
    whole, path = run(EVALUATE), half_way / "checkpoint.npz"
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        places = [info.header_offset + 200 for info in archive.infolist() if info.file_size > 200]
    flips = [content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :] for place in places]
    for damaged in (*flips, content[: len(content) // 2], content[:-1], b""):
        path.write_bytes(damaged)
        assert refused(RESUME).startswith("kept/checkpoint.npz: not a checkpoint, or damaged (")
    path.write_bytes(content)
    assert resume() == whole


def test_folder_that_cannot_hold_a_checkpoint_is_refused(inputs: Path, refused: Run) -> None:
    Path("file").touch()
    assert refused(f"{EVALUATE} --checkpoint file").startswith("file: ")
    message = ".: Y_test.npz in it is an input; expected a folder of its own"
    assert refused("evaluate Y_test.npz m --checkpoint .") == message
    assert refused(f"{EVALUATE} --resume") == "--resume: needs --checkpoint, the folder of what was counted"
