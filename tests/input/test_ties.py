"""Equal scores: no rule of order knows the truth, in no form of the input, and values are trec_eval's."""

import itertools
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import scipy.sparse as sp

import xmleval
from tests.damage import values_of
from tests.input.forms import NAMED, Rows, write_rows
from xmleval.metrics import TABLE

N = 7
NAMES = [f"d{number}" for number in random.Random(3).sample(range(100, 999), N)]
LATER_FIRST = sorted(NAMES, reverse=True)
OTHERS = ("label_coverage", "judged")  # which are no means over rows, or need judgements
BY_ROW = sorted({m.name for m in TABLE if m.family == "at k" and m.cutoff == "required"}.difference(OTHERS))
AT_K = [f"{name}@{k}" for name in BY_ROW for k in (1, 2, N, N + 3)]
MEASURES = [*AT_K, "ndcg@all", "map@all", "mrr@all", "one_error", "rprec"]
TRUTH: Rows = {f"q{i}": {name: 1} for i, name in enumerate(NAMES)}  # each label is relevant once
TAGS = [[*row] for row in TRUTH.values()]
FORMS = [name for name, form in NAMED.items() if "y_score" in form.roles]


def constant(order: list[str]) -> Rows:
    """One score for all names, listed in an order."""
    return {key: dict.fromkeys(order, 0.5) for key in TRUTH}


def report_of(order: list[str]) -> Any:
    """Return the report of distinct scores, best first."""
    run = {key: {name: -float(rank) for rank, name in enumerate(order)} for key in TRUTH}
    return xmleval.evaluate(TRUTH, run, metrics=MEASURES)


def agree(report: Any, expected: Any, names: list[str]) -> None:
    assert {name: report[name] for name in names} == pytest.approx({name: expected[name] for name in names})


@pytest.mark.parametrize("name", FORMS)
def test_equal_scores_rank_by_the_later_name_or_as_they_are_listed(name: str) -> None:
    """Whose values are those of chance: any order that does not know the truth has the mean over all."""
    form, order = NAMED[name], random.Random(5).sample(NAMES, N)
    expected = report_of(LATER_FIRST if form.by_name else order)
    y_true = TAGS if form.keyed is False else TRUTH
    y_score = form.make(constant(order), "y_score")
    for unlisted in ("below", 0.5, 0.0) if form.by_name else ("below",):
        report = xmleval.evaluate(y_true, y_score, metrics=MEASURES, conventions={"unlisted": unlisted})
        agree(report, expected, MEASURES)
    agree(report, report_of(NAMES), MEASURES)


@pytest.mark.parametrize("dense", [False, True])
def test_labels_in_any_order_and_deep_cutoffs_rank_by_name(dense: bool) -> None:
    rng = np.random.default_rng(1)
    names = [f"n{number}" for number in rng.permutation(900)[:600]]
    levels = rng.integers(0, 3, (4, 600)) + (1.0 if dense else 0.0)
    expected = [
        [names[j] for j in sorted(range(600), key=lambda j: (row[j], names[j]))[::-1]] for row in levels
    ]
    truth = pd.DataFrame(0, index=range(4), columns=names)
    for row, size in enumerate((1, 5, 40, 560)):
        truth.iloc[row, rng.choice(600, size, replace=False)] = 1
    scores = pd.DataFrame(levels, columns=names)
    rankings = ["p@1", "p@30", "ndcg@50", "ndcg@all", "map@all", "mrr@all", "rprec"]
    for metrics in (rankings, [*rankings, "f1.micro@40", "f1.macro@20"]):  # sets need an order of labels
        report = xmleval.evaluate(
            truth, scores, metrics=metrics, conventions={"unlisted": "below" if dense else 0.0}
        )
        agree(report, xmleval.evaluate(truth, expected, metrics=metrics), metrics)


@pytest.mark.parametrize("listed", [(3, 3), (0, 0), (3, 0), (0, 3)])
def test_unlisted_labels_with_a_score_rank_by_name(listed: tuple[int, int]) -> None:
    sizes = itertools.cycle(listed)
    run = {key: dict.fromkeys(random.Random(key).sample(NAMES, next(sizes)), 1.0) for key in TRUTH}
    whole = {key: {name: row.get(name, 0.0) for name in NAMES} for key, row in run.items()}
    metrics = [*MEASURES, "f1.micro@2", "precision.macro@3"]
    expected = xmleval.evaluate(TRUTH, whole, metrics=metrics)
    options: dict[str, Any] = {"metrics": metrics, "conventions": "unlisted=0", "labels": NAMES}
    rows = [*run.values()]
    wide = pd.DataFrame(whole.values(), columns=NAMES).astype(pd.SparseDtype(float, 0.0))
    evaluator = xmleval.Evaluator(**options)
    for truth, row in zip(TAGS, rows, strict=True):
        evaluator.update([truth], [row])
    reports = [xmleval.evaluate(*data, **options) for data in ((TRUTH, run), (TAGS, rows), (TAGS, wide))]
    for report in (*reports, evaluator.compute()):
        agree(report, expected, metrics)


