"""Names of measures in other programs and papers that are read as those of the table."""

from __future__ import annotations

# Names by where they are used, with the name here: in lower case, with "_" for "-", and at the end
# "@" where a cutoff follows and "." where an average follows
ALIASES_BY_SOURCE: dict[str, dict[str, str]] = {
    "common": {
        "precision@": "p@",
        "prec@": "p@",
        "recall@": "r@",
        "hits@": "hit@",
        "rr@": "mrr@",
        "hit_rate@": "hit@",
        "hitrate@": "hit@",
        "hr@": "hit@",
        "exact_match": "subset_accuracy",
        "exactmatch": "subset_accuracy",
        "auroc.": "auc.",
        "auprc.": "ap.",
    },
    "trec_eval": {
        "map_cut@": "map_r@",
        "ndcg_cut@": "ndcg@",
        "success@": "hit@",
        "recip_rank": "mrr@all",
    },
    "scikit-learn": {
        "roc_auc.": "auc.",
        "average_precision.": "ap.",
        "ap.samples": "lrap",
        "label_ranking_average_precision": "lrap",
        "label_ranking_loss": "ranking_loss",
    },
    "Extreme Classification Repository": {
        "n@": "ndcg@",
        "psn@": "psndcg@",
        "psprecision@": "psp@",
        "psrecall@": "psr@",
        "psndcg_repo": "psdcg",
    },
    "LibMultiLabel": {
        "rp@": "rcap@",
        "another_macro_f1": "f1.of_macros",
    },
    "recognition of labels in images": {
        "cp": "precision.macro",
        "cr": "recall.macro",
        "cf1": "f1.of_macros",
        "op": "precision.micro",
        "or": "recall.micro",
        "of1": "f1.micro",
    },
    "information retrieval": {
        "r_precision": "rprec",
        "r_prec": "rprec",
        "micro_recall_at_r": "rprec.micro",
    },
}

# Names of ir_measures that are read with ``rel=`` alone, as in "AP(rel=2)@100", which tells them
# from other measures of these names
WITH_LEVEL: dict[str, str] = {
    "ap": "map@all",
    "ap@": "map_r@",
    "map": "map@all",
    "rbp": "rbp@all",
    "rr": "mrr@all",
}

# Names in `ALIASES_BY_SOURCE` without averages
ALIASES: dict[str, str] = {}
# Names that take an average, as in "roc_auc.macro"
AVERAGED: dict[str, str] = {}
for _names in ALIASES_BY_SOURCE.values():
    for _alias, _name in _names.items():
        if _alias.endswith("."):
            AVERAGED[_alias[:-1]] = _name[:-1]
        else:
            ALIASES[_alias] = _name
