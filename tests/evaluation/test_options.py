"""Every option of `evaluate` changes something: a value, a message, a note or a file."""

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.definitions import case_of, value_of
from tests.own_measures import DECAYED, NOVELTY
from tests.problems import SPECS, Problem, is_allowed
from xmleval import Conventions, Evaluator, Report, Running, compare, evaluate
from xmleval.base.conventions import CHOICES, PRESETS
from xmleval.cli.options import EVERY, FIELDS_ALONE, FORMAT, PROPENSITY_OPTIONS, RUNS, SAVE
from xmleval.metrics import GROUPS

random = np.random.default_rng(11)
RELEVANT = (random.random((26, 8)) < 0.4).astype(np.int8)
RELEVANT[-1] = 0
RELEVANT[-2, :6] = 1
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
    """A value of an option, and the other arguments that it needs to change something."""

    value: Any
    arguments: Mapping[str, Any] = MappingProxyType({})
    y_score: Any = S
    y_true: Any = Y


def asking(*metrics: str, **arguments: Any) -> dict[str, Any]:
    return {"metrics": [*metrics], **arguments}


MARKED = np.where(S > 0.9, -1, np.asarray(Y))  # some cells are not judged
TOP_3 = (np.argsort(-S)[:, :3], None)  # lists without scores
EVERY_METRIC = asking(
    "all",
    "log_loss.samples",
    "brier@3",
    "h_f1.micro",
    y_train=TRAIN,
    hierarchy=[(0, 1)],
    decision="threshold0.5",
)
RUNNING = [
    Running(block_rows=0),
    Running(checkpoint="folder"),
    Running(resume=True),
    Running(save="state.npz"),
    Running(first_row=3),
    Running(executor=2),
    Running(executor="tcp://127.0.0.1:1"),
]
RULES = ("top2", "threshold0.3", "threshold0.6")
CHANGED_PRESETS = [preset for preset in PRESETS if PRESETS[preset] != Conventions()]
CASES: dict[str, list[Case]] = {
    "y_true": [
        Case(S > 0.5, asking("p@1")),
    ],
    "y_score": [
        Case(1 - S, asking("p@1")),
    ],
    "y_pred": [
        Case(H, asking("f1.micro"), y_score=None),
        Case(H, asking("p@1")),
    ],
    "metrics": [*map(Case, ("p@1", *GROUPS, "all"))],
    "k": [
        Case(2),
        Case([1, 4]),
    ],
    "n_labels": [
        Case(9, asking("label_density"), y_score=None, y_true=[[0, 3]] * 26),
        Case(9),
    ],
    "labels": [
        Case([*"abc"], {"per_label": True}, y_score=[["a"]], y_true=[["b"]]),
        Case(LABELS[:3]),
    ],
    "inverse_propensity": [
        Case(Q, asking("psp@1", "p@1")),
        Case(Q, asking("p@1")),
    ],
    "y_train": [
        Case(TRAIN),
        Case(TRAIN, asking("tail_share(count=20)@1")),
        Case(TRAIN, asking("p@1")),
    ],
    "decision": [
        *(Case(rule, asking("f1.micro")) for rule in RULES),
        Case("top2", asking("p@1")),
        Case("top2", asking("f1.micro@1")),
    ],
    "conventions": [
        *(Case(preset, EVERY_METRIC) for preset in CHANGED_PRESETS),
        Case({"auc_ties": "full"}, asking("p@1")),
        Case("sklearn,labels=present", asking("auc.micro", conventions="sklearn")),
        Case("unlisted=0", asking("lrap"), y_score=LISTED),
        Case("unlisted=0.5", asking("lrap"), y_score=LISTED),
        Case("unlisted=0", asking("f1.micro", y_pred=H), y_score=None),
        Case("gains=linear", asking("ndcg@5"), y_true=GRADED),
        Case("gains=exp", asking("ndcg@5"), y_true=GRADED),
        Case("gains=linear", asking("p@1"), y_true=GRADED),  # which is refused without
        Case("gains=exp", asking("p@1")),
        Case("relevant_from=2", asking("p@1"), y_true=GRADED),
        Case("relevant_from=2", asking("pred_coverage@1")),
        Case("link=sigmoid", asking("brier")),
        Case("link=sigmoid", asking("p@1")),
    ],
    "sample_weight": [
        Case(np.arange(26.0), asking("p@1")),
        Case(np.arange(26.0), asking("label_coverage@1")),
    ],
    "label_groups": [
        Case(LABELS),
        Case([0, 5], {"y_train": TRAIN}),
        Case("deciles", {"y_train": TRAIN}),
    ],
    "row_groups": [
        Case(ROWS),
    ],
    "hierarchy": [
        Case([(0, 1)], asking("h_f1.micro@2", hierarchy=[(0, 2)])),
        Case([(0, 1)]),
    ],
    "label_data": [
        Case({"popularity": Q / 9}, {"metrics": [NOVELTY], "label_data": {"popularity": Q / 7}}),
    ],
    "row_data": [
        Case(
            {"age": np.arange(26.0)},
            {"metrics": [DECAYED], "row_data": {"age": np.arange(26.0)[::-1]}},
        ),
    ],
    "exclude": [
        Case([(0, 0)]),
        Case(H),
    ],
    "exclude_from": [
        Case("predictions", {"exclude": H}),
        Case("predictions"),
    ],
    "unjudged": [
        Case([(0, 0)]),
        Case(H),
        Case(-1, y_true=MARKED),
    ],
    "judged": [
        Case(H),
        Case("truth", asking("auc.micro")),
    ],
    "candidates": [
        Case([[0, 1]] * 26),
    ],
    "higher_is_better": [
        Case(False),
        Case(False, asking("f1.micro", y_pred=H)),
        Case(False, asking("p@1"), y_score=TOP_3),
    ],
    "bounds": [
        Case(True, asking("lrap"), y_score=LISTED),
        Case(True, asking("p@1")),
    ],
    "per_row": [
        Case(True),
        Case(["p@1"], asking("p@1", "lrap")),
        Case(True, asking("auc.micro")),
    ],
    "per_label": [
        Case(True),
        Case(["f1.macro@1"], asking("p@1", "f1.macro@1")),
    ],
    "curve_points": [
        Case(5),
        Case(5, asking("p@1"), y_score=TOP_3),
    ],
    "confidence": [
        Case(0.9),
        Case(0.8, {"confidence": 0.9}),
        Case(0.9, asking("peak_f1.micro")),
    ],
    "clusters": [
        Case(ROWS, {"confidence": 0.9}),
    ],
    "memory": [
        Case("1KB/s"),
        Case(0),
    ],
    "threads": [
        Case(0),
    ],
    "running": [
        *map(Case, RUNNING),
        Case(Running(first_row=3), {"confidence": 0.9}),
    ],
    "progress": [
        Case(lambda *counts: Path("called").touch(), y_score="s.npy", y_true="y.npz"),
    ],
}
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
    arguments = {"y_true": case.y_true, "y_score": case.y_score, "metrics": ["p"]}
    return {**arguments, **case.arguments}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the truth and the scores."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("y.npz", sp.csr_matrix(Y))
    np.save("s.npy", S)


