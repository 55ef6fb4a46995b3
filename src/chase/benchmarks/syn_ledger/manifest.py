"""The rendering manifest: the protocol state of a task, apart from its contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Format = Literal["markdown", "csv", "key-value"]
EXTENSIONS: Mapping[Format, str] = {"markdown": "md", "csv": "csv", "key-value": "txt"}


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentProtocol:
    """How one document is shown. Each field is one protocol component; none holds contents."""

    id: str
    """Opaque and out of every operator's reach."""
    root: str
    """Top folder."""
    folders: tuple[str, ...]
    """Folders below it."""
    stem: str
    suffix: str
    """What follows the stem in the file's name, '' or '-7'."""
    format: Format
    rank: int
    """Sort key among the results of a search that match, and among those that do not."""
    listing: int
    """Sort key in `list_files`; files with the same key are listed by name. As released all have the same."""
    order: tuple[int, ...]
    """Indices of the records in the order shown; the first three are the first window."""
    title: str
    section: str
    metadata: tuple[tuple[str, str], ...]
    casing: Literal["capitalised", "capitals"]
    """Of the field names."""
    newline: str = "\n"
    trailing: str = ""
    """White space at the end of each line."""

    @property
    def name(self) -> str:
        return f"{self.stem}{self.suffix}.{EXTENSIONS[self.format]}"

    @property
    def path(self) -> str:
        return "/".join((self.root, *self.folders, self.name))


PROTOCOL_FIELDS = frozenset(DocumentProtocol.__dataclass_fields__) - {"id"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The protocol state of one task: its documents' protocols, in the order of their ids."""

    documents: tuple[DocumentProtocol, ...]

    def __iter__(self) -> Iterator[DocumentProtocol]:
        return iter(self.documents)

    def __getitem__(self, document: str) -> DocumentProtocol:
        return next(d for d in self.documents if d.id == document)

    def update(self, changes: Mapping[str, Mapping[str, Any]]) -> Manifest:
        """The manifest with some documents' fields set anew. A document that stays the same is not copied."""
        return Manifest(tuple(_updated(d, changes.get(d.id, {})) for d in self.documents))

    def listed(self) -> list[DocumentProtocol]:
        """In the order of `list_files`."""
        return sorted(self.documents, key=lambda d: (d.listing, d.name, d.path))

    def ranked(self) -> list[DocumentProtocol]:
        """In the order of a search's results, were they all alike in matching."""
        return sorted(self.documents, key=lambda d: (d.rank, d.id))

    def changed_fields(self, other: Manifest) -> frozenset[str]:
        """The protocol fields in which the two differ for some document."""
        return frozenset(
            name
            for mine, theirs in zip(self.documents, other.documents, strict=True)
            if mine is not theirs
            for name in DocumentProtocol.__dataclass_fields__
            if getattr(mine, name) != getattr(theirs, name)
        )

    def to_json(self) -> list[dict[str, Any]]:
        return [{name: getattr(d, name) for name in DocumentProtocol.__dataclass_fields__} for d in self.documents]

    @classmethod
    def from_json(cls, form: Iterable[Mapping[str, Any]]) -> Manifest:
        """The way back from `to_json`, through JSON's text too."""
        return cls(tuple(DocumentProtocol(**{name: _frozen(value) for name, value in d.items()}) for d in form))


def _updated(protocol: DocumentProtocol, change: Mapping[str, Any]) -> DocumentProtocol:
    new = {name: value for name, value in change.items() if getattr(protocol, name) != value}
    return replace(protocol, **new) if new else protocol


def _frozen(value: Any) -> Any:
    """JSON knows lists alone; protocols hold tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
