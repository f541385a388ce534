"""`xmleval check` and `check`: a line for each failure; only comparable results are compared."""

import itertools
import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.damage import answer
from xmleval import Comparison, Evaluator, Report, check, compare, evaluate

N_ROWS = 100
N_LABELS = 6
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((N_ROWS, N_LABELS)) < 0.3).astype(np.int8)
MODELS = {
    "a": TRUTH + RNG.normal(size=TRUTH.shape),
    "b": TRUTH + 4 * RNG.normal(size=TRUTH.shape),
}
UNKNOWN = "so a change cannot be judged"
LAST = "new.json --no-worse-than last.json"
LABEL_GROUPS = [*"xxyyyz"]
GROUPS: dict[str, Any] = {"label_groups": LABEL_GROUPS, "row_groups": ["de", "en"] * 50}
Command = Callable[[str], tuple[int, list[str]]]


def report(
    model: str = "a", metrics: Any = ("p@1", "ndcg@3", "coverage"), **options: Any
) -> Report:
    arguments: dict[str, Any] = {
        "per_row": True,
        "inverse_propensity": np.arange(1.0, 7.0),
        **options,
    }
    return evaluate(TRUTH, MODELS[model], metrics=metrics, **arguments)


def plain(*arguments: Any, **options: Any) -> Report:
    """Return a report without values by row."""
    return report(*arguments, per_row=False, **options)


def write(name: str, values: Mapping[str, float | None], **members: Any) -> None:
    """Write a file of results with these values."""
    contents = json.loads(report().to_json())
    Path(name).write_text(json.dumps({**contents, "values": values, **members}))


def save(name: str, report: Report | None = None, **reports: Report) -> None:
    """Write results of one report, or of several by name."""
    results = report or Comparison(reports)
    Path(f"{name}.json").write_text(results.to_json())


def measures_of(failures: Sequence[Any]) -> list[str]:
    return [failure.measure for failure in failures]


