"""ARFF files of MULAN and MEKA: the labels of each instance; its features are passed over."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from xmleval.base.budget import memory_limit
from xmleval.files.input import InputFile
from xmleval.files.remote import is_there
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import listed_rows, parsed_lines, read_at_once, shown
from xmleval.input.pieces import Pieces

EXPECTED = "an ARFF file whose labels are attributes {0,1}"
EXPECTED_XML = "MULAN's <labels> with one <label name=...> for each label"
ATTRIBUTE_BYTES = 400  # of memory for an attribute, or an element of XML
MEKA = re.compile(r"(?<!\S)-C\s+([+-]?[0-9]{1,9})(?![0-9])(?!.*weka\.filters\.unsupervised\.attribute)", re.S)


def cells(line: str, separator: str | None = None) -> list[str] | None:
    """Return values, which may be in the quotes that come first; None of a blank line or a comment."""
    line = line.strip()
    if line[:1] in ("", "%"):
        return None
    if "'" not in line and '"' not in line:
        return line.split(separator)
    quote = re.sub("[^'\"]+", "", line)[0]
    how: Any = {"quotechar": quote, "escapechar": "\\", "skipinitialspace": True}
    return next(csv.reader([line.replace("\t", " ")], delimiter=separator or " ", **how))


def read_header(file: InputFile) -> tuple[str, list[str], list[bool], int]:
    """Return the name of the relation, those of attributes, which are {0,1}, and the line of ``@data``."""
    relation, names, are_binary, number = "", list[str](), list[bool](), 0
    n_bytes, limit = 0, memory_limit().left
    for number, (word, *words) in parsed_lines(file, cells, "replace"):
        if word.lower() == "@data":
            return relation, names, are_binary, number
        if word.lower() == "@relation":
            relation = " ".join(words)
        elif word.lower() == "@attribute" and len(words) > 1:
            names.append(words[0])
            are_binary.append(re.sub("['\"]|%.*", "", "".join(words[1:])) == "{0,1}")
            n_bytes += ATTRIBUTE_BYTES + len(words[0])
            if n_bytes > limit:
                memory_limit().check(n_bytes)
        else:
            line = shown(" ".join([word, *words]))
            raise ValueError(f"line {number}: {line} is not @relation, @attribute NAME TYPE or @data")
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
        places, counts = {name: place for place, name in enumerate(names)}, Counter(names + listed)
        for name in listed:
            if name not in places or counts[name] != 2:
                raise ValueError(f"{shown(name)} is not the name of one attribute and of one label in XML")
        return [places[name] for name in listed]
    option, n = MEKA.search(relation.partition(":")[2]), len(names)
    count = int(option[1]) if option else 0
    if not 1 <= abs(count) <= n:
        missing = "no XML file whose name its own begins with, and no '-C n' without a filter of attributes"
        raise ValueError(f"nothing tells which of {n} attributes are labels: {missing}")
    return [*range(n)[:count]] if count > 0 else [*range(n)[count:]]


def labels_of(line: str, names: list[str], labels: dict[int, int]) -> list[int] | None:
    """Return the labels of one row, rising, None of a comment; ``labels`` are rising ids by their places."""
    line, n = line.strip(), len(names)
    if line.startswith("{"):
        tokens = line[1:-1].replace(",", " ").split()
        n_pairs = line.count(",") + bool(tokens)
        if len(tokens) != 2 * n_pairs:  # some values have blanks
            tokens = [token for pair in line[1:-1].split(",") for token in pair.strip().split(None, 1)]
        are_numbers = not tokens or "".join(tokens[::2]).isdecimal()
        row: Any = dict(zip(map(int, tokens[::2]), tokens[1::2], strict=False)) if are_numbers else {}
        if line[-1] != "}" or len(row) < n_pairs or max(row, default=0) >= n:
            raise ValueError(f"{shown(line)} is not {{attribute value, ...}} with each of 0..{n - 1} once")
        places = labels.keys() & row.keys()
    elif (row := cells(line, ",")) is None:
        return None
    elif len(row) != n:
        raise ValueError(f"{len(row)} values for {n} attributes")
    else:
        places = labels.keys()
    marks = [row[place] for place in places]
    if not {*marks} <= {"0", "1"}:
        marks = [mark.strip() for mark in marks]
        for place, mark in zip(places, marks, strict=True):
            if mark not in ("0", "1"):
                raise ValueError(f"value {shown(mark)} of label {shown(names[place])} is not 0 or 1")
    return sorted([labels[place] for place, mark in zip(places, marks, strict=True) if mark == "1"])


def arff_pieces(path: Path, kind: str = "truth") -> Pieces:
    """Read the header of an ARFF file, packed or not, and find its labels; rows are read in batches."""
    file, listed = InputFile(path), [name for xml in labels_file(path) for name in read_labels(xml)]
    with naming(path, EXPECTED):
        relation, names, are_binary, end = read_header(file)
        places = find_labels(relation, names, listed)
        for place in places:
            if not are_binary[place]:
                raise ValueError(f"label {shown(names[place])} is not of type {{0,1}}")
    parse = partial(labels_of, names=names, labels={place: label for label, place in enumerate(places)})

    def read(n_bytes: int) -> Iterator[Any]:
        with naming(path, EXPECTED):
            yield from listed_rows(parsed_lines(file, parse, "replace", end), n_bytes)

    return Pieces(None, len(places), read)


ARFF = Format(
    name="arff",
    title="MULAN or MEKA file in ARFF",
    extensions=(".arff", ".arff.gz"),
    holds=("truth",),
    pieces=arff_pieces,
    companions=labels_file,
)
