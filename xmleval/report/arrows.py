"""Arrows that say which values of a measure are better, by its direction."""

from __future__ import annotations

ARROWS = {"up": "↑", "down": "↓", "none": ""}
LATEX_ARROWS = {"up": r" $\uparrow$", "down": r" $\downarrow$", "none": ""}
