"""One function for each common measure: `evaluate` with one name and default conventions.

``y_true`` and ``y_pred`` are sparse or dense 0/1 arrays of shape (m, l), relevant labels and
predicted sets; ``y_score`` is an array of scores, or a pair of arrays (labels, scores) of top-k
lists. Higher scores are better, unless ``higher_is_better`` is False, as for distances. A value is
NaN if it is undefined. Invalid input raises ValueError, and each note of `evaluate` on what was
seen in the data is a warning.

>>> p_at_k(np.eye(3), np.eye(3) + [0.3, 0.1, 0.2], k=1)
1.0
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from typing import ParamSpec

from xmleval.api.evaluate import evaluate
from xmleval.base.errors import TIES, positive_integer
from xmleval.base.keywords import keywords_of, refusing_unknown
from xmleval.input.argument_types import RowsLike, ValuesLike

P = ParamSpec("P")
PARAMETERS = {
    "y_true": """\
y_true : sparse matrix, dense 0/1 array, lists of labels, dict or frame; shape (m, l)
    Relevant labels, as in `evaluate`.""",
    "y_score": """\
y_score : as y_true with scores, or (labels, scores) arrays of shape (m, k)
    Scores, as in `evaluate`.""",
    "y_pred": """\
y_pred : as y_true
    Predicted sets, as in `evaluate`.""",
    "k": """\
k : int, default 5
    Number of first labels that count.""",
    "inverse_propensity": """\
inverse_propensity : array of shape (l,), or values by name
    Inverse propensities, as `inverse_propensity` estimates them.""",
    "higher_is_better": """\
higher_is_better : bool, default True
    Whether higher scores are better; False for distances.""",
}
SECTIONS = """
Parameters
----------
{parameters}

Returns
-------
float
    The value; NaN if it is undefined.

Raises
------
ValueError
    If input is invalid; the message names argument, row and value.

Warns
-----
UserWarning
    For each note of `evaluate` on what was seen in the data.

See Also
--------
evaluate : several measures, with all options.
"""


def _documented(function: Callable[P, float]) -> Callable[P, float]:
    """Return a function with the sections of its parameters in its docstring, before examples."""
    parameters = "\n".join(PARAMETERS[name] for name in keywords_of(function))
    sections = textwrap.indent(SECTIONS.format(parameters=parameters), "    ")
    summary, examples, example = (function.__doc__ or "").partition("\n    Examples")
    function.__doc__ = f"{summary.rstrip()}\n{sections}{examples}{example}"
    return refusing_unknown(function)


def _value(
    name: str,
    y_true: RowsLike,
    y_score: RowsLike | None = None,
    higher_is_better: bool = True,
    *k: int,
    y_pred: RowsLike | None = None,
    inverse_propensity: ValuesLike | None = None,
) -> float:
    metric = name
    if k:
        metric = f"{name}@{positive_integer('k', *k)}"
    report = evaluate(
        y_true,
        y_score,
        y_pred=y_pred,
        metrics=[metric],
        higher_is_better=higher_is_better,
        inverse_propensity=inverse_propensity,
    )
    for note in report.notes:
        if not note.startswith(TIES):
            warnings.warn(note, UserWarning, stacklevel=4)  # the line that calls the function
    value: float = report[metric]
    return value


@_documented
def p_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute precision at k: hits in the first k labels, divided by k.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.p_at_k(y_true, y_score, k=1), 4)
    0.5
    """
    return _value("p", y_true, y_score, higher_is_better, k)


@_documented
def r_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute recall at k: hits in the first k labels, divided by the number of relevant labels.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.r_at_k(y_true, y_score, k=1), 4)
    0.25
    """
    return _value("r", y_true, y_score, higher_is_better, k)


@_documented
def ndcg_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute normalised discounted cumulative gain at k.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.ndcg_at_k(y_true, y_score, k=1), 4)
    0.5
    """
    return _value("ndcg", y_true, y_score, higher_is_better, k)


@_documented
def psp_at_k(
    y_true: RowsLike,
    y_score: RowsLike,
    k: int = 5,
    *,
    inverse_propensity: ValuesLike,
    higher_is_better: bool = True,
) -> float:
    """Compute propensity-scored precision at k.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.psp_at_k(y_true, y_score, k=1, inverse_propensity=[1, 2, 4]), 4)
    0.1667
    """
    return _value(
        "psp", y_true, y_score, higher_is_better, k, inverse_propensity=inverse_propensity
    )


