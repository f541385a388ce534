"""What goes wrong with a worker: the run ends with the bytes of one machine, or tells why not."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.data import make_files
from xmleval import evaluate as on_one_machine

distributed = pytest.importorskip("distributed")

from tests.cluster.workers import changed, die, die_once, first_time, two_workers  # noqa: E402
from xmleval.cluster import counting, cutting  # noqa: E402
from xmleval.cluster.evaluation import cut_files  # noqa: E402
from xmleval.dask import evaluate  # noqa: E402
from xmleval.files.output import replacing  # noqa: E402
from xmleval.integrations.dask import DaskEngine  # noqa: E402

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def other_processor() -> str:
    """Return what of this processor NumPy would use, if it is there."""
    from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

    return " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name])


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two processes, of which the second is as on an older processor."""
    from dask import config

    with two_workers(n_workers=1) as client:
        disabled = {"distributed.nanny.pre-spawn-environ.NPY_DISABLE_CPU_FEATURES": other_processor()}
        with config.set(disabled):
            client.cluster.scale(2)
            client.wait_for_workers(2)
        yield client


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Path]:
    monkeypatch.setattr(cutting, "LEAST_BYTES", 6000)
    return make_files(tmp_path), tmp_path


def _features() -> dict[str, bool]:
    from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

    return dict(umath.__cpu_features__)


def test_workers_of_other_processors(client: Any, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, folder = files
    features = [[*one.values()] for one in client.run(_features).values()]
    if features[0] == features[1]:
        pytest.skip("NumPy uses nothing of this processor that others lack")
    places, submit = itertools.cycle(client.scheduler_info()["workers"]), DaskEngine.submit

    def in_turn(self: Any, function: Any, *arguments: Any, key: str) -> Any:
        if function is not counting.count:
            return submit(self, function, *arguments, key=key)
        return self.client.submit(function, *arguments, key=f"xmleval-{key}", workers=[next(places)])

    monkeypatch.setattr(DaskEngine, "submit", in_turn)
    more: dict[str, Any] = {
        "metrics": ["all"],
        "inverse_propensity": 1 + np.arange(30) / 7,
        "confidence": 0.95,
    }
    found = evaluate(folder / "Y_*", folder / "m_*", y_pred=folder / "pred_0.npz", client=client, **more)
    whole = on_one_machine(arrays["Y"], arrays["m"], y_pred=arrays["pred"], **more)
    assert found.to_json() == whole.to_json()


def _take_small_numbers_for_0(does: bool) -> str:
    """Let the processor do so in this thread, as libraries do for speed, or end it; return the smallest."""
    libm, flags = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()
    libm.fegetenv(flags)
    flags[7] = flags[7] | 0x8040 if does else flags[7] & ~0x8040  # of x86
    libm.fesetenv(flags)
    return str(math.ulp(0.0) * 1.0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have other flags")
def test_workers_that_take_small_numbers_for_0_are_refused(client: Any, files: Any) -> None:
    folder = files[1]

    def on_all(does: bool) -> list[str]:
        places = client.scheduler_info()["workers"]
        found = [client.submit(_take_small_numbers_for_0, does, workers=[one], pure=False) for one in places]
        return client.gather(found)  # type: ignore[no-any-return]

    assert on_all(True) == ["0.0", "0.0"]
    told = r"workers: smallest positive number differs: 5e-324 at the client, 0\.0 at a worker; the same is"
    with pytest.raises(ValueError, match=told):
        evaluate(folder / "Y_*", folder / "m_*", metrics="p@1", client=client)
    assert on_all(False) == ["5e-324", "5e-324"]


def _die_while_putting(path: str, function: Any, *arguments: Any) -> Any:
    here: Any = counting
    save = here.save_state

    def put(where: Path, *contents: Any) -> None:
        if first_time(path):
            with replacing(where) as file:
                file.write(b"PK")
                file.flush()
                die()
        save(where, *contents)

    here.save_state = put
    try:
        return function(*arguments)
    finally:
        here.save_state = save


@pytest.mark.parametrize("lost", [(_die_while_putting,), (die_once, "after")])
def test_a_worker_that_is_killed_while_it_puts_a_part_or_then(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch, lost: tuple[Any, ...]
) -> None:
    """What was put is put again, when the task is done a second time."""
    arrays, folder = files
    before = {*client.run(os.getpid).values()}
    changed(monkeypatch, lost[0], str(folder / "died"), *lost[1:])
    more: dict[str, Any] = {"metrics": ["p@1", "curves"]}
    found = evaluate(folder / "Y_*", folder / "m_*", client=client, exchange=folder / "parts", **more)
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **more).to_json()
    assert (folder / "died").exists()
    assert not [*(folder / "parts").iterdir()]
    client.wait_for_workers(2)
    assert len(before & {*client.run(os.getpid).values()}) == 1


def _count_and_kill(folder: str, killed: str, process: int, function: Any, *arguments: Any) -> Any:
    """Note that a task runs; end a process when three have put their parts, a scheduler with its worker."""
    Path(folder, f"{arguments[1].key}.{os.urandom(4).hex()}").touch()
    result = function(*arguments)
    if killed and len([*Path(folder).iterdir()]) >= 3:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        if killed == "scheduler":
            die()
        time.sleep(0.2)  # until the scheduler knows of it
    return result


def _n_running(dask_worker: Any) -> int:
    return len(dask_worker.state.all_running_tasks)


def process_of(script: str) -> Any:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True)


