"""Fields of CSV on the command line: how each command is told them, and what it says of them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.damage import answer as done


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_fields_are_named_to_every_command() -> None:
    Path("t.csv").write_text("key,topics\n1,a~b\n2,c\n")
    Path("s.csv").write_text("key,guess,sure\n2,c~a,0.9;0.2\n1,b,0.8\n")
    true = "--true-field topics --id-field key --separator ~"
    pred = "--pred-field guess --score-field sure --id-field key --separator ~"
    both = f"--true-field topics {pred}"
    code, out, err = done(shlex.split(f"stats t.csv --format json {true}"))
    assert code == 0, err
    assert json.loads(out)["n_labels"] == 3
    for line in (
        f"convert s.csv s.npz --kind scores --like t.csv {both}",
        f"threshold fit t.csv s.csv --measure f1.micro --output r.npz {both}",
        f"threshold apply s.csv --rule r.npz --output p.npz {pred}",
    ):
        code, _, err = done(shlex.split(line))
        assert code == 0, err
    np.testing.assert_array_equal(sp.load_npz("s.npz").toarray(), [[0, 0.8, 0], [0.2, 0, 0.9]])
    assert sp.load_npz("p.npz").toarray().tolist() == [[0, 0, 1], [0, 1, 0]]


def test_converting_says_what_it_settled() -> None:
    Path("t.csv").write_text("id,tags\n1,a;b\n2,c\n")
    Path("s.csv").write_text("id,tags\n1,b;d\n9,a\n")
    code, _, err = done(shlex.split("convert s.csv s.npz --kind scores --like t.csv"))
    assert code == 0
    for said in (
        "t.csv: relevant labels in 'tags' cut at ';', ids in 'id'",
        "s.csv: predicted labels in 'tags' cut at ';', ids in 'id'",
        "s.csv: no scores, taken best first and written as -1, -2 and so on",
        "s.csv: 1 row of the truth has no prediction; it counts as empty",
        "s.csv: 1 row is not in the truth; it is ignored",
    ):
        assert f"xmleval: {said}\n" in err


def test_scores_of_long_files_may_have_another_name() -> None:
    Path("t.csv").write_text("instance,label\n1,a\n2,b\n")
    Path("s.csv").write_text("instance,label,p,score\n1,b,0.2,9\n1,a,0.3,0\n2,a,0.5,0\n")
    for option, value in (("--score-field p", 0.5), ("", 0.0)):
        _, out, _ = done(shlex.split(f"evaluate t.csv s.csv --metrics p@1 --format json {option}"))
        assert json.loads(out)["values"] == {"p@1": value}
    for option, said in (("--score-field q", "no field 'q' beside 'label'"), ("", "2 fields 'score'")):
        header = "instance,label,p,score" if option else "instance,label,score,score"
        Path("s.csv").write_text(f"{header}\n1,b,0.2,9\n")
        assert f"s.csv: {said}" in done(shlex.split(f"evaluate t.csv s.csv {option}"))[2]


def test_notes_of_several_files_name_each_once() -> None:
    Path("t.csv").write_text("id,tags\n1,a;b\n")
    for name in ("s.csv", "u.csv"):
        Path(name).write_text("id,tags\n1,b;a\n")
    notes = json.loads(done(shlex.split("evaluate t.csv s.csv u.csv --format json"))[1])["notes"]
    settled = "predicted labels in 'tags' cut at ';', ids in 'id', no scores, taken best first"
    assert [f"s.csv: {settled}", f"u.csv: {settled}"] == [note for note in notes if "predicted" in note]
