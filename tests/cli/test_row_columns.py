"""Columns of rows on the command line: groups and clusters in reports, comparisons and pages."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import Run

TEXTS = "id,labels,lang,user\n1,red,de,7\n2,blue,en,7\n3,red,de,8\n4,blue,en,9\n"
OPTIONS = "--metrics p@1 --row-groups lang --clusters user --confidence 0.9"


@pytest.fixture(autouse=True)
def _texts(folder: Path) -> None:
    Path("texts.csv").write_text(TEXTS)
    for name, label in (("a", "red"), ("b", "blue")):
        lines = "".join(f"{row},{label}\n" for row in range(1, 5))
        Path(f"{name}.csv").write_text(f"id,labels\n{lines}")


def test_commands_take_columns(run: Run) -> None:
    report = json.loads(run(f"evaluate texts.csv a.csv {OPTIONS} --format json"))
    assert [*report["row_groups"]] == ["de", "en"]
    compared = json.loads(run(f"compare texts.csv a.csv b.csv {OPTIONS} --format json"))
    first = next(iter(compared["reports"].values()))
    assert first["row_groups"] == report["row_groups"]


def test_pages_and_figures_show_groups_of_rows(run: Run, refused: Run) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    assert run(f"report texts.csv a.csv b.csv {OPTIONS} --output page.html") == ""
    assert "Groups of rows" in Path("page.html").read_text()
    assert run("plot texts.csv a.csv --kind row_groups --row-groups lang --output p.svg") == ""
    assert Path("p.svg").stat().st_size
    message = refused("plot texts.csv a.csv --kind row_groups --output p.svg")
    assert "--row-groups" in message


def test_an_output_may_not_replace_a_file_of_values(refused: Run) -> None:
    Path("groups.csv").write_text("id,lang\n1,a\n2,a\n3,b\n4,b\n")
    line = "evaluate texts.csv a.csv --row-groups groups.csv --output groups.csv"
    assert refused(line).startswith("groups.csv: is an input")
    Path("lang").write_text("1,a\n")
    message = refused("evaluate texts.csv a.csv --row-groups lang")
    assert message.startswith("--row-groups: 'lang' is a column of TRUTH and a file; give './lang'")


NOT_UNIQUE = "expected the name of a group on each line"
BY_NAME = [  # texts.csv has rows 1 to 4, and labels red and blue
    ("--row-groups", "1\tx\n2\ty\n1\tz\n", "v.txt: line 3: a second group for row '1'"),
    (
        "--row-groups",
        "8\tx\n9\ty\n",
        "v.txt: no row in it occurs in the other inputs, which have '1'",
    ),
    ("--row-groups", "1\tx\n2\ty\n4\tz\n", "v.txt: no group for row 3"),
    ("--row-groups", "x\ny\nx\ny\n", "v.txt: rows have names; expected row, tab or comma, group"),
    ("--row-groups", "", f"v.txt: the file is empty; {NOT_UNIQUE}"),
    ("--row-groups", "1\tx\n2\t\n", "v.txt: line 2: '2' is not two cells with text in both"),
    ("--clusters", "1\tx\n2\ty\n", "v.txt: no cluster for row 3"),
    ("--sample-weight", "1\t1\n2\t2\n3\t3\n", "v.txt: no weight for row 4"),
    ("--label-groups", "green\trare\n", "v.txt: no label in it occurs in the other inputs, which"),
    ("--label-groups", "red\ta\nred\tb\n", "v.txt: line 2: a second group for label 'red'"),
    ("--label-groups", "red\ta\nblue\t\n", "v.txt: line 2: 'blue' is not two cells with text"),
    (
        "--metrics psp@1 --inverse-propensity",
        "2\n3\n",
        "v.txt: has no names, but labels are numbered as TRUTH names them; give --labels",
    ),
]


@pytest.mark.parametrize(("option", "text", "message"), BY_NAME)
def test_files_of_values_by_name_are_refused_with_their_line(
    refused: Run, option: str, text: str, message: str
) -> None:
    Path("v.txt").write_text(text)
    confidence = "--confidence 0.9" if option == "--clusters" else ""
    assert refused(f"evaluate texts.csv a.csv {confidence} {option} v.txt").startswith(message)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("", "; its first column has no name: write the keys of the rows there"),
        ("id", ""),
        ("doc", ""),
    ],
)
def test_a_column_without_a_name_is_explained_where_a_row_has_no_group(
    refused: Run, header: str, hint: str
) -> None:
    Path("groups.csv").write_text(f"{header},lang\n1,de\n2,en\n3,de\n")
    line = "evaluate texts.csv a.csv --row-groups groups.csv"
    assert refused(line) == f"groups.csv: no group for row 4{hint}"


BY_NUMBER = [  # a truth of 3 rows and 3 labels
    ("--row-groups", "x\ny\n", "v.txt: 2 groups do not match the 3 rows of Y.npz"),
    ("--row-groups", "x\ny\nz\nw\n", "v.txt: 4 groups do not match the 3 rows of Y.npz"),
    ("--row-groups", "0\tx\n1\ty\n", "v.txt: no group for row 2"),
    ("--row-groups", "0\tx\n1\ty\n3\tz\n", "v.txt: line 3: row '3' is not in 0..2"),
    ("--row-groups", "0\tx\n-1\ty\n", "v.txt: line 2: row '-1' is not in 0..2"),
    ("--row-groups", "a\tx\n1\ty\n", "v.txt: line 1: row 'a' is not a whole number"),
    ("--sample-weight", "1\n2\n", "v.txt: 2 weights do not match the 3 rows of Y.npz"),
    ("--sample-weight", "1\n2\n3\n4\n", "v.txt: 4 weights do not match the 3 rows of Y.npz"),
    ("--sample-weight", "1\n-2\n3\n", "v.txt: row 1: weight -2.0 is neither 0 nor within 2^-30"),
    ("--sample-weight", "1\n1\nnan\n", "v.txt: row 2: weight nan is neither 0 nor within 2^-30"),
    ("--sample-weight", "0\t1\n1\t2\n", "v.txt: no weight for row 2"),
    (
        "--sample-weight",
        "0\t1\n1\tx\n2\t1\n",
        "v.txt: weight 'x' of row 1 is not a number",
    ),
    ("--label-groups", "a\nb\n", "v.txt: has groups of 2 labels; expected one for each of 3"),
    ("--label-groups", "0\ta\n3\tb\n", "v.txt: line 2: label '3' is not in 0..2"),
    ("--label-groups", "red\ta\n", "v.txt: line 1: label 'red' is not a whole number"),
    ("--metrics psp@1 --inverse-propensity", "1\n2\n", "v.txt: shape (2,) is not (3,): one per"),
    (
        "--metrics psp@1 --inverse-propensity",
        "1\n2\nx\n",
        "v.txt: line 3: 'x' is not a number; expected one inverse propensity per label",
    ),
    (
        "--metrics psp@1 --inverse-propensity",
        "1\n\n1\n",
        "v.txt: line 2 is blank; remove it; expected one inverse propensity per label",
    ),
    (
        "--metrics psp@1 --inverse-propensity",
        "1\n0\n1\n",
        "v.txt: label 1: inverse propensity 0.0 is not a number above 0 and at most 2^30",
    ),
    (
        "--metrics h_f1.micro@1 --hierarchy",
        "0 1\n1 0\n",
        "v.txt: a cycle: 0 -> 1 -> 0, each a child of the next",
    ),
    (
        "--metrics h_f1.micro@1 --hierarchy",
        "child parent\n",
        "v.txt: the file has no edges; expected a child and its parent on each line",
    ),
    (
        "--metrics h_f1.micro@1 --hierarchy",
        "0 1\n0 1 2\n",
        "v.txt: line 2: '0 1 2' is not two cells with text in both; expected a child",
    ),
    (
        "--metrics h_f1.micro@1 --hierarchy",
        "0 1\n\n0 3\n",
        "v.txt: line 3: 3 is not one of 0..2; leave out edges to nodes that are not labels",
    ),
    (
        "--metrics h_f1.micro@1 --hierarchy",
        "0 red\n",
        "v.txt: line 1: 'red' is not a label id; here, labels have no names",
    ),
]


@pytest.mark.parametrize(("option", "text", "message"), BY_NUMBER)
def test_files_of_values_by_number_are_refused_with_their_line(
    refused: Run, option: str, text: str, message: str
) -> None:
    sp.save_npz("Y.npz", sp.csr_array(np.eye(3)))
    Path("v.txt").write_text(text)
    assert refused(f"evaluate Y.npz Y.npz {option} v.txt").startswith(message)
