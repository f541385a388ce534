"""`xmleval threshold`, and saved rules of `xmleval evaluate --decision`: whole commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xmleval
from tests.conftest import DATA, NO_DATA
from tests.examples import LABELS, SCORES, Y_TEST
from xmleval.input.formats.registry import read_scores, read_truth
from xmleval.thresholds import Rule, fit


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("--measure f1.micro", {"measure": "f1.micro"}),
        ("--measure F1.macro --unlisted 0.1", {"measure": "f1.macro", "unlisted": 0.1}),
        ("--rule cardinality", {"rule": "cardinality"}),
        ("--rule label --measure f1.macro", {"rule": "label", "measure": "f1.macro"}),
        (
            "--rule label --measure f1.macro --fbr 0.7 --fallback highest",
            {"rule": "label", "measure": "f1.macro", "fbr": 0.7, "fallback": "highest"},
        ),
        ("--rule rank --measure hamming_loss", {"rule": "rank", "measure": "hamming_loss"}),
        ("--rule row --measure f1.samples --k 2", {"rule": "row", "measure": "f1.samples", "k": 2}),
        ("--rule top --k 2", {"rule": "top", "k": 2}),
    ],
)
@pytest.mark.parametrize("scores", ["scores.npz", "m"])
def test_rules_are_those_of_the_interface(
    folder: Path, run: Any, options: str, arguments: dict[str, Any], scores: str
) -> None:
    given = (LABELS, SCORES)
    rule = fit(sp.csr_array(Y_TEST), given, **arguments)
    assert run(f"threshold fit Y_test.npz {scores} {options} --output rule.npz") == f"{rule}\n"
    assert Rule.load("rule.npz").decision == rule.decision
    sets = rule.apply(given)
    told = f"4 rows x 5 labels, {sets.nnz} predicted\n"
    assert run(f"threshold apply {scores} --rule rule.npz --output sets.npz") == told
    assert (read_truth("sets.npz") != sets).nnz == 0
    unlisted = f"--unlisted {arguments['unlisted']}" if "unlisted" in arguments else ""
    how = f"--metrics f1.micro,hamming_loss --format json {unlisted}"
    direct = json.loads(run(f"evaluate Y_test.npz {scores} {how} --decision rule.npz"))
    by_sets = json.loads(run(f"evaluate Y_test.npz {how} --pred sets.npz"))
    assert direct["values"] == by_sets["values"]
    assert direct["decision"] == str(rule.decision)


def test_shards_and_states_keep_the_rule(folder: Path, run: Any) -> None:
    run("threshold fit Y_test.npz m --rule label --measure f1.macro --output rule.npz")
    (folder / "truth").mkdir()
    (folder / "parts").mkdir()
    for i, rows in enumerate((slice(0, 1), slice(1, 4))):
        sp.save_npz(folder / "truth" / f"part_{i}.npz", sp.csr_array(Y_TEST[rows]))
        np.save(folder / "parts" / f"part_{i}_indices.npy", LABELS[rows])
        np.save(folder / "parts" / f"part_{i}_scores.npy", SCORES[rows])
    run("threshold fit truth parts --rule label --measure f1.macro --output again.npz")
    assert Rule.load("again.npz").decision == Rule.load("rule.npz").decision
    run("threshold apply parts --rule rule.npz --output sets.npz")
    how = "--metrics sets --format json"
    whole = run(f"evaluate Y_test.npz m --decision rule.npz {how}")
    for i in range(2):
        run(f"evaluate truth/part_{i}.npz parts/part_{i} --decision again.npz {how} --save state{i}.npz")
    assert run("merge state0.npz state1.npz --format json") == whole


@pytest.mark.skipif(not (DATA / "debian_depends").is_dir(), reason=NO_DATA)
@pytest.mark.parametrize("scores", ["scores_pecos.npz", "topk_omikuji_indices.npy"])
def test_real_predictions(run: Any, tmp_path: Path, scores: str) -> None:
    truth, given = DATA / "debian_depends" / "Y_test.npz", DATA / "debian_depends" / scores
    rule = tmp_path / "rule.npz"
    values = {}
    for options in ("--rule constant", "--rule label", "--rule rank"):
        run(f"threshold fit {truth} {given} --measure f1.macro {options} --output {rule}")
        printed = run(f"evaluate {truth} {given} --metrics f1.macro --decision {rule} --format json")
        values[options.partition("--rule ")[2]] = json.loads(printed)["values"]["f1.macro"]
    inputs, names = (read_truth(truth), read_scores(given)), ["f1.macro"]
    fixed = [
        xmleval.evaluate(*inputs, metrics=names, decision=decision)["f1.macro"]
        for decision in ("threshold0.1", "threshold0.01", "top1", "top5")
    ]
    assert max(fixed[:2]) <= values["constant"] <= values["label"]
    assert max(fixed[2:]) <= values["rank"]
