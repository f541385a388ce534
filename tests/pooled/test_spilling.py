"""Scores in temporary files: in any memory the same bits, and whatever happens, no file and nothing lost."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import xmleval
from tests.pooled.problems import Problem, bits, ending_within, problems
from xmleval import Evaluator, evaluate
from xmleval.pooled import curves
from xmleval.pooled import spill as spill_module
from xmleval.states import score_runs

MEMORIES = [1, "100B", "64kB", "1GiB"]
law = settings(
    max_examples=20, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make ranges, samples and pieces so small that few keys take every path."""

    @contextlib.contextmanager
    def ranges(least: int = 16) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(curves, "LEAST_RANGE", least)
            patch.setattr(curves, "LARGE", 8)
            patch.setattr(score_runs, "SMALL", least)
            patch.setattr(spill_module, "SAMPLES", 4)
            patch.setattr(spill_module, "CHUNK_BYTES", 64)
            yield

    return ranges


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spills))
    return spills


def open_files(folder: Path) -> int:
    """How many files of a folder this process holds open."""
    links = [f"/proc/self/fd/{handle}" for handle in os.listdir("/proc/self/fd")]
    return sum(str(folder) in os.readlink(link) for link in links if os.path.islink(link))


# ------------------------------------------------------------------------------------------- identical bits


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@law
@given(problem=problems(), size=st.integers(1, 12), least=st.sampled_from([4, 16, 200]))
def test_memory_blocks_and_threads_leave_no_trace(
    small: Any, folder: Path, threads: int, problem: Problem, size: int, least: int
) -> None:
    want = bits(evaluate(*problem.whole(), **problem.more, threads=1))
    with small(least):
        for memory in MEMORIES:
            evaluator = problem.evaluator(memory=memory, threads=threads, block_rows=size)
            for lo, hi in problem.cuts():
                evaluator.update(*problem.part(lo, hi))
            assert bits(evaluator.compute()) == want
            assert bits(evaluator.compute()) == want
            assert os.listdir(folder) == []


@pytest.mark.slow
@law
@given(problem=problems(), choice=st.randoms(use_true_random=False))
def test_merging_and_saving_leave_no_trace(small: Any, folder: Path, problem: Problem, choice: Any) -> None:
    want = bits(evaluate(*problem.whole(), **problem.more))
    path = folder.parent / "state.npz"
    with small():
        parts = []
        for lo, hi in problem.cuts():
            part = problem.evaluator(memory=choice.choice(MEMORIES), threads=choice.choice([1, 2]))
            part.update(*problem.part(lo, hi))
            if choice.random() < 0.6:
                before = bits(part.compute()) if choice.random() < 0.3 else None
                part.save(path)
                part = Evaluator.load(path, memory=choice.choice(MEMORIES))
                assert before is None or bits(part.compute()) == before
            parts.append(part)
        while len(parts) > 1:
            first, second = choice.sample(range(len(parts)), 2)
            before = bits(parts[second].compute())
            parts[first].merge(parts[second])
            assert bits(parts[second].compute()) == before
            del parts[second]
        assert bits(parts[0].compute()) == want
        parts[0].save(path)
        assert bits(Evaluator.load(path, memory=1).compute()) == want


@pytest.mark.parametrize("kind", ["float32", "float64", "mixed"])
def test_many_rows_in_little_memory(folder: Path, kind: str) -> None:
    problem = Problem(3, kind, "below")
    problem.truth = (problem.rng.random((4000, 9)) < 0.2).astype(int)
    problem.scores = sp.csr_array(problem.rng.normal(size=(4000, 9)).astype(np.float32).round(2))
    problem.n_rows, problem.n_labels = problem.truth.shape
    want = bits(evaluate(*problem.whole(), **problem.more))
    for threads in (1, 2):
        evaluator = problem.evaluator(memory="64kB", threads=threads, block_rows=300)
        for lo, hi in problem.cuts():
            evaluator.update(*problem.part(lo, hi))
        assert bits(evaluator.compute()) == want


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
def test_a_signal_handler_may_update_while_a_run_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(6, "float32", "below")
    half = problem.n_rows // 2
    evaluator = problem.evaluator(memory=1, threads=1)
    write, raised = os.pwrite, [False]

    def interrupted(*words: Any) -> int:
        if not raised[0]:
            raised[0] = True
            signal.raise_signal(signal.SIGUSR1)
        return write(*words)

    before = signal.signal(signal.SIGUSR1, lambda *_: evaluator.update(*problem.part(half, problem.n_rows)))
    try:
        monkeypatch.setattr(os, "pwrite", interrupted)
        evaluator.update(*problem.part(0, half))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert raised[0]
    assert evaluator.n_rows == problem.n_rows
    assert bits(evaluator.compute()) == bits(evaluate(*problem.whole(), **problem.more))


