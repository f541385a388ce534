"""The laws that a format of a package must obey, on every format of the project that is written."""

import pytest

from xmleval.input.formats.known import known_formats
from xmleval.testing import check_format

WRITTEN = {form.name: form for form in known_formats() if form.write is not None}


@pytest.mark.parametrize("name", WRITTEN)
def test_format_obeys_the_laws_that_packages_check(name: str) -> None:
    check_format(WRITTEN[name], examples=5)
