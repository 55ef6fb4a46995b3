"""Runs with language-model agents, played by scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chase.challengers.llm import LanguageModelChallenger
from chase.core.values import Json
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.local import LocalModel
from chase.proposers.llm import LanguageModelProposer
from chase.testing.capable import NAME, capable_model
from chase.testing.scripted import Call, Request, ScriptedModel, Step

SUBMISSIONS = ("give_feedback", "draft_candidates", "submit_candidates", "submit_proposals")


def capable() -> ChatModel:
    """The scripted capable model, in this process."""
    return ChatModel(ModelConfig(name=NAME), capable_model())


def agents(model: ChatModel, **limits: Any) -> dict[str, Any]:
    """Both agents, asking one model."""
    return {
        "proposer": LanguageModelProposer(model, **limits),
        "challenger": LanguageModelChallenger(model, **limits),
    }


def asked_for(request: Request) -> str:
    """Which submission is due: the one that was named last."""
    said = "\n".join(
        str(part.content) for message in request.messages for part in message.parts if part.part_kind == "user-prompt"
    )
    return max(SUBMISSIONS, key=said.rfind)


def submitting(forms: Mapping[str, Sequence[Mapping[str, Json]]]) -> ScriptedModel:
    """A model that reads nothing and hands in, for each submission, one form after the other, the last again."""

    def script(request: Request) -> Step:
        name = asked_for(request)
        made = [
            part
            for message in request.messages
            for part in message.parts
            if getattr(part, "tool_name", None) == name and part.part_kind == "tool-call"
        ]
        return Call(name, dict(forms[name][min(len(made), len(forms[name]) - 1)]))

    return ScriptedModel(script)


FEEDBACK: Mapping[str, Json] = {"observations": ["it searches once"], "hypotheses": ["more would help"]}


def candidate(files: Mapping[str, str], **more: Json) -> dict[str, Json]:
    return {
        "files": [{"path": path, "text": text} for path, text in files.items()],
        "edits": ["an edit"],
        "targeted_failures": ["stable failures"],
        "activation": "always",
        "stopping": "when found",
        "expected_tool_calls": 0,
        "regression_risks": ["none known"],
        **more,
    }


PROMPT = "Use the available tools to answer the question and return the answer in the required format."
STRUCTURE = 'schema = "chase.harness/1"\nbenchmark = "syn-ledger"\n[control]\nrepairs = 1\n'
GOOD: Mapping[str, Json] = {
    "structural": candidate({"harness.toml": STRUCTURE}),
    "guidance": candidate({"prompt.md": f"{PROMPT} Look at every record."}),
    "integrated": candidate({"harness.toml": STRUCTURE, "prompt.md": f"{PROMPT} Look at every record."}),
}
DRAFTS: Mapping[str, Json] = {track: GOOD[track] for track in ("structural", "guidance")}


def proposals(*aspects: str, name: str = "reverse") -> dict[str, Json]:
    return {
        "proposals": [
            {
                "operators": [{"name": name, "arguments": {"aspect": aspect}}],
                "description": f"turn {aspect} round",
                "suspected_shortcut": aspect,
            }
            for aspect in aspects
        ]
    }


def handed(forms: Mapping[str, Json]) -> dict[str, Json]:
    """Candidates by track as a submission's arguments."""
    return {"candidates": [{"track": track, **form} for track, form in forms.items()]}


FORMS: Mapping[str, Sequence[Mapping[str, Json]]] = {
    "give_feedback": [FEEDBACK],
    "draft_candidates": [handed(DRAFTS)],
    "submit_candidates": [handed(GOOD)],
    "submit_proposals": [proposals("depth", "format")],
}


def local(respond: Callable[..., Any]) -> ChatModel:
    return ChatModel(ModelConfig(name="sim:scripted"), LocalModel(respond, name="sim:scripted", version="1"))


def written(folder: Path) -> str:
    """All text files under a folder, together."""
    return "\n".join(
        path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.rglob("*")) if path.is_file()
    )
