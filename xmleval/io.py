"""Reading truth and predictions from files."""

from __future__ import annotations

from xmleval.input.formats.arrow import write_parquet
from xmleval.input.formats.arrow_rows import read_arrow_scores, read_arrow_truth
from xmleval.input.formats.format import Format
from xmleval.input.formats.registry import FORMATS, find_format, read_scores, read_truth
from xmleval.input.formats.trec import read_qrels, read_run, write_qrels, write_run
from xmleval.input.formats.xmc import write_xmc
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Named
from xmleval.input.small_texts import read_hierarchy, read_inverse_propensity, read_names

__all__ = [
    "FORMATS",
    "Format",
    "Named",
    "Pieces",
    "find_format",
    "read_arrow_scores",
    "read_arrow_truth",
    "read_hierarchy",
    "read_names",
    "read_inverse_propensity",
    "read_qrels",
    "read_run",
    "read_scores",
    "read_truth",
    "write_parquet",
    "write_qrels",
    "write_run",
    "write_xmc",
]
