"""Rows of a block as a formula of rows sees them: flat arrays, without padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xmleval.base.arrays import Bools, Floats, Ints, Labels, row_sizes
from xmleval.base.cached import cached
from xmleval.base.conventions import Conventions
from xmleval.base.errors import InputError
from xmleval.input.canonical import RankedRows, Truth
from xmleval.input.rows import pointer
from xmleval.view.block import Hierarchy
from xmleval.view.decision import Decision
from xmleval.view.setting import Setting
from xmleval.view.view import View, sort_ranking


@dataclass(frozen=True, eq=False)
class LabelLists:
    """Labels of rows, one row behind the other.

    Parameters
    ----------
    ptr : int64 (n_rows + 1,)
        Row i has the entries ``ptr[i]:ptr[i + 1]``.
    labels : integers (t,)
        Label ids. Ids from the number of labels upward are unknown labels.
    scores : floats (t,) or None
        Scores of the labels, if they have any.

    Examples
    --------
    >>> lists = xmleval.LabelLists(np.array([0, 2, 3]), np.array([4, 1, 1]), None)
    >>> lists.rows.tolist(), lists.ranks.tolist()
    ([0, 0, 1], [1, 2, 1])
    >>> lists.sum_by_row(np.array([0.5, 0.25, 1.0])).tolist()
    [0.75, 1.0]
    """

    ptr: Ints
    labels: Labels
    scores: Floats | None

    @cached
    def sizes(self) -> Ints:
        """Number of labels by row, int64 (n_rows,).

        Examples
        --------
        >>> lists = xmleval.testing.example_rows(k=2).listed
        >>> lists.sizes.tolist()
        [2, 2, 2, 0]
        """
        return row_sizes(self.ptr)

    @cached
    def rows(self) -> Ints:
        """Row of each entry, int64 (t,).

        Examples
        --------
        >>> lists = xmleval.testing.example_rows(k=2).listed
        >>> lists.rows.tolist()
        [0, 0, 1, 1, 2, 2]
        """
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @cached
    def ranks(self) -> Ints:
        """Place of each entry in its row, from 1, int64 (t,).

        Examples
        --------
        >>> lists = xmleval.testing.example_rows(k=2).listed
        >>> lists.ranks.tolist()
        [1, 2, 1, 2, 1, 2]
        """
        return np.arange(1, self.labels.size + 1) - self.ptr[self.rows]

    def sum_by_row(self, values: Floats | Bools) -> Floats:
        """Return the sums of values by row, float64 (n_rows,).

        Values are added from the first entry to the last, so that a sum depends on its row alone.

        Parameters
        ----------
        values : (t,)
            A value for each entry.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.listed.sum_by_row(rows.hits).tolist()
        [1.0, 1.0, 0.0, 0.0]
        """
        weights = np.asarray(values, np.float64)
        sums = np.bincount(self.rows, weights=weights, minlength=self.sizes.size)
        return sums.astype(np.float64)

    def contain(self, lists: LabelLists) -> Bools:
        """Return whether each entry of other lists is in the same row here, bool (t,).

        Parameters
        ----------
        lists : LabelLists
            Labels of the same rows.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.relevant.contain(rows.listed).tolist()
        [True, False, True, False, False, False]
        """
        n_labels = 1 + max(int(self.labels.max(initial=0)), int(lists.labels.max(initial=0)))
        here = self.rows * n_labels + self.labels
        there = lists.rows * n_labels + lists.labels
        return np.isin(there, here)


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Some rows of an evaluation, and the settings, as a formula of rows sees them.

    A formula gets rows in blocks, which may be cut anywhere: the value of a row must not depend on
    other rows.

    Parameters
    ----------
    view : View
        The block.
    setting : Setting
        Cutoff, parameters, conventions and data by label.
    decision : Decision or None
        How scores become sets.
    hierarchy : Hierarchy or None
        Ancestors of labels.
    row_names : tuple of str
        Names of the data by row that the measure declares.
    higher_is_better : bool
        Whether higher scores are better; if not, scores are distances, smallest first.
    sets : LabelLists or None
        Predicted sets that were made before.

    Examples
    --------
    >>> rows = xmleval.testing.example_rows(k=2)
    >>> rows.n_rows, rows.n_labels, rows.n_relevant.tolist()
    (4, 6, [3, 1, 0, 2])
    """

    view: View
    setting: Setting
    decision: Decision | None = None
    hierarchy: Hierarchy | None = None
    row_names: tuple[str, ...] = ()
    higher_is_better: bool = True
    sets: LabelLists | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.view.n_rows

    @property
    def n_labels(self) -> int:
        """Number of labels; with `with_ancestors`, of nodes."""
        return self.setting.n_labels

    @property
    def k(self) -> int | None:
        """Cutoff of the measure, None without one."""
        return self.setting.k

    @property
    def params(self) -> Mapping[str, float]:
        """Values of the measure's parameters, by name."""
        return self.setting.params

    @property
    def conventions(self) -> Conventions:
        """All conventions of the evaluation."""
        return self.setting.conventions

    @property
    def label_data(self) -> Mapping[str, Floats]:
        """Data by label that the measure declares, float64 (n_labels,) each."""
        return {name: _read_only(values) for name, values in self.setting.label_data.items()}

    def of_labels(self, name: str, labels: Labels, unknown: float = 0.0) -> Floats:
        """Return the data of some labels by name.

        Parameters
        ----------
        name : str
            Name of the data, which the measure declares in ``label_data``.
        labels : integers (t,)
            Label ids, such as ``rows.listed.labels``.
        unknown : float, default 0.0
            The number of unknown labels, which have no data.

        Returns
        -------
        float64 (t,)

        Raises
        ------
        KeyError
            If the measure does not declare the data.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=1, label_data=("cost",))
        >>> costs = rows.of_labels("cost", rows.listed.labels)
        >>> costs.round(2).tolist()
        [0.43, 0.29, 0.57]
        """
        values = self.label_data[name]
        return np.append(values, unknown)[np.minimum(labels, values.size)]

    @property
    def row_data(self) -> Mapping[str, Floats]:
        """Data by row that the measure declares, float64 (n_rows,) each."""
        data = self.view.block.row_data
        return {name: _read_only(data[name]) for name in self.row_names}

    @property
    def propensity(self) -> Floats:
        """Inverse propensities of labels, float64 (n_labels,), with ``needs=("propensity",)``."""
        assert self.setting.propensity is not None
        return _read_only(self.setting.propensity)

    @cached
    def relevant(self) -> LabelLists:
        """Relevant labels of rows, by ascending id.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.relevant.labels.tolist(), rows.relevant.sizes.tolist()
        ([0, 2, 5, 1, 3, 4], [3, 1, 0, 2])
        """
        truth = self.view.block.truth
        return LabelLists(_read_only(truth.ptr), _read_only(truth.labels), None)

    @property
    def n_relevant(self) -> Ints:
        """Number of relevant labels by row, int64 (n_rows,)."""
        return self.relevant.sizes

    @cached
    def grades(self) -> Floats:
        """Gains of `relevant` by the convention ``gains``, float64 (t,); 1 without grades.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.grades.tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        if self.view.block.judged is None:
            return np.ones(self.relevant.labels.size)
        if not self.conventions.has_gains:
            raise ValueError('grades are read with conventions="gains=linear"')
        return _read_only(self.view.gains)

    @cached
    def listed(self) -> LabelLists:
        """The first k labels of rows, or all that have a score, best first.

        With a score of unlisted labels (``unlisted=``), these are the listed labels that have at
        least that score.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.listed.labels.tolist(), rows.listed.scores.tolist()
        ([2, 1, 1, 5, 3, 6], [0.9, 0.5, 0.75, 0.125, 0.5, 0.25])
        """
        ranking = self.view.ranking
        if not ranking.ordered:
            ranking = sort_ranking(ranking)
        sizes = ranking.n_above
        if self.k is not None:
            sizes = np.minimum(sizes, self.k)
        places = _heads(ranking.ptr, sizes)
        scores = None
        if ranking.scores is not None:
            scores = ranking.scores[places].astype(np.float64)
            if not self.higher_is_better:  # the engine has them negated
                scores = 0.0 - scores
        return LabelLists(pointer(sizes), ranking.labels[places], scores)

    @cached
    def hits(self) -> Bools:
        """Whether each of the `listed` labels is relevant, bool (t,).

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.hits.tolist()
        [True, False, True, False, False, False]
        """
        return self.relevant.contain(self.listed)

    @cached
    def ranks(self) -> Ints:
        """Rank of each of the `relevant` labels, from 1, int64 (t,); 0 for labels without one.

        Labels beyond the cutoff have none.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.ranks.tolist()
        [0, 1, 0, 1, 0, 0]
        """
        ranks = self.view.ranks
        if self.k is not None:
            ranks = np.where(ranks <= self.k, ranks, 0)
        return _read_only(ranks)

    @cached
    def predicted(self) -> LabelLists:
        """Predicted sets of rows: the first k labels, or those of the decision rule or ``y_pred``.

        Raises
        ------
        InputError
            If the measure does not declare that it needs sets.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.predicted.labels.tolist()
        [2, 1, 1, 5, 3, 6]
        """
        if self.sets is not None:
            return self.sets
        if self.decision is None:
            raise InputError("metrics", 'a formula reads sets; declare needs=("sets",)')
        sets = self.view.predicted(self.decision).as_sets()
        return LabelLists(sets.ptr, sets.labels, None)

    @cached
    def is_known(self) -> Bools:
        """Whether each of the `listed` labels is a label of the truth, bool (t,).

        Examples
        --------
        >>> rows = xmleval.testing.example_rows(k=2)
        >>> rows.is_known.tolist()
        [True, True, True, True, True, False]
        """
        return self.listed.labels < self.n_labels

    @cached
    def with_ancestors(self) -> BlockRows:
        """The same rows, in which ancestors are relevant and listed with their labels.

        The score of an ancestor is the largest of its descendants that are listed. Ids are those of
        nodes: the labels are the first.

        Examples
        --------
        >>> rows = xmleval.testing.example_rows().with_ancestors
        >>> rows.relevant.sizes.tolist(), rows.listed.sizes.tolist()
        ([3, 2, 0, 3], [4, 3, 2, 0])
        """
        hierarchy = self.hierarchy
        if hierarchy is None:
            raise InputError("metrics", 'a formula reads ancestors; declare needs=("hierarchy",)')
        if self.conventions.has_gains:
            raise ValueError("ancestors have no grades; leave out gains=")
        truth = self.view.block.truth
        relevant = _closed(truth.ptr, truth.labels, None, hierarchy)
        block = self.view.block._replace(truth=Truth(*relevant[:2]), judged=None, unknown=False)
        ranking = self.view.block.ranking
        if ranking is not None:
            if ranking.scores is None:
                raise ValueError("ancestors are listed by scores, but y_score has none")
            ptr, labels, scores = _closed(ranking.ptr, ranking.labels, ranking.scores, hierarchy)
            block = block._replace(ranking=RankedRows(ptr, labels, scores, row_sizes(ptr)))
        sets = None
        if self.decision is not None:
            predicted = self.predicted
            ptr, labels, _ = _closed(predicted.ptr, predicted.labels, None, hierarchy)
            sets = LabelLists(ptr, labels, None)
        return replace(
            self,
            view=View(block, hierarchy.n_nodes, None),
            setting=self.setting._replace(n_labels=hierarchy.n_nodes),
            sets=sets,
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that a formula cannot change, since other measures read it, too."""
    view = array.view()
    view.flags.writeable = False
    return view


