"""Every fault of a file has one message: from readers of all rows or pieces, and commands."""

import gzip
import os
import pickle
import re
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.damage import answer, contents
from tests.faults import arrays, arrow, texts
from tests.faults.arrays import ANY_CSR
from tests.faults.fault import Fault, refused
from tests.made_files import (
    SCORES,
    TRUTHS,
    as_list,
    make_scores,
    make_truth,
    npz,
    pieces_of,
    trec_run,
)
from tests.made_tables import lists, save
from xmleval import evaluate
from xmleval.io import find_format, read_scores, read_truth, write_parquet

READERS: dict[str, Callable[[Path], Any]] = {"truth": read_truth, "scores": read_scores}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_pieces(path: Path, kind: str, n_bytes: int) -> list[Any]:
    return list(pieces_of(path, kind).read(n_bytes))


def messages(path: Path, kind: str, converted: bool) -> list[str]:
    """Return the messages of all readers of a file."""
    readers: list[Callable[[], Any]] = [lambda: READERS[kind](path)]
    if find_format(path)[0].pieces:
        for n_bytes in (1, 40, 1 << 20):
            readers.append(partial(read_pieces, path, kind, n_bytes))
    caught = []
    for read in readers:
        with pytest.raises((ValueError, OSError)) as error:
            read()
        caught.append(str(error.value))
    if converted:
        code, out, err = answer(["convert", str(path), "out.npz", "--kind", kind])
        assert (code, out) == (2, "")
        caught.append(err.removeprefix("xmleval: ").removesuffix("\n"))
    return caught


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*texts.FAULTS, *arrays.FAULTS, *arrow.FAULTS], ids=str)
def test_fault_has_one_message_from_all_readers(fault: Fault, folder: Path) -> None:
    fault.write(Path(fault.name).absolute())
    path = Path(fault.name.replace("_scores", "_indices"))  # either stands for both
    is_text = path.suffix in (".txt", ".svm", ".arff") and path.read_bytes()[:2] != b"\x1f\x8b"
    states = [False, True] if is_text else [False]
    for is_packed in states:
        if is_packed:
            path.write_bytes(gzip.compress(path.read_bytes()))
        before = contents(folder)
        is_convertible = "names..." not in fault.message
        for kind in fault.kinds:
            for message in messages(path, kind, is_convertible):
                fault.check(message, fault.name)
        assert contents(folder) == before


@pytest.mark.parametrize("fault", [*texts.FAULTS, *arrays.FAULTS, *arrow.FAULTS], ids=str)
def test_fault_is_refused_with_its_message(fault: Fault) -> None:
    fault.write(Path(fault.name).absolute())
    path = Path(fault.name.replace("_scores", "_indices"))
    for kind in fault.kinds:
        with pytest.raises((ValueError, OSError)) as error:
            READERS[kind](path)
        fault.check(str(error.value), fault.name)


# ---------------------------------------------------------- labels and scores that do not fit


def refusal(truth: str, path: str) -> str:
    """Return the error of an evaluation of files, the same with much and with little memory."""
    lines = set()
    for memory in ("64MB", "2kB"):
        options = ["--metrics", "p@1,lrap", "--memory", memory]
        code, out, err = answer(["evaluate", truth, path, *options])
        assert (code, out, err.count("\n")) == (2, "", 1)
        lines.add(err.removeprefix("xmleval: "))
    assert len(lines) == 1
    return lines.pop()


# formats without the number of labels
UNSIZED = (
    "npy",
    "npy-labels",
    "npz-list",
    "npz-list-packed",
    "npz-calibration",
)
WRONG_VALUES = [
    pytest.param(
        7,
        30,
        None,
        r"label id 30 is not in 0\.\.29|axis 1 index 30 exceeds matrix dimension 30",
        id="large label",
    ),
    pytest.param(
        7,
        -2,
        None,
        r"label id -2 is not in 0\.\.29|negative axis 1 index: -2",
        id="negative label",
    ),
    pytest.param(
        59,
        6,
        None,
        "label (id )?6 occurs twice; (ids of a row must be distinct|expected each label once)",
        id="repeated label",
    ),
    pytest.param(
        8,
        None,
        np.nan,
        "score nan is not a number; scores must be ordered|a score is NaN",
        id="nan",
    ),
]


@pytest.mark.parametrize(("row", "label", "score", "message"), WRONG_VALUES)
def test_wrong_value_is_reported_with_its_row(
    row: int, label: Any, score: Any, message: str
) -> None:
    """The row is reported by readers and writers of files, and for arrays."""
    scores = make_scores()
    scores.has_canonical_format = True
    entry = scores.indptr[row] + 1
    if label is not None:
        scores.indices[entry] = label
    if score is not None:
        scores.data[entry] = score
    rows = f"(instance: )?row ({row}|{entry}): ({message})"  # of a table with a row for each entry
    for form in (scores, as_list(scores)):
        with pytest.raises(ValueError, match=f"^y_score: {rows}"):
            evaluate(make_truth(), form)
    truth = str(npz(Path("Y"), make_truth()))
    read = set()
    for name, write in {**SCORES, "run": trec_run}.items():
        if label is not None and "dense" in name:
            continue  # its columns are the labels
        try:
            path = str(write(Path(name), scores.copy()))
        except ValueError as error:
            assert re.search(message, str(error)), name  # noqa: PT017
        else:
            actual = refusal(truth, path)
            assert re.match(f"{path}: {rows}", actual), actual
            read.add(name)
    assert read >= {"npz", "npz-packed", *UNSIZED}


