"""Checkpoints: killed runs go on to the same bits, and other files in the folder stay as they are."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.commands import process
from tests.damage import answer
from tests.file_routes import interrupted
from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npy, npz
from xmleval.cli import checkpoint
from xmleval.cli.lock import Lock
from xmleval.files.saved import CHECKPOINT

Run = Callable[..., str]
METRICS = "--metrics xmc,ps,curves,lrap,f1.macro@3,label_diversity --train truth.npz"
SMALL = "--memory 8KB --format json"
EVALUATE = f"evaluate truth.npz m {METRICS} --bounds {SMALL}"
KEPT, RESUME = f"{EVALUATE} --checkpoint kept", f"{EVALUATE} --checkpoint kept --resume"


def make_inputs(folder: Path) -> None:
    npz(folder / "truth", make_truth(300))
    npy(folder / "m", make_scores(300))
    npz(folder / "other", make_scores(300, seed=5))


@pytest.fixture
def inputs(folder: Path) -> Path:
    make_inputs(folder)
    return folder


def kill(counts: list[int], words: str) -> list[int]:
    """Return how runs of a command ended that were killed at moments, and the last one that was not."""
    done = process("tests.cli.killed_runs", *map(str, counts), "--", *shlex.split(words))
    message = re.sub(r"xmleval: kept: resumed at row \d+ of 300\n", "", done.stderr)
    assert re.fullmatch(r"(-?\d+ ?)+\n", message), message
    return [int(end) for end in message.split()]


def resume() -> str:
    """Resume the run that was killed, and return what it printed."""
    code, out, err = answer(shlex.split(RESUME))
    row = re.fullmatch(r"xmleval: kept: resumed at row (\d+) of 300\n", err)
    assert code == 0
    assert row
    assert 0 < int(row[1]) < 300
    return out


@pytest.fixture(scope="module")
def killed_half_way(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folder of a run that was killed, and a copy of it."""
    folder = tmp_path_factory.mktemp("halfway") / "run"
    folder.mkdir()
    make_inputs(folder)
    script = (
        "import sys; from tests.cli.killed_runs import evaluation, run; evaluation.LEAST_MEMORY = 1; "
        "assert run(sys.argv[1:], 150) == -9"
    )
    done = process(script, *KEPT.split(), "--output", "gone.json", python="-c", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, Path(shutil.copytree(folder, folder.with_name("copy")))


@pytest.fixture
def half_way(killed_half_way: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the checkpoint of a killed run in its folder, as inputs are compared by path and time."""
    folder, copy = killed_half_way
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    monkeypatch.chdir(folder)
    return folder / "kept"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [EVALUATE, f"evaluate shards 'parts/*' {METRICS} --per-label {{}}.csv {SMALL}"]
)
def test_runs_killed_at_random_moments_end_with_the_same_bytes(inputs: Path, run: Run, words: str) -> None:
    shards = ("shards", TRUTHS["xmc"], make_truth(300)), ("parts", SCORES["npz"], make_scores(300))
    for name, write, matrix in shards:
        Path(name).mkdir()
        for number in range(12):
            write(Path(name, f"part{number}"), matrix[number * 25 : (number + 1) * 25])
    run(f"{words.format('whole')} --output whole.json")
    counts = np.random.default_rng(len(words)).integers(1, 200, 4).tolist()
    ends = kill(counts, f"{words.format('resumed')} --checkpoint kept --resume --output resumed.json")
    assert ends[-1] == 0
    assert ends.count(-9) >= 2
    for suffix in ("json", "csv") if "per-label" in words else ("json",):
        assert Path(f"resumed.{suffix}").read_bytes() == Path(f"whole.{suffix}").read_bytes()
    assert not Path("kept").exists()
    assert not list(inputs.glob(".*"))


@pytest.mark.slow
def test_run_killed_at_every_moment_of_the_first_saves_can_be_resumed(inputs: Path, run: Run) -> None:
    words = EVALUATE.replace("8KB", "24KB")
    run(f"{words} --output whole.json")
    for first in (1, 11):
        counts = [*range(first, first + 10)]
        assert kill(counts, f"{words} --checkpoint kept --resume --output resumed.json")[-1] == 0
        assert Path("resumed.json").read_bytes() == Path("whole.json").read_bytes()
        assert not Path("kept").exists()


def test_run_interrupted_at_any_batch_can_be_resumed(
    inputs: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(EVALUATE)
    monkeypatch.setattr(checkpoint.Checkpoint, "save_sometimes", checkpoint.Checkpoint.save)
    for batch in (2, 7, 16):
        with interrupted(batch):
            assert answer(shlex.split(KEPT))[0] == 130
        assert resume() == whole
        assert not Path("kept").exists()


def test_killed_run_leaves_a_lock_that_its_resumed_run_takes(half_way: Path, run: Run) -> None:
    assert (half_way / "checkpoint.lock").exists()
    assert resume() == run(EVALUATE)
    assert not half_way.exists()


def test_leftovers_of_a_killed_run_are_removed_and_other_files_are_not(half_way: Path, run: Run) -> None:
    (half_way / "checkpoint.json").unlink()
    parts = [*half_way.glob("checkpoint-*.npy")]
    assert len(parts) > 3
    foreign = {
        half_way / name
        for number in ("0-0", "0123456789abcdef-1-0")
        for name in (f"checkpoint-{number}.npz", f".checkpoint-{number}.npy.x7_q", "checkpoint.txt")
    }
    for path in foreign:
        path.write_text("weights of a model")
    (half_way / "checkpoint-1-0.npy").mkdir()
    (half_way / ".checkpoint.json.x7_q").symlink_to("nowhere")
    (half_way / f".{parts[0].name}.x7_q").write_bytes(b"half")
    assert run(KEPT) == run(EVALUATE)
    rest = {half_way / "checkpoint-1-0.npy", half_way / ".checkpoint.json.x7_q"}
    assert {*half_way.iterdir()} == foreign | rest
    assert {path.read_text() for path in foreign} == {"weights of a model"}


@pytest.mark.parametrize("text", ["notes", "{}", '{"format": "xmleval lock"}', None, "folder"])
@pytest.mark.parametrize("name", ["checkpoint.json", "checkpoint.lock"])
def test_file_of_another_program_is_refused_and_kept(
    inputs: Path, refused: Run, name: str, text: str | None
) -> None:
    path = Path("kept", name)
    path.parent.mkdir()
    if text is None:
        path.symlink_to("nowhere")
    elif text == "folder":
        path.mkdir()
    else:
        path.write_text(text)
    for words in (KEPT, RESUME):
        assert refused(words).startswith(f"kept/{name}: ")
        assert os.listdir("kept") == [name]
        assert text in (None, "folder") or path.read_text() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not a checkpoint, or damaged"),
        ("\x00", "not a checkpoint, or damaged"),
        ("[" * 99999, "not a checkpoint, or damaged"),
        (
            json.dumps({"format": "xmleval checkpoint", "version": 99}),
            f"of version 99; this program reads version {CHECKPOINT.version}",
        ),
    ],
)
def test_damaged_manifest_is_refused_and_kept(inputs: Path, refused: Run, text: str, message: str) -> None:
    Path("kept").mkdir()
    Path("kept/checkpoint.json").write_text(text)
    assert refused(RESUME).startswith(f"kept/checkpoint.json: {message}")
    assert Path("kept/checkpoint.json").read_text() == text


def test_folder_is_for_one_process_at_a_time(inputs: Path, run: Run, refused: Run) -> None:
    lock = checkpoint.Checkpoint(Path("kept"), {})
    owner = f"process {os.getpid()} on {os.uname().nodename}"
    for words in (KEPT, RESUME):
        assert refused(words) == f"kept: in use by {owner}; expected another folder"
        assert os.listdir("kept") == ["checkpoint.lock"]
    lock.close()
    assert not Path("kept").exists()


def test_lock_that_vanishes_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, flock, first = tmp_path / "lock", fcntl.flock, iter([True])

    def locking(number: int, how: int) -> None:
        flock(number, how)
        if next(first, False):
            path.unlink()  # its owner ends just now

    monkeypatch.setattr(fcntl, "flock", locking)
    lock = Lock(path)
    with pytest.raises(ValueError, match="in use by process"):
        Lock(path)
    lock.remove()
    assert list(tmp_path.iterdir()) == []


def test_sorted_scores_are_written_once(inputs: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    save = checkpoint.Checkpoint.save

    def saving(saved: checkpoint.Checkpoint, *arguments: object) -> None:
        before = {path.name: path.stat().st_mtime_ns for path in saved.folder.glob("*.npy")}
        save(saved, *arguments)  # type: ignore[arg-type]
        after = {path.name: path.stat().st_mtime_ns for path in saved.folder.glob("*.npy")}
        assert before.items() <= after.items()
        written.extend(after.keys() - before.keys())

    monkeypatch.setattr(checkpoint.Checkpoint, "save_sometimes", saving)
    whole = run(EVALUATE)
    assert run(KEPT.replace("kept", "new/kept")) == whole
    assert not Path("new/kept").exists()
    assert len(written) == len(set(written)) > 10
    written.clear()
    run(KEPT.replace("8KB", "16MB"))  # more memory makes few files
    assert len(written) < 20


def test_other_options_and_inputs_are_refused(half_way: Path, refused: Run) -> None:
    Path("pairs").write_text("0 1\n")
    folder = half_way.parent
    before = {path: path.read_bytes() for path in half_way.iterdir() if path.name != checkpoint.LOCK}
    assert refused(KEPT) == "kept: holds a checkpoint; go on with --resume, or remove it"
    at_k = EVALUATE.replace("curves,lrap,", "")
    for words, message in (
        (f"{EVALUATE} --k 1,2", "metrics differs: p@3 in the checkpoint, p@2 now"),
        (f"{EVALUATE} --conventions wu2017", "auc_ties differs: half in the checkpoint, full now"),
        (f"{EVALUATE} --a 0.6", "a differs: 0.55 in the checkpoint, 0.6 now"),
        (f"{EVALUATE} --input-format npy", "--input-format differs: None in the checkpoint, npy now"),
        (f"{EVALUATE} --per-label x.csv", "per_label differs: False in the checkpoint, True now"),
        (f"{at_k} --exclude pairs", f"--exclude differs: None in the checkpoint, {folder}/pairs (4 bytes of"),
        (f"{at_k} --candidates other.npz", "--candidates differs: None in the"),
        (EVALUATE.replace(" m ", " other.npz "), f"SCORES differs: {folder}/m_indices"),
        (EVALUATE.replace(" m ", " m other.npz "), "SCORES differs: None in the"),
    ):
        expected = f"kept: holds a checkpoint of another run; {message}"
        assert refused(f"{words} --checkpoint kept --resume").startswith(expected)
    assert {path: path.read_bytes() for path in half_way.iterdir() if path.name != checkpoint.LOCK} == before


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


@pytest.mark.slow
def test_damage_is_refused_by_the_file(half_way: Path, refused: Run, run: Run) -> None:
    whole, rng = run(EVALUATE), np.random.default_rng(3)
    sums = json.loads((half_way / checkpoint.MANIFEST).read_text())["manifest"]["sums"]
    for path in [half_way / name for name in (*sums, checkpoint.MANIFEST)]:
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[rng.integers(len(content))] ^= 1 << rng.integers(8)
        damaged = [bytes(flipped), content[: len(content) // 2], b""]
        for changed in damaged if path.name == checkpoint.MANIFEST else [*damaged, None]:
            path.unlink()
            if changed is not None:
                path.write_bytes(changed)
            message = refused(RESUME)
            expected = "kept: " if "another run" in message else f"kept/{path.name}: "
            assert message.startswith(expected)
            path.write_bytes(content)
    assert resume() == whole


def test_folder_that_cannot_hold_a_checkpoint_is_refused(inputs: Path, refused: Run) -> None:
    Path("file").touch()
    assert refused(f"{EVALUATE} --checkpoint file").startswith("file: ")
    message = ".: Y_test.npz in it is an input; expected a folder of its own"
    assert refused("evaluate Y_test.npz m --checkpoint .") == message
    assert refused(f"{EVALUATE} --resume") == "--resume needs --checkpoint; see `xmleval evaluate --help`"
    if os.geteuid() != 0:
        Path("kept").mkdir(mode=0o500)
        assert refused(KEPT) == "kept: Permission denied"
