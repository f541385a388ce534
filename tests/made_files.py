"""The same labels and scores in files of every format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp

from xmleval.input.formats.trec import write_qrels, write_run
from xmleval.input.formats.write_parquet import write_parquet
from xmleval.input.formats.xmc import write_xmc

Writer = Callable[[Path, Any], Path]


def make_truth(n_rows: int = 60, n_labels: int = 30, seed: int = 0) -> Any:
    """Relevant labels, none in some rows; the first and the last label are relevant somewhere."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, n_labels)) < 0.1
    dense[::7] = False
    dense[-1, [0, -1]] = True
    return sp.csr_array(dense.astype(np.float32))


def make_scores(n_rows: int = 60, n_labels: int = 30, depth: int = 6, seed: int = 1) -> Any:
    """Scores of as many labels in each row, no two alike, exact in float32."""
    rng = np.random.default_rng(seed)
    labels = np.argsort(rng.random((n_rows, n_labels)), axis=1)[:, :depth]
    values = (rng.permutation(n_rows * depth) + 1).reshape(n_rows, depth).astype(np.float32) / 1024
    ptr = np.arange(n_rows + 1) * depth
    found = sp.csr_array((values.ravel(), labels.ravel(), ptr), shape=(n_rows, n_labels))
    found.sort_indices()
    return found


def as_list(scores: Any) -> tuple[Any, Any]:
    """Labels and scores of rows of equal length, best first."""
    n_rows = scores.shape[0]
    labels, values = scores.indices.reshape(n_rows, -1), scores.data.reshape(n_rows, -1)
    order = np.argsort(-values, axis=1)
    return np.take_along_axis(labels, order, 1).astype(np.int32), np.take_along_axis(values, order, 1)


def rows_of(matrix: Any) -> list[list[int]]:
    return [ids.tolist() for ids in np.split(matrix.indices, matrix.indptr[1:-1])] if matrix.shape[0] else []


def packed(path: Path) -> Path:
    whole = path.with_name(f"{path.name}.gz")
    whole.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return whole


def npz(path: Path, matrix: Any, compressed: bool = False, scheme: str = "csr") -> Path:
    path = path.with_suffix(".npz")
    sp.save_npz(path, matrix.asformat(scheme), compressed=compressed)
    return path


def npz_list(path: Path, matrix: Any, compressed: bool = False) -> Path:
    path = path.with_suffix(".npz")
    labels, values = as_list(matrix)
    (np.savez_compressed if compressed else np.savez)(path, indices=labels, scores=values)
    return path


def npy(path: Path, matrix: Any) -> Path:
    for name, array in zip(("indices", "scores"), as_list(matrix), strict=True):
        np.save(path.with_name(f"{path.name}_{name}.npy"), array)
    return path.with_name(f"{path.name}_indices.npy")


def npy_labels(path: Path, matrix: Any) -> Path:
    """As AttentionXML and LightXML call them."""
    for name, array in zip(("labels", "scores"), as_list(matrix), strict=True):
        np.save(path.with_name(f"{path.name}-{name}.npy"), array)
    return path.with_name(f"{path.name}-labels.npy")


def npz_calibration(path: Path, matrix: Any) -> Path:
    """As in the studies of calibration at k."""
    labels, values = as_list(matrix)
    hits = np.zeros(labels.shape, np.float32)
    pairs = np.array([(0, 0)])
    found = {"scores": values, "true_positives": hits, "prediction_ids": labels, "labels": pairs}
    np.savez(path.with_suffix(".npz"), **found)
    return path.with_suffix(".npz")


def npz_calibration_truth(path: Path, matrix: Any) -> Path:
    """The truth in such a file: pairs, here in no order, beside predictions of any label."""
    rows = np.argwhere(matrix.toarray())
    pairs = np.random.default_rng(2).permutation(rows)
    listed = np.full((matrix.shape[0], 2), [matrix.shape[1] - 1, 0])
    np.savez(path.with_suffix(".npz"), prediction_ids=listed, scores=listed / 2.0, labels=pairs)
    return path.with_suffix(".npz")


def xmc(path: Path, matrix: Any, kind: str) -> Path:
    write_xmc(path.with_suffix(".txt"), matrix, kind)
    return path.with_suffix(".txt")


def data_lines(matrix: Any) -> str:
    """Labels with features, a line each row."""
    return "".join(f"{','.join(map(str, row))} 0:1.5 3:0.25\n" for row in rows_of(matrix))


