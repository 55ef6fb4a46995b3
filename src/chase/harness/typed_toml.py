"""TOML text to a typed value, or one clear sentence about what is wrong with it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from chase.core.errors import UserError, choose

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[int | str, ...]
SHOWN_CHARS = 60


def parse_toml(model: type[Model], text: str, *, where: str, line: int = 1) -> Model:
    """The model's value that the text spells; else a `UserError` that names file, key, value and the valid choices.

    `line` is where the text starts in its file. Types are strict: `"4"` and `4.0` are not the integer 4.
    """
    padded = "\n" * (line - 1) + text
    try:
        data = _with_tuples(tomllib.loads(padded))
    except RecursionError:
        raise UserError(f"{where} is nested too deeply. Write the keys that `docs/harness.md` lists.") from None
    except ValueError as error:
        last = padded.count("\n") + 1
        problem = str(error).replace("at end of document", f"at line {last}, the last")
        raise UserError(f"{where} is not valid TOML: {problem}. Mend it there; docs/harness.md has examples.") from None
    try:
        return model.model_validate(data, strict=True)
    except ValidationError as error:
        raise UserError(_sentence(model, error, where)) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldDoc:
    """What a document says of a key."""

    key: str
    """Dotted: `a.b`, and `a[].b` within a list of tables."""
    values: str
    default: str
    """As JSON; `unset` for none, `required` where it must be given."""
    meaning: str


def describe_fields(model: type[BaseModel]) -> list[FieldDoc]:
    """Every key that a model takes, with its valid values, its default and what it means."""
    root = model.model_json_schema()
    return list(_leaves(root, root, ""))


def _leaves(table: Mapping[str, Any], root: Mapping[str, Any], prefix: str) -> Iterator[FieldDoc]:
    for name, child in table["properties"].items():
        key, node = f"{prefix}{name}", _resolved(child, root)
        if "properties" in node:
            yield from _leaves(node, root, f"{key}.")
        elif "properties" in (item := _resolved(node.get("items", {}), root)):
            yield from _leaves(item, root, f"{key}[].")
        else:
            default = "required" if name in table.get("required", ()) else json.dumps(child.get("default"))
            yield FieldDoc(
                key=key,
                values=_expected(node, root),
                default="unset" if default == "null" else default,
                meaning=" ".join(child.get("description", "").split()),
            )


def _with_tuples(value: Any) -> Any:
    """TOML's arrays as the tuples that frozen values hold."""
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return tuple(_with_tuples(item) for item in value) if isinstance(value, list) else value


def _sentence(model: type[BaseModel], error: ValidationError, where: str) -> str:
    problems = error.errors(include_url=False)
    # An unknown key first: a misspelt key also shows as a missing one, and its name says more.
    first = next((problem for problem in problems if problem["type"] == "extra_forbidden"), problems[0])
    more = len(problems) - 1
    others = f" ({more} more problem{'s' if more > 1 else ''} in this file.)" if more else ""
    return _about(first, model.model_json_schema(), where) + others


def _about(problem: ErrorDetails, root: Mapping[str, Any], where: str) -> str:
    location, kind = problem["loc"], problem["type"]
    key, value = _dotted(location), shown(problem["input"])
    if kind == "extra_forbidden":
        known = _node_at(location[:-1], root)["properties"]
        try:
            choose("key", str(location[-1]), known)
        except UserError as refusal:
            return f"{key}={value} in {where}: {refusal}"
    if kind == "missing":
        return f"{key} is missing in {where}. Add {location[-1]} = … ({_expected(_node_at(location, root), root)})."
    if kind == "value_error":
        return f"{key}={value} in {where} is refused: {str(problem['ctx']['error']).rstrip('.')}."
    return f"{key}={value} in {where} is not valid. Write {_expected(_node_at(location, root), root)}."


def shown(value: Any) -> str:
    """A value as a message shows it: one line, cut."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # an integer too long to print
        text = "(a very large number)"
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _dotted(location: Location) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _node_at(location: Location, root: Mapping[str, Any]) -> Mapping[str, Any]:
    node = root
    for part in location:
        node = _resolved(node, root)
        if isinstance(part, int):
            node = node["items"]
        else:
            node = node["properties"][part] if "properties" in node else node["additionalProperties"]
    return _resolved(node, root)


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A JSON schema node behind its reference, and of an optional one what it is when it is there."""
    if "anyOf" in node:
        node = next(choice for choice in node["anyOf"] if choice.get("type") != "null")
    if "$ref" in node:
        node = root["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node


def _expected(node: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """What a schema node takes, in words."""
    if choices := node.get("enum") or ([node["const"]] if "const" in node else []):
        return _either([f'"{choice}"' for choice in choices])
    kind = node.get("type")
    if kind in ("integer", "number"):
        return _number_words(node)
    if kind == "string":
        most, examples = node.get("maxLength"), node.get("examples")
        text = f"text of at most {most} characters" if most else "text"
        return f'a name, e.g. "{examples[0]}"' if examples else text
    if kind == "array":
        return "a list of tables" if "properties" in _resolved(node["items"], root) else "a list of texts"
    if isinstance(values := node.get("additionalProperties"), Mapping):
        return f"a table with {_expected(values, root)} for each name"
    return "true or false" if kind == "boolean" else "a table of keys"


def _number_words(node: Mapping[str, Any]) -> str:
    word = "an integer" if node["type"] == "integer" else "a number"
    low, above, high = node.get("minimum"), node.get("exclusiveMinimum"), node.get("maximum")
    if above is not None:
        return f"{word} above {above:g}" + (f" and at most {high:g}" if high is not None else "")
    return f"{word} from {low:g} to {high:g}" if low is not None and high is not None else "a finite number"


def _either(choices: Sequence[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
