"""Options of the command line, declared once; each is an argument of the function that a command calls."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click

from xmleval.base.conventions import CHOICES, PRESETS, Conventions
from xmleval.cli.files import FILE, OF_FIELDS, STATE, FileName, Scanning, refuse_outputs
from xmleval.cli.files import RESULT as RESULT_FILE
from xmleval.cli.messages import FLAGS
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
    Parsed,
    Whole,
)  # fmt: skip
from xmleval.evaluation.request import Running
from xmleval.files.output import refuse_ending
from xmleval.files.remote import as_path
from xmleval.input.scan import Scan
from xmleval.input.shards import FORMATS
from xmleval.labels.datasets import PUBLISHED
from xmleval.labels.propensity import TrainingLabels
from xmleval.metrics import GROUPS
from xmleval.metrics.spec import DEFAULT_K
from xmleval.show.tables import FORMS

Function = Callable[..., Any]
# files that are read by rows
SCANNED = ("truth", "scores", "source", "like", "y_train", "y_pred", "candidates")
PLAIN_TEXT = ("", ".txt")  # endings of a result in any form
NARROW = 60  # columns below which the help of an option is on lines of its own
FORMAT_HELP = "Format of text input files, and of files whose names do not show it."


class Opt(NamedTuple):
    """An option of the command line, which is an argument of the function that a command calls.

    type, metavar : what its value is, and what the help calls it
    help : what it does; default what the docstring of the function says
    flag : how it is spelled; default as the argument
    extra : what else click takes
    """

    type: click.ParamType[Any] | type[str] | None
    metavar: str | None = None
    help: str | None = None
    flag: str | None = None
    extra: Mapping[str, Any] = {}


def flag_of(name: str, opt: Opt) -> str:
    """Return how an option is spelled."""
    return opt.flag or f"--{name.replace('_', '-')}"


def arguments_of(function: Function, flags: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    """Return what the docstring of a function says of each argument, in options, and its default.

    Of a description, the first paragraph is taken, up to what can be seen in Python alone: "See ...".
    """
    section = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")[2]
    entries = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", section, re.M)
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    texts = {name: " ".join(text.split()).partition(" See ")[0] for name, text in entries}
    spelled = {
        name: re.sub("`+([^`]+)`+", lambda quoted: flags.get(quoted[1], quoted[1]), text)
        for name, text in texts.items()
    }
    return {name: (text, defaults.get(name)) for name, text in spelled.items()}


def described(field: str) -> str:
    """Return what the docstring of `Conventions` says of a field."""
    return arguments_of(Conventions, {})[field][0]


def as_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the values of options stand for, some of which are parts of one argument."""
    arguments = {**values}
    fields_alone = _taken(arguments, FIELDS_ALONE)
    fields = [f"{name}={value}" for name, value in fields_alone.items() if value is not None]
    if fields:
        arguments["conventions"] = ",".join([*filter(None, [arguments.get("conventions")]), *fields])
    if "input_format" in arguments:
        _scan_files(arguments)
    constants = _taken(arguments, OF_MODEL)
    if any(value is not None for value in constants.values()):
        arguments["y_train"] = TrainingLabels(arguments["y_train"], **constants)
    if not arguments.keys().isdisjoint((*RUNS, "first_row")):
        arguments["running"] = _running(_taken(arguments, (*RUNS, *SAVE, "first_row")))
    return arguments


def _scan_files(arguments: dict[str, Any]) -> None:
    """Put how files are read in place of its options, for commands to use, and scan those of options."""
    predictions = (*_listed(arguments.get("scores")), *_listed(arguments.get("y_pred")))
    how = Scanning(**_taken(arguments, FORMAT), predictions=predictions)
    how.refuse_unused([path for name in SCANNED for path in _listed(arguments.get(name))])
    arguments["how"] = how
    scans = {"y_train": how.training, "candidates": how.candidates, "y_pred": how.scores}
    for name, scan_file in scans.items():
        if arguments.get(name) is not None:
            arguments[name] = scan_file(arguments[name])


def _running(values: dict[str, Any]) -> Running:
    """Return how an evaluation is run, by the values of options."""
    workers, scheduler = values.pop("workers", None), values.pop("scheduler", None)
    if None not in (workers, scheduler):
        text = "--workers is given together with --scheduler; choose one"
        raise click.UsageError(text, click.get_current_context())
    FLAGS["executor"] = "--workers" if scheduler is None else "--scheduler"
    return Running(**values, executor=workers or scheduler)


def _listed(value: Path | tuple[Path, ...] | None) -> Sequence[Path]:
    """Return the files of an argument, which has one, several or none."""
    return value if isinstance(value, tuple) else [] if value is None else [value]


