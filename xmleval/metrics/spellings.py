"""Other spellings of measures, and the names nearest to one that is unknown."""

from __future__ import annotations

import re

from xmleval.base.errors import did_you_mean, shown
from xmleval.metrics import GROUPS, TABLE, Measure
from xmleval.metrics.aliases import ALIASES, AVERAGED, WITH_LEVEL

BLANKS = re.compile(r"(?<![0-9.]) +| +(?![0-9.])")  # but not those that cut a number in two
PARTS = re.compile(r"(?P<head>[^(@]*)(?P<params>\([^()]*\))?(?P<cutoff>@.*)?")
LEVELS = re.compile(r"[(,]rel=")
RECALLS = re.compile(r"iprec(?:\(([^()]*)\))?@([01](?:\.[0-9]*)?)")  # ir_measures' IPrec(rel=2)@0.1
TREC_EVAL_RECALLS = re.compile(r"iprec_at_recall_([01](?:\.[0-9]*)?)")  # iprec_at_recall_0.10
NAMES = {metric.name for metric in TABLE}
AT_K = {metric.name for metric in TABLE if metric.cutoff in ("required", "optional")}
JOINED = {  # f1_macro, macro_f1
    joined: f"{metric.name}.{average}"
    for metric in TABLE
    for name in (metric.name, *(alias for alias, name in AVERAGED.items() if name == metric.name))
    for average in metric.averages
    for joined in (f"{name}_{average}", f"{average}_{name}", f"{name}.{average}")
}

# What is measured here by names of other programs, lower-case and without "_", "-" and blanks; with
# "@", only with a cutoff. Names in braces get the average and the cutoff of the name, or all that
# there are.
MEANT = {
    **dict.fromkeys(
        ["map", "meanaverageprecision", "meanap"],
        "{map} or map@all (means over rows), or ap.macro (mean over labels, as in image tagging)",
    ),
    **dict.fromkeys(["cmap", "classmap", "map.macro"], "ap.macro"),
    **dict.fromkeys(["gap", "map.micro"], "ap.micro"),
    **dict.fromkeys(["auprc", "aupr", "prauc", "aucpr", "aucprc", "precisionrecallauc"], "{ap}"),
    **dict.fromkeys(["averageprecision", "averageprecisionscore"], "{ap}"),
    "ap@": "{map_r}, divided by R, or {map}, by min(k, R) (means over rows)",
    **dict.fromkeys(["auroc", "rocauc", "aucroc", "rocaucscore"], "{auc}"),
    **dict.fromkeys(["rocaucovr", "rocaucovo", "lauc"], "auc.macro"),
    **dict.fromkeys(["rocaucovrweighted", "rocaucovoweighted"], "auc.weighted"),
    "gauc": "auc.samples",
    **dict.fromkeys(["hitrate", "hr", "hitratio", "abandonment"], "{hit}"),
    **dict.fromkeys(["topkaccuracy", "topkaccuracyscore"], "{hit}"),
    **dict.fromkeys(["rprec@", "rprecision@"], "{rcap}: hits / min(k, R)"),
    "rprecision": "rprec",
    **dict.fromkeys(["exactmatch", "exactmatchratio", "emr", "subsetacc"], "subset_accuracy"),
    **dict.fromkeys(
        ["zerooneloss", "zeroone", "subsetloss", "subset01loss"], "1 - subset_accuracy"
    ),
    **dict.fromkeys(
        ["hammingscore", "hammingaccuracy"], "accuracy.micro, which is 1 - hamming_loss"
    ),
    **dict.fromkeys(["hamming", "hloss", "hl", "hammingdistance"], "hamming_loss"),
    "coverage@": "{label_coverage} of labels with a hit or {pred_coverage} of predicted labels, "
    "while coverage is of whole rankings",
    **dict.fromkeys(["itemcoverage", "catalogcoverage"], "{pred_coverage}"),
    **dict.fromkeys(["meanreciprocalrank", "reciprocalrank"], "{mrr}"),
    **dict.fromkeys(["normalizeddcg", "normalizeddiscountedcumulativegain", "ndcgscore"], "{ndcg}"),
    "dcgscore": "{dcg}",
    "ndcgburges": '{ndcg} with conventions="gains=exp"',
    "dcgburges": '{dcg} with conventions="gains=exp"',
    "precision@": "{p}",
    "recall@": "{r}",
    "acc@": "{p}",
    "accuracy@": "{p}",
    "recallatfixedprecision": "recall_at_precision.macro(p=0.9)",
    "precisionatfixedrecall": "precision_at_recall.macro(r=0.9)",
    **dict.fromkeys(["f1score", "f1measure", "fmeasure", "fscore"], "{f1}"),
    "fbetascore": "fbeta.macro(beta=2)",
    "precisionscore": "{precision}",
    "recallscore": "{recall}",
    **dict.fromkeys(["jaccardscore", "jaccardindex", "iou"], "{jaccard}"),
    "balancedaccuracyscore": "{balanced_accuracy}",
    **dict.fromkeys(["matthewscorrcoef", "matthewscorrelationcoefficient"], "{mcc}"),
    **dict.fromkeys(
        ["acc", "accuracy", "accuracyscore"],
        "subset_accuracy of whole sets (scikit-learn's accuracy_score), or of all cells {accuracy}",
    ),
    **dict.fromkeys(["rankingaverageprecision", "labelrankingaverageprecisionscore"], "lrap"),
    **dict.fromkeys(["calibrationerror", "expectedcalibrationerror"], "{ece}"),
    **dict.fromkeys(["brierscore", "brierscoreloss", "negbrierscore"], "{brier}"),
    **dict.fromkeys(["neglogloss", "crossentropy", "bce"], "{log_loss}"),
    "giniindex": "{gini}",
    "shannonentropy": "{entropy}",
    "averagepopularity": "{popularity}",
    "tailpercentage": "{tail_share}",
    "psprec": "{psp}",
    "setp": "precision.samples",
    "setr": "recall.samples",
    "setf": "f1.samples",
}
AMBIGUOUS = {"map"}  # names at k that mean something else elsewhere, so that they are refused alone
PREFIXES = ("multilabel", "retrieval")  # of the classes of torchmetrics
AVERAGES = ("micro", "macro", "weighted", "samples")


