"""Which rollouts a page shows: everything is in the address, and nothing that an address says can fail but by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import get_args
from urllib.parse import urlencode

from chase.core.errors import UserError
from chase.runs.naming import Names
from chase.store.browsing import Kind, Sought
from chase.web.viewer import hash_of

KINDS: Mapping[str, str] = {
    "wrong": "wrong: scored below 1",
    "changed": "changed by the counterfactual",
    "failed": "failed: not scored",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """What a person asked for, in the person's words."""

    harness: str = ""
    variant: str = ""
    split: str = ""
    task: str = ""
    kind: str = ""
    q: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        found = cls(**{name: query.get(name, "").strip()[:200] for name in cls.__dataclass_fields__})
        if found.kind and found.kind not in get_args(Kind):
            raise UserError(f"kind={found.kind} is none of {', '.join(KINDS)}.")
        return found

    def sought(self, run: str | None, names: Names) -> Sought:
        """The same as the store asks it."""
        kind: Kind | None = self.kind or None  # type: ignore[assignment]
        return Sought(
            run=run,
            task=self.task or None,
            harness=hash_of("harness", names.harnesses, self.harness),
            transformation=hash_of("variant", names.variants, self.variant),
            role=self.split or None,
            kind=kind,
            words=self.q or None,
        )

    def address(self, **more: str) -> str:
        """As the query of an address, without what is not asked."""
        return urlencode({name: value for name, value in {**asdict(self), **more}.items() if value})

    @property
    def any(self) -> bool:
        return any(asdict(self).values())
