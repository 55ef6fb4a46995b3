"""A harness as a folder: round trips, identity, and a sentence for everything malformed."""

from __future__ import annotations

import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from chase.core.errors import UserError
from chase.harness.folder import FILE_BYTES, load_harness, parse_files, render_files, save_harness
from chase.harness.spec import MOST, Activation, Guidance, Harness, Structure
from chase.testing.ledger import H0
from tests.harness.samples import VALID, harnesses, write_folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Round trips


@given(harnesses)
def test_saving_and_loading_gives_the_same_harness_and_the_same_bytes(harness: Harness) -> None:
    with tempfile.TemporaryDirectory() as place:
        first, second = Path(place, "first"), Path(place, "second")
        save_harness(harness, first)
        loaded = load_harness(first)
        assert loaded == harness
        assert loaded.hash == harness.hash
        save_harness(loaded, second)
        assert contents(first) == contents(second)


@given(harnesses)
def test_files_as_texts_are_a_harness_too(harness: Harness) -> None:
    assert parse_files(render_files(harness), where="candidate") == harness


def reordered(table: Any, random: Any) -> Any:
    if isinstance(table, dict):
        keys = list(table)
        random.shuffle(keys)
        return {key: reordered(table[key], random) for key in keys}
    return [reordered(item, random) for item in table] if isinstance(table, list) else table


