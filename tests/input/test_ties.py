"""Ties: the order of equal scores never depends on the truth, and values are those of trec_eval."""

import itertools
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
import scipy.sparse as sp

from tests.damage import values_of
from tests.input.forms import NAMED, Rows, write_rows
from xmleval import Evaluator, Report, evaluate
from xmleval.metrics import TABLE
from xmleval.metrics.spec import parse_spec

N = 7
NAMES = [f"d{number}" for number in random.Random(3).sample(range(100, 999), N)]
LATER_FIRST = sorted(NAMES, reverse=True)
WITH_CUTOFF = {m.name for m in TABLE if m.family == "at k" and m.cutoff == "required"}
# no mean over rows, and measures of judgements
NOT_BY_ROW = {"label_coverage", "judged", "rbp_residual", "err"}
BY_ROW = sorted(WITH_CUTOFF - NOT_BY_ROW)
AT_K = [parse_spec(f"{name}@{k}").name for name in BY_ROW for k in (1, 2, N, N + 3)]
MEASURES = [*AT_K, "ndcg@all", "map@all", "mrr@all", "one_error", "rprec"]
TRUTH: Rows = {f"q{i}": {name: 1} for i, name in enumerate(NAMES)}  # each label is relevant once
TAGS = [[*row] for row in TRUTH.values()]
FORMS = [name for name, form in NAMED.items() if "y_score" in form.roles]


def one_score(order: list[str]) -> Rows:
    """Return one score for all names of all rows, listed in an order."""
    return {key: dict.fromkeys(order, 0.5) for key in TRUTH}


def report_without_ties(order: list[str]) -> Any:
    """Return the report of distinct scores, best first."""
    scores = {name: -float(rank) for rank, name in enumerate(order)}
    run = dict.fromkeys(TRUTH, scores)
    return evaluate(TRUTH, run, metrics=MEASURES)


def assert_same(report: Any, expected: Any, measures: list[str] = MEASURES) -> None:
    actual = {name: report[name] for name in measures}
    assert actual == pytest.approx({name: expected[name] for name in measures})


@pytest.mark.parametrize("name", FORMS)
def test_equal_scores_rank_by_the_later_name_or_as_listed(name: str) -> None:
    """The values are those of any order that ignores the truth: the mean over all orders."""
    form = NAMED[name]
    order = random.Random(5).sample(NAMES, N)
    expected = report_without_ties(LATER_FIRST if form.by_name else order)
    y_true = TAGS if form.keyed is False else TRUTH
    y_score = form.make(one_score(order), "y_score")
    unlisted_scores: list[Any] = ["below"]
    if form.by_name:
        unlisted_scores += [0.5, 0.0]
    for unlisted in unlisted_scores:
        conventions = {"unlisted": unlisted}
        report = evaluate(y_true, y_score, metrics=MEASURES, conventions=conventions)
        assert_same(report, expected)
    assert_same(report, report_without_ties(NAMES))


@pytest.mark.parametrize("dense", [False, True])
def test_equal_scores_rank_by_name_up_to_deep_cutoffs(dense: bool) -> None:
    rng = np.random.default_rng(1)
    names = [f"n{number}" for number in rng.permutation(900)[:600]]
    levels = rng.integers(0, 3, (4, 600)) + float(dense)
    rankings = []
    for row in levels:
        scored_names = sorted(zip(row, names, strict=True), reverse=True)
        rankings.append([name for _, name in scored_names])
    truth = pd.DataFrame(0, index=range(4), columns=names)
    for position, size in enumerate((1, 5, 40, 560)):
        truth.iloc[position, rng.choice(600, size, replace=False)] = 1
    scores = pd.DataFrame(levels, columns=names)
    conventions: Any = {"unlisted": "below" if dense else 0.0}
    by_ranking = [
        "p@1",
        "p@30",
        "ndcg@50",
        "ndcg@all",
        "map@all",
        "mrr@all",
        "rprec",
    ]
    by_set = ["f1.micro@40", "f1.macro@20"]  # sets need an order of labels
    for metrics in (by_ranking, by_ranking + by_set):
        report = evaluate(truth, scores, metrics=metrics, conventions=conventions)
        expected = evaluate(truth, rankings, metrics=metrics)
        assert_same(report, expected, metrics)


@pytest.mark.parametrize("sizes", [(3, 3), (0, 0), (3, 0), (0, 3)])
def test_unlisted_labels_with_a_score_rank_by_name(sizes: tuple[int, int]) -> None:
    run: Rows = {}
    complete: Rows = {}
    for key, size in zip(TRUTH, itertools.cycle(sizes), strict=False):
        run[key] = dict.fromkeys(random.Random(key).sample(NAMES, size), 1.0)
        complete[key] = dict.fromkeys(NAMES, 0.0) | run[key]
    metrics = [*MEASURES, "f1.micro@2", "precision.macro@3"]
    expected = evaluate(TRUTH, complete, metrics=metrics)
    options: dict[str, Any] = {
        "metrics": metrics,
        "conventions": "unlisted=0",
        "labels": NAMES,
    }
    rows = [*run.values()]
    wide = pd.DataFrame(complete.values(), columns=NAMES)
    wide = wide.astype(pd.SparseDtype(float, 0.0))
    evaluator = Evaluator(**options)
    for truth, row in zip(TAGS, rows, strict=True):
        evaluator.update([truth], [row])
    for report in (
        evaluate(TRUTH, run, **options),
        evaluate(TAGS, rows, **options),
        evaluate(TAGS, wide, **options),
        evaluator.compute(),
    ):
        assert_same(report, expected, metrics)


