"""Iterators of records are read once, wherever rows are taken."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.input.test_producers import JUDGED, QRELS, RUN, SCORED
from xmleval import Evaluator, calibrate, compare, diff, evaluate, fuse, thresholds

LABELS = [f"t{label}" for label in [*range(5), 9]]
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "evaluate": lambda truth, run, other: evaluate(truth, run, metrics=["p@1", "ndcg@3"]),
    "y_pred": lambda truth, run, other: evaluate(truth, y_pred=other, metrics="f1.micro"),
    "candidates": lambda truth, run, other: evaluate(truth, run, candidates=other, metrics="p@1"),
    "compare": lambda truth, run, other: compare(truth, {"a": run, "b": run}, metrics="p@1"),
    "diff": lambda truth, run, other: diff(truth, run, other, metric="p@1"),
    "fuse": lambda truth, run, other: fuse([run, other]),
    "update": lambda truth, run, other: updated(truth, run),
    "thresholds": lambda truth, run, other: thresholds.fit(truth, run, "f1.micro"),
    "calibrate": lambda truth, run, other: calibrate.fit(truth, run),
}


def updated(truth: Any, run: Any) -> Any:
    evaluator = Evaluator(["p@1"], labels=LABELS)
    evaluator.update(truth, run)
    return evaluator.compute()


def text_of(result: Any) -> str:
    if hasattr(result, "to_json"):
        return str(result.to_json())
    return str(result)


@pytest.mark.parametrize("name", CALLS)
def test_iterator_of_records_is_read_as_the_list(name: str) -> None:
    others = JUDGED if name in ("y_pred", "candidates") else SCORED[:-2]
    call = CALLS[name]
    expected = text_of(call(JUDGED, SCORED, others))
    run: Any = SCORED if name == "compare" else iter(SCORED)  # it takes a run for two models
    truth = (record for record in JUDGED)
    assert text_of(call(truth, run, iter(others))) == expected


@pytest.mark.parametrize("make", [list, iter, lambda records: (record for record in records)])
def test_models_by_name_are_records(make: Callable[[Any], Any]) -> None:
    models = {"a": make(SCORED), "b": make(SCORED[3:])}
    reports = evaluate(make(JUDGED), models, metrics="r@2")
    assert reports["a"]["r@2"] == evaluate(QRELS, RUN, metrics="r@2")["r@2"]
    assert dict(reports["b"]) == dict(evaluate(JUDGED, SCORED[3:], metrics="r@2"))


def test_compare_reads_an_iterator_for_each_model() -> None:
    models = {"a": iter(SCORED), "b": iter(SCORED[3:])}
    compared = compare(iter(JUDGED), models, metrics="r@2")
    assert compared.reports["a"]["r@2"] == evaluate(QRELS, RUN, metrics="r@2")["r@2"]
    assert compared.reports["b"]["r@2"] < compared.reports["a"]["r@2"]


def test_iterator_of_other_values_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^y_true: a list_iterator is not a list; convert it with list\(\.\.\.\)"
    ):
        evaluate(iter(list(QRELS.values())), RUN, metrics="p@1")
    with pytest.raises(
        ValueError, match=r"^y_score: a generator is not a list; convert it with list\(\.\.\.\)"
    ):
        evaluate(JUDGED, (row for row in RUN.values()), metrics="p@1")
