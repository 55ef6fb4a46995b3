"""Settings of a command: a config file and flags, of which flags win."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark
from chase.models.config import ModelConfig, Price
from chase.store.workspace import Workspace

BY_ROLE = frozenset({"rollouts", "split_sizes"})
"""Settings that have a value for each role: a flag says something of the roles that it names."""
MODEL_KEYS = frozenset(field.name for field in fields(ModelConfig)) - {"name"}


def load_config(path: Path | None, keys: frozenset[str]) -> dict[str, Any]:
    """The config file's values; an unknown key is refused with the nearest match."""
    if path is None:
        return {}
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"--config={path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--config={path} cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"--config={path} is not valid TOML: {error}.") from None
    for key in config:
        choose(f"key in {path}", key, sorted(keys | {"models"}))
    models = config.get("models", {})
    if not isinstance(models, dict):
        raise UserError(f'{path}: models must be tables, one for each model: [models."openai:gpt-5"].')
    for name, table in models.items():
        if not isinstance(table, dict):
            raise UserError(f"{path}: [models.{name}] must be a table.")
        for key in table:
            choose(f"key in [models.{name}] of {path}", key, sorted(MODEL_KEYS))
    return config


def resolve(config: Mapping[str, Any], flags: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each setting: the flag's, else the file's, else the default."""
    resolved = {}
    for name, default in defaults.items():
        given, below = flags.get(name), config.get(name, default)
        if name in BY_ROLE and given is not None and isinstance(below, Mapping):
            given = {**below, **dict(_pairs(given, name))}
        if name == "options":
            given = {**option_pairs(below), **option_pairs(given)} or None
        resolved[name] = given if given is not None else below
    return resolved


def require(settings: Mapping[str, Any], *names: str) -> None:
    """Refuse to go on without a setting that has no default."""
    for name in names:
        if settings.get(name) in (None, ""):
            flag = name.replace("_", "-")
            raise UserError(f"{name} is missing: give --{flag} or write {name} = … in the config file.")


class _PriceTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class _ModelTable(BaseModel):
    """A `[models.NAME]` table. What a value may be; what it means is `ModelConfig`'s matter."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    base_url: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    tool_mode: str = "native"
    price: _PriceTable | None = None
    api_key_env: str | None = None
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    max_concurrency: int = Field(default=64, ge=1)
    timeout_seconds: float = Field(default=180.0, gt=0)
    retries: int = Field(default=5, ge=0)


def model_config(name: str, config: Mapping[str, Any], *, base_url: str | None) -> ModelConfig:
    """The model's config: its table in the file, with the flag's address winning."""
    try:
        table = _ModelTable.model_validate(config.get("models", {}).get(name, {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{key} in [models.{name}] of the config: {first['msg']}.") from None
    values = {key: getattr(table, key) for key in table.model_fields_set - {"price"}}
    if base_url is not None:
        values["base_url"] = base_url
    price = Price(**table.price.model_dump()) if table.price else None
    return ModelConfig(name=name, price=price, **values)


def integer(settings: Mapping[str, Any], name: str, *, low: int, high: int) -> int:
    """A whole number in a range, wherever it came from."""
    value = settings[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError(f"{name}={value} must be a whole number from {low} to {high}.")
    return value


def seconds(settings: Mapping[str, Any], name: str) -> float:
    """A time that is 0 or more, wherever it came from."""
    value = settings[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise UserError(f"{name}={value} must be a number of seconds, 0 or more.")
    return float(value)


def boolean(settings: Mapping[str, Any], name: str) -> bool:
    """A setting that is true or false, wherever it came from."""
    value = settings[name]
    if not isinstance(value, bool):
        raise UserError(f"{name}={value} must be true or false.")
    return value


def rollout_counts(value: Any, defaults: Mapping[str, int]) -> dict[str, int]:
    """Rollouts of a task by role: the defaults, with `evo=1,conf=2` or a `[rollouts]` table over them.

    `conf` stands for all confirmation sets.
    """
    pairs = [] if value is None else value.items() if isinstance(value, Mapping) else _pairs(value)
    counts = dict(defaults)
    for role, count in pairs:
        choose("role in rollouts", role, ["conf", *defaults])
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 1000:
            raise UserError(f"rollouts: {role}={count} must be a whole number from 1 to 1000.")
        counts |= {name: count for name in defaults if name == role or (role == "conf" and name.startswith("conf"))}
    return counts


def role_sizes(benchmark: Benchmark[Any]) -> dict[str, int]:
    """How many tasks each role has."""
    return {role: len(benchmark.tasks(role)) for role in benchmark.roles}


def split_sizes(value: Any, sizes_of: Mapping[str, int]) -> dict[str, int]:
    """Tasks to use by role, from `evo=8,conf=8` or a table; roles that are not named keep all theirs.

    `sizes_of` is how many tasks each role has.
    """
    pairs = [] if value is None else value.items() if isinstance(value, Mapping) else _pairs(value, "split_sizes")
    sizes: dict[str, int] = {}
    for role, size in pairs:
        choose("role in split_sizes", role, ["conf", *sizes_of])
        meant = [name for name in sizes_of if name == role or (role == "conf" and name.startswith("conf"))]
        most = min(sizes_of[name] for name in meant)
        if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= most:
            raise UserError(f"split_sizes: {role}={size} must be a whole number from 2 to {most}, all that there are.")
        sizes |= dict.fromkeys(meant, size)
    return sizes


def _pairs(value: Any, name: str = "rollouts") -> list[tuple[str, Any]]:
    parts = [part.partition("=") for part in value.split(",")] if isinstance(value, str) else []
    if not parts or any(not equals for _, equals, _ in parts):
        raise UserError(f"{name}={value} must be counts by role, such as evo=2,disc=2,conf=5,cert=3.")
    return [(role.strip(), int(count) if re.fullmatch(r" *[0-9]{1,9} *", count) else count) for role, _, count in parts]


def option_pairs(value: Any) -> dict[str, Any]:
    """A method's options, from `KEY=VALUE` texts or an `[options]` table. A value is read as TOML, else as text."""
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    parts = [part.partition("=") for part in value]
    if wrong := [key for key, equals, _ in parts if not equals or not key.strip()]:
        raise UserError(f"--option {wrong[0]} must be KEY=VALUE, such as rounds=3.")
    return {key.strip(): _toml_value(given.strip()) for key, _, given in parts}


def _toml_value(given: str) -> Any:
    try:
        return tomllib.loads(f"value = {given}")["value"]
    except tomllib.TOMLDecodeError:
        return given


def text(settings: Mapping[str, Any], name: str) -> str:
    """A setting that is a text, wherever it came from."""
    value = settings[name]
    if not isinstance(value, str):
        raise UserError(f"{name}={value} must be a text.")
    return value


def locate(workspace: Path | None) -> Workspace:
    """The workspace that a flag names, which is then exactly that folder; else the one found upward."""
    return Workspace.find() if workspace is None else Workspace(workspace)
