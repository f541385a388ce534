"""Pages are whole, need no network, show names as text, and stay small."""

from __future__ import annotations

import html.parser
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.figures.made_models import compared, made_scores
from tests.figures.test_figures import HOSTILE
from xmleval import compare, diff, evaluate, label_groups, rank
from xmleval.report.comparison import Comparison

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
VOID = {"meta", "link", "input", "br", "img"}


class Parsed(html.parser.HTMLParser):
    """Tags, ids and texts of a page; tags must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def page() -> Parsed:
    return Parsed(compared().to_html("Three models"))


def test_ids_are_unique_and_links_lead_to_them(page: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len({*ids}) == len(ids)
    links = [attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"]
    assert links
    assert {link.removeprefix("#") for link in links} <= {*ids}


def test_nothing_is_fetched(page: Parsed) -> None:
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#")[0] == "#" or attributes[name] == "data:,", tag


def test_each_figure_has_a_text_and_its_numbers(page: Parsed) -> None:
    tags = [tag for tag, _ in page.tags]
    pictures = [
        attributes for tag, attributes in page.tags if attributes.get("role") == "img" and tag == "div"
    ]
    assert len(pictures) == tags.count("figure") == tags.count("figcaption") == 10
    assert all(len(attributes["aria-label"] or "") > 30 for attributes in pictures)
    assert page.texts.count("Numbers of this figure") == 10
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")


def test_the_summary_tells_the_decision(page: Parsed) -> None:
    text = " ".join("".join(page.texts).split())
    assert "model_0 has the highest P@1, 0." in text
    assert "It is significantly better than model_1 and model_2." in text
    same = {"a": np.eye(40)[:, :4], "b": np.eye(40)[:, :4]}
    equal = compare(same, np.eye(40)[:, :4], metrics=["p@1"]).to_html()
    assert "No significant difference is seen between a and b." in equal
    alone = Comparison({name: replace(one) for name, one in compared().reports.items()}).to_html()
    assert "whether the difference is real is not known" in alone


def test_the_summary_tells_what_was_not_tested_and_all_tests() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((60, 8)) < 0.3
    lists = {name: np.argsort(rng.random((60, 8)))[:, :n] for name, n in (("a", 4), ("b", 6))}
    scored = {name: (own, -np.arange(own.shape[1]) + 0.0 * own) for name, own in lists.items()}
    told = compare(scored, truth, metrics=["auc.samples"]).to_html()
    assert "could not be tested." in told
    assert "No significant difference" not in told
    groups = label_groups(truth, edges=[0, 15, 18])
    good = compare({"a": truth, "b": ~truth}, truth, metrics=["p@1"], label_groups=groups)
    assert re.search(rf"Of {good.n_tests} tests, each model won .*: a {good.n_tests}, b 0\.", good.to_html())


def test_undefined_and_mixed_results_have_pages() -> None:
    truth, scores = np.zeros((3, 4), int), np.arange(12.0).reshape(3, 4)
    none: dict[str, Any] = {"metrics": ["p@1", "auc.macro"], "per_label": True, "curve_points": 10}
    assert compare({"a": scores, "b": -scores}, truth, **none).to_html()
    reports = {
        str(kept): evaluate(np.eye(3), np.eye(3), metrics=["p@1"], per_row=kept) for kept in (True, False)
    }
    assert Comparison(reports).to_html()


def test_the_summary_of_a_ranking_with_a_control_tells_of_the_control() -> None:
    values = {name: {"a": 0.1, "b": 0.2, "c": 0.3} for name in ("x", "y", "z")}
    far, near = rank(values, "p@1", control="a").to_html(), rank(values, "p@1", control="b").to_html()
    assert "c has the best average rank by P@1, 1; a significant difference is seen to a, the control." in far
    assert "1; no significant difference is seen to b, the control." in near


def test_names_are_shown_as_text() -> None:
    names = np.array(HOSTILE * 4, object)[:20].tolist()
    reports = zip(HOSTILE, compared(12).reports.values(), strict=False)
    text = Comparison({name: replace(one, label_names=names) for name, one in reports}).to_html(HOSTILE[0])
    tags = [tag for tag, _ in Parsed(text).tags]
    assert tags.count("script") == 1
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_pages_without_figures_and_of_many_labels_stay_small() -> None:
    assert len(evaluate(np.eye(3), np.eye(3), metrics=["coverage"]).to_html()) < 50_000
    n = 100_000
    truth = sp.csr_array((np.ones(n, np.int8), np.arange(n), np.arange(0, n + 1, 100)), shape=(n // 100, n))
    lists = [np.arange(n).reshape(-1, 100)[:, first::2][:, :5] for first in (0, 1)]
    models = {name: (own, -np.arange(5.0) + 0 * own) for name, own in zip("ab", lists, strict=True)}
    text = compare(models, truth, metrics=["p@1", "p@5"], per_label=["p@1"]).to_html()
    assert len(text) < 500_000
    figure = text[text.index("Each relevant label by both models") - 100_000 :]
    assert "of 100000 labels" in figure
    assert ">10k</text>" in figure  # cells of many labels
    assert "mathdefault" not in text


def test_labels_and_rows_that_changed_most_are_shown(page: Parsed) -> None:
    assert {"Labels that changed most", "Rows that changed most"} <= {*page.texts}


def test_rows_that_changed_have_their_lists_where_rows_are_named() -> None:
    truth, models = made_scores(2)
    labels = [f"label {n}" for n in range(truth.shape[1])]
    told = compare(models, truth, metrics=["p@3"], worst=4, labels=labels)
    assert told.changes is not None
    assert told.changes.rows is not None
    assert told.changes.to_dict() == diff(models, truth, metric="p@3", worst=4, labels=labels).to_dict()
    text = told.to_html()
    assert "list of model_0" in text
    assert "; ".join(labels[n] for n in np.flatnonzero(truth[told.changes.rows[0].number])) in text
    assert "list of model_0" not in compared().to_html()


def test_values_in_the_table_are_those_of_the_report(page: Parsed) -> None:
    text = "".join(page.texts)
    for report in compared().reports.values():
        assert re.search(rf"{report['lrap']:.4f}", text)
