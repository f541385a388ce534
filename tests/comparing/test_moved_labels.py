"""Labels that differ most between models: those that `diff` names, with the signs of a comparison."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.comparing.test_differences import MODELS, TRUTH, TWO, L
from xmleval import compare, diff

METRICS = ["lrap", "p@3", "f1.macro@3"]


@pytest.mark.parametrize(
    ("metric", "column"), [("p@3", "tp@3"), ("f1.macro@3", "f1@3"), ("auc.macro", "auc")]
)
def test_labels_are_those_of_diff(metric: str, column: str) -> None:
    found = compare(TWO, TRUTH, metrics=["lrap", metric], worst=4)
    (moved,) = found.labels
    wanted = diff(dict(reversed(TWO.items())), TRUTH, metric=metric, worst=4).labels
    assert (moved.a, moved.b, moved.column, moved.labels) == ("good", "fair", column, wanted)
    assert moved.labels[0].change == moved.labels[0].b - moved.labels[0].a  # the second value is that of a


def test_every_form_names_them() -> None:
    names = [f"label {n}" for n in range(L)]
    found = compare(MODELS, TRUTH, metrics=METRICS, worst=2, labels=names)
    assert [(own.a, own.b) for own in found.labels] == found.pairs
    held = json.loads(found.to_json())["comparison"]["labels"]
    for own, told in zip(found.labels, held, strict=True):
        assert told["labels_by"] == "tp@3"
        for one, record in zip(own.labels, told["labels"], strict=True):
            assert record["difference"] == record["value_a"] - record["value_b"] == one.change
            assert (record["name"], record["support"]) == (f"label {record['number']}", one.support)
            assert str(one.name) in str(found)
            assert str(one.name) in found.to_markdown()
    assert "good - fair: labels that differ most by tp@3" in str(found)
    assert "labels" not in json.loads(compare(TWO, TRUTH, metrics=METRICS).to_json())["comparison"]


def test_seeds_are_averaged() -> None:
    seeds = {name: [scores, scores[:, ::-1].copy()] for name, scores in TWO.items()}
    (found,) = compare(seeds, TRUTH, metrics=["p@3"], seeds=True, worst=L).labels
    each = [compare({n: s[i] for n, s in seeds.items()}, TRUTH, metrics=["p@3"], worst=L) for i in range(2)]
    values: list[dict[int, float]] = [{one.number: one.b for one in own.labels[0].labels} for own in each]
    for one in found.labels:
        if all(one.number in own for own in values):
            assert math.isclose(one.b, np.mean([own[one.number] for own in values]))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"metrics": ["lrap"], "worst": 3}, "worst: none of lrap has values by label, or a cutoff"),
        ({"metrics": ["p@1"], "worst": -1}, "worst: -1 is not a non-negative integer"),
    ],
)
def test_refusals(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as caught:
        compare(TWO, TRUTH, **more)
    assert told in str(caught.value)
