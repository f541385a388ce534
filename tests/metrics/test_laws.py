"""Laws that every measure of the table obeys, over every form of input."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles import abstaining as oracle_abstaining
from tests.oracles import calibration as oracle_calibration
from tests.oracles import curves as oracle_curves
from tests.oracles import hierarchy as oracle_hierarchy
from tests.oracles import judged as oracle_judged
from tests.oracles import losses as oracle_losses
from tests.oracles import margins as oracle_margins
from tests.oracles import metrics as oracle
from tests.oracles import predicted as oracle_predicted
from tests.strategies import DTYPES, FORMS, Problem, indicator, problems
from xmleval import Evaluator, evaluate
from xmleval.conventions import resolve_conventions
from xmleval.metrics import GROUPS, TABLE, Setting
from xmleval.spec import Spec, expand_metrics, parse_spec
from xmleval.states.state import State

KS = (1, 3, 9)
CUTOFFS = {"none": [""], "required": ["k"], "optional": ["", "k"], "all": ["all"]}
AVERAGES = ("samples", "micro", "macro", "weighted")
WITH_PARAMETERS = [f"fbeta.{a}(beta=2){k}" for a in AVERAGES for k in ("", "@3")]
WITH_PARAMETERS += ["fbeta.of_means(beta=0.5)", "auc.micro(bits=12)"]
WITH_PARAMETERS += [f"tail_share(count=2){k}" for k in ("", "@3")]
WITH_PARAMETERS += [
    name.replace(".(", f".{a}(")
    for name in ("recall_at_precision.(p=0.5)", "precision_at_recall.(r=0.5)", "fpr_at_tpr.(tpr=0.75)",
                 "auc.(max_fpr=0.3)")
    for a in AVERAGES[1:]
]  # fmt: skip
WITH_PARAMETERS += ["risk(coverage=0.6)@1", "risk(coverage=0.6)@3"]
CALIBRATION = ["ece(bins=4)", "ece_over", "ece_under", "ace(bins=3)", "brier", "log_loss"]
CALIBRATION += [f"{name}@3" for name in CALIBRATION]
CALIBRATION += ["log_loss.samples", "limited_log_loss(limit=5)"]
NAMES = [str(s) for s, _ in expand_metrics(["all", *WITH_PARAMETERS, *CALIBRATION], KS)]
MEASURES = oracle.MEASURES.union(
    *(own.MEASURES for own in (oracle_curves, oracle_margins, oracle_calibration, oracle_judged)),
    *(own.MEASURES for own in (oracle_losses, oracle_predicted, oracle_abstaining, oracle_hierarchy)),
)
SPECS = {name: parse_spec(name) for name in NAMES}

every_form = pytest.mark.parametrize(("form", "dtype"), [(f, d) for f in FORMS for d in DTYPES])
law = settings(
    max_examples=16, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def names_for(problem: Problem) -> list[str]:
    """Names of what can be computed: pooled scores need scores, margins no gaps, judged@k grades."""
    refused = set()
    if problem.bare:
        refused |= {"curves", "abstaining", "calibration", "losses"}
    if problem.bare or not oracle_margins.complete(problem.case):
        refused.add("margins")
    without = {"grades"} if problem.case.grades is None else set()
    allowed = {name for name, spec in SPECS.items() if not without & {*spec.needs}}
    return [name for name, spec in SPECS.items() if spec.metric.family not in refused and name in allowed]


def of_problem(problem: Problem, **more: Any) -> dict[str, float]:
    names = names_for(problem)
    return dict(evaluate(**problem.inputs(), **problem.settings(), metrics=names, **more))


def expected(spec: Spec, case: oracle.Case) -> float:
    if spec.metric.family == "curves":
        return oracle_curves.value(spec.metric.name, case, spec.average, **dict(spec.params))
    if spec.metric.family == "hierarchy":
        return oracle_hierarchy.value(spec.metric.name, case, spec.average, spec.cutoff)
    if spec.metric.family == "abstaining":
        return oracle_abstaining.value(case, int(spec.cutoff), **dict(spec.params))
    if spec.metric.family == "margins":
        return oracle_margins.value(spec.metric.name, case, spec.average)
    if spec.metric.family == "losses":
        rows = oracle_losses.rows(spec.metric.name, case, **dict(spec.params))
        return oracle.mean(rows, oracle.row_weights(case))
    if spec.metric.family == "predicted":
        return oracle_predicted.value(spec.metric.name, case, spec.k, **dict(spec.params))
    if spec.metric.name == "judged":
        return oracle_judged.value(case, spec.k or 0)
    if spec.metric.family == "calibration":
        return oracle_calibration.value(
            spec.metric.name, case, spec.cutoff, link="sigmoid", **dict(spec.params)
        )
    return oracle.value(spec.metric.name, case, spec.average, spec.cutoff, **dict(spec.params))


def same_bits(a: dict[str, float], b: dict[str, float]) -> list[str]:
    return [n for n in a if np.float64(a[n]).tobytes() != np.float64(b[n]).tobytes()]


def differing(a: dict[str, float], b: dict[str, float], tolerance: float = 1e-12) -> list[str]:
    close = {n: math.isclose(a[n], b[n], rel_tol=tolerance, abs_tol=tolerance) for n in a}
    return [f"{n}: {a[n]!r} {b[n]!r}" for n in a if not close[n] and not (a[n] != a[n] and b[n] != b[n])]


@every_form
@law
@given(data=st.data())
def test_value_equals_oracle(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    truth = {name: expected(SPECS[name], problem.case) for name in names_for(problem)}
    assert differing(of_problem(problem), truth) == []


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_rows_equal_oracle_and_resum(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    names = names_for(problem)
    report = evaluate(**problem.inputs(), **problem.settings(), metrics=names, per_row=True)
    kept = report.per_row()
    weights = np.ones(problem.n_rows) if problem.case.weights is None else np.array(problem.case.weights)
    for name in names:
        spec = SPECS[name]
        if spec.metric.family in ("curves", "abstaining", "calibration", "predicted"):
            assert name not in kept
            continue
        rows: list[float] | None
        if spec.metric.family == "hierarchy":
            rows = oracle_hierarchy.rows(spec.metric.name, problem.case, spec.average, spec.cutoff)
        elif spec.metric.family == "margins":
            rows = oracle_margins.rows(spec.metric.name, problem.case, spec.average)
        elif spec.metric.family == "losses":
            rows = oracle_losses.rows(spec.metric.name, problem.case, **dict(spec.params))
        elif spec.metric.name == "judged":
            rows = oracle_judged.rows(problem.case, spec.k or 0)
        else:
            rows = oracle.rows(spec.metric.name, problem.case, spec.average, spec.cutoff, **dict(spec.params))
        assert (rows is None) == (name not in kept), name
        if rows is not None:
            np.testing.assert_allclose(kept[name], rows, rtol=1e-12, atol=1e-12, err_msg=name)
            defined = ~np.isnan(kept[name])
            total = weights[defined].sum()
            mean = float((kept[name] * weights)[defined].sum() / total) if total else math.nan
            assert math.isclose(report[name], mean, rel_tol=1e-12, abs_tol=1e-12) or mean != mean, name


@every_form
@law
@given(data=st.data())
def test_value_lies_in_range(form: str, dtype: str, data: st.DataObject) -> None:
    for name, value in of_problem(data.draw(problems(form, dtype))).items():
        low, high = SPECS[name].metric.range
        assert value != value or low - 1e-12 <= value <= high + 1e-12, name


@every_form
@law
@given(data=st.data())
def test_perfect_predictions_reach_the_best_value(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, varied=False, tie_free=True, weighted=False))
    case = problem.case
    q = case.inverse_propensity
    assert q is not None
    order = [sorted(range(case.n_labels), key=lambda j: (j not in y, -q[j])) for y in case.truth]
    listed = [  # relevant cells above all others, in their row and over all rows
        [(j, float(case.n_labels - i if j in y else -i - 1)) for i, j in enumerate(row)]
        for row, y in zip(order, case.truth, strict=True)
    ]
    case.listed = [[*(row if form == "list" else sorted(row))] for row in listed]
    case.pred = case.truth
    case.conventions = {"zero_division": 1.0}
    values, conventions = of_problem(problem), resolve_conventions(case.conventions)
    n_relevant = np.array([len(y) for y in case.truth])
    for name in values:
        spec = SPECS[name]
        metric = spec.metric
        if (
            metric.best is None
            or (metric.family in ("sets", "hierarchy") and spec.k)
            or values[name] != values[name]
        ):
            continue
        if metric.name == "label_coverage" and n_relevant.max() > (spec.k or 0):
            continue
        rows = metric.best(n_relevant, Setting(spec.k, {}, conventions, case.n_labels))
        best = float(np.mean(rows[~np.isnan(rows)]))
        assert math.isclose(values[name], best, abs_tol=1e-12), name


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_row_order_does_not_matter(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    order = data.draw(st.permutations(range(problem.n_rows)))
    assert same_bits(of_problem(problem), of_problem(problem.cut(list(order)))) == []


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_monotone_maps_of_scores_do_not_matter(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype))
    problem.case.conventions["unlisted"] = "below"
    before = of_problem(problem)
    listed = problem.case.listed
    assert listed is not None
    problem.case.listed = [[(j, None if s is None else 4 * s - 7) for j, s in row] for row in listed]
    differ = same_bits(before, of_problem(problem))
    kept = [n for n in differ if SPECS[n].state != "key_counts" and SPECS[n].metric.name != "margin"]
    kept = [n for n in kept if SPECS[n].metric.family not in ("calibration", "losses")]
    assert kept == []


@law
@given(data=st.data())
def test_names_of_labels_and_representation_do_not_matter(data: st.DataObject) -> None:
    problem = data.draw(problems("csr", "float64", tie_free=True))
    case = problem.case
    case.conventions.pop("unlisted")
    first = of_problem(problem)
    for form, dtype in [("dense", "float32"), ("list", "float32"), ("list", "float64"), ("dense", "float64")]:
        other = Problem(case, form, dtype)
        assert same_bits(first, of_problem(other)) == [], (form, dtype)
    new = data.draw(st.permutations(range(case.n_labels)))
    case.truth = [{new[j] for j in y} for y in case.truth]
    if case.grades is not None:
        case.grades = [{new[j]: grade for j, grade in row.items()} for row in case.grades]
    case.pred = [{new[j] for j in y} for y in case.pred or []]
    case.listed = [sorted((new[j], s) for j, s in row) for row in case.listed or []]
    case.edges = [(new[child], new[parent]) for child, parent in case.edges]
    case.inverse_propensity = [q for _, q in sorted(zip(new, case.inverse_propensity or [], strict=True))]
    case.label_counts = [n for _, n in sorted(zip(new, case.label_counts or [], strict=True))]
    assert differing(first, of_problem(problem)) == []


@pytest.mark.slow
@every_form
@law
@given(data=st.data())
def test_cutting_merging_and_threads_do_not_matter(form: str, dtype: str, data: st.DataObject) -> None:
    problem = data.draw(problems(form, dtype, max_rows=9))
    whole = of_problem(problem, threads=1)
    assert same_bits(whole, of_problem(problem, threads=2, block_rows=data.draw(st.integers(1, 4)))) == []
    cuts = sorted(data.draw(st.sets(st.integers(0, problem.n_rows))) | {0, problem.n_rows})
    parts = []
    for lo, hi in itertools.pairwise(cuts):
        part = Evaluator(names_for(problem), n_labels=problem.case.n_labels, **problem.settings())
        part.update(**problem.cut(list(range(lo, hi))).inputs())
        parts.append(part)
    empty = Evaluator(names_for(problem), n_labels=problem.case.n_labels, **problem.settings())
    empty.update(**problem.cut([]).inputs())
    parts.append(empty)
    parts = [parts[i] for i in data.draw(st.permutations(range(len(parts))))]
    while len(parts) > 1:  # merge neighbours in any order
        at = data.draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [parts[at].merge(parts[at + 1])]
    assert same_bits(whole, dict(parts[0].compute())) == []


@law
@given(data=st.data())
def test_decisions_equal_their_sets(data: st.DataObject) -> None:
    problem = data.draw(problems(data.draw(st.sampled_from(FORMS)), "float32", varied=False))
    case = problem.case
    names = [name for name, spec in SPECS.items() if spec.needs == ("sets",)]
    if problem.bare:
        return
    inputs = problem.inputs() | {"y_pred": None}
    for rule, pick in (
        ("top2", lambda row: ranked(row, case)[:2]),
        ("threshold0.25", lambda row: [j for j, s in row if s > 0.25]),
    ):
        sets = [set(pick(row)) for row in case.listed or []]
        direct = evaluate(**inputs, metrics=names, decision=rule)
        given_sets = evaluate(
            inputs["y_true"], y_pred=indicator(sets, case.n_labels), metrics=names,
            sample_weight=inputs["sample_weight"],
        )  # fmt: skip
        assert same_bits(dict(direct), dict(given_sets)) == [], rule


def ranked(row: list[Any], case: oracle.Case) -> list[int]:
    if case.kind == "list":
        return [j for j, _ in sorted(row, key=lambda item: -item[1])]
    return [j for j, _ in sorted(row, key=lambda item: (-item[1], item[0]))]


def test_every_measure_has_an_oracle_and_is_documented() -> None:
    for metric in TABLE:
        for average in metric.averages or (None,):
            for cutoff in CUTOFFS[metric.cutoff]:
                assert (metric.name, average, cutoff) in MEASURES, (metric.name, average, cutoff)
        assert all([metric.title, metric.symbol, metric.formula, metric.reference, metric.family])
        assert metric.direction in ("up", "down", "none")
    known = {(s.metric.name, s.average, "k" if s.k else s.cutoff) for s in SPECS.values()}
    assert known == MEASURES


def test_every_record_has_a_formula_and_what_it_is_given() -> None:
    others = [other for metric in TABLE for other in (metric.tied, metric.graded) if other]
    for metric in [*TABLE, *others]:
        assert callable(metric.value), metric.name
        assert metric.best is None or callable(metric.best), metric.name
        states = [metric.state] if isinstance(metric.state, str) else [*metric.state.values()]
        if isinstance(metric.state, str):
            assert bool(metric.state) != bool(metric.parts), metric.name
        else:
            assert metric.state.keys() == set(metric.averages), metric.name
        for state in filter(None, states):
            assert issubclass(import_module(f"xmleval.states.{state}").STATE, State), metric.name
        assert all(str(parse_spec(part)) == part for part in metric.parts), metric.name


def test_other_records_of_a_measure_differ_from_its_own_in_counting_alone() -> None:
    for metric in TABLE:
        for other in (metric.tied, metric.graded, metric.graded and metric.graded.tied):
            same = (
                "state",
                "value",
                "whole",
                "tied",
                "graded",
                *(["best"] if other is not metric.tied else []),
            )
            assert other is None or replace(other, **{name: getattr(metric, name) for name in same}) == metric


def test_names_print_and_parse_back() -> None:
    for name, spec in SPECS.items():
        assert str(spec) == name
        assert parse_spec(name) == spec
        assert parse_spec(name.upper()) == spec
        assert spec.symbol
        assert "{" not in spec.symbol
    assert len({spec.symbol for spec in SPECS.values()}) == len(SPECS)


def test_groups_name_measures() -> None:
    for group in (*GROUPS, "all"):
        assert expand_metrics(group)
