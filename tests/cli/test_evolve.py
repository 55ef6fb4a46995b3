"""`chase evolve` and `chase certify`: what they say and leave behind, resuming, the seal, and how bad input ends."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chase.cli.certify import print_table
from chase.harness.folder import load_harness
from chase.protocol.archive import read_archive
from chase.store.records import Run
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands, closed_port, write_h0

pytestmark = pytest.mark.slow

B = ("--benchmark", "syn-ledger@7", "--model", "sim:reader")
SMALL = ("--rounds", 1, "--proposals", 2, "--rollouts", "evo=1,disc=1,conf=1,cert=1")
OPEN = ("--eta", "0", "--no-certify")
"""With η = 0 whatever does not raise the gain is archived."""


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    return Commands(monkeypatch, capsys)


_KEPT: dict[str, tuple[Path, dict[str, Any]]] = {}


@pytest.fixture
def done(chase: Commands, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The payload of a run that is finished in the workspace: made once, then copied. It is not certified."""
    if "run" not in _KEPT:
        payload = chase.json(*evolve(*OPEN))
        kept = tmp_path_factory.mktemp("kept")
        shutil.copytree(tmp_path / ".chase", kept / ".chase")
        _KEPT["run"] = kept, payload
    elif not (tmp_path / ".chase").exists():
        shutil.copytree(_KEPT["run"][0] / ".chase", tmp_path / ".chase")
    return _KEPT["run"][1]


def evolve(*more: object) -> tuple[object, ...]:
    return ("evolve", *B, *SMALL, "--seed", 1, *more)


def plain(*more: object) -> tuple[object, ...]:
    """CHASE without its Challenger: the quickest run there is."""
    return (
        "evolve",
        *B,
        "--method",
        "chase-without-challenger",
        "--rounds",
        1,
        "--rollouts",
        "evo=1",
        "--no-certify",
        *more,
    )


def runs(folder: Path) -> list[Run]:
    with Store.open(Workspace(folder), write=False) as store:
        return store.runs()


def set_status(folder: Path, run: str, status: Any) -> None:
    with Store.open(Workspace(folder), write=True) as store:
        store.set_run_status(run, status)


def lasting(payload: dict[str, Any]) -> str:
    """The payload but for times, byte for byte."""
    changing = ("wall_seconds", "parts", "rollout_seconds", "spent")
    kept = {key: value for key, value in payload.items() if key not in changing}
    return json.dumps(kept)


# What it leaves behind


@pytest.mark.parametrize("method", ["harness-compass", "b0-access"])
def test_a_run_under_the_generalization_gate_has_its_contract_on_record(chase: Commands, method: str) -> None:
    small = ("--split-sizes", "evo=4,cert=2", "--rollouts", "evo=1,cert=1", "--rounds", 2)
    payload = chase.json("evolve", *B, "--method", method, *small)
    gates = [record["gates"] for record in payload["rounds"]]
    assert gates[0] == gates[1]
    assert "feature-rules" in gates[0]["generalization-gate"]["checks"]
    assert payload["config"]["method"] == method


def test_a_run_leaves_its_config_harnesses_archive_and_result(done: dict[str, Any], tmp_path: Path) -> None:
    folder = Workspace(tmp_path).run_folder(done["run"])
    assert json.loads((folder / "result.json").read_text()) == done
    settings = tomllib.loads((folder / "config.toml").read_text())
    assert settings["epsilon"] == "0.05"
    assert settings["eta"] == "0"
    assert settings["rollouts"]["conf3"] == 1
    assert load_harness(folder / "harnesses" / "H0").hash == done["config"]["initial"]
    assert load_harness(folder / "harnesses" / "H1").hash == done["harnesses"][1]["hash"]
    assert load_harness(folder / "final").hash == done["final"]["hash"]
    archive = read_archive(folder / "archive.json")
    assert [entry.hash for entry in archive.entries] == [entry["hash"] for entry in done["archive"]] != []
    (run,) = runs(tmp_path)
    assert (run.id, run.status, run.config) == (done["run"], "finished", done["config"])


def test_repair_is_a_setting_of_the_run_and_counted_beforehand(chase: Commands, tmp_path: Path) -> None:
    small = ("--split-sizes", "evo=4,disc=4,conf=4,cert=4", "--eta", "0", "--epsilon", "0", "--no-certify")
    said = chase.json(*evolve(*small, "--repair", "--dry-run"))
    assert [row["stage"] for row in said["rollouts"] if "repair" in row["stage"]] == ["repair at the end"]
    payload = chase.json(*evolve(*small, "--repair"))
    assert payload["config"]["repair"] is True
    folder = Workspace(tmp_path).run_folder(payload["run"])
    assert tomllib.loads((folder / "config.toml").read_text())["repair"] is True
    assert lasting(chase.json("evolve", "--resume", payload["run"])) == lasting(payload)
    without = chase.json(*evolve(*small))
    assert without["config"]["repair"] is False
    assert without["run"] != payload["run"]
    assert "has no use for this: leave --repair out" in chase(*plain("--repair")).sentence