def test_every_field_of_running_has_a_case() -> None:
    field_names = {field.name for field in fields(Running)}
    changed = {"block_rows"}
    for running in RUNNING:
        changed |= {name for name in field_names if getattr(running, name)}
    assert changed == field_names


def test_every_option_has_cases() -> None:
    assert set(CASES) == set(inspect.signature(evaluate).parameters)


@pytest.mark.parametrize(("name", "case"), ALL_CASES, ids=[name for name, _ in ALL_CASES])
@pytest.mark.usefixtures("folder")
def test_option_of_evaluate_changes_its_results(name: str, case: Case) -> None:
    if name == "y_train":
        case = case._replace(arguments={**asking("psp@1"), **case.arguments})
    without = seen(arguments_of(case))
    assert seen(arguments_of(case) | {name: case.value}) != without


def list_other_choices() -> list[tuple[str, Any]]:
    """Return the fields of conventions with each choice but the default."""
    other_choices: list[tuple[str, Any]] = []
    for field, choices in [*CHOICES.items(), ("unlisted", (0.0, 0.5))]:
        default = getattr(Conventions(), field)
        other_choices += [(field, choice) for choice in choices if choice != default]
    return other_choices


PURPOSES = {"gains": "measures of gains", "link": "measures of calibration"}


@pytest.mark.parametrize(("field", "choice"), list_other_choices())
def test_field_of_conventions_changes_a_value_or_is_noted(field: str, choice: Any) -> None:
    arguments: dict[str, Any] = {"y_true": Y, "y_score": LISTED, **EVERY_METRIC}
    arguments["metrics"] = [*EVERY_METRIC["metrics"], "ndcg@2"]
    conventions = {field: choice}
    default: str | None = None
    if field == "gains":
        arguments["y_true"] = GRADED
        default = "gains=linear"
    report = evaluate(**arguments, conventions=conventions)
    if field != "gains" or choice == "exp":
        assert dict(report) != dict(evaluate(**arguments, conventions=default))
    assert not any("no effect" in note for note in report.notes)

    report = evaluate(Y, LISTED, metrics="label_coverage@7", conventions=conventions)
    note = report.notes[0]
    if field == "unlisted":
        assert "no effect" not in note
    elif field in PURPOSES:
        beginning = f'conventions="{field}=..." has no effect on label_coverage@7; '
        assert note.startswith(f"{beginning}it is for {PURPOSES[field]}")
    else:
        assert note == f"conventions: {field} has no effect on label_coverage@7"


