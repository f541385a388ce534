"""`xmleval check`: one line for each failure, exit codes, and no comparison of what differs."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from xmleval import evaluate
from xmleval.cli import main
from xmleval.cli.details import write_rows
from xmleval.report.comparison import Comparison
from xmleval.report.report import Report
from xmleval.spec import expand_metrics

N_ROWS, N_LABELS = 100, 6
RNG = np.random.default_rng(5)
TRUTH = (RNG.random((N_ROWS, N_LABELS)) < 0.3).astype(np.int8)
MODELS = {"a": TRUTH + RNG.normal(size=TRUTH.shape), "b": TRUTH + 4 * RNG.normal(size=TRUTH.shape)}
Checks = Callable[[str], tuple[int, list[str]]]


def report(model: str = "a", metrics: Any = ("p@1", "ndcg@3", "coverage"), **more: Any) -> Report:
    settings: dict[str, Any] = {"per_row": True, "inverse_propensity": np.arange(1.0, 7.0), **more}
    return evaluate(TRUTH, MODELS[model], metrics=metrics, **settings)


def write(name: str, values: Mapping[str, float | None], **members: Any) -> None:
    """Write a file of results with these values."""
    Path(name).write_text(json.dumps(json.loads(report().to_json()) | {"values": values} | members))


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Checks:
    """Run `xmleval check` in an empty folder, and return the exit code and the lines."""
    monkeypatch.chdir(tmp_path)

    def checks(words: str) -> tuple[int, list[str]]:
        code = main(["check", *shlex.split(words)])
        out, err = capsys.readouterr()
        assert bool(err) == (code == 2)
        assert not (out and err)
        return code, [line.removeprefix("xmleval: ") for line in (out + err).splitlines()]

    return checks


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("--min p@1=0.5 --max coverage=3", []),
        ("--min P@1=0.5,ndcg@3=0.7", []),
        ("--min fbeta.micro(beta=2)=0.25", []),
        ("--min p@1=0.51", ["p@1 0.5 is below the minimum 0.51"]),
        ("--min p@1=0.50001", ["p@1 0.5 is below the minimum 0.50001"]),
        ("--max precision@1=0.1", ["p@1 0.5 is above the maximum 0.1"]),
        ("--max ndcg@3=0.7", ["ndcg@3 0.70001 is above the maximum 0.7"]),
        ("--max coverage=2", ["coverage 3 is above the maximum 2"]),
        (
            "--min p@1=1 --max coverage=0",
            ["p@1 0.5 is below the minimum 1", "coverage 3 is above the maximum 0"],
        ),
        ("--min ndcg@5=0.1", ["'ndcg@5' is not in this report; it has ndcg@3"]),
        ("--min lrap=0.1", ["lrap is undefined; its minimum is 0.1"]),
        ("--max lrap=0.1", ["lrap is undefined; its maximum is 0.1"]),
    ],
)
def test_limits(check: Checks, limits: str, told: list[str]) -> None:
    values = {"p@1": 0.5, "ndcg@3": 0.70001, "coverage": 3.0, "lrap": None, "fbeta.micro(beta=2)": 0.3}
    write("new.json", values)
    code, lines = check(f"new.json {limits}".replace("(", "\\(").replace(")", "\\)"))
    n_held = limits.count("=") - limits.count("beta=")
    assert (code, lines) == (
        (1, told) if told else (0, [f"{n_held} measure{'s hold' if n_held > 1 else ' holds'}"])
    )


UNKNOWN = "so that nothing is known about a change"


@pytest.mark.parametrize(
    ("before", "after", "margin", "told"),
    [
        ({"p@1": 0.6}, {"p@1": 0.6}, "", None),
        ({"p@1": 0.6}, {"p@1": 0.7, "lrap": None}, "", None),
        ({"coverage": 3}, {"coverage": 2}, "", None),
        ({"p@1": 0.6}, {"p@1": math.nextafter(0.6, 0)}, "", None),
        ({"p@1": 0.6}, {"p@1": 0.6 - 1e-13}, "", "p@1 0.5999999999999 is worse than 0.6 in"),
        ({"coverage": 3}, {"coverage": 3.5}, "", "coverage 3.5 is worse than 3 in last.json"),
        ({"p@1": 0.61}, {"p@1": 0.6}, "0.01", None),  # 0.61 - 0.6 is more than 0.01 as float64
        ({"p@1": 0.61}, {"p@1": 0.59999}, "0.01", "p@1 0.59999 is worse than 0.61 in last.json by more"),
        ({"coverage": 3}, {"coverage": 3.5}, "coverage=0.5", None),
        ({"coverage": 3}, {"coverage": 3.5}, "1 --margin coverage=0.4", "coverage 3.5 is worse than 3 in"),
        ({"p@1": 0.6}, {"coverage": 3}, "1", "'p@1' is not in this report; it has coverage"),
        ({"p@1": 0.6}, {"p@1": None}, "1", f"p@1 is undefined in these results, {UNKNOWN}"),
        ({"p@1": None}, {"p@1": 0.6}, "1", f"p@1 is undefined in last.json, {UNKNOWN}"),
        ({"p@1": None}, {"p@1": None}, "1", f"p@1 is undefined in last.json, {UNKNOWN}"),
    ],
)  # fmt: skip
def test_no_worse_than(
    check: Checks, before: dict[str, Any], after: dict[str, Any], margin: str, told: str | None
) -> None:
    write("last.json", before)
    write("new.json", after)
    words = f"new.json --no-worse-than last.json {margin and f'--margin {margin}'}"
    code, lines = check(words)
    assert (code, len(lines)) == (told is not None, 1)
    assert lines[0].startswith(told or "1 measure holds")


def test_each_measure_fails_in_its_direction(check: Checks) -> None:
    directions = {spec.name: spec.metric.direction for spec, _ in expand_metrics("all", 3)}
    measures = [*directions]
    write("low.json", dict.fromkeys(measures, 0.25))
    write(
        "high.json", dict.fromkeys(measures, 0.75) | {n: 0.25 for n, d in directions.items() if d == "none"}
    )
    for new, last, worse in (("low", "high", "up"), ("high", "low", "down")):
        code, lines = check(f"{new}.json --no-worse-than {last}.json")
        assert code == 1
        assert [line.partition(" ")[0] for line in lines] == [n for n, d in directions.items() if d == worse]


UNLIKE = [
    ({"n_rows": 41}, "100 rows instead of 41"),
    ({"n_labels": 7}, "6 labels instead of 7"),
    ({"higher_is_better": False}, "higher_is_better is True instead of False"),
    ({"sample_weight": "given"}, "sample_weight is none instead of given"),
    ({"decision": "top3"}, "decision is none instead of top3"),
    ({"propensity": {"a": 0.6, "b": 1.5}}, "propensity is given instead of a=0.6 b=1.5"),
    ({"conventions": {"unlisted": 0}}, "unlisted is below instead of 0"),
    ({"conventions": {"empty": "skip"}}, "empty is zero instead of skip"),
    ({"conventions": {"auc_ties": "full"}}, "auc_ties is half instead of full"),
    ({"conventions": {"labels": "seen"}}, "labels is all instead of seen"),
]


@pytest.mark.parametrize(("change", "told"), UNLIKE, ids=str)
def test_results_that_differ_otherwise_are_not_compared(
    check: Checks, change: dict[str, Any], told: str
) -> None:
    values = {"p@1": 0.5, "psp@1": 0.5, "f1.macro": 0.5, "auc.micro": 0.5}
    write("last.json", values, propensity="given")
    write("new.json", values, **{"propensity": "given"} | change)
    assert check("new.json --no-worse-than last.json") == (2, [f"last.json: not comparable: {told}"])
    assert check("new.json --min p@1=0.4") == (0, ["1 measure holds"])


@pytest.mark.parametrize("change", [change for change, _ in UNLIKE[4:6] + UNLIKE[8:]], ids=str)
def test_settings_that_no_measure_depends_on_may_differ(check: Checks, change: dict[str, Any]) -> None:
    write("last.json", {"p@1": 0.5, "auc.micro": 0.5} if "decision" in change else {"p@1": 0.5})
    write("new.json", {"p@1": 0.5, "auc.micro": 0.5, "f1.macro": 0.5, "psp@1": 0.5}, **change)
    assert check("new.json --no-worse-than last.json")[0] == 0


def test_other_relevant_labels_are_not_compared(check: Checks) -> None:
    write("last.json", {"p@1": 0.5, "label_cardinality": 1.5})
    write("new.json", {"p@1": 0.5, "label_cardinality": 1.25})
    told = "label_cardinality, of the relevant labels, is 1.5 instead of 1.25"
    assert check("new.json --no-worse-than last.json") == (2, [f"last.json: not comparable: {told}"])


def save(reports: dict[str, Report], name: str) -> None:
    """Write results and row values of one report, or of several by name."""
    written: Any = Comparison(reports) if len(reports) > 1 else next(iter(reports.values()))
    Path(f"{name}.json").write_text(written.to_json())
    write_rows(reports, Path(f"{name}.csv"))


BY_ROW = "new.json --no-worse-than last.json --rows new.csv --last-rows last.csv"


def interval(new: Report, old: Report, name: str) -> tuple[float, float]:
    one, other = new.per_row()[name], old.per_row()[name]
    both = ~np.isnan(one - other)
    found = scipy.stats.ttest_rel(one[both], other[both]).confidence_interval(0.95)
    return float(found.low), float(found.high)


@pytest.mark.parametrize("conventions", ["default", "sklearn", "beir"])
def test_worse_is_what_the_paired_interval_says(check: Checks, conventions: str) -> None:
    """SciPy's interval of the rows decides, for losses the other way, and the value where there are none."""
    settings: dict[str, Any] = {"metrics": "all", "decision": "top2", "conventions": conventions}
    new, old = report("b", **settings), report("a", **settings)
    save({"": new}, "new")
    save({"": old}, "last")
    expected = {}
    for spec in old.specs:
        sign = {"up": 1, "down": -1, "none": 0}[spec.metric.direction]
        if spec.name in new.per_row():
            low, high = interval(new, old, spec.name)
            if sign and (high < 0 if sign > 0 else low > 0):
                expected[spec.name] = f"difference {low:.3g} to {high:.3g} over "
        elif sign * (new[spec.name] - old[spec.name]) < 0:
            expected[spec.name] = ""
    code, lines = check(BY_ROW)
    assert code == 1
    assert [line.partition(" ")[0] for line in lines if "undefined" not in line] == [*expected]
    assert [text for text in expected.values() if not any(text in line for line in lines)] == []
    assert 5 < sum(bool(text) for text in expected.values()) < len(old.per_row())


