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
    "--save", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Also write the data to DIR."
)
def demo(folder: Path | None) -> None:
    """Evaluate two models on generated data: one is better at frequent labels, one at rare ones."""
    data = make_demo()
    written = [] if folder is None else save_demo(data, folder)
    n_train, n_labels = data.y_train.shape
    show(
        f"{n_train} training and {data.y_test.shape[0]} test instances, {n_labels} labels by a power law",
        "",
    )
    write_text(Comparison(evaluate_demo(data)).to_text(*screen()))
    show(
        "P counts every hit alike, PSP weighs hits of rare labels more: the models swap places.",
        *(["", f"Wrote {len(written)} files to {folder}"] if written else []),
        "",
        "Next:",
        *(f"  {command}" for command in next_commands(folder)),
    )


def next_commands(folder: Path | None) -> list[str]:
    """Return commands to type next; they work as they stand."""
    name, program = shlex.quote(str(folder or "demo")), program_name()
    evaluate = f"{program} evaluate {name}/Y_test.npz {name}/model"
    return [
        *([] if folder else [f"{program} demo --save {name}"]),
        f"{evaluate}_head_indices.npy --train {name}/Y_train.npz",
        f"{evaluate}_tail_indices.npy --train {name}/Y_train.npz --format json --output tail.json",
        f"{evaluate}_tail_indices.npy --metrics sets --decision top3",
        f"{program} metrics psp",
    ]