N_LABELS = 6
EACH = set(range(N_LABELS))
# a label of most of these rows is not relevant or not predicted anywhere
MIXED = [set(), {1, 2, 3}, {0, 2}, {1}, {0, 1, 2, 3}]
SHAPES: dict[str, tuple[list[set[int]], int, dict[str, Any]]] = {  # truth, labels listed, base
    "no row": ([], N_LABELS, {}),
    "nothing": ([set(), set()], 0, {}),
    "everything": ([EACH, EACH], 3, {"unlisted": 0.0}),
    "some": (MIXED, N_LABELS, {}),
    "averaged": (MIXED, N_LABELS, {"ap_empty": "zero"}),
    "cut": ([*MIXED, EACH], 1, {}),
    "filled": ([*MIXED, EACH, set(), set()], 1, {"unlisted": 0.0}),
    "graded": ([*MIXED, EACH], 4, {"unlisted": 0.0, "gains": "linear"}),
}


def shaped(name: str) -> Problem:
    """Return a problem with tied scores, each of whose sets is predicted or moved by a label."""
    rng = np.random.default_rng(0)
    relevant, n_listed, base = SHAPES[name]
    truth: list[dict[int, float]] = []
    listed: list[list[tuple[int, float | None]]] = []
    for labels in relevant:
        grade = 1.0
        if "gains" in base:
            grade = 2.0 + len(truth) % 2
        truth.append({label: grade if label % 2 else 1.0 for label in sorted(labels)})
        ids = rng.permutation(N_LABELS)[:n_listed].tolist()
        if n_listed == 1:  # a relevant one, with a lower score than some choices of unlisted=
            ids = sorted(labels)[:1]
        most = 1 if n_listed == 1 else 3
        listed.append([(label, float(rng.integers(most) + 1) / 4) for label in sorted(ids)])
    arguments: dict[str, Any] = {
        "conventions": base,
        "y_pred": [labels if labels == EACH else {j + 1 for j in labels} for labels in relevant],
        "y_train": [{0, 1, 2}, {1}, {1, 4, 5}, {1, 4}],
        "hierarchy": [(0, 1), (2, 1), (3, 2)],
    }
    return Problem(N_LABELS, truth, listed, "csr", "float64", False, arguments)


