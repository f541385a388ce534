"""Remote files give the rows of local ones: every format, by ranges, and what goes wrong is named."""

from __future__ import annotations

import errno
import pickle
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import xmleval.io
from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, named_pair
from tests.web import Web, serving
from xmleval.budget import UNLIMITED, Allowance
from xmleval.cli import main
from xmleval.evaluator import Evaluator
from xmleval.files import ranges
from xmleval.files.input import InputFile
from xmleval.files.ranges import RangeReader, Source
from xmleval.files.remote import RemotePath, as_path
from xmleval.input.formats.registry import find_format

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

KINDS = {f"truth {name}": write for name, write in TRUTHS.items()}
KINDS |= {f"scores {name}": write for name, write in SCORES.items()}
ADDRESS = RemotePath("memory://bucket/object")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ranges, "PAUSE_SECONDS", 0)
    yield tmp_path
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as server:
        yield server


def put(*names: str) -> None:
    """Copy files of the current folder, all if none is named, to ``memory://bucket``."""
    for path in map(Path, names) if names else Path().rglob("*.*"):
        fsspec.filesystem("memory").pipe_file(f"/bucket/{path}", path.read_bytes())


def parts_of(pieces: Any) -> list[Any]:
    found = []
    for piece in pieces.read(1 << 12):
        some = (piece.data, piece.indices, piece.indptr) if sp.issparse(piece) else piece
        found += [None if part is None else (part.dtype, part.tolist()) for part in some]
    return found


@pytest.mark.parametrize("name", KINDS)
def test_every_format_has_the_same_rows(name: str) -> None:
    kind, _, own = name.partition(" ")
    path = KINDS[name](Path("z"), make_truth() if kind == "truth" else make_scores())
    put()
    pieces: Any = find_format(path, kind=kind)[0].pieces
    if own == "qrels":
        assert (xmleval.io.read_truth(f"memory://bucket/{path}") != xmleval.io.read_truth(path)).nnz == 0
        return
    local, remote = (pieces(as_path(at), kind, UNLIMITED) for at in (path, f"memory://bucket/{path}"))
    assert (local.n_rows, local.n_labels) == (remote.n_rows, remote.n_labels)
    assert parts_of(local) == parts_of(remote)


@pytest.mark.parametrize("name", ["run", "csv-gz", "jsonl-scores", "json"])
def test_names_are_read_as_well(name: str, run: Callable[..., str]) -> None:
    truth, scores = named_pair(name, Path(), make_truth(), make_scores())
    put()
    assert (
        main(shlex.split(f"evaluate {truth} {scores} --metrics p@1,f1.macro --decision top2 --output a.json"))
        == 0
    )
    options = "--metrics p@1,f1.macro --decision top2 --output b.json"
    assert main(shlex.split(f"evaluate memory://bucket/{truth} memory://bucket/{scores} {options}")) == 0
    assert Path("b.json").read_text().replace("memory://bucket/", "") == Path("a.json").read_text()


def test_shards_by_pattern_and_by_folder(run: Callable[..., str]) -> None:
    scores = make_scores(60)
    for number, (start, stop) in enumerate(((0, 5), (5, 17), (17, 60))):
        path = Path(f"pred/part_{number + 8}.npz")  # part_10 comes after part_9
        path.parent.mkdir(exist_ok=True)
        sp.save_npz(path, scores[start:stop])
    sp.save_npz("Y.npz", make_truth(60))
    Path("names.txt").write_text("".join(f"label {number}\n" for number in range(30)))
    put()
    options = "--metrics p@1,psp@3,auc.micro --train {0}Y.npz --format json"
    local = run(f"evaluate Y.npz 'pred/part_*' {options.format('')}")
    for several in ("pred/part_*", "pred", "pred/"):
        line = (
            f"evaluate memory://bucket/Y.npz 'memory://bucket/{several}' {options.format('memory://bucket/')}"
        )
        assert run(line) == local
    assert run("stats memory://bucket/Y.npz") == run("stats Y.npz")


def test_python_reads_them_wherever_it_reads_files() -> None:
    truth = TRUTHS["npz"](Path("Y"), make_truth())
    SCORES["npy"](Path("m"), make_scores())
    Path("names.txt").write_text("a\nb\n")
    np.save("q.npy", np.arange(1.0, 4.0))
    np.save("columns.npy", np.asfortranarray(np.eye(3)))
    Evaluator(["p@1"], n_labels=3).save("state.npz")
    put()
    assert (xmleval.io.read_truth(f"memory://bucket/{truth}") != xmleval.io.read_truth(truth)).nnz == 0
    for mine, own in zip(
        xmleval.io.read_scores("memory://bucket/m"), xmleval.io.read_scores("m"), strict=True
    ):
        assert np.array_equal(mine, own)
    assert np.array_equal(xmleval.io.read_scores("memory://bucket/columns.npy"), np.eye(3))
    assert xmleval.io.read_names("memory://bucket/names.txt") == ["a", "b"]
    assert xmleval.io.read_inverse_propensity("memory://bucket/q.npy").tolist() == [1, 2, 3]
    assert Evaluator.load("memory://bucket/state.npz").n_labels == 3


