"""The public attributes of every object that a caller gets: an addition is a decision."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from xmleval import (
    Conventions,
    Evaluator,
    Running,
    calibrate,
    check,
    compare,
    diff,
    evaluate,
    inverse_propensity,
    label_groups,
    propensity_sensitivity,
    rank,
    scan,
    thresholds,
    trend,
)

FORMS = "to tables footnotes to_text to_markdown to_latex to_csv to_json to_dict to_frame to_html"
PRINTED = f"{FORMS} records notes plot load"
NAMES = {
    "Calibrator": "apply intercept k levels load method n_pairs save scores slope",
    "Change": (
        "a b change decided_by_ties lists name number support tie_bounds_a tie_bounds_b title"
    ),
    "Checked": "failures n_held to_markdown",
    "Comparison": (
        f"{PRINTED} baseline changes complete_lists difference differences labels level n_tests "
        "pairs reports seeds specs test"
    ),
    "Comparisons": f"{PRINTED} comparisons models",
    "Conventions": (
        "all_orders ap_empty as_dict auc_ties empty explained gains graded has_gains labels "
        "least_gain link loss_ties map_norm no_pairs read_gains relevant_from shares_discounts "
        "signature ties unlisted unlisted_score zero_division"
    ),
    "DayValue": "day estimate holds measure model n_labels n_rows value",
    "Diff": (
        f"{PRINTED} a b label_column label_names labels n_changed n_decided_by_ties rows spec "
        "values"
    ),
    "Difference": (
        "a b better corrected_p estimate group kind n_rows name outcomes p_value "
        "same_as spec value value_a value_b"
    ),
    "Estimate": "half_width lower n_groups standard_error upper",
    "Evaluator": (
        "compute from_bytes load memory merge n_labels n_rows requested reset save settings "
        "to_bytes update"
    ),
    "Failure": "limit measure model reason value",
    "InversePropensity": "constants for_labels label_counts label_names numbered",
    "LabelGroups": "for_labels label_names names numbered of ranges",
    "OmnibusTest": "degrees_of_freedom p_value statistic",
    "Outcomes": "losses ties wins",
    "Rank": "data_set model rank value",
    "Ranking": (
        f"{PRINTED} alpha average_ranks control corrected critical_difference decided_by_ties "
        "friedman groups higher_is_better iman_davenport metric n_data_sets ranks symbol values"
    ),
    "Rankings": f"{PRINTED} rankings",
    "Record": "better_than bounds data_set estimate group kind model spec value",
    "Report": (
        f"{PRINTED} confidence confidence_level constants conventions decision estimates excluded "
        "flat group_ranges groups hierarchy higher_is_better intervals keeps_rows "
        "label_names n_labels n_rows not_computed per_label per_row pr_curve propensity "
        "reliability results roc_curve row_groups row_names shares signature specs "
        "standard_errors thresholds tie_bounds tied_rows undefined_labels undefined_rows "
        "unknown_labels weighted"
    ),
    "Rule": (
        "apply by_name decision for_labels given label_names load measure n_labels rule save "
        "unlisted"
    ),
    "Running": "block_rows checkpoint executor first_row resume save",
    "Scan": "format instance keep label path score separator",
    "Sensitivity": "a b notes values",
    "Table": "caption kind n_heads rows spans",
    "Trend": f"{PRINTED} days failures max measures min models",
    "TrendMeasure": "group name spec symbol",
}
TRUTH = np.eye(40)[:, :10]
SCORES = np.random.default_rng(0).random((40, 10))


def objects() -> dict[str, Any]:
    """Return an instance of each class, by its name."""
    report = evaluate(TRUTH, SCORES, metrics=["p@1", "ndcg@3"], confidence=0.9)
    models = {"a": SCORES, "b": SCORES[::-1]}
    compared = compare(TRUTH, models, metrics=["p@1", "ndcg@3"])
    ranking = rank({"x": compared, "y": compared}, "p@1")
    changes = diff(TRUTH, SCORES, SCORES[::-1], metric="p@1")
    days = trend({"day1": report}, min={"p@1": 1})
    checked = check(report, min={"p@1": 1})
    difference = compared.differences[0]
    instances = [
        report,
        report.records()[0],
        report.estimates["p@1"],
        report.tables()[0],
        compared,
        difference,
        difference.outcomes,
        compare({"x": compared}),
        ranking,
        ranking.records()[0],
        ranking.friedman,
        rank({"x": compared, "y": compared}, ["p@1"]),
        changes,
        changes.records()[0],
        days,
        days.measures[0],
        days.records()[0],
        checked,
        checked.failures[0],
        propensity_sensitivity(TRUTH, models, y_train=TRUTH),
        Evaluator(["p@1"], n_labels=10),
        Conventions(),
        Running(),
        scan("scores.npz", format="npz"),
        label_groups(TRUTH),
        inverse_propensity(TRUTH),
        thresholds.fit(TRUTH, SCORES, "f1.micro"),
        calibrate.fit(TRUTH, SCORES),
    ]
    return {type(instance).__name__: instance for instance in instances}


def public_names(instance: Any) -> set[str]:
    """Return the public attributes of an instance, without those of Python's and NumPy's types."""
    inherited = set[str]()
    for base in (Mapping, tuple, np.ndarray):
        if isinstance(instance, base):
            inherited.update(dir(base))
    return {name for name in dir(instance) if not name.startswith("_")} - inherited


@pytest.fixture(scope="module")
def instances() -> dict[str, Any]:
    return objects()


def test_every_class_of_a_result_is_in_the_table(instances: dict[str, Any]) -> None:
    assert {*instances} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_public_attributes_are_those_of_the_table(name: str, instances: dict[str, Any]) -> None:
    assert public_names(instances[name]) == {*NAMES[name].split()}
