"""Small files that unpack to very much are refused by name, before they take more than the memory."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.made_files import make_scores, make_truth, npz, qrels, trec_run
from xmleval import Evaluator, budget
from xmleval.files.saved import RULE, STATE, Form
from xmleval.input.formats.svmlight import svmlight_pieces
from xmleval.input.formats.xmc import xmc_pieces

MEMORY, PEAK, UNPACKED = 1 << 20, 6 << 20, 16 << 20
NEEDS = "expected at most 896 KiB, the share of --memory 1 MiB for what is not read in pieces"
MATRICES: dict[str, dict[str, Any]] = {
    "csr": {"data": np.ones(1), "indices": np.zeros(1, np.int32), "indptr": np.minimum(np.arange(61), 1)},
    "csc": {"data": np.ones(1), "indices": np.zeros(1, np.int32), "indptr": np.minimum(np.arange(31), 1)},
    "bsr": {
        "data": np.ones((1, 1, 1)),
        "indices": np.zeros(1, np.int32),
        "indptr": np.minimum(np.arange(61), 1),
    },
    "coo": {"data": np.ones(1), "row": np.zeros(1, np.int32), "col": np.zeros(1, np.int32)},
    "dia": {"data": np.ones((1, 30)), "offsets": np.zeros(1, np.int32)},
}


class Packed(NamedTuple):
    """An array of zeros, or whose header is blanks, that a file declares and holds."""

    dtype: Any
    shape: tuple[int, ...]
    fortran: bool = False
    blank_header: bool = False

    @property
    def n_bytes(self) -> int:
        return int(np.prod(self.shape) * np.dtype(self.dtype).itemsize)

    def write_header(self, file: Any) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(self.dtype)),
            "fortran_order": self.fortran,
            "shape": self.shape,
        }
        np.lib.format.write_array_header_1_0(file, header)

    def write(self, file: Any) -> None:
        if self.blank_header:
            file.write(b"\x93NUMPY\x02\x00" + self.n_bytes.to_bytes(4, "little"))
        else:
            self.write_header(file)
        filler = (b" " if self.blank_header else b"\0") * (1 << 20)
        for start in range(0, self.n_bytes, 1 << 20):
            file.write(filler[: self.n_bytes - start])


def archive(arrays: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                if isinstance(array, Packed):
                    array.write(member)
                else:
                    np.lib.format.write_array(member, np.asarray(array))
    return out.getvalue()


def matrix(scheme: str, **change: Any) -> bytes:
    return archive({"format": scheme.encode(), "shape": np.array([60, 30]), **MATRICES[scheme], **change})


def saved(form: Form, names: list[str], more: bytes = b"", **arrays: Any) -> bytes:
    meta = {"format": form.mark, "version": form.version, "arrays": names}
    text = np.frombuffer(json.dumps(meta).encode() + more, np.uint8)
    return archive({"meta": text, **arrays})


FLAT = Packed(np.int64, (UNPACKED // 8,))
HEADER = Packed(np.uint8, (UNPACKED,), blank_header=True)
N = UNPACKED // 8
MEMBERS = [(scheme, name) for scheme, parts in MATRICES.items() for name in ("format", "shape", *parts)]
ARCHIVES = {
    **{f"{scheme}-{name}": partial(matrix, scheme, **{name: FLAT}) for scheme, name in MEMBERS},
    **{
        f"header-{name}": partial(matrix, "csr", **{name: HEADER})
        for name in ("format", "shape", *MATRICES["csr"])
    },
    "word": partial(matrix, "csr", format=Packed(f"S{UNPACKED}", ())),
    "long row": partial(
        matrix,
        "csr",
        shape=np.array([60, 1 << 30]),
        indptr=np.array([0, *[N] * 60]),
        data=Packed(np.uint8, (N,)),
        indices=Packed(np.int32, (N,)),
    ),
    "coo": partial(
        matrix, "coo", data=Packed(np.uint8, (N,)), row=Packed(np.uint8, (N,)), col=Packed(np.uint8, (N,))
    ),
    "csc": partial(matrix, "csc", indptr=np.array([0, *[N] * 30]), data=Packed(np.uint8, (N,)), indices=FLAT),
}
SCORES = {
    "list row": partial(archive, {"indices": Packed(np.int32, (1, N))}),
    "list by column": partial(archive, {"indices": Packed(np.int32, (N, 1), True)}),
    "dense row": partial(archive, {"scores": Packed(np.float32, (1, N))}),
    "dense by column": partial(archive, {"scores": Packed(np.float32, (N, 2), True)}),
}


@pytest.fixture
def within(folder: Path, refused: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return what a command line is refused with, having taken little memory."""
    monkeypatch.setattr(budget, "LEAST_WHOLE", MEMORY)

    def said(line: str) -> str:
        refused(line)  # loads kernels
        tracemalloc.start()
        try:
            message = str(refused(line))
            assert tracemalloc.get_traced_memory()[1] < PEAK
        finally:
            tracemalloc.stop()
        return message

    return said


