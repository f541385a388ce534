"""Fits to judged labels of rows alone: those of data without the other labels."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tests.commands import Run
from xmleval import calibrate, thresholds

RNG = np.random.default_rng(3)
SHAPE = (40, 6)
Y = (RNG.random(SHAPE) < 0.35).astype(int)
S = np.round(RNG.random(SHAPE) + 0.4 * Y, 1) / 2 + np.arange(SHAPE[1]) / 1024  # ties by label
UNJUDGED = RNG.random(SHAPE) < 0.3
JUDGED = ~UNJUDGED
NAMES = [f"l{j}" for j in range(SHAPE[1])]
LEFT = sp.csr_array(np.where(JUDGED, Y, 0))
LISTED = sp.csr_array(np.where(JUDGED, S + 1.0, 0))  # no stored score is 0
FORMS: dict[str, dict[str, Any]] = {
    "mask": {"y_true": Y, "y_score": S + 1.0, "unjudged": UNJUDGED},
    "pairs": {"y_true": Y, "y_score": S + 1.0, "unjudged": np.argwhere(UNJUDGED)},
    "judged": {"y_true": Y, "y_score": S + 1.0, "judged": JUDGED},
    "nan": {"y_true": np.where(JUDGED, Y, np.nan), "y_score": S + 1.0, "unjudged": "nan"},
    "-1": {"y_true": np.where(JUDGED, Y, -1), "y_score": S + 1.0, "unjudged": -1},
    "frames": {
        "y_true": pd.DataFrame(np.where(JUDGED, Y, np.nan), columns=NAMES),
        "y_score": pd.DataFrame(S + 1.0, columns=NAMES),
        "unjudged": math.nan,
    },
    "judgements": {
        "y_true": {
            f"r{i}": {NAMES[j]: int(Y[i, j]) for j in np.flatnonzero(JUDGED[i])}
            for i in range(SHAPE[0])
        },
        "y_score": {
            f"r{i}": dict(zip(NAMES, (S[i] + 1.0).tolist(), strict=True)) for i in range(SHAPE[0])
        },
        "judged": "truth",
        "labels": NAMES,
    },
}
RULES = [
    ("constant", "f1.micro"),
    ("constant", "hamming_loss"),
    ("constant", "f1.samples"),
    ("constant", "f1.macro"),
    ("cardinality", None),
    ("label", "f1.macro"),
    ("label", "hamming_loss"),
    ("rank", "f1.micro"),
    ("weighted", "f1.macro@2"),
]


def numbers(rule: Any) -> list[float]:
    decision = rule.decision
    return [decision.value, *np.ravel(np.asarray(decision.numbers, float)).tolist()]


def scaled(arguments: dict[str, Any], rule: str) -> dict[str, Any]:
    """Return arguments with scores that are probabilities, as rule "weighted" takes them."""
    if rule != "weighted":
        return arguments
    scores = arguments["y_score"]
    if isinstance(scores, dict):
        halved: Any = {i: {j: s / 4 for j, s in row.items()} for i, row in scores.items()}
        return arguments | {"y_score": halved}
    return arguments | {"y_score": scores / 4}


@pytest.mark.parametrize(("rule", "measure"), RULES)
@pytest.mark.parametrize("form", FORMS)
def test_rule_is_that_of_data_without_unjudged_labels(
    form: str, rule: str, measure: str | None
) -> None:
    left = scaled({"y_true": LEFT, "y_score": LISTED}, rule)
    expected = thresholds.fit(**left, measure=measure, rule=rule)
    fitted = thresholds.fit(**scaled(FORMS[form], rule), measure=measure, rule=rule)
    assert numbers(fitted) == numbers(expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("method", "k"), [("isotonic", None), ("isotonic", 2), ("platt", 3)])
def test_map_is_that_of_data_without_unjudged_labels(form: str, method: str, k: int | None) -> None:
    expected = calibrate.fit(LEFT, LISTED, method, k=k)
    assert str(calibrate.fit(**FORMS[form], method=method, k=k)) == str(expected)
    scores = np.linspace(1, 2, 50)[:, None]
    fitted = calibrate.fit(**FORMS[form], method=method, k=k)
    np.testing.assert_array_equal(fitted.apply(scores), expected.apply(scores))


def test_threshold_of_a_label_is_the_best_in_a_loop_over_judged_rows() -> None:
    rule = thresholds.fit(Y, S, "f1.macro", rule="label", unjudged=UNJUDGED)
    for j, threshold in enumerate(rule.decision.numbers):
        rows = [i for i in range(SHAPE[0]) if JUDGED[i, j]]
        best = -1.0
        best_threshold = math.inf
        candidates = sorted({S[i, j] for i in rows}, reverse=True)
        for upper, lower in itertools.pairwise([*candidates, -math.inf]):
            predicted = [i for i in rows if S[i, j] >= upper]
            tp = sum(Y[i, j] for i in predicted)
            f1 = 2 * tp / (len(predicted) + sum(Y[i, j] for i in rows))
            if f1 > best:
                best = f1
                best_threshold = lower
        assert threshold == best_threshold


def test_weights_go_with_judged_labels() -> None:
    weights = RNG.integers(0, 3, SHAPE[0]).astype(float)
    expected = calibrate.fit(LEFT, LISTED, sample_weight=weights)
    fitted = calibrate.fit(Y, S + 1.0, sample_weight=weights, judged=JUDGED)
    np.testing.assert_array_equal(fitted.apply(S + 1.0), expected.apply(S + 1.0))


def test_features_go_with_judged_labels() -> None:
    features = RNG.random((SHAPE[0], 2))
    options: dict[str, Any] = {"measure": "f1.samples", "rule": "row", "features": features}
    expected = thresholds.fit(LEFT, LISTED, **options)
    fitted = thresholds.fit(Y, S + 1.0, unjudged=UNJUDGED, **options)
    np.testing.assert_allclose(numbers(fitted), numbers(expected))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "top", "k": 2}, "unjudged: not for rule='top'"),
        ({"rule": "row", "measure": "f1.samples"}, "unjudged: not for rule='row' and f1.samples"),
        (
            {"measure": "f1.micro", "conventions": "unlisted=0"},
            'unlisted=0" gives all labels a score, including labels that are not judged; give',
        ),
    ],
)
def test_other_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        thresholds.fit(Y, S, unjudged=UNJUDGED, **options)


def test_fits_in_the_shell(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("Y.npy", np.where(JUDGED, Y, -1))
    np.save("S.npy", S + 1.0)
    sp.save_npz("J.npz", sp.csr_array(JUDGED))
    np.save("Z.npy", np.where(JUDGED, Y, 0))
    expected = thresholds.fit(LEFT, LISTED, "f1.micro")
    for number, arguments in enumerate(("Y.npy S.npy --unjudged -1", "Z.npy S.npy --judged J.npz")):
        run(f"threshold fit {arguments} --measure f1.micro --output rule{number}.npz")
        assert numbers(thresholds.Rule.load(f"rule{number}.npz")) == numbers(expected)
        run(f"calibrate fit {arguments} --output map{number}.json")
        fitted = calibrate.Calibrator.load(f"map{number}.json")
        assert str(fitted) == str(calibrate.fit(LEFT, LISTED))
