"""Rules and calibrators return the form of their input, with the same values in every form."""

import json
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.input.forms import ARRAYS, LISTED, NAMED, Rows, write_rows
from xmleval import calibrate, evaluate, write
from xmleval.io import Named
from xmleval.thresholds import Rule, fit

TRUTH: Rows = {
    "q1": {"red": 1, "green": 1},
    "q2": {"blue": 1},
    "q3": {"green": 1, "blue": 1},
    "q4": {"red": 1},
}
SCORES: Rows = {
    "q1": {"red": 0.75, "green": 0.5, "blue": 0.125},
    "q2": {"green": 0.25, "blue": 0.875, "red": 0.375},
    "q3": {"blue": 0.5, "red": 0.625, "green": 0.25},
    "q4": {"blue": 0.5, "green": 0.375, "red": 1.0},
}
FORMS = [name for name, form in NAMED.items() if "y_score" in form.roles]
BY_NUMBER = [name for name in {**ARRAYS, **LISTED} if name != "bsr of blocks"]
FITTED: dict[str, tuple[str, dict[str, Any]]] = {
    "constant": ("f1.micro", {}),
    "label": ("f1.macro", {"rule": "label"}),
    "rank": ("f1.micro", {"rule": "rank"}),
}


def made(form: str, scores: Rows, role: str = "y_score") -> Any:
    return NAMED[form].make(scores, role)


UNKEYED = [[*row] for row in TRUTH.values()]


def truth_for(form: str) -> Any:
    """Return a truth that rows of a form are matched with: by key, by an index, or in order."""
    is_keyed = NAMED[form].keyed
    if is_keyed is None:
        return pytest.importorskip("pandas").Series(UNKEYED, index=[*TRUTH])
    return TRUTH if is_keyed else UNKEYED


def kind_of(value: Any) -> Any:
    """Return the type of a form, and the types of its rows; any mapping becomes a dict."""
    if isinstance(value, Mapping):
        return dict, *types_of(value.values())
    if isinstance(value, list | deque):
        return list, *types_of(value)
    return type(value)


def types_of(rows: Iterable[Any]) -> set[type]:
    return {dict if isinstance(row, Mapping) else type(row) for row in rows}


