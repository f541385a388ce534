"""What programs and libraries produce is read as it is: a row for each, with its value."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.examples import LABELS, SCORES, Y_TEST
from tests.input.forms import backwards, best_first, torch_of
from tests.made_files import (
    as_list,
    beir_qrels,
    ids,
    json_run,
    npy_labels,
    npz,
    rows_of,
    svmlight,
    xmc,
)
from xmleval import evaluate

EXPECTED = {"p@1": 0.5, "r@2": 0.625}  # by hand
Y = sp.csr_array(Y_TEST)
S = sp.csr_array(
    [[0.9, 0, 0.4, 0.5, 0], [0, 0.7, 0.8, 0, 0.1], [0.1, 0, 0, 0.2, 0.7], [0.6, 0.3, 0.2, 0, 0]]
)
# with a label of row 1 to be excluded
MORE = sp.csr_array(np.maximum(Y_TEST, np.eye(5)[[0, 4, 3, 2]]))
TRUE = rows_of(Y)
HITS = [best_first(row) for row in S.toarray()]
TAGS = [[f"t{label}" for label in row] for row in TRUE]
TAG_HITS = [[(f"t{label}", score) for label, score in row] for row in HITS]
QRELS = {f"q{i}": dict.fromkeys(row, 1) for i, row in enumerate(TAGS)}
RUN = {f"q{i}": dict(row) for i, row in enumerate(TAG_HITS)}


class Qrel(NamedTuple):
    """A judgement of ir_measures."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """An entry of a run of ir_measures."""

    query_id: str
    doc_id: str
    score: float


JUDGED = [Qrel(key, label, 1) for key, row in QRELS.items() for label in row]
JUDGED += [Qrel(key, "t9", 0) for key in QRELS]
SCORED = [ScoredDoc(key, label, score) for key, row in RUN.items() for label, score in row.items()]


def results(document: str) -> list[dict[str, Any]]:
    """Return a record for each query with the list of its documents."""
    return [
        {"query_id": key, "results": [{document: name, "score": row[name]} for name in row]}
        for key, row in RUN.items()
    ]


def lines_of_results() -> str:
    qrels = (f"{key} 0 {label} 1" for key, row in QRELS.items() for label in row)
    return f"{write('Y.qrels', qrels)} {write('S.jsonl', objects(results('id')))}"


def write(name: str, lines: Iterable[str]) -> str:
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


def pairs(form: str) -> list[str]:
    return [" ".join(form.format(*pair) for pair in row) for row in TAG_HITS]


def objects(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [json.dumps(row) for row in rows]


def unsorted_npz() -> str:
    sp.save_npz("P.npz", backwards(S.toarray()))
    return "P.npz"


def npy_of_names() -> str:
    labels, scores = as_list(S)
    np.save("A-labels.npy", np.array([f"t{label}" for label in range(5)])[labels])
    np.save("A-scores.npy", scores)
    return f"{write('Y.jsonl', objects({'labels': row} for row in TAGS))} A"


def npz_of_study() -> str:
    np.savez("study.npz", scores=SCORES, prediction_ids=LABELS, labels=np.argwhere(Y_TEST))
    return "study.npz study.npz"


def csv_of_tags() -> str:
    rows = zip(TAGS, TAG_HITS, strict=True)
    lines = (f"{';'.join(tags)},{';'.join(name for name, _ in hits)}" for tags, hits in rows)
    return f"{write('tags.csv', ['tags,pred', *lines])} tags.csv --pred tags.csv --separator ;"


def json_lines() -> str:
    rows = zip(TAGS, TAG_HITS, strict=True)
    return write(
        "tags.jsonl", objects({"labels": tags, "predicted": dict(hits)} for tags, hits in rows)
    )


def fast_text() -> str:
    lines = (" ".join(f"__label__{name}" for name in row) + " a text" for row in TAGS)
    return f"{write('test.lines', lines)} {write('pred.lines', pairs('__label__{} {}'))}"


def beir_folder() -> str:
    for name in ("corpus", "queries"):
        write(f"{name}.jsonl", objects([{"_id": "0", "text": "t"}]))
    Path("qrels").mkdir()
    beir_qrels(Path("Y"), Y).rename("qrels/test.tsv")
    return "."


def faiss_search() -> Any:
    """The nearest of five points by their squared distance."""
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatL2(5)
    index.add(np.eye(5, dtype=np.float32))
    return index.search(S.toarray().astype(np.float32), 3)[::-1]


# a program, the shape of its files, and what writes them and returns the rest of a command line
FILES: list[tuple[str, str, Callable[[], str]]] = [
    ("PECOS, XR-Transformer", "CSR npz, unsorted", lambda: f"{npz(Path('Y'), Y)} {unsorted_npz()}"),
    (
        "XMC repository, Renee, ZestXML",
        "text with header",
        lambda: f"{svmlight(Path('Y'), Y, '.txt', ('4 1 5',))} {xmc(Path('S'), S, 'scores')}",
    ),
    (
        "DEXML, Renee",
        "file of rows and labels to be filtered",
        lambda: f"{npz(Path('Y'), MORE)} {unsorted_npz()} --exclude {write('filter.txt', ['1 4'])}",
    ),
    (
        "LightXML, AttentionXML",
        "npy of ids",
        lambda: f"{npz(Path('Y'), Y)} {str(npy_labels(Path('A'), S)).removesuffix('-labels.npy')}",
    ),
    ("LightXML, AttentionXML", "npy of strings", npy_of_names),
    ("xmc-topk-calibration", "npz of prediction_ids and labels", npz_of_study),
    ("NGAME", "ids a line, no header", lambda: f"{ids(Path('Y'), Y)} {unsorted_npz()}"),
    (
        "BEIR",
        "three columns, and JSON",
        lambda: f"{beir_qrels(Path('Y'), Y)} {json_run(Path('S'), S)}",
    ),
    (
        "BEIR",
        "folder of a data set",
        lambda: f"{beir_folder()} {json_run(Path('S'), S)}",
    ),
    (
        "MTEB",
        "JSON",
        lambda: f"{write('Y.json', objects([QRELS]))} {write('S.json', objects([RUN]))}",
    ),
    ("search engines", "records of results in JSON Lines", lines_of_results),
    ("tags", "CSV", csv_of_tags),
    ("tags", "JSON Lines", json_lines),
    (
        "LibMultiLabel",
        "label:score lines",
        lambda: (
            f"{write('Y.jsonl', objects({'labels': row} for row in TAGS))} "
            f"{write('p.lines', pairs('{}:{}'))}"
        ),
    ),
    ("fastText", "__label__x", fast_text),
]
# a library, the shape of its objects, a truth, what makes predictions, and options
OBJECTS: list[tuple[str, str, Any, Callable[[], Any], dict[str, Any]]] = [
    (
        "DEXML, Renee",
        "pairs to be filtered",
        MORE,
        lambda: backwards(S.toarray()),
        {"exclude": [(1, 4)]},
    ),
    ("napkinXC", "lists of (id, score)", TRUE, lambda: HITS, {"n_labels": 5}),
    ("pyxclib", "dict of arrays", Y, lambda: {"indices": LABELS, "scores": SCORES}, {}),
    (
        "torch.topk",
        "named pair",
        Y,
        lambda: torch_of(lambda torch, scores: torch.topk(torch.tensor(scores), 3))(S.toarray()),
        {},
    ),
    ("FAISS inner product", "(D, I)", Y, lambda: (SCORES, LABELS), {}),
    ("FAISS L2", "search", Y, faiss_search, {"higher_is_better": False}),
    (
        "sentence-transformers",
        "semantic_search",
        Y,
        lambda: [[{"corpus_id": label, "score": score} for label, score in row] for row in HITS],
        {},
    ),
    ("BEIR, MTEB, ranx", "dict of dict", QRELS, lambda: RUN, {}),
    ("ir_measures, ir_datasets", "lists of named tuples", JUDGED, lambda: SCORED, {}),
    ("ir_measures, ir_datasets", "iterators", JUDGED, lambda: iter(SCORED), {}),
    ("search engines", "records of results", QRELS, lambda: results("doc_id"), {}),
    ("search engines", "records of results", JUDGED, lambda: results("id"), {}),
    ("tags", "lists of strings", TAGS, lambda: [[name for name, _ in row] for row in TAG_HITS], {}),
]


@pytest.mark.parametrize(("program", "shape", "make"), FILES)
def test_files_of_a_program_are_read(program: str, shape: str, make: Callable[[], str]) -> None:
    assert values_of([*EXPECTED], make()) == pytest.approx(EXPECTED)


@pytest.mark.parametrize(("library", "shape", "truth", "make", "options"), OBJECTS)
def test_objects_of_a_library_are_read(
    library: str, shape: str, truth: Any, make: Callable[[], Any], options: dict[str, Any]
) -> None:
    assert dict(evaluate(truth, make(), metrics=[*EXPECTED], **options)) == pytest.approx(EXPECTED)
