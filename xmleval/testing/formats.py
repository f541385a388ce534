"""The laws of a file format: files are read as written, and damage is refused in one line."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.api.evaluate import evaluate
from xmleval.api.write import write
from xmleval.input.formats.format import Format
from xmleval.input.formats.known import format_in_use
from xmleval.testing.problems import DrawnProblem, draw_problem, drawn

EXAMPLES = 40
CUTS = 6  # lengths at which a file is cut


def check_format(form: Format, *, examples: int = EXAMPLES) -> None:
    """Check the laws of a file format that can be written, on drawn problems.

    Parameters
    ----------
    form : Format
        A format with ``write``.
    examples : int, default 40
        Number of problems.

    Raises
    ------
    AssertionError
        If a law is broken: what is written is read with the same values; a file that is cut is
        read or refused by a ValueError or an OSError of one line that names it.
    ValueError
        If the format cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from xmleval.io import find_format
    >>> xmleval.testing.check_format(find_format(Path("a.npz"))[0], examples=2)
    """
    if form.write is None:
        raise ValueError(f"format {form.name}: needs write=, to make the files that are read")

    @drawn(examples)
    def check(data: Any) -> None:
        problem = _without_empty_rows(draw_problem(data.draw))
        if problem.n_rows == 0:
            return
        with tempfile.TemporaryDirectory() as folder, format_in_use(form):
            for kind in form.holds:
                broken = _find_broken(form, kind, problem, Path(folder))
                if broken:
                    raise AssertionError(f"format {form.name}: {kind}: {broken}; {problem}")

    check()


def _without_empty_rows(problem: DrawnProblem) -> DrawnProblem:
    """Return the rows with relevant labels and scores, as not all formats keep others."""
    rows = [row for row in range(problem.n_rows) if problem.relevant[row] and problem.scores[row]]
    return problem.rows(rows)


def _find_broken(form: Format, kind: str, problem: DrawnProblem, folder: Path) -> str:
    """Return the law that a problem breaks, or an empty text."""
    path = folder / f"{kind}{form.extensions[0]}"
    inputs = _inputs_of(problem, form.keeps_names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write(path, inputs["y_true" if kind == "truth" else "y_score"], kind)
    expected = _values(inputs)
    read = inputs | {"y_true" if kind == "truth" else "y_score": path}
    try:
        values = _values(read)
    except Exception as error:
        return f"what was written is not read: {type(error).__name__}: {error}"
    if values != expected:
        return f"read from a file {values}, in memory {expected}"
    whole = path.read_bytes()
    for length in np.unique(np.linspace(0, len(whole), CUTS).astype(int)).tolist():
        path.write_bytes(whole[:length])
        try:
            _values(read)
        except (ValueError, OSError) as error:
            message = str(error)
            if "\n" in message or path.name not in message:
                return (
                    f"cut to {length} bytes, the error is not one line that names it: {message!r}"
                )
        except Exception as error:
            return f"cut to {length} bytes, it raises {type(error).__name__}: {error}"
    path.write_bytes(whole)
    return ""


def _inputs_of(problem: DrawnProblem, by_name: bool) -> dict[str, Any]:
    """Return truth and scores as arrays, or by the names of rows and labels."""
    if not by_name:
        return {"y_true": problem.y_true, "y_score": problem.y_score}
    labels = [f"label-{problem.n_labels - label:02}" for label in range(problem.n_labels)]
    truth = dict[str, dict[str, int]]()
    scores = dict[str, dict[str, float]]()
    for row in range(problem.n_rows):
        truth[f"row-{row}"] = {labels[label]: 1 for label in problem.relevant[row]}
        by_label = problem.scores[row].items()
        scores[f"row-{row}"] = {labels[label]: score for label, score in by_label}
    return {"y_true": truth, "y_score": scores, "labels": labels}


def _values(inputs: dict[str, Any]) -> str:
    """Return some values, in all bits."""
    report: Any = evaluate(**inputs, metrics=["p@2", "ndcg@2", "mrr@2"])
    return repr(dict(report))
