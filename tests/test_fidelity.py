"""docs/fidelity.md is what docs/fidelity.toml makes, and every module and test that it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from docs.make_fidelity import (
    DATA,
    PAGE,
    ROOT,
    Fidelity,
    coverage_problems,
    form_problems,
    name_problems,
    page,
    problems,
    read,
)

REAL = read((ROOT / DATA).read_text(encoding="utf-8"))
WRITTEN = (ROOT / PAGE).read_text(encoding="utf-8")


def none_of(found: Iterable[str]) -> None:
    """Fails with every problem in full, a line each."""
    told = "\n".join(found)
    assert not told, f"\n{told}\nThen run `python docs/make_fidelity.py` and commit {PAGE} with it."


def test_sections_groups_and_handles_fit_together() -> None:
    none_of(form_problems(REAL))


def test_the_page_is_what_the_data_make() -> None:
    same = page(REAL) == WRITTEN
    assert same, f"{PAGE} is not what {DATA} makes: run `python docs/make_fidelity.py` and commit it."


def test_every_module_is_there_and_defines_what_is_named_of_it() -> None:
    none_of(name_problems(REAL, "modules"))


def test_every_test_file_is_there_and_has_the_test_that_is_named() -> None:
    none_of(name_problems(REAL, "tests"))


def test_every_module_of_the_method_is_named_or_has_a_reason() -> None:
    none_of(coverage_problems(REAL))


def test_every_link_of_the_page_leads_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", WRITTEN, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", WRITTEN)
    assert len(links) > 50
    assert [file for file, _ in links if file and not (ROOT / "docs" / file).exists()] == []
    assert [anchor for file, anchor in links if not file and anchor[1:] not in anchors] == []


SOUND = """\
[sections]
"3.1" = "Setup"
[groups]
loop = "The loop"
[modules]
method = "methods/loop.py"
prompts = "methods/prompts/"
study = "/studies/faults.py"
[tests]
method = "methods/test_loop.py"
[unnamed]
"methods/journal.py" = "the paper has no resuming"
[[part]]
section = "3.1"
part = "Rounds | and their end"
what = "The loop."
modules = ["method:Loop.evolve", "method:ROUNDS", "prompts", "study"]
tests = ["method::test_it_ends", "method::TestLoop::test_it_begins"]
departure = "It ends. The paper's does too."
group = "loop"
[[part]]
section = "3.1"
part = "Bounds"
what = "A bound."
missing = "planned."
"""
FILES = {
    "src/chase/methods/__init__.py": "",
    "src/chase/methods/loop.py": "ROUNDS: int = 3\nclass Loop:\n    name = 'x'\n    async def evolve(self): ...\n",
    "src/chase/methods/journal.py": "",
    "src/chase/methods/prompts/first.md": "Ask.",
    "src/chase/protocol/__init__.py": "",
    "src/chase/stats/__init__.py": "",
    "src/chase/runs/opening.py": "def begin(): ...\n",
    "studies/faults.py": "",
    "tests/methods/test_loop.py": "def test_it_ends(): ...\nclass TestLoop:\n    def test_it_begins(self): ...\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository for which SOUND is right."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def changed(old: str, new: str) -> Fidelity:
    assert SOUND.count(old) == 1
    return read(SOUND.replace(old, new))


def test_sound_data_have_no_problems_and_make_a_page(root: Path) -> None:
    assert problems(read(SOUND), root) == []
    made = page(read(SOUND))
    assert "- **It ends.** The paper's does too. ([3.1](#31-setup))" in made
    assert (
        "| Rounds \\| and their end | The loop. [Departs](#the-loop). "
        "| `methods/loop.py` `Loop.evolve` `ROUNDS`, `methods/prompts/`, `studies/faults.py` "
        "| `methods/test_loop.py` `test_it_ends` `TestLoop.test_it_begins` |"
    ) in made
    assert "| Bounds | A bound. *Not built:* planned. | not yet | not yet |" in made


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'method = "methods/loop.py"',
            'method = "methods/opening.py"',
            "line 6 .*methods/opening.py: it may be runs/opening.py now",
        ),
        ('method = "methods/loop.py"', 'method = "methods/gone.py"', "gone.py: write where it is now"),
        ("Loop.evolve", "Loop.evolves", "line 13 .*has no 'Loop.evolves'; the nearest is 'Loop.evolve'"),
        ("method:Loop.evolve", "method:begin", "has no 'begin'; it is in runs/opening.py now: use that handle"),
        ('"prompts", "study"', '"prompt", "study"', "no handle 'prompt' in .modules.; the nearest is 'prompts'"),
        ('"prompts", "study"', '"study"', r"line 7 \(\[modules\] prompts\): no entry names it: delete the line"),
        ("/studies/faults.py", "/studies/fault.py", "there is no studies/fault.py: write where"),
        (
            "methods/test_loop.py",
            "methods/test_loops.py",
            "line 10 .*test_loops.py: it may be methods/test_loop.py now",
        ),
        ("::test_it_ends", "::test_it_end", "has no 'test_it_end'; the nearest is 'test_it_ends'"),
        ("TestLoop::test_it_begins", "TestLoop::test_it", "has no 'TestLoop.test_it'"),
        ('"methods/journal.py" = "the paper has no resuming"', "", "no entry names methods/journal.py: add it to one"),
        ("methods/journal.py", "methods/loop.py", r"line 12 .*an entry names it: delete the line"),
        ("methods/journal.py", "methods/gone.py", "no such module: delete the line"),
        ('group = "loop"', "", "departure and group go together"),
        ('group = "loop"', 'group = "lop"', "no group 'lop'; the nearest is 'loop'"),
        ('part = "Bounds"', 'part = "Rounds | and their end"', "is there twice"),
        ('missing = "planned."', 'modules = ["method"]', "what has modules has tests"),
    ],
)
def test_a_planted_fault_is_told_with_its_line_and_what_to_do(root: Path, old: str, new: str, told: str) -> None:
    found = problems(changed(old, new), root)
    assert any(re.search(told, problem) for problem in found), found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('what = "A bound."', 'wat = "A bound."', "line 21: no key 'wat'; the nearest is 'what'"),
        ('what = "A bound."', "", "line 21: the entry has no 'what': write one"),
        ("[groups]\n", "[group]\n", "has the tables"),
    ],
)
def test_an_entry_out_of_form_is_refused(old: str, new: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        changed(old, new)
