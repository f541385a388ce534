"""Build the documentation: `python scripts/docs.py` writes the site, and fails on any warning.

`python scripts/docs.py linkcheck` asks for every address instead, which needs a network.

The pages are those of `xmleval/docs`, plain Markdown that is also read on GitHub and in the
installed package. The reference of Python and the help of commands are generated. Needs the
dependency group `docs`; no network.
"""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "xmleval" / "docs"
SOURCE = ROOT / ".site" / "source"
HTML = ROOT / ".site" / "html"

SECTIONS = {
    "Start": "New here? Each of these ends with something that works on your own files.",
    "Guides": "How do I do a certain task? One page for each task, in no order.",
    "Explanations": "Why is it so? Read these before you trust a number.",
    "Reference": "What exactly does this name mean?",
}


class Page(NamedTuple):
    """A page of the site: its file, where it stands, and the question that it answers."""

    name: str
    section: str
    title: str
    question: str


SITE = (
    Page("tutorial", "Start", "First table", "How do I get from predictions to a table?"),
    Page("decision", "Start", "From two predictions to a decision", "Which model do I take?"),
    Page("python", "Start", "Python", "What do I pass, and what do I get?"),
    Page(
        "coming-from",
        "Start",
        "Coming from another library",
        "Which call replaces mine, and why may the value differ?",
    ),
    Page("formats", "Guides", "File formats", "Can my file be read, and how?"),
    Page("documents", "Guides", "Documents with tags", "How are tables of documents read?"),
    Page("names", "Guides", "Names of rows and labels", "How are rows and labels matched?"),
    Page(
        "excluding",
        "Guides",
        "Leaving labels out",
        "How do I leave out training pairs, or what nobody judged?",
    ),
    Page("graded", "Guides", "Graded judgements", "What if relevance has grades?"),
    Page("sets", "Guides", "Decision rules", "How do I turn scores into sets?"),
    Page("groups", "Guides", "Groups of labels and rows", "For which labels is a model good?"),
    Page("comparing", "Guides", "Comparing models", "Is the difference more than chance?"),
    Page("data-sets", "Guides", "Several data sets", "How do I fill the table of a paper?"),
    Page(
        "calibrating",
        "Guides",
        "Calibration",
        "Are scores probabilities, and can they be made so?",
    ),
    Page("fusing", "Guides", "Fusing lists", "How do I join the lists of several models?"),
    Page(
        "large-data",
        "Guides",
        "Large data",
        "How do I evaluate what does not fit into memory or on one machine?",
    ),
    Page("training", "Guides", "While training", "How do I evaluate inside a training loop?"),
    Page("gates", "Guides", "Gates in CI", "How does a build fail when a model gets worse?"),
    Page("figures", "Guides", "Pages and figures", "How do I get figures and reports?"),
    Page(
        "codes",
        "Guides",
        "Medical codes and hierarchies",
        "How do near misses in a tree of labels count?",
    ),
    Page("own-measure", "Guides", "Measures of your own", "How do I add a measure?"),
    Page(
        "which-number",
        "Explanations",
        "Which number to report",
        "Which measure answers my question, and how could it mislead?",
    ),
    Page(
        "conventions",
        "Explanations",
        "Conventions, by worked examples",
        "Why do two libraries print different values?",
    ),
    Page(
        "readings",
        "Explanations",
        "Readings that differ in print",
        "Which formula did the paper use?",
    ),
    Page(
        "uncertainty",
        "Explanations",
        "Uncertainty and ties",
        "What does an interval cover, and what not?",
    ),
    Page(
        "exactness",
        "Explanations",
        "Exact to the last bit",
        "Why is every bit the same on any machine?",
    ),
    Page(
        "architecture",
        "Explanations",
        "Architecture",
        "How does a value get from a file to a report?",
    ),
    Page("measures", "Reference", "Measures", "What exactly is this measure?"),
    Page("commands", "Reference", "Commands", "What does this command do?"),
    Page(
        "messages", "Reference", "Notes and errors", "What does this note mean, and what cures it?"
    ),
    Page("schema", "Reference", "Saved results", "Which fields does a saved result have?"),
    Page("glossary", "Reference", "Glossary", "What does this word mean?"),
)

