from __future__ import annotations

import os
import subprocess
import sys

import pytest

from chase.core.errors import SetupError, UserError
from chase.models.config import ModelConfig
from chase.models.connect import connect, provider_names


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_KEY", "_TOKEN", "_BASE_URL")):
            monkeypatch.delenv(name)


def one_sentence(error: Exception) -> str:
    text = str(error)
    assert "\n" not in text
    assert len(text) < 300
    return text


@pytest.mark.parametrize("name", ["openai:gpt-5", "openai-chat:gpt-5", "deepseek:deepseek-chat"])
def test_a_missing_key_names_the_variable(name: str) -> None:
    with pytest.raises(SetupError) as caught:
        connect(ModelConfig(name=name))
    variable = "DEEPSEEK_API_KEY" if name.startswith("deepseek") else "OPENAI_API_KEY"
    assert one_sentence(caught.value) == f"model '{name}' needs a key: set the environment variable {variable}."


@pytest.mark.parametrize("value", [None, "", "  "])
@pytest.mark.parametrize("name", ["openai:gpt-5", "openai-compatible:m"])
def test_a_named_variable_without_a_key_is_named(name: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(SetupError, match="set the environment variable MY_KEY"):
        connect(ModelConfig(name=name, base_url="http://localhost:1/v1", api_key_env="MY_KEY"))


def test_a_missing_address_names_its_variable() -> None:
    with pytest.raises(SetupError, match="needs an address: set the environment variable OLLAMA_BASE_URL"):
        connect(ModelConfig(name="ollama:llama3"))


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("anthropic:claude-opus-5", "anthropic", "chase-harness[anthropic]"),
        ("openai:gpt-5", "openai", "chase-harness[openai]"),
        ("google:gemini-3-pro", "google.genai", "chase-harness[google]"),
        ("groq:llama", "groq", "pydantic-ai-slim[groq]"),
    ],
)
def test_a_missing_sdk_names_the_extra(name: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in list(sys.modules):
        if loaded.startswith(("pydantic_ai.providers.", "pydantic_ai.models.openai")):
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SetupError) as caught:
        connect(ModelConfig(name=name))
    assert f"pip install '{package}'" in one_sentence(caught.value)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("antropic:claude", "anthropic"),
        ("open-ai:gpt-5", "openai"),
        ("openai-compatable:m", "openai-compatible"),
        ("sin:reader", "sim"),
    ],
)
def test_an_unknown_provider_gets_the_nearest_match(name: str, nearest: str) -> None:
    with pytest.raises(UserError, match=f"Did you mean '{nearest}'"):
        connect(ModelConfig(name=name))


def test_an_unknown_in_process_model_gets_the_nearest_match() -> None:
    with pytest.raises(UserError, match="Did you mean 'sim:reader'"):
        connect(ModelConfig(name="sim:raeder"))


def test_json_schema_mode_is_refused_where_it_does_nothing() -> None:
    for name in ("openai:gpt-5", "sim:reader"):
        with pytest.raises(UserError, match="tool_mode='json-schema' is for 'openai-compatible'"):
            connect(ModelConfig(name=name, tool_mode="json-schema"))


def test_a_providers_own_settings_are_not_taken_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "x" * 10)
    with pytest.raises(UserError, match="takes no base_url"):
        connect(ModelConfig(name="deepseek:x", base_url="http://localhost:1/v1", api_key_env="MY_KEY"))


def test_the_key_of_a_named_variable_reaches_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-of-a-named-variable")
    chat = connect(ModelConfig(name="openai:gpt-5", api_key_env="MY_KEY", settings={"reasoning_effort": "low"}))
    provider = chat._model.provider
    assert provider is not None
    assert provider.client.api_key == "sk-of-a-named-variable"
    assert chat._settings == {"thinking": "low", "timeout": 180.0, "max_retries": 0}


def test_the_list_of_providers_has_the_usual_ones() -> None:
    assert {"openai", "anthropic", "google", "ollama", "openai-compatible", "sim"} <= set(provider_names())


def test_no_sdk_is_needed_for_an_openai_compatible_endpoint() -> None:
    program = """
import asyncio, sys
for sdk in ("openai", "anthropic", "google.genai", "groq", "mistralai"):
    sys.modules[sdk] = None
from pydantic_ai.messages import ModelRequest, UserPromptPart
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.testing.openai_server import OpenAIServer, text_reply

async def main():
    async with OpenAIServer(lambda request, attempt: text_reply("hello")) as server:
        async with connect(ModelConfig(name="openai-compatible:m", base_url=server.url)) as chat:
            reply = await chat.request([ModelRequest(parts=[UserPromptPart("hi")])], [])
            sys.stdout.write(reply.response.text)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("hello", 0), done.stderr


def test_config_errors_and_pacing_do_not_import_pydantic_ai() -> None:
    program = (
        "import sys, chase.models.config, chase.models.errors, chase.models.pacing, chase.models.secrets\n"
        "assert not any(name.startswith(('pydantic_ai', 'aiohttp')) for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
