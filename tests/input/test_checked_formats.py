"""The laws that a format of a package must obey, on every format of the project that is written."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmleval import evaluate, scan
from xmleval.input.formats.known import installed_formats, known_formats
from xmleval.io import Format
from xmleval.testing import check_format

WRITTEN = {form.name: form for form in known_formats() if form.write is not None}


@pytest.mark.parametrize("name", WRITTEN)
def test_format_obeys_the_laws_that_packages_check(name: str) -> None:
    check_format(WRITTEN[name], examples=5)


def as_npz(pieces: Callable[[Path, str], Any]) -> Format:
    """Return a format that is written as .npz and has its own reader."""
    return replace(
        WRITTEN["npz"],
        name="nameless",
        extensions=(".nameless",),
        pieces=pieces,
        rows=None,
        together=None,
        keeps_names=False,
    )


def read_npz(path: Path, kind: str) -> Any:
    npz = WRITTEN["npz"]
    assert npz.pieces is not None
    return npz.pieces(path, kind)


def read_without_names_of_files(path: Path, kind: str) -> Any:
    try:
        return read_npz(path, kind)
    except (ValueError, OSError):
        raise ValueError("damaged") from None


def read_with_errors_of_python(path: Path, kind: str) -> Any:
    try:
        return read_npz(path, kind)
    except (ValueError, OSError):
        raise KeyError("damaged") from None


def read_nothing(path: Path, kind: str) -> Any:
    raise ValueError(f"{path}: cannot be read")


def read_ones(path: Path, kind: str) -> Any:
    pieces = read_npz(path, kind)
    ones = path.with_name("ones.npz")
    sp.save_npz(ones, sp.csr_array(np.ones((pieces.n_rows, pieces.n_labels))))
    return read_npz(ones, kind)


@pytest.mark.parametrize(
    ("read", "law"),
    [
        (read_without_names_of_files, "the error is not one line that names it: 'damaged'"),
        (read_with_errors_of_python, "truth: cut to 0 bytes, it raises KeyError: 'damaged'"),
        (read_nothing, "truth: what was written is not read: ValueError: "),
        (read_ones, "truth: read from a file {.*}, in memory {.*}"),
    ],
)
def test_a_format_that_breaks_a_law_is_found(read: Callable[[Path, str], Any], law: str) -> None:
    with pytest.raises(AssertionError, match=f"^format nameless: .*{law}"):
        check_format(as_npz(read), examples=3)


def test_a_format_that_is_not_written_cannot_be_checked() -> None:
    check_format(as_npz(read_npz), examples=3)
    with pytest.raises(ValueError, match=r"^format nameless: needs write=, to make the files that"):
        check_format(replace(as_npz(read_npz), write=None))


MODULE = """
from dataclasses import replace
from xmleval.input.formats.arrays import NPZ
FIRST = replace(NPZ, name="first", extensions=(".first",))
SECOND = replace(NPZ, name="first", extensions=(".second",))
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Offer formats by entry points, as an installed package does."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "offered_formats.py").write_text(MODULE)

    def offers(**objects: str) -> None:
        installed = tmp_path / "offering-1.0.dist-info"
        installed.mkdir(exist_ok=True)
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
        lines = [f"{name} = {place}" for name, place in objects.items()]
        text = "\n".join(["[xmleval.formats]", *lines, ""])
        (installed / "entry_points.txt").write_text(text)
        installed_formats.cache_clear()

    yield offers
    monkeypatch.undo()
    installed_formats.cache_clear()


def test_packages_offer_formats(offer: Callable[..., None]) -> None:
    offer(first="offered_formats:FIRST")
    assert "first" in [form.name for form in known_formats()]
    np.savez("S.npz", scores=np.eye(3))
    Path("S.npz").rename("S.first")
    assert evaluate(np.eye(3), "S.first", metrics="p@1")["p@1"] == 1.0
    Path("S.first").rename("S.dat")
    assert evaluate(np.eye(3), scan("S.dat", format="first"), metrics="p@1")["p@1"] == 1.0


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"first": "json:loads"}, "entry point first of xmleval.formats is not a Format"),
        (
            {"own": "xmleval.input.formats.arrays:NPZ"},
            "entry point own of xmleval.formats: xmleval has a format npz; take another name",
        ),
        (
            {"a": "offered_formats:FIRST", "b": "offered_formats:SECOND"},
            "two formats of xmleval.formats are called first; uninstall one of their packages",
        ),
    ],
)
def test_formats_of_packages_that_cannot_be_used_are_refused(
    offer: Callable[..., None], objects: dict[str, str], message: str
) -> None:
    offer(**objects)
    with pytest.raises(ValueError, match=f"^{message}$"):
        known_formats()
