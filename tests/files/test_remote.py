"""Remote files give the rows of local ones, by ranges, and what goes wrong is named."""

import io
import pickle
import re
import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xmleval.io
from tests.damage import values_of
from tests.limits import small_limits
from tests.made_files import NAMED, NUMBERED, SCORES, files_of, make_scores, make_truth, npy, npz
from tests.storage import storing
from tests.web import Web, serving
from xmleval import Evaluator
from xmleval.evaluation.evaluator import BatchCounter
from xmleval.files.input import InputFile
from xmleval.files.remote import as_path

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with small_limits({"files.remote": {"PAUSE_SECONDS": 0, "ATTEMPTS": 3}}):
        yield tmp_path
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as server:
        yield server


def put(name: str, data: bytes) -> None:
    fsspec.filesystem("memory").pipe_file(f"/bucket{name}", data)


def put_all() -> None:
    """Copy the files of the current folder to ``memory://bucket``."""
    for path in Path().rglob("*.*"):
        put(f"/{path}", path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NUMBERED, *NAMED])
def test_values_are_those_of_local_files(name: str) -> None:
    truth, scores, _ = files_of(name)
    put_all()
    metrics = ["p@1", "f1.macro@2"]
    remote = values_of(metrics, f"memory://bucket/{truth} memory://bucket/{scores} --memory 4KB")
    assert remote == values_of(metrics, f"{truth} {scores}")


def test_python_reads_them_wherever_it_reads_files() -> None:
    npz(Path("Y"), make_truth())
    npy(Path("m"), make_scores())
    Path("names.txt").write_text("a\nb\n")
    np.save("q.npy", np.arange(1.0, 4.0))
    Evaluator(["p@1"], n_labels=3).save("state.npz")
    put_all()
    bucket = "memory://bucket"
    assert (xmleval.io.read_truth(f"{bucket}/Y.npz") != make_truth()).nnz == 0
    for remote, local in zip(
        xmleval.io.read_scores(f"{bucket}/m"), xmleval.io.read_scores("m"), strict=True
    ):
        np.testing.assert_array_equal(remote, local)
    assert xmleval.io.read_names(f"{bucket}/names.txt") == ["a", "b"]
    assert xmleval.io.read_inverse_propensity(f"{bucket}/q.npy").tolist() == [1, 2, 3]
    assert Evaluator.load(f"{bucket}/state.npz").n_labels == 3


class Place(NamedTuple):
    """A place for files.

    url : its address
    put : writes a file
    sent : counts the bytes that were read from there
    tag : name of the version in the details of a file
    """

    url: str
    put: Callable[[str, bytes], object]
    sent: Callable[[], int]
    tag: str


class Ranged(io.BytesIO):
    """A file that counts the bytes read from it."""

    n_read = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        Ranged.n_read += len(data)
        return data


def bucket_of(name: str, tag: str) -> Any:
    """Return a class of file systems of another protocol for the files of ``memory://``."""
    memory = fsspec.filesystem("memory")

    class System(fsspec.AbstractFileSystem):  # type: ignore[misc, name-defined]
        protocol = name
        cachable = False

        def info(self, path: str, **options: Any) -> dict[str, Any]:
            details = memory.info(f"/{path}")
            result = {"name": path, "size": details["size"], "type": details["type"]}
            has_version = name != "hf" or options == {"refresh": True, "expand_info": True}
            if details["type"] == "file" and has_version:
                result[tag] = hash(memory.cat_file(f"/{path}"))
            return result

        def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
            names = [entry["name"].lstrip("/") for entry in memory.ls(f"/{path}")]
            if not detail:
                return names
            return [memory.info(f"/{path}") | {"name": path} for path in names]

        def _open(self, path: str, mode: str = "rb", cache_type: str = "", **_: Any) -> Any:
            assert cache_type == "none"  # which reads nothing ahead of its own
            return Ranged(memory.cat_file(f"/{path}"))

    return System


