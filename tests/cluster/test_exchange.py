"""Parts are put whole into a folder of any kind; a run goes on with those there, and removes its own."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.engines import ShuffledEngine
from tests.files.test_output import little_space
from xmleval import Evaluator
from xmleval.cluster.counting import count_block
from xmleval.cluster.exchange import OWNER, Exchange
from xmleval.cluster.job import Job, make_job
from xmleval.cluster.run import Leaf, SerialEngine, run
from xmleval.files import ranges
from xmleval.files.output import replacing
from xmleval.files.remote import RemotePath, as_path

N_LEAVES, ROWS = 11, 3
RNG = np.random.default_rng(0)
TRUTH, SCORES = RNG.random((N_LEAVES, ROWS, 6)) < 0.3, RNG.random((N_LEAVES, ROWS, 6))


@pytest.fixture(params=["", "memory://", "file://"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of this machine, one of object storage, and one of a server that has folders."""
    if request.param:
        fsspec = pytest.importorskip("fsspec")
    yield as_path(f"{request.param}{tmp_path}/run 1")
    if request.param == "memory://":
        fsspec.filesystem("memory").store.clear()


def job() -> Job:
    metrics = ["p@1", "auc.micro", "auc.macro", "f1.macro@3", "label_diversity"]
    return make_job(Evaluator(metrics, n_labels=6), 1 << 26, 1)


def leaves(own: Job, times: int = 1) -> list[Leaf]:
    rows = ROWS * times
    truth, scores = (np.tile(values, (1, times, 1)) for values in (TRUTH.astype(int), SCORES))
    blocks = [(n * rows, (truth[n], scores[n])) for n in range(N_LEAVES)]
    return [Leaf(count_block, block, f"{n:032x}", rows) for n, block in enumerate(blocks)]


def exchange(folder: Path) -> Exchange:
    return Exchange.of(folder, [leaf.key for leaf in leaves(job())])


def names_in(held: Exchange) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.name for path in held.folder.iterdir())
    return []


class Killed(SerialEngine):
    """Ends the process that runs it after some tasks."""

    def __init__(self, left: int) -> None:
        self.left = left

    def submit(self, function: Any, *arguments: Any, key: str) -> Any:
        self.left -= function.__name__ == "count_block"
        if self.left < 0:
            raise KeyboardInterrupt
        return super().submit(function, *arguments, key=key)


def test_a_run_goes_on_with_the_parts_that_are_there(folder: Path) -> None:
    own, held = job(), exchange(folder)
    whole = run(SerialEngine(), own, leaves(own)).compute().to_json()
    with pytest.raises(KeyboardInterrupt), held.taken(resume=False):
        run(Killed(9), own, leaves(own), held)
    told = "holds parts of this run; resume it, or remove them"
    with pytest.raises(ValueError, match=told), held.taken(resume=False):
        pass
    engine, shown = ShuffledEngine(), list[int]()
    with held.taken(resume=True) as n_there:
        assert n_there == 10  # and the sum of eight of them
        assert run(engine, own, leaves(own), held, shown.append).compute().to_json() == whole
        counted = {leaf.key for leaf in leaves(own)} & {*engine.ran}
        assert len(counted) == N_LEAVES - 9
        assert shown[-1] == N_LEAVES * ROWS
        again = ShuffledEngine()
        assert run(again, own, leaves(own), held).compute().to_json() == whole
        assert not {leaf.key for leaf in leaves(own)} & {*again.ran}
    assert names_in(held) == []


def test_files_of_others_are_left_alone(folder: Path) -> None:
    own, held, others = job(), exchange(folder), [f"{'0' * 32}.npy", "notes.npz"]
    with held.taken(resume=False):
        for name in others:
            with replacing(held.folder / name) as file:
                file.write(b"x")
        run(SerialEngine(), own, leaves(own), held)
    assert names_in(held) == others
    with replacing(held.folder / OWNER) as file:
        file.write(b"{}")
    with pytest.raises(ValueError, match=r"run\.json: not of a run, or damaged"), held.taken(resume=True):
        pass


def test_the_one_that_began_last_removes_the_parts(folder: Path) -> None:
    """Of two processes with the same run, of which the first was thought to be dead."""
    own, held = job(), exchange(folder)
    with held.taken(resume=False):
        run(SerialEngine(), own, leaves(own), held)
        told = rf"holds parts of this run begun by process {os.getpid()} on .+; resume it, or remove them"
        with pytest.raises(ValueError, match=told), held.taken(resume=False):
            pass
        with pytest.raises(KeyboardInterrupt), held.taken(resume=True):
            raise KeyboardInterrupt
    assert len(held.keys()) == N_LEAVES + 2  # two sums; the other may need them
    told = "another process has taken over this run"
    with pytest.raises(ValueError, match=told), held.taken(resume=True):
        _lose_parts(held)
    assert names_in(held) == []


