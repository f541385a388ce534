"""The command line: one module per command, and one place where errors become lines on stderr.

The module of a command is imported when the command is invoked; the list of commands needs none.
"""

from __future__ import annotations

import importlib
import io
import shutil
import sys
from collections.abc import Sequence

import click

from xmleval.base.address_space import refuse_little_address_space
from xmleval.base.errors import did_you_mean, shown
from xmleval.cli.messages import format_error, print_messages, strip_dashes
from xmleval.version import __version__

BAD_INPUT = 2
INTERRUPTED = 130
# columns of help texts
WIDEST = 80
NARROWEST = 30
COMMANDS = {
    "bench": "Measure throughput.",
    "calibrate": "Make probabilities of scores, fitted to held-out data.",
    "check": "Fail if a saved result is below a threshold or an earlier result.",
    "compare": "Compare models: differences, intervals, p-values.",
    "convert": "Write files in another format.",
    "demo": "Evaluate two models on generated data.",
    "diff": "Show the rows and labels that changed most between models.",
    "evaluate": "Compute measures of predictions.",
    "fuse": "Join the lists of several models into one.",
    "merge": "Combine saved states of shards.",
    "metrics": "List the measures, or explain one.",
    "plot": "Draw a figure of models as PNG, SVG or PDF.",
    "rank": "Rank models over data sets, with tests.",
    "report": "Write a page with tables and figures of models.",
    "stats": "Describe a data set by its labels.",
    "threshold": "Tune a rule that turns scores into sets, or apply it.",
    "trend": "Show measures over days, with limits.",
    "warmup": "Compile and keep what other commands would wait for.",
}
LIGHT = {"metrics"}  # commands that load no kernels


class Program(click.Group):
    """Commands that are imported when they are invoked."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or refuse an unknown one with a hint at the nearest."""
        if cmd_name in COMMANDS:
            if cmd_name not in LIGHT:
                refuse_little_address_space()
            module = importlib.import_module(f"{__name__}.{cmd_name}")
            command: click.Command = getattr(module, cmd_name)
            return command
        if not cmd_name.startswith("-") and not ctx.resilient_parsing:
            near = did_you_mean(cmd_name, COMMANDS, strip_dashes)
            hint = f"; {near}" if near else ""
            ctx.fail(f"No such command {shown(cmd_name)}{hint}")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands for the help text."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="xmleval %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Evaluate extreme multi-label classifiers, exactly and in bounded memory.

    Start with `xmleval demo`.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run a command.

    The default arguments are those of the process. It returns 0 for a result, 1 if `check` finds a
    failure, 2 for bad usage or bad input after one line on stderr, 130 when interrupted.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a terminal without arrows is no reason to fail
        sys.stdout.reconfigure(errors="replace")
    print_messages()
    try:
        width = max(min(shutil.get_terminal_size().columns, WIDEST) - 2, NARROWEST)
        code = program.main(args, prog_name="xmleval", standalone_mode=False, terminal_width=width)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        return 1
    except (click.ClickException, ImportError, OSError, ValueError, MemoryError) as error:
        print(f"xmleval: {format_error(error)}", file=sys.stderr)
        return BAD_INPUT
    return code if isinstance(code, int) else 0