@pytest.mark.parametrize("name", [*ARCHIVES, *SCORES])
@pytest.mark.parametrize("role", ["Z.npz m", "Y.npz Z.npz", "Y.npz m --train Z.npz", "Y.npz --pred Z.npz"])
def test_archives(within: Any, name: str, role: str) -> None:
    if name in SCORES and role != "Y.npz Z.npz":
        pytest.skip("holds scores")
    Path("Z.npz").write_bytes({**ARCHIVES, **SCORES}[name]())
    metrics = "f1.micro" if "--pred" in role else "p@1"
    assert within(f"evaluate {role} --metrics {metrics} --memory 1MiB").startswith("Z.npz: ")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("Z.npy", Packed(np.float32, (60, N))),
        ("Z_indices.npy", Packed(np.int32, (60, N))),
        ("Z.weights.npy", Packed(np.float64, (N,))),
    ],
)
def test_arrays_that_are_read(within: Any, name: str, array: Packed) -> None:
    with Path(name).open("wb") as file:
        array.write_header(file)
        file.truncate(file.tell() + array.n_bytes)  # with a hole, which takes no room
    line = f"Y.npz m --inverse-propensity {name}" if "weights" in name else f"Y.npz {name}"
    found = within(f"evaluate {line} --metrics p@1 --memory 1MiB")
    assert found.startswith(f"{name}: needs ")
    assert found.endswith(NEEDS)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_rows_of_matrices(within: Any, compression: int) -> None:
    held = io.BytesIO(ARCHIVES["long row"]())
    with zipfile.ZipFile(held) as packed, zipfile.ZipFile("Z.npz", "w", compression) as file:
        for member in packed.namelist():
            file.writestr(member, packed.read(member))
    found = within("evaluate Z.npz Z.npz --metrics p@1 --memory 1MiB")
    assert found.startswith("Z.npz: needs 128 MiB")
    assert found.endswith(NEEDS)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (partial(archive, {"meta": FLAT}), "needs 16 MiB"),
        (partial(archive, {"meta": HEADER}), "needs 16 MiB"),
        (partial(saved, STATE, ["x"], x=FLAT), "needs 16 MiB"),
        (partial(saved, STATE, [], x=FLAT), "not a saved evaluator, or damaged ('arrays')"),
        (partial(saved, STATE, [], b"[]," * 20_000), "needs 3.167 MiB"),
        (partial(saved, STATE, [], b"{}," * 10_000), "needs 3.11"),
        (ARCHIVES["csr-data"], "not a saved evaluator, or damaged ('meta')"),
    ],
)
def test_saved_files(within: Any, held: Callable[[], bytes], said: str) -> None:
    Path("Z.npz").write_bytes(held())
    found = within("merge Z.npz --memory 1MiB")
    assert found.startswith("Z.npz: ")
    assert said in found
    assert not said.startswith("needs") or found.endswith(NEEDS)


@pytest.mark.parametrize("held", [archive({"meta": FLAT}), saved(RULE, ["numbers"], numbers=FLAT)])
def test_saved_rules(within: Any, held: bytes) -> None:
    Path("Z.npz").write_bytes(held)
    found = within("evaluate Y.npz m --metrics f1.micro --decision Z.npz --memory 1MiB")
    assert found.startswith("Z.npz: needs 16 MiB")


