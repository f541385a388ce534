"""Frames give what the same data by number give, in any order of rows and columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.input.test_named_objects import (
    MEASURES,
    NAMES,
    ORDER,
    QRELS,
    RANKED,
    ROWS,
    RUN,
    SCORED,
    SCORES,
    SETS,
    TAGS,
    H,
    S,
    Y,
    told,
    values,
)
from xmleval import Evaluator, evaluate, from_df, inverse_propensity, p_at_k

DENSE = S.toarray() + np.arange(4) / 100  # no two of a row are equal
SHUFFLED = [2, 0, 3, 1]
LONG_TRUTH = [(row, name, 1) for row, tags in QRELS.items() for name in tags] + [("q3", "red", 0)]
LONG_SCORES = [(row, name, score) for row, scores in RUN.items() for name, score in scores.items()]
Make = Callable[[dict[str, Any]], Any]


class ByStream:
    """A frame that gives its columns as Arrow's C stream alone."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class ByProtocol:
    """A frame that gives its columns by the dataframe interchange protocol alone."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __dataframe__(self, **more: Any) -> Any:
        return self.frame.__dataframe__(**more)


def maker(kind: str) -> Any:
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame
    arrow: Any = pytest.importorskip("pyarrow")
    if kind == "stream":
        return lambda columns: ByStream(arrow.table(columns))
    if kind == "protocol":
        return lambda columns: ByProtocol(arrow.table(columns))
    return arrow.table


frames = pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "stream", "protocol"])


def wide(make: Make, array: Any, order: list[int] | None = None) -> Any:
    return make({NAMES[place]: array[:, place] for place in order or range(4)})


def long(make: Make, rows: list[tuple[Any, ...]], *names: str) -> Any:
    return make(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@frames
def test_columns_are_matched_by_name(kind: str) -> None:
    make = maker(kind)
    truth = wide(make, Y.toarray())
    for order in (None, SHUFFLED):
        assert values(truth, wide(make, DENSE, order)) == values(Y, DENSE)
        assert values(truth, y_pred=wide(make, H.toarray(), order), metrics=SETS) == values(
            Y, y_pred=H, metrics=SETS
        )
    assert evaluate(truth, wide(make, DENSE)).label_names == NAMES
    assert values(truth, DENSE) == values(Y.toarray(), wide(make, DENSE)) == values(Y, DENSE)
    assert p_at_k(truth, wide(make, DENSE, SHUFFLED), 1) == p_at_k(Y, DENSE, 1)
    more = make({"text": ["a", "b", "c", "d"], **{NAMES[place]: DENSE[:, place] for place in SHUFFLED}})
    assert values(truth, more, labels=NAMES) == values(Y, DENSE)


@frames
def test_labels_that_a_wide_truth_lacks_count_as_wrong(kind: str) -> None:
    make, named = maker(kind), [[NAMES[label] for label in Y.indices[i:j]] for i, j in pairwise(Y.indptr)]
    truth, more = wide(make, Y.toarray(), SHUFFLED), ["p@1", "r@3", "lrap", *SETS]
    scores = [{**row, f"new {number % 2}": 0.75} for number, row in enumerate(SCORED)]
    sets = [["new", "other"], *TAGS[1:]]
    report = evaluate(truth, scores, y_pred=sets, metrics=more)
    expected = evaluate(named, scores, y_pred=sets, metrics=more)
    assert report.n_labels == expected.n_labels == 8
    assert report.label_names == [*(NAMES[place] for place in SHUFFLED), "new 0", "new 1", "new", "other"]
    assert dict(report) == dict(expected)
    assert "y_pred: 2 predicted labels never occur in the truth; they count as wrong" in report.notes
    both = evaluate(truth, wide(make, DENSE), y_pred=sets, metrics=more)  # columns of the truth alone
    assert dict(both) == dict(evaluate(named, wide(make, DENSE), y_pred=sets, metrics=more))
    left = evaluate(truth, scores, metrics="r@3", exclude=[["new 0"], ["grey"], [], []])
    assert left["r@3"] == evaluate(named, scores, metrics="r@3", exclude=[["new 0"], ["grey"], [], []])["r@3"]
    evaluator = Evaluator(["p@1", "r@3"])
    evaluator.update(truth, scores)
    told = "y_score: 2 predicted labels are not among labels=, such as 'new 0'; they count as wrong"
    assert evaluator.compute().notes[0] == told
    assert dict(evaluator.compute()) == {name: expected[name] for name in ("p@1", "r@3")}


@frames
def test_long_frames_are_matched_by_instance(kind: str) -> None:
    make = maker(kind)
    truth = long(make, LONG_TRUTH, "instance", "label", "score")
    scores = long(make, LONG_SCORES[::-1], "row", "label", "score")
    expected = evaluate(QRELS, RUN, metrics=MEASURES, labels=NAMES)
    report = evaluate(truth, scores, metrics=MEASURES, labels=NAMES)
    assert dict(report) == dict(expected)
    assert report.row_names == ["q1", "q2", "q4", "q3"]
    plain = long(make, [row[:2] for row in LONG_TRUTH[:-1]], "instance", "label")  # does not know q3
    assert told(evaluate(plain, RUN, metrics=["p@1"])) == [
        "y_score: 1 row is not in the truth; it is ignored"
    ]


@frames
def test_columns_of_long_frames_can_have_any_name(kind: str) -> None:
    make = maker(kind)
    names = "q_id", "doc_id", "rel"
    truth = from_df(long(make, LONG_TRUTH, *names), instance="q_id", label="doc_id", score="rel")
    run = long(make, LONG_SCORES, "q_id", "doc_id", "bm25")
    scores = from_df(run, instance="q_id", label="doc_id", score="bm25")
    expected = evaluate(QRELS, RUN, metrics=MEASURES, labels=NAMES)
    assert dict(evaluate(truth, scores, metrics=MEASURES, labels=NAMES)) == dict(expected)
    ev = Evaluator(MEASURES, labels=NAMES)
    ev.update(truth, scores)
    assert dict(ev.compute()) == dict(expected)
    assert inverse_propensity(truth).tolist() == inverse_propensity(QRELS).tolist()
    usual = from_df(long(make, LONG_TRUTH, "row", "label", "score"))
    assert dict(evaluate(usual, scores, metrics=MEASURES, labels=NAMES)) == dict(expected)


@frames
def test_columns_of_lists_can_have_any_name(kind: str) -> None:
    if kind == "protocol":
        return  # knows no lists
    make = maker(kind)
    turned = make(
        {
            "id": [ROWS[i] for i in ORDER],
            "guess": [RANKED[i] for i in ORDER],
            "p": [SCORES[i] for i in ORDER],
        }
    )
    truth = make({"id": ROWS, "tags": TAGS})
    scores = from_df(turned, instance="id", label="guess", score="p")
    assert values(from_df(truth, instance="id", label="tags"), scores) == values(Y, S)
    assert values(
        from_df(truth, label="tags"), from_df(make({"g": RANKED, "p": SCORES}), label="g", score="p")
    ) == (values(Y, S))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"instance": "q", "label": "d"}, "label: no column 'd'; the columns are 'q', 'doc', 'bm25'"),
        ({"label": "doc"}, "instance: no column 'instance' or 'row'; the columns are 'q', 'doc', 'bm25'"),
        ({"instance": "q"}, "label: no column 'label' or 'labels'; the columns are 'q', 'doc', 'bm25'"),
        (
            {"instance": "q", "label": "doc", "score": "s"},
            "score: no column 's'; the columns are 'q', 'doc', 'bm25'",
        ),
        (
            {"instance": "q", "label": "doc"},
            "y_score: no column 'score' beside 'doc'; name that of scores: xmleval.from_df(df, score=...)",
        ),
    ],
)
def test_wrong_columns_are_answered_by_those_there_are(names: dict[str, str], message: str) -> None:
    make = maker("arrow")
    frame = make({"q": ["q1"], "doc": ["red"], "bm25": [1.5]})
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        evaluate(QRELS, from_df(frame, **names), metrics=["p@1"])


def test_what_is_no_frame_has_no_columns() -> None:
    with pytest.raises(ValueError, match=r"^frame: list is no frame of pandas, polars or Arrow$"):
        from_df([{"q": 1}], label="q")


@frames
def test_columns_of_lists(kind: str) -> None:
    make = maker(kind)
    if kind == "protocol":
        with pytest.raises(ValueError, match=r"^y_true: cannot be read as a frame: .* list"):
            evaluate(make({"labels": TAGS}), SCORED, metrics=["p@1"])
        return
    ids = {"instance": ROWS}
    expected = values(Y, S)
    assert values(make({"labels": TAGS}), make({"labels": RANKED, "scores": SCORES})) == expected
    assert values(make({"tags": TAGS}), SCORED) == expected
    turned = {
        "instance": [ROWS[i] for i in ORDER],
        "labels": [RANKED[i] for i in ORDER],
        "scores": [SCORES[i] for i in ORDER],
    }
    assert values(make({**ids, "labels": TAGS}), make(turned)) == expected


def test_series_of_lists() -> None:
    pd: Any = pytest.importorskip("pandas")
    expected = values(Y, S)
    truth = pd.Series(TAGS, index=ROWS)
    turned = pd.Series([SCORED[i] for i in ORDER], index=[ROWS[i] for i in ORDER])
    assert values(truth, turned) == values(truth, SCORED) == values(truth, RUN) == expected
    assert values(pd.Series(TAGS).to_numpy(), SCORED) == expected
    with pytest.raises(ValueError, match=r"row 0: 'a,b' is text, not a list of labels; split it at ','"):
        evaluate(pd.Series(["a,b", "c"]), SCORED[:2], metrics=["p@1"])
    pl: Any = pytest.importorskip("polars")
    assert values(pl.Series(TAGS), SCORED) == expected
    pa: Any = pytest.importorskip("pyarrow")
    assert (
        values(pa.chunked_array([TAGS[:1], TAGS[1:]]), SCORED) == values(pa.array(TAGS), SCORED) == expected
    )


def test_rows_of_pandas_are_aligned_by_index() -> None:
    pd: Any = pytest.importorskip("pandas")
    truth = pd.DataFrame(Y.toarray(), index=ROWS, columns=NAMES)
    scores = pd.DataFrame(DENSE, index=ROWS, columns=NAMES)
    turned = scores.iloc[ORDER, SHUFFLED]
    report = evaluate(truth, turned, metrics=MEASURES)
    assert dict(report) == values(Y, DENSE)
    assert told(report) == ["y_score: rows were brought in the order of y_true's index"]
    assert report.row_names == ROWS
    assert told(evaluate(truth, scores)) == []
    sets = pd.DataFrame(H.toarray(), index=ROWS, columns=NAMES).iloc[ORDER]
    assert values(truth, turned, y_pred=sets) == values(Y, DENSE)
    assert values(truth, y_pred=sets, metrics=SETS) == values(Y, y_pred=H, metrics=SETS)
    assert values(truth, RUN) == values(Y, S)
    assert values(QRELS, turned, labels=NAMES) == values(Y, DENSE)


def test_a_frame_of_scores_beside_tags() -> None:
    pd: Any = pytest.importorskip("pandas")
    scores = pd.DataFrame(DENSE, columns=NAMES)[NAMES[::-1]]
    assert values(TAGS, scores) == values(Y, DENSE)
    other = pd.DataFrame({"pink": [2.0, 0, 0, 0], **{name: DENSE[:, i] for i, name in enumerate(NAMES[:3])}})
    report = evaluate(TAGS, other, metrics=MEASURES)
    assert told(report) == [
        "y_score: 1 label of the truth has no column; it counts as not predicted",
        "y_score: 1 column is no label of the truth, such as 'pink'; "
        "it counts as wrong (labels= picks columns)",
    ]
    ids = np.array([0, 1, 2, 4])
    stored = sp.csr_array(
        (np.hstack([DENSE[:, :3], [[2], [0], [0], [0]]]).ravel(), np.tile(ids, 4), np.arange(5) * 4),
        shape=(4, 5),
    )
    assert dict(report) == values(sp.csr_array(np.hstack([Y.toarray(), np.zeros((4, 1))])), stored)


def test_types_of_pandas() -> None:
    pd: Any = pytest.importorskip("pandas")
    truth = pd.DataFrame(Y.toarray(), columns=NAMES)
    for kind in ("Int64", "boolean", "uint8", "float32", pd.SparseDtype(int, 0)):
        assert values(truth.astype(kind), DENSE) == values(Y, DENSE)
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(S), columns=NAMES)
    assert values(truth, sparse) == values(truth, sparse[NAMES[::-1]]) == values(Y, S)
    assert values(truth, pd.DataFrame(DENSE, columns=NAMES).astype("Float64")) == values(Y, DENSE)
    missing = pd.DataFrame(DENSE, columns=NAMES).astype("Float64")
    missing.iloc[1, 2] = pd.NA
    with pytest.raises(ValueError, match=r"^y_score: row 1: score nan is not a number"):
        evaluate(truth, missing, metrics=["p@1"])
    q = inverse_propensity(truth)
    assert values(truth, DENSE, metrics=["psp@1"], inverse_propensity=pd.Series(q)) == values(
        Y, DENSE, metrics=["psp@1"], inverse_propensity=q
    )


def test_an_evaluator_takes_frames() -> None:
    pd: Any = pytest.importorskip("pandas")
    truth, scores = pd.DataFrame(Y.toarray(), columns=NAMES), pd.DataFrame(DENSE, columns=NAMES)
    ev = Evaluator(MEASURES, labels=NAMES)
    ev.update(truth[:2], scores[:2][NAMES[::-1]])
    ev.update(truth[2:][NAMES[::-1]], scores[2:])
    assert dict(ev.compute()) == values(Y, DENSE)


def refusals() -> dict[str, tuple[str, dict[str, Any]]]:
    pd: Any = pytest.importorskip("pandas")
    scores = pd.DataFrame(DENSE, index=ROWS, columns=NAMES)
    more = pd.concat([scores, scores[:1].rename({"q1": "q9"})])
    lists = pd.DataFrame({"labels": RANKED, "scores": [[1.0]] * 4})
    found = {
        "column missing": ("no column for label 'blue'", scores.drop(columns="blue")),
        "column more": ("column 'id' is no label of y_true; labels= picks columns", scores.assign(id=1)),
        "column of text": ("column 'a' holds no numbers; labels= picks the columns", scores.assign(a="a")),
        "column twice": ("several columns are called 'red'", scores[["red", *NAMES]]),
        "numbered columns": (
            "no column for label 'red'; where the order is the same, give y_score.to_numpy()",
            pd.DataFrame(DENSE, index=ROWS),
        ),
        "row missing": ("the index has no row 'q4' compared to y_true; where the order is the", scores[:3]),
        "row more": ("the index has a row more, 'q9' compared to y_true", more),
        "other index": ("the index has no row 'q1' compared to y_true", scores.reset_index(drop=True)),
        "index twice": ("row 1: two rows are called 'q1'", scores.rename({"q2": "q1"})),
        "long": ("no column 'score' beside 'label'", pd.DataFrame({"instance": ROWS, "label": NAMES})),
    }
    given = {case: (text, {"y_score": frame}) for case, (text, frame) in found.items()}
    given["no row for a key"] = "no row 'q4', which y_true has", {"y_true": QRELS, "y_score": scores[:3]}
    given["lists"] = "row 0: 2 labels with 1 score", {"y_true": TAGS, "y_score": lists}
    nothing = {"y_true": Y, "y_score": scores, "labels": list("abcd")}
    given["none of the labels"] = "no label is one of its columns ('red', 'green', 'blue', 'grey')", nothing
    return given


@pytest.mark.parametrize("case", [
    "column missing", "column more", "column of text", "column twice", "numbered columns", "row missing",
    "row more", "other index", "index twice", "long", "no row for a key", "lists", "none of the labels",
])  # fmt: skip
def test_frames_that_do_not_match_are_refused(case: str) -> None:
    pd: Any = pytest.importorskip("pandas")
    message, given = refusals()[case]
    truth = pd.DataFrame(Y.toarray(), index=ROWS, columns=NAMES)
    with pytest.raises(ValueError, match=f"^y_score: {re.escape(message)}"):
        evaluate(**{"y_true": truth, "metrics": ["p@1"], **given})


LONG = {"instance": [0, 0, 1, 2], "label": [0, 1, 2, 1]}


def test_long_frames_have_other_shapes_than_matrices() -> None:
    pd = pytest.importorskip("pandas")
    truth, numbers = pd.DataFrame(LONG), sp.csr_array(([1] * 4, (LONG["instance"], LONG["label"])))
    scores = pd.DataFrame(LONG | {"score": [0.5, 0.75, 0.25, 1.0]})
    names = {0: "a", 1: "b", 2: "c"}
    given = dict(
        evaluate(truth.replace({"label": names}), scores.replace({"label": names}), metrics=["lrap"])
    )
    assert given == dict(evaluate(numbers, numbers, metrics=["lrap"]))
    with pytest.raises(ValueError, match=r"^y_true: labels that are integers need n_labels="):
        evaluate(truth, scores)
    ones = pd.DataFrame({"instance": range(3), "label": range(3)})  # three rows, two columns
    two = pd.DataFrame({"instance": [0, 1], "label": [0, 1], "score": [0.5, 0.5]})  # two rows, three columns
    assert evaluate(ones, two, n_labels=3, metrics=["p@1"])["p@1"] == 2 / 3


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_rows_of_long_frames_have_names(missing: Any) -> None:
    pd = pytest.importorskip("pandas")
    truth = pd.DataFrame({"instance": ["a", missing], "label": ["x", "y"]})
    with pytest.raises(ValueError, match=r"^y_true: row 1: column 'instance' has no value$"):
        evaluate(truth, y_pred=truth, metrics=["f1.macro"])


def test_sparse_frames_with_other_fillers_are_dense() -> None:
    pd = pytest.importorskip("pandas")
    truth, scores = np.eye(3, 4, dtype=int), np.arange(12).reshape(3, 4) / 4 + 1
    expected = dict(evaluate(truth, scores, metrics=["p@1", "lrap"]))
    for filler in (np.nan, 1.0):
        frame = pd.DataFrame(scores).astype(pd.SparseDtype(float, filler))
        assert dict(evaluate(truth, frame, metrics=["p@1", "lrap"])) == expected
    scores[1, 2] = np.nan
    frame = pd.DataFrame(scores)
    with pytest.raises(ValueError, match=r"^y_score: row 1: score nan"):
        evaluate(truth, frame.astype(pd.SparseDtype(float, np.nan)), metrics=["p@1"])


def test_times_are_no_scores() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [0.5, 0.25], "b": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(ValueError, match=r"^y_score: column 'b' holds no numbers"):
        evaluate(pd.DataFrame(np.eye(2), columns=["a", "b"]), frame, metrics=["p@1"])


def test_batches_of_frames_need_one_order_of_labels() -> None:
    pd = pytest.importorskip("pandas")
    truth, scores = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.5, 0.75, 0.25], [0.5, 0.25, 0.125]])
    frames = [pd.DataFrame(rows, columns=["a", "b", "c"]) for rows in (truth, scores)]
    turned = [frame[["c", "a", "b"]] for frame in frames]
    with pytest.raises(ValueError, match=r"^y_true: labels have names; an evaluator needs labels="):
        Evaluator(["f1.macro@1"], n_labels=3).update(*frames)
    known = Evaluator(["f1.macro@1"], labels=["a", "b", "c"])
    for batch in (frames, turned):
        known.update(*batch)
    twice = np.vstack([truth, truth]), np.vstack([scores, scores])
    assert dict(known.compute()) == dict(evaluate(*twice, metrics=["f1.macro@1"]))
    plain = Evaluator(["f1.macro@1"], n_labels=3)
    plain.update(pd.DataFrame(truth), pd.DataFrame(scores))  # columns without names
    assert plain.n_rows == 2
