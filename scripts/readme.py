"""Update tables and outputs of shell examples in the documentation, or list its commands.

python scripts/readme.py write              rewrite tables and outputs
python scripts/readme.py command test       print the first command that installs and tests
python scripts/readme.py command demo       print the first command that installs and runs
python scripts/readme.py shell              print the xmleval commands of all examples

Tables are between `<!-- NAME: written by scripts/readme.py -->` and `<!-- end of NAME -->`. In
`console` blocks, lines that start with `$ ` are run and followed by their output; in `sh` blocks,
lines that start with `xmleval ` are run without showing output.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCUMENTS = (
    README,
    *(
        ROOT / folder / "README.md"
        for folder in (
            "xmleval/cli",
            "xmleval/cluster",
            "xmleval/input",
            "xmleval/metrics",
            "xmleval/thresholds",
            "xmleval/integrations",
            "benchmarks",
            "scripts/limo",
            "tests",
        )
    ),
)
RESULTS = ROOT / "benchmarks" / "results"
EXAMPLES = re.compile(r"```(console|sh)\n(.*?)```", re.S)
PROMPT = {"console": "$ ", "sh": ""}
INSTALL = re.compile(r"^(python3 -m venv .*)$", re.M)


def to_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = []
    for row in (header, ["---"] * len(header), *rows):
        cells = [cell.replace("|", r"\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measures_table() -> str:
    """Return the names of all measures, a line for each family."""
    from xmleval.cli.metrics import name_of
    from xmleval.metrics import TABLE
    from xmleval.show.tables import ARROWS

    names_by_family: dict[str, list[str]] = {}
    for metric in TABLE:
        name = f"`{name_of(metric, '|'.join(metric.averages))}` {ARROWS[metric.direction]}".rstrip()
        names_by_family.setdefault(metric.family, []).append(name)
    rows = [[family, ", ".join(names)] for family, names in names_by_family.items()]
    return to_table(["family", "measures"], rows)


def records_table() -> str:
    """Return the table of all measures."""
    from xmleval.cli.metrics import name_of, range_of
    from xmleval.metrics import TABLE
    from xmleval.show.tables import ARROWS

    rows = [
        [
            f"`{name_of(metric, '|'.join(metric.averages))}`",
            metric.title,
            ARROWS[metric.direction],
            range_of(metric),
            metric.formula,
            metric.reference,
        ]
        for metric in TABLE
    ]
    return to_table(["name", "measure", "", "range", "formula", "source"], rows)


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


def benchmark_tables() -> str:
    """Return the tables of the latest benchmark results."""
    return (RESULTS / "tables.md").read_text(encoding="utf-8").strip()


def streams_table() -> str:
    """Return the table of streams of scores."""
    from benchmarks.streams import table_of

    return table_of(json.loads((RESULTS / "streams.json").read_text(encoding="utf-8")))


TABLES: Mapping[str, Callable[[], str]] = {
    "measures": measures_table,
    "records": records_table,
    "aliases": aliases_table,
    "datasets": datasets_table,
    "formats": formats_table,
    "speed": speed_table,
    "benchmarks": benchmark_tables,
    "streams": streams_table,
}


def with_tables(text: str) -> str:
    """Return a text with updated tables."""
    for name, write in TABLES.items():
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
            lines = "".join(f"$ {line}\n{output(line)}" for line in commands_of(block))
            if block[1] == "console":
                return f"```console\n{lines}```"
            return block[0]

        return EXAMPLES.sub(run, text)


def output(command: str) -> str:
    """Run a command, and return its standard error and output.

    It must succeed, and write to standard error only lines that begin with ``xmleval: ``.
    """
    from xmleval.cli import main

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
    """Return the commands of a block that are run."""
    prompt = PROMPT[block[1]]
    return [
        line.removeprefix(prompt)
        for line in block[2].splitlines()
        if line.startswith(f"{prompt}xmleval ")
    ]


def shell_commands(text: str) -> list[str]:
    """Return the commands of all examples."""
    return [line for block in EXAMPLES.finditer(text) for line in commands_of(block)]


def install_command(text: str, kind: str) -> str:
    """Return the first command that installs and runs the demo, or installs and tests."""
    word = {"demo": "xmleval demo", "test": "pytest"}[kind]
    commands: list[str] = INSTALL.findall(text)
    return next(line for line in commands if word in line)


def main(arguments: list[str]) -> None:
    """Run one of the commands above."""
    if arguments == ["write"]:
        sys.path.insert(0, str(ROOT))
        for path in DOCUMENTS:
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
