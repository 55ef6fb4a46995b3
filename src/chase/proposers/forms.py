"""What Proposers are told of the form of a harness for a benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from chase.core.values import Placeholder


def placeholder_words(placeholders: Mapping[str, Placeholder]) -> str:
    """The placeholders of query templates, each with what it is filled with."""
    return ", ".join(f"{{{name}}} ({placeholder.description})" for name, placeholder in placeholders.items())