def wide_labels_message(name: str) -> str:
    """Return the message for label ids beyond 30 labels, in a format."""
    if name in UNSIZED:
        return r"label id 3\d is not in 0\.\.29"
    return "30 labels.* 33|33 labels.* 30"


@pytest.mark.parametrize("role", ["truth", "scores"])
def test_sizes_that_differ_are_both_reported(role: str) -> None:
    """59 rows do not match 60, and 33 labels do not match 30."""
    truth = str(npz(Path("Y"), make_truth()))
    scores = str(npz(Path("S"), make_scores()))
    if role == "truth":
        for name, write in TRUTHS.items():
            few = str(write(Path(f"{name}-59"), make_truth(59, 30)))
            wide = str(write(Path(f"{name}-60"), make_truth(60, 33)))
            assert refusal(few, scores) == f"{scores}: 60 rows do not match the 59 of {few}\n"
            # formats without a width are as wide as their rows
            if not name.startswith(("svmlight", "ids", "npz-calibration")):
                actual = refusal(wide, scores)
                assert re.search(wide_labels_message(name), actual), actual
        return
    for name, write in SCORES.items():
        few = str(write(Path(f"{name}-59"), make_scores(59, 30)))
        wide = str(write(Path(f"{name}-60"), make_scores(60, 33)))
        assert refusal(truth, few) == f"{few}: 59 rows do not match the 60 of {truth}\n"
        actual = refusal(truth, wide)
        assert re.search(wide_labels_message(name), actual), actual


@pytest.mark.parametrize("role", ["truth", "scores"])
@pytest.mark.parametrize("part", ["data", "indices", "format"])
def test_pickles_in_archives_are_never_run(role: str, part: str) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, ("unpickled",)

    pair = ("Z.npz", "Y.npz")
    if role == "scores":
        pair = (str(npz(Path("Y"), make_truth())), "Z.npz")
    np.savez("Z.npz", **(ANY_CSR | {part: np.array([Bomb()], dtype=object)}))
    assert re.match(f"Z.npz: {part}.*Python objects are not supported; expected ", refusal(*pair))
    Path("Z.npz").write_bytes(pickle.dumps(Bomb()))
    assert refusal(*pair).startswith("Z.npz: not a zip archive, or cut short; expected ")
    assert not Path("unpickled").exists()


@pytest.mark.parametrize("scheme", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("inner", "value"), [("indptr", [0, 2, 1, 2, 2]), ("indices", [0, -7])])
def test_index_arrays_of_a_matrix_are_checked(scheme: str, inner: str, value: list[int]) -> None:
    data = np.ones((2, 1, 1) if scheme == "bsr" else 2)
    parts = ANY_CSR | {"format": scheme, "shape": (4, 4), "indptr": [0, 1, 1, 2, 2], "data": data}
    np.savez("Z.npz", **(parts | {inner: value}))
    with pytest.raises(
        ValueError, match=r"^(Z\.npz|y_true): .*(indptr is 1 there|-7 .*not in 0\.\.3|not a valid)"
    ):
        evaluate(read_truth("Z.npz"), np.ones((4, 4)))  # label ids of CSR are checked with the rows


# ---------------------------------------------------------------------------- Parquet and Arrow


def test_read_truth_reads_large_ids(folder: Path) -> None:
    assert read_truth(save(folder, {"labels": [[2**40 - 1]]})).shape == (1, 2**40)


def test_read_scores_refuses_long_row_that_widens_all(folder: Path) -> None:
    path = save(folder, {"labels": [list(range(20000)), *([[1]] * 30000)]}, size=10**6)
    assert "a row of 20000 labels, where 30001 rows have 50000" in refused(path, read_scores)
    pieces = [*pieces_of(path, "scores").read(1 << 18)]
    assert sum(rows.n_rows for rows in pieces) == 30001
    assert max(rows.labels.nbytes for rows in pieces) <= 1 << 18


def test_parquet_without_pyarrow_names_the_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(folder, {"labels": lists()})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (lambda: read_truth(path), lambda: write_parquet(path, np.eye(2), "truth")):
        with pytest.raises(ValueError, match=r"pip install 'xmleval\[arrow\]'"):
            call()


def test_a_long_name_in_many_rows_of_parquet_is_in_memory_once() -> None:
    n = 1000
    parquet.write_table(pa.table({"instance": ["r0"], "label": ["a"]}), "t.parquet")
    codes = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(n, np.int32)), pa.array(["x" * 1_000_000])
    )
    columns = {"instance": [f"r{i}" for i in range(n)], "score": np.arange(n) / n, "label": codes}
    parquet.write_table(pa.table(columns), "s.parquet")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    options = ["--metrics", "p@1", "--memory", "16MB"]
    code, _, err = answer(["evaluate", "t.parquet", "s.parquet", *options])
    assert code == 0, err
    # KiB; texts take 1 GB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
