from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.words import GOOGLESQL, Words
from tests.emulator_faults.models import Base
from tests.emulator_faults.promises import SCHEMAS, Scene
from tests.emulator_faults.views import View


@pytest.fixture
def words(request: pytest.FixtureRequest) -> Words:
    """The dialect of the database: GoogleSQL, unless a test runs in both."""
    words: Words = getattr(request, "param", GOOGLESQL)
    return words


@pytest.fixture
def view(request: pytest.FixtureRequest) -> View:
    """What the test says in its docstring."""
    return View.of(request.function)


@pytest.fixture
def scene(emulator: Emulator, words: Words, view: View) -> Scene:
    """A fresh database behind the gateway that all tests share, at real time, without faults."""
    emulator.reset()
    return Scene(emulator, emulator.create_database(words.name, SCHEMAS[words.name]), words, view)


@pytest.fixture
def mapped(emulator: Emulator, view: View) -> Iterator[Scene]:
    """The same through an engine, for the tests of this package's own Session and Receiver."""
    emulator.reset()
    engine = emulator.create_engine()
    Base.metadata.create_all(engine)
    yield Scene(emulator, str(engine.url.database), GOOGLESQL, view, engine=engine)
    engine.dispose()
