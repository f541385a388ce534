"""Every name that the reference shows has an example, and examples that need a library run where it is."""

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xmleval

MODULES = "xmleval", "xmleval.dask", "xmleval.effectiveness", "xmleval.io", "xmleval.thresholds"
NEEDS = {"to_frame": "pandas"}  # examples that other runs skip


def modules() -> Iterator[Any]:
    for name in MODULES:
        try:
            yield importlib.import_module(name)
        except ImportError:  # of the library that it is for
            continue


def shown_names() -> Iterator[tuple[str, Any]]:
    """Yield each function, class, method and property of the reference."""
    for module in modules():
        for name in module.__all__:
            shown, title = getattr(module, name), f"{module.__name__}.{name}"
            if inspect.isclass(shown) or inspect.isroutine(shown):
                yield title, shown
            for member in dir(shown) if inspect.isclass(shown) else ():
                if member[0] != "_" and is_ours(inspect.getattr_static(shown, member), member, shown):
                    yield f"{title}.{member}", getattr(shown, member)


def is_ours(member: Any, name: str, owner: type) -> bool:
    """Tell whether a member is a method or a property of this package, and no field."""
    if type(member).__module__.startswith("xmleval"):  # a cached property
        return True
    member = getattr(member, "fget", None) or getattr(member, "__func__", member)
    is_field = name in getattr(owner, "__dataclass_fields__", ())
    return inspect.isfunction(member) and member.__module__.startswith("xmleval") and not is_field


DOCSTRINGS = {name: inspect.getdoc(thing) or "" for name, thing in shown_names()}


def test_every_public_name_has_an_example() -> None:
    assert len(DOCSTRINGS) > 150
    lines = {name for name, thing in shown_names() if isinstance(thing, property)}  # in that of the class
    lines = {name for name in lines if "\n" not in DOCSTRINGS[name]}
    home = importlib.import_module(xmleval.p_at_k.__module__)
    without = {name for name, text in DOCSTRINGS.items() if ">>>" not in text and "@private" not in text}
    assert without - lines == {f"xmleval.{name}" for name in dir(home) if name in xmleval.__all__} - {
        "xmleval.evaluate"
    }


def test_docstrings_list_all_parameters() -> None:
    for name, thing in shown_names():
        section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", DOCSTRINGS[name], re.M | re.S)
        if section and callable(thing):
            listed = ", ".join(re.findall(r"^\*{0,2}(\w[\w, ]*)(?: :|$)", section[1], re.MULTILINE))
            assert listed.split(", ") == [p for p in inspect.signature(thing).parameters if p != "self"], name


@pytest.mark.parametrize("name", [name for name, text in DOCSTRINGS.items() if "+SKIP" in text])
def test_examples_that_need_a_library_run(name: str) -> None:
    pytest.importorskip(NEEDS[name.rpartition(".")[2]])
    text = DOCSTRINGS[name].replace("# doctest: +SKIP", "")
    names = {"np": np, "xmleval": xmleval, **{n: getattr(xmleval, n) for n in ("Comparison", "evaluate")}}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
