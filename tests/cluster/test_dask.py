"""A Dask cluster of two processes: the bytes of one machine, whatever ends its workers."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
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
from xmleval import inverse_propensity, label_groups
from xmleval.metrics import TABLE

pytest.importorskip("distributed")

from tests.cluster.workers import changed, die_once, two_workers
from xmleval.cluster import counting, cutting
from xmleval.cluster.job import THREADS, opened
from xmleval.dask import evaluate, evaluate_blocks
from xmleval.integrations.dask import DaskEngine, _with_threads

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
EVERYTHING: dict[str, Any] = {
    "metrics": ["all"],
    "inverse_propensity": 1 + np.arange(N_LABELS) / 7,
    "confidence": 0.95,
    "bounds": True,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with two_workers() as client:
        yield client


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Path]:
    monkeypatch.setattr(cutting, "LEAST_BYTES", 6000)
    return make_files(tmp_path), tmp_path


def test_files_of_every_measure(client: Any, files: Any) -> None:
    arrays, folder = files
    weight = np.random.default_rng(0).random(N_ROWS) + 0.5
    more: dict[str, Any] = {"row_groups": list("abcd" * (N_ROWS // 4)), **EVERYTHING}
    paths = {"scores": folder / "m_*_indices.npy", "y_pred": folder / "pred_0.npz"}
    for weights in (None, weight):
        found = evaluate(folder / "Y_*", **paths, sample_weight=weights, client=client, **more)
        whole = on_one_machine(arrays["Y"], arrays["m"], y_pred=arrays["pred"], sample_weight=weights, **more)
        assert found.to_json() == whole.to_json()


def test_blocks_that_workers_hold(client: Any) -> None:
    arrays = make_arrays()
    labels, scores = arrays["m"]
    ends = [0, 50, 50, 130, 200]
    made = [
        client.submit(_block, arrays["Y"][lo:hi], labels[lo:hi], scores[lo:hi])
        for lo, hi in itertools.pairwise(ends)
    ]
    found = evaluate_blocks(made, **EVERYTHING)  # the client is the one that was made last
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **EVERYTHING).to_json()
    bad = [*made[:2], (arrays["Y"][50:130], (np.full((80, 2), 77), None))]
    with pytest.raises(ValueError, match=r"y_score: row 50: label id 77 is not in 0\.\.29"):
        evaluate_blocks(bad, metrics="p@1")
    with pytest.raises(ValueError, match=r"blocks: int is not \(y_true, y_score\)"):
        evaluate_blocks([3], metrics="p@1")


def test_measures_with_inputs_of_their_own(client: Any) -> None:
    rng = np.random.default_rng(5)
    grades = sp.csr_array((rng.random((N_ROWS, N_LABELS)) < 0.1) * rng.integers(1, 4, (N_ROWS, N_LABELS)))
    scores = rng.random(grades.shape).round(2).astype(np.float32)
    child = np.arange(1, N_LABELS)
    named = [
        "fbeta.macro(beta=2)", "tail_share(count=9)", "recall_at_precision.micro(p=0.5)", "brier", "log_loss",
        "precision_at_recall.macro(r=0.5)", "fpr_at_tpr.micro(tpr=0.9)", "risk(coverage=0.8)@1", "ace@3",
        "limited_log_loss(limit=100)", "ece@3", "ece_over@3", "ece_under@3",
    ]  # fmt: skip
    more: dict[str, Any] = {
        "metrics": ["all", *named],
        "inverse_propensity": inverse_propensity(label_counts=np.arange(N_LABELS), n_instances=N_LABELS),
        "gains": "linear",
        "hierarchy": sp.csr_array((np.ones(N_LABELS - 1), (child, child // 2)), shape=(N_LABELS, N_LABELS)),
        "decision": "top3",
        "confidence": 0.95,
        "label_groups": label_groups(label_counts=np.arange(N_LABELS)),
    }
    ends = [0, 90, 91, N_ROWS]
    of_rows = rng.integers(0, 40, N_ROWS)
    blocks = [
        client.submit(_with_clusters, grades[lo:hi], scores[lo:hi], of_rows[lo:hi])
        for lo, hi in itertools.pairwise(ends)
    ]
    whole = on_one_machine(grades, scores, clusters=of_rows, **more)
    assert {spec.metric.name for spec in whole.specs} == {metric.name for metric in TABLE}
    assert evaluate_blocks(blocks, **more).to_json() == whole.to_json()


def _with_clusters(truth: Any, scores: Any, clusters: Any) -> Any:
    return {"y_true": truth, "y_score": scores, "clusters": clusters}


def _note_threads(folder: str, function: Any, job: Any, task: Any, *more: Any) -> Any:
    Path(folder, f"{task.start}.threads").write_text(str(opened(job).threads))
    return function(job, task, *more)


def test_scores_of_every_label_and_label_sets_go_by_ranges(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, folder = files
    metrics = ["auc.macro", "ap.weighted", "recall_at_precision.macro(p=0.5)", "auc.micro", "f1.macro@3"]
    metrics.append("label_diversity")
    submit, ran = DaskEngine.submit, list[str]()

    def noted(self: Any, function: Any, *arguments: Any, key: str) -> Any:
        ran.append(function.__name__)
        return submit(self, function, *arguments, key=key)

    monkeypatch.setattr(DaskEngine, "submit", noted)
    monkeypatch.setattr(cutting, "FAN_IN", 2)
    monkeypatch.setattr(cutting, "LEAST_BYTES", 1000)
    paths = {"truth": folder / "Y_*", "scores": folder / "m_*_indices.npy"}
    wanted = on_one_machine(arrays["Y"], arrays["m"], metrics=metrics).to_json()
    for exchange in (None, folder / "run"):
        assert evaluate(**paths, metrics=metrics, client=client, exchange=exchange).to_json() == wanted
    assert ran.count("merge_range") >= 2


def test_tasks_share_the_threads_of_their_worker(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    folder = files[1]
    changed(monkeypatch, _note_threads, str(folder))
    kwargs: dict[str, Any] = {"processes": False, "n_workers": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.Client(threads_per_worker=2, set_as_default=False, **kwargs) as other:
        for least, threads, wanted in ((1 << 20, None, {"2"}), (1 << 20, 1, {"1"}), (6000, None, {"1", "2"})):
            monkeypatch.setattr(cutting, "LEAST_BYTES", least)
            evaluate(folder / "Y_*", folder / "m_*", metrics="p@1", client=other, threads=threads)
            found = [path.read_text() for path in folder.glob("*.threads")]
            assert {*found} <= wanted
            assert len(found) == 1 or least == 6000
    state = SimpleNamespace(nthreads=8, executing_count=3)
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(state=state))
    assert copy_context().run(_with_threads, THREADS.get) == 2


def _block(truth: Any, labels: Any, scores: Any) -> Any:
    return truth, (labels, scores)


def test_the_lowest_bad_row_is_told(client: Any, files: Any) -> None:
    folder = files[1]
    for number in (1, 3):
        labels = np.load(folder / f"m_{number}_indices.npy")
        labels[7, 0] = 99
        np.save(folder / f"m_{number}_indices.npy", labels)
    with pytest.raises(ValueError, match=r"m_1_indices\.npy: row 7: label id 99"):
        evaluate(folder / "Y_*", folder / "m_*_indices.npy", metrics="p@1", client=client)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_is_killed(client: Any, files: Any, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, folder = files
    changed(monkeypatch, die_once, str(folder / "died"), when)
    more: dict[str, Any] = {"metrics": ["auc.micro", "p@1", f"ndcg@{2 + (when == 'after')}"]}
    found = evaluate(folder / "Y_*", folder / "m_*_indices.npy", client=client, **more)
    assert (folder / "died").exists()
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **more).to_json()


def test_a_worker_that_is_killed_while_it_holds_results(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    arrays, folder = files
    completed = DaskEngine.completed
    killed: list[list[str]] = []

    def kill_first(self: Any, handles: Any) -> Any:
        if not killed:
            distributed.wait(handles)
            holders = client.who_has(handles)
            address = next(own[0] for own in holders.values() if own)
            killed.append([key for key, own in holders.items() if address in own])
            os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        return completed(self, handles)

    monkeypatch.setattr(DaskEngine, "completed", kill_first)
    more: dict[str, Any] = {"metrics": ["auc.macro", "p@1", "lrap"]}
    found = evaluate(folder / "Y_*", folder / "m_*_indices.npy", client=client, **more)
    assert killed[0]
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], **more).to_json()


OPTIONS = "--metrics p@1,psp@3,f1.macro,auc.micro --pred pred_0.npz --train Y_0.npz --format json"


def test_the_command_line(
    client: Any,
    files: Any,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., str],
    refused: Callable[..., str],
) -> None:
    monkeypatch.chdir(files[1])
    there = f"--scheduler {client.scheduler.address}"
    line = f"evaluate Y_* m_* {OPTIONS} --row-groups groups.txt"
    assert run(f"{line} {there}") == run(line)
    line = "evaluate Y_* m_* --metrics p@1,f1.micro@2 --exclude pairs.txt --candidates c_* --format json"
    line += " --confidence 0.95 --clusters groups.txt"
    whole = run(f"{line} --save one.state --per-row one.csv")
    assert run(f"{line} {there} --save two.state --per-row two.csv") == whole
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    assert run("merge two.state --format json") == run("merge one.state --format json")
    assert "are counted already" in refused("merge one.state two.state")
    labels = np.load("m_1_indices.npy")
    labels[7, 0] = 99
    np.save("m_1_indices.npy", labels)
    told = refused(f"evaluate Y_* m_* {there}")
    assert refused("evaluate Y_* m_*") == f"{told}; Y_* has 30 labels"


def test_processes_of_this_machine(
    files: Any, monkeypatch: pytest.MonkeyPatch, run: Callable[..., str]
) -> None:
    monkeypatch.chdir(files[1])
    Path("labels.txt").write_text("".join(f"l{label % 2}\n" for label in range(N_LABELS)))
    measures = "p,psp,ndcg@all,f1.macro,f1.micro@5,auc.micro,auc.macro,lrap,ece@3"
    line = f"evaluate Y_* m_* --metrics {measures} --pred pred_0.npz --train Y_0.npz --link sigmoid"
    line += " --label-groups labels.txt --row-groups groups.txt --clusters groups.txt --confidence 0.9"
    line += " --format json"
    assert run(f"{line} --workers 2") == run(line)


KILLED = """
import os, signal, sys
from distributed import Client
from xmleval.cluster import counting, cutting
from xmleval.dask import evaluate
from xmleval.files.output import replacing

