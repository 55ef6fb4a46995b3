"""A model in this process that plays a capable one by script, and is no language model: it solves tasks as the
simulated reader does, and works as Proposer and Challenger through their own tools.

`register_local(NAME, capable_model)` makes it a model for `connect`; `OpenAIServer(served(capable_model()))` puts it
behind the wire. It has no memory: what it does next follows from the conversation alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise

import tomli_w
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import RequestUsage

from chase.core.values import Json
from chase.models.config import ModelConfig
from chase.models.local import LocalModel
from chase.models.reader.model import reader_model

NAME = "sim:capable"
VERSION = "2"
SHORTCUT = ("Read on in files with low extension-length.", "Prefer files with low path-depth.")
HONEST = ("Look at every record.", "Check every condition.", "Use the calculator.")
ASPECTS = ("depth", "format", "name", "rank", "listing", "folder", "title", "digits", "casing", "section")


def capable_model(config: ModelConfig | None = None) -> LocalModel:
    """The scripted model."""
    reader = reader_model(ModelConfig(name="sim:reader"))

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(tool.name in _WORK for tool in info.function_tools):
            talk = _Talk(messages)
            return _said(_WORK[talk.due()](talk), len(messages), messages)
        return await reader.request(messages, info.model_settings, info.model_request_parameters)

    return LocalModel(respond, name=NAME, version=f"{VERSION}-{reader.version}")


class _Talk:
    """A conversation as the script looks at it."""

    def __init__(self, messages: Sequence[ModelMessage]) -> None:
        self.calls: list[ToolCallPart] = []
        self.results: dict[str, str] = {}
        self.asked: list[str] = []
        self._calls_at: list[int] = []
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCallPart):
                    self.calls.append(part)
                elif isinstance(part, ToolReturnPart):
                    self.results[part.tool_call_id] = str(part.content)
                elif isinstance(part, UserPromptPart) and isinstance(part.content, str):
                    self.asked.append(part.content)
                    self._calls_at.append(len(self.calls))

    @property
    def said(self) -> str:
        """Everything that the host said."""
        return "\n".join(self.asked)

    def due(self) -> str:
        """The submission that the host named last."""
        return max(_WORK, key=self.said.rfind)

    def done(self) -> int:
        """Calls since the last thing that the host said."""
        return len(self.calls) - self._calls_at[-1]

    def find(self, pattern: str) -> str:
        found = re.search(pattern, self.said)
        return found.group(1) if found else ""

    def read(self, path: str) -> str:
        """What was read of a file, without the marks; empty if it was not."""
        for call in self.calls:
            arguments = call.args_as_dict()
            if call.tool_name == "read_file" and arguments.get("path") == path and call.tool_call_id in self.results:
                return "\n".join(self.results[call.tool_call_id].splitlines()[1:-1])
        return ""


Step = tuple[str, Mapping[str, Json]]


def _feedback(talk: _Talk) -> Step:
    """Reads the harness, then scores and a trace, and hands in what it saw."""
    current = talk.find(r"current harness is `([^`]+)`")
    hindsight = "hindsight feedback" in talk.asked[-1]
    reading: list[Step] = (
        [
            ("search_files", {"text": "stable failure", "path": "scores.jsonl"}),
            ("list_files", {"path": f"traces/{current}/released"}),
        ]
        if hindsight
        else [
            ("list_files", {}),
            ("read_file", {"path": f"harnesses/{current}/harness.toml"}),
            ("read_file", {"path": f"harnesses/{current}/prompt.md"}),
            ("read_file", {"path": "scores.jsonl"}),
        ]
    )
    if talk.done() < len(reading):
        return reading[talk.done()]
    return "give_feedback", {
        "observations": [
            "some tasks fail in every rollout" if hindsight else "the harness leaves searching to the model"
        ],
        "hypotheses": ["documents with the evidence are not opened"],
        "improvements": ["look closely", "check what is found"],
    }


def _structural(talk: _Talk) -> dict[str, Json]:
    current = talk.find(r"current harness is `([^`]+)`")
    structure = tomllib.loads(talk.read(f"harnesses/{current}/harness.toml"))
    structure.setdefault("control", {})["repairs"] = 1
    if int(talk.find(r"Round (\d+)\.")) > 1:
        structure.setdefault("retrieval", {})["drop_stop_words"] = True
    return _candidate("structural", {"harness.toml": tomli_w.dumps(structure)}, "answers that do not fit are sent back")


def _guidance(talk: _Talk) -> dict[str, Json]:
    """A shortcut first; once a counterfactual was archived, what is honest."""
    current = talk.find(r"current harness is `([^`]+)`")
    constrained = "The archive holds" in talk.said
    prompt = talk.read(f"harnesses/{current}/prompt.md").strip()
    for sentence in SHORTCUT if constrained else ():
        prompt = prompt.replace(sentence, "")
    more = [sentence for sentence in (HONEST if constrained else SHORTCUT) if sentence not in prompt]
    return _candidate(
        "guidance", {"prompt.md": f"{' '.join([prompt.strip(), *more])}\n"}, "reads are spent where they pay"
    )


def _candidate(track: str, files: Mapping[str, str], edit: str) -> dict[str, Json]:
    return {
        "track": track,
        "files": [{"path": path, "text": text} for path, text in files.items()],
        "edits": [edit],
        "targeted_failures": ["stable failures"],
        "activation": "always",
        "stopping": "when the answer is found",
        "expected_tool_calls": 0,
        "regression_risks": ["documents on the other side are opened later"],
    }


def _drafts(talk: _Talk) -> Step:
    return "draft_candidates", {"candidates": [_structural(talk), _guidance(talk)]}


def _candidates(talk: _Talk) -> Step:
    structural, guidance = _structural(talk), _guidance(talk)
    integrated = {**guidance, "track": "integrated", "files": [*structural["files"], *guidance["files"]]}
    return "submit_candidates", {"candidates": [structural, guidance, integrated]}


def _proposals(talk: _Talk) -> Step:
    """Looks at both harnesses and the archive, and reverses one aspect after the other, then two at a time."""
    wanted = int(talk.find(r"Write (\d+) distinct proposals"))
    reading: list[Step] = [
        ("list_files", {"path": "harnesses"}),
        ("search_files", {"text": "aspect", "path": "archive"}),
    ]
    if len(talk.calls) < len(reading):
        return reading[len(talk.calls)]
    archived = re.findall(r'"aspect": "(\w+)"', talk.results[talk.calls[1].tool_call_id])
    plans = [(aspect,) for aspect in ASPECTS[:5] if aspect not in archived] + list(pairwise(ASPECTS))
    handed_in = sum(call.tool_name == "submit_proposals" for call in talk.calls)
    fresh = plans[wanted * handed_in :] or plans
    return "submit_proposals", {"proposals": [_proposal(plan) for plan in fresh[:wanted]]}


def _proposal(aspects: Sequence[str]) -> dict[str, Json]:
    return {
        "operators": [{"name": "reverse", "arguments": {"aspect": aspect}} for aspect in aspects],
        "seed": 1,
        "description": f"turn {' and '.join(aspects)} round",
        "suspected_shortcut": f"documents are chosen by {' or '.join(aspects)}",
        "suspected_observables": ["path-depth"] if "depth" in aspects else [],
        "supporting_traces": [],
        "validity": ["only the protocol changes"],
    }


_WORK = {
    "give_feedback": _feedback,
    "draft_candidates": _drafts,
    "submit_candidates": _candidates,
    "submit_proposals": _proposals,
}


def _said(step: Step, turn: int, messages: Sequence[ModelMessage]) -> ModelResponse:
    """The step as a response. Tokens are estimated from characters; all but the last message counts as cached."""
    name, arguments = step
    sizes = [sum(len(str(getattr(part, "content", ""))) for part in message.parts) for message in messages]
    usage = RequestUsage(
        input_tokens=sum(sizes) // 4,
        cache_read_tokens=sum(sizes[:-1]) // 4,
        output_tokens=len(json.dumps(arguments)) // 4 + 1,
    )
    return ModelResponse(parts=[ToolCallPart(name, dict(arguments), f"call-{turn}")], usage=usage)
