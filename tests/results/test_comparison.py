"""Comparisons: seeds of models, letters, differences by name, and models that are refused."""

import csv
import io
import json
import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.results.models import LANGUAGES, MODELS, TOPICS, TRUTH, TWO
from xmleval import Comparison, Report, compare, evaluate

ROWS = slice(1, 41)
SEEDS = {"a": ("good", "fair"), "b": ("same", "fair")}


def report_of(model: str, metrics: Any = ("p@1", "ranking_loss"), **options: Any) -> Report:
    report: Report = evaluate(TRUTH[ROWS], MODELS[model][ROWS], metrics=metrics, **options)
    return report


def of_seeds(**options: Any) -> Comparison:
    """Return two models, each with the reports of two seeds, without a test."""
    reports = {}
    for name, models in SEEDS.items():
        reports[name] = [report_of(model, **options) for model in models]
    return Comparison(reports)


def scores_of_seeds() -> dict[str, list[Any]]:
    return {name: [MODELS[model][ROWS] for model in models] for name, models in SEEDS.items()}


def test_csv_has_the_measures_that_the_table_shows() -> None:
    reports = {"a": report_of("good"), "b": report_of("fair", ["ranking_loss"])}
    comparison = Comparison(reports)
    assert "P@1" not in str(comparison)
    lines = [*csv.DictReader(io.StringIO(comparison.to_csv()))]
    assert [line["name"] for line in lines] == ["ranking_loss"]


def test_seeds_have_a_table_of_means_and_deviations() -> None:
    comparison = of_seeds()
    table = comparison.tables()[-1]
    assert table.caption == "mean and standard deviation over (n) seeds, which ± does not cover"
    assert [cell.text for cell in table.rows[0][1:]] == ["a (2)", "b (2)"]
    for row, name in zip(table.rows[1:], ("p@1", "ranking_loss"), strict=True):
        for cell, (model, seeds) in zip(row[1:], comparison.seeds.items(), strict=True):
            values = [seed[name] for seed in seeds]
            mean = statistics.fmean(values)
            assert comparison[model][name] == pytest.approx(mean, rel=1e-15)
            assert cell.text == f"{mean:.4f} sd {statistics.stdev(values):.4f}"
    latex = comparison.to_latex()
    for row in table.rows[1:]:
        assert all(cell.text in latex for cell in row[1:])


def test_seeds_may_differ_in_number() -> None:
    reports = {"a": [report_of("good")], "b": [report_of("same"), report_of("fair")]}
    comparison = Comparison(reports)
    header, *rows = comparison.tables()[-1].rows
    assert [cell.text for cell in header[1:]] == ["a (1)", "b (2)"]
    assert rows[0][1].text == f"{report_of('good')['p@1']:.4f} sd undefined"
    single = Comparison({name: seeds[:1] for name, seeds in reports.items()})
    assert len(single.tables()) == 1
    assert single.to_json() == Comparison({"a": reports["a"][0], "b": reports["b"][0]}).to_json()


def test_seeds_are_saved_and_read() -> None:
    comparison = of_seeds(row_groups=LANGUAGES[ROWS])
    contents = comparison.to_dict()
    saved = {name: [seed["values"] for seed in seeds] for name, seeds in contents["seeds"].items()}
    assert saved == {
        name: [dict(seed) for seed in seeds] for name, seeds in comparison.seeds.items()
    }


@pytest.mark.parametrize("is_tested", [False, True])
def test_load_reads_the_reports_of_seeds(is_tested: bool, tmp_path: Path) -> None:
    written = of_seeds()
    if is_tested:
        written = compare(TRUTH[ROWS], scores_of_seeds(), metrics="p@1", seeds=True)
    path = tmp_path / "c.json"
    path.write_text(written.to_json())
    read = Comparison.load(path)
    assert str(read) == str(written)
    assert read.to_json() == written.to_json()
    assert {name: len(seeds) for name, seeds in read.seeds.items()} == {"a": 2, "b": 2}
    for name, seeds in written.seeds.items():
        assert [dict(seed) for seed in read.seeds[name]] == [dict(seed) for seed in seeds]


