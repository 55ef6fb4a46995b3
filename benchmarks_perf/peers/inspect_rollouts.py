"""Four-turn rollouts in Inspect AI. Runs in Inspect's own environment and imports nothing of this project.

`python inspect_rollouts.py WORK.json` reads what to do, does it, and prints its figures as one line of JSON. Work
with a `history` is requests with that history; other work is rollouts. With a `base_url` the model is there,
without one it is Inspect's mock model.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tiktoken
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import exact
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import Tool, ToolCall, tool

Work = dict[str, Any]
WARM_UP = 10


class _Words:
    """Stands in for a tokenizer, which Inspect would download."""

    def encode(self, text: str, **_: Any) -> list[str]:
        return text.split()


def stub_tokenizer() -> None:
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_: _Words()


def tools_of(work: Work) -> list[Tool]:
    """Tools that look their answers up: the very texts that our tools make, without making them."""
    answers: dict[str, str] = work["answers"]

    @tool
    def list_files() -> Any:
        async def execute() -> str:
            """List the task's files with their ids. Counts as one of 4 search or list calls."""
            return answers["listing"]

        return execute

    @tool
    def search() -> Any:
        async def execute(query: str) -> str:
            """Search the task's files. Files with a record that contains every word of the query come first.

            Args:
                query: Words to look for.
            """
            return answers[query]

        return execute

    @tool
    def open_file() -> Any:
        async def execute(file: str) -> str:
            """Read a file, three records a call; calling it again with the same file reads the next three.

            Args:
                file: The file's path or its id.
            """
            return answers[file]

        return execute

    return [list_files(), search(), open_file()]


def model_of(work: Work) -> Model:
    """The model at the work's address, or the mock model on the work's script: three calls, then an answer."""
    if "base_url" in work:
        config = GenerateConfig(max_connections=work["concurrency"])
        name = "openai-api/local/scripted"
        return get_model(name, config=config, base_url=work["base_url"], api_key="none", memoize=False)
    script: dict[str, list[tuple[str, dict[str, str]]]] = work["script"]

    def answer(messages: list[Any], tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        question = next(message.text for message in messages if message.role == "user")
        turn = sum(message.role == "assistant" for message in messages)
        calls = script[question]
        if turn < len(calls):
            output = ModelOutput.for_tool_call("mockllm", calls[turn][0], calls[turn][1])
        else:
            output = ModelOutput.from_content("mockllm", "42")
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def rollouts(work: Work, count: int) -> dict[str, float]:
    """Seconds of one `eval()` over `count` samples, its log written."""
    questions: list[str] = work["questions"]
    samples = [Sample(id=n, input=questions[n % len(questions)], target="42") for n in range(count)]
    solver = [system_message(work["system"]), use_tools(tools_of(work)), generate()]
    task = Task(dataset=MemoryDataset(samples), solver=solver, scorer=exact())
    model = model_of(work)
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        log = eval(
            task,
            model=model,
            display="none",
            log_dir=folder,
            log_realtime=False,
            score_display=False,
            max_samples=work["concurrency"],
            max_connections=work["concurrency"],
        )[0]
        seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        done = list(log.samples or [])
        turns = {sum(message.role == "assistant" for message in sample.messages) for sample in done}
    if log.status != "success" or len(done) != count or turns != {4}:
        raise RuntimeError(f"Inspect AI ended with {log.status}, {len(done)} samples of {turns} turns")
    return seconds


async def requests(work: Work) -> dict[str, float]:
    """CPU seconds of requests whose history is all but new: all of it but the last two messages was sent before."""
    model, tools = model_of(work), tools_of(work)
    histories = [history_of(work) for _ in range(work["count"])]
    async with model:
        await asyncio.gather(*(model.generate(history[:-2], tools) for history in histories))
        cpu = time.process_time()
        await asyncio.gather(*(model.generate(history, tools) for history in histories))
        return {"cpu": time.process_time() - cpu}


def history_of(work: Work) -> list[ChatMessage]:
    """A system prompt, a question, and calls with their results, up to the work's number of messages."""
    messages: list[ChatMessage] = [ChatMessageSystem(content=work["system"])]
    messages.append(ChatMessageUser(content=work["questions"][0]))
    for number in range((work["history"] - 2) // 2):
        call = ToolCall(id=f"call-{number}", function="list_files", arguments={})
        messages.append(ChatMessageAssistant(content="", tool_calls=[call]))
        messages.append(
            ChatMessageTool(content=work["answers"]["listing"], tool_call_id=call.id, function="list_files")
        )
    return messages


def main() -> None:
    work: Work = json.loads(Path(sys.argv[1]).read_text())
    stub_tokenizer()
    if "history" in work:
        figures = asyncio.run(requests(work))
    else:
        rollouts(work, WARM_UP)
        figures = rollouts(work, work["count"])
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
