"""Other spellings of measures, and the names nearest to one that is unknown."""

from __future__ import annotations

import re

from xmleval.base.errors import did_you_mean
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


def nearest(name: str) -> str:
    """Return a hint with the names nearest to an unknown one, or where all are listed."""
    names = sorted({*NAMES, *JOINED.values(), *GROUPS, *(alias.rstrip("@") for alias in ALIASES)})
    return did_you_mean(name, names, canonical) or "`xmleval metrics` lists all"


def not_there(name: str, names: list[str]) -> str:
    """Say that a report has no such value, and which are near: of the same measure, or spelled alike."""
    stem = canonical(name).split("@")[0]
    same = [computed for computed in names if computed.split("@")[0] == stem]
    few = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    near = f"it has {', '.join(same)}" if same else did_you_mean(name, names, canonical)
    return f"{name!r} is not in this report; {near or f'it has {few}'}"
