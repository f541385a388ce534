"""Comparisons within groups of labels and of rows: their differences, and one correction of all p-values."""

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
def test_groups_of_rows_are_compared_as_their_rows_alone(test: str) -> None:
    languages = GROUPS["row_groups"]
    _, *groups = by_group(compared(row_groups=languages, test=test)).items()
    for name, differences in groups:
        alone = compared(rows=np.equal(languages, name), test=test)
        for one, other in zip(differences, alone.differences, strict=True):
            assert (*one[:4], one.outcomes) == (*other[:4], other.outcomes)
            if test != "t":  # whose jackknife groups depend on the numbers of rows
                np.testing.assert_array_equal(one.p_value, other.p_value)


@pytest.mark.parametrize("options", [{}, {"baseline": "fair"}, GROUPS, {"test": "wilcoxon", **GROUPS}])
def test_p_values_are_corrected_by_holm_groups_included(options: dict[str, Any]) -> None:
    comparison = compared(**options)
    differences = comparison.differences
    tested = [one for one in differences if not math.isnan(one.p_value)]
    least = 0.0
    for rank, one in enumerate(sorted(tested, key=lambda one: one.p_value)):
        least = max(least, one.p_value * (len(tested) - rank))
        assert one.corrected_p == min(1.0, least)
    assert comparison.n_tests == len(tested)
    for one in differences:
        assert math.isnan(one.p_value) == math.isnan(one.corrected_p)
        assert (one.better is not None) == (one.corrected_p < 0.05)
    if "label_groups" in options:
        without = compared(test=options.get("test", "t"))
        whole = [one for one in differences if not one.group]
        actual, expected = ([one.p_value for one in each] for each in (whole, without.differences))
        np.testing.assert_array_equal(actual, expected)
        title = f"Holm over {len(tested)} tests, those within groups included"
        texts = str(comparison), comparison.to_markdown(), comparison.to_latex()
        assert all(title in text for text in texts)
        by_row = "within groups of labels, whose values and shares by row are not kept"
        assert (by_row in texts[0]) == ("test" in options)


def test_every_form_has_every_difference() -> None:
    comparison = compared(**GROUPS)
    contents = json.loads(comparison.to_json())["comparison"]
    _, *lines = [line.split(",") for line in comparison.to_csv().splitlines()]
    names = [("labels", "rare"), ("labels", "common"), ("shares", "rare"), ("shares", "common")]
    places = [["", ""], *map(list, names), ["rows", "de"], ["rows", "en"]]
    parts = [*by_group(comparison).values()]
    shares = [{"differences": group["shares"]} for group in contents["groups"].values()]
    records = [contents, *contents["groups"].values(), *shares, *contents["row_groups"].values()]
    texts = [str(comparison), comparison.to_markdown()]
    for place, part, record in zip(places, parts, records, strict=True):
        expected = [(one.name, one.a, one.value) for one in part]
        assert [(one["name"], one["a"], one["difference"]) for one in record["differences"]] == expected
        rows = [line for line in lines if line[-2:] == place]
        assert [(row[0], row[3], float(row[7])) for row in rows] == expected
        for one in part:
            if one.estimate and one.better:
                shown = f"{one.value:+.4f} ±{one.estimate.half_width:.4f}"
                assert all(shown in text for text in texts)
                assert place[0] == "" or shown.replace("±", "\\textpm{}") in comparison.to_latex()
    whole = compared()
    equal = [one.better is None and not math.isnan(one.p_value) for one in whole.differences]
    for text in (str(whole), whole.to_text(60), whole.to_markdown(), page_of(whole)):
        assert text.count("no difference seen") == sum(equal)
    assert max(map(len, comparison.to_text(80).splitlines())) <= 80
    pytest.importorskip("pandas")
    frame = compared(TWO).to_frame()
    assert (frame.loc["p@1", "better"], len(frame)) == ("good", len(whole.specs))


