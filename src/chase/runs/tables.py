"""Tables as text: Markdown, LaTeX and CSV of the same rows. What a cell holds may be a model's words: it stays text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
_SIGNS = {
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "ε": r"$\varepsilon$",
    "η": r"$\eta$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "Γ": r"$\Gamma$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "×": r"$\times$",
    "✓": r"\checkmark{}",
    "✗": r"$\times$",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
}
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~$!]|(?<![\w\u0302])_|_(?!\w))")
_FORMULA = re.compile(r"\s*[=+\-@]|[\t\r]")
"""How a cell begins that a spreadsheet would compute."""
WRAPPED = "p"
"""The alignment of a column of prose."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Headings and rows, in words for people; `data` the same for programs, in as many rows or finer."""

    name: str
    """Of its files."""
    title: str
    headings: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    fields: tuple[str, ...]
    data: Sequence[Sequence[object]]
    notes: Sequence[str] = ()
    alignments: str = ""
    """A letter for each column: l, r, c, p for prose that wraps, m for hashes. Default: l, then r."""

    @property
    def aligned(self) -> str:
        """A letter for each column."""
        return self.alignments or "l" + "r" * (len(self.headings) - 1)

    def markdown(self) -> str:
        rules = [{"r": "---:", "c": ":---:"}.get(letter, "---") for letter in self.aligned]
        lines = [f"**{markdown_text(self.title)}**", "", _row(map(markdown_text, self.headings)), _row(rules)]
        lines += [_row(map(markdown_text, row)) for row in self.rows]
        return "\n".join([*lines, *(f"\n{markdown_text(note)}" for note in self.notes)]) + "\n"

    def latex(self) -> str:
        """A table of its own, with booktabs."""
        prose = self.aligned.count(WRAPPED)
        widths = {WRAPPED: rf"p{{{0.8 / max(prose, 2):.2f}\textwidth}}", "m": "l"}
        columns = "".join(widths.get(letter, letter) for letter in self.aligned)
        body = [" & ".join(map(latex_text, row)) + r" \\" for row in self.rows]
        return (
            "\n".join(
                [
                    r"\begin{table}[ht]",
                    r"\centering",
                    rf"\caption{{{latex_text(' '.join([self.title + '.', *self.notes]))}}}",
                    rf"\begin{{tabular}}{{{columns}}}",
                    r"\toprule",
                    " & ".join(map(latex_text, self.headings)) + r" \\",
                    r"\midrule",
                    *body,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
            + "\n"
        )

    def csv(self) -> str:
        """The data. A text that a spreadsheet would take for a formula has an apostrophe before it."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.fields)
        writer.writerows([_cell(value) for value in row] for row in self.data)
        return file.getvalue()


HAT = "\u0302"
_LETTER = re.compile(f".{HAT}?")


def markdown_text(text: str) -> str:
    """A text that is nothing but text on a line of Markdown."""
    return _MARKDOWN.sub(r"\\\1", _line(text)).replace("&", "&amp;").replace(r"\<", "&lt;").replace(r"\>", "&gt;")


def latex_text(text: str) -> str:
    """A text that is nothing but text in LaTeX."""
    return "".join(map(_latex_letter, _LETTER.findall(_line(text).replace("Ĝ", f"G{HAT}"))))


def _latex_letter(letter: str) -> str:
    """One letter, with or without the hat of an estimate; LaTeX knows no hat that stands for itself."""
    plain = letter[0]
    sign = _ESCAPES.get(plain, _SIGNS.get(plain, plain))
    if not letter.endswith(HAT) or not plain.isalpha():
        return sign.replace(HAT, "")
    return rf"$\hat{{{sign.strip('$')}}}$"


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _line(text: str) -> str:
    """On one line, without what cannot be seen."""
    return "".join(c if c.isprintable() else " " for c in text)


def _row(cells: Sequence[str] | map[str]) -> str:
    return f"| {' | '.join(cells)} |"
