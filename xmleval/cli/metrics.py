"""`xmleval metrics`: what can be computed, read from the table of measures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from xmleval.base.conventions import CHOICES, PRESETS, Conventions
from xmleval.cli.output import program_name, screen, show
from xmleval.metrics import ALIASES, GROUPS, TABLE, Metric
from xmleval.metrics.spec import Spec, parse_spec
from xmleval.show.tables import ARROWS, folded

NARROW = 60  # columns below which names are wrapped, too
CUTOFF = {"none": "", "required": "@k", "optional": "[@k]", "all": "@all"}
LEGEND = """@k: first k labels; @all: whole ranking; [@k]: first k as the set.  ↑ higher, ↓ lower is better.
scores: SCORES; sets: --pred or --decision; propensity: --train or --inverse-propensity; training: --train.
groups: {groups}; `xmleval metrics NAME` explains a measure or a group."""
DIRECTION = {"up": "higher is better", "down": "lower is better", "none": "describes the labels"}
EXAMPLES = {  # options, by what a measure needs
    "sets": "--decision top3", "propensity": "--train demo/Y_train.npz",
    "training": "--train demo/Y_train.npz", "hierarchy": "--hierarchy demo/hierarchy.tsv",
    "grades": "--gains linear", "probabilities": "--link sigmoid",
}  # fmt: skip


@click.command()
@click.argument("name", required=False)
def metrics(name: str | None) -> None:
    """List every measure and group, or explain the measure or group NAME."""
    group = (name or "").strip().lower()
    if name is None:
        legend = LEGEND.format(groups=" ".join((*GROUPS, "all")))
        show(_table_of(TABLE), "", *(folded(line, screen()[0]) for line in legend.splitlines()))
    elif group == "all":
        show(_table_of([metric for metric in TABLE if metric.general]))
    elif group in GROUPS:
        members = ", ".join(f"{member}k" if member.endswith("@") else member for member in GROUPS[group])
        show(f"{group}: {members}", "", _table_of([record(member) for member in GROUPS[group]]))
    else:
        for place, metric in enumerate(find_metrics(name)):
            show(*[""] * (place > 0), _explained(metric), f"example: {example(metric)}")


def find_metrics(name: str) -> list[Metric]:
    """Return the records of a name, with or without average and cutoff, in any spelling."""
    key = name.strip().lower()
    by_name = [metric for metric in TABLE if metric.name == key]
    alias = ALIASES.get(key) or ALIASES.get(f"{key}@")
    return by_name or [record(alias) if alias else parse_spec(name).metric]


def record(name: str) -> Metric:
    """Return the record of a name as groups and aliases spell it, such as ``p@`` or ``f1.micro``."""
    by_name = [metric for metric in TABLE if metric.name == name.rstrip("@").partition(".")[0]]
    return by_name[0] if len(by_name) == 1 else parse_spec(f"{name}1" if name.endswith("@") else name).metric


def example(metric: Metric) -> str:
    """Return a command that computes the measure on the files of `xmleval demo --save demo`."""
    params = tuple((name, param.example) for name, param in metric.params.items())
    spec = Spec(metric, (*metric.averages, None)[0], params, 5 if metric.cutoff == "required" else None)
    scores = ["demo/model_head_indices.npy"] if spec.needs else []
    options = dict.fromkeys(EXAMPLES[need] for need in spec.needs if need in EXAMPLES)
    arguments = [*options, *["--unlisted 0.0"] * metric.gapless]
    words = ["evaluate", "demo/Y_test.npz", *scores, "--metrics", shlex.quote(spec.name), *arguments]
    return f"{program_name()} {' '.join(words)}"


def range_of(metric: Metric) -> str:
    """Return the range of a measure's values."""
    low, high = (f"{end:g}" for end in metric.range)
    return f"{low}..{high}"


def _table_of(rows: Sequence[Metric]) -> Table:
    """Return a table of one row a measure, those of one family with the same needs together."""
    narrow = (screen()[0] or NARROW) < NARROW
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "", "range", "what it is"):
        table.add_column(heading, no_wrap=not narrow and heading != "what it is")
    families: dict[tuple[str, str], list[Metric]] = {}
    for metric in dict.fromkeys(rows):
        needs = ", ".join(metric.needs) or "nothing but TRUTH"
        families.setdefault((metric.family, needs), []).append(metric)
    for (family, needs), members in families.items():
        table.add_row(Text(family, style="bold"), "", "", Text(f"needs {needs}", style="italic"))
        for metric in members:
            has_averages = len(metric.averages) > 1
            name = f"  {name_of(metric, 'AVG' if has_averages else ''.join(metric.averages))}"
            title = f"{metric.title}; AVG {' '.join(metric.averages)}" if has_averages else metric.title
            table.add_row(name, ARROWS[metric.direction], range_of(metric), title)
    return table


def name_of(metric: Metric, average: str) -> str:
    """Return how a measure's name is written, with an average or what stands for it."""
    shown = ",".join(f"{name}={param.example:g}" for name, param in metric.params.items())
    params = f"({shown})" if shown else ""
    return f"{metric.name}{f'.{average}' if average else ''}{params}{CUTOFF[metric.cutoff]}"


def _explained(metric: Metric) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    values = {name: f"{param.example:g}" for name, param in metric.params.items()}
    average = "AVG" if len(metric.averages) > 1 else "".join(metric.averages)
    aliases = [alias for alias, name in ALIASES.items() if record(name) is metric]
    groups = [group for group, members in GROUPS.items() if metric in map(record, members)]
    best = (metric.best.__doc__ or "").splitlines()[0] if metric.best is not None else ""
    rows = {
        metric.name: metric.title,
        "names": ", ".join(name_of(metric, average) for average in metric.averages or ("",)),
        "also read": ", ".join(aliases).replace("@", "@k"),
        "printed": metric.symbol.format(k="k", average=average, **values),
        "formula": metric.formula,
        "range": f"{range_of(metric)}, {DIRECTION[metric.direction]}",
        "best": best,
        "needs": ", ".join(metric.needs) or "nothing but TRUTH",
        "groups": ", ".join([*groups, *["all"] * metric.general]),
        "reference": metric.reference,
        **{f"  {name}": _choices(name) for name in metric.conventions},
    }
    for heading, text in rows.items():
        if text:
            table.add_row(heading, text)
    return table


def _choices(name: str) -> str:
    """Describe a convention: its values, the default, and the presets that differ."""
    default = getattr(Conventions(), name)
    choices = map(_plain, CHOICES.get(name, (default, "a number")))
    presets = {preset: getattr(conventions, name) for preset, conventions in PRESETS.items()}
    preset_texts = [f"; {preset}: {value}" for preset, value in presets.items() if value != default]
    return f"{' | '.join(choices)} (default {_plain(default)}{''.join(preset_texts)})"


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
