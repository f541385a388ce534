"""Errors about input, and the text of messages: on one line, with the keywords that it mentions marked."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeGuard


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


LONGEST_TEXT, LONGEST_VALUE = 40, 80  # characters of a text, and of another value, that a message quotes
MOST_ITEMS, MOST_LEVELS = 3, 2  # of a collection that a message quotes
MOST_NAMES = 8  # that a message lists


def shown(value: object, levels: int = MOST_LEVELS) -> str:
    """Return a value, or its beginning, as a message quotes it: on one line, and as Python's own types.

    Examples
    --------
    >>> shown("tag39"), shown("x" * 1000), shown({"a": [*range(99)]})
    ("'tag39'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'", "{'a': [0, 1, 2, ...]}")
    """
    if isinstance(value, bytes):
        value = value[: 4 * LONGEST_TEXT + 4].decode("utf-8", "replace")
    if isinstance(value, str):
        text = str(value[: LONGEST_TEXT + 1])  # of no type derived from it
        return repr(text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}...")
    if isinstance(value, dict | list | tuple | set | frozenset):
        text = _shown_items(value, levels)
    elif type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        text = str(value)
    else:
        try:
            text = " ".join(repr(value).split())
        except ValueError:  # an integer with more digits than Python prints
            text = f"a number of type {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def shown_names(names: Iterable[object], most: int = MOST_NAMES) -> str:
    """Return names, or the first of many, as a message lists them.

    Examples
    --------
    >>> shown_names(["bert", "tree"]), shown_names(map(str, range(99)), most=2)
    ('bert, tree', '0, 1, ...')
    """
    first = [*itertools.islice(map(str, names), most + 1)]
    texts = [name if len(name) <= LONGEST_TEXT else f"{name[:LONGEST_TEXT]}..." for name in first[:most]]
    return ", ".join(texts + ["..."] * (len(first) > most))


def _shown_items(values: Collection[object], levels: int) -> str:
    """Return the first items of a collection; deep inside others, none."""
    first = [*itertools.islice(values, MOST_ITEMS)] if levels else []
    texts = [shown(item, levels - 1) for item in first]
    if isinstance(values, dict):
        texts = [f"{text}: {shown(values[key], levels - 1)}" for key, text in zip(first, texts, strict=True)]
    texts += ["..."] * (len(values) > len(first))
    start, end = ("[]" if isinstance(values, list) else "()") if isinstance(values, list | tuple) else "{}"
    comma = "," if isinstance(values, tuple) and len(values) == 1 else ""
    return f"{start}{', '.join(texts)}{comma}{end}"


MOST = 1 << 60  # of what is counted: sums of several counts fit in 64 bits
TRANSPOSED = "looks transposed: rows are instances, columns labels"


def counted(n: int, plural: str, singular: str | None = None) -> str:
    """Return a number with what it counts; ``one`` is what a single one is called, else without the s.

    Examples
    --------
    >>> counted(2, "labels"), counted(1, "labels"), counted(1, "rows do not match", "row does not match")
    ('2 labels', '1 label', '1 row does not match')
    """
    return f"{n} {plural if n != 1 else singular or plural.removesuffix('s')}"


def other_rows(
    n_rows: int, expected: int, truth: str, n_labels: int | None = None, width: int | None = None
) -> str:
    """Return what is wrong with rows that are not as many as those of a truth.

    A number ``n_labels`` of labels of the truth, or the ``width`` of a list, may show what is transposed.
    """
    hint = f"; {truth} {TRANSPOSED}; give its .T" if n_rows == n_labels else ""
    if width == expected:
        hint = "; it looks transposed: rows are instances, columns ranks; give the .T of its arrays"
    return f"{counted(n_rows, 'rows do not match', 'row does not match')} the {expected} of {truth}{hint}"


def did_you_mean(name: str, names: Iterable[str], among: Callable[[str], str] = str.lower) -> str:
    """Return a hint with the known names nearest to another, compared as ``among`` spells them; or nothing.

    Examples
    --------
    >>> did_you_mean("SKlern", ["sklearn", "mulan"])
    'did you mean sklearn?'
    """
    import difflib  # only once something is wrong

    spelled = {among(candidate): candidate for candidate in names}
    near = difflib.get_close_matches(among(name), spelled, n=3)
    return f"did you mean {' or '.join(spelled[candidate] for candidate in near)}?" if near else ""


class Keyword(NamedTuple):
    """A keyword argument in a message, ``name=`` or ``name=value``."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        """Return it as Python spells it."""
        return f"{self.name}={self.value}"


class Field(Keyword):
    """A field of the conventions in a message, an option of its own on the command line."""

    def __str__(self) -> str:
        """Return it as Python spells it."""
        return f'conventions="{self.name}={self.value or "..."}"'


KEYWORDS_OF_SCAN = {  # by the option of the command line
    "input_format": "format",
    "label_field": "label",
    "scores_label_field": "label",
    "score_field": "score",
    "instance_field": "instance",
    "separator": "separator",
}


class ScanField(Keyword):
    """An option of the command line in a message, which in Python is a keyword of `scan`."""

    def __str__(self) -> str:
        """Return it as Python spells it."""
        is_quoted = self.value.startswith("'")
        value = self.value if is_quoted else f"'{self.value}'" if self.value else "..."
        return f"scan(path, {KEYWORDS_OF_SCAN.get(self.name, self.name)}={value})"


class Message(str):
    """A string made of strings, keywords and other messages.

    Examples
    --------
    >>> said = Message("p@1", " needs ", Keyword("y_score"))
    >>> said
    'p@1 needs y_score='
    >>> said.spelled(lambda keyword: f"--{keyword.name}")
    'p@1 needs --y_score'
    """

    parts: tuple[str | Keyword, ...]

    def __new__(cls, *parts: object) -> Message:
        """Join the parts."""
        message = super().__new__(cls, "".join(map(str, parts)))
        nested = (part.parts if isinstance(part, Message) else (part,) for part in parts)
        message.parts = tuple(p if isinstance(p, Keyword) else str(p) for texts in nested for p in texts)
        return message

    def spelled(self, spell: Callable[[Keyword], str]) -> str:
        """Return the text with keywords spelled by ``spell``."""
        return "".join(spell(part) if isinstance(part, Keyword) else part for part in self.parts)


ALL_LABELS = Message(Keyword("labels"), ", as some predicted labels are unknown")
TIES = "rows with ties across a cutoff: "  # how a note begins that no warning repeats for each batch
RISING = Message(
    "scores rise along every row, and the highest ranks first; give distances with ",
    Keyword("higher_is_better", "False"),
)


class InputError(ValueError):
    """Refused input.

    Parameters
    ----------
    argument : str
        Name of the argument.
    reason : str
        What is wrong with it; a `Message` where it mentions keywords.
    row : int or None
        Row that is at fault, where a row is.
    value : object
        Value that is at fault, where one is; ``reason`` quotes it.
    """

    def __init__(self, argument: str, reason: str, *, row: int | None = None, value: object = None) -> None:
        super().__init__(argument, reason)
        self.argument, self.reason, self.row, self.value = argument, reason, row, value

    @property
    def message(self) -> Message:
        """The row and the reason, without the argument."""
        return Message("" if self.row is None else f"row {self.row}: ", self.reason)

    def __str__(self) -> str:
        """Return the whole message, which starts with the argument's name."""
        return f"{self.argument}: {self.message}"