@pytest.mark.parametrize("rule", FITTED)
@pytest.mark.parametrize("form", FORMS)
def test_rule_apply_returns_the_sets_of_evaluate_in_the_form_of_the_scores(
    form: str, rule: str
) -> None:
    measure, options = FITTED[rule]
    fitted = fit(TRUTH, SCORES, measure, **options)
    scores = made(form, SCORES)
    y_true = truth_for(form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets = fitted.apply(scores)
    names = ["f1.micro", "f1.samples", "subset_accuracy"]
    expected = dict(evaluate(TRUTH, SCORES, decision=fitted, metrics=names))
    labels = None
    if NAMED[form].wide:
        labels = ["red", "green", "blue"]
    assert dict(evaluate(y_true, y_pred=sets, metrics=names, labels=labels)) == expected
    if "Series" not in form and hasattr(scores, "columns"):
        assert type(sets) is type(scores)


@pytest.mark.parametrize("form", FORMS)
def test_calibrator_apply_returns_probabilities_in_the_form_of_the_scores(form: str) -> None:
    fitted = calibrate.fit(TRUTH, SCORES, "platt")
    fitted_to_form = calibrate.fit(truth_for(form), made(form, SCORES), "platt")
    assert fitted_to_form.slope == pytest.approx(fitted.slope)
    before = repr(made(form, SCORES))
    scores = made(form, SCORES)
    applied = fitted.apply(scores)
    assert repr(scores) == before or " at 0x" in before  # the input is unchanged
    names = ["p@1", "p@2", "ndcg@3", "brier"]
    report = evaluate(truth_for(form), applied, metrics=names)
    expected = evaluate(TRUTH, map_rows(fitted), metrics=names)
    tolerance = 1e-6 if "float32" in form else 1e-15
    assert dict(report) == pytest.approx(dict(expected), rel=tolerance)
    is_changed = form in ("ranx", "array of lists") or "stream" in form
    if not is_changed and not isinstance(scores, tuple):
        assert kind_of(applied) == kind_of(scores)


@pytest.mark.parametrize("make", [list, tuple])
def test_apply_takes_pairs_of_either_type_and_the_calibrator_keeps_it(make: Any) -> None:
    scores = [[make(pair) for pair in row.items()] for row in SCORES.values()]
    rule = fit(TRUTH, SCORES, "f1.micro")
    assert rule.apply(scores) == [*rule.apply(SCORES).values()]
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    expected = calibrator.apply(SCORES).values()
    assert calibrator.apply(scores) == [[make(pair) for pair in row.items()] for row in expected]


def map_rows(calibrator: calibrate.Calibrator) -> Rows:
    """Return the probabilities of all scores, mapped in one array."""
    values = [*dict.fromkeys(score for row in SCORES.values() for score in row.values())]
    mapped = calibrator.apply(np.array([values]))[0].tolist()
    probability_of = dict(zip(values, mapped, strict=True))
    probabilities: Rows = {}
    for key, row in SCORES.items():
        probabilities[key] = {name: probability_of[score] for name, score in row.items()}
    return probabilities


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "form", ["run", "json", "jsonl", "csv", "parquet", "lists of jsonl", "lists of parquet"]
)
def test_apply_takes_files_as_dicts_of_their_names(form: str) -> None:
    if "parquet" in form:
        pytest.importorskip("pyarrow")
    rule = fit(TRUTH, SCORES, "f1.micro")
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    path = write_rows("s", form, SCORES)
    applied = calibrator.apply(Path(path))
    sets = rule.apply(path)
    assert applied == calibrator.apply(SCORES)
    expected = rule.apply(SCORES)
    assert sets.keys() == expected.keys()
    assert all({*sets[key]} == {*expected[key]} for key in expected)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["dense", "sparse", "list", "list in one file", "shards"])
def test_apply_takes_files_by_number_as_their_arrays(form: str) -> None:
    import scipy.sparse as sp

    rng = np.random.default_rng(3)
    truth = (rng.random((6, 4)) < 0.5).astype(int)
    dense = np.round(rng.random((6, 4)), 2)
    matrix = sp.csr_array(np.where(rng.random((6, 4)) < 0.7, dense, 0))
    labels = np.argsort(-dense, axis=1)[:, :3]
    labels[2, 2] = -1
    listed = labels, np.take_along_axis(dense, labels, 1)
    value: Any = listed
    path = "s"
    if form == "dense":
        value = dense
        path = "s.npy"
        np.save(path, dense)
    elif form == "sparse":
        value = matrix
        path = "s.npz"
        sp.save_npz(path, matrix)
    elif form == "shards":
        value = matrix
        Path("s").mkdir()
        sp.save_npz("s/0.npz", matrix[:1])
        sp.save_npz("s/1.npz", matrix[1:])
    elif form == "list":
        path = "s_indices.npy"
        np.save(path, labels)
        np.save("s_scores.npy", listed[1])
    else:
        path = "s.npz"
        np.savez(path, indices=labels, scores=listed[1])
    rule = fit(truth, dense, "f1.macro", rule="label")
    calibrator = calibrate.fit(truth, dense)
    expected = rule.apply(value)
    assert expected.nnz
    assert (rule.apply(path) != expected).nnz == 0
    applied = calibrator.apply(Path(path))
    mapped = calibrator.apply(value)
    if form in ("dense", "sparse", "shards"):
        assert type(applied) is type(mapped)
        np.testing.assert_array_equal(
            sp.csr_array(applied).toarray(), sp.csr_array(mapped).toarray()
        )
        return
    is_filled = labels >= 0
    np.testing.assert_array_equal(applied[0], labels)
    np.testing.assert_array_equal(applied[1][is_filled], mapped[1][is_filled])