def _lose_parts(held: Exchange) -> None:
    with held.taken(resume=True):
        pass
    raise FileNotFoundError(errno.ENOENT, "the other has removed its parts", "")


def test_a_part_that_cannot_be_put_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, held = job(), exchange(folder)
    with held.taken(resume=False):
        with pytest.raises(OSError, match="File too large"), little_space():
            run(SerialEngine(), own, leaves(own), held)
        assert not held.keys()
        if isinstance(folder, RemotePath):
            monkeypatch.setattr(ranges, "PAUSE_SECONDS", 0)
            monkeypatch.setattr(type(folder.system()[0]), "put_file", _refuse)
            with pytest.raises(OSError, match=r"cannot be written: no room: '.*/0{32}-range0\.npz'"):
                run(SerialEngine(), own, leaves(own), held)
            assert not held.keys()


def _refuse(*_: Any) -> None:
    raise OSError("no room")


def test_a_damaged_part_is_refused_by_name(folder: Path) -> None:
    own, held, name = job(), exchange(folder), "0" * 32
    with held.taken(resume=False):
        for damaged in (name, f"{name}-range0"):
            run(SerialEngine(), own, leaves(own), held)
            for key in held.keys().keys() - {leaf.key for leaf in leaves(own)}:  # or its parts are not read
                held.path(key).unlink()
            with replacing(held.folder / f"{damaged}.npz") as file:
                file.write(b"PK")
            told = rf"{damaged}\.npz: not a part of a run, or damaged"
            with pytest.raises(ValueError, match=told):
                run(SerialEngine(), own, leaves(own), held)
            (held.folder / f"{damaged}.npz").unlink()
        run(SerialEngine(), own, leaves(own), held)


def last_bytes(path: Path) -> list[int]:
    """Return where the data of each array of an archive ends."""
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        held = [(info.header_offset, info.compress_size) for info in archive.infolist()]
    return [at + 29 + sum(struct.unpack("<2H", content[at + 26 : at + 30])) + size for at, size in held]


def test_a_changed_byte_of_a_part_is_refused_by_name(tmp_path: Path) -> None:
    """Of the file of a sum, and of the scores of a range of labels: large arrays are read in pieces."""
    own, held = job(), exchange(tmp_path)
    several = leaves(own, times=999)
    with held.taken(resume=False):
        run(SerialEngine(), own, several, held)
        total = min(held.keys().keys() - {leaf.key for leaf in several})
        for path in (held.path(total), held.folder / f"{'0' * 32}-range0.npz"):
            content = path.read_bytes()
            for place in last_bytes(path):
                changed = bytes([content[place] ^ 255])
                path.write_bytes(content[:place] + changed + content[place + 1 :])
                with pytest.raises(ValueError, match=f"^{path}: not a part of a run, or damaged"):
                    run(SerialEngine(), own, several, held)
            path.write_bytes(content)


@pytest.mark.parametrize("n_leaves", [8, N_LEAVES])
def test_a_task_without_relevant_labels(n_leaves: int, tmp_path: Path) -> None:
    """Scores of float32 are grouped by label where a task has enough of each; here no relevant ones."""
    own, held = job(), exchange(tmp_path)
    truth = TRUTH.astype(int)
    truth[1] = 0
    blocks = [(n * ROWS, (truth[n], SCORES[n].astype(np.float32))) for n in range(n_leaves)]
    several = [Leaf(count_block, block, f"{n:032x}", ROWS) for n, block in enumerate(blocks)]
    with held.taken(resume=False):
        found = run(SerialEngine(), own, several, held).compute().to_json()
    assert found == run(SerialEngine(), own, several).compute().to_json()


@pytest.mark.parametrize("lost", ["0*0-range0.npz", "*-range0.npz", "*-range*.npz"])
def test_a_task_is_done_again_where_pieces_of_it_are_lost(lost: str, tmp_path: Path) -> None:
    own, held, engine = job(), exchange(tmp_path), ShuffledEngine()
    with held.taken(resume=False):
        whole = run(SerialEngine(), own, leaves(own), held).compute().to_json()
        paths = [*held.folder.glob(lost)]
        for path in paths:
            path.unlink()
        assert run(engine, own, leaves(own), held).compute().to_json() == whole
        assert {path.name[:32] for path in paths} == {leaf.key for leaf in leaves(own)} & {*engine.ran}


