"""What tests share: settings, and rows in which every label can be enumerated."""

from __future__ import annotations

import itertools
import math
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.commands import folder as folder
from tests.commands import refused as refused
from tests.commands import run as run
from xmleval.cli import evaluation
from xmleval.kernels import matching
from xmleval.kernels.fixed import BITS, ONE
from xmleval.kernels.gains import WIDTH
from xmleval.kernels.matching import COMPARED, VECTOR
from xmleval.kernels.sorting import RUN

# compiling a kernel takes longer than any deadline that would be worth having
settings.register_profile(
    "xmleval",
    deadline=None,
    max_examples=24,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "hunt",
    settings.get_profile("xmleval"),
    max_examples=int(os.environ.get("EXAMPLES", "2000")),
    derandomize=False,
)
settings.load_profile("xmleval")

# row lengths on both sides of every length at which a kernel changes its way
STEPS = (WIDTH, RUN, VECTOR, COMPARED)
SIZES = sorted({0, 1, 2, 5, 130} | {step + d for step in STEPS for d in (-1, 0, 1)})

# real data, which tests that want them skip without; nothing lies below the null device
DATA = Path(os.environ.get("XMLEVAL_DATA") or os.devnull).absolute()
NO_DATA = (
    "XMLEVAL_DATA, the folder of the real data, is not set"
    if str(DATA) == os.devnull
    else f"not in {DATA}, which XMLEVAL_DATA names"
)

LEVELS = [-math.inf, -2.5, -0.0, 0.0, 0.25, 1.0, math.inf]

seeds = st.integers(0, 2**32 - 1)
int_types = st.sampled_from([np.dtype(np.int32), np.dtype(np.int64)])
float_types = st.sampled_from([np.dtype(np.float32), np.dtype(np.float64)])


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    """Close the figures of a test, of which matplotlib warns once there are many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


# modules whose examples need a package that the tests do not install
EXAMPLES_OF = {
    "ray": ["xmleval/ray.py", "xmleval/integrations/ray.py"],
    "torch": ["xmleval/integrations/torchmetrics.py"],
}


def pytest_configure(config: pytest.Config) -> None:
    absent = [path for module, paths in EXAMPLES_OF.items() if find_spec(module) is None for path in paths]
    ignored = [str(config.rootpath / path) for path in absent]
    config.option.ignore = [*(config.option.ignore or ()), *ignored]
    evaluation.LEAST_MEMORY = 1  # so that small files are cut, too
    # processes that tests start would go on ignoring the signals that this one ignores, as under nohup
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        # hashes wrap around on purpose; a filter, unlike np.errstate, also holds in the threads of a pool
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    found = yield
    return [one for one in found if type(one) is pytest.Module]  # tests have no examples to look for


def csr(lists: Sequence[Sequence[Any]], dtype: Any) -> tuple[Any, Any]:
    ptr = np.cumsum([0, *(len(row) for row in lists)], dtype=np.int64)
    return ptr, np.array([x for row in lists for x in row], dtype)


def cut(ptr: Any, flat: Any) -> list[list[Any]]:
    return [flat[lo:hi].tolist() for lo, hi in itertools.pairwise(ptr)]


def exact(limbs: Any) -> Fraction:
    """Value of a fixed-point sum, whose limbs must be canonical."""
    assert all(0 <= limb < ONE for limb in limbs[1:])
    return sum((Fraction(int(limb), 1 << BITS * i) for i, limb in enumerate(limbs)), Fraction(0))


@dataclass
class Case:
    """Rows with relevant labels and a ranked list each; every label of a row can be enumerated."""

    n_labels: int
    dtype: Any
    float_type: Any
    truth: list[list[int]]
    listed: list[list[int]]
    scores: list[list[float]]
    unlisted: float | None
    bare: bool
    rng: np.random.Generator

    @property
    def n(self) -> int:
        return len(self.truth)

    def arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        scores = np.empty(0, self.float_type) if self.bare else csr(self.scores, self.float_type)[1]
        return *csr(self.truth, self.dtype), *csr(self.listed, self.dtype), scores

    def levels(self) -> tuple[Any, Any]:
        """Entries above the unlisted labels, and above or level with them."""
        if self.unlisted is None:
            sized = np.array([len(row) for row in self.listed], np.int64)
            return sized, sized.copy()
        above = [sum(s > self.unlisted for s in row) for row in self.scores]
        level = [sum(s >= self.unlisted for s in row) for row in self.scores]
        return np.array(above, np.int64), np.array(level, np.int64)

    def order(self, i: int) -> list[int]:
        """All labels of a row, best first."""
        n, listed = int(self.levels()[1][i]), self.listed[i]
        return listed[:n] + sorted(set(range(self.n_labels)) - set(listed)) + listed[n:]

    def keys(self, i: int) -> list[tuple[int, float]]:
        """What labels of a row are compared by."""
        by_place = [-float(s) for s in range(len(self.listed[i]))]
        known = dict(zip(self.listed[i], by_place if self.bare else self.scores[i], strict=True))
        none = (0, 0.0) if self.unlisted is None else (1, self.unlisted)
        return [(1, known[j]) if j in known else none for j in range(self.n_labels)]


def find_positions(case: Case) -> Any:
    true_ptr, true_labels, list_ptr, list_labels, _ = case.arrays()
    out = np.full(true_labels.size, -9, np.int64)
    matching.find_positions(list_ptr, list_labels, true_ptr, true_labels, out)
    return out


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shapes = draw(st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)), max_size=3))
    rng = np.random.default_rng(draw(seeds))
    n_labels = max([1, *(max(shape) for shape in shapes)]) + draw(st.sampled_from([0, 1, 9]))
    unlisted = draw(st.sampled_from([None, 0.0, -0.0, 0.25, -math.inf, 7.0]))
    pick = [[rng.permutation(n_labels)[:size].tolist() for size in shape] for shape in shapes]
    return Case(
        n_labels,
        draw(int_types),
        draw(float_types),
        [sorted(t) for t, _ in pick],
        [x for _, x in pick],
        [sorted(rng.choice(LEVELS, len(x)).tolist(), reverse=True) for _, x in pick],
        unlisted,
        unlisted is None and draw(st.booleans()),
        rng,
    )
