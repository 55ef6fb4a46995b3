"""The judge of a benchmark of documents: it asks a language model for the score of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart

from chase.benchmarks.documents.contents import Task
from chase.benchmarks.documents.judging import SYSTEM, form, put, read_verdict, score_tool
from chase.core.agents import EpisodeBounds
from chase.core.errors import ChaseError
from chase.core.keyed import digest, key_bits, opaque_id
from chase.core.values import Json, Request, ToolSpec, Verdict
from chase.models.chat import ChatModel, Reply
from chase.models.errors import ContextTooLong, ModelError

ATTEMPTS = 2
VERDICT_SECONDS = 1_800.0
"""For all requests of one verdict, retries included, waits in an outage not."""
CASE_LETTERS = 6
CHARACTERS_PER_TOKEN = 4
REPLY_TOKENS = 4_096
"""In a bound: of a reply of a model whose settings have no max_tokens."""
AGAIN = "That cannot be read: it does not end in the form that was asked for. "


@dataclass(frozen=True, kw_only=True)
class DocumentsJudge:
    """See `chase.core.interfaces.Judge` for the contract."""

    model: ChatModel
    prompt: str
    scale: int
    longest: int
    """Characters of an answer that are shown."""
    identity: Json
    """The scorer's, as the benchmark's content has it."""
    task: Callable[[str], Task]
    most_characters: int
    """Of a question with its answer."""

    @cached_property
    def fingerprint(self) -> str:
        return digest({"model": self.model.fingerprint, "scorer": self.identity})

    @property
    def bounds(self) -> EpisodeBounds:
        said = self.model.config.settings.get("max_tokens")
        reply = said if isinstance(said, int) else REPLY_TOKENS
        # Spelled out a character is six at most.
        shown = len(SYSTEM) + len(self.prompt) + len(AGAIN) + 500 + 6 * (self.longest + self.most_characters)
        given = ATTEMPTS * shown // CHARACTERS_PER_TOKEN + (ATTEMPTS - 1) * reply
        return EpisodeBounds(requests=ATTEMPTS, input_tokens=given, output_tokens=ATTEMPTS * reply)

    def case(self, task: str, answer: str) -> str:
        held = self.task(task)
        return digest([self.fingerprint, held.question, held.answer, answer])

    async def judge(self, task: str, answer: str, paid: list[Request]) -> Verdict:
        digest_ = self.case(task, answer)
        case, seed = opaque_id("judge", digest_, letters=CASE_LETTERS), key_bits("judge", digest_) & 0x7FFFFFFF
        asked = form(case, self.scale, by_tool=bool(self._tools))
        shown = put(self.prompt, self._values(task, answer), longest=self.longest)
        messages: list[ModelMessage] = [
            ModelRequest(parts=[SystemPromptPart(SYSTEM), UserPromptPart(f"{shown}\n\n{asked}")])
        ]
        deadline = self.model.now() + VERDICT_SECONDS
        for _ in range(ATTEMPTS):
            reply = await self._ask(messages, seed, deadline)
            paid.append(Request(usage=reply.usage, served_model=reply.served_model))
            if (verdict := read_verdict(reply.response.parts, case, self.scale)) is not None:
                return verdict
            messages += [reply.response, ModelRequest(parts=[UserPromptPart(AGAIN + asked)])]
        raise self._unreadable(task)

    def _values(self, task: str, answer: str) -> Mapping[str, str]:
        held = self.task(task)
        return {"question": held.question, "answer": held.answer, "prediction": answer.strip()}

    async def _ask(self, messages: list[ModelMessage], seed: int, deadline: float) -> Reply:
        failure: ChaseError
        try:
            return await self.model.request(messages, self._tools, seed=seed, deadline=deadline)
        except ContextTooLong:
            what = "what is to be judged does not fit its context: use another model, or shorten the prompt."
            failure = ModelError(f"judge '{self.model.config.name}': {what}", retryable=False)
        except ModelError as error:
            failure = copy(error)  # those who wait for one endpoint together get one error
            failure.args = (f"judge: {error.args[0]}",)
        raise failure

    @cached_property
    def _tools(self) -> Sequence[ToolSpec]:
        """A model that is held to a JSON schema is held to the verdict's; any other ends its text with it."""
        return (score_tool(self.scale),) if self.model.config.tool_mode == "json-schema" else ()

    def _unreadable(self, task: str) -> ModelError:
        name = self.model.config.name
        return ModelError(
            f"judge '{name}' gave no score that can be read for an answer to task {task}, asked {ATTEMPTS} times: "
            f"the answer is not scored. Use another model in [scorer], or tool_mode = 'json-schema' in "
            f'[models."{name}"] of the config where its server takes a schema; --exclude-task leaves the task out.',
            retryable=False,
        )
