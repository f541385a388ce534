"""Intervals of merged shards are those of one pass, where rows have numbers, keys or clusters."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, Report, evaluate
from xmleval.cli import main

M, L = 240, 9
rng = np.random.default_rng(1)
TRUTH = (rng.random((M, L)) < 0.3).astype(np.uint8)
SCORES = 0.6 * TRUTH + rng.random((M, L))
METRICS = ["p@3", "ndcg@3", "auc.micro", "auc.macro", "ap.macro", "f1.micro@2", "f1.macro@2", "lrap"]
CUTS = [0, 50, 110, M]
NAMES = [f"label {j}" for j in range(L)]
KEYS = [f"row {i}" for i in range(M)]
CLUSTERS = rng.integers(0, 60, M)
REFUSED = r"^merge: intervals need the number of each row in all shards; give each shard its first_row= "


def spread(report: Report) -> list[float]:
    return [report.standard_errors[name] for name in METRICS]


def named(rows: slice) -> tuple[Any, Any]:
    keys = KEYS[rows]
    truth = [{NAMES[j]: 1 for j in np.flatnonzero(row)} for row in TRUTH[rows]]
    scores = [dict(zip(NAMES, row.tolist(), strict=True)) for row in SCORES[rows]]
    return dict(zip(keys, truth, strict=True)), dict(zip(keys, scores, strict=True))


def shard(form: str, start: int, stop: int) -> Evaluator:
    columns: Any = {"labels": NAMES} if form == "keys" else {"n_labels": L}
    evaluator = Evaluator(METRICS, confidence=0.9, **columns)
    for first in range(start, stop, 40):  # in batches
        part = slice(first, min(first + 40, stop))
        if form == "keys":
            evaluator.update(*named(part))
        elif form == "clusters":
            evaluator.update(TRUTH[part], SCORES[part], clusters=CLUSTERS[part])
        elif form == "numbers":
            evaluator.update(TRUTH[part], SCORES[part], first_row=first)
        else:
            evaluator.update(TRUTH[part], SCORES[part])
    return evaluator


def once(form: str) -> Report:
    options: Any = {"metrics": METRICS, "confidence": 0.9}
    if form == "keys":
        return evaluate(*named(slice(M)), labels=NAMES, **options)
    if form == "clusters":
        options["clusters"] = CLUSTERS
    return evaluate(TRUTH, SCORES, **options)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
@pytest.mark.parametrize("form", ["numbers", "keys", "clusters"])
def test_numbered_shards_have_the_intervals_of_one_pass(
    form: str, order: tuple[int, ...], saved: bool, tmp_path: Path
) -> None:
    shards = [shard(form, *CUTS[place : place + 2]) for place in order]
    if saved:
        for number, one in enumerate(shards):
            one.save(tmp_path / f"{number}.npz")
        shards = [Evaluator.load(tmp_path / f"{number}.npz") for number in range(3)]
    report = shards[0].merge(shards[1].merge(shards[2])).compute()
    expected = once(form)
    assert dict(report) == dict(expected)
    np.testing.assert_allclose(spread(report), spread(expected), rtol=1e-9)
    np.testing.assert_allclose(spread(shard(form, 0, M).compute()), spread(expected), rtol=1e-9)


KINDS: dict[str, Any] = {
    "tuples": lambda i: ("document", i),
    "floats": lambda i: i + 0.5,
    "bytes": lambda i: b"%d" % i,
    "dates": lambda i: np.datetime64("2020-01-01") + i,
    "whole numbers beyond 64 bits": lambda i: i << 70,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_other_keys_go_by_number(kind: str) -> None:
    keys = [*map(KINDS[kind], range(M))]
    truth, scores = (dict(zip(keys, rows.values(), strict=True)) for rows in named(slice(M)))
    options: Any = {"metrics": METRICS, "confidence": 0.9}
    assert evaluate(truth, scores, labels=NAMES, **options).standard_errors == once("").standard_errors
    shards = [Evaluator(METRICS, labels=NAMES, confidence=0.9) for _ in range(4)]
    for number, one in enumerate(shards):
        first = 100 * (number % 2)
        part = keys[first : first + 100]
        rows = ({key: side[key] for key in part} for side in (truth, scores))
        one.update(*rows, first_row=first if number < 2 else None)
    with pytest.raises(ValueError, match=REFUSED):
        shards[2].merge(shards[3])
    expected = evaluate(TRUTH[:200], SCORES[:200], **options)
    np.testing.assert_allclose(spread(shards[0].merge(shards[1]).compute()), spread(expected), rtol=1e-9)


@pytest.mark.parametrize("keyed_first", [False, True])
def test_batches_with_and_without_keys_are_counted_but_not_merged(keyed_first: bool) -> None:
    mixed = Evaluator(METRICS, labels=NAMES, confidence=0.9)
    for start in (0, 50):
        part = slice(start, start + 50)
        keyed = (start == 0) == keyed_first
        mixed.update(*(named(part) if keyed else (TRUTH[part], SCORES[part])))
    assert mixed.n_rows == 100
    assert mixed.compute().standard_errors["p@3"] > 0
    other = shard("keys", 100, M)
    for one, more in ((mixed, other), (other, mixed)):
        with pytest.raises(ValueError, match=REFUSED):
            one.merge(more)
    other.update(TRUTH[:0], SCORES[:0])  # no rows, and no keys that they lack
    assert other.merge(shard("keys", 0, 50)).n_rows == M - 50


def test_shards_without_numbers_are_refused_and_nothing_is_counted() -> None:
    one, other = shard("", 0, 50), shard("", 50, M)
    before = dict(one.compute())
    with pytest.raises(ValueError, match=REFUSED):
        one.merge(other)
    with pytest.raises(ValueError, match=REFUSED):
        shard("numbers", 0, 50).merge(other)
    assert dict(one.compute()) == before
    assert (
        Evaluator(METRICS, n_labels=L, confidence=0.9).merge(other).n_rows == M - 50
    )  # with no rows but its own
    plain = [Evaluator(METRICS, n_labels=L) for _ in range(2)]
    for evaluator, rows in zip(plain, (slice(0, 50), slice(50, M)), strict=True):
        evaluator.update(TRUTH[rows], SCORES[rows])
    assert plain[0].merge(plain[1]).n_rows == M


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, (start, stop) in {"all": (0, M), "a": (0, 50), "b": (50, M)}.items():
        sp.save_npz(f"y_{name}.npz", sp.csr_array(TRUTH[start:stop]))
        np.save(f"s_{name}.npy", SCORES[start:stop])
        truth, scores = named(slice(start, stop))
        Path(f"t_{name}.json").write_text(json.dumps(truth))
        Path(f"r_{name}.json").write_text(json.dumps(scores))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--format", "json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found["values"] == expected["values"]
    for name, interval in expected["confidence"].items():
        assert found["confidence"][name] == pytest.approx(interval, rel=1e-9)


def test_the_command_line_numbers_the_rows_of_shards(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--metrics", ",".join(METRICS), "--confidence", "0.9"]
    expected = printed(capsys, "evaluate", "y_all.npz", "s_all.npy", *common)
    for name, first in (("a", "0"), ("b", "50")):
        shard_of = ["evaluate", f"y_{name}.npz", f"s_{name}.npy", *common]
        printed(capsys, *shard_of, "--first-row", first, "--save", f"{name}.state")
        printed(capsys, *shard_of, "--save", f"{name}.unnumbered")
    assert_same(printed(capsys, "merge", "b.state", "a.state"), expected)
    assert main(["merge", "a.unnumbered", "b.unnumbered"]) == 2
    assert (
        "b.unnumbered: intervals need the number of each row in all shards; give each shard its --first-row"
        in (capsys.readouterr().err)
    )


def test_two_workers_have_the_intervals_of_one_pass(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    words = ["evaluate", "y_all.npz", "s_all.npy", "--metrics", ",".join(METRICS), "--confidence", "0.9"]
    assert_same(printed(capsys, *words, "--workers", "2"), printed(capsys, *words))


@pytest.mark.parametrize("more", [["--workers", "2"], ["--checkpoint", "kept"], ["--per-row", "rows.csv"]])
def test_shards_are_numbered_however_they_are_counted(
    files: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    if "--workers" in more:
        pytest.importorskip("distributed")
    common = ["--metrics", ",".join(METRICS), "--confidence", "0.9"]
    expected = printed(capsys, "evaluate", "y_all.npz", "s_all.npy", *common)
    for name, first in (("a", "0"), ("b", "50")):
        printed(
            capsys, "evaluate", f"y_{name}.npz", f"s_{name}.npy", *common, *more, "--first-row", first,
            "--save", f"{name}.state",
        )  # fmt: skip
    assert_same(printed(capsys, "merge", "b.state", "a.state"), expected)
    assert main(["merge", "a.state", "a.state"]) == 2
    assert "a.state: --first-row: rows 0..49 are" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            "one",
            "Invalid value for '--first-row': 'one' is not a whole number; see `xmleval evaluate --help`",
        ),
        ("-1", "Invalid value for '--first-row': -1 is not in the range x>=0; see `xmleval evaluate --help`"),
        (f"{1 << 62}", f"--first-row: {1 << 62} is more than {1 << 60}, the most there can be"),
    ],
)
def test_wrong_numbers_of_rows_are_refused(
    files: Path, capsys: pytest.CaptureFixture[str], number: str, said: str
) -> None:
    assert main(["evaluate", "y_a.npz", "s_a.npy", "--metrics", "p@1", "--first-row", number]) == 2
    assert capsys.readouterr().err == f"xmleval: {said}\n"


def test_files_with_keys_need_no_numbers(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("labels.txt").write_text("\n".join(NAMES))
    common = ["--metrics", ",".join(METRICS), "--confidence", "0.9", "--labels", "labels.txt"]
    expected = printed(capsys, "evaluate", "t_all.json", "r_all.json", *common)
    for name in "ab":
        printed(capsys, "evaluate", f"t_{name}.json", f"r_{name}.json", *common, "--save", f"{name}.state")
    merged = printed(capsys, "merge", "b.state", "a.state")
    assert_same(merged, expected)
    report = once("keys")
    assert merged["standard_errors"] == pytest.approx(report.standard_errors, rel=1e-9)


def test_an_update_without_rows_takes_clusters_without_names() -> None:
    evaluator = Evaluator("p@1", labels=["a", "b"], confidence=0.9)
    evaluator.update({}, {}, clusters={})
    evaluator.update(
        {"q": ["a"], "r": ["b"]}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, clusters={"q": "x", "r": "y"}
    )
    assert evaluator.compute()["p@1"] == 0.5
