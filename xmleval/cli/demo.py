"""`xmleval demo`: two models side by side on generated data."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from xmleval.cli.output import program_name, screen, show, write_text
from xmleval.demo import evaluate_demo, make_demo, save_demo
from xmleval.results.comparison import Comparison


@click.command()
@click.option(
    "--save",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also write the data to DIR.",
)
def demo(folder: Path | None) -> None:
    """Evaluate two models on generated data: one is better at frequent labels, one at rare ones."""
    data = make_demo()
    lines = [
        "P counts every hit alike, PSP weighs hits of rare labels more: the models swap places."
    ]
    if folder is not None:
        files = save_demo(data, folder)
        lines += ["", f"Wrote {len(files)} files to {folder}"]
    lines += ["", "Next:", *(f"  {command}" for command in next_commands(folder))]
    n_train, n_labels = data.y_train.shape
    n_test, _ = data.y_test.shape
    sizes = f"{n_train} training and {n_test} test instances, {n_labels} labels by a power law"
    show(sizes, "")
    write_text(Comparison(evaluate_demo(data)).to_text(*screen()))
    show(*lines)


def next_commands(folder: Path | None) -> list[str]:
    """Return commands to type next; they work unchanged."""
    name = shlex.quote(str(folder or "demo"))
    program = program_name()
    evaluate = f"{program} evaluate {name}/Y_test.npz {name}/model"
    commands = [
        f"{evaluate}_head_indices.npy --train {name}/Y_train.npz",
        f"{evaluate}_tail_indices.npy --train {name}/Y_train.npz --format json --output tail.json",
        f"{evaluate}_tail_indices.npy --metrics sets --decision top3",
        f"{program} metrics psp",
    ]
    if not folder:
        commands.insert(0, f"{program} demo --save {name}")
    return commands
