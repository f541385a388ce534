"""\
How often confidence intervals cover, on simulated data sets: python -m benchmarks.coverage --help.

Each data set is drawn from a large population, see `benchmarks.simulation`. An interval is for the
expected value of the measure with as many rows, which is the mean over the simulated data sets;
whether it also covers the value of the population is told beside.
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
MEASURES = [
    "p@5",
    "psp@5",
    "ndcg@5",
    "f1.micro",
    "f1.macro",
    "f1.macro@5",
    "lrap",
    "auc.micro",
    "auc.macro",
]
SIZES = (300, 3_000, 30_000)
CLUSTER_MEAN = 5


def measure_coverage(
    population: Population, n_rows: int, n_sets: int, grouped: bool = True
) -> list[dict[str, Any]]:
    """Return coverage and width of the intervals, a record for each measure."""
    has_groups = population.clustered and grouped
    reports = list[Report]()
    for number in range(n_sets):
        rows = population.draw(n_rows, np.random.default_rng([n_rows, number]))
        clusters = rows.cluster if has_groups else None
        reports.append(evaluate_model(rows, population, confidence=CONFIDENCE, clusters=clusters))
    population_report = evaluate_model(population.rows, population)
    setting = {"rows": n_rows, "clusters": population.clustered, "groups": has_groups}
    records = []
    for name in MEASURES:
        population_value = population_report[name]
        values = np.array([report[name] for report in reports])
        lower, upper = np.array([report.confidence[name] for report in reports]).T
        expected = values.mean()
        errors = [report.standard_errors[name] for report in reports]
        numbers = {
            "expected": expected,
            "population": population_value,
            "covered": np.mean((lower <= expected) & (expected <= upper)),
            "covered_population": np.mean(
                (lower <= population_value) & (population_value <= upper)
            ),
            "width": np.mean(upper - lower),
            "error": np.mean(errors),
            "deviation": values.std(ddof=1),
        }
        record = {key: float(number) for key, number in numbers.items()}
        records.append({"measure": name, **setting, "sets": n_sets, **record})
    return records


def evaluate_model(rows: Rows, population: Population, **options: Any) -> Report:
    """Evaluate the scores of the model on some rows."""
    return evaluate(
        rows.truth,
        rows.scores,
        metrics=MEASURES,
        inverse_propensity=population.inverse_propensity,
        decision=DECISION,
        threads=1,
        **options,
    )


def main(arguments: list[str] | None = None) -> int:
    """Simulate data sets and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--sets", type=int, default=2000, help="simulated data sets of each size")
    parser.add_argument("--population", type=int, default=200_000, help="rows to draw from")
    parser.add_argument("--clusters", nargs="+", type=int, choices=(0, 1), default=[0, 1])
    parser.add_argument(
        "--output", type=Path, default=ROOT / "benchmarks" / "results" / "coverage.json"
    )
    args = parser.parse_args(arguments)
    records = []
    for clustered in args.clusters:
        cluster_mean = CLUSTER_MEAN if clustered else 1
        population = make_population(args.population, cluster_mean=cluster_mean)
        groupings = (True, False) if clustered else (True,)
        for n_rows in args.rows:
            for grouped in groupings:
                records += measure_coverage(population, n_rows, args.sets, grouped)
    args.output.write_text(compact({"coverage": records}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
