"""Reading truth and predictions from files."""

from __future__ import annotations

from xmleval.io.arrow_names import read_arrow_scores, read_arrow_truth
from xmleval.io.format import Format
from xmleval.io.names import Named, NameIndex, read_names
from xmleval.io.parquet import write_parquet
from xmleval.io.pieces import Pieces
from xmleval.io.reading import FORMATS, find_format, find_input_format, read_scores, read_truth
from xmleval.io.trec import read_qrels, read_run, write_qrels, write_run
from xmleval.io.vector import read_propensity
from xmleval.io.xmc import write_xmc

__all__ = [
    "FORMATS",
    "Format",
    "NameIndex",
    "Named",
    "Pieces",
    "find_format",
    "find_input_format",
    "read_arrow_scores",
    "read_arrow_truth",
    "read_names",
    "read_propensity",
    "read_qrels",
    "read_run",
    "read_scores",
    "read_truth",
    "write_parquet",
    "write_qrels",
    "write_run",
    "write_xmc",
]
