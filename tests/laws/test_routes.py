"""Every route gives the report of one call, to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import law, problems
from tests.routes import ROUTES, compare


@pytest.mark.parametrize("name", ROUTES)
@law
@given(data=st.data())
def test_route_gives_the_report_of_one_call(name: str, data: st.DataObject) -> None:
    route = ROUTES[name]
    problem = data.draw(problems(without=route.without, change=route.change, **route.limits))
    assert compare(name, problem, data.draw) == []
