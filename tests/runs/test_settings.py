"""Settings: declared once, checked in one sentence wherever a value came from, with the nearest match for a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chase.core.errors import UserError
from chase.methods.registry import find_method
from chase.runs.config import raw_settings
from chase.runs.declaring import PANELS, Settings
from chase.runs.evolve import given_options
from chase.runs.settings import (
    AuditSettings,
    CertifySettings,
    DoctorSettings,
    EvolveSettings,
    RepairSettings,
    RolloutSettings,
)

COMMANDS: tuple[type[Settings], ...] = (
    RolloutSettings, EvolveSettings, AuditSettings, RepairSettings, CertifySettings, DoctorSettings,
)  # fmt: skip
WHOLE: dict[str, Any] = {"model": "sim:reader", "harness": "h0"}


def settled(given: dict[str, Any], file: str = "", folder: Path | None = None) -> RolloutSettings:
    config = {}
    if folder is not None:
        path = folder / "chase.toml"
        path.write_text(file)
        config = {"config": path}
    return raw_settings(RolloutSettings, {**config, **given}).settings()


@pytest.mark.parametrize("model", COMMANDS)
def test_every_setting_has_help_a_panel_and_a_check(model: type[Settings]) -> None:
    for name, about in model.about().items():
        assert about.help, name
        assert about.panel in PANELS
        assert model.kind(name) is not None
    panels = [about.panel for about in model.about().values()]
    assert panels == sorted(panels, key=PANELS.index)


def test_what_is_given_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    found = settled({**WHOLE, "seed": 2}, "seed = 1\nrollouts = 3\n", tmp_path)
    assert (found.seed, found.rollouts, found.concurrency) == (2, 3, 64)


def test_what_is_none_was_not_given(tmp_path: Path) -> None:
    assert settled({**WHOLE, "seed": None}, "seed = 1\n", tmp_path).seed == 1


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("rollouts", 0, "rollouts=0 must be a whole number from 1 to 1000."),
        ("rollouts", True, "rollouts=True must be a whole number from 1 to 1000."),
        ("rollouts", "3", "rollouts=3 must be a whole number from 1 to 1000."),
        ("seed", -1, "seed=-1 must be a whole number from 0 to 2147483647."),
        ("patience", float("nan"), "patience=nan must be a number of seconds, 0 or more."),
        ("harness", 3, "harness=3 must be a text: a harness's folder."),
        ("benchmark", 3, "benchmark=3 must be a text: a benchmark's name."),
        ("split", ["evo"], "split=['evo'] must be a text."),
        ("exclude_task", "one", "exclude_task=one must be a list of texts."),
        ("budget_usd", -1.0, "budget_usd=-1.0 must be an amount of USD, 0 or more."),
        ("price", [1, 2], "price=[1, 2] must be IN,CACHED,OUT: USD for a million tokens of input, cached input and "
         "output, such as 1.25,0.125,10."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_sentence(name: str, value: Any, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        settled({**WHOLE, name: value})
    assert str(refused.value) == sentence


def test_a_value_is_refused_in_the_same_words_from_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^rollouts=0 must be a whole number from 1 to 1000\.$"):
        settled(WHOLE, "rollouts = 0\n", tmp_path)


def test_an_unknown_name_gets_the_nearest_match(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown setting 'rollout'\. Did you mean 'rollouts'\?"):
        settled({**WHOLE, "rollout": 1})
    with pytest.raises(UserError, match=r"unknown key in .*chase.toml 'rollout'\. Did you mean 'rollouts'\?"):
        settled(WHOLE, "rollout = 1\n", tmp_path)


@pytest.mark.parametrize("act", ["workspace", "config", "unseal"])
def test_a_file_cannot_say_what_belongs_to_one_command(tmp_path: Path, act: str) -> None:
    with pytest.raises(UserError, match=f"unknown key in .* '{act}'"):
        settled(WHOLE, f'{act} = "x"\n', tmp_path)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(UserError, match=r"^model is missing: give --model or write model = … in the config file\.$"):
        settled({"harness": "h0"})


def test_the_doctor_reads_the_config_of_any_command(tmp_path: Path) -> None:
    (tmp_path / "chase.toml").write_text('model = "sim:reader"\nrollouts = 3\n')
    assert raw_settings(DoctorSettings, {"config": tmp_path / "chase.toml"}).settings().model == "sim:reader"
    (tmp_path / "chase.toml").write_text("rolouts = 3\n")
    with pytest.raises(UserError, match=r"Did you mean 'rollouts'\?"):
        raw_settings(DoctorSettings, {"config": tmp_path / "chase.toml"})


# Presets, and settings that can say a part


def evolving(given: dict[str, Any], file: str = "", folder: Path | None = None) -> EvolveSettings:
    config = {}
    if folder is not None:
        (folder / "chase.toml").write_text(file)
        config = {"config": folder / "chase.toml"}
    return raw_settings(EvolveSettings, {"model": "sim:reader", **config, **given}).settings()


def test_a_preset_that_is_given_wins_over_the_file_and_one_that_the_file_names_does_not(tmp_path: Path) -> None:
    assert evolving({"preset": "pilot"}, "rounds = 5\n", tmp_path).rounds == 1
    assert evolving({}, 'preset = "pilot"\nrounds = 5\n', tmp_path).rounds == 5
    assert evolving({"preset": "pilot", "rounds": 7}, "rounds = 5\n", tmp_path).rounds == 7
    with pytest.raises(UserError, match=r"unknown preset 'pilt'. Did you mean 'pilot'\?"):
        evolving({"preset": "pilt"})


def test_counts_by_role_say_something_of_the_roles_that_they_name(tmp_path: Path) -> None:
    found = evolving({"rollouts": "evo=9"}, "[rollouts]\nevo = 1\nconf = 2\n", tmp_path)
    assert found.rollouts == {"evo": 9, "conf": 2}
    assert evolving({"rollouts": {"evo": 9}, "preset": "pilot"}).rollouts == {
        "evo": 9,
        "disc": 1,
        "conf": 1,
        "sealed": 1,
    }


def test_options_by_name_are_read_as_values(tmp_path: Path) -> None:
    found = evolving(
        {"options": ["beam=3", "name=wide", "on=true", "rate=0.05"]}, "[options]\nbeam = 1\nk = 2\n", tmp_path
    )
    assert found.options == {"beam": 3, "k": 2, "name": "wide", "on": True, "rate": 0.05}


@pytest.mark.parametrize(
    ("given", "file", "rounds"),
    [
        ({"rounds": 2}, "[options]\nrounds = 3\n", 2),
        ({"rounds": 2}, "rounds = 3\n", 2),
        ({"options": ["rounds=2"]}, "rounds = 3\n", 2),
        ({"preset": "pilot"}, "[options]\nrounds = 3\n", 1),
        ({}, 'preset = "pilot"\n[options]\nrounds = 3\n', 3),
        ({"rounds": 2, "options": ["rounds=2"]}, "[options]\nrounds = 3\n", 2),
    ],
)
def test_an_option_of_a_method_is_one_setting_whichever_way_it_is_said(
    given: dict[str, Any], file: str, rounds: int, tmp_path: Path
) -> None:
    found = evolving(given, file, tmp_path)
    method = find_method("chase")
    assert given_options(method, found)["rounds"] == rounds


def test_a_flag_that_denies_an_option_wins_over_the_file(tmp_path: Path) -> None:
    found = evolving({"no_reduce": True}, "[options]\nreduce = true\n", tmp_path)
    assert (found.no_reduce, found.options) == (True, {})
    found = evolving({"options": {"reduce": True}}, "no_reduce = true\n", tmp_path)
    assert (found.no_reduce, found.options) == (False, {"reduce": True})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rounds": 2, "options": ["rounds=3"]}, "rounds=2 and the option rounds=3"),
        ({"epsilon": "0.05", "options": {"epsilon": 0.1}}, "epsilon=0.05 and the option epsilon=0.1"),
        ({"no_reduce": True, "options": ["reduce=true"]}, "no_reduce=True and the option reduce=True"),
    ],
)
def test_two_values_of_an_option_in_one_place_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        evolving(given)
    assert str(refused.value) == f"{sentence} contradict each other: leave one out."


def test_two_values_of_an_option_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"chase\.toml: rounds=1 and the option rounds=3 contradict each other"):
        evolving({}, "rounds = 1\n[options]\nrounds = 3\n", tmp_path)
    same = evolving({}, "rounds = 3\nepsilon = 0.05\n[options]\nrounds = 3\nepsilon = 0.05\n", tmp_path)
    assert same.rounds == 3


def test_what_decides_no_result_does_not_describe_a_run() -> None:
    free = {"concurrency": 2, "budget_tokens": 5, "no_certify": True, "resume": "latest", "workspace": "."}
    assert not raw_settings(EvolveSettings, free).describes
    for name, value in {"seed": 1, "model": "sim:reader", "options": ["a=1"], "base_url": "http://x/v1"}.items():
        assert raw_settings(EvolveSettings, {**free, name: value}).describes
