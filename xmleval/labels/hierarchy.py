"""Hierarchies of labels: checked edges from children to parents, and all ancestors of nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

import numpy as np

from xmleval.base.arrays import Ints, Labels, label_dtype
from xmleval.base.budget import OverLimitError, memory_limit
from xmleval.base.errors import InputError, Keyword, Message, shown
from xmleval.files.remote import as_path, is_file
from xmleval.input.match import nodes_without_labels
from xmleval.input.tensors import is_sparse, refuse_other
from xmleval.input.text_columns import read_edges
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
    """Return a hierarchy from any form of the argument, for labels by number or by ``names``.

    Edges are nonzero entries of a sparse matrix (l, l) at the row of a child and the column of its
    parent; (child, parent) pairs, a list or an array of shape (e, 2); or a dict from children to a
    parent, or a list of them. Where labels have names, so may other nodes.

    in_order : whether the caller knows the order of the labels
    places : what messages call each pair
    """
    if value is None:
        return None
    if isinstance(value, Hierarchy):
        if value.n_labels != n_labels:
            raise InputError(ARGUMENT, f"has {value.n_labels} labels, not {n_labels}")
        return value
    if is_sparse(value):
        if names is not None and not in_order:
            problem = "a matrix has labels by number, but y_true has names; give "
            raise InputError(ARGUMENT, Message(problem, Keyword("labels"), ", or pairs of names"))
        return from_edges(_read_matrix(value, n_labels), n_labels, (), names)
    if names is None and _are_label_ids(value, n_labels):
        return from_edges(value.astype(np.int64), n_labels, (), None)
    pairs = _list_pairs(value)
    if names is None:
        return from_edges(_number_pairs(pairs, n_labels, None, places), n_labels, ())
    other_nodes = nodes_without_labels(list_nodes(pairs), names)
    numbers = {name: number for number, name in enumerate([*names, *other_nodes])}
    edges = _number_pairs(pairs, n_labels, numbers, places)
    return from_edges(edges, n_labels, other_nodes, names)


def _read_matrix(matrix: Any, n_labels: int) -> Ints:
    """Return the edges in a sparse matrix, int64 (e, 2), or refuse another shape."""
    if matrix.shape != (n_labels, n_labels):
        expected = f"({n_labels}, {n_labels}): children by row, parents by column"
        raise InputError(ARGUMENT, f"shape {matrix.shape} is not {expected}")
    entries = matrix.tocoo()
    kept = entries.data != 0
    return np.column_stack([entries.row[kept], entries.col[kept]]).astype(np.int64)


def _are_label_ids(value: object, n_labels: int) -> TypeGuard[Ints]:
    """Whether a value is an array of pairs of label ids, all in range."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "i" or value.shape[1:] != (2,):
        return False
    return value.size > 0 and int(value.min()) >= 0 and int(value.max()) < n_labels


