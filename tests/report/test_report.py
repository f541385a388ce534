"""The report in every printed form, and the evaluator behind it: refused, merged, saved, loaded."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import H, M, N, Q, S, T, counting
from xmleval import Report, __version__, evaluate, inverse_propensity

NAMES = ["p@1", "p@3", "ndcg@3", "coverage", "lrap", "error_set_size"]


def report_of(metrics: Any = NAMES, **more: Any) -> Report:
    return evaluate(T, S, metrics=metrics, **more)


def test_report_is_a_mapping_in_the_order_asked() -> None:
    report = report_of()
    assert list(report) == list(report.keys()) == NAMES
    assert len(report) == len(dict(report)) == 6
    assert all(type(value) is float for value in report.values())
    assert report == report_of()
    assert report != report_of(["p@1"])
    assert list(report_of(["lrap", "xmc", "p@3"]))[:3] == ["lrap", "p@1", "p@3"]


@pytest.mark.parametrize("spelling", ["p@3", "P@3", "precision@3", "Precision@3", " prec@3 ", "P @ 3"])
def test_any_spelling_finds_a_value(spelling: str) -> None:
    report = report_of()
    assert report[spelling] == report["p@3"]
    assert spelling in report


@pytest.mark.parametrize("name", ["p@4", "p", "nothing", "", "auc", "f1.macro", 3, None, ("p@3",)])
def test_what_was_not_computed_is_a_key_error(name: Any) -> None:
    report: Mapping[Any, float] = report_of()
    with pytest.raises(KeyError):
        report[name]
    assert name not in report
    assert report.get(name, -1.0) == -1.0


def test_report_is_short_in_a_console_and_survives_copying() -> None:
    report = report_of(per_row=True)
    assert pickle.loads(pickle.dumps(report)).to_json() == report.to_json()
    assert "<function" not in repr(report)
    assert len(repr(report)) < 4000


def test_table_of_a_terminal() -> None:
    report = report_of(["p@1", "p@3", "ndcg@1", "ndcg@3", "coverage", "error_set_size"])
    lines = str(report).splitlines()
    assert [lines[0], lines[1].split()] == ["3 rows x 4 labels", ["measure", "value", "@1", "@3"]]
    cells = {line.split("  ")[0]: line.split()[-2:] for line in lines[3:7]}
    assert list(cells) == ["P ↑", "nDCG ↑", "Coverage ↓", "Error-set size ↓"]
    assert cells["P ↑"] == [f"{report['p@1']:.4f}", f"{report['p@3']:.4f}"]
    assert cells["Coverage ↓"][-1] == f"{report['coverage']:.4f}"
    assert lines[7:] == [report.signature(), "rows left out as undefined: coverage 1"]
    assert all(line == line.rstrip() and len(line) < 100 for line in lines)
    assert lines[5].index(".") < lines[3].index(".") == lines[4].index(".")


def test_markdown() -> None:
    report = report_of(["p@1", "p@3", "coverage"])
    assert report.to_markdown() == (
        "| measure | value | @1 | @3 |\n|---|---:|---:|---:|\n"
        f"| P ↑ |  | {report['p@1']:.4f} | {report['p@3']:.4f} |\n"
        f"| Coverage ↓ | {report['coverage']:.4f} |  |  |\n\n"
        "empty=zero no\\_pairs=skip unlisted=below  \nrows left out as undefined: coverage 1\n"
    )


def test_latex() -> None:
    report = report_of(["map_r@1", "p@3", "coverage", "label_cardinality"])
    assert report.to_latex() == (
        f"% {report.signature()}\n% rows left out as undefined: coverage 1\n"
        "\\begin{tabular}{lrrr}\n\\toprule\nmeasure & value & @1 & @3 \\\\\n\\midrule\n"
        f"MAP\\_R $\\uparrow$ &  & {report['map_r@1']:.4f} &  \\\\\n"
        f"P $\\uparrow$ &  &  & {report['p@3']:.4f} \\\\\n"
        f"Coverage $\\downarrow$ & {report['coverage']:.4f} &  &  \\\\\n"
        f"Label cardinality & {report['label_cardinality']:.4f} &  &  \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def test_json_and_csv_keep_every_bit() -> None:
    names = [name for name in report_of("all", y_pred=H, inverse_propensity=Q) if not name.startswith("mcc")]
    how = {"zero_division": math.nan}  # which leaves no average of mcc
    report = report_of(names, y_pred=H, inverse_propensity=Q, conventions=how)
    found = json.loads(report.to_json())
    assert (found["values"], found["version"]) == (dict(report), __version__)
    assert (found["n_rows"], found["n_labels"], found["decision"]) == (M, N, "pred")
    assert found["conventions"]["zero_division"] == "nan"
    assert found == report.to_dict()
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert {row["name"]: float(row["value"]) for row in rows} == dict(report)
    directions = {row["symbol"]: row["direction"] for row in rows}
    shown = [directions[symbol] for symbol in ("P@5", "Hamming loss", "Label diversity")]
    assert shown == ["up", "down", "none"]


def test_undefined_is_null_empty_and_said() -> None:
    report = evaluate(T[2:], S[2:], metrics=["ranking_loss", "p@1"])
    assert math.isnan(report["ranking_loss"])
    assert json.loads(report.to_json())["values"] == {"ranking_loss": None, "p@1": 0.0}
    assert "ranking_loss,Ranking loss,down,,,\n" in report.to_csv()
    assert "undefined" in str(report).splitlines()[3]
    assert report.undefined_rows == {"ranking_loss": 1}
    skipped = report_of(["p@1", "r@1", "hit@1"], conventions={"empty": "skip"})
    assert skipped.undefined_rows == {"p@1": 1, "r@1": 1, "hit@1": 1}


def test_propensity_constants_are_reported() -> None:
    q = inverse_propensity(a=0.6, b=2.6, label_counts=[1, 2, 3, 4], n_instances=30)
    report = report_of(["psp@1"], inverse_propensity=q)
    assert json.loads(report.to_json())["propensity"] == {"a": 0.6, "b": 2.6, "n": 30.0}
    assert report.signature() == "unlisted=below propensity=(a=0.6 b=2.6 n=30)"
    assert report_of(["psp@1"], inverse_propensity=Q).signature() == "unlisted=below propensity=(given)"


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("psr_raw@1", "empty=zero unlisted=below propensity=(given)"), ("p@1", "empty=zero unlisted=below"),
        ("ndcg@1", "ndcg_ties=order empty=zero unlisted=below"), ("one_error", "unlisted=below"),
        ("ranking_loss", "loss_ties=full no_pairs=skip unlisted=below"), ("label_cardinality", ""),
        ("auc.samples", "auc_ties=half no_pairs=skip unlisted=below"),
        ("f1.micro", "zero_division=0 unlisted=below decision=top2"),
        ("f1.macro", "zero_division=0 labels=all unlisted=below decision=top2"),
        ("f1.of_macros", "zero_division=0 labels=all unlisted=below decision=top2"),
        ("f1.macro@1", "zero_division=0 labels=all unlisted=below"),
        ("subset_accuracy", "unlisted=below decision=top2"),
    ],
)  # fmt: skip
def test_signature_shows_the_fields_that_matter(name: str, signature: str) -> None:
    assert report_of([name], decision="top2", inverse_propensity=Q).signature() == signature


def test_signature_shows_what_was_chosen() -> None:
    chosen = {"empty": "skip", "unlisted": 0.5, "zero_division": math.nan, "labels": "seen"}
    found = report_of(["p@1", "f1.macro"], decision="threshold0.75", conventions=chosen)
    assert found.signature() == "empty=skip zero_division=nan labels=seen unlisted=0.5 decision=threshold0.75"
    given = evaluate(T, y_pred=H, metrics=["f1.micro"])
    assert given.signature() == "zero_division=0 decision=pred"


def test_left_out_members_of_groups_are_listed() -> None:
    report = report_of(["xmc", "sets"], k=[1])
    assert report.not_computed["psp@1"] == "y_train= or inverse_propensity="
    assert report.not_computed["f1.macro"] == "y_pred= or decision="
    assert not set(report.not_computed) & set(report)
    assert "not computed without y_train= or inverse_propensity=: psp@1, psndcg@1" in str(report)
    assert json.loads(report.to_json())["not_computed"] == report.not_computed


def test_rows_are_kept_on_demand() -> None:
    with pytest.raises(ValueError, match="per_row=True"):
        report_of().per_row()
    report = report_of([*NAMES, "f1.macro", "psp@1"], y_pred=H, inverse_propensity=Q, per_row=True)
    kept = report.per_row()
    assert list(kept) == NAMES  # a macro average and a ratio of sums have no rows
    np.testing.assert_equal([kept["p@1"], kept["coverage"]], [[1, 0, 0], [2, 2, np.nan]])


TALL, DEEP = np.tile(T, (4, 1)), np.tile(S, (4, 1))
LISTED = np.tile([[2, 0, 1]], (12, 1))
FALLING = -LISTED / 8


def spoil(values: Any, rows: list[int], value: float) -> Any:
    values = np.array(values, float)
    values[rows, 1] = value
    return values


# what is wrong in some rows -> argument, and what the message says of the first
IN_BLOCKS: dict[str, tuple[str, Callable[[list[int]], Any], str]] = {
    "dense truth": ("y_true", lambda rows: spoil(TALL, rows, 7), "value 7.0 is"),
    "csr truth": ("y_true", lambda rows: sp.csr_array(spoil(TALL, rows, 7)), "value 7.0 is"),
    "dense scores": ("y_score", lambda rows: spoil(DEEP, rows, np.nan), "score nan is"),
    "coo scores": ("y_score", lambda rows: sp.coo_array(spoil(DEEP, rows, np.nan)), "score nan is"),
    "list": ("y_score", lambda rows: (spoil(LISTED, rows, 4).astype(int), FALLING), "label id 4 is not"),
    "doubled": ("y_score", lambda rows: (spoil(LISTED, rows, 1).astype(int), FALLING), "label id 1 occurs"),
    "list scores": ("y_score", lambda rows: (LISTED, spoil(LISTED, rows, np.nan)), "score nan is"),
    "sets": ("y_pred", lambda rows: spoil(TALL, rows, -1), "value -1.0 is"),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("case", IN_BLOCKS)
def test_first_bad_row_is_named_whatever_the_blocks(case: str, threads: int) -> None:
    argument, bad, message = IN_BLOCKS[case]
    good: dict[str, Any] = {"y_true": TALL, "y_score": DEEP, "metrics": "all", "threads": threads}
    for rows in ([11], [5, 6, 11], [0, 7], [8, 9]):
        for block_rows in (1, 2, 5, None):
            with pytest.raises(ValueError, match=f"^{argument}: row {rows[0]}: {message}"):
                evaluate(**{**good, argument: bad(rows)}, block_rows=block_rows)


@pytest.mark.parametrize("argument", ["y_true", "y_pred", "y_score", "list"])
@pytest.mark.parametrize("block_rows", [1, None])
def test_first_bad_row_is_named_whatever_is_wrong_later(argument: str, block_rows: int | None) -> None:
    ids = np.array([[0, 2], [1, 1], [3, 9]])
    given: Any = sp.csr_array((np.ones(6), ids.ravel() % 9, [0, 2, 4, 6]), shape=T.shape)
    given.indices[-1] = 9
    name, value = ("y_score", (ids, None)) if argument == "list" else (argument, given)
    data: dict[str, Any] = {"y_true": T, "y_score": S}
    with pytest.raises(ValueError, match=f"^{name}: row 1: label id 1 occurs twice"):
        evaluate(**{**data, name: value}, metrics="all", block_rows=block_rows)


LATER: dict[str, tuple[dict[str, Any], str]] = {
    **{name: ({argument: bad([10, 11])}, f"{argument}: row 10: {message}")
       for name, (argument, bad, message) in IN_BLOCKS.items()},
    "no sets now": ({"y_pred": None}, "y_pred: given earlier, but not now"),
    "no scores now": ({"y_score": None}, "y_score: given earlier, but not now"),
    "weights now": ({"sample_weight": np.ones(12)}, "sample_weight: given now, but not earlier"),
    "rows counted": ({"first_row": 3}, r"first_row: rows 3\.\.1[14] are kept already"),
    "rows before 0": ({"first_row": -1}, "first_row: -1 is not a non-negative integer"),
    "half a row": ({"first_row": 24.5}, "first_row: 24.5"),
    "other type": ({"y_score": DEEP.astype("f4")}, "y_score: scores are float32 where earlier ones were not"),
    "other width": ({"y_true": TALL[:, :3]}, r"y_true: shape \(12, 3\) has 3 labels; 4 were expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", LATER)
def test_refused_update_counts_nothing(case: str) -> None:
    given, message = LATER[case]
    good: dict[str, Any] = {"y_true": TALL, "y_score": DEEP, "y_pred": TALL[::-1]}
    unlisted = 0.0 if case == "other type" else None
    ev, other = counting(unlisted=unlisted), counting(unlisted=unlisted)
    if case in IN_BLOCKS:
        with pytest.raises(ValueError, match=f"^{message}"):
            ev.update(**{**good, **given})
    with pytest.raises(ValueError, match="nothing was counted yet"):
        ev.compute()
    for _ in range(2):
        ev.update(**good)
        other.update(**good)
        with pytest.raises(ValueError, match=f"^{message}"):
            ev.update(**{**good, **given})
        found, expected = ev.compute(), other.compute()
        assert found.to_json() == expected.to_json()
        np.testing.assert_equal(found.per_row(), expected.per_row())


@pytest.mark.parametrize(
    ("more", "difference"),
    [
        ({"n_labels": 5, "inverse_propensity": None}, "n_labels differs: 4 here, 5 there"),
        ({"metrics": "xmc"}, "metrics differs"), ({"k": [1, 2]}, "metrics differs"),
        ({"conventions": "sklearn"}, "ndcg_ties differs"), ({"unlisted": 0.0}, "unlisted differs"),
        ({"decision": "top2"}, "decision differs: None here, top2 there"),
        ({"inverse_propensity": Q[::-1]}, "propensity differs"),
        ({"inverse_propensity": None}, "propensity differs"),
        ({"per_row": False}, "per_row differs: True here, False there"),
    ],
)  # fmt: skip
def test_merge_names_the_difference(more: dict[str, Any], difference: str) -> None:
    ev, other = counting(), counting(**more)
    ev.update(T, S)
    other.update(np.eye(M, other.n_labels), np.eye(M, other.n_labels), first_row=M)
    before = ev.compute().to_json()
    with pytest.raises(ValueError, match=f"^merge: {difference}"):
        ev.merge(other)
    assert ev.compute().to_json() == before


def test_merge_refuses_other_input_and_kept_rows() -> None:
    ev, other, weighted = counting(), counting(), counting()
    ev.update(T, S)
    other.update(T, S)
    weighted.update(T, S, sample_weight=[1, 2, 3], first_row=3)
    before = ev.compute().to_json()
    with pytest.raises(ValueError, match=r"^first_row: rows 0\.\.2 are kept already"):
        ev.merge(other)
    with pytest.raises(ValueError, match=r"^merge: input differs: .*sample_weight"):
        ev.merge(weighted)
    assert ev.merge(counting()) is ev
    assert ev.compute().to_json() == counting().merge(ev).compute().to_json() == before


def test_rows_of_a_merged_evaluator_are_kept_already() -> None:
    ev, other, again = counting(), counting(), counting()
    ev.update(T, S)
    other.update(T, S, first_row=M)
    again.update(T, S, first_row=2 * M - 1)
    ev.merge(other)
    before = ev.compute().to_json()
    said = rf"^first_row: rows {2 * M - 1}\.\.{2 * M - 1} are kept already"
    with pytest.raises(ValueError, match=said):
        ev.update(T, S, first_row=2 * M - 1)
    with pytest.raises(ValueError, match=said):
        ev.merge(again)
    assert ev.compute().to_json() == before


def test_scores_after_a_merge_are_of_its_type() -> None:
    ev, other = counting(unlisted=0.0), counting(unlisted=0.0)
    other.update(T, S.astype(np.float32))
    ev.merge(other)
    with pytest.raises(ValueError, match=r"^y_score: .*float64"):
        ev.update(T, S, first_row=M)
    ev.update(T, S.astype(np.float32), first_row=M)
    assert ev.n_rows == 2 * M