def test_json_accounts_for_rollouts_and_time(done: dict[str, Any], tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert done["executed"] == store.info().rollouts["scored"]
        assert store.seals(done["run"]) == []
        assert {rollout.rollout.key.role for rollout in store.used(done["run"])} == {"evo", "disc", "conf1"}
    assert done["reused"] == 0
    assert 0 < done["rollout_seconds"] < done["wall_seconds"]
    assert done["certification"] is None
    assert done["rounds"][0]["confirmation"]["confirmed"]
    assert any(warning.startswith("simulated reader") for warning in done["warnings"])


@pytest.mark.slow
def test_text_tells_the_rounds_on_stderr_and_the_result_on_stdout(done: dict[str, Any], chase: Commands) -> None:
    finished = chase(*evolve(*OPEN))
    assert finished.code == 0
    told = finished.err.splitlines()
    assert told[0] == f"run {done['run']}-2 (after an interruption: chase evolve --resume {done['run']}-2)"
    assert told[1] == "round 1 of 1: from H0, archive: released"
    assert f"  * {done['final']['name']}" in finished.err
    assert "  Challenger: 2 transformations to be screened" in told
    assert re.search(r"^    valid  .+ (made|shuffled)", finished.err, re.MULTILINE)
    assert "  on disc: " in finished.err
    assert "  frozen: " in finished.err
    assert "  on conf1: gain destruction " in finished.err
    assert "against η = 0: confirmed" in finished.err
    assert f"  archived as b1: {done['archive'][0]['what']}" in told
    lines = finished.out.splitlines()
    assert lines[0].startswith(f"run {done['run']}-2: chase on syn-ledger@7, model sim:reader, seed 1, rounds T = 1, ")
    assert lines[1 : 1 + len(done["conclusion"]["sentences"])] == done["conclusion"]["sentences"]
    assert any(line.startswith(f"H* = {done['final']['name']} [{done['final']['hash'][:12]}]: ") for line in lines)
    assert "archive: the released benchmark and 1 confirmed counterfactual" in lines
    assert f"not certified: `chase certify {done['run']}-2` opens the sealed tasks" in lines
    assert "note: simulated reader" in finished.out


@pytest.mark.slow
def test_a_second_run_of_the_same_config_gets_a_number_and_pays_nothing(
    done: dict[str, Any], chase: Commands, tmp_path: Path
) -> None:
    second = chase.json(*evolve(*OPEN))
    assert second["run"] == f"{done['run']}-2"
    assert (second["executed"], second["reused"]) == (0, done["executed"])
    changing = {"run": "", "executed": 0, "reused": 0, "tokens": {}}
    assert second["tokens"]["optimisation"]["total"] == done["tokens"]["optimisation"]["total"]
    assert lasting({**second, **changing}) == lasting({**done, **changing})
    assert [run.id for run in runs(tmp_path)] == [done["run"], second["run"]]


def test_without_challenger_there_is_no_archive_and_evo_alone_is_held(chase: Commands, tmp_path: Path) -> None:
    payload = chase.json(*plain("--harness", "h0"))
    assert payload["archive"] == []
    assert payload["config"]["challenger"] is None
    assert set(payload["rounds"][0]) == {"round", "selection"}
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert {rollout.rollout.key.role for rollout in store.used(payload["run"])} == {"evo"}
    assert chase.json(*plain("--workspace", tmp_path / "other"))["final"] == payload["final"]


def test_harness_evolve_trains_on_confirmation_sets_and_selects_on_disc(chase: Commands, tmp_path: Path) -> None:
    small = ("--split-sizes", "evo=4,disc=2,conf=2,cert=2", "--rollouts", "evo=1,disc=1,conf=2,cert=1")
    run = ("evolve", *B, *small, "--method", "harness-evolve", "--option", "epochs=1", "--option", "batches=2")
    payload = chase.json(*run, "--no-certify")
    assert [(record["epoch"], record["tasks"]) for record in payload["rounds"]] == [(1, 5), (1, 5)]
    assert payload["final"]["selection"]["role"] == "disc"
    assert payload["config"]["challenger"] is None
    with Store.open(Workspace(tmp_path), write=False) as store:
        used = Counter(used.rollout.key.role for used in store.used(payload["run"]))
        assert used.keys() == {"evo", "disc", "conf1", "conf2", "conf3", "reference"}
        assert used["reference"] == 10
        assert {used.rollout.key.index for used in store.used(payload["run"])} == {0}, "as many of each task: one"
    assert "on disc as released" in chase(*run, "--no-certify", "--resume", "latest").out
    refused = chase(*run, "--rounds", 3)
    assert (refused.code, "leave --rounds out" in refused.sentence) == (2, True)


# Resuming


def test_resuming_a_finished_run_prints_its_result(done: dict[str, Any], chase: Commands, tmp_path: Path) -> None:
    for command in (evolve(*OPEN, "--resume", "latest"), ("evolve", "--resume", done["run"])):
        assert chase.json(*command) == done
    refused = chase("evolve", "--resume", "latest")
    assert refused.code == 2
    assert "no run of `chase evolve`" in refused.sentence
    assert len(runs(tmp_path)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), evolve(*OPEN)[1:]])
