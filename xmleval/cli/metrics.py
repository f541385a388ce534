"""`xmleval metrics`: what can be computed, read from the table of measures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmleval.cli.help import NARROW
from xmleval.cli.output import program_name, screen, show
from xmleval.conventions import CHOICES, PRESETS, Conventions
from xmleval.metrics import ALIASES, GROUPS, TABLE, Metric
from xmleval.report.tables import ARROWS, folded
from xmleval.spec import Spec, parse_spec

CUTOFF = {"none": "", "required": "@k", "optional": "[@k]", "all": "@all"}
LEGEND = """@k: first k labels; @all: whole ranking; [@k]: first k as the set.  ↑ higher, ↓ lower is better.
scores: SCORES; sets: --pred or --decision; propensity: --train or --inverse-propensity; training: --train.
groups: {groups}; `xmleval metrics NAME` explains a measure or a group."""
DIRECTION = {"up": "higher is better", "down": "lower is better", "none": "describes the labels"}


@click.command()
@click.argument("name", required=False)
def metrics(name: str | None) -> None:
    """List every measure and group, or explain the measure or group NAME."""
    group = (name or "").strip().lower()
    if name is None:
        legend = LEGEND.format(groups=" ".join((*GROUPS, "all")))
        lines = [folded(line, screen()[0]) for line in legend.splitlines()]
        show(_table_of(TABLE), "", *lines)
    elif group == "all":
        show(_table_of([metric for metric in TABLE if metric.general]))
    elif group in GROUPS:
        show(f"{group}: {_joined(GROUPS[group])}", "", _table_of([record(text) for text in GROUPS[group]]))
    else:
        parts = [
            part
            for metric in find_metrics(name)
            for part in ("", _explained(metric), f"example: {example(metric)}")
        ]
        show(*parts[1:])


def find_metrics(name: str) -> list[Metric]:
    """Return the records of a name, with or without average and cutoff, in any spelling."""
    key = name.strip().lower()
    known = [metric for metric in TABLE if metric.name == key]
    alias = ALIASES.get(key) or ALIASES.get(f"{key}@")
    if not known and alias:
        known = [record(alias)]
    return known or [parse_spec(name).metric]


def record(name: str) -> Metric:
    """Return the record of a name as groups and aliases spell it, such as ``p@`` or ``f1.micro``."""
    known = [metric for metric in TABLE if metric.name == name.rstrip("@").partition(".")[0]]
    return known[0] if len(known) == 1 else parse_spec(f"{name}1" if name.endswith("@") else name).metric


def example(metric: Metric) -> str:
    """Return a command that computes the measure on the files of `xmleval demo --save demo`."""
    average = metric.averages[0] if metric.averages else None
    params = tuple((name, param.example) for name, param in metric.params.items())
    spec = Spec(metric, average, params, 5 if metric.cutoff == "required" else None)
    words = ["evaluate", "demo/Y_test.npz"]
    if spec.needs:
        words.append("demo/model_head_indices.npy")
    words += ["--metrics", spec.name]
    if "sets" in spec.needs:
        words += ["--decision", "top3"]
    if {"propensity", "training"} & {*spec.needs}:
        words += ["--train", "demo/Y_train.npz"]
    if "hierarchy" in spec.needs:
        words += ["--hierarchy", "demo/hierarchy.tsv"]
    if "grades" in spec.needs:
        words += ["--gains", "linear"]
    if metric.gapless:
        words += ["--unlisted", "0.0"]
    if "probabilities" in spec.needs:
        words += ["--link", "sigmoid"]
    return f"{program_name()} {shlex.join(words)}"


def _needs(metric: Metric) -> str:
    return ", ".join(metric.needs) or "nothing but TRUTH"


def range_of(metric: Metric) -> str:
    """Return the range of a measure's values."""
    low, high = (f"{end:g}" for end in metric.range)
    return f"{low}..{high}"


