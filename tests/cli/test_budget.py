"""Caps, forecasts and token tables on the command line: exit code 4, going on, `--dry-run`, `chase store usage`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chase.models.config import Price
from chase.models.meter import Meter
from chase.runs.models import Access, Models
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.openai_server import text_reply, token_usage
from tests.cli.commands import Commands, checked, serving, write_h0
from tests.cli.test_audit import CHEAT, few_once

pytestmark = pytest.mark.slow

B = ("--benchmark", "syn-ledger@7", "--model", "sim:reader")
CHANGING = ("wall_seconds", "parts", "rollout_seconds", "spent", "tokens")


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    """Commands on a few tasks of every role, beside a cheat."""
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "cheat", say=CHEAT)
    commands = Commands(monkeypatch, capsys)
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", few_once)
    return commands


def evolve(*more: object) -> tuple[object, ...]:
    sizes = ("--rounds", 1, "--proposals", 2, "--rollouts", "evo=1,disc=1,conf=1,cert=1")
    return ("evolve", *B, *sizes, "--seed", 1, "--eta", "0", *more)


def audit(*more: object) -> tuple[object, ...]:
    return ("audit", *B, "--harness", "cheat", "--rollouts", 1, "--rounds", 1, "--proposals", 2, *more)


def lasting(payload: dict[str, Any]) -> str:
    """A result but for times and what interruptions add to the spend."""
    used = {stage: {**found, "paid": None} for stage, found in payload["tokens"].items()}
    return json.dumps([{key: value for key, value in payload.items() if key not in CHANGING}, used])


def state(folder: Path) -> tuple[str, int, int]:
    """The latest run's status, what is scored, and what the ledger has."""
    with Store.open(Workspace(folder), write=False) as store:
        spent = store.spend()
        tokens = sum(s.usage.input_tokens + s.usage.output_tokens for s in spent)
        return store.runs()[-1].status, store.info().rollouts["scored"], tokens


# Caps


@pytest.mark.slow
def test_a_capped_run_goes_on_to_the_same_result_and_pays_for_nothing_twice(chase: Commands, tmp_path: Path) -> None:
    whole = chase.json(*evolve("--workspace", tmp_path / "whole"))
    everything = whole["tokens"]["optimisation"]["paid"]["total"] + whole["tokens"]["certification"]["paid"]["total"]
    # In the middle of the search, and where there is room for some of the certification, but not for all of it.
    first, second = everything // 3, whole["tokens"]["optimisation"]["total"] + 10_000
    ended = chase(*evolve("--budget-tokens", first))
    assert ended.code == 4
    status, scored, tokens = state(tmp_path)
    assert status == "paused"
    assert 0 < scored < whole["executed"]
    assert 0.7 * first < tokens <= first
    run = whole["run"]
    assert ended.sentence.startswith(f"chase: budget reached: {tokens:,} of {first:,} tokens are spent, and ")
    assert ended.sentence.endswith(
        f"What was finished is saved; go on with `chase evolve --resume {run} --budget-tokens MORE`."
    )
    same = chase("evolve", "--resume", run)
    assert same.code == 4  # the cap is the run's
    assert chase(*evolve("--resume", "latest")).code == 4  # also where its settings are given beside it
    assert state(tmp_path)[2] <= first
    further = chase("evolve", "--resume", "latest", "--budget-tokens", second)
    assert further.code == 4
    assert "sealed tasks that stay sealed" in further.sentence
    assert "are opened" not in further.err
    assert state(tmp_path)[2] <= second
    done = chase.json("evolve", "--resume", run, "--budget-tokens", 10 * everything)
    assert lasting(done) == lasting(whole)
    wasted = done["spent"]["input_tokens"] + done["spent"]["output_tokens"] - everything
    assert 0 <= wasted < 0.05 * everything  # rollouts that were cut, and no other
    assert state(tmp_path)[:2] == ("finished", whole["executed"])
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert len(store.seals(run)) == 1


def test_a_cap_does_not_vanish_where_the_runs_settings_stand_beside_resume(chase: Commands, tmp_path: Path) -> None:
    assert chase(*evolve("--budget-tokens", 20_000)).code == 4
    spent = state(tmp_path)[2]
    assert chase(*evolve("--resume", "latest")).code == 4
    assert spent <= state(tmp_path)[2] <= 20_000
    assert chase(*evolve("--resume", "latest", "--budget-tokens", 40_000)).code == 4
    assert chase(*evolve("--resume", "latest")).code == 4
    assert state(tmp_path)[2] <= 40_000


def test_a_run_without_a_written_config_goes_on_by_its_settings(chase: Commands, tmp_path: Path) -> None:
    """It was killed between its beginning and the file."""
    assert chase(*evolve("--budget-tokens", 20_000)).code == 4
    [config] = tmp_path.glob(".chase/runs/*/config.toml")
    config.unlink()
    assert chase(*evolve("--resume", "latest", "--budget-tokens", 30_000)).code == 4
    assert config.exists()


