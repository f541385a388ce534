"""Predicted labels beside those of `labels=`: what counts them as wrong, and what leaves them out."""

from __future__ import annotations

import json
import math
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.engines import ShuffledEngine
from tests.damage import answer
from xmleval import Evaluator, compare, diff, evaluate
from xmleval.cluster.evaluation import evaluate_blocks
from xmleval.engine.settings import Options
from xmleval.thresholds import fit

LABELS, OTHERS = [f"l{n}" for n in range(8)], [f"u{n}" for n in range(5)]
KNOWN = {*LABELS}
Run = dict[str, dict[str, float]]


def made(seed: int, n_rows: int = 60) -> tuple[dict[str, dict[str, int]], Run]:
    """Relevant labels, and lists of up to nine labels with distinct scores, others among them."""
    rng = random.Random(seed)
    truth = {
        f"q{n}": dict.fromkeys(rng.sample(LABELS, rng.choice([0, 1, 1, 2, 3])), 1) for n in range(n_rows)
    }
    run = {}
    for name in truth:
        listed = rng.sample(LABELS + OTHERS, rng.randint(0, 9))
        run[name] = dict(zip(listed, rng.sample([n / 16 for n in range(1, 16)], len(listed)), strict=True))
    return truth, run


TRUTH, RUN = made(1)
INSIDE: Run = {name: {one: s for one, s in row.items() if one in KNOWN} for name, row in RUN.items()}
RANKED = {name: sorted(row, key=lambda one: -row[one]) for name, row in RUN.items()}
ALL: dict[str, Any] = {
    "metrics": ["all", "fbeta.micro(beta=2)", "recall_at_precision.micro(p=0.5)", "risk(coverage=0.5)@2",
                "ece@2", "ace@2", "brier@2", "log_loss@2", "log_loss.samples", "ece", "psp@3", "psndcg@3"],
    "k": [1, 3], "inverse_propensity": np.linspace(1, 3, 8),
}  # fmt: skip

# What is about every label of a row, whether predicted or not, or about labels one by one.
CELLS = {
    "coverage", "coverage_error", "ranking_loss", "lrap", "auc", "peak_f1", "is_error", "error_set_size",
    "ap", "recall_at_precision", "hamming_loss", "accuracy", "specificity", "balanced_accuracy", "mcc",
    "gmean", "hmean", "log_loss.samples", "label_coverage", "pred_coverage", "gini", "entropy",
    "label_density",
}  # fmt: skip
BY_LABEL = ("macro", "weighted", "geometric", "of_macros")
SPREAD = ["gini", "entropy", "pred_coverage"]
SETS = [
    "precision", "recall", "f1", "fbeta", "jaccard", "accuracy", "specificity", "balanced_accuracy", "mcc",
    "gmean", "hmean", "hamming_loss", "label_coverage", *SPREAD,
]  # fmt: skip


def first(k: int) -> dict[str, list[str]]:
    return {name: [one for one in row[:k] if one in KNOWN] for name, row in RANKED.items()}


def same(found: float, wanted: float) -> bool:
    return found == wanted or (math.isnan(found) and math.isnan(wanted))


@pytest.mark.parametrize("weighted", [False, True])
def test_every_measure_counts_others_or_leaves_them_out(weighted: bool) -> None:
    weight = {name: 1 + n % 3 for n, name in enumerate(TRUTH)} if weighted else None
    more: dict[str, Any] = ALL | {"sample_weight": weight}
    found = evaluate(TRUTH, RUN, labels=LABELS, decision="top3", **more)
    q = np.append(ALL["inverse_propensity"], np.ones(len(OTHERS)))
    wide = evaluate(TRUTH, RUN, labels=LABELS + OTHERS, decision="top3", **more | {"inverse_propensity": q})
    ranked = evaluate(TRUTH, INSIDE, labels=LABELS, decision="top3", **more)
    sets = {
        k: evaluate(TRUTH, y_pred=first(k), labels=LABELS, metrics=["sets", *SPREAD], sample_weight=weight)
        for k in (1, 3)
    }
    wrong, seen = [], {"open": 0, "cells": 0, "sets": 0}
    for spec in found.specs:
        name, stem = spec.name, spec.name.partition("@")[0].partition("(")[0]
        own = stem.partition(".")[0]
        if not ({own, stem} & CELLS or spec.average in BY_LABEL):
            kind, wanted = "open", wide[name]
        elif own not in SETS:
            kind, wanted = "cells", ranked[name]
        elif own == "label_coverage":
            continue
        else:
            kind, wanted = "sets", sets[spec.k or 3][name.partition("@")[0]]
        seen[kind] += 1
        if not same(found[name], wanted):
            wrong.append((name, kind, found[name], wanted))
    assert not wrong
    assert min(seen["open"] - 25, seen["cells"] - 12, seen["sets"] - 30) > 0
    assert (found.n_labels, found.label_names) == (8, LABELS)