def xmc_data(path: Path, matrix: Any) -> Path:
    path.with_suffix(".txt").write_text(f"{matrix.shape[0]} 4 {matrix.shape[1]}\n{data_lines(matrix)}")
    return path.with_suffix(".txt")


def svmlight(path: Path, matrix: Any) -> Path:
    path.with_suffix(".svm").write_text(data_lines(matrix))
    return path.with_suffix(".svm")


def ids(path: Path, matrix: Any, separator: str = " ") -> Path:
    """Ids of a row on each line; the last row tells the last label."""
    lines = (separator.join(map(str, row)) for row in rows_of(matrix))
    path.with_suffix(".txt").write_text("".join(f"{line}\n" for line in lines))
    return path.with_suffix(".txt")


def fasttext(path: Path, matrix: Any, kind: str) -> Path:
    """Labels with their prefix, in front of a text or each followed by its score."""
    lines = []
    for row, labels in enumerate(rows_of(matrix)):
        values = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
        words = [
            f"__label__{label}" + f" {value!r}" * (kind == "scores")
            for label, value in zip(labels, values, strict=True)
        ]
        lines.append(" ".join([*words, *["some", "text"] * (kind == "truth")]))
    path.with_suffix(".txt").write_text("".join(f"{line}\n" for line in lines))
    return path.with_suffix(".txt")


def mulan(path: Path, matrix: Any) -> Path:
    """Sparse ARFF; labels stand before a feature, in another order than in the XML file."""
    n = matrix.shape[1]
    names = [f"label {j}" for j in range(n)]
    lines = [f"@relation '{path.name}'", *(f"@attribute '{name}' {{0,1}}" for name in reversed(names))]
    lines += ["@attribute x numeric", "@data"]
    lines += [
        "{" + ",".join([*(f"{n - 1 - j} 1" for j in reversed(row)), f"{n} 0.5"]) + "}"
        for row in rows_of(matrix)
    ]
    path.with_suffix(".arff").write_text("\n".join(lines) + "\n")
    elements = "".join(f'<label name="{name}"/>' for name in names)
    path.with_suffix(".xml").write_text(f"<labels>{elements}</labels>")
    return path.with_suffix(".arff")


def meka(path: Path, matrix: Any) -> Path:
    """Dense ARFF; the relation tells how many attributes are labels."""
    n = matrix.shape[1]
    lines = [f"@relation '{path.name}: -C {n}'", *(f"@attribute y{j} {{0,1}}" for j in range(n))]
    lines += ["@attribute x numeric", "@data"]
    lines += [",".join(map(str, [*row, 0.5])) for row in matrix.toarray().astype(int).tolist()]
    path.with_suffix(".arff").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".arff")


def qrels(path: Path, matrix: Any) -> Path:
    write_qrels(path.with_suffix(".qrels"), matrix)
    return path.with_suffix(".qrels")


def trec_run(path: Path, matrix: Any) -> Path:
    write_run(path.with_suffix(".run"), matrix)
    return path.with_suffix(".run")


def csv_documents(path: Path, matrix: Any, kind: str) -> Path:
    """A row each, with text that has quotes, delimiters and lines; scores in a field of their own."""
    lines = ["id,labels" + ",scores" * (kind == "scores") + ",text"]
    for row, labels in enumerate(rows_of(matrix)):
        values = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
        cells = [";".join(map(str, labels)), *([";".join(map(repr, values))] if kind == "scores" else [])]
        lines.append(f'{row},{",".join(cells)},"a ""b"", c\n\nand so on"')
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".csv")


def jsonl_documents(path: Path, matrix: Any, kind: str) -> Path:
    """An object each; scores beside their labels."""
    lines = []
    for row, ids in enumerate(rows_of(matrix)):
        labels, values = [*map(str, ids)], matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
        found = (
            {"labels": labels} if kind == "truth" else {"predicted": dict(zip(labels, values, strict=True))}
        )
        lines.append(json.dumps({"id": row, **found}))
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".jsonl")


def json_run(path: Path, matrix: Any) -> Path:
    """An object of objects, as BEIR, MTEB and ranx write qrels and runs."""
    found: dict[str, dict[str, float]] = {}
    for row, labels in enumerate(rows_of(matrix)):
        values = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
        found[str(row)] = {str(j): 1 if x == 1 else x for j, x in zip(labels, values, strict=True)}
    path.with_suffix(".json").write_text(json.dumps(found, indent=1))
    return path.with_suffix(".json")


