"""docs/fidelity.md from docs/fidelity.toml, and whether every module and test that the table names is there.

`python docs/make_fidelity.py` writes the page. If something is wrong it says in which line and what to do, and writes
nothing.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA, PAGE = "docs/fidelity.toml", "docs/fidelity.md"
COVERED = ("methods", "protocol", "stats")
"""The folders of src/chase/ of which every module is named by an entry, or listed in [unnamed]."""
BASES = {"modules": "src/chase", "tests": "tests"}
STATES = ("built", "in part", "not yet", "nothing to build")
REQUIRED = ("section", "part", "what")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One named part of the paper; `line` is where its entry begins."""

    line: int
    section: str
    part: str
    what: str
    modules: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    reading: str = ""
    departure: str = ""
    group: str = ""
    missing: str = ""

    @property
    def state(self) -> str:
        if self.modules:
            return "in part" if self.missing else "built"
        return "not yet" if self.missing else "nothing to build"

    @property
    def where(self) -> str:
        return f"{DATA} line {self.line} ({self.section}, {self.part!r})"


KEYS = tuple(field.name for field in fields(Part) if field.name != "line")


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """The data file: handles of modules and tests, and the parts that name them."""

    text: str
    sections: Mapping[str, str]
    groups: Mapping[str, str]
    modules: Mapping[str, str]
    tests: Mapping[str, str]
    unnamed: Mapping[str, str]
    parts: tuple[Part, ...]

    def line_of(self, table: str, key: str) -> str:
        """Where a key of a table stands."""
        inside = False
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.startswith("["):
                inside = line == f"[{table}]"
            elif inside and re.match(rf'"?{re.escape(key)}"? *=', line):
                return f"{DATA} line {number} ([{table}] {key})"
        return f"{DATA} [{table}] {key}"


def read(text: str) -> Fidelity:
    """The data, or ValueError with the first thing that is not in the form of the file's heading."""
    raw = tomllib.loads(text)
    tables = [field.name for field in fields(Fidelity) if field.name not in ("text", "parts")]
    if set(raw) != {*tables, "part"}:
        raise ValueError(f"{DATA} has the tables {sorted(raw)}: write {sorted(tables)} and [[part]] entries.")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line == "[[part]]"]
    parts = [_part(entry, line) for entry, line in zip(raw.pop("part"), lines, strict=True)]
    return Fidelity(text=text, parts=tuple(parts), **raw)


def _part(entry: Mapping[str, object], line: int) -> Part:
    for key in entry:
        if key not in KEYS:
            raise ValueError(f"{DATA} line {line}: no key {key!r}{_nearest(key, KEYS)}.")
    for key in REQUIRED:
        if not entry.get(key):
            raise ValueError(f"{DATA} line {line}: the entry has no {key!r}: write one.")
    values = {key: tuple(value) if isinstance(value, list) else str(value) for key, value in entry.items()}
    return Part(line=line, **values)  # type: ignore[arg-type]


def problems(data: Fidelity, root: Path = ROOT) -> list[str]:
    """Everything that is wrong, each with its line and what to do."""
    return [
        *form_problems(data),
        *name_problems(data, "modules", root),
        *name_problems(data, "tests", root),
        *coverage_problems(data, root),
    ]


def form_problems(data: Fidelity) -> Iterator[str]:
    """Sections, groups and handles that do not fit together."""
    counts = Counter((part.section, part.part) for part in data.parts)
    for part in data.parts:
        if counts[part.section, part.part] > 1:
            yield f"{part.where} is there twice: join the entries."
        if part.section not in data.sections:
            yield f"{part.where}: no section {part.section!r}{_nearest(part.section, data.sections)}; or add it."
        if bool(part.departure) != bool(part.group):
            yield f"{part.where}: departure and group go together: write both or neither."
        elif part.group and part.group not in data.groups:
            yield f"{part.where}: no group {part.group!r}{_nearest(part.group, data.groups)}; or add it."
        if bool(part.modules) != bool(part.tests):
            yield f"{part.where}: what has modules has tests: write both, or neither and what is missing."
    for group in data.groups.keys() - {part.group for part in data.parts}:
        yield f"{data.line_of('groups', group)}: no departure is in it: delete the line."
    for table in BASES:
        known, used = getattr(data, table), set()
        for part in data.parts:
            for handle, _ in map(_split, getattr(part, table)):
                used.add(handle)
                if handle not in known:
                    yield f"{part.where}: no handle {handle!r} in [{table}]{_nearest(handle, known)}."
        for handle in known:
            if handle not in used:
                yield f"{data.line_of(table, handle)}: no entry names it: delete the line."


