"""Parts of a run go through a folder of any kind: put whole, used again, and removed at the end."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.engines import Exchange, SerialEngine, ShuffledEngine, count_leaves, job_of, leaf
from tests.files.test_output import little_space
from xmleval import Evaluator
from xmleval.files.output import replacing
from xmleval.files.remote import as_path

N_LEAVES, ROWS = 11, 3
RNG = np.random.default_rng(0)
TRUTH, SCORES = (RNG.random((N_LEAVES, ROWS, 6)) < 0.3).astype(int), RNG.random((N_LEAVES, ROWS, 6))
METRICS = ["p@1", "auc.micro", "auc.macro", "f1.macro@3", "label_diversity"]
KEYS = [f"{n:032x}" for n in range(N_LEAVES)]
NO_PART = r"not a part of a run, or damaged"


@pytest.fixture(params=["", "memory://", "file://"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of this machine, one of object storage, and one of a server that has folders."""
    if request.param:
        fsspec = pytest.importorskip("fsspec")
    yield as_path(f"{request.param}{tmp_path}/run 1")
    if request.param == "memory://":
        fsspec.filesystem("memory").store.clear()


def count(exchange: Exchange | None, engine: Any = None, times: int = 1) -> str:
    """Count all tasks, and return the report."""
    truth, scores = (np.tile(values, (1, times, 1)) for values in (TRUTH, SCORES))
    size = ROWS * times
    leaves = [leaf(n * size, (truth[n], scores[n]), size, key) for n, key in enumerate(KEYS)]
    job = job_of(Evaluator(METRICS, n_labels=6))
    return count_leaves(job, leaves, engine, exchange).compute().to_json()


def names_in(exchange: Exchange) -> list[str]:
    return sorted(path.name for path in exchange.folder.iterdir()) if exchange.folder.exists() else []


class Interrupted(SerialEngine):
    n_tasks = 0

    def submit(self, function: Any, *arguments: Any, key: str) -> Any:
        if self.n_tasks == 9 and key in KEYS:
            raise KeyboardInterrupt
        self.n_tasks += key in KEYS
        return super().submit(function, *arguments, key=key)


def test_run_goes_on_with_the_parts_that_are_stored(folder: Path) -> None:
    exchange, engine, again = Exchange.of(folder, KEYS), ShuffledEngine(), ShuffledEngine()
    whole = count(None)
    with pytest.raises(KeyboardInterrupt), exchange.locked(resume=False):
        count(exchange, Interrupted())
    message = "holds parts of this run; resume it, or remove them"
    with pytest.raises(ValueError, match=message), exchange.locked(resume=False):
        pass
    with exchange.locked(resume=True) as n_stored:
        assert n_stored == 10  # and the sum of eight of them
        assert count(exchange, engine) == whole
        assert len({*KEYS} & {*engine.ran}) == N_LEAVES - 9
        assert count(exchange, again) == whole
        assert not {*KEYS} & {*again.ran}
    assert names_in(exchange) == []


def test_other_files_are_left_alone(folder: Path) -> None:
    exchange, names = Exchange.of(folder, KEYS), [f"{'0' * 32}.npy", "notes.npz"]
    with exchange.locked(resume=False):
        for name in names:
            with replacing(exchange.folder / name) as file:
                file.write(b"x")
        count(exchange)
    assert names_in(exchange) == names


def test_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    exchange = Exchange.of(tmp_path, KEYS)
    with exchange.locked(resume=False):
        with pytest.raises(ValueError, match="in use by another process"), exchange.locked(resume=True):
            pass
        count(exchange)
    assert names_in(exchange) == []


def test_part_that_cannot_be_written_leaves_nothing(folder: Path) -> None:
    exchange = Exchange.of(folder, KEYS)
    with exchange.locked(resume=False):
        with pytest.raises(OSError, match="File too large"), little_space():
            count(exchange)
        assert not exchange.keys()


def test_run_goes_on_that_was_killed_as_it_removed_its_parts(tmp_path: Path, monkeypatch: Any) -> None:
    exchange, removed, unlink = Exchange.of(tmp_path, KEYS), list[Path](), Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        removed.append(path)
        if len(removed) > 8:
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt), exchange.locked(resume=False):
            count(exchange)
    assert len(exchange.keys()) == N_LEAVES + 2 - 8  # with two sums
    with exchange.locked(resume=True):
        assert count(exchange) == count(None)


def altered(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    """Change the arrays of a file, whose checksums stay right."""

    def alter(path: Path) -> None:
        with np.load(path) as archive:
            arrays = dict(archive)
        meta = json.loads(arrays.pop("meta").tobytes())
        change(arrays)
        with path.open("wb") as file:
            np.savez(file, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)

    return alter


def flip_last_byte(path: Path) -> None:
    """Change the last byte of the last array, which is large and read in pieces."""
    content = path.read_bytes()
    place = content.index(b"PK\x01\x02") - 1
    path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "half written": lambda path: path.write_bytes(b"PK"),
    "a changed byte": flip_last_byte,
    "more rows of scores": altered(lambda arrays: arrays.update({"score_runs/sizes": np.array([10**9, 8])})),
    "no label sets": altered(lambda arrays: arrays.pop("label_sets/fingerprints")),
    "an array that nobody takes": altered(lambda arrays: arrays.update({"other/a": np.zeros(1)})),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_sum_is_refused_by_name(damage: str, tmp_path: Path) -> None:
    exchange, times = Exchange.of(tmp_path, KEYS), 999 if damage == "a changed byte" else 1
    with exchange.locked(resume=False):
        count(exchange, times=times)
        path = exchange.path(min(exchange.keys() - {*KEYS}))
        DAMAGES[damage](path)
        with pytest.raises(ValueError, match=f"{path.name}: {NO_PART}"):
            count(exchange, times=times)
        path.unlink()
        count(exchange, times=times)
