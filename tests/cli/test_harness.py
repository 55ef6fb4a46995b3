"""`chase harness init|check|show|diff`: output, JSON schema, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from chase.cli.harness import app
from chase.core.errors import UserError
from chase.harness.folder import load_harness
from chase.harness.spec import COMPONENTS
from chase.testing.ledger import H0
from tests.harness.samples import write_folder

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def run(*arguments: str | Path) -> str:
    """Standard output; an error is raised as the command line's entry point gets it."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def payload(command: str, *arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(command, *arguments, "--json"))
    schema = json.loads((SCHEMAS / f"chase.harness.{command}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(found, schema, cls=jsonschema.Draft202012Validator)
    assert found["schema"] == f"chase.harness.{command}/1"
    return found


def refusal(*arguments: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        run(*arguments)
    assert caught.value.exit_code == 2
    return str(caught.value)


# init


def test_init_writes_the_papers_initial_harness(tmp_path: Path) -> None:
    found = payload("init", tmp_path / "h0", "--benchmark", "syn-ledger")
    assert load_harness(tmp_path / "h0") == H0
    assert found["hash"] == H0.hash
    assert {path.name for path in (tmp_path / "h0").iterdir()} == {"harness.toml", "prompt.md"}


def test_init_takes_a_seed_and_size_which_are_no_part_of_the_harness(tmp_path: Path) -> None:
    text = run("init", tmp_path / "h0", "--benchmark", "syn-ledger@7")
    assert f"H_0 for syn-ledger is in {tmp_path}/h0" in text
    assert load_harness(tmp_path / "h0") == H0


def test_init_refuses_a_folder_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    sentence = refusal("init", tmp_path, "--benchmark", "syn-ledger")
    assert f"DIR={tmp_path} already holds something. Name a new or an empty folder." in sentence
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("name", "to_do"),
    [("syn-legder", "Did you mean 'syn-ledger'? Valid: syn-ledger"), ("syn-ledger@x", "syn-ledger@SEED")],
)
def test_init_names_the_benchmarks_there_are(tmp_path: Path, name: str, to_do: str) -> None:
    assert to_do in refusal("init", tmp_path / "h0", "--benchmark", name)
    assert not (tmp_path / "h0").exists()


# check


def test_check_says_hash_components_and_hooks(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "h")
    found = payload("check", folder, "--benchmark", "syn-ledger@7")
    assert found["hash"] == load_harness(folder).hash
    assert found["benchmark"] == "syn-ledger@7"
    assert found["hooks"] == ["should_stop"]
    changed = {component["name"]: component["changed"] for component in found["components"]}
    assert list(changed) == list(COMPONENTS)
    assert changed["guidance modules"] == ["guidance/percent.md"]
    assert changed["control policy"] == ["answer", "control.py"]
    assert changed["retrieval policy"] == []
    text = run("check", folder, "--benchmark", "syn-ledger@7")
    assert found["hash"] in text
    assert "  should_stop       ran on an example" in text
    assert "retrieval policy  structural  as in H_0" in text


def test_check_holds_a_harness_to_its_own_benchmark(tmp_path: Path) -> None:
    toml = 'benchmark = "syn-ledger"\nanswer = "text"\n'
    folder = write_folder(tmp_path / "h", {"harness.toml": toml, "control.py": None})
    sentence = refusal("check", folder)
    assert f"answer='text' in {folder}/harness.toml does not fit benchmark syn-ledger" in sentence


def test_check_refuses_a_benchmark_that_is_not_there(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "h", {"harness.toml": 'benchmark = "syn-leger"\n'})
    sentence = refusal("check", folder)
    assert f"benchmark in {folder}/harness.toml: unknown benchmark 'syn-leger'" in sentence


def test_check_names_the_line_of_the_file_that_control_goes_wrong_in(tmp_path: Path) -> None:
    source = "\n\ndef should_stop(state: State) -> bool:\n    return stat\n"
    folder = write_folder(tmp_path / "h", {"control.py": source})
    sentence = refusal("check", folder, "--benchmark", "syn-ledger@7")
    assert sentence.startswith(f"{folder}/control.py, line 4: ")
    assert "Valid hooks: plan(task)" in sentence


def test_a_malformed_harness_is_one_sentence_for_every_command(tmp_path: Path) -> None:
    bad = write_folder(tmp_path / "bad", {"harness.toml": 'benchmark = "syn-ledger"\nretrieval.results = 1313\n'})
    good = write_folder(tmp_path / "good")
    for arguments in (["check", bad], ["show", bad], ["diff", good, bad], ["diff", bad, good]):
        sentence = refusal(*arguments)
        assert (
            sentence == f"retrieval.results=1313 in {bad}/harness.toml is not valid. Write an integer from 1 to 1000."
        )


# show


def test_show_reads_all_six_components(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "h", {"memory.md": None})
    text = run("show", folder)
    for name, track in COMPONENTS.items():
        assert f"\n{name} ({track} track)\n" in text
    for part in (
        "Use the tools.",
        "Divide by the earlier amount.",
        "question_has_any",
        "def should_stop",
        "repairs = 0",
    ):
        assert part in text
    assert "long-term memory (guidance track)\n    none\n" in text
    assert load_harness(folder).hash in text


def test_show_gives_the_whole_harness_as_json(tmp_path: Path) -> None:
    found = payload("show", write_folder(tmp_path / "h"))
    assert found["prompt"] == "Use the tools."
    assert found["guidance"][0]["when"]["question_has_any"] == ["percentage"]
    assert found["structure"]["tools"]["opened_files"] is None
    assert found["control"].startswith("def should_stop")


def test_a_harness_cannot_steer_the_terminal_it_is_shown_on(tmp_path: Path) -> None:
    plain = write_folder(tmp_path / "plain")
    steering = write_folder(tmp_path / "steering", {"prompt.md": "\x1b[2Jgone"})
    for arguments in (["show", steering], ["diff", plain, steering]):
        text = run(*arguments)
        assert "\x1b" not in text
        assert "\\x1b[2Jgone" in text


# diff


def test_diff_reads_by_track_and_component(tmp_path: Path) -> None:
    old = write_folder(tmp_path / "old")
    new = write_folder(tmp_path / "new", {"harness.toml": 'benchmark = "syn-ledger"\nretrieval.results = 6\n'})
    assert "structural track\n  retrieval policy\n    retrieval.results: none → 6\n" in run("diff", old, new)
    found = payload("diff", old, new)
    assert found["tracks_changed"] == ["structural"]
    assert (found["old"], found["new"]) == (load_harness(old).hash, load_harness(new).hash)


def test_diff_shows_both_tracks_and_none(tmp_path: Path) -> None:
    full = write_folder(tmp_path / "full")
    bare = write_folder(tmp_path / "bare", {"guidance/percent.md": None, "control.py": None})
    assert payload("diff", full, bare)["tracks_changed"] == ["guidance", "structural"]
    assert payload("diff", full, full)["changes"] == []
    assert "no difference" in run("diff", full, full)


def test_a_folder_that_is_not_there_is_answered_with_the_command_that_makes_one(tmp_path: Path) -> None:
    assert "`chase harness init DIR --benchmark NAME`" in refusal("show", tmp_path / "nowhere")
