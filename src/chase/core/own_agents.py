"""What an agent of one's own is given in a rollout and gives back: plain data, and the tools of one environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chase.core.values import AnswerForm, Usage, View

if TYPE_CHECKING:
    from chase.core.interfaces import Environment


@dataclass(frozen=True, kw_only=True, slots=True)
class Posed:
    """One task as it is posed. It holds no answer, no evidence, no role and no name of a variant."""

    view: View
    environment: Environment
    """Its tools, within the benchmark's limits. Every call is in the trace."""
    answer_form: AnswerForm
    seed: int
    """The same for a task and a rollout's index under every variant and for every agent."""
    note: Callable[..., None]
    """Adds an event to the trace: its kind, then its details by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """How it ended."""

    answer: str | None
    reason: str
    """'answered', or why there is no answer."""
    usage: Usage = field(default_factory=Usage)
    """As the agent reports it; no requests where it does not."""
    served_model: str = ""
