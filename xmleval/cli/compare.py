"""`xmleval compare`: differences of models on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from xmleval.api.compare import compare as compare_files
from xmleval.api.evaluate import evaluate
from xmleval.cli.figures import HTML, PLOT, about, check_figure, check_page, write_figure
from xmleval.cli.forms import WRITERS, in_form, in_options
from xmleval.cli.help import Choice
from xmleval.cli.messages import on_terminal
from xmleval.cli.options import (
    CONFIDENCE,
    COUNT,
    FILE,
    GROUPING,
    INPUTS,
    MEASURES,
    OUTPUT,
    RESOURCES,
    SETS,
    SWITCH,
    Opt,
    command,
    format_option,
)
from xmleval.cli.output import check_outputs, write_result
from xmleval.cli.patterns import hinting, models_of
from xmleval.comparing.differences import TESTS
from xmleval.errors import did_you_mean
from xmleval.report.tables import short_names
from xmleval.spec import expand_metrics

OF_MEASURES = {name: opt for name, opt in MEASURES.items() if name != "bounds"} | {
    "decision": SETS["decision"]
}
COMPARISON = {
    "baseline": Opt(str, "SCORES"),
    "test": Opt(
        Choice([*TESTS]), "TEST",
        f"{'; '.join(f'{name}: {title}' for name, title in TESTS.items())}. All but t are for means over "
        "rows alone. p-values are corrected by Holm's method for all measures, pairs and groups together.",
    ),
    "confidence": CONFIDENCE["confidence"],
    "clusters": CONFIDENCE["clusters"],
    "seeds": Opt(
        None, None,
        "Each of SCORES is a pattern in quotes, or a folder, for the predictions of several training seeds: "
        "compare their means, and tell their standard deviation.",
        more=SWITCH,
    ),
    "worst": Opt(COUNT, "N"),
}  # fmt: skip
SECTIONS: dict[str, dict[str, Any]] = {
    "Comparison": COMPARISON,
    "Groups": GROUPING,
    "Inputs": INPUTS,
    "Measures": OF_MEASURES,
    "Output": {"output_format": format_option([*WRITERS]), "output": OUTPUT, "html": HTML, "plot": PLOT},
    "Resources": RESOURCES,
}
EXAMPLES = """Examples:

\b
  xmleval compare Y.npz bert.npz tree.npz \\
      --train Y_train.npz --baseline tree.npz
  xmleval compare Y.npz 'a_*.npz' 'b_*.npz' \\
      --seeds --metrics ndcg@5 --format latex
"""


@command(SECTIONS, compare_files, evaluate, epilog=EXAMPLES)
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
    **options: Any,
) -> None:
    """Compare the predictions in two or more SCORES on the rows of TRUTH.

    Prints values, and for each pair of SCORES the differences with their intervals and p-values, and the
    rows that each wins. Intervals cover the sampling of test rows, not training seeds. Inputs are those of
    `xmleval evaluate` except --pred and --ranked.
    """
    if len(scores) < 2:
        said = "compare takes two or more SCORES; `xmleval evaluate` is for one"
        raise click.UsageError(said, click.get_current_context())
    check_page(html)
    check_figure(plot)
    models = models_of(truth, scores)
    expand_metrics(options["metrics"], options["k"])  # a wrong name is told before any file is read
    check_outputs([output, html, plot], [truth, *scores, *options.values()], (), options["input_format"])
    own_baseline = None if baseline is None else _found(baseline, [*models], scores)
    options["worst"] = options["worst"] or 0
    with hinting(truth):
        compared = compare_files(models, truth, baseline=own_baseline, progress=on_terminal(), **options)
    if html is not None:
        write_result(in_options(compared).to_html(about=about([truth, *scores, options["y_train"]])), html)
    if plot is not None:
        write_figure(compared.plot("differences"), plot)
    write_result(in_form(compared, output_format, output), output)


def _found(baseline: str, names: list[str], scores: tuple[Path, ...]) -> str:
    """Return the name of the model that --baseline tells by its path, its name or what tables call it."""
    for known in ([str(path) for path in scores], names, short_names(names)):
        if known.count(baseline) == 1:
            return names[known.index(baseline)]
    near = did_you_mean(baseline, names)
    raise ValueError(f"--baseline {baseline}: is none of SCORES: {', '.join(names)}{near and f'; {near}'}")
