"""Laws of all problems: refusals, values by definition, routes to one report, and relations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import relations, routes
from tests.definitions import case_of, value_of
from tests.problems import IDLE, REFUSALS, SPECS, free_problems, is_allowed, law, mend, problems

FEW = 3  # problems of the fast tests
LONG = {"by kernels in both ways", "by workers", "in threads of callers"}  # seconds for a problem


@law
@given(data=st.data())
def test_combination_is_refused_by_its_message(data: st.DataObject) -> None:
    kept = data.draw(st.sampled_from([None, *REFUSALS, *IDLE]))
    other_refusals = [refusal for refusal in REFUSALS if refusal is not kept]
    other_idle = [refusal for refusal in IDLE if refusal is not kept]
    problem = mend(data.draw(free_problems()), other_refusals)
    allowed = [name for name, spec in SPECS.items() if is_allowed(spec, problem)]
    metric = data.draw(st.sampled_from(allowed))
    problem = mend(replace(problem, metrics=(metric,)), other_idle)
    messages = [refusal.message for refusal in (*REFUSALS, *IDLE) if refusal.applies(problem)]
    if messages:
        with pytest.raises(ValueError, match="|".join(messages)):
            problem.evaluate()
    else:
        problem.evaluate()


@law
@given(data=st.data())
def test_value_is_that_of_its_definition(data: st.DataObject) -> None:
    problem = data.draw(problems(without=("decision",), least_rows=1, extremes=True))
    if problem.conventions.all_orders:  # for these, see tests/metrics/test_tie_orders.py
        problem = problem.with_conventions(ties="expected_dcg")
    report = problem.evaluate()
    case = case_of(relations.plain(problem, data.draw))
    # the definitions do not clip probabilities at what float32 can tell from 0 and 1
    is_exact = problem.dtype == "float64" or problem.conventions.link == "sigmoid"
    differences = []
    for spec in problem.specs:
        if spec.name not in report:
            continue
        if "probabilities" in spec.needs and not is_exact:
            continue
        expected = float(value_of(spec, case))
        value = report[spec.name]
        if not np.isclose(expected, value, rtol=1e-12, atol=1e-12, equal_nan=True):
            differences.append(f"{spec}: {expected!r} {value!r}")
    assert differences == []


@pytest.mark.parametrize("name", [name for name in routes.ROUTES if name not in LONG])
@settings(max_examples=FEW)
@given(data=st.data())
def test_route_gives_the_report_of_one_call_for_a_few_problems(
    name: str, data: st.DataObject
) -> None:
    route = routes.ROUTES[name]
    problem = data.draw(problems(without=route.without, change=route.change, **route.limits))
    assert routes.compare(name, problem, data.draw) == []


@pytest.mark.parametrize("name", relations.RELATIONS)
@settings(max_examples=FEW)
@given(data=st.data())
def test_relation_holds_for_a_few_problems(name: str, data: st.DataObject) -> None:
    relation = relations.RELATIONS[name]
    problem = data.draw(problems(without=relation.without, change=relation.base, **relation.limits))
    assert relations.compare(name, problem, data.draw) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", routes.ROUTES)
@law
@given(data=st.data())
def test_route_gives_the_report_of_one_call(name: str, data: st.DataObject) -> None:
    route = routes.ROUTES[name]
    problem = data.draw(problems(without=route.without, change=route.change, **route.limits))
    assert routes.compare(name, problem, data.draw) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", relations.RELATIONS)
@law
@given(data=st.data())
def test_relation_holds_for_every_measure(name: str, data: st.DataObject) -> None:
    relation = relations.RELATIONS[name]
    problem = data.draw(problems(without=relation.without, change=relation.base, **relation.limits))
    assert relations.compare(name, problem, data.draw) == []
