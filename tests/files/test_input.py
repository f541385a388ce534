"""Files of this machine: opened for their headers and rows, and shared by their readers."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from xmleval.files.input import InputFile

N_DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("compressed", [False, True])
def test_archives_are_opened_twice(compressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for name in ("Y.npz", "S.npz"):
        sp.save_npz(
            name,
            sp.random_array((2000, 90), density=0.2, format="csr", rng=rng),
            compressed=compressed,
        )
    truth = sp.load_npz("Y.npz").astype(bool)
    sp.save_npz("Y.npz", truth, compressed=compressed)
    opens = list[str]()
    open_file = os.open

    def counting(path: Any, *arguments: Any, **options: Any) -> int:
        opens.append(os.path.basename(path))
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(os, "open", counting)
    value = xmleval.evaluate("Y.npz", "S.npz", metrics="p@5")["p@5"]
    assert [opens.count(name) for name in ("Y.npz", "S.npz")] == [2, 2]  # beside caches of kernels
    assert value == xmleval.evaluate(truth, sp.load_npz("S.npz"), metrics="p@5")["p@5"]


def test_readers_of_one_file_have_places_of_their_own() -> None:
    content = np.random.default_rng(0).bytes(200_000)
    Path("rows.bin").write_bytes(content)
    file = InputFile(Path("rows.bin"))

    def read(start: int) -> bytes:
        with file.open() as opened:
            opened.seek(start)
            return b"".join(iter(lambda: opened.read(997), b""))

    n_before = len([*N_DESCRIPTORS.iterdir()])
    with ThreadPoolExecutor(8) as pool:
        starts = range(0, 200_000, 500)
        assert [*pool.map(read, starts)] == [content[start:] for start in starts]
    assert len([*N_DESCRIPTORS.iterdir()]) == n_before
