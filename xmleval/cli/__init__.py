"""The command line: one file a command, and one place where anything that goes wrong becomes a line."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import click

from xmleval.cli.bench import bench
from xmleval.cli.convert import convert
from xmleval.cli.demo import demo
from xmleval.cli.evaluate import evaluate
from xmleval.cli.merge import merge
from xmleval.cli.messages import one_line
from xmleval.cli.metrics import metrics
from xmleval.cli.output import naming_stdout
from xmleval.cli.stats import stats
from xmleval.cli.threshold import threshold
from xmleval.version import __version__

BAD_INPUT, INTERRUPTED = 2, 130


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="xmleval %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Evaluate extreme multi-label classifiers, exactly and in bounded memory.

    Start with `xmleval demo`.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (evaluate, merge, convert, threshold, stats, metrics, bench, demo):
    program.add_command(command)


def main(args: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments; default those of the process.

    Returns
    -------
    int
        0 for a result, 2 for bad usage or bad input after one line on stderr, 130 when interrupted.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an arrow that a terminal lacks is no reason to fail
    try:
        code = program.main(args, prog_name="xmleval", standalone_mode=False)
        _flush()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        return 1
    except (click.ClickException, OSError, ValueError, MemoryError) as error:
        print(f"xmleval: {one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def _flush() -> None:
    """Write out what is left, so that a failure is still reported."""
    if sys.stdout is not None:
        with naming_stdout():
            sys.stdout.flush()
