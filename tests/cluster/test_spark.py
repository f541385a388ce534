"""The recipe for Spark, with processes of this machine in place of its executors."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from xmleval import evaluate

cloudpickle = pytest.importorskip("cloudpickle")  # which is what Spark sends functions with
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


class Broadcast(NamedTuple):
    value: Any


def _run(sent: bytes) -> bytes:
    function, arguments = cloudpickle.loads(sent)
    return bytes(cloudpickle.dumps(function(*arguments)))


class Parts:
    """A resilient distributed dataset: what its partitions are made of, and how."""

    def __init__(self, pool: Any, partitions: Sequence[Any], function: Callable[..., Any]) -> None:
        self.pool, self.partitions, self.function = pool, partitions, function

    def mapPartitions(self, function: Callable[..., Any]) -> Parts:  # noqa: N802
        return Parts(self.pool, self.partitions, lambda own: [*function(own)])

    def treeReduce(self, function: Callable[..., Any]) -> Any:  # noqa: N802
        left = [one for own in self._all(self.function, [(own,) for own in self.partitions]) for one in own]
        while len(left) > 1:
            pairs = [*zip(left[::2], left[1::2], strict=False)]
            left = self._all(function, pairs) + left[2 * len(pairs) :]
        return left[0]

    def _all(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        sent = [cloudpickle.dumps((function, own)) for own in arguments]
        return [cloudpickle.loads(found) for found in self.pool.map(_run, sent)]


class Context:
    """A SparkContext."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def broadcast(self, value: Any) -> Broadcast:
        return Broadcast(value)

    def parallelize(self, values: Sequence[Any], n: int) -> Parts:
        return Parts(self.pool, [values[place::n] for place in range(n)], list)


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield Context(pool)


def test_recipe_gives_what_one_process_gives(context: Context, arrays: Any, tmp_path: Path) -> None:
    text = (ROOT / "xmleval" / "cluster" / "README.md").read_text().split("## Spark")[1]
    recipe = text.split("```python\n")[1].split("```")[0].replace("/data", str(tmp_path))
    names: dict[str, Any] = {"sc": context}
    exec(recipe, names)
    assert len(names["tasks"]) > 3
    whole = evaluate(arrays["Y"], arrays["m"], metrics=["p@5", "auc.micro"])
    assert names["report"].to_json() == whole.to_json()
    labels = np.load(tmp_path / "m_1_indices.npy")
    labels[7, 0] = 99
    np.save(tmp_path / "m_1_indices.npy", labels)
    with pytest.raises(ValueError, match=r"m_1_indices\.npy: row 7: label id 99"):
        exec(recipe, names)
