"""Maps from scores to probabilities: scikit-learn's, in any blocks, every form and files."""

import json
import math
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.limits import small_limits
from xmleval import evaluate
from xmleval.calibrate import Calibrator, fit

GRID = np.linspace(-9, 9, 2001)[None]
METHODS = ["isotonic", "platt"]


def sample(seed: int, decimals: int = 2, m: int = 80, n: int = 12) -> tuple[Any, Any]:
    """Return a truth, and logits with ties that it is drawn from."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(0, 2, (m, n)), decimals)
    probabilities = 1 / (1 + np.exp(1 - 0.7 * scores))
    truth = rng.random((m, n)) < probabilities
    return truth.astype(np.int8), scores


def lists_of(scores: Any, k: int | None = None) -> tuple[Any, Any]:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int32)
    return order, np.take_along_axis(scores, order, 1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [None, 3])
def test_fit_gives_maps_of_scikit_learn(seed: int, k: int | None) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    logistic = pytest.importorskip("sklearn.linear_model").LogisticRegression(C=np.inf, tol=1e-12)
    truth, scores = sample(seed, seed)
    sample_weight = None
    row_weights = np.ones(len(truth))
    if seed % 2:
        sample_weight = np.random.default_rng(seed).integers(0, 4, len(truth))
        row_weights = sample_weight.astype(float)
    order, ranked = lists_of(scores, k)
    pair_weights = np.repeat(row_weights, order.shape[1])
    is_counted = pair_weights > 0
    x = ranked.ravel()[is_counted]
    y = np.take_along_axis(truth, order, 1).ravel()[is_counted]
    weights = pair_weights[is_counted]
    calibrator = fit(truth, scores, k=k, sample_weight=sample_weight)
    expected = isotonic(out_of_bounds="clip").fit(x, y, weights).predict(GRID[0])
    np.testing.assert_allclose(calibrator.apply(GRID)[0], expected, atol=1e-13)
    assert calibrator.n_pairs == weights.sum()
    n_hits = weights @ y
    n_misses = weights.sum() - n_hits
    targets = np.where(y, (n_hits + 1) / (n_hits + 2), 1 / (n_misses + 2))  # of Platt
    x_twice = np.tile(x, 2)[:, None]
    is_first = np.arange(2 * x.size) < x.size
    logistic.fit(x_twice, is_first, np.r_[weights * targets, weights * (1 - targets)])
    calibrator = fit(truth, scores, "platt", k=k, sample_weight=sample_weight)
    expected = logistic.predict_proba(GRID.T)[:, 1]
    np.testing.assert_allclose(calibrator.apply(GRID)[0], expected, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_fit_in_little_memory_and_load_keep_every_bit(method: str, tmp_path: Path) -> None:
    truth, scores = sample(7, 1)
    calibrator = fit(truth, scores, method, k=5)
    order = np.random.default_rng(0).permutation(80)
    path = tmp_path / "m.json"
    calibrator.save(path)
    with small_limits():
        small = fit(sp.csr_array(truth[order]), scores[order], method, k=5, memory="1kB", threads=2)
    for other in (small, Calibrator.load(path)):
        for name in ("scores", "levels", "slope", "intercept", "n_pairs"):
            np.testing.assert_array_equal(getattr(other, name), getattr(calibrator, name))
        assert str(other) == str(calibrator)
    contents = json.loads(path.read_text())
    damage: list[dict[str, Any]] = [
        {"version": 2},
        {"method": "beta"},
        {"k": 0},
        {"n_pairs": None},
        {"kind": "rule"},
    ]
    if method == "platt":
        damage.append({"slope": "1"})
    else:
        damage.append({"levels": [1.5] * len(contents["levels"])})
        damage.append({"scores": [0.5] * len(contents["scores"])})
        damage.append({"levels": 1})
        damage.append({"levels": [-0.5, *contents["levels"][1:]]})
        damage.append({"levels": contents["levels"][::-1]})
        damage.append({"levels": contents["levels"][1:]})
        damage.append({"scores": [], "levels": []})
    texts = [json.dumps(contents | changed) for changed in damage]
    for text in [*texts, "{", "[]"]:
        path.write_text(text)
        with pytest.raises(ValueError, match=r"m\.json: not a saved calibrator, or damaged"):
            Calibrator.load(path)


@pytest.mark.parametrize("method", METHODS)
def test_load_names_what_is_missing_in_a_file(method: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    fit(np.eye(2), np.eye(2), method).save(path)
    contents = json.loads(path.read_text())
    for name in contents:
        path.write_text(json.dumps({key: contents[key] for key in contents if key != name}))
        reason = "its kind is not 'calibrator'" if name == "kind" else f"'{name}' is missing"
        message = rf"m\.json: not a saved calibrator, or damaged \({reason}\); expected a file that"
        with pytest.raises(ValueError, match=message):
            Calibrator.load(path)
    changes: list[dict[str, Any]] = [
        {"n_pairs": 0},
        {"n_pairs": -1.0},
        {"n_pairs": True},
        {"k": True},
    ]
    if method == "isotonic":
        changes += [{"scores": [], "levels": []}, {"scores": [0.5]}, {"levels": [1.0, 0.0]}]
    else:
        changes += [{"slope": None}, {"slope": math.inf}, {"intercept": "nan"}, {"slope": True}]
    for change in changes:
        path.write_text(json.dumps(contents | change))
        with pytest.raises(ValueError, match=r"m\.json: not a saved calibrator, or damaged \("):
            Calibrator.load(path)


@pytest.mark.parametrize(("n_hits", "n_misses"), [(1, 1), (1, 3), (2, 0), (0, 2)])
def test_maps_of_one_score_give_the_share_of_hits(n_hits: int, n_misses: int) -> None:
    truth = [[1] * n_hits + [0] * n_misses]
    n_pairs = n_hits + n_misses
    scores = np.full((1, n_pairs), 2.0)
    isotonic = fit(truth, scores).apply(np.array([[-9.0, 2.0, 9.0]]))
    assert isotonic.tolist() == [[n_hits / n_pairs] * 3]
    # Platt's targets are not quite 0 and 1
    share = (n_hits * (n_hits + 1) / (n_hits + 2) + n_misses / (n_misses + 2)) / n_pairs
    np.testing.assert_allclose(fit(truth, scores, "platt").apply(scores), share, rtol=1e-9)


@pytest.mark.parametrize("k", [None, 4])
def test_isotonic_map_is_calibrated_on_its_pairs(k: int | None) -> None:
    truth, scores = sample(8, 1)
    lists = lists_of(scores)
    mapped = fit(truth, lists, k=k).apply(lists)
    cutoff = f"@{k}" if k else ""
    report = evaluate(truth, mapped, metrics=[f"ece{cutoff}", f"ace{cutoff}", "p@1"])
    assert report[f"ece{cutoff}"] < 1e-12
    assert report[f"ace{cutoff}"] < 1e-12
    assert report["p@1"] == evaluate(truth, lists, metrics="p@1")["p@1"]  # lists keep their order


def test_apply_keeps_every_form() -> None:
    truth, scores = sample(9)
    calibrator = fit(truth, scores, "platt")
    mapped = calibrator.apply(scores)
    sparse = sp.csr_array(scores)
    assert mapped.dtype == np.float64
    assert calibrator.apply(scores.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(calibrator.apply(sparse).toarray(), np.where(scores, mapped, 0))
    assert (sparse != sp.csr_array(scores)).nnz == 0  # arguments stay as they are
    half, one = calibrator.apply(np.array([[0.5, 1.0]]))[0]
    expected = 1 / (1 + math.exp(-calibrator.slope - calibrator.intercept))
    assert math.isclose(one, expected, rel_tol=1e-14)
    labels = np.array([[0, -1], [2, 1]])
    values = np.array([[0.5, np.nan], [1.0, 0.5]])
    ids, numbers = calibrator.apply((labels, values))
    np.testing.assert_array_equal(ids, labels)
    np.testing.assert_array_equal(numbers, [[half, np.nan], [one, half]])
    assert calibrator.apply([[(3, 0.5)], [], [(1, 1.0)]]) == [[(3, half)], [], [(1, one)]]
    named = calibrator.apply({"q2": {"b": 0.5, "a": 1.0}, "q1": {}})
    assert named == {"q2": {"b": half, "a": one}, "q1": {}}
    assert [*named["q2"]] == ["b", "a"]


def test_fit_gives_finite_maps_of_extreme_scores() -> None:
    assert fit([[1, 1]], np.array([[2.0, 3.0]])).apply(GRID).min() == 1.0
    assert 0 < fit([[1, 0, 1, 0]], np.array([[1e9, -1e9, 3e8, 2e8]]), "platt").slope < 1
    separate = fit([[1] * 500 + [0] * 500], np.arange(1000.0)[None, ::-1], "platt")
    assert np.isfinite([separate.slope, separate.intercept]).all()
    assert (np.diff(separate.apply(GRID)[0]) >= 0).all()
    flat = Calibrator("platt", None, 4, slope=0.0, intercept=1.0)
    mapped = flat.apply(np.array([[np.inf, 0.0, -np.inf]]))
    np.testing.assert_allclose(mapped, 1 / (1 + math.exp(-1.0)), rtol=1e-15)


def test_fit_and_apply_refuse_scores() -> None:
    one = [[1, 0]]
    eye = np.eye(2)
    apply = fit(np.eye(2), np.eye(2)).apply
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: fit(one, np.array([[0.5, np.inf]])), "y_score: some scores are infinite"),
        (lambda: fit(one, sp.csr_array((1, 2))), "y_score: no label has a score"),
        (
            lambda: fit(eye, eye, sample_weight=[0, 0]),
            "no label has a score in a row of weight above 0",
        ),
        (lambda: fit(eye, eye, "plat"), "method: 'plat' is not one of isotonic, platt; did you"),
        (lambda: fit(eye, eye, "ranks"), "method: 'ranks' is not one of isotonic, platt"),
        (lambda: fit(eye, eye, k=0), "k: 0 is not a positive integer"),
        (lambda: apply(np.ones(3)), "y_score: shape (3,) is not two-dimensional; expected rows x"),
        (lambda: apply(np.ones((3, 2, 2))), "y_score: shape (3, 2, 2) is not two-dimensional"),
        (lambda: apply({"q": 0.5}), "row 0: 0.5 is not a list of labels"),
        (lambda: apply(np.array([[1.0, 0.0], [np.nan, 0.0]])), "row 1: score nan"),
    ]
    for call, message in refused:
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


@pytest.mark.usefixtures("folder")
def test_calibrate_command_fits_and_maps_files(
    run: Callable[..., str], refused: Callable[..., str]
) -> None:
    truth, scores = sample(11)
    labels, ranked = lists_of(scores, 5)
    ranked = ranked.astype(np.float32)
    sp.save_npz("Y.npz", sp.csr_array(truth))
    np.save("S_indices.npy", labels)
    np.save("S_scores.npy", ranked)

    out = run("calibrate fit Y.npz S_indices.npy --method platt --k 3 --memory 2kB --output m.json")
    assert "fitted to 240 pairs: the first 3 labels of each row" in out
    mapped = fit(truth, (labels, ranked), "platt", k=3).apply((labels, ranked))
    for name in ("P.txt", "P_indices.npy"):
        out = run(f"calibrate apply S_indices.npy --map m.json --output {name}")
        assert "80 rows, 400 probabilities" in out
        report = json.loads(run(f"evaluate Y.npz {name} --metrics brier@5 --format json"))
        expected = evaluate(truth, mapped, metrics="brier@5")["brier@5"]
        assert math.isclose(report["values"]["brier@5"], expected, rel_tol=1e-6)
    labels[:, 4] = -1  # an empty slot
    np.save("short_indices.npy", labels)
    np.save("short_scores.npy", ranked)
    for name in ("P.txt", "P_indices.npy"):
        for limits in (nullcontext(), small_limits()):  # read at once, and in pieces
            with limits:
                out = run(f"calibrate apply short_indices.npy --map m.json --output {name}")
            assert "80 rows, 320 probabilities" in out
    ranked[7, 2] = np.nan
    np.save("short_scores.npy", ranked)
    with small_limits():
        message = refused("calibrate apply short_indices.npy --map m.json --output P.txt")
    assert "short_indices.npy: row 7: score nan is not a number" in message
    Path("Y.qrels").write_text("q1 0 a 1\nq1 0 c 0\nq2 0 b 1\n")
    Path("S.run").write_text("q2 Q0 b 1 3.0 x\nq2 Q0 a 2 1.0 x\nq1 Q0 a 1 2.0 x\nq1 Q0 c 2 0.5 x\n")
    run("calibrate fit Y.qrels S.run --output m.json")
    run("calibrate apply S.run --map m.json --output P.run")
    lines = [" ".join(line.split()[:5]) for line in Path("P.run").read_text().splitlines()]
    assert lines == ["q2 Q0 b 1 1.0", "q2 Q0 a 2 0.0", "q1 Q0 a 1 1.0", "q1 Q0 c 2 0.0"]
    message = refused("calibrate apply S.run --map m.json --output P.txt")
    expected_message = "P.txt: this format cannot contain scores with names, as S.run has"
    assert f"{expected_message}; expected" in message


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64)],
)
def test_apply_returns_the_type_of_scores_or_float32(dtype: Any, expected: Any) -> None:
    truth, scores = sample(3)
    calibrator = fit(truth, scores)
    assert calibrator.apply(scores.astype(dtype)).dtype == expected


def test_calibrator_names_the_row_of_a_wrong_score_in_lists_with_empty_slots() -> None:
    calibrator = fit(np.eye(2, 3), np.array([[3.0, 1.0, 1.0], [2.0, 3.0, 1.0]]))
    labels = np.array([[0, -1, -1], [1, 2, -1], [2, 0, 1]])
    scores = np.array([[0.9, 0.0, 0.0], [0.8, 0.3, 0.0], [0.7, math.nan, 0.1]])
    with pytest.raises(ValueError, match="y_score: row 2: score nan is not a number"):
        calibrator.apply((labels, scores))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "plat"}, "method: 'plat' is not one of isotonic, platt; did you mean platt?"),
        (
            {"method": "isotonik"},
            "method: 'isotonik' is not one of isotonic, platt; did you mean isotonic?",
        ),
        ({"method": "zzz"}, "method: 'zzz' is not one of isotonic, platt"),
        ({"method": None}, "method: None is not one of isotonic, platt"),
        ({"method": 3}, "method: 3 is not one of isotonic, platt"),
        ({"k": 0}, "k: 0 is not a positive integer"),
        ({"k": 1.5}, "k: 1.5 is not a positive integer"),
        ({"k": 2**31}, "k: 2147483648 is more than 2147483647, the largest value allowed"),
        ({"y_score": None}, "y_score: missing; probabilities are fitted to scores"),
        (
            {"y_score": ([[0], [1]], None)},
            "y_score: this list has no scores to make probabilities of",
        ),
        (
            {"y_score": sp.csr_array((2, 2)), "sample_weight": [1, 2]},
            "y_score: no label has a score in a row of weight above 0; there is nothing to fit to",
        ),
        (
            {"y_score": sp.csr_array((2, 2))},
            "y_score: no label has a score; there is nothing to fit to",
        ),
        (
            {"y_score": np.array([[-np.inf, 0], [0, 1]]), "method": "platt"},
            "y_score: some scores are infinite; give finite scores",
        ),
    ],
)
def test_fit_refuses_by_argument(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"y_true": np.eye(2), "y_score": np.eye(2)}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fit(**arguments | options)


@pytest.mark.parametrize(("n_hits", "n_misses"), [(3, 6), (0, 9), (9, 0), (1, 1)])
@pytest.mark.parametrize("score", [0.5, 0.0, -2.0])
def test_equal_scores_have_the_mean_of_the_targets(
    n_hits: int, n_misses: int, score: float
) -> None:
    """The share of hits in an isotonic map; in a sigmoid, the mean of Platt's targets."""
    truth = np.array([[1] * n_hits + [0] * n_misses])
    scores = np.full(truth.shape, score)
    share = n_hits / (n_hits + n_misses)
    assert fit(truth, scores).apply(np.array([[score]]))[0, 0] == share
    targets = [(n_hits + 1) / (n_hits + 2)] * n_hits + [1 / (n_misses + 2)] * n_misses
    probability = fit(truth, scores, "platt").apply(np.array([[score]]))[0, 0]
    assert math.isclose(probability, math.fsum(targets) / len(targets), rel_tol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_fit_counts_weights_as_repeated_rows_and_takes_cutoffs_in_either_order(method: str) -> None:
    truth, scores = sample(4, 1, m=20)
    weights = np.arange(20) % 3
    lists = lists_of(scores)
    for k in (None, 1, 2):
        weighted = fit(truth, scores, method, k=k, sample_weight=weights).apply(GRID)
        repeated = fit(
            np.repeat(truth, weights, axis=0), np.repeat(scores, weights, axis=0), method, k=k
        ).apply(GRID)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
        shown_lists = fit(truth, lists, method, k=k, sample_weight=weights).apply(GRID)
        np.testing.assert_array_equal(weighted, shown_lists)
        assert not np.allclose(weighted, fit(truth, scores, method, k=k).apply(GRID))
    assert not np.allclose(
        fit(truth, scores, method, k=1).apply(GRID), fit(truth, scores, method, k=2).apply(GRID)
    )


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
def test_apply_refuses_arrays_that_are_not_rows_by_labels(shape: tuple[int, ...]) -> None:
    calibrator = fit(np.eye(2), np.eye(2))
    message = f"y_score: shape {shape} is not two-dimensional; expected rows x labels"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        calibrator.apply(np.zeros(shape))


def test_apply_names_the_row_of_a_wrong_score_in_a_sparse_matrix() -> None:
    matrix = sp.csr_array(np.array([[0.5, 0.25], [0.0, 0.0], [0.5, 0.125]]))
    matrix.data[-1] = np.nan
    with pytest.raises(ValueError, match=r"^y_score: row 2: score nan is not a number$"):
        fit(np.eye(2), np.eye(2)).apply(matrix)


@pytest.mark.parametrize(("n", "pairs"), [(1, "1 pair"), (2, "2 pairs")])
def test_map_tells_how_many_pairs_it_was_fitted_to(n: int, pairs: str) -> None:
    text = f"isotonic, {n} points, fitted to {pairs}: all listed labels"
    scores = np.arange(1.0, n + 1)[None]
    truth = np.eye(1, n, n - 1, int)  # the highest score is a hit
    assert str(fit(truth, scores)) == text.replace("1 points", "1 point")


def test_scores_with_equal_shares_of_hits_are_one_step() -> None:
    truth = [[1, 0, 1, 0, 1, 0, 1, 1]]
    calibrator = fit(truth, np.array([[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]]))
    assert calibrator.scores.tolist() == [1.0, 3.0, 4.0]
    assert calibrator.levels.tolist() == [0.5, 0.5, 1.0]


def test_fit_warns_of_rows_without_scores_and_shows_progress() -> None:
    shown = list[Any]()
    truth = {"q1": ["a"], "q2": ["b"]}
    with pytest.warns(UserWarning, match="1 row"):
        fit(truth, {"q1": {"a": 0.5, "b": 0.25}}, progress=lambda *rows: shown.append(rows))
    assert shown[-1] == (2, 2)


def test_fit_matches_names_of_scores_with_labels_that_name_the_columns() -> None:
    scores = [{"b": 0.75, "a": 0.5}, {"b": 0.125}]
    calibrator = fit(np.eye(2), scores, "platt", labels=["a", "b"])
    by_number = fit(np.eye(2), [[(1, 0.75), (0, 0.5)], [(1, 0.125)]], "platt")
    assert (calibrator.slope, calibrator.intercept) == (by_number.slope, by_number.intercept)