def name_problems(data: Fidelity, table: str, root: Path = ROOT) -> Iterator[str]:
    """Of the table `modules` or `tests`: files that are not there, and names that are not in them."""
    base = root / BASES[table]
    for handle, path in getattr(data, table).items():
        at = _place(base, root, path)
        if not (at.is_dir() if path.endswith("/") else at.is_file()):
            moved = _alike(base, at.name)
            hint = f"it may be {' or '.join(moved)} now" if moved else "write where it is now, or take it out"
            yield f"{data.line_of(table, handle)}: there is no {at.relative_to(root).as_posix()}: {hint}."
    for part in data.parts:
        for handle, name in map(_split, getattr(part, table)):
            path = _place(base, root, getattr(data, table).get(handle, ""))
            if name and path.is_file() and name not in _names(path):
                found = [other for other in sorted(base.rglob("*.py")) if name in _names(other)]
                there = " and ".join(other.relative_to(base).as_posix() for other in found)
                hint = f"; it is in {there} now: use that handle" if there else _nearest(name, _names(path))
                yield f"{part.where}: {path.relative_to(root).as_posix()} has no {name!r}{hint}."


def coverage_problems(data: Fidelity, root: Path = ROOT) -> Iterator[str]:
    """Modules of the covered folders that no entry names, and reasons for modules that need none."""
    source = root / "src/chase"
    named = {_place(source, root, path) for path in data.modules.values()}
    for folder in COVERED:
        for path in sorted((source / folder).rglob("*.py")):
            name = path.relative_to(source).as_posix()
            if path.name == "__init__.py" or name in data.unnamed or named & {path, *path.parents}:
                continue
            yield f"{DATA}: no entry names {name}: add it to one, or to [unnamed] with the reason."
    for name in data.unnamed:
        if not (source / name).is_file():
            yield f"{data.line_of('unnamed', name)}: there is no such module: delete the line."
        elif source / name in named:
            yield f"{data.line_of('unnamed', name)}: an entry names it: delete the line."


def _place(base: Path, root: Path, path: str) -> Path:
    return root / path[1:] if path.startswith("/") else base / path


def _split(reference: str) -> tuple[str, str]:
    """A reference's handle and the name in it: Class.member of a module, test or Class.test of a test file."""
    handle, _, name = reference.partition(":")
    return handle, name.removeprefix(":").replace("::", ".")


def _alike(base: Path, name: str) -> list[str]:
    """Files and folders below with this name or, where there is none, with the one nearest to it."""
    found: dict[str, list[str]] = {}
    for path in sorted(base.rglob("*")):
        if "__pycache__" not in path.parts:
            found.setdefault(path.name, []).append(path.relative_to(base).as_posix())
    close = difflib.get_close_matches(name, found, 1, 0.85)
    return found.get(name) or (found[close[0]] if close else [])


def _nearest(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, [*known], 1)
    return f"; the nearest is {close[0]!r}" if close else ""


@cache
def _names(path: Path) -> frozenset[str]:
    """What a file defines at its top level, and the members of its classes as Class.member; nothing is imported."""
    if path.suffix != ".py":
        return frozenset()
    return frozenset(_defined(ast.parse(path.read_text(encoding="utf-8")).body))


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{member}" for member in _defined(node.body))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


