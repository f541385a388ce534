"""Values of measures for each row, as they are kept on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.states.contents import Contents, expect
from xmleval.view.view import View


class KeptRows(NamedTuple):
    """Values of measures for the rows of blocks, in any order of the blocks.

    names : the measures; blocks : number of the first row and values, float64 (names, rows), of each block
    """

    names: tuple[str, ...] = ()
    blocks: tuple[tuple[int, Floats], ...] = ()

    def plus(self, blocks: Sequence[tuple[int, Floats]]) -> KeptRows:
        """Return these values and those of further blocks."""
        return self._replace(blocks=(*self.blocks, *blocks))

    def with_rows(self, view: View, columns: Sequence[Floats]) -> KeptRows:
        """Return these values and those of a view, an array for each measure."""
        return self.plus([(view.block.first_row, np.array(columns, np.float64))] if view.n_rows else [])

    def behind(self, n_rows: int) -> KeptRows:
        """Return the same values behind other rows."""
        return self._replace(blocks=tuple((n_rows + first, values) for first, values in self.blocks))

    def columns(self) -> dict[str, Floats]:
        """Return the values of all rows in their order, by measure."""
        blocks = [values for _, values in sorted(self.blocks, key=lambda block: block[0])]
        columns = np.concatenate([np.empty((len(self.names), 0)), *blocks], axis=1)
        return dict(zip(self.names, columns, strict=True))

    def arrays(self) -> dict[str, Floats]:
        """Return the arrays to save."""
        return {f"kept{number}.{first}": values for number, (first, values) in enumerate(self.blocks)}

    def restored(self, contents: Contents) -> KeptRows:
        """Return what `arrays` returned."""
        if not self.names:
            return self
        of_measures = len(self.names), None
        blocks = [
            (first_row, contents.take(name, *of_measures, dtype=np.float64, low=None))
            for name, first_row in contents.kept()
        ]
        n_kept, n_rows = sum(values.shape[1] for _, values in blocks), contents.n_rows
        expect(n_kept == n_rows, f"{n_kept} rows are kept, not {n_rows}")
        return self.plus(blocks)
