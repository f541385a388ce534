"""The same labels and scores in files of every format."""

import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp

from xmleval.io import Pieces, find_format, write_parquet, write_qrels, write_run, write_xmc

Writer = Callable[[Path, Any], Path]


def make_truth(n_rows: int = 60, n_labels: int = 30, seed: int = 0) -> Any:
    """Relevant labels; some rows have none, and the last row has the first and the last label."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, n_labels)) < 0.1
    dense[::7] = False
    dense[-1, [0, -1]] = True
    return sp.csr_array(dense.astype(np.float32))


def make_scores(n_rows: int = 60, n_labels: int = 30, depth: int = 6, seed: int = 1) -> Any:
    """Distinct scores, exact in float32, of as many labels in each row."""
    rng = np.random.default_rng(seed)
    labels = np.argsort(rng.random((n_rows, n_labels)), axis=1)[:, :depth]
    values = (rng.permutation(n_rows * depth) + 1).astype(np.float32) / 1024
    ptr = np.arange(n_rows + 1) * depth
    scores = sp.csr_array((values, labels.ravel(), ptr), shape=(n_rows, n_labels))
    scores.sort_indices()
    return scores


def rows_of(matrix: Any) -> list[list[int]]:
    """Label ids of all rows."""
    ends = itertools.pairwise(matrix.indptr.tolist())
    return [matrix.indices[lo:hi].tolist() for lo, hi in ends]


def items_of(matrix: Any) -> Iterator[list[tuple[int, float]]]:
    """Labels and values of all rows."""
    for lo, hi in itertools.pairwise(matrix.indptr.tolist()):
        labels = matrix.indices[lo:hi].tolist()
        yield list(zip(labels, matrix.data[lo:hi].tolist(), strict=True))


def as_list(scores: Any) -> tuple[Any, Any]:
    """Labels and scores of rows, best first; shorter rows end in empty slots."""
    rows = [sorted(row, key=lambda item: -item[1]) for row in items_of(scores)]
    labels = np.full((len(rows), max(map(len, rows))), -1, np.int32)
    values = np.full(labels.shape, np.nan, np.float32)
    for number, row in enumerate(rows):
        labels[number, : len(row)] = [label for label, _ in row]
        values[number, : len(row)] = [value for _, value in row]
    return labels, values


def write_lines(path: Path, ending: str, lines: Iterable[str]) -> Path:
    path = path.with_suffix(ending)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def gzipped(write: Callable[..., Path]) -> Writer:
    def written(path: Path, matrix: Any) -> Path:
        plain = write(path, matrix)
        packed = plain.rename(f"{plain}.gz")
        packed.write_bytes(gzip.compress(packed.read_bytes()))
        return packed

    return written


def writer(ending: str, write: Callable[..., object]) -> Callable[..., Path]:
    """Make a writer that adds the ending and returns the path."""

    def written(path: Path, matrix: Any, *args: Any, **options: Any) -> Path:
        path = path.with_suffix(ending)
        write(path, matrix, *args, **options)
        return path

    return written


def save_sparse(path: Path, matrix: Any, compressed: bool = False, scheme: str = "csr") -> None:
    sp.save_npz(path, matrix.asformat(scheme), compressed=compressed)


def save_list(path: Path, matrix: Any, compressed: bool = False) -> None:
    labels, values = as_list(matrix)
    save = np.savez_compressed if compressed else np.savez
    save(path, indices=labels, scores=values)


def save_dense(path: Path, matrix: Any, order: Any = "C") -> None:
    np.save(path, np.asarray(matrix.toarray(), order=order))


npz = writer(".npz", save_sparse)
xmc = writer(".txt", write_xmc)
npz_list = writer(".npz", save_list)
npz_dense = writer(".npz", lambda path, matrix: np.savez(path, scores=matrix.toarray()))
dense = writer(".npy", save_dense)
qrels = writer(".qrels", write_qrels)
trec_run = writer(".run", write_run)
parquet = writer(".parquet", write_parquet)


def npy(path: Path, matrix: Any, names: tuple[str, str] = ("_indices", "_scores")) -> Path:
    paths = [path.with_name(f"{path.name}{name}.npy") for name in names]
    for whole, array in zip(paths, as_list(matrix), strict=True):
        np.save(whole, array)
    return paths[0]


npy_labels = partial(npy, names=("-labels", "-scores"))  # as AttentionXML and LightXML call them


def npz_calibration(path: Path, matrix: Any) -> Path:
    """Scores as in the studies of calibration at k."""
    labels, values = as_list(matrix)
    path = path.with_suffix(".npz")
    np.savez(
        path,
        scores=values,
        true_positives=np.zeros(labels.shape, np.float32),
        prediction_ids=labels,
        labels=np.array([(0, 0)]),
    )
    return path


def npz_calibration_truth(path: Path, matrix: Any) -> Path:
    """The truth in such a file: pairs in random order, with any predictions."""
    pairs = np.random.default_rng(2).permutation(np.argwhere(matrix.toarray()))
    listed = np.full((matrix.shape[0], 2), [matrix.shape[1] - 1, 0])
    path = path.with_suffix(".npz")
    np.savez(path, prediction_ids=listed, scores=listed / 2.0, labels=pairs)
    return path


def svmlight(path: Path, matrix: Any, ending: str = ".svm", header: tuple[str, ...] = ()) -> Path:
    """Labels with features, a line for each row."""
    lines = [f"{','.join(map(str, row))} 0:1.5 3:0.25" for row in rows_of(matrix)]
    return write_lines(path, ending, [*header, *lines])


def xmc_data(path: Path, matrix: Any) -> Path:
    n_rows, n_labels = matrix.shape
    return svmlight(path, matrix, ".txt", header=(f"{n_rows} 4 {n_labels}",))


def ids(path: Path, matrix: Any, separator: str = " ") -> Path:
    """Ids of a row on each line; the last row has the last label."""
    lines = [separator.join(map(str, row)) for row in rows_of(matrix)]
    return write_lines(path, ".lines", lines)


def fasttext(path: Path, matrix: Any, kind: str) -> Path:
    """Names with a prefix: those of the truth before a text, predicted ones each with its score."""
    lines = []
    for row in items_of(matrix):
        if kind == "scores":
            lines.append(" ".join(f"__label__{label} {score}" for label, score in row))
        else:
            lines.append(" ".join(f"__label__{label}" for label, _ in row) + " a text")
    return write_lines(path, ".lines", lines)


def mulan(path: Path, matrix: Any) -> Path:
    """Sparse ARFF; the labels come before a feature, in another order than in the XML file."""
    n = matrix.shape[1]
    names = [f"label {j}" for j in range(n)]
    elements = [f'<label name="{name}"/>' for name in names]
    write_lines(path, ".xml", ["<labels>", *elements, "</labels>"])
    lines = [f"@relation '{path.name}'"]
    lines += [f"@attribute '{name}' {{0,1}}" for name in reversed(names)]
    lines += ["@attribute x numeric", "@data"]
    for row in rows_of(matrix):
        cells = [f"{n - 1 - j} 1" for j in reversed(row)]
        lines.append("{" + ",".join([*cells, f"{n} 0.5"]) + "}")
    return write_lines(path, ".arff", lines)


def meka(path: Path, matrix: Any) -> Path:
    """Dense ARFF; the relation has the number of attributes that are labels."""
    n = matrix.shape[1]
    lines = [f"@relation '{path.name}: -C {n}'"]
    lines += [f"@attribute y{j} {{0,1}}" for j in range(n)]
    lines += ["@attribute x numeric", "@data"]
    for row in matrix.toarray().astype(int).tolist():
        lines.append(",".join(map(str, [*row, 0.5])))
    return write_lines(path, ".arff", lines)


def csv_documents(path: Path, matrix: Any, kind: str) -> Path:
    """A record for each row, with a text that has quotes, delimiters and lines."""
    fields = ["id", "labels", "scores", "text"]
    if kind == "truth":
        fields.remove("scores")
    lines = [",".join(fields)]
    for number, row in enumerate(items_of(matrix)):
        cells = [str(number), f'"{[label for label, _ in row]}"']
        if kind == "scores":
            cells.append(f'"{[score for _, score in row]}"')
        lines.append(",".join([*cells, '"a ""b"", c\n\nand so on"']))
    return write_lines(path, ".csv", lines)


def jsonl_documents(path: Path, matrix: Any, kind: str) -> Path:
    """An object for each row; predicted labels have their scores."""
    lines = []
    for number, row in enumerate(items_of(matrix)):
        scores = {str(label): score for label, score in row}
        if kind == "truth":
            lines.append(json.dumps({"id": number, "labels": [*scores]}))
        else:
            lines.append(json.dumps({"id": number, "predicted": scores}))
    return write_lines(path, ".jsonl", lines)


def json_run(path: Path, matrix: Any) -> Path:
    """An object of objects, as BEIR, MTEB and ranx write qrels and runs."""
    rows = {}
    for number, row in enumerate(items_of(matrix)):
        rows[str(number)] = {str(label): 1 if value == 1 else value for label, value in row}
    return write_lines(path, ".json", [json.dumps(rows, indent=1)])


def beir_qrels(path: Path, matrix: Any) -> Path:
    """Three columns; a row without labels has a judgement of no relevance."""
    lines = ["query-id\tcorpus-id\tscore"]
    for number, row in enumerate(rows_of(matrix)):
        lines += [f"{number}\t{label}\t1" for label in row]
        if not row:
            lines.append(f"{number}\t0\t0")
    return write_lines(path, ".tsv", lines)


def entries(path: Path, matrix: Any, kind: str) -> Path:
    """Parquet with a row for each label of an instance."""
    path = path.with_suffix(".parquet")
    cells = matrix.tocoo()
    columns = {"instance": cells.row.astype(np.int64), "label": cells.col.astype(np.int64)}
    if kind == "scores":
        columns["score"] = cells.data
    table = pa.table(columns).replace_schema_metadata({"n_labels": str(matrix.shape[1])})
    pa.parquet.write_table(table, path, row_group_size=max(7, table.num_rows // 20))
    return path


def feather(path: Path, matrix: Any, kind: str) -> Path:
    table = pa.parquet.read_table(parquet(path, matrix, kind))
    path.with_suffix(".parquet").unlink()
    path = path.with_suffix(".feather")
    size = max(7, table.num_rows // 20)
    pa.feather.write_feather(table, path, compression="lz4", chunksize=size)
    return path


TRUTHS: dict[str, Writer] = {
    "npz": npz,
    "npz-packed": partial(npz, compressed=True),
    "npz-csc": partial(npz, compressed=True, scheme="csc"),
    "npz-calibration": npz_calibration_truth,
    "xmc": partial(xmc, kind="truth"),
    "xmc-data": xmc_data,
    "xmc-gz": gzipped(xmc_data),
    "ids": ids,
    "ids-gz": gzipped(partial(ids, separator=",")),
    "svmlight": svmlight,
    "svmlight-gz": gzipped(svmlight),
    "mulan": mulan,
    "meka-gz": gzipped(meka),
    "qrels": qrels,
    "parquet": partial(parquet, kind="truth"),
    "parquet-entries": partial(entries, kind="truth"),
    "feather": partial(feather, kind="truth"),
    "dense": dense,
}
SCORES: dict[str, Writer] = {
    "npz": npz,
    "npz-packed": partial(npz, compressed=True),
    "npz-coo": partial(npz, scheme="coo"),
    "npz-list": npz_list,
    "npz-list-packed": partial(npz_list, compressed=True),
    "npz-calibration": npz_calibration,
    "npy": npy,
    "npy-labels": npy_labels,
    "xmc": partial(xmc, kind="scores"),
    "xmc-gz": gzipped(partial(xmc, kind="scores")),
    "parquet": partial(parquet, kind="scores"),
    "parquet-entries": partial(entries, kind="scores"),
    "feather": partial(feather, kind="scores"),
    "dense": dense,
    "dense-columns": partial(dense, order="F"),
    "npz-dense": npz_dense,
}
NUMBERED: dict[str, Writer] = {  # formats with numbers of rows and labels
    **{f"truth {name}": write for name, write in TRUTHS.items()},
    **{f"scores {name}": write for name, write in SCORES.items()},
}
NAMED: dict[str, tuple[str, Writer]] = {  # formats with names: their contents and writers
    "qrels": ("truth", qrels),
    "run": ("scores", trec_run),
    "csv": ("truth", partial(csv_documents, kind="truth")),
    "csv-scores": ("scores", partial(csv_documents, kind="scores")),
    "csv-gz": ("truth", gzipped(partial(csv_documents, kind="truth"))),
    "jsonl": ("truth", partial(jsonl_documents, kind="truth")),
    "jsonl-scores": ("scores", partial(jsonl_documents, kind="scores")),
    "beir": ("truth", beir_qrels),
    "json": ("truth", json_run),
    "json-scores": ("scores", json_run),
    "fasttext": ("truth", partial(fasttext, kind="truth")),
    "fasttext-scores": ("scores", partial(fasttext, kind="scores")),
}


def pieces_of(path: Path, kind: str, name: str | None = None) -> Pieces:
    """Batches of rows of a file, in a format by name or by its ending."""
    reader = find_format(path, name, kind)[0]
    return reader.read(path, kind)


def named_pair(name: str, folder: Path, truth: Any, scores: Any) -> tuple[Path, Path]:
    """Files of a truth and of scores with names, one of them in a format of ``NAMED``."""
    kind, write = NAMED[name]
    if kind == "truth":
        return write(folder / "Z", truth), trec_run(folder / "z", scores)
    return qrels(folder / "Z", truth), write(folder / "z", scores)


def files_of(name: str) -> tuple[Path, Path, Path]:
    """A truth and scores, one of them in a format by name, and the file in that format."""
    truth = make_truth()
    scores = make_scores()
    if name in NAMED:
        paths = named_pair(name, Path(), truth, scores)
        kind, _ = NAMED[name]
        return *paths, paths[0] if kind == "truth" else paths[1]
    write = NUMBERED[name]
    if name.startswith("truth"):
        path = write(Path("Z"), truth)
        return path, npz(Path("other"), scores), path
    path = write(Path("Z"), scores)
    return npz(Path("other"), truth), path, path
