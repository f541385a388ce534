"""Outputs appear when they are whole; nothing else is ever seen of them, and errors name them."""

import contextlib
import errno
import os
import re
import resource
import signal
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import xmleval
from tests.commands import process
from tests.damage import contents
from tests.made_files import make_scores, make_truth, npy, npz
from xmleval import Evaluator
from xmleval.files.output import replacing
from xmleval.input.rows import rows_by_id
from xmleval.io import find_format
from xmleval.kernels.compiling import Cache


@contextlib.contextmanager
def little_space(size: int = 100) -> Iterator[None]:
    """Limit files to some bytes; kernels that are compiled meanwhile are not saved."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with mock.patch.object(Cache, "save_overload"):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("old", [None, b"old"])
def test_replacing_names_only_whole_files(tmp_path: Path, old: bytes | None) -> None:
    path = tmp_path / "x"
    before = {} if old is None else {tmp_path / "x": old}
    if old is not None:
        path.write_bytes(old)

    def fail(error: BaseException) -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    for error in (ValueError("no"), KeyboardInterrupt(), SystemExit(143), OSError("unread")):
        with pytest.raises(type(error)) as raised:
            fail(error)
        assert raised.value is error
        assert contents(tmp_path) == before
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert (path.read_bytes() if path.exists() else None) == old
        hidden = [name for name in os.listdir(tmp_path) if name != "x"]
        assert len(hidden) == 1
    assert contents(tmp_path) == {path: b"new"}


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_replacing_leaves_nothing_where_the_system_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "x").write_bytes(b"old")

    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, refuse)
    with (
        pytest.raises(OSError, match="Input/output error") as raised,
        replacing(tmp_path / "x") as file,
    ):
        file.write(b"new")
    assert raised.value.filename == str(tmp_path / "x")
    assert contents(tmp_path) == {tmp_path / "x": b"old"}


def test_permissions_links_and_long_names(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/y")
    before = os.umask(0o027)
    try:
        for name in ("there/x", "link", "x" * 255, "ä" * 127):
            with replacing(tmp_path / name) as file:
                file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "there/x").stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "there") == dict.fromkeys(
        (tmp_path / "there/x", tmp_path / "there/y"), b"new"
    )
    assert len(os.listdir(tmp_path)) == 4


KILLED = """
import os, signal, sys
from pathlib import Path
from xmleval import __main__, cli
from xmleval import Evaluator
from xmleval.files.output import replacing
def run():
    with replacing(Path(sys.argv[1], "x")) as file:
        file.write(bytes(1 << 20))
        signal.raise_signal(int(sys.argv[2]))
cli.main = run
sys.exit(__main__.main())
"""


@pytest.mark.slow
def test_nothing_is_left_of_a_process_that_is_ended(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    done = process(KILLED, str(tmp_path), str(int(signal.SIGTERM)), python="-c")
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "", "")
    assert contents(tmp_path) == {tmp_path / "x": b"old"}


def test_write_archive_raises_errors_of_an_open_member(tmp_path: Path) -> None:
    opened = zipfile.ZipFile.open
    members = list[object]()

    def interrupted(archive: zipfile.ZipFile, *arguments: Any, **options: Any) -> None:
        members.append(opened(archive, *arguments, **options))
        raise SystemExit(3)

    with mock.patch.object(zipfile.ZipFile, "open", interrupted), pytest.raises(SystemExit):
        Evaluator("p@1", n_labels=3).save(tmp_path / "state.npz")
    assert members
    assert contents(tmp_path) == {}


# commands that write, and the file that is the first to be too large
OUTPUTS = {
    "convert scores.npz out.txt --kind scores": "out.txt",
    "convert scores.npz out.npz --kind scores": "out.npz",
    "convert m out_indices.npy": "out_indices.npy",
    "convert scores.npz out.run --kind scores": "out.run",
    "convert Y.npz out.qrels --kind truth": "out.qrels",
    "convert Y.npz out.parquet --kind truth": "out.parquet",
    "evaluate Y.npz m --output out.txt": "out.txt",
    "evaluate Y.npz m --save out.npz": "out.npz",
    "evaluate Y.npz m --per-label out.csv --metrics f1.macro@1,p": "out.csv",
    "threshold fit Y.npz m --measure f1.micro --output out.npz": "out.npz",
    "threshold apply m --rule rule.npz --output out.npz": "out.npz",
    "merge state.npz --save out.npz": "out.npz",
    "stats Y.npz --output out.txt": "out.txt",
    "demo --save out": "out/Y_train.npz",
}


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    npz(tmp_path / "Y", make_truth())
    npz(tmp_path / "scores", make_scores())
    npy(tmp_path / "m", make_scores())


@pytest.mark.slow
def test_commands_name_the_output_that_finds_no_room(inputs: None, run: Any, refused: Any) -> None:
    run("threshold fit Y.npz m --measure f1.micro --output rule.npz")
    run("evaluate Y.npz m --metrics f1.macro@1,p --save state.npz")
    for line, name in OUTPUTS.items():
        run(line)  # compiles what it needs, and writes what is there before
        before = contents(Path())
        with little_space():
            message = refused(line)
        assert message == f"{name}: File too large"
        assert contents(Path()) == before


def test_pair_of_files_is_replaced_together(tmp_path: Path) -> None:
    old = rows_by_id(np.array([0, 1]), np.array([3]), np.array([0.5]), best_first=True)
    new = rows_by_id(np.array([0, 64]), np.arange(64), np.ones(64, np.float16), best_first=True)
    path = tmp_path / "m_indices.npy"
    write = find_format(path)[0].write
    assert write is not None
    write(path, old, "scores", 99)
    before = contents(tmp_path)
    assert len(before) == 2
    # enough for the scores
    with (
        little_space(300),
        pytest.raises(OSError, match=re.escape(str(path))),
    ):
        write(path, new, "scores", 99)
    assert contents(tmp_path) == before


def test_scores_that_find_no_room_name_the_folder_and_the_option(
    inputs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Any
) -> None:
    def refuse(number: int, data: Any, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "pwritev", refuse)
    message = refused("evaluate Y.npz m --metrics auc.micro,ap.macro --memory 1KB")
    kept = "earlier counts are kept; set TMPDIR to a folder with free space, or raise --memory"
    cause = rf"No space left on device, while \d+ bytes were spilled; {kept}"
    assert re.fullmatch(f"{re.escape(str(tmp_path))}: {cause}", message), message


def test_replacing_keeps_the_permissions_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("former")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_replaced_file_keeps_the_permissions_of_the_group(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    path.write_bytes(b"")
    path.chmod(0o664)
    xmleval.write(path, np.eye(2), "scores")
    assert path.stat().st_mode & 0o777 == 0o664
