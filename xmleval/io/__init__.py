"""Reading truth and predictions from files."""

from __future__ import annotations

from xmleval.io.format import Format
from xmleval.io.reading import FORMATS, find_format, read_scores, read_truth
from xmleval.io.vector import read_propensity
from xmleval.io.xmc import write_xmc

__all__ = ["FORMATS", "Format", "find_format", "read_propensity", "read_scores", "read_truth", "write_xmc"]
