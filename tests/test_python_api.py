"""The Python API: its documentation runs, its keywords are the settings, and importing it is quick."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import chase
from chase.api import listener_of
from chase.cli.watching import Watch
from chase.core.errors import SetupError, UserError
from chase.core.events import Event
from chase.methods.verdict import Word
from chase.runs.listening import Silent
from chase.runs.settings import AuditSettings, CertifySettings, EvolveSettings, RepairSettings, RolloutSettings
from tests.cli.commands import checked, write_h0
from tests.conftest import open_once

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BLOCKS: list[str] = [
    block
    for page in ("docs/python-api.md", "docs/own-agent.md", "docs/analyze.md", "docs/scan.md", "README.md")
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    if "import chase\n" in block
]
SMALL: dict[str, Any] = {"model": "sim:reader", "harness": "h0", "split": "conf1", "rollouts": 1, "progress": False}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    write_h0(tmp_path / "mine", say="Read on.\n")
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", open_once)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_block_of_the_pages_runs(number: int) -> None:
    exec(compile(BLOCKS[number], f"block {number + 1}", "exec"), {"__name__": "block"})  # noqa: S102


def test_the_page_of_transformations_prints_what_it_says(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "transformations.md").read_text(encoding="utf-8")
    form, _, _ = page.split("$ cat reverse-names.json\n", 1)[1].partition("$ chase")
    (workspace / "reverse-names.json").write_text(form)
    block, printed = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)[0]
    exec(compile(block, "transformations.md", "exec"), {"__name__": "block"})  # noqa: S102
    assert capsys.readouterr().out == printed


def test_there_is_a_block_under_a_running_event_loop_and_the_readmes_is_short() -> None:
    assert len(BLOCKS) == 8
    assert any("asyncio.run" in block for block in BLOCKS)
    assert len(BLOCKS[0].splitlines()) <= 10
    assert len(BLOCKS[-1].splitlines()) <= 10


def test_a_result_has_typed_values_and_is_what_the_command_prints(workspace: Path) -> None:
    result = chase.rollout(benchmark="syn-ledger@7", **SMALL)
    payload = checked(json.dumps(result.to_json()))
    assert payload["score"]["value"] == result.score.value
    assert result.per_task == payload["per_task"]
    assert result.usage.requests == payload["usage"]["requests"]
    assert result.executed == 16
    kept = json.loads((result.folder / "result.json").read_text())
    assert kept == payload
    assert result.run in repr(result)
    assert chase.rollout(benchmark="syn-ledger@7", **SMALL).executed == 0


def test_values_may_stand_for_names_and_folders() -> None:
    ledger = open_once("syn-ledger@7")
    by_value = chase.rollout(benchmark=ledger, **{**SMALL, "harness": chase.initial_harness(ledger)})
    by_name = chase.rollout(benchmark="syn-ledger@7", **SMALL)
    assert by_value.run == by_name.run
    assert by_name.executed == 0


def test_an_opened_benchmark_that_was_cut_stays_so_and_its_sizes_are_kept(workspace: Path) -> None:
    sizes = {"evo": 3, "disc": 2, "conf1": 2, "conf2": 2, "conf3": 2, "cert": 2}
    cut = open_once("syn-ledger@7").fewer(sizes)
    ones = {"evo": 1, "disc": 1, "conf": 1, "cert": 1}
    made = chase.evolve(
        benchmark=cut,
        model="sim:reader",
        rounds=1,
        rollouts=ones,
        method="chase-without-challenger",
        no_certify=True,
        progress=False,
    )
    assert made.payload["config"]["tasks"] == sizes
    assert chase.certify(made.run, progress=False).payload["certification"]["tasks"] == 2


async def test_it_works_inside_a_running_event_loop() -> None:
    assert chase.rollout(benchmark="syn-ledger@7", **SMALL).executed == 16


def test_a_listener_hears_of_the_run() -> None:
    class Ears(Silent):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def finished(self, scored: object) -> None:
            self.heard.append("rollout")

        def told(self, event: Event) -> None:
            self.heard.append(type(event).__name__)

    ears = Ears()
    chase.rollout(benchmark="syn-ledger@7", **{**SMALL, "progress": ears})
    assert ears.heard == ["RunBegun", *["rollout"] * 16, "RunEnded"]


def test_progress_is_told_on_stderr_or_not_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    chase.rollout(benchmark="syn-ledger@7", **SMALL)
    assert capsys.readouterr() == ("", "")
    chase.rollout(benchmark="syn-ledger@7", **{**SMALL, "progress": True, "seed": 1})
    out, err = capsys.readouterr()
    assert out == ""
    assert "16/16 rollouts" in err


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rollouts": 0}, "rollouts=0 must be a whole number from 1 to 1000."),
        ({"rolouts": 1}, "Did you mean 'rollouts'?"),
        ({"split": "conf9"}, "unknown split 'conf9'"),
        ({"split": "cert"}, "split=cert is sealed: give --unseal REASON."),
        ({"model": None}, "model is missing"),
        ({"progress": 5}, "progress=5 must be true, false or a listener (chase.runs.listening)."),
        ({"progress": Silent}, "must be true, false or a listener"),
    ],
)
def test_a_wrong_setting_is_the_commands_sentence(wrong: dict[str, Any], sentence: str, workspace: Path) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        chase.rollout(benchmark="syn-ledger@7", **{**SMALL, **wrong})
    assert not (workspace / ".chase").exists()


@pytest.mark.parametrize(
    ("function", "model"),
    [
        ("rollout", RolloutSettings),
        ("evolve", EvolveSettings),
        ("forecast_evolve", EvolveSettings),
        ("audit", AuditSettings),
        ("forecast_audit", AuditSettings),
        ("repair", RepairSettings),
        ("forecast_repair", RepairSettings),
    ],
)
def test_keywords_are_the_settings_fields_and_progress(function: str, model: Any) -> None:
    parameters = inspect.signature(getattr(chase, function)).parameters
    assert set(parameters) == {*model.model_fields, "progress"}


def test_certify_takes_a_run_and_its_settings() -> None:
    parameters = inspect.signature(chase.certify).parameters
    assert next(iter(parameters)) == "run"
    assert set(parameters) == {"run", *CertifySettings.model_fields, "progress"}
    with pytest.raises(UserError, match="Did you mean 'reopen'"):
        chase.certify("latest", reopn="why")  # type: ignore[call-arg]
    with pytest.raises(UserError, match=r"^run=5 must be a text: a run's id, the beginning of it, or latest\.$"):
        chase.certify(5)  # type: ignore[arg-type]
    with pytest.raises(SetupError) as by_position:
        chase.certify("latest")
    with pytest.raises(SetupError) as by_keyword:
        chase.certify(run="latest")
    assert str(by_keyword.value) == str(by_position.value)


def test_an_initial_harness_is_that_of_a_benchmark_or_of_its_name() -> None:
    assert chase.initial_harness("syn-ledger@7").hash == chase.initial_harness(open_once("syn-ledger@7")).hash
    with pytest.raises(UserError, match=r"^benchmark=5 must be a text: a benchmark's name\.$"):
        chase.initial_harness(5)  # type: ignore[arg-type]


def test_data_beside_an_open_benchmark_is_refused(workspace: Path) -> None:
    with pytest.raises(UserError, match=r"^data=/tmp is for a benchmark that is named, and this one is open"):
        chase.rollout(benchmark=open_once("syn-ledger@7"), data="/tmp", **SMALL)
    assert not (workspace / ".chase").exists()


def test_an_evolution_is_certified_and_audited_in_a_few_lines(workspace: Path) -> None:
    """What comes out of one call goes into the next."""
    sizes: dict[str, Any] = {"split_sizes": "evo=8,disc=4,conf=4,cert=4", "progress": False, "model": "sim:reader"}
    common = {**sizes, "benchmark": open_once("syn-ledger@7")}
    rollouts = {"evo": 1, "disc": 1, "conf": 1, "cert": 1}
    evolution = {**common, "rounds": 1, "proposals": 2, "rollouts": rollouts, "seed": 1, "no_certify": True}
    forecast = chase.forecast_evolve(**evolution)
    assert checked(json.dumps(forecast.to_json()))["command"] == "evolve"
    assert not (workspace / ".chase").exists()
    evolved = chase.evolve(**evolution)
    checked(json.dumps(evolved.to_json()))
    assert evolved.certification is None
    assert evolved.final.hash == evolved.payload["final"]["hash"]
    assert evolved.initial.hash == chase.initial_harness(open_once("syn-ledger@7")).hash
    assert [entry.name for entry in evolved.archive.entries] == [entry["name"] for entry in evolved.payload["archive"]]
    assert "not certified" in repr(evolved)
    certified = chase.certify(evolved.run, progress=False)
    checked(json.dumps(certified.to_json()))
    assert certified.certification.tasks == 4
    assert certified.certification.gains["released"].n == 4
    again = chase.evolve(resume=evolved.run, progress=False)
    assert again.certification is not None
    assert again.certification.gamma.value == certified.certification.gamma.value
    assert evolved.final.hash != evolved.initial.hash
    audit = {**common, "harness": evolved.final, "rounds": 1, "proposals": 2, "rollouts": 1, "anyway": True}
    audited = chase.audit(**audit)
    checked(json.dumps(audited.to_json()))
    assert audited.verdict in get_args(Word)
    assert audited.gain.n == 12
    assert audited.warnings == evolved.warnings == certified.warnings != ()
    assert audited.attribution is not None
    assert {part["label"] for part in audited.attribution["parts"]} <= {"shortcut", "honest", "open"}
    whole = chase.audit(**audit, whole=True)
    checked(json.dumps(whole.to_json()))
    assert whole.run != audited.run
    assert whole.attribution is None
    assert {finding["source"] for finding in audited.findings} >= {"battery"}
    for finding in audited.findings:
        assert audited.example(finding).task in open_once("syn-ledger@7").tasks()


def test_without_a_word_it_is_told_where_somebody_is_watching(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(listener_of(None), Silent)
    monkeypatch.setattr(sys, "ps1", "In : ", raising=False)  # as in a notebook
    assert isinstance(listener_of(None), Watch)
    assert isinstance(listener_of(False), Silent)


WRONG = """import chase

chase.rollout(benchmark=3)
chase.rollout(model="sim:reader", rolouts=3)
chase.evolve(rollouts=[1])
chase.audit(harness=3)
chase.certify(3)
found: str = chase.audit(model="sim:reader").gain
"""


@pytest.mark.slow
def test_a_type_checker_knows_keywords_and_results(workspace: Path) -> None:
    (workspace / "wrong.py").write_text(WRONG)
    (workspace / "right.py").write_text("\n".join(BLOCKS[:1]))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "wrong.py", "right.py"]
    source = str(Path(chase.__file__).parents[1])
    environment = {**os.environ, "MYPYPATH": source}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)
    errors = [line for line in ended.stdout.splitlines() if ": error: " in line]
    assert [line.partition(":")[0] for line in errors] == ["wrong.py"] * 6, ended.stdout
    for number in range(3, 9):
        assert any(line.startswith(f"wrong.py:{number}:") for line in errors)


def test_importing_is_lazy() -> None:
    program = "import sys, chase; chase.__version__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "numpy", "chase.api", "chase.core"} & set(loaded)
    assert {"open_benchmark", "rollout"} <= set(dir(chase))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        chase.nothing  # noqa: B018