def test_a_cap_in_usd_needs_a_price_and_keeps_to_it(chase: Commands, tmp_path: Path) -> None:
    ended = chase(*evolve("--price", "1,0.1,10", "--budget-usd", 0.02))
    assert ended.code == 4
    assert " of $0.02 is spent, and " in ended.sentence
    assert ended.sentence.endswith("--budget-usd MORE`.")
    with Store.open(Workspace(tmp_path), write=False) as store:
        cost = sum(spend.priced_usd for spend in store.spend())
    assert 0.01 < cost <= 0.02


@pytest.mark.slow
def test_an_audit_that_reached_its_cap_goes_on_by_the_same_command(chase: Commands, tmp_path: Path) -> None:
    ended = chase(*audit("--budget-tokens", 100_000))
    assert ended.code == 4
    assert ended.sentence.endswith("go on by the same command with a higher --budget-tokens.")
    status, scored, tokens = state(tmp_path)
    assert status == "paused"
    assert tokens <= 100_000
    again = chase(*audit("--budget-tokens", 10_000_000, "--json"))
    assert again.code in (0, 5)
    payload = checked(again.out)
    fresh = checked(chase(*audit("--json", "--workspace", tmp_path / "fresh")).out)
    kept = {key: value for key, value in payload.items() if key not in CHANGING}
    assert kept == {key: value for key, value in fresh.items() if key not in CHANGING}
    assert scored < payload["episodes"] == state(tmp_path)[1]


@pytest.mark.slow
def test_a_certification_is_under_the_runs_cap_or_one_of_its_own(chase: Commands, tmp_path: Path) -> None:
    run = chase.json(*evolve("--no-certify"))["run"]
    ended = chase("certify", run, "--budget-tokens", 10)
    assert ended.code == 4
    assert ended.sentence.endswith(f"go on with `chase certify {run} --budget-tokens MORE`.")
    assert state(tmp_path)[0] == "finished"
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert store.seals(run) == []  # refused before anything was opened
    assert chase("certify", run, "--budget-tokens", 10_000_000).code == 0


def test_a_proposer_that_is_cut_goes_on_where_it_was(chase: Commands, tmp_path: Path) -> None:
    asked: list[int] = []

    def talk(request: Any, attempt: int) -> Any:
        asked.append(1)
        return text_reply("I think.", usage=token_usage(20_000, 10))

    with serving(talk) as server:
        asking = ("--proposer-model", "openai-compatible:talker", "--base-url", server.url)
        flags = ("--method", "chase-without-challenger", "--rounds", 1, "--rollouts", "evo=1", "--no-certify")
        ended = chase("evolve", *B, *flags, *asking, "--budget-tokens", 200_000)
        assert ended.code == 4, ended.err
        first = len(asked)
        assert 0 < first <= 10
        _, scored, tokens = state(tmp_path)
        assert scored == 16  # H_0 on evo
        assert tokens <= 200_000
        done = chase.json("evolve", "--resume", "latest", "--budget-tokens", 10**8)
    search = done["tokens"]["optimisation"]
    assert (search["rollouts"], search["agent_episodes"]) == (16, 1)
    assert search["paid"]["requests"] == done["spent"]["requests"]
    assert search["total"] == search["paid"]["total"]  # every reply was paid for once
    assert search["paid"]["total"] > 20_010 * first