def test_rows_without_scores_take_the_type_of_other_rows() -> None:
    truth = [["a"], ["b"], ["a", "c"], ["c"]]
    run = [
        {},
        {"a": 0.1, "b": 0.4},
        {},
        {"c": 0.1, "b": 0.05},
    ]
    options: dict[str, Any] = {
        "labels": ["a", "b", "c"],
        "conventions": "unlisted=0.1",
        "decision": "threshold0.2",
        "metrics": ["ece", "auc.micro", "mrr@all", "f1.micro"],
    }
    expected = evaluate(truth, run, **options)
    for order in itertools.permutations(range(4)):
        evaluator = Evaluator(**options)
        for row in order:
            evaluator.update([truth[row]], [run[row]])
        assert dict(evaluator.compute()) == dict(expected)

    evaluator = Evaluator(**options)
    evaluator.update([truth[0]], [run[0]])
    message = "scores are float32, unlike earlier scores"
    float32_scores = np.eye(3, dtype=np.float32)[:1]
    with pytest.raises(ValueError, match=message):
        evaluator.update(np.eye(3)[:1], float32_scores)


TABLES = ["csv", "jsonl", "parquet"]
TABLES_OF_LISTS = [f"lists of {ending}" for ending in TABLES]


def write_files(form: str, truth: Rows, run: Rows) -> str:
    """Return the names of both files, as a command line has them."""
    return f"{write_rows('t', form, truth, False)} {write_rows('s', form, run)}"


@pytest.mark.parametrize("form", ["run", "json", *TABLES, *TABLES_OF_LISTS])
def test_equal_scores_in_files_rank_by_the_later_name_or_as_listed(form: str) -> None:
    order = random.Random(7).sample(NAMES, N)
    files = write_files(form, TRUTH, one_score(order))
    has_lists = form in TABLES_OF_LISTS
    expected = report_without_ties(order if has_lists else LATER_FIRST)
    unlisted_scores = ["below"]
    if not has_lists:
        unlisted_scores.append("0.5")
    for unlisted in unlisted_scores:
        values = values_of(MEASURES, f"{files} --unlisted {unlisted}")
        assert_same(values, expected)


def n_tied_rows(report: Report) -> int:
    """Return how many rows a note of ties names, 0 without one."""
    n_rows = 0
    for note in map(str, report.notes):
        if "equal scores" in note:
            n_rows += int(note.rpartition(": ")[2])
    return n_rows


def depends_on_ties(relevant: Any, scores: Any, cutoffs: list[int]) -> bool:
    """Return whether a cutoff separates relevant from irrelevant labels with one score."""
    best_first = np.sort(scores)[::-1]
    for k in cutoffs:
        score = best_first[k]
        tie_group = relevant[scores == score]
        is_tied = score == best_first[k - 1] and score > -np.inf
        if is_tied and 0 < tie_group.sum() < tie_group.size:
            return True
    return False


def scores_in_form(form: str, scores: Any, names: list[str]) -> Any:
    if form == "dense":
        return scores
    if form == "sparse":
        return sp.csr_array(scores)
    if form == "below 0":
        return scores - 9
    if form == "names":
        return [dict(zip(names, row.tolist(), strict=True)) for row in scores]
    if form == "wide":
        return pd.DataFrame(scores, columns=names)
    order = np.tile(np.arange(50), (60, 1))
    if form == "sorted list":
        order = np.argsort(-scores, axis=1)
    return order, np.take_along_axis(scores, order, axis=1)


SCORE_FORMS = [
    "dense",
    "sparse",
    "list",
    "sorted list",
    "names",
    "wide",
    "below 0",
]


@pytest.mark.parametrize("cutoffs", [[1], [1, 5], [4, 40]])
@pytest.mark.parametrize("form", SCORE_FORMS)
@pytest.mark.parametrize("restriction", [None, "exclude", "candidates"])
def test_ties_note_how_many_rows_depend_on_them(
    form: str, cutoffs: list[int], restriction: str | None
) -> None:
    rng = np.random.default_rng(len(form))
    truth = rng.random((60, 50)) < 0.1
    is_untied_row = rng.random((60, 1)) < 0.5
    untied = is_untied_row * rng.random(truth.shape)
    scores = (rng.integers(1, 6, truth.shape) + untied).astype(np.float32)
    names = [f"n{j}" for j in range(50)]

    def as_sets(cells: Any) -> Any:
        if form in ("names", "wide"):
            return [[names[j] for j in np.flatnonzero(row)] for row in cells]
        return cells.astype(int)

    arguments: dict[str, Any] = {
        "y_true": as_sets(truth),
        "y_score": scores_in_form(form, scores, names),
        "metrics": [f"p@{k}" for k in cutoffs],
    }
    if restriction == "exclude":
        excluded = rng.random(scores.shape) < 0.1
        scores = np.where(excluded, -np.inf, scores)
        arguments["exclude"] = as_sets(excluded)
    elif restriction == "candidates":
        candidates = rng.random(scores.shape) < 0.9
        scores = np.where(candidates, scores, -np.inf)
        arguments["candidates"] = as_sets(candidates)
    elif form == "below 0":
        arguments["conventions"] = "unlisted=0"
    expected = sum(map(depends_on_ties, truth, scores, itertools.repeat(cutoffs)))
    assert expected > 0
    assert n_tied_rows(evaluate(**arguments)) == expected


