"""The cases of the comparison: families of measures, workloads and libraries.

`FAMILIES[family].libraries[library]` prepares the inputs of a library for a workload and returns its calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import ours, peers
from benchmarks.ours import Prepared
from benchmarks.workloads import Workload

Prepare = Callable[[Workload], Prepared]

MODULES = {"scikit-learn": "sklearn", "libpecos": "pecos", "np.sort": "numpy"}
SINGLE_PRECISION = {"torchmetrics": 2e-3}  # it sums in single precision
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Family:
    """Measures computed together from one kind of input."""

    title: str
    workloads: tuple[str, ...]
    depth: int  # of the rankings
    metrics: list[str]
    libraries: dict[str, Prepare]

    def entries(self, workload: Workload) -> int:
        """Return the number of stored scores or predicted labels."""
        return len(workload.scores) * (self.depth or workload.truth.shape[1])


def _family(
    title: str,
    workloads: tuple[str, ...],
    depth: int,
    metrics: list[str],
    given: Callable[[Workload], dict[str, Any]],
    others: dict[str, Prepare],
) -> Family:
    own = {
        name: partial(ours.evaluated, given=given, metrics=metrics, threads=threads)
        for name, threads in (("xmleval", None), ("xmleval threads=1", 1))
    }
    return Family(title, workloads, depth, metrics, own | others)


LARGE, FULL = ("W1", "W2", "W3", "W4"), ("W0b", "W0c", "W1d")
FAMILIES: dict[str, Family] = {
    "at_k_lists": _family(
        "P, nDCG, R, PSP, PSnDCG at 1, 3, 5 from top-5 arrays", LARGE, 5, ours.AT_K, ours.lists_of_five,
        {
            "ranx": peers.ranx_lists,
            "libpecos": peers.libpecos_lists,
            "napkinxc": peers.napkinxc_lists,
        },
    ),
    "at_k_matrix": _family(
        "the same from CSR scores, 100 per row", LARGE, 100, ours.AT_K, ours.matrix_of_scores,
        {"libpecos": peers.libpecos_matrix, "napkinxc": peers.napkinxc_matrix},
    ),
    "sets": _family(
        "F1 micro, macro, samples from sparse 0/1 predictions, 5 per row", LARGE, 5, ours.SETS,
        ours.predicted_sets,
        {
            "xcolumns": peers.xcolumns_sets,
            "scikit-learn": peers.sklearn_sets,
            "napkinxc": peers.napkinxc_sets,
        },
    ),
    "ranking": _family(
        "one-error, coverage, ranking loss, LRAP, row AUC from dense scores", FULL, 0, ours.RANKING,
        ours.dense_scores,
        {"scikit-learn": peers.sklearn_ranking, "torchmetrics": peers.torchmetrics_ranking},
    ),
    "micro_auc": _family(
        "micro-AUC from sparse scores, 100 per row", ("W2", "W3", "W4"), 100, ["auc.micro"],
        ours.stored_scores,
        {
            "np.sort": partial(ours.sorted_keys, threads=None),
            "np.sort threads=1": partial(ours.sorted_keys, threads=1),
            "torchmetrics": peers.torchmetrics_micro_auc,
            "scikit-learn": peers.sklearn_micro_auc,
        },
    ),
    "macro_auc": _family(
        "macro-AUC from dense scores", FULL, 0, ["auc.macro"], ours.dense_scores,
        {"scikit-learn": peers.sklearn_macro_auc, "torchmetrics": peers.torchmetrics_macro_auc},
    ),
}  # fmt: skip


def package_of(library: str) -> str:
    """Return the package of a library: the first word of its column's title."""
    return library.split(maxsplit=1)[0]


def module_of(library: str) -> str:
    """Return the module that a column needs."""
    package = package_of(library)
    return MODULES.get(package, package)


def is_own(library: str) -> bool:
    """Return whether a column runs in the project's interpreter."""
    return package_of(library) in ("xmleval", "np.sort")


def tolerance_of(library: str) -> float:
    """Return the tolerated difference of a library's values from ours."""
    return SINGLE_PRECISION.get(package_of(library), TOLERANCE)