def test_a_margin_is_allowed_beside_the_interval(check: Checks) -> None:
    new, old = report("b"), report("a")
    save({"": new}, "new")
    save({"": old}, "last")
    _, high = interval(new, old, "p@1")
    low, _ = interval(new, old, "coverage")
    assert high < 0 < low
    wide = f"--margin p@1={-high * 1.001} --margin coverage={low * 1.001} --margin 1"
    assert check(f"{BY_ROW} {wide}") == (0, ["3 measures hold"])
    narrow = f"--margin p@1={-high * 0.999} --margin coverage={low * 0.999} --margin 1"
    code, lines = check(f"{BY_ROW} {narrow}")
    assert (code, [line.split()[0] for line in lines]) == (1, ["p@1", "coverage"])


def test_a_fall_that_the_rows_do_not_show_holds(check: Checks) -> None:
    scores = MODELS["a"].copy()
    scores[np.flatnonzero(TRUTH[:, 0])[0]] = -TRUTH[np.flatnonzero(TRUTH[:, 0])[0]]
    new, old = evaluate(TRUTH, scores, metrics=["p@3"], per_row=True), report("a", ["p@3"])
    assert new["p@3"] < old["p@3"]
    save({"": new}, "new")
    save({"": old}, "last")
    assert check("new.json --no-worse-than last.json")[0] == 1
    assert check(BY_ROW) == (0, ["1 measure holds"])


