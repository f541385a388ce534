"""The examples of `xmleval/docs/large-data.md` that need a cluster, with one of this process."""

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.cluster.data import N_LABELS
from xmleval import evaluate

PAGE = Path(__file__).parents[2] / "xmleval" / "docs" / "large-data.md"
MARK = "<!-- run by tests/cluster/test_pages.py -->\n```python\n"


def block(word: str) -> str:
    """Return the block of the page in which a word occurs."""
    blocks = re.findall(rf"{re.escape(MARK)}(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (text,) = [each for each in blocks if word in each]
    return str(text)


class Collection(list[Any]):
    """A distributed collection of Spark, of this process."""

    def map(self, function: Callable[[Any], Any]) -> "Collection":
        return Collection(function(item) for item in self)

    def treeReduce(self, function: Callable[[Any, Any], Any]) -> Any:  # noqa: N802
        return functools.reduce(function, self)


def test_spark_gives_the_bytes_of_one_machine(arrays: Any) -> None:
    context = SimpleNamespace(
        broadcast=lambda value: SimpleNamespace(value=value),
        parallelize=lambda items, n_parts: Collection(items),
    )
    space: dict[str, Any] = {"sc": context, "Path": Path}
    text = block("sc.broadcast")
    exec(text.replace("670_091", str(N_LABELS)).replace("/data/", ""), space)
    expected = evaluate(arrays["Y"], arrays["m"], metrics=["p@5", "auc.micro"])
    assert space["report"].to_json() == expected.to_json()


def test_dask_is_called_with_the_arguments_that_it_takes(
    arrays: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    import xmleval.dask

    client = SimpleNamespace(submit=lambda function, shard: function(shard))
    module = ModuleType("distributed")
    module.Client = lambda address: client  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "distributed", module)
    calls: list[Any] = []

    def called(name: str) -> Callable[..., Any]:
        function = getattr(xmleval.dask, name)

        def call(*arguments: Any, **options: Any) -> str:
            bound = functools.partial(function, *arguments, **options)
            calls.append(bound.keywords)
            names = (*function.__code__.co_varnames, "metrics", "n_labels")
            assert {*options} <= {*names}
            return name

        return call

    for name in ("evaluate", "evaluate_blocks"):
        monkeypatch.setattr(xmleval.dask, name, called(name))
    space: dict[str, Any] = {"predict": np.square, "shards": [1, 2]}
    exec(block("distributed"), space)
    assert space["report"] == "evaluate_blocks"
    assert [options["metrics"] for options in calls] == [["p@5", "psp@5"], "p@5"]
