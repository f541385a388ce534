"""ARFF as MULAN, MEKA and Weka write it: quotes, escapes, blanks, comments and sparse rows."""

from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from tests.conftest import DATA, NO_DATA
from tests.made_files import rows_of
from xmleval.io import read_truth


def write_labels(*names: str) -> None:
    labels = "".join(f"<label name={quoteattr(name)}></label>\n" for name in names)
    xmlns = "http://mulan.sourceforge.net/labels"
    Path("a.xml").write_text(
        f'<?xml version="1.0"?>\n<labels xmlns="{xmlns}">\n{labels}</labels>\n'
    )


EMOTIONS = """@relation music

@attribute Mean_Acc1298_Mean_Mem40_Centroid numeric
@attribute Std_Acc1298_Mean_Mem40_Rolloff numeric
@attribute amazed-suprised {0,1}
@attribute happy-pleased {0,1}

@data
0.034741,0.089665,0,1
0.081374,-2.7e-2,1,0
"""
SCENE = """@relation scene

@attribute Att1 numeric
@attribute Beach {0,1}
@attribute Fall foliage {0,1}

@data
0.646467,1,0
"""
YEAST = """@relation yeast
@attribute Att1\tnumeric
@attribute\tClass1\t{0,1}
@attribute   Class2   { 0 , 1 }
@DATA
0.004168\t,0,\t1
 0.1 , 1 , 1\x20\x20

{1 1}
"""
BIRDS = """% a comment
@RELATION 'birds: of a wood'
@Attribute audio-ssd1 NUMERIC
@attribute hasSegments {0,1}
@attribute location {1,2,3}
@attribute 'Brown Creeper' {0,1}
@attribute 'Swainson\\'s Thrush' {0,1}
@attribute "Hammond's Flycatcher" {'0','1'} % in quotes
@Data
0.1,1,3,1,0,0
% 0.1,1,3,1,0,0
0.2,0,1,0,'1',"1"
0.2 0 1 0 1 1
0.2,0,1,0,0,1 % it's one, 'two', {3}
{0 0.5,4 1} % {5 1}
{}
"""
DELICIOUS = """@relation delicious
@attribute 00 {0,1}
@attribute TAG_m\\'usica{0,1}
@attribute TAG_wow {0,1}
@attribute 'TAG_50\\% off' {0,1}
@attribute 'c:\\\\new' {0,1}
@data
{0 1,1 1,4 1}
{ 1\t1 , 3\t'1' }
{2 1,3 "0"}
"""
FORMS = {
    "emotions": (EMOTIONS, ["amazed-suprised", "happy-pleased"], [[1], [0]]),
    "yeast": (YEAST, ["Class1", "Class2"], [[1], [0, 1], [0]]),
    "birds": (
        BIRDS,
        ["Swainson's Thrush", "Brown Creeper", "Hammond's Flycatcher"],
        [[1], [0, 2], [0, 2], [2], [0], []],
    ),
    "delicious": (
        DELICIOUS,
        ["TAG_m\\'usica", "TAG_wow", "TAG_50% off", "c:\\new"],
        [[0, 3], [0, 2], [1]],
    ),
    "unescaped": (DELICIOUS, ["TAG_m'usica", "TAG_50\\% off", "c:\\\\new"], [[0, 2], [0, 1], []]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_mulan_are_read_in_all_their_forms(folder: Path, form: str, end: str) -> None:
    text, names, rows = FORMS[form]
    write_labels(*names)
    Path("a.arff").write_text(text, newline=end)
    assert rows_of(read_truth("a.arff")) == rows


def test_names_are_matched_as_written_before_they_are_unescaped(folder: Path) -> None:
    attributes = "@attribute 'a\\'b' {0,1}\n@attribute \"a'b\" {0,1}\n@attribute x numeric\n"
    Path("a.arff").write_text(f"@relation r\n{attributes}@data\n1,0,5\n0,1,5\n")
    for names, rows in (
        (["a\\'b", "a'b"], [[0], [1]]),
        (["a'b"], [[], [0]]),
        (["a\\'b"], [[0], []]),
    ):
        write_labels(*names)
        assert rows_of(read_truth("a.arff")) == rows
    attributes = "@attribute 'a\\'b' {0,1}\n@attribute \"a\\'b\" {0,1}\n"
    Path("a.arff").write_text(f"@relation r\n{attributes}@data\n1,0\n")
    for name in ("a\\'b", "a'b", "b"):
        write_labels(name)
        with pytest.raises(
            ValueError, match="must be the name of one attribute and of one label in XML"
        ):
            read_truth("a.arff")


def test_name_with_a_blank_needs_quotes(folder: Path) -> None:
    write_labels("Beach", "Fall foliage")
    Path("a.arff").write_text(SCENE)
    with pytest.raises(ValueError, match="'Fall foliage' must be the name of one attribute"):
        read_truth("a.arff")
    Path("a.arff").write_text(SCENE.replace("Fall foliage", "'Fall foliage'"))
    assert rows_of(read_truth("a.arff")) == [[0]]


@pytest.mark.parametrize("relation", ["'r: -C 1'", '"r: -V -C 1 -x"', "r: -C 1", "'it\\'s: -C 1'"])
def test_relation_may_be_in_any_quotes(folder: Path, relation: str) -> None:
    Path("m.arff").write_text(
        f"@relation {relation}\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@data\n1,0\n"
    )
    assert rows_of(read_truth("m.arff")) == [[0]]


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
@pytest.mark.parametrize("name", ["bibtex", "corel5k", "enron", "medical"])
def test_real_files_have_as_many_labels_as_their_arrays(name: str) -> None:
    import scipy.sparse as sp

    (path,) = (path for path in (DATA / name / "native").glob("*-test.arff.gz"))
    truth = read_truth(path)
    expected = sp.load_npz(DATA / name / "Y_test.npz")
    assert (truth.shape, truth.nnz) == (expected.shape, expected.nnz)
