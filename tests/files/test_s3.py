"""Shards on S3, from a server on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import make_scores, make_truth
from tests.storage import storing
from xmleval.evaluator import Evaluator
from xmleval.files import ranges
from xmleval.files.ranges import Source

s3fs = pytest.importorskip("s3fs")
pytest.importorskip("moto.server")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A file system with an empty bucket, and what was fetched from it."""
    monkeypatch.chdir(tmp_path)
    with storing(monkeypatch) as storage:
        yield storage.system


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of bytes of each answer."""
    found: list[int] = []
    fetch = Source._fetch

    def counting(self: Source, start: int, stop: int) -> Any:
        data = fetch(self, start, stop)
        found.append(len(data or b""))
        return data

    monkeypatch.setattr(Source, "_fetch", counting)
    return found


def put(system: Any, n_rows: int) -> int:
    """Put a truth and scores in three shards, and return their size."""
    scores = make_scores(n_rows, 300, depth=20)
    sp.save_npz("Y.npz", make_truth(n_rows, 300))
    Path("pred").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(n_rows), 3)):
        sp.save_npz(f"pred/part_{number}.npz", scores[rows[0] : rows[-1] + 1], compressed=number == 1)
    size = 0
    for path in Path().rglob("*.npz"):
        system.pipe_file(f"bucket/{path}", path.read_bytes())
        size += path.stat().st_size
    return size


def test_shards_on_s3(bucket: Any, fetched: list[int], run: Callable[..., str], refused: Any) -> None:
    needed = put(bucket, 60_000)
    options = "--metrics p@1,ndcg@3,auc.micro,f1.macro --decision top3 --format json"
    local = run(f"evaluate Y.npz 'pred/part_*' {options}")
    for given in ("pred/part_*", "pred"):
        fetched.clear()
        assert run(f"evaluate s3://bucket/Y.npz 's3://bucket/{given}' {options}") == local
        assert needed <= sum(fetched) <= 1.05 * needed
    told = "s3://bucket/none.npz: No such file or directory"
    assert refused("evaluate s3://bucket/Y.npz s3://bucket/none.npz") == told
    assert refused("evaluate s3://bucket/Y.npz 's3://bucket/none*'") == "s3://bucket/none*: no file matches"
    assert refused("evaluate s3://nobucket/Y.npz Y.npz") == "s3://nobucket/Y.npz: No such file or directory"


def test_an_object_changed_underneath(bucket: Any, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, 6_000)
    update = Evaluator.update

    def update_and_write(*args: Any, **more: Any) -> None:
        update(*args, **more)
        bucket.pipe_file("bucket/pred/part_0.npz", Path("pred/part_0.npz").read_bytes() + b"0")

    monkeypatch.setattr(Evaluator, "update", update_and_write)
    monkeypatch.setattr(ranges, "KEPT_PAGES", 1)
    said = refused("evaluate s3://bucket/Y.npz s3://bucket/pred --metrics p@1 --memory 1MB")
    assert said.startswith("s3://bucket/pred/part_0.npz: changed while it was read, from ")
    assert "ETag" in said


def test_without_credentials(bucket: Any, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    s3fs.S3FileSystem.clear_instance_cache()
    said = refused("evaluate s3://bucket/Y.npz s3://bucket/m.npz")
    assert said == "s3://bucket/m.npz: cannot be read: Unable to locate credentials"
