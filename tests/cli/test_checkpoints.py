"""Checkpoints: killed runs go on to the same bits; no folder that holds anything else is believed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npy, npz
from xmleval import Evaluator
from xmleval.cli import checkpoint, main
from xmleval.cli.lock import Lock
from xmleval.files.saved import CHECKPOINT

METRICS = "--metrics xmc,ps,curves,lrap,f1.macro@3,label_diversity --train truth.npz --bounds"
SMALL = "--memory 8KB --format json"
EVALUATE = f"evaluate truth.npz m {METRICS} {SMALL}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_inputs(tmp_path)
    return tmp_path


def make_inputs(folder: Path) -> None:
    npz(folder / "truth", make_truth(300))
    npy(folder / "m", make_scores(300))
    npz(folder / "other", make_scores(300, seed=5))


def killed(counts: list[int], words: str) -> list[int]:
    """How runs of a command ended that were killed at the given moments, and the last one that was not."""
    home = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.killed_runs", *map(str, counts), "--", *shlex.split(words)],
        env=os.environ | {"PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    told = re.sub(r"xmleval: kept: resumed at row \d+ of 300\n", "", done.stderr)
    assert re.fullmatch(r"(-?\d+ ?)+\n", told), told
    return [int(end) for end in told.split()]


@pytest.fixture
def resumed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Resume the run that was killed, and return what it printed."""

    def runs() -> str:
        code = main(shlex.split(f"{EVALUATE} --checkpoint kept --resume"))
        out, err = capsys.readouterr()
        assert code == 0
        found = re.fullmatch(r"xmleval: kept: resumed at row (\d+) of 300\n", err)
        assert found
        assert 0 < int(found[1]) < 300
        return out

    return runs