def models_of(failures: Sequence[Any]) -> list[str]:
    return [failure.model for failure in failures]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `xmleval check` in an empty folder, and return the exit code and the lines."""
    monkeypatch.chdir(tmp_path)

    def run(words: str) -> tuple[int, list[str]]:
        code, out, err = answer(["check", *shlex.split(words)])
        assert bool(err) == (code == 2)
        assert not (out and err)
        text = out + err
        return code, [line.removeprefix("xmleval: ") for line in text.splitlines()]

    return run


@pytest.mark.parametrize(
    ("before", "after", "margin", "failure"),
    [
        (
            {"p@1": 0.6},
            {"p@1": 0.7, "lrap": None},
            "",
            None,
        ),
        (
            {"p@1": 0.6},
            {"p@1": math.nextafter(0.6, 0)},
            "",
            None,
        ),
        (
            {"p@1": 0.6},
            {"p@1": 0.6 - 1e-13},
            "",
            "p@1 0.5999999999999 is worse than 0.6 in",
        ),
        (
            {"coverage": 3},
            {"coverage": 3.5},
            "",
            "coverage 3.5 is worse than 3 in last.json",
        ),
        (
            {"p@1": 0.61},
            {"p@1": 0.6},
            "--margin 0.01",
            None,  # 0.61 - 0.6 is more than 0.01 as float64
        ),
        (
            {"p@1": 0.61},
            {"p@1": 0.59999},
            "--margin 0.01",
            "p@1 0.59999 is worse than 0.61 in last.json by more",
        ),
        (
            {"coverage": 3},
            {"coverage": 3.5},
            "--margin 1 --margin coverage=0.4",
            "coverage 3.5 is worse than 3 in",
        ),
        (
            {"p@1": 0.6},
            {"coverage": 3},
            "--margin 1",
            "'p@1' is not in this report; it has coverage",
        ),
        (
            {"p@1": 0.6},
            {"p@1": None},
            "--margin 1",
            f"p@1 is undefined in these results, {UNKNOWN}",
        ),
        (
            {"p@1": None},
            {"p@1": 0.6},
            "--margin 1",
            f"p@1 is undefined in last.json, {UNKNOWN}",
        ),
    ],
)
def test_check_fails_where_values_are_worse(
    command: Command, before: Any, after: Any, margin: str, failure: Any
) -> None:
    write("last.json", before)
    write("new.json", after)
    code, lines = command(f"new.json --no-worse-than last.json {margin}")
    assert (code, len(lines)) == (failure is not None, 1)
    assert lines[0].startswith(failure or "1 measure holds")


@pytest.mark.parametrize(
    ("change", "message", "matters"),
    [  # whether values of p@1 depend on it
        ({"n_rows": 41}, "number of rows is 100 instead of 41", True),
        ({"n_labels": 7}, "number of labels is 6 instead of 7", True),
        ({"sample_weight": "given"}, "sample_weight is none instead of given", True),
        ({"decision": "top3"}, "decision is none instead of top3", False),
        ({"propensity": {"a": 0.6, "b": 1.5}}, "propensity is given instead of a=0.6 b=1.5", False),
        ({"conventions": {"empty": "skip"}}, "empty is zero instead of skip", True),
        ({"conventions": {"labels": "seen"}}, "labels is all instead of seen", False),
    ],
    ids=str,
)
def test_check_refuses_results_that_are_not_comparable(
    command: Command, change: Any, message: str, matters: bool
) -> None:
    values = {"p@1": 0.5, "psp@1": 0.5, "f1.macro": 0.5, "auc.micro": 0.5}
    write("last.json", values, propensity="given")
    write("new.json", values, **{"propensity": "given", **change})
    line = f"last.json: not comparable: {message}"
    assert command("new.json --no-worse-than last.json") == (2, [line])
    assert command("new.json --min p@1=0.4") == (0, ["1 measure holds"])
    if not matters:
        write("last.json", {"p@1": 0.5}, propensity="given")
        assert command("new.json --no-worse-than last.json") == (0, ["1 measure holds"])


def interval(new: Report, last: Report, name: str) -> tuple[float, float]:
    a = new.per_row()[name]
    b = last.per_row()[name]
    both = ~np.isnan(a - b)
    ends = scipy.stats.ttest_rel(a[both], b[both]).confidence_interval(0.95)
    return float(ends.low), float(ends.high)


@pytest.mark.parametrize("conventions", ["default", "sklearn"])
def test_check_fails_where_the_paired_interval_excludes_zero(conventions: str) -> None:
    """SciPy's interval of the row values decides, and the values of measures without them."""
    options: dict[str, Any] = {"metrics": "all", "decision": "top2", "conventions": conventions}
    new = report("b", **options)
    last = report("a", **options)
    signs = {"up": 1, "down": -1, "none": 0}
    expected = {}
    for spec in last.specs:
        name = spec.name
        sign = signs[spec.metric.direction]
        if name in new.per_row():
            low, high = interval(new, last, name)
            is_worse = (sign > 0 and high < 0) or (sign < 0 and low > 0)
            reason = f"difference {low:.3g} to {high:.3g} over "
        else:
            is_worse = sign * (new[name] - last[name]) < 0
            reason = ""
        if is_worse:
            expected[name] = reason
    failures = check(new, no_worse_than=last).failures
    defined = [failure for failure in failures if "undefined" not in failure.reason]
    assert measures_of(defined) == [*expected]
    reasons = [failure.reason for failure in failures]
    for text in expected.values():
        assert any(text in reason for reason in reasons), text

    n_tested = sum(bool(text) for text in expected.values())
    assert 5 < n_tested < len(last.per_row())
    assert sum("95% interval" in reason for reason in reasons) == n_tested


def test_check_holds_weighted_means_to_their_values() -> None:
    """The intervals are of unweighted rows, on average of which the new model is better."""
    hits = {name: report(name, ["p@1"]).per_row()["p@1"] for name in MODELS}
    weight = np.where(hits["b"] > hits["a"], 99.0, 1.0)
    assert check(report("a", ["p@1"]), no_worse_than=report("b", ["p@1"]))
    new, last = (report(name, ["p@1"], sample_weight=weight) for name in MODELS)
    (failure,) = check(new, no_worse_than=last).failures
    assert failure.value == new["p@1"] < last["p@1"] == failure.limit


def test_check_allows_a_margin_beyond_the_interval() -> None:
    new = report("b")
    last = report("a")
    high = interval(new, last, "p@1")[1]
    low = interval(new, last, "coverage")[0]
    assert high < 0 < low
    for factor, expected in (1.001, []), (0.999, ["p@1", "coverage"]):
        margin = {"p@1": -high * factor, "coverage": low * factor, "": 1}
        failures = check(new, no_worse_than=last, margin=margin).failures
        assert measures_of(failures) == expected


