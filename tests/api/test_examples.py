"""Every name of the reference has an example; examples that need a library run if it is there."""

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xmleval
from xmleval.base.cached import cached
from xmleval.results.report import Report
from xmleval.results.trend import Trend
from xmleval.view.block_rows import BlockRows, LabelLists

MODULES = "xmleval", "xmleval.dask", "xmleval.effectiveness", "xmleval.io", "xmleval.thresholds"
WITH_MORE = {"xmleval.Measure"}  # fields that the measures of xmleval have
NEEDS = {"to_frame": "pandas"}  # examples that other runs skip


def modules() -> Iterator[Any]:
    for name in MODULES:
        try:
            yield importlib.import_module(name)
        except ImportError:  # of the library that the module is for
            continue


def shown_names() -> Iterator[tuple[str, Any]]:
    """Yield each function, class, method and property of the reference."""
    for module in modules():
        for name in module.__all__:
            value = getattr(module, name)
            title = f"{module.__name__}.{name}"
            if inspect.isclass(value) or inspect.isroutine(value):
                yield title, value
            if inspect.isclass(value):
                yield from shown_members(title, value)


def shown_members(title: str, owner: type) -> Iterator[tuple[str, Any]]:
    """Yield each public method and property of a class."""
    for name in dir(owner):
        if name[0] != "_" and is_ours(inspect.getattr_static(owner, name), name, owner):
            yield f"{title}.{name}", getattr(owner, name)


def is_ours(member: Any, name: str, owner: type) -> bool:
    """Return whether a member is a method or a property of this package, and no field."""
    if type(member).__module__.startswith("xmleval"):  # a cached property
        return True
    member = getattr(member, "fget", None) or getattr(member, "__func__", member)
    is_field = name in getattr(owner, "__dataclass_fields__", ())
    return inspect.isfunction(member) and member.__module__.startswith("xmleval") and not is_field


DOCSTRINGS = {name: inspect.getdoc(value) or "" for name, value in shown_names()}


def test_public_names_have_examples() -> None:
    assert len(DOCSTRINGS) > 150
    without = {
        name for name, text in DOCSTRINGS.items() if ">>>" not in text and "@private" not in text
    }
    properties = {name for name, value in shown_names() if isinstance(value, property)}
    short = {name for name in properties if "\n" not in DOCSTRINGS[name]}  # see the class
    assert without == short & without


SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
PARAMETERS = re.compile(r"^\*{0,2}(\w[\w, ]*)(?: :|$)", re.MULTILINE)


def test_docstrings_list_all_parameters() -> None:
    for name, value in shown_names():
        section = SECTION.search(DOCSTRINGS[name])
        if section and callable(value):
            listed = ", ".join(PARAMETERS.findall(section[1])).split(", ")
            parameters = [each for each in inspect.signature(value).parameters if each != "self"]
            if name in WITH_MORE:
                parameters = parameters[: len(listed)]
            assert listed == parameters, name


def run_example(name: str, text: str) -> None:
    """Run the example of a docstring."""
    names = {
        "np": np,
        "xmleval": xmleval,
        "Comparison": xmleval.Comparison,
        "evaluate": xmleval.evaluate,
    }
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


CACHED = {
    f"{owner.__name__}.{name}": member.__doc__ or ""
    for owner in (LabelLists, BlockRows, Report, Trend)
    for name, member in vars(owner).items()
    if isinstance(member, cached)
}


@pytest.mark.parametrize("name", [name for name, text in CACHED.items() if ">>>" in text])
def test_examples_of_cached_properties_run(name: str) -> None:
    run_example(name, inspect.cleandoc(CACHED[name]))


@pytest.mark.parametrize("name", [name for name, text in DOCSTRINGS.items() if "+SKIP" in text])
def test_examples_that_need_a_library_run(name: str) -> None:
    pytest.importorskip(NEEDS[name.rpartition(".")[2]])
    run_example(name, DOCSTRINGS[name].replace("# doctest: +SKIP", ""))
