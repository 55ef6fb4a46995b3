"""A change of a harness in parts: all make the harness, none the baseline, and each can be taken by itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.errors import UserError
from chase.harness.control_parts import statements
from chase.harness.parts import Part, generalised, parts_of, with_parts
from chase.harness.spec import (
    COMPONENTS,
    Activation,
    Control,
    Guidance,
    Harness,
    Preference,
    ReadOn,
    Retrieval,
    Rewrite,
    Tools,
)
from chase.harness.splicing import sentences
from chase.testing.ledger import H0
from tests.harness.samples import harnesses, texts

OBSERVABLES = ("path-depth", "name-length", "path")
PLAN = "def plan(task: Task) -> Plan:\n    return {'queries': [SHORT]}"
STOP = "# At the end.\ndef should_stop(state: State) -> bool:\n    return done(state)"
SHARED = "import re\n\nSHORT = 'a'"
DONE = "def done(state: State) -> bool:\n    return False"

prose = st.lists(st.sampled_from(["Use the tools.", "Read on.", "- a list", "go on", "Be brief!"]), max_size=5).flatmap(
    lambda chosen: st.sampled_from([" ", "\n", "\n\n", "\n  "]).map(lambda gap: gap.join(chosen))
)
whole_functions = st.lists(st.sampled_from([SHARED, DONE, PLAN, STOP, "x = 1"]), max_size=5).map("\n\n\n".join)


def near(base: Harness, prompt: str, memory: str, source: str) -> Harness:
    """A harness that shares much with another."""
    modules = tuple(replace(module, text=prompt or "Go.") for module in base.guidance)
    return replace(base, prompt=prompt, memory=memory, control_source=source, guidance=modules)


def named(base: Harness, harness: Harness) -> dict[str, Part]:
    return {part.name: part for part in parts_of(base, harness)}


def with_structure(**tables: object) -> Harness:
    return replace(H0, structure=H0.structure.model_copy(update=tables))


def tools(**fields: object) -> Tools:
    return H0.structure.tools.model_copy(update=fields)


@pytest.mark.slow
@given(harnesses, harnesses)
def test_all_parts_make_the_harness_and_none_the_baseline(one: Harness, two: Harness) -> None:
    parts = parts_of(one, two)
    assert with_parts(one, two, parts).hash == two.hash
    assert with_parts(one, two, ()).hash == one.hash
    assert bool(parts) == (one.hash != two.hash)


@pytest.mark.slow
@given(harnesses, prose | texts, prose, whole_functions, prose, prose, whole_functions)
def test_the_same_holds_for_harnesses_that_share_much(
    base: Harness, prompt: str, memory: str, source: str, prompt2: str, memory2: str, source2: str
) -> None:
    one, two = near(base, prompt, memory, source), near(base, prompt2, memory2, source2)
    assert with_parts(one, two, parts_of(one, two)).hash == two.hash
    assert with_parts(one, two, ()).hash == one.hash


@pytest.mark.slow
@given(harnesses, harnesses, st.data())
def test_any_choice_of_parts_is_a_harness_or_a_user_error(one: Harness, two: Harness, data: st.DataObject) -> None:
    parts = parts_of(one, two)
    kept = [part for part in parts if data.draw(st.booleans())]
    with suppress(UserError):
        assert isinstance(with_parts(one, two, kept), Harness)


@pytest.mark.slow
@given(harnesses, harnesses)
def test_names_are_unique_and_components_known(one: Harness, two: Harness) -> None:
    parts = parts_of(one, two)
    assert len({part.name for part in parts}) == len(parts)
    assert {part.component for part in parts} <= COMPONENTS.keys()
    assert parts == parts_of(one, two)


@given(texts | prose)
def test_sentences_joined_give_the_text_back(text: str) -> None:
    assert "".join(sentence.gap + sentence.text for sentence in sentences(text)) == text


@given(whole_functions)
def test_statements_joined_give_the_source_back(source: str) -> None:
    found = statements(source)
    assert found is not None
    assert "".join(statement.gap + statement.source for statement in found) == source


def test_a_text_comes_apart_by_sentence() -> None:
    new = replace(H0, prompt=f"{H0.prompt} Read on in files with low path-depth. Check every condition.")
    parts = named(H0, new)
    assert list(parts) == ['prompt: "Read on in files with low path-depth."', 'prompt: "Check every condition."']
    honest = with_parts(H0, new, [parts['prompt: "Check every condition."']])
    assert honest.prompt == f"{H0.prompt} Check every condition."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Go on, e.g. to 3 files. Stop! (Yes.) Why?", ["Go on, e.g. to 3 files.", "Stop!", "(Yes.)", "Why?"]),
        ("Read the files\nthat are deep. End", ["Read the files\nthat are deep.", "End"]),
        ("Rules:\n- one\n- two", ["Rules:", "- one", "- two"]),
        ("It ends.\nnext", ["It ends.", "next"]),
    ],
)
def test_what_a_sentence_is(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


def test_a_rewording_is_one_part_and_unlike_sentences_are_several() -> None:
    old = replace(H0, memory="Read on in all files. Nothing yet.")
    new = replace(H0, memory="Read on in files with low path-depth. Prefer short names. Look at every record.")
    parts = named(old, new)
    assert list(parts) == [
        'memory: "Read on in all files." → "Read on in files with low path-depth."',
        'memory without "Nothing yet."',
        'memory: "Prefer short names."',
        'memory: "Look at every record."',
    ]
    added = with_parts(old, new, [parts['memory: "Prefer short names."']])
    assert added.memory == "Read on in all files. Nothing yet. Prefer short names."


def test_a_changed_spacing_is_a_part_of_its_own() -> None:
    old, new = replace(H0, prompt="One. Two."), replace(H0, prompt="One.\n\nTwo. Three.")
    parts = named(old, new)
    assert list(parts) == ['prompt: "Three."', "prompt spacing"]
    assert with_parts(old, new, [parts['prompt: "Three."']]).prompt == "One. Two. Three."


def test_a_new_module_exists_with_any_of_its_sentences_and_its_activation() -> None:
    when = Activation(question_has_any=("percentage",))
    module = Guidance(name="percent", when=when, text="Divide.\nThen round.")
    new = replace(H0, guidance=(module, Guidance(name="prefer", when=Activation(), text="Prefer short names.")))
    parts = named(H0, new)
    assert list(parts) == ['guidance percent: "Divide."', 'guidance percent: "Then round."', "guidance prefer"]
    mixed = with_parts(H0, new, [parts['guidance percent: "Then round."']])
    assert mixed.guidance == (Guidance(name="percent", when=when, text="Then round."),)


def test_a_removed_module_and_a_changed_activation_are_parts() -> None:
    one = Guidance(name="one", when=Activation(), text="Divide.")
    two = replace(one, name="two")
    old = replace(H0, guidance=(one, two))
    new = replace(H0, guidance=(replace(one, when=Activation(opened_at_least=2)),))
    parts = named(old, new)
    assert list(parts) == ["guidance one when", "without guidance two"]
    assert with_parts(old, new, [parts["without guidance two"]]).guidance == (one,)
    assert with_parts(old, new, [parts["guidance one when"]]).guidance == (*new.guidance, two)


def test_fields_and_list_elements_are_parts() -> None:
    deep, short = Preference(observable="path-depth", prefer="low"), Preference(observable="name-length", prefer="high")
    old = with_structure(retrieval=Retrieval(rank=(deep,)))
    new = with_structure(
        retrieval=Retrieval(
            results=6, templates=("{entity}", "{period}"), rank=(short,),
            rewrites=(Rewrite(searches_left_at_most=2, template="{entity}"),),
        ),
        tools=tools(instructions="Use them.", read_on=ReadOn(when="observable", observable="window", at_most=1)),
        control=Control(repairs=1),
    )  # fmt: skip
    parts = named(old, new)
    assert list(parts) == [
        "retrieval.results: 6",
        'retrieval.templates: "{entity}"',
        'retrieval.templates: "{period}"',
        'retrieval.rewrites: searches left at most 2, template "{entity}"',
        "retrieval.rank without low path-depth",
        "retrieval.rank: high name-length",
        "tools.read_on: window at most 1",
        'tools.instructions: "Use them."',
        "control.repairs: 1",
    ]
    assert with_parts(old, new, [parts["retrieval.rank: high name-length"]]).structure.retrieval.rank == (deep, short)
    kept = [parts['retrieval.templates: "{period}"'], parts["tools.read_on: window at most 1"]]
    mixed = with_parts(old, new, kept).structure
    assert mixed.retrieval == Retrieval(templates=("{period}",), rank=(deep,))
    assert mixed.tools == tools(read_on=new.structure.tools.read_on)


def test_control_comes_apart_by_function_with_what_they_share() -> None:
    new = replace(H0, control_source="\n\n\n".join([SHARED, PLAN, DONE, STOP]))
    parts = named(H0, new)
    assert list(parts) == ["control.py: plan", "control.py: should_stop"]
    assert with_parts(H0, new, [parts["control.py: plan"]]).control_source == "\n\n\n".join([SHARED, PLAN, DONE])
    changed = replace(H0, control_source=f"{SHARED}\n\n\n{PLAN.replace('SHORT', 'SHORT, SHORT')}\n\n\n{DONE}")
    back = named(new, changed)
    assert list(back) == ["control.py: plan", "control.py without should_stop"]
    mixed = with_parts(new, changed, [back["control.py: plan"]]).control_source
    assert mixed == f"{changed.control_source}\n\n\n{STOP}"
    mixed = with_parts(new, changed, [back["control.py without should_stop"]]).control_source
    assert mixed == "\n\n\n".join([SHARED, PLAN, DONE])


@pytest.mark.parametrize(
    "source",
    [
        "def plan(task): return {'queries': [",  # no end
        f"{PLAN}\n\n{PLAN}",  # twice
        f"if True:\n    x = 1\nelse:\n    x = 2\n{PLAN}",
        "SHORT = 'b'\n\n" + PLAN,  # something shared that changed
    ],
)
def test_a_source_that_cannot_be_split_is_one_part(source: str) -> None:
    old, new = replace(H0, control_source=f"{SHARED}\n\n{PLAN}\n\n{STOP}"), replace(H0, control_source=source)
    assert list(named(old, new)) == ["control.py"]


def test_a_decorated_function_is_one_statement() -> None:
    found = statements("@one\n@two(3)\ndef plan(task):\n    a = '''\nx\n'''\n    return a\n\n# end")
    assert found is not None
    assert [(s.defines, s.source.count("\n")) for s in found] == [("plan", 6), (None, 0)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Read on in files with low path-depth.", "Read on."),
        ("Read on in files with low path-depth and high name-length.", "Read on."),
        ("Read on in files with low path-depth, low path or high name-length, then stop.", "Read on, then stop."),
        ("In documents with high path-depth, read on.", "Read on."),
        ("Read on in files\nwith low path-depth.", "Read on."),
        ("Read on only for results with low path-depth.", "Read on."),
        ("Prefer files with low path-depth.", None),
        ("Read on in files with low title-length.", None),
        ("Read on in files with low path-depth-x.", None),
        ("In files with low path-depth.", None),
        ("Read on.", None),
    ],
)
def test_a_sentence_is_generalised_by_leaving_its_condition_out(sentence: str, expected: str | None) -> None:
    new = replace(H0, prompt=f"{H0.prompt} {sentence}")
    (part,) = parts_of(H0, new)
    general = generalised(part, OBSERVABLES)
    if expected is None:
        assert general is None
    else:
        assert general is not None
        assert general.name == f'prompt: "{expected}"'
        assert with_parts(H0, new, [general]).prompt == f"{H0.prompt} {expected}"


def test_reading_on_by_an_observable_is_generalised_to_always() -> None:
    new = with_structure(tools=tools(read_on=ReadOn(when="observable", observable="path-depth", at_most=2)))
    (part,) = parts_of(H0, new)
    general = generalised(part, OBSERVABLES)
    assert general is not None
    assert general.name == "tools.read_on: always"
    assert with_parts(H0, new, [general]).structure.tools.read_on == ReadOn(when="always")
    rank = with_structure(retrieval=Retrieval(rank=(Preference(observable="path-depth", prefer="low"),)))
    assert [generalised(part, OBSERVABLES) for part in parts_of(H0, rank)] == [None]
    always = with_structure(tools=tools(read_on=ReadOn(when="always")))
    assert [generalised(part, OBSERVABLES) for part in parts_of(H0, always)] == [None]


def test_parts_that_do_not_go_together_are_refused() -> None:
    conditional = ReadOn(when="observable", observable="path-depth", at_most=2)
    long = tools(instructions=" ".join(["Go on."] * 560), read_on=conditional)
    new = replace(with_structure(tools=long), prompt=f"{H0.prompt} Read on in files with low path-depth.")
    for name in ("tools.read_on: path-depth at most 2", 'prompt: "Read on in files with low path-depth."'):
        part = named(H0, new)[name]
        general = generalised(part, OBSERVABLES)
        assert general is not None
        with pytest.raises(UserError, match="Keep one of them"):
            with_parts(H0, new, [part, general])
    old = with_structure(tools=tools(instructions=" ".join(["Stop."] * 600)))
    added = [part for part in parts_of(old, new) if part.name.startswith("tools.instructions: ")]
    with pytest.raises(UserError, match=r"do not go together: tools.instructions: .* Keep other parts"):
        with_parts(old, new, added)