def values_under(problem: Problem, field: str, choice: Any) -> dict[str, tuple[float, float]]:
    """Return the values of measures under a convention, computed and by definition."""
    changed = problem.with_conventions(**{field: choice})
    specs = [spec for spec in SPECS.values() if spec.k in (None, 3) and is_allowed(spec, changed)]
    report = replace(changed, metrics=tuple(spec.name for spec in specs)).evaluate()
    if (
        changed.conventions.all_orders
    ):  # their definitions are in `tests/metrics/test_tie_orders.py`
        return {spec.name: (report[spec.name], report[spec.name]) for spec in specs}
    case = case_of(changed)
    return {spec.name: (report[spec.name], value_of(spec, case)) for spec in specs}


@pytest.mark.parametrize("arguments", [{}, {"higher_is_better": False}])
def test_scores_beside_sets_have_an_effect_on_curves_alone(arguments: dict[str, Any]) -> None:
    truth = np.eye(3)
    scores = np.arange(9.0).reshape(3, 3)
    options: dict[str, Any] = {"metrics": "f1.micro", "y_pred": truth, **arguments}
    report = evaluate(truth, scores, **options)
    assert has_note(report, "y_score= has no effect on f1.micro")
    assert has_note(report, "higher_is_better= has no effect") == bool(arguments)
    report = evaluate(truth, scores, curve_points=5, **options)
    assert not has_note(report, "no effect")
    assert len(report.roc_curve()[0]) > 2


def test_label_coverage_of_present_labels_leaves_out_the_others() -> None:
    truth = np.eye(4)[:3]
    scores = np.eye(4)[[0, 1, 0]]  # hits 2 of 3 relevant labels, among 4
    for choice, value in (("all", 2 / 4), ("present", 2 / 3), ("seen", 2 / 3)):
        conventions = {"labels": choice}
        report = evaluate(truth, scores, metrics="label_coverage.macro@1", conventions=conventions)
        assert report["label_coverage.macro@1"] == pytest.approx(value, rel=1e-15)
        assert f"labels={choice}" in report.signature()
        assert not has_note(report, "no effect")


@pytest.mark.slow
def test_measures_declare_the_conventions_that_change_them() -> None:
    computed = set[tuple[str, str]]()  # measures and fields that change them
    defined = set[tuple[str, str]]()
    for name in SHAPES:
        problem = shaped(name)
        usual = values_under(problem, "link", "none")
        choices = [*list_other_choices(), ("unlisted", "below")]
        if not problem.conventions.graded:
            choices = [(field, choice) for field, choice in choices if field != "gains"]
        for field, choice in choices:
            if (field, choice) == ("gains", "binary"):
                continue
            values = values_under(problem, field, choice)
            for metric in values.keys() & usual.keys():
                pairs = zip(values[metric], usual[metric], (computed, defined), strict=True)
                for value, usual_value, changing in pairs:
                    if value != pytest.approx(usual_value, rel=1e-12, nan_ok=True):
                        changing.add((metric, field))
    declared = {
        (spec.name, field)
        for spec in SPECS.values()
        if spec.k in (None, 3)
        for field in spec.conventions("pred")
    }
    # a level has the conventions of its measure, and few rows here have labels of a level
    of_levels = {(name, field) for name, field in declared if SPECS[name].level}
    for changing in (computed, defined):
        assert sorted(changing - declared) == []
        assert sorted(declared - changing - of_levels) == []


def test_conventions_that_a_caller_does_not_set_are_silent() -> None:
    silent: list[Any] = [
        *PRESETS,
        Conventions(auc_ties="full"),
        {"auc_ties": "half"},
        "wu2017,auc_ties=full",
    ]
    for conventions in silent:
        assert not evaluate(Y, S, metrics="p@1", conventions=conventions).notes


def has_note(report: Report, text: str) -> bool:
    return any(text in note for note in report.notes)


