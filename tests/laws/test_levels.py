"""Measures with a level of relevance are those of all measures at that level by the conventions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import (
    IDLE,
    LEVELLED,
    PER_LABEL,
    PER_ROW,
    SPECS,
    Problem,
    is_allowed,
    law,
    mend,
    problems,
    unchanged,
)
from tests.relations import KEPT, contents_to_compare, with_values, without_names
from tests.routes import differences, usual_tolerance

OF_VALUES = (*KEPT, "shares", "tied_rows", "tied_shares", "undefined_rows")


def with_names(problem: Problem, names: list[str], **fields: Any) -> Problem:
    """Return the problem with these measures, and all their values of rows where any are kept."""
    kept = {PER_ROW: True} if problem.has(PER_ROW) else {}
    changed = replace(problem.with_arguments(**kept), metrics=(*names,))
    return mend(changed.with_conventions(**fields), IDLE)


def renamed(contents: Any, names: Mapping[str, str]) -> Any:
    """Return nested contents with other names of measures."""
    if not isinstance(contents, dict):
        return contents
    return {names.get(name, name): renamed(content, names) for name, content in contents.items()}


@pytest.mark.parametrize("parts", ["label_groups", "row_groups", "none"])
@law
@given(data=st.data())
def test_level_of_a_measure_is_that_of_the_conventions(parts: str, data: st.DataObject) -> None:
    change = with_values(parts, "head", "tail") if parts != "none" else unchanged
    without = (PER_LABEL, "curve_points")
    problem = data.draw(problems(without=without, change=change, least_rows=1))
    gains = data.draw(st.sampled_from(["binary", "linear", "exp"]))
    level = data.draw(st.sampled_from([2, 3]))
    other_level = data.draw(st.sampled_from([1, 2, 3]))
    grades = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    rows = st.dictionaries(st.integers(0, problem.n_labels - 1), grades)
    truth = [data.draw(rows) for _ in range(problem.n_rows)]
    problem = replace(problem.with_conventions(gains=gains), truth=truth)
    plain = {spec.name: replace(spec, level=None) for spec in map(SPECS.get, LEVELLED) if spec}
    at_level = with_names(problem, [], gains=gains, relevant_from=level)
    names = {
        replace(spec, level=level).name: spec.name
        for spec in plain.values()
        if is_allowed(spec, at_level)
    }
    drawn = data.draw(st.lists(st.sampled_from([*names]), min_size=1, max_size=4, unique=True))
    own = with_names(problem, drawn, gains=gains, relevant_from=other_level)
    shared = with_names(problem, [names[name] for name in drawn], relevant_from=level)
    expected = contents_to_compare(shared)
    contents = renamed(contents_to_compare(own), names)
    # a group of labels reports its rows at the level of the conventions
    ignored = {"n_rows"}
    assert (
        differences(
            without_names({name: expected.get(name, {}) for name in OF_VALUES}, ignored),
            without_names({name: contents.get(name, {}) for name in OF_VALUES}, ignored),
            usual_tolerance(shared),
        )
        == []
    )