def test_values_are_those_of_a_plain_count() -> None:
    k, cells = 3, [(name, one) for name in TRUTH for one in LABELS]
    n, heads = len(TRUTH), {name: row[:k] for name, row in RANKED.items()}
    wanted = {
        "p@3": sum(one in TRUTH[name] for name, row in heads.items() for one in row) / k / n,
        "one_error": sum(not row or row[0] not in TRUTH[name] for name, row in RANKED.items()) / n,
        "mrr@3": sum(
            next((1 / rank for rank, one in enumerate(row, 1) if one in TRUTH[name]), 0.0)
            for name, row in heads.items()
        ) / n,
        "ndcg@3": sum(
            sum(1 / math.log2(1 + rank) for rank, one in enumerate(row, 1) if one in TRUTH[name])
            / sum(1 / math.log2(1 + rank) for rank in range(1, 1 + min(k, len(TRUTH[name]))))
            for name, row in heads.items() if TRUTH[name]
        ) / n,
        "subset_accuracy": sum({*row} == {*TRUTH[name]} for name, row in heads.items()) / n,
        "hamming_loss": sum((one in heads[name]) != (one in TRUTH[name]) for name, one in cells) / len(cells),
        "f1.micro": 2 * sum(one in TRUTH[name] for name, row in heads.items() for one in row)
        / (sum(map(len, heads.values())) + sum(map(len, TRUTH.values()))),
    }  # fmt: skip
    by_label = []
    for one in LABELS:
        tp = sum(one in row and one in TRUTH[name] for name, row in heads.items())
        either = sum(one in row for row in heads.values()) + sum(one in row for row in TRUTH.values())
        by_label.append(2 * tp / either if either else 0.0)
    wanted["f1.macro"] = sum(by_label) / 8
    found = evaluate(TRUTH, RUN, labels=LABELS, metrics=list(wanted), decision="top3")
    assert dict(found) == pytest.approx(wanted, rel=1e-12)


def test_unlisted_labels_earn_no_shared_discount() -> None:
    gains = [
        sum(1 / math.log2(1 + rank) for rank, one in enumerate(row, 1) if one in TRUTH[name])
        for name, row in RANKED.items()
    ]
    found = evaluate(TRUTH, RUN, labels=LABELS, metrics="dcg@all", conventions={"ndcg_ties": "average"})
    assert found["dcg@all"] == pytest.approx(sum(gains) / len(gains), rel=1e-12)


def test_the_report_tells_them() -> None:
    found = evaluate(TRUTH, RUN, labels=LABELS, metrics="p@1")
    n_rows = sum(not row[:1] or row[0] not in KNOWN for row in RANKED.values())
    n_rows -= sum(not row for row in RANKED.values())
    one = next(one for row in RUN.values() for one in row if one not in KNOWN)
    told = f"y_score: 5 predicted labels are not among labels=, such as {one!r}; they count as wrong"
    assert found.notes[0] == told
    assert found.notes[1].startswith(f"rows that predict labels beside those that are evaluated: {n_rows};")
    assert told in found.to_text()
    assert found.to_dict()["notes"] == found.notes
    assert sorted(found.other_labels) == OTHERS


def test_forms_are_the_same() -> None:
    wanted = dict(evaluate(TRUTH, RUN, labels=LABELS, metrics=["p@3", "ndcg@3", "f1.macro@2"]))
    tags, pairs = [[*row] for row in TRUTH.values()], [[*row.items()] for row in RUN.values()]
    forms: list[Any] = [pairs, [*RANKED.values()], [*RUN.values()]]
    hits = [[{"corpus_id": one, "score": s} for one, s in row] for row in pairs]
    for form in [*forms, hits]:
        assert dict(evaluate(tags, form, labels=LABELS, metrics=[*wanted])) == wanted
    matrix = np.array([[one in row for one in LABELS] for row in TRUTH.values()])
    assert dict(evaluate(matrix, pairs, labels=LABELS, metrics=[*wanted])) == wanted
    ids = {
        name: {int(one[1]) + 100 * (one[0] == "u"): s for one, s in row.items()} for name, row in RUN.items()
    }
    of_ids = {name: {int(one[1]): 1 for one in row} for name, row in TRUTH.items()}
    assert dict(evaluate(of_ids, ids, labels=range(8), metrics=[*wanted])) == wanted