@given(harnesses, st.randoms(), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\n", "\n\t\n"]))
def test_identity_ignores_line_endings_outer_blank_lines_and_key_order(
    harness: Harness, random: Any, ending: str, blank: str
) -> None:
    files = render_files(harness)
    files["harness.toml"] = tomli_w.dumps(reordered(tomllib.loads(files["harness.toml"]), random))
    with tempfile.TemporaryDirectory() as place:
        for name, text in files.items():
            path = Path(place, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes((blank + text + blank).replace("\n", ending).encode("utf-8-sig"))
        assert load_harness(Path(place)).hash == harness.hash


def test_comments_and_defaults_in_the_toml_do_not_count(tmp_path: Path) -> None:
    short = write_folder(tmp_path / "short")
    text = '# why\nschema = "chase.harness/1"\nbenchmark = "syn-ledger"\n[retrieval]\nmost_terms = 0\nrank = []\n'
    long = write_folder(tmp_path / "long", {"harness.toml": text})
    assert load_harness(short).hash == load_harness(long).hash


def test_everything_in_the_folder_counts(tmp_path: Path) -> None:
    hashes = {load_harness(write_folder(tmp_path / "all")).hash}
    for number, name in enumerate(VALID):
        changed = VALID[name].replace("tools", "tool").replace("yet", "now").replace("earlier", "later")
        changed = changed.replace("False", "True") if name == "control.py" else changed
        changed += 'answer = "text"\n' if name == "harness.toml" else ""
        hashes.add(load_harness(write_folder(tmp_path / str(number), {name: changed})).hash)
    hashes.add(load_harness(write_folder(tmp_path / "less", {"memory.md": None})).hash)
    assert len(hashes) == len(VALID) + 2


def test_a_folder_is_loaded_as_written(tmp_path: Path) -> None:
    harness = load_harness(write_folder(tmp_path, {"guidance/always.md": "Check the filters.\n"}))
    assert harness.structure == Structure(benchmark="syn-ledger")
    assert (harness.prompt, harness.memory) == ("Use the tools.", "Nothing yet.")
    assert harness.guidance == (
        Guidance(name="always", when=Activation(), text="Check the filters."),
        Guidance(
            name="percent", when=Activation(question_has_any=("percentage",)), text="Divide by the earlier amount."
        ),
    )
    assert harness.control_source == VALID["control.py"].strip()


def test_memory_guidance_and_control_are_optional_and_blank_ones_are_none(tmp_path: Path) -> None:
    only = write_folder(tmp_path / "only", {"memory.md": None, "control.py": None, "guidance/percent.md": None})
    blank = write_folder(tmp_path / "blank", {"memory.md": "\n", "control.py": " \n", "guidance/percent.md": None})
    (blank / "guidance").mkdir(exist_ok=True)
    assert load_harness(only) == load_harness(blank)
    assert load_harness(only).control_source is None


def test_the_order_of_what_a_condition_counts_does_not_count(tmp_path: Path) -> None:
    conditions = ("{periods = 2, entity = 1}", "{entity = 1, periods = 2}")
    harnesses = [
        load_harness(
            write_folder(tmp_path / str(place), {"guidance/a.md": f"+++\nwhen.values_at_least = {condition}\n+++\nt"})
        )
        for place, condition in enumerate(conditions)
    ]
    assert harnesses[0] == harnesses[1]
    assert render_files(harnesses[0]) == render_files(harnesses[1])


def test_control_code_is_neither_run_nor_parsed_by_loading(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    source = f"import pathlib; pathlib.Path({str(trap)!r}).touch()\nraise SystemExit\n}} not even Python"
    harness = load_harness(write_folder(tmp_path / "h", {"control.py": source}))
    assert harness.control_source == source
    assert not trap.exists()


# Saving


def test_saving_again_in_the_same_place_changes_nothing(tmp_path: Path) -> None:
    harness = load_harness(write_folder(tmp_path / "given"))
    save_harness(harness, tmp_path / "saved")
    before = contents(tmp_path / "saved")
    save_harness(harness, tmp_path / "saved")
    assert contents(tmp_path / "saved") == before


def test_an_interrupted_save_is_not_a_harness_and_can_be_finished(tmp_path: Path) -> None:
    harness = load_harness(write_folder(tmp_path / "given"))
    saved = tmp_path / "saved"
    save_harness(harness, saved)
    (saved / "harness.toml").unlink()
    (saved / ".harness.toml.partial").write_text("bench")
    with pytest.raises(UserError):
        load_harness(saved)
    save_harness(harness, saved)
    assert load_harness(saved) == harness


@pytest.mark.parametrize("name", ["notes.txt", "prompt.md", "guidance/other.md", "empty"])
def test_saving_overwrites_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "h" / name
    path.parent.mkdir(parents=True)
    path.write_text("" if name == "empty" else "mine")
    with pytest.raises(UserError, match=rf"{name} is in the way of saving a harness\. Name a new or an empty folder"):
        save_harness(H0, tmp_path / "h")
    assert set(contents(tmp_path / "h")) == {name}


def test_saving_does_not_write_through_links(tmp_path: Path) -> None:
    harness = load_harness(write_folder(tmp_path / "given"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "guidance").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="guidance is in the way"):
        save_harness(harness, tmp_path / "h")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"harness folder=.*file/h cannot be written: Not a directory\. Name a folder"):
        save_harness(H0, tmp_path / "file" / "h")


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (Guidance(name="../up", when=Activation(), text="x"), "not a guidance module's name"),
        (Guidance(name="a", when=Activation(), text=" "), "has no text"),
        (Guidance(name="a", when=Activation(), text="\ud800"), "is not valid Unicode"),
        (Guidance(name="a", when=Activation(), text="x" * FILE_BYTES), "is too large"),
    ],
)
def test_what_could_not_be_loaded_again_is_not_saved(tmp_path: Path, module: Guidance, sentence: str) -> None:
    base = H0
    harness = Harness(structure=base.structure, prompt=base.prompt, guidance=(module,))
    with pytest.raises(UserError, match=sentence):
        save_harness(harness, tmp_path / "h")
    assert not (tmp_path / "h").exists()


# What is refused: each sentence says what, where and what to do

TOML = 'benchmark = "syn-ledger"\n'


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_harness(folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", ".)"))
    return sentence


