"""Items written as lines are read back as they were, whatever their texts hold."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.result_lines import LONGEST_VALUE, LineStyle, read_items, write_item
from chase.core.values import Json

TEXTS = st.text(max_size=40) | st.sampled_from(
    [
        "--- 2",
        "a\n--- 2\nkey: 1",
        "### Result 2\n",
        "\n",
        "\n\n    > x",
        "> ",
        "x" * (LONGEST_VALUE + 1),
        "a\r\nb",
        "\u2028",
    ]
)
FIELDS = st.dictionaries(
    st.sampled_from(["document", "name", "text", "lines"]),
    TEXTS | st.integers() | st.none() | st.dictionaries(st.sampled_from(["year", "unit"]), TEXTS, min_size=1),
    max_size=4,
)


@pytest.mark.parametrize("style", ["lines", "markdown"])
@given(items=st.lists(FIELDS, max_size=4), message=st.sampled_from(["", "2 passages hold every word."]))
def test_items_come_back(style: LineStyle, items: list[Mapping[str, Json]], message: str) -> None:
    text = "\n".join([message, *(write_item(place, item, style) for place, item in enumerate(items))])
    assert read_items(text) == items


@pytest.mark.parametrize("block", ["no field", "a: 1\na: 2", "a: 1\na.b: 2", "a: {not json"])
def test_what_is_no_item_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_items(f"--- 1\n{block}")
