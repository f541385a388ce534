"""The GitHub Action `.github/actions/check`: its script, as GitHub runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmleval import evaluate

yaml: Any = pytest.importorskip("yaml")
FILE = Path(__file__).parents[2] / ".github/actions/check/action.yml"
ACTION: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, scores in (("new", np.eye(3)[::-1] + 0.1), ("last", np.eye(3) + 0.1)):
        report = evaluate(np.eye(3), scores, metrics=["p@1", "coverage"])
        Path(f"{name}.json").write_text(report.to_json())
    command = Path("bin/xmleval")
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m xmleval "$@"\n')
    command.chmod(0o755)


def run_check(**inputs: str) -> tuple[int, str, str]:
    """Return the exit code, the output and the summary of the step with these inputs."""
    values = {name: value.get("default", "") for name, value in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": "summary.md"}
    environment["PATH"] = f"{Path('bin').resolve()}:{environment['PATH']}"
    for name, expression in CHECK["env"].items():
        (source,) = re.findall(r"\$\{\{ inputs\.(\S+) \}\}", expression)
        environment[name] = values[source]
    Path("summary.md").write_text("before\n")
    Path("script").write_text(CHECK["run"])
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "script"]  # as `shell: bash`
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout, Path("summary.md").read_text()


def test_action_has_what_a_composite_action_needs() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in (INSTALL, CHECK))
    assert INSTALL["run"] == 'python -m pip install --quiet "$PACKAGE"'
    used = re.findall(r"inputs\.(\S+)", str([INSTALL["env"], CHECK["env"]]))
    assert {*used} == {*ACTION["inputs"]}
    assert "${{" not in INSTALL["run"] + CHECK["run"]  # which could run what an input contains


def test_action_succeeds_and_writes_the_summary_where_all_holds() -> None:
    code, output, summary = run_check(results="new.json", min="p@1=0.3", max="coverage=2")
    assert code == 0
    assert output == "2 measures hold\n"
    assert summary == "before\n### xmleval check new.json\n\n2 measures hold\n"


def test_action_fails_with_a_table_of_failures_in_the_summary() -> None:
    inputs = {"results": "new.json", "no_worse_than": "last.json", "margin": "p@1=0.1"}
    code, output, summary = run_check(**inputs)
    assert code == 1
    assert "2 failures\n\n| measure | reason |\n" in summary
    assert "| p@1 | p@1 0.3333 is worse than 1" in summary
    assert output in summary
    assert run_check(**inputs | {"margin": "9"})[0] == 0


def test_action_fails_with_the_line_on_invalid_input_in_the_summary() -> None:
    code, _, summary = run_check(results="$(touch hacked).json", min="p@1=0.3")
    assert code == 2
    assert "xmleval: " in summary
    assert not Path("hacked").exists()