def test_an_unfinished_run_goes_on_without_asking_or_paying_again(
    done: dict[str, Any], chase: Commands, tmp_path: Path, settings: tuple[object, ...]
) -> None:
    folder = Workspace(tmp_path).run_folder(done["run"])
    for name in ("result.json", "archive.json"):
        (folder / name).unlink()
    set_status(tmp_path, done["run"], "paused")
    answers = folder / "rounds" / "1" / "drafts.json"
    asked = answers.stat().st_mtime_ns
    again = chase.json("evolve", *settings, "--resume", "latest")
    assert lasting(again) == lasting(done)
    assert again["spent"] == done["spent"]
    assert answers.stat().st_mtime_ns == asked
    assert runs(tmp_path)[0].status == "finished"


def test_a_run_is_not_continued_under_other_settings(done: dict[str, Any], chase: Commands, tmp_path: Path) -> None:
    set_status(tmp_path, done["run"], "running")
    named = chase(*evolve(*OPEN, "--seed", 2, "--resume", done["run"]))
    assert named.code == 2
    assert f"run '{done['run']}' has other settings: what differs is seed" in named.sentence
    latest = chase(*evolve(*OPEN, "--seed", 2, "--resume", "latest"))
    assert latest.code == 2
    assert f"There are: {done['run']} (other seed)" in latest.sentence
    (tmp_path / "h0" / "prompt.md").write_text("Answer.\n")
    harness = chase(*evolve(*OPEN, "--harness", "h0", "--resume", done["run"]))
    assert "other settings: what differs is initial" in harness.sentence
    assert len(runs(tmp_path)) == 1


def test_a_setting_beside_resume_is_laid_over_the_runs_own(
    done: dict[str, Any], chase: Commands, tmp_path: Path
) -> None:
    same = done["config"]["rounds"]
    assert chase.json("evolve", "--resume", done["run"], "--rounds", same) == done
    set_status(tmp_path, done["run"], "paused")
    for reference in (done["run"], "latest"):
        for flags in (("--rounds", same + 1), ("--option", f"rounds={same + 1}")):
            for further in ((), ("--dry-run",)):
                refused = chase("evolve", "--resume", reference, *flags, *further)
                assert refused.code == 2
                assert f"run '{done['run']}' has other settings: what differs is rounds" in refused.sentence
    assert [run.status for run in runs(tmp_path)] == ["paused"]


def test_an_outage_pauses_the_run_with_code_7(chase: Commands, tmp_path: Path) -> None:
    endpoint = "openai-compatible:tiny"
    config = tmp_path / "chase.toml"
    config.write_text(
        f'method = "chase-without-challenger"\nmodel = "{endpoint}"\n[rollouts]\nevo = 1\n'
        f'[models."{endpoint}"]\nretries = 0\n'
    )
    address = f"http://127.0.0.1:{closed_port()}/v1"
    paused = chase("evolve", "--benchmark", "syn-ledger@7", "--config", config, "--base-url", address)
    (run,) = runs(tmp_path)
    assert (paused.code, paused.out, run.status) == (7, "", "paused")
    assert paused.sentence.endswith(f"Finished rollouts are saved; go on with `chase evolve --resume {run.id}`.")
    again = chase("evolve", "--resume", "latest")
    assert (again.code, runs(tmp_path)[0].status) == (7, "paused")
    assert f"at {address} cannot be reached" in again.sentence


# Certification