@pytest.fixture(scope="module")
def killed_half_way(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of a run that was killed, as `killed_runs` leaves it, and a copy of that folder."""
    folder = tmp_path_factory.mktemp("halfway") / "run"
    folder.mkdir()
    make_inputs(folder)
    home = Path(__file__).resolve().parents[2]
    script = (
        "import sys; from xmleval.cli import checkpoint; checkpoint.LEAST_SECONDS = checkpoint.SHARE = 0; "
        "from tests.cli.killed_runs import run; assert run(sys.argv[1:], 150) == -9"
    )
    words = f"{EVALUATE} --checkpoint kept --output gone.json".split()
    env = os.environ | {"PYTHONPATH": str(home)}
    subprocess.run([sys.executable, "-c", script, *words], cwd=folder, env=env, check=True)
    return folder, Path(shutil.copytree(folder, folder.with_name("copy")))


@pytest.fixture
def half_way(killed_half_way: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the checkpoint of a run that was killed; its inputs are known by path and time."""
    folder, copy = killed_half_way
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    monkeypatch.chdir(folder)
    return folder / "kept"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        EVALUATE,
        f"evaluate shards 'parts/*' other.npz {METRICS} {SMALL}",
        EVALUATE.replace("--bounds", "--per-label {}.csv"),
    ],
)
def test_killed_at_random_and_resumed(folder: Path, run: Any, words: str) -> None:
    for name, make, matrix in (
        ("shards", TRUTHS["xmc"], make_truth(300)),
        ("parts", SCORES["npz"], make_scores(300)),
    ):
        (folder / name).mkdir()
        for number in range(12):
            make(folder / name / f"part{number}", matrix[number * 25 : (number + 1) * 25])
    run(f"{words.format('whole')} --output whole.json")
    counts = np.random.default_rng(len(words)).integers(1, 200, 5).tolist()
    ends = killed(counts, f"{words.format('found')} --checkpoint kept --resume --output found.json")
    assert ends[-1] == 0
    assert ends.count(-9) >= 2
    assert Path("found.json").read_bytes() == Path("whole.json").read_bytes()
    if "per-label" in words:
        assert Path("found.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert not Path("kept").exists()
    assert not list(folder.glob(".*"))


@pytest.mark.slow
def test_every_moment_of_the_first_saves(folder: Path, run: Any) -> None:
    words = EVALUATE.replace("8KB", "24KB")
    run(f"{words} --output whole.json")
    for first in (1, 11):
        counts = list(range(first, first + 10))
        assert killed(counts, f"{words} --checkpoint kept --resume --output found.json")[-1] == 0
        assert Path("found.json").read_bytes() == Path("whole.json").read_bytes()
        assert not Path("kept").exists()


def test_leftovers_of_a_run_that_had_no_checkpoint_yet(half_way: Path, run: Any) -> None:
    whole = run(EVALUATE)
    (half_way / "checkpoint.json").unlink()
    parts = list(half_way.glob("checkpoint-*.npy"))
    assert len(parts) > 3
    (half_way / f".{parts[0].name}.x7_q").write_bytes(b"half")
    (half_way / "checkpoint.txt").write_text("mine")
    assert run(f"{EVALUATE} --checkpoint kept") == whole
    assert [path.name for path in half_way.iterdir()] == ["checkpoint.txt"]  # what others keep there stays


FOREIGN = (
    "checkpoint-10-0.npz", "checkpoint-1-0.npy", ".checkpoint-3-1.npy.x7_q", ".checkpoint.json.x7_q",
    "checkpoint-0123456789abcdef-1-0.npz", ".checkpoint-0123456789abcdef-1-0.npy.x7_q", "checkpoint.txt",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_files_of_others_stay_whatever_their_names(folder: Path, run: Any, kind: str) -> None:
    whole, kept = run(EVALUATE), Path("kept")
    kept.mkdir()
    for name in FOREIGN:
        if kind == "file":
            (kept / name).write_text("weights of a model")
        elif kind == "folder":
            (kept / name).mkdir()
        else:
            (kept / name).symlink_to("nowhere")
    assert run(f"{EVALUATE} --checkpoint kept") == whole
    assert sorted(path.name for path in kept.iterdir()) == sorted(FOREIGN)
    if kind == "file":
        assert {path.read_text() for path in kept.iterdir()} == {"weights of a model"}


@pytest.mark.parametrize("held", ["notes", "{}", '{"format": "xmleval lock"}', None, "folder"])
@pytest.mark.parametrize("name", ["checkpoint.json", "checkpoint.lock"])
def test_files_of_others_with_a_name_it_needs_are_refused(
    folder: Path, refused: Any, name: str, held: str | None
) -> None:
    path = Path("kept", name)
    path.parent.mkdir()
    if held is None:
        path.symlink_to("nowhere")
    elif held == "folder":
        path.mkdir()
    else:
        path.write_text(held)
    for words in ("", " --resume"):
        assert refused(f"{EVALUATE} --checkpoint kept{words}").startswith(f"kept/{name}: ")
        assert os.listdir("kept") == [name]
        if held not in (None, "folder"):
            assert path.read_text() == held


def test_a_folder_is_for_one_process_at_a_time(folder: Path, run: Any, refused: Any) -> None:
    whole = run(EVALUATE)
    one = checkpoint.Checkpoint(Path("kept"), {})
    owner = f"process {os.getpid()} on {os.uname().nodename}"
    for words in ("", " --resume"):
        said = refused(f"{EVALUATE} --checkpoint kept{words}")
        assert said == f"kept: in use by {owner}; expected another folder"
        assert os.listdir("kept") == ["checkpoint.lock"]
    one.close()
    assert not Path("kept").exists()
    assert run(f"{EVALUATE} --checkpoint kept") == whole


def test_a_lock_ends_with_its_process(half_way: Path, run: Any, resumed: Any) -> None:
    assert (half_way / "checkpoint.lock").exists()
    assert resumed() == run(EVALUATE)
    assert not half_way.exists()


def test_a_lock_that_vanishes_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, flock, left = tmp_path / "lock", fcntl.flock, iter([None])

    def locking(number: int, how: int) -> None:
        flock(number, how)
        if next(left, 0) is None:
            path.unlink()  # its owner ends just now

    monkeypatch.setattr(fcntl, "flock", locking)
    one = Lock(path)
    with pytest.raises(ValueError, match="in use by process"):
        Lock(path)
    one.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusing(number: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refusing)
    Lock(tmp_path / "lock").remove()
    said = f"xmleval: {tmp_path}: cannot be locked (No locks available); no other process may use it\n"
    assert capsys.readouterr().err == said


def test_a_run_that_ends_leaves_nothing(folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)
    whole = run(EVALUATE)
    assert run(f"{EVALUATE} --checkpoint new/kept") == whole
    assert not Path("new/kept").exists()


def test_sorted_scores_are_written_once(folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)
    written: list[str] = []
    save = checkpoint.Checkpoint.save

    def saving(self: checkpoint.Checkpoint, *arguments: Any) -> None:
        before = {p.name: p.stat().st_mtime_ns for p in self.folder.glob("*.npy")}
        save(self, *arguments)
        after = {p.name: p.stat().st_mtime_ns for p in self.folder.glob("*.npy")}
        assert before.items() <= after.items()
        written.extend(after.keys() - before.keys())

    monkeypatch.setattr(checkpoint.Checkpoint, "save", saving)
    run(f"{EVALUATE} --checkpoint kept")
    assert len(written) == len(set(written)) > 10


@pytest.mark.slow
def test_scores_spilled_between_saves_are_all_resumed(tmp_path: Path) -> None:
    """Runs that were added, merged or spilled after a save are other files than those it wrote."""
    truth, scores = make_truth(400), make_scores(400)
    spilling, whole = (
        Evaluator(["auc.micro", "ap.micro"], n_labels=truth.shape[1], memory=memory)
        for memory in (100, "1GiB")
    )
    settings = {"evaluators": [spilling.settings]}
    saved = checkpoint.Checkpoint(tmp_path / "kept", settings)
    for start in range(0, 400, 25):
        rows = slice(start, start + 25)
        for evaluator in (spilling, whole):
            evaluator.update(truth[rows], scores[rows])
        if start in (25, 100, 125, 300):
            saved.save(start + 25, [spilling])
            shutil.copytree(tmp_path / "kept", tmp_path / str(start))
            again = checkpoint.Checkpoint(tmp_path / str(start), settings)
            manifest = again.read()
            assert manifest is not None
            n_rows, (resumed,) = again.load(manifest)
            assert n_rows == resumed.n_rows == start + 25
            assert resumed.compute() == whole.compute()


def test_other_options_are_refused(half_way: Path, refused: Any) -> None:
    Path("pairs").write_text("0 1\n")
    before = {path: path.read_bytes() for path in half_way.iterdir() if path.name != checkpoint.LOCK}
    there = "kept: holds a checkpoint; go on with --resume, or remove it"
    assert refused(f"{EVALUATE} --checkpoint kept") == there
    for options, said in (
        ("--k 1,2", "metrics differs: p@3 in the checkpoint, p@2 now"),
        ("--unlisted below --conventions wu2017", "auc_ties differs: half in the checkpoint, full now"),
        ("--a 0.6", "a differs: 0.55 in the checkpoint, 0.6 now"),
        ("--input-format npy", "--input-format differs: None in the checkpoint, npy now"),
        ("--per-label x.csv", "per_label differs: False in the checkpoint, True now"),
        (
            "--exclude pairs",
            f"--exclude differs: None in the checkpoint, {half_way.parent}/pairs (4 bytes of",
        ),
    ):
        words = EVALUATE.replace("curves,lrap,", "") if "exclude" in options else EVALUATE
        found = refused(f"{words} {options} --checkpoint kept --resume")
        assert found.startswith(f"kept: holds a checkpoint of another run; {said}")
    assert {path: path.read_bytes() for path in half_way.iterdir() if path.name != checkpoint.LOCK} == before


def test_other_inputs_are_refused(half_way: Path, refused: Any, run: Any, resumed: Any) -> None:
    whole, resume = run(EVALUATE), f"{EVALUATE} --checkpoint kept --resume"
    said = "kept: holds a checkpoint of another run; "
    assert refused(resume.replace(" m ", " other.npz ")).startswith(
        f"{said}SCORES differs: {os.getcwd()}/m_indices"
    )
    assert refused(resume.replace(" m ", " m other.npz ")).startswith(f"{said}SCORES differs: None in the")
    for name, role in (("truth.npz", "TRUTH"), ("m_indices.npy", "SCORES"), ("m_scores.npy", "SCORES")):
        path = Path(name)
        held, stat = path.read_bytes(), path.stat()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
        assert re.fullmatch(
            rf"{said}{role} differs: (\S*/{name}) \((\d+) bytes of \S+ \S+ UTC\) in the checkpoint, "
            rf"\1 \(\2 bytes of \S+ \S+ UTC\) now",
            refused(resume),
        )
        path.write_bytes(held)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert resumed() == whole


@pytest.mark.slow
def test_damage_is_refused_by_the_file(half_way: Path, refused: Any, run: Any, resumed: Any) -> None:
    whole, resume = run(EVALUATE), f"{EVALUATE} --checkpoint kept --resume"
    rng = np.random.default_rng(3)
    sums = json.loads((half_way / checkpoint.MANIFEST).read_text())["manifest"]["sums"]
    paths = [half_way / name for name in (*sums, checkpoint.MANIFEST)]
    for path in paths:
        held = path.read_bytes()
        for change in ("flip", "cut", "empty", "gone"):
            changed = bytearray(held)
            changed[rng.integers(len(held))] ^= 1 << rng.integers(8)
            if change == "gone":
                path.unlink()
                if path.name == checkpoint.MANIFEST:
                    path.write_bytes(held)
                    continue
            else:
                path.write_bytes(
                    {"flip": bytes(changed), "cut": held[: len(held) // 2], "empty": b""}[change]
                )
            said = refused(resume)
            assert said.startswith("kept: " if "another run" in said else f"kept/{path.name}: "), said
            path.write_bytes(held)
    assert resumed() == whole


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("{}", "not a checkpoint, or damaged ('format')"),
        ("[1]", "not a checkpoint, or damaged"),
        ("\x00", "not a checkpoint, or damaged"),
        ("[" * 99999, "not a checkpoint, or damaged"),
        (
            json.dumps({"format": "xmleval checkpoint", "version": 99}),
            f"of version 99; this program reads version {CHECKPOINT.version}",
        ),
    ],
)
def test_what_is_no_checkpoint(folder: Path, refused: Any, held: str, said: str) -> None:
    Path("kept").mkdir()
    Path("kept/checkpoint.json").write_text(held)
    assert refused(f"{EVALUATE} --checkpoint kept --resume").startswith(f"kept/checkpoint.json: {said}")
    assert Path("kept/checkpoint.json").read_text() == held


def test_folders_that_are_none_of_its_own(folder: Path, refused: Any) -> None:
    Path("file").touch()
    assert refused(f"{EVALUATE} --checkpoint file").startswith("file: ")
    assert (
        refused(f"{EVALUATE} --checkpoint .")
        == ".: truth.npz in it is an input; expected a folder of its own"
    )
    assert refused(f"{EVALUATE} --resume") == "--resume needs --checkpoint; see `xmleval evaluate --help`"


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may write everywhere")
def test_a_folder_that_may_not_be_written(folder: Path, refused: Any) -> None:
    Path("kept").mkdir(mode=0o500)
    assert refused(f"{EVALUATE} --checkpoint kept") == "kept: Permission denied"


def test_little_memory_makes_few_files(folder: Path) -> None:
    script = (
        "import sys; from xmleval.cli import checkpoint; from xmleval.cli import main; "
        "checkpoint.LEAST_SECONDS = checkpoint.SHARE = 0; save = checkpoint.Checkpoint._write\n"
        "def counted(*words): print('file', file=sys.stderr); return save(*words)\n"
        "checkpoint.Checkpoint._write = counted; sys.exit(main(sys.argv[1:]))"
    )
    home = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script, *EVALUATE.replace("8KB", "16MB").split(), "--checkpoint", "kept"],
        env=os.environ | {"PYTHONPATH": home}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 0 < done.stderr.count("file") < 20
