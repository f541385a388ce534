"""Files of gs:// and hf:// take the way of those of s3://: by ranges, and other versions are refused."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest
import scipy.sparse as sp

from tests.made_files import make_scores, make_truth
from xmleval.evaluator import Evaluator

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin in an empty folder."""
    monkeypatch.chdir(tmp_path)
    yield
    fsspec.filesystem("memory").store.clear()


class Bucket:
    """What file systems of gs:// and hf:// tell of files, and the ranges that were asked for."""

    tag = "one"
    asked: ClassVar[list[tuple[int, int]]] = []


def bucket_of(own: str, told: str) -> Any:
    """Return a class of file systems of another protocol, which holds the files of ``memory://``."""
    memory = fsspec.filesystem("memory")

    class System(fsspec.AbstractFileSystem):  # type: ignore[misc, name-defined]
        protocol, cachable = own, False

        def info(self, path: str, **more: Any) -> dict[str, Any]:
            found = memory.info(f"/{path}")
            asked = own != "hf" or more == {"refresh": True, "expand_info": True}
            tag = {told: Bucket.tag} if asked else {}
            return {"name": path, "size": found["size"], "type": found["type"], **tag}

        def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
            names = [one["name"].lstrip("/") for one in memory.ls(f"/{path}")]
            return [memory.info(f"/{name}") | {"name": name} for name in names] if detail else names

        def _open(self, path: str, mode: str = "rb", cache_type: str = "", **_: Any) -> Any:
            assert cache_type == "none"  # which reads nothing ahead of its own
            return Ranged(memory.cat_file(f"/{path}"))

    return System


class Ranged(io.BytesIO):
    """A file that notes what is read of it."""

    def read(self, size: int | None = -1) -> bytes:
        start = self.tell()
        found = super().read(size)
        Bucket.asked.append((start, start + len(found)))
        return found


@pytest.mark.parametrize(("own", "told"), [("gs", "generation"), ("hf", "blob_id")])
def test_buckets_of_other_protocols(
    own: str, told: str, run: Callable[..., str], refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, update = make_scores(20_000, 300, depth=20), Evaluator.update
    sp.save_npz("Y.npz", make_truth(20_000, 300), compressed=False)
    for number, rows in enumerate((slice(0, 9_000), slice(9_000, None))):
        sp.save_npz(f"m_{number}.npz", scores[rows], compressed=False)
    for path in Path().glob("*.npz"):
        fsspec.filesystem("memory").pipe_file(f"/bucket/{path}", path.read_bytes())
    monkeypatch.setitem(import_module("fsspec.registry")._registry, own, bucket_of(own, told))
    Bucket.asked.clear()
    line = "evaluate {0}Y.npz '{0}m_*' --metrics p@1,auc.micro --format json"
    assert run(line.format(f"{own}://bucket/")) == run(line.format(""))
    needed = sum(path.stat().st_size for path in Path().glob("*.npz"))
    assert needed <= sum(stop - start for start, stop in Bucket.asked) <= 1.05 * needed
    assert max(stop - start for start, stop in Bucket.asked) < needed / 4

    def update_and_write(*args: Any, **more: Any) -> None:
        update(*args, **more)
        Bucket.tag = "two"

    monkeypatch.setattr(Bucket, "tag", "one")
    monkeypatch.setattr(Evaluator, "update", update_and_write)
    said = refused(f"evaluate Y.npz '{own}://bucket/m_*' --metrics p@1 --memory 1MB")
    assert said.startswith(f"{own}://bucket/m_0.npz: changed while it was read, from ")
    assert f"{told} one" in said
    assert f"{told} two; " in said