@pytest.mark.slow
def test_certify_opens_the_set_once_and_prints_from_then_on(
    done: dict[str, Any], chase: Commands, tmp_path: Path
) -> None:
    first = chase.json("certify", "latest")
    found = first["certification"]
    with Store.open(Workspace(tmp_path), write=False) as store:
        rollouts = store.info().rollouts["scored"]
        (seal,) = store.seals(done["run"])
        assert seal.hashes["final"] == done["final"]["hash"]
    assert rollouts == done["executed"] + 2 * 3 * found["tasks"]  # two harnesses, three protocols
    for name, gain in found["gains"].items():
        scores = (found["scores"][harness][name]["value"] for harness in ("H*", "H0"))
        assert gain["value"] == pytest.approx(next(scores) - next(scores))
    assert found["g_min"]["value"] == pytest.approx(found["gains"]["released"]["value"] - found["gamma"]["value"])
    assert set(found["destruction"]) == {"b1", "neutral"}
    assert found["reopened"] == []
    assert found["certificate"]["archive_size"] == 2
    assert first["theorems"]["k"]["source"] == "searched"
    again = chase("certify", done["run"])
    assert again.err == ""
    for row in ("R_rel(H0)", "R_0(H*)", "G_rel", "G_0", "Δ_BS", "Γ", "G_min", "Δ_TS", "note: simulated reader"):
        assert row in again.out
    for row in ("Hoeffding", "Γ_A at most", "G_min,A at least", "measured under B_0", "Theorem 1", "Conditions"):
        assert row in again.out
    assert "[plug-in, not a guarantee]" in chase("certify", done["run"], "--k", "2", "--rho", "0.01").out
    assert "rho=-1.0 must be a number, 0 or more" in chase("certify", done["run"], "--rho", "-1").sentence
    assert json.loads((Workspace(tmp_path).run_folder(done["run"]) / "result.json").read_text())["certification"] == (
        found
    )
    reopened = chase.json("certify", done["run"], "--reopen", "a second look")
    assert reopened["certification"] == {**found, "reopened": ["a second look"]}
    assert "reopened: a second look" in chase("certify", done["run"]).out
    whole = chase.json(*evolve("--eta", "0"))
    assert whole["certification"] == found
    assert whole["executed"] == 0


def test_a_counterfactual_that_is_left_out_of_a_certification_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    figure = {"value": 0.1, "se": 0.02, "n": 4}
    found = {
        "tasks": 4,
        "scores": {harness: {"released": figure} for harness in ("H0", "H*")},
        "gains": {"released": figure},
        **dict.fromkeys(("gamma", "g_min", "excess_search_gain"), figure),
        "invalid": {"b2": ["access-and-resources: t-1: two documents share a path"]},
        "reopened": [],
    }
    print_table(found)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "b2 is not valid on the sealed tasks (access-and-resources: t-1: two documents share a path): "
        "it is no evidence and is left out."
    )


def test_only_finished_evolutions_are_certified(done: dict[str, Any], chase: Commands, tmp_path: Path) -> None:
    set_status(tmp_path, done["run"], "paused")
    unfinished = chase("certify", "latest")
    assert unfinished.code == 2
    assert f"go on with `chase evolve --resume {done['run']}`" in unfinished.sentence
    set_status(tmp_path, done["run"], "finished")
    assert "needs a reason" in chase("certify", "latest", "--reopen", " ").sentence
    assert "no run 'nobody'" in chase("certify", "nobody").sentence
    (Workspace(tmp_path).run_folder(done["run"]) / "result.json").write_text("{")
    damaged = chase("certify", "latest")
    assert damaged.code == 6
    assert "result.json cannot be read" in damaged.sentence