def test_frames_are_the_same() -> None:
    pandas = pytest.importorskip("pandas")
    asked: dict[str, Any] = {"labels": LABELS, "metrics": ["p@3", "f1.micro@2", "f1.macro@2"]}
    wanted = evaluate(TRUTH, RUN, **asked)
    long = pandas.DataFrame(
        [(name, one, s) for name, row in RUN.items() for one, s in row.items()],
        columns=["instance", "label", "score"],
    )
    assert dict(evaluate(TRUTH, long, **asked)) == dict(wanted)
    matrix = np.array([[one in row for one in LABELS] for row in TRUTH.values()], int)
    wide = pandas.DataFrame(matrix, index=[*TRUTH], columns=LABELS)
    evaluator = Evaluator(asked["metrics"])  # which takes the labels of the first truth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator.update(wide, RUN)
    assert dict(evaluator.compute()) == dict(wanted)


@pytest.mark.parametrize("more", [{}, {"confidence": 0.9}, {"row_groups": True}, {"label_groups": True}])
@pytest.mark.filterwarnings("ignore:y_")
def test_batches_merging_and_saving_give_the_same_bits(more: dict[str, Any], tmp_path: Path) -> None:
    names, of_rows = [*TRUTH], dict[str, Any]()
    given: dict[str, Any] = ALL | {"labels": LABELS, "decision": "top3", **more}
    if given.pop("row_groups", None):
        of_rows["row_groups"] = {name: "ab"[n % 2] for n, name in enumerate(names)}
    if "label_groups" in more:
        given["label_groups"] = {one: "low" if one < "l4" else "high" for one in LABELS}
    whole = evaluate(TRUTH, RUN, per_row=True, per_label=True, **given, **of_rows)
    parts = []
    for number, start in enumerate((0, 17, 30)):
        rows = names[start : (17, 30, 60)[number]]
        one = Evaluator(per_row=True, per_label=True, block_rows=7, threads=2, **given)
        for batch in (rows[:9], rows[9:]):
            own: Any = {key: {name: values[name] for name in batch} for key, values in of_rows.items()}
            one.update({n: TRUTH[n] for n in batch}, {n: RUN[n] for n in batch}, **own,
                       first_row=names.index(batch[0]))  # fmt: skip
        one.save(tmp_path / f"{number}")
        parts.append(Evaluator.load(tmp_path / f"{number}"))
    found = parts[2].merge(parts[0]).merge(parts[1]).compute()
    assert json.dumps(found.to_dict()["values"]) == json.dumps(whole.to_dict()["values"])
    assert found.notes[0] == whole.notes[0].replace(": 5", ": at least 5")  # they may not be the same
    assert found.notes[1:] == whole.notes[1:]
    for kept, others in ((found.per_row(), whole.per_row()), (found.per_label(), whole.per_label())):
        for name, values in others.items():
            if name != "name":
                np.testing.assert_array_equal(kept[name], values)
    if more:
        told = found.to_dict(), whole.to_dict()
        for key in ("confidence", "groups", "row_groups"):
            assert json.dumps(told[0].get(key)) == json.dumps(told[1].get(key))


def test_within_groups_of_labels_others_have_no_place() -> None:
    groups = {one: "low" if one < "l4" else "high" for one in LABELS}
    asked: dict[str, Any] = {"metrics": ["p@1", "f1.macro@2"], "labels": LABELS, "label_groups": groups}
    found, inside = evaluate(TRUTH, RUN, **asked), evaluate(TRUTH, INSIDE, **asked)
    for name in ("low", "high"):
        assert found.groups[name]["p@1"] == inside.groups[name]["p@1"]
        assert found.groups[name]["f1.macro@2"] != inside.groups[name]["f1.macro@2"]  # decided with others
    shares = [part.results.values["p@1"] for part in found.results.shares.values()]
    assert sum(shares) == pytest.approx(found["p@1"])


