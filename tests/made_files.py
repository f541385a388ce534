"""The same labels and scores in files of every format."""

import gzip
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
    scores = sp.csr_array((values.ravel(), labels.ravel(), ptr), shape=(n_rows, n_labels))
    scores.sort_indices()
    return scores


def rows_of(matrix: Any) -> list[list[int]]:
    return [ids.tolist() for ids in np.split(matrix.indices, matrix.indptr[1:-1])] if matrix.shape[0] else []


def items_of(matrix: Any) -> Iterator[list[tuple[int, float]]]:
    """Labels of each row with their values."""
    values = np.split(matrix.data, matrix.indptr[1:-1])
    return (
        list(zip(ids, row.tolist(), strict=True)) for ids, row in zip(rows_of(matrix), values, strict=True)
    )


def as_list(scores: Any) -> tuple[Any, Any]:
    """Labels and scores of rows, best first; rows that are shorter end in empty slots."""
    rows = [sorted(row, key=lambda item: -item[1]) for row in items_of(scores)]
    labels = np.full((len(rows), max(map(len, rows))), -1, np.int32)
    values = np.full(labels.shape, np.nan, np.float32)
    for place, row in enumerate(rows):
        labels[place, : len(row)], values[place, : len(row)] = zip(*row, strict=True) if row else ((), ())
    return labels, values


def write_lines(path: Path, ending: str, lines: Iterable[str]) -> Path:
    path.with_suffix(ending).write_text("".join(f"{line}\n" for line in lines))
    return path.with_suffix(ending)


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
        write(path.with_suffix(ending), matrix, *args, **options)
        return path.with_suffix(ending)

    return written


def save_sparse(path: Path, matrix: Any, compressed: bool = False, scheme: str = "csr") -> None:
    sp.save_npz(path, matrix.asformat(scheme), compressed=compressed)


def save_list(path: Path, matrix: Any, compressed: bool = False) -> None:
    labels, values = as_list(matrix)
    (np.savez_compressed if compressed else np.savez)(path, indices=labels, scores=values)


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
    """As in the studies of calibration at k."""
    labels, values = as_list(matrix)
    arrays = {"scores": values, "true_positives": np.zeros(labels.shape, np.float32)}
    np.savez(path.with_suffix(".npz"), **arrays, prediction_ids=labels, labels=np.array([(0, 0)]))
    return path.with_suffix(".npz")


def npz_calibration_truth(path: Path, matrix: Any) -> Path:
    """The truth in such a file: pairs, here in no order, with predictions of any label."""
    pairs = np.random.default_rng(2).permutation(np.argwhere(matrix.toarray()))
    listed = np.full((matrix.shape[0], 2), [matrix.shape[1] - 1, 0])
    np.savez(path.with_suffix(".npz"), prediction_ids=listed, scores=listed / 2.0, labels=pairs)
    return path.with_suffix(".npz")


def svmlight(path: Path, matrix: Any, ending: str = ".svm", header: tuple[str, ...] = ()) -> Path:
    """Labels with features, a line each row."""
    lines = (f"{','.join(map(str, row))} 0:1.5 3:0.25" for row in rows_of(matrix))
    return write_lines(path, ending, [*header, *lines])


def xmc_data(path: Path, matrix: Any) -> Path:
    return svmlight(path, matrix, ".txt", (f"{matrix.shape[0]} 4 {matrix.shape[1]}",))


def ids(path: Path, matrix: Any, separator: str = " ") -> Path:
    """Ids of a row on each line; the last row tells the last label."""
    return write_lines(path, ".lines", (separator.join(map(str, row)) for row in rows_of(matrix)))


def fasttext(path: Path, matrix: Any, kind: str) -> Path:
    """Names behind a mark, before a text, or each before its score."""
    form, end = ("__label__{} {}", "") if kind == "scores" else ("__label__{}", " a text")
    rows = ([form.format(*item) for item in row] for row in items_of(matrix))
    return write_lines(path, ".lines", (" ".join(row) + end for row in rows))


def mulan(path: Path, matrix: Any) -> Path:
    """Sparse ARFF; labels stand before a feature, in another order than in the XML file."""
    n = matrix.shape[1]
    names = [f"label {j}" for j in range(n)]
    lines = [f"@relation '{path.name}'", *(f"@attribute '{name}' {{0,1}}" for name in reversed(names))]
    lines += ["@attribute x numeric", "@data"]
    for row in rows_of(matrix):
        lines.append("{" + ",".join([*(f"{n - 1 - j} 1" for j in reversed(row)), f"{n} 0.5"]) + "}")
    write_lines(path, ".xml", ["<labels>", *(f'<label name="{name}"/>' for name in names), "</labels>"])
    return write_lines(path, ".arff", lines)


