"""Files give the values of arrays, alone and together with arrays, for one model and several."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.made_files import make_scores, make_truth, npy, npz
from xmleval import Running, calibrate, scan, thresholds
from xmleval.evaluation import files as evaluation
from xmleval.evaluation.request import ARGUMENTS
from xmleval.integrations.sklearn import make_scorer

TRUTH = make_truth(60)
TRAIN = make_truth(80, seed=1)
MODELS = {name: make_scores(60, seed=seed) for name, seed in (("a", 2), ("b", 3))}
NAMED = (
    {"q1": {"x": 1, "y": 1}, "q2": {"z": 1}},
    {
        "q2": {"z": 0.9, "x": 0.4},
        "q1": {"y": 0.8, "w": 0.7},
    },
)
METRICS = ["p@3", "psp@3", "f1.macro@3", "auc.micro"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluation, "LEAST_MEMORY", 1)  # so that files are read in several pieces
    for name, matrix in {"Y": TRUTH, "T": TRAIN, **MODELS}.items():
        npz(Path(name), matrix)
    np.save("w.npy", np.arange(1.0, 61))


CALLS: dict[str, Callable[..., Any]] = {
    "evaluate": lambda y, t, m: dict(
        xmleval.evaluate(y, m["a"], y_train=t, metrics=METRICS, memory="64kB")
    ),
    "compare": lambda y, t, m: xmleval.compare(y, m, y_train=t, metrics=METRICS, worst=2).to_dict(),
    "diff": lambda y, t, m: xmleval.diff(y, *m.values(), metric="p@3", worst=3).to_dict(),
    "thresholds": lambda y, t, m: thresholds.fit(y, m["a"], "f1.micro").decision,
    "calibrate": lambda y, t, m: str(calibrate.fit(y, m["a"], "platt")),
    "statistics": lambda y, t, m: xmleval.label_statistics(y, t),
    "propensity": lambda y, t, m: xmleval.inverse_propensity(t).tolist(),
    "groups": lambda y, t, m: str(xmleval.label_groups(t)),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_take_files_as_arrays(name: str) -> None:
    call = CALLS[name]
    expected = call(TRUTH, TRAIN, MODELS)
    paths = {name: Path(f"{name}.npz") for name in MODELS}
    mixed = {"a": MODELS["a"], "b": paths["b"]}
    for y_true, y_train, models in (
        ("Y.npz", "T.npz", paths),
        (TRUTH, Path("T.npz"), mixed),
        ("Y.npz", TRAIN, MODELS),
    ):
        assert call(y_true, y_train, models) == expected


def test_evaluate_reads_several_models_in_one_pass_with_weights_and_progress() -> None:
    rows: list[int] = []
    comparison: Any = xmleval.evaluate(
        "Y.npz",
        {"a": "a.npz", "b": "b.npz"},
        metrics="p@3",
        sample_weight="w.npy",
        memory="1kB",
        progress=lambda done, n_rows: rows.append(done),
        running=Running(save="{}.state"),
    )
    options: dict[str, Any] = {"metrics": "p@3", "sample_weight": np.arange(1.0, 61)}
    expected = {
        name: xmleval.evaluate(TRUTH, scores, **options)["p@3"] for name, scores in MODELS.items()
    }
    assert {name: report["p@3"] for name, report in comparison.reports.items()} == expected
    assert len(rows) > 1
    assert rows == sorted(rows)
    assert rows[-1] == 60
    assert xmleval.Evaluator.load("a.state").compute()["p@3"] == expected["a"]


@pytest.mark.parametrize("y_true", ["Y.npz", TRUTH])
def test_compare_takes_predicted_sets_weights_and_states_in_files(y_true: Any) -> None:
    sets = {name: model > 0.1 for name, model in MODELS.items()}
    for name, matrix in sets.items():
        npz(Path(f"sets_{name}"), matrix)
    files = {"a": sets["a"], "b": "sets_b.npz"}
    options: dict[str, Any] = {
        "metrics": ["f1.samples"],
        "sample_weight": "w.npy",
        "running": Running(save="{}.state"),
    }
    compared = xmleval.compare(y_true, None, y_pred=files, **options)
    expected = xmleval.compare(
        TRUTH, None, y_pred=sets, metrics=["f1.samples"], sample_weight=np.arange(1.0, 61)
    )
    assert str(compared) == str(expected)
    with pytest.raises(ValueError, match=r"y_pred of 'a': row \d+: value 2"):
        xmleval.compare(y_true, None, y_pred={**files, "a": 2.0 * sp.csr_array(sets["a"])})
    options["running"] = Running(save=cast(Any, 5))
    with pytest.raises(ValueError, match="save: 5 is not a path"):
        xmleval.compare(y_true, None, y_pred=files, **options)
    for name, report in expected.reports.items():
        saved = xmleval.Evaluator.load(f"{name}.state").compute()
        assert saved["f1.samples"] == report["f1.samples"]


def test_evaluate_matches_names_in_memory_with_names_in_files() -> None:
    Path("q.json").write_text('{"q1": {"x": 1, "y": 1}, "q2": {"z": 1}}')
    options: dict[str, Any] = {
        "metrics": ["p@1", "r@2"],
        "exclude": [("q1", "x")],
    }
    expected = xmleval.evaluate(*NAMED, **options)
    report = xmleval.evaluate("q.json", NAMED[1], **options)
    assert dict(report) == dict(expected)
    assert report.label_names == ["x", "y", "z"]
    assert report.unknown_labels == ["w"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": "none.npz"}, "none.npz"),
        ({"y_score": {"a": "a.npz", "b": "none.npz"}}, "none.npz"),
        ({"memory": "x"}, "memory: 'x' is not an amount of memory"),
        ({"running": Running(resume=True)}, "resume: needs checkpoint="),
        (
            {"y_score": MODELS["a"], "running": Running(checkpoint="kept")},
            "checkpoint: needs files, but y_score= is not a file",
        ),
        ({"y_score": "a*.npz", "row_groups": ["x"]}, "row_groups: "),
        ({"decision": "topp3"}, "decision: 'topp3' is neither topK"),
        ({"n_labels": "x"}, "n_labels: 'x' is not a positive integer"),
        ({"running": Running(save="a.npz")}, "a.npz: is an input"),
        ({"y_score": {"a": MODELS["a"], "b": ""}}, "'' is not the name of a file"),
        ({"y_score": "ü" * 128}, " is not the name of a file: it has 128 characters"),
        (
            {"y_score": {"a": "a.npz", "b": None}},
            "y_score: 'a' has the rows of a model, but 'b' has not",
        ),
        ({"running": Running(checkpoint=cast(Any, 5))}, "checkpoint: 5 is not a path"),
        ({"y_true": scan("Y.npz", format="x")}, "format='x') is not one of npz"),
        (
            {"y_score": scan("a.npz", separator=";")},
            "a.npz: scan(path, separator=...) is for CSV, JSON Lines and Parquet",
        ),
    ],
)
def test_evaluate_refuses_files_and_options_by_name(
    arguments: dict[str, Any], message: str
) -> None:
    npy(Path("m"), MODELS["a"])
    with pytest.raises((ValueError, OSError)) as refused:
        xmleval.evaluate(**{"y_true": "Y.npz", "y_score": "a.npz", "metrics": "p@1", **arguments})
    assert message in str(refused.value)


def test_compare_reads_seeds_of_scanned_files() -> None:
    Path("t.csv").write_text("tags\nred\nblue\n")
    guesses = {"a_1": "red blue", "a_2": "red red", "b_1": "blue red", "b_2": "red red"}
    for name, words in guesses.items():
        first, second = words.split()
        Path(f"{name}.csv").write_text(f"predicted,guess\nblue,{first}\nred,{second}\n")
    truth = scan("t.csv", label="tags")
    models = {name: scan(f"{name}_*.csv", label="guess") for name in "ab"}
    comparison = xmleval.compare(truth, models, metrics="p@1", seeds=True)
    assert comparison.difference("p@1", "a", "b").value == 0.5  # of means 0.75 and 0.25


def test_evaluate_takes_a_file_twice_with_different_fields() -> None:
    Path("d.csv").write_text("tags,guess\nred,red\nblue,red\n")
    truth = scan("d.csv", label="tags")
    both = xmleval.evaluate(
        truth,
        scan("d.csv", label="guess"),
        y_pred=scan("d.csv", label="guess"),
        metrics=["p@1", "f1.micro"],
    )
    assert dict(both) == {"p@1": 0.5, "f1.micro": 0.5}
    message = r"'tags' has the labels of the truth; give scan\(path, label=...\), the field of"
    with pytest.raises(ValueError, match=message):
        xmleval.evaluate(truth, scan("d.csv"), metrics="p@1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": scan("names.txt", format="lines")}, "labels: names.txt is not read row by row"),
        ({"exclude": scan("pairs.txt", label="x")}, "exclude: pairs.txt is not read row by row"),
        ({"running": {"save": "x"}}, "running: {'save': 'x'} is not an xmleval.Running"),
        ({"running": Running(executor="4")}, "executor: '4' is not the address of a scheduler"),
    ],
)
def test_evaluate_refuses_scans_and_settings_of_other_types(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        xmleval.evaluate("Y.npz", "a.npz", metrics="p@1", **arguments)
    with pytest.raises(ValueError, match="is a scan already"):
        scan(scan("a.csv", label="x"))
    with pytest.raises(TypeError, match="there is no option 'y_pred'"):
        xmleval.diff(TRUTH, *MODELS.values(), y_pred=TRUTH)


@pytest.mark.parametrize(
    "call",
    [
        lambda **option: xmleval.compare("Y.npz", {"a": "a.npz", "b": "b.npz"}, **option),
        lambda **option: xmleval.compare(TRUTH, MODELS, **option),
        lambda **option: xmleval.evaluate(TRUTH, TRUTH, **option),
        lambda **option: xmleval.propensity_sensitivity(TRUTH, MODELS, TRUTH, **option),
        lambda **option: xmleval.Evaluator(n_labels=3, **option),
        lambda **option: make_scorer("p@1", **option),
    ],
)
def test_functions_refuse_unknown_options_with_the_nearest(call: Any) -> None:
    message = "there is no option 'metrcs'; did you mean metrics?"
    with pytest.raises(TypeError, match=re.escape(message)):
        call(metrcs=["p@1"])


@pytest.mark.parametrize(
    ("call", "option", "nearest"),
    [
        (lambda **option: xmleval.compare(TRUTH, MODELS, **option), "base_line", "baseline"),
        (lambda **option: xmleval.diff(TRUTH, *MODELS.values(), **option), "metrcs", "metric"),
        (lambda **option: xmleval.check({}, **option), "no_worse", "no_worse_than"),
        (lambda **option: xmleval.thresholds.fit(TRUTH, TRUTH, **option), "mesure", "measure"),
        (lambda **option: xmleval.calibrate.fit(TRUTH, TRUTH, **option), "methd", "method"),
        (lambda **option: xmleval.Evaluator(**option), "blockrows", "block_rows"),
        (lambda **option: xmleval.fuse([TRUTH, TRUTH], **option), "rules", "rule"),
        (lambda **option: xmleval.label_statistics(TRUTH, **option), "ytrain", "y_train"),
        (lambda **option: xmleval.inverse_propensity(TRUTH, **option), "data_set", "dataset"),
        (lambda **option: xmleval.label_groups(TRUTH, **option), "edge", "edges"),
        (lambda **option: xmleval.scan("Y.csv", **option), "lable", "label"),
        (lambda **option: xmleval.write("a.npz", TRUTH, **option), "kinds", "kind"),
        (lambda **option: xmleval.rank({}, **option), "controls", "control"),
    ],
)
def test_functions_name_their_own_options_as_nearest(call: Any, option: str, nearest: str) -> None:
    message = f"there is no option '{option}'; did you mean {nearest}"
    with pytest.raises(TypeError, match=re.escape(message)):
        call(**{option: None})


def test_names_and_cutoffs_in_one_text_are_those_of_a_list() -> None:
    names = ["p@1", "fbeta.samples(beta=2)", "ndcg_cut_2", "r"]
    options: dict[str, Any] = {"decision": "top1", "k": [1, 2, 3, 5]}
    report = xmleval.evaluate(TRUTH, TRUTH, metrics=names, **options)
    options["k"] = "1-3, 5"
    text = ", ".join(names)
    assert xmleval.evaluate(TRUTH, TRUTH, metrics=text, **options).to_json() == report.to_json()
    in_list = xmleval.evaluate(TRUTH, TRUTH, metrics=[text], **options)
    assert in_list.to_json() == report.to_json()
    evaluator = xmleval.Evaluator(text, n_labels=report.n_labels, **options)
    evaluator.update(TRUTH, TRUTH)
    assert [*evaluator.compute()] == [*report]
    assert [*xmleval.compare(TRUTH, MODELS, metrics=text, **options)["a"]] == [*report]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "p@1,"}, "metrics: 'p@1,' has an empty name"),
        ({"k": "1-x"}, "k: '1-x' is not a list of positive integers, as in 1,3,5 or 1-20"),
        ({"k": "3-1"}, "k: '3-1' is not a list of positive integers, as in 1,3,5 or 1-20"),
        ({"k": "1-5000"}, "k: '1-5000' is more than 1000 cutoffs"),
    ],
)
def test_names_and_cutoffs_in_one_text_are_refused_if_damaged(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        xmleval.evaluate(TRUTH, TRUTH, **options)


def test_evaluate_has_the_arguments_that_other_functions_pass_on() -> None:
    assert {*ARGUMENTS} == {*inspect.signature(xmleval.evaluate).parameters}


def test_evaluate_refuses_exclude_without_names_if_the_truth_has_names() -> None:
    Path("t.jsonl").write_text(
        '{"id": "q1", "labels": ["x", "y"]}\n{"id": "q2", "labels": ["z"]}\n'
    )
    with pytest.raises(ValueError, match=r"^exclude: has no names, but y_true= has"):
        xmleval.evaluate("t.jsonl", NAMED[1], metrics="p@1", exclude=TRUTH[:2])


def test_evaluate_refuses_exclude_by_number_if_the_truth_has_names() -> None:
    Path("t.json").write_text('{"1": {"0": 1, "1": 1}, "0": {"1": 1}}')
    run = {"1": {"0": 0.5, "1": 0.25}, "0": {"0": 0.5}}
    for pairs in ([(0, 1)], np.array([[0, 1]])):
        with pytest.raises(ValueError, match=r"exclude: has pairs of numbers, but .*of names"):
            xmleval.evaluate("t.json", run, metrics="p@1", exclude=pairs)
