"""The tables of docs/harness.md from the code: keys of a harness, hooks and their types.

`python docs/make_harness.py` writes them between their marks; tests/harness/test_docs.py checks that they are current.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from chase.engine.hook_types import TYPES
from chase.engine.hooks import HOOKS
from chase.harness.spec import FrontMatter, Structure
from chase.harness.typed_toml import FieldDoc, describe_fields

PAGE = Path(__file__).with_name("harness.md")
_PART = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def made(page: str) -> str:
    """The page with what is made in it."""
    return _PART.sub(lambda part: f"{part[1]}{_parts()[part[2]]}{part[3]}", page)


def _parts() -> dict[str, str]:
    fields = describe_fields(Structure)
    tables = {name: [f for f in fields if f.key.startswith(f"{name}.")] for name in ("retrieval", "tools", "control")}
    top = [field for field in fields if "." not in field.key]
    made = {"top": top, **tables, "when": describe_fields(FrontMatter)}
    return {
        **{name: _lines(_table(rows)) for name, rows in made.items()},
        "hooks": _lines(f"- `{hook.signature}`: {hook.doc}" for hook in HOOKS.values()),
        "types": _lines(_types()),
    }


def _table(fields: Iterable[FieldDoc]) -> Iterator[str]:
    yield "| Key | Values | Default | Meaning |"
    yield "| --- | --- | --- | --- |"
    for field in fields:
        yield f"| `{field.key}` | {field.values} | {field.default} | {field.meaning} |"


def _types() -> Iterator[str]:
    yield "| Type | Key | Holds | Meaning |"
    yield "| --- | --- | --- | --- |"
    for kind in TYPES:
        also = f" All keys of {kind.extends}, and:" if kind.extends else ""
        also += " Keys may be left out." if kind.optional else ""
        yield f"| {kind.name} | | | {kind.doc}{also} |"
        for key, (holds, meaning) in kind.fields.items():
            shown = holds.replace("|", "\\|")
            yield f"| | `{key}` | `{shown}` | {meaning} |"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
