"""Measures of the user that an option names by their place in a Python module."""

from __future__ import annotations

import importlib
import os
import sys

from xmleval.base.errors import InputError, shown
from xmleval.metrics.measure import Measure

PLACE = "MODULE:NAME"
AT_PLACE = (  # in the help of options
    "an `xmleval.Measure` called NAME in a Python module that is installed or in this folder"
)


def import_measure(place: str) -> Measure:
    """Return the measure at ``MODULE:NAME``; a module may be in the working directory."""
    module_name, colon, name = place.partition(":")
    if not (module_name and colon and name):
        raise InputError("measure", f"{shown(place)} is not {PLACE}, as in novelty:NOVELTY")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise
        text = f"{shown(place)}: no module {module_name} is installed or in {os.getcwd()}"
        raise InputError("measure", text) from None
    if not hasattr(module, name):
        raise InputError("measure", f"{shown(place)}: {module_name} has no {name}")
    measure = getattr(module, name)
    if not isinstance(measure, Measure):
        raise InputError("measure", f"{shown(place)} is {shown(measure)}, not an xmleval.Measure")
    return measure
