"""How often confidence intervals cover, on simulated data sets: python -m benchmarks.coverage --help.

Each data set is drawn from a large population, see `benchmarks.simulation`. An interval is for the expected
value of the measure with as many rows, which is the mean over the simulated data sets; whether it also covers
the value of the population is told beside. Other parts: groups varies how many groups the jackknife leaves
out, shares covers shares of rows near 1, p_values tests whether p-values are uniform where two models do not
differ, and bootstrap sets intervals of a model on bibtex, in the folder XMLEVAL_DATA, beside those of
resampled rows. Results are added to those of earlier runs, in results/coverage.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from benchmarks.bootstrap import compare_intervals, data_folder, read_bibtex
from benchmarks.p_values import measure_p_values
from benchmarks.run import compact
from benchmarks.simulation import Population, Rows, make_population
from xmleval import Report, evaluate
from xmleval.jackknife import Estimate, estimate
from xmleval.kernels.folds import find_folds

ROOT = Path(__file__).parents[1]
CONFIDENCE = 0.95
DECISION = "threshold0.5"
MEASURES = ["p@5", "psp@5", "ndcg@5", "f1.micro", "f1.macro", "f1.macro@5", "lrap", "auc.micro", "auc.macro"]
SIZES = (300, 3_000, 30_000)
CLUSTER_MEAN = 5
KEYS = ("measure", "rows", "clusters", "groups")  # of a record
GROUPS = (8, 16, 32, 64)
SHARES = (0.5, 0.9, 0.95, 0.98, 0.99)
PARTS = ("coverage", "groups", "shares", "p_values", "bootstrap")


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


def measure_groups(
    population: Population, n_rows: int, n_sets: int, metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """Return coverage and width by number of groups, each left out by evaluating the other rows."""
    values: dict[str, list[float]] = {name: [] for name in metrics}
    bounds: dict[tuple[int, str], list[tuple[float, float]]] = {
        (g, name): [] for g in GROUPS for name in metrics
    }
    for number in range(n_sets):
        random = np.random.default_rng([n_rows, number])
        drawn = population.draw(n_rows, random)
        whole = evaluated(drawn, metrics, population)
        fold = random.integers(max(GROUPS), size=n_rows)
        for name in metrics:
            values[name].append(whole[name])
        for n_groups in GROUPS:
            kept = (np.flatnonzero(fold % n_groups != left_out) for left_out in range(n_groups))
            parts = [evaluated(drawn.take(rows, rows), metrics, population) for rows in kept]
            for name in metrics:
                own = estimate(whole[name], np.array([part[name] for part in parts]), CONFIDENCE, 0.0, 1.0)
                assert own is not None
                bounds[n_groups, name].append((own.lower, own.upper))
    records = []
    for (n_groups, name), pairs in bounds.items():
        lower, upper = np.array(pairs).T
        expected, width = np.mean(values[name]), upper - lower
        records.append(
            {"measure": name, "rows": n_rows, "n_groups": n_groups, "sets": n_sets}
            | {"covered": float(np.mean((lower <= expected) & (expected <= upper)))}
            | {"width": float(width.mean()), "spread": float(width.std() / width.mean())}
        )
    return records


def measure_shares(n_rows: int, n_sets: int) -> list[dict[str, Any]]:
    """Return coverage of shares of rows near 1, also by intervals of their logits."""
    fold = np.empty(n_rows, np.uint8)
    find_folds(np.arange(fold.size), fold)
    sizes = np.bincount(fold)
    records = []
    for share in SHARES:
        random = np.random.default_rng(n_rows)
        bounds, of_logits = [], []
        for _ in range(n_sets):
            hit = random.random(n_rows) < share
            without = (hit.sum() - np.bincount(fold, hit)) / (n_rows - sizes)
            own = estimate(hit.mean(), without, CONFIDENCE, 0.0, 1.0)
            assert own is not None
            bounds.append((own.lower, own.upper))
            of_logits.append(logit_interval(hit.mean(), own) if 0 < hit.mean() < 1 else bounds[-1])
        (lower, upper), logits = np.array(bounds).T, np.array(of_logits).T
        records.append(
            {"share": share, "rows": n_rows, "sets": n_sets}
            | {"covered": float(np.mean((lower <= share) & (share <= upper)))}
            | {"covered_logit": float(np.mean((logits[0] <= share) & (share <= logits[1])))}
            | {"empty": float(np.mean(lower == upper))}
        )
    return records


def logit_interval(value: float, own: Estimate) -> tuple[float, float]:
    """Return the interval whose ends are equally far from the value on the scale of logits."""
    half = own.half_width / (value * (1 - value))
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


def main(arguments: list[str] | None = None) -> int:
    """Simulate, and add the results to those of earlier runs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--measures", nargs="+", default=MEASURES)
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--sets", type=int, default=2000, help="simulated data sets of each size")
    parser.add_argument("--draws", type=int, default=1000, help="for p-values and numbers of groups")
    parser.add_argument("--samples", type=int, default=10_000, help="of the bootstrap")
    parser.add_argument("--population", type=int, default=200_000, help="rows to draw from")
    parser.add_argument("--clusters", nargs="+", type=int, choices=(0, 1), default=[0, 1])
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "coverage.json")
    args = parser.parse_args(arguments)
    if "bootstrap" in args.parts:
        records = compare_intervals(read_bibtex(data_folder()), args.samples)
        add_records(args.output, "bootstrap", records, ("measure",))
    if "shares" in args.parts:
        for n_rows in args.rows:
            add_records(args.output, "shares", measure_shares(n_rows, args.sets), ("share", "rows"))
    for clustered in args.clusters if {*args.parts} - {"bootstrap", "shares"} else []:
        population = make_population(args.population, cluster_mean=CLUSTER_MEAN if clustered else 1)
        for n_rows in args.rows:
            if "coverage" in args.parts:
                for grouped in (True, False)[: 1 + clustered]:
                    records = measure_coverage(population, n_rows, args.sets, args.measures, grouped)
                    add_records(args.output, "coverage", records, KEYS)
            if "groups" in args.parts and not clustered:
                records = measure_groups(population, n_rows, args.draws, args.measures)
                add_records(args.output, "groups", records, ("measure", "rows", "n_groups"))
            if "p_values" in args.parts:
                records = measure_p_values(population, n_rows, args.draws, args.measures)
                add_records(args.output, "p_values", records, ("measure", "test", "rows", "clusters"))
    return 0


def add_records(path: Path, part: str, records: list[dict[str, Any]], keys: Sequence[str]) -> None:
    """Write records in place of those with the same keys."""
    found = json.loads(path.read_text()) if path.is_file() else {}
    known = {tuple(record[key] for key in keys): record for record in found.get(part, [])}
    known |= {tuple(record[key] for key in keys): record for record in records}
    path.write_text(compact(found | {part: [*known.values()]}))


if __name__ == "__main__":
    sys.exit(main())
