"""Every option of `evaluate` changes something: a value, a message, a note or a file."""

import inspect
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.problems import SPECS
from xmleval import Conventions, Evaluator, Running, compare, evaluate
from xmleval.base.conventions import CHOICES, PRESETS
from xmleval.cli.options import EVERY, FIELDS_ALONE, FORMAT, OF_MODEL, RUNS, SAVE
from xmleval.metrics import GROUPS

random = np.random.default_rng(11)
RELEVANT = (random.random((26, 8)) < 0.4).astype(np.int8)
RELEVANT[-1], RELEVANT[-2, :6] = 0, 1
RELEVANT[:, 6:] = 0  # labels without relevant rows, the last of which is not predicted either
Y = sp.csr_array(RELEVANT)
GRADED = RELEVANT * random.integers(1, 4, Y.shape)
S = random.permutation(Y.shape[0] * Y.shape[1]).reshape(Y.shape) / 210
S[:, 7] /= 99
S[-1] /= 99
LISTED = sp.csr_array(np.where(S > 0.4, S, 0))
H = sp.csr_array((S > 0.5).astype(np.int8))
TRAIN = sp.csr_array((random.random((60, 8)) < np.linspace(0.05, 0.6, 8)).astype(np.int8))
Q = np.linspace(1, 5, 8)
ROWS = np.array([*"ab" * 13])
LABELS = [*"hgfedcba"]
NAMED = [{LABELS[label]: score for label, score in enumerate(row)} for row in S]


class Case(NamedTuple):
    """A value of an option, and the other arguments without which it changes nothing."""

    value: Any
    beside: Mapping[str, Any] = MappingProxyType({})
    y_score: Any = S
    y_true: Any = Y


def asking(*metrics: str, **others: Any) -> dict[str, Any]:
    return {"metrics": [*metrics], **others}


EVERY_METRIC = asking(
    "all", "log_loss.samples", "brier@3", "h_f1.micro",
    y_train=TRAIN, hierarchy=[(0, 1)], decision="threshold0.5",
)  # fmt: skip
RUNNING = [
    Running(block_rows=0),
    Running(checkpoint="folder"),
    Running(resume=True),
    Running(save="state.npz"),
    Running(first_row=3),
    Running(executor=2),
    Running(executor="tcp://127.0.0.1:1"),
]
CASES: dict[str, list[Case]] = {
    "y_true": [Case(S > 0.5, asking("p@1"))],
    "y_score": [Case(1 - S, asking("p@1"))],
    "y_pred": [Case(H, asking("f1.micro"), None), Case(H, asking("p@1"))],
    "metrics": [*map(Case, ("p@1", *GROUPS, "all"))],
    "k": [Case(2), Case([1, 4])],
    "n_labels": [Case(9, asking("label_density"), None, [[0, 3]] * 26), Case(9)],
    "labels": [Case([*"abc"], {"per_label": True}, [["a"]], [["b"]]), Case(LABELS[:3])],
    "inverse_propensity": [Case(Q, asking("psp@1", "p@1")), Case(Q, asking("p@1"))],
    "y_train": [Case(TRAIN), Case(TRAIN, asking("tail_share(count=20)@1")), Case(TRAIN, asking("p@1"))],
    "decision": [
        *(Case(rule, asking("f1.micro")) for rule in ("top2", "threshold0.3", "threshold0.6")),
        Case("top2", asking("p@1")),
        Case("top2", asking("f1.micro@1")),
    ],
    "conventions": [
        *(Case(preset, EVERY_METRIC) for preset in PRESETS if PRESETS[preset] != Conventions()),
        Case({"auc_ties": "full"}, asking("p@1")),
        Case("sklearn,labels=present", asking("auc.micro", conventions="sklearn")),
        Case("unlisted=0", asking("lrap"), LISTED), Case("unlisted=0.5", asking("lrap"), LISTED),
        Case("unlisted=0", asking("f1.micro", y_pred=H), None),
        *(Case(f"gains={gains}", asking("ndcg@5"), S, GRADED) for gains in ("linear", "exp")),
        Case("gains=linear", asking("p@1"), S, GRADED),  # which is refused without
        Case("gains=exp", asking("p@1")),
        Case("link=sigmoid", asking("brier")), Case("link=sigmoid", asking("p@1")),
    ],
    "sample_weight": [
        Case(np.arange(26.0), asking("p@1")), Case(np.arange(26.0), asking("label_coverage@1")),
    ],
    "label_groups": [Case(LABELS), Case([0, 5], {"y_train": TRAIN}), Case("deciles", {"y_train": TRAIN})],
    "row_groups": [Case(ROWS)],
    "hierarchy": [Case([(0, 1)], asking("h_f1.micro@2", hierarchy=[(0, 2)])), Case([(0, 1)])],
    "exclude": [Case([(0, 0)]), Case(H)],
    "exclude_from": [Case("predictions", {"exclude": H}), Case("predictions")],
    "candidates": [Case([[0, 1]] * 26)],
    "higher_is_better": [
        Case(False), Case(False, asking("f1.micro", y_pred=H)),
        Case(False, asking("p@1"), (np.argsort(-S)[:, :3], None)),
    ],
    "bounds": [Case(True, asking("lrap"), LISTED), Case(True, asking("p@1"))],
    "per_row": [Case(True), Case(["p@1"], asking("p@1", "lrap")), Case(True, asking("auc.micro"))],
    "per_label": [Case(True), Case(["f1.macro@1"], asking("p@1", "f1.macro@1"))],
    "curve_points": [Case(5), Case(5, asking("p@1"), (np.argsort(-S)[:, :3], None))],
    "confidence": [Case(0.9), Case(0.8, {"confidence": 0.9}), Case(0.9, asking("peak_f1.micro"))],
    "clusters": [Case(ROWS, {"confidence": 0.9})],
    "memory": [Case("1KB/s"), Case(0)],
    "threads": [Case(0)],
    "running": [*map(Case, RUNNING), Case(Running(first_row=3), {"confidence": 0.9})],
    "progress": [Case(lambda *counts: Path("called").touch(), {}, "s.npy", "y.npz")],
}  # fmt: skip
ALL_CASES = [(name, case) for name, cases in CASES.items() for case in cases]


