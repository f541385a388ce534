"""`xmleval compare`: differences of models on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from xmleval.api.compare import compare as compare_files
from xmleval.api.evaluate import evaluate
from xmleval.cli.files import FIGURE, FILE, PAGE, Scanning
from xmleval.cli.messages import on_terminal, spell_options
from xmleval.cli.options import (
    COMPARED,
    COMPLETE_LISTS,
    CONFIDENCE,
    GROUPING,
    RESULT,
    SWITCH,
    Opt,
    command,
    training_file,
)
from xmleval.cli.output import describe_run, write_figure, write_result, write_text
from xmleval.cli.patterns import name_models
from xmleval.cli.types import COUNT, Choice
from xmleval.metrics.spec import expand_metrics
from xmleval.results.differences import TESTS
from xmleval.show.tables import short_names

COMPARISON = {
    "baseline": Opt(str, "SCORES"),
    "test": Opt(Choice([*TESTS])),
    "confidence": CONFIDENCE["confidence"],
    "clusters": CONFIDENCE["clusters"],
    "seeds": Opt(
        None,
        None,
        "Each of SCORES is a pattern in quotes, or a folder, for the predictions of several "
        "training seeds: compare their means, and tell their standard deviation.",
        extra=SWITCH,
    ),
    "worst": Opt(COUNT, "N"),
    "complete_lists": COMPLETE_LISTS,
}
OUTPUTS = {
    **RESULT,
    "html": Opt(PAGE, None, "Also write a page with tables and figures."),
    "plot": Opt(FIGURE, None, "Also draw the figure, as .png, .svg or .pdf."),
}
SECTIONS = {"Comparison": COMPARISON, "Groups": GROUPING} | COMPARED | {"Output": OUTPUTS}
EXAMPLES = """\
xmleval compare Y.npz bert.npz tree.npz \\
    --train Y_train.npz --baseline tree.npz
xmleval compare Y.npz 'a_*.npz' 'b_*.npz' \\
    --seeds --metrics ndcg@5 --format latex
"""


@command(SECTIONS, compare_files, evaluate, examples=EXAMPLES)
@click.argument("truth", type=FILE)
@click.argument("scores", type=FILE, nargs=-1, required=True)
def compare(
    truth: Path,
    scores: tuple[Path, ...],
    baseline: str | None,
    output_format: str,
    output: Path | None,
    html: Path | None,
    plot: Path | None,
    scanning: Scanning,
    **options: Any,
) -> None:
    """Compare the predictions in two or more SCORES on the rows of TRUTH.

    Prints values, and for each pair of SCORES the differences with their intervals and p-values,
    and the rows that each wins. Intervals cover the sampling of test rows, not training seeds.
    Inputs are those of `xmleval evaluate` except --pred.
    """
    if len(scores) < 2:
        raise click.UsageError("compare takes two or more SCORES; `xmleval evaluate` is for one")
    models = name_models(truth, scores)
    expand_metrics(options["metrics"], options["k"])  # refuses a wrong name before any file is read
    if baseline is not None:
        baseline = find_baseline(baseline, [*models], scores)
    options["worst"] = options["worst"] or 0
    comparison = compare_files(
        scanning.truth(truth),
        scanning.models(models),
        baseline=baseline,
        progress=on_terminal(),
        **options,
    )
    if html is not None:
        about = describe_run([truth, *scores, training_file(options)])
        write_text(comparison.worded(spell_options).to_html(about=about), html)
    if plot is not None:
        write_figure(comparison.plot("differences"), plot)
    write_result(comparison, output_format, output)


def find_baseline(baseline: str, names: list[str], scores: tuple[Path, ...]) -> str:
    """Return the name of the model for --baseline, a path, a name or a short name as in tables."""
    for spellings in ([str(path) for path in scores], names, short_names(names)):
        if spellings.count(baseline) == 1:
            return names[spellings.index(baseline)]
    return baseline  # an unknown name, refused later