@pytest.mark.parametrize("kind", ["groups", "row_groups"])
def test_groups_of_seeds_have_the_mean_values_of_the_groups(kind: str) -> None:
    options: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES[ROWS]}
    comparison = of_seeds(metrics=["p@1", "f1.macro@3"], **options)
    for name, seeds in comparison.seeds.items():
        means = getattr(comparison[name], kind)
        assert [*means] == [*getattr(seeds[0], kind)]
        for group, mean in means.items():
            parts = [getattr(seed, kind)[group] for seed in seeds]
            assert (mean.n_rows, mean.n_labels) == (parts[0].n_rows, parts[0].n_labels)
            expected = {
                measure: statistics.fmean(part[measure] for part in parts) for measure in parts[0]
            }
            assert dict(mean) == pytest.approx(expected, rel=1e-15)


def test_mean_of_seeds_has_the_means_of_rows_labels_and_ends() -> None:
    truth = TRUTH[ROWS]
    rounded = {name: np.round(MODELS[name][ROWS]) for name in ("good", "fair")}
    options: dict[str, Any] = {
        "metrics": ["p@1", "r@3", "f1.macro@2", "auc.macro", "lrap"],
        "conventions": "ties=band",
        "per_row": True,
        "per_label": True,
        "confidence": 0.9,
    }
    seeds = [evaluate(truth, scores, **options) for scores in rounded.values()]
    mean = Comparison({"a": seeds, "b": seeds[0]})["a"]

    def mean_of(columns: list[Any]) -> Any:
        return pytest.approx(np.mean(columns, axis=0), rel=1e-15, nan_ok=True)

    for name, value in mean.items():
        assert value == mean_of([seed[name] for seed in seeds])
    for name, values in mean.per_row().items():
        assert values == mean_of([seed.per_row()[name] for seed in seeds])
    by_label = [seed.per_label() for seed in seeds]
    columns = mean.per_label()
    assert {"support", "f1@2", "auc"} <= columns.keys()
    for name, values in columns.items():
        assert values == mean_of([of_seed[name] for of_seed in by_label])
    assert mean.tied_rows
    for name, share in mean.tied_rows.items():
        assert share == max(seed.tied_rows.get(name, 0.0) for seed in seeds)
    assert "threshold" in by_label[0].keys() - columns.keys()
    members = [seed.to_dict() for seed in seeds]
    intervals = mean.to_dict()["intervals"]
    assert {"p@1", "r@3"} <= intervals.keys()
    for name, ends in intervals.items():
        assert ends == mean_of([each["intervals"][name] for each in members])


def test_groups_that_some_seeds_lack_are_left_out() -> None:
    both = report_of("good", label_groups=TOPICS)
    renamed = ["rare" if name == "rare" else "others" for name in TOPICS]
    other = report_of("fair", label_groups=renamed)
    comparison = Comparison({"a": [both, other], "b": [both, both]})
    assert [*comparison["a"].groups] == ["rare"]
    assert {*comparison["b"].groups} == {"rare", "common"}


def test_mean_of_seeds_tells_of_short_lists() -> None:
    """A seed lists two labels a row, another three; together they are short of five."""
    truth = np.eye(6, dtype=int)
    lists = {n: np.tile(np.arange(n), (6, 1)) for n in (2, 3)}
    reports = [evaluate(truth, (labels, None), metrics="p@5") for labels in lists.values()]
    comparison = Comparison({"a": reports, "b": reports[:1]})
    (note,) = [note for note in comparison.notes if "different numbers of labels" in note]
    assert "(a 2.5, b 2)" in note


@pytest.mark.parametrize(
    ("n_models", "first", "last"),
    [
        (2, "a", "b"),
        (26, "a", "z"),
        (27, "1", "27"),
    ],
)
def test_letters_become_numbers_for_more_models_than_letters(
    n_models: int, first: str, last: str
) -> None:
    truth = TRUTH[ROWS]
    models = {f"m{n}": truth * 1.0 for n in range(n_models - 1)}
    models["bad"] = 1.0 - truth
    options: dict[str, Any] = {"metrics": "p@1", "test": "paired_t", "baseline": "bad"}
    (table,) = compare({"x": (truth, models)}, **options).tables()
    assert table.rows[1][1].text == f"{first}: m0"
    assert table.rows[-1][1].text == f"{last}: bad"
    assert {cell.above for _, _, cell in table.rows[1:-1]} == {last}
    assert table.rows[-1][2].above == ""


