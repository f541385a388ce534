"""Small files that unpack beyond the memory are refused by name, before they are unpacked."""

import gzip
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.limits import small_limits
from tests.made_files import make_scores, make_truth, npy, npz, qrels, trec_run

PEAK = 6 << 20
UNPACKED = 16 << 20
NEEDS = "above the limit of 896 KiB, a share of --memory 1 MiB; give more --memory"


@pytest.fixture
def within(
    tmp_path: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], str]]:
    """Return what a command line is refused with, having taken little memory."""
    monkeypatch.chdir(tmp_path)
    npz(Path("Y"), make_truth())
    npy(Path("m"), make_scores())
    qrels(Path("q"), make_truth())
    trec_run(Path("r"), make_scores())

    def refusal(line: str) -> str:
        refused(line)  # loads kernels
        tracemalloc.start()
        try:
            message = str(refused(line))
            assert tracemalloc.get_traced_memory()[1] < PEAK
        finally:
            tracemalloc.stop()
        return message

    with small_limits(
        {"base.budget": {"LEAST_WHOLE": 1 << 20}, "input.lines": {"LONGEST_LINE": 1 << 18}}
    ):
        yield refusal


# zeros, and a header of blanks
FLAT = ("<i8", (UNPACKED // 8,))
BLANK = ("header", (UNPACKED,))
N = UNPACKED // 8
ROWS = np.minimum(np.arange(61), 1)
COLUMNS = np.minimum(np.arange(31), 1)
ONE = np.ones(1)
AT = np.zeros(1, np.int32)
SCHEMES: dict[str, dict[str, Any]] = {
    "csr": {"data": ONE, "indices": AT, "indptr": ROWS},
    "csc": {"data": ONE, "indices": AT, "indptr": COLUMNS},
    "bsr": {"data": ONE[:, None, None], "indices": AT, "indptr": ROWS},
    "coo": {"data": ONE, "row": AT, "col": AT},
    "dia": {"data": np.ones((1, 30)), "offsets": AT},
}
# large in all
LARGE: dict[str, Any] = {
    "shape": np.array([60, 1 << 30]),
    "indptr": np.array([0, *[N] * 60]),
}
LARGE |= {"data": ("|u1", (N,)), "indices": ("<i4", (N,))}
MATRICES: list[tuple[str, dict[str, Any]]] = [
    *((scheme, {name: FLAT}) for scheme in SCHEMES for name in SCHEMES[scheme]),
    *(("csr", arrays) for arrays in ({"shape": FLAT}, {"format": BLANK}, LARGE)),
]
# the latter in Fortran's order
LISTS = [
    {"indices": ("<i4", (1, N))},
    {"scores": ("<f4", (N, 2), True)},
]


def write_archive(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays; a type and a shape in place of one are written as zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                if not (isinstance(array, tuple) and isinstance(array[0], str)):
                    np.lib.format.write_array(file, np.asarray(array))
                    continue
                descr, shape, *order = array
                if descr == "header":
                    file.write(
                        b"\x93NUMPY\x02\x00" + shape[0].to_bytes(4, "little") + b" " * shape[0]
                    )
                    continue
                head = {"descr": descr, "fortran_order": bool(order), "shape": shape}
                np.lib.format.write_array_header_1_0(file, head)
                for _ in range(int(np.prod(shape) * np.dtype(descr).itemsize) >> 20):
                    file.write(bytes(1 << 20))


def write_hole(path: Path, descr: str, shape: tuple[int, ...]) -> None:
    """Write an array of zeros that takes no blocks of the disk."""
    np.lib.format.open_memmap(path, "w+", descr, shape)


def write_columns(path: Path, *names: str) -> None:
    labels = pa.array(np.arange(100_000))
    zeros = pa.array(np.zeros(100_000, np.int64))
    lists = pa.ListArray.from_arrays(pa.array([0, len(labels)]), labels)
    columns = [zeros, labels] if len(names) > 1 else [lists]
    pa.parquet.write_table(pa.table(columns, names), path)


def write_text(path: Path, head: bytes, repeated: bytes | str) -> None:
    """Write lines that are numbered, or bytes that are repeated."""
    if isinstance(repeated, str):
        body = gzip.compress(
            "".join(repeated.replace("#", str(i)) for i in range(50_000)).encode(), 1
        )
    else:
        body = gzip.compress(repeated * ((1 << 20) // len(repeated)), 1) * (UNPACKED >> 20)
    path.write_bytes(gzip.compress(head) + body)


ARFF = b"@relation 'x: -C 1'\n@attribute a {0,1}\n"
TEXTS: list[
    tuple[str, bytes, bytes | str]
] = [  # files of a command, a head, and what is repeated below it
    ("q.qrels r.run --labels Z.names.gz", b"", "label #\n"),
    ("q.qrels r.run --labels Z.json.gz", b'["a"', b',"b"'),
    ("Z.qrels.gz r.run", b"", "q# 0 d# 1\n"),
    ("q.qrels Z.run.gz", b"", "0 Q0 new# 1 0.5 t\n"),
    ("Z.csv.gz r.run", b"id,labels\n", 'q#,"[""a#"", ""b#""]"\n'),
    ("Z.csv.gz r.run", b'id,labels\n0,"', b"a\n"),
    ("Z.qrels.json.gz r.run", b'{"q": {"a": 1', b',"b":1'),
    ("Z.jsonl.gz r.run", b"", '{"id": "q#", "labels": ["a#"]}\n'),
    ("q.qrels Z.jsonl.gz", b"", '{"id": "q#", "predicted": {"a#": 0.5}}\n'),
    ("Y.npz m --inverse-propensity Z.weights.gz", b"", b"1\n"),
    ("Y.npz m --exclude Z.pairs.gz", b"", b"0 0\n"),
    ("Z.arff.gz m", ARFF, b"@attribute b numeric\n"),
    ("Z.arff.gz m", b"@relation 'x: -C 1'\n@attribute a {", b"0,"),
    ("Z.txt.gz m", b"60 9 30\n", b"0,"),
    ("Z.txt.gz m", b"60 30\n", b"0:1 "),
    ("Z.svm.gz m", b"0 1:1 #", b"a"),
]

FILES: list[
    tuple[str, Callable[..., None], tuple[Any, ...]]
] = [  # of a command, and how Z is written
    *(
        (
            files,
            write_archive,
            ({"format": scheme.encode(), "shape": (60, 30), **SCHEMES[scheme], **arrays},),
        )
        for scheme, arrays in MATRICES
        for files in ("Z.npz m", "Y.npz Z.npz")
    ),
    *(("Y.npz Z.npz", write_archive, (arrays,)) for arrays in LISTS),
    ("Y.npz m --decision Z.npz --metrics f1.micro", write_archive, ({"meta": FLAT},)),
    ("Y.npz Z.npy", write_hole, ("<f4", (60, N))),
    ("Y.npz Z_indices.npy", write_hole, ("<i4", (60, N))),
    ("Y.npz m --inverse-propensity Z.weights.npy", write_hole, ("<f8", (N,))),
    ("Z.parquet m", write_columns, ("instance", "label")),
    ("Z.parquet m", write_columns, ("labels",)),
    *((files, write_text, (head, repeated)) for files, head, repeated in TEXTS),
]


@pytest.mark.slow
@pytest.mark.parametrize(("files", "write", "arguments"), FILES)
def test_file_that_unpacks_beyond_memory_is_refused(
    within: Any, files: str, write: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    name = [word for word in files.split() if word.startswith("Z")][-1]
    write(Path(name), *arguments)
    metrics = "" if "metrics" in files else "--metrics p@1"
    message = within(f"evaluate {files} {metrics} --memory 1MiB")
    assert message.startswith(f"{name}: ")
    assert message.endswith(NEEDS) or write is write_archive, message


@pytest.mark.parametrize("metric", ["f1.macro@1", "auc.macro", "psp@1 --train w.txt"])
def test_counts_of_many_labels_are_refused(within: Any, run: Any, metric: str) -> None:
    Path("w.txt").write_text("2 50000000\n0:1\n1:1\n")
    message = within(f"evaluate w.txt w.txt --metrics {metric} --memory 1MiB")
    assert message.startswith("w.txt: counting 50000000 labels needs ")
    assert message.endswith(NEEDS)
    run("evaluate w.txt w.txt --metrics p@1,lrap --memory 1MiB")  # which count no labels
