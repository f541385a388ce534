"""Values of measures for each row, kept on request (``per_row``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.states.contents import Contents, expect
from xmleval.view.view import View


class KeptRows(NamedTuple):
    """Values of measures for the rows of blocks.

    names : the measures
    blocks : number of the first row and values, float64 (names, rows), of each block, in any order
    """

    names: tuple[str, ...] = ()
    blocks: tuple[tuple[int, Floats], ...] = ()

    def plus(self, blocks: Sequence[tuple[int, Floats]]) -> KeptRows:
        """Return these values and those of further blocks."""
        return self._replace(blocks=(*self.blocks, *blocks))

    def with_rows(self, view: View, columns: Sequence[Floats]) -> KeptRows:
        """Return these values and those of a view, an array for each measure."""
        if not view.n_rows:
            return self
        return self.plus([(view.block.first_row, np.array(columns, np.float64))])

    def behind(self, n_rows: int) -> KeptRows:
        """Return the same values with ``n_rows`` other rows before them."""
        blocks = tuple((n_rows + first_row, values) for first_row, values in self.blocks)
        return self._replace(blocks=blocks)

    def columns(self) -> dict[str, Floats]:
        """Return the values of all rows in their order, by measure."""
        blocks = [values for _, values in sorted(self.blocks, key=lambda block: block[0])]
        columns = np.concatenate([np.empty((len(self.names), 0)), *blocks], axis=1)
        return dict(zip(self.names, columns, strict=True))

    def arrays(self) -> dict[str, Floats]:
        """Return the arrays to save."""
        arrays = {}
        for number, (first_row, values) in enumerate(self.blocks):
            arrays[f"kept{number}.{first_row}"] = values
        return arrays

    def restored(self, contents: Contents) -> KeptRows:
        """Return the given values and the values that `arrays` returned."""
        if not self.names:
            return self
        blocks = list[tuple[int, Floats]]()
        for name, first_row in contents.kept():
            values = contents.take(name, len(self.names), None, dtype=np.float64, low=None)
            blocks.append((first_row, values))
        n_kept = sum(values.shape[1] for _, values in blocks)
        n_rows = contents.n_rows
        expect(n_kept == n_rows, f"{n_kept} rows are kept, not {n_rows}")
        return self.plus(blocks)
