"""A process that runs `chase` in children of its own, with imports and a benchmark ready: a start costs a fork.

Run as a program it reads requests from stdin, one JSON object a line, and answers each with one:
`{"arguments": […], "folder": DIR, "most_file_bytes": N or null}` gives `{"pid": N}`; the child's output goes to
`DIR/stdout` and `DIR/stderr`. `{"wait": N}` gives `{"code": N}` once it has ended, below 0 for a signal.
The children are real processes that end by themselves or by a signal; what they run is the command's entry point.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo

from chase.benchmarks import registry
from chase.benchmarks.registry import open_benchmark
from chase.cli.main import main
from chase.models.config import ModelConfig
from chase.models.local import LocalModel, register_local
from chase.models.reader import reader_model
from chase.protocol.kit import ProtocolKit
from chase.runs import opening

BENCHMARK = "syn-ledger@7"
SLOW = "sim:slow-reader"
SECONDS_A_REQUEST = 0.02


def slow_reader(config: ModelConfig) -> LocalModel:
    """The simulated reader, with the latency of a remote model: so a run can be met in the middle."""
    reader = reader_model(replace(config, name="sim:reader"))

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(SECONDS_A_REQUEST)
        return await reader._respond(messages, info)

    return LocalModel(respond, name=SLOW, version=reader.version)


def run(request: dict[str, Any]) -> None:
    """In the child: the command, with its output in files. Ends by SystemExit, as the program does."""
    folder = Path(request["folder"])
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
    for stream, path in enumerate((Path(os.devnull), folder / "stdout", folder / "stderr")):
        target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(target, stream)
        os.close(target)
    if request.get("most_file_bytes"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["most_file_bytes"],) * 2)
    os.chdir(folder)
    sys.argv = ["chase", *request["arguments"]]
    main()


def serve() -> None:
    register_local(SLOW, slow_reader)
    registry.open_benchmark = cache(open_benchmark)
    opening.ProtocolKit = cache(ProtocolKit)  # type: ignore[assignment]
    registry.open_benchmark(BENCHMARK).content_hash  # noqa: B018  (worked out once, for all children)
    print(json.dumps({"ready": True}), flush=True)  # noqa: T201
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            status = os.waitpid(request["wait"], 0)[1]
            answer = {"code": os.waitstatus_to_exitcode(status)}
        else:
            child = os.fork()
            if child == 0:
                return run(request)
            answer = {"pid": child}
        print(json.dumps(answer), flush=True)  # noqa: T201
    return None


if __name__ == "__main__":
    serve()
