"""The laws that a format of a package must obey, on every format of the project that is written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from xmleval.input.formats.known import known_formats
from xmleval.testing import check_format

WRITTEN = {form.name: form for form in known_formats() if form.write is not None}


@pytest.mark.parametrize("name", WRITTEN)
def test_format_obeys_the_laws_that_packages_check(name: str) -> None:
    check_format(WRITTEN[name], examples=5)


def test_a_format_whose_errors_name_no_file_breaks_a_law() -> None:
    npz = WRITTEN["npz"]

    def read_pieces(path: Path, kind: str) -> Any:
        assert npz.pieces is not None
        try:
            return npz.pieces(path, kind)
        except (ValueError, OSError):
            raise ValueError("damaged") from None

    nameless = replace(
        npz,
        name="nameless",
        extensions=(".nameless",),
        pieces=read_pieces,
        rows=None,
        together=None,
        keeps_names=False,
    )
    with pytest.raises(AssertionError, match="the error is not one line that names it"):
        check_format(nameless, examples=3)
