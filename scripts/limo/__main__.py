"""Command line of the experiments."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from scripts.limo import benchmark, synthetic
from scripts.limo.claims import CRITERIA, average_ranks, judge
from scripts.limo.evaluation import RARE
from scripts.limo.figures import draw_ranks, draw_relative
from scripts.limo.records import (
    BEST,
    BY_LABEL,
    BY_ROW,
    COMMON,
    FULL_TIES,
    MEASURES,
    OWN,
    READING,
    SETS,
    Record,
    Results,
    select,
    title,
    to_csv,
)
from scripts.limo.tables import (
    ranks_table,
    relative_values,
    sets_table,
    values_table,
    variants_table,
    verdicts_table,
)
from scripts.limo.variants import HELD_OUT, LEARNERS, VARIANTS
from xmleval.base.errors import import_optional

WORKERS = 2
OWN_THRESHOLDS = dict.fromkeys(SETS, OWN)
SETTINGS = (
    "\n"
    "LIMO: averaged weights, eta = 0.01, 10 epochs of instances times rounded label cardinality, "
    "instances and\nlabels drawn with weights R (l - R) and C (m - C), no intercept. "
    "LIMO-label: label-wise margins (pairs of\nlabels) only; "
    "LIMO-inst: instance-wise margins (pairs of instances) only. "
    "Both leave out the half of a step\nwhose lambda is 0; read literally, algorithm 1 takes that "
    "half step, which shrinks weights: this is the\nvariant `both halves`. "
    "Rules are fitted to scores of training instances: t(x) is a linear model of the row's\n"
    "sorted scores, t_j is one threshold per label; both are tuned to Hamming loss where that is "
    "shown, otherwise\nt(x) to F1 samples and t_j to F1 macro. "
    "Ties count half in AUC. "
    "Variants: 100 epochs; the last iterate instead\nof the average; uniform sampling of "
    "instances, and of labels among theirs; a constant feature; both halves;\nrules fitted to "
    "held-out scores (3-fold cross-validation). "
    "`best t_j` is tuned to the test data: no other t_j\ncan be better.\n"
)
BASELINES = (
    "\n"
    "Features are divided by their largest absolute training value. "
    "BR-SVM: a linear SVM with intercept per label,\nsquared hinge loss, C = 1. "
    "ML-kNN: k = 10, s = 1. "
    "GFM: sets of largest expected F1 from the sets of 10\nneighbours; it has no scores. "
    "The own threshold of BR-SVM is 0, that of ML-kNN 0.5.\n"
)
SETS_INTRODUCTION = (
    "## Average ranks on measures of sets\n\n"
    "Rules fitted to scores of training instances, as stated; to held-out scores of LIMO and "
    "BR-SVM (ML-kNN\nleaves the instance out anyway); and, for LIMO only, to held-out scores, "
    "against the baselines'\nown thresholds.\n\n"
)
PLANE_INTRODUCTION = (
    "The paper shows its regions as a picture only. "
    "Those here differ, and the outcome depends on\nthem: see other regions.\n\n"
)
OTHER_READINGS = (
    "Other readings: the other rule; full credit for ties in AUC, as in the paper; ranking\n"
    f"loss over instances whose labels all have at least {RARE} training instances.\n\n"
)


def main(arguments: list[str] | None = None) -> int:
    """Run an experiment and write the results; return the exit code."""
    options = parse(arguments)
    try:
        import_optional("matplotlib", "a figure of the results", "plot")  # before hours of training
        options.output.mkdir(parents=True, exist_ok=True)
        if options.experiment == "synthetic":
            paths = run_synthetic(options)
        else:
            paths = run_benchmark(options)
        for path in paths:
            print(path)
    except (ImportError, OSError, ValueError, ArithmeticError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(prog="python -m scripts.limo", description=benchmark.__doc__)
    experiments = parser.add_subparsers(dest="experiment", required=True)
    for name, module in (("synthetic", synthetic), ("benchmark", benchmark)):
        about = str(module.__doc__)
        experiment = experiments.add_parser(name, help=about, description=about)
        experiment.add_argument(
            "--output", type=Path, default=Path("limo"), help="folder for results (limo)"
        )
        experiment.add_argument("--repetitions", type=int, default=10, help="random splits (10)")
        experiment.add_argument("--seed", type=int, default=0, help="random seed (0)")
        if module is benchmark:
            add_benchmark_options(experiment)
    options = parser.parse_args(arguments)
    if options.repetitions < 1:
        parser.error("--repetitions: at least 1")
    return options


def add_benchmark_options(experiment: argparse.ArgumentParser) -> None:
    """Add the options that only the experiment on real data has."""
    experiment.add_argument(
        "--variants",
        nargs="*",
        choices=VARIANTS,
        default=VARIANTS,
        metavar="NAME",
        help=f"variants of the settings: {', '.join(VARIANTS)} (all)",
    )
    data = os.environ.get("XMLEVAL_DATA")
    experiment.add_argument(
        "--data",
        type=Path,
        required=data is None,
        default=data and Path(data),
        help=(
            f"folder with {', '.join(benchmark.DATA_SETS)}, "
            "each with X_train.npz, X_test.npz, Y_train.npz and Y_test.npz ($XMLEVAL_DATA)"
        ),
    )


def run_synthetic(options: argparse.Namespace) -> list[Path]:
    """Run the experiment in the plane."""
    records = synthetic.run_synthetic(options.repetitions, options.seed)
    readings = [reading_by_rule(rule) for rule in (BY_ROW, BY_LABEL)]
    results_by_rule = [select(records, reading=reading) for reading in readings]
    verdicts = judge(select(records))
    by_regions = {synthetic.NAME: records}
    for name in synthetic.REGIONS:
        if name != synthetic.NAME:
            by_regions[name] = synthetic.run_synthetic(options.repetitions, options.seed, name, ())
    text = f"# LIMO on synthetic data\n\n{options.repetitions} repetitions, seed {options.seed}; "
    text += f"lambda = {synthetic.LAM:g}.{SETTINGS}\n{PLANE_INTRODUCTION}"
    for results, reading in zip(results_by_rule, readings, strict=True):
        values = values_table(results, synthetic.NAME, reading)
        text += f"## Sets by {reading['f1.macro']}\n\n{values}\n"
    text += f"## Claims\n\n{CRITERIA}\n{verdicts_table(verdicts)}\n"
    text += regions_section(by_regions)
    text += variants_section(records, [synthetic.NAME], VARIANTS)
    all_records = list(chain.from_iterable(by_regions.values()))
    paths = write(options, all_records, text)
    relative = [relative_values(results, synthetic.NAME) for results in results_by_rule]
    titles = [titles_of(reading) for reading in readings]
    return [*paths, draw_relative(options.output, relative, titles)]


def reading_by_rule(rule: str) -> dict[str, str]:
    """Return the reading of measures that takes one rule for all measures of sets."""
    return {name: rule if name in SETS else "" for name in MEASURES}


def titles_of(reading: Mapping[str, str]) -> dict[str, str]:
    """Return the printed names of all measures."""
    return {name: title(name, reading[name]) for name in MEASURES}


def run_benchmark(options: argparse.Namespace) -> list[Path]:
    """Run the experiment on real data."""
    start = time.monotonic()
    records: list[Record] = []
    splits = benchmark.run_benchmark(
        options.data, options.repetitions, options.seed, WORKERS, options.variants
    )
    for data, repetition, split_records in splits:
        records += split_records
        print(f"{time.monotonic() - start:.0f} s: {data} {repetition + 1}", file=sys.stderr)
    results = select(records)
    verdicts = judge(results)
    ranks = average_ranks(results)
    text = (
        f"# LIMO on real data\n\n{options.repetitions} random splits 70/30, seed {options.seed}; "
    )
    text += f"lambda = 1.{SETTINGS}{BASELINES}\n## Average ranks\n\n{ranks_table(ranks)}\n"
    text += f"## Claims\n\n{CRITERIA}\n{verdicts_table(verdicts)}\n"
    if HELD_OUT in options.variants:
        text += sets_section(records)
    for data in benchmark.DATA_SETS:
        text += data_section(records, data, HELD_OUT in options.variants)
    text += variants_section(records, benchmark.DATA_SETS, options.variants)
    paths = write(options, records, text)
    return [*paths, draw_ranks(options.output, ranks, titles_of(READING))]


def data_section(records: list[Record], data: str, has_held_out: bool) -> str:
    """Return the values on one data set, also under other readings and thresholds."""
    text = f"## {data}\n\n{values_table(select(records), data)}\n"
    other = other_readings()
    results = select(records, reading={**READING, **other})
    text += f"{OTHER_READINGS}{values_table(results, data, other)}\n"
    results = select(records, reading=OWN_THRESHOLDS)
    values = values_table(results, data, OWN_THRESHOLDS)
    text += f"Own thresholds, and sets of GFM:\n\n{values}\n"
    if has_held_out:
        set_reading = {name: READING[name] for name in SETS}
        values = values_table(select(records, HELD_OUT), data, set_reading)
        text += f"Held-out thresholds:\n\n{values}\n"
    return text


def other_readings() -> dict[str, str]:
    """Return other readings of the measures that have several."""
    readings = {}
    for name in SETS:
        by_row = READING[name] == BY_ROW
        readings[name] = BY_LABEL if by_row else BY_ROW
    for name in MEASURES:
        if name.startswith("auc"):
            readings[name] = FULL_TIES
    readings["ranking_loss"] = COMMON
    return readings


def sets_section(records: list[Record]) -> str:
    """Return average ranks on measures of sets for three kinds of thresholds.

    They are fitted to training scores, fitted to held-out scores, or those of the baselines.
    """
    held_out = select(records, HELD_OUT)
    by_setting = {
        "as stated": select(records),
        "held out": held_out,
        "baselines' own": held_out | select(records, reading=OWN_THRESHOLDS),
    }
    ranks = {name: average_ranks(results) for name, results in by_setting.items()}
    return f"{SETS_INTRODUCTION}{sets_table(ranks)}\n"


def regions_section(by_regions: Mapping[str, list[Record]]) -> str:
    """Return the verdicts on the claims by regions, and the values for other regions."""
    results_by_regions = {name: select(records) for name, records in by_regions.items()}
    text = (
        "## Other regions\n\nHow far each quadrant extends past the axes, in width and height:\n\n"
    )
    for name in results_by_regions:
        sizes = [f"{width:g} and {height:g}" for width, height in synthetic.REGIONS[name]]
        text += f"- {name}: {', '.join(sizes)}\n"
    verdicts = {name: judge(results) for name, results in results_by_regions.items()}
    text += f"\n{variants_table(verdicts)}\n"
    for name, results in list(results_by_regions.items())[1:]:
        text += f"{name}:\n\n{values_table(results, name)}\n"
    return text


def variants_section(
    records: list[Record], data_sets: Sequence[str], variants: Sequence[str]
) -> str:
    """Return the verdicts on the claims by variant, and the values of LIMO."""
    results_by_variant = {name: select(records, name) for name in ("", *variants)}
    verdicts = {name or "as stated": judge(results) for name, results in results_by_variant.items()}
    text = f"## Variants\n\n{variants_table(verdicts)}\n"
    best_reading = {"f1.macro": BEST}
    for data in data_sets:
        for name, results in results_by_variant.items():
            values = values_table(limo_only(results), data)
            text += f"{data}, {name or 'as stated'}:\n\n{values}\n"
            best_results = select(records, name, {**READING, **best_reading})
            text += f"{values_table(limo_only(best_results), data, best_reading)}\n"
    return text


def limo_only(results: Results) -> Results:
    """Return the values of LIMO with both margins and with one."""
    return {key: values for key, values in results.items() if key[1] in LEARNERS}


def write(options: argparse.Namespace, records: list[Record], text: str) -> list[Path]:
    """Write values and report."""
    folder = options.output
    name = options.experiment
    contents = {f"{name}.csv": to_csv(records), f"{name}.md": text}
    for file, content in contents.items():
        (folder / file).write_text(content, encoding="utf-8")
    return [folder / file for file in contents]


if __name__ == "__main__":
    sys.exit(main())
