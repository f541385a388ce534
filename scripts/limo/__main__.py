"""Command line of the experiments."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
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
OWNS = dict.fromkeys(SETS, OWN)
SETTINGS = """
LIMO: averaged weights, eta = 0.01, 10 epochs of instances times rounded label cardinality, instances and
labels drawn with weights R (l - R) and C (m - C), no intercept. LIMO-label: label-wise margins (pairs of
labels) only; LIMO-inst: instance-wise margins (pairs of instances) only. Both leave out the half of a step
whose lambda is 0; read literally, algorithm 1 takes that half step, which shrinks weights: this is the
variant `both halves`. Rules are fitted to scores of training instances: t(x) is a linear model of the row's
sorted scores, t_j is one threshold per label; both are tuned to Hamming loss where that is shown, otherwise
t(x) to F1 samples and t_j to F1 macro. Ties count half in AUC. Variants: 100 epochs; the last iterate instead
of the average; uniform sampling of instances, and of labels among theirs; a constant feature; both halves;
rules fitted to held-out scores (3-fold cross-validation). `best t_j` is tuned to the test data: no other t_j
can be better.
"""
BASELINES = """
Features are divided by their largest absolute training value. BR-SVM: a linear SVM with intercept per label,
squared hinge loss, C = 1. ML-kNN: k = 10, s = 1. GFM: sets of largest expected F1 from the sets of 10
neighbours; it has no scores. The own threshold of BR-SVM is 0, that of ML-kNN 0.5.
"""
HELD = """## Average ranks on measures of sets

Rules fitted to scores of training instances, as stated; to held-out scores of LIMO and BR-SVM (ML-kNN
leaves the instance out anyway); and, for LIMO only, to held-out scores, against the baselines'
own thresholds.

"""
PLANE = """The paper shows its regions as a picture only. Those here differ, and the outcome depends on
them: see other regions.

"""

OTHER_READINGS = f"""Other readings: the other rule; full credit for ties in AUC, as in the paper; ranking
loss over instances whose labels all have at least {RARE} training instances.

