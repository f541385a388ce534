"""Hierarchies of labels: edges from children to parents, checked, and all ancestors of each label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np

from xmleval.base.arrays import Ints, label_dtype
from xmleval.base.budget import OverLimitError, memory_limit
from xmleval.base.errors import InputError, Keyword, Message, shown
from xmleval.files.remote import as_path, is_file
from xmleval.input.match import nodes_beside
from xmleval.input.small_texts import read_edges
from xmleval.input.tensors import is_sparse, refuse_other
from xmleval.kernels.ancestors import list_ancestors
from xmleval.view.block import Hierarchy

T = TypeVar("T")
ARGUMENT = "hierarchy"
SHOWN = 8  # labels of a cycle that a message names


def given_hierarchy(
    value: object,
    n_labels: int,
    names: Sequence[Any] | None = None,
    in_order: bool = True,
    places: Sequence[str] | None = None,
) -> Hierarchy | None:
    """Return a hierarchy that is given in any form, for labels by number or by ``names``.

    Edges are nonzero entries of a sparse matrix (l, l) at the row of a child and the column of its parent;
    (child, parent) pairs, a list or an array of shape (e, 2); or a dict from children to a parent, or a list
    of them. Where labels have names, so may other nodes. ``in_order`` tells whether the caller knows the
    order of the labels. Messages call each pair by its ``places``.
    """
    if value is None:
        return None
    if isinstance(value, Hierarchy):
        if value.n_labels != n_labels:
            raise InputError(ARGUMENT, f"is of {value.n_labels} labels, not {n_labels}")
        return value
    if is_sparse(value):
        if names is not None and not in_order:
            which = " has labels by number, which y_true names; give ", Keyword("labels")
            raise InputError(ARGUMENT, Message("a matrix", *which, ", or pairs of names"))
        return from_edges(_edges_in_matrix(value, n_labels), n_labels, (), names)
    if names is None and _are_label_ids(value, n_labels):
        return from_edges(value.astype(np.int64), n_labels, (), None)
    pairs = _pairs(value)
    if names is None:
        return from_edges(_numbered(pairs, n_labels, None, places), n_labels, ())
    other_nodes = nodes_beside(nodes_of(pairs), names)
    numbers = {name: number for number, name in enumerate([*names, *other_nodes])}
    return from_edges(_numbered(pairs, n_labels, numbers, places), n_labels, other_nodes, names)


def _edges_in_matrix(matrix: Any, n_labels: int) -> Ints:
    if matrix.shape != (n_labels, n_labels):
        expected = f"({n_labels}, {n_labels}): children by row, parents by column"
        raise InputError(ARGUMENT, f"shape {matrix.shape} is not {expected}")
    entries = matrix.tocoo()
    kept = entries.data != 0
    return np.column_stack([entries.row[kept], entries.col[kept]]).astype(np.int64)


def _are_label_ids(value: object, n_labels: int) -> TypeGuard[Ints]:
    """Tell whether a value is an array of pairs of labels; the first other pair is looked for elsewhere."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "i" or value.shape[1:] != (2,):
        return False
    return value.size > 0 and int(value.min()) >= 0 and int(value.max()) < n_labels


def _numbered(
    pairs: Sequence[tuple[Any, Any]],
    n_labels: int,
    numbers: Mapping[Any, int] | None,
    places: Sequence[str] | None,
) -> Ints:
    """Return edges between numbered nodes, int64 (e, 2)."""
    edges = np.empty((len(pairs), 2), np.int64)
    for number, pair in enumerate(pairs):
        place = places[number] if places else f"edge {number}"
        for side, label in enumerate(pair):
            edges[number, side] = _number(label, place, n_labels, numbers)
    return edges


def as_edges(value: T) -> T | list[Any]:
    """Return edges that can be read twice, also of an iterator."""
    return [*value] if isinstance(value, Iterator) else value


def nodes_of(value: Any) -> set[Any]:
    """Return the names of all nodes of a hierarchy in any form, a file, too; those of a matrix have none."""
    if value is None or is_sparse(value):
        return set()
    if isinstance(value, Hierarchy):
        return {*value.names}
    pairs = read_edges(as_path(value)).values() if is_file(value) else _pairs(value)
    return {node for pair in pairs for node in pair if isinstance(node, str | int | np.integer)}


