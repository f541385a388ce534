"""Scores in temporary files: no file is left and no score is lost, whatever happens."""

import contextlib
import copy
import errno
import os
import pickle
import tempfile
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.limits import small_limits
from xmleval import Evaluator

OPTIONS: dict[str, Any] = {
    "metrics": "curves",
    "per_label": True,
    "curve_points": 7,
    "bounds": True,
}
rng = np.random.default_rng(15)
TRUTH = (rng.random((40, 6)) < 0.3).astype(int)
LISTED = rng.random(TRUTH.shape) < 0.6
SCORES = sp.csr_array(np.where(LISTED, rng.normal(size=TRUTH.shape).round(1), 0))
HALVES = [(TRUTH[:20], SCORES[:20]), (TRUTH[20:], SCORES[20:])]


def evaluator_of(memory: Any = 1, *rows: Any, **options: Any) -> Evaluator:
    """Return an evaluator; it has counted the rows, if any are passed."""
    evaluator = Evaluator(n_labels=6, memory=memory, **OPTIONS, **options)
    if rows:
        evaluator.update(*rows)
    return evaluator


def contents(evaluator: Evaluator) -> list[Any]:
    report = evaluator.compute()
    arrays = [*report.per_label().values(), *report.roc_curve(), *report.pr_curve()]
    return [report.to_json(), *(array.tobytes() for array in arrays)]


def whole() -> list[Any]:
    return contents(evaluator_of("1GiB", TRUTH, SCORES))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for temporary files."""
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spills))
    return spills


def open_files(folder: Path) -> list[int]:
    """Return the sizes of files of a folder that this process has open."""
    sizes = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # of a file that a thread closes
            if str(folder) in os.readlink(link):
                sizes.append(os.fstat(int(link.name)).st_size)
    return sizes


def wait_for_open_files(folder: Path, n: int) -> None:
    """Wait until ``n`` files are open: worker threads release their last task after they end."""
    until = time.monotonic() + 9
    while len(open_files(folder)) > n and time.monotonic() < until:
        time.sleep(0.01)
    assert len(open_files(folder)) == n


lists_open_files = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="no list of open files"
)


@lists_open_files
@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_spill_file_has_no_name_and_is_closed_in_the_end(folder: Path, memory: Any) -> None:
    evaluator = evaluator_of(memory, TRUTH, SCORES)
    assert len(open_files(folder)) == (memory == 1)
    assert os.listdir(folder) == []
    assert contents(evaluator) == whole()
    del evaluator
    wait_for_open_files(folder, 0)


@lists_open_files
def test_merge_copies_spilled_scores_to_its_own_file(folder: Path) -> None:
    first, second = (evaluator_of(1, *rows) for rows in HALVES)
    assert len(open_files(folder)) == 2
    first.merge(second)
    del second
    wait_for_open_files(folder, 1)
    assert contents(first) == whole()


@lists_open_files
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_kept", [False, True], ids=["deleted", "reset"])
def test_merge_is_independent_of_the_merged_evaluator(
    folder: Path, is_kept: bool, dtype: Any
) -> None:
    halves = [(truth, scores.astype(dtype)) for truth, scores in HALVES]
    with small_limits():
        expected = contents(evaluator_of("1GiB", TRUTH, SCORES.astype(dtype)))
        first, second = (evaluator_of(1, *rows) for rows in halves)
        assert len(open_files(folder)) == 2
        first.merge(second)
        assert contents(first) == expected
        if is_kept:
            second.reset()
        else:
            del second
        wait_for_open_files(folder, 1)
        assert contents(first) == expected
        if is_kept:
            second.update(*halves[0])
            assert len(open_files(folder)) == 2
            assert contents(first) == expected


@pytest.fixture
def disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Limit the bytes that temporary files accept in all to ``disk.room``."""
    disk = SimpleNamespace(room=np.inf)
    pwritev = os.pwritev

    def write(number: int, data: Any, offset: int) -> int:
        if disk.room < 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_accepted = int(min(len(data[0]), disk.room))
        n_written = pwritev(number, [data[0][:n_accepted]], offset)
        disk.room -= n_written
        return n_written

    monkeypatch.setattr(os, "pwritev", write)
    return disk


@pytest.mark.parametrize("options", [{}, {"threads": 2, "block_rows": 3}])
@pytest.mark.parametrize("room", [0, 37, 700])
def test_update_on_full_disk_loses_nothing(
    folder: Path, disk: Any, room: int, options: dict[str, Any]
) -> None:
    evaluator = evaluator_of(1, *HALVES[0], **options)
    before = contents(evaluator)
    sizes = open_files(folder)
    for _ in range(2):
        disk.room = room
        message = r"No space .* were spilled; earlier counts are kept"
        with pytest.raises(OSError, match=message) as caught:
            evaluator.update(*HALVES[1])
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(folder))
        assert open_files(folder) == sizes
        assert contents(evaluator) == before
    disk.room = np.inf
    evaluator.update(*HALVES[1])
    assert contents(evaluator) == whole()
    assert os.listdir(folder) == []


