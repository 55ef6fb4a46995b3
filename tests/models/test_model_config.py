from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from chase.core.errors import UserError
from chase.models.config import WIRE_VERSIONS, ModelConfig, Price

BASE = ModelConfig(
    name="openai-compatible:m",
    base_url="http://localhost:8000/v1",
    settings={"temperature": 0.5, "seed": 1},
)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "openai-compatible:other"},
        {"base_url": "http://localhost:8001/v1"},
        {"settings": {"temperature": 0.6, "seed": 1}},
        {"settings": {"temperature": 0.5}},
        {"tool_mode": "json-schema"},
    ],
)
def test_fingerprint_changes_with_what_decides_an_answer(change: dict[str, Any]) -> None:
    assert dataclasses.replace(BASE, **change).fingerprint != BASE.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"price": Price(input=1, output=2)},
        {"api_key_env": "SOME_KEY"},
        {"requests_per_minute": 5},
        {"tokens_per_minute": 5},
        {"max_concurrency": 1},
        {"timeout_seconds": 1},
        {"retries": 0},
        {"settings": {"seed": 1, "temperature": 0.5}},
        {"base_url": "http://localhost:8000/v1/"},
    ],
)
def test_fingerprint_ignores_key_price_pace_and_spelling(change: dict[str, Any]) -> None:
    assert dataclasses.replace(BASE, **change).fingerprint == BASE.fingerprint


def test_fingerprint_changes_with_the_wire_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = BASE.fingerprint
    monkeypatch.setitem(WIRE_VERSIONS, BASE.tool_mode, 999)
    assert BASE.fingerprint != before


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "gpt-5"}, "write PROVIDER:MODEL"),
        ({"name": "openai-compatible:m"}, "has no base_url"),
        ({"name": "openai:m", "base_url": "localhost:8000"}, "not an address"),
        ({"name": "openai:m", "base_url": "http://me:secret@host/v1"}, "name it in api_key_env"),
        ({"name": "openai:m", "base_url": "http://host/v1?key=secret"}, "name it in api_key_env"),
        ({"name": "openai:m", "tool_mode": "json"}, "Did you mean 'json-schema'?"),
        ({"name": "openai:m", "settings": {"timeout": 3}}, "write timeout_seconds"),
        ({"name": "openai:m", "base_url": "http://host:99999/v1"}, "not an address"),
        ({"name": "openai:m", "base_url": "http://[::1/v1"}, "not an address"),
        ({"name": "openai:m", "settings": {"messages": []}}, "settings.messages"),
        ({"name": "openai:m", "settings": {"extra_body": {"model": "x"}}}, "settings.model"),
        ({"name": "openai:m", "settings": {"extra_body": 5}}, "settings.extra_body must be a table"),
        ({"name": "openai:m", "settings": {"api_key": "secret"}}, "api_key_env"),
        ({"name": "openai:m", "settings": {"extra_headers": {"Authorization": "secret"}}}, "api_key_env"),
        ({"name": "openai:m", "settings": {"stop": {1, 2}}}, "plain JSON"),
        ({"name": "openai:m", "max_concurrency": 0}, "max_concurrency=0"),
        ({"name": "openai:m", "retries": -1}, "retries=-1"),
    ],
)
def test_a_bad_config_is_refused_with_what_to_write(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as caught:
        ModelConfig(**fields)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)