def test_check_tests_each_of_several_models(command: Command) -> None:
    save("last", a=report("a"), b=report("b"))
    save("new", b=report("b"), a=report("b"), **{"c\x1b[31m": report("a")})
    code, lines = command(LAST)
    assert code == 1
    assert {line.partition(" ")[0] for line in lines} == {"a:"}
    assert command(f"{LAST} --model b") == (0, ["3 measures hold"])
    code, lines = command("new.json --min p@1=1")
    assert code == 1
    assert [line.split(": ")[0] for line in lines] == ["b", "a", "c\\x1b[31m"]
    code, lines = command("last.json --no-worse-than new.json --margin 9")
    assert (code, lines) == (1, ["c\\x1b[31m: this report is missing, but new.json has it"])


def test_report_without_a_name_is_compared_with_a_model(command: Command) -> None:
    save("last", report("a"))
    save("new", a=report("a"), b=report("b"))
    assert command(f"{LAST} --model a") == (0, ["3 measures hold"])
    assert command(f"{LAST} --model b")[1][0].startswith("b: p@1 0.")
    message = "last.json: its report has no name; give --model, the report of new.json to compare"
    assert command(LAST) == (2, [message])


def test_check_refuses_rows_with_other_names() -> None:
    def keyed_report(keys: str) -> Report:
        rows = {key: [0] for key in keys}
        return evaluate(rows, rows, n_labels=2, metrics="p@1", per_row=True)

    new = keyed_report("abcd")
    last = keyed_report("abdc")
    with pytest.raises(ValueError, match="no_worse_than: its rows have other keys"):
        check(new, no_worse_than=last)


# ------------------------------------------------------------------------------------ in Python

