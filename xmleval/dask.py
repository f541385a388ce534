"""Evaluation on a Dask cluster: `evaluate` of files, `evaluate_blocks` of rows on its workers."""

from __future__ import annotations

from xmleval.integrations.dask import evaluate, evaluate_blocks

__all__ = ["evaluate", "evaluate_blocks"]
