"""Any rows of any format: those from one on, up to another, and what is wrong at the end of a file."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import SCORES, TRUTHS, make_scores, make_truth, npz
from xmleval.budget import UNLIMITED
from xmleval.cluster.evaluation import cut_files, evaluate_files
from xmleval.cluster.run import SerialEngine
from xmleval.files import archive
from xmleval.input.formats.registry import find_format
from xmleval.input.reader import joined, rows_from

KINDS = {f"truth {name}": write for name, write in TRUTHS.items() if name != "qrels"}
KINDS |= {f"scores {name}": write for name, write in SCORES.items()}
N_ROWS = 23


def stacked(pieces: list[Any]) -> tuple[Any, ...]:
    """Return the rows of pieces: labels and scores of lists, or an array."""
    if isinstance(pieces[0], tuple):
        columns = zip(*pieces, strict=True)
        return tuple(None if own[0] is None else np.concatenate(own).tolist() for own in columns)
    if sp.issparse(pieces[0]):
        width = max(piece.shape[1] for piece in pieces)
        wide = [sp.csr_array((p.data, p.indices, p.indptr), shape=(p.shape[0], width)) for p in pieces]
        return (sp.vstack(wide).toarray().tolist(),)
    return (np.concatenate(pieces).tolist(),)


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_every_format(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = name.partition(" ")[0]
    monkeypatch.chdir(tmp_path)
    matrix = make_truth(N_ROWS) if kind == "truth" else make_scores(N_ROWS)
    path = KINDS[name](Path("z"), matrix)
    make: Any = find_format(path, kind=kind)[0].pieces
    several = joined([(f"{n}", make(path, kind, UNLIMITED)) for n in range(2)])
    whole = stacked([*several.read(1 << 10)])
    width = 0 if len(whole) > 1 else len(whole[0][0])
    for first, stop in (
        (0, 9),
        (3, 4),
        (5, N_ROWS),
        (11, N_ROWS + 7),
        (N_ROWS, N_ROWS + 1),
        (40, 2 * N_ROWS),
    ):
        pieces = [*rows_from(several, 200, first, stop)]
        found = stacked(pieces)
        if sp.issparse(pieces[0]):
            found = ([row + [0.0] * (width - len(row)) for row in found[0]],)
        assert found == tuple(None if own is None else own[first:stop] for own in whole)


def test_no_rows_are_read_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an archive, only what tells where rows are is read besides."""
    path = npz(tmp_path / "z", make_scores(1300))
    make: Any = find_format(path, kind="scores")[0].pieces
    pieces, taken = make(path, "scores", UNLIMITED), list[int]()
    exactly = archive._exactly

    def counting(file: Any, n: int, dtype: np.dtype[Any]) -> Any:
        taken.append(n * dtype.itemsize)
        return exactly(file, n, dtype)

    monkeypatch.setattr(archive, "_exactly", counting)
    for first, n, n_bytes in itertools.product((0, 1, 700), (1, 7, 500), (1, 100, 1 << 20)):
        taken.clear()
        assert sum(piece.shape[0] for piece in rows_from(pieces, n_bytes, first, first + n)) == n
        assert sum(taken) <= n * 6 * (4 + 8) + (n + 3) * 8  # entries of float32 and int64, and pointers


def test_what_is_wrong_at_the_end_of_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "Y.txt").write_text("2 4\n0:1\n1:1\n2:1\n")
    np.save(tmp_path / "m.npy", np.eye(4)[:2])
    files = {"y_true": tmp_path / "Y.txt", "y_score": tmp_path / "m.npy"}
    job, tasks = cut_files(files, metrics="p@1")
    with pytest.raises(ValueError, match=r"Y\.txt: .*row"):
        evaluate_files(SerialEngine(), job, tasks)
