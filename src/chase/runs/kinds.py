"""What a setting may be: one check and one sentence for each kind of value, wherever the value came from."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, OwnAgent
from chase.harness.spec import Harness

MOST = 10**15


class Kind:
    """Checks a value and brings it into one form. A `ValueError` says what it must be; the setting's name is put
    before it by whoever refuses it.
    """

    flag: ClassVar[type] = str
    several: ClassVar[bool] = False
    """Whether its flag may be given more than once."""

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    @property
    def reads(self) -> type:
        """What the command line reads before the check."""
        return self.flag

    def merged(self, value: Any, below: Any) -> Any:
        """What is meant where two places say something: the first alone, unless it can say a part."""
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = core_schema.no_info_plain_validator_function(self.check)
        return core_schema.nullable_schema(schema) if NoneType in get_args(source) else schema


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number in a range."""

    flag = int
    low: int
    high: int

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise ValueError(f"must be a whole number from {self.low} to {self.high}")
        return value


class Amount(Kind):
    """A number, 0 or more."""

    flag = float
    what: ClassVar[str] = "a number"

    def check(self, value: Any) -> float:
        if not is_amount(value):
            raise ValueError(f"must be {self.what}, 0 or more")
        return float(value)


class Seconds(Amount):
    """A time, 0 or more."""

    what = "a number of seconds"


class Dollars(Amount):
    """An amount of USD, 0 or more."""

    what = "an amount of USD"


class Level(Kind):
    """The level of an interval."""

    flag = float

    def check(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, float) or not 0.5 <= value < 1:
            raise ValueError("must be a number from 0.5 to below 1")
        return value


class Share(Kind):
    """A number between 0 and 1, neither of them."""

    flag = float

    def check(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, float) or not 0 < value < 1:
            raise ValueError("must be a number above 0 and below 1")
        return value


@dataclass(frozen=True)
class OfMethod(Kind):
    """An option that methods have under this name: the chosen one checks it."""

    read: type = str

    @property
    def reads(self) -> type:
        return self.read

    def check(self, value: Any) -> Any:
        return value


class Toggle(Kind):
    """True or false."""

    flag = bool

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value


class Text(Kind):
    """A text."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("must be a text")
        return value


class Folder(Kind):
    """A path, kept as a text."""

    flag = Path

    def check(self, value: Any) -> str:
        if not isinstance(value, str | Path):
            raise ValueError("must be a text: a path")
        return str(value)


class DataFolder(Folder):
    """The folder of a benchmark's data, as a whole path: a run may be certified from another folder."""

    def check(self, value: Any) -> str:
        return str(Path(super().check(value)).expanduser().absolute())


class Rows(Kind):
    """Rows of a table: a path, or the rows themselves by column."""

    flag = Path

    def check(self, value: Any) -> str | tuple[Mapping[str, Any], ...]:
        if isinstance(value, str | Path):
            return str(value)
        if not isinstance(value, Sequence) or not all(isinstance(row, Mapping) for row in value):
            raise ValueError("must be a path, or a list of rows")
        return tuple(value)


class Harnesses(Kind):
    """A harness: its folder, or the value itself."""

    flag = Path

    def check(self, value: Any) -> str | Harness:
        if isinstance(value, Harness):
            return value
        if not isinstance(value, str | Path):
            raise ValueError("must be a text: a harness's folder")
        return str(value)


class Agents(Kind):
    """An agent of one's own: its command, or the value itself."""

    def check(self, value: Any) -> str | OwnAgent:
        if not isinstance(value, str | OwnAgent):
            raise ValueError("must be a text: a command")
        if isinstance(value, str) and not value.strip():
            raise ValueError("is empty: write the program and its arguments")
        given: str | OwnAgent = value
        return given


class Benchmarks(Kind):
    """A benchmark: its name, or one that is open."""

    def check(self, value: Any) -> str | Benchmark[Any]:
        if not isinstance(value, str) and not (hasattr(value, "content_hash") and hasattr(value, "environment")):
            raise ValueError("must be a text: a benchmark's name")
        opened: str | Benchmark[Any] = value
        return opened


