"""The words of the guides: counts of what reads badly, which may only fall."""

import re
from collections import Counter

from scripts import readme

WORDS = re.compile(r"\b(those|others|beside|tells?|holds?|(?:is|are) none|of which|likewise)\b")
LONG = 25  # words of a sentence
MOST = {"those": 29, "others": 13, "holds": 5, "of which": 3, "tell": 2, "hold": 1, "long": 19}


def prose_of(text: str) -> str:
    """Return the sentences of a page, without code, tables, headings and what is generated."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
    text = re.sub(r"<!-- (.+?): written by.*?end of \1 -->", "", text, flags=re.S)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "<"))]
    return re.sub(r"\]\([^)]*\)", "]", "\n".join(lines))


def counts() -> Counter[str]:
    """Return how often each word occurs, and the number of long sentences."""
    total: Counter[str] = Counter()
    for path in readme.PAGES.glob("*.md"):
        prose = prose_of(path.read_text(encoding="utf-8"))
        total.update(WORDS.findall(prose.lower()))
        for paragraph in re.split(r"\n\n|\n(?=- |\d\. )", prose):
            sentences = re.split(r"(?<=[.?!:;]) ", " ".join(paragraph.split()))
            total["long"] += sum(len(sentence.split()) > LONG for sentence in sentences)
    return total


def test_words_that_read_badly_become_fewer() -> None:
    found = counts()
    assert {word: n for word, n in found.items() if n > MOST.get(word, 0)} == {}


def test_prose_has_no_code_and_no_tables() -> None:
    text = "# Those\n\n| those |\n\nOne [two](three.md).\n\n```python\nthose\n```\n"
    assert prose_of(text).split() == ["One", "[two]."]
