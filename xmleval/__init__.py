"""Evaluate extreme multi-label classifiers from sparse labels and top-k lists.

Names are imported when they are first asked for, so that `import xmleval` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from xmleval.version import __version__

if TYPE_CHECKING:
    from xmleval import calibrate, effectiveness, io, thresholds
    from xmleval.api.check import check
    from xmleval.api.compare import compare
    from xmleval.api.diff import diff
    from xmleval.api.evaluate import evaluate
    from xmleval.api.fuse import fuse
    from xmleval.api.label_statistics import label_statistics
    from xmleval.api.measures import (
        auc_macro,
        auc_micro,
        auc_samples,
        coverage,
        f1_macro,
        f1_micro,
        f1_samples,
        hamming_loss,
        hit_at_k,
        hit_rate_at_k,
        instance_auc,
        instance_f1,
        label_ranking_average_precision,
        lrap,
        macro_auc,
        macro_f1,
        mean_reciprocal_rank_at_k,
        micro_auc,
        micro_f1,
        mrr_at_k,
        ndcg_at_k,
        one_error,
        p_at_k,
        precision_at_k,
        psndcg_at_k,
        psp_at_k,
        r_at_k,
        ranking_loss,
        recall_at_k,
        subset_accuracy,
    )
    from xmleval.api.sensitivity import Sensitivity, propensity_sensitivity
    from xmleval.base.conventions import Conventions
    from xmleval.evaluation.evaluator import Evaluator
    from xmleval.input.objects.frames import from_df
    from xmleval.labels.groups import LabelGroups, label_groups
    from xmleval.labels.propensity import inverse_propensity
    from xmleval.results.comparison import Comparison
    from xmleval.results.diff import Diff
    from xmleval.results.ranking import Ranking, rank
    from xmleval.results.report import Report

__all__ = [
    "Diff",
    "Comparison",
    "Conventions",
    "Evaluator",
    "LabelGroups",
    "Ranking",
    "Report",
    "Sensitivity",
    "__version__",
    "auc_macro",
    "auc_micro",
    "auc_samples",
    "calibrate",
    "check",
    "compare",
    "coverage",
    "diff",
    "effectiveness",
    "evaluate",
    "f1_macro",
    "f1_micro",
    "f1_samples",
    "from_df",
    "fuse",
    "hamming_loss",
    "hit_at_k",
    "hit_rate_at_k",
    "instance_auc",
    "instance_f1",
    "inverse_propensity",
    "io",
    "label_groups",
    "label_ranking_average_precision",
    "label_statistics",
    "lrap",
    "macro_auc",
    "macro_f1",
    "mean_reciprocal_rank_at_k",
    "micro_auc",
    "micro_f1",
    "mrr_at_k",
    "ndcg_at_k",
    "one_error",
    "p_at_k",
    "precision_at_k",
    "propensity_sensitivity",
    "psndcg_at_k",
    "psp_at_k",
    "r_at_k",
    "rank",
    "ranking_loss",
    "recall_at_k",
    "subset_accuracy",
    "thresholds",
]

_MODULES = ("calibrate", "effectiveness", "io", "thresholds")
_HOMES = {  # the modules of names that are not in `xmleval.api.measures`
    "Diff": "results.diff",
    "Comparison": "results.comparison",
    "Conventions": "base.conventions",
    "Evaluator": "evaluation.evaluator",
    "LabelGroups": "labels.groups",
    "Ranking": "results.ranking",
    "Report": "results.report",
    "Sensitivity": "api.sensitivity",
    "check": "api.check",
    "compare": "api.compare",
    "diff": "api.diff",
    "evaluate": "api.evaluate",
    "from_df": "input.objects.frames",
    "fuse": "api.fuse",
    "inverse_propensity": "labels.propensity",
    "label_groups": "labels.groups",
    "label_statistics": "api.label_statistics",
    "propensity_sensitivity": "api.sensitivity",
    "rank": "results.ranking",
}


if not TYPE_CHECKING:  # a type checker would take any name for one that is here

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'api.measures')}"), name)
        globals()[name] = value  # the next time it is found without a call
        return value


def __dir__() -> list[str]:
    """List what is there, imported or not."""
    return sorted({*globals(), *__all__})
