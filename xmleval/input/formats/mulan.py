"""Which attributes of an ARFF file are labels: MULAN's XML files, and MEKA's names of relations."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from xmleval.budget import Allowance
from xmleval.files.input import InputFile
from xmleval.files.remote import RemotePath
from xmleval.input.formats.format import naming
from xmleval.input.lines import shown

EXPECTED = "MULAN's <labels> with one <label name=...> for each label"
MEKA = re.compile(r"(?<!\S)-C\s+([+-]?[0-9]{1,9})(?![0-9])(.*)", re.DOTALL)
NAME_BYTES = 200  # of memory for a label, beside its name
MOVED = "weka.filters.unsupervised.attribute."


def labels_file(path: Path) -> Path | None:
    """Return the XML file that belongs to an ARFF file, or None.

    It has the same stem or, if no file has, a stem that the ARFF file's begins with.
    """
    stem = re.sub(r"(\.arff)?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    if isinstance(path, RemotePath) and path.is_web:  # where nothing lists what is there
        beside = path.with_name(f"{stem}.xml")
        return beside if beside.is_file() else None
    found = [other for other in path.parent.iterdir() if other.name.lower().endswith(".xml")]
    for other in found:
        if other.stem == stem:
            return other
    found = sorted(other for other in found if stem.startswith(other.stem))
    if len(found) > 1:
        raise ValueError(f"{' and '.join(other.name for other in found)} may both name its labels")
    return found[0] if found else None


def read_labels(path: Path, allowance: Allowance) -> list[str]:
    """Read the names of the labels in the order of the document, nested ones after the one around them."""
    parser = expat.ParserCreate()
    names: dict[str, None] = {}

    def refuse(problem: str) -> NoReturn:
        raise ValueError(f"line {parser.CurrentLineNumber}: {problem}")

    def declare(*_: Any) -> None:  # entities are declared inside
        refuse("a document type declaration, which is never read")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if kind != ("label" if depth[0] else "labels"):
            refuse(f"an element <{tag[:40]}>")
        depth[0] += 1
        if kind == "label":
            if "name" not in attributes:
                refuse("a label without a name")
            name = attributes["name"]
            if name in names:
                refuse(f"label {shown(name)} a second time")
            names[name] = None
            n_bytes[0] += NAME_BYTES + sys.getsizeof(name)
            allowance.check(n_bytes[0])

    def end(tag: str) -> None:
        depth[0] -= 1

    depth, n_bytes = [0], [0]
    parser.StartDoctypeDeclHandler = declare
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    with naming(path, EXPECTED):
        with InputFile(path).open() as file:
            try:
                parser.ParseFile(file)
            except (expat.ExpatError, LookupError) as error:  # also of an encoding that is none
                raise ValueError(f"no well-formed XML ({error})") from None
        if not names:
            raise ValueError("no label in it")
        allowance.take(n_bytes[0])
    return list(names)


def count_labels(relation: str, n_attributes: int) -> list[int]:
    """Return the attributes that MEKA's ``-C n`` in a relation's name makes labels."""
    found = MEKA.search(relation.partition(":")[2])
    if found is None:
        raise ValueError(
            "nothing tells which attributes are labels: no XML file beside it has a name that its own "
            "begins with, and its relation has no '-C n'"
        )
    count = int(found[1])
    if MOVED in found[2]:
        raise ValueError(
            f"its relation is named with '-C {count}', and with a filter that may have moved attributes since"
        )
    if not 1 <= abs(count) <= n_attributes:
        raise ValueError(f"'-C {count}' in the name of its relation, of {n_attributes} attributes")
    places = range(n_attributes)
    return list(places[:count] if count > 0 else places[count:])
