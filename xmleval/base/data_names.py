"""Names of the data by label or by row that measures of users declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LABEL_DATA = "label_data"
ROW_DATA = "row_data"


class DataArgument(str):
    """The data of a name as messages call them: ``row_data['age']``.

    argument : "label_data" or "row_data"
    name : the name of the data
    """

    argument: str
    name: str

    def __new__(cls, argument: str, name: str) -> DataArgument:
        """Join the argument and the name."""
        text = super().__new__(cls, f"{argument}[{name!r}]")
        text.argument = argument
        text.name = name
        return text

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return self.argument, self.name


def row_data_among(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data by row, by name, among values by argument."""
    return {
        argument.name: value
        for argument, value in values.items()
        if isinstance(argument, DataArgument)
    }
