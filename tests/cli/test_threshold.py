"""`xmleval threshold`, and saved rules as --decision: as in Python, matched by label names."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import Run, json_of
from tests.damage import answer
from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import evaluate
from xmleval.io import read_truth
from xmleval.thresholds import Rule, fit

NAMES = ["sport", "art", "law", "war", "sea"]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (
            "--measure F1.micro --unlisted 0.1",
            {"measure": "f1.micro", "conventions": "unlisted=0.1"},
        ),
        (
            "--rule label --measure f1.macro --fbr 0.7 --fallback highest",
            {"rule": "label", "measure": "f1.macro", "fbr": 0.7, "fallback": "highest"},
        ),
        (
            "--rule rank --measure hamming_loss",
            {"rule": "rank", "measure": "hamming_loss"},
        ),
        (
            "--rule row --measure f1.samples --k 2",
            {"rule": "row", "measure": "f1.samples", "k": 2},
        ),
        (
            "--rule top --k 2",
            {"rule": "top", "k": 2},
        ),
    ],
)
def test_threshold_fits_and_applies_the_rules_of_python(
    folder: Path, run: Run, options: str, arguments: dict[str, Any]
) -> None:
    rule = fit(sp.csr_array(Y_TEST), (LABELS, SCORES), **arguments)
    assert run(f"threshold fit Y_test.npz m {options} --output rule.npz") == f"{rule}\n"
    assert Rule.load("rule.npz").decision == rule.decision
    sets = rule.apply((LABELS, SCORES))
    text = run("threshold apply m --rule rule.npz --output sets.npz")
    assert text == f"4 rows x 5 labels, {sets.nnz} predicted\n"
    assert (read_truth("sets.npz") != sets).nnz == 0
    metrics = "--metrics f1.micro,hamming_loss"
    contents = json_of(f"evaluate Y_test.npz m --decision rule.npz {metrics}")
    contents_of_sets = json_of(f"evaluate Y_test.npz --pred sets.npz {metrics}")
    assert contents["values"] == contents_of_sets["values"]
    assert contents["decision"] == str(rule.decision)


def write_named(stem: str, truth: Any, scores: Any, order: list[int]) -> None:
    """Write files whose labels appear in an order."""
    judgements = []
    for label in order:
        rows = np.flatnonzero(truth[:, label])
        judgements += [f"q{row} 0 {NAMES[label]} 1\n" for row in rows]
    Path(f"{stem}.qrels").write_text("".join(judgements))
    entries = []
    for row in range(truth.shape[0]):
        for label in order:
            score = float(scores[row, label])
            entries.append(f"q{row} Q0 {NAMES[label]} 1 {score!r} me\n")
    Path(f"{stem}.run").write_text("".join(entries))


def named_data(seed: int, n_rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = (rng.random((n_rows, 5)) < 0.4).astype(int)
    rows = np.arange(n_rows)
    truth[rows, rows % 3] = 1  # a row without labels is not in a file of them
    noise = rng.random((n_rows, 5))
    return truth, np.round(0.5 * truth + noise + np.arange(5), 3)


@pytest.mark.parametrize("listed", [False, True])
def test_rules_match_labels_by_name(folder: Path, run: Run, listed: bool) -> None:
    truth, scores = named_data(1, 30)
    y_test, test_scores = named_data(2, 20)
    write_named("fit", truth, scores, [0, 1, 2, 3, 4])
    write_named("test", y_test, test_scores, [3, 0, 4, 2, 1])
    Path("names.txt").write_text("\n".join(["more", *NAMES, "others"]) + "\n")
    labels = "--labels names.txt" if listed else ""
    fit_line = "threshold fit fit.qrels fit.run --rule label --measure f1.macro"
    run(f"{fit_line} --output rule.npz {labels}")
    rule = fit(truth, scores, "f1.macro", rule="label")
    saved = Rule.load("rule.npz")
    assert saved.label_names is not None
    thresholds = dict(zip(saved.label_names, saved.decision.numbers.tolist(), strict=True))
    assert [thresholds[name] for name in NAMES] == rule.decision.numbers.tolist()

    options = "--decision rule.npz --metrics f1.micro,hamming_loss"
    report = evaluate(y_test, test_scores, decision=rule, metrics=["f1.micro", "hamming_loss"])
    assert json_of(f"evaluate test.qrels test.run {options}")["values"] == dict(report)
    sets = rule.apply(test_scores).toarray()
    columns = [saved.label_names.index(name) for name in NAMES]
    run("threshold apply test.run --rule rule.npz --output sets.npz")
    np.testing.assert_array_equal(sp.load_npz("sets.npz").toarray()[:, columns], sets)
    if not listed:
        contents = json_of(f"evaluate fit.qrels fit.run {options} --save s")
        assert json_of("merge s") == contents


def test_rules_never_predict_labels_that_fitting_lacked(folder: Path, run: Run) -> None:
    truth, scores = named_data(1, 30)
    y_test, test_scores = named_data(2, 20)
    write_named("fit", truth[:, :3], scores[:, :3], [0, 1, 2])
    write_named("test", y_test, test_scores, [3, 0, 4, 2, 1])
    run("threshold fit fit.qrels fit.run --rule label --measure f1.macro --output rule.npz")
    line = "evaluate test.qrels test.run --metrics f1.micro --decision"
    contents = json_of(f"{line} rule.npz")
    note = "rule.npz: 2 labels did not occur in fitting; they are never predicted"
    assert note in contents["notes"]
    rule = fit(truth[:, :3], scores[:, :3], "f1.macro", rule="label")
    sets = np.zeros((20, 5), bool)
    sets[:, :3] = rule.apply(test_scores[:, :3]).toarray()
    assert contents["values"] == dict(evaluate(y_test, y_pred=sets, metrics=["f1.micro"]))
    run("threshold fit fit.qrels fit.run --measure f1.micro --output one.npz")
    assert run(f"{line} one.npz")  # one threshold is for any labels


@pytest.mark.parametrize("name", ["top5.npz", "threshold5"])
def test_rules_may_have_any_file_name(folder: Path, run: Run, name: str) -> None:
    run(f"threshold fit Y_test.npz m --measure f1.micro --output {name}")
    contents = json_of(f"evaluate Y_test.npz m --metrics f1.micro --decision {name}")
    decision = str(Rule.load(name).decision)
    if name == "threshold5":  # read as a threshold
        decision = name
    assert contents["decision"] == decision


@pytest.mark.parametrize(
    ("file", "memory"),
    [("x.npy", "8"), ("x.npz", "4KB")],  # a row or a few at a time
)
def test_thresholds_may_depend_on_features(
    folder: Path, run: Run, refused: Run, monkeypatch: Any, file: str, memory: str
) -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((50, 5)) < 0.4).astype(int)
    scores = rng.random((50, 5))
    features = rng.random((50, 3))
    features *= features > 0.3
    np.save("x.npy", features)
    sp.save_npz("x.npz", sp.csc_array(features))
    sp.save_npz("t.npz", sp.csr_array(truth))
    sp.save_npz("s.npz", sp.csr_array(scores))
    fit_line = "threshold fit t.npz s.npz --rule row --measure f1.samples"
    run(f"{fit_line} --features {file} --output rule.npz")
    array: Any = features
    if file == "x.npz":
        array = sp.csc_array(features)
    rule = fit(truth, scores, "f1.samples", rule="row", features=array)
    assert Rule.load("rule.npz").decision == rule.decision
    monkeypatch.setattr("xmleval.thresholds.applying.MEMORY", memory)
    apply = "threshold apply s.npz --rule rule.npz --output sets.npz --features"
    run(f"{apply} {file}")
    expected = rule.apply(scores, features=array)
    assert (read_truth("sets.npz") != expected).nnz == 0
    Path("sets.npz").unlink()
    sp.save_npz("more.npz", sp.csr_array(np.ones((51, 3))))
    features[41, 1] = np.nan
    np.save("nan.npy", features)
    assert refused(f"{apply} more.npz") == "more.npz: 51 rows do not match the 50 of s.npz"
    assert refused(f"{apply} nan.npy") == "nan.npy: row 41: nan in column 1 is not a finite number"
    assert not Path("sets.npz").exists()


def test_threshold_and_convert_take_the_fields_of_documents(folder: Path, run: Run) -> None:
    Path("t.csv").write_text("key,topics\n1,a~b\n2,c\n")
    Path("s.csv").write_text("key,guess,sure\n2,c~a,0.9;0.2\n1,b,0.8\n")
    truth_fields = "--label-field topics --instance-field key --separator ~"
    score_fields = (
        "--scores-label-field guess --score-field sure --instance-field key --separator ~"
    )
    fields = f"{truth_fields} {score_fields}"
    lines = [
        f"convert s.csv s.npz --kind scores --like t.csv {fields}",
        f"threshold fit t.csv s.csv --measure f1.micro --output r.npz {fields}",
        f"threshold apply s.csv --rule r.npz --output p.npz {score_fields}",
    ]
    for line in lines:
        assert answer(line.split())[0] == 0
    np.testing.assert_array_equal(sp.load_npz("s.npz").toarray(), [[0, 0.8, 0], [0.2, 0, 0.9]])
    assert sp.load_npz("p.npz").toarray().tolist() == [[0, 0, 1], [0, 1, 0]]


def write_small_files() -> None:
    """Write three rows by number and by name, and rules that are fitted to them."""
    sp.save_npz("Y.npz", sp.csr_array(np.eye(3)))
    np.save("s_indices.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    np.save("s_scores.npy", np.array([[0.9, 0.1], [0.8, 0.3], [0.7, 0.2]]))
    np.save("X.npy", np.ones((3, 2)))
    Path("Y.qrels").write_text("q1 0 art 1\nq2 0 law 1\nq3 0 sea 1\n")
    Path("S.run").write_text(
        "q1 Q0 art 1 0.9 m\nq1 Q0 law 2 0.1 m\nq2 Q0 law 1 0.8 m\nq3 Q0 sea 1 0.7 m\n"
    )
    for name, names in (
        ("names", "art law sea"),
        ("turned", "sea art law"),
        ("more", "x art law sea"),
    ):
        Path(f"{name}.txt").write_text("\n".join(names.split()) + "\n")


FITS = {
    "numbered": "Y.npz s --rule label --measure f1.macro",
    "constant": "Y.npz s --measure f1.micro",
    "features": "Y.npz s --rule row --measure f1.samples --features X.npy",
    "named": "Y.qrels S.run --rule label --measure f1.macro",
}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("s --rule named.npz", "named.npz: has names of labels, but s has none"),
        ("s --rule numbered.npz --labels names.txt", "--labels: is for files with names"),
        ("s --rule named.npz --labels names.txt", "--labels: is for files with names"),
        ("S.run --rule constant.npz", "S.run: has names, but constant.npz has none; give --labels"),
        ("s --rule features.npz", "--features: required by the rule: a threshold for each row"),
        (
            "S.run --rule named.npz --features X.npy",
            "--features: have rows by number, but S.run has names",
        ),
        ("S.run --rule numbered.npz", "rule label(f1.macro)#"),
        ("S.run --rule numbered.npz --labels names.txt", "rule label(f1.macro)#"),
    ],
)
def test_threshold_refuses_rules_and_scores_with_and_without_names(
    folder: Path, run: Run, refused: Run, line: str, message: str
) -> None:
    write_small_files()
    name = line.split()[2].removesuffix(".npz")
    run(f"threshold fit {FITS[name]} --output {name}.npz")
    assert refused(f"threshold apply {line} --output chosen.npz").startswith(message)
    assert not Path("chosen.npz").exists()


def test_threshold_refuses_features_beside_names(folder: Path, refused: Run) -> None:
    write_small_files()
    options = "--rule row --measure f1.samples --features X.npy"
    message = refused(f"threshold fit Y.qrels S.run {options} --output r.npz")
    assert message == "--features: have rows by number, but Y.qrels has names"


@pytest.mark.parametrize("labels", ["", "--labels names.txt", "--labels turned.txt"])
@pytest.mark.parametrize("name", ["named", "constant"])
def test_threshold_writes_sets_by_name_whatever_the_order_of_labels(
    folder: Path, run: Run, name: str, labels: str
) -> None:
    write_small_files()
    if name == "constant" and not labels:
        labels = "--labels names.txt"
    run(f"threshold fit {FITS[name]} --output rule.npz")
    text = run(f"threshold apply S.run --rule rule.npz --output sets.jsonl {labels}")
    assert text == "3 rows x 3 labels, 3 predicted\n"
    sets = [json.loads(line) for line in Path("sets.jsonl").read_text().splitlines()]
    assert {row["instance"]: row["labels"] for row in sets} == {
        "q1": ["art"],
        "q2": ["law"],
        "q3": ["sea"],
    }


def test_threshold_warns_of_labels_that_fitting_lacked(folder: Path) -> None:
    write_small_files()
    line = "threshold fit Y.qrels S.run --rule label --measure f1.macro --output rule.npz"
    assert answer(line.split())[0] == 0
    line = "threshold apply S.run --rule rule.npz --labels more.txt --output chosen.npz"
    code, out, err = answer(line.split())
    assert (code, out) == (0, "3 rows x 4 labels, 3 predicted\n")
    assert err == "xmleval: rule.npz: 1 label did not occur in fitting; it is never predicted\n"
    assert sp.load_npz("chosen.npz").toarray().tolist() == np.eye(3, 4, 1).tolist()


TIED_RUN = """q1 Q0 b 1 0.5 x
q1 Q0 a 2 0.5 x
q1 Q0 c 3 0.25 x
q2 Q0 c 1 0.5 x
q2 Q0 b 2 0.5 x
"""


@pytest.mark.parametrize("listed", [None, "a b c", "c a b", "b c a"])
def test_rules_rank_equal_scores_by_name_in_any_order_of_labels(
    folder: Path, run: Run, listed: str | None
) -> None:
    Path("y.qrels").write_text("q1 0 b 1\nq2 0 c 1\nq2 0 a 1\n")
    Path("s.run").write_text(TIED_RUN)
    run("threshold fit y.qrels s.run --rule rank --measure f1.micro --output rule.npz")
    names = [*map(str, Rule.load("rule.npz").label_names or ())]
    line = "threshold apply s.run --rule rule.npz --output"
    if listed:
        names = listed.split()
        Path("names.txt").write_text("\n".join(names) + "\n")
        line = line.replace("--output", "--labels names.txt --output")
    assert run(f"{line} sets.npz") == f"2 rows x {len(names)} labels, 2 predicted\n"
    sets = sp.load_npz("sets.npz").toarray()
    assert [names[row.argmax()] for row in sets] == ["b", "c"]
    assert answer(f"{line} sets.jsonl".split())[0] == 0
    rows = [json.loads(text) for text in Path("sets.jsonl").read_text().splitlines()]
    assert [[*row.values()] for row in rows] == [["q1", ["b"]], ["q2", ["c"]]]


def test_rules_and_scores_must_both_have_names_of_labels(
    folder: Path, run: Run, refused: Run
) -> None:
    Path("y.qrels").write_text("q1 0 b 1\nq2 0 c 1\nq2 0 a 1\n")
    Path("s.run").write_text(TIED_RUN)
    Path("names.txt").write_text("c\na\nb\n")
    Path("few.txt").write_text("c\na\n")
    sp.save_npz("S.npz", sp.csr_array(np.array([[0.5, 0.5, 0.25], [0, 0.5, 0.75]])))
    Rule.given("top1", 3).save("bare.npz")
    run("threshold fit y.qrels s.run --rule label --measure f1.macro --output named.npz")
    beyond = "label 'b' is not one of the 2 labels of few.txt; give --labels, the names of all"
    for line, message in {
        "s.run --rule bare.npz": "s.run: has names, but bare.npz has none; give --labels",
        "S.npz --rule named.npz": "named.npz: has names of labels, but S.npz has none",
        "S.npz --rule named.npz --labels names.txt": "--labels: is for files with names",
        "S.npz --rule bare.npz --labels names.txt": "--labels: is for files with names",
        "s.run --rule bare.npz --labels few.txt": f"s.run: {beyond}",
    }.items():
        assert refused(f"threshold apply {line} --output chosen.npz").strip() == message
        assert not Path("chosen.npz").exists()
    run("threshold apply s.run --rule bare.npz --labels names.txt --output chosen.npz")
    assert sp.load_npz("chosen.npz").toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    run("threshold apply S.npz --rule bare.npz --output chosen.npz")
    assert sp.load_npz("chosen.npz").toarray().tolist() == [[1, 0, 0], [0, 0, 1]]


def test_apply_notes_labels_that_fitting_lacked_and_never_predicts_them(
    folder: Path, run: Run
) -> None:
    Path("y.qrels").write_text("q1 0 b 1\nq2 0 c 1\nq2 0 a 1\n")
    Path("s.run").write_text(TIED_RUN)
    Path("new.run").write_text("q1 Q0 z 1 9.0 x\nq1 Q0 b 2 0.5 x\nq2 Q0 y 1 9.0 x\n")
    run("threshold fit y.qrels s.run --rule label --measure f1.macro --output rule.npz")
    for names, note in {
        "a b c y z": "2 labels did not occur in fitting; they are never predicted",
        "z a y c b": "2 labels did not occur in fitting; they are never predicted",
    }.items():
        Path("names.txt").write_text("\n".join(names.split()) + "\n")
        line = "threshold apply new.run --rule rule.npz --labels names.txt --output chosen.npz"
        code, output, error = answer(line.split())
        assert (code, output) == (0, "2 rows x 5 labels, 1 predicted\n")
        assert error == f"xmleval: rule.npz: {note}\n"
        rows, columns = sp.load_npz("chosen.npz").nonzero()
        assert [*zip(rows.tolist(), columns.tolist(), strict=True)] == [
            (0, names.split().index("b"))
        ]
    message = "new.run: label 'z' is not one of the 3 labels of rule.npz; give --labels"
    code, output, error = answer(line.replace("--labels names.txt ", "").split())
    assert (code, output) == (2, "")
    assert error.startswith(f"xmleval: {message}")