def packed(head: bytes, line: bytes, n_bytes: int = UNPACKED) -> bytes:
    """Return a gzip file of a head and a line that is repeated."""
    block = line * ((1 << 20) // len(line))
    return gzip.compress(head) + gzip.compress(block, 1) * (n_bytes >> 20)


def lines(form: str, n: int) -> bytes:
    return gzip.compress("".join(form.replace("#", str(i)) for i in range(n)).encode(), 1)


ARFF = b"@relation 'x: -C 1'\n@attribute a {0,1}\n"
TEXTS = {
    "Z.names.gz": [
        ("q.qrels r.run --labels Z.names.gz", lines("label #\n", 50_000)),
        ("q.qrels r.run --labels Z.names.gz", packed(b"", b"a")),
    ],
    "Z.json.gz": [
        ("q.qrels r.run --labels Z.json.gz", packed(b'["a"', b',"b"')),
        ("q.qrels r.run --labels Z.json.gz", packed(b"[", b"[],", 1 << 20)),
        ("q.qrels r.run --labels Z.json.gz", packed(b"", b"[")),
    ],
    "Z.qrels.gz": [
        ("Z.qrels.gz r.run", packed(b"", b"a 0 b 1\n")),
        ("Z.qrels.gz r.run", lines("q# 0 d# 1\n", 50_000)),
        ("Z.qrels.gz r.run", lines("# 0 # 1\n", 50_000)),
        ("Z.qrels.gz r.run", packed(b"a 0 b ", b"1 ")),
    ],
    "Z.run.gz": [
        ("q.qrels Z.run.gz", lines("0 Q0 new# 1 0.5 t\n", 50_000)),
        ("q.qrels Z.run.gz", lines("new# Q0 0 1 0.5 t\n", 50_000)),
    ],
    "Z.csv.gz": [
        ("Z.csv.gz r.run", gzip.compress(b"id,labels\n") + lines("q#,a#;b#\n", 50_000)),
        ("Z.csv.gz r.run", gzip.compress(b"id,labels\n") + lines("q#,\n", 50_000)),
        ("Z.csv.gz r.run", packed(b"id,labels\n0,", b"a;")),
        ("Z.csv.gz r.run", packed(b'id,labels\n0,"', b"a\n")),
        ("Z.csv.gz r.run", packed(b"id,labels\n0,[", b"[],", 1 << 20)),
        ("Z.csv.gz r.run", packed(b"", b"a,")),
    ],
    "Z.qrels.json.gz": [
        ("Z.qrels.json.gz r.run", packed(b'{"q": {"a": 1', b',"b":1')),
        ("Z.qrels.json.gz r.run", packed(b'{"q": [', b"[],", 1 << 20)),
    ],
    "Z.jsonl.gz": [
        ("Z.jsonl.gz r.run", lines('{"id": "q#", "labels": ["a#"]}\n', 50_000)),
        ("Z.jsonl.gz r.run", packed(b'{"id": 0, "labels": [', b"[],", 1 << 20)),
        ("q.qrels Z.jsonl.gz", lines('{"id": "q#", "predicted": {"a#": 0.5}}\n', 50_000)),
    ],
    "Z.weights.gz": [
        ("Y.npz m --inverse-propensity Z.weights.gz", packed(b"", b"1\n")),
        ("Y.npz m --inverse-propensity Z.weights.gz", packed(b"", b"1")),
    ],
    "Z.pairs.gz": [
        ("Y.npz m --exclude Z.pairs.gz", packed(b"", b"0 0\n")),
        ("Y.npz m --exclude Z.pairs.gz", packed(b"0 ", b"0 ")),
    ],
    "Z.arff.gz": [
        ("Z.arff.gz m", packed(ARFF, b"@attribute b numeric\n")),
        ("Z.arff.gz m", packed(b"@relation '", b"x")),
        ("Z.arff.gz m", packed(b"@relation 'x: -C 1'\n@attribute a {", b"0,")),
        ("Z.arff.gz m", packed(ARFF + b"@data\n", b"0,")),
        ("Z.arff.gz m", packed(ARFF + b"@data\n{", b"0 1,")),
    ],
    "Z.txt.gz": [
        ("Z.txt.gz m", packed(b"60 9 30\n", b"0,")),
        ("Z.txt.gz m", packed(b"60 9 30\n0 ", b"1:1 ")),
        ("Z.txt.gz m", packed(b"60 30\n", b"0:1 ")),
    ],
    "Z.svm.gz": [("Z.svm.gz m", packed(b"", b"0,")), ("Z.svm.gz m", packed(b"0 1:1 #", b"a"))],
}


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, several in TEXTS.items() for place in range(len(several))]
)
def test_texts(within: Any, name: str, place: int) -> None:
    qrels(Path("q"), make_truth())
    trec_run(Path("r"), make_scores())
    line, held = TEXTS[name][place]
    Path(name).write_bytes(held)
    found = within(f"evaluate {line} --metrics p@1 --memory 1MiB")
    assert found.startswith(f"{name}: ")
    assert found.endswith(NEEDS)


