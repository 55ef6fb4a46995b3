"""Harnesses for tests: whole ones drawn at random, and a small valid folder to spoil."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st

from chase.core.observables import OBSERVABLES
from chase.harness.spec import (
    Activation,
    Control,
    Guidance,
    Harness,
    Preference,
    ReadOn,
    Retrieval,
    Rewrite,
    Structure,
    Tools,
)

VALID = {
    "harness.toml": 'benchmark = "syn-ledger"\n',
    "prompt.md": "Use the tools.\n",
    "memory.md": "Nothing yet.\n",
    "guidance/percent.md": '+++\nwhen = {question_has_any = ["percentage"]}\n+++\n\nDivide by the earlier amount.\n',
    "control.py": "def should_stop(state: State) -> bool:\n    return False\n",
}


def write_folder(folder: Path, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
    """The valid folder, with files replaced, added or (None) left out."""
    files: dict[str, str | bytes | None] = {**VALID, **(changes or {})}
    for name, content in files.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


observables = st.sampled_from(sorted(OBSERVABLES))
finite = st.floats(-1e9, 1e9, allow_nan=False)
awkward = st.sampled_from(
    ["+++", "---", "+++\nwhen = 1\n+++", "\ufeff", '"""', "\\", "\x1b[2J", "\x0c", "\u2028", "{x}"]
)
texts = st.lists(st.one_of(st.text(max_size=20), awkward), max_size=4).map("\n".join)
"""Texts with every kind of line ending, outer blank lines and what could be taken for markup."""

templates = st.lists(
    st.sampled_from(["{entity}", "{period}", "{periods}", "{question}", "total", "é", "a.b"]), min_size=1, max_size=4
).map(" ".join)
left = st.none() | st.integers(0, 12)
rewrites = st.builds(
    Rewrite,
    calls_left_at_least=left,
    calls_left_at_most=left,
    searches_left_at_least=left,
    searches_left_at_most=left,
    template=templates,
    drop_stop_words=st.booleans(),
    shortest_term=st.integers(0, 50),
    most_terms=st.integers(0, 50),
    match=st.sampled_from([None, "all", "any"]),
)
preferences = st.builds(
    Preference,
    observable=observables,
    prefer=st.sampled_from(["low", "high"]),
    weight=st.floats(0, 100, exclude_min=True),
)
retrievals = st.builds(
    Retrieval,
    results=st.none() | st.integers(1, 12),
    templates=st.lists(templates, max_size=2).map(tuple),
    merge=st.sampled_from(["sequence", "round-robin"]),
    diverse=st.booleans(),
    drop_stop_words=st.booleans(),
    most_terms=st.integers(0, 50),
    relax_below=st.integers(0, 12),
    rewrites=st.lists(rewrites, max_size=2).map(tuple),
    rank=st.lists(preferences, max_size=3).map(tuple),
)
read_ons = st.one_of(
    st.builds(ReadOn, when=st.sampled_from(["never", "always"])),
    st.builds(ReadOn, when=st.just("observable"), observable=observables, at_most=finite),
    st.builds(ReadOn, when=st.just("observable"), observable=observables, at_least=finite),
)
tools = st.builds(
    Tools,
    instructions=texts,
    opened_files=st.none() | st.integers(1, 6),
    reserved_reads=st.integers(0, 5),
    open_first=st.integers(0, 6),
    read_on=read_ons,
)
controls = st.builds(Control, answer_when_calls_left=st.integers(0, 12), repairs=st.integers(0, 2))
structures = st.builds(
    Structure,
    benchmark=st.sampled_from(["syn-ledger", "officeqa"]),
    answer=st.sampled_from([None, "integer", "text"]),
    retrieval=retrievals,
    tools=tools,
    control=controls,
)
activations = st.builds(
    Activation,
    question_has_any=st.lists(st.sampled_from(["percentage", "change", "total"]), max_size=3).map(tuple),
    values_at_least=st.dictionaries(st.sampled_from(["periods", "entity"]), st.integers(1, 9), max_size=2),
    calls_left_at_most=st.none() | st.integers(0, 12),
    opened_at_least=st.integers(0, 12),
)
modules = st.builds(
    Guidance,
    name=st.from_regex(r"[a-z0-9-]{1,12}", fullmatch=True),
    when=st.just(Activation()) | activations,
    text=texts.map(lambda text: f"{text}\nAlways some text."),
)
guidance = st.lists(modules, max_size=3, unique_by=lambda module: module.name).map(tuple)
harnesses = st.builds(
    Harness,
    structure=structures,
    prompt=texts,
    memory=texts,
    guidance=guidance,
    control_source=st.none() | texts,
)
