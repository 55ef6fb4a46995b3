"""A GGUF file before anything is served: what is refused in one sentence, what it needs, and what identifies it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
from tests.models.gguf_files import gguf_bytes, write_gguf

from chase.core.errors import ChaseError, SetupError, UserError
from chase.models.chat import ChatModel
from chase.models.config import LocalServer, ModelConfig
from chase.models.connect import connect, make_pacer
from chase.models.gguf import options, server, weights
from chase.models.gguf.header import NotGguf, read_header
from chase.models.gguf.options import require_memory, serving
from chase.models.gguf.server import Launcher
from chase.models.gguf.weights import find_weights, hash_file
from chase.testing.standin_llama import COMMAND

STANDIN = Launcher(command=COMMAND, package=None)


@pytest.fixture(autouse=True)
def standin(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of this file needs llama.cpp, or starts anything."""
    monkeypatch.setattr(server, "LLAMA_CPP", STANDIN)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "tiny.gguf")


def connected(file: Path, **changes: Any) -> ChatModel:
    return connect(ModelConfig(name=f"gguf:{file}", **changes))


# The header


def test_a_header_says_what_the_cache_needs(file: Path) -> None:
    header = read_header(file)
    assert header.trained_context == 4096
    assert header.has_chat_template
    # Two layers, two heads, a key and a value of 64 / 4 numbers each, two bytes a number.
    assert header.cache_bytes(1_000) == 1_000 * 2 * 2 * (16 + 16) * 2


def test_layers_may_have_different_numbers_of_heads(tmp_path: Path) -> None:
    header = read_header(write_gguf(tmp_path / "m.gguf", **{"tiny.attention.head_count_kv": [2, 4]}))
    assert header.cache_bytes(10) == 10 * (2 + 4) * (16 + 16) * 2


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04zip", b"GGUF", b"GGUF\x01\0\0\0", gguf_bytes()[:-3]])
def test_what_is_no_gguf_is_told_apart(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(NotGguf):
        read_header(path)


# One clear sentence


def refused(file: Path, **changes: Any) -> ChaseError:
    with pytest.raises(ChaseError) as error:
        connected(file, **changes)
    assert str(error.value).count("\n") == 0
    return error.value


def test_files_that_cannot_be_served_are_refused_when_they_are_named(tmp_path: Path) -> None:
    assert "there is no file" in str(refused(tmp_path / "none.gguf"))
    assert "cannot be read" in str(refused(tmp_path))
    (tmp_path / "text.gguf").write_text("hello")
    assert "is no GGUF file (its first four bytes are not 'GGUF')" in str(refused(tmp_path / "text.gguf"))
    base = write_gguf(tmp_path / "base.gguf", **{"tokenizer.chat_template": None})
    assert "has no chat template" in str(refused(base))
    part = write_gguf(tmp_path / "part.gguf", **{"split.count": 3})
    assert "is one of 3 parts" in str(refused(part))
    assert isinstance(refused(part), UserError)


def test_a_missing_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LLAMA_CPP", Launcher(command=COMMAND, package="no_such_package"))
    error = refused(file)
    assert "needs llama.cpp: pip install 'chase-harness[local]'" in str(error)
    assert isinstance(error, SetupError)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://localhost:1/v1"}, "takes no base_url"),
        ({"api_key_env": "MY_KEY"}, "takes no api_key_env"),
        ({"settings": {"cache_prompt": False}}, "write prompt_cache in its server table"),
        ({"settings": {"id_slot": 1}}, "write slots in its server table"),
        ({"server": LocalServer(slots=0)}, "server.slots=0 must be at least 1"),
        ({"server": LocalServer(context_tokens=512)}, "server.context_tokens=512 must be at least 2048"),
    ],
)
def test_settings_that_do_not_fit_a_file_are_refused(file: Path, changes: dict[str, Any], said: str) -> None:
    assert said in str(refused(file, **changes))


def test_a_server_table_is_for_files_alone() -> None:
    with pytest.raises(UserError, match=r"server is for 'gguf:PATH' models"):
        ModelConfig(name="sim:reader", server=LocalServer())


