"""Published constants (A, B) of the propensity model, by the usual names of data sets."""

from __future__ import annotations

import re
from typing import NamedTuple

from xmleval.base.errors import InputError, Keyword, Message, did_you_mean, shown

DEFAULT = (0.55, 1.5)
JAIN = "Jain et al. 2016"  # the paper of the model
# configurations
DEEPXML = "DeepXML"
NGAME = "NGAME"
PYXCLIB = "pyxclib"  # its examples/evaluate.py


class Published(NamedTuple):
    """A data set, its constants, and where they are published."""

    dataset: str
    a: float
    b: float
    source: str

    def where(self) -> dict[str, str]:
        """Return the name and the source."""
        return {"dataset": self.dataset, "source": self.source}


PUBLISHED = (
    Published("default", *DEFAULT, JAIN),
    Published("wikipedia", 0.5, 0.4, JAIN),
    Published("amazon", 0.6, 2.6, JAIN),
    Published("WikiLSHTC-325K", 0.5, 0.4, JAIN),
    Published("Amazon-670K", 0.6, 2.6, JAIN),
    Published("Amazon-3M", 0.6, 2.6, PYXCLIB),
    Published("Wikipedia-500K", 0.5, 0.4, DEEPXML),
    Published("WikiTitles-500K", 0.5, 0.4, DEEPXML),
    Published("EURLex-4K", *DEFAULT, DEEPXML),
    Published("AmazonCat-13K", *DEFAULT, DEEPXML),
    Published("AmazonTitles-670K", 0.6, 2.6, DEEPXML),
    Published("AmazonTitles-3M", 0.6, 2.6, DEEPXML),
    Published("LF-Amazon-131K", 0.6, 2.6, DEEPXML),
    Published("LF-AmazonTitles-131K", 0.6, 2.6, DEEPXML),
    Published("LF-AmazonTitles-1.3M", 0.6, 2.6, DEEPXML),
    Published("LF-WikiSeeAlso-320K", *DEFAULT, DEEPXML),
    Published("LF-WikiSeeAlsoTitles-320K", *DEFAULT, DEEPXML),
    Published("LF-WikiTitles-500K", 0.5, 0.4, DEEPXML),
    Published("LF-Wikipedia-500K", 0.5, 0.4, NGAME),
)
ALIASES = {
    "EURLex": "EURLex-4K",
    "AmazonCat": "AmazonCat-13K",
    "WikiLSHTC": "WikiLSHTC-325K",
    "Wiki-500K": "Wikipedia-500K",
    "Amazon-131K": "LF-Amazon-131K",
    "AmazonTitles-131K": "LF-AmazonTitles-131K",
    "AmazonTitles-1.3M": "LF-AmazonTitles-1.3M",
    "WikiSeeAlso-320K": "LF-WikiSeeAlso-320K",
    "WikiSeeAlsoTitles-320K": "LF-WikiSeeAlsoTitles-320K",
}
# Data sets in use for which nothing was published: papers take the default, or do not say.
UNPUBLISHED = (
    "Wiki10-31K",
    "Delicious",
    "Delicious-200K",
    "Bibtex",
    "Mediamill",
    "RCV1-2K",
    "AmazonCat-14K",
)


def spelled(name: str) -> str:
    """Return a name of a data set in lower case, without hyphens and the like."""
    return re.sub("[^a-z0-9]", "", name.lower())


BY_NAME = {spelled(row.dataset): row for row in PUBLISHED}
BY_NAME |= {spelled(alias): BY_NAME[spelled(name)] for alias, name in ALIASES.items()}
WITHOUT = {spelled(name) for name in UNPUBLISHED}


def published(name: str) -> Published:
    """Return the constants of a data set, or refuse a name that has none."""
    if not isinstance(name, str):
        raise InputError("dataset", f"{shown(name)} is not the name of a data set")
    constants = BY_NAME.get(spelled(name))
    if constants is not None:
        return constants
    if spelled(name) in WITHOUT:
        a, b = DEFAULT
        reason = (
            f"no constants are published for {shown(name)}; most papers use a={a}, b={b}: give "
        )
        raise InputError("dataset", Message(reason, Keyword("dataset", "'default'")))
    names = [data_set.dataset for data_set in PUBLISHED]
    hint = did_you_mean(name, [*names, *UNPUBLISHED], spelled)
    if not hint:
        hint = f"known data sets are {', '.join(names)}"
    raise InputError("dataset", Message(f"{shown(name)} is not known; {hint}"))
