"""Sparse scores whose entries stand in an order that someone wrote."""

from __future__ import annotations

import scipy.sparse


class WrittenRows(scipy.sparse.csr_array):  # type: ignore[misc]
    """A CSR array whose entries stand in the order of a file, a dict or a frame, where users see it.

    How scores run in that order tells distances. Other arrays have whatever order they were made in.
    """

    is_written = True