"""


def main(arguments: list[str] | None = None) -> int:
    """Run an experiment and write the results; return the exit code."""
    options = parse(arguments)
    try:
        import_optional("matplotlib", "a figure of the results", "plot")  # before hours of training
        options.output.mkdir(parents=True, exist_ok=True)
        run = run_synthetic if options.experiment == "synthetic" else run_benchmark
        for path in run(options):
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
        own = experiments.add_parser(name, help=about, description=about)
        own.add_argument("--output", type=Path, default=Path("limo"), help="folder for results (limo)")
        own.add_argument("--repetitions", type=int, default=10, help="random splits (10)")
        own.add_argument("--seed", type=int, default=0, help="random seed (0)")
        if module is benchmark:
            own.add_argument(
                "--variants", nargs="*", choices=VARIANTS, default=VARIANTS, metavar="NAME",
                help=f"variants of the settings: {', '.join(VARIANTS)} (all)",
            )  # fmt: skip
            data = os.environ.get("XMLEVAL_DATA")
            own.add_argument(
                "--data", type=Path, required=data is None, default=data and Path(data),
                help=f"folder with {', '.join(benchmark.DATA_SETS)}, each with X_train.npz, X_test.npz, "
                "Y_train.npz and Y_test.npz ($XMLEVAL_DATA)",
            )  # fmt: skip
    options = parser.parse_args(arguments)
    if options.repetitions < 1:
        parser.error("--repetitions: at least 1")
    return options


def run_synthetic(options: argparse.Namespace) -> list[Path]:
    """Run the experiment in the plane."""
    records = synthetic.run_synthetic(options.repetitions, options.seed)
    readings = [{m: rule if m in SETS else "" for m in MEASURES} for rule in (BY_ROW, BY_LABEL)]
    both = [select(records, reading=reading) for reading in readings]
    results = select(records)
    verdicts = judge(results)
    others = {name: synthetic.run_synthetic(options.repetitions, options.seed, name, ())
              for name in synthetic.REGIONS if name != synthetic.NAME}  # fmt: skip
    text = f"# LIMO on synthetic data\n\n{options.repetitions} repetitions, seed {options.seed}; "
    text += f"lambda = {synthetic.LAM:g}.{SETTINGS}\n{PLANE}"
    for shown, reading in zip(both, readings, strict=True):
        text += f"## Sets by {reading['f1.macro']}\n\n{values_table(shown, synthetic.NAME, reading)}\n"
    text += f"## Claims\n\n{CRITERIA}\n{verdicts_table(verdicts)}\n"
    text += regions_section({synthetic.NAME: records, **others})
    text += variants_section(records, [synthetic.NAME], VARIANTS)
    every = [*records, *(record for own in others.values() for record in own)]
    return [
        *write(options, every, text),
        draw_relative(
            options.output,
            [relative_values(shown, synthetic.NAME) for shown in both],
            [{m: title(m, reading[m]) for m in MEASURES} for reading in readings],
        ),
    ]


def run_benchmark(options: argparse.Namespace) -> list[Path]:
    """Run the experiment on real data."""
    start = time.monotonic()
    records: list[Record] = []
    for data, repetition, of_split in benchmark.run_benchmark(
        options.data, options.repetitions, options.seed, WORKERS, options.variants
    ):
        records += of_split
        print(f"{time.monotonic() - start:.0f} s: {data} {repetition + 1}", file=sys.stderr)
    results = select(records)
    verdicts, ranks = judge(results), average_ranks(results)
    text = f"# LIMO on real data\n\n{options.repetitions} random splits 70/30, seed {options.seed}; "
    text += f"lambda = 1.{SETTINGS}{BASELINES}\n## Average ranks\n\n{ranks_table(ranks)}\n"
    text += f"## Claims\n\n{CRITERIA}\n{verdicts_table(verdicts)}\n"
    if HELD_OUT in options.variants:
        text += sets_section(records)
    others = {name: BY_LABEL if READING[name] == BY_ROW else BY_ROW for name in SETS}
    others |= {name: FULL_TIES for name in MEASURES if name.startswith("auc")}
    others["ranking_loss"] = COMMON
    for data in benchmark.DATA_SETS:
        text += f"## {data}\n\n{values_table(results, data)}\n"
        text += OTHER_READINGS
        text += f"{values_table(select(records, reading={**READING, **others}), data, others)}\n"
        own = select(records, reading=OWNS)
        text += f"Own thresholds, and sets of GFM:\n\n{values_table(own, data, OWNS)}\n"
        if HELD_OUT in options.variants:
            held = {name: READING[name] for name in SETS}
            text += f"Held-out thresholds:\n\n{values_table(select(records, HELD_OUT), data, held)}\n"
    text += variants_section(records, benchmark.DATA_SETS, options.variants)
    return [
        *write(options, records, text),
        draw_ranks(options.output, ranks, {m: title(m, READING[m]) for m in MEASURES}),
    ]


def sets_section(records: list[Record]) -> str:
    """Return average ranks on measures of sets for fitted, held-out and own thresholds."""
    held = select(records, HELD_OUT)
    by_setting = {
        "as stated": select(records),
        "held out": held,
        "baselines' own": held | select(records, reading=OWNS),
    }
    return f"{HELD}{sets_table({name: average_ranks(own) for name, own in by_setting.items()})}\n"


def regions_section(by_regions: Mapping[str, list[Record]]) -> str:
    """Return the claims that hold for other regions, and the values."""
    results = {name: select(records) for name, records in by_regions.items()}
    text = "## Other regions\n\nHow far each quadrant extends past the axes, in width and height:\n\n"
    for name in results:
        text += f"- {name}: {', '.join(f'{a:g} and {b:g}' for a, b in synthetic.REGIONS[name])}\n"
    text += f"\n{variants_table({name: judge(own) for name, own in results.items()})}\n"
    for name, own in list(results.items())[1:]:
        text += f"{name}:\n\n{values_table(own, name)}\n"
    return text


def variants_section(records: list[Record], data_sets: Sequence[str], variants: Sequence[str]) -> str:
    """Return the claims that hold for variants, and the values of LIMO."""
    varied = {name: select(records, name) for name in ("", *variants)}
    text = "## Variants\n\n"
    text += f"{variants_table({name or 'as stated': judge(own) for name, own in varied.items()})}\n"
    peak = {**READING, "f1.macro": BEST}
    for data in data_sets:
        for name, own in varied.items():
            text += f"{data}, {name or 'as stated'}:\n\n{values_table(limo_only(own), data)}\n"
            best = limo_only(select(records, name, peak))
            text += f"{values_table(best, data, {'f1.macro': BEST})}\n"
    return text


def limo_only(results: Results) -> Results:
    """Return the values of LIMO with both margins and with one."""
    return {key: values for key, values in results.items() if key[1] in LEARNERS}


def write(options: argparse.Namespace, records: list[Record], text: str) -> list[Path]:
    """Write values and report."""
    folder, name = options.output, options.experiment
    contents = {f"{name}.csv": to_csv(records), f"{name}.md": text}
    for file, content in contents.items():
        (folder / file).write_text(content, encoding="utf-8")
    return [folder / file for file in contents]


if __name__ == "__main__":
    sys.exit(main())
