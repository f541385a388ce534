"""Models whose lists differ in length: tests, notes, and ``complete_lists=True``."""

import html
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import Run
from tests.damage import answer
from xmleval import compare

METRICS = ["p@5", "r@50", "mrr@50", "map@all", "ndcg@10"]
QUERIES = 60
DOCUMENTS = 60
DEPTH = 50
WITHOUT = 7
Scores = dict[str, dict[str, float]]


def runs(depth: int = DEPTH) -> tuple[Scores, dict[str, Scores]]:
    """Return a truth, a lexical run that lacks one query, and a better run of 50 a query."""
    rng = np.random.default_rng(0)
    qrels = Scores()
    lexical = Scores()
    dense = Scores()
    for query in map(str, range(QUERIES)):
        documents = [f"d{i}" for i in rng.permutation(300)[:DOCUMENTS]]
        relevant = documents[:5]
        qrels[query] = dict.fromkeys(relevant, 1.0)
        for run, strength, most in ((lexical, 0.6, depth), (dense, 2.0, DEPTH)):
            scores = {d: strength * (d in relevant) + rng.normal() for d in documents}
            ranking = sorted(scores, key=lambda document: -scores[document])
            run[query] = {document: scores[document] for document in ranking[:most]}
    del lexical[str(WITHOUT)]
    return qrels, {"bm25": lexical, "dense": dense}


def are_tested(comparison: Any) -> dict[str, bool]:
    """Return whether measures of all rows and labels are tested."""
    whole = [difference for difference in comparison.differences if not difference.group]
    return {difference.name: not math.isnan(difference.p_value) for difference in whole}


@pytest.mark.parametrize("test", ["t", "randomisation", "paired_t"])
def test_compare_tests_rows_without_a_list_as_0(test: str) -> None:
    qrels, models = runs()
    comparison = compare(qrels, models, metrics=METRICS, test=test)
    assert all(are_tested(comparison).values())
    assert [each.better for each in comparison.differences] == ["dense"] * len(METRICS)
    difference = comparison.difference("map@all", "bm25", "dense")
    assert comparison.reports["bm25"].per_row()["map@all"][WITHOUT] == 0.0
    assert difference.n_rows == QUERIES
    assert not any("not tested" in note for note in comparison.notes)
    again = compare(qrels, models, metrics=METRICS, test=test)
    assert comparison.to_json() == again.to_json()


@pytest.mark.parametrize(("n_missing", "is_tested"), [(2, True), (3, False)])
def test_compare_tests_lists_shorter_by_one_percent(n_missing: int, is_tested: bool) -> None:
    """Of 202 listed labels, a model lacks 2 (202 / 200 is 1.01) or 3."""
    truth = np.ones((101, 6), int)
    labels = np.tile([0, 1], (101, 1))
    scores = np.tile([2.0, 1.0], (101, 1))
    shorter = labels.copy()
    shorter[:n_missing, -1] = -1
    models = {"full": (labels, scores), "short": (shorter, scores)}
    comparison = compare(truth, models, metrics="map@all", row_groups=["all"] * 101)
    for difference in comparison.differences:
        assert math.isnan(difference.p_value) != is_tested, difference
    assert any("not tested" in note for note in comparison.notes) != is_tested


def test_compare_notes_once_what_is_not_tested() -> None:
    qrels, models = runs(depth=20)
    row_groups = {query: "ab"[int(query) % 2] for query in qrels}
    comparison = compare(qrels, models, metrics=METRICS, row_groups=row_groups)
    assert are_tested(comparison) == {name: name in ("p@5", "ndcg@10") for name in METRICS}
    (note,) = [note for note in comparison.notes if "not tested" in note]
    groups = dict.fromkeys(each.group for each in comparison.differences if each.group)
    assert note == (
        "lists have different numbers of labels per row (bm25 20, dense 50), "
        "so models whose lists differ are not tested for r@50, mrr@50, map@all; "
        f"r@50, mrr@50, map@all within groups {', '.join(groups)}; "
        "if no list was cut, give complete_lists=True"
    )
    assert f"note: {note}" in str(comparison)


def test_compare_tests_complete_lists_of_any_length() -> None:
    qrels, models = runs(depth=20)
    parities = ["even", "odd"]
    arguments: dict[str, Any] = {
        "metrics": METRICS,
        "label_groups": {f"d{i}": parities[i % 2] for i in range(300)},
        "row_groups": {query: "ab"[int(query) % 2] for query in qrels},
    }
    cut = compare(qrels, models, **arguments)
    complete = compare(qrels, models, complete_lists=True, **arguments)
    assert all(are_tested(complete).values())
    assert all(not math.isnan(each.p_value) for each in complete.differences)
    assert [each.value for each in cut.differences] == [each.value for each in complete.differences]
    assert not any("not tested" in note for note in complete.notes)
    assert "lists are compared as complete, whatever their length" in str(complete)
    for comparison, expected in ((cut, False), (complete, True)):
        assert json.loads(comparison.to_json())["comparison"]["complete_lists"] is expected


def test_complete_lists_is_an_option_of_commands_that_compare(tmp_path: Path, run: Run) -> None:
    qrels, models = runs(depth=20)
    truth_lines = [
        f"{query} 0 {document} 1\n" for query, relevant in qrels.items() for document in relevant
    ]
    (tmp_path / "truth.qrels").write_text("".join(truth_lines))
    for name, run_of_model in models.items():
        lines = []
        for query, scores in run_of_model.items():
            for rank, (document, score) in enumerate(scores.items(), 1):
                lines.append(f"{query} Q0 {document} {rank} {score!r} x\n")
        (tmp_path / f"{name}.run").write_text("".join(lines))
    files = " ".join(str(tmp_path / name) for name in ("truth.qrels", "bm25.run", "dense.run"))
    untested = " ".join(run(f"compare {files} --metrics map@all").split())
    note = "are not tested for map@all; if no list was cut, give --complete-lists"
    assert note in untested
    assert "dense better" in run(f"compare {files} --metrics map@all --complete-lists")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    figure = tmp_path / "figure.svg"
    assert answer(f"report {files} --metrics map@all --output {page}".split())[0] == 0
    assert "significantly better" not in page.read_text()
    for words in (
        f"report {files} --output {page}",
        f"plot {files} --kind differences --output {figure}",
    ):
        assert answer(f"{words} --metrics map@all --complete-lists".split())[0] == 0
    assert "significantly better" in page.read_text()


def test_page_of_the_command_names_options(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    qrels, models = runs(depth=20)
    for name, rows in {"truth": qrels, **models}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    files = " ".join(str(tmp_path / f"{name}.json") for name in ("truth", "bm25", "dense"))
    page = tmp_path / "page.html"
    run(f"compare {files} --metrics map@all --html {page}")
    text = html.unescape(page.read_text("utf-8"))
    assert "if no list was cut, give --complete-lists" in text
    assert "complete_lists=" not in text
