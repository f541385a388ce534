"""Archives with any byte flipped."""

from __future__ import annotations

from pathlib import Path

import scipy.sparse as sp

from tests.faults.arrays import DENSE
from xmleval.input.formats.registry import read_truth


def test_every_flipped_byte_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "Y.npz"
    sp.save_npz(path, sp.csr_array(DENSE))
    held = path.read_bytes()
    for position in range(0, len(held), 3):
        changed = bytearray(held)
        changed[position] ^= 0x55
        path.write_bytes(changed)
        message = str(path)
        try:
            read_truth(path)
        except (ValueError, OSError) as error:
            message = str(error)
        assert str(path) in message
