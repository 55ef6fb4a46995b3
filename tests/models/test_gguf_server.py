"""The life of a server for a GGUF file. What serves here is a scripted stand-in: no model, no weights."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, UserPromptPart
from tests.models.gguf_files import write_gguf
from tests.models.test_gguf_file import STANDIN

from chase.core.errors import SetupError
from chase.models.chat import ChatModel, Reply
from chase.models.config import LocalServer, ModelConfig
from chase.models.connect import connect
from chase.models.errors import ConnectionLost
from chase.models.gguf import server
from chase.models.pacing import Pacer


@pytest.fixture(autouse=True)
def standin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LLAMA_CPP", STANDIN)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., ChatModel]:
    """A model whose file's name says how its server fares."""

    def made(name: str = "tiny.gguf", *, retries: int = 0, **serving: object) -> ChatModel:
        file = write_gguf(tmp_path / name)
        config = ModelConfig(name=f"gguf:{file}", server=LocalServer(**serving))  # type: ignore[arg-type]
        return connect(config, pacer=Pacer(max_concurrency=4, retries=retries, jitter=lambda: 0.0))

    return made


def asked(text: str = "Hello?") -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)])]


def said(reply: Reply) -> dict[str, object]:
    (part,) = reply.response.parts
    assert isinstance(part, TextPart)
    found: dict[str, object] = json.loads(part.content)
    return found


def pid_of(model: ChatModel) -> int | None:
    assert model.file is not None
    return model.file._server.pid if model.file._server is not None else None


def is_running(pid: int) -> bool:
    """Whether the process is there, and not ended and waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_soon(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


async def test_the_server_lives_from_the_first_request_to_the_end(make: Callable[..., ChatModel]) -> None:
    async with make() as model:
        assert pid_of(model) is None, "nothing is loaded that nobody asks for"
        reply = await model.request(asked(), ())
        pid = pid_of(model)
        assert pid is not None
        assert is_running(pid)
        assert reply.served_model == "tiny.gguf"
        assert reply.usage.cost_usd == 0.0
    assert not is_running(pid)


async def test_nobody_else_on_the_machine_can_ask_it(make: Callable[..., ChatModel]) -> None:
    async with make() as model:
        await model.request(asked(), ())
        assert model.file is not None
        assert model.file._server is not None
        url = f"{model.file._server.address}/v1/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json={"messages": []}) as answer:
            assert answer.status == 401
        key = model.file._key
        shown = Path(f"/proc/{pid_of(model)}/cmdline").read_text() + Path(f"/proc/{pid_of(model)}/environ").read_text()
        assert key not in shown
        assert url.startswith("http://127.0.0.1:")


async def test_a_conversation_stays_in_its_slot(make: Callable[..., ChatModel]) -> None:
    async with make(slots=2) as model:
        one, two = asked("one " * 50), asked("two " * 50)
        slots = [said(await model.request(each, ()))["id_slot"] for each in (one, two, two, one, one)]
        assert slots[0] == slots[3] == slots[4] != slots[1] == slots[2]
        again = await model.request(one, ())
        assert again.usage.cached_tokens == again.usage.input_tokens, "its history is read once"


async def test_a_new_conversation_takes_the_slot_of_one_that_is_over(make: Callable[..., ChatModel]) -> None:
    async with make(slots=2) as model:
        lasting, ending = asked("lasting"), asked("ending")
        kept = said(await model.request(lasting, ()))["id_slot"]
        freed = said(await model.request(ending, ()))["id_slot"]
        del ending
        assert said(await model.request(asked("new"), ()))["id_slot"] == freed
        assert said(await model.request(lasting, ()))["id_slot"] == kept


async def test_requests_at_once_have_slots_of_their_own(make: Callable[..., ChatModel]) -> None:
    async with make(slots=2) as model:
        replies = await asyncio.gather(*(model.request(asked(str(i)), ()) for i in range(4)))
        assert {said(reply)["id_slot"] for reply in replies} == {0, 1}


async def test_the_prompt_cache_can_be_switched_off(make: Callable[..., ChatModel]) -> None:
    async with make(slots=1, prompt_cache=False) as model:
        question = asked()
        await model.request(question, ())
        again = await model.request(question, ())
        assert said(again)["cache_prompt"] is False
        assert again.usage.cached_tokens == 0


# When something goes wrong


async def test_a_server_that_died_is_said_to_have_and_started_again(make: Callable[..., ChatModel]) -> None:
    async with make("dying.gguf") as model:
        await model.request(asked(), ())
        first = pid_of(model)
        with pytest.raises(ConnectionLost, match=r"llama.cpp's server (ended with code 9|ended)"):
            await model.request(asked(), ())
        await model.request(asked(), ())
        assert pid_of(model) not in (None, first)
    async with make("dying.gguf", retries=1) as model:
        await model.request(asked(), ())
        await model.request(asked(), ())


async def test_a_server_that_does_not_come_up_says_why(make: Callable[..., ChatModel]) -> None:
    async with make("crashing.gguf") as model:
        with pytest.raises(
            SetupError, match=r"ended with code 3 \(error: tensor 'output.weight' is missing\)"
        ) as error:
            await model.request(asked(), ())
        assert "\n" not in str(error.value)


async def test_a_server_that_takes_too_long_is_ended(
    make: Callable[..., ChatModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "START_SECONDS", 0.3)
    pids: list[int] = []
    launch = server.Server._launch
    monkeypatch.setattr(server.Server, "_launch", lambda self: (launch(self), pids.append(self.pid or 0)))
    async with make("slow.gguf") as model:
        assert model.file is not None
        with pytest.raises(SetupError, match=r"was not ready after 0\.3 s"):
            await model.request(asked(), ())
    assert pids
    assert not is_running(pids[0])


async def test_a_request_that_is_given_up_while_the_server_loads_leaves_nothing(make: Callable[..., ChatModel]) -> None:
    async with make("slow.gguf") as model:
        waiting = asyncio.create_task(model.request(asked(), ()))
        while not (pid := pid_of(model)):
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not is_running(pid)


PARENT = """
import asyncio, sys
from pydantic_ai.messages import ModelRequest, UserPromptPart
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.gguf import server
from chase.testing.standin_llama import COMMAND

server.LLAMA_CPP = server.Launcher(command=COMMAND, package=None)

async def main():
    async with connect(ModelConfig(name=sys.argv[1])) as model:
        await model.request([ModelRequest(parts=[UserPromptPart("Hello?")])], ())
        print(model.file._server.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_with_the_process_that_started_it(number: int, tmp_path: Path) -> None:
    """However that ends: Ctrl-C closes the model, a kill closes the pipe."""
    command = [sys.executable, "-c", PARENT, f"gguf:{write_gguf(tmp_path / 'tiny.gguf')}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(number)
    assert ends_soon(pid)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.gguf"]