def served(web: Web, n_rows: int) -> list[str]:
    """Put a truth and scores of several formats on a server, and return their names."""
    truth, scores = make_truth(n_rows, 300), make_scores(n_rows, 300, depth=20)
    paths = [TRUTHS["npz"](Path("Y"), truth), SCORES["npz"](Path("m"), scores)]
    paths += [SCORES["npy"](Path("list"), scores), SCORES["xmc"](Path("t"), scores)]
    web.files = {f"/{path}": path.read_bytes() for path in [*paths, Path("list_scores.npy")]}
    return [str(path) for path in paths]


def test_little_more_is_fetched_than_needed(web: Web, run: Callable[..., str]) -> None:
    truth, *several = served(web, 20_000)
    for scores in several:
        options = "--metrics p@1,ndcg@3 --format json"
        local = run(f"evaluate {truth} {scores} {options}")
        files = [truth, scores] + ["list_scores.npy"] * scores.startswith("list")
        web.sent, needed = 0, sum(len(web.files[f"/{name}"]) for name in files)
        assert run(f"evaluate {web.url}/{truth} {web.url}/{scores}?a=b/c {options}") == local
        assert needed <= web.sent <= 1.08 * needed  # the beginning of a .txt tells its format
    assert max(len(web.files[f"/{name}"]) for name in several) > 1 << 20


def test_a_connection_that_breaks_is_tried_again(web: Web, run: Callable[..., str], refused: Any) -> None:
    truth, scores, *_ = served(web, 2000)
    line = f"evaluate {web.url}/{truth} {web.url}/{scores} --metrics p@1"
    web.fails = ranges.ATTEMPTS - 1
    assert "P ↑" in run(line)
    assert web.fails == 0
    details, asked = RemotePath.details, list[int]()

    def failing(self: RemotePath) -> Any:
        asked.append(len(asked))
        if asked[-1] % 3 == 2:  # first of all it is asked whether it is there
            raise OSError(errno.EIO, "no connection", str(self))
        return details(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemotePath, "details", failing)
        assert "P ↑" in run(line)
    assert len(asked) > 5
    web.fails = 10**6
    assert refused(line).startswith(f"{web.url}/{truth}: cannot be read: ")
    web.fails, web.breaks_at = 0, {"/list_scores.npy": 40_000}  # amid its rows
    line = f"evaluate {web.url}/{truth} {web.url}/list --metrics p@1"
    assert refused(line).startswith(f"{web.url}/list_scores.npy: cannot be read: ")


