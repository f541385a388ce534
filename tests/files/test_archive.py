"""Archives: what goes wrong while they are read or written comes out as it is."""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from xmleval.files.archive import read_header, write_archive


def test_what_is_raised_while_a_member_is_open_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, members = zipfile.ZipFile.open, []

    def interrupted(self: zipfile.ZipFile, *arguments: Any, **more: Any) -> Any:
        members.append(opened(self, *arguments, **more))
        raise SystemExit(3)

    monkeypatch.setattr(zipfile.ZipFile, "open", interrupted)
    with pytest.raises(SystemExit):
        write_archive(io.BytesIO(), {"values": np.zeros(3)})


def test_a_lack_of_memory_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    file.seek(0)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(npy, "read_array_header_1_0", fail)
    with pytest.raises(MemoryError):
        read_header(file)


def test_headers_read_in_threads_leave_the_filters_of_warnings() -> None:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    interval = sys.getswitchinterval()
    with warnings.catch_warnings():
        before = list(warnings.filters)
        sys.setswitchinterval(1e-6)  # so that threads take turns within a header
        try:
            with ThreadPoolExecutor(4) as pool:
                found = set(pool.map(lambda _: read_header(io.BytesIO(file.getvalue()))[0], range(400)))
        finally:
            sys.setswitchinterval(interval)
        assert found == {(3,)}
        assert list(warnings.filters) == before