def plain(text: str) -> str:
    """Return a name in lower case, without blanks."""
    return BLANKS.sub("", text.strip().lower())


def is_in_table(name: str) -> bool:
    """Return whether a name, as `canonical` returns it, begins with one of the table."""
    return re.split(r"[.(@]", name, maxsplit=1)[0] in NAMES


def canonical(text: str) -> str:
    """Return the name in the table for another spelling; other text in lower case.

    Recognised are the names in `aliases`, an average before or after the name (``macro_f1``,
    ``f1-macro``), a cutoff without ``@`` (``p5``, trec_eval's ``P_5``), and ``p@k`` for a measure
    at each cutoff.
    """
    text = plain(text)
    at_recall = RECALLS.fullmatch(text)
    if at_recall:
        params = f",{at_recall[1]}" if at_recall[1] else ""
        return f"iprec(recall={at_recall[2]}{params})"
    of_trec_eval = TREC_EVAL_RECALLS.fullmatch(text)
    if of_trec_eval:
        return f"iprec(recall={of_trec_eval[1]})"
    if text.endswith("@k"):
        return _aliased(text[:-1]).removesuffix("@")
    head, *tail = re.split(r"(?=[(@])", text, maxsplit=1)
    numbered = re.fullmatch(r"([a-z_\-]+?)[_.]?(\d+)", head)
    if numbered and not tail and head not in NAMES:
        at_k = _aliased(f"{numbered[1]}@{numbered[2]}")
        if at_k.partition("@")[0] in AT_K:
            return at_k
    return _aliased("".join([_dotted(head), *tail]))


def _aliased(text: str) -> str:
    """Replace an alias, with or without parameters and cutoff, by its name in the table."""
    match = PARTS.fullmatch(text)
    if match is None:
        return text
    alias = match["head"].replace("-", "_")
    params = match["params"] or ""
    cutoff = match["cutoff"] or ""
    key = alias
    if cutoff and (f"{alias}@" in ALIASES or f"{alias}@" in WITH_LEVEL):
        key = f"{alias}@"
    name = ALIASES.get(key)
    if LEVELS.search(params) and (key.endswith("@") or not cutoff):
        name = WITH_LEVEL.get(key, name)
    if name is None:
        return text
    name, at, of_all = name.partition("@")
    return name + params + (at + of_all).removesuffix("@") + cutoff