@pytest.fixture(params=["web", "gs", "hf", pytest.param("s3", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    name = request.param
    if name == "web":
        with serving() as web:
            yield Place(web.url, web.files.__setitem__, lambda: web.sent, "ETag")
    elif name == "s3":
        pytest.importorskip("s3fs")
        pytest.importorskip("moto.server")
        with storing(monkeypatch) as storage:
            pipe = storage.system.pipe_file
            yield Place(
                "s3://bucket",
                lambda path, data: pipe(f"bucket{path}", data),
                lambda: storage.sent,
                "ETag",
            )
    else:
        tag = {"gs": "generation", "hf": "blob_id"}[name]
        monkeypatch.setitem(import_module("fsspec.registry")._registry, name, bucket_of(name, tag))
        yield Place(f"{name}://bucket", put, lambda: Ranged.n_read, tag)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_values_of_remote_files_and_bytes_that_are_fetched(place: Place) -> None:
    truth = make_truth(20_000, 300)
    scores = make_scores(20_000, 300, depth=20)
    files = {"npz": "m.npz", "npy": "list_indices.npy", "xmc": "t.txt"}
    paths = [
        npz(Path("Y"), truth),
        *(SCORES[form](Path(name[0]), scores) for form, name in files.items()),
    ]
    Path("pred").mkdir()
    for number, (start, stop) in enumerate(((0, 9_000), (9_000, 9_005), (9_005, 20_000))):
        # part_10 comes after part_9
        npz(Path(f"pred/part_{number + 8}"), scores[start:stop], number == 2)
    for path in Path().rglob("*.*"):
        place.put(f"/{path}", path.read_bytes())
    metrics = ["p@1", "ndcg@3", "auc.micro"]
    size = {str(path): path.stat().st_size for path in Path().rglob("*.*")}
    given = {name: [name] for name in ("m.npz", "t.txt")} | {"l": ["l_indices.npy", "l_scores.npy"]}
    if place.tag != "ETag" or place.url.startswith("s3"):
        shards = [name for name in size if name.startswith("pred/")]
        given |= dict.fromkeys(("pred/part_*", "pred"), shards)
    else:
        given["m.npz?a=b/c"] = given.pop("m.npz")
    local = values_of(metrics, f"{paths[0]} m.npz")
    for name, names in given.items():
        before = place.sent()
        needed = sum(size[path] for path in ["Y.npz", *names])
        assert values_of(metrics, f"{place.url}/Y.npz {place.url}/{name}") == local
        # the beginning of a .txt tells its format
        assert needed <= place.sent() - before <= 1.08 * needed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["npz", "xmc-gz"])
def test_remote_file_that_changes_is_refused(
    place: Place, name: str, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = npz(Path("Y"), make_truth(20_000))
    path = SCORES[name](Path("m"), make_scores(20_000))
    add = BatchCounter.add
    for each in Path().glob("m*"):
        place.put(f"/{each}", each.read_bytes())

    def add_and_write(*args: Any, **arguments: Any) -> None:
        add(*args, **arguments)
        place.put(f"/{path}", path.read_bytes()[: 1 << 16])

    monkeypatch.setattr(BatchCounter, "add", add_and_write)
    message = refused(f"evaluate {truth} {place.url}/{path} --metrics p@1 --memory 1MB")
    assert message.startswith(f"{place.url}/{path}: ")
    assert f"changed while it was read, from {path.stat().st_size} bytes, {place.tag} " in message


def served(web: Web) -> tuple[Path, Path]:
    """Put a truth and scores on a server, as a matrix and as a list."""
    paths = npz(Path("Y"), make_truth(2000, 300)), npz(Path("m"), make_scores(2000, 300, depth=20))
    npy(Path("list"), make_scores(2000, 300, depth=20))
    web.files = {f"/{path}": path.read_bytes() for path in Path().glob("*.*")}
    return paths


def test_remote_read_retries_a_broken_connection(
    web: Web, run: Callable[..., str], refused: Any
) -> None:
    truth, scores = served(web)
    line = f"evaluate {web.url}/{truth} {web.url}/{scores} --metrics p@1"
    web.fails = 2
    assert "P ↑" in run(line)
    assert web.fails == 0
    web.fails = 10**6
    assert refused(line).startswith(f"{web.url}/{truth}: cannot be read: ")
    # amid its rows
    web.fails = 0
    web.breaks_at = {"/list_scores.npy": 40_000}
    line = f"evaluate {web.url}/{truth} {web.url}/list --metrics p@1"
    assert refused(line).startswith(f"{web.url}/list_scores.npy: cannot be read: ")


def test_remote_read_receives_only_its_range(web: Web, refused: Any) -> None:
    """A server that sends more than it is asked for fills no memory; its connection is closed."""
    npy(Path("s"), make_scores())
    web.files["/s_indices.npy"] = Path("s_indices.npy").read_bytes()
    web.extra = 1 << 30
    npz(Path("Y"), make_truth())
    tracemalloc.start()
    try:
        message = refused(f"evaluate Y.npz {web.url}/s_indices.npy --metrics p@1")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert re.search(r"cannot be read: received \d+ of \d+ bytes from byte 0 on", message)
    assert web.sent < 1 << 28
    assert peak < 1 << 26


def test_remote_errors_are_reported_in_one_line(web: Web, refused: Any) -> None:
    truth, scores = served(web)
    web.files["/cut.npz"] = web.files[f"/{scores}"][:9000]
    for name, status, message in [
        ("none", 200, "No such file or directory"),
        ("cut.npz", 200, "not a zip archive, or cut short"),
        (scores, 403, "Permission denied (403"),
        (scores, 500, "cannot be read: 500"),
    ]:
        web.statuses = {f"/{name}": status}
        line = f"evaluate {web.url}/{truth} {web.url}/{name} --metrics p@1"
        assert refused(line).startswith(f"{web.url}/{name}: {message}")
    web.statuses.clear()
    web.ranges = False
    assert refused(f"evaluate {web.url}/{scores} {web.url}/{scores}").endswith(
        "not send byte ranges; download it first"
    )


@pytest.mark.parametrize(
    ("protocol", "extra"),
    [("gs", "gcs"), ("s3", "s3"), ("hf", "hf"), ("https", "http"), ("memory", "remote")],
)
def test_remote_path_names_the_extra_of_a_missing_library(
    protocol: str, extra: str, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = mock.Mock(side_effect=ImportError("not there", name="fsspec"))
    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    message = refused(f"evaluate {protocol}://b/Y.npz {protocol}://b/m.npz")
    assert message.endswith(f"{protocol}:// needs `pip install 'xmleval[{extra}]'`")


def test_addresses_are_paths() -> None:
    path = as_path("https://host/a//b/m_indices.npy?sig=x/y")
    assert (path.name, path.stem, path.suffix) == ("m_indices.npy", "m_indices", ".npy")
    assert str(path.with_name("m_scores.npy")) == "https://host/a//b/m_scores.npy?sig=x/y"
    assert str(as_path("s3://bucket/a/b.npz").parent) == "s3://bucket/a"
    assert as_path("s3://b/a?.npz").name == "a?.npz"
    copy = pickle.loads(pickle.dumps(path))
    assert (copy, hash(copy), str(copy)) == (path, hash(path), str(path))
    assert path != as_path("https://host/other.npy")
    assert as_path(path) is path
    assert type(as_path("a:/b")) is type(Path())


@settings(max_examples=20, deadline=None)
@given(
    size=st.integers(1, 300),
    reads=st.lists(st.tuples(st.none() | st.integers(0, 300), st.integers(0, 90)), max_size=12),
    end=st.none() | st.integers(0, 300),
)
def test_any_reads_give_the_bytes_of_the_file(
    size: int, reads: list[tuple[int | None, int]], end: int | None
) -> None:
    data = np.random.default_rng(size).bytes(size)
    put("/object", data)
    file = InputFile(as_path("memory://bucket/object"))
    small = {"LEAST_BLOCK_BYTES": 8, "MOST_BLOCK_BYTES": 50}
    with small_limits({"files.remote": small}), file.open(end) as opened:
        raw: Any = opened.raw
        place = 0
        for start, n_bytes in reads:
            place = place if start is None else raw.seek(start)
            part = bytearray(n_bytes)
            n_read = raw.readinto(part)
            assert part[:n_read] == data[place : place + n_read]
            assert n_read or not n_bytes or place >= size
            place += n_read
        assert opened.seek(0) == 0
        assert opened.read() == data
