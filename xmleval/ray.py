"""Evaluation on a Ray cluster: `evaluate` of files, `evaluate_blocks` of rows in its store."""

from __future__ import annotations

from xmleval.integrations.ray import evaluate, evaluate_blocks

__all__ = ["evaluate", "evaluate_blocks"]