def test_rows_that_list_nothing_take_the_type_of_other_scores() -> None:
    truth, run = [["a"], ["b"], ["a", "c"], ["c"]], [{}, {"a": 0.1, "b": 0.4}, {}, {"c": 0.1, "b": 0.05}]
    options: dict[str, Any] = {
        "labels": ["a", "b", "c"],
        "conventions": "unlisted=0.1",
        "decision": "threshold0.2",
    }
    options["metrics"] = ["ece", "auc.micro", "mrr@all", "f1.micro"]
    expected = xmleval.evaluate(truth, run, **options)
    for order in itertools.permutations(range(4)):
        evaluator = xmleval.Evaluator(**options)
        for row in order:
            evaluator.update([truth[row]], [run[row]])
        assert dict(evaluator.compute()) == dict(expected)
    evaluator = xmleval.Evaluator(**options)
    evaluator.update([truth[0]], [run[0]])
    with pytest.raises(ValueError, match="scores are float32 where earlier ones were not"):
        evaluator.update(np.eye(3)[:1], np.eye(3, dtype=np.float32)[:1])


TABLES = ["csv", "jsonl", "parquet"]


@pytest.mark.parametrize("form", ["run", "json", *TABLES, *(f"lists of {ending}" for ending in TABLES)])
def test_files_rank_equal_scores_by_the_later_name_or_as_they_are_listed(form: str) -> None:
    order = random.Random(7).sample(NAMES, N)
    expected = report_of(order if "lists" in form else LATER_FIRST)
    files = f"{write_rows('t', form, TRUTH, False)} {write_rows('s', form, constant(order))}"
    for unlisted in ("below",) if "lists" in form else ("below", "0.5"):
        agree(values_of(MEASURES, f"{files} --unlisted {unlisted}"), expected, MEASURES)


def n_tied(report: xmleval.Report) -> int:
    """Return how many rows a note of ties names, 0 without one."""
    notes = [str(note) for note in report.notes if "ties" in str(note)]
    return sum(int(note.partition("cutoff: ")[2].partition(";")[0]) for note in notes)


def depends(relevant: Any, scores: Any, cutoffs: list[int]) -> bool:
    """Tell whether some cutoff parts relevant and irrelevant labels of one score."""
    best_first = np.sort(scores)[::-1]
    groups = [
        relevant[scores == best_first[k]] for k in cutoffs if best_first[k - 1] == best_first[k] > -np.inf
    ]
    return any(0 < group.sum() < group.size for group in groups)


@pytest.mark.parametrize("cutoffs", [[1], [1, 5], [4, 40]])
@pytest.mark.parametrize("form", ["dense", "sparse", "list", "sorted list", "names", "wide", "below 0"])
@pytest.mark.parametrize("restriction", [None, "exclude", "candidates"])
def test_a_note_says_how_many_rows_depend_on_ties(
    form: str, cutoffs: list[int], restriction: str | None
) -> None:
    rng = np.random.default_rng(len(form))
    truth = rng.random((60, 50)) < 0.1
    untied = (rng.random((60, 1)) < 0.5) * rng.random(truth.shape)
    levels = (rng.integers(1, 6, truth.shape) + untied).astype(np.float32)
    names = [f"n{j}" for j in range(50)]
    order = np.argsort(-levels, axis=1) if form == "sorted list" else np.tile(np.arange(50), (60, 1))
    y_score: Any = {
        "dense": levels,
        "sparse": sp.csr_array(levels),
        "below 0": levels - 9,
        "names": [dict(zip(names, row.tolist(), strict=True)) for row in levels],
        "wide": pd.DataFrame(levels, columns=names),
    }.get(form, (order, np.take_along_axis(levels, order, axis=1)))

    def sets(cells: Any) -> Any:
        of_names = [[names[j] for j in np.flatnonzero(row)] for row in cells]
        return of_names if form in ("names", "wide") else cells.astype(int)

    rows: dict[str, Any] = {"y_true": sets(truth)}
    options: Any = {"metrics": [f"p@{k}" for k in cutoffs]}
    if restriction is not None:
        pairs = rng.random(levels.shape) < {"exclude": 0.1, "candidates": 0.9}[restriction]
        levels = np.where(pairs == (restriction == "candidates"), levels, -np.inf)
        rows[restriction] = sets(pairs)
    elif form == "below 0":
        options["conventions"] = "unlisted=0"
    expected = sum(map(depends, truth, levels, itertools.repeat(cutoffs)))
    assert expected > 0
    assert n_tied(xmleval.evaluate(y_score=y_score, **rows, **options)) == expected


