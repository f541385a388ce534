"""`xmleval compare`: differences of models on the same rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from xmleval.budget import Budget, memory_bytes
from xmleval.cli.changes import changes_of, label_names
from xmleval.cli.evaluate import evaluate, refuse_conflicts
from xmleval.cli.evaluation import count, prepare
from xmleval.cli.figures import HTML, PLOT, about, check_figure, check_page, write_figure
from xmleval.cli.forms import written
from xmleval.cli.help import Choice, Sectioned
from xmleval.cli.messages import naming_files
from xmleval.cli.options import COUNT, FILE, NUMBER
from xmleval.cli.output import write_result
from xmleval.cli.patterns import hinting, refuse_expanded
from xmleval.comparing.differences import JACKKNIFE, TESTS, check_test
from xmleval.files.remote import as_path
from xmleval.groups import check_row_groups
from xmleval.input.shards import find_input
from xmleval.message import did_you_mean
from xmleval.report.changes import refuse_no_labels
from xmleval.report.compared import Compared
from xmleval.report.report import Report
from xmleval.report.tables import short_names
from xmleval.spec import Spec, expand_metrics

SHARED = {
    "Inputs": "train exclude exclude_from candidates labels input_format true_field pred_field score_field"
    " id_field separator",
    "Measures": "metrics k gains unlisted link higher_is_better conventions decision inverse_propensity"
    " dataset a b hierarchy",
}
SECTIONS = {
    "Comparison": "baseline test confidence clusters seeds worst",
    "Groups": "label_groups row_groups",
    **SHARED,
    "Output": "output_format output html plot",
    "Resources": "memory threads help",
}
OF_EVALUATE = {name for names in SECTIONS.values() for name in names.split()}
CONFIDENCE = click.option(
    "--confidence",
    type=NUMBER,
    default=0.95,
    show_default=True,
    metavar="LEVEL",
    help="Probability that an interval covers; differences are significant below 1 - LEVEL.",
)
EXAMPLES = """Examples:

\b
  xmleval compare Y.npz bert.npz tree.npz \\
      --train Y_train.npz --baseline tree.npz
  xmleval compare Y.npz 'a_*.npz' 'b_*.npz' \\
      --seeds --metrics ndcg@5 --format latex
