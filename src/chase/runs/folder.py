"""A run's folder: its resolved settings, the harnesses that it began with, its result."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w

from chase.core.errors import IntegrityError, UserError
from chase.core.outside import parse_json
from chase.core.values import Json
from chase.harness.folder import render_files
from chase.harness.spec import Harness
from chase.store.workspace import RunFiles

CONFIG, RESULT, CHECKSUM, HARNESSES = "config.toml", "result.json", "result.sha256", "harnesses"
FORMER = {"chase.audit/1": "chase.audit/2"}
"""Forms of results that are no longer read, and what replaced them."""


class RunFolder(RunFiles):
    """A run's folder, as commands write and read it."""

    def write_harness(self, name: str, harness: Harness) -> None:
        """A harness that the run began with."""
        for file, text in render_files(harness).items():
            self.write(f"{HARNESSES}/{name}/{file}", text)

    def harness(self, name: str) -> Path:
        return self.path / HARNESSES / name

    def write_settings(self, settings: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]) -> None:
        """`config.toml`: the resolved settings, in the form that `--config` takes.

        A run that goes on reads its harness from this folder; where it was from at first stays written.
        """
        table = {name: value for name, value in settings.items() if value is not None and name != "base_url"}
        if self.has_settings:
            first = self.read_settings().get("harness")
            table = {**table, "harness": first} if first is not None else _without(table, "harness")
        if models:
            table["models"] = {name: dict(model) for name, model in models.items()}
        text = f"# The resolved settings of run {self.run}.\n{tomli_w.dumps(table)}"
        self.write(CONFIG, text)

    @property
    def has_settings(self) -> bool:
        """Whether the run came as far as to write its settings down."""
        return (self.path / CONFIG).exists()

    def read_settings(self) -> dict[str, Any]:
        """What `write_settings` wrote."""
        path = self.path / CONFIG
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
            models = settings.get("models", {})
            if not isinstance(models, dict) or not all(isinstance(table, dict) for table in models.values()):
                raise ValueError("its models are no tables")
            return settings
        except FileNotFoundError:
            raise UserError(
                f"run '{self.run}' has no {CONFIG}: give its settings beside --resume {self.run}."
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise IntegrityError(
                f"{path} cannot be read: {error}. Restore it from a copy, or remove it and give the run's settings."
            ) from None

    def write_result(self, schema: str, payload: Mapping[str, Json]) -> None:
        """`result.json`, and its checksum in the form of `sha256sum`."""
        text = json.dumps({"schema": schema, **payload}, indent=2) + "\n"
        self.write(RESULT, text)
        self.write(CHECKSUM, f"{sha256(text.encode()).hexdigest()}  {RESULT}\n")

    def read_result(self) -> dict[str, Any]:
        """The payload of a finished run, without its schema's name."""
        path = self.path / RESULT
        try:
            content, checksum = path.read_bytes(), (self.path / CHECKSUM).read_bytes()
            if checksum.split()[:1] != [sha256(content).hexdigest().encode()]:
                raise ValueError(f"it is not what {CHECKSUM} says it was")
            result = parse_json(content)
            if not isinstance(result, dict):
                raise ValueError("it is no JSON object")
            if now := FORMER.get(former := str(result.get("schema"))):
                raise ValueError(f"it is {former}, and this version reads {now}")
            return _without(result, "schema")
        except FileNotFoundError as missing:
            raise IntegrityError(
                f"{missing.filename} is gone. Restore it from a copy, or start the run anew."
            ) from None
        except (OSError, ValueError) as error:
            raise IntegrityError(
                f"{path} cannot be read: {error}. Restore it from a copy, or start the run anew."
            ) from None


def _without(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != name}