def test_ties_that_change_nothing_have_no_note() -> None:
    among_irrelevant = {"q": {"a": 0.5, "b": 0.25, "c": 0.75}, "r": {"a": 0.5, "c": 0.5, "b": 0.1}}
    nothing: Rows = {"q": {}, "r": {}}  # labels below all others are tied, and earn nothing
    for run in (among_irrelevant, nothing):
        for metrics in (["p@1"], ["p@1", "lrap"]):  # with and without all labels in order
            report = xmleval.evaluate({"q": {"a": 1}, "r": {"b": 1}}, run, metrics=metrics, labels=[*"abc"])
            assert n_tied(report) == 0


def random_problem(seed: int) -> tuple[Rows, Rows]:
    """Return judgements and a run with ties, unjudged documents and missing rows."""
    rng = random.Random(seed)
    documents = [f"d{number}" for number in rng.sample(range(10_000), 30)]
    qrels: Rows = {}
    run: Rows = {}
    for i in range(rng.randint(2, 8)):
        judged = rng.sample(documents, rng.randint(1, 12))
        qrels[f"q{i}"] = {name: rng.choice([0, 0, 1, 1, 2, 3]) for name in judged}
        if rng.random() < 0.8:
            found = rng.sample(documents, rng.randint(1, 25))
            run[f"q{i}"] = {name: rng.choice([0.25, 0.5, 0.5, 1.0, rng.random()]) for name in found}
    run.setdefault("q0", {documents[0]: 0.5})
    return qrels, run


CUTOFFS = (1, 5, 10, 100)
TREC = {"map@all": "map", "mrr@all": "recip_rank", "ndcg@all": "ndcg", "rprec": "Rprec"}
TREC |= {f"{ours}@{k}": f"{name}_{k}" for k in CUTOFFS for ours, name in (("p", "P"), ("r", "recall"))}
TREC |= {f"{name}_{k}": f"{name}_{k}" for k in CUTOFFS for name in ("map_cut", "ndcg_cut", "P", "recall")}
TREC |= {"recip_rank": "recip_rank", "success_5": "success_5"}


@pytest.mark.parametrize("form", ["unlisted", "wide"])
def test_equal_scores_of_a_row_group_rank_as_those_of_all_rows(form: str) -> None:
    scores: Any = [{name: -0.5} for name in LATER_FIRST[:2]]
    options: Any = {"labels": NAMES, "conventions": "unlisted=0"}
    if form == "wide":
        scores, options = pd.DataFrame(np.ones((2, len(NAMES))), columns=NAMES), {"labels": NAMES}
    report = xmleval.evaluate(TAGS[:2], scores, metrics=MEASURES, row_groups=["a"] * 2, **options)
    assert report.results.row_groups["a"].results.values == report.results.values


BEIR = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
BEIR = {f"{name}@{k}": f"{measure}_{k}" for name, measure in BEIR.items() for k in CUTOFFS}


def trec_eval(qrels: Any, run: Any, names: dict[str, str]) -> Any:
    """Return trec_eval's means by our names, in which rows that the run lacks count 0."""
    asked = {"map", "recip_rank", "ndcg", "Rprec", "success.5"}
    asked |= {f"{name}.1,5,10,100" for name in ("P", "recall", "map_cut", "ndcg_cut")}
    rows = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run).values()
    means = {ours: sum(row[measure] for row in rows) / len(qrels) for ours, measure in names.items()}
    return pytest.approx(means, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_values_are_those_of_trec_eval(first: int) -> None:
    for seed in range(first, first + 25):
        qrels, run = random_problem(seed)
        expected = trec_eval(qrels, run, TREC)
        report = xmleval.evaluate(qrels, run, metrics=[*TREC], conventions="gains=linear")
        assert {name: report[name] for name in TREC} == expected
        form = "run" if seed % 2 else "json"
        values = values_of([*TREC], f"{write_rows('t', form, qrels, False)} {write_rows('s', form, run)}")
        assert {name: values[xmleval.metrics.spec.parse_spec(name).name] for name in TREC} == expected
        qrels = {key: row for key, row in qrels.items() if any(row.values())}  # as BEIR's data sets have them
        run = {key: run.get(key, {}) for key in qrels}
        report = xmleval.evaluate(qrels, run, metrics=[*BEIR], conventions="beir")
        assert {name: report[name] for name in BEIR} == trec_eval(qrels, run, BEIR)
