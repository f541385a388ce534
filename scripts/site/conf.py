"""Settings of Sphinx for `python scripts/docs.py`."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

import xmleval
from scripts.docs import PAGES, SECTIONS, pages_of
from scripts.measure_pages import families, page_of

project = "xmleval"
author = "xmleval developers"
copyright = "xmleval developers"
release = xmleval.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
root_doc = "README"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
default_role = "py:obj"  # `evaluate` in a docstring is a link
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
add_module_names = False
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 84
copybutton_exclude = ".linenos, .gp, .go"
html_theme = "pydata_sphinx_theme"
html_title = "xmleval"
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "github_url": "https://github.com/xmleval/xmleval",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
if "SITE_VERSION" in os.environ:  # the workflow publishes each version in a folder of its own
    html_theme_options |= {
        "switcher": {
            "json_url": "https://xmleval.github.io/xmleval/versions.json",
            "version_match": os.environ["SITE_VERSION"],
        },
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
html_static_path = ["static"]
html_css_files = ["xmleval.css"]
html_js_files = ["xmleval.js"]
exclude_patterns = ["templates"]
templates_path = [str(Path(__file__).parent / "templates")]

MADE_BY_FUNCTIONS = {  # nobody calls their constructors
    "Comparison",
    "Comparisons",
    "Diff",
    "Ranking",
    "Rankings",
    "Report",
    "Sensitivity",
    "Trend",
}
PUBLIC = re.compile(r"xmleval\.\w+(\.\w+)?")


def close_examples(app: Any, name: str, source: list[str]) -> None:
    """Drop the blank line that a doctest needs before the end of its block."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def link_names(app: Any, tree: nodes.document) -> None:
    """Make a link of each public name in the text of pages, such as `xmleval.evaluate`."""
    if app.env.docname.startswith("api"):
        return
    for node in list(tree.findall(nodes.literal)):
        if PUBLIC.fullmatch(node.astext()) and not isinstance(node.parent, nodes.reference):
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=node.astext(), refwarn=False
            )
            link["refdoc"] = app.env.docname
            node.replace_self(link)
            link += node


def hide_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Show no signature of results, which functions return."""
    if what == "class" and name.rpartition(".")[2] in MADE_BY_FUNCTIONS:
        return "", returns
    return None


def skip_private(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that only the package calls."""
    return True if "@private" in (getattr(obj, "__doc__", None) or "") else None


def hide_mark(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Leave the mark of private members out of the text."""
    lines[:] = [line.replace("(@private)", "") for line in lines]


def write_llms(app: Any, error: Exception | None) -> None:
    """Write llms.txt, the pages with their questions, and each page as Markdown."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    shutil.copy(out / "README.html", out / "index.html")
    summary = (xmleval.__doc__ or "").partition("\n")[0]
    lines = [f"# xmleval {release}", "", f"> {summary}"]
    for section in SECTIONS:
        lines += ["", f"## {section}", ""]
        lines += [f"- [{p.title}]({p.name}.md): {p.question}" for p in pages_of(section)]
    for family, metrics in families().items():
        names = ", ".join(dict.fromkeys(metric.name for metric in metrics))
        lines.append(f"- [Measures: {family}]({page_of(family)}.md): {names}")
    (out / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
    for path in PAGES.glob("*.md"):
        text = path.read_text("utf-8").replace("\n\n```\n", "\n```\n")
        (out / path.name).write_text(text, "utf-8")


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("autodoc-process-signature", hide_signature)
    app.connect("autodoc-process-docstring", hide_mark)
    app.connect("autodoc-skip-member", skip_private)
    app.connect("source-read", close_examples)
    app.connect("doctree-read", link_names)
    app.connect("build-finished", write_llms)