# ----------------------------------------------------------------------------------------------- no files


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
def test_a_file_is_open_but_has_no_name_and_is_closed_in_the_end(folder: Path) -> None:
    problem = Problem(5, "float32", "below")
    evaluator = problem.evaluator(memory=1)
    evaluator.update(*problem.whole())
    assert open_files(folder) == 1
    assert os.listdir(folder) == []
    del evaluator
    assert open_files(folder) == 0
    large = problem.evaluator()
    large.update(*problem.whole())
    large.compute()
    assert open_files(folder) == 0


def test_a_killed_process_leaves_no_file(tmp_path: Path) -> None:
    script = """
import numpy as np, sys, time
from xmleval import Evaluator
evaluator = Evaluator("curves", n_labels=5, memory=1)
for _ in range(3):
    evaluator.update(np.eye(5, dtype=int), np.random.default_rng(0).random((5, 5)))
print("spilled", flush=True)
while True:
    evaluator.update(np.eye(5, dtype=int), np.random.default_rng(0).random((5, 5)))
"""
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(xmleval.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"spilled\n"
        assert os.listdir(tmp_path) == []
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------- a full disk


class Disk:
    """Room for so many bytes in all temporary files: they take what there is room for, and then nothing."""

    room: float = np.inf


@pytest.fixture
def disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    full, real = Disk(), os.pwrite

    def write(number: int, data: Any, offset: int) -> int:
        if full.room < 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        n_written = real(number, data[: int(min(len(data), full.room))], offset)
        full.room -= n_written
        return n_written

    monkeypatch.setattr(os, "pwrite", write)
    return full


@pytest.mark.parametrize("more", [{}, {"threads": 2, "block_rows": 3}, {"threads": 1, "block_rows": 2}])
@pytest.mark.parametrize("room", [0, 1, 37, 300, 1000])
def test_a_full_disk_loses_nothing(folder: Path, disk: Disk, room: int, more: dict[str, Any]) -> None:
    problem = Problem(15, "float32", "below")
    half = problem.n_rows // 2
    first, second = problem.part(0, half), problem.part(half, problem.n_rows)
    evaluator = problem.evaluator(memory=1, **more)
    evaluator.update(*first)
    before = bits(evaluator.compute())
    for _ in range(2):
        disk.room = room
        with pytest.raises(
            OSError, match=r"No space .* were spilled; what was counted before is kept"
        ) as caught:
            evaluator.update(*second)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(folder))
        assert bits(evaluator.compute()) == before
        assert evaluator.n_rows == half
    disk.room = np.inf
    evaluator.update(*second)
    assert bits(evaluator.compute()) == bits(evaluate(*problem.whole(), **problem.more))
    assert os.listdir(folder) == []


@pytest.mark.parametrize("room", [0, 100, 1000])
def test_a_full_disk_stops_a_merge_or_a_load_without_harm(folder: Path, disk: Disk, room: int) -> None:
    problem = Problem(15, "float64", "below")
    half = problem.n_rows // 2
    parts = [problem.evaluator(memory="1GiB"), problem.evaluator(memory="1GiB")]
    parts[0].update(*problem.part(0, half))
    parts[1].update(*problem.part(half, problem.n_rows))
    path = folder.parent / "state.npz"
    parts[0].save(path)
    disk.room = room
    with pytest.raises(OSError, match="No space left on device") as caught:
        Evaluator.load(path, memory=1)
    assert caught.value.filename == str(folder)
    disk.room = np.inf
    receiver = Evaluator.load(path, memory=1)
    before = [bits(receiver.compute()), bits(parts[1].compute())]
    disk.room = room
    with pytest.raises(OSError, match="No space left on device"):
        receiver.merge(parts[1])
    assert [bits(receiver.compute()), bits(parts[1].compute())] == before
    disk.room = np.inf
    assert bits(receiver.merge(parts[1]).compute()) == bits(evaluate(*problem.whole(), **problem.more))


# ---------------------------------------------------------------------------------------- forged archives