def test_apply_keeps_named_matrices() -> None:
    import scipy.sparse as sp

    rule = fit(TRUTH, SCORES, "f1.micro")
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    names = ["red", "green", "blue"]
    matrix = sp.csr_array(np.array([[row[name] for name in names] for row in SCORES.values()]))
    named = Named(matrix, [*SCORES], names)
    sets = rule.apply(named)
    applied = calibrator.apply(named)
    assert sets.row_names == [*SCORES]
    assert sets.label_names == names
    assert applied.label_names == names
    expected = rule.apply(SCORES)
    for key, row in zip(SCORES, sets.matrix.toarray(), strict=True):
        predicted = [names[i] for i in np.flatnonzero(row)]
        assert predicted == [name for name in names if name in expected[key]]
    np.testing.assert_array_equal(applied.matrix.toarray(), calibrator.apply(matrix.toarray()))


def test_apply_warns_of_labels_that_the_rule_does_not_know() -> None:
    rule = fit(TRUTH, SCORES, "f1.macro", rule="label")
    scores = {key: {"pink": 9.0, **row} for key, row in SCORES.items()}
    with pytest.warns(UserWarning, match="1 label did not occur in fitting; it is never predicted"):
        sets = rule.apply(scores)
    assert sets == rule.apply(SCORES)


def test_calibrator_apply_refuses_names_without_scores() -> None:
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    message = "y_score: has no scores to make probabilities of"
    for value in ([["red", "blue"], ["green"]], {"q1": ["red"]}):
        with pytest.raises(ValueError, match=message):
            calibrator.apply(value)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # of torch
@pytest.mark.parametrize("form", BY_NUMBER)
def test_apply_takes_arrays_and_lists_by_number(form: str) -> None:
    truth = np.array(
        [
            [1, 0, 1],
            [0, 1, 0],
            [0, 0, 1],
            [1, 1, 0],
        ]
    )
    scores = np.array(
        [
            [0.75, 0.5, 0.125],
            [0.25, 0.875, 0.375],
            [0.5, 0.625, 0.25],
            [1.0, 0.375, 0.5],
        ]
    )
    rule = fit(truth, scores, "f1.micro")
    calibrator = calibrate.fit(truth, scores, "platt")
    value = (ARRAYS.get(form) or LISTED[form])(scores)
    if "without scores" in form or form == "ids":
        with pytest.raises(ValueError, match="y_score: has no scores to make probabilities"):
            calibrator.apply(value)
        return
    assert (rule.apply(value) != rule.apply(scores)).nnz == 0
    applied = calibrator.apply(value)
    names = ["brier", "p@1"]
    report = evaluate(truth, applied, metrics=names, n_labels=3)
    expected = evaluate(truth, calibrator.apply(scores), metrics=names)
    assert dict(report) == pytest.approx(dict(expected), rel=1e-6)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "npz", "run"])
@pytest.mark.parametrize("form", FORMS)
def test_write_keeps_the_names_of_any_form(form: str, ending: str) -> None:
    rule = fit(TRUTH, SCORES, "f1.micro")
    scores = made(form, SCORES)
    y_true = truth_of_file(form, ending)
    write(f"s.{ending}", scores)
    names = ["p@1", "p@2", "ndcg@3"]
    report = evaluate(y_true, f"s.{ending}", metrics=names)
    assert dict(report) == dict(evaluate(TRUTH, SCORES, metrics=names))
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    write(f"c.{ending}", calibrator.apply(scores))
    names = ["brier", "p@1"]
    calibrated = evaluate(y_true, f"c.{ending}", metrics=names)
    expected = evaluate(TRUTH, calibrator.apply(SCORES), metrics=names)
    assert dict(calibrated) == pytest.approx(dict(expected), rel=1e-6)
    if ending == "run":
        message = r"^p\.run: a TREC run cannot contain predicted sets; expected"
        with pytest.raises(ValueError, match=message):
            write("p.run", rule.apply(scores), "sets")
        return
    write(f"p.{ending}", rule.apply(scores), "sets")
    sets = evaluate(y_true, y_pred=f"p.{ending}", metrics=["f1.micro"])
    assert dict(sets) == dict(evaluate(TRUTH, SCORES, decision=rule, metrics=["f1.micro"]))


