"""A document's lines as a layout shows them, and the way back to what they say.

Statements of units, notes and sources next to a table belong to it, and a layout says on which side of it they stand.
Between two tables they belong to the earlier one if they follow it, to the later one if they precede it; where nothing
but such statements is between the tables, units belong to the later and notes to the earlier one. Blank lines go with
the statement that they part from its table, so that a document keeps its number of lines. Other text never moves, nor
does a statement with a bar in it or right before a line with one: next to a table it could pass for a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chase.benchmarks.officeqa.blocks import Block, Kind, blocks
from chase.benchmarks.officeqa.protocol import LayoutProtocol, Place, TableStyle
from chase.core.markdown_tables import cells, is_delimiter, is_row
from chase.core.values import Json

VERSION = 1
RELEASED = LayoutProtocol()


@dataclass(slots=True)
class _Statement:
    kind: Kind
    line: str
    gap: int
    """Blank lines between it and its table, or the statement that is nearer to the table."""


@dataclass(slots=True)
class _Region:
    """The lines between two tables."""

    after: list[_Statement] = field(default_factory=list)
    """Those of the earlier table, from the table on."""
    middle: list[str] = field(default_factory=list)
    before: list[_Statement] = field(default_factory=list)
    """Those of the later table, up to the table."""
    is_open: bool = True
    """Whether other text, or an end of the document, parts what belongs to the two tables."""


@dataclass(slots=True)
class _Parts:
    """A document as tables and the regions around them: one more than there are tables."""

    regions: list[_Region]
    tables: list[list[str]]


def is_released(layout: LayoutProtocol) -> bool:
    """Whether lines are shown as they were released, however they are cut."""
    return (layout.unit_place, layout.note_place, layout.table_style) == ("released", "released", "released")


def lay_out(lines: Sequence[str], layout: LayoutProtocol) -> tuple[str, ...]:
    """The released lines as a layout shows them. As many as before."""
    if is_released(layout):
        return tuple(lines)
    parts = _parts(lines, RELEASED)
    if (layout.unit_place, layout.note_place) != ("released", "released"):
        _rearrange(parts, layout)
    return tuple(_written(parts, layout.table_style))


def pieces(lines: Sequence[str], layout: LayoutProtocol) -> list[Json]:
    """What the lines of a document say that is shown in this layout: the same in every layout.

    Lines of text in their order, and each table as cells, with its units and notes wherever they stand. Blank lines
    say nothing.
    """
    parts = _parts(lines, layout)
    found: list[Json] = []
    for place, region in enumerate(parts.regions):
        found += [line for line in region.middle if line.strip()]
        if place < len(parts.tables):
            around = {
                kind: [s.line for s in _belonging(parts, place, kind, side)]
                for kind, side in (("unit", layout.unit_place), ("note", layout.note_place))
            }
            found.append({**around, "rows": [list(cells(row)) for row in parts.tables[place]]})
    return found


def _belonging(parts: _Parts, table: int, kind: str, place: Place) -> list[_Statement]:
    """A table's statements of a kind, those first that stand before it as released."""
    before = [s for s in parts.regions[table].before if s.kind == kind]
    after = [s for s in parts.regions[table + 1].after if s.kind == kind]
    return after + before if place == "other side" else before + after


# Reading


def _parts(lines: Sequence[str], layout: LayoutProtocol) -> _Parts:
    regions: list[list[tuple[Kind, str]]] = [[]]
    tables: list[list[str]] = []
    for block in _classified(lines):
        if block.kind == "table":
            tables.append(list(lines[block.start : block.end]))
            regions.append([])
        else:
            regions[-1] += [(block.kind, line) for line in lines[block.start : block.end]]
    last = len(tables)
    read = [_region(region, place > 0, place < last, layout) for place, region in enumerate(regions)]
    return _Parts(regions=read, tables=tables)


def _classified(lines: Sequence[str]) -> Iterator[Block]:
    """The blocks, with statements that could pass for rows, or let others, as text."""
    for block in blocks(lines):
        risky = block.kind in ("unit", "note") and (is_row(lines[block.start]) or _joins(lines, block.end))
        yield Block("text", block.start, block.end) if risky else block


def _joins(lines: Sequence[str], place: int) -> bool:
    """Whether a line would become part of a table right before it: unless it is the header of another."""
    if place >= len(lines) or not is_row(lines[place]):
        return False
    heads = place + 1 < len(lines) and is_delimiter(lines[place + 1])
    return is_delimiter(lines[place]) or not heads


