"""What installed packages offer, by entry points."""

from __future__ import annotations

from typing import Any


def load_installed(group: str, name: str = "") -> dict[str, Any]:
    """Return what packages offer by the entry points of a group, by name: of one name, or of all.

    Raises
    ------
    ValueError
        If two packages offer different things by one name.
    """
    from importlib.metadata import EntryPoint, entry_points  # takes milliseconds

    found = entry_points(group=group, name=name) if name else entry_points(group=group)
    by_name = dict[str, EntryPoint]()
    for entry_point in found:
        first = by_name.setdefault(entry_point.name, entry_point)
        if first.value != entry_point.value:
            both = f"{first.value} and {entry_point.value}"
            raise ValueError(
                f"entry points of {group}: {both} are both called {first.name}; uninstall one"
            )
    return {name: entry_point.load() for name, entry_point in by_name.items()}