@pytest.mark.parametrize("room", [0, 700])
def test_load_and_merge_on_full_disk_lose_nothing(folder: Path, disk: Any, room: int) -> None:
    saved, added = (evaluator_of("1GiB", *rows) for rows in HALVES)
    path = folder.parent / "state.npz"
    saved.save(path)
    disk.room = room
    with pytest.raises(OSError, match="No space left on device") as caught:
        Evaluator.load(path, memory=1)
    assert caught.value.filename == str(folder)
    disk.room = np.inf
    receiver = Evaluator.load(path, memory=1)
    before = [contents(receiver), contents(added)]
    disk.room = room
    with pytest.raises(OSError, match="No space left on device"):
        receiver.merge(added)
    assert [contents(receiver), contents(added)] == before
    disk.room = np.inf
    assert contents(receiver.merge(added)) == whole()


def test_spill_file_may_be_written_and_read_in_small_pieces(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwritev = os.pwritev
    preadv = os.preadv

    def write_seven_bytes(number: int, data: Any, offset: int) -> int:
        return pwritev(number, [data[0][:7]], offset)

    def read_five_bytes(number: int, data: Any, offset: int) -> int:
        return preadv(number, [data[0][:5]], offset)

    monkeypatch.setattr(os, "pwritev", write_seven_bytes)
    monkeypatch.setattr(os, "preadv", read_five_bytes)
    evaluator = evaluator_of()
    for rows in HALVES:
        evaluator.update(*rows)
    assert contents(evaluator) == whole()


def test_update_after_a_fork_in_both_processes(folder: Path, tmp_path: Path) -> None:
    """The child spills, and then cannot, while the parent goes on."""
    evaluator = evaluator_of(1, *HALVES[0])
    twice = evaluator_of("1GiB", *HALVES[0])
    twice.update(*HALVES[0])
    expected = contents(twice)
    has_written, report_written = os.pipe()
    may_read, allow_reading = os.pipe()
    child = os.fork()
    if child == 0:
        is_same = False
        try:
            evaluator.update(*HALVES[0])
            os.write(report_written, b".")
            os.read(may_read, 1)
            is_same = contents(evaluator) == expected
            tempfile.tempdir = str(tmp_path / "gone")
            with contextlib.suppress(FileNotFoundError):
                evaluator.update(*HALVES[0])
        finally:
            os._exit(0 if is_same else 1)
    os.read(has_written, 1)
    evaluator.update(*HALVES[1])
    os.write(allow_reading, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert contents(evaluator) == whole()


@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_compute_in_several_threads(memory: Any) -> None:
    with small_limits():
        pair = [evaluator_of(memory, *rows) for rows in HALVES]
        pair[0].merge(pair[1])
        expected = [*map(contents, pair)]
        with ThreadPoolExecutor(4) as pool:
            assert [*pool.map(contents, pair * 6)] == expected * 6


@pytest.mark.slow  # in plain Python, of minutes
def test_curves_of_labels_keep_the_memory_limit() -> None:
    truth = rng.random((100, 2000)) < 0.01
    scores = rng.random((100, 2000), np.float32)

    def value(memory: str, n_updates: int) -> float:
        evaluator = Evaluator(n_labels=2000, metrics=["auc.macro"], memory=memory, threads=1)
        for _ in range(n_updates):
            evaluator.update(truth, scores)
        return evaluator.compute()["auc.macro"]

    expected = value("1GiB", 1)  # loads kernels, too
    tracemalloc.start()
    try:
        assert value("8MiB", 30) == expected  # of 23 MiB of scores
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 12 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_spilled_scores_are_in_saved_states_and_in_copies(weighted: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    weights = [rng.choice([0.25, 1.0, 3.0], 20) if weighted else None for _ in HALVES]
    whole = evaluator_of("1GiB")
    first = evaluator_of(1)
    for rows, weight in zip(HALVES, weights, strict=True):
        whole.update(*rows, sample_weight=weight)
    first.update(*HALVES[0], sample_weight=weights[0])
    first.save(tmp_path / "state")
    copies = {
        "copy": copy.copy(first),
        "deep copy": copy.deepcopy(first),
        "pickle": pickle.loads(pickle.dumps(first)),
        "state": Evaluator.load(tmp_path / "state", memory=1),
        "state in memory": Evaluator.load(tmp_path / "state", memory="1GiB"),
    }
    before = contents(first)
    expected = contents(whole)
    for name, evaluator in copies.items():
        assert contents(evaluator) == before, name
        evaluator.update(*HALVES[1], sample_weight=weights[1])
        assert contents(evaluator) == expected, name
    assert contents(first) == before
    for memory in (1, "1GiB"):
        second = evaluator_of(memory)
        second.update(*HALVES[1], sample_weight=weights[1])
        second.save(tmp_path / "second")
        loaded = Evaluator.load(tmp_path / "second", memory=memory)
        assert contents(copy.copy(first).merge(loaded)) == expected