def truth_of_file(form: str, ending: str) -> Any:
    """Return a truth that rows of a file are matched with: by key, or in order.

    In a file, an index is a key; in a run, rows without keys have their numbers.
    """
    if NAMED[form].keyed is not False:
        return TRUTH
    if ending == "run":
        return dict(zip("0123", TRUTH.values(), strict=True))
    return UNKEYED


@pytest.mark.usefixtures("folder")
def test_write_takes_arrays_and_refuses_other_arguments() -> None:
    y_true = np.eye(3)
    y_score = np.eye(3) + np.arange(3) / 10
    for ending in ("npz", "txt", "parquet"):
        write(f"Y.{ending}", y_true, "truth")
        write(f"s.{ending}", y_score)
        assert evaluate(f"Y.{ending}", f"s.{ending}", metrics="p@1")["p@1"] == 1.0
    message = "kind: 'score' is not one of truth, scores, sets; did you mean"
    with pytest.raises(ValueError, match=message):
        write("a.npz", y_score, "score")
    with pytest.raises(ValueError, match="data: is a file"):
        write("a.npz", "s.npz")
    message = r"^s\.csv2: its ending is not that of a format that can be written"
    with pytest.raises(ValueError, match=message):
        write("s.csv2", y_score)


def test_apply_leaves_out_lines_of_a_frame_whose_label_is_empty() -> None:
    pd = pytest.importorskip("pandas")
    rule = fit(TRUTH, SCORES, "f1.micro")
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    lines = [
        ("q2", "blue", 0.875),
        ("q1", "", 0.75),
        ("q1", "red", 0.75),
        ("q2", "red", 0.125),
    ]
    frame = pd.DataFrame(lines, columns=["instance", "label", "score"])
    assert rule.apply(frame).values.tolist() == [["q2", "blue"], ["q1", "red"]]
    expected = calibrator.apply(np.array([[0.875, 0.75, 0.75, 0.125]]))[0]
    expected[1] = np.nan
    np.testing.assert_array_equal(calibrator.apply(frame)["score"], expected)


KEYS = ["q1", "q2", "q3"]
LABELS_OF = [["red", "green"], [], ["blue", "red"]]
SCORES_OF = [[0.75, 0.5], [], [0.5, 0.625]]


def frame_forms() -> dict[str, Any]:
    """Return the same scores in columns of frames and series."""
    pd: Any = pytest.importorskip("pandas")
    pairs = [[*zip(*row, strict=True)] for row in zip(LABELS_OF, SCORES_OF, strict=True)]
    hits = [[{"label": name, "score": score} for name, score in row] for row in pairs]
    labels = pd.Series(LABELS_OF, index=KEYS)
    scores = pd.Series(SCORES_OF, index=KEYS)
    return {
        "two columns": pd.DataFrame({"id": KEYS, "labels": LABELS_OF, "scores": SCORES_OF}),
        "pairs": pd.DataFrame({"id": KEYS, "labels": pairs}),
        "dicts": pd.DataFrame({"id": KEYS, "labels": [*map(dict, pairs)]}),
        "hits": pd.DataFrame({"id": KEYS, "hits": hits}),
        "pair of series": (labels, scores),
        "dict of series": {"indices": labels, "scores": scores},
        "series of dicts": pd.Series([*map(dict, pairs)], index=KEYS),
    }