def _table_of(rows: Sequence[Metric]) -> Table:
    """Return a table of one row a measure, those of one family with the same needs together.

    On a narrow terminal, what a measure is stands below its name.
    """
    width = screen()[0]
    narrow = width is not None and width < NARROW
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "", "range", *([] if narrow else ["what it is"])):
        table.add_column(heading, no_wrap=heading in ("", "range") or (heading == "name" and not narrow))

    def add(name: Text, direction: str, span: str, told: Text) -> None:
        if narrow:
            table.add_row(name, direction, span)
            table.add_row(Padding(told, (0, 0, 0, 4)))
        else:
            table.add_row(name, direction, span, told)

    families: dict[tuple[str, str], dict[Metric, None]] = {}
    for metric in rows:
        families.setdefault((metric.family, _needs(metric)), {})[metric] = None
    for (family, needs), members in families.items():
        add(Text(family, style="bold"), "", "", Text(f"needs {needs}", style="italic"))
        for metric in members:
            several = len(metric.averages) > 1
            name = f"  {name_of(metric, 'AVG' if several else ''.join(metric.averages))}"
            title = f"{metric.title}; AVG {' '.join(metric.averages)}" if several else metric.title
            add(Text(name), ARROWS[metric.direction], range_of(metric), Text(title))
    return table


def _joined(members: Sequence[str]) -> str:
    """Join names, the averages of one measure together, ``.*`` where none is missing."""
    averages: dict[Metric, list[str]] = {}
    for member in members:
        averages.setdefault(record(member), []).append(member.partition(".")[2])
    return ", ".join(
        name_of(
            metric, "*" if len(found) > 1 and {*found} == {*metric.averages} else "|".join(found)
        ).replace("[@k]", "")
        for metric, found in averages.items()
    )


def name_of(metric: Metric, average: str) -> str:
    """Return how a measure's name is written, with an average or what stands for it."""
    shown = ",".join(f"{name}={param.example:g}" for name, param in metric.params.items())
    params = f"({shown})" if shown else ""
    return f"{metric.name}{f'.{average}' if average else ''}{params}{CUTOFF[metric.cutoff]}"


def _explained(metric: Metric) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    table.add_row(metric.name, metric.title)
    table.add_row("names", ", ".join(name_of(metric, average) for average in metric.averages or ("",)))
    aliases = [alias for alias, name in ALIASES.items() if record(name) is metric]
    if aliases:
        table.add_row("also read", ", ".join(aliases).replace("@", "@k"))
    values = {name: f"{param.example:g}" for name, param in metric.params.items()}
    average = "AVG" if len(metric.averages) > 1 else "".join(metric.averages)
    table.add_row("printed", metric.symbol.format(k="k", average=average, **values))
    table.add_row("formula", metric.formula)
    table.add_row("range", f"{range_of(metric)}, {DIRECTION[metric.direction]}")
    if metric.best is not None:
        table.add_row("best", (metric.best.__doc__ or "").splitlines()[0])
    table.add_row("needs", _needs(metric))
    groups = [group for group, members in GROUPS.items() if metric in map(record, members)]
    if metric.general or groups:
        table.add_row("groups", ", ".join([*groups, *(["all"] if metric.general else [])]))
    table.add_row("reference", metric.reference)
    for name in metric.conventions:
        table.add_row(f"  {name}", _choices(name))
    return table


def _choices(name: str) -> str:
    """Describe a convention: its default, its other values, and the presets that differ."""
    default = getattr(Conventions(), name)
    others = [f"{value:g}" if isinstance(value, float) else str(value) for value in CHOICES.get(name, ())]
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    choices = " | ".join(others) if others else f"{shown} | a number"
    presets = [
        f"; {preset}: {getattr(conventions, name)}"
        for preset, conventions in PRESETS.items()
        if getattr(conventions, name) != default
    ]
    return f"{choices} (default {shown}{''.join(presets)})"