def test_latex_says_in_each_tabular_whose_difference_it_is() -> None:
    comparison = compared(**GROUPS)
    compiled = re.sub(r"(?<!\\)%.*", "", comparison.to_latex())
    _, *tabulars = re.findall(r"\\begin{tabular}.*?\\end{tabular}", compiled, re.S)
    kinds = (" within groups of labels", ": shares of groups of labels", " within groups of rows")
    captions = [f"{a} - {b}{kind}" for kind in kinds for a, b in comparison.pairs]
    for tabular, caption in zip(tabulars, captions, strict=True):
        _, _, heading, head, *_ = tabular.splitlines()
        assert heading == rf"\multicolumn{{{head.count('&') + 1}}}{{l}}{{{caption}}} \\"


# --------------------------------------------------------- lists too short for the labels of a group


def short_lists(form: str = "lists") -> dict[str, Any]:
    """Lists of one model, cut at 4 and at 8 labels; half of the short ones have none of a group."""
    rng = np.random.default_rng(0)
    frequent, rare = (first + np.argsort(rng.random((N, 12)), axis=1)[:, :4] for first in (0, 12))
    turn = np.arange(N)[:, None] % 2 == 0
    labels = np.hstack([np.where(turn, frequent, rare), np.where(turn, rare, frequent)])
    truth = np.zeros((N, 24), int)
    for first in (frequent, rare):
        np.put_along_axis(truth, first[:, :1], 1, axis=1)
    scores = np.tile(np.arange(8, 0, -1.0), (N, 1))
    models: dict[str, Any] = {"cut": (labels[:, :4], scores[:, :4]), "full": (labels, scores)}
    if form == "matrix":
        for name, (ids, values) in models.items():
            matrix = np.zeros(truth.shape)
            np.put_along_axis(matrix, ids, values, axis=1)
            models[name] = sp.csr_array(matrix)
    return {"models": models, "y_true": truth, "label_groups": ["frequent"] * 12 + ["rare"] * 12}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("form", ["lists", "matrix"])
def test_no_model_is_better_than_itself_with_shorter_lists(form: str, test: str) -> None:
    measures = ["p@1", "ndcg@1", "one_error", "map@all", "lrap", "auc.micro"]
    comparison = compare(**short_lists(form), metrics=measures, test=test)
    for one in comparison.differences:
        if one.kind == "groups":
            assert (math.isnan(one.p_value), one.better) == (True, None)
            assert one.value != 0
        if one.kind == "shares":
            assert (one.value, one.better) == (0, None) or one.name == "map@all"
            assert (one.p_value == 1) == (test == "t" and one.spec.k is not None)
    untested = f"{', '.join(measures)} within groups frequent, rare"
    shares = "; shares of groups are tested for p@1, ndcg@1" * (test == "t")
    assert any(f"{untested}{shares}; if none of them was cut" in note for note in comparison.notes)
    few = "lists hold few labels of a group (frequent 0.5 of 1, rare 0.5 of 1 in"
    assert any(few in note for note in comparison.notes)


def test_no_value_within_groups_is_marked_for_longer_lists() -> None:
    arguments = short_lists()
    arguments["metrics"] = ["p@1", "p@4", "map@all"]
    reports = {m: evaluate(y_score=s, **arguments) for m, s in arguments.pop("models").items()}
    for table in Comparison(reports).tables()[1:]:
        assert {cell.tail for row in table.rows[1:] for cell in row[1:]} == {"other"}


def test_equally_short_lists_are_tested_within_groups() -> None:
    arguments = short_lists()
    labels, scores = arguments["models"]["cut"]
    models = {"a": (labels, scores), "b": (labels[:, ::-1].copy(), scores)}
    comparison = compare(**arguments | {"models": models}, metrics="p@1")
    assert [one.better for one in comparison.differences if one.kind == "groups"] == ["a", "a"]
