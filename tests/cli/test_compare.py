"""`chase compare`: its tables, the one opening of the seal, going on after an interruption, and how bad input ends."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chase as api
from chase.core.errors import UserError
from chase.runs import compare as comparing
from chase.runs.members import FinishedMember, read_specs
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.reader import NAME as ALMANAC_READER
from tests.cli.commands import Commands
from tests.testing import almanacs

pytestmark = pytest.mark.slow

SIZES = ("--split-sizes", "evo=6,disc=4,conf=4,cert=8", "--rollouts", "evo=1,disc=1,conf=1,cert=1", "--workers", 1)
LEDGER = ("--benchmark", "syn-ledger@7", "--model", "sim:reader", *SIZES)
FEW = ("--methods", "raw-harness,meta-harness,chase:eta=0,best-of-n", "--match", "chase:eta=0", "--rounds", 1)


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def compare(*more: object, methods: tuple[object, ...] = FEW) -> tuple[object, ...]:
    return ("compare", *LEDGER, *methods, *more)


def seals(folder: Path) -> dict[str, int]:
    with Store.open(Workspace(folder), write=False) as store:
        return {run.id: len(store.seals(run.id)) for run in store.runs() if store.seals(run.id)}


def test_a_comparison_from_one_command(chase: Commands, tmp_path: Path) -> None:
    found = chase.json(*compare("--seeds", "1-2"))
    assert list(found["methods"]) == ["raw-harness", "meta-harness", "chase:eta=0", "best-of-n"]
    assert [column["key"] for column in found["columns"]] == ["r_rel", "r_0", "g_rel", "g_0", "delta_bs"]
    raw = found["methods"]["raw-harness"]
    assert raw["r_rel"] == found["initial"]["r_rel"]
    assert raw["g_rel"]["value"] == 0
    assert raw["r_rel"]["n"] == 8
    assert raw["r_rel"]["over_seeds"]["n"] == 2
    for row in found["methods"].values():
        released, neutral = (row[key]["by_seed"] for key in ("g_rel", "g_0"))
        assert row["delta_bs"]["by_seed"] == pytest.approx([a - b for a, b in zip(released, neutral, strict=True)])
    # One opening for all, of the comparison alone.
    assert seals(tmp_path) == {found["run"]: 1}
    # Raw optimises nothing; the control uses no more than CHASE, and what others ran costs nobody twice.
    tokens = {name: row["optimisation"] for name, row in found["tokens"].items()}
    assert tokens["raw-harness"]["episodes"] == 0
    assert 0 < tokens["best-of-n"]["episodes"] <= tokens["chase:eta=0"]["episodes"]
    assert found["reused"] > 0
    assert found["features"]["chase:eta=0"] == {
        "proposer": True, "challenger": True, "shortcut_aware": True, "worst_case": True, "neutral_free": True,
    }  # fmt: skip
    assert found["paper"]["methods"]["chase"]["r_0"] == 0.3830
    assert found["paper"]["methods"]["harness-evolve"]["delta_bs"] == 0.0865
    assert len(found["differences"]) == 6 * 3
    # Members are runs of their own, with their own histories.
    members = {member["run"] for member in found["members"]}
    assert len(members) == 8
    folder = tmp_path / ".chase" / "runs"
    for run in members:
        assert (folder / run / "final" / "harness.toml").exists()
    # Text, Markdown, LaTeX and CSV of the same rows; printing it again runs nothing.
    shown = chase("compare", "--resume", found["run"])
    assert shown.code == 0
    assert "simulated reader" in shown.out
    assert "does not imply" in shown.out
    tables = folder / found["run"] / "tables"
    names = (
        "results",
        "differences",
        "certificates",
        "features",
        "tokens-optimisation",
        "tokens-certification",
        "paper",
    )
    assert {path.name for path in tables.iterdir()} == {f"{n}.{e}" for n in names for e in ("md", "tex", "csv")}
    with (tables / "results.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert float(rows["meta-harness"]["g_rel"]) == found["methods"]["meta-harness"]["g_rel"]["value"]
    assert r"\toprule" in (tables / "results.tex").read_text()
    assert "| meta-harness |" in (tables / "results.md").read_text()


def test_each_method_has_the_certificates_that_a_run_of_its_own_would_have(chase: Commands, tmp_path: Path) -> None:
    methods = ("--methods", "raw-harness,chase:epsilon=1:eta=0", "--rounds", 2)
    found = chase.json(*compare("--seeds", "1", methods=methods))
    by_method = {each["method"]: each for each in found["certificates"]}
    alone = chase.json(
        "evolve", "--benchmark", "syn-ledger@7", "--model", "sim:reader", *SIZES[:-2], "--eta", "0", "--epsilon", "1",
        "--rounds", 2, "--seed", 1, "--workspace", tmp_path / "alone",
    )  # fmt: skip
    assert alone["archive"]
    assert alone["final"]["changes"], "H* is another harness, so that there is something to bound"
    mine = by_method["chase:epsilon=1:eta=0"]["theorems"]
    assert mine == alone["theorems"]
    assert mine["archive_size"] == 1 + len(alone["archive"])
    assert not by_method["chase:epsilon=1:eta=0"]["unchanged"]
    assert by_method["raw-harness"]["unchanged"]
    assert by_method["raw-harness"]["theorems"]["archive_size"] == 1
    shown = chase("compare", "--resume", found["run"]).out
    assert "Certificates of each H*" in shown
    with (tmp_path / ".chase" / "runs" / found["run"] / "tables" / "certificates.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    told = rows["chase:epsilon=1:eta=0"]
    for way in ("hoeffding", "betting"):
        assert float(told[f"delta_bs_upper_{way}"]) == mine["neutral"][way]["delta_bs_upper"]
        assert float(told[f"gamma_upper_{way}"]) == mine["theorem1"][way]["gamma_upper"]


def test_an_interrupted_comparison_goes_on_and_pays_nothing_twice(
    chase: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = chase.json(*compare("--seeds", "1", "--workspace", tmp_path / "whole"))
    real, count = comparing.carry_out, 0

    async def dying(member: Any, run: Any) -> FinishedMember:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return await real(member, run)

    monkeypatch.setattr(comparing, "carry_out", dying)
    ended = chase(*compare("--seeds", "1"))
    assert ended.code == 130
    assert "chase compare --resume" in ended.err
    assert seals(tmp_path) == {}
    monkeypatch.setattr(comparing, "carry_out", real)
    again = chase.json("compare", "--resume", "latest")
    assert again["methods"] == whole["methods"]
    assert again["executed"] == whole["executed"]
    assert {key: again["spent"][key] for key in ("requests", "input_tokens")} == {
        key: whole["spent"][key] for key in ("requests", "input_tokens")
    }
    assert again["parts"] == 2


def test_a_cap_counts_all_members(chase: Commands, tmp_path: Path) -> None:
    ended = chase(*compare("--seeds", "1", "--budget-tokens", 60_000))
    assert ended.code == 4
    ended = chase("compare", "--resume", "latest")  # the cap is kept: there is nothing left of it
    assert ended.code == 4
    with Store.open(Workspace(tmp_path), write=False) as store:
        spent = sum(spend.usage.input_tokens + spend.usage.output_tokens for spend in store.spend())
    assert spent < 80_000
    assert chase("compare", "--resume", "latest", "--budget-tokens", 10**9).code == 0


def test_seeds_that_were_certified_are_refused_before_anything_runs(chase: Commands, tmp_path: Path) -> None:
    found = chase.json(*compare("--seeds", "1", methods=("--methods", "raw-harness")))
    more = ("--methods", "raw-harness,meta-harness", "--rounds", 1)
    refused = chase(*compare("--seeds", "0-1", methods=more))
    assert refused.code == 2
    assert f"seeds=1: comparison '{found['run']}' has opened the sealed tasks" in refused.err
    assert "Nothing was run" in refused.err
    assert seals(tmp_path) == {found["run"]: 1}
    for blank in ("", "  "):
        assert "needs a reason" in chase(*compare("--seeds", "0-1", "--reopen", blank, methods=more)).sentence
    same = chase(*compare("--seeds", "1", methods=("--methods", "raw-harness")))  # its agents could answer otherwise
    assert same.code == 2
    assert f"`chase compare --resume {found['run']}` shows its result" in same.err
    assert chase("compare", "--resume", found["run"][:-2]).code == 0  # members' ids begin so, too
    again = chase.json(*compare("--seeds", "0-1", "--reopen", "another method", methods=more))
    assert again["reopened"] == ["another method"]
    kept = chase.json(*compare("--seeds", "1", "--no-certify", methods=("--methods", "meta-harness", "--rounds", 1)))
    assert not kept["certified"]
    assert "methods" not in kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--methods", "chase,meta-harnes"), "unknown method 'meta-harnes'. Did you mean 'meta-harness'?"),
        (("--methods", "chase,chase"), "chase is named twice"),
        (("--methods", "chase:confirm"), "must be NAME or NAME:OPTION=VALUE"),
        (("--methods", "chase:confirn=false"), "Did you mean 'confirm'?"),
        (("--methods", "chase:confirm=perhaps"), "confirm=perhaps must be true or false"),
        (("--methods", "raw-harness", "--rounds", 2), "none of the methods has a use for this: leave --rounds out"),
        (("--methods", "raw-harness", "--proposer", "mining"), "leave --proposer out"),
        (("--methods", "chase", "--seeds", "3-1"), "must be seeds such as 0-9"),
        (("--methods", "chase", "--seeds", "1,1"), "each once"),
        (("--methods", "chase", "--seeds", "one"), "must be seeds such as 0-9"),
        (("--methods", "chase", "--reopen", "x", "--no-certify"), "--no-certify leaves the set sealed"),
        (("--methods", "chase", "--workers", 2, "--budget-tokens", 10), "without a cap"),
        (("--methods", "chase:epsilon=0.10,chase:epsilon=.1"), "chase:epsilon=0.1 is named twice"),
        (("--methods", "best-of-n:episodes=0"), "episodes=0 must be a whole number from 1 to 1000000"),
        (("--methods", "best-of-n,meta-harness", "--match", "nope"), "unknown match 'nope'. Valid: meta-harness"),
        (("--methods", "best-of-n", "--match", "best-of-n"), "unknown match 'best-of-n'"),
        (("--methods", "chase", "--match", "chase"), "none of the methods takes another's budget"),
        (("--methods", "raw-harness", "--reopen", "x"), "no comparison has opened the sealed tasks"),
    ],
)
def test_bad_input_is_one_sentence(chase: Commands, given: tuple[object, ...], said: str) -> None:
    ended = chase("compare", "--benchmark", "syn-ledger@7", "--model", "sim:reader", *given)
    assert ended.code == 2
    assert said in ended.sentence


def test_where_nothing_is_said_all_methods_are_compared(chase: Commands) -> None:
    forecast = chase.json("compare", *LEDGER, "--dry-run")
    named = {row["stage"].split(":")[0] for row in forecast["rollouts"]}
    assert {"meta-harness", "harness-evolve", "b0-access", "chase", "best-of-n"} <= named


def test_a_control_without_a_match_says_so(chase: Commands) -> None:
    found = chase.json(*compare("--no-certify", methods=("--methods", "best-of-n:episodes=6")))
    assert not any("matched" in said for said in found["warnings"])
    found = chase.json(*compare("--no-certify", methods=("--methods", "best-of-n,meta-harness", "--rounds", 1)))
    assert any("a budget of its own, not a matched one" in said for said in found["warnings"])


def test_nothing_is_opened_under_a_cap_that_does_not_hold_what_is_to_be_measured(
    chase: Commands, tmp_path: Path
) -> None:
    ended = chase(*compare("--budget-tokens", 20_000, methods=("--methods", "raw-harness")))
    assert ended.code == 4
    assert "16 rollouts on sealed tasks that stay sealed" in ended.sentence
    assert "are opened" not in ended.err
    assert seals(tmp_path) == {}


def test_a_forecast_holds_what_a_comparison_takes(chase: Commands) -> None:
    forecast = chase.json(*compare("--seeds", "1-2", "--dry-run"))
    found = chase.json(*compare("--seeds", "1-2"))
    taken = sum(row[stage]["episodes"] for row in found["tokens"].values() for stage in row)
    assert found["executed"] <= taken <= forecast["total"]["episodes"]["most"]


def test_without_a_neutral_variant_the_table_is_over_the_archive(
    chase: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    almanacs.install(monkeypatch)
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", lambda name, data=None: almanacs.open_once(name))
    found = chase.json(
        "compare", "--benchmark", almanacs.NAME, "--model", ALMANAC_READER, "--methods", "raw-harness,chase:eta=0",
        "--seeds", "1", "--rounds", 2, "--rollouts", "evo=1,disc=1,conf=1,cert=1", "--workers", 1,
    )  # fmt: skip
    assert [column["key"] for column in found["columns"]] == ["r_rel", "r_avg", "r_min", "g_rel", "gamma"]
    assert found["paper"] is None
    for row in found["methods"].values():
        assert row["r_min"]["value"] <= row["r_avg"]["value"] <= max(row["r_rel"]["value"], row["r_avg"]["value"])
        assert row["r_rel"]["over_seeds"] is None
    assert found["archives"]["1"]
    for certified in found["certificates"]:  # every method under the one archive
        assert certified["theorems"]["archive_size"] == 1 + len(found["archives"]["1"])
        assert certified["theorems"]["neutral"] is None
        gamma = found["methods"][certified["method"]]["gamma"]["value"]
        radius = certified["theorems"]["s_delta"]
        assert certified["theorems"]["theorem1"]["hoeffding"]["gamma_upper"] == pytest.approx(gamma + radius)
    assert any("Γ is near 0" in said for said in found["explanations"])
    assert not any("No counterfactual" in said for said in found["explanations"])
    found = chase.json(
        "compare", "--benchmark", almanacs.NAME, "--model", ALMANAC_READER, "--methods", "raw-harness", "--seeds", "2",
        "--split-sizes", "cert=4", "--rollouts", "evo=1,cert=1", "--workers", 1,
    )  # fmt: skip
    told = " ".join(found["explanations"])
    assert "No counterfactual was archived in any seed: there R_avg and R_min are the released score" in told
    assert "Too small to conclude (a pilot): on 4 tasks" in told


def test_a_method_that_needs_b0_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    (spec,) = read_specs(["raw-harness"])
    needy = replace(spec, label="needy", method=_NeedsNeutral())
    bench: Any = type("Bench", (), {"neutral": None, "name": "almanac@1"})
    kept, notes = comparing.usable([spec, needy], ["all"], bench)
    assert ([each.label for each in kept], len(notes)) == (["raw-harness"], 1)
    with pytest.raises(UserError, match="needs a neutral variant B_0, and almanac@1 has none"):
        comparing.usable([spec, needy], ["needy"], bench)


class _NeedsNeutral(type(read_specs(["raw-harness"])[0].method)):  # type: ignore[misc]
    traits = replace(read_specs(["raw-harness"])[0].method.traits, neutral_free=False)


def test_the_python_api_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = api.compare(
        benchmark="syn-ledger@7", model="sim:reader", methods=["raw-harness"], seeds=[1], progress=False,
        split_sizes={"cert": 4}, rollouts={"cert": 1}, workers=1,
    )  # fmt: skip
    assert result.methods["raw-harness"]["r_rel"]["n"] == 4
    assert json.loads(json.dumps(result.to_json()))["schema"] == "chase.compare/1"
    assert "raw-harness over 1 seeds" in repr(result)
