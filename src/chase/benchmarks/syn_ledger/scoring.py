"""The scorer: normalised integer exact match."""

from __future__ import annotations

import re

VERSION = 1
_INTEGER = re.compile(r"([+\-−]?)([0-9]{1,18}|[0-9]{1,3}(?:,[0-9]{3}){1,5})")


def normalise(output: str | None) -> int | None:
    """The integer that an output states, or None: explanations, several numbers and decimals state none.

    White space around it, a sign and valid comma grouping are normalised.
    """
    found = _INTEGER.fullmatch(output.strip()) if output is not None else None
    if found is None:
        return None
    sign, digits = found.groups()
    return int(digits.replace(",", "")) * (-1 if sign in ("-", "−") else 1)


def score(answer: int, output: str | None) -> float:
    """1 if the output states the answer and nothing else, 0 otherwise."""
    return float(normalise(output) == answer)


FIXTURES: tuple[tuple[int, str | None, float], ...] = (
    (42, "42", 1.0),
    (42, "  42\n", 1.0),
    (42, "+42", 1.0),
    (-42, "-42", 1.0),
    (-42, "−42", 1.0),
    (1234, "1,234", 1.0),
    (1234567, "1,234,567", 1.0),
    (42, "43", 0.0),
    (42, "-42", 0.0),
    (42, "42.0", 0.0),
    (42, "42.", 0.0),
    (42, "4,2", 0.0),
    (1234, "12,34", 0.0),
    (1234, "1 234", 0.0),
    (42, "The answer is 42", 0.0),
    (42, "42 43", 0.0),
    (42, "42, 43", 0.0),
    (42, "42 (approved)", 0.0),
    (42, "$42", 0.0),
    (42, "42%", 0.0),
    (42, "- 42", 0.0),
    (42, "4.2e1", 0.0),
    (42, "0x2a", 0.0),
    (42, "٤٢", 0.0),
    (42, "", 0.0),
    (42, None, 0.0),
)
"""(answer, output, verdict): correct, incorrect and malformed outputs that validation and the firewall replay."""
