"""Comparisons within label groups and row groups, and one correction of all p-values."""

import json
import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.results.models import GROUPS, TESTS, TWO, N, by_group, compared
from tests.results.notebooks import page_of
from xmleval import Comparison, compare, evaluate


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_compare_takes_row_groups_as_their_rows_alone(test: str) -> None:
    languages = GROUPS["row_groups"]
    _, *groups = by_group(compared(row_groups=languages, test=test)).items()
    for name, differences in groups:
        alone = compared(rows=np.equal(languages, name), test=test)
        for difference, expected in zip(differences, alone.differences, strict=True):
            assert difference[:4] == expected[:4]
            assert difference.outcomes == expected.outcomes
            if test != "t":  # whose jackknife groups depend on the numbers of rows
                np.testing.assert_array_equal(difference.p_value, expected.p_value)


@pytest.mark.parametrize(
    "options", [{}, {"baseline": "fair"}, GROUPS, {"test": "wilcoxon", **GROUPS}]
)
def test_compare_corrects_p_values_by_holm_groups_included(options: dict[str, Any]) -> None:
    comparison = compared(**options)
    differences = comparison.differences
    tested = [difference for difference in differences if not math.isnan(difference.p_value)]
    tested.sort(key=lambda difference: difference.p_value)
    least = 0.0
    for rank, difference in enumerate(tested):
        least = max(least, difference.p_value * (len(tested) - rank))
        assert difference.corrected_p == min(1.0, least)
    assert comparison.n_tests == len(tested)
    for difference in differences:
        assert math.isnan(difference.p_value) == math.isnan(difference.corrected_p)
        assert (difference.better is not None) == (difference.corrected_p < 0.05)
    if "label_groups" in options:
        check_whole_among_groups(comparison, options.get("test"))


def check_whole_among_groups(comparison: Comparison, test: str | None) -> None:
    """Compare the p-values of all rows and labels with those of a comparison without groups."""
    without_groups = compared(test=test or "t").differences
    p_values = [difference.p_value for difference in comparison.differences if not difference.group]
    expected = [difference.p_value for difference in without_groups]
    np.testing.assert_array_equal(p_values, expected)
    title = f"Holm over {comparison.n_tests} tests, including tests by group"
    assert title in str(comparison)
    assert title in comparison.to_markdown()
    assert title in comparison.to_latex()
    by_row = "within groups of labels, as values and shares by row are not kept"
    assert (by_row in str(comparison)) == (test is not None)


PLACES = [
    ["", ""],
    ["labels", "rare"],
    ["labels", "common"],
    ["shares", "rare"],
    ["shares", "common"],
    ["rows", "de"],
    ["rows", "en"],
]


def records_of(comparison: Comparison) -> list[list[dict[str, Any]]]:
    """Return the differences in JSON, in the order of ``PLACES``."""
    contents = json.loads(comparison.to_json())["comparison"]
    groups = contents["groups"].values()
    return [
        contents["differences"],
        *(group["differences"] for group in groups),
        *(group["shares"] for group in groups),
        *(group["differences"] for group in contents["row_groups"].values()),
    ]


def test_comparison_has_every_difference_in_every_form() -> None:
    comparison = compared(**GROUPS)
    records = records_of(comparison)
    _, *lines = [line.split(",") for line in comparison.to_csv().splitlines()]
    texts = [str(comparison), comparison.to_markdown()]
    parts = by_group(comparison).values()
    for place, part, part_records in zip(PLACES, parts, records, strict=True):
        expected = [(difference.name, difference.a, difference.value) for difference in part]
        in_json = [(record["name"], record["a"], record["difference"]) for record in part_records]
        assert in_json == expected
        rows = [line for line in lines if line[-2:] == place]
        assert [(row[0], row[3], float(row[7])) for row in rows] == expected
        for difference in part:
            if difference.estimate and difference.better:
                half_width = f"{difference.estimate.half_width:.4f}"
                value = f"{difference.value:+.4f}"
                assert all(f"{value} ±{half_width}" in text for text in texts)
                in_latex = rf"{value.replace('-', '$-$')} \textpm{{}}{half_width}"
                assert place == ["", ""] or in_latex in comparison.to_latex()
    assert max(map(len, comparison.to_text(80).splitlines())) <= 80
    check_whole_in_every_form()


def check_whole_in_every_form() -> None:
    """Count the pairs without a significant difference in each form, and the rows of a frame."""
    whole = compared()
    n_equal = sum(
        difference.better is None and not math.isnan(difference.p_value)
        for difference in whole.differences
    )
    for text in (str(whole), whole.to_text(60), whole.to_markdown(), page_of(whole)):
        assert text.count("no difference seen") == n_equal
    pytest.importorskip("pandas")
    frame = compared(TWO).to_frame()
    assert frame.loc["p@1", "better"] == "good"
    assert len(frame) == len(whole.specs)


def test_latex_names_the_pair_of_each_tabular() -> None:
    comparison = compared(**GROUPS)
    compiled = re.sub(r"(?<!\\)%.*", "", comparison.to_latex())
    _, *tabulars = re.findall(r"\\begin{tabular}.*?\\end{tabular}", compiled, re.S)
    kinds = (" within groups of labels", ": shares of groups of labels", " within groups of rows")
    captions = [f"{a} - {b}{kind}" for kind in kinds for a, b in comparison.pairs]
    for tabular, caption in zip(tabulars, captions, strict=True):
        _, _, heading, head, *_ = tabular.splitlines()
        n_columns = head.count("&") + 1
        assert heading == rf"\multicolumn{{{n_columns}}}{{l}}{{{caption}}} \\"


