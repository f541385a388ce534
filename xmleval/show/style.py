"""How figures look: colours, markers and lines that differ without colour, too."""

from __future__ import annotations

import unicodedata
from typing import Any

from xmleval.base.errors import printable

LONGEST = 28  # characters of a name in a figure
INK = "#1b1f24"  # of text and axes
RULE = "#d4d7dc"  # of the grid
# Each colour has a contrast of 3 or more on white, and they differ for colour-blind readers (Okabe
# and Ito).
COLOURS = ["#0072b2", "#c44e00", "#007f5f", "#a8458a", "#806a00", "#5b6470"]
MARKERS = "osD^v<>PX*hp"
DASHES = ["-", "--", ":"]
SETTINGS: dict[str, Any] = {
    **dict.fromkeys(
        ["axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"], INK
    ),
    **dict.fromkeys(["axes.axisbelow", "axes.grid"], True),
    **dict.fromkeys(["axes.spines.right", "axes.spines.top", "legend.frameon"], False),
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "xmleval",  # the same file from the same numbers
    "text.parse_math": False,  # names may contain a $
}


def look(n: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the series ``n``."""
    turn, colour = divmod(n, len(COLOURS))
    dashes = DASHES[turn % len(DASHES)]
    return {"color": COLOURS[colour], "marker": MARKERS[n % len(MARKERS)], "linestyle": dashes}


def abridged(name: str, longest: int = LONGEST) -> str:
    """Return a name for a figure: printable, on one line, and cut in its middle if too long."""
    text = "".join(c for c in printable(name) if unicodedata.category(c)[0] != "C")
    if len(text) <= longest:
        return text
    start = text[: (longest - 1) // 2]
    end = text[-(longest // 2) :]
    return f"{start}…{end}"
