"""Unknown labels: measures that count them as wrong, and measures that ignore them."""

import json
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, Report, compare, evaluate
from xmleval.thresholds import fit

LABELS = [f"l{n}" for n in range(8)]
UNKNOWN = [f"u{n}" for n in range(5)]
Run = dict[str, dict[str, float]]


def sample(seed: int, n_rows: int = 60) -> tuple[dict[str, dict[str, int]], Run]:
    """Return relevant labels, and up to nine labels, unknown ones too, with distinct scores."""
    rng = random.Random(seed)
    truth = {}
    for n in range(n_rows):
        relevant = rng.sample(LABELS, rng.choice([0, 1, 1, 2, 3]))
        truth[f"q{n}"] = dict.fromkeys(relevant, 1)
    run = {}
    for name in truth:
        listed = rng.sample(LABELS + UNKNOWN, rng.randint(0, 9))
        scores = rng.sample([n / 16 for n in range(1, 16)], len(listed))
        run[name] = dict(zip(listed, scores, strict=True))
    return truth, run


TRUTH, RUN = sample(1)
INSIDE: Run = {
    name: {label: s for label, s in row.items() if label in LABELS} for name, row in RUN.items()
}
RANKED = {name: sorted(row, key=lambda label: -row[label]) for name, row in RUN.items()}
PAIRS = [[*row.items()] for row in RUN.values()]
ALL: dict[str, Any] = {
    "metrics": [
        "all",
        "fbeta.micro(beta=2)",
        "recall_at_precision.micro(p=0.5)",
        "risk(coverage=0.5)@2",
        "ece@2",
        "ace@2",
        "brier@2",
        "log_loss@2",
        "log_loss.samples",
        "ece",
        "psp@3",
        "psndcg@3",
    ],
    "k": [1, 3],
    "inverse_propensity": np.linspace(1, 3, 8),
}

# measures of every label of a row, predicted or not, or of single labels
CELLS = {
    "coverage",
    "coverage_error",
    "ranking_loss",
    "lrap",
    "lwlrap",
    "gauc",
    "mean_rank",
    "amri",
    "auc",
    "peak_f1",
    "is_error",
    "error_set_size",
    "ap",
    "recall_at_precision",
    "hamming_loss",
    "accuracy",
    "specificity",
    "balanced_accuracy",
    "mcc",
    "gmean",
    "hmean",
    "log_loss.samples",
    "label_coverage",
    "pred_coverage",
    "gini",
    "entropy",
    "label_density",
}
GROUPS = ["xmc", "ps", "sets", "ranking", "curves"]
BY_LABEL = ("macro", "weighted", "geometric", "of_macros")
SPREAD = ["gini", "entropy", "pred_coverage"]
SETS = [
    "precision",
    "recall",
    "f1",
    "fbeta",
    "jaccard",
    "accuracy",
    "specificity",
    "balanced_accuracy",
    "mcc",
    "gmean",
    "hmean",
    "hamming_loss",
    "label_coverage",
    *SPREAD,
]


def values(y_true: Any = TRUTH, y_score: Any = RUN, **options: Any) -> dict[str, float]:
    defaults = {"labels": LABELS, "metrics": ["p@3", "ndcg@3", "f1.macro@2"]}
    return dict(evaluate(y_true, y_score, **defaults | options))