def from_edges(
    edges: Ints, n_labels: int, other_nodes: Sequence[Any], names: Sequence[Any] | None = None
) -> Hierarchy:
    """Return the hierarchy of edges between numbered nodes: the labels, by ``names`` if any, and others.

    Cycles are refused, and ancestors that exceed the memory limit, before they are listed.
    """
    from scipy.sparse import csr_array  # imported here to keep start-up fast

    n_nodes = n_labels + len(other_nodes)
    node_names = None if names is None else [*names, *other_nodes]
    edges = edges[np.lexsort(edges.T[::-1])]
    edges = edges[np.append(True, (edges[1:] != edges[:-1]).any(axis=1))[: len(edges)]]
    ptr = np.searchsorted(edges[:, 0], np.arange(n_nodes + 1)).astype(np.int64)
    parents = np.ascontiguousarray(edges[:, 1])
    graph = csr_array((np.ones(len(edges), np.int8), parents, ptr), shape=(n_nodes, n_nodes))
    _refuse_cycle(edges, graph, node_names)
    limit = memory_limit()
    dtype = label_dtype(n_nodes)
    max_entries = int(min(limit.left / dtype.itemsize, np.iinfo(np.int64).max))
    marks, stack = np.zeros((2, n_nodes), np.int64)
    up_ptr = np.empty(n_nodes + 1, np.int64)
    exceeding = list_ancestors(ptr, parents, max_entries, marks, stack, up_ptr, np.empty(0, dtype))
    try:
        if exceeding >= 0:
            limit.check((max_entries + 1) * dtype.itemsize)
        limit.take(int(up_ptr[-1]) * dtype.itemsize)
    except OverLimitError as error:
        raise InputError(ARGUMENT, Message("listing the ancestors of all labels ", error.args[0])) from None
    up = np.empty(up_ptr[-1], dtype)
    marks[:] = 0
    list_ancestors(ptr, parents, max_entries, marks, stack, up_ptr, up)
    digest = hashlib.sha256(np.ascontiguousarray(edges, "<i8").tobytes()).hexdigest()
    of_labels = up[: up_ptr[n_labels]]
    above_all = np.flatnonzero(np.bincount(of_labels, minlength=n_nodes) == n_labels)  # itself, if a label
    top = _called(int(above_all[0]), node_names) if n_labels > 1 and above_all.size else None
    return Hierarchy(up_ptr, up, n_nodes, edges, digest, top, n_labels, [*other_nodes])


def _called(node: int, names: Sequence[Any] | None) -> object:
    """Return the name of a node, or its number."""
    return node if names is None or node >= len(names) else names[node]


def _pairs(value: object) -> list[tuple[Any, Any]]:
    """Return edges as pairs of a child and a parent."""
    if isinstance(value, Mapping):
        parents = {
            child: [value_of]
            if isinstance(value_of, str) or not hasattr(value_of, "__iter__")
            else [*value_of]
            for child, value_of in value.items()
        }
        return [(child, parent) for child, parents_of in parents.items() for parent in parents_of]
    refuse_other(ARGUMENT, value)
    edges = value.tolist() if hasattr(value, "tolist") else value
    if not hasattr(edges, "__iter__"):
        raise InputError(ARGUMENT, f"{shown(value)} is no list of (child, parent) pairs")
    pairs = [*edges]
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(
                ARGUMENT, f"edge {place}: {shown(pair)} is not a (child, parent) pair", value=pair
            )
    return [(child, parent) for child, parent in pairs]


def _number(label: object, place: str, n_labels: int, numbers: Mapping[Any, int] | None) -> int:
    """Return the number of a node."""
    if numbers is None:
        if isinstance(label, bool | np.bool_) or not isinstance(label, int | np.integer):
            reason = f"{place}: {shown(label)} is not a label id; here, labels have no names"
            raise InputError(ARGUMENT, reason, value=label)
        if 0 <= label < n_labels:
            return int(label)
        fix = "leave out edges to what is no label, such as a root"
        reason = f"{place}: {shown(label)} is not one of 0..{n_labels - 1}; {fix}"
        raise InputError(ARGUMENT, reason, value=label)
    number = numbers.get(label) if isinstance(label, str | int | np.integer) else None
    if number is None:
        example = shown(next(iter(numbers), "a"))
        reason = f"{place}: {shown(label)} is no name like that of label {example}"
        raise InputError(ARGUMENT, reason, value=label)
    return number


def _refuse_cycle(edges: Ints, graph: Any, names: Sequence[Any] | None) -> None:
    """Refuse edges that lead from a label back to it, and name the labels on the way."""
    from scipy.sparse.csgraph import connected_components

    loops = edges[edges[:, 0] == edges[:, 1]]
    cycle = loops[0].tolist() if loops.size else []
    if not cycle:
        n_parts, part_of = connected_components(graph, connection="strong")
        if n_parts == graph.shape[0]:
            return
        node = int((np.bincount(part_of)[part_of] > 1).argmax())
        part = part_of[node]
        way = dict[int, int]()
        while node not in way:
            way[node] = len(way)
            parents = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            node = int(parents[part_of[parents] == part][0])
        cycle = [*[*way][way[node] :], node]
    called = [_called(node, names) for node in cycle]
    shown = [*called[:SHOWN], "..", called[-1]] if len(called) > SHOWN + 1 else called
    raise InputError(ARGUMENT, f"a cycle: {' -> '.join(map(str, shown))}, each a child of the next")
