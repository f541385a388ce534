"""Unknown labels: where they count as wrong, and where they are left out."""

import json
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, compare, evaluate
from xmleval.thresholds import fit

LABELS, UNKNOWN = [f"l{n}" for n in range(8)], [f"u{n}" for n in range(5)]
Run = dict[str, dict[str, float]]


def sample(seed: int, n_rows: int = 60) -> tuple[dict[str, dict[str, int]], Run]:
    """Return relevant labels, and up to nine labels with distinct scores, others among them."""
    rng = random.Random(seed)
    truth = {
        f"q{n}": dict.fromkeys(rng.sample(LABELS, rng.choice([0, 1, 1, 2, 3])), 1) for n in range(n_rows)
    }
    run = {}
    for name in truth:
        listed = rng.sample(LABELS + UNKNOWN, rng.randint(0, 9))
        run[name] = dict(zip(listed, rng.sample([n / 16 for n in range(1, 16)], len(listed)), strict=True))
    return truth, run


TRUTH, RUN = sample(1)
INSIDE: Run = {name: {label: s for label, s in row.items() if label in LABELS} for name, row in RUN.items()}
RANKED = {name: sorted(row, key=lambda label: -row[label]) for name, row in RUN.items()}
PAIRS = [[*row.items()] for row in RUN.values()]
ALL: dict[str, Any] = {
    "metrics": ["all", "fbeta.micro(beta=2)", "recall_at_precision.micro(p=0.5)", "risk(coverage=0.5)@2",
                "ece@2", "ace@2", "brier@2", "log_loss@2", "log_loss.samples", "ece", "psp@3", "psndcg@3"],
    "k": [1, 3], "inverse_propensity": np.linspace(1, 3, 8),
}  # fmt: skip

# what is about every label of a row, whether predicted or not, or about labels one by one
CELLS = {
    "coverage", "coverage_error", "ranking_loss", "lrap", "auc", "peak_f1", "is_error", "error_set_size",
    "ap", "recall_at_precision", "hamming_loss", "accuracy", "specificity", "balanced_accuracy", "mcc",
    "gmean", "hmean", "log_loss.samples", "label_coverage", "pred_coverage", "gini", "entropy",
    "label_density",
}  # fmt: skip
GROUPS = ["xmc", "ps", "sets", "ranking", "curves"]
BY_LABEL = ("macro", "weighted", "geometric", "of_macros")
SPREAD = ["gini", "entropy", "pred_coverage"]
SETS = [
    "precision", "recall", "f1", "fbeta", "jaccard", "accuracy", "specificity", "balanced_accuracy", "mcc",
    "gmean", "hmean", "hamming_loss", "label_coverage", *SPREAD,
]  # fmt: skip


def values(y_true: Any = TRUTH, y_score: Any = RUN, **more: Any) -> dict[str, float]:
    return dict(
        evaluate(y_true, y_score, **{"labels": LABELS, "metrics": ["p@3", "ndcg@3", "f1.macro@2"]} | more)
    )


