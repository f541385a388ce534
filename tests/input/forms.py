"""Forms of a truth and predictions, each made from a small problem.

`ARRAYS` are made from a dense array, `LISTED` from scores of which zeros are no scores, and `NAMED`
from dicts of rows, which have values by label.
"""

import itertools
import json
import tempfile
from collections import UserDict, UserList, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import from_df

SPARSE = [
    f"{form}_{kind}"
    for form in ("csr", "csc", "coo", "lil", "dok", "dia")
    for kind in ("array", "matrix")
]
ROLES = ("y_true", "y_score", "y_pred")
Rows = dict[str, dict[str, Any]]  # values by row and label, in the order in which they are listed


def offered(array: Any) -> Any:
    """Return an object of another library that knows how to become an array."""
    array = np.array(array)

    def as_array(dtype: Any = None, copy: Any = None) -> Any:
        return np.array(array, dtype)

    return SimpleNamespace(shape=array.shape, __array__=as_array)


def on_device(array: Any) -> Any:
    """Return an array that must be copied from a device by its method."""
    array = np.array(array)
    error = TypeError("Implicit conversion to a NumPy array is not allowed")
    methods = {
        "get": lambda: array,
        "__array__": mock.Mock(side_effect=error),
        "__cuda_array_interface__": None,
    }
    return SimpleNamespace(shape=array.shape, **methods)


def tensor(array: Any) -> Any:
    """Return a tensor by its methods, without a type."""
    made = SimpleNamespace(shape=np.shape(array), numpy=lambda: np.array(array))
    made.detach = made.cpu = lambda: made
    return made


class Result(NamedTuple):
    """A named pair, as `torch.topk` gives it."""

    values: Any
    indices: Any


def torch_of(make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a function that makes an object of torch from an array."""
    return lambda array: make(pytest.importorskip("torch"), np.array(array))


def not_coalesced(torch: Any, array: Any) -> Any:
    places = np.array(array.nonzero())[:, ::-1].copy()
    return torch.sparse_coo_tensor(places, array[tuple(places)], array.shape)


def frozen(array: Any) -> Any:
    array = np.array(array)
    array.flags.writeable = False
    return array


def strided(array: Any) -> Any:
    return np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3]


def mapped(array: Any) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        np.save(file, array)
        file.flush()
        return np.load(file.name, mmap_mode="r")


def sparse(dense: Any, **parts: Any) -> Any:
    """Return a CSR array whose parts are replaced without SciPy's checks."""
    matrix = sp.csr_array(dense)
    for name, part in parts.items():
        setattr(matrix, name, part)
    return matrix


def with_index_type(dense: Any, dtype: str, form: str = "csr") -> Any:
    matrix = sp.csr_array(dense).asformat(form)
    for name in ("indices", "indptr"):
        setattr(matrix, name, getattr(matrix, name).astype(dtype))
    return matrix


def backwards(dense: Any) -> Any:
    matrix = sp.csr_array(dense)
    rows = itertools.pairwise(matrix.indptr)
    order = np.concatenate([np.arange(*ends)[::-1] for ends in rows])
    parts = (matrix.data[order], matrix.indices[order], matrix.indptr)
    return sp.csr_array(parts, shape=dense.shape)


def stale(dense: Any) -> Any:
    """Return an unsorted matrix whose flags report it as sorted."""
    matrix = backwards(dense)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


STORED: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(sp, name) for name in SPARSE},
    "unsorted": backwards,
    "stale flags": stale,
    "i8 index": partial(with_index_type, dtype="i8"),
    "u2 index": partial(with_index_type, dtype="u2"),
    ">i4 index": partial(with_index_type, dtype=">i4"),
    "torch CSR": torch_of(lambda torch, a: torch.tensor(a).to_sparse_csr()),
    "torch CSC": torch_of(lambda torch, a: torch.tensor(a).to_sparse_csc()),
    "torch COO": torch_of(lambda torch, a: torch.tensor(a).to_sparse()),
    "torch COO, not coalesced": torch_of(not_coalesced),
    "torch CSR in bfloat16": torch_of(lambda torch, a: torch.tensor(a).bfloat16().to_sparse_csr()),
}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda a: np.array(a)[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": frozen,
    "nested lists": lambda a: a.tolist(),
    "memory map": mapped,
    "__array__": offered,
    "device": on_device,
    "tensor": tensor,
    "torch plain": torch_of(lambda torch, a: torch.tensor(a)),
    "torch with gradients": torch_of(
        lambda torch, a: torch.tensor(a * 1.0, requires_grad=True) * 1
    ),
    "torch bfloat16": torch_of(lambda torch, a: torch.tensor(a).bfloat16()),
    "torch half": torch_of(lambda torch, a: torch.tensor(a).half()),
    "torch transposed": torch_of(lambda torch, a: torch.tensor(a.T.copy()).T),
    **STORED,
    "bsr_array": sp.bsr_array,
    "bsr_matrix": sp.bsr_matrix,
    "bsr of blocks": lambda a: sp.bsr_array(a, blocksize=(2, 2)),
}