def test_difference_is_looked_up_by_measure_models_and_group() -> None:
    options: dict[str, Any] = {"label_groups": TOPICS, "row_groups": LANGUAGES}
    comparison = compare(TRUTH, MODELS, metrics=["p@1", "r@3"], baseline="same", **options)
    found = comparison.difference("P@1", "good", "same", "rare", "shares")
    assert (found.name, found.kind, found.group) == ("p@1", "shares", "rare")
    pairs = "compared are good - same, fair - same"
    refused: list[tuple[tuple[Any, ...], str]] = [
        (("p@1", "same", "good"), f"no difference of 'p@1' between 'same' and 'good'; {pairs}"),
        (("p@5", "good", "same"), f"no difference of 'p@5' between 'good' and 'same'; {pairs}"),
        (
            ("p@1", "good", "same", "fr"),
            "no difference of 'p@1' between 'good' and 'same' within group 'fr'; "
            f"groups are 'rare', 'common', 'de', 'en'; {pairs}",
        ),
        (
            ("p@1", "good", "same", "rare", "row_groups"),
            "no difference of 'p@1' between 'good' and 'same' within group 'rare'; "
            f"groups are 'de', 'en'; {pairs}",
        ),
    ]
    for arguments, message in refused:
        with pytest.raises(KeyError) as caught:
            comparison.difference(*arguments)
        assert caught.value.args[0] == message
    alone = compare(TRUTH[ROWS], {name: each[ROWS] for name, each in TWO.items()}, metrics="p@1")
    with pytest.raises(KeyError, match="within group 'rare'; groups are none; compared are good"):
        alone.difference("p@1", "good", "fair", "rare")


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (
            {"a": [TRUTH], "b": [TRUTH, TRUTH]},
            {"y_pred": {"a": [TRUTH], "b": [TRUTH]}},
            "y_pred: 'b' has sets of 1 seeds, but scores of 2",
        ),
        ({"a": [], "b": [TRUTH]}, {}, "models: 'a' is not a list with the scores of each seed"),
        ({"a": [TRUTH], "b": TRUTH}, {}, "models: 'b' is not a list with the scores of each seed"),
        ({"a": [TRUTH]}, {}, "models: 1 given; expected two or more to compare"),
        ({"a": [TRUTH], "b": None}, {}, "models: 'b' is None; expected its scores or sets"),
        ({"a": [TRUTH], 3: [TRUTH]}, {}, "models: 3 is not a name"),
    ],
)
def test_compare_refuses_seeds_by_model(models: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        compare(TRUTH, models, metrics="p@1", seeds=True, **options)


def test_compare_takes_scores_and_sets_of_seeds_together() -> None:
    good = TRUTH[ROWS]
    fair = TRUTH[::-1][ROWS]
    scores = {"a": [good * 1.0, fair * 1.0], "b": [fair * 1.0, fair * 1.0]}
    sets = {"a": [fair, good], "b": [fair, fair]}
    both = compare(TRUTH[ROWS], scores, y_pred=sets, metrics=["p@1", "hamming_loss"], seeds=True)
    for model, seeds in both.seeds.items():
        for seed, score, labels in zip(seeds, scores[model], sets[model], strict=True):
            assert seed["p@1"] == evaluate(TRUTH[ROWS], score, metrics="p@1")["p@1"]
            alone = evaluate(TRUTH[ROWS], y_pred=labels, metrics="hamming_loss")
            assert seed["hamming_loss"] == alone["hamming_loss"]


def test_comparison_refuses_no_reports_and_files_of_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no model given; expected the reports of one or more"):
        Comparison({})
    path = tmp_path / "r.json"
    path.write_text(report_of("good").to_json())
    message = f"{path}: has one report, without a name; give several models"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Comparison.load(path)
    path.write_text(of_seeds().to_json())
    message = f"{path}: has the reports a, b; give a file of one"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Report.load(path)


def test_load_leaves_out_differences_by_measures_that_it_does_not_know(tmp_path: Path) -> None:
    written = compare(TRUTH[ROWS], {name: each[ROWS] for name, each in TWO.items()}, metrics="p")
    contents = written.to_dict()
    first = contents["comparison"]["differences"][0]
    contents["comparison"]["differences"].append({**first, "name": "later@1"})
    path = tmp_path / "c.json"
    path.write_text(json.dumps(contents))
    assert Comparison.load(path).differences == written.differences
    contents["comparison"] = {"differences": []}
    path.write_text(json.dumps(contents))
    with pytest.raises(ValueError, match=f"^{path}: 'comparison' is not as `xmleval compare`"):
        Comparison.load(path)


@pytest.mark.parametrize("argument", ["sample_weight", "clusters"])
@pytest.mark.parametrize("test", ["t", "randomisation", "paired_t", "wilcoxon"])
def test_compare_refuses_tests_of_independent_rows_with_weights_or_clusters(
    test: str, argument: str
) -> None:
    n = 40
    models = {name: each[ROWS] for name, each in TWO.items()}
    options: dict[str, Any] = {argument: np.arange(n) % 5 + 1, "metrics": "p@1", "test": test}
    if test in ("t", "randomisation"):
        assert compare(TRUTH[ROWS], models, **options).test == test
        return
    message = (
        f"test: '{test}' needs independent rows of equal weight, but {argument}= says otherwise; "
        "give 't' or 'randomisation'"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        compare(TRUTH[ROWS], models, **options)


def test_randomisation_sums_weighted_differences_by_cluster() -> None:
    right = np.eye(8)
    wrong = right[::-1]
    is_a_right = np.array([1, 0, 1, 0, 0, 0, 1, 0], bool)
    is_b_right = np.array([0, 1, 0, 0, 1, 0, 1, 0], bool)
    models = {
        "a": np.where(is_a_right[:, None], right, wrong),
        "b": np.where(is_b_right[:, None], right, wrong),
    }
    weight: dict[str, Any] = {"sample_weight": [3, 1, 2, 9, 1, 9, 9, 9]}
    clusters: dict[str, Any] = {"clusters": [*"wwxxyyzz"]}
    expected: list[tuple[dict[str, Any], float]] = [
        (weight | clusters, 4 / 8),  # of 2, 2 and -1
        (weight, 10 / 16),  # of 3, -1, 2 and -1
        (clusters, 1.0),  # of 0, 1 and -1
        ({}, 1.0),  # of 1, -1, 1 and -1
    ]
    options: dict[str, Any] = {"metrics": "p@1", "test": "randomisation"}
    for arguments, p_value in expected:
        (difference,) = compare(np.eye(8), models, **arguments, **options).differences
        assert difference.p_value == p_value
        assert difference.outcomes == (2, 4, 2)


def test_page_of_seeds_has_changed_rows_without_lists() -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    options: dict[str, Any] = {"metrics": ["p@1"], "seeds": True, "worst": 2}
    page = compare(TRUTH[ROWS], scores_of_seeds(), **options).to_html()
    assert "<h2>Rows that changed most</h2>" in page
    assert "list of" not in page
    one = {name: seeds[0] for name, seeds in scores_of_seeds().items()}
    assert "list of a" in compare(TRUTH[ROWS], one, metrics=["p@1"], worst=2).to_html()


def test_title_has_the_numbers_of_labels_of_models_that_differ_in_them() -> None:
    reports = {
        f"{name}.npz": evaluate(np.eye(3, n), np.eye(3, n) + 1, metrics=["p@1"])
        for name, n in (("ten", 10), ("four", 4))
    }
    title = "3 rows x 10 (ten), 4 (four) labels"
    assert str(Comparison(reports)).splitlines()[0] == f"{title}; * best"
    assert f"<Comparison: {title}, P@1 of ten 1.0000, four 1.0000>" == repr(Comparison(reports))


def test_json_has_the_sizes_of_groups_of_rows_and_of_labels() -> None:
    groups: dict[str, Any] = {"row_groups": LANGUAGES[ROWS], "label_groups": TOPICS}
    models = {name: scores[ROWS] for name, scores in TWO.items()}
    compared = compare(TRUTH[ROWS], models, metrics=["p@1"], **groups)
    members = compared.to_dict()["comparison"]
    for kind, names in (("row_groups", LANGUAGES[ROWS]), ("groups", TOPICS)):
        for name, part in members[kind].items():
            expected = getattr(compared["good"], kind)[name]
            assert (part["n_rows"], part["n_labels"]) == (expected.n_rows, expected.n_labels)
            size = part["n_rows" if kind == "row_groups" else "n_labels"]
            assert size == [*names].count(name)


def test_line_of_a_test_has_the_rows_of_the_measure_with_most() -> None:
    truth = TRUTH[ROWS].copy()
    truth[:10] = 0
    models = {name: scores[ROWS] for name, scores in TWO.items()}
    compared = compare(truth, models, metrics=["ranking_loss", "p@1"])
    n_rows = [difference.n_rows for difference in compared.differences]
    assert n_rows == [np.count_nonzero(truth.any(axis=1)), 40]
    assert compared.footnotes()[0].endswith("Holm over 2 tests, n = 40 rows")
    header, *rows = compared.tables()[1].rows
    place = [cell.text for cell in header].index("rows")
    assert [row[place].text for row in rows] == [str(n) for n in n_rows]
