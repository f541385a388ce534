"""`xmleval metrics`: what can be computed, read from the table of measures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from xmleval.base.conventions import CHOICES, PRESETS, Conventions
from xmleval.cli.output import program_name, screen, show
from xmleval.cli.own_measures import AT_PLACE, PLACE, import_measure
from xmleval.metrics import ALIASES, GROUPS, TABLE, Measure
from xmleval.metrics.entry_points import defined_measure
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.show.tables import ARROWS, folded

NARROW = 60  # columns below which names are wrapped, too
CUTOFF = {"none": "", "required": "@k", "optional": "[@k]", "all": "@all"}
LEGEND = (
    "@k: first k labels; @all: whole ranking; [@k]: first k as the set.  "
    "↑ higher, ↓ lower is better.\n"
    "scores: SCORES; sets: --pred or --decision; "
    "propensity: --train or --inverse-propensity; training: --train.\n"
    "groups: {groups}; `xmleval metrics NAME` explains a measure or a group."
)
DIRECTION = {"up": "higher is better", "down": "lower is better", "none": "describes the labels"}
EXAMPLES = {  # options, by what a measure needs
    "sets": "--decision top3",
    "propensity": "--train demo/Y_train.npz",
    "training": "--train demo/Y_train.npz",
    "hierarchy": "--hierarchy demo/hierarchy.tsv",
    "grades": "--gains linear",
    "probabilities": "--link sigmoid",
}


@click.command()
@click.option(
    "--measure",
    "own_measures",
    metavar=PLACE,
    multiple=True,
    help=f"Explain a measure of your own, {AT_PLACE}.",
)
@click.argument("name", required=False)
def metrics(name: str | None, own_measures: tuple[str, ...]) -> None:
    """List every measure and group, or explain the measure or group NAME."""
    group = (name or "").strip().lower()
    if own_measures and name is not None:
        raise click.UsageError("give NAME or --measure, not both", click.get_current_context())
    if own_measures:
        for place in own_measures:
            _show_explained([import_measure(place)], place)
    elif name is None:
        legend = LEGEND.format(groups=" ".join((*GROUPS, "all")))
        show(_make_table(TABLE), "", *(folded(line, screen()[0]) for line in legend.splitlines()))
    elif group == "all":
        show(_make_table([metric for metric in TABLE if metric.general]))
    elif group in GROUPS:
        members = GROUPS[group]
        names = ", ".join(f"{member}k" if member.endswith("@") else member for member in members)
        show(f"{group}: {names}", "", _make_table([find_metric(member) for member in members]))
    else:
        _show_explained(find_metrics(name))


def _show_explained(measures: Sequence[Measure], place: str = "") -> None:
    """Print the properties of measures, with a command that computes each.

    place : place of a measure of the user
    """
    for number, measure in enumerate(measures):
        command = example(measure)
        if place:
            command += f" --measure {place}"
        parts: list[RenderableType] = [_explain(measure), f"example: {command}"]
        if number > 0:
            parts.insert(0, "")
        show(*parts)


def find_metrics(name: str) -> list[Measure]:
    """Return the records of a name, with or without average and cutoff, in any spelling."""
    key = name.strip().lower()
    matching = [metric for metric in TABLE if metric.name == key]
    if matching:
        return matching
    own = defined_measure(key)
    if own is not None:
        return [own]
    alias = ALIASES.get(key) or ALIASES.get(f"{key}@")
    if alias:
        return [find_metric(alias)]
    return [parse_spec(name).metric]


def find_metric(name: str) -> Measure:
    """Return the record of a name in a group or an alias, such as ``p@`` or ``f1.micro``."""
    plain_name, _, _ = name.rstrip("@").partition(".")
    matching = [metric for metric in TABLE if metric.name == plain_name]
    if len(matching) == 1:
        return matching[0]
    if name.endswith("@"):
        name = f"{name}1"
    return parse_spec(name).metric


def example(metric: Measure) -> str:
    """Return a command that computes the measure on the files of `xmleval demo --save demo`."""
    params = tuple((name, param.example) for name, param in metric.params.items())
    average = metric.averages[0] if metric.averages else None
    k = 5 if metric.cutoff == "required" else None
    spec = Spec(metric, average, params, k)
    words = [program_name(), "evaluate", "demo/Y_test.npz"]
    if spec.needs:
        words.append("demo/model_head_indices.npy")
    words += ["--metrics", shlex.quote(spec.name)]
    words += dict.fromkeys(EXAMPLES[need] for need in spec.needs if need in EXAMPLES)
    words += [f"--label-data {name}=FILE" for name in metric.label_data]
    words += [f"--row-data {name}=FILE" for name in metric.row_data]
    if metric.gapless:
        words.append("--unlisted 0.0")
    return " ".join(words)


def range_of(metric: Measure) -> str:
    """Return the range of a measure's values."""
    low, high = metric.range
    return f"{low:g}..{high:g}"


