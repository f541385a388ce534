"""How often confidence intervals cover, on simulated data sets: python -m benchmarks.coverage --help.

Each data set is drawn from a large population, see `benchmarks.simulation`. An interval is for the expected
value of the measure with as many rows, which is the mean over the simulated data sets; whether it also covers
the value of the population is told beside.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.run import compact
from benchmarks.simulation import Population, Rows, make_population
from benchmarks.worker import ROOT
from xmleval import Report, evaluate

CONFIDENCE = 0.95
DECISION = "threshold0.5"
MEASURES = ["p@5", "psp@5", "ndcg@5", "f1.micro", "f1.macro", "f1.macro@5", "lrap", "auc.micro", "auc.macro"]
SIZES = (300, 3_000, 30_000)
CLUSTER_MEAN = 5


def measure_coverage(
    population: Population, n_rows: int, n_sets: int, grouped: bool = True
) -> list[dict[str, Any]]:
    """Return how often the intervals of each measure cover, and how wide they are."""
    reports = list[Report]()
    for number in range(n_sets):
        rows = population.draw(n_rows, np.random.default_rng([n_rows, number]))
        clusters = rows.cluster if grouped and population.clustered else None
        reports.append(evaluated(rows, population, confidence=CONFIDENCE, clusters=clusters))
    of_all = evaluated(population.rows, population)
    kind = {"rows": n_rows, "clusters": population.clustered, "groups": population.clustered and grouped}
    records = []
    for name in MEASURES:
        values = np.array([report[name] for report in reports])
        lower, upper = np.array([report.confidence[name] for report in reports]).T
        expected, errors = values.mean(), [report.standard_errors[name] for report in reports]
        numbers = {
            "expected": expected,
            "population": of_all[name],
            "covered": np.mean((lower <= expected) & (expected <= upper)),
            "covered_population": np.mean((lower <= of_all[name]) & (of_all[name] <= upper)),
            "width": np.mean(upper - lower),
            "error": np.mean(errors),
            "deviation": values.std(ddof=1),
        }
        record = {key: float(number) for key, number in numbers.items()}
        records.append({"measure": name, **kind, "sets": n_sets, **record})
    return records


def evaluated(rows: Rows, population: Population, **options: Any) -> Report:
    """Evaluate the model."""
    return evaluate(
        rows.truth, rows.scores, metrics=MEASURES, inverse_propensity=population.inverse_propensity,
        decision=DECISION, threads=1, **options,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Simulate, and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--sets", type=int, default=2000, help="simulated data sets of each size")
    parser.add_argument("--population", type=int, default=200_000, help="rows to draw from")
    parser.add_argument("--clusters", nargs="+", type=int, choices=(0, 1), default=[0, 1])
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "coverage.json")
    args = parser.parse_args(arguments)
    records = []
    for clustered in args.clusters:
        population = make_population(args.population, cluster_mean=CLUSTER_MEAN if clustered else 1)
        for n_rows in args.rows:
            for grouped in (True, False)[: 1 + clustered]:
                records += measure_coverage(population, n_rows, args.sets, grouped)
    args.output.write_text(compact({"coverage": records}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
