"""ARFF files of MULAN and MEKA: labels wherever they stand, every fault in one line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DATA, NO_DATA
from xmleval.input import lines
from xmleval.input.formats.arff import arff_pieces
from xmleval.input.formats.registry import read_scores, read_truth

HEADER = """% a comment
@RELATION 'a name: with a colon'

@attribute word numeric
@Attribute "label one" {0,1}
@ATTRIBUTE text string
@attribute\t'it\\'s \\"two\\"' { '0', "1" } % a label
@attribute day date "yyyy-MM-dd"
@attribute three{1,0}
@Data
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="three"><label name="label one"/></label>
<label name="it's &quot;two&quot;"></label>
</labels>
"""
ROWS = """0.5,1,'a, b',0,"2020-01-01",0
%0.5,1,'a, b',0,"2020-01-01",0
?, '0' ,"50% 'off'", 1 , ? , 1

{1 1,2 'x} 1 1'}
{ 5 0 , 4 "a \\" b" ,3 1}  % of a row
  {}
{5 1}
0 0 x 0 y 0 % blanks part values too
"""
WANTED = [[0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 0, 0]]


def save(folder: Path, rows: str = ROWS, header: str = HEADER, xml: str | None = XML) -> Path:
    (folder / "y-train.arff").write_text(header + rows)
    if xml is not None:
        (folder / "y.xml").write_text(xml)
    return folder / "y-train.arff"


def refused(path: Path, blamed: Path | None = None) -> str:
    with pytest.raises(ValueError) as caught:
        read_truth(path)
    message = str(caught.value)
    assert message.startswith(f"{blamed or path}: ")
    assert "; expected " in message
    assert "\n" not in message
    return message.removeprefix(f"{blamed or path}: ")


# ------------------------------------------------------------------------------------------ what is read


def test_labels_anywhere_in_the_order_of_the_document(tmp_path: Path) -> None:
    path = save(tmp_path)
    found = read_truth(path)
    assert found.toarray().tolist() == WANTED
    assert (found.format, found.dtype) == ("csr", np.uint8)
    assert arff_pieces(path, "truth").label_names == ["three", "label one", 'it\'s "two"']


@pytest.mark.parametrize("change", ["gzip", "crlf", "bom", "renamed"])
def test_the_same_in_other_clothes(tmp_path: Path, change: str) -> None:
    path = save(tmp_path)
    held = path.read_bytes()
    if change == "gzip":
        path.write_bytes(gzip.compress(held))  # told by its bytes, not by its name
    elif change == "crlf":
        path.write_bytes(held.replace(b"\n", b"\r\n"))
    elif change == "bom":
        path.write_bytes(b"\xef\xbb\xbf" + held)
    else:
        path = path.rename(tmp_path / "y-train.ARFF")
    assert read_truth(path).toarray().tolist() == WANTED


@pytest.mark.parametrize("quote", ["", "'"])
@pytest.mark.parametrize(("count", "first"), [("2", 0), ("-2", 1), ("+2", 0)])
def test_labels_counted_in_the_name_of_the_relation(
    tmp_path: Path, quote: str, count: str, first: int
) -> None:
    header = f"@relation {quote}X: -split 3 -C {count}{quote}\n" + "".join(
        f"@attribute a{i} {{0,1}}\n" for i in range(3)
    )
    path = save(tmp_path, "0,1,1\n{2 1}\n", header + "@data\n", None)
    dense = np.array([[0, 1, 1], [0, 0, 1]])
    assert read_truth(path).toarray().tolist() == dense[:, first : first + 2].tolist()
    assert arff_pieces(path).label_names == [f"a{i}" for i in range(first, first + 2)]


def test_the_document_of_the_same_stem_comes_first(tmp_path: Path) -> None:
    path = save(tmp_path, xml="<labels><label name='word'/></labels>")
    (tmp_path / "y-train.xml").write_text(XML)
    assert read_truth(path).toarray().tolist() == WANTED
    (tmp_path / "y-train.xml").unlink()
    (tmp_path / "z.xml").write_text(XML)
    assert "label 'word' is of type 'numeric'" in refused(path)


def test_no_rows(tmp_path: Path) -> None:
    path = save(tmp_path, "% none\n")
    assert read_truth(path).shape == (0, 3)
    assert list(arff_pieces(path).read(100)) == []


@given(n_bytes=st.integers(1, 200), rows=st.lists(st.sampled_from([ROWS.splitlines()[0], "{}", "{1 1,5 0}"])))
def test_pieces_make_up_the_whole(
    tmp_path_factory: pytest.TempPathFactory, n_bytes: int, rows: list[str]
) -> None:
    path = save(tmp_path_factory.mktemp("arff"), "\n".join(rows))
    pieces = arff_pieces(path)
    found = list(pieces.read(n_bytes))
    assert all(piece.shape[0] == 1 or 8 * piece.shape[0] + 5 * piece.nnz <= n_bytes for piece in found)
    whole = sp.vstack([sp.csr_array((0, 3), dtype=np.uint8), *found])
    np.testing.assert_array_equal(whole.toarray(), read_truth(path).toarray())
    assert [piece.nnz for piece in pieces.read(n_bytes)] == [piece.nnz for piece in found]  # once more


@pytest.mark.skipif(not (DATA / "enron").is_dir(), reason=NO_DATA)
@pytest.mark.parametrize(
    ("folder", "name", "split"),
    [
        *((name, f"{name}-train", "train") for name in ("bibtex", "enron", "medical")),
        *((name, f"{name}-test", "test") for name in ("bibtex", "enron", "medical")),
        ("corel5k", "Corel5k-test", "test"),
        ("corel5k", "Corel5k-test-sparse", "test"),
        ("corel5k", "Corel5k-train-sparse", "train"),
        ("cal500", "cal500", "train"),
        ("cal500", "cal500", "test"),
    ],
)  # fmt: skip
def test_published_files(folder: str, name: str, split: str) -> None:
    found = read_truth(DATA / folder / "native" / f"{name}.arff.gz")
    if folder == "cal500":
        found = found[np.load(DATA / folder / f"split_{split}_rows.npy")]
    wanted = sp.load_npz(DATA / folder / f"Y_{split}.npz")
    assert found.shape == wanted.shape
    assert (found != wanted).nnz == 0


# ------------------------------------------------------------------------------------- what is not read


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1,2,3\n", "line 11: 3 values for 6 attributes"),
        ("1,1,x,0,y,0,7\n", "line 11: 7 or more values for 6 attributes"),
        ("1,1,'x',0,y,0,7,8,9\n", "line 11: 7 or more values for 6 attributes"),
        ("{" + "1 1," * 9 + "}\n", "line 11: 10 values for 6 attributes"),
        ("{" + "0 'x'," * 9 + "}\n", "line 11: 7 or more values for 6 attributes"),
        ("{}\n1,2,x,0,y,0\n", "line 12: value '2' of label 'label one' is not 0 or 1"),
        ("1,?,x,0,y,0\n", "line 11: value '?' of label 'label one'"),
        ("1,,x,0,y,0\n", "line 11: value '' of label 'label one'"),
        ("1,'1,x,0,y,0\n", "line 11: \"'1,x,0,y,0\" is no value"),
        ("{1 1,6 1}\n", "line 11: attribute 6 is not in 0..5"),
        ("{1 1,999999999999999999999 1}\n", "attribute 999999999999999999999 is not in 0..5"),
        ("{1 1,999999999999999999999 'x'}\n", "is no attribute's number and value"),
        ("{-1 1}\n", "'-1 1}' is no attribute's number"),
        ("{1 1, 1 0}\n", "line 11: label 'label one' has two values"),
        ("{1 yes}\n", "value 'yes' of label 'label one' is not 0 or 1"),
        ("{1 1 3 1}\n", "no attribute's number and value, nor the closing brace"),
        ("{1 1\n", "'1 1' is no attribute's number and value, nor the closing brace"),
        ("{1 1}, {0.5}\n", "', {0.5}' after the closing brace"),
        ("1,1,x,0,y,0,{0.5}\n", "'{0.5}' is no value"),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit(tmp_path: Path, rows: str, said: str) -> None:
    assert said in refused(save(tmp_path, rows))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", "the file is empty"),
        ("@relation r\n@attribute a {0,1}\n", "it ends after line 2 without @data"),
        ("@relation r\n@attribute a {0,1}\n@database\n", "line 3: '@database' is not @relation"),
        ("@relation r\n\n@data\n", "line 3: @data before any @attribute"),
        ("@relation r\n@attribute a\n@data\n", "line 2: '@attribute a' cannot be read"),
        ("@relation\n@attribute a {0,1}\n@data\n", "line 1: '@relation' cannot be read"),
        ("@attribute 'a {0,1}\n@data\n", 'line 1: "@attribute \'a {0,1}" cannot be read'),
        ("a,b\n0,1\n", "line 1: 'a,b' is not @relation, @attribute or @data"),
        ("@attribute bag relational\n", "line 1: a relational attribute"),
        ("@attribute three {0,1}\n@data\n", "no attribute is called 'label one', as a label in y.xml is"),
        (HEADER.replace("word", "three"), "several attributes are called 'three'"),
        (HEADER.replace("{1,0}", " numeric"), "label 'three' is of type 'numeric'"),
        (HEADER.replace("{1,0}", " {0,1,2}"), "label 'three' is of type '{0,1,2}'"),
        (HEADER.replace("{1,0}", " {0,0}"), "label 'three' is of type '{0,0}'"),
        (HEADER.replace("{1,0}", " {0,1"), "label 'three' is of type '{0,1'"),
        (HEADER.replace("{1,0}", " {0,'1}"), '"\'1" is no value'),
    ],
)
def test_headers_that_are_none(tmp_path: Path, header: str, said: str) -> None:
    assert said in refused(save(tmp_path, "", header))


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("r", "nothing tells which attributes are labels"),
        ("'r -C 2'", "nothing tells which attributes are labels"),
        ("'r: -Class 2'", "nothing tells which attributes are labels"),
        ("'r: -C 0'", "'-C 0' in the name of its relation, of 3 attributes"),
        ("'r: -C -4'", "'-C -4' in the name of its relation, of 3 attributes"),
        (
            "'r: -C 2-weka.filters.unsupervised.attribute.Remove-R1'",
            "a filter that may have moved attributes",
        ),
    ],
)
def test_nothing_tells_the_labels(tmp_path: Path, relation: str, said: str) -> None:
    attributes = "".join(f"@attribute a{i} {{0,1}}\n" for i in range(3))
    path = save(tmp_path, "0,1,0\n", f"@relation {relation}\n{attributes}@data\n", None)
    assert said in refused(path)


BOMB = """<!DOCTYPE labels [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>"""


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        ("", "the file is empty"),
        (
            BOMB + "<labels><label name='&b;'/></labels>",
            "line 1: a document type declaration, which is never",
        ),
        ("<!DOCTYPE labels SYSTEM 'file:///etc/passwd'><labels/>", "a document type declaration"),
        ("<labels><label name='&b;'/></labels>", "no well-formed XML (undefined entity"),
        ("<labels><label name='three'>", "no well-formed XML (no element found"),
        ("three\n", "no well-formed XML (syntax error"),
        ("<?xml version='1.0' encoding='none'?><labels/>", "no well-formed XML (unknown encoding"),
        ("<labels></labels>", "no label in it"),
        ("<data><label name='three'/></data>", "line 1: an element <data>"),
        ("<labels>\n<tag name='three'/></labels>", "line 2: an element <tag>"),
        ("<labels>\n<label/></labels>", "line 2: a label without a name"),
        ("<labels><label name='a'>\n<label name='a'/></label></labels>", "line 2: label 'a' a second time"),
    ],
)
def test_documents_that_name_no_labels(tmp_path: Path, xml: str, said: str) -> None:
    message = refused(save(tmp_path, xml=xml), tmp_path / "y.xml")
    assert said in message
    assert message.endswith("; expected MULAN's <labels> with one <label name=...> for each label")


def test_documents_that_compete(tmp_path: Path) -> None:
    path = save(tmp_path)
    (tmp_path / "y-t.xml").write_text(XML)
    assert "y-t.xml and y.xml may both name its labels" in refused(path)


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path)
    whole = gzip.compress(path.read_bytes())
    path.write_bytes(whole[:-30])
    assert "gzip stream is cut short" in refused(path)
    path.write_bytes(b"\x1f\x8b" + os.urandom(99))
    assert "gzip stream is damaged" in refused(path)
    path.write_bytes(gzip.compress(os.urandom(999)))
    assert "is not @relation, @attribute or @data" in refused(path)
    path.write_bytes(gzip.compress(bytes(999)))
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    assert "line 1 is longer than 100 bytes" in refused(path)
    with pytest.raises(FileNotFoundError):
        read_truth(tmp_path / "none.arff")
    (tmp_path / "folder.arff").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.arff"):
        read_truth(tmp_path / "folder.arff")
    save(tmp_path, xml=None)
    (tmp_path / "y.xml").unlink()
    (tmp_path / "y.xml").mkdir()
    with pytest.raises(IsADirectoryError, match=r"y\.xml"):
        read_truth(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may read everything")
@pytest.mark.parametrize("name", ["y-train.arff", "y.xml"])
def test_no_permission(tmp_path: Path, name: str) -> None:
    path = save(tmp_path)
    (tmp_path / name).chmod(0)
    with pytest.raises(PermissionError, match=name):
        read_truth(path)


def test_it_holds_no_scores(tmp_path: Path) -> None:
    path = save(tmp_path)
    with pytest.raises(ValueError, match="holds no scores"):
        read_scores(path)
    with pytest.raises(ValueError, match="holds no scores; expected"):
        arff_pieces(path, "scores")


@given(data=st.data(), which=st.sampled_from(["y-train.arff", "y.xml"]), packed=st.booleans())
def test_mutated_bytes(tmp_path_factory: pytest.TempPathFactory, data: Any, which: str, packed: bool) -> None:
    path = save(tmp_path_factory.mktemp("arff"))
    held = bytearray(path.with_name(which).read_bytes())
    if packed and which == "y-train.arff":
        held = bytearray(gzip.compress(held))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(held) - 1))
        new = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"{", b"}", b"'", b",", b"@", b"\n"]))
        )
        held[place : place + data.draw(st.integers(0, 9))] = new
    path.with_name(which).write_bytes(held)
    try:
        found = read_truth(path)
    except (ValueError, OSError) as error:
        assert str(tmp_path_factory.getbasetemp()) in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert found.format == "csr"
