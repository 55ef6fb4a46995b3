"""Observables are pure functions of what was shown."""

from __future__ import annotations

import pytest

from chase.core.observables import OBSERVABLES
from chase.core.values import Shown

MARKDOWN = (
    "# Balances\nBox: QRST\nPrepared by: Blume\n\n## Entries\n\n| ENTITY | Amount |\n| --- | --- |\n| Oak | 12 |\n"
)
SHOWN = Shown(
    id="kxrtz",
    path="archive/upper/folio-7.md",
    listing=3,
    listing_of=12,
    hit=5,
    hit_of=12,
    window=0,
    text=MARKDOWN,
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name-length", 7),
        ("name-initial", 5),
        ("name-digits", 1),
        ("path-depth", 2),
        ("folder-initial", 0),
        ("folder-length", 7),
        ("extension-length", 2),
        ("id-initial", 10),
        ("id-final", 25),
        ("listing-position", 3),
        ("hit-position", 5),
        ("window", 0),
        ("line-count", 7),
        ("bar-count", 9),
        ("preamble-lines", 3),
        ("title-length", 8),
        ("title-initial", 1),
        ("second-initial", 1),
        ("heading-initial", 4),
        ("text-size", sum(not c.isspace() for c in MARKDOWN)),
        ("capital-words", 2 / 10),
    ],
)
def test_each_observable_measures_what_its_name_says(name: str, value: float) -> None:
    assert OBSERVABLES[name](SHOWN) == pytest.approx(value)
    assert OBSERVABLES[name].name == name


def test_every_observable_is_measured_above() -> None:
    measured = test_each_observable_measures_what_its_name_says.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {name for name, _ in measured} == set(OBSERVABLES)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("listing-position", Shown(id="a", path="a.md")),
        ("hit-position", Shown(id="a", path="a.md", listing=2)),
        ("window", Shown(id="a", path="a.md")),
        ("text-size", Shown(id="a", path="a.md")),
        ("title-length", Shown(id="a", path="a.md")),
        ("title-length", Shown(id="a", path="a.md", window=1, text="# T\n")),
        ("preamble-lines", Shown(id="a", path="a.md", window=1, text="# T\n")),
        ("second-initial", Shown(id="a", path="a.md", text="one line")),
        ("heading-initial", Shown(id="a", path="a.md", text="no\nblank\nline")),
        ("folder-initial", Shown(id="a", path="a.md")),
        ("id-initial", Shown(id="7", path="a.md")),
        ("capital-words", Shown(id="a", path="a.md", text="12 34")),
    ],
)
def test_what_was_not_shown_has_no_value(name: str, shown: Shown) -> None:
    assert OBSERVABLES[name](shown) is None


def test_formats_of_one_document_have_the_same_title_and_heading() -> None:
    texts = [
        "# Accounts\nDesk: QQQ\n\n## Records\n\n| A |\n",
        "# Accounts\n# Desk: QQQ\n\n# Records\nA\n",
        "= Accounts =\nDesk: QQQ\n\n[Records]\nA: 1\n",
    ]
    for name in ("title-length", "title-initial", "second-initial", "heading-initial", "preamble-lines"):
        assert len({OBSERVABLES[name](Shown(id="a", path="a", window=0, text=text)) for text in texts}) == 1


def test_line_endings_do_not_count() -> None:
    unix = Shown(id="a", path="a", window=0, text=MARKDOWN)
    windows = Shown(id="a", path="a", window=0, text=MARKDOWN.replace("\n", "  \r\n"))
    assert [o(unix) for o in OBSERVABLES.values()] == [o(windows) for o in OBSERVABLES.values()]
