"""Faults of text files: headers, lines, gzip."""

import gzip
from collections.abc import Callable

from tests.faults.fault import BOTH, Fault

HEADERS = ["", "4", "-3 5", "3 5.0", "9999999999999999 5", "60 99999999999999999 9", "\0"]
NO_PAIRS = [
    "-1:1",
    "3",
    "3:",
    ":1",
    "1:2:3",
    "1:1_0",
    "1:0x1",
    "1:.",
    "1:1e",
    "1:+-1",
    "1:\u0661",
    "\0",
]
NO_LABELS = ["1;2", "3.5", "-1", "q"]
NO_FEATURES = ["2", "2:", ":2", "2:3,4", "x:4"]
TWICE = "occurs twice; ids of a row must be distinct"
MORE = "more than the {} rows that the header promises"
FEWER = "1 row where the header promises {}"
# scores, rows that are fine around the fault
SCORES = [
    *(
        (f"{line}\n1:1\n", f"line 1: {line!r} is not a header of two or three integers")
        for line in HEADERS
    ),
    ("1" * 2000, f"line 1: '{'1' * 40}...' is not a header of two or three integers"),
    *(
        (f"3 5\n0:1\n2:1 {pair} 4:1\n2:1\n", f"line 3: {pair!r} is not label:score")
        for pair in NO_PAIRS
    ),
    ("2 5\n0:1\r1:1\n2:1\n", r"line 2: '0:1\r1:1' is not label:score"),
    ("3 5\n0:x\n1:1 5:0.5\n9\n", "line 2: '0:x' is not label:score"),
    ("3 5\n0:1\n1:1 2:3 1:2\n2:1\n", f"line 3: label id 1 {TWICE}"),
    (
        "3 5\n0:1\n1:1 5:0.5\n2:1\n",
        "line 3: label id 5 is not in 0..4; if ids count from 1, subtract 1",
    ),
    ("3 5\n0:1\n1:1 6:0.5\n2:1\n", "line 3: label id 6 is not in 0..4"),
    (
        "3 5\n0:1\n1:1 006:0.5\n2:1\n",
        "line 3: '006' has a leading zero, as codes have; "
        "ids are whole numbers; give names as NAME.lines or .csv",
    ),
    ("1 5\n18446744073709551617:1\n", "line 2: label id 18446744073709551617 is not in 0..4"),
    ("3 5\n0:1\n1:1\n", "2 rows where the header promises 3"),
    ("1000000000000 5\n0:1\n", FEWER.format(10**12)),
    ("2 5\n0:1\n1:1\n2:1\n", f"line 4: {MORE.format(2)}"),
    ("2 5\n0:1\n1:1\n\n", f"line 4: {MORE.format(2)}"),
]
# lines of labels with features, between others
LISTS = [
    *(
        (f"{label} 1:1\n", f"'{label}' is not a label id, a whole number from 0 up")
        for label in NO_LABELS
    ),
    *((f"{ids} 1:1\n", "'' is not a label id, a whole number from 0 up") for ids in ("1,,2", "1,")),
    *((f"1 2:3 {pair}\n", f"'{pair}' is not feature:value") for pair in NO_FEATURES),
    ("1 2:3\r4:5\n", r"'2:3\r4:5' is not feature:value"),
    ("3,4,3 2:3\n", f"label id 3 {TWICE}"),
    ("1234567890123456 2:3\n", "label id 1234567890123456 is not in 0..{most}"),
]
TRUTHS = [
    (
        "x.txt",
        "1 9 5\n5 1:1\n",
        "line 2: label id 5 is not in 0..4; if ids count from 1, subtract 1",
    ),
    ("x.txt", "1 9 5\n4 qid:1 1:1\n", "line 2: 'qid:1' is not feature:value"),
    ("x.txt", "3 9 5\n4 1:1\n", FEWER.format(3)),
    ("x.txt", "1 9 5\n1 1:2:3 4\n2\n", f"line 3: {MORE.format(1)}"),
    ("x.svm", "# only\n\n", "it has no rows"),
    ("x.svm", "1 1:1 qid:3\n", "line 1: 'qid:3' is not feature:value"),
    ("x.svm", "qid:3 qid:4 1:1\n", "line 1: 'qid:4' is not feature:value"),
    (
        "x.arff",
        "@relation x\n@attribute a {0,1}\n@attribute b {0,1}\n",
        "it ends after line 3 without @data",
    ),
    (
        "x.arff",
        "@relation 'x: -C 1'\n@attribute a {0,1}\n@data\n0\n2\n",
        "line 5: value '2' of label 'a'...",
    ),
]
PACKED: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: data[:-9], "the gzip stream is damaged, or cut short (Compressed..."),
    (
        lambda data: data + b"more",
        "the gzip stream is damaged, or cut short (Not a gzipped file (b'mo'))",
    ),
    (
        lambda data: data[:10] + b"\xff" * 30,
        "the gzip stream is damaged, or cut short (Error -3...",
    ),
    (
        lambda data: data[:-8] + b"\1" * 8,
        "the gzip stream is damaged, or cut short (CRC check failed...",
    ),
    (lambda data: b"\x1f\x8b" + b"\7" * 30, "the gzip stream is damaged, or cut short (Unknown..."),
    (lambda data: gzip.compress(b""), "the file is empty"),
]
ROWS = "".join(f"{i % 5} {i}:1\n" for i in range(9000))  # of which the first may be read
AROUND = (
    ("x.svm", "1 1:1\n\n# 1\n", "9\n8 x\n", 10**15 - 1),
    ("x.txt", "9 9 5\n1 1:1\n1,2\n", "1\n", 4),
)
FAULTS = [
    *(Fault("x.txt", text.encode(), message, BOTH) for text, message in SCORES),
    Fault(
        "x.txt",
        b"1 2 3\n0 1:1\n",
        "line 1: header '1 2 3' has three integers, as in files of labels...",
        ("scores",),
    ),
    *(
        Fault(
            name, f"{head}{line}{tail}".encode(), f"line 4: {message.format(most=most)}", ("truth",)
        )
        for line, message in LISTS
        for name, head, tail, most in AROUND
    ),
    *(Fault(name, text.encode(), message, ("truth",)) for name, text, message in TRUTHS),
    *(
        Fault(name, damage(gzip.compress(f"{head}{ROWS}".encode(), mtime=0)), message, ("truth",))
        for name, head in (("x.txt", "9000 9 5\n"), ("x.svm", ""))
        for damage, message in PACKED
    ),
]
