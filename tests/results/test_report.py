"""The report in every printed form, and the evaluator behind it: refused, merged, saved, loaded."""

import csv
import io
import json
import math
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import H, M, N, Q, S, T, counting
from tests.results.notebooks import page_of, rows_of
from xmleval import (
    Comparison,
    Evaluator,
    Report,
    Running,
    __version__,
    evaluate,
    inverse_propensity,
)

NAMES = ["p@1", "p@3", "ndcg@3", "coverage", "lrap", "error_set_size"]


def report_of(metrics: Any = NAMES, **options: Any) -> Report:
    return evaluate(T, S, metrics=metrics, **options)


def test_report_is_a_mapping_in_the_order_of_metrics() -> None:
    report = report_of(per_row=True)
    assert list(report) == list(report.keys()) == NAMES
    assert all(type(value) is float for value in report.values())
    assert report == report_of()
    assert report != report_of(["p@1"])
    assert list(report_of(["lrap", "xmc", "p@3"]))[:3] == ["lrap", "p@1", "p@3"]
    assert pickle.loads(pickle.dumps(report)).to_json() == report.to_json()
    assert "<function" not in repr(report)


@pytest.mark.parametrize("spelling", ["p3", "Precision@3", " prec@3 ", "P @ 3"])
def test_report_takes_any_spelling_as_key(spelling: str) -> None:
    report = report_of()
    assert report[spelling] == report["p@3"] == report_of(spelling)[spelling]
    assert spelling in report


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pp@1", "did you mean p@1?"),
        ("p@7", "it has p@1, p@3"),
        ("macro_f1@3", "it has f1.macro@2"),
        ("zzz", "it has p@1, p@3, coverage, f1.macro@2"),
        (3, "3"),
        (("p@3",), "('p@3',)"),
    ],
)
def test_report_refuses_measures_that_were_not_computed(name: Any, message: str) -> None:
    report: Mapping[Any, float] = report_of(["p@1", "p@3", "coverage", "f1.macro@2"])
    with pytest.raises(KeyError, match=re.escape(message)):
        report[name]
    assert name not in report
    assert report.get(name, -1.0) == -1.0


def test_report_in_markdown_and_latex() -> None:
    report = report_of(["map_r@1", "p@3", "coverage", "label_cardinality"])
    values = [f"{value:.4f}" for value in report.values()]
    map_r, p, coverage, cardinality = values
    markdown = [
        "| measure | value | @1 | @3 |",
        "|---|---:|---:|---:|",
        rf"| MAP\_R ↑ |  | {map_r} |  |",
        f"| P ↑ |  |  | {p} |",
        f"| Coverage ↓ | {coverage} |  |  |",
        f"| Label cardinality | {cardinality} |  |  |",
        "",
        r"ties=order empty=zero no\_pairs=skip unlisted=below  ",
        "rows left out as undefined: coverage 1",
        "",
    ]
    assert report.to_markdown() == "\n".join(markdown)
    latex = [
        f"% {report.signature()}",
        "% rows left out as undefined: coverage 1",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"measure & value & @1 & @3 \\",
        r"\midrule",
        rf"MAP\_R $\uparrow$ &  & {map_r} &  \\",
        rf"P $\uparrow$ &  &  & {p} \\",
        rf"Coverage $\downarrow$ & {coverage} &  &  \\",
        rf"Label cardinality & {cardinality} &  &  \\",
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]
    assert report.to_latex() == "\n".join(latex)


MODEL = inverse_propensity(a=0.6, b=2.6, label_counts=[1, 2, 3, 4], n_instances=30)


def test_json_and_csv_keep_every_bit() -> None:
    every_name = report_of("all", y_pred=H, inverse_propensity=Q)
    names = [name for name in every_name if not name.startswith("mcc")]
    how = {"zero_division": math.nan}  # which leaves no average of mcc
    report = report_of(names, y_pred=H, inverse_propensity=MODEL, conventions=how)
    contents = json.loads(report.to_json())
    assert (contents["values"], contents["version"]) == (dict(report), __version__)
    assert (contents["n_rows"], contents["n_labels"], contents["decision"]) == (M, N, "pred")
    assert contents["conventions"]["zero_division"] == "nan"
    assert contents["propensity"] == {"a": 0.6, "b": 2.6, "n": 30.0}
    assert contents == report.to_dict()
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert {row["name"]: float(row["value"]) for row in rows} == dict(report)
    directions = {row["symbol"]: row["direction"] for row in rows}
    shown = [directions[symbol] for symbol in ("P@5", "Hamming loss", "Label diversity")]
    assert shown == ["up", "down", "none"]


