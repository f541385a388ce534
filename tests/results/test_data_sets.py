"""One table over models and data sets: from truths and models, results, or files of these."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.results.models import LANGUAGES, MODELS, TRUTH, TWO, Q, top
from tests.results.test_schema import follows
from xmleval import Comparison, Comparisons, Ranking, Rankings, compare, evaluate, rank
from xmleval.base.errors import InputError

HALVES = {"first": slice(0, 150), "second": slice(150, 400)}
METRICS = ["p@1", "ndcg@3", "ranking_loss"]


def models_on(rows: slice) -> dict[str, Any]:
    return {name: scores[rows] for name, scores in MODELS.items()}


def pairs() -> dict[str, Any]:
    return {name: (TRUTH[rows], models_on(rows)) for name, rows in HALVES.items()}


def compared_alone(**options: Any) -> dict[str, Comparison]:
    return {name: compare(TRUTH[rows], models_on(rows), **options) for name, rows in HALVES.items()}


@pytest.fixture(scope="module")
def both() -> Comparisons:
    result: Comparisons = compare(pairs(), metrics=METRICS)
    return result


def test_each_data_set_is_compared_as_alone(both: Comparisons) -> None:
    for name, alone in compared_alone(metrics=METRICS).items():
        assert both[name].to_dict() == alone.to_dict()
        assert str(both[name]) == str(alone)
    assert [*both] == [*HALVES]
    assert both.models == [*MODELS]


def test_results_and_their_files_give_the_same_table(
    both: Comparisons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    alone = compared_alone(metrics=METRICS)
    for name, comparison in alone.items():
        Path(f"{name}.json").write_text(comparison.to_json())
    Path("all.json").write_text(both.to_json())
    others: list[Any] = [alone, {name: f"{name}.json" for name in alone}, "all.json"]
    for other in others:
        table = compare(other)
        assert str(table) == str(both)
        assert table.to_latex() == both.to_latex()
        assert table.to_csv() == both.to_csv()
        assert table.to_json() == both.to_json()


def test_values_marks_and_letters_are_those_of_each_data_set(both: Comparisons) -> None:
    (table,) = both.tables()
    rows = iter([row for row in table.rows[1:] if row])
    for comparison in both.values():
        for model in MODELS:
            cells = next(rows)
            assert cells[1].text.endswith(f": {model}")
            for cell, name in zip(cells[2:], METRICS, strict=True):
                values = {other: report[name] for other, report in comparison.items()}
                best = min(values.values()) if name == "ranking_loss" else max(values.values())
                assert (cell.tail == "first") == (values[model] == best)
                beaten = {
                    difference.a if difference.better == difference.b else difference.b
                    for difference in comparison.differences
                    if difference.name == name and difference.better == model
                }
                assert {*cell.above} == {both._letters[other] for other in beaten}
    assert next(rows, None) is None


def test_tables_have_a_row_for_each_model_if_asked(both: Comparisons) -> None:
    (by_data_set,) = both.tables()
    (by_model,) = both.tables(rows="models")
    assert by_model.spans == [(name, len(METRICS)) for name in HALVES]
    lines = [row[2:] for row in by_data_set.rows[1:] if row]
    n = len(MODELS)
    for place, row in enumerate(by_model.rows[1:]):
        assert [*row[1:]] == [*lines[place], *lines[n + place]]
    latex = both.to_latex(rows="models")
    assert r" & \multicolumn{3}{c}{first} & \multicolumn{3}{c}{second} \\" in latex
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-7}" in latex
    with pytest.raises(ValueError, match="rows: 'measures' have no rows here; "):
        both.to_text(rows="measures")


def test_csv_has_all_values_by_data_set_and_model(both: Comparisons) -> None:
    lines = [*csv.DictReader(io.StringIO(both.to_csv()))]
    assert [(line["data_set"], line["model"]) for line in lines] == [
        (name, model) for name in HALVES for model in MODELS
    ]
    for line in lines:
        report = both[line["data_set"]][line["model"]]
        for name in METRICS:
            assert float(line[name]) == report[name]
            assert float(line[f"{name} standard_error"]) == report.estimates[name].standard_error


def test_json_follows_the_schema(both: Comparisons) -> None:
    for data_set in json.loads(both.to_json())["data_sets"].values():
        follows(json.dumps(data_set))


def test_a_data_set_may_lack_models_and_have_own_options() -> None:
    rows = HALVES["second"]
    few = {name: scores for name, scores in models_on(rows).items() if name != "fair"}
    data_sets: Any = {
        "first": (TRUTH[HALVES["first"]], models_on(HALVES["first"]), Q),
        "second": (TRUTH[rows], dict(reversed(few.items())), {**Q, "conventions": "unlisted=-9"}),
    }
    both = compare(data_sets, metrics=["psp@3"])
    assert both.models == [*MODELS]
    (table,) = both.tables()
    assert [row[1].text for row in table.rows if row] == [
        "model",
        "a: good",
        "b: fair",
        "c: same",
        "a: good",
        "c: same",
    ]
    assert any(line.startswith("second: ties=order unlisted=-9") for line in both.footnotes())


def test_measures_are_chosen_among_results(both: Comparisons) -> None:
    chosen = compare(dict(both), metrics=["p@1", "ranking_loss"])
    assert [cell.text for cell in chosen.tables()[0].rows[0]] == [
        "data set",
        "model",
        "P@1",
        "Ranking loss",
    ]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"metrics": "p@5"}, "metrics: of data set 'first': "),
        ({"test": "wilcoxon"}, "test: is for truths and models, but these"),
        ({"conventions": "sklearn"}, "conventions: is for truths and"),
    ]
    for options, message in refused:
        with pytest.raises(InputError) as caught:
            compare(dict(both), **options)
        argument, reason = caught.value.args
        assert f"{argument}: {reason}".startswith(message)


@pytest.mark.parametrize(
    ("data_sets", "message"),
    [
        ({"a": (TRUTH,)}, "of data set 'a': a tuple of 1; expected (y_true, models)"),
        ({"a": 3}, "of data set 'a': int is not a data set; expected (y_true, models)"),
        ({"a": (TRUTH, {"m": TRUTH})}, "of data set 'a': 1 given; expected two or more"),
        ({3: (TRUTH, MODELS)}, "3 is not the name of a data set"),
        ({}, "no data set given; expected one or more"),
    ],
)
def test_what_is_no_data_set_is_refused(data_sets: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        compare(data_sets)
    assert message in str(caught.value.args[-1])


def test_rank_evaluates_data_sets_and_ranks_by_several_measures(both: Comparisons) -> None:
    by_values = {
        name: {
            model: dict(evaluate(TRUTH[rows], scores[rows], metrics=METRICS))
            for model, scores in MODELS.items()
        }
        for name, rows in HALVES.items()
    }
    expected = rank(by_values, "p@1")
    ranking: Ranking = rank(pairs(), "p@1")
    assert (ranking.values, ranking.groups) == (expected.values, expected.groups)
    rankings: Rankings = rank(both, METRICS)
    assert [*rankings] == METRICS
    assert rankings["P@1"].average_ranks == expected.average_ranks
    (table,) = rankings.tables()
    for row in table.rows[1:-2]:
        for cell, ranking in zip(row[1:], rankings.values(), strict=True):
            ranks = ranking.average_ranks
            model = row[0].text
            assert float(cell.text) == pytest.approx(ranks[model], abs=1e-4)
            assert (cell.tail == "first") == (ranks[model] == min(ranks.values()))
            shared = [model in group for group in ranking.groups]
            assert len(cell.above) == sum(shared)
    (turned,) = rankings.tables(rows="measures")
    assert turned.rows[0][0].text == "measure"


def test_rank_refuses_options_of_an_evaluation_with_results(both: Comparisons) -> None:
    with pytest.raises(ValueError, match="is for truths and models, but these results"):
        rank(both, "p@1", conventions="sklearn")
    with pytest.raises(TypeError, match="convention"):
        rank(pairs(), "p@1", convention="sklearn")


def test_letters_of_ranks_are_of_pairs_that_were_compared() -> None:
    values = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5}
    by_model = {model: {"p@1": value, "p@3": value} for model, value in values.items()}
    results = {f"d{n}": by_model for n in range(8)}
    all_pairs = rank(results, ["p@1", "p@3"])
    with_control = rank(results, ["p@1", "p@3"], control="c")
    assert any(cell.above for row in all_pairs.tables()[0].rows for cell in row)
    assert not any(cell.above for row in with_control.tables()[0].rows for cell in row)
    assert "letters" in str(all_pairs)
    assert "letters" not in str(with_control) + with_control.to_latex()
    with pytest.raises(ValueError, match="percent: is for values; this table has average ranks"):
        all_pairs.to_latex(percent=True)


def test_seeds_labels_and_groups_are_shown_for_each_data_set() -> None:
    seeds = {"a": [MODELS["good"], MODELS["fair"]], "b": [MODELS["same"], MODELS["fair"]]}
    both = compare({"one": (TRUTH, seeds), "two": (TRUTH, seeds)}, metrics="p@1", seeds=True)
    captions = [table.caption for table in both.tables()]
    seed_caption = "mean and standard deviation over (n) seeds, which ± does not cover"
    assert captions[1:] == [f"one: {seed_caption}", f"two: {seed_caption}"]
    worst = compare(pairs(), metrics="p@1", worst=2)
    n_pairs = len(MODELS) * (len(MODELS) - 1) // 2
    assert len(worst.tables()) == 1 + len(HALVES) * n_pairs
    data_sets = {"one": (TRUTH, MODELS), "two": (TRUTH, MODELS)}
    grouped = compare(data_sets, metrics="p@1", row_groups=LANGUAGES)
    lines = [*csv.DictReader(io.StringIO(grouped.to_csv()))]
    assert {(line["group_of"], line["group"]) for line in lines} == {
        ("", ""),
        ("rows", "de"),
        ("rows", "en"),
    }
    for line in lines:
        report = grouped[line["data_set"]][line["model"]]
        if line["group"]:
            report = report.row_groups[line["group"]]
        assert float(line["p@1"]) == report["p@1"]


@pytest.mark.parametrize("call", [compare, rank])
@pytest.mark.parametrize("name", ["y_true", "models", "y_score", 3])
def test_inputs_among_the_options_of_a_data_set_are_refused(call: Any, name: Any) -> None:
    data_sets = pairs()
    data_sets["first"] = (*data_sets["first"], {name: TRUTH})
    with pytest.raises(ValueError) as refused:
        call(data_sets, metrics="p@1")
    message = str(refused.value)
    assert message.startswith(f"y_true: of data set 'first': {name!r} is not an option of")
    assert "\n" not in message


@pytest.mark.parametrize("call", [compare, rank])
def test_unknown_options_of_a_data_set_are_refused_by_its_name(call: Any) -> None:
    data_sets = pairs()
    data_sets["first"] = (*data_sets["first"], {"metricz": "p@1"})
    with pytest.raises(TypeError, match=r"^data set 'first': there is no option 'metricz'"):
        call(data_sets, metrics="p@1")


def test_data_set_is_looked_up_by_its_name(both: Comparisons) -> None:
    message = "no data set 'third'; there are 'first', 'second'"
    with pytest.raises(KeyError, match=message):
        both["third"]
    assert both.get("third") is None
    assert "third" not in both
    assert len(both) == len(HALVES)


def test_groups_have_tables_with_their_captions() -> None:
    data_sets = {
        "one": (TRUTH, TWO, {"row_groups": LANGUAGES}),
        "two": (TRUTH, TWO),
    }
    grouped = compare(data_sets, metrics="p@1")
    captions = [table.caption for table in grouped.tables()]
    assert captions == [
        "2 models on 2 data sets; * best",
        "groups of rows: de",
        "groups of rows: en",
    ]
    for table in grouped.tables()[1:]:
        assert [row[0].text for row in table.rows[1:] if row] == ["one", ""]
    by_model = grouped.tables(rows="models")
    assert [table.caption for table in by_model] == captions
    assert [table.spans for table in by_model] == [[("one", 1), ("two", 1)], *[[("one", 1)]] * 2]


def test_each_test_has_its_own_line_of_marks() -> None:
    data_sets: dict[str, Any] = {
        "one": compare(TRUTH, TWO, metrics="p@1"),
        "two": compare(TRUTH, TWO, metrics="p@1", confidence=0.9),
        "three": compare(TRUTH, TWO, metrics="p@1"),
    }
    both = compare(data_sets)
    mark = "letters: better than that model, p <"
    test = "Holm within each data set"
    lines = [line for line in both.footnotes() if mark in line]
    assert len(lines) == 2
    assert re.fullmatch(rf"one, three: {mark} 0\.05: .*, {test}", lines[0])
    assert re.fullmatch(rf"two: {mark} 0\.1: .*, {test}", lines[1])
    assert all(line.replace("<", r"\textless{}") in both.to_latex() for line in lines)
    del data_sets["two"]
    (line,) = [line for line in compare(data_sets).footnotes() if mark in line]
    assert line.startswith(mark)


def test_page_counts_on_how_many_data_sets_a_model_is_best() -> None:
    truth = TRUTH[1:30]
    good_and_bad = {"a": truth, "b": 1 - truth}
    bad_and_good = {"a": 1 - truth, "b": truth}

    def page_of(metrics: list[str]) -> str:
        comparisons = dict[str, Comparison]()
        for name, models in (("x", good_and_bad), ("y", bad_and_good), ("z", good_and_bad)):
            comparisons[name] = Comparison(
                {model: evaluate(truth, each, metrics=metrics) for model, each in models.items()}
            )
        return Comparisons(comparisons).to_html()

    sentence = "Of 3 data sets, each model is best by Ranking loss on: a 2, b 1."
    assert sentence in page_of(["label_cardinality", "ranking_loss"])
    assert "each model is best" not in page_of(["label_cardinality"])


def test_csv_has_bounds_of_the_data_sets_that_have_them() -> None:
    whole = MODELS["good"][:20]
    cut = evaluate(TRUTH[:20], top(whole, 3), metrics=["p@1", "lrap"], bounds=True)
    full = evaluate(TRUTH[:20], whole, metrics=["p@1", "lrap"])
    both = Comparisons({"x": Comparison({"a": cut, "b": full}), "y": Comparison({"a": full})})
    first, *others = csv.DictReader(io.StringIO(both.to_csv()))
    assert [*first] == [
        "data_set",
        "model",
        *("p@1", "p@1 lower", "p@1 upper"),
        *("lrap", "lrap lower", "lrap upper"),
    ]
    bounds = float(first["lrap lower"]), float(first["lrap upper"])
    assert bounds == cut.records()[1].bounds
    assert (first["p@1 lower"], first["p@1 upper"]) == ("", "")
    assert {line["lrap lower"] for line in others} == {""}
    assert [float(line["lrap"]) for line in others] == [full["lrap"]] * 2


def test_csv_names_the_models_that_a_value_is_better_than(both: Comparisons) -> None:
    n_better = 0
    for line in csv.DictReader(io.StringIO(both.to_csv())):
        for name in METRICS:
            beaten = [
                difference.b if difference.better == difference.a else difference.a
                for difference in both[line["data_set"]].differences
                if (difference.better, difference.name) == (line["model"], name)
            ]
            assert line[f"{name} better_than"] == "; ".join(beaten)
            n_better += len(beaten)
    assert n_better
    untested = Comparisons({"x": Comparison(dict(both["first"].reports))})
    assert "better_than" not in untested.to_csv()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, "results of schema 99, not "),
        ({"data_sets": {}}, "no data set given; expected one or more"),
    ],
    ids=str,
)
def test_load_refuses_other_files_of_data_sets(
    both: Comparisons, change: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**both.to_dict(), **change}))
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        Comparisons.load(path)
    assert str(path) in str(refused.value)


def test_load_names_a_comparison_of_one_data_set_after_its_file(tmp_path: Path) -> None:
    alone = compare(TRUTH, TWO, metrics="p@1")
    path = tmp_path / "wiki.json"
    path.write_text(alone.to_json())
    read = Comparisons.load(path)
    assert [*read] == ["wiki"]
    assert str(read["wiki"]) == str(alone)
    assert str(read) == str(compare({"wiki": alone}))
    path.write_text(evaluate(TRUTH, MODELS["good"], metrics="p@1").to_json())
    with pytest.raises(ValueError, match="has one report, without a name; give several models"):
        Comparisons.load(path)


def test_texts_with_a_row_for_each_model_have_all_models(both: Comparisons) -> None:
    text = both.to_text(rows="models").splitlines()
    markdown = both.to_markdown(rows="models").splitlines()
    (table,) = both.tables(rows="models")
    for name in HALVES:
        assert any(f"{name} P@1" in line for line in text[:4])
        assert any(f"{name} P@1" in line for line in markdown[:6])
    for row in table.rows[1:]:
        for lines in (text, markdown):
            (line,) = [line for line in lines if row[0].text in line]
            assert all(cell.text in line for cell in row)


def test_cutoffs_choose_among_results_with_names_of_measures_alone(both: Comparisons) -> None:
    chosen = compare(dict(both), metrics="p", k=1)
    assert [spec.name for spec in chosen["first"].specs] == ["p@1"]
    with pytest.raises(InputError) as caught:
        compare(dict(both), k=1)
    assert caught.value.args == ("k", "has no effect without metrics; give metrics, too")


def test_options_of_a_data_set_count_before_those_of_all_in_rank() -> None:
    truth = TRUTH[:40].copy()
    truth[::4] = 0
    models = {name: scores[:40] for name, scores in TWO.items()}
    data_sets = {"own": (truth, models, {"conventions": "empty=skip"}), "all": (truth, models)}
    ranking = rank(data_sets, "p@1", conventions="empty=one")
    for name, conventions in (("own", "empty=skip"), ("all", "empty=one")):
        for model, scores in models.items():
            expected = evaluate(truth, scores, metrics="p@1", conventions=conventions)["p@1"]
            assert ranking.values[name][model] == expected


@pytest.mark.parametrize("n_models", [2, 3])
def test_latex_has_a_rule_between_data_sets_and_says_what_is_underlined(n_models: int) -> None:
    models = dict([*MODELS.items()][:n_models])
    data_sets: dict[str, Any] = {}
    for name, rows in HALVES.items():
        data_sets[name] = (TRUTH[rows], {model: scores[rows] for model, scores in models.items()})
    latex = compare(data_sets, metrics=["p@1"]).to_latex()
    lines = latex.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("second & "))
    assert lines[start - 1] == lines[start - n_models - 2] == r"\midrule"
    assert latex.count(r"\midrule") == 2
    assert (r"\underline{" in latex) == ("underlined: second best" in latex) == (n_models > 2)
