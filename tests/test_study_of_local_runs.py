"""The study's runs with a real model: each becomes a row, and the same command goes on. A script stands in for it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from studies import local_runs
from studies.local_harnesses import studied
from studies.local_runs import Evolution

import chase
from chase.models.gguf import server
from tests.models.gguf_files import write_gguf
from tests.models.test_gguf_file import STANDIN

pytestmark = pytest.mark.slow

TINY = {"rounds": 1, "split_sizes": "evo=2,disc=2,conf=2,cert=2"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(server, "LLAMA_CPP", STANDIN)
    monkeypatch.setattr(local_runs, "RESULTS", tmp_path)
    monkeypatch.setattr(local_runs, "SIZES", TINY)
    monkeypatch.setattr(local_runs, "AUDITED", "syn-ledger-small@101")
    monkeypatch.setattr(local_runs, "EVOLVED", "syn-ledger-small@101")
    monkeypatch.setattr(local_runs, "AGENTS_ON", "syn-ledger@101")
    monkeypatch.setattr(local_runs, "EVOLUTIONS", {"1": Evolution(sizes=TINY["split_sizes"], edit_space="documents")})
    monkeypatch.setattr(local_runs, "AGENT_SEEDS", (1,))
    return write_gguf(tmp_path / "tiny.gguf")


def found(file: Path, monkeypatch: pytest.MonkeyPatch, *items: str) -> dict[str, Any]:
    place = ["--workspace", str(file.parent / "runs"), "--items", ",".join(items)]
    monkeypatch.setattr("sys.argv", ["local_runs", "--model", str(file), *place])
    local_runs.main()
    made: dict[str, Any] = json.loads((file.parent / "local_runs.json").read_text())
    return made


def asked_of(monkeypatch: pytest.MonkeyPatch, command: str) -> list[dict[str, Any]]:
    """What each later call of a command of the Python API is given; it is carried out all the same."""
    given: list[dict[str, Any]] = []
    carry_out = getattr(chase, command)
    monkeypatch.setattr(chase, command, lambda **settings: given.append(settings) or carry_out(**settings))
    return given


def test_each_harness_gets_a_verdict_beside_what_it_is(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = found(file, monkeypatch, "3")
    assert made["model"] == {"file": "tiny.gguf", "sha256": sha256(file.read_bytes()).hexdigest()}
    kinds = {name: row["kind"] for name, row in made["item 3: audits"].items()}
    assert sorted(kinds.values()) == ["cheat"] * 4 + ["honest"] * 3
    assert {row["verdict"] for row in made["item 3: audits"].values()} == {"inconclusive"}  # it answers all wrongly
    assert {row["scores"]["baseline"]["n"] for row in made["item 3: audits"].values()} == {6}
    harnesses = studied(chase.open_benchmark("syn-ledger-small@101"))
    for name, row in made["item 3: audits"].items():
        pair = {"harness": name, "baseline": harnesses[name].baseline}
        assert row["hashes"] == {key: harnesses[of].harness.hash for key, of in pair.items()}
    assert str(file.parent) not in json.dumps(made)


def test_what_is_to_decide_is_audited_over_its_own_baseline_on_tasks_of_its_own(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_runs, "DECIDED_ON", "syn-ledger-small@102")
    monkeypatch.setattr(local_runs, "DECIDING_SIZES", "evo=2,disc=2,conf=3,cert=2")
    given = asked_of(monkeypatch, "audit")
    made = found(file, monkeypatch, "3n")
    asked = [(settings["benchmark"].name, settings.get("rounds")) for settings in given]
    assert asked == [("syn-ledger-small@102", rounds) for rounds in (1, 3, 1, None)]
    assert [json.loads(path.read_text()) for path in given[-1]["transformations"]] == [local_runs.GIVEN]
    assert made["decided"] == {"benchmark": "syn-ledger-small@102", "sizes": "evo=2,disc=2,conf=3,cert=2"}
    harnesses = studied(chase.open_benchmark("syn-ledger-small@102"))
    cheat, honest = ("cheat", "listed-two"), ("honest", "not-reminded")
    over = {"cheat-over-listed": cheat, "cheat-over-listed, three rounds": cheat}
    over |= {"honest-reminder": honest, "honest-reminder, given": honest}
    rows = made["item 3n: audits that can decide"]
    assert {name: (row["kind"], row["baseline"]) for name, row in rows.items()} == over
    tested = rows["honest-reminder, given"]
    assert [each["what"] for each in (*tested["confirmed"], *tested["not_confirmed"])] == [
        "records moved on by 3 within each file"
    ]
    for name, row in rows.items():
        pair = {"harness": name.split(",")[0], "baseline": over[name][1]}
        assert row["g_rel"]["n"] == 9
        assert row["hashes"] == {key: harnesses[of].harness.hash for key, of in pair.items()}


def test_what_stands_in_the_result_is_not_made_again_and_other_sizes_are_not_mixed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_runs, "AUDITS", ("cheat-of-two", "honest-structure"))
    asked: list[str] = []
    monkeypatch.setitem(local_runs.RUNS, "item 3: audits", lambda local, name: asked.append(name) or {"of": name})
    found(file, monkeypatch, "3")
    made = found(file, monkeypatch, "3")
    assert asked == ["cheat-of-two", "honest-structure"]
    assert made["item 3: audits"] == {name: {"of": name} for name in asked}
    monkeypatch.setattr(local_runs, "SIZES", {**TINY, "rounds": 2})
    with pytest.raises(SystemExit, match="other sizes"):
        found(file, monkeypatch, "3")


def test_items_are_added_to_what_is_there_and_another_model_is_not(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = asked_of(monkeypatch, "evolve")
    found(file, monkeypatch, "4")
    assert [(settings["rounds"], settings["edit_space"]) for settings in given] == [(1, "documents")] * 2
    made = found(file, monkeypatch, "5")
    assert sorted(made["item 4: evolutions"]) == ["chase 1", "chase-without-challenger 1"]
    for row in made["item 4: evolutions"].values():
        assert row["gains"]["released"]["n"] == 2
        assert (row["rounds"], row["edit_space"], row["selected"]) == (1, "documents", ["H0"])  # nothing scores
    # The stand-in calls a tool that agents do not have, then says something: nothing of that is a candidate.
    assert made["item 5: proposer"]["1"]["evaluated"] == []
    assert made["item 5: challenger"]["1"]["proposals"] == 0
    assert made["item 5: proposer"]["1"]["calls"]["text only"] > 0
    written = (file.parent / "local_runs.transcripts/proposer-1.md").read_text()
    assert "\n## 1: search (" in written
    assert "\n    submit_candidates: nothing that fits its form" in written
    assert made["item 5: proposer"]["1"]["prompts"]
    assert str(file.parent) not in json.dumps(made)
    other = write_gguf(file.parent / "other.gguf")
    with pytest.raises(SystemExit, match="another model"):
        found(other, monkeypatch, "3")


def test_one_run_of_each_kind_then_the_next_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_runs, "AGENT_SEEDS", (1, 2))
    assert list(local_runs.planned(["5"])) == [
        ("item 5: proposer", "1"),
        ("item 5: challenger", "1"),
        ("item 5: proposer", "2"),
        ("item 5: challenger", "2"),
    ]


def test_an_item_that_does_not_exist_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        found(file, monkeypatch, "6")


def test_an_episode_whose_transcript_says_more_than_replies_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(local_runs, "RESULTS", tmp_path)
    reply = {"parts": [{"tool_name": "a`\n# b", "args": {}}], "finish_reason": "tool_call"}
    lines = [{"asked": "1", "response": reply}, {"superseded_from": 0}, {"asked": "2", "too_long": "so"}]
    (tmp_path / "transcript.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "episode.json").write_text(json.dumps({"agent": "llm", "prompts": {}, "remarks": []}))
    assert local_runs.episode_of(tmp_path, "odd")["requests"] == 1
    assert "## 1: a????b (tool_call)\n" in (tmp_path / "local_runs.transcripts/odd.md").read_text()
