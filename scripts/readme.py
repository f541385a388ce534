"""Update tables and outputs of shell examples in the documentation, or list its commands.

python scripts/readme.py write [PAGE...]    rewrite tables and outputs
python scripts/readme.py command test       print the first command that installs and tests
python scripts/readme.py command demo       print the first command that installs and runs
python scripts/readme.py shell              print the commands of all examples, one a line

Tables are between `<!-- NAME: written by scripts/readme.py -->` and `<!-- end of NAME -->`. In
`console` blocks, lines that start with `$ ` are run and followed by their output; in `sh` blocks,
lines that start with `xmleval ` are run without showing output. A command goes on in the next line
after a backslash. Other commands than `xmleval`, such as `printf`, are run by the shell.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = ROOT / "xmleval" / "docs"
DOCUMENTS = (
    README,
    *sorted(PAGES.glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "scripts/limo", "tests")),
)
RESULTS = ROOT / "benchmarks" / "results"
EXAMPLES = re.compile(r"```(console|sh)\n(.*?)```", re.S)
INSTALL = re.compile(r"^(python3 -m venv .*)$", re.M)


def to_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = []
    for row in (header, ["---"] * len(header), *rows):
        cells = [cell.replace("|", r"\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measures_table() -> str:
    """Return the names of all measures, a line for each family, with links to their sections."""
    from scripts.measure_pages import index

    return index()


def pages_table() -> str:
    """Return the pages of the documentation, with the question that each answers."""
    from scripts.docs import SECTIONS, pages_of

    parts = []
    for section, about in SECTIONS.items():
        rows = [
            f"| [{page.title}]({page.name}.md) | {page.question} |" for page in pages_of(section)
        ]
        lines = [f"## {section}", "", about, "", "| page | question |", "| --- | --- |", *rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def aliases_table() -> str:
    """Return the names that are read as those of measures, by where they are used."""
    from xmleval.metrics.aliases import ALIASES_BY_SOURCE

    ends = {"@": "@k", ".": ".AVG"}
    rows = []
    for source, aliases in ALIASES_BY_SOURCE.items():
        pairs = []
        for alias, name in aliases.items():
            end = ends.get(alias[-1], "")
            pairs.append(f"`{alias.rstrip('@.')}{end}` = `{name.rstrip('@.')}{end}`")
        rows.append([source, ", ".join(pairs)])
    return to_table(["used in", "names, and what they are here"], rows)


def datasets_table() -> str:
    """Return the data sets with published constants of the propensity model."""
    from xmleval.labels.datasets import PUBLISHED

    by_constants: dict[tuple[str, ...], list[str]] = {}
    for name, a, b, source in PUBLISHED:
        by_constants.setdefault((f"{a:g}", f"{b:g}", source), []).append(f"`{name}`")
    rows = [[*constants, ", ".join(names)] for constants, names in by_constants.items()]
    return to_table(["A", "B", "source", "data sets"], rows)


def formats_table() -> str:
    """Return the table of file formats."""
    from xmleval.io import known_formats

    rows = []
    for file_format in known_formats():
        name = f"`{file_format.name}`"
        files = ", ".join(file_format.extensions)
        contents = " and ".join(file_format.holds)
        written = "yes" if file_format.write else ""
        rows.append([name, file_format.title, files, contents, written])
    return to_table(["format", "what it is", "files", "holds", "written"], rows)


def speed_table() -> str:
    """Return the short table of the latest benchmark results."""
    from benchmarks.tables import read_results, short_table

    return short_table(read_results(RESULTS)["comparison"])


def apart_list() -> str:
    """Return properties with numbers of the latest benchmark results."""
    from benchmarks.tables import read_results, records_of

    method = "https://github.com/xmleval/xmleval/blob/main/benchmarks/README.md"
    records = records_of(read_results(RESULTS)["comparison"], "micro_auc", "W4")
    mib = {name: f"{record['above_bytes'] / 2**20:,.0f} MiB" for name, record in records.items()}
    streams = json.loads((RESULTS / "streams.json").read_text(encoding="utf-8"))
    longest = max(streams, key=lambda stream: (stream["scores"], stream["peak_bytes"]))
    coverage = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))["coverage"]
    first = coverage[0]
    memory = (
        f"Exact micro-AUC of a stream of 10^{len(str(longest['scores'])) - 1} float32 scores took "
        f"{longest['peak_bytes'] / 2**20:,.0f} MiB at its peak. For micro-AUC of 74 million scores "
        f"in memory, xmleval needs {mib['xmleval']} beyond the inputs, torchmetrics "
        f"{mib['torchmetrics']}, and scikit-learn {mib['scikit-learn']}."
    )
    intervals = (
        f"`confidence=0.95` gives nearly every measure an interval. The interval of P@5 contained "
        f"the true mean in {first['covered']:.1%} of {first['sets']:,} simulated data sets."
    )
    texts = [
        f"**[Bounded memory]({method}#streams-of-scores).** {memory}",
        f"**[Uncertainty]({method}#do-the-intervals-cover).** {intervals}",
    ]
    return "\n".join("\n  ".join(textwrap.wrap(f"- {text}", 130)) for text in texts)


def benchmark_tables() -> str:
    """Return the tables of the latest benchmark results."""
    return (RESULTS / "tables.md").read_text(encoding="utf-8").strip()


def results_table(name: str) -> str:
    """Return the table that a module of benchmarks makes of its latest results."""
    results = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    text: str = importlib.import_module(f"benchmarks.{name}").table_of(results)
    return text


def conventions_table() -> str:
    """Return the fields of conventions, with their values and the presets that differ."""
    from xmleval.base.conventions import CHOICES, PRESETS, Conventions

    rows = []
    for field, default in Conventions().as_dict().items():
        choices = [f"{c:g}" if isinstance(c, float) else c for c in CHOICES.get(field, ())]
        others = [f"`{choice}`" for choice in choices if choice != plain(default)]
        if field in ("unlisted", "relevant_from"):
            others.append("a number")
        presets = []
        for name, preset in PRESETS.items():
            value = preset.as_dict()[field]
            if value != default:
                presets.append(f"`{name}`: `{plain(value)}`")
        link = f"[`{field}`](#{field})"
        rows.append([link, f"`{plain(default)}`", ", ".join(others), ", ".join(presets)])
    return to_table(["field", "default", "other values", "presets that differ"], rows)


def plain(value: object) -> str:
    """Return a value of a convention as users write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def family_tables() -> dict[str, Callable[[], str]]:
    """Return what writes the sections of measures, by the name of their table."""
    from scripts.measure_pages import families, measures_of

    return {f"measures {family}": partial(measures_of, family) for family in families()}