@contextlib.contextmanager
def renaming(argument: str, name: str) -> Iterator[None]:
    """Raise errors about an argument by another name, which the caller gave it."""
    try:
        yield
    except InputError as error:
        if error.argument != argument:
            raise
        raise InputError(name, error.reason, row=error.row, value=error.value) from None


@contextlib.contextmanager
def naming_files(files: Mapping[str, object]) -> Iterator[None]:
    """Raise errors about arguments as errors about the files that they came from."""
    try:
        yield
    except InputError as error:
        if files.get(error.argument) is None:
            raise
        raise ValueError(Message(files[error.argument], ": ", error.message)) from None


class LabelRangeError(InputError):
    """A label id that is not among the labels there are: those of the truth, which may be what is wrong."""


class _Whole(Protocol):
    """A whole number of any library."""

    def __index__(self) -> int:
        """Return it as one of Python."""
        ...

    def __lt__(self, other: int, /) -> bool:
        """Tell whether it is less."""
        ...

    def __gt__(self, other: int, /) -> bool:
        """Tell whether it is more."""
        ...


def _is_whole(value: object) -> TypeGuard[_Whole]:
    return not isinstance(value, bool) and hasattr(value, "__index__")


def positive_integer(argument: str, value: object, at_least: int = 1, at_most: int = MOST) -> int:
    """Return a whole number from 1 (or ``least``) to ``most``, or refuse it."""
    if not _is_whole(value) or value < at_least:
        raise InputError(
            argument, f"{shown(value)} is not a {'positive' if at_least else 'non-negative'} integer"
        )
    if value > at_most:
        raise InputError(argument, f"{shown(value)} is more than {at_most}, the most there can be")
    return int(value)


def real_number(argument: str, value: Any) -> float:
    """Return a number as a float, or refuse it; text is no number."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, f"{shown(value)} is not a number") from None


def import_optional(name: str, purpose: str, extra: str) -> ModuleType:
    """Return a module that xmleval does without, where it is asked for.

    Raises
    ------
    ImportError
        If it is not installed; the message says what needs it, and how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise  # it is installed, but something that it needs is not
        raise ImportError(f"{purpose} needs {name}: pip install 'xmleval[{extra}]'", name=name) from None
