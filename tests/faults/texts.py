"""Faults of text files: lines, headers, gzip, documents of labels."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from tests.faults.fault import Fault

# what is said of scores; rows that are fine lie around the fault
SCORES = [
    ("", "the file is empty"),
    ("\n", "line 1: '' is not a header of two or three integers"),
    ("4\n1:1\n", "line 1: '4' is not a header of two or three integers"),
    ("1:0.5 2:0.1\n", "line 1: '1:0.5 2:0.1' is not a header of two or three integers"),
    ("-3 5\n", "line 1: '-3 5' is not a header of two or three integers"),
    ("3 5.0\n", "line 1: '3 5.0' is not a header of two or three integers"),
    ("1" * 2000, f"line 1: '{'1' * 40}...' is not a header of two or three integers"),
    ("9999999999999999 5\n", "line 1: '9999999999999999 5' is not a header of two or three integers"),
    ("\0\0\0\0", r"line 1: '\x00\x00\x00\x00' is not a header of two or three integers"),
    ("3 5\n0:1\n1:1\n", "2 rows where the header promises 3"),
    ("456 5\n" + "0:1\n" * 123, "123 rows where the header promises 456"),
    ("1000000000000 5\n0:1\n", "1 row where the header promises 1000000000000"),
    ("2 5\n0:1\n1:1\n2:1\n", "line 4: more than the 2 rows that the header promises"),
    ("2 5\n0:1\n1:1\n\n", "line 4: more than the 2 rows that the header promises"),
    ("0 5\n\n", "line 2: more than the 0 rows that the header promises"),
    ("3 5\n0:1\n1:1 5:0.5\n2:1\n", "line 3: label id 5 is not in 0..4; ids look one-based"),
    ("3 5\n0:1\n1:1 006:0.5\n2:1\n", "line 3: label id 6 is not in 0..4"),
    (f"1 5\n{'9' * 60}:1\n", f"line 2: label id {'9' * 40} is not in 0..4"),
    ("1 99999999999\n9999999999999999:1\n", "line 2: label id 9999999999999999 is not in 0..99999999998"),
    ("1 5\n9223372036854775808:1\n", "line 2: label id 9223372036854775808 is not in 0..4"),
    ("1 5\n18446744073709551617:1\n", "line 2: label id 18446744073709551617 is not in 0..4"),
    ("3 5\n0:1\n1:1 2:3 1:2\n2:1\n", "line 3: label id 1 occurs twice; ids of a row must be distinct"),
    ("3 5\n0:1\n1:1 1:1\n2:1\n", "line 3: label id 1 occurs twice; ids of a row must be distinct"),
    ("2 5\n0:1\n-1:1\n", "line 3: '-1:1' is not label:score"),
    ("2 5\n0:1 3\n1:1\n", "line 2: '3' is not label:score"),
    ("2 5\n0:1 3: 4\n1:1\n", "line 2: '3:' is not label:score"),
    ("2 5\n0:1 3:\n1:1\n", "line 2: '3:' is not label:score"),
    ("2 5\n0:1\n:1\n", "line 3: ':1' is not label:score"),
    ("2 5\n0:1\n1:2:3\n", "line 3: '1:2:3' is not label:score"),
    ("2 5\n0:1\n1:x\n", "line 3: '1:x' is not label:score"),
    ("2 5\n0:1\n1:1_0\n", "line 3: '1:1_0' is not label:score"),
    ("2 5\n0:1\n1:0x1\n", "line 3: '1:0x1' is not label:score"),
    ("2 5\n0:1\n1:.\n", "line 3: '1:.' is not label:score"),
    ("2 5\n0:1\n1:1e\n", "line 3: '1:1e' is not label:score"),
    ("2 5\n0:1\n1:+-1\n", "line 3: '1:+-1' is not label:score"),
    ("2 5\n0:1\n1:infinit\n", "line 3: '1:infinit' is not label:score"),
    ("2 5\n0:1\n1:1,2:1\n", "line 3: '1:1,2:1' is not label:score"),
    ("2 5\n0:1\r1:1\n2:1\n", r"line 2: '0:1\r1:1' is not label:score"),
    ("2 5\n0:1\r\r\n2:1\n", r"line 2: '0:1\r' is not label:score"),
    ("2 5\n0:nan\r \n2:1\n", r"line 2: '0:nan\r' is not label:score"),
    ("2 5\n0:1\n1:1\0\n", r"line 3: '1:1\x00' is not label:score"),
    ("2 5\n0:1\n1:\u0661\n", "line 3: '1:\u0661' is not label:score"),
    ("2 5\n0:1\n" + "y" * 99 + "\n", f"line 3: '{'y' * 40}...' is not label:score"),
    ("3 5\n0:x\n1:1 5:0.5\n9\n", "line 2: '0:x' is not label:score"),
    ("3 5\n0:1 0:2\n1:x\n9\n", "line 2: label id 0 occurs twice; ids of a row must be distinct"),
    ("3 5\n0:nan\n1:inf 2:x\n9\n", "line 3: '2:x' is not label:score"),
    ("9 5\n0:1\n1:x\n", "line 3: '1:x' is not label:score"),
]
# lines of labels with features, between others
LISTS = [
    ("1 5:1 x 1:1\n", "'x' is not feature:value"),
    ("1;2 1:1\n", "'1;2' is not a label id, a whole number from 0 up"),
    ("1,,2 1:1\n", "'' is not a label id, a whole number from 0 up"),
    ("1, 1:1\n", "'' is not a label id, a whole number from 0 up"),
    (",1 1:1\n", "'' is not a label id, a whole number from 0 up"),
    ("3.5 1:1\n", "'3.5' is not a label id, a whole number from 0 up"),
    ("1e1 1:1\n", "'1e1' is not a label id, a whole number from 0 up"),
    ("-1 1:1\n", "'-1' is not a label id, a whole number from 0 up"),
    ("+1 1:1\n", "'+1' is not a label id, a whole number from 0 up"),
    ("q 1:1\n", "'q' is not a label id, a whole number from 0 up"),
    ("1 2\n", "'2' is not feature:value"),
    ("1 2: 3\n", "'2:' is not feature:value"),
    ("1 2:\n", "'2:' is not feature:value"),
    ("1 :2\n", "':2' is not feature:value"),
    ("1,2:3\n", "'1,2:3' is not feature:value"),
    ("1 2:3,4\n", "'2:3,4' is not feature:value"),
    ("1 2:3 x:4\n", "'x:4' is not feature:value"),
    ("1 2:3\0\n", r"'2:3\x00' is not feature:value"),
    ("1 2:3\r4:5\n", r"'2:3\r4:5' is not feature:value"),
    ("3,4,3 2:3\n", "label id 3 occurs twice; ids of a row must be distinct"),
    ("4,4 2:3\n", "label id 4 occurs twice; ids of a row must be distinct"),
    ("1234567890123456 2:3\n", "label id 1234567890123456 is not in 0..{most}"),
]

HEADERS = [
    ("1 9 5\n5 1:1\n", "line 2: label id 5 is not in 0..4; ids look one-based"),
    ("2 9 5\n4 1:1\n 4 1:1\n", "line 3: '4' is not feature:value"),
    ("1 9 5\n4 qid:1 1:1\n", "line 2: 'qid:1' is not feature:value"),
    ("1 9 5\n4 1:1 # said\n", "line 2: '#' is not feature:value"),
    ("3 9 5\n4 1:1\n", "1 row where the header promises 3"),
    ("1 9 5\n4 1:1\n1\n", "line 3: more than the 1 rows that the header promises"),
    ("1 9 5\n1 1:2:3 4\n2\n", "line 3: more than the 1 rows that the header promises"),
]
SVMLIGHT = [
    ("", "the file is empty"),
    ("# only\n\n", "no row in it"),
    ("1 1:1 qid:3\n", "line 1: 'qid:3' is not feature:value"),
    ("qid:3 qid:4 1:1\n", "line 1: 'qid:3 qid:4 1:1' cannot be read"),
    ("1 2:3 # x\n 1 4 # y\n", "line 2: '4' is not feature:value"),
]
DAMAGES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda held: held[:-9], "the gzip stream is cut short"),
    (lambda held: held[:40], "the gzip stream is cut short"),
    (lambda held: held[:5], "the gzip stream is cut short"),
    (lambda held: held + b"more", "the gzip stream is damaged (Not a gzipped file (b'mo'))"),
    (lambda held: held[:10] + b"\xff" * 30, "the gzip stream is damaged (Error -3..."),
    (lambda held: held[:-8] + b"\1" * 8, "the gzip stream is damaged (CRC check failed..."),
    (lambda held: b"\x1f\x8b" + b"\7" * 30, "the gzip stream is damaged (Unknown compression method)"),
    (lambda held: gzip.compress(b""), "the file is empty"),
    (lambda held: gzip.compress(held), "..."),
]
OTHERS = [
    ("Z.txt", "1000000000000 9\n1:1\n", "1 row where the header promises 1000000000000"),
    ("Z.txt", "1000000000000 9 9\n1 0:1\n", "1 row where the header promises 1000000000000"),
    ("Z.txt", "60 99999999999999999 9\n", "line 1: '60 99999999999999999 9' is not a header"),
    ("Z.svm", "\n# nothing\n", "no row in it"),
    ("Z.arff", "@relation x\n@data\n", "line 2: @data before any @attribute"),
    ("Z.arff", "@relation x\n@attribute a {0,1}\n", "it ends after line 2 without @data"),
    ("Z.arff", "@relation 'x: -C 1000000000000'\n@attribute a {0,1}\n@data\n", "nothing tells"),
    ("Z.arff", "@relation 'x: -C 9'\n@attribute a {0,1}\n@data\n", "'-C 9' in the name"),
]
DOCUMENTS = [
    ('<!DOCTYPE l [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><labels>&b;</labels>', "line 1: a document"),
    ('<!DOCTYPE l SYSTEM "file:///etc/passwd"><labels/>', "line 1: a document type declaration"),
    ('<labels><label name="&b;"/></labels>', "no well-formed XML"),
    ("<labels>", "no well-formed XML"),
    ("<labels/>", "no label in it"),
    ('<labels><label name="nope"/></labels>', "no attribute is called 'nope'"),
    ("", "the file is empty"),
]


def damaged() -> list[Fault]:
    """Damage many rows, packed, of which the first may be read."""
    rows, found = "".join(f"{i % 5} {i}:1\n" for i in range(9000)), []
    for name, held in (("x.txt", f"9000 9 5\n{rows}"), ("x.svm", rows)):
        packed = gzip.compress(held.encode(), mtime=0)
        found += [Fault(name, damage(packed), said, ("truth",)) for damage, said in DAMAGES]
    return found


FAULTS = [
    *(Fault("x.txt", held.encode(), said) for held, said in SCORES),
    Fault(
        "x.txt",
        b"1 2 3\n0 1:1\n",
        "line 1: header '1 2 3' of three integers, as above labels with features",
        ("scores",),
    ),
    *(
        Fault(name, f"{head}{bad}{tail}".encode(), f"line 4: {said.format(most=most)}", ("truth",))
        for bad, said in LISTS
        for name, head, tail, most in (
            ("x.svm", "1 1:1\n\n# 1\n", "9\n8 x\n", 10**15 - 1),
            ("x.txt", "9 9 5\n1 1:1\n1,2\n", "1\n", 4),
        )
    ),
    *(Fault("x.txt", held.encode(), said, ("truth",)) for held, said in HEADERS),
    *(Fault("x.svm", held.encode(), said, ("truth",)) for held, said in SVMLIGHT),
    *(Fault(name, held.encode(), f"{said}...", ("truth",)) for name, held, said in OTHERS),
    *damaged(),
]