def test_ties_that_change_nothing_have_no_note() -> None:
    among_irrelevant = {
        "q": {"a": 0.5, "b": 0.25, "c": 0.75},
        "r": {"a": 0.5, "c": 0.5, "b": 0.1},
    }
    nothing: Rows = {  # labels below all others are tied, and earn nothing
        "q": {},
        "r": {},
    }
    truth = {
        "q": {"a": 1},
        "r": {"b": 1},
    }
    for run in (among_irrelevant, nothing):
        for metrics in (["p@1"], ["p@1", "lrap"]):  # without and with all labels in order
            report = evaluate(truth, run, metrics=metrics, labels=[*"abc"])
            assert n_tied_rows(report) == 0


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
            retrieved = rng.sample(documents, rng.randint(1, 25))
            scores: dict[str, float] = {}
            for name in retrieved:
                scores[name] = rng.choice([0.25, 0.5, 0.5, 1.0, rng.random()])
            run[f"q{i}"] = scores
    run.setdefault("q0", {documents[0]: 0.5})
    return qrels, run


@pytest.mark.parametrize("form", ["unlisted", "wide"])
def test_equal_scores_of_a_row_group_rank_as_those_of_all_rows(form: str) -> None:
    scores: Any = [{name: -0.5} for name in LATER_FIRST[:2]]
    options: Any = {"labels": NAMES, "conventions": "unlisted=0"}
    if form == "wide":
        scores = pd.DataFrame(np.ones((2, len(NAMES))), columns=NAMES)
        options = {"labels": NAMES}
    report = evaluate(TAGS[:2], scores, metrics=MEASURES, row_groups=["a"] * 2, **options)
    results = report.results
    assert results.row_groups["a"].results.values == results.values


# measures of xmleval, with their names in trec_eval
CUTOFFS = (1, 5, 10, 100)
TREC = {
    "map@all": "map",
    "mrr@all": "recip_rank",
    "ndcg@all": "ndcg",
    "rprec": "Rprec",
}
for k in CUTOFFS:
    TREC |= {f"p@{k}": f"P_{k}", f"r@{k}": f"recall_{k}"}
for k in CUTOFFS:
    for name in ("map_cut", "ndcg_cut", "P", "recall"):
        TREC[f"{name}_{k}"] = f"{name}_{k}"
TREC |= {"recip_rank": "recip_rank", "success_5": "success_5"}

BEIR_NAMES = {
    "NDCG": "ndcg_cut",
    "MAP": "map_cut",
    "Recall": "recall",
    "P": "P",
}
BEIR = {f"{name}@{k}": f"{trec}_{k}" for name, trec in BEIR_NAMES.items() for k in CUTOFFS}


def trec_eval(qrels: Any, run: Any, names: dict[str, str]) -> Any:
    """Return trec_eval's means by names of xmleval; rows without predictions count 0."""
    requested = {"map", "recip_rank", "ndcg", "Rprec", "success.5"}
    requested |= {f"{name}.1,5,10,100" for name in ("P", "recall", "map_cut", "ndcg_cut")}
    rows = pytrec_eval.RelevanceEvaluator(qrels, requested).evaluate(run).values()
    means: dict[str, float] = {}
    for name, trec_name in names.items():
        means[name] = sum(row[trec_name] for row in rows) / len(qrels)
    return pytest.approx(means, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_values_are_those_of_trec_eval(first: int) -> None:
    for seed in range(first, first + 25):
        qrels, run = random_problem(seed)
        expected = trec_eval(qrels, run, TREC)
        report = evaluate(qrels, run, metrics=[*TREC], conventions="gains=linear")
        assert {name: report[name] for name in TREC} == expected

        form = "run" if seed % 2 else "json"
        values = values_of([*TREC], write_files(form, qrels, run))
        assert {name: values[parse_spec(name).name] for name in TREC} == expected

        # BEIR's data sets have a relevant label and predictions in every row
        qrels = {key: row for key, row in qrels.items() if any(row.values())}
        run = {key: run.get(key, {}) for key in qrels}
        report = evaluate(qrels, run, metrics=[*BEIR], conventions="beir")
        assert {name: report[name] for name in BEIR} == trec_eval(qrels, run, BEIR)
