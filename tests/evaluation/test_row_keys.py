"""Rows with keys count once, in whatever batches, shards and states they come."""

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
from xmleval.evaluation.row_keys import LONG, hash_keys

KEYS = [f"q{number}" for number in range(10)]
HITS = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0]
TRUTH = {key: ["a"] for key in KEYS}
RUN = {k: {"a": 0.9, "b": 0.1} if hit else {"a": 0.1, "b": 0.9} for k, hit in zip(KEYS, HITS, strict=True)}
PADDED = [*KEYS, "q0", "q1"]  # to the same number for each of three processes
Change = Callable[[Evaluator], Evaluator]


def as_dicts(keys: list[Any]) -> tuple[Any, Any]:
    return {key: TRUTH[key] for key in keys}, {key: RUN[key] for key in keys}


def as_lists_in(frame: Any) -> Callable[[list[Any]], tuple[Any, Any]]:
    def frames(keys: list[Any]) -> tuple[Any, Any]:
        best_first = [sorted(RUN[key], key=RUN[key].__getitem__, reverse=True) for key in keys]
        truth = frame({"instance": keys, "labels": [TRUTH[key] for key in keys]})
        return truth, frame({"instance": keys, "predicted": best_first})

    return frames


def as_entries(keys: list[Any]) -> tuple[Any, Any]:
    rows = [(key, label, score) for key in keys for label, score in RUN[key].items()]
    scores = pd.DataFrame(rows, columns=["instance", "label", "score"])
    return pd.DataFrame({"instance": keys, "label": "a"}), scores


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
    return evaluator.as_saved().arrays["row_keys"].tobytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"per_row": True}, {"confidence": 0.9}, {"memory": 1}])
def test_update_refuses_a_key_that_was_counted_before(form: str, options: dict[str, Any]) -> None:
    evaluator = counting(PADDED[:4], PADDED[4:8], form=form, **options)
    message = "^y_true: row 2: probably the same key, 'q0', was counted before; count each row once, "
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            evaluator.update(*FORMS[form](PADDED[8:]))
    assert evaluator.n_rows == 8
    evaluator.update(*FORMS[form](KEYS[8:]))
    assert evaluator.compute()["p@1"] == sum(HITS) / len(HITS)
    evaluator.reset()
    evaluator.update(*FORMS[form](KEYS))
    assert evaluator.compute()["p@1"] == sum(HITS) / len(HITS)


def test_merge_refuses_keys_that_both_have_in_any_order(tmp_path: Path) -> None:
    def reloaded(evaluator: Evaluator) -> Evaluator:
        evaluator.save(tmp_path / "state")
        return Evaluator.load(tmp_path / "state")

    message = "^merge: (1 row has|2 rows have) probably the same keys? here and there; count each row once"
    changes: list[Change] = [lambda same: same, *COPIES.values(), reloaded]
    for change, order in itertools.product(changes, itertools.permutations(range(3))):
        first, second, third = (change(counting(PADDED[rank::3])) for rank in order)
        if {*order[:2]} == {0, 2}:  # which share none
            assert first.merge(second).n_rows == 8
        else:
            with pytest.raises(ValueError, match=message):
                first.merge(second)
            assert first.n_rows == 4
        before = first.compute().to_json()
        with pytest.raises(ValueError, match=message):
            (first if first.n_rows == 8 else second).merge(third if 1 in order[1:] else first)
        assert first.compute().to_json() == before
    apart = counting(KEYS), counting(KEYS)  # which are not merged
    assert len({each.compute()["p@1"] for each in apart}) == 1


def test_kept_keys_do_not_depend_on_batches_and_merges() -> None:
    keys = KEYS
    whole = saved_bytes(counting(keys))
    assert len(whole) == 8 * len(keys)
    assert saved_bytes(counting(*[[key] for key in reversed(keys)])) == whole
    parts = [counting(keys[place : place + 3]) for place in range(0, len(keys), 3)]
    assert saved_bytes(parts[3].merge(parts[0]).merge(parts[2].merge(parts[1]))) == whole
    without = Evaluator(["p@1"])
    without.update(np.eye(3), np.eye(3))
    without.update(np.eye(3), np.eye(3))
    assert "row_keys" not in without.as_saved().arrays


