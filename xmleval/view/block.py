"""Blocks of consecutive rows, with the groups and the hierarchy of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bytes, Floats, Ints, Labels, row_sizes
from xmleval.input.canonical import Facts, RankedRows, Truth
from xmleval.kernels.labels import count_entries

MOST_GROUPS = 1000  # of labels, or of rows
NO_DATA: Mapping[str, Floats] = MappingProxyType({})


class Groups(NamedTuple):
    """Groups of labels or rows: names, group numbers, and any ranges of labels such as "1-10".

    of : the group of each, uint16 (n_labels,), or int64 (n,) of rows
    """

    names: list[str]
    of: NDArray[Any]
    ranges: Sequence[str] = ()


class JudgedCells(NamedTuple):
    """Which labels of rows are judged: those of some sets, or all others.

    sets : labels of rows
    are_judged : whether the labels in the sets are judged, and no others
    """

    sets: Truth
    are_judged: bool

    def sizes(self, n_labels: int) -> Ints:
        """Return the numbers of judged labels by row, int64 (n,)."""
        n_marked = row_sizes(self.sets.ptr)
        return n_marked if self.are_judged else n_labels - n_marked

    def count_unjudged(self, n_labels: int) -> Ints:
        """Return how many rows each label is not judged in, int64 (n_labels,)."""
        n_marked = np.zeros(n_labels, np.int64)
        count_entries(self.sets.labels, n_marked)
        if not self.are_judged:
            return n_marked
        return self.sets.ptr.size - 1 - n_marked


class Hierarchy(NamedTuple):
    """Nodes and their ancestors; the labels are the first nodes.

    ptr, labels : CSR rows with the ancestors of every node, itself first; int64 (n_nodes + 1,), or
        of labels alone within a group, and (t,), below ``n_nodes``
    edges : int64 (e, 2), each child and parent once, sorted; digest : hexadecimal SHA-256 of them
    top : an ancestor of all labels, by name or number; None if there is none
    n_labels : number of labels; names : those of the other nodes, in order
    """

    ptr: Ints
    labels: Labels
    n_nodes: int
    edges: Ints
    digest: str
    top: object
    n_labels: int
    names: Sequence[Any] = ()

    def of(self, labels: Ints) -> Hierarchy:
        """Return the rows of some labels, numbered anew; their ancestors keep their numbers."""
        sizes = np.diff(self.ptr)[labels]
        ptr = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(self.ptr[labels] - ptr[:-1], sizes) + np.arange(ptr[-1])
        return self._replace(ptr=ptr, labels=self.labels[places], n_labels=labels.size)

    def describe(self) -> str:
        """Return the number of edges and the beginning of their digest."""
        return f"{len(self.edges)} edges, SHA-256 {self.digest[:12]}"


class Block(NamedTuple):
    """Canonical input of consecutive rows.

    truth : relevant labels
    ranking : scores and lists, best first or in any order; None without them
    pred : predicted sets of the input; or, in any order, those of a decision "listed" if unlisted
        labels have a score
    weight : float64 (n,), 0 or 2^-50..1, or None
    first_row : number of the first row in all data
    by_id : whether the caller numbered the labels, which have no names
    n_reachable : int64 (n,), number of relevant labels of each row that can be ranked, None where
        all can
    row_groups : groups of rows that have results of their own, None without any
    jackknife : uint8 (n,), where rows have clusters or keys, None where the number of a row decides
    judged : judged labels, relevant or not, where the truth has grades
    cells : which labels of rows are judged, that is, count; None where all do. Labels that are not
        judged are in no other sets of the block
    unknown : whether ``ranking`` or ``pred`` may have unknown labels, by ids from the number of
        labels upward
    facts : facts of the truth that are shared by all models on these rows, or None
    row_data : float64 (n,) each, data by row that measures declare
    """

    truth: Truth
    ranking: RankedRows | None
    pred: Truth | None
    weight: Floats | None
    first_row: int
    by_id: bool = False
    n_reachable: Ints | None = None
    row_groups: Groups | None = None
    jackknife: Bytes | None = None
    judged: Truth | None = None
    cells: JudgedCells | None = None
    unknown: bool = False
    facts: Facts | None = None
    row_data: Mapping[str, Floats] = NO_DATA
