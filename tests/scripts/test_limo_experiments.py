"""The experiments with LIMO: small runs of both commands, and what they are made of."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

pytest.importorskip("matplotlib", reason="figures need matplotlib")

from scripts.limo.__main__ import main
from scripts.limo.benchmark import DATA_SETS, evaluate_methods, read_data, split_data
from scripts.limo.claims import average_ranks, judge, rank_methods
from scripts.limo.evaluation import Scores, evaluate_scores, evaluate_sets
from scripts.limo.independent import largest_difference
from scripts.limo.records import MEASURES, OWN, SETS, Record, select
from scripts.limo.synthetic import REGIONS, draw_points, label_points
from scripts.limo.tables import relative_values
from scripts.limo.variants import HELD_OUT, LEARNERS, VARIANTS, Split, hold_out
from tests.conftest import DATA, NO_DATA


def problem(seed: int, m: int = 60, n_labels: int = 6) -> tuple[Any, Any]:
    """Features that tell a little about labels; each label and its opposite occur."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, 8)) * (rng.random((m, 8)) < 0.6)
    y = (x @ rng.normal(size=(8, n_labels)) + rng.normal(size=(m, n_labels)) > 0.8).astype(int)
    return sp.csr_array(x), sp.csr_array(y)


def table_rows(text: str) -> list[list[str]]:
    return [re.split(r" ?\| ?", line)[1:-1] for line in text.splitlines() if line.startswith("| ")]