TABLES: Mapping[str, Callable[[], str]] = {
    "measures": measures_table,
    "pages": pages_table,
    "conventions": conventions_table,
    "aliases": aliases_table,
    "datasets": datasets_table,
    "formats": formats_table,
    "speed": speed_table,
    "apart": apart_list,
    "benchmarks": benchmark_tables,
    **{
        name: partial(results_table, name)
        for name in ("label_sets", "many_labels", "processes", "streams")
    },
}


def with_tables(text: str) -> str:
    """Return a text with updated tables."""
    for name, write in {**TABLES, **family_tables()}.items():
        begin = f"<!-- {name}: written by scripts/readme.py -->"
        end = f"<!-- end of {name} -->"
        if begin in text:
            before, section = text.split(begin)
            after = section.split(end)[1]
            text = f"{before}{begin}\n{write()}\n{end}{after}"
    return text


def with_outputs(text: str) -> str:
    """Run the examples of a text, and return it with updated outputs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):

        def run(block: re.Match[str]) -> str:
            lines = "".join(f"$ {text}\n{output(joined(text))}" for text in commands_of(block))
            if block[1] == "console":
                return f"```console\n{lines}```"
            return block[0]

        return EXAMPLES.sub(run, text)


def output(command: str) -> str:
    """Run a command, and return its standard error and output.

    It must succeed, and write to standard error only lines that begin with ``xmleval: ``.
    """
    from xmleval.cli import main

    if not command.startswith("xmleval "):
        return subprocess.run(
            ["bash", "-c", command], check=True, capture_output=True, text=True
        ).stdout
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(command)[1:])
    messages = err.getvalue()
    if code or any(not line.startswith("xmleval: ") for line in messages.splitlines()):
        raise RuntimeError(f"{command}: exit {code}\n{messages}")
    lines = (messages + out.getvalue()).splitlines()
    # what depends on the machine is no part of the output
    lines = [line for line in lines if not line.startswith("xmleval: compiling kernels")]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def commands_of(block: re.Match[str]) -> list[str]:
    """Return the commands of a block that are run, as they stand in it."""
    start = {"console": r"\$ ", "sh": "(?=xmleval )"}[block[1]]
    return re.findall(rf"^{start}((?:.*\\\n)*.*)$", block[2], re.M)


def joined(command: str) -> str:
    """Return a command on one line."""
    return re.sub(r"\\\n *", "", command)


def shell_commands(text: str) -> list[str]:
    """Return the commands of all examples."""
    return [joined(line) for block in EXAMPLES.finditer(text) for line in commands_of(block)]


def install_command(text: str, kind: str) -> str:
    """Return the first command that installs and runs the demo, or installs and tests."""
    word = {"demo": "xmleval demo", "test": "pytest"}[kind]
    commands: list[str] = INSTALL.findall(text)
    return next(line for line in commands if word in line)


def main(arguments: list[str]) -> None:
    """Run one of the commands above."""
    if arguments[:1] == ["write"]:
        sys.path.insert(0, str(ROOT))
        for path in DOCUMENTS:
            if path.stem in arguments[1:] or not arguments[1:]:
                text = with_tables(path.read_text(encoding="utf-8"))
                path.write_text(with_outputs(text), encoding="utf-8")
    elif arguments == ["shell"]:
        commands: list[str] = []
        for path in DOCUMENTS:
            commands += shell_commands(path.read_text("utf-8"))
        print("\n".join(commands))
    elif arguments[:1] == ["command"]:
        print(install_command(README.read_text("utf-8"), arguments[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