SCHEDULER = """
import distributed, time
if __name__ == "__main__":
    where = {"dashboard_address": "127.0.0.1:0"}
    print(distributed.LocalCluster(n_workers=1, threads_per_worker=1, **where).scheduler_address, flush=True)
    time.sleep(60)
"""
CLIENT = """
import os
import pytest
from distributed import Client
from tests.cluster.test_faults import _count_and_kill, changed, cutting, evaluate

cutting.LEAST_BYTES = 500
changed(pytest.MonkeyPatch(), _count_and_kill, os.path.abspath("counted"), "client", os.getpid())
evaluate("Y_*", "m_*", metrics=["p@1", "curves"], exchange="parts", client=Client({address!r}))
"""


@pytest.mark.parametrize("killed", ["scheduler", "client"])
def test_a_scheduler_or_a_client_that_is_killed(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Only those tasks are done again whose parts are not there."""
    arrays, folder = files
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cutting, "LEAST_BYTES", 500)
    more: dict[str, Any] = {"metrics": ["p@1", "curves"]}
    keys = {task.key for task in cut_files({"y_true": "Y_*", "y_score": "m_*"}, **more)[1]}
    for name in ("counted", "again"):
        Path(name).mkdir()
    if killed == "client":
        with process_of(CLIENT.format(address=client.scheduler.address)) as other:
            pass
        while any(client.processing().values()) or any(client.run(_n_running).values()):
            time.sleep(0.02)
    else:
        with (
            process_of(SCHEDULER) as other,
            distributed.Client(other.stdout.readline().strip(), timeout=5, set_as_default=False) as lost,
            monkeypatch.context() as patch,
        ):
            changed(patch, _count_and_kill, str(folder / "counted"), killed, other.pid)
            with pytest.raises(ConnectionAbortedError, match="the scheduler has ended"):
                evaluate("Y_*", "m_*", exchange="parts", client=lost, **more)
    assert other.returncode == -signal.SIGKILL
    there = {path.stem for path in Path("parts").rglob("*.npz")}
    assert 2 <= len(there & keys) < len(keys)
    changed(monkeypatch, _count_and_kill, str(folder / "again"), "", 0)
    found = evaluate("Y_*", "m_*", exchange="parts", resume=True, client=client, **more)
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **more).to_json()
    assert sorted(path.stem for path in Path("again").iterdir()) == sorted(keys - there)


def _fill_disk() -> None:
    system: Any = os

    def write(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    system.real_pwrite, system.pwrite = os.pwrite, write


def _empty_disk() -> None:
    system: Any = os
    system.pwrite = system.real_pwrite


def test_a_full_disk_fails_the_task_and_not_the_worker(client: Any, files: Any) -> None:
    arrays, folder = files
    before = {*client.run(os.getpid).values()}
    more: dict[str, Any] = {"metrics": ["auc.micro"]}
    client.run(_fill_disk)
    told = r"No space left on device.* were spilled"
    with pytest.raises(OSError, match=told) as caught:
        evaluate(folder / "Y_*", folder / "m_*", client=client, memory=1, **more)
    assert caught.value.errno == errno.ENOSPC
    client.run(_empty_disk)
    found = evaluate(folder / "Y_*", folder / "m_*", client=client, memory=1, **more)
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **more).to_json()
    assert {*client.run(os.getpid).values()} == before


def _spill_all(dask_worker: Any, most_bytes: float, file_bytes: int) -> tuple[float, bool, int]:
    """Let Dask spill results from so many bytes on, to files of so many.

    Returns the bytes before, whether anything was spilled since the start, and how many bytes are there.
    """
    data = dask_worker.data
    before, data.n = data.n, most_bytes
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))
    return before, ("disk-write", "seconds") in data.cumulative_metrics, data.spilled_total.disk


def test_results_that_dask_finds_no_room_to_spill_stay_in_memory(client: Any, files: Any) -> None:
    arrays, folder = files
    more: dict[str, Any] = {"metrics": ["auc.micro", "f1.macro@1"]}
    before = max(client.run(_spill_all, most_bytes=1, file_bytes=0).values())[0]
    try:
        found = evaluate(folder / "Y_*", folder / "m_*", client=client, **more)
    finally:
        told = client.run(_spill_all, most_bytes=before, file_bytes=resource.RLIM_INFINITY)
    assert {(tried, n_bytes) for _, tried, n_bytes in told.values()} == {(True, 0)}
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **more).to_json()


def test_what_another_run_still_holds_is_not_taken(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its results are files that it has removed."""
    folder, held, submit = files[1], [], DaskEngine.submit

    def holding(*arguments: Any, **more: Any) -> Any:
        held.append(submit(*arguments, **more))
        return held[-1]

    monkeypatch.setattr(DaskEngine, "submit", holding)
    paths: dict[str, Any] = {"truth": folder / "Y_*", "scores": folder / "m_*", "client": client}
    first, second = (evaluate(**paths, metrics="p@1", exchange=folder / "parts") for _ in range(2))
    assert first.to_json() == second.to_json()


@pytest.fixture
def large(tmp_path: Path) -> tuple[Any, Any]:
    """A truth and 16 million scores, whose keys are 64 MB, and as much again while they are sorted."""
    rng = np.random.default_rng(0)
    scores = rng.random((16_000, 1000), dtype=np.float32)
    truth = sp.csr_array(rng.random(scores.shape, dtype=np.float32) < 0.002)
    for name, n in (("few", 100), ("all", len(scores))):
        np.save(tmp_path / f"m_{name}.npy", scores[:n])
        sp.save_npz(tmp_path / f"Y_{name}.npz", truth[:n], compressed=False)
    return truth, scores


LIMITED = """
import resource
from pathlib import Path
from xmleval.cluster import cutting
from xmleval.cluster.evaluation import cut_files, evaluate_files
from xmleval.cluster.run import SerialEngine

def counted(rows):
    files = {"y_true": f"Y_{rows}.npz", "y_score": f"m_{rows}.npy"}
    own = cut_files(files, metrics=["auc.micro", "p@1"], memory="4MiB")
    return evaluate_files(SerialEngine(), *own, "parts").to_json()

cutting.LEAST_BYTES = 12 << 20
counted("few")
own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (own + (32 << 20), resource.RLIM_INFINITY))
print(counted("all"))
bytearray(64_000_000)
"""


def test_address_space_below_the_whole_state(tmp_path: Path, large: tuple[Any, Any]) -> None:
    freed = {
        "MALLOC_MMAP_THRESHOLD_": "1048576",
        "MALLOC_ARENA_MAX": "1",
    }  # keep none
    env = {**os.environ, **freed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stderr.endswith("MemoryError\n")
    assert done.stdout == f"{on_one_machine(*large, metrics=['auc.micro', 'p@1']).to_json()}\n"


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_memory_below_the_whole_state(
    client: Any, tmp_path: Path, large: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "LEAST_BYTES", 12 << 20)
    more: dict[str, Any] = {"metrics": ["auc.micro", "p@1"], "client": client, "exchange": tmp_path / "parts"}
    evaluate(tmp_path / "Y_few.npz", tmp_path / "m_few.npy", memory="4MiB", **more)
    before = client.run(_peak_bytes)
    found = evaluate(tmp_path / "Y_all.npz", tmp_path / "m_all.npy", memory="4MiB", **more)
    growth = [peak - before[worker] for worker, peak in client.run(_peak_bytes).items()]
    assert found.to_json() == on_one_machine(*large, metrics=more["metrics"]).to_json()
    assert max(growth) < 32 << 20
