"""A user's own copy of the released script: run apart, for a limited time, and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from chase.benchmarks.officeqa.official import official_verdicts
from chase.core.errors import ChaseError

PAIRS = [("5", "5"), ("5", "6"), ("5", "")]


def script(folder: Path, body: str) -> Path:
    file = folder / "reward.py"
    file.write_text(body)
    return file


def test_verdicts_are_the_scripts_at_zero_tolerance(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        "import os\nprint('noise')\n"
        "def fuzzy_match_answer(ground_truth, predicted, tolerance=0.05):\n"
        "    if not predicted: raise ValueError('no prediction')\n"
        "    assert tolerance == 0 and 'HOME' not in os.environ and not os.listdir('.')\n"
        "    print('more noise')\n"
        "    return ground_truth == predicted, 'a reason'\n",
    )
    same, other, empty = official_verdicts(file, PAIRS)
    assert (same.correct, same.raised) == (True, None)
    assert (other.correct, other.raised) == (False, None)
    assert (empty.correct, empty.raised) == (False, "ValueError: no prediction")


def test_a_script_may_return_a_bare_verdict(tmp_path: Path) -> None:
    file = script(tmp_path, "def fuzzy_match_answer(truth, predicted, tolerance):\n    return truth == predicted\n")
    assert [said.correct for said in official_verdicts(file, PAIRS)] == [True, False, False]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("while True: pass", "no verdicts within 0.5 seconds"),
        ("x = 1", "cannot be used .*fuzzy_match_answer"),
        ("def", "cannot be used .*SyntaxError"),
        ("import sys\nsys.exit(0)", "ended before it gave its verdicts"),
        ("import os\nos._exit(3)", "exit code 3"),
    ],
)
def test_a_script_that_cannot_be_used_is_one_sentence(tmp_path: Path, body: str, sentence: str) -> None:
    with pytest.raises(ChaseError, match=sentence) as refused:
        official_verdicts(script(tmp_path, body), PAIRS, seconds=0.5 if "while" in body else 60)
    assert "\n" not in str(refused.value)


def test_a_missing_script_is_told(tmp_path: Path) -> None:
    with pytest.raises(ChaseError, match="is missing"):
        official_verdicts(tmp_path / "none.py", PAIRS)
    (tmp_path / "script.txt").write_text("")
    with pytest.raises(ChaseError, match="is no Python file"):
        official_verdicts(tmp_path / "script.txt", PAIRS)
