"""Laws that measures, states and formats must keep, as checks for tests of your own.

Each check draws small problems with Hypothesis (``pip install 'xmleval[testing]'``) and raises an
AssertionError that says which law is broken, and on which problem.
"""

from __future__ import annotations

from xmleval.testing.formats import check_format
from xmleval.testing.measures import PlainRow, check_measure
from xmleval.testing.states import check_state
from xmleval.view.trial import example_rows

__all__ = ["PlainRow", "check_format", "check_measure", "check_state", "example_rows"]