OLD = "--no-worse-than no_worse_than"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"min": {"p@1": 0.5, "fbeta.micro(beta=2)@2": 0.1}, "max": {"coverage": 5}},
            "--min 'p@1=0.5,fbeta.micro(beta=2)@2=0.1' --max coverage=5",
        ),
        ({"min": {"x:p@1": 0.99, "en:ndcg@3": 0.01}}, "--min x:p@1=0.99 --min en:ndcg@3=0.01"),
        (
            {"min": {"tail:p@1": 0.1, "groups y:p@1": 0.99}},
            "--min 'tail:p@1=0.1,groups y:p@1=0.99'",
        ),
        (
            {"no_worse_than": True, "margin": {"": 0.1, "y:p@1": 0.5, "p@1": 0.3}},
            f"{OLD} --margin 0.1,y:p@1=0.5 --margin p@1=0.3",
        ),
        ({"no_worse_than": True, "margin": 9.0}, f"{OLD} --margin 9"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_check_answers_as_the_command_does(arguments: dict[str, Any], words: str) -> None:
    metrics = ["p@1", "ndcg@3", "coverage", "fbeta.micro(beta=2)@2"]
    new = plain("b", metrics=metrics, **GROUPS)
    old = plain("a", metrics=metrics, **GROUPS)
    Path("results").write_text(new.to_json())
    Path("no_worse_than").write_text(old.to_json())
    if "no_worse_than" in arguments:
        arguments = {**arguments, "no_worse_than": old}
    checked = check(new, **arguments)
    code, out, _ = answer(["check", "results", *shlex.split(words)])
    assert (code, out) == (0 if checked else 1, f"{checked}\n")


def test_failures_name_measure_value_and_limit() -> None:
    new = plain("b", **GROUPS)
    old = plain("a", **GROUPS)
    (low,) = check(new, min={"x:p@1": 0.9}).failures
    assert (low.model, low.measure) == ("", "x:p@1")
    assert (low.value, low.limit) == (new.groups["x"]["p@1"], 0.9)
    margin = {"": 0.01, "coverage": 0.02, "en:coverage": 0.03}
    checked = check(new, no_worse_than=old, margin=margin)
    failures = {failure.measure: failure for failure in checked.failures}
    assert failures["p@1"].limit == old["p@1"] - 0.01
    assert failures["de:coverage"].limit == old.row_groups["de"]["coverage"] + 0.02
    assert failures["en:coverage"].limit == old.row_groups["en"]["coverage"] + 0.03
    assert failures["en:coverage"].value == new.row_groups["en"]["coverage"]


@pytest.mark.parametrize(
    ("form", "model"),
    [
        (lambda report, path: report, ""),
        (lambda report, path: str(path), ""),
        (lambda report, path: json.loads(report.to_json()), ""),
        (lambda report, path: {"m": report}, "m"),
        (lambda report, path: Comparison({"m": report}), "m"),
    ],
)
def test_check_takes_results_in_any_form(form: Any, model: str, tmp_path: Path) -> None:
    new = plain("b")
    old = plain("a")
    path = tmp_path / "a.json"
    path.write_text(new.to_json())
    limits = {"p@1": 1}
    failures = check(form(new, path), min=limits, no_worse_than=form(old, path)).failures
    assert failures[0].measure == "p@1"
    assert {*models_of(failures)} == {model}
    compared = compare(TRUTH, MODELS, metrics=["p@1"])
    assert models_of(check(compared, min=limits).failures) == ["a", "b"]
    assert len(check(compared, min=limits, model="a").failures) == 1


def test_check_takes_saved_evaluators_as_their_reports(command: Command) -> None:
    for name in ("a", "b"):
        evaluator = Evaluator(["p@1", "coverage"])
        evaluator.update(TRUTH, MODELS[name])
        evaluator.save(name)  # whatever the file is called
        save(f"{name}_report", evaluator.compute())
        limits = {"p@1": 0.9}
        assert check(evaluator, min=limits).failures == check(name, min=limits).failures
    code, lines = command("b --no-worse-than a --max coverage=3")
    assert (code, len(lines)) == (1, 3)
    lines_of_reports = [line.replace(" in a", " in a_report.json") for line in lines]
    words = "b_report.json --no-worse-than a_report.json --max coverage=3"
    assert command(words) == (1, lines_of_reports)

    Path("cut").write_bytes(Path("a").read_bytes()[:300])
    _, lines = command("cut --min p@1=0.5")
    assert lines[0].startswith("cut: not a saved evaluator, or damaged")


def test_check_refuses_groups_with_other_labels_or_ambiguous_names() -> None:
    new = plain(label_groups=[*"xyyyyz"])
    old = plain(label_groups=LABEL_GROUPS)
    message = r"^no_worse_than: not comparable: .*n_labels of groups x is 2 instead of 1"
    with pytest.raises(ValueError, match=message):
        check(new, no_worse_than=old)
    failures = str(check(plain(), no_worse_than=old))
    assert "'x:p@1': no group 'x' in this report; it has none" in failures
    both = plain(label_groups=LABEL_GROUPS, row_groups=["x", "en"] * 50)
    message = "'x' is both a group of labels and a group of rows; give groups x or row_groups x"
    with pytest.raises(ValueError, match=message):
        check(both, min={"x:p@1": 0.1})
    by_rows, by_labels = check(both, min={"row_groups x:p@1": 1, "groups x:p@1": 1}).failures
    assert by_rows.value == both.row_groups["x"]["p@1"]
    assert by_labels.value == both.groups["x"]["p@1"]
    assert check(both, no_worse_than=both)


def test_check_refuses_results_with_different_excluded_labels() -> None:
    pairs: list[tuple[int, int]] = [(0, 0), (1, 2)]
    reports = [
        plain(metrics=["p@1"]),
        plain(metrics=["p@1"], exclude=pairs),
        plain(metrics=["p@1"], exclude=pairs, exclude_from="predictions"),
        plain(metrics=["p@1"], candidates=TRUTH),
    ]
    for new, old in itertools.product(reports, repeat=2):
        if old is new:
            assert check(new, no_worse_than=old)
        else:
            with pytest.raises(ValueError, match=r"not comparable: (exclude|candidates) is "):
                check(new, no_worse_than=old)


def test_check_compares_excluded_pairs_of_a_file_with_those_of_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", TRUTH)
    np.save(tmp_path / "s.npy", MODELS["a"])
    pairs = [(0, 0), (1, 2)]
    results = [plain(metrics=["p@1"], exclude=pairs)]
    for name, lines in (("pairs", "0 0\n1 2\n"), ("others", "0 0\n1 3\n")):
        path = tmp_path / f"{name}.txt"
        path.write_text(lines)
        options: dict[str, Any] = {"exclude": path, "inverse_propensity": np.arange(1.0, 7.0)}
        results.append(evaluate(tmp_path / "y.npy", tmp_path / "s.npy", metrics=["p@1"], **options))
    in_memory, of_file, of_other_file = results
    for new, old in ((in_memory, of_file), (of_file, in_memory)):
        assert check(new, no_worse_than=old)
    with pytest.raises(ValueError, match="not comparable: exclude is "):
        check(of_file, no_worse_than=of_other_file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {},
            "results: nothing to check: give min=, max= or no_worse_than=",
        ),
        (
            {"min": 0.5},
            "min: 0.5 is not a dict of limits by measure",
        ),
        (
            {"min": {"x:p@1": 50}},
            "min: 'x:p@1=50': x:p@1 is between 0 and 1",
        ),
        (
            {"min": {"p@1": 0.1, "P@1": 0.2}},
            "min: p@1 is given twice",
        ),
        (
            {"no_worse_than": "gone.json"},
            "gone.json",
        ),
        (
            {"no_worse_than": {"a": plain(), "b": plain()}, "model": "c"},
            "no_worse_than: has no report 'c'; it has a, b",
        ),
        (
            {"no_worse_than": {"a": plain(), "b": plain()}},
            "results: its report has no name; give model=, the report of no_worse_than to compare",
        ),
        (
            {"min": {"p@1": 0.1}, "margin": 0.1},
            "margin: needs no_worse_than=, the earlier results",
        ),
        (
            {"no_worse_than": plain(), "margin": -1},
            "margin: '-1' is negative",
        ),
        (
            {"no_worse_than": plain(), "margin": {"p@9": 1}},
            "no_worse_than: margin=: 'p@9' is not in this",
        ),
        (
            {"no_worse_than": {"a": plain(), "b": 3}},
            "no_worse_than: 'b' is of type int, not a report",
        ),
        (
            {"no_worse_than": {"a": plain().to_dict(), "b": Evaluator("p@1")}},
            "no_worse_than: Object of type Evaluator is not JSON serializable; "
            "give a report, a dict of reports",
        ),
        (
            {"min": {"p@1": 0.1}, "model": "a"},
            "model='a': results has one report, without a name; leave this out",
        ),
    ],
)
def test_check_refuses_by_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, OSError)) as raised:
        check(plain(), **arguments)
    assert message in str(raised.value)


