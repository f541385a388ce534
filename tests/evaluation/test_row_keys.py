"""Rows with keys count once across batches, shards and states."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.evaluation.data import COPIES
from xmleval import Evaluator, Running, compare, evaluate
from xmleval.evaluation.evaluator import restore_evaluator, saved_of
from xmleval.evaluation.row_keys import LONG, hash_keys

KEYS = [f"q{number}" for number in range(10)]
HITS = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0]
TRUTH = {key: ["a"] for key in KEYS}
SCORES_BY_HIT = {1: {"a": 0.9, "b": 0.1}, 0: {"a": 0.1, "b": 0.9}}
RUN = {key: SCORES_BY_HIT[hit] for key, hit in zip(KEYS, HITS, strict=True)}
PRECISION = sum(HITS) / len(HITS)
PADDED = [*KEYS, "q0", "q1"]  # to the same number for each of three processes
Change = Callable[[Evaluator], Evaluator]


def as_dicts(keys: list[Any]) -> tuple[Any, Any]:
    return {key: TRUTH[key] for key in keys}, {key: RUN[key] for key in keys}


def as_lists_in(frame: Any) -> Callable[[list[Any]], tuple[Any, Any]]:
    def frames(keys: list[Any]) -> tuple[Any, Any]:
        relevant = [TRUTH[key] for key in keys]
        best_first = [sorted(RUN[key], key=RUN[key].__getitem__, reverse=True) for key in keys]
        truth = frame({"instance": keys, "labels": relevant})
        scores = frame({"instance": keys, "predicted": best_first})
        return truth, scores

    return frames


def as_entries(keys: list[Any]) -> tuple[Any, Any]:
    truth = pd.DataFrame({"instance": keys, "label": "a"})
    scores = pd.DataFrame(entries_of(keys), columns=["instance", "label", "score"])
    return truth, scores


def entries_of(keys: list[Any]) -> list[tuple[Any, str, float]]:
    return [(key, label, score) for key in keys for label, score in RUN[key].items()]


FORMS: dict[str, Callable[[list[Any]], tuple[Any, Any]]] = {
    "dicts": as_dicts,
    "pandas": as_lists_in(pd.DataFrame),
    "polars": as_lists_in(pl.DataFrame),
    "entries": as_entries,
}


def counting(*batches: list[Any], form: str = "dicts", **options: Any) -> Evaluator:
    evaluator = Evaluator(["p@1"], labels=["a", "b"], **options)
    for keys in batches:
        evaluator.update(*FORMS[form](keys))
    return evaluator


def saved_bytes(evaluator: Evaluator) -> Any:
    return saved_of(evaluator).arrays["row_keys"].tobytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"per_row": True}, {"confidence": 0.9}, {"memory": 1}])
def test_update_refuses_a_key_that_was_counted_before(form: str, options: dict[str, Any]) -> None:
    evaluator = counting(PADDED[:4], PADDED[4:8], form=form, **options)
    message = (
        "^y_true: row 2: probably the same key, 'q0', was counted before; count each row once, "
    )
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            evaluator.update(*FORMS[form](PADDED[8:]))
    assert evaluator.n_rows == 8
    evaluator.update(*FORMS[form](KEYS[8:]))
    assert evaluator.compute()["p@1"] == PRECISION
    evaluator.reset()
    evaluator.update(*FORMS[form](KEYS))
    assert evaluator.compute()["p@1"] == PRECISION


def test_merge_refuses_keys_that_both_have_in_any_order(tmp_path: Path) -> None:
    def reloaded(evaluator: Evaluator) -> Evaluator:
        evaluator.save(tmp_path / "state")
        return Evaluator.load(tmp_path / "state")

    message = (
        "^merge: (1 row probably has|2 rows probably have) the same keys? in both; "
        "count each row once"
    )
    changes: list[Change] = [lambda unchanged: unchanged, *COPIES.values(), reloaded]
    for change, order in itertools.product(changes, itertools.permutations(range(3))):
        first, second, third = (change(counting(PADDED[rank::3])) for rank in order)
        target = second
        if {*order[:2]} == {0, 2}:  # they share no keys
            assert first.merge(second).n_rows == 8
            target = first
        else:
            with pytest.raises(ValueError, match=message):
                first.merge(second)
            assert first.n_rows == 4
        before = first.compute().to_json()
        source = third if 1 in order[1:] else first
        with pytest.raises(ValueError, match=message):
            target.merge(source)
        assert first.compute().to_json() == before
    # evaluators that are not merged may share keys
    unmerged = counting(KEYS), counting(KEYS)
    assert len({evaluator.compute()["p@1"] for evaluator in unmerged}) == 1


def test_kept_keys_do_not_depend_on_batches_and_merges() -> None:
    expected = saved_bytes(counting(KEYS))
    assert len(expected) == 8 * len(KEYS)

    single_rows = [[key] for key in reversed(KEYS)]
    assert saved_bytes(counting(*single_rows)) == expected

    shards = [counting(KEYS[start : start + 3]) for start in range(0, len(KEYS), 3)]
    last_first = shards[3].merge(shards[0])
    merged = last_first.merge(shards[2].merge(shards[1]))
    assert saved_bytes(merged) == expected

    without_keys = Evaluator(["p@1"])
    without_keys.update(np.eye(3), np.eye(3))
    without_keys.update(np.eye(3), np.eye(3))
    assert "row_keys" not in saved_of(without_keys).arrays


def as_json(keys: list[Any]) -> tuple[str, str]:
    truth = {key: dict.fromkeys(TRUTH[key], 1) for key in keys}
    scores = {key: RUN[key] for key in keys}
    return json.dumps(truth), json.dumps(scores)


def as_json_lines(keys: list[Any]) -> tuple[str, str]:
    truth = []
    scores = []
    for key in keys:
        row = RUN[key]
        truth.append(json.dumps({"id": key, "labels": TRUTH[key]}) + "\n")
        scores.append(
            json.dumps({"id": key, "predicted": [*row], "scores": [*row.values()]}) + "\n"
        )
    return "".join(truth), "".join(scores)


def as_csv(keys: list[Any]) -> tuple[str, str]:
    truth = [f"{key},a\n" for key in keys]
    scores = [f"{key},{label},{score}\n" for key, label, score in entries_of(keys)]
    return "instance,label\n" + "".join(truth), "instance,label,score\n" + "".join(scores)


def as_trec(keys: list[Any]) -> tuple[str, str]:
    truth = [f"{key} 0 a 1\n" for key in keys]
    scores = [f"{key} Q0 {label} 1 {score} r\n" for key, label, score in entries_of(keys)]
    return "".join(truth), "".join(scores)


FILE_FORMS = {".json": as_json, ".jsonl": as_json_lines, ".csv": as_csv, ".trec": as_trec}


def write_rows(form: str, folder: Path, name: str, keys: list[Any]) -> tuple[Path, Path]:
    """Write the truth and the scores of some rows, and return their paths."""
    truth = folder / f"{name}-truth{form}"
    scores = folder / f"{name}-scores{form}"
    if form == ".trec":
        truth = truth.with_suffix(".qrels")
        scores = scores.with_suffix(".run")
    truth_text, scores_text = FILE_FORMS[form](keys)
    truth.write_text(truth_text)
    scores.write_text(scores_text)
    return truth, scores


@pytest.mark.parametrize("form", [".json", ".jsonl", ".csv", ".trec"])
def test_states_of_shards_with_the_same_ids_are_not_merged(
    form: str, folder: Path, run: Callable[..., str], refused: Callable[..., str]
) -> None:
    names = folder / "names.txt"
    names.write_text("a\nb\n")
    shards = {"0": PADDED[0::3], "1": PADDED[1::3], "2": PADDED[2::3], "rest": ["q3", "q4", "q7"]}
    for name, keys in shards.items():
        truth, scores = write_rows(form, folder, name, keys)
        run(f"evaluate {truth} {scores} --metrics p@1 --labels {names} --save {name}.state")
    message = refused("merge 0.state 1.state 2.state")
    assert "1.state: 1 row probably has the same key in both; count each row once" in message
    third = Evaluator.load("2.state")
    rest = Evaluator.load("rest.state")
    assert third.merge(rest).n_rows == 7


def test_states_of_runs_with_checkpoints_hold_the_keys(folder: Path) -> None:
    truth, scores = write_rows(".json", folder, "all", KEYS)
    expected = saved_bytes(counting(KEYS))
    checkpoints = {"whole": None, "kept": folder / "parts"}
    for name, checkpoint in checkpoints.items():
        running = Running(save=folder / name, checkpoint=checkpoint)
        evaluate(truth, scores, metrics=["p@1"], labels=["a", "b"], running=running)
        assert saved_bytes(Evaluator.load(folder / name)) == expected


def test_compare_counts_the_same_rows_for_each_model() -> None:
    truth, run = as_dicts(KEYS)
    reports = compare(truth, {"first": run, "second": run}, metrics=["p@1"]).reports
    assert [report["p@1"] for report in reports.values()] == [0.3, 0.3]


MIXED: list[Any] = [
    "a",
    "b" * LONG,
    "c" * (LONG + 1),
    "",
    "\0",
    "é",
    "\ud800",
    "\ud800" * 99,
    1,
    -1,
    1 << 70,
    -(1 << 63),
    (1 << 63) - 1,
    1 << 63,
    True,
    2.5,
    (1, "x"),
    None,
]

HASHES = [
    -4752022965747261108,
    -3105527954917720435,
    7091231384887538290,
    -6338610984762754852,
    8811614688734364551,
]


def test_hashes_depend_on_the_key_alone() -> None:
    one_by_one = [int(hash_keys([key])[0]) for key in MIXED]
    ones = [1, np.int8(1), 1.0, True, np.True_]
    texts = [f"{number}{letter}" for number in range(300) for letter in "xyz"]
    assert hash_keys(MIXED).tolist() == one_by_one
    assert hash_keys(ones).tolist() == hash_keys([1] * 5).tolist()
    assert hash_keys([np.str_("a"), "a"]).tolist() == hash_keys(["a"] * 2).tolist()
    # those of other processes and machines
    assert hash_keys(["q0", "é", "x" * 99, 7, None]).tolist() == HASHES
    assert len({*hash_keys(texts).tolist()}) == 900
    assert len({*hash_keys(["\ud800" * 99, "\ud801" * 99, "?" * 99]).tolist()}) == 3


def test_load_refuses_made_up_keys(tmp_path: Path) -> None:
    saved = saved_of(counting(KEYS))
    hashes = saved.arrays["row_keys"]
    wrong_keys = [
        hashes[::-1],
        hashes.astype(float),
        hashes[None],
        np.arange(11),
        hashes[[0, 0]],
    ]
    for keys in wrong_keys:
        made_up = saved._replace(arrays={**saved.arrays, "row_keys": keys})
        with pytest.raises(ValueError, match="row_keys"):
            restore_evaluator(made_up)


def test_update_quotes_a_repeated_key_briefly_and_as_python_types() -> None:
    for key, quoted in [
        ("k" * 1000, f"'{'k' * 40}...'"),
        (np.int64(7), "7"),
        (np.str_("q"), "'q'"),
    ]:
        evaluator = Evaluator("p@1", labels=["a"])
        batch = {key: ["a"]}, {key: {"a": 0.5}}
        evaluator.update(*batch)
        with pytest.raises(ValueError, match=f"the same key, {quoted}, was counted"):
            evaluator.update(*batch)
