"""Values of this package against values of other evaluators on real predictions.

A recorded number is computed from one of ours by an entry of RULES, or is not compared for a reason
in EXCUSED.
"""

import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.conftest import DATA, NO_DATA

if not (DATA / "expected.json").is_file():
    pytest.skip(NO_DATA, allow_module_level=True)
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
DATASETS = sorted(name for name in EXPECTED if name != "_meta")
FILES = [(name, file) for name in DATASETS for file in EXPECTED[name] if not file.startswith("_")]


class Rule(NamedTuple):
    """How a recorded number is computed from one of ours."""

    # {0}, {1}, .. are the groups of the pattern in lower case, {labels}, {width}, .. `counts`
    spec: str
    form: str  # of the input, see `arguments`; groups as above
    conventions: str | None = None  # a preset or fields over the default
    tolerance: float = 1e-9
    gives: Callable[[float, Any], float] = lambda x, n: x  # the number of our value and the counts


Entry = tuple[tuple[str, str], Rule | str, list[str]]  # both patterns, rule or reason, groups


class Record(NamedTuple):
    """A recorded number with the entries of RULES and EXCUSED whose patterns match: one."""

    evaluator: str
    metric: str
    value: float
    entries: list[Entry]


# evaluator -> metric -> rule or reason. Patterns match whole names; names of nested tables are
# joined by "/", places in a list are numbered.

JAIN = r"A=0\.55,B=1\.5"
K = r"/(\d+)"


def same(form: str, names: dict[str, str], **fields: Any) -> dict[str, Rule]:
    """Rules for numbers that are ours as they stand."""
    return {theirs: Rule(ours, form, **fields) for theirs, ours in names.items()}


