"""Text of messages: on one line, with the keywords that it mentions marked, to be shown as options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


def printable(text: str) -> str:
    r"""Return text on one line, with escapes for what could control a terminal or cannot be encoded.

    Examples
    --------
    >>> print(printable("two\nlines"), printable("\x1b[31mred"), printable("caf\u00e9"))
    two\nlines \x1b[31mred café
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


TRANSPOSED = "looks transposed: rows are instances, columns labels"
LIST_TRANSPOSED = "looks transposed: rows are instances, columns ranks"
NO_MATCH = "rows do not match", "row does not match"


def counted(n: int, several: str, one: str | None = None) -> str:
    """Return a number with what it counts; ``one`` is what a single one is called, else without the s.

    Examples
    --------
    >>> counted(2, "labels"), counted(1, "labels"), counted(1, "rows do not match", "row does not match")
    ('2 labels', '1 label', '1 row does not match')
    """
    return f"{n} {several if n != 1 else one or several.removesuffix('s')}"


def did_you_mean(name: str, known: Iterable[str], among: Callable[[str], str] = str.lower) -> str:
    """Return a hint with the known names nearest to another, compared as ``among`` spells them; or nothing.

    Examples
    --------
    >>> did_you_mean("SKlern", ["sklearn", "mulan"])
    'did you mean sklearn?'
    """
    import difflib  # only once something is wrong

    spelled = {among(one): one for one in known}
    near = difflib.get_close_matches(among(name), spelled, n=3)
    return f"did you mean {' or '.join(spelled[one] for one in near)}?" if near else ""


class Keyword(NamedTuple):
    """A keyword argument in a message, ``name=`` or ``name=value``."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        """Return it as Python spells it."""
        return f"{self.name}={self.value}"


class Message(str):
    """A string made of strings, keywords and other messages.

    Examples
    --------
    >>> from xmleval.message import Keyword, Message
    >>> said = Message("p@1", " needs ", Keyword("y_score"))
    >>> said
    'p@1 needs y_score='
    >>> said.spelled(lambda keyword: f"--{keyword.name}")
    'p@1 needs --y_score'
    """

    parts: tuple[str | Keyword, ...]

    def __new__(cls, *parts: object) -> Message:
        """Join the parts."""
        made = super().__new__(cls, "".join(map(str, parts)))
        nested = (part.parts if isinstance(part, Message) else (part,) for part in parts)
        made.parts = tuple(p if isinstance(p, Keyword) else str(p) for several in nested for p in several)
        return made

    def spelled(self, spell: Callable[[Keyword], str]) -> str:
        """Return the text with keywords spelled by ``spell``."""
        return "".join(spell(part) if isinstance(part, Keyword) else part for part in self.parts)


ALL_LABELS = Message(Keyword("labels"), ", as some predicted labels are unknown")
TIES = "rows with ties across a cutoff: "  # how a note begins that no warning repeats for each batch
RISING = Message(
    "scores rise along every row, and the highest ranks first; give distances with ",
    Keyword("higher_is_better", "False"),
)
