"""Whatever a model, an endpoint, a transformation or a file of a run says: a recorded outcome, or an error of ours."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chase.agents.conversation import Conversation
from chase.agents.history_tools import HistoryTools
from chase.agents.records import TRANSCRIPT, AgentRecords
from chase.agents.reported_usage import reported_usage
from chase.agents.submission import Submission
from chase.core.agents import Candidate, Draft
from chase.core.errors import ChaseError, IntegrityError, UserError
from chase.core.keyed import digest
from chase.core.outside import NotPlain, parse_json
from chase.engine.runner import Pace, Runner
from chase.engine.sandbox import Sandbox
from chase.harness.folder import load_harness, parse_files
from chase.methods.journal import Journal
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig, ToolMode
from chase.models.failures import Failures, seconds_to_wait
from chase.models.openai_compatible import OpenAICompatibleModel, _Answer
from chase.models.pacing import Pacer
from chase.models.secrets import Redactor
from chase.proposers.submission import Feedback
from chase.protocol.archive import read_archive
from chase.protocol.firewall import run_checks
from chase.protocol.proposal import parse_for
from chase.runs.config import raw_settings
from chase.runs.evolve import with_settings_of
from chase.runs.folder import RunFolder
from chase.runs.settings import EvolveSettings
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.small_ledger import SmallLedger, open_small_ledger
from tests.engine.rollouts import make_job

T = TypeVar("T")
USE = Use(run="run", method="rollout")

# Arbitrary bytes, JSON and values, with what has broken something before mixed in.

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
DEEP = [
    "[" * 1000,
    '{"a":' * 900 + "1" + "}" * 900,
    "[" * 150 + "]" * 150,
    '"\\ud800"',
    "1e999",
    "NaN",
    f"1{'0' * 5000}",
]
TEXTS = st.sampled_from(DEEP) | ANY_TEXT
NUMBERS = st.sampled_from([10**30, 2**62, 2**63, -1, 10**400, 1e308]) | st.integers() | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def records(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with some of these fields, each right or anything at all; now and then no such object."""
    return st.fixed_dictionaries({}, optional={name: field | VALUES for name, field in fields.items()}) | VALUES


