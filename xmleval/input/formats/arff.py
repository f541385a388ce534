"""ARFF files of MULAN and MEKA: the labels of instances; features are skipped."""

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
MEKA = re.compile(
    r"(?<!\S)-C\s+([+-]?[0-9]{1,9})(?![0-9])(?!.*weka\.filters\.unsupervised\.attribute)", re.S
)


class Header(NamedTuple):
    """The lines up to ``@data``, the last of ``n_lines``.

    names : names of attributes as they are written, without any quotes around them
    are_binary : whether each attribute is of type {0,1}
    """

    relation: str
    names: list[str]
    are_binary: list[bool]
    n_lines: int


def unescaped(name: str) -> str:
    """Return a name without the backslashes before quotes and other characters."""
    return ESCAPE.sub(lambda match: {"n": "\n", "r": "\r", "t": "\t"}.get(match[1], match[1]), name)


def unquoted(text: str) -> str:
    """Return a value or a name without the quotes around it."""
    if QUOTED.fullmatch(text):
        return text[1:-1]
    return text


def _declaration(line: str) -> tuple[str, str, str] | None:
    """Return the keyword of a line, its remainder, and the line; None for blanks and comments."""
    stripped = line.strip()
    if stripped[:1] in ("", "%"):
        return None
    keyword, *remainder = stripped.split(None, 1)
    return keyword.lower(), "".join(remainder), stripped


def read_header(file: InputFile) -> Header:
    """Return the header above the rows."""
    relation = ""
    names = list[str]()
    are_binary = list[bool]()
    number = 0
    n_bytes = 0
    limit = memory_limit().left
    for number, (keyword, remainder, line) in parsed_lines(file, _declaration, "replace"):
        attribute = ATTRIBUTE.fullmatch(remainder)
        if keyword == "@data":
            return Header(relation, names, are_binary, number)
        if keyword == "@relation":
            relation = unquoted(remainder)
        elif keyword == "@attribute" and attribute is not None:
            name = unquoted(attribute["name"])
            names.append(name)
            are_binary.append(re.sub(r"['\"\s]|%.*", "", attribute["type"]) == "{0,1}")
            n_bytes += ATTRIBUTE_BYTES + len(name)
            if n_bytes > limit:
                memory_limit().check(n_bytes)
        else:
            raise ValueError(
                f"line {number}: {shown(line)} is not @relation, @attribute NAME TYPE or @data"
            )
    raise ValueError(f"it ends after line {number} without @data")


def find_labels_file(path: Path) -> list[Path]:
    """Return the XML file of labels, if any: of the same stem, or of the stem up to a mark."""
    stem = re.sub(r"(\.arff)?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    ends = [*(mark.start() for mark in re.finditer("[-_. ]", stem)), len(stem)]
    files = (path.with_name(f"{stem[:end]}.xml") for end in reversed(ends) if end)
    with naming(path, EXPECTED):
        return [file for file in files if is_there(file)][:1]


def read_label_names(path: Path) -> list[str]:
    """Return the names of labels in the order of an XML file, nested ones after their parent."""
    with naming(path, EXPECTED_XML):
        text = read_at_once(path)
        memory_limit().take(ATTRIBUTE_BYTES * text.count(b"<"))
        if b"<!DOCTYPE" in text:  # it may declare entities
            raise ValueError("it has a document type declaration, which is not allowed")
        try:
            root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, LookupError) as error:  # also for an unknown encoding
            raise ValueError(f"not well-formed XML ({error})") from None
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        names = [element.get("name", "") for element in root.iter()][1:]
        if tags != {"labels", "label"} or "" in names:
            raise ValueError("it has other elements, or labels without a name")
        return names


