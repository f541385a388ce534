"""Models whose lists differ in length: what is tested and noted, and lists that are said to be complete."""

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
QUERIES, DOCUMENTS, DEPTH, WITHOUT = 60, 60, 50, 7
Scores = dict[str, dict[str, float]]


def runs(depth: int = DEPTH) -> tuple[Scores, dict[str, Scores]]:
    """Judgements, a lexical run that lists nothing for one query, and a better one that always lists 50."""
    rng = np.random.default_rng(0)
    qrels, lexical, dense = Scores(), Scores(), Scores()
    for query in map(str, range(QUERIES)):
        documents = [f"d{i}" for i in rng.permutation(300)[:DOCUMENTS]]
        relevant = documents[:5]
        qrels[query] = dict.fromkeys(relevant, 1.0)
        for run, strength, most in ((lexical, 0.6, depth), (dense, 2.0, DEPTH)):
            scores = {d: strength * (d in relevant) + rng.normal() for d in documents}
            run[query] = dict(sorted(scores.items(), key=lambda item: -item[1])[:most])
    del lexical[str(WITHOUT)]
    return qrels, {"bm25": lexical, "dense": dense}


def are_tested(comparison: Any) -> dict[str, bool]:
    return {each.name: not math.isnan(each.p_value) for each in comparison.differences if not each.group}


@pytest.mark.parametrize("test", ["t", "randomisation", "paired_t"])
def test_rows_without_a_list_count_0_and_are_tested(test: str) -> None:
    qrels, models = runs()
    comparison = compare(qrels, models, metrics=METRICS, test=test)
    assert all(are_tested(comparison).values())
    assert [each.better for each in comparison.differences] == ["dense"] * len(METRICS)
    difference = comparison.difference("map@all", "bm25", "dense")
    assert comparison.reports["bm25"].per_row()["map@all"][WITHOUT] == 0.0
    assert difference.n_rows == QUERIES
    assert not any("not tested" in note for note in comparison.notes)
    assert comparison.to_json() == compare(qrels, models, metrics=METRICS, test=test).to_json()


def test_one_note_names_all_that_is_not_tested_and_what_to_do() -> None:
    qrels, models = runs(depth=20)
    groups: dict[str, Any] = {"row_groups": {query: "ab"[int(query) % 2] for query in qrels}}
    comparison = compare(qrels, models, metrics=METRICS, **groups)
    assert are_tested(comparison) == {name: name in ("p@5", "ndcg@10") for name in METRICS}
    (note,) = [note for note in comparison.notes if "not tested" in note]
    assert note == (
        "lists hold different numbers of labels a row (bm25 20, dense 50), so that models whose lists differ "
        "are not tested for r@50, mrr@50, map@all; r@50, mrr@50, map@all within groups b, a; if none of "
        "them was cut, give complete_lists=True"
    ).replace("b, a", ", ".join(dict.fromkeys(each.group for each in comparison.differences if each.group)))
    assert f"note: {note}" in str(comparison)


def test_complete_lists_are_compared_as_they_are() -> None:
    qrels, models = runs(depth=20)
    arguments: dict[str, Any] = {
        "metrics": METRICS,
        "label_groups": {f"d{i}": ["odd", "even"][i % 2 == 0] for i in range(300)},
        "row_groups": {query: "ab"[int(query) % 2] for query in qrels},
    }
    cut = compare(qrels, models, **arguments)
    complete = compare(qrels, models, complete_lists=True, **arguments)
    assert all(are_tested(complete).values())
    assert all(not math.isnan(each.p_value) for each in complete.differences)
    assert [each.value for each in cut.differences] == [each.value for each in complete.differences]
    assert not any("not tested" in note for note in complete.notes)
    assert "lists are compared as complete, however long they are" in str(complete)
    for comparison, expected in ((cut, False), (complete, True)):
        assert json.loads(comparison.to_json())["comparison"]["complete_lists"] is expected


def test_complete_lists_is_an_option_of_commands_that_compare(tmp_path: Path, run: Run) -> None:
    qrels, models = runs(depth=20)
    for name, rows in {
        "truth.qrels": qrels,
        **{f"{name}.run": each for name, each in models.items()},
    }.items():
        lines = [
            f"{query} 0 {document} 1"
            if name == "truth.qrels"
            else f"{query} Q0 {document} {rank} {score!r} x"
            for query, scores in rows.items()
            for rank, (document, score) in enumerate(scores.items(), 1)
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = " ".join(str(tmp_path / name) for name in ("truth.qrels", "bm25.run", "dense.run"))
    untested = run(f"compare {files} --metrics map@all")
    assert "are not tested for map@all; if none of them was cut, give --complete-lists" in " ".join(
        untested.split()
    )
    assert "dense better" in run(f"compare {files} --metrics map@all --complete-lists")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    figure = tmp_path / "figure.svg"
    assert answer(f"report {files} --metrics map@all --output {page}".split())[0] == 0
    assert "significantly better" not in page.read_text()
    for words in (f"report {files} --output {page}", f"plot {files} --kind differences --output {figure}"):
        assert answer(f"{words} --metrics map@all --complete-lists".split())[0] == 0
    assert "significantly better" in page.read_text()
