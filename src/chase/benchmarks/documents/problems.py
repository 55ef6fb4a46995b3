"""What is wrong with a benchmark of documents, each with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chase.core.values import Json

Severity = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One sentence on one place. An error keeps the benchmark from being used, a warning does not."""

    file: str
    """Beside benchmark.toml."""
    what: str
    """What is wrong, and what to do."""
    line: int | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.what}"

    def as_json(self) -> Json:
        return {"severity": self.severity, "file": self.file, "line": self.line, "what": self.what}


def errors_of(problems: Sequence[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def by_place(problems: Sequence[Problem]) -> list[Problem]:
    """File after file as they were met, each from its first line to its last."""
    files = list(dict.fromkeys(problem.file for problem in problems))
    return sorted(problems, key=lambda problem: (files.index(problem.file), problem.line or 0))