def _make_table(rows: Sequence[Measure]) -> Table:
    """Return a table with a row for every measure, by family and needs."""
    columns, _ = screen()
    is_narrow = (columns or NARROW) < NARROW
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "", "range"):
        table.add_column(heading, no_wrap=not is_narrow)
    table.add_column("what it is", no_wrap=False)
    families: dict[tuple[str, str], list[Measure]] = {}
    for metric in dict.fromkeys(rows):
        needs = ", ".join(metric.needs) or "nothing but TRUTH"
        families.setdefault((metric.family, needs), []).append(metric)
    for (family, needs), members in families.items():
        table.add_row(Text(family, style="bold"), "", "", Text(f"needs {needs}", style="italic"))
        for metric in members:
            title = metric.title
            if len(metric.averages) > 1:
                title += f"; AVG {' '.join(metric.averages)}"
            name = name_of(metric, _placeholder(metric))
            table.add_row(f"  {name}", ARROWS[metric.direction], range_of(metric), title)
    return table


def _placeholder(metric: Measure) -> str:
    """Return AVG for the averages of a measure, a single one, or an empty text."""
    if len(metric.averages) > 1:
        return "AVG"
    return "".join(metric.averages)


def name_of(metric: Measure, average: str) -> str:
    """Return the name of a measure as users write it, with an average or a placeholder."""
    name = metric.name
    if average:
        name += f".{average}"
    params = ",".join(f"{param}={spec.text(spec.example)}" for param, spec in metric.params.items())
    if params:
        name += f"({params})"
    return f"{name}{CUTOFF[metric.cutoff]}"


def _explain(metric: Measure) -> Table:
    """Return a table of the properties of a measure."""
    examples = {name: param.text(param.example) for name, param in metric.params.items()}
    aliases = [alias for alias, name in ALIASES.items() if find_metric(name) is metric]
    best = ""
    if metric.best is not None:
        best = (metric.best.__doc__ or "").splitlines()[0]
    rows = {
        metric.name: metric.title,
        "names": ", ".join(name_of(metric, average) for average in metric.averages or ("",)),
        "also read": ", ".join(aliases).replace("@", "@k"),
        "printed": metric.symbol.format(k="k", average=_placeholder(metric), **examples),
        "formula": metric.formula,
        "range": f"{range_of(metric)}, {DIRECTION[metric.direction]}",
        "best": best,
        "levels": _describe_levels(metric),
        "needs": ", ".join(metric.needs) or "nothing but TRUTH",
        "groups": ", ".join(_list_groups(metric)),
        "reference": metric.reference,
    }
    for name in metric.conventions:
        rows[f"  {name}"] = _choices(name)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    for heading, text in rows.items():
        if text:
            table.add_row(heading, text)
    return table


def _describe_levels(metric: Measure) -> str:
    """Return how a name sets the level of relevance; empty if it cannot."""
    averages = [each for each in metric.averages or (None,) if metric.has_levels(each)]
    if not averages:
        return ""
    params = tuple((name, param.example) for name, param in metric.params.items())
    k = 5 if metric.cutoff == "required" else None
    return f"labels from grade 2 on are relevant in {Spec(metric, averages[0], params, k, 2)}"


def _list_groups(metric: Measure) -> list[str]:
    """Return the groups of a measure."""
    groups = [group for group, members in GROUPS.items() if metric in map(find_metric, members)]
    if metric.general:
        groups.append("all")
    return groups


def _choices(name: str) -> str:
    """Describe a convention: its values, the default, and the presets that differ."""
    default = getattr(Conventions(), name)
    choices = " | ".join(map(_plain, CHOICES.get(name, (default, "a number"))))
    presets = ""
    for preset, conventions in PRESETS.items():
        value = getattr(conventions, name)
        if value != default:
            presets += f"; {preset}: {value}"
    return f"{choices} (default {_plain(default)}{presets})"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
