"""A before/after example in print."""

from __future__ import annotations

import pytest

from chase.cli.examples import print_example
from chase.protocol.example import Call, Change, Example


def printed(capsys: pytest.CaptureFixture[str], before: str, after: str) -> list[str]:
    call = Call(tool="open_file", arguments={"file": "x\x1b[2J"})
    print_example(Example(task="t", changes=(Change(call=call, before=before, after=after),)))
    return capsys.readouterr().out.splitlines()[2:]


def test_print_begins_where_the_two_differ_and_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = ("\n".join(["same", *(f"{side}{n}" for n in range(9))]) for side in "ab")
    assert printed(capsys, before, after) == [
        *(f"    - a{n}" for n in range(4)),
        "    - … 5 more lines",
        *(f"    + b{n}" for n in range(4)),
        "    + … 5 more lines",
    ]


def test_print_cannot_steer_a_terminal_and_shows_invisible_changes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "a\x1b]0;b\x07", "a  \r\n")
    assert lines == ["    - a\\x1b]0;b\\x07", "    + a\\x20\\x20\\r"]


def test_print_says_that_a_task_looks_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    print_example(Example(task="t", changes=()))
    assert capsys.readouterr().out == "example task t: looks the same\n"
