"""The laws that a state of a package must obey, on every state of the table of measures."""

from typing import Any

import pytest

from tests.own_measures import FMAX
from xmleval.states.plan import STATES
from xmleval.states.state import state_class
from xmleval.testing import check_state

EXAMPLES = 8
MEASURES: dict[str, tuple[list[str], dict[str, Any]]] = {  # with options, by state
    "calibration": (["ece@2", "brier@2"], {}),
    "label_extremes": (["margin.macro"], {"conventions": "unlisted=0"}),
    "label_sets": (["label_diversity"], {}),
    "label_totals": (["f1.macro@2", "label_coverage@2"], {}),
    "pair_scores": (["ace@2"], {}),
    "rank_profile": (["p@2", "ndcg@2", "rbp@2"], {}),
    "row_counts": (["f1.micro@2", "accuracy.micro@2"], {}),
    "row_ratios": (["rprec.micro", "mean_rank"], {"conventions": "unlisted=0"}),
    "row_sums": (["mrr@2", "map@2"], {"confidence": 0.9}),
    "row_vectors": ([FMAX.name], {"hierarchy": [(1, 0)]}),
    "score_runs": (["auc.micro", "ap.macro"], {"conventions": "unlisted=0"}),
    "top_scores": (["aurc@2"], {}),
    "weighted_scores": (["auc.micro", "ap.micro"], {"conventions": "unlisted=0"}),
}
# states of groups, bounds and notes, which no measure names; "" is of measures of other values
OTHERS = {
    "",
    "candidate_bounds",
    "data_hints",
    "label_groups",
    "row_bounds",
    "row_groups",
    "tie_bounds",
}


@pytest.mark.parametrize("state", MEASURES)
def test_state_obeys_the_laws_that_packages_check(state: str) -> None:
    measures, options = MEASURES[state]
    check_state(state, measures, examples=EXAMPLES, **options)


def test_merge_that_changes_the_other_state_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = state_class("row_sums")
    merge = checked.merge

    def merge_and_change(state: Any, other: Any) -> None:
        merge(state, other)
        other.n_defined += other.n_defined

    monkeypatch.setattr(checked, "merge", merge_and_change)
    with pytest.raises(AssertionError, match="merging changed the state that was added"):
        check_state("row_sums", ["mrr@2"], examples=20)


def test_every_state_is_checked() -> None:
    assert {*MEASURES} | OTHERS == {*STATES}