def test_report_writes_undefined_values_as_null_empty_or_undefined() -> None:
    report = evaluate(T[2:], S[2:], metrics=["ranking_loss", "p@1"])
    assert math.isnan(report["ranking_loss"])
    assert json.loads(report.to_json())["values"] == {"ranking_loss": None, "p@1": 0.0}
    assert report.flat() == {"p_at_1": 0.0}
    assert "ranking_loss,Ranking loss,down,,,\n" in report.to_csv()
    assert "undefined" in str(report).splitlines()[3]
    assert report.undefined_rows == {"ranking_loss": 1}
    skipped = report_of(["p@1", "r@1", "hit@1"], conventions={"empty": "skip"})
    assert skipped.undefined_rows == {"p@1": 1, "r@1": 1, "hit@1": 1}


@pytest.mark.parametrize(
    ("name", "options", "signature"),
    [
        ("psr_raw@1", {}, "ties=order empty=zero unlisted=below propensity=(given)"),
        (
            "psp@1",
            {"inverse_propensity": MODEL},
            "ties=order unlisted=below propensity=(a=0.6 b=2.6 n=30)",
        ),
        ("ndcg@1", {}, "ties=order empty=zero unlisted=below"),
        ("label_cardinality", {}, ""),
        ("ranking_loss", {}, "loss_ties=full no_pairs=skip unlisted=below"),
        ("auc.samples", {}, "auc_ties=half no_pairs=skip unlisted=below"),
        ("f1.micro", {"decision": "top2"}, "zero_division=0 unlisted=below decision=top2"),
        ("f1.of_macros", {"y_pred": H}, "zero_division=0 labels=all decision=pred"),
        ("f1.macro@1", {}, "zero_division=0 labels=all unlisted=below"),
        (
            "f1.macro@1",
            {"conventions": {"unlisted": 0.5, "zero_division": math.nan, "labels": "seen"}},
            "zero_division=nan labels=seen unlisted=0.5",
        ),
    ],
)
def test_signature_shows_the_fields_that_matter(
    name: str, options: dict[str, Any], signature: str
) -> None:
    arguments = {"inverse_propensity": Q, "y_score": None if "y_pred" in options else S, **options}
    assert evaluate(T, metrics=name, **arguments).signature() == signature


def test_report_lists_measures_of_groups_that_were_not_computed() -> None:
    report = report_of(["xmc", "sets"], k=[1])
    assert report.not_computed["psp@1"] == "y_train= or inverse_propensity="
    assert report.not_computed["f1.macro"] == "y_pred= or decision="
    assert not set(report.not_computed) & set(report)
    assert "not computed without y_train= or inverse_propensity=: psp@1, psndcg@1" in str(report)
    assert json.loads(report.to_json())["not_computed"] == report.not_computed


def test_per_row_is_kept_on_demand() -> None:
    with pytest.raises(ValueError, match="per_row=True"):
        report_of().per_row()
    rows = report_of(
        [*NAMES, "f1.macro", "psp@1"], y_pred=H, inverse_propensity=Q, per_row=True
    ).per_row()
    assert list(rows) == NAMES  # a macro average and a ratio of sums have no rows
    np.testing.assert_equal([rows["p@1"], rows["coverage"]], [[1, 0, 0], [2, 2, np.nan]])


# ------------------------------------------------------------------------- notebooks and trackers


def test_notebook_shows_the_table() -> None:
    report = report_of(["p@1", "p@3", "coverage", "f1.macro@2"])
    for shown in (report, Comparison({"a": report, "b": report})):
        assert len(rows_of(shown)) == 4 + (shown is not report)
        assert "<p>3 rows x 4 labels" in page_of(shown)
        for line in (report.signature(), "rows left out as undefined: coverage 1"):
            assert f"<p><small>{line}</small></p>" in page_of(shown)


def test_flat_names_are_valid_and_differ() -> None:
    names = [
        "fbeta.macro(beta=0.5)",
        "fbeta.macro(beta=5)",
        "fbeta.macro(beta=1e-07)",
        "fbeta.macro(beta=1e+20)@5",
    ]
    report = report_of(["all", *names], k=[1, 5, 15], y_pred=H, inverse_propensity=Q)
    # none undefined
    report.results.values = {name: float(place) for place, name in enumerate(report)}
    flat = report.flat()
    assert list(flat.values()) == list(report.values())
    mlflow = r"[/\w.\- :]*"  # mlflow.utils.validation
    wandb = "[_a-zA-Z][_a-zA-Z0-9]*"  # its documentation of names of metrics
    for name in flat:
        assert re.fullmatch(mlflow, name)
        assert re.fullmatch(wandb, name)
    assert len(report.flat(at="@")) == len(flat)


