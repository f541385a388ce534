"""`xmleval rank`: average ranks of models over the results of several data sets."""

from __future__ import annotations

import glob
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from xmleval.cli.compare import OUTPUTS
from xmleval.cli.files import FILE
from xmleval.cli.options import LIST, Opt, command
from xmleval.cli.output import about, text_in, write_figure, write_text
from xmleval.cli.types import NAMES, NUMBER, Choice
from xmleval.comparing.model_values import LEAVE_OUT, by_data_set, by_short_names, shared_measures
from xmleval.comparing.ranking import rank as rank_models
from xmleval.comparing.ranking import ranks_as_csv
from xmleval.comparing.shown import page_of_ranks, plot_ranks
from xmleval.files.output import refuse_input
from xmleval.report.saved_results import load_results
from xmleval.spec import parse_spec

SEVERAL = "`xmleval evaluate TRUTH A B --output NAME.json`, one file for each data set"
EXAMPLES = """Examples:

\b
  xmleval rank results/*.json --metric p@5
  xmleval rank results/*.json \\
      --metric ndcg@5 --control bert
"""
OPTIONS = {
    "metric": Opt(
        NAMES, "NAMES",
        "Measures, separated by commas, with a table for each; default all that every model has.",
        more=LIST,
    ),
    "control": Opt(str, "MODEL"),
    "alpha": Opt(NUMBER, "NUMBER"),
    "leave_out": Opt(Choice(LEAVE_OUT)),
    **OUTPUTS,
}  # fmt: skip


@command({"Options": OPTIONS}, rank_models, epilog=EXAMPLES)
@click.argument("results", type=FILE, nargs=-1, required=True)
def rank(
    results: tuple[Path, ...], metric: list[str] | None, output_format: str, output: Path | None,
    html: Path | None, plot: Path | None, **options: Any,
) -> None:  # fmt: skip
    """Rank models over the data sets of RESULTS, and tell which differ (Demsar 2006).

    RESULTS are files that `xmleval evaluate TRUTH A B --output NAME.json` wrote, one for each data set; a
    folder stands for all of its .json files. Models are matched by name.
    """
    for name in metric or ():
        parse_spec(name)  # a wrong name is told before any file is read
    files = [file for path in results for file in _files(path)]
    for file in files:
        refuse_input(file, [path for path in (output, html, plot) if path is not None])
    full: Any = dict(zip(_data_sets(files), map(load_results, files), strict=True))
    for path, reports in zip(files, full.values(), strict=True):
        if len(reports) < 2:
            raise ValueError(f"{path}: has one model; expected {SEVERAL}")
    matched, notes = by_short_names(full)
    measures = metric or shared_measures(by_data_set(matched)) or (None,)
    rankings = [rank_models(matched, measure, **options) for measure in measures]
    rankings = [replace(ranking, notes=[*notes, *ranking.notes]) for ranking in rankings]
    if html is not None:
        write_text(page_of_ranks(rankings, about=about(files)), html)
    if plot is not None:
        write_figure(plot_ranks(rankings), plot)
    if output_format == "csv":
        text = ranks_as_csv(rankings)
    elif output_format == "json" and len(rankings) > 1:
        contents = {"rankings": {ranking.metric: ranking.to_dict() for ranking in rankings}}
        text = json.dumps(contents, indent=2, allow_nan=False)
    else:
        text = "\n\n".join(text_in(output_format, ranking, output).rstrip("\n") for ranking in rankings)
    write_text(text, output)


def _files(path: Path) -> list[Path]:
    """Return the files that a name stands for: itself, those of a folder, or those that match a pattern."""
    if not path.is_dir() and (path.exists() or not glob.has_magic(str(path))):
        return [path]
    files = sorted(path.glob("*.json") if path.is_dir() else map(Path, glob.glob(str(path))))
    if not files:
        raise ValueError(f"{path}: no .json file is there; expected {SEVERAL}")
    return files


def _data_sets(files: list[Path]) -> list[str]:
    """Name data sets by their files, with folders only where these are needed."""
    resolved = [file.resolve() for file in files]
    for place, file in enumerate(files):
        if resolved[place] in resolved[:place]:
            raise ValueError(f"{file}: given twice; expected a file for each data set")
    names = [file.stem for file in files]
    return names if len({*names}) == len(names) else [str(file.with_suffix("")) for file in files]