def beir_qrels(path: Path, matrix: Any) -> Path:
    """Three columns; a row without labels has a judgement of no relevance."""
    found = [(row, label, 1) for row, ids in enumerate(rows_of(matrix)) for label in ids]
    found += [(row, 0, 0) for row, ids in enumerate(rows_of(matrix)) if not ids]
    lines = [
        "query-id\tcorpus-id\tscore",
        *(f"{row}\t{label}\t{value}" for row, label, value in sorted(found)),
    ]
    path.with_suffix(".tsv").write_text("\n".join(lines) + "\n")
    return path.with_suffix(".tsv")


def parquet(path: Path, matrix: Any, kind: str) -> Path:
    write_parquet(path.with_suffix(".parquet"), matrix, kind)
    return path.with_suffix(".parquet")


def entries(path: Path, matrix: Any, kind: str) -> Path:
    """Parquet with a row for each label of an instance."""
    found = matrix.tocoo()
    columns = {"instance": found.row.astype(np.int64), "label": found.col.astype(np.int64)}
    if kind == "scores":
        columns["score"] = found.data
    table = pa.table(columns).replace_schema_metadata({"n_labels": str(matrix.shape[1])})
    pa.parquet.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def feather(path: Path, matrix: Any, kind: str) -> Path:
    table = pa.parquet.read_table(parquet(path, matrix, kind))
    path.with_suffix(".parquet").unlink()
    pa.feather.write_feather(table, path.with_suffix(".feather"), compression="lz4")
    return path.with_suffix(".feather")


TRUTHS: dict[str, Writer] = {
    "npz": npz,
    "npz-packed": lambda path, matrix: npz(path, matrix, True),
    "npz-csc": lambda path, matrix: npz(path, matrix, True, "csc"),
    "npz-calibration": npz_calibration_truth,
    "xmc": lambda path, matrix: xmc(path, matrix, "truth"),
    "xmc-data": xmc_data,
    "xmc-gz": lambda path, matrix: packed(xmc_data(path, matrix)),
    "ids": ids,
    "ids-gz": lambda path, matrix: packed(ids(path, matrix, ",")),
    "svmlight": svmlight,
    "svmlight-gz": lambda path, matrix: packed(svmlight(path, matrix)),
    "mulan": mulan,
    "meka-gz": lambda path, matrix: packed(meka(path, matrix)),
    "qrels": qrels,
    "parquet": lambda path, matrix: parquet(path, matrix, "truth"),
    "parquet-entries": lambda path, matrix: entries(path, matrix, "truth"),
    "feather": lambda path, matrix: feather(path, matrix, "truth"),
}
SCORES: dict[str, Writer] = {
    "npz": npz,
    "npz-packed": lambda path, matrix: npz(path, matrix, True),
    "npz-coo": lambda path, matrix: npz(path, matrix, False, "coo"),
    "npz-list": npz_list,
    "npz-list-packed": lambda path, matrix: npz_list(path, matrix, True),
    "npz-calibration": npz_calibration,
    "npy": npy,
    "npy-labels": npy_labels,
    "xmc": lambda path, matrix: xmc(path, matrix, "scores"),
    "xmc-gz": lambda path, matrix: packed(xmc(path, matrix, "scores")),
    "parquet": lambda path, matrix: parquet(path, matrix, "scores"),
    "parquet-entries": lambda path, matrix: entries(path, matrix, "scores"),
    "feather": lambda path, matrix: feather(path, matrix, "scores"),
}
NAMED: dict[str, tuple[str, Writer]] = {  # by name alone: what each holds, and its writer
    "qrels": ("truth", qrels),
    "run": ("scores", trec_run),
    "csv": ("truth", lambda path, matrix: csv_documents(path, matrix, "truth")),
    "csv-scores": ("scores", lambda path, matrix: csv_documents(path, matrix, "scores")),
    "csv-gz": ("truth", lambda path, matrix: packed(csv_documents(path, matrix, "truth"))),
    "jsonl": ("truth", lambda path, matrix: jsonl_documents(path, matrix, "truth")),
    "jsonl-scores": ("scores", lambda path, matrix: jsonl_documents(path, matrix, "scores")),
    "beir": ("truth", beir_qrels),
    "json": ("truth", json_run),
    "json-scores": ("scores", json_run),
}


def named_pair(name: str, folder: Path, truth: Any, scores: Any) -> tuple[Path, Path]:
    """Files of a truth and of scores with names, one of them in the format of that name."""
    kind, write = NAMED[name]
    if kind == "truth":
        return write(folder / "Z", truth), trec_run(folder / "z", scores)
    return qrels(folder / "Z", truth), write(folder / "z", scores)
