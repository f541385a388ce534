"""Of a label that a row lists several times, the best score is kept if that is asked for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import json_of
from tests.damage import answer
from tests.limits import small_limits
from xmleval import Evaluator, evaluate, from_df, fuse, scan

Entry = tuple[str, str, float]
N_ROWS = 9
TRUTH = {f"q{row}": {f"d{row % 4}": 1, f"d{(row + 1) % 5}": 1} for row in range(N_ROWS)}
METRICS = ["p@1", "ndcg@3", "map@3", "auc.micro"]
COLUMNS = ["instance", "label", "score"]


def make_entries() -> list[Entry]:
    """Return passages of documents, with ties, in any order."""
    rng = np.random.default_rng(3)
    entries = []
    for row in range(N_ROWS):
        for document in rng.integers(0, 6, 12).tolist():
            entries.append((f"q{row}", f"d{document}", float(rng.integers(1, 9)) / 8))
    return [entries[place] for place in rng.permutation(len(entries)).tolist()]


ENTRIES = make_entries()


def best_of(entries: list[Entry], best: Callable[..., float] = max) -> dict[str, dict[str, float]]:
    """Return the best score by row and label."""
    rows: dict[str, dict[str, float]] = {}
    for key, label, score in entries:
        row = rows.setdefault(key, {})
        row[label] = best(score, row.get(label, score))
    return rows


LABELS = [f"d{document}" for document in range(6)]
N_REPEATED = len(ENTRIES) - sum(map(len, best_of(ENTRIES).values()))
NOTE = f"{N_REPEATED} labels are listed again in a row; the best score of each is kept"


def write_run() -> str:
    lines = [f"{key} Q0 {label} 1 {score} m\n" for key, label, score in ENTRIES]
    Path("m.run").write_text("".join(lines))
    return "m.run"


def write_csv() -> str:
    lines = [f"{key},{label},{score}\n" for key, label, score in ENTRIES]
    Path("m.csv").write_text("instance,label,score\n" + "".join(lines))
    return "m.csv"


def write_lists() -> str:
    rows: dict[str, Any] = {}
    for key, label, score in ENTRIES:
        row = rows.setdefault(key, {"instance": key, "labels": [], "scores": []})
        row["labels"].append(label)
        row["scores"].append(score)
    Path("m.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows.values()))
    return "m.jsonl"


def write_parquet() -> str:
    pytest.importorskip("pyarrow")
    frame().to_parquet("m.parquet")
    return "m.parquet"


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ENTRIES, columns=COLUMNS)


FILES: dict[str, Callable[[], str]] = {
    "run": write_run,
    "csv": write_csv,
    "jsonl": write_lists,
    "parquet": write_parquet,
}


def kept_file(name: str) -> Any:
    return scan(FILES[name](), keep="best")


KEEPING: dict[str, Callable[[], Any]] = {
    **{name: partial(kept_file, name) for name in FILES},
    "frame": lambda: from_df(frame(), keep="best"),
}


@pytest.mark.parametrize("limits", [contextlib.nullcontext, small_limits])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("name", KEEPING)
def test_keep_best_keeps_the_best_score_of_a_label(name: str, higher: bool, limits: Any) -> None:
    options: dict[str, Any] = {"metrics": METRICS, "higher_is_better": higher, "labels": LABELS}
    rows = best_of(ENTRIES, max if higher else min)
    expected = evaluate(TRUTH, rows, **options)
    with limits():
        report = evaluate(TRUTH, KEEPING[name](), **options)
    # lists of a file rank equal scores as listed
    if name != "jsonl":
        assert dict(report) == dict(expected)
    assert report["auc.micro"] == expected["auc.micro"]
    assert any(note.endswith(NOTE) for note in report.notes)


def test_keep_best_is_read_by_evaluators_fusion_and_the_shell() -> None:
    expected = evaluate(TRUTH, best_of(ENTRIES), metrics="ndcg@3")["ndcg@3"]
    evaluator = Evaluator("ndcg@3", labels=LABELS)
    evaluator.update(TRUTH, KEEPING["frame"]())
    assert evaluator.compute()["ndcg@3"] == expected
    kept = scan(write_run(), keep="best")
    assert fuse([kept, kept], "mean") == fuse([best_of(ENTRIES)] * 2, "mean")
    lowest = best_of(ENTRIES, min)
    options: dict[str, Any] = {"norm": "min-max", "higher_is_better": False}
    assert fuse([kept, kept], "sum", **options) == fuse([lowest, lowest], "sum", **options)
    Path("t.json").write_text(json.dumps(TRUTH))
    result = json_of("evaluate t.json m.run --metrics ndcg@3 --keep best")
    assert result["values"]["ndcg@3"] == expected
    assert f"m.run: {NOTE}" in result["notes"]
    assert answer(["convert", "--kind", "scores", "--keep", "best", "m.run", "b.run"])[0] == 0
    assert evaluate(TRUTH, "b.run", metrics="ndcg@3")["ndcg@3"] == expected


@pytest.mark.parametrize("name", FILES)
def test_repeated_label_is_refused_and_names_the_option(name: str) -> None:
    file = FILES[name]()
    message = "occurs twice.*; expected each label once in a row; "
    with pytest.raises(ValueError, match=rf"{message}scan\(path, keep='best'\) keeps the best"):
        evaluate(TRUTH, file, metrics="p@1")
    with pytest.raises(ValueError, match=rf"{message}xmleval.from_df\(df, keep='best'\) keeps"):
        evaluate(TRUTH, frame(), metrics="p@1")
    Path("t.json").write_text(json.dumps(TRUTH))
    error = answer(["evaluate", "t.json", file, "--metrics", "p@1"])[2]
    assert "; --keep best keeps the best score" in error


def test_repeated_judgement_is_refused_without_an_option_that_is_for_predictions() -> None:
    Path("t.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq1 0 b 0\n")
    Path("s.run").write_text("q1 Q0 a 1 0.5 m\n")
    error = answer(["evaluate", "t.qrels", "s.run", "--metrics", "p@1"])[2]
    expected = "t.qrels: line 3: label 'b' occurs twice for 'q1'; expected each label once in a row"
    assert error == f"xmleval: {expected}; remove all but one\n"


def test_keep_is_refused_without_scores_or_names_and_for_other_words() -> None:
    Path("l.jsonl").write_text('{"instance": "q1", "labels": ["d1", "d1"]}\n')
    with pytest.raises(
        ValueError, match=r"^l.jsonl: scan\(path, keep='best'\) is for labels with scores"
    ):
        evaluate(TRUTH, scan("l.jsonl", keep="best"), metrics="p@1")
    np.save("n_indices.npy", np.array([[0, 1]]))
    with pytest.raises(ValueError, match=r"keep='best'\) is for rows and labels with names"):
        evaluate([[0]], scan("n", keep="best"), metrics="p@1", n_labels=2)
    with pytest.raises(ValueError, match=r"^keep: 'last' is not one of best"):
        scan("m.run", keep="last")
    with pytest.raises(ValueError, match=r"^keep: 'last' is not one of best"):
        from_df(frame(), keep="last")


def test_keep_best_keeps_nan_to_be_refused() -> None:
    table = frame()
    table.loc[0, "score"] = np.nan
    with pytest.raises(ValueError, match=r"^y_score: .*nan"):
        evaluate(TRUTH, from_df(table, keep="best"), metrics="p@1")


def test_keep_best_of_a_truth_keeps_the_highest_judgement() -> None:
    judged = [("q0", "d0", 0.0), ("q0", "d0", 1.0), ("q0", "d0", 0.0), ("q0", "d1", 0.0)]
    table = pytest.importorskip("pandas").DataFrame(judged, columns=COLUMNS)
    for distances in (False, True):
        truth = from_df(table, keep="best")
        run = {"q0": {"d0": 0.5}}
        report = evaluate(truth, run, metrics="r@1", higher_is_better=not distances)
        assert report["r@1"] == 1


def test_best_of_labels_without_scores_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lists.jsonl"
    file.write_text('{"id": "q0", "labels": ["d0", "d0"]}\n')
    reason = "is for labels with scores, but these have none; give scores, or leave it out"
    with pytest.raises(ValueError, match=rf"scan\(path, keep='best'\) {reason}"):
        evaluate({"q0": ["d0"]}, scan(file, keep="best"))
