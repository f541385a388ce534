"""Pages are whole, need no network, show names as text, and stay small."""

import html.parser
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.figures.test_figures import HOSTILE, compared
from xmleval import Comparison, compare, evaluate, label_groups, rank

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

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def page() -> Parsed:
    return Parsed(compared().to_html("Three models"))


@pytest.mark.slow
def test_links_are_within_the_page_and_nothing_is_fetched(page: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    links = {attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"}
    assert len({*ids}) == len(ids)
    assert links
    assert {link.removeprefix("#") for link in links} <= {*ids}
    for tag, attributes in page.tags:
        assert (attributes.get("src") or "data:").startswith("data:"), tag
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#")[0] == "#" or attributes[name] == "data:,", tag


def test_each_figure_has_a_text_and_its_numbers(page: Parsed) -> None:
    tags = [tag for tag, _ in page.tags]
    pictures = [own for tag, own in page.tags if tag == "img"]
    assert len(pictures) == tags.count("figure") == tags.count("figcaption") == 10
    assert all(len(attributes["alt"] or "") > 30 for attributes in pictures)
    assert page.texts.count("Numbers of this figure") == 10
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert {"Labels that changed most", "Rows that changed most"} <= {*page.texts}
    for report in compared().reports.values():
        assert f"{report['lrap']:.4f}" in "".join(page.texts)


def pages() -> Iterator[tuple[str, str, str]]:
    """Yield a page, what its summary says, and what it does not."""
    whole = compared().to_html()
    yield whole, "model_0 has the highest P@1, 0.", "is seen between"
    yield whole, "labels; significantly better than model_1 and model_2.", "is seen between"
    same = {"a": np.eye(40)[:, :4], "b": np.eye(40)[:, :4]}
    equal = compare(np.eye(40)[:, :4], same, metrics=["p@1"])
    yield equal.to_html(), "; no significant difference is seen between a and b.", "significantly better"
    alone = Comparison({name: replace(one) for name, one in compared().reports.items()})
    yield alone.to_html(), "whether the difference is real is not known", "significantly better"
    rng = np.random.default_rng(3)
    truth = rng.random((60, 8)) < 0.3
    ids = {name: np.argsort(rng.random((60, 8)))[:, :n] for name, n in (("a", 4), ("b", 6))}
    lists = {name: (labels, -np.arange(labels.shape[1]) + 0.0 * labels) for name, labels in ids.items()}
    untested = compare(truth, lists, metrics=["auc.samples"])
    yield untested.to_html(), "could not be tested.", "no significant difference"
    groups = label_groups(truth, edges=[0, 15, 18])
    good = compare(truth, {"a": truth, "b": ~truth}, metrics=["p@1"], label_groups=groups)
    won = f"tests, each model won (p < 0.05 after Holm's correction): a {good.n_tests}, b 0."
    yield good.to_html(), f"Of {good.n_tests} {won}", "could not be tested"
    halved = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    once = compare(np.eye(40), halved, metrics=["p@1", "ndcg@1", "hit@1"])
    yield once.to_html(), "Of 1 test, each model won (p < 0.05 after Holm's correction): a 1, b 0.", "a 3"
    values = {name: {"a": 0.1, "b": 0.2, "c": 0.3} for name in ("x", "y", "z")}
    far, near = (rank(values, "p@1", control=control).to_html() for control in "ab")
    best = "c has the best average rank by P@1, 1; a significant difference is seen to a, the control."
    yield far, best, "no significant difference"
    yield near, "1; no significant difference is seen to b, the control.", "a significant difference"


@pytest.mark.slow
def test_the_summary_names_the_best_model_and_what_was_tested() -> None:
    for text, expected, absent in pages():
        summary = " ".join("".join(Parsed(text).texts).split())
        assert expected in summary
        assert absent not in summary


def test_undefined_and_mixed_results_have_pages() -> None:
    truth, scores = np.zeros((3, 4), int), np.arange(12.0).reshape(3, 4)
    options: dict[str, Any] = {"metrics": ["p@1", "auc.macro"], "per_label": True, "curve_points": 10}
    assert compare(truth, {"a": scores, "b": -scores}, **options).to_html()
    reports = {str(n): evaluate(np.eye(3), np.eye(3), metrics=["p@1"], per_row=bool(n)) for n in (1, 0)}
    assert Comparison(reports).to_html()


@pytest.mark.slow
def test_names_are_shown_as_text() -> None:
    names = np.array(HOSTILE * 4, object)[:20].tolist()
    reports = zip(HOSTILE, compared(12).reports.values(), strict=False)
    text = Comparison({name: replace(one, label_names=names) for name, one in reports}).to_html(HOSTILE[0])
    assert [tag for tag, _ in Parsed(text).tags].count("script") == 1
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_pages_without_figures_and_of_many_labels_stay_small() -> None:
    assert len(evaluate(np.eye(3), np.eye(3), metrics=["coverage"]).to_html()) < 50_000
    n = 100_000
    truth = sp.csr_array((np.ones(n, np.int8), np.arange(n), np.arange(0, n + 1, 100)), shape=(n // 100, n))
    lists = [np.arange(n).reshape(-1, 100)[:, first::2][:, :5] for first in (0, 1)]
    models = {name: (ids, -np.arange(5.0) + 0 * ids) for name, ids in zip("ab", lists, strict=True)}
    text = compare(truth, models, metrics=["p@1", "p@5"], per_label=["p@1"]).to_html()
    assert len(text) < 500_000
    assert "100000 labels" in text[text.index("Each relevant label by both models") - 100_000 :]