API = {  # public names, by what they are for; tests compare them with `xmleval.__all__`
    "Evaluate": "evaluate Evaluator Report Running",
    "Compare": "compare diff rank trend check propensity_sensitivity",
    "What they return": "Comparison Comparisons Diff Ranking Rankings Trend Sensitivity",
    "Data": "scan from_df from_groups fuse write label_statistics",
    "Propensities, groups, conventions": (
        "inverse_propensity label_groups LabelGroups Conventions"
    ),
    "Measures of your own": "Measure Param BlockRows LabelLists OneRow",
    "One measure": (
        "p_at_k precision_at_k ndcg_at_k r_at_k recall_at_k hit_at_k hit_rate_at_k mrr_at_k "
        "mean_reciprocal_rank_at_k psp_at_k psndcg_at_k lrap label_ranking_average_precision "
        "ranking_loss coverage one_error auc_micro micro_auc auc_macro macro_auc auc_samples "
        "instance_auc f1_micro micro_f1 f1_macro macro_f1 f1_samples instance_f1 hamming_loss "
        "subset_accuracy"
    ),
}
NOTEBOOKS = ("tutorial", "decision")  # pages that are notebooks, too
MODULES = ("thresholds", "calibrate", "io", "effectiveness", "testing")


def row_of(page: Page) -> str:
    """Return the row of a page in a table."""
    return f"| [{page.title}]({page.name}.md) | {page.question} |"


def pages_of(section: str) -> list[Page]:
    """Return the pages of a section that have been written."""
    return [
        page for page in SITE if page.section == section and (PAGES / f"{page.name}.md").is_file()
    ]


def toctree(names: list[str]) -> str:
    """Return a hidden table of contents, for the navigation of the site."""
    entries = "\n".join(names)
    return f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def write(name: str, text: str) -> None:
    """Write a generated page."""
    (SOURCE / f"{name}.md").write_text(text, "utf-8")


def write_figures() -> None:
    """Draw the figures whose commands a page shows, and put each behind its command."""
    from scripts.readme import joined
    from xmleval.cli import main as run

    page = SOURCE / "figures.md"
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        with redirect_stdout(io.StringIO()):
            run(["demo", "--save", "demo"])
        parts = list[str]()
        for part in re.split(r"(?<=^```\n)", page.read_text("utf-8"), flags=re.M):
            parts.append(part)
            for command in re.findall(r"^xmleval plot .*\.svg$", joined(part), re.M):
                _, *arguments = shlex.split(command)
                if run(arguments) != 0:
                    raise SystemExit(f"{page.name}: {command}: no figure")
                name = arguments[-1]
                shutil.copy(name, SOURCE / name)
                parts.append(f"\n![Figure of the kind {Path(name).stem}]({name})\n")
    page.write_text("".join(parts), "utf-8")


def write_navigation() -> None:
    """Write a page for each section, and the tables of contents."""
    for section, about in SECTIONS.items():
        pages = pages_of(section)
        names = [page.name for page in pages]
        rows = [row_of(page) for page in pages]
        if section == "Reference":
            rows.insert(0, "| [Python](api.md) | What does this function take and return? |")
            rows.insert(3, "| [Options](help.md) | Which options does a command have? |")
            names = ["api", *names, "help"]
        table = "\n".join(["| page | question |", "|---|---|", *rows])
        write(section.lower(), f"# {section}\n\n{about}\n\n{table}\n{toctree(names)}")
    append("README", toctree([section.lower() for section in SECTIONS]))
    append("measures", toctree(sorted(path.stem for path in PAGES.glob("measures-*.md"))))


def append(name: str, text: str) -> None:
    """Add a text to the end of a page."""
    path = SOURCE / f"{name}.md"
    path.write_text(path.read_text("utf-8") + text, "utf-8")