def documents(values: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Values as JSON, whole or cut, and bytes that are none."""
    written = values.map(lambda value: json.dumps(value).encode())
    cut = st.tuples(written, st.integers(0, 200)).map(lambda both: both[0][: both[1]])
    return written | cut | st.binary(max_size=40) | st.sampled_from(DEEP).map(str.encode)


CALLS = st.lists(
    records(
        id=ANY_TEXT,
        function=records(
            name=st.sampled_from(["search", "open_file", "give_feedback"]),
            arguments=VALUES.map(json.dumps) | records(query=ANY_TEXT, limit=NUMBERS, file=ANY_TEXT),
        ),
    ),
    max_size=2,
)
ANSWERS = records(name=st.sampled_from(["search", "final_answer"]), arguments=records(answer=TEXTS, query=TEXTS))
MESSAGES = records(content=TEXTS | ANSWERS.map(json.dumps), reasoning_content=TEXTS, refusal=TEXTS, tool_calls=CALLS)
USAGES = records(
    prompt_tokens=NUMBERS,
    completion_tokens=NUMBERS,
    prompt_tokens_details=records(cached_tokens=NUMBERS),
    completion_tokens_details=records(reasoning_tokens=NUMBERS),
)
COMPLETIONS = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"message": MESSAGES}), min_size=1, max_size=1)},
    optional={"usage": USAGES, "model": TEXTS, "id": TEXTS, "error": records(message=TEXTS, code=NUMBERS)},
)
DATES = st.sampled_from(["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +2359", "1e400"])
HEADERS = st.fixed_dictionaries({}, optional={"Retry-After": DATES | ANY_TEXT, "retry-after-ms": DATES | ANY_TEXT})
REPLIES = st.lists(
    st.builds(
        _Answer,
        status=st.just(200) | st.sampled_from([200, 400, 413, 429, 500, 502, 999]),
        headers=HEADERS,
        body=documents(COMPLETIONS | records(error=records(message=TEXTS, code=TEXTS | NUMBERS, type=TEXTS))),
    ),
    min_size=1,
    max_size=4,
)
few = settings(max_examples=60, suppress_health_check=list(HealthCheck))


class Endpoint(OpenAICompatibleModel):
    """An endpoint that answers what it is given, and then says no more."""

    def __init__(self, config: ModelConfig, replies: list[_Answer]) -> None:
        super().__init__(config, Failures(config, Redactor()))
        self._left = iter(replies)

    async def _post(self, body: bytes) -> _Answer:
        json.loads(body)  # what is sent is JSON, whatever was said before
        return next(self._left, _Answer(status=200, headers={}, body=b'{"choices":[{"message":{"content":"1"}}]}'))


def endpoint(replies: list[_Answer], tool_mode: ToolMode) -> ChatModel:
    name = f"openai-compatible:{next(_NAMES)}"  # a model of its own: nothing comes from the store
    config = ModelConfig(name=name, base_url="http://127.0.0.1:9/v1", tool_mode=tool_mode)
    return ChatModel(config, Endpoint(config, replies), pacer=Pacer(retries=0, jitter=lambda: 0.0))


_NAMES = itertools.count()
MODES = st.sampled_from(["native", "json-schema"])


def good(body: Any) -> list[_Answer]:
    """One completion."""
    message = {"choices": [{"message": {"content": body}}]} if isinstance(body, str) else body
    return [_Answer(status=200, headers={}, body=json.dumps(message).encode())]


def counted(**usage: int) -> list[_Answer]:
    return good({"choices": [{"message": {"content": "7"}}], "usage": usage})


def calling(arguments: Any) -> list[_Answer]:
    call = {"id": "a", "function": {"name": "search", "arguments": arguments}}
    return good({"choices": [{"message": {"tool_calls": [call]}}]})


@pytest.fixture(scope="module")
def small() -> SmallLedger:
    return open_small_ledger()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(Workspace(tmp_path_factory.mktemp("store")), write=True) as opened:
        opened.create_run("run", {})
        yield opened


def ours(work: Callable[[], T]) -> T | ChaseError:
    """What came of it: a result or an error of ours. Anything else fails the test."""
    try:
        return work()
    except ChaseError as error:
        refusal = error
    assert type(refusal) is not ChaseError, refusal
    str(refusal).encode()
    return refusal


def ran(work: Callable[[], Awaitable[T]]) -> T | ChaseError:
    async def whole() -> T:
        return await work()

    return ours(lambda: asyncio.run(whole()))


@few
@given(replies=REPLIES, mode=MODES)
@example(replies=good("[" * 1000), mode="json-schema")
@example(replies=good('{"name": "search", "arguments": ' + '{"a":' * 900 + "1" + "}" * 901), mode="json-schema")
@example(replies=calling('{"a":' * 900 + "1" + "}" * 900), mode="native")
@example(replies=calling('{"query": "\\ud800", "limit": 1e999}'), mode="native")
@example(replies=calling('{"query": "\\ud800"}'), mode="native")
@example(replies=calling('{"limit": ' + "9" * 400 + "}"), mode="native")
@example(replies=counted(prompt_tokens=10**30, completion_tokens=2**62), mode="native")
@example(replies=counted(prompt_tokens=2**62, completion_tokens=1) * 2, mode="native")
def test_a_rollout_ends_with_an_outcome_that_is_stored(
    small: SmallLedger, store: Store, replies: list[_Answer], mode: ToolMode
) -> None:
    async def rollout() -> None:
        model = endpoint(replies, mode)
        async with Sandbox() as sandbox:
            runner = Runner(model=model, store=store, sandbox=sandbox, use=USE, pace=Pace(concurrency=1, tries=1))
            [scored] = await runner.evaluate([make_job(small)])
        stored = store.get(scored.digest)
        assert stored is not None
        assert store.trace(stored.trace_digest)["reason"] == scored.outcome.reason
        store.spend("run")

    if all(answer.status == 200 and b'"error"' not in answer.body for answer in replies):
        found = ran(rollout)
        assert found is None or "sent no completion" in str(found)
    else:
        ran(rollout)


FEEDBACK = Submission(name="give_feedback", description="Hand in.", form=Feedback)


@few
@given(replies=REPLIES, mode=MODES)
@example(replies=calling('{"a":' * 900), mode="native")
@example(replies=counted(prompt_tokens=2**62), mode="native")
def test_an_agents_conversation_ends_and_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, store: Store, replies: list[_Answer], mode: ToolMode
) -> None:
    folder = tmp_path_factory.mktemp("run")
    (folder / "tree").mkdir()
    asked = itertools.count()
    model = endpoint(replies, mode)
    request = model.request

    async def counting(*arguments: Any, **more: Any) -> Any:
        next(asked)
        return await request(*arguments, **more)

    model.request = counting  # type: ignore[method-assign]

    async def talk() -> Feedback | None:
        use = Use(run=folder.name, method="chase")
        episode = AgentRecords(store=store, use=use, folder=folder).episode("propose", 1)
        tools = HistoryTools(folder / "tree", tokens=1000, seed=1).tools()
        talk = Conversation(model=model, episode=episode, system="Work.", tools=tools, submissions=(FEEDBACK,), seed=1)
        return await talk.work("Begin.", FEEDBACK, turns=3)

    first = ran(talk)
    if not isinstance(first, ChaseError):
        requests = next(asked)
        assert ran(talk) == first
        assert next(asked) == requests + 1


@few
@given(text=TEXTS | documents(VALUES))
def test_json_is_plain_or_refused(text: str | bytes) -> None:
    with suppress(NotPlain):
        value = parse_json(text)
        assert json.loads(json.dumps(value, allow_nan=False)) == value
        digest(value)


@few
@given(headers=HEADERS)
@example(headers={"Retry-After": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"})
@example(headers={"Retry-After": "Fri, 31 Dec 9999 23:59:59 -2359"})
def test_a_wait_is_a_number_of_seconds_or_none(headers: dict[str, str]) -> None:
    wait = seconds_to_wait(headers)
    assert wait is None or 0 <= wait <= 366 * 86_400


@few
@given(output=documents(USAGES.map(lambda usage: {"usage": usage, "total_cost_usd": 1})))
def test_reported_usage_is_bounded(output: bytes) -> None:
    found = reported_usage(output.decode("utf-8", "replace"), wall_seconds=1.0)
    assert found is None or 0 <= found[0].input_tokens <= 3 * 10**12


FORMS = records(
    schema=st.just("chase.transformation/1"),
    benchmark=st.just("syn-ledger"),
    operators=st.lists(
        records(
            name=st.sampled_from(["shift", "reverse", "permute", "re-encode"]),
            arguments=records(by=st.integers(-5, 5), aspect=st.sampled_from(["name", "depth"]), format=st.just("csv")),
            seed=NUMBERS,
            version=st.just(1),
        ),
        max_size=3,
    ),
    seed=NUMBERS,
    declared=st.lists(TEXTS, max_size=2),
    description=TEXTS,
    claims=st.lists(TEXTS, max_size=3),
)
SHIFT = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}]}


@few
@given(form=FORMS | documents(FORMS).map(lambda raw: raw.decode("utf-8", "replace")))
@example(form={**SHIFT, "claims": ["\ud800"], "description": "\udfff"})
@example(form=json.dumps({**SHIFT, "claims": ["\ud800"]}))
def test_a_transformation_is_examined_or_refused(small: SmallLedger, form: Any) -> None:
    proposal = ours(lambda: parse_for(small, form))
    if isinstance(proposal, ChaseError):
        assert isinstance(proposal, UserError)
        return
    digest(proposal.to_json())
    assert parse_for(small, json.dumps(proposal.to_json())).to_json() == proposal.to_json()
    run_checks(proposal.lifted(small.subject), small.subject)


CANDIDATES = st.lists(records(track=st.just("structural"), files=records(), record=VALUES), max_size=2) | VALUES
DRAFTS = st.lists(records(form=FORMS, suspected=st.lists(TEXTS), traces=st.lists(TEXTS), replay=VALUES)) | VALUES


async def _unasked() -> list[Any]:
    raise AssertionError("what is kept is not asked for again")


@few
@given(content=documents(CANDIDATES), drafts=documents(DRAFTS))
@example(content=b"[1]", drafts=b'[{"form": {}, "suspected": [[]], "traces": [], "replay": {}}]')
@example(content=b'[{"track": null}]', drafts=b'{"form": 1}')
@example(content=b"\xff", drafts=b"[" * 100_000)
def test_a_changed_journal_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, drafts: bytes
) -> None:
    journal = Journal(Workspace(tmp_path_factory.mktemp("journal")), "run")
    folder = journal.path / "rounds" / "1"
    folder.mkdir(parents=True)
    (folder / "candidates.json").write_bytes(content)
    (folder / "drafts.json").write_bytes(drafts)
    for found, kind in (
        (ran(lambda: journal.candidates(1, _unasked)), Candidate),
        (ran(lambda: journal.drafts(1, _unasked)), Draft),
    ):
        if isinstance(found, ChaseError):
            assert isinstance(found, IntegrityError)
            assert "Remove it" in str(found)
        else:
            assert all(isinstance(answer, kind) for answer in found)


LINES = records(
    asked=TEXTS, response=records(parts=VALUES, kind=st.just("response")), usage=VALUES, superseded_from=NUMBERS
)


@few
@given(lines=st.lists(documents(LINES), min_size=1, max_size=2))
@example(lines=[b"1"])
@example(lines=[b"\xff"])
@example(lines=[b'{"asked": "a"}'])
def test_a_changed_transcript_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, store: Store, lines: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    episode = folder / "rounds" / "1" / "propose"
    episode.mkdir(parents=True)
    (episode / TRANSCRIPT).write_bytes(b"".join(line + b"\n" for line in lines))
    found = ours(
        lambda: AgentRecords(store=store, use=Use(run=folder.name, method="chase"), folder=folder).episode("propose", 1)
    )
    assert not isinstance(found, ChaseError) or isinstance(found, IntegrityError)


@few
@given(content=documents(VALUES))
@example(content=b'{"schema": "chase.evolve/1"}')
def test_a_changed_result_is_named(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = RunFolder(Workspace(tmp_path_factory.mktemp("result")), "run")
    folder.write_result("chase.evolve/1", {"run": "run"})
    assert folder.read_result() == {"run": "run"}
    (folder.path / "result.json").write_bytes(content)
    with pytest.raises(IntegrityError, match="Restore it from a copy, or start the run anew"):
        folder.read_result()


@few
@given(
    content=documents(records(schema=st.just("chase.archive/1"), entries=st.lists(VALUES, max_size=1), digest=TEXTS))
)
def test_a_changed_archive_is_named(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("archive") / "archive.json"
    path.write_bytes(content)
    assert isinstance(ours(lambda: read_archive(path)), UserError | IntegrityError)


TOML = st.sampled_from(["seed", "method", "benchmark", "rounds", "rollouts", "epsilon", "options", "models", "what"])
LITERALS = [
    "1",
    '"chase"',
    "[1]",
    "{evo = 1}",
    "{a = {b = [1]}}",
    "nan",
    "1e400",
    "99999999999999999999",
    "true",
    "'x'",
]
SETTINGS = st.dictionaries(TOML, st.sampled_from(LITERALS), max_size=4).map(
    lambda table: "\n".join(f"{key} = {value}" for key, value in table.items()).encode()
)


@few
@given(content=SETTINGS | st.binary(max_size=40) | st.just(b"a = " + b"[" * 2000))
def test_changed_settings_are_read_or_named(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = RunFolder(Workspace(tmp_path_factory.mktemp("settings")), "run")
    folder.path.mkdir(parents=True)
    (folder.path / "config.toml").write_bytes(content)
    ours(lambda: with_settings_of(raw_settings(EvolveSettings, {}), folder).settings())


@few
@given(files=st.dictionaries(st.sampled_from(["harness.toml", "prompt.md", "memory.md", "guidance/a.md"]), TEXTS))
def test_the_files_of_a_harness_are_a_harness_or_refused(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    structure = {"harness.toml": 'schema = "chase.harness/1"\nbenchmark = "syn-ledger"\n', "prompt.md": "Answer."}
    for given_files in (files, {**files, **structure}):
        found = ours(lambda given_files=given_files: parse_files(given_files, where="here"))
        assert isinstance(found, UserError) or digest(found.hash)
    folder = tmp_path_factory.mktemp("harness")
    (folder / "guidance").mkdir()
    for name, text in {**files, **structure}.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    ours(lambda: load_harness(folder))
