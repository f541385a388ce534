"""Random judgements with grades, and runs; as a script, values of ir_measures for them.

`python -m tests.metrics.graded_problems OUT` writes `ir_measures.json` where ir_measures, cwl-eval
and Perl are installed.
"""

import importlib
import importlib.metadata
import json
import random
import sys
from typing import Any

SEEDS = range(200)
LEVELS = (1, 2, 3)
CUTOFFS = (3, 20)

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def graded_problem(seed: int) -> tuple[Qrels, Run]:
    """Return two queries with documents of grades 0 to 4, and a run without ties."""
    rng = random.Random(seed)
    documents = [f"d{number}" for number in range(30)]
    qrels: Qrels = {}
    run: Run = {}
    for query in ("1", "2"):
        judged = rng.sample(documents, rng.randint(1, 20))
        grades = rng.choice([(0, 1), (0, 0, 1, 2, 3, 4), (0, 0, 0, 1, 2), (1, 2, 3)])
        qrels[query] = {name: rng.choice(grades) for name in judged}
        retrieved = rng.sample(documents, rng.randint(1, 25))
        run[query] = {name: float(len(retrieved) - place) for place, name in enumerate(retrieved)}
    return qrels, run


def names() -> list[str]:
    """Return the names in ir_measures of the measures that it computes here."""
    persistence = [f"RBP(p={p},rel={level})" for p in (0.5, 0.8) for level in LEVELS]
    return [*persistence, *(f"ERR@{k}" for k in CUTOFFS)]


def values_by_name() -> dict[str, list[float]]:
    """Return the value of each query of each problem, by the name of the measure."""
    ir_measures = importlib.import_module("ir_measures")
    measures = [ir_measures.parse_measure(name) for name in names()]
    values: dict[str, list[float]] = {name: [] for name in names()}
    for seed in SEEDS:
        qrels, run = graded_problem(seed)
        found: dict[Any, float] = {}
        for metric in ir_measures.iter_calc(measures, qrels, run):
            found[metric.measure, metric.query_id] = metric.value
        for name, measure in zip(names(), measures, strict=True):
            values[name] += [round(found.get((measure, query), 0.0), 12) for query in qrels]
    return values


def main() -> None:
    """Write the values, and the versions that computed them."""
    programs = ("ir_measures", "cwl-eval")
    versions = {name: importlib.metadata.version(name) for name in programs}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"versions": versions, "values": values_by_name()}, file)


if __name__ == "__main__":
    main()
