"""Options of the command line, declared once; each is an argument of the function that a command calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from xmleval.budget import MEMORY
from xmleval.cli.help import Choice, Sectioned
from xmleval.cli.paths import FileName
from xmleval.conventions import CHOICES, PRESETS, resolve_conventions
from xmleval.datasets import PUBLISHED
from xmleval.groups import DECILES
from xmleval.input.csr import MOST_LABELS
from xmleval.input.formats.registry import FORMATS
from xmleval.metrics import GROUPS
from xmleval.numerals import decimal_number, whole_number
from xmleval.spec import DEFAULT_K
from xmleval.view.decision import parse_decision

FILE = FileName()
MOST_CUTOFFS = 1000  # of one range


class Whole(click.IntRange):
    """A whole number in plain digits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number, or refuse what is none."""
        if isinstance(value, str) and whole_number(value) is None:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return super().convert(value, param, ctx)


class Parsed(click.ParamType[Any]):
    """A text that a function reads; it raises ValueError with what is wrong."""

    name = "text"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the text says, or refuse it."""
        try:
            return self.read(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(re.sub("^conventions(: |=)", "", str(error)), param, ctx)


def read_number(text: str) -> float:
    """Return a number in plain decimal notation."""
    number = decimal_number(text)
    if number is None:
        raise ValueError(f"{text!r} is not a number.")
    return number


def read_names(text: str) -> list[str]:
    """Cut a list of names at its commas, those in parentheses aside."""
    names = [name.strip() for name in re.split(r",(?![^()]*\))", text)]
    if not all(names):
        raise ValueError(f"{text!r} has an empty name.")
    return names


def read_cutoffs(text: str) -> list[int]:
    """Cut a list of cutoffs and of ranges of them at its commas."""
    cutoffs: dict[int, None] = {}
    for item in text.split(","):
        ends = [whole_number(end.strip(" ")) or 0 for end in item.split("-")]
        if not 1 <= ends[0] <= ends[-1] or len(ends) > 2:
            raise ValueError(f"{text!r} is not a list of positive integers, as in 1,3,5 or 1-20.")
        if ends[-1] - ends[0] >= MOST_CUTOFFS:
            raise ValueError(f"{item!r} is more than {MOST_CUTOFFS} cutoffs.")
        cutoffs |= dict.fromkeys(range(ends[0], ends[-1] + 1))
    return [*cutoffs]


def read_groups(text: str) -> Any:
    """Return numbers of training rows, deciles, or the path of a file."""
    edges = [whole_number(word.strip(" ")) for word in text.split(",")]
    return text if text == DECILES else FILE.convert(text, None, None) if None in edges else edges


def read_decision(text: str) -> Any:
    """Return a rule that is named, or the path of a file."""
    try:
        parse_decision(text)
        return text
    except ValueError:
        return FILE.convert(text, None, None)


def read_conventions(text: str) -> str:
    """Return a preset of conventions, fields with their values, or both."""
    resolve_conventions(text)
    return text


NUMBER, WHOLE, COUNT = Parsed(read_number), Whole(), Whole(min=1)
LABEL_COUNT = Whole(min=1, max=MOST_LABELS)
SUFFIXES = {".md": "markdown", ".tex": "latex"}
OTHER_FORMS = {".csv", ".html", ".jsonl", ".parquet", ".pdf", ".tsv", ".xlsx", ".yaml", ".yml"}
FORMAT_HELP = "Format of text input files, and of files whose names do not show it."


class Opt(NamedTuple):
    """An option: how it is spelled, its type, its help, and what else click takes."""

    flag: str
    type: Any
    help: str
    more: Mapping[str, Any] = {}


def flag(spelled: str, help: str, value: bool = True) -> Opt:
    """Return an option without a value."""
    return Opt(spelled, None, help, {"flag_value": value, "default": not value})


def named(metavar: str, **more: Any) -> dict[str, Any]:
    """Return what click takes of an option whose value has a name in the help."""
    return {"metavar": metavar, **more}


INPUTS = {
    "y_train": Opt(
        "--train",
        FILE,
        "Training labels, to estimate propensities from. TRUTH is not used unless it is named here.",
        named("Y_TRAIN"),
    ),
    "exclude": Opt(
        "--exclude",
        FILE,
        "Pairs of a row and a label, by number and one a line, that are taken out before evaluation.",
    ),
    "exclude_from": Opt(
        "--exclude-from",
        click.Choice(["both", "predictions"]),
        "Take pairs out of TRUTH and predictions, or of predictions alone, as NGAME and DEXML do.",
        {"default": "both", "show_default": True},
    ),
    "candidates": Opt(
        "--candidates",
        FILE,
        "Labels of each row within which alone SCORES are ranked: sets, or a list of predictions. A note "
        "tells what they allow.",
    ),
    "n_labels": Opt("--n-labels", LABEL_COUNT, "Number of labels, where no file tells it.", named("N")),
    "sample_weight": Opt("--sample-weight", FILE, "Weight of each row: an .npy vector, or a number a line."),
    "labels": Opt("--labels", FILE, "Names of the labels by column, one a line or a JSON list."),
    "input_format": Opt(
        "--input-format",
        Choice([known.name for known in FORMATS]),
        f"{FORMAT_HELP} " + "; ".join(f"{one.name}: {one.title}, {one.files}" for one in FORMATS) + ".",
        named("FORMAT"),
    ),
    "true_field": Opt(
        "--true-field", str, "Of CSV and JSON Lines: the field of relevant labels.", named("NAME")
    ),
    "pred_field": Opt(
        "--pred-field",
        str,
        "Likewise: the field of predicted labels; `evaluate` also finds them in TRUTH's own file.",
        named("NAME"),
    ),
    "score_field": Opt(
        "--score-field",
        str,
        "The field of their scores, where these stand in one of their own.",
        named("NAME"),
    ),
    "id_field": Opt("--id-field", str, "The field by which rows of several files are joined.", named("NAME")),
    "separator": Opt(
        "--separator",
        Parsed(lambda text: {r"\t": "\t"}.get(text, text)),
        "What stands between the labels of a field, such as ';'; JSON lists need none.",
        named("TEXT"),
    ),
}
MEASURES = {
    "metrics": Opt(
        "--metrics",
        Parsed(read_names),
        f"Measures and groups ({', '.join(GROUPS)}, all), separated by commas; `xmleval metrics` explains.",
        named("NAMES", multiple=True, show_default="xmc"),
    ),
    "k": Opt(
        "--k",
        Parsed(read_cutoffs),
        "Cutoffs of measures at k that are named without one, such as 1,3,5 or 1-20.",
        named("LIST", multiple=True, default=[",".join(map(str, DEFAULT_K))], show_default=True),
    ),
    "gains": Opt(
        "--gains",
        Choice(["linear", "exp"]),
        "TRUTH has grades of relevance. Gain of a label in DCG and nDCG: its grade (linear, as trec_eval) "
        "or 2^grade - 1 (exp); other measures take labels with a positive grade as relevant.",
        named("RULE"),
    ),
    "unlisted": Opt(
        "--unlisted",
        str,
        "'below', or the score of labels without a stored one, such as 0.0.",
        named("SCORE"),
    ),
    "link": Opt(
        "--link",
        Choice(CHOICES["link"]),
        "For measures of calibration: sigmoid makes probabilities of logits.",
    ),
    "higher_is_better": flag("--lower-is-better", "Scores are distances.", False),
    "conventions": Opt(
        "--conventions",
        Parsed(read_conventions),
        "What papers and libraries define differently, such as ties and 0/0: a preset "
        f"({', '.join(PRESETS)}), fields such as labels=present,empty=skip, or both, as in "
        "sklearn,labels=present; `xmleval metrics NAME` lists the fields of a measure and their values.",
        named("NAMES"),
    ),
    "bounds": flag(
        "--bounds",
        "Also print the least and the largest value that any scores of unlisted labels could give.",
    ),
    "inverse_propensity": Opt(
        "--inverse-propensity", FILE, "Inverse propensities: an .npy vector, or one number a line."
    ),
    "dataset": Opt(
        "--dataset",
        str,
        "Take the published constants A and B of the propensity model for a data set: "
        f"{', '.join(one.dataset for one in PUBLISHED)}. The result names their source.",
        named("NAME"),
    ),
    "a": Opt("--a", NUMBER, "Constant A of the propensity model, else 0.55.", named("NUMBER")),
    "b": Opt("--b", NUMBER, "Constant B of the propensity model, else 1.5.", named("NUMBER")),
    "hierarchy": Opt(
        "--hierarchy",
        FILE,
        "For h_precision, h_recall and h_f1: a child and its parent on each line, by number or name.",
    ),
}
CONFIDENCE = {
    "confidence": Opt(
        "--confidence",
        NUMBER,
        "Also print confidence intervals, such as 0.95: what to expect of other rows of the same kind.",
        named("LEVEL"),
    ),
    "clusters": Opt(
        "--clusters",
        FILE,
        "With --confidence: which rows belong together, such as the sentences of a document; the cluster of "
        "each row, one a line, or row and cluster.",
    ),
    "first_row": Opt(
        "--first-row",
        Whole(min=0),
        "With --confidence and --save: number of the first row among those of all shards, to merge them.",
        named("N"),
    ),
}
GROUPING = {
    "label_groups": Opt(
        "--label-groups",
        Parsed(read_groups),
        "Measures within groups of labels, too: deciles of the positives of --train, largest numbers of "
        "training rows (0,10,100: none, tail, torso, head), or a FILE with label and group on each line.",
        named("GROUPS"),
    ),
    "row_groups": Opt(
        "--row-groups",
        FILE,
        "Measures of groups of rows, too: the group of each row, one a line, or row and group.",
    ),
}
SETS = {
    "y_pred": Opt("--pred", FILE, "Predicted sets, for measures of sets."),
    "decision": Opt(
        "--decision",
        Parsed(read_decision),
        "Or how scores become sets: top3, threshold0.5 (strictly above), or a file that "
        "`xmleval threshold fit` wrote.",
        named("RULE"),
    ),
    "ranked": flag(
        "--ranked", "Labels predicted in TRUTH's own file stand best first; without it, they are sets alone."
    ),
}
RESOURCES = {
    "memory": Opt(
        "--memory",
        str,
        "Memory, such as 512MB and at least 16MB, for rows that are read and for scores sorted over all "
        "rows; more of these goes to temporary files.",
        named("SIZE", default=MEMORY, show_default=True),
    ),
    "threads": Opt("--threads", COUNT, "Most threads to use; no value depends on it."),
}
RUNS = {
    "workers": Opt("--workers", COUNT, "Count in so many processes, through Dask."),
    "scheduler": Opt(
        "--scheduler",
        str,
        "Count on the Dask cluster of this scheduler, whose workers see the files and --checkpoint.",
        named("ADDRESS"),
    ),
    "checkpoint": Opt(
        "--checkpoint",
        FILE,
        "Folder to keep the state in every so often; it is removed at the end. With --workers, it may be "
        "on object storage.",
        named("DIR"),
    ),
    "resume": flag("--resume", "Go on from the checkpoint, if there is one."),
}
SAVE = {
    "save": Opt(
        "--save",
        FILE,
        "File for the state, for `xmleval merge`; of several SCORES, with {} for their names: s_{}.npz.",
    ),
}
EVERY = {**INPUTS, **MEASURES, **CONFIDENCE, **GROUPING, **SETS, **RESOURCES, **RUNS, **SAVE}


FIELDS = {name: INPUTS[name] for name in ("true_field", "pred_field", "score_field", "id_field", "separator")}
FORMAT = {"input_format": INPUTS["input_format"]._replace(help=FORMAT_HELP, more={}), **FIELDS}


def option(name: str, opt: Opt) -> click.Option:
    """Return an option as click has it; a file is called FILE."""
    more: dict[str, Any] = {"metavar": "FILE"} if opt.type is FILE else {}
    if opt.more.get("multiple"):  # of which each is a list
        more["callback"] = lambda context, parameter, parts: [one for part in parts for one in part] or None
    return click.Option([opt.flag, name], type=opt.type, help=opt.help, **{**more, **opt.more})


def format_option(forms: Sequence[str] = ("table", "json")) -> click.Option:
    """Return the option for the form of the result, by default that of the suffix of --output."""
    suffixes = {f".{form}": form for form in forms} | SUFFIXES

    def by_suffix(context: click.Context, parameter: click.Parameter, form: str | None) -> str:
        output: Path | None = context.params.get("output")  # read first, see `OUTPUT`
        suffix = "" if form or output is None else output.suffix.lower()
        found = suffixes.get(suffix, "table")
        if found not in forms or (suffix in OTHER_FORMS and suffix not in suffixes):
            told = f"--output: no result is written as {suffix}; --format names the form: {', '.join(forms)}"
            raise click.UsageError(told, context)
        return form or found

    told = f"Form of the result: {', '.join(forms)}; default by the suffix of --output, else a table."
    more: Any = {"metavar": "FORM", "callback": by_suffix}
    return click.Option(["--format", "output_format"], type=Choice(forms), help=told, **more)


OUTPUT = Opt(
    "--output", FILE, "File for the result, written whole or not at all; default stdout.", {"is_eager": True}
)


def command(
    sections: Mapping[str, Mapping[str, Any]], group: click.Group | None = None, **more: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a command with options in sections, by the names of arguments."""

    def make(function: Callable[..., Any]) -> click.Command:
        kind = {"cls": Sectioned, "sections": sections} if len(sections) > 1 else {}
        made: click.Command = (group or click).command(**kind, **more)(function)
        for own in sections.values():
            made.params += [option(name, opt) if isinstance(opt, Opt) else opt for name, opt in own.items()]
        return made

    return make