def _heads(ptr: Ints, sizes: Ints) -> Ints:
    """Return the places of the first entries of rows, so many by row."""
    starts = np.repeat(ptr[:-1], sizes)
    ends = pointer(sizes)
    return starts + np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)


def _closed(
    ptr: Ints, labels: Labels, scores: Floats | None, hierarchy: Hierarchy
) -> tuple[Ints, Labels, Floats | None]:
    """Return rows with the ancestors of their labels, once each, by falling score and node."""
    sizes = row_sizes(ptr)
    rows = np.repeat(np.arange(sizes.size), sizes)
    is_known = labels < hierarchy.n_labels
    labels = labels[is_known]
    rows = rows[is_known]
    n_ancestors = row_sizes(hierarchy.ptr)[labels]
    nodes = hierarchy.labels[_heads_of(hierarchy.ptr, labels, n_ancestors)]
    rows = np.repeat(rows, n_ancestors)
    values = np.zeros(nodes.size)
    if scores is not None:
        values = np.repeat(scores[is_known].astype(np.float64), n_ancestors)
    order = np.lexsort((-values, nodes, rows))
    rows = rows[order]
    nodes = nodes[order]
    is_first = np.ones(nodes.size, np.bool_)
    is_first[1:] = (np.diff(rows) != 0) | (np.diff(nodes) != 0)
    rows = rows[is_first]
    nodes = nodes[is_first]
    values = values[order][is_first]
    order = np.lexsort((nodes, -values, rows))
    new_ptr = pointer(np.bincount(rows, minlength=sizes.size))
    return new_ptr, nodes[order], None if scores is None else values[order]


def _heads_of(ptr: Ints, rows: Labels, sizes: Ints) -> Ints:
    """Return the places of all entries of some rows, which have so many each."""
    ends = pointer(sizes)
    return np.repeat(ptr[rows] - ends[:-1], sizes) + np.arange(ends[-1])
