"""Typed submissions: the tools by which an agent hands in parts of its work, and the forms of their arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chase.core.errors import UserError
from chase.core.values import ToolSpec

LONGEST_SUBMISSION = 1 << 20
"""Characters of a submission's JSON."""
MOST_FLAWS = 6
LONGEST_PLACE = 80


class SubmissionForm(BaseModel):
    """A form that an agent fills in. Strict about its keys; numbers are finite."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def salvaged(cls, arguments: Mapping[str, Any]) -> Self | None:
        """What can be used of arguments that do not fit as a whole; None: nothing. Asked when no other turn comes."""
        return None


Form = TypeVar("Form", bound=SubmissionForm)


@dataclass(frozen=True, kw_only=True)
class Submission(Generic[Form]):
    """The tool by which a part of the work is handed in, and the form of its arguments."""

    name: str
    description: str
    form: type[Form]

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.description, parameters=plain_schema(self.form))

    def parse(self, arguments: Mapping[str, Any], *, last: bool) -> Form:
        """The form that arguments fill; a `UserError` names what is wrong with them."""
        if len(json.dumps(arguments)) > LONGEST_SUBMISSION:
            raise UserError(f"{self.name} was not accepted: it is longer than {LONGEST_SUBMISSION} characters.")
        try:
            return self.form.model_validate(arguments)
        except ValidationError as error:
            if last and (salvaged := self.form.salvaged(arguments)) is not None:
                return salvaged
            raise UserError(f"{self.name} was not accepted: {flaws_of(error)}.") from None


def flaws_of(error: ValidationError) -> str:
    """The first few flaws, each with its place."""
    flaws = [
        f"{'.'.join(map(str, flaw['loc']))[:LONGEST_PLACE] or 'the arguments'}: {flaw['msg']}"
        for flaw in error.errors()[:MOST_FLAWS]
    ]
    more = error.error_count() - MOST_FLAWS
    return "; ".join(flaws) + (f" (and {more} more)" if more > 0 else "")


def plain_schema(form: type[BaseModel]) -> Any:
    """A form's JSON schema without titles, references and what its classes say of themselves. What fields say stays.

    A schema that is put into another cannot look up its own definitions.
    """
    schema = form.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs", {})
    for described in (schema, *definitions.values()):
        described.pop("description", None)

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            meant = definitions[part["$ref"].rpartition("/")[2]]
            return plain({**meant, **{key: value for key, value in part.items() if key != "$ref"}})
        return {key: plain(value) for key, value in part.items() if key != "title" or not isinstance(value, str)}

    return plain(schema)