def test_checked_prints_lines_a_table_and_one_line() -> None:
    new = {"a|b": plain("a", ["p@1"]), "c": plain("b", ["p@1"])}
    checked = check(new, min={"p@1": 1.0})
    reasons = [f"p@1 {report['p@1']:g} is below the minimum 1" for report in new.values()]
    lines = [f"{name}: {reason}" for name, reason in zip(new, reasons, strict=True)]
    assert str(checked) == "\n".join(lines)
    assert repr(checked) == f"<Checked: {'; '.join(lines)}>"
    title, _, header, _, *rows = checked.to_markdown().splitlines()
    assert title == "2 failures"
    assert header == "| model | measure | reason |"
    names = (r"a\|b", "c")
    assert rows == [f"| {a} | p@1 | {b} |" for a, b in zip(names, reasons, strict=True)]
    one = check(new["c"], min={"p@1": 1.0})
    title, _, header, _, row = one.to_markdown().splitlines()
    assert (title, header) == ("1 failure", "| measure | reason |")
    assert row == f"| p@1 | {reasons[1]} |"


@pytest.mark.parametrize(("n", "text"), [(1, "1 measure holds"), (2, "2 measures hold")])
def test_checked_without_failures_prints_how_many_measures_hold(n: int, text: str) -> None:
    limits = dict.fromkeys(["p@1", "ndcg@3"][:n], 0.0)
    checked = check(plain(), min=limits)
    assert str(checked) == text
    assert checked.to_markdown() == f"{text}\n"
    assert repr(checked) == f"<Checked: {text}>"


def test_report_without_a_name_is_compared_with_one_that_has_one() -> None:
    new = plain("b", ["p@1"])
    old = plain("a", ["p@1"])
    expected = check(new, no_worse_than=old).failures
    assert len(expected) == 1
    assert check(new, no_worse_than={"x": old}).failures == expected
    named = check({"x": new}, no_worse_than=old).failures
    assert named == [failure._replace(model="x") for failure in expected]
    pair = {"x": new, "y": new}
    with pytest.raises(ValueError) as refused:
        check(pair, no_worse_than=old)
    assert str(refused.value) == (
        "no_worse_than: its report has no name; give model=, the report of results to compare"
    )
    assert check(pair, no_worse_than=old, model="y").failures[0].model == "y"
    assert check(new, no_worse_than={"x": old, "y": new}, model="y")
    with pytest.raises(ValueError, match=r"^results: has no report 'z'; it has x, y$"):
        check(pair, min={"p@1": 0}, model="z")


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        ("abcdef", "it has a, b, c, d, e, f"),
        ("abcdefg", "it has a, b, c, d, e, f, ..."),
    ],
)
def test_check_lists_few_groups_where_one_is_missing(names: str, listed: str) -> None:
    rows = [names[row % len(names)] for row in range(N_ROWS)]
    (failure,) = check(plain(row_groups=rows), min={"unseen:p@1": 0.0}).failures
    assert failure.reason == f"'unseen:p@1': no group 'unseen' in this report; {listed}"


