"""A Dask cluster gives the bytes of one machine, whatever ends its workers, or says why not."""

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
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.cluster.data import N_LABELS, N_ROWS, make_arrays, make_files
from xmleval import evaluate as on_one_machine

distributed = pytest.importorskip("distributed")

from tests.cluster.workers import die, die_once, two_workers, wrap_tasks  # noqa: E402
from xmleval.cluster import counting, cutting  # noqa: E402
from xmleval.cluster.evaluation import cut_files  # noqa: E402
from xmleval.cluster.job import THREADS, opened  # noqa: E402
from xmleval.dask import evaluate, evaluate_blocks  # noqa: E402
from xmleval.integrations.dask import DaskEngine, _with_threads  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
EVERYTHING: dict[str, Any] = {
    "metrics": ["all"],
    "inverse_propensity": 1 + np.arange(N_LABELS) / 7,
    "confidence": 0.95,
    "bounds": True,
}
FEW = ["p@1", "curves"]  # which go by the tree and by ranges of labels


def other_processor() -> str:
    """Return what of this processor NumPy uses, if it is there."""
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


def processes_of(client: Any) -> set[int]:
    client.wait_for_workers(2, timeout=60)
    return {*client.run(os.getpid).values()}


@pytest.mark.parametrize("weighted", [False, True])
def test_files_give_every_measure_on_any_processor(
    client: Any, arrays: Any, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    places, submit = itertools.cycle(client.scheduler_info()["workers"]), DaskEngine.submit

    def submit_in_turn(self: Any, function: Any, *arguments: Any, key: str) -> Any:
        if function is not counting.count:
            return submit(self, function, *arguments, key=key)
        return self.client.submit(function, *arguments, key=f"xmleval-{key}", workers=[next(places)])

    monkeypatch.setattr(DaskEngine, "submit", submit_in_turn)
    options: dict[str, Any] = {"row_groups": list("abcd" * (N_ROWS // 4)), **EVERYTHING}
    options["sample_weight"] = np.random.default_rng(0).random(N_ROWS) + 0.5 if weighted else None
    report = evaluate("Y_*", "m_*", y_pred="pred_0.npz", client=client, **options)
    whole = on_one_machine(arrays["Y"], arrays["m"], y_pred=arrays["pred"], **options)
    assert report.to_json() == whole.to_json()


def make_block(truth: Any, labels: Any, scores: Any, clusters: Any) -> Any:
    return {"y_true": truth, "y_score": (labels, scores), "clusters": clusters}


def test_blocks_that_workers_hold_are_counted_there(client: Any) -> None:
    arrays, of_rows = make_arrays(), np.arange(N_ROWS) % 40
    labels, scores = arrays["m"]
    blocks = [
        client.submit(make_block, arrays["Y"][lo:hi], labels[lo:hi], scores[lo:hi], of_rows[lo:hi])
        for lo, hi in itertools.pairwise([0, 50, 50, 130, 200])
    ]
    report = evaluate_blocks(blocks, **EVERYTHING)  # the client is the one that was made last
    assert (
        report.to_json() == on_one_machine(arrays["Y"], arrays["m"], clusters=of_rows, **EVERYTHING).to_json()
    )
    bad = (arrays["Y"][50:130], (np.full((80, 2), 77), None))
    plain = (arrays["Y"][:50], (labels[:50], None))
    with pytest.raises(ValueError, match=r"y_score: row 50: label id 77 is not in 0\.\.29"):
        evaluate_blocks([plain, bad], metrics="p@1")


@pytest.mark.parametrize("exchange", [None, "parts"])
def test_scores_of_every_label_and_label_sets_go_by_ranges(
    client: Any, arrays: Any, exchange: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, ran = DaskEngine.submit, list[str]()

    def submit_noted(self: Any, function: Any, *arguments: Any, key: str) -> Any:
        ran.append(function.__name__)
        return submit(self, function, *arguments, key=key)

    monkeypatch.setattr(DaskEngine, "submit", submit_noted)
    monkeypatch.setattr(cutting, "FAN_IN", 2)
    metrics = ["auc.macro", "recall_at_precision.macro(p=0.5)", "auc.micro", "f1.macro@3", "label_diversity"]
    report = evaluate("Y_*", "m_*", metrics=metrics, client=client, exchange=exchange)
    assert report.to_json() == on_one_machine(arrays["Y"], arrays["m"], metrics=metrics).to_json()
    assert ran.count("merge_range") >= 2


def note_threads(folder: str, function: Any, job: Any, task: Any, *arguments: Any) -> Any:
    Path(folder, f"{task.start}.threads").write_text(str(opened(job).threads))
    return function(job, task, *arguments)


def test_tasks_share_the_threads_of_their_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path)  # so small that there is one task
    wrap_tasks(monkeypatch, note_threads, str(tmp_path))
    options: dict[str, Any] = {"processes": False, "n_workers": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.Client(threads_per_worker=2, set_as_default=False, **options) as client:
        for threads, expected in ((None, "2"), (1, "1")):
            evaluate(tmp_path / "Y_*", tmp_path / "m_*", metrics="p@1", client=client, threads=threads)
            assert [path.read_text() for path in tmp_path.glob("*.threads")] == [expected]
    state = SimpleNamespace(nthreads=8, executing_count=3)
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(state=state))
    assert copy_context().run(_with_threads, THREADS.get) == 2


def flush_subnormals(does: bool) -> float:
    """Let this thread take the smallest numbers for 0, as libraries do for speed, or no longer."""
    libm, flags = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()
    libm.fegetenv(flags)
    flags[7] = flags[7] | 0x8040 if does else flags[7] & ~0x8040  # of x86
    libm.fesetenv(flags)
    return math.ulp(0.0) * 1.0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have other flags")
def test_workers_that_flush_subnormals_are_refused(client: Any, arrays: Any) -> None:
    def on_all(does: bool) -> Any:
        places = client.scheduler_info()["workers"]
        return client.gather([client.submit(flush_subnormals, does, workers=[w], pure=False) for w in places])

    assert on_all(True) == [0, 0]
    message = r"workers: smallest positive number differs: 5e-324 at the client, 0\.0 at a worker"
    with pytest.raises(ValueError, match=message):
        evaluate("Y_*", "m_*", metrics="p@1", client=client)
    assert on_all(False) == [5e-324, 5e-324]


@pytest.mark.parametrize(
    ("when", "exchange"),
    [("before", None), ("after", None), ("while writing", "parts"), ("after", "parts")],
)
def test_worker_that_is_killed_is_replaced(
    client: Any, arrays: Any, when: str, exchange: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = processes_of(client)
    wrap_tasks(monkeypatch, die_once, str(Path("died").absolute()), when)
    report = evaluate("Y_*", "m_*", metrics=FEW, client=client, exchange=exchange)
    assert report.to_json() == on_one_machine(arrays["Y"], arrays["m"], metrics=FEW).to_json()
    assert Path("died").exists()
    assert exchange is None or not [*Path(exchange).iterdir()]
    assert len(before & processes_of(client)) == 1


def test_worker_that_is_killed_while_it_holds_results(
    client: Any, arrays: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    completed, killed = DaskEngine.completed, list[list[str]]()

    def kill_first(self: Any, handles: Any) -> Any:
        if not killed:
            distributed.wait(handles)
            holders = client.who_has(handles)
            address = next(places[0] for places in holders.values() if places)
            killed.append([key for key, places in holders.items() if address in places])
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        return completed(self, handles)

    monkeypatch.setattr(DaskEngine, "completed", kill_first)
    report = evaluate("Y_*", "m_*", metrics=FEW, client=client)
    assert killed[0]
    assert report.to_json() == on_one_machine(arrays["Y"], arrays["m"], metrics=FEW).to_json()


def count_and_kill(folder: str, killed: str, process: int, function: Any, *arguments: Any) -> Any:
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
from tests.cluster.test_dask import FEW, count_and_kill, cutting, evaluate, wrap_tasks

cutting.LEAST_BYTES = 500
wrap_tasks(pytest.MonkeyPatch(), count_and_kill, os.path.abspath("counted"), "client", os.getpid())
evaluate("Y_*", "m_*", metrics=FEW, exchange="parts", client=Client({address!r}))
"""


def run_script(script: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    )


def running(dask_worker: Any) -> int:
    return len(dask_worker.state.all_running_tasks)


@pytest.mark.parametrize("killed", ["scheduler", "client"])
def test_run_goes_on_after_its_scheduler_or_client_was_killed(
    client: Any, arrays: Any, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Only those tasks are done again whose parts are not there."""
    monkeypatch.setattr(cutting, "LEAST_BYTES", 500)
    keys = {task.key for task in cut_files({"y_true": "Y_*", "y_score": "m_*"}, metrics=FEW)[1]}
    folders = [Path(name).absolute() for name in ("counted", "again")]
    for folder in folders:
        folder.mkdir()
    options: dict[str, Any] = {"metrics": FEW, "exchange": "parts"}
    if killed == "client":
        with run_script(CLIENT.format(address=client.scheduler.address)) as process:
            pass
        while any(client.processing().values()) or any(client.run(running).values()):
            time.sleep(0.02)
    else:
        with (
            run_script(SCHEDULER) as process,
            distributed.Client(process.stdout.readline().strip(), timeout=5, set_as_default=False) as lost,
            monkeypatch.context() as patch,
        ):
            wrap_tasks(patch, count_and_kill, str(folders[0]), killed, process.pid)
            with pytest.raises(ConnectionAbortedError, match="the scheduler has ended"):
                evaluate("Y_*", "m_*", client=lost, **options)
    assert process.returncode == -signal.SIGKILL
    stored = {path.stem for path in Path("parts").rglob("*.npz")}
    assert 2 <= len(stored & keys) < len(keys)
    wrap_tasks(monkeypatch, count_and_kill, str(folders[1]), "", 0)
    report = evaluate("Y_*", "m_*", resume=True, client=client, **options)
    assert report.to_json() == on_one_machine(arrays["Y"], arrays["m"], metrics=FEW).to_json()
    assert sorted(path.stem for path in folders[1].iterdir()) == sorted(keys - stored)


def fill_disk() -> None:
    system: Any = os

    def write(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    system.whole_pwrite, system.pwrite = os.pwrite, write


def empty_disk() -> None:
    system: Any = os
    system.pwrite = system.whole_pwrite


def test_full_disk_fails_the_task_and_not_the_worker(client: Any, arrays: Any) -> None:
    before = processes_of(client)
    options: dict[str, Any] = {"metrics": ["auc.micro"], "client": client, "memory": 1}
    client.run(fill_disk)
    with pytest.raises(OSError, match=r"No space left on device.* were spilled") as caught:
        evaluate("Y_*", "m_*", **options)
    assert caught.value.errno == errno.ENOSPC
    client.run(empty_disk)
    whole = on_one_machine(arrays["Y"], arrays["m"], metrics=["auc.micro"])
    assert evaluate("Y_*", "m_*", **options).to_json() == whole.to_json()
    assert processes_of(client) == before


def spill_all(dask_worker: Any, most_bytes: float, file_bytes: int) -> tuple[float, bool, int]:
    """Let Dask spill results from so many bytes on, to files of so many.

    Returns the bytes before, whether anything was spilled since the start, and how many bytes are on disk.
    """
    data = dask_worker.data
    before, data.n = data.n, most_bytes
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))
    return before, ("disk-write", "seconds") in data.cumulative_metrics, data.spilled_total.disk


def test_results_that_dask_has_no_space_to_spill_stay_in_memory(client: Any, arrays: Any) -> None:
    before = max(client.run(spill_all, most_bytes=1, file_bytes=0).values())[0]
    try:
        report = evaluate("Y_*", "m_*", metrics=FEW, client=client)
    finally:
        outcomes = client.run(spill_all, most_bytes=before, file_bytes=resource.RLIM_INFINITY)
    assert {(tried, n_bytes) for _, tried, n_bytes in outcomes.values()} == {(True, 0)}
    assert report.to_json() == on_one_machine(arrays["Y"], arrays["m"], metrics=FEW).to_json()


def test_results_of_an_earlier_run_are_not_taken(
    client: Any, arrays: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are files that it has removed."""
    held, submit = [], DaskEngine.submit

    def submit_and_hold(*arguments: Any, **options: Any) -> Any:
        held.append(submit(*arguments, **options))
        return held[-1]

    monkeypatch.setattr(DaskEngine, "submit", submit_and_hold)
    reports = [evaluate("Y_*", "m_*", metrics="p@1", exchange="parts", client=client) for _ in range(2)]
    assert reports[0].to_json() == reports[1].to_json()


@pytest.mark.parametrize("workers", ["--scheduler", "--workers 2"])
def test_commands_give_what_one_process_gives(
    client: Any, arrays: Any, run: Callable[..., str], refused: Callable[..., str], workers: str
) -> None:
    where = f"--scheduler {client.scheduler.address}" if workers == "--scheduler" else workers
    line = "evaluate Y_* m_* --metrics p@1,psp@3,f1.macro,auc.micro --pred pred_0.npz --train Y_0.npz"
    line += " --row-groups groups.txt --confidence 0.9 --first-row 7 --format json"
    assert run(f"{line} {where}") == run(line)
    line = "evaluate Y_* m_* --metrics p@1,f1.micro@2 --exclude pairs.txt --candidates c_* --format json"
    whole = run(f"{line} --clusters groups.txt --confidence 0.95 --save one.state --per-row one.csv")
    line += " --clusters groups.txt --confidence 0.95 --save two.state --per-row two.csv"
    assert run(f"{line} {where}") == whole
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    assert run("merge two.state --format json") == run("merge one.state --format json")
    assert "are counted already" in refused("merge one.state two.state")
    labels = np.load("m_1_indices.npy")
    labels[7, 0] = 99
    np.save("m_1_indices.npy", labels)
    message = refused(f"evaluate Y_* m_* {where}")
    assert message.startswith("m_1_indices.npy: row 7: label id 99")
    assert refused("evaluate Y_* m_*") == f"{message}; Y_* has 30 labels"


def test_recipe_for_an_array_of_jobs(arrays: Any) -> None:
    """Shards that belong together, each in a process, and their states merged."""
    np.save("q.npy", 1 + np.arange(N_LABELS) / 7)
    text = (ROOT / "xmleval" / "cluster" / "README.md").read_text()
    recipe = text.split("```bash\n")[1].split("```")[0]
    one, last = [line for line in recipe.splitlines() if not line.startswith("#")]
    scores = np.zeros((N_ROWS, N_LABELS), np.float32)
    np.put_along_axis(scores, arrays["m"][0], arrays["m"][1] + 1, axis=1)
    for number, (lo, hi) in enumerate(((0, 120), (120, 200))):
        sp.save_npz(f"Y_{number}.npz", arrays["Y"][lo:hi])
        sp.save_npz(f"pred_{number}.npz", sp.csr_array(scores[lo:hi]))
    Path("states").mkdir()
    jobs = [f"({one.replace('$I', str(number))} > {number}.txt) &" for number in range(2)]
    script = "\n".join(['xmleval() { "$PYTHON" -m xmleval "$@"; }', *jobs, "wait", f"{last} --format json"])
    env = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    options: Any = {"metrics": ["p@5", "psp@5"], "inverse_propensity": np.load("q.npy")}
    whole = on_one_machine(arrays["Y"], sp.csr_array(scores), **options)
    assert done.stdout == f"{whole.to_json()}\n"


LIMITED = """
import resource
from pathlib import Path
from xmleval.cluster import cutting
from xmleval.cluster.evaluation import cut_files, evaluate_files
from xmleval.cluster.run import SerialEngine

def count(rows):
    files = {"y_true": f"Y_{rows}.npz", "y_score": f"m_{rows}.npy"}
    own = cut_files(files, metrics=["auc.micro", "p@1"], memory="4MiB")
    return evaluate_files(SerialEngine(), *own, "parts").to_json()

cutting.LEAST_BYTES = 12 << 20
count("few")
own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (own + (32 << 20), resource.RLIM_INFINITY))
print(count("all"))
bytearray(64_000_000)
"""


def test_address_space_may_be_smaller_than_the_whole_state(tmp_path: Path) -> None:
    """Of 16 million scores, whose keys are 64 MB, and as much again while they are sorted."""
    rng = np.random.default_rng(0)
    scores = rng.random((16_000, 1000), dtype=np.float32)
    truth = sp.csr_array(rng.random(scores.shape, dtype=np.float32) < 0.002)
    for name, n in (("few", 100), ("all", len(scores))):
        np.save(tmp_path / f"m_{name}.npy", scores[:n])
        sp.save_npz(tmp_path / f"Y_{name}.npz", truth[:n], compressed=False)
    freed = {"MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_ARENA_MAX": "1"}
    env = {**os.environ, **freed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stderr.endswith("MemoryError\n")
    assert done.stdout == f"{on_one_machine(truth, scores, metrics=['auc.micro', 'p@1']).to_json()}\n"
