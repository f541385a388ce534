"""Damaged files of every format through the command line: a result, or exit 2 after one line.

XMLEVAL_FUZZ_SECONDS tells how long all formats together are tried; CI takes the default.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import resource
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npy, npz, qrels, trec_run
from xmleval.cli import main

SECONDS = float(os.environ.get("XMLEVAL_FUZZ_SECONDS", "30"))
EXAMPLES = 25  # of a round
ROWS, LABELS = 7, 9
MOST_MIB = 700  # that memory may grow by; pyarrow, kernels and all
CASES = [
    *(("truth", name) for name in TRUTHS),
    *(("scores", name) for name in SCORES),
    ("names", "qrels"),
    ("names", "run"),
    ("pairs", "txt"),
]
TOKENS = [
    b"nan", b"inf", b"-1", b"0", b"1", b"7", b"9", b"1e999", b"99999999999999999999", b"1000000000000", b":",
    b",", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"{", b"}", b"'", b'"',
    b"%", b"?", b"<", b"&x;", b"@data", b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY", b"PAR1", b"ARROW1",
    b"\xff\xff\xff\x7f",
]  # fmt: skip
Edit = tuple[str, float, float, bytes]
edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "put", "cut", "double", "end", "put", "over"]),
        st.floats(0, 1),
        st.floats(0, 1),
        st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=4,
)

pytestmark = pytest.mark.slow


def edited(held: bytes, changes: list[Edit]) -> bytes:
    """Bytes that are changed at shares of their length."""
    for kind, at, much, token in changes:
        place = int(at * len(held))
        length = int(much**4 * len(held)) + 1  # mostly short
        before, part, after = held[:place], held[place : place + length], held[place + length :]
        if kind == "flip":
            part = bytes([part[0] ^ 1 << int(much * 7)]) + part[1:] if part else b""
        elif kind == "put":
            part = token + part
        elif kind == "over":
            part, after = token, held[place + len(token) :]
        elif kind == "cut":
            part = b""
        elif kind == "double":
            part += part
        elif kind == "end":
            after = b""
        held = before + part + after
    return held


def edited_inside(path: Path, held: bytes, changes: list[Edit], inner: float) -> bytes:
    """The same below a layer of packing that stays whole, where there is one."""
    if held[:2] == b"\x1f\x8b":
        return gzip.compress(edited(gzip.decompress(held), changes))
    if path.suffix != ".npz":
        return edited(held, changes)
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(held)) as archive,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        names = archive.namelist()
        for name in names:
            member = archive.read(name)
            made.writestr(
                name, edited(member, changes) if name == names[int(inner * len(names)) - 1] else member
            )
    return out.getvalue()


def make_case(folder: Path, role: str, name: str) -> tuple[list[Path], list[str]]:
    """Write valid files; return those that are to be damaged, and a command line that reads them."""
    truth, scores = make_truth(ROWS, LABELS), make_scores(ROWS, LABELS, 3)
    words = ["--metrics", "p@1,f1.micro@3" if role == "pairs" else "p@1,lrap,auc.micro,f1.micro@3"]
    if role == "names":
        paths = qrels(folder / "Y", truth), trec_run(folder / "m", scores)
        return [paths[name == "run"]], [*map(str, paths), *words]
    given = npz(folder / "Y", truth), npy(folder / "m", scores)
    if role == "pairs":
        (folder / "pairs.txt").write_text("0 1\n3 2\n")
        return [folder / "pairs.txt"], [*map(str, given), *words, "--exclude", str(folder / "pairs.txt")]
    before = set(folder.iterdir())
    path = (TRUTHS if role == "truth" else SCORES)[name](
        folder / "damaged", truth if role == "truth" else scores
    )
    damaged = sorted(set(folder.iterdir()) - before)  # an XML file, or a file of scores, may be one of two
    return damaged, [*map(str, (path, given[1]) if role == "truth" else (given[0], path)), *words]


def outcome(words: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def commands(role: str, words: list[str], out: Path) -> list[list[str]]:
    """Commands that read the damaged file, in memory that is cut small and in one piece."""
    found = [["evaluate", *words], ["evaluate", *words, "--memory", "500"]]
    if role in ("truth", "scores"):
        path = words[0] if role == "truth" else words[1]
        found.append(["convert", path, str(out), "--kind", role])
    if role == "truth":
        found.append(["stats", path])
    return found


@pytest.mark.parametrize(("role", "name"), CASES, ids=["-".join(case) for case in CASES])
def test_damage_is_read_or_refused_in_one_line(
    tmp_path: Path, role: str, name: str, record_property: Callable[[str, object], None]
) -> None:
    damaged, words = make_case(tmp_path, role, name)
    tried = commands(role, words, tmp_path / "out.npz")
    for command in tried:
        assert outcome(command)[0] == 0, command
    (tmp_path / "out.npz").unlink(missing_ok=True)
    whole = {path: path.read_bytes() for path in damaged}
    there = set(tmp_path.iterdir())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def check(which: int, changes: list[Edit], inside: bool, inner: float, command: int) -> None:
        path = damaged[which % len(damaged)]
        held = whole[path]
        path.write_bytes(edited_inside(path, held, changes, inner) if inside else edited(held, changes))
        try:
            code, out, err = outcome(tried[command % len(tried)])
            if command < 2:  # however the file is cut into pieces, it is read or refused alike
                assert outcome(tried[1 - command])[:2] == (code, out)
            lines = err.splitlines()
            assert all(line.startswith("xmleval: ") and line.isprintable() for line in lines), err
            assert code in (0, 2)
            if code == 2:
                assert out == ""
                refusal = [line for line in lines if not line.endswith(("as empty", "not count", "nowhere"))]
                assert len(refusal) == 1, err
                assert not (tmp_path / "out.npz").exists()
            (tmp_path / "out.npz").unlink(missing_ok=True)
            assert set(tmp_path.iterdir()) == there
        finally:
            path.write_bytes(held)

    record_property("examples", EXAMPLES * run_for(SECONDS / len(CASES), check))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MOST_MIB


def run_for(seconds: float, check: Callable[..., Any]) -> int:
    """Try examples, other ones each round, for so long; return how many rounds there were."""
    ends = time.monotonic() + seconds
    for number in itertools.count():
        examples = given(
            which=st.integers(0, 1),
            changes=edits,
            inside=st.booleans(),
            inner=st.floats(0, 1),
            command=st.integers(0, 3),
        )(check)
        kept = settings(
            max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck)
        )
        seed(number)(kept(examples))()
        if time.monotonic() > ends:
            return number + 1
    raise AssertionError
