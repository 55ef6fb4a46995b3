"""Prompts of agents: text files of the package, filled in, and named by version and digest."""

from __future__ import annotations

from importlib.resources import files
from string import Template

from chase.core.keyed import digest


class PromptFiles:
    """The files `PACKAGE/prompts/AGENT/*.md`. `version` is raised by hand; the digest tells what was really said."""

    def __init__(self, package: str, agent: str, version: int) -> None:
        folder = files(package) / "prompts" / agent
        self._texts = {
            entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
            for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
            if entry.name.endswith(".md")
        }
        self.stamp = f"{version}-{digest(self._texts)[:8]}"
        """Stands on every record that was made with these prompts."""

    def fill(self, name: str, **values: object) -> str:
        """A prompt with its placeholders filled in; a missing one is an error, a spare one is not."""
        return Template(self._texts[name]).substitute({key: str(value) for key, value in values.items()}).strip()
