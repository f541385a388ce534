"""`xmleval rank`: average ranks of models over several data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from xmleval.api.compare import CHOOSING
from xmleval.api.evaluate import evaluate
from xmleval.api.rank import evaluate_data_sets, rank_models
from xmleval.api.rank import rank as rank_of
from xmleval.api.saved_reports import files_by_name
from xmleval.cli.compare import OUTPUTS
from xmleval.cli.data_sets import DataSets, command_line_options, data_sets_of, list_data_set_files
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
from xmleval.results.result import Result, reword
from xmleval.show.tables import TableStyle

EXAMPLES = """\
xmleval rank results/*.json --metrics p@5,ndcg@5
xmleval rank results/*.json \\
    --metrics ndcg@5 --control bert
"""
RANK_OPTIONS = {
    "control": Opt(str, "MODEL"),
    "alpha": Opt(NUMBER, "NUMBER"),
    "leave_out": Opt(Choice(ranks.LEAVE_OUT)),
}
SECTIONS = {"Ranks": RANK_OPTIONS, "Data sets": DATA_SETS} | COMPARED | {"Output": OUTPUTS}


@command(SECTIONS, rank_of, evaluate, Result.tables, examples=EXAMPLES)
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
    """Rank models over the data sets of RESULTS and test which differ (Demsar 2006).

    RESULTS are files that `xmleval evaluate TRUTH A B --output NAME.json` wrote, one for each data
    set; a folder stands for all of its .json files. Models are matched by name. By several
    measures, prints one table of average ranks. In place of RESULTS, --truth and --model give data
    sets and models that are evaluated first.
    """
    expand_metrics(options["metrics"], options["k"])  # refuses a wrong name before any file is read
    settings = {name: options.pop(name) for name in RANK_OPTIONS}
    notes = list[str]()
    if truths or models:
        if results:
            raise click.UsageError(f"{results[0]} is given together with --truth; choose one")
        files = list_data_set_files(truths, models)
        data_sets = _evaluate(data_sets_of(truths, models, scanning, options), options)
    else:
        files_by_data_set = files_by_name("results", _refuse_none(results))
        files = [*files_by_data_set.values()]
        for file in files:
            refuse_input(file, [path for path in (output, html, plot) if path is not None])
        data_sets, notes = _read_results(files_by_data_set, options)
    result = rank_models(data_sets, _measures_of(data_sets, options), **settings)
    result = _with_notes(result, notes)
    if html is not None:
        about = describe_run([*files, training_file(options)])
        write_text(reword(result, spell_options).to_html(about=about), html)
    if plot is not None:
        write_figure(result.plot("critical_difference"), plot)
    write_result(result, output_format, output, style)


def _refuse_none(results: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files of results, or refuse to rank without any."""
    if not results:
        raise click.UsageError("Missing argument 'RESULTS...'.")
    return results


def _evaluate(data_sets: DataSets, options: Mapping[str, Any]) -> Mapping[str, ranks.Models]:
    """Return the reports of models by data set."""
    computing = {name: value for name, value in options.items() if name != "metrics"}
    computing["progress"] = on_terminal()
    return ranks.by_data_set(evaluate_data_sets(data_sets, options["metrics"], computing))


def _read_results(
    files: Mapping[str, Path], options: Mapping[str, Any]
) -> tuple[Mapping[str, ranks.Models], list[str]]:
    """Return results by data set, and notes; refuse options that change results."""
    data_sets: Mapping[str, Any] = files
    if len(files) == 1:
        data_sets = Comparisons.load(*files.values())
    given = {name: options[name] for name in command_line_options(options) if name not in CHOOSING}
    return ranks.by_short_names(ranks.by_data_set(evaluate_data_sets(data_sets, None, given)))


def _measures_of(
    data_sets: Mapping[str, ranks.Models], options: Mapping[str, Any]
) -> str | list[str] | None:
    """Return the measures to rank by: those asked for, or else all that every model has."""
    names = ranks.shared_measures(data_sets) or []
    if options["metrics"] is not None:
        selected = dict[str, None]()
        for item in options["metrics"]:
            named = [spec.name for spec, _ in expand_metrics([item], options["k"])]
            present = [name for name in named if name in names]
            selected |= dict.fromkeys(present or named)  # those that no model has are refused
        names = [*selected]
    if len(names) > 1:
        return names
    return next(iter(names), None)


def _with_notes(result: Ranking | Rankings, notes: Sequence[str]) -> Ranking | Rankings:
    """Return rankings with further notes."""
    if isinstance(result, Ranking):
        return replace(result, notes=[*notes, *result.notes])
    rankings = dict[str, Ranking]()
    for name, ranking in result.items():
        rankings[name] = replace(ranking, notes=[*notes, *ranking.notes])
    return Rankings(rankings)
