"""Settings of a command: a config file and flags, of which flags win."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from chase.core.errors import UserError, choose
from chase.models.config import ModelConfig, Price
from chase.store.workspace import Workspace

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
        given = flags.get(name)
        resolved[name] = given if given is not None else config.get(name, default)
    return resolved


def require(settings: Mapping[str, Any], *names: str) -> None:
    """Refuse to go on without a setting that has no default."""
    for name in names:
        if settings.get(name) in (None, ""):
            flag = name.replace("_", "-")
            raise UserError(f"{name} is missing: give --{flag} or write {name} = … in the config file.")


def model_config(name: str, config: Mapping[str, Any], *, base_url: str | None) -> ModelConfig:
    """The model's config: its table in the file, with the flag's address winning."""
    table = dict(config.get("models", {}).get(name, {}))
    if base_url is not None:
        table["base_url"] = base_url
    price = table.pop("price", None)
    try:
        return ModelConfig(name=name, price=Price(**price) if price else None, **table)
    except TypeError as error:
        raise UserError(f"[models.{name}]: {error}. Valid keys: {', '.join(sorted(MODEL_KEYS))}.") from None


def integer(settings: Mapping[str, Any], name: str, *, low: int, high: int) -> int:
    """A whole number in a range, wherever it came from."""
    value = settings[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError(f"{name}={value} must be a whole number from {low} to {high}.")
    return value


def text(settings: Mapping[str, Any], name: str) -> str:
    """A setting that is a text, wherever it came from."""
    value = settings[name]
    if not isinstance(value, str):
        raise UserError(f"{name}={value} must be a text.")
    return value


def locate(workspace: Path | None) -> Workspace:
    """The workspace that a flag names, which is then exactly that folder; else the one found upward."""
    return Workspace.find() if workspace is None else Workspace(workspace)
