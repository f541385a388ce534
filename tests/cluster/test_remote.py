"""Shards and parts on object storage, counted by two processes, from a server on loopback."""

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer
from tests.made_files import make_scores, make_truth
from tests.storage import Storage, storing

pytest.importorskip("distributed")
pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

from tests.cluster.workers import two_workers, wrap_tasks

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
SHARDS = ("s3://bucket/Y.npz", "s3://bucket/m_*")


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with pytest.MonkeyPatch.context() as patch, storing(patch) as storage:
        yield storage


@pytest.fixture(scope="module")
def client(storage: Storage) -> Iterator[Any]:
    with two_workers() as client:
        yield client


@pytest.fixture(autouse=True)
def working_folder(storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xmleval.cluster.cutting.LEAST_BYTES", 120_000)


def put(storage: Storage, n_rows: int, depth: int) -> int:
    """Put a truth and scores in three shards, and return their size."""
    scores = make_scores(n_rows, 300, depth=depth)
    sp.save_npz("Y.npz", make_truth(n_rows, 300), compressed=False)
    for number, rows in enumerate(np.array_split(np.arange(n_rows), 3)):
        sp.save_npz(f"m_{number}.npz", scores[rows[0] : rows[-1] + 1], compressed=False)
    paths = [*Path().glob("*.npz")]
    for path in paths:
        storage.system.put_file(str(path), f"bucket/{path}")
    return sum(path.stat().st_size for path in paths)


def test_tasks_fetch_only_their_rows(
    client: Any, storage: Storage, run: Any, monkeypatch: Any
) -> None:
    needed = put(storage, 30_000, 80)
    before = storage.sent
    monkeypatch.setattr("xmleval.cluster.cutting.LEAST_BYTES", needed // 2)
    options = "--metrics p@1,ndcg@3 --format json"
    there = f"--scheduler {client.scheduler.address}"
    actual = run(f"evaluate {SHARDS[0]} '{SHARDS[1]}' {options} {there}")
    assert needed <= storage.sent - before <= 1.06 * needed
    assert actual == run(f"evaluate Y.npz 'm_*' {options}")


def lose_cluster(marker: str, function: Any, job: Any, path: Any, add: Any, task: Any) -> Any:
    """Count a task of the first half; fail for another one once a part was put."""
    while task.start >= 1000:
        if Path(marker).exists():
            raise OSError("the cluster is gone")
        time.sleep(0.05)
    result = function(job, path, add, task)
    Path(marker).touch()
    return result


def test_run_goes_on_from_object_storage(
    client: Any,
    storage: Storage,
    run: Any,
    refused: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    put(storage, 2000, 5)
    options = "--metrics p@1,auc.micro --format json"
    line = f"evaluate {SHARDS[0]} '{SHARDS[1]}' {options} --checkpoint s3://bucket/run"
    assert "not on this machine; give a folder, or --workers" in refused(line)
    line += f" --scheduler {client.scheduler.address}"

    def parts() -> set[str]:
        names = storage.system.find("bucket/run", refresh=True)
        return {Path(name).stem for name in names if name.endswith(".npz")}

    with monkeypatch.context() as patch:
        wrap_tasks(patch, lose_cluster, str(tmp_path / "put"))
        assert refused(line) == "the cluster is gone"
    n_stored = len(parts())
    assert n_stored
    assert "contains parts of this run; resume the run" in refused(line)
    code, out, err = answer(shlex.split(f"{line} --resume"))
    assert code == 0
    resumed = re.search(r"s3://bucket/run: resumed with (\d+) parts of m_\*", err)
    assert resumed
    assert int(resumed[1]) >= n_stored  # one that was under way may have come later
    assert out == run(f"evaluate Y.npz 'm_*' {options}")
    assert not parts()
