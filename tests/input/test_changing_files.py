"""Files that are changed while they are read: their rows are those of one version, or they are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.made_files import SCORES, TRUTHS, make_scores, make_truth
from xmleval.budget import UNLIMITED
from xmleval.evaluator import Evaluator
from xmleval.input.formats.registry import find_format

CHANGED = "changed while it was read, from "


def write_dense(path: Path, matrix: Any) -> Path:
    np.save(path.with_suffix(".npy"), matrix.toarray())
    return path.with_suffix(".npy")


def write_columns(path: Path, matrix: Any) -> Path:
    np.save(path.with_suffix(".npy"), np.asfortranarray(matrix.toarray()))
    return path.with_suffix(".npy")


def write_archived(path: Path, matrix: Any) -> Path:
    np.savez(path.with_suffix(".npz"), scores=matrix.toarray())
    return path.with_suffix(".npz")


MAKERS = {f"truth {name}": make for name, make in TRUTHS.items() if name != "qrels"}  # which are read whole
MAKERS |= {f"scores {name}": make for name, make in SCORES.items()}
MAKERS |= {"truth dense": write_dense, "scores dense": write_dense, "scores columns": write_columns}
MAKERS["scores npz-dense"] = write_archived
IN_PIECES = [name for name in MAKERS if not name.endswith(("-csc", "-coo", "truth npz-calibration"))]


class Made(NamedTuple):
    """A file, what it holds, and a file of the same format with other rows."""

    path: Path
    kind: str
    other: Path

    def read(self, n_bytes: int) -> Any:
        """Read the header, and return the rows to come."""
        pieces = find_format(self.path, kind=self.kind)[0].pieces
        assert pieces is not None
        return pieces(self.path, self.kind, UNLIMITED).read(n_bytes)


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.chdir(tmp_path)
    Path("other").mkdir()
    kind = request.param.split()[0]
    make = make_truth if kind == "truth" else make_scores
    maker = MAKERS[request.param]
    paths = [maker(Path(stem), make(400, seed=seed)) for seed, stem in enumerate(("z", "other/z"))]
    for number, path in enumerate(paths):
        os.utime(path, ns=(10**18, 10**18 + number))  # as files that are written at once may be of one time
    return Made(paths[0], kind, paths[1])


def cut_short(made: Made) -> None:
    os.truncate(made.path, made.path.stat().st_size // 2)


def grown(made: Made) -> None:
    with open(made.path, "ab") as file:
        file.write(b"\n")


def rewritten(made: Made) -> None:
    with open(made.path, "r+b") as file:
        file.truncate()
        file.write(made.other.read_bytes())
    os.utime(made.path, ns=(10**18, 10**18 + 1))


def replaced(made: Made) -> None:
    made.other.replace(made.path)


def rows_of(pieces: list[Any]) -> list[Any]:
    parts = [piece if isinstance(piece, tuple) else (piece,) for piece in pieces]
    wide = [
        part.toarray() if sp.issparse(part) else part for piece in parts for part in piece if part is not None
    ]
    return [np.trim_zeros(row, "b").tolist() for part in wide for row in part]


@pytest.mark.parametrize("change", [cut_short, grown, rewritten, replaced])
@pytest.mark.parametrize("made", IN_PIECES, indirect=True)
def test_changed_between_header_and_rows(made: Made, change: Callable[[Made], None]) -> None:
    rows = made.read(1 << 20)
    change(made)
    with pytest.raises(ValueError, match=f"{made.path}: {CHANGED}.*; expected "):
        list(rows)


@pytest.mark.parametrize("change", [cut_short, grown, rewritten])
@pytest.mark.parametrize("made", IN_PIECES, indirect=True)
def test_changed_between_rows(made: Made, change: Callable[[Made], None]) -> None:
    rows = made.read(64)
    next(rows)
    change(made)
    with pytest.raises(ValueError, match=f"{made.path}: {CHANGED}.*; expected "):
        list(rows)


@pytest.mark.parametrize("made", MAKERS, indirect=True)
def test_replaced_between_rows(made: Made) -> None:
    expected = rows_of(list(made.read(64)))
    rows = made.read(64)
    first = next(rows)
    replaced(made)
    assert rows_of([first, *rows]) == expected
    assert rows_of(list(made.read(64))) != expected


@pytest.mark.parametrize("scores", ["npy", "npz-list", "npz", "dense", "columns", "npz-dense", "feather"])
def test_cut_short_while_rows_are_counted(
    scores: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    truth = TRUTHS["npz"](Path("Y"), make_truth(20_000))
    path = MAKERS[f"scores {scores}"](Path("z"), make_scores(20_000))
    size, update = path.stat().st_size, Evaluator.update

    def update_and_cut(*args: Any, **more: Any) -> None:
        update(*args, **more)
        os.truncate(path, 4096)  # reading pages of a map behind it would end the process

    monkeypatch.setattr(Evaluator, "update", update_and_cut)
    said = refused(f"evaluate {truth} {path} --metrics p@1 --memory 1MB")
    assert said.startswith(f"{path}: {CHANGED}{size} bytes of ")
    assert " to 4096 bytes of " in said
