"""Groups of labels and of rows: each value is that of evaluating the part alone."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, Report, evaluate, label_groups
from xmleval.spec import parse_spec
from xmleval.states.state import state_class

N_ROWS, N_LABELS = 90, 24
RNG = np.random.default_rng(8)
Q = 1 + 9 * RNG.random(N_LABELS)
TRUTH = (RNG.random((N_ROWS, N_LABELS)) < np.linspace(0.4, 0.02, N_LABELS)).astype(int)
SCORES = np.round(RNG.random((N_ROWS, N_LABELS)) + 0.4 * TRUTH, 1)  # ties
WEIGHT = RNG.random(N_ROWS) + 0.1
NAMES = np.array(["head", "tail", "mid"])[RNG.integers(0, 3, N_LABELS)]
LANGUAGES = np.array(["de", "en", "fr", "it"])[RNG.integers(0, 4, N_ROWS)]
IDS = np.argsort(-SCORES, axis=1, kind="stable")[:, :7].astype(np.int32)
LISTED = np.take_along_axis(SCORES, IDS, axis=1)
SPARSE = sp.csr_array(SCORES * (RNG.random(SCORES.shape) < 0.5))
EVERY: dict[str, Any] = {"metrics": ["all", "auc.micro(bits=8)"], "inverse_propensity": Q, "decision": "top3"}


def listed(ids: Any, scores: Any) -> sp.csr_array:
    """Return a list as a matrix, so that columns can be taken."""
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    return sp.csr_array((scores.ravel(), (rows, ids.ravel())), shape=(len(ids), N_LABELS))


FORMS: dict[str, Any] = {"dense": (SCORES, SCORES), "sparse": (SPARSE, SPARSE), "list": ((IDS, LISTED), None)}


def top(scores: Any, k: int) -> Any:
    """Return the first k labels of each row, as sets."""
    found = np.zeros(TRUTH.shape, int)
    matrix = sp.csr_array(scores)
    for row in range(N_ROWS):
        lo, hi = matrix.indptr[row : row + 2]
        pairs = sorted(zip(-matrix.data[lo:hi], matrix.indices[lo:hi], strict=True))
        found[row, [label for _, label in pairs[:k]]] = 1
    return found


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def kind_of(name: str, weighted: bool) -> tuple[bool, int | None]:
    """Return whether a measure is of labels, and at which k it reads sets, 0 for the decision's."""
    spec = parse_spec(name)
    parts = [parse_spec(part) for part in spec.metric.parts] or [spec]
    states = [(weighted and part.metric.weighted_state) or part.state for part in parts]
    of_sets = any("sets" in part.metric.needs or part.state == "label_totals" for part in parts)
    return all(state_class(state).of_labels for state in states), (spec.k or 0) if of_sets else None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("weighted", "unlisted"), [(False, "below"), (True, "below"), (False, 0.35)])
def test_values_within_a_group_are_those_of_its_labels_alone(
    form: str, weighted: bool, unlisted: Any
) -> None:
    given, held = FORMS[form]
    held = listed(IDS, LISTED) if held is None else held
    more: dict[str, Any] = {"unlisted": unlisted, "sample_weight": WEIGHT if weighted else None}
    report = evaluate(TRUTH, given, label_groups=NAMES, **EVERY, **more)
    assert {*report.groups} == {*NAMES}
    kinds: dict[tuple[bool, int | None], list[str]] = {}
    for name in report:
        kinds.setdefault(kind_of(name, weighted), []).append(name)
    for group, own in report.groups.items():
        labels = np.flatnonzero(group == NAMES)
        with_relevant = np.flatnonzero(TRUTH[:, labels].any(axis=1))
        assert (own.n_rows, own.n_labels) == (with_relevant.size, labels.size)
        for (of_labels, k), names in kinds.items():
            rows = np.arange(N_ROWS) if of_labels else with_relevant
            alone: dict[str, Any] = {"unlisted": unlisted, "inverse_propensity": Q[labels]}
            if weighted:
                alone["sample_weight"] = WEIGHT[rows]
            truth = TRUTH[rows][:, labels]
            if k is None:
                wanted: Any = evaluate(truth, held[rows][:, labels], metrics=names, **alone)
            elif unlisted == "below":  # else labels without a stored score are in sets, too
                sets = top(held, k or 3)[rows][:, labels]
                plain = {name: name.split("@")[0] for name in names if "label_coverage" not in name}
                found = evaluate(truth, y_pred=sets, metrics=[*plain.values()], **alone)
                wanted = {name: found[alias] for name, alias in plain.items()}
            else:
                continue
            assert [name for name in wanted if not same(own[name], wanted[name])] == []
    assert sum(map(len, kinds.values())) > 80


