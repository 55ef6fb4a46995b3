"""What `chase doctor` looks at. Every check ends in bounded time, with a status and one sentence."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from chase.core.errors import ChaseError, SetupError
from chase.engine.sandbox import Sandbox
from chase.models.chat import Reply
from chase.models.config import GGUF, OPENAI_COMPATIBLE, ModelConfig
from chase.models.connect import connect
from chase.models.secrets import redactor_for
from chase.runs.checks import TOOL, Check, calls_tool, failed, ok, question, skipped
from chase.runs.doctor_gguf import check_gguf
from chase.runs.loops import run_to_end
from chase.store.store import Store
from chase.store.workspace import Workspace

LEAST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 100 << 20
SANDBOX_SECONDS = 20.0
REQUEST_SECONDS = 30.0
MODEL_SECONDS = 75.0
"""For all requests of one diagnosis together."""

_HOOK = "def should_stop(state):\n    return state['step'] == 7\n"

_MODEL_CHECKS = ("key", "answer", "tool-calls", "json-schema", "cached-usage", "price", "served-model")


def diagnose(
    workspace: Workspace, model: ModelConfig | None, tell: Callable[[str], object] | None = None
) -> list[Check]:
    """Every check, in order. With a model, it is asked once or twice; one on this machine more often.

    `tell` hears of what takes a while.
    """
    checks = [_python(), run_to_end(_sandbox), _disk(workspace), _store(workspace)]
    if model is not None:
        redact = redactor_for(model.api_key_env)
        checks += [replace(check, detail=redact(check.detail)) for check in run_to_end(lambda: _model(model, tell))]
    return checks


# The machine


def _python() -> Check:
    version = platform.python_version()
    if sys.version_info[:2] < LEAST_PYTHON:
        return failed("python", f"this is Python {version}; use {'.'.join(map(str, LEAST_PYTHON))} or newer.")
    return ok("python", f"Python {version}.")


async def _sandbox() -> Check:
    """Runs a real hook in a real worker."""
    started = time.perf_counter()
    try:
        async with (
            asyncio.timeout(SANDBOX_SECONDS),
            Sandbox(max_sessions=1) as sandbox,
            sandbox.session(_HOOK, seed=0) as hooks,
        ):
            result = await hooks.call("should_stop", {"step": 7})
    except TimeoutError:
        return failed("sandbox", f"no hook ran within {SANDBOX_SECONDS:g} s; is the machine overloaded?")
    except (ChaseError, OSError) as error:
        return failed("sandbox", str(error))
    if result.value is not True:
        return failed("sandbox", f"a hook gave no answer ({result.failure}); reinstall pydantic-monty.")
    return ok("sandbox", f"a hook ran in a worker process ({1000 * (time.perf_counter() - started):.0f} ms in all).")


def _disk(workspace: Workspace) -> Check:
    folder = _nearest_folder(workspace.root)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return failed("disk", f"the free space of {folder} cannot be read: {error.strerror}.")
    words = f"{free / (1 << 30):.1f} GiB are free in {folder}"
    if free < LEAST_FREE_BYTES:
        return failed("disk", f"{words}; free at least {LEAST_FREE_BYTES >> 20} MiB or name another --workspace.")
    return ok("disk", f"{words}.")


def _nearest_folder(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    here = folder.absolute()
    return next((each for each in (here, *here.parents) if each.is_dir()), here)


def _store(workspace: Workspace) -> Check:
    if not workspace.database.exists():
        folder = _nearest_folder(workspace.state)
        if not os.access(folder, os.W_OK):
            return failed("store", f"{folder} cannot be written; make it writable or name another --workspace.")
        return skipped("store", f"there is none yet in {workspace.root}; the first rollout makes it.")
    try:
        with Store.open(workspace, write=False) as store:
            info = store.info()
            newest, total = store.rollouts(limit=1)
            for rollout in newest:
                store.trace(rollout.trace_digest)  # refuses a trace that is not what was recorded
    except ChaseError as error:
        return failed("store", str(error))
    if not os.access(workspace.state, os.W_OK):
        return failed("store", f"{workspace.state} cannot be written; make it writable or name another --workspace.")
    writer = "nobody is writing" if info.writer_pid is None else f"process {info.writer_pid} is writing"
    return ok(
        "store",
        f"schema version {info.schema_version}, {total:,} rollouts, the newest intact; {writer}. "
        "`chase store verify` recomputes every hash.",
    )


# The model


async def _model(given: ModelConfig, tell: Callable[[str], object] | None) -> list[Check]:
    """Asks the model to call a tiny tool; everything is read from its one reply, but for the JSON schema mode."""
    if given.provider == GGUF:
        return await check_gguf(given, tell)
    config = replace(given, timeout_seconds=min(given.attempt_seconds, REQUEST_SECONDS), retries=min(given.retries, 1))
    deadline = time.monotonic() + MODEL_SECONDS
    try:
        reply = await _ask(config, deadline)
    except SetupError as error:  # no key, a key that was refused, no SDK
        return _without(failed("key", str(error)))
    except Exception as error:  # an SDK's own error too is an answer to the question asked
        return _without(skipped("key", "not known: there was no answer."), failed("answer", _why(error)))
    return [
        _key(config),
        _answer(reply),
        _tool_calls(reply, config),
        await _json_schema(reply, config, deadline),
        _cached_usage(reply),
        _price(reply, config),
        _served_model(reply, config),
    ]


async def _ask(config: ModelConfig, deadline: float) -> Reply:
    async with asyncio.timeout(MODEL_SECONDS), connect(config) as model:
        return await model.request(question(), [TOOL], seed=0, deadline=deadline)


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"it gave no answer within {MODEL_SECONDS:g} s."
    return str(error) if isinstance(error, ChaseError) else f"the request failed: {error!r}."


def _without(*checks: Check) -> list[Check]:
    """These checks, and those that cannot be made after one of them failed."""
    made = {check.name for check in checks}
    rest = [skipped(name, "there was no answer to look at.") for name in _MODEL_CHECKS if name not in made]
    return [*checks, *rest]


def _key(config: ModelConfig) -> Check:
    if config.embedded:
        return skipped("key", "a model in this process needs none.")
    if config.provider == OPENAI_COMPATIBLE and config.api_key_env is None:
        return ok("key", "none is configured and the endpoint asked for none.")
    where = f" in {config.api_key_env}" if config.api_key_env else ""
    return ok("key", f"the key{where} was accepted.")


def _answer(reply: Reply) -> Check:
    if not reply.response.parts:
        return failed("answer", "the reply was empty: neither text nor a tool call.")
    return ok("answer", f"it replied in {reply.usage.wall_seconds:.2f} s.")


def _tool_calls(reply: Reply, config: ModelConfig) -> Check:
    if calls_tool(reply.response.parts):
        return ok("tool-calls", f"it called the tool with valid arguments (tool_mode '{config.tool_mode}').")
    other = f", or tool_mode = 'json-schema' in [models.\"{config.name}\"]" if _takes_schema(config) else ""
    return failed("tool-calls", f"it did not call the tool that it was told to call; use another model{other}.")


def _takes_schema(config: ModelConfig) -> bool:
    return config.provider == OPENAI_COMPATIBLE and config.tool_mode == "native"


async def _json_schema(reply: Reply, config: ModelConfig, deadline: float) -> Check:
    name = "json-schema"
    if config.tool_mode == "json-schema":
        good = calls_tool(reply.response.parts)
        said = "the tool call came as JSON by schema." if good else "no tool call came as JSON by schema."
        return Check(name=name, status="ok" if good else "failed", detail=said)
    if not _takes_schema(config):
        return skipped(name, f"for '{OPENAI_COMPATIBLE}' models only.")
    try:
        second = await _ask(replace(config, tool_mode="json-schema"), deadline)
    except (ChaseError, TimeoutError) as error:
        return failed(name, f"not available: {_why(error)}", needed=False)
    if calls_tool(second.response.parts):
        return ok(name, "a tool call came as JSON by schema too.", needed=False)
    return failed(name, "no tool call came as JSON by schema; stay with native tool calls.", needed=False)


def _cached_usage(reply: Reply) -> Check:
    name = "cached-usage"
    if not reply.usage_known:
        return failed(name, "no usage is reported: tokens and cost will be unknown.", needed=False)
    usage = reply.usage
    if usage.cached_tokens:
        return ok(name, f"{usage.cached_tokens} of {usage.input_tokens} input tokens were cached.", needed=False)
    return skipped(name, f"none of {usage.input_tokens} input tokens were cached: too short a request to tell.")


def _price(reply: Reply, config: ModelConfig) -> Check:
    if reply.usage.cost_usd is None:
        hint = f'give price = {{input = …, output = …}} in [models."{config.name}"]'
        return skipped("price", f"unknown, so cost will be shown as unknown; {hint}.")
    return ok("price", f"known: this request cost ${reply.usage.cost_usd:.6f}.", needed=False)


def _served_model(reply: Reply, config: ModelConfig) -> Check:
    return ok("served-model", f"'{reply.served_model}' answered for '{config.name}'.", needed=False)
