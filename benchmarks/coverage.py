"""How often confidence intervals cover, on simulated data sets: python -m benchmarks.coverage --help.

Each data set is drawn from a large population, see `benchmarks.simulation`. An interval is for the expected
value of the measure with as many rows, which is the mean over the simulated data sets; whether it also covers
the value of the population is told beside.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.run import compact
from benchmarks.simulation import Population, Rows, make_population
from xmleval import Report, evaluate

ROOT = Path(__file__).parents[1]
CONFIDENCE = 0.95
DECISION = "threshold0.5"
MEASURES = ["p@5", "psp@5", "ndcg@5", "f1.micro", "f1.macro", "f1.macro@5", "lrap", "auc.micro", "auc.macro"]
SIZES = (300, 3_000, 30_000)
CLUSTER_MEAN = 5


def reports_of(
    population: Population, n_rows: int, n_sets: int, metrics: Sequence[str], grouped: bool = True
) -> Iterator[Report]:
    """Evaluate simulated data sets of one size, which do not depend on the measures."""
    for number in range(n_sets):
        drawn = population.draw(n_rows, np.random.default_rng([n_rows, number]))
        clusters = drawn.cluster if grouped and population.clustered else None
        yield evaluated(drawn, metrics, population, confidence=CONFIDENCE, clusters=clusters)


def evaluated(rows: Rows, metrics: Sequence[str], population: Population, **more: Any) -> Report:
    """Evaluate the first model."""
    return evaluate(
        rows.truth, rows.models[0], metrics=metrics, inverse_propensity=population.inverse_propensity,
        decision=DECISION, threads=1, **more,
    )  # fmt: skip


def measure_coverage(
    population: Population, n_rows: int, n_sets: int, metrics: Sequence[str], grouped: bool = True
) -> list[dict[str, Any]]:
    """Return how often the intervals of each measure cover, and why they do or do not."""
    values: dict[str, list[float]] = {name: [] for name in metrics}
    bounds: dict[str, list[tuple[float, float]]] = {name: [] for name in metrics}
    errors: dict[str, list[float]] = {name: [] for name in metrics}
    for report in reports_of(population, n_rows, n_sets, metrics, grouped):
        for name in metrics:
            values[name].append(report[name])
            bounds[name].append(report.confidence[name])
            errors[name].append(report.standard_errors[name])
    of_all = evaluated(population.rows, metrics, population)
    kind = {"clusters": population.clustered, "groups": population.clustered and grouped}
    return [
        {"measure": name, "rows": n_rows}
        | kind
        | summary(values[name], bounds[name], errors[name], of_all[name])
        for name in metrics
    ]


def summary(
    values: Sequence[float], bounds: Sequence[tuple[float, float]], errors: Sequence[float], of_all: float
) -> dict[str, Any]:
    """Count the intervals that cover the mean of the values, and the value of the population."""
    found, (lower, upper) = np.asarray(values), np.asarray(bounds).T
    expected = found.mean()
    return {
        "sets": found.size,
        "expected": float(expected),
        "population": of_all,
        "covered": float(np.mean((lower <= expected) & (expected <= upper))),
        "above": float(np.mean(lower > expected)),  # the whole interval
        "below": float(np.mean(upper < expected)),
        "covered_population": float(np.mean((lower <= of_all) & (of_all <= upper))),
        "width": float(np.mean(upper - lower)),
        "error": float(np.mean(errors)),
        "deviation": float(found.std(ddof=1)),
    }


def main(arguments: list[str] | None = None) -> int:
    """Simulate, and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measures", nargs="+", default=MEASURES)
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
                records += measure_coverage(population, n_rows, args.sets, args.measures, grouped)
    args.output.write_text(compact({"coverage": records}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
