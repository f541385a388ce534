"""Values have the same bits on any processor, and no kernel reads outside of its arrays."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VALUES = """
import json, sys
import numpy as np, scipy.sparse as sp, xmleval
from xmleval.numerics.discounts import discount_sums, discounts, discounts_at

rng = np.random.default_rng(0)
m = 24
l = 66_000

def matrix(per_row, values):
    few = np.argsort(rng.random((m, 4 * per_row)), axis=1)[:, :per_row]
    ids = np.sort(few, axis=1) * (l // (4 * per_row))
    data = values((m, per_row)).ravel()
    ptr = np.arange(m + 1) * per_row
    return sp.csr_array((data, ids.ravel(), ptr), shape=(m, l))

def add_values(name, report):
    values.update({f"{measure} {name}": float(report[measure]).hex() for measure in report})

truth = matrix(25, lambda shape: np.ones(shape, np.uint8))
scores = matrix(1800, lambda shape: rng.integers(1, 4000, shape).astype(np.float32) / 512)
ranked = np.arange(m)[:, None] + np.arange(2000) * 30
counts = rng.integers(0, 70_000, l)
weight = rng.integers(1, 99, m) / 16
q = xmleval.inverse_propensity(label_counts=counts, n_instances=1_717_899, dataset="amazon")
values = {"q": q.tobytes().hex()}
y = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
s = np.array([[.9, .2, .3], [.1, .7, .6], [.3, .2, .8]])
measures = ["p@1", "lrap", "risk(coverage=1)@1", "ap.geometric"]
# with a row, and then also a label, that has nothing relevant
for number, dense in enumerate((y, y * [1, 1, 0])):
    add_values(f"dense {number}", xmleval.evaluate(dense, s, metrics=measures))
far = np.concatenate([rng.integers(1, 2**52, 999), 2 ** np.arange(1, 52)])
values["first"] = discounts(70_000).tobytes().hex()
values["far"] = discounts_at(far).tobytes().hex()
values["sums"] = discount_sums(far).tobytes().hex()
ties = {"ties": "expected_dcg"}
cases = [
    ("all", scores, {}, None),
    ("all", scores, {}, weight),
    ("ranking", (ranked, None), {}, None),
    ("ranking", (ranked, None), {}, weight),
    (["ndcg@2000", "ndcg@all"], scores, ties, None),
    (
        ["ndcg@all", "margin.samples", "margin.macro", "auc.micro"],
        scores,
        {"unlisted": 0.0, **ties},
        None,
    ),
]
for number, (metrics, y_score, conventions, w) in enumerate(cases):
    report = xmleval.evaluate(
        truth, y_score, metrics=metrics, k=(1, 1900), conventions=conventions,
        inverse_propensity=q, decision="top7", sample_weight=w, n_labels=l,
    )
    add_values(str(number), report)
json.dump(values, sys.stdout)
"""


def features() -> list[str]:
    """Return the sets of instructions beyond the baseline that NumPy would use here."""
    umath = importlib.import_module("numpy._core._multiarray_umath")
    return [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]


def values(**settings: str) -> Any:
    env = {**os.environ, **settings}
    done = subprocess.run(
        [sys.executable, "-c", VALUES], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_values_are_the_same_on_a_plain_processor_with_bounds_checked(tmp_path: Path) -> None:
    expected = values()
    names = {name.split()[0].partition("@")[0] for name in expected}
    assert {
        "psndcg",
        "ndcg",
        "dcg",
        "mcc.macro",
        "auc.micro",
        "ap.macro",
        "margin.macro",
        "lrap",
    } <= names
    assert values(NPY_DISABLE_CPU_FEATURES=" ".join(features())) == expected  # of NumPy
    # of the processor that Numba compiles for; kernels that are not optimised compile faster
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_OPT": "0"}
    # another cache: that of the package does not separate kernels with bounds checks from others
    assert values(**generic, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == expected
