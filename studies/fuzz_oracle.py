"""An oracle of validity that shares no code with the firewall: it looks at a task as an agent would, by its tools.

It reads the three formats and the question with parsers of its own, and compares what it saw before and after. What no
look can tell (a rule that knows what it must not know) it finds by the same transformation with that rule always and
never applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from chase.core.interfaces import Environment
from chase.core.values import Json

Record = tuple[str, ...]
LABELS = ("Entity", "Period", "Category", "Status", "Version", "Basis", "Amount")
FORMATS = {"md": "markdown", "csv": "csv", "txt": "key-value"}
EXTENSIONS = {form: extension for extension, form in FORMATS.items()}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One task to look at: fresh tools at every call, and what an output would score."""

    environment: Callable[[], Environment]
    score: Callable[[str | None], float]


class Suspect(Protocol):
    """What is judged. A scene may be looked at any number of times; each is made anew."""

    @property
    def declared(self) -> Collection[str]: ...
    @property
    def knows_by_itself(self) -> bool:
        """Whether it looks at labels or ids under any condition, so that it must not act at all."""
        ...

    def transformed(self, task: str) -> Scene: ...
    def undone(self, task: str) -> Scene | None:
        """With the stated inverse applied after it, if one is stated."""
        ...

    def forced(self, task: str, holds: bool) -> Scene | None:
        """With its forbidden condition replaced by a constant, if it has one."""
        ...


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file's parts as read from its path and its windows."""

    fields: dict[str, Json]
    records: tuple[Record, ...]
    """In the order shown."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """Everything that the tools show of a task."""

    question: str
    documents: dict[str, Document]
    listing: list[str]
    broad: list[str]
    texts: tuple[str, ...]
    tools: Json
    limits: Json
    scores: tuple[float, ...]

    @property
    def by_name(self) -> bool:
        """Whether files are listed by their names, as they are released."""

        def name(document: str) -> tuple[str, list[str]]:
            fields = self.documents[document].fields
            stem = f"{fields['stem']}{fields['suffix'] or ''}"
            return f"{stem}.{EXTENSIONS[fields['format']]}", [fields["root"], *fields["folders"]]

        return self.listing == sorted(self.listing, key=name)

    @property
    def numbers(self) -> set[int]:
        return {int(token) for token in re.findall(r"\d+", "\n".join(self.texts))}


def judge(suspect: Suspect, released: Mapping[str, Look]) -> str | None:
    """Why the transformation is invalid on the tasks, given how they look as released; or None."""
    differs = {True: suspect.knows_by_itself, False: False}
    for task, before in released.items():
        after = _look_at(suspect.transformed, task)
        if not isinstance(after, Look):
            return after
        reason = _compare(before, after, suspect.declared)
        if not reason and _look_at(suspect.transformed, task) != after:
            reason = "shown differently the second time"
        if not reason and _look_at(suspect.undone, task) not in (before, None):
            reason = "inverse does not restore"
        for holds in differs:
            forced = _look_at(partial(suspect.forced, holds=holds), task)
            differs[holds] |= forced not in (after, None)
        if reason or all(differs.values()):
            return reason or "depends on what it must not know"
    return None


def _look_at(scene: Callable[[str], Scene | None], task: str) -> Look | str | None:
    """What a scene shows, or how it breaks."""
    try:
        made = scene(task)
        return None if made is None else look(made)
    except Exception as error:
        return f"breaks: {type(error).__name__}"


def _compare(before: Look, after: Look, declared: Collection[str]) -> str | None:
    truth = answer(before)
    if after.question != before.question:
        return "another question"
    if after.documents.keys() != before.documents.keys() or len(after.listing) != len(before.listing):
        return "other documents"
    if any(sorted(after.documents[d].records) != sorted(held.records) for d, held in before.documents.items()):
        return "other records"
    if answer(after) != truth:
        return "another answer"
    if truth in after.numbers - before.numbers:
        return "answer shown"
    if (after.tools, after.limits) != (before.tools, before.limits):
        return "other tools or limits"
    if after.scores != before.scores or before.scores != EXPECTED:
        return "another scorer"
    undeclared = changed(before, after) - set(declared)
    return f"undeclared: {min(undeclared)}" if undeclared else None


def changed(before: Look, after: Look) -> set[str]:
    """The protocol fields in which the two looks differ."""
    fields = {
        name
        for document, held in before.documents.items()
        for name, value in held.fields.items()
        if after.documents[document].fields[name] != value
    }
    fields |= {"order"} if any(after.documents[d].records != h.records for d, h in before.documents.items()) else set()
    fields |= {"rank"} if after.broad != before.broad else set()
    by_name = before.by_name and after.by_name
    return fields | ({"listing"} if after.listing != before.listing and not by_name else set())


# What the tools show


def look(scene: Scene) -> Look:
    """List, search for nothing in particular, and open every file by its path, with fresh tools as they run out."""
    tools = scene.environment()
    listed = tools.call("list_files", {}).items
    hits = tools.call("search", {"query": "nowhere", "limit": 12}).items
    documents, texts = {}, [tools.question, *(item.text for item in (*listed, *hits))]
    for item in listed:
        if tools.calls_left()["open"] < 2:
            tools = scene.environment()
        windows = [tools.call("open_file", {"file": item.shown.path}).items[0] for _ in range(2)]
        if any(window.shown.id != item.shown.id for window in windows):
            raise ValueError("a path opens another file")
        documents[item.shown.id] = read(item.shown.path, windows[0].text, windows[1].text)
        texts += [window.text for window in windows]
    gold = answer_of(tools.question, documents)
    return Look(
        question=tools.question,
        documents=documents,
        listing=[item.shown.id for item in listed],
        broad=[item.shown.id for item in hits],
        texts=tuple(texts),
        tools=list(tools.tools),
        limits=tools.limits,
        scores=tuple(scene.score(output) for output in outputs(gold)),
    )


def outputs(gold: int | None) -> list[str | None]:
    right = [f"{gold}", f" {gold}\n", f"+{gold}"]
    return [*right, f"{gold}.0", f"It is {gold}", f"{gold} {gold}", f"{(gold or 0) + 1}", f"-{gold}", "", None, "pass"]


EXPECTED = (1.0,) * 3 + (0.0,) * 8


# Three formats


def read(path: str, first: str, second: str) -> Document:
    """A document from its path and two windows. Nothing is stripped that the format does not put there."""
    *folders, name = path.split("/")
    stem, _, extension = name.rpartition(".")
    trailing, newline = re.match(r"[^\r\n]*?([ \t]*)(\r?\n)", first).groups()  # type: ignore[union-attr]
    end = trailing + newline
    top, bottom = first.split(end), second.split(end)
    if top.pop() or bottom.pop() or any("\n" in line for line in (*top, *bottom)):
        raise ValueError("lines do not end alike")
    blank = top.index("")
    reader = {"md": _markdown, "csv": _csv, "txt": _key_value}[extension]
    title, metadata, section, labels, rows = reader(top, bottom, blank)
    if [label.capitalize() for label in labels] != list(LABELS) or any(len(row) != 7 for row in rows):
        raise ValueError("not seven fields")
    bare, suffix = re.fullmatch(r"(.*?)(-\d+)?", stem).groups()  # type: ignore[union-attr]
    return Document(
        fields={
            "root": folders[0],
            "folders": folders[1:],
            "stem": bare,
            "suffix": suffix,
            "format": FORMATS[extension],
            "title": title,
            "section": section,
            "metadata": metadata,
            "casing": labels,
            "newline": newline,
            "trailing": trailing,
        },
        records=tuple(map(tuple, rows)),
    )


Parts = tuple[str, list[str], str, list[str], list[list[str]]]


def _between(line: str, start: str, stop: str) -> str:
    if not (line.startswith(start) and line.endswith(stop) and len(line) >= len(start) + len(stop)):
        raise ValueError(f"{line!r} is not between {start!r} and {stop!r}")
    return line[len(start) : len(line) - len(stop)]


def _markdown(top: list[str], bottom: list[str], blank: int) -> Parts:
    section, empty, *table = top[blank + 1 :]
    if empty or table[:2] != bottom[:2] or table[1] != "|" + " --- |" * 7:
        raise ValueError("not a table")
    cells = [_between(line, "| ", " |").split(" | ") for line in (table[0], *table[2:], *bottom[2:])]
    return _between(top[0], "# ", ""), top[1:blank], _between(section, "## ", ""), cells[0], cells[1:]


def _csv(top: list[str], bottom: list[str], blank: int) -> Parts:
    section, header, *rows = top[blank + 1 :]
    if header != bottom[0]:
        raise ValueError("two headers")
    metadata = [_between(line, "# ", "") for line in top[1:blank]]
    cells = [row.split(",") for row in (*rows, *bottom[1:])]
    return _between(top[0], "# ", ""), metadata, _between(section, "# ", ""), header.split(","), cells


def _key_value(top: list[str], bottom: list[str], blank: int) -> Parts:
    section, *lines = top[blank + 1 :]
    pairs = [line.split(": ", 1) for line in (*lines, "", *bottom) if line]
    blocks = [pairs[start : start + 7] for start in range(0, len(pairs), 7)]
    labels = [pair[0] for pair in blocks[0]]
    if any([pair[0] for pair in block] != labels for block in blocks):
        raise ValueError("blocks with other labels")
    rows = [[pair[1] for pair in block] for block in blocks]
    return _between(top[0], "= ", " ="), top[1:blank], _between(section, "[", "]"), labels, rows


# The answer


def _whole(x: int, y: int) -> int | None:
    return None if not y or 100 * x % y else 100 * x // y


PROGRAMS: dict[str, tuple[list[tuple[str, int]], Callable[..., int | None]]] = {
    r"by how much .* exceed": ([("appropriation", 0), ("appropriation", 1)], lambda x, y: x - y),
    r"add up to": ([("capital adjustment", 0), ("operations adjustment", 0)], lambda x, y: x + y),
    r"what is left": ([("appropriation", 0), ("adjustment", 0), ("obligation", 0)], lambda x, y, z: x + y - z),
    r"what percentage": ([("allocated amount", 0), ("reference total", 0)], _whole),
    r"how far is": (
        [("reported total", 0), ("direct component", 0), ("indirect component", 0)],
        lambda z, x, y: z - x - y,
    ),
}
"""What a question says → the amounts it needs, as (category, periods back), and what is done with them."""


def answer(seen: Look) -> int | None:
    return answer_of(seen.question, seen.documents)


def answer_of(question: str, documents: dict[str, Document]) -> int | None:
    """The answer from what is shown; None where an amount is missing or not unique."""
    program: Any = next((p for words, p in PROGRAMS.items() if re.search(words, question)), None)
    entity, periods = re.match(r"For (.*?), ", question), re.findall(r"FY\d{4}", question)
    if program is None or entity is None or not periods:
        return None
    roles, compute = program
    amounts = []
    for category, back in roles:
        wanted = (entity[1], periods[back], category, "approved", "prevailing", "enacted")
        found = [r[6] for document in documents.values() for r in document.records if r[:6] == wanted]
        if len(found) != 1:
            return None
        amounts.append(int(found[0]))
    result: int | None = compute(*amounts)
    return result
