"""Damage, mounts, policies and files as they come: one line or the right value, and nothing lost."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import xmleval.cli.checkpoint
from xmleval.cli import main

M, L = 50, 20
rng = np.random.default_rng(0)
TRUTH = (rng.random((M, L)) < 0.2).astype(np.uint8)
IDS = np.argsort(rng.random((M, L)), axis=1)[:, :5]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(TRUTH))
    np.save("m_indices.npy", IDS)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("option", ["--label-groups", "--row-groups", "--clusters", "--hierarchy"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"0,a\r1,b\r2,c\n", "line 1: a carriage return within it; save the file with lines that end in"),
        (b"0," + b"a" * 140_000 + b"\n1,b\n", "line 1: field larger than field limit (131072)"),
    ],
)
def test_lines_that_csv_cannot_read_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, text: bytes, told: str
) -> None:
    Path("g.txt").write_bytes(text)
    more = {"--clusters": ["--confidence", "0.9"], "--hierarchy": ["--metrics", "h_f1.micro@1"]}.get(
        option, []
    )
    assert f"g.txt: {told}" in refused(capsys, "evaluate", "Y.npz", "m", option, "g.txt", *more)


class TestOutputs:
    WORDS = ("evaluate", "Y.npz", "m", "--metrics", "p@1", "--output", "o.json")

    def test_where_links_are_forbidden(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(*args: Any, **more: Any) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", forbidden)
        for _ in range(2):  # a new file, and one in its place
            assert main([*self.WORDS]) == 0
            assert '"p@1"' in Path("o.json").read_text()
        assert sorted(os.listdir()) == ["Y.npz", "m_indices.npy", "o.json"]

    def test_where_the_file_is_a_mount(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("o.json").write_text("old")
        inode = os.stat("o.json").st_ino

        def busy(*args: Any) -> None:
            raise OSError(errno.EBUSY, "Device or resource busy")

        monkeypatch.setattr(os, "replace", busy)
        assert main([*self.WORDS]) == 0
        assert '"p@1"' in Path("o.json").read_text()
        assert os.stat("o.json").st_ino == inode
        assert sorted(os.listdir()) == ["Y.npz", "m_indices.npy", "o.json"]

    def test_a_mount_that_cannot_be_written_loses_nothing(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("o.json").write_text("old")

        def busy(*args: Any) -> None:
            raise OSError(errno.EBUSY, "Device or resource busy")

        def full(*args: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "replace", busy)
        monkeypatch.setattr(shutil, "copyfileobj", full)
        told = refused(capsys, *self.WORDS)
        assert "o.json: No space left on device; the output is whole in " in told
        (hidden,) = [name for name in os.listdir() if name.startswith(".o.json")]
        assert hidden in told
        assert '"p@1"' in Path(hidden).read_text()

    def test_a_private_file_stays_private(self, folder: Path) -> None:
        Path("o.json").write_text("old")
        os.chmod("o.json", 0o600)
        assert main([*self.WORDS]) == 0
        assert os.stat("o.json").st_mode & 0o777 == 0o600


def interrupt_at_checkpoint(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command that is interrupted after it saves the first checkpoint, in the folder cp."""
    monkeypatch.setattr(xmleval.cli.checkpoint, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(xmleval.cli.checkpoint, "SHARE", 0)
    save = xmleval.cli.checkpoint.Checkpoint.save_sometimes

    def stopped(self: Any, *args: Any) -> None:
        save(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(xmleval.cli.checkpoint.Checkpoint, "save_sometimes", stopped)
        assert main([*words, "--checkpoint", "cp"]) == 130


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["m_indices.npy", "D.npy"])
def test_a_run_that_ended_after_its_last_row_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, order: Any
) -> None:
    array = IDS if name == "m_indices.npy" else rng.random((M, L)).astype(np.float32)
    np.save(name, np.asarray(array, order=order))
    words = ["evaluate", "Y.npz", name, "--metrics", "p@1", "--format", "csv"]
    assert main(words) == 0
    expected = capsys.readouterr().out
    interrupt_at_checkpoint(words, monkeypatch)
    capsys.readouterr()
    assert main([*words, "--checkpoint", "cp", "--resume"]) == 0
    assert capsys.readouterr().out == expected


def test_a_flipped_bit_is_refused_by_all_that_read_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    n = 60_000
    labels = rng.integers(0, 40, n).astype(np.int32)
    truth = sp.csr_array((np.ones(n, np.uint8), labels, np.arange(n + 1, dtype=np.int32)), shape=(n, 50))
    sp.save_npz("Y.npz", truth, compressed=False)
    np.save("S_indices.npy", labels[:, None])
    words = ["evaluate", "Y.npz", "S_indices.npy", "--metrics", "p@1", "--memory", "16MB"]
    interrupt_at_checkpoint(words, monkeypatch)
    whole = bytearray(Path("Y.npz").read_bytes())
    at = whole.find(labels[-2000:-1984].tobytes())
    whole[at] ^= 1
    stat = os.stat("Y.npz")
    Path("Y.npz").write_bytes(whole)
    os.utime("Y.npz", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    capsys.readouterr()
    with_workers = [["--workers", "2"]] if find_spec("distributed") else []
    for more in ([], ["--checkpoint", "cp", "--resume"], *with_workers):
        assert main([*words, *more]) == 2
        assert "Y.npz: Bad CRC-32 for file 'indices.npy'" in capsys.readouterr().err


def test_a_long_name_in_many_rows_of_parquet_is_held_once(tmp_path: Path) -> None:
    n = 1000
    columns = {"instance": [f"r{i}" for i in range(n)], "score": np.arange(n) / n}
    parquet.write_table(pa.table({"instance": ["r0"], "label": ["a"]}), tmp_path / "t.parquet")
    words = ["evaluate", "t.parquet", "s.parquet", "--metrics", "p@1", "--memory", "16MB"]
    code = (
        "import resource, sys, xmleval.cli\n"
        f"assert xmleval.cli.main({words}) == 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for length in (1, 1, 1_000_000):  # the first may compile kernels
        codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * length]))
        parquet.write_table(pa.table({**columns, "label": codes}), tmp_path / "s.parquet")
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[2] - peaks[1] < 300_000  # KiB; a text for each row takes 1 GB


@pytest.mark.parametrize(
    "flag", ["NUMBA_DISABLE_JIT", pytest.param("NUMBA_BOUNDSCHECK", marks=pytest.mark.slow)]
)
def test_kernels_read_nothing_beside_their_arrays(flag: str, tmp_path: Path) -> None:
    code = """
import numpy as np, xmleval
y, s = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]]), np.array([[.9, .2, .3], [.1, .7, .6], [.3, .2, .8]])
names = ["auc.micro", "p@1", "lrap", "ndcg@3", "risk(coverage=1)@1", "f1.samples@1", "ap.geometric"]
found = dict(xmleval.evaluate(y, s, metrics=names, conventions={"zero_division": float("nan")}))
found["none"] = xmleval.evaluate(y * [1, 1, 0], s, metrics="ap.geometric")["ap.geometric"]
print(found)
"""
    plain, checked = (
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **more}, capture_output=True, text=True
        )
        for more in ({}, {flag: "1", "NUMBA_CACHE_DIR": str(tmp_path)})
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout == plain.stdout