def test_weights_are_noted_where_no_value_depends_on_them() -> None:
    options: dict[str, Any] = {
        "y_pred": H,
        "y_train": TRAIN,
        "hierarchy": [(0, 1)],
        "conventions": "unlisted=0,gains=linear",
    }
    truth = sp.csr_array(GRADED)
    weight = 1.0 + np.arange(26) ** 2 % 7
    for name, spec in SPECS.items():
        if spec.k and spec.k > 3:  # which takes all labels of every row
            continue
        report = evaluate(truth, S, metrics=name, sample_weight=weight, **options)
        plain = evaluate(truth, S, metrics=name, **options)
        if report[name] not in (0, 1):  # of all rows, whatever their weights
            is_noted = has_note(report, "sample_weight= has no effect")
            assert is_noted == (report[name] == plain[name]), name


def test_kept_rows_are_noted_where_no_measure_has_any() -> None:
    options: dict[str, Any] = {
        "y_pred": H,
        "y_train": TRAIN,
        "hierarchy": [(0, 1)],
        "conventions": "gains=linear",
    }
    for name in SPECS:
        report = evaluate(GRADED, S, metrics=name, per_row=True, **options)
        is_noted = has_note(report, "per_row= has no effect")
        assert is_noted == (name not in report.per_row()), name


@pytest.mark.usefixtures("folder")
def test_notes_on_options_are_those_of_the_whole_data() -> None:
    options: dict[str, Any] = {
        "metrics": ["p@1"],
        "conventions": "gains=linear,link=sigmoid,relevant_from=1",
        "k": 3,
    }
    expected = evaluate(Y, S, **options).notes
    assert [note.split(" has no effect")[0] for note in expected] == [
        "k=",
        'conventions="link=..."',
        'conventions="gains=..."',
    ]
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


@pytest.mark.parametrize(
    ("n", "named"),
    [
        (5, "p@1, p@2, p@3, p@4, p@5;"),
        (6, "p@1, p@2, p@3, p@4, p@5, p@6;"),
        (7, "p@1, p@2, p@3, p@4, p@5 and 2 more;"),
    ],
)
def test_notes_name_a_sixth_measure_but_not_more(n: int, named: str) -> None:
    names = [f"p@{k}" for k in range(1, n + 1)]
    (note,) = evaluate(Y, S, metrics=names, conventions="link=sigmoid").notes
    assert note.startswith(f'conventions="link=..." has no effect on {named} ')


@pytest.mark.parametrize("default", [(1, 3, 5), [1, 3, 5]])
def test_cutoffs_by_default_are_not_noted_in_any_form(default: Any) -> None:
    assert not evaluate(Y, S, metrics="auc.micro", k=default).notes
    assert evaluate(Y, S, metrics="auc.micro", k=default[:2]).notes


PROBABILITIES = S.clip(0.04, 0.96)
LOGITS = np.log(PROBABILITIES / (1 - PROBABILITIES))
SEEN = " is compared with scores below 0 and above 1; if these are logits, give decision="


class Decision(NamedTuple):
    """A decision on scores, and the threshold that a note suggests for logits."""

    decision: str
    scores: Any
    suggestion: str | None
    options: Mapping[str, Any] = MappingProxyType({})


DECISIONS = [
    Decision("threshold0.5", LOGITS, "threshold0"),
    Decision("threshold0.5", LOGITS, "threshold0", {"conventions": "unlisted=-9"}),
    Decision("threshold0.5", sp.csr_array(LOGITS), "threshold0"),
    Decision("threshold0.3", LOGITS, "threshold-0.847298"),
    Decision("threshold0.9999", np.float32(LOGITS), "threshold9.21024"),
    Decision("threshold0.4999999999", LOGITS, "threshold0"),
    Decision("threshold0", LOGITS, None),
    Decision("threshold1", LOGITS, None),
    Decision("threshold-0.5", LOGITS, None),
    Decision("top2", LOGITS, None),
    Decision("threshold0.5", S, None),
    Decision("threshold0.5", np.tanh(LOGITS), None),
    Decision("threshold0.5", np.clip(LOGITS, -1, 1), None),
    Decision("threshold0.5", 2 * S, None),
    Decision("threshold0.5", LOGITS, None, {"higher_is_better": False}),
    Decision("threshold0.5", LOGITS, None, {"metrics": ["f1.micro@2"]}),
]


def notes_on_logits(report: Report) -> list[str]:
    return [note for note in report.notes if "logits" in note]


