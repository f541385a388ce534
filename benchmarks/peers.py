"""The families of measures in other libraries, each from the inputs that suit it best.

Converting inputs (to lists, dictionaries, tensors) is not timed. Measures that a library lacks or
defines differently are omitted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.cases import CUTOFFS, Call, Prepared
from benchmarks.workloads import Workload

TINY = 1e-300  # added to denominators by xCOLUMNs, so that 0/0 is 0


def napkinxc_at_k(workload: Workload, predictions: Any) -> Prepared:
    """Call five functions at k = 5; each returns the values at every cutoff up to 5.

    Lists with a dictionary of propensities are its fastest inputs; CSR predictions stay CSR,
    because ranking them is part of the task.
    """
    from napkinxc import metrics  # type: ignore[import-not-found,import-untyped,unused-ignore]

    truth = _lists(workload.truth)
    propensity = dict(enumerate(workload.propensity.tolist()))
    functions = {
        "p": metrics.precision_at_k,
        "ndcg": metrics.ndcg_at_k,
        "r": metrics.recall_at_k,
        "psp": partial(metrics.psprecision_at_k, inv_ps=propensity),
        "psndcg": partial(metrics.psndcg_at_k, inv_ps=propensity),
    }

    def step(name: str) -> Call:
        return lambda: _at_cutoffs(name, functions[name](truth, predictions, k=5))

    return Prepared({name: step(name) for name in functions})


def ranx_lists(workload: Workload) -> Prepared:
    """P, R and nDCG of rankings as arrays, which avoids sorting dictionaries by string."""
    from numba import types
    from numba.typed import List
    from ranx import evaluate  # type: ignore[import-not-found,import-untyped,unused-ignore]

    labels, scores = workload.top(5)
    run = np.stack([labels.astype(np.float64), scores.astype(np.float64)], axis=2)
    indptr = workload.truth.indptr
    indices = workload.truth.indices
    relevant = np.stack([indices.astype(np.float64), np.ones(len(indices))], axis=1)
    qrels = List.empty_list(types.float64[:, ::1])
    for start, stop in pairwise(indptr.tolist()):
        qrels.append(relevant[start:stop])
    names = {"p": "precision", "r": "recall", "ndcg": "ndcg"}
    their_names = {
        f"{ours}@{k}": f"{theirs}@{k}" for ours, theirs in names.items() for k in CUTOFFS
    }

    def call() -> dict[str, float]:
        values = evaluate(qrels, run, list(their_names.values()))
        return {ours: float(values[theirs]) for ours, theirs in their_names.items()}

    return Prepared({"all": call})


def libpecos_at_k(workload: Workload, predictions: Any) -> Prepared:
    """P and R of CSR scores."""
    from pecos.utils.smat_util import Metrics  # type: ignore[import,unused-ignore]

    truth = workload.truth

    def call() -> dict[str, float]:
        values = Metrics.generate(truth, predictions, topk=5)
        return _at_cutoffs("p", values.prec) | _at_cutoffs("r", values.recall)

    return Prepared({"all": call})


def pyxclib_at_k(workload: Workload, predictions: Any) -> Prepared:
    """Call one class for P, nDCG, PSP and PSnDCG, and a function for R.

    The measures of the class share the search for hits.
    """
    from xclib.evaluation import xc_metrics  # type: ignore[import,unused-ignore]

    truth = workload.truth
    in_order = isinstance(predictions, dict)
    measures = xc_metrics.Metrics(truth, inv_psp=workload.propensity)

    def shared() -> dict[str, float]:
        arrays = measures.eval(predictions, 5, in_order)
        values: dict[str, float] = {}
        for name, array in zip(("p", "ndcg", "psp", "psndcg"), arrays, strict=True):
            values |= _at_cutoffs(name, array)
        return values

    def recall() -> dict[str, float]:
        return _at_cutoffs("r", xc_metrics.recall(predictions, truth, 5, in_order))

    return Prepared({"p, ndcg, psp, psndcg": shared, "r": recall})


def pyxclib_p(workload: Workload) -> Prepared:
    """P of top-5 arrays."""
    from xclib.evaluation import xc_metrics

    truth = workload.truth
    predictions = _top_five(workload)
    return Prepared(
        {"p": lambda: {"p@5": float(xc_metrics.precision(predictions, truth, 5, True)[4])}}
    )


def sklearn_sets(workload: Workload) -> Prepared:
    """F1 micro, macro and samples, with 0/0 = 0."""
    from sklearn.metrics import f1_score

    truth = workload.truth.astype(np.int8)
    sets = workload.sets().astype(np.int8)

    def step(average: str) -> Call:
        return lambda: {
            f"f1.{average}": float(f1_score(truth, sets, average=average, zero_division=0))
        }

    return Prepared({average: step(average) for average in ("micro", "macro", "samples")})


def xcolumns_sets(workload: Workload) -> Prepared:
    """F1 micro and macro; for sparse input, F1 samples of 0.0.2 averages over labels, too."""
    from xcolumns import metrics  # type: ignore[import-not-found,import-untyped,unused-ignore]

    truth = workload.truth.astype(np.float64)
    sets = workload.sets().astype(np.float64)

    functions = {"micro": metrics.micro_f1_score, "macro": metrics.macro_f1_score}

    def step(average: str) -> Call:
        return lambda: {f"f1.{average}": float(functions[average](truth, sets, epsilon=TINY))}

    return Prepared({average: step(average) for average in functions})


def napkinxc_sets(workload: Workload) -> Prepared:
    """F1 of lists; its macro average ignores labels above the largest one that occurs."""
    from napkinxc import metrics

    truth = _lists(workload.truth)
    sets = _lists(workload.sets())

    def step(average: str) -> Call:
        return lambda: {f"f1.{average}": float(metrics.f1_measure(truth, sets, average=average))}

    return Prepared({average: step(average) for average in ("micro", "samples")})


def sklearn_ranking(workload: Workload) -> Prepared:
    """Measures of dense scores; it has no one-error, and its coverage is larger by 1."""
    from sklearn import metrics

    truth = workload.truth.toarray().astype(np.int8)
    scores = workload.scores

    return Prepared(
        {
            "coverage": lambda: {"coverage": float(metrics.coverage_error(truth, scores)) - 1},
            "ranking loss": lambda: {
                "ranking_loss": float(metrics.label_ranking_loss(truth, scores))
            },
            "AP": lambda: {
                "lrap": float(metrics.label_ranking_average_precision_score(truth, scores))
            },
            "AUC": lambda: {
                "auc.samples": float(metrics.roc_auc_score(truth, scores, average="samples"))
            },
        }
    )


def torchmetrics_ranking(workload: Workload) -> Prepared:
    """Measures of dense scores, in single precision; its coverage is larger by 1."""
    import torch  # type: ignore[import-not-found,unused-ignore]
    from torchmetrics.functional import classification  # type: ignore[import,unused-ignore]

    n_labels = workload.truth.shape[1]
    truth = torch.from_numpy(workload.truth.toarray().astype(np.int64))
    scores = torch.from_numpy(workload.scores)

    def step(name: str, function: Callable[..., Any], less: float = 0) -> Call:
        return lambda: {name: float(function(scores, truth, num_labels=n_labels)) - less}

    return Prepared(
        {
            "coverage": step("coverage", classification.multilabel_coverage_error, 1),
            "ranking loss": step("ranking_loss", classification.multilabel_ranking_loss),
            "AP": step("lrap", classification.multilabel_ranking_average_precision),
        }
    )


def sklearn_micro_auc(workload: Workload) -> Prepared:
    """AUC of stored scores as one flat array; hits are found beforehand."""
    from sklearn.metrics import roc_auc_score

    hits = workload.hits().ravel()
    scores = workload.scores.ravel()
    extend = _extend_to_all_entries(workload, int(hits.sum()))
    return Prepared({"all": lambda: {"auc.micro": extend(float(roc_auc_score(hits, scores)))}})


def torchmetrics_micro_auc(workload: Workload) -> Prepared:
    """AUC of stored scores as one flat tensor, exact (a threshold for every score)."""
    import torch
    from torchmetrics.functional import classification

    hits = workload.hits().ravel()
    scores = torch.from_numpy(workload.scores.ravel())
    extend = _extend_to_all_entries(workload, int(hits.sum()))
    truth = torch.from_numpy(hits.astype(np.int64))
    return Prepared(
        {"all": lambda: {"auc.micro": extend(float(classification.binary_auroc(scores, truth)))}}
    )


def sklearn_macro_auc(workload: Workload) -> Prepared:
    """Mean AUC of labels with both classes."""
    from sklearn.metrics import roc_auc_score

    truth, scores = _columns_with_both(workload)
    return Prepared(
        {"all": lambda: {"auc.macro": float(roc_auc_score(truth, scores, average="macro"))}}
    )


def torchmetrics_macro_auc(workload: Workload) -> Prepared:
    """Mean AUC of labels with both classes, in single precision."""
    import torch
    from torchmetrics.functional import classification

    columns, values = _columns_with_both(workload)
    truth = torch.from_numpy(columns.astype(np.int64))
    scores = torch.from_numpy(values)
    area = partial(classification.multilabel_auroc, num_labels=columns.shape[1])
    return Prepared({"all": lambda: {"auc.macro": float(area(scores, truth))}})


def _lists(matrix: Any) -> list[list[int]]:
    indptr = matrix.indptr.tolist()
    indices = matrix.indices.tolist()
    return [indices[start:stop] for start, stop in pairwise(indptr)]


def _at_cutoffs(name: str, values: Any) -> dict[str, float]:
    return {f"{name}@{k}": float(values[k - 1]) for k in CUTOFFS}


def _columns_with_both(workload: Workload) -> tuple[Any, Any]:
    """Return truth and scores of the labels with both classes.

    The AUC of other labels is undefined, and libraries treat it differently.
    """
    truth = workload.truth.toarray().astype(np.int8)
    both = np.flatnonzero((truth.min(axis=0) == 0) & (truth.max(axis=0) == 1))
    return np.ascontiguousarray(truth[:, both]), np.ascontiguousarray(workload.scores[:, both])


def _extend_to_all_entries(workload: Workload, hits: int) -> Callable[[float], float]:
    """Return a function from the AUC of stored scores to that of all entries.

    Entries without a score rank below all others and are tied.
    """
    rows, labels = workload.truth.shape
    relevant = workload.truth.nnz
    irrelevant = rows * labels - relevant
    misses = workload.scores.size - hits
    unlisted = relevant - hits, irrelevant - misses
    certain = hits * unlisted[1] + unlisted[0] * unlisted[1] / 2
    return lambda area: (area * hits * misses + certain) / (relevant * irrelevant)


def _top_five(workload: Workload) -> dict[str, Any]:
    labels, scores = workload.top(5)
    return {"indices": labels, "scores": scores}


def _cut_to_five(workload: Workload) -> Workload:
    labels, scores = workload.top(5)
    return replace(workload, labels=labels, scores=scores)


# by case, see `benchmarks.cases`
PEERS: dict[str, dict[str, Callable[[Workload], Prepared]]] = {
    "P": {"pyxclib": pyxclib_p},
    "small P": {"pyxclib": pyxclib_p},
    "update": {"pyxclib": pyxclib_p},
    "at_k_lists": {
        "pyxclib": lambda workload: pyxclib_at_k(workload, _top_five(workload)),
        "ranx": ranx_lists,
        "libpecos": lambda workload: libpecos_at_k(workload, _cut_to_five(workload).score_matrix()),
        "napkinxc": lambda workload: napkinxc_at_k(workload, workload.top(5)[0].tolist()),
    },
    "at_k_matrix": {
        "pyxclib": lambda workload: pyxclib_at_k(workload, workload.score_matrix()),
        "libpecos": lambda workload: libpecos_at_k(workload, workload.score_matrix()),
        "napkinxc": lambda workload: napkinxc_at_k(workload, workload.score_matrix()),
    },
    "sets": {"xcolumns": xcolumns_sets, "scikit-learn": sklearn_sets, "napkinxc": napkinxc_sets},
    "ranking": {"scikit-learn": sklearn_ranking, "torchmetrics": torchmetrics_ranking},
    "micro_auc": {"torchmetrics": torchmetrics_micro_auc, "scikit-learn": sklearn_micro_auc},
    "macro_auc": {"scikit-learn": sklearn_macro_auc, "torchmetrics": torchmetrics_macro_auc},
}


def prepare(name: str, library: str, workload: Workload) -> Prepared:
    """Prepare a case for another library."""
    return PEERS[name][library](workload)


def module_of(library: str) -> str:
    """Return the module of a library."""
    return {"scikit-learn": "sklearn", "libpecos": "pecos", "pyxclib": "xclib"}.get(
        library, library
    )


def interpreter_of(library: str, default: str) -> str:
    """Return the interpreter of a library: PYXCLIB names that of pyxclib, which is not on PyPI."""
    if library == "pyxclib":
        return os.environ.get("PYXCLIB", default)
    return default


def tolerance_of(library: str) -> float:
    """Return the tolerated difference of a library's values from ours."""
    # libraries that sum in single precision
    return {"torchmetrics": 2e-3, "pyxclib": 1e-4}.get(library, 1e-9)
