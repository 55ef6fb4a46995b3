"""Prompts of agents: text files of the package, filled in, and named by version and digest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template

from chase.core.keyed import digest


class PromptFiles:
    """The `.md` files in `PACKAGE/prompts`. `version` is raised by hand; the digest tells what was really said."""

    def __init__(self, package: str, version: int) -> None:
        self.version = version
        self._texts = _texts(package)

    @property
    def stamp(self) -> str:
        """Stands on every record that was made with these prompts."""
        return f"{self.version}-{digest(dict(self._texts))[:8]}"

    def fill(self, name: str, **values: object) -> str:
        """A prompt with its placeholders filled in; a missing one is an error, a spare one is not."""
        return Template(self._texts[name]).substitute({key: str(value) for key, value in values.items()}).strip()


@cache
def _texts(package: str) -> Mapping[str, str]:
    folder = files(package) / "prompts"
    return {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".md")
    }