class Losing(SerialEngine):
    """Removes a file before ranges are merged."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def submit(self, function: Any, *arguments: Any, key: str) -> Any:
        if function.__name__ == "merge_range":
            self.path.unlink(missing_ok=True)
        return super().submit(function, *arguments, key=key)


def test_a_piece_that_is_lost_meanwhile_is_named(tmp_path: Path) -> None:
    own, held = job(), exchange(tmp_path)
    path = held.folder / f"{'0' * 32}-range1.npz"
    with held.taken(resume=False), pytest.raises(FileNotFoundError) as lost:
        run(Losing(path), own, leaves(own), held)
    assert lost.value.filename == str(path)


@pytest.mark.parametrize("other", [f"{'0' * 32}-range1.npz", f"{1:032x}-range0.npz"])
def test_a_piece_of_another_range_or_part_is_refused_by_name(other: str, tmp_path: Path) -> None:
    own, held = job(), exchange(tmp_path)
    with held.taken(resume=False):
        run(SerialEngine(), own, leaves(own), held)
        path = held.folder / f"{'0' * 32}-range0.npz"
        path.write_bytes((held.folder / other).read_bytes())
        told = rf"^{path}: not a part of a run, or damaged \(of another (range|part)\)"
        with pytest.raises(ValueError, match=told):
            run(SerialEngine(), own, leaves(own), held)


def altered(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    """Change the JSON values or the arrays of a file, whose checksums stay right."""
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays.pop("meta").tobytes())
    change(meta, arrays)
    meta["arrays"] = sorted(arrays)
    with path.open("wb") as file:
        np.savez(file, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)


def without(arrays: dict[str, Any], state: str) -> None:
    for name in [name for name in arrays if name.startswith(state)]:
        del arrays[name]


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "more rows": lambda meta, arrays: meta.update(n_rows=4),
    "rows that are no number": lambda meta, arrays: meta.update(n_rows=float("nan")),
    "more rows of scores": lambda meta, arrays: arrays.update({"score_runs/sizes": np.array([10**9, 8])}),
    "no scores": lambda meta, arrays: without(arrays, "score_runs/"),
    "no label sets": lambda meta, arrays: without(arrays, "label_sets/"),
    "a label set of another range": lambda meta, arrays: arrays.update(
        {"label_sets/fingerprints": np.array([[0, 2**63 - 1]])}
    ),
    "an array that nobody takes": lambda meta, arrays: arrays.update({"other/a": np.zeros(1)}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_piece_that_does_not_fit_is_refused_by_name(change: str, tmp_path: Path) -> None:
    own, held = job(), exchange(tmp_path)
    with held.taken(resume=False):
        run(SerialEngine(), own, leaves(own), held)
        path = held.folder / f"{'0' * 32}-range0.npz"
        altered(path, CHANGES[change])
        with pytest.raises(ValueError, match=f"^{path}: not a part of a run, or damaged"):
            run(SerialEngine(), own, leaves(own), held)


def test_weighted_scores_of_every_label_in_files(tmp_path: Path) -> None:
    """Sums of weights of many labels are packed as bytes, and read again in pieces."""
    rng, held = np.random.default_rng(1), exchange(tmp_path)
    own = make_job(Evaluator("auc.macro", n_labels=5), 1 << 26, 1)
    names = ("y_true", "y_score", "sample_weight")
    several, n = [], 3000
    for number in range(N_LEAVES):
        rows = rng.random((n, 5)) < 0.3, rng.random((n, 5)), rng.choice([0.5, 1.0], n)
        block = dict(zip(names, (rows[0].astype(int), *rows[1:]), strict=True))
        several.append(Leaf(count_block, (number * n, block), f"{number:032x}", n, weighted=True))
    with held.taken(resume=False):
        found = run(SerialEngine(), own, several, held).compute().to_json()
        assert not any("-range" in name for name in names_in(held))  # they go through the tree
    assert found == run(SerialEngine(), own, several).compute().to_json()


def test_a_run_goes_on_that_was_killed_as_it_removed_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, held, removed = job(), exchange(tmp_path), list[Path]()
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        removed.append(path)
        if len(removed) > 8:
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    whole = run(SerialEngine(), own, leaves(own)).compute().to_json()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt), held.taken(resume=False):
            run(SerialEngine(), own, leaves(own), held)
    assert len(held.keys()) == N_LEAVES + 2 - 8  # pieces are removed after the parts that they are of
    with held.taken(resume=True):
        assert run(SerialEngine(), own, leaves(own), held).compute().to_json() == whole


def test_ranges_of_labels_in_files_are_no_tasks_of_their_own(folder: Path) -> None:
    own, held, sent, read = job(), exchange(folder), ShuffledEngine(), ShuffledEngine()
    whole = run(sent, own, leaves(own)).compute().to_json()
    with held.taken(resume=False):
        assert run(read, own, leaves(own), held).compute().to_json() == whole
    for engine, n_tasks in ((sent, 3 * N_LEAVES), (read, 0)):
        assert sum(key.startswith("range") for key in {*engine.ran}) == n_tasks + 3
        assert sum(key.startswith("range-") for key in {*engine.ran}) == 3


def test_what_cannot_be_written_to_is_refused() -> None:
    with (
        pytest.raises(OSError, match="Read-only file system"),
        exchange(as_path("https://host/run")).taken(False),
    ):
        pass