def test_each_of_several_models_is_checked(check: Checks) -> None:
    save({"a": report("a"), "b": report("b")}, "last")
    save({"b": report("b"), "a": report("b"), "c": report("a")}, "new")
    code, lines = check(BY_ROW)
    assert code == 1
    assert {line.partition(" ")[0] for line in lines} == {"a:"}
    assert check(f"{BY_ROW} --model b") == (0, ["3 measures hold"])
    code, lines = check("new.json --min p@1=1")
    assert (code, [line.split(": ")[0] for line in lines]) == (1, ["b", "a", "c"])
    code, lines = check("last.json --no-worse-than new.json --margin 9")
    assert (code, lines) == (1, ["c: no report of this name, which is in new.json"])


def test_a_report_without_a_name_is_compared_with_a_model(check: Checks) -> None:
    save({"": report("a")}, "last")
    save({"a": report("a"), "b": report("b")}, "new")
    assert check(f"{BY_ROW} --model a") == (0, ["3 measures hold"])
    assert check(f"{BY_ROW} --model b")[1][0].startswith("b: p@1 0.")
    one = "new.json --rows new.csv", "last.json --last-rows last.csv"
    assert check(f"{' --no-worse-than '.join(one)} --model a") == (0, ["3 measures hold"])
    told = "its report has no name; --model tells which of new.json goes with it"
    assert check(BY_ROW) == (2, [f"last.json: {told}"])
    told = "new.json: has no report 'c'; it has a, b"
    assert check(f"{BY_ROW} --model c") == (2, [told])
    told = "--model 'a': last.json holds one report, which has no name"
    assert check("last.json --min p@1=0 --model a") == (2, [told])


def test_names_of_models_cannot_control_a_terminal(check: Checks) -> None:
    save({"\x1b[31m": report("a"), "=x": report("b")}, "last")
    code, lines = check(
        "last.json --min p@1=1 --no-worse-than last.json --rows last.csv --last-rows last.csv"
    )
    assert (code, [line.split(": ")[0] for line in lines]) == (1, ["\\x1b[31m", "=x"])


def rows(*lines: Sequence[Any], header: str = "row,p@1") -> str:
    return "\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n"


WHOLE = [(row, row % 2) for row in range(4)]


def test_rows_of_other_names_are_not_paired(check: Checks) -> None:
    for file, names in (("new", "abcd"), ("last", "abdc")):
        write(f"{file}.json", {"p@1": 0.5}, n_rows=4)
        held = [(row, name, row % 2) for row, name in enumerate(names)]
        Path(f"{file}.csv").write_text(rows(*held[::-1], header="row,name,p@1"))
    told = "last.csv: row 2 is 'd', in new.csv 'c'; expected the same rows"
    assert check(BY_ROW) == (2, [told])


def test_rows_of_weighted_results_are_refused(check: Checks) -> None:
    for file in ("new", "last"):
        write(f"{file}.json", {"p@1": 0.5}, n_rows=4, sample_weight="given")
        Path(f"{file}.csv").write_text(rows(*WHOLE))
    told = "new.csv: the results have sample weights, which row values do not hold"
    assert check(BY_ROW) == (2, [told])