def put(path, *contents):
    if len(os.listdir(path.parent)) == 3:  # of the third part, something is written
        with replacing(path) as file:
            file.write(b"PK")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    save(path, *contents)

save, counting.save_state = counting.save_state, put
cutting.LEAST_BYTES = 2000
client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
evaluate("Y_*", "m_*", metrics=["p@1", "curves"], client=client, exchange="parts")
"""


def test_a_run_of_which_everything_was_killed(
    client: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, folder = files
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cutting, "LEAST_BYTES", 2000)
    begun = subprocess.run([sys.executable, "-c", KILLED], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert begun.returncode == -signal.SIGKILL  # the client, the scheduler and the worker, while putting
    there = [path.stem for path in Path("parts").rglob("*.npz")]
    assert len(there) == 2
    counted, submit = [], DaskEngine.submit

    def noting(self: Any, function: Any, *arguments: Any, key: str) -> Any:
        counted.extend([key] if function is counting.count else [])
        return submit(self, function, *arguments, key=key)

    monkeypatch.setattr(DaskEngine, "submit", noting)
    again: dict[str, Any] = {"metrics": ["p@1", "curves"], "client": client, "exchange": "parts"}
    with pytest.raises(ValueError, match=r"holds parts of this run begun by process \d+ on .+; resume it"):
        evaluate("Y_*", "m_*", **again)
    found = evaluate("Y_*", "m_*", **again, resume=True)
    assert found.to_json() == on_one_machine(arrays["Y"], arrays["m"], metrics=["p@1", "curves"]).to_json()
    assert len(counted) >= 3
    assert not {*counted} & {*there}
    assert not [*Path("parts").iterdir()]


def test_the_recipe_for_an_array_of_jobs(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards that belong together, each in a process, and their states merged."""
    arrays, folder = files
    monkeypatch.chdir(folder)
    np.save("q.npy", 1 + np.arange(N_LABELS) / 7)
    text = (ROOT / "xmleval" / "cluster" / "README.md").read_text()
    recipe = text.split("```bash\n")[1].split("```")[0]
    one, last = [line for line in recipe.splitlines() if not line.startswith("#")]
    for number, (lo, hi) in enumerate(((0, 120), (120, 200))):
        sp.save_npz(f"Y_{number}.npz", arrays["Y"][lo:hi])
        sp.save_npz(f"pred_{number}.npz", sp.csr_array(_dense(arrays["m"], lo, hi)))
    Path("states").mkdir()
    jobs = [f"({one.replace('$I', str(number))} > {number}.txt) &" for number in range(2)]
    script = "\n".join(['xmleval() { "$PYTHON" -m xmleval "$@"; }', *jobs, "wait", f"{last} --format json"])
    env = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores = sp.csr_array(_dense(arrays["m"], 0, N_ROWS))
    q = np.load("q.npy")
    whole = on_one_machine(arrays["Y"], scores, metrics=["p@5", "psp@5"], inverse_propensity=q)
    assert done.stdout == f"{whole.to_json()}\n"


def _dense(lists: Any, lo: int, hi: int) -> Any:
    found = np.zeros((hi - lo, N_LABELS), np.float32)
    np.put_along_axis(found, lists[0][lo:hi], lists[1][lo:hi] + 1, axis=1)
    return found
