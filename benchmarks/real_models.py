"""Compare models on real data sets, each with the sentence that the differences allow.

``XMLEVAL_DATA=FOLDER python -m benchmarks.real_models`` reads the labels and top-k lists of each data set in
the folder, and writes ``benchmarks/results/real_models.md``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmleval import compare, evaluate

METRICS = ["p@1", "p@5", "ndcg@5", "psp@5", "f1.macro@5"]
MAIN = "p@5"
RESULTS = Path(__file__).parent / "results" / "real_models.md"
LISTS = "topk_{}_indices.npy", "topk_{}_scores.npy"


def models_of(folder: Path) -> dict[str, Any]:
    """Return the top-k lists of a data set by model."""
    names = [
        path.name.split("_", 1)[1].removesuffix("_indices.npy") for path in folder.glob("topk_*_indices.npy")
    ]
    return {name: tuple([np.load(folder / part.format(name)) for part in LISTS]) for name in sorted(names)}


def compared(folder: Path) -> tuple[Any, str]:
    """Compare the models of a data set with the best one by the main measure, and return its name, too."""
    truth, train = (sp.load_npz(folder / f"Y_{part}.npz") for part in ("test", "train"))
    models = models_of(folder)
    best = max(models, key=lambda name: evaluate(truth, models[name], metrics=[MAIN])[MAIN])
    return compare(models, truth, metrics=METRICS, y_train=train, baseline=best), best


def sentence(found: Any, best: str) -> str:
    """Return what the differences from the best model by the main measure allow to say."""
    report = found.reports[best]
    lower, upper = report.confidence[MAIN]
    text = f"{best} has the highest P@5, {report[MAIN]:.4f} (95 % interval {lower:.4f} to {upper:.4f}, "
    text += f"{report.n_rows} test rows)."
    below, same = [], []
    for one in found.differences:
        if one.name == MAIN:
            other = one.a if one.b == best else one.b
            ends = sorted(abs(end) for end in (one.estimate.lower, one.estimate.upper))
            if one.better == best:
                below.append(f"{other} by {abs(one.value):.4f} ({ends[0]:.4f} to {ends[1]:.4f})")
            else:
                same.append(f"{other} ({abs(one.value):.4f}, p = {one.corrected_p:.2g})")
    text += f" It is above {_listed(below)}." if below else ""
    text += f" No difference is seen from {_listed(same)}." if same else ""
    return f"{text} p-values are Holm's for {found.to_dict()['comparison']['n_tests']} tests."


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def sections(data: Path) -> Iterator[str]:
    """Yield the text on each data set of a folder."""
    for folder in sorted(path.parent for path in data.glob("*/Y_test.npz")):
        found, best = compared(folder)
        yield f"## {folder.name}\n\n{sentence(found, best)}\n\n{found.to_markdown()}"


if __name__ == "__main__":
    told = "Intervals and tests cover the sampling of test rows, not training seeds: one training each."
    parts = ["# Models on real data", told, *sections(Path(os.environ["XMLEVAL_DATA"]))]
    RESULTS.write_text("\n\n".join(part.strip() for part in parts) + "\n")
    print(RESULTS)