def test_too_little_memory_is_said_with_what_to_lower(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_weights("gguf:tiny", file)
    how = serving(LocalServer(slots=2, context_tokens=4096), found)
    needed = found.bytes + found.header.cache_bytes(2 * 4096) + options.WORKING_BYTES
    monkeypatch.setattr(options, "available_bytes", lambda: needed)
    require_memory("gguf:tiny", found, how)
    monkeypatch.setattr(options, "available_bytes", lambda: needed - 1)
    with pytest.raises(SetupError, match=r"needs about 0\.4 GiB of memory .* lower slots or context_tokens"):
        require_memory("gguf:tiny", found, how)


# What machine and file decide


@pytest.mark.parametrize(("cores", "slots"), [(1, 1), (2, 1), (7, 1), (8, 2), (64, 4)])
def test_threads_and_slots_come_from_the_machine(
    cores: int, slots: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "cores", lambda: cores)
    how = serving(None, find_weights("gguf:tiny", file))
    assert (how.threads, how.slots, how.context_tokens, how.prompt_cache) == (cores, slots, 4096, True)
    assert connected(file).most_conversations == slots


@pytest.mark.parametrize(("most", "limit"), [(64, 2), (1, 1)])
def test_no_more_requests_are_sent_than_there_are_slots(most: int, limit: int) -> None:
    config = ModelConfig(name="gguf:any", max_concurrency=most, server=LocalServer(slots=2))
    assert make_pacer(config).limit == limit


def test_what_the_config_says_wins(file: Path) -> None:
    how = serving(LocalServer(slots=3, threads=5, context_tokens=2048), find_weights("gguf:tiny", file))
    assert (how.threads, how.slots, how.context_tokens) == (5, 3, 2048)
    model = connected(file, server=LocalServer(context_tokens=2048))
    model.make_room(8_192)
    assert model.file is not None
    assert model.file.serving.context_tokens == 2048


@pytest.mark.parametrize(
    ("trained", "history", "context"),
    [
        (100_000, 0, 16_384),
        (100_000, 8_192, 16_384),
        (100_000, 20_000, 20_500),  # and a reply of 500
        (100_000, 131_072, 32_768),
        (4_096, 131_072, 4_096),
        (None, 131_072, 16_384),
    ],
)
def test_the_context_holds_the_histories_of_the_benchmark(
    trained: int | None, history: int, context: int, tmp_path: Path
) -> None:
    file = write_gguf(tmp_path / "m.gguf", **{"tiny.context_length": trained})
    model = connected(file, settings={"max_tokens": 500})
    assert model.file is not None
    before = model.fingerprint
    model.make_room(history)
    assert model.file.serving.context_tokens == context
    assert (model.fingerprint == before) is (context in (16_384, 4_096))  # it decides answers, so it identifies


# Identity


def test_the_content_identifies_a_file_and_not_its_place(file: Path, tmp_path: Path) -> None:
    before = connected(file).fingerprint
    moved = tmp_path / "else.gguf"
    moved.write_bytes(file.read_bytes())
    assert connected(moved).fingerprint == before
    moved.write_bytes(file.read_bytes() + b"x")
    assert connected(moved).fingerprint != before


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"server": LocalServer(slots=1, context_tokens=2048)}, False),
        ({"server": LocalServer(slots=1, prompt_cache=False)}, False),
        ({"tool_mode": "json-schema"}, False),
        ({"settings": {"temperature": 0}}, False),
        ({"server": LocalServer(slots=1, threads=7)}, True),
        ({"server": LocalServer(slots=2)}, True),
        ({"timeout_seconds": 7}, True),
    ],
)
def test_every_setting_that_matters_is_in_the_fingerprint(file: Path, change: dict[str, Any], same: bool) -> None:
    base = ModelConfig(name=f"gguf:{file}", server=LocalServer(slots=1))
    changed = dataclasses.replace(base, **change)
    assert (connect(base).fingerprint == connect(changed).fingerprint) is same


def test_the_record_says_whether_replies_can_be_had_again(file: Path) -> None:
    cached = connected(file, server=LocalServer(slots=1)).note
    several = connected(file, server=LocalServer(slots=2, prompt_cache=False)).note
    strict = connected(file, server=LocalServer(slots=1, prompt_cache=False)).note
    assert "replies are not reproducible bit by bit" in str(cached)
    assert "replies are not reproducible bit by bit" in str(several)
    assert "replies are reproducible on the same machine" in str(strict)
    assert hash_file(file) in str(cached)


def test_a_hash_is_worked_out_once_for_a_file_that_did_not_change(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = hash_file(file)
    with monkeypatch.context() as patch:
        patch.setattr(weights, "_hash", None)
        assert hash_file(file) == first
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    os.utime(file, ns=(1, 1))
    assert hash_file(file) != first


def test_a_hash_that_takes_long_is_told_of(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(weights, "PATIENCE_SECONDS", -1)
    hash_file(file, heard.append)
    assert heard == ["hashing tiny.gguf (once for each file): 100 %"]