def test_frames_have_values_and_intervals() -> None:
    pytest.importorskip("pandas")
    report = report_of()
    bounded = report_of("lrap", bounds=True)
    frame = report.to_frame()
    assert [frame.index.name, *frame.columns] == ["name", "symbol", "direction", "value"]
    assert frame["value"].to_dict() == dict(report)
    assert frame.loc["coverage", "direction"] == "down"
    pair = Comparison({"name": report, "b": report}).to_frame()
    assert [*pair.columns] == ["symbol", "direction", "name", "b"]
    columns = Comparison({"a": bounded, "b": report_of("lrap")}).to_frame().columns
    assert [*columns[2:]] == ["a", "a lower", "a upper", "b", "b lower", "b upper"]


def test_frames_of_polars_and_arrow_have_the_lines_of_csv() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    bounded = report_of("lrap", bounds=True)
    results: list[Any] = [
        report_of(),
        bounded,
        Comparison({"a": bounded, "b": report_of("lrap")}),
    ]
    for result in results:
        of_pandas = result.to_frame().reset_index()
        frame = result.to_frame("polars")
        assert isinstance(frame, polars.DataFrame)
        assert frame.columns == [*of_pandas.columns]
        values = [name for name in frame.columns if frame[name].dtype == polars.Float64]
        assert values
        for name in values:
            expected = [None if np.isnan(value) else value for value in of_pandas[name]]
            assert frame[name].to_list() == expected
        assert pyarrow.table(result).to_pydict() == frame.to_dict(as_series=False)
    undefined = evaluate(np.zeros((2, 3)), np.eye(3)[:2], metrics="lrap")
    assert undefined.to_frame("polars")["value"].to_list() == [None]
    assert undefined.to_frame("polars")["value"].dtype == polars.Float64
    named = Comparison({"name": report_of(), "b": report_of()})
    with pytest.raises(ValueError, match="two columns are called 'name'; give the model"):
        named.to_frame("polars")
    with pytest.raises(ValueError, match="library 'dask' is not pandas or polars"):
        report_of().to_frame("dask")


# ------------------------------------------------------------------------ refused rows and merges

TALL = np.tile(T, (4, 1))
DEEP = np.tile(S, (4, 1))
LISTED = np.tile([[2, 0, 1]], (12, 1))
FALLING = -LISTED / 8
GOOD: dict[str, Any] = {"y_true": TALL, "y_score": DEEP, "y_pred": TALL[::-1]}


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
    "list": (
        "y_score",
        lambda rows: (spoil(LISTED, rows, 4).astype(int), FALLING),
        "label id 4 is not",
    ),
    "doubled": (
        "y_score",
        lambda rows: (spoil(LISTED, rows, 1).astype(int), FALLING),
        "label id 1 occurs",
    ),
    "list scores": ("y_score", lambda rows: (LISTED, spoil(LISTED, rows, np.nan)), "score nan is"),
    "sets": ("y_pred", lambda rows: spoil(TALL, rows, -1), "value -1.0 is"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", IN_BLOCKS)
def test_evaluate_names_the_bad_row_of_the_first_bad_block(case: str) -> None:
    argument, bad, message = IN_BLOCKS[case]
    for rows, block_rows in (
        ([8], 2),
        ([5, 6, 11], 1),
        ([0, 7], 5),
    ):
        for later, bad_later, _ in IN_BLOCKS.values():  # the last row has a fault, too
            arguments = {**GOOD, later: bad_later([11]), argument: bad(rows)}
            with pytest.raises(ValueError, match=f"^{argument}: row {rows[0]}: {message}"):
                evaluate(
                    **arguments, metrics="all", threads=4, running=Running(block_rows=block_rows)
                )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_score": spoil(DEEP, [10, 11], np.nan)}, "y_score: row 10: score nan is"),
        ({"y_pred": None}, "y_pred: given earlier, but not now"),
        ({"sample_weight": np.ones(12)}, "sample_weight: given now, but not earlier"),
        ({"first_row": 3}, r"first_row: rows 3\.\.1[14] are counted already"),
        ({"y_score": DEEP.astype("f4")}, "y_score: scores are float32, unlike earlier scores"),
        ({"y_true": TALL[:, :3]}, r"y_true: shape \(12, 3\) has 3 labels; 4 were expected"),
    ],
)
def test_update_counts_nothing_if_refused(change: dict[str, Any], message: str) -> None:
    evaluator = counting(conventions="unlisted=0")
    other = counting(conventions="unlisted=0")
    for _ in range(2):
        evaluator.update(**GOOD)
        other.update(**GOOD)
        with pytest.raises(ValueError, match=f"^{message}"):
            evaluator.update(**{**GOOD, **change})
        assert evaluator.compute().to_json() == other.compute().to_json()
        np.testing.assert_equal(evaluator.compute().per_row(), other.compute().per_row())


