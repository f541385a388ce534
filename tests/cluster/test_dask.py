"""A Dask cluster gives the bytes of one machine, whatever ends its workers."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from scripts.readme import joined
from tests.cluster.data import N_LABELS, N_ROWS, make_arrays
from tests.commands import process
from xmleval import evaluate as on_one_machine

distributed = pytest.importorskip("distributed")

from distributed.cfexecutor import ClientExecutor  # noqa: E402

from tests.cluster import workers  # noqa: E402
from xmleval.dask import evaluate, evaluate_blocks  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
FEW = ["p@1", "curves"]
EVERYTHING: dict[str, Any] = {
    "metrics": ["all"],
    "confidence": 0.95,
    "bounds": True,
    "inverse_propensity": 1 + np.arange(N_LABELS) / 7,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Yield a client of two processes; the second one uses no newer processor features."""
    from dask import config
    from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

    features = " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name])
    with workers.two_workers(n_workers=1) as client:
        disabled = {"distributed.nanny.pre-spawn-environ.NPY_DISABLE_CPU_FEATURES": features}
        with config.set(disabled):
            client.cluster.scale(2)
            client.wait_for_workers(2)
        yield client


def test_evaluate_files_on_any_processor(client: Any, arrays: Any, monkeypatch: Any) -> None:
    places = itertools.cycle(client.scheduler_info()["workers"])
    submit = ClientExecutor.submit

    def submit_in_turn(self: Any, function: Any, *arguments: Any) -> Any:
        return submit(self, function, *arguments, workers=[next(places)])

    monkeypatch.setattr(ClientExecutor, "submit", submit_in_turn)
    options: dict[str, Any] = {
        "row_groups": list("abcd" * (N_ROWS // 4)),
        "sample_weight": np.random.default_rng(0).random(N_ROWS) + 0.5,
        **EVERYTHING,
    }
    report = evaluate("Y_*", "m_*", y_pred="pred_0.npz", client=client, **options)
    whole = on_one_machine(arrays["Y"], arrays["m"], y_pred=arrays["pred"], **options)
    assert report.to_json() == whole.to_json()


def make_block(truth: Any, labels: Any, scores: Any, clusters: Any) -> Any:
    return {"y_true": truth, "y_score": (labels, scores), "clusters": clusters}


def test_evaluate_blocks_counts_where_the_blocks_are(client: Any) -> None:
    arrays = make_arrays()
    truth = arrays["Y"]
    labels, scores = arrays["m"]
    clusters = np.arange(N_ROWS) % 40
    blocks = []
    for start, stop in itertools.pairwise([0, 50, 50, 130, 200]):
        rows = slice(start, stop)
        block = client.submit(make_block, truth[rows], labels[rows], scores[rows], clusters[rows])
        blocks.append(block)
    report = evaluate_blocks(blocks, **EVERYTHING)  # the client is the one that was made last
    whole = on_one_machine(truth, arrays["m"], clusters=clusters, **EVERYTHING)
    assert report.to_json() == whole.to_json()
    bad = (truth[50:130], (np.full((80, 2), 77), None))
    plain = (truth[:50], (labels[:50], None))
    with pytest.raises(ValueError, match=r"y_score: row 50: label id 77 is not in 0\.\.29"):
        evaluate_blocks([plain, bad], metrics="p@1")


@pytest.mark.parametrize(("when", "exchange"), [("after", None), ("while writing", "parts")])
def test_worker_that_is_killed_is_replaced(
    client: Any, arrays: Any, when: str, exchange: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.wrap_tasks(monkeypatch, workers.die_once, str(Path("died").absolute()), when)
    report = evaluate("Y_*", "m_*", metrics=FEW, client=client, exchange=exchange)
    whole = on_one_machine(arrays["Y"], arrays["m"], metrics=FEW)
    assert report.to_json() == whole.to_json()
    assert Path("died").exists()
    assert exchange is None or not [*Path(exchange).iterdir()]


SCHEDULER = """
import distributed, sys
if __name__ == "__main__":
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    cluster = distributed.LocalCluster(**options)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def kill(process: int, *_: Any) -> None:
    os.kill(process, signal.SIGKILL)
    workers.die()


def test_scheduler_that_is_killed_is_an_error(arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", SCHEDULER]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started: Any = subprocess.Popen(command, env=env, text=True, **pipes)
    address = started.stdout.readline().strip()
    with started, distributed.Client(address, timeout=30, set_as_default=False) as client:
        workers.wrap_tasks(monkeypatch, kill, started.pid)
        with pytest.raises(ConnectionAbortedError, match="the scheduler has ended"):
            evaluate("Y_*", "m_*", metrics=FEW, client=client)


def test_results_of_an_earlier_run_are_not_taken(client: Any, arrays: Any) -> None:
    """Its files were removed."""
    options: dict[str, Any] = {"metrics": "p@1", "exchange": "parts", "client": client}
    first = evaluate("Y_*", "m_*", **options)
    second = evaluate("Y_*", "m_*", **options)
    assert first.to_json() == second.to_json()


def test_recipe_for_an_array_of_jobs(arrays: Any) -> None:
    """The recipe of large-data: a process for each pair of shards, and a merge of their states."""
    np.save("q.npy", 1 + np.arange(N_LABELS) / 7)
    text = (ROOT / "xmleval" / "docs" / "large-data.md").read_text()
    mark = "<!-- run by tests/cluster/test_dask.py -->\n```bash\n"
    recipe = joined(text.split(mark)[1].split("```")[0])
    job, merge = [line for line in recipe.splitlines() if not line.startswith("#")]
    scores = np.zeros((N_ROWS, N_LABELS), np.float32)
    np.put_along_axis(scores, arrays["m"][0], arrays["m"][1] + 1, axis=1)
    for number, (lo, hi) in enumerate(((0, 120), (120, 200))):
        sp.save_npz(f"Y_{number}.npz", arrays["Y"][lo:hi])
        sp.save_npz(f"pred_{number}.npz", sp.csr_array(scores[lo:hi]))
    Path("states").mkdir()
    lines = ['xmleval() { "$PYTHON" -m xmleval "$@"; }']
    for number in range(2):
        lines.append(f"({job.replace('$I', str(number))} > {number}.txt) &")
    lines += ["wait", f"{merge} --format json"]
    script = "\n".join(lines)
    env = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    options: Any = {"metrics": ["p@5", "psp@5"], "inverse_propensity": np.load("q.npy")}
    whole = on_one_machine(arrays["Y"], sp.csr_array(scores), **options)
    assert done.stdout == f"{whole.to_json()}\n"


LIMITED = """
import resource
from concurrent.futures import Future
from pathlib import Path
from xmleval.cluster import cutting
from xmleval.cluster.evaluation import evaluate_on

class Serial:
    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future

def count(rows):
    files = {"y_true": f"Y_{rows}.npz", "y_score": f"m_{rows}.npy"}
    options = {"metrics": ["auc.micro", "p@1"], "memory": "16MB"}
    return evaluate_on(Serial(), files, "parts", False, options).to_json()

cutting.LEAST_BYTES = 12 << 20
count("few")
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (48 << 20), resource.RLIM_INFINITY))
print(count("all"))
bytearray(64_000_000)
"""


def test_address_space_may_be_smaller_than_the_whole_state(tmp_path: Path) -> None:
    """The keys of 16 million scores take 64 MB, and as much again while they are sorted."""
    rng = np.random.default_rng(0)
    scores = rng.random((16_000, 1000), dtype=np.float32)
    truth = sp.csr_array(rng.random(scores.shape, dtype=np.float32) < 0.002)
    for name, n_rows in (("few", 8000), ("all", 16_000)):
        np.save(tmp_path / f"m_{name}.npy", scores[:n_rows])
        sp.save_npz(tmp_path / f"Y_{name}.npz", truth[:n_rows], compressed=False)
    freed = {"MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_ARENA_MAX": "1"}
    done = process(LIMITED, python="-c", cwd=tmp_path, env=freed)
    assert done.stderr.endswith("MemoryError\n")
    whole = on_one_machine(truth, scores, metrics=["auc.micro", "p@1"])
    assert done.stdout == f"{whole.to_json()}\n"