HEADING = """\
<!-- Made by `python docs/make_fidelity.py` from docs/fidelity.toml: change that file, not this one. -->

# Fidelity to the paper

Where we depart from "Bad Genius: Counterfactual-Guided Harness Evolution Beyond Task-Specific Shortcuts", and why; \
then every part of the paper with the module that carries it and the test that holds it. The table is \
[`fidelity.toml`](fidelity.toml); a test checks that every module and test it names exists.

Both of the paper's benchmarks are here. OfficeQA's data are gated by their authors: all of it was built and tried on \
a synthetic sample of the same shape. No figure here was made with the paper's model.

## Departures
"""
TABLE = """\
## The table

Parts in the paper's order, the supplement included. Modules are relative to `src/chase/` or, like `configs/`, to the \
root; tests to `tests/`. *in part* stands before modules that carry a piece of the part, and what is not built is \
said; *not yet* means that nothing of it is built, and a plan is an intention, no claim. A dash means prose, proof or \
illustration with nothing to build. *Reading* is how we read what the paper leaves open.

| Section | built | in part | not yet | nothing to build |
| --- | --- | --- | --- | --- |
"""


def page(data: Fidelity) -> str:
    """The page in Markdown."""
    return "\n".join([HEADING, *_departures(data), TABLE + "\n".join(_summary(data)), *_tables(data)]) + "\n"


def _departures(data: Fidelity) -> Iterator[str]:
    for group, title in data.groups.items():
        yield f"### {title}\n"
        for part in data.parts:
            if part.group == group:
                headline, _, reasons = part.departure.partition(". ")
                yield f"- **{headline.rstrip('.')}.** {reasons} ({_link(data, part.section)})"
        yield ""


def _summary(data: Fidelity) -> Iterator[str]:
    rows = {key: Counter(part.state for part in data.parts if part.section == key) for key in data.sections}
    for key, states in rows.items():
        link = f"[{_title(data, key)}](#{_anchor(_title(data, key))})"
        yield _row(link, *(str(states[state] or "") for state in STATES))
    total = sum(rows.values(), Counter[str]())
    yield _row("All", *(str(total[state]) for state in STATES))


def _tables(data: Fidelity) -> Iterator[str]:
    for key in data.sections:
        yield f"\n### {_title(data, key)}\n"
        yield _row("Part", "What it is here", "Module", "Test")
        yield _row("---", "---", "---", "---")
        for part in data.parts:
            if part.section == key:
                yield _row(part.part, _what(data, part), _cell(data, part, "modules"), _cell(data, part, "tests"))


def _link(data: Fidelity, key: str) -> str:
    """A section's number, or its title where it has none, leading to its table."""
    return f"[{key if _is_papers(key) else 'beyond the paper'}](#{_anchor(_title(data, key))})"


def _title(data: Fidelity, key: str) -> str:
    return f"{key} {data.sections[key]}" if _is_papers(key) else data.sections[key]


def _is_papers(section: str) -> bool:
    """Whether a section's key is the paper's number of it."""
    return not section.isalpha() or len(section) == 1


def _anchor(title: str) -> str:
    """A heading's address, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _what(data: Fidelity, part: Part) -> str:
    texts = [part.what]
    texts += [f"*Reading:* {part.reading}"] if part.reading else []
    texts += [f"[Departs](#{_anchor(data.groups[part.group])})."] if part.group else []
    texts += [f"*Not built:* {part.missing}"] if part.missing else []
    return " ".join(texts)


def _cell(data: Fidelity, part: Part, table: str) -> str:
    """The files of a part, each followed by what is meant in it."""
    names: dict[str, list[str]] = {}
    for handle, name in map(_split, getattr(part, table)):
        names.setdefault(getattr(data, table)[handle].lstrip("/"), []).extend([name] if name else [])
    if not names:
        return "not yet" if part.missing else "—"
    cells = ", ".join(" ".join(f"`{word}`" for word in (path, *inside)) for path, inside in names.items())
    return f"in part: {cells}" if part.missing and table == "modules" else cells


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> int:
    try:
        data = read((ROOT / DATA).read_text(encoding="utf-8"))
        found = problems(data)
    except ValueError as error:
        found = [str(error)]
    if found:
        sys.stderr.write("\n".join([*found, f"{len(found)} to mend; {PAGE} is as it was."]) + "\n")
        return 1
    (ROOT / PAGE).write_text(page(data), encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {len(data.parts)} parts\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