@pytest.mark.parametrize("names", [("instance", "label"), ("labels",)])
def test_rows_of_columns(within: Any, names: tuple[str, ...]) -> None:
    labels = pa.array(np.zeros(100_000, np.int64))
    columns = (
        [labels] * 2 if len(names) > 1 else [pa.ListArray.from_arrays(pa.array([0, len(labels)]), labels)]
    )
    pa.parquet.write_table(pa.table(columns, names), "Z.parquet")
    found = within("evaluate Z.parquet m --metrics p@1 --memory 1MiB")
    assert found.startswith("Z.parquet: needs ")


def test_labels_of_xml(within: Any) -> None:
    Path("Z.arff").write_bytes(ARFF + b"@data\n0\n")
    names = "".join(f'<label name="{number}"/>' for number in range(5000))
    Path("Z.xml").write_text(f"<labels>{names}</labels>")
    assert within("evaluate Z.arff m --memory 1MiB").startswith("Z.xml: needs ")


@pytest.mark.parametrize("metric", ["f1.macro@1", "auc.macro", "label_coverage@1", "psp@1 --train w.txt"])
def test_counts_of_labels(within: Any, metric: str) -> None:
    Path("w.txt").write_text("2 50000000\n0:1\n1:1\n")
    found = within(f"evaluate w.txt w.txt --metrics {metric} --memory 1MiB")
    assert found.startswith("w.txt: counting 50000000 labels needs ")
    assert found.endswith(NEEDS)


def test_labels_that_are_not_counted(folder: Path, run: Any) -> None:
    Path("w.txt").write_text("2 50000000\n0:1\n1:1\n")
    run("evaluate w.txt w.txt --metrics p@1,lrap --memory 1MiB")


def test_memory_is_shared_by_the_files_of_a_command(within: Any, run: Any) -> None:
    for name in ("T", "S"):
        npz(Path(name), make_truth(150, 30), True, "csc")
    run("evaluate T.npz S.npz --metrics p@1 --memory 1MiB")
    many = "T.npz " + "S.npz " * 20
    for number in range(20):
        many = many.replace("S.npz ", f"S{number}.npz ", 1)
        npz(Path(f"S{number}"), make_truth(2000, 30), True, "csc")
    npz(Path("T"), make_truth(2000, 30), True, "csc")
    found = within(f"evaluate {many} --metrics p@1 --memory 1MiB")
    assert " of memory or more beside " in found


@pytest.mark.parametrize("name", ["Z.txt", "Z.svm"])
def test_rows_of_very_short_lines_come_in_small_pieces(folder: Path, name: str) -> None:
    n = 1 << 18
    (folder / name).write_bytes(b"%d 9 9\n" % n * (name == "Z.txt") + b"0\n" * (n - 1) + b"7,8\n")
    read: Any = xmc_pieces if name == "Z.txt" else svmlight_pieces
    pieces = list(read(folder / name, "truth").read(1 << 20))
    assert sum(piece.shape[0] for piece in pieces) == n
    assert max(piece.shape[0] for piece in pieces) <= (1 << 20) // 40
    assert pieces[-1].indices[-2:].tolist() == [7, 8]


def test_saved_scores_are_loaded_in_pieces(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.random((6000, 1000)) < 0.5, rng.random((6000, 1000), np.float32)
    evaluator = Evaluator("auc.micro", n_labels=1000)
    evaluator.update(truth, scores)
    evaluator.save(tmp_path / "state.npz")
    assert (tmp_path / "state.npz").stat().st_size > 15 << 20
    Evaluator.load(tmp_path / "state.npz", memory=1 << 20)  # loads kernels
    tracemalloc.start()
    try:
        found = Evaluator.load(tmp_path / "state.npz", memory=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 9 << 20
    finally:
        tracemalloc.stop()
    assert found.compute()["auc.micro"] == evaluator.compute()["auc.micro"]
