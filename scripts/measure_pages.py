"""Sections of the pages of measures: one for each record of the table, with a worked example.

`python scripts/readme.py write` writes them to `xmleval/docs/measures-FAMILY.md`. Formula, range,
conventions and source are those of the record. The questions, and the examples worked out by hand,
are those of `ABOUT`; tests compute both.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, log2, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from xmleval.metrics import Measure

DATA = """\
Y = np.array([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
S = np.array([[0.9, 0.2, 0.6, 0.7, 0.1], [0.8, 0.5, 0.3, 0.4, 0.1], [0.3, 0.2, 0.5, 0.1, 0.6]])
"""
SETUP = """\
```python
>>> import numpy as np
>>> import xmleval
>>> Y = np.array([[1, 0, 1, 0, 0],                 # relevant labels: 0 and 2
...               [0, 1, 0, 0, 0],                 # 1
...               [0, 0, 0, 0, 1]])                # 4
>>> S = np.array([[0.9, 0.2, 0.6, 0.7, 0.1],       # ranking 0 3 2 1 4: hits at ranks 1, 3
...               [0.8, 0.5, 0.3, 0.4, 0.1],       # ranking 0 1 3 2 4: a hit at rank 2
...               [0.3, 0.2, 0.5, 0.1, 0.6]])      # ranking 4 2 0 1 3: a hit at rank 1
>>> def show(metrics, truth=Y, **options):
...     report = xmleval.evaluate(truth, S, metrics=metrics, **options)
...     print("\\n".join(f"{name} = {value:.4f}" for name, value in report.items()))

```
"""
OPTIONS = {  # arguments of the examples, by what a measure needs
    "sets": 'decision="top2"',
    "propensity": "inverse_propensity=[2, 3, 4, 5, 10]",
    "training": "y_train=[[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 0, 0]]",
    "hierarchy": "hierarchy=[(2, 1), (3, 1)]",
    "grades": 'truth=Y * [2, 1, 1, 1, 3], conventions="gains=linear"',
}
HAND = {"log": log, "log2": log2, "sqrt": sqrt, "round": round}  # names in examples by hand


class About(NamedTuple):
    """What is said of a measure: its question, and its example worked out by hand."""

    question: str
    hand: str = ""  # of several averages, one after another with ";" between


ABOUT: Mapping[str, About] = {
    # at k
    "p@k": About("How many of the first k labels are relevant?", "(1/2 + 1/2 + 1/2) / 3"),
    "ndcg@k": About(
        "Are relevant labels among the first k, and near the top?",
        "(1 / (1 + 1/log2(3)) + 1/log2(3) + 1) / 3",
    ),
    "r@k": About("How many of the relevant labels are among the first k?", "(1/2 + 1/1 + 1/1) / 3"),
    "rcap@k": About(
        "The same, where rows with more than k relevant labels can also reach 1.",
        "(1/2 + 1/1 + 1/1) / 3",
    ),
    "dcg@k": About(
        "How much do the hits add up to, each discounted by its rank?", "(1 + 1/log2(3) + 1) / 3"
    ),
    "hit@k": About("Is any relevant label among the first k?", "(1 + 1 + 1) / 3"),
    "mrr@k": About("How far down is the first relevant label?", "(1/1 + 1/2 + 1/1) / 3"),
    "map@k": About(
        "How precise is the list at each of its hits?", "((1/1) / 2 + (1/2) / 1 + (1/1) / 1) / 3"
    ),
    "map_r@k": About(
        "The same over all relevant labels, so that those beyond k count as missed.",
        "((1/1) / 2 + (1/2) / 1 + (1/1) / 1) / 3",
    ),
    "rprec": About(
        "How many of the relevant labels are found in a list as long as their number R?",
        "(1/2 + 0/1 + 1/1) / 3",
    ),
    "rprec.micro": About("The same of all rows together.", "(1 + 0 + 1) / (2 + 1 + 1)"),
    "ndcg@all": About(
        "Are relevant labels near the top of the whole ranking?",
        "((1 + 1/log2(4)) / (1 + 1/log2(3)) + 1/log2(3) + 1) / 3",
    ),
    "dcg@all": About(
        "How much do all relevant labels add up to, each discounted by its rank?",
        "((1 + 1/log2(4)) + 1/log2(3) + 1) / 3",
    ),
    "mrr@all": About(
        "How far down the whole ranking is the first relevant label?", "(1/1 + 1/2 + 1/1) / 3"
    ),
    "map@all": About(
        "How precise is the whole ranking at each relevant label?",
        "((1/1 + 2/3) / 2 + (1/2) / 1 + (1/1) / 1) / 3",
    ),
    "label_coverage@k": About(
        "How many of the labels that occur in the truth does the model ever get right?", "3 / 4"
    ),
    "label_coverage.macro@k": About(
        "How many of all labels does the model ever get right?", "3 / 5"
    ),
    "judged@k": About("How many of the first k labels have been judged at all?", "1"),
    "rbp(p=0.8)@k": About(
        "How much does a reader find who goes on to the next label with probability p?",
        "0.2 * (1 + 0.8 + 1) / 3",
    ),
    "rbp_residual(p=0.8)@k": About(
        "How much could rank-biased precision grow if all that is unknown were relevant?",
        "0.8 ** 2",
    ),
    "rbp(p=0.8)@all": About(
        "The same reader, with the whole ranking.", "0.2 * ((1 + 0.8**2) + 0.8 + 1) / 3"
    ),
    "rbp_residual(p=0.8)@all": About(
        "What could be added beyond the end of the ranking?", "0.8 ** 5"
    ),
    "bpref": About(
        "Are relevant labels above those that were judged irrelevant, whatever was not judged?",
        "((1 + (1 - 1/2)) / 2 + (1 - 1/1) + 1) / 3",
    ),
    "err(max_grade=4)@k": About(
        "How soon does a reader stop, who is satisfied by a label with probability by its grade?",
        "((2**2 - 1)/16 + ((2**1 - 1)/16) / 2 + (2**3 - 1)/16) / 3",
    ),
    "iprec(recall=0.1)": About(
        "What precision does a list reach that has at least this recall?", "(1/1 + 1/2 + 1/1) / 3"
    ),
    "map_11pt": About(
        "The area under precision and recall as TREC drew it, by 11 recalls.",
        "((6 * 1 + 5 * 2/3) / 11 + 1/2 + 1) / 3",
    ),
    # propensity
    "psp@k": About(
        "How many of the first k labels are relevant, where a hit of a rare label counts more?",
        "(2 + 3 + 10) / ((4 + 2) + 3 + 10)",
    ),
    "psndcg@k": About(
        "The same, where the top counts more, each row over its own ideal DCG.",
        "(2 / (1 + 1/log2(3)) + 3/log2(3) + 10) / ((4 + 2/log2(3)) / (1 + 1/log2(3)) + 3 + 10)",
    ),
    "psr@k": About(
        "How many of the relevant labels are found, where a rare label counts more?",
        "(2/2 + 3/1 + 10/1) / ((4 + 2)/2 + 3/1 + 10/1)",
    ),
    "psdcg@k": About(
        "The same as psndcg@k without the ideal DCG of each row.",
        "(2 + 3/log2(3) + 10) / ((4 + 2/log2(3)) + 3 + 10)",
    ),
    "psp_raw@k": About("The numerator of psp@k as a mean over rows.", "(2/2 + 3/2 + 10/2) / 3"),
    "psr_raw@k": About("The numerator of psr@k as a mean over rows.", "(2/2 + 3/1 + 10/1) / 3"),
    "psdcg_raw@k": About(
        "The numerator of psdcg@k as a mean over rows.", "(2 + 3/log2(3) + 10) / 3"
    ),
    "psndcg_raw@k": About(
        "The numerator of psndcg@k as a mean over rows.",
        "(2 / (1 + 1/log2(3)) + 3/log2(3) + 10) / 3",
    ),
    # ranking
    "one_error": About("How often is the first label wrong?", "(0 + 1 + 0) / 3"),
    "coverage": About(
        "How far down must one go to have all relevant labels?",
        "((3 - 1) + (2 - 1) + (1 - 1)) / 3",
    ),
    "coverage_error": About("The same, counted from 1.", "(3 + 2 + 1) / 3"),
    "ranking_loss": About(
        "How many pairs of a relevant and an irrelevant label are in the wrong order?",
        "(1/6 + 1/4 + 0/4) / 3",
    ),
    "lrap": About(
        "Of the labels down to each relevant one, how many are relevant?",
        "((1/1 + 2/3) / 2 + 1/2 + 1/1) / 3",
    ),
    "lwlrap": About(
        "The same, where every relevant label counts the same, not every row.",
        "((1/1 + 2/3) + 1/2 + 1/1) / 4",
    ),
    "auc.samples": About(
        "How many pairs of a relevant and an irrelevant label of a row are in the right order?",
        "(5/6 + 3/4 + 4/4) / 3",
    ),
    "gauc": About(
        "The same, where rows with more judged labels count more, as in click prediction.",
        "(5 * 5/6 + 5 * 3/4 + 5 * 4/4) / (5 + 5 + 5)",
    ),
    "mean_rank": About(
        "Which rank does a relevant label have among the irrelevant ones?",
        "((1 + 2) + 2 + 1) / 4",
    ),
    "amri": About(
        "The same between 1 for the first rank and 0 for chance.",
        "1 - (6/4 - 1) / ((2 * (1 + 3/2) + (1 + 4/2) + (1 + 4/2)) / 4 - 1)",
    ),
    "peak_f1.samples": About(
        "What F1 would the best cutoff of each row reach?", "(2*2/(3 + 2) + 2*1/(2 + 1) + 1) / 3"
    ),
    "is_error": About("How often is any pair in the wrong order?", "(1 + 1 + 0) / 3"),
    "error_set_size": About("How many pairs of a row are in the wrong order?", "(1 + 1 + 0) / 3"),
    # curves
    "auc": About(
        "How well do scores separate relevant from irrelevant cells, at any threshold?",
        "37.5 / 44; (1 + 1 + 1 + 1) / 4; (1 + 1 + 1 + 1) / 4",
    ),
    "auc(max_fpr=0.1)": About("The same at thresholds with few false positives."),
    "ap": About("How precise are predictions at each threshold that finds more relevant cells?"),
    "ap(interpolated=voc2010)": About(
        "The same with the best precision at each recall or a higher one, as PASCAL VOC reports it."
    ),
    "peak_f1": About("What F1 would the best threshold reach on these data?"),
    "recall_at_precision(p=0.9)": About("How much is found at a precision that I need?"),
    "precision_at_recall(r=0.9)": About("How precise are predictions that find as much as I need?"),
    "fpr_at_tpr(tpr=0.95)": About(
        "How many irrelevant cells are predicted by a threshold that finds as much as I need?"
    ),
    # abstaining
    "aurc@k": About(
        "How many errors remain when the model leaves its least certain rows to people?",
        "(0/1 + 1/2 + 1/3) / 3",
    ),
    "risk(coverage=0.8)@k": About(
        "How many errors remain when a share of the rows is accepted?",
        "(0 + 1 + 0) / 3",
    ),
    # margins
    "margin": About(
        "How far are relevant scores above irrelevant ones, at the worst?",
        "((0.6 - 0.7) + (0.5 - 0.8) + (0.6 - 0.5)) / 3; (0.1 + 0.3 + 0.1 + 0.5) / 4",
    ),
    "margin_share": About(
        "In how many rows, or labels, are all relevant scores above the others?",
        "1 / 3; 4 / 4",
    ),
    # calibration
    "ece(bins=15)[@k]": About(
        "Is a label with score 0.8 relevant in 80 % of the cases?",
        "2/6 * (0.5 - 0.5) + 2/6 * (0.65 - 0.5) + 2/6 * (0.85 - 0.5)",
    ),
    "ece_over(bins=15)[@k]": About(
        "How much of that error is scores that are too high?",
        "2/6 * (0.65 - 0.5) + 2/6 * (0.85 - 0.5)",
    ),
    "ece_under(bins=15)[@k]": About(
        "How much of that error is scores that are too low?",
        "0 / 6",
    ),
    "ace(bins=15)[@k]": About(
        "The same as ECE, with as many pairs in each bin.",
        "2/6 * (0.5 - 0.5) + 1/6 * (1 - 0.6) + 1/6 * 0.7 + 2/6 * (0.85 - 0.5)",
    ),
    "brier[@k]": About(
        "Are probabilities right and sharp?",
        "(0.1**2 + 0.7**2 + 0.8**2 + 0.5**2 + 0.4**2 + 0.5**2) / 6",
    ),
    "log_loss[@k]": About(
        "The same, where a confident error costs most.",
        "-(log(0.9) + log(0.3) + log(0.2) + log(0.5) + log(0.6) + log(0.5)) / 6",
    ),
    # losses
    "log_loss.samples": About("Mulan's LogLoss: what do all labels of a row cost?"),
    "limited_log_loss(limit=1000)": About("MEKA's Log Loss: what does a cell cost, up to a limit?"),
    # sets
    "subset_accuracy": About("How often is the whole set right?", "(0 + 0 + 0) / 3"),
    "hamming_loss": About("How many cells are wrong?", "(2/5 + 1/5 + 1/5) / 3"),
    "precision[@k]": About(
        "How much of what is predicted is relevant?",
        "(1/2 + 1/2 + 1/2) / 3; 3 / 6; (1/2 + 1 + 0 + 0 + 1) / 5; (1/2 + 1 + 0 + 1) / 4",
    ),
    "recall[@k]": About(
        "How much of what is relevant is predicted?",
        "(1/2 + 1 + 1) / 3; 3 / 4; (1 + 1 + 0 + 0 + 1) / 5; (1 + 1 + 0 + 1) / 4",
    ),
    "f1[@k]": About(
        "Both in one number.",
        "(2/4 + 2/3 + 2/3) / 3; 6 / 10; (2/3 + 1 + 0 + 0 + 1) / 5; (2/3 + 1 + 0 + 1) / 4",
    ),
    "fbeta(beta=2)[@k]": About("Both, where recall counts beta times as much."),
    "jaccard[@k]": About(
        "How large is the common part of the predicted and the relevant set?",
        "(1/3 + 1/2 + 1/2) / 3; 3 / 7; (1/2 + 1 + 0 + 0 + 1) / 5; (1/2 + 1 + 0 + 1) / 4",
    ),
    "f1.of_means[@k]": About(
        "F1 of the averages over rows, not the average of F1.",
        "2 * 1/2 * 5/6 / (1/2 + 5/6)",
    ),
    "fbeta.of_means(beta=2)[@k]": About("F-beta of the averages over rows."),
    "f1.of_macros[@k]": About(
        "F1 of the averages over labels; the CF1 of image tagging.",
        "2 * 1/2 * 3/5 / (1/2 + 3/5)",
    ),
    "accuracy[@k]": About("How many cells are right? Near 1 for any sparse prediction."),
    "specificity[@k]": About("How many irrelevant labels are not predicted?"),
    "balanced_accuracy[@k]": About("Recall and specificity of a label, in the mean."),
    "mcc[@k]": About("How do prediction and truth correlate?"),
    "gmean[@k]": About("Recall and specificity, where neither makes up for the other."),
    "hmean[@k]": About("The same by the harmonic mean."),
    # hierarchy
    "h_precision[@k]": About(
        "Precision, where a sibling of the relevant label is half right.",
        "(2/3 + 1/2 + 1/3) / 3; 4 / 8",
    ),
    "h_recall[@k]": About(
        "Recall, where a sibling of the relevant label is half right.",
        "(2/3 + 1 + 1) / 3; 4 / 5",
    ),
    "h_f1[@k]": About(
        "Are errors near misses in the hierarchy?",
        "(4/6 + 2/3 + 2/4) / 3; 8 / 13",
    ),
    # predicted
    "pred_coverage[@k]": About("How many of all labels are predicted at all?", "5 / 5"),
    "gini[@k]": About(
        "How unequally do labels share the predictions?",
        "((2*1-6)*1 + (2*2-6)*1 + (2*3-6)*1 + (2*4-6)*1 + (2*5-6)*2) / (5 * 6)",
    ),
    "entropy[@k]": About(
        "How evenly do labels share the predictions?",
        "-(4 * 1/6 * log(1/6) + 2/6 * log(2/6)) / log(5)",
    ),
    "popularity[@k]": About(
        "How frequent in training are the predicted labels?",
        "(2 * 3 + 1 * 1 + 1 * 1 + 1 * 0 + 1 * 0) / 6",
    ),
    "tail_share(count=10)[@k]": About(
        "How many predictions are of labels with few training rows?", "(2 + 1 + 1) / 6"
    ),
    # statistics
    "label_cardinality": About("How many labels has a row?", "(2 + 1 + 1) / 3"),
    "label_density": About("How many of all labels has a row?", "(2 + 1 + 1) / 3 / 5"),
    "label_diversity": About("How many different label sets are there?", "3"),
    "proportional_diversity": About("How many label sets are there for each row?", "3 / 3"),
}


def families() -> dict[str, list[Measure]]:
    """Return the measures of each family, in the order of the table."""
    from xmleval.metrics import TABLE

    found: dict[str, list[Measure]] = {}
    for metric in TABLE:
        found.setdefault(metric.family, []).append(metric)
    return found


def page_of(family: str) -> str:
    """Return the name of the page of a family."""
    return f"measures-{family.replace(' ', '-')}"


def heading_of(metric: Measure) -> str:
    """Return the heading of a measure: its name, without averages to choose from."""
    from xmleval.cli.metrics import name_of

    single = metric.averages[0] if len(metric.averages) == 1 else ""
    if metric.name == "margin" or len(metric.averages) > 1:
        single = ""
    return name_of(metric, single)


def anchor_of(metric: Measure) -> str:
    """Return the anchor of a measure's section, as GitHub and MyST make it."""
    return "".join(c for c in heading_of(metric).lower() if c.isalnum() or c in "_-")


def example_of(metric: Measure) -> tuple[list[str], str]:
    """Return the names that the example of a measure computes, and its arguments."""
    from xmleval.cli.metrics import name_of

    names = []
    for average in metric.averages or ("",):
        name = (
            name_of(metric, average).replace("bins=15", "bins=5").replace("limit=1000", "limit=9")
        )
        plain = name.replace("[@k]", "")
        if metric.family == "calibration":
            plain += "@2"
        names.append(plain.replace("@k", "@1" if metric.family == "abstaining" else "@2"))
    options = [OPTIONS[need] for need in metric.needs if need in OPTIONS]
    return names, ", ".join(options)


def values_of(metric: Measure) -> dict[str, float]:
    """Return the values of the example of a measure."""
    import numpy as np

    import xmleval

    names, options = example_of(metric)
    space: dict[str, Any] = {"np": np}
    exec(DATA, space)  # texts of this file
    arguments = eval(f"dict({options})", space)
    truth = arguments.pop("truth", space["Y"])
    return dict(xmleval.evaluate(truth, space["S"], metrics=names, **arguments))


def call_of(names: list[str], options: str) -> str:
    """Return the call of an example, in lines of at most 84 columns."""
    first = f'"{",".join(names)}"'
    if len(first) > 70:
        first = "[" + ",\n...       ".join(f'"{name}"' for name in names) + "]"
    call = f">>> show({first}"
    if not options:
        return f"{call})"
    if len(call) + len(options) < 81:
        return f"{call}, {options})"
    return f"{call},\n...      {options})"


def choices_of(field: str) -> str:
    """Return the link from a convention to its section."""
    return f"[`{field}`](conventions.md#{field})"


def section(metric: Measure) -> str:
    """Return the section of a measure."""
    from xmleval.cli.metrics import find_metric, name_of, range_of
    from xmleval.metrics import GROUPS
    from xmleval.metrics.aliases import ALIASES_BY_SOURCE
    from xmleval.show.tables import ARROWS

    heading = heading_of(metric)
    about = ABOUT[heading]
    elsewhere = []
    for source, aliases in ALIASES_BY_SOURCE.items():
        for alias, name in aliases.items():
            plain = alias.rstrip("@.")
            if name.endswith(".") and metric.name == name[:-1] and not metric.params:
                elsewhere.append(f"`{plain}.{'|'.join(metric.averages)}` ({source})")
            elif not name.endswith(".") and find_metric(name) is metric:
                elsewhere.append(f"`{alias.replace('@', '@k')}` ({source})")
    groups = [group for group, members in GROUPS.items() if metric in map(find_metric, members)]
    if metric.general:
        groups.append("all")
    fields = {
        "names": ", ".join(f"`{name_of(metric, a)}`" for a in metric.averages or ("",)),
        "names elsewhere": ", ".join(elsewhere),
        "formula": metric.formula,
        "range": f"{range_of(metric)} {ARROWS[metric.direction]}".strip(),
        "needs": ", ".join(metric.needs) or "the truth alone",
        "conventions": ", ".join(map(choices_of, metric.conventions)),
        "groups": ", ".join(f"`{group}`" for group in groups),
        "source": metric.reference,
    }
    rows = [
        f"| {key} | {text.replace('|', chr(92) + '|')} |" for key, text in fields.items() if text
    ]
    names, options = example_of(metric)
    lines = [f"{name} = {value:.4f}" for name, value in values_of(metric).items()]
    title = metric.title[0].upper() + metric.title[1:]
    parts = [
        f"## `{heading}`",
        f"{title}. {about.question}",
        "\n".join(["| | |", "|---|---|", *rows]),
        "\n".join(["```python", call_of(names, options), *lines, "", "```"]),
    ]
    if about.hand:
        texts = [f"`{text}`" for text in about.hand.split("; ")]
        parts.append(f"By hand: {', '.join(texts)}.")
    return "\n\n".join(parts)


def measures_of(family: str) -> str:
    """Return the generated part of the page of a family."""
    sections = [section(metric) for metric in families()[family]]
    before = "Every example has three rows of five labels, in the ranking of the comments:"
    return "\n\n".join([before, SETUP.strip(), *sections])


def index() -> str:
    """Return the table of all measures, by family, with links to their sections."""
    from xmleval.cli.metrics import name_of
    from xmleval.show.tables import ARROWS

    lines = ["| family | measures |", "|---|---|"]
    for family, metrics in families().items():
        page = f"{page_of(family)}.md"
        links = []
        for metric in metrics:
            name = name_of(metric, "|".join(metric.averages)).replace("|", r"\|")
            arrow = ARROWS[metric.direction]
            links.append(f"[`{name}`]({page}#{anchor_of(metric)}) {arrow}".rstrip())
        lines.append(f"| [{family}]({page}) | {', '.join(links)} |")
    return "\n".join(lines)
