"""Tables as text: Markdown, LaTeX and CSV of the same rows."""

from __future__ import annotations

import csv
import io
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
}
_SIGNS = {
    "Δ": r"$\Delta$",
    "Γ": r"$\Gamma$",
    "±": r"$\pm$",
    "−": "$-$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "α": r"$\alpha$",
    "✓": r"\checkmark",
    "✗": r"$\times$",
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Headings and rows, in words for people; `data` are the same rows as plain values, for programs."""

    name: str
    """Of its files."""
    title: str
    headings: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    fields: tuple[str, ...]
    data: Sequence[Sequence[object]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        lines = [f"**{self.title}**", "", _row(self.headings), _row(["---"] * len(self.headings))]
        lines += [_row([cell.replace("|", r"\|") for cell in row]) for row in self.rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)]) + "\n"

    def latex(self) -> str:
        """A table of its own, with booktabs."""
        body = [" & ".join(map(_tex, row)) + r" \\" for row in self.rows]
        return (
            "\n".join(
                [
                    r"\begin{table}[ht]",
                    r"\centering",
                    rf"\caption{{{_tex(' '.join([self.title + '.', *self.notes]))}}}",
                    rf"\begin{{tabular}}{{l{'r' * (len(self.headings) - 1)}}}",
                    r"\toprule",
                    " & ".join(map(_tex, self.headings)) + r" \\",
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
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.fields)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.data)
        return file.getvalue()


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tex(text: str) -> str:
    return "".join(_ESCAPES.get(c, _SIGNS.get(c, c)) for c in text)
