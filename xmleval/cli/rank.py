"""`xmleval rank`: average ranks of models over several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from xmleval.api.evaluate import evaluate
from xmleval.api.rank import evaluated
from xmleval.api.rank import rank as rank_models
from xmleval.api.saved_reports import files_by_name
from xmleval.cli.compare import OUTPUTS
from xmleval.cli.data_sets import data_sets_of, files_of, given_options
from xmleval.cli.files import FILE, NamedFile, Scanning
from xmleval.cli.messages import on_terminal, spell_options
from xmleval.cli.options import COMPARED, DATA_SETS, Opt, command, training_file
from xmleval.cli.output import describe_run, write_figure, write_result, write_text
from xmleval.cli.types import NUMBER, Choice
from xmleval.files.output import refuse_input
from xmleval.metrics.spec import expand_metrics
from xmleval.results import ranking as ranks
from xmleval.results.data_sets import Comparisons
from xmleval.results.ranking import Ranking
from xmleval.results.rankings import Rankings
from xmleval.results.result import Result
from xmleval.show.tables import TableStyle

EXAMPLES = """\
xmleval rank results/*.json --metrics p@5,ndcg@5
xmleval rank results/*.json \\
    --metrics ndcg@5 --control bert
"""
RANKS = {
    "control": Opt(str, "MODEL"),
    "alpha": Opt(NUMBER, "NUMBER"),
    "leave_out": Opt(Choice(ranks.LEAVE_OUT)),
}
SECTIONS = {"Ranks": RANKS, "Data sets": DATA_SETS} | COMPARED | {"Output": OUTPUTS}


@command(SECTIONS, rank_models, evaluate, Result.tables, examples=EXAMPLES)
@click.argument("results", type=FILE, nargs=-1)
def rank(
    results: tuple[Path, ...],
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
    """Rank models over the data sets of RESULTS, and tell which differ (Demsar 2006).

    RESULTS are files that `xmleval evaluate TRUTH A B --output NAME.json` wrote, one for each data
    set; a folder stands for all of its .json files. Models are matched by name. By several
    measures, prints one table of average ranks. In place of RESULTS, --truth and --model give data
    sets and models that are evaluated first.
    """
    requested = expand_metrics(options["metrics"], options["k"])  # refuses a wrong name at once
    names = [spec.name for spec, _ in requested if spec.metric.direction != "none"]
    chosen = options.pop("metrics")
    del options["k"]
    settings = {name: options.pop(name) for name in RANKS}
    data_sets: Any
    notes = list[str]()
    if truths or models:
        if results:
            raise click.UsageError(f"{results[0]} is given together with --truth; choose one")
        files = files_of(truths, models)
        running = {**options, "progress": on_terminal()}
        data_sets = evaluated(data_sets_of(truths, models, scanning, options), chosen, running)
        shared = ranks.shared_measures(ranks.by_data_set(data_sets)) or []
        names = [name for name in names if name in shared]
    elif not results:
        raise click.UsageError("Missing argument 'RESULTS...'.")
    else:
        data_sets = files_by_name("results", results)
        files = [*data_sets.values()]
        for file in files:
            refuse_input(file, [path for path in (output, html, plot) if path is not None])
        if len(files) == 1:
            data_sets = Comparisons.load(files[0])
        data_sets, notes = ranks.by_short_names(ranks.by_data_set(data_sets))
        settings |= {name: options[name] for name in given_options(options)}
        if chosen is None:
            names = ranks.shared_measures(data_sets) or []
    metrics: Any = names
    if len(names) < 2:
        metrics = next(iter(names), None)
    result = _with_notes(rank_models(data_sets, metrics, **settings), notes)
    if html is not None:
        about = describe_run([*files, training_file(options)])
        write_text(result.worded(spell_options).to_html(about=about), html)
    if plot is not None:
        write_figure(result.plot("critical_difference"), plot)
    write_result(result, output_format, output, style)


def _with_notes(result: Ranking | Rankings, notes: Sequence[str]) -> Ranking | Rankings:
    """Return rankings with further notes."""
    if isinstance(result, Ranking):
        return replace(result, notes=[*notes, *result.notes])
    rankings = dict[str, Ranking]()
    for name, ranking in result.items():
        rankings[name] = replace(ranking, notes=[*notes, *ranking.notes])
    return Rankings(rankings)