def notebook_of(text: str) -> str:
    """Return a page as a Jupyter notebook, with the outputs that tests compare."""
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^(```\w+\n.*?^```)$", text, flags=re.M | re.S):
        body = part.partition("\n")[2]
        if part.startswith("```python"):
            source = ""
            for example in doctest.DocTestParser().get_examples(body.removesuffix("```")):
                source += example.source
                if example.want:
                    cells.append(code_cell(source, example.want))
                    source = ""
            if source:
                cells.append(code_cell(source, ""))
        elif part.startswith(("```console", "```sh")):
            commands = re.findall(r"^(?:\$ |(?=xmleval ))((?:.*\\\n)*.*)$", body, re.M)
            cells += [code_cell(f"!{command}\n", "") for command in commands]
        elif part.strip():
            cells.append(
                {"cell_type": "markdown", "metadata": {}, "source": lines_of(part.strip())}
            )
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as notebooks hold them."""
    return text.splitlines(keepends=True)


def code_cell(source: str, output: str) -> dict[str, Any]:
    """Return a cell of code with its output."""
    outputs = []
    if output:
        text = lines_of(output.replace("<BLANKLINE>", ""))
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs,
        "source": lines_of(source.rstrip("\n")),
    }


def write_notebooks() -> None:
    """Write some pages as notebooks, too, and link them."""
    for name in NOTEBOOKS:
        text = (SOURCE / f"{name}.md").read_text("utf-8")
        (SOURCE / f"{name}.ipynb").write_text(notebook_of(text), "utf-8")
        append(name, f"\nThis page as a notebook: [{name}.ipynb]({name}.ipynb)\n")


def write_api() -> None:
    """Write the pages of public names."""
    parts = ["# Python reference", "`import xmleval` loads no module before its first use."]
    for title, names in API.items():
        listed = "\n   ".join(names.split())
        parts.append(f"## {title}\n\n{summary('xmleval', listed)}")
    for name in MODULES:
        module = __import__(f"xmleval.{name}", fromlist=["__all__"])
        first = (module.__doc__ or "").partition("\n")[0]
        listed = "\n   ".join(public_names(module))
        parts.append(f"## `xmleval.{name}`\n\n{first}\n\n{summary(f'xmleval.{name}', listed)}")
    write("api", "\n\n".join(parts) + "\n")


def public_names(module: object) -> list[str]:
    """Return the functions and classes of a module that are documented."""
    return [name for name in module.__all__ if callable(getattr(module, name))]  # type: ignore[attr-defined]


def summary(module: str, names: str) -> str:
    """Return the directive that lists names and writes a page for each."""
    directive = f".. currentmodule:: {module}\n.. autosummary::\n   :toctree: api\n"
    return f"```{{eval-rst}}\n{directive}   :nosignatures:\n\n   {names}\n```"


def help_of(*words: str) -> str:
    """Return the help of a command, as 84 columns show it."""
    from xmleval.cli import main

    out = io.StringIO()
    with redirect_stdout(out):
        main([*words, "--help"])
    return out.getvalue().rstrip()


def write_help() -> None:
    """Write the help of every command on one page."""
    os.environ["COLUMNS"] = "84"
    parts = ["# Options of commands", "What `xmleval COMMAND --help` prints."]
    for name in commands_in(help_of()):
        text = help_of(name)
        parts.append(f"## xmleval {name}\n\n```text\n{text}\n```")
        parts += [
            f"### xmleval {name} {sub}\n\n```text\n{help_of(name, sub)}\n```"
            for sub in commands_in(text)
        ]
    write("help", "\n\n".join(parts) + "\n")


def commands_in(text: str) -> list[str]:
    """Return the commands that a help lists."""
    return re.findall(r"^  (\w+) {2,}\w", text.partition("Commands:")[2], re.M)


def main(builder: str = "html") -> int:
    """Build the site, or check addresses, and return the exit code."""
    from sphinx.cmd.build import main as sphinx

    sys.path.insert(0, str(ROOT))
    shutil.rmtree(SOURCE.parent, ignore_errors=True)
    shutil.copytree(PAGES, SOURCE)
    write_notebooks()
    write_figures()
    write_navigation()
    write_api()
    write_help()
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-c", str(ROOT / "scripts" / "site")]
    code: int = sphinx([*options, "-b", builder, str(SOURCE), str(HTML)])
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