def seen(arguments: dict[str, Any]) -> list[Any]:
    """Return everything that a caller sees of an evaluation."""
    try:
        report = evaluate(**arguments)
    except (ValueError, ImportError, OSError, TypeError) as error:
        return [str(error)]
    shown: list[Any] = [report.to_json(), str(report)]
    for values in (report.per_row, report.per_label, report.roc_curve, report.pr_curve):
        try:
            shown.append(repr(values()))
        except ValueError:
            shown.append(None)
    return [*shown, sorted(path.name for path in Path().iterdir())]


def arguments_of(case: Case) -> dict[str, Any]:
    return {"y_true": case.y_true, "y_score": case.y_score, "metrics": ["p"], **case.beside}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the truth and the scores."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("y.npz", sp.csr_matrix(Y))
    np.save("s.npy", S)


def test_every_field_of_running_has_a_case() -> None:
    given = {field.name for running in RUNNING for field in fields(running) if getattr(running, field.name)}
    assert given | {"block_rows"} == {field.name for field in fields(Running)}


def test_every_option_has_cases() -> None:
    assert set(CASES) == set(inspect.signature(evaluate).parameters)


@pytest.mark.parametrize(("name", "case"), ALL_CASES, ids=[name for name, _ in ALL_CASES])
@pytest.mark.usefixtures("folder")
def test_option_changes_what_is_seen(name: str, case: Case) -> None:
    if name == "y_train":
        case = case._replace(beside={**asking("psp@1"), **case.beside})
    without = seen(arguments_of(case))
    assert seen(arguments_of(case) | {name: case.value}) != without


FIELDS = [
    (field, choice)
    for field, choices in [*CHOICES.items(), ("unlisted", (0.0, 0.5))]
    for choice in choices
    if choice != getattr(Conventions(), field)
]


