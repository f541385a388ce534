"""Comparisons within groups of labels and of rows: their differences, and one correction of all p-values."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.comparing.test_differences import MEASURES, MODELS, TRUTH, TWO, L, N, Q, compared
from xmleval import Comparison, compare, evaluate
from xmleval.comparing.differences import TESTS

TOPICS = ["rare" if label < 4 else "common" for label in range(L)]
LANGUAGES = np.where(np.arange(N) % 3, "en", "de")


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_groups_of_rows_are_compared_as_their_rows_alone(test: str) -> None:
    found = compared(row_groups=LANGUAGES, test=test)
    for name, own in found.row_groups.items():
        rows = np.equal(LANGUAGES, name)
        alone = compare(
            {model: scores[rows] for model, scores in MODELS.items()}, TRUTH[rows], metrics=MEASURES,
            test=test, **Q,
        )  # fmt: skip
        for one, other in zip(own.differences, alone.differences, strict=True):
            assert (one.name, one.a, one.b, one.value, one.outcomes) == (*other[:4], other.outcomes)
            if test != "t":  # whose folds depend on the numbers of rows
                np.testing.assert_array_equal(one.p_value, other.p_value)


def test_differences_within_groups_are_those_of_their_reports() -> None:
    groups: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}
    found = compared(**groups)
    reports = {
        m: evaluate(TRUTH, s, metrics=MEASURES, confidence=0.95, **groups, **Q) for m, s in MODELS.items()
    }
    for kind in ("groups", "row_groups"):
        for name, own in getattr(found, kind).items():
            for one in own.differences:
                a, b = (getattr(reports[model], kind)[name] for model in (one.a, one.b))
                assert one.value == a[one.name] - b[one.name]
                if one.estimate:
                    without = a.results.replicates[one.name] - b.results.replicates[one.name]
                    n = without.size
                    error = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
                    np.testing.assert_allclose(one.estimate.standard_error, error, rtol=1e-9)
    assert found.groups["rare"].difference("P@1", "good", "fair").a == "good"
    with pytest.raises(KeyError, match="no group 'tail'; there are 'rare', 'common'"):
        found.groups["tail"]


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_groups_are_corrected_with_the_whole(test: str) -> None:
    plain = compared(test=test)
    found = compared(label_groups=TOPICS, row_groups=LANGUAGES, test=test)
    parts = [found, *found.groups.values(), *found.row_groups.values()]
    every = [one for own in parts for one in own.differences]
    known = [one for one in every if not math.isnan(one.p_value)]
    order = sorted(known, key=lambda one: one.p_value)
    least = 0.0
    for rank, one in enumerate(order):
        least = max(least, one.p_value * (len(order) - rank))
        assert one.corrected_p == min(1.0, least)
        assert (one.better is not None) == (one.corrected_p < 0.05)
    assert {own.n_tests for own in parts} == {len(known)}
    assert [one.p_value for one in found.differences if one in known] == [
        one.p_value for one in plain.differences if not math.isnan(one.p_value)
    ]
    told = f"Holm over {len(known)} tests, those within groups included"
    assert all(told in text for text in (str(found), found.to_markdown(), found.to_latex()))
    assert ("within groups of labels, whose values by row are not kept" in str(found)) == (test != "t")


def test_every_form_has_the_differences_within_groups() -> None:
    found = compared(TWO, metrics=["p@1", "f1.macro@3"], label_groups=TOPICS, row_groups=LANGUAGES)
    names = ["rare", "common", "de", "en"]
    held = json.loads(found.to_json())["comparison"]
    of_groups = {**held["groups"], **held["row_groups"]}
    lines = [line.split(",") for line in found.to_csv().splitlines()]
    assert lines[0][-2:] == ["group_of", "group"]
    assert [line[-2:] for line in lines[1::2]] == [
        ["", ""], *(["labels", name] for name in found.groups), *(["rows", name] for name in found.row_groups)
    ]  # fmt: skip
    for name in names:
        one = (found.groups if name in found.groups else found.row_groups)[name].differences[0]
        assert of_groups[name]["differences"][0]["difference"] == one.value
        assert one.estimate is not None
        told = f"{one.value:+.4f} ±{one.estimate.half_width:.4f}"
        assert told in str(found)
        assert told in found.to_markdown()
        assert told.replace("±", "\\textpm{}") in found.to_latex()
    assert "good - fair within groups of labels" in str(found)
    assert "rare, P@1" in str(found)
    assert max(map(len, found.to_text(80).splitlines())) <= 80


def test_seeds_are_averaged_within_groups() -> None:
    seeds = {name: [MODELS[name], MODELS[name][:, ::-1].copy()] for name in TWO}
    found = compare(seeds, TRUTH, metrics=["p@1"], seeds=True, label_groups=TOPICS, row_groups=LANGUAGES)
    each = [
        compare({n: s[i] for n, s in seeds.items()}, TRUTH, metrics=["p@1"], label_groups=TOPICS,
                row_groups=LANGUAGES)
        for i in range(2)
    ]  # fmt: skip
    for kind, name in (("groups", "rare"), ("row_groups", "de")):
        values = [getattr(one, kind)[name].differences[0].value for one in each]
        assert getattr(found, kind)[name].differences[0].value == pytest.approx(np.mean(values))


def cut_lists(form: str) -> dict[str, Any]:
    """Lists of one model, cut at 4 and at 8 labels; half of the short ones have none of a group."""
    rng = np.random.default_rng(0)
    frequent, rare = (first + np.argsort(rng.random((N, 12)), axis=1)[:, :4] for first in (0, 12))
    turn = np.arange(N)[:, None] % 2 == 0
    labels = np.hstack([np.where(turn, frequent, rare), np.where(turn, rare, frequent)])
    truth = np.zeros((N, 24), int)
    for own in (frequent, rare):
        np.put_along_axis(truth, own[:, :1], 1, axis=1)
    scores = np.tile(np.arange(8, 0, -1.0), (N, 1))
    models: dict[str, Any] = {"cut": (labels[:, :4], scores[:, :4]), "full": (labels, scores)}
    if form == "matrix":
        rows = np.arange(N).repeat(8)
        full = sp.csr_array((scores.ravel(), (rows, labels.ravel())), shape=truth.shape)
        cut = full.copy()
        cut.data[cut.data <= 4] = 0
        cut.eliminate_zeros()
        models = {"cut": cut, "full": full}
    if form == "dicts":
        named = [(own.tolist(), values.tolist()) for own, values in models.values()]
        models = {
            name: {
                str(row): dict(zip(map(str, own), values, strict=True))
                for row, (own, values) in enumerate(zip(*lists, strict=True))
            }
            for name, lists in zip(models, named, strict=True)
        }
        relevant = {str(row): [str(label) for label in np.flatnonzero(own)] for row, own in enumerate(truth)}
        groups: Any = {str(label): "frequent" if label < 12 else "rare" for label in range(24)}
        return {"models": models, "y_true": relevant, "label_groups": groups}
    return {"models": models, "y_true": truth, "label_groups": ["frequent"] * 12 + ["rare"] * 12}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("form", ["lists", "matrix", "dicts"])
def test_no_model_is_better_than_itself_with_shorter_lists(form: str, test: str) -> None:
    measures = ["p@1", "ndcg@1", "one_error", "map@all", "lrap", "auc.micro"]
    found = compare(**cut_lists(form), metrics=measures, test=test)
    for name in ("frequent", "rare"):
        for one in found.groups[name].differences:
            assert math.isnan(one.p_value)
            assert one.better is None
            assert one.value != 0
        told = f"group {name}: lists hold different numbers of labels a row (cut 2, full 4), so that models "
        assert (
            f"{told}whose lists differ are not tested for p@1, ndcg@1, one_error, map@all, lrap, auc.micro"
            in found.notes
        )
    assert any(
        "lists hold few labels of a group (frequent 0.5 of 1, rare 0.5 of 1 in" in n for n in found.notes
    )


def test_one_row_without_labels_of_a_group_suffices() -> None:
    """Both lists lack labels of a group, the long ones in one row fewer."""
    labels = np.tile(np.arange(12), (N, 1))
    labels[0] = labels[0, ::-1]
    labels[1] = np.roll(labels[1], 4)
    scores = np.tile(np.arange(8, 0, -1.0), (N, 1))
    models = {"cut": (labels[:, :4], scores[:, :4]), "long": (labels[:, :8], scores)}
    found = compare(models, np.ones((N, 12), int), metrics="p@1", label_groups=["a"] * 4 + ["b"] * 8)
    depths = [report.results.short["p@1"] for report in found.groups["a"].reports.values()]
    assert depths == [1 - 2 / N, 1 - 1 / N]
    assert math.isnan(found.groups["a"].differences[0].p_value)


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_no_star_within_groups_for_longer_lists(confidence: Any) -> None:
    given = cut_lists("lists")
    models = given.pop("models")
    truth = given.pop("y_true")
    reports = {
        m: evaluate(truth, s, metrics=["p@1", "p@4", "map@all"], confidence=confidence, **given)
        for m, s in models.items()
    }
    for table in Comparison(reports).part_tables():
        assert {cell.tail for row in table.rows[1:] for cell in row[1:]} == {"other"}


def test_seeds_of_which_some_lists_are_cut_are_not_tested_within_groups() -> None:
    given = cut_lists("lists")
    models = given.pop("models")
    seeds = {"a": [models["cut"], models["full"]], "b": [models["full"], models["full"]]}
    found = compare(seeds, given.pop("y_true"), metrics="p@1", seeds=True, **given)
    assert all(math.isnan(own.differences[0].p_value) for own in found.groups.values())


def test_equally_short_lists_are_tested_within_groups() -> None:
    given = cut_lists("lists")
    labels, scores = given["models"]["cut"]
    given["models"] = {"a": (labels, scores), "b": (labels[:, ::-1].copy(), scores)}
    found = compare(**given, metrics="p@1", test="t")
    assert [own.differences[0].better for own in found.groups.values()] == ["a", "a"]


def test_sets_decided_over_all_labels_are_tested_within_groups() -> None:
    order = {m: (np.argsort(-scores, axis=1).astype(np.int32)[:, :2], None) for m, scores in TWO.items()}
    found = compare(order, TRUTH, metrics=["p@2", "f1.macro@2"], label_groups=np.arange(L) % 2)
    for own in found.groups.values():
        assert [math.isnan(one.p_value) for one in own.differences] == [True, False]
    assert "note: group 0: lists hold different numbers of labels a row" in str(found)
