"""Groups of labels, by how often they occur in training or by name."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from xmleval.base.arrays import Ints
from xmleval.base.errors import InputError, Keyword, Message, counted, other_rows, shown
from xmleval.base.keywords import refusing_unknown
from xmleval.input.argument_types import RowsLike
from xmleval.input.csr import as_array
from xmleval.input.match_values import match_truth
from xmleval.input.plausibility import notes_on_counts
from xmleval.input.rows import called_like
from xmleval.input.sets import set_rows
from xmleval.input.vectors import for_names, read_label_values, sort_by_names
from xmleval.labels.propensity import count_labels_of
from xmleval.view.block import MOST_GROUPS, Groups

N_DECILES = 10
DECILES = "deciles"
UNSEEN = "zero-shot"
OTHER = "other"
# by the number of groups seen in training
USUAL = {
    2: ["few", "frequent"],
    3: ["tail", "torso", "head"],
}


class LabelGroups(Mapping[str, Ints]):
    """Groups of labels: a mapping from names to label ids.

    Each label is in one group, and none is empty.

    Parameters
    ----------
    names : list of str
        Names, in printing order.
    of : array of shape (n_labels,)
        The place of each label's group among the names.
    ranges : list of str, optional
        What the groups are, such as "1-10".
    label_names : list of str, optional
        Names of the labels, by column.
    numbered : bool
        Whether the caller numbered the labels, not the order in which training names them.

    Examples
    --------
    >>> groups = xmleval.label_groups(label_counts=[0, 3, 200, 50])
    >>> groups
    <LabelGroups: zero-shot (0) 1, tail (1-10) 1, torso (11-100) 1, head (>100) 1>
    >>> groups["head"].tolist()
    [2]
    """

    def __init__(
        self,
        names: Sequence[str],
        of: ArrayLike,
        ranges: Sequence[str] = (),
        label_names: list[Any] | None = None,
        numbered: bool = True,
    ) -> None:
        present, places = np.unique(np.asarray(of, np.int64), return_inverse=True)
        self.names = [names[place] for place in present.tolist()]
        self.of = places.astype(np.uint16)
        self.ranges: list[str] = []
        if ranges:
            self.ranges = [ranges[place] for place in present.tolist()]
        self.label_names = label_names
        self.numbered = numbered

    def __getitem__(self, name: str) -> Ints:
        """Return the labels of a group."""
        if name not in self.names:
            raise KeyError(f"no group {shown(name)}; there are {', '.join(self.names)}")
        return np.flatnonzero(self.of == self.names.index(name))

    def __iter__(self) -> Iterator[str]:
        """Iterate over names."""
        return iter(self.names)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.names)

    def __repr__(self) -> str:
        """Return the names of the groups, their ranges, and their numbers of labels."""
        sizes = np.bincount(self.of, minlength=len(self)).tolist()
        groups = []
        for name, text, size in zip(self, self.ranges or self.names, sizes, strict=True):
            span = f" ({text})" if text != name else ""
            groups.append(f"{name}{span} {size}")
        return f"<LabelGroups: {', '.join(groups)}>"

    def for_labels(self, names: Sequence[Any]) -> LabelGroups:
        """Return the groups of other labels, by name.

        Labels without a group are in the group "zero-shot" or "other".

        ValueError is raised where labels had no names.

        Examples
        --------
        >>> groups = LabelGroups(["head", "tail"], [0, 1], label_names=["cat", "dog"])
        >>> groups.for_labels(["dog", "cat"])["tail"].tolist()
        [0]
        """
        if self.label_names is None:
            raise ValueError("groups of labels without names cannot be matched by name")
        groups = self.names
        ranges = self.ranges
        of = self.of
        if ranges and UNSEEN not in groups:
            groups = [UNSEEN, *groups]
            ranges = ["0", *ranges]
            of = of + 1
        elif not ranges and OTHER not in groups:
            groups = [*groups, OTHER]
        missing = groups.index(UNSEEN if ranges else OTHER)
        places = for_names(of, self.label_names, names, missing)
        return LabelGroups(groups, places, ranges, [*names])


@refusing_unknown
def label_groups(
    y_train: RowsLike | None = None,
    edges: Iterable[int] | str = (0, 10, 100),
    *,
    label_counts: ArrayLike | None = None,
    n_labels: int | None = None,
    labels: list[Any] | None = None,
) -> LabelGroups:
    """Group labels by the number of training rows that have them.

    Parameters
    ----------
    y_train : sparse matrix or array, dense 0/1 array, label lists, dict, frame or file, optional
        Training labels (N, n_labels), as `evaluate` takes them; else ``label_counts``.
    edges : iterable of int, or "deciles"
        Largest number of training rows of each group but the last; labels without any are a group
        in any case. The default gives "zero-shot" (0 rows), "tail" (1-10), "torso" (11-100) and
        "head" (above 100); ``[0, 50]``, as for EURLEX57K, "zero-shot", "few" (1-50) and "frequent".
        Other numbers of edges give ranges as names, such as "1-5". ``"deciles"`` orders labels by
        their number of training rows, most frequent first and equal ones by id, and cuts them at
        equal shares of all positives: "decile 1" has the most frequent labels. A label is where its
        first positive is.
    label_counts : array of shape (n_labels,), optional
        Number of training rows of each label.
    n_labels : int, optional
        Number of labels; required if ``y_train`` is lists of ids.
    labels : list of str, optional
        Names of all labels, by column. If ``y_train`` or this names labels, `evaluate` matches them
        by name.

    Returns
    -------
    LabelGroups
        A mapping from names to label ids, for ``label_groups=`` of `evaluate`. Groups without
        labels are absent.

    Raises
    ------
    ValueError
        If edges do not rise, or counts are not counts.

    Examples
    --------
    >>> y_train = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0]])
    >>> xmleval.label_groups(y_train, edges=[0, 2])
    <LabelGroups: zero-shot (0) 1, few (1-2) 1, frequent (>2) 1>
    """
    if (y_train is None) == (label_counts is None):
        raise InputError("y_train", "give either y_train or label_counts")
    limits = _check_edges(edges)
    if y_train is not None:
        train = match_truth("y_train", y_train, n_labels, labels)
        counts = count_labels_of(set_rows("y_train", train.truth, train.n_labels))
        names = train.naming.label_names
        notes = train.notes
        if names is None:
            notes = [*notes, *notes_on_counts("y_train", counts)]
        for note in notes:
            warnings.warn(note, stacklevel=3)
        numbered = train.naming.closed
    else:
        counts = _check_counts(label_counts, n_labels, labels)
        names = labels
        numbered = True
    if limits is None:
        of = _find_deciles(counts)
        group_names = [UNSEEN]
        ranges = ["0"]
        for number in range(1, N_DECILES + 1):
            group_names.append(f"decile {number}")
            ranges.append(_count_range(counts[of == number]))
        return LabelGroups(group_names, of, ranges, names, numbered)
    ranges = [_range(low, high) for low, high in pairwise([-1, *limits])]
    ranges.append(f">{limits[-1]}")
    seen = USUAL.get(len(limits), ranges[1:])
    return LabelGroups([UNSEEN, *seen], np.searchsorted(limits, counts), ranges, names, numbered)


def _check_counts(
    label_counts: ArrayLike | None, n_labels: int | None, labels: Sequence[Any] | None
) -> Ints:
    """Return numbers of rows by label, or refuse other values and other numbers of labels."""
    counts = as_array("label_counts", label_counts).reshape(-1)
    is_count = (counts >= 0) & (counts == np.floor(counts)) & (counts < np.inf)
    bad = np.flatnonzero(~is_count)
    if bad.size:
        value = counts[bad[0]]
        raise InputError("label_counts", f"label {bad[0]}: {value} is not a number of rows")
    n_names = None if labels is None else len(labels)
    for size, argument in ((n_labels, "n_labels"), (n_names, "labels")):
        if size not in (None, counts.size):
            numbers = f"{size} does not match the {counted(counts.size, 'label counts')}"
            raise InputError(argument, numbers)
    return counts.astype(np.int64)


def _check_edges(edges: object) -> list[int] | None:
    """Return rising numbers of rows from 0 on, None for deciles."""
    if isinstance(edges, str):
        if edges != DECILES:
            raise InputError(
                "edges", f"{shown(edges)} is neither a list of numbers of rows nor {shown(DECILES)}"
            )
        return None
    listed: list[Any] = [edges]
    if hasattr(edges, "__iter__"):
        listed = [*edges]
    if not _are_rising(listed):
        raise InputError(
            "edges", f"{shown(edges)} are not rising numbers of training rows, such as [0, 10, 100]"
        )
    limits = [int(edge) for edge in listed]
    if limits[0] > 0:
        limits = [0, *limits]
    refuse_many_groups("edges", len(limits) + 1)
    return limits


def _are_rising(edges: Collection[Any]) -> bool:
    """Whether there are edges, and all are numbers of rows above the edge before."""
    if not all(_is_count(edge) for edge in edges):
        return False
    return len(edges) > 0 and all(low < high for low, high in pairwise(edges))


def _is_count(value: Any) -> bool:
    """Whether a value is an integer from 0 on."""
    return hasattr(value, "__index__") and not isinstance(value, bool) and bool(value >= 0)


def _range(low: int, high: int) -> str:
    """Return the numbers above ``low`` up to ``high`` as text."""
    if high == low + 1:
        return f"{high}"
    return f"{low + 1}-{high}"


def _count_range(counts: Ints) -> str:
    """Return the lowest and the highest of several counts as text."""
    if not counts.size:
        return ""
    return _range(int(counts.min()) - 1, int(counts.max()))


def _find_deciles(counts: Ints) -> Ints:
    """Return the deciles of labels from 1 on, 0 for labels that do not occur."""
    order = np.argsort(-counts, kind="stable")
    before = np.concatenate(([0], np.cumsum(counts[order])))
    total = int(before[-1])
    decile_of = np.empty_like(counts)
    decile_of[order] = 1 + N_DECILES * before[:-1] // max(1, total)
    return np.where(counts > 0, decile_of, 0)


def resolve_groups(
    value: object,
    n_labels: int,
    names: list[Any] | None,
    in_order: bool = True,
    label_counts: ArrayLike | None = None,
) -> tuple[Groups | None, list[str]]:
    """Return groups of labels from any form of the argument, and notes.

    names : names of the labels, None if they have none
    in_order : whether the caller knows the order of the labels
    label_counts : number of training rows of each label, which edges, as `label_groups` takes them,
        need
    """
    argument = "label_groups"
    if value is None:
        return None, []
    if are_edges(value, n_labels):
        if label_counts is None:
            problem = f"{shown(value)} are numbers of training rows; give "
            remedy = f", or the group of each of {n_labels} labels"
            raise InputError(argument, Message(problem, Keyword("y_train"), remedy))
        groups = label_groups(label_counts=label_counts, edges=value)
        return Groups(groups.names, groups.of, groups.ranges), []
    if isinstance(value, str):
        raise InputError(
            argument,
            f"{shown(value)} is not a grouping; make one with label_groups(y_train, ...)",
        )
    value, notes = read_label_values(argument, value, names)
    if isinstance(value, Mapping) and not isinstance(value, LabelGroups):
        value = _list_groups(argument, value, n_labels, names)
    else:
        value = sort_by_names(argument, value, names, in_order)
    if not isinstance(value, LabelGroups | Groups):
        value = _group_by_name(argument, value)
    if value.of.size != n_labels:
        raise InputError(
            argument, f"has groups of {value.of.size} labels; expected one for each of {n_labels}"
        )
    return Groups(value.names, value.of, value.ranges), notes


def are_edges(value: object, n_labels: int) -> TypeGuard[str | Sequence[int]]:
    """Whether a value is rising numbers of training rows or "deciles", not one group per label."""
    if isinstance(value, str):
        return value == DECILES
    if not isinstance(value, list | tuple | range | np.ndarray):
        return False
    return len(value) != n_labels and _are_rising(value)


def _list_groups(
    argument: str, groups: Mapping[Any, Any], n_labels: int, names: list[Any] | None
) -> list[Any]:
    """Return the group of every label, by name or by id; labels without a group are in "other"."""
    if names is None:
        for key in groups:
            if not hasattr(key, "__index__") or not 0 <= key < n_labels:
                problem = f"{shown(key)} is not a label id in 0..{n_labels - 1}"
                hint = "label ids are counted from 0, and names need names of labels in y_true"
                raise InputError(argument, f"{problem}; {hint}")
        return [groups.get(label, OTHER) for label in range(n_labels)]
    groups = dict(zip(called_like(names, [*groups]), groups.values(), strict=True))
    if not any(name in groups for name in names):
        raise InputError(argument, f"none of its labels is in y_true, which has {shown(names[0])}")
    return [groups.get(name, OTHER) for name in names]


def _group_by_name(argument: str, value: object) -> LabelGroups:
    """Return groups from a name or number for each label, numbers in their order."""
    texts = read_group_names(argument, value, "label")
    distinct = in_number_order([name for name in dict.fromkeys(texts) if name != OTHER])
    if OTHER in texts:
        distinct.append(OTHER)
    return LabelGroups(distinct, _places_among(argument, distinct, texts))


def _places_among(argument: str, distinct: list[str], texts: list[str]) -> Ints:
    """Return the places of texts among the names of groups, or refuse too many groups."""
    refuse_many_groups(argument, len(distinct))
    places = {name: place for place, name in enumerate(distinct)}
    return np.array([places[text] for text in texts], np.int64)


def in_number_order(names: list[str]) -> list[str]:
    """Sort names that are all whole numbers; return other names unchanged."""
    if all(name.lstrip("-").isdecimal() for name in names):
        return sorted(names, key=int)
    return names


def read_group_names(argument: str, value: object, unit: str) -> list[str]:
    """Return the name of the group of every label or row (the unit), or refuse other values."""
    entries = _list_entries(argument, value, unit)
    try:
        distinct: Iterable[Any] = dict.fromkeys(entries)
    except TypeError:  # some name cannot be a key, and is refused
        distinct = entries
    texts: dict[Any, str] = {}
    for name in distinct:
        text = _as_text(name)
        if not text:
            place = next(place for place, entry in enumerate(entries) if entry is name)
            if text is None:
                raise InputError(
                    argument, f"{unit} {place}: {shown(name)} is neither a text nor an integer"
                )
            raise InputError(argument, f"{unit} {place}: the name of its group is empty")
        texts[name] = text
    return [texts[name] for name in entries]


def _list_entries(argument: str, value: object, unit: str) -> list[Any]:
    """Return the entries of a vector, or refuse another value."""
    array = value
    if hasattr(value, "to_numpy"):
        array = value.to_numpy()
    if isinstance(array, np.ndarray):
        if array.ndim != 1:
            raise InputError(argument, f"shape {array.shape} is not one group for each {unit}")
        array = array.tolist()
    if isinstance(array, str | bytes) or not hasattr(array, "__iter__"):
        raise InputError(argument, f"{shown(value)} is not one group for each {unit}")
    return [*array]


def _as_text(name: object) -> str | None:
    """Return the name of a group as text, None if it is neither a text nor an integer."""
    if isinstance(name, str):
        return name
    if isinstance(name, float):
        return f"{int(name)}" if name.is_integer() else None
    if hasattr(name, "__index__"):
        return f"{int(name)}"
    return None


def refuse_many_groups(argument: str, n_groups: int) -> None:
    """Refuse more groups than results can show."""
    if n_groups > MOST_GROUPS:
        raise InputError(argument, f"{n_groups} groups; expected at most {MOST_GROUPS}")


def check_row_groups(value: object, n_rows: int) -> Groups:
    """Return the groups of rows, or refuse values that are not group names."""
    names = read_group_names("row_groups", value, "row")
    if len(names) != n_rows:
        raise InputError("row_groups", other_rows(len(names), n_rows, "y_true"))
    distinct = [*dict.fromkeys(names)]
    return Groups(distinct, _places_among("row_groups", distinct, names))
