"""Ways to choose three labels a row for macro F1: python -m benchmarks.label_sets --help.

XMLEVAL_DATA names the folder of the data sets. Half of the test rows are for fitting, the others
for evaluation; each seed makes other halves. A rule chooses sets of three labels:

* "top k": the highest scores
* "weighted": `xmleval.thresholds.fit(..., "f1.macro@3")` on the first half
* "FW": xCOLUMNs' Frank-Wolfe classifier on the first half
* "BCA": xCOLUMNs' block coordinate ascent over the rows to evaluate, without their truth

The rules of xCOLUMNs run in the interpreter of --peers. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.cases import compile_kernels
from benchmarks.machine import identity
from benchmarks.run import compact
from benchmarks.tables import machine_name, table
from benchmarks.worker import ROOT, version_of

K = 3
SEEDS = (0, 1, 2, 3, 4)
DATA_SETS = ("bibtex", "corel5k", "enron", "medical")
MODELS = ("lr", "pecos", "omikuji", "napkinxc_plt", "knn10")
RULES = ("top k", "weighted", "FW", "BCA")


class Halves(NamedTuple):
    """Truth and scores of the rows to fit to, and of those to evaluate, as CSR."""

    truth: Any
    scores: Any
    held_truth: Any
    held_scores: Any


def read_halves(folder: Path, model: str, seed: int) -> Halves:
    """Read the scores of a model, and divide the rows at random."""
    truth = sp.csr_matrix(sp.load_npz(folder / "Y_test.npz"), dtype=np.int8)
    path = folder / f"scores_{model}.npz"
    if path.exists():
        scores = sp.csr_matrix(sp.load_npz(path), dtype=np.float32)
    else:
        scores = sp.csr_matrix(np.load(folder / f"dense_{model}.npz")["scores"], dtype=np.float32)
    order = np.random.default_rng(seed).permutation(truth.shape[0])
    fitted, held = np.split(order, [len(order) // 2])
    return Halves(truth[fitted], scores[fitted], truth[held], scores[held])


Rule = Callable[[Halves], Any]  # returns the sets of the held-out rows


def our_rules() -> dict[str, Rule]:
    """Return the rules of xmleval."""
    from xmleval.thresholds import fit  # missing in the interpreter of xCOLUMNs

    compile_kernels()
    warnings.simplefilter("ignore")  # where the highest scores are better on the first half

    def top(halves: Halves) -> Any:
        return fit(halves.truth, halves.scores, rule="top", k=K).apply(halves.held_scores)

    def weighted(halves: Halves) -> Any:
        return fit(halves.truth, halves.scores, f"f1.macro@{K}").apply(halves.held_scores)

    return {"top k": top, "weighted": weighted}


def peer_rules() -> dict[str, Rule]:
    """Return the rules of xCOLUMNs; Frank-Wolfe takes dense arrays."""
    from xcolumns import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        block_coordinate,
        frank_wolfe,
    )
    from xcolumns.metrics import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        macro_f1_score_on_conf_matrix,
    )

    def classifier(halves: Halves) -> Any:
        truth = halves.truth.toarray().astype(np.float32)
        best = frank_wolfe.find_classifier_using_fw(
            truth, halves.scores.toarray(), macro_f1_score_on_conf_matrix, K, seed=0
        )
        return frank_wolfe.predict_using_randomized_weighted_classifier(
            halves.held_scores.toarray(), K, best.a, best.b, best.p, seed=0
        )

    ascent = partial(block_coordinate.predict_optimizing_macro_f1_score_using_bc, k=K, seed=0)
    return {"FW": classifier, "BCA": lambda halves: ascent(halves.held_scores)}


def write_sets(rules: dict[str, Rule], data: Path, data_sets: list[str], folder: Path) -> None:
    """Write the sets of each rule to a folder, and the seconds of choosing them."""
    for number, (data_set, model, seed) in enumerate(product(data_sets, MODELS, SEEDS)):
        halves = read_halves(data / data_set, model, seed)
        for name, rule in rules.items():
            if number == 0:
                rule(halves)  # compiles, or loads compiled kernels
            start = time.process_time()
            sets = rule(halves)
            seconds = time.process_time() - start
            file = folder / f"{data_set} {model} {seed} {name}"
            sp.save_npz(f"{file}.npz", sp.csr_matrix(sets) != 0)
            Path(f"{file}.json").write_text(json.dumps(seconds))


def evaluate_sets(data: Path, data_sets: list[str], folder: Path) -> list[dict[str, Any]]:
    """Return mean macro F1 and median seconds of the written sets, a record for each model."""
    records = []
    for data_set, model in product(data_sets, MODELS):
        truths = [read_halves(data / data_set, model, seed).held_truth for seed in SEEDS]
        values = {}
        seconds = {}
        for rule in RULES:
            files = [folder / f"{data_set} {model} {seed} {rule}" for seed in SEEDS]
            if not Path(f"{files[0]}.npz").exists():  # of a library that is absent
                continue
            sets = [sp.load_npz(f"{file}.npz") for file in files]
            values[rule] = statistics.fmean(map(macro_f1, truths, sets))
            times = [json.loads(Path(f"{file}.json").read_text()) for file in files]
            seconds[rule] = statistics.median(times)
        records.append({"data_set": data_set, "model": model, "f1.macro": values, "cpu": seconds})
    return records


def macro_f1(truth: Any, sets: Any) -> float:
    """Return the macro F1 of sets."""
    from xmleval import evaluate

    return float(evaluate(truth, y_pred=sets, metrics="f1.macro")["f1.macro"])


def table_of(results: dict[str, Any]) -> str:
    """Return the machine, and a table of values and seconds by rule and model."""
    rows = []
    for record in results["records"]:
        cells = ["" for _ in RULES]
        for place, rule in enumerate(RULES):
            if rule in record["cpu"]:
                cells[place] = f"{record['f1.macro'][rule]:.4f} ({record['cpu'][rule]:.2g} s)"
        rows.append([record["data_set"], record["model"], *cells])
    text = table(["data set", "model", *RULES], "ll" + "r" * len(RULES), rows)
    machine = machine_name(results["machine"])
    if results["xcolumns"]:
        machine += f"; xCOLUMNs {results['xcolumns']}"
    return f"{machine}.\n\n{text}"


def main(arguments: list[str] | None = None) -> None:
    """Choose the sets, evaluate them and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data-sets", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    add("--peers", type=Path, default=sys.executable, help="Python interpreter with xCOLUMNs")
    add("--peer-folder", type=Path, help="only write the sets of xCOLUMNs to this folder")
    add("--output", type=Path, default=ROOT / "benchmarks" / "results" / "label_sets.json")
    args = parser.parse_args(arguments)
    data = Path(os.environ.get("XMLEVAL_DATA") or os.devnull)
    data_sets = [name for name in args.data_sets if (data / name).is_dir()]
    absent = [name for name in args.data_sets if name not in data_sets]
    if absent:
        print(f"skipped, as XMLEVAL_DATA has none: {', '.join(absent)}", file=sys.stderr)
    if not data_sets:
        return
    if args.peer_folder:
        write_sets(peer_rules(), data, data_sets, args.peer_folder)
        (args.peer_folder / "version").write_text(version_of("xcolumns"))
        return
    version = None
    with tempfile.TemporaryDirectory() as folder:
        write_sets(our_rules(), data, data_sets, Path(folder))
        python = str(args.peers.absolute())  # not resolved: the link selects the environment
        if subprocess.run([python, "-c", "import xcolumns"], stderr=subprocess.DEVNULL).returncode:
            print(f"FW and BCA skipped: no xcolumns in {python}", file=sys.stderr)
        else:
            words = ["--data-sets", *data_sets, "--peer-folder", folder]
            subprocess.run([python, "-m", "benchmarks.label_sets", *words], cwd=ROOT, check=True)
            version = (Path(folder) / "version").read_text()
        records = evaluate_sets(data, data_sets, Path(folder))
    results = {"xcolumns": version, "seeds": list(SEEDS), "records": records, "machine": identity()}
    args.output.write_text(compact(results))
    print(table_of(results))


if __name__ == "__main__":
    main()
