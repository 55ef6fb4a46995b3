"""Fixtures of Almanac."""

from __future__ import annotations

import pytest

from chase.models.chat import ChatModel
from chase.testing.almanac.benchmark import Almanac
from tests.testing.almanacs import NAME, connect_reader, open_once


@pytest.fixture
def almanac() -> Almanac:
    return open_once(NAME)


@pytest.fixture
def reader() -> ChatModel:
    return connect_reader()
