"""The change from a baseline harness to a harness as parts that can be taken or left one by one.

All parts make the harness, none the baseline. Texts are taken apart by sentence, `harness.toml` by field and list
element, `control.py` by function.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from chase.core.errors import UserError
from chase.core.keyed import canonical_json
from chase.core.values import Json
from chase.harness.control_parts import changed_functions, mixed_control
from chase.harness.diff import ORDER, component_of, flat_fields
from chase.harness.spec import Activation, Guidance, Harness, ReadOn, Rewrite, Structure
from chase.harness.splicing import Splice, align, align_texts, respaced, sentences, spliced, text_with

PROMPT, MEMORY, INSTRUCTIONS, CONTROL, GUIDANCE = "prompt", "memory", "tools.instructions", "control.py", "guidance"
READ_ON = "tools.read_on"
LISTS = ("retrieval.templates", "retrieval.rewrites", "retrieval.rank")
SPACING, WHEN = " spacing", " when"
_QUOTED = 72
"""Letters of a sentence that a part's name quotes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A new value for a whole place, as JSON text; null where the place is emptied."""

    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One edit of a harness. Parts of the same two harnesses have different names."""

    name: str
    component: str
    """One of `COMPONENTS`."""
    place: str
    """Where it applies: a dotted key of `harness.toml`, `prompt`, `memory`, `guidance/NAME`, `control.py/NAME`."""
    edit: Splice | Setting


def parts_of(baseline: Harness, harness: Harness) -> tuple[Part, ...]:
    """The parts of the change from one harness to another, structural ones first; none where they are the same."""
    found = [
        *_field_parts(baseline, harness),
        *_text_parts("tool policy", INSTRUCTIONS, _instructions(baseline), _instructions(harness)),
        *_control_parts(baseline.control_source, harness.control_source),
        *_text_parts("system prompt", PROMPT, baseline.prompt, harness.prompt),
        *_text_parts("long-term memory", MEMORY, baseline.memory, harness.memory),
        *_module_parts(baseline, harness),
    ]
    found.sort(key=lambda part: ORDER.index(part.component))
    return _with_different_names(found)


def with_parts(baseline: Harness, harness: Harness, kept: Iterable[Part]) -> Harness:
    """The baseline with the kept parts of `parts_of(baseline, harness)`, or generalisations of them.

    Parts that do not go together are a `UserError`.
    """
    by_place: dict[str, list[Part]] = {}
    for part in kept:
        by_place.setdefault(part.place, []).append(part)
    return Harness(
        structure=_structure(baseline, harness, by_place),
        prompt=_text(PROMPT, baseline.prompt, harness.prompt, by_place),
        memory=_text(MEMORY, baseline.memory, harness.memory, by_place),
        guidance=tuple(_modules(baseline, harness, by_place)),
        control_source=_control(baseline, harness, by_place),
    )


def generalised(part: Part, observables: Collection[str]) -> Part | None:
    """A rule that holds only where a cue holds, without its condition; None where there is nothing to leave out.

    The observables are the names by which a text can mention a cue.
    """
    if isinstance(part.edit, Setting):
        conditional = part.place == READ_ON and json.loads(part.edit.value)["when"] == "observable"
        value = ReadOn(when="always").model_dump(mode="json")
        return _set(READ_ON, value, name=f"{READ_ON}: always") if conditional else None
    if part.place in LISTS:
        return None
    items = tuple(_unconditional(item, observables) for item in part.edit.items)
    if items == part.edit.items:
        return None
    name = f"{_title(part.place)}: {_quoted(' '.join(items))}"
    return replace(part, name=name, edit=replace(part.edit, items=items))


def _unconditional(sentence: str, observables: Collection[str]) -> str:
    """A sentence without its clauses "in files with low X"; itself where it has none, or is nothing without them."""
    if not observables:
        return sentence
    names = "|".join(re.escape(name) for name in sorted(observables, reverse=True))
    cue = rf"(?:low|high) (?:{names})(?![\w-])"
    clause = rf"(?:only )?(?:in|for|on) (?:files|documents|results) with {cue}(?:(?:,| and| or|, and|, or) {cue})*"
    leading, inner = (re.compile(form.replace(" ", r"\s+"), re.I) for form in (rf"\A{clause},? ", rf" {clause}"))
    out = inner.sub("", leading.sub("", sentence))
    if out == sentence or not re.search(r"\w", out):
        return sentence
    return out[0].upper() + out[1:] if sentence[0].isupper() else out


# The parts of each place.


def _field_parts(baseline: Harness, harness: Harness) -> Iterator[Part]:
    old, new = _fields(baseline), _fields(harness)
    for key in old:
        if key in LISTS:
            yield from _list_parts(key, old[key], new[key])
        elif canonical_json(old[key]) != canonical_json(new[key]):
            yield _set(key, new[key], name=f"{key}: {_words(key, new[key])}")


def _fields(harness: Harness) -> dict[str, Json]:
    """The fields by key, `tools.read_on` as one of them; the tool instructions are a text."""
    structure = harness.structure.model_dump(mode="json", by_alias=True)
    read_on = structure["tools"].pop("read_on")
    del structure["tools"]["instructions"]
    return {**dict(flat_fields(structure)), READ_ON: read_on}


def _list_parts(key: str, old: Json, new: Json) -> Iterator[Part]:
    before = _elements(old)
    for splice in align(before, _elements(new)).splices:
        for item in splice.items:
            yield _part(component_of(key), key, splice, name=f"{key}: {_words(key, json.loads(item))}")
        for place in range(splice.start, splice.stop):
            name = f"{key} without {_words(key, json.loads(before[place]))}"
            yield _part(component_of(key), key, replace(splice, start=place, stop=place + 1), name=name)


def _text_parts(component: str, place: str, old: str, new: str) -> Iterator[Part]:
    before = [sentence.text for sentence in sentences(old)]
    for splice in align_texts(old, new).splices:
        gone, came = " ".join(before[splice.start : splice.stop]), " ".join(splice.items)
        if gone and came:
            name = f"{_title(place)}: {_quoted(gone)} → {_quoted(came)}"
        else:
            name = f"{_title(place)}: {_quoted(came)}" if came else f"{_title(place)} without {_quoted(gone)}"
        yield _part(component, place, splice, name=name)
    if respaced(old, new):
        yield _part(component, place + SPACING, Setting(value="true"), name=_title(place) + SPACING)


def _control_parts(old: str | None, new: str | None) -> Iterator[Part]:
    functions = changed_functions(old, new)
    for name, source in functions.items():
        change = f"{CONTROL} without {name}" if source is None else f"{CONTROL}: {name}"
        yield _part("control policy", f"{CONTROL}/{name}", Setting(value=canonical_json(source)), name=change)
    if old != new and not functions:
        yield _part("control policy", CONTROL, Setting(value=canonical_json(new)), name=CONTROL)


def _module_parts(baseline: Harness, harness: Harness) -> Iterator[Part]:
    old, new = ({module.name: module for module in h.guidance} for h in (baseline, harness))
    for name in sorted(old.keys() | new.keys()):
        yield from _one_module_parts(f"{GUIDANCE}/{name}", old.get(name), new.get(name))


def _one_module_parts(place: str, old: Guidance | None, new: Guidance | None) -> Iterator[Part]:
    component = "guidance modules"
    if new is None:
        yield _part(component, place, Setting(value="null"), name=f"without {_title(place)}")
        return
    texts = list(_text_parts(component, place, old.text if old else "", new.text))
    if old is None and len(texts) <= 1:
        whole = texts[0].edit if texts else Setting(value='""')
        yield _part(component, place, whole, name=_title(place))
        return
    yield from texts
    if old is not None and old.when != new.when:
        when = canonical_json(new.when.model_dump(mode="json"))
        yield _part(component, place + WHEN, Setting(value=when), name=_title(place) + WHEN)


# The harness with some of them.


def _structure(baseline: Harness, harness: Harness, by_place: Mapping[str, list[Part]]) -> Structure:
    table = baseline.structure.model_dump(mode="json", by_alias=True)
    for key, value in _fields(baseline).items():
        if key in LISTS:
            kept = _splices(by_place.get(key, []))
            _put(table, key, [json.loads(item) for _, _, item in spliced(_elements(value), kept)])
        elif key in by_place:
            _put(table, key, _value(by_place[key]))
    _put(table, INSTRUCTIONS, _text(INSTRUCTIONS, _instructions(baseline), _instructions(harness), by_place))
    try:
        return Structure.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(
            f"these parts of a harness do not go together: {where}: {first['msg']}. Keep other parts."
        ) from None


def _text(place: str, old: str, new: str, by_place: Mapping[str, list[Part]]) -> str:
    return text_with(old, new, _splices(by_place.get(place, [])), spacing=place + SPACING in by_place)


def _control(baseline: Harness, harness: Harness, by_place: Mapping[str, list[Part]]) -> str | None:
    if CONTROL in by_place:
        source = _value(by_place[CONTROL])
        return None if source is None else str(source)
    kept = [place.removeprefix(f"{CONTROL}/") for place in by_place if place.startswith(f"{CONTROL}/")]
    return mixed_control(baseline.control_source, harness.control_source, kept)


def _modules(baseline: Harness, harness: Harness, by_place: Mapping[str, list[Part]]) -> Iterator[Guidance]:
    old, new = ({module.name: module for module in h.guidance} for h in (baseline, harness))
    for name in sorted(old.keys() | new.keys()):
        if module := _module(f"{GUIDANCE}/{name}", old.get(name), new.get(name), by_place):
            yield module


def _module(
    place: str, old: Guidance | None, new: Guidance | None, by_place: Mapping[str, list[Part]]
) -> Guidance | None:
    """A module with the kept parts; None where it is left out, or nothing is left of its text."""
    kept = by_place.get(place, [])
    if new is None:
        return None if kept else old
    text = _text(place, old.text if old else "", new.text, by_place)
    if old is None:
        return replace(new, text=text) if kept else None
    if not text and old.text and new.text:
        return None
    when = by_place.get(place + WHEN)
    return replace(old, text=text, when=Activation.model_validate(_value(when)) if when else old.when)


# Small things.


def _part(component: str, place: str, edit: Splice | Setting, *, name: str) -> Part:
    return Part(name=name, component=component, place=place, edit=edit)


def _set(key: str, value: Json, *, name: str) -> Part:
    return _part(component_of(key), key, Setting(value=canonical_json(value)), name=name)


def _splices(parts: Iterable[Part]) -> list[Splice]:
    return [part.edit for part in parts if isinstance(part.edit, Splice)]


def _value(parts: list[Part]) -> Any:
    """What the setting of a place says; two settings of one place are refused."""
    if len(parts) > 1:
        raise UserError(f"two parts set {parts[0].place}: {', '.join(p.name for p in parts)}. Keep one of them.")
    edit = parts[0].edit
    return json.loads(edit.value) if isinstance(edit, Setting) else None


def _put(table: dict[str, Any], key: str, value: Json) -> None:
    *folders, last = key.split(".")
    for folder in folders:
        table = table[folder]
    table[last] = value


def _elements(values: Json) -> list[str]:
    return [canonical_json(value) for value in values]


def _instructions(harness: Harness) -> str:
    return harness.structure.tools.instructions


def _title(place: str) -> str:
    return place.replace(f"{GUIDANCE}/", f"{GUIDANCE} ")


def _quoted(text: str) -> str:
    return f'"{textwrap.shorten(text, _QUOTED, placeholder="…")}"'


def _words(key: str, value: Json) -> str:
    """A field's value in words."""
    if key == "retrieval.rank":
        weight = "" if value["weight"] == 1 else f", weight {value['weight']:g}"
        return f"{value['prefer']} {value['observable']}{weight}"
    if key == "retrieval.rewrites":
        said = Rewrite.model_validate(value).model_dump(mode="json", exclude_defaults=True)
        return ", ".join(f"{name.replace('_', ' ')} {json.dumps(of, ensure_ascii=False)}" for name, of in said.items())
    if key == READ_ON and value["when"] == "observable":
        side = "at_most" if value["at_most"] is not None else "at_least"
        return f"{value['observable']} {side.replace('_', ' ')} {value[side]:g}"
    if key == READ_ON:
        return str(value["when"])
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _with_different_names(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts, with a number after a name that came before."""
    seen, out = Counter[str](), list[Part]()
    for part in parts:
        name = part.name
        while seen[name]:
            seen[part.name] += 1
            name = f"{part.name} ({seen[part.name]})"
        seen[name] += 1
        out.append(replace(part, name=name))
    return tuple(out)