def test_rules_and_hierarchies() -> None:
    edges = [*zip(LABELS[2:5], LABELS[:1] * 3, strict=True), *zip(LABELS[5:], LABELS[1:2] * 3, strict=True)]
    found = evaluate(TRUTH, RUN, labels=LABELS, metrics=["h_f1.micro@2", "f1.micro@2"], hierarchy=edges)
    both = n_true = n_predicted = 0
    up = dict(edges)
    for name, row in RANKED.items():
        true = {*TRUTH[name], *(up[one] for one in TRUTH[name] if one in up)}
        guess = {*row[:2], *(up[one] for one in row[:2] if one in up)}
        both, n_true, n_predicted = both + len(true & guess), n_true + len(true), n_predicted + len(guess)
    assert found["h_f1.micro@2"] == 2 * both / (n_true + n_predicted)
    assert found["f1.micro@2"] == evaluate(TRUTH, RUN, labels=LABELS, metrics="f1.micro@2")["f1.micro@2"]
    rule = fit(TRUTH, INSIDE, "f1.macro", labels=LABELS, rule="label")  # no threshold for others
    asked: dict[str, Any] = {"labels": LABELS, "metrics": "sets", "decision": rule}
    assert dict(evaluate(TRUTH, RUN, **asked)) == dict(evaluate(TRUTH, INSIDE, **asked))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "truth": (
        {"y_true": {"q0": {"u0": 1}}},
        "y_true: row 0: label 'u0' is not one of the 8 given ones",
    ),
    "candidates": ({"candidates": {"q0": ["u0"]}}, "candidates: row 0: label 'u0' is not one of the 8"),
    "scores of all": (
        {"conventions": "sklearn"},
        "y_score: lists labels beside labels=, and unlisted=0 gives all of them a score; name those in",
    ),
    "twice": ({"y_score": {"q0": [("u0", 0.5), ("u0", 0.25)]}}, "row 0: label 'u0' occurs twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    given, told = REFUSED[case]
    both: dict[str, Any] = {"y_true": TRUTH, "y_score": RUN, "labels": LABELS, "metrics": "p@1"} | given
    with pytest.raises(ValueError, match=re.escape(told)):
        evaluate(**both)


def test_models_are_compared_and_their_lists_shown() -> None:
    models = {"a": RUN, "b": made(2)[1]}
    asked: dict[str, Any] = {"labels": LABELS}
    found = compare(models, TRUTH, metrics=["p@1", "f1.macro@2"], worst=2, **asked)
    alone = {name: evaluate(TRUTH, run, metrics="p@1", **asked)["p@1"] for name, run in models.items()}
    assert {name: report["p@1"] for name, report in found.reports.items()} == alone
    changed = diff(models, TRUTH, metric="p@1", worst=60, **asked)
    shown = {
        one
        for row in changed.to_dict()["changes"]["rows"]
        for key in ("list_a", "list_b")
        for one in row[key]
    }
    assert shown & {*OTHERS}
    assert shown <= {*LABELS, *OTHERS}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("labels.txt").write_text("\n".join(LABELS))
    Path("truth.json").write_text(json.dumps(TRUTH))
    Path("run.json").write_text(json.dumps(RUN))
    lines = [f"{name} Q0 {one} 1 {s!r} x" for name, row in RUN.items() for one, s in row.items()]
    Path("scores.run").write_text("\n".join(lines) + "\n")
    documents = [{"id": name, "tags": [*row], "predicted": RANKED[name]} for name, row in TRUTH.items()]
    Path("both.jsonl").write_text("\n".join(map(json.dumps, documents)))
    return tmp_path


def told_by(*arguments: str) -> dict[str, Any]:
    code, out, err = answer(["evaluate", *arguments, "--labels", "labels.txt", "--format", "json"])
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.usefixtures("folder")
def test_files_are_the_same() -> None:
    metrics = ["p@3", "ndcg@3", "f1.macro@2", "f1.micro@2", "hamming_loss", "ranking_loss"]
    wanted = evaluate(TRUTH, RUN, labels=LABELS, metrics=metrics, decision="top3")
    asked = ["--metrics", ",".join(metrics), "--decision", "top3"]
    for scores in ("run.json", "scores.run"):
        found = told_by("truth.json", scores, *asked)
        assert found["values"] == wanted.to_dict()["values"]
        assert found["n_labels"] == 8
        told = f"{scores}: 5 predicted labels are not among labels=, such as "
        assert any(note.startswith(told) for note in found["notes"])
    sets = evaluate(TRUTH, y_pred=RANKED, labels=LABELS, metrics=["f1.micro", "f1.macro", "subset_accuracy"])
    found = told_by("both.jsonl", "--metrics", "f1.micro,f1.macro,subset_accuracy")
    assert found["values"] == sets.to_dict()["values"]
    found = told_by("both.jsonl", "--metrics", "p@3,ndcg@3", "--ranked")
    assert found["values"]["p@3"] == wanted["p@3"]


@pytest.mark.filterwarnings("ignore:y_")
def test_blocks_on_workers_are_the_same() -> None:
    names = [*TRUTH]
    asked: Options = {"labels": LABELS, "decision": "top2"}
    metrics = ["p@3", "f1.micro", "f1.macro", "ranking_loss"]
    blocks = [
        ({name: TRUTH[name] for name in some}, {name: RUN[name] for name in some})
        for some in (names[:25], names[25:])
    ]
    found = evaluate_blocks(ShuffledEngine(), blocks, metrics, None, asked, "1GiB", 1, False)
    wanted = evaluate(TRUTH, RUN, metrics=metrics, labels=LABELS, decision="top2")
    assert dict(found) == dict(wanted)
    assert found.notes == [wanted.notes[0].replace(": 5", ": at least 5"), *wanted.notes[1:]]
