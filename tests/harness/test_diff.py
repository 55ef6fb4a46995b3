"""What changed from one harness to another: complete, on the right track, readable."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from chase.harness.diff import diff_harnesses, render_diff
from chase.harness.spec import (
    Activation,
    Guidance,
    Harness,
    ReadOn,
    Retrieval,
    Structure,
    Tools,
)
from chase.testing.ledger import H0
from tests.harness.samples import guidance, harnesses, structures, texts

pytestmark = pytest.mark.slow

PERCENT = Guidance(name="percent", when=Activation(question_has_any=("percentage",)), text="Divide.\nThen round.")


def with_structure(**tables: object) -> Harness:
    return replace(H0, structure=H0.structure.model_copy(update=tables))


@given(harnesses)
def test_a_harness_does_not_differ_from_itself(harness: Harness) -> None:
    diff = diff_harnesses(harness, replace(harness))
    assert diff.is_empty
    assert diff.tracks_changed == frozenset()
    assert "no difference" in render_diff(diff)


@given(harnesses, harnesses)
def test_a_diff_is_empty_exactly_when_the_hashes_are_equal(one: Harness, two: Harness) -> None:
    diff = diff_harnesses(one, two)
    assert diff.is_empty == (one.hash == two.hash)
    assert bool(diff.tracks_changed) == (one.hash != two.hash)
    assert (diff.old, diff.new) == (one.hash, two.hash)


@given(harnesses, texts, texts, guidance)
def test_a_change_of_guidance_never_shows_as_structural(
    harness: Harness, prompt: str, memory: str, modules: tuple[Guidance, ...]
) -> None:
    changed = replace(harness, prompt=prompt, memory=memory, guidance=modules)
    expected = {"guidance"} if changed.hash != harness.hash else set()
    assert diff_harnesses(harness, changed).tracks_changed == expected


@given(harnesses, structures, texts)
def test_a_structural_change_never_shows_as_guidance(harness: Harness, structure: Structure, source: str) -> None:
    changed = replace(harness, structure=structure, control_source=source)
    expected = {"structural"} if changed.hash != harness.hash else set()
    assert diff_harnesses(harness, changed).tracks_changed == expected


@given(harnesses, harnesses)
def test_a_combined_change_shows_both_tracks(one: Harness, two: Harness) -> None:
    structural = replace(one, structure=two.structure, control_source=two.control_source)
    textual = replace(one, prompt=two.prompt, memory=two.memory, guidance=two.guidance)
    both = diff_harnesses(one, structural).tracks_changed | diff_harnesses(one, textual).tracks_changed
    assert diff_harnesses(one, two).tracks_changed == both


@given(harnesses, harnesses)
def test_every_change_can_be_rendered(one: Harness, two: Harness) -> None:
    diff = diff_harnesses(one, two)
    rendered = render_diff(diff)
    for change in diff.changes:
        assert f"{change.track} track" in rendered
        assert change.component in rendered
        assert change.key in rendered


def test_fields_show_old_and_new_by_dotted_key() -> None:
    changed = with_structure(
        answer="text",
        retrieval=Retrieval(results=6, templates=("{entity}",)),
        tools=Tools(opened_files=6, read_on=ReadOn(when="observable", observable="window", at_most=1)),
    )
    found = {change.key: (change.component, change.old, change.new) for change in diff_harnesses(H0, changed).changes}
    assert found == {
        "answer": ("control policy", "integer", "text"),
        "retrieval.results": ("retrieval policy", None, 6),
        "retrieval.templates": ("retrieval policy", [], ["{entity}"]),
        "tools.read_on.when": ("tool policy", "never", "observable"),
        "tools.read_on.observable": ("tool policy", None, "window"),
        "tools.read_on.at_most": ("tool policy", None, 1.0),
    }


def test_texts_show_their_changed_lines() -> None:
    old = replace(H0, prompt="one\ntwo\nthree", control_source="def a(): ...")
    new = replace(H0, prompt="one\n2\nthree", memory="new", control_source=None)
    changes = {change.key: change for change in diff_harnesses(old, new).changes}
    assert changes["prompt.md"].lines == ("@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")
    assert (changes["memory.md"].kind, changes["memory.md"].lines) == ("added", ("@@ -0,0 +1 @@", "+new"))
    assert (changes["control.py"].kind, changes["control.py"].track) == ("removed", "structural")


def test_modules_show_as_added_removed_or_changed_with_their_activation() -> None:
    always = replace(PERCENT, when=Activation())
    added = diff_harnesses(H0, replace(H0, guidance=(PERCENT,))).changes
    assert [(c.key, c.kind, c.old, c.new) for c in added] == [
        ("guidance/percent.md", "added", None, {"question_has_any": ["percentage"]})
    ]
    removed = diff_harnesses(replace(H0, guidance=(PERCENT,)), H0).changes
    assert [(c.key, c.kind, c.new) for c in removed] == [("guidance/percent.md", "removed", None)]
    when = diff_harnesses(replace(H0, guidance=(always,)), replace(H0, guidance=(PERCENT,))).changes
    assert [(c.key, c.kind, c.old) for c in when] == [("guidance/percent.md when", "changed", {})]
    text = replace(PERCENT, text="Divide.\nThen stop.")
    rewritten = diff_harnesses(replace(H0, guidance=(PERCENT,)), replace(H0, guidance=(text,))).changes
    assert [(c.key, c.lines[-2:]) for c in rewritten] == [("guidance/percent.md", ("-Then round.", "+Then stop."))]


def test_a_module_without_text_still_shows() -> None:
    empty = Guidance(name="empty", when=Activation(), text="")
    assert diff_harnesses(H0, replace(H0, guidance=(empty,))).tracks_changed == {"guidance"}


def test_a_diff_reads_by_track_component_and_change() -> None:
    new = replace(
        with_structure(retrieval=Retrieval(results=6)), guidance=(PERCENT,), control_source="def plan(task): ..."
    )
    assert render_diff(diff_harnesses(H0, new)).split("\n")[1:] == [
        "",
        "structural track",
        "  retrieval policy",
        "    retrieval.results: none → 6",
        "  control policy",
        "    control.py added",
        "      @@ -0,0 +1 @@",
        "      +def plan(task): ...",
        "",
        "guidance track",
        "  guidance modules",
        '    guidance/percent.md added, active when {"question_has_any": ["percentage"]}',
        "      @@ -0,0 +1,2 @@",
        "      +Divide.",
        "      +Then round.",
    ]


def test_texts_that_differ_only_in_unusual_line_breaks_do_differ() -> None:
    one, two = replace(H0, prompt="a\u2028b"), replace(H0, prompt="a\nb")
    assert diff_harnesses(one, two).changes[0].lines
