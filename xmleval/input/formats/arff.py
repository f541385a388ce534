"""ARFF files of MULAN and MEKA: the labels of each instance; its features are passed over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from xmleval.base.budget import memory_limit
from xmleval.base.errors import shown
from xmleval.files.input import InputFile
from xmleval.files.remote import is_there
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import listed_rows, parsed_lines, read_at_once
from xmleval.input.pieces import Pieces

EXPECTED = "an ARFF file whose labels are attributes {0,1}"
EXPECTED_XML = "MULAN's <labels> with one <label name=...> for each label"
ATTRIBUTE_BYTES = 400  # of memory for an attribute, or an element of XML
QUOTED = re.compile(r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")""", re.S)
ATTRIBUTE = re.compile(rf"(?P<name>{QUOTED.pattern}|[^\s{{]+)(?:\s+|(?=\{{))(?P<type>.+)", re.S)
VALUE = re.compile(rf"\s*({QUOTED.pattern}(?=\s*(?:,|$))|[^,]*?)\s*(,|$)", re.S)
WORD = re.compile(rf"{QUOTED.pattern}(?=[\s,]|$)|%.*|[^\s,]+", re.S)
SPARSE = re.compile(rf"[0-9]+\s+(?:{QUOTED.pattern}(?=\s*(?:,|$))|[^,]*[^,\s])", re.S)
COMMENTED = re.compile(rf"(\{{(?:{QUOTED.pattern}|[^}}])*+\}})\s*%.*", re.S)
ESCAPE = re.compile(r"\\(.)", re.S)
MEKA = re.compile(r"(?<!\S)-C\s+([+-]?[0-9]{1,9})(?![0-9])(?!.*weka\.filters\.unsupervised\.attribute)", re.S)


class Header(NamedTuple):
    """What is above ``@data``, the last of ``n_lines``.

    ``names`` of attributes are as they are written, between any quotes; ``are_binary`` tells which are {0,1}.
    """

    relation: str
    names: list[str]
    are_binary: list[bool]
    n_lines: int


def unescaped(name: str) -> str:
    """Return a name without the backslashes that are before quotes and others."""
    return ESCAPE.sub(lambda found: {"n": "\n", "r": "\r", "t": "\t"}.get(found[1], found[1]), name)


def unquoted(text: str) -> str:
    """Return a value or a name without the quotes around it."""
    return text[1:-1] if QUOTED.fullmatch(text) else text


def _declaration(line: str) -> tuple[str, str, str] | None:
    """Return the keyword of a line, the rest and the line; None of a blank line or a comment."""
    stripped = line.strip()
    if stripped[:1] in ("", "%"):
        return None
    keyword, *rest = stripped.split(None, 1)
    return keyword.lower(), "".join(rest), stripped


def read_header(file: InputFile) -> Header:
    """Read what is above the rows."""
    relation = ""
    names = list[str]()
    are_binary = list[bool]()
    number = 0
    n_bytes = 0
    limit = memory_limit().left
    for number, (keyword, rest, line) in parsed_lines(file, _declaration, "replace"):
        attribute = ATTRIBUTE.fullmatch(rest)
        if keyword == "@data":
            return Header(relation, names, are_binary, number)
        if keyword == "@relation":
            relation = unquoted(rest)
        elif keyword == "@attribute" and attribute is not None:
            name = unquoted(attribute["name"])
            names.append(name)
            are_binary.append(re.sub(r"['\"\s]|%.*", "", attribute["type"]) == "{0,1}")
            n_bytes += ATTRIBUTE_BYTES + len(name)
            if n_bytes > limit:
                memory_limit().check(n_bytes)
        else:
            raise ValueError(f"line {number}: {shown(line)} is not @relation, @attribute NAME TYPE or @data")
    raise ValueError(f"it ends after line {number} without @data")


def labels_file(path: Path) -> list[Path]:
    """Return the XML file of labels, if any: of its own stem, or of one that ends before a mark in it."""
    stem = re.sub(r"(\.arff)?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    ends = [*(mark.start() for mark in re.finditer("[-_. ]", stem)), len(stem)]
    files = (path.with_name(f"{stem[:end]}.xml") for end in reversed(ends) if end)
    with naming(path, EXPECTED):
        return [file for file in files if is_there(file)][:1]


def read_labels(path: Path) -> list[str]:
    """Return the names of the labels in the order of an XML file, nested ones after the one around them."""
    with naming(path, EXPECTED_XML):
        text = read_at_once(path)
        memory_limit().take(ATTRIBUTE_BYTES * text.count(b"<"))
        if b"<!DOCTYPE" in text:  # where entities are declared
            raise ValueError("a document type declaration, which is never read")
        try:
            root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, LookupError) as error:  # also of an encoding that is none
            raise ValueError(f"no well-formed XML ({error})") from None
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        names = [element.get("name", "") for element in root.iter()][1:]
        if tags != {"labels", "label"} or "" in names:
            raise ValueError("its elements are other ones, or labels without a name")
        return names


def find_labels(relation: str, names: list[str], listed: list[str]) -> list[int]:
    """Return the attributes that an XML file lists, or MEKA's ``-C n`` in the relation's name, as labels."""
    if listed:
        return find_listed(names, listed)
    option = MEKA.search(relation.partition(":")[2])
    n = len(names)
    count = int(option[1]) if option else 0
    if not 1 <= abs(count) <= n:
        missing = "no XML file whose name its own begins with, and no '-C n' without a filter of attributes"
        raise ValueError(f"nothing tells which of {n} attributes are labels: {missing}")
    return [*range(n)[:count]] if count > 0 else [*range(n)[count:]]


