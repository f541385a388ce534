"""NGAME's fusion of scores: a decision tree that joins a classifier with a shortlist."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from xmleval.api.fuse import fuse
from xmleval.input.csr import Source
from xmleval.input.errors import InputError, real_number
from xmleval.input.rows import rows_by_id
from xmleval.input.scores import Reading, ranking_rows
from xmleval.input.sets import set_rows
from xmleval.input.stack import rows_as_csr, sorted_rows
from xmleval.input.weights import check_propensity
from xmleval.integrations.library import library
from xmleval.message import NO_MATCH, counted
from xmleval.records import Floats, Ints, row_sizes

tree = library("sklearn.tree", "xmleval.integrations.tree_fusion", "sklearn")
exceptions = library("sklearn.exceptions", "xmleval.integrations.tree_fusion", "sklearn")

MAX_DEPTH = 7  # of NGAME's trees


class TreeFusion:
    """Joins the scores of a classifier with those of a shortlist, as NGAME does.

    A decision tree learns, from held-out rows, how probable it is that a label which the classifier lists is
    relevant. It sees the classifier's score, the shortlist's (0 where it does not list the label) and the
    inverse propensity of the label. A label then scores ``beta * (probability + shortlist) + classifier``,
    where each is 0 if it is not there.

    Parameters
    ----------
    inverse_propensity : array of shape (l,)
        That of each label, see `xmleval.inverse_propensity`.
    max_depth : int, default 7
        Of the tree.
    random_state : int, default 0
        Decides between splits of the tree that are equally good.

    Attributes
    ----------
    tree_ : sklearn.tree.DecisionTreeClassifier
        The tree, after `fit`.

    Raises
    ------
    ValueError
        If input is invalid.

    References
    ----------
    K. Dahiya et al. (2023). NGAME: negative mining-aware mini-batching for extreme classification. WSDM.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from xmleval.integrations.tree_fusion import TreeFusion
    >>> Y = sp.csr_array(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]]))
    >>> classifier = sp.csr_array([[0.6, 0.7, 0], [0.4, 0.5, 0], [0, 0.9, 0.8], [0.7, 0.8, 0]])
    >>> shortlist = sp.csr_array([[0.9, 0.2, 0], [0.3, 0.8, 0], [0, 0.7, 0.9], [0.8, 0.1, 0]])
    >>> fusion = TreeFusion(np.ones(3)).fit(Y, classifier, shortlist)
    >>> fusion.fuse(classifier, shortlist).toarray().round(1).tolist()[0]
    [2.5, 0.9, 0.0]
    """

    def __init__(self, inverse_propensity: Any, *, max_depth: int = MAX_DEPTH, random_state: int = 0) -> None:
        self.inverse_propensity = check_propensity(inverse_propensity, None).values
        self.max_depth = max_depth
        self.random_state = random_state

    def fit(self, y_true: Any, classifier: Any, shortlist: Any) -> TreeFusion:
        """Fit the tree to held-out rows.

        Parameters
        ----------
        y_true : array or sparse matrix of shape (m, l)
            Relevant labels.
        classifier, shortlist : y_score of `xmleval.evaluate`
            Scores of these rows, with l labels.

        Returns
        -------
        TreeFusion
            Itself.

        Raises
        ------
        ValueError
            If input is invalid, or the classifier lists no relevant label, or none but relevant ones.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval.integrations.tree_fusion import TreeFusion
        >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> TreeFusion(np.ones(2)).fit(np.eye(2), scores, scores).tree_.get_depth()
        1
        """
        listed, other = self._both(classifier, shortlist)
        source = set_rows("y_true", y_true, None, self.inverse_propensity.size)
        _check_rows("y_true", source, listed.shape[0])
        truth = source.block(0, source.n_rows)
        relevant = _values_at(rows_as_csr(rows_by_id(*truth), listed.shape[1]), listed) > 0
        if relevant.all() or not relevant.any():  # of no labels, both
            seen = "all labels" if relevant.size and relevant.all() else "no label"
            raise InputError(
                "classifier", f"{seen} that it lists are relevant; a tree learns from both kinds"
            )
        grown = tree.DecisionTreeClassifier(max_depth=self.max_depth, random_state=self.random_state)
        self.tree_ = grown.fit(self._features(listed, other), relevant)
        return self

    def fuse(self, classifier: Any, shortlist: Any, *, beta: float = 1.0, k: int | None = None) -> Any:
        """Return joint scores.

        Parameters
        ----------
        classifier, shortlist : y_score of `xmleval.evaluate`
            Scores of the same rows.
        beta : float, default 1
            Weight of the tree and the shortlist, above 0.
        k : int, optional
            How many labels of each row to keep, by default all.

        Returns
        -------
        csr_array of shape (m, l)
            float64; `xmleval.evaluate` takes it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If nothing was fitted.
        ValueError
            If input is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from xmleval.integrations.tree_fusion import TreeFusion
        >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> fusion = TreeFusion(np.ones(2)).fit(np.eye(2), scores, scores)
        >>> fusion.fuse(scores, scores, beta=0.5, k=1).toarray().round(2).tolist()
        [[1.85, 0.0], [0.0, 1.7]]
        """
        if not hasattr(self, "tree_"):
            raise exceptions.NotFittedError("this TreeFusion is not fitted; call fit first")
        if not 0 < real_number("beta", beta) < np.inf:
            raise InputError("beta", f"{beta!r} is not above 0")
        listed, other = self._both(classifier, shortlist)
        probable = listed.copy()
        if listed.nnz:
            probable.data = self.tree_.predict_proba(self._features(listed, other))[:, 1]
        return fuse([probable, other, listed], "sum", weights=[beta, beta, 1], k=k)

    def _both(self, classifier: Any, shortlist: Any) -> tuple[Any, Any]:
        """Return the scores of both as CSR with rising labels."""
        n_labels = self.inverse_propensity.size
        rows = {
            name: ranking_rows(value, None, Reading(name, n_labels, ordered=False))
            for name, value in (("classifier", classifier), ("shortlist", shortlist))
        }
        found = []
        for name, source in rows.items():
            _check_rows(name, source, rows["classifier"].n_rows)
            block = source.block(0, source.n_rows)
            if block.scores is None:
                raise InputError(name, "lists without scores; a tree needs scores")
            listed = sorted_rows(block.ptr, block.labels, block.scores.astype(np.float64), n_labels)
            found.append(rows_as_csr(listed, n_labels))
        return found[0], found[1]

    def _features(self, listed: Any, other: Any) -> Floats:
        """Return what the tree sees of each label that the classifier lists."""
        return np.column_stack(
            [listed.data, _values_at(other, listed), self.inverse_propensity[listed.indices]]
        )


def _values_at(matrix: Any, at: sp.csr_array) -> Floats:
    """Return the values of one matrix at the entries of another, 0 where it has none."""
    held, wanted = _cells(matrix), _cells(at)
    if not held.size:
        return np.zeros(wanted.size)
    place = np.minimum(np.searchsorted(held, wanted), held.size - 1)
    found: Floats = np.where(held[place] == wanted, matrix.data[place], 0.0)
    return found


def _cells(matrix: Any) -> Ints:
    """Return the number of each entry's cell, row by row."""
    rows = np.arange(matrix.shape[0], dtype=np.int64) * matrix.shape[1]
    cells: Ints = np.repeat(rows, row_sizes(matrix.indptr)) + matrix.indices
    return cells


def _check_rows(argument: str, source: Source[Any], n_rows: int) -> None:
    if source.n_rows != n_rows:
        raise InputError(argument, f"{counted(source.n_rows, *NO_MATCH)} the {n_rows} of classifier")
