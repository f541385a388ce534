"""Faults that files of every format can have, through the command line."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import IRREGULAR, METRICS
from tests.made_files import NAMED, SCORES, TRUTHS, make_scores, make_truth, named_pair, npz

FORMATS = [*(("truth", name) for name in TRUTHS), *(("scores", name) for name in SCORES)]
FORMATS += [("names", name) for name in NAMED]
TEXT = ("xmc", "xmc-data", "svmlight", "mulan", *(name for name in NAMED if not name.endswith("-gz")))


def place(role: str, name: str) -> tuple[Path, str]:
    """Write a valid file, and return it with the command line that reads it."""
    if role == "names":
        paths = named_pair(name, Path(), make_truth(), make_scores())
        return paths[NAMED[name][0] == "scores"], f"evaluate {paths[0]} {paths[1]}"
    if role == "truth":
        path = TRUTHS[name](Path("Z"), make_truth())
        return path, f"evaluate {path} m"
    path = SCORES[name](Path("z"), make_scores())
    return path, f"evaluate Y.npz {path}"


def beginning(said: str, path: Path) -> str:
    """What is said of a file, which comes first."""
    assert said.startswith(f"{path}: "), said
    return said.removeprefix(f"{path}: ")


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_valid_files_are_read(folder: Path, run: Any, role: str, name: str) -> None:
    run(f"{place(role, name)[1]} {METRICS}")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_cut_short(says: Any, role: str, name: str, share: float) -> None:
    path, line = place(role, name)
    held = path.read_bytes()
    stop = int(share * len(held))
    if name in TEXT:  # within a line, lest what is left be another valid file
        lines = held.splitlines(keepends=True)
        whole = int(share * len(lines))
        stop = len(b"".join(lines[:whole])) + (7 if name == "mulan" else 3)
    path.write_bytes(held[:stop])
    other = "m: 60 rows do not match" if name == "ids" else str(path)  # any lines of ids are some rows
    assert says(line).startswith((f"{path}: ", other))


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_empty_missing_and_a_folder(says: Any, role: str, name: str) -> None:
    path, line = place(role, name)
    path.write_bytes(b"")
    assert beginning(says(line), path).startswith("the file is empty; expected ")
    path.unlink()
    assert beginning(says(line), path).startswith("No such file or directory")
    path.mkdir()
    assert beginning(says(line), path).startswith("is a directory; expected")


@pytest.mark.parametrize("make", IRREGULAR)
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_what_is_no_regular_file(says: Any, role: str, name: str, make: Callable[[Path], None]) -> None:
    path, line = place(role, name)
    path.unlink()
    make(path)
    assert beginning(says(line), path).startswith("not a regular file; expected ")


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_no_permission(says: Any, role: str, name: str) -> None:
    path, line = place(role, name)
    path.chmod(0)
    assert beginning(says(line), path).startswith("Permission denied; expected ")
    path.chmod(0o600)


@pytest.mark.parametrize(
    "held", [b"\x00" * 100, b"garbage\n" * 20, bytes(range(256)), b"PK\x03\x04", b"\xff" * 90]
)
@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_garbage(says: Any, role: str, name: str, held: bytes) -> None:
    path, line = place(role, name)
    path.write_bytes(held)
    assert "; expected " in beginning(says(line), path)


@pytest.mark.parametrize("fault", ["garbage", "packed garbage", "cut", "flipped", "trailing"])
@pytest.mark.parametrize(("role", "name"), [(role, name) for role, name in FORMATS if name in TEXT])
def test_gzip_of_garbage(says: Any, role: str, name: str, fault: str) -> None:
    path, line = place(role, name)
    packed = gzip.compress(path.read_bytes())
    flipped = bytearray(packed)
    flipped[len(flipped) // 2] ^= 0x10
    path.write_bytes({
        "garbage": b"\x1f\x8b" + b"garbage" * 9,
        "packed garbage": gzip.compress(b"garbage \xff\x00" * 99),
        "cut": packed[:-20],
        "flipped": bytes(flipped),
        "trailing": packed + b"garbage",
    }[fault])  # fmt: skip
    said = beginning(says(line), path)
    assert "; expected " in said
    if fault not in ("packed garbage", "flipped"):  # which may show before the end
        assert "gzip" in said


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_both_sizes_where_rows_differ(says: Any, refused: Any, role: str, name: str) -> None:
    if role == "names":
        pytest.skip("rows are matched by name")
    made = (TRUTHS if role == "truth" else SCORES)[name]
    path = made(Path("less"), make_truth(59) if role == "truth" else make_scores(59))
    sizes = "60 rows do not match the 59 of" if role == "truth" else "59 rows do not match the 60 of"
    line = f"evaluate {path} m" if role == "truth" else f"evaluate Y.npz {path}"
    named = ("m", path) if role == "truth" else (path, "Y.npz")
    assert says(line) == f"{named[0]}: {sizes} {named[1]}"


@pytest.mark.parametrize(("role", "name"), FORMATS)
def test_both_sizes_where_labels_differ(says: Any, role: str, name: str) -> None:
    if role == "names":
        pytest.skip("labels are matched by name")
    made = (TRUTHS if role == "truth" else SCORES)[name]
    path = made(Path("wide"), make_truth(60, 33) if role == "truth" else make_scores(60, 33))
    npz(Path("m33"), make_scores(60, 30))
    said = says(f"evaluate {path} m33.npz" if role == "truth" else f"evaluate Y.npz {path}")
    if role == "scores" and name in (
        "npy",
        "npy-labels",
        "npz-list",
        "npz-list-packed",
        "npz-calibration",
    ):  # which do not tell a number of labels
        assert "label id 3" in said
        assert "is not in 0..29" in said
    else:
        assert "33" in said or name.startswith(("svmlight", "ids"))  # as wide as the rows so far
        assert "30" in said
