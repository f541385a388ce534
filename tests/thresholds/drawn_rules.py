"""Rankings and rules for the tests of decision rules."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.oracles.metrics import Case, tie_groups
from xmleval.thresholds import Rule
from xmleval.view.decision import Decision


def ranked_labels(case: Case) -> list[list[int]]:
    """Listed labels of each row, best first, ties in the order that counts."""
    tied = [tie_groups(case, i) for i in range(len(case.truth))]
    return [[j for group in groups for j in group][:n_listed] for groups, n_listed in tied]


def weighted_rule(data: st.DataObject, n_labels: int, k: int) -> Rule:
    """A rule with few distinct weights and offsets, so that there are ties."""
    numbers = data.draw(st.lists(st.sampled_from([-0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=8))
    decision = Decision("weighted", float(k), np.resize(np.array(numbers), 2 * n_labels), "own")
    return Rule("weighted", f"f1.macro@{k}", n_labels, decision)
