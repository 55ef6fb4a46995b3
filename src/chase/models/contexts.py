"""Whether a history can be too long for a model: an endpoint in trouble says many things, and this one is scored."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse

STATUSES = frozenset({400, 413, 422})
"""With which an endpoint refuses a request for its length."""
SHORTEST_TOKENS = 2_048
"""No model that is in use has a shorter context."""
NEAR = 0.5
"""Of the longest history that was answered. Texts of the same length differ in tokens by less."""
BYTES_PER_TOKEN = 4


class AnsweredLengths:
    """How long histories a model has answered, so that a refusal of a shorter one is not believed."""

    def __init__(self) -> None:
        self._longest = 0.0

    def answered(self, messages: Sequence[ModelMessage]) -> None:
        """A history of this length fits."""
        self._longest = max(self._longest, _tokens(messages))

    def can_be_too_long(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether a history is near a limit that the model may have."""
        estimated = _tokens(messages)
        return max(estimated, _counted(messages)) >= SHORTEST_TOKENS and estimated >= NEAR * self._longest


def _tokens(messages: Sequence[ModelMessage]) -> float:
    """About how many tokens a history has, by its length alone."""
    parts = (part for message in messages for part in message.parts)
    said = (str(getattr(part, name, None) or "") for part in parts for name in ("content", "args"))
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "replace")) for text in said) / BYTES_PER_TOKEN


def _counted(messages: Sequence[ModelMessage]) -> int:
    """The tokens of the history up to the last response, as the model's provider counted them."""
    counts = (message.usage.total_tokens for message in reversed(messages) if isinstance(message, ModelResponse))
    return next(counts, 0)