def _number_pairs(
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
            if numbers is None:
                edges[number, side] = _check_label_id(label, place, n_labels)
            else:
                edges[number, side] = _number_of(label, place, numbers)
    return edges


def as_edges(value: T) -> T | list[Any]:
    """Return edges that can be read twice, also of an iterator."""
    if isinstance(value, Iterator):
        return [*value]
    return value


def list_nodes(value: Any) -> set[Any]:
    """Return the names of all nodes of a hierarchy in any form, or of a file; none of a matrix."""
    if value is None or is_sparse(value):
        return set()
    if isinstance(value, Hierarchy):
        return {*value.names}
    pairs = read_edges(as_path(value)).values() if is_file(value) else _list_pairs(value)
    return {node for pair in pairs for node in pair if isinstance(node, str | int | np.integer)}


def from_edges(
    edges: Ints, n_labels: int, other_nodes: Sequence[Any], names: Sequence[Any] | None = None
) -> Hierarchy:
    """Return the hierarchy of edges between numbered nodes.

    Cycles are refused, and ancestors that exceed the memory limit, before they are listed.

    edges : int64 (e, 2), children and parents; labels have the first numbers
    other_nodes, names : names of the nodes that are not labels, and of the labels, if any
    """
    from scipy.sparse import csr_array  # imported here to keep start-up fast

    n_nodes = n_labels + len(other_nodes)
    node_names = None if names is None else [*names, *other_nodes]
    edges = edges[np.lexsort(edges.T[::-1])]
    differs = np.append(True, (edges[1:] != edges[:-1]).any(axis=1))[: len(edges)]
    edges = edges[differs]
    ptr = np.searchsorted(edges[:, 0], np.arange(n_nodes + 1)).astype(np.int64)
    parents = np.ascontiguousarray(edges[:, 1])
    graph = csr_array((np.ones(len(edges), np.int8), parents, ptr), shape=(n_nodes, n_nodes))
    _refuse_cycle(edges, graph, node_names)
    up_ptr, up = _list_ancestors(ptr, parents, n_nodes)
    digest = hashlib.sha256(np.ascontiguousarray(edges, "<i8").tobytes()).hexdigest()
    top = None
    if n_labels > 1:
        n_below = np.bincount(up[: up_ptr[n_labels]], minlength=n_nodes)
        above_all = np.flatnonzero(n_below == n_labels)  # a label is above itself, too
        if above_all.size:
            top = _name_of(int(above_all[0]), node_names)
    return Hierarchy(up_ptr, up, n_nodes, edges, digest, top, n_labels, [*other_nodes])


def _list_ancestors(ptr: Ints, parents: Ints, n_nodes: int) -> tuple[Ints, Labels]:
    """Return the ancestors of all nodes as CSR rows, or refuse more than memory allows.

    ptr, parents : the parents of all nodes as CSR rows
    """
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
        message = Message("listing the ancestors of all labels ", error.args[0])
        raise InputError(ARGUMENT, message) from None
    ancestors = np.empty(up_ptr[-1], dtype)
    marks[:] = 0
    list_ancestors(ptr, parents, max_entries, marks, stack, up_ptr, ancestors)
    return up_ptr, ancestors


def _name_of(node: int, names: Sequence[Any] | None) -> object:
    """Return the name of a node, or its number."""
    if names is None or node >= len(names):
        return node
    return names[node]


def _list_pairs(value: object) -> list[tuple[Any, Any]]:
    """Return edges as pairs of a child and a parent."""
    if isinstance(value, Mapping):
        return _pairs_in_mapping(value)
    refuse_other(ARGUMENT, value)
    edges: object = value
    if hasattr(value, "tolist"):
        edges = value.tolist()
    if not hasattr(edges, "__iter__"):
        raise InputError(ARGUMENT, f"{shown(value)} is not a list of (child, parent) pairs")
    pairs = [*edges]
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(
                ARGUMENT, f"edge {place}: {shown(pair)} is not a (child, parent) pair", value=pair
            )
    return [(child, parent) for child, parent in pairs]


def _pairs_in_mapping(parents_of: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return pairs of a child and a parent from each child's parent, or list of parents."""
    pairs = []
    for child, value in parents_of.items():
        parents = [value]
        if hasattr(value, "__iter__") and not isinstance(value, str):
            parents = [*value]
        for parent in parents:
            pairs.append((child, parent))
    return pairs


def _check_label_id(label: object, place: str, n_labels: int) -> int:
    """Return the id of a label, or refuse other values."""
    if isinstance(label, bool | np.bool_) or not isinstance(label, int | np.integer):
        reason = f"{place}: {shown(label)} is not a label id; here, labels have no names"
        raise InputError(ARGUMENT, reason, value=label)
    if 0 <= label < n_labels:
        return int(label)
    fix = "leave out edges to nodes that are not labels, such as a root"
    reason = f"{place}: {shown(label)} is not one of 0..{n_labels - 1}; {fix}"
    raise InputError(ARGUMENT, reason, value=label)


def _number_of(label: object, place: str, numbers: Mapping[Any, int]) -> int:
    """Return the number of a node by its name."""
    number = None
    if isinstance(label, str | int | np.integer):
        number = numbers.get(label)
    if number is None:
        example = shown(next(iter(numbers), "a"))
        reason = f"{place}: {shown(label)} is not a name of a label, such as {example}"
        raise InputError(ARGUMENT, reason, value=label)
    return number


def _refuse_cycle(edges: Ints, graph: Any, names: Sequence[Any] | None) -> None:
    """Refuse edges that lead from a label back to it, and name the labels on the way."""
    loops = edges[edges[:, 0] == edges[:, 1]]
    cycle = loops[0].tolist() if loops.size else _find_cycle(graph)
    if not cycle:
        return
    node_names = [_name_of(node, names) for node in cycle]
    if len(node_names) > SHOWN + 1:
        node_names = [*node_names[:SHOWN], "..", node_names[-1]]
    way = " -> ".join(map(str, node_names))
    raise InputError(ARGUMENT, f"a cycle: {way}, each a child of the next")


def _find_cycle(graph: Any) -> list[int]:
    """Return the nodes of a cycle, the first one also at its end; an empty list without any."""
    from scipy.sparse.csgraph import connected_components

    n_components, component_of = connected_components(graph, connection="strong")
    if n_components == graph.shape[0]:
        return []
    is_in_cycle = np.bincount(component_of)[component_of] > 1
    node = int(is_in_cycle.argmax())
    component = component_of[node]
    place_of: dict[int, int] = {}  # nodes on the way up, in order
    while node not in place_of:
        place_of[node] = len(place_of)
        parents = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        node = int(parents[component_of[parents] == component][0])
    way = [*place_of]
    return [*way[place_of[node] :], node]