"""


def options_of_evaluate(*left_out: str, also: Collection[str] = ()) -> list[click.Parameter]:
    """Return the options of `evaluate` that tell inputs, measures, output and resources, and others."""
    return [one for one in evaluate.params if one.name in (OF_EVALUATE - {*left_out}) | {*also}]


@click.command(cls=Sectioned, sections=SECTIONS, epilog=EXAMPLES, params=options_of_evaluate("confidence"))
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1, required=True)
@click.option("--baseline", metavar="SCORES", help="Compare each other one with this one; default all pairs.")
@click.option(
    "--test",
    type=Choice([*TESTS]),
    metavar="TEST",
    default=JACKKNIFE,
    show_default=True,
    help=f"{'; '.join(f'{name}: {title}' for name, title in TESTS.items())}. All but t are for means over "
    "rows alone. p-values are corrected by Holm's method for all measures, pairs and groups together.",
)
@CONFIDENCE
@click.option(
    "--seeds",
    is_flag=True,
    help="Each of SCORES is a pattern in quotes, or a folder, for the predictions of several training seeds: "
    "compare their means, and tell their standard deviation.",
)
@click.option(
    "--worst",
    type=COUNT,
    metavar="N",
    help="Also name N labels that differ most between each pair, by the first measure that has values by "
    "label, or hits at its cutoff.",
)
@HTML
@PLOT
def compare(
    truth: Path,
    scores: tuple[Path, ...],
    baseline: str | None,
    test: str,
    seeds: bool,
    worst: int | None,
    html: Path | None,
    plot: Path | None,
    **options: Any,
) -> None:
    """Compare the predictions in two or more SCORES on the rows of TRUTH.

    Prints values, and for each pair of SCORES the differences with their intervals and p-values, and the
    rows that each wins. Intervals cover the sampling of test rows, not training seeds. Inputs are those of
    `xmleval evaluate` except --pred and --ranked.
    """
    refuse_conflicts(options)
    with naming_files({"test": "--test"}):
        check_test(test, False, options["clusters"])
    if len(scores) < 2:
        said = "compare takes two or more SCORES; `xmleval evaluate` is for one"
        raise click.UsageError(said, click.get_current_context())
    check_page(html)
    check_figure(plot)
    given = [str(path) for path in (truth, *scores)]
    refuse_expanded(given)
    asked = expand_metrics(options["metrics"], options["k"])
    refuse_measures_of_truth([spec for spec, _ in asked])
    more: dict[str, Any] = {"per_row": True, "html": html, "plot": plot, "labels_shown": html is not None}
    if worst:
        with naming_files({"worst": "--worst"}):
            refuse_no_labels("worst", [spec for spec, _ in asked])
        more |= {"per_label": True, "labels_shown": True}
    files = [_files_of_seeds(path, options) if seeds else [path] for path in scores]
    if seeds and max(map(len, files)) == 1:
        said = f"--seeds: {scores[0]} stands for one input; expected patterns in quotes, such as 'a_*'"
        raise ValueError(f"{said}, for those of several seeds")
    with hinting(given):
        run = prepare(truth, [path for own in files for path in own], options | more)
        reports = dict(zip(run.names, count(run), strict=True))
    names = [str(path) if seeds else run.names[n] for n, path in enumerate(scores)]
    if seeds and len({as_path(name).name for name in names}) == len(names):
        names = [as_path(name).name for name in names]
    own_baseline = None if baseline is None else _found(baseline, names, scores)

    of_rows = {argument: names for argument, (_, names) in run.rows.of_rows.items()}
    row_groups = of_rows.get("row_groups")
    clusters = None if options["clusters"] is None else of_rows["clusters"]  # else names of rows may be there
    numbers = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    of = None if row_groups is None else check_row_groups(row_groups, len(row_groups))

    known = label_names(run, options["labels"], reports) if worst else None

    def together(found: dict[str, Report]) -> Compared:
        several = iter(found.values())
        models = {name: [next(several) for _ in own] for name, own in zip(names, files, strict=True)}
        compared = Compared(
            models, baseline=own_baseline, test=test, clusters=numbers, row_groups=of, worst=worst or 0,
            label_names=known,
        )  # fmt: skip
        if html is not None:
            compared.changes = None if seeds else changes_of(run, compared, options["labels"])
            write_result(compared.to_html(about=about(run.files)), html)
        if plot is not None:
            write_figure(compared.plot("differences"), plot)
        return compared

    text = written(reports, options["output_format"], options["output"], together)
    write_result(text, options["output"])


def refuse_measures_of_truth(specs: Sequence[Spec]) -> None:
    """Refuse measures none of which depends on the models that are compared."""
    if not any(spec.needs for spec in specs):
        raise ValueError(f"--metrics: none of {', '.join(map(str, specs))} depends on SCORES")


def _files_of_seeds(path: Path, options: dict[str, Any]) -> list[Path]:
    with naming_files({"memory": "--memory"}):
        allowance = Budget(memory_bytes("memory", options["memory"])).allowance()
    found = find_input(path, "scores", options["input_format"], allowance)
    return [shard.path for shard in found.shards]


def _found(baseline: str, names: list[str], scores: tuple[Path, ...]) -> str:
    """Return the name of the model that --baseline tells by its path, its name or what tables call it."""
    for known in ([str(path) for path in scores], names, short_names(names)):
        if known.count(baseline) == 1:
            return names[known.index(baseline)]
    near = did_you_mean(baseline, names)
    raise ValueError(f"--baseline {baseline}: is none of SCORES: {', '.join(names)}{near and f'; {near}'}")
