"""Other spellings of measures, and the names nearest to one that is unknown."""

from __future__ import annotations

import re

from xmleval.base.errors import did_you_mean, shown
from xmleval.metrics import ALIASES, GROUPS, TABLE

WORDS = {"roc_auc": "auc", "average_precision": "ap"}  # names of scikit-learn
BLANKS = re.compile(r"(?<![0-9.]) +| +(?![0-9.])")  # but not those that cut a number in two
NAMES = {metric.name for metric in TABLE}
AT_K = {metric.name for metric in TABLE if metric.cutoff in ("required", "optional")}
JOINED = {  # f1_macro, macro_f1
    joined: f"{metric.name}.{average}"
    for metric in TABLE
    for name in (metric.name, *(word for word, name in WORDS.items() if name == metric.name))
    for average in metric.averages
    for joined in (f"{name}_{average}", f"{average}_{name}", f"{name}.{average}")
}

# What is measured here by names of other programs, lower-case and without "_", "-" and blanks; with "@", only
# with a cutoff. Names in braces get the average and the cutoff of the name, or all that there are.
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
    **dict.fromkeys(["rp", "rprec@", "rprecision@"], "{rcap}: hits / min(k, R)"),
    "rprecision": "rprec",
    **dict.fromkeys(["exactmatch", "exactmatchratio", "emr", "subsetacc"], "subset_accuracy"),
    **dict.fromkeys(["zerooneloss", "zeroone", "subsetloss", "subset01loss"], "1 - subset_accuracy"),
    **dict.fromkeys(["hammingscore", "hammingaccuracy"], "accuracy.micro, which is 1 - hamming_loss"),
    **dict.fromkeys(["hamming", "hloss", "hl", "hammingdistance"], "hamming_loss"),
    "coverage@": "{label_coverage} of labels with a hit or {pred_coverage} of predicted labels, while "
    "coverage is of whole rankings",
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


def canonical(text: str) -> str:
    """Return the spelling in the table of a name that people spell otherwise; other text in lower case.

    Known are the names in `ALIASES`, an average before or after the name (``macro_f1``, ``f1-macro``), a
    cutoff without ``@`` (``p5``, trec_eval's ``P_5``), and ``p@k`` for a measure at each cutoff.
    """
    text = BLANKS.sub("", text.strip().lower())
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
    for alias, name in ALIASES.items():
        if text == alias or text.startswith(alias + "@") or (alias.endswith("@") and text.startswith(alias)):
            return name + text[len(alias) :]
    return text


def _dotted(name: str) -> str:
    plain = name.replace("-", "_")
    if name in NAMES or name in ALIASES:
        return name
    return plain if plain in NAMES else JOINED.get(plain, WORDS.get(plain, name))


def meaning(text: str) -> str:
    """Return what a name of another program is here, as the end of a message; empty if that is not known."""
    head, _, cutoff = re.sub(r"[\s_\-]", "", text.lower()).partition("@")
    name, _, average = head.partition(".")
    name = next((name.removeprefix(each) for each in PREFIXES if name.startswith(each)), name)
    for each in AVERAGES if not average else ():
        if len(name) > len(each) and (name.startswith(each) or name.endswith(each)):
            average, name = each, name.removeprefix(each).removesuffix(each)
    numbered = re.fullmatch(r"(.+?)(?:at)?(\d+)", name) or re.fullmatch(r"(.+)at(k)", name)
    if numbered and not cutoff and name not in MEANT:
        name, cutoff = numbered[1], numbered[2]
    if name in AMBIGUOUS and cutoff == "k":
        return ""
    keys = [f"{name}.{average}"] if average else []
    keys += [f"{name}@"] if cutoff else []
    meant = next((MEANT[key] for key in (*keys, name) if key in MEANT), "")
    if not meant and numbered and name in AT_K:
        meant = f"{{{name}}}"
    return re.sub(r"\{(\w+)\}", lambda found: _spelled(found[1], average, cutoff), meant)


def _spelled(name: str, average: str, cutoff: str) -> str:
    """Return a name of the table with an average and a cutoff; without an average, with each in turn."""
    rows = [metric for metric in TABLE if metric.name == name and metric.cutoff != "all"]
    takes_k = any(metric.cutoff in ("required", "optional") for metric in rows)
    needs_k = all(metric.cutoff == "required" for metric in rows)
    at_k = f"@{cutoff or 'k'}" if needs_k or (takes_k and cutoff) else ""
    known = [each for metric in rows for each in metric.averages or ("",)]
    usual = [each for each in AVERAGES if each in known]
    averages = [average] if average in known else usual or known or [""]
    *others, last = [f"{name}.{each}{at_k}" if each else f"{name}{at_k}" for each in averages]
    return f"{', '.join(others)} or {last}" if others else last


def nearest(name: str) -> str:
    """Return a hint with the names nearest to an unknown one, or where all are listed."""
    names = sorted({*NAMES, *JOINED.values(), *GROUPS, *(alias.rstrip("@") for alias in ALIASES)})
    return did_you_mean(name, names, canonical) or "`xmleval metrics` lists all"


def not_there(name: str, names: list[str]) -> str:
    """Say that a report has no such value, and which are near: of the same measure, or spelled alike."""
    stem = canonical(name).split("@")[0]
    same = [computed for computed in names if computed.split("@")[0] == stem]
    few = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    if not same and (meant := meaning(name)):
        return f"{shown(name)} is not in this report; here it is {meant}"
    near = f"it has {', '.join(same)}" if same else did_you_mean(name, names, canonical)
    return f"{shown(name)} is not in this report; {near or f'it has {few}'}"
