"""Forms of results that installed packages add, in Python and in the shell."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Run
from tests.examples import LABELS, SCORES, Y_TEST
from tests.metrics.test_own_measures import install
from xmleval import Report, evaluate
from xmleval.results.outputs import installed_outputs

FORMS = """
def lines(records, tables):
    names = [f"{record.spec.name}={record.value:.3f}" for record in records]
    return "; ".join(names) + f" in {len(tables)} table"
"""


@pytest.fixture
def package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package with a form; packages are looked up once in a process."""
    monkeypatch.syspath_prepend(str(folder))
    Path("offering.py").write_text(FORMS)
    install(folder, "offering", "[xmleval.outputs]\nlines = offering:lines\n")
    installed_outputs.cache_clear()
    yield
    installed_outputs.cache_clear()


def report() -> Report:
    result: Report = evaluate(Y_TEST, (LABELS, SCORES), metrics=["p@1", "r@2"])
    return result


@pytest.mark.usefixtures("package")
def test_result_is_written_in_an_installed_form(run: Run) -> None:
    result = report()
    text = f"p@1={result['p@1']:.3f}; r@2={result['r@2']:.3f} in 1 table"
    assert result.to("lines") == text
    line = "evaluate Y_test.npz m --metrics p@1,r@2 --format"
    assert run(f"{line} lines") == f"{text}\n"
    for name in ("out.txt", "out.csv"):  # its ending is for the package to say
        assert run(f"{line} lines --output {name}") == ""
        assert Path(name).read_text() == f"{text}\n"


@pytest.mark.usefixtures("package")
def test_form_that_no_package_has_is_refused_with_those_installed(refused: Run) -> None:
    message = "no installed package offers results in the form 'asciidoc'; installed forms are"
    with pytest.raises(ValueError) as caught:
        report().to("asciidoc")
    assert str(caught.value) == f"{message} lines"
    assert "did you mean lines?" in refused("evaluate Y_test.npz m --format line")


@pytest.mark.parametrize(
    ("form", "method"),
    [
        ("table", "to_text"),
        ("json", "to_json"),
        ("csv", "to_csv"),
        ("markdown", "to_markdown"),
        ("latex", "to_latex"),
    ],
)
def test_forms_of_xmleval_have_methods(form: str, method: str) -> None:
    result = report()
    with pytest.raises(ValueError) as caught:
        result.to(form)
    assert str(caught.value) == f"'{form}' is a form of xmleval: call {method}()"
    assert callable(getattr(result, method))


def test_two_packages_may_not_offer_one_form(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    Path("offering.py").write_text(FORMS + "others = lines\n")
    install(folder, "first", "[xmleval.outputs]\nlines = offering:lines\n")
    install(folder, "second", "[xmleval.outputs]\nlines = offering:others\n")
    installed_outputs.cache_clear()
    result = evaluate(np.eye(3), np.eye(3) + 0.1, metrics="p@1")
    with pytest.raises(ValueError, match="are both called lines; uninstall one"):
        result.to("lines")
    installed_outputs.cache_clear()
