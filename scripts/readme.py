"""Update tables and outputs of shell examples in the documentation, or list its commands.

python scripts/readme.py write              rewrite tables and outputs
python scripts/readme.py command test       print the first command that installs and tests
python scripts/readme.py command demo       print the first command that installs and runs
python scripts/readme.py shell              print the xmleval commands of all examples

Tables are between `<!-- NAME: written by scripts/readme.py -->` and `<!-- end of NAME -->`. In `console`
blocks, lines that start with `$ ` are run and followed by their output; in `sh` blocks, lines that start with
`xmleval ` are run without showing output.
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
            "xmleval/cli", "xmleval/cluster", "xmleval/input", "xmleval/metrics", "xmleval/thresholds",
            "xmleval/integrations", "benchmarks", "scripts/limo",
        )
    ),
)  # fmt: skip
RESULTS = ROOT / "benchmarks" / "results"
EXAMPLES = re.compile(r"```(console|sh)\n(.*?)```", re.S)
PROMPT = {"console": "$ ", "sh": ""}
INSTALL = re.compile(r"^(python3 -m venv .*)$", re.M)


def to_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def measures_table() -> str:
    """Return the names of all measures, a line for each family."""
    from xmleval.cli.metrics import name_of
    from xmleval.metrics import TABLE
    from xmleval.show.tables import ARROWS

    of_family: dict[str, list[str]] = {}
    for metric in TABLE:
        name = f"`{name_of(metric, '|'.join(metric.averages))}` {ARROWS[metric.direction]}".rstrip()
        of_family.setdefault(metric.family, []).append(name)
    return to_table(
        ["family", "measures"], [[family, ", ".join(names)] for family, names in of_family.items()]
    )


def records_table() -> str:
    """Return the table of all measures."""
    from xmleval.cli.metrics import name_of, range_of
    from xmleval.metrics import TABLE
    from xmleval.show.tables import ARROWS

    rows = [
        [
            f"`{name_of(metric, '|'.join(metric.averages))}`", metric.title, ARROWS[metric.direction],
            range_of(metric), metric.formula, metric.reference,
        ]
        for metric in TABLE
    ]  # fmt: skip
    return to_table(["name", "measure", "", "range", "formula", "source"], rows)


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
    from xmleval.input.shards import FORMATS

    rows = []
    for known in FORMATS:
        holds, files = " and ".join(known.holds), ", ".join(known.extensions)
        rows.append([f"`{known.name}`", known.title, files, holds, "yes" if known.write else ""])
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
    "datasets": datasets_table,
    "formats": formats_table,
    "speed": speed_table,
    "benchmarks": benchmark_tables,
    "streams": streams_table,
}


def with_tables(text: str) -> str:
    """Return a text with updated tables."""
    for name, write in TABLES.items():
        begin, end = f"<!-- {name}: written by scripts/readme.py -->", f"<!-- end of {name} -->"
        if begin in text:
            head, rest = text.split(begin)
            text = f"{head}{begin}\n{write()}\n{end}{rest.split(end)[1]}"
    return text


def with_outputs(text: str) -> str:
    """Run the examples of a text, and return it with updated outputs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):

        def run(block: re.Match[str]) -> str:
            shown = "".join(f"$ {line}\n{output(line)}" for line in commands_of(block))
            return f"```console\n{shown}```" if block[1] == "console" else block[0]

        return EXAMPLES.sub(run, text)


def output(command: str) -> str:
    """Return what a command prints, which must succeed; on standard error, only lines of its own."""
    from xmleval.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(command)[1:])
    said = err.getvalue()
    if code or any(not line.startswith("xmleval: ") for line in said.splitlines()):
        raise RuntimeError(f"{command}: exit {code}\n{said}")
    return "".join(f"{line.rstrip()}\n" for line in (said + out.getvalue()).splitlines())


def commands_of(block: re.Match[str]) -> list[str]:
    """Return the commands of a block that are run."""
    prompt = PROMPT[block[1]]
    return [
        line.removeprefix(prompt) for line in block[2].splitlines() if line.startswith(f"{prompt}xmleval ")
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
            path.write_text(with_outputs(with_tables(path.read_text(encoding="utf-8"))), encoding="utf-8")
    elif arguments == ["shell"]:
        print("\n".join(line for path in DOCUMENTS for line in shell_commands(path.read_text("utf-8"))))
    elif arguments[:1] == ["command"]:
        print(install_command(README.read_text("utf-8"), arguments[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