def lists_of(value: Any) -> list[list[tuple[str, float]]]:
    """Return labels and scores of each row of a form."""
    if isinstance(value, dict):
        value = (value["indices"], value["scores"])
    if isinstance(value, tuple):
        return [[*zip(*row, strict=True)] for row in zip(*value, strict=True)]
    if hasattr(value, "columns"):
        if "scores" in value:
            return lists_of((value["labels"], value["scores"]))
        value = value["hits" if "hits" in value else "labels"]
    rows: list[Any] = [[*row.items()] if isinstance(row, dict) else row for row in value]
    if any(isinstance(row[0], dict) for row in rows if row):
        rows = [[(hit["label"], hit["score"]) for hit in row] for row in rows]
    return rows


@pytest.mark.parametrize(
    "form",
    [
        "two columns",
        "pairs",
        "dicts",
        "hits",
        "pair of series",
        "dict of series",
        "series of dicts",
    ],
)
def test_calibrator_apply_keeps_the_order_and_the_columns_of_lists(form: str) -> None:
    value = frame_forms()[form]
    before = lists_of(value)
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    applied = calibrator.apply(value)
    flat = [score for row in SCORES_OF for score in row]
    mapped = dict(zip(flat, calibrator.apply(np.array([flat]))[0].tolist(), strict=True))
    expected = [[(name, mapped[score]) for name, score in row] for row in before]
    assert lists_of(applied) == expected
    assert lists_of(value) == before
    assert type(applied) is type(value)
    if hasattr(value, "columns"):
        assert [*applied.columns] == [*value.columns]
        assert [*applied["id"]] == KEYS


def test_apply_keeps_columns_of_frames_in_their_order() -> None:
    pd: Any = pytest.importorskip("pandas")
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    cells = np.array([[0.5, 0.0, 0.25], [0.0, 0.75, 0.0]])
    mapped = calibrator.apply(cells)
    for columns in (["green", "blue", "red"], [2, 0, 1]):
        frame = pd.DataFrame(cells, columns=columns, index=["q1", "q2"])
        applied = calibrator.apply(frame)
        assert [*applied.columns] == columns
        assert [*applied.index] == ["q1", "q2"]
        np.testing.assert_array_equal(applied.to_numpy(), mapped)
    sparse = pd.DataFrame(
        {name: pd.arrays.SparseArray(cells[:, n]) for n, name in enumerate("abc")}
    )
    applied = calibrator.apply(sparse)
    assert [*applied.columns] == [*"abc"]
    values = np.asarray(applied, dtype=float)
    stored = cells != 0
    np.testing.assert_array_equal(values[stored], mapped[stored])


@pytest.mark.usefixtures("folder")
def test_apply_takes_lines_without_keys_as_a_list() -> None:
    lines = [{"labels": [*row], "scores": [*row.values()]} for row in SCORES.values()]
    Path("lines.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rule = fit(TRUTH, SCORES, "f1.micro")
    calibrator = calibrate.fit(TRUTH, SCORES, "platt")
    listed = [*SCORES.values()]
    assert (
        calibrator.apply("lines.jsonl")
        == calibrator.apply(listed)
        == [*map_rows(calibrator).values()]
    )
    sets = rule.apply("lines.jsonl")
    assert [{*row} for row in sets] == [{*row} for row in rule.apply(listed)]
    assert [{*row} for row in sets] == [{*row} for row in rule.apply(SCORES).values()]


@pytest.mark.usefixtures("folder")
def test_apply_takes_texts_of_scores_by_number() -> None:
    Path("S.txt").write_text("3 3\n0:0.5 1:0.25\n\n2:1\n")
    scores = csr_array([[0.5, 0.25, 0], [0, 0, 0], [0, 0, 1.0]])
    rule = Rule.given("top1", 3)
    assert rule.apply("S.txt").toarray().tolist() == rule.apply(scores).toarray().tolist()
    calibrator = calibrate.fit(scores.toarray() > 0.3, scores, "platt")
    applied = calibrator.apply("S.txt").toarray()
    assert applied.tolist() == calibrator.apply(scores).toarray().tolist()