def changed(place: Any, value: Any) -> Any:
    def change(array: Any) -> Any:
        array = array.copy()
        array[place] = value
        return array

    return change


def retyped(dtype: str) -> Any:
    def change(array: Any) -> Any:
        with np.errstate(all="ignore"):
            return (array.real if array.dtype.kind == "c" and dtype != "c8" else array).astype(dtype)

    return change


LABELS_32 = [changed(-1, (8 << 32) + 5), changed(0, -1), retyped("u8"), retyped("i4"), retyped("f8")]
LABELS_64 = [
    changed(-1, complex(8, 0.5)), changed(0, complex(-1, 0)), changed(0, complex(2, np.nan)),
    changed(0, complex(np.nan, 0)), changed(-1, complex(1e300, 0)), retyped("c8"), retyped("f8"),
]  # fmt: skip
SCORES = [changed(3, np.nan), *map(retyped, ("f2", "i4", "i8", "?", "S4", "g"))]
FORGED = [
    *(("float32", "columns.irrelevant", change) for change in [*LABELS_32]),
    *(("float64", "columns.irrelevant", change) for change in LABELS_64),
    *((kind, "cells.irrelevant", change) for kind in ("float32", "float64") for change in SCORES),
    *(("float32", "last", change) for change in (*SCORES, lambda last: last[1:])),
    *(("float32", "sizes", changed(1, width)) for width in (2, 3, 16, -4)),
    *(("float32", "n_true", change) for change in (retyped("f8"), lambda n: n[1:])),
    *((kind, "cells.irrelevant", lambda keys: keys[:, None]) for kind in ("float32", "float64")),
]


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize(("kind", "name", "change"), FORGED)
def test_a_forged_archive_is_refused(tmp_path: Path, kind: str, name: str, change: Any, memory: Any) -> None:
    refuse_forged(tmp_path / "state.npz", kind, name, change, memory)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", ["cells.irrelevant", "columns.irrelevant", "columns.taken"])
@pytest.mark.parametrize("change", [lambda keys: keys[::-1], lambda keys: np.roll(keys, 1)])
def test_a_run_that_is_not_in_order_is_refused(tmp_path: Path, kind: str, name: str, change: Any) -> None:
    refuse_forged(tmp_path / "state.npz", kind, name, change, 1)


@pytest.mark.parametrize("memory", [1, "1GiB"])
@pytest.mark.parametrize(("name", "dtype"), [("cells", ">f4"), ("columns", ">i8"), ("last", ">f4")])
def test_bytes_in_the_other_order(tmp_path: Path, name: str, dtype: str, memory: Any) -> None:
    want = forge(tmp_path / "state.npz", "float32", name, retyped(dtype), memory)
    with contextlib.suppress(ValueError):  # it may be refused, or read
        assert bits(Evaluator.load(tmp_path / "state.npz", memory=memory).compute()) == want


def refuse_forged(path: Path, kind: str, name: str, change: Any, memory: Any) -> None:
    """Save, change what is of one name, and load: refused as damaged."""
    forge(path, kind, name, change, memory)
    with ending_within(20), pytest.raises(ValueError, match=r"state\.npz: not a saved evaluator, or damaged"):
        Evaluator.load(path, memory=memory).compute()


def forge(path: Path, kind: str, name: str, change: Any, memory: Any) -> list[Any]:
    """Save an evaluator with some arrays changed, and return what it reported before."""
    problem = Problem(15, kind, "below")
    evaluator = problem.evaluator(memory=memory)
    evaluator.update(*problem.whole())
    evaluator.save(path)
    with np.load(path) as held:
        arrays = dict(held)
    own = {key: change(array) for key, array in arrays.items() if key.startswith(f"score_runs/{name}")}
    np.savez(path, **{**arrays, **own})
    return bits(evaluator.compute())


@pytest.mark.parametrize("memory", [1, "1GiB"])
def test_every_cut_and_every_flipped_byte_is_refused_or_does_no_harm(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "state.npz"
    want = forge(path, "float32", "n_true", np.copy, memory)
    held = path.read_bytes()
    for place in range(0, len(held), 41):
        flipped = bytearray(held)
        flipped[place] ^= 0x55
        for damaged in (held[:place], flipped):
            path.write_bytes(damaged)
            message = str(path)
            with ending_within(20):
                try:
                    assert bits(Evaluator.load(path).compute()) == want
                except ValueError as error:
                    message = str(error)
            assert str(path) in message