@_documented
def psndcg_at_k(
    y_true: RowsLike,
    y_score: RowsLike,
    k: int = 5,
    *,
    inverse_propensity: ValuesLike,
    higher_is_better: bool = True,
) -> float:
    """Compute propensity-scored nDCG at k.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.psndcg_at_k(y_true, y_score, k=1, inverse_propensity=[1, 2, 4]), 4)
    0.1667
    """
    return _value(
        "psndcg", y_true, y_score, higher_is_better, k, inverse_propensity=inverse_propensity
    )


@_documented
def hit_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute hit rate at k: share of instances with a hit in the first k labels.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.hit_at_k(y_true, y_score, k=1), 4)
    0.5
    """
    return _value("hit", y_true, y_score, higher_is_better, k)


@_documented
def mrr_at_k(
    y_true: RowsLike, y_score: RowsLike, k: int = 5, *, higher_is_better: bool = True
) -> float:
    """Compute mean reciprocal rank at k: 1 / rank of the first hit, averaged.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.mrr_at_k(y_true, y_score, k=1), 4)
    0.5
    """
    return _value("mrr", y_true, y_score, higher_is_better, k)


@_documented
def one_error(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute one-error: share of instances whose first label is irrelevant.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.one_error(y_true, y_score), 4)
    0.5
    """
    return _value("one_error", y_true, y_score, higher_is_better)


@_documented
def coverage(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute coverage: largest rank of a relevant label, minus 1, averaged.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.coverage(y_true, y_score), 4)
    1.0
    """
    return _value("coverage", y_true, y_score, higher_is_better)


@_documented
def ranking_loss(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute ranking loss: share of misordered (relevant, irrelevant) pairs.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.ranking_loss(y_true, y_score), 4)
    0.25
    """
    return _value("ranking_loss", y_true, y_score, higher_is_better)


@_documented
def lrap(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute label ranking average precision.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.lrap(y_true, y_score), 4)
    0.75
    """
    return _value("lrap", y_true, y_score, higher_is_better)


@_documented
def auc_samples(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve per instance, averaged.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.auc_samples(y_true, y_score), 4)
    0.75
    """
    return _value("auc.samples", y_true, y_score, higher_is_better)


@_documented
def auc_micro(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve of all entries pooled.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.auc_micro(y_true, y_score), 4)
    0.8889
    """
    return _value("auc.micro", y_true, y_score, higher_is_better)


@_documented
def auc_macro(y_true: RowsLike, y_score: RowsLike, *, higher_is_better: bool = True) -> float:
    """Compute the area under the ROC curve per label with both classes, averaged.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_score = [[0.9, 0.1, 0.5], [0.3, 0.2, 0.1]]
    >>> round(xmleval.auc_macro(y_true, y_score), 4)
    1.0
    """
    return _value("auc.macro", y_true, y_score, higher_is_better)


@_documented
def hamming_loss(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute Hamming loss: share of wrong label decisions.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 0]]
    >>> round(xmleval.hamming_loss(y_true, y_pred), 4)
    0.1667
    """
    return _value("hamming_loss", y_true, y_pred=y_pred)


@_documented
def subset_accuracy(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute subset accuracy: share of instances whose predicted set equals the relevant set.

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 0]]
    >>> round(xmleval.subset_accuracy(y_true, y_pred), 4)
    0.5
    """
    return _value("subset_accuracy", y_true, y_pred=y_pred)


@_documented
def f1_micro(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute F1 of all label decisions pooled (0/0 = 0).

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 0]]
    >>> round(xmleval.f1_micro(y_true, y_pred), 4)
    0.8
    """
    return _value("f1.micro", y_true, y_pred=y_pred)


@_documented
def f1_macro(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute F1 per label, averaged over all labels (0/0 = 0).

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 0]]
    >>> round(xmleval.f1_macro(y_true, y_pred), 4)
    0.6667
    """
    return _value("f1.macro", y_true, y_pred=y_pred)


@_documented
def f1_samples(y_true: RowsLike, y_pred: RowsLike) -> float:
    """Compute F1 per instance, averaged (0/0 = 0).

    Examples
    --------
    >>> y_true = [[1, 0, 1], [0, 1, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 0]]
    >>> round(xmleval.f1_samples(y_true, y_pred), 4)
    0.8333
    """
    return _value("f1.samples", y_true, y_pred=y_pred)


# names used in papers
precision_at_k = p_at_k
recall_at_k = r_at_k
hit_rate_at_k = hit_at_k
mean_reciprocal_rank_at_k = mrr_at_k
label_ranking_average_precision = lrap
instance_auc = auc_samples
micro_auc = auc_micro
macro_auc = auc_macro
instance_f1 = f1_samples
micro_f1 = f1_micro
macro_f1 = f1_macro