# Bad input


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--method", "chas"], "unknown method 'chas'. Did you mean 'chase'?"),
        (["--prior", "evn"], "unknown prior 'evn'. Did you mean 'even'?"),
        (["--edit-space", "document"], "unknown edit-space 'document'. Did you mean 'documents'?"),
        (["--rounds", 0], "rounds=0 must be a whole number from 1 to 20"),
        (["--rounds", 21], "rounds=21 must be"),
        (["--proposals", 0], "proposals=0 must be"),
        (["--epsilon", "-0.05"], "epsilon=-0.05 must be a decimal number from 0 to 1, such as 0.05"),
        (["--epsilon", "small"], "epsilon=small must be a decimal"),
        (["--eta", "nan"], "eta=nan must be a decimal"),
        (["--eta", "1.5"], "eta=1.5 must be a decimal"),
        (["--rollouts", "evo=0"], "must be whole numbers from 1 to 1000 by role: evo=0 is not"),
        (["--rollouts", "ev=1"], "unknown role in rollouts 'ev'. Did you mean 'evo'?"),
        (["--rollouts", "3"], "rollouts=3 must be counts by role, such as evo=2"),
        (["--no-certify", "--reopen", "why"], "--no-certify leaves it sealed"),
        (
            ["--method", "chase-without-challenger", "--eta", "0.05"],
            "method=chase-without-challenger has no use for this: leave --eta, --proposals out",
        ),
        (["--method", "chase-without-challenger", "--no-diff"], "leave --proposals, --no-diff out"),
        (["--option", "round=3"], "unknown option of chase 'round'. Did you mean 'rounds'?"),
        (["--option", "rounds"], "--option rounds must be KEY=VALUE, such as rounds=3"),
        (["--option", "epsilon=many"], "epsilon=many must be a decimal"),
        (["--option", "rounds=many"], "rounds=1 and the option rounds=many contradict each other: leave one out"),
        (["--option", "reduce=1"], "reduce=1 must be true or false"),
        (["--harness", "h7"], "h7"),
        (["--model", "sim:raeder"], "Did you mean 'sim:reader'?"),
        (["--benchmark", "syn-leger@7"], "Did you mean 'syn-ledger'?"),
        (["--resume", "latest"], "no run has these settings. Leave --resume out to start one"),
    ],
)
def test_wrong_usage_is_one_sentence_with_code_2(
    chase: Commands, tmp_path: Path, flags: list[object], what: str
) -> None:
    finished = chase(*evolve(*flags))
    assert finished.code == 2
    assert finished.out == ""
    assert finished.err.count("\n") == 1
    assert what in finished.sentence
    assert not (tmp_path / ".chase" / "runs").exists()


def test_a_harness_for_another_benchmark_is_refused(chase: Commands, tmp_path: Path) -> None:
    toml = tmp_path / "h0" / "harness.toml"
    toml.write_text(toml.read_text().replace('"syn-ledger"', '"officeqa"'))
    finished = chase(*evolve("--harness", "h0"))
    assert finished.code == 2
    assert "does not fit benchmark syn-ledger@7" in finished.sentence


def test_the_config_file_has_the_flags_names_and_unknown_keys_are_refused(chase: Commands, tmp_path: Path) -> None:
    config = tmp_path / "chase.toml"
    config.write_text('model = "sim:reader"\nepsilon = 0.10\nno_reduce = true\nround = 2\n')
    finished = chase("evolve", "--config", config)
    assert finished.code == 2
    assert "unknown key in" in finished.sentence
    assert "'round'. Did you mean 'rounds'?" in finished.sentence
    config.write_text('model = "sim:reader"\nno_reduce = 1\n')
    assert "no_reduce=1 must be true or false" in chase("evolve", "--config", config).sentence


@pytest.mark.slow
def test_thresholds_are_exact_decimals_in_their_shortest_form(chase: Commands, tmp_path: Path) -> None:
    config = tmp_path / "chase.toml"
    config.write_text("epsilon = 0.10\neta = 0.075\n")
    payload = chase.json(*plain("--method", "chase", "--config", config, "--rollouts", "evo=1,disc=1,conf=1"))
    assert (payload["config"]["epsilon"], payload["config"]["eta"]) == ("0.1", "0.075")


def test_an_option_can_be_given_by_its_name_and_a_method_has_its_own_only(chase: Commands, tmp_path: Path) -> None:
    """Both ways are one setting; what the file says for another method is no part of this one's run."""
    config = tmp_path / "chase.toml"
    config.write_text("epsilon = 0.10\n[options]\nrounds = 2\n")
    payload = chase.json(*plain("--config", config, "--option", "rounds=1"))
    assert payload["config"]["rounds"] == 1
    assert "epsilon" not in payload["config"]
    settings = tomllib.loads((Workspace(tmp_path).run_folder(payload["run"]) / "config.toml").read_text())
    assert (settings["rounds"], "options" in settings, "epsilon" in settings) == (1, False, False)


def test_rejected_candidates_have_the_names_of_the_result_in_the_list_of_rollouts(
    done: dict[str, Any], chase: Commands
) -> None:
    pool = done["rounds"][0]["selection"]["pool"]
    rejected = next(row for row in pool if row["harness"] not in ("H0", done["rounds"][0]["selection"]["selected"]))
    found = chase.json("trace", "list", "--run", "latest", "--harness", rejected["harness"], "--split", "evo")
    assert {entry["harness"] for entry in found["rollouts"]} == {rejected["harness"]}
    assert found["total"] == chase.json("trace", "list", "--harness", rejected["hash"], "--split", "evo")["total"] > 0
    (entry,) = done["archive"]
    on_disc = chase.json("trace", "list", "--run", "latest", "--variant", entry["name"], "--split", "disc")
    assert on_disc["total"] > 0