def test_check_refuses_results_whose_truth_has_other_statistics() -> None:
    metrics = ["p@1", "label_cardinality"]
    fewer = TRUTH.copy()
    fewer[0] = 0
    fewer[0, 0] = 1
    new = evaluate(TRUTH, MODELS["a"], metrics=metrics)
    old = evaluate(fewer, MODELS["a"], metrics=metrics)
    cardinalities = (old["label_cardinality"], new["label_cardinality"])
    change = f"is {cardinalities[0]:g} instead of {cardinalities[1]:g}"
    message = f"not comparable: label_cardinality, of the relevant labels, {change}"
    with pytest.raises(ValueError, match=f"^no_worse_than: {message}$"):
        check(new, no_worse_than=old)
    same = evaluate(TRUTH, MODELS["b"], metrics="label_cardinality")
    with pytest.raises(ValueError, match=r"^no_worse_than: no measure to compare with$"):
        check(new, no_worse_than=same)
    assert check(new, no_worse_than=same, min={"p@1": 0.0}).n_held == 1


def test_check_tells_a_group_from_one_whose_name_has_its_kind() -> None:
    groups = {"label_groups": [*["row_groups de"] * 3, *"zzz"], "row_groups": ["de", "en"] * 50}
    both = plain(metrics=["p@1"], **groups)
    of_labels = both.groups["row_groups de"]["p@1"]
    of_rows = both.row_groups["de"]["p@1"]
    assert of_labels != of_rows
    assert check(both, no_worse_than=both)
    names = {"row_groups de:p@1": of_rows, "groups row_groups de:p@1": of_labels}
    assert check(both, min=names, max=names)


def test_check_judges_two_rows_by_the_interval_of_their_difference() -> None:
    """One of two rows lost its hit; the interval of the mean over two rows includes 0."""
    eye = np.eye(2)
    for per_row, holds in ((True, True), (False, False)):
        old, new = (
            evaluate(eye, scores, metrics=["p@1"], per_row=per_row) for scores in (eye, eye[[1, 1]])
        )
        assert (old["p@1"], new["p@1"]) == (1.0, 0.5)
        assert bool(check(new, no_worse_than=old)) == holds


def test_check_refuses_groups_of_other_training_frequencies() -> None:
    counts = np.repeat(np.eye(N_LABELS, dtype=int), [1, 2, 3, 6, 8, 9], axis=0)
    new, old = (
        evaluate(TRUTH, MODELS["a"], metrics="p@1", y_train=counts, label_groups=[edge])
        for edge in (3, 4)
    )
    assert new.groups["few"].n_labels == old.groups["few"].n_labels
    message = "training_rows of groups few is 1-4 instead of 1-3"
    with pytest.raises(ValueError, match=f"^no_worse_than: not comparable: {message}, "):
        check(new, no_worse_than=old)


def test_check_compares_means_of_rows_with_other_names() -> None:
    old, new = (
        evaluate(
            {row: ["x"], "last": ["y"]}, {row: {"x": 0.9}, "last": {"y": 0.8}}, metrics=["p@1"]
        )
        for row in ("first", "earlier")
    )
    assert new.row_names != old.row_names
    assert check(new, no_worse_than=old).n_held == 1


@pytest.mark.parametrize("side", ["min", "max"])
def test_limits_beyond_the_range_of_a_measure_name_their_option(
    side: str, command: Command
) -> None:
    """The sign of equality before a limit is the last one."""
    save("new", report(metrics=["ece(bins=2)"], conventions="link=sigmoid"))
    message = f"--{side}: 'ece(bins=2)=7': ece(bins=2) is between 0 and 1"
    assert command(f"new.json --{side} 'ece(bins=2)=7'") == (2, [message])
    within = {"min": 0, "max": 1}[side]
    assert command(f"new.json --{side} 'ece(bins=2)={within}'") == (0, ["1 measure holds"])