def test_all_measures_have_values_within_groups() -> None:
    report = evaluate(TRUTH, SCORES, label_groups=NAMES, **EVERY)
    assert all([*own] == [*report] for own in report.groups.values())


def test_label_coverage_within_a_group_is_that_of_its_labels() -> None:
    report = evaluate(TRUTH, SCORES, metrics="label_coverage@1", label_groups=NAMES)
    hit, occurs = (top(SCORES, 1) & TRUTH).any(axis=0), TRUTH.any(axis=0)
    for group, own in report.groups.items():
        assert own["label_coverage@1"] == hit[occurs & (group == NAMES)].mean()


def test_groups_are_those_of_plain_loops() -> None:
    names = ["p@3", "ndcg@3", "r@3", "psp@3", "f1.macro@3", "lrap"]
    report = evaluate(TRUTH, SCORES, metrics=names, inverse_propensity=Q, label_groups=NAMES)
    for group in {*NAMES}:
        labels = [j for j in range(N_LABELS) if NAMES[j] == group]
        hits_at_3, share, best, gained = [], 0.0, 0.0, 0.0
        for i in range(N_ROWS):
            order = sorted(range(N_LABELS), key=lambda j: (-SCORES[i, j], j))
            share += sum(TRUTH[i, j] for j in order[:3] if j in labels) / 3
            relevant = [j for j in labels if TRUTH[i, j]]
            if relevant:
                first = [j for j in order if j in labels][:3]
                hits_at_3.append(sum(TRUTH[i, j] for j in first) / 3)
                gained += sum(Q[j] for j in first if TRUTH[i, j])
                best += sum(sorted((Q[j] for j in relevant), reverse=True)[:3])
        own = report.groups[group]
        assert own["p@3"] == pytest.approx(sum(hits_at_3) / len(hits_at_3), abs=1e-12)
        assert own["psp@3"] == pytest.approx(gained / best, abs=1e-12)
        assert report.shares[group]["p@3"] == pytest.approx(share / N_ROWS, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_add_up_to_the_value_of_all_labels(form: str, weighted: bool) -> None:
    weight = WEIGHT if weighted else None
    names = ["xmc", "ps", "rcap@3", "dcg@3"]
    arguments: dict[str, Any] = {"metrics": names, "inverse_propensity": Q, "sample_weight": weight}
    report = evaluate(TRUTH, FORMS[form][0], label_groups=NAMES, **arguments)
    assert all([*own] == [*report] for own in report.shares.values())
    for name in report:
        parts = [own[name] for own in report.shares.values()]
        assert min(parts) > 0
        assert abs(math.fsum(parts) - report[name]) <= 4 * math.ulp(report[name])


@pytest.mark.parametrize("empty", ["zero", "skip", "one"])
@pytest.mark.parametrize("n_empty", [0, 3])
@pytest.mark.parametrize("streamed", [False, True])
def test_shares_add_up_or_are_undefined(streamed: bool, n_empty: int, empty: str) -> None:
    truth = TRUTH.copy()
    truth[truth.sum(axis=1) == 0, 0] = 1
    truth[:n_empty] = 0
    arguments: dict[str, Any] = {
        "metrics": ["p@1", "r@1", "ndcg@3", "dcg@3", "psp@3"], "inverse_propensity": Q, "label_groups": NAMES,
        "conventions": {"empty": empty},
    }  # fmt: skip
    if streamed:
        evaluator = Evaluator(n_labels=N_LABELS, **arguments)
        for rows in np.array_split(np.arange(N_ROWS), 4):
            evaluator.update(truth[rows], SCORES[rows])
        report = evaluator.compute()
    else:
        report = evaluate(truth, SCORES, **arguments)
    undefined = ["r@1", "ndcg@3"] if empty == "one" and n_empty else []
    for name in report:
        total = math.fsum(own[name] for own in report.shares.values())
        assert math.isnan(total) if name in undefined else total == pytest.approx(report[name], rel=1e-15)
    told = "no shares of groups of r@1, ndcg@3: rows without relevant labels count 1 and belong to no group"
    assert (told in report.notes) == bool(undefined)


def test_values_of_rows_are_those_of_evaluating_them_alone() -> None:
    more: dict[str, Any] = {"sample_weight": WEIGHT, "row_groups": LANGUAGES}
    report = evaluate(TRUTH, SPARSE, **EVERY, **more)
    assert [*report.row_groups] == ["de", "en", "fr", "it"]
    for language, own in report.row_groups.items():
        rows = language == LANGUAGES
        alone = evaluate(TRUTH[rows], SPARSE[rows], **EVERY, sample_weight=WEIGHT[rows])
        assert all(same(own[name], alone[name]) for name in alone)
        assert [*own] == [*alone]
        assert own.n_rows == alone.n_rows


def test_groups_do_not_change_the_values_of_all() -> None:
    plain = evaluate(TRUTH, SPARSE, **EVERY).to_dict()
    grouped = evaluate(TRUTH, SPARSE, **EVERY, label_groups=NAMES, row_groups=LANGUAGES).to_dict()
    for key in plain:
        if key not in ("groups", "row_groups", "notes"):
            assert plain[key] == grouped[key], key


@pytest.mark.parametrize("weighted", [False, True])
def test_bits_do_not_depend_on_cutting_merging_or_saving(weighted: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    settings: dict[str, Any] = {**EVERY, "label_groups": NAMES}

    def part(lo: int, hi: int) -> dict[str, Any]:
        more = {"sample_weight": WEIGHT[lo:hi]} if weighted else {}
        return {"y_true": TRUTH[lo:hi], "y_score": SPARSE[lo:hi], "row_groups": LANGUAGES[lo:hi], **more}

    rows = part(0, N_ROWS)
    whole = evaluate(**rows, **settings, threads=1).to_json()
    assert evaluate(**rows, **settings, threads=2, block_rows=7).to_json() == whole
    assert evaluate(**rows, **settings, memory=20_000, block_rows=11).to_json() == whole
    for number in range(4):
        cuts = [0, *sorted(rng.integers(0, N_ROWS + 1, 3).tolist()), N_ROWS]
        parts = []
        for lo, hi in itertools.pairwise(cuts):
            one = Evaluator(**settings, n_labels=N_LABELS, block_rows=int(rng.integers(5, 50)))
            one.update(**part(lo, hi))
            if number % 2:
                one.save(tmp_path / "state.npz")
                one = Evaluator.load(tmp_path / "state.npz")
            parts.append(one)
        while len(parts) > 1:
            first, second = rng.choice(len(parts), 2, replace=False)
            parts[first].merge(parts[second])
            del parts[second]
        assert parts[0].compute().to_json() == whole


def test_states_of_other_groups_are_not_merged() -> None:
    def evaluator(groups: Any) -> Evaluator:
        found = Evaluator("p@1", n_labels=N_LABELS, label_groups=groups)
        found.update(TRUTH, SCORES)
        return found

    with pytest.raises(ValueError, match="merge: label_groups differ"):
        evaluator(NAMES).merge(evaluator(np.roll(NAMES, 1)))
    with pytest.raises(ValueError, match="merge: label_groups differs"):
        evaluator(NAMES).merge(evaluator(None))
    other = Evaluator("p@1", n_labels=N_LABELS, label_groups=NAMES)
    with pytest.raises(ValueError, match="row_groups: given now, but not earlier"):
        evaluator(NAMES).update(TRUTH, SCORES, row_groups=LANGUAGES)
    assert not other.n_rows


def test_candidates_and_exclusion_hold_within_groups() -> None:
    among = np.argsort(RNG.random(TRUTH.shape), axis=1)[:, :9]
    mask = np.zeros(TRUTH.shape, bool)
    np.put_along_axis(mask, among, True, axis=1)
    gone = RNG.random(TRUTH.shape) < 0.1
    arguments: dict[str, Any] = {"metrics": ["p@1", "ndcg@3"]}
    report = evaluate(TRUTH, SCORES, candidates=among, exclude=gone, label_groups=NAMES, **arguments)
    kept = sp.csr_array(np.where(mask & ~gone, SCORES + 1, 0))
    for group, own in report.groups.items():
        labels = np.flatnonzero(group == NAMES)
        truth = (TRUTH & ~gone)[:, labels]
        rows = truth.any(axis=1)
        alone = evaluate(truth[rows], kept[rows][:, labels], **arguments)
        assert dict(own) == dict(alone)


def test_error_bars_change_no_group() -> None:
    given: dict[str, Any] = {"label_groups": NAMES, "row_groups": LANGUAGES, **EVERY}
    plain, with_bars = (evaluate(TRUTH, SPARSE, **given, confidence=level) for level in (None, 0.9))
    for kind in ("groups", "shares", "row_groups"):
        for name, report in getattr(plain, kind).items():
            np.testing.assert_equal(dict(getattr(with_bars, kind)[name]), dict(report))
    assert evaluate(TRUTH, SPARSE, **EVERY, confidence=0.9).confidence == with_bars.confidence


def test_short_lists_are_told() -> None:
    report = evaluate(TRUTH, (IDS, LISTED), metrics="p@3", label_groups=NAMES)
    assert any("lists hold few labels of a group (" in note for note in report.notes)
    whole = evaluate(TRUTH, SCORES, metrics="p@3", label_groups=NAMES)
    assert not any("lists hold" in note for note in whole.notes)
    of_all = ["gini@3", "f1.samples@3", "ece@3"]  # of the first k of all labels
    listed = evaluate(TRUTH, (IDS, LISTED), metrics=of_all, link="sigmoid", label_groups=NAMES)
    assert not any("lists hold" in note for note in listed.notes)


def test_too_many_groups_of_rows_are_refused() -> None:
    many = np.arange(1001)
    with pytest.raises(ValueError, match="row_groups: 1001 groups; expected at most 1000"):
        evaluate(np.eye(1001, dtype=int), np.eye(1001), metrics="p@1", row_groups=many)
    evaluator = Evaluator("p@1", n_labels=1001)
    evaluator.update(np.eye(1001)[:1000], np.eye(1001)[:1000], row_groups=many[:1000])
    evaluator.compute()
    with pytest.raises(ValueError, match="row_groups: 1001 groups; expected at most 1000"):
        evaluator.update(np.eye(1001)[1000:], np.eye(1001)[1000:], row_groups=many[1000:])
    assert evaluator.compute().n_rows == 1000


def printed(report: Report) -> list[str]:
    return [str(report), report.to_markdown(), report.to_latex(), report._repr_html_(), report.to_csv()]


def test_every_form_of_a_report_has_the_groups() -> None:
    report = evaluate(
        TRUTH, SCORES, metrics="p@1", label_groups=NAMES, row_groups=[f"{n % 3}" for n in range(N_ROWS)]
    )
    for text in printed(report):
        assert all(name in text for name in ("tail", "mid", "head"))
        assert f"{report.groups['tail']['p@1']:.4f}"[:5] in text
        assert f"{report.row_groups['2']['p@1']:.4f}"[:5] in text
    held = report.to_dict()
    assert held["groups"]["tail"]["values"] == dict(report.groups["tail"])
    assert held["groups"]["tail"]["shares"] == dict(report.shares["tail"])
    assert held["row_groups"]["1"] == {"n_rows": 30, "values": dict(report.row_groups["1"])}
    with pytest.raises(KeyError, match="no group 'tial'; there are 'head', 'tail', 'mid'"):
        report.groups["tial"]
    with pytest.raises(KeyError, match="give label_groups="):
        evaluate(TRUTH, SCORES).groups["tail"]


def test_groups_from_training() -> None:
    counts = [0, 1, 10, 11, 100, 101, 0]
    groups = label_groups(label_counts=counts)
    assert {name: ids.tolist() for name, ids in groups.items()} == {
        "zero-shot": [0, 6], "tail": [1, 2], "torso": [3, 4], "head": [5]
    }  # fmt: skip
    assert groups.ranges == ["0", "1-10", "11-100", ">100"]
    assert [*label_groups(label_counts=counts, edges=[50])] == ["zero-shot", "few", "frequent"]
    assert [*label_groups(label_counts=counts, edges=[1, 5, 10, 50])] == [
        "zero-shot",
        "1",
        "6-10",
        "11-50",
        ">50",
    ]
    train = np.array([[1, 0, 1], [1, 0, 0]])
    assert [*label_groups(train, [0, 1])] == ["zero-shot", "few", "frequent"]


@pytest.mark.parametrize("edges", [[0, 2, 5], (2, 5), np.array([0, 2, 5]), range(3), "deciles"])
@pytest.mark.parametrize("named", [False, True])
def test_edges_with_training_labels_are_groups(edges: Any, named: bool) -> None:
    train: Any = (np.random.default_rng(1).random((20, N_LABELS)) < np.linspace(0, 0.6, N_LABELS)).astype(int)
    options: dict[str, Any] = {"metrics": ["p@1", "f1.macro@3"]}
    groups = label_groups(train, edges)
    if named:
        options["labels"] = [f"label {number}" for number in range(N_LABELS)]
        train = [[options["labels"][label] for label in row.nonzero()[0]] for row in train]
    expected = evaluate(TRUTH, SCORES, **options, label_groups=groups)
    report = evaluate(TRUTH, SCORES, **options, y_train=train, label_groups=edges)
    assert repr(report.groups) == repr(expected.groups)
    evaluator = Evaluator(n_labels=N_LABELS, **options, y_train=train, label_groups=edges)
    evaluator.update(TRUTH, SCORES)
    assert repr(evaluator.compute().groups) == repr(expected.groups)
    with pytest.raises(
        ValueError, match=r"^label_groups: .* are numbers of training rows; give y_train=, or"
    ):
        evaluate(TRUTH, SCORES, **options, label_groups=edges)


@pytest.mark.parametrize("wrong", [[0, 10, 10], [3, 1], [0.5, 2], ["a", "b"]])
def test_what_are_no_edges_are_groups_of_labels(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^label_groups: "):
        evaluate(TRUTH, SCORES, metrics="p@1", y_train=TRUTH, label_groups=wrong)


@pytest.mark.parametrize("seed", range(5))
def test_deciles_have_equal_shares_of_positives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.floor(1000 / np.arange(1, 400) ** rng.uniform(0.2, 0.8)).astype(int) * (rng.random(399) < 0.9)
    groups = label_groups(label_counts=counts, edges="deciles")
    assert [*groups] == ["zero-shot", *(f"decile {n}" for n in range(1, 11))]
    positives = 0
    for number in range(1, 11):
        own = groups[f"decile {number}"]
        positives += counts[own].sum()
        assert abs(positives - number * counts.sum() / 10) <= counts[own].max()  # within a label
        if number > 1:
            before = groups[f"decile {number - 1}"]
            assert counts[before].min() >= counts[own].max()
            tied = before[counts[before] == counts[own].max()]
            assert not tied.size or tied.max() < own[counts[own] == counts[own].max()].min()
    assert not counts[groups["zero-shot"]].any()