def meka(path: Path, matrix: Any) -> Path:
    """Dense ARFF; the relation tells how many attributes are labels."""
    n = matrix.shape[1]
    lines = [f"@relation '{path.name}: -C {n}'", *(f"@attribute y{j} {{0,1}}" for j in range(n))]
    lines += ["@attribute x numeric", "@data"]
    rows = matrix.toarray().astype(int).tolist()
    return write_lines(path, ".arff", [*lines, *(",".join(map(str, [*row, 0.5])) for row in rows)])


def csv_documents(path: Path, matrix: Any, kind: str) -> Path:
    """A row each, with text that has quotes, delimiters and lines; scores in a field of their own."""
    lines = ["id,labels" + ",scores" * (kind == "scores") + ",text"]
    for row, items in enumerate(items_of(matrix)):
        cells = [f'"{[item[field] for item in items]}"' for field in range(1 + (kind == "scores"))]
        lines.append(f'{row},{",".join(cells)},"a ""b"", c\n\nand so on"')
    return write_lines(path, ".csv", lines)


def jsonl_documents(path: Path, matrix: Any, kind: str) -> Path:
    """An object each; scores by label."""
    rows = ({str(label): value for label, value in row} for row in items_of(matrix))
    fields = ({"labels": [*row]} if kind == "truth" else {"predicted": row} for row in rows)
    return write_lines(path, ".jsonl", (json.dumps({"id": i, **row}) for i, row in enumerate(fields)))


def json_run(path: Path, matrix: Any) -> Path:
    """An object of objects, as BEIR, MTEB and ranx write qrels and runs."""
    rows = {str(i): {str(j): 1 if x == 1 else x for j, x in row} for i, row in enumerate(items_of(matrix))}
    return write_lines(path, ".json", [json.dumps(rows, indent=1)])


def beir_qrels(path: Path, matrix: Any) -> Path:
    """Three columns; a row without labels has a judgement of no relevance."""
    rows = [[(label, 1) for label in row] or [(0, 0)] for row in rows_of(matrix)]
    lines = [f"{i}\t{label}\t{value}" for i, row in enumerate(rows) for label, value in row]
    return write_lines(path, ".tsv", ["query-id\tcorpus-id\tscore", *lines])


def entries(path: Path, matrix: Any, kind: str) -> Path:
    """Parquet with a row for each label of an instance."""
    cells = matrix.tocoo()
    columns = {"instance": cells.row.astype(np.int64), "label": cells.col.astype(np.int64)}
    columns |= {"score": cells.data} if kind == "scores" else {}
    table = pa.table(columns).replace_schema_metadata({"n_labels": str(matrix.shape[1])})
    pa.parquet.write_table(table, path.with_suffix(".parquet"), row_group_size=max(7, table.num_rows // 20))
    return path.with_suffix(".parquet")


def feather(path: Path, matrix: Any, kind: str) -> Path:
    table = pa.parquet.read_table(parquet(path, matrix, kind))
    path.with_suffix(".parquet").unlink()
    path, size = path.with_suffix(".feather"), max(7, table.num_rows // 20)
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
NUMBERED: dict[str, Writer] = {  # whose rows and labels have numbers
    **{f"truth {name}": write for name, write in TRUTHS.items()},
    **{f"scores {name}": write for name, write in SCORES.items()},
}
NAMED: dict[str, tuple[str, Writer]] = {  # by name alone: what each holds, and its writer
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
    """Rows of a file, of a format by name or by its ending, that are read some at a time."""
    return find_format(path, name, kind)[0].read(path, kind)


def named_pair(name: str, folder: Path, truth: Any, scores: Any) -> tuple[Path, Path]:
    """Files of a truth and of scores with names, one of them in the format of that name."""
    kind, write = NAMED[name]
    if kind == "truth":
        return write(folder / "Z", truth), trec_run(folder / "z", scores)
    return qrels(folder / "Z", truth), write(folder / "z", scores)


def files_of(name: str) -> tuple[Path, Path, Path]:
    """A truth and scores, one of them in the format of that name, and that file."""
    truth, scores = make_truth(), make_scores()
    if name in NAMED:
        paths = named_pair(name, Path(), truth, scores)
        return *paths, paths[NAMED[name][0] == "scores"]
    path = NUMBERED[name](Path("Z"), truth if name.startswith("truth") else scores)
    other = npz(Path("other"), scores if name.startswith("truth") else truth)
    return (path, other, path) if name.startswith("truth") else (other, path, path)