@pytest.mark.parametrize("ties", ["order", "expected_dcg", "expected"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_measure_counts_unknown_labels_as_wrong_or_ignores_them(
    weighted: bool, ties: str
) -> None:
    weights = None
    if weighted:
        weights = {name: 1 + n % 3 for n, name in enumerate(TRUTH)}
    options: dict[str, Any] = ALL | {"sample_weight": weights, "decision": "top3"}
    options["conventions"] = {"ties": ties}
    report = evaluate(TRUTH, RUN, labels=LABELS, **options)
    q = np.append(ALL["inverse_propensity"], np.ones(len(UNKNOWN)))
    wide = evaluate(TRUTH, RUN, labels=LABELS + UNKNOWN, **options | {"inverse_propensity": q})
    inside = evaluate(TRUTH, INSIDE, labels=LABELS, **options)
    sets = {k: report_of_known_labels(k, weights) for k in (1, 3)}
    wrong = []
    counts = {"wide": 0, "cells": 0, "sets": 0}
    for spec in report.specs:
        kind = kind_of(spec)
        if kind == "wide":
            expected = wide[spec.name]
        elif kind == "cells":
            expected = inside[spec.name]
        elif spec.metric.name == "label_coverage":
            continue
        else:
            expected = sets[spec.k or 3][spec.name.partition("@")[0]]
        counts[kind] += 1
        if not np.array_equal(report[spec.name], expected, equal_nan=True):
            wrong.append((spec.name, kind, report[spec.name], expected))
    assert not wrong
    assert counts["wide"] > 25 < counts["sets"]
    assert counts["cells"] > 12
    assert (report.n_labels, report.label_names) == (8, LABELS)


def report_of_known_labels(k: int, weights: dict[str, int] | None) -> Report:
    """Return the report of the known labels among the first k in every row."""
    sets = {}
    for name, ranked in RANKED.items():
        sets[name] = [label for label in ranked[:k] if label in LABELS]
    report: Report = evaluate(
        TRUTH, y_pred=sets, metrics=["sets", *SPREAD], sample_weight=weights, labels=LABELS
    )
    return report


def kind_of(spec: Any) -> str:
    """Return whether a measure reads all labels, cells of known labels, or sets of them."""
    stem = spec.name.partition("@")[0].partition("(")[0]
    metric = stem.partition(".")[0]
    if not {metric, stem} & CELLS and spec.average not in BY_LABEL:
        return "wide"
    return "sets" if metric in SETS else "cells"


def test_measures_of_all_labels_are_not_computed_without_a_list() -> None:
    q = dict(zip(LABELS, ALL["inverse_propensity"].tolist(), strict=True))
    options: dict[str, Any] = {"metrics": GROUPS, "decision": "top3", "inverse_propensity": q}
    listed = evaluate(TRUTH, RUN, labels=LABELS, **options)
    alone = evaluate(TRUTH, RUN, **options)
    inside = evaluate(TRUTH, INSIDE, **options)
    gone = {spec.name for spec in listed.specs if spec.metric.every_label}
    assert dict(alone) == {name: value for name, value in listed.items() if name not in gone}
    assert set(alone.not_computed) == gone < set(inside)
    models = {"a": RUN, "b": INSIDE}
    groups = dict.fromkeys(TRUTH, "r")
    reports = compare(TRUTH, models, row_groups=groups, **options).reports
    for report, whole in ((reports["a"], listed), (reports["b"], inside)):
        expected = {name: whole[name] for name in alone}
        assert dict(report) == dict(report.row_groups["r"]) == expected
        assert set(report.not_computed) == gone
        assert gone.isdisjoint(report.results.rows)
    message = "nothing can be computed without labels=, as some predicted"
    with pytest.raises(ValueError, match=message):
        evaluate(TRUTH, RUN, metrics=["curves"])


def test_unknown_labels_give_the_same_values_by_names_and_ids() -> None:
    expected = values()
    matrix = np.array([[label in row for label in LABELS] for row in TRUTH.values()], int)
    assert values(matrix, PAIRS) == expected
    numbers = dict(zip(LABELS + UNKNOWN, [*range(8), *range(100, 105)], strict=True))

    def numbered(rows: dict[str, Any]) -> dict[str, Any]:
        return {
            name: {numbers[label]: value for label, value in row.items()}
            for name, row in rows.items()
        }

    assert values(numbered(TRUTH), numbered(RUN), labels=range(8)) == expected
    pandas = pytest.importorskip("pandas")
    evaluator = Evaluator([*expected])  # takes the labels of the first truth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator.update(pandas.DataFrame(matrix, index=[*TRUTH], columns=LABELS), RUN)
    assert dict(evaluator.compute()) == expected


@pytest.mark.filterwarnings("ignore:y_")
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_unknown_labels_give_the_same_bits_in_batches_merged_and_saved(
    confidence: float | None, tmp_path: Path
) -> None:
    names = [*TRUTH]
    groups = {label: "low" if label < "l4" else "high" for label in LABELS}
    options: dict[str, Any] = {"labels": LABELS, "decision": "top3", "label_groups": groups}
    options |= {"confidence": confidence, "per_row": True, "per_label": True}
    options |= ALL if confidence is None else {"metrics": "p@3"}
    row_groups = {name: "ab"[n % 2] for n, name in enumerate(names)}
    whole = evaluate(TRUTH, RUN, row_groups=row_groups, **options).to_dict()
    parts = []
    for number, (start, stop) in enumerate([(0, 17), (17, 30), (30, 60)]):
        part = Evaluator(block_rows=7, threads=2, **options)
        for batch in (names[start : start + 9], names[start + 9 : stop]):
            part.update(
                {name: TRUTH[name] for name in batch},
                {name: RUN[name] for name in batch},
                row_groups={name: row_groups[name] for name in batch},
                first_row=names.index(batch[0]),
            )
        part.save(tmp_path / f"{number}")
        parts.append(Evaluator.load(tmp_path / f"{number}"))
    merged = parts[2].merge(parts[0]).merge(parts[1]).compute().to_dict()
    # the unknown labels of parts may be the same ones or others
    assert merged.pop("notes")[0] == whole.pop("notes")[0].replace(": 5", ": at least 5")
    assert json.dumps(merged) == json.dumps(whole)


def test_unknown_labels_are_reported_if_labels_are_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{name}\n" for name in LABELS))
    report = evaluate(TRUTH, RUN, metrics="p@1", labels=path)
    expected = evaluate(TRUTH, RUN, metrics="p@1", labels=LABELS)
    assert report.unknown_labels == expected.unknown_labels
    assert {*report.unknown_labels} == {*UNKNOWN}


@pytest.mark.parametrize("labels", [LABELS, None])
def test_unknown_labels_may_be_excluded_and_be_candidates(labels: list[str] | None) -> None:
    inside = values(TRUTH, INSIDE, labels=labels)
    assert values(labels=labels, exclude=dict.fromkeys(TRUTH, UNKNOWN)) == inside
    assert values(labels=labels, candidates=dict.fromkeys(TRUTH, LABELS)) == inside
    everything = dict.fromkeys(TRUTH, LABELS + UNKNOWN)
    assert values(labels=labels, candidates=everything) == values(labels=labels) != inside


def test_label_groups_ignore_unknown_labels() -> None:
    groups = {label: "low" if label < "l4" else "high" for label in LABELS}
    options: dict[str, Any] = {
        "metrics": ["p@1", "f1.macro@2"],
        "labels": LABELS,
        "label_groups": groups,
    }
    report = evaluate(TRUTH, RUN, **options)
    inside = evaluate(TRUTH, INSIDE, **options)
    for name in ("low", "high"):
        assert report.groups[name]["p@1"] == inside.groups[name]["p@1"]
        # unknown labels take places in the first two
        assert report.groups[name]["f1.macro@2"] != inside.groups[name]["f1.macro@2"]
    shares = [part.results.values["p@1"] for part in report.results.shares.values()]
    assert sum(shares) == pytest.approx(report["p@1"])


def test_hierarchies_and_rules_ignore_unknown_labels() -> None:
    parents = dict.fromkeys(LABELS[2:5], LABELS[0]) | dict.fromkeys(LABELS[5:], LABELS[1])
    hits = 0
    sizes = 0
    for name, row in RANKED.items():
        y = {*TRUTH[name]} | {parents[label] for label in TRUTH[name] if label in parents}
        h = {*row[:2]} | {parents[label] for label in row[:2] if label in parents}
        hits += len(y & h)
        sizes += len(y) + len(h)
    value = values(metrics=["h_f1.micro@2", "f1.micro@2"], hierarchy=[*parents.items()])
    assert value["h_f1.micro@2"] == 2 * hits / sizes
    # no thresholds for unknown labels
    rule = fit(TRUTH, INSIDE, "f1.macro", labels=LABELS, rule="label")
    options: dict[str, Any] = {"metrics": "sets", "decision": rule}
    assert values(TRUTH, RUN, **options) == values(TRUTH, INSIDE, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"y_true": {"q0": {"u0": 1}}},
            "y_true: row 0: label 'u0' is not one of the 8 listed labels",
        ),
        (
            {"conventions": "sklearn"},
            'y_score: predicts unknown labels, but conventions="unlisted=0" gives every label a '
            "score; add them",
        ),
        ({"y_score": {"q0": [("u0", 0.5), ("u0", 0.25)]}}, "row 0: label 'u0' occurs twice"),
    ],
)
def test_unknown_labels_are_refused_in_the_truth_or_with_unlisted_scores(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        values(**arguments)
