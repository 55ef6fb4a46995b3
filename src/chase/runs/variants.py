"""What a variant's name means: a construction of the benchmark, a transformation in a file, or an archive's entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Benchmark, Transformation
from chase.core.outside import NotPlain, parse_json
from chase.protocol.archive import SCHEMA, Archive, ArchiveEntry, read_archive
from chase.protocol.proposal import parse_for
from chase.protocol.transformation import OperatorList


def resolve_variant(benchmark: Benchmark[Any], variant: str) -> Transformation[Any]:
    """The transformation that a variant's name means; what cannot be used is refused before anything runs."""
    if variant.endswith(".json"):
        return _in_file(benchmark, Path(variant))
    path, _, name = variant.rpartition("#")
    return _in_archive(benchmark, Path(path), name) if path else benchmark.variant(variant)


def require_made_on(archive: Archive, benchmark: Benchmark[Any], path: str | Path) -> None:
    """Refuse an archive of another benchmark, or of another content of this one."""
    if archive.benchmark != benchmark.name:
        raise UserError(
            f"{path} is an archive for {archive.benchmark}, not for {benchmark.name}. Name that benchmark, "
            f"or save the entry's transformation (`chase archive show {path} --json`) as a file of its own."
        )
    if archive.content_hash != benchmark.content_hash:
        raise IntegrityError(
            f"{path} was made on another content of {archive.benchmark}: use the version of chase that made it."
        )


def archived_transformation(benchmark: Benchmark[Any], entry: ArchiveEntry, path: str | Path) -> OperatorList[Any]:
    """The entry's transformation, refused where it does not mean here what it meant when it was archived."""
    try:
        transformation = parse_for(benchmark, entry.transformation).transformation
    except UserError as error:
        raise UserError(f"{path}#{entry.name}: {error} Use the version of chase that archived it.") from None
    if transformation.hash != entry.hash:
        raise IntegrityError(
            f"{path}#{entry.name}: its canonical form is another one now. Use the version of chase that archived it."
        )
    return transformation


def _in_file(benchmark: Benchmark[Any], path: Path) -> OperatorList[Any]:
    try:
        form = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"variant={path} cannot be read: {error}.") from None
    if _is_archive(form):
        return _in_archive(benchmark, path)
    try:
        return parse_for(benchmark, form).transformation
    except UserError as error:
        raise UserError(f"variant={path}: {error}") from None


def _is_archive(form: str) -> bool:
    try:
        document = parse_json(form)
    except NotPlain:
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def _in_archive(benchmark: Benchmark[Any], path: Path, name: str | None = None) -> OperatorList[Any]:
    archive = read_archive(path)
    require_made_on(archive, benchmark, path)
    try:
        entry = _only(archive, path) if name is None else archive.entry(name)
    except UserError as error:
        raise UserError(f"variant={path}: {error}") from None
    return archived_transformation(benchmark, entry, path)


def _only(archive: Archive, path: Path) -> ArchiveEntry:
    if not archive.entries:
        raise UserError("it holds no counterfactual, only the released benchmark: write released.")
    if len(archive.entries) > 1:
        valid = ", ".join(f"{path}#{entry.name}" for entry in archive.entries)
        raise UserError(f"it holds {len(archive.entries)} counterfactuals: name one. Valid: {valid}.")
    return archive.entries[0]
