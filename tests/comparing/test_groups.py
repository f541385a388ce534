"""Comparisons within groups of labels and of rows: their differences, and one correction of all p-values."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.comparing.test_differences import MEASURES, MODELS, TRUTH, TWO, L, N, Q, compared
from xmleval import compare, evaluate

TOPICS = ["rare" if label < 4 else "common" for label in range(L)]
LANGUAGES = np.where(np.arange(N) % 3, "en", "de")


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_groups_of_rows_are_compared_as_their_rows_alone(test: str) -> None:
    found = compared(row_groups=LANGUAGES, test=test)
    for name, own in found.row_groups.items():
        rows = np.equal(LANGUAGES, name)
        alone = compare(
            {model: scores[rows] for model, scores in MODELS.items()}, TRUTH[rows], metrics=MEASURES,
            test=test, **Q,
        )  # fmt: skip
        for one, other in zip(own.differences, alone.differences, strict=True):
            assert (one.name, one.a, one.b, one.value, one.outcomes) == (*other[:4], other.outcomes)
            if test != "t":  # whose folds depend on the numbers of rows
                np.testing.assert_array_equal(one.p_value, other.p_value)


def test_differences_within_groups_are_those_of_their_reports() -> None:
    groups: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}
    found = compared(**groups)
    reports = {
        m: evaluate(TRUTH, s, metrics=MEASURES, confidence=0.95, **groups, **Q) for m, s in MODELS.items()
    }
    for kind in ("groups", "row_groups"):
        for name, own in getattr(found, kind).items():
            for one in own.differences:
                a, b = (getattr(reports[model], kind)[name] for model in (one.a, one.b))
                assert one.value == a[one.name] - b[one.name]
                if one.estimate:
                    without = a.results.replicates[one.name] - b.results.replicates[one.name]
                    n = without.size
                    error = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
                    np.testing.assert_allclose(one.estimate.standard_error, error, rtol=1e-9)
    assert found.groups["rare"].difference("P@1", "good", "fair").a == "good"
    with pytest.raises(KeyError, match="no group 'tail'; there are 'rare', 'common'"):
        found.groups["tail"]


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_groups_are_corrected_with_the_whole(test: str) -> None:
    plain = compared(test=test)
    found = compared(label_groups=TOPICS, row_groups=LANGUAGES, test=test)
    parts = [found, *found.groups.values(), *found.row_groups.values()]
    every = [one for own in parts for one in own.differences]
    known = [one for one in every if not math.isnan(one.p_value)]
    order = sorted(known, key=lambda one: one.p_value)
    least = 0.0
    for rank, one in enumerate(order):
        least = max(least, one.p_value * (len(order) - rank))
        assert one.corrected_p == min(1.0, least)
        assert (one.better is not None) == (one.corrected_p < 0.05)
    assert {own.n_tests for own in parts} == {len(known)}
    assert [one.p_value for one in found.differences if one in known] == [
        one.p_value for one in plain.differences if not math.isnan(one.p_value)
    ]
    told = f"Holm over {len(known)} tests, those within groups included"
    assert all(told in text for text in (str(found), found.to_markdown(), found.to_latex()))
    assert ("within groups of labels, whose values by row are not kept" in str(found)) == (test != "t")


def test_every_form_has_the_differences_within_groups() -> None:
    found = compared(TWO, metrics=["p@1", "f1.macro@3"], label_groups=TOPICS, row_groups=LANGUAGES)
    names = ["rare", "common", "de", "en"]
    held = json.loads(found.to_json())["comparison"]
    of_groups = {**held["groups"], **held["row_groups"]}
    lines = [line.split(",") for line in found.to_csv().splitlines()]
    assert lines[0][-2:] == ["group_of", "group"]
    assert [line[-2:] for line in lines[1::2]] == [
        ["", ""], *(["labels", name] for name in found.groups), *(["rows", name] for name in found.row_groups)
    ]  # fmt: skip
    for name in names:
        one = (found.groups if name in found.groups else found.row_groups)[name].differences[0]
        assert of_groups[name]["differences"][0]["difference"] == one.value
        assert one.estimate is not None
        told = f"{one.value:+.4f} ±{one.estimate.half_width:.4f}"
        assert told in str(found)
        assert told in found.to_markdown()
        assert told.replace("±", "\\textpm{}") in found.to_latex()
    assert "good - fair within groups of labels" in str(found)
    assert "rare, P@1" in str(found)
    assert max(map(len, found.to_text(80).splitlines())) <= 80


def test_seeds_are_averaged_within_groups() -> None:
    seeds = {name: [MODELS[name], MODELS[name][:, ::-1].copy()] for name in TWO}
    found = compare(seeds, TRUTH, metrics=["p@1"], seeds=True, label_groups=TOPICS, row_groups=LANGUAGES)
    each = [
        compare({n: s[i] for n, s in seeds.items()}, TRUTH, metrics=["p@1"], label_groups=TOPICS,
                row_groups=LANGUAGES)
        for i in range(2)
    ]  # fmt: skip
    for kind, name in (("groups", "rare"), ("row_groups", "de")):
        values = [getattr(one, kind)[name].differences[0].value for one in each]
        assert getattr(found, kind)[name].differences[0].value == pytest.approx(np.mean(values))


def test_sets_decided_over_all_labels_are_tested_within_groups() -> None:
    order = {m: (np.argsort(-scores, axis=1).astype(np.int32)[:, :2], None) for m, scores in TWO.items()}
    found = compare(order, TRUTH, metrics=["p@2", "f1.macro@2"], label_groups=np.arange(L) % 2)
    for own in found.groups.values():
        assert [math.isnan(one.p_value) for one in own.differences] == [True, False]
    assert "note: group 0: lists hold different numbers of labels a row" in str(found)
