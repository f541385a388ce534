"""Text formats read line by line in plain Python, trusting the files; nothing of xmleval is imported."""

import gzip
import re
from typing import Any

import numpy as np
import scipy.sparse as sp


def plain_lines(held: bytes) -> list[bytes]:
    """Lines of a file, inflated, without ends."""
    if held[:2] == b"\x1f\x8b":
        held = gzip.decompress(held)
    lines = held.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def plain_labels(line: bytes) -> dict[int, float]:
    """Labels of a line with features."""
    first = re.split(rb"[ \t]", line)[0]
    if not first or b":" in first:
        return {}
    return {int(label.partition(b".")[0]): 1.0 for label in first.split(b",")}


def plain_scores(line: bytes) -> dict[int, float]:
    """Labels of a line with their scores."""
    pairs = (token.split(b":") for token in re.split(rb"[ \t]+", line.strip(b" \t")) if token)
    return {int(label): float(score) for label, score in pairs}


def plain_csr(rows: list[dict[int, float]], n_labels: int | None) -> Any:
    """Rows as a CSR array with rising ids, zeros included."""
    if n_labels is None:
        n_labels = max((max(row, default=-1) for row in rows), default=-1) + 1
    ptr = np.cumsum([0, *map(len, rows)])
    ids = [label for row in rows for label in sorted(row)]
    data = [row[label] for row in rows for label in sorted(row)]
    return sp.csr_array((np.array(data, float), np.array(ids, np.int64), ptr), shape=(len(rows), n_labels))


def plain_xmc(held: bytes) -> Any:
    """A file of the Extreme Classification Repository."""
    header, *lines = plain_lines(held)
    sizes = [int(size) for size in header.split()]
    assert len(lines) == sizes[0]
    rows = [plain_labels(line) if len(sizes) == 3 else plain_scores(line) for line in lines]
    return plain_csr(rows, sizes[-1])


def plain_svmlight(held: bytes) -> Any:
    """A multi-label svmlight file."""
    lines = [line.split(b"#")[0].strip(b" \t\r") for line in plain_lines(held)]
    lines = [re.sub(rb"^qid:.*", b"", line) if line.startswith(b"qid:") else line for line in lines if line]
    return plain_csr([plain_labels(line) for line in lines], None)