def best_first(row: Any) -> list[tuple[int, float]]:
    """Return pairs of labels and scores that are not 0."""
    pairs = [(int(label), float(row[label])) for label in np.flatnonzero(row)]
    return sorted(pairs, key=lambda pair: -pair[1])


def slots(scores: Any, shuffled: bool = True) -> tuple[Any, Any]:
    """Return arrays of labels and scores in any order, with -1 and NaN in empty slots anywhere."""
    rng = np.random.default_rng(1)
    labels = np.full(scores.shape, -1)
    values = np.full(scores.shape, np.nan)
    for i, row in enumerate(scores):
        pairs = best_first(row)
        places = np.arange(row.size)
        if shuffled:
            places = rng.permutation(row.size)
        for place, (label, score) in zip(places, pairs, strict=False):
            labels[i, place] = label
            values[i, place] = score
    return labels, values


def listed(make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a function of scores that makes an object from arrays of labels and scores."""
    return lambda scores: make(*slots(scores))


def ragged(make: Callable[[list[tuple[int, float]]], Any]) -> Callable[[Any], Any]:
    """Return a function of scores that makes a list per row from its pairs, best first."""
    return lambda scores: [make(best_first(row)) for row in scores]


def hits_of_ids(row: list[tuple[int, float]]) -> list[dict[str, float]]:
    return [{"corpus_id": label, "score": score} for label, score in row]


LISTED: dict[str, Callable[[Any], Any]] = {
    **STORED,
    # blocks of more than one cell would store zeros that are scores
    "bsr": lambda s: sp.csr_array(s).tobsr(blocksize=(1, 1)),
    "pair": listed(lambda labels, scores: (labels, scores)),
    "scores first": listed(lambda labels, scores: (scores, labels)),
    "list of a pair": listed(lambda labels, scores: [scores, labels]),
    "named pair": listed(lambda labels, scores: Result(scores, labels)),
    "dict": listed(lambda labels, scores: {"scores": scores, "indices": labels}),
    "big-endian": listed(lambda labels, scores: (labels.astype(">i8"), scores.astype(">f8"))),
    "int8": listed(lambda labels, scores: (labels.astype("i1"), scores)),
    "pair of lists": listed(lambda labels, scores: (labels.tolist(), scores.tolist())),
    "strided pair": listed(lambda labels, scores: (np.asfortranarray(labels), strided(scores))),
    "other library": listed(lambda labels, scores: (on_device(labels), offered(scores))),
    "torch.topk": torch_of(lambda torch, a: Result(*map(torch.tensor, slots(a)[::-1]))),
    "pair without scores": lambda s: (slots(s, False)[0], None),
    "dict without scores": lambda s: {"indices": slots(s, False)[0]},
    "ids": ragged(lambda row: [label for label, _ in row]),
    "pairs": ragged(list),
    "unsorted pairs": ragged(lambda row: row[::-1]),
    "dicts of ids": ragged(dict),
    "hits of ids": ragged(hits_of_ids),
}


def arrow(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "arrow": arrow,
    "stream": lambda columns: SimpleNamespace(__arrow_c_stream__=arrow(columns).__arrow_c_stream__),
}
Make = Callable[[Rows, str], Any]
Table = dict[str, list[Any]]


def text_of(cell: Any) -> str:
    if isinstance(cell, list):
        return json.dumps(cell)
    return str(cell)


def write_table(path: Path, columns: Table) -> None:
    """Write a table in the format of a file's name, with lists as JSON in cells of text."""
    rows = [*zip(*columns.values(), strict=True)]
    if path.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow(columns), path)
        return
    if path.suffix == ".jsonl":
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        lines = [*map(json.dumps, records)]
    else:
        separator = "\t" if path.suffix == ".tsv" else ";"
        lines = [separator.join(map(text_of, row)) for row in (columns, *rows)]
    path.write_text("".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class Form:
    """A form of rows whose labels have names, made for the argument that takes it.

    keyed : whether rows are matched by key; None where they have an index, which others may lack
    by_name : whether labels have values of their own, by which equal scores rank by name
    wide : whether each row has a value for every label
    roles : arguments that have the form
    """

    make: Make
    keyed: bool | None = False
    by_name: bool = False
    wide: bool = False
    roles: tuple[str, ...] = ROLES


def names_of(rows: Rows) -> list[str]:
    return [*dict.fromkeys(name for row in rows.values() for name in row)]


def members(rows: Rows, role: str) -> list[Any]:
    """Return the rows as lists, of labels with scores or of relevant ones."""
    if role == "y_score":
        return [[*row.items()] for row in rows.values()]
    return [[name for name, value in row.items() if value > 0] for row in rows.values()]


def hits(key: str) -> Make:
    """Return a function that makes lists of hits, with the label by a key."""

    def make_hits(rows: Rows, role: str) -> list[list[Any]]:
        lists = []
        for row in rows.values():
            lists.append([{key: name, "score": score} for name, score in row.items()])
        return lists

    return make_hits


def object_array(items: Iterable[Any]) -> Any:
    return np.array([*items, None], object)[:-1]


def series(rows: Rows, items: Iterable[Any]) -> Any:
    return pytest.importorskip("pandas").Series([*items], index=[*rows])


def polars_series(items: list[Any]) -> Any:
    return pytest.importorskip("polars").Series(items)


def chunked_array(items: list[Any]) -> Any:
    return pytest.importorskip("pyarrow").chunked_array([[item] for item in items])


def label_lists(rows: Rows) -> list[list[str]]:
    return [[*row] for row in rows.values()]


def score_lists(rows: Rows) -> list[list[Any]]:
    return [[*row.values()] for row in rows.values()]


def pair_of(column: Callable[[list[Any]], Any]) -> Make:
    """Return a function that makes a pair of columns, of lists of labels and of their scores."""
    return lambda rows, role: (column(label_lists(rows)), column(score_lists(rows)))


def pair_of_series(rows: Rows, role: str) -> Any:
    return series(rows, label_lists(rows)), series(rows, score_lists(rows))


def dict_of_series(rows: Rows, role: str) -> Any:
    labels, scores = pair_of_series(rows, role)
    return {"indices": labels, "scores": scores}


def pair_of_names(rows: Rows, role: str) -> Any:
    return np.array(label_lists(rows)), np.array(score_lists(rows))


def table_of_names(rows: Rows, role: str) -> Any:
    """Return an array of names, with None and empty names behind those of shorter rows."""
    table = np.array([*itertools.zip_longest(*members(rows, role))], object).T
    table[0] = [name or "" for name in table[0]]
    return table


def wide_columns(rows: Rows) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in names_of(rows):
        columns[name] = np.array([row.get(name, 0) for row in rows.values()])
    return columns


def long_columns(rows: Rows) -> dict[str, Any]:
    """Return columns of rows, labels and values; the first labels of all rows come first."""
    instances = []
    labels = []
    values = []
    for place in range(max(map(len, rows.values()))):
        for key, row in rows.items():
            if place < len(row):
                name = [*row][place]
                instances.append(key)
                labels.append(name)
                values.append(row[name])
    return {"instance": instances, "label": labels, "score": values}


def list_columns(rows: Rows, role: str, by_key: bool = False) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if by_key:
        columns["instance"] = [*rows]
    if role == "y_score":
        columns["labels"] = label_lists(rows)
        columns["scores"] = score_lists(rows)
    else:
        columns["labels"] = members(rows, role)
    return columns


def write_trec(path: Path, rows: Rows) -> None:
    """Write a run or judgements."""
    line = "{} 0 {} {}\n"
    if path.suffix == ".run":
        line = "{} 0 {} 0 {!r} x\n"
    path.write_text("".join(map(line.format, *long_columns(rows).values())))


def write_rows(stem: str, form: str, rows: Rows, scored: bool = True) -> str:
    """Write rows with their values or, unless scored, as sets; return the name of the file."""
    ending = form.removeprefix("lists of ")
    if form == "run" and not scored:
        ending = "qrels"
    path = Path(f"{stem}.{ending}")
    if form in ("run", "qrels"):
        write_trec(path, rows)
    elif form == "json":
        path.write_text(json.dumps(rows))
    elif form.startswith("lists"):
        role = "y_score" if scored else "y_true"
        write_table(path, list_columns(rows, role, by_key=True))
    else:
        columns = long_columns(rows)
        if not scored:
            del columns["score"]
        write_table(path, columns)
    return path.name


def renamed(make: Callable[[dict[str, Any]], Any], columns: dict[str, Any]) -> Any:
    """Return a frame whose columns have other names, which are given to `from_df`."""
    frame = make({f"my {name}": column for name, column in columns.items()})
    new_names = {name.rstrip("s"): f"my {name}" for name in columns}
    return from_df(frame, **new_names)


def wide_pandas(get_dtype: Callable[[Any], Any] = lambda pd: None) -> Make:
    """Return a function that makes a frame with an index, perhaps of a type."""

    def make(rows: Rows, role: str) -> Any:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(wide_columns(rows), index=[*rows])
        dtype = get_dtype(pd)
        if dtype is None:
            return frame
        return frame.astype(dtype)

    return make


def frames_of(library: str) -> dict[str, Form]:
    make = FRAMES[library]
    forms = {
        "long": Form(
            lambda rows, role: make(long_columns(rows)),
            keyed=True,
            by_name=True,
        ),
        "long, renamed": Form(
            lambda rows, role: renamed(make, long_columns(rows)),
            keyed=True,
            by_name=True,
        ),
        "wide": Form(
            lambda rows, role: make(wide_columns(rows)),
            by_name=True,
            wide=True,
        ),
        "of lists": Form(lambda rows, role: make(list_columns(rows, role))),
        "of lists by key": Form(
            lambda rows, role: make(list_columns(rows, role, by_key=True)),
            keyed=True,
        ),
        "of lists, renamed": Form(
            lambda rows, role: renamed(make, list_columns(rows, role, by_key=True)),
            keyed=True,
        ),
    }
    return {f"{library} {name}": form for name, form in forms.items()}


def dict_of_lists(rows: Rows, role: str) -> dict[str, Any]:
    return dict(zip(rows, members(rows, role), strict=True))


def mapping_of_mappings(rows: Rows, role: str) -> Any:
    return UserDict({key: MappingProxyType(row) for key, row in rows.items()})


def ranx_object(rows: Rows, role: str) -> Any:
    return SimpleNamespace(keys=rows.keys, to_dict=lambda: rows)


def lists_of_lists(rows: Rows, role: str) -> Any:
    return [[[*pair] for pair in row.items()] for row in rows.values()]


SCORES_ALONE = ("y_score",)
SETS_ALONE = ("y_true", "y_pred")
INDEXED_WIDE = partial(Form, keyed=None, by_name=True, wide=True)
PAIRED_COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "lists": list,
    "tuples": tuple,
    "object arrays": object_array,
    "UserLists": UserList,
    "polars Series": polars_series,
    "chunked arrays": chunked_array,
    "cells of Arrow": lambda lists: [*chunked_array(lists)],
}
NAMED: dict[str, Form] = {
    "dict of dicts": Form(lambda rows, role: rows, keyed=True, by_name=True),
    "ranx": Form(ranx_object, keyed=True, by_name=True),
    "list of dicts": Form(lambda rows, role: [*rows.values()], by_name=True),
    "mapping of mappings": Form(mapping_of_mappings, keyed=True, by_name=True),
    "mapping of lists": Form(
        lambda rows, role: MappingProxyType(dict_of_lists(rows, role)),
        keyed=True,
    ),
    "list of mappings": Form(
        lambda rows, role: [*map(UserDict, rows.values())],
        by_name=True,
    ),
    "deque": Form(lambda rows, role: deque(members(rows, role))),
    "dict of lists": Form(dict_of_lists, keyed=True),
    "lists": Form(members),
    "tuples": Form(lambda rows, role: [*map(tuple, members(rows, role))]),
    "array of lists": Form(lambda rows, role: object_array(members(rows, role))),
    "lists of lists": Form(lists_of_lists, roles=SCORES_ALONE),
    "hits": Form(hits("corpus_id"), roles=SCORES_ALONE),
    "pipeline": Form(hits("label"), roles=SCORES_ALONE),
    "hits in mappings": Form(
        lambda rows, role: [[*map(UserDict, row)] for row in hits("label")(rows, role)],
        roles=SCORES_ALONE,
    ),
    **{
        f"pair of {name}": Form(pair_of(make), roles=SCORES_ALONE)
        for name, make in PAIRED_COLUMNS.items()
    },
    "pair of Series": Form(pair_of_series, keyed=None, roles=SCORES_ALONE),
    "dict of columns": Form(dict_of_series, keyed=None, roles=SCORES_ALONE),
    "scores before labels": Form(
        lambda rows, role: pair_of(object_array)(rows, role)[::-1],
        roles=SCORES_ALONE,
    ),
    "pair of arrays": Form(pair_of_names, wide=True, roles=SCORES_ALONE),
    "sets": Form(
        lambda rows, role: [*map(set, members(rows, role))],
        roles=SETS_ALONE,
    ),
    "arrays": Form(
        lambda rows, role: [np.array(row, "U9") for row in members(rows, role)],
        roles=SETS_ALONE,
    ),
    "table": Form(table_of_names, roles=SETS_ALONE),
    "Series of lists": Form(
        lambda rows, role: series(rows, members(rows, role)),
        keyed=None,
    ),
    "Series of dicts": Form(
        lambda rows, role: series(rows, rows.values()),
        keyed=None,
        by_name=True,
    ),
    "polars Series": Form(
        lambda rows, role: polars_series(members(rows, role)),
        roles=SETS_ALONE,
    ),
    "chunked array": Form(
        lambda rows, role: chunked_array(members(rows, role)),
        roles=SETS_ALONE,
    ),
    **{name: form for library in FRAMES for name, form in frames_of(library).items()},
    "pandas wide, index": INDEXED_WIDE(wide_pandas()),
    "pandas wide, Float64": INDEXED_WIDE(wide_pandas(lambda pd: "Float64")),
    "pandas wide, float32": INDEXED_WIDE(wide_pandas(lambda pd: "float32")),
    "pandas wide, boolean": INDEXED_WIDE(wide_pandas(lambda pd: "boolean"), roles=SETS_ALONE),
    "pandas wide, sparse": INDEXED_WIDE(wide_pandas(lambda pd: pd.SparseDtype(float, 0))),
    "pandas wide, other filler": INDEXED_WIDE(
        wide_pandas(lambda pd: pd.SparseDtype(float, np.nan))
    ),
}
