"""What programs and libraries produce is read as it is: a row for each, with its value."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import values_of
from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import evaluate

EXPECTED = {"p@1": 0.5, "r@2": 0.625}  # by hand, from the four rows below
HITS = [
    [(int(label), float(score)) for label, score in zip(*row, strict=True) if label >= 0]
    for row in zip(LABELS, SCORES, strict=True)
]  # (0, 0.9), (3, 0.5), (2, 0.4); (2, 0.8), (1, 0.7); ..
TRUE = [np.flatnonzero(row).tolist() for row in Y_TEST]  # 0 2; 1; 3 4; 2
NAMED = [[f"t{label}" for label in row] for row in TRUE]
NAMED_HITS = [[(f"t{label}", score) for label, score in row] for row in HITS]
QRELS = {f"q{i}": dict.fromkeys(row, 1) for i, row in enumerate(NAMED)}
RUN = {f"q{i}": dict(row) for i, row in enumerate(NAMED_HITS)}
Y = sp.csr_array(Y_TEST)
FULL = np.where(LABELS < 0, 4, LABELS), np.nan_to_num(SCORES, nan=0.1)  # without an empty slot


def unsorted_csr() -> Any:
    """CSR as trees and rankers write it: best first in each row."""
    ptr = np.cumsum([0, *map(len, HITS)])
    labels, scores = zip(*(pair for row in HITS for pair in row), strict=True)
    return sp.csr_array((scores, labels, ptr), shape=Y.shape)


def write(name: str, rows: Any, line: Callable[[Any], str], first: str = "") -> None:
    Path(name).write_text(first + "".join(f"{line(row)}\n" for row in rows))


def words(form: str) -> Callable[[Any], str]:
    return lambda row: " ".join(form.format(*one) if isinstance(one, tuple) else str(one) for one in row)


def pecos() -> str:
    sp.save_npz("P.npz", unsorted_csr())
    return "Y.npz P.npz"


def repository() -> str:
    write("tst.txt", TRUE, lambda row: f"{','.join(map(str, row))} 0:1.0", "4 1 5\n")
    write("score.txt", HITS, words("{}:{}"), "4 5\n")
    return "tst.txt score.txt"


def filter_file() -> str:
    """Pairs of a row and a label that a product's own entry takes; here of what the truth has besides."""
    more = Y_TEST.copy()
    more[1, 4] = 1
    sp.save_npz("more.npz", sp.csr_array(more))
    write("filter_labels_test.txt", [(1, 4)], words("{}"))
    return f"more.npz {pecos().split()[1]} --exclude filter_labels_test.txt"


def attention_xml(names: Any = None) -> str:
    labels = FULL[0] if names is None else np.array([f"t{label}" for label in range(5)])[FULL[0]]
    np.save("AttentionXML-labels.npy", labels)
    np.save("AttentionXML-scores.npy", FULL[1])
    write("labels.jsonl", NAMED, lambda row: json.dumps({"labels": row}))
    return f"{'Y.npz' if names is None else 'labels.jsonl'} AttentionXML"


def calibration() -> str:
    np.savez("result.npz", scores=SCORES, prediction_ids=LABELS, labels=np.argwhere(Y_TEST))
    return "result.npz result.npz"


def ngame() -> str:
    write("test_labels.txt", TRUE, words("{}"))
    return f"test_labels.txt {pecos().split()[1]}"


def beir() -> str:
    entries = [(row, label) for row, labels in QRELS.items() for label in labels]
    write("test.tsv", entries, lambda pair: f"{pair[0]}\t{pair[1]}\t1", "query-id\tcorpus-id\tscore\n")
    Path("run.json").write_text(json.dumps(RUN))
    return "test.tsv run.json"


def mteb() -> str:
    Path("qrels.json").write_text(json.dumps(QRELS))
    return f"qrels.json {beir().split()[1]}"


def csv_of_tags() -> str:
    rows = zip(NAMED, NAMED_HITS, strict=True)
    write("docs.csv", rows, lambda row: f"{';'.join(row[0])},{';'.join(x for x, _ in row[1])}", "tags,pred\n")
    return "docs.csv --true-field tags --pred-field pred --ranked"