@pytest.mark.parametrize(
    ("line", "what", "to_do"),
    [
        ("retrieval.results = 0", "retrieval.results=0", f"Write an integer from 1 to {MOST}."),
        (f"retrieval.results = {MOST + 1}", f"retrieval.results={MOST + 1}", f"Write an integer from 1 to {MOST}."),
        ("retrieval.results = 4.0", "retrieval.results=4.0", f"Write an integer from 1 to {MOST}."),
        ('retrieval.results = "4"', 'retrieval.results="4"', f"Write an integer from 1 to {MOST}."),
        ("retrieval.results = true", "retrieval.results=true", f"Write an integer from 1 to {MOST}."),
        (f"tools.opened_files = {MOST + 1}", f"tools.opened_files={MOST + 1}", f"Write an integer from 1 to {MOST}."),
        ("tools.opened_files = 0", "tools.opened_files=0", f"Write an integer from 1 to {MOST}."),
        ("control.repairs = 2024-01-01", 'control.repairs="2024-01-01"', "Write an integer from 0 to 2."),
        ("retrieval.diverse = 1", "retrieval.diverse=1", "Write true or false."),
        ('retrieval.merge = "zip"', 'retrieval.merge="zip"', 'Write "sequence" or "round-robin".'),
        ("answer = 3", "answer=3", "Write text of at most 64 characters."),
        (f'answer = "{"x" * 65}"', 'answer="xxx', "Write text of at most 64 characters."),
        ('schema = "chase.harness/2"', 'schema="chase.harness/2"', 'Write "chase.harness/1".'),
        ("retrieval = 3", "retrieval=3", "Write a table of keys."),
        ('retrieval.templates = "{entity}"', 'retrieval.templates="{entity}"', "Write a list of texts."),
        ("retrieval.templates = ['{Entity}']", 'retrieval.templates[0]="{Entity}"', "e.g. '{question}'"),
        ("retrieval.templates = ['{question!r}']", 'templates[0]="{question!r}"', "in plain braces"),
        ("retrieval.templates = ['a', '{0}']", 'templates[1]="{0}"', "e.g. '{question}'"),
        ("retrieval.templates = ['{question.__class__}']", '"{question.__class__}"', "in plain braces"),
        (
            "retrieval.rewrites = [{calls_left_at_most = 2}]",
            'retrieval.rewrites[0]={"calls_left_at_most": 2}',
            "it changes nothing; write at least one of template,",
        ),
        (
            "retrieval.rank = [{prefer = 'low'}]",
            "rank[0].observable is missing",
            'Add observable = … (a name, e.g. "path-depth").',
        ),
        (
            "retrieval.rank = [{observable = 'Path depth', prefer = 'low'}]",
            'retrieval.rank[0].observable="Path depth"',
            """Write a name, e.g. "path-depth".""",
        ),
        (
            "retrieval.rank = [{observable = 'window', prefer = 'low', weight = 0}]",
            "retrieval.rank[0].weight=0",
            "Write a number above 0 and at most 100.",
        ),
        (
            "tools.read_on = {when = 'observable', observable = 'window', at_most = nan}",
            "tools.read_on.at_most=NaN",
            "Write a finite number.",
        ),
        (
            "tools.read_on.when = 'observable'",
            'tools.read_on={"when": "observable"}',
            "exactly one of at_most, at_least",
        ),
        (f"tools.instructions = '{'x' * 4001}'", "tools.instructions=", "Write text of at most 4000 characters."),
        (
            "retrieval.result = 4",
            "retrieval.result=4",
            "Did you mean 'results'? Valid: results, templates, ",
        ),
        ("retreival = {}", "retreival={}", "Did you mean 'retrieval'? Valid: schema, benchmark, answer, "),
        ("tools.opened_files = 0x" + "F" * 5000, "(a very large number)", f"Write an integer from 1 to {MOST}."),
        ("x =", "not valid TOML: ", "(at line 2, column "),
        ("benchmark = 'twice'", "not valid TOML: ", "line 2"),
        ("tools.opened_files = " + "1" * 5000, "not valid TOML: ", "Mend it there"),
        ("x = " + "[" * 5000, "nested too deeply", "docs/harness.md"),
    ],
)
def test_a_wrong_line_in_the_toml_is_one_sentence(tmp_path: Path, line: str, what: str, to_do: str) -> None:
    folder = write_folder(tmp_path / "h", {"harness.toml": f"{TOML}{line}\n"})
    sentence = refusal(folder)
    assert what in sentence
    assert f"{folder}/harness.toml" in sentence
    assert to_do in sentence


