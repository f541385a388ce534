"""Scores in temporary files: whatever happens, no file is left and nothing is lost."""

import contextlib
import errno
import os
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

OPTIONS: dict[str, Any] = {"metrics": "curves", "per_label": True, "curve_points": 7, "bounds": True}
rng = np.random.default_rng(15)
TRUTH = (rng.random((40, 6)) < 0.3).astype(int)
SCORES = sp.csr_array(np.where(rng.random(TRUTH.shape) < 0.6, rng.normal(size=TRUTH.shape).round(1), 0))
HALVES = [(TRUTH[:20], SCORES[:20]), (TRUTH[20:], SCORES[20:])]


def evaluator_of(memory: Any = 1, *rows: Any, **options: Any) -> Evaluator:
    """Return an evaluator that has counted rows, if there are some."""
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
    """Return the sizes of the files of a folder that this process holds open."""
    sizes = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # of one that a thread closes
            sizes += [os.fstat(int(link.name)).st_size] * (str(folder) in os.readlink(link))
    return sizes


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_file_is_open_but_has_no_name_and_is_closed_in_the_end(folder: Path, memory: Any) -> None:
    evaluator = evaluator_of(memory, TRUTH, SCORES)
    assert len(open_files(folder)) == (memory == 1)
    assert os.listdir(folder) == []
    assert contents(evaluator) == whole()
    del evaluator
    until = time.monotonic() + 9  # a worker thread releases its last task just after it has ended
    while open_files(folder) and time.monotonic() < until:
        time.sleep(0.01)
    assert open_files(folder) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
def test_merged_scores_are_in_the_file_of_their_evaluator(folder: Path) -> None:
    first, second = (evaluator_of(1, *rows) for rows in HALVES)
    assert len(open_files(folder)) == 2
    first.merge(second)
    del second
    until = time.monotonic() + 9
    while len(open_files(folder)) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(open_files(folder)) == 1
    assert contents(first) == whole()


@pytest.fixture
def disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Room for so many bytes in all temporary files: they take what there is room for, and then nothing."""
    disk, pwritev = SimpleNamespace(room=np.inf), os.pwritev

    def write(number: int, data: Any, offset: int) -> int:
        if disk.room < 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_written = pwritev(number, [data[0][: int(min(len(data[0]), disk.room))]], offset)
        disk.room -= n_written
        return n_written

    monkeypatch.setattr(os, "pwritev", write)
    return disk


@pytest.mark.parametrize("options", [{}, {"threads": 2, "block_rows": 3}])
@pytest.mark.parametrize("room", [0, 37, 700])
def test_full_disk_loses_nothing(folder: Path, disk: Any, room: int, options: dict[str, Any]) -> None:
    evaluator = evaluator_of(1, *HALVES[0], **options)
    before, sizes = contents(evaluator), open_files(folder)
    for _ in range(2):
        disk.room = room
        message = r"No space .* were spilled; what was counted before is kept"
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
def test_full_disk_stops_a_merge_or_a_load_without_harm(folder: Path, disk: Any, room: int) -> None:
    parts = [evaluator_of("1GiB", *rows) for rows in HALVES]
    path = folder.parent / "state.npz"
    parts[0].save(path)
    disk.room = room
    with pytest.raises(OSError, match="No space left on device") as caught:
        Evaluator.load(path, memory=1)
    assert caught.value.filename == str(folder)
    disk.room = np.inf
    receiver = Evaluator.load(path, memory=1)
    before = [contents(receiver), contents(parts[1])]
    disk.room = room
    with pytest.raises(OSError, match="No space left on device"):
        receiver.merge(parts[1])
    assert [contents(receiver), contents(parts[1])] == before
    disk.room = np.inf
    assert contents(receiver.merge(parts[1])) == whole()


def test_files_may_be_written_and_read_in_small_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, read = os.pwritev, os.preadv
    monkeypatch.setattr(os, "pwritev", lambda number, data, offset: write(number, [data[0][:7]], offset))
    monkeypatch.setattr(os, "preadv", lambda number, data, offset: read(number, [data[0][:5]], offset))
    evaluator = evaluator_of()
    for rows in HALVES:
        evaluator.update(*rows)
    assert contents(evaluator) == whole()


def test_after_a_fork_both_processes_count_on(folder: Path, tmp_path: Path) -> None:
    """The child spills, and then cannot, while the parent goes on."""
    evaluator, twice = evaluator_of(1, *HALVES[0]), evaluator_of("1GiB", *HALVES[0])
    twice.update(*HALVES[0])
    expected = contents(twice)
    written, may_read = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        same = False
        try:
            evaluator.update(*HALVES[0])
            os.write(written[1], b".")
            os.read(may_read[0], 1)
            same = contents(evaluator) == expected
            tempfile.tempdir = str(tmp_path / "gone")
            with contextlib.suppress(FileNotFoundError):
                evaluator.update(*HALVES[0])
        finally:
            os._exit(0 if same else 1)
    os.read(written[0], 1)
    evaluator.update(*HALVES[1])
    os.write(may_read[1], b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert contents(evaluator) == whole()


@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_threads_may_compute_together(memory: Any) -> None:
    with small_limits():
        pair = [evaluator_of(memory, *rows) for rows in HALVES]
        pair[0].merge(pair[1])
        expected = [*map(contents, pair)]
        with ThreadPoolExecutor(4) as pool:
            assert [*pool.map(contents, pair * 6)] == expected * 6


@pytest.mark.slow  # in plain Python, of minutes
def test_curves_of_labels_keep_the_memory_limit() -> None:
    truth, scores = rng.random((100, 2000)) < 0.01, rng.random((100, 2000), np.float32)

    def value(memory: str, n_updates: int) -> float:
        evaluator = Evaluator(n_labels=2000, metrics=["auc.macro"], memory=memory, threads=1)
        for _ in range(n_updates):
            evaluator.update(truth, scores)
        return evaluator.compute()["auc.macro"]

    expected = value("1GiB", 1)  # loads kernels, too
    tracemalloc.start()
    try:
        assert value("8MiB", 30) == expected  # of 23 MiB of scores
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()
