"""Labels and scores that do not fit: every format names their row or line, and an array its argument."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.damage import answer
from tests.faults.arrays import ANY_CSR
from tests.made_files import SCORES, TRUTHS, as_list, make_scores, make_truth, npz, trec_run
from xmleval import evaluate
from xmleval.io import read_truth


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    npz(Path("Y"), make_truth())
    return tmp_path


def messages(truth: str, path: str) -> str:
    """Return what an evaluation of files is refused with, in memory that is enough and cut small."""
    lines = set()
    for memory in ("64MB", "2kB"):
        code, out, err = answer(["evaluate", truth, path, "--metrics", "p@1,lrap", "--memory", memory])
        assert (code, out, err.count("\n")) == (2, "", 1)
        lines.add(err.removeprefix("xmleval: "))
    assert len(lines) == 1
    return lines.pop()


LISTS = ("npy", "npy-labels", "npz-list", "npz-list-packed", "npz-calibration")  # without a number of labels
WRONG = [  # row, label, score, and the message
    (7, 30, None, r"label id 30 is not in 0\.\.29|axis 1 index 30 exceeds matrix dimension 30"),
    (7, -2, None, r"label id -2 is not in 0\.\.29|negative axis 1 index: -2"),
    (59, 6, None, "label id 6 occurs twice; ids of a row must be distinct"),
    (8, None, np.nan, "score nan is not a number; scores must be ordered|a score is NaN"),
]


@pytest.mark.parametrize(("row", "label", "score", "message"), WRONG)
def test_a_wrong_value_is_named_by_its_row(row: int, label: Any, score: Any, message: str) -> None:
    """By what reads files, by what writes them, and in arrays."""
    scores = make_scores()
    scores.has_canonical_format = True
    entry = scores.indptr[row] + 1
    scores.indices[entry] = scores.indices[entry] if label is None else label
    scores.data[entry] = scores.data[entry] if score is None else score
    rows = f"row ({row}|{entry}): ({message})"  # of a table with a row for each entry
    for form in (scores, as_list(scores)):
        with pytest.raises(ValueError, match=f"^y_score: {rows}"):
            evaluate(make_truth(), form)
    read = set()
    for name, write in {**SCORES, "run": trec_run}.items():
        try:
            path = str(write(Path(name), scores.copy()))
        except ValueError as error:
            assert re.search(message, str(error)), name  # noqa: PT017
        else:
            assert re.match(f"{path}: {rows}", actual := messages("Y.npz", path)), actual
            read.add(name)
    assert read >= {"npz", "npz-packed", *LISTS}


@pytest.mark.parametrize("role", ["truth", "scores"])
def test_sizes_that_differ_are_both_named(role: str) -> None:
    """Rows of 59 beside 60, and labels of 33 beside 30."""
    scores = str(npz(Path("S"), make_scores()))
    made, make = (TRUTHS, make_truth) if role == "truth" else (SCORES, make_scores)
    for name, write in made.items():
        few, wide = (str(write(Path(f"{name}-{size[0]}"), make(*size))) for size in ((59, 30), (60, 33)))
        sizes = "60 rows do not match the 59" if role == "truth" else "59 rows do not match the 60"
        pair = (few, scores) if role == "truth" else ("Y.npz", few)
        assert messages(*pair) == f"{pair[1]}: {sizes} of {pair[0]}\n"
        if role == "scores" or not name.startswith(("svmlight", "ids", "npz-calibration")):  # as wide as rows
            labels = r"label id 3\d is not in 0\.\.29" if name in LISTS else "30 labels.* 33|33 labels.* 30"
            actual = messages(*((wide, scores) if role == "truth" else ("Y.npz", wide)))
            assert re.search(labels, actual), actual


@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("part", ["data", "indices", "indptr", "shape", "format"])
def test_pickles_in_archives_are_never_run(role: str, part: str) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, ("unpickled",)

    np.savez("Z.npz", **(ANY_CSR | {part: np.array([Bomb()], dtype=object)}))
    pair = ("Z.npz", "Y.npz") if role == "truth" else ("Y.npz", "Z.npz")
    assert messages(*pair).startswith(f"Z.npz: {part}.npy: Python objects are not supported; expected ")
    Path("Z.npz").write_bytes(pickle.dumps(Bomb()))
    assert messages(*pair).startswith("Z.npz: not a zip archive; expected ")
    assert not Path("unpickled").exists()


@pytest.mark.parametrize("scheme", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("inner", "value"), [("indptr", [0, 2, 1, 2, 2]), ("indices", [0, 9]), ("indices", [0, -7])]
)
def test_inner_lies_are_refused_where_the_matrix_is_used(scheme: str, inner: str, value: list[int]) -> None:
    parts = {
        **ANY_CSR, "format": scheme, "shape": (4, 4), "indptr": np.array([0, 1, 1, 2, 2]),
        "data": np.ones((2, 1, 1) if scheme == "bsr" else 2), inner: np.array(value),
    }  # fmt: skip
    np.savez("Z.npz", **parts)
    with pytest.raises(ValueError, match="y_true: "):
        evaluate(read_truth("Z.npz"), np.ones((4, 4)))