@pytest.mark.parametrize(("field", "choice"), FIELDS)
def test_field_of_conventions_changes_a_value_or_is_noted(field: str, choice: Any) -> None:
    rows: dict[str, Any] = {"y_true": GRADED if field == "gains" else Y, "y_score": LISTED, **EVERY_METRIC}
    rows |= {"conventions": {field: choice}, "metrics": [*EVERY_METRIC["metrics"], "ndcg@2"]}
    if field != "gains":
        assert dict(evaluate(**rows)) != dict(evaluate(**{**rows, "conventions": None}))
    elif choice == "exp":
        assert dict(evaluate(**rows)) != dict(evaluate(**{**rows, "conventions": "gains=linear"}))
    assert not any("no effect" in note for note in evaluate(**rows).notes)
    (note,) = evaluate(Y, LISTED, metrics="label_coverage@7", conventions={field: choice}).notes[:1]
    if field == "unlisted":
        assert "no effect" not in note
    elif field in ("gains", "link"):
        needed = f"it is for measures of {'gains' if field == 'gains' else 'calibration'}"
        assert note.startswith(f'conventions="{field}=..." has no effect on label_coverage@7; {needed}')
    else:
        assert note == f"conventions: {field} has no effect on label_coverage@7"


def test_conventions_that_a_caller_does_not_set_are_silent() -> None:
    silent: list[Any] = [*PRESETS, Conventions(auc_ties="full"), {"auc_ties": "half"}, "wu2017,auc_ties=full"]
    for conventions in silent:
        assert not evaluate(Y, S, metrics="p@1", conventions=conventions).notes


def test_weights_are_noted_where_no_value_depends_on_them() -> None:
    options: dict[str, Any] = {
        "y_pred": H, "y_train": TRAIN, "hierarchy": [(0, 1)], "conventions": "unlisted=0,gains=linear",
    }  # fmt: skip
    truth, weight = sp.csr_array(GRADED), 1.0 + np.arange(26) ** 2 % 7
    for name, spec in SPECS.items():
        if spec.k and spec.k > 3:  # which takes all labels of every row
            continue
        report = evaluate(truth, S, metrics=name, sample_weight=weight, **options)
        plain = evaluate(truth, S, metrics=name, **options)
        noted = any("sample_weight= has no effect" in note for note in report.notes)
        if report[name] not in (0, 1):  # of all rows, however they weigh
            assert noted == (report[name] == plain[name]), name


def test_kept_rows_are_noted_where_no_measure_has_any() -> None:
    options: dict[str, Any] = {"y_pred": H, "y_train": TRAIN, "hierarchy": [(0, 1)]}
    options["conventions"] = "gains=linear"
    for name in SPECS:
        report = evaluate(GRADED, S, metrics=name, per_row=True, **options)
        noted = any("per_row= has no effect" in note for note in report.notes)
        assert noted == (name not in report.per_row()), name


@pytest.mark.usefixtures("folder")
def test_notes_on_options_are_those_of_the_whole_data() -> None:
    options: dict[str, Any] = {"metrics": ["p@1"], "conventions": "gains=linear,link=sigmoid", "k": 3}
    expected = evaluate(Y, S, **options).notes
    assert [note.split(" has no effect")[0] for note in expected] == [
        "k=", 'conventions="link=..."', 'conventions="gains=..."',
    ]  # fmt: skip
    first, second = (Evaluator(**options, n_labels=8) for _ in range(2))
    first.save("empty")
    first = Evaluator.load("empty")
    first.update(Y[:9], S[:9])
    second.update(Y[9:], S[9:])
    assert first.merge(second).compute().notes == expected
    second.update(GRADED, S)
    assert second.compute().notes == expected[:2]  # there are grades now
    assert compare(Y, {"a": S, "b": 1 - S}, **options).notes == expected


def test_comparison_notes_no_option_that_it_sets_itself() -> None:
    assert not compare(Y, {"a": S, "b": 1 - S}, metrics="auc.micro").notes


def test_notes_name_few_measures() -> None:
    (note,) = evaluate(Y, S, metrics="xmc", conventions="link=sigmoid").notes
    assert note == (
        'conventions="link=..." has no effect on p@1, p@3, p@5, ndcg@1, ndcg@3 and 4 more; '
        "it is for measures of calibration, such as brier@5"
    )


