"""Lines whose options do not go together, mistaken files, and what prints no result."""

import io
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.commands import Run, json_of
from tests.damage import answer
from tests.examples import Y_TEST
from tests.results.models import MODELS, TRUTH
from xmleval import evaluate
from xmleval.cli import COMMANDS

pytestmark = pytest.mark.usefixtures("folder")
LINE = "evaluate Y_test.npz m_indices.npy --metrics p@1"
TABLE = "id,tags,predicted\na,x;y,y\nb,y,x\n"

REFUSED = {
    "bench Y_test.npz": "SCORES are missing; see `xmleval bench --help`",
    "bench Y_test.npz m --rows 5": (
        "--rows, --labels and --k are for generated data; see `xmleval bench --help`"
    ),
    "bench Y_test.npz m --labels 50": (
        "--rows, --labels and --k are for generated data; see `xmleval bench --help`"
    ),
    "bench --labels 14 --k 10": "--labels must exceed --k by 5; see `xmleval bench --help`",
    "convert t.csv o.npz --kind truth --scores-label-field tags": (
        "--scores-label-field: is for scores, but IN has relevant labels"
    ),
    "convert t.csv o.npz --kind scores --label-field tags": (
        "--label-field: is for relevant labels, but IN has scores"
    ),
    "evaluate t.csv --label-field tags --scores-label-field predicted": (
        "--scores-label-field: is for SCORES or --pred; "
        "give the file of TRUTH as SCORES, too, for its predictions"
    ),
    "evaluate Y_test.npz m_indices.npy m_indices.npy": (
        "m_indices.npy: given twice; expected different SCORES"
    ),
    "evaluate Y_test.npz scores.npz m_indices.npy scores.npz": (
        "scores.npz: given twice; expected different SCORES"
    ),
    "evaluate Y_test.npz m_indices.npy m_scores.npy": (
        "m_scores.npy: m_indices.npy stands for the same list; give one of them"
    ),
    f"{LINE} --workers 2 --scheduler localhost:1": (
        "--workers is given together with --scheduler; choose one; see `xmleval evaluate --help`"
    ),
    f"{LINE} --output s3://bucket/r.json": (
        "s3://bucket/r.json: is not on this machine; expected a local file for the output"
    ),
    f"{LINE} --label-groups deciles": (
        "--label-groups: 'deciles' are numbers of training rows; "
        "give --train, or the group of each of 5 labels"
    ),
    "rank a.json --truth a=Y_test.npz --model m=m": (
        "a.json is given together with --truth; choose one; see `xmleval rank --help`"
    ),
    "evalute Y_test.npz": (
        "No such command 'evalute'; did you mean evaluate?; see `xmleval --help`"
    ),
    "xyzzy": "No such command 'xyzzy'; see `xmleval --help`",
    "--xyzzy": "No such option '--xyzzy'; see `xmleval --help`",
}


@pytest.mark.parametrize("line", REFUSED)
def test_lines_that_contradict_themselves_are_refused(line: str, refused: Run) -> None:
    Path("t.csv").write_text(TABLE)
    before = {*Path().iterdir()}
    assert refused(line) == REFUSED[line]
    assert {*Path().iterdir()} == before


def test_label_field_of_scores_is_for_the_truth_beside_them() -> None:
    Path("t.csv").write_text(TABLE)
    fields = "--label-field tags --scores-label-field predicted --separator ;"
    code, out, _ = answer(f"convert t.csv o.npz --kind scores --like t.csv {fields}".split())
    assert (code, out) == (0, "")
    np.testing.assert_array_equal(sp.load_npz("o.npz").toarray(), [[0, -1], [-1, 0]])
    report = json_of(f"evaluate t.csv t.csv {fields} --metrics p@1")
    assert report["values"] == {"p@1": 0.5}


def test_program_without_a_command_prints_its_help(run: Run) -> None:
    text = run("")
    assert text == run("--help") == run("-h")
    for name, description in COMMANDS.items():
        assert f"  {name} " in text
        assert description.split()[0] in text


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_output_may_be_a_pipe(run: Run, form: str) -> None:
    expected = run(f"{LINE} --format {form}")
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)  # the text fits into the pipe
    assert run(f"{LINE} --format {form} --output pipe") == ""
    with os.fdopen(reader) as pipe:
        assert pipe.read() == expected
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert run(f"{LINE} --output {os.devnull}") == ""
    assert not Path(os.devnull).is_file()


def test_output_that_stdout_cannot_take_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("the system has no full device")
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        code, errors = main_code(LINE, monkeypatch)
    assert (code, errors) == (2, "xmleval: stdout: No space left on device\n")
    monkeypatch.setattr("sys.stdout", None)
    code, errors = main_code(LINE, monkeypatch)
    assert (code, errors) == (2, "xmleval: stdout: Bad file descriptor\n")


