"""Text formats read line by line in plain Python, without xmleval and without checks."""

import gzip
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

Row = dict[int, float]  # labels with their scores


def plain_lines(data: bytes) -> list[bytes]:
    """Lines of a file, decompressed, without line ends."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def plain_labels(line: bytes) -> Row:
    """Labels of a line with features."""
    first = re.split(rb"[ \t]", line)[0]
    if not first or b":" in first:
        return {}
    return {int(label.partition(b".")[0]): 1.0 for label in first.split(b",")}


def plain_scores(line: bytes) -> Row:
    """Labels of a line with their scores."""
    scores = {}
    for token in re.split(rb"[ \t]+", line.strip(b" \t")):
        if token:
            label, score = token.split(b":")
            scores[int(label)] = float(score)
    return scores


def plain_csr(rows: list[Row], n_labels: int | None) -> Any:
    """Rows as a CSR array with rising ids, zeros included."""
    entries = [entry for row in rows for entry in sorted(row.items())]
    ids = [label for label, _ in entries]
    if n_labels is None:
        n_labels = max(ids, default=-1) + 1
    scores = np.array([score for _, score in entries], float)
    ptr = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), n_labels)
    return sp.csr_array((scores, np.array(ids, np.int64), ptr), shape=shape)


def plain_xmc(data: bytes) -> Any:
    """A file of the Extreme Classification Repository."""
    header, *lines = plain_lines(data)
    sizes = [int(size) for size in header.split()]
    assert len(lines) == sizes[0]
    read = plain_labels if len(sizes) == 3 else plain_scores  # truth has a number of features, too
    return plain_csr([read(line) for line in lines], sizes[-1])


def plain_svmlight(data: bytes) -> Any:
    """A multi-label svmlight file."""
    rows: list[Row] = []
    for line in plain_lines(data):
        content = line.split(b"#")[0].strip(b" \t\r")
        if content.startswith(b"qid:"):
            rows.append({})
        elif content:
            rows.append(plain_labels(content))
    return plain_csr(rows, None)
