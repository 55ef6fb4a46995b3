"""What a benchmark brings to the firewall's self-test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chase.core.values import Json

if TYPE_CHECKING:
    from chase.core.interfaces import Operator


@dataclass(frozen=True, kw_only=True)
class NegativeControl:
    """An operator that a check of the firewall must catch, alone where `alone` says so. It passes parsing."""

    name: str
    check: str
    operator: Operator[Any]
    """On the states that the firewall examines."""
    declared: frozenset[str] = frozenset()
    alone: bool = True


@dataclass(frozen=True, kw_only=True)
class Controls:
    """What a benchmark brings to the firewall's self-test, as operator forms (name, arguments) where they parse."""

    positive: Mapping[str, Sequence[Mapping[str, Json]]]
    """Transformations that must pass: identity, valid single changes, valid compositions."""
    negative: Sequence[NegativeControl]
    refused: Mapping[str, Sequence[Mapping[str, Json]]]
    """Transformations that must not pass parsing."""
