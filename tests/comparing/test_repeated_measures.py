"""Measures that have the same differences on every row are one test for Holm's correction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.comparing.test_differences import TRUTH, TWO, L, N, compared
from xmleval import Comparison, evaluate
from xmleval.comparing.differences import TESTS


@pytest.mark.parametrize("more", [{}, {"row_groups": np.arange(N) % 2}, {"label_groups": np.arange(L) % 2}])
@pytest.mark.parametrize("test", TESTS)
def test_holm_counts_measures_with_the_same_differences_once(test: str, more: dict[str, Any]) -> None:
    alone = compared(test=test, metrics=["p@1", "p@3"], **more)
    same = ["ndcg@1", "hit@1", "one_error"]
    if test == "t" and "label_groups" not in more:  # within which sets are those of all labels
        same.append("precision.micro@1")
    found = compared(test=test, metrics=["p@1", *same, "p@3"], **more)
    parts = [(found, alone)]
    for kind in ("groups", "row_groups"):
        parts += [(own, getattr(alone, kind)[name]) for name, own in getattr(found, kind).items()]
    for own, other in parts:
        assert own.n_tests == other.n_tests == alone.n_tests
        for one in own.differences:
            first = other.difference("p@3" if one.name == "p@3" else "p@1", one.a, one.b)
            assert (one.corrected_p, one.better) == (first.corrected_p, first.better) or math.isnan(
                one.p_value
            )
            assert one.same_as == ("p@1" if one.name in same and not math.isnan(one.p_value) else None)
    assert "those with the same differences once" in str(found)
    assert "once" not in str(alone)


def test_stars_of_evaluate_count_measures_with_the_same_differences_once() -> None:
    def comparison(*measures: str) -> Comparison:
        reports = {m: evaluate(TRUTH, s, metrics=measures, confidence=0.95) for m, s in TWO.items()}
        return Comparison(reports)

    alone, found = comparison("p@1", "p@3"), comparison("p@1", "ndcg@1", "one_error", "p@3")
    assert "Holm over 2 measures)" in str(alone)
    assert "Holm over 2 measures, those with the same differences once)" in str(found)
    assert [row[1].tail for row in found.grid()] == [
        row[1].tail for row in (*alone.grid()[:2], *alone.grid()[1:2] * 2, alone.grid()[2])
    ]
