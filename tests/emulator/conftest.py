from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import Session
from tests.emulator.words import GOOGLESQL, Words

SCHEMA = GOOGLESQL.schema


@pytest.fixture
def words(request: pytest.FixtureRequest) -> Words:
    """The dialect of the database: GoogleSQL, unless a module runs in both."""
    words: Words = getattr(request, "param", GOOGLESQL)
    return words


@pytest.fixture
def empty(emulator: Emulator, words: Words) -> Session:
    """A fresh database without tables, seen through the unmodified official client, at real time."""
    emulator.reset()
    return Session(emulator, emulator.create_database(words.name), words=words)


@pytest.fixture
def database(emulator: Emulator, words: Words) -> Session:
    """A fresh database with queues, seen through the unmodified official client, at real time."""
    emulator.reset()
    return Session(emulator, emulator.create_database(words.name, words.schema), words=words)
