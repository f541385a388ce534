"""Columns of rows on the command line: groups and clusters in reports, comparisons and pages."""

import json
from pathlib import Path

import pytest

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
