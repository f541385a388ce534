"""ARFF files of MULAN and MEKA: the labels of each instance; its features are passed over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from xmleval.budget import UNLIMITED, Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import RemotePath
from xmleval.input.formats.format import Format, naming
from xmleval.input.lines import numbered_lines, read_json, shown
from xmleval.input.pieces import Pieces
from xmleval.input.rows import Rows, pointer, rows_by_id

EXPECTED = "an ARFF file whose labels are attributes {0,1}"
EXPECTED_XML = "MULAN's <labels> with one <label name=...> for each label"
ROW_BYTES, LABEL_BYTES = 64, 8
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
            root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_NoDoctype()))
        except (ElementTree.ParseError, LookupError) as error:  # also of an encoding that is none
            raise ValueError(f"no well-formed XML ({error})") from None
        tags = [each.tag.rpartition("}")[2] for each in root.iter()]
        names = [each.get("name", "") for each in root.iter() if each is not root]
        if tags[0] != "labels" or {*tags[1:]} != {"label"} or "" in names:
            raise ValueError("its elements are other ones, or labels without a name")
        return names


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


def labels_of(line: str, names: list[str], labels: dict[int, int], implied: dict[int, str]) -> list[int]:
    """Return the labels of one row, rising.

    ``labels`` are ids by the place of an attribute; ``implied`` values, if not 0, sparse rows leave out.
    """
    text = plain(line)
    if text.startswith("{"):
        if not PAIRS.fullmatch(text):
            raise ValueError(f"{shown(text)} is not {{attribute value, ...}}")
        tokens = text[1:-1].replace(",", " ").split()
        row = dict(zip(map(int, tokens[::2]), tokens[1::2], strict=True))
        if 2 * len(row) < len(tokens) or max(row, default=0) >= len(names):
            raise ValueError(f"an attribute has two values, or is not in 0..{len(names) - 1}")
        values = implied | {place: value for place, value in row.items() if place in labels}
    else:
        cells = text.split(",") if "," in text else text.split()
        if len(cells) != len(names):
            raise ValueError(f"{len(cells)} values for {len(names)} attributes")
        values = {place: cells[place].strip() for place in labels}
    for place, value in values.items():
        if value not in ("0", "1"):
            raise ValueError(f"value {shown(value)} of label {shown(names[place])} is not 0 or 1")
    return sorted(labels[place] for place, value in values.items() if value == "1")


def arff_pieces(path: Path, kind: str = "truth", allowance: Allowance = UNLIMITED) -> Pieces:
    """Read the header of an ARFF file, packed or not, and find its labels; rows are read in batches."""
    file = InputFile(path)
    with naming(path, EXPECTED):
        relation, declared, end = read_header(file, allowance)
        xml = labels_file(path)
    listed = [] if xml is None else read_labels(xml, allowance)
    with naming(path, EXPECTED):
        names = [name for name, _ in declared]
        labels = {place: label for label, place in enumerate(find_labels(relation, names, xml, listed))}
        allowance.take(ATTRIBUTE_BYTES * len(labels))
        implied = dict[int, str]()
        for place in labels:
            binary = BINARY.fullmatch(plain(declared[place][1]))
            if binary is None:
                what = f"label {shown(names[place])} is of type {shown(declared[place][1])}"
                raise ValueError(f"{what}, not {{0,1}}")
            if binary[1]:
                implied[place] = "1"

    def read(n_bytes: int) -> Iterator[Any]:
        rows, size = list[list[int]](), 0
        with naming(path, EXPECTED):
            for number, line in numbered_lines(file, "replace", allowance):
                if number <= end or line.startswith("%"):
                    continue
                try:
                    row = labels_of(line, names, labels, implied)
                except ValueError as error:
                    file.check()  # a change may be what went wrong
                    raise ValueError(f"line {number}: {error}") from None
                row_bytes = ROW_BYTES + LABEL_BYTES * len(row)
                if rows and size + row_bytes > n_bytes:
                    yield stacked(rows)
                    rows, size = [], 0
                rows.append(row)
                size += row_bytes
            if rows:
                yield stacked(rows)

    def stacked(rows: list[list[int]]) -> Rows:
        return rows_by_id(pointer([*map(len, rows)]), np.array([*chain.from_iterable(rows)], np.int32))

    return Pieces(None, len(labels), read, label_names=[names[place] for place in labels])


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