def check_tables(text: str) -> None:
    """Every table has a row of dashes below its header, and rows as long as it."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        lines = table.splitlines()
        assert set(lines[1]) <= set("|-:")
        assert len({len(re.split(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert "nan" not in text


def test_regions_overlap_and_no_linear_scores_are_effective() -> None:
    points = draw_points(0, 0)[:600]
    labels = label_points(points).toarray()
    assert set(label_points(draw_points(1, 0)).toarray().sum(axis=1)) == {1, 2, 3}
    x = np.column_stack([points, np.ones(600)])  # with an intercept, the stronger learner
    for label in labels.T:  # no line has all instances of a label on one side
        signed = np.where(label[:, None] == 1, x, -x)
        assert linprog(np.zeros(3), A_ub=-signed, b_ub=-np.ones(600), bounds=(None, None)).status == 2
    pairs = [(i, u, v) for i, row in enumerate(labels) for u in range(4) for v in range(4) if row[u] > row[v]]
    gaps = np.zeros((len(pairs), 4, 3))
    for place, (i, u, v) in enumerate(pairs):
        gaps[place, u], gaps[place, v] = x[i], -x[i]
    found = linprog(np.zeros(12), A_ub=-gaps.reshape(-1, 12), b_ub=-np.ones(len(pairs)), bounds=(None, None))
    assert found.status == 2  # infeasible


def test_every_measure_is_that_of_scikit_learn() -> None:
    for seed in range(5):
        (_, y), rng = problem(seed), np.random.default_rng(seed)
        tied = rng.integers(0, 4, (30, 6)).astype(float)
        scores = Scores(rng.normal(size=(30, 6)), tied, own=2.0)
        values, sets = evaluate_scores(y[:30], y[30:], scores)
        assert {measure for measure, _ in values} == set(MEASURES)
        for name in SETS:
            assert (sets[name, OWN].toarray() == (tied > 2)).all()  # not those level with it
        assert largest_difference(y[30:], scores.test, values, sets) < 1e-12
        values["lrap", ""] += 1e-9
        with pytest.raises(ArithmeticError, match="lrap"):
            largest_difference(y[30:], scores.test, values, sets)
        values, sets = evaluate_sets(y[30:], y[:30].astype(bool))
        assert all(values[name, OWN] == values[name, "t_j"] for name in SETS)
        assert largest_difference(y[30:], None, values, sets) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cal500", "medical"])
def test_a_split_of_real_data_is_that_of_scikit_learn(name: str) -> None:
    if not (DATA / name / "X_train.npz").is_file():
        pytest.skip(NO_DATA)
    x, y = read_data(DATA, name)
    split = split_data(x[:300], y[:300], seed=0, repetition=0)
    for _, scores, values, sets in evaluate_methods(split):
        test = None if scores is None else scores.test
        assert largest_difference(split.y_test, test, values, sets) < 1e-12


def test_splits_are_random_seeded_and_scaled_by_what_trains() -> None:
    x, y = problem(2)
    split, again, other = (split_data(x, y, 5, repetition) for repetition in (0, 0, 1))
    assert split.x_train.shape == (42, 8)
    assert split.x_test.shape == (18, 8)
    assert abs(split.x_train).max(axis=0).toarray() == pytest.approx(1)
    assert (split.y_train != again.y_train).nnz == 0
    assert (split.y_train != other.y_train).nnz > 0
    assert split.y_train.sum() + split.y_test.sum() == y.sum()


def test_held_out_scores_come_from_models_that_saw_other_instances() -> None:
    x, y = problem(6)
    split, calls = Split(x, y, x, y, 3), []

    def learn(seen: Any, labels: Any, out: Any) -> Any:
        rows = {row.tobytes() for row in seen.toarray()}
        assert not rows & {row.tobytes() for row in out.toarray()}
        assert seen.shape[0] == labels.shape[0] == 40
        calls.append(out.shape[0])
        return out.toarray()[:, :6]

    assert (hold_out(split, learn) == x.toarray()[:, :6]).all()  # each where it belongs
    assert calls == [20, 20, 20]


def records_of(values: dict[str, dict[str, list[float]]], measure: str) -> list[Record]:
    return [
        Record(data, repetition, method, "", measure, "", value)
        for data, methods in values.items()
        for method, found in methods.items()
        for repetition, value in enumerate(found)
    ]


def test_ranks_are_of_means_and_averaged() -> None:
    values = {
        "one": {"LIMO": [0.1, 0.3], "BR-SVM": [0.2, 0.2], "GFM": [0.5, 0.6]},
        "two": {"LIMO": [0.1, 0.1], "BR-SVM": [0.2, 0.2], "GFM": [0.0, 0.0]},
    }
    results = select(records_of(values, "ranking_loss"))
    assert rank_methods(results, "one", "ranking_loss") == {"LIMO": 1.5, "BR-SVM": 1.5, "GFM": 3.0}
    ranks = average_ranks(results)
    assert ranks["ranking_loss", "LIMO"] == 1.75
    assert ranks["ranking_loss", "GFM"] == 2.0


def test_relative_values_run_from_worst_to_best() -> None:
    records = [
        Record("d", 0, method, "", m, r, value)
        for m in MEASURES
        for r in ("", "t(x)", "t_j")
        for method, value in (("LIMO", 0.2), ("LIMO-label", 0.3), ("LIMO-inst", 0.4))
    ]
    found = relative_values(select(records), "d")
    assert found["ranking_loss", "LIMO"] == 1
    assert found["ranking_loss", "LIMO-inst"] == 0
    assert found["lrap", "LIMO-label"] == pytest.approx(0.5)
    held = {v.claim + v.measure: v.held for v in judge(select(records))}
    assert held["label-wise margins favourRanking loss"]
    assert not held["label-wise margins favourLRAP"]
    assert held["instance-wise margins favourAUC macro"]
    assert not held["both margins bestAUC micro"]
    assert not any("near the top" in claim for claim in held)  # among three methods that says nothing


@pytest.mark.slow
def test_synthetic_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("once", "again"):
        arguments = ["synthetic", "--repetitions", "2", "--seed", "3", "--output", str(tmp_path / folder)]
        assert main(arguments) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()][:7]
    for path in written:
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
        assert path.stat().st_size > 1000
    text = (tmp_path / "once" / "synthetic.md").read_text()
    check_tables(text)
    first = table_rows(text)[:12]
    assert first[0] == ["measure", *LEARNERS]
    assert len(first) == 1 + len(MEASURES)
    for name in REGIONS:
        assert text.count(f"- {name}: ") == 1
    rows = list(csv.DictReader((tmp_path / "once" / "synthetic.csv").read_text().splitlines()))
    assert {row["data"] for row in rows} == set(REGIONS)
    assert {row["variant"] for row in rows} == {"", *VARIANTS}
    assert all(0 <= float(row["value"]) <= 4 for row in rows)
    assert (tmp_path / "once" / "regions.svg").read_text().startswith("<?xml")


@pytest.mark.slow
def test_benchmark_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for seed, name in enumerate(DATA_SETS):
        (tmp_path / name).mkdir()
        for side, matrix in zip("XY", problem(seed), strict=True):
            sp.save_npz(tmp_path / name / f"{side}_train.npz", matrix[:40])
            sp.save_npz(tmp_path / name / f"{side}_test.npz", matrix[40:])
    out = tmp_path / "out"
    arguments = ["benchmark", "--data", str(tmp_path), "--repetitions", "1", "--output", str(out)]
    arguments += ["--variants", "both halves", HELD_OUT]
    assert main(arguments) == 0
    printed = capfd.readouterr()
    assert printed.out.splitlines()[-1] == str(out / "average_ranks.png")
    assert all(f"{name} 1" in printed.err for name in DATA_SETS)
    text = (out / "benchmark.md").read_text()
    check_tables(text)
    found = json.loads((out / "benchmark.json").read_text())
    assert set(found["differences"]) == set(DATA_SETS)
    assert max(found["differences"].values()) < 1e-12
    by_method = {(v["data"], v["method"], v["measure"]): v["mean"] for v in found["values"]}
    assert len(by_method) == 5 * (5 * 11 + 4)
    assert len(found["verdicts"]) == 4 + 2 + 1 + 11 + 3
    rows = list(csv.DictReader((out / "benchmark.csv").read_text().splitlines()))
    assert {row["method"] for row in rows if row["variant"] == HELD_OUT} == {*LEARNERS, "BR-SVM"}
    assert {row["method"] for row in rows if row["reading"] == OWN} == {"BR-SVM", "ML-kNN", "GFM"}
    shown = [row for row in table_rows(text) if row[0].startswith("F1 macro, ")]
    assert {"held out", "baselines' own"} <= {row[0].split(", ")[1] for row in shown}


def test_near_the_top_is_the_upper_half_with_its_middle() -> None:
    names = [*LEARNERS, "BR-SVM", "ML-kNN"]

    def held(place: int) -> bool:
        order = [0.1 * (i + 1 + (i >= place - 1)) for i in range(4)]
        values = dict(zip(names, [0.1 * place, *order], strict=True))
        records = [
            Record("d", 0, method, "", m, r, value)
            for m in MEASURES
            for r in ("", "t(x)", "t_j")
            for method, value in values.items()
        ]
        (verdict,) = [v for v in judge(select(records)) if "top" in v.claim and v.measure == "Coverage"]
        assert f"place {place} of 5 (3 or better holds)" in verdict.numbers
        return verdict.held

    assert [held(place) for place in range(1, 6)] == [True, True, True, False, False]


@pytest.mark.parametrize("arguments", [["--data", "nowhere"], ["--data", "."]])
def test_missing_data_is_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["benchmark", *arguments, "--output", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert len(printed.err.splitlines()) == 1
