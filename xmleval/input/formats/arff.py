"""ARFF files of MULAN and MEKA: the labels of each instance; its features are passed over."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import RemotePath
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import SHOWN, numbered_lines, read_json, shown
from xmleval.input.pieces import Pieces
from xmleval.input.rows import rows_by_id

EXPECTED = "an ARFF file whose labels are attributes {0,1}"
EXPECTED_XML = "MULAN's <labels> with one <label name=...> for each label"
BYTES_PER_ROW, BYTES_PER_LABEL = 8, 5  # of a sparse array with 32-bit ids
ATTRIBUTE_BYTES = 400  # of memory for an attribute, or an element of XML

# possessive, so that what does not match is found out in one pass; a quote stands behind what parts values
QUOTED = r"""'(?<![^\s,{].)(?:[^'\\]++|\\.)*+'|"(?<![^\s,{].)(?:[^"\\]++|\\.)*+\""""
DECLARATION = re.compile(r"@(relation|attribute|data)(?!\S)\s*(.*)", re.IGNORECASE | re.DOTALL)
ATTRIBUTE = re.compile(rf"({QUOTED}|[^\s,{{}}%'\"][^\s,{{}}%]*+)\s*(\S.*)", re.DOTALL)
QUOTED_OR_COMMENT = re.compile(rf"(?:{QUOTED})(?![^\s,}}%])|%.*", re.DOTALL)
OPEN_QUOTE = re.compile(r"['\"](?<![^\s,{].)", re.DOTALL)
PARTING = str.maketrans(dict.fromkeys(" \t,%{}'\"", "_"))
PAIRS = re.compile(r"\{(?:\s*[0-9]{1,18}\s+[^\s,{}]++\s*(?:,|(?=\})))*+\s*\}")
BINARY = re.compile(r"\{\s*(?:0[\s,]+1|(1)[\s,]+0)\s*\}")
MEKA = re.compile(r"(?<!\S)-C\s+([+-]?[0-9]{1,9})(?![0-9])(?!.*weka\.filters\.unsupervised\.attribute)", re.S)


def plain(text: str) -> str:
    """Return values without their comment and quotes; what parts values becomes ``_`` inside quotes."""
    if not ("'" in text or '"' in text or "%" in text):
        return text
    text = QUOTED_OR_COMMENT.sub(
        lambda match: "" if match[0][0] == "%" else match[0][1:-1].translate(PARTING) or "_", text
    )
    if quote := OPEN_QUOTE.search(text):
        raise ValueError(f"{shown(text[quote.start() :])} is no value; its quote has no end")
    return text.strip()


def read_header(file: InputFile, allowance: Allowance) -> tuple[str, list[tuple[str, str]], int]:
    """Return the name of the relation, names and types of the attributes, and the line of ``@data``."""
    relation, attributes, n_bytes, number = "", list[tuple[str, str]](), 0, 0
    for number, line in numbered_lines(file, "replace", allowance):
        if line.startswith("%"):
            continue
        declaration = DECLARATION.fullmatch(line)
        if declaration is None:
            raise ValueError(f"line {number}: {shown(line)} is not @relation, @attribute or @data")
        if declaration[1].lower() == "data":
            return relation, attributes, number
        if declaration[1].lower() == "relation":
            relation = declaration[2]
            continue
        attribute = ATTRIBUTE.fullmatch(declaration[2])
        if attribute is None:
            raise ValueError(f"line {number}: {shown(line)} is not @attribute with a name and a type")
        name = attribute[1]
        attributes.append((re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name, attribute[2]))
        n_bytes += ATTRIBUTE_BYTES + len(line)
        allowance.check(n_bytes)
    raise ValueError(f"it ends after line {number} without @data")


