"""Damaged or missing files of every format and option: a line that names them, or a result."""

import contextlib
import gzip
import io
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.damage import (
    CASES,
    Case,
    answer,
    archive_of,
    complaint,
    contents,
    make_case,
    members,
    restore,
)


def make_socket(path: Path, data: bytes) -> None:
    # paths of sockets are short
    with (
        socket.socket(socket.AF_UNIX) as bound,
        contextlib.chdir(path.parent),
    ):
        bound.bind(path.name)


def forbid(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0)


def cut(share: float) -> Callable[[Path, bytes], Any]:
    """Cut a file short; a text within a line, as whole lines may be another valid file."""

    def write(path: Path, data: bytes) -> None:
        stop = int(share * len(data))
        if data[:2] != b"\x1f\x8b" and path.suffix in TEXTS:
            stop = data.rfind(b"\n", 0, stop) + 4
        path.write_bytes(data[:stop])

    return write


TEXTS = {
    ".txt",
    ".lines",
    ".svm",
    ".arff",
    ".xml",
    ".qrels",
    ".run",
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
}
DAMAGES: dict[str, tuple[Callable[[Path, bytes], Any], str]] = {  # and words of the refusal
    "missing": (lambda path, data: None, "No such file or directory"),
    "empty": (lambda path, data: path.touch(), "the file is empty"),
    "folder": (lambda path, data: path.mkdir(), "s a directory"),
    "pipe": (lambda path, data: os.mkfifo(path), "not a regular file"),
    "socket": (make_socket, "not a regular file"),
    "device": (lambda path, data: path.symlink_to("/dev/zero"), "not a regular file"),
    "no permission": (forbid, "Permission denied"),
    "zeros": (lambda path, data: path.write_bytes(bytes(100)), ""),
    "text": (lambda path, data: path.write_bytes(b"garbage\n" * 20), ""),
    "any bytes": (lambda path, data: path.write_bytes(bytes(range(256))), ""),
    "no archive": (lambda path, data: path.write_bytes(b"PK\x03\x04"), ""),
    "a tenth": (cut(0.1), ""),
    "half": (cut(0.5), ""),
    "no end": (cut(0.97), ""),
    "packed garbage": (
        lambda path, data: path.write_bytes(gzip.compress(b"garbage \xff\x00" * 99)),
        "",
    ),
    "no gzip": (lambda path, data: path.write_bytes(b"\x1f\x8b" + b"garbage" * 9), ""),
    "gzip cut": (lambda path, data: path.write_bytes(gzip.compress(data)[:-20]), ""),
    "gzip and more": (lambda path, data: path.write_bytes(gzip.compress(data) + b"garbage"), ""),
}
if os.geteuid() == 0:  # a superuser may read everything
    del DAMAGES["no permission"]
ARRAYS: list[Callable[[Any], Any]] = [
    lambda array: array + 0.5,
    lambda array: array * np.nan,
    lambda array: array + 1j,
    lambda array: -1 - array.astype(float).astype(int),
    lambda array: array.astype(float).astype(int) + 2**62,
    lambda array: array.astype(str),
    lambda array: array.astype(object),
    lambda array: array[None],
    lambda array: array.ravel()[:-1],
]


def array_damages(data: bytes) -> Iterator[bytes]:
    """Yield an archive without each array, and with each of another type, shape or values."""
    parts = members(data)
    for name, part in parts.items():
        yield archive_of({other: parts[other] for other in parts if other != name})
        array = np.load(io.BytesIO(part))
        for change in ARRAYS if array.dtype.kind in "iufb" else ():
            np.save(out := io.BytesIO(), change(array))
            yield archive_of(parts | {name: out.getvalue()})


@pytest.fixture
def temporary(tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no temporary files are left."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not any(folder.iterdir())


def check(folder: Path, case: Case, commands: list[list[str]], words: str | None = None) -> None:
    """Check the answers of commands to a damaged file: errors with ``words``, if passed."""
    codes = []
    for command in commands:
        before = sorted(folder.rglob("*"))
        code, out, err = answer(command)
        assert complaint(case, command, code, out, err) is None, err
        assert code == 0 or sorted(folder.rglob("*")) == before
        assert words is None or (code == 2 and words in err), (command, err)
        codes.append(code)
    assert len({*codes[:2]}) == 1  # however the file is cut into pieces


def may_be_read(path: Path, name: str, kind: str) -> bool:
    """Return whether a damaged file may be valid, or a missing one be reported by another name."""
    if kind == "missing":
        return "scores" in path.name or path.suffix == ".xml"
    if kind == "no end":
        return True
    if kind in ("a tenth", "half"):
        return path.suffix in (".csv", ".xml") or name in ("ids", "pairs.txt")
    if kind in ("zeros", "text", "no archive"):
        return name.startswith(("ids", "fasttext"))
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("role", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_damage_is_refused_in_one_line(
    tmp_path: Path, temporary: None, role: str, name: str
) -> None:
    case = make_case(tmp_path, role, name)
    whole = contents(tmp_path)
    for command in case.commands:
        assert answer(command)[0] == 0, command
        restore(tmp_path, whole)
    for path in case.damaged:
        for kind, (write, words) in DAMAGES.items():
            path.unlink()
            write(path, whole[path])
            expected_words: str | None = words
            if may_be_read(path, name, kind):
                expected_words = None
            check(tmp_path, case, case.commands, expected_words)
            restore(tmp_path, whole)
        if path.suffix != ".npz" or role in ("rule", "state"):
            continue
        for damaged in array_damages(whole[path]):
            path.write_bytes(damaged)
            check(tmp_path, case, case.commands[:2])
            restore(tmp_path, whole)
