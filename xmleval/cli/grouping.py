"""Groups of labels and of rows, from training counts or from files, and hierarchies of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from xmleval.budget import Allowance
from xmleval.cli.counting import Inputs
from xmleval.cli.messages import naming_files
from xmleval.files.remote import as_path
from xmleval.groups import DECILES, OTHER, label_groups
from xmleval.hierarchy import given_hierarchy
from xmleval.input.small_texts import GroupLines, read_edges, read_group_lines
from xmleval.notes import Note
from xmleval.numerals import whole_number
from xmleval.records import Hierarchy, Ints


def edges_of(text: str) -> list[int] | str | None:
    """Return numbers of training rows, or deciles; None for the name of a file."""
    numbers = [whole_number(word.strip(" ")) for word in text.split(",")]
    edges = [number for number in numbers if number is not None]
    return DECILES if text == DECILES else edges if len(edges) == len(numbers) else None


def group_file(options: dict[str, Any]) -> Path | None:
    """Return the file of groups of labels, if one is given."""
    text = options.get("label_groups")  # which not all commands have
    if text is None:
        return None
    if edges_of(text) is None:
        return as_path(text)
    if options["train"] is None:
        told = f"--label-groups {text} needs --train, the training labels"
        raise click.UsageError(told, click.get_current_context())
    return None


def groups_of_labels(
    options: dict[str, Any],
    counts: Sequence[Ints] | None,
    rows: Inputs,
    widths: Sequence[int],
    allowance: Allowance,
) -> list[Any]:
    """Return groups for the labels of each report; ``counts`` are those of training, if there is any."""
    path = group_file(options)
    if options.get("label_groups") is None:
        return [None]
    if path is None:
        assert counts is not None
        with naming_files({"edges": "--label-groups"}):
            return [
                label_groups(label_counts=own, edges=edges_of(options["label_groups"]) or ())
                for own in counts
            ]
    held = read_group_lines("label_groups", path, allowance)
    return [
        _of_labels(held, rows.label_names, n_labels, notes)
        for n_labels, notes in zip(widths, rows.notes, strict=True)
    ]


def _of_labels(held: GroupLines, names: list[str] | None, n_labels: int, notes: list[str]) -> list[str]:
    """Return the group of each label; labels that are not in the file are in another group."""
    found, n_unknown = held.by_number("label", names, n_labels)
    if not held.has_keys and len(found) != n_labels:
        raise ValueError(f"{held.path}: {len(found)} groups; expected one for each of {n_labels} labels")
    if n_unknown:
        notes.append(Note(str(held.path), "ignored labels", n_unknown))
    return [found.get(label, OTHER) for label in range(n_labels)]


def hierarchies(
    options: dict[str, Any],
    label_names: list[str] | None,
    widths: Sequence[int],
    allowance: Allowance,
) -> list[Hierarchy | None]:
    """Return the hierarchy of the labels of each report, or None for all."""
    path = options.get("hierarchy")
    if path is None:
        return [None]
    edges = read_edges(path, allowance)
    places, closed = [f"line {line}" for line in edges], options["labels"] is not None
    pairs: Any = [*edges.values()]
    if label_names is None:
        pairs = [[text if (n := whole_number(text)) is None else n for text in pair] for pair in pairs]
    with naming_files({"hierarchy": path}):
        return [
            given_hierarchy(pairs, n_labels, label_names, closed, allowance, places) for n_labels in widths
        ]


def with_groups_of_rows(rows: Inputs, files: Mapping[str, Path | None], allowance: Allowance) -> Inputs:
    """Return inputs with the row groups and clusters in files, by argument."""
    given = {argument: path for argument, path in files.items() if path is not None}
    of_rows = {argument: _of_rows(argument, rows, path, allowance) for argument, path in given.items()}
    return rows._replace(of_rows=of_rows)


def _of_rows(argument: str, rows: Inputs, path: Path, allowance: Allowance) -> tuple[str, list[str]]:
    """Return the name of a file and the group or cluster of each row in it."""
    n_rows = len(rows.row_names) if rows.row_names is not None else rows.truth[1].n_rows
    held = read_group_lines(argument, path, allowance)
    found, n_unknown = held.by_number("row", rows.row_names, n_rows)
    if n_unknown:
        for notes in rows.notes:
            notes.append(Note(str(path), "unmatched rows", n_unknown))
    missing = next((row for row in range(n_rows or len(found)) if row not in found), None)
    if missing is not None and held.has_keys:
        name = missing if rows.row_names is None else rows.row_names[missing]
        raise ValueError(f"{path}: no {held.noun} for row {name}")
    return str(path), [found[row] for row in range(len(found))]
