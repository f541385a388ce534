"""What a notebook shows."""

import re
from html import unescape
from typing import Any


def page_of(shown: Any) -> str:
    """Return the HTML by which a notebook shows an object."""
    return str(shown._repr_html_())


def rows_of(shown: Any) -> list[list[str]]:
    """Return the cells of the table in a notebook, which are those of Markdown."""
    rows = re.findall("<tr>(.*)</tr>", unescape(page_of(shown)))
    cells = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in rows]
    lines = [line[2:-2] for line in shown.to_markdown().splitlines() if line.startswith("| ")]
    assert cells == [[cell.strip() for cell in line.split(" | ")] for line in lines]
    return cells
