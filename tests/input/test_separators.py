"""Fields whose labels are cut at another separator than the one in them: noted, with the right one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.damage import answer as done


def notes_of(line: str) -> list[str]:
    """Run an evaluation, and return its notes but for those of fields and of unknown labels."""
    code, out, err = done(shlex.split(f"evaluate {line} --format json"))
    assert code == 0, err
    notes: list[str] = json.loads(out)["notes"]
    return [note for note in notes if "labels in " not in note and "never occur" not in note]


@pytest.mark.parametrize(
    ("cells", "options", "told"),
    [
        (  # neither field is cut
            ["a;b|b;a", "c;d|c"],
            "--separator ,",
            [
                "--separator ',' is in no field; --separator ';' cuts 'a;b'",
                "cut at ';', 'a' would be",
            ],
        ),
        (
            ["a;b|b;a", "c;d|d;c"],
            "--separator ,",
            [
                "--separator ',' is in no field; --separator ';' cuts 'a;b'",
                "no label of it is in the truth; cut at ';', 'a' would be; --separator ';' cuts both",
            ],
        ),
        (["a/b|b/a", "c|d/c"], "", ["cut at '/', 'a' would be; --separator '/' cuts both"]),
        (["a;b|b,a", "c|c,a"], "--separator ;", ["'b,a' is one label, and 'b' another; without --separator"]),
        (
            ["a;b|b/a", "c|c/a"],
            "",
            ["'b/a' is one label, and 'b' another; expected the same separator in all"],
        ),
        (
            ["a,b|['a']", "c|['b', 'c']"],
            "--separator ;",
            ["--separator ',' cuts 'a,b'", "'a,b' is one label, and"],
        ),
        (["a;b|X", "c|Y"], "", ["no label of it is in the truth: 'X' is not, 'a' is"]),
        (["a;b|b;x", "c|c"], "--separator ;", []),
        (["a;b|x", "c|c"], "", []),
        (["TCP/IP|TCP/IP", "TCP|IP"], "--separator ;", []),
        (["Paris, France|Paris, France", "Lyon, France|Rome, Italy"], "--separator ;", []),
        (["a,b;c|c", "d|a,b"], "--separator ;", []),
        (["['a;b', 'c']|['c']", "['c']|['a;b']"], "", []),
    ],
)
def test_labels_cut_at_another_separator_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[str], options: str, told: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ['"{}","{}"\n'.format(*cell.split("|")) for cell in cells]
    Path("docs.csv").write_text("".join(["tags,predicted\n", *rows]))
    options = options.replace(";", "';'")
    notes = notes_of(f"docs.csv {options} --metrics f1.micro")
    assert len(notes) == len(told), notes
    for note, text in zip(notes, told, strict=True):
        assert note.startswith("docs.csv: ")
        assert text in note
    for name, place in (("tags", 0), ("predicted", 1)):
        column = [f'"{cell.split("|")[place]}"\n' for cell in cells]
        Path(f"{name}.csv").write_text("".join([f"{name}\n", *column]))
    assert len(notes_of(f"tags.csv predicted.csv {options} --metrics p@1")) == len(told)
