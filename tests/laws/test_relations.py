"""Each change of a problem has the effect that is known of it, on every measure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import law, problems
from tests.relations import RELATIONS, compare


@pytest.mark.parametrize("name", RELATIONS)
@law
@given(data=st.data())
def test_relation_holds_for_every_measure(name: str, data: st.DataObject) -> None:
    relation = RELATIONS[name]
    problem = data.draw(problems(without=relation.without, change=relation.base, **relation.limits))
    assert compare(name, problem, data.draw) == []
