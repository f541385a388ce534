"""Evaluate extreme multi-label classifiers from sparse labels and top-k lists.

Names are imported when they are first used, so that `import xmleval` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from xmleval.version import __version__

if TYPE_CHECKING:  # the names of `_NAMES`, for type checkers
    from xmleval import calibrate as calibrate
    from xmleval import effectiveness as effectiveness
    from xmleval import io as io
    from xmleval import testing as testing
    from xmleval import thresholds as thresholds
    from xmleval.api.check import check as check
    from xmleval.api.compare import compare as compare
    from xmleval.api.diff import diff as diff
    from xmleval.api.evaluate import evaluate as evaluate
    from xmleval.api.fuse import fuse as fuse
    from xmleval.api.label_statistics import label_statistics as label_statistics
    from xmleval.api.measures import auc_macro as auc_macro
    from xmleval.api.measures import auc_micro as auc_micro
    from xmleval.api.measures import auc_samples as auc_samples
    from xmleval.api.measures import coverage as coverage
    from xmleval.api.measures import f1_macro as f1_macro
    from xmleval.api.measures import f1_micro as f1_micro
    from xmleval.api.measures import f1_samples as f1_samples
    from xmleval.api.measures import hamming_loss as hamming_loss
    from xmleval.api.measures import hit_at_k as hit_at_k
    from xmleval.api.measures import hit_rate_at_k as hit_rate_at_k
    from xmleval.api.measures import instance_auc as instance_auc
    from xmleval.api.measures import instance_f1 as instance_f1
    from xmleval.api.measures import (
        label_ranking_average_precision as label_ranking_average_precision,
    )
    from xmleval.api.measures import lrap as lrap
    from xmleval.api.measures import macro_auc as macro_auc
    from xmleval.api.measures import macro_f1 as macro_f1
    from xmleval.api.measures import mean_reciprocal_rank_at_k as mean_reciprocal_rank_at_k
    from xmleval.api.measures import micro_auc as micro_auc
    from xmleval.api.measures import micro_f1 as micro_f1
    from xmleval.api.measures import mrr_at_k as mrr_at_k
    from xmleval.api.measures import ndcg_at_k as ndcg_at_k
    from xmleval.api.measures import one_error as one_error
    from xmleval.api.measures import p_at_k as p_at_k
    from xmleval.api.measures import precision_at_k as precision_at_k
    from xmleval.api.measures import psndcg_at_k as psndcg_at_k
    from xmleval.api.measures import psp_at_k as psp_at_k
    from xmleval.api.measures import r_at_k as r_at_k
    from xmleval.api.measures import ranking_loss as ranking_loss
    from xmleval.api.measures import recall_at_k as recall_at_k
    from xmleval.api.measures import subset_accuracy as subset_accuracy
    from xmleval.api.rank import rank as rank
    from xmleval.api.sensitivity import Sensitivity as Sensitivity
    from xmleval.api.sensitivity import propensity_sensitivity as propensity_sensitivity
    from xmleval.api.trend import trend as trend
    from xmleval.api.write import write as write
    from xmleval.base.conventions import Conventions as Conventions
    from xmleval.evaluation.evaluator import Evaluator as Evaluator
    from xmleval.evaluation.request import Running as Running
    from xmleval.input.objects.frames import from_df as from_df
    from xmleval.input.objects.query_groups import from_groups as from_groups
    from xmleval.input.scan import scan as scan
    from xmleval.kernels.own_rows import OneRow as OneRow
    from xmleval.labels.groups import LabelGroups as LabelGroups
    from xmleval.labels.groups import label_groups as label_groups
    from xmleval.labels.propensity import inverse_propensity as inverse_propensity
    from xmleval.metrics.measure import Measure as Measure
    from xmleval.metrics.measure import Param as Param
    from xmleval.results.comparison import Comparison as Comparison
    from xmleval.results.data_sets import Comparisons as Comparisons
    from xmleval.results.diff import Diff as Diff
    from xmleval.results.ranking import Ranking as Ranking
    from xmleval.results.rankings import Rankings as Rankings
    from xmleval.results.report import Report as Report
    from xmleval.results.trend import Trend as Trend
    from xmleval.view.block_rows import BlockRows as BlockRows
    from xmleval.view.block_rows import LabelLists as LabelLists

_MODULES = ("calibrate", "effectiveness", "io", "testing", "thresholds")
_NAMES = {  # in each module
    "api.check": "check",
    "api.compare": "compare",
    "api.diff": "diff",
    "api.evaluate": "evaluate",
    "api.fuse": "fuse",
    "api.label_statistics": "label_statistics",
    "api.sensitivity": "Sensitivity propensity_sensitivity",
    "api.trend": "trend",
    "api.write": "write",
    "base.conventions": "Conventions",
    "evaluation.evaluator": "Evaluator",
    "evaluation.request": "Running",
    "input.objects.frames": "from_df",
    "input.objects.query_groups": "from_groups",
    "input.scan": "scan",
    "labels.groups": "LabelGroups label_groups",
    "labels.propensity": "inverse_propensity",
    "kernels.own_rows": "OneRow",
    "metrics.measure": "Measure Param",
    "view.block_rows": "BlockRows LabelLists",
    "results.comparison": "Comparison",
    "results.data_sets": "Comparisons",
    "results.diff": "Diff",
    "results.ranking": "Ranking",
    "results.rankings": "Rankings",
    "results.report": "Report",
    "api.rank": "rank",
    "results.trend": "Trend",
    "api.measures": (
        "auc_macro auc_micro auc_samples coverage f1_macro f1_micro f1_samples hamming_loss "
        "hit_at_k hit_rate_at_k instance_auc instance_f1 label_ranking_average_precision lrap "
        "macro_auc macro_f1 mean_reciprocal_rank_at_k micro_auc micro_f1 mrr_at_k ndcg_at_k "
        "one_error p_at_k precision_at_k psndcg_at_k psp_at_k r_at_k ranking_loss recall_at_k "
        "subset_accuracy"
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_MODULES, *_HOMES]


if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value  # the next access needs no call
        return value


def __dir__() -> list[str]:
    """List all names, imported or not."""
    return sorted({*globals(), *__all__})
