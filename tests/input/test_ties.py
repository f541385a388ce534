"""Equal scores: no rule of order knows the truth, in no form of the input, and values are trec_eval's."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import pytrec_eval
import scipy.sparse as sp

import xmleval
from xmleval.cli import main
from xmleval.input.errors import InputError
from xmleval.metrics import TABLE

N = 7
NAMES = [f"d{number}" for number in random.Random(3).sample(range(100, 999), N)]
LATER_FIRST = sorted(NAMES, reverse=True)
OTHERS = ("label_coverage", "judged")  # which are no means over rows, or need judgements
BY_ROW = sorted({m.name for m in TABLE if m.family == "at k" and m.cutoff == "required"}.difference(OTHERS))
AT_K = [f"{name}@{k}" for name in BY_ROW for k in (1, 2, N, N + 3)]
MEASURES = [*AT_K, "ndcg@all", "map@all", "mrr@all", "one_error", "rprec"]
Named = dict[str, dict[str, float]]
TRUTH: Named = {f"q{i}": {name: 1} for i, name in enumerate(NAMES)}


def constant(order: list[str]) -> Named:
    """One score for all names, listed in an order."""
    return {key: dict.fromkeys(order, 0.5) for key in TRUTH}


def falling(order: list[str]) -> Named:
    """Distinct scores, best first."""
    return {key: {name: -float(rank) for rank, name in enumerate(order)} for key in TRUTH}


def long(run: Named) -> list[tuple[str, str, float]]:
    return [(key, name, score) for key, row in run.items() for name, score in row.items()]


def wide(run: Named, columns: list[str]) -> list[list[float]]:
    return [[row[name] for name in columns] for row in run.values()]


LONG = ["instance", "label", "score"]
TAGS = [[*row] for row in TRUTH.values()]
BY_NAME: dict[str, Callable[[Named], tuple[Any, Any]]] = {
    "dicts": lambda run: (TRUTH, run),
    "dicts in a list": lambda run: (TAGS, [*run.values()]),
    "long pandas": lambda run: (TRUTH, pd.DataFrame(long(run), columns=LONG)),
    "long polars": lambda run: (TRUTH, pl.DataFrame(long(run), schema=LONG, orient="row")),
    "wide pandas": lambda run: (TAGS, pd.DataFrame(wide(run, NAMES), columns=NAMES)),
    "wide polars": lambda run: (TAGS, pl.DataFrame(wide(run, NAMES), schema=NAMES, orient="row")),
    "wide sparse": lambda run: (
        TAGS, pd.DataFrame(wide(run, NAMES), columns=NAMES).astype(pd.SparseDtype(float, 0.0)),
    ),
    "wide beside a wide truth": lambda run: (
        pd.DataFrame(np.eye(N, dtype=int), columns=NAMES),
        pd.DataFrame(wide(run, NAMES[::-1]), columns=NAMES[::-1]),
    ),
}  # fmt: skip
AS_LISTED: dict[str, Callable[[Named], tuple[Any, Any]]] = {
    "pairs": lambda run: (TAGS, [[*row.items()] for row in run.values()]),
    "hits": lambda run: (
        TAGS, [[{"corpus_id": name, "score": score} for name, score in row.items()] for row in run.values()],
    ),
    "frame of lists": lambda run: (
        TAGS, pd.DataFrame([([*row], [*row.values()]) for row in run.values()], columns=["labels", "scores"]),
    ),
    "pair of arrays": lambda run: (
        TAGS, (np.array([[*r] for r in run.values()]), np.array([[*r.values()] for r in run.values()])),
    ),
}  # fmt: skip


def agree(report: Any, expected: Any, names: list[str]) -> None:
    assert {name: report[name] for name in names} == pytest.approx({name: expected[name] for name in names})


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("unlisted", ["below", 0.5, 0.0])
@pytest.mark.parametrize("form", BY_NAME)
def test_scores_by_name_rank_equal_ones_by_the_later_name(form: str, unlisted: Any, shuffled: bool) -> None:
    expected = xmleval.evaluate(TRUTH, falling(LATER_FIRST), metrics=MEASURES)
    run = constant(random.Random(5).sample(NAMES, N) if shuffled else NAMES)
    y_true, y_score = BY_NAME[form](run)
    agree(xmleval.evaluate(y_true, y_score, metrics=MEASURES, unlisted=unlisted), expected, MEASURES)


@pytest.mark.parametrize("form", AS_LISTED)
def test_lists_rank_equal_scores_as_they_are_listed(form: str) -> None:
    order = random.Random(7).sample(NAMES, N)
    expected = xmleval.evaluate(TRUTH, falling(order), metrics=MEASURES)
    y_true, y_score = AS_LISTED[form](constant(order))
    agree(xmleval.evaluate(y_true, y_score, metrics=MEASURES), expected, MEASURES)


@pytest.mark.parametrize("form", [*BY_NAME, *AS_LISTED])
def test_a_constant_scorer_has_the_value_of_chance(form: str) -> None:
    """Each label is relevant once, so that any order that does not know the truth has the mean over all."""
    y_true, y_score = {**BY_NAME, **AS_LISTED}[form](constant(NAMES))
    report = xmleval.evaluate(y_true, y_score, metrics=MEASURES)
    orders = [*itertools.islice(itertools.permutations(NAMES), 0, 5040, 419)]
    for order in orders:
        agree(report, xmleval.evaluate(TRUTH, falling([*order]), metrics=MEASURES), MEASURES)


@pytest.mark.parametrize("dense", [False, True])
def test_labels_in_any_order_and_deep_cutoffs_rank_by_name(dense: bool) -> None:
    rng = np.random.default_rng(1)
    names = [f"n{number}" for number in rng.permutation(900)[:600]]
    levels = rng.integers(0, 3, (4, 600)) + (1.0 if dense else 0.0)
    relevant = [rng.choice(600, size, replace=False) for size in (1, 5, 40, 560)]
    ranked = [sorted(range(600), key=lambda j: (row[j], names[j]), reverse=True) for row in levels]
    expected = [[names[j] for j in row] for row in ranked]
    truth = pd.DataFrame(0, index=range(4), columns=names)
    for row, own in enumerate(relevant):
        truth.iloc[row, own] = 1
    metrics = [
        "p@1",
        "p@30",
        "ndcg@50",
        "ndcg@all",
        "map@all",
        "mrr@all",
        "rprec",
        "f1.micro@40",
        "f1.macro@20",
    ]
    scores = pd.DataFrame(levels, columns=names)
    report = xmleval.evaluate(truth, scores, metrics=metrics, unlisted="below" if dense else 0.0)
    agree(report, xmleval.evaluate(truth, expected, metrics=metrics), metrics)
    few = [name for name in metrics if "f1" not in name]  # without sets, rankings need no order
    report = xmleval.evaluate(truth, scores, metrics=few, unlisted="below" if dense else 0.0)
    agree(report, xmleval.evaluate(truth, expected, metrics=few), few)


def sparse_frame(run: Named) -> pd.DataFrame:
    """Return a frame that stores the scores of a run alone, with a column for each name."""
    rows = [[row.get(name, 0.0) for name in NAMES] for row in run.values()]
    return pd.DataFrame(rows, columns=NAMES).astype(pd.SparseDtype(float, 0.0))


@pytest.mark.parametrize("listed", [(3, 3), (0, 0), (3, 0), (0, 3)])
def test_unlisted_labels_with_a_score_rank_by_name(listed: tuple[int, int]) -> None:
    run = {
        key: dict.fromkeys(random.Random(key).sample(NAMES, listed[row % 2]), 1.0)
        for row, key in enumerate(TRUTH)
    }
    whole = {key: {name: row.get(name, 0.0) for name in NAMES} for key, row in run.items()}
    metrics = [*MEASURES, "f1.micro@2", "precision.macro@3"]
    expected = xmleval.evaluate(TRUTH, whole, metrics=metrics)
    agree(xmleval.evaluate(TRUTH, run, metrics=metrics, unlisted=0.0), expected, metrics)
    rows = [*run.values()]
    for y_score in (rows, sparse_frame(run)):
        report = xmleval.evaluate(TAGS, y_score, metrics=metrics, labels=NAMES, unlisted=0.0)
        agree(report, expected, metrics)
    for size in (1, N):
        evaluator = xmleval.Evaluator(metrics, labels=NAMES, unlisted=0.0)
        for start in range(0, N, size):
            evaluator.update(TAGS[start : start + size], rows[start : start + size])
        agree(evaluator.compute(), expected, metrics)


def test_rows_that_list_nothing_take_the_type_of_other_scores() -> None:
    metrics = ["ece", "auc.micro", "mrr@all", "f1.micro"]
    truth, run = [["a"], ["b"], ["a", "c"], ["c"]], [{}, {"a": 0.1, "b": 0.4}, {}, {"c": 0.1, "b": 0.05}]
    options: dict[str, Any] = {"labels": ["a", "b", "c"], "unlisted": 0.1, "decision": "threshold0.2"}
    expected = xmleval.evaluate(truth, run, metrics=metrics, **options)
    for order in itertools.permutations(range(4)):
        evaluator = xmleval.Evaluator(metrics, **options)
        for row in order:
            evaluator.update([truth[row]], [run[row]])
        assert dict(evaluator.compute()) == dict(expected)
    evaluator = xmleval.Evaluator(metrics, **options)
    evaluator.update([truth[0]], [run[0]])
    with pytest.raises(InputError, match="scores are float32 where earlier ones were not"):
        evaluator.update(np.eye(3)[:1], np.eye(3, dtype=np.float32)[:1])


def write(folder: Path, form: str, run: Named) -> tuple[str, str]:
    """Write a truth and a run as files of a form, and return their names."""
    rows = [(key, name, 1) for key, row in TRUTH.items() for name in row], long(run)
    names = f"t.{form}", f"s.{form}"
    if form == "run":
        names = "t.qrels", "s.run"
        (folder / names[0]).write_text("".join(f"{key} 0 {name} {n}\n" for key, name, n in rows[0]))
        (folder / names[1]).write_text("".join(f"{key} Q0 {name} 0 {s} x\n" for key, name, s in rows[1]))
    for name, entries, named in zip(names, rows, (TRUTH, run), strict=True):
        frame = pd.DataFrame(entries, columns=LONG)
        frame = frame if named is run else frame[LONG[:2]]
        if form == "json":
            (folder / name).write_text(json.dumps(named))
        elif form == "csv":
            frame.to_csv(folder / name, index=False)
        elif form == "jsonl":
            frame.to_json(folder / name, orient="records", lines=True)
        elif form == "parquet":
            frame.to_parquet(folder / name)
    return names


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert main(["evaluate", *args, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("form", ["run", "json", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("unlisted", ["below", "0.5"])
def test_files_rank_equal_scores_by_the_later_name(
    form: str,
    unlisted: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = write(tmp_path, form, constant(NAMES))
    found = printed(capsys, *names, "--metrics", ",".join(MEASURES), "--unlisted", unlisted)
    agree(found["values"], xmleval.evaluate(TRUTH, falling(LATER_FIRST), metrics=MEASURES), MEASURES)
    assert any("ties" in note for note in found["notes"])


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_lists_in_files_rank_equal_scores_as_they_are_listed(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    order = random.Random(7).sample(NAMES, N)
    truth = pd.DataFrame({"instance": [*TRUTH], "labels": TAGS})
    run = pd.DataFrame({"instance": [*TRUTH], "labels": [order] * N, "scores": [[0.5] * N] * N})
    for name, frame in (("t", truth), ("s", run)):
        if form == "parquet":
            frame.to_parquet(f"{name}.parquet")
        elif form == "jsonl":
            frame.to_json(f"{name}.jsonl", orient="records", lines=True)
        else:
            frame.map(lambda cell: json.dumps(cell) if isinstance(cell, list) else cell).to_csv(
                f"{name}.csv", index=False
            )
    found = printed(capsys, f"t.{form}", f"s.{form}", "--metrics", ",".join(MEASURES))
    agree(found["values"], xmleval.evaluate(TRUTH, falling(order), metrics=MEASURES), MEASURES)


def n_tied(report: xmleval.Report) -> int:
    """Return how many rows a note of ties names, 0 without one."""
    notes = [str(note) for note in report.notes if "ties" in str(note)]
    return sum(int(note.partition("cutoff: ")[2].partition(";")[0]) for note in notes)


def rows_that_depend(truth: Any, levels: Any, cutoffs: list[int]) -> int:
    """Count rows in which some cutoff parts relevant and irrelevant labels of one score."""
    found = 0
    for own, row in zip(truth, levels, strict=True):
        own, scores = own[row > -np.inf], row[row > -np.inf]
        at = np.sort(scores)[::-1]
        for k in cutoffs:
            if k < at.size and at[k - 1] == at[k]:
                group = own[scores == at[k]]
                if 0 < group.sum() < group.size:
                    found += 1
                    break
    return found


@pytest.mark.parametrize("cutoffs", [[1], [3], [1, 5], [2, 20], [4, 40]])
@pytest.mark.parametrize("form", ["dense", "sparse", "list", "sorted list", "names", "wide", "below 0"])
@pytest.mark.parametrize("restriction", [None, "exclude", "candidates"])
def test_a_note_tells_how_many_rows_depend_on_ties(
    form: str, cutoffs: list[int], restriction: str | None
) -> None:
    rng = np.random.default_rng(len(form))
    truth = rng.random((60, 50)) < 0.1
    levels = rng.integers(1, 6, truth.shape).astype(np.float32) + (rng.random((60, 1)) < 0.5) * rng.random(
        truth.shape
    )
    levels = levels.astype(np.float32)
    names = [f"n{j}" for j in range(50)]
    order = np.argsort(-levels, axis=1)
    listed = order if form == "sorted list" else np.tile(np.arange(50), (60, 1))
    y_score: Any = {
        "dense": levels,
        "sparse": sp.csr_array(levels),
        "below 0": levels - 9,
        "names": [dict(zip(names, row.tolist(), strict=True)) for row in levels],
        "wide": pd.DataFrame(levels, columns=names),
    }.get(form, (listed, np.take_along_axis(levels, listed, axis=1)))
    y_true: Any = truth.astype(int)
    if form in ("names", "wide"):
        y_true = [[names[j] for j in np.flatnonzero(row)] for row in truth]
    metrics = [f"p@{k}" for k in cutoffs]
    options: Any = {"unlisted": 0.0} if form == "below 0" and restriction is None else {}
    ranked = levels
    pairs: dict[str, Any] = {}
    if restriction is not None:
        in_pairs = rng.random(levels.shape) < {"exclude": 0.1, "candidates": 0.9}[restriction]
        ranked = np.where(in_pairs == (restriction == "candidates"), levels, -np.inf)
        named = form in ("names", "wide")
        labels: Any = [[names[j] for j in np.flatnonzero(row)] for row in in_pairs]
        pairs = {restriction: labels if named else in_pairs}
    expected = rows_that_depend(truth, ranked, cutoffs)
    assert expected > 0
    assert n_tied(xmleval.evaluate(y_true, y_score, metrics=metrics, **options, **pairs)) == expected
    evaluator = xmleval.Evaluator(metrics, labels=names, **options)
    for start in range(0, 60, 25):
        rows = slice(start, start + 25)
        own = tuple(part[rows] for part in y_score) if isinstance(y_score, tuple) else y_score[rows]
        evaluator.update(y_true[rows], own, **{name: part[rows] for name, part in pairs.items()})
    assert n_tied(evaluator.compute()) == expected


def test_without_ties_there_is_no_note() -> None:
    truth = {"q": {"a": 1}, "r": {"b": 1}}
    run = {
        "q": {"a": 0.5, "b": 0.25, "c": 0.75},
        "r": {"a": 0.5, "c": 0.5, "b": 0.1},
    }  # ties of irrelevant labels alone
    for metrics in (["p@1"], ["p@1", "lrap"]):  # with and without all labels in order
        assert (
            n_tied(xmleval.evaluate(truth, run, metrics=metrics)) == 0
        )  # row r: among irrelevant labels alone
        none: Named = {"q": {}, "r": {}}  # labels below all others are tied, and earn nothing
        assert n_tied(xmleval.evaluate(truth, none, metrics=metrics)) == 0


def random_problem(seed: int) -> tuple[dict[str, dict[str, int]], Named]:
    """Return judgements and a run with ties, unjudged documents and missing rows."""
    rng = random.Random(seed)
    documents = [f"d{number}" for number in rng.sample(range(10_000), 30)]
    qrels, run = {}, {}
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


def trec_eval(qrels: Any, run: Any) -> dict[str, float]:
    """Return trec_eval's means, in which rows that the run lacks count 0."""
    asked = {"map", "recip_rank", "ndcg", "Rprec", "success.5"}
    asked |= {f"{name}.1,5,10,100" for name in ("P", "recall", "map_cut", "ndcg_cut")}
    rows = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    return {ours: sum(row[theirs] for row in rows.values()) / len(qrels) for ours, theirs in TREC.items()}


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_values_are_those_of_trec_eval(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(first, first + 25):
        qrels, run = random_problem(seed)
        expected = trec_eval(qrels, run)
        report = xmleval.evaluate(qrels, run, metrics=[*TREC], gains="linear")
        assert {name: report[name] for name in TREC} == pytest.approx(expected, rel=1e-9, abs=1e-12)
        judged = [f"{key} 0 {name} {n}\n" for key, row in qrels.items() for name, n in row.items()]
        scored = [f"{key} Q0 {name} 0 {s!r} x\n" for key, row in run.items() for name, s in row.items()]
        Path("t.qrels").write_text("".join(judged))
        Path("s.run").write_text("".join(scored))
        Path("t.json").write_text(json.dumps(qrels))
        Path("s.json").write_text(json.dumps(run))
        for files in (("t.qrels", "s.run"), ("t.json", "s.json")):
            values = printed(capsys, *files, "--metrics", ",".join(TREC))["values"]
            ours = {name: values[xmleval.spec.parse_spec(name).name] for name in TREC}
            assert ours == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_the_preset_beir_has_the_values_of_trec_eval(seed: int) -> None:
    qrels, run = random_problem(seed)
    qrels = {key: row for key, row in qrels.items() if any(row.values())}  # as BEIR's data sets have them
    run = {key: run.get(key, {}) for key in qrels}
    names = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
    asked = {f"{name}.1,3,10" for name in names.values()}
    rows = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    expected = {
        f"{ours}@{k}": sum(row[f"{theirs}_{k}"] for row in rows.values()) / len(qrels)
        for ours, theirs in names.items() for k in (1, 3, 10)
    }  # fmt: skip
    report = xmleval.evaluate(qrels, run, metrics=[*expected], conventions="beir")
    assert {name: report[name] for name in expected} == pytest.approx(expected, rel=1e-9)
