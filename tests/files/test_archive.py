"""Archives: what goes wrong while they are read or written comes out as it is."""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import pytest

from xmleval.files.archive import read_header, write_archive


def saved() -> io.BytesIO:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    file.seek(0)
    return file


def test_what_is_raised_while_a_member_is_open_is_not_hidden() -> None:
    opened = zipfile.ZipFile.open

    def interrupted(self: zipfile.ZipFile, *arguments: Any, **options: Any) -> None:
        members.append(opened(self, *arguments, **options))
        raise SystemExit(3)

    members: list[object] = []
    with mock.patch.object(zipfile.ZipFile, "open", interrupted), pytest.raises(SystemExit):
        write_archive(io.BytesIO(), {"values": np.zeros(3)})


def test_headers_read_in_threads_leave_the_filters_of_warnings() -> None:
    interval = sys.getswitchinterval()
    with warnings.catch_warnings():
        before = list(warnings.filters)
        sys.setswitchinterval(1e-6)  # so that threads take turns within a header
        try:
            with ThreadPoolExecutor(4) as pool:
                shapes = set(pool.map(lambda _: read_header(saved())[0], range(400)))
        finally:
            sys.setswitchinterval(interval)
        assert shapes == {(3,)}
        assert list(warnings.filters) == before