def _region(region: list[tuple[Kind, str]], follows: bool, precedes: bool, layout: LayoutProtocol) -> _Region:
    """What stands between two tables, or between one and an end of the document."""
    is_open = not (follows and precedes) or any(kind == "text" for kind, _ in region)
    if not is_open:
        return _closed_region(region, layout)
    found = _Region()
    texts = [place for place, (kind, _) in enumerate(region) if kind == "text"]
    first = texts[0] if texts else len(region) if follows else 0
    last = texts[-1] + 1 if texts else first
    found.after, left = _run(region[:first]) if follows else ([], region[:first])
    before, right = _run(region[last:][::-1]) if precedes else ([], region[last:][::-1])
    found.before = before[::-1]
    found.middle = [line for _, line in (*left, *region[first:last], *right[::-1])]
    return found


def _run(region: Sequence[tuple[Kind, str]]) -> tuple[list[_Statement], list[tuple[Kind, str]]]:
    """The statements from a table on, each with the blank lines on the table's side; and the blank lines at the end."""
    found: list[_Statement] = []
    blank: list[tuple[Kind, str]] = []
    for kind, line in region:
        if kind == "blank":
            blank.append((kind, line))
        else:
            found.append(_Statement(kind, line, len(blank)))
            blank = []
    return found, blank


def _closed_region(region: list[tuple[Kind, str]], layout: LayoutProtocol) -> _Region:
    """Nothing but statements between two tables: the kind decides to which of them each belongs."""
    found = _Region(is_open=False)
    later = {"unit": layout.unit_place in ("released", "before"), "note": layout.note_place in ("before", "other side")}
    taken: set[int] = set()
    for place, (kind, line) in enumerate(region):
        if kind == "blank":
            continue
        step = 1 if later[kind] else -1
        gap, at = 0, place + step
        while 0 <= at < len(region) and region[at][0] == "blank" and at not in taken:
            taken.add(at)
            gap, at = gap + 1, at + step
        (found.before if later[kind] else found.after).append(_Statement(kind, line, gap))
    found.middle = [line for place, (kind, line) in enumerate(region) if kind == "blank" and place not in taken]
    return found


# Writing


def _rearrange(parts: _Parts, layout: LayoutProtocol) -> None:
    placed = [_placed(parts, table, layout) for table in range(len(parts.tables))]
    for table, (before, after) in enumerate(placed):
        parts.regions[table].before = before
        parts.regions[table + 1].after = after


def _placed(parts: _Parts, table: int, layout: LayoutProtocol) -> tuple[list[_Statement], list[_Statement]]:
    """The statements before and after a table. Units stand nearer to it than notes."""
    earlier, later = parts.regions[table], parts.regions[table + 1]
    sides = {}
    for kind, place in (("unit", layout.unit_place), ("note", layout.note_place)):
        before = [s for s in earlier.before if s.kind == kind]
        after = [s for s in later.after if s.kind == kind]
        # Where only statements are between two tables, those of both on the same side could not be told apart.
        if place == "other side" and kind == "unit" and not earlier.is_open:
            before, after = [], before + after
        elif place == "other side" and kind == "note" and not later.is_open:
            before, after = before + after, []
        elif place == "other side":
            before, after = after, before
        elif place != "released":
            before, after = (before + after, []) if place == "before" else ([], before + after)
        sides[kind] = before, after
    (units_before, units_after), (notes_before, notes_after) = sides["unit"], sides["note"]
    return notes_before + units_before, units_after + notes_after


def _written(parts: _Parts, style: TableStyle) -> Iterator[str]:
    for place, region in enumerate(parts.regions):
        for statement in region.after:
            yield from [""] * statement.gap
            yield statement.line
        yield from region.middle
        for statement in region.before:
            yield statement.line
            yield from [""] * statement.gap
        if place < len(parts.tables):
            yield from (_restyled(row, style) for row in parts.tables[place])


def _restyled(row: str, style: TableStyle) -> str:
    """A row in a style; as it is where that would change its cells."""
    held = cells(row)
    if style == "released" or not held or any(cell.endswith("\\") for cell in held):
        return row
    escaped = [cell.replace("|", "\\|") for cell in held]
    if style == "compact":
        return f"|{'|'.join(escaped)}|"
    if style == "bare" and len(held) > 1 and held[0] and held[-1]:
        return " | ".join(escaped)
    return f"| {' | '.join(escaped)} |"
