"""Damage, mounts, policies and files as they come: one line or the right value, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from tests.commands import process
from tests.damage import answer
from tests.made_files import make_scores, make_truth, npy, npz
from xmleval.cli import checkpoint

WORDS = ["evaluate", "Y.npz", "m", "--metrics", "p@1", "--output", "o.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(Path("Y"), make_truth())
    npy(Path("m"), make_scores())
    return tmp_path


def failing(number: int) -> Callable[..., NoReturn]:
    """Return a function of the system that fails."""

    def fail(*args: Any, **options: Any) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("option", ["--label-groups", "--row-groups", "--clusters", "--hierarchy"])
def test_lines_that_csv_cannot_read_are_refused(option: str) -> None:
    more = {"--clusters": "--confidence 0.9", "--hierarchy": "--metrics h_f1.micro@1"}.get(option, "")
    for text, message in (
        (b"0,a\r1,b\r2,c\n", "line 1: a carriage return within it; save the file with lines that end in"),
        (b"0," + b"a" * 140_000 + b"\n1,b\n", "line 1: field larger than field limit (131072)"),
    ):
        Path("g.txt").write_bytes(text)
        code, _, err = answer(["evaluate", "Y.npz", "m", option, "g.txt", *more.split()])
        assert (code, err.count("\n")) == (2, 1)
        assert f"g.txt: {message}" in err


@pytest.mark.parametrize(
    ("function", "number"),
    [("link", errno.EPERM), ("replace", errno.EBUSY)],  # forbidden; the file is a mount
)
def test_outputs_are_written_where_a_system_call_fails(monkeypatch: Any, function: str, number: int) -> None:
    files = sorted([*os.listdir(), "o.json"])
    Path("o.json").write_text("old")
    os.chmod("o.json", 0o600)
    inode = os.stat("o.json").st_ino
    monkeypatch.setattr(os, function, failing(number))
    assert answer(WORDS)[0] == 0
    assert '"p@1"' in Path("o.json").read_text()
    assert os.stat("o.json").st_mode & 0o777 == 0o600  # a private file stays private
    assert function == "link" or os.stat("o.json").st_ino == inode
    if function == "link":
        Path("o.json").unlink()
        assert answer(WORDS)[0] == 0
    assert sorted(os.listdir()) == files


def test_a_mount_that_cannot_be_written_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("o.json").write_text("old")
    monkeypatch.setattr(os, "replace", failing(errno.EBUSY))
    monkeypatch.setattr(shutil, "copyfileobj", failing(errno.ENOSPC))
    code, _, err = answer(WORDS)
    assert (code, err.count("\n")) == (2, 1)
    assert "o.json: No space left on device; the output is whole in " in err
    (hidden,) = [name for name in os.listdir() if name.startswith(".o.json")]
    assert hidden in err
    assert '"p@1"' in Path(hidden).read_text()


def interrupt_at_checkpoint(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command that is interrupted after it saves the first checkpoint, in the folder cp."""
    save = checkpoint.Checkpoint.save_sometimes

    def stopped(self: Any, *args: Any) -> None:
        save(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "LEAST_SECONDS", 0.0)
        patched.setattr(checkpoint, "SHARE", 0)
        patched.setattr(checkpoint.Checkpoint, "save_sometimes", stopped)
        assert answer([*words, "--checkpoint", "cp"])[0] == 130


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["m_indices.npy", "D.npy"])
def test_a_run_that_ended_after_its_last_row_goes_on(monkeypatch: Any, name: str, order: Any) -> None:
    array = np.load(name) if name == "m_indices.npy" else make_scores().toarray()
    np.save(name, np.asarray(array, order=order))
    words = ["evaluate", "Y.npz", name, "--metrics", "p@1", "--format", "csv"]
    expected = answer(words)
    assert expected[0] == 0
    interrupt_at_checkpoint(words, monkeypatch)
    assert answer([*words, "--checkpoint", "cp", "--resume"])[:2] == expected[:2]


def test_a_flipped_bit_is_refused_by_all_that_read_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 60_000
    labels = np.random.default_rng(0).integers(0, 40, n).astype(np.int32)
    truth = sp.csr_array((np.ones(n, np.uint8), labels, np.arange(n + 1, dtype=np.int32)), shape=(n, 50))
    sp.save_npz("Y.npz", truth, compressed=False)
    np.save("S_indices.npy", labels[:, None])
    words = ["evaluate", "Y.npz", "S_indices.npy", "--metrics", "p@1", "--memory", "16MB"]
    interrupt_at_checkpoint(words, monkeypatch)
    stat, data = os.stat("Y.npz"), bytearray(Path("Y.npz").read_bytes())
    data[data.find(labels[-2000:-1984].tobytes())] ^= 1
    Path("Y.npz").write_bytes(data)
    os.utime("Y.npz", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    workers = [["--workers", "2"]] if find_spec("distributed") else []
    for more in ([], ["--checkpoint", "cp", "--resume"], *workers):
        code, _, err = answer([*words, *more])
        assert code == 2
        assert "Y.npz: Bad CRC-32 for file 'indices.npy'" in err


def test_a_long_name_in_many_rows_of_parquet_is_held_once() -> None:
    n = 1000
    parquet.write_table(pa.table({"instance": ["r0"], "label": ["a"]}), "t.parquet")
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * 1_000_000]))
    columns = {"instance": [f"r{i}" for i in range(n)], "score": np.arange(n) / n, "label": codes}
    parquet.write_table(pa.table(columns), "s.parquet")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert answer(["evaluate", "t.parquet", "s.parquet", "--metrics", "p@1", "--memory", "16MB"])[0] == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB; texts take 1 GB


def test_statistics_of_no_rows_are_undefined() -> None:
    Path("none.txt").write_text("0 30\n")
    statistics = json.loads(answer(["stats", "none.txt", "--train", "Y.npz", "--format", "json"])[1])
    assert (statistics["n_rows"], statistics["n_labels"], statistics["label_cardinality"]) == (0, 30, None)


def test_names_that_look_like_patterns_are_names() -> None:
    for name in ("z[1]", "z1"):
        npy(Path(name), make_scores(seed=1 if name == "z[1]" else 9))
    words = "evaluate Y.npz {} --metrics p@1 --format csv"
    expected = answer(words.format("m").split())
    assert expected[0] == 0
    for name in ("z[1]", "z[1]_indices.npy", "[m]*"):
        assert answer(words.format(name).split()) == expected


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_stdout_is_named() -> None:
    with open("/dev/full", "w") as full:
        done = process("xmleval", "evaluate", "Y.npz", "m", stdout=full)
    assert (done.returncode, done.stderr) == (2, "xmleval: stdout: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_kernels_read_nothing_beside_their_arrays(flag: str, tmp_path: Path) -> None:
    code = """
import numpy as np, xmleval
y, s = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]]), np.array([[.9, .2, .3], [.1, .7, .6], [.3, .2, .8]])
names = ["auc.micro", "p@1", "lrap", "ndcg@3", "risk(coverage=1)@1", "f1.samples@1", "ap.geometric"]
values = dict(xmleval.evaluate(y, s, metrics=names, conventions={"zero_division": float("nan")}))
values["none"] = xmleval.evaluate(y * [1, 1, 0], s, metrics="ap.geometric")["ap.geometric"]
print(values)
"""
    plain = process(code, python="-c")
    checked = process(code, python="-c", env={flag: "1", "NUMBA_CACHE_DIR": str(tmp_path)})
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout == plain.stdout