def main_code(line: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Return the exit code of a line, and what it writes to stderr."""
    from xmleval.cli import main

    errors = io.StringIO()
    monkeypatch.setattr("sys.stderr", errors)
    return main(line.split()), errors.getvalue()


def test_module_of_a_measure_that_lacks_another_is_an_error_of_that_one(refused: Run) -> None:
    Path("lacking.py").write_text("import no_such_module_at_all\n")
    line = f"{LINE} --measure"
    assert refused(f"{line} lacking:ONE") == "No module named 'no_such_module_at_all'"
    here = f"is installed or in {Path.cwd()}"
    for place in ("absent_module:ONE", "absent_package.part:ONE"):
        module = place.partition(":")[0]
        assert refused(f"{line} {place}") == f"--measure: '{place}': no module {module} {here}"
    Path("whole_package").mkdir()
    Path("whole_package/__init__.py").write_text("")
    assert refused(f"{line} whole_package.part:ONE") == (
        f"--measure: 'whole_package.part:ONE': no module whole_package.part {here}"
    )


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        ("T_1.npz T_2.npz S_1.npz S_2.npz", "'S_*.npz'"),
        ("T_1.npz T_2.npz 'S_*.npz'", "'S_*.npz'"),
        ("T_1.npz T_2.npz scores", "scores"),
        ("T_1.npz T_2.npz S_1.npz", ""),  # T_2 are scores by their numbers alone
        ("T_1.npz S_1.npz", ""),
    ],
)
def test_patterns_of_truths_that_a_shell_expands_are_refused(words: str, pattern: str) -> None:
    Path("scores").mkdir()
    for number in (1, 2):
        sp.save_npz(f"T_{number}.npz", sp.csr_array(Y_TEST))
        sp.save_npz(f"S_{number}.npz", sp.csr_array(Y_TEST + 0.5))
        sp.save_npz(f"scores/S_{number}.npz", sp.csr_array(Y_TEST + 0.5))
    code, out, err = answer(["evaluate", *words.replace("'", "").split(), "--metrics", "p@1"])
    if pattern:
        quoted = f"quote the patterns: 'T_*.npz' {pattern}"
        message = f"TRUTH would only be T_1.npz, and T_2.npz one of SCORES; {quoted}"
        assert (code, out, err) == (2, "", f"xmleval: {message}\n")
    else:
        assert (code, err) == (0, "")
        assert out.startswith("4 rows x 5 labels")


def test_deciles_of_labels_are_those_of_python(run: Run) -> None:
    truth = TRUTH[:60]
    sp.save_npz("Y.npz", sp.csr_array(truth))
    sp.save_npz("S.npz", sp.csr_array(MODELS["good"][:60]))
    sp.save_npz("train.npz", sp.csr_array(TRUTH))
    line = "evaluate Y.npz S.npz --metrics p@1,r@3 --train train.npz --label-groups"
    scores = sp.csr_array(MODELS["good"][:60])
    options: dict[str, Any] = {"metrics": ["p@1", "r@3"], "y_train": sp.csr_array(TRUTH)}
    deciles = evaluate(sp.csr_array(truth), scores, label_groups="deciles", **options)
    assert json_of(f"{line} deciles")["groups"] == deciles.to_dict()["groups"]
    edges = evaluate(sp.csr_array(truth), scores, label_groups=[0, 95, 110], **options)
    groups = json_of(f"{line} '0, 95,110'")["groups"]
    assert groups == edges.to_dict()["groups"]
    assert [*groups] != [*deciles.groups]


def test_fields_of_training_labels_of_each_data_set_reach_their_files(run: Run) -> None:
    for name, tags in (("a", "x;y"), ("b", "y")):
        Path(name).mkdir()
        Path(f"{name}.csv").write_text("id,tags\n1,x\n2,y\n3,x;y\n")
        Path(f"{name}/train.csv").write_text(f"id,tags\n1,{tags}\n2,x\n3,x\n4,{tags}\n")
        Path(f"{name}/one.csv").write_text("id,label,score\n1,x,2\n2,x,2\n3,y,2\n")
        Path(f"{name}/two.csv").write_text("id,label,score\n1,y,2\n2,y,2\n3,x,2\n")
    words = "--train '{}/train.csv' --label-field tags --scores-label-field label --separator ';'"
    both = json_of(
        "compare --truth a=a.csv --truth b=b.csv --model one='{}/one.csv' --model two='{}/two.csv' "
        f"--metrics psp@1 {words}"
    )
    values = set()
    for name, data_set in both["data_sets"].items():
        alone = json_of(
            f"compare {name}.csv one={name}/one.csv two={name}/two.csv --metrics psp@1 "
            f"{words.replace('{}', name)}"
        )
        assert data_set["reports"] == alone["reports"]
        values.add(data_set["reports"]["one"]["values"]["psp@1"])
    assert len(values) == 2


@pytest.mark.filterwarnings("always:Glyph")
def test_figure_notes_characters_that_its_font_lacks(run: Run) -> None:
    pytest.importorskip("matplotlib")
    line = "plot Y_test.npz {}=m_indices.npy b=scores.npz --kind values --metrics p@1 --output {}"
    run(line.format("a", "a.png"))
    code, out, err = answer(line.format("模型", "b.png").split())
    assert (code, out) == (0, "")
    text = "its font lacks some characters of the names; a page, or an .svg file, shows them"
    assert f"b.png: {text}" in err
    assert Path("b.png").read_bytes().startswith(b"\x89PNG")


def test_measures_of_the_truth_are_drawn_for_one_model_alone(run: Run) -> None:
    pytest.importorskip("matplotlib")
    line = "--kind values --metrics p@1,label_density --output"
    run(f"plot Y_test.npz m {line} one.svg")
    run(f"plot Y_test.npz m scores.npz {line} two.svg")
    assert "Label density" in Path("one.svg").read_text("utf-8")
    two = Path("two.svg").read_text("utf-8")
    assert "P@1" in two
    assert "density" not in two
