"""Errors about input, and the text of messages, which is one line with its keywords marked."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

Item = TypeVar("Item")


def printable(text: str) -> str:
    r"""Return text on one line; escape what could control a terminal or cannot be encoded.

    Examples
    --------
    >>> print(printable("two\nlines"), printable("\x1b[31mred"), printable("caf\u00e9"))
    two\nlines \x1b[31mred café
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


LONGEST_TEXT = 40  # characters of a text that a message quotes
LONGEST_VALUE = 80  # characters of any other value
MOST_ITEMS = 3  # items of a collection that a message quotes
MOST_LEVELS = 2  # levels of nested collections
MOST_NAMES = 8  # names that a message lists


def shown(value: object, levels: int = MOST_LEVELS) -> str:
    """Return a value, or its beginning, as a message quotes it: on one line, in built-in types.

    Examples
    --------
    >>> shown("tag39"), shown("x" * 1000), shown({"a": [*range(99)]})
    ("'tag39'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'", "{'a': [0, 1, 2, ...]}")
    """
    if isinstance(value, bytes):
        value = value[: 4 * LONGEST_TEXT + 4].decode("utf-8", "replace")
    if isinstance(value, str):
        text = str(value[: LONGEST_TEXT + 1])  # a plain str, whatever derived type the value has
        return repr(_shortened(text))
    if isinstance(value, dict | list | tuple | set | frozenset):
        text = _shown_items(value, levels)
    elif type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        text = str(value)
    else:
        try:
            text = " ".join(repr(value).split())
        except ValueError:  # an integer with more digits than Python prints
            text = f"a number of type {type(value).__name__}"
    if len(text) > LONGEST_VALUE:
        return f"{text[: LONGEST_VALUE - 3]}..."
    return text


def _shortened(text: str) -> str:
    """Return a text, or the beginning of a long one."""
    if len(text) > LONGEST_TEXT:
        return f"{text[:LONGEST_TEXT]}..."
    return text


def shown_names(names: Iterable[object], most: int = MOST_NAMES) -> str:
    """Return names, or the first of many, as a message lists them.

    Examples
    --------
    >>> shown_names(["bert", "tree"]), shown_names(map(str, range(99)), most=2)
    ('bert, tree', '0, 1, ...')
    """
    first_names = [*itertools.islice(map(str, names), most + 1)]
    texts = [_shortened(name) for name in first_names[:most]]
    if len(first_names) > most:
        texts.append("...")
    return ", ".join(texts)


def _shown_items(values: Collection[object], levels: int) -> str:
    """Return the first items of a collection; no items of collections nested too deeply."""
    n_items = MOST_ITEMS if levels else 0
    first_items = [*itertools.islice(values, n_items)]
    texts = [shown(item, levels - 1) for item in first_items]
    if isinstance(values, dict):
        shown_values = [shown(values[key], levels - 1) for key in first_items]
        texts = [f"{key}: {value}" for key, value in zip(texts, shown_values, strict=True)]
    if len(values) > len(first_items):
        texts.append("...")
    items = ", ".join(texts)
    if isinstance(values, list):
        return f"[{items}]"
    if isinstance(values, tuple):
        return f"({items},)" if len(values) == 1 else f"({items})"
    return f"{{{items}}}"


MOST = 1 << 60  # largest count: sums of several counts fit in 64 bits
ONE_BASED = "; if ids count from 1, subtract 1"  # hint on the id that is one too high
TRANSPOSED = "looks transposed: rows are instances, columns labels"


def counted(n: int, plural: str, singular: str | None = None) -> str:
    """Return a number with its noun; the default singular is the plural without its s.

    Examples
    --------
    >>> counted(2, "labels"), counted(1, "labels"), counted(1, "boxes", "box")
    ('2 labels', '1 label', '1 box')
    """
    if n != 1:
        return f"{n} {plural}"
    return f"{n} {singular or plural.removesuffix('s')}"


def first_repeated(values: Iterable[Item]) -> Item:
    """Return the first value that occurs again, of values that are not distinct.

    Examples
    --------
    >>> first_repeated(["a", "b", "b", "a"])
    'b'
    """
    seen = set[Item]()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    raise LookupError("all values are distinct")


def other_rows(
    n_rows: int, expected: int, truth: str, n_labels: int | None = None, width: int | None = None
) -> str:
    """Return the message that a number of rows differs from that of the truth.

    The number of labels of the truth ``n_labels`` and the ``width`` of a list may show that the
    truth or the list is transposed.
    """
    hint = ""
    if width == expected:
        hint = "; it looks transposed: rows are instances, columns ranks; give the .T of its arrays"
    elif n_rows == n_labels:
        hint = f"; {truth} {TRANSPOSED}; give its .T"
    difference = counted(n_rows, "rows do not match", "row does not match")
    return f"{difference} the {expected} of {truth}{hint}"


def did_you_mean(name: str, names: Iterable[str], among: Callable[[str], str] = str.lower) -> str:
    """Return a hint with the known names nearest to an unknown one, or an empty text.

    Names are compared as ``among`` spells them.

    Examples
    --------
    >>> did_you_mean("SKlern", ["sklearn", "mulan"])
    'did you mean sklearn?'
    """
    import difflib  # only once something is wrong

    candidates = {among(candidate): candidate for candidate in names}
    nearest = difflib.get_close_matches(among(name), candidates, n=3)
    if not nearest:
        return ""
    suggestions = " or ".join(candidates[spelling] for spelling in nearest)
    return f"did you mean {suggestions}?"


class Keyword(NamedTuple):
    """A keyword argument in a message, ``name=`` or ``name=value``."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        """Return the keyword as in a Python call."""
        return f"{self.name}={self.value}"


class Field(Keyword):
    """A field of the conventions in a message; on the command line, each is an option."""

    def __str__(self) -> str:
        """Return the field as in a Python call."""
        return f'conventions="{self.name}={self.value or "..."}"'


KEYWORDS_OF_SCAN = {  # by the option of the command line
    "input_format": "format",
    "label_field": "label",
    "scores_label_field": "label",
    "score_field": "score",
    "instance_field": "instance",
    "separator": "separator",
    "keep": "keep",
}


class ScanField(Keyword):
    """An option of the command line in a message, which in Python is a keyword of `scan`."""

    def __str__(self) -> str:
        """Return the keyword as in a Python call of `scan`."""
        keyword = KEYWORDS_OF_SCAN.get(self.name, self.name)
        value = self.value
        if not value:
            value = "..."
        elif not value.startswith("'"):
            value = f"'{value}'"
        return f"scan(path, {keyword}={value})"


class ImportedModule(Keyword):
    """The import of a module in a message; on the command line, an option imports it."""

    def __str__(self) -> str:
        """Return the statement of Python."""
        return f"import {self.value.partition(':')[0]}"


def own_measure(module: str) -> ImportedModule:
    """Return how to make a measure known that a module of the user defines.

    Examples
    --------
    >>> f"for a measure of your own: {own_measure('novelty')}"
    'for a measure of your own: import novelty'
    """
    return ImportedModule("measures", f"{module}:NAME")


class Message(str):
    """A string made of strings, keywords and other messages.

    Examples
    --------
    >>> message = Message("p@1", " needs ", Keyword("y_score"))
    >>> message
    'p@1 needs y_score='
    >>> message.spelled(lambda keyword: f"--{keyword.name}")
    'p@1 needs --y_score'
    """

    parts: tuple[str | Keyword, ...]

    def __new__(cls, *parts: object) -> Message:
        """Join the parts."""
        message = super().__new__(cls, "".join(map(str, parts)))
        flat_parts: list[str | Keyword] = []
        for part in parts:
            if isinstance(part, Message):
                flat_parts.extend(part.parts)
            elif isinstance(part, Keyword):
                flat_parts.append(part)
            else:
                flat_parts.append(str(part))
        message.parts = tuple(flat_parts)
        return message

    def spelled(self, spell: Callable[[Keyword], str]) -> str:
        """Return the text with keywords spelled by ``spell``."""
        return "".join(spell(part) if isinstance(part, Keyword) else part for part in self.parts)


ALL_LABELS = Message(Keyword("labels"), ", as some predicted labels are unknown")
# beginning of a note that no warning repeats for every batch
TIES = "rows in which the order of equal scores across a cutoff changes values: "
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

    def __init__(
        self, argument: str, reason: str, *, row: int | None = None, value: object = None
    ) -> None:
        super().__init__(argument, reason)
        self.argument = argument
        self.reason = reason
        self.row = row
        self.value = value

    @property
    def message(self) -> Message:
        """The row and the reason, without the argument."""
        place = "" if self.row is None else f"row {self.row}: "
        return Message(place, self.reason)

    def __str__(self) -> str:
        """Return the whole message, which starts with the argument's name."""
        return f"{self.argument}: {self.message}"


class UnknownMeasureError(ValueError):
    """Saved counts of a measure that this process does not know."""


@contextlib.contextmanager
def renaming(argument: str, name: str) -> Iterator[None]:
    """Raise errors about an argument under another name, by which the caller knows it."""
    try:
        yield
    except InputError as error:
        if error.argument != argument:
            raise
        raise InputError(name, error.reason, row=error.row, value=error.value) from None


@contextlib.contextmanager
def naming_files(files: Mapping[str, object]) -> Iterator[None]:
    """Raise errors about arguments as errors about the files from which these were read."""
    try:
        yield
    except InputError as error:
        if files.get(error.argument) is None:
            raise
        raise ValueError(Message(files[error.argument], ": ", error.message)) from None


class LabelRangeError(InputError):
    """A label id outside the labels of the truth; it may be the truth that has too few."""


class _Whole(Protocol):
    """A whole number of any library."""

    def __index__(self) -> int:
        """Return it as an `int`."""
        ...

    def __lt__(self, other: int, /) -> bool:
        """Whether it is less."""
        ...

    def __gt__(self, other: int, /) -> bool:
        """Whether it is more."""
        ...


def _is_whole(value: object) -> TypeGuard[_Whole]:
    return not isinstance(value, bool) and hasattr(value, "__index__")


def positive_integer(argument: str, value: object, at_least: int = 1, at_most: int = MOST) -> int:
    """Return a whole number from ``at_least`` to ``at_most``, or refuse it."""
    if not _is_whole(value) or value < at_least:
        sign = "positive" if at_least else "non-negative"
        raise InputError(argument, f"{shown(value)} is not a {sign} integer")
    if value > at_most:
        raise InputError(
            argument, f"{shown(value)} is more than {at_most}, the largest value allowed"
        )
    return int(value)


def real_number(argument: str, value: Any) -> float:
    """Return a number as a float, or refuse it; a text is not a number."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, f"{shown(value)} is not a number") from None


def import_optional(name: str, purpose: str, extra: str) -> ModuleType:
    """Return an optional module.

    Raises
    ------
    ImportError
        If it is not installed; the message names its purpose and how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise  # it is installed, but one of its dependencies is not
        raise ImportError(
            f"{purpose} needs {name}: pip install 'xmleval[{extra}]'", name=name
        ) from None
