"""How settings are declared: a field with a kind of value, help, a group, and what it is to a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from chase.core.interfaces import OwnAgent
from chase.harness.spec import Harness
from chase.runs.kinds import Folder, Kind

Panel = Literal["What", "Sizes", "Agents", "Theory", "Money", "Run"]
PANELS: tuple[Panel, ...] = ("What", "Sizes", "Agents", "Theory", "Money", "Run")
"""Groups of the help, in its order."""
Part = Literal["identity", "pace", "choice", "act"]
"""What a setting is to a run. `identity` decides its result. The others do not: of `pace` a resumed run keeps its own
where nothing is said, a `choice` is made anew each time, and an `act` belongs to one command: no file can say it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What is known of a setting beside its type and default."""

    help: str
    panel: Panel
    metavar: str | None
    part: Part
    common: bool
    """Whether it comes first in its panel."""
    flag: str | None
    """Where its flag is not its name."""

    @property
    def in_file(self) -> bool:
        """Whether a config file may say it."""
        return self.part != "act"


def setting(
    default: Any, help: str, panel: Panel, *, metavar: str | None = None, part: Part = "identity",
    common: bool = False, flag: str | None = None,
) -> Any:  # fmt: skip
    """A field of a settings model."""
    about = About(help=help, panel=panel, metavar=metavar, part=part, common=common, flag=flag)
    return Field(default=default, description=help, json_schema_extra={"about": about})  # type: ignore[dict-item]


class Settings(BaseModel):
    """Settings of a command. None is what nobody said: the benchmark's own, or nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, validate_default=True)

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    required: ClassVar[tuple[str, ...]] = ("model",)
    of_method: ClassVar[Mapping[str, str]] = {}
    """Option of a method → the setting that says it too; one that begins with `no_` denies it."""

    @classmethod
    def needed(cls, said: Mapping[str, Any]) -> tuple[str, ...]:
        """What must be said where these settings are."""
        return cls.required

    @classmethod
    def file_keys(cls) -> frozenset[str]:
        """What a config file may say."""
        return frozenset(name for name, about in cls.about().items() if about.in_file)

    @classmethod
    def about(cls) -> dict[str, About]:
        """Every setting by name, in the order of the help."""
        extras = {name: cast(Any, field.json_schema_extra) for name, field in cls.model_fields.items()}
        found: dict[str, About] = {name: extra["about"] for name, extra in extras.items()}
        order = {name: (PANELS.index(about.panel), not about.common) for name, about in found.items()}
        return {name: found[name] for name in sorted(found, key=order.__getitem__)}

    @classmethod
    def kind(cls, name: str) -> Kind:
        """How a setting's value is checked."""
        return next(each for each in cls.model_fields[name].metadata if isinstance(each, Kind))

    def written(self, **resolved: Any) -> dict[str, Any]:
        """The settings as `config.toml` keeps them, with what the benchmark decided of them.

        A harness is in the run's folder, a preset in what it stands for.
        """
        names = [name for name, about in type(self).about().items() if about.in_file and name != "preset"]
        found = {name: getattr(self, name) for name in names} | resolved
        for name in found.keys() & type(self).model_fields.keys():
            if isinstance(self.kind(name), Folder) and found[name] is not None:
                found[name] = str(Path(found[name]).absolute())  # a run goes on from anywhere
        return {name: value for name, value in found.items() if not isinstance(value, Harness | OwnAgent)}

    @classmethod
    def names(cls, *parts: Part) -> frozenset[str]:
        """The settings that are these parts of a run."""
        return frozenset(name for name, about in cls.about().items() if about.part in parts)
