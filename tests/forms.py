"""Forms of one input: types, memory layouts, sparse formats and lists with the same values."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.problems import SETS, VECTORS, Draw, Problem

Array = NDArray[Any]
NARROW = ("?", "i1", "u1", "i2", "u2", "f2", "f4")  # types that are exact in float32
WIDE = ("i4", "u4", "i8", "u8", "f8", "g")
BOTH = 2  # with so many labels, a row of ids, 0 and 1, may also be a dense row
IDS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def with_gaps(array: Array) -> Array:
    """Return every other cell of an array twice as large, with wrong values in between."""
    wide = np.full([2 * n for n in array.shape], 77, array.dtype)
    every_other = wide[(slice(None, None, 2),) * array.ndim]
    every_other[...] = array
    return every_other


def reversed_in_memory(array: Array) -> Array:
    backwards = (slice(None, None, -1),) * array.ndim
    return array[backwards].copy()[backwards]


def read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array: Array) -> Array:
    place = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


def mapped(array: Array) -> Array:
    """Return an array in a file, which is removed while it is mapped."""
    if not array.size:
        return array
    with tempfile.TemporaryDirectory() as folder:
        file = np.memmap(Path(folder, "array"), array.dtype, "w+", shape=array.shape)
        file[...] = array
        return file


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "plain": lambda array: array,
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "Fortran": np.asfortranarray,
    "with gaps": with_gaps,
    "reversed": reversed_in_memory,
    "read-only": read_only,
    "unaligned": unaligned,
    "mapped": mapped,
}


def laid_out(array: Array, draw: Draw) -> Array:
    """Return the same array with another layout, or two of them."""
    for name in draw(st.lists(st.sampled_from([*LAYOUTS]), min_size=1, max_size=2)):
        array = LAYOUTS[name](array)
    return array


def typed(array: Array, types: Sequence[str], draw: Draw) -> Array:
    """Return the same numbers in one of the types that represent them exactly."""

    def is_exact(name: str) -> bool:
        with np.errstate(all="ignore"):
            changed = array.astype(name)
            back = changed.astype(array.dtype)
        return bool((back == array).all() and (np.signbit(back) == np.signbit(array)).all())

    exact = [name for name in types if is_exact(name)]
    return array.astype(draw(st.sampled_from(exact)))


def types_of(array: Array) -> tuple[str, ...]:
    """Return the types that are read with the precision of an array."""
    return NARROW if np.can_cast(array.dtype, np.float32) else WIDE


GRADES = ("sparse",)
KINDS_OF_SETS = {
    "y_true": ("sparse", "dense", "ids"),
    "y_pred": ("sparse", "dense", "ids"),
    "y_train": ("sparse", "dense"),
    **dict.fromkeys(["unjudged", "judged", "candidates"], ("sparse", "flags")),
    "exclude": ("sparse", "flags"),  # numbers may be pairs
}
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
ARRAYS = {"csr": ("data", "indices", "indptr"), "csc": ("data",), "coo": ("data",)}


def stored(matrix: Any) -> list[tuple[int, int, float]]:
    """Return the stored cells of a matrix: row, column and value."""
    cells = matrix.tocoo()
    return sorted(zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True))


def sparse(matrix: Any, draw: Draw) -> Any:
    """Return the same stored cells in another format, if it can store zeros, with other arrays."""
    form = draw(st.sampled_from(FORMATS))
    changed = matrix.tobsr(blocksize=(1, 1)) if form == "bsr" else matrix.asformat(form)
    if stored(changed) != stored(matrix):
        changed = matrix.copy()
    if changed.format == "csr" and draw(st.booleans()):
        changed = unsorted(changed, draw)
    if draw(st.booleans()):
        changed = getattr(sp, f"{changed.format}_matrix")(changed)
    for name in ARRAYS.get(changed.format, ()):
        array = laid_out(getattr(changed, name), draw)
        if name != "data":
            array = array.astype(draw(st.sampled_from(["i4", "i8", ">i4", ">i8"])))
        setattr(changed, name, array)
    return changed


def unsorted(matrix: Any, draw: Draw) -> Any:
    """Return a CSR matrix whose rows store their cells in another order."""
    order = list[int]()
    for lo, hi in itertools.pairwise(matrix.indptr.tolist()):
        order += draw(st.permutations(range(lo, hi)))
    arrays = (matrix.data[order], matrix.indices[order], matrix.indptr)
    return sp.csr_array(arrays, shape=matrix.shape)


def vary_matrix(matrix: Any, draw: Draw, kinds: Sequence[str] = ("sparse",)) -> Any:
    """Return a matrix in another form, of some kinds: sets may also be dense arrays or lists."""
    kind = draw(st.sampled_from(kinds))
    if kind == "flags":
        return laid_out(matrix.toarray().astype(np.bool_), draw)
    if kind == "ids":
        return vary_ids(matrix, draw)
    types: Sequence[str] = (*NARROW, *WIDE)
    if len(kinds) == 1:
        types = types_of(matrix.data)
    if kind == "dense":
        return laid_out(typed(matrix.toarray(), types, draw), draw)
    matrix = matrix.copy()
    types_in_scipy = [name for name in types if name != "f2"]
    matrix.data = typed(matrix.data, types_in_scipy, draw)
    return sparse(matrix, draw)


def vary_ids(matrix: Any, draw: Draw) -> list[Any]:
    """Return the rows of a matrix as lists, tuples or sets of ids."""
    rows = [matrix.indices[lo:hi].tolist() for lo, hi in itertools.pairwise(matrix.indptr.tolist())]
    if matrix.shape[1] == BOTH:
        return [{*row} for row in rows]
    return [sequence(row, draw) for row in rows]


def sequence(values: list[Any], draw: Draw) -> Any:
    return draw(st.sampled_from([list, tuple]))(values)


def vary_scores(problem: Problem, draw: Draw) -> Any:
    """Return the scores in another form."""
    scores = problem.y_score()
    if problem.form == "ragged":
        if not problem.bare:
            scores = [[sequence([*entry], draw) for entry in row] for row in scores]
        return [sequence(row, draw) for row in scores]
    if problem.form == "list":
        ids, values = scores
        return vary_lists(ids, values, draw)
    if problem.form == "dense":
        return laid_out(typed(scores, types_of(scores), draw), draw)
    return vary_matrix(scores, draw)


def vary_lists(ids: Array, scores: Array | None, draw: Draw) -> tuple[Array, Array | None]:
    """Return arrays of ids and scores in other forms; scores of empty slots are never read."""
    signed = IDS[::2] if ids.size else ("i4",)
    ids = laid_out(typed(ids, signed, draw), draw)
    if scores is None:
        return ids, None
    floats = [name for name in types_of(scores) if name[0] in "fg"]
    filled = np.where(np.isnan(scores), 0, scores).astype(scores.dtype)
    return ids, laid_out(typed(filled, floats, draw), draw)


def vary_vector(values: list[Any], draw: Draw) -> Any:
    """Return a value for each row or label in another form."""
    kinds = {*map(type, values)}
    are_numbers = kinds <= {int, float}
    if draw(st.booleans()) or len(kinds) > 1 or not values:
        containers: list[Any] = [tuple, list]
        if not are_numbers:
            containers.append(np.array)
        container = draw(st.sampled_from(containers))
        return np.array(values, object) if container is np.array else container(values)
    array = np.array(values)
    if are_numbers:
        types = IDS if kinds == {int} else ("f2", "f4", "f8")
        array = typed(array, types, draw)
    return laid_out(array, draw)


def vary_rows(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Return the rows of a problem as arguments, each in a drawn form."""
    rows = problem.rows()
    kinds = GRADES if problem.reads_grades else KINDS_OF_SETS["y_true"]
    rows["y_true"] = vary_matrix(rows["y_true"], draw, kinds)
    if "y_score" in rows:
        rows["y_score"] = vary_scores(problem, draw)
    for name in SETS:
        if name in rows:
            rows[name] = vary_matrix(rows[name], draw, KINDS_OF_SETS[name])
    for name in VECTORS:
        if name in rows:
            rows[name] = vary_vector(rows[name], draw)
    return rows


def vary_options(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Return the options of a problem, those with values of labels in another form."""
    options = problem.options()
    if "y_train" in options:
        options["y_train"] = vary_matrix(options["y_train"], draw, KINDS_OF_SETS["y_train"])
    for name in ("label_groups", "inverse_propensity"):
        if name in options:
            options[name] = vary_vector(options[name], draw)
    return options
