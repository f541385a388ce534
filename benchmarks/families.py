"""Cost of families of measures, alone and with intervals: python -m benchmarks.families [W2 W3 W4].

Each family is evaluated on its own, in turn with the others and several times, by one thread; what is
compared is time of the processor. "x p@5" is the ratio to P@5 of the same lists, "intervals" the ratio of a
family with ``confidence=0.95`` to itself without. Writes ``benchmarks/results/families.json``, and keeps
what it has of other workloads.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import xmleval
from benchmarks.workloads import SIZES, Workload, generate

RESULTS = Path(__file__).parent / "results" / "families.json"
ROUNDS = 5
BRANCHES = 10  # children of a label in a generated hierarchy


def lists(workload: Workload) -> dict[str, Any]:
    """Return lists of five labels with scores between 0 and 1, and what measures of frequency need."""
    counts = np.bincount(workload.truth.indices, minlength=workload.truth.shape[1])
    q = xmleval.inverse_propensity(label_counts=counts, n_instances=workload.truth.shape[0])
    return {"y_true": workload.truth, "y_score": workload.top(5), "inverse_propensity": q}


def sets(workload: Workload) -> dict[str, Any]:
    """Return predicted sets of five labels."""
    return {"y_true": workload.truth, "y_pred": workload.sets()}


def deep(workload: Workload) -> dict[str, Any]:
    """Return lists of all labels that the workload ranks."""
    return {"y_true": workload.truth, "y_score": (workload.labels, workload.scores)}


def graded(workload: Workload) -> dict[str, Any]:
    """Return lists of five labels, and a truth with grades from 1 to 4."""
    truth = workload.truth.copy()
    truth.data = 1 + np.arange(truth.nnz, dtype=np.float32) % 4
    return {"y_true": truth, "y_score": workload.top(5), "gains": "exp"}


def nested(workload: Workload) -> dict[str, Any]:
    """Return lists of five labels, and a hierarchy in which each label has ten children."""
    n = workload.truth.shape[1]
    child = np.arange(1, n)
    edges = sp.csr_array((np.ones(n - 1), (child, child // BRANCHES)), shape=(n, n))
    return {**lists(workload), "hierarchy": edges}


class Family(NamedTuple):
    """What is evaluated, on lists of how many labels."""

    metrics: tuple[str, ...]
    given: Callable[[Workload], dict[str, Any]] = lists
    depth: int = 5


FAMILIES = {
    "P": Family(("p@5",)),
    "P, nDCG, R, PSP, PSnDCG": Family(("p", "ndcg", "r", "psp", "psndcg")),
    "F1 of sets": Family(("f1.micro", "f1.macro", "f1.samples"), sets),
    "all of sets": Family(("sets",), sets),
    "macro F1 at 5": Family(("f1.macro@5",)),
    "other macro measures at 5": Family(
        ("mcc.macro@5", "balanced_accuracy.macro@5", "gmean.macro@5", "specificity.macro@5")
    ),
    "what is predicted": Family(("predicted",)),
    "Brier score, log loss": Family(("brier@5", "log_loss@5")),
    "ECE": Family(("ece@5", "ece_over@5", "ece_under@5")),
    "ACE": Family(("ace@5",)),
    "selective classification": Family(("risk(coverage=0.8)@1", "aurc@1")),
    "hierarchical F1": Family(("h_f1.micro@5", "h_f1.samples@5"), nested),
    "graded nDCG": Family(("ndcg@5",), graded),
    "judged": Family(("judged@5",), graded),
    "P from 100": Family(("p@5",), deep, 100),
    "LRAP and others of the ranking": Family(
        ("one_error", "coverage", "ranking_loss", "lrap", "auc.samples"), deep, 100
    ),
    "geometric mean AP": Family(("ap.geometric",), deep, 100),
    "micro-AUC": Family(("auc.micro",), deep, 100),
    "micro-AP": Family(("ap.micro",), deep, 100),
    "partial AUC": Family(("auc.micro(max_fpr=0.1)",), deep, 100),
    "operating points": Family(("recall_at_precision.micro(p=0.9)", "fpr_at_tpr.micro(tpr=0.95)"), deep, 100),
    "macro-AUC": Family(("auc.macro",), deep, 100),
    "macro-AP": Family(("ap.macro",), deep, 100),
}
BASES = {5: "P", 100: "P from 100"}


def processor_seconds(call: Callable[[], Any]) -> float:
    """Return what a call takes of the processor."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def measured(name: str, scale: float, rounds: int) -> dict[str, dict[str, float]]:
    """Return the median seconds of each family on a workload, without and with intervals."""
    found: dict[str, dict[str, float]] = {}
    for depth in sorted({family.depth for family in FAMILIES.values()}):
        workload = generate(name, depth, scale)
        runs: dict[str, dict[str, list[float]]] = {}
        here = {title: one for title, one in FAMILIES.items() if one.depth == depth}
        arguments = {title: family.given(workload) for title, family in here.items()}
        for turn in range(rounds + 1):  # the first one compiles, or loads compiled kernels
            for title, family in here.items():
                given = arguments[title]
                own = runs.setdefault(title, {"alone": [], "intervals": []})
                for kind, level in (("alone", None), ("intervals", 0.95)):
                    seconds = processor_seconds(
                        lambda given=given, family=family, level=level: xmleval.evaluate(  # type: ignore[misc]
                            **given, metrics=list(family.metrics), confidence=level, threads=1, memory="8GiB"
                        )
                    )
                    if turn:
                        own[kind].append(seconds)
        found |= {title: {kind: median(one) for kind, one in own.items()} for title, own in runs.items()}
    return found


def table_of(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the results as a table."""
    names = list(found)
    titles = [f"{name}, s | x p@5 | intervals" for name in names]
    lines = [f"| measures | {' | '.join(titles)} |", "|---|" + "---:|" * (3 * len(names))]
    for title, family in FAMILIES.items():
        cells = []
        for name in names:
            one, base = found[name][title], found[name][BASES[family.depth]]
            ratio, cost = one["alone"] / base["alone"], one["intervals"] / one["alone"]
            cells.append(f"{one['alone']:.3g} | {ratio:.1f} | {cost:.2f}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=["W2", "W3", "W4"], help=f"of {', '.join(SIZES)}")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows and labels")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    found: dict[str, Any] = json.loads(given.output.read_text()) if given.output.exists() else {}
    for name in given.names:
        found[name] = measured(name, given.scale, given.rounds)
        print(f"{name} measured", file=sys.stderr)
        given.output.write_text(json.dumps(found, indent=1) + "\n")
    print(table_of(found))


if __name__ == "__main__":
    main()