def without_params(name: str) -> str:
    """Return a name without the parameters in parentheses."""
    return re.sub(r"\([^()]*\)", "", name)


def _dotted(name: str) -> str:
    """Return a name without cutoff as ``name.average``."""
    if name in NAMES or name in ALIASES:
        return name
    underscored = name.replace("-", "_")
    if underscored in NAMES:
        return underscored
    return JOINED.get(underscored, AVERAGED.get(underscored, name))


def meaning(text: str) -> str:
    """Return the measures that another program calls so, to end a message; empty if unknown."""
    head, _, cutoff = re.sub(r"[\s_\-]", "", text.lower()).partition("@")
    name, _, average = head.partition(".")
    name = next((name.removeprefix(each) for each in PREFIXES if name.startswith(each)), name)
    if not average:
        name, average = _split_average(name)
    numbered = re.fullmatch(r"(.+?)(?:at)?(\d+)", name) or re.fullmatch(r"(.+)at(k)", name)
    if numbered and not cutoff and name not in MEANT:
        name = numbered[1]
        cutoff = numbered[2]
    if name in AMBIGUOUS and cutoff == "k":
        return ""
    meant = _meant(name, average, cutoff)
    if not meant and numbered and name in AT_K:
        meant = f"{{{name}}}"
    return re.sub(r"\{(\w+)\}", lambda match: _spelled(match[1], average, cutoff), meant)


def _split_average(name: str) -> tuple[str, str]:
    """Return a name without the average that it begins or ends with, and that average, if any."""
    average = ""
    for each in AVERAGES:
        if len(name) > len(each) and (name.startswith(each) or name.endswith(each)):
            average = each
            name = name.removeprefix(each).removesuffix(each)
    return name, average


def _meant(name: str, average: str, cutoff: str) -> str:
    """Return the meaning of a name with an average or a cutoff, or else of the name alone."""
    keys = [name]
    if cutoff:
        keys.insert(0, f"{name}@")
    if average:
        keys.insert(0, f"{name}.{average}")
    return next((MEANT[key] for key in keys if key in MEANT), "")


def _spelled(name: str, average: str, cutoff: str) -> str:
    """Return a name of the table with an average, or with each in turn, and with a cutoff."""
    metrics = [metric for metric in TABLE if metric.name == name and metric.cutoff != "all"]
    at_k = ""
    if _has_cutoff(metrics, cutoff):
        at_k = f"@{cutoff or 'k'}"
    known = [each for metric in metrics for each in metric.averages or ("",)]
    averages = [average]
    if average not in known:
        averages = [each for each in AVERAGES if each in known] or known or [""]
    *earlier, last = [f"{name}.{each}".rstrip(".") + at_k for each in averages]
    return f"{', '.join(earlier)} or {last}" if earlier else last


def _has_cutoff(metrics: list[Measure], cutoff: str) -> bool:
    """Whether a name is spelled with a cutoff: all metrics need one, or it is given and taken."""
    if all(metric.cutoff == "required" for metric in metrics):
        return True
    return bool(cutoff) and any(metric.cutoff in ("required", "optional") for metric in metrics)


def nearest(name: str) -> str:
    """Return a hint with the names nearest to an unknown one, or where all are listed."""
    names = sorted({*NAMES, *JOINED.values(), *GROUPS, *(alias.rstrip("@") for alias in ALIASES)})
    return did_you_mean(name, names, canonical) or "`xmleval metrics` lists all"


def not_there(name: str, names: list[str]) -> str:
    """Return a message that a report lacks a value, with names of the same measure or alike."""
    return f"{shown(name)} is not in this report; {_near_in_report(name, names)}"


def _near_in_report(name: str, names: list[str]) -> str:
    """Return which names of a report are near to one that it lacks, or its first names."""
    stem = canonical(name).split("@")[0]
    same = [computed for computed in names if computed.split("@")[0] == stem]
    if same:
        return f"it has {', '.join(same)}"
    meant = meaning(name)
    if meant:
        return f"here it is {meant}"
    few = ", ".join(names[:6])
    if len(names) > 6:
        few += ", ..."
    return did_you_mean(name, names, canonical) or f"it has {few}"
