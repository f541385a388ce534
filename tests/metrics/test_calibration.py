"""Calibration: the definitions of its authors, libraries on the pairs, refused scores, links of logits."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles import calibration as oracle
from xmleval import Evaluator, evaluate
from xmleval.cli import main
from xmleval.exact import NO_WEIGHT
from xmleval.kernels.calibrating import add_to_bins, exp_of, find_bin, log_of
from xmleval.spec import parse_spec
from xmleval.states.calibration import binned, edges_of
from xmleval.view.pairs import sigmoid

NAMES = ["ece", "ece_over", "ece_under", "ace", "brier", "log_loss"]


def made(seed: int, m: int = 40, n: int = 9, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Truth that scores overstate, with ties and scores of 0 and 1."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((m, n)), rng.integers(1, 5)).astype(dtype)
    return (rng.random((m, n)) < scores**2).astype(np.int8), scores


def leading(truth: Any, scores: Any, k: int) -> tuple[Any, Any]:
    """Scores and hits of the first k labels of each row."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, 1).ravel(), np.take_along_axis(truth, order, 1).ravel()


def authors_gaps(scores: Any, hits: Any, bins: int) -> tuple[Any, Any]:
    """Gaps of bins and the shares of pairs in them, by the rule of the code of Ullah et al. 2025."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    edges[-1] = 1.1
    place = np.digitize(scores, edges) - 1
    held = [b for b in range(bins) if (place == b).any()]
    gaps = [hits[place == b].mean() - scores[place == b].mean() for b in held]
    return np.array(gaps), np.array([(place == b).mean() for b in held])


def authors_ace(scores: Any, hits: Any, bins: int) -> float:
    """Sum of the gaps of bins of equal mass times their share, by the same code but for rounding of cuts."""
    order, cuts = np.argsort(scores), np.arange(bins + 1) * scores.size // bins
    parts = [order[start:stop] for start, stop in itertools.pairwise(cuts)]
    return float(sum(abs(hits[own].sum() - scores[own].sum()) for own in parts) / scores.size)


def test_values_are_those_of_the_authors_definition() -> None:
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(12), 7)
    for bins, k in [(15, 1), (10, 3), (15, 5), (1, 2), (29, 4), (7, 6), (2, 3), (20, 2)]:
        truth, scores = rng.integers(0, 2, (84, 6)), rng.random((84, 6))
        scores[:, :1][rng.random((84, 1)) < 0.1] = 1.0
        names = [f"{n}(bins={bins})@{k}" for n in NAMES[:4]]
        found = evaluate(truth, scores, metrics=names, row_groups=groups, threads=1).row_groups
        for group in range(12):
            rows = slice(7 * group, 7 * group + 7)
            gaps, shares = authors_gaps(*leading(truth[rows], scores[rows], k), bins)
            want = [(own * shares).sum() for own in (np.abs(gaps), np.maximum(-gaps, 0), np.maximum(gaps, 0))]
            *found_here, ace = found[str(group)].values()
            np.testing.assert_allclose(found_here, want, atol=1e-12)
            one, hits = leading(truth[rows], scores[rows], k)
            if np.unique(one).size == one.size:  # their order of ties is any
                assert math.isclose(ace, authors_ace(one, hits, bins), abs_tol=1e-12)


def test_sums_by_bin_are_those_of_the_authors_on_many_inputs() -> None:
    rng, n = np.random.default_rng(1), 40
    for bins in (15, 10, 1, 33):
        scores, hits = rng.random((250, n)), rng.random((250, n)) < 0.4
        scores[rng.random(scores.shape) < 0.1] = 1.0
        tiers, sums = np.repeat(np.arange(250, dtype=np.uint8), n), np.zeros((250, bins, 3, 4), np.int64)
        edges, rows = edges_of(bins, np.float64), np.zeros(tiers.size, np.int64)
        add_to_bins(scores.ravel(), hits.ravel(), tiers, rows, NO_WEIGHT, edges, sums)
        for one, own, table in zip(scores, hits, sums, strict=True):
            found, (gaps, shares) = binned(table), authors_gaps(one, own, bins)
            want = [
                (part * shares).sum() for part in (np.abs(gaps), np.maximum(-gaps, 0), np.maximum(gaps, 0))
            ]
            values = [parse_spec(name).metric.value(found, None) for name in NAMES[:3]]
            np.testing.assert_allclose(values, want, atol=1e-12)


@pytest.mark.parametrize("k", [None, 1, 4])
def test_values_are_those_of_libraries_on_the_pairs(k: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, scores = made(1)
    pairs = leading(truth, scores, k or scores.shape[1])
    at = f"@{k}" if k else ""
    found = evaluate(truth, scores, metrics=[f"{name}{at}" for name in NAMES])
    assert math.isclose(found[f"brier{at}"], metrics.brier_score_loss(pairs[1], pairs[0]), rel_tol=1e-13)
    assert math.isclose(found[f"log_loss{at}"], metrics.log_loss(pairs[1], pairs[0]), rel_tol=1e-13)


def test_bins_hold_their_lower_ends_as_their_scores_are_rounded() -> None:
    for dtype in (np.float32, np.float64):
        for bins in (3, 10, 15, 999):
            edges = edges_of(bins, dtype)
            assert [find_bin(edge, edges) for edge in edges] == [*range(bins), bins - 1]
            inside = np.nextafter(edges[1:], 0)
            assert [find_bin(value, edges) for value in inside] == [*range(bins)]
    for dtype in (np.float32, np.float64):
        found = evaluate([[1]], np.array([[0.3]], dtype), metrics=["ece(bins=10)"])
        assert found.reliability["ece(bins=10)"]["n"].argmax() == 3


def test_powers_and_logarithms_are_exact_to_the_last_place() -> None:
    context, rng = Context(prec=40), np.random.default_rng(2)
    for x in [*(-(10.0 ** rng.uniform(-12, 2.8, 100))), 0.0, -745.0]:
        want = float(context.exp(Decimal(float(x))))
        assert abs(exp_of(float(x)) - want) <= 2 * np.spacing(want)
    for x in [*(10.0 ** rng.uniform(-16, 0, 100)), *(1 - 10.0 ** rng.uniform(-15, -1, 50)), 1.0]:
        want = float(context.ln(Decimal(float(x))))
        assert abs(log_of(float(x)) - want) <= 2 * np.spacing(abs(want))
    ends = sigmoid(np.array([-np.inf, -800.0, -0.0, 0.0, 40.0, np.inf]))
    assert ends.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    values = np.sort(rng.normal(0, 12, 4000))
    assert (np.diff(sigmoid(values)) >= 0).all()
    assert (np.diff(sigmoid(values.astype(np.float32))) >= 0).all()


def test_float32_scores_are_clipped_at_their_own_eps() -> None:
    for dtype in (np.float32, np.float64):
        found = evaluate([[1, 0]], np.array([[0.0, 1.0]], dtype), metrics=["log_loss"])
        assert math.isclose(found["log_loss"], -math.log(np.finfo(dtype).eps), rel_tol=1e-6)


REFUSED = [
    ({"y_score": [[0.5, 0.2], [1.5, 0.1]]}, "row 1: score 1.5 of label 0 is outside 0..1; ece(bins=15)@1"),
    ({"y_score": ([[0, 1], [1, 0]], [[0.5, 0.25], [0.5, -2.0]]), "metrics": ["brier"]},
     "row 1: score -2 of label 0 is outside 0..1; brier needs probabilities; link='sigmoid' makes them"),
    ({"y_score": [[0.5, np.nan], [0.5, 0.1]]}, "row 0: score nan is not a number"),
    ({"higher_is_better": False}, "ece(bins=15)@1 needs probabilities, not distances: higher_is_better="),
    ({"unlisted": -1.0}, "unlisted: -1 is outside 0..1; ece(bins=15)@1 needs probabilities"),
    ({"y_score": (np.array([[0], [1]]), None)}, "ece(bins=15)@1 needs scores in y_score="),
    ({"link": "probit"}, "link='probit' is not one of none, sigmoid"),
    ({"metrics": ["ece(bins=0)"]}, "bins=0 is not an integer in 1..1000"),
    ({"metrics": ["ece@all"]}, "'ece@all': ece takes no @all"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_probability_is_refused(changed: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"y_score": np.array([[0.5, 0.2], [0.5, 0.1]]), "metrics": ["ece@1"]} | changed
    if isinstance(given["y_score"], list):
        given["y_score"] = np.array(given["y_score"])
    elif isinstance(given["y_score"], tuple):
        given["y_score"] = tuple(None if part is None else np.array(part) for part in given["y_score"])
    with pytest.raises(ValueError, match=" ") as error:
        evaluate([[1, 0], [0, 1]], **given)
    assert said in str(error.value)


def test_only_the_labels_that_are_read_need_probabilities() -> None:
    truth, scores = np.array([[1, 0, 0]]), np.array([[0.75, 0.5, -3.0]])
    assert evaluate(truth, scores, metrics=["brier@2", "auc.micro"])["brier@2"] == (0.25**2 + 0.5**2) / 2
    evaluate(truth, scores, metrics="all", decision="top1", inverse_propensity=np.ones(3))


def test_a_link_changes_calibration_alone() -> None:
    truth, logits = made(3)
    logits = 8 * logits - 4
    metrics = ["p@3", "auc.micro", "peak_f1.macro", "ece@3", "brier"]
    plain = evaluate(truth, logits, metrics=metrics[:3])
    linked = evaluate(truth, logits, metrics=metrics, link="sigmoid")
    mapped = evaluate(truth, sigmoid(logits.ravel()).reshape(logits.shape), metrics=metrics)
    assert {name: linked[name] for name in plain} == dict(plain)
    assert linked["ece@3"] == mapped["ece@3"]
    assert linked["brier"] == mapped["brier"]
    assert "link=sigmoid" in str(linked)
    assert linked.conventions.as_dict()["link"] == "sigmoid"
    one, other = (Evaluator(["ece@3"], n_labels=9, link=link) for link in ("sigmoid", None))
    with pytest.raises(ValueError, match="link differs"):
        one.merge(other)


@pytest.mark.parametrize("unlisted", [None, 0.25])
def test_whole_weights_are_repeated_rows_and_zero_none(unlisted: float | None) -> None:
    truth, scores = made(4)
    sparse = sp.csr_array(np.where(scores > 0.5, scores, 0.0))
    times = np.random.default_rng(5).integers(0, 4, len(truth))
    rows = np.repeat(np.arange(len(truth)), times)
    names = [f"{name}{k}" for name in NAMES for k in ("", "@3")]
    weighed = evaluate(truth, sparse, metrics=names, unlisted=unlisted, sample_weight=times)
    repeated = evaluate(truth[rows], sparse[rows], metrics=names, unlisted=unlisted)
    assert dict(weighed) == dict(repeated)
    for name, bins in repeated.reliability.items():
        for column, values in bins.items():
            np.testing.assert_array_equal(weighed.reliability[name][column], values)


def test_without_pairs_there_is_no_value() -> None:
    found = evaluate(np.zeros((2, 3)), sp.csr_array((2, 3)), metrics=[*NAMES, "ece@1"])
    assert all(math.isnan(value) for value in found.values())
    short = evaluate([[1, 1, 0]], sp.csr_array([[0.5, 0.0, 0.0]]), metrics=["brier@3"])
    assert short["brier@3"] == 0.25  # empty slots are no pairs


def test_groups_are_those_of_the_first_labels_of_all() -> None:
    truth, scores = made(6)
    head = np.arange(9) % 3 == 0
    options: dict[str, Any] = {"metrics": ["ece@3", "brier@3", "brier", "ace@3"]}
    found = evaluate(truth, scores, label_groups=np.where(head, "head", "tail"), **options)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    for name, own in (("head", head), ("tail", ~head)):
        pairs = [(float(scores[i, j]), bool(truth[i, j]), 1.0) for i in range(40) for j in order[i] if own[j]]
        assert math.isclose(found.groups[name]["brier@3"], oracle.of_pairs("brier", pairs), rel_tol=1e-12)
        assert math.isclose(found.groups[name]["ece@3"], oracle.of_pairs("ece", pairs, 15), abs_tol=1e-12)
    sure = evaluate(truth, scores, label_groups=np.where(head, "head", "tail"), confidence=0.95, **options)
    assert {name: dict(own) for name, own in sure.groups.items()} == {
        name: dict(own) for name, own in found.groups.items()
    }
    parts = np.arange(40) % 2
    rows = evaluate(truth, scores, row_groups=parts, **options)
    assert dict(rows.row_groups["1"]) == dict(evaluate(truth[1::2], scores[1::2], **options))
    assert rows.row_groups["1"].reliability["ece@3"]["n"].sum() == 60


def test_reliability_is_a_table_by_any_spelling_and_in_json() -> None:
    truth, scores = made(7)
    found = evaluate(truth, scores, metrics=["ece(bins=5)@3", "ece_over(bins=5)@3", "p@1"])
    bins = found.reliability["ECE(bins=5)@3"]
    gaps = bins["n"] * np.abs(bins["hit_rate"] - bins["mean_score"])
    assert math.isclose(found["ece(bins=5)@3"], np.nansum(gaps) / bins["n"].sum(), rel_tol=1e-12)
    saved = json.loads(found.to_json())["reliability"]
    assert saved["ece(bins=5)@3"]["n"] == bins["n"].tolist()
    assert "reliability" not in evaluate(truth, scores, metrics=["p@1"]).to_dict()
    with pytest.raises(KeyError, match="ece"):
        found.reliability["ece@5"]
    panels = found.panels("calibration")
    assert [panel.title for panel in panels] == ["Calibration, ECE (5 bins)@3"]
    np.testing.assert_array_equal(panels[0].series[0].x, bins["mean_score"][bins["n"] > 0])


def test_logits_in_files(tmp_path: Path, capsys: Any) -> None:
    truth, scores = made(8, dtype=np.float32)
    logits = 8 * scores - 4
    for name, values in (("Y", truth), ("S", logits)):
        sp.save_npz(tmp_path / f"{name}.npz", sp.csr_array(values))
    call = ["evaluate", str(tmp_path / "Y.npz"), str(tmp_path / "S.npz"), "--metrics", "ece@3,brier@3"]
    assert main(call) == 2
    said = capsys.readouterr().err
    assert "ece(bins=15)@3 needs probabilities; --link 'sigmoid' makes them of logits" in said
    assert main([*call, "--link", "sigmoid", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    want = evaluate(truth, sp.csr_array(logits), metrics=["ece@3", "brier@3"], link="sigmoid")
    assert found["values"] == dict(want)
    assert found["reliability"] == want.to_dict()["reliability"]
