"""Settings that tests share, real data, and the row lengths and types to try kernels with."""

import importlib
import itertools
import math
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from numba.core import caching

import xmleval
from tests.commands import folder as folder
from tests.commands import refused as refused
from tests.commands import run as run
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
# with a seed, tests/laws draw other problems than usual
SEED = os.environ.get("XMLEVAL_SEED")
LAWS = Path(__file__).parent / "laws"

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
    """Close the figures of a test; matplotlib warns once there are many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


# modules whose examples need a package that the tests do not install
EXAMPLES_OF = {
    "ray": ["xmleval/ray.py", "xmleval/integrations/ray.py"],
    "torch": ["xmleval/integrations/torchmetrics.py"],
}

# tests that would take minutes where kernels are plain Python, by the beginning of their names
TOO_LARGE = {
    "tests/states/test_cells.py": "millions of rows",
    "tests/metrics/test_large.py": "millions of rows",
    "tests/pooled/test_curves.py::test_ties_with_a_million": "a million cells",
    "tests/input/test_words_in_texts.py::test_a_code_far_behind": "a file of many megabytes",
    "tests/kernels/test_kernels.py::test_order_within_rows": "rows of thousands of labels",
    "tests/laws/test_cut_lists.py": "jackknife sums of each of many models",
    "tests/results/test_changes.py::test_latex_writes_hits": "thousands of rows",
    "tests/results/test_differences.py": "thousands of draws of random signs",
    "tests/results/test_groups.py": "thousands of draws of random signs",
    "tests/results/test_paired.py": "thousands of draws of random signs",
}


def pytest_report_header() -> list[str]:
    return [f"laws: problems of XMLEVAL_SEED={SEED}"] if SEED else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SEED:
        for item in items:
            if not (isinstance(item, pytest.Function) and LAWS in item.path.parents):
                continue
            if getattr(item.obj, "is_hypothesis_test", False):
                seed(int(SEED))(item.obj)
    if os.environ["XMLEVAL_WAY"] == "plain":
        for item in items:
            for name, reason in TOO_LARGE.items():
                if item.nodeid.startswith(name):
                    item.add_marker(pytest.mark.skip(f"{reason}, too much for plain Python"))


def pytest_configure(config: pytest.Config) -> None:
    is_parallel = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if is_parallel and not any(Path(xmleval.__file__).parent.glob("kernels/__pycache__/*.nbi")):
        # or each process would compile the same kernels
        subprocess.run(
            [sys.executable, "-m", "xmleval", "warmup"], stdout=subprocess.DEVNULL, check=True
        )
    absent = [
        path for module, paths in EXAMPLES_OF.items() if find_spec(module) is None for path in paths
    ]
    ignored = [str(config.rootpath / path) for path in absent]
    config.option.ignore = [*(config.option.ignore or ()), *ignored]
    # small files are cut, too
    pytest.MonkeyPatch().setattr("xmleval.evaluation.files.LEAST_MEMORY", 1)
    # processes that tests start would go on ignoring the signals that this one ignores, as under
    # nohup
    usual_handlers: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGHUP: signal.SIG_DFL,
        signal.SIGTERM: signal.SIG_DFL,
    }
    for number, usual in usual_handlers.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, usual_handlers)
    # any test may be the first to compile a kernel, even one that replaces functions of `os` or
    # captures output
    caching.os = SimpleNamespace(**vars(os))
    os.environ.setdefault("XMLEVAL_WAY", "compiled")  # or "plain", as `tests.ways` reads it
    importlib.import_module("tests.ways.sitecustomize")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    collectors = yield
    # examples are in the package, not in tests
    return [collector for collector in collectors if type(collector) is pytest.Module]


def csr(lists: Sequence[Sequence[Any]], dtype: Any) -> tuple[Any, Any]:
    ptr = np.cumsum([0, *(len(row) for row in lists)], dtype=np.int64)
    return ptr, np.array([x for row in lists for x in row], dtype)


def cut(ptr: Any, flat: Any) -> list[list[Any]]:
    return [flat[lo:hi].tolist() for lo, hi in itertools.pairwise(ptr)]


def exact(limbs: Any) -> Fraction:
    """Value of a fixed-point sum, whose limbs must be canonical."""
    assert all(0 <= limb < ONE for limb in limbs[1:])
    return sum((Fraction(int(limb), 1 << BITS * i) for i, limb in enumerate(limbs)), Fraction(0))