@pytest.mark.parametrize("ties", ["order", "average"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_measure_counts_unknown_labels_or_leaves_them_out(weighted: bool, ties: str) -> None:
    weight = {name: 1 + n % 3 for n, name in enumerate(TRUTH)} if weighted else None
    options: dict[str, Any] = ALL | {"sample_weight": weight, "decision": "top3"}
    options["conventions"] = {"ndcg_ties": ties}
    report = evaluate(TRUTH, RUN, labels=LABELS, **options)
    q = np.append(ALL["inverse_propensity"], np.ones(len(UNKNOWN)))
    wide = evaluate(TRUTH, RUN, labels=LABELS + UNKNOWN, **options | {"inverse_propensity": q})
    inside = evaluate(TRUTH, INSIDE, labels=LABELS, **options)
    sets = {}
    for k in (1, 3):
        first = {name: [label for label in row[:k] if label in LABELS] for name, row in RANKED.items()}
        asked: dict[str, Any] = {"metrics": ["sets", *SPREAD], "sample_weight": weight, "labels": LABELS}
        sets[k] = evaluate(TRUTH, y_pred=first, **asked)
    wrong, counts = [], {"wide": 0, "cells": 0, "sets": 0}
    for spec in report.specs:
        stem = spec.name.partition("@")[0].partition("(")[0]
        metric = stem.partition(".")[0]
        if not ({metric, stem} & CELLS or spec.average in BY_LABEL):
            kind, expected = "wide", wide[spec.name]
        elif metric not in SETS:
            kind, expected = "cells", inside[spec.name]
        elif metric == "label_coverage":
            continue
        else:
            kind, expected = "sets", sets[spec.k or 3][spec.name.partition("@")[0]]
        counts[kind] += 1
        if not np.array_equal(report[spec.name], expected, equal_nan=True):
            wrong.append((spec.name, kind, report[spec.name], expected))
    assert not wrong
    assert counts["wide"] > 25 < counts["sets"]
    assert counts["cells"] > 12
    assert (report.n_labels, report.label_names) == (8, LABELS)


def test_measures_of_all_labels_are_left_out_without_a_list() -> None:
    q = dict(zip(LABELS, ALL["inverse_propensity"].tolist(), strict=True))
    options: dict[str, Any] = {"metrics": GROUPS, "decision": "top3", "inverse_propensity": q}
    listed = evaluate(TRUTH, RUN, labels=LABELS, **options)
    alone, inside = evaluate(TRUTH, RUN, **options), evaluate(TRUTH, INSIDE, **options)
    gone = {spec.name for spec in listed.specs if spec.metric.every_label}
    assert dict(alone) == {name: value for name, value in listed.items() if name not in gone}
    assert set(alone.not_computed) == gone < set(inside)
    several = compare(TRUTH, {"a": RUN, "b": INSIDE}, row_groups=dict.fromkeys(TRUTH, "r"), **options).reports
    for report, whole in ((several["a"], listed), (several["b"], inside)):
        assert dict(report) == dict(report.row_groups["r"]) == {name: whole[name] for name in alone}
        assert set(report.not_computed) == gone
        assert gone.isdisjoint(report.results.rows)
    with pytest.raises(ValueError, match="nothing can be computed without labels=, as some predicted"):
        evaluate(TRUTH, RUN, metrics=["curves"])


def test_names_and_ids_of_a_list_have_the_same_values() -> None:
    expected = values()
    matrix = np.array([[label in row for label in LABELS] for row in TRUTH.values()], int)
    assert values(matrix, PAIRS) == expected
    numbers = dict(zip(LABELS + UNKNOWN, [*range(8), *range(100, 105)], strict=True))
    truth, run = (
        {name: {numbers[label]: value for label, value in row.items()} for name, row in rows.items()}
        for rows in (TRUTH, RUN)
    )
    assert values(truth, run, labels=range(8)) == expected
    pandas = pytest.importorskip("pandas")
    evaluator = Evaluator([*expected])  # which takes the labels of the first truth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator.update(pandas.DataFrame(matrix, index=[*TRUTH], columns=LABELS), RUN)
    assert dict(evaluator.compute()) == expected


@pytest.mark.filterwarnings("ignore:y_")
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_batches_merging_and_saving_give_the_same_bits(confidence: float | None, tmp_path: Path) -> None:
    names = [*TRUTH]
    groups = {label: "low" if label < "l4" else "high" for label in LABELS}
    options: dict[str, Any] = {"labels": LABELS, "decision": "top3", "label_groups": groups}
    options |= {"confidence": confidence}
    options |= {"per_row": True, "per_label": True} | (ALL if confidence is None else {"metrics": "p@3"})
    of_row = {name: "ab"[n % 2] for n, name in enumerate(names)}
    whole = evaluate(TRUTH, RUN, row_groups=of_row, **options).to_dict()
    parts = []
    for number, (start, stop) in enumerate([(0, 17), (17, 30), (30, 60)]):
        part = Evaluator(block_rows=7, threads=2, **options)
        for batch in (names[start : start + 9], names[start + 9 : stop]):
            rows = ({name: data[name] for name in batch} for data in (TRUTH, RUN))
            part.update(*rows, row_groups={n: of_row[n] for n in batch}, first_row=names.index(batch[0]))
        part.save(tmp_path / f"{number}")
        parts.append(Evaluator.load(tmp_path / f"{number}"))
    merged = parts[2].merge(parts[0]).merge(parts[1]).compute().to_dict()
    assert merged.pop("notes")[0] == whole.pop("notes")[0].replace(": 5", ": at least 5")  # or others
    assert json.dumps(merged) == json.dumps(whole)


def test_unknown_labels_are_named_beside_options_in_files(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{name}\n" for name in LABELS))
    report = evaluate(TRUTH, RUN, metrics="p@1", labels=path)
    assert report.unknown_labels == evaluate(TRUTH, RUN, metrics="p@1", labels=LABELS).unknown_labels
    assert {*report.unknown_labels} == {*UNKNOWN}


@pytest.mark.parametrize("labels", [LABELS, None])
def test_unknown_labels_are_excluded_and_are_candidates(labels: list[str] | None) -> None:
    inside = values(TRUTH, INSIDE, labels=labels)
    assert values(labels=labels, exclude=dict.fromkeys(TRUTH, UNKNOWN)) == inside
    assert values(labels=labels, candidates=dict.fromkeys(TRUTH, LABELS)) == inside
    everything = dict.fromkeys(TRUTH, LABELS + UNKNOWN)
    assert values(labels=labels, candidates=everything) == values(labels=labels) != inside


def test_groups_of_labels_leave_unknown_labels_out() -> None:
    groups = {label: "low" if label < "l4" else "high" for label in LABELS}
    options: dict[str, Any] = {"metrics": ["p@1", "f1.macro@2"], "labels": LABELS, "label_groups": groups}
    report, inside = evaluate(TRUTH, RUN, **options), evaluate(TRUTH, INSIDE, **options)
    for name in ("low", "high"):
        assert report.groups[name]["p@1"] == inside.groups[name]["p@1"]
        assert report.groups[name]["f1.macro@2"] != inside.groups[name]["f1.macro@2"]  # decided with others
    shares = [part.results.values["p@1"] for part in report.results.shares.values()]
    assert sum(shares) == pytest.approx(report["p@1"])


def test_hierarchies_and_rules_leave_unknown_labels_out() -> None:
    parents = dict.fromkeys(LABELS[2:5], LABELS[0]) | dict.fromkeys(LABELS[5:], LABELS[1])
    both = sizes = 0
    for name, row in RANKED.items():
        true, predicted = ({*s, *(parents[j] for j in s if j in parents)} for s in (TRUTH[name], row[:2]))
        both += len(true & predicted)
        sizes += len(true) + len(predicted)
    value = values(metrics=["h_f1.micro@2", "f1.micro@2"], hierarchy=[*parents.items()])
    assert value["h_f1.micro@2"] == 2 * both / sizes
    rule = fit(TRUTH, INSIDE, "f1.macro", labels=LABELS, rule="label")  # no threshold for others
    options: dict[str, Any] = {"metrics": "sets", "decision": rule}
    assert values(TRUTH, RUN, **options) == values(TRUTH, INSIDE, **options)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"y_true": {"q0": {"u0": 1}}}, "y_true: row 0: label 'u0' is not one of the 8 given ones"),
    ({"conventions": "sklearn"},
     'y_score: predicts unknown labels, and conventions="unlisted=0" gives every label a score; name them'),
    ({"y_score": {"q0": [("u0", 0.5), ("u0", 0.25)]}}, "row 0: label 'u0' occurs twice"),
])  # fmt: skip
def test_unknown_labels_are_refused_without_a_meaning(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        values(**arguments)
