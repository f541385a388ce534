"""Options of the command line, declared once as arguments of the functions that commands call."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

from xmleval.base.conventions import CHOICES, PRESETS, Conventions
from xmleval.base.data_names import LABEL_DATA, ROW_DATA, DataArgument
from xmleval.base.errors import InputError
from xmleval.cli.files import (
    COLUMN_OR_FILE,
    FIELD_OPTIONS,
    FILE,
    JUDGED_CELLS,
    NAMED_COLUMN_OR_FILE,
    NAMED_FILE,
    STATE,
    UNJUDGED_CELLS,
    FileName,
    NamedFile,
    Scanning,
    refuse_outputs,
)
from xmleval.cli.files import RESULT as RESULT_FILE
from xmleval.cli.messages import FLAGS
from xmleval.cli.own_measures import AT_PLACE, PLACE, import_measure
from xmleval.cli.patterns import refuse_predictions
from xmleval.cli.types import (
    CONVENTIONS,
    COUNT,
    CUTOFFS,
    DECISION,
    LABEL_COUNT,
    LABEL_GROUPS,
    NAMES,
    NUMBER,
    Choice,
    InstalledChoice,
    Parsed,
    Whole,
)
from xmleval.evaluation.request import Running
from xmleval.files.output import refuse_ending
from xmleval.files.remote import as_path
from xmleval.input.formats.arff import ARFF
from xmleval.input.formats.known import FORMATS, installed_formats
from xmleval.input.scan import KEPT, Scan
from xmleval.labels.datasets import PUBLISHED
from xmleval.labels.propensity import TrainingLabels
from xmleval.metrics import GROUPS
from xmleval.metrics.spec import DEFAULT_K
from xmleval.results.outputs import installed_outputs
from xmleval.show.tables import FORMS, TableStyle

Function = Callable[..., Any]
# arguments that are files of rows
SCANNED = (
    "truth",
    "scores",
    "truths",
    "models",
    "source",
    "like",
    "y_train",
    "y_pred",
    "candidates",
)
PLAIN_TEXT = ("", ".txt")  # endings of a result in any form
EXACT = ("json", "csv")  # forms of results with numbers in full precision
NARROW = 60  # columns below which the help of an option begins on a new line
FORMAT_HELP = "Format of text input files, and of files whose names do not show it."


class Opt(NamedTuple):
    """An option of the command line, which is an argument of the function that a command calls.

    type, metavar : type of its value, and the word for the value in the help
    help : description; default the description of the argument in the docstring of the function
    flag : spelling on the command line; default that of the argument
    extra : further arguments of `click.Option`
    """

    type: click.ParamType[Any] | type[str] | None
    metavar: str | None = None
    help: str | None = None
    flag: str | None = None
    extra: Mapping[str, Any] = {}


def installed_format_names() -> list[str]:
    """Return the names of the formats that installed packages offer."""
    return [form.name for form in installed_formats()]


def flag_of(name: str, opt: Opt) -> str:
    """Return the spelling of an option."""
    return opt.flag or f"--{name.replace('_', '-')}"


def describe_arguments(function: Function, flags: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    """Return the description of every argument in the docstring of a function, and its default.

    Arguments in the text are spelled as options. Of a description, the first paragraph is taken, up
    to references to Python: "See ...".
    """
    section = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")[2]
    entries = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", section, re.M)
    parameters = inspect.signature(function).parameters
    described: dict[str, tuple[str, Any]] = {}
    for name, lines in entries:
        text = " ".join(lines.split()).partition(" See ")[0]
        text = re.sub("`+([^`]+)`+", lambda quoted: flags.get(quoted[1], quoted[1]), text)
        default = parameters[name].default if name in parameters else None
        described[name] = (text, None if default is inspect.Parameter.empty else default)
    return described


def describe_field(field: str) -> str:
    """Return the description of a field in the docstring of `Conventions`."""
    return describe_arguments(Conventions, {})[field][0]


def make_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of functions by the values of options; several may form one argument."""
    arguments = {**values}
    field_values = _pop_options(arguments, FIELDS_ALONE)
    fields = [f"{name}={value}" for name, value in field_values.items() if value is not None]
    if fields:
        if arguments.get("conventions"):
            fields.insert(0, arguments["conventions"])
        arguments["conventions"] = ",".join(fields)
    if "input_format" in arguments:
        _scan_files(arguments)
    _take_own_measures(arguments)
    if "percent" in arguments:  # of a command that prints tables of results
        arguments["style"] = _make_style(arguments)
    constants = _pop_options(arguments, PROPENSITY_OPTIONS)
    if any(value is not None for value in constants.values()):
        arguments["y_train"] = TrainingLabels(arguments["y_train"], **constants)
    if not arguments.keys().isdisjoint((*RUNS, "first_row")):
        arguments["running"] = _make_running(_pop_options(arguments, (*RUNS, *SAVE, "first_row")))
    return arguments


