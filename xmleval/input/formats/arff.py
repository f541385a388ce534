"""ARFF files of MULAN and MEKA: the labels of each instance; its features are passed over."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.input.formats.format import Format, naming
from xmleval.input.formats.mulan import count_labels, labels_file, read_labels
from xmleval.input.lines import SHOWN, numbered_lines, shown
from xmleval.input.pieces import Pieces

EXPECTED = "an ARFF file whose labels are attributes {0,1}"
BYTES_PER_ROW, BYTES_PER_LABEL = 8, 5  # of a sparse array with 32-bit ids
ATTRIBUTE_BYTES = 300  # of memory for an attribute, beside its name and type
LABEL_BYTES = 200  # of memory for a label, beside its name

# possessive, so that what does not match is found out in one pass
QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
WORD = r"""[^\s,{}%'"][^\s,{}%]*+"""
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
KEYWORD = re.compile(r"@(relation|attribute|data)(?!\S)(.*)", re.IGNORECASE | re.DOTALL)
NAME = re.compile(rf"\s*({QUOTED}|{WORD})(.*)", re.DOTALL)
NOMINAL = re.compile(r"\{([^{}]*)\}\s*(?:%.*)?")
VALUE = re.compile(rf"({QUOTED}|{WORD})(?:\s*,\s*|\s+|(?=%)|\Z)")
PAIR = re.compile(rf"\s*([0-9]{{1,18}})\s+({QUOTED}|{WORD})\s*(?:,\s*|(?=\}}))")
MISSING, TWICE = -1, -2
NOT_PLAIN = re.compile(r"['\"%{}]")


class Attribute(NamedTuple):
    """Name and type, as the header declares them."""

    name: str
    type: str


class Header(NamedTuple):
    """What stands before the rows, which begin after line ``end``."""

    relation: str
    attributes: list[Attribute]
    end: int


def read_header(file: InputFile, allowance: Allowance) -> Header:
    """Read the declarations up to ``@data``."""
    relation, attributes = "", list[Attribute]()
    number, n_bytes = 0, 0
    for number, line in numbered_lines(file, "replace", allowance):
        if line.startswith("%"):
            continue
        found = KEYWORD.match(line)
        if found is None:
            raise ValueError(f"line {number}: {shown(line)} is not @relation, @attribute or @data")
        keyword, rest = found[1].lower(), found[2]
        if keyword == "data":
            if not attributes:
                raise ValueError(f"line {number}: @data before any @attribute")
            return Header(relation, attributes, number)
        named = NAME.match(rest)
        if named is None or (keyword == "attribute" and not named[2].strip()):
            raise ValueError(f"line {number}: {shown(line)} cannot be read")
        if keyword == "relation":
            relation = rest  # MEKA's options stand here without quotes too
        else:
            kind = named[2].strip()
            if kind.lower().startswith("relational"):
                raise ValueError(f"line {number}: a relational attribute, which has rows of its own")
            attributes.append(Attribute(_unquoted(named[1]), kind))
            n_bytes += ATTRIBUTE_BYTES + sys.getsizeof(attributes[-1].name) + sys.getsizeof(kind)
            allowance.check(n_bytes)
    raise ValueError(f"it ends after line {number} without @data")


def find_labels(path: Path, header: Header, allowance: Allowance) -> list[int]:
    """Return the attributes that an XML file or the relation's name calls labels, in its order."""
    attributes = header.attributes
    with naming(path, EXPECTED):
        beside = labels_file(path)
        if beside is None:
            return count_labels(header.relation, len(attributes))
    names = read_labels(beside, allowance)  # what goes wrong in it is said of it
    where: dict[str, int] = {}
    for place, attribute in enumerate(attributes):
        if where.setdefault(attribute.name, place) != place:
            where[attribute.name] = TWICE
    with naming(path, EXPECTED):
        for name in names:
            if where.get(name, MISSING) < 0:
                how_many = "several attributes are" if name in where else "no attribute is"
                raise ValueError(f"{how_many} called {shown(name)}, as a label in {beside.name} is")
    return [where[name] for name in names]


class LabelReader:
    """Reads rows of an ARFF file as the columns of their labels; attribute ``places[c]`` is label c."""

    def __init__(self, attributes: list[Attribute], places: list[int]) -> None:
        self.n_attributes = len(attributes)
        self.names = [attributes[place].name for place in places]
        self._places = places
        self._column = {place: column for column, place in enumerate(places)}
        self._relevant_by_default = set()  # sparse rows leave out the value that is declared first
        for column, place in enumerate(places):
            found = NOMINAL.fullmatch(attributes[place].type)
            values = _split(found[1], 2) if found else []
            if sorted(values) != ["0", "1"]:
                raise ValueError(
                    f"label {shown(self.names[column])} is of type {shown(attributes[place].type)}"
                )
            if values[0] == "1":
                self._relevant_by_default.add(column)

    def read(self, text: str) -> list[int]:
        """Return the columns of the labels of one row, rising."""
        return self._sparse(text) if text.startswith("{") else self._dense(text)

    def _dense(self, text: str) -> list[int]:
        plain = text.count(",") + 1 == self.n_attributes and not NOT_PLAIN.search(text)
        values = text.split(",") if plain else _split(text, self.n_attributes)
        if len(values) != self.n_attributes:
            more = " or more" if len(values) > self.n_attributes else ""
            raise ValueError(f"{len(values)}{more} values for {self.n_attributes} attributes")
        given = [values[place].strip() for place in self._places]
        return [column for column, value in enumerate(given) if value != "0" and self._is_one(value, column)]

    def _sparse(self, text: str) -> list[int]:
        places, values = _pairs(text, self.n_attributes)
        if places and max(places) >= self.n_attributes:
            raise ValueError(f"attribute {str(max(places))[:SHOWN]} is not in 0..{self.n_attributes - 1}")
        given: dict[int, str] = {}
        for at, column in enumerate(map(self._column.get, places)):
            if column is not None:
                if column in given:
                    raise ValueError(f"label {shown(self.names[column])} has two values")
                given[column] = values[at]
        relevant = self._relevant_by_default - given.keys()
        relevant.update(c for c, value in given.items() if value != "0" and self._is_one(value, c))
        return sorted(relevant)

    def _is_one(self, value: str, column: int) -> bool:
        if value != "1":
            raise ValueError(f"value {shown(value)} of label {shown(self.names[column])} is not 0 or 1")
        return True


def read_rows(
    file: InputFile, reader: LabelReader, end: int, allowance: Allowance, n_bytes: int
) -> Iterator[Any]:
    """Yield the rows after line ``end`` as sparse arrays of about ``n_bytes``."""
    labels, ptr = array("i"), array("q", [0])
    with naming(file.path, EXPECTED):
        for number, line in numbered_lines(file, "replace", allowance):
            if number <= end or line.startswith("%"):
                continue
            try:
                row = reader.read(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            n_rows = len(ptr)
            if n_rows > 1 and BYTES_PER_ROW * n_rows + BYTES_PER_LABEL * (len(labels) + len(row)) > n_bytes:
                yield _sparse_array(labels, ptr, len(reader.names))
                labels, ptr = array("i"), array("q", [0])
            labels.extend(row)
            ptr.append(len(labels))
    if len(ptr) > 1:
        yield _sparse_array(labels, ptr, len(reader.names))


def arff_pieces(path: Path, kind: str = "truth", allowance: Allowance = UNLIMITED) -> Pieces:
    """Read the header of an ARFF file, packed or not, and find its labels; the rows are read in pieces.

    An XML file beside it, or its relation's name, tells which attributes are labels. The format has no
    scores.
    """
    if kind != "truth":
        raise ValueError(f"{path}: an ARFF file holds no {kind}; expected to be read as truth")
    file = InputFile(path)
    with naming(path, EXPECTED):
        header = read_header(file, allowance)
    places, end = find_labels(path, header, allowance), header.end
    with naming(path, EXPECTED):
        allowance.take(LABEL_BYTES * len(places))
        reader = LabelReader(header.attributes, places)
    return Pieces(
        n_rows=None,
        n_labels=len(places),
        read=lambda n_bytes: read_rows(file, reader, end, allowance, n_bytes),
        label_names=reader.names,
    )


def read_arff(path: Path) -> Any:
    """Read the relevant labels of all instances."""
    pieces = arff_pieces(path)
    found = list(pieces.read(sys.maxsize))
    return found[0] if found else scipy.sparse.csr_array((0, pieces.n_labels), dtype=np.uint8)


def files_beside(path: Path) -> list[Path]:
    """Return the XML file of labels, if there is one."""
    with naming(path, EXPECTED):
        found = labels_file(path)
    return [] if found is None else [found]


def _sparse_array(labels: array[int], ptr: array[int], n_labels: int) -> Any:
    parts = np.ones(len(labels), np.uint8), np.array(labels, np.int32), np.array(ptr, np.int64)
    return scipy.sparse.csr_array(parts, shape=(len(ptr) - 1, n_labels))


def _unquoted(token: str) -> str:
    if token[0] not in "'\"":
        return token
    return ESCAPE.sub(lambda found: ESCAPED.get(found[1], found[1]), token[1:-1])


def _split(text: str, most: int) -> list[str]:
    """Split at commas and blanks outside quotes, up to a comment or one value too many."""
    values, place = list[str](), len(text) - len(text.lstrip())
    while place < len(text) and text[place] != "%" and len(values) <= most:
        found = VALUE.match(text, place)
        if found is None:
            raise ValueError(f"{shown(text[place:])} is no value")
        values.append(_unquoted(found[1]))
        place = found.end()
    return values


def _pairs(text: str, most: int) -> tuple[list[int], list[str]]:
    """Return the numbers of attributes in a sparse row, and their values."""
    inner = text[1:-1]
    if inner.count(",") > most and not NOT_PLAIN.search(inner):
        raise ValueError(f"{inner.count(',') + 1} values for {most} attributes")
    if text.endswith("}") and not NOT_PLAIN.search(inner):
        tokens = inner.replace(",", " ").split()
        numbers = "".join(tokens[::2])
        if len(tokens) == 2 * (inner.count(",") + 1) and numbers.isdecimal() and numbers.isascii():
            return list(map(int, tokens[::2])), tokens[1::2]
    places, values, end = list[int](), list[str](), 1
    while found := PAIR.match(text, end):
        places.append(int(found[1]))
        values.append(_unquoted(found[2]))
        end = found.end()
        if len(places) > most:
            raise ValueError(f"{len(places)} or more values for {most} attributes")
    rest = text[end:].lstrip()
    if not rest.startswith("}"):
        raise ValueError(f"{shown(rest)} is no attribute's number and value, nor the closing brace")
    rest = rest[1:].lstrip()
    if rest and not rest.startswith("%"):
        raise ValueError(f"{shown(rest)} after the closing brace")
    return places, values


ARFF = Format(
    name="arff",
    title="ARFF file of MULAN or MEKA",
    files="NAME.arff or NAME.arff.gz, with an XML file of its labels or '-C n' in its relation",
    extensions=(".arff", ".arff.gz"),
    truth=read_arff,
    pieces=arff_pieces,
    beside=files_beside,
)
