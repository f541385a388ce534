"""Maps from scores to probabilities: those of scikit-learn, of any cutting, in every form and in files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import evaluate
from xmleval.calibrate import Calibrator, fit
from xmleval.calibrate.fitting import Fitting
from xmleval.cli import main
from xmleval.engine.run import make_work

GRID = np.linspace(-9, 9, 2001)[None]


def made(seed: int, decimals: int = 2, m: int = 80, n: int = 12) -> tuple[Any, Any]:
    """Truth and logits that know it, with ties."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(0, 2, (m, n)), decimals)
    return (rng.random((m, n)) < 1 / (1 + np.exp(1 - 0.7 * scores))).astype(np.int8), scores


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [None, 3])
def test_maps_are_those_of_scikit_learn_on_the_pairs(seed: int, k: int | None) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    platt = pytest.importorskip("sklearn.calibration")._sigmoid_calibration
    truth, scores = made(seed, seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(truth)) if seed % 2 else None
    order = np.argsort(-scores, axis=1, kind="stable")[:, : k or scores.shape[1]]
    x, y = (np.take_along_axis(values, order, 1).ravel() for values in (scores, truth))
    each = None if weight is None else np.repeat(weight, order.shape[1]).astype(float)
    kept = slice(None) if each is None else each > 0
    each = None if each is None else each[kept]
    own = fit(truth, scores, k=k, sample_weight=weight)
    want = isotonic(out_of_bounds="clip").fit(x[kept], y[kept], each)
    np.testing.assert_allclose(own.apply(GRID)[0], want.predict(GRID[0]), atol=1e-13)
    assert own.n_pairs == (x.size if each is None else each.sum())
    a, b = platt(x[kept], y[kept], each)
    own = fit(truth, scores, "platt", k=k, sample_weight=weight)
    np.testing.assert_allclose(own.apply(GRID)[0], 1 / (1 + np.exp(a * GRID[0] + b)), atol=1e-6)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_no_cutting_memory_or_threads_change_a_bit(method: str) -> None:
    truth, scores = made(7, 5)
    whole = fit(truth, scores, method, k=5)
    fitting = Fitting(method, 5)
    pairs = fitting.pairs(12, make_work(1 << 16, 2))
    for rows in np.array_split(np.random.default_rng(0).permutation(80), 7):
        pairs.update(sp.csr_array(truth[rows]), scores[rows])
    found = fitting.calibrator_of(pairs)
    for name in ("scores", "levels", "slope", "intercept", "n_pairs"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_isotonic_maps_are_calibrated_on_their_own_pairs() -> None:
    truth, scores = made(8, 1)
    for k in (None, 4):
        at = f"@{k}" if k else ""
        order = np.argsort(-scores, axis=1, kind="stable")
        lists = order, np.take_along_axis(scores, order, 1)
        found = evaluate(truth, fit(truth, lists, k=k).apply(lists), metrics=[f"ece{at}", f"ace{at}", "p@1"])
        assert found[f"ece{at}"] < 1e-12
        assert found[f"ace{at}"] < 1e-12
        assert found["p@1"] == evaluate(truth, lists, metrics="p@1")["p@1"]  # lists keep their order


def test_every_form_keeps_its_form() -> None:
    truth, scores = made(9)
    found = fit(truth, scores, "platt")
    want = found.apply(scores)
    assert want.dtype == np.float64
    assert found.apply(scores.astype(np.float32)).dtype == np.float32
    sparse = found.apply(sp.csr_array(scores))
    np.testing.assert_array_equal(sparse.toarray(), np.where(scores, want, 0))
    labels = np.array([[0, 1, -1], [2, -1, -1]])
    values = np.array([[0.5, -0.5, np.nan], [1.0, np.nan, np.nan]])
    same, mapped = found.apply((labels, values))
    np.testing.assert_array_equal(same, labels)
    np.testing.assert_array_equal(np.isnan(mapped), labels < 0)
    assert math.isclose(
        mapped[0, 0], 1 / (1 + math.exp(-(found.slope * 0.5 + found.intercept))), rel_tol=1e-14
    )
    assert found.apply([[(3, 0.5)], [], [(1, 1.0)]]) == [[(3, mapped[0, 0])], [], [(1, mapped[1, 0])]]
    of_row = {"b": mapped[0, 0], "a": mapped[1, 0]}
    by_label = {"b": 0.5, "a": 1.0}
    assert found.apply([by_label, {}]) == [of_row, {}]
    assert found.apply({"q2": by_label, "q1": {}}) == {"q2": of_row, "q1": {}}
    assert [*found.apply({"q": by_label})["q"]] == ["b", "a"]
    assert by_label == {"b": 0.5, "a": 1.0}
    same = sp.csr_array(scores).copy()
    found.apply(same)
    assert (same != sp.csr_array(scores)).nnz == 0  # arguments stay as they are


def test_extreme_data() -> None:
    assert fit([[1, 1]], np.array([[2.0, 3.0]])).apply(GRID).min() == 1.0
    one = fit([[1, 0, 0]], np.array([[2.0, 2.0, 2.0]]), "platt")
    assert math.isclose(one.apply([[(0, 2.0)]])[0][0][1], (2 / 3 + 2 / 4) / 3, rel_tol=1e-6)
    far = fit([[1, 0, 1, 0]], np.array([[1e9, -1e9, 3e8, 2e8]]), "platt")
    assert 0 < far.slope < 1
    parted = fit([[1] * 500 + [0] * 500], np.arange(1000.0)[None, ::-1], "platt")
    assert np.isfinite([parted.slope, parted.intercept]).all()
    assert (np.diff(parted.apply(GRID)[0]) >= 0).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fit([[1, 0]], np.array([[0.5, np.inf]])), "y_score: scores are infinite"),
        (lambda: fit([[1, 0]], sp.csr_array((1, 2))), "y_score: no label has a score"),
        (
            lambda: fit(np.eye(2), np.eye(2), sample_weight=[0, 0]),
            "no label has a score in a row of weight abo",
        ),
        (lambda: fit(np.eye(2), np.eye(2)).apply({"q": {"a": math.nan}}), "y_score: row 0: score nan"),
        (lambda: fit(np.eye(2), np.eye(2)).apply({"q": 0.5}), "or dicts of scores by label"),
        (lambda: fit([[1, 0]], (np.array([[0]]), None)), "y_score: probabilities are made of scores"),
        (lambda: fit([[1, 0]], np.array([[0.5, 0.1]]), "isotonc"), "did you mean isotonic"),
        (lambda: fit([[1, 0]], np.array([[0.5, 0.1]]), k=0), "k: 0 is not a positive integer"),
        (lambda: fit([[1, 0]], np.eye(2)).apply(np.array([[1.0, 0.0], [np.nan, 0.0]])), "1 rows|2 rows"),
        (lambda: fit(np.eye(2), np.eye(2)).apply(np.array([[1.0, 0.0], [np.nan, 0.0]])), "row 1: score nan"),
        (lambda: fit(np.eye(2), np.eye(2)).apply([[1, 2]]), "expected lists of .id, score. pairs"),
        (lambda: fit(np.eye(2), np.eye(2)).apply((np.array([[1]]), None)), "y_score: has no scores"),
    ],
)
def test_what_cannot_be_fitted_or_mapped_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_files_hold_all_bits_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    truth, scores = made(10)
    path = tmp_path / "m.json"
    for method in ("isotonic", "platt"):
        found = fit(truth, scores, method, k=3)
        found.save(path)
        np.testing.assert_array_equal(Calibrator.load(path).apply(GRID), found.apply(GRID))
        assert str(Calibrator.load(path)) == str(found)
        held = json.loads(path.read_text())
        wrong = [
            {"version": 2},
            {"method": "beta"},
            {"k": 0},
            {"k": True},
            {"n_pairs": None},
            {"kind": "rule"},
        ]
        wrong += [{"slope": "1"}] if method == "platt" else [{"levels": [2.0]}, {"scores": []}, {"levels": 1}]
        for changed in wrong:
            path.write_text(json.dumps(held | changed))
            with pytest.raises(ValueError, match=r"m\.json: not a saved calibrator, or damaged"):
                Calibrator.load(path)
        for text in ("", "{", "[]", "NaN", '{"kind": "calibrator"}'):
            path.write_text(text)
            with pytest.raises(ValueError, match=r"m\.json"):
                Calibrator.load(path)


