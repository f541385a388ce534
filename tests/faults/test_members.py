"""Wrong arrays in files and in archives are refused by each command in one line."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer

N_ROWS = 3
N_LABELS = 4
DENSE = np.array([[0.5, 0.25, 0.75, 0.125]] * N_ROWS)
IDS = np.array([[2, 0], [2, 1], [0, 3]])
SCORES = np.array([[0.75, 0.5]] * N_ROWS)
MATRIX = sp.csr_array((np.ones(N_ROWS), ([0, 1, 2], [2, 0, 3])), shape=(N_ROWS, N_LABELS))


def parts_of(scheme: str) -> dict[str, Any]:
    """Return the members of an archive in one of SciPy's schemes, as it writes them."""
    Path("made").mkdir(exist_ok=True)
    sp.save_npz("made/x.npz", MATRIX.asformat(scheme))
    with np.load("made/x.npz") as archive:
        return dict(archive)


PAIRS = np.array([[0, 2], [1, 0], [2, 3]])
LISTS: dict[str, dict[str, Any]] = {
    "list": {"indices": IDS, "scores": SCORES},
    "ids": {"ids": IDS, "D": SCORES},
    "dense": {"scores": DENSE},
    "pairs": {"labels": PAIRS, "prediction_ids": IDS, "scores": SCORES},
}
SCHEMES = ["csr", "csc", "coo", "bsr", "dia"]


def others(array: Any) -> Iterator[tuple[str, Any]]:
    """Yield arrays in the place of one."""
    kind = np.asarray(array).dtype
    first = np.asarray(array).reshape(-1)[:1]
    yield "scalar", first[0]
    yield "scalar of big-endian", np.array(0, ">i4")
    yield "structured", np.zeros(1, "<i4,<i4")
    yield "structured scalar", np.zeros((), "<i4,<i4")
    yield "objects", np.array([{"a": 1}, None], object)
    yield "more dimensions", np.asarray(array)[None, ..., None]
    yield "flat", np.asarray(array).reshape(-1)
    yield "negative", -np.ones(np.shape(array), np.int64)
    yield "empty", np.zeros(0, kind)
    yield "empty rows", np.zeros((0, 2), kind)
    yield "empty columns", np.zeros((N_ROWS, 0), kind)
    yield "texts", np.full(np.shape(array), "a")
    yield "bytes", np.full(np.shape(array), b"")
    yield "complex", np.ones(np.shape(array), np.complex128)
    yield "dates", np.ones(np.shape(array), "datetime64[s]")
    yield "huge", np.full(np.shape(array), 2**64 - 1, np.uint64)
    yield "nan", np.full(np.shape(array), np.nan)
    yield "booleans", np.ones(np.shape(array), np.bool_)
    yield "float16", np.ones(np.shape(array), np.float16)


COMMANDS = [
    "stats {}",
    "evaluate {} good_indices.npy --metrics p@1",
    "evaluate good.npz {} --metrics p@1,auc.micro",
    "evaluate good.npz good_indices.npy --train {} --metrics psp@1",
    "evaluate good.npz good_indices.npy --pred {} --metrics f1.micro",
    "evaluate good.npz good_indices.npy --candidates {} --metrics p@1",
    "convert {} out.npz --kind truth",
    "convert {} out.run --kind scores",
    "convert {} out.txt --kind scores",
    "fuse {} good_indices.npy --output out.npz",
    "threshold fit good.npz {} --measure f1.micro --output rule.npz",
]


def check(path: str, what: str, commands: list[str]) -> None:
    """Run commands on a file, which they read or refuse in one line."""
    for command in commands:
        for output in Path().glob("out*"):
            output.unlink()
        code, _, err = answer(command.format(path).split())
        assert code in (0, 2), (what, command, err)
        if code == 2:
            assert err.count("\n") == 1, (what, command, err)
            assert len(err) < 500, (what, command, err)


@pytest.fixture
def inputs(folder: Path) -> None:
    sp.save_npz("good.npz", MATRIX)
    np.save("good_indices.npy", IDS)


QUICK = (
    "stats {}",
    "evaluate good.npz {} --metrics p@1,auc.micro",
    "convert {} out.npz --kind scores",
)
ALL = pytest.param(COMMANDS, marks=pytest.mark.slow)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("commands", [QUICK, ALL], ids=["quick", "all"])
@pytest.mark.parametrize("name", [*SCHEMES, *LISTS])
def test_commands_refuse_wrong_members_in_one_line(name: str, commands: Any) -> None:
    parts = LISTS.get(name) or parts_of(name)
    for member in parts:
        for form, other in others(parts[member]):
            np.savez("x.npz", **{**parts, member: other})
            check("x.npz", f"{name}: {member} is {form}", commands)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("commands", [QUICK, ALL], ids=["quick", "all"])
@pytest.mark.parametrize(
    "name", ["x_indices.npy", "x_scores.npy", "x-labels.npy", "x-scores.npy", "x.npy"]
)
def test_commands_refuse_wrong_arrays_in_one_line(name: str, commands: Any) -> None:
    arrays = {
        "x_indices.npy": IDS,
        "x_scores.npy": SCORES,
        "x-labels.npy": IDS.astype(str),
        "x-scores.npy": SCORES,
    }
    for form, other in others(arrays.get(name, DENSE)):
        for path, array in itertools.chain(arrays.items(), [(name, other)]):
            np.save(path, array, allow_pickle=True)
        check(name, f"{name} is {form}", commands)