@pytest.mark.parametrize("case", DECISIONS, ids=[case.decision for case in DECISIONS])
def test_threshold_of_probabilities_on_logits_is_noted(case: Decision) -> None:
    options: dict[str, Any] = {"metrics": ["f1.micro"], "decision": case.decision}
    options |= case.options
    expected = []
    if case.suggestion is not None:
        suggestion = f"{case.suggestion} for the same probability"
        expected = [f"decision={case.decision}{SEEN}{suggestion}"]
    assert notes_on_logits(evaluate(Y, case.scores, **options)) == expected
    evaluator = Evaluator(**options)
    for start in range(0, 26, 5):  # a row with both, or one with each
        rows = slice(start, start + 5)
        evaluator.update(Y[rows], case.scores[rows])
    assert notes_on_logits(evaluator.compute()) == expected


@pytest.mark.usefixtures("folder")
def test_threshold_on_logits_is_noted_where_different_shards_have_the_ends() -> None:
    options: dict[str, Any] = {
        "metrics": ["f1.micro"],
        "decision": "threshold0.5",
        "n_labels": 2,
    }
    first = Evaluator(**options)
    second = Evaluator(**options)
    first.update(np.array([[1, 0]]), np.array([[-1.0, 0.5]]))
    second.update(np.array([[1, 0]]), np.array([[2.0, 0.5]]))
    assert not first.compute().notes
    assert not second.compute().notes
    first.save("state")
    merged = Evaluator.load("state").merge(second)
    assert "logits" in merged.compute().notes[0]


def test_link_is_noted_not_to_apply_to_decisions() -> None:
    report = evaluate(
        Y,
        LOGITS,
        metrics=["f1.micro", "brier"],
        decision="threshold0.5",
        conventions="link=sigmoid",
    )
    without_link = evaluate(Y, LOGITS, metrics=["f1.micro"], decision="threshold0.5")
    note = f'{without_link.notes[0]}, as conventions="link=..." is not for decisions'
    assert report["f1.micro"] == without_link["f1.micro"]
    assert report.notes == [note]


NOISE = 0.3 * np.random.default_rng(3).normal(size=S.shape)
MODELS = {"a": RELEVANT + NOISE, "b": RELEVANT + 2 * NOISE[::-1], "c": S}
SETS = {name: scores > 0.5 for name, scores in MODELS.items()}
COMPARE_VALUES: dict[str, list[Any]] = {
    "models": [{"a": MODELS["a"], "b": S}],
    "y_true": [S > 0.5],
    "y_pred": [SETS],  # p@1 reads none
    "baseline": ["b", "x"],
    "test": ["randomisation", "paired_t", "wilcoxon", "z"],
    "confidence": [0.5, None],
    "clusters": [ROWS],
    "seeds": [True],
    "worst": [2],
    "complete_lists": [True],
}


def compared_text(**options: Any) -> str:
    """Return the comparison as JSON and text, or why it is refused."""
    arguments: dict[str, Any] = {
        "models": MODELS,
        "y_true": Y,
        "metrics": ["p@1", "f1.macro@2"],
    }
    try:
        comparison = compare(**{**arguments, **options})
    except ValueError as error:
        return str(error)
    return f"{comparison.to_json()}\n{comparison}"


@pytest.mark.parametrize("name", COMPARE_VALUES)
def test_option_of_compare_changes_its_results(name: str) -> None:
    parameters = {*inspect.signature(compare).parameters} - {"options"}
    assert parameters == {*COMPARE_VALUES}
    without = compared_text()
    for value in COMPARE_VALUES[name]:
        assert compared_text(**{name: value}) != without


def test_options_of_the_shell_are_arguments_of_evaluate() -> None:
    parts_of_arguments = {
        *FIELDS_ALONE,
        *FORMAT,
        *PROPENSITY_OPTIONS,
        *RUNS,
        *SAVE,
        "first_row",
        "measures",
    }
    assert {*EVERY} - parts_of_arguments <= {*inspect.signature(evaluate).parameters}
