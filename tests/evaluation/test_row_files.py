"""Files of weights, groups and clusters of rows: their order, further rows, and what is refused."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import Evaluator, Running, evaluate

M = 5
NAMES = [*"abc"]
RNG = np.random.default_rng(9)
TRUTH = (RNG.random((M, 3)) < 0.5).astype(np.int8)
TRUTH[:, 0] |= TRUTH.sum(axis=1) == 0
SCORES = RNG.random((M, 3))
KEYS = [f"q{row}" for row in range(M)]
VALUES: dict[str, list[Any]] = {
    "sample_weight": [1, 0.5, 3, 0, 2],
    "row_groups": ["de", "en", "de", "fr", "en"],
    "clusters": ["u", "v", "u", "w", "v"],
}
NOUNS = {"sample_weight": "weight", "row_groups": "group", "clusters": "cluster"}
OPTIONS: dict[str, dict[str, Any]] = {
    "sample_weight": {"metrics": ["p@1", "lrap", "auc.micro"]},
    "row_groups": {"metrics": ["p@1", "lrap"]},
    "clusters": {"metrics": ["p@1", "lrap"], "confidence": 0.9},
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the same rows by number and by name."""
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", sp.csr_array(TRUTH))
    np.save("S.npy", SCORES)
    truth = list[str]()
    scores = list[str]()
    for key, row, row_scores in zip(KEYS, TRUTH, SCORES, strict=True):
        labels = [NAMES[label] for label in np.flatnonzero(row)]
        truth.append(json.dumps({"id": key, "labels": labels}))
        listed = {"labels": NAMES, "scores": row_scores.tolist()}
        scores.append(json.dumps({"id": key, **listed}))
    Path("Y.jsonl").write_text("\n".join(truth) + "\n")
    Path("S.jsonl").write_text("\n".join(scores) + "\n")


def write_values(argument: str, rows: list[int], named: bool, header: str = "row,value") -> str:
    """Write the values of some rows by key, and return the name of the file."""
    lines = [header]
    for row in rows:
        key = KEYS[row] if named else row
        lines.append(f"{key},{VALUES[argument][row]}")
    Path("values.csv").write_text("\n".join(lines) + "\n")
    return "values.csv"


def report_of(named: bool, **options: Any) -> dict[str, Any]:
    files = ("Y.jsonl", "S.jsonl") if named else ("Y.npz", "S.npy")
    report = evaluate(*files, **options).to_dict()
    return {name: report[name] for name in ("values", "row_groups", "confidence") if name in report}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("argument", VALUES)
def test_values_of_rows_are_those_of_their_keys_in_any_order(argument: str, named: bool) -> None:
    options = OPTIONS[argument]
    expected = report_of(named, **{argument: VALUES[argument]}, **options)
    assert expected != report_of(named, **options)
    orders = [[*range(M)], [*range(M)][::-1], [2, 0, 4, 1, 3]]
    for order, header in itertools.product(orders, ("row,value", ",value")):
        path = write_values(argument, order, named, header)
        assert report_of(named, **{argument: path}, **options) == expected
        assert report_of(named, **{argument: Path(path)}, **options) == expected
    if named:  # further rows are ignored, with a note
        path = write_values(argument, [*range(M)], named)
        with Path(path).open("a") as file:
            file.write(f"q9,{VALUES[argument][0]}\nq8,{VALUES[argument][1]}\n")
        arguments: dict[str, Any] = {argument: path, **options}
        report = evaluate("Y.jsonl", "S.jsonl", **arguments)
        assert "values.csv: 2 rows occur in no other input; they are ignored" in report.notes
        assert report_of(named, **{argument: path}, **options) == expected


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("argument", VALUES)
@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        ([4, 3, 2, 1], "row,value", "no {noun} for row {first}"),
        (
            [4, 3, 2, 1],
            ",value",
            "no {noun} for row {first}; its first column has no name: write the keys of the rows "
            "there",
        ),
        ([0, 1, 2, 4], "row,value", "no {noun} for row {fourth}"),
        ([0, 1, 1, 2, 3, 4], "row,value", "line 4: a second {noun} for row {second!r}"),
    ],
)
def test_files_without_the_value_of_a_row_or_with_two_are_refused(
    rows: list[int], header: str, message: str, argument: str, named: bool
) -> None:
    path = write_values(argument, rows, named, header)
    keys = KEYS if named else [*map(str, range(M))]
    places = {"first": keys[0], "second": keys[1], "fourth": keys[3]}
    expected = message.format(noun=NOUNS[argument], **places)
    with pytest.raises(ValueError, match=f"^values.csv: {re.escape(expected)}$"):
        report_of(named, **{argument: path}, **OPTIONS[argument])


@pytest.mark.parametrize(
    ("text", "named", "message"),
    [
        ("row,value\n0,1\n1,x\n2,1\n3,1\n4,1\n", False, "weight 'x' of row 1 is not a number"),
        ("row,value\n0,1\n1,\n2,1\n3,1\n4,1\n", False, None),
        ("row,value\nx,1\n", False, "line 2: row 'x' is not a whole number"),
        ("row,value\n0,1\n5,1\n", False, "line 3: row '5' is not in 0..4"),
        ("row,value\n0,1\n-1,1\n", False, "line 3: row '-1' is not in 0..4"),
        ("1\n1\n1\n1\n", False, "4 weights do not match the 5 rows of Y.npz"),
        ("3\n1\n1\n1\n1\n1\n", False, "6 weights do not match the 5 rows of Y.npz"),
        (
            "row,value\nz,1\n",
            True,
            "no row in it occurs in the other inputs, which have 'q0'",
        ),
    ],
)
def test_files_of_weights_are_refused_with_their_line(
    text: str, named: bool, message: str | None
) -> None:
    Path("values.csv").write_text(text)
    expected = "^values.csv: "
    if message is not None:
        expected += f"{re.escape(message)}$"
    with pytest.raises(ValueError, match=expected):
        report_of(named, metrics="p@1", sample_weight="values.csv")


def test_weights_of_files_stay_in_saved_states() -> None:
    path = write_values("sample_weight", [4, 3, 2, 1, 0], named=False)
    options: dict[str, Any] = {"metrics": ["p@1", "lrap", "auc.micro"]}
    expected = evaluate(TRUTH, SCORES, sample_weight=VALUES["sample_weight"], **options)
    running = Running(save="kept.state")
    report = evaluate("Y.npz", "S.npy", sample_weight=path, running=running, **options)
    assert dict(report) == dict(expected)
    assert dict(Evaluator.load("kept.state").compute()) == dict(expected)
    twice = evaluate(
        np.vstack([TRUTH, TRUTH]),
        np.vstack([SCORES, SCORES]),
        sample_weight=[*VALUES["sample_weight"], *[1] * M],
        **options,
    )
    evaluator = Evaluator.load("kept.state")
    evaluator.update(TRUTH, SCORES, sample_weight=[1] * M)
    assert dict(evaluator.compute()) == dict(twice)
