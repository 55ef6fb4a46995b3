"""What a user said: keywords or flags over a config file over a preset, checked as one settings model."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chase.core.errors import UserError, choose
from chase.models.config import LocalServer, ModelConfig, Price
from chase.runs.declaring import Settings
from chase.runs.kinds import Kind, Options

MODELS = "models"
"""The config file's tables of models, beside the settings."""
OPTIONS = "options"
"""The setting that holds a method's options by name."""
MODEL_KEYS = frozenset(field.name for field in fields(ModelConfig)) - {"name"}

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True, kw_only=True)
class RawSettings(Generic[S]):
    """What a user said, not yet checked but for its keys."""

    model: type[S]
    given: Mapping[str, Any]
    """By keyword or flag; what is None was not given."""
    file: Mapping[str, Any]
    """By the config file, without its models."""
    models: Mapping[str, Mapping[str, Any]]
    """The config file's tables of models."""

    def settings(self) -> S:
        """The value of each setting: what was given, else the file's, else the default. A wrong one is refused."""
        return checked(self.model, _over(self.model, self.given, self._with_preset()))

    def above(self, kept: Mapping[str, Any]) -> RawSettings[S]:
        """The same, with a config's values that count where nothing was said."""
        tables = {**kept.get(MODELS, {}), **self.models}
        return replace(self, file=_over(self.model, self.file, _without_models(kept)), models=tables)

    @property
    def describes(self) -> bool:
        """Whether anything that decides a run's result was said."""
        return bool(self.models or (self.given.keys() | self.file.keys()) & self.model.names("identity"))

    @property
    def complete(self) -> bool:
        """Whether all that is required was said."""
        needed = self.model.needed({**self.file, **self.given})
        return all(name in self.given or name in self.file for name in needed)

    def _with_preset(self) -> Mapping[str, Any]:
        """The config file's values with a preset's: over them if it was given, below them if the file names it."""
        given, presets = self.given.get("preset"), self.model.presets
        named = self.file.get("preset") if given is None else given
        if named is None:
            return self.file
        preset = presets[choose("preset", str(named), presets)]
        upper, lower = (self.file, preset) if given is None else (preset, self.file)
        return {**_unless_said(self.model, lower, upper), **upper}


def raw_settings(model: type[S], given: Mapping[str, Any]) -> RawSettings[S]:
    """What was given, with the config file that it names. An unknown name is refused with the nearest match."""
    for name in given:
        choose("setting", name, model.about())
    found = {name: value for name, value in given.items() if value is not None}
    config = found.get("config")
    if config is not None and not isinstance(config, str | Path):
        raise UserError(f"config={config} must be a text: a path.")
    file = {} if config is None else load_config(Path(config), model.file_keys())
    known = {name: value for name, value in file.items() if name in model.model_fields}
    if "data" in found and hasattr(found.get("benchmark"), "content_hash"):
        raise UserError(f"data={found['data']} is for a benchmark that is named, and this one is open: leave data out.")
    _refuse_contradictions(model, found, "")
    _refuse_contradictions(model, known, f"{config}: ")
    return RawSettings(model=model, given=found, file=known, models=file.get(MODELS, {}))


def checked(model: type[S], values: Mapping[str, Any]) -> S:
    """The settings of these values; the first wrong one is refused in one sentence, and so is one that is missing."""
    try:
        settings = model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{first['loc'][0]}={first['input']} {_reason(first)}.") from None
    for name in model.needed(values):
        if getattr(settings, name) in (None, ""):
            flag = name.replace("_", "-")
            in_file = f" or write {name} = … in the config file" if "config" in model.model_fields else ""
            raise UserError(f"{name} is missing: give --{flag}{in_file}.")
    return settings


def load_config(path: Path, keys: frozenset[str]) -> dict[str, Any]:
    """The config file's values; an unknown key is refused with the nearest match."""
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"--config={path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--config={path} cannot be read: {error}.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"--config={path} is not valid TOML: {error}.") from None
    for key in config:
        choose(f"key in {path}", key, sorted(keys | {MODELS}))
    models = config.get(MODELS, {})
    if not isinstance(models, dict):
        raise UserError(f'{path}: models must be tables, one for each model: [models."openai:gpt-5"].')
    for name, table in models.items():
        if not isinstance(table, dict):
            raise UserError(f"{path}: [models.{name}] must be a table.")
        for key in table:
            choose(f"key in [models.{name}] of {path}", key, sorted(MODEL_KEYS))
    return config


class _PriceTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class _ServerTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    slots: int | None = None
    threads: int | None = None
    context_tokens: int | None = None
    prompt_cache: bool = True


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
    timeout_seconds: float | None = Field(default=None, gt=0)
    retries: int = Field(default=5, ge=0)
    server: _ServerTable | None = None


def model_config(name: str, tables: Mapping[str, Mapping[str, Any]], *, base_url: str | None) -> ModelConfig:
    """The model's config: its table in the file, with the given address winning."""
    try:
        table = _ModelTable.model_validate(tables.get(name, {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{key} in [models.{name}] of the config: {first['msg']}.") from None
    values = {key: getattr(table, key) for key in table.model_fields_set - {"price", "server"}}
    if base_url is not None:
        values["base_url"] = base_url
    price = Price(**table.price.model_dump()) if table.price else None
    server = LocalServer(**table.server.model_dump()) if table.server else None
    return ModelConfig(name=name, price=price, server=server, **values)


def _over(model: type[Settings], upper: Mapping[str, Any], lower: Mapping[str, Any]) -> dict[str, Any]:
    """What two places say: the upper one's value, with the lower one's where a setting can say a part."""
    merged = _unless_said(model, lower, upper)
    for name, value in upper.items():
        merged[name] = _merged(model.kind(name), name, value, merged[name]) if name in merged else value
    return merged


def _unless_said(model: type[Settings], lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """A place's values without a method's options that an upper place says, by their setting or by their name."""
    said = {model.of_method.get(option) for option in _options(upper)}
    left = {name: value for name, value in lower.items() if name not in said}
    if OPTIONS in left:
        left[OPTIONS] = {
            option: value for option, value in _options(lower).items() if model.of_method.get(option) not in upper
        }
    return left


def _refuse_contradictions(model: type[Settings], place: Mapping[str, Any], where: str) -> None:
    """Refuse a place that says one option of a method twice, and not the same."""
    for option, value in _options(place).items() if model.of_method else ():
        name = model.of_method.get(option)
        if name is None or name not in place:
            continue
        meant = not place[name] if name != option else place[name]
        if str(meant) != str(value):
            raise UserError(
                f"{where}{name}={place[name]} and the option {option}={value} contradict each other: leave one out."
            )


def _options(place: Mapping[str, Any]) -> dict[str, Any]:
    """A method's options that a place says by name."""
    value = place.get(OPTIONS)
    try:
        return {} if value is None else Options().check(value)
    except ValueError as error:
        raise UserError(f"{OPTIONS}={value} {error}.") from None


def _merged(kind: Kind, name: str, value: Any, below: Any) -> Any:
    try:
        return kind.merged(value, below)
    except ValueError as error:
        raise UserError(f"{name}={value} {error}.") from None


def _without_models(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != MODELS}


def _reason(error: Any) -> str:
    cause = error.get("ctx", {}).get("error")
    return str(cause) if cause is not None else f"is wrong: {error['msg']}"