def test_what_is_wrong_is_told_in_one_line(web: Web, refused: Any) -> None:
    truth, scores, *_ = served(web, 2000)
    size = len(web.files[f"/{scores}"])

    def told(name: str = scores) -> str:
        said: str = refused(f"evaluate {web.url}/{truth} {web.url}/{name} --metrics p@1")
        assert said.startswith(f"{web.url}/{name}: ")
        return said.removeprefix(f"{web.url}/{name}: ")

    assert told("none.npz") == "No such file or directory"
    assert told("none").startswith("No such file or directory, nor with one of the endings")
    web.files["/empty.npz"] = b""
    assert told("empty.npz").startswith("the file is empty")
    web.files["/cut.npz"] = web.files[f"/{scores}"][: size // 2]
    assert told("cut.npz").startswith("the zip archive is cut short")
    for status, begins in (
        (403, "Permission denied (403"),
        (500, "cannot be read: 500"),
        (410, "No such file"),
    ):
        web.statuses[f"/{scores}"] = status
        assert told().startswith(begins)
    web.statuses.clear()
    web.ranges, web.sent = False, 0
    assert refused(f"evaluate {web.url}/{scores} {web.url}/{scores}").endswith(ranges.NO_RANGES)
    url = web.url
    web.shutdown()
    web.server_close()
    assert refused(f"evaluate {url}/{truth} {url}/{scores}").startswith(f"{url}/{truth}: cannot be read: ")


@pytest.mark.parametrize("name", ["npz", "npy", "xmc-gz", "feather"])
def test_one_that_changes_is_refused(name: str, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = TRUTHS["npz"](Path("Y"), make_truth(20_000))
    path, update = SCORES[name](Path("m"), make_scores(20_000)), Evaluator.update
    put()

    def update_and_write(*args: Any, **more: Any) -> None:
        update(*args, **more)
        put(str(path))

    monkeypatch.setattr(Evaluator, "update", update_and_write)
    said = refused(f"evaluate {truth} memory://bucket/{path} --metrics p@1 --memory 1MB")
    assert said.startswith(
        f"memory://bucket/{path}: changed while it was read, from {path.stat().st_size} bytes, "
    )
    assert ", created " in said


def test_blocks_share_a_part_of_the_memory() -> None:
    put_one(bytes(1000))
    ahead, allowance = ranges.ReadAhead(), Allowance(8 << 20)
    for _ in range(2):
        ahead.take_from(allowance)
    assert allowance.taken == 1 << 20
    readers = [RangeReader(Source(ADDRESS), True) for _ in range(4)]
    for reader in readers:
        ahead.add(reader)
    assert ahead.block == (1 << 20) // (2 * len(readers))  # one in use, one on its way
    for reader in readers:
        ahead.discard(reader)
    assert ahead.block == 1 << 19


def test_one_that_loses_bytes_meanwhile_has_changed(web: Web) -> None:
    served(web, 2000)
    source = Source(RemotePath(f"{web.url}/m.npz"))
    whole = web.files["/m.npz"]
    web.files["/m.npz"] = whole[:1000]
    with pytest.raises(OSError, match=r"changed while it was read, from .*ETag.* to 1000 bytes, ETag"):
        source.read(900, 2000)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("gs://b/m.npz", "gs://b/m.npz: gs:// needs `pip install 'xmleval[gcs]'`"),
        ("s3://b/m.npz", "s3://b/m.npz: s3:// needs `pip install 'xmleval[s3]'`"),
        ("hf://datasets/a/b/m.npz", "needs `pip install 'xmleval[hf]'`"),
        ("https://b/m.npz", "needs `pip install 'xmleval[http]'`"),
        ("memory://b/m.npz", "memory:// needs `pip install 'xmleval[remote]'`"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    url: str, says: str, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: RemotePath) -> Any:
        raise ImportError("not there", name="fsspec")

    monkeypatch.setattr(RemotePath, "system", missing)
    assert refused(f"evaluate {url} {url}").endswith(says)


def test_other_addresses(refused: Any) -> None:
    assert refused("evaluate xyz://b/Y.npz m.npz") == "xyz://b/Y.npz: cannot be read: Protocol not known: xyz"
    put_one(b"x")
    assert refused("evaluate memory://bucket/object memory://bucket/m*.npz") == (
        "memory://bucket/m*.npz: no file matches"
    )
    SCORES["npz"](Path("m"), make_scores())
    said = refused("evaluate m.npz m.npz --output s3://b/out.json")
    assert said == "s3://b/out.json: is not on this machine; expected a local file for the output"


def put_one(data: bytes) -> None:
    fsspec.filesystem("memory").pipe_file("/bucket/object", data)


def test_addresses_are_paths() -> None:
    path = RemotePath("https://host/a//b/m_indices.npy?sig=x/y")
    assert (path.name, path.stem, path.suffix) == ("m_indices.npy", "m_indices", ".npy")
    assert str(path.with_name("m_scores.npy")) == "https://host/a//b/m_scores.npy?sig=x/y"
    assert str(RemotePath("s3://bucket/a/b.npz").parent) == "s3://bucket/a"
    assert RemotePath("s3://b/a?.npz").name == "a?.npz"
    again = pickle.loads(pickle.dumps(path))
    assert (again, hash(again), str(again)) == (path, hash(path), str(path))
    assert path != RemotePath("https://host/other.npy")
    assert as_path(path) is path
    assert type(as_path("a:/b")) is type(Path())


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.none() | st.integers(0, 300), st.integers(0, 90)), max_size=12),
    st.booleans(),
    st.lists(st.integers(0, 300), max_size=3),
)
def test_any_reads_give_the_bytes_of_the_file(
    size: int, reads: list[tuple[int | None, int]], in_order: bool, ends: list[int]
) -> None:
    data = np.random.default_rng(size).bytes(size)
    put_one(data)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "PAGE_BYTES": 8,
            "STREAMED_BYTES": 20,
            "MOST_BLOCK_BYTES": 50,
            "KEPT_PAGES": 3,
        }.items():
            patch.setattr(ranges, name, value)
        file = InputFile(ADDRESS)
        with file.open(in_order) as held:
            file.has_ends(ends)
            raw, place = held.raw, 0
            assert isinstance(raw, RangeReader)
            for start, n_bytes in reads:
                place = place if start is None else raw.seek(start)
                found = bytearray(n_bytes)
                n_read = raw.readinto(found)
                assert found[:n_read] == data[place : place + n_read]
                assert n_read or not n_bytes or place >= size
                place += n_read
            assert held.seek(0) == 0
            assert held.read() == data


def test_reading_on_fetches_each_byte_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[int, int]] = []
    read = Source.read

    def counting(self: Source, start: int, stop: int) -> bytes:
        fetched.append((start, stop))
        return read(self, start, stop)

    monkeypatch.setattr(Source, "read", counting)
    monkeypatch.setattr(ranges, "MOST_BLOCK_BYTES", 1 << 21)
    data = bytes(10_000_000)
    put_one(data)
    with InputFile(ADDRESS).open() as file:
        assert b"".join(iter(lambda: file.read(5000), b"")) == data
    assert sorted(fetched)[0][0] == 0
    assert [stop for _, stop in sorted(fetched)][:-1] == [start for start, _ in sorted(fetched)][1:]
    assert max(stop - start for start, stop in fetched) == 1 << 21
    assert len(fetched) < 15