RULES: dict[str, dict[str, Rule]] = {
    r"AttentionXML .*": same(
        "list",
        {r"P@(\d+)": "p@{0}", r"nDCG@(\d+)": "ndcg@{0}", rf"PSP@(\d+) \({JAIN}\)": "psp@{0}"},
    ),
    r"libpecos .*": same("list", {"prec" + K: "p@{0}", "recall" + K: "r@{0}"}),
    r"napkinxc\.metrics .*": same(
        "list",
        {
            "precision_at_k" + K: "p@{0}",
            "recall_at_k" + K: "r@{0}",
            "dcg_at_k" + K: "dcg@{0}",
            "ndcg_at_k" + K: "ndcg@{0}",
            "coverage_at_k" + K: "label_coverage@{0}",
            # the share of rows with a hit, in spite of its name
            "abandonment_at_k" + K: "hit@{0}",
            rf"psprecision_at_k \({JAIN}, normalize=True\)" + K: "psp@{0}",
            rf"psprecision_at_k \({JAIN}, normalize=False\)" + K: "psp_raw@{0}",
            rf"psrecall_at_k \({JAIN}, normalize=True\)" + K: "psr@{0}",
            rf"psdcg_at_k \({JAIN}, normalize=True\)" + K: "psdcg@{0}",
            rf"psndcg_at_k \({JAIN}, normalize=True\)" + K: "psndcg@{0}",
            rf"psndcg_at_k \({JAIN}, normalize=False\)" + K: "psndcg_raw@{0}",
        },
    )
    | same("set", {r"(macro|micro|samples)_f1_measure": "f1.{0}"})
    | {"hamming_loss .*": Rule("hamming_loss", "set", gives=lambda x, n: x * n.labels)},
    r"pytrec_eval.*": same(
        "list",
        {
            r"P_(\d+)": "p@{0}",
            r"recall_(\d+)": "r@{0}",
            r"success_(\d+)": "hit@{0}",
            r"ndcg_cut_(\d+)": "ndcg@{0}",
            r"map_cut_(\d+)": "map_r@{0}",
            "map": "map_r@{width}",
            "recip_rank": "mrr@{width}",
        },
    )
    | {"num_rel_ret": Rule("p@{width}", "list", gives=lambda x, n: x * n.width)},
    r"pyxclib.*": same(
        "list",
        {
            "precision" + K: "p@{0}",
            "recall" + K: "r@{0}",
            rf"psprecision \({JAIN}\)" + K: "psp@{0}",
            rf"psrecall \({JAIN}\)" + K: "psr@{0}",
        },
    )
    | same(
        "list", {"ndcg" + K: "ndcg@{0}", rf"psndcg \({JAIN}\)" + K: "psndcg@{0}"}, tolerance=1e-6
    )
    | same(
        "propensity",
        {f"inv_propensity.*/{i}": name for i, name in enumerate(("sum", "min", "max"))},
    ),
    r"scikit-learn .*\(top-k lists as 0/1 predictions\)": same(
        "list", {r"k=(\d+)/(macro|micro|samples)/(f1|precision|recall)": "{2}.{1}@{0}"}
    ),
    r"xcolumns .*": same(
        "top {0}",
        {
            r"k=(\d+)/(m\w+)_(precision|recall|f1).*": "{2}.{1}",
            r"k=(\d+)/hamming_loss": "hamming_loss",
        },
        tolerance=2e-3,
    )
    | {
        r"k=(\d+)/coverage": Rule(  # the share of all labels, not of those with a relevant instance
            "label_coverage@{0}",
            "list",
            tolerance=2e-3,
            gives=lambda x, n: x * n.present / n.labels,
        )
    },
    r"scikit-learn [\d.]+ \(zero_division=0\)": same(
        "set",
        {
            r"(macro|micro|samples|weighted)/(f1|jaccard|precision|recall)": "{1}.{0}",
            "accuracy_score": "subset_accuracy",
            "hamming_loss": "hamming_loss",
        },
    )
    | {
        "zero_one_loss": Rule("subset_accuracy", "set", gives=lambda x, n: 1 - x),
        # the counts tn, fp, fn and tp, each from another pooled rate
        "sum .*/0": Rule(
            "accuracy.micro", "set", gives=lambda x, n: (n.cells * (1 + x) - n.true - n.pred) / 2
        ),
        "sum .*/1": Rule(
            "specificity.micro", "set", gives=lambda x, n: (1 - x) * (n.cells - n.true)
        ),
        "sum .*/2": Rule("recall.micro", "set", gives=lambda x, n: (1 - x) * n.true),
        "sum .*/3": Rule("precision.micro", "set", gives=lambda x, n: x * n.pred),
    },
    r"scikit-learn [\d.]+": same(
        "scores",
        {
            r"average_precision samples \(valid rows\)": "ap.samples",
            r"roc_auc samples \(valid rows\)": "auc.samples",
            r"roc_auc (macro|weighted) \(valid labels\)": "auc.{0}",
            "roc_auc micro": "auc.micro",
            "average_precision micro": "ap.micro",
            "coverage_error": "coverage_error",
            "label_ranking_average_precision_score": "lrap",
            "label_ranking_loss": "ranking_loss",
            r"(n?dcg)_score\(k=(\d+)\)": "{0}@{1}",
            r"dcg_score\(k=None\)": "dcg@{labels}",
            r"ndcg_score\(k=None\)": "ndcg@all",
        },
        conventions="sklearn",
    )
    | same(
        "scores",
        {r"average_precision macro \(valid labels\)": "ap.macro"},
        conventions="sklearn,ap_empty=skip",
    ),
    r"LIMO .*": same("scores", {"one_error": "one_error", "ranking_loss": "ranking_loss"})
    | same(
        "untied",
        {"average_precision": "lrap", "coverage": "coverage", "instance_AUC": "auc.samples"},
    )
    | same(
        "set",
        {
            "hamming_loss": "hamming_loss",
            "(macro|micro)_F1": "f1.{0}",
            "instance_F1": "f1.samples",
        },
    ),
    r"Mulan .*": same(
        "untied within 1e-6",
        {
            "Average Precision": "lrap",
            "Coverage": "coverage",
            "ErrorSetSize": "error_set_size",
            "IsError": "is_error",
            "OneError": "one_error",
            "Ranking Loss": "ranking_loss",
        },
    )
    | same(
        "set",
        {
            "Example-Based Accuracy": "jaccard.samples",
            "Example-Based F Measure": "f1.samples",
            "Example-Based (Precision|Recall)": "{0}.samples",
            "Hamming Loss": "hamming_loss",
            "Subset Accuracy": "subset_accuracy",
            "(Macro|Micro)-averaged F-Measure": "f1.{0}",
            "(Macro|Micro)-averaged (Precision|Recall|Specificity)": "{1}.{0}",
        },
    ),
}

