"""Cross-check of our scorer against a user's own copy of the released script, which runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chase.core.errors import SetupError, UserError

FUNCTION = "fuzzy_match_answer"
MOST_SECONDS = 120.0
_MOST_CHARS = 300
_RUNNER = f"""
import contextlib, importlib.util, json, sys

def verdict(function, truth, predicted):
    try:
        found = function(truth, predicted, 0.0)
        return [bool(found[0] if isinstance(found, tuple) else found), None]
    except Exception as error:
        return [False, f"{{type(error).__name__}}: {{error}}"[:200]]

pairs = json.load(sys.stdin)
with contextlib.redirect_stdout(sys.stderr):
    spec = importlib.util.spec_from_file_location("released_script", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    sys.modules["released_script"] = module
    spec.loader.exec_module(module)
    verdicts = [verdict(module.{FUNCTION}, *pair) for pair in pairs]
json.dump(verdicts, sys.stdout)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OfficialVerdict:
    """What the released function says of one pair. A function that raises says that it is wrong."""

    correct: bool
    raised: str | None


def official_verdicts(
    script: Path, pairs: Sequence[tuple[str, str]], seconds: float = MOST_SECONDS
) -> tuple[OfficialVerdict, ...]:
    """The verdicts of a script's `fuzzy_match_answer(ground_truth, predicted, 0.0)`, in order.

    It runs with no environment, in an empty folder, for a limited time.
    """
    if not script.is_file():
        raise SetupError(f"{script} is missing. Name your own copy of the released script that defines {FUNCTION}.")
    if script.suffix != ".py":
        raise UserError(f"{script} is no Python file. Name the released script that defines {FUNCTION}.")
    said = _answer(script, json.dumps(pairs), seconds)
    return tuple(OfficialVerdict(correct=correct, raised=raised) for correct, raised in said)


def _answer(script: Path, pairs: str, seconds: float) -> list[tuple[bool, str | None]]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _RUNNER, str(script.resolve())],
                input=pairs,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
                cwd=folder,
                env={},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UserError(f"{script} gave no verdicts within {seconds:g} seconds. Give fewer pairs.") from None
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:_MOST_CHARS]
        raise UserError(f"{script} cannot be used ({reason}). It must define {FUNCTION}.")
    try:
        said: list[tuple[bool, str | None]] = json.loads(done.stdout)
    except ValueError:
        raise UserError(f"{script} ended before it gave its verdicts. It must only define {FUNCTION}.") from None
    return said