@pytest.mark.parametrize(
    ("options", "first_row", "message"),
    [
        (
            {"n_labels": 5, "inverse_propensity": None},
            M,
            "merge: 4 labels here, 5 there",
        ),
        ({"k": [1, 2]}, M, "merge: metrics differs"),
        ({"conventions": "sklearn"}, M, "merge: ties differs"),
        ({"decision": "top2"}, M, "merge: decision differs: None here, top2 there"),
        ({"inverse_propensity": Q[::-1]}, M, "merge: propensity differs"),
        ({"per_row": False}, M, "merge: per_row differs: True here, False there"),
        ({}, 0, r"first_row: rows 0\.\.2 are counted already"),
    ],
)
def test_merge_changes_nothing_if_refused(
    options: dict[str, Any], first_row: int, message: str
) -> None:
    evaluator = counting()
    other = counting(**options)
    evaluator.update(T, S)
    other.update(np.eye(M, other.n_labels), np.eye(M, other.n_labels), first_row=first_row)
    before = evaluator.compute().to_json()
    with pytest.raises(ValueError, match=f"^{message}"):
        evaluator.merge(other)
    assert evaluator.compute().to_json() == before
    assert evaluator.merge(counting()) is evaluator
    assert evaluator.compute().to_json() == before
    assert counting().merge(evaluator).compute().to_json() == before


def test_update_after_merge_refuses_rows_unlike_those_of_both() -> None:
    shard = counting(conventions="unlisted=0")
    shard.update(T, S.astype(np.float32), first_row=M)
    evaluator = counting(conventions="unlisted=0").merge(shard)
    with pytest.raises(ValueError, match=r"^y_score: .*float64"):
        evaluator.update(T, S, first_row=0)
    with pytest.raises(
        ValueError, match=rf"^first_row: rows {2 * M - 1}\.\.{2 * M - 1} are counted already"
    ):
        evaluator.update(T, S.astype(np.float32), first_row=2 * M - 1)


# ------------------------------------------------------------------------ saved evaluators


def save(folder: Path) -> Path:
    metrics = ["ps", "p@1", "f1.macro", "label_diversity", "auc.micro", "margin.macro"]
    evaluator = counting(metrics, k=1)
    path = folder / "state.npz"
    evaluator.update(T, S, y_pred=H)
    evaluator.save(path)
    return path


def test_load_refuses_files_of_other_kinds_and_versions(tmp_path: Path) -> None:
    path = save(tmp_path)
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays["meta"].tobytes())
    damaged = "not a saved evaluator, or damaged"
    other = "saved as version {}; this program reads version "
    notes: list[Any] = [None, [1], [{"count": ["a", "none", 1, None, "", False]}]]
    contents: list[tuple[Any, str]] = [
        ([meta], damaged),
        ({}, damaged),
        (None, damaged),
        (meta | {"version": 99}, other.format(99)),
        # arrays had other names
        (meta | {"version": 2, "arrays": ["profile/hits"]}, other.format(2)),
        *((meta | {"notes": value}, f"{damaged} (") for value in notes),
    ]
    for value, message in contents:
        new_meta: Any = np.frombuffer(json.dumps(value).encode(), np.uint8)
        if value is None:
            new_meta = np.array([meta])  # an object of Python
        np.savez(path, **arrays | {"meta": new_meta})
        with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {message}')}"):
            Evaluator.load(path)
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        Evaluator.load(tmp_path / "missing.npz")


def test_names_in_footnotes_are_escaped_in_html() -> None:
    report = evaluate({"r": ["<b>"]}, {"r": {"<B>": 0.9}}, metrics="p@1")
    assert "<B>" in report.to_text()
    assert "<B>" not in page_of(report)
    assert "&lt;B&gt;" in page_of(report)


@pytest.mark.parametrize("sign", [1, -1])
def test_small_values_are_printed_with_three_digits(sign: int) -> None:
    scores = sign * np.array([[1.5e-5, 0.0], [0.0, 1.5e-5]])
    report = evaluate(np.eye(2), scores, metrics="margin.samples")
    text = f"{sign * 1.5e-5:.3g}"
    assert text in str(report)
    assert "0.0000" not in str(report)
    assert text in report.to_markdown()
