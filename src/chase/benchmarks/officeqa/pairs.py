"""Files of answer pairs: one JSON object a line, with `ground_truth` and `predicted`."""

from __future__ import annotations

import json
from pathlib import Path

from chase.core.errors import SetupError, UserError

Pair = tuple[str, str | None]
"""(truth, prediction); no prediction is a wrong one."""


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """The pairs in the file's order; other keys are not looked at."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SetupError(f"{path} is missing. Name a file with one JSON object a line.") from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}). Save it with the encoding UTF-8.") from None
    lines = enumerate(text.split("\n"), start=1)
    pairs = tuple(_pair(line, f"{path}, line {place}") for place, line in lines if line.strip())
    if not pairs:
        raise UserError(f"{path} holds no pairs. Write one JSON object with ground_truth and predicted a line.")
    return pairs


def _pair(line: str, where: str) -> Pair:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: this is no JSON object ({error}).") from None
    if not isinstance(read, dict) or not isinstance(truth := read.get("ground_truth"), str):
        raise UserError(f"{where}: ground_truth is missing or no text. Write it as a JSON string.")
    predicted = read.get("predicted")
    if "predicted" not in read or not (predicted is None or isinstance(predicted, str)):
        raise UserError(f"{where}: predicted is missing or no text. Write it as a JSON string, or null for no answer.")
    return truth, predicted