def json_lines() -> str:
    rows = zip(NAMED, NAMED_HITS, strict=True)
    write("docs.jsonl", rows, lambda row: json.dumps({"labels": row[0], "predicted": dict(row[1])}))
    return "docs.jsonl"


def lib_multi_label() -> str:
    write("labels.jsonl", NAMED, lambda row: json.dumps({"labels": row}))
    write("predictions.txt", NAMED_HITS, words("{}:{}"))
    return "labels.jsonl predictions.txt"


def fast_text() -> str:
    write("test.txt", NAMED, lambda row: " ".join(f"__label__{name}" for name in row) + " some text")
    write("pred.txt", NAMED_HITS, words("__label__{} {}"))
    return "test.txt pred.txt"


def torch_of(make: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """Return what makes an object from the library and the scores of all labels."""
    return lambda: (Y, make(pytest.importorskip("torch"), unsorted_csr().toarray()))


def faiss_search() -> Any:
    """The nearest of five points by their squared distance."""
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatL2(5)
    index.add(np.eye(5, dtype=np.float32))
    return Y, index.search(unsorted_csr().toarray().astype(np.float32), 3)[::-1]


# what produced it, its shape, and a command line behind `evaluate`, or a truth and predictions with options
PRODUCERS: list[tuple[str, str, Callable[[], Any]]] = [
    ("PECOS, XR-Transformer, NGAME, DEXML", "CSR npz, unsorted ids", pecos),
    ("XMC repository, Renee, ZestXML", "text with header", repository),
    ("DEXML, Renee", "file of row and label", filter_file),
    ("DEXML, Renee", "pairs of row and label", lambda: (Y_TEST, unsorted_csr(), {"exclude": [(1, 4)]})),
    ("napkinXC", "lists of (id, score)", lambda: (TRUE, HITS, {"n_labels": 5})),
    ("pyxclib", "dict of indices and scores", lambda: (Y, {"indices": LABELS, "scores": SCORES})),
    ("torch.topk", "pair", torch_of(lambda torch, scores: torch.topk(torch.tensor(scores), 3))),
    ("torch.topk", "list", torch_of(lambda torch, scores: [*torch.topk(torch.tensor(scores), 3)])),
    ("FAISS inner product", "(D, I)", lambda: (Y, (SCORES, LABELS))),
    ("FAISS L2", "search", lambda: (*faiss_search(), {"higher_is_better": False})),
    ("torch", "CUDA", torch_of(lambda torch, scores: torch.tensor(scores).cuda())),
    (
        "sentence-transformers semantic_search",
        "lists of corpus_id and score",
        lambda: (Y, [[{"corpus_id": label, "score": s} for label, s in row] for row in HITS]),
    ),
    ("BEIR, MTEB, ranx", "dict of dict", lambda: (QRELS, RUN)),
    ("BEIR", "3-column qrels tsv", beir),
    ("MTEB", "JSON", mteb),
    ("tags", "CSV", csv_of_tags),
    ("tags", "JSON Lines", json_lines),
    ("tags", "lists of strings", lambda: (NAMED, [[name for name, _ in row] for row in NAMED_HITS])),
    ("LightXML, AttentionXML", "npy of ids", attention_xml),
    ("LightXML, AttentionXML", "npy of strings", lambda: attention_xml(names=True)),
    ("xmc-topk-calibration", "npz of prediction_ids, labels", calibration),
    ("NGAME", "ids a line, no header", ngame),
    ("LibMultiLabel", "label:score lines", lib_multi_label),
    ("fastText", "__label__x", fast_text),
]


@pytest.mark.parametrize(
    ("source", "shape", "make"), PRODUCERS, ids=lambda part: part if isinstance(part, str) else ""
)
def test_what_a_program_produces_is_read(
    source: str, shape: str, make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sp.save_npz("Y.npz", Y)
    if shape == "CUDA" and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("no device")
    output = make()
    if isinstance(output, str):
        actual = values_of([*EXPECTED], output)
    else:
        truth, scores, *options = output
        actual = dict(evaluate(truth, scores, metrics=[*EXPECTED], **(options[0] if options else {})))
    assert actual == pytest.approx(EXPECTED)
