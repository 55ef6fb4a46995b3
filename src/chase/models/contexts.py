"""Whether a history can be too long for a model: an endpoint in trouble says many things, and this one is scored."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

STATUSES = frozenset({400, 413, 422})
"""With which an endpoint refuses a request for its length."""
SHORTEST_TOKENS = 2_048
"""No model that is in use has a shorter context."""
NEAR = 0.5
"""Of the longest history that was answered. Texts of the same length differ in tokens by less."""
CHARACTERS_PER_TOKEN = 4


class AnsweredLengths:
    """How long histories a model has answered, so that a refusal of a shorter one is not believed."""

    def __init__(self) -> None:
        self._longest = 0.0

    def answered(self, messages: Sequence[ModelMessage]) -> None:
        """A history of this length fits."""
        self._longest = max(self._longest, _tokens(messages))

    def can_be_too_long(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether a history is near a limit that the model may have."""
        return _tokens(messages) >= max(SHORTEST_TOKENS, NEAR * self._longest)


def _tokens(messages: Sequence[ModelMessage]) -> float:
    parts = (part for message in messages for part in message.parts)
    said = (str(getattr(part, name, None) or "") for part in parts for name in ("content", "args"))
    return sum(map(len, said)) / CHARACTERS_PER_TOKEN
