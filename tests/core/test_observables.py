"""Observables are pure functions of what was shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.observables import OBSERVABLES, distinct_ranks
from chase.core.values import Sighting

MARKDOWN = (
    "# Balances\nBox: QRST\nPrepared by: Blume\n\n## Entries\n\n| ENTITY | Amount |\n| --- | --- |\n| Oak | 12 |\n"
)
SHOWN = Sighting(
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
        ("listing-position", Sighting(id="a", path="a.md")),
        ("hit-position", Sighting(id="a", path="a.md", listing=2)),
        ("window", Sighting(id="a", path="a.md")),
        ("text-size", Sighting(id="a", path="a.md")),
        ("title-length", Sighting(id="a", path="a.md")),
        ("title-length", Sighting(id="a", path="a.md", window=1, text="# T\n")),
        ("preamble-lines", Sighting(id="a", path="a.md", window=1, text="# T\n")),
        ("second-initial", Sighting(id="a", path="a.md", text="one line")),
        ("heading-initial", Sighting(id="a", path="a.md", text="no\nblank\nline")),
        ("folder-initial", Sighting(id="a", path="a.md")),
        ("id-initial", Sighting(id="7", path="a.md")),
        ("capital-words", Sighting(id="a", path="a.md", text="12 34")),
    ],
)
def test_what_was_not_shown_has_no_value(name: str, shown: Sighting) -> None:
    assert OBSERVABLES[name](shown) is None


def test_formats_of_one_document_have_the_same_title_and_heading() -> None:
    texts = [
        "# Accounts\nDesk: QQQ\n\n## Records\n\n| A |\n",
        "# Accounts\n# Desk: QQQ\n\n# Records\nA\n",
        "= Accounts =\nDesk: QQQ\n\n[Records]\nA: 1\n",
    ]
    for name in ("title-length", "title-initial", "second-initial", "heading-initial", "preamble-lines"):
        assert len({OBSERVABLES[name](Sighting(id="a", path="a", window=0, text=text)) for text in texts}) == 1


def test_line_endings_do_not_count() -> None:
    unix = Sighting(id="a", path="a", window=0, text=MARKDOWN)
    windows = Sighting(id="a", path="a", window=0, text=MARKDOWN.replace("\n", "  \r\n"))
    assert [o(unix) for o in OBSERVABLES.values()] == [o(windows) for o in OBSERVABLES.values()]


def test_ranks_are_places_among_the_distinct_known_values() -> None:
    assert distinct_ranks([3.0, 1.0, 3.0, 2.0]) == ([2, 0, 2, 1], 3)
    assert distinct_ranks([None, 5.0, None, 5.0]) == ([None, 0, None, 0], 1)
    assert distinct_ranks([None, None]) == ([None, None], 0)
    assert distinct_ranks([]) == ([], 0)
    assert distinct_ranks([0.0, -0.0]) == ([0, 0], 1)


@given(st.lists(st.none() | st.integers(-3, 3).map(float), max_size=12))
def test_ranks_keep_the_order_of_the_values_and_leave_no_gap(values: list[float | None]) -> None:
    ranks, count = distinct_ranks(values)
    known = [(value, rank) for value, rank in zip(values, ranks, strict=True) if value is not None]
    assert [rank is None for rank in ranks] == [value is None for value in values]
    assert {rank for _, rank in known} == set(range(count))
    for value, rank in known:
        assert rank == len({other for other, _ in known if other < value})
