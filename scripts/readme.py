"""Keep README.md true: write its tables and the output of its shell examples, or list commands.

python scripts/readme.py write              rewrite tables and outputs
python scripts/readme.py command test       print the first command that installs and tests
python scripts/readme.py command demo       print the first command that installs and runs
python scripts/readme.py shell              print every other shell command, one a line
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
RESULTS = README.parent / "benchmarks" / "results"
CONSOLE = re.compile(r"```console\n(.*?)```", re.S)
INSTALL = re.compile(r"^(python3 -m venv .*)$", re.M)


def measures_table() -> str:
    """Return the table of measures as Markdown."""
    from xmleval.cli.metrics import name_of, range_of
    from xmleval.metrics import TABLE
    from xmleval.report.arrows import ARROWS

    lines = ["| name | measure | | range | formula | source |", "|---|---|---|---|---|---|"]
    for metric in TABLE:
        cells = [
            f"`{name_of(metric, '|'.join(metric.averages))}`", metric.title, ARROWS[metric.direction],
            range_of(metric), metric.formula, metric.reference,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def speed_tables() -> str:
    """Return the tables and the plot that the benchmark runner wrote last."""
    text = (RESULTS / "tables.md").read_text().strip()
    plot = (RESULTS / "growth.svg").relative_to(README.parent)
    drawn = "Seconds over stored scores and over labels, on logarithmic axes"
    return f"{text}\n\n![{drawn}]({plot})"


def with_tables(text: str) -> str:
    """Return the text with what stands between its markers written anew."""
    for name, write in (("measures", measures_table), ("speed", speed_tables)):
        begin, end = f"<!-- {name}: written by scripts/readme.py -->", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{write()}\n{end}{rest.split(end)[1]}"
    return text


def with_outputs(text: str) -> str:
    """Return the text with the output of every `$ xmleval ...` line of its console blocks written anew."""
    with tempfile.TemporaryDirectory() as folder:

        def run(block: re.Match[str]) -> str:
            commands = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
            return "```console\n" + "".join(f"$ {c}\n{output(c, folder)}" for c in commands) + "```"

        return CONSOLE.sub(run, text)


def output(command: str, folder: str) -> str:
    """Return what a command prints on standard output; it must succeed and say nothing else."""
    words = command.replace("xmleval", f"{sys.executable} -m xmleval", 1)
    path = os.pathsep.join(filter(None, [str(README.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        words, shell=True, cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    if done.returncode or done.stderr:
        raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def shell_commands(text: str) -> list[str]:
    """Return the commands of the console blocks."""
    return [line[2:] for block in CONSOLE.findall(text) for line in block.splitlines() if line[:2] == "$ "]


def install_command(text: str, kind: str) -> str:
    """Return the first command that installs and runs the demo, or installs and tests."""
    word = {"demo": "xmleval demo", "test": "pytest"}[kind]
    commands: list[str] = INSTALL.findall(text)
    return next(line for line in commands if word in line)


def main(arguments: list[str]) -> None:
    """Run one of the commands above."""
    text = README.read_text()
    if arguments == ["write"]:
        README.write_text(with_outputs(with_tables(text)))
    elif arguments == ["shell"]:
        print("\n".join(shell_commands(text)))
    elif arguments[:1] == ["command"]:
        print(install_command(text, arguments[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
