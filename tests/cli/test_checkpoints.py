"""Checkpoints: killed runs resume to the same bits, and other files in the folder stay."""

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
KEPT = f"{EVALUATE} --checkpoint kept"
RESUME = f"{EVALUATE} --checkpoint kept --resume"


@pytest.fixture
def inputs(folder: Path) -> Path:
    npz(folder / "truth", make_truth(300))
    npy(folder / "m", make_scores(300))
    npz(folder / "other", make_scores(300, seed=5))
    return folder


def resume() -> str:
    """Resume the killed run, and return its output."""
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


def test_checkpoint_stays_when_results_cannot_be_written(inputs: Path, run: Run) -> None:
    with saving_each_time():
        assert answer(shlex.split(f"{KEPT} --output /dev/full"))[0] == 2
    assert answer(shlex.split(RESUME))[:2] == (0, run(EVALUATE))
    assert not Path("kept").exists()


@pytest.mark.slow
def test_resume_after_random_kills_has_the_same_bytes(inputs: Path) -> None:
    truth = make_truth(300)
    scores = make_scores(300)
    Path("shards").mkdir()
    Path("parts").mkdir()
    for number in range(12):
        rows = slice(number * 25, (number + 1) * 25)
        TRUTHS["xmc"](Path(f"shards/part{number}"), truth[rows])
        SCORES["npz"](Path(f"parts/part{number}"), scores[rows])

    def words(output: str) -> list[str]:
        line = f"evaluate shards 'parts/*' other.npz {METRICS} {SMALL}"
        return shlex.split(f"{line} --per-label {output}.csv --output {output}.json")

    code, _, _ = answer(words("whole"))
    assert code == 0
    counts = map(str, np.random.default_rng(0).integers(1, 200, 4))
    resumed = [*words("resumed"), "--checkpoint", "kept", "--resume"]
    done = process("tests.cli.killed_runs", *counts, "--", *resumed)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("xmleval: ")]
    exit_codes = lines[-1].split()
    assert exit_codes[-1] == "0", done.stderr
    assert exit_codes.count("-9") >= 2
    for suffix in ("json", "csv"):
        assert Path(f"resumed.{suffix}").read_bytes() == Path(f"whole.{suffix}").read_bytes()
    assert not Path("kept").exists()
    assert not list(inputs.glob(".*"))


def test_resume_removes_leftovers_of_a_killed_run_and_no_other_files(
    half_way: Path, run: Run
) -> None:
    draft = half_way / ".checkpoint.npz.0123456789abcdef"
    (half_way / "checkpoint.npz").rename(draft)
    foreign = {
        half_way / "checkpoint.txt",
        half_way / ".checkpoint.npz.x7_q",
        half_way / "checkpoint.npz.old",
    }
    for path in foreign:
        path.write_text("weights of a model")
    (half_way / "checkpoint.lock").touch()
    assert run(KEPT) == run(EVALUATE)
    assert {*half_way.iterdir()} == foreign
    assert {path.read_text() for path in foreign} == {"weights of a model"}


@pytest.mark.parametrize("text", ["notes", "{}", None, "folder"])
@pytest.mark.parametrize("name", ["checkpoint.npz", "checkpoint.lock"])
def test_checkpoint_refuses_foreign_files_and_keeps_them(
    inputs: Path, refused: Run, name: str, text: Any
) -> None:
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


def test_checkpoint_refuses_a_link_that_appears_during_a_run(
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


def test_resume_refuses_other_options_and_inputs(half_way: Path, refused: Run) -> None:
    Path("pairs").write_text("0 1\n")
    folder = half_way.parent
    before = {path: path.read_bytes() for path in half_way.iterdir()}
    assert refused(KEPT) == "kept: contains a checkpoint; continue it with --resume, or remove it"
    at_k = EVALUATE.replace("curves,lrap,", "")
    for words, message in (
        (f"{EVALUATE} --k 1,2", "--metrics differs: p@3 in the checkpoint, p@2 now"),
        (f"{EVALUATE} --a 0.6", "--a differs: 0.55 in the checkpoint, 0.6 now"),
        (f"{EVALUATE} --per-label x.csv", "--per-label differs: False in the checkpoint, True now"),
        (
            f"{at_k} --exclude pairs",
            f"--exclude differs: None in the checkpoint, {folder}/pairs (4 bytes of",
        ),
        (EVALUATE.replace(" m ", " other.npz "), f"SCORES differs: {folder}/m_indices"),
    ):
        expected = f"kept: contains a checkpoint of another run; {message}"
        assert refused(f"{words} --checkpoint kept --resume").startswith(expected)
    assert {path: path.read_bytes() for path in half_way.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "before", "now", "message"),
    [
        ("--exclude pairs", " --exclude-from predictions", "", "differs: predictions in the"),
        ("--confidence 0.9", " --first-row 5", " --first-row 6", "differs: 5 in the checkpoint, 6"),
        ("", " --unjudged nan", " --unjudged -1", "differs: "),
    ],
)
def test_resume_refuses_arguments_that_are_no_settings_of_measures(
    inputs: Path, refused: Run, options: str, before: str, now: str, message: str
) -> None:
    Path("pairs").write_text("0 1\n")
    line = f"evaluate truth.npz m --metrics p@1 {options} {SMALL} --checkpoint kept"
    with saving_each_time(), interrupted(8):
        assert answer(shlex.split(f"{line}{before} --output gone.json"))[0] == 130
    text = refused(f"{line}{now} --resume")
    assert text.startswith("kept: contains a checkpoint of another run; ")
    assert message in text


def test_resume_refuses_changed_inputs(half_way: Path, refused: Run, run: Run) -> None:
    whole = run(EVALUATE)
    roles = {"truth.npz": "TRUTH", "m_indices.npy": "SCORES", "m_scores.npy": "SCORES"}
    for name, role in roles.items():
        stat = Path(name).stat()
        os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
        message = (
            rf"kept: contains a checkpoint of another run; {role} differs: "
            rf"(\S*/{name}) \((\d+) bytes of \S+ \S+ UTC\) in the checkpoint, "
            r"\1 \(\2 bytes of \S+ \S+ UTC\) now"
        )
        assert re.fullmatch(message, refused(RESUME))
        os.utime(name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert resume() == whole


def test_resume_refuses_damaged_checkpoints(half_way: Path, refused: Run, run: Run) -> None:
    whole = run(EVALUATE)
    path = half_way / "checkpoint.npz"
    content = path.read_bytes()
    damages = [content[: len(content) // 2], content[:-1], b""]
    with zipfile.ZipFile(path) as archive:
        large_files = [info for info in archive.infolist() if info.file_size > 200]
    for info in large_files:
        flipped = bytearray(content)
        flipped[info.header_offset + 200] ^= 4
        damages.append(bytes(flipped))
    for damaged in damages:
        path.write_bytes(damaged)
        assert refused(RESUME).startswith("kept/checkpoint.npz: not a checkpoint, or damaged (")
    path.write_bytes(content)
    assert resume() == whole


def test_checkpoint_refuses_unsuitable_folders(inputs: Path, refused: Run) -> None:
    Path("file").touch()
    assert refused(f"{EVALUATE} --checkpoint file").startswith("file: ")
    message = ".: Y_test.npz in it is an input; give another folder"
    assert refused("evaluate Y_test.npz m --checkpoint .") == message
    message = "--resume: needs --checkpoint, the folder with the earlier counts"
    assert refused(f"{EVALUATE} --resume") == message
