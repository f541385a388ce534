"""`xmleval compare`: differences of models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from xmleval.api.compare import compare as compare_files
from xmleval.api.evaluate import evaluate
from xmleval.api.saved_reports import holds_results
from xmleval.cli.data_sets import command_line_options, data_sets_of, list_data_set_files
from xmleval.cli.files import FIGURE, FILE, MODEL_FILE, PAGE, NamedFile, Scanning
from xmleval.cli.messages import on_terminal, spell_options
from xmleval.cli.options import (
    COMPARED,
    COMPLETE_LISTS,
    CONFIDENCE,
    DATA_SETS,
    GROUPING,
    RESULT,
    SWITCH,
    Opt,
    command,
    training_file,
)
from xmleval.cli.output import describe_run, write_figure, write_result, write_text
from xmleval.cli.patterns import name_models
from xmleval.cli.saved_results import name_files, split_names
from xmleval.cli.types import COUNT, Choice
from xmleval.metrics.spec import expand_metrics
from xmleval.results.comparison import Comparison
from xmleval.results.data_sets import Comparisons
from xmleval.results.differences import TESTS
from xmleval.results.result import Result, reword
from xmleval.show.tables import TableStyle, short_names

COMPARISON = {
    "baseline": Opt(str, "SCORES"),
    "test": Opt(Choice([*TESTS])),
    "confidence": CONFIDENCE["confidence"],
    "clusters": CONFIDENCE["clusters"],
    "seeds": Opt(
        None,
        None,
        "Each of SCORES is a pattern in quotes, or a folder, for the predictions of several "
        "training seeds: compare their means, and show their standard deviation.",
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
PLOTTED = {Comparison: "differences", Comparisons: "values"}
SECTIONS = (
    {"Data sets": DATA_SETS, "Comparison": COMPARISON, "Groups": GROUPING}
    | COMPARED
    | {"Output": OUTPUTS}
)
EXAMPLES = """\
xmleval compare --truth bibtex=b.npz --truth wiki=w.npz \\
    --model tree='runs/{}/tree.npz' --model svm='runs/{}/svm.npz' \\
    --metrics p@1,p@5 --percent --no-intervals --format latex
xmleval compare Y.npz bert.npz tree.npz \\
    --train Y_train.npz --baseline tree.npz
xmleval compare Y.npz 'a_*.npz' 'b_*.npz' \\
    --seeds --metrics ndcg@5 --format latex
"""


@command(SECTIONS, compare_files, evaluate, Result.tables, examples=EXAMPLES)
@click.argument("truth", type=FILE, required=False)
@click.argument("scores", type=MODEL_FILE, nargs=-1)
def compare(
    truth: Path | None,
    scores: tuple[NamedFile, ...],
    truths: tuple[NamedFile, ...],
    models: tuple[NamedFile, ...],
    output_format: str,
    output: Path | None,
    style: TableStyle,
    html: Path | None,
    plot: Path | None,
    scanning: Scanning,
    **options: Any,
) -> None:
    """Compare the predictions in two or more SCORES on the rows of TRUTH.

    Prints values, and for each pair of SCORES the differences with their intervals and p-values,
    and the rows that each wins. Intervals cover the sampling of test rows, not training seeds.
    Inputs are those of `xmleval evaluate` except --pred. NAME=FILE names a model of SCORES. Of
    several data sets, given by --truth and --model in place of TRUTH and SCORES, or as files of
    results that this command wrote, prints one table of all.
    """
    expand_metrics(options["metrics"], options["k"])  # refuses a wrong name before any file is read
    options["worst"] = options["worst"] or 0
    result: Comparison | Comparisons
    if truths or models:
        if truth is not None:
            raise click.UsageError(f"{truth} is given together with --truth; choose one")
        files = list_data_set_files(truths, models)
        data_sets = data_sets_of(truths, models, scanning, options)
        result = compare_files(data_sets, progress=on_terminal(), **options)
    else:
        if truth is None:
            raise click.UsageError("Missing argument 'TRUTH'.")
        named = split_names(truth, scores)
        files = [path for _, path in named]
        if all(map(holds_results, files)):
            result = _compare_results(named, options)
        else:
            result = _compare_models(truth, scores, scanning, options)
    if html is not None:
        about = describe_run([*files, training_file(options)])
        write_text(reword(result, spell_options).to_html(about=about), html)
    if plot is not None:
        write_figure(result.plot(PLOTTED[type(result)]), plot)
    write_result(result, output_format, output, style)


def _compare_results(files: Sequence[NamedFile], options: Mapping[str, Any]) -> Comparisons:
    """Return the table of results that were computed before."""
    given: dict[str, Any] = {name: options[name] for name in command_line_options(options)}
    first_name, first = files[0]
    result: Comparisons
    if len(files) == 1 and not first_name and first.is_file():
        result = compare_files(first, **given)
    else:
        result = compare_files(name_files(files), **given)
    return result


def _compare_models(
    truth: Path, scores: Sequence[NamedFile], scanning: Scanning, options: Mapping[str, Any]
) -> Comparison:
    """Return the comparison of models on one data set."""
    if len(scores) < 2:
        raise click.UsageError("compare takes two or more SCORES; `xmleval evaluate` is for one")
    models = name_models(truth, scores)
    baseline = options["baseline"]
    if baseline is not None:
        baseline = find_baseline(baseline, [*models], scores)
    return compare_files(
        scanning.truth(truth),
        scanning.models(models),
        progress=on_terminal(),
        **{**options, "baseline": baseline},
    )


def find_baseline(baseline: str, names: list[str], scores: Sequence[NamedFile]) -> str:
    """Return the name of the model for --baseline, a path, a name or a short name as in tables."""
    for spellings in ([str(path) for _, path in scores], names, short_names(names)):
        if spellings.count(baseline) == 1:
            return names[spellings.index(baseline)]
    return baseline  # an unknown name, refused later