def find_listed(names: list[str], listed: list[str]) -> list[int]:
    """Return the attributes of some labels: by their names as they are written, else without backslashes."""
    places: list[dict[str, list[int]]] = [{}, {}]
    for place, name in enumerate(names):
        for known, spelled in zip(places, (name, unescaped(name)), strict=True):
            known.setdefault(spelled, []).append(place)
    found = []
    for name in listed:
        spellings = (places[0].get(name), places[1].get(name), places[1].get(unescaped(name)))
        found.append(next(filter(None, spellings), []))
    n_labels = Counter(place for each in found for place in each)
    for name, each in zip(listed, found, strict=True):
        if len(each) != 1 or n_labels[each[0]] != 1:
            raise ValueError(f"{shown(name)} is not the name of one attribute and of one label in XML")
    return [place for (place,) in found]


def values_between_commas(line: str) -> list[str]:
    """Return the values of a line; commas in quotes separate none."""
    values = list[str]()
    end = 0
    separator = ","
    while separator:
        value = VALUE.match(line, end)
        assert value is not None  # it matches any text
        text, separator = value.groups()
        values.append(unquoted(text))
        end = value.end()
    return values


def dense_values(line: str, n: int) -> list[str]:
    """Return the ``n`` values of a row, between commas or blanks."""
    has_quotes = "'" in line or '"' in line
    values = values_between_commas(line) if has_quotes else line.split(",")
    if len(values) == n and "%" not in line:
        return values
    words = [unquoted(word) for word in WORD.findall(line) if word[0] != "%"]
    if len(words) == n and ",," not in line:
        return words
    if len(values) != n:
        raise ValueError(f"{len(values)} values for {n} attributes")
    return values


def sparse_values(line: str, n: int) -> dict[int, str]:
    """Return the values of a row by the places of their attributes."""
    if "%" in line and (commented := COMMENTED.fullmatch(line)):
        line = commented[1]
    has_quotes = "'" in line or '"' in line
    tokens, n_pairs = _quoted_pairs(line[1:-1]) if has_quotes else _plain_pairs(line[1:-1])
    row = dict[int, str]()
    if "".join(tokens[::2]).isdecimal():
        row = dict(zip(map(int, tokens[::2]), tokens[1::2], strict=False))
    if line[-1] != "}" or len(row) != n_pairs or max(row, default=0) >= n:
        raise ValueError(f"{shown(line)} is not {{attribute value, ...}} with each of 0..{n - 1} once")
    return row


def _quoted_pairs(inner: str) -> tuple[list[str], int]:
    """Return places and values in turn, and how many pairs there are, -1 where there is anything else."""
    pairs = [pair.split(None, 1) for pair in SPARSE.findall(inner)]
    is_whole = not SPARSE.sub("", inner).strip(", \t")
    return [token for pair in pairs for token in pair], len(pairs) if is_whole else -1


def _plain_pairs(inner: str) -> tuple[list[str], int]:
    """Return places and values in turn, and how many pairs commas make of them."""
    tokens = inner.replace(",", " ").split()
    n_pairs = inner.count(",") + bool(tokens)
    if len(tokens) != 2 * n_pairs:  # some values have blanks
        tokens = [token for pair in inner.split(",") for token in pair.strip().split(None, 1)]
    return tokens, n_pairs


def labels_of(line: str, names: list[str], labels: dict[int, int]) -> list[int] | None:
    """Return the labels of one row, rising, None of a comment; ``labels`` are rising ids by their places."""
    line = line.strip()
    if line[:1] in ("", "%"):
        return None
    if line[0] == "{":
        row = sparse_values(line, len(names))
        places = [*labels.keys() & row.keys()]
        marks = [row[place] for place in places]
    else:
        values = dense_values(line, len(names))
        places = [*labels]
        marks = [values[place] for place in places]
    if not {*marks} <= {"0", "1"}:
        marks = [unquoted(mark.strip()).strip() for mark in marks]
        for place, mark in zip(places, marks, strict=True):
            if mark not in ("0", "1"):
                label = shown(unescaped(names[place]))
                raise ValueError(f"value {shown(mark)} of label {label} is not 0 or 1")
    return sorted([labels[place] for place, mark in zip(places, marks, strict=True) if mark == "1"])


def arff_pieces(path: Path, kind: str = "truth") -> Pieces:
    """Read the header of an ARFF file, packed or not, and find its labels; rows are read in batches."""
    file = InputFile(path)
    listed = [name for xml in labels_file(path) for name in read_labels(xml)]
    with naming(path, EXPECTED):
        header = read_header(file)
        places = find_labels(header.relation, header.names, listed)
        for place in places:
            if not header.are_binary[place]:
                raise ValueError(f"label {shown(unescaped(header.names[place]))} is not of type {{0,1}}")
    parse = partial(
        labels_of, names=header.names, labels={place: label for label, place in enumerate(places)}
    )

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, EXPECTED):
            yield from listed_rows(parsed_lines(file, parse, "replace", header.n_lines), n_bytes)

    return Pieces(None, len(places), read)


ARFF = Format(
    name="arff",
    title="MULAN or MEKA file in ARFF",
    extensions=(".arff", ".arff.gz"),
    holds=("truth",),
    pieces=arff_pieces,
    companions=labels_file,
)
