"""Commands with a model file on this machine. What serves it here is a scripted stand-in: no model, no weights."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chase.core.values import JudgeModel
from chase.models.gguf import server
from chase.runs.models import Access, Models, fitted
from chase.runs.settings import RolloutSettings
from chase.store.workspace import Workspace
from tests.cli.commands import Commands, checked, write_h0
from tests.models.gguf_files import write_gguf
from tests.models.test_gguf_file import STANDIN

FILE = "gguf:tiny.gguf"


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.setattr(server, "LLAMA_CPP", STANDIN)
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    return Commands(monkeypatch, capsys)


def config(name: str, lines: str) -> Path:
    write_gguf(Path(name))
    path = Path("chase.toml")
    path.write_text(f'[models."gguf:{name}"]\n{lines}\n[models."gguf:{name}".server]\nslots = 2\nthreads = 1\n')
    return path


def test_rollouts_of_a_file_are_recorded_with_its_hash_and_read_each_history_once(
    chase: Commands, tmp_path: Path
) -> None:
    file = config("tiny.gguf", 'tool_mode = "json-schema"')
    flags = ("--model", "gguf:tiny.gguf", "--harness", "h0", "--split", "conf1", "--rollouts", 1, "--config", file)
    payload = chase.json("rollout", "--benchmark", "syn-ledger@7", *flags)
    (note,) = (text for text in payload["warnings"] if "SHA-256" in text)
    assert "replies are not reproducible bit by bit" in note
    assert payload["usage"]["cost_usd"] == 0.0
    assert payload["served_models"] == ["tiny.gguf"]
    with closing(sqlite3.connect(Workspace(tmp_path).database)) as database:
        rows = database.execute("SELECT episode, input_tokens, cached_tokens FROM ledger ORDER BY rowid").fetchall()
    # Two requests a rollout: were more rollouts at work than there are slots, the second would find no history.
    assert len(rows) == 2 * len(payload["per_task"])
    assert all(one[0] == two[0] and two[2] >= one[1] - 1 for one, two in zip(rows[::2], rows[1::2], strict=True))
    again = chase.json("rollout", "--benchmark", "syn-ledger@7", *flags)
    assert again["usage"] == payload["usage"]


def test_the_doctor_measures_both_ways_to_call_tools_and_says_which_to_set(chase: Commands) -> None:
    prose = chase("doctor", "--model", "gguf:prose.gguf", "--config", config("prose.gguf", ""), "--json")
    assert prose.code == 3
    found = {check["name"]: check for check in checked(prose.out)["checks"]}
    assert found["tool-calls"]["status"] == "failed"
    assert "0 of 5 replies called the tool" in found["tool-calls"]["detail"]
    assert "set tool_mode = 'json-schema' in [models.\"gguf:prose.gguf\"]" in found["tool-calls"]["detail"]
    fixed = config("prose.gguf", 'tool_mode = "json-schema"')
    good = {
        check["name"]: check
        for check in chase.json("doctor", "--model", "gguf:prose.gguf", "--config", fixed)["checks"]
    }
    assert (
        "5 of 5 replies called the tool with valid arguments (tool_mode 'json-schema')" in good["tool-calls"]["detail"]
    )
    assert "2 slots of up to 4,096 tokens, 1 threads, prompt cache on" in good["file"]["detail"]


def test_a_file_that_cannot_be_used_is_one_sentence(chase: Commands) -> None:
    Path("text.gguf").write_text("hello")
    for name, code, said in (("text.gguf", 2, "is no GGUF file"), ("crashing.gguf", 3, "ended with code 3")):
        if name != "text.gguf":
            write_gguf(Path(name))
        flags = ("--model", f"gguf:{name}", "--harness", "h0", "--split", "conf1", "--rollouts", 1)
        finished = chase("rollout", "--benchmark", "syn-ledger@7", *flags)
        assert finished.code == code, finished.err
        assert said in finished.sentence


def test_methods_are_compared_with_one_file_for_rollouts_and_agents(chase: Commands, tmp_path: Path) -> None:
    file = config("tiny.gguf", 'tool_mode = "json-schema"')
    roles = [flag for role in ("proposer", "challenger") for flag in (f"--{role}", "llm", f"--{role}-model", FILE)]
    sizes = ("--split-sizes", "evo=2,disc=2,conf=2,cert=2", "--rollouts", "evo=1,disc=1,conf=1,cert=1")
    what = ("--benchmark", "syn-ledger-small@101", "--methods", "raw-harness,chase", "--seeds", "1", "--rounds", 1)
    payload = chase.json("compare", *what, *sizes, "--model", FILE, *roles, "--config", file)
    assert not any("too long" in text for text in payload["warnings"])
    assert list(payload["methods"]) == ["raw-harness", "chase"]
    assert any("SHA-256" in text and "not reproducible bit by bit" in text for text in payload["warnings"])
    with closing(sqlite3.connect(Workspace(tmp_path).database)) as database:
        asked = {purpose for (purpose,) in database.execute("SELECT DISTINCT purpose FROM ledger")}
    assert asked == {"rollout", "propose"}  # none of its candidates is chosen: there is nothing to challenge


def test_histories_have_the_room_that_the_benchmark_allows_and_a_result_says_where_not(chase: Commands) -> None:
    write_gguf(Path("narrow.gguf"), **{"tiny.context_length": 100_000})
    write_h0(Path("wordy"), say='"' * 50_000)  # 25,000 tokens for the stand-in, to which each is two characters
    flags = ("--model", "gguf:narrow.gguf", "--harness", "wordy", "--split", "conf1", "--rollouts", 1)
    whole = chase.json("rollout", "--benchmark", "syn-ledger@7", *flags)
    assert "context-limit" not in whole["failures"]
    Path("chase.toml").write_text('[models."gguf:narrow.gguf".server]\ncontext_tokens = 4096\n')
    cut = chase.json("rollout", "--benchmark", "syn-ledger@7", *flags, "--config", "chase.toml")
    tasks = len(cut["per_task"])
    assert cut["failures"] == {"context-limit": tasks}
    said = f"{tasks} of {tasks} rollouts ended without an answer because their history was too long for the context of "
    (warning,) = (text for text in cut["warnings"] if "too long" in text)
    assert warning.startswith(f"{said}gguf:narrow.gguf (4,096 tokens) or for the benchmark's own limit.")
    assert warning.endswith('raise context_tokens in [models."gguf:narrow.gguf".server]')
    assert not any("too long" in text for text in whole["warnings"])
    few = ("--split-sizes", "evo=2,disc=2,conf=2,cert=2", "--rollouts", "evo=1,disc=1,conf=1,cert=1", "--rounds", 1)
    what = ("--methods", "chase-without-challenger", "--seeds", "1", "--harness", "wordy", *few)
    compared = chase.json("compare", "--benchmark", "syn-ledger@7", *flags[:2], *what, "--config", "chase.toml")
    (warning,) = (text for text in compared["warnings"] if "too long" in text)
    every = compared["executed"]
    assert every > 8  # candidates' too, not the sealed ones alone
    assert warning.startswith(f"{every} of {every} rollouts ended")


def test_a_run_goes_on_with_the_context_that_it_was_begun_with(
    chase: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_gguf(Path("tiny.gguf"), **{"tiny.context_length": 100_000})
    few = ("--split-sizes", "evo=2,disc=2,conf=2,cert=2", "--rollouts", "evo=1,disc=1,conf=1,cert=1", "--rounds", 1)
    what = ("--benchmark", "syn-ledger@7", "--model", FILE, "--method", "chase-without-challenger", "--no-certify")
    run = chase.json("evolve", *what, *few)["run"]
    monkeypatch.setattr("chase.models.gguf.options.MOST_CONTEXT_TOKENS", 20_000)
    assert chase.json("certify", run)["run"] == run


class AskingJudge:
    """What is looked at of a benchmark that a model judges, and whom it was given."""

    name, limits, judge = "judged", SimpleNamespace(context_tokens=131_072), None

    def __init__(self, judge: str) -> None:
        self.asks = JudgeModel(name=judge, settings={})

    def judged_by(self, model: Any) -> Any:
        return model

    def unasked(self, task: str, answer: str | None) -> float | None: ...

    def states(self, task: str, text: str) -> bool: ...


def test_a_judge_is_the_same_whoever_plays(chase: Commands) -> None:
    own, other = (f"gguf:{write_gguf(Path(name), **{'tiny.context_length': 100_000})}" for name in ("a.gguf", "b.gguf"))
    judges = set()
    for player in (own, other):
        models = Models(Access(tables={}))
        judge: Any = fitted(cast("Any", AskingJudge(own)), models, RolloutSettings(model=player))
        judges.add(judge.fingerprint)
    assert len(judges) == 1
