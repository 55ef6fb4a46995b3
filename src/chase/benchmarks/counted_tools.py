"""Tools of which every call is counted, under the names of a variant: what the environments of corpora share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from chase.benchmarks.naming import Names, Operation, show_limits, show_tools
from chase.core.values import Json, Limits, ToolResult

Handler = Callable[[Mapping[str, Json]], ToolResult]
_LONGEST_QUOTE = 40


class CountedTools(ABC):
    """One rollout's tools. Every call is counted, also those that were refused."""

    def __init__(self, names: Names, *, operations: Sequence[Operation], limits: Limits) -> None:
        self.tools = show_tools(operations, names)
        self.limits = show_limits(limits, names)
        self._arguments = names.argument
        self._operations = {names.tool_names[operation.name]: operation for operation in operations}
        self._used: Counter[str] = Counter()

    @property
    @abstractmethod
    def _handlers(self) -> Mapping[str, Handler]:
        """Canonical tool → what it does with its arguments, under their canonical names."""

    @abstractmethod
    def refusal(self, message: str) -> ToolResult:
        """The answer to a call that cannot be carried out."""

    def calls_left(self) -> Mapping[str, int]:
        left = {group: max(0, most - self._used[group]) for group, most in self.limits.group_calls.items()}
        return {**left, "total": max(0, self.limits.total_calls - self._used.total())}

    def call(self, tool: str, arguments: Json) -> ToolResult:
        """The tool's answer. A model may send any JSON for arguments, also what is no object."""
        group = self.limits.tool_groups.get(tool, "unknown")
        left = self.calls_left()
        self._used[group] += 1
        if group == "unknown" or tool not in self._operations:
            return self.refusal(f"There is no tool {_quoted(tool)}. Tools: {', '.join(self._operations)}.")
        if not left["total"] or not left[group]:
            return self.refusal(f"No {group} calls are left.")
        if not isinstance(arguments, Mapping):
            return self.refusal(f"{tool} takes its arguments as one JSON object.")
        operation = self._operations[tool]
        names = {self._arguments(f"{operation.name}.{name}"): name for name in operation.arguments}
        unknown = [_quoted(name) for name in arguments if name not in names]
        given = {names[name]: value for name, value in arguments.items() if name in names}
        if unknown or not given.keys() >= set(operation.required):
            told = f" Unknown: {', '.join(unknown[:4])}." if unknown else ""
            return self.refusal(f"{tool} takes {', '.join(names)}.{told}")
        return self._handlers[operation.name](given)


def is_count(value: Json) -> bool:
    """Whether an argument is a whole number from 1 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _quoted(text: Json) -> str:
    """A text of the agent's as a message may repeat it: short and printable."""
    shown = str(text) if isinstance(text, str) else type(text).__name__
    return repr(shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]}…")
