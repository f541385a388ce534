"""Pages are whole, need no network, show names as text, and stay small."""

import errno
import html.parser
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from tests.figures.test_figures import HOSTILE, compared
from xmleval import Comparison, Conventions, compare, evaluate, label_groups, rank
from xmleval.api.figure_options import evaluate_for_figures
from xmleval.base.conventions import CHOICES
from xmleval.cli.output import describe_run
from xmleval.show.page import Section
from xmleval.show.panels import LinePanel, Series

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
VOID = {"meta", "link", "input", "br", "img", "wbr"}


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
    return Parsed(compared().to_html(title="Three models"))


@pytest.mark.slow
def test_page_links_within_itself_and_fetches_nothing(page: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    links = {attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"}
    assert len({*ids}) == len(ids)
    assert links
    assert {link.removeprefix("#") for link in links} <= {*ids}
    for tag, attributes in page.tags:
        assert (attributes.get("src") or "data:").startswith("data:"), tag
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#")[0] == "#" or attributes[name] == "data:,", tag


def test_page_has_a_text_and_the_numbers_of_each_figure(page: Parsed) -> None:
    tags = [tag for tag, _ in page.tags]
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(pictures) == tags.count("figure") == tags.count("figcaption") == 11
    assert all(len(attributes["alt"] or "") > 30 for attributes in pictures)
    assert page.texts.count("Numbers of this figure") == 11
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert {"Labels that changed most", "Rows that changed most"} <= {*page.texts}
    for report in compared().reports.values():
        assert f"{report['lrap']:.4f}" in "".join(page.texts)


def section_of(page: str, heading: str) -> str:
    """Return the HTML of the section under a heading."""
    return page[page.index(f"<h2>{heading}</h2>") :].partition("</section>")[0]


def test_page_marks_the_values_that_tables_mark() -> None:
    truth = np.eye(40)
    half = np.eye(40)[np.arange(40) // 2 * 2]
    models = {"a": truth + 1, "b": half + 1}
    for comparison in (
        compare(truth, models, metrics=["p@1", "auc.samples"]),
        Comparison({name: evaluate(truth, each, metrics="p@1") for name, each in models.items()}),
    ):
        results = section_of(comparison.to_html(), "Results")
        marked = str(comparison).count("1.0000 *")
        assert marked
        assert results.count('class="number best">1.0000') == marked
        assert results.count('aria-label="best"') == marked


def test_notes_stand_in_the_section_that_they_are_about() -> None:
    truth = np.eye(4)[[0, 1, 2, 3] * 3]
    lists = (np.tile([0, 2], (12, 1)), np.tile([0.9, 0.5], (12, 1)))
    options: dict[str, Any] = {"metrics": ["p@1", "p@3"], "label_groups": ["x", "x", "y", "y"]}
    report = evaluate(truth, lists, **options)
    page = report.to_html()
    on_group = [note for note in report.notes if "of a group" in note]
    on_lists = [note for note in report.notes if "lists have at most" in note]
    assert on_group
    assert on_lists
    assert on_group[0] in section_of(page, "Groups of labels")
    assert on_lists[0] in section_of(page, "Results")
    for note in report.notes:
        assert page.count(f"note: {note}") == 1
    # without their figure, they are beside the values
    alone = evaluate(truth, lists, **{**options, "metrics": ["dcg@3"]})
    assert all(note in alone.to_html() for note in alone.notes)
    tested = compare(truth, {"a": lists, "b": lists}, test="randomisation", **options)
    (line,) = [line for line in tested.footnotes() if "within groups of labels, as" in line]
    assert line in section_of(tested.to_html(), "Groups of labels")


def test_page_explains_settings_at_its_end() -> None:
    report = evaluate(np.eye(3), np.eye(3) + 1, metrics=["p@1"], conventions="empty=skip")
    page = report.to_html()
    end = section_of(page, "How it was computed")
    words = "rows without relevant labels are left out of measures at k"
    assert f"<dt>empty=skip</dt><dd>{words}</dd>" in end
    assert page.count("empty=skip") == 1
    unweighted = evaluate(np.eye(3), np.eye(3) + 1, metrics=["p@1"])
    page = Comparison({"a": report, "b": unweighted}).to_html()
    assert "<dt>a: empty=skip</dt>" in page
    assert "<dt>b: empty=zero</dt>" in page
    assert "<dt>unlisted=below</dt>" in page
    weights: dict[str, Any] = {"sample_weight": np.ones(3), "higher_is_better": False}
    page = evaluate(np.eye(3), np.eye(3) + 1, metrics=["p@1"], **weights).to_html()
    assert "<dt>higher_is_better=False</dt><dd>the lowest scores rank first</dd>" in page
    assert "<dt>sample_weight=given</dt><dd>rows count by their weights</dd>" in page


@pytest.mark.parametrize("name", CHOICES)
def test_every_convention_is_explained_in_other_words(name: str) -> None:
    explanations = list[str]()
    for choice in CHOICES[name]:
        fields: dict[str, Any] = {"gains": "linear", name: choice}
        conventions = Conventions(**fields)
        explanations += conventions.explained([name]).values()
    assert len({*explanations}) == len(explanations) >= len(CHOICES[name]) - (name == "gains")


class Summary(NamedTuple):
    """A page, a text in its summary, and a text that is not there."""

    page: str
    expected: str
    absent: str


def lists_of_random_labels(rng: np.random.Generator, depth: int) -> tuple[Any, Any]:
    labels = np.argsort(rng.random((60, 8)))[:, :depth]
    return labels, np.tile(0.0 - np.arange(depth), (60, 1))


def summaries_of_comparisons() -> Iterator[Summary]:
    whole = compared().to_html()
    yield Summary(whole, "model_0 has the highest P@1, 0.", "is seen between")
    better = "labels; significantly better than model_1 and model_2."
    yield Summary(whole, better, "is seen between")

    rows = np.arange(40) % 2
    eye = np.eye(40)
    split = compare(eye, {"a": eye, "b": 1 - eye}, metrics=["p@1"], row_groups=rows).to_html()
    yield Summary(split, "significantly better than b.", "better than b, b")

    same = {"a": np.eye(40)[:, :4], "b": np.eye(40)[:, :4]}
    equal = compare(np.eye(40)[:, :4], same, metrics=["p@1"]).to_html()
    no_difference = "; no significant difference is seen between a and b."
    yield Summary(equal, no_difference, "significantly better")

    reports = {name: replace(report) for name, report in compared().reports.items()}
    alone = Comparison(reports).to_html()
    yield Summary(alone, "whether the difference is real is not known", "significantly better")

    rng = np.random.default_rng(3)
    truth = rng.random((60, 8)) < 0.3
    lists = {"a": lists_of_random_labels(rng, 4), "b": lists_of_random_labels(rng, 6)}
    untested = compare(truth, lists, metrics=["auc.samples"]).to_html()
    yield Summary(untested, "could not be tested.", "no significant difference")

    groups = label_groups(truth, edges=[0, 15, 18])
    good = compare(truth, {"a": truth, "b": ~truth}, metrics=["p@1"], label_groups=groups)
    won = "each model won (p < 0.05 after Holm's correction)"
    all_won = f"Of {good.n_tests} tests, {won}: a {good.n_tests}, b 0."
    yield Summary(good.to_html(), all_won, "could not be tested")

    halved = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
    once = compare(np.eye(40), halved, metrics=["p@1", "ndcg@1", "hit@1"]).to_html()
    yield Summary(once, f"Of 1 test, {won}: a 1, b 0.", "a 3")


def summaries_of_rankings() -> Iterator[Summary]:
    values = {name: {"a": 0.1, "b": 0.2, "c": 0.3} for name in ("x", "y", "z")}
    far, near = (rank(values, "p@1", control=control).to_html() for control in "ab")
    best = "c has the best average rank by P@1, 1"
    difference = "a significant difference is seen to a, the control."
    yield Summary(far, f"{best}; {difference}", "no significant difference")
    no_difference = "1; no significant difference is seen to b, the control."
    yield Summary(near, no_difference, "a significant difference")


@pytest.mark.slow
def test_summary_names_the_best_model_and_the_tests() -> None:
    for page, expected, absent in chain(summaries_of_comparisons(), summaries_of_rankings()):
        summary = " ".join("".join(Parsed(page).texts).split())
        assert expected in summary
        assert absent not in summary


def test_to_html_writes_a_file_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics=["p@1"])
    path = tmp_path / "page.html"
    assert report.to_html(path, title="Identity") is None
    assert path.read_text() == report.to_html(title="Identity")
    ranking = rank({"x": {"a": 0.1, "b": 0.2}, "y": {"a": 0.1, "b": 0.2}}, "p@1")
    ranking.to_html(str(path))
    assert path.read_text() == ranking.to_html()

    with pytest.raises(ValueError, match=r"x\.png: a page is written as \.html, \.htm"):
        report.to_html(tmp_path / "x.png")
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        report.to_html(tmp_path / "no" / "page.html")

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "disk is full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk is full"):
        report.to_html(path)
    assert path.read_text() == ranking.to_html()
    assert [*tmp_path.iterdir()] == [path]


def test_to_html_takes_undefined_and_mixed_results() -> None:
    truth = np.zeros((3, 4), int)
    scores = np.arange(12.0).reshape(3, 4)
    options: dict[str, Any] = {
        "metrics": ["p@1", "auc.macro"],
        "per_label": True,
        "curve_points": 10,
    }
    assert compare(truth, {"a": scores, "b": -scores}, **options).to_html()
    by_row = evaluate(np.eye(3), np.eye(3), metrics=["p@1"], per_row=True)
    without_rows = evaluate(np.eye(3), np.eye(3), metrics=["p@1"], per_row=False)
    assert Comparison({"1": by_row, "0": without_rows}).to_html()


@pytest.mark.slow
def test_to_html_shows_names_as_text() -> None:
    label_names = np.array(HOSTILE * 4, object)[:20].tolist()
    reports = {}
    for name, report in zip(HOSTILE, compared(12).reports.values(), strict=False):
        reports[name] = replace(report, label_names=label_names)
    text = Comparison(reports).to_html(title=HOSTILE[0])
    assert [tag for tag, _ in Parsed(text).tags].count("script") == 1
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_to_html_stays_small_without_figures_and_with_many_labels() -> None:
    assert len(evaluate(np.eye(3), np.eye(3), metrics=["coverage"]).to_html()) < 50_000
    n = 100_000
    labels = np.arange(n)
    ptr = np.arange(0, n + 1, 100)
    truth = sp.csr_array((np.ones(n, np.int8), labels, ptr), shape=(n // 100, n))
    relevant = labels.reshape(-1, 100)
    scores = np.tile(0.0 - np.arange(5), (n // 100, 1))
    models = {
        "a": (relevant[:, 0:10:2], scores),
        "b": (relevant[:, 1:10:2], scores),
    }
    text = compare(truth, models, metrics=["p@1", "p@5"], per_label=["p@1"]).to_html()
    assert len(text) < 500_000
    assert "100000 labels" in text[text.index("Each relevant label by both models") - 100_000 :]


def test_panels_of_a_figure_share_the_rows_of_numbers() -> None:
    places = np.arange(1000.0)
    panels = [LinePanel([Series("m", places, places)], f"panel {n}", "x", "y") for n in range(3)]
    tables = Section("Curves", panels=panels).numbers
    assert [table.caption for table in tables] == [
        f"panel {n} (334 of 1000 rows)" for n in range(3)
    ]


def test_a_page_says_how_many_files_it_does_not_list(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(21)]
    for path in paths:
        path.write_text("1 1\n")
    facts = describe_run(paths)
    assert sum(head.startswith("SHA") for head in facts) == 20
    assert facts["More files"] == "1, not listed"


def test_page_has_the_measures_of_the_truth_that_models_cannot_change() -> None:
    truth = np.eye(4)
    truth[0] = 1
    models = {"a": truth + 0.1, "b": truth[::-1] + 0.1}
    metrics = ["p@1", "label_cardinality", "label_density"]
    comparison = compare(truth, models, metrics=metrics)
    section = section_of(comparison.to_html(), "Data set")
    assert "measures of the truth" in section
    rows = {"Label cardinality": 1.75, "Label density": 0.4375}
    for name, value in rows.items():
        head = f'<th scope="row">{name}</th>'
        assert f'{head}<td class="number">{value:.4f}</td>' in section
    assert "Data set" not in compare(truth, models, metrics="p@1").to_html()
    report = evaluate(truth, models["a"], metrics=metrics)
    assert "Label density" in section_of(report.to_html(), "Results")


@pytest.mark.parametrize("name", ["page.xyz", "page.txt", "page.json", "page"])
def test_to_html_takes_names_of_pages_and_names_without_ending(name: str, tmp_path: Path) -> None:
    report = evaluate(np.eye(3), np.eye(3) + 0.1, metrics=["p@1"])
    path = tmp_path / name
    if "." in name:
        with pytest.raises(ValueError, match=r"a page is written as \.html, \.htm$"):
            report.to_html(path)
        assert not path.exists()
    else:
        report.to_html(path)
        assert path.read_text() == report.to_html()


def test_page_tells_what_was_not_tested_from_what_is_alike() -> None:
    truth = np.eye(4, dtype=int)
    scores = {"a": truth + 0.5, "b": truth + 0.25}
    one_row = compare(truth[:1], {name: each[:1] for name, each in scores.items()}, metrics="p@1")
    assert np.isnan(one_row.differences[0].p_value)
    page = one_row.to_html()
    assert "could not be tested" in page
    assert "no significant difference" not in page
    page = compare(truth, scores, metrics="p@1").to_html()
    assert "could not be tested" not in page
    assert "no significant difference" in page


def test_pages_have_ten_cutoffs_and_the_groups_that_are_given() -> None:
    truth = np.eye(12)
    counts = np.tril(np.ones((12, 12), int))
    models: dict[str, Any] = {"a": truth + 0.5}
    options: dict[str, Any] = {"metrics": ["p@12", "psp@3"], "y_train": counts}
    report = evaluate_for_figures(models, truth, **options)["a"]
    cutoffs = {spec.k for spec in report.specs if spec.metric.name == "p"}
    assert cutoffs == {*range(1, 11), 12}
    assert len(report.groups) > 2
    given = evaluate_for_figures(models, truth, label_groups=[*"xxxyyyyyyyyy"], **options)
    assert [*given["a"].groups] == ["x", "y"]