@pytest.mark.parametrize(
    ("text", "what", "to_do"),
    [
        ("", "benchmark is missing in ", "Add benchmark = … (text)."),
        ('benchmrk = "syn-ledger"', 'benchmrk="syn-ledger"', "Did you mean 'benchmark'?"),
        ('benchmark = "syn-ledger@7"', 'benchmark="syn-ledger@7"', "without seed and size, e.g. 'syn-ledger'"),
    ],
)
def test_the_benchmark_is_named_plainly(tmp_path: Path, text: str, what: str, to_do: str) -> None:
    sentence = refusal(write_folder(tmp_path, {"harness.toml": text}))
    assert what in sentence
    assert to_do in sentence


def test_only_the_first_of_several_problems_is_told_with_the_number_of_others(tmp_path: Path) -> None:
    text = f"{TOML}tools.opened_files = 0\nretrieval.results = 0\ncontrol.repairs = 9\n"
    sentence = refusal(write_folder(tmp_path, {"harness.toml": text}))
    assert sentence.startswith("retrieval.results=0")
    assert sentence.endswith("(2 more problems in this file.)")


def test_long_values_are_cut_and_cannot_steer_a_terminal(tmp_path: Path) -> None:
    text = TOML + 'answer = "\\u009b' + "x" * 500 + '"\n'
    sentence = refusal(write_folder(tmp_path, {"harness.toml": text}))
    assert "x" * 100 not in sentence
    assert sentence.isprintable()


@pytest.mark.parametrize(
    ("text", "what", "to_do"),
    [
        ("+++\nwhen = {}\nno end\n", "line 1: '+++' starts no complete front matter", "between two lines +++"),
        ("\n\n---\nwhen: x\n---\ntext", "line 3: '---' starts no complete front matter", "Write TOML"),
        ("+++\nwhen = {\n+++\ntext", "is not valid TOML", "line 2"),
        ("+++\nif = 3\n+++\ntext", "if=3", "unknown key 'if'. Valid: when."),
        ("+++\nwhen = {question_has = ['a']}\n+++\nt", 'when.question_has=["a"]', "Did you mean 'question_has_any'?"),
        ("+++\nwhen = 'always'\n+++\ntext", 'when="always"', "Write a table of keys."),
        (
            "+++\nwhen = {values_at_least = {periods = 0}}\n+++\nt",
            "when.values_at_least.periods=0",
            f"Write an integer from 1 to {MOST}.",
        ),
        (
            "+++\nwhen = {values_at_least = 2}\n+++\nt",
            "when.values_at_least=2",
            f"Write a table with an integer from 1 to {MOST} for each name.",
        ),
        (
            '+++\nwhen = {values_at_least = {"the periods" = 2}}\n+++\nt',
            'when.values_at_least={"the periods": 2}',
            "a placeholder's name has the letters a to z and _ only",
        ),
        ("+++\nwhen = {question_has_any = ['Net sales']}\n+++\nt", "'Net sales' is not a lower-case word", "a to z"),
        ("+++\nwhen = {task = 'abc'}\n+++\ntext", 'when.task="abc"', "Valid: question_has_any, "),
        ("+++\nwhen = {values_at_least = {periods = 1}}\n+++\n\n", "has no text for the model", "or remove the file"),
        (" \n", "has no text for the model", "Write its guidance"),
    ],
)
def test_a_wrong_guidance_module_is_one_sentence(tmp_path: Path, text: str, what: str, to_do: str) -> None:
    sentence = refusal(write_folder(tmp_path / "h", {"guidance/a.md": text}))
    assert what in sentence
    assert f"{tmp_path}/h/guidance/a.md" in sentence
    assert to_do in sentence