def labels_file(path: Path) -> Path | None:
    """Return the XML file of labels: of the same stem, or a stem that the ARFF file's begins with."""
    stem = re.sub(r"(\.arff)?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    if isinstance(path, RemotePath) and path.is_web:  # where nothing lists what is there
        beside = path.with_name(f"{stem}.xml")
        return beside if beside.is_file() else None
    files = [file for file in path.parent.iterdir() if file.name.lower().endswith(".xml")]
    fitting = [file for file in files if file.stem == stem][:1]
    fitting = fitting or sorted(file for file in files if stem.startswith(file.stem))
    if len(fitting) > 1:
        raise ValueError(f"{' and '.join(file.name for file in fitting)} may both name its labels")
    return fitting[0] if fitting else None


class _NoDoctype(ElementTree.TreeBuilder):
    def doctype(self, *_: Any) -> None:  # where entities are declared
        raise ValueError("a document type declaration, which is never read")


def read_labels(path: Path, allowance: Allowance) -> list[str]:
    """Return the names of the labels in the order of an XML file, nested ones after the one around them."""
    with naming(path, EXPECTED_XML):
        text = read_json(path, allowance)
        allowance.take(ATTRIBUTE_BYTES * text.count(b"<"))
        try:
            elements = [*ElementTree.fromstring(text, ElementTree.XMLParser(target=_NoDoctype())).iter()]
        except (ElementTree.ParseError, LookupError) as error:  # also of an encoding that is none
            raise ValueError(f"no well-formed XML ({error})") from None
        for place, element in enumerate(elements):
            tag = element.tag.rpartition("}")[2]
            if tag != ("label" if place else "labels") or (place and "name" not in element.attrib):
                raise ValueError(f"element {place} is <{tag[:SHOWN]}>{' without a name' * (tag == 'label')}")
        if len(elements) == 1:
            raise ValueError("no label in it")
        return [element.attrib["name"] for element in elements[1:]]


def find_labels(relation: str, attributes: list[str], xml: Path | None, listed: list[str]) -> list[int]:
    """Return the attributes that an XML file lists, or MEKA's ``-C n`` in the relation's name, as labels."""
    n = len(attributes)
    if xml is None:
        option = MEKA.search(relation.partition(":")[2])
        count = int(option[1]) if option else 0
        if not 1 <= abs(count) <= n:
            raise ValueError(
                f"nothing tells which of {n} attributes are labels: no XML file next to it has a name that "
                "its own begins with, and its relation no '-C n', without a filter that may move attributes"
            )
        return [*range(n)[:count]] if count > 0 else [*range(n)[count:]]
    in_header, in_xml = Counter(attributes), Counter(listed)
    for name in listed:
        if (in_header[name], in_xml[name]) != (1, 1):
            counts = f"{in_header[name]} attributes and {in_xml[name]} labels of {xml.name}"
            raise ValueError(f"{shown(name)} names {counts}, not one of each")
    places = {name: place for place, name in enumerate(attributes)}
    return [places[name] for name in listed]


class Attributes(NamedTuple):
    """Names of all attributes and their places by number, and the labels and implied values of some."""

    names: list[str]
    places: dict[str, int]
    labels: dict[int, int]
    implied: dict[int, str]  # which sparse rows leave out, if not 0


def labels_of(line: str, attributes: Attributes) -> list[int]:
    """Return the labels of one row, rising."""
    text, (names, places, labels, implied) = plain(line), attributes
    if text.startswith("{"):
        if not PAIRS.fullmatch(text):
            raise ValueError(f"{shown(text)} is not {{attribute value, ...}}")
        tokens = text[1:-1].replace(",", " ").split()
        row = dict(zip(tokens[::2], tokens[1::2], strict=True))
        if 2 * len(row) < len(tokens) or not row.keys() <= places.keys():
            raise ValueError(f"an attribute has two values, or is not in 0..{len(names) - 1}")
        given = {place: value for key, value in row.items() if (place := places[key]) in labels}
        values = implied | given
    else:
        cells = text.split(",") if "," in text else text.split()
        if "{" in text or "}" in text:
            raise ValueError(f"{shown(text)} is neither values between commas nor {{attribute value, ...}}")
        if len(cells) != len(names):
            raise ValueError(f"{len(cells)} values for {len(names)} attributes")
        values = {place: cells[place].strip() for place in labels}
    relevant = [place for place, value in values.items() if value != "0"]
    for place in relevant:
        if values[place] != "1":
            raise ValueError(f"value {shown(values[place])} of label {shown(names[place])} is not 0 or 1")
    return sorted(labels[place] for place in relevant)


def arff_pieces(path: Path, kind: str = "truth", allowance: Allowance = UNLIMITED) -> Pieces:
    """Read the header of an ARFF file, packed or not, and find its labels; rows are read in batches."""
    file = InputFile(path)
    with naming(path, EXPECTED):
        relation, declared, end = read_header(file, allowance)
        xml = labels_file(path)
    listed = [] if xml is None else read_labels(xml, allowance)
    with naming(path, EXPECTED):
        names = [name for name, _ in declared]
        places = find_labels(relation, names, xml, listed)
        types = [BINARY.fullmatch(plain(declared[place][1])) for place in places]
        for place, binary in zip(places, types, strict=True):
            if binary is None:
                what = f"label {shown(names[place])} is of type {shown(declared[place][1])}"
                raise ValueError(f"{what}, not {{0,1}}")
        allowance.take(ATTRIBUTE_BYTES * len(places))
    labels_by_place = {place: label for label, place in enumerate(places)}
    implied = {place: "1" for place, binary in zip(places, types, strict=True) if binary and binary[1]}
    attributes = Attributes(names, {str(i): i for i in range(len(names))}, labels_by_place, implied)

    def read(n_bytes: int) -> Iterator[Any]:
        labels, ptr = array("i"), array("q", [0])

        with naming(path, EXPECTED):
            for number, line in numbered_lines(file, "replace", allowance):
                if number <= end or line.startswith("%"):
                    continue
                try:
                    row = labels_of(line, attributes)
                except ValueError as error:
                    raise ValueError(f"line {number}: {error}") from None
                size = BYTES_PER_ROW * len(ptr) + BYTES_PER_LABEL * (len(labels) + len(row))
                if len(ptr) > 1 and size > n_bytes:
                    yield rows_by_id(np.array(ptr), np.array(labels, np.int32))
                    labels, ptr = array("i"), array("q", [0])
                labels.extend(row)
                ptr.append(len(labels))
        if len(ptr) > 1:
            yield rows_by_id(np.array(ptr), np.array(labels, np.int32))

    return Pieces(None, len(places), read, label_names=[names[place] for place in places])


def files_beside(path: Path) -> list[Path]:
    """Return the XML file of labels, if there is one."""
    with naming(path, EXPECTED):
        return [file for file in [labels_file(path)] if file is not None]


ARFF = Format(
    name="arff",
    title="ARFF file of MULAN or MEKA",
    files="NAME.arff or NAME.arff.gz, with an XML file of its labels or '-C n' in its relation",
    extensions=(".arff", ".arff.gz"),
    holds=("truth",),
    pieces=arff_pieces,
    beside=files_beside,
)
