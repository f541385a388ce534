"""`xmleval rank`: average ranks of models over the results of several data sets."""

from __future__ import annotations

import glob
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from xmleval.cli.compare import OUTPUTS
from xmleval.cli.files import FILE
from xmleval.cli.options import LIST, Opt, command
from xmleval.cli.output import describe_run, format_result, write_figure, write_text
from xmleval.cli.types import NAMES, NUMBER, Choice
from xmleval.files.output import refuse_input
from xmleval.metrics.spec import parse_spec
from xmleval.results import ranking as ranks
from xmleval.results.figures import diagrams_of_ranks
from xmleval.results.pages import page_of_ranks
from xmleval.show import drawing
from xmleval.show.tables import as_csv

EXAMPLES = """\
xmleval rank results/*.json --metric p@5
xmleval rank results/*.json \\
    --metric ndcg@5 --control bert
"""
OPTIONS = {
    "metric": Opt(
        NAMES,
        "NAMES",
        "Measures, separated by commas, with a table for each; default all that every model has.",
        extra=LIST,
    ),
    "control": Opt(str, "MODEL"),
    "alpha": Opt(NUMBER, "NUMBER"),
    "leave_out": Opt(Choice(ranks.LEAVE_OUT)),
    **OUTPUTS,
}


@command({"Options": OPTIONS}, ranks.rank, examples=EXAMPLES)
@click.argument("results", type=FILE, nargs=-1, required=True)
def rank(
    results: tuple[Path, ...],
    metric: list[str] | None,
    output_format: str,
    output: Path | None,
    html: Path | None,
    plot: Path | None,
    control: str | None,
    alpha: float,
    leave_out: str | None,
) -> None:
    """Rank models over the data sets of RESULTS, and tell which differ (Demsar 2006).

    RESULTS are files that `xmleval evaluate TRUTH A B --output NAME.json` wrote, one for each data
    set; a folder stands for all of its .json files. Models are matched by name.
    """
    for name in metric or ():
        parse_spec(name)  # refuses a wrong name before any file is read
    files = files_by_data_set(results)
    for file in files.values():
        refuse_input(file, [path for path in (output, html, plot) if path is not None])
    matched, notes = ranks.by_short_names(ranks.by_data_set(files))
    measures = metric or ranks.shared_measures(matched) or (None,)
    rankings = [
        ranks.rank(matched, measure, control=control, alpha=alpha, leave_out=leave_out)
        for measure in measures
    ]
    rankings = [replace(ranking, notes=[*notes, *ranking.notes]) for ranking in rankings]
    if html is not None:
        write_text(page_of_ranks(rankings, about=describe_run([*files.values()])), html)
    if plot is not None:
        write_figure(drawing.plot(diagrams_of_ranks(rankings)), plot)
    write_text(format_rankings(rankings, output_format, output), output)


def format_rankings(rankings: list[ranks.Ranking], form: str, output: Path | None) -> str:
    """Return rankings in a form; a table that goes to a terminal fits its width."""
    if form == "csv":
        return as_csv(*ranks.rank_lines(rankings))
    if form == "json" and len(rankings) > 1:
        contents = {"rankings": {ranking.metric: ranking.to_dict() for ranking in rankings}}
        return json.dumps(contents, indent=2, allow_nan=False)
    texts = [format_result(form, ranking, output).rstrip("\n") for ranking in rankings]
    return "\n\n".join(texts)


def files_by_data_set(paths: Iterable[Path]) -> dict[str, Path]:
    """Return files by data set, with folders in the names only if these are needed.

    A folder stands for all of its .json files, and a pattern for all files that match.
    """
    files = list[Path]()
    for path in paths:
        matching = _match_files(path)
        if not matching:
            raise ValueError(f"{path}: no .json file is there; {ranks.SEVERAL}")
        files += matching
    counts = Counter(file.resolve() for file in files)
    for file in files:
        if counts[file.resolve()] > 1:
            raise ValueError(f"{file}: given twice; expected a file for each data set")
    names = [file.stem for file in files]
    if len({*names}) < len(names):
        names = [str(file.with_suffix("")) for file in files]
    return dict(zip(names, files, strict=True))


def _match_files(path: Path) -> list[Path]:
    """Return the files of a folder or a pattern in order, or else the path itself."""
    if path.is_dir():
        return sorted(path.glob("*.json"))
    is_pattern = not path.exists() and glob.escape(str(path)) != str(path)
    if is_pattern:
        return sorted(map(Path, glob.glob(str(path))))
    return [path]