def written(form: str, folder: Path, name: str, keys: list[Any]) -> tuple[Path, Path]:
    """Write the truth and the scores of some rows."""
    truth, scores = as_dicts(keys)
    paths = folder / f"{name}-truth{form}", folder / f"{name}-scores{form}"
    if form == ".json":
        contents = [
            json.dumps(values) for values in ({k: dict.fromkeys(y, 1) for k, y in truth.items()}, scores)
        ]
    elif form == ".jsonl":
        contents = [
            "".join(json.dumps({"id": key, "labels": labels}) + "\n" for key, labels in truth.items()),
            "".join(json.dumps({"id": key, "predicted": [*row], "scores": [*row.values()]}) + "\n"
                    for key, row in scores.items()),
        ]  # fmt: skip
    elif form == ".csv":
        rows = [f"{key},{label},{score}\n" for key, row in scores.items() for label, score in row.items()]
        contents = ["instance,label\n" + "".join(f"{key},a\n" for key in keys)]
        contents.append("instance,label,score\n" + "".join(rows))
    else:
        rows = [
            f"{key} Q0 {label} 1 {score} r\n" for key, row in scores.items() for label, score in row.items()
        ]
        contents = ["".join(f"{key} 0 a 1\n" for key in keys), "".join(rows)]
        paths = paths[0].with_suffix(".qrels"), paths[1].with_suffix(".run")
    for path, text in zip(paths, contents, strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize("form", [".json", ".jsonl", ".csv", ".trec"])
def test_states_of_shards_with_the_same_ids_are_not_merged(
    form: str, folder: Path, run: Callable[..., str], refused: Callable[..., str]
) -> None:
    names = folder / "names.txt"
    names.write_text("a\nb\n")
    shards = {"0": PADDED[0::3], "1": PADDED[1::3], "2": PADDED[2::3], "rest": ["q3", "q4", "q7"]}
    for name, keys in shards.items():
        truth, scores = written(form, folder, name, keys)
        run(f"evaluate {truth} {scores} --metrics p@1 --labels {names} --save {name}.state")
    line = refused("merge 0.state 1.state 2.state")
    assert "1.state: 1 row has probably the same key here and there; count each row once" in line
    assert Evaluator.load("2.state").merge(Evaluator.load("rest.state")).n_rows == 7


def test_states_of_runs_with_checkpoints_hold_the_keys(folder: Path) -> None:
    truth, scores = written(".json", folder, "all", KEYS)
    states, checkpoints = [], {"whole": None, "kept": folder / "parts"}
    for name, checkpoint in checkpoints.items():
        evaluate(
            truth,
            scores,
            metrics=["p@1"],
            labels=["a", "b"],
            running=Running(save=folder / name, checkpoint=checkpoint),
        )
        states.append(saved_bytes(Evaluator.load(folder / name)))
    assert states == [saved_bytes(counting(KEYS))] * 2


def test_models_that_are_compared_share_their_rows() -> None:
    truth, run = as_dicts(KEYS)
    reports = compare(truth, {"first": run, "second": run}, metrics=["p@1"]).reports
    assert [report["p@1"] for report in reports.values()] == [0.3, 0.3]


MIXED: list[Any] = [
    "a", "b" * LONG, "c" * (LONG + 1), "", "\0", "é", "\ud800", 1, -1, 1 << 70, True, 2.5, (1, "x"), None,
]  # fmt: skip

HASHES = [
    -4752022965747261108,
    -3105527954917720435,
    7091231384887538290,
    -6338610984762754852,
    8811614688734364551,
]


def test_hashes_depend_on_the_key_alone() -> None:
    assert hash_keys(MIXED).tolist() == [int(hash_keys([key])[0]) for key in MIXED]
    assert hash_keys([1, np.int8(1), 1.0, True, np.True_]).tolist() == hash_keys([1] * 5).tolist()
    assert hash_keys([np.str_("a"), "a"]).tolist() == hash_keys(["a"] * 2).tolist()
    # those of other processes and machines
    assert hash_keys(["q0", "é", "x" * 99, 7, None]).tolist() == HASHES
    assert len({*hash_keys([f"{a}{b}" for a in range(300) for b in "xyz"]).tolist()}) == 900


def test_keys_of_states_that_are_made_up_are_refused(tmp_path: Path) -> None:
    saved = counting(KEYS).as_saved()
    hashes = saved.arrays["row_keys"]
    for wrong in (hashes[::-1], hashes.astype(float), hashes[None], np.arange(11), hashes[[0, 0]]):
        with pytest.raises(ValueError, match="row_keys"):
            Evaluator.from_saved(saved._replace(arrays=saved.arrays | {"row_keys": wrong}))


def test_update_quotes_a_repeated_key_briefly_and_as_own_types_of_python() -> None:
    for key, quoted in [("k" * 1000, f"'{'k' * 40}...'"), (np.int64(7), "7"), (np.str_("q"), "'q'")]:
        evaluator = Evaluator("p@1", labels=["a"])
        batch = {key: ["a"]}, {key: {"a": 0.5}}
        evaluator.update(*batch)
        with pytest.raises(ValueError, match=f"the same key, {quoted}, was counted"):
            evaluator.update(*batch)
