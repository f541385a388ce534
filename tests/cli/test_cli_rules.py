"""Saved rules on the command line: labels by name, features, names of files, and words of messages."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import evaluate
from xmleval.cli import main
from xmleval.input.formats.registry import read_truth
from xmleval.thresholds import Rule, fit

NAMES = ["sport", "art", "law", "war", "sea"]
FIT = "threshold fit fit.qrels fit.run --rule label --measure f1.macro --output rule.npz"


def named_data(seed: int, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, 5)) < 0.4).astype(int)
    truth[np.arange(n), np.arange(n) % 3] = 1  # a row without labels is not in a file of them
    return truth, np.round(0.5 * truth + rng.random((n, 5)) + np.arange(5), 3)


def lines(cells: list[tuple[int, int]], form: Any) -> str:
    return "".join(form(row, label) + "\n" for row, label in cells)


def write_named(stem: str, truth: Any, scores: Any, order: list[int], form: str) -> None:
    """Write files whose labels appear in an order."""
    cells = [(row, label) for row in range(truth.shape[0]) for label in order]
    relevant = [(row, label) for row, label in cells if truth[row, label]]
    relevant.sort(key=lambda cell: order.index(cell[1]))
    if form == "trec":
        text = lines(relevant, lambda i, j: f"q{i} 0 {NAMES[j]} 1")
        Path(f"{stem}.qrels").write_text(text)
        text = lines(cells, lambda i, j: f"q{i} Q0 {NAMES[j]} 1 {float(scores[i, j])!r} me")
        Path(f"{stem}.run").write_text(text)
        return
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather

    for kind, rows in (("qrels", relevant), ("run", cells)):
        table: dict[str, Any] = {"instance": [f"q{i}" for i, _ in rows], "label": [NAMES[j] for _, j in rows]}
        if kind == "run":
            table["score"] = [float(scores[cell]) for cell in rows]
        pyarrow.feather.write_feather(pa.table(table), f"{stem}_{kind}.arrow", compression="uncompressed")


def files(line: str, form: str) -> str:
    return line if form == "trec" else line.replace(".qrels", "_qrels.arrow").replace(".run", "_run.arrow")


@pytest.mark.parametrize("form", ["trec", "arrow"])
@pytest.mark.parametrize("listed", [False, True])
def test_rules_go_by_the_names_of_labels(folder: Path, run: Any, form: str, listed: bool) -> None:
    (truth, scores), (y_test, test_scores) = named_data(1, 30), named_data(2, 20)
    write_named("fit", truth, scores, [0, 1, 2, 3, 4], form)
    write_named("test", y_test, test_scores, [3, 0, 4, 2, 1], form)
    Path("names.txt").write_text("\n".join(["more", *NAMES, "others"]) + "\n")
    labels = "--labels names.txt" if listed else ""
    run(files(f"{FIT} {labels}", form))
    rule = fit(truth, scores, "f1.macro", rule="label")
    saved = Rule.load("rule.npz")
    assert saved.label_names is not None
    thresholds = dict(zip(saved.label_names, saved.decision.numbers.tolist(), strict=True))
    assert [thresholds[name] for name in NAMES] == rule.decision.numbers.tolist()
    how = "--metrics f1.micro,hamming_loss --format json"
    found = json.loads(run(files(f"evaluate test.qrels test.run --decision rule.npz {how}", form)))
    want = evaluate(y_test, test_scores, decision=rule, metrics=["f1.micro", "hamming_loss"])
    assert found["values"] == dict(want)
    sets = rule.apply(test_scores).toarray()
    run(files("threshold apply test.run --rule rule.npz --output sets.npz", form))
    given = saved.label_names
    by_name = read_truth("sets.npz").toarray()[:, [given.index(name) for name in NAMES]]
    np.testing.assert_array_equal(by_name, sets)
    Path("other.txt").write_text("\n".join(NAMES[::-1]) + "\n")
    run(files("threshold apply test.run --rule rule.npz --labels other.txt --output sets.npz", form))
    np.testing.assert_array_equal(read_truth("sets.npz").toarray()[:, ::-1], sets)


def test_labels_that_a_rule_does_not_know_are_never_predicted(folder: Path, run: Any, capsys: Any) -> None:
    evaluation = "evaluate test.qrels test.run --metrics f1.micro --format json"
    (truth, scores), (y_test, test_scores) = named_data(1, 30), named_data(2, 20)
    write_named("fit", truth[:, :3], scores[:, :3], [0, 1, 2], "trec")
    write_named("test", y_test, test_scores, [3, 0, 4, 2, 1], "trec")
    run(FIT)
    assert main(f"{evaluation} --decision rule.npz".split()) == 0
    out, err = capsys.readouterr()
    told = "rule.npz: 2 labels did not occur in fitting; they are never predicted"
    assert (told in json.loads(out)["notes"], err) == (True, "")
    found = json.loads(out)
    rule = fit(truth[:, :3], scores[:, :3], "f1.macro", rule="label")
    sets = np.hstack([rule.apply(test_scores[:, :3]).toarray(), np.zeros((20, 2), bool)])
    assert found["values"] == dict(evaluate(y_test, y_pred=sets, metrics=["f1.micro"]))
    run("threshold fit fit.qrels fit.run --measure f1.micro --output one.npz")
    assert run(f"{evaluation} --decision one.npz")  # one threshold is for any labels


@pytest.mark.parametrize("name", ["threshold.npz", "top5.npz", "top-rule.npz", "threshold5", "topmost"])
def test_rules_may_be_called_anything(folder: Path, run: Any, name: str) -> None:
    run(f"threshold fit Y_test.npz m --measure f1.micro --output {name}")
    printed = run(f"evaluate Y_test.npz m --metrics f1.micro --format json --decision {name}")
    fitted = name != "threshold5"  # reads as a threshold
    assert json.loads(printed)["decision"] == (str(Rule.load(name).decision) if fitted else "threshold5")


@pytest.mark.parametrize("text", ["thresholdinf", "threshold-inf", "Threshold1e-3", " top2"])
def test_every_rule_of_the_interface_is_one_here(folder: Path, run: Any, text: str) -> None:
    printed = run(f"evaluate Y_test.npz m --metrics f1.micro --format json --decision '{text}'")
    want = evaluate(Y_TEST, (LABELS, SCORES), metrics=["f1.micro"], decision=text)
    assert json.loads(printed)["values"] == dict(want)


def test_names_of_rules_stay_as_they_are(folder: Path, run: Any, refused: Any) -> None:
    run("threshold fit Y_test.npz m --rule row --measure f1.samples --k 2 --unlisted 0 --output rule.npz")
    name = Rule.load("rule.npz").decision
    said = refused("evaluate Y_test.npz m --metrics sets --decision rule.npz --unlisted 0.5")
    assert f"--decision {name} was not fitted with --unlisted 0.5" in said
    assert "unlisted=0)#" in said
    sp.save_npz("bounds=1.npz", sp.csr_array((3, 5)))
    assert "bounds=1.npz" in refused(
        "threshold fit Y_test.npz bounds=1.npz --measure f1.micro --output r.npz"
    )


@pytest.mark.parametrize("file", ["x.npy", "x.npz"])
def test_thresholds_may_depend_on_features(folder: Path, run: Any, file: str, monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    truth, scores, features = (
        (rng.random((50, 5)) < 0.4).astype(int),
        rng.random((50, 5)),
        rng.random((50, 3)),
    )
    features *= features > 0.3
    np.save("x.npy", features)
    sp.save_npz("x.npz", sp.csc_array(features))
    sp.save_npz("t.npz", sp.csr_array(truth))
    sp.save_npz("s.npz", sp.csr_array(scores))
    run(f"threshold fit t.npz s.npz --rule row --measure f1.samples --features {file} --output rule.npz")
    as_read = np.load("x.npy") if file == "x.npy" else sp.csc_array(features)
    rule = fit(truth, scores, "f1.samples", rule="row", features=as_read)
    assert Rule.load("rule.npz").decision == rule.decision
    for memory in ("1GiB", "4KB"):  # the second reads a few rows at a time
        monkeypatch.setattr(sys.modules["xmleval.cli.threshold"], "MEMORY", memory)
        run(f"threshold apply s.npz --rule rule.npz --features {file} --output sets.npz")
        assert (read_truth("sets.npz") != rule.apply(scores, features=as_read)).nnz == 0
    assert run("evaluate t.npz --pred sets.npz --metrics f1.samples")


@pytest.mark.parametrize("memory", ["1GiB", "8"])  # the second reads a row at a time
def test_features_that_do_not_fit_are_refused_in_pieces(
    folder: Path, run: Any, refused: Any, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.random.default_rng(0).random((4, 2))
    np.save("x.npy", features)
    run("threshold fit Y_test.npz m --rule row --measure f1.samples --features x.npy --output row.npz")
    monkeypatch.setattr(sys.modules["xmleval.cli.threshold"], "MEMORY", memory)
    sp.save_npz("more.npz", sp.csr_array(np.ones((5, 2))))
    np.save("nan.npy", np.where(np.arange(8).reshape(4, 2) == 5, np.nan, features))
    line = "threshold apply m --rule row.npz --output r.npz --features"
    assert refused(f"{line} more.npz") == "more.npz: 5 rows do not match the 4 of m"
    assert refused(f"{line} nan.npy") == "nan.npy: row 2: nan in column 1 is not a finite number"
    assert not Path("r.npz").exists()


def test_labels_of_states_are_those_of_the_rule(folder: Path, run: Any) -> None:
    truth, scores = named_data(1, 30)
    write_named("fit", truth, scores, [0, 1, 2, 3, 4], "trec")
    run(FIT)
    saved = Rule.load("rule.npz")
    assert saved.decision == dataclasses.replace(saved).decision
    whole = run(
        "evaluate fit.qrels fit.run --decision rule.npz --metrics f1.macro --format json --save s.npz"
    )
    assert run("merge s.npz --format json") == whole
