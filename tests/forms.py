"""Forms of one input: types, memory layouts, sparse formats and lists that hold the same values."""

from __future__ import annotations

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
NARROW = ("?", "i1", "u1", "i2", "u2", "f2", "f4")  # types whose numbers float32 holds
WIDE = ("i4", "u4", "i8", "u8", "f8", "g")
BOTH = 2  # labels whose ids, 0 and 1, may also be cells of a row
IDS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def with_gaps(array: Array) -> Array:
    """Return every other cell of an array twice as large in each dimension, whose others are wrong."""
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
    """Return the same numbers in one of some types, as far as it holds them to the bit."""

    def holds(name: str) -> bool:
        with np.errstate(all="ignore"):
            changed = array.astype(name)
            back = changed.astype(array.dtype)
        return bool((back == array).all() and (np.signbit(back) == np.signbit(array)).all())

    return array.astype(draw(st.sampled_from([name for name in types if holds(name)])))


def types_of(array: Array) -> tuple[str, ...]:
    """Return the types that are read with the precision of an array."""
    return NARROW if np.can_cast(array.dtype, np.float32) else WIDE


GRADES = ("sparse",)
KINDS_OF_SETS = {
    "y_true": ("sparse", "dense", "ids"),
    "y_pred": ("sparse", "dense", "ids"),
    "y_train": ("sparse", "dense"),
    "candidates": ("sparse", "flags"),
    "exclude": ("sparse", "flags"),  # numbers may be pairs
}
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")


def stored(matrix: Any) -> list[tuple[int, int, float]]:
    """Return what a matrix stores, and where."""
    cells = matrix.tocoo()
    return sorted(zip(cells.row.tolist(), cells.col.tolist(), cells.data.tolist(), strict=True))


def sparse(matrix: Any, draw: Draw) -> Any:
    """Return the same stored cells in another format, as far as it stores zeros, and its arrays laid out."""
    form = draw(st.sampled_from(FORMATS))
    changed = matrix.asformat(form) if form != "bsr" else matrix.tobsr(blocksize=(1, 1))
    if stored(changed) != stored(matrix):
        changed = matrix.copy()
    if changed.format == "csr" and draw(st.booleans()):
        changed = unsorted(changed, draw)
    if draw(st.booleans()):
        changed = getattr(sp, f"{changed.format}_matrix")(changed)
    if changed.format in ("csr", "csc", "coo"):
        parts = {"csr": ("data", "indices", "indptr"), "csc": ("data",), "coo": ("data",)}[changed.format]
        for name in parts:
            array = laid_out(getattr(changed, name), draw)
            if name != "data":
                array = array.astype(draw(st.sampled_from(["i4", "i8", ">i4", ">i8"])))
            setattr(changed, name, array)
    return changed


def unsorted(matrix: Any, draw: Draw) -> Any:
    """Return a CSR matrix whose rows store their cells in another order."""
    order = [
        place
        for lo, hi in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
        for place in draw(st.permutations(range(lo, hi)))
    ]
    return sp.csr_array((matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape)


def of_matrix(matrix: Any, draw: Draw, kinds: Sequence[str] = ("sparse",)) -> Any:
    """Return a matrix in another form; sets may be dense arrays, or lists of ids, among ``kinds``."""
    kind = draw(st.sampled_from(kinds))
    types = types_of(matrix.data) if len(kinds) == 1 else (*NARROW, *WIDE)
    if kind == "flags":
        return laid_out(matrix.toarray().astype(np.bool_), draw)
    if kind == "dense":
        return laid_out(typed(matrix.toarray(), types, draw), draw)
    if kind == "ids":
        rows = np.split(matrix.indices, matrix.indptr[1:-1]) if matrix.shape[0] else []
        looks_like_cells = matrix.shape[1] == BOTH
        return [{*row.tolist()} if looks_like_cells else sequence(row.tolist(), draw) for row in rows]
    matrix = matrix.copy()
    matrix.data = typed(matrix.data, [name for name in types if name != "f2"], draw)  # which SciPy lacks
    return sparse(matrix, draw)


def sequence(values: list[Any], draw: Draw) -> Any:
    return draw(st.sampled_from([list, tuple]))(values)


def of_scores(problem: Problem, draw: Draw) -> Any:
    """Return the scores in another form."""
    scores = problem.y_score()
    if problem.form == "ragged":
        rows = [[entry if problem.bare else sequence([*entry], draw) for entry in row] for row in scores]
        return [sequence(row, draw) for row in rows]
    if problem.form == "list":
        ids, values = scores
        ids = laid_out(typed(ids, IDS[::2] if ids.size else ("i4",), draw), draw)
        if values is None:
            return ids, None
        floats = [name for name in types_of(values) if name[0] in "fg"]
        with_slots = np.where(np.isnan(values), 0, values).astype(values.dtype)  # which are never read
        return ids, laid_out(typed(with_slots, floats, draw), draw)
    if problem.form == "dense":
        return laid_out(typed(scores, types_of(scores), draw), draw)
    return of_matrix(scores, draw)


def of_vector(values: list[Any], draw: Draw) -> Any:
    """Return a value for each row or label in another form."""
    kinds = {*map(type, values)}
    are_numbers = kinds <= {int, float}
    if draw(st.booleans()) or len(kinds) > 1 or not values:
        kind = draw(st.sampled_from([tuple, list] if are_numbers else [tuple, list, np.array]))
        return np.array(values, object) if kind is np.array else kind(values)
    array = np.array(values)
    if are_numbers:
        array = typed(array, IDS if kinds == {int} else ("f2", "f4", "f8"), draw)
    return laid_out(array, draw)


def of_rows(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Return the rows of a problem as arguments, each in a form of its own."""
    rows, is_graded = problem.rows(), problem.conventions.graded
    rows["y_true"] = of_matrix(rows["y_true"], draw, GRADES if is_graded else KINDS_OF_SETS["y_true"])
    if "y_score" in rows:
        rows["y_score"] = of_scores(problem, draw)
    rows |= {name: of_matrix(rows[name], draw, KINDS_OF_SETS[name]) for name in SETS if name in rows}
    return rows | {name: of_vector(rows[name], draw) for name in VECTORS if name in rows}


def of_options(problem: Problem, draw: Draw) -> dict[str, Any]:
    """Return the options of a problem, those with values of labels in another form."""
    options = problem.options()
    if "y_train" in options:
        options["y_train"] = of_matrix(options["y_train"], draw, KINDS_OF_SETS["y_train"])
    for name in ("label_groups", "inverse_propensity"):
        if name in options:
            options[name] = of_vector(options[name], draw)
    return options