LOGITS = np.log(S.clip(0.04, 0.96) / (1 - S.clip(0.04, 0.96)))
SEEN = " is compared with scores below 0 and above 1; if these are logits, give decision="
OUTSIDE = [  # decision, scores, options, what a note says to give
    ("threshold0.5", LOGITS, {}, "threshold0 for the same probability"),
    ("threshold0.5", LOGITS, {"conventions": "unlisted=-9"}, "threshold0 for the same probability"),
    ("threshold0.5", sp.csr_array(LOGITS), {}, "threshold0 for the same probability"),
    ("threshold0.3", LOGITS, {}, "threshold-0.847298 for the same probability"),
    ("threshold0.9999", np.float32(LOGITS), {}, "threshold9.21024 for the same probability"),
    ("threshold0", LOGITS, {}, None),
    ("threshold1", LOGITS, {}, None),
    ("threshold-0.5", LOGITS, {}, None),
    ("top2", LOGITS, {}, None),
    ("threshold0.5", S, {}, None),
    ("threshold0.5", np.tanh(LOGITS), {}, None),
    ("threshold0.5", 2 * S, {}, None),
    ("threshold0.5", LOGITS, {"higher_is_better": False}, None),
    ("threshold0.5", LOGITS, {"metrics": ["f1.micro@2"]}, None),
]


@pytest.mark.parametrize(("decision", "scores", "options", "expected"), OUTSIDE)
def test_threshold_of_probabilities_on_logits_is_noted(
    decision: str, scores: Any, options: dict[str, Any], expected: str | None
) -> None:
    options = {"metrics": ["f1.micro"], "decision": decision, **options}
    about = [note for note in evaluate(Y, scores, **options).notes if "logits" in note]
    assert about == ([] if expected is None else [f"decision={decision}{SEEN}{expected}"])
    evaluator = Evaluator(**options)
    for start in range(0, 26, 5):  # a row with both, or one with each
        evaluator.update(Y[start : start + 5], scores[start : start + 5])
    assert [note for note in evaluator.compute().notes if "logits" in note] == about


@pytest.mark.usefixtures("folder")
def test_threshold_on_logits_is_noted_where_different_shards_have_the_ends() -> None:
    first, second = (Evaluator(["f1.micro"], decision="threshold0.5", n_labels=2) for _ in range(2))
    first.update(np.array([[1, 0]]), np.array([[-1.0, 0.5]]))
    second.update(np.array([[1, 0]]), np.array([[2.0, 0.5]]))
    assert not first.compute().notes
    assert not second.compute().notes
    first.save("state")
    assert "logits" in Evaluator.load("state").merge(second).compute().notes[0]


def test_link_is_told_not_to_be_for_decisions() -> None:
    asked: dict[str, Any] = {"metrics": ["f1.micro", "brier"], "decision": "threshold0.5"}
    report = evaluate(Y, LOGITS, **asked, conventions="link=sigmoid")
    given = evaluate(Y, LOGITS, metrics=["f1.micro"], decision="threshold0.5")
    assert report["f1.micro"] == given["f1.micro"]
    assert report.notes == [f'{given.notes[0]}, as conventions="link=..." is not for decisions']


NOISE = 0.3 * np.random.default_rng(3).normal(size=S.shape)
MODELS = {"a": RELEVANT + NOISE, "b": RELEVANT + 2 * NOISE[::-1], "c": S}
OF_COMPARE: dict[str, list[Any]] = {
    "models": [{"a": MODELS["a"], "b": S}],
    "y_true": [S > 0.5],
    "y_pred": [{name: scores > 0.5 for name, scores in MODELS.items()}],  # beside p@1, which reads none
    "baseline": ["b", "x"],
    "test": ["randomisation", "paired_t", "wilcoxon", "z"],
    "confidence": [0.5, None],
    "clusters": [ROWS],
    "seeds": [True],
    "worst": [2],
    "complete_lists": [True],
}


@pytest.mark.parametrize("name", OF_COMPARE)
def test_option_of_compare_changes_what_is_seen(name: str) -> None:
    own = {*inspect.signature(compare).parameters} - {"options"}
    assert own == {*OF_COMPARE}

    def outcome(**options: Any) -> str:
        try:
            compared = compare(**{"models": MODELS, "y_true": Y, "metrics": ["p@1", "f1.macro@2"], **options})
        except ValueError as error:
            return str(error)
        return f"{compared.to_json()}\n{compared}"

    without = outcome()
    for value in OF_COMPARE[name]:
        assert outcome(**{name: value}) != without


def test_options_of_the_shell_are_arguments_of_evaluate() -> None:
    parts = {*FIELDS_ALONE, *FORMAT, *OF_MODEL, *RUNS, *SAVE, "first_row"}  # of other arguments
    assert {*EVERY} - parts <= {*inspect.signature(evaluate).parameters}
