"""Average precision of labels under the envelope of the precision-recall curve, as PASCAL VOC."""

import re
from typing import Any

import numpy as np
import pytest

from xmleval import Evaluator, evaluate
from xmleval.metrics.spec import parse_spec

NAME = "ap.macro(interpolated=voc2010)"
COLUMN = "ap(interpolated=voc2010)"
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((60, 7)) < 0.25).astype(int)
SCORES = (2 * RNG.permutation(TRUTH.size).reshape(TRUTH.shape) + 201 * TRUTH) / 1024  # no ties


def voc_ap(truth: Any, scores: Any) -> float:
    """Return VOCap of the development kit of 2010, for the detections of one class."""
    order = np.argsort(-scores)
    tp = np.cumsum(truth[order])
    recall = tp / truth.sum()
    precision = tp / np.arange(1, truth.size + 1)
    mrec = np.concatenate(([0.0], recall, [1.0]))
    mpre = np.concatenate(([0.0], precision, [0.0]))
    for i in range(mpre.size - 2, -1, -1):
        mpre[i] = max(mpre[i], mpre[i + 1])
    changes = np.flatnonzero(mrec[1:] != mrec[:-1]) + 1
    return float(np.sum((mrec[changes] - mrec[changes - 1]) * mpre[changes]))


def test_values_are_those_of_the_development_kit() -> None:
    report = evaluate(TRUTH, SCORES, metrics=[NAME, "ap.macro"], per_label=True)
    expected = [voc_ap(TRUTH[:, j], SCORES[:, j]) for j in range(TRUTH.shape[1])]
    values = report.per_label()
    np.testing.assert_allclose(values[COLUMN], expected, rtol=1e-12)
    assert (values[COLUMN] > values["ap"]).all()
    assert report[NAME] == pytest.approx(np.mean(expected), rel=1e-12)


def test_precision_is_the_largest_from_a_recall_on() -> None:
    truth = np.array([[1], [0], [1], [1], [0]])
    scores = np.array([[4.0], [5.0], [3.0], [2.0], [1.0]])
    report = evaluate(truth, scores, metrics=[NAME, "ap.macro"])
    assert report[NAME] == 3 / 4  # the precision at the last relevant row
    assert report["ap.macro"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3)


def test_equal_scores_are_one_cut() -> None:
    truth = np.array([[1], [0], [1], [0]])
    scores = np.array([[2.0], [2.0], [2.0], [1.0]])
    assert evaluate(truth, scores, metrics=NAME)[NAME] == pytest.approx(2 / 3)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_whole_weights_are_repeated_rows(average: str) -> None:
    name = f"ap.{average}(interpolated=voc2010)"
    weights = RNG.integers(0, 4, len(TRUTH))
    scores = np.round(SCORES, 1)
    weighted = evaluate(TRUTH, scores, metrics=name, sample_weight=weights.astype(float))
    repeated = evaluate(
        np.repeat(TRUTH, weights, axis=0), np.repeat(scores, weights, axis=0), metrics=name
    )
    assert weighted[name] == repeated[name]


@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 2, len(TRUTH))])
def test_merges_and_queries_of_all_entries_change_no_bit(weight: Any) -> None:
    metrics = [
        "fpr_at_tpr.micro(tpr=0.5)",
        NAME,
        "auc.micro(max_fpr=0.5)",
        "auc.macro(max_fpr=0.5)",
    ]
    options: dict[str, Any] = {"n_labels": TRUTH.shape[1], "confidence": 0.9}
    whole = Evaluator(metrics, **options)
    whole.update(TRUTH, SCORES, sample_weight=weight)
    parts = []
    for rows in (slice(40, 60), slice(0, 15), slice(15, 40)):
        part = Evaluator(metrics, **options)
        given = None if weight is None else weight[rows]
        clusters = np.arange(60)[rows]
        part.update(TRUTH[rows], SCORES[rows], sample_weight=given, clusters=clusters)
        parts.append(part)
    merged = parts[0].merge(parts[1]).merge(parts[2]).compute()
    assert dict(merged) == dict(whole.compute())
    alone = evaluate(TRUTH, SCORES, metrics=NAME, sample_weight=weight)
    assert merged[NAME] == alone[NAME]
    assert merged.standard_errors[NAME] > 0


def test_labels_without_relevant_rows_count_by_the_convention() -> None:
    truth = TRUTH.copy()
    truth[:, 3] = 0
    left_out = evaluate(truth, SCORES, metrics=NAME)
    as_zero = evaluate(truth, SCORES, metrics=NAME, conventions="ap_empty=zero")
    assert left_out.undefined_labels == {NAME: 1}
    assert as_zero[NAME] == pytest.approx(left_out[NAME] * 6 / 7)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ap.macro(interpolated=voc2007)", "interpolated='voc2007' is not one of voc2010"),
        ("ap.micro(interpolated=voc2010)", "ap.micro has no parameter 'interpolated'"),
        ("ap.geometric(interpolated=voc2010)", "ap.geometric has no parameter 'interpolated'"),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        evaluate(TRUTH, SCORES, metrics=name)


def test_word_is_part_of_the_name() -> None:
    spec = parse_spec("AP.macro(interpolated=VOC2010)")
    assert spec.name == NAME
    assert spec.symbol == "AP macro (interpolated voc2010)"
