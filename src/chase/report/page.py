"""A report as one HTML file: it opens offline, loads nothing and runs nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from chase import __version__
from chase.report import document as documents
from chase.report.document import Block, Document
from chase.report.drawing import css, inline_svg
from chase.runs.rendering import printable

_SYMBOL = re.compile(r"(?<![\w/.-])([A-ZΔΓρ]\u0302?|Ĝ|R̂|Δ̂)_([A-Za-z0-9]{1,8}(?:,A)?)(?![\w./]|-(?!free\b))")


@cache
def environment() -> Environment:
    """The templates of reports, with autoescape: whatever a model or a document wrote stays text."""
    made = Environment(
        loader=PackageLoader("chase.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters["svg"] = lambda drawing: Markup(inline_svg(drawing))  # escapes its own text
    made.filters["symbols"] = symbols
    made.tests["kind"] = _is_kind
    return made


def _visible(value: object) -> object:
    """What a template prints, with characters spelled out that cannot be seen or that turn the text around them."""
    return printable(value) if type(value) is str else value


def symbols(text: str) -> Markup:
    """A text, escaped, with the paper's indices set as such: `G_rel`, `Δ_BS`, `H_0`."""
    return Markup(_SYMBOL.sub(r"\1<sub>\2</sub>", str(escape(printable(text)))))  # of letters and digits alone


def _is_kind(block: Block, name: str) -> bool:
    return isinstance(block, getattr(documents, name))


def style_sheet() -> str:
    """The page's style, that of the figures included."""
    own = files("chase.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    return own + css()


def policy(style: str) -> str:
    """The content-security policy: this one style sheet, and nothing else."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def html(document: Document, warnings: Sequence[str] = ()) -> str:
    """The page."""
    style = style_sheet()
    template = environment().get_template("report.html")
    return template.render(document=document, warnings=warnings, style=style, policy=policy(style), version=__version__)