def training_file(arguments: Mapping[str, Any]) -> Path | None:
    """Return the file of training labels among the arguments of a command."""
    y_train: TrainingLabels | Path | Scan | None = arguments["y_train"]
    labels = y_train.labels if isinstance(y_train, TrainingLabels) else y_train
    return None if labels is None else as_path(labels)


def _taken(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Take out the values of options by name, of those that a command has."""
    return {name: values.pop(name) for name in names if name in values}


FIELDS_ALONE = {  # of conventions, that have options of their own
    "gains": Opt(Choice(["linear", "exp"]), "RULE", described("gains")),
    "unlisted": Opt(str, "SCORE", described("unlisted")),
    "link": Opt(Choice(CHOICES["link"]), None, described("link")),
}
OF_MODEL = {  # of inverse propensities
    "dataset": Opt(
        str, "NAME",
        "With --train: take the published constants A and B of the propensity model for a data set: "
        f"{', '.join(constants.dataset for constants in PUBLISHED)}. The result names their source.",
    ),
    "a": Opt(NUMBER, "NUMBER", "Constant A of the propensity model, in place of 0.55."),
    "b": Opt(NUMBER, "NUMBER", "Constant B of the propensity model, in place of 1.5."),
}  # fmt: skip
SWITCH, DISTANCES = {"flag_value": True, "default": False}, {"flag_value": False, "default": True}
LIST, REQUIRED = {"multiple": True}, {"required": True}
COMPLETE_LISTS = Opt(None, extra=SWITCH)  # of commands that compare models
INPUTS = {
    "y_train": Opt(FILE, "Y_TRAIN", flag="--train"),
    "exclude": Opt(FILE),
    "exclude_from": Opt(click.Choice(["both", "predictions"])),
    "candidates": Opt(FILE),
    "n_labels": Opt(LABEL_COUNT, "N", "Number of labels, where no file tells it."),
    "sample_weight": Opt(FILE),
    "labels": Opt(FILE),
    "input_format": Opt(
        Choice([form.name for form in FORMATS]),
        "FORMAT",
        f"{FORMAT_HELP} "
        + "; ".join(f"{form.name}: {form.title}, {form.endings}" for form in FORMATS)
        + ". Texts may also end in .gz.",
    ),
    "label_field": Opt(
        str, "NAME", "Of CSV and JSON Lines: the field of relevant labels, in TRUTH and --train.",
    ),
    "scores_label_field": Opt(
        str, "NAME", "Likewise: the field of predicted labels, in SCORES, --pred and --candidates.",
    ),
    "score_field": Opt(
        str, "NAME", "The field of their scores, where it is not found; of TRUTH alone, that of judgements.",
    ),
    "instance_field": Opt(str, "NAME", "The field by which rows of several files are joined."),
    "separator": Opt(
        Parsed(lambda text: {r"\t": "\t"}.get(text, text)), "TEXT",
        "What stands between the labels of a field, such as ';'; JSON lists need none.",
    ),
}  # fmt: skip
MEASURES = {
    "metrics": Opt(
        NAMES, "NAMES",
        f"Measures and groups ({', '.join(GROUPS)}, all), separated by commas; `xmleval metrics` explains.",
        extra=LIST | {"show_default": "xmc"},
    ),
    "k": Opt(
        CUTOFFS, "LIST",
        "Cutoffs of measures at k that are named without one, such as 1-20; "
        f"default {','.join(map(str, DEFAULT_K))}.",
        extra=LIST | {"default": [DEFAULT_K], "show_default": False},
    ),
    **FIELDS_ALONE,
    "higher_is_better": Opt(None, None, "Scores are distances.", "--lower-is-better", DISTANCES),
    "conventions": Opt(
        CONVENTIONS, "NAMES",
        "What papers and libraries define differently, such as ties and 0/0: a preset "
        f"({', '.join(PRESETS)}), fields such as labels=present,empty=skip, or both, as in "
        "sklearn,labels=present; `xmleval metrics NAME` lists the fields of a measure and their values.",
    ),
    "bounds": Opt(None, extra=SWITCH),
    "inverse_propensity": Opt(FILE),
    **OF_MODEL,
    "hierarchy": Opt(FILE),
}  # fmt: skip
CONFIDENCE = {
    "confidence": Opt(NUMBER, "LEVEL"),
    "clusters": Opt(FILE),
    "first_row": Opt(Whole(min=0), "N"),
}
GROUPING = {
    "label_groups": Opt(
        LABEL_GROUPS, "GROUPS",
        "Measures within groups of labels, too, and the shares of groups in the values of all labels: "
        "deciles of the positives of --train, largest numbers of training rows (0,10,100: none, tail, torso, "
        "head), or a FILE with label and group on each line.",
    ),
    "row_groups": Opt(FILE),
}  # fmt: skip
SETS = {
    "y_pred": Opt(FILE, flag="--pred"),
    "decision": Opt(DECISION, "RULE"),
}
RESOURCES = {"memory": Opt(str, "SIZE"), "threads": Opt(COUNT, "N")}
RUNS = {
    "workers": Opt(COUNT, "N", "Count in so many new processes of this machine."),
    "scheduler": Opt(
        str, "ADDRESS",
        "Count on the Dask cluster of this scheduler, whose workers see the files and the checkpoint.",
    ),
    "checkpoint": Opt(FILE, "DIR"),
    "resume": Opt(None, extra=SWITCH),
}  # fmt: skip
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
OF_MODELS = {name: opt for name, opt in MEASURES.items() if name != "bounds"} | {"decision": SETS["decision"]}
COMPARED = {"Inputs": INPUTS, "Measures": OF_MODELS, "Output": {}, "Resources": RESOURCES}
EVERY = {name: opt for section in (*EVALUATION.values(), RUNS, SAVE) for name, opt in section.items()}


FIELDS = {name: INPUTS[name] for name in OF_FIELDS}
FORMAT = {"input_format": INPUTS["input_format"]._replace(help=FORMAT_HELP, metavar=None), **FIELDS}
FLAGS.update({name: flag_of(name, opt) for name, opt in EVERY.items()})


def option(name: str, opt: Opt, arguments: Mapping[str, tuple[str, Any]]) -> click.Option:
    """Return an option as click has it; a file is called FILE."""
    text, default = arguments.get(name, ("", None))
    defaults: dict[str, Any] = {"default": default, "show_default": default is not True} if default else {}
    if opt.extra.get("multiple"):  # of which each is a list
        defaults["callback"] = lambda context, parameter, lists: [*chain(*lists)] or None
    metavar = opt.metavar or ("FILE" if isinstance(opt.type, FileName) else None)
    words = {"type": opt.type, "help": opt.help or text, "metavar": metavar}
    return click.Option([flag_of(name, opt), name], **{**words, **defaults, **opt.extra})


def format_option(forms: Sequence[str] = ("table", "json")) -> Opt:
    """Return the option for the form of the result, by default that of the suffix of --output."""

    def by_suffix(context: click.Context, parameter: click.Parameter, form: str | None) -> str:
        output: Path | None = context.params.get("output")  # read first, see `OUTPUT`
        if output is None:
            return form or "table"
        if form is not None:
            refuse_ending(output, f"{form} (--format)", (*PLAIN_TEXT, *FORMS[form]))
            return form
        form_of = {ending: name for name in forms for ending in FORMS[name]}
        refuse_ending(output, "the result", (*PLAIN_TEXT, *form_of), others=False)
        return form_of.get(output.suffix.lower(), "table")

    help_text = f"Form of the result: {', '.join(forms)}; default by the suffix of --output, else a table."
    return Opt(Choice(forms), "FORM", help_text, "--format", {"callback": by_suffix})


OUTPUT = Opt(
    RESULT_FILE,
    None,
    "File for the result, written whole or not at all; default stdout.",
    extra={"is_eager": True},
)
RESULT = {"output_format": format_option([*FORMS]), "output": OUTPUT}
Sections = Mapping[str, Mapping[str, Opt]]


class Command(click.Command):
    """A command whose help lists its options in sections, and which refuses its outputs before it begins.

    Parameters
    ----------
    sections : dict of str to dict of str to Opt
        Options by title and by the name of the argument; others are in the last section.
    functions : functions
        The help of an option is that of the argument it is, of the first function that has it.
    """

    def __init__(
        self, name: str | None, *, sections: Sections, functions: Sequence[Function], **attributes: Any
    ) -> None:
        super().__init__(name, **attributes)
        self.sections = sections
        options = {name: opt for section in sections.values() for name, opt in section.items()}
        self.flags = {name: flag_of(name, opt) for name, opt in options.items()}
        arguments = ChainMap(*(arguments_of(function, FLAGS | self.flags) for function in functions))
        self.params += [option(name, opt, arguments) for name, opt in options.items()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        options = (param for param in self.get_params(ctx) if isinstance(param, click.Option))
        records = {option.name: option.get_help_record(ctx) for option in options}
        for title, names in self.sections.items():
            of_section = [records.pop(name) for name in names]
            if title == [*self.sections][-1]:
                of_section += records.values()
            if rows := [*filter(None, of_section)]:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=30 if formatter.width >= NARROW else 6)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; messages name its options from then on, and tell where predictions come first."""
        FLAGS.update(self.flags)
        refuse_outputs(self.params, ctx.params)
        ctx.params = as_arguments(ctx.params)
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
    """Return a decorator that makes a command, of a group, with options in sections and with examples."""
    epilog = f"Examples:\n\n\b\n{textwrap.indent(examples, '  ')}" if examples else None
    declare: Callable[..., Callable[[Function], Command]] = click.command
    if group is not None:
        declare = group.command
    return declare(cls=Command, sections=sections, functions=functions, epilog=epilog, short_help=short_help)