def find_label_places(relation: str, names: list[str], listed: list[str]) -> list[int]:
    """Return the places of the attributes that are labels.

    They are listed in XML, or MEKA's option ``-C n`` in the name of the relation counts them from
    the first or, if negative, from the last attribute.
    """
    if listed:
        return find_listed_places(names, listed)
    option = MEKA.search(relation.partition(":")[2])
    n = len(names)
    count = int(option[1]) if option else 0
    if not 1 <= abs(count) <= n:
        missing = (
            "there is no XML file whose name begins this one's, "
            "and no '-C n' without a filter of attributes"
        )
        raise ValueError(f"it is not known which of {n} attributes are labels: {missing}")
    places = [*range(n)]
    return places[:count] if count > 0 else places[count:]


def find_listed_places(names: list[str], listed: list[str]) -> list[int]:
    """Return the places of labels by their names as written, else without backslashes."""
    written_places = dict[str, list[int]]()
    unescaped_places = dict[str, list[int]]()
    for place, name in enumerate(names):
        written_places.setdefault(name, []).append(place)
        unescaped_places.setdefault(unescaped(name), []).append(place)
    places = list[list[int]]()
    for name in listed:
        candidates = (
            written_places.get(name),
            unescaped_places.get(name),
            unescaped_places.get(unescaped(name)),
        )
        places.append(next(filter(None, candidates), []))
    n_labels = Counter(place for label_places in places for place in label_places)
    for name, label_places in zip(listed, places, strict=True):
        if len(label_places) != 1 or n_labels[label_places[0]] != 1:
            raise ValueError(
                f"{shown(name)} must be the name of one attribute and of one label in XML"
            )
    return [place for (place,) in places]


def values_between_commas(line: str) -> list[str]:
    """Return the values of a line; commas in quotes do not separate values."""
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
    if "%" in line:
        commented = COMMENTED.fullmatch(line)
        if commented:
            line = commented[1]
    inner = line[1:-1]
    has_quotes = "'" in line or '"' in line
    tokens, n_pairs = _quoted_pairs(inner) if has_quotes else _plain_pairs(inner)
    row = dict[int, str]()
    if "".join(tokens[::2]).isdecimal():
        row = dict(zip(map(int, tokens[::2]), tokens[1::2], strict=False))
    if line[-1] != "}" or len(row) != n_pairs or max(row, default=0) >= n:
        raise ValueError(
            f"{shown(line)} is not {{attribute value, ...}} with each of 0..{n - 1} once"
        )
    return row


def _quoted_pairs(inner: str) -> tuple[list[str], int]:
    """Return places and values in turn, and the number of pairs, -1 if there is other text."""
    pairs = [pair.split(None, 1) for pair in SPARSE.findall(inner)]
    tokens = [token for pair in pairs for token in pair]
    has_other_text = bool(SPARSE.sub("", inner).strip(", \t"))
    return tokens, -1 if has_other_text else len(pairs)


def _plain_pairs(inner: str) -> tuple[list[str], int]:
    """Return places and values in turn, and the number of pairs between commas."""
    tokens = inner.replace(",", " ").split()
    n_pairs = inner.count(",") + bool(tokens)
    if len(tokens) != 2 * n_pairs:  # some values have blanks
        tokens = [token for pair in inner.split(",") for token in pair.strip().split(None, 1)]
    return tokens, n_pairs


def parse_row(line: str, names: list[str], labels: dict[int, int]) -> list[int] | None:
    """Return the ascending labels of a row, None for a comment.

    ``labels`` are ascending label ids by the places of their attributes.
    """
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
    """Find the labels in the header of an ARFF file, also compressed; rows are read in batches."""
    file = InputFile(path)
    listed = [name for xml in find_labels_file(path) for name in read_label_names(xml)]
    with naming(path, EXPECTED):
        header = read_header(file)
        places = find_label_places(header.relation, header.names, listed)
        for place in places:
            if not header.are_binary[place]:
                name = shown(unescaped(header.names[place]))
                raise ValueError(f"label {name} is not of type {{0,1}}")
    labels = {place: label for label, place in enumerate(places)}
    parse = partial(parse_row, names=header.names, labels=labels)

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
    companions=find_labels_file,
)