def _take_own_measures(arguments: dict[str, Any]) -> None:
    """Import measures of the user, name their data and request those that are to be computed."""
    for argument in (LABEL_DATA, ROW_DATA):
        if argument in arguments:
            arguments[argument] = _by_name(argument, arguments[argument]) or None
    for place in arguments.pop("known_measures", ()):
        import_measure(place)
    names = [import_measure(place).name for place in arguments.pop("measures", ())]
    if not names or "metrics" not in arguments:  # or the measure is named by another option
        return
    requested = arguments["metrics"] or []
    is_named = {name: any(text.startswith(name) for text in requested) for name in names}
    arguments["metrics"] = [*requested, *(name for name in names if not is_named[name])]


def _by_name(argument: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return data by name, or refuse a name that is given twice."""
    by_name = dict[str, Any]()
    for name, value in pairs:
        if name in by_name:
            raise InputError(DataArgument(argument, name), "is given twice; give it once")
        by_name[name] = value
    return by_name


def _make_style(arguments: dict[str, Any]) -> TableStyle:
    """Remove the options on tables and return their values; refuse them without tables."""
    given = dict[str, Any]()
    for name, value in _pop_options(arguments, STYLE).items():
        if value is not STYLE[name].extra.get("default"):
            given[name] = value
    style = cast(TableStyle, given)
    form = arguments["output_format"]
    if style and form in EXACT:
        FLAGS.update({name: flag_of(name, STYLE[name]) for name in style})
        raise InputError(
            next(iter(style)), f"is for tables; {form} has all values in full precision"
        )
    return style


def _scan_files(arguments: dict[str, Any]) -> None:
    """Replace options of reading by a `Scanning` for commands, and scan files that are options."""
    predictions = (
        *_as_sequence(arguments.get("scores")),
        *_as_sequence(arguments.get("models")),
        *_as_sequence(arguments.get("y_pred")),
    )
    scanning = Scanning(**_pop_options(arguments, FORMAT), predictions=predictions)
    scanning.refuse_unused([path for name in SCANNED for path in _as_sequence(arguments.get(name))])
    arguments["scanning"] = scanning
    scans = {
        "y_train": scanning.training,
        "candidates": scanning.scores,
        "y_pred": scanning.scores,
    }
    for name, scan_file in scans.items():
        if arguments.get(name) is not None:
            arguments[name] = scan_file(arguments[name])


def _make_running(values: dict[str, Any]) -> Running:
    """Return how an evaluation is run, by the values of options."""
    workers = values.pop("workers", None)
    scheduler = values.pop("scheduler", None)
    if None not in (workers, scheduler):
        text = "--workers is given together with --scheduler; choose one"
        raise click.UsageError(text, click.get_current_context())
    FLAGS["executor"] = "--workers" if scheduler is None else "--scheduler"
    return Running(**values, executor=workers or scheduler)


def _as_sequence(
    value: Path | tuple[Path, ...] | tuple[NamedFile, ...] | None,
) -> Sequence[Path]:
    """Return the files of an argument as a sequence."""
    if value is None:
        return []
    if isinstance(value, tuple):
        return [file.path if isinstance(file, NamedFile) else file for file in value]
    return [value]


def training_file(arguments: Mapping[str, Any]) -> Path | None:
    """Return the file of training labels among the arguments of a command."""
    y_train: TrainingLabels | Path | Scan | None = arguments["y_train"]
    labels = y_train.labels if isinstance(y_train, TrainingLabels) else y_train
    if labels is None:
        return None
    return as_path(labels)


def _pop_options(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Remove the options that a command has among some names, and return their values."""
    return {name: values.pop(name) for name in names if name in values}


# fields of conventions that are options, too
FIELDS_ALONE = {
    "gains": Opt(Choice(["binary", "linear", "exp"]), "RULE", describe_field("gains")),
    "relevant_from": Opt(str, "GRADE", describe_field("relevant_from")),
    "unlisted": Opt(str, "SCORE", describe_field("unlisted")),
    "link": Opt(Choice([*CHOICES["link"]]), None, describe_field("link")),
}
# options of the model of inverse propensities
PROPENSITY_OPTIONS = {
    "dataset": Opt(
        str,
        "NAME",
        "With --train: take the published constants A and B of the propensity model for a data "
        f"set: {', '.join(constants.dataset for constants in PUBLISHED)}. "
        "The result names their source.",
    ),
    "a": Opt(NUMBER, "NUMBER", "Constant A of the propensity model, in place of 0.55."),
    "b": Opt(NUMBER, "NUMBER", "Constant B of the propensity model, in place of 1.5."),
}
SWITCH = {"flag_value": True, "default": False}
DISTANCES = {"flag_value": False, "default": True}
LIST = {"multiple": True}
REQUIRED = {"required": True}
COMPLETE_LISTS = Opt(None, extra=SWITCH)
EACH = {"multiple": True, "callback": lambda context, parameter, files: files}
DATA_SETS = {
    "truths": Opt(
        NAMED_FILE,
        "NAME=FILE",
        "Name and relevant labels of a data set; repeat it for each. In place of TRUTH.",
        "--truth",
        EACH,
    ),
    "models": Opt(
        NAMED_FILE,
        "NAME=FILE",
        "Name and predictions of a model, with {} for the name of the data set, as in "
        "tree='runs/{}/tree.npz'; repeat it for each model. {} may be in files of --truth and "
        "other options, too.",
        "--model",
        EACH,
    ),
}
INPUTS = {
    "y_train": Opt(FILE, "Y_TRAIN", flag="--train"),
    "exclude": Opt(FILE),
    "exclude_from": Opt(click.Choice(["both", "predictions"])),
    "unjudged": Opt(UNJUDGED_CELLS, "FILE|nan|-1"),
    "judged": Opt(JUDGED_CELLS, "FILE|truth"),
    "candidates": Opt(FILE),
    "n_labels": Opt(LABEL_COUNT, "N", "Number of labels, if no file determines it."),
    "sample_weight": Opt(COLUMN_OR_FILE, "COLUMN|FILE"),
    "labels": Opt(FILE),
    "input_format": Opt(
        InstalledChoice([form.name for form in FORMATS], installed_format_names),
        "FORMAT",
        f"{FORMAT_HELP} "
        + "; ".join(f"{form.name}: {form.title}, {form.endings}" for form in (*FORMATS, ARFF))
        + ". Texts may also end in .gz.",
    ),
    "label_field": Opt(
        str,
        "NAME",
        "Field of relevant labels in CSV, JSON Lines and Parquet, of TRUTH and --train; '' "
        "if there is none: each line is a candidate of a query, in order.",
    ),
    "scores_label_field": Opt(
        str,
        "NAME",
        "Field of predicted labels, in SCORES, --pred and --candidates.",
    ),
    "score_field": Opt(
        str,
        "NAME",
        "Field of their scores, if it is not found; for TRUTH alone, field of judgements.",
    ),
    "instance_field": Opt(str, "NAME", "Field by which rows of several files are matched."),
    "separator": Opt(
        Parsed(lambda text: {r"\t": "\t"}.get(text, text)),
        "TEXT",
        "Separator of the labels in a field, such as ';'; JSON lists need none.",
    ),
    "keep": Opt(
        Choice(KEPT),
        "SCORE",
        "If a row of SCORES lists a label several times, as for passages of documents: best "
        "keeps the best score; default: an error.",
    ),
}
MEASURES = {
    "metrics": Opt(
        NAMES,
        "NAMES",
        f"Measures and groups ({', '.join(GROUPS)}, all), separated by commas; "
        "`xmleval metrics` explains them.",
        extra={**LIST, "show_default": "xmc"},
    ),
    "k": Opt(
        CUTOFFS,
        "LIST",
        "Cutoffs of measures at k that are named without one, such as 1-20; "
        f"default {','.join(map(str, DEFAULT_K))}.",
        extra={**LIST, "default": [DEFAULT_K], "show_default": False},
    ),
    **FIELDS_ALONE,
    "higher_is_better": Opt(None, None, "Scores are distances.", "--lower-is-better", DISTANCES),
    "conventions": Opt(
        CONVENTIONS,
        "NAMES",
        "What papers and libraries define differently, such as ties and 0/0: a preset "
        f"({', '.join(PRESETS)}), fields such as labels=present,empty=skip, or both, as in "
        "sklearn,labels=present; `xmleval metrics NAME` lists the fields of a measure and their "
        "values.",
    ),
    "bounds": Opt(None, extra=SWITCH),
    "inverse_propensity": Opt(
        FILE,
        None,
        "Inverse propensities of labels, in place of --train: an .npy vector, or a number per "
        "line.",
    ),
    **PROPENSITY_OPTIONS,
    "hierarchy": Opt(FILE),
    "measures": Opt(
        str,
        PLACE,
        f"A measure of your own, {AT_PLACE}. It is computed in addition to --metrics.",
        "--measure",
        EACH,
    ),
    "label_data": Opt(
        NAMED_FILE,
        "NAME=FILE",
        "Numbers by label for a measure of your own: one per line, or label and number, or "
        "an .npy vector.",
        extra=EACH,
    ),
    "row_data": Opt(
        NAMED_COLUMN_OR_FILE,
        "NAME=COLUMN|FILE",
        "Numbers by row, in the same forms, or a column of the table of TRUTH.",
        extra=EACH,
    ),
}
KNOWN_MEASURES = {  # of commands that read saved results
    "known_measures": Opt(
        str,
        PLACE,
        f"A measure of your own that the results have, {AT_PLACE}.",
        "--measure",
        EACH,
    ),
}
CONFIDENCE = {
    "confidence": Opt(NUMBER, "LEVEL"),
    "clusters": Opt(COLUMN_OR_FILE, "COLUMN|FILE"),
    "first_row": Opt(Whole(min=0), "N"),
}
GROUPING = {
    "label_groups": Opt(
        LABEL_GROUPS,
        "GROUPS",
        "Also measures within groups of labels, and the shares of groups in the values of all "
        "labels: deciles of the positives of --train, largest numbers of training rows "
        "(0,10,100: none, tail, torso, head), or a FILE with label and group on each line.",
    ),
    "row_groups": Opt(COLUMN_OR_FILE, "COLUMN|FILE"),
}
SETS = {
    "y_pred": Opt(FILE, flag="--pred"),
    "decision": Opt(DECISION, "RULE"),
}
RESOURCES = {"memory": Opt(str, "SIZE"), "threads": Opt(COUNT, "N")}
RUNS = {
    "workers": Opt(COUNT, "N", "Count in this many new processes on this machine."),
    "scheduler": Opt(
        str,
        "ADDRESS",
        "Count on the Dask cluster of this scheduler; its workers must see the files and the "
        "checkpoint.",
    ),
    "checkpoint": Opt(FILE, "DIR"),
    "resume": Opt(None, extra=SWITCH),
}
SAVE = {"save": Opt(STATE)}
EVALUATION = {
    "Inputs": INPUTS,
    "Measures": MEASURES,
    "Confidence": CONFIDENCE,
    "Groups": GROUPING,
    "Predictions to sets": SETS,
    "Output": {},
    "Resources": RESOURCES,
}
MODEL_MEASURES = {name: opt for name, opt in MEASURES.items() if name != "bounds"}
MODEL_MEASURES["decision"] = SETS["decision"]
COMPARED = {"Inputs": INPUTS, "Measures": MODEL_MEASURES, "Output": {}, "Resources": RESOURCES}
EVERY = {
    name: opt for section in (*EVALUATION.values(), RUNS, SAVE) for name, opt in section.items()
}


FIELDS = {name: INPUTS[name] for name in FIELD_OPTIONS}
FORMAT_OPTION = INPUTS["input_format"]._replace(help=FORMAT_HELP, metavar=None)
FORMAT = {"input_format": FORMAT_OPTION, **FIELDS, "keep": INPUTS["keep"]}
FLAGS.update({name: flag_of(name, opt) for name, opt in EVERY.items()})


def option(name: str, opt: Opt, arguments: Mapping[str, tuple[str, Any]]) -> click.Option:
    """Return an option as click has it; the help calls its file FILE."""
    text, default = arguments.get(name, ("", None))
    metavar = opt.metavar
    if not metavar and isinstance(opt.type, FileName):
        metavar = "FILE"
    attributes: dict[str, Any] = {"type": opt.type, "help": opt.help or text, "metavar": metavar}
    if default:
        attributes["default"] = default
        attributes["show_default"] = default is not True
    if opt.extra.get("multiple"):  # every value is a list
        attributes["callback"] = lambda context, parameter, lists: [*chain(*lists)] or None
    attributes.update(opt.extra)
    return click.Option([flag_of(name, opt), name], **attributes)


def format_option(forms: Sequence[str] = ("table", "json")) -> Opt:
    """Return the option for the form of the result; the default is by the suffix of --output."""

    def by_suffix(context: click.Context, parameter: click.Parameter, form: str | None) -> str:
        output: Path | None = context.params.get("output")  # read first, see `OUTPUT`
        if output is None:
            return form or "table"
        if form is not None and form not in FORMS:
            return form
        if form is not None:
            refuse_ending(output, f"{form} (--format)", (*PLAIN_TEXT, *FORMS[form]))
            return form
        form_by_ending = {ending: name for name in forms for ending in FORMS[name]}
        refuse_ending(output, "the result", (*PLAIN_TEXT, *form_by_ending), others=False)
        return form_by_ending.get(output.suffix.lower(), "table")

    help_text = (
        f"Form of the result: {', '.join(forms)}; default by the suffix of --output, else a table."
    )
    choice = Choice(forms)
    if "csv" in forms:  # results in tables, which packages can write, too
        choice = InstalledChoice(forms, installed_outputs)
    return Opt(choice, "FORM", help_text, "--format", {"callback": by_suffix})


OUTPUT = Opt(
    RESULT_FILE,
    None,
    "File for the result, written whole or not at all; default stdout.",
    extra={"is_eager": True},
)
STYLE = {
    "rows": Opt(Choice(["measures", "models", "data_sets"])),
    "percent": Opt(None, extra=SWITCH),
    "digits": Opt(Whole(min=0), "N"),
    "intervals": Opt(
        None, None, "Leave confidence intervals out of tables.", "--no-intervals", DISTANCES
    ),
}
RESULT = {"output_format": format_option([*FORMS]), "output": OUTPUT, **STYLE}
Sections = Mapping[str, Mapping[str, Opt]]


class Command(click.Command):
    """A command with options in sections, which refuses its outputs before it begins.

    Parameters
    ----------
    sections : dict of str to dict of str to Opt
        Options by title and by the name of the argument; others are in the last section.
    functions : functions
        The help of an option describes the argument of the first function that has it.
    """

    def __init__(
        self,
        name: str | None,
        *,
        sections: Sections,
        functions: Sequence[Function],
        **attributes: Any,
    ) -> None:
        super().__init__(name, **attributes)
        self.sections = sections
        options = {name: opt for section in sections.values() for name, opt in section.items()}
        self.flags = {name: flag_of(name, opt) for name, opt in options.items()}
        arguments = ChainMap(
            *(describe_arguments(function, FLAGS | self.flags) for function in functions)
        )
        self.params += [option(name, opt, arguments) for name, opt in options.items()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        options = (param for param in self.get_params(ctx) if isinstance(param, click.Option))
        records = {option.name: option.get_help_record(ctx) for option in options}
        widest_column = 30 if formatter.width >= NARROW else 6
        last_title = [*self.sections][-1]
        for title, names in self.sections.items():
            section = [records.pop(name) for name in names]
            if title == last_title:
                section += records.values()
            rows = [*filter(None, section)]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=widest_column)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; from then on messages name its options.

        If TRUTH cannot be read because predictions come first, the error says so.
        """
        FLAGS.update(self.flags)
        refuse_outputs(self.params, ctx.params)
        ctx.params = make_arguments(ctx.params)
        try:
            return super().invoke(ctx)
        except ValueError as error:
            refuse_predictions(ctx.params.get("truth"), error)
            raise


def command(
    sections: Sections,
    *functions: Function,
    examples: str = "",
    group: click.Group | None = None,
    short_help: str | None = None,
) -> Callable[[Function], Command]:
    """Return a decorator that makes a command, with options in sections and with examples."""
    epilog = None
    if examples:
        epilog = f"Examples:\n\n\b\n{textwrap.indent(examples, '  ')}"
    declare: Callable[..., Callable[[Function], Command]] = click.command
    if group is not None:
        declare = group.command
    return declare(
        cls=Command, sections=sections, functions=functions, epilog=epilog, short_help=short_help
    )
