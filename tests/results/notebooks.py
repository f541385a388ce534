"""The HTML of results in notebooks."""

import re
from html import unescape
from typing import Any


def page_of(result: Any) -> str:
    """Return the HTML by which a notebook shows a result."""
    return str(result._repr_html_())


def rows_of(result: Any) -> list[list[str]]:
    """Return the cells of the table in a notebook, after comparing them with Markdown."""
    rows = re.findall("<tr>(.*)</tr>", unescape(page_of(result)))
    cells = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in rows]
    expected = []
    for line in result.to_markdown().splitlines():
        if line.startswith("| "):
            expected.append([cell.strip() for cell in line[2:-2].split(" | ")])
    assert cells == expected
    return cells
