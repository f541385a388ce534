"""Draw the picture of the README: python scripts/picture.py.

It compares three models on the real data set bibtex, from the folder that the environment variable
XMLEVAL_DATA names.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp

import xmleval
from xmleval.show.drawing import save

PICTURE = Path(__file__).with_name("comparison.svg")
MODELS = {"logistic regression": "lr", "PECOS": "pecos", "10 nearest neighbours": "knn10"}
METRICS = ["p@1", "p@3", "p@5", "ndcg@5", "psp@5", "f1.macro@5"]


def main() -> None:
    """Draw the values of the models with their confidence intervals."""
    mpl.use("Agg")
    folder = Path(os.environ["XMLEVAL_DATA"]) / "bibtex"
    train, test = (sp.load_npz(folder / f"Y_{part}.npz") for part in ("train", "test"))
    models = {
        name: tuple(np.load(folder / f"topk_{file}_{part}.npy") for part in ("indices", "scores"))
        for name, file in MODELS.items()
    }
    comparison = xmleval.compare(test, models, metrics=METRICS, y_train=train)
    save(comparison.plot("values"), PICTURE, "svg")


if __name__ == "__main__":
    main()