def test_all_models_of_a_run_are_on_its_meter_and_a_price_is_its_models_own() -> None:
    meter, price = Meter(usd=1.0), Price(input=1.0, cached=0.1, output=10.0)
    tables = {"openai-compatible:other": {"price": {"input": 2.0, "output": 3.0}}}
    prices = {"openai-compatible:mine": price}
    models = Models(Access(tables=tables, base_url="http://127.0.0.1:9/v1", meter=meter, prices=prices))
    mine, other, free = map(models.get, ("openai-compatible:mine", "openai-compatible:other", "sim:reader"))
    assert mine.meter is other.meter is free.meter is meter
    assert mine.expected_usd(1_000_000, 0) == pytest.approx(1.0)
    assert other.expected_usd(1_000_000, 0) == pytest.approx(2.0)
    assert free.expected_usd(1_000_000, 0) == 0


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--budget-usd", "-1"), "budget_usd=-1.0 must be an amount of USD"),
        (("--budget-usd", "nan"), "budget_usd=nan must be an amount of USD"),
        (("--budget-tokens", "-5"), "budget_tokens=-5 must be a whole number"),
        (("--price", "1,2"), "price=1,2 must be IN,CACHED,OUT"),
        (("--price", "1,2,x"), "price=1,2,x must be IN,CACHED,OUT"),
        (("--price", "1,2,inf"), "price=1,2,inf must be IN,CACHED,OUT"),
    ],
)
@pytest.mark.parametrize("command", [evolve, audit])
def test_bad_caps_and_prices_are_refused(
    chase: Commands, command: Any, flags: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    ended = chase(*command(*flags))
    assert ended.code == 2
    assert complaint in ended.sentence
    assert not (tmp_path / ".chase").exists()


def test_a_cap_in_usd_for_a_model_without_a_price_is_refused_before_a_run_is_begun(
    chase: Commands, tmp_path: Path
) -> None:
    model = ("--model", "openai-compatible:mine", "--base-url", "http://127.0.0.1:9/v1")
    ended = chase("evolve", "--benchmark", "syn-ledger@7", *model, "--budget-usd", 1)
    assert ended.code == 2
    assert "the price of model 'openai-compatible:mine' is not known" in ended.sentence
    assert "--budget-tokens" in ended.sentence
    assert not (tmp_path / ".chase").exists()


def test_caps_may_stand_in_the_config_file(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "chase.toml").write_text("budget_tokens = 1000\nprice = [1, 0.1, 10]\n")
    ended = chase(*evolve("--config", "chase.toml"))
    assert ended.code == 4
    assert "of 1,000 tokens are spent" in ended.sentence


# Forecasts


def test_a_dry_run_runs_and_writes_nothing(chase: Commands, tmp_path: Path) -> None:
    forecast = chase.json(*evolve("--dry-run", "--price", "1,0.1,10"))
    assert forecast["schema"] == "chase.forecast/1"
    assert (forecast["command"], forecast["method"]) == ("evolve", "chase")
    assert [(row["stage"], row["role"]) for row in forecast["rollouts"]] == [
        ("round 1", "evo"),
        ("round 1", "disc"),
        ("round 1", "conf1"),
        ("final selection", "evo"),
        ("certification", "cert"),
    ]
    assert "measured once" in forecast["per_rollout"]["source"]
    assert forecast["total"]["cost_usd"]["most"] > forecast["total"]["cost_usd"]["least"] > 0
    assert not (tmp_path / ".chase").exists()
    text = chase(*evolve("--dry-run"))
    assert text.code == 0
    assert "nothing is run" in text.out
    assert "final selection" in text.out
    assert "proposer (mining:even): 1 episodes, offline" in text.out
    assert not (tmp_path / ".chase").exists()


def test_a_dry_run_of_an_audit(chase: Commands, tmp_path: Path) -> None:
    forecast = chase.json(*audit("--dry-run"))
    assert (forecast["command"], forecast["method"]) == ("audit", None)
    assert list(dict.fromkeys(row["stage"] for row in forecast["rollouts"])) == [
        "battery",
        "edits",
        "aspects",
        "search, as released",
        "search, round 1",
        "confirmation",
    ]
    assert {row["role"] for row in forecast["rollouts"] if row["stage"].startswith("search")} == {"evo", "disc"}
    assert forecast["agents"][0]["agent"] == "challenger"
    assert not (tmp_path / ".chase").exists()


def test_a_dry_run_takes_what_the_store_has_measured_and_the_settings_of_a_run(chase: Commands) -> None:
    assert chase(*evolve("--budget-tokens", 100_000)).code == 4
    forecast = chase.json("evolve", "--resume", "latest", "--dry-run")
    assert forecast["per_rollout"]["source"].endswith("rollouts of this model in the store")
    assert forecast["total"]["cost_usd"] == {"least": 0, "most": 0}


# Token tables


def test_results_have_the_tokens_of_both_stages_and_so_has_the_store(chase: Commands) -> None:
    ended = chase(*evolve())
    assert ended.code == 0
    lines = [line for line in ended.out.splitlines() if " M tokens, " in line]
    assert [line.split(":")[0] for line in lines] == ["optimisation and selection", "certification"]
    again = chase.json(*evolve())
    search, certification = again["tokens"]["optimisation"], again["tokens"]["certification"]
    assert (
        search["episodes"] + certification["episodes"] == again["reused"] == search["reused"] + certification["reused"]
    )
    assert search["total"] > 0 == search["paid"]["total"]
    usage = chase.json("store", "usage")
    first, second = (
        [row for row in usage["accounts"] if row["run"] == run]
        for run in (again["run"].removesuffix("-2"), again["run"])
    )
    assert [row["stage"] for row in first] == ["optimisation", "certification"]
    assert (
        [row["total"] for row in first] == [row["total"] for row in second] == [search["total"], certification["total"]]
    )
    assert first[0]["paid"]["total"] == first[0]["total"]
    alone = chase.json("store", "usage", "latest")
    assert [row["run"] for row in alone["accounts"]] == [again["run"]] * 2
    text = chase("store", "usage").out
    assert text.index("optimisation and selection") < text.index("certification") < text.rindex(again["run"])
    assert chase("store", "usage", "nobody").code == 2
