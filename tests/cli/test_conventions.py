"""Conventions on the command line: a preset, fields, or both."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import xmleval
from tests.examples import LABELS, SCORES, Y_TEST
from xmleval import Conventions
from xmleval.conventions import PRESETS


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (
            "--metrics all --conventions labels=present",
            {"metrics": "all", "conventions": {"labels": "present"}},
        ),
        (
            "--metrics all --conventions 'empty=skip, zero_division=nan,unlisted=0.5'",
            {"metrics": "all", "conventions": {"empty": "skip", "zero_division": math.nan, "unlisted": 0.5}},
        ),
        (
            "--metrics all --conventions sklearn,labels=seen,ap_empty=skip",
            {"metrics": "all", "conventions": replace(PRESETS["sklearn"], labels="seen", ap_empty="skip")},
        ),
        ("--metrics all --conventions default,auc_ties=full", {"metrics": "all", "conventions": "wu2017"}),
        (
            "--metrics all --conventions unlisted=0.5 --unlisted below",
            {"metrics": "all", "conventions": "default"},
        ),
    ],
)
def test_texts_are_conventions(folder: Path, run: Any, options: str, arguments: dict[str, Any]) -> None:
    report = xmleval.evaluate(Y_TEST, (LABELS, SCORES), **arguments, decision="top1")
    assert run(f"evaluate Y_test.npz m {options} --decision top1 --format json") == report.to_json() + "\n"
    text = options.split("--conventions ")[1].split(" --")[0].strip("'")
    if "unlisted" not in options.split(text)[1]:
        again = xmleval.evaluate(Y_TEST, (LABELS, SCORES), decision="top1", metrics="all", conventions=text)
        assert again.to_json() == report.to_json()


CONVENTIONS = """
sklearn,labels=some
    labels='some' is not one of all, present, seen
labels=
    labels='' is not one of all, present, seen
lables=present
    unknown field 'lables'; fields are auc_ties, {fields}; did you mean labels?
labels=present,sklearn
    'sklearn' is not FIELD=VALUE, such as labels=present; give one preset at most, first
sklearn,mulan
    'mulan' is not FIELD=VALUE, such as labels=present; give one preset at most, first
sklearn,
    '' is not FIELD=VALUE, such as labels=present; give one preset at most, first
labels=present,labels=all
    labels is given twice, as present and as all
unlisted=under
    unlisted='under' is neither 'below' nor a number
zero_division=2
    zero_division='2' is not one of 0, 1, nan, both_empty
"""


@pytest.mark.parametrize(("text", "said"), re.findall(r"^(\S.*)\n    (.*)$", CONVENTIONS, re.MULTILINE))
@pytest.mark.parametrize("command", ["evaluate Y_test.npz m", "compare Y_test.npz m m2"])
def test_wrong_conventions_name_the_field_and_what_it_may_be(
    folder: Path, refused: Any, command: str, text: str, said: str
) -> None:
    said = said.format(fields=", ".join([*Conventions().as_dict()][1:]))
    name = command.split()[0]
    line = f"Invalid value for '--conventions': {said}; see `xmleval {name} --help`"
    assert refused(f"{command} --conventions {text}") == line
    with pytest.raises(ValueError, match=f"^(conventions: )?{re.escape(said)}$"):
        xmleval.evaluate(Y_TEST, (LABELS, SCORES), conventions=text)


def test_conventions_of_two_models(folder: Path, run: Any) -> None:
    shutil.copy("m_indices.npy", "n_indices.npy")
    shutil.copy("m_scores.npy", "n_scores.npy")
    printed = json.loads(
        run("compare Y_test.npz m n --conventions beir,empty=one --metrics r@1 --format json")
    )
    for model in printed["reports"].values():
        assert model["conventions"]["empty"] == "one"