@pytest.mark.parametrize("name", ["Percent.md", "a_b.md", "a.txt", "a", ".md", ".hidden.md", "é.md", "x" * 65 + ".md"])
def test_a_guidance_module_has_a_plain_name(tmp_path: Path, name: str) -> None:
    sentence = refusal(write_folder(tmp_path, {f"guidance/{name}": "text"}))
    assert f"guidance/{name} is not a guidance module's name" in sentence
    assert "characters from a-z, 0-9 and -" in sentence


@pytest.mark.parametrize("name", ["harness.toml", "prompt.md"])
def test_a_missing_file_is_named_with_the_command_that_writes_one(tmp_path: Path, name: str) -> None:
    sentence = refusal(write_folder(tmp_path, {name: None}))
    assert sentence.startswith(f"{name} is missing in {tmp_path}.")
    assert "`chase harness init DIR --benchmark NAME`" in sentence


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    sentence = refusal(tmp_path / "nowhere")
    assert f"harness folder={tmp_path}/nowhere cannot be read" in sentence
    assert "`chase harness init" in sentence
    (tmp_path / "file").touch()
    assert f"harness folder={tmp_path}/file cannot be read" in refusal(tmp_path / "file")


@pytest.mark.parametrize("name", ["prompt.md", "harness.toml", "guidance/percent.md", "control.py"])
def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path, name: str) -> None:
    sentence = refusal(write_folder(tmp_path, {name: b"one\ntw\xff"}))
    assert f"{tmp_path}/{name} is not UTF-8 text (line 2). Save it as UTF-8." in sentence


@pytest.mark.parametrize("name", ["prompt.md", "memory.md", "guidance/percent.md", "control.py", "harness.toml"])
def test_a_file_has_at_most_64_kib(tmp_path: Path, name: str) -> None:
    sentence = refusal(write_folder(tmp_path / "over", {name: "#" * (FILE_BYTES + 1)}))
    assert f"{tmp_path}/over/{name} is too large: size=65537 bytes" in sentence
    assert "65536 bytes" in sentence
    load_harness(write_folder(tmp_path / "just", {"prompt.md": "#" * FILE_BYTES}))


@pytest.mark.parametrize("name", ["promt.md", "README.md", ".git", "control.pyc", "NAME.md"])
def test_a_file_that_does_not_belong_is_named_with_the_layout(tmp_path: Path, name: str) -> None:
    sentence = refusal(write_folder(tmp_path, {name: "x"}))
    assert f"{tmp_path}/{name} does not belong in a harness" in sentence
    assert "Valid: harness.toml, prompt.md, memory.md, control.py, guidance/NAME.md" in sentence
    if name == "promt.md":
        assert "Did you mean 'prompt.md'?" in sentence


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"memory.md": None})
    (folder / "memory.md").mkdir()
    assert f"{folder}/memory.md is not a file" in refusal(folder)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {"prompt.md": None})
    os.mkfifo(folder / "prompt.md")
    assert f"{folder}/prompt.md is not a file" in refusal(folder)


@pytest.mark.parametrize("name", ["prompt.md", "guidance/percent.md", "guidance"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    folder = write_folder(tmp_path / "h", {"guidance/percent.md": None, name.removesuffix("/"): None})
    link = folder / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / ("elsewhere" if name == "guidance" else "secret"))
    sentence = refusal(folder)
    assert f"{folder}/{name} is " in sentence
    assert "symbolic link" in sentence or "not a plain folder" in sentence


def test_there_are_at_most_64_modules(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, {f"guidance/m{number}.md": "text" for number in range(64)})
    sentence = refusal(folder)
    assert f"{folder}/guidance has 65 modules. Keep at most 64." in sentence