class Reason(Kind):
    """Why a seal is opened."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError("needs a reason: it stays in the record")
        return value


class Several(Kind):
    """Texts, or paths."""

    several = True

    def check(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ValueError("must be a list of texts")
        if not all(isinstance(item, str | Path) for item in value):
            raise ValueError("must be a list of texts")
        return tuple(map(str, value))


class Names(Kind):
    """Names with commas between them, or in a list."""

    def check(self, value: Any) -> tuple[str, ...]:
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name.strip() for name in names):
            raise ValueError("must be names with commas between them")
        if not names:
            raise ValueError("must be at least one name")
        return tuple(name.strip() for name in names)


class Seeds(Kind):
    """Seeds: `0-9`, `1,2,5`, or numbers in a list. Each once, in their order."""

    most: ClassVar[int] = 1_000

    def check(self, value: Any) -> tuple[int, ...]:
        parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else value
        if not isinstance(parts, list | tuple | range) or not parts:
            raise ValueError(self._wanted)
        found: list[int] = []
        for part in parts:
            ends = re.fullmatch(r"\s*([0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?\s*", str(part))
            if ends is None or isinstance(part, bool):
                raise ValueError(self._wanted)
            low, high = int(ends[1]), int(ends[2] or ends[1])
            if high < low or high - low >= self.most:
                raise ValueError(self._wanted)
            found += range(low, high + 1)
        if len(found) > self.most or len(set(found)) < len(found):
            raise ValueError(f"{self._wanted}, each once")
        return tuple(found)

    @property
    def _wanted(self) -> str:
        return f"must be seeds such as 0-9 or 1,2,5, at most {self.most:,}"


class PriceOfTokens(Kind):
    """`IN,CACHED,OUT`, or three numbers in a list."""

    def check(self, value: Any) -> tuple[float, float, float]:
        parts = value.split(",") if isinstance(value, str) else value
        try:
            amounts = [float(part) if isinstance(part, str) else part for part in parts]
        except (TypeError, ValueError):
            amounts = []
        if len(amounts) != 3 or not all(is_amount(amount) for amount in amounts):
            raise ValueError(
                "must be IN,CACHED,OUT: USD for a million tokens of input, cached input and output, "
                "such as 1.25,0.125,10"
            )
        return amounts[0], amounts[1], amounts[2]


@dataclass(frozen=True)
class ByRole(Kind):
    """Counts by role, `evo=2,conf=5` or a table. Which roles there are is the benchmark's matter."""

    low: int
    high: int = 10**6

    def check(self, value: Any) -> dict[str, int]:
        counts = list(value.items()) if isinstance(value, Mapping) else _counts_in(value)
        for role, count in counts:
            if isinstance(count, bool) or not isinstance(count, int) or not self.low <= count <= self.high:
                numbers = f"whole numbers from {self.low} to {self.high}"
                raise ValueError(f"must be {numbers} by role: {role}={count} is not")
        if twice := [role for role, number in Counter(role for role, _ in counts).items() if number > 1]:
            raise ValueError(f"says {twice[0]} twice: leave one out")
        return dict(counts)

    def merged(self, value: Any, below: Any) -> Any:
        return {**self.check(below), **self.check(value)}


class Options(Kind):
    """Options by name, from `KEY=VALUE` texts or a table. A value is read as TOML, else as text."""

    several = True

    def check(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ValueError("must be a table of names and values")
        parts = [part.partition("=") for part in map(str, value)]
        if wrong := [key for key, equals, _ in parts if not equals or not key.strip()]:
            raise UserError(f"--option {wrong[0]} must be KEY=VALUE, such as rounds=3.")
        if twice := [key for key, number in Counter(key.strip() for key, _, _ in parts).items() if number > 1]:
            raise UserError(f"--option {twice[0]} is given twice: leave one out.")
        return {key.strip(): toml_value(given.strip()) for key, _, given in parts}

    def merged(self, value: Any, below: Any) -> Any:
        return {**self.check(below), **self.check(value)}


def _counts_in(value: Any) -> list[tuple[str, Any]]:
    parts = [part.partition("=") for part in value.split(",")] if isinstance(value, str) else []
    if not parts or any(not equals for _, equals, _ in parts):
        raise ValueError("must be counts by role, such as evo=2,disc=2,conf=5,cert=3")
    return [(role.strip(), int(n) if re.fullmatch(r" *[0-9]{1,9} *", n) else n) for role, _, n in parts]


def toml_value(given: str) -> Any:
    try:
        return tomllib.loads(f"value = {given}")["value"]
    except tomllib.TOMLDecodeError:
        return given


def is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