PRESET_OF = {"Mulan": "mulan", "napkinxc": "napkinxc", "pyxclib": "pyxclib", "pytrec_eval": "beir"}
INPUT = "a fact of the input, not a measure"
EXCUSED: dict[str, dict[str, str]] = {
    r"LIMO .*": {r"(macro|micro)_AUC": "of equal scores the later instance goes first"},
    r"Mulan .*": {
        "Mean Average Precision": "of equal scores the earlier instance goes first",
        "Geometric Mean Average Precision": "no measure of ours is a geometric mean over labels",
        "Example-Based Specificity": "our specificity has no average over instances",
        "Logarithmic Loss": "no measure of ours takes scores for probabilities",
    },
    r"pytrec_eval.*": {"n_queries .*": INPUT},
    r"scikit-learn [\d.]+": {"n_valid_rows|n_valid_labels|_rows_with_tied_scores": INPUT},
}


def flatten(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a nested table with its path."""
    if not isinstance(tree, (dict, list)):
        yield path, float(tree)
        return
    branches = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for name, branch in branches:
        yield from flatten(branch, f"{path}/{name}" if path else str(name))


@functools.cache
def records(dataset: str, file: str) -> list[Record]:
    """The numbers recorded for one file."""
    result = []
    for evaluator, tree in EXPECTED[dataset][file].items():
        if evaluator == "_input":
            continue
        for metric, value in flatten(tree):
            result.append(Record(evaluator, metric, value, matching_entries(evaluator, metric)))
    return result


def matching_entries(evaluator: str, metric: str) -> list[Entry]:
    """The entries of RULES and EXCUSED whose patterns match."""
    entries: list[Entry] = []
    for side in (RULES, EXCUSED):
        for evaluator_pattern, table in side.items():
            if not re.fullmatch(evaluator_pattern, evaluator):
                continue
            for metric_pattern, entry in table.items():
                match = re.fullmatch(metric_pattern, metric)
                if match:
                    groups = [group.lower() for group in match.groups()]
                    entries.append(((evaluator_pattern, metric_pattern), entry, groups))
    return entries


@functools.cache
def truth(dataset: str, part: str = "test") -> Any:
    """A 0/1 CSR matrix."""
    return sp.load_npz(DATA / dataset / f"Y_{part}.npz")


@functools.cache
def propensity(dataset: str) -> Any:
    """Inverse propensities of the training labels."""
    return xmleval.inverse_propensity(truth(dataset, "train"), a=0.55, b=1.5)


@functools.cache
def prediction(dataset: str, file: str) -> Any:
    """The contents of a file: the pair (labels, scores), a CSR matrix or a dense array."""
    path = DATA / dataset / file.split(" ")[0]  # the rest of a recorded name is a remark
    if file.startswith("topk_"):
        return np.load(path), np.load(path.with_name(path.name.replace("_indices", "_scores")))
    if file.startswith("dense_"):
        return np.load(path)["scores"]
    return sp.load_npz(path)


def densified(dataset: str, file: str) -> Any:
    """Scores of a file as a float64 array, absent ones 0."""
    scores = prediction(dataset, file)
    if sp.issparse(scores):
        scores = scores.toarray()
    return np.asarray(scores, dtype=np.float64)


def decisions(dataset: str, file: str) -> Any:
    """The 0/1 sets of a file, or those by the threshold that was recorded with the data."""
    if file.startswith("pred_"):
        return prediction(dataset, file)
    scores = densified(dataset, file)
    if file.startswith("dense_svm"):
        return scores > 0
    return scores >= 0.5


def leading(dataset: str, file: str, k: int) -> Any:
    """The first k labels of every list as a 0/1 CSR matrix."""
    labels = prediction(dataset, file)[0][:, :k]
    filled = labels >= 0
    rows = np.broadcast_to(np.arange(len(labels))[:, None], labels.shape)[filled]
    return sp.csr_matrix(
        (np.ones(filled.sum()), (rows, labels[filled])), shape=truth(dataset).shape
    )


def untie(scores: Any, closer: float) -> Any:
    """Put the larger id first among equal scores of a row, as two evaluators do.

    Scores less than `closer` above the lowest of a run count as equal. Rows with equal scores
    become ranks, the others stay as they are.
    """
    result = scores.copy()
    for row in np.flatnonzero((np.diff(np.sort(scores)) <= closer).any(axis=1)):
        order = np.argsort(scores[row], kind="stable")
        climbing = scores[row, order]
        start = 0
        while start < len(order):
            stop = max(start + 1, int(np.searchsorted(climbing - climbing[start], closer)))
            order[start:stop].sort()
            start = stop
        result[row, order] = np.arange(len(order))
    return result


def arguments(dataset: str, file: str, form: str) -> dict[str, Any]:
    """Keyword arguments of `evaluate` for one form of the file."""
    if form == "list":
        return {"y_score": prediction(dataset, file), "inverse_propensity": propensity(dataset)}
    if form == "set":
        return {"y_pred": decisions(dataset, file)}
    if form.startswith("top "):
        return {"y_pred": leading(dataset, file, int(form[4:]))}
    if form.startswith("untied"):
        closer = float(form.partition(" within ")[2] or 0.0)
        return {"y_score": untie(densified(dataset, file), closer)}
    scores = prediction(dataset, file)
    if sp.issparse(scores):
        return {"y_score": scores, "conventions": "unlisted=0"}
    return {"y_score": scores}


def values(
    dataset: str, file: str, form: str, conventions: Any, specs: list[str]
) -> Mapping[str, float]:
    """Our values of the specs, from one call."""
    if form == "propensity":
        return {name: getattr(propensity(dataset), name)() for name in specs}
    inputs = {**arguments(dataset, file, form), "conventions": conventions}
    report: Mapping[str, float] = xmleval.evaluate(truth(dataset), **inputs, metrics=specs)
    return report


def counts(dataset: str, file: str) -> SimpleNamespace:
    """Return the counts of one file, such as labels, present ones, cells, and places in a list."""
    y_true = truth(dataset)
    width = 0
    if file.startswith("topk_"):
        width = prediction(dataset, file)[0].shape[1]
        y_pred = leading(dataset, file, width)
    else:
        y_pred = sp.csr_matrix(decisions(dataset, file))
    n_rows, n_labels = y_true.shape
    present = len(np.unique(y_true.nonzero()[1]))
    return SimpleNamespace(
        labels=n_labels,
        present=present,
        cells=n_rows * n_labels,
        true=y_true.nnz,
        pred=y_pred.nnz,
        width=width,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "file"), FILES)
def test_evaluate_gives_recorded_values(dataset: str, file: str) -> None:
    n = counts(dataset, file)
    groups: dict[Any, list[tuple[str, Rule, Record]]] = defaultdict(list)
    for record in records(dataset, file):
        for _, rule, captured in record.entries:
            if isinstance(rule, Rule):
                spec = rule.spec.format(*captured, **vars(n))
                form = rule.form.format(*captured)
                conventions = rule.conventions or preset_of(record.evaluator)
                groups[form, conventions].append((spec, rule, record))
    assert groups
    wrong = []
    for (form, conventions), comparisons in groups.items():
        specs = list(dict.fromkeys(spec for spec, _, _ in comparisons))
        ours = values(dataset, file, form, conventions, specs)
        for spec, rule, record in comparisons:
            value = rule.gives(ours[spec], n)
            if value != pytest.approx(record.value, rel=rule.tolerance, abs=rule.tolerance):
                name = f"{record.evaluator}: {record.metric}"
                wrong.append(f"{name} is {record.value!r}, but {spec} ({form}) makes it {value!r}")
    assert not wrong, "\n".join(wrong)


def preset_of(evaluator: str) -> str | None:
    for name, preset in PRESET_OF.items():
        if evaluator.startswith(name):
            return preset
    return None


def test_rules_and_excuses_have_one_entry_for_every_number() -> None:
    """No number is lost or matched twice, and every entry is used."""
    recorded = [record for dataset, file in FILES for record in records(dataset, file)]
    wrong = {(r.evaluator, r.metric): len(r.entries) for r in recorded if len(r.entries) != 1}
    assert wrong == {}
    used = {patterns for record in recorded for patterns, _, _ in record.entries}
    declared = {
        (evaluator, metric)
        for side in (RULES, EXCUSED)
        for evaluator, table in side.items()
        for metric in table
    }
    assert declared == used
