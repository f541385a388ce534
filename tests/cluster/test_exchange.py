"""Parts of a run go through a folder of any kind: put whole, used again, and removed at the end."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.executors import SerialExecutor, ShuffledExecutor, count_leaves, job_of, leaf
from tests.files.test_output import little_space
from xmleval import Evaluator
from xmleval.cluster.counting import add_states, call
from xmleval.cluster.exchange import PROPENSITY, locked_for_run, names_in, parts_in
from xmleval.files.output import replacing
from xmleval.files.remote import as_path

N_LEAVES = 11
ROWS = 3
RNG = np.random.default_rng(0)
TRUTH = (RNG.random((N_LEAVES, ROWS, 6)) < 0.3).astype(int)
SCORES = RNG.random((N_LEAVES, ROWS, 6))
METRICS = ["p@1", "auc.micro", "auc.macro", "f1.macro@3", "label_diversity"]
KEYS = [f"{n:032x}" for n in range(N_LEAVES)]
NO_PART = r"not a part of a run, or damaged"


@pytest.fixture(params=["", "memory://", "file://"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of this machine, one of object storage, and one of a server that has folders."""
    if request.param:
        fsspec = pytest.importorskip("fsspec")
    yield as_path(f"{request.param}{tmp_path}/run 1")
    if request.param == "memory://":
        fsspec.filesystem("memory").store.clear()


def count(folder: Path | None, executor: Any = None, times: int = 1) -> str:
    """Count all tasks, and return the report."""
    truth, scores = (np.tile(values, (1, times, 1)) for values in (TRUTH, SCORES))
    size = ROWS * times
    leaves = [leaf(n * size, (truth[n], scores[n]), size, key) for n, key in enumerate(KEYS)]
    job = job_of(Evaluator(METRICS, n_labels=6))
    return count_leaves(job, leaves, executor, folder).compute().to_json()


class Interrupted(SerialExecutor):
    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        if len(self.ran) == 9:
            raise KeyboardInterrupt
        return super().submit(function, *arguments, **named)


def test_run_goes_on_with_the_parts_that_are_stored(folder: Path) -> None:
    executor = ShuffledExecutor()
    again = ShuffledExecutor()
    whole = count(None)
    with pytest.raises(KeyboardInterrupt), locked_for_run(folder, resume=False):
        count(folder, Interrupted())
    message = "contains parts of this run; resume the run, or remove them"
    with pytest.raises(ValueError, match=message), locked_for_run(folder, resume=False):
        pass
    with locked_for_run(folder, resume=True) as n_stored:
        assert n_stored == 9
        assert count(folder, executor) == whole
        assert len({*KEYS} & {*executor.ran}) == N_LEAVES - 9
        assert count(folder, again) == whole
        assert not {*KEYS} & {*again.ran}
    assert names_in(folder) == []


def test_other_files_are_left_alone(folder: Path) -> None:
    names = [f"{'0' * 32}.npy", "notes.npz"]
    with locked_for_run(folder, resume=False):
        for name in names:
            with replacing(folder / name) as file:
                file.write(b"x")
        count(folder)
    assert sorted(names_in(folder)) == names


def test_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked_for_run(folder, resume=False):
        with (
            pytest.raises(ValueError, match="in use by another process"),
            locked_for_run(folder, resume=True),
        ):
            pass
        count(folder)
    assert names_in(folder) == []


def test_part_that_cannot_be_written_leaves_nothing(folder: Path) -> None:
    with locked_for_run(folder, resume=False):
        with pytest.raises(OSError, match="File too large"), little_space():
            count(folder)
        assert not parts_in(folder)


@pytest.mark.parametrize("name", [f"{KEYS[3]}.npz", PROPENSITY, ""])
def test_links_in_the_folder_of_a_run_are_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmleval.cluster.job.LEAST_FILE", 1)
    folder = tmp_path / "run"
    target = tmp_path / "target"
    target.mkdir()
    (target / ".profile").write_text("of its owner")

    def put_files() -> None:
        with locked_for_run(folder, resume=False):
            (folder / name).symlink_to(target / ".profile")  # another user of the folder
            job = job_of(Evaluator("psp@1", n_labels=6, inverse_propensity=np.ones(6)))
            job.with_file(folder / PROPENSITY)
            call(job, str(folder / f"{KEYS[3]}.npz"), add_states, ())

    if not name:
        folder.symlink_to(target)
    with pytest.raises(FileExistsError, match="symbolic link"):
        put_files()
    assert [path.name for path in target.iterdir()] == [".profile"]
    assert (target / ".profile").read_text() == "of its owner"


def test_files_that_are_no_parts_stay(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    draft = f".{KEYS[0]}.npz.{16 * 'a'}"
    with locked_for_run(folder, resume=False):
        for name in (".profile", "notes", f"{KEYS[0]}.npz", draft, PROPENSITY):
            (folder / name).touch()
    assert sorted(path.name for path in folder.iterdir()) == [".profile", "notes"]


def test_run_goes_on_that_was_killed_as_it_removed_its_parts(
    tmp_path: Path, monkeypatch: Any
) -> None:
    folder = tmp_path / "run"
    removed = list[Path]()
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        removed.append(path)
        if len(removed) > 8:
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt), locked_for_run(folder, resume=False):
            count(folder)
    assert len(parts_in(folder)) == N_LEAVES + 2 - 8  # with two sums
    with locked_for_run(folder, resume=True):
        assert count(folder) == count(None)


def altered(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    """Change the arrays of a file, whose checksums stay right."""

    def alter(path: Path) -> None:
        with np.load(path) as archive:
            arrays = dict(archive)
        meta = json.loads(arrays.pop("meta").tobytes())
        change(arrays)
        with path.open("wb") as file:
            np.savez(file, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)

    return alter


def flip_last_byte(path: Path) -> None:
    """Change the last byte of the last array, which is large and read in pieces."""
    content = path.read_bytes()
    place = content.index(b"PK\x01\x02") - 1
    path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "half written": lambda path: path.write_bytes(b"PK"),
    "a changed byte": flip_last_byte,
    "more rows of scores": altered(
        lambda arrays: arrays.update({"score_runs/sizes": np.array([10**9, 8])})
    ),
    "no label sets": altered(lambda arrays: arrays.pop("label_sets/fingerprints")),
    "an array that nobody takes": altered(lambda arrays: arrays.update({"other/a": np.zeros(1)})),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_sum_is_refused_by_name(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    times = 999 if damage == "a changed byte" else 1
    with locked_for_run(folder, resume=False):
        count(folder, times=times)
        path = folder / f"{KEYS[0]}.npz"
        DAMAGES[damage](path)
        with pytest.raises(ValueError, match=f"{path.name}: {NO_PART}"):
            count(folder, times=times)
        path.unlink()
        count(folder, times=times)