# -------------------------------------------------------------- lists too short for label groups


def short_lists(form: str = "lists") -> dict[str, Any]:
    """Return arguments with the lists of one model, cut at 4 and at 8 labels.

    Even rows begin with four frequent labels, odd ones with four rare ones; one of each four is
    relevant.
    """
    rng = np.random.default_rng(0)
    frequent = np.argsort(rng.random((N, 12)), axis=1)[:, :4]
    rare = 12 + np.argsort(rng.random((N, 12)), axis=1)[:, :4]
    is_even = np.arange(N)[:, None] % 2 == 0
    first = np.where(is_even, frequent, rare)
    second = np.where(is_even, rare, frequent)
    labels = np.hstack([first, second])
    truth = np.zeros((N, 24), int)
    for group in (frequent, rare):
        np.put_along_axis(truth, group[:, :1], 1, axis=1)
    scores = np.tile(np.arange(8, 0, -1.0), (N, 1))
    models: dict[str, Any] = {
        "cut": (labels[:, :4], scores[:, :4]),
        "full": (labels, scores),
    }
    if form == "matrix":
        for name, (ids, values) in models.items():
            matrix = np.zeros(truth.shape)
            np.put_along_axis(matrix, ids, values, axis=1)
            models[name] = sp.csr_array(matrix)
    return {"models": models, "y_true": truth, "label_groups": ["frequent"] * 12 + ["rare"] * 12}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("form", ["lists", "matrix"])
def test_compare_prefers_no_model_to_itself_with_shorter_lists(form: str, test: str) -> None:
    measures = ["p@1", "ndcg@1", "one_error", "map@all", "lrap", "auc.micro"]
    comparison = compare(**short_lists(form), metrics=measures, test=test)
    for difference in comparison.differences:
        if difference.kind == "groups":
            assert math.isnan(difference.p_value)
            assert difference.better is None
            assert difference.value != 0
        if difference.kind == "shares":
            is_equal = difference.value == 0 and difference.better is None
            assert is_equal or difference.name == "map@all"
            is_tested = test == "t" and difference.spec.k is not None
            assert (difference.p_value == 1) == is_tested
    untested = f"{', '.join(measures)} within groups frequent, rare"
    if test == "t":
        untested += "; shares of groups are tested for p@1, ndcg@1"
    assert any(f"{untested}; if no list was cut" in note for note in comparison.notes)
    few = "lists have few labels of a group (frequent 0.5 of 1, rare 0.5 of 1 on average in"
    assert any(few in note for note in comparison.notes)


def test_compare_tests_label_groups_only_if_lists_are_equally_long() -> None:
    """One label of 1600 is not listed, in a row of frequent labels; of all labels, 1 % may lack."""
    arguments = short_lists()
    labels, scores = arguments.pop("models")["cut"]
    shorter = labels.copy()
    shorter[0, -1] = -1
    models = {"a": (labels, scores), "b": (shorter, scores)}
    comparison = compare(arguments.pop("y_true"), models, **arguments, metrics="map@all")
    is_tested = {
        (difference.kind, difference.group): not math.isnan(difference.p_value)
        for difference in comparison.differences
    }
    assert is_tested == {
        ("", ""): True,
        ("groups", "frequent"): False,
        ("groups", "rare"): True,
    }
    (note,) = [note for note in comparison.notes if "not tested" in note]
    assert "are not tested for map@all within group frequent;" in note


def test_compare_tests_row_groups_whose_lists_are_equally_long() -> None:
    arguments = short_lists()
    del arguments["label_groups"]
    labels, scores = arguments["models"]["cut"]
    shorter = labels.copy()
    shorter[1::2, -1] = -1
    arguments["models"] = {"a": (labels, scores), "b": (shorter, scores)}
    comparison = compare(**arguments, metrics="map@all", row_groups=["like", "unlike"] * (N // 2))
    is_tested = {each.group: not math.isnan(each.p_value) for each in comparison.differences}
    assert is_tested == {"": False, "like": True, "unlike": False}


def test_no_value_within_groups_is_marked_for_longer_lists() -> None:
    arguments = short_lists()
    models = arguments.pop("models")
    options: dict[str, Any] = {"metrics": ["p@1", "p@4", "map@all"], **arguments}
    reports = {name: evaluate(y_score=lists, **options) for name, lists in models.items()}
    _, *tables_of_groups = Comparison(reports).tables()
    for table in tables_of_groups:
        cells = [cell for row in table.rows[1:] for cell in row[1:]]
        assert {cell.tail for cell in cells} == {"other"}


def test_compare_tests_equally_short_lists_within_groups() -> None:
    arguments = short_lists()
    labels, scores = arguments.pop("models")["cut"]
    models = {
        "a": (labels, scores),
        "b": (labels[:, ::-1].copy(), scores),
    }
    comparison = compare(arguments.pop("y_true"), models, **arguments, metrics="p@1")
    within_groups = [each for each in comparison.differences if each.kind == "groups"]
    assert [difference.better for difference in within_groups] == ["a", "a"]