def test_fit_and_apply_on_files(tmp_path: Path, capsys: Any) -> None:
    truth, scores = made(11)
    order = np.argsort(-scores, axis=1)[:, :5].astype(np.int32)
    ranked = np.take_along_axis(scores, order, 1).astype(np.float32)
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(truth))
    np.save(tmp_path / "S_indices.npy", order)
    np.save(tmp_path / "S_scores.npy", ranked)
    y, s, model = (str(tmp_path / name) for name in ("Y.npz", "S_indices.npy", "m.json"))
    assert main(["calibrate", "fit", y, s, "--method", "platt", "--k", "3", "--output", model]) == 0
    assert "fitted to 240 pairs: the first 3 labels of each row" in capsys.readouterr().out
    want = fit(truth, (order, ranked), "platt", k=3)
    assert Calibrator.load(model).slope == want.slope
    for name in ("P.txt", "P.npz", "P_indices.npy"):
        assert main(["calibrate", "apply", model, s, "--output", str(tmp_path / name)]) == 0
        assert "80 rows, 400 probabilities" in capsys.readouterr().out
        call = ["evaluate", y, str(tmp_path / name), "--metrics", "brier@5", "--format", "json"]
        assert main(call) == 0
        found = json.loads(capsys.readouterr().out)["values"]["brier@5"]
        mapped = want.apply((order, ranked))
        assert math.isclose(found, evaluate(truth, mapped, metrics="brier@5")["brier@5"], rel_tol=1e-6)
    ranked[3, 1] = np.nan
    np.save(tmp_path / "S_scores.npy", ranked)
    assert main(["calibrate", "apply", model, s, "--output", str(tmp_path / "P.txt")]) == 2
    assert "row 3: score nan is not a number" in capsys.readouterr().err
    assert main(["calibrate", "apply", y, s, "--output", str(tmp_path / "P.txt")]) == 2
    assert "Y.npz: not a saved calibrator" in capsys.readouterr().err


def test_names_are_matched_and_kept(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "Y.qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "S.run").write_text("q2 Q0 b 1 3.0 x\nq2 Q0 a 2 1.0 x\nq1 Q0 a 1 2.0 x\nq1 Q0 c 2 0.5 x\n")
    y, s, model, out = (str(tmp_path / name) for name in ("Y.qrels", "S.run", "m.json", "P.run"))
    assert main(["calibrate", "fit", y, s, "--output", model]) == 0
    assert main(["calibrate", "apply", model, s, "--output", out]) == 0
    assert [line.split()[:5] for line in Path(out).read_text().splitlines()] == [
        ["q2", "Q0", "b", "1", "1.0"], ["q2", "Q0", "a", "2", "0.0"],
        ["q1", "Q0", "a", "1", "1.0"], ["q1", "Q0", "c", "2", "0.0"],
    ]  # fmt: skip
    capsys.readouterr()
    assert main(["calibrate", "apply", model, s, "--output", str(tmp_path / "P.npz")]) == 2
    assert "S.run: has names; expected a TREC run (.run) as --output" in capsys.readouterr().err
