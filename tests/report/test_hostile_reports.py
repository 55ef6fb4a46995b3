"""Whatever a model wrote stays text: on the page, in figures, in Markdown, LaTeX and CSV, on the terminal."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from chase.report.page import html, symbols
from chase.runs.tables import Table, latex_text, markdown_text
from tests.cli.commands import Commands
from tests.report.attacks import HOSTILE, attack
from tests.report.finished_runs import Runs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]

TAGS = {
    "html", "head", "meta", "title", "style", "body", "a", "header", "h1", "h2", "h3", "span", "div", "p", "dl", "dt",
    "dd", "nav", "ul", "li", "main", "section", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td",
    "details", "summary", "pre", "code", "sub", "footer", "svg", "desc", "line", "rect", "circle", "polygon", "text",
}  # fmt: skip
COMMANDS = {
    "begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "textbackslash", "textasciitilde",
    "textasciicircum", "textless", "textgreater", "textbar", "textquotedbl", "alpha", "gamma", "varepsilon", "eta",
    "rho", "hat", "Delta", "Gamma", "pm", "leq", "geq", "to", "times", "checkmark", "ldots", "textwidth",
}  # fmt: skip


class Seen(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def attacked(runs: Runs, tmp_path: Path) -> Runs:
    """The runs with a hostile text in every field of their results and in every text of their harnesses."""
    return attack(runs.copied(tmp_path), HOSTILE)


def report(attacked: Runs, kind: str, chase: Commands, out: Path) -> Path:
    chase.json("report", getattr(attacked, kind), "--out", out, "--workspace", attacked.root)
    return out


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    monkeypatch.setattr("chase.report.raster.png", lambda drawing: b"\x89PNG")
    return Commands(monkeypatch, capsys)


@pytest.mark.parametrize("kind", ["evolution", "audit", "comparison"])
def test_nothing_that_a_model_wrote_is_markup_or_code_anywhere(
    attacked: Runs, chase: Commands, tmp_path: Path, kind: str
) -> None:
    out = report(attacked, kind, chase, tmp_path / "out")
    page = (out / "report.html").read_text()
    seen = Seen(page)
    assert "HYPERLINK" in seen.text  # it is there, and it is text
    assert "{{7*7}}" in seen.text
    assert seen.tags <= TAGS
    for name, value in seen.attributes:
        assert not name.startswith("on")
        assert name not in ("style", "src", "xlink:href")
        assert name != "href" or value.startswith("#")
    assert "\x1b" not in page
    assert "\u202e" not in page
    for path in (out / "figures").glob("*.svg"):
        tags = {element.tag.split("}")[1] for element in ElementTree.parse(path).iter()}
        assert tags <= {"svg", "title", "desc", "style", "line", "rect", "circle", "polygon", "text"}
    for path in (out / "tables").iterdir():
        check_table(path)
    shown = chase("show", getattr(attacked, kind), "--workspace", attacked.root).out
    assert "HYPERLINK" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def check_table(path: Path) -> None:
    text = path.read_text()
    if path.suffix == ".csv":
        for row in csv.reader(text.splitlines(keepends=True)):
            for cell in row:
                assert not cell.startswith(("=", "+", "-", "@")) or re.fullmatch(r"-?[0-9.e-]+", cell)
    elif path.suffix == ".tex":
        assert set(re.findall(r"\\([A-Za-z]+)", text)) <= COMMANDS
        assert not re.search(r"(?<!\\)[%#]", text)
    else:
        rendered = Seen(MarkdownIt("commonmark").enable("table").render(text))
        assert rendered.tags <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


def test_the_policy_allows_this_style_sheet_and_nothing_else(runs: Runs, chase: Commands, tmp_path: Path) -> None:
    page = (report(runs, "audit", chase, tmp_path / "out") / "report.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy
    assert style
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    said = policy[1].replace("&#39;", "'").replace("&#43;", "+")
    assert said == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert page.count("<style>") == 1


def test_a_table_keeps_hostile_cells_as_text_in_every_form() -> None:
    table = Table(
        name="t", title=HOSTILE, headings=("a", HOSTILE), rows=[["x", HOSTILE]], fields=("a", "b"),
        data=[["x", HOSTILE], [-0.5, "-1+1"], ["\t=1", "@sum"]], notes=[HOSTILE],
    )  # fmt: skip
    rows = list(csv.reader(table.csv().splitlines(keepends=True)))
    assert rows[1][1].startswith("'=HYPERLINK")
    assert rows[2] == ["-0.5", "'-1+1"]
    assert rows[3] == ["'\t=1", "'@sum"]
    rendered = Seen(MarkdownIt("commonmark").enable("table").render(table.markdown()))
    assert rendered.tags <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert "HYPERLINK" in rendered.text
    assert r"\input" not in table.latex()


def test_escapes_leave_ordinary_words_as_they_are() -> None:
    assert markdown_text("file formats made equal (low), +7.1 ± 0.2") == "file formats made equal (low), +7.1 ± 0.2"
    assert latex_text("Δ_BS ≤ 5 %") == r"$\Delta$\_BS $\leq$ 5 \%"
    assert latex_text("Δ̂_b1, Ĝ_rel, R̂") == r"$\hat{\Delta}$\_b1, $\hat{G}$\_rel, $\hat{R}$"
    assert latex_text("\u0302 {\u0302 $\u0302 &\u0302") == r" \{ \$ \&"
    assert str(symbols("G_rel of H_0 in a_b.txt")) == "G<sub>rel</sub> of H<sub>0</sub> in a_b.txt"


def test_a_document_is_set_with_autoescape_on() -> None:
    from chase.report.document import Document, Section, Text

    made = Document(
        title=HOSTILE, verdict=HOSTILE, tone="open", label=HOSTILE, badges=[HOSTILE], facts=[("Run", HOSTILE)],
        sections=[Section(id="results", title=HOSTILE, lead=HOSTILE, blocks=[Text(text=HOSTILE, strong=True)])],
    )  # fmt: skip
    seen = Seen(html(made, [HOSTILE]))
    assert seen.tags <= TAGS
    assert seen.text.count("HYPERLINK") >= 8
    assert json.dumps(seen.attributes).count("javascript") == 0
